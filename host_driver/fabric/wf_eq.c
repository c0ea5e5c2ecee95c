/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues: a list of events of the provider (registrations, insertions into address vectors)
 * and of the application (fi_eq_write()). An eventfd is readable while the list is not empty.
 * fi_eq(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_EVENTS = 65536, /* in one queue */
};

struct wf_event {
	struct wf_event *next;
	uint32_t event;
	int err;
	size_t bytes;
	uint8_t data[]; /* struct fi_eq_entry, or what was written */
};

struct wf_eq {
	struct fid_eq fid;
	struct wf_fabric *fabric;
	pthread_mutex_t lock;
	struct wf_event *first, **last;
	size_t count;
	atomic_int refs;
	uint64_t flags;
	enum fi_wait_obj wait_obj;
	struct fid_wait *wait_set;
	int fd;
};

void wf_eq_ref(struct wf_eq *eq, int change)
{
	atomic_fetch_add(&eq->refs, change);
}

struct wf_fabric *wf_eq_fabric(struct wf_eq *eq)
{
	return eq->fabric;
}

bool wf_eq_ready(struct wf_eq *eq)
{
	bool ready;

	wf_work_progress(eq->fabric);
	pthread_mutex_lock(&eq->lock);
	ready = eq->first != NULL;
	pthread_mutex_unlock(&eq->lock);
	return ready;
}

static int append(struct wf_eq *eq, uint32_t event, int err, const void *data, size_t bytes)
{
	struct wf_event *e = malloc(sizeof(*e) + bytes);
	uint64_t one = 1;
	int rc = 0;

	if (!e)
		return -FI_ENOMEM;
	e->next = NULL;
	e->event = event;
	e->err = err;
	e->bytes = bytes;
	memcpy(e->data, data, bytes);
	pthread_mutex_lock(&eq->lock);
	if (eq->count < MAX_EVENTS) {
		*eq->last = e;
		eq->last = &e->next;
		if (eq->count++ == 0 && write(eq->fd, &one, sizeof(one)) < 0)
			rc = -errno;
	} else {
		rc = -FI_EOVERRUN;
		free(e);
	}
	pthread_mutex_unlock(&eq->lock);
	return rc;
}

int wf_eq_add(struct wf_eq *eq, uint32_t event, fid_t fid, void *context, uint64_t data, int err)
{
	struct fi_eq_entry entry = {.fid = fid, .context = context, .data = data};

	return append(eq, event, err, &entry, sizeof(entry));
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid);
	int rc;

	if (flags || !(eq->flags & FI_WRITE))
		return -FI_EINVAL;
	rc = append(eq, event, 0, buf, len);
	return rc ? rc : (ssize_t)len;
}

