/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload rc_tcp: its connections, from rdma_cm's first event to the last flushed request, and its
 * start and end. See sim_wl_tcp.c.
 *
 * Each side follows its own events. A request names connection and attempt in its private data. A
 * request that arrives after its initiator has given up is rejected.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_harness/wl/sim_wl_tcp.h"

enum {
	WT_PORT = 4420,
	WT_BEGIN_PPM = 50000, /* probability per step without a connection */
	WT_END_PPM = 1500,    /* probability per step with one */
	WT_WORK_PPM = 300000,
	EXT_STREAM = 70000, /* beyond those of processes and of the chaos */
	WT_UPS = 24,        /* connections after which a message must have arrived */
	WT_UP_TRIPS = 8,    /* a connection counts after this multiple of a frame's travel time */
	WT_UP_NS = 100000,  /* and after this time, which is many steps */
};

/* TCP's time-outs have grown when faults end; one side may wait for the other's set-up. */
#define WT_DRAIN_NS UINT64_C(150000000000)

enum {
	WT_PARAM_CHAOS,
	WT_PARAM_EXT,
};

/* After this many steps without progress at the end, steps become rare. */
enum {
	WT_IDLE_STEPS = 2000,
	WT_IDLE_TIMES = 500,
};

static const struct sim_param params[] = {
    {"chaos", "forged resets, QPs and endpoints that end in mid traffic: 1 yes, 0 no", 1, 0, 1},
    {"ext", "Writes with immediate data, and atomics: 1 yes, 0 no", 1, 0, 1},
    {NULL, NULL, 0, 0, 0},
};

/* Private data of a request. */
struct wt_ask {
	uint32_t link, attempt;
};

struct wt *wt_of(const struct sim_run *run)
{
	return run->state;
}

bool wt_corrupted(const struct sim_run *run)
{
	uint32_t i;

	for (i = 0; i < sim_nic_count(run->sim); i++) {
		if (sim_nic_counts(sim_nic_at(run->sim, i))->corrupted)
			return true;
	}
	return false;
}

/* Also true after a wrong CRC32C, which ends a connection. */
bool wt_may_break(const struct wt_half *half)
{
	return half->leaving || half->peer->leaving || half->hit || half->peer->hit ||
	       half->widow || wt_corrupted(half->actor->run);
}

void wt_failed(struct wt_half *half, const char *what, int rc)
{
	sim_run_fail(half->actor->run, "connection: weft%u: connection %u: %s: %s",
		     half->actor->index, half->link, what, strerror(-rc));
}

/* ---- a half begins --------------------------------------------------------------------------- */

static bool make_qp(struct wt_half *half, uint32_t attempt)
{
	struct sim_end *end = &half->actor->end;
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC,
					 .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .cap = {.max_send_wr = 2 * WT_SLOTS,
						 .max_recv_wr = WT_RECVS,
						 .max_send_sge = 1,
						 .max_recv_sge = 1}};

	half->qp = weft_create_qp(end->pd, &init);
	if (!half->qp) {
		wt_failed(half, "no QP", -errno);
		return false;
	}
	half->attempt = attempt;
	half->leaving = half->hit = half->widow = false;
	half->failed[0] = half->failed[1] = false;
	half->posted[0] = half->posted[1] = half->done[0] = half->done[1] = 0;
	half->port = 0;
	half->ep = (uint32_t)WT_NO_EP;
	half->seq = half->write_seq = half->received = 0;
	half->busy = half->sink_held = half->sends = half->recvs = 0;
	half->atomic = false;
	half->word = half->operand = half->compare = 0;
	if (wt_of(half->actor->run)->ext)
		memset(end->buf + wt_word_offset(half), 0, WT_WORD_BYTES);
	sim_pattern(half->actor->run->sim, half->link * 2 + half->side, ~0u, attempt,
		    end->buf + wt_offset(half, WT_AREA_CONST, 0), WT_MSG_BYTES);
	return true;
}

