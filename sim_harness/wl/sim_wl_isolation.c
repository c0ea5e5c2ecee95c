/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Isolation of QPs: the packets of one QP are dropped for a while, which must not affect the other
 * QPs of the same session.
 *
 * Eight QPs of a process on the first NIC each run a closed loop of Writes, Reads and atomics of
 * all sizes to a QP of their own on the second NIC. One RD session carries them all. In the middle
 * third of the run, for at most 100 ms, every frame that names the first QP or its peer is dropped,
 * in both directions. The latencies of the others, from posting to completion in virtual time, are
 * compared before, during and after: p99 may increase by a tenth, and throughput must not decrease.
 * The outstanding requests of the first QP must complete in the end.
 */
#include "lib/stats.h"
#include "sim_harness/wl/sim_workload.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	ISO_QPS = 8,
	ISO_DEPTH = 4,         /* outstanding requests per QP */
	ISO_VICTIM_DEPTH = 16, /* more for the QP that is cut off, which has more to lose */
	ISO_MAX_BYTES = 16384,
	ISO_STEP_NS = 500,  /* interval between polls of the CQ */
	ISO_TOLERANCE = 10, /* permitted increase of p99 and decrease of throughput, in per cent */
};
#define ISO_CUT_NS UINT64_C(100000000)

enum iso_phase {
	ISO_BEFORE,
	ISO_DURING,
	ISO_AFTER,
	ISO_PHASES
};

static const char *const phase_name[ISO_PHASES] = {"before", "during", "after"};

/* Latencies of the messages posted in a phase. */
struct iso_samples {
	uint32_t *ns;
	size_t count, max;
	uint64_t length_ns; /* of the phase */
};

struct iso_op {
	bool busy;
	enum sim_op kind;
	enum iso_phase phase;
	uint32_t bytes;
	uint64_t posted_ns;
	uint64_t next_ns; /* time of the next post */
};

struct iso_state {
	struct sim_run *run;
	struct sim_end a, b;
	struct weft_qp *qa[ISO_QPS], *qb[ISO_QPS];
	struct weft_ah *ah;
	struct sim_prng prng;
	struct iso_op op[ISO_QPS][ISO_VICTIM_DEPTH];
	struct iso_samples samples[ISO_PHASES];
	enum iso_phase phase;
	uint64_t phase_ns; /* start of the phase */
	uint32_t under_way;
	uint64_t dropped;
	uint64_t victim_done;
};

static uint32_t depth_of(uint32_t q)
{
	return q ? ISO_DEPTH : ISO_VICTIM_DEPTH;
}

/* Drops frames that name the first QP at either end. */
static enum sim_verdict cut(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const size_t at =
	    sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp);
	struct iso_state *st = ctx;
	const struct wire_eth *eth = (const void *)frame;
	struct wire_dgram hdr;
	uint32_t src, dst;

	(void)from;
	if (bytes < at + sizeof(hdr) || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4)
		return SIM_PASS;
	memcpy(&hdr, frame + at, sizeof(hdr));
	src = be32_get(hdr.src_qpn);
	dst = be32_get(hdr.dst_qpn);
	if (src != st->qa[0]->qpn && src != st->qb[0]->qpn && dst != st->qa[0]->qpn &&
	    dst != st->qb[0]->qpn)
		return SIM_PASS;
	st->dropped++;
	return SIM_DROP;
}

static void next_phase(struct sim *sim, void *ctx, uint64_t phase)
{
	struct iso_state *st = ctx;

	if (st->run->closed)
		return;
	st->samples[st->phase].length_ns = sim_now_ns(sim) - st->phase_ns;
	st->phase = (enum iso_phase)phase;
	st->phase_ns = sim_now_ns(sim);
	sim_set_filter(sim, phase == ISO_DURING ? cut : NULL, st);
}

