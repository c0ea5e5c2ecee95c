/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of frames whose hand-overs between cores ThreadSanitizer sees: a stack under a mutex. In
 * other builds the pool is DPDK's own ring, whose code lies in a library without ThreadSanitizer.
 *
 * A frame may have several holders (group frames, copies of the loop, duplicates), each of which
 * drops a reference and reads the frame no more. A drop is an atomic decrement with release and
 * acquire of the frame's count, except that a holder that reads 1 knows that it is the last: DPDK
 * reads relaxed there, since all that it does next is a store that depends on the value and is
 * itself released. ThreadSanitizer knows of no such dependency. So a frame's next user acquires,
 * when it gets the frame, what the earlier holders released with their decrements.
 *
 * That hides no race. The last holder puts the frame only after it has read the value that the
 * others' decrements left, and the next user gets it only after that put: everything that a holder
 * did before its drop is done before the get, in every run. What it does after its drop is not
 * released by it, so an access too late is reported still; so are accesses of two holders at once,
 * of which neither gets the frame. An increment releases as well: it comes before the drop of the
 * reference that it makes. Code that relies on reading 1 and uses the frame again without the pool
 * (echo.c), and the decrements in DPDK's drivers, are not covered: they may be reported wrongly.
 */
#include "dpdk_app/tsan.h"

#ifdef __SANITIZE_THREAD__

#include <errno.h>
#include <pthread.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>

const char tsan_pool_name[] = "weft_tsan";

struct tsan_pool {
	pthread_mutex_t lock;
	unsigned num;
	void *object[];
};

static int tsan_pool_alloc(struct rte_mempool *mp)
{
	struct tsan_pool *pool = calloc(1, sizeof(*pool) + mp->size * sizeof(pool->object[0]));

	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	mp->pool_data = pool;
	return 0;
}

static void tsan_pool_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int tsan_pool_put(struct rte_mempool *mp, void *const *object, unsigned n)
{
	struct tsan_pool *pool = mp->pool_data;

	pthread_mutex_lock(&pool->lock);
	memcpy(&pool->object[pool->num], object, n * sizeof(object[0]));
	pool->num += n;
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

static int tsan_pool_get(struct rte_mempool *mp, void **object, unsigned n)
{
	struct tsan_pool *pool = mp->pool_data;
	int err = -ENOBUFS;

	pthread_mutex_lock(&pool->lock);
	if (pool->num >= n) {
		pool->num -= n;
		memcpy(object, &pool->object[pool->num], n * sizeof(object[0]));
		err = 0;
	}
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; !err && i < n; i++)
		TSAN_ACQUIRE(&((struct rte_mbuf *)object[i])->refcnt);
	return err;
}

/*
 * DPDK's, in the place of the one in its library, where ThreadSanitizer does not see the decrement.
 * Its drivers call this one, too.
 */
void rte_pktmbuf_free_bulk(struct rte_mbuf **frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(frames[i]);
}

static unsigned tsan_pool_count(const struct rte_mempool *mp)
{
	const struct tsan_pool *pool = mp->pool_data;

	return pool->num;
}

static const struct rte_mempool_ops tsan_pool_ops = {
    .name = "weft_tsan",
    .alloc = tsan_pool_alloc,
    .free = tsan_pool_free,
    .enqueue = tsan_pool_put,
    .dequeue = tsan_pool_get,
    .get_count = tsan_pool_count,
};

RTE_MEMPOOL_REGISTER_OPS(tsan_pool_ops);

#endif
