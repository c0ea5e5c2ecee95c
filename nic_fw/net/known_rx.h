/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving a datagram of a known flow, inline: see known.c.
 */
#ifndef WEFT_FW_KNOWN_RX_H
#define WEFT_FW_KNOWN_RX_H

#include "nic_fw/fw_nic.h"

/* Offsets in a frame without options. */
enum {
	KNOWN_IP = sizeof(struct wire_eth),
	KNOWN_BEGIN_2 = 8,
	KNOWN_TOTAL = KNOWN_IP + offsetof(struct wire_ip, total_bytes),
	KNOWN_ID = KNOWN_IP + offsetof(struct wire_ip, id),
	KNOWN_MIDDLE = KNOWN_IP + offsetof(struct wire_ip, frag),
	KNOWN_PROTO = KNOWN_IP + offsetof(struct wire_ip, proto),
	KNOWN_CHECKSUM = KNOWN_IP + offsetof(struct wire_ip, checksum),
	KNOWN_IPS = KNOWN_IP + offsetof(struct wire_ip, src),
	KNOWN_IP_END = KNOWN_IP + sizeof(struct wire_ip),
	KNOWN_UDP_BYTES = KNOWN_IP_END + offsetof(struct wire_udp, bytes),
	KNOWN_UDP_END = KNOWN_IP_END + sizeof(struct wire_udp),
};
static_assert(KNOWN_BEGIN_2 + sizeof(uint64_t) == KNOWN_TOTAL, "begin");
static_assert(KNOWN_MIDDLE + sizeof(uint32_t) == KNOWN_CHECKSUM, "middle");
static_assert(KNOWN_IPS + sizeof(uint64_t) == KNOWN_IP_END, "ips");
static_assert(KNOWN_UDP_BYTES + sizeof(uint32_t) == KNOWN_UDP_END, "the checksum follows");

static inline uint16_t known_load16(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint32_t known_load32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint64_t known_load64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* Never 0: a length is not. All headers of a flow that are right have the same. */
static inline uint32_t known_sum(const uint8_t *data)
{
	uint32_t sum = (uint32_t)known_load16(data + KNOWN_TOTAL) + known_load16(data + KNOWN_ID) +
		       known_load16(data + KNOWN_CHECKSUM);

	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* By the last octet of the source, and its shard. */
static inline struct known_flow *known_place(struct fw_nic *nic, const uint8_t *data)
{
	return &nic->net.known[(data[KNOWN_IPS + 3] ^ data[KNOWN_IP_END + 1]) % KNOWN_FLOWS];
}

/* Hands a datagram of a known flow up. False: it is of none, or something about it is unusual. */
static inline bool known_rx(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const uint8_t *data = frame->seg[0].data;
	const struct known_flow *flow;
	struct ip_rx_info info;
	uint32_t total, end;
	uint8_t stage;

	if (frame->seg[0].bytes < KNOWN_UDP_END || data[KNOWN_PROTO] != WIRE_IPPROTO_UDP)
		return false;
	flow = known_place(nic, data);
	/* Little-endian: the upper half of the last word is the checksum of UDP. */
	end = known_load32(data + KNOWN_UDP_BYTES);
	if (((known_load64(data) ^ flow->begin[0]) |
	     (known_load64(data + KNOWN_BEGIN_2) ^ flow->begin[1]) |
	     (known_load64(data + KNOWN_IPS) ^ flow->ips) |
	     (known_load32(data + KNOWN_MIDDLE) ^ flow->middle) |
	     (known_load32(data + KNOWN_IP_END) ^ flow->ports) | end >> 16) ||
	    known_sum(data) != flow->sum)
		return false;
	end = __builtin_bswap16((uint16_t)end);
	total = __builtin_bswap16(known_load16(data + KNOWN_TOTAL));
	if (total != end + sizeof(struct wire_ip) || end < sizeof(struct wire_udp) ||
	    total > frame->bytes - sizeof(struct wire_eth))
		return false;
	info.eth = (const void *)data;
	info.ip = (const void *)(data + KNOWN_IP);
	info.src_ip = (uint32_t)flow->ips;
	info.dst_ip = (uint32_t)(flow->ips >> 32);
	info.group = NULL;
	info.payload_offset = KNOWN_IP_END;
	info.payload_bytes = end;
	info.ce = flow->ce;
	stage = fw_stage_enter(nic, FW_STAGE_DGRAM);
	net_up.dgram(nic, frame, &info, flow->src_shard, KNOWN_UDP_END,
		     end - (uint32_t)sizeof(struct wire_udp));
	(void)fw_stage_enter(nic, stage);
	return true;
}

#endif /* WEFT_FW_KNOWN_RX_H */
