/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of messages between the control thread, other weftd threads and cores: several producers
 * and one consumer. Frames have lanes.h.
 */
#ifndef WEFT_APP_RINGS_H
#define WEFT_APP_RINGS_H

#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

/* Creates a ring; NULL: out of memory. Control thread. */
struct rte_ring *rings_new(const char *name, uint32_t entries);

/* Puts a message in. Returns false if the ring is full. Any thread. */
bool rings_put(struct rte_ring *ring, void *message);

/* Takes the oldest message; NULL: there is none. The consumer. */
static inline void *rings_take(struct rte_ring *ring)
{
	void *message;

	return rte_ring_sc_dequeue(ring, &message) ? NULL : message;
}

/*
 * Returns true if messages, or frames of a lane, wait. The consumer. Unlike rte_ring_empty() it
 * reads what the producer writes by an atomic operation.
 */
static inline bool rings_waiting(const struct rte_ring *ring)
{
	return __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE) != ring->cons.tail;
}

#endif /* WEFT_APP_RINGS_H */
