/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": send requests.
 *
 * Draws a batch of linked requests to one destination (sim_wl_verbs_draft.c), passes the possible
 * results to the model, and posts the batch. Calls libweft, sim_model.c and sim_wl_verbs_draft.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A QPN contains its NIC and shard; a session connects two shards. */
static uint32_t shard_of(const struct wv_qp *qp)
{
	return sim_nic_index(qp->proc->nic) * WV_SHARDS + (qp->model.qpn >> 16) % WV_SHARDS;
}

uint32_t *wv_known_generation(const struct wv_qp *qp, const struct wv_qp *dst)
{
	const struct wv *wv = qp->proc->wv;

	return &wv->known_generation[shard_of(qp) * wv->num_nics * WV_SHARDS + shard_of(dst)];
}

static bool is_confirmed(const struct wv_qp *qp, const struct wv_qp *dst)
{
	return *wv_known_generation(qp, dst) ==
	       qp->proc->wv->nic_generation[sim_nic_index(dst->proc->nic)];
}

/* A stream that the peer does not expect is requested until the retries are exhausted. */
static uint32_t broken_outcomes(const struct wv_qp *qp)
{
	return SIM_MAY(WR_FLUSH_ERR) | SIM_MAY(REM_OP_ERR) | (qp->esp ? SIM_MAY(RETRY_EXC_ERR) : 0);
}

uint32_t wv_outcomes(const struct wv_qp *qp, const struct wv_qp *dst)
{
	uint32_t allowed = SIM_MAY(SUCCESS);

	if (qp->state != WV_LIVE)
		return SIM_MAY(WR_FLUSH_ERR);
	if (qp->model.type == WEFT_QPT_UD)
		return allowed;
	/*
	 * No peer answers for longer than the limit while the path is cut. Which NIC would answer
	 * for a queue pair that does not exist is not known, nor whether it has restarted.
	 */
	if (!dst)
		return SIM_MAY(REM_OP_ERR) | (qp->short_retry ? SIM_MAY(RETRY_EXC_ERR) : 0) |
		       (qp->proc->wv->model.peers_restart ? SIM_MAY(REM_ABORT_ERR) : 0);
	if (dst->state == WV_GONE)
		allowed = SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_INV_REQ_ERR);
	else if (dst->state != WV_LIVE)
		allowed |= SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_INV_REQ_ERR);
	if (dst->proc->dead || !is_confirmed(qp, dst))
		allowed |= SIM_MAY(REM_ABORT_ERR) | SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_INV_REQ_ERR) |
			   SIM_MAY(RETRY_EXC_ERR);
	if (qp->short_retry)
		allowed |= SIM_MAY(RETRY_EXC_ERR);
	if (qp->short_rnr)
		allowed |= SIM_MAY(RNR_RETRY_EXC_ERR);
	if (qp->model.type == WEFT_QPT_RC && qp->broken)
		allowed |= broken_outcomes(qp);
	if (qp->model.type == WEFT_QPT_RC && dst->state == WV_GONE)
		allowed |= SIM_MAY(RETRY_EXC_ERR) | SIM_MAY(WR_FLUSH_ERR);
	return allowed;
}

static bool is_local(enum weft_wr_opcode opcode)
{
	return opcode == WEFT_WR_LOCAL_INV || opcode == WEFT_WR_BIND_MW;
}

/* Passes the draft to the model. */
static void tell(struct wv_qp *qp, struct wv_draft *d)
{
	struct wv_op *op = d->op;

	op->m.opcode = d->wr.opcode;
	op->m.flags = d->wr.flags;
	if (qp->qp->flags & WEFT_QP_F_SQ_SIG_ALL)
		op->m.flags |= WEFT_SEND_SIGNALED;
	op->m.imm = d->wr.imm;
	op->m.inv_stag = d->wr.inv_stag;
	op->m.data = op->data;
	op->m.dst = op->dst && !is_local(d->wr.opcode) ? &op->dst->model : NULL;
	op->m.dst_qpn = d->wr.dst_qpn;
	op->m.dst_ip = op->dst ? op->dst->model.ip : 0;
	if (op->dst && (op->dst->rq->sloppy || op->dst->rq->spoilt) &&
	    sim_model_two_sided(d->wr.opcode) && qp->model.type != WEFT_QPT_UD &&
	    qp->state == WV_LIVE) {
		op->m.allowed |= SIM_MAY(REM_INV_REQ_ERR) | SIM_MAY(REM_OP_ERR);
		op->spoils = qp->model.type == WEFT_QPT_RC;
	}
	/* An earlier request of the batch may have ended the connection. */
	if (qp->broken)
		op->m.allowed |= broken_outcomes(qp);
	sim_model_post_send(&qp->model, &op->m);
	qp->scq->used++;
	if (op->spoils && !qp->broken)
		wv_rc_broken(qp);
}

static void untell(struct wv_draft *d)
{
	sim_model_unpost_send(&d->op->m);
	d->op->qp->scq->used--;
	wv_draft_undo(d->op);
	wv_id_undo(d->op->proc->wv, d->op->m.wr_id);
	wv_op_free(d->op);
}