/* Stores the location of the peer's memory, in its current process. */
static void learn_peer(struct wt_half *half)
{
	const struct sim_end *peer = &half->peer->actor->end;

	half->peer_addr = (uintptr_t)peer->buf;
	half->peer_rkey = peer->mr ? peer->mr->rkey : 0;
}

/* Prepares a queue pair and receives for the peer's first message. */
static int ready(struct wt_half *half)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = WEFT_QP_TRANSPORT_TCP,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ};
	uint32_t slot;
	int rc;

	if (wt_of(half->actor->run)->ext)
		attr.access |= WEFT_ACCESS_REMOTE_ATOMIC;
	rc = weft_modify_qp(half->qp, &attr,
			    WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT | WEFT_QP_TRANSPORT |
				WEFT_QP_ACCESS_FLAGS);

	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR, .max_dest_rd_atomic = WT_SLOTS};
	if (!rc)
		rc = weft_modify_qp(half->qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .max_rd_atomic = WT_SLOTS};
	if (!rc)
		rc = weft_modify_qp(half->qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC);
	for (slot = 0; slot < WT_RECVS && !rc; slot++)
		rc = wt_post_recv(half, slot);
	return rc;
}

static struct hw_cm_param param_of(const struct wt_half *half)
{
	return (struct hw_cm_param){.qpn = half->qp->qpn,
				    .responder_resources = WT_SLOTS,
				    .initiator_depth = WT_SLOTS,
				    .retry_count = 7,
				    .rnr_retry_count = 7};
}

/* Draws the use of CRC and markers. */
static struct weft_cm_llp draw_llp(struct sim_prng *prng)
{
	struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP, .mpa = HW_MPA_GIVEN};

	/* Without a CRC32C a corrupted frame might pass TCP's checksum. */
	llp.mpa |= HW_MPA_CRC;
	if (sim_prng_chance(prng, 300000))
		llp.mpa |= HW_MPA_MARKERS;
	if (sim_prng_chance(prng, 300000))
		llp.mpa |= HW_MPA_RTR_READ;
	return llp;
}

static void begin(struct wt_half *half)
{
	struct wt_actor *actor = half->actor;
	const struct wt_ask ask = {half->link, half->attempt + 1};
	const struct weft_cm_data data = {&ask, sizeof(ask)};
	struct weft_cm_llp llp = draw_llp(&actor->prng);
	struct hw_cm_param param;
	uint16_t port = 0;
	int rc;

	if (!make_qp(half, ask.attempt))
		return;
	rc = weft_cm_create(actor->channel, &half->ep);
	if (rc) {
		wt_failed(half, "no endpoint", rc);
		return;
	}
	param = param_of(half);
	rc = weft_cm_bind(actor->end.context, half->ep, HW_CM_TCP, &port, false);
	half->port = port;
	if (!rc)
		rc = weft_cm_connect(
		    actor->end.context, half->ep,
		    sim_nic_ip(sim_nic_at(actor->run->sim, half->peer->actor->index)), WT_PORT,
		    false, &llp, &param, &data);
	half->state = WT_ASKED;
	if (rc == -EADDRNOTAVAIL) /* an earlier connection of this port is in TIME-WAIT */
		half->state = WT_OVER;
	else if (rc)
		wt_failed(half, "asking for it", rc);
}

/* ---- events of the connection manager -------------------------------------------------------- */

static void refuse(struct wt_actor *actor, uint32_t ep)
{
	/* It may have been destroyed already. */
	(void)!weft_cm_reject(actor->end.context, ep, HW_CM_REJ_CONSUMER, NULL);
	(void)weft_cm_destroy(actor->end.context, ep);
}

