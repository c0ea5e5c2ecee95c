/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": requests and calls that must fail, and their errors.
 *
 * Each kind has one result; possible effects on the peer are added. None of them may change memory.
 * Calls sim_wl_verbs_mem.c, sim_wl_verbs_cq.c and libweft.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SMALL_BYTES = 1000, /* one packet: nothing is placed if it is refused */
	NO_SUCH_INDEX = 0xfff0,
	KEY_KINDS = 5, /* misuses that concern windows */
};

/* Context of a misuse. */
struct misuse {
	struct wv_qp *qp, *dst;
	struct wv_op *op;
	struct weft_send_wr *wr;
	struct weft_sge *sge;
};

typedef bool (*misuse_fn)(struct misuse *m);

static void fails(struct misuse *m, uint32_t status, int vendor)
{
	m->op->m.allowed = (m->op->m.allowed & ~SIM_MAY(SUCCESS)) | status;
	m->op->m.vendor = m->op->m.allowed == status ? vendor : SIM_ANY_VENDOR;
	m->op->spoils = m->qp->model.type == WEFT_QPT_RC;
}

/* Fails locally before anything is sent, whatever the peer's state. */
static void fails_here(struct misuse *m, uint32_t status, int vendor)
{
	m->op->m.allowed &= SIM_MAY(WR_FLUSH_ERR);
	m->op->m.allowed |= m->qp->state == WV_LIVE ? status : 0;
	m->op->m.vendor = vendor;
	m->op->spoils = m->qp->model.type == WEFT_QPT_RC;
}

/* Adds an SGE over bytes that must not change. */
static bool take(struct misuse *m, uint32_t bytes, bool sink)
{
	struct wv_op *op = m->op;
	size_t offset;
	struct wv_mr *mr = wv_pick(m->qp->proc, m->qp->pd, bytes,
				   sink ? WEFT_ACCESS_LOCAL_WRITE : 0, sink, &offset);

	if (!mr || !m->qp->qp->cap.max_send_sge)
		return false;
	op->m.bytes = bytes;
	op->data = malloc(bytes + 1);
	assert(op->data);
	memcpy(op->data, sim_shadow_at(mr->area->shadow, offset), bytes);
	op->local[0] = sim_shadow_hold(mr->area->shadow, offset, bytes, SIM_HOLD_READ, NULL);
	op->num_local = 1;
	m->sge[0] = (struct weft_sge){wv_addr(mr, offset), bytes, mr->mr->lkey};
	m->wr->num_sge = 1;
	return true;
}

static struct wv_mr *mr_of(const struct wv_proc *proc, uint32_t pd, uint32_t with, uint32_t without)
{
	uint32_t i;

	for (i = 0; i < WV_MRS; i++) {
		const struct wv_mr *mr = &proc->mr[i];

		if (mr->mr && !mr->ending && mr->pd == pd && (mr->access & with) == with &&
		    !(mr->access & without))
			return (struct wv_mr *)(uintptr_t)mr;
	}
	return NULL;
}

static enum weft_wr_opcode any_send(const struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;

	return m->qp->model.type != WEFT_QPT_UD && wv_below(wv, 2) ? WEFT_WR_WRITE : WEFT_WR_SEND;
}

static uint32_t some_bytes(const struct misuse *m)
{
	return wv_range(m->qp->proc->wv, 1, SMALL_BYTES);
}

static bool bad_lkey(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	struct wv_mr *other = mr_of(m->qp->proc, !m->qp->pd, 0, 0);

	if (!take(m, some_bytes(m), false))
		return false;
	m->wr->opcode = any_send(m);
	if (other && wv_below(wv, 2)) {
		m->sge[0].lkey = other->mr->lkey;
		m->sge[0].addr = other->iova;
	} else {
		m->sge[0].lkey ^= 1u << wv_below(wv, 8);
	}
	fails_here(m, SIM_MAY(LOC_PROT_ERR), WEFT_VENDOR_ERR_LKEY);
	return true;
}

