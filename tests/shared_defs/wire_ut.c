/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet, ARP, IPv4, ICMP and UDP headers (shared_defs/wire_eth.h, wire_ip.h) against the
 * bytes of tests/golden: read field by field, then written and compared. RFC 826, 791, 792,
 * 768, 1071.
 */
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

#include "tests/golden.h"
#include "tests/ut.h"

#define LOAD(file, name, object)                                                                   \
	CU_ASSERT_EQUAL_FATAL(golden_load(file, name, (uint8_t *)&(object), sizeof(object)),       \
			      sizeof(object))

static void eth(void)
{
	struct wire_eth g, h = {{0x52, 0x54, 0x0a, 0x07, 0x00, 0x02},
				{0x52, 0x54, 0x0a, 0x07, 0x00, 0x01},
				be16_put(WIRE_ETHERTYPE_IPV4)};

	LOAD("wire_eth.hex", "eth", g);
	CU_ASSERT_EQUAL(g.dst[5], 2);
	CU_ASSERT_EQUAL(g.src[5], 1);
	CU_ASSERT_EQUAL(be16_get(g.type), WIRE_ETHERTYPE_IPV4);
	CU_ASSERT_EQUAL(memcmp(&g, &h, sizeof(g)), 0);
}

static void arp(void)
{
	struct wire_arp g, h = {
			       .hw_type = be16_put(WIRE_ARP_HW_ETHERNET),
			       .proto_type = be16_put(WIRE_ETHERTYPE_IPV4),
			       .hw_bytes = 6,
			       .proto_bytes = 4,
			       .op = be16_put(WIRE_ARP_REQUEST),
			       .sender_mac = {2, 'w', 'e', 'f', 0, 1},
			       .sender_ip = be32_put(0x0a4d0001),
			       .target_ip = be32_put(0x0a4d0002),
			   };

	LOAD("wire_eth.hex", "arp_request", g);
	CU_ASSERT_EQUAL(be16_get(g.op), WIRE_ARP_REQUEST);
	CU_ASSERT_EQUAL(g.sender_mac[1], 'w');
	CU_ASSERT_EQUAL(be32_get(g.sender_ip), 0x0a4d0001);
	CU_ASSERT_EQUAL(be32_get(g.target_ip), 0x0a4d0002);
	CU_ASSERT_EQUAL(memcmp(&g, &h, sizeof(g)), 0);
}

static void ip(void)
{
	struct wire_ip g, h = {
			      .version_ihl = WIRE_IP_VERSION_IHL,
			      .total_bytes = be16_put(104),
			      .id = be16_put(0x16e9),
			      .frag = be16_put(WIRE_IP_DF),
			      .ttl = WIRE_IP_TTL,
			      .proto = WIRE_IPPROTO_TCP,
			      .src = be32_put(0x0a070001),
			      .dst = be32_put(0x0a070002),
			  };

	LOAD("wire_ip.hex", "ip", g);
	CU_ASSERT_EQUAL(be16_get(g.total_bytes), 104);
	CU_ASSERT_EQUAL(be16_get(g.frag) & WIRE_IP_FRAG_MASK, 0);
	CU_ASSERT_EQUAL(g.proto, WIRE_IPPROTO_TCP);
	CU_ASSERT_EQUAL(be32_get(g.src), 0x0a070001);
	/* A received header sums to zero with its checksum in place ... */
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, &g, sizeof(g))), 0);
	/* ... and ours gets the checksum that Linux computed. */
	h.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &h, sizeof(h))));
	CU_ASSERT_EQUAL(be16_get(h.checksum), 0x0f97);
	CU_ASSERT_EQUAL(memcmp(&g, &h, sizeof(g)), 0);
}

