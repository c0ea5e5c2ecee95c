/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": receives.
 *
 * A receive holds its buffers from posting to completion, because early packets of messages that
 * are refused later may have been placed in them. When it completes, its bytes are those of the
 * message. On QPs where no message can take over another's receive, the bytes after them are
 * unchanged. Calls libweft and sim_model_recv.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	GRH_SRC_OFFSET = 32, /* offset of the IPv4 addresses at the end of the GRH */
	GRH_DST_OFFSET = 36,
	SLOPPY_PERCENT = 10,
};

static bool take_buffers(struct wv_proc *proc, struct wv_rq *rq, struct wv_recv *recv)
{
	uint32_t left = recv->model.capacity, i;

	recv->num_sge = left ? wv_range(proc->wv, 1, rq->max_sge) : 0;
	for (i = 0; i < recv->num_sge; i++) {
		uint32_t piece = i + 1 == recv->num_sge ? left : wv_below(proc->wv, left + 1);
		size_t offset;
		struct wv_mr *mr =
		    wv_pick(proc, rq->pd, piece, WEFT_ACCESS_LOCAL_WRITE, true, &offset);

		if (!mr) {
			recv->num_sge = i;
			return false;
		}
		recv->hold[i] =
		    sim_shadow_hold(mr->area->shadow, offset, piece, SIM_HOLD_ANY, NULL);
		recv->sge[i] = (struct weft_sge){wv_addr(mr, offset), piece, mr->mr->lkey};
		left -= piece;
	}
	return true;
}

/* Creates an invalid receive: a key of the other PD, over bytes that must not change. */
static void make_bad(struct wv_proc *proc, struct wv_rq *rq, struct wv_recv *recv)
{
	struct wv_mr *mr = &proc->mr[rq->pd ? 0 : 2];

	recv->model.bad = true;
	recv->num_sge = 1;
	recv->sge[0] = (struct weft_sge){mr->iova, recv->model.capacity, mr->mr->lkey};
}

/* Keeps others from the reserved memory, except for its first bytes. */
static void keep_reserve(struct wv_rq *rq, uint32_t from)
{
	sim_shadow_release(rq->reserve);
	rq->reserve = sim_shadow_hold(rq->reserve_mr->area->shadow, rq->reserve_offset + from,
				      rq->reserve_bytes - from, SIM_HOLD_KEEP, NULL);
}

static void wv_recv_drop(struct wv_recv *recv);

/* Uses the reserved memory. */
static bool take_reserve(struct wv_rq *rq, struct wv_recv *recv)
{
	struct wv_mr *mr = rq->reserve_mr;
	uint32_t bytes = recv->model.capacity;

	wv_recv_drop(recv);
	recv->num_sge = 0;
	if (!mr || rq->reserve_used || bytes > rq->reserve_bytes)
		return false;
	keep_reserve(rq, bytes);
	recv->reserve = rq->reserve_used = true;
	recv->num_sge = 1;
	recv->hold[0] =
	    sim_shadow_hold(mr->area->shadow, rq->reserve_offset, bytes, SIM_HOLD_ANY, NULL);
	recv->sge[0] = (struct weft_sge){wv_addr(mr, rq->reserve_offset), bytes, mr->mr->lkey};
	return true;
}

/* The receive has ended: its memory is reserved again. */
static void give_back(struct wv_recv *recv)
{
	uint32_t i;

	if (recv->model.spoilt) {
		recv->model.spoilt = false;
		recv->rq->spoilt--;
	}
	for (i = 0; i < recv->num_sge; i++) {
		free(recv->was[i]);
		recv->was[i] = NULL;
	}
	if (!recv->reserve)
		return;
	recv->reserve = false;
	recv->rq->reserve_used = false;
	if (recv->rq->reserve_mr)
		keep_reserve(recv->rq, 0);
}

/* Releases the buffers of a receive that will not complete. */
static void wv_recv_drop(struct wv_recv *recv)
{
	uint32_t i;

	for (i = 0; i < recv->num_sge; i++) {
		wv_adopt(recv->proc->wv, recv->hold[i], "a receive that was given up", NULL);
		recv->hold[i] = NULL;
	}
	give_back(recv);
}

void wv_recv_free(struct wv_recv *recv)
{
	uint32_t i;

	if (!recv)
		return;
	for (i = 0; i < recv->num_sge; i++)
		free(recv->was[i]);
	free(recv);
}

static void undo(struct wv_recv *recv)
{
	wv_recv_drop(recv);
	wv_id_undo(recv->proc->wv, recv->model.wr_id);
	wv_recv_free(recv);
}

static struct wv_recv *draw(struct wv_proc *proc, struct wv_rq *rq, bool grh)
{
	struct wv_recv *recv = calloc(1, sizeof(*recv));
	uint32_t sloppy = rq->sloppy ? wv_below(proc->wv, 100) : 100;

	assert(recv);
	recv->proc = proc;
	recv->rq = rq;
	recv->model.wr_id = wv_id(proc->wv, recv, true);
	recv->model.capacity = rq->msg_bytes + (grh ? WV_GRH_BYTES : 0);
	if (sloppy < SLOPPY_PERCENT / 2) {
		make_bad(proc, rq, recv);
		return recv;
	}
	if (sloppy < SLOPPY_PERCENT) {
		recv->model.capacity = wv_below(proc->wv, recv->model.capacity);
		rq->model.meets_longer = true;
	}
	if (take_buffers(proc, rq, recv) || take_reserve(rq, recv))
		return recv;
	undo(recv);
	return NULL;
}

