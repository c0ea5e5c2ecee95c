/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the ladder: EDP echoes (docs/wire-esp.md), UD datagrams (docs/wire-format.md), ARP (RFC
 * 826). Calls the builder and the reader of tests/bench/frame.c.
 */
#include "tools/weft-bench/ladder_frame.h"

#include <string.h>

enum {
	LEAST_BYTES = 60, /* of Ethernet, without the FCS */
	ECHO_AT = FRAME_ESP_AT,
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
};

static void add_round(struct frame *f, uint32_t round)
{
	struct be32 number = be32_put(round);

	frame_add(f, &number, sizeof(number));
}

/* Seals the frame and pads it to Ethernet's least length. */
static void end(struct frame *f)
{
	frame_end(f);
	if (f->n < LEAST_BYTES)
		frame_fill(f, 0, LEAST_BYTES - f->n);
}

static bool has_round(const uint8_t *at, uint32_t round)
{
	struct be32 number;

	memcpy(&number, at, sizeof(number));
	return be32_get(number) == round;
}

void ladder_echo(struct frame *f, const struct ladder_ends *ends, uint16_t port, uint32_t round)
{
	frame_eth(f, ends->nic_mac, ends->mac, WIRE_ETHERTYPE_ESP);
	frame_edp(f, WIRE_EDP_ECHO, LADDER_EDP_PORT, port);
	add_round(f, round);
	end(f);
}

bool ladder_is_echo_reply(struct frame *f, uint32_t round)
{
	const uint32_t bytes = ECHO_AT + LADDER_PAYLOAD + WIRE_EDP_CRC_BYTES;
	const struct frame_view v = frame_read(f->b, f->n);
	uint8_t crc[WIRE_EDP_CRC_BYTES];

	if (f->n < bytes || !v.edp ||
	    v.edp->ver_type != (WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO_REPLY) ||
	    be16_get(v.edp->dst_port) != LADDER_EDP_PORT || !has_round(f->b + ECHO_AT, round))
		return false;
	memcpy(crc, f->b + bytes - sizeof(crc), sizeof(crc));
	frame_seal(f->b, bytes, FRAME_KEEP_LENGTHS);
	return !memcmp(f->b + bytes - sizeof(crc), crc, sizeof(crc));
}

void ladder_datagram(struct frame *f, const struct ladder_ends *ends, uint32_t qpn, uint32_t qkey,
		     uint32_t round)
{
	struct wire_dgram *dgram;

	frame_eth(f, ends->nic_mac, ends->mac, WIRE_ETHERTYPE_IPV4);
	frame_ip(f, WIRE_IPPROTO_UDP, ends->ip, ends->nic_ip);
	/* Bits 16 to 18 of a QPN are the shard, the port's distance from the first. */
	frame_udp(f, WIRE_DGRAM_PORT, (uint16_t)(WIRE_DGRAM_PORT + (qpn >> 16 & 7)));
	dgram = frame_dgram(f, WIRE_DGRAM_UD);
	dgram->dst_qpn = be32_put(qpn);
	dgram->src_qpn = be32_put(LADDER_QPN);
	dgram->qkey = be32_put(qkey);
	dgram->msg_bytes = be32_put(LADDER_PAYLOAD);
	dgram->ssn = be32_put(round);
	frame_untagged(f, WIRE_RDMAP_SEND, true, round, 0);
	add_round(f, round);
	end(f);
}

bool ladder_is_datagram(struct frame *f, uint32_t round)
{
	const struct frame_view v = frame_read(f->b, f->n);
	const uint32_t at = FRAME_RD_AT + sizeof(struct wire_ddp_untagged);

	return f->n >= at + LADDER_PAYLOAD && v.dgram &&
	       v.dgram->ver_type == (WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD) &&
	       be32_get(v.dgram->dst_qpn) == LADDER_QPN && has_round(f->b + at, round);
}

bool ladder_arp(const struct frame *f, const struct ladder_ends *ends, struct frame *reply)
{
	struct wire_eth eth;
	struct wire_arp arp, *answer;

	if (f->n < sizeof(eth) + sizeof(arp))
		return false;
	memcpy(&eth, f->b, sizeof(eth));
	memcpy(&arp, f->b + sizeof(eth), sizeof(arp));
	if (be16_get(eth.type) != WIRE_ETHERTYPE_ARP || be16_get(arp.op) != ARP_REQUEST ||
	    memcmp(&arp.target_ip, &ends->ip, sizeof(ends->ip)))
		return false;
	frame_eth(reply, arp.sender_mac, ends->mac, WIRE_ETHERTYPE_ARP);
	answer = frame_arp(reply, ARP_REPLY, ends->mac, ends->ip, 0);
	memcpy(answer->target_mac, arp.sender_mac, sizeof(answer->target_mac));
	answer->target_ip = arp.sender_ip;
	frame_fill(reply, 0, LEAST_BYTES - reply->n);
	return true;
}
