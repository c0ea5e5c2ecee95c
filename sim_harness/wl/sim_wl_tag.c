/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload tag: endpoints of tagged messages send to each other whatever there is, and a model says
 * which receive may take which message.
 *
 * Each step is one of a random process: it takes completions and posts. Endpoints fail, processes
 * die and come again, memory is deregistered in use. At the end all that waits is cancelled, and
 * what was sent is received. Calls sim_wl_tag_*.c.
 */
#include "sim_harness/wl/sim_wl_tag.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDLE_NS_MIN = 1500, /* between two steps of one process */
	IDLE_NS_MAX = 4000000,
	RESPAWN = 40, /* steps until a dead process is replaced, on average */
	CQ_ENTRIES = 8192,
	PARAM_CHAOS = 0,
	PARAM_DEATH,
	PARAM_FRAIL,
	PARAM_LONG,
};

#define LIVENESS_NS UINT64_C(18000000000) /* limit for all that waits to end */

static const struct sim_param params[] = {
    {"chaos", "endpoints that fail and are opened anew: 1 yes, 0 no", 1, 0, 1},
    {"death", "processes that die besides those that --faults kills: 1 yes, 0 no", 1, 0, 1},
    {"frail", "memory that is deregistered in use: 1 yes, 0 no", 1, 0, 1},
    {"long", "one in so many messages is up to 70000 bytes long; 0: drawn", 0, 0, 1000000},
    {NULL, NULL, 0, 0, 0},
};

/* ---- endpoints */

/* Opens an endpoint that takes the receives of the process's context. */
static int open_way(struct wt_actor *a, uint32_t i, const struct weft_tag_attr *like)
{
	struct weft_tag_attr attr = *like;
	struct wt_way *way = &a->ways[i];

	attr.context = false;
	attr.receives_of = a->ep;
	way->ep = weft_open_tag_ep(a->pd, &attr);
	if (!way->ep)
		return -errno;
	way->end = sim_tag_end_new(&a->wt->model, sim_nic_ip(a->nic), way->ep->qp->qpn);
	way->end->rx = a->end;
	return 0;
}

static int open_ways(struct wt_actor *a, const struct weft_tag_attr *like)
{
	uint32_t n = 1 + wt_below(a->wt, WT_WAYS), i;
	int rc = 0;

	a->like = *like;
	for (i = 0; i < n && !rc; i++)
		rc = open_way(a, i, like);
	if (!rc)
		a->num_ways = n;
	return rc;
}

static int open_ep(struct wt_actor *a)
{
	static const uint32_t limits[] = {0, 64, 256, 1024, 4096, 16384, 65536};
	struct wt *wt = a->wt;
	struct weft_tag_attr attr = {
	    .send_cq = a->cq,
	    .recv_cq = a->cq,
	    .cap = {.max_send_wr = WT_SENDS + 8 + wt_below(wt, 64),
		    .max_recv_wr = WT_RECV_SLOTS * 3,
		    .max_send_sge = WT_SGES,
		    .max_recv_sge = WT_SGES,
		    .max_inline_bytes = WT_INLINE_BYTES},
	    .qkey = SIM_END_QKEY,
	    .eager_bytes = limits[wt_below(wt, sizeof(limits) / sizeof(limits[0]))],
	    .pool_bytes = UINT64_C(4096) << wt_below(wt, 12),
	};

	attr.context = wt->contexts && wt_one_in(wt, 2);
	a->ep = weft_open_tag_ep(a->pd, &attr);
	if (!a->ep)
		return -errno;
	a->end = sim_tag_end_new(&wt->model, sim_nic_ip(a->nic), a->ep->qp->qpn);
	a->end->unsure = a->unsure;
	a->failed = false;
	a->num_ways = 1;
	a->ways[0] = (struct wt_way){a->ep, a->end};
	return attr.context ? open_ways(a, &attr) : 0;
}

/* These endpoints are no more: what they had posted is not judged any more. */
static void forget_ends(struct wt_actor *a, const struct sim_tag_end *only)
{
	struct sim_tag_model *model = &a->wt->model;
	uint32_t i, k;

	for (i = 0; i < model->num_pairs; i++) {
		struct sim_tag_pair *pair = model->pairs[i];

		if (only ? pair->src != only && pair->dst != only
			 : pair->src->rx != a->end && pair->dst->rx != a->end)
			continue;
		for (k = pair->open; k < pair->num_msgs; k++)
			if (!pair->msgs[k]->settled)
				sim_tag_msg_lost(model, pair->msgs[k]);
	}
}

static void forget_end(struct wt_actor *a)
{
	uint32_t i;

	a->end->gone = true;
	for (i = 0; i < a->num_ways; i++)
		a->ways[i].end->gone = true;
	forget_ends(a, NULL);
}

