/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload hostile: processes that misuse connections, over TCP with MPA and over datagrams.
 *
 * In each step one of them performs an action on an endpoint or a queue pair, whatever its state:
 * it binds, listens twice, connects to any address, accepts, rejects, disconnects, destroys, posts,
 * destroys queue pairs, or dies. It performs the expected action often enough that connections are
 * established and that forged segments (sim_forge_tcp.c) hit some. A call may fail in any way, but
 * must return. The following must hold: requests of a queue pair end once and in order, and all of
 * them after it has failed; a receive holds a message that a process sent; memory without access
 * rights does not change; at the end nothing is left (sim_audit.c). Calls libweft and
 * sim_wl_hostile_qp.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_harness/wl/sim_wl_hostile.h"

enum {
	LISTENERS = 2, /* usually the first endpoints */
	PORTS = 3,
	FIRST_PORT = 900,
	EVENTS = 4, /* taken per step */
	MAX_LIVES = 24,
};
#define REBORN_NS UINT64_C(300000)

/* ---- endpoints ------------------------------------------------------------------------------- */

/* Returns the slot of the endpoint with this number; ROGUE_EPS: none. */
static uint32_t place_of(const struct rogue *r, uint32_t ep)
{
	uint32_t at = 0;

	while (at < ROGUE_EPS && r->ep[at] != ep + 1)
		at++;
	return at;
}

/* Returns an endpoint, usually its own, sometimes an unused number or another process's. */
static uint32_t any_ep(struct rogue *r)
{
	uint32_t at = rogue_below(r, ROGUE_EPS);

	return r->ep[at] && rogue_below(r, 16) ? r->ep[at] - 1 : rogue_below(r, 64);
}

static uint32_t qpn_of(struct rogue *r, uint32_t at)
{
	if (!rogue_below(r, 16))
		return rogue_below(r, 1 << 24);
	return r->qp[at].qp ? r->qp[at].qp->qpn : 0;
}

static struct hw_cm_param param_of(struct rogue *r, uint32_t at)
{
	return (struct hw_cm_param){.qpn = qpn_of(r, at),
				    .responder_resources = (uint8_t)rogue_below(r, 8),
				    .initiator_depth = (uint8_t)rogue_below(r, 8),
				    .retry_count = 7,
				    .rnr_retry_count = 7};
}

static struct weft_cm_llp draw_llp(struct rogue *r)
{
	struct weft_cm_llp llp = {.transport =
				      rogue_below(r, 3) ? HW_CM_TRANSPORT_TCP : HW_CM_TRANSPORT_RD};

	if (rogue_below(r, 2))
		llp.mpa = (uint16_t)(HW_MPA_GIVEN | (rogue_below(r, 0x80) & (uint32_t)HW_MPA_ALL));
	return llp;
}

static void ep_destroy(struct rogue *r, uint32_t ep)
{
	uint32_t at = place_of(r, ep);
	int rc = weft_cm_destroy(r->end.context, ep);

	if (at == ROGUE_EPS)
		return;
	if (rc)
		sim_run_fail(r->run, "call: weft%u: destroying an endpoint: %s", r->index,
			     strerror(-rc));
	r->ep[at] = 0;
}

static void ep_new(struct rogue *r)
{
	static const enum hw_cm_space spaces[] = {HW_CM_TCP, HW_CM_TCP, HW_CM_TCP,
						  HW_CM_TCP, HW_CM_UDP, HW_CM_IB};
	uint16_t port = rogue_below(r, 2) ? (uint16_t)(FIRST_PORT + rogue_below(r, PORTS)) : 0;
	uint32_t at = 0, ep;

	while (at < ROGUE_EPS && r->ep[at])
		at++;
	if (at == ROGUE_EPS || weft_cm_create(r->channel, &ep))
		return;
	r->ep[at] = ep + 1;
	if (rogue_below(r, 16)) {
		bool reuse = rogue_below(r, 2);

		(void)!weft_cm_bind(r->end.context, ep, spaces[rogue_below(r, 6)], &port, reuse);
	}
}

static void ep_listen(struct rogue *r)
{
	const struct weft_cm_llp llp = draw_llp(r);
	uint32_t ep = any_ep(r);

	(void)!weft_cm_listen(r->end.context, ep, rogue_below(r, 4), &llp);
}