static void on_request(struct wt_actor *actor, const struct hw_resp_cm_event *ev)
{
	struct wt *wt = wt_of(actor->run);
	struct hw_cm_param param;
	struct wt_half *half;
	struct wt_ask ask = {0};
	int rc;

	if (ev->data_bytes >= sizeof(ask))
		memcpy(&ask, ev->data, sizeof(ask));
	if (ask.link >= wt->num * wt->num_links || wt->halves[2 * ask.link + 1].actor != actor) {
		sim_run_fail(actor->run, "connection: weft%u: a request for connection %u",
			     actor->index, ask.link);
		return;
	}
	half = &wt->halves[2 * ask.link + 1];
	if (half->state != WT_NONE || half->peer->state != WT_ASKED ||
	    half->peer->attempt != ask.attempt) {
		refuse(actor, ev->ep);
		return;
	}
	if (!make_qp(half, ask.attempt))
		return;
	half->ep = ev->ep;
	half->state = WT_ASKED;
	learn_peer(half);
	rc = ready(half);
	param = param_of(half);
	if (!rc)
		rc = weft_cm_accept(actor->end.context, half->ep, &param, NULL);
	/* The initiator may be gone meanwhile; its event follows. */
	if (rc && half->peer->state == WT_ASKED && !wt_may_break(half))
		wt_failed(half, "accepting it", rc);
	if (rc)
		half->state = WT_OVER;
}

static void on_response(struct wt_half *half)
{
	int rc;

	learn_peer(half);
	rc = ready(half);
	if (!rc)
		rc = weft_cm_accept(half->actor->end.context, half->ep, NULL, NULL);
	if (rc && !wt_may_break(half))
		wt_failed(half, "taking its answer", rc);
	half->state = rc ? WT_OVER : WT_UP;
}

/* After the end of a connection its queue pair must have failed. */
static void check_state(struct wt_half *half)
{
	struct weft_qp_attr attr;
	int rc = weft_query_qp(half->qp, &attr, NULL);

	if (rc)
		wt_failed(half, "asking for the QP's state", rc);
	else if (attr.state != WEFT_QPS_ERR)
		sim_run_fail(half->actor->run,
			     "connection: weft%u: connection %u has ended, its QP is in state %d",
			     half->actor->index, half->link, (int)attr.state);
}

static void on_end(struct wt_half *half, const struct hw_resp_cm_event *ev)
{
	if (half->state == WT_UP && !wt_may_break(half))
		sim_run_fail(half->actor->run,
			     "connection: weft%u: connection %u ended by itself (event %u, "
			     "status %d)",
			     half->actor->index, half->link, ev->type, (int)ev->status);
	if (half->state == WT_UP && wt_of(half->actor->run)->chaos)
		check_state(half);
	half->leaving = true;
	half->state = WT_OVER;
}

static void on_event(struct wt_actor *actor, const struct hw_resp_cm_event *ev)
{
	struct wt_half *half = NULL;
	uint32_t i;

	if (ev->type == HW_CM_EVENT_REQUEST) {
		on_request(actor, ev);
		return;
	}
	for (i = 0; i < WT_HALVES; i++) {
		struct wt_half *h = actor->half[i];

		if (h && h->state != WT_NONE && h->ep == ev->ep)
			half = h;
	}
	if (!half || half->state == WT_OVER)
		return;
	if (ev->type == HW_CM_EVENT_RESPONSE)
		on_response(half);
	else if (ev->type == HW_CM_EVENT_ESTABLISHED)
		half->state = WT_UP;
	else
		on_end(half, ev);
	half->up_ns = half->state == WT_UP ? sim_now_ns(actor->run->sim) : 0;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Frees an ended half when none of its requests is outstanding. */
static void bury(struct wt_half *half)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_ERR};
	int rc;

	half->leaving = true;
	/* After a failed set-up, no connection's end would flush the receives. */
	if (half->qp)
		(void)!weft_modify_qp(half->qp, &attr, WEFT_QP_STATE);
	wt_poll(half->actor);
	if (half->sends || half->recvs)
		return;
	rc = half->ep == (uint32_t)WT_NO_EP ? 0
					    : weft_cm_destroy(half->actor->end.context, half->ep);
	if (!rc && half->qp)
		rc = weft_destroy_qp(half->qp);
	if (rc)
		wt_failed(half, "burying it", rc);
	half->qp = NULL;
	half->state = WT_NONE;
}

