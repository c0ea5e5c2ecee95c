/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of the tables of collectives: one process alone, a second one later, many.
 */
#include "tests/bench/host.h"

enum {
	OTHERS = 4,
};

static void *element[GOAL_MAX_CALCS];
static uint16_t owner[GOAL_MAX_CALCS];
static uint32_t taken;

/* Takes all that the client can get; returns the number. */
static uint32_t take_all(struct fw_ut *ut, uint32_t client)
{
	uint32_t n = 0;
	void *elem;

	while ((elem = goal_take(ut->nic, client, GOAL_TABLE_CALCS)) != NULL) {
		owner[taken] = (uint16_t)client;
		element[taken++] = elem;
		n++;
	}
	return n;
}

static void give_all(struct fw_ut *ut)
{
	while (taken--)
		goal_give(ut->nic, owner[taken], GOAL_TABLE_CALCS, element[taken]);
	taken = 0;
	CU_ASSERT_EQUAL(ut->nic->goal.calcs.used, 0);
}

static void alone_it_gets_two_thirds(void)
{
	struct fw_ut ut;
	uint32_t n;

	fw_ut_begin(&ut);
	n = take_all(&ut, 0);
	CU_ASSERT_TRUE(n >= GOAL_MAX_CALCS / 3 * 2 && n <= GOAL_MAX_CALCS / 3 * 2 + 2);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_held[GOAL_TABLE_CALCS], n);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_share_refused, 1);
	/* The client may take again the elements that it gave back. */
	goal_give(ut.nic, 0, GOAL_TABLE_CALCS, element[--taken]);
	CU_ASSERT_EQUAL(take_all(&ut, 0), 1);
	give_all(&ut);
	CU_ASSERT_EQUAL(take_all(&ut, 0), n);
	give_all(&ut);
	fw_ut_end(&ut);
}

static void whoever_comes_later_has_room(void)
{
	struct fw_ut ut;
	uint32_t client, i, n, before = GOAL_MAX_CALCS;

	fw_ut_begin(&ut);
	n = take_all(&ut, 0);
	for (i = 0; i < OTHERS; i++) {
		CU_ASSERT_EQUAL(fw_ut_attach(&ut, NULL, &client), 0);
		before -= n;
		n = take_all(&ut, client);
		/* Two thirds of the rest. */
		CU_ASSERT_TRUE(n >= before / 3 * 2 && n <= before / 3 * 2 + 3);
	}
	give_all(&ut);
	for (client = 1; client <= OTHERS; client++)
		fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

static void each_table_by_itself(void)
{
	struct fw_ut ut;
	uint32_t table;
	void *elem[GOAL_TABLES];

	fw_ut_begin(&ut);
	(void)take_all(&ut, 0);
	for (table = 0; table < GOAL_TABLES; table++) {
		if (table == GOAL_TABLE_CALCS)
			continue;
		elem[table] = goal_take(ut.nic, 0, (enum goal_table)table);
		CU_ASSERT_PTR_NOT_NULL(elem[table]);
		CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_held[table], 1);
	}
	for (table = 0; table < GOAL_TABLES; table++)
		if (table != GOAL_TABLE_CALCS)
			goal_give(ut.nic, 0, (enum goal_table)table, elem[table]);
	give_all(&ut);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_share", UT(alone_it_gets_two_thirds), UT(whoever_comes_later_has_room),
	UT(each_table_by_itself))