static void ep_connect(struct rogue *r)
{
	const struct weft_cm_llp llp = draw_llp(r);
	uint32_t at = rogue_below(r, ROGUE_EPS), qp = rogue_below(r, ROGUE_QPS);
	uint8_t bytes[HW_CM_MAX_DATA] = {0};
	const struct weft_cm_data data = {bytes, rogue_below(r, sizeof(bytes) + 1)};
	/* One NIC more than exist: its address does not respond. */
	uint32_t to = rogue_below(r, r->others->num * 8 + 1) / 8;
	uint32_t ip = sim_nic_ip(sim_nic_at(r->run->sim, to < r->others->num ? to : 0));
	struct hw_cm_param param;
	bool datagram;
	uint16_t port;

	if (to == r->others->num)
		ip ^= 0xc8000000;
	if (rogue_below(r, 4) && !rogue_qp_new(r, qp))
		return;
	param = param_of(r, qp);
	r->ep_qp[at] = qp;
	datagram = !rogue_below(r, 12);
	port = (uint16_t)(FIRST_PORT + rogue_below(r, PORTS));
	(void)!weft_cm_connect(r->end.context, r->ep[at] ? r->ep[at] - 1 : any_ep(r), ip, port,
			       datagram, &llp, &param, &data);
}

/*
 * Performs the sequence of a correct program in place of the previous endpoint, to reach a
 * listener.
 */
static void ep_ask(struct rogue *r)
{
	const struct weft_cm_llp llp = {.transport = rogue_below(r, 4) ? HW_CM_TRANSPORT_TCP
								       : HW_CM_TRANSPORT_RD};
	uint32_t at = LISTENERS + rogue_below(r, ROGUE_EPS - LISTENERS),
		 qp = rogue_below(r, ROGUE_QPS), ep;
	const struct sim_nic *to = sim_nic_at(
	    r->run->sim, (r->index + 1 + rogue_below(r, r->others->num)) % r->others->num);
	struct hw_cm_param param;
	uint16_t port = 0;

	if (r->ep[at])
		ep_destroy(r, r->ep[at] - 1);
	rogue_qp_gone(r, qp);
	if (!rogue_qp_new(r, qp) || weft_cm_create(r->channel, &ep))
		return;
	r->ep[at] = ep + 1;
	r->ep_qp[at] = qp;
	param = param_of(r, qp);
	if (!weft_cm_bind(r->end.context, ep, HW_CM_TCP, &port, false))
		(void)!weft_cm_connect(
		    r->end.context, ep, sim_nic_ip(to),
		    (uint16_t)(FIRST_PORT + (llp.transport != HW_CM_TRANSPORT_TCP)), false, &llp,
		    &param, NULL);
}

/* Keeps the first endpoints listening until another action uses them. */
static void keep_listening(struct rogue *r)
{
	uint32_t at, ep;

	for (at = 0; at < LISTENERS; at++) {
		const struct weft_cm_llp llp = {.transport =
						    at ? HW_CM_TRANSPORT_RD : HW_CM_TRANSPORT_TCP};
		uint16_t port = (uint16_t)(FIRST_PORT + at);

		if (r->ep[at] || weft_cm_create(r->channel, &ep))
			continue;
		r->ep[at] = ep + 1;
		/* Another of its endpoints may have the port. */
		if (!weft_cm_bind(r->end.context, ep, HW_CM_TCP, &port, false))
			(void)!weft_cm_listen(r->end.context, ep, 0, &llp);
	}
}

