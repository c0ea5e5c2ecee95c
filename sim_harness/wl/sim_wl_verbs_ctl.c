/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": disturbances of traffic, and their permitted effects on others.
 *
 * QPs move to ERR, are reset, destroyed and recreated; CQs are resized, regions registered again;
 * processes die and NICs restart. From then on, outstanding requests to them may fail, but only
 * with the statuses named here. IBA 10.3.1 (states), 10.10.2 (errors); ARCHITECTURE.md, "RD in one
 * page". Calls libweft, sim_host.c and sim_model.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	DOORBELL_WAITS = 2000,
	DOORBELL_NS = 10000,
	ROOM = 16, /* completions by which a full CQ is enlarged */
};

static void widen(const struct wv_qp *dst, uint32_t allowed)
{
	struct wv *wv = dst->proc->wv;

	sim_model_widen(wv->qps, wv->num_qps, &dst->model, allowed);
}

void wv_rc_broken(struct wv_qp *qp)
{
	struct wv_qp *peer = qp->peer;
	uint32_t outcomes = SIM_MAY(REM_OP_ERR) | (qp->esp ? SIM_MAY(RETRY_EXC_ERR) : 0);

	if (qp->broken)
		return;
	qp->broken = true;
	qp->model.flushing = qp->model.recv_flushing = true;
	widen(qp, outcomes);
	if (!peer)
		return;
	peer->broken = true;
	peer->model.flushing = peer->model.recv_flushing = true;
	widen(peer, outcomes);
}

void wv_qp_failed(struct wv_qp *qp, enum weft_qp_state state)
{
	if (qp->state != WV_LIVE)
		return;
	qp->state = WV_FAILED;
	qp->expected = state;
	qp->model.flushing = true;
	if (state != WEFT_QPS_ERR)
		return;
	qp->model.recv_flushing = true;
	if (qp->model.type != WEFT_QPT_UD)
		widen(qp, SIM_MAY(REM_OP_ERR));
}

static void must(struct wv_qp *qp, const char *what, int rc)
{
	if (rc)
		wv_fail(qp->proc->wv, "call: weft%u QP 0x%x: %s: %s", sim_nic_index(qp->proc->nic),
			qp->model.qpn, what, strerror(-rc));
}

static void set_state(struct wv_qp *qp, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};

	must(qp, "change of state", weft_modify_qp(qp->qp, &attr, WEFT_QP_STATE));
}

static void check_state(struct wv_qp *qp, enum weft_qp_state expected)
{
	struct weft_qp_attr attr;
	int rc = weft_query_qp(qp->qp, &attr, NULL);

	must(qp, "query", rc);
	if (!rc && attr.state != expected)
		wv_fail(qp->proc->wv, "state: weft%u QP 0x%x is in %s, not in %s",
			sim_nic_index(qp->proc->nic), qp->model.qpn, weft_qp_state_str(attr.state),
			weft_qp_state_str(expected));
}

static void poll_both(struct wv_qp *qp)
{
	wv_poll_cq(qp->proc, qp->scq);
	if (qp->rcq != qp->scq)
		wv_poll_cq(qp->proc, qp->rcq);
}

/*
 * Returns true if the last posted request will produce a completion, which also proves the end of
 * those before it.
 */
static bool is_marked(const struct wv_qp *qp)
{
	return !qp->model.last || sim_model_is_told(qp->model.last);
}

/* Returns true if a QP in ERR has nothing left to flush. */
static bool is_flushed(const struct wv_qp *qp)
{
	return is_marked(qp) && !sim_model_is_due(&qp->model) &&
	       (qp->rq != &qp->own_rq || !qp->rq->model.outstanding);
}

/*
 * In ERR: all posted requests are flushed, and polled here. Requests posted after the failure wait
 * for their doorbell; a last request is posted after them.
 */
