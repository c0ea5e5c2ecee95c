/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posted receives of a tagged endpoint: made of an operation, withdrawn, completed without message.
 *
 * A receive is in the matcher while it takes messages. One that serves many messages may still have
 * some when it takes no more; its buffer goes back with the last of them. Calls tag_match.c, cq.c.
 */
#include "nic_fw/fw_nic.h"

struct tag_posted *tag_posted_new(struct fw_nic *nic, struct tag_ep *ep, const struct tag_op *op)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];
	struct fw_account *user = owner->share->user;
	struct tag_posted *posted;

	if (ep->match.num_posted >= HW_TAG_MAX_POSTED ||
	    !fw_pool_has_share(&nic->tag.posteds, owner->tag_posteds_held) ||
	    !share_pool_may(&nic->tag.posteds, user->tag_posteds)) {
		FW_COUNT(nic, tag_posteds_share_refused);
		return NULL;
	}
	/* Where no place is free nobody has a share, either. */
	posted = fw_pool_get(&nic->tag.posteds);
	assert(posted);
	memset(&posted->match, 0, sizeof(posted->match));
	posted->match.want = op->want;
	posted->match.number = op->place;
	posted->recv.wr_id = op->recv.wr_id;
	posted->recv.bytes = op->recv.bytes;
	posted->recv.num_sge = op->recv.num_sge;
	posted->recv.pd = op->recv.pd;
	memcpy(posted->recv.sge, op->recv.sge, op->recv.num_sge * sizeof(op->recv.sge[0]));
	posted->announced = false;
	posted->watched = false;
	posted->ep = ep;
	posted->peer = NULL;
	posted->canceling = NULL;
	fw_list_init(&posted->peer_node);
	fw_list_init(&posted->written);
	posted->used = 0;
	posted->min_free_bytes = op->min_free_bytes;
	posted->refs = 0;
	posted->reported = 0;
	posted->flags = op->flags;
	posted->open = true;
	posted->posted = false;
	posted->canceled = false;
	owner->tag_posteds_held++;
	user->tag_posteds++;
	return posted;
}

/* Frees a receive that has no message and is not posted. */
static void tag_posted_free(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];

	assert(!posted->posted && !posted->refs && !posted->announced);
	owner->tag_posteds_held--;
	owner->share->user->tag_posteds--;
	fw_pool_put(&nic->tag.posteds, posted);
}

uint32_t tag_posted_reserve(struct tag_posted *posted, uint32_t bytes)
{
	uint64_t left = posted->recv.bytes - posted->used;
	uint32_t room = bytes < left ? bytes : (uint32_t)left;

	posted->refs++;
	if (posted->flags & HW_TAG_F_MULTI) {
		posted->used += room;
		if (posted->recv.bytes - posted->used >= posted->min_free_bytes &&
		    posted->recv.bytes != posted->used)
			return room;
	}
	if (posted->posted)
		tag_match_unpost(&posted->ep->match, &posted->match);
	posted->posted = false;
	posted->open = false;
	return room;
}

struct tag_report tag_posted_release(struct fw_nic *nic, struct tag_posted *posted,
				     struct hw_cqe *cqe)
{
	struct tag_report report = {
	    .due = !(posted->flags & HW_TAG_F_UNSIGNALED) || cqe->status != HW_STATUS_SUCCESS,
	};
	struct tag_ep *ep = posted->ep;

	posted->refs--;
	posted->reported += report.due;
	if (posted->open || posted->refs)
		return report;
	if (posted->flags & HW_TAG_F_MULTI) {
		cqe->flags |= HW_CQE_F_RELEASED;
		report.canceled = posted->canceled;
		report.apart = report.canceled;
		if (tag_ep_is_context(ep)) {
			report.apart = true;
			report.reported = posted->reported + !report.due;
		}
		report.due = true;
	}
	tag_posted_free(nic, ep, posted);
	return report;
}

