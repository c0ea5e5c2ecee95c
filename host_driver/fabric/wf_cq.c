/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: a queue of the NIC, and the entries that were taken from it and not yet read.
 * Counters take completions, too, so entries may wait here although the queue was not read.
 *
 * The NIC's queue cannot overflow: a request that will complete reserves its place first
 * (wf_cq_reserve()), and the queue grows with the reservations. fi_cq(3).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/fabric/wf_coll.h"

enum {
	QUEUE_FIRST = 64, /* entries */
	GROWTH = 4,
	SLICE_MS = 100, /* a thread that sleeps looks again after this: another may have polled */
};

int wf_cq_errno(const struct weft_wc *wc)
{
	if (wc->vendor_err == WEFT_VENDOR_ERR_NO_MESSAGE)
		return FI_ENOMSG;
	if (wc->vendor_err == WEFT_VENDOR_ERR_CANCELED)
		return FI_ECANCELED;
	switch (wc->status) {
	case WEFT_WC_SUCCESS:
		return 0;
	case WEFT_WC_LOC_LEN_ERR:
		return FI_ETRUNC;
	case WEFT_WC_WR_FLUSH_ERR:
		return FI_ECANCELED;
	case WEFT_WC_LOC_PROT_ERR:
	case WEFT_WC_LOC_ACCESS_ERR:
		return FI_EFAULT;
	case WEFT_WC_REM_ACCESS_ERR:
		return FI_EACCES;
	case WEFT_WC_RETRY_EXC_ERR:
	case WEFT_WC_RESP_TIMEOUT_ERR:
		return FI_EHOSTUNREACH;
	case WEFT_WC_RNR_RETRY_EXC_ERR:
		return FI_ENORX;
	case WEFT_WC_REM_ABORT_ERR:
		return FI_ECONNRESET;
	case WEFT_WC_REM_OP_ERR:
	case WEFT_WC_REM_INV_REQ_ERR:
	case WEFT_WC_REM_INV_RD_REQ_ERR:
		return FI_EREMOTEIO;
	case WEFT_WC_LOC_QP_OP_ERR:
	case WEFT_WC_BAD_RESP_ERR:
	case WEFT_WC_LOC_EEC_OP_ERR:
	case WEFT_WC_MW_BIND_ERR:
	case WEFT_WC_LOC_RDD_VIOL_ERR:
	case WEFT_WC_INV_EECN_ERR:
	case WEFT_WC_INV_EEC_STATE_ERR:
	case WEFT_WC_FATAL_ERR:
	case WEFT_WC_GENERAL_ERR:
		break;
	}
	return FI_EIO;
}

/* Makes the descriptor readable. 0 or a negative errno. */
static int signal_waiters(const struct wf_cq *cq)
{
	uint64_t one = 1;

	return write(cq->signal_fd, &one, sizeof(one)) < 0 ? -errno : 0;
}

void wf_cq_wake(const struct wf_cq *cq)
{
	if (cq->fd >= 0)
		(void)signal_waiters(cq);
}

/* Adds an entry; the ring grows. False: no memory. The lock is held. */
static bool push(struct wf_cq *cq, const struct wf_entry *entry)
{
	size_t count = atomic_load_explicit(&cq->queue_count, memory_order_relaxed);

	if (count == cq->queue_size) {
		size_t i, size = cq->queue_size ? 2 * cq->queue_size : QUEUE_FIRST;
		struct wf_entry *ring = malloc(size * sizeof(*ring));

		if (!ring)
			return false;
		for (i = 0; i < count; i++)
			ring[i] = cq->queue[(cq->queue_head + i) & (cq->queue_size - 1)];
		free(cq->queue);
		cq->queue = ring;
		cq->queue_size = size;
		cq->queue_head = 0;
	}
	cq->queue[(cq->queue_head + count) & (cq->queue_size - 1)] = *entry;
	atomic_store_explicit(&cq->queue_count, count + 1, memory_order_relaxed);
	return true;
}

/* Takes up to WF_POLL completions. Their number, or a negative errno. The lock is held. */
static int poll_once(struct wf_cq *cq, int max)
{
	struct weft_wc wc[WF_POLL];
	struct wf_entry entry;
	int i, n;

	n = weft_poll_cq(cq->cq, max, wc);
	if (n < 0) {
		cq->gone = true;
		return n;
	}
	if (n)
		atomic_fetch_add_explicit(&cq->room, n, memory_order_relaxed);
	for (i = 0; i < n; i++) {
		if (wf_op_done(&wc[i], &entry) && !cq->counts_only && !push(cq, &entry))
			WF_WARN(FI_LOG_CQ, "no memory: a completion is lost\n");
	}
	return n;
}

