/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet in: destination addresses, types, bursts, and the cursor over segments.
 */
#include "tests/bench/stubs/net.h"

static void short_frames(void)
{
	struct frame f;
	uint32_t n;

	net_init(0);
	net_put_eth(&f, net_mac, WIRE_ETHERTYPE_IPV4);
	for (n = 0; n < sizeof(struct wire_eth); n++) {
		f.n = n;
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_too_short), sizeof(struct wire_eth));
	CU_ASSERT_EQUAL(CNT(rx_frames), sizeof(struct wire_eth));
	CU_ASSERT_EQUAL(net_drops(), sizeof(struct wire_eth));
	net_end();
}

static void only_our_mac_and_broadcast(void)
{
	static const uint8_t multicast[6] = {0x01, 0, 0x5e, 0, 0, 1};
	struct frame f;

	net_init(0);
	net_put_eth(&f, net_peer_mac, WIRE_ETHERTYPE_IPV4);
	net_rx(&f);
	net_put_eth(&f, multicast, WIRE_ETHERTYPE_IPV4);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_mac), 2);
	net_put_eth(&f, net_broadcast, WIRE_ETHERTYPE_IPV6);
	net_rx(&f);
	net_put_eth(&f, net_mac, 0x8100);
	net_rx(&f);
	net_put_eth(&f, net_mac, 46); /* a length: IEEE 802.3 */
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ethertype), 3);
	CU_ASSERT_EQUAL(net_drops(), 5);
	net_end();
}

static void demultiplexes(void)
{
	struct frame f;

	net_init(0);
	net_put_eth(&f, net_mac, WIRE_ETHERTYPE_IPV4);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_too_short), 1); /* counted by ip.c: no header follows */
	net_put_eth(&f, net_broadcast, WIRE_ETHERTYPE_ARP);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_arp_malformed), 1);
	net_end();
}

static void bursts_keep_to_the_budget(void)
{
	struct frame f;
	uint32_t i;

	net_init(0);
	net_put_eth(&f, net_mac, WIRE_ETHERTYPE_IPV6);
	f.n = 60;
	for (i = 0; i < FW_BURST + 10; i++)
		net_queue(&f, 0);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, 0), 0);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, 5), 5);
	CU_ASSERT_EQUAL(net.port.rx_freed, 5);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, 1000), FW_BURST + 5);
	CU_ASSERT_EQUAL(net.port.rx_freed, FW_BURST + 10);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, 1000), 0);
	CU_ASSERT_EQUAL(CNT(rx_frames), FW_BURST + 10);
	CU_ASSERT_EQUAL(CNT(rx_bytes), (FW_BURST + 10) * 60);
	net_end();
}

/* So many frames as a budget of 32 is for: copies take the time of many frames. */
static void few_frames_that_are_copied(void)
{
	enum {
		BUDGET = 32,
		WAITING = 200,
		COPY_BYTES = 1400,
	};
	struct frame f;
	uint32_t turns, i;
	uint64_t before;

	net_init(0);
	net_put_eth(&f, net_mac, WIRE_ETHERTYPE_ESP);
	f.n = 60;
	for (i = 0; i < WAITING; i++)
		net_queue(&f, 0);
	net.edp_copy_bytes = COPY_BYTES;
	/* Nothing is known of the first ones. */
	CU_ASSERT(eth_rx_poll(net.nic, BUDGET) > BUDGET);
	for (turns = 0; net.port.rx_freed < WAITING / 2; turns++) {
		before = net.port.rx_freed;
		CU_ASSERT(eth_rx_poll(net.nic, BUDGET) > 0);
		CU_ASSERT(net.port.rx_freed - before <= 3);
		CU_ASSERT_FATAL(net.port.rx_freed > before);
	}
	CU_ASSERT(turns > 10);
	/* Others come in bursts again. */
	net.edp_copy_bytes = 0;
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, BUDGET), BUDGET);
	CU_ASSERT_EQUAL(eth_rx_poll(net.nic, BUDGET), BUDGET);
	CU_ASSERT_EQUAL(net.nic->net.rx_most, FW_BURST);
	net_end();
}

static void cursor_walks_segments(void)
{
	static const uint8_t a[] = {0, 1, 2}, b[] = {3}, c[] = {4, 5, 6, 7, 8};
	struct fw_rx_frame frame = {
	    .seg = {{a, 3}, {b, 0}, {b, 1}, {c, 5}}, .num_seg = 4, .bytes = 9};
	struct eth_cursor cursor;
	const uint8_t *data;
	uint8_t out[9];
	uint32_t from, n, i, got;

	for (from = 0; from <= 9; from++) {
		for (n = 0; n <= 9 - from; n++) {
			eth_cursor_init(&cursor, &frame, from, n);
			eth_cursor_copy(&cursor, out, n);
			CU_ASSERT_EQUAL(cursor.left, 0);
			for (i = 0; i < n; i++)
				CU_ASSERT_EQUAL(out[i], from + i);
			CU_ASSERT_PTR_NULL(eth_cursor_next(&cursor, 1, &got));
		}
	}
	eth_cursor_init(&cursor, &frame, 1, 8);
	data = eth_cursor_next(&cursor, 100, &got);
	CU_ASSERT_PTR_EQUAL(data, a + 1);
	CU_ASSERT_EQUAL(got, 2);
	data = eth_cursor_next(&cursor, 100, &got);
	CU_ASSERT_PTR_EQUAL(data, b);
	CU_ASSERT_EQUAL(got, 1);
	data = eth_cursor_next(&cursor, 2, &got);
	CU_ASSERT_PTR_EQUAL(data, c);
	CU_ASSERT_EQUAL(got, 2);
	CU_ASSERT_PTR_NULL(eth_cursor_next(&cursor, 0, &got));
	CU_ASSERT_EQUAL(cursor.left, 3);
}

UT_MAIN("nic_fw/net/eth_rx", UT(short_frames), UT(only_our_mac_and_broadcast), UT(demultiplexes),
	UT(bursts_keep_to_the_budget), UT(few_frames_that_are_copied), UT(cursor_walks_segments))
