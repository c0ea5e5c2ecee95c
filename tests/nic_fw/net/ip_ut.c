/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4: header checks, options, padding, fragments, addresses; headers of sent packets.
 *
 * Runs nic_fw/net/ip.c on the shard without upper layers of tests/bench/stubs/net.h.
 */
#include "tests/bench/stubs/net.h"

/* Protocol 6 is not served: a packet counted there has passed all checks of ip.c. */
enum {
	OTHER_PROTO = 132, /* SCTP: not served */
};

static void put(struct frame *f, uint32_t payload_bytes)
{
	net_put_ip(f, OTHER_PROTO);
	f->n += payload_bytes;
	frame_seal_ip(f);
}

static void good_packet_passes(void)
{
	struct frame f;

	net_init(0);
	put(&f, 0);
	net_rx(&f);
	put(&f, 1480);
	net_rx_pieces(&f, 100);
	put(&f, 10);
	f.n = 60; /* padding of a short frame */
	net_rx(&f);
	memcpy(net_eth(&f)->dst, net_broadcast, 6);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_protocol), 4);
	CU_ASSERT_EQUAL(net_drops(), 4);
	net_end();
}

static void options_are_skipped(void)
{
	struct frame f;
	uint32_t words;

	net_init(0);
	for (words = 6; words <= 15; words++) {
		net_put_ip(&f, OTHER_PROTO);
		net_iph(&f)->version_ihl = (uint8_t)(0x40 | words);
		f.n = sizeof(struct wire_eth) + words * 4;
		frame_seal_ip(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_ip_protocol), 10);
	/* Options longer than the packet. */
	f.n -= 1;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_header), 1);
	net_end();
}

static void bad_headers(void)
{
	struct frame f;
	uint32_t n;

	net_init(0);
	put(&f, 100);
	for (n = sizeof(struct wire_eth); n < sizeof(struct wire_eth) + sizeof(struct wire_ip);
	     n++) {
		f.n = n;
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_too_short), sizeof(struct wire_ip));
	put(&f, 100);
	net_iph(&f)->version_ihl = 0x65;
	net_rx(&f);
	put(&f, 100);
	net_iph(&f)->version_ihl = 0x44;
	net_rx(&f);
	put(&f, 100); /* longer than the frame */
	f.n--;
	net_rx(&f);
	put(&f, 100); /* shorter than its header */
	net_iph(&f)->total_bytes = be16_put(19);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_header), 4);
	net_end();
}

static void tcp_is_handed_on(void)
{
	struct frame f;

	net_init(0);
	net_put_ip(&f, WIRE_IPPROTO_TCP);
	f.n += 20;
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.tcp_calls, 1);
	CU_ASSERT_EQUAL(net.tcp_src_ip, NET_PEER_IP);
	CU_ASSERT_EQUAL(net_drops(), 0);
	net_end();
}

static void every_flipped_bit_is_found(void)
{
	struct frame f, bad;
	uint32_t bit;

	net_init(0);
	put(&f, 30);
	for (bit = 0; bit < sizeof(struct wire_ip) * 8; bit++) {
		bad = f;
		bad.b[sizeof(struct wire_eth) + bit / 8] ^= (uint8_t)(1 << bit % 8);
		net_rx(&bad);
	}
	CU_ASSERT_EQUAL(CNT(drop_ip_protocol), 0);
	CU_ASSERT_EQUAL(CNT(drop_ip_header) + CNT(drop_ip_checksum), bit);
	CU_ASSERT(CNT(drop_ip_checksum) > bit / 2);
	net_end();
}

static void fragments_are_dropped(void)
{
	static const uint16_t frag[] = {WIRE_IP_MF, 1, 0x1fff, WIRE_IP_MF | 185};
	struct frame f;
	size_t i;

	net_init(0);
	for (i = 0; i < sizeof(frag) / sizeof(frag[0]); i++) {
		net_put_ip(&f, WIRE_IPPROTO_UDP);
		net_iph(&f)->frag = be16_put(frag[i]);
		f.n += 64;
		frame_seal_ip(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_ip_fragment), 4);
	CU_ASSERT_EQUAL(net_drops(), 4);
	net_end();
}

