/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of a shared receive queue that is refilled at a low watermark, as in the MVAPICH study,
 * section 2.2.2; also the example of docs/memory.md. It uses nothing of weft-bench but fail().
 *
 * A program that keeps messages for a while does not know how many receives it needs. It starts
 * with a few. When fewer than limit wait, the NIC raises WEFT_EVENT_SRQ_LIMIT, and a thread posts
 * idle buffers or, if there are none, newly allocated ones. So memory follows the messages held at
 * once, not the number of peers. Meanwhile the NIC holds back a sender without a receive (RNR), and
 * no message is lost.
 *
 * One thread makes all calls but srq_pool_open() and _close(); the pool's own thread runs beside
 * it.
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
	uint32_t target; /* number of receives that wait when idle */
	uint32_t limit;  /* the low watermark */
	int stop_fd;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* protects all fields below */
	uint32_t posted;
	uint32_t num_buffers;
	uint32_t num_chunks;
	uint32_t num_idle;
	uint32_t events; /* events of the low watermark */
	uint32_t failed; /* refills that failed */
	uint32_t idle[SRQ_POOL_MAX];
	uint8_t *chunk[SRQ_POOL_CHUNKS];
	struct weft_mr *mr[SRQ_POOL_CHUNKS];
};

/*
 * Makes the queue with target receives of buffer_bytes each; limit is below target. pool->pd's
 * context gives its asynchronous events to the pool: others are acknowledged and dropped. 0 or -1
 * after an error message.
 */
int srq_pool_open(struct srq_pool *pool, struct weft_pd *pd, uint32_t target, uint32_t limit,
		  uint32_t buffer_bytes);

/* Ends the thread and frees the memory. The context is closed before; its objects are not used. */
void srq_pool_close(struct srq_pool *pool);
/* Ends only the thread, which must happen before the context is closed. */
void srq_pool_stop(struct srq_pool *pool);

/* The buffer of a completion, by its wr_id. */
uint8_t *srq_pool_at(const struct srq_pool *pool, uint64_t wr_id);

/* Reports that count receives completed. */
void srq_pool_taken(struct srq_pool *pool, uint32_t count);

/* Returns a buffer: it waits for the next message, or is idle. 0 or -1. */
int srq_pool_give(struct srq_pool *pool, uint64_t wr_id);

#endif /* WEFT_BENCH_SRQ_POOL_H */
