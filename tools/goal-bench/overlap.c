/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gain of computing while a collective runs: the overlap by the formula of the OSU benchmarks, and
 * the slowdown of a matrix multiplication (ESPGOAL 6.6).
 *
 * Rank 0 computes. The others start their run, then sleep in GOAL_Wait() for the barrier after it,
 * which rank 0 enters last: their processes are idle while it is timed. For OSU's own definition
 * (overlap_osu) all ranks start, compute and wait at once, as they do for the time without
 * computing. Calls goal.h and matmul.c.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"
#include "tools/goal-bench/matmul.h"

enum {
	WARM_RUNS = 10,
	MIN_RUNS = 5,
	MAX_RUNS = 1000,
	SETTLE_US = 2000, /* time for the others to fall asleep */
};

enum phase {
	PURE,   /* GOAL_Run, GOAL_Wait of all ranks at once */
	IDLE,   /* the same of rank 0, while the others sleep */
	BUSY,   /* computing between, while the others sleep */
	TESTED, /* the same with GOAL_Test after each block */
	ALL,    /* computing between, of all ranks at once */
	PHASES
};

struct overlap {
	struct bench *b;
	GOAL_Schedule coll;
	GOAL_Schedule own; /* times of rank 0 alone */
	GOAL_Comm self;
	uint64_t *send, *recv;
	const struct spec *spec;
	double compute_us; /* amount of the work between, when there is no matrix */
	struct matmul *m;
	int round;
};

/* Rank 0's times, us. */
struct sample {
	double start, compute, wait;
};

static void test(void *arg)
{
	GOAL_Test(*(GOAL_Handle *)arg);
}

static void compute(const struct overlap *o, enum phase phase, GOAL_Handle *h)
{
	if (phase == PURE || phase == IDLE)
		return;
	if (o->m)
		matmul_run(o->m, phase == TESTED ? test : NULL, h);
	else
		spec_compute(o->compute_us);
}

static int timed(struct overlap *o, enum phase phase, struct sample *s)
{
	double t[4];
	GOAL_Handle h;

	t[0] = clock_now_us();
	h = GOAL_Run(o->coll);
	t[1] = clock_now_us();
	compute(o, phase, &h);
	t[2] = clock_now_us();
	if (GOAL_Wait(h) != GOAL_SUCCESS)
		return bench_goal_fail(o->spec->name);
	t[3] = clock_now_us();
	*s = (struct sample){t[1] - t[0], t[2] - t[1], t[3] - t[2]};
	return 0;
}

/* The cost of cold caches after a sleep is not the collective's. */
static int wake_up(const struct overlap *o)
{
	int i;

	usleep(SETTLE_US);
	for (i = 0; i < WARM_RUNS; i++) {
		if (GOAL_Wait(GOAL_Run(o->own)) != GOAL_SUCCESS)
			return bench_goal_fail("a run of one rank");
	}
	return 0;
}

/* Rank 0 starts last, and alone is awake; except for PURE and ALL. */
static int one(struct overlap *o, enum phase phase, struct sample *s)
{
	struct bench *b = o->b;
	GOAL_Handle h, after;

	o->round++;
	spec_fill(o->send, o->spec->bytes, b->rank, o->round);
	if (ranks_sync(b) < 0)
		return -1;
	if (phase == PURE || phase == ALL) {
		if (timed(o, phase, s) < 0)
			return -1;
	} else if (b->rank) {
		h = GOAL_Run(o->coll);
		after = GOAL_Run(b->sync);
		if (GOAL_Wait(after) != GOAL_SUCCESS || GOAL_Wait(h) != GOAL_SUCCESS)
			return bench_goal_fail(o->spec->name);
	} else if (wake_up(o) < 0 || timed(o, phase, s) < 0 || ranks_sync(b) < 0) {
		return -1;
	}
	if (spec_check(o->spec, o->recv, b->rank, b->size_of_group, o->round))
		return bench_fail("%s: rank %d: wrong words", o->spec->name, b->rank);
	return 0;
}

struct figures {
	double start, compute, wait, overall;
};

static int series(struct overlap *o, enum phase phase, int runs, struct figures *f)
{
	double *v = calloc((size_t)runs * 4, sizeof(*v));
	int i, rc = ranks_agree(o->b, v ? 0 : bench_fail("out of memory"));

	for (i = 0; i < runs && rc == 0; i++) {
		struct sample s = {0};

		rc = one(o, phase, &s);
		v[i] = s.start;
		v[runs + i] = s.compute;
		v[2 * runs + i] = s.wait;
		v[3 * runs + i] = s.start + s.compute + s.wait;
	}
	if (rc == 0)
		*f = (struct figures){stats_median_mean(v, (size_t)runs),
				      stats_median_mean(v + runs, (size_t)runs),
				      stats_median_mean(v + 2 * runs, (size_t)runs),
				      stats_median_mean(v + 3 * runs, (size_t)runs)};
	free(v);
	return rc;
}