/* Closes an endpoint of a context, and opens another one. */
static void renew_way(struct wt_actor *a)
{
	uint32_t i = wt_below(a->wt, a->num_ways);
	struct wt_way old = a->ways[i];
	int rc;

	wt_reap(a);
	old.end->gone = true;
	weft_close_tag_ep(old.ep);
	wt_way_closed(a, old.ep);
	forget_ends(a, old.end);
	rc = open_way(a, i, &a->like);
	if (rc)
		sim_run_fail(a->wt->run, "call: weft_open_tag_ep(): %s", strerror(-rc));
}

/* Moves an endpoint to ERR: all that is posted must be flushed. */
static void fail_ep(struct wt_actor *a)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_ERR};

	a->failed = true;
	forget_end(a);
	if (weft_modify_qp(a->ep->qp, &attr, WEFT_QP_STATE))
		sim_run_fail(a->wt->run, "call: an endpoint cannot be moved to ERR");
}

/* ---- processes */

static int open_actor(struct wt_actor *a)
{
	const size_t bytes = (size_t)(WT_SENDS + WT_RECV_SLOTS) * WT_SLOT_BYTES;
	const struct weft_av av = weft_av_qpn();

	a->proc = sim_proc_new(a->nic, "tag");
	/* The pool is of libweft's own memory. */
	sim_proc_move_memory(a->proc);
	a->context = sim_open(a->proc);
	if (!a->context)
		return -errno;
	a->pd = weft_alloc_pd(a->context);
	a->ah = a->pd ? weft_create_ah(a->pd, &av) : NULL;
	a->cq = a->ah ? weft_create_cq(a->context, CQ_ENTRIES, NULL, a) : NULL;
	if (!a->cq)
		return -errno;
	a->buf = sim_mem_alloc(a->proc, bytes, !a->unmapped);
	if (!a->buf)
		return -ENOMEM;
	a->mr = weft_reg_mr(a->pd, a->buf, bytes, WEFT_ACCESS_LOCAL_WRITE);
	return a->mr ? open_ep(a) : -errno;
}

static int start_actor(struct wt_actor *a)
{
	int rc;

	a->unmapped = wt_one_in(a->wt, 3);
	a->frail = a->wt->run->param[PARAM_FRAIL] && wt_one_in(a->wt, 6);
	a->unsure = a->wt->nic_restarted[sim_nic_index(a->nic)];
	a->sends_busy = a->recvs_busy = 0;
	memset(a->send, 0, sizeof(a->send));
	memset(a->recv, 0, sizeof(a->recv));
	rc = open_actor(a);
	if (rc && a->context)
		weft_close_device(a->context);
	if (rc)
		a->proc = NULL;
	return rc;
}

static void end_actor(struct wt_actor *a)
{
	if (!a->proc)
		return;
	if (!a->end->gone)
		forget_end(a);
	weft_close_device(a->context);
	a->context = NULL;
	a->proc = NULL;
}

static void kill_actor(struct wt_actor *a)
{
	if (!a->proc)
		return;
	sim_proc_kill(a->proc);
	end_actor(a);
}

static void take_fault(struct wt *wt)
{
	struct sim_nic *nic = sim_nic_at(wt->sim, wt->fault_nic);
	uint32_t i;

	wt->fault_due = false;
	if (wt->restart_due) {
		sim_nic_restart(nic);
		wt->nic_restarted[wt->fault_nic] = true;
	}
	for (i = 0; i < wt->num_actors; i++) {
		struct wt_actor *a = &wt->actors[i];

		if (a->nic == nic && (wt->restart_due || wt_one_in(wt, 2)))
			kill_actor(a);
		/* Sessions with a NIC that has started anew may fail a second time. */
		if (wt->restart_due && a->proc)
			a->end->unsure = true;
	}
}

static void on_fault(void *ctx, enum sim_fault_event event, struct sim_nic *nic)
{
	struct wt *wt = ctx;

	/* Handled at the next step: a blocking call may be in progress now. */
	if (sim_nic_index(nic) >= wt->num_nics)
		return;
	wt->fault_due = true;
	wt->restart_due = event == SIM_FAULT_RESTART;
	wt->fault_nic = sim_nic_index(nic);
}

/* ---- steps */

/* All was flushed: the process opens another endpoint. */
static void reopen(struct wt_actor *a)
{
	uint32_t i;
	int rc;

	for (i = 0; i < a->num_ways; i++)
		if (a->ways[i].ep != a->ep)
			weft_close_tag_ep(a->ways[i].ep);
	weft_close_tag_ep(a->ep);
	rc = open_ep(a);
	if (rc)
		sim_run_fail(a->wt->run, "call: weft_open_tag_ep(): %s", strerror(-rc));
}

