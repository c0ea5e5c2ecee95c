/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL's memory: who is charged for a block, and what it holds. Large blocks that are freed: some
 * of their pages are given back in each turn, and are not reused before that. Bytes are counted;
 * nothing is timed. See nic_fw/coll/goal_heap.c.
 */
#include "tests/bench/host.h"

enum {
	LARGE_BYTES = 8 << 20,
	BLOCKS = 5,
	SMALL_BYTES = 4096,
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
		CU_ASSERT(ut.nic->turn_did & FW_DID_LEAVE);
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
	CU_ASSERT(left() < LARGE_BYTES);
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
	small = full_block(SMALL_BYTES);
	for (i = 0; i < BLOCKS; i++)
		goal_heap_free(ut.nic, 0, block[i]);
	CU_ASSERT_EQUAL(ut.nic->goal.heap.gone_count, BLOCKS);
	goal_heap_free(ut.nic, 0, small);
	CU_ASSERT_EQUAL(ut.nic->goal.heap.gone_count, BLOCKS);
	other = goal_heap_alloc(ut.nic, 0, LARGE_BYTES);
	for (i = 0; i < BLOCKS; i++)
		CU_ASSERT_PTR_NOT_EQUAL(other, block[i]);
	memset(other, 0x5a, LARGE_BYTES);
	(void)turns_until_free();
	/* The pages of each are gone, and of no other. */
	for (i = 0; i < BLOCKS; i++) {
		CU_ASSERT_EQUAL(block[i][0], 0);
		CU_ASSERT_EQUAL(block[i][(LARGE_BYTES >> i % 3) - 1], 0);
	}
	CU_ASSERT_EQUAL(other[0], 0x5a);
	CU_ASSERT_EQUAL(other[LARGE_BYTES - 1], 0x5a);
	goal_heap_free(ut.nic, 0, other);
	(void)turns_until_free();
	CU_ASSERT_EQUAL(ut.nic->goal.heap.buddy.used, 0);
	fw_ut_end(&ut);
}

static void the_least_block_that_goes_back_in_turns(void)
{
	uint8_t *block, *less;

	fw_ut_begin(&ut);
	block = full_block(GOAL_HEAP_RELEASE_BYTES);
	less = full_block(GOAL_HEAP_RELEASE_BYTES / 2);
	goal_heap_free(ut.nic, 0, less);
	CU_ASSERT_FALSE(goal_heap_pending(ut.nic));
	CU_ASSERT_EQUAL(less[0], 0xa5);
	goal_heap_free(ut.nic, 0, block);
	CU_ASSERT_TRUE(goal_heap_pending(ut.nic));
	(void)turns_until_free();
	CU_ASSERT_EQUAL(block[0], 0);
	goal_heap_free(ut.nic, 0, NULL);
	fw_ut_end(&ut);
}

static uint64_t charged(uint32_t client)
{
	uint64_t bytes = ut.nic->host.clients[client].goal_bytes;

	CU_ASSERT_EQUAL(ut.nic->share.holders[client].held[HW_SHARE_GOAL], bytes);
	return bytes;
}

static void more_than_a_share_or_than_there_is(void)
{
	uint64_t bytes = 0;
	uint8_t *block[32];
	uint32_t i;

	fw_ut_begin(&ut);
	CU_ASSERT_PTR_NULL(goal_heap_alloc(ut.nic, 0, GOAL_HEAP_BYTES + 1));
	CU_ASSERT_PTR_NULL(goal_heap_alloc(ut.nic, 0, UINT64_MAX));
	for (i = 0; i < 32; i++) {
		block[i] = goal_heap_alloc(ut.nic, 0, GOAL_HEAP_BYTES / 32);
		if (!block[i])
			break;
		bytes += GOAL_HEAP_BYTES / 32;
		CU_ASSERT_EQUAL(charged(0), bytes);
	}
	CU_ASSERT(i && i < 32);
	CU_ASSERT_EQUAL(charged(0), bytes);
	while (i--)
		goal_heap_free(ut.nic, 0, block[i]);
	CU_ASSERT_EQUAL(charged(0), 0);
	while (goal_heap_pending(ut.nic))
		fw_ut_poll(&ut, 1000);
	fw_ut_end(&ut);
}

static void a_block_that_another_takes_over(void)
{
	uint32_t client;
	uint8_t *block, *own;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	block = full_block(SMALL_BYTES - 1);
	own = full_block(2 * SMALL_BYTES);
	CU_ASSERT_EQUAL(charged(0), 3 * SMALL_BYTES);
	goal_heap_move(ut.nic, 0, client, block);
	goal_heap_move(ut.nic, 0, client, NULL);
	CU_ASSERT_EQUAL(charged(0), 2 * SMALL_BYTES);
	CU_ASSERT_EQUAL(charged(client), SMALL_BYTES);
	goal_heap_free(ut.nic, client, block);
	goal_heap_free(ut.nic, 0, own);
	CU_ASSERT_EQUAL(charged(0), 0);
	CU_ASSERT_EQUAL(charged(client), 0);
	fw_ut_end(&ut);
}

/* Whatever the memory held before: small blocks keep their pages. */
static void blocks_of_zeros(void)
{
	static const uint64_t sizes[] = {SMALL_BYTES, GOAL_HEAP_RELEASE_BYTES / 2,
					 GOAL_HEAP_RELEASE_BYTES};
	uint8_t *block;
	uint64_t n;
	uint32_t i;

	fw_ut_begin(&ut);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		block = full_block(sizes[i]);
		goal_heap_free(ut.nic, 0, block);
		while (goal_heap_pending(ut.nic))
			fw_ut_poll(&ut, 1000);
		CU_ASSERT_PTR_EQUAL_FATAL(goal_heap_alloc_zero(ut.nic, 0, sizes[i]), block);
		for (n = 0; n < sizes[i] && !block[n]; n++)
			;
		CU_ASSERT_EQUAL(n, sizes[i]);
		goal_heap_free(ut.nic, 0, block);
		while (goal_heap_pending(ut.nic))
			fw_ut_poll(&ut, 1000);
	}
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_heap", UT(pages_go_back_in_turns), UT(several_in_their_order),
	UT(the_least_block_that_goes_back_in_turns), UT(more_than_a_share_or_than_there_is),
	UT(a_block_that_another_takes_over), UT(blocks_of_zeros))
