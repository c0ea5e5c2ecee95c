/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints: one tagged endpoint (FI_EP_RDM) or UD queue pair (FI_EP_DGRAM) of the NIC each, opened
 * by fi_enable() when its queues are known. wf_cm.c has the calls of fi_cm(3), wf_dgram.c the queue
 * pair; data calls are in wf_msg.c, wf_tagged.c, wf_rma.c and wf_atomic.c. fi_endpoint(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"
#include "host_driver/fabric/wf_srx.h"

/* A place in a queue for each request that completes only if it fails. */
static int reserve_errors(struct wf_qp *qp)
{
	uint32_t i;

	for (i = 0; i < qp->tx_size; i++) {
		if (!wf_cq_reserve(qp->tx_cq)) {
			while (i--)
				wf_cq_unreserve(qp->tx_cq);
			return -FI_ENOMEM;
		}
	}
	return 0;
}

/* Drops the references of bind_all(), and the queue of the endpoint's own. */
static void unbind_all(struct wf_qp *qp)
{
	int i;

	for (i = 0; i < WF_COUNTS; i++) {
		if (qp->cntr[i] && qp->bound)
			wf_cntr_remove_cq(qp->cntr[i], i == WF_RECVS ? qp->rx_cq : qp->tx_cq);
	}
	qp->bound = false;
	if (qp->own_cq) {
		if (qp->tx_cq == qp->own_cq)
			qp->tx_cq = NULL;
		if (qp->rx_cq == qp->own_cq)
			qp->rx_cq = NULL;
		wf_cq_fini(qp->own_cq);
		free(qp->own_cq);
		qp->own_cq = NULL;
	}
}

/* Makes the queue of an endpoint that has none bound, for its counters. 0 or a negative errno. */
static int make_own_cq(struct wf_qp *qp)
{
	int rc;

	qp->own_cq = calloc(1, sizeof(*qp->own_cq));
	if (!qp->own_cq)
		return -FI_ENOMEM;
	qp->own_cq->counts_only = true;
	rc = wf_cq_init(qp->own_cq, qp->domain, WF_CQ_SIZE);
	if (!qp->tx_cq)
		qp->tx_cq = qp->own_cq;
	if (!qp->rx_cq)
		qp->rx_cq = qp->own_cq;
	return rc;
}

/* Lets the endpoint's completions drive its counters. 0 or a negative errno. */
static int bind_all(struct wf_qp *qp)
{
	bool tx_cntr = qp->cntr[WF_SENDS] || qp->cntr[WF_READS] || qp->cntr[WF_WRITES];
	int i, rc = 0;

	if (!qp->av)
		return -FI_ENOAV;
	if (!qp->tx_cq && !tx_cntr && (qp->caps & (FI_SEND | FI_READ | FI_WRITE)))
		return -FI_ENOCQ;
	if (!qp->rx_cq && !qp->cntr[WF_RECVS] && (qp->caps & FI_RECV))
		return -FI_ENOCQ;
	if (!qp->tx_cq || !qp->rx_cq)
		rc = make_own_cq(qp);
	for (i = 0; i < WF_COUNTS && !rc; i++) {
		if (qp->cntr[i])
			rc = wf_cntr_add_cq(qp->cntr[i], i == WF_RECVS ? qp->rx_cq : qp->tx_cq);
	}
	if (rc) {
		while (i-- > 1) {
			if (qp->cntr[i - 1])
				wf_cntr_remove_cq(qp->cntr[i - 1],
						  i - 1 == WF_RECVS ? qp->rx_cq : qp->tx_cq);
		}
	}
	qp->bound = rc == 0;
	return rc;
}

static uint32_t peers_access(uint64_t caps)
{
	uint32_t access = 0;

	if (caps & FI_REMOTE_READ)
		access |= WEFT_ACCESS_REMOTE_READ;
	if (caps & FI_REMOTE_WRITE)
		access |= WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_ATOMIC;
	return access;
}

static void close_nic_ep(struct wf_qp *qp)
{
	/*
	 * A thread that polls handles completions under the queue's lock, and a failed datagram
	 * resumes its queue pair there.
	 */
	pthread_mutex_lock(&qp->tx_cq->lock);
	if (qp->dgram)
		wf_dgram_close(qp);
	else
		weft_close_tag_ep(qp->ep);
	qp->ep = NULL;
	qp->rx_ep = NULL;
	pthread_mutex_unlock(&qp->tx_cq->lock);
	/* A thread that polled completions before has handled them after this. */
	pthread_mutex_lock(&qp->rx_cq->lock);
	pthread_mutex_unlock(&qp->rx_cq->lock);
	wf_srx_leave(qp);
}

static int open_nic_ep(struct wf_qp *qp)
{
	struct weft_tag_attr attr = {.access = peers_access(qp->caps), .qkey = WF_QKEY, .user = qp};

	if (qp->dgram)
		return wf_dgram_open(qp);
	attr.send_cq = qp->tx_cq->cq;
	attr.recv_cq = qp->rx_cq->cq;
	attr.announce = wf_param_announce();
	attr.eager_bytes = wf_param_eager_bytes();
	attr.cap = (struct weft_qp_cap){qp->tx_size, qp->rx_size, WF_IOV, WF_IOV, WF_INJECT_BYTES};
	if (qp->srx)
		return wf_srx_join(qp, &attr);
	qp->ep = weft_open_tag_ep(qp->domain->pd, &attr);
	if (!qp->ep)
		return -errno;
	qp->rx_ep = qp->ep;
	return (qp->caps & FI_RMA) && (qp->caps & FI_REMOTE_WRITE) ? wf_op_post_notes(qp) : 0;
}

static int enable(struct wf_qp *qp)
{
	uint32_t i;
	int rc;

	if (wf_qp_is_open(qp) || (qp->shares_rx && !qp->srx) || (qp->shares_tx && !qp->stx))
		return -FI_EOPBADSTATE;
	rc = bind_all(qp);
	if (rc) {
		unbind_all(qp);
		return rc;
	}
	rc = reserve_errors(qp);
	if (rc) {
		unbind_all(qp);
		return rc;
	}
	rc = open_nic_ep(qp);
	if (rc) {
		WF_WARN(FI_LOG_EP_CTRL, "endpoint: %s\n", strerror(-rc));
		if (wf_qp_is_open(qp))
			close_nic_ep(qp);
		for (i = 0; i < qp->tx_size; i++)
			wf_cq_unreserve(qp->tx_cq);
		unbind_all(qp);
	}
	return rc;
}

static void release(struct wf_qp *qp)
{
	uint32_t i;

	if (wf_qp_is_open(qp)) {
		close_nic_ep(qp);
		for (i = 0; i < qp->tx_size; i++)
			wf_cq_unreserve(qp->tx_cq);
	}
	wf_op_fini(qp);
	wf_join_forget(qp);
	unbind_all(qp);
	for (i = 0; i < WF_COUNTS; i++) {
		if (qp->cntr[i])
			atomic_fetch_sub(&qp->cntr[i]->refs, 1);
	}
	if (qp->tx_cq)
		atomic_fetch_sub(&qp->tx_cq->refs, 1);
	if (qp->rx_cq)
		atomic_fetch_sub(&qp->rx_cq->refs, 1);
	if (qp->av)
		atomic_fetch_sub(&qp->av->refs, 1);
	if (qp->eq)
		wf_eq_ref(qp->eq, -1);
	wf_srx_unbind(qp);
	wf_stx_unbind(qp);
	atomic_fetch_sub(&qp->domain->refs, 1);
	free(qp);
}

static int ep_close(struct fid *fid)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);

	/* Groups end before the endpoint. */
	if (atomic_load(&ep->qp->refs) == 1 && atomic_load(&ep->qp->joined))
		return -FI_EBUSY;
	if (atomic_fetch_sub(&ep->qp->refs, 1) == 1)
		release(ep->qp);
	free(ep);
	return 0;
}