void wf_cq_take(struct wf_cq *cq)
{
	pthread_mutex_lock(&cq->lock);
	while (poll_once(cq, WF_POLL) == WF_POLL)
		;
	pthread_mutex_unlock(&cq->lock);
}

void wf_cq_progress(struct wf_cq *cq)
{
	wf_cq_take(cq);
	wf_work_progress(cq->domain->fabric);
}

void wf_cq_push(struct wf_cq *cq, const struct wf_entry *entry)
{
	pthread_mutex_lock(&cq->lock);
	if (!cq->counts_only && !push(cq, entry))
		WF_WARN(FI_LOG_CQ, "no memory: a completion is lost\n");
	/* Another thread may sleep for it, and the event may have been taken. */
	if (atomic_load(&cq->sleeps))
		wf_cq_wake(cq);
	pthread_mutex_unlock(&cq->lock);
}

bool wf_cq_ready(struct wf_cq *cq)
{
	wf_cq_progress(cq);
	return atomic_load(&cq->queue_count) != 0;
}

/* Makes the NIC's queue larger. The lock is held. */
static void resize(struct wf_cq *cq, uint32_t want)
{
	if (want > cq->entries && weft_resize_cq(cq->cq, want) == 0) {
		atomic_fetch_add(&cq->room, (int)(want - cq->entries));
		cq->entries = want;
	}
}

void wf_cq_grow_max(struct wf_cq *cq)
{
	pthread_mutex_lock(&cq->lock);
	resize(cq, cq->domain->device.max_cqe);
	pthread_mutex_unlock(&cq->lock);
}

/* Makes the NIC's queue larger if it is all reserved. True if there is room. */
static bool grow(struct wf_cq *cq)
{
	uint32_t max = cq->domain->device.max_cqe;
	bool ok;

	pthread_mutex_lock(&cq->lock);
	if (atomic_load(&cq->room) <= 0)
		resize(cq, cq->entries > max / GROWTH ? max : cq->entries * GROWTH);
	ok = atomic_load(&cq->room) > 0;
	pthread_mutex_unlock(&cq->lock);
	return ok;
}

bool wf_cq_reserve(struct wf_cq *cq)
{
	do {
		if (atomic_fetch_sub_explicit(&cq->room, 1, memory_order_relaxed) > 0)
			return true;
		atomic_fetch_add(&cq->room, 1);
	} while (grow(cq));
	return false;
}

void wf_cq_unreserve(struct wf_cq *cq)
{
	atomic_fetch_add_explicit(&cq->room, 1, memory_order_relaxed);
}

int wf_cq_arm(struct wf_cq *cq)
{
	struct weft_cq *event;
	uint64_t was;
	bool looks;
	int rc;

	/* First: a collective that begins later sees it, and requests an event. */
	atomic_store(&cq->sleeps, true);
	looks = wf_work_arm(cq->domain->fabric);
	pthread_mutex_lock(&cq->lock);
	if (cq->signal_fd >= 0 && read(cq->signal_fd, &was, sizeof(was)) > 0 &&
	    atomic_load(&cq->signaled))
		(void)signal_waiters(cq);
	while (weft_get_cq_event(cq->channel, &event, NULL) == 0)
		weft_ack_cq_events(event, 1);
	rc = weft_req_notify_cq(cq->cq, false);
	while (!rc && poll_once(cq, WF_POLL) == WF_POLL)
		;
	if (atomic_load(&cq->queue_count))
		rc = -FI_EAGAIN;
	pthread_mutex_unlock(&cq->lock);
	return !rc && looks ? WF_LOOK : rc;
}

static size_t entry_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
	case FI_CQ_FORMAT_UNSPEC:
		break;
	}
	return sizeof(struct fi_cq_tagged_entry);
}

