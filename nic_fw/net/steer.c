/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the shard of a NIC for a received frame.
 *
 * The ports call it through fw.h, if no hardware has done it, before a frame reaches an instance.
 * It reads only the first bytes and, for TCP, the table of ports that the instances share
 * (l4_port.c). Frames for no shard's port go to shard 0, whose layers drop and count them.
 */
#include "nic_fw/fw_nic.h"

/* bytes: from the port numbers on. */
static uint32_t steer_tcp(const uint8_t *ports, uint32_t bytes, bool by_source,
			  const uint32_t *cm_ports, uint32_t num_shards)
{
	struct be16 port;
	uint32_t shard;

	if (!cm_ports || num_shards == 1 || bytes < 2 * sizeof(port))
		return 0;
	memcpy(&port, ports + (by_source ? 0 : sizeof(port)), sizeof(port));
	shard = l4_port_owner(cm_ports, be16_get(port));
	return shard < num_shards ? shard : 0;
}

/* An ICMP error about a packet of ours goes to the shard that sent it. RFC 792. */
static uint32_t steer_icmp(const uint8_t *icmp, uint32_t bytes, const uint32_t *cm_ports,
			   uint32_t num_shards)
{
	const struct wire_ip *quoted = (const void *)(icmp + sizeof(struct wire_icmp_echo));
	uint32_t at;

	if (bytes < sizeof(struct wire_icmp_echo) + sizeof(*quoted) ||
	    icmp[0] != WIRE_ICMP_UNREACHABLE || quoted->proto != WIRE_IPPROTO_TCP ||
	    quoted->version_ihl >> 4 != 4)
		return 0;
	at = (uint32_t)sizeof(struct wire_icmp_echo) + (quoted->version_ihl & 0x0fu) * 4u;
	if (at > bytes)
		return 0;
	return steer_tcp(icmp + at, bytes - at, true, cm_ports, num_shards);
}

uint32_t fw_steer(const uint8_t *frame, uint32_t bytes, uint32_t num_shards,
		  const uint32_t *cm_ports, bool *all)
{
	const struct wire_eth *eth = (const struct wire_eth *)frame;
	const struct wire_ip *ip;
	const struct wire_udp *udp;
	uint32_t ihl_bytes, shard;

	*all = false;
	if (num_shards == 1 || bytes < sizeof(*eth))
		return 0;
	if (be16_get(eth->type) == WIRE_ETHERTYPE_ARP) {
		/* Each shard has a neighbour table of its own and learns from every frame. */
		*all = num_shards > 1;
		return 0;
	}
	if (be16_get(eth->type) == WIRE_ETHERTYPE_ESP) {
		const struct wire_edp *edp = (const struct wire_edp *)(frame + sizeof(*eth));

		if (eth->dst[0] & 1) {
			/* Members of a reliable group may be in any shard. */
			*all = num_shards > 1;
			return 0;
		}
		if (bytes < sizeof(*eth) + sizeof(*edp))
			return 0;
		shard =
		    ((uint32_t)be16_get(edp->dst_port) - WIRE_EDP_PORT_BASE) / WIRE_EDP_PORT_SPAN;
		return shard < num_shards ? shard : 0;
	}
	if (be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || bytes < sizeof(*eth) + sizeof(*ip))
		return 0;
	ip = (const struct wire_ip *)(frame + sizeof(*eth));
	ihl_bytes = (ip->version_ihl & 0x0fu) * 4u;
	if (ip->version_ihl >> 4 != 4 || ihl_bytes < sizeof(*ip))
		return 0;
	/*
	 * Each shard has groups of its own, and answers queries for them whatever their
	 * destination.
	 */
	if (be32_get(ip->dst) >> 28 == WIRE_IP_GROUP_PREFIX || ip->proto == WIRE_IPPROTO_IGMP) {
		*all = num_shards > 1;
		return 0;
	}
	if ((be16_get(ip->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK)) != 0 ||
	    bytes < sizeof(*eth) + ihl_bytes)
		return 0;
	if (ip->proto == WIRE_IPPROTO_TCP)
		return steer_tcp(frame + sizeof(*eth) + ihl_bytes,
				 bytes - (uint32_t)sizeof(*eth) - ihl_bytes, false, cm_ports,
				 num_shards);
	if (ip->proto == WIRE_IPPROTO_ICMP)
		return steer_icmp(frame + sizeof(*eth) + ihl_bytes,
				  bytes - (uint32_t)sizeof(*eth) - ihl_bytes, cm_ports, num_shards);
	if (ip->proto != WIRE_IPPROTO_UDP || bytes < sizeof(*eth) + ihl_bytes + sizeof(*udp))
		return 0;
	udp = (const struct wire_udp *)(frame + sizeof(*eth) + ihl_bytes);
	shard = (uint32_t)be16_get(udp->dst_port) - WIRE_DGRAM_PORT;
	return shard < num_shards ? shard : 0;
}
