/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP: lengths, ports, the optional checksum; headers of sent datagrams.
 *
 * Runs nic_fw/net/udp.c on the shard without upper layers of tests/bench/stubs/net.h.
 */
#include "tests/bench/stubs/net.h"

/* A datagram that dgram.c would count as too short has passed all checks of udp.c. */
static void put(struct frame *f, uint32_t payload_bytes)
{
	net_put_udp(f);
	net_fill(f->b + f->n, payload_bytes, 5);
	f->n += payload_bytes;
	net_udph(f)->bytes = be16_put((uint16_t)(sizeof(struct wire_udp) + payload_bytes));
	frame_seal_ip(f);
}

static uint16_t checksum_of(struct frame *f)
{
	uint32_t bytes = be16_get(net_udph(f)->bytes);
	uint8_t pseudo[12] = {0};

	memcpy(pseudo, &net_iph(f)->src, 8);
	pseudo[9] = WIRE_IPPROTO_UDP;
	pseudo[10] = (uint8_t)(bytes >> 8);
	pseudo[11] = (uint8_t)bytes;
	return wire_sum_fold(wire_sum_add(wire_sum_add(0, pseudo, 12), net_udph(f), bytes));
}

static void lengths(void)
{
	struct frame f;
	uint32_t n;

	net_init(0);
	for (n = 0; n < sizeof(struct wire_udp); n++) {
		net_put_ip(&f, WIRE_IPPROTO_UDP);
		f.n += n;
		frame_seal_ip(&f);
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_udp_length), 8);
	put(&f, 10);
	net_udph(&f)->bytes = be16_put(7);
	net_rx(&f);
	net_udph(&f)->bytes = be16_put(19);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_udp_length), 10);
	net_udph(&f)->bytes = be16_put(18);
	net_rx(&f);
	net_udph(&f)->bytes = be16_put(8); /* less than the packet: the rest is padding */
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 2);
	net_end();
}

static void ports(void)
{
	struct frame f;

	net_init(3);
	put(&f, 10);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 1);
	net_udph(&f)->dst_port = be16_put(WIRE_DGRAM_PORT); /* the port of another shard */
	net_rx(&f);
	net_udph(&f)->dst_port = be16_put(53);
	net_rx(&f);
	put(&f, 10);
	net_udph(&f)->src_port = be16_put(WIRE_DGRAM_PORT - 1);
	net_rx(&f);
	net_udph(&f)->src_port = be16_put(WIRE_DGRAM_PORT + 8);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_udp_port), 4);
	net_udph(&f)->src_port = be16_put(WIRE_DGRAM_PORT + 7);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 2);
	net_end();
}

static void checksum(void)
{
	struct frame f;
	uint32_t bytes;

	net_init(0);
	for (bytes = 0; bytes < 20; bytes++) {
		put(&f, bytes);
		net_udph(&f)->checksum = be16_put(checksum_of(&f));
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 20);
	put(&f, 1001);
	net_udph(&f)->checksum = be16_put(checksum_of(&f));
	net_rx_pieces(&f, 101);
	CU_ASSERT_EQUAL(CNT(drop_udp_checksum), 0);
	f.b[f.n - 1] ^= 0x80;
	net_rx_pieces(&f, 101);
	CU_ASSERT_EQUAL(CNT(drop_udp_checksum), 1);
	put(&f, 4);
	net_udph(&f)->checksum = be16_put((uint16_t)(checksum_of(&f) ^ 1));
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_udp_checksum), 2);
	net_end();
}

static void sent_header(void)
{
	struct fw_tx_frame *frame;
	struct frame *f;

	net_init(2);
	frame = eth_tx_begin(net.nic);
	udp_tx_header(net.nic, frame, NET_PEER_IP, net_peer_mac, 7, 30);
	eth_tx_hdr(frame, 0, UDP_TX_HDR_BYTES, 0);
	eth_tx_commit(net.nic, frame);
	frame = eth_tx_begin(net.nic);
	udp_tx_header_not_ect(net.nic, frame, NET_PEER_IP, net_peer_mac, 0, 30);
	eth_tx_hdr(frame, 0, UDP_TX_HDR_BYTES, 0);
	eth_tx_commit(net.nic, frame);
	net.nic->config.cc_off = true;
	frame = eth_tx_begin(net.nic);
	udp_tx_header(net.nic, frame, NET_PEER_IP, net_peer_mac, 0, 30);
	eth_tx_hdr(frame, 0, UDP_TX_HDR_BYTES, 0);
	eth_tx_commit(net.nic, frame);
	net_flush();
	f = net.sent;
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->src_port), 47812);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->dst_port), 47817);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->bytes), 38);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->checksum), 0);
	CU_ASSERT_EQUAL(be16_get(net_iph(f)->total_bytes), 58);
	CU_ASSERT_EQUAL(net_iph(&f[0])->tos, WIRE_IP_ECT0);
	CU_ASSERT_EQUAL(net_iph(&f[1])->tos, 0);
	CU_ASSERT_EQUAL(net_iph(&f[2])->tos, 0);
	net_end();
}

UT_MAIN("nic_fw/net/udp", UT(lengths), UT(ports), UT(checksum), UT(sent_header))
