/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP: echo replies of every length, and packets that are not answered.
 */
#include "tests/bench/stubs/net.h"

static struct wire_icmp_echo *echo_of(struct frame *f)
{
	return (struct wire_icmp_echo *)(f->b + IP_TX_HDR_BYTES);
}

static void seal(struct frame *f)
{
	struct wire_icmp_echo *echo = echo_of(f);

	echo->checksum = be16_put(0);
	echo->checksum = be16_put(wire_sum_fold(wire_sum_add(0, echo, f->n - IP_TX_HDR_BYTES)));
	frame_seal_ip(f);
}

static void put(struct frame *f, uint32_t data_bytes)
{
	uint8_t data[NET_MTU];

	net_fill(data, data_bytes, 9);
	net_put_ip(f, WIRE_IPPROTO_ICMP);
	echo_of(f)->type = WIRE_ICMP_ECHO;
	echo_of(f)->id = be16_put(0x1234);
	echo_of(f)->seq = be16_put(0xffff);
	f->n += (uint32_t)sizeof(struct wire_icmp_echo);
	frame_add(f, data, data_bytes);
	seal(f);
}

static void check_reply(struct frame *request, struct frame *reply)
{
	uint32_t bytes = be16_get(net_iph(request)->total_bytes) - (uint32_t)sizeof(struct wire_ip);

	CU_ASSERT_EQUAL_FATAL(reply->n, IP_TX_HDR_BYTES + bytes);
	CU_ASSERT_EQUAL(memcmp(net_eth(reply)->dst, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(be32_get(net_iph(reply)->dst), 0x0a4d0002);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, net_iph(reply), 20)), 0);
	CU_ASSERT_EQUAL(echo_of(reply)->type, WIRE_ICMP_ECHO_REPLY);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, echo_of(reply), bytes)), 0);
	CU_ASSERT_EQUAL(
	    memcmp((uint8_t *)echo_of(reply) + 4, (uint8_t *)echo_of(request) + 4, bytes - 4), 0);
}

static void answers_every_length(void)
{
	static const uint32_t bytes[] = {0, 1, 18, 56, 157, 158, 159, 1471, 1472};
	static const uint32_t piece[] = {0, 1280, 301, 77};
	struct frame f;
	size_t i, p;

	net_init(0);
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		for (p = 0; p < sizeof(piece) / sizeof(piece[0]); p++) {
			net.num_sent = 0;
			put(&f, bytes[i]);
			net_rx_pieces(&f, piece[p]);
			CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
			check_reply(&f, &net.sent[0]);
		}
	}
	CU_ASSERT_EQUAL(net_drops(), 0);
	CU_ASSERT_EQUAL(CNT(icmp_echo_rx), i * p);
	net_end();
}

static void padding_is_no_data(void)
{
	struct frame f;

	net_init(0);
	put(&f, 1);
	memset(f.b + f.n, 0xaa, 60 - f.n);
	f.n = 60;
	net_rx(&f);
	check_reply(&f, &net.sent[0]);
	net_end();
}

static void not_answered(void)
{
	struct frame f;

	net_init(0);
	put(&f, 40);
	f.b[f.n - 1] ^= 1; /* checksum of the data */
	net_rx_pieces(&f, 7);
	put(&f, 40);
	echo_of(&f)->type = WIRE_ICMP_ECHO_REPLY;
	seal(&f);
	net_rx(&f);
	put(&f, 40);
	echo_of(&f)->type = WIRE_ICMP_UNREACHABLE;
	seal(&f);
	net_rx(&f);
	put(&f, 40);
	echo_of(&f)->code = 1;
	seal(&f);
	net_rx(&f);
	net_put_ip(&f, WIRE_IPPROTO_ICMP); /* shorter than its header */
	f.n += 7;
	frame_seal_ip(&f);
	net_rx(&f);
	put(&f, 1473); /* the answer would exceed the MTU */
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_icmp), 5);
	CU_ASSERT_EQUAL(CNT(icmp_unreachable_rx), 1);
	CU_ASSERT_EQUAL(net.tcp_icmp_calls, 1);
	CU_ASSERT_EQUAL(net.tcp_icmp_bytes, 40);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_end();
	net_init(1);
	put(&f, 40);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_icmp), 1);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_end();
}

/* The answer lies in memory that the next stage uses: it is sent at once or not at all. */
static void no_room_no_answer(void)
{
	struct frame f;

	net_init(0);
	net.port.tx_room = 0;
	put(&f, 40);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 0);
	net_end();
}

UT_MAIN("nic_fw/net/icmp", UT(answers_every_length), UT(padding_is_no_data), UT(not_answered),
	UT(no_room_no_answer))
