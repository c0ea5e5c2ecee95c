/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload calm: one reliable message at a time from each process to its successor, and an upper
 * bound for its time.
 *
 * Without faults a Send or a Write of one packet completes within TRIPS round trips, whatever else
 * was drawn, and the first one, which opens a session, within FIRST_TRIPS. A round trip is what the
 * path, the lines and the turns of the cores take (round_trip_ns()). Memory that is not mapped adds
 * the copies that are in the way (COPIES). With faults messages are checked, not their time. Calls
 * libweft.
 */
#include "sim_harness/wl/sim_workload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECVS = 8,
	MAX_BYTES = 1000, /* one packet at any MTU */
	SLOT_BYTES = 1024,
	SEND_AT = RECVS * SLOT_BYTES,
	SINK_AT = SEND_AT + SLOT_BYTES,
	HEADERS_BYTES = 128, /* more than those of a packet or an ACK */
	STEP_NS = 200,
	/*
	 * The message's own, and the turns under way that request, packet and ACK wait for: three,
	 * where a round trip has four.
	 */
	TRIPS = 2,
	FIRST_TRIPS = 2 * TRIPS, /* HELLO and its answer before it */
	/*
	 * The sender reads the message, the receiver writes it. The turns that are waited for may
	 * each have one copy: the sender's twice what its predecessor sent, the receiver's its own
	 * message. A frame that comes in pieces takes one copy.
	 */
	COPIES = 5,
	/* Two NICs send to each other: an ACK may wait for data to ride on (RD_ACK_DELAY_NS). */
	ACK_WAIT_NS = 20000,
	TURNS = 4,     /* of cores in a round trip: two of each end */
	TURN_WORK = 2, /* units in a turn */
};

struct calm_actor {
	struct sim_run *run;
	struct sim_end end;
	struct weft_ah *ah;
	uint32_t index, bytes;
	bool sending, write;
	uint32_t sent;
	uint32_t due; /* least number of the next message */
	uint64_t posted_ns, next_ns;
	struct sim_prng prng;
};

struct calm_state {
	uint32_t num;
	bool faults;
	uint64_t worst_ns, limit_ns;
	uint64_t worst_first_ns, limit_first_ns;
	struct calm_actor *actors;
};

static struct calm_actor *next_of(const struct calm_actor *a)
{
	struct calm_state *st = a->run->state;

	return &st->actors[(a->index + 1) % st->num];
}

/* A packet of MAX_BYTES there and its ACK back, each on two lines, and the turns of both cores. */
static uint64_t round_trip_ns(const struct sim *sim)
{
	const struct sim_config *c = sim_get_config(sim);
	uint64_t frame_ns =
	    c->link.gap_ns + (MAX_BYTES + HEADERS_BYTES) * c->link.gap_ps_per_byte / 1000;
	uint64_t turn_ns = c->poll_ns + TURN_WORK * c->poll_work_ns + c->poll_jitter_ns;

	return 2 * c->link.latency_ns + 4 * frame_ns + c->doorbell_ns + TURNS * turn_ns + STEP_NS;
}

static bool is_unmapped(uint32_t actor)
{
	return actor % 4 >= 2;
}

/* Two actors have no memory that is_unmapped() by itself. */
static uint64_t copies_ns(const struct sim *sim, uint32_t num)
{
	uint64_t units = FW_DEAR_COPY_UNITS + MAX_BYTES / FW_DEAR_UNIT_BYTES;

	if (!sim_get_config(sim)->no_host_map && num <= 2)
		return 0;
	return COPIES * units * sim_get_config(sim)->poll_work_ns;
}

static void post(struct calm_actor *a)
{
	struct calm_actor *to = next_of(a);
	struct weft_sge sge;
	struct weft_send_wr wr = {.wr_id = RECVS, .num_sge = 1, .flags = WEFT_SEND_SIGNALED};
	int rc;

	a->bytes = (uint32_t)sim_prng_range(&a->prng, sizeof(a->sent), MAX_BYTES);
	a->write = sim_prng_below(&a->prng, 2);
	sim_pattern(a->run->sim, a->index, 0, a->sent, a->end.buf + SEND_AT, a->bytes);
	sge = sim_end_sge(&a->end, SEND_AT, a->bytes);
	wr.sg_list = &sge;
	wr.opcode = a->write ? WEFT_WR_WRITE : WEFT_WR_SEND_IMM;
	wr.imm = a->sent;
	wr.ah = a->ah;
	wr.dst_qpn = to->end.qp->qpn;
	wr.qkey = SIM_END_QKEY;
	wr.rkey = to->end.mr->rkey;
	wr.remote_addr = (uintptr_t)to->end.buf + SINK_AT;
	rc = weft_post_send(a->end.qp, &wr, NULL);
	if (rc)
		sim_run_fail(a->run, "post: weft%u: %s", a->index, strerror(-rc));
	a->posted_ns = sim_now_ns(a->run->sim);
	a->sending = true;
}

