/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP on the wire.
 *
 * nic_fw/tcp implements it. Sources: RFC 9293 3.1 (header, options), RFC 7323 (window scale,
 * timestamps), RFC 2018 (SACK), RFC 3168 6.1 (ECN), RFC 792 and RFC 1191 4 (the ICMP message that
 * reports the path MTU).
 */
#ifndef WEFT_WIRE_TCP_H
#define WEFT_WIRE_TCP_H

#include "shared_defs/be.h"

/* RFC 9293 3.1 */
struct wire_tcp {
	struct be16 src_port;
	struct be16 dst_port;
	struct be32 seq;
	struct be32 ack;
	uint8_t data_offset; /* upper four bits: header length in words, including options */
	uint8_t flags;
	struct be16 window;
	struct be16 checksum;
	struct be16 urgent;
};
static_assert(sizeof(struct wire_tcp) == 20, "RFC 9293 3.1");
static_assert(offsetof(struct wire_tcp, seq) == 4, "");
static_assert(offsetof(struct wire_tcp, ack) == 8, "");
static_assert(offsetof(struct wire_tcp, flags) == 13, "");
static_assert(offsetof(struct wire_tcp, window) == 14, "");
static_assert(offsetof(struct wire_tcp, checksum) == 16, "");
static_assert(offsetof(struct wire_tcp, urgent) == 18, "");

/* wire_tcp.flags */
enum {
	WIRE_TCP_FIN = 0x01,
	WIRE_TCP_SYN = 0x02,
	WIRE_TCP_RST = 0x04,
	WIRE_TCP_PSH = 0x08,
	WIRE_TCP_ACK = 0x10,
	WIRE_TCP_URG = 0x20,
	WIRE_TCP_ECE = 0x40,
	WIRE_TCP_CWR = 0x80,
};

enum {
	WIRE_TCP_OPT_END = 0,
	WIRE_TCP_OPT_NOP = 1,
	WIRE_TCP_OPT_MSS = 2,
	WIRE_TCP_OPT_WSCALE = 3,
	WIRE_TCP_OPT_SACK_OK = 4,
	WIRE_TCP_OPT_SACK = 5,
	WIRE_TCP_OPT_TS = 8,

	WIRE_TCP_MSS_BYTES = 4, /* lengths include kind and length bytes */
	WIRE_TCP_WSCALE_BYTES = 3,
	WIRE_TCP_SACK_OK_BYTES = 2,
	WIRE_TCP_TS_BYTES = 10,
	WIRE_TCP_SACK_BLOCK_BYTES = 8,

	WIRE_TCP_OPT_MAX_BYTES = 40,
	WIRE_TCP_TS_PADDED_BYTES = 12, /* in every segment: NOP, NOP, timestamps */
	WIRE_TCP_MAX_WSCALE = 14,      /* RFC 7323 2.3 */
	WIRE_TCP_DEFAULT_MSS = 536,    /* for peers that send no MSS option: RFC 9293 3.7.1 */
};

/* Pseudo header that the checksum covers. RFC 9293 3.1 */
struct wire_tcp_pseudo {
	struct be32 src;
	struct be32 dst;
	uint8_t zero;
	uint8_t proto;
	struct be16 bytes; /* length of header and payload */
};
static_assert(sizeof(struct wire_tcp_pseudo) == 12, "RFC 9293 3.1");

/* RFC 792, destination unreachable; RFC 1191 4: code 4 reports the MTU of the next hop */
struct wire_icmp_unreach {
	uint8_t type;
	uint8_t code;
	struct be16 checksum;
	struct be16 unused;
	struct be16 mtu;
	/* followed by the packet's IPv4 header and at least the first 8 bytes after it */
};
static_assert(sizeof(struct wire_icmp_unreach) == 8, "RFC 1191 4");
static_assert(offsetof(struct wire_icmp_unreach, mtu) == 6, "");

enum {
	WIRE_ICMP_NET_UNREACH = 0, /* codes of WIRE_ICMP_UNREACHABLE */
	WIRE_ICMP_HOST_UNREACH = 1,
	WIRE_ICMP_PROTO_UNREACH = 2,
	WIRE_ICMP_PORT_UNREACH = 3,
	WIRE_ICMP_FRAG_NEEDED = 4,
};

#endif /* WEFT_WIRE_TCP_H */
