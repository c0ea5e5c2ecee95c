/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of receives: finds the message of a completed receive; see sim_model.h.
 *
 * Every QP has a list of messages that may still arrive. A message of a reliable flow is received
 * once and in the order of its flow; a skipped one may only fail. Calls sim_model.c.
 */
#include "sim_harness/sim_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	GRH_BYTES = 40,
};

#define WRONG(model, ...) (snprintf((model)->why, sizeof((model)->why), __VA_ARGS__), false)

void sim_model_post_recv(struct sim_model_rq *rq, struct sim_model_recv *recv)
{
	recv->rq = rq;
	recv->done = false;
	recv->next = NULL;
	recv->prev = rq->last;
	if (rq->last)
		rq->last->next = recv;
	else
		rq->first = recv;
	rq->last = recv;
	rq->outstanding++;
}

void sim_model_drop_recv(struct sim_model_recv *recv)
{
	struct sim_model_rq *rq = recv->rq;

	assert(!recv->done);
	recv->done = true;
	if (recv->prev)
		recv->prev->next = recv->next;
	else
		rq->first = recv->next;
	if (recv->next)
		recv->next->prev = recv->prev;
	else
		rq->last = recv->prev;
	rq->outstanding--;
}

static bool is_from(const struct sim_model_send *send, const struct weft_wc *wc,
		    const struct sim_model_qp *qp)
{
	/* A connected QP has one peer, so completions need not name it. */
	if (qp->type == WEFT_QPT_RC)
		return true;
	return send->qp->qpn == wc->src_qpn && send->qp->ip == wc->src_ip;
}

/* Returns true if the completion is consistent with this message. */
static bool describes(const struct sim_model_send *send, const struct weft_wc *wc,
		      const uint8_t *data, uint32_t bytes)
{
	bool imm = send->opcode == WEFT_WR_SEND_IMM || send->opcode == WEFT_WR_WRITE_IMM;
	bool inv = send->opcode == WEFT_WR_SEND_INV;

	if (send->bytes != bytes || imm != !!(wc->flags & WEFT_WC_F_IMM) ||
	    inv != !!(wc->flags & WEFT_WC_F_INV))
		return false;
	if (!(send->flags & WEFT_SEND_SOLICITED) != !(wc->flags & WEFT_WC_F_SOLICITED))
		return false;
	if ((imm && wc->imm != send->imm) || (inv && wc->inv_stag != send->inv_stag))
		return false;
	if ((send->opcode == WEFT_WR_WRITE_IMM) != (wc->opcode == WEFT_WC_RECV_WRITE_IMM))
		return false;
	return send->opcode == WEFT_WR_WRITE_IMM || !data || !bytes ||
	       !memcmp(send->data, data, bytes);
}

/*
 * Returns the earliest matching message; messages already overtaken by a later one are the last
 * choice.
 */
static struct sim_model_send *find(const struct sim_model_qp *qp, const struct weft_wc *wc,
				   const uint8_t *data, uint32_t bytes)
{
	struct sim_model_send *send, *second = NULL;

	for (send = qp->like[bytes % SIM_MODEL_LENGTHS].first; send; send = send->like_next) {
		if (!is_from(send, wc, qp) || !describes(send, wc, data, bytes))
			continue;
		if (!send->received && !send->skipped)
			return send;
		if (!second)
			second = send;
	}
	return second;
}

/* Records the arrival, and the messages of its flow that it overtook. */
static bool note(struct sim_model *model, struct sim_model_qp *qp, struct sim_model_send *send)
{
	struct sim_model_send *before;

	if (send->received && !(qp->type == WEFT_QPT_UD && model->may_duplicate))
		return WRONG(model,
			     "message: QP 0x%x received request %" PRIu64 " of QP 0x%x twice",
			     qp->qpn, send->wr_id, send->qp->qpn);
	send->received++;
	if (qp->type == WEFT_QPT_UD)
		return true;
	/* Messages outstanding at a reset or flush may arrive late; all others in posting order. */
	if (send->skipped && !(send->done && send->status != WEFT_WC_SUCCESS))
		return WRONG(model,
			     "order: QP 0x%x received request %" PRIu64
			     " of QP 0x%x after a later one of its flow",
			     qp->qpn, send->wr_id, send->qp->qpn);
	for (before = qp->in_first; before && before != send; before = before->in_next) {
		if (before->qp == send->qp && !before->received)
			before->skipped = true;
	}
	if (send->done)
		sim_model_forget(send);
	return true;
}

static bool received(struct sim_model *model, struct sim_model_qp *qp,
		     const struct sim_model_recv *recv, const struct weft_wc *wc,
		     const uint8_t *data, const struct sim_model_send **message)
{
	uint32_t bytes = wc->bytes;
	struct sim_model_send *send;

	if (wc->opcode != WEFT_WC_RECV && wc->opcode != WEFT_WC_RECV_WRITE_IMM)
		return WRONG(model, "completion: QP 0x%x: receive %" PRIu64 " says %s", qp->qpn,
			     recv->wr_id, weft_wc_opcode_str(wc->opcode));
	if (wc->opcode == WEFT_WC_RECV && bytes > recv->capacity)
		return WRONG(model, "completion: QP 0x%x: receive %" PRIu64 " of %u bytes holds %u",
			     qp->qpn, recv->wr_id, recv->capacity, bytes);
	if (qp->grh != !!(wc->flags & WEFT_WC_F_GRH) || (qp->grh && bytes < GRH_BYTES))
		return WRONG(model, "completion: QP 0x%x: receive %" PRIu64 " and its GRH flag",
			     qp->qpn, recv->wr_id);
	if (qp->grh)
		bytes -= GRH_BYTES;
	if (recv->bad && wc->opcode == WEFT_WC_RECV && bytes)
		return WRONG(model,
			     "access: QP 0x%x: receive %" PRIu64 " has a bad SGE and succeeded",
			     qp->qpn, recv->wr_id);
	send = find(qp, wc, data && qp->grh ? data + GRH_BYTES : data, bytes);
	if (!send)
		return WRONG(model,
			     "message: QP 0x%x: receive %" PRIu64
			     " holds no message that was sent to it (%s, %u bytes from 0x%x, "
			     "flags 0x%x, imm 0x%x), or its bytes are wrong",
			     qp->qpn, recv->wr_id, weft_wc_opcode_str(wc->opcode), bytes,
			     wc->src_qpn, wc->flags, wc->imm);
	*message = send;
	return note(model, qp, send);
}