static void ep_answer(struct rogue *r, uint32_t ep, uint32_t qp)
{
	struct hw_cm_param param = param_of(r, qp);

	if (rogue_below(r, 3))
		(void)!weft_cm_accept(r->end.context, ep, rogue_below(r, 4) ? &param : NULL, NULL);
	else
		(void)!weft_cm_reject(r->end.context, ep, (enum hw_cm_reason)rogue_below(r, 40),
				      NULL);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_request(struct rogue *r, const struct hw_resp_cm_event *ev)
{
	uint32_t at = 0, qp = rogue_below(r, ROGUE_QPS);
	struct hw_cm_param param;

	while (at < ROGUE_EPS && r->ep[at])
		at++;
	if (at == ROGUE_EPS) {
		(void)!weft_cm_destroy(r->end.context, ev->ep);
		return;
	}
	r->ep[at] = ev->ep + 1;
	r->ep_qp[at] = qp;
	if (!rogue_below(r, 4)) {
		ep_answer(r, ev->ep, qp);
		return;
	}
	rogue_qp_gone(r, qp);
	rogue_qp_ready(r, qp, ev);
	param = param_of(r, qp);
	(void)!weft_cm_accept(r->end.context, ev->ep, &param, NULL);
}

static void on_event(struct rogue *r, const struct hw_resp_cm_event *ev)
{
	uint32_t at = place_of(r, ev->ep);

	if (ev->type == HW_CM_EVENT_REQUEST) {
		on_request(r, ev);
		return;
	}
	if (at == ROGUE_EPS) {
		sim_run_fail(r->run,
			     "connection: weft%u: event %u of endpoint %u, which is not its",
			     r->index, ev->type, ev->ep);
		return;
	}
	if (ev->type == HW_CM_EVENT_RESPONSE && rogue_below(r, 8)) {
		rogue_qp_ready(r, r->ep_qp[at], ev);
		(void)!weft_cm_accept(r->end.context, ev->ep, NULL, NULL);
		if (!rogue_below(r, 8))
			(void)!weft_cm_accept(r->end.context, ev->ep, NULL, NULL);
	} else if (ev->type == HW_CM_EVENT_DISCONNECTED || ev->type == HW_CM_EVENT_REJECTED ||
		   ev->type == HW_CM_EVENT_UNREACHABLE) {
		/* Sometimes keeps it and connects again. */
		if (rogue_below(r, 4))
			ep_destroy(r, ev->ep);
		if (rogue_below(r, 2))
			rogue_qp_gone(r, r->ep_qp[at]);
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void die(struct rogue *r)
{
	uint32_t i;

	if (rogue_below(r, 2))
		sim_end_kill(&r->end);
	else
		sim_end_close(&r->end);
	for (i = 0; i < ROGUE_QPS; i++) {
		r->qp[i].qp = NULL;
		rogue_qp_forget(&r->qp[i]);
	}
	memset(r->ep, 0, sizeof(r->ep));
	r->watched = NULL;
	r->dead = true;
	r->reborn_ns = sim_now_ns(r->run->sim) + sim_prng_range(&r->prng, 1, REBORN_NS);
}

static void misuse_qp(struct rogue *r)
{
	static const struct hw_resp_cm_event nobody = {.transport = HW_CM_TRANSPORT_TCP};
	uint32_t at = rogue_below(r, ROGUE_QPS), n;

	switch (rogue_below(r, 96)) {
	case 0:
		rogue_qp_state(r, at, WEFT_QPS_ERR);
		break;
	case 1:
		rogue_qp_state(r, at, WEFT_QPS_RESET);
		break;
	case 2:
		rogue_qp_gone(r, at);
		break;
	case 3:
		rogue_qp_ready(r, at, &nobody);
		break;
	default:
		rogue_post_recv(r, at);
		for (n = rogue_below(r, 3); n; n--)
			rogue_post_send(r, at);
		break;
	}
}

static void misuse(struct rogue *r)
{
	uint32_t ep, qp, wait_ms;

	switch (rogue_below(r, 160)) {
	case 0:
	case 1:
		ep_new(r);
		break;
	case 2:
		ep_listen(r);
		break;
	case 3:
	case 4:
		ep_connect(r);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		ep_ask(r);
		break;
	case 9:
		keep_listening(r);
		break;
	case 10:
		qp = rogue_below(r, ROGUE_QPS);
		ep_answer(r, any_ep(r), qp);
		break;
	case 11:
		(void)!weft_cm_disconnect(r->end.context, any_ep(r));
		break;
	case 12:
		ep = any_ep(r);
		ep_destroy(r, ep);
		break;
	case 13:
		wait_ms = rogue_below(r, 20);
		(void)!weft_cm_resolve(r->end.context, any_ep(r),
				       sim_nic_ip(sim_nic_at(r->run->sim, 0)), wait_ms);
		break;
	case 14:
		if (!rogue_below(r, 16) && r->lives < MAX_LIVES)
			die(r);
		break;
	default:
		misuse_qp(r);
		break;
	}
}

/* Ends the remaining connections, so that posted requests end. */
static void wind_down(struct rogue *r)
{
	uint32_t i;

	for (i = 0; i < ROGUE_EPS; i++) {
		if (r->ep[i])
			ep_destroy(r, r->ep[i] - 1);
	}
	for (i = 0; i < ROGUE_QPS; i++) {
		if (r->qp[i].posted[0] != r->qp[i].ended[0] ||
		    r->qp[i].posted[1] != r->qp[i].ended[1])
			rogue_qp_state(r, i, WEFT_QPS_ERR);
	}
}

static int birth(struct rogue *r);

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rogue *r = ctx;
	struct hw_resp_cm_event ev;
	uint32_t n;
	int rc;

	(void)arg;
	if (r->run->failure[0] || r->run->closed)
		return;
	if (r->dead && !r->run->stopping && sim_now_ns(sim) >= r->reborn_ns) {
		rc = birth(r);
		if (rc)
			sim_run_fail(r->run, "call: weft%u: a new process: %s", r->index,
				     strerror(-rc));
	}
	for (n = 0; n < EVENTS && !r->dead && !weft_cm_get_event(r->channel, &ev); n++)
		on_event(r, &ev);
	if (!r->dead)
		rogue_poll(r);
	if (!r->dead && r->run->stopping)
		wind_down(r);
	else if (!r->dead)
		misuse(r);
	sim_at(sim,
	       sim_now_ns(sim) + (r->run->stopping ? 200 : 1) * sim_prng_range(&r->prng, 300, 4000),
	       step, r, 0);
}

/* ---- start and end --------------------------------------------------------------------------- */

static int birth(struct rogue *r)
{
	const struct sim_end_attr attr = {.type = WEFT_QPT_RC,
					  .inactive = true,
					  .max_wr = 1,
					  .max_sge = 1,
					  .cqe = 4 * ROGUE_QPS * ROGUE_DEPTH,
					  .bytes = ROGUE_MEM_BYTES,
					  .access = WEFT_ACCESS_LOCAL_WRITE,
					  .unmapped = r->index % 3 == 2};
	int rc = sim_end_open(&r->end, sim_nic_at(r->run->sim, r->index), &attr);

	if (rc)
		return rc;
	r->dead = false;
	r->lives++;
	r->channel = weft_create_comp_channel(r->end.context, 0);
	r->watched = sim_mem_alloc(r->end.proc, ROGUE_WATCHED_BYTES, !attr.unmapped);
	if (!r->channel || !r->watched)
		return -ENOMEM;
	memcpy(r->watched, r->copy, ROGUE_WATCHED_BYTES);
	r->window = weft_reg_mr(r->end.pd, r->watched + ROGUE_WINDOW_AT, ROGUE_WINDOW_BYTES,
				WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE |
				    WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC);
	if (!r->window)
		return -errno;
	r->window_addr = (uintptr_t)r->watched + ROGUE_WINDOW_AT;
	r->window_rkey = r->window->rkey;
	return 0;
}

int rogues_start(struct sim_run *run, struct rogues **rogues)
{
	struct rogues *all = calloc(1, sizeof(*all));
	uint32_t i;
	int rc = 0;

	assert(all);
	*rogues = all;
	all->run = run;
	all->num = sim_nic_count(run->sim);
	all->all = calloc(all->num, sizeof(*all->all));
	assert(all->all);
	for (i = 0; i < all->num && !rc; i++) {
		struct rogue *r = &all->all[i];

		r->run = run;
		r->others = all;
		r->index = i;
		/* The streams before these belong to honest processes. */
		sim_prng_for(run->sim, &r->prng, SIM_STREAM_WORKLOAD, 2 * all->num + i);
		r->copy = malloc(ROGUE_WATCHED_BYTES);
		assert(r->copy);
		sim_prng_fill(&r->prng, r->copy, ROGUE_WATCHED_BYTES);
		rc = birth(r);
	}
	for (i = 0; i < all->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &all->all[i], 0);
	return rc;
}

bool rogues_quiet(const struct rogues *rogues)
{
	uint32_t i, k;

	for (i = 0; i < rogues->num; i++) {
		const struct rogue *r = &rogues->all[i];

		for (k = 0; k < ROGUE_QPS; k++) {
			if (memcmp(r->qp[k].posted, r->qp[k].ended, sizeof(r->qp[k].ended)))
				return false;
		}
		for (k = 0; k < ROGUE_EPS; k++) {
			if (r->ep[k])
				return false;
		}
	}
	return true;
}

void rogues_check(const struct rogues *rogues)
{
	const size_t behind = ROGUE_WINDOW_AT + ROGUE_WINDOW_BYTES;
	uint32_t i;

	for (i = 0; i < rogues->num; i++) {
		const struct rogue *r = &rogues->all[i];

		if (r->watched &&
		    (memcmp(r->watched, r->copy, ROGUE_WINDOW_AT) ||
		     memcmp(r->watched + behind, r->copy + behind, ROGUE_WATCHED_BYTES - behind)))
			sim_run_fail(rogues->run,
				     "access: weft%u: the bytes around a window changed", i);
	}
}

void rogues_close(struct rogues *rogues)
{
	uint32_t i;

	for (i = 0; i < rogues->num; i++)
		sim_end_close(&rogues->all[i].end);
}

void rogues_free(struct rogues *rogues)
{
	uint32_t i;

	rogues_close(rogues);
	for (i = 0; i < rogues->num; i++) {
		free(rogues->all[i].copy);
		free(rogues->all[i].msg);
	}
	free(rogues->all);
	free(rogues);
}
