/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum of TCP in frames: put in here, left to the device, left away on the way to a NIC
 * of this weftd, and recognised as left away by the kernel.
 *
 * A frame whose checksum is left away holds the pseudo header's sum there, and its mbuf says so as
 * DPDK has devices told: RTE_MBUF_F_TX_TCP_CKSUM and the lengths of its headers. Called by
 * gather.c, borrow.c, port_tx.c and port_rx.c. RFC 1071, RFC 9293 3.1.
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
	CSUM_TCP_AT = 16, /* of the TCP header */
	CSUM_TCP_BYTES = 20,
};

/* Whether where a frame wants its checksum is within it. */
static inline bool csum_fits(const struct fw_tx_frame *frame)
{
	return frame->csum_start <= frame->csum_at && frame->csum_at + 2u <= frame->bytes;
}

/* Whether somebody else may put it in: he knows TCP behind IPv4 and nothing else. */
static inline bool csum_may_leave(const struct fw_tx_frame *frame)
{
	return frame->csum_start > sizeof(struct wire_eth) &&
	       frame->csum_at == frame->csum_start + CSUM_TCP_AT;
}

/* Says of an mbuf, whose headers lie in its first piece, that it was left away. */
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

/* Puts in what was left away. The frame is in one piece; what pads it is zero. */
static inline void csum_finish(struct rte_mbuf *m)
{
	uint32_t start = (uint32_t)m->l2_len + m->l3_len;

	wire_sum_put(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, start, start + CSUM_TCP_AT);
	m->ol_flags &= ~(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_L4_MASK);
}

/* The device's word on a received frame: right, or never made where it came from. */
static inline bool csum_device_ok(const struct rte_mbuf *m)
{
	uint64_t word = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	return word == RTE_MBUF_F_RX_L4_CKSUM_GOOD || word == RTE_MBUF_F_RX_L4_CKSUM_NONE;
}

/*
 * Whether a received frame is a TCP segment that a kernel sent without its checksum, which an
 * interface without hardware carries as it is: the pseudo header's sum stands there. A complete
 * checksum has that value once in 65536 frames, as a wrong one is right.
 */
bool csum_is_partial(const uint8_t *frame, uint32_t bytes);

#endif /* WEFT_APP_CSUM_H */