void wv_replenish(struct wv_proc *proc, struct wv_rq *rq, struct wv_qp *qp)
{
	struct wv *wv = proc->wv;

	if (!rq->model.outstanding)
		wv_make_room(proc, rq->cq);
	while (rq->model.outstanding < rq->wanted && rq->cq->used < rq->cq->cq->entries) {
		struct wv_recv *recv = draw(proc, rq, qp && qp->model.grh);
		struct weft_recv_wr wr;
		int rc;

		if (!recv)
			return;
		wr = (struct weft_recv_wr){
		    .wr_id = recv->model.wr_id, .sg_list = recv->sge, .num_sge = recv->num_sge};
		rc = rq->srq ? weft_post_srq_recv(rq->srq, &wr, NULL)
			     : weft_post_recv(qp->qp, &wr, NULL);
		if (rc) {
			wv_fail(wv, "post: weft%u process %u: a receive of %u, %u posted: %s",
				sim_nic_index(proc->nic), proc->slot, rq->max_wr,
				rq->model.outstanding, strerror(-rc));
			undo(recv);
			return;
		}
		sim_model_post_recv(&rq->model, &recv->model);
		rq->cq->used++;
		wv->progress = true;
	}
}

void wv_rq_drop(struct wv_rq *rq)
{
	while (rq->model.first) {
		struct sim_model_recv *recv = rq->model.first;

		sim_model_drop_recv(recv);
		rq->cq->used--;
		wv_recv_drop((struct wv_recv *)recv);
	}
}

/* Copies the current content of the buffers into one piece. */
static void gather(const struct wv_recv *recv, uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < recv->num_sge; i++) {
		if (recv->hold[i])
			memcpy(to, wv_memory(recv->proc, recv->hold[i]), recv->sge[i].bytes);
		else if (recv->was[i])
			memcpy(to, recv->was[i], recv->sge[i].bytes);
		to += recv->sge[i].bytes;
	}
}

/*
 * Settles the buffers of a completed receive: bytes [0, bytes) were compared, the rest must be
 * unchanged.
 */
static void settle(struct wv_qp *qp, struct wv_recv *recv, const uint8_t *data, uint32_t bytes)
{
	struct wv *wv = qp->proc->wv;
	const struct sim_nic *nic = qp->proc->nic;
	/* A datagram that met a slow page was lost, and placed in part; its receive stayed. */
	bool lost = (qp->model.type == WEFT_QPT_UD && sim_nic_stat(nic, "drop_ud_busy")) ||
		    (qp->model.type == WEFT_QPT_UC && sim_nic_stat(nic, "drop_uc_busy"));
	bool exact = qp->model.type != WEFT_QPT_RD && !lost;
	uint32_t i, at = 0;

	for (i = 0; i < recv->num_sge; i++) {
		struct sim_hold *hold = recv->hold[i];
		uint32_t piece = recv->sge[i].bytes;
		uint32_t used = bytes <= at ? 0 : bytes - at < piece ? bytes - at : piece;

		recv->hold[i] = NULL;
		at += piece;
		if (!hold)
			continue;
		if (!exact) {
			wv_adopt(wv, hold, "a receive", NULL);
			continue;
		}
		memcpy(wv->buffer, data + at - piece, used);
		memcpy(wv->buffer + used, sim_shadow_at(hold->shadow, hold->offset + used),
		       piece - used);
		wv_settle(wv, hold, wv->buffer, "behind a message in its receive", NULL);
	}
	give_back(recv);
}

static void check_grh(struct wv_qp *qp, const struct weft_wc *wc, const uint8_t *grh)
{
	if (memcmp(grh + GRH_SRC_OFFSET, &wc->src_ip, 4) ||
	    memcmp(grh + GRH_DST_OFFSET, &qp->model.ip, 4) || grh[0] || grh[20] != 0x45)
		wv_fail(qp->proc->wv, "message: QP 0x%x: the GRH before a datagram is wrong",
			qp->model.qpn);
}

void wv_received(struct wv_qp *qp, struct wv_recv *recv, const struct weft_wc *wc)
{
	struct wv *wv = qp->proc->wv;
	uint8_t *data = wv->buffer + WV_BUFFER_BYTES;
	const struct sim_model_send *message;
	bool placed = wc->status == WEFT_WC_SUCCESS && wc->opcode == WEFT_WC_RECV;
	struct wv_op *op;

	gather(recv, data);
	recv->rq->cq->used--;
	wv->model.may_duplicate = sim_nic_counts(qp->proc->nic)->duplicated != 0;
	if (!sim_model_recv_wc(&wv->model, &qp->model, &recv->model, wc, data, &message)) {
		wv_fail(wv, "%s", wv->model.why);
		return;
	}
	if (placed && qp->model.grh && !recv->model.bad)
		check_grh(qp, wc, data);
	if (wc->status == WEFT_WC_SUCCESS)
		settle(qp, recv, data, placed ? wc->bytes : 0);
	else
		wv_recv_drop(recv);
	if (!message)
		return;
	wv->run->received++;
	wv->run->bytes += message->bytes;
	op = wv_op_of(message);
	wv_key_invalidated(op);
	/* The data of a Write with immediate must have been placed by now. */
	if (op->m.opcode == WEFT_WR_WRITE_IMM && op->remote && !op->m.done) {
		wv_settle(wv, op->remote, op->data, "a Write with immediate that was announced",
			  op);
		op->remote = NULL;
	}
	wv_op_tidy(op);
}
