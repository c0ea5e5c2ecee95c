/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload alltoall: every NIC sends one message to every other, so that each pair has a session.
 *
 * Every process keeps a few requests outstanding, to its next neighbours first, so that no NIC is
 * the target of all others at once. A message contains its sender and a pattern; the receiver
 * checks it, and that it arrives once. The work is fixed: the run ends when all messages have
 * arrived. The results are sessions and virtual time; sim_play.c prints the memory that the process
 * used.
 */
#include "sim_harness/wl/sim_workload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	P_NICS,
	P_BYTES,
	P_DEPTH,
	REAP_NS = 1000, /* delay from the interrupt until the process polls */
	RECVS = 32,
	SQ_SPARE = 8,
	WR_RECV = 1u << 30, /* wr_id of the first receive */
	HEAD_BYTES = 4,     /* the sender, before the pattern */
};

struct all_end {
	struct sim_run *run;
	struct sim_end end;
	struct weft_ah **ah; /* of the peers, by distance minus 1 */
	uint64_t *seen;      /* one bit per sender received from */
	uint32_t index;
	uint32_t posted, done, received;
	uint64_t idle; /* one bit per free message slot */
	bool step_due;
};

struct all {
	uint32_t num, bytes, depth;
	uint64_t last_ns; /* arrival of the last message */
	struct all_end *ends;
};

static const struct sim_param all_params[] = {
    [P_NICS] = {"nics", "that take part", 64, 2, SIM_MAX_NICS},
    [P_BYTES] = {"bytes", "of a message", 64, HEAD_BYTES, 1u << 20},
    [P_DEPTH] = {"depth", "messages under way of each", 4, 1, 64},
    {NULL, NULL, 0, 0, 0},
};

static uint32_t nics(const uint64_t *param)
{
	return (uint32_t)param[P_NICS];
}

static void config(const uint64_t *param, struct sim_config *c)
{
	(void)param;
	/* Flooded requests would be a thousand times as many frames as all others. */
	c->arp_direct = true;
}

static size_t send_offset(const struct all *st, uint32_t slot)
{
	return (size_t)slot * st->bytes;
}

static size_t recv_offset(const struct all *st, uint32_t r)
{
	return (size_t)(st->depth + r) * st->bytes;
}

/* Returns false if the send queue is full behind a slow request. */
static bool post_next(struct all *st, struct all_end *e)
{
	uint32_t slot = (uint32_t)__builtin_ctzll(e->idle);
	uint32_t to = (e->index + 1 + e->posted) % st->num;
	uint8_t *at = e->end.buf + send_offset(st, slot);
	struct weft_sge sge = sim_end_sge(&e->end, send_offset(st, slot), st->bytes);
	struct weft_send_wr wr = {.wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = e->ah[e->posted],
				  .dst_qpn = st->ends[to].end.qp->qpn,
				  .qkey = SIM_END_QKEY};
	int rc;

	memcpy(at, &e->index, HEAD_BYTES);
	sim_pattern(e->run->sim, e->index, to, 0, at + HEAD_BYTES, st->bytes - HEAD_BYTES);
	rc = weft_post_send(e->end.qp, &wr, NULL);
	if (rc == -ENOMEM)
		return false;
	if (rc)
		sim_run_fail(e->run, "post: weft%u: %s", e->index, strerror(-rc));
	e->idle &= ~(UINT64_C(1) << slot);
	e->posted++;
	return !rc;
}

static void received(struct all *st, struct all_end *e, const struct weft_wc *wc)
{
	uint32_t r = (uint32_t)(wc->wr_id - WR_RECV), from;
	const uint8_t *at = e->end.buf + recv_offset(st, r);

	memcpy(&from, at, HEAD_BYTES);
	if (wc->bytes != st->bytes || from >= st->num || from == e->index ||
	    e->seen[from / 64] >> (from % 64) & 1) {
		sim_run_fail(e->run, "order: weft%u: a message of %u bytes from weft%u", e->index,
			     wc->bytes, from);
		return;
	}
	if (!sim_pattern_check(e->run->sim, from, e->index, 0, at + HEAD_BYTES,
			       st->bytes - HEAD_BYTES))
		sim_run_fail(e->run, "message: weft%u: wrong bytes from weft%u", e->index, from);
	e->seen[from / 64] |= UINT64_C(1) << (from % 64);
	e->received++;
	e->run->received++;
	e->run->bytes += st->bytes;
	st->last_ns = sim_now_ns(e->run->sim);
	if (sim_end_recv(&e->end, wc->wr_id, recv_offset(st, r), st->bytes))
		sim_run_fail(e->run, "post: weft%u: a receive could not be posted", e->index);
}

