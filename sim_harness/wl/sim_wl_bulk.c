/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads incast and outcast: measure maximum throughput.
 *
 * incast: NICs 1 to N send long messages to NIC 0 without pause, so that the switch's queue towards
 * it is the bottleneck. outcast: NIC 0 sends to NICs 1 to N, which share its output queue. Each
 * message contains its flow, its number and a pattern; the receiver checks all of it. Data received
 * while work was posted gives the results (sim_wl_bulk_check.c). The transport is RD, or RC over
 * TCP: a connection for each flow, made before the work begins (sim_wl_conn.c).
 */
#include "sim_harness/wl/sim_wl_bulk.h"
#include "sim_harness/wl/sim_wl_conn.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	REAP_NS = 1000,     /* delay from the interrupt until the process polls */
	WR_RECV = 1u << 30, /* wr_id of the first receive */
	HEAD_BYTES = 8,     /* flow and number, before the pattern */
	MAX_WR = 8192,
	FAR_TIMES = 10,
	TOOK_MAX = 1 << 20,    /* request durations recorded */
	SQ_SPARE = 8,          /* requests that may complete before an older one */
	PORT_QUEUE_NS = 20000, /* as LINE_QUEUE_NS of weftd */
	PORT_LEAST_FRAMES = 8, /* as LINE_LEAST_FRAMES */
	TCP_SPARE_RECVS = 2,   /* of each flow: without a receive, a connection ends */
};

#define BULK_PARAMS(flows_name, flows_help)                                                        \
	{                                                                                          \
		[P_FLOWS] = {flows_name, flows_help, 32, 1, SIM_MAX_NICS - 1},                     \
		[P_BYTES] = {"bytes", "of a message", 65536, HEAD_BYTES, 1u << 20},                \
		[P_DEPTH] = {"depth", "messages under way of each pair", 8, 1, 64},                \
		[P_GBPS] = {"gbps", "speed of each line, Gb/s", 10, 1, 400},                       \
		[P_BUFFER] = {"buffer", "of each port of the switch, bytes", 131072, 10000,        \
			      1u << 30},                                                           \
		[P_ECN] = {"ecn", "backlog that is marked, bytes; 0: none", 0, 0, 1u << 30},       \
		[P_SLOW_US] = {"slow_us", "a receiver keeps each message so long", 0, 0, 100000},  \
		[P_WARM_US] = {"warm_us", "not measured at first", 0, 0, 1000000},                 \
		[P_IDLE_US] = {"idle_us", "then all are idle for so long", 0, 0, 10000000},        \
		[P_LATE] = {"late", "per cent that begin only after that", 0, 0, 99},              \
		[P_FAR] = {"far", "per cent that are ten times as far away", 0, 0, 100},           \
		[P_TCP] = {"tcp", "1: RC over TCP, 0: RD", 0, 0, 1}, {NULL, NULL, 0, 0, 0},        \
	}

static const struct sim_param incast_params[] = BULK_PARAMS("senders", "to the first NIC");
static const struct sim_param outcast_params[] = BULK_PARAMS("receivers", "of the first NIC");

static uint32_t nics(const uint64_t *param)
{
	return (uint32_t)param[P_FLOWS] + 1;
}

static void config(const uint64_t *param, struct sim_config *c)
{
	c->link.gap_ps_per_byte = 8000 / param[P_GBPS];
	c->link.gap_ns = ETH_GAP_BYTES * c->link.gap_ps_per_byte / 1000;
	c->link.queue_bytes = (uint32_t)param[P_BUFFER];
	c->link.ecn_bytes = (uint32_t)param[P_ECN];
}

/* The port of the sender reports its room and holds little, as that of weftd with a card does. */
static void config_outcast(const uint64_t *param, struct sim_config *c)
{
	config(param, c);
	c->tx_room = true;
	c->tx_queue_frames = (uint32_t)(PORT_QUEUE_NS * param[P_GBPS] / 8 / c->mtu);
	if (c->tx_queue_frames < PORT_LEAST_FRAMES)
		c->tx_queue_frames = PORT_LEAST_FRAMES;
}