static void addresses(void)
{
	static const uint32_t bad_source[] = {0, 0x7f000001, 0xe0000001, 0xffffffff};
	struct frame f;
	size_t i;

	net_init(0);
	put(&f, 8);
	net_iph(&f)->dst = be32_put(0x0a4d0003);
	frame_seal_ip(&f);
	net_rx(&f);
	net_iph(&f)->dst = be32_put(0x0a4d00ff);
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_ip), 2);
	for (i = 0; i < sizeof(bad_source) / sizeof(bad_source[0]); i++) {
		put(&f, 8);
		net_iph(&f)->src = be32_put(bad_source[i]);
		frame_seal_ip(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_ip_header), 4);
	/* Our own address from another station is forged; over the internal link it is valid. */
	put(&f, 8);
	net_iph(&f)->src = net_iph(&f)->dst;
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_header), 5);
	memcpy(net_eth(&f)->src, net_mac, 6);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_protocol), 1);
	net_end();
}

static void sum_over_odd_segments(void)
{
	uint8_t data[64];
	uint32_t cut, cut2;

	net_fill(data, sizeof(data), 3);
	for (cut = 1; cut < 40; cut++) {
		for (cut2 = cut; cut2 < 63; cut2 += 3) {
			struct fw_rx_frame frame = {.seg = {{data, cut},
							    {data + cut, cut2 - cut},
							    {data + cut2, 63 - cut2}},
						    .num_seg = 3,
						    .bytes = 63};

			CU_ASSERT_EQUAL(wire_sum_fold(ip_sum_frame(0x1234, &frame, 1, 62)),
					wire_sum_fold(wire_sum_add(0x1234, data + 1, 62)));
		}
	}
}

static void sent_header(void)
{
	struct fw_tx_frame *frame;
	struct frame *f;

	net_init(0);
	frame = eth_tx_begin(net.nic);
	ip_tx_header(net.nic, frame, NET_PEER_IP, net_peer_mac, WIRE_IPPROTO_UDP, WIRE_IP_ECT0,
		     100);
	CU_ASSERT_EQUAL(frame->flags & FW_TX_LOOP, 0);
	eth_tx_hdr(frame, 0, IP_TX_HDR_BYTES, 0);
	eth_tx_commit(net.nic, frame);
	net_flush();
	f = &net.sent[0];
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->dst, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->src, net_mac, 6), 0);
	CU_ASSERT_EQUAL(be16_get(net_eth(f)->type), WIRE_ETHERTYPE_IPV4);
	CU_ASSERT_EQUAL(net_iph(f)->version_ihl, 0x45);
	CU_ASSERT_EQUAL(net_iph(f)->tos, WIRE_IP_ECT0);
	CU_ASSERT_EQUAL(be16_get(net_iph(f)->total_bytes), 120);
	CU_ASSERT_EQUAL(be16_get(net_iph(f)->frag), WIRE_IP_DF);
	CU_ASSERT_EQUAL(net_iph(f)->ttl, 64);
	CU_ASSERT_EQUAL(net_iph(f)->proto, WIRE_IPPROTO_UDP);
	CU_ASSERT_EQUAL(be32_get(net_iph(f)->src), 0x0a4d0001);
	CU_ASSERT_EQUAL(be32_get(net_iph(f)->dst), 0x0a4d0002);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, net_iph(f), 20)), 0);
	frame = eth_tx_begin(net.nic);
	ip_tx_header(net.nic, frame, NET_IP, net_mac, WIRE_IPPROTO_UDP, 0, NET_MTU - 20);
	CU_ASSERT_EQUAL(frame->flags & FW_TX_LOOP, FW_TX_LOOP);
	net_end();
}

UT_MAIN("nic_fw/net/ip", UT(good_packet_passes), UT(options_are_skipped), UT(bad_headers),
	UT(tcp_is_handed_on), UT(every_flipped_bit_is_found), UT(fragments_are_dropped),
	UT(addresses), UT(sum_over_odd_segments), UT(sent_header))