static int prepare(struct overlap *o)
{
	size_t room = spec_room(o->spec, o->b->size_of_group);
	const int me = o->b->rank;
	struct sample s;
	int i, rc = 0;

	o->send = spec_alloc(room);
	o->recv = spec_alloc(room);
	if (!o->send || !o->recv)
		rc = bench_fail("out of memory");
	else if (!(o->coll = coll_schedule(o->spec, o->send, o->recv)) ||
		 !(o->self = GOAL_CommCreate(GOAL_CommWorld(), &me, 1)) ||
		 !(o->own = GOAL_BarrierSchedule(o->self, GOAL_ALG_AUTO)))
		rc = bench_goal_fail(o->spec->name);
	rc = ranks_agree(o->b, rc);
	for (i = 0; i < WARM_RUNS && rc == 0; i++)
		rc = one(o, PURE, &s);
	return rc;
}

static void finish(struct overlap *o)
{
	if (o->coll)
		GOAL_FreeSchedule(o->coll);
	if (o->own)
		GOAL_FreeSchedule(o->own);
	if (o->self)
		GOAL_CommFree(o->self);
	spec_free(o->send, spec_room(o->spec, o->b->size_of_group));
	spec_free(o->recv, spec_room(o->spec, o->b->size_of_group));
}

/* ---- the OSU formula
 * -----------------------------------------------------------------------------
 */

/* The work alone, as it is timed between. */
static double alone_us(double us, int runs)
{
	double *v = calloc((size_t)runs, sizeof(*v)), result;
	int i;

	for (i = 0; v && i < runs; i++) {
		double t = clock_now_us();

		spec_compute(us);
		v[i] = clock_now_us() - t;
	}
	result = v ? stats_median_mean(v, (size_t)runs) : 0;
	free(v);
	return result;
}

/*
 * 1 - (t_overall - t_compute) / t_pure: t_pure is the latency with all ranks at once, t_compute was
 * timed while the collective ran (OSU), or alone (overlap_alone, which counts as lost also what the
 * collective took from the computation). idle_us: the latency of rank 0 while the others sleep.
 * overlap_osu: of rank 0 too, t_overall and t_compute with all ranks at once, as t_pure.
 */
static int overlap_spec(struct bench *b, const struct spec *spec)
{
	struct overlap o = {.b = b, .spec = spec};
	struct figures pure, idle, busy, all;
	double alone = 0;
	int runs, rc = prepare(&o);

	runs = rc == 0 ? ranks_iters(b, 2.0 * SETTLE_US, MIN_RUNS, MAX_RUNS) : -1;
	rc = runs > 0 ? series(&o, PURE, runs, &pure) : -1;
	if (rc == 0) {
		rc = series(&o, IDLE, runs, &idle);
	}
	if (rc == 0) {
		o.compute_us = pure.overall;
		if (b->rank == 0)
			alone = alone_us(o.compute_us, runs);
		rc = series(&o, BUSY, runs, &busy);
	}
	if (rc == 0)
		rc = series(&o, ALL, runs, &all);
	if (rc == 0 && b->rank == 0)
		json_array_append_new(
		    b->rows,
		    json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
			      "s:f, s:f}",
			      "name", spec->name, "ranks", b->size_of_group, "runs", runs,
			      "pure_us", pure.overall, "idle_us", idle.overall, "overall_us",
			      busy.overall, "compute_us", busy.compute, "compute_alone_us", alone,
			      "start_us", busy.start, "wait_us", busy.wait, "overlap",
			      1 - (busy.overall - busy.compute) / pure.overall, "overlap_alone",
			      1 - (busy.overall - alone) / pure.overall, "osu_overall_us",
			      all.overall, "osu_compute_us", all.compute, "overlap_osu",
			      1 - (all.overall - all.compute) / pure.overall));
	finish(&o);
	return rc;
}

int overlap_run(struct bench *b)
{
	int i, rc = 0;

	for (i = 0; i < b->num_specs && rc == 0; i++) {
		if (b->spec[i].coll != SPEC_BARRIER && b->spec[i].coll != SPEC_ALLREDUCE)
			return bench_fail("overlap: barrier or allreduce, not %s", b->spec[i].name);
		rc = overlap_spec(b, &b->spec[i]);
	}
	return rc;
}

/* ---- the multiplication
 * ---------------------------------------------------------------------------
 */