static bool local_bounds(struct misuse *m)
{
	struct wv_mr *mr = mr_of(m->qp->proc, m->qp->pd, 0, 0);
	uint32_t bytes = some_bytes(m);

	if (!mr || !take(m, bytes, false))
		return false;
	m->wr->opcode = any_send(m);
	m->sge[0].lkey = mr->mr->lkey;
	m->sge[0].addr = mr->iova + mr->bytes - bytes + 1;
	if (mr->iova && wv_below(m->qp->proc->wv, 2))
		m->sge[0].addr = mr->iova - 1;
	fails_here(m, SIM_MAY(LOC_PROT_ERR), WEFT_VENDOR_ERR_BOUNDS);
	return true;
}

static bool read_only_sink(struct misuse *m)
{
	struct wv_mr *mr = mr_of(m->qp->proc, m->qp->pd, 0, WEFT_ACCESS_LOCAL_WRITE);

	if (m->qp->model.type == WEFT_QPT_UD || !mr || !take(m, some_bytes(m), true))
		return false;
	m->wr->opcode = WEFT_WR_READ;
	m->sge[0].lkey = mr->mr->lkey;
	m->sge[0].addr = mr->iova;
	fails_here(m, SIM_MAY(LOC_PROT_ERR), WEFT_VENDOR_ERR_ACCESS);
	return true;
}

/* Fills in a request, of 8 bytes for atomics; the caller sets the remote side. */
static bool take_remote_op(struct misuse *m, enum weft_wr_opcode opcode)
{
	bool atomic = opcode == WEFT_WR_FETCH_ADD || opcode == WEFT_WR_CMP_SWAP;

	m->wr->opcode = opcode;
	m->wr->compare_add = 1;
	return take(m, atomic ? 8 : some_bytes(m), opcode != WEFT_WR_WRITE);
}

static enum weft_wr_opcode draw_remote_op(struct wv *wv)
{
	static const enum weft_wr_opcode opcodes[] = {WEFT_WR_WRITE, WEFT_WR_READ,
						      WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP};

	return opcodes[wv_below(wv, 4)];
}

