/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of datagrams whose headers passed all checks.
 *
 * The headers of a flow differ in IPv4's length, id and checksum, and in UDP's length. A datagram
 * whose other bytes are those of a known flow passes the checks that these passed, since they
 * depend on the frame and on constants of the instance alone. known_rx.h looks at the rest, and
 * leaves a datagram that it does not take to ip.c and udp.c: only they drop and count. Datagrams to
 * groups are never taken, since attached QPs come and go.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/net/known_rx.h"

void known_learn(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
		 uint8_t src_shard)
{
	const uint8_t *data = frame->seg[0].data;
	struct known_flow *flow = known_place(nic, data);

	if (info->group || info->payload_offset != KNOWN_IP_END || info->eth->dst[0] & 1)
		return;
	flow->begin[0] = known_load64(data);
	flow->begin[1] = known_load64(data + KNOWN_BEGIN_2);
	flow->ips = known_load64(data + KNOWN_IPS);
	flow->middle = known_load32(data + KNOWN_MIDDLE);
	flow->ports = known_load32(data + KNOWN_IP_END);
	flow->sum = known_sum(data);
	flow->src_shard = src_shard;
	flow->ce = info->ce;
}
