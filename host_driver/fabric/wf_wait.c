/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wait sets, poll sets and fi_trywait(): lists of completion queues, counters and event queues.
 * Before a thread sleeps, each of them arms the NIC's event. fi_poll(3), fi_trywait(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A growing list of objects. */
struct list {
	pthread_mutex_t lock;
	struct fid **fids;
	size_t count;
};

struct wf_wait {
	struct fid_wait fid;
	struct wf_fabric *fabric;
	struct list list;
	enum fi_wait_obj wait_obj;
	int fd; /* epoll */
};

struct wf_poll {
	struct fid_poll fid;
	struct wf_domain *domain;
	struct list list;
};

static int list_add(struct list *list, struct fid *fid)
{
	struct fid **fids;
	int rc = -FI_ENOMEM;

	pthread_mutex_lock(&list->lock);
	fids = realloc(list->fids, (list->count + 1) * sizeof(struct fid *));
	if (fids) {
		list->fids = fids;
		list->fids[list->count++] = fid;
		rc = 0;
	}
	pthread_mutex_unlock(&list->lock);
	return rc;
}

static int list_remove(struct list *list, const struct fid *fid)
{
	size_t i;
	int rc = -FI_EINVAL;

	pthread_mutex_lock(&list->lock);
	for (i = 0; i < list->count; i++) {
		if (list->fids[i] == fid) {
			list->fids[i] = list->fids[--list->count];
			rc = 0;
			break;
		}
	}
	pthread_mutex_unlock(&list->lock);
	return rc;
}

static void list_fini(struct list *list)
{
	free(list->fids);
	pthread_mutex_destroy(&list->lock);
}

/* Counts a poll set or a wait set among an object's users. */
static void ref_object(struct fid *fid, int change)
{
	if (fid->fclass == FI_CLASS_CQ)
		atomic_fetch_add(&container_of(fid, struct wf_cq, fid.fid)->refs, change);
	else if (fid->fclass == FI_CLASS_CNTR)
		atomic_fetch_add(&container_of(fid, struct wf_cntr, fid.fid)->refs, change);
	else if (fid->fclass == FI_CLASS_EQ)
		wf_eq_ref(wf_eq_of(fid), change);
}

static int list_arm(struct list *list);

/* Arms one object. 0: wait; -FI_EAGAIN: read, there is something, or something needs that. */
static int arm(struct fid *fid)
{
	struct wf_eq *eq;
	int rc;

	switch (fid->fclass) {
	case FI_CLASS_CQ:
		rc = wf_cq_arm(container_of(fid, struct wf_cq, fid.fid));
		return rc == WF_LOOK ? -FI_EAGAIN : rc;
	case FI_CLASS_CNTR:
		rc = wf_cntr_arm(container_of(fid, struct wf_cntr, fid.fid));
		return rc == WF_LOOK ? -FI_EAGAIN : rc;
	case FI_CLASS_EQ:
		eq = wf_eq_of(fid);
		return wf_eq_ready(eq) || wf_work_joins(wf_eq_fabric(eq)) ? -FI_EAGAIN : 0;
	case FI_CLASS_WAIT:
		return list_arm(&container_of(fid, struct wf_wait, fid.fid)->list);
	default:
		return -FI_EINVAL;
	}
}

static int list_arm(struct list *list)
{
	size_t i;
	int rc = 0;

	pthread_mutex_lock(&list->lock);
	for (i = 0; i < list->count && !rc; i++)
		rc = arm(list->fids[i]);
	pthread_mutex_unlock(&list->lock);
	return rc;
}

int wf_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int i, rc = 0;

	(void)fabric;
	for (i = 0; i < count && !rc; i++)
		rc = arm(fids[i]);
	return rc;
}

/* ---- wait sets ---- */

