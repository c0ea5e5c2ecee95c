/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP checksum in frames: computed here, offloaded to the device, omitted on the way to a NIC
 * of the same weftd, and detected as omitted by the kernel, as is that of UDP.
 *
 * A frame with an omitted checksum holds the pseudo header's sum in its place. Its mbuf has DPDK's
 * offload request: RTE_MBUF_F_TX_TCP_CKSUM and the lengths of its headers. RFC 1071, RFC 9293 3.1.
 */
#ifndef WEFT_APP_CSUM_H
#define WEFT_APP_CSUM_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	CSUM_TCP_AT = 16, /* offset in the TCP header */
	CSUM_TCP_BYTES = 20,
	CSUM_UDP_AT = 6, /* and in UDP's */
	CSUM_UDP_BYTES = 8,
};

/* Returns true if the checksum's place lies within the frame. */
static inline bool csum_fits(const struct fw_tx_frame *frame)
{
	return frame->csum_start <= frame->csum_at && frame->csum_at + 2u <= frame->bytes;
}

/*
 * Returns true if the checksum may be left to another component, which supports only TCP over IPv4.
 */
static inline bool csum_may_leave(const struct fw_tx_frame *frame)
{
	return frame->csum_start > sizeof(struct wire_eth) &&
	       frame->csum_at == frame->csum_start + CSUM_TCP_AT;
}

/* Marks the checksum of an mbuf, whose headers lie in its first segment, as omitted. */
static inline void csum_left(struct rte_mbuf *m, const struct fw_tx_frame *frame)
{
	m->l2_len = sizeof(struct wire_eth);
	m->l3_len = frame->csum_start - sizeof(struct wire_eth);
	m->l4_len = CSUM_TCP_BYTES;
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
}

static inline bool csum_is_left(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_TCP_CKSUM;
}

/*
 * Computes the omitted checksum of m in a copy of the frame, or of a packet of its run, which has
 * so many bytes.
 */
static inline void csum_seal(const struct rte_mbuf *m, uint8_t *frame, uint32_t bytes)
{
	uint32_t start = (uint32_t)m->l2_len + m->l3_len;

	wire_sum_put(frame, bytes, start, start + CSUM_TCP_AT);
}

/* Computes an omitted checksum. The frame must be in one segment. */
static inline void csum_finish(struct rte_mbuf *m)
{
	csum_seal(m, rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len);
	m->ol_flags &= ~(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_L4_MASK);
}

/*
 * Returns true if the device reports the checksum as correct, or as never computed by the sender.
 */
static inline bool csum_device_ok(const struct rte_mbuf *m)
{
	uint64_t word = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	return word == RTE_MBUF_F_RX_L4_CKSUM_GOOD || word == RTE_MBUF_F_RX_L4_CKSUM_NONE;
}

/*
 * Returns true for a received TCP segment, or a datagram, that a kernel sent without its checksum,
 * which an interface without hardware forwards unchanged: the field holds the pseudo header's sum.
 * A complete checksum equals that sum once in 65536 frames, as likely as a wrong one is correct.
 */
bool csum_is_partial(const uint8_t *frame, uint32_t bytes);

#endif /* WEFT_APP_CSUM_H */
