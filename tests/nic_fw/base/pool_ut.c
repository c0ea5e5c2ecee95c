/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools and numbers: order, exhaustion, quarantine.
 */
#include "nic_fw/base/pool.h"
#include "tests/ut.h"

static void pool_gives_every_element_once(void)
{
	uint64_t space[8];
	struct fw_pool pool;
	void *elem[8];
	uint32_t i, j;

	fw_pool_init(&pool, space, sizeof(space[0]), 8);
	for (i = 0; i < 8; i++) {
		elem[i] = fw_pool_get(&pool);
		CU_ASSERT_PTR_NOT_NULL_FATAL(elem[i]);
		CU_ASSERT_EQUAL(fw_pool_index(&pool, elem[i]), i);
		CU_ASSERT_PTR_EQUAL(fw_pool_at(&pool, i), elem[i]);
		for (j = 0; j < i; j++)
			CU_ASSERT_PTR_NOT_EQUAL(elem[i], elem[j]);
	}
	CU_ASSERT_PTR_NULL(fw_pool_get(&pool));
	CU_ASSERT_EQUAL(pool.used, 8);
}

static void pool_reuses_the_last_first(void)
{
	uint64_t space[8];
	struct fw_pool pool;
	void *a, *b;

	fw_pool_init(&pool, space, sizeof(space[0]), 8);
	a = fw_pool_get(&pool);
	b = fw_pool_get(&pool);
	fw_pool_put(&pool, a);
	fw_pool_put(&pool, b);
	CU_ASSERT_EQUAL(pool.used, 0);
	CU_ASSERT_EQUAL(pool.used_max, 2);
	CU_ASSERT_PTR_EQUAL(fw_pool_get(&pool), b);
	CU_ASSERT_PTR_EQUAL(fw_pool_get(&pool), a);
	CU_ASSERT_EQUAL(pool.high, 2);
}

static void ids_are_fresh_until_the_quarantine_is_full(void)
{
	uint32_t next[80], i;
	struct fw_ids ids;

	fw_ids_init(&ids, next, 80); /* quarantine 10 */
	CU_ASSERT_EQUAL(ids.quarantine, 10);
	for (i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(fw_ids_get(&ids), i);
		fw_ids_put(&ids, i);
	}
	/* Ten wait: the eleventh is new, and once eleven wait the oldest comes back. */
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 10);
	fw_ids_put(&ids, 10);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 0);
	fw_ids_put(&ids, 0);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 1);
	CU_ASSERT_EQUAL(fw_ids_used(&ids), 1);
	CU_ASSERT_EQUAL(ids.high, 11);
}

static void ids_can_all_be_taken(void)
{
	uint32_t next[64], i;
	struct fw_ids ids;

	fw_ids_init(&ids, next, 64);
	for (i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(fw_ids_get(&ids), i);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), FW_NONE);
	/* Without unused numbers quarantine gives way: oldest first. */
	fw_ids_put(&ids, 40);
	fw_ids_put(&ids, 3);
	CU_ASSERT_EQUAL(fw_ids_used(&ids), 62);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 40);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 3);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), FW_NONE);
	/* The queue still works after it was emptied and filled again. */
	fw_ids_put(&ids, 5);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 5);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), FW_NONE);
}

static void ids_of_small_tables_have_a_small_quarantine(void)
{
	uint32_t next[4];
	struct fw_ids ids;

	fw_ids_init(&ids, next, 4);
	CU_ASSERT_EQUAL(ids.quarantine, 0);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 0);
	fw_ids_put(&ids, 0);
	CU_ASSERT_EQUAL(fw_ids_get(&ids), 0);
}

/*
 * Each number is drawn once, whatever the random numbers; a number given back can be drawn again.
 */
static void drawn_numbers_run_out(void)
{
	uint32_t next[8], seen = 0, i;
	struct fw_ids ids;

	fw_ids_init(&ids, next, 8);
	for (i = 0; i < 8; i++) {
		uint32_t id = fw_ids_draw(&ids, 3, i * 2654435761u);

		CU_ASSERT_FATAL(id < 8);
		seen |= 1u << id;
	}
	CU_ASSERT_EQUAL(seen, 0xff);
	CU_ASSERT_EQUAL(fw_ids_draw(&ids, 3, 1), FW_NONE);
	fw_ids_put_drawn(&ids, 5);
	CU_ASSERT_EQUAL(fw_ids_draw(&ids, 3, 1), 5);
	CU_ASSERT_EQUAL(fw_ids_draw(&ids, 3, 1), FW_NONE);
}

UT_MAIN("nic_fw/base/pool", UT(pool_gives_every_element_once), UT(pool_reuses_the_last_first),
	UT(ids_are_fresh_until_the_quarantine_is_full), UT(ids_can_all_be_taken),
	UT(ids_of_small_tables_have_a_small_quarantine), UT(drawn_numbers_run_out))
