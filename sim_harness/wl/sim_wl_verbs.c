/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload verbs: all legal and illegal uses of verbs, checked against a model.
 *
 * Processes on all NICs (the first 32) have QPs of every type and transport. sim_model.c predicts
 * each request, sim_shadow.c each registered byte. Each event performs one step of one process: it
 * polls, posts receives, posts requests, or disturbs existing objects. When the run stops, nothing
 * new is posted, and all outstanding requests must end. Calls sim_wl_verbs_*.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDLE_NS_MIN = 1500, /* between two steps of one process */
	IDLE_NS_MAX = 4000000,
	RESPAWN = 40, /* average number of steps until a dead process is replaced */
	PARAM_MISUSE = 0,
	PARAM_CHAOS,
	PARAM_DEATH,
	PARAM_ESP,
	PARAM_KEYS,
	PARAM_EVENTS,
	PARAM_MODERATION,
};
#define CHECK_NS    UINT64_C(400000)      /* interval of full memory checks */
#define LIVENESS_NS UINT64_C(15000000000) /* limit for outstanding requests to end */

static const struct sim_param params[] = {
    {"misuse", "requests and calls that must fail: 1 yes, 0 no", 1, 0, 1},
    {"chaos", "QPs that fail, are reset and destroyed: 1 yes, 0 no", 1, 0, 1},
    {"death", "processes that die besides those that --faults kills: 1 yes, 0 no", 1, 0, 1},
    {"esp", "RC connections over ESP streams as well: 1 yes, 0 no", 1, 0, 1},
    {"keys", "windows, invalidation, deregistration in use: 1 yes, 0 no", 1, 0, 1},
    {"events", "limits of shared queues: 1 yes, 0 no", 1, 0, 1},
    {"moderation", "interrupts moderated and masked at random: 1 yes, 0 no", 1, 0, 1},
    {NULL, NULL, 0, 0, 0},
};

uint64_t wv_id(struct wv *wv, void *object, bool is_recv)
{
	if (wv->num_ids == wv->max_ids) {
		wv->max_ids = wv->max_ids ? wv->max_ids * 2 : 4096;
		wv->ids = realloc(wv->ids, wv->max_ids * sizeof(*wv->ids));
		wv->is_recv = realloc(wv->is_recv, wv->max_ids);
		assert(wv->ids && wv->is_recv);
	}
	wv->ids[wv->num_ids] = object;
	wv->is_recv[wv->num_ids] = is_recv;
	return (uint64_t)wv->num_ids++ << 1 | is_recv;
}

void wv_id_undo(struct wv *wv, uint64_t wr_id)
{
	if (wr_id >> 1 == wv->num_ids - 1)
		wv->num_ids--;
	else
		wv->ids[wr_id >> 1] = NULL;
}

static void post_some(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct wv_qp *qp = proc->num_qp ? proc->qp[wv_below(wv, proc->num_qp)] : NULL;

	if (!qp || qp->state == WV_IDLE)
		return;
	/* A failed QP flushes new requests. */
	if (qp->state == WV_FAILED && (qp->expected != WEFT_QPS_ERR || wv_below(wv, 4)))
		return;
	wv_send(qp);
}

static void replenish(struct wv_proc *proc)
{
	uint32_t i;

	if (proc->has_srq)
		wv_replenish(proc, &proc->srq[0], NULL);
	for (i = 0; i < proc->num_qp; i++) {
		struct wv_qp *qp = proc->qp[i];

		if (qp->rq == &qp->own_rq && qp->state == WV_LIVE)
			wv_replenish(proc, qp->rq, qp);
	}
}

static void step_proc(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	uint32_t i;

	wv_poll(proc);
	if (!wv_failed(wv))
		wv_take_events(proc, NULL);
	if (!wv_failed(wv))
		wv_check_limit(proc);
	if (wv_failed(wv))
		return;
	if (wv->run->stopping || wv_below(wv, 3))
		replenish(proc);
	wv_keys_step(proc);
	wv_moderate(proc);
	wv_recover(proc);
	if (wv_failed(wv) || proc->dead)
		return;
	if (wv->run->stopping) {
		for (i = 0; i < proc->num_qp; i++) {
			if (proc->qp[i]->state == WV_LIVE && !proc->qp[i]->broken)
				wv_send_last(proc->qp[i]);
		}
		return;
	}
	for (i = wv_below(wv, 4); i && !wv_failed(wv); i--)
		post_some(proc);
	if (sim_prng_chance(&wv->prng, wv->misuse_ppm / 4))
		wv_misuse_calls(proc);
	if (!wv_failed(wv) && sim_prng_chance(&wv->prng, wv->chaos_ppm))
		wv_chaos(proc);
	if (!wv_failed(wv) && sim_prng_chance(&wv->prng, wv->death_ppm))
		wv_kill(proc);
}

