/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of frames whose hand-overs between cores ThreadSanitizer sees: a stack under a mutex. In
 * other builds the pool is DPDK's own ring, whose code lies in a library without ThreadSanitizer.
 */
#include "dpdk_app/tsan.h"

#ifdef __SANITIZE_THREAD__

#include <errno.h>
#include <pthread.h>
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
	/* The last of several holders puts a frame back, after all have released it. */
	for (unsigned i = 0; !err && i < n; i++)
		TSAN_ACQUIRE(object[i]);
	return err;
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