static struct bulk_end *source(struct bulk *b, uint32_t flow)
{
	return &b->ends[b->incast ? flow + 1 : 0];
}

static struct bulk_end *sink(struct bulk *b, uint32_t flow)
{
	return &b->ends[b->incast ? 0 : flow + 1];
}

/* Returns the offset of a flow's request in its source's buffer. */
static size_t send_offset(const struct bulk *b, uint32_t flow, uint32_t slot)
{
	return ((size_t)(b->incast ? 0 : flow) * b->depth + slot) * b->bytes;
}

static size_t recv_offset(const struct bulk *b, const struct bulk_end *e, uint32_t r)
{
	return e->recv_at + (size_t)r * b->bytes;
}

/* Returns true for the given percentage of senders, spread over all. */
static bool is_one_of(const struct bulk *b, uint32_t flow, uint64_t percent)
{
	return (flow + 1) * percent / 100 > flow * percent / 100 && b->num > 1;
}

uint64_t bulk_measured_ns(const struct sim_run *run)
{
	return run->begin_ns + (run->param[P_WARM_US] + run->param[P_IDLE_US]) * 1000;
}

static bool is_idle(const struct sim_run *run)
{
	uint64_t now_ns = sim_now_ns(run->sim);

	return run->param[P_IDLE_US] && now_ns < bulk_measured_ns(run) &&
	       now_ns >= run->begin_ns + run->param[P_WARM_US] * 1000;
}

static void post(struct bulk *b, uint32_t f, uint32_t slot)
{
	struct bulk_flow *flow = &b->flow[f];
	struct bulk_end *e = source(b, f);
	size_t at = send_offset(b, f, slot);
	struct weft_sge sge = sim_end_sge(&e->end, at, b->bytes);
	struct weft_send_wr wr = {.wr_id = (uint64_t)f * b->depth + slot,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = flow->ah,
				  .dst_qpn = flow->to_qp->qpn,
				  .qkey = SIM_END_QKEY};
	uint32_t head[2] = {f, flow->sent};
	int rc;

	memcpy(e->end.buf + at, head, HEAD_BYTES);
	sim_pattern(e->run->sim, f, 0, flow->sent, e->end.buf + at + HEAD_BYTES,
		    b->bytes - HEAD_BYTES);
	rc = weft_post_send(flow->from_qp, &wr, NULL);
	if (rc) {
		sim_run_fail(e->run, "weft%u: post: %s", e->index, strerror(-rc));
		return;
	}
	flow->sent++;
	flow->begun_ns[slot] = sim_now_ns(e->run->sim);
	b->under_way++;
}

static void count(struct bulk *b, struct sim_run *run, uint32_t f)
{
	uint64_t after_ns = sim_now_ns(run->sim) - run->begin_ns;

	if (run->stopping || sim_now_ns(run->sim) < bulk_measured_ns(run))
		return;
	b->flow[f].bytes += b->bytes;
	if (after_ns / WINDOW_NS < WINDOWS_MAX)
		b->window[after_ns / WINDOW_NS] += b->bytes;
}

static void repost(struct sim *sim, void *ctx, uint64_t r)
{
	struct bulk_end *e = ctx;
	struct bulk *b = e->run->state;

	(void)sim;
	if (!e->run->failure[0] && !e->run->closed &&
	    sim_end_recv(&e->end, WR_RECV + r, recv_offset(b, e, (uint32_t)r), b->bytes))
		sim_run_fail(e->run, "weft%u: a receive could not be posted", e->index);
}

