/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter: members of each group, calls of the port, frames that are accepted.
 */
#include "tests/bench/stubs/net.h"

static const uint8_t group_mac[6] = {0x01, 0, 0x5e, 1, 2, 3};
static const uint8_t raw_mac[6] = {0x03, 0, 0, 0, 0, 9};

static void counts_users(void)
{
	net_init(0);
	CU_ASSERT_FALSE(mac_filter_has(net.nic, group_mac));
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, group_mac, net_ip(239, 1, 2, 3)), 0);
	CU_ASSERT_EQUAL(net.port.filter_calls, 1);
	CU_ASSERT_TRUE(net.port.filter_in);
	CU_ASSERT_EQUAL(net.port.filter_ip, net_ip(239, 1, 2, 3));
	CU_ASSERT_EQUAL(memcmp(net.port.filter_mac, group_mac, 6), 0);
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, group_mac, net_ip(239, 1, 2, 3)), 0);
	CU_ASSERT_EQUAL(net.port.filter_calls, 1);
	/* Another group with the same MAC is an entry of its own. */
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, group_mac, net_ip(238, 129, 2, 3)), 0);
	CU_ASSERT_EQUAL(net.port.filter_calls, 2);
	net.port.filter_others = 3;
	CU_ASSERT_EQUAL(mac_filter_del(net.nic, group_mac, net_ip(239, 1, 2, 3)), 0);
	CU_ASSERT_EQUAL(net.port.filter_calls, 2);
	CU_ASSERT_EQUAL(mac_filter_del(net.nic, group_mac, net_ip(239, 1, 2, 3)), 3);
	CU_ASSERT_EQUAL(net.port.filter_calls, 3);
	CU_ASSERT_FALSE(net.port.filter_in);
	CU_ASSERT_TRUE(mac_filter_has(net.nic, group_mac));
	net.port.filter_others = 1;
	CU_ASSERT_EQUAL(mac_filter_others(net.nic, group_mac, net_ip(239, 1, 2, 3)), 1);
	CU_ASSERT_EQUAL(mac_filter_del(net.nic, group_mac, net_ip(238, 129, 2, 3)), 1);
	CU_ASSERT_FALSE(mac_filter_has(net.nic, group_mac));
	CU_ASSERT_EQUAL(net.nic->net.mac_filters.used, 0);
	net_end();
}

static void only_wanted_groups_come_in(void)
{
	struct frame f;

	net_init(0);
	net_put_eth(&f, raw_mac, 0x8100);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_mac), 1);
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, raw_mac, 0), 0);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ethertype), 1);
	net_put_eth(&f, group_mac, 0x8100);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_mac), 2);
	(void)mac_filter_del(net.nic, raw_mac, 0);
	net_put_eth(&f, raw_mac, 0x8100);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_mac), 3);
	CU_ASSERT_EQUAL(net_drops(), 4);
	net_end();
}

static void a_full_table_refuses(void)
{
	uint8_t mac[6] = {0x01, 0, 0x5e, 0, 0, 0};
	uint32_t i;

	net_init(0);
	for (i = 0; i < MAC_FILTER_MAX; i++) {
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		CU_ASSERT_EQUAL_FATAL(mac_filter_add(net.nic, mac, i + 1), 0);
	}
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, raw_mac, 0), FW_ENOSPC);
	CU_ASSERT_EQUAL(net.port.filter_calls, MAC_FILTER_MAX);
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, mac, i), 0); /* an existing one */
	for (; i--;) {
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		CU_ASSERT_TRUE(mac_filter_has(net.nic, mac));
		(void)mac_filter_del(net.nic, mac, i + 1);
	}
	CU_ASSERT_TRUE(mac_filter_has(net.nic, (uint8_t[]){1, 0, 0x5e, 0, 0x0f, 0xff}));
	CU_ASSERT_EQUAL(net.nic->net.mac_filters.used, 1);
	CU_ASSERT_EQUAL(mac_filter_add(net.nic, raw_mac, 0), 0);
	net_end();
}

UT_MAIN("nic_fw/net/mac_filter", UT(counts_users), UT(only_wanted_groups_come_in),
	UT(a_full_table_refuses))