/* Matches a Send with Invalidate whose STag may have been invalidated otherwise meanwhile. */
static bool cannot_invalidate(const struct sim_model_qp *qp, const struct weft_wc *wc)
{
	const struct sim_model_send *send;

	for (send = qp->in_first; send; send = send->in_next) {
		if (send->opcode == WEFT_WR_SEND_INV && is_from(send, wc, qp) &&
		    (send->allowed & ~SIM_MAY(SUCCESS) || send->qp->flushing))
			return true;
	}
	return qp->rq->meets_bad_inv;
}

/* Returns true if some message to the QP explains the failure of a receive. */
static bool explained(const struct sim_model_qp *qp, const struct sim_model_recv *recv,
		      const struct weft_wc *wc)
{
	const struct sim_model_send *send;

	if (wc->status == WEFT_WC_LOC_PROT_ERR && recv->spoilt)
		return true;
	if (wc->status == WEFT_WC_LOC_PROT_ERR || wc->status == WEFT_WC_LOC_QP_OP_ERR)
		return recv->bad;
	if (wc->status == WEFT_WC_REM_INV_REQ_ERR)
		return cannot_invalidate(qp, wc);
	if (wc->status != WEFT_WC_LOC_LEN_ERR)
		return false;
	for (send = qp->in_first; send; send = send->in_next) {
		if (is_from(send, wc, qp) &&
		    send->bytes + (qp->grh ? GRH_BYTES : 0) > recv->capacity)
			return true;
	}
	/* Its sender may already know, and the message be forgotten. */
	return recv->rq->meets_longer;
}

/*
 * An earlier request may have failed at its sender. The message was then flushed with its queue,
 * and its receiver may see that before the process polls the failure.
 */
static bool may_go_with_queue(const struct sim_model_send *send)
{
	const struct sim_model_send *before;

	for (before = send->prev; before && !send->done; before = before->prev) {
		if (before->allowed & SIM_LOCAL_FAULTS)
			return true;
	}
	return false;
}

/* The message that occupied the receive ended before it was complete. */
static bool was_withdrawn(const struct sim_model *model, const struct sim_model_qp *qp,
			  const struct weft_wc *wc)
{
	const struct sim_model_send *send;

	if (model->peers_restart)
		return true;
	for (send = qp->in_first; send; send = send->in_next) {
		if (is_from(send, wc, qp) && !send->received &&
		    (send->done || send->allowed & ~SIM_MAY(SUCCESS) || send->qp->flushing ||
		     send->qp->failed || may_go_with_queue(send)))
			return true;
	}
	return false;
}

/* A failing request ends the connection, and may be polled after the requests that it flushes. */
static bool may_fail(const struct sim_model_qp *qp)
{
	const struct sim_model_send *send;

	for (send = qp->first; send && qp->type == WEFT_QPT_RC; send = send->next) {
		if (send->allowed & ~(SIM_MAY(SUCCESS) | SIM_MAY(WR_FLUSH_ERR)))
			return true;
	}
	return false;
}

bool sim_model_recv_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_recv *recv, const struct weft_wc *wc, const uint8_t *data,
		       const struct sim_model_send **message)
{
	bool right;

	*message = NULL;
	if (recv->done || recv->rq != qp->rq)
		return WRONG(model, "completion: QP 0x%x: receive %" PRIu64 " %s", qp->qpn,
			     recv->wr_id, recv->done ? "completed twice" : "is of another queue");
	if (recv->rq->strict && recv->prev)
		return WRONG(model,
			     "order: QP 0x%x: receive %" PRIu64 " completed before receive %" PRIu64
			     ", which was posted earlier",
			     qp->qpn, recv->wr_id, recv->prev->wr_id);
	if (wc->status == WEFT_WC_SUCCESS)
		right = received(model, qp, recv, wc, data, message);
	else if (wc->status == WEFT_WC_WR_FLUSH_ERR)
		right = qp->recv_flushing || may_fail(qp);
	else if (wc->status == WEFT_WC_REM_ABORT_ERR)
		right = qp->type == WEFT_QPT_RD && was_withdrawn(model, qp, wc);
	else
		right = explained(qp, recv, wc);
	if (!right && wc->status != WEFT_WC_SUCCESS)
		return WRONG(model,
			     "completion: QP 0x%x: receive %" PRIu64 " (%u bytes) failed with %s",
			     qp->qpn, recv->wr_id, recv->capacity, weft_wc_status_str(wc->status));
	sim_model_drop_recv(recv);
	return right;
}
