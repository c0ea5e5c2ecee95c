/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that a stranger shall not guess: initial sequence numbers, SYN cookies, where a clock
 * of timestamps starts; and limits on what strangers make us send.
 *
 * SipHash-2-4 (Aumasson, Bernstein 2012) over the four-tuple with a key drawn at the first use.
 * Called by tcp_conn.c and tcp_listen.c; calls port->random64(). RFC 6528, RFC 4987, RFC 7323 5.4.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp_flow.h"

enum {
	KIND_ISN = 1,
	KIND_TS = 2,
	ISN_TICK_NS = 4000, /* RFC 9293 3.4.1 */
};

static uint64_t rotl(uint64_t x, uint32_t bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], uint32_t rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

/* Of three words of message. */
static uint64_t siphash(const uint64_t key[2], const uint64_t msg[3])
{
	uint64_t v[4] = {
	    key[0] ^ UINT64_C(0x736f6d6570736575),
	    key[1] ^ UINT64_C(0x646f72616e646f6d),
	    key[0] ^ UINT64_C(0x6c7967656e657261),
	    key[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t last = (uint64_t)24 << 56; /* the message's length */
	uint32_t i;

	for (i = 0; i < 3; i++) {
		v[3] ^= msg[i];
		sip_rounds(v, 2);
		v[0] ^= msg[i];
	}
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t tcp_keyed(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port,
		   uint64_t extra)
{
	uint64_t msg[3] = {
	    (uint64_t)peer_ip << 32 | nic->config.ip,
	    (uint64_t)peer_port << 16 | local_port,
	    extra,
	};

	if (!nic->tcp.keyed) {
		nic->tcp.key[0] = nic->port.random64(nic->port.ctx);
		nic->tcp.key[1] = nic->port.random64(nic->port.ctx);
		nic->tcp.keyed = true;
	}
	return siphash(nic->tcp.key, msg);
}

uint32_t tcp_isn(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port)
{
	return (uint32_t)tcp_keyed(nic, peer_ip, peer_port, local_port, KIND_ISN) +
	       (uint32_t)(nic->now_ns / ISN_TICK_NS);
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
