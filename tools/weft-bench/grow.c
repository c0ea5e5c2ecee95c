/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the rate of small messages changes with the number of things that the NIC has to keep apart:
 * RD Sends of 64 bytes over 1 to 8,192 queue pairs, to 1 to 16 peers, from 1 to 64 processes, from
 * and into 1 MiB to 1 GiB of memory in 1 to 16,384 regions. Calls grow_stream.c. docs/scaling.md
 * has the figures.
 *
 * One thread drives both ends, so that the kernel's scheduling is no part of it; a process is an
 * attachment of its own, which is all that the NIC knows of one. Blocks of all numbers follow each
 * other in turn, and each has blocks of the smallest number beside it.
 */
#include "tools/weft-bench/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	QPS_MAX = 8192, /* a share of half a table of a shard */
	PROCS_MAX = 64,
	PEERS_MAX = 16,          /* weftd has 32 NICs at most, and numbers are powers of two */
	ONE_DEPTH = GROW_WINDOW, /* of the queue pair that is active alone */
	FEW = 16,
	FEW_DEPTH = 8,
	MANY_DEPTH = 2,
	FIRST_BYTES = 1 << 20,
};

/* Seconds of a block. */
static double block_s(const struct crew *c)
{
	return c->o->duration_s > 0 ? c->o->duration_s : 0.2;
}

/* --qps bounds all numbers, and the MiB of memory. */
static bool is_beyond(const struct crew *c, uint64_t num)
{
	return c->o->qps && num > c->o->qps;
}

static int grow_open(struct grow *g, struct crew *c)
{
	const struct opts *o = c->o;

	memset(g, 0, sizeof(*g));
	g->c = c;
	g->active = 1;
	g->source = calloc(GROW_SOURCES, sizeof(*g->source));
	if (!g->source)
		return fail("out of memory");
	return end_open(&g->from, o->device) ||
		       end_open(&g->to, o->device2 ? o->device2 : o->device) ||
		       end_open_cq(&g->from, 4 * GROW_WINDOW, false) ||
		       end_open_cq(&g->to, 4 * GROW_WINDOW, false)
		   ? -1
		   : 0;
}

static void grow_close(struct grow *g)
{
	end_close(&g->from);
	end_close(&g->to);
	grow_memory_close(&g->out);
	grow_memory_close(&g->in);
	free(g->source);
}

static struct weft_qp *active_qp(struct end *e, uint32_t depth)
{
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_RD,
	    .cap = {.max_send_wr = depth,
		    .max_recv_wr = depth,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .max_inline_bytes = GROW_BYTES},
	};
	struct weft_qp *qp = end_qp(e, &init);
	int rc = qp ? weft_activate_qp(qp, BENCH_QKEY, 0) : 0;

	if (rc)
		fail("a queue pair to RTS: %s", strerror(-rc));
	return rc ? NULL : qp;
}

static struct weft_ah *handle(struct end *e, const struct end *to)
{
	struct weft_av av = weft_av_ip(to->port.ip);
	struct weft_ah *ah = weft_create_ah(e->pd, &av);

	if (!ah)
		fail("an address handle: %s", strerror(errno));
	return ah;
}

/* Source i of an end, to a queue pair that has as many receives as it may send. */
static int make_source(struct grow *g, uint32_t i, struct end *e, struct weft_ah *ah,
		       struct weft_qp *to, uint32_t depth)
{
	struct grow_source *s = &g->source[i];
	uint32_t k;

	s->qp = active_qp(e, depth);
	s->to = to ? to : active_qp(&g->to, depth);
	if (!ah || !s->qp || !s->to)
		return -1;
	s->cq = e->cq;
	s->ah = ah;
	s->depth = depth;
	for (k = 0; !to && k < depth; k++)
		if (grow_post_recv(g, i, NULL))
			return -1;
	return 0;
}

/* Both ends with memory of that size, and one queue pair each. */
static int memory_open(struct grow *g, struct crew *c, size_t bytes, uint32_t regions)
{
	if (grow_open(g, c))
		return -1;
	g->rotates = true;
	return grow_memory_open(&g->from, &g->out, bytes, regions, GROW_PAGE_BYTES) ||
		       grow_memory_open(&g->to, &g->in, bytes, regions, GROW_PAGE_BYTES) ||
		       make_source(g, 0, &g->from, handle(&g->from, &g->to), NULL, ONE_DEPTH)
		   ? -1
		   : 0;
}