static void icmp_echo(void)
{
	uint8_t g[11];
	struct wire_icmp_echo h;

	LOAD("wire_ip.hex", "icmp_echo", g);
	memcpy(&h, g, sizeof(h));
	CU_ASSERT_EQUAL(h.type, WIRE_ICMP_ECHO);
	CU_ASSERT_EQUAL(h.code, 0);
	CU_ASSERT_EQUAL(be16_get(h.checksum), 0x2162);
	CU_ASSERT_EQUAL(be16_get(h.id), 0x1234);
	CU_ASSERT_EQUAL(be16_get(h.seq), 7);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, g, sizeof(g))), 0);
}

static void udp(void)
{
	struct wire_udp g, h = {be16_put(WIRE_IPPROTO_UDP), be16_put(0), be16_put(0), be16_put(0)};

	LOAD("wire_ip.hex", "udp", g);
	h.src_port = be16_put(47810);
	h.dst_port = be16_put(47811);
	h.bytes = be16_put(sizeof(h) + 28);
	CU_ASSERT_EQUAL(be16_get(g.src_port), 47810);
	CU_ASSERT_EQUAL(be16_get(g.bytes), 36);
	CU_ASSERT_EQUAL(memcmp(&g, &h, sizeof(g)), 0);
}

static void checksum_example(void)
{
	uint8_t g[8];

	LOAD("wire_ip.hex", "rfc1071", g);
	CU_ASSERT_EQUAL(wire_sum_add(0, g, 8), 0xddf2);
	CU_ASSERT_EQUAL(wire_sum_fold(0xddf2), 0x220d);
	/* RFC 1071 2 (A): in any grouping of even pieces */
	CU_ASSERT_EQUAL(wire_sum_add(wire_sum_add(0, g, 2), g + 2, 6), 0xddf2);
	CU_ASSERT_EQUAL(wire_sum_add(wire_sum_add(0, g + 4, 4), g, 4), 0xddf2);
}

static void checksum_edges(void)
{
	static const uint8_t ones[40] = {
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static uint8_t jumbo[9216];
	uint32_t sum;

	CU_ASSERT_EQUAL(wire_sum_add(0, ones, 0), 0);
	CU_ASSERT_EQUAL(wire_sum_fold(0), 0xffff);
	CU_ASSERT_EQUAL(wire_sum_add(0, ones, 1), 0xff00);
	CU_ASSERT_EQUAL(wire_sum_add(0, ones, 40), 0xffff);
	CU_ASSERT_EQUAL(wire_sum_fold(0xffff), 0);
	/* Carries of carries: ffff + ffff = 1fffe, folded ffff. */
	CU_ASSERT_EQUAL(wire_sum_add(0xffff, ones, 2), 0xffff);
	memset(jumbo, 0xff, sizeof(jumbo));
	sum = wire_sum_add(0, jumbo, sizeof(jumbo));
	CU_ASSERT_EQUAL(wire_sum_fold(sum), 0);
	jumbo[9215] = 0xfe;
	sum = wire_sum_add(0, jumbo, sizeof(jumbo));
	CU_ASSERT_EQUAL(wire_sum_fold(sum), 1);
}

/* Word by word, as RFC 1071 says it. */
static uint32_t sum_slowly(uint32_t sum, const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* All lengths around the width of a step, from any address, with few and with many carries. */
static void checksum_in_steps(void)
{
	static uint8_t data[512];

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < sizeof(data); i++)
			data[i] = round == 2 ? 0xff : (uint8_t)(i * 37 + i / 7 + round * 0x80);
		for (uint32_t from = 0; from < 9; from++) {
			for (uint32_t bytes = 0; bytes <= 300; bytes++) {
				CU_ASSERT_EQUAL(wire_sum_add(0, data + from, bytes),
						sum_slowly(0, data + from, bytes));
				CU_ASSERT_EQUAL(wire_sum_add(0x1fffe, data + from, bytes),
						sum_slowly(0x1fffe, data + from, bytes));
			}
		}
	}
}

UT_MAIN("shared_defs/wire", UT(eth), UT(arp), UT(ip), UT(icmp_echo), UT(udp), UT(checksum_example),
	UT(checksum_edges), UT(checksum_in_steps))
