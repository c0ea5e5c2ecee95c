/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet and IPv4 headers of a packet to send, inline: ip.c has them for any protocol, udp.c with
 * its own behind them. RFC 791, RFC 6864.
 */
#ifndef WEFT_FW_IP_PUT_H
#define WEFT_FW_IP_PUT_H

#include "nic_fw/fw_nic.h"

/* See ip_tx_header(). */
static inline void ip_put_header(const struct fw_nic *nic, struct fw_tx_frame *frame,
				 uint32_t dst_ip, const uint8_t *dst_mac, uint8_t proto,
				 uint8_t tos, uint32_t payload_bytes)
{
	struct wire_eth *eth = (struct wire_eth *)frame->hdr;
	struct wire_ip *ip = (struct wire_ip *)(frame->hdr + sizeof(*eth));
	uint16_t total = (uint16_t)(sizeof(*ip) + payload_bytes);
	/*
	 * Atomic packets need no id (RFC 6864 4.1); a running one makes them distinct in a capture.
	 */
	uint16_t id = (uint16_t)(nic->counters.tx_frames + nic->net.tx_count + nic->net.tx_more);
	uint64_t first, second;
	struct be32 src, dst;
	struct be64 word;

	assert(payload_bytes + sizeof(*ip) <= nic->config.mtu);
	memcpy(eth->dst, dst_mac, WIRE_MAC_BYTES);
	memcpy(eth->src, nic->config.mac, WIRE_MAC_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	memcpy(&src, &nic->config.ip, sizeof(src));
	memcpy(&dst, &dst_ip, sizeof(dst));
	/* In words, whose sum needs no look at the stored fields: version to frag, ttl to src. */
	first = (uint64_t)WIRE_IP_VERSION_IHL << 56 | (uint64_t)tos << 48 | (uint64_t)total << 32 |
		(uint64_t)id << 16 | WIRE_IP_DF;
	second = (uint64_t)WIRE_IP_TTL << 56 | (uint64_t)proto << 48 | be32_get(src);
	second |= (uint64_t)wire_sum_ip(first, second, be32_get(dst)) << 32;
	word = be64_put(first);
	memcpy(ip, &word, sizeof(word));
	word = be64_put(second);
	memcpy(&ip->ttl, &word, sizeof(word));
	ip->dst = dst;
	if (dst_ip == nic->config.ip)
		frame->flags |= FW_TX_LOOP;
}

#endif /* WEFT_FW_IP_PUT_H */
