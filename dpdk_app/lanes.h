/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: frames on their way to one core, in one ring for each core that sends to it.
 *
 * A ring has one producer and one consumer, so a put and a take are plain stores and loads: no
 * atomic operation, no lock, no waiting for a producer that the kernel has preempted. Of a ring's
 * lines the producer writes its slots and its tail, the consumer the other tail; a line is never
 * written by two. The order of one sender's frames is kept. docs/scaling.md has the cost.
 */
#ifndef WEFT_APP_LANES_H
#define WEFT_APP_LANES_H

#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"
#include "dpdk_app/rings.h"

struct rte_mbuf;

enum {
	LANES_FRAMES = 1024,      /* frames that may wait in all lanes of a shard together */
	LANES_LEAST_FRAMES = 128, /* in each of them at least */
};

struct lanes {
	struct rte_ring *from[CONF_MAX_CORES]; /* by number of the sending core; NULL: none */
	struct rte_ring *ring[CONF_MAX_CORES]; /* the same without gaps */
	uint32_t num;
};

/* Returns the slots of each lane, a power of two of which one stays empty. */
uint32_t lanes_slots(uint32_t senders);

/*
 * Creates a lane for each sending core, a bit each by its number. Returns 0 or -ENOMEM;
 * lanes_free() frees what was created. Before the cores run.
 */
int lanes_init(struct lanes *lanes, uint64_t cores) __attribute__((warn_unused_result));

/* Frees the lanes and the frames in them. No core runs any more. */
void lanes_free(struct lanes *lanes);

/* Passes the first frames on, as many as fit; returns their number. On the sending core. */
static inline uint32_t lanes_put(const struct lanes *lanes, uint32_t core, struct rte_mbuf **frames,
				 uint32_t n)
{
	return rte_ring_sp_enqueue_burst(lanes->from[core], (void *const *)frames, n, NULL);
}

/*
 * Takes up to n frames. *next is the lane to look at first: after a lane that filled the burst come
 * the others. On the receiving core.
 */
static inline uint32_t lanes_take(const struct lanes *lanes, uint32_t *next,
				  struct rte_mbuf **frames, uint32_t n)
{
	uint32_t at = *next, got = 0;

	for (uint32_t i = 0; i < lanes->num && got < n; i++) {
		got += rte_ring_sc_dequeue_burst(lanes->ring[at], (void **)(frames + got), n - got,
						 NULL);
		at = at + 1 == lanes->num ? 0 : at + 1;
	}
	*next = at;
	return got;
}

/* Returns true if frames wait. On the receiving core. */
static inline bool lanes_waiting(const struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->num; i++) {
		if (rings_waiting(lanes->ring[i]))
			return true;
	}
	return false;
}

#endif /* WEFT_APP_LANES_H */
