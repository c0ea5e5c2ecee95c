/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of a memif: frames out of and into rings that the peer writes to at the same time.
 * Each word of the shared memory is read once and checked (memif_check.h); our own indices, and the
 * places of buffers that we made, are never read back from it. No system call, lock or allocation
 * but of mbufs.
 *
 * The core that owns the port runs all of it, but for memif_ring_format().
 */
#ifndef WEFT_APP_MEMIF_RING_H
#define WEFT_APP_MEMIF_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/memif_check.h"

struct rte_mbuf;
struct rte_mempool;

enum {
	MEMIF_CHAIN_MAX = 16,     /* slots of a frame */
	MEMIF_BURST_SLOTS = 128,  /* looked at in a call, useless ones included */
	MEMIF_PAUSE_NS = 1000000, /* the peer takes nothing for so long: frames are dropped */
};

/* Frames, but where it says slots; a frame that is dropped is counted once. */
struct memif_counts {
	uint64_t rx;
	uint64_t tx;
	uint64_t rx_bad_buffer; /* a descriptor's region, offset or length */
	uint64_t rx_bad_chain;  /* more than MEMIF_CHAIN_MAX slots, or no end */
	uint64_t rx_bad_length; /* longer than the MTU allows, or no Ethernet header */
	uint64_t rx_nombuf;     /* times that the pool was empty */
	uint64_t tx_bad_buffer; /* slots */
	uint64_t tx_no_room;    /* the peer's buffers are too small */
	uint64_t tx_full;       /* the peer takes nothing out of its ring */
	uint64_t bad_index;     /* heads or tails that cannot be: the end of a connection */
	uint64_t bad_memory;    /* a page of a region could not be had: likewise */
};

struct memif_ring {
	struct memif_ring_shared *shared;
	uint32_t slots;
	uint16_t next;    /* the slot that we use next */
	uint16_t filled;  /* client, receiving: up to here the server has buffers */
	uint8_t *buffers; /* client: its own, one per slot */
	int fd;           /* eventfd of whoever receives; -1: none yet */
};

/* A connection, as far as the core uses it. */
struct memif_link {
	bool server;
	bool skips;    /* receiving: in the middle of a frame that was dropped */
	bool unmasked; /* the peer signals what it sends */
	bool broken;   /* the peer's indices or memory cannot be: nothing is read any more */
	bool deaf;     /* signals may get lost: the core looks by itself, too */
	uint32_t num_regions;
	uint32_t buffer_bytes; /* client: of each buffer */
	uint32_t frame_bytes;  /* the largest frame */
	uint64_t full_since_ns;
	struct memif_region region[MEMIF_MAX_REGIONS];
	struct memif_ring rx, tx;
};

/* Bytes of a client's region, and its contents: both rings, a buffer of buffer_bytes per slot. */
uint64_t memif_ring_region_bytes(uint32_t log2_slots, uint32_t buffer_bytes);
void memif_ring_format(struct memif_link *link, uint32_t log2_slots);

/* The other end is connected: the client's empty buffers are the server's from now on. */
void memif_ring_begin(struct memif_link *link);

/* Up to n frames, each in one mbuf of the pool. link->broken may be set. */
uint32_t memif_ring_rx(struct memif_link *link, struct rte_mempool *pool,
		       struct memif_counts *counts, struct rte_mbuf **frames, uint32_t n);
/*
 * Sends the first frames of the array, as many as there is room for, and owns what it took.
 * *signal: the peer sleeps and wants its eventfd signalled. link->broken may be set.
 */
uint32_t memif_ring_tx(struct memif_link *link, struct memif_counts *counts,
		       struct rte_mbuf **frames, uint32_t n, uint64_t now_ns, bool *signal);
/* Whether frames wait. From then until the next memif_ring_rx() the peer signals link->rx.fd. */
bool memif_ring_waiting(struct memif_link *link);

#endif /* WEFT_APP_MEMIF_RING_H */
