/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_mr_table.c against a list that is searched from end to end.
 */
#include <string.h>

#include "host_driver/weft_mr_table.h"
#include "tests/ut.h"

enum {
	SIZE = 60,
	ROUNDS = 20000,
};

struct range {
	uint64_t start;
	uint64_t bytes;
	int access;
	bool used;
};

static bool allows(const void *entry, int access)
{
	const struct range *r = entry;

	return (r->access & access) == access;
}

static uint64_t rnd(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static bool covers(const struct range *r, uint64_t start, uint64_t end, int access)
{
	return r->used && r->start <= start && r->start + r->bytes >= end && allows(r, access);
}

static void against_a_list(void)
{
	struct range ranges[SIZE] = {0};
	struct weft_mr_table table;
	uint64_t seed = 1, wrong = 0, found = 0;

	CU_ASSERT_EQUAL_FATAL(weft_mr_table_init(&table, SIZE), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct range *r = &ranges[rnd(&seed, SIZE)];
		uint64_t start, end;
		int access = (int)rnd(&seed, 4);
		bool any = false;
		void *hit;

		if (r->used) {
			weft_mr_table_del(&table, r);
			r->used = false;
		} else {
			/* Some long, most short, many at the same address. */
			r->start = rnd(&seed, 50) * 10;
			r->bytes = 1 + rnd(&seed, rnd(&seed, 5) ? 30 : 400);
			r->access = (int)rnd(&seed, 4);
			r->used = true;
			weft_mr_table_add(&table, r, r->start, r->bytes);
		}
		start = rnd(&seed, 600);
		end = start + 1 + rnd(&seed, 60);
		for (int k = 0; k < SIZE; k++)
			any = any || covers(&ranges[k], start, end, access);
		hit = weft_mr_table_find(&table, start, end, access, allows);
		wrong += any != (hit != NULL);
		wrong += hit && !covers(hit, start, end, access);
		found += any;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(found > ROUNDS / 10 && found < ROUNDS * 9 / 10);
	weft_mr_table_free(&table);
}

static void full_and_empty(void)
{
	struct range r[3] = {{.start = 0}, {.start = 0}, {.start = UINT64_MAX - 4095}};
	struct weft_mr_table table;

	CU_ASSERT_EQUAL_FATAL(weft_mr_table_init(&table, 3), 0);
	CU_ASSERT_PTR_NULL(weft_mr_table_find(&table, 0, 1, 0, allows));
	weft_mr_table_add(&table, &r[0], 0, 4096);
	weft_mr_table_add(&table, &r[1], 0, 8192);
	/* The last page but its last byte: the end fits 64 bits. */
	weft_mr_table_add(&table, &r[2], UINT64_MAX - 4095, 4095);
	CU_ASSERT_EQUAL(table.count, 3);
	CU_ASSERT_PTR_EQUAL(weft_mr_table_find(&table, 0, 8192, 0, allows), &r[1]);
	CU_ASSERT_PTR_NULL(weft_mr_table_find(&table, 0, 8193, 0, allows));
	CU_ASSERT_PTR_EQUAL(weft_mr_table_find(&table, UINT64_MAX - 2, UINT64_MAX, 0, allows),
			    &r[2]);
	for (int i = 0; i < 3; i++)
		weft_mr_table_del(&table, &r[i]);
	CU_ASSERT_EQUAL(table.count, 0);
	weft_mr_table_free(&table);
}

UT_MAIN("host_driver/weft_mr_table", UT(against_a_list), UT(full_and_empty))
