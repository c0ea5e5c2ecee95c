/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that are lent to queue pairs while they have requests (HW_QP_F_LENT).
 *
 * A process may have thousands of queue pairs and use few at a time. A queue that is empty needs no
 * ring, and no records of its requests. So a context has rings in stock, by size: a queue takes one
 * with its first request, and keeps it until it is empty and another queue needs one. There is room
 * for a ring for each queue, so that posting never fails for lack of one, but room that was never
 * used has no memory.
 *
 * Not of tagged endpoints, nor of queues beyond HW_RING_MAX_BYTES: those have rings of their own.
 * docs/host-interface.md, "Lent rings".
 */
#ifndef WEFT_RING_H
#define WEFT_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_ctx;
struct weft_qp_obj;
struct weft_ring;
struct weft_ring_room;

enum {
	WEFT_RING_SIZES = 6, /* powers of two, HW_RING_MIN_BYTES to HW_RING_MAX_BYTES */
};

/* The rings of one size. */
struct weft_rings {
	uint32_t num;      /* that there is room for */
	uint32_t promised; /* queues that may need one; at most num */
	uint32_t used;     /* that were taken at least once: they have memory */
	struct weft_ring *free;
	struct weft_ring *first, *last; /* those of queues, the longest taken first */
	struct weft_ring_room *rooms;
};

struct weft_ring_stock {
	pthread_mutex_t
	    lock;  /* after sq->lock and rq->lock; nothing but a try of others under it */
	bool none; /* the NIC knows no such rings; atomic */
	struct weft_rings size[WEFT_RING_SIZES];
};

void weft_ring_init(struct weft_ctx *ctx);
/* All queue pairs are gone. */
void weft_ring_end(struct weft_ctx *ctx);

/*
 * Before a queue pair is made: promises rings of these sizes, 0: no such queue. Returns false if it
 * must have rings of its own.
 */
bool weft_ring_promise(struct weft_ctx *ctx, uint32_t sq_bytes, uint32_t rq_bytes);

/* The queue is empty and has no ring: takes one. Under sq->lock, rq->lock. */
void weft_ring_take_sq(struct weft_qp_obj *qp);
void weft_ring_take_rq(struct weft_qp_obj *qp);
/* The queue pair is gone for the NIC and for its CQs: gives back rings and promises. */
void weft_ring_leave(struct weft_qp_obj *qp);

#endif /* WEFT_RING_H */
