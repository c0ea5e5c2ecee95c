/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of a tagged endpoint's receive queue, in the order in which they were posted.
 *
 * The NIC takes them out of the ring when it sees their doorbell: a receive first looks for an
 * unexpected message and is posted if there is none. Each entry is copied once; only the copy is
 * checked and used. A turn carries out some of them; the search of one may take several turns, and
 * those behind it wait. Calls tag_match.c, tag_arrival.c. docs/tagged.md, docs/host-interface.md.
 */
#include "nic_fw/fw_nic.h"

/* The flags that each operation may have. */
static const uint8_t legal_flags[HW_TAG_OPS] = {
    [HW_TAG_RECV] = HW_TAG_F_ANY_SRC | HW_TAG_F_MSG | HW_TAG_F_MULTI | HW_TAG_F_UNSIGNALED,
    [HW_TAG_PEEK] = HW_TAG_F_ANY_SRC | HW_TAG_F_MSG | HW_TAG_F_CLAIM | HW_TAG_F_DISCARD,
    [HW_TAG_CLAIMED] = HW_TAG_F_ANY_SRC | HW_TAG_F_MSG | HW_TAG_F_DISCARD | HW_TAG_F_UNSIGNALED,
    [HW_TAG_CANCEL] = HW_TAG_F_ANY_SRC | HW_TAG_F_MSG,
};

static enum hw_vendor_err check(const struct tag_op *op, const struct hw_tag_rq_wqe *wqe,
				uint32_t max_sge)
{
	if (wqe->op == 0 || wqe->op >= HW_TAG_OPS)
		return HW_VENDOR_ERR_OPCODE;
	if (wqe->num_sge > max_sge)
		return HW_VENDOR_ERR_NUM_SGE;
	if (wqe->flags & ~legal_flags[op->op] ||
	    (op->op == HW_TAG_PEEK && wqe->flags & HW_TAG_F_CLAIM && wqe->flags & HW_TAG_F_DISCARD))
		return HW_VENDOR_ERR_FLAGS;
	return HW_VENDOR_ERR_NONE;
}

/* Copies the entry at place; err is set if it is malformed, and then only wr_id and op are used. */
static enum hw_vendor_err copy_op(const struct fw_qp *qp, uint32_t place, struct tag_op *op)
{
	const uint8_t *entry = qp->rq_ring + (size_t)(place & qp->rq_mask) * qp->rq_stride_bytes;
	struct hw_tag_rq_wqe wqe;
	enum hw_vendor_err err;
	uint32_t i;

	fw_copy_once(&wqe, entry, sizeof(wqe));
	op->place = place;
	op->op = wqe.op;
	op->flags = wqe.flags;
	op->number = wqe.number;
	op->min_free_bytes = wqe.min_free_bytes;
	op->posted = NULL;
	op->recv.wr_id = wqe.wr_id;
	op->recv.pd = qp->pd;
	op->recv.bytes = 0;
	op->recv.num_sge = 0;
	err = check(op, &wqe, qp->max_recv_sge);
	if (err != HW_VENDOR_ERR_NONE)
		return err;
	op->recv.num_sge = wqe.num_sge;
	fw_copy_once(op->recv.sge, entry + sizeof(wqe), wqe.num_sge * sizeof(op->recv.sge[0]));
	for (i = 0; i < wqe.num_sge; i++)
		op->recv.bytes += op->recv.sge[i].bytes;
	op->want = (struct tag_want){
	    .any_src = wqe.flags & HW_TAG_F_ANY_SRC,
	    .ignore = wqe.flags & HW_TAG_F_MSG ? 0 : wqe.ignore,
	    .key = {.msg = wqe.flags & HW_TAG_F_MSG},
	};
	if (!op->want.any_src) {
		op->want.key.src_ip = wqe.src_ip;
		op->want.key.src_qpn = wqe.src_qpn & 0xffffff;
	}
	if (!op->want.key.msg)
		op->want.key.tag = wqe.tag & ~wqe.ignore;
	return err;
}

static uint32_t tag_rq_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* True if no earlier receive forbids that it is announced. Those without a class are looked at. */
static bool may_announce(struct tag_ep *ep, const struct tag_op *op, uint32_t *units)
{
	if (op->want.any_src || op->recv.bytes <= ep->eager_bytes)
		return false;
	*units -= tag_rq_least(*units, ep->match.num_linear);
	return tag_match_may_announce(&ep->match, &op->want);
}

/*
 * Looks for the first message that fits. Messages of a context's member that has ended are dropped
 * on the way.
 */
static enum tag_found tag_rq_find(struct fw_nic *nic, struct tag_ep *ep, uint32_t *units,
				  struct tag_arrival **a)
{
	enum tag_found found;
	struct tag_msg *msg;

