/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of the mode grow; see grow.h. Calls libweft.
 *
 * Sources take turns in an order that no prefetcher follows, and so do the places that messages are
 * sent from and received into. The number of a message holds its source and its number there, so
 * that one that is lost, doubled or out of order is found.
 */
#include "tools/weft-bench/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/pattern.h"

enum {
	POLL = 32,
	LOOK_TURNS = 4096, /* idle looks from one reading of the clock to the next */
	SEQ_SHIFT = 17,    /* of a message's number of its source, above that source */
	STEP = 40503,      /* odd: every place once in a round */
};

/* The n-th of num in the scattered order. */
static uint32_t scattered(uint64_t n, uint32_t num)
{
	return (uint32_t)(n * STEP) & (num - 1);
}

int grow_memory_open(struct end *e, struct grow_memory *m, size_t bytes, uint32_t regions,
		     uint32_t place_bytes)
{
	size_t each = bytes / regions;
	uint32_t i;

	m->each = each;
	/* A shard has regions for other things, too. */
	m->regions = regions < e->attr.max_mr ? regions : e->attr.max_mr - GROW_SPARE;
	m->places =
	    bytes / place_bytes < GROW_SOURCES ? (uint32_t)(bytes / place_bytes) : GROW_SOURCES;
	m->mr = calloc(regions, sizeof(struct weft_mr *));
	if (!m->mr || end_mem_alloc(e, &m->mem, END_MEM_WEFT, bytes))
		return fail("no memory for %u regions", regions);
	for (i = 0; i < m->regions; i++) {
		m->mr[i] = weft_reg_mr(e->pd, m->mem.p + i * each, each, WEFT_ACCESS_LOCAL_WRITE);
		if (!m->mr[i])
			return fail("region %u of %u: %s", i + 1, m->regions, strerror(errno));
	}
	return 0;
}

void grow_memory_close(struct grow_memory *m)
{
	if (m->mr)
		end_mem_free(&m->mem);
	free(m->mr);
	memset(m, 0, sizeof(*m));
}

static uint8_t *place(const struct grow_memory *m, uint64_t n)
{
	size_t at = scattered(n, m->places) * (m->mem.bytes / m->places);

	/* A place behind the last region is replaced by one of its own in another region. */
	return m->mem.p + (at < m->regions * m->each ? at : at / 2 + 2 * GROW_BYTES);
}

static struct weft_sge sge_of(const struct grow_memory *m, const uint8_t *p)
{
	size_t region = (size_t)(p - m->mem.p) / m->each;

	return (struct weft_sge){(uintptr_t)p, GROW_BYTES, m->mr[region]->lkey};
}

