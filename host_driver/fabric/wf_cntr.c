/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters. The NIC completes into completion queues; a counter reads those of the endpoints that
 * are bound to it, and wf_op.c counts each completion. fi_cntr(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/clock.h"

enum {
	SPINS = 1000,   /* looks before a waiting thread sleeps */
	SLICE_MS = 100, /* a thread that sleeps looks again after this */
};

uint64_t wf_cntr_sum(const struct wf_cntr *cntr)
{
	return atomic_load(&cntr->value) + atomic_load(&cntr->errors);
}

void wf_cntr_progress(struct wf_cntr *cntr)
{
	size_t i;

	pthread_mutex_lock(&cntr->lock);
	for (i = 0; i < cntr->num_cqs; i++)
		wf_cq_progress(cntr->cqs[i].cq);
	pthread_mutex_unlock(&cntr->lock);
}

int wf_cntr_arm(struct wf_cntr *cntr)
{
	uint64_t was, sum;
	bool looks = false;
	size_t i;

	if (cntr->signal_fd >= 0 && read(cntr->signal_fd, &was, sizeof(was)) < 0 && errno != EAGAIN)
		return -errno;
	pthread_mutex_lock(&cntr->lock);
	for (i = 0; i < cntr->num_cqs; i++)
		looks |= wf_cq_arm(cntr->cqs[i].cq) == WF_LOOK;
	pthread_mutex_unlock(&cntr->lock);
	sum = wf_cntr_sum(cntr);
	if (sum == cntr->armed)
		return looks ? WF_LOOK : 0;
	cntr->armed = sum;
	return -FI_EAGAIN;
}

int wf_cntr_add_cq(struct wf_cntr *cntr, struct wf_cq *cq)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct wf_cntr_cq *cqs;
	size_t i;
	int rc = 0;

	pthread_mutex_lock(&cntr->lock);
	for (i = 0; i < cntr->num_cqs && cntr->cqs[i].cq != cq; i++)
		;
	if (i == cntr->num_cqs) {
		cqs = realloc(cntr->cqs, (i + 1) * sizeof(*cqs));
		if (!cqs) {
			rc = -FI_ENOMEM;
		} else {
			cntr->cqs = cqs;
			if (cntr->fd >= 0 &&
			    epoll_ctl(cntr->fd, EPOLL_CTL_ADD, cq->channel->fd, &event) != 0)
				rc = -errno;
			else
				cqs[cntr->num_cqs++] = (struct wf_cntr_cq){cq, 0};
		}
	}
	if (!rc)
		cntr->cqs[i].refs++;
	pthread_mutex_unlock(&cntr->lock);
	return rc;
}

void wf_cntr_remove_cq(struct wf_cntr *cntr, struct wf_cq *cq)
{
	size_t i;

	pthread_mutex_lock(&cntr->lock);
	for (i = 0; i < cntr->num_cqs && cntr->cqs[i].cq != cq; i++)
		;
	if (i < cntr->num_cqs && --cntr->cqs[i].refs == 0) {
		if (cntr->fd >= 0)
			(void)epoll_ctl(cntr->fd, EPOLL_CTL_DEL, cq->channel->fd, NULL);
		cntr->cqs[i] = cntr->cqs[--cntr->num_cqs];
	}
	pthread_mutex_unlock(&cntr->lock);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	wf_cntr_progress(cntr);
	return atomic_load_explicit(&cntr->value, memory_order_acquire);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	wf_cntr_progress(cntr);
	return atomic_load_explicit(&cntr->errors, memory_order_acquire);
}