static void received(struct bulk_end *e, const struct weft_wc *wc)
{
	struct sim_run *run = e->run;
	struct bulk *b = run->state;
	uint32_t r = (uint32_t)(wc->wr_id - WR_RECV);
	uint8_t *at = e->end.buf + recv_offset(b, e, r);
	uint32_t head[2];

	memcpy(head, at, HEAD_BYTES);
	if (wc->bytes != b->bytes || head[0] >= b->num || head[1] != b->flow[head[0]].received) {
		sim_run_fail(run, "weft%u: message %u of flow %u (%u bytes) is not the next one",
			     e->index, head[1], head[0], wc->bytes);
		return;
	}
	if (!sim_pattern_check(run->sim, head[0], 0, head[1], at + HEAD_BYTES,
			       b->bytes - HEAD_BYTES))
		sim_run_fail(run, "weft%u: message %u of flow %u has wrong bytes", e->index,
			     head[1], head[0]);
	b->flow[head[0]].received++;
	run->received++;
	run->bytes += b->bytes;
	count(b, run, head[0]);
	memset(at, 0, HEAD_BYTES);
	if (run->param[P_SLOW_US])
		sim_at(run->sim, sim_now_ns(run->sim) + run->param[P_SLOW_US] * 1000, repost, e, r);
	else
		repost(run->sim, e, r);
}

static void handle(struct bulk_end *e, const struct weft_wc *wc)
{
	struct bulk *b = e->run->state;
	uint32_t f = (uint32_t)(wc->wr_id / b->depth), slot = (uint32_t)(wc->wr_id % b->depth);
	uint64_t took_ns;

	if (wc->status != WEFT_WC_SUCCESS) {
		sim_run_fail(e->run, "weft%u: request %" PRIu64 " completed with %s", e->index,
			     wc->wr_id, weft_wc_status_str(wc->status));
		return;
	}
	if (wc->wr_id >= WR_RECV) {
		received(e, wc);
		return;
	}
	b->under_way--;
	e->run->done[SIM_OP_SEND]++;
	took_ns = sim_now_ns(e->run->sim) - b->flow[f].begun_ns[slot];
	if (took_ns > b->late_ns)
		b->late_ns = took_ns;
	if (!e->run->stopping && b->flow[f].begun_ns[slot] >= bulk_measured_ns(e->run) &&
	    b->num_took < TOOK_MAX)
		b->took_ns[b->num_took++] = took_ns;
	b->flow[f].begun_ns[slot] = 0;
	if (!e->run->stopping && !is_idle(e->run))
		post(b, f, slot);
}

/* Takes all completions, arms the CQ, and checks again. */
static void reap(struct sim *sim, void *ctx, uint64_t arg)
{
	struct bulk_end *e = ctx;
	struct weft_wc wc[16];
	struct weft_cq *cq;
	int n, i, rounds;

	(void)sim, (void)arg;
	e->step_due = false;
	if (e->run->failure[0] || e->run->closed)
		return;
	if (!weft_get_cq_event(e->end.channel, &cq, NULL))
		weft_ack_cq_events(cq, 1);
	for (rounds = 0; rounds < 2 && !e->run->failure[0]; rounds++) {
		while ((n = weft_poll_cq(e->end.cq, 16, wc)) > 0) {
			for (i = 0; i < n && !e->run->failure[0]; i++)
				handle(e, &wc[i]);
		}
		if (!rounds && weft_req_notify_cq(e->end.cq, false))
			sim_run_fail(e->run, "weft%u: arming failed", e->index);
	}
}

static void interrupted(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	struct bulk_end *e = ctx;
	struct sim *sim = sim_nic_sim(sim_proc_nic(proc));

	if (!eq || e->step_due)
		return;
	e->step_due = true;
	sim_at(sim, sim_now_ns(sim) + REAP_NS, reap, e, 0);
}

