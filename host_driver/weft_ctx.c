/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services of a context for all objects: liveness of the NIC, commands, lookup of objects by
 * number, waiting for acknowledgements.
 *
 * Calls the channel's operations (weft_chan.h).
 */
#include <errno.h>
#include <sched.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_slot.h"
#include "shared_defs/hw_cmd_slot.h"
#include "lib/clock.h"

enum {
	WEFT_LOOK_PERIOD_NS = 10 * 1000 * 1000,
};

struct weft_global weft_global = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .contexts = {&weft_global.contexts, &weft_global.contexts},
    .extents = {&weft_global.extents, &weft_global.extents},
    .vm_mrs = {&weft_global.vm_mrs, &weft_global.vm_mrs},
};

void weft_global_lock(void)
{
	int before = weft_cancel_off();

	pthread_mutex_lock(&weft_global.lock);
	weft_global.cancel_state = before;
}

void weft_global_unlock(void)
{
	int before = weft_global.cancel_state;

	pthread_mutex_unlock(&weft_global.lock);
	weft_cancel_restore(before);
}

void weft_mutex_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	/* Adaptive: critical sections are short, so a brief spin is cheaper than sleeping. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void weft_ctx_set_gone(struct weft_ctx *ctx)
{
	uint32_t live = WEFT_CTX_LIVE;

	__atomic_compare_exchange_n(&ctx->state, &live, WEFT_CTX_GONE, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	/* Threads that wait for acknowledgements keep waiting: the user must give those. */
}

static bool hung_up(const struct weft_ctx *ctx)
{
	struct pollfd pfd = {.fd = ctx->hangup_fd, .events = POLLRDHUP};

	if (ctx->ops->gone)
		return ctx->ops->gone(ctx->chan);
	if (ctx->hangup_fd < 0)
		return false;
	return poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL));
}

void weft_ctx_look(struct weft_ctx *ctx, bool now)
{
	const struct hw_bar_header *header = ctx->bar;
	uint64_t now_ns;

	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return;
	if (header && __atomic_load_n(&header->nic_state, __ATOMIC_ACQUIRE) == HW_NIC_STOPPED) {
		weft_ctx_set_gone(ctx);
		return;
	}
	if (!now) {
		now_ns = clock_read_ns(CLOCK_MONOTONIC_COARSE);
		if (now_ns - __atomic_load_n(&ctx->last_look_ns, __ATOMIC_RELAXED) <
		    WEFT_LOOK_PERIOD_NS)
			return;
		__atomic_store_n(&ctx->last_look_ns, now_ns, __ATOMIC_RELAXED);
	}
	if (hung_up(ctx))
		weft_ctx_set_gone(ctx);
}

/* Returns the doorbell of the CPU on which this thread runs: the NIC then works there, too. */
static int doorbell_near(const struct weft_ctx *ctx)
{
	int cpu = ctx->num_doorbells > 1 ? sched_getcpu() : 0;

	for (uint32_t i = 1; i < ctx->num_doorbells; i++) {
		if (ctx->doorbell_cpu[i] == cpu)
			return ctx->doorbell_fd[i];
	}
	return ctx->doorbell_fd[0];
}