int wf_wait_add(struct fid_wait *waitset, struct fid *fid, int fd)
{
	struct wf_wait *wait = container_of(waitset, struct wf_wait, fid);
	struct epoll_event event = {.events = EPOLLIN};
	int rc = list_add(&wait->list, fid);

	if (!rc && epoll_ctl(wait->fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		rc = -errno;
		(void)list_remove(&wait->list, fid);
	}
	return rc;
}

void wf_wait_remove(struct fid_wait *waitset, struct fid *fid, int fd)
{
	struct wf_wait *wait = container_of(waitset, struct wf_wait, fid);

	(void)epoll_ctl(wait->fd, EPOLL_CTL_DEL, fd, NULL);
	(void)list_remove(&wait->list, fid);
}

static int wait_wait(struct fid_wait *fid, int timeout)
{
	struct wf_wait *wait = container_of(fid, struct wf_wait, fid);
	struct epoll_event event;
	int rc = list_arm(&wait->list);

	if (rc == -FI_EAGAIN)
		return 0;
	if (rc)
		return rc;
	rc = epoll_wait(wait->fd, &event, 1, timeout);
	if (rc < 0)
		return -errno;
	return rc ? 0 : -FI_ETIMEDOUT;
}

static int wait_close(struct fid *fid)
{
	struct wf_wait *wait = container_of(fid, struct wf_wait, fid.fid);

	if (wait->list.count)
		return -FI_EBUSY;
	close(wait->fd);
	list_fini(&wait->list);
	atomic_fetch_sub(&wait->fabric->refs, 1);
	free(wait);
	return 0;
}

static int wait_control(struct fid *fid, int command, void *arg)
{
	struct wf_wait *wait = container_of(fid, struct wf_wait, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		*(int *)arg = wait->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = wait->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops wait_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = wait_close,
    .bind = wf_no_bind,
    .control = wait_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_wait wait_ops = {
    .size = sizeof(struct fi_ops_wait),
    .wait = wait_wait,
};

int wf_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **waitset)
{
	struct wf_fabric *f = container_of(fabric, struct wf_fabric, fid);
	struct wf_wait *wait;

	if (attr->flags)
		return -FI_EINVAL;
	if (attr->wait_obj != FI_WAIT_UNSPEC && attr->wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -FI_ENOMEM;
	wait->fd = epoll_create1(EPOLL_CLOEXEC);
	if (wait->fd < 0) {
		free(wait);
		return -errno;
	}
	wait->fid.fid.fclass = FI_CLASS_WAIT;
	wait->fid.fid.ops = &wait_fi_ops;
	wait->fid.ops = &wait_ops;
	wait->fabric = f;
	wait->wait_obj = FI_WAIT_FD;
	pthread_mutex_init(&wait->list.lock, NULL);
	atomic_fetch_add(&f->refs, 1);
	*waitset = &wait->fid;
	return 0;
}

/* ---- poll sets ---- */

/* True if the object has events that fi_poll() has not reported. */
static bool has_events(struct fid *fid)
{
	struct wf_cntr *cntr;
	uint64_t sum;

	if (fid->fclass == FI_CLASS_CQ)
		return wf_cq_ready(container_of(fid, struct wf_cq, fid.fid));
	if (fid->fclass == FI_CLASS_EQ)
		return wf_eq_ready(wf_eq_of(fid));
	cntr = container_of(fid, struct wf_cntr, fid.fid);
	wf_cntr_progress(cntr);
	sum = wf_cntr_sum(cntr);
	if (sum == cntr->polled)
		return false;
	cntr->polled = sum;
	return true;
}

static int poll_poll(struct fid_poll *fid, void **context, int count)
{
	struct wf_poll *poll = container_of(fid, struct wf_poll, fid);
	size_t i;
	int n = 0;

	pthread_mutex_lock(&poll->list.lock);
	for (i = 0; i < poll->list.count && n < count; i++) {
		if (has_events(poll->list.fids[i]))
			context[n++] = poll->list.fids[i]->context;
	}
	pthread_mutex_unlock(&poll->list.lock);
	return n;
}

static int poll_add(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct wf_poll *poll = container_of(fid, struct wf_poll, fid);
	int rc;

	if (flags || (event_fid->fclass != FI_CLASS_CQ && event_fid->fclass != FI_CLASS_CNTR &&
		      event_fid->fclass != FI_CLASS_EQ))
		return -FI_EINVAL;
	rc = list_add(&poll->list, event_fid);
	if (!rc)
		ref_object(event_fid, 1);
	return rc;
}

static int poll_del(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct wf_poll *poll = container_of(fid, struct wf_poll, fid);
	int rc;

	if (flags)
		return -FI_EINVAL;
	rc = list_remove(&poll->list, event_fid);
	if (!rc)
		ref_object(event_fid, -1);
	return rc;
}

static int poll_close(struct fid *fid)
{
	struct wf_poll *poll = container_of(fid, struct wf_poll, fid.fid);
	size_t i;

	for (i = 0; i < poll->list.count; i++)
		ref_object(poll->list.fids[i], -1);
	list_fini(&poll->list);
	atomic_fetch_sub(&poll->domain->refs, 1);
	free(poll);
	return 0;
}

static struct fi_ops poll_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = poll_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_poll poll_ops = {
    .size = sizeof(struct fi_ops_poll),
    .poll = poll_poll,
    .poll_add = poll_add,
    .poll_del = poll_del,
};

int wf_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_poll *poll;

	if (attr && attr->flags)
		return -FI_EINVAL;
	poll = calloc(1, sizeof(*poll));
	if (!poll)
		return -FI_ENOMEM;
	poll->fid.fid.fclass = FI_CLASS_POLL;
	poll->fid.fid.ops = &poll_fi_ops;
	poll->fid.ops = &poll_ops;
	poll->domain = d;
	pthread_mutex_init(&poll->list.lock, NULL);
	atomic_fetch_add(&d->refs, 1);
	*pollset = &poll->fid;
	return 0;
}