int grow_post_recv(struct grow *g, uint32_t i, uint8_t *used)
{
	const struct grow_memory *in = g->source[i].in ? g->source[i].in : &g->in;
	/* A source that rests keeps its places: no other receive may have them. */
	uint8_t *p = used && !g->rotates ? used : place(in, g->num_in++);
	struct weft_sge sge = sge_of(in, p);
	struct weft_recv_wr wr = {.wr_id = (uintptr_t)p, .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_recv(g->source[i].to, &wr, NULL);

	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

static int post_send(struct grow *g, uint32_t i)
{
	struct grow_source *s = &g->source[i];
	uint8_t *p = place(&g->out, g->num_out++);
	struct weft_sge sge = sge_of(&g->out, p);
	struct weft_send_wr wr = {
	    .wr_id = i,
	    .sg_list = &sge,
	    .num_sge = 1,
	    .opcode = WEFT_WR_SEND,
	    .flags = WEFT_SEND_SIGNALED | (g->inlined ? WEFT_SEND_INLINE : 0),
	    .ah = s->ah,
	    .dst_qpn = s->to->qpn,
	    .qkey = BENCH_QKEY,
	};
	int rc;

	pattern_fill(p, GROW_BYTES, s->sent << SEQ_SHIFT | i, 1);
	rc = weft_post_send(s->qp, &wr, NULL);
	if (rc)
		return fail("sending: %s", strerror(-rc));
	s->sent++;
	s->way++;
	g->posted++;
	return 0;
}

/* Compares a received message, and posts a receive in place of the one that it took. */
static int take(struct grow *g, const struct weft_wc *wc)
{
	uint8_t *p = (uint8_t *)(uintptr_t)wc->wr_id;
	uint64_t seq = pattern_seq(p, GROW_BYTES);
	uint32_t i = (uint32_t)seq & ((1u << SEQ_SHIFT) - 1);

	if (wc->bytes != GROW_BYTES || i >= g->active || seq >> SEQ_SHIFT != g->source[i].came ||
	    pattern_check(p, GROW_BYTES, seq, 1) != GROW_BYTES)
		return fail("a message of %u bytes is wrong: %#" PRIx64, wc->bytes, seq);
	pattern_wipe(p, GROW_BYTES);
	g->source[i].came++;
	g->received++;
	return grow_post_recv(g, i, p);
}

static int reap(struct grow *g, struct weft_cq *cq)
{
	struct weft_wc wc[POLL];
	int count = weft_poll_cq(cq, POLL, wc), i;

	for (i = 0; i < count; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS)
			return fail("a request failed: %s", weft_wc_status_str(wc[i].status));
		if (wc[i].opcode >= WEFT_WC_RECV) {
			if (take(g, &wc[i]))
				return -1;
		} else {
			g->source[wc[i].wr_id].way--;
		}
	}
	return count < 0 ? fail("polling: %s", strerror(-count)) : count;
}

/* The completions of a source that has queues of its own, at either end. */
static int reap_source(struct grow *g, const struct grow_source *s)
{
	int n = s->to_cq && s->came != s->sent ? reap(g, s->to_cq) : 0, more;

	if (n < 0 || s->cq == g->from.cq || !s->way)
		return n;
	more = reap(g, s->cq);
	return more < 0 ? -1 : n + more;
}

/* All completions that there are; -1 also after too long without one. */
static int look(struct grow *g)
{
	int n = reap(g, g->to.cq), more = n < 0 ? -1 : reap(g, g->from.cq);
	uint64_t now;

	if (more < 0)
		return -1;
	n += more;
	/* All sources stand in the last window: there are no more of these than it has messages. */
	for (uint64_t m = g->posted; g->own_cqs && m && m + GROW_WINDOW > g->posted; m--) {
		more = reap_source(g, &g->source[scattered(m - 1, g->active)]);
		if (more < 0)
			return -1;
		n += more;
	}
	if (n) {
		g->progress_ns = 0;
		return 0;
	}
	if (++g->idle % LOOK_TURNS)
		return 0;
	now = clock_now_ns();
	if (!g->progress_ns)
		g->progress_ns = now;
	return (double)(now - g->progress_ns) > g->c->o->timeout_s * 1e9
		   ? fail("nothing came any more")
		   : 0;
}

/* Sources whose last request has not completed wait for it. */
static int drain(struct grow *g)
{
	for (uint32_t i = 0; i < g->active; i++)
		while (g->source[i].way)
			if (look(g))
				return -1;
	return 0;
}

int grow_stream(struct grow *g, uint64_t least, double seconds, double *mmps)
{
	uint64_t start = clock_now_ns(), until = start + (uint64_t)(seconds * 1e9), now = start;
	uint64_t from = g->received;
	uint32_t batch;

	while (now < until || g->received - from < least) {
		for (batch = 0; batch < GROW_BATCH && g->posted - g->received < GROW_WINDOW;
		     batch++) {
			uint32_t i = scattered(g->posted, g->active);

			if (g->source[i].way >= g->source[i].depth)
				break;
			if (post_send(g, i))
				return -1;
		}
		if (look(g))
			return -1;
		now = clock_now_ns();
	}
	*mmps = (double)(g->received - from) * 1e3 / (double)(now - start);
	while (g->received < g->posted)
		if (look(g))
			return -1;
	return drain(g);
}
