/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that a stranger must not guess: initial sequence numbers, SYN cookies, the start of a
 * timestamp clock; and rate limits for answers to strangers.
 *
 * The keyed hash of keyed.c over the four-tuple. RFC 6528, RFC 4987, RFC 7323 5.4.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	KIND_ISN = 1,
	KIND_TS = 2,
};

uint64_t tcp_keyed(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port,
		   uint64_t extra)
{
	return fw_keyed(nic, (uint64_t)peer_ip << 32 | nic->config.ip,
			(uint64_t)peer_port << 16 | local_port, extra);
}

uint32_t tcp_isn(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port)
{
	return (uint32_t)tcp_keyed(nic, peer_ip, peer_port, local_port, KIND_ISN) +
	       (uint32_t)(nic->now_ns / TCP_ISN_TICK_NS);
}

uint32_t tcp_ts_offset(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
		       uint16_t local_port)
{
	return (uint32_t)tcp_keyed(nic, peer_ip, peer_port, local_port, KIND_TS);
}

bool tcp_allowed(struct fw_nic *nic, struct tcp_bucket *bucket, uint32_t per_second,
		 uint32_t spread)
{
	if (!bucket->limit || nic->now_ns - bucket->since_ns >= TCP_SECOND_NS) {
		bucket->since_ns = nic->now_ns;
		bucket->spent = 0;
		bucket->limit = per_second;
		if (spread)
			bucket->limit +=
			    (uint32_t)(nic->port.random64(nic->port.ctx) % (2 * spread + 1)) -
			    spread;
	}
	if (bucket->spent >= bucket->limit)
		return false;
	bucket->spent++;
	return true;
}
