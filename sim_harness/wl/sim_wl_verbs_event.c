/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": asynchronous events, each of which must be due; moderation, which must not lose
 * any.
 *
 * A QP on a shared queue reports once that it has taken its last receive when it enters ERR. A
 * connection reports that a request of the peer ended it, which requires a request that the model
 * expects to fail. A shared queue reports once that it has fallen below its limit. A CQ that
 * overruns reports that, and so does its QP. A connection may report once that it was established
 * by its peer's message. No other event may arrive, and none of these may be missing. IBA 11.6.3.
 * Calls libweft.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <errno.h>
#include <string.h>

#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_limits.h"

enum {
	LIMIT_STEPS = 60,  /* average steps until a new limit is set */
	MODER_STEPS = 100, /* average steps until a vector's settings change */
	MASK_STEPS = 20,   /* average steps until a channel is masked */
	UNMASK_STEPS = 3,
	LAST_WQE_WAITS = 2000,
	LAST_WQE_NS = 10000,
};

static struct wv_qp *find(const struct wv_proc *proc, const struct weft_qp *qp)
{
	uint32_t i;

	for (i = 0; i < proc->num_qp; i++) {
		if (proc->qp[i]->qp == qp)
			return proc->qp[i];
	}
	return NULL;
}

/* Checks an event of a QP of the model. Returns NULL or an error message. */
static const char *judge_qp(struct wv_qp *qp, enum weft_event_type type)
{
	bool rc = qp->model.type == WEFT_QPT_RC;

	if (type == WEFT_EVENT_QP_LAST_WQE) {
		if (qp->rq == &qp->own_rq)
			return "of a QP without a shared queue";
		if (!rc && qp->expected != WEFT_QPS_ERR)
			return "and it is not in ERR";
		return qp->last_wqe_events++ ? "twice" : NULL;
	}
	if (type == WEFT_EVENT_QP_REQ_ERR || type == WEFT_EVENT_QP_ACCESS_ERR) {
		if (!rc)
			return "of a QP that is not connected";
		if (!qp->broken)
			return "and no request of its peer was to fail";
		return qp->error_events++ ? "twice" : NULL;
	}
	/* Between RTR and RTS, which the peer does not observe. */
	if (type == WEFT_EVENT_COMM_EST) {
		if (!rc && qp->model.type != WEFT_QPT_UC)
			return "of a QP that is not connected";
		return qp->comm_events++ ? "twice" : NULL;
	}
	if (type == WEFT_EVENT_PEER_ERROR && qp->model.type == WEFT_QPT_UD)
		return NULL;
	return "that was not due";
}

static const char *judge(struct wv_proc *proc, const struct weft_async_event *event,
			 struct wv_events *odd)
{
	struct wv_qp *qp = event->qp ? find(proc, event->qp) : NULL;

	if (qp)
		return judge_qp(qp, event->type);
	if (event->srq) {
		if (event->type != WEFT_EVENT_SRQ_LIMIT || event->srq != proc->srq[0].srq)
			return "that was not due";
		if (!proc->limit)
			return "of an SRQ without limit";
		proc->limit = 0;
		return NULL;
	}
	/* Event of a CQ that is being overrun, or of its QP. */
	if (odd && event->cq == odd->cq && event->cq && event->type == WEFT_EVENT_CQ_ERR)
		return odd->cq_err++ ? "twice" : NULL;
	if (odd && event->qp == odd->qp && event->qp && event->type == WEFT_EVENT_QP_FATAL)
		return odd->qp_fatal++ ? "twice" : NULL;
	return "of nothing that is known";
}

void wv_take_events(struct wv_proc *proc, struct wv_events *odd)
{
	struct wv *wv = proc->wv;
	struct weft_async_event event;
	const char *wrong;
	int rc;

	sim_proc_set_nonblocking(proc->proc, true);
	while ((rc = weft_get_async_event(proc->context, &event)) == 0 && !wv_failed(wv)) {
		wrong = judge(proc, &event, odd);
		if (wrong)
			wv_fail(wv, "event: weft%u process %u: %s of QP 0x%x %s",
				sim_nic_index(proc->nic), proc->slot,
				weft_event_type_str(event.type), event.qp ? event.qp->qpn : 0,
				wrong);
		weft_ack_async_event(&event);
		proc->async_events++;
	}
	sim_proc_set_nonblocking(proc->proc, false);
	if (rc && rc != -EAGAIN)
		wv_fail(wv, "call: taking an asynchronous event: %s", strerror(-rc));
}