static void drain(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;
	uint32_t waits;

	/* Polling this CQ may also return such completions for other QPs of this process. */
	if (qp->model.type != WEFT_QPT_UD)
		widen(qp, SIM_MAY(REM_OP_ERR));
	set_state(qp, WEFT_QPS_ERR);
	check_state(qp, WEFT_QPS_ERR);
	qp->state = WV_FAILED;
	qp->expected = WEFT_QPS_ERR;
	qp->model.flushing = qp->model.recv_flushing = true;
	poll_both(qp);
	for (waits = 0; waits < DOORBELL_WAITS && !wv_failed(wv) && !is_flushed(qp); waits++) {
		if (!is_marked(qp))
			wv_send_marker(qp);
		sim_run_for(wv->sim, DOORBELL_NS);
		poll_both(qp);
	}
	if (wv_failed(wv))
		return;
	if (!sim_model_flushed(&wv->model, &qp->model))
		wv_fail(wv, "%s", wv->model.why);
	if (qp->rq == &qp->own_rq && qp->rq->model.outstanding)
		wv_fail(wv,
			"flush: weft%u QP 0x%x is in ERR, and %u of its receives have not come "
			"back",
			sim_nic_index(qp->proc->nic), qp->model.qpn, qp->rq->model.outstanding);
	if (qp->rq == &qp->own_rq)
		return;
	wv_expect_last_wqe(qp);
	/* All receives that it took from the SRQ are in the CQ by now. */
	if (!wv_failed(wv))
		poll_both(qp);
}

/*
 * Resetting or destroying an active QP would lose the receives that it has taken from a shared
 * queue, since they cannot be identified. They are returned if the QP enters ERR first.
 */
static bool is_sharing(const struct wv_qp *qp)
{
	return qp->rq != &qp->own_rq;
}

/* Moves to RESET; posted requests are dropped. */
static void reset(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;

	set_state(qp, WEFT_QPS_RESET);
	if (qp->model.first || qp->rq->model.outstanding)
		qp->model.lossy = true;
	sim_model_drop_sends(&wv->model, &qp->model);
	wv_key_qp_gone(qp);
	if (qp->rq == &qp->own_rq)
		wv_rq_drop(qp->rq);
	sim_model_revive(&qp->model);
	wv_take_events(qp->proc, NULL);
	qp->last_wqe_events = qp->error_events = qp->comm_events = 0;
	qp->state = WV_IDLE;
}

/* RD, UD: from any state back to RTS, with another Q_Key. */
static void cycle(struct wv_qp *qp, bool in_order)
{
	struct wv *wv = qp->proc->wv;

	if (qp->model.type == WEFT_QPT_RD)
		widen(qp, SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_INV_REQ_ERR));
	if (in_order || is_sharing(qp))
		drain(qp);
	if (!wv_failed(wv))
		reset(qp);
	if (wv_failed(wv))
		return;
	must(qp, "activation", wv_qp_activate(qp));
	qp->state = WV_LIVE;
}

/* RC: reconnects both ends. */
static void cycle_pair(struct wv_qp *a, struct wv_qp *b, bool in_order)
{
	struct wv *wv = a->proc->wv;

	wv_rc_broken(a);
	if (in_order || is_sharing(a))
		drain(a);
	if (!wv_failed(wv) && (in_order || is_sharing(b)))
		drain(b);
	if (!wv_failed(wv))
		reset(a);
	if (!wv_failed(wv))
		reset(b);
	if (!wv_failed(wv))
		must(a, "connection", wv_rc_connect(a, b));
}

/* The QP no longer exists, for any reason. */
static void wv_qp_forget(struct wv_qp *qp)
{
	struct wv_proc *proc = qp->proc;
	uint32_t i;

	qp->model.lossy = true;
	qp->state = WV_GONE;
	sim_model_drop_sends(&proc->wv->model, &qp->model);
	wv_key_qp_gone(qp);
	if (qp->rq == &qp->own_rq)
		wv_rq_drop(qp->rq);
	wv_unreserve(&qp->own_rq);
	if (qp->peer) {
		wv_rc_broken(qp);
		widen(qp, SIM_MAY(RETRY_EXC_ERR));
	}
	for (i = 0; i < proc->num_qp && proc->qp[i] != qp; i++)
		;
	assert(i < proc->num_qp);
	proc->qp[i] = proc->qp[--proc->num_qp];
}

static void destroy_at_work(struct wv_qp *qp)
{
	if (qp->model.type != WEFT_QPT_UD)
		widen(qp, SIM_MAY(REM_OP_ERR));
	if (qp->peer)
		wv_rc_broken(qp);
	must(qp, "destroy", weft_destroy_qp(qp->qp));
	if (!wv_failed(qp->proc->wv))
		wv_qp_forget(qp);
}

static void destroy(struct wv_qp *qp)
{
	if (is_sharing(qp)) {
		if (qp->peer)
			wv_rc_broken(qp);
		drain(qp);
	}
	if (!wv_failed(qp->proc->wv))
		destroy_at_work(qp);
}