/* Both ends may work: a half that is up for some round trips counts as a used connection. */
static void count_up(struct wt *wt, struct wt_half *half)
{
	struct sim *sim = half->actor->run->sim;
	uint64_t up_ns = half->up_ns > half->peer->up_ns ? half->up_ns : half->peer->up_ns;
	uint64_t long_ns = WT_UP_TRIPS * sim_get_config(sim)->link.latency_ns + WT_UP_NS;

	if (!half->up_ns || sim_now_ns(sim) - up_ns < long_ns)
		return;
	wt->ups++;
	half->up_ns = 0;
}

static void move(struct wt *wt, struct wt_half *half)
{
	bool stopping = half->actor->run->stopping;

	switch (half->state) {
	case WT_NONE:
		if (!stopping && !half->side && half->peer->state == WT_NONE &&
		    !half->actor->dead && sim_prng_chance(&wt->prng, WT_BEGIN_PPM))
			begin(half);
		break;
	case WT_ASKED:
		break;
	case WT_UP:
		/* It has not learned yet that the listener is gone. */
		if (half->widow && !stopping && !half->leaving &&
		    sim_prng_chance(&wt->prng, WT_WORK_PPM / 10))
			wt_work(half);
		if (half->peer->state != WT_UP || stopping || half->leaving || half->peer->leaving)
			break;
		count_up(wt, half);
		if (sim_prng_chance(&wt->prng, WT_END_PPM))
			wt_leave(half);
		else if (sim_prng_chance(&wt->prng, WT_WORK_PPM))
			wt_work(half);
		break;
	case WT_OVER:
		bury(half);
		break;
	}
}

/* Steps become rare while waiting for TCP's time-outs, which may take minutes. */
static uint64_t pause_ns(struct wt *wt, const struct sim_run *run)
{
	uint64_t ns = sim_prng_range(&wt->prng, 500, 4000);

	if (wt->seen != run->received + wt->completions || !run->stopping)
		wt->idle = 0;
	wt->seen = run->received + wt->completions;
	return wt->idle++ < WT_IDLE_STEPS ? ns : ns * WT_IDLE_TIMES;
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct sim_run *run = ctx;
	struct wt *wt = wt_of(run);
	struct hw_resp_cm_event ev;
	uint32_t i;

	(void)arg;
	if (run->failure[0] || run->closed)
		return;
	wt_die_step(run);
	for (i = 0; i < wt->num; i++) {
		struct wt_actor *actor = &wt->actors[i];

		while (!run->failure[0] && !actor->dead && !weft_cm_get_event(actor->channel, &ev))
			on_event(actor, &ev);
		if (!actor->dead)
			wt_poll(actor);
	}
	for (i = 0; i < wt->num_halves && !run->failure[0]; i++)
		move(wt, &wt->halves[i]);
	sim_at(sim, sim_now_ns(sim) + pause_ns(wt, run), step, run, 0);
}

/* ---- start and end --------------------------------------------------------------------------- */

int wt_actor_start(struct sim_run *run, struct wt_actor *actor)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP};
	struct sim_end_attr attr = {.type = WEFT_QPT_RC,
				    .inactive = true,
				    .cqe = WT_HALVES * (2 * WT_SLOTS + WT_RECVS),
				    .bytes = (size_t)WT_HALVES * WT_HALF_SLOTS * WT_MSG_BYTES,
				    .unmapped = actor->index % 4 == 3};
	uint16_t port = WT_PORT;
	int rc;

	if (wt_of(run)->ext)
		attr.bytes += WT_HALVES * WT_WORD_BYTES;
	rc = sim_end_open(&actor->end, sim_nic_at(run->sim, actor->index), &attr);

	if (rc)
		return rc;
	actor->channel = weft_create_comp_channel(actor->end.context, 0);
	if (!actor->channel)
		return -errno;
	rc = weft_cm_create(actor->channel, &actor->listener);
	if (!rc)
		rc = weft_cm_bind(actor->end.context, actor->listener, HW_CM_TCP, &port, false);
	return rc ? rc : weft_cm_listen(actor->end.context, actor->listener, 0, &llp);
}