/* Drops the first entry. The lock is held. */
static void pop(struct wf_cq *cq)
{
	cq->queue_head = (cq->queue_head + 1) & (cq->queue_size - 1);
	atomic_fetch_sub_explicit(&cq->queue_count, 1, memory_order_relaxed);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid);
	size_t bytes = entry_bytes(cq->format);
	size_t n = 0;
	ssize_t rc = 0;

	wf_work_progress(cq->domain->fabric);
	pthread_mutex_lock(&cq->lock);
	if (atomic_load_explicit(&cq->queue_count, memory_order_relaxed) == 0)
		poll_once(cq, count && count < WF_POLL ? (int)count : WF_POLL);
	while (n < count && atomic_load_explicit(&cq->queue_count, memory_order_relaxed)) {
		const struct wf_entry *first = &cq->queue[cq->queue_head];

		if (first->err) {
			rc = -FI_EAVAIL;
			break;
		}
		/* Every format is the beginning of the longest one. */
		memcpy((char *)buf + n * bytes, &first->e, bytes);
		if (src_addr)
			src_addr[n] = first->source;
		pop(cq);
		n++;
	}
	if (!n && !rc && (count || !atomic_load(&cq->queue_count)))
		rc = cq->gone ? -FI_EIO : -FI_EAGAIN;
	pthread_mutex_unlock(&cq->lock);
	return n ? (ssize_t)n : rc;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid);
	ssize_t rc = -FI_EAGAIN;

	pthread_mutex_lock(&cq->lock);
	if (atomic_load(&cq->queue_count) && cq->queue[cq->queue_head].err) {
		const struct wf_entry *first = &cq->queue[cq->queue_head];

		buf->op_context = first->e.op_context;
		buf->flags = first->e.flags;
		buf->len = first->e.len;
		buf->buf = first->e.buf;
		buf->data = first->e.data;
		buf->tag = first->e.tag;
		buf->olen = first->olen;
		buf->err = first->err;
		buf->prov_errno = first->prov_errno;
		buf->err_data_size = 0;
		rc = 1;
		if (!(flags & FI_PEEK))
			pop(cq);
	}
	pthread_mutex_unlock(&cq->lock);
	return rc;
}

/* Waits for the descriptor; true if fi_cq_signal() was called. */
static bool sleep_once(struct wf_cq *cq, int timeout_ms)
{
	struct pollfd p = {.fd = cq->fd, .events = POLLIN};

	(void)poll(&p, 1, timeout_ms);
	return atomic_exchange(&cq->signaled, false);
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid);
	int slept_ms = 0;
	ssize_t n;

	(void)cond; /* one entry is enough */
	if (cq->fd < 0 || cq->wait_set)
		return -FI_ENOSYS;
	for (;;) {
		int slice_ms = SLICE_MS, rc;

		n = cq_readfrom(fid, buf, count, src_addr);
		if (n != -FI_EAGAIN)
			return n;
		if (timeout >= 0 && slept_ms >= timeout)
			return -FI_EAGAIN;
		rc = wf_cq_arm(cq);
		if (rc == -FI_EAGAIN)
			continue;
		if (rc == WF_LOOK)
			slice_ms = WF_LOOK_MS;
		if (timeout >= 0 && timeout - slept_ms < slice_ms)
			slice_ms = timeout - slept_ms;
		if (sleep_once(cq, slice_ms))
			return -FI_EAGAIN;
		slept_ms += slice_ms;
	}
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid);

	if (cq->fd < 0)
		return -FI_ENOSYS;
	atomic_store(&cq->signaled, true);
	return signal_waiters(cq);
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	uint32_t status = (uint32_t)prov_errno & 0xffff, vendor = (uint32_t)prov_errno >> 16;

	(void)fid;
	(void)err_data;
	if (prov_errno & WF_GOAL_ERRNO) {
		const char *text = GOAL_StrError(-(prov_errno & ~WF_GOAL_ERRNO));

		if (buf && len)
			snprintf(buf, len, "%s", text);
		return buf && len ? buf : text;
	}
	if (buf && len)
		snprintf(buf, len, "%s (%s)", weft_wc_status_str((enum weft_wc_status)status),
			 weft_vendor_err_str(vendor));
	return buf && len ? buf : weft_wc_status_str((enum weft_wc_status)status);
}

