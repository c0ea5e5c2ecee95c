/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4, ICMP and UDP on the wire.
 *
 * nic_fw/net (ip.c, icmp.c, udp.c) implements them. Sources: RFC 791, RFC 792, RFC 768, RFC 1071
 * (checksum), RFC 3168 (ECN).
 */
#ifndef WEFT_WIRE_IP_H
#define WEFT_WIRE_IP_H

#include "shared_defs/be.h"

enum {
	WIRE_IP_VERSION_IHL = 0x45, /* version 4, five words: weft sends no options */
	WIRE_IP_DF = 0x4000,
	WIRE_IP_MF = 0x2000,
	WIRE_IP_FRAG_MASK = 0x1fff,
	WIRE_IP_ECN_MASK = 0x03,
	WIRE_IP_ECT0 = 0x02,
	WIRE_IP_CE = 0x03,
	WIRE_IP_TTL = 64,
	/* Upper four bits of a group address: 224.0.0.0/4 (RFC 1112 4). */
	WIRE_IP_GROUP_PREFIX = 0xe,
};

enum {
	WIRE_IPPROTO_ICMP = 1,
	WIRE_IPPROTO_IGMP = 2,
	WIRE_IPPROTO_TCP = 6,
	WIRE_IPPROTO_UDP = 17,
};

/* RFC 791 3.1 */
struct wire_ip {
	uint8_t version_ihl;
	uint8_t tos;
	struct be16 total_bytes;
	struct be16 id;
	struct be16 frag;
	uint8_t ttl;
	uint8_t proto;
	struct be16 checksum;
	struct be32 src;
	struct be32 dst;
};
static_assert(sizeof(struct wire_ip) == 20, "RFC 791 3.1");
static_assert(offsetof(struct wire_ip, total_bytes) == 2, "");
static_assert(offsetof(struct wire_ip, frag) == 6, "");
static_assert(offsetof(struct wire_ip, proto) == 9, "");
static_assert(offsetof(struct wire_ip, checksum) == 10, "");
static_assert(offsetof(struct wire_ip, src) == 12, "");
static_assert(offsetof(struct wire_ip, dst) == 16, "");

enum {
	WIRE_ICMP_ECHO_REPLY = 0,
	WIRE_ICMP_UNREACHABLE = 3,
	WIRE_ICMP_ECHO = 8,
};

/* RFC 792, echo and echo reply */
struct wire_icmp_echo {
	uint8_t type;
	uint8_t code;
	struct be16 checksum;
	struct be16 id;
	struct be16 seq;
};
static_assert(sizeof(struct wire_icmp_echo) == 8, "RFC 792");
static_assert(offsetof(struct wire_icmp_echo, checksum) == 2, "");
static_assert(offsetof(struct wire_icmp_echo, id) == 4, "");

/* RFC 768. weft's datagrams have checksum 0 (none): their CRC32C is stronger. */
struct wire_udp {
	struct be16 src_port;
	struct be16 dst_port;
	struct be16 bytes; /* length of header and payload */
	struct be16 checksum;
};
static_assert(sizeof(struct wire_udp) == 8, "RFC 768");
static_assert(offsetof(struct wire_udp, bytes) == 4, "");
static_assert(offsetof(struct wire_udp, checksum) == 6, "");

/*
 * Adds bytes to a running one's complement sum (RFC 1071). An odd count is padded with a zero byte,
 * so only the last piece of a sum may have an odd length. The sum is built 64 bits at a time, low
 * byte first; that order only swaps the two bytes of the result (RFC 1071 2).
 */
static inline uint32_t wire_sum_add(uint32_t sum, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t a = 0, b = 0, w[4];
	uint32_t word;
	uint16_t half;

	for (; bytes >= sizeof(w); bytes -= sizeof(w), p += sizeof(w)) {
		memcpy(w, p, sizeof(w));
		/* Add carries back at the low end. */
		a += w[0];
		b += w[1];
		a += a < w[0];
		b += b < w[1];
		a += w[2];
		b += w[3];
		a += a < w[2];
		b += b < w[3];
	}
	a = (a >> 32) + (a & 0xffffffff) + (b >> 32) + (b & 0xffffffff);
	for (; bytes >= sizeof(word); bytes -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		a += word;
	}
	if (bytes & 2) {
		memcpy(&half, p, sizeof(half));
		a += half;
		p += sizeof(half);
	}
	if (bytes & 1)
		a += *p;
	while (a >> 16)
		a = (a & 0xffff) + (a >> 16);
	sum += (uint32_t)((a & 0xff) << 8 | a >> 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Returns the checksum field for a complete sum. A correct packet sums to 0 including the field. */
static inline uint16_t wire_sum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/*
 * Returns the checksum field of a header without options, of its 8, 8 and 4 bytes as numbers of the
 * same byte order; 0 for a correct header that includes the field.
 */
static inline uint16_t wire_sum_ip(uint64_t first, uint64_t second, uint32_t third)
{
	uint64_t a = first + second;

	a += a < first;
	a = (a >> 32) + (a & 0xffffffff) + third;
	a = (a >> 32) + (a >> 16 & 0xffff) + (a & 0xffff);
	a = (a >> 16) + (a & 0xffff);
	return (uint16_t) ~((a >> 16) + a);
}

/*
 * Stores the checksum of the bytes from start to the end of a packet at offset at. The two bytes
 * there initially hold the pseudo header's sum, or 0 without a pseudo header.
 */
static inline void wire_sum_put(uint8_t *packet, size_t bytes, size_t start, size_t at)
{
	struct be16 sum = be16_put(wire_sum_fold(wire_sum_add(0, packet + start, bytes - start)));

	memcpy(packet + at, &sum, sizeof(sum));
}

#endif /* WEFT_WIRE_IP_H */
