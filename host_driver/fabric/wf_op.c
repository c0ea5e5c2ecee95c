/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of an endpoint between posting and completion: their pool, and what a completion of the
 * NIC becomes. wf_send.c, wf_rma.c and wf_atomic.c post them, wf_cq.c polls.
 *
 * Data that comes with an RDMA Write (fi_writedata()) is a message of 0 bytes behind the Write,
 * with the tag WF_NOTE_TAG and the Write's length; the endpoint keeps WF_NOTES receives for such
 * notes.
 */
#include "host_driver/fabric/wf_srx.h"

#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 128
};

struct wf_op_chunk {
	struct wf_op_chunk *next;
	struct wf_op op[CHUNK];
};

void wf_op_init(struct wf_qp *qp)
{
	pthread_mutex_init(&qp->lock, NULL);
	qp->posted.next = qp->posted.prev = &qp->posted;
	qp->silent.qp = qp;
	qp->silent.count = WF_COUNTS;
}

/* Takes a request. NULL: no memory. The lock is held. */
static struct wf_op *take(struct wf_qp *qp)
{
	struct wf_op *op;
	size_t i;

	if (!qp->free) {
		struct wf_op_chunk *chunk = calloc(1, sizeof(*chunk));

		if (!chunk)
			return NULL;
		chunk->next = qp->chunks;
		qp->chunks = chunk;
		for (i = 0; i < CHUNK; i++) {
			chunk->op[i].qp = qp;
			chunk->op[i].next = qp->free;
			qp->free = &chunk->op[i];
		}
	}
	op = qp->free;
	qp->free = op->next;
	op->silent = op->posted = op->claims = op->note = op->multi = false;
	op->err = 0;
	op->join = NULL;
	op->hold.count = 0;
	return op;
}

/* Gives a request back. The lock is held; its regions are released. */
static void give(struct wf_op *op)
{
	struct wf_qp *qp = op->qp;

	if (op->posted) {
		op->prev->next = op->next;
		op->next->prev = op->prev;
	}
	op->posted = false;
	op->parts = 0;
	op->next = qp->free;
	qp->free = op;
}

struct wf_op *wf_op_get(struct wf_qp *qp, struct wf_cq *cq, uint8_t parts)
{
	struct wf_op *op = NULL;
	uint8_t i;

	for (i = 0; i < parts && wf_cq_reserve(cq); i++)
		;
	if (i == parts) {
		pthread_mutex_lock(&qp->lock);
		op = take(qp);
		if (op) {
			op->cq = cq;
			op->parts = parts;
		}
		pthread_mutex_unlock(&qp->lock);
	}
	while (!op && i--)
		wf_cq_unreserve(cq);
	return op;
}

void wf_op_drop(struct wf_op *op)
{
	struct wf_qp *qp = op->qp;
	uint8_t i;

	if (qp->is_context)
		wf_srx_give(qp->srx);
	for (i = 0; i < op->parts; i++)
		wf_cq_unreserve(op->cq);
	wf_mr_release(qp->domain, &op->hold, 0);
	pthread_mutex_lock(&qp->lock);
	give(op);
	pthread_mutex_unlock(&qp->lock);
}

void wf_op_fini(struct wf_qp *qp)
{
	struct wf_op_chunk *chunk;
	size_t i;

	while ((chunk = qp->chunks)) {
		for (i = 0; i < CHUNK; i++) {
			struct wf_op *op = &chunk->op[i];

			wf_mr_release(qp->domain, &op->hold, 0);
			if (op->join && op->parts)
				wf_join_done(op->join, op->flags & FI_RECV, false);
			for (; op->parts; op->parts--)
				wf_cq_unreserve(op->cq);
		}
		qp->chunks = chunk->next;
		free(chunk);
	}
	pthread_mutex_destroy(&qp->lock);
}

/* Posts with the lock held: the completion finds the request complete. */
static int post_recv_locked(struct wf_op *op, const struct weft_tag_recv_wr *wr)
{
	struct wf_qp *qp = op->qp;
	int rc = weft_tag_recv(qp->rx_ep, wr, &op->number);

	if (!rc && !op->note) {
		op->posted = true;
		op->prev = qp->posted.prev;
		op->next = &qp->posted;
		op->prev->next = op;
		qp->posted.prev = op;
	}
	return rc;
}

int wf_op_post_recv(struct wf_op *op, const struct weft_tag_recv_wr *wr)
{
	int rc;

	pthread_mutex_lock(&op->qp->lock);
	rc = post_recv_locked(op, wr);
	pthread_mutex_unlock(&op->qp->lock);
	return rc;
}