void weft_ctx_wake(struct weft_ctx *ctx)
{
	uint64_t one = 1;
	ssize_t n;
	int cancel;

	if (ctx->ops->wake) {
		ctx->ops->wake(ctx->chan);
		return;
	}
	if (!ctx->num_doorbells)
		return;
	/* The NIC measures its wake-up time from here. */
	__atomic_store_n(&((struct hw_bar_header *)ctx->bar)->wake_ns, clock_now_ns(),
			 __ATOMIC_RELAXED);
	cancel = weft_cancel_off();
	do {
		n = write(doorbell_near(ctx), &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	weft_cancel_restore(cancel);
	/* EAGAIN: the counter is saturated, so the NIC is already awake. */
}

void weft_ctx_close_doorbells(struct weft_ctx *ctx)
{
	for (uint32_t i = 0; i < ctx->num_doorbells; i++)
		close(ctx->doorbell_fd[i]);
	ctx->num_doorbells = 0;
}

static void close_fds(int *fds)
{
	for (int i = 0; i < WEFT_CHAN_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* By a slot where that is possible: two switches of threads less than by the channel. */
static int weft_ctx_send(struct weft_ctx *ctx, struct hw_cmd *cmd, int fd_in,
			 struct hw_cmd_resp *resp, int *fds)
{
	if (ctx->bar && ctx->ops->flags & WEFT_CHAN_F_SLOTS && hw_cmd_by_slot(cmd->op)) {
		int rc = weft_slot_command(ctx, cmd, resp);

		if (rc != -EAGAIN)
			return rc;
	}
	return ctx->ops->command(ctx->chan, cmd, fd_in, resp, fds);
}

int weft_ctx_command(struct weft_ctx *ctx, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		     int *fds)
{
	int own[WEFT_CHAN_FDS];
	int rc, cancel;

	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		own[i] = -1;
	if (!fds)
		fds = own;
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return -EIO;
	cancel = weft_cancel_off();
	rc = weft_ctx_send(ctx, cmd, fd_in, resp, fds);
	if (rc < 0) {
		if (rc == -EIO || rc == -ETIMEDOUT)
			weft_ctx_set_gone(ctx);
	} else if (resp->status != 0) {
		/* A positive errno; any other value is a protocol error. */
		rc = resp->status > 0 && resp->status < 4096 ? -resp->status : -EPROTO;
	}
	if (rc < 0 || fds == own)
		close_fds(fds);
	weft_cancel_restore(cancel);
	return rc;
}

int weft_ctx_command_obj(struct weft_ctx *ctx, enum hw_cmd_op op, uint32_t handle)
{
	struct hw_cmd cmd = {.op = op, .u.obj.handle = handle};
	struct hw_cmd_resp resp;

	return weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
}

int weft_table_set(struct weft_table *table, uint32_t number, void *object)
{
	uint32_t i = (number >> WEFT_TABLE_LEAF_BITS) & (WEFT_TABLE_LEAVES - 1);
	void **leaf = table->leaf[i];

	if (!leaf) {
		leaf = calloc((size_t)1 << WEFT_TABLE_LEAF_BITS, sizeof(*leaf));
		if (!leaf)
			return -ENOMEM;
		__atomic_store_n(&table->leaf[i], leaf, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&leaf[number & ((1u << WEFT_TABLE_LEAF_BITS) - 1)], object,
			 __ATOMIC_RELEASE);
	return 0;
}

void weft_table_clear(struct weft_table *table, uint32_t number, const void *object)
{
	void **leaf = table->leaf[(number >> WEFT_TABLE_LEAF_BITS) & (WEFT_TABLE_LEAVES - 1)];
	void **entry = leaf ? &leaf[number & ((1u << WEFT_TABLE_LEAF_BITS) - 1)] : NULL;

	if (entry && *entry == object)
		__atomic_store_n(entry, NULL, __ATOMIC_RELEASE);
}

void weft_table_free(struct weft_table *table)
{
	for (int i = 0; i < WEFT_TABLE_LEAVES; i++)
		free(table->leaf[i]);
	memset(table, 0, sizeof(*table));
}

void weft_acks_got(struct weft_ctx *ctx, struct weft_acks *acks)
{
	pthread_mutex_lock(&ctx->ack_lock);
	acks->got++;
	pthread_mutex_unlock(&ctx->ack_lock);
}

void weft_acks_done(struct weft_ctx *ctx, struct weft_acks *acks, uint32_t count)
{
	uint32_t open;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return;
	pthread_mutex_lock(&ctx->ack_lock);
	/* Excess acknowledgements would make the object's destruction wait for good. */
	open = acks->got - acks->acked;
	acks->acked += count < open ? count : open;
	pthread_cond_broadcast(&ctx->ack_cond);
	pthread_mutex_unlock(&ctx->ack_lock);
}

static void unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

void weft_acks_wait(struct weft_ctx *ctx, const struct weft_acks *acks)
{
	pthread_mutex_lock(&ctx->ack_lock);
	pthread_cleanup_push(unlock, &ctx->ack_lock);
	while (acks->acked != acks->got)
		pthread_cond_wait(&ctx->ack_cond, &ctx->ack_lock);
	pthread_cleanup_pop(1);
}

void *weft_ctx_bar(const struct weft_ctx *ctx, uint64_t offset, uint64_t bytes)
{
	if (!ctx->bar || offset > ctx->bar_bytes || bytes > ctx->bar_bytes - offset ||
	    offset % HW_CACHE_LINE_BYTES)
		return NULL;
	return (char *)ctx->bar + offset;
}
