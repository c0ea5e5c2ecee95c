/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive contexts: a context of the NIC (weft_tag.h), whose receives its endpoints take.
 *
 * The context has a wf_qp for its requests. A receive completes in the queue of the endpoint that
 * took the message, so it has a place in the queues of all endpoints (wf_srx.cqs). Its own queue
 * gets what ends while there is no endpoint; the next endpoint's queue reports that. Calls wf_op.c
 * and wf_ep.c. fi_endpoint(3), docs/tagged.md "Contexts".
 */
#include "host_driver/fabric/wf_srx.h"

#include <stdlib.h>
#include <string.h>

/* ---- places in the queues of endpoints */

static void unreserve(struct wf_cq *cq, uint32_t n)
{
	while (n--)
		wf_cq_unreserve(cq);
}

/* True if n places were free. */
static bool reserve(struct wf_cq *cq, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!wf_cq_reserve(cq)) {
			unreserve(cq, i);
			return false;
		}
	}
	return true;
}

static struct wf_srx_cq *find_cq(struct wf_srx *srx, const struct wf_cq *cq)
{
	size_t i;

	for (i = 0; i < srx->num_cqs; i++)
		if (srx->cqs[i].cq == cq)
			return &srx->cqs[i];
	return NULL;
}

/* Gives all requests a place in this queue, too. 0 or a negative errno. posting is held. */
static int add_cq(struct wf_srx *srx, struct wf_cq *cq)
{
	struct wf_srx_cq *at = find_cq(srx, cq), *more;
	uint32_t places;
	int rc = 0;

	if (at) {
		at->refs++;
		return 0;
	}
	if (srx->multi)
		wf_cq_grow_max(cq);
	pthread_mutex_lock(&srx->lock);
	places = srx->posted;
	pthread_mutex_unlock(&srx->lock);
	if (!reserve(cq, places))
		return -FI_ENOMEM;
	pthread_mutex_lock(&srx->lock);
	more = realloc(srx->cqs, (srx->num_cqs + 1) * sizeof(*more));
	if (more) {
		srx->cqs = more;
		srx->cqs[srx->num_cqs++] = (struct wf_srx_cq){cq, 1};
		/* Some have completed meanwhile. */
		places -= srx->posted;
	} else {
		rc = -FI_ENOMEM;
	}
	pthread_mutex_unlock(&srx->lock);
	unreserve(cq, places);
	return rc;
}

/* posting is held. */
static void remove_cq(struct wf_srx *srx, struct wf_cq *cq)
{
	struct wf_srx_cq *at = find_cq(srx, cq);

	if (--at->refs)
		return;
	pthread_mutex_lock(&srx->lock);
	*at = srx->cqs[--srx->num_cqs];
	unreserve(cq, srx->posted);
	pthread_mutex_unlock(&srx->lock);
}

struct wf_op *wf_srx_get(struct wf_srx *srx, bool multi)
{
	struct wf_op *op = NULL;
	size_t i, n = 0;

	for (i = 0; i < srx->num_cqs; i++, n++) {
		if (multi)
			wf_cq_grow_max(srx->cqs[i].cq);
		if (!wf_cq_reserve(srx->cqs[i].cq))
			break;
	}
	if (n == srx->num_cqs)
		op = wf_op_get(srx->qp, srx->qp->rx_cq, 1);
	while (!op && n--)
		wf_cq_unreserve(srx->cqs[n].cq);
	if (!op)
		return NULL;
	pthread_mutex_lock(&srx->lock);
	srx->posted++;
	srx->multi |= multi;
	pthread_mutex_unlock(&srx->lock);
	return op;
}

void wf_srx_give(struct wf_srx *srx)
{
	size_t i;

	pthread_mutex_lock(&srx->lock);
	srx->posted--;
	for (i = 0; i < srx->num_cqs; i++)
		wf_cq_unreserve(srx->cqs[i].cq);
	pthread_mutex_unlock(&srx->lock);
}

/* ---- completions */

/* The endpoint of a completion; NULL: none, it came in the queue of the context. */
static struct wf_qp *member_of(struct wf_srx *srx, uint32_t qpn)
{
	struct wf_qp *qp;

	pthread_mutex_lock(&srx->lock);
	for (qp = srx->members[qpn % WF_SRX_HASH]; qp && qp->joined_qpn != qpn;
	     qp = qp->next_member)
		;
	pthread_mutex_unlock(&srx->lock);
	return qp;
}

