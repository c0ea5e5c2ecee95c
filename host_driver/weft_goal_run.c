/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of schedules: records, waiting, results.
 *
 * Calls weft_db.h to start a run, weft_eq.c to wait. A record is in the process's free list, or
 * belongs to the caller from weft_goal_start() to weft_goal_finish(). The NIC may write to it until
 * done equals serial (pair G1). docs/host-interface.md, "Collectives".
 */
#include "host_driver/weft_goal_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_eq.h"
#include "lib/clock.h"
#include "shared_defs/hw_goal.h"

enum {
	/* A waiting thread polls for this time before it requests an event. */
	BLOCK_AFTER_NS = 200000,
};

int weft_goal_start(struct weft_goal *goal, const struct weft_goal_run_attr *attr, uint32_t *run)
{
	uint32_t flags = attr->memory_gone ? HW_GOAL_RUN_F_MEMORY : 0;
	struct hw_goal_run *record;
	uint32_t i;

	_Static_assert((int)WEFT_GOAL_RUN_BINDS == (int)HW_GOAL_RUN_BUFFERS, "");
	if (attr->num_binds > WEFT_GOAL_RUN_BINDS)
		return -EINVAL;
	if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE)
		return -EIO;
	if (attr->binds)
		flags |= HW_GOAL_RUN_F_BUFFERS;
	pthread_mutex_lock(&goal->lock);
	if (!goal->num_free) {
		pthread_mutex_unlock(&goal->lock);
		return -EAGAIN;
	}
	*run = goal->free[--goal->num_free];
	record = &goal->records[*run];
	if (!++goal->serial)
		goal->serial++;
	record->serial = goal->serial;
	record->schedule = attr->schedule;
	record->timeout_ns = attr->timeout_ns;
	record->trace_addr = (uintptr_t)attr->trace;
	record->trace_stag = attr->trace_mr ? attr->trace_mr->lkey : 0;
	record->trace_entries = attr->trace_mr ? attr->trace_entries : 0;
	for (i = 0; i < attr->num_binds; i++) {
		record->buf_addr[i] = (uintptr_t)attr->binds[i].addr;
		record->buf_stag[i] = attr->binds[i].mr ? attr->binds[i].mr->lkey : 0;
	}
	__atomic_store_n(&record->flags, flags, __ATOMIC_RELAXED);
	/* Under the lock, so that doorbells have the order of runs. */
	weft_db_ring(goal->ctx, &record->rung, HW_DB_ENTRY(HW_DB_GOAL_RUN, *run));
	pthread_mutex_unlock(&goal->lock);
	return 0;
}

bool weft_goal_test(const struct weft_goal *goal, uint32_t run)
{
	const struct hw_goal_run *record = &goal->records[run];

	/* Pair G1: everything the NIC wrote before done is visible once done is. */
	return __atomic_load_n(&record->done, __ATOMIC_ACQUIRE) == record->serial;
}

bool weft_goal_gone(const struct weft_goal *goal)
{
	weft_ctx_look(goal->ctx, false);
	return weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE;
}

/* Takes all events; true: there were some. */
static bool take_events(struct weft_goal *goal)
{
	struct weft_channel_obj *channel =
	    weft_container_of(goal->channel, struct weft_channel_obj, pub);
	struct hw_eqe eqe;
	bool any;

	pthread_mutex_lock(&channel->eq.lock);
	any = weft_eq_take(&channel->eq, &eqe);
	while (any && weft_eq_take(&channel->eq, &eqe))
		;
	pthread_mutex_unlock(&channel->eq.lock);
	return any;
}

/* Checks the event queue once on behalf of all waiting threads. Blocks until an event arrives. */
static int lead(struct weft_goal *goal)
{
	const struct weft_channel_obj *channel =
	    weft_container_of(goal->channel, struct weft_channel_obj, pub);

	return take_events(goal) ? 0 : weft_eq_wait(goal->ctx, &channel->eq);
}

/* The leader may have taken an event of a run that others wait for. Under the lock. */
static void tell_listener(const struct weft_goal *goal)
{
	uint64_t one = 1;
	ssize_t n = 0;

	if (goal->listener)
		n = write(goal->note_fd, &one, sizeof(one));
	/* A counter that is full is readable. */
	(void)n;
}

bool weft_goal_request(struct weft_goal *goal, uint32_t run)
{
	/*
	 * The other flags stay: the NIC may not have taken the doorbell yet. Pair G2: store the
	 * flag, then load done; the NIC stores done, then loads the flag.
	 */
	(void)__atomic_fetch_or(&goal->records[run].flags, HW_GOAL_RUN_F_EVENT, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return weft_goal_test(goal, run);
}

static int block(struct weft_goal *goal, uint32_t run)
{
	int rc = 0;

	(void)weft_goal_request(goal, run);
	pthread_mutex_lock(&goal->lock);
	while (!weft_goal_test(goal, run) && rc == 0) {
		if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE) {
			rc = -EIO;
		} else if (goal->leader) {
			pthread_cond_wait(&goal->over, &goal->lock);
		} else {
			goal->leader = true;
			pthread_mutex_unlock(&goal->lock);
			rc = lead(goal);
			pthread_mutex_lock(&goal->lock);
			goal->leader = false;
			tell_listener(goal);
			pthread_cond_broadcast(&goal->over);
		}
	}
	pthread_mutex_unlock(&goal->lock);
	return rc;
}

