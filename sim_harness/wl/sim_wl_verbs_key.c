/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": keys that end while in use.
 *
 * Memory windows of both types are bound, used, bound again, invalidated by their owner (LOCAL_INV)
 * and by peers (Send with Invalidate), and freed; sim_wl_verbs_mr.c ends regions. Once that request
 * is posted, requests that use the key may fail, all others must not. After its completion no byte
 * changes through the key, and requests that name it fail. IBA 10.6.7, RFC 5040 5.3. Calls libweft,
 * sim_shadow.c, sim_wl_verbs_mem.c and sim_wl_verbs_mr.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_BYTES = 40000,
	KEY_MASK = 0xff,
};

void wv_call_failed(struct wv_proc *proc, const char *what, int rc)
{
	wv_fail(proc->wv, "call: weft%u process %u: %s: %s", sim_nic_index(proc->nic), proc->slot,
		what, strerror(-rc));
}

/* ---- windows -------------------------------------------------------------------------------- */

static int mw_new(struct wv_mw *w)
{
	w->mw = weft_alloc_mw(w->proc->pd[w->pd], w->type);
	w->state = WV_MW_FREE;
	w->op = NULL;
	w->rkey = w->mw ? w->mw->rkey : 0;
	return w->mw ? 0 : -errno;
}

int wv_mws_new(struct wv_proc *proc)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < WV_MWS && !rc && proc->wv->keys; i++) {
		struct wv_mw *w = &proc->mw[i];

		w->proc = proc;
		w->pd = i % WV_PDS;
		w->type = i < WV_PDS ? 1 : 2;
		rc = mw_new(w);
	}
	return rc;
}

void wv_mw_use(struct wv_op *op, struct wv_mw *w)
{
	op->via = w;
	op->via_next = w->users;
	w->users = op;
}

static void unuse(struct wv_op *op)
{
	struct wv_op **at;

	if (!op->via)
		return;
	for (at = &op->via->users; *at != op; at = &(*at)->via_next)
		;
	*at = op->via_next;
	op->via = NULL;
}

struct wv_mw *wv_mw_pick(struct wv_qp *dst, uint32_t bytes, uint32_t access, bool write,
			 size_t *offset)
{
	struct wv_mw *w = &dst->proc->mw[wv_below(dst->proc->wv, WV_MWS)];
	struct wv *wv = dst->proc->wv;

	if (w->state != WV_MW_BOUND || w->pd != dst->pd || (w->type == 2 && w->qp != dst) ||
	    (w->bound.access & access) != access || bytes > w->bound.bytes)
		return NULL;
	*offset = w->bound.offset;
	if (wv_below(wv, 3))
		*offset += wv_below(wv, 2)
			       ? w->bound.bytes - bytes
			       : (size_t)wv_below(wv, (uint32_t)(w->bound.bytes - bytes) + 1);
	return sim_shadow_free_range(w->bound.mr->area->shadow, *offset, bytes, write) ? w : NULL;
}

void wv_may_be_refused(struct wv_op *op)
{
	op->m.allowed |= SIM_MAY(REM_ACCESS_ERR) | SIM_MAY(REM_OP_ERR);
	if (op->qp->model.type == WEFT_QPT_RC)
		wv_rc_broken(op->qp);
}

void wv_freeze_remote(struct wv_op *op)
{
	struct sim_hold *hold = op->remote;

	op->remote = NULL;
	if (op->reader)
		op->reader->writer_failed = true;
	if (hold && hold->kind == SIM_HOLD_READ)
		sim_shadow_release(hold);
	else
		wv_adopt(op->proc->wv, hold, "what was written through a key that is no more", op);
}

/* Data of a Write is placed before a later Send with Invalidate of the same flow takes effect. */
static bool is_before(const struct wv_op *op, const struct wv_op *by)
{
	return by && by->m.opcode == WEFT_WR_SEND_INV && by->qp == op->qp && by->dst == op->dst &&
	       op->m.opcode != WEFT_WR_READ;
}

/* The end of the binding has started. */
static void mw_ending(struct wv_mw *w, const struct wv_op *by)
{
	struct wv_op *op;

	for (op = w->users; op; op = op->via_next) {
		if (!is_before(op, by))
			wv_may_be_refused(op);
	}
}