static int bind_cq(struct wf_qp *qp, struct wf_cq *cq, uint64_t flags)
{
	if (cq->domain != qp->domain)
		return -FI_EDOMAIN;
	if (!(flags & (FI_TRANSMIT | FI_RECV)) ||
	    (flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)))
		return -FI_EBADFLAGS;
	if (((flags & FI_TRANSMIT) && qp->tx_cq) || ((flags & FI_RECV) && qp->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		qp->tx_cq = cq;
		qp->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		atomic_fetch_add(&cq->refs, 1);
	}
	if (flags & FI_RECV) {
		qp->rx_cq = cq;
		qp->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		atomic_fetch_add(&cq->refs, 1);
	}
	return 0;
}

static int bind_cntr(struct wf_qp *qp, struct wf_cntr *cntr, uint64_t flags)
{
	static const uint64_t flag[WF_COUNTS] = {[WF_SENDS] = FI_SEND,
						 [WF_RECVS] = FI_RECV,
						 [WF_READS] = FI_READ,
						 [WF_WRITES] = FI_WRITE};
	int i;

	if (cntr->domain != qp->domain)
		return -FI_EDOMAIN;
	/*
	 * Peers' RDMA counts in endpoints with FI_RMA_EVENT, which there are none of: a counter of
	 * nothing else is refused.
	 */
	if (flags && !(flags & ~(uint64_t)(FI_REMOTE_READ | FI_REMOTE_WRITE)))
		return -FI_ENOSYS;
	flags &= ~(uint64_t)(FI_REMOTE_READ | FI_REMOTE_WRITE);
	if (!flags || (flags & ~(uint64_t)(FI_SEND | FI_RECV | FI_READ | FI_WRITE)))
		return -FI_EBADFLAGS;
	for (i = 0; i < WF_COUNTS; i++) {
		if ((flags & flag[i]) && qp->cntr[i])
			return -FI_EINVAL;
	}
	for (i = 0; i < WF_COUNTS; i++) {
		if (flags & flag[i]) {
			qp->cntr[i] = cntr;
			atomic_fetch_add(&cntr->refs, 1);
		}
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_qp *qp = container_of(fid, struct wf_ep, fid.fid)->qp;
	struct wf_av *av;

	if (wf_qp_is_open(qp))
		return -FI_EOPBADSTATE;
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(qp, container_of(bfid, struct wf_cq, fid.fid), flags);
	case FI_CLASS_CNTR:
		return bind_cntr(qp, container_of(bfid, struct wf_cntr, fid.fid), flags);
	case FI_CLASS_AV:
		av = container_of(bfid, struct wf_av, fid.fid);
		if (qp->av || av->domain != qp->domain)
			return qp->av ? -FI_EINVAL : -FI_EDOMAIN;
		qp->av = av;
		atomic_fetch_add(&av->refs, 1);
		return 0;
	case FI_CLASS_SRX_CTX:
		return wf_srx_bind(qp, bfid);
	case FI_CLASS_STX_CTX:
		return wf_stx_bind(qp, bfid);
	case FI_CLASS_EQ:
		if (qp->eq)
			return -FI_EINVAL;
		qp->eq = wf_eq_of(bfid);
		wf_eq_ref(qp->eq, 1);
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static struct wf_ep *ep_new(struct wf_qp *qp, void *context);

static int ep_alias(struct wf_ep *ep, const struct fi_alias *alias)
{
	struct wf_ep *other;

	if (alias->flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV | WF_TX_FLAGS | WF_RX_FLAGS))
		return -FI_EBADFLAGS;
	other = ep_new(ep->qp, ep->fid.fid.context);
	if (!other)
		return -FI_ENOMEM;
	other->tx_flags = ep->tx_flags;
	other->rx_flags = ep->rx_flags;
	if (alias->flags & FI_TRANSMIT)
		other->tx_flags = alias->flags & WF_TX_FLAGS;
	if (alias->flags & FI_RECV)
		other->rx_flags = alias->flags & WF_RX_FLAGS;
	*alias->fid = &other->fid.fid;
	return 0;
}

/* Changes or returns the op_flags of one direction. */
static int ops_flags(struct wf_ep *ep, uint64_t *flags, bool set)
{
	bool tx = *flags & FI_TRANSMIT, rx = *flags & FI_RECV;
	uint64_t value = *flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV);

	if (tx == rx || (set && (value & ~(tx ? WF_TX_FLAGS : WF_RX_FLAGS))))
		return -FI_EINVAL;
	if (set && tx)
		ep->tx_flags = value;
	else if (set)
		ep->rx_flags = value;
	else
		*flags = tx ? ep->tx_flags : ep->rx_flags;
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);

	switch (command) {
	case FI_ENABLE:
		return enable(ep->qp);
	case FI_ALIAS:
		return ep_alias(ep, arg);
	case FI_GETOPSFLAG:
		return ops_flags(ep, arg, false);
	case FI_SETOPSFLAG:
		return ops_flags(ep, arg, true);
	default:
		return -FI_ENOSYS;
	}
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);

	/* The NIC does not withdraw a datagram's receive. */
	return ep->qp->rx_ep ? wf_op_cancel(ep->qp, context) : wf_not_open(ep->qp);
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);
	size_t value = ep->qp->min_multi_recv_bytes;

	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_MIN_MULTI_RECV || ep->qp->dgram)
		return -FI_ENOPROTOOPT;
	if (*optlen < sizeof(value))
		return -FI_ETOOSMALL;
	memcpy(optval, &value, sizeof(value));
	*optlen = sizeof(value);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid.fid);
	size_t value;

	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_MIN_MULTI_RECV || ep->qp->dgram)
		return -FI_ENOPROTOOPT;
	if (optlen < sizeof(value))
		return -FI_EINVAL;
	memcpy(&value, optval, sizeof(value));
	if (value > UINT32_MAX)
		return -FI_EINVAL;
	ep->qp->min_multi_recv_bytes = (uint32_t)value;
	return 0;
}

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		     void *context)
{
	(void)sep;
	(void)index;
	(void)attr;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		     void *context)
{
	(void)sep;
	(void)index;
	(void)attr;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t no_size_left(struct fid_ep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

static struct fi_ops ep_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = ep_cancel,
    .getopt = ep_getopt,
    .setopt = ep_setopt,
    .tx_ctx = no_tx_ctx,
    .rx_ctx = no_rx_ctx,
    .rx_size_left = no_size_left,
    .tx_size_left = no_size_left,
};

/* Makes a public endpoint on qp, which it then refers to. */
static struct wf_ep *ep_new(struct wf_qp *qp, void *context)
{
	struct wf_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &wf_cm_ops;
	ep->fid.msg = &wf_msg_ops;
	ep->fid.rma = &wf_rma_ops;
	ep->fid.tagged = &wf_tagged_ops;
	ep->fid.atomic = &wf_atomic_ops;
	ep->fid.collective = &wf_coll_ops;
	ep->qp = qp;
	atomic_fetch_add(&qp->refs, 1);
	return ep;
}

int wf_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_qp *qp;
	struct wf_ep *e;

	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr ||
	    (info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_DGRAM))
		return -FI_EINVAL;
	if (info->tx_attr->size > WF_TX_SIZE || info->rx_attr->size > d->device.max_wr)
		return -FI_EINVAL;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -FI_ENOMEM;
	e = ep_new(qp, context);
	if (!e) {
		free(qp);
		return -FI_ENOMEM;
	}
	qp->domain = d;
	qp->dgram = info->ep_attr->type == FI_EP_DGRAM;
	qp->shares_tx = info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT;
	qp->shares_rx = info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	qp->caps = info->caps;
	/* Joins receive from one endpoint of a process. */
	if (qp->shares_rx)
		qp->caps &= ~(uint64_t)FI_COLLECTIVE;
	qp->max_msg_bytes = info->ep_attr->max_msg_size;
	qp->tx_size = info->tx_attr->size ? (uint32_t)info->tx_attr->size : WF_TX_SIZE;
	qp->rx_size = info->rx_attr->size ? (uint32_t)info->rx_attr->size : WF_RX_SIZE;
	qp->source = info->caps & FI_SOURCE;
	qp->directed = info->caps & FI_DIRECTED_RECV;
	qp->tag_mask = info->caps & WF_OWN_TAGS ? ~WF_NOTE_TAG : ~UINT64_C(0);
	qp->min_multi_recv_bytes = WF_MIN_MULTI_RECV;
	wf_op_init(qp);
	e->tx_flags = info->tx_attr->op_flags;
	e->rx_flags = info->rx_attr->op_flags;
	atomic_fetch_add(&d->refs, 1);
	*ep = &e->fid;
	return 0;
}