static void add_qp(struct wv_proc *proc, enum weft_qp_type type, uint32_t flags)
{
	struct wv_qp *again = wv_qp_new(proc, type, flags, wv_below(proc->wv, 4) ? 0 : 1);

	if (!again) {
		wv_fail(proc->wv, "call: creating a QP: %s", strerror(errno));
		return;
	}
	must(again, "activation", wv_qp_activate(again));
	again->state = WV_LIVE;
}

static void destroy_and_replace(struct wv_qp *qp)
{
	struct wv_proc *proc = qp->proc;
	enum weft_qp_type type = qp->model.type;
	uint32_t flags = qp->qp->flags & WEFT_QP_F_UD_LONG;

	destroy(qp);
	if (!wv_failed(proc->wv) && type != WEFT_QPT_RC)
		add_qp(proc, type, flags);
}

/* Replaces an active shared queue and all its QPs. */
static void renew_srq(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_rq *rq = &proc->srq[0];
	uint32_t again = 0, i;
	int rc;

	/* The last one moves to the place of a destroyed one. */
	for (i = proc->num_qp; i-- > 0 && !wv_failed(wv);) {
		struct wv_qp *qp = proc->qp[i];

		if (qp->rq != rq)
			continue;
		again += qp->model.type == WEFT_QPT_RD;
		destroy_at_work(qp);
	}
	if (wv_failed(wv))
		return;
	wv_take_events(proc, NULL);
	rc = weft_destroy_srq(rq->srq);
	proc->limit = 0;
	wv_rq_drop(rq);
	wv_unreserve(rq);
	if (!rc)
		rc = wv_srq_new(proc);
	if (rc)
		wv_fail(wv, "call: destroying an SRQ and making another: %s", strerror(-rc));
	while (again-- && !wv_failed(wv))
		add_qp(proc, WEFT_QPT_RD, 0);
}

/* These two return true if they acted; the process's QPs may then have changed. */
static bool recover_rc(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;
	struct wv_qp *peer = qp->peer;

	if (!peer || peer->state == WV_GONE) {
		if (qp->model.first && wv_below(wv, 200))
			return false;
		destroy(qp);
		return true;
	}
	/* Usually leaves outstanding requests to end on their own. */
	if ((sim_model_is_due(&qp->model) || sim_model_is_due(&peer->model)) && wv_below(wv, 2000))
		return false;
	if (wv_below(wv, 8))
		return false;
	cycle_pair(qp, peer, true);
	return true;
}

static bool recover_datagram(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;

	bool due = sim_model_is_due(&qp->model);

	if (qp->expected == WEFT_QPS_SQE && due && wv_below(wv, 500))
		return false;
	if (wv_below(wv, 8))
		return false;
	if (qp->expected != WEFT_QPS_SQE || due || wv_below(wv, 2)) {
		cycle(qp, true);
		return true;
	}
	check_state(qp, WEFT_QPS_SQE);
	/*
	 * A flush takes several turns, with state SQE from the first one on. An unsignaled request
	 * has succeeded if it has no completion when the QP works again.
	 */
	set_state(qp, WEFT_QPS_RTS);
	poll_both(qp);
	if (!wv_failed(wv) && !sim_model_flushed(&wv->model, &qp->model))
		wv_fail(wv, "%s", wv->model.why);
	if (wv_failed(wv))
		return true;
	sim_model_revive(&qp->model);
	qp->state = WV_LIVE;
	return true;
}

void wv_recover(struct wv_proc *proc)
{
	uint32_t i;

	for (i = 0; i < proc->num_qp; i++) {
		struct wv_qp *qp = proc->qp[i];

		if (qp->model.type == WEFT_QPT_RC ? qp->broken && recover_rc(qp)
						  : qp->state == WV_FAILED && recover_datagram(qp))
			return;
	}
}

static void resize(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_cq *cq = &proc->cq[wv_below(wv, WV_CQS)];
	uint32_t entries = cq->used + wv_range(wv, 1, 300);
	int rc = weft_resize_cq(cq->cq, entries);

	if (rc || cq->cq->entries < entries)
		wv_fail(wv, "call: resizing a CQ with %u completions under way to %u: %s", cq->used,
			entries, strerror(-rc));
}

void wv_make_room(struct wv_proc *proc, struct wv_cq *cq)
{
	int rc = 0;

	if (cq->used >= cq->cq->entries)
		rc = weft_resize_cq(cq->cq, cq->used + ROOM);
	if (rc || cq->used >= cq->cq->entries)
		wv_fail(proc->wv, "call: resizing a CQ with %u completions under way: %s", cq->used,
			strerror(-rc));
}