/* Polls a few times; returns true if the run is done. */
static bool spin(const struct weft_goal *goal, uint32_t run, bool first)
{
	uint32_t looks = weft_poll_spins(first);

	while (looks--) {
		if (weft_goal_test(goal, run))
			return true;
		weft_pause_cpu();
	}
	return false;
}

/*
 * Ranks that share a CPU wait for each other. A waiting rank yields the CPU at once, so that the
 * next rank can start its part. When it runs again it polls for a short time, because all ranks
 * have had a turn by then and the NIC is about to finish. For longer waits it requests an event.
 */
int weft_goal_wait(struct weft_goal *goal, uint32_t run, uint64_t timeout_ns)
{
	uint64_t start_ns = 0, waited_ns;
	bool first;

	for (first = true;; first = false) {
		if (spin(goal, run, first))
			return 0;
		if (!start_ns)
			start_ns = clock_now_ns();
		weft_poll_yield();
		weft_ctx_look(goal->ctx, false);
		if (weft_goal_test(goal, run))
			return 0;
		if (weft_ctx_state(goal->ctx) != WEFT_CTX_LIVE)
			return -EIO;
		waited_ns = clock_now_ns() - start_ns;
		if (waited_ns >= timeout_ns)
			return -ETIMEDOUT;
		if (waited_ns >= BLOCK_AFTER_NS && timeout_ns == UINT64_MAX)
			return block(goal, run);
	}
}

void weft_goal_finish(struct weft_goal *goal, uint32_t run, struct weft_goal_result *result)
{
	const struct hw_goal_run *record = &goal->records[run];

	_Static_assert((int)WEFT_GOAL_WAITS == (int)HW_GOAL_WAITS &&
			   (int)WEFT_GOAL_WAITS_COUNTED == (int)HW_GOAL_WAITS_COUNTED,
		       "");
	if (result)
		*result = (struct weft_goal_result){
		    .status = record->status,
		    .rank = record->rank,
		    .op = record->op,
		    .ops = record->ops,
		    .instance = record->instance,
		    .traced = record->traced,
		    .trace_lost = record->trace_lost,
		    .start_ns = record->start_ns,
		    .finish_ns = record->finish_ns,
		};
	if (result && result->status != HW_GOAL_OK) {
		result->message_bytes = record->message_bytes;
		result->room_bytes = record->room_bytes;
		result->num_waits = record->num_waits;
		memcpy(result->waits, record->waits, sizeof(result->waits));
	}
	pthread_mutex_lock(&goal->lock);
	goal->free[goal->num_free++] = run;
	pthread_mutex_unlock(&goal->lock);
}

/* ---- waiting by descriptor */

int weft_goal_listen(struct weft_goal *goal, const void *listener, int fd[2])
{
	int rc = 0;

	if (goal->channel->fd < 0)
		return -ENOSYS;
	pthread_mutex_lock(&goal->lock);
	if (goal->listener && goal->listener != listener)
		rc = -EBUSY;
	if (!rc && goal->note_fd < 0)
		goal->note_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!rc && goal->note_fd < 0)
		rc = -errno;
	if (!rc) {
		goal->listener = listener;
		goal->listens++;
		fd[0] = goal->channel->fd;
		fd[1] = goal->note_fd;
	}
	pthread_mutex_unlock(&goal->lock);
	return rc;
}

void weft_goal_unlisten(struct weft_goal *goal)
{
	pthread_mutex_lock(&goal->lock);
	if (--goal->listens == 0)
		goal->listener = NULL;
	pthread_mutex_unlock(&goal->lock);
}

void weft_goal_heard(struct weft_goal *goal)
{
	uint64_t count;
	ssize_t n;

	pthread_mutex_lock(&goal->lock);
	n = read(goal->note_fd, &count, sizeof(count));
	(void)n; /* it may be empty */
	/* A leader takes them, and notifies the listener. */
	if (!goal->leader)
		(void)take_events(goal);
	pthread_mutex_unlock(&goal->lock);
}

int weft_goal_cancel(struct weft_goal *goal, uint32_t run)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_CANCEL};
	struct hw_cmd_resp resp;

	cmd.u.goal_load.run = run;
	cmd.u.goal_load.serial = goal->records[run].serial;
	return weft_ctx_command(goal->ctx, &cmd, -1, &resp, NULL);
}