/* Data has come with an RDMA Write to an endpoint. */
static bool done_note(struct wf_op *op, const struct weft_wc *wc, const struct wf_qp *at,
		      struct wf_entry *entry)
{
	bool ok = wc->status == WEFT_WC_SUCCESS;

	if (ok) {
		wf_op_fill(entry, op, wc, at);
		entry->e.len = (uint32_t)wc->tag;
		entry->e.data = wc->data;
	}
	if (!ok || wf_op_post_note(op) != 0)
		wf_op_drop(op);
	return ok && at && !at->rx_selective;
}

/* Fills in a message of a buffer of many, or its release. */
static void fill_multi(const struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry)
{
	bool message = wc->src_qpn != 0;

	entry->e.buf = message ? (char *)op->buf + wc->offset : NULL;
	if (!message && !entry->err)
		entry->e.flags = 0;
	if (wc->flags & WEFT_WC_RELEASED)
		entry->e.flags |= FI_MULTI_RECV;
}

bool wf_srx_done(struct wf_op *op, const struct weft_wc *wc, struct wf_entry *entry)
{
	struct wf_qp *qp = op->qp, *at = member_of(qp->srx, wc->qpn);
	bool over = !op->multi || wc->flags & WEFT_WC_RELEASED, report;
	bool message = !op->multi || wc->src_qpn;

	/* The place that the reader of the queue gives back is given back with the request. */
	(void)atomic_fetch_sub(at ? &at->rx_cq->room : &qp->rx_cq->room, 1);
	if (op->note)
		return done_note(op, wc, at, entry);
	wf_op_fill(entry, op, wc, at);
	if (op->claims && !entry->err)
		((struct fi_context *)op->context)->internal[0] = (void *)(uintptr_t)wc->claim;
	if (op->multi)
		fill_multi(op, wc, entry);
	if (at && op->count < WF_COUNTS && message)
		wf_cntr_count(at->cntr[op->count], !entry->err);
	report =
	    !op->silent || !at || !at->rx_selective || entry->err || entry->e.flags & FI_MULTI_RECV;
	if (over) {
		wf_mr_release(qp->domain, &op->hold,
			      entry->err && entry->err != FI_ETRUNC ? 0 : wc->bytes);
		wf_op_drop(op);
	}
	return report;
}

/* Reports to an endpoint what has ended while there was none. */
static void drain(struct wf_srx *srx, struct wf_cq *to)
{
	struct wf_cq *own = srx->qp->rx_cq;
	struct wf_entry entry;
	struct weft_wc wc;

	pthread_mutex_lock(&own->lock);
	while (weft_poll_cq(own->cq, 1, &wc) == 1) {
		wf_cq_unreserve(own);
		if (wf_srx_done((struct wf_op *)(uintptr_t)wc.wr_id, &wc, &entry))
			wf_cq_push(to, &entry);
	}
	pthread_mutex_unlock(&own->lock);
}

/* Completions that were not read when their endpoint was closed are discarded, not their memory. */
static void discard(struct wf_srx *srx)
{
	struct wf_entry entry;
	struct weft_wc wc;

	while (weft_take_tag_orphans(srx->qp->rx_ep, 1, &wc) == 1) {
		wf_cq_unreserve(srx->qp->rx_cq);
		wc.qpn = srx->qp->rx_ep->qp->qpn;
		(void)wf_srx_done((struct wf_op *)(uintptr_t)wc.wr_id, &wc, &entry);
	}
}

/* ---- endpoints come and go */

int wf_srx_bind(struct wf_qp *qp, struct fid *fid)
{
	struct wf_qp *context = container_of(fid, struct wf_ep, fid.fid)->qp;

	if (context->domain != qp->domain)
		return -FI_EDOMAIN;
	if (!qp->shares_rx || qp->srx || qp->tag_mask != context->tag_mask)
		return -FI_EINVAL;
	qp->srx = context->srx;
	atomic_fetch_add(&qp->srx->refs, 1);
	return 0;
}

void wf_srx_unbind(struct wf_qp *qp)
{
	if (qp->srx)
		atomic_fetch_sub(&qp->srx->refs, 1);
}

