/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench srq: memory cost of receives, and time cost of sharing them, by the number of peers.
 * Calls srq_end.c and srq_flow.c in two processes (crew.c). The counters are those of the MVAPICH
 * study: buffers, low-watermark events, unexpected messages, messages by size. docs/memory.md has
 * the figures.
 *
 * Own receives: each peer's queue pair has --recvs buffers. Shared: SRQ_TARGET to begin with, more
 * when the low watermark is reached.
 */
#include "tools/weft-bench/srq.h"

#include "shared_defs/hw_wqe.h"
#include "tools/weft-bench/report.h"

static const struct srq_pattern patterns[] = {
    {"steady", 64},
    {"burst", 512},
};
enum {
	PATTERNS = sizeof(patterns) / sizeof(patterns[0]),
};

static uint64_t ring_bytes(uint64_t receives)
{
	uint64_t entries = 1;

	while (entries < receives)
		entries *= 2;
	return entries * hw_rq_stride_bytes(1);
}

/* Current buffers, and the rings that name them. */
static void memory_of(struct srq_end *e, uint64_t *buffers, uint64_t *rings, uint32_t *events)
{
	if (e->shared) {
		pthread_mutex_lock(&e->pool.lock);
		*buffers = e->pool.num_buffers;
		*events = e->pool.events;
		pthread_mutex_unlock(&e->pool.lock);
		*rings = ring_bytes(SRQ_POOL_MAX);
	} else {
		*buffers = (uint64_t)e->peers * e->c->o->recvs;
		*events = 0;
		*rings = e->peers * ring_bytes(e->c->o->recvs);
	}
}

static const char *receives_str(const struct srq_end *e)
{
	return e->shared ? "shared" : "own";
}

static int memory_row(struct srq_end *e, const char *pattern, struct srq_counts *n,
		      uint32_t events_before)
{
	uint64_t buffers, rings;
	uint32_t events;
	json_t *row;

	memory_of(e, &buffers, &rings, &events);
	row =
	    json_pack("{s:s, s:i, s:s, s:s, s:I, s:I, s:I, s:i, s:I, s:f}", "part", "memory",
		      "peers", (int)e->peers, "receives", receives_str(e), "pattern", pattern,
		      "buffers", (json_int_t)buffers, "buffer_kib",
		      (json_int_t)(buffers * e->c->o->size / 1024), "ring_kib",
		      (json_int_t)(rings / 1024), "watermark_events", (int)(events - events_before),
		      "messages", (json_int_t)n->messages, "unexpected_percent",
		      n->messages ? 100.0 * (double)n->unexpected / (double)n->messages : 0.0);
	crew_figure(row, "msg_s", n->msg_s);
	return crew_row(e->c, row);
}

static int class_rows(struct srq_end *e, const char *pattern, const struct srq_counts *n)
{
	for (int k = 0; k < SRQ_CLASSES; k++) {
		json_t *row;

		if (!n->by_class[k])
			continue;
		row = json_pack("{s:s, s:i, s:s, s:s, s:i, s:I, s:I, s:I}", "part", "sizes",
				"peers", (int)e->peers, "receives", receives_str(e), "pattern",
				pattern, "up_to", 64 << k, "messages", (json_int_t)n->by_class[k],
				"unexpected", (json_int_t)n->unexpected_by_class[k], "kib",
				(json_int_t)(n->bytes_by_class[k] / 1024));
		if (crew_row(e->c, row))
			return -1;
	}
	return 0;
}

static int latency_row(struct srq_end *e)
{
	double own[CREW_BLOCKS], shared[CREW_BLOCKS], price[CREW_BLOCKS];
	json_t *row;

	if (srq_latency(e, own, shared))
		return -1;
	if (e->receiver)
		return 0;
	row = json_pack("{s:s, s:i}", "part", "latency", "peers", (int)e->peers);
	/* Neighbours in time, before each is sorted. */
	for (int i = 0; i < CREW_BLOCKS; i++)
		price[i] = shared[i] - own[i];
	crew_figure(row, "own_us", own);
	crew_figure(row, "shared_us", shared);
	crew_figure(row, "price_us", price);
	return crew_row(e->c, row);
}

/* One kind of receives: each pattern and, for shared ones, latency. */
static int run_kind(struct crew *c, bool shared)
{
	struct srq_end e;
	int rc = srq_end_open(&e, c, shared);

	for (int i = 0; i < PATTERNS && !rc; i++) {
		struct srq_counts counts;
		uint64_t buffers, rings;
		uint32_t events = 0;

		if (e.receiver)
			memory_of(&e, &buffers, &rings, &events);
		rc = srq_flow(&e, &patterns[i], &counts);
		if (!rc && e.receiver)
			rc = memory_row(&e, patterns[i].name, &counts, events) ||
				     class_rows(&e, patterns[i].name, &counts)
				 ? -1
				 : 0;
	}
	if (!rc && shared)
		rc = latency_row(&e);
	if (!rc && e.receiver && shared && e.pool.failed)
		rc = fail("%u refills failed", e.pool.failed);
	if (!rc)
		srq_end_close(&e);
	return rc;
}

static int run_rank(struct crew *c, void *arg)
{
	(void)arg;
	return run_kind(c, false) || run_kind(c, true) ? -1 : 0;
}

int srq_run(struct opts *o)
{
	static const struct crew_part part = {
	    .name = "srq", .fn = run_rank, .least_ranks = 2, .most_ranks = 2};

	return crew_parts(o, &part, 1);
}
