/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides frames larger than the MTU into the TCP segments or datagrams that they represent. A
 * kernel at the other end of a veth, and a weftd there (gso.h), send many segments as one frame.
 *
 * TCP's segments are as long as the MTU permits. Those of a run of datagrams have the length in its
 * UDP header (gso_run.h); a frame with one datagram longer than the MTU is refused.
 *
 * Runs on the owner's core. RFC 9293 3.1, RFC 768; net/ipv4/tcp_offload.c of Linux.
 */
#ifndef WEFT_APP_GSO_CUT_H
#define WEFT_APP_GSO_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

struct rte_mbuf;
struct rte_mempool;

enum {
	/* Datagrams in a frame. Linux makes no more, and each costs the receiver a buffer. */
	GSO_CUT_MAX = 128,
	GSO_CUT_HDR_MAX = sizeof(struct wire_eth) + 60 + sizeof(struct wire_udp),
};

/* Where the headers of a large frame end, and what it is to be divided into. */
struct gso_layout {
	uint32_t ip_bytes;
	uint32_t hdr_bytes; /* all headers */
	uint32_t payload;   /* payload of all segments */
	uint32_t each;      /* payload of each segment but the last */
	bool udp;
};

/*
 * Reads the layout from the first bytes of a frame of frame_bytes. mtu: of the segments, including
 * the IP header. Returns false if it is not a TCP segment or a run of datagrams over IPv4 with all
 * of its headers in these bytes. Checksums are not looked at.
 */
bool gso_layout(struct gso_layout *layout, const uint8_t *frame, uint32_t bytes,
		uint32_t frame_bytes, uint32_t mtu);
/*
 * Converts the headers at hdr, copies of the large frame's, to those of the segment whose payload
 * of bytes begins at done.
 */
void gso_mend(const struct gso_layout *layout, uint8_t *hdr, uint32_t done, uint32_t bytes);

/* A frame being divided; all zero: none. */
struct gso_cut {
	struct rte_mbuf *big;         /* the large frame, a chain; NULL: none */
	const struct rte_mbuf *piece; /* segment in which the next payload begins: */
	uint32_t at;                  /* offset in that segment */
	uint32_t done;                /* payload used */
	struct gso_layout layout;
	/* Headers of a datagram of full length, which are all alike. */
	uint8_t hdr[GSO_CUT_HDR_MAX];
};

/*
 * Starts with a frame, a chain whose first segment has all headers, and takes ownership. mtu: of
 * the segments, including the IP header. Returns false if it is not a complete TCP segment with a
 * correct checksum, or run of datagrams, over IPv4; the caller keeps the chain.
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
