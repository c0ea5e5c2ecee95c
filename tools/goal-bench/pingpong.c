/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency between two ranks as ESPGOAL 6.3 measures it: one schedule of 100 rounds of
 * ping-pong between two GOAL_WTIMEs, each send after the receive before it; the NICs alone are
 * timed.
 *
 * Calls goal.h.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"

enum {
	ROUNDS = 100,
	WARM_RUNS = 3,
	MIN_RUNS = 5,
	MAX_RUNS = 2000,
};

struct buffers {
	uint64_t *out, *in;
	double start_s, end_s; /* GOAL_WTIME */
};

static GOAL_Vertex after(GOAL_Graph g, GOAL_Vertex before, GOAL_Vertex next)
{
	if (before != GOAL_INVALID_VERTEX)
		GOAL_Requires(g, before, next);
	return next;
}

static GOAL_Schedule make(const struct bench *b, struct buffers *buf, size_t bytes)
{
	GOAL_Vertex last = GOAL_INVALID_VERTEX;
	GOAL_Graph g = GOAL_CreateGraph();
	int64_t n = (int64_t)bytes;
	GOAL_Schedule s;
	int i;

	if (b->rank == 0)
		last = GOAL_LocalOp(g, NULL, NULL, &buf->start_s, GOAL_WTIME, GOAL_FLOAT, 64, 1);
	for (i = 0; b->rank < 2 && i < ROUNDS; i++) {
		if (b->rank == 0) {
			last = after(g, last, GOAL_Send(g, buf->out, n, 1, i));
			last = after(g, last, GOAL_Recv(g, buf->in, n, 1, i));
		} else {
			last = after(g, last, GOAL_Recv(g, buf->in, n, 0, i));
			last = after(g, last, GOAL_Send(g, buf->in, n, 0, i));
		}
	}
	if (b->rank == 0)
		after(g, last,
		      GOAL_LocalOp(g, NULL, NULL, &buf->end_s, GOAL_WTIME, GOAL_FLOAT, 64, 1));
	if (b->rank > 1)
		GOAL_Calc(g, 1);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return s;
}

/* One run; half a round in us. */
static int one(struct bench *b, GOAL_Schedule s, struct buffers *buf, size_t bytes, int round,
	       double *us)
{
	if (b->rank == 0)
		spec_fill(buf->out, bytes, 0, round);
	memset(buf->in, 0, bytes);
	/* A message must not come before the buffer was cleared. */
	if (ranks_sync(b) < 0)
		return -1;
	if (GOAL_Wait(GOAL_Run(s)) != GOAL_SUCCESS)
		return bench_goal_fail("ping-pong");
	if (b->rank == 0 && memcmp(buf->out, buf->in, bytes))
		return bench_fail("ping-pong of %zu bytes: wrong bytes came back", bytes);
	*us = (buf->end_s - buf->start_s) * 1e6 / (2 * ROUNDS);
	return 0;
}

static int measure(struct bench *b, GOAL_Schedule s, struct buffers *buf, size_t bytes)
{
	double warm = clock_now_us(), us, *half;
	int i, runs, rc = 0;

	for (i = 1; i <= WARM_RUNS; i++) {
		if (one(b, s, buf, bytes, i, &us) < 0)
			return -1;
	}
	runs = ranks_iters(b, (clock_now_us() - warm) / WARM_RUNS, MIN_RUNS, MAX_RUNS);
	half = runs > 0 ? calloc((size_t)runs, sizeof(*half)) : NULL;
	if (ranks_agree(b, half ? 0 : bench_fail("out of memory")) < 0)
		return -1;
	for (i = 0; i < runs && rc == 0; i++)
		rc = one(b, s, buf, bytes, WARM_RUNS + 1 + i, &half[i]);
	us = stats_median_mean(half, (size_t)runs); /* sorts */
	if (rc == 0 && b->rank == 0)
		json_array_append_new(b->rows,
				      json_pack("{s:s, s:I, s:i, s:f, s:f}", "name", "pingpong",
						"bytes", (json_int_t)bytes, "runs", runs, "us", us,
						"min_us", half[0]));
	free(half);
	return rc;
}

static int one_size(struct bench *b, size_t bytes)
{
	/* Each has pages of its own: a region that shares one with another may not be mapped. */
	struct buffers *buf = spec_alloc(sizeof(*buf));
	uint64_t *out = spec_alloc(bytes), *in = spec_alloc(bytes);
	GOAL_Schedule s = NULL;
	int rc = -1;

	if (!buf || !out || !in) {
		bench_fail("out of memory");
	} else {
		*buf = (struct buffers){.out = out, .in = in};
		s = make(b, buf, bytes);
		if (!s)
			bench_goal_fail("ping-pong");
	}
	if (ranks_agree(b, s ? 0 : -1) == 0)
		rc = measure(b, s, buf, bytes);
	if (s)
		GOAL_FreeSchedule(s);
	spec_free(buf, sizeof(*buf));
	spec_free(out, bytes);
	spec_free(in, bytes);
	return rc;
}

int pingpong_run(struct bench *b)
{
	int i, rc = 0;

	if (b->size_of_group < 2)
		return bench_fail("ping-pong takes two ranks");
	for (i = 0; i < b->num_sizes && rc == 0; i++)
		rc = one_size(b, b->size[i]);
	return rc;
}