	while ((found = tag_match_find_msg(&ep->match, &ep->op.want, units, &msg)) == TAG_FOUND) {
		*a = FW_CONTAINER(msg, struct tag_arrival, match);
		if (tag_ep_is_live((*a)->ep))
			break;
		tag_arrival_drop(nic, *a, HW_STATUS_REM_ABORT_ERR);
		if (!*units)
			return TAG_MORE;
		(*units)--;
	}
	return found;
}

/* Takes unexpected messages, then posts the receive. False: the search continues later. */
static bool tag_rq_receive(struct fw_nic *nic, struct tag_ep *ep, uint32_t *units)
{
	struct tag_op *op = &ep->op;
	struct tag_posted *posted;
	struct tag_arrival *a;
	bool more = true, may;

	if (!op->posted) {
		op->posted = tag_posted_new(nic, ep, op);
		if (!op->posted) {
			tag_op_fail(nic, ep, op, HW_STATUS_LOC_QP_OP_ERR, HW_VENDOR_ERR_QUEUE);
			return true;
		}
	}
	while (more) {
		switch (tag_rq_find(nic, ep, units, &a)) {
		case TAG_MORE:
			return false;
		case TAG_FOUND:
			posted = op->posted;
			ep->matched_unexpected++;
			FW_COUNT(nic, tag_matched_unexpected);
			more = posted->flags & HW_TAG_F_MULTI;
			/* If it takes no more, it may be gone when this returns. */
			if (!more)
				op->posted = NULL;
			more &= tag_arrival_take(nic, a, posted);
			/* A full CQ has ended the endpoint, and this operation with it. */
			if (!ep->busy)
				return true;
			break;
		case TAG_NONE:
			posted = op->posted;
			op->posted = NULL;
			may = may_announce(ep, op, units);
			posted->posted = tag_match_post(&ep->match, &posted->match);
			if (!posted->posted)
				tag_posted_withdraw(nic, ep, posted, HW_STATUS_LOC_QP_OP_ERR,
						    HW_VENDOR_ERR_QUEUE);
			else
				tag_rtr_post(nic, ep, posted, may);
			return true;
		}
	}
	op->posted = NULL;
	return true;
}

static void peeked(struct fw_nic *nic, struct tag_ep *ep, const struct tag_op *op,
		   struct tag_arrival *a)
{
	struct hw_cqe cqe = {
	    .wr_id = op->recv.wr_id,
	    .opcode = HW_CQE_TPEEK,
	    .bytes = a->bytes,
	};
	struct tag_ep *at = a->ep;

	tag_arrival_cqe(a, &cqe);
	if (op->flags & HW_TAG_F_CLAIM) {
		tag_arrival_set_state(a, TAG_CLAIMED);
		do
			a->claim =
			    ++ep->claims << TAG_CLAIM_BITS | fw_pool_index(&nic->tag.arrivals, a);
		while (!a->claim);
		cqe.sq_index = a->claim;
	} else if (op->flags & HW_TAG_F_DISCARD) {
		tag_arrival_drop(nic, a, HW_STATUS_SUCCESS);
	}
	tag_ep_complete(nic, at, &cqe);
}

static bool peek(struct fw_nic *nic, struct tag_ep *ep, uint32_t *units)
{
	const struct tag_op *op = &ep->op;
	struct tag_arrival *a;

	switch (tag_rq_find(nic, ep, units, &a)) {
	case TAG_MORE:
		return false;
	case TAG_FOUND:
		peeked(nic, ep, op, a);
		break;
	case TAG_NONE:
		tag_op_fail(nic, ep, op, HW_STATUS_GENERAL_ERR, HW_VENDOR_ERR_NO_MESSAGE);
		break;
	}
	return true;
}

static struct tag_arrival *find_claim(struct fw_nic *nic, const struct tag_ep *ep, uint32_t claim)
{
	uint32_t index = claim & ((1u << TAG_CLAIM_BITS) - 1);
	struct tag_arrival *a = fw_pool_at(&nic->tag.arrivals, index);

	if (!claim || index >= nic->tag.arrivals.high || a->claim != claim || a->ep->rx != ep ||
	    !tag_ep_is_live(a->ep))
		return NULL;
	return a;
}

static void claimed(struct fw_nic *nic, struct tag_ep *ep)
{
	const struct tag_op *op = &ep->op;
	struct tag_arrival *a = find_claim(nic, ep, op->number);
	struct tag_posted *posted;
	struct hw_cqe cqe = {.wr_id = op->recv.wr_id, .opcode = HW_CQE_TRECV};

	if (!a) {
		tag_op_fail(nic, ep, op, HW_STATUS_GENERAL_ERR, HW_VENDOR_ERR_NO_MESSAGE);
		return;
	}
	if (op->flags & HW_TAG_F_DISCARD) {
		struct tag_ep *at = a->ep;

		tag_arrival_cqe(a, &cqe);
		tag_arrival_drop(nic, a, HW_STATUS_SUCCESS);
		if (!(op->flags & HW_TAG_F_UNSIGNALED))
			tag_ep_complete(nic, at, &cqe);
		return;
	}
	posted = tag_posted_new(nic, ep, op);
	if (!posted) {
		tag_op_fail(nic, ep, op, HW_STATUS_LOC_QP_OP_ERR, HW_VENDOR_ERR_QUEUE);
		return;
	}
	ep->matched_unexpected++;
	FW_COUNT(nic, tag_matched_unexpected);
	(void)tag_arrival_take(nic, a, posted);
}