/* The binding has ended. */
static void mw_ended(struct wv_mw *w, const struct wv_op *by)
{
	struct wv_op *op;

	w->proc->stale[w->pd].rkey = w->rkey;
	w->proc->stale[w->pd].addr = w->bound.base;
	w->proc->stale[w->pd].valid = w->state != WV_MW_LOST && w->bound.base;
	while ((op = w->users)) {
		unuse(op);
		if (is_before(op, by) && op->m.allowed == SIM_MAY(SUCCESS) && op->remote &&
		    op->remote->kind == SIM_HOLD_WRITE) {
			wv_settle(op->proc->wv, op->remote, op->data,
				  "a Write before the Send that took its window", op);
			op->remote = NULL;
			if (op->reader)
				op->reader->writer_failed = true;
		}
		wv_freeze_remote(op);
	}
}

bool wv_has_windows(const struct wv_mr *mr)
{
	const struct wv_proc *proc = mr->area->proc;
	uint32_t i;

	for (i = 0; i < WV_MWS; i++) {
		const struct wv_mw *w = &proc->mw[i];

		if (w->state == WV_MW_BINDING || w->state == WV_MW_LOST ||
		    (w->state != WV_MW_FREE && w->bound.mr == mr))
			return true;
	}
	return false;
}

/* Draws a range to bind, in a region of the PD that permits it. */
static struct wv_mr *draw_range(struct wv_proc *proc, uint32_t pd, size_t *offset, size_t *bytes)
{
	static const uint32_t parents[] = {0, 2, 4};
	struct wv *wv = proc->wv;
	struct wv_mr *mr = &proc->mr[parents[wv_below(wv, 3)]];
	size_t low, most;

	if (!mr->mr || mr->ending || mr->pd != pd)
		return NULL;
	low = wv_low_of(mr);
	most = mr->offset + mr->bytes - low;
	*bytes = wv_range(wv, 1, most < WINDOW_BYTES ? (uint32_t)most : WINDOW_BYTES);
	*offset = low + (size_t)wv_below(wv, (uint32_t)(most - *bytes) + 1);
	if (!wv_below(wv, 4))
		*offset = mr->offset + mr->bytes - *bytes;
	return mr;
}

static void will_change(struct wv_mw *w, struct wv_op *op, enum wv_mw_state state)
{
	op->changes = w;
	op->changes_from = w->state;
	w->state = state;
	w->op = op;
	mw_ending(w, op);
}

bool wv_draft_bind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		   struct weft_sge *sge)
{
	struct wv *wv = qp->proc->wv;
	struct wv_mw *w = &qp->proc->mw[wv_below(wv, WV_MWS)];
	bool unbind = w->state == WV_MW_BOUND && w->type == 1 && !wv_below(wv, 3);
	size_t offset = 0, bytes = 0;
	struct wv_mr *mr = NULL;

	if (w->pd != qp->pd || w->op || !w->mw ||
	    (w->state != WV_MW_FREE && (w->type == 2 || w->state != WV_MW_BOUND)))
		return false;
	if (w->users && wv_below(wv, 4))
		return false;
	if (!unbind)
		mr = draw_range(qp->proc, qp->pd, &offset, &bytes);
	if (!mr && !unbind)
		return false;
	wr->opcode = WEFT_WR_BIND_MW;
	wr->rkey = w->type == 1 ? w->rkey : (w->rkey & ~KEY_MASK) | ((w->rkey + 1) & KEY_MASK);
	wr->sg_list = sge;
	wr->num_sge = 1;
	sge[0] = (struct weft_sge){0, 0, 0};
	will_change(w, op, unbind ? WV_MW_ENDING : WV_MW_BINDING);
	if (unbind)
		return true;
	sge[0] = (struct weft_sge){wv_addr(mr, offset), (uint32_t)bytes, mr->mr->lkey};
	wr->mw_access = wv_range(wv, 1, 3) << 1; /* remote write, read, or both */
	if (!wv_below(wv, 3))
		wr->mw_access |= WEFT_ACCESS_ZERO_BASED;
	op->bind = (struct wv_binding){
	    .mr = mr, .offset = offset, .bytes = bytes, .access = wr->mw_access & WV_REMOTE_ACCESS};
	op->bind.base = wr->mw_access & WEFT_ACCESS_ZERO_BASED ? 0 : wv_addr(mr, offset);
	return true;
}

bool wv_draft_unbind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		     struct weft_sge *sge)
{
	uint32_t i;

	for (i = 0; i < WV_MWS; i++) {
		struct wv_mw *w = &qp->proc->mw[i];

		if (w->pd != qp->pd || w->type != 1 || w->op || !w->mw || w->state == WV_MW_LOST)
			continue;
		wr->opcode = WEFT_WR_BIND_MW;
		wr->rkey = w->rkey;
		wr->num_sge = 1;
		sge[0] = (struct weft_sge){0, 0, 0};
		will_change(w, op, WV_MW_ENDING);
		return true;
	}
	return false;
}