/* Returns the queues of an end that sends, or takes, the messages of so many flows. */
static struct sim_end_attr end_attr(const struct bulk *b, struct bulk_end *e, bool sends,
				    uint32_t flows)
{
	struct sim_end_attr attr = {.events = true, .max_sge = 1, .max_inline_bytes = 16};
	uint32_t requests = sends ? flows * b->depth : 0;

	/* Enough receives for all messages: waiting for receives is not measured here. */
	e->num_recvs = sends ? 1 : flows * b->depth + 1;
	if (b->tcp && !sends)
		e->num_recvs = flows * (b->depth + TCP_SPARE_RECVS);
	if (!b->tcp && e->num_recvs > MAX_WR)
		e->num_recvs = MAX_WR;
	if (b->tcp) {
		attr.type = WEFT_QPT_RC;
		attr.inactive = true;
		attr.srq_wr = e->num_recvs;
		attr.max_wr = b->depth;
		attr.cqe = 2 * (requests + e->num_recvs);
	} else {
		/* Send queue slots are retired in order: a slow flow must not fill the queue. */
		attr.max_wr = requests * SQ_SPARE < MAX_WR ? requests * SQ_SPARE : MAX_WR;
		if (attr.max_wr < e->num_recvs)
			attr.max_wr = e->num_recvs;
		attr.cqe = 2 * attr.max_wr;
	}
	e->recv_at = (size_t)requests * b->bytes;
	attr.bytes = e->recv_at + (size_t)e->num_recvs * b->bytes;
	return attr;
}

static int open_end(struct sim_run *run, uint32_t i)
{
	struct bulk *b = run->state;
	struct bulk_end *e = &b->ends[i];
	bool sends = b->incast ? i > 0 : !i;
	uint32_t flows = i ? 1 : b->num, r;
	struct sim_end_attr attr;
	int rc;

	e->run = run;
	e->index = i;
	attr = end_attr(b, e, sends, flows);
	if ((sends && flows * b->depth > MAX_WR) || e->num_recvs > MAX_WR)
		return -EINVAL;
	rc = sim_end_open(&e->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	if (b->tcp && !(e->conns = wl_conn_channel(&e->end, !sends)))
		return -errno;
	sim_proc_on_irq(e->end.proc, interrupted, e);
	for (r = 0; r < e->num_recvs && !rc; r++)
		rc = sim_end_recv(&e->end, WR_RECV + r, recv_offset(b, e, r), b->bytes);
	return rc ? rc : weft_req_notify_cq(e->end.cq, false);
}

/* Returns the queue pair of a flow at one end: the end's own, or one more of its process. */
static struct weft_qp *qp_of(struct bulk *b, struct bulk_end *e, uint32_t f)
{
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_RC,
	    .send_cq = e->end.cq,
	    .recv_cq = e->end.cq,
	    .srq = e->end.srq,
	    .cap = {.max_send_wr = b->depth, .max_send_sge = 1, .max_inline_bytes = 16}};

	return b->tcp && !e->index && f ? weft_create_qp(e->end.pd, &init) : e->end.qp;
}

static int open_flow(struct bulk *b, uint32_t f)
{
	struct bulk_flow *flow = &b->flow[f];
	struct bulk_end *from = source(b, f), *to = sink(b, f);
	struct wl_conn_half halves[2];

	flow->begun_ns = calloc(b->depth, sizeof(uint64_t));
	assert(flow->begun_ns);
	flow->from_qp = qp_of(b, from, f);
	flow->to_qp = qp_of(b, to, f);
	if (!flow->from_qp || !flow->to_qp)
		return -errno;
	if (!b->tcp) {
		flow->ah = sim_end_ah(&from->end, sim_proc_nic(to->end.proc));
		return flow->ah ? 0 : -errno;
	}
	halves[0] = (struct wl_conn_half){&from->end, flow->from_qp, from->conns};
	halves[1] = (struct wl_conn_half){&to->end, flow->to_qp, to->conns};
	return wl_conn_open(&halves[0], &halves[1]);
}

