/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the ladder: EDP echoes (docs/wire-esp.md), UD datagrams (docs/wire-format.md), ARP (RFC
 * 826). Calls shared_defs and nic_fw/base/crc32c.c.
 */
#include "tools/weft-bench/ladder_frame.h"

#include <string.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"

enum {
	ETH_BYTES = sizeof(struct wire_eth),
	EDP_DATA = ETH_BYTES + sizeof(struct wire_edp),
	UDP_AT = ETH_BYTES + sizeof(struct wire_ip),
	DGRAM_AT = UDP_AT + sizeof(struct wire_udp),
	DDP_AT = DGRAM_AT + sizeof(struct wire_dgram),
	DGRAM_DATA = DDP_AT + sizeof(struct wire_ddp_untagged),
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
};

static void put_eth(uint8_t *frame, const uint8_t *dst, const uint8_t *src, uint16_t type)
{
	struct wire_eth eth = {.type = be16_put(type)};

	memset(frame, 0, LADDER_FRAME_MAX);
	memcpy(eth.dst, dst, sizeof(eth.dst));
	memcpy(eth.src, src, sizeof(eth.src));
	memcpy(frame, &eth, sizeof(eth));
}

/* Appends the CRC32C of the bytes from from on; pads to Ethernet's least length. */
static uint32_t seal(uint8_t *frame, uint32_t from, uint32_t bytes)
{
	struct be32 crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, frame + from, bytes - from));

	memcpy(frame + bytes, &crc, sizeof(crc));
	bytes += (uint32_t)sizeof(crc);
	return bytes < 60 ? 60 : bytes;
}

static bool has_round(const uint8_t *at, uint32_t round)
{
	struct be32 number;

	memcpy(&number, at, sizeof(number));
	return be32_get(number) == round;
}

static bool has_type(const uint8_t *frame, uint16_t type)
{
	struct wire_eth eth;

	memcpy(&eth, frame, sizeof(eth));
	return be16_get(eth.type) == type;
}

uint32_t ladder_echo(uint8_t *frame, const struct ladder_ends *ends, uint16_t port, uint32_t round)
{
	struct be32 number = be32_put(round);
	struct wire_edp edp = {
	    .ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO,
	    .bytes = be16_put(sizeof(edp) + LADDER_PAYLOAD),
	    .dst_port = be16_put(port),
	    .src_port = be16_put(LADDER_EDP_PORT),
	};

	put_eth(frame, ends->nic_mac, ends->mac, WIRE_ETHERTYPE_ESP);
	memcpy(frame + ETH_BYTES, &edp, sizeof(edp));
	memcpy(frame + EDP_DATA, &number, sizeof(number));
	return seal(frame, ETH_BYTES, EDP_DATA + LADDER_PAYLOAD);
}

bool ladder_is_echo_reply(const uint8_t *frame, uint32_t bytes, uint32_t round)
{
	struct wire_edp edp;
	struct be32 crc;

	if (bytes < EDP_DATA + LADDER_PAYLOAD + WIRE_EDP_CRC_BYTES ||
	    !has_type(frame, WIRE_ETHERTYPE_ESP))
		return false;
	memcpy(&edp, frame + ETH_BYTES, sizeof(edp));
	crc = fw_crc32c_wire(
	    fw_crc32c(FW_CRC32C_INIT, frame + ETH_BYTES, sizeof(edp) + LADDER_PAYLOAD));
	return edp.ver_type == (WIRE_EDP_VERSION << 4 | WIRE_EDP_ECHO_REPLY) &&
	       be16_get(edp.dst_port) == LADDER_EDP_PORT && has_round(frame + EDP_DATA, round) &&
	       !memcmp(frame + EDP_DATA + LADDER_PAYLOAD, &crc, sizeof(crc));
}

