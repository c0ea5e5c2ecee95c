/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shadow memory: the accesses that each kind of hold allows, and the violations that it detects.
 */
#include <stdlib.h>
#include <string.h>

#include "sim_harness/sim_shadow.h"
#include "tests/ut.h"

enum {
	BYTES = 1000,
};

static uint8_t mem[BYTES];
static struct sim_shadow_diff diff;

static struct sim_shadow *fresh(void)
{
	struct sim_shadow *shadow;
	uint32_t i;

	for (i = 0; i < BYTES; i++)
		mem[i] = (uint8_t)(i * 7);
	shadow = sim_shadow_new(mem, BYTES);
	CU_ASSERT_FATAL(shadow != NULL);
	return shadow;
}

/* Every single byte counts, including the first and the last. */
static void any_change_is_seen(void)
{
	struct sim_shadow *shadow = fresh();
	size_t i;

	CU_ASSERT(sim_shadow_check(shadow, &diff));
	for (i = 0; i < BYTES; i++) {
		mem[i] ^= 1;
		CU_ASSERT(!sim_shadow_check(shadow, &diff));
		CU_ASSERT(diff.offset == i && diff.is == mem[i] && diff.expected == (mem[i] ^ 1));
		mem[i] ^= 1;
	}
	sim_shadow_free(shadow);
}

static void a_write_is_old_or_new(void)
{
	struct sim_shadow *shadow = fresh();
	struct sim_hold *hold;
	uint8_t data[100];

	memset(data, 0xaa, sizeof(data));
	hold = sim_shadow_hold(shadow, 100, 100, SIM_HOLD_WRITE, data);
	CU_ASSERT(sim_shadow_check(shadow, &diff));
	memset(mem + 150, 0xaa, 50);
	CU_ASSERT(sim_shadow_check(shadow, &diff));
	mem[120] = 0xab;
	CU_ASSERT(!sim_shadow_check(shadow, &diff) && diff.offset == 120);
	mem[120] = 0xaa;
	mem[200] ^= 0x80; /* right behind */
	CU_ASSERT(!sim_shadow_check(shadow, &diff) && diff.offset == 200);
	mem[200] ^= 0x80;
	/* Complete, so all bytes must be there. */
	CU_ASSERT(!sim_shadow_settle(hold, data, &diff) && diff.offset == 100);
	sim_shadow_free(shadow);
}

static void a_failed_write_is_adopted(void)
{
	struct sim_shadow *shadow = fresh();
	struct sim_hold *hold;
	uint8_t data[100];

	memset(data, 0xaa, sizeof(data));
	hold = sim_shadow_hold(shadow, 0, 100, SIM_HOLD_WRITE, data);
	mem[7] = 0xaa;
	CU_ASSERT(sim_shadow_adopt(hold, &diff));
	CU_ASSERT(sim_shadow_check(shadow, &diff));
	/* Any later access is too late. */
	mem[8] = 0xaa;
	CU_ASSERT(!sim_shadow_check(shadow, &diff) && diff.offset == 8);
	mem[8] = 8 * 7;
	hold = sim_shadow_hold(shadow, 900, 100, SIM_HOLD_WRITE, data);
	mem[999] = 0x55;
	CU_ASSERT(!sim_shadow_adopt(hold, &diff) && diff.offset == 999);
	sim_shadow_free(shadow);
}

static void holds_exclude_each_other(void)
{
	struct sim_shadow *shadow = fresh();
	struct sim_hold *a = sim_shadow_hold(shadow, 10, 10, SIM_HOLD_READ, NULL);
	struct sim_hold *b = sim_shadow_hold(shadow, 15, 10, SIM_HOLD_READ, NULL);

	CU_ASSERT(!sim_shadow_free_range(shadow, 19, 1, true));
	CU_ASSERT(sim_shadow_free_range(shadow, 19, 1, false));
	CU_ASSERT(sim_shadow_free_range(shadow, 0, 10, true));
	CU_ASSERT(sim_shadow_free_range(shadow, 25, 10, true));
	CU_ASSERT(sim_shadow_find(shadow, 0, BYTES, 10, true) == 0);
	CU_ASSERT(sim_shadow_find(shadow, 0, BYTES, 11, true) == 25);
	CU_ASSERT(sim_shadow_find(shadow, 0, 35, 11, true) == 35);
	CU_ASSERT(sim_shadow_hold(shadow, 12, 0, SIM_HOLD_ANY, NULL) == NULL);
	sim_shadow_release(a);
	CU_ASSERT(sim_shadow_free_range(shadow, 10, 5, true));
	CU_ASSERT(!sim_shadow_free_range(shadow, 19, 1, true));
	sim_shadow_release(b);
	CU_ASSERT(sim_shadow_free_range(shadow, 0, BYTES, true));
	a = sim_shadow_hold(shadow, 10, 10, SIM_HOLD_KEEP, NULL);
	CU_ASSERT(!sim_shadow_free_range(shadow, 12, 1, false));
	mem[12] ^= 1;
	CU_ASSERT(!sim_shadow_check(shadow, &diff));
	mem[12] ^= 1;
	sim_shadow_release(a);
	sim_shadow_free(shadow);
}

static void stores_settle_and_reads(void)
{
	struct sim_shadow *shadow = fresh();
	struct sim_hold *hold;
	uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	sim_shadow_store(shadow, 40, data, 8);
	CU_ASSERT(!memcmp(mem + 40, data, 8) && sim_shadow_check(shadow, &diff));
	hold = sim_shadow_hold(shadow, 50, 8, SIM_HOLD_WRITE, data);
	memcpy(mem + 50, data, 8);
	CU_ASSERT(sim_shadow_to_read(hold, &diff));
	CU_ASSERT(!memcmp(sim_shadow_at(shadow, 50), data, 8));
	CU_ASSERT(sim_shadow_free_range(shadow, 50, 8, false));
	mem[50] = 0;
	CU_ASSERT(!sim_shadow_check(shadow, &diff) && diff.offset == 50);
	sim_shadow_dead(shadow);
	CU_ASSERT(sim_shadow_check(shadow, &diff));
	CU_ASSERT(sim_shadow_settle(NULL, data, &diff) && sim_shadow_adopt(NULL, &diff));
	sim_shadow_free(shadow);
}

/* Memory that was read changes when its last reader is over, and only then. */
static void memory_wears(void)
{
	struct sim_shadow *shadow = fresh();
	struct sim_hold *one = sim_shadow_hold(shadow, 100, 50, SIM_HOLD_READ, NULL);
	struct sim_hold *other = sim_shadow_hold(shadow, 120, 50, SIM_HOLD_READ, NULL);
	uint8_t was[BYTES];
	size_t i;

	memcpy(was, mem, BYTES);
	sim_shadow_release(sim_shadow_hold(shadow, 0, 50, SIM_HOLD_READ, NULL));
	CU_ASSERT(!memcmp(was, mem, BYTES));
	sim_shadow_wear(shadow);
	sim_shadow_release(one);
	CU_ASSERT(!memcmp(was, mem, BYTES));
	sim_shadow_release(other);
	for (i = 0; i < BYTES; i++)
		CU_ASSERT((mem[i] != was[i]) == (i >= 120 && i < 170));
	CU_ASSERT(sim_shadow_check(shadow, &diff));
	sim_shadow_free(shadow);
}

UT_MAIN("sim/shadow", UT(any_change_is_seen), UT(a_write_is_old_or_new),
	UT(a_failed_write_is_adopted), UT(holds_exclude_each_other), UT(stores_settle_and_reads),
	UT(memory_wears))
