/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generated schedules in compiled form: one number names a schedule for two ranks.
 *
 * Used by coll.c and evil.c. Built without libgoal, so that a target can make all of it wrong;
 * formats: shared_defs/goal_format.h, docs/goal-format.md.
 */
#ifndef WEFT_TESTS_FUZZ_SCHED_H
#define WEFT_TESTS_FUZZ_SCHED_H

#include "tests/fuzz/world.h"

enum {
	SCHED_INSNS = 24,
	SCHED_PIECES = 3,
	SCHED_SCRATCH_BYTES = 4096,
	SCHED_SLOTS = 2,
	SCHED_BYTES = 112 + SCHED_SLOTS * 16 + SCHED_INSNS * (64 + 8) + SCHED_PIECES * 16,
	SCHED_EXCHANGE = 0, /* each rank sends bytes of slot 0, and receives behind them */
	SCHED_EXCHANGE_BYTES = 3000,
	SCHED_GROUPS = 0x8000, /* flag of a seed: with multicasts */
};

/*
 * Builds the part of a rank, 0 or 1; slots have `slot` bytes. Runs of both ranks' parts of the same
 * number end, except for wildcards that took another message. Returns the bytes.
 */
uint32_t sched_build(uint8_t out[SCHED_BYTES], uint32_t rank, uint32_t seed,
		     const uint32_t slot_bytes[SCHED_SLOTS]);

#endif /* WEFT_TESTS_FUZZ_SCHED_H */