static void take_fault(struct wv *wv)
{
	uint32_t i, nic = wv->fault_nic;

	if (wv->restart_due) {
		wv_restart(wv, sim_nic_at(wv->sim, nic));
	} else {
		i = nic + wv->num_nics * wv_below(wv, wv->num_slots / wv->num_nics);
		if (wv->slot[i])
			wv_kill(wv->slot[i]);
	}
	wv->fault_due = false;
}

/* Reports outstanding requests at the end. */
static void tell_waiting(struct wv *wv)
{
	uint32_t i;

	for (i = 0; i < wv->num_qps; i++) {
		const struct wv_qp *qp = wv_qp_of(wv->qps[i]);
		const struct sim_model_send *send = qp->model.first;
		const struct wv_qp *dst = send ? wv_op_of(send)->dst : NULL;
		bool there = dst && dst->state != WV_GONE;

		if (qp->state == WV_GONE || (!send && qp->state == WV_LIVE && !qp->broken))
			continue;
		wv_fail(wv,
			"liveness: weft%u QP 0x%x (type %d, state %d%s, CQ %u/%u): %u requests, "
			"opcode %d, %u bytes, to 0x%x: state %d, %u/%u receives, CQ %u/%u",
			sim_nic_index(qp->proc->nic), qp->model.qpn, (int)qp->model.type,
			(int)qp->state, qp->broken ? ", broken" : "", qp->scq->used,
			qp->scq->cq->entries, qp->model.outstanding, send ? (int)send->opcode : -1,
			send ? send->bytes : 0, send ? send->dst_qpn : 0,
			dst ? (int)dst->state : -1, there ? dst->rq->model.outstanding : 0,
			there ? dst->rq->wanted : 0, there ? dst->rq->cq->used : 0,
			there ? dst->rq->cq->cq->entries : 0);
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct wv *wv = ctx;
	uint32_t slot;
	uint64_t ns;

	(void)arg;
	if (wv_failed(wv) || wv->run->closed)
		return;
	slot = wv_below(wv, wv->num_slots);
	if (wv->fault_due && !wv->run->stopping)
		take_fault(wv);
	if (wv->slot[slot])
		step_proc(wv->slot[slot]);
	else if (!wv->run->stopping && !wv_below(wv, RESPAWN) && wv_proc_start(wv, slot))
		wv_fail(wv, "call: a process could not start: %s", strerror(errno));
	if (!wv_failed(wv) && sim_now_ns(sim) - wv->checked_ns > CHECK_NS && !wv->run->stopping)
		wv_check_memory(wv);
	if (wv->run->stopping) {
		if (!wv->stop_ns)
			wv->stop_ns = sim_now_ns(sim);
		if (sim_now_ns(sim) - wv->stop_ns > LIVENESS_NS)
			tell_waiting(wv);
	}
	/* Without progress steps become rare, so that time-outs of seconds need few of them. */
	if (wv->progress || !wv->run->stopping)
		wv->idle_ns = IDLE_NS_MIN;
	else if (wv->idle_ns < IDLE_NS_MAX)
		wv->idle_ns += wv->idle_ns / 16;
	wv->progress = false;
	ns = sim_prng_range(&wv->prng, wv->idle_ns / 2, wv->idle_ns * 2);
	if (wv->slot[slot])
		ns = sim_slow_ns(wv->slot[slot]->nic, ns);
	sim_at(sim, sim_now_ns(sim) + 1 + ns / wv->num_slots, step, wv, 0);
}

static void on_fault(void *ctx, enum sim_fault_event event, struct sim_nic *nic)
{
	struct wv *wv = ctx;

	/* Handled at the next step: a blocking call may be in progress now. */
	if (sim_nic_index(nic) >= wv->num_nics)
		return;
	wv->fault_due = true;
	wv->restart_due = event == SIM_FAULT_RESTART;
	wv->fault_nic = sim_nic_index(nic);
}

static void draw_rates(struct wv *wv)
{
	const uint64_t *param = wv->run->param;

	if (param[PARAM_MISUSE] && wv_below(wv, 4))
		wv->misuse_ppm = wv_range(wv, 1000, 60000);
	if (param[PARAM_CHAOS] && wv_below(wv, 4))
		wv->chaos_ppm = wv_range(wv, 200, 6000);
	if (param[PARAM_DEATH] && !wv_below(wv, 3))
		wv->death_ppm = wv_range(wv, 10, 300);
	wv->esp = param[PARAM_ESP];
	wv->keys = param[PARAM_KEYS];
	wv->events = param[PARAM_EVENTS];
	wv->moderation = param[PARAM_MODERATION];
}

static int start(struct sim_run *run)
{
	struct wv *wv = calloc(1, sizeof(*wv));
	uint32_t i, n;
	int rc = 0;

	assert(wv);
	run->state = wv;
	wv->run = run;
	wv->sim = run->sim;
	wv->num_nics = sim_nic_count(run->sim) < WV_NICS ? sim_nic_count(run->sim) : WV_NICS;
	sim_prng_for(run->sim, &wv->prng, SIM_STREAM_WORKLOAD, 0);
	sim_prng_for(run->sim, &wv->moder_prng, SIM_STREAM_WORKLOAD, 1);
	wv->num_slots = wv->num_nics * wv_range(wv, 1, wv->num_nics > 6 ? 2 : WV_PROCS_PER_NIC);
	wv->buffer = calloc(2, WV_BUFFER_BYTES);
	wv->nic_generation = calloc(wv->num_nics, sizeof(uint32_t));
	n = wv->num_nics * WV_SHARDS;
	wv->known_generation = calloc((size_t)n * n, sizeof(uint32_t));
	assert(wv->buffer && wv->nic_generation && wv->known_generation);
	wv->model.ended = wv_ended;
	wv->model.ctx = wv;
	wv->idle_ns = IDLE_NS_MIN;
	/* Yielding at each empty poll would take most of the time. */
	setenv("WEFT_YIELD", "never", 0);
	draw_rates(wv);
	for (i = 0; i < wv->num_slots && !rc; i++)
		rc = wv_proc_start(wv, i);
	for (i = wv_range(wv, 1, wv->num_slots * 2); i && !rc; i--)
		rc = wv_rc_pair(wv);
	if (rc)
		return rc;
	sim_on_fault(run->sim, on_fault, wv);
	sim_at(run->sim, sim_now_ns(run->sim), step, wv, 0);
	return 0;
}

static bool quiet(struct sim_run *run)
{
	const struct wv *wv = run->state;
	uint32_t i, q;

	for (i = 0; i < wv->num_slots; i++) {
		const struct wv_proc *proc = wv->slot[i];

		for (q = 0; proc && q < proc->num_qp; q++) {
			if (proc->qp[q]->model.outstanding || proc->qp[q]->state != WV_LIVE ||
			    proc->qp[q]->broken)
				return false;
		}
	}
	return true;
}

/* Finds completions in a CQ whose event never arrived. */
static void check_events(struct wv *wv, struct wv_proc *proc)
{
	struct weft_wc wc;
	uint32_t i;

	for (i = 0; i < WV_CQS; i++) {
		struct wv_cq *cq = &proc->cq[i];

		/*
		 * Its interrupt may have arrived after the process's last step, and the process may
		 * have been between polling and arming: the pending completions are legal.
		 */
		if (!cq->channel || !cq->armed || cq->interrupted)
			wv_poll_cq(proc, cq);
		else if (weft_poll_cq(cq->cq, 1, &wc))
			wv_fail(wv,
				"event: weft%u process %u: completions wait in an armed CQ, "
				"and no event came",
				sim_nic_index(proc->nic), proc->slot);
	}
}

static void check(struct sim_run *run)
{
	struct wv *wv = run->state;
	uint32_t i;

	for (i = 0; i < wv->num_slots && !wv_failed(wv); i++) {
		if (wv->slot[i])
			check_events(wv, wv->slot[i]);
		if (wv->slot[i] && !wv_failed(wv))
			wv_expect_interrupted(wv->slot[i]);
	}
	if (wv_failed(wv))
		return;
	wv_check_memory(wv);
	wv_check_counters(wv);
	for (i = 0; i < wv->num_ids && !wv_failed(wv); i++) {
		if (!wv->is_recv[i] && wv->ids[i] &&
		    !sim_model_message_ok(&wv->model, &((struct wv_op *)wv->ids[i])->m))
			wv_fail(wv, "%s", wv->model.why);
	}
}

static void close_all(struct sim_run *run)
{
	struct wv *wv = run->state;
	uint32_t i;

	for (i = 0; i < wv->num_slots; i++) {
		if (wv->slot[i])
			wv_proc_end(wv->slot[i]);
	}
}

static void stop(struct sim_run *run)
{
	struct wv *wv = run->state;
	struct wv_proc *proc;
	uint32_t i;

	sim_on_fault(run->sim, NULL, NULL);
	while ((proc = wv->procs)) {
		wv->procs = proc->next;
		wv_proc_free(proc);
	}
	for (i = 0; i < wv->num_ids; i++) {
		if (wv->is_recv[i])
			wv_recv_free(wv->ids[i]);
		else if (wv->ids[i])
			wv_op_free(wv->ids[i]);
	}
	for (i = 0; i < wv->num_qps; i++)
		free(wv_qp_of(wv->qps[i]));
	free(wv->ids);
	free(wv->is_recv);
	free(wv->qps);
	free(wv->buffer);
	free(wv->nic_generation);
	free(wv->known_generation);
	free(wv);
}

const struct sim_workload sim_wl_verbs = {
    .name = "verbs",
    .help = "all legal uses of verbs, and misuse, against a model of every completion",
    .start = start,
    .quiet = quiet,
    .check = check,
    .stop = stop,
    .close = close_all,
    .bears_death = true,
    .bears_busy = true,
    .weight = 12,
    .params = params,
};