static void finished(struct calm_actor *a)
{
	struct calm_state *st = a->run->state;
	uint64_t ns = sim_now_ns(a->run->sim) - a->posted_ns;
	uint64_t *worst_ns = a->sent ? &st->worst_ns : &st->worst_first_ns;
	uint64_t limit_ns = a->sent ? st->limit_ns : st->limit_first_ns;

	if (ns > *worst_ns)
		*worst_ns = ns;
	if (a->write && !sim_pattern_check(a->run->sim, a->index, 0, a->sent,
					   next_of(a)->end.buf + SINK_AT, a->bytes))
		sim_run_fail(a->run, "shadow: weft%u: a Write of %u bytes has wrong bytes",
			     a->index, a->bytes);
	else if (!st->faults && ns > limit_ns)
		sim_run_fail(a->run,
			     "latency: weft%u: message %u took %" PRIu64
			     " ns without a fault, %u round trips and copies are %" PRIu64,
			     a->index, a->sent, ns, (unsigned)(a->sent ? TRIPS : FIRST_TRIPS),
			     limit_ns);
	a->run->done[a->write ? SIM_OP_WRITE : SIM_OP_SEND_IMM]++;
	a->run->bytes += a->bytes;
	a->sent++;
	a->sending = false;
}

static void received(struct calm_actor *a, const struct weft_wc *wc)
{
	struct calm_state *st = a->run->state;
	struct calm_actor *from = &st->actors[(a->index + st->num - 1) % st->num];
	size_t at = wc->wr_id * SLOT_BYTES;

	if (wc->imm < a->due)
		sim_run_fail(a->run, "order: weft%u: message %u, where %u was due", a->index,
			     wc->imm, a->due);
	a->due = wc->imm + 1;
	if (!sim_pattern_check(a->run->sim, from->index, 0, wc->imm, a->end.buf + at, wc->bytes))
		sim_run_fail(a->run, "shadow: weft%u: a message of %u bytes has wrong bytes",
			     a->index, wc->bytes);
	a->run->received++;
	if (sim_end_recv(&a->end, wc->wr_id, at, SLOT_BYTES))
		sim_run_fail(a->run, "post: weft%u: a receive", a->index);
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct calm_actor *a = ctx;
	struct weft_wc wc;

	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	while (!a->run->failure[0] && weft_poll_cq(a->end.cq, 1, &wc) == 1) {
		if (wc.status != WEFT_WC_SUCCESS)
			sim_run_fail(a->run, "completion: weft%u: %s (%s)", a->index,
				     weft_wc_status_str(wc.status),
				     weft_vendor_err_str(wc.vendor_err));
		else if (wc.wr_id < RECVS)
			received(a, &wc);
		else
			finished(a);
	}
	if (!a->sending && !a->run->stopping && sim_now_ns(sim) >= a->next_ns) {
		post(a);
		a->next_ns = sim_now_ns(sim) + sim_prng_range(&a->prng, 0, 50000);
	}
	sim_at(sim, sim_now_ns(sim) + sim_slow_ns(sim_proc_nic(a->end.proc), STEP_NS), step, a, 0);
}

static int start_actor(struct sim_run *run, struct calm_actor *a, uint32_t i)
{
	struct sim_end_attr attr = {.bytes = SINK_AT + SLOT_BYTES, .unmapped = is_unmapped(i)};
	uint32_t r;
	int rc;

	a->run = run;
	a->index = i;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	for (r = 0; r < RECVS && !rc; r++)
		rc = sim_end_recv(&a->end, r, (size_t)r * SLOT_BYTES, SLOT_BYTES);
	return rc;
}

static int start(struct sim_run *run)
{
	struct calm_state *st = calloc(1, sizeof(*st));
	uint64_t trip_ns = round_trip_ns(run->sim);
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->faults = sim_faults_any(run->sim);
	st->limit_ns =
	    TRIPS * trip_ns + copies_ns(run->sim, st->num) + (st->num == 2 ? ACK_WAIT_NS : 0);
	st->limit_first_ns = st->limit_ns + (FIRST_TRIPS - TRIPS) * trip_ns;
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	for (i = 0; i < st->num && !rc; i++) {
		struct calm_actor *a = &st->actors[i];

		a->ah = sim_end_ah(&a->end, sim_proc_nic(next_of(a)->end.proc));
		rc = a->ah ? 0 : -errno;
	}
	for (i = 0; i < st->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &st->actors[i], 0);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct calm_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		if (st->actors[i].sending)
			return false;
	}
	return true;
}

static void check(struct sim_run *run)
{
	struct calm_state *st = run->state;

	sim_run_figure(run, "worst_ns", (double)st->worst_ns);
	sim_run_figure(run, "limit_ns", (double)st->limit_ns);
	sim_run_figure(run, "worst_first_ns", (double)st->worst_first_ns);
	sim_run_figure(run, "limit_first_ns", (double)st->limit_first_ns);
}

static void close_all(struct sim_run *run)
{
	struct calm_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct calm_state *st = run->state;

	close_all(run);
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_calm = {
    .name = "calm",
    .help = "one message at a time: without faults within a few round trips",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .calm = true,
    .weight = 1,
};