int wf_op_cancel(struct wf_qp *qp, const void *context)
{
	struct wf_op *op;
	int rc = -FI_ENOENT;

	pthread_mutex_lock(&qp->lock);
	for (op = qp->posted.next; op != &qp->posted; op = op->next) {
		if (op->context != context)
			continue;
		rc = weft_tag_cancel(qp->rx_ep, op->number);
		break;
	}
	pthread_mutex_unlock(&qp->lock);
	return rc == -ENOMEM ? -FI_EAGAIN : rc;
}

void wf_op_cancel_join(struct wf_qp *qp, const struct wf_join *join)
{
	struct wf_op *op;

	pthread_mutex_lock(&qp->lock);
	for (op = qp->posted.next; op != &qp->posted; op = op->next)
		/* A receive that cannot be withdrawn ends with the endpoint. */
		if (op->join == join && weft_tag_cancel(qp->rx_ep, op->number) != 0)
			WF_INFO(FI_LOG_EP_CTRL, "a receive of a join stays posted\n");
	pthread_mutex_unlock(&qp->lock);
}

/* Posts the receive of a note. The lock is held. */
static int post_note_locked(struct wf_op *op)
{
	struct weft_tag_recv_wr wr = {.wr_id = (uintptr_t)op,
				      .src_qpn = WEFT_TAG_ANY_QPN,
				      .tag = WF_NOTE_TAG,
				      .ignore = ~(WF_NOTE_TAG | WF_JOIN_TAG)};

	return post_recv_locked(op, &wr);
}

int wf_op_post_note(struct wf_op *op)
{
	struct wf_qp *qp = op->qp;
	int rc;

	pthread_mutex_lock(&qp->lock);
	rc = post_note_locked(op);
	pthread_mutex_unlock(&qp->lock);
	return rc;
}

int wf_op_post_notes(struct wf_qp *qp)
{
	int i, rc;

	for (i = 0; i < WF_NOTES; i++) {
		struct wf_op *op =
		    qp->is_context ? wf_srx_get(qp->srx, false) : wf_op_get(qp, qp->rx_cq, 1);

		if (!op)
			return -FI_ENOMEM;
		op->note = true;
		op->count = WF_COUNTS;
		op->flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
		op->context = NULL;
		op->buf = NULL;
		rc = wf_op_post_note(op);
		if (rc) {
			wf_op_drop(op);
			return rc;
		}
	}
	return 0;
}

/* Fills in what a datagram brings. */
static void fill_dgram(struct wf_entry *entry, const struct wf_op *op, const struct weft_wc *wc)
{
	if (wc->status != WEFT_WC_SUCCESS)
		return;
	if (wc->flags & WEFT_WC_F_IMM) {
		entry->e.flags |= FI_REMOTE_CQ_DATA;
		entry->e.data = ntohl(wc->imm);
	}
	if (op->qp->source)
		entry->source = wf_av_find(op->qp->av, (struct wf_addr){wc->src_ip, wc->src_qpn});
}

/* Fills in what success and failure have in common; err is set. */
static void fill_at(struct wf_entry *entry, const struct wf_op *op, const struct weft_wc *wc,
		    const struct wf_qp *at)
{
	if (!(op->flags & FI_RECV))
		return;
	entry->e.buf = op->buf;
	entry->e.len = wc->bytes;
	if (op->qp->dgram) {
		fill_dgram(entry, op, wc);
		return;
	}
	entry->e.tag = wc->tag;
	if (entry->err && entry->err != FI_ETRUNC)
		return;
	if (wc->opcode == WEFT_WC_TPEEK)
		entry->e.len = wc->msg_bytes;
	if (entry->err)
		entry->olen = wc->msg_bytes - wc->bytes;
	if (wc->flags & WEFT_WC_WITH_DATA) {
		entry->e.flags |= FI_REMOTE_CQ_DATA;
		entry->e.data = wc->data;
	}
	if (at && at->source && wc->status == WEFT_WC_SUCCESS && wc->src_qpn)
		entry->source = wf_av_find(at->av, (struct wf_addr){wc->src_ip, wc->src_qpn});
}

static void fill_start(struct wf_entry *entry, const struct wf_op *op, int err, int prov_errno)
{
	memset(entry, 0, sizeof(*entry));
	entry->e.op_context = op->context;
	entry->e.flags = op->flags;
	entry->source = FI_ADDR_NOTAVAIL;
	entry->err = err;
	entry->prov_errno = prov_errno;
}

static void fill(struct wf_entry *entry, const struct wf_op *op, const struct weft_wc *wc)
{
	fill_start(entry, op, op->err, op->prov_errno);
	fill_at(entry, op, wc, op->qp);
}

/* The NIC's words, for the program to print. */
static int prov_errno_of(const struct weft_wc *wc)
{
	return (int)((uint32_t)wc->status | wc->vendor_err << 16);
}

