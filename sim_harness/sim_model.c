/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of send queues; see sim_model.h. sim_model_recv.c models receives and messages.
 *
 * Calls back struct sim_model's ended().
 */
#include "sim_harness/sim_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

bool sim_model_two_sided(enum weft_wr_opcode opcode)
{
	return opcode == WEFT_WR_SEND || opcode == WEFT_WR_SEND_IMM || opcode == WEFT_WR_SEND_INV ||
	       opcode == WEFT_WR_WRITE_IMM;
}

static bool is_local(enum weft_wr_opcode opcode)
{
	return opcode == WEFT_WR_LOCAL_INV || opcode == WEFT_WR_BIND_MW;
}

static enum weft_wc_opcode wc_opcode(enum weft_wr_opcode opcode)
{
	switch (opcode) {
	case WEFT_WR_WRITE:
	case WEFT_WR_WRITE_IMM:
	case WEFT_WR_WRITE_RECORD:
		return WEFT_WC_WRITE;
	case WEFT_WR_READ:
		return WEFT_WC_READ;
	case WEFT_WR_FETCH_ADD:
		return WEFT_WC_FETCH_ADD;
	case WEFT_WR_CMP_SWAP:
		return WEFT_WC_CMP_SWAP;
	case WEFT_WR_ATOMIC:
		return WEFT_WC_ATOMIC;
	case WEFT_WR_LOCAL_INV:
		return WEFT_WC_LOCAL_INV;
	case WEFT_WR_BIND_MW:
		return WEFT_WC_BIND_MW;
	case WEFT_WR_SEND:
	case WEFT_WR_SEND_IMM:
	case WEFT_WR_SEND_INV:
		break;
	}
	return WEFT_WC_SEND;
}

static void inbound_add(struct sim_model_send *send)
{
	struct sim_model_qp *dst = send->dst;
	struct sim_model_like *like = &dst->like[send->bytes % SIM_MODEL_LENGTHS];

	send->inbound = true;
	send->in_next = NULL;
	send->in_prev = dst->in_last;
	if (dst->in_last)
		dst->in_last->in_next = send;
	else
		dst->in_first = send;
	dst->in_last = send;
	dst->in_count++;
	send->like_next = NULL;
	send->like_prev = like->last;
	if (like->last)
		like->last->like_next = send;
	else
		like->first = send;
	like->last = send;
}

void sim_model_forget(struct sim_model_send *send)
{
	struct sim_model_qp *dst = send->dst;
	struct sim_model_like *like;

	if (!send->inbound)
		return;
	send->inbound = false;
	like = &dst->like[send->bytes % SIM_MODEL_LENGTHS];
	if (send->like_prev)
		send->like_prev->like_next = send->like_next;
	else
		like->first = send->like_next;
	if (send->like_next)
		send->like_next->like_prev = send->like_prev;
	else
		like->last = send->like_prev;
	if (send->in_prev)
		send->in_prev->in_next = send->in_next;
	else
		dst->in_first = send->in_next;
	if (send->in_next)
		send->in_next->in_prev = send->in_prev;
	else
		dst->in_last = send->in_prev;
	dst->in_count--;
}

static void unlink_send(struct sim_model_send *send)
{
	struct sim_model_qp *qp = send->qp;

	if (send->prev)
		send->prev->next = send->next;
	else
		qp->first = send->next;
	if (send->next)
		send->next->prev = send->prev;
	else
		qp->last = send->prev;
	qp->outstanding--;
}

void sim_model_post_send(struct sim_model_qp *qp, struct sim_model_send *send)
{
	send->qp = qp;
	send->incarnation = qp->incarnation;
	send->doomed = qp->failed;
	send->next = NULL;
	send->prev = qp->last;
	if (qp->last)
		qp->last->next = send;
	else
		qp->first = send;
	qp->last = send;
	qp->outstanding++;
	if (send->dst && sim_model_two_sided(send->opcode))
		inbound_add(send);
}

void sim_model_unpost_send(struct sim_model_send *send)
{
	assert(!send->next && !send->done);
	unlink_send(send);
	sim_model_forget(send);
}

void sim_model_widen(struct sim_model_qp *const *qps, uint32_t n, const struct sim_model_qp *dst,
		     uint32_t allowed)
{
	struct sim_model_send *send;
	uint32_t i;

	for (i = 0; i < n; i++) {
		for (send = qps[i]->first; send; send = send->next) {
			if (send->dst == dst)
				send->allowed |= allowed;
		}
	}
}

/* Statuses after which no part of the message can have been delivered. */
static bool is_never_received(const struct sim_model_send *send)
{
	if (send->withdrawn)
		return false;
	return (SIM_LOCAL_FAULTS | SIM_MAY(REM_ACCESS_ERR) | SIM_MAY(REM_INV_REQ_ERR)) >>
		   send->status &
	       1;
}

bool sim_model_send_kept(const struct sim_model_send *send)
{
	return !send->done || send->inbound;
}

