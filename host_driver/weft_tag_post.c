/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: sends, receives, peeks, cancelling.
 *
 * A send is a request of the send queue, which leaves the queue when its envelope is acknowledged:
 * sq_cons frees its place, its completion may come much later and in any order. Operations of the
 * receive queue leave it as soon as the NIC has seen their doorbell. weft_tag_done.c has the tables
 * of outstanding requests; weft_post.c the ring. nic_fw/tag reads both queues.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_post.h"
#include "host_driver/weft_tag_priv.h"

enum {
	SEND_FLAGS =
	    WEFT_TAG_MSG | WEFT_TAG_UNSIGNALED | WEFT_TAG_INLINE | WEFT_TAG_SYNC | WEFT_TAG_DATA,
	RECV_FLAGS = WEFT_TAG_MSG | WEFT_TAG_UNSIGNALED | WEFT_TAG_MULTI,
	PEEK_FLAGS = WEFT_TAG_MSG | WEFT_TAG_CLAIM | WEFT_TAG_DISCARD,
	CLAIMED_FLAGS = WEFT_TAG_MSG | WEFT_TAG_UNSIGNALED | WEFT_TAG_DISCARD,
};

/* The QP's own Q_Key is used (IBA 10.2.5). */
#define OWN_QKEY 0x80000000u

static struct weft_tag *tag_of(struct weft_tag_ep *ep)
{
	return weft_container_of(ep, struct weft_tag, pub);
}

static struct weft_qp_obj *qp_of(const struct weft_tag_ep *ep)
{
	return weft_container_of(ep->qp, struct weft_qp_obj, pub);
}

/* A wr_id that looks like a token would name the slot of another request. */
static bool is_bad_wr_id(uint32_t flags, uint64_t wr_id)
{
	return flags & WEFT_TAG_UNSIGNALED && weft_tag_is_token(wr_id);
}

static int check_send(const struct weft_qp *qp, const struct weft_tag_send_wr *wr)
{
	if (wr->flags & ~(uint32_t)SEND_FLAGS || !wr->ah || is_bad_wr_id(wr->flags, wr->wr_id))
		return -EINVAL;
	return wr->flags & WEFT_TAG_INLINE || wr->num_sge <= qp->cap.max_send_sge ? 0 : -EINVAL;
}

static void fill_send(struct hw_sq_wqe *w, const struct weft_tag_send_wr *wr)
{
	w->opcode = HW_WQE_TSEND;
	w->flags = (uint8_t)((wr->flags & WEFT_TAG_UNSIGNALED ? 0 : HW_WQE_F_SIGNALED) |
			     (wr->flags & WEFT_TAG_INLINE ? HW_WQE_F_INLINE : 0));
	w->imm_inv = 0;
	w->wr_id = wr->wr_id;
	w->ah = wr->ah->handle;
	w->dst_qpn = wr->dst_qpn;
	w->qkey = OWN_QKEY;
	w->remote_addr = 0;
	w->rkey = 0;
	w->mw_access = (wr->flags & WEFT_TAG_SYNC ? HW_TSEND_F_SYNC : 0) |
		       (wr->flags & WEFT_TAG_MSG ? HW_TSEND_F_MSG : 0) |
		       (wr->flags & WEFT_TAG_DATA ? HW_TSEND_F_DATA : 0);
	w->compare_add = wr->tag;
	w->swap = wr->flags & WEFT_TAG_DATA ? wr->data : 0;
}

/* Takes a place in the ring and a slot of the table, or neither. Under sq->lock. */
static int put_send(struct weft_tag *tag, struct weft_qp_obj *qp, union weft_sq_build *build)
{
	bool tracked = build->ctrl.flags & HW_WQE_F_SIGNALED;
	uint64_t wr_id = build->ctrl.wr_id;
	int rc;

	if (tracked && !weft_tag_slot_next(&tag->sends, &build->ctrl.wr_id))
		return -ENOMEM;
	rc = weft_sq_put(qp, build, false);
	if (rc == 0 && tracked)
		weft_tag_slot_take(&tag->sends, build->ctrl.wr_id, wr_id, WEFT_WC_TSEND, false);
	return rc;
}

