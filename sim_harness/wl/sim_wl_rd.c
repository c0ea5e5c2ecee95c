/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads rd_mix and rd_send: reliable datagrams with all operations, checking every byte.
 *
 * Each process has a memory window for each of the peers that write to it. Each writer keeps a
 * shadow of the window's expected content: it is the only writer there and has one operation at a
 * time per slot. Reads and atomics are compared with the shadow. Two-sided messages contain a
 * number per pair (to check order, losses and duplicates) and a pattern. At the end all windows are
 * compared with all shadows. Half of the processes poll, the others sleep until completion events;
 * half of them have memory that the NIC has not mapped.
 */
#include "sim_harness/wl/sim_wl_rd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t pause_ns(struct rd_actor *a, uint64_t low_ns, uint64_t high_ns)
{
	return sim_slow_ns(sim_proc_nic(a->end.proc), sim_prng_range(&a->prng, low_ns, high_ns));
}

static void arm(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rd_actor *a = ctx;

	(void)sim, (void)arg;
	if (!a->run->failure[0] && !a->run->closed && weft_req_notify_cq(a->end.cq, false))
		sim_run_fail(a->run, "post: weft%u: arming failed", a->index);
}

/* Takes completions until there are none; with events, arms and possibly polls again. */
static void reap(struct rd_actor *a)
{
	struct weft_wc wc[8];
	bool armed = !a->events;
	int n, i;

	for (;;) {
		n = weft_poll_cq(a->end.cq, 8, wc);
		for (i = 0; i < n; i++)
			wl_rd_done(a, &wc[i]);
		if (a->run->failure[0] || (n <= 0 && armed))
			return;
		if (n <= 0 && a->trusts_events) {
			/*
			 * A completion may arrive in between: arming then raises the event itself.
			 */
			sim_at(a->run->sim, sim_now_ns(a->run->sim) + pause_ns(a, 0, 3000), arm, a,
			       0);
			return;
		}
		if (n <= 0) {
			if (weft_req_notify_cq(a->end.cq, false))
				sim_run_fail(a->run, "post: weft%u: arming failed", a->index);
			armed = true;
		}
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rd_actor *a = ctx;
	uint32_t t, slot, want;
	struct weft_cq *cq;

	a->step_due = false;
	if (a->run->failure[0] || a->run->closed)
		return;
	/* arg: an interrupt arrived, so there is an event to take. */
	if (arg && !weft_get_cq_event(a->end.channel, &cq, NULL))
		weft_ack_cq_events(cq, 1);
	reap(a);
	want = a->run->stopping ? 0 : (uint32_t)sim_prng_range(&a->prng, 1, RD_SLOTS);
	for (; want && !a->run->failure[0]; want--) {
		t = (uint32_t)sim_prng_below(&a->prng, a->num_targets);
		slot = (uint32_t)sim_prng_below(&a->prng, RD_SLOTS);
		if (!a->target[t].op[slot].busy)
			wl_rd_post(a, t, slot);
	}
	if (!a->events) {
		a->step_due = true;
		sim_at(sim, sim_now_ns(sim) + pause_ns(a, 200, 6000), step, a, 0);
	}
}

static void interrupted(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	struct rd_actor *a = ctx;
	struct sim *sim = sim_nic_sim(sim_proc_nic(proc));

	if (!eq || a->step_due || a->run->closed)
		return;
	a->step_due = true;
	sim_at(sim, sim_now_ns(sim) + pause_ns(a, 1000, 8000), step, a, 1);
}

static int start_actor(struct sim_run *run, struct rd_actor *a, uint32_t i)
{
	struct rd_state *st = run->state;
	struct sim_end_attr attr = {.bytes = rd_recv_offset(RD_RECVS),
				    .unmapped = i % 4 >= 2,
				    .events = i % 2,
				    .srq_wr = i % 8 >= 4 ? RD_RECVS : 0};
	uint32_t r;
	int rc;

	a->run = run;
	a->index = i;
	a->events = attr.events;
	a->trusts_events = i % 4 == 1;
	a->num_targets = st->num - 1 < RD_PEERS ? st->num - 1 : RD_PEERS;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	sim_prng_for(run->sim, &a->atomics, SIM_STREAM_ATOMIC, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	sim_prng_fill(&a->prng, a->end.buf, rd_window_offset(RD_PEERS));
	memset(a->end.buf + rd_recv_offset(0), RD_BEFORE, (size_t)RD_RECVS * RD_SLOT_BYTES);
	sim_proc_on_irq(a->end.proc, interrupted, a);
	for (r = 0; r < RD_RECVS && !rc; r++)
		rc = sim_end_recv(&a->end, RD_WR_RECV + r, rd_recv_offset(r), RD_SLOT_BYTES);
	return rc;
}

static int meet_peers(struct sim_run *run, struct rd_actor *a)
{
	struct rd_state *st = run->state;
	uint32_t t;

	for (t = 0; t < a->num_targets; t++) {
		struct rd_target *target = &a->target[t];

		target->index = (a->index + 1 + t) % st->num;
		target->ah = sim_end_ah(&a->end, sim_nic_at(run->sim, target->index));
		if (!target->ah)
			return -errno;
		target->shadow = malloc(RD_WINDOW_BYTES);
		assert(target->shadow);
		memcpy(target->shadow, st->actors[target->index].end.buf + rd_window_offset(t),
		       RD_WINDOW_BYTES);
	}
	return 0;
}

static int start(struct sim_run *run, bool sends_only)
{
	struct rd_state *st = calloc(1, sizeof(*st));
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->sends_only = sends_only;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	for (i = 0; i < st->num && !rc; i++)
		rc = meet_peers(run, &st->actors[i]);
	for (i = 0; i < st->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &st->actors[i], 0);
	return rc;
}

static int start_mix(struct sim_run *run)
{
	return start(run, false);
}

static int start_sends(struct sim_run *run)
{
	return start(run, true);
}

static bool quiet(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, d;

	for (i = 0; i < st->num; i++) {
		struct rd_actor *a = &st->actors[i];

		if (a->under_way)
			return false;
		for (d = 0; d < a->num_targets; d++) {
			uint32_t src = (i + st->num - 1 - d) % st->num;

			if (a->expect[d] != st->actors[src].target[d].seq)
				return false;
		}
	}
	return true;
}

static void check(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, t;

	for (i = 0; i < st->num; i++) {
		for (t = 0; t < st->actors[i].num_targets; t++) {
			struct rd_target *target = &st->actors[i].target[t];
			const uint8_t *is = st->actors[target->index].end.buf + rd_window_offset(t);

			if (memcmp(is, target->shadow, RD_WINDOW_BYTES))
				sim_run_fail(
				    run,
				    "shadow: weft%u's window for weft%u differs from the shadow",
				    target->index, i);
		}
	}
}

static void close_all(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, t;

	for (i = 0; i < st->num; i++) {
		for (t = 0; t < RD_PEERS; t++)
			free(st->actors[i].target[t].shadow);
		sim_end_close(&st->actors[i].end);
	}
	free(st->actors);
	free(st);
}

static const struct sim_param mix_params[] = {
    {"typed", "percent of the atomics that are operations on elements of all types", 0, 0, 100},
    {NULL, NULL, 0, 0, 0},
};

const struct sim_workload sim_wl_rd_mix = {
    .name = "rd_mix",
    .help = "all operations of reliable datagrams against a shadow of every byte",
    .start = start_mix,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 3,
    .params = mix_params,
};

const struct sim_workload sim_wl_rd_send = {
    .name = "rd_send",
    .help = "reliable messages alone: order, once, every byte",
    .start = start_sends,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 1,
};