static bool bad_rkey(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	struct wv_mr *own = mr_of(m->dst->proc, m->dst->pd, WEFT_ACCESS_REMOTE_READ, 0);
	struct wv_mr *other = mr_of(m->dst->proc, !m->dst->pd, WEFT_ACCESS_REMOTE_READ, 0);

	if (m->qp->model.type == WEFT_QPT_UD || !own || !other ||
	    !take_remote_op(m, draw_remote_op(wv)))
		return false;
	m->wr->rkey = other->mr->rkey;
	m->wr->remote_addr = (other->iova + 7) & ~UINT64_C(7);
	if (wv_below(wv, 2)) {
		m->wr->rkey = own->mr->rkey ^ 1u << wv_below(wv, 8);
		m->wr->remote_addr = (own->iova + 7) & ~UINT64_C(7);
	}
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

static bool remote_bounds(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	enum weft_wr_opcode opcode = wv_below(wv, 2) ? WEFT_WR_WRITE : WEFT_WR_READ;
	struct wv_mr *mr =
	    mr_of(m->dst->proc, m->dst->pd,
		  opcode == WEFT_WR_WRITE ? WEFT_ACCESS_REMOTE_WRITE : WEFT_ACCESS_REMOTE_READ, 0);

	if (m->qp->model.type == WEFT_QPT_UD || !mr || !take_remote_op(m, opcode))
		return false;
	m->wr->rkey = mr->mr->rkey;
	m->wr->remote_addr = mr->iova + mr->bytes - m->op->m.bytes + 1;
	if (mr->iova && wv_below(wv, 2))
		m->wr->remote_addr = mr->iova - 1;
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

/* The region, or the QP, does not grant the right. */
static bool no_right(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	enum weft_wr_opcode opcode = draw_remote_op(wv);
	uint32_t right = opcode == WEFT_WR_WRITE  ? WEFT_ACCESS_REMOTE_WRITE
			 : opcode == WEFT_WR_READ ? WEFT_ACCESS_REMOTE_READ
						  : WEFT_ACCESS_REMOTE_ATOMIC;
	bool by_qp = !(m->dst->access & right);
	struct wv_mr *mr = mr_of(m->dst->proc, m->dst->pd, by_qp ? right : 0, by_qp ? 0 : right);

	if (m->qp->model.type == WEFT_QPT_UD || !mr || !take_remote_op(m, opcode))
		return false;
	m->wr->rkey = mr->mr->rkey;
	m->wr->remote_addr = (mr->iova + 7) & ~UINT64_C(7);
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

static bool wrong_qkey(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;

	if (m->qp->model.type == WEFT_QPT_RC || m->qp->state != WV_LIVE ||
	    !take(m, some_bytes(m), false))
		return false;
	m->wr->opcode = WEFT_WR_SEND;
	m->wr->qkey = m->dst->qkey ^ 1u << wv_below(wv, 31);
	if (m->qp->model.type == WEFT_QPT_UD)
		m->op->dst = NULL; /* sent, but received by no QP */
	else
		fails(m, SIM_MAY(REM_INV_REQ_ERR), SIM_ANY_VENDOR);
	return m->qp->model.type != WEFT_QPT_UD || m->op->m.bytes <= m->qp->max_send_bytes;
}

static bool no_such_qp(struct misuse *m)
{
	if (m->qp->model.type == WEFT_QPT_RC || m->qp->state != WV_LIVE ||
	    !take(m, some_bytes(m), false))
		return false;
	m->wr->opcode = any_send(m);
	m->wr->dst_qpn = (m->dst->model.qpn & ~0xffffu) | NO_SUCH_INDEX;
	m->op->dst = NULL;
	if (m->qp->model.type != WEFT_QPT_UD)
		fails(m, SIM_MAY(REM_OP_ERR), SIM_ANY_VENDOR);
	return m->qp->model.type != WEFT_QPT_UD || m->op->m.bytes <= m->qp->max_send_bytes;
}

static bool misaligned(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;

	if (m->qp->model.type == WEFT_QPT_UD ||
	    !take_remote_op(m, wv_below(wv, 2) ? WEFT_WR_FETCH_ADD : WEFT_WR_CMP_SWAP))
		return false;
	m->wr->remote_addr = m->dst->proc->mr[0].iova + wv_range(wv, 1, 7);
	m->wr->rkey = m->dst->proc->mr[0].mr ? m->dst->proc->mr[0].mr->rkey : 0;
	fails_here(m, SIM_MAY(LOC_QP_OP_ERR), WEFT_VENDOR_ERR_ALIGN);
	return true;
}

static bool atomic_length(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;

	if (m->qp->model.type == WEFT_QPT_UD || !take(m, wv_below(wv, 2) ? 7 : 9, true))
		return false;
	m->wr->opcode = wv_below(wv, 2) ? WEFT_WR_FETCH_ADD : WEFT_WR_CMP_SWAP;
	m->wr->remote_addr = m->dst->proc->mr[0].iova;
	fails_here(m, SIM_MAY(LOC_PROT_ERR), WEFT_VENDOR_ERR_BOUNDS);
	return true;
}

static bool remote_wrap(struct misuse *m)
{
	struct wv_mr *mr = mr_of(m->dst->proc, m->dst->pd, WEFT_ACCESS_REMOTE_WRITE, 0);

	if (m->qp->model.type == WEFT_QPT_UD || !mr || !take_remote_op(m, WEFT_WR_WRITE))
		return false;
	m->wr->rkey = mr->mr->rkey;
	m->wr->remote_addr = UINT64_MAX - m->op->m.bytes / 2;
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

static bool ud_too_long(struct misuse *m)
{
	if (m->qp->model.type != WEFT_QPT_UD || !take(m, m->qp->max_send_bytes + 1, false))
		return false;
	m->wr->opcode = WEFT_WR_SEND;
	fails_here(m, SIM_MAY(LOC_LEN_ERR), WEFT_VENDOR_ERR_TOO_LONG);
	return true;
}

/* Longer than every receive of the peer. */
static bool too_long_for_peer(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	struct wv_rq *rq = m->dst->rq;
	uint32_t bytes = rq->msg_bytes + wv_range(wv, 1, 9);

	if (m->qp->model.type == WEFT_QPT_UD || m->qp->state != WV_LIVE || rq->sloppy ||
	    !take(m, bytes, false))
		return false;
	m->wr->opcode = WEFT_WR_SEND;
	rq->model.meets_longer = true;
	fails(m, SIM_MAY(REM_INV_REQ_ERR), SIM_ANY_VENDOR);
	return true;
}

/* An earlier window, or one that is open through another QP. */
static bool bad_window(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	const struct wv_proc *proc = m->dst->proc;
	const struct wv_mw *mw = &proc->mw[wv_below(wv, WV_MWS)];
	uint32_t pd = wv_below(wv, WV_PDS);
	bool foreign = wv_below(wv, 2);

	if (m->qp->model.type == WEFT_QPT_UD)
		return false;
	if (foreign ? mw->state != WV_MW_BOUND || (mw->pd == m->dst->pd && mw->type == 1) ||
			  (mw->type == 2 && mw->qp == m->dst)
		    : !proc->stale[pd].valid)
		return false;
	if (!take_remote_op(m, wv_below(wv, 2) ? WEFT_WR_WRITE : WEFT_WR_READ))
		return false;
	m->wr->rkey = foreign ? mw->rkey : proc->stale[pd].rkey;
	m->wr->remote_addr = foreign ? mw->bound.base : proc->stale[pd].addr;
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

/*
 * Beyond a window but within its region; or a right that the region grants but the window does not.
 */
static bool beyond_window(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	enum weft_wr_opcode opcode = wv_below(wv, 2) ? WEFT_WR_WRITE : WEFT_WR_READ;
	uint32_t right =
	    opcode == WEFT_WR_WRITE ? WEFT_ACCESS_REMOTE_WRITE : WEFT_ACCESS_REMOTE_READ;
	const struct wv_mw *mw = &m->dst->proc->mw[wv_below(wv, WV_MWS)];

	if (m->qp->model.type == WEFT_QPT_UD || mw->state != WV_MW_BOUND || mw->pd != m->dst->pd ||
	    (mw->type == 2 && mw->qp != m->dst) || !take_remote_op(m, opcode))
		return false;
	m->wr->rkey = mw->rkey;
	m->wr->remote_addr = mw->bound.base + mw->bound.bytes - m->op->m.bytes + 1;
	if (mw->bound.bytes < m->op->m.bytes || (mw->bound.base && wv_below(wv, 2)))
		m->wr->remote_addr = mw->bound.base - 1;
	if (!(mw->bound.access & right) && mw->bound.bytes >= m->op->m.bytes)
		m->wr->remote_addr = mw->bound.base;
	if (m->wr->remote_addr + m->op->m.bytes < m->wr->remote_addr)
		m->wr->remote_addr = mw->bound.base + mw->bound.bytes;
	fails(m, SIM_MAY(REM_ACCESS_ERR), SIM_ANY_VENDOR);
	return true;
}

static void is_local(struct misuse *m, int vendor)
{
	m->op->data = calloc(1, 1);
	assert(m->op->data);
	m->wr->flags &= ~(uint32_t)(WEFT_SEND_INLINE | WEFT_SEND_SOLICITED);
	fails_here(m, SIM_MAY(MW_BIND_ERR), vendor);
}

/* LOCAL_INV of a window that was never bound, is of type 1, or belongs to another QP or PD. */
static bool bad_inv(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	const struct wv_mw *mw = &m->qp->proc->mw[wv_below(wv, WV_MWS)];

	if (m->qp->model.type == WEFT_QPT_UD || mw->op || mw->state == WV_MW_LOST ||
	    (mw->type == 2 && mw->state == WV_MW_BOUND && mw->qp == m->qp))
		return false;
	m->wr->opcode = WEFT_WR_LOCAL_INV;
	m->wr->inv_stag = mw->rkey;
	is_local(m, WEFT_VENDOR_ERR_LKEY);
	return true;
}

/* A window already bound, a region that does not permit it, or a range beyond its end. */
static bool bad_bind(struct misuse *m)
{
	struct wv *wv = m->qp->proc->wv;
	const struct wv_mw *mw = &m->qp->proc->mw[wv_below(wv, WV_MWS)];
	struct wv_mr *mr = mr_of(m->qp->proc, m->qp->pd, 0, 0);
	bool again = mw->type == 2 && mw->state == WV_MW_BOUND;

	if (m->qp->model.type == WEFT_QPT_UD || mw->op || mw->state == WV_MW_LOST || !mr ||
	    mw->pd != m->qp->pd || (!again && mw->state != WV_MW_FREE && mw->type == 2))
		return false;
	m->wr->opcode = WEFT_WR_BIND_MW;
	m->wr->rkey = mw->rkey;
	m->wr->mw_access = WEFT_ACCESS_REMOTE_READ;
	m->sge[0] = (struct weft_sge){mr->iova + mr->bytes - 7, 8, mr->mr->lkey};
	m->wr->num_sge = 1;
	/* A request on another QP may bind the window before this one executes. */
	is_local(m, SIM_ANY_VENDOR);
	return true;
}

bool wv_misuse(struct wv_qp *qp, struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr,
	       struct weft_sge *sge)
{
	static const misuse_fn kinds[] = {
	    bad_lkey,    local_bounds, read_only_sink, bad_rkey,      remote_bounds,
	    no_right,    wrong_qkey,   no_such_qp,     misaligned,    atomic_length,
	    remote_wrap, ud_too_long,  bad_rkey,       remote_bounds, too_long_for_peer,
	    bad_window,  bad_window,   beyond_window,  bad_inv,       bad_bind,
	};
	const uint32_t n = sizeof(kinds) / sizeof(kinds[0]) - (qp->proc->wv->keys ? 0 : KEY_KINDS);
	struct misuse m = {qp, dst, op, wr, sge};
	uint32_t i;

	/* A connection that is already down would hide the effect. */
	if (qp->model.type == WEFT_QPT_RC && qp->broken)
		return false;
	if (kinds[wv_below(qp->proc->wv, n)](&m))
		return true;
	for (i = 0; i < op->num_local; i++)
		sim_shadow_release(op->local[i]);
	op->num_local = 0;
	op->dst = dst;
	op->spoils = false;
	op->m.vendor = SIM_ANY_VENDOR;
	op->m.allowed = wv_outcomes(qp, dst);
	free(op->data);
	op->data = NULL;
	wr->num_sge = 0;
	wr->dst_qpn = dst->model.qpn;
	wr->qkey = dst->qkey;
	return false;
}

static void expect(struct wv_proc *proc, const char *what, int rc, int want)
{
	if (rc != want)
		wv_fail(proc->wv, "call: weft%u process %u: %s returned %d (%s), not %d",
			sim_nic_index(proc->nic), proc->slot, what, rc, strerror(-rc), want);
}

/* Posts that the library must reject. */
static void bad_posts(struct wv_proc *proc, struct wv_qp *qp)
{
	struct weft_sge sge[WV_SGES + 1];
	struct weft_send_wr wr = {.opcode = WEFT_WR_SEND, .sg_list = sge};
	struct weft_recv_wr recv = {.sg_list = sge};

	memset(sge, 0, sizeof(sge));
	expect(proc, "a request without address handle",
	       qp->model.type == WEFT_QPT_RC ? -EINVAL : weft_post_send(qp->qp, &wr, NULL),
	       -EINVAL);
	wr.ah = proc->ah[qp->pd];
	wr.num_sge = qp->qp->cap.max_send_sge + 1;
	expect(proc, "a request with an SGE too many", weft_post_send(qp->qp, &wr, NULL), -EINVAL);
	wr.num_sge = 1;
	wr.flags = WEFT_SEND_INLINE;
	sge[0].bytes = qp->qp->cap.max_inline_bytes + 1;
	sge[0].addr = (uintptr_t)proc->wv->buffer;
	expect(proc, "too much inline data", weft_post_send(qp->qp, &wr, NULL), -EINVAL);
	wr.flags = 0;
	wr.opcode = qp->model.type == WEFT_QPT_UD ? WEFT_WR_READ : WEFT_WR_WRITE_RECORD;
	expect(proc, "an opcode of another type", weft_post_send(qp->qp, &wr, NULL), -EINVAL);
	if (qp->rq != &qp->own_rq) {
		expect(proc, "a receive to a QP with an SRQ", weft_post_recv(qp->qp, &recv, NULL),
		       -EINVAL);
		return;
	}
	recv.num_sge = qp->qp->cap.max_recv_sge + 1;
	expect(proc, "a receive with an SGE too many", weft_post_recv(qp->qp, &recv, NULL),
	       -EINVAL);
}

/* Destruction of objects in use. */
static void busy(struct wv_proc *proc, struct wv_qp *qp)
{
	expect(proc, "dealloc of a PD in use", weft_dealloc_pd(proc->pd[qp->pd]), -EBUSY);
	expect(proc, "destroy of a CQ in use", weft_destroy_cq(qp->scq->cq), -EBUSY);
	if (qp->rq->srq)
		expect(proc, "destroy of an SRQ in use", weft_destroy_srq(qp->rq->srq), -EBUSY);
	if (qp->rcq->channel)
		expect(proc, "destroy of a channel in use",
		       weft_destroy_comp_channel(qp->rcq->channel), -EBUSY);
}

/* State transitions that IBA 10.3.1 does not permit. */
static void bad_states(struct wv_proc *proc, struct wv_qp *qp)
{
	static const enum weft_qp_state wrong[] = {WEFT_QPS_INIT, WEFT_QPS_RTR, WEFT_QPS_SQE};
	struct weft_qp_attr attr = {.state = wrong[wv_below(proc->wv, 3)], .port = 1};
	struct weft_qp_attr now;
	int mask = WEFT_QP_STATE;

	if (qp->state != WV_LIVE || qp->broken)
		return;
	if (attr.state == WEFT_QPS_INIT)
		mask |= WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
			(qp->model.type == WEFT_QPT_RC ? WEFT_QP_ACCESS_FLAGS : WEFT_QP_QKEY);
	expect(proc, "an illegal change of state", weft_modify_qp(qp->qp, &attr, mask), -EINVAL);
	attr.state = WEFT_QPS_RTS;
	attr.cur_state = WEFT_QPS_SQD;
	expect(proc, "a wrong current state",
	       weft_modify_qp(qp->qp, &attr, WEFT_QP_STATE | WEFT_QP_CUR_STATE), -EINVAL);
	expect(proc, "query", weft_query_qp(qp->qp, &now, NULL), 0);
	if (now.access != qp->access)
		wv_fail(proc->wv, "call: QP 0x%x: a refused modify changed its attributes",
			qp->model.qpn);
}

/* Registrations that must be rejected. */
static void bad_regions(struct wv_proc *proc)
{
	struct wv_area *area = &proc->area[0];
	struct weft_mr *mr;

	mr = weft_reg_mr(proc->pd[0], area->mem, area->bytes, WEFT_ACCESS_REMOTE_WRITE);
	expect(proc, "remote write without local write", mr ? 0 : -errno, -EINVAL);
	mr = weft_reg_mr(proc->pd[0], area->mem, 0, WEFT_ACCESS_LOCAL_WRITE);
	expect(proc, "a region of no bytes", mr ? 0 : -errno, -EINVAL);
}

void wv_misuse_calls(struct wv_proc *proc)
{
	struct wv_qp *qp = proc->num_qp ? proc->qp[wv_below(proc->wv, proc->num_qp)] : NULL;

	if (!qp)
		return;
	switch (wv_below(proc->wv, 5)) {
	case 0:
		if (qp->state == WV_LIVE)
			bad_posts(proc, qp);
		break;
	case 1:
		busy(proc, qp);
		break;
	case 2:
		bad_states(proc, qp);
		break;
	case 3:
		wv_overrun(proc);
		break;
	default:
		bad_regions(proc);
		break;
	}
}