/* A block of the smallest number and of this one in turn, CREW_BLOCKS times; then a row. */
struct step {
	uint32_t active;
	double first[CREW_BLOCKS], mmps[CREW_BLOCKS], times[CREW_BLOCKS];
};

/* Messages of a block: two of each source, and a rate even where others have the CPU all the time.
 */
static uint64_t least(uint32_t sources)
{
	return 2 * (uint64_t)(sources < GROW_WINDOW ? GROW_WINDOW : sources);
}

static int measure(struct grow *g, struct step *step)
{
	double unused;

	/* All sources have sent before: what the first message commits is not counted. */
	g->active = step->active;
	if (grow_stream(g, least(step->active), 0, &unused))
		return -1;
	for (int b = 0; b < CREW_BLOCKS; b++) {
		g->active = 1;
		if (grow_stream(g, least(1), block_s(g->c), &step->first[b]))
			return -1;
		g->active = step->active;
		if (grow_stream(g, least(step->active), block_s(g->c), &step->mmps[b]))
			return -1;
		step->times[b] = step->first[b] / step->mmps[b];
	}
	return 0;
}

static int finish(struct grow *g, struct step *step, json_t *row)
{
	crew_figure(row, "first_mmps", step->first);
	crew_figure(row, "mmps", step->mmps);
	crew_figure(row, "cost", step->times);
	return crew_row(g->c, row);
}

static int grow_qps(struct crew *c, void *arg)
{
	static const uint32_t nums[] = {1, 16, 256, 4096, QPS_MAX};
	uint32_t i, made = 0;
	struct weft_ah *ah;
	struct grow g;

	(void)arg;
	if (grow_open(&g, c) ||
	    grow_memory_open(&g.from, &g.out, FIRST_BYTES, 1, GROW_PLACE_BYTES) ||
	    grow_memory_open(&g.to, &g.in, (size_t)GROW_SOURCES * GROW_PLACE_BYTES, 1,
			     GROW_PLACE_BYTES))
		return -1;
	g.inlined = true;
	ah = handle(&g.from, &g.to);
	for (i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct step step = {.active = nums[i]};

		if (is_beyond(c, nums[i]))
			break;
		for (; made < step.active; made++)
			if (make_source(&g, made, &g.from, ah, NULL,
					!made        ? ONE_DEPTH
					: made < FEW ? FEW_DEPTH
						     : MANY_DEPTH))
				return -1;
		if (measure(&g, &step) ||
		    finish(&g, &step,
			   json_pack("{s:s, s:i}", "part", "qps", "qps", (int)step.active)))
			return -1;
	}
	grow_close(&g);
	return 0;
}

static int grow_procs(struct crew *c, void *arg)
{
	static const uint32_t nums[] = {1, 4, 16, PROCS_MAX};
	struct end end[PROCS_MAX];
	uint32_t i, made = 1;
	struct grow g;

	(void)arg;
	if (grow_open(&g, c) ||
	    grow_memory_open(&g.from, &g.out, FIRST_BYTES, 1, GROW_PLACE_BYTES) ||
	    grow_memory_open(&g.to, &g.in, FIRST_BYTES, 1, GROW_PLACE_BYTES) ||
	    make_source(&g, 0, &g.from, handle(&g.from, &g.to), NULL, ONE_DEPTH))
		return -1;
	g.inlined = g.own_cqs = true;
	for (i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct step step = {.active = nums[i]};

		if (is_beyond(c, nums[i]))
			break;
		for (; made < step.active; made++)
			if (end_open(&end[made], c->o->device) ||
			    end_open_cq(&end[made], 4 * GROW_WINDOW, false) ||
			    make_source(&g, made, &end[made], handle(&end[made], &g.to),
					g.source[0].to, ONE_DEPTH))
				return -1;
		if (measure(&g, &step) ||
		    finish(&g, &step,
			   json_pack("{s:s, s:i}", "part", "procs", "processes", (int)step.active)))
			return -1;
	}
	while (--made)
		end_close(&end[made]);
	grow_close(&g);
	return 0;
}

/* Source i, to an end of its own. */
static int peer_source(struct grow *g, uint32_t i, struct end *to, struct grow_memory *in)
{
	struct grow_source *s = &g->source[i];
	struct weft_qp *qp = active_qp(to, ONE_DEPTH);

	if (!qp || make_source(g, i, &g->from, handle(&g->from, to), qp, ONE_DEPTH))
		return -1;
	s->to_cq = to->cq;
	s->in = in;
	for (uint32_t k = 0; k < ONE_DEPTH; k++)
		if (grow_post_recv(g, i, NULL))
			return -1;
	return 0;
}