static void put_ip(uint8_t *frame, const struct ladder_ends *ends, uint32_t bytes, uint16_t port)
{
	struct wire_ip ip = {
	    .version_ihl = WIRE_IP_VERSION_IHL,
	    .total_bytes = be16_put((uint16_t)(bytes - ETH_BYTES)),
	    .frag = be16_put(WIRE_IP_DF),
	    .ttl = 64,
	    .proto = WIRE_IPPROTO_UDP,
	};
	struct wire_udp udp = {
	    .src_port = be16_put(WIRE_DGRAM_PORT),
	    .dst_port = be16_put(port),
	    .bytes = be16_put((uint16_t)(bytes - UDP_AT)),
	};

	memcpy(&ip.src, &ends->ip, sizeof(ip.src));
	memcpy(&ip.dst, &ends->nic_ip, sizeof(ip.dst));
	ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &ip, sizeof(ip))));
	memcpy(frame + ETH_BYTES, &ip, sizeof(ip));
	memcpy(frame + UDP_AT, &udp, sizeof(udp));
}

uint32_t ladder_datagram(uint8_t *frame, const struct ladder_ends *ends, uint32_t qpn,
			 uint32_t qkey, uint32_t round)
{
	uint32_t bytes = DGRAM_DATA + LADDER_PAYLOAD;
	struct be32 number = be32_put(round);
	struct wire_dgram dgram = {
	    .ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD,
	    .dst_qpn = be32_put(qpn),
	    .src_qpn = be32_put(LADDER_QPN),
	    .qkey = be32_put(qkey),
	    .msg_bytes = be32_put(LADDER_PAYLOAD),
	    .ssn = be32_put(round),
	};
	struct wire_ddp_untagged ddp = {
	    .ddp_ctrl = WIRE_DDP_VERSION | WIRE_DDP_LAST,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND,
	    .qn = be32_put(WIRE_QN_SEND),
	    .msn = be32_put(round),
	};
	/* Bits 16 to 18 of a QPN are the shard, the port's distance from the first. */
	uint16_t port = (uint16_t)(WIRE_DGRAM_PORT + (qpn >> 16 & 7));

	put_eth(frame, ends->nic_mac, ends->mac, WIRE_ETHERTYPE_IPV4);
	put_ip(frame, ends, bytes + WIRE_DGRAM_CRC_BYTES, port);
	memcpy(frame + DGRAM_AT, &dgram, sizeof(dgram));
	memcpy(frame + DDP_AT, &ddp, sizeof(ddp));
	memcpy(frame + DGRAM_DATA, &number, sizeof(number));
	return seal(frame, UDP_AT, bytes);
}

bool ladder_is_datagram(const uint8_t *frame, uint32_t bytes, uint32_t round)
{
	struct wire_dgram dgram;

	if (bytes < DGRAM_DATA + LADDER_PAYLOAD || !has_type(frame, WIRE_ETHERTYPE_IPV4) ||
	    frame[ETH_BYTES + offsetof(struct wire_ip, proto)] != WIRE_IPPROTO_UDP)
		return false;
	memcpy(&dgram, frame + DGRAM_AT, sizeof(dgram));
	return dgram.ver_type == (WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD) &&
	       be32_get(dgram.dst_qpn) == LADDER_QPN && has_round(frame + DGRAM_DATA, round);
}

uint32_t ladder_arp(const uint8_t *frame, uint32_t bytes, const struct ladder_ends *ends,
		    uint8_t *reply)
{
	struct wire_arp arp;

	if (bytes < ETH_BYTES + sizeof(arp) || !has_type(frame, WIRE_ETHERTYPE_ARP))
		return 0;
	memcpy(&arp, frame + ETH_BYTES, sizeof(arp));
	if (be16_get(arp.op) != ARP_REQUEST || memcmp(&arp.target_ip, &ends->ip, sizeof(ends->ip)))
		return 0;
	put_eth(reply, arp.sender_mac, ends->mac, WIRE_ETHERTYPE_ARP);
	arp.op = be16_put(ARP_REPLY);
	memcpy(arp.target_mac, arp.sender_mac, sizeof(arp.target_mac));
	arp.target_ip = arp.sender_ip;
	memcpy(arp.sender_mac, ends->mac, sizeof(arp.sender_mac));
	memcpy(&arp.sender_ip, &ends->ip, sizeof(arp.sender_ip));
	memcpy(reply + ETH_BYTES, &arp, sizeof(arp));
	return 60;
}