static void prune_datagrams(struct sim_model_qp *dst)
{
	struct sim_model_send *send = dst->in_first, *next;

	for (; send && dst->in_count > SIM_MODEL_UD_KEPT; send = next) {
		next = send->in_next;
		if (send->done)
			sim_model_forget(send);
	}
}

static void end(struct sim_model *model, struct sim_model_send *send, enum weft_wc_status status)
{
	send->done = true;
	send->status = status;
	unlink_send(send);
	if (send->opcode == WEFT_WR_SEND_INV && send->dst && send->dst->rq &&
	    (send->dropped || status != WEFT_WC_SUCCESS))
		send->dst->rq->meets_bad_inv = true;
	if (send->inbound && !send->dropped && is_never_received(send))
		sim_model_forget(send);
	if (send->inbound && send->qp->type != WEFT_QPT_UD && send->received)
		sim_model_forget(send);
	if (send->inbound && send->qp->type == WEFT_QPT_UD)
		prune_datagrams(send->dst);
	model->ended(model->ctx, send);
}

#define WRONG(model, ...) (snprintf((model)->why, sizeof((model)->why), __VA_ARGS__), false)

static bool same_flow(const struct sim_model_send *a, const struct sim_model_send *b)
{
	if (a->qp->type != WEFT_QPT_RD)
		return true;
	return !is_local(a->opcode) && !is_local(b->opcode) && a->dst_qpn == b->dst_qpn &&
	       a->dst_ip == b->dst_ip;
}

/*
 * Returns true if a completion must be a flush: after a failed request none succeeds. On an RD QP,
 * requests to other destinations may have succeeded silently before it failed.
 */
static bool must_flush(const struct sim_model_send *send)
{
	return send->doomed || (send->qp->failed && send->qp->type != WEFT_QPT_RD);
}

/*
 * Checks that all earlier requests of its order are complete; signaled ones would have completed.
 */
static bool in_turn(struct sim_model *model, const struct sim_model_send *send,
		    enum weft_wc_status status)
{
	bool whole = is_local(send->opcode) || status == WEFT_WC_WR_FLUSH_ERR ||
		     SIM_LOCAL_FAULTS >> status & 1;
	const struct sim_model_send *before;

	for (before = send->qp->first; before != send; before = before->next) {
		if (!whole && !same_flow(before, send))
			continue;
		if (whole && must_flush(before))
			return WRONG(model,
				     "flush: QP 0x%x: request %" PRIu64
				     " has no completion, and request %" PRIu64
				     " behind it was flushed",
				     send->qp->qpn, before->wr_id, send->wr_id);
		/* A local failure waits for the whole queue; its flow does not wait for it. */
		if (!whole && send->qp->type == WEFT_QPT_RD && before->allowed & SIM_LOCAL_FAULTS)
			continue;
		if (before->flags & WEFT_SEND_SIGNALED)
			return WRONG(
			    model,
			    "order: QP 0x%x: request %" PRIu64
			    " completed (%s) before request %" PRIu64 ", which was posted earlier",
			    send->qp->qpn, send->wr_id, weft_wc_status_str(status), before->wr_id);
		if (!(before->allowed & SIM_MAY(SUCCESS)))
			return WRONG(
			    model,
			    "completion: QP 0x%x: request %" PRIu64
			    " cannot succeed, but request %" PRIu64 " behind it completed with %s",
			    send->qp->qpn, before->wr_id, send->wr_id, weft_wc_status_str(status));
	}
	return true;
}

static void end_before(struct sim_model *model, struct sim_model_send *send,
		       enum weft_wc_status status)
{
	bool whole = is_local(send->opcode) || status == WEFT_WC_WR_FLUSH_ERR ||
		     SIM_LOCAL_FAULTS >> status & 1;
	struct sim_model_send *before, *next;

	for (before = send->qp->first; before != send; before = next) {
		next = before->next;
		if (!whole && (!same_flow(before, send) || (send->qp->type == WEFT_QPT_RD &&
							    before->allowed & SIM_LOCAL_FAULTS)))
			continue;
		end(model, before, WEFT_WC_SUCCESS);
	}
}

static bool status_ok(struct sim_model *model, const struct sim_model_qp *qp,
		      const struct sim_model_send *send, const struct weft_wc *wc)
{
	uint32_t allowed = send->allowed;

	if (qp->failed)
		allowed = SIM_MAY(WR_FLUSH_ERR);
	else if (qp->flushing)
		allowed |= SIM_MAY(WR_FLUSH_ERR);
	if ((uint32_t)wc->status >= 32 || !(allowed >> wc->status & 1))
		return WRONG(model,
			     "completion: QP 0x%x: request %" PRIu64
			     " (opcode %d, %u bytes, to 0x%x) completed with %s (%s); allowed: "
			     "0x%x%s",
			     qp->qpn, send->wr_id, (int)send->opcode, send->bytes, send->dst_qpn,
			     weft_wc_status_str(wc->status), weft_vendor_err_str(wc->vendor_err),
			     allowed, qp->failed ? ", its queue has failed" : "");
	if (wc->status != WEFT_WC_SUCCESS && wc->status != WEFT_WC_WR_FLUSH_ERR &&
	    send->vendor != SIM_ANY_VENDOR && wc->vendor_err != (uint32_t)send->vendor)
		return WRONG(model,
			     "completion: QP 0x%x: request %" PRIu64 " failed with %s (%s), not %s",
			     qp->qpn, send->wr_id, weft_wc_status_str(wc->status),
			     weft_vendor_err_str(wc->vendor_err),
			     weft_vendor_err_str((uint32_t)send->vendor));
	return true;
}

