/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verifier of schedules, step by step: its parts of work, memory that changes meanwhile, tags
 * chosen for one place of a table, memory that is not there.
 */
#include <stdlib.h>

#include "tests/nic_fw/coll/goal_load_fix.h"

/* The process writes during the load: the checked copy of the header counts. */
static void memory_that_changes(void)
{
	struct sched s;
	struct fw_mem mem = {.ptr = (uint8_t *)&s};

	fw_ut_begin(&ut);
	make(&s);
	memset(&schedule, 0, sizeof(schedule));
	CU_ASSERT_TRUE_FATAL(goal_load_begin(ut.nic, &load, &schedule, &s.h, RANK, RANKS));
	s.h.num_ops = s.h.num_slots = 1000;
	s.h.ops_offset = UINT64_MAX;
	CU_ASSERT_FALSE(goal_load_step(ut.nic, &load, &mem));
	memset(&s, 0xff, sizeof(s));
	while (!goal_load_step(ut.nic, &load, &mem))
		;
	CU_ASSERT_EQUAL(load.phase, GOAL_LOAD_DONE);
	CU_ASSERT_EQUAL(((const struct goal_header *)(void *)schedule.code)->num_ops, 4);
	goal_schedule_free(ut.nic, &schedule);

	/* Destroyed before it was copied. */
	make(&s);
	ut.port.host_fault = true;
	mem = (struct fw_mem){.addr = (uintptr_t)&s};
	CU_ASSERT_TRUE_FATAL(goal_load_begin(ut.nic, &load, &schedule, &s.h, RANK, RANKS));
	CU_ASSERT_TRUE(goal_load_step(ut.nic, &load, &mem));
	CU_ASSERT_EQUAL(load.status, FW_EFAULT);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, 0);
	ut.port.host_fault = false;
	fw_ut_end(&ut);
}

/*
 * A chain, its head first, then an operation that all others precede: no step does more than its
 * part.
 */
static void in_steps(void)
{
	const uint64_t ops_at = sizeof(struct goal_header),
		       edges_at = ops_at + MANY * sizeof(struct goal_insn),
		       bytes = edges_at + MANY * sizeof(struct goal_edge);
	uint8_t *code = calloc(1, bytes);
	struct goal_insn *ops = (void *)(code + ops_at);
	struct goal_edge *edges = (void *)(code + edges_at);
	struct sched s;
	uint32_t i, steps;

	CU_ASSERT_PTR_NOT_NULL_FATAL(code);
	fw_ut_begin(&ut);
	make(&s);
	s.h.total_bytes = bytes;
	s.h.num_ops = MANY;
	s.h.num_edges = MANY - 1;
	s.h.num_slots = s.h.num_pieces = 0;
	s.h.num_roots = 1;
	s.h.slots_offset = s.h.ops_offset = s.h.pieces_offset = ops_at;
	s.h.edges_offset = edges_at;
	for (i = 0; i < MANY; i++) {
		ops[i] = (struct goal_insn){.kind = GOAL_INSN_NOP,
					    .first_edge = i,
					    .deps = i > 0,
					    .num_edges = i < MANY - 1};
		edges[i].target = i + 1;
	}
	memcpy(code, &s.h, sizeof(s.h));
	CU_ASSERT_EQUAL(run(&s.h, code, &steps), 0);
	/* Copied in pieces; then five visits of each operation or edge. */
	CU_ASSERT_TRUE(steps >= bytes / GOAL_LOAD_COPY_BYTES + 5 * (MANY / GOAL_LOAD_QUANTUM));
	goal_schedule_free(ut.nic, &schedule);

	for (i = 0; i < MANY; i++) {
		ops[i].num_edges = i ? 0 : MANY - 1;
		ops[i].first_edge = i ? MANY - 1 : 0;
	}
	CU_ASSERT_EQUAL(run(&s.h, code, &steps), 0);
	CU_ASSERT_TRUE(steps >= bytes / GOAL_LOAD_COPY_BYTES + 5 * (MANY / GOAL_LOAD_QUANTUM));
	goal_schedule_free(ut.nic, &schedule);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, 0);
	fw_ut_end(&ut);
	free(code);
}

/* Returns the most places in a row that keys of messages have taken. */
static uint32_t longest_row(void)
{
	uint32_t i, row = 0, longest = 0;

	for (i = 0; i <= load.key_mask; i++) {
		row = load.keys[i].next ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

/* Tags that fw_hash() gives one place: a message may not look at the places of all others. */
static void chosen_tags(void)
{
	const uint64_t ops_at = sizeof(struct goal_header),
		       bytes = ops_at + CHOSEN * sizeof(struct goal_insn);
	uint8_t *code = calloc(1, bytes);
	const struct fw_mem mem = {.ptr = code};
	struct goal_insn *ops = (void *)(code + ops_at);
	struct sched s;
	uint32_t n, tag;

	CU_ASSERT_PTR_NOT_NULL_FATAL(code);
	fw_ut_begin(&ut);
	make(&s);
	s.h.total_bytes = bytes;
	s.h.num_ops = s.h.num_roots = CHOSEN;
	s.h.num_edges = s.h.num_slots = s.h.num_pieces = 0;
	s.h.slots_offset = s.h.ops_offset = ops_at;
	s.h.edges_offset = s.h.pieces_offset = bytes;
	for (n = tag = 0; n < CHOSEN; tag++)
		if (fw_hash(2, tag, GOAL_INSN_SEND) % fw_pow2_at_least(2 * CHOSEN) == 0)
			ops[n++] = (struct goal_insn){.kind = GOAL_INSN_SEND,
						      .peer = 2,
						      .tag = tag,
						      .buf = {GOAL_REF(GOAL_SLOT_SCRATCH, 0)}};
	memcpy(code, &s.h, sizeof(s.h));
	memset(&schedule, 0, sizeof(schedule));
	CU_ASSERT_TRUE_FATAL(goal_load_begin(ut.nic, &load, &schedule, &s.h, RANK, RANKS));
	while (load.phase != GOAL_LOAD_COUNTS)
		CU_ASSERT_FALSE_FATAL(goal_load_step(ut.nic, &load, &mem));
	CU_ASSERT_FALSE_FATAL(goal_load_step(ut.nic, &load, &mem));
	CU_ASSERT(longest_row() <= LONGEST_ROW);
	CU_ASSERT_TRUE(goal_load_step(ut.nic, &load, &mem));
	CU_ASSERT_EQUAL(load.phase, GOAL_LOAD_DONE);
	goal_schedule_free(ut.nic, &schedule);
	fw_ut_end(&ut);
	free(code);
}

/* More than the process's share of the NIC's memory: refused, and nothing is held. */
static void no_memory(void)
{
	struct sched s;
	void *block;
	uint32_t steps;

	fw_ut_begin(&ut);
	make(&s);
	block = goal_heap_alloc(ut.nic, 0, GOAL_CLIENT_QUOTA_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(block);
	CU_ASSERT_EQUAL(run(&s.h, &s, &steps), FW_ENOSPC);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, GOAL_CLIENT_QUOTA_BYTES);
	goal_heap_free(ut.nic, 0, block);
	passes(&s);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_load_steps", UT(memory_that_changes), UT(in_steps), UT(chosen_tags),
	UT(no_memory))
