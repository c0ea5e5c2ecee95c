/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP frames larger than the MTU cut into the segments that they stand for: a kernel on the other
 * end of a veth, and a weftd there (gso.h), hand over many as one.
 *
 * Called by xsk.c on the owner's core. RFC 9293 3.1; Linux: net/ipv4/tcp_offload.c.
 */
#ifndef WEFT_APP_GSO_CUT_H
#define WEFT_APP_GSO_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* A frame that is being cut; zero: none. */
struct gso_cut {
	struct rte_mbuf *big;         /* what is cut, a chain; NULL: nothing */
	const struct rte_mbuf *piece; /* where the next segment's payload begins: */
	uint32_t at;                  /* offset in that piece */
	uint32_t left;                /* payload that is not cut yet */
	uint32_t done;                /* payload that is */
	uint32_t hdr_bytes;
	uint32_t ip_bytes; /* of hdr_bytes */
	uint32_t each;     /* payload of a segment */
};

/*
 * Begins with a frame, a chain whose first piece has all headers, and owns it. mtu: of the
 * segments, IP header and all. False: it is no whole, right TCP segment over IPv4, and the chain is
 * the caller's still.
 */
bool gso_cut_begin(struct gso_cut *cut, struct rte_mbuf *big, uint32_t mtu);
/* The next segment, of the pool, marked as having a right checksum; NULL: the pool is empty. Not
 * when nothing is being cut. */
struct rte_mbuf *gso_cut_next(struct gso_cut *cut, struct rte_mempool *pool);
/* What is left is dropped. */
void gso_cut_end(struct gso_cut *cut);

#endif /* WEFT_APP_GSO_CUT_H */
