/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of a shared receive queue that is refilled at a low watermark, as MVAPICH does it (Sur,
 * Koop, Panda, OSU-CISRC-5/06-TR51, section 2.2.2): also the example that docs/memory.md leads
 * through. It uses nothing of weft-bench but fail().
 *
 * A program that keeps messages for a while does not know how many receives it needs. It starts
 * with a few; when fewer than limit wait, the NIC raises WEFT_EVENT_SRQ_LIMIT, and a thread posts
 * what lies idle or, where nothing does, buffers that it allocates. So memory follows what is held
 * at once, not the number of peers. A sender that finds no receive meanwhile is held back by the
 * NIC (RNR) and loses nothing.
 *
 * One thread calls all of this but srq_pool_open() and _close(); the pool's own works beside it.
 */
#ifndef WEFT_BENCH_SRQ_POOL_H
#define WEFT_BENCH_SRQ_POOL_H

#include <pthread.h>

#include "host_driver/weft.h"

enum {
	SRQ_POOL_MAX = 8192,  /* buffers */
	SRQ_POOL_CHUNK = 128, /* allocated at a time */
	SRQ_POOL_CHUNKS = SRQ_POOL_MAX / SRQ_POOL_CHUNK,
};

struct srq_pool {
	struct weft_pd *pd;
	struct weft_srq *srq; /* for weft_qp_init_attr */
	uint32_t buffer_bytes;
	uint32_t target; /* so many receives wait when all is quiet */
	uint32_t limit;  /* the low watermark */
	int stop_fd;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* of all below */
	uint32_t posted;
	uint32_t num_buffers;
	uint32_t num_chunks;
	uint32_t num_idle;
	uint32_t events; /* of the low watermark */
	uint32_t failed; /* refills that did not succeed */
	uint32_t idle[SRQ_POOL_MAX];
	uint8_t *chunk[SRQ_POOL_CHUNKS];
	struct weft_mr *mr[SRQ_POOL_CHUNKS];
};

/*
 * Makes the queue with target receives of buffer_bytes each; limit is below target. pool->pd's
 * context gives its asynchronous events to the pool: others are acknowledged and forgotten. 0 or -1
 * after saying why.
 */
int srq_pool_open(struct srq_pool *pool, struct weft_pd *pd, uint32_t target, uint32_t limit,
		  uint32_t buffer_bytes);

/* Ends the thread. Memory goes with it, so the context is closed before: its pointers are not used.
 */
void srq_pool_close(struct srq_pool *pool);
/* Ends the thread alone, which must be before the context is closed. */
void srq_pool_stop(struct srq_pool *pool);

/* The buffer of a completion, by its wr_id. */
uint8_t *srq_pool_at(const struct srq_pool *pool, uint64_t wr_id);

/* Tells that count receives completed. */
void srq_pool_taken(struct srq_pool *pool, uint32_t count);

/* A buffer is not needed any more: it waits for the next message, or lies idle. 0 or -1. */
int srq_pool_give(struct srq_pool *pool, uint64_t wr_id);

#endif /* WEFT_BENCH_SRQ_POOL_H */
