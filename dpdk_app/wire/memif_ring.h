/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of a memif: receives and sends frames through rings that the peer may write at the
 * same time. Each word of shared memory is read once and checked (memif_check.h). Our own indices
 * and the addresses of our own buffers are never read back from it. No system calls, locks or
 * allocations except for mbufs.
 *
 * Everything runs on the core that owns the port, except memif_ring_format().
 */
#ifndef WEFT_APP_MEMIF_RING_H
#define WEFT_APP_MEMIF_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/memif_check.h"

struct rte_mbuf;
struct rte_mempool;

enum {
	MEMIF_CHAIN_MAX = 16,    /* slots per frame */
	MEMIF_BURST_SLOTS = 128, /* slots examined per call, including invalid ones */
	/* If the peer accepts nothing for this time, frames are dropped. */
	MEMIF_PAUSE_NS = 1000000,
};

/* Counts frames unless stated otherwise; a dropped frame is counted once. */
struct memif_counts {
	uint64_t rx;
	uint64_t tx;
	uint64_t rx_bad_buffer; /* invalid region, offset or length in a descriptor */
	uint64_t rx_bad_chain;  /* more than MEMIF_CHAIN_MAX slots, or unterminated */
	/* Longer than the MTU permits, or shorter than an Ethernet header. */
	uint64_t rx_bad_length;
	uint64_t rx_nombuf;     /* number of times that the pool was empty */
	uint64_t tx_bad_buffer; /* slots */
	uint64_t tx_no_room;    /* the peer's buffers are too small */
	uint64_t tx_full;       /* the peer does not drain its ring */
	uint64_t bad_index;     /* invalid heads or tails: end of the connection */
	uint64_t bad_memory;    /* unavailable page of a region: end of the connection */
};

struct memif_ring {
	struct memif_ring_shared *shared;
	uint32_t slots;
	uint16_t next;    /* the next slot to use */
	uint16_t filled;  /* client, receive ring: the server has buffers up to this slot */
	uint8_t *buffers; /* client: its own buffers, one per slot */
	int fd;           /* the receiver's eventfd; -1: none yet */
};

/* A connection, as used by the core. */
struct memif_link {
	bool server;
	bool skips;    /* receiving: within a dropped frame */
	bool unmasked; /* the peer signals its frames */
	bool broken;   /* the peer's indices or memory are invalid: no further access */
	bool deaf;     /* signals may be lost: the core also polls */
	uint32_t num_regions;
	uint32_t buffer_bytes; /* client: size of each buffer */
	uint32_t frame_bytes;  /* size of the largest frame */
	uint64_t full_since_ns;
	struct memif_region region[MEMIF_MAX_REGIONS];
	struct memif_ring rx, tx;
};

/*
 * Returns the size of a client's region; formats it with both rings and a buffer of buffer_bytes
 * per slot.
 */
uint64_t memif_ring_region_bytes(uint32_t log2_slots, uint32_t buffer_bytes);
void memif_ring_format(struct memif_link *link, uint32_t log2_slots);

/* Called when the other end is connected: gives a client's empty buffers to the server. */
void memif_ring_begin(struct memif_link *link);

/* Receives up to n frames, each into one mbuf of the pool. May set link->broken. */
uint32_t memif_ring_rx(struct memif_link *link, struct rte_mempool *pool,
		       struct memif_counts *counts, struct rte_mbuf **frames, uint32_t n);
/*
 * Sends as many of the first frames as there is room for, and takes ownership of them. *signal: the
 * peer sleeps and needs a signal. May set link->broken.
 */
uint32_t memif_ring_tx(struct memif_link *link, struct memif_counts *counts,
		       struct rte_mbuf **frames, uint32_t n, uint64_t now_ns, bool *signal);
/*
 * Returns true if frames are waiting. From then until the next memif_ring_rx() the peer signals
 * link->rx.fd.
 */
bool memif_ring_waiting(struct memif_link *link);

#endif /* WEFT_APP_MEMIF_RING_H */