/* Posts the context's receives for data of RDMA Writes, with the first endpoint that needs them. */
static int post_notes(struct wf_srx *srx, uint64_t caps)
{
	int rc;

	if (srx->noted || !(caps & FI_RMA) || !(caps & FI_REMOTE_WRITE))
		return 0;
	rc = wf_op_post_notes(srx->qp);
	srx->noted = !rc;
	return rc;
}

/* No completion of the endpoint is handled before the context knows it. */
static int open_member(struct wf_srx *srx, struct wf_qp *qp, struct weft_tag_attr *attr)
{
	struct wf_qp **head;

	pthread_mutex_lock(&qp->rx_cq->lock);
	qp->ep = weft_open_tag_ep(qp->domain->pd, attr);
	if (qp->ep) {
		pthread_mutex_lock(&srx->lock);
		qp->joined_qpn = qp->ep->qp->qpn;
		head = &srx->members[qp->joined_qpn % WF_SRX_HASH];
		qp->next_member = *head;
		*head = qp;
		srx->num_members++;
		srx->av = qp->av;
		pthread_mutex_unlock(&srx->lock);
	}
	pthread_mutex_unlock(&qp->rx_cq->lock);
	return qp->ep ? 0 : -errno;
}

int wf_srx_join(struct wf_qp *qp, struct weft_tag_attr *attr)
{
	struct wf_srx *srx = qp->srx;
	int rc;

	attr->receives_of = srx->qp->rx_ep;
	pthread_mutex_lock(&srx->posting);
	rc = srx->av && srx->av != qp->av ? -FI_EINVAL : add_cq(srx, qp->rx_cq);
	if (!rc) {
		rc = open_member(srx, qp, attr);
		if (rc)
			remove_cq(srx, qp->rx_cq);
	}
	if (!rc) {
		qp->joined_srx = true;
		rc = post_notes(srx, qp->caps);
	}
	if (!rc)
		drain(srx, qp->rx_cq);
	pthread_mutex_unlock(&srx->posting);
	return rc;
}

void wf_srx_leave(struct wf_qp *qp)
{
	struct wf_srx *srx = qp->srx;
	struct wf_qp **at;

	if (!srx || !qp->joined_srx)
		return;
	pthread_mutex_lock(&srx->posting);
	pthread_mutex_lock(&srx->lock);
	for (at = &srx->members[qp->joined_qpn % WF_SRX_HASH]; *at != qp; at = &(*at)->next_member)
		;
	*at = qp->next_member;
	if (!--srx->num_members)
		srx->av = NULL;
	pthread_mutex_unlock(&srx->lock);
	remove_cq(srx, qp->rx_cq);
	discard(srx);
	pthread_mutex_unlock(&srx->posting);
	qp->joined_srx = false;
}

/* ---- the object */

static int srx_close(struct fid *fid)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);
	struct wf_srx *srx = ep->qp->srx;

	if (atomic_load(&srx->refs))
		return -FI_EBUSY;
	wf_ep_free_context(ep);
	pthread_mutex_destroy(&srx->posting);
	pthread_mutex_destroy(&srx->lock);
	free(srx->cqs);
	free(srx);
	return 0;
}

static int srx_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	/* It takes receives from the beginning. */
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops srx_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = srx_close,
    .bind = wf_no_bind,
    .control = srx_control,
    .ops_open = wf_no_ops_open,
};

static bool are_sound(const struct wf_domain *domain, const struct fi_rx_attr *attr)
{
	return !attr ||
	       (attr->size <= domain->device.max_wr && attr->iov_limit <= WF_IOV &&
		!(attr->caps & ~(uint64_t)(WF_RX_CAPS | WF_TX_CAPS | WF_DOMAIN_CAPS)) &&
		!(attr->op_flags & ~(uint64_t)WF_RX_FLAGS) && !(attr->msg_order & ~WF_ORDER));
}

int wf_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_srx *s;
	struct wf_ep *ep;
	int rc;

	if (!are_sound(d, attr))
		return -FI_EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -FI_ENOMEM;
	pthread_mutex_init(&s->posting, NULL);
	pthread_mutex_init(&s->lock, NULL);
	rc = wf_ep_new_context(d, attr, s, context, &ep);
	if (rc) {
		pthread_mutex_destroy(&s->posting);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return rc;
	}
	ep->fid.fid.fclass = FI_CLASS_SRX_CTX;
	ep->fid.fid.ops = &srx_fi_ops;
	*srx = &ep->fid;
	return 0;
}
