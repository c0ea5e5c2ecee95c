/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments of one TCP flow, and datagrams of one RD session, as the firmware sends them, in mbufs
 * of a small pool, for the tests of gso_run.c, gso_cut.c, large.c and wire_runs.c.
 */
#ifndef WEFT_TESTS_GSO_SEG_H
#define WEFT_TESTS_GSO_SEG_H

#include <rte_mbuf.h>

#include "dpdk_app/wire/gso_run.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_tcp.h"

enum {
	SEG_POOL = 256,
	SEG_ROOM = 4096,
	SEG_OPT_BYTES = 12,
	SEG_HDR_BYTES = GSO_L4_AT + sizeof(struct wire_tcp) + SEG_OPT_BYTES,
	SEG_MTU = 1500,
	SEG_MSS = SEG_MTU - (SEG_HDR_BYTES - sizeof(struct wire_eth)),
	SEG_UDP_HDR_BYTES = GSO_L4_AT + sizeof(struct wire_udp),
	SEG_DGRAM = SEG_MTU - sizeof(struct wire_ip) - sizeof(struct wire_udp),
};

/* The pool, made at the first call; name: the test's. */
struct rte_mempool *seg_pool(const char *name);
/* A segment without checksum, its bytes a pattern of their sequence numbers. */
struct rte_mbuf *seg_make(struct rte_mempool *pool, uint32_t seq, uint32_t payload, uint8_t flags);
struct wire_tcp *seg_tcp(struct rte_mbuf *m);
/*
 * A datagram of RD with so many bytes behind its UDP header, a pattern of psn; flags:
 * WIRE_DGRAM_F_*.
 */
struct rte_mbuf *seg_dgram(struct rte_mempool *pool, uint32_t psn, uint32_t bytes, uint8_t flags);
struct wire_udp *seg_udp(struct rte_mbuf *m);
struct wire_dgram *seg_dgram_hdr(struct rte_mbuf *m);

#endif /* WEFT_TESTS_GSO_SEG_H */