/* Makes the descriptor that is readable when the NIC or fi_cq_signal() has raised an event. */
static int open_wait(struct wf_cq *cq)
{
	struct epoll_event event = {.events = EPOLLIN};

	cq->fd = epoll_create1(EPOLL_CLOEXEC);
	cq->signal_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cq->fd < 0 || cq->signal_fd < 0 ||
	    epoll_ctl(cq->fd, EPOLL_CTL_ADD, cq->signal_fd, &event) != 0 ||
	    epoll_ctl(cq->fd, EPOLL_CTL_ADD, cq->channel->fd, &event) != 0)
		return -errno;
	return 0;
}

int wf_cq_init(struct wf_cq *cq, struct wf_domain *domain, uint32_t entries)
{
	int flags;

	cq->domain = domain;
	cq->fd = -1;
	cq->signal_fd = -1;
	pthread_mutex_init(&cq->lock, NULL);
	atomic_fetch_add(&domain->refs, 1);
	if (entries < WF_CQ_SIZE)
		entries = WF_CQ_SIZE;
	if (entries > domain->device.max_cqe)
		entries = domain->device.max_cqe;
	cq->channel = weft_create_comp_channel(domain->context, 0);
	if (!cq->channel)
		return -errno;
	/* A simulated NIC has no descriptors. */
	if (cq->channel->fd >= 0) {
		flags = fcntl(cq->channel->fd, F_GETFL);
		if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
			return -errno;
	}
	cq->cq = weft_create_cq(domain->context, entries, cq->channel, cq);
	if (!cq->cq)
		return -errno;
	cq->entries = entries;
	atomic_store(&cq->room, (int)entries);
	return 0;
}

void wf_cq_fini(struct wf_cq *cq)
{
	struct weft_cq *event;

	if (cq->fd >= 0)
		close(cq->fd);
	if (cq->signal_fd >= 0)
		close(cq->signal_fd);
	if (cq->cq) {
		while (weft_get_cq_event(cq->channel, &event, NULL) == 0)
			weft_ack_cq_events(event, 1);
		wf_expect(weft_destroy_cq(cq->cq), "completion queue");
	}
	if (cq->channel)
		wf_expect(weft_destroy_comp_channel(cq->channel), "completion channel");
	free(cq->queue);
	pthread_mutex_destroy(&cq->lock);
	atomic_fetch_sub(&cq->domain->refs, 1);
}

static int cq_close(struct fid *fid)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid.fid);

	if (atomic_load(&cq->refs) != 0)
		return -FI_EBUSY;
	if (cq->wait_set)
		wf_wait_remove(cq->wait_set, fid, cq->fd);
	wf_cq_fini(cq);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct wf_cq *cq = container_of(fid, struct wf_cq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cq->fd < 0 || cq->wait_set)
			return -FI_ENODATA;
		*(int *)arg = cq->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cq->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops cq_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = wf_no_bind,
    .control = cq_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
	       void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_cq *c;
	int rc;

	if (attr->flags & ~(uint64_t)FI_AFFINITY)
		return -FI_EBADFLAGS;
	if (attr->wait_obj == FI_WAIT_MUTEX_COND || attr->wait_obj == FI_WAIT_POLLFD)
		return -FI_ENOSYS;
	if (attr->format > FI_CQ_FORMAT_TAGGED || attr->wait_obj > FI_WAIT_POLLFD ||
	    (attr->wait_obj == FI_WAIT_SET && !attr->wait_set))
		return -FI_EINVAL;
	if (attr->size > d->device.max_cqe)
		return -FI_EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	rc = wf_cq_init(c, d, (uint32_t)attr->size);
	c->fid.fid.fclass = FI_CLASS_CQ;
	c->fid.fid.context = context;
	c->fid.fid.ops = &cq_fi_ops;
	c->fid.ops = &cq_ops;
	c->format = attr->format;
	if (attr->format == FI_CQ_FORMAT_UNSPEC)
		c->format = attr->format = FI_CQ_FORMAT_TAGGED;
	c->wait_obj = attr->wait_obj;
	if (!rc && attr->wait_obj != FI_WAIT_NONE)
		rc = open_wait(c);
	if (!rc && attr->wait_obj == FI_WAIT_SET) {
		rc = wf_wait_add(attr->wait_set, &c->fid.fid, c->fd);
		if (!rc)
			c->wait_set = attr->wait_set;
	}
	if (rc) {
		wf_cq_fini(c);
		free(c);
		return rc;
	}
	attr->size = c->entries;
	*cq = &c->fid;
	return 0;
}