static void handle(struct all *st, struct all_end *e, const struct weft_wc *wc)
{
	if (wc->status != WEFT_WC_SUCCESS) {
		sim_run_fail(e->run, "completion: weft%u: request %" PRIu64 " ended with %s",
			     e->index, wc->wr_id, weft_wc_status_str(wc->status));
	} else if (wc->wr_id >= WR_RECV) {
		received(st, e, wc);
	} else {
		e->done++;
		e->idle |= UINT64_C(1) << wc->wr_id;
		e->run->done[SIM_OP_SEND]++;
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct all_end *e = ctx;
	struct all *st = e->run->state;
	struct weft_wc wc[16];
	struct weft_cq *cq;
	int n, i, rounds;

	(void)sim;
	e->step_due = false;
	if (e->run->failure[0] || e->run->closed)
		return;
	/* arg: an interrupt arrived, so there is an event to take. */
	if (arg && !weft_get_cq_event(e->end.channel, &cq, NULL))
		weft_ack_cq_events(cq, 1);
	for (rounds = 0; rounds < 2; rounds++) {
		while ((n = weft_poll_cq(e->end.cq, 16, wc)) > 0) {
			for (i = 0; i < n && !e->run->failure[0]; i++)
				handle(st, e, &wc[i]);
		}
		if (!rounds && weft_req_notify_cq(e->end.cq, false))
			sim_run_fail(e->run, "call: weft%u: arming failed", e->index);
	}
	while (!e->run->failure[0] && e->idle && e->posted < st->num - 1 && post_next(st, e))
		;
}

static void interrupted(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	struct all_end *e = ctx;
	struct sim *sim = sim_nic_sim(sim_proc_nic(proc));

	if (!eq || e->step_due)
		return;
	e->step_due = true;
	sim_at(sim, sim_now_ns(sim) + REAP_NS, step, e, 1);
}

static int open_end(struct sim_run *run, uint32_t i)
{
	struct all *st = run->state;
	struct all_end *e = &st->ends[i];
	struct sim_end_attr attr = {.events = true, .max_sge = 1, .max_inline_bytes = 64};
	uint32_t r;
	int rc;

	e->run = run;
	e->index = i;
	e->ah = calloc(st->num, sizeof(*e->ah));
	e->seen = calloc((st->num + 63) / 64, sizeof(*e->seen));
	assert(e->ah && e->seen);
	e->idle = st->depth == 64 ? UINT64_MAX : (UINT64_C(1) << st->depth) - 1;
	/* Send queue slots are retired in order: a single slow peer must not fill the queue. */
	attr.max_wr = SQ_SPARE * st->depth > RECVS ? SQ_SPARE * st->depth : RECVS;
	attr.bytes = (size_t)(st->depth + RECVS) * st->bytes;
	rc = sim_end_open(&e->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	sim_proc_on_irq(e->end.proc, interrupted, e);
	for (r = 0; r < RECVS && !rc; r++)
		rc = sim_end_recv(&e->end, WR_RECV + r, recv_offset(st, r), st->bytes);
	return rc ? rc : weft_req_notify_cq(e->end.cq, false);
}

static int start(struct sim_run *run)
{
	struct all *st = calloc(1, sizeof(*st));
	uint32_t i, p;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->bytes = (uint32_t)run->param[P_BYTES];
	st->depth = (uint32_t)run->param[P_DEPTH];
	st->ends = calloc(st->num, sizeof(*st->ends));
	assert(st->ends);
	for (i = 0; i < st->num && !rc; i++)
		rc = open_end(run, i);
	for (i = 0; i < st->num; i++) {
		for (p = 0; p < st->num - 1 && !rc; p++) {
			struct all_end *e = &st->ends[i];

			e->ah[p] = sim_end_ah(&e->end, sim_nic_at(run->sim, (i + 1 + p) % st->num));
			rc = e->ah[p] ? 0 : -errno;
		}
	}
	for (i = 0; i < st->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &st->ends[i], 0);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct all *st = run->state;
	uint64_t all = (uint64_t)st->num * (st->num - 1);

	return run->received == all && run->done[SIM_OP_SEND] == all;
}

static void check(struct sim_run *run)
{
	struct all *st = run->state;
	uint64_t opened = 0, failed = 0;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		opened += sim_nic_stat(sim_nic_at(run->sim, i), "rd_sessions_opened");
		failed += sim_nic_stat(sim_nic_at(run->sim, i), "rd_sessions_failed");
		if (st->ends[i].received != st->num - 1)
			sim_run_fail(run, "order: weft%u: heard of %u", i, st->ends[i].received);
	}
	sim_run_figure(run, "sessions_opened", (double)opened);
	sim_run_figure(run, "sessions_failed", (double)failed);
	sim_run_figure(run, "exchange_virtual_ms", (double)(st->last_ns - run->begin_ns) / 1e6);
}

static void close_all(struct sim_run *run)
{
	struct all *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->ends[i].end);
}

static void stop(struct sim_run *run)
{
	struct all *st = run->state;
	uint32_t i;

	close_all(run);
	for (i = 0; i < st->num; i++) {
		free(st->ends[i].ah);
		free(st->ends[i].seen);
	}
	free(st->ends);
	free(st);
}

const struct sim_workload sim_wl_all = {
    .name = "alltoall",
    .help = "each NIC sends one message to each other; sessions, time and memory",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .params = all_params,
    .nics = nics,
    .config = config,
    .measures = true,
};
