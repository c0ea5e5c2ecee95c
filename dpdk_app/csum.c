/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that a kernel of this machine or of a guest sent without the checksum of TCP or UDP, which
 * virtual devices (veth, bridge, virtio) do not fill in. See csum.h.
 *
 * RFC 768, RFC 9293 3.1; CHECKSUM_PARTIAL in include/linux/skbuff.h of Linux.
 */
#include "dpdk_app/csum.h"

bool csum_is_partial(const uint8_t *frame, uint32_t bytes)
{
	const struct wire_eth *eth = (const struct wire_eth *)frame;
	const struct wire_ip *ip = (const struct wire_ip *)(eth + 1);
	uint32_t head, total, l4_bytes, least, at;
	struct be16 check;

	if (bytes < sizeof(*eth) + sizeof(*ip) || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 ||
	    ip->version_ihl >> 4 != 4 ||
	    (ip->proto != WIRE_IPPROTO_TCP && ip->proto != WIRE_IPPROTO_UDP))
		return false;
	least = ip->proto == WIRE_IPPROTO_TCP ? (uint32_t)CSUM_TCP_BYTES : CSUM_UDP_BYTES;
	at = ip->proto == WIRE_IPPROTO_TCP ? (uint32_t)CSUM_TCP_AT : CSUM_UDP_AT;
	head = (ip->version_ihl & 0x0fu) * 4u;
	total = be16_get(ip->total_bytes);
	if (head < sizeof(*ip) || total < head + least || bytes < sizeof(*eth) + head + least)
		return false;
	l4_bytes = total - head;
	memcpy(&check, frame + sizeof(*eth) + head + at, sizeof(check));
	return be16_get(check) ==
	       (uint16_t)wire_sum_add(ip->proto + l4_bytes, &ip->src, 2 * sizeof(ip->src));
}