/* False: no memory now. */
static bool cancel(struct fw_nic *nic, struct tag_ep *ep)
{
	struct tag_recv *recv = tag_match_find_number(&ep->match, ep->op.number);
	struct tag_posted *posted;

	if (!recv)
		return true;
	posted = FW_CONTAINER(recv, struct tag_posted, match);
	switch (tag_rtr_cancel(nic, ep, posted)) {
	case TAG_RTR_FREE:
		tag_posted_withdraw(nic, ep, posted, HW_STATUS_WR_FLUSH_ERR,
				    HW_VENDOR_ERR_CANCELED);
		break;
	case TAG_RTR_ASKED:
		break;
	case TAG_RTR_RETRY:
		return false;
	}
	return true;
}

/* False: the operation continues in a later turn. */
static bool carry_out(struct fw_nic *nic, struct tag_ep *ep, uint32_t *units)
{
	switch ((enum hw_tag_op)ep->op.op) {
	case HW_TAG_RECV:
		return tag_rq_receive(nic, ep, units);
	case HW_TAG_PEEK:
		return peek(nic, ep, units);
	case HW_TAG_CLAIMED:
		claimed(nic, ep);
		break;
	case HW_TAG_CANCEL:
		return cancel(nic, ep);
	case HW_TAG_OPS:
		break;
	}
	return true;
}

/* Returns how many operations the process has posted and the NIC has not taken. */
static uint32_t available(struct fw_nic *nic, struct fw_qp *qp)
{
	/* Pair R1. */
	uint32_t prod = __atomic_load_n(&qp->record->rq_prod, __ATOMIC_ACQUIRE);

	if (prod - qp->rq_cons <= qp->rq_mask + 1)
		return prod - qp->rq_cons;
	/* More than the ring holds: no entry is trusted. */
	FW_COUNT(nic, wqes_bad);
	return 0;
}

uint32_t tag_rq_run(struct fw_nic *nic, struct tag_ep *ep)
{
	uint32_t looks = tag_rq_least(TAG_LOOK_QUANTUM, nic->tag.looks_left), units = looks;
	uint32_t most = tag_rq_least(TAG_OPS_QUANTUM, nic->tag.ops_left), done = 0, left;
	struct fw_qp *qp = ep->qp;
	enum hw_vendor_err err;

	left = available(nic, qp);
	while (tag_ep_is_live(ep) && (ep->busy || left) && done < most && units) {
		done++;
		if (!ep->busy) {
			left--;
			err = copy_op(qp, qp->rq_cons++, &ep->op);
			/* A member takes the receives of its context alone. */
			if (err == HW_VENDOR_ERR_NONE && ep->rx != ep)
				err = HW_VENDOR_ERR_OPCODE;
			if (err != HW_VENDOR_ERR_NONE) {
				FW_COUNT(nic, wqes_bad);
				tag_op_fail(nic, ep, &ep->op, HW_STATUS_LOC_QP_OP_ERR, err);
				continue;
			}
			ep->busy = true;
		}
		if (!carry_out(nic, ep, &units))
			break;
		ep->busy = false;
	}
	nic->tag.ops_left -= done;
	nic->tag.looks_left -= looks - units;
	/* Pair R2: the entries were read before the host may write there again. */
	__atomic_store_n(&qp->record->rq_cons, qp->rq_cons, __ATOMIC_RELEASE);
	if (tag_ep_is_live(ep) && (ep->busy || left))
		tag_ep_work(nic, ep);
	return done;
}

void tag_rq_doorbell(struct fw_nic *nic, struct fw_qp *qp)
{
	if (tag_ep_is_live(qp->tag))
		(void)tag_rq_run(nic, qp->tag);
}

bool tag_rq_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_qp *qp = ep->qp;
	struct tag_op op;

	if (ep->busy) {
		ep->busy = false;
		tag_match_search_end(&ep->match);
		if (ep->op.posted)
			tag_posted_withdraw(nic, ep, ep->op.posted, HW_STATUS_WR_FLUSH_ERR,
					    HW_VENDOR_ERR_NONE);
		else if (ep->op.op == HW_TAG_PEEK)
			tag_op_fail(nic, ep, &ep->op, HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	}
	/* In RESET they are dropped as a whole (qp_reset_over()). */
	while (qp->state == HW_QPS_ERR && available(nic, qp)) {
		if (!slice_take(nic, 1))
			return false;
		(void)copy_op(qp, qp->rq_cons++, &op);
		tag_op_fail(nic, ep, &op, HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	}
	__atomic_store_n(&qp->record->rq_cons, qp->rq_cons, __ATOMIC_RELEASE);
	return true;
}
