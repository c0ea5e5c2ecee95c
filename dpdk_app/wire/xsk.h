/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AF_XDP sockets of one interface: a socket per receive queue, over the NIC's own pool of
 * mbufs. DPDK's net_af_xdp does the same with thousands of buffers in turn, so that each
 * small frame meets cold memory at both ends; here the buffers that the kernel may fill are as few
 * as the traffic allows, and come round while they are still in the cache.
 *
 * Called by wire_netdev.c (open, close) and wire_ethdev.c (frames, counters); calls the kernel and
 * xdp.c.
 */
#ifndef WEFT_APP_XSK_H
#define WEFT_APP_XSK_H

#include <stdbool.h>
#include <stdint.h>

struct hw_stat;
struct rte_mbuf;
struct rte_mempool;
struct xdp;
struct xsk;

enum {
	XSK_MAX_QUEUES = 32,
};

/*
 * Opens a socket for each of the interface's queues, over all buffers of the pool, and enters them
 * in the program's map. large_mtu: TCP frames beyond a buffer's size are taken, where the kernel
 * can, and cut to this MTU; 0: they are dropped. NULL: errno says why. Not while a core uses it.
 */
struct xsk *xsk_open(int ifindex, uint32_t queues, struct rte_mempool *pool, uint32_t large_mtu,
		     struct xdp *xdp);
/* Closes the sockets; buffers that the kernel has are gone for as long as the pool lives. */
void xsk_close(struct xsk *xsk);

/* Up to n frames of a queue. On the owner's core. */
uint32_t xsk_rx(struct xsk *xsk, uint32_t queue, struct rte_mbuf **frames, uint32_t n);
/*
 * Sends the first frames of the array, of the pool and in one piece each, as many as there is room
 * for, and owns what it took. On the owner's core.
 */
uint32_t xsk_tx(struct xsk *xsk, struct rte_mbuf **frames, uint32_t n);

/* Whether the kernel copies what is sent, so that all is with the stack when xsk_tx() returns. */
bool xsk_copies(const struct xsk *xsk);

/* A queue's descriptor: readable when frames wait. */
int xsk_fd(const struct xsk *xsk, uint32_t queue);

/* Of one queue; what the kernel counts has its names (struct xdp_statistics). */
struct xsk_stats {
	uint64_t rx;                 /* frames */
	uint64_t tx;                 /* frames */
	uint64_t no_mbuf;            /* times that the pool was empty */
	uint64_t rx_dropped;         /* frames: no buffer in the fill ring, or one too small */
	uint64_t rx_ring_full;       /* frames */
	uint64_t rx_fill_ring_empty; /* times that the device, or the kernel, wanted a buffer */
	uint64_t rx_invalid_descs;   /* that the kernel refused */
	uint64_t tx_invalid_descs;
	uint64_t tx_ring_empty; /* times that the kernel found nothing to send */
	uint64_t rx_large;      /* TCP frames beyond the MTU, which were cut */
	uint64_t rx_large_bad;  /* large frames that are no TCP segment, or a wrong one */
	bool zero_copy;
};

uint32_t xsk_num_queues(const struct xsk *xsk);
/* On the owner's core. */
void xsk_stats(const struct xsk *xsk, uint32_t queue, struct xsk_stats *stats);

#endif /* WEFT_APP_XSK_H */
