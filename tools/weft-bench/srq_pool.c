/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared receive queue with a low watermark; see srq_pool.h. Calls libweft.
 */
#include "tools/weft-bench/srq_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/weft-bench/bench.h"

uint8_t *srq_pool_at(const struct srq_pool *pool, uint64_t wr_id)
{
	return pool->chunk[wr_id / SRQ_POOL_CHUNK] +
	       wr_id % SRQ_POOL_CHUNK * (size_t)pool->buffer_bytes;
}

/* Under the lock. */
static int post(struct srq_pool *pool, uint32_t index)
{
	struct weft_sge sge = {(uintptr_t)srq_pool_at(pool, index), pool->buffer_bytes,
			       pool->mr[index / SRQ_POOL_CHUNK]->lkey};
	struct weft_recv_wr wr = {.wr_id = index, .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_srq_recv(pool->srq, &wr, NULL);

	if (!rc)
		pool->posted++;
	return rc ? fail("posting to the shared receive queue: %s", strerror(-rc)) : 0;
}

/* Allocates new buffers, idle for now. Under the lock. */
static int grow(struct srq_pool *pool)
{
	size_t bytes = SRQ_POOL_CHUNK * (size_t)pool->buffer_bytes;
	uint32_t n = pool->num_chunks;

	if (n == SRQ_POOL_CHUNKS)
		return fail("%d receives are not enough", SRQ_POOL_MAX);
	pool->chunk[n] = weft_alloc(pool->pd->context, bytes);
	if (!pool->chunk[n])
		return fail("no memory for receives: %s", strerror(errno));
	pool->mr[n] = weft_reg_mr(pool->pd, pool->chunk[n], bytes, WEFT_ACCESS_LOCAL_WRITE);
	if (!pool->mr[n]) {
		fail("cannot register receives: %s", strerror(errno));
		weft_free(pool->chunk[n], bytes);
		return -1;
	}
	for (uint32_t i = 0; i < SRQ_POOL_CHUNK; i++)
		pool->idle[pool->num_idle++] = pool->num_buffers++;
	pool->num_chunks++;
	return 0;
}

/* Posts that many more. Under the lock. */
static int fill(struct srq_pool *pool, uint32_t count)
{
	while (count--) {
		if (!pool->num_idle && grow(pool))
			return -1;
		if (post(pool, pool->idle[pool->num_idle - 1]))
			return -1;
		pool->num_idle--;
	}
	return 0;
}

/* The NIC raises the event once: it is armed again after each. */
static int arm(struct srq_pool *pool)
{
	struct weft_srq_attr attr = {.limit = pool->limit};
	int rc = weft_modify_srq(pool->srq, &attr, WEFT_SRQ_LIMIT);

	return rc ? fail("setting the low watermark: %s", strerror(-rc)) : 0;
}

static void on_limit(struct srq_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->events++;
	/*
	 * By our own count it is not filled up to target: messages that have arrived and were not
	 * polled are still in it.
	 */
	if (fill(pool, pool->target - pool->limit) || arm(pool))
		pool->failed++;
	pthread_mutex_unlock(&pool->lock);
}

static void *refill_main(void *arg)
{
	struct srq_pool *pool = arg;
	struct weft_context *context = pool->pd->context;
	struct pollfd p[2] = {{.fd = pool->stop_fd, .events = POLLIN},
			      {.fd = context->async_fd, .events = POLLIN}};
	struct weft_async_event event;
	int rc;

	while (!p[0].revents) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		rc = weft_get_async_event(context, &event);
		if (rc == -EAGAIN || rc == -EINTR)
			continue;
		if (rc)
			break; /* the NIC is gone: the next poll reports that */
		if (event.type == WEFT_EVENT_SRQ_LIMIT && event.srq == pool->srq)
			on_limit(pool);
		weft_ack_async_event(&event);
	}
	return NULL;
}

int srq_pool_open(struct srq_pool *pool, struct weft_pd *pd, uint32_t target, uint32_t limit,
		  uint32_t buffer_bytes)
{
	struct weft_srq_attr attr = {.max_wr = SRQ_POOL_MAX, .max_sge = 1};
	int fl, rc;

	memset(pool, 0, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pool->pd = pd;
	pool->target = target;
	pool->limit = limit;
	pool->buffer_bytes = buffer_bytes;
	pool->stop_fd = eventfd(0, EFD_CLOEXEC);
	fl = fcntl(pd->context->async_fd, F_GETFL);
	if (pool->stop_fd < 0 || fl < 0 ||
	    fcntl(pd->context->async_fd, F_SETFL, fl | O_NONBLOCK) < 0)
		return fail("descriptors of the pool: %s", strerror(errno));
	pool->srq = weft_create_srq(pd, &attr);
	if (!pool->srq)
		return fail("no shared receive queue: %s", strerror(errno));
	pthread_mutex_lock(&pool->lock);
	rc = fill(pool, target) || arm(pool) ? -1 : 0;
	pthread_mutex_unlock(&pool->lock);
	if (!rc && (rc = pthread_create(&pool->thread, NULL, refill_main, pool)))
		rc = fail("no thread for the low watermark: %s", strerror(rc));
	pool->started = !rc;
	return rc;
}

void srq_pool_stop(struct srq_pool *pool)
{
	uint64_t one = 1;

	if (!pool->started)
		return;
	if (write(pool->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(pool->thread, NULL);
	close(pool->stop_fd);
	pool->started = false;
}

void srq_pool_close(struct srq_pool *pool)
{
	size_t bytes = SRQ_POOL_CHUNK * (size_t)pool->buffer_bytes;

	for (uint32_t i = 0; i < pool->num_chunks; i++)
		weft_free(pool->chunk[i], bytes);
	pthread_mutex_destroy(&pool->lock);
}

void srq_pool_taken(struct srq_pool *pool, uint32_t count)
{
	pthread_mutex_lock(&pool->lock);
	pool->posted = pool->posted > count ? pool->posted - count : 0;
	pthread_mutex_unlock(&pool->lock);
}

int srq_pool_give(struct srq_pool *pool, uint64_t wr_id)
{
	int rc = 0;

	pthread_mutex_lock(&pool->lock);
	if (pool->posted < pool->target)
		rc = post(pool, (uint32_t)wr_id);
	else
		pool->idle[pool->num_idle++] = (uint32_t)wr_id;
	pthread_mutex_unlock(&pool->lock);
	return rc;
}