int wf_cntr_wake(struct wf_cntr *cntr)
{
	uint64_t one = 1;

	if (cntr->signal_fd >= 0 && write(cntr->signal_fd, &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	atomic_fetch_add(&cntr->value, value);
	return wf_cntr_wake(cntr);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	atomic_store(&cntr->value, value);
	return wf_cntr_wake(cntr);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	atomic_fetch_add(&cntr->errors, value);
	return wf_cntr_wake(cntr);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);

	atomic_store(&cntr->errors, value);
	return wf_cntr_wake(cntr);
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid);
	uint64_t errors = atomic_load(&cntr->errors);
	int64_t end_ms = (int64_t)clock_now_ms() + timeout;
	int spins = 0;

	if (cntr->fd < 0 || cntr->wait_set)
		return -FI_ENOSYS;
	for (;;) {
		struct pollfd p = {.fd = cntr->fd, .events = POLLIN};
		int slice_ms = SLICE_MS, rc;

		if (cntr_read(fid) >= threshold)
			return 0;
		if (atomic_load(&cntr->errors) != errors)
			return -FI_EAVAIL;
		if (timeout >= 0) {
			int64_t left_ms = end_ms - (int64_t)clock_now_ms();

			if (left_ms <= 0)
				return -FI_ETIMEDOUT;
			if (left_ms < slice_ms)
				slice_ms = (int)left_ms;
		}
		if (spins++ < SPINS)
			continue;
		rc = wf_cntr_arm(cntr);
		if (rc == WF_LOOK && slice_ms > WF_LOOK_MS)
			slice_ms = WF_LOOK_MS;
		if (rc >= 0)
			(void)poll(&p, 1, slice_ms);
	}
}

static int cntr_close(struct fid *fid)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid.fid);

	if (atomic_load(&cntr->refs) != 0)
		return -FI_EBUSY;
	if (cntr->wait_set)
		wf_wait_remove(cntr->wait_set, fid, cntr->fd);
	if (cntr->fd >= 0)
		close(cntr->fd);
	if (cntr->signal_fd >= 0)
		close(cntr->signal_fd);
	free(cntr->cqs);
	pthread_mutex_destroy(&cntr->lock);
	atomic_fetch_sub(&cntr->domain->refs, 1);
	free(cntr);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct wf_cntr *cntr = container_of(fid, struct wf_cntr, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cntr->fd < 0 || cntr->wait_set)
			return -FI_ENODATA;
		*(int *)arg = cntr->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cntr->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops cntr_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = cntr_close,
    .bind = wf_no_bind,
    .control = cntr_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};

/* Makes the descriptor to wait for. */
static int open_wait(struct wf_cntr *cntr, const struct fi_cntr_attr *attr)
{
	struct epoll_event event = {.events = EPOLLIN};
	int rc;

	cntr->fd = epoll_create1(EPOLL_CLOEXEC);
	cntr->signal_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cntr->fd < 0 || cntr->signal_fd < 0 ||
	    epoll_ctl(cntr->fd, EPOLL_CTL_ADD, cntr->signal_fd, &event) != 0)
		return -errno;
	if (attr->wait_obj != FI_WAIT_SET)
		return 0;
	rc = wf_wait_add(attr->wait_set, &cntr->fid.fid, cntr->fd);
	if (!rc)
		cntr->wait_set = attr->wait_set;
	return rc;
}

int wf_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		 void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_cntr *c;
	int rc = 0;

	if (!attr || attr->events != FI_CNTR_EVENTS_COMP || attr->flags)
		return -FI_EINVAL;
	if (attr->wait_obj == FI_WAIT_MUTEX_COND || attr->wait_obj == FI_WAIT_POLLFD)
		return -FI_ENOSYS;
	if (attr->wait_obj > FI_WAIT_POLLFD || (attr->wait_obj == FI_WAIT_SET && !attr->wait_set))
		return -FI_EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->fid.fid.fclass = FI_CLASS_CNTR;
	c->fid.fid.context = context;
	c->fid.fid.ops = &cntr_fi_ops;
	c->fid.ops = &cntr_ops;
	c->domain = d;
	c->wait_obj = attr->wait_obj;
	c->fd = -1;
	c->signal_fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	atomic_fetch_add(&d->refs, 1);
	if (attr->wait_obj != FI_WAIT_NONE)
		rc = open_wait(c, attr);
	if (rc) {
		cntr_close(&c->fid.fid);
		return rc;
	}
	*cntr = &c->fid;
	return 0;
}