static struct wv_qp *draw_dst(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;
	uint32_t tries;

	if (qp->model.type == WEFT_QPT_RC)
		return qp->peer && !qp->peer->proc->dead ? qp->peer : NULL;
	for (tries = 0; tries < 4; tries++) {
		struct wv_proc *proc = wv->slot[wv_below(wv, wv->num_slots)];
		struct wv_qp *dst =
		    proc && proc->num_qp ? proc->qp[wv_below(wv, proc->num_qp)] : NULL;

		if (dst && dst->model.type == qp->model.type && dst->state == WV_LIVE)
			return dst;
	}
	return NULL;
}

/* Posts drafts; undoes those that were rejected. */
static void post(struct wv_qp *qp, struct wv_draft *d, uint32_t n)
{
	struct wv *wv = qp->proc->wv;
	const struct weft_send_wr *bad = NULL;
	bool was_idle = !qp->model.first;
	uint32_t i, posted = n;
	int rc;

	for (i = 0; i < n; i++) {
		d[i].wr.next = i + 1 < n ? &d[i + 1].wr : NULL;
		tell(qp, &d[i]);
	}
	rc = weft_post_send(qp->qp, &d[0].wr, &bad);
	if (rc) {
		for (posted = 0; &d[posted].wr != bad; posted++)
			assert(posted < n);
		if (rc != -ENOMEM || (was_idle && !posted))
			wv_fail(wv, "post: QP 0x%x: request %llu of %u bytes (opcode %d): %s%s",
				qp->model.qpn, (unsigned long long)bad->wr_id,
				d[posted].op->m.bytes, (int)bad->opcode, strerror(-rc),
				was_idle ? ", and its queue is empty" : "");
		for (i = n; i > posted; i--)
			untell(&d[i - 1]);
	}
	for (i = 0; i < posted; i++) {
		if (d[i].op->scribble)
			sim_prng_fill(&wv->prng, wv->buffer, d[i].op->m.bytes);
	}
	wv->progress = true;
}

void wv_send(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;
	struct wv_draft d[WV_BATCH];
	struct wv_qp *dst = draw_dst(qp);
	uint32_t want = wv_below(wv, 2) ? 1 : wv_range(wv, 1, WV_BATCH), n = 0;

	if (!dst)
		return;
	while (n < want && qp->scq->used + n < qp->scq->cq->entries) {
		if (!wv_draft(qp, dst, &d[n], n ? &d[n - 1] : NULL))
			break;
		n++;
		/* Inline data shares one buffer. */
		if (d[n - 1].op->scribble)
			break;
	}
	if (!n)
		return;
	if (wv_below(wv, 4))
		d[n - 1].wr.flags |= WEFT_SEND_SIGNALED;
	post(qp, d, n);
}

void wv_send_last(struct wv_qp *qp)
{
	const struct sim_model_send *send;

	for (send = qp->model.first; send; send = send->next) {
		if (send->flags & WEFT_SEND_SIGNALED)
			return;
	}
	if (qp->model.first)
		wv_send_marker(qp);
}

/*
 * Requests that may fail locally wait for the whole queue. Those that did not fail are known to be
 * complete when a later one that also waits for the queue completes.
 */
static bool has_withdrawn(const struct wv_qp *qp)
{
	const struct sim_model_send *send;

	for (send = qp->model.first; send; send = send->next) {
		if (send->withdrawn)
			return true;
	}
	return false;
}

void wv_send_marker(struct wv_qp *qp)
{
	struct wv_draft d;
	struct wv_op *last;

	wv_make_room(qp->proc, qp->scq);
	last = wv_op_of(qp->model.first);
	memset(&d, 0, sizeof(d));
	d.op = calloc(1, sizeof(*d.op));
	assert(d.op);
	d.op->proc = qp->proc;
	d.op->qp = qp;
	d.op->dst = last->dst;
	d.op->m.wr_id = wv_id(qp->proc->wv, d.op, false);
	d.op->m.vendor = SIM_ANY_VENDOR;
	d.op->m.allowed = wv_outcomes(qp, last->dst);
	d.op->data = malloc(1);
	d.wr.wr_id = d.op->m.wr_id;
	d.wr.sg_list = d.sge;
	d.wr.opcode = qp->model.type == WEFT_QPT_UD ? WEFT_WR_SEND_IMM : WEFT_WR_READ;
	d.wr.imm = ++qp->proc->wv->unique * 0x9e3779b1u;
	d.wr.flags = WEFT_SEND_SIGNALED;
	d.wr.ah = qp->proc->ah[qp->pd];
	d.wr.dst_qpn = last->m.dst_qpn;
	d.wr.qkey = last->dst ? last->dst->qkey : 0;
	if (qp->model.type == WEFT_QPT_RD && qp->state == WV_LIVE && has_withdrawn(qp) &&
	    wv_draft_unbind(qp, d.op, &d.wr, d.sge))
		d.op->m.allowed = SIM_MAY(SUCCESS);
	post(qp, &d, 1);
}

void wv_op_tidy(struct wv_op *op)
{
	if (!op->m.done || sim_model_send_kept(&op->m) || op->remote ||
	    (op->reader && !op->reader->m.done))
		return;
	free(op->data);
	op->data = NULL;
}

void wv_op_free(struct wv_op *op)
{
	free(op->data);
	free(op);
}