void wf_op_fill(struct wf_entry *entry, const struct wf_op *op, const struct weft_wc *wc,
		const struct wf_qp *at)
{
	bool ok = wc->status == WEFT_WC_SUCCESS;

	fill_start(entry, op, ok ? 0 : wf_cq_errno(wc), ok ? 0 : prov_errno_of(wc));
	fill_at(entry, op, wc, at);
}

/* A note has arrived: reports the data and posts its receive again. */
static bool done_note(struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry)
{
	struct wf_qp *qp = op->qp;
	bool ok = wc->status == WEFT_WC_SUCCESS;

	if (ok) {
		fill(entry, op, wc);
		entry->e.len = (uint32_t)wc->tag;
		entry->e.data = wc->data;
	}
	pthread_mutex_lock(&qp->lock);
	if (ok && post_note_locked(op) == 0)
		/* It keeps its place: the caller gives one back. */
		(void)atomic_fetch_sub(&op->cq->room, 1);
	else
		give(op);
	pthread_mutex_unlock(&qp->lock);
	return ok && !(qp->rx_selective);
}

/* One message of a multi-receive buffer. True if the buffer is the application's again. */
static bool done_multi(struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry)
{
	if (wc->status == WEFT_WC_SUCCESS || op->err == FI_ETRUNC)
		entry->e.buf = (char *)op->buf + wc->offset;
	if ((wc->flags & WEFT_WC_RELEASED) || (op->err && op->err != FI_ETRUNC)) {
		entry->e.flags |= FI_MULTI_RECV;
		return true;
	}
	op->err = 0;
	(void)atomic_fetch_sub(&op->cq->room, 1);
	return false;
}

/* An error of a request that was posted without completion. */
static bool done_silent(const struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry)
{
	if (wc->status == WEFT_WC_SUCCESS)
		return false;
	/* It reserved no place. */
	(void)atomic_fetch_sub(&op->qp->tx_cq->room, 1);
	memset(entry, 0, sizeof(*entry));
	entry->e.flags = FI_SEND;
	entry->source = FI_ADDR_NOTAVAIL;
	entry->err = wf_cq_errno(wc);
	entry->prov_errno = prov_errno_of(wc);
	return true;
}

/* Bytes that the NIC has written to the request's memory. */
static size_t written(const struct wf_op *op, const struct weft_wc *wc)
{
	if (op->err && op->err != FI_ETRUNC)
		return 0;
	return op->flags & (FI_RECV | FI_READ) && wc->opcode != WEFT_WC_TPEEK ? wc->bytes : 0;
}

/* A message of a join. */
static void done_join(struct wf_op *op, const struct weft_wc *wc)
{
	struct wf_qp *qp = op->qp;

	op->err = wc->status != WEFT_WC_SUCCESS ? wf_cq_errno(wc) : 0;
	wf_mr_release(qp->domain, &op->hold, written(op, wc));
	wf_join_done(op->join, op->flags & FI_RECV, !op->err);
	pthread_mutex_lock(&qp->lock);
	op->join = NULL;
	give(op);
	pthread_mutex_unlock(&qp->lock);
}

bool wf_op_done(const struct weft_wc *wc, struct wf_entry *entry)
{
	struct wf_op *op = (struct wf_op *)(uintptr_t)wc->wr_id;
	struct wf_qp *qp = op->qp;
	bool over = true, report;

	if (qp->ud && wc->status != WEFT_WC_SUCCESS && !(op->flags & FI_RECV))
		wf_dgram_resume(qp);
	if (op == &qp->silent)
		return done_silent(op, wc, entry);
	if (qp->is_context)
		return wf_srx_done(op, wc, entry);
	if (op->note)
		return done_note(op, wc, entry);
	if (op->join) {
		done_join(op, wc);
		return false;
	}
	if (wc->status != WEFT_WC_SUCCESS && !op->err) {
		op->err = wf_cq_errno(wc);
		op->prov_errno = prov_errno_of(wc);
	}
	if (op->parts > 1) {
		op->parts--;
		return false;
	}
	if (op->claims && !op->err)
		((struct fi_context *)op->context)->internal[0] = (void *)(uintptr_t)wc->claim;
	if (op->count < WF_COUNTS)
		wf_cntr_count(qp->cntr[op->count], !op->err);
	report = !op->silent || op->err;
	fill(entry, op, wc);
	if (op->multi)
		over = done_multi(op, wc, entry);
	if (over) {
		wf_mr_release(qp->domain, &op->hold, written(op, wc));
		pthread_mutex_lock(&qp->lock);
		give(op);
		pthread_mutex_unlock(&qp->lock);
	}
	return report;
}
