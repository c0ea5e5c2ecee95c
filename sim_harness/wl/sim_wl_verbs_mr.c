/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": regions that end while in use.
 *
 * A region is invalidated by its owner or by a peer, or deregistered while requests and receives
 * use it. Once that has begun, requests that use it may fail; after it, no byte changes through it.
 * IBA 10.6.7. Calls libweft, sim_shadow.c and sim_wl_verbs_mem.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_in(const struct wv_mr *mr, const struct sim_hold *hold)
{
	return hold && hold->shadow == mr->area->shadow && hold->offset >= mr->offset &&
	       hold->offset < mr->offset + mr->bytes;
}

static bool uses_here(const struct wv_mr *mr, const struct wv_op *op)
{
	uint32_t i;

	for (i = 0; i < op->num_local; i++) {
		if (is_in(mr, op->local[i]))
			return true;
	}
	return false;
}

static bool uses_there(const struct wv_mr *mr, const struct wv_op *op)
{
	return op->dst && op->dst->proc == mr->area->proc && op->rkey == mr->mr->rkey;
}

/* Returns true if nothing but Reads of peers uses the region. */
static bool is_only_read_from_afar(struct wv *wv, const struct wv_mr *mr)
{
	uint32_t i;

	if (!sim_shadow_free_range(mr->area->shadow, mr->offset, mr->bytes, false))
		return false;
	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];

		if (op && !op->m.done && uses_here(mr, op))
			return false;
	}
	return true;
}

/*
 * Returns an unused region whose end affects nothing else; NULL: none found. Where frames borrow
 * memory, peers may read from it: what they were sent before is as it was.
 */
static struct wv_mr *draw_idle_mr(struct wv_proc *proc, uint32_t pd)
{
	struct wv_mr *mr = &proc->mr[wv_range(proc->wv, 1, WV_MRS - 1)];

	if (!mr->mr || mr->ending || mr->pd != pd || !(mr->access & WV_REMOTE_ACCESS) ||
	    wv_has_windows(mr))
		return NULL;
	if (!sim_shadow_free_range(mr->area->shadow, mr->offset, mr->bytes, true) &&
	    (!sim_get_config(proc->wv->sim)->borrow || !is_only_read_from_afar(proc->wv, mr)))
		return NULL;
	return mr;
}

/* The invalidation of a region has started: requests that read from it may be refused. */
static void mr_ending(struct wv *wv, const struct wv_mr *mr)
{
	uint32_t i;

	for (i = 0; i < wv->num_ids && sim_get_config(wv->sim)->borrow; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];

		if (op && !op->m.done && uses_there(mr, op))
			wv_may_be_refused(op);
	}
}

void wv_mr_ended(struct wv *wv, struct wv_mr *mr)
{
	uint32_t i;

	mr->dead = true;
	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];

		if (op && !op->m.done && uses_there(mr, op) && is_in(mr, op->remote))
			wv_freeze_remote(op);
	}
}

/* Requests that were to fail for another reason name the region and may fail because of its end. */
static void blur(struct wv *wv, const struct wv_proc *proc)
{
	uint32_t i;

	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];

		if (op && !op->m.done && op->proc == proc)
			op->m.vendor = SIM_ANY_VENDOR;
	}
}

uint32_t wv_mr_draw_inv(struct wv_qp *qp, struct wv_op *op)
{
	struct wv *wv = qp->proc->wv;
	struct wv_mr *mr = draw_idle_mr(qp->proc, qp->pd);

	if (!mr)
		return 0;
	mr->ending = op;
	op->ends_mr = mr;
	blur(wv, qp->proc);
	mr_ending(wv, mr);
	return mr->mr->rkey;
}

void wv_mr_renew(struct wv_mr *mr)
{
	struct wv_proc *proc = mr->area->proc;
	int rc = weft_dereg_mr(mr->mr);

	mr->mr = NULL;
	if (!rc) {
		mr->mr = weft_reg_mr_iova(proc->pd[mr->pd], mr->area->mem + mr->offset, mr->bytes,
					  mr->iova, (int)mr->access);
		rc = mr->mr ? 0 : -errno;
	}
	mr->ending = NULL;
	mr->dead = false;
	if (rc)
		wv_call_failed(proc, "another registration of a region that was invalidated", rc);
}

