/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/dgram/rd_grant.c: credits whose packets do not come, or that a peer gives up.
 */
#include "tests/nic_fw/dgram/rd_grant_fix.h"

enum {
	RTT_NS = 20000,
};

/* Two peers in a steady state; the first one has at least 4 credits. */
static void steady(void)
{
	uint32_t count[2] = {0};

	begin(2);
	run_all(2, 200, RTT_NS, count);
	while (left(&peer[0]) < 4) {
		nic.now_ns += 3000;
		rx(1, peer[1].rx_used + 1, true, RTT_NS);
		rd_grant_taken(&peer[1], 1);
	}
	CU_ASSERT_EQUAL(missing(&peer[0]), 0);
}

/* Both go on for several waits. */
static void go_on(void)
{
	uint32_t count[2] = {0};

	run_all(2, 400, RTT_NS, count);
	CU_ASSERT_TRUE(count[0] >= 150 && count[1] >= 150);
}

/* A packet with this number, of the first peer, comes and is accepted. */
static void comes(uint32_t number)
{
	rx(0, number, true, RTT_NS);
	rd_grant_taken(&peer[0], 1);
}

/* The same, with a timestamp of before: it was overtaken. */
static void comes_late(uint32_t number)
{
	told[0] -= 10;
	comes(number);
	told[0] += 9;
}

/* Packets that come after a loss do not stand for the lost ones: each loss would cost for ever. */
static void losses(void)
{
	uint32_t used;

	steady();
	used = peer[0].rx_used;
	comes(used + 4);
	CU_ASSERT_EQUAL(missing(&peer[0]), 3);
	go_on();
	CU_ASSERT_EQUAL(missing(&peer[0]), 0);
	CU_ASSERT_EQUAL(peer[0].rx_taken, peer[0].rx_used);
}

/* Overtaken packets are no losses: no credit is given twice. */
static void overtaken(void)
{
	uint32_t used;

	steady();
	used = peer[0].rx_used;
	comes(used + 4);
	nic.now_ns += 50000;
	rx(1, peer[1].rx_used + 1, true, RTT_NS);
	rd_grant_taken(&peer[1], 1);
	comes_late(used + 2);
	comes_late(used + 1);
	CU_ASSERT_EQUAL(missing(&peer[0]), 1);
	go_on();
	CU_ASSERT_EQUAL(peer[0].rx_taken, peer[0].rx_used);
	comes_late(used + 3); /* void by now: it may use no credit of another */
	CU_ASSERT_TRUE(seq_lt(peer[0].rx_used, peer[0].rx_taken));
}

/* A packet is void a wait after it was reported, and not before. */
static void wait_of_one(void)
{
	uint64_t wait_ns;
	uint32_t used;

	steady();
	used = peer[0].rx_used;
	comes(used + 2);
	nic.now_ns += 1000;
	comes(used + 3); /* the first header after the report counts what is missing */
	wait_ns = void_wait_ns(&peer[0]);
	nic.now_ns += wait_ns - 1;
	void_missing(&nic, &peer[0]);
	CU_ASSERT_EQUAL(missing(&peer[0]), 1);
	nic.now_ns++;
	void_missing(&nic, &peer[0]);
	CU_ASSERT_EQUAL(missing(&peer[0]), 0);
}

/* Numbers are modulo 256. */
static void wrapped(void)
{
	uint32_t used;

	steady();
	for (used = peer[0].rx_used; used < 254; used = peer[0].rx_used)
		go_on();
	while (peer[0].rx_used % 256 != 254) {
		uint32_t count[2] = {0};

		run_all(2, 1, RTT_NS, count);
	}
	while (left(&peer[0]) < 4) {
		nic.now_ns += 3000;
		rx(1, peer[1].rx_used + 1, true, RTT_NS);
		rd_grant_taken(&peer[1], 1);
	}
	used = peer[0].rx_used;
	comes(used + 4);
	comes_late(used + 1);
	comes_late(used + 3);
	CU_ASSERT_EQUAL(missing(&peer[0]), 1);
	go_on();
	CU_ASSERT_EQUAL(peer[0].rx_taken, peer[0].rx_used);
}

/* An idle peer counts credits that it does not need as used: nothing of it is missing. */
static void given_up(void)
{
	uint32_t had;

	for (had = RD_CREDIT_IDLE + 1; had < 3 * RD_CREDIT_IDLE; had++) {
		steady();
		peer[0].rx_limit = peer[0].rx_used + had;
		nic.now_ns += 1000000000;
		comes(peer[0].rx_limit - RD_CREDIT_IDLE + 1);
		CU_ASSERT_EQUAL(missing(&peer[0]), 0);
		CU_ASSERT_EQUAL(left(&peer[0]), RD_CREDIT_IDLE - 1);
	}
}

/* The third packet after an idle time overtook two others. */
static void given_up_and_overtaken(void)
{
	uint32_t first;

	steady();
	peer[0].rx_limit = peer[0].rx_used + 3 * RD_CREDIT_IDLE;
	first = peer[0].rx_limit - RD_CREDIT_IDLE + 1;
	nic.now_ns += 1000000000;
	comes(first + 2);
	CU_ASSERT_EQUAL(missing(&peer[0]), 2);
	comes_late(first);
	comes_late(first + 1);
	CU_ASSERT_EQUAL(missing(&peer[0]), 0);
	CU_ASSERT_EQUAL(peer[0].rx_taken, peer[0].rx_used);
}

/* Credits that are reported as used in the middle of a transfer were sent: they are missing. */
static void not_idle(void)
{
	steady();
	peer[0].rx_limit = peer[0].rx_used + 3 * RD_CREDIT_IDLE;
	nic.now_ns += 1000;
	comes(peer[0].rx_limit - RD_CREDIT_IDLE + 1);
	CU_ASSERT_EQUAL(missing(&peer[0]), 2 * RD_CREDIT_IDLE);
}

UT_MAIN("nic_fw/dgram/rd_void", UT(losses), UT(overtaken), UT(wait_of_one), UT(wrapped),
	UT(given_up), UT(given_up_and_overtaken), UT(not_idle))