/* Gives an unused region another key. */
static void register_again(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_mr *mr = &proc->mr[wv_range(wv, 1, WV_MRS - 1)];
	uint32_t i;
	int rc;

	/* Memory reserved for receives counts as used. */
	if (!sim_shadow_free_range(mr->area->shadow, mr->offset, mr->bytes, true) || mr->ending ||
	    wv_has_windows(mr))
		return;
	for (i = 0; i < proc->num_qp; i++) {
		if (proc->qp[i]->model.first)
			return;
	}
	rc = weft_dereg_mr(mr->mr);
	if (!rc) {
		mr->mr = weft_reg_mr_iova(proc->pd[mr->pd], mr->area->mem + mr->offset, mr->bytes,
					  mr->iova, (int)mr->access);
		rc = mr->mr ? 0 : -errno;
	}
	if (rc)
		wv_fail(wv, "call: registering a region again: %s", strerror(-rc));
}

void wv_chaos(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_qp *qp = proc->num_qp ? proc->qp[wv_below(wv, proc->num_qp)] : NULL;
	bool rc = qp && qp->model.type == WEFT_QPT_RC;

	if (!qp || qp->state != WV_LIVE || (rc && (qp->broken || qp->peer->state != WV_LIVE)))
		return;
	switch (wv_below(wv, wv->keys ? 11 : 9)) {
	case 0: /* to ERR; the effects are observed for a while */
		if (rc)
			wv_rc_broken(qp);
		wv_qp_failed(qp, WEFT_QPS_ERR);
		set_state(qp, WEFT_QPS_ERR);
		break;
	case 1:
		if (rc)
			cycle_pair(qp, qp->peer, true);
		else
			cycle(qp, true);
		break;
	case 2:
		if (rc)
			cycle_pair(qp, qp->peer, false);
		else
			cycle(qp, false);
		break;
	case 3:
		destroy_and_replace(qp);
		break;
	case 4:
		register_again(proc);
		break;
	case 5:
		if (wv_rc_pair(wv))
			wv_fail(wv, "call: making an RC connection: %s", strerror(errno));
		break;
	case 6:
		if (proc->has_srq && !wv_below(wv, 4))
			renew_srq(proc);
		break;
	case 9:
	case 10:
		wv_dereg_in_use(proc);
		break;
	default:
		resize(proc);
		break;
	}
}

/* Frees a process, however it ended. */
static void forget_proc(struct wv_proc *proc, uint32_t outcomes)
{
	uint32_t i;

	for (i = 0; i < WV_AREAS; i++)
		sim_shadow_dead(proc->area[i].shadow);
	proc->dead = true;
	while (proc->num_qp) {
		struct wv_qp *qp = proc->qp[proc->num_qp - 1];

		if (qp->model.type != WEFT_QPT_UD)
			widen(qp, outcomes);
		wv_qp_forget(qp);
	}
	wv_proc_end(proc);
}

void wv_kill(struct wv_proc *proc)
{
	sim_proc_kill(proc->proc);
	forget_proc(proc, SIM_MAY(REM_OP_ERR));
}

void wv_restart(struct wv *wv, struct sim_nic *nic)
{
	uint32_t outcomes = SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_ABORT_ERR) |
			    SIM_MAY(REM_INV_REQ_ERR) | SIM_MAY(RETRY_EXC_ERR);
	size_t shards = (size_t)wv->num_nics * WV_SHARDS;
	uint32_t i;

	sim_nic_restart(nic);
	wv->model.peers_restart = true;
	wv->nic_generation[sim_nic_index(nic)]++;
	/*
	 * Late HELLOs of other NICs may open its new sessions, so those are not confirmed either.
	 */
	memset(&wv->known_generation[shards * WV_SHARDS * sim_nic_index(nic)], 0xff,
	       shards * WV_SHARDS * sizeof(*wv->known_generation));
	sim_model_widen(wv->qps, wv->num_qps, NULL, outcomes);
	/* Includes earlier processes, whose numbers are reused. */
	for (i = 0; i < wv->num_qps; i++) {
		const struct wv_qp *qp = wv_qp_of(wv->qps[i]);

		if (qp->state == WV_GONE && qp->proc->nic == nic)
			widen(qp, outcomes);
	}
	for (i = 0; i < wv->num_slots; i++) {
		if (wv->slot[i] && wv->slot[i]->nic == nic)
			forget_proc(wv->slot[i], outcomes);
	}
}