/* Messages to a queue of which a receive may fail. */
static void blur_messages(struct wv *wv, const struct wv_rq *rq)
{
	uint32_t i;

	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];

		if (!op || op->m.done || !op->dst || op->dst->rq != rq ||
		    !sim_model_two_sided(op->m.opcode) || op->qp->model.type == WEFT_QPT_UD)
			continue;
		op->m.allowed |= SIM_MAY(REM_INV_REQ_ERR) | SIM_MAY(REM_OP_ERR);
		if (op->qp->model.type == WEFT_QPT_RC)
			wv_rc_broken(op->qp);
	}
}

static void dereg_begins(struct wv *wv, struct wv_mr *mr)
{
	uint32_t i, n;

	blur(wv, mr->area->proc);
	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];
		struct wv_recv *recv = wv->is_recv[i] ? wv->ids[i] : NULL;

		if (op && !op->m.done && uses_here(mr, op)) {
			op->m.allowed |= SIM_MAY(LOC_PROT_ERR);
			op->m.withdrawn = true;
			if (op->qp->model.type == WEFT_QPT_RC)
				wv_rc_broken(op->qp);
		}
		if (op && !op->m.done && uses_there(mr, op))
			wv_may_be_refused(op);
		for (n = 0; recv && !recv->model.done && n < recv->num_sge; n++) {
			if (!is_in(mr, recv->hold[n]) || recv->model.spoilt)
				continue;
			recv->model.spoilt = true;
			recv->rq->spoilt++;
			blur_messages(wv, recv->rq);
		}
	}
}

static void dereg_done(struct wv *wv, struct wv_mr *mr)
{
	uint32_t i, n;

	for (i = 0; i < wv->num_ids; i++) {
		struct wv_op *op = wv->is_recv[i] ? NULL : wv->ids[i];
		struct wv_recv *recv = wv->is_recv[i] ? wv->ids[i] : NULL;

		for (n = 0; op && n < op->num_local; n++) {
			if (!is_in(mr, op->local[n]))
				continue;
			if (op->counter)
				memcpy(op->data + op->local_at[n],
				       wv_memory(op->proc, op->local[n]), op->local[n]->bytes);
			if (op->local[n]->kind == SIM_HOLD_READ)
				sim_shadow_release(op->local[n]);
			else
				wv_adopt(wv, op->local[n], "a sink that was deregistered", op);
			op->local[n] = NULL;
		}
		if (op && op->remote && is_in(mr, op->remote))
			wv_freeze_remote(op);
		for (n = 0; recv && !recv->model.done && n < recv->num_sge; n++) {
			if (!is_in(mr, recv->hold[n]))
				continue;
			recv->was[n] = malloc(recv->hold[n]->bytes);
			assert(recv->was[n]);
			memcpy(recv->was[n], wv_memory(recv->proc, recv->hold[n]),
			       recv->hold[n]->bytes);
			wv_adopt(wv, recv->hold[n], "a receive that was deregistered", NULL);
			recv->hold[n] = NULL;
		}
	}
}

static bool is_reserve(const struct wv_proc *proc, const struct wv_mr *mr)
{
	uint32_t i;

	for (i = 0; i < proc->num_qp; i++) {
		if (proc->qp[i]->own_rq.reserve_mr == mr)
			return true;
	}
	return proc->has_srq && proc->srq[0].reserve_mr == mr;
}

void wv_dereg_in_use(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_mr *mr = &proc->mr[wv_range(wv, 1, WV_MRS - 1)];
	uint32_t i;
	int rc;

	for (i = 0; i < WV_MWS && mr->mr; i++) {
		if (proc->mw[i].state != WV_MW_BOUND || proc->mw[i].bound.mr != mr)
			continue;
		rc = weft_dereg_mr(mr->mr);
		if (rc != -EBUSY)
			wv_call_failed(proc, "deregistration of a region with a window", rc);
		return;
	}
	if (!mr->mr || mr->ending || wv_has_windows(mr) || is_reserve(proc, mr))
		return;
	dereg_begins(wv, mr);
	rc = weft_dereg_mr(mr->mr);
	mr->mr = NULL;
	if (!rc) {
		dereg_done(wv, mr);
		mr->mr = weft_reg_mr_iova(proc->pd[mr->pd], mr->area->mem + mr->offset, mr->bytes,
					  mr->iova, (int)mr->access);
		rc = mr->mr ? 0 : -errno;
	}
	if (rc)
		wv_call_failed(proc, "deregistration of a region in use", rc);
}