void wv_expect_interrupted(struct wv_proc *proc)
{
	uint32_t irqs = proc->async_irqs, events = proc->async_events;

	wv_take_events(proc, NULL);
	if (!wv_failed(proc->wv) && proc->async_events != events && !irqs)
		wv_fail(proc->wv,
			"event: weft%u process %u: an asynchronous event waits, and no interrupt "
			"came",
			sim_nic_index(proc->nic), proc->slot);
}

void wv_expect_last_wqe(struct wv_qp *qp)
{
	uint32_t waits;

	/* The event follows a flush of several turns, interleaved with those of other QPs. */
	wv_take_events(qp->proc, NULL);
	for (waits = 0; waits < LAST_WQE_WAITS && !wv_failed(qp->proc->wv) && !qp->last_wqe_events;
	     waits++) {
		sim_run_for(qp->proc->wv->sim, LAST_WQE_NS);
		wv_take_events(qp->proc, NULL);
	}
	if (!wv_failed(qp->proc->wv) && !qp->last_wqe_events)
		wv_fail(qp->proc->wv,
			"event: weft%u QP 0x%x went to ERR, and did not tell that it has taken its "
			"last receive",
			sim_nic_index(qp->proc->nic), qp->model.qpn);
}

/*
 * The number of receives in the queue is at most the number not completed: below the limit, the
 * event came with the last one taken.
 */
void wv_check_limit(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct weft_srq_attr attr;
	int rc;

	if (!proc->has_srq || !wv->events)
		return;
	wv_take_events(proc, NULL);
	if (!wv_failed(wv) && proc->limit && proc->srq[0].model.outstanding < proc->limit) {
		wv_fail(wv,
			"event: weft%u process %u: %u receives are left of an SRQ with limit %u, "
			"and it has not told",
			sim_nic_index(proc->nic), proc->slot, proc->srq[0].model.outstanding,
			proc->limit);
		return;
	}
	if (proc->limit || wv->run->stopping || wv_below(wv, LIMIT_STEPS))
		return;
	attr.limit = wv_range(wv, 1, proc->srq[0].max_wr);
	/* It may be reached, and reported, before the call returns. */
	proc->limit = attr.limit;
	rc = weft_modify_srq(proc->srq[0].srq, &attr, WEFT_SRQ_LIMIT);
	if (rc)
		wv_fail(wv, "call: setting the limit of an SRQ: %s", strerror(-rc));
}

/* Draws any settings that delay no completion beyond the end of a run. */
static void draw_moderation(struct wv_proc *proc)
{
	struct sim_prng *prng = &proc->wv->moder_prng;
	struct weft_coalesce c = {0};
	uint64_t vector = sim_prng_below(prng, HW_NUM_VECTORS + 1);
	uint32_t i;
	int rc;

	for (i = 0; i < WEFT_COALESCE_NUM_PARAMS; i++)
		if (sim_prng_below(prng, 2))
			c.param[i] = (uint32_t)sim_prng_range(prng, 1, i % 2 ? 16 : 100);
	c.mode = (enum weft_coalesce_mode)sim_prng_below(prng, HW_COALESCE_MODES);
	c.target_percentile =
	    (uint32_t)sim_prng_range(prng, HW_COALESCE_MIN_PERCENTILE, HW_COALESCE_MAX_PERCENTILE);
	c.target_ns = (uint32_t)sim_prng_range(prng, HW_COALESCE_MIN_TARGET_NS, 100000);
	rc = weft_set_coalesce(
	    proc->context, vector < HW_NUM_VECTORS ? (uint32_t)vector : WEFT_COALESCE_ALL_VECTORS,
	    WEFT_COALESCE_SET_ALL, &c);
	if (rc && rc != -EIO)
		wv_fail(proc->wv, "call: setting moderation: %s", strerror(-rc));
}

void wv_moderate(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	uint32_t i;

	if (!wv->moderation)
		return;
	for (i = 0; i < WV_CQS; i++) {
		struct wv_cq *cq = &proc->cq[i];
		bool mask = !sim_prng_below(&wv->moder_prng, MASK_STEPS);
		bool unmask = wv->run->stopping || !sim_prng_below(&wv->moder_prng, UNMASK_STEPS);

		if (!cq->channel || (cq->masked ? !unmask : !mask || wv->run->stopping))
			continue;
		cq->masked = !cq->masked;
		if (weft_mask_comp_channel(cq->channel, cq->masked))
			wv_fail(wv, "call: masking a channel failed");
	}
	if (!wv->run->stopping && !sim_prng_below(&wv->moder_prng, MODER_STEPS))
		draw_moderation(proc);
}
