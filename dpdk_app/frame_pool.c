/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of a pool of frames, from which cores fill their own caches, and to which they
 * return what is too much: three stacks of chunks, each an array of frames.
 *
 * DPDK's own pools are rings of several producers and consumers. There a core that the kernel
 * preempts between its two steps makes each other core spin until it runs again, and where both
 * have one CPU that takes time slices: tens of milliseconds (docs/security.md, "Stalls"). Here a
 * core takes a chunk off a stack by one compare-and-swap, works on it alone, and pushes it back by
 * another, so a preempted core withholds the chunk in its hands and nothing else. DPDK's lock-free
 * stack withholds less, but has a list element for each frame, in the cache of the core that used
 * it last.
 *
 * A put never fails. Chunks with half of their frames or more ("many") are at most twice as many as
 * all frames fill. Of those with less ("few") there are no more than threads, since a thread that
 * puts or gets fills up or uses up such a chunk, and makes one only where it finds none. Each
 * thread holds one chunk at a time. A chunk for each of these is there. A get fails although frames
 * are left when these lie in chunks that other threads hold.
 *
 * DPDK programmer's guide, "Mempool Library", "Mempool Handlers".
 */
#include "dpdk_app/frame_pool.h"

#include <errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/app.h"
#include "dpdk_app/tsan.h"

enum {
	FRAME_POOL_CHUNK = 391,  /* frames: all that a core's cache returns at once, and the line */
	FRAME_POOL_MANY = 196,   /* two numbers below it fit into a chunk together */
	FRAME_POOL_THREADS = 16, /* within the pool at once, besides those of the EAL */
};

/* A chunk is its finder's alone while it is on no stack. */
struct frame_chunk {
	_Atomic uint32_t next; /* index + 1; 0: the last. Read by cores that lose the race for it */
	_Atomic uint32_t num;  /* read by frame_pool_count() at any time */
	void *frame[FRAME_POOL_CHUNK];
};

/*
 * The head: index + 1 of the first chunk, and a count of changes, so that a chunk which was taken
 * and pushed again between a core's load and its compare-and-swap is not mistaken.
 */
struct frame_stack {
	_Alignas(APP_APART_BYTES) _Atomic uint64_t head;
};

struct frame_pool {
	struct frame_stack many, few, empty; /* chunks by the number of their frames */
	uint32_t num_chunks;
	_Alignas(APP_APART_BYTES) struct frame_chunk chunk[];
};

static inline void frame_stack_push(struct frame_pool *pool, struct frame_stack *stack,
				    struct frame_chunk *chunk)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_relaxed);
	uint64_t first = (uint64_t)(chunk - pool->chunk) + 1, next;

	do {
		atomic_store_explicit(&chunk->next, (uint32_t)head, memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | first;
	} while (!atomic_compare_exchange_weak_explicit(
	    &stack->head, &head, next, memory_order_release, memory_order_relaxed));
}

/* NULL: the stack is empty. */
static inline struct frame_chunk *frame_stack_pop(struct frame_pool *pool,
						  struct frame_stack *stack)
{
	uint64_t head = atomic_load_explicit(&stack->head, memory_order_acquire), next;
	struct frame_chunk *chunk;

	do {
		if (!(uint32_t)head)
			return NULL;
		chunk = &pool->chunk[(uint32_t)head - 1];
		next = ((head >> 32) + 1) << 32 |
		       atomic_load_explicit(&chunk->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
	    &stack->head, &head, next, memory_order_acquire, memory_order_acquire));
	return chunk;
}

/* Puts a chunk on the stack of its number of frames. */
static inline void frame_pool_back(struct frame_pool *pool, struct frame_chunk *chunk, uint32_t num)
{
	struct frame_stack *stack = &pool->few;

	if (num >= FRAME_POOL_MANY)
		stack = &pool->many;
	else if (!num)
		stack = &pool->empty;
	atomic_store_explicit(&chunk->num, num, memory_order_relaxed);
	frame_stack_push(pool, stack, chunk);
}

static int frame_pool_put(struct rte_mempool *mp, void *const *frames, unsigned n)
{
	struct frame_pool *pool = mp->pool_data;

	while (n) {
		struct frame_chunk *chunk = NULL;
		uint32_t num, put;

		if (n < FRAME_POOL_MANY)
			chunk = frame_stack_pop(pool, &pool->few);
		if (!chunk)
			chunk = frame_stack_pop(pool, &pool->empty);
		if (!chunk)
			continue; /* another thread has just used the last one, or put it back */
		num = atomic_load_explicit(&chunk->num, memory_order_relaxed);
		put = RTE_MIN(n, FRAME_POOL_CHUNK - num);
		memcpy(&chunk->frame[num], frames, put * sizeof(frames[0]));
		frame_pool_back(pool, chunk, num + put);
		frames += put;
		n -= put;
	}
	return 0;
}

static int frame_pool_get(struct rte_mempool *mp, void **frames, unsigned n)
{
	struct frame_pool *pool = mp->pool_data;
	unsigned got = 0;

	while (got < n) {
		struct frame_chunk *chunk = frame_stack_pop(pool, &pool->few);
		uint32_t num, take;

		if (!chunk)
			chunk = frame_stack_pop(pool, &pool->many);
		if (!chunk) {
			(void)frame_pool_put(mp, frames, got);
			return -ENOBUFS;
		}
		num = atomic_load_explicit(&chunk->num, memory_order_relaxed);
		take = RTE_MIN(n - got, num);
		memcpy(frames + got, &chunk->frame[num - take], take * sizeof(frames[0]));
		frame_pool_back(pool, chunk, num - take);
		got += take;
	}
	TSAN_ACQUIRE_FRAMES(frames, n);
	return 0;
}

/* Frames in chunks; exact while no core puts or gets. */
static unsigned frame_pool_count(const struct rte_mempool *mp)
{
	const struct frame_pool *pool = mp->pool_data;
	unsigned n = 0;

	for (uint32_t i = 0; i < pool->num_chunks; i++)
		n += atomic_load_explicit(&pool->chunk[i].num, memory_order_relaxed);
	return n;
}

static int frame_pool_alloc(struct rte_mempool *mp)
{
	uint32_t threads = rte_lcore_count() + FRAME_POOL_THREADS;
	uint32_t chunks = mp->size / FRAME_POOL_MANY + 2 * threads;
	struct frame_pool *pool = app_alloc_apart(sizeof(*pool) + chunks * sizeof(pool->chunk[0]));

	if (!pool)
		return -ENOMEM;
	pool->num_chunks = chunks;
	while (chunks--)
		frame_stack_push(pool, &pool->empty, &pool->chunk[chunks]);
	mp->pool_data = pool;
	return 0;
}

static void frame_pool_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static const struct rte_mempool_ops frame_pool_ops = {
    .name = "weft_frames",
    .alloc = frame_pool_alloc,
    .free = frame_pool_free,
    .enqueue = frame_pool_put,
    .dequeue = frame_pool_get,
    .get_count = frame_pool_count,
};

RTE_MEMPOOL_REGISTER_OPS(frame_pool_ops);

struct rte_mempool *frame_pool_new(const char *name, uint32_t frames, uint32_t cache_frames,
				   uint16_t buffer_bytes)
{
	return rte_pktmbuf_pool_create_by_ops(name, frames, cache_frames, 0, buffer_bytes,
					      SOCKET_ID_ANY, frame_pool_ops.name);
}
