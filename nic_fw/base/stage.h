/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles of each stage, when enabled.
 *
 * The firmware has no clock; fw_set_clock() lends it one. From then on each stage reads the clock
 * when it begins and ends. The cycles in between count for that stage, without the stages that it
 * calls, so the stages of a turn add up to the turn. Idle turns are kept apart. Without a clock a
 * stage costs one predictable branch. Calls the clock. fw_stat() shows the sums as cycles_* and
 * entries_*.
 */
#ifndef WEFT_FW_STAGE_H
#define WEFT_FW_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw.h"

struct fw_nic;

struct fw_stages {
	uint64_t (*clock)(void); /* NULL: not enabled */
	uint64_t since;
	uint8_t current;
	/* this turn's, and those of all turns that did something */
	uint64_t turn_cycles[FW_STAGES], turn_entries[FW_STAGES];
	uint64_t cycles[FW_STAGES], entries[FW_STAGES];
	uint64_t clock_cycles; /* cost of reading the clock: it is in each entry once */
	uint64_t busy_turns, idle_turns, idle_cycles;
};

/* Changes the stage; returns the one before. Only with a clock. */
uint8_t fw_stage_switch(struct fw_stages *stages, uint8_t stage);
void fw_stage_begin_turn(struct fw_stages *stages);
void fw_stage_end_turn(struct fw_stages *stages, bool busy);

/* Stores value i of the stages. Returns false past the last, or without a clock. */
bool fw_stage_stat(const struct fw_stages *stages, uint32_t i, const char **name, uint64_t *value);

#endif /* WEFT_FW_STAGE_H */