static void place(struct wt_half *half, struct wt_actor *actor)
{
	half->actor = actor;
	while (actor->half[half->place])
		half->place++;
	assert(half->place < WT_HALVES);
	actor->half[half->place] = half;
}

static int start(struct sim_run *run)
{
	struct wt *wt = calloc(1, sizeof(*wt));
	uint32_t i, k;
	int rc = 0;

	assert(wt);
	run->state = wt;
	wt->num = sim_nic_count(run->sim);
	wt->num_links = wt->num - 1 < WT_LINKS ? wt->num - 1 : WT_LINKS;
	wt->actors = calloc(wt->num, sizeof(*wt->actors));
	wt->num_halves = 2 * wt->num * wt->num_links;
	wt->halves = calloc(wt->num_halves + 1, sizeof(*wt->halves));
	assert(wt->actors && wt->halves);
	wt->chaos = run->param[WT_PARAM_CHAOS];
	wt->ext = run->param[WT_PARAM_EXT];
	sim_prng_for(run->sim, &wt->ext_prng, SIM_STREAM_WORKLOAD, EXT_STREAM);
	sim_prng_for(run->sim, &wt->prng, SIM_STREAM_WORKLOAD, wt->num);
	for (i = 0; i < wt->num && !rc; i++) {
		wt->actors[i].run = run;
		wt->actors[i].index = i;
		sim_prng_for(run->sim, &wt->actors[i].prng, SIM_STREAM_WORKLOAD, i);
		rc = wt_actor_start(run, &wt->actors[i]);
	}
	for (i = 0; i < wt->num && !rc; i++) {
		for (k = 0; k < wt->num_links; k++) {
			uint32_t link = i * wt->num_links + k;
			struct wt_half *half = &wt->halves[2 * link];

			half[0] = (struct wt_half){.link = link, .side = 0, .peer = &half[1]};
			half[1] = (struct wt_half){.link = link, .side = 1, .peer = &half[0]};
			place(&half[0], &wt->actors[i]);
			place(&half[1], &wt->actors[(i + 1 + k) % wt->num]);
		}
	}
	if (!rc)
		wt_die_start(run);
	if (!rc)
		sim_at(run->sim, sim_now_ns(run->sim) + 1, step, run, 0);
	return rc;
}

/* Returns true if there is no connection, or all messages on it have arrived. */
static bool settled(const struct wt_half *half)
{
	const struct wt_half *peer = half->peer;

	if (half->state == WT_NONE)
		return peer->state == WT_NONE;
	return half->state == WT_UP && peer->state == WT_UP && !half->leaving && !peer->leaving &&
	       !half->sends && half->seq == peer->received;
}

static bool quiet(struct sim_run *run)
{
	const struct wt *wt = wt_of(run);
	uint32_t i;

	for (i = 0; i < wt->num_halves; i++) {
		if (!settled(&wt->halves[i]))
			return false;
	}
	return true;
}

static void check(struct sim_run *run)
{
	/* A short run with many losses may deliver none: a SYN is repeated only after a second. */
	if (!run->received && wt_of(run)->ups >= WT_UPS && !wt_of(run)->damage)
		sim_run_fail(run, "liveness: not one message arrived");
}

static void close_all(struct sim_run *run)
{
	struct wt *wt = wt_of(run);
	uint32_t i;

	sim_set_filter(run->sim, NULL, NULL);
	for (i = 0; i < wt->num; i++)
		sim_end_close(&wt->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct wt *wt = wt_of(run);

	close_all(run);
	free(wt->actors);
	free(wt->halves);
	free(wt);
}

const struct sim_workload sim_wl_rc_tcp = {
    .name = "rc_tcp",
    .help = "RC over MPA/TCP: connections are made, carry Sends, Writes, Reads, atomics, and end",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_death = true,
    .params = params,
    .drain_ns = WT_DRAIN_NS,
    .bears_busy = true,
    .weight = 10,
};