static void step_stopping(struct wt_actor *a)
{
	uint32_t i;

	/* A cancellation for which the NIC has no memory changes nothing. */
	for (i = 0; i < WT_RECVS; i++)
		if (a->recv[i].busy && (!a->recv[i].op->cancel || wt_one_in(a->wt, 64)))
			wt_cancel(a, i);
	wt_post_drains(a);
}

static void step_actor(struct wt_actor *a)
{
	struct wt *wt = a->wt;
	uint32_t i;

	wt_reap(a);
	if (wt_failed(wt))
		return;
	if (a->failed) {
		if (!a->sends_busy && !a->recvs_busy)
			reopen(a);
		return;
	}
	if (wt->run->stopping) {
		step_stopping(a);
		return;
	}
	for (i = wt_below(wt, 6); i && !wt_failed(wt); i--) {
		struct wt_actor *peer = &wt->actors[wt_below(wt, wt->num_actors)];

		if (wt_one_in(wt, 2))
			wt_post_op(a);
		else if (peer->end && (!peer->end->gone || wt_one_in(wt, 8)))
			wt_post_send(a, peer);
	}
	if (wt_one_in(wt, 8))
		wt_cancel(a, wt_below(wt, wt->max_recvs));
	if (a->frail && wt_one_in(wt, 64))
		wt_deregister(a);
	if (wt->chaos_ppm && a->ways[0].ep != a->ep && wt_one_in(wt, 256))
		renew_way(a);
	if (sim_prng_chance(&wt->prng, wt->chaos_ppm))
		fail_ep(a);
	else if (sim_prng_chance(&wt->prng, wt->death_ppm))
		kill_actor(a);
}

