/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that a kernel of this machine or of a guest sent without the TCP checksum, which virtual
 * devices (veth, bridge, virtio) do not fill in. See csum.h.
 *
 * RFC 9293 3.1; CHECKSUM_PARTIAL in include/linux/skbuff.h of Linux.
 */
#include "dpdk_app/csum.h"

bool csum_is_partial(const uint8_t *frame, uint32_t bytes)
{
	const struct wire_eth *eth = (const struct wire_eth *)frame;
	const struct wire_ip *ip = (const struct wire_ip *)(eth + 1);
	struct be16 check;
	uint32_t head, total, tcp_bytes, sum;

	if (bytes < sizeof(*eth) + sizeof(*ip) + CSUM_TCP_BYTES ||
	    be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || ip->version_ihl >> 4 != 4 ||
	    ip->proto != WIRE_IPPROTO_TCP)
		return false;
	head = (ip->version_ihl & 0x0fu) * 4u;
	total = be16_get(ip->total_bytes);
	if (head < sizeof(*ip) || total < head + CSUM_TCP_BYTES ||
	    bytes < sizeof(*eth) + head + CSUM_TCP_BYTES)
		return false;
	tcp_bytes = total - head;
	sum = wire_sum_add(WIRE_IPPROTO_TCP + tcp_bytes, &ip->src, 2 * sizeof(ip->src));
	memcpy(&check, frame + sizeof(*eth) + head + CSUM_TCP_AT, sizeof(check));
	return be16_get(check) == sum;
}