int weft_tag_send(struct weft_tag_ep *ep, const struct weft_tag_send_wr *wr)
{
	struct weft_qp_obj *qp = qp_of(ep);
	struct weft_ctx *ctx = weft_ctx_of(ep->qp->context);
	union weft_sq_build build;
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	rc = check_send(ep->qp, wr);
	if (rc == 0)
		rc = weft_sq_data(&build, ep->qp, wr->sg_list, wr->num_sge,
				  wr->flags & WEFT_TAG_INLINE);
	if (rc < 0)
		return rc;
	fill_send(&build.ctrl, wr);
	weft_lock_take(&qp->sq.lock);
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		rc = -EIO;
	else if (!weft_sq_may_send(__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE)))
		rc = -EINVAL;
	else
		rc = put_send(tag_of(ep), qp, &build);
	if (rc == 0) {
		weft_barrier_sq_publish(qp->record, qp->sq.head);
		weft_db_ring(ctx, &qp->record->rung, HW_DB_ENTRY(HW_DB_SQ, ep->qp->qpn));
	}
	weft_lock_give(&qp->sq.lock);
	return rc;
}

/* Writes one operation with the SGEs of wr (NULL: none) into the ring. Under rq->lock. */
static int put_op(struct weft_qp_obj *qp, const struct hw_tag_rq_wqe *op,
		  const struct weft_sge *sg_list)
{
	struct weft_rq *rq = &qp->rq;
	uint8_t *at = rq->ring + (size_t)(rq->head & (rq->entries - 1)) * rq->stride_bytes;

	/* The NIC writes rq_cons with each doorbell: the line is read only where it counts. */
	if (rq->head - qp->rq_taken >= qp->pub.cap.max_recv_wr) {
		/* R2: the NIC has copied the operations before rq_cons. */
		qp->rq_taken = weft_barrier_rq_cons(&qp->record->rq_cons);
		if (rq->head - qp->rq_taken >= qp->pub.cap.max_recv_wr)
			return -ENOMEM;
	}
	memcpy(at, op, sizeof(*op));
	if (op->num_sge)
		memcpy(at + sizeof(*op), sg_list, op->num_sge * sizeof(*sg_list));
	rq->head++;
	return 0;
}

/*
 * Posts an operation. opcode: of its completion; WEFT_WC_TSEND: it has none of its own. *number:
 * its place in the queue.
 */
static int post_op(struct weft_tag_ep *ep, struct hw_tag_rq_wqe *op, const struct weft_sge *sg_list,
		   enum weft_wc_opcode opcode, uint32_t *number)
{
	struct weft_tag_slots *slots = weft_tag_recvs(tag_of(ep));
	struct weft_qp_obj *qp = qp_of(ep);
	struct weft_ctx *ctx = weft_ctx_of(ep->qp->context);
	bool tracked = opcode != WEFT_WC_TSEND && !(op->flags & HW_TAG_F_UNSIGNALED);
	uint64_t wr_id = op->wr_id;
	int rc = 0;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	/* It takes those of its context. */
	if (tag_of(ep)->shared && !tag_of(ep)->context)
		return -EINVAL;
	weft_lock_take(&qp->rq.lock);
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		rc = -EIO;
	else if (tracked && !weft_tag_slot_next(slots, &op->wr_id))
		rc = -ENOMEM;
	if (rc == 0)
		rc = put_op(qp, op, sg_list);
	if (rc == 0 && tracked)
		weft_tag_slot_take(slots, op->wr_id, wr_id, opcode, op->flags & HW_TAG_F_MULTI);
	if (rc == 0) {
		if (number)
			*number = qp->rq.head - 1;
		weft_barrier_rq_publish(&qp->record->rq_prod, qp->rq.head);
		weft_db_ring(ctx, &qp->record->rq_rung, HW_DB_ENTRY(HW_DB_RQ, ep->qp->qpn));
	}
	weft_lock_give(&qp->rq.lock);
	return rc;
}

