/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: wf_msg.c and wf_tagged.c translate the calls of libfabric to wf_send() and wf_recv(),
 * which post operations of the tagged endpoint. wf_dgram.c shares what comes before the posting.
 * fi_msg(3), fi_tagged(3).
 */
#include "host_driver/fabric/wf_srx.h"

/* Adds up the pieces. */
static size_t total_bytes(const struct iovec *iov, size_t count)
{
	size_t i, bytes = 0;

	for (i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* SGEs of inline data, which need no region. Their number. */
static uint32_t inline_sges(const struct iovec *iov, size_t count, struct weft_sge *sge)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (iov[i].iov_len)
			sge[n++] = (struct weft_sge){(uintptr_t)iov[i].iov_base,
						     (uint32_t)iov[i].iov_len, 0};
	}
	return n;
}

static uint32_t send_flags(const struct wf_msg *msg, uint64_t flags)
{
	uint32_t f = msg->tagged ? 0 : WEFT_TAG_MSG;

	if (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		f |= WEFT_TAG_SYNC;
	if (flags & FI_REMOTE_CQ_DATA)
		f |= WEFT_TAG_DATA;
	return f;
}

int wf_send_prepare(struct wf_qp *qp, const struct wf_msg *msg, uint64_t flags, uint32_t max_inline,
		    struct wf_outgoing *out)
{
	struct wf_hold hold = {.count = 0};
	size_t bytes = total_bytes(msg->iov, msg->count);
	int rc;

	if (bytes > qp->max_msg_bytes)
		return -FI_EMSGSIZE;
	out->op = NULL;
	out->wr_id = (uintptr_t)&qp->silent;
	out->in_line = bytes <= max_inline;
	if (out->in_line) {
		out->num_sge = inline_sges(msg->iov, msg->count, out->sge);
	} else if (flags & FI_INJECT) {
		return -FI_EMSGSIZE;
	} else {
		rc = wf_mr_sges(qp->domain, msg->iov, msg->desc, msg->count, WF_USE_SEND, out->sge,
				&hold);
		if (rc < 0)
			return rc;
		out->num_sge = (uint32_t)rc;
	}
	if (!wf_op_needed(qp, WF_SENDS, flags, &hold))
		return 0;
	out->op = wf_op_get(qp, qp->tx_cq, 1);
	if (!out->op) {
		wf_mr_release(qp->domain, &hold, 0);
		return -FI_EAGAIN;
	}
	out->op->context = msg->context;
	out->op->flags = FI_SEND | (msg->tagged ? FI_TAGGED : FI_MSG);
	out->op->count = WF_SENDS;
	out->op->silent = !(flags & FI_COMPLETION);
	if (hold.count)
		out->op->hold = hold;
	out->wr_id = (uintptr_t)out->op;
	return 0;
}

ssize_t wf_send(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	const struct wf_peer *peer;
	struct wf_outgoing out;
	struct weft_tag_send_wr wr = {.sg_list = out.sge};
	int rc;

	if (!qp->ep)
		return wf_not_open(qp);
	peer = wf_av_peer(qp->av, msg->addr);
	if (!peer || msg->count > WF_IOV)
		return -FI_EINVAL;
	rc = wf_send_prepare(qp, msg, flags, qp->ep->qp->cap.max_inline_bytes, &out);
	if (rc)
		return rc;
	wr.flags = send_flags(msg, flags) | (out.in_line ? WEFT_TAG_INLINE : 0) |
		   (out.op ? 0 : WEFT_TAG_UNSIGNALED);
	wr.num_sge = out.num_sge;
	wr.ah = peer->ah;
	wr.dst_qpn = peer->addr.qpn;
	wr.tag = msg->tag & qp->tag_mask;
	wr.data = msg->data;
	wr.wr_id = out.wr_id;
	rc = weft_tag_send(qp->ep, &wr);
	if (rc && out.op)
		wf_op_drop(out.op);
	return wf_post_result(rc);
}

/* Fills in the matching part of a receive. 0 or a negative errno. */
static int recv_match(struct wf_qp *qp, const struct wf_msg *msg, struct weft_tag_recv_wr *wr)
{
	const struct wf_peer *peer;

	wr->flags = msg->tagged ? 0 : WEFT_TAG_MSG;
	wr->tag = msg->tag & qp->tag_mask;
	wr->ignore = msg->ignore & qp->tag_mask;
	wr->src_qpn = WEFT_TAG_ANY_QPN;
	if (!qp->directed || msg->addr == FI_ADDR_UNSPEC)
		return 0;
	if (qp->is_context && !qp->srx->av)
		return -FI_ENOAV;
	peer = wf_av_peer(qp->is_context ? qp->srx->av : qp->av, msg->addr);
	if (!peer)
		return -FI_EINVAL;
	wr->src_ip = peer->addr.ip;
	wr->src_qpn = peer->addr.qpn;
	return 0;
}

/* Looks for a message; FI_CLAIM and FI_DISCARD say what happens to it. */
static int peek(struct wf_op *op, struct weft_tag_recv_wr *wr, uint64_t flags)
{
	if (flags & FI_CLAIM) {
		op->claims = true;
		wr->flags |= WEFT_TAG_CLAIM;
	}
	if (flags & FI_DISCARD)
		wr->flags |= WEFT_TAG_DISCARD;
	op->count = WF_COUNTS;
	return weft_tag_peek(op->qp->rx_ep, wr);
}

/* Receives or drops the message that a peek with the same context has claimed. */
static int recv_claimed(struct wf_op *op, struct weft_tag_recv_wr *wr, uint64_t flags)
{
	const struct fi_context *context = op->context;

	if (flags & FI_DISCARD)
		wr->flags |= WEFT_TAG_DISCARD;
	return weft_tag_recv_claimed(op->qp->rx_ep, (uint32_t)(uintptr_t)context->internal[0], wr);
}

/* Posts what the flags ask for. 0 or a negative errno. */
static int recv_post(struct wf_op *op, struct weft_tag_recv_wr *wr, uint64_t flags)
{
	if (flags & FI_PEEK)
		return peek(op, wr, flags);
	if (flags & FI_CLAIM)
		return recv_claimed(op, wr, flags);
	if (flags & FI_MULTI_RECV) {
		op->multi = true;
		wf_cq_grow_max(op->cq);
		wr->flags |= WEFT_TAG_MULTI;
		wr->min_free_bytes = op->qp->min_multi_recv_bytes;
	}
	return wf_op_post_recv(op, wr);
}

int wf_recv_prepare(struct wf_qp *qp, const struct wf_msg *msg, uint64_t flags, enum wf_use use,
		    struct weft_sge *sge, uint32_t *num_sge, struct wf_op **out)
{
	struct wf_op *op = qp->is_context ? wf_srx_get(qp->srx, flags & FI_MULTI_RECV)
					  : wf_op_get(qp, qp->rx_cq, 1);
	int rc = 0;

	if (!op)
		return -FI_EAGAIN;
	if (!(flags & (FI_PEEK | FI_DISCARD)))
		rc = wf_mr_sges(qp->domain, msg->iov, msg->desc, msg->count, use, sge, &op->hold);
	if (rc < 0) {
		wf_op_drop(op);
		return rc;
	}
	*num_sge = (uint32_t)rc;
	op->context = msg->context;
	op->buf = msg->count ? msg->iov[0].iov_base : NULL;
	op->flags = FI_RECV | (msg->tagged ? FI_TAGGED : FI_MSG);
	op->count = WF_RECVS;
	op->silent = !(flags & FI_COMPLETION);
	*out = op;
	return 0;
}

static ssize_t recv_one(struct wf_qp *qp, const struct wf_msg *msg, uint64_t flags)
{
	struct weft_sge sge[WF_IOV];
	struct weft_tag_recv_wr wr = {.sg_list = sge};
	struct wf_op *op;
	int rc;

	if ((flags & FI_CLAIM) && !msg->context)
		return -FI_EINVAL;
	if ((flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) && !msg->tagged)
		return -FI_EINVAL;
	rc = recv_match(qp, msg, &wr);
	if (rc)
		return rc;
	rc = wf_recv_prepare(qp, msg, flags, flags & FI_MULTI_RECV ? WF_USE_DIRECT : WF_USE_RECV,
			     sge, &wr.num_sge, &op);
	if (rc)
		return rc;
	wr.wr_id = (uintptr_t)op;
	rc = recv_post(op, &wr, flags);
	if (rc)
		wf_op_drop(op);
	return wf_post_result(rc);
}

ssize_t wf_recv(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	ssize_t rc;

	if (!qp->rx_ep)
		return wf_not_open(qp);
	if (!qp->is_context)
		return recv_one(qp, msg, flags);
	/* Endpoints, and with them queues and addresses, come and go. */
	pthread_mutex_lock(&qp->srx->posting);
	rc = recv_one(qp, msg, flags);
	pthread_mutex_unlock(&qp->srx->posting);
	return rc;
}
