/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles per stage: their owner when stages call each other, turns with and without work, and no
 * counts without a clock.
 */
#include "tests/bench/host.h"

static uint64_t now, step;

static uint64_t the_clock(void)
{
	now += step;
	return now;
}

/* The value of a counter; UINT64_MAX: no counter of that name. */
static uint64_t stat(const struct fw_nic *nic, const char *want)
{
	const char *name;
	uint64_t value;
	uint32_t i;

	for (i = 0; fw_stat(nic, i, &name, &value); i++)
		if (!strcmp(name, want))
			return value;
	return UINT64_MAX;
}

static void nested_stages_are_told_apart(void)
{
	struct fw_ut ut;
	uint8_t outer, inner;

	fw_ut_begin(&ut);
	now = step = 0;
	fw_set_clock(ut.nic, the_clock);
	fw_stage_begin_turn(&ut.nic->stages);
	now += 1;
	outer = fw_stage(ut.nic, FW_STAGE_RD_RX);
	CU_ASSERT_EQUAL(outer, FW_STAGE_TURN);
	now += 10;
	inner = fw_stage(ut.nic, FW_STAGE_DDP_RX);
	CU_ASSERT_EQUAL(inner, FW_STAGE_RD_RX);
	now += 100;
	CU_ASSERT_EQUAL(fw_stage(ut.nic, inner), FW_STAGE_DDP_RX);
	now += 1000;
	(void)fw_stage(ut.nic, outer);
	now += 10000;
	fw_stage_end_turn(&ut.nic->stages, true);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_turn"), 10001);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_rd_rx"), 1010);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_ddp_rx"), 100);
	CU_ASSERT_EQUAL(stat(ut.nic, "entries_rd_rx"), 2);
	CU_ASSERT_EQUAL(stat(ut.nic, "entries_ddp_rx"), 1);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_db"), 0);
	CU_ASSERT_EQUAL(stat(ut.nic, "turns_busy"), 1);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_idle"), 0);
	fw_ut_end(&ut);
}

static void idle_turns_are_kept_apart(void)
{
	uint64_t busy, i, sum = 0;
	struct fw_cq *cq;
	struct fw_ut ut;
	uint32_t *ring;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 16, HW_EQ_NONE);
	step = 7;
	fw_set_clock(ut.nic, the_clock);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_clock"), 7);
	fw_ut_poll(&ut, 1000);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(stat(ut.nic, "turns_idle"), 2);
	CU_ASSERT_EQUAL(stat(ut.nic, "turns_busy"), 0);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_db"), 0);
	CU_ASSERT_TRUE(stat(ut.nic, "cycles_idle") > 0);
	/* A doorbell is work. */
	ring = ut.nic->host.clients[0].db_ring;
	ring[ut.nic->host.clients[0].db_head % HW_DB_RING_ENTRIES] =
	    HW_DB_ENTRY(HW_DB_CQ_ARM, cq->index);
	busy = now;
	fw_ut_poll(&ut, 1000);
	/* The first reading begins the turn: all later ones are in it. */
	busy = now - busy - step;
	CU_ASSERT_EQUAL(stat(ut.nic, "turns_busy"), 1);
	CU_ASSERT_EQUAL(stat(ut.nic, "turns_idle"), 2);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_db"), 7);
	for (i = 0; i < FW_STAGES; i++)
		sum += ut.nic->stages.cycles[i];
	CU_ASSERT_EQUAL(sum, busy);
	fw_ut_end(&ut);
}

static void nothing_without_a_clock(void)
{
	const char *name;
	struct fw_ut ut;
	uint64_t then, value;

	fw_ut_begin(&ut);
	then = now;
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(now, then);
	CU_ASSERT_EQUAL(fw_stage(ut.nic, FW_STAGE_CQ), FW_STAGE_CQ);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_turn"), UINT64_MAX);
	fw_set_clock(ut.nic, the_clock);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_turn"), 0);
	CU_ASSERT_EQUAL(stat(ut.nic, "entries_timer"), 0);
	CU_ASSERT_FALSE(fw_stage_stat(&ut.nic->stages, UINT32_MAX, &name, &value));
	fw_set_clock(ut.nic, NULL);
	CU_ASSERT_EQUAL(stat(ut.nic, "cycles_turn"), UINT64_MAX);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/base/stage", UT(nested_stages_are_told_apart), UT(idle_turns_are_kept_apart),
	UT(nothing_without_a_clock))