static void begin(struct sim *sim, void *ctx, uint64_t f)
{
	struct sim_run *run = ctx;
	struct bulk *b = run->state;
	uint32_t slot;

	(void)sim;
	for (slot = 0; slot < b->depth && !run->failure[0] && !run->stopping; slot++) {
		if (!b->flow[f].begun_ns[slot])
			post(b, (uint32_t)f, slot);
	}
}

static int start(struct sim_run *run, bool incast)
{
	struct bulk *b = calloc(1, sizeof(*b));
	uint32_t i;
	int rc = 0;

	assert(b);
	run->state = b;
	b->incast = incast;
	b->tcp = run->param[P_TCP];
	b->num = sim_nic_count(run->sim) - 1;
	b->depth = (uint32_t)run->param[P_DEPTH];
	b->bytes = (uint32_t)run->param[P_BYTES];
	b->ends = calloc(b->num + 1, sizeof(*b->ends));
	b->flow = calloc(b->num, sizeof(*b->flow));
	b->took_ns = calloc(TOOK_MAX, sizeof(*b->took_ns));
	assert(b->ends && b->flow && b->took_ns);
	/* A receiver that is late with its receives ends a connection. */
	if (b->tcp && run->param[P_SLOW_US])
		return -EINVAL;
	for (i = 0; i <= b->num && !rc; i++)
		rc = open_end(run, i);
	for (i = 0; i < b->num; i++) {
		/* Half of the path's latency belongs to the line at each end. */
		if (is_one_of(b, i, run->param[P_FAR]))
			sim_nic_link(sim_nic_at(run->sim, i + 1))->latency_ns *= 2 * FAR_TIMES - 1;
	}
	for (i = 0; i < b->num && !rc; i++)
		rc = open_flow(b, i);
	/* All start at once, which makes an incast. */
	for (i = 0; i < b->num && !rc; i++) {
		if (!is_one_of(b, i, run->param[P_LATE]))
			sim_at(run->sim, sim_now_ns(run->sim), begin, run, i);
		if (run->param[P_IDLE_US] || run->param[P_LATE])
			sim_at(run->sim,
			       sim_now_ns(run->sim) +
				   (run->param[P_WARM_US] + run->param[P_IDLE_US]) * 1000,
			       begin, run, i);
	}
	return rc;
}

static int start_incast(struct sim_run *run)
{
	return start(run, true);
}

static int start_outcast(struct sim_run *run)
{
	return start(run, false);
}

static bool quiet(struct sim_run *run)
{
	struct bulk *b = run->state;
	uint32_t f;

	for (f = 0; f < b->num && !b->under_way; f++) {
		if (b->flow[f].sent != b->flow[f].received)
			return false;
	}
	return !b->under_way;
}

static void close_all(struct sim_run *run)
{
	struct bulk *b = run->state;
	uint32_t i;

	for (i = 0; i <= b->num; i++)
		sim_end_close(&b->ends[i].end);
}

static void stop(struct sim_run *run)
{
	struct bulk *b = run->state;
	uint32_t i;

	close_all(run);
	for (i = 0; i < b->num; i++)
		free(b->flow[i].begun_ns);
	free(b->took_ns);
	free(b->flow);
	free(b->ends);
	free(b);
}

const struct sim_workload sim_wl_incast = {
    .name = "incast",
    .help = "all send to the first NIC at full rate; measured",
    .start = start_incast,
    .quiet = quiet,
    .check = bulk_check,
    .close = close_all,
    .stop = stop,
    .params = incast_params,
    .nics = nics,
    .config = config,
    .measures = true,
};

const struct sim_workload sim_wl_outcast = {
    .name = "outcast",
    .help = "the first NIC sends to all others at full rate; measured",
    .start = start_outcast,
    .quiet = quiet,
    .check = bulk_check,
    .close = close_all,
    .stop = stop,
    .params = outcast_params,
    .nics = nics,
    .config = config_outcast,
    .measures = true,
};
