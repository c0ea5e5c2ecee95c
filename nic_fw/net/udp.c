/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP: one port per shard, WIRE_DGRAM_PORT + shard, which carries datagram-iWARP.
 *
 * Calls net_up.dgram(). Sent datagrams carry checksum 0, their CRC32C being stronger; a peer that
 * sets one gets it verified. RFC 768.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/net/ip_put.h"

static bool udp_checksum_ok(const struct fw_rx_frame *frame, const struct ip_rx_info *info,
			    uint32_t udp_bytes)
{
	const uint8_t proto_bytes[4] = {0, WIRE_IPPROTO_UDP, (uint8_t)(udp_bytes >> 8),
					(uint8_t)udp_bytes};
	uint32_t sum = wire_sum_add(0, &info->ip->src, 2 * sizeof(info->ip->src));

	sum = wire_sum_add(sum, proto_bytes, sizeof(proto_bytes));
	sum = ip_sum_frame(sum, frame, info->payload_offset, udp_bytes);
	return wire_sum_fold(sum) == 0;
}

void udp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	const struct wire_udp *udp;
	uint32_t bytes, src_shard, port = WIRE_DGRAM_PORT;
	uint8_t stage;

	if (info->payload_bytes < sizeof(*udp) ||
	    frame->seg[0].bytes < info->payload_offset + sizeof(*udp)) {
		FW_DROP(nic, drop_udp_length);
		return;
	}
	udp = (const struct wire_udp *)(frame->seg[0].data + info->payload_offset);
	bytes = be16_get(udp->bytes);
	if (bytes < sizeof(*udp) || bytes > info->payload_bytes) {
		FW_DROP(nic, drop_udp_length);
		return;
	}
	src_shard = (uint32_t)be16_get(udp->src_port) - WIRE_DGRAM_PORT;
	/* Groups have one port: members in any shard receive the datagrams of a group. */
	if (!info->group)
		port += nic->config.shard;
	if (be16_get(udp->dst_port) != port || src_shard >= WIRE_DGRAM_SHARDS) {
		FW_DROP(nic, drop_udp_port);
		return;
	}
	if (be16_get(udp->checksum) != 0 && !(frame->flags & FW_RX_CSUM_OK) &&
	    !udp_checksum_ok(frame, info, bytes)) {
		FW_DROP(nic, drop_udp_checksum);
		return;
	}
	known_learn(nic, frame, info, (uint8_t)src_shard);
	stage = fw_stage_enter(nic, FW_STAGE_DGRAM);
	net_up.dgram(nic, frame, info, (uint8_t)src_shard,
		     info->payload_offset + (uint32_t)sizeof(*udp), bytes - (uint32_t)sizeof(*udp));
	(void)fw_stage_enter(nic, stage);
}

static inline void tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
			     const uint8_t *dst_mac, uint8_t dst_shard, uint8_t tos,
			     uint32_t payload_bytes)
{
	struct wire_udp *udp = (struct wire_udp *)(frame->hdr + IP_TX_HDR_BYTES);
	uint32_t bytes = (uint32_t)sizeof(*udp) + payload_bytes;
	struct be64 word;

	assert(dst_shard < WIRE_DGRAM_SHARDS);
	ip_put_header(nic, frame, dst_ip, dst_mac, WIRE_IPPROTO_UDP, tos, bytes);
	word = be64_put((uint64_t)(WIRE_DGRAM_PORT + nic->config.shard) << 48 |
			(uint64_t)(WIRE_DGRAM_PORT + dst_shard) << 32 | (uint64_t)bytes << 16);
	memcpy(udp, &word, sizeof(*udp));
}

void udp_tx_header(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
		   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes)
{
	uint8_t tos = nic->config.cc_off ? 0 : WIRE_IP_ECT0;

	tx_header(nic, frame, dst_ip, dst_mac, dst_shard, tos, payload_bytes);
}

void udp_tx_header_not_ect(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
			   const uint8_t *dst_mac, uint8_t dst_shard, uint32_t payload_bytes)
{
	tx_header(nic, frame, dst_ip, dst_mac, dst_shard, 0, payload_bytes);
}