void tag_ep_complete(struct fw_nic *nic, struct tag_ep *ep, const struct hw_cqe *cqe)
{
	struct fw_qp *qp = ep->qp;

	if (qp->state == HW_QPS_RESET)
		return;
	fw_trace(nic, TRACE_CQE, qp->qpn, cqe->wr_id, cqe->status);
	if (!cq_post(nic, qp->recv_cq, cqe))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

void tag_posted_report(struct fw_nic *nic, struct tag_ep *ep, struct hw_cqe *cqe,
		       const struct tag_report *report)
{
	struct hw_cqe last;

	if (!report->due)
		return;
	/* An endpoint that is closed has no completions, but the receive was not its own. */
	if (ep->rx != ep && ep->qp->state == HW_QPS_RESET)
		ep = tag_context_home(ep->rx);
	cqe->qpn = ep->qp->qpn;
	if (!report->apart) {
		tag_ep_complete(nic, ep, cqe);
		return;
	}
	last = (struct hw_cqe){
	    .wr_id = cqe->wr_id,
	    .imm_inv = report->reported,
	    .qpn = cqe->qpn,
	    .status = report->canceled ? HW_STATUS_WR_FLUSH_ERR : HW_STATUS_SUCCESS,
	    .opcode = HW_CQE_TRECV,
	    .vendor_err = report->canceled ? HW_VENDOR_ERR_CANCELED : HW_VENDOR_ERR_NONE,
	    .sq_index = cqe->sq_index,
	    .flags = HW_CQE_F_RELEASED,
	};
	cqe->flags &= (uint8_t)~HW_CQE_F_RELEASED;
	tag_ep_complete(nic, ep, cqe);
	tag_ep_complete(nic, ep, &last);
}

/* Completes what no message has ended. Comes last. */
static void complete_alone(struct fw_nic *nic, struct tag_ep *ep, struct hw_cqe *cqe)
{
	/* The process drops all of a context that it closes. */
	if (ep->qp->state == HW_QPS_RESET)
		return;
	ep = tag_context_home(ep);
	cqe->qpn = ep->qp->qpn;
	tag_ep_complete(nic, ep, cqe);
}

void tag_posted_withdraw(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted,
			 enum hw_status status, enum hw_vendor_err vendor_err)
{
	struct hw_cqe cqe = {
	    .wr_id = posted->recv.wr_id,
	    .imm_inv = tag_ep_is_context(ep) ? posted->reported : 0,
	    .status = (uint8_t)status,
	    .opcode = HW_CQE_TRECV,
	    .vendor_err = vendor_err,
	    .flags = posted->flags & HW_TAG_F_MULTI ? HW_CQE_F_RELEASED : 0,
	};

	tag_rtr_unpost(nic, posted);
	if (posted->posted)
		tag_match_unpost(&ep->match, &posted->match);
	posted->posted = false;
	posted->open = false;
	if (posted->refs) {
		posted->canceled = true;
		return;
	}
	tag_posted_free(nic, ep, posted);
	complete_alone(nic, ep, &cqe);
}

bool tag_posted_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	struct tag_recv *recv;

	while ((recv = tag_match_first_recv(&ep->match))) {
		if (!slice_take(nic, 1))
			return false;
		tag_posted_withdraw(nic, ep, FW_CONTAINER(recv, struct tag_posted, match),
				    HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	}
	/* The rest of them stands in no matcher any more. */
	while (!fw_list_empty(&ep->given_back)) {
		if (!slice_take(nic, 1))
			return false;
		tag_posted_withdraw(nic, ep,
				    FW_CONTAINER(ep->given_back.next, struct tag_posted, peer_node),
				    HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	}
	return true;
}

void tag_op_fail(struct fw_nic *nic, struct tag_ep *ep, const struct tag_op *op,
		 enum hw_status status, enum hw_vendor_err vendor_err)
{
	struct hw_cqe cqe = {
	    .wr_id = op->recv.wr_id,
	    .status = (uint8_t)status,
	    .opcode = op->op == HW_TAG_PEEK ? HW_CQE_TPEEK : HW_CQE_TRECV,
	    .vendor_err = vendor_err,
	    .flags = op->op == HW_TAG_RECV && op->flags & HW_TAG_F_MULTI ? HW_CQE_F_RELEASED : 0,
	};

	/* A cancellation has no completion of its own. */
	if (op->op != HW_TAG_CANCEL)
		complete_alone(nic, ep, &cqe);
}