/*
 * Returns a key of proc that a request on qp (its own, or a peer's to it) may invalidate; 0: none.
 */
static uint32_t draw_inv(struct wv_qp *qp, struct wv_op *op)
{
	struct wv *wv = qp->proc->wv;
	struct wv_mw *w = NULL;
	uint32_t i;

	for (i = 0; i < WV_MWS; i++) {
		if (qp->proc->mw[i].qp == qp && qp->proc->mw[i].type == 2)
			w = &qp->proc->mw[i];
	}
	if (!wv_below(wv, 8))
		return wv_mr_draw_inv(qp, op);
	if (!w || w->state != WV_MW_BOUND || w->op)
		return 0;
	if (w->users && wv_below(wv, 2))
		return 0;
	will_change(w, op, WV_MW_ENDING);
	return w->rkey;
}

bool wv_draft_local_inv(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr)
{
	wr->inv_stag = draw_inv(qp, op);
	if (!wr->inv_stag)
		return false;
	wr->opcode = WEFT_WR_LOCAL_INV;
	return true;
}

bool wv_draft_send_inv(struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr)
{
	wr->inv_stag = draw_inv(dst, op);
	if (!wr->inv_stag)
		return false;
	wr->opcode = WEFT_WR_SEND_INV;
	return true;
}

/* ---- results of requests that change keys ---------------------------------------------------- */

void wv_key_undo(struct wv_op *op)
{
	unuse(op);
	if (op->changes && op->changes->op == op) {
		op->changes->state = op->changes_from;
		op->changes->op = NULL;
	}
	if (op->ends_mr && op->ends_mr->ending == op)
		op->ends_mr->ending = NULL;
	op->changes = NULL;
	op->ends_mr = NULL;
}

static void change_done(struct wv_mw *w, const struct wv_op *op)
{
	bool bind = op->m.opcode == WEFT_WR_BIND_MW;

	w->op = NULL;
	mw_ended(w, op);
	if (bind)
		w->rkey = (w->rkey & ~KEY_MASK) | ((w->rkey + 1) & KEY_MASK);
	w->state = w->state == WV_MW_BINDING ? WV_MW_BOUND : WV_MW_FREE;
	if (w->state != WV_MW_BOUND)
		return;
	w->bound = op->bind;
	w->qp = op->qp;
}

void wv_key_invalidated(struct wv_op *op)
{
	if (op->changes && op->changes->op == op)
		change_done(op->changes, op);
	if (op->ends_mr && op->ends_mr->ending == op && !op->ends_mr->dead)
		wv_mr_ended(op->proc->wv, op->ends_mr);
}

void wv_key_ended(struct wv_op *op, bool success)
{
	unuse(op);
	if (success) {
		wv_key_invalidated(op);
		return;
	}
	/* It is unknown whether the request was executed. */
	if (op->changes && op->changes->op == op) {
		op->changes->op = NULL;
		op->changes->state = WV_MW_LOST;
	}
	if (op->ends_mr && op->ends_mr->ending == op)
		op->ends_mr->dead = true;
}

void wv_key_qp_gone(struct wv_qp *qp)
{
	uint32_t i;

	for (i = 0; i < WV_MWS; i++) {
		struct wv_mw *w = &qp->proc->mw[i];

		if (w->type != 2 || w->qp != qp || w->state == WV_MW_FREE ||
		    w->state == WV_MW_LOST || w->state == WV_MW_BINDING)
			continue;
		w->op = NULL;
		mw_ending(w, NULL);
		mw_ended(w, NULL);
		w->state = WV_MW_FREE;
	}
}

/* ---- between requests ----------------------------------------------------------------------- */

static void renew_mw(struct wv_mw *w)
{
	int rc;

	mw_ending(w, NULL);
	rc = weft_dealloc_mw(w->mw);
	if (!rc) {
		mw_ended(w, NULL);
		rc = mw_new(w);
	}
	if (rc)
		wv_call_failed(w->proc, "another window for one that is bound, or may be", rc);
}

void wv_keys_step(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	uint32_t i;

	if (!wv->keys)
		return;
	for (i = 0; i < WV_MWS && !wv_failed(wv); i++) {
		struct wv_mw *w = &proc->mw[i];

		if (w->state == WV_MW_LOST ||
		    (w->state == WV_MW_BOUND && !wv->run->stopping && !wv_below(wv, 2000)))
			renew_mw(w);
	}
	for (i = 0; i < WV_MRS && !wv_failed(wv); i++) {
		if (proc->mr[i].dead)
			wv_mr_renew(&proc->mr[i]);
	}
}
