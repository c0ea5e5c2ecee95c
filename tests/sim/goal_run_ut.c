/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules on NICs: messages of all sizes under all faults, chains of unexpected messages,
 * dependencies of both kinds, local operations, several runs in flight, and what fails.
 */
#include "tests/sim/goal_fix.h"

#define ALL_FAULTS "loss=2,dup=2,reorder=5,corrupt=0.5,jitter"

static void make_pattern(uint8_t *at, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = (uint8_t)(i * 7 + seed + (i >> 8));
}

static bool has_pattern(const uint8_t *at, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (at[i] != (uint8_t)(i * 7 + seed + (i >> 8)))
			return false;
	return true;
}

/* Rank 0 sends so many bytes to rank 1, which sends them back to another place. */
static void there_and_back(struct goal_fix *fix, uint64_t bytes)
{
	struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
	uint32_t recv, send;

	goal_fix_send(a, goal_fix_mem(fix, 0, 0, bytes), 1, 5);
	goal_fix_recv(a, goal_fix_mem(fix, 0, bytes, bytes), 1, 6);
	recv = goal_fix_recv(b, goal_fix_mem(fix, 1, 0, bytes), 0, 5);
	send = goal_fix_send(b, goal_fix_mem(fix, 1, 0, bytes), 0, 6);
	goal_fix_after(b, recv, send);
	goal_fix_load(fix, 0, a);
	goal_fix_load(fix, 1, b);
}

static void messages(const char *faults, bool unmapped, uint64_t eager_bytes)
{
	static const uint64_t sizes[] = {1,    8,     127,    128,    129,   1000,
					 4096, 20000, 131072, 131073, 500000};
	uint64_t seed;
	uint32_t i, k;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.faults = faults,
					     .bytes = 1 << 20,
					     .unmapped = unmapped,
					     .eager_bytes = (uint32_t)eager_bytes};
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 2, &attr);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			there_and_back(&fix, sizes[i]);
			for (k = 0; k < 3; k++) {
				make_pattern(fix.rank[0].buf, sizes[i], i + k);
				memset(fix.rank[0].buf + sizes[i], 0xee, sizes[i] + 8);
				FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
				FIX_CHECK(&fix,
					  has_pattern(fix.rank[0].buf + sizes[i], sizes[i], i + k));
				FIX_CHECK(&fix, fix.rank[0].buf[2 * sizes[i]] == 0xee);
			}
		}
		goal_fix_end(&fix);
	}
}

static void messages_without_faults(void)
{
	messages(NULL, false, 0);
}

static void messages_under_faults(void)
{
	messages(ALL_FAULTS, false, 0);
}

static void messages_of_unmapped_memory(void)
{
	messages(ALL_FAULTS, true, 0);
}

static void messages_announced(void)
{
	messages(ALL_FAULTS, false, 512);
}

UT_MAIN("sim/goal_run", UT(messages_without_faults), UT(messages_under_faults),
	UT(messages_of_unmapped_memory), UT(messages_announced))