bool sim_model_send_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_send *send, const struct weft_wc *wc)
{
	bool brings = send->opcode == WEFT_WR_READ || send->opcode == WEFT_WR_FETCH_ADD ||
		      send->opcode == WEFT_WR_CMP_SWAP || send->opcode == WEFT_WR_ATOMIC;

	if (send->done || send->qp != qp || wc->qpn != qp->qpn)
		return WRONG(model, "completion: QP 0x%x: request %" PRIu64 " of QP 0x%x %s (%s)",
			     wc->qpn, send->wr_id, send->qp->qpn,
			     send->dropped ? "was dropped by a reset"
			     : send->done  ? "completed twice"
					   : "completed on another QP",
			     weft_wc_status_str(wc->status));
	if (wc->opcode != wc_opcode(send->opcode))
		return WRONG(
		    model, "completion: QP 0x%x: request %" PRIu64 " with opcode %d says %s",
		    qp->qpn, send->wr_id, (int)send->opcode, weft_wc_opcode_str(wc->opcode));
	if (!status_ok(model, qp, send, wc) || !in_turn(model, send, wc->status))
		return false;
	if (wc->status == WEFT_WC_SUCCESS && !(send->flags & WEFT_SEND_SIGNALED))
		return WRONG(model,
			     "completion: QP 0x%x: request %" PRIu64
			     " was not signalled and completed with success",
			     qp->qpn, send->wr_id);
	if (wc->status == WEFT_WC_SUCCESS && brings && wc->bytes != send->bytes)
		return WRONG(model,
			     "completion: QP 0x%x: request %" PRIu64 " brought %u bytes, not %u",
			     qp->qpn, send->wr_id, wc->bytes, send->bytes);
	if (wc->status == WEFT_WC_SUCCESS && send->skipped && send->dst && !send->dst->lossy &&
	    qp->type != WEFT_QPT_UD && !send->received)
		return WRONG(model,
			     "order: QP 0x%x: message %" PRIu64
			     " succeeded, but a later one of its flow was received before it",
			     qp->qpn, send->wr_id);
	end_before(model, send, wc->status);
	if (wc->status == WEFT_WC_WR_FLUSH_ERR || SIM_LOCAL_FAULTS >> wc->status & 1 ||
	    (qp->type == WEFT_QPT_RC && wc->status != WEFT_WC_SUCCESS))
		qp->failed = true;
	end(model, send, wc->status);
	return true;
}

bool sim_model_is_told(const struct sim_model_send *send)
{
	return must_flush(send) || send->flags & WEFT_SEND_SIGNALED ||
	       !(send->allowed & SIM_MAY(SUCCESS));
}

bool sim_model_is_due(const struct sim_model_qp *qp)
{
	const struct sim_model_send *send;

	for (send = qp->first; send; send = send->next) {
		if (sim_model_is_told(send))
			return true;
	}
	return false;
}

bool sim_model_flushed(struct sim_model *model, struct sim_model_qp *qp)
{
	while (qp->first) {
		if (sim_model_is_told(qp->first))
			return WRONG(model,
				     "flush: QP 0x%x has failed, and request %" PRIu64
				     " has no completion",
				     qp->qpn, qp->first->wr_id);
		end(model, qp->first, WEFT_WC_SUCCESS);
	}
	return true;
}

void sim_model_drop_sends(struct sim_model *model, struct sim_model_qp *qp)
{
	while (qp->first) {
		qp->first->dropped = true;
		end(model, qp->first, WEFT_WC_WR_FLUSH_ERR);
	}
}

void sim_model_revive(struct sim_model_qp *qp)
{
	assert(!qp->first);
	qp->failed = false;
	qp->flushing = false;
	qp->recv_flushing = false;
	qp->incarnation++;
}

bool sim_model_message_ok(struct sim_model *model, const struct sim_model_send *send)
{
	if (!send->dst || send->dst->lossy || !sim_model_two_sided(send->opcode) ||
	    send->qp->type == WEFT_QPT_UD || !send->done || send->dropped ||
	    send->status != WEFT_WC_SUCCESS || send->received)
		return true;
	return WRONG(model,
		     "message: request %" PRIu64
		     " of QP 0x%x (%u bytes) succeeded, but QP 0x%x never received it",
		     send->wr_id, send->qp->qpn, send->bytes, send->dst->qpn);
}
