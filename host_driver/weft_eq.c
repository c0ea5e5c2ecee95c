/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues, host side: takes entries, keeps descriptors readable exactly while entries exist,
 * waits.
 *
 * Calls the channel's wait(). docs/host-interface.md, "Event queues", pairs E1, E2 and E3: after
 * every store of the index the ring is checked again, which finds entries for which the NIC raised
 * no interrupt.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host_driver/weft_eq.h"

/*
 * Creates the descriptor that users poll: readable on the NIC's interrupt and when the NIC hangs
 * up.
 */
static int make_wait_fd(struct weft_ctx *ctx, int event_fd)
{
	struct epoll_event on_event = {.events = EPOLLIN};
	struct epoll_event on_hangup = {.events = EPOLLRDHUP};
	int fd, rc = 0;

	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, event_fd, &on_event) < 0 ||
	    (ctx->hangup_fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, ctx->hangup_fd, &on_hangup) < 0))
		rc = -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

int weft_eq_init(struct weft_ctx *ctx, struct weft_eq *eq, uint32_t number, uint32_t entries,
		 uint64_t record_offset, uint64_t ring_offset, int event_fd)
{
	int rc = 0;

	weft_mutex_init(&eq->lock);
	eq->number = number;
	eq->entries = entries;
	eq->cons = 0;
	eq->wait_fd = -1;
	eq->event_fd = event_fd;
	eq->record = weft_ctx_bar(ctx, record_offset, sizeof(*eq->record));
	eq->ring = weft_ctx_bar(ctx, ring_offset, (uint64_t)entries * sizeof(*eq->ring));
	if (!eq->record || !eq->ring || !entries || (entries & (entries - 1)))
		rc = -EPROTO;
	if (rc == 0 && event_fd >= 0) {
		/* Draining must not block; the NIC's end is the same open file and never blocks. */
		if (fcntl(event_fd, F_SETFL, O_NONBLOCK) < 0)
			rc = -errno;
		else
			eq->wait_fd = make_wait_fd(ctx, event_fd);
		if (eq->wait_fd < 0 && rc == 0)
			rc = eq->wait_fd;
	}
	if (rc < 0)
		weft_eq_destroy(eq);
	return rc;
}

void weft_eq_destroy(struct weft_eq *eq)
{
	if (eq->wait_fd >= 0)
		close(eq->wait_fd);
	if (eq->event_fd >= 0)
		close(eq->event_fd);
	eq->wait_fd = -1;
	eq->event_fd = -1;
	eq->ring = NULL;
	pthread_mutex_destroy(&eq->lock);
}

/* Returns the entry at an index, or NULL if the NIC has not written it. */
static struct hw_eqe *entry_at(const struct weft_eq *eq, uint32_t index)
{
	struct hw_eqe *eqe = &eq->ring[index & (eq->entries - 1)];
	uint32_t phase = weft_barrier_eqe_word(eqe) >> 24;

	return phase == ((index / eq->entries & 1) ^ 1) ? eqe : NULL;
}

bool weft_eq_peek(const struct weft_eq *eq)
{
	return entry_at(eq, eq->cons) != NULL;
}

static void drain(const struct weft_eq *eq)
{
	uint64_t count;
	ssize_t n;
	int cancel;

	if (eq->event_fd < 0)
		return;
	cancel = weft_cancel_off();
	do {
		n = read(eq->event_fd, &count, sizeof(count));
	} while (n < 0 && errno == EINTR);
	weft_cancel_restore(cancel);
}

