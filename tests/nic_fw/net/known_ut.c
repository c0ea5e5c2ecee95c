/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams of known flows: each is treated as if its flow were not known.
 *
 * Runs nic_fw/net/known.c on the shard without upper layers of tests/bench/stubs/net.h.
 */
#include "tests/bench/stubs/net.h"

enum {
	PAYLOAD_BYTES = 20, /* dgram.c counts it as too short: all checks before have passed */
	DRAWN = 20000,
};

static void put(struct frame *f, uint32_t payload_bytes)
{
	net_put_udp(f);
	net_fill(f->b + f->n, payload_bytes, 5);
	f->n += payload_bytes;
	net_udph(f)->bytes = be16_put((uint16_t)(sizeof(struct wire_udp) + payload_bytes));
	frame_seal_ip(f);
}

static uint32_t known_flows(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < KNOWN_FLOWS; i++)
		n += net.nic->net.known[i].sum != 0;
	return n;
}

/* Receives a frame; *counted gets what each counter has gone up by. */
static void count(const struct frame *f, struct fw_counters *counted)
{
	struct fw_counters before = net.nic->counters;
	const uint64_t *was = (const uint64_t *)&before;
	const uint64_t *is = (const uint64_t *)&net.nic->counters;
	uint64_t *out = (uint64_t *)counted;
	uint32_t i;

	net_rx(f);
	for (i = 0; i < sizeof(before) / sizeof(*was); i++)
		out[i] = is[i] - was[i];
}

/* Receives a frame twice, its flow forgotten the first time, and other's flow known the second. */
static void both_ways(const struct frame *f, const struct frame *other)
{
	struct fw_counters unknown, known;

	memset(net.nic->net.known, 0, sizeof(net.nic->net.known));
	count(f, &unknown);
	memset(net.nic->net.known, 0, sizeof(net.nic->net.known));
	net_rx(other);
	CU_ASSERT_EQUAL(known_flows(), 1);
	count(f, &known);
	CU_ASSERT_EQUAL(memcmp(&unknown, &known, sizeof(known)), 0);
}

static void a_flow_is_learnt(void)
{
	struct frame f;
	uint64_t n;

	net_init(3);
	put(&f, PAYLOAD_BYTES);
	net_rx(&f);
	CU_ASSERT_EQUAL(known_flows(), 1);
	/* All that may differ. */
	for (n = 2; n < 60; n++) {
		put(&f, (uint32_t)n);
		net_iph(&f)->id = be16_put((uint16_t)(n * 1111));
		frame_seal_ip(&f);
		net_rx(&f);
		CU_ASSERT_EQUAL(CNT(drop_dgram_short) + CNT(drop_dgram_version), n);
	}
	CU_ASSERT_EQUAL(known_flows(), 1);
	CU_ASSERT_EQUAL(net_drops(), n - 1);
	net_end();
}

static void only_plain_ones_are_learnt(void)
{
	struct frame f;

	net_init(0);
	/* With options. */
	put(&f, PAYLOAD_BYTES);
	memmove(f.b + IP_TX_HDR_BYTES + 4, f.b + IP_TX_HDR_BYTES, f.n - IP_TX_HDR_BYTES);
	memset(f.b + IP_TX_HDR_BYTES, 1, 4);
	f.n += 4;
	net_iph(&f)->version_ihl = 0x46;
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 1);
	/* To all stations: an address that is not ours alone. */
	put(&f, PAYLOAD_BYTES);
	memcpy(net_eth(&f)->dst, net_broadcast, 6);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_dgram_short), 2);
	/* Datagrams that are dropped. */
	put(&f, PAYLOAD_BYTES);
	net_udph(&f)->dst_port = be16_put(53);
	net_rx(&f);
	net_iph(&f)->checksum.b[0] ^= 1;
	net_rx(&f);
	CU_ASSERT_EQUAL(known_flows(), 0);
	net_end();
}

/* Each bit of the headers, with a checksum that is right or is not. */
static void each_bit(void)
{
	struct frame f, other;
	uint32_t bit;

	net_init(0);
	put(&other, PAYLOAD_BYTES);
	for (bit = 0; bit < 8 * UDP_TX_HDR_BYTES; bit++) {
		f = other;
		f.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		both_ways(&f, &other);
		if (net_iph(&f)->version_ihl == WIRE_IP_VERSION_IHL) {
			struct be16 total = net_iph(&f)->total_bytes;

			f.n = other.n;
			frame_seal_ip(&f);
			both_ways(&f, &other);
			/* Lengths that are wrong under a checksum that is right. */
			net_iph(&f)->checksum = be16_put(0);
			net_iph(&f)->total_bytes = total;
			net_iph(&f)->checksum =
			    be16_put(wire_sum_fold(wire_sum_add(0, net_iph(&f), 20)));
			both_ways(&f, &other);
		}
	}
	net_end();
}

/* Frames that end early, in one piece and in several. */
static void each_length(void)
{
	struct frame f, other;
	uint32_t piece;

	net_init(0);
	put(&other, PAYLOAD_BYTES);
	for (f = other; f.n; f.n--)
		both_ways(&f, &other);
	for (piece = 14; piece < other.n; piece++) {
		struct fw_counters before = net.nic->counters;

		net_rx_pieces(&other, piece);
		CU_ASSERT_EQUAL(net.nic->counters.rx_frames, before.rx_frames + 1);
	}
	net_end();
}

static void several_at_once(void)
{
	struct frame f, other;
	uint32_t i, j, seed = 1;

	net_init(0);
	put(&other, PAYLOAD_BYTES);
	for (i = 0; i < DRAWN; i++) {
		put(&f, PAYLOAD_BYTES + i % 3);
		for (j = 0; j < 1 + i % 4; j++) {
			seed = seed * 1664525 + 1013904223;
			f.b[(seed >> 8) % UDP_TX_HDR_BYTES] ^= (uint8_t)(1 << (seed >> 29));
		}
		/* Half of them keep the sum of id and checksum. */
		if (i % 2) {
			uint16_t id = be16_get(net_iph(&f)->id);
			uint16_t sum = be16_get(net_iph(&f)->checksum);

			net_iph(&f)->id = be16_put(sum);
			net_iph(&f)->checksum = be16_put(id);
		}
		both_ways(&f, &other);
	}
	net_end();
}

UT_MAIN("net/known", UT(a_flow_is_learnt), UT(only_plain_ones_are_learnt), UT(each_bit),
	UT(each_length), UT(several_at_once))