/* Opens up to max NICs other than those of --device and --device2. Returns how many, or -1. */
static int open_peers(const struct grow *g, struct end *end, struct grow_memory *in, uint32_t max)
{
	struct weft_device *list;
	int num = weft_get_device_list(&list), n = 0, i;

	for (i = 0; i < num && (uint32_t)n < max; i++) {
		if (strcmp(list[i].name, g->from.context->name) == 0)
			continue;
		if (end_open(&end[n], list[i].name) ||
		    end_open_cq(&end[n], 4 * GROW_WINDOW, false) ||
		    grow_memory_open(&end[n], &in[n], FIRST_BYTES, 1, GROW_PLACE_BYTES)) {
			n = -1;
			break;
		}
		n++;
	}
	if (num < 0)
		return fail("the list of NICs: %s", strerror(-num));
	weft_free_device_list(list);
	return n;
}

/* One queue pair to each of several NICs of this weftd. */
static int grow_peers(struct crew *c, void *arg)
{
	static const uint32_t nums[] = {1, 4, PEERS_MAX};
	struct grow_memory in[PEERS_MAX];
	struct end end[PEERS_MAX];
	uint32_t i, made = 0;
	struct grow g;
	int num;

	(void)arg;
	memset(in, 0, sizeof(in));
	if (grow_open(&g, c) || grow_memory_open(&g.from, &g.out, FIRST_BYTES, 1, GROW_PLACE_BYTES))
		return -1;
	g.inlined = g.own_cqs = true;
	num = open_peers(&g, end, in, PEERS_MAX);
	for (i = 0; num > 0 && i < sizeof(nums) / sizeof(nums[0]); i++) {
		struct step step = {.active = nums[i]};

		if (is_beyond(c, nums[i]) || nums[i] > (uint32_t)num)
			break;
		for (; made < step.active; made++)
			if (peer_source(&g, made, &end[made], &in[made]))
				return -1;
		if (measure(&g, &step) ||
		    finish(&g, &step,
			   json_pack("{s:s, s:i}", "part", "peers", "peers", (int)step.active)))
			return -1;
	}
	for (i = 0; num > 0 && i < (uint32_t)num; i++) {
		end_close(&end[i]);
		grow_memory_close(&in[i]);
	}
	grow_close(&g);
	return num < 0 ? -1 : 0;
}

/* Sends from and into memory of that many bytes in that many regions, beside those of the first. */
static int memory_step(struct crew *c, size_t bytes, uint32_t regions)
{
	struct step step = {.active = 1};
	struct grow first, g;
	double unused;
	int b;

	if (memory_open(&first, c, FIRST_BYTES, 1) || memory_open(&g, c, bytes, regions) ||
	    grow_stream(&first, 2ull * first.in.places, 0, &unused) ||
	    grow_stream(&g, 2ull * g.in.places, 0, &unused))
		return -1;
	for (b = 0; b < CREW_BLOCKS; b++) {
		if (grow_stream(&first, least(1), block_s(c), &step.first[b]) ||
		    grow_stream(&g, least(1), block_s(c), &step.mmps[b]))
			return -1;
		step.times[b] = step.first[b] / step.mmps[b];
	}
	grow_close(&first);
	if (finish(&g, &step,
		   json_pack("{s:s, s:I, s:i}", "part", "memory", "mib", (json_int_t)(bytes >> 20),
			     "regions", (int)g.in.regions)))
		return -1;
	grow_close(&g);
	return 0;
}

static int grow_memory(struct crew *c, void *arg)
{
	static const struct {
		size_t bytes;
		uint32_t regions;
	} nums[] = {{FIRST_BYTES, 1},     {FIRST_BYTES, 256}, {64ull << 20, 1},
		    {64ull << 20, 16384}, {1ull << 30, 1},    {1ull << 30, 16384}};
	uint32_t i;

	(void)arg;
	for (i = 0; i < sizeof(nums) / sizeof(nums[0]); i++)
		if (!is_beyond(c, nums[i].regions) && !is_beyond(c, nums[i].bytes >> 20) &&
		    memory_step(c, nums[i].bytes, nums[i].regions))
			return -1;
	return 0;
}

int grow_run(struct opts *o)
{
	static const struct crew_part parts[] = {{"qps", grow_qps, 1, 1},
						 {"peers", grow_peers, 1, 1},
						 {"procs", grow_procs, 1, 1},
						 {"memory", grow_memory, 1, 1}};

	return crew_parts(o, parts, sizeof(parts) / sizeof(parts[0]));
}