void weft_eq_signal(const struct weft_eq *eq)
{
	uint64_t one = 1;
	ssize_t n;
	int cancel;

	if (eq->event_fd < 0)
		return;
	cancel = weft_cancel_off();
	do {
		n = write(eq->event_fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	weft_cancel_restore(cancel);
}

void weft_eq_settle(const struct weft_eq *eq)
{
	if (entry_at(eq, eq->cons))
		return;
	drain(eq);
	if (entry_at(eq, eq->cons))
		weft_eq_signal(eq);
}

bool weft_eq_take(struct weft_eq *eq, struct hw_eqe *out)
{
	struct hw_eqe *eqe;
	bool drained = false, found = false;

	while (!found) {
		eqe = entry_at(eq, eq->cons);
		if (!eqe && drained)
			return false;
		if (!eqe) {
			/*
			 * The NIC writes the entry before it signals, so check once more after
			 * draining.
			 */
			drain(eq);
			drained = true;
			continue;
		}
		*out = *eqe;
		found = out->type != HW_EVENT_NONE; /* NONE: removed by weft_eq_purge() */
		eq->cons++;
		weft_barrier_eq_cons(eq->record, eq->cons);
	}
	/*
	 * The descriptor is unreadable when the queue is empty, and readable otherwise so that
	 * other threads wake.
	 */
	if (drained && entry_at(eq, eq->cons))
		weft_eq_signal(eq);
	else
		weft_eq_settle(eq);
	return true;
}

void weft_eq_purge(struct weft_eq *eq, bool (*match)(const struct hw_eqe *eqe, uint32_t id),
		   uint32_t id)
{
	struct hw_eqe *eqe;
	uint32_t i;

	if (!eq->ring)
		return;
	pthread_mutex_lock(&eq->lock);
	for (i = eq->cons; i - eq->cons < eq->entries && (eqe = entry_at(eq, i)); i++) {
		if (match(eqe, id))
			eqe->type = HW_EVENT_NONE;
	}
	/* Skips removed entries, so that the next entry is a valid one. */
	while ((eqe = entry_at(eq, eq->cons)) != NULL && eqe->type == HW_EVENT_NONE)
		weft_barrier_eq_cons(eq->record, ++eq->cons);
	weft_eq_settle(eq);
	pthread_mutex_unlock(&eq->lock);
}

int weft_eq_wait(struct weft_ctx *ctx, const struct weft_eq *eq)
{
	struct pollfd pfd[2] = {{.fd = eq->event_fd, .events = POLLIN},
				{.fd = ctx->hangup_fd, .events = POLLRDHUP}};
	int n;

	if (ctx->ops->wait)
		return ctx->ops->wait(ctx->chan, eq->number, eq->event_fd, -1);
	n = poll(pfd, 2, -1);
	if (n < 0)
		return -errno;
	if (pfd[1].revents)
		weft_ctx_set_gone(ctx);
	return 0;
}

bool weft_eq_may_block(const struct weft_eq *eq)
{
	int flags = eq->wait_fd >= 0 ? fcntl(eq->wait_fd, F_GETFL) : 0;

	return flags < 0 || !(flags & O_NONBLOCK);
}

bool weft_eqe_of_cq_comp(const struct hw_eqe *eqe, uint32_t id)
{
	return eqe->type == HW_EVENT_COMPLETION && eqe->id == id;
}

bool weft_eqe_of_cq(const struct hw_eqe *eqe, uint32_t id)
{
	return eqe->type == HW_EVENT_CQ_ERR && eqe->id == id;
}

bool weft_eqe_is_qp(uint8_t type)
{
	switch ((enum hw_event_type)type) {
	case HW_EVENT_QP_FATAL:
	case HW_EVENT_QP_REQ_ERR:
	case HW_EVENT_QP_ACCESS_ERR:
	case HW_EVENT_COMM_EST:
	case HW_EVENT_QP_LAST_WQE:
	case HW_EVENT_PEER_ERROR:
	case HW_EVENT_SQ_DRAINED:
	case HW_EVENT_TAG_POOL_LOW:
		return true;
	case HW_EVENT_NONE:
	case HW_EVENT_COMPLETION:
	case HW_EVENT_CQ_ERR:
	case HW_EVENT_SRQ_LIMIT:
	case HW_EVENT_SRQ_ERR:
	case HW_EVENT_PORT_ACTIVE:
	case HW_EVENT_PORT_ERR:
	case HW_EVENT_DEVICE_FATAL:
	case HW_EVENT_GOAL_RUN:
	case HW_EVENT_CM:
	case HW_EVENTS:
		break;
	}
	return false;
}

bool weft_eqe_of_qp(const struct hw_eqe *eqe, uint32_t id)
{
	return weft_eqe_is_qp(eqe->type) && eqe->id == id;
}

bool weft_eqe_of_srq(const struct hw_eqe *eqe, uint32_t id)
{
	return (eqe->type == HW_EVENT_SRQ_LIMIT || eqe->type == HW_EVENT_SRQ_ERR) && eqe->id == id;
}