static void sample(struct iso_samples *s, uint64_t ns)
{
	if (s->count == s->max) {
		s->max = s->max ? 2 * s->max : 4096;
		s->ns = realloc(s->ns, s->max * sizeof(*s->ns));
		assert(s->ns);
	}
	s->ns[s->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void post_op(struct iso_state *st, uint32_t q, uint32_t i)
{
	static const enum sim_op kinds[] = {SIM_OP_WRITE, SIM_OP_WRITE, SIM_OP_READ,
					    SIM_OP_FETCH_ADD};
	static const enum weft_wr_opcode opcodes[SIM_OPS] = {
	    [SIM_OP_WRITE] = WEFT_WR_WRITE,
	    [SIM_OP_READ] = WEFT_WR_READ,
	    [SIM_OP_FETCH_ADD] = WEFT_WR_FETCH_ADD,
	};
	struct iso_op *op = &st->op[q][i];
	size_t place = (size_t)(q * ISO_VICTIM_DEPTH + i) * ISO_MAX_BYTES;
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .flags = WEFT_SEND_SIGNALED,
				  .wr_id = q * ISO_VICTIM_DEPTH + i,
				  .ah = st->ah,
				  .dst_qpn = st->qb[q]->qpn,
				  .qkey = SIM_END_QKEY,
				  .rkey = st->b.mr->rkey,
				  .remote_addr = (uintptr_t)st->b.buf + place,
				  .compare_add = 1};
	int rc;

	op->kind = kinds[sim_prng_below(&st->prng, 4)];
	op->bytes = (uint32_t)sim_prng_range(&st->prng, 1,
					     sim_prng_below(&st->prng, 8) ? 256 : ISO_MAX_BYTES);
	if (op->kind == SIM_OP_FETCH_ADD)
		op->bytes = 8;
	sge = sim_end_sge(&st->a, place, op->bytes);
	wr.opcode = opcodes[op->kind];
	rc = weft_post_send(st->qa[q], &wr, NULL);
	if (rc) {
		sim_run_fail(st->run, "completion: post of a %s: %s", sim_op_name(op->kind),
			     strerror(-rc));
		return;
	}
	op->busy = true;
	op->phase = st->phase;
	op->posted_ns = sim_now_ns(st->run->sim);
	st->under_way++;
}

static void op_done(struct iso_state *st, const struct weft_wc *wc)
{
	uint32_t q = (uint32_t)wc->wr_id / ISO_VICTIM_DEPTH;
	struct iso_op *op = &st->op[q][wc->wr_id % ISO_VICTIM_DEPTH];
	uint64_t now_ns = sim_now_ns(st->run->sim);

	if (wc->status != WEFT_WC_SUCCESS)
		sim_run_fail(st->run, "completion: a %s of QP %u ended with %s",
			     sim_op_name(op->kind), q, weft_wc_status_str(wc->status));
	if (q)
		sample(&st->samples[op->phase], now_ns - op->posted_ns);
	else
		st->victim_done++;
	op->busy = false;
	op->next_ns = now_ns + sim_prng_range(&st->prng, 1000, 40000);
	st->under_way--;
	st->run->done[op->kind]++;
	st->run->bytes += op->bytes;
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct iso_state *st = ctx;
	struct weft_wc wc[16];
	uint32_t q, i;
	int n, k;

	(void)arg;
	if (st->run->failure[0] || st->run->closed)
		return;
	while ((n = weft_poll_cq(st->a.cq, 16, wc)) > 0)
		for (k = 0; k < n; k++)
			op_done(st, &wc[k]);
	for (q = 0; q < ISO_QPS && !st->run->stopping; q++)
		for (i = 0; i < depth_of(q); i++)
			if (!st->op[q][i].busy && st->op[q][i].next_ns <= sim_now_ns(sim))
				post_op(st, q, i);
	sim_at(sim, sim_now_ns(sim) + ISO_STEP_NS, step, st, 0);
}

static struct weft_qp *make_qp(const struct sim_end *end)
{
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_RD,
	    .send_cq = end->cq,
	    .recv_cq = end->cq,
	    .cap = {.max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct weft_qp *qp = weft_create_qp(end->pd, &init);

	if (qp && weft_activate_qp(qp, SIM_END_QKEY,
				   WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
				       WEFT_ACCESS_REMOTE_ATOMIC))
		return NULL;
	return qp;
}

static int start(struct sim_run *run)
{
	struct iso_state *st = calloc(1, sizeof(*st));
	struct sim_end_attr attr = {.bytes = ISO_QPS * ISO_VICTIM_DEPTH * ISO_MAX_BYTES,
				    .cqe = 1024};
	uint64_t total_ns = run->duration_ns;
	uint64_t cut_ns = total_ns / 3 < ISO_CUT_NS ? total_ns / 3 : ISO_CUT_NS;
	uint64_t begin_ns;
	uint32_t q;
	int rc;

	assert(st);
	run->state = st;
	st->run = run;
	sim_prng_for(run->sim, &st->prng, SIM_STREAM_WORKLOAD, 0);
	rc = sim_end_open(&st->a, sim_nic_at(run->sim, 0), &attr);
	if (!rc)
		rc = sim_end_open(&st->b, sim_nic_at(run->sim, 1), &attr);
	if (rc)
		return rc;
	st->ah = sim_end_ah(&st->a, sim_nic_at(run->sim, 1));
	if (!st->ah)
		return -errno;
	for (q = 0; q < ISO_QPS; q++) {
		st->qa[q] = make_qp(&st->a);
		st->qb[q] = make_qp(&st->b);
		if (!st->qa[q] || !st->qb[q])
			return -errno;
	}
	begin_ns = sim_now_ns(run->sim);
	st->phase_ns = begin_ns;
	sim_at(run->sim, begin_ns + (total_ns - cut_ns) / 2, next_phase, st, ISO_DURING);
	sim_at(run->sim, begin_ns + (total_ns + cut_ns) / 2, next_phase, st, ISO_AFTER);
	sim_at(run->sim, begin_ns, step, st, 0);
	return 0;
}

static uint32_t two_nics(const uint64_t *param)
{
	(void)param;
	return 2;
}

static bool quiet(struct sim_run *run)
{
	const struct iso_state *st = run->state;

	return !st->under_way && st->phase == ISO_AFTER;
}

static uint32_t quantile(const struct iso_samples *s, uint32_t per_mille)
{
	return s->count ? s->ns[(s->count - 1) * per_mille / 1000] : 0;
}

/* Returns messages per virtual millisecond. */
static double rate_of(const struct iso_samples *s)
{
	return s->length_ns ? (double)s->count * 1e6 / (double)s->length_ns : 0;
}

static void check(struct sim_run *run)
{
	struct iso_state *st = run->state;
	const struct iso_samples *before = &st->samples[ISO_BEFORE];
	const struct iso_samples *during = &st->samples[ISO_DURING];
	size_t room = sizeof(run->table);
	int at, p;

	st->samples[ISO_AFTER].length_ns = run->duration_ns - before->length_ns - during->length_ns;
	at = snprintf(run->table, room,
		      "latency of the QPs that are not concerned, in virtual ns\n"
		      "%8s %10s %12s %9s %9s %9s %9s\n",
		      "phase", "messages", "per ms", "p50", "p99", "p99.9", "max");
	for (p = 0; p < ISO_PHASES; p++) {
		struct iso_samples *s = &st->samples[p];

		stats_sort_u32(s->ns, s->count);
		at += snprintf(run->table + at, room - (size_t)at,
			       "%8s %10zu %12.1f %9" PRIu32 " %9" PRIu32 " %9" PRIu32 " %9" PRIu32
			       "\n",
			       phase_name[p], s->count, rate_of(s), quantile(s, 500),
			       quantile(s, 990), quantile(s, 999), quantile(s, 1000));
	}
	snprintf(run->table + at, room - (size_t)at,
		 "dropped %" PRIu64 " frames of the QP cut off for %.1f ms; it completed %" PRIu64
		 " requests in all\n",
		 st->dropped, (double)during->length_ns / 1e6, st->victim_done);
	if (!before->count || !during->count || !st->dropped)
		sim_run_fail(run, "isolation: nothing was measured; run for longer");
	else if ((uint64_t)quantile(during, 990) * 100 >
		 (uint64_t)quantile(before, 990) * (100 + ISO_TOLERANCE))
		sim_run_fail(run,
			     "isolation: p99 of the others grew from %u to %u ns, more than %d %%",
			     quantile(before, 990), quantile(during, 990), ISO_TOLERANCE);
	else if (rate_of(during) * 100 < rate_of(before) * (100 - ISO_TOLERANCE))
		sim_run_fail(run, "isolation: the others got less done: %.1f messages/ms, not %.1f",
			     rate_of(during), rate_of(before));
}

static void stop(struct sim_run *run)
{
	struct iso_state *st = run->state;
	int p;

	sim_set_filter(run->sim, NULL, NULL);
	for (p = 0; p < ISO_PHASES; p++)
		free(st->samples[p].ns);
	sim_end_close(&st->a);
	sim_end_close(&st->b);
	free(st);
}

const struct sim_workload sim_wl_isolation = {
    .name = "isolation",
    .help = "one QP cut off in mid run (--duration-ms 300): p99 of the others may grow by 10 %",
    .start = start,
    .quiet = quiet,
    .check = check,
    .stop = stop,
    .nics = two_nics,
    .measures = true,
};