/* Reports what still waits at the end. */
static void tell_waiting(struct wt *wt)
{
	uint32_t i, k;

	for (i = 0; i < wt->num_actors; i++) {
		const struct wt_actor *a = &wt->actors[i];

		for (k = 0; k < WT_SENDS && a->proc; k++)
			if (a->send[k].busy)
				sim_run_fail(wt->run,
					     "liveness: the send of message %u (%u bytes%s%s) of "
					     "endpoint %u to %u%s",
					     a->send[k].msg->number, a->send[k].msg->bytes,
					     a->send[k].msg->sync ? ", synchronous" : "",
					     a->send[k].msg->matched ? ", received" : "",
					     a->end->index, a->send[k].msg->pair->dst->index,
					     a->failed ? ", in ERR" : "");
		for (k = 0; k < WT_RECVS && a->proc; k++)
			if (a->recv[k].busy)
				sim_run_fail(
				    wt->run,
				    "liveness: operation %u of endpoint %u, kind %d, %s%s%s",
				    a->recv[k].op->index, a->end->index, (int)a->recv[k].kind,
				    a->recv[k].op->cancel ? "cancelled" : "waiting",
				    a->recv[k].owed ? ", used up and not released" : "",
				    a->failed ? ", in ERR" : "");
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct wt *wt = ctx;
	struct wt_actor *a;
	uint64_t ns;
	int rc;

	(void)arg;
	if (wt_failed(wt) || wt->run->closed)
		return;
	if (wt->fault_due && !wt->run->stopping)
		take_fault(wt);
	a = &wt->actors[wt_below(wt, wt->num_actors)];
	if (a->proc) {
		step_actor(a);
	} else if (!wt->run->stopping && wt_one_in(wt, RESPAWN)) {
		rc = start_actor(a);
		if (rc)
			sim_run_fail(wt->run, "call: a process could not start: %s", strerror(-rc));
	}
	if (wt->run->stopping && !wt->stop_ns)
		wt->stop_ns = sim_now_ns(sim);
	if (wt->stop_ns && sim_now_ns(sim) - wt->stop_ns > LIVENESS_NS)
		tell_waiting(wt);
	/* Without progress steps become rare, so that time-outs of seconds need few of them. */
	if (wt->progress || !wt->run->stopping)
		wt->idle_ns = IDLE_NS_MIN;
	else if (wt->idle_ns < IDLE_NS_MAX)
		wt->idle_ns += wt->idle_ns / 16;
	wt->progress = false;
	ns = sim_prng_range(&wt->prng, wt->idle_ns / 2, wt->idle_ns * 2);
	if (a->proc)
		ns = sim_slow_ns(a->nic, ns);
	sim_at(sim, sim_now_ns(sim) + 1 + ns / wt->num_actors, step, wt, 0);
}

/* ---- the run */

static void draw(struct wt *wt)
{
	static const uint32_t masks[] = {2, 4, WT_MASKS};
	const uint64_t *param = wt->run->param;

	wt->sparse = wt_one_in(wt, 4);
	wt->masks = masks[wt_below(wt, 3)];
	wt->tags = wt_one_in(wt, 4) ? 1 : 2 + wt_below(wt, 12);
	wt->max_recvs = 1 + wt_below(wt, WT_RECVS);
	wt->long_one_in = param[PARAM_LONG] ? (uint32_t)param[PARAM_LONG] : 2u << wt_below(wt, 6);
	wt->contexts = wt_one_in(wt, 3);
	if (param[PARAM_CHAOS] && wt_one_in(wt, 3))
		wt->chaos_ppm = 100 + wt_below(wt, 3000);
	if (param[PARAM_DEATH] && wt_one_in(wt, 4))
		wt->death_ppm = 10 + wt_below(wt, 500);
}

static int start(struct sim_run *run)
{
	struct wt *wt = calloc(1, sizeof(*wt));
	uint32_t i;
	int rc = 0;

	assert(wt);
	run->state = wt;
	wt->run = run;
	wt->sim = run->sim;
	wt->num_nics = sim_nic_count(run->sim) < WT_NICS ? sim_nic_count(run->sim) : WT_NICS;
	sim_prng_for(run->sim, &wt->prng, SIM_STREAM_WORKLOAD, 0);
	sim_tag_model_init(&wt->model);
	wt->num_actors = wt->num_nics * (1 + wt_below(wt, 2));
	wt->actors = calloc(wt->num_actors, sizeof(*wt->actors));
	assert(wt->actors);
	wt->idle_ns = IDLE_NS_MIN;
	/* Yielding at each empty poll would take most of the time. */
	setenv("WEFT_YIELD", "never", 0);
	draw(wt);
	for (i = 0; i < wt->num_actors && !rc; i++) {
		wt->actors[i].wt = wt;
		wt->actors[i].index = i;
		wt->actors[i].nic = sim_nic_at(run->sim, i % wt->num_nics);
		rc = start_actor(&wt->actors[i]);
	}
	if (rc)
		return rc;
	sim_on_fault(run->sim, on_fault, wt);
	sim_at(run->sim, sim_now_ns(run->sim), step, wt, 0);
	return 0;
}

/* True if all messages of pairs whose ends are sure were received. */
static bool all_received(const struct wt *wt)
{
	uint32_t i, k;

	for (i = 0; i < wt->model.num_pairs; i++) {
		const struct sim_tag_pair *pair = wt->model.pairs[i];

		if (sim_tag_pair_unsure(pair))
			continue;
		for (k = pair->open; k < pair->num_msgs; k++)
			if (!pair->msgs[k]->settled)
				return false;
	}
	return true;
}

static bool quiet(struct sim_run *run)
{
	const struct wt *wt = run->state;
	uint32_t i, k;

	for (i = 0; i < wt->num_actors; i++) {
		const struct wt_actor *a = &wt->actors[i];

		if (!a->proc)
			continue;
		if (a->failed || a->sends_busy)
			return false;
		for (k = 0; k < WT_RECVS && a->recvs_busy; k++)
			if (a->recv[k].busy)
				return false;
	}
	return all_received(wt);
}

static void check(struct sim_run *run)
{
	struct wt *wt = run->state;
	uint64_t unmatched = 0;
	uint32_t i;

	for (i = 0; i < wt->num_actors && !wt_failed(wt); i++)
		if (wt->actors[i].proc)
			wt_reap(&wt->actors[i]);
	if (!wt_failed(wt) && !sim_tag_model_check(&wt->model))
		sim_run_fail(run, "%s", wt->model.why);
	for (i = 0; i < wt->model.num_pairs; i++)
		unmatched += wt->model.pairs[i]->num_msgs - wt->model.pairs[i]->open;
	sim_run_figure(run, "matches", (double)wt->model.matches);
	sim_run_figure(run, "conclusions", (double)wt->model.num_edges);
	sim_run_figure(run, "not received", (double)unmatched);
}

static void close_all(struct sim_run *run)
{
	struct wt *wt = run->state;
	uint32_t i;

	for (i = 0; i < wt->num_actors; i++)
		end_actor(&wt->actors[i]);
}

static void stop(struct sim_run *run)
{
	struct wt *wt = run->state;

	sim_on_fault(run->sim, NULL, NULL);
	close_all(run);
	sim_tag_model_free(&wt->model);
	free(wt->actors);
	free(wt);
}

const struct sim_workload sim_wl_tag = {
    .name = "tag",
    .help = "tagged messages: every match against MPI's order, every byte",
    .start = start,
    .quiet = quiet,
    .check = check,
    .stop = stop,
    .close = close_all,
    .bears_death = true,
    .weight = 6,
    .params = params,
};
