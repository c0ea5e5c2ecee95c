/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency between two ranks, measured in two ways. From NIC to NIC, as in ESPGOAL 6.3: one schedule
 * of 100 rounds of ping-pong between two GOAL_WTIMEs, each send after the receive before it; the
 * NICs alone are timed. From host to host: a run for each message, which the process starts and
 * awaits, as a program of MPI calls MPI_Send() and MPI_Recv(); timed by the process.
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

/* The schedules of a round from host to host. */
struct pair {
	GOAL_Schedule ping, pong;
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

/* A single message, from one of the ranks to the other. */
static GOAL_Schedule make_message(const struct bench *b, struct buffers *buf, size_t bytes,
				  int from)
{
	GOAL_Graph g = GOAL_CreateGraph();
	int64_t n = (int64_t)bytes;
	GOAL_Schedule s;

	if (b->rank > 1)
		GOAL_Calc(g, 1);
	else if (b->rank == from)
		GOAL_Send(g, from ? buf->in : buf->out, n, !from, 0);
	else
		GOAL_Recv(g, buf->in, n, from, 0);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return s;
}

/* The rounds from host to host; half a round in us. */
static int one_of_hosts(struct bench *b, const struct pair *p, struct buffers *buf, size_t bytes,
			int round, double *us)
{
	double start_us;

	if (b->rank == 0)
		spec_fill(buf->out, bytes, 0, round);
	memset(buf->in, 0, bytes);
	if (ranks_sync(b) < 0)
		return -1;
	start_us = clock_now_us();
	for (int i = 0; i < ROUNDS; i++) {
		if (GOAL_Wait(GOAL_Run(p->ping)) != GOAL_SUCCESS ||
		    GOAL_Wait(GOAL_Run(p->pong)) != GOAL_SUCCESS)
			return bench_goal_fail("ping-pong of hosts");
	}
	*us = (clock_now_us() - start_us) / (2 * ROUNDS);
	if (b->rank == 0 && memcmp(buf->out, buf->in, bytes))
		return bench_fail("ping-pong of %zu bytes: wrong bytes came back to the host",
				  bytes);
	return 0;
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

/* The median of so many runs from host to host, in us; below 0: a run failed. */
static double measure_hosts(struct bench *b, const struct pair *p, struct buffers *buf,
			    size_t bytes, int runs)
{
	double *half = calloc((size_t)runs, sizeof(*half)), us = 0;
	int rc = ranks_agree(b, half ? 0 : bench_fail("out of memory"));

	for (int i = 0; i < WARM_RUNS && rc == 0; i++)
		rc = one_of_hosts(b, p, buf, bytes, i, &us);
	for (int i = 0; i < runs && rc == 0; i++)
		rc = one_of_hosts(b, p, buf, bytes, WARM_RUNS + i, &half[i]);
	if (rc == 0)
		us = stats_median_mean(half, (size_t)runs);
	free(half);
	return rc == 0 ? us : -1;
}

static int measure(struct bench *b, GOAL_Schedule s, const struct pair *p, struct buffers *buf,
		   size_t bytes)
{
	double warm = clock_now_us(), us, hosts_us = 0, *half;
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
	if (rc == 0) {
		hosts_us = measure_hosts(b, p, buf, bytes, runs);
		rc = hosts_us < 0 ? -1 : 0;
	}
	if (rc == 0 && b->rank == 0)
		json_array_append_new(b->rows, json_pack("{s:s, s:I, s:i, s:f, s:f, s:f}", "name",
							 "pingpong", "bytes", (json_int_t)bytes,
							 "runs", runs, "us", us, "min_us", half[0],
							 "hosts_us", hosts_us));
	free(half);
	return rc;
}

static int one_size(struct bench *b, size_t bytes)
{
	/* Each has pages of its own: a region that shares one with another may not be mapped. */
	struct buffers *buf = spec_alloc(sizeof(*buf));
	uint64_t *out = spec_alloc(bytes), *in = spec_alloc(bytes);
	struct pair p = {NULL, NULL};
	GOAL_Schedule s = NULL;
	int rc = -1;

	if (!buf || !out || !in) {
		bench_fail("out of memory");
	} else {
		*buf = (struct buffers){.out = out, .in = in};
		s = make(b, buf, bytes);
		p = (struct pair){make_message(b, buf, bytes, 0), make_message(b, buf, bytes, 1)};
		if (!s || !p.ping || !p.pong)
			bench_goal_fail("ping-pong");
	}
	if (ranks_agree(b, s && p.ping && p.pong ? 0 : -1) == 0)
		rc = measure(b, s, &p, buf, bytes);
	if (s)
		GOAL_FreeSchedule(s);
	if (p.ping)
		GOAL_FreeSchedule(p.ping);
	if (p.pong)
		GOAL_FreeSchedule(p.pong);
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
