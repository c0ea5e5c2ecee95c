/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large blocks of GOAL's memory that are freed: some of their pages are given back in each turn,
 * and are not reused before that. Bytes are counted; nothing is timed. See nic_fw/coll/goal_heap.c.
 */
#include "tests/bench/host.h"

enum {
	LARGE_BYTES = 8 << 20,
	BLOCKS = 5,
};

static struct fw_ut ut;

static uint64_t left(void)
{
	const struct goal_heap *heap = &ut.nic->goal.heap;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < heap->gone_count; i++)
		bytes += heap->gone[(heap->gone_head + i) % GOAL_HEAP_GONE].left_bytes;
	return bytes;
}

static uint8_t *full_block(uint64_t bytes)
{
	uint8_t *block = goal_heap_alloc(ut.nic, 0, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(block);
	memset(block, 0xa5, bytes);
	return block;
}

static uint32_t turns_until_free(void)
{
	uint64_t now = left(), was;
	uint32_t turns;

	for (turns = 0; goal_heap_pending(ut.nic) && turns < 10000; turns++) {
		was = now;
		fw_ut_poll(&ut, 1000);
		now = left();
		CU_ASSERT(was - now <= GOAL_HEAP_STEP_BYTES);
	}
	CU_ASSERT_FALSE(goal_heap_pending(ut.nic));
	return turns;
}

static void pages_go_back_in_turns(void)
{
	uint8_t *block;

	fw_ut_begin(&ut);
	fw_ut_poll(&ut, 1000);
	block = full_block(LARGE_BYTES);
	goal_heap_free(ut.nic, 0, block);
	/* The client has its share again at once. */
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, 0);
	CU_ASSERT(left() >= LARGE_BYTES - 4 * GOAL_HEAP_STEP_BYTES);
	CU_ASSERT(turns_until_free() >= LARGE_BYTES / GOAL_HEAP_STEP_BYTES - 4);
	CU_ASSERT_EQUAL(ut.nic->goal.heap.buddy.used, 0);
	CU_ASSERT_EQUAL(block[0], 0);
	CU_ASSERT_EQUAL(block[LARGE_BYTES - 1], 0);
	fw_ut_end(&ut);
}

/* Until then another client does not get it, and a small block needs no turn. */
static void several_in_their_order(void)
{
	uint8_t *block[BLOCKS], *other, *small;
	uint32_t i;

	fw_ut_begin(&ut);
	for (i = 0; i < BLOCKS; i++)
		block[i] = full_block(LARGE_BYTES >> i % 3);
	small = full_block(4096);
	for (i = 0; i < BLOCKS; i++)
		goal_heap_free(ut.nic, 0, block[i]);
	CU_ASSERT_EQUAL(ut.nic->goal.heap.gone_count, BLOCKS);
	goal_heap_free(ut.nic, 0, small);
	CU_ASSERT_EQUAL(ut.nic->goal.heap.gone_count, BLOCKS);
	other = goal_heap_alloc(ut.nic, 0, LARGE_BYTES);
	for (i = 0; i < BLOCKS; i++)
		CU_ASSERT_PTR_NOT_EQUAL(other, block[i]);
	(void)turns_until_free();
	goal_heap_free(ut.nic, 0, other);
	(void)turns_until_free();
	CU_ASSERT_EQUAL(ut.nic->goal.heap.buddy.used, 0);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_heap", UT(pages_go_back_in_turns), UT(several_in_their_order))
