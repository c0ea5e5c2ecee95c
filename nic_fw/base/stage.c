/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of cycles per stage.
 *
 * Calls the clock that fw_set_clock() set.
 */
#include "nic_fw/fw_nic.h"

enum {
	CLOCK_TRIES = 1000,
};

#define CYCLES(name)  "cycles_" #name,
#define ENTRIES(name) "entries_" #name,
static const char *const cycles_names[FW_STAGES] = {FW_STAGE_NAMES(CYCLES)};
static const char *const entries_names[FW_STAGES] = {FW_STAGE_NAMES(ENTRIES)};

static const struct {
	const char *name;
	size_t offset;
} words[] = {
    {"cycles_clock", offsetof(struct fw_stages, clock_cycles)},
    {"cycles_idle", offsetof(struct fw_stages, idle_cycles)},
    {"turns_busy", offsetof(struct fw_stages, busy_turns)},
    {"turns_idle", offsetof(struct fw_stages, idle_turns)},
};

enum {
	NUM_WORDS = sizeof(words) / sizeof(words[0]),
};

void fw_set_clock(struct fw_nic *nic, uint64_t (*clock)(void))
{
	struct fw_stages *stages = &nic->stages;
	uint64_t start;
	uint32_t i;

	memset(stages, 0, sizeof(*stages));
	stages->clock = clock;
	if (!clock)
		return;
	/* Measured in a row, since the clock's ticks may be coarser than its cost. */
	start = clock();
	for (i = 0; i < CLOCK_TRIES; i++)
		(void)clock();
	stages->clock_cycles = (clock() - start) / (CLOCK_TRIES + 1);
}

uint8_t fw_stage(struct fw_nic *nic, uint8_t stage)
{
	return fw_stage_enter(nic, stage);
}

uint8_t fw_stage_switch(struct fw_stages *stages, uint8_t stage)
{
	uint64_t now = stages->clock();
	uint8_t before = stages->current;

	assert(stage < FW_STAGES);
	stages->turn_cycles[before] += now - stages->since;
	stages->turn_entries[before]++;
	stages->since = now;
	stages->current = stage;
	return before;
}

void fw_stage_begin_turn(struct fw_stages *stages)
{
	memset(stages->turn_cycles, 0, sizeof(stages->turn_cycles));
	memset(stages->turn_entries, 0, sizeof(stages->turn_entries));
	stages->current = FW_STAGE_TURN;
	stages->since = stages->clock();
}

void fw_stage_end_turn(struct fw_stages *stages, bool busy)
{
	uint32_t i;

	(void)fw_stage_switch(stages, FW_STAGE_TURN);
	if (busy)
		stages->busy_turns++;
	else
		stages->idle_turns++;
	for (i = 0; i < FW_STAGES; i++) {
		if (busy) {
			stages->cycles[i] += stages->turn_cycles[i];
			stages->entries[i] += stages->turn_entries[i];
		} else {
			stages->idle_cycles += stages->turn_cycles[i];
		}
	}
}

bool fw_stage_stat(const struct fw_stages *stages, uint32_t i, const char **name, uint64_t *value)
{
	if (!stages->clock || i >= NUM_WORDS + 2 * FW_STAGES)
		return false;
	if (i < NUM_WORDS) {
		*name = words[i].name;
		memcpy(value, (const uint8_t *)stages + words[i].offset, sizeof(*value));
		return true;
	}
	i -= NUM_WORDS;
	*name = i < FW_STAGES ? cycles_names[i] : entries_names[i - FW_STAGES];
	*value = i < FW_STAGES ? stages->cycles[i] : stages->entries[i - FW_STAGES];
	return true;
}