static double multiply_alone(struct matmul *m)
{
	double t = clock_now_us();

	matmul_run(m, NULL, NULL);
	return clock_now_us() - t;
}

static int cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* alone, with a collective, with tests, in turn; their compute, start and wait times. */
static int multiply_runs(struct overlap *o, int runs, double *v)
{
	int i, rc = 0;

	for (i = 0; i < runs && rc == 0; i++) {
		struct sample s[2] = {{0}};

		if (o->b->rank == 0) {
			/* The others are entering the barrier. */
			rc = wake_up(o);
			v[i] = multiply_alone(o->m);
		}
		if (rc == 0)
			rc = one(o, BUSY, &s[0]);
		if (rc == 0)
			rc = one(o, TESTED, &s[1]);
		v[runs + i] = s[0].start + s[0].compute;
		v[2 * runs + i] = s[0].wait;
		v[3 * runs + i] = s[1].start + s[1].compute;
		v[4 * runs + i] = s[1].wait;
	}
	if (rc == 0 && o->b->rank == 0 && matmul_check(o->m) < 0)
		rc = bench_fail("the product is wrong");
	return rc;
}

static int one_matrix(struct overlap *o, int n)
{
	struct bench *b = o->b;
	int threads = b->threads ? b->threads : cpus(), runs = 1, rc = 0;
	double once = 0, *v = NULL;

	if (b->rank == 0) {
		o->m = matmul_create(n, threads);
		if (o->m) {
			multiply_alone(o->m);
			once = multiply_alone(o->m);
		} else {
			rc = bench_fail("no memory or threads for matrices of %d x %d", n, n);
		}
	}
	rc = ranks_agree(b, rc);
	if (rc == 0) {
		/* Three multiplications, each after the others are asleep. */
		runs = ranks_iters(b, b->rank ? 1 : 3 * (once + 1.2 * SETTLE_US), 3, MAX_RUNS);
		v = calloc((size_t)runs * 5, sizeof(*v));
		rc = ranks_agree(b, v ? 0 : bench_fail("out of memory"));
	}
	if (rc == 0)
		rc = multiply_runs(o, runs, v);
	if (rc == 0 && b->rank == 0)
		json_array_append_new(
		    b->rows,
		    json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "name",
			      o->spec->name, "n", n, "threads", threads, "runs", runs, "alone_us",
			      stats_median_mean(v, (size_t)runs), "with_us",
			      stats_median_mean(v + runs, (size_t)runs), "wait_us",
			      stats_median_mean(v + 2 * runs, (size_t)runs), "tested_us",
			      stats_median_mean(v + 3 * runs, (size_t)runs), "tested_wait_us",
			      stats_median_mean(v + 4 * runs, (size_t)runs)));
	matmul_free(o->m);
	free(v);
	return rc;
}

/* No collective: the CPUs that weft leaves, or all of them. */
static int matrix_alone(struct bench *b, int n)
{
	int threads = b->threads ? b->threads : cpus(), runs, i, rc;
	struct matmul *m = matmul_create(n, threads);
	double *v = calloc(MAX_RUNS, sizeof(*v)), begin;

	if (!m || !v) {
		matmul_free(m);
		free(v);
		return bench_fail("no memory or threads for matrices of %d x %d", n, n);
	}
	multiply_alone(m);
	begin = clock_now_us();
	for (runs = 0; runs < MAX_RUNS && (runs < 3 || clock_now_us() - begin < b->seconds * 1e6);
	     runs++)
		v[runs] = multiply_alone(m);
	rc = matmul_check(m) < 0 ? bench_fail("the product is wrong") : 0;
	i = json_array_append_new(b->rows,
				  json_pack("{s:s, s:i, s:i, s:i, s:f}", "name", "matmul", "n", n,
					    "threads", threads, "runs", runs, "alone_us",
					    stats_median_mean(v, (size_t)runs)));
	matmul_free(m);
	free(v);
	return rc ? rc : i;
}

int matmul_bench_run(struct bench *b)
{
	struct overlap o = {.b = b, .spec = &b->spec[0]};
	int i, rc = 0;

	if (!b->alone)
		rc = prepare(&o);
	for (i = 0; i < b->num_sizes && rc == 0; i++) {
		if (b->size[i] % MATMUL_BLOCK || b->size[i] > 16384)
			rc = bench_fail("matrices of N x N: N a multiple of %d, to 16384",
					MATMUL_BLOCK);
		else if (!b->alone)
			rc = one_matrix(&o, (int)b->size[i]);
		else
			rc = matrix_alone(b, (int)b->size[i]);
	}
	finish(&o);
	return rc;
}