/* Takes the first event out. The lock is held. */
static void drop_first(struct wf_eq *eq)
{
	struct wf_event *e = eq->first;
	uint64_t was;

	eq->first = e->next;
	if (!eq->first)
		eq->last = &eq->first;
	/* The descriptor is readable while there are events. */
	if (--eq->count == 0 && read(eq->fd, &was, sizeof(was)) < 0 && errno != EAGAIN)
		WF_WARN(FI_LOG_EQ, "eventfd: %s\n", strerror(errno));
	free(e);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid);
	ssize_t rc = -FI_EAGAIN;

	if (flags & ~(uint64_t)FI_PEEK)
		return -FI_EBADFLAGS;
	wf_work_progress(eq->fabric);
	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->err) {
		rc = -FI_EAVAIL;
	} else if (eq->first && buf && eq->first->bytes > len) {
		rc = -FI_ETOOSMALL;
	} else if (eq->first) {
		/* Without a buffer the program wants the kind of event alone. */
		rc = buf ? (ssize_t)eq->first->bytes : 0;
		if (event)
			*event = eq->first->event;
		if (buf)
			memcpy(buf, eq->first->data, eq->first->bytes);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return rc;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid);
	struct fi_eq_entry entry;
	ssize_t rc = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->err) {
		memcpy(&entry, eq->first->data, sizeof(entry));
		buf->fid = entry.fid;
		buf->context = entry.context;
		buf->data = entry.data;
		buf->err = eq->first->err;
		buf->prov_errno = eq->first->err;
		buf->err_data_size = 0;
		rc = (ssize_t)sizeof(*buf);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return rc;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid);
	struct pollfd p = {.fd = eq->fd, .events = POLLIN};
	int slice_ms;
	ssize_t rc;

	if (eq->wait_obj == FI_WAIT_NONE || eq->wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	for (;;) {
		rc = eq_read(fid, event, buf, len, flags);
		if (rc != -FI_EAGAIN)
			return rc;
		/* A join goes on while its program reads. */
		slice_ms = timeout < 0 || timeout > WF_LOOK_MS ? WF_LOOK_MS : timeout;
		if (!wf_work_joins(eq->fabric))
			slice_ms = timeout;
		rc = poll(&p, 1, slice_ms);
		if (rc < 0)
			return -errno;
		if (timeout > 0 && slice_ms == timeout)
			timeout = 0;
		else if (timeout > 0)
			timeout -= slice_ms;
		if (rc == 0 && timeout == 0)
			return -FI_EAGAIN;
	}
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = fi_strerror(prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len) {
		strncpy(buf, text, len - 1);
		buf[len - 1] = 0;
	}
	return text;
}

static int eq_close(struct fid *fid)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid.fid);

	if (atomic_load(&eq->refs) != 0)
		return -FI_EBUSY;
	while (eq->first)
		drop_first(eq);
	if (eq->wait_set)
		wf_wait_remove(eq->wait_set, fid, eq->fd);
	close(eq->fd);
	pthread_mutex_destroy(&eq->lock);
	atomic_fetch_sub(&eq->fabric->refs, 1);
	free(eq);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct wf_eq *eq = container_of(fid, struct wf_eq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (eq->wait_obj != FI_WAIT_FD && eq->wait_obj != FI_WAIT_UNSPEC)
			return -FI_ENODATA;
		*(int *)arg = eq->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = eq->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops eq_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = wf_no_bind,
    .control = eq_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

struct wf_eq *wf_eq_of(struct fid *fid)
{
	return fid->fclass == FI_CLASS_EQ ? container_of(fid, struct wf_eq, fid.fid) : NULL;
}

int wf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
	       void *context)
{
	struct wf_fabric *f = container_of(fabric, struct wf_fabric, fid);
	enum fi_wait_obj wait_obj = attr ? attr->wait_obj : FI_WAIT_NONE;
	struct wf_eq *e;
	int rc = 0;

	if (attr && (attr->flags & ~(uint64_t)(FI_WRITE | FI_AFFINITY)))
		return -FI_EBADFLAGS;
	if (wait_obj == FI_WAIT_MUTEX_COND || wait_obj == FI_WAIT_POLLFD ||
	    wait_obj > FI_WAIT_POLLFD)
		return -FI_ENOSYS;
	if (wait_obj == FI_WAIT_SET && !attr->wait_set)
		return -FI_EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	e->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (e->fd < 0)
		rc = -errno;
	e->fid.fid.fclass = FI_CLASS_EQ;
	e->fid.fid.context = context;
	e->fid.fid.ops = &eq_fi_ops;
	e->fid.ops = &eq_ops;
	e->fabric = f;
	e->last = &e->first;
	e->flags = attr ? attr->flags : 0;
	e->wait_obj = wait_obj;
	if (!rc && wait_obj == FI_WAIT_SET) {
		rc = wf_wait_add(attr->wait_set, &e->fid.fid, e->fd);
		if (!rc)
			e->wait_set = attr->wait_set;
	}
	if (rc) {
		if (e->fd >= 0)
			close(e->fd);
		free(e);
		return rc;
	}
	pthread_mutex_init(&e->lock, NULL);
	atomic_fetch_add(&f->refs, 1);
	*eq = &e->fid;
	return 0;
}