/* ---- the part of a shared receive context (wf_srx.c) */

void wf_ep_free_context(struct wf_ep *ep)
{
	struct wf_qp *qp = ep->qp;

	if (qp->rx_ep)
		weft_close_tag_ep(qp->rx_ep);
	/* Its requests have no places in queues of endpoints, since there are none. */
	wf_op_fini(qp);
	unbind_all(qp);
	atomic_fetch_sub(&qp->domain->refs, 1);
	free(qp);
	free(ep);
}

int wf_ep_new_context(struct wf_domain *domain, const struct fi_rx_attr *attr, struct wf_srx *srx,
		      void *context, struct wf_ep **out)
{
	uint64_t caps = attr && attr->caps ? attr->caps : domain->caps;
	struct weft_tag_attr tag = {.qkey = WF_QKEY, .context = true};
	struct wf_qp *qp = calloc(1, sizeof(*qp));
	struct wf_ep *ep = qp ? ep_new(qp, context) : NULL;
	int rc;

	if (!ep) {
		free(qp);
		return -FI_ENOMEM;
	}
	srx->qp = qp;
	qp->srx = srx;
	qp->is_context = true;
	qp->domain = domain;
	qp->rx_size = attr && attr->size ? (uint32_t)attr->size : WF_RX_SIZE;
	qp->directed = caps & FI_DIRECTED_RECV;
	qp->tag_mask = domain->caps & WF_OWN_TAGS ? ~WF_NOTE_TAG : ~UINT64_C(0);
	qp->min_multi_recv_bytes = WF_MIN_MULTI_RECV;
	/* Endpoints say whether receives without FI_COMPLETION are reported. */
	qp->rx_selective = true;
	wf_op_init(qp);
	ep->rx_flags = attr ? attr->op_flags : 0;
	atomic_fetch_add(&domain->refs, 1);
	rc = make_own_cq(qp);
	if (!rc) {
		tag.send_cq = tag.recv_cq = qp->own_cq->cq;
		tag.user = qp;
		tag.cap = (struct weft_qp_cap){1, qp->rx_size, WF_IOV, WF_IOV, 0};
		qp->rx_ep = weft_open_tag_ep(domain->pd, &tag);
		rc = qp->rx_ep ? 0 : -errno;
	}
	if (rc) {
		WF_WARN(FI_LOG_EP_CTRL, "shared receive context: %s\n", strerror(-rc));
		wf_ep_free_context(ep);
		return rc;
	}
	*out = ep;
	return 0;
}
