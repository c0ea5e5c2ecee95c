/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of runs: a frame whose pieces are not those of its packets is dropped as one, any other
 * counts as so many packets.
 */
#include "tests/bench/host.h"

enum {
	SEGMENT = 100,
};

static struct fw_ut ut;
static uint8_t hdr[FW_RX_HDR_BYTES + 1], payload[(FW_RUN_MAX + 1) * (SEGMENT + 1)];
static struct be32 crcs[FW_RUN_MAX + 2];

/* A run of these pieces, to another NIC. */
static struct fw_rx_frame frame_of(uint32_t packets, uint32_t hdr_bytes, uint32_t payload_bytes)
{
	struct fw_rx_frame frame = {
	    .num_seg = 3,
	    .run = (uint8_t)packets,
	    .run_bytes = SEGMENT,
	    .bytes = hdr_bytes + payload_bytes + packets * WIRE_DGRAM_CRC_BYTES,
	};
	struct wire_eth *eth = (void *)hdr;

	memset(hdr, 0, sizeof(hdr));
	memset(eth->dst, 0x02, sizeof(eth->dst));
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	frame.seg[0] = (struct fw_rx_seg){hdr, hdr_bytes};
	frame.seg[1] = (struct fw_rx_seg){payload, payload_bytes};
	frame.seg[2] = (struct fw_rx_seg){(const uint8_t *)crcs, packets * WIRE_DGRAM_CRC_BYTES};
	return frame;
}

/* True if the run is one: each of its packets is looked at, and is not for this NIC. */
static bool is_run(const struct fw_rx_frame *frame)
{
	struct fw_counters before = ut.nic->counters;
	uint64_t foreign, small;

	eth_run_rx(ut.nic, frame);
	foreign = ut.nic->counters.drop_not_our_mac - before.drop_not_our_mac;
	small = ut.nic->counters.drop_too_short - before.drop_too_short;
	CU_ASSERT_TRUE((foreign == frame->run && !small) || (!foreign && small == 1));
	return !small;
}

static bool fits(uint32_t packets, uint32_t hdr_bytes, uint32_t payload_bytes)
{
	struct fw_rx_frame frame = frame_of(packets, hdr_bytes, payload_bytes);

	return is_run(&frame);
}

static void begin(void)
{
	fw_ut_begin(&ut);
}

static void end(void)
{
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void payload_of_each_packet(void)
{
	uint32_t least, n;

	begin();
	least = net_up.run_udp->least_bytes;
	for (n = 2; n <= FW_RUN_MAX; n++) {
		CU_ASSERT_FALSE(fits(n, least, 0));
		CU_ASSERT_FALSE(fits(n, least, (n - 1) * SEGMENT));
		CU_ASSERT_TRUE(fits(n, least, (n - 1) * SEGMENT + 1));
		CU_ASSERT_TRUE(fits(n, least, n * SEGMENT));
		CU_ASSERT_FALSE(fits(n, least, n * SEGMENT + 1));
	}
	CU_ASSERT_FALSE(fits(FW_RUN_MAX + 1, least, (FW_RUN_MAX + 1) * SEGMENT));
	end();
}

static void headers(void)
{
	struct fw_rx_frame frame;
	uint32_t least;

	begin();
	least = net_up.run_udp->least_bytes;
	CU_ASSERT_TRUE(least < FW_RX_HDR_BYTES);
	CU_ASSERT_FALSE(fits(2, 0, 2 * SEGMENT));
	CU_ASSERT_FALSE(fits(2, sizeof(struct wire_eth) - 1, 2 * SEGMENT));
	CU_ASSERT_FALSE(fits(2, least - 1, 2 * SEGMENT));
	CU_ASSERT_TRUE(fits(2, least, 2 * SEGMENT));
	CU_ASSERT_TRUE(fits(2, FW_RX_HDR_BYTES, 2 * SEGMENT));
	CU_ASSERT_FALSE(fits(2, FW_RX_HDR_BYTES + 1, 2 * SEGMENT));
	/* Headers of ESP are shorter. */
	frame = frame_of(2, net_up.run_esp->least_bytes, 2 * SEGMENT);
	((struct wire_eth *)hdr)->type = be16_put(WIRE_ETHERTYPE_ESP);
	CU_ASSERT_TRUE(is_run(&frame));
	frame = frame_of(2, net_up.run_esp->least_bytes - 1, 2 * SEGMENT);
	((struct wire_eth *)hdr)->type = be16_put(WIRE_ETHERTYPE_ESP);
	CU_ASSERT_FALSE(is_run(&frame));
	end();
}

static void checks(void)
{
	struct fw_rx_frame frame;
	uint32_t least;

	begin();
	least = net_up.run_udp->least_bytes;
	/* One for each packet, no more and no less. */
	frame = frame_of(3, least, 3 * SEGMENT - 10);
	CU_ASSERT_TRUE(is_run(&frame));
	frame.seg[2].bytes -= WIRE_DGRAM_CRC_BYTES;
	frame.bytes -= WIRE_DGRAM_CRC_BYTES;
	CU_ASSERT_FALSE(is_run(&frame));
	frame.seg[2].bytes += 2 * WIRE_DGRAM_CRC_BYTES;
	frame.bytes += 2 * WIRE_DGRAM_CRC_BYTES;
	CU_ASSERT_FALSE(is_run(&frame));
	/* Headers and payload in one piece are none of a run. */
	frame = frame_of(3, least, 3 * SEGMENT);
	frame.seg[1] = frame.seg[2];
	frame.num_seg = 2;
	CU_ASSERT_FALSE(is_run(&frame));
	/* Payload in pieces is. */
	frame = frame_of(3, least, 3 * SEGMENT);
	frame.seg[3] = frame.seg[2];
	frame.seg[2] = (struct fw_rx_seg){payload + 7, 3 * SEGMENT - 7};
	frame.seg[1].bytes = 7;
	frame.num_seg = 4;
	CU_ASSERT_TRUE(is_run(&frame));
	end();
}

UT_MAIN("nic_fw/net/eth_run", UT(payload_of_each_packet), UT(headers), UT(checks))
