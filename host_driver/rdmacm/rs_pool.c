/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of streams that have ended, kept registered for those to come: a server that takes many
 * short connections registers new memory for none of them.
 *
 * A block has a receive ring and a send buffer. Its registration allows local access; the ring has
 * another one, with a new STag for each connection, so that an earlier peer cannot write into it.
 * The ring is wiped before it is kept: a peer may report bytes that it has not written, and must
 * not get at those of an earlier connection. Calls libibverbs.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/rdmacm/rs.h"

enum {
	POOL_BLOCKS = 16, /* 16 MiB of blocks of the usual size */
};

static struct {
	pthread_mutex_t lock;
	struct rs_block block[POOL_BLOCKS];
	uint32_t count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool fits(const struct rs_block *b, const struct ibv_pd *pd, size_t ring_bytes,
		 size_t buf_bytes)
{
	return b->mr->pd == pd && b->ring_bytes == ring_bytes && b->buf_bytes == buf_bytes;
}

static bool pool_find(struct ibv_pd *pd, size_t ring_bytes, size_t buf_bytes, struct rs_block *b)
{
	bool found = false;

	pthread_mutex_lock(&pool.lock);
	for (uint32_t i = pool.count; i-- > 0 && !found;) {
		found = fits(&pool.block[i], pd, ring_bytes, buf_bytes);
		if (found) {
			*b = pool.block[i];
			pool.block[i] = pool.block[--pool.count];
		}
	}
	pthread_mutex_unlock(&pool.lock);
	return found;
}

int rs_block_get(struct ibv_pd *pd, size_t ring_bytes, size_t buf_bytes, struct rs_block *b)
{
	void *p;
	int err;

	if (pool_find(pd, ring_bytes, buf_bytes, b))
		return 0;
	p = mmap(NULL, ring_bytes + buf_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	b->mr = ibv_reg_mr(pd, p, ring_bytes + buf_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!b->mr) {
		err = errno ? errno : ENOMEM;
		(void)munmap(p, ring_bytes + buf_bytes);
		return -err;
	}
	b->ring = p;
	b->buf = b->ring + ring_bytes;
	b->ring_bytes = ring_bytes;
	b->buf_bytes = buf_bytes;
	return 0;
}

static void block_free(const struct rs_block *b)
{
	(void)ibv_dereg_mr(b->mr);
	(void)munmap(b->ring, b->ring_bytes + b->buf_bytes);
}

void rs_block_put(const struct rs_block *b)
{
	bool keep;

	if (!b->mr)
		return;
	memset(b->ring, 0, b->ring_bytes);
	pthread_mutex_lock(&pool.lock);
	keep = pool.count < POOL_BLOCKS;
	if (keep)
		pool.block[pool.count++] = *b;
	pthread_mutex_unlock(&pool.lock);
	if (!keep)
		block_free(b);
}

/* The memory in a child of fork is a copy, whose registrations are the parent's. */
void rs_pool_forked(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool.count = 0;
}
