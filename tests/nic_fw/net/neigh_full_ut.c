/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: a full table, of entries that are unused, in use, or requested.
 */
#include "tests/bench/stubs/net.h"
#include "tests/nic_fw/net/neigh_fix.h"

#define STRANGER_NS (NEIGH_RATE_NS / 32)

/* A stranger's address becomes known: it requests ours, receives a request, and replies. */
static void stranger(uint32_t ip, const uint8_t *from)
{
	net.nic->now_ns += STRANGER_NS;
	rx_arp(WIRE_ARP_REQUEST, ip, from, NET_IP);
	rx_arp(WIRE_ARP_REPLY, ip, from, NET_IP);
	net_flush();
	net.num_sent = 0;
}

static bool has_entry(uint32_t ip)
{
	for (uint32_t i = 0; i < net.nic->net.neigh_count; i++)
		if (net.nic->net.neigh[i].ip == ip)
			return true;
	return false;
}

static void full_table_gives_up_the_unused(void)
{
	uint32_t i;

	net_init(1); /* answers none of the requests */
	net.nic->config.ip_prefix = 8;
	net_learn_peer();
	for (i = 1; i < HW_MAX_NEIGH + 9; i++)
		stranger(net_ip(10, 78, i >> 7, 1 + (i & 127)), other_mac);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, HW_MAX_NEIGH);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_learn_peer(); /* confirmed in either case */
	/* Strangers displace one another, but never a peer of ours. */
	for (i = 0; i < 2000; i++) {
		stranger(net_ip(10, 80, i >> 7, 1 + (i & 127)), other_mac);
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
		CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
		if (fw_timers_next_ns(&net.nic->timers) != UINT64_MAX)
			net_learn_peer();
	}
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, HW_MAX_NEIGH);
	net_end();
}

/* All entries are peers of ours: a stranger gets no entry, a need of our own does. */
static void full_table_in_use(void)
{
	uint32_t i;

	net_init(1);
	net.nic->config.ip_prefix = 8;
	for (i = 0; i < HW_MAX_NEIGH; i++) {
		uint32_t ip = net_ip(10, 78, i >> 7, 1 + (i & 127));

		CU_ASSERT_EQUAL(neigh_lookup(net.nic, ip, mac), NEIGH_WAIT);
		rx_arp(WIRE_ARP_REPLY, ip, other_mac, NET_IP);
		net_flush();
		net.num_sent = 0;
	}
	for (i = 0; i < 400; i++)
		stranger(net_ip(10, 80, i >> 7, 1 + (i & 127)), net_peer_mac);
	for (i = 0; i < HW_MAX_NEIGH; i++)
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 78, i >> 7, 1 + (i & 127)), mac),
				NEIGH_OK);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	net_learn_peer();
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	/* Entries that are unused for long enough are replaced, and not before. */
	net.nic->now_ns += NEIGH_CONFIRM_NS - 2 * STRANGER_NS;
	stranger(net_ip(10, 80, 0, 1), net_peer_mac);
	CU_ASSERT_FALSE(has_entry(net_ip(10, 80, 0, 1)));
	stranger(net_ip(10, 80, 0, 2), net_peer_mac);
	CU_ASSERT_TRUE(has_entry(net_ip(10, 80, 0, 2)));
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 80, 0, 2), mac), NEIGH_OK);
	net_end();
}

/* Every entry has a pending request: none is dropped, the new address waits. */
static void table_full_of_waits(void)
{
	uint32_t i;

	net_init(0);
	net.nic->config.ip_prefix = 8;
	for (i = 0; i < HW_MAX_NEIGH; i++) {
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 78, i >> 7, 1 + (i & 127)), mac),
				NEIGH_WAIT);
		net.num_sent = 0;
	}
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, HW_MAX_NEIGH);
	for (i = 0; i < NEIGH_TRIES; i++) {
		net.nic->now_ns += NEIGH_RETRY_NS;
		while (fw_timers_run(net.nic, &net.nic->timers, net.nic->now_ns, 100))
			net.num_sent = 0;
	}
	CU_ASSERT_EQUAL(net.ah_done.calls, HW_MAX_NEIGH);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	net_learn_peer();
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_end();
}

UT_MAIN("nic_fw/net/neigh_full", UT(full_table_gives_up_the_unused), UT(full_table_in_use),
	UT(table_full_of_waits))
