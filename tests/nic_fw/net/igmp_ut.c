/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP, reports: their bytes and times, groups that are joined and left.
 */
#include "tests/bench/stubs/net.h"
#include "tests/nic_fw/net/igmp_fix.h"

static void joining_and_leaving_are_told_twice(void)
{
	struct mcast_group *group;
	uint32_t ip = net_ip(239, 1, 2, 3);

	begin();
	random_value = 400 * MS - 1;
	group = join(ip);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_advance(0);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	expect_record(0, 0, WIRE_IGMP_TO_EXCLUDE, ip, 0);
	expect_golden(0, "v3_join");
	net_advance(400 * MS - 1);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	net_advance(1);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	expect_record(1, 0, WIRE_IGMP_TO_EXCLUDE, ip, 0);
	pass(10000);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	CU_ASSERT_EQUAL(net.nic->timers.count, 0);

	leave(group);
	net_advance(0);
	CU_ASSERT_EQUAL(net.num_sent, 3);
	expect_record(2, 0, WIRE_IGMP_TO_INCLUDE, ip, 0);
	expect_golden(2, "v3_leave");
	CU_ASSERT_PTR_EQUAL(mcast_find(net.nic, ip), group);
	net_advance(400 * MS);
	CU_ASSERT_EQUAL(net.num_sent, 4);
	CU_ASSERT_PTR_NULL(mcast_find(net.nic, ip));
	CU_ASSERT_EQUAL(net.nic->net.mcast_group_pool.used, 0);
	CU_ASSERT_EQUAL(CNT(igmp_reports_tx), 4);
	net_end();
}

/* Changes at the same time, or within the gap between two messages, share one message. */
static void changes_are_put_together(void)
{
	struct mcast_group *group[300];
	uint32_t i, records = 0;

	begin();
	random_value = 500 * MS;
	for (i = 0; i < 300; i++)
		group[i] = join(net_ip(239, 0, i >> 8, i & 255));
	net_advance(0);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_TRUE(net.sent[0].n <= NET_MTU + sizeof(struct wire_eth));
	net_advance(IGMP_GAP_NS - 1);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	leave(group[0]); /* reported as joined already: its leave is reported */
	leave(group[299]);
	net_advance(1);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	for (i = 0; i < 2; i++)
		records += records_of(i);
	CU_ASSERT_EQUAL(records, 301);
	expect_record(1, 0, WIRE_IGMP_TO_INCLUDE, net_ip(239, 0, 0, 0), 0);
	expect_record(1, records_of(1) - 1, WIRE_IGMP_TO_INCLUDE, net_ip(239, 0, 1, 43), 0);
	CU_ASSERT_EQUAL(CNT(igmp_records_tx), 301);
	net_end();
}

/* A group with a member on another shard of the NIC has not been left. */
static void the_last_shard_tells(void)
{
	uint32_t a = net_ip(239, 1, 1, 1);
	struct mcast_group *group;

	begin();
	random_value = 300 * MS - 1;
	group = join(a);
	pass(2000);
	net.num_sent = 0;
	net.port.filter_others = 1;
	leave(group);
	pass(2000);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	CU_ASSERT_PTR_NULL(mcast_find(net.nic, a));
	/* Joined on the other shard between two reports of leaving: the second one is not sent. */
	net.port.filter_others = 0;
	group = join(a);
	pass(2000);
	net.num_sent = 0;
	leave(group);
	net_advance(0);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	net.port.filter_others = 2;
	pass(2000);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(net.nic->net.mcast_group_pool.used, 0);
	net_end();
}

static void a_link_that_comes_up(void)
{
	begin();
	(void)join(net_ip(239, 1, 1, 1));
	pass(2000);
	net.num_sent = 0;
	igmp_link_up(net.nic);
	pass(2000);
	pass(2000);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	expect_record(1, 0, WIRE_IGMP_TO_EXCLUDE, net_ip(239, 1, 1, 1), 0);
	net_end();
}

/* Without room in the port the report is sent a little later; none is lost. */
static void no_room(void)
{
	begin();
	net.port.tx_room = 0;
	(void)join(net_ip(239, 1, 1, 1));
	net_advance(0);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net.port.tx_room = UINT32_MAX;
	net_advance(IGMP_GAP_NS);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 0);
	net_end();
}

/* Delays are drawn from all of their range, and none is 0: a due time of 0 is no due time. */
static void a_delay_is_not_zero(void)
{
	begin();
	CU_ASSERT_EQUAL(igmp_delay_ns(net.nic, 0), 1);
	CU_ASSERT_EQUAL(igmp_delay_ns(net.nic, 100), 1);
	random_value = 99;
	CU_ASSERT_EQUAL(igmp_delay_ns(net.nic, 0), 1);
	CU_ASSERT_EQUAL(igmp_delay_ns(net.nic, 100), 100);
	random_value = 100;
	CU_ASSERT_EQUAL(igmp_delay_ns(net.nic, 100), 1);
	net_end();
}

UT_MAIN("nic_fw/net/igmp", UT(a_delay_is_not_zero), UT(joining_and_leaving_are_told_twice),
	UT(changes_are_put_together), UT(the_last_shard_tells), UT(a_link_that_comes_up),
	UT(no_room))
