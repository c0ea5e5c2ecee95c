/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP checksums that were left out: marked, filled in later, and recognized in a frame of a kernel.
 *
 * Runs dpdk_app/csum.c and csum.h; an mbuf here is a struct over an array.
 */
#include "dpdk_app/csum.h"
#include "tests/ut.h"

enum {
	SEGMENT_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	DATA_BYTES = 99,
	FRAME_BYTES = SEGMENT_AT + CSUM_TCP_BYTES + DATA_BYTES,
};

static uint8_t packet[256];

static uint16_t field(void)
{
	return (uint16_t)(packet[SEGMENT_AT + CSUM_TCP_AT] << 8 |
			  packet[SEGMENT_AT + CSUM_TCP_AT + 1]);
}

/* A segment from 10.7.0.1 to 10.7.0.2 whose checksum field holds the pseudo header's sum. */
static void make(void)
{
	struct wire_eth *eth = (struct wire_eth *)packet;
	struct wire_ip *ip = (struct wire_ip *)(eth + 1);
	uint32_t sum = 0x0a07 + 0x0001 + 0x0a07 + 0x0002 + 6 + CSUM_TCP_BYTES + DATA_BYTES;

	memset(packet, 0, sizeof(packet));
	for (uint32_t i = SEGMENT_AT; i < FRAME_BYTES; i++)
		packet[i] = (uint8_t)(i * 29);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put(FRAME_BYTES - sizeof(*eth));
	ip->proto = WIRE_IPPROTO_TCP;
	ip->src = be32_put(0x0a070001);
	ip->dst = be32_put(0x0a070002);
	packet[SEGMENT_AT + CSUM_TCP_AT] = (uint8_t)(sum >> 8);
	packet[SEGMENT_AT + CSUM_TCP_AT + 1] = (uint8_t)sum;
}

static void partial_is_known(void)
{
	make();
	CU_ASSERT_TRUE(csum_is_partial(packet, FRAME_BYTES));
	CU_ASSERT_TRUE(csum_is_partial(packet, 60));              /* its first piece */
	CU_ASSERT_TRUE(csum_is_partial(packet, FRAME_BYTES + 6)); /* padded */
	wire_sum_put(packet, FRAME_BYTES, SEGMENT_AT, SEGMENT_AT + CSUM_TCP_AT);
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
}

static void what_is_not_partial(void)
{
	struct wire_ip *ip = (struct wire_ip *)(packet + sizeof(struct wire_eth));

	/* Every byte under the sum counts, and so does the field. */
	for (uint32_t i = sizeof(struct wire_eth) + offsetof(struct wire_ip, src); i < SEGMENT_AT;
	     i++) {
		make();
		packet[i] ^= 0x10;
		CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	}
	make();
	packet[SEGMENT_AT + CSUM_TCP_AT] ^= 1;
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	make();
	ip->proto = WIRE_IPPROTO_UDP;
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	make();
	ip->version_ihl = 0x65;
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	/* Headers that are too short, or reach beyond the frame. */
	make();
	ip->version_ihl = 0x44;
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	ip->version_ihl = 0x4f;
	CU_ASSERT_FALSE(csum_is_partial(packet, SEGMENT_AT + 40 + CSUM_TCP_BYTES - 1));
	make();
	ip->total_bytes = be16_put(sizeof(*ip) + CSUM_TCP_BYTES - 1);
	CU_ASSERT_FALSE(csum_is_partial(packet, FRAME_BYTES));
	make();
	for (uint32_t bytes = 0; bytes < SEGMENT_AT + CSUM_TCP_BYTES; bytes++)
		CU_ASSERT_FALSE(csum_is_partial(packet, bytes));
}

static void behind_options(void)
{
	struct wire_ip *ip = (struct wire_ip *)(packet + sizeof(struct wire_eth));

	make();
	memmove(packet + SEGMENT_AT + 4, packet + SEGMENT_AT, CSUM_TCP_BYTES);
	ip->version_ihl = 0x46;
	ip->total_bytes = be16_put(FRAME_BYTES - sizeof(struct wire_eth) + 4);
	CU_ASSERT_TRUE(csum_is_partial(packet, FRAME_BYTES + 4));
}

/* Left out, marked, and filled in for a capture: equal to one made at once. */
static void left_and_finished(void)
{
	struct fw_tx_frame frame = {
	    .bytes = FRAME_BYTES, .csum_start = SEGMENT_AT, .csum_at = SEGMENT_AT + CSUM_TCP_AT};
	struct rte_mbuf m = {.buf_addr = packet, .pkt_len = FRAME_BYTES, .data_len = FRAME_BYTES};
	uint16_t want;

	make();
	wire_sum_put(packet, FRAME_BYTES, SEGMENT_AT, SEGMENT_AT + CSUM_TCP_AT);
	want = field();
	make();
	CU_ASSERT_TRUE(csum_may_leave(&frame));
	CU_ASSERT_FALSE(csum_is_left(&m));
	csum_left(&m, &frame);
	CU_ASSERT_TRUE(csum_is_left(&m));
	CU_ASSERT_EQUAL(m.l2_len, sizeof(struct wire_eth));
	CU_ASSERT_EQUAL(m.l3_len, sizeof(struct wire_ip));
	csum_finish(&m);
	CU_ASSERT_FALSE(csum_is_left(&m));
	CU_ASSERT_EQUAL(field(), want);
	CU_ASSERT_EQUAL(m.ol_flags, 0);
	frame.csum_at++;
	CU_ASSERT_FALSE(csum_may_leave(&frame));
}

static void word_of_the_device(void)
{
	struct rte_mbuf m = {.ol_flags = 0};

	CU_ASSERT_FALSE(csum_device_ok(&m));
	m.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	CU_ASSERT_TRUE(csum_device_ok(&m));
	m.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_NONE;
	CU_ASSERT_TRUE(csum_device_ok(&m));
	m.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD;
	CU_ASSERT_FALSE(csum_device_ok(&m));
}

UT_MAIN("dpdk_app/csum", UT(partial_is_known), UT(what_is_not_partial), UT(behind_options),
	UT(left_and_finished), UT(word_of_the_device))
