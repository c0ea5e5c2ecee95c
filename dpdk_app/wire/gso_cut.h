/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides TCP frames larger than the MTU into the segments that they represent. A kernel at the
 * other end of a veth, and a weftd there (gso.h), send many segments as one frame.
 *
 * Runs on the owner's core. RFC 9293 3.1; net/ipv4/tcp_offload.c of Linux.
 */
#ifndef WEFT_APP_GSO_CUT_H
#define WEFT_APP_GSO_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/* A frame being divided; all zero: none. */
struct gso_cut {
	struct rte_mbuf *big;         /* the large frame, a chain; NULL: none */
	const struct rte_mbuf *piece; /* segment in which the next payload begins: */
	uint32_t at;                  /* offset in that segment */
	uint32_t left;                /* payload not yet used */
	uint32_t done;                /* payload used */
	uint32_t hdr_bytes;
	uint32_t ip_bytes; /* of hdr_bytes */
	uint32_t each;     /* payload per segment */
};

/*
 * Starts with a frame, a chain whose first segment has all headers, and takes ownership. mtu: of
 * the segments, including the IP header. Returns false if it is not a complete, correct TCP segment
 * over IPv4; the caller keeps the chain.
 */
bool gso_cut_begin(struct gso_cut *cut, struct rte_mbuf *big, uint32_t mtu);
/*
 * Returns the next segment, allocated from the pool and marked as having a correct checksum; NULL:
 * the pool is empty. A frame must be in progress.
 */
struct rte_mbuf *gso_cut_next(struct gso_cut *cut, struct rte_mempool *pool);
/* Drops the rest. */
void gso_cut_end(struct gso_cut *cut);

#endif /* WEFT_APP_GSO_CUT_H */