static uint8_t op_flags(const struct weft_tag_recv_wr *wr)
{
	uint32_t flags = wr->flags;

	return (uint8_t)((wr->src_qpn == WEFT_TAG_ANY_QPN ? HW_TAG_F_ANY_SRC : 0) |
			 (flags & WEFT_TAG_MSG ? HW_TAG_F_MSG : 0) |
			 (flags & WEFT_TAG_CLAIM ? HW_TAG_F_CLAIM : 0) |
			 (flags & WEFT_TAG_DISCARD ? HW_TAG_F_DISCARD : 0) |
			 (flags & WEFT_TAG_MULTI ? HW_TAG_F_MULTI : 0) |
			 (flags & WEFT_TAG_UNSIGNALED ? HW_TAG_F_UNSIGNALED : 0));
}

static void fill_op(struct hw_tag_rq_wqe *op, enum hw_tag_op kind,
		    const struct weft_tag_recv_wr *wr)
{
	*op = (struct hw_tag_rq_wqe){
	    .op = (uint8_t)kind,
	    .flags = op_flags(wr),
	    .src_ip = wr->src_qpn == WEFT_TAG_ANY_QPN ? 0 : wr->src_ip,
	    .src_qpn = wr->src_qpn,
	    .wr_id = wr->wr_id,
	    .tag = wr->tag,
	    .ignore = wr->ignore,
	};
}

int weft_tag_recv(struct weft_tag_ep *ep, const struct weft_tag_recv_wr *wr, uint32_t *number)
{
	struct hw_tag_rq_wqe op;

	/* The end of a multi-receive buffer is always reported. */
	if (wr->flags & ~(uint32_t)RECV_FLAGS || wr->num_sge > ep->qp->cap.max_recv_sge ||
	    (wr->flags & WEFT_TAG_MULTI && wr->flags & WEFT_TAG_UNSIGNALED) ||
	    is_bad_wr_id(wr->flags, wr->wr_id))
		return -EINVAL;
	fill_op(&op, HW_TAG_RECV, wr);
	op.num_sge = (uint8_t)wr->num_sge;
	op.min_free_bytes = wr->flags & WEFT_TAG_MULTI ? wr->min_free_bytes : 0;
	return post_op(ep, &op, wr->sg_list, WEFT_WC_TRECV, number);
}

int weft_tag_peek(struct weft_tag_ep *ep, const struct weft_tag_recv_wr *wr)
{
	const uint32_t both = WEFT_TAG_CLAIM | WEFT_TAG_DISCARD;
	struct hw_tag_rq_wqe op;

	if (wr->flags & ~(uint32_t)PEEK_FLAGS || (wr->flags & both) == both)
		return -EINVAL;
	fill_op(&op, HW_TAG_PEEK, wr);
	return post_op(ep, &op, NULL, WEFT_WC_TPEEK, NULL);
}

int weft_tag_recv_claimed(struct weft_tag_ep *ep, uint32_t claim, const struct weft_tag_recv_wr *wr)
{
	bool discard = wr->flags & WEFT_TAG_DISCARD;
	struct hw_tag_rq_wqe op;

	if (wr->flags & ~(uint32_t)CLAIMED_FLAGS || wr->num_sge > ep->qp->cap.max_recv_sge ||
	    is_bad_wr_id(wr->flags, wr->wr_id))
		return -EINVAL;
	fill_op(&op, HW_TAG_CLAIMED, wr);
	op.number = claim;
	op.num_sge = discard ? 0 : (uint8_t)wr->num_sge;
	return post_op(ep, &op, wr->sg_list, WEFT_WC_TRECV, NULL);
}

int weft_tag_cancel(struct weft_tag_ep *ep, uint32_t number)
{
	struct hw_tag_rq_wqe op = {.op = HW_TAG_CANCEL, .number = number};

	return post_op(ep, &op, NULL, WEFT_WC_TSEND, NULL);
}
