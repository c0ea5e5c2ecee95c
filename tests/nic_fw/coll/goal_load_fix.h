/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of the verifier of schedules, included by goal_load*_ut.c: a correct
 * schedule, and its load.
 */
#ifndef WEFT_TESTS_GOAL_LOAD_FIX_H
#define WEFT_TESTS_GOAL_LOAD_FIX_H

#include "tests/bench/host.h"

#include "nic_fw/coll/goal_load.c"

enum {
	RANK = 1,
	RANKS = 4,
	SLOT_BYTES = 4096,
	SHORT_BYTES = 64,
	SCRATCH_BYTES = 64,
	MANY = 3 * GOAL_LOAD_QUANTUM,
	CHOSEN = GOAL_LOAD_QUANTUM + 8,
	LONGEST_ROW = 32,
};

struct sched {
	struct goal_header h;
	struct goal_slot slots[2];
	struct goal_insn ops[4];
	struct goal_edge edges[4];
	struct goal_piece pieces[2];
};

static struct fw_ut ut;
static struct goal_load load;
static struct goal_schedule schedule;

/* A send and a receive, an addition that depends on both, and the end. */
static inline void make(struct sched *s)
{
	*s = (struct sched){
	    .h = {.magic = GOAL_FORMAT_MAGIC,
		  .version = GOAL_FORMAT_VERSION,
		  .header_bytes = sizeof(s->h),
		  .total_bytes = sizeof(*s),
		  .rank = RANK,
		  .num_ranks = RANKS,
		  .num_slots = 2,
		  .num_ops = 4,
		  .num_edges = 4,
		  .num_pieces = 2,
		  .num_roots = 2,
		  .num_cpus = 1,
		  .slots_offset = offsetof(struct sched, slots),
		  .ops_offset = offsetof(struct sched, ops),
		  .edges_offset = offsetof(struct sched, edges),
		  .pieces_offset = offsetof(struct sched, pieces),
		  .scratch_bytes = SCRATCH_BYTES},
	    .slots = {{.bytes = SLOT_BYTES}, {.bytes = SHORT_BYTES}},
	    .ops = {{.kind = GOAL_INSN_SEND, .num_edges = 1, .peer = 2, .tag = 5, .amount = 100},
		    {.kind = GOAL_INSN_RECV,
		     .first_edge = 1,
		     .num_start_edges = 1,
		     .num_edges = 1,
		     .peer = 0,
		     .tag = 7,
		     .amount = SHORT_BYTES,
		     .buf = {GOAL_REF(1, 0)}},
		    {.kind = GOAL_INSN_LOCAL,
		     .sub = GOAL_LOCAL_ADD,
		     .type = GOAL_TYPE_UINT,
		     .width = 32,
		     .deps = 2,
		     .first_edge = 3,
		     .num_edges = 1,
		     .amount = 8,
		     .buf = {GOAL_REF(0, SLOT_BYTES - 32), GOAL_REF_PIECES(0, 2),
			     GOAL_REF(GOAL_SLOT_SCRATCH, SCRATCH_BYTES - 32)}},
		    {.kind = GOAL_INSN_NOP, .deps = 2, .first_edge = 4}},
	    .edges = {{2}, {2}, {3}, {3}},
	    .pieces = {{GOAL_REF(0, 64), 16}, {GOAL_REF(1, 0), 16}},
	};
}

/* Loads it to the end; returns its status. */
static inline int run(const struct goal_header *h, const void *code, uint32_t *steps)
{
	const struct fw_mem mem = {.ptr = (uint8_t *)(uintptr_t)code};

	memset(&schedule, 0, sizeof(schedule));
	*steps = 0;
	if (!goal_load_begin(ut.nic, &load, &schedule, h, RANK, RANKS))
		return load.status;
	do
		++*steps;
	while (!goal_load_step(ut.nic, &load, &mem));
	return load.phase == GOAL_LOAD_DONE ? 0 : load.status;
}

static inline void passes(const struct sched *s)
{
	uint32_t steps;

	CU_ASSERT_EQUAL(run(&s->h, s, &steps), 0);
	goal_schedule_free(ut.nic, &schedule);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, 0);
}

#endif /* WEFT_TESTS_GOAL_LOAD_FIX_H */
