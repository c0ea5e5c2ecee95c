/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AF_XDP sockets of one interface: one socket per receive queue, over the NIC's own mbuf pool.
 * DPDK's net_af_xdp cycles through thousands of buffers, so each small frame meets cold memory at
 * both ends. Here the kernel holds only as many buffers as the traffic needs, and they are reused
 * while still in the cache.
 *
 * Calls the kernel and xdp.c.
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
 * in the program's map. large_mtu: frames of many segments are accepted, if the kernel supports it
 * or they fit a buffer, and divided for this MTU; 0: they are not divided. NULL with errno on
 * failure. No core may use it yet.
 */
struct xsk *xsk_open(int ifindex, uint32_t queues, struct rte_mempool *pool, uint32_t large_mtu,
		     struct xdp *xdp);
/* Closes the sockets. Buffers held by the kernel are lost for the lifetime of the pool. */
void xsk_close(struct xsk *xsk);

/* Receives up to n frames of a queue. On the owner's core. */
uint32_t xsk_rx(struct xsk *xsk, uint32_t queue, struct rte_mbuf **frames, uint32_t n);
/*
 * Sends as many of the first frames as there is room for, and takes ownership of them. The frames
 * must be of the pool and in one segment each. On the owner's core.
 */
uint32_t xsk_tx(struct xsk *xsk, struct rte_mbuf **frames, uint32_t n);

/*
 * Returns true if the kernel copies sent frames, so that all have reached the stack when xsk_tx()
 * returns.
 */
bool xsk_copies(const struct xsk *xsk);

/* Returns a queue's descriptor, readable when frames wait. */
int xsk_fd(const struct xsk *xsk, uint32_t queue);

/* Counters of one queue; the kernel's own have its names (struct xdp_statistics). */
struct xsk_stats {
	uint64_t rx;           /* frames */
	uint64_t tx;           /* frames */
	uint64_t no_mbuf;      /* number of times that the pool was empty */
	uint64_t rx_dropped;   /* frames: the fill ring was empty, or the buffer too small */
	uint64_t rx_ring_full; /* frames */
	/* Number of times that the device or the kernel found no buffer. */
	uint64_t rx_fill_ring_empty;
	uint64_t rx_invalid_descs; /* descriptors that the kernel rejected */
	uint64_t tx_invalid_descs;
	uint64_t tx_ring_empty; /* number of times that the kernel found nothing to send */
	uint64_t rx_large;      /* frames beyond the MTU that were divided */
	uint64_t rx_large_bad;  /* those that are neither valid TCP segments nor datagrams */
	bool zero_copy;
};

uint32_t xsk_num_queues(const struct xsk *xsk);
/* On the owner's core. */
void xsk_stats(const struct xsk *xsk, uint32_t queue, struct xsk_stats *stats);

#endif /* WEFT_APP_XSK_H */
