/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs of one rank: GOAL_Run() alone, GOAL_Run() to the return of GOAL_Wait() for one operation
 * (ESPGOAL's start overhead), and local operations compared with compiled loops (ESPGOAL 6.4).
 *
 * Calls goal.h.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"

enum {
	WARM_RUNS = 200,
	MIN_RUNS = 50,
	MAX_RUNS = 100000,
};

/* One local operation of a type, and the equivalent loop of a program. */
struct kind {
	const char *name;
	GOAL_Op op;
	GOAL_DataType type;
	int width;
	void (*loop)(const void *a, const void *b, void *r, size_t count);
};

#pragma GCC push_options
#pragma GCC optimize("O3")
#define LOOP(name, type, expression)                                                               \
	static void name(const void *a, const void *b, void *r, size_t count)                      \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
		type *out = r;                                                                     \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			out[i] = (type)(expression);                                               \
	}
LOOP(add_u64, uint64_t, x[i] + y[i])
LOOP(max_s32, int32_t, x[i] > y[i] ? x[i] : y[i])
LOOP(xor_u8, uint8_t, x[i] ^ y[i])
LOOP(add_f32, float, x[i] + y[i])
LOOP(mul_f64, double, x[i] * y[i])
LOOP(div_s64, int64_t, x[i] / y[i])
#pragma GCC pop_options

static const struct kind kinds[] = {
    {"add_u64", GOAL_ADD, GOAL_UINT, 64, add_u64},  {"max_s32", GOAL_MAX, GOAL_SINT, 32, max_s32},
    {"xor_u8", GOAL_XOR, GOAL_UINT, 8, xor_u8},     {"add_f32", GOAL_ADD, GOAL_FLOAT, 32, add_f32},
    {"mul_f64", GOAL_MUL, GOAL_FLOAT, 64, mul_f64}, {"div_s64", GOAL_DIV, GOAL_SINT, 64, div_s64},
};

static GOAL_Schedule one_op(const struct kind *k, const void *a, const void *b, void *r,
			    size_t bytes)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;

	GOAL_LocalOp(g, a, b, r, k->op, k->type, k->width, (int64_t)bytes * 8 / k->width);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return s;
}

/* ---- start
 * ---------------------------------------------------------------------------------------
 */

struct costs {
	double *run, *all; /* GOAL_Run() alone; until GOAL_Wait() is back */
};

static int time_runs(GOAL_Schedule s, int runs, const struct costs *c)
{
	double start, started;
	GOAL_Handle h;
	int i;

	for (i = 0; i < runs; i++) {
		start = clock_now_us();
		h = GOAL_Run(s);
		started = clock_now_us();
		if (GOAL_Wait(h) != GOAL_SUCCESS)
			return bench_goal_fail("one operation");
		c->all[i] = clock_now_us() - start;
		c->run[i] = started - start;
	}
	return 0;
}

int start_run(struct bench *b)
{
	uint64_t *x = spec_alloc(3 * sizeof(*x));
	GOAL_Schedule s = x ? one_op(&kinds[0], &x[0], &x[1], &x[2], 8) : NULL;
	struct costs c = {calloc(MAX_RUNS, sizeof(double)), calloc(MAX_RUNS, sizeof(double))};
	int runs, rc = -1;

	if (x) {
		x[0] = 5;
		x[1] = 7;
	}
	if (!s)
		bench_goal_fail("one operation");
	else if (!c.run || !c.all)
		bench_fail("out of memory");
	else
		rc = time_runs(s, WARM_RUNS, &c);
	if (rc == 0) {
		runs = ranks_iters(b, stats_median_mean(c.all, WARM_RUNS), MIN_RUNS, MAX_RUNS);
		rc = time_runs(s, runs, &c);
	}
	if (rc == 0 && x[2] != 12)
		rc = bench_fail("the operation's result is wrong");
	if (rc == 0 && b->rank == 0) {
		double run_us = stats_median_mean(c.run, (size_t)runs),
		       all_us = stats_median_mean(c.all, (size_t)runs);

		json_array_append_new(b->rows,
				      json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "name", "start",
						"runs", runs, "run_us", run_us, "run_min_us",
						c.run[0], "us", all_us, "min_us", c.all[0]));
	}
	if (s)
		GOAL_FreeSchedule(s);
	free(c.run);
	free(c.all);
	spec_free(x, 3 * sizeof(*x));
	return rc;
}

/* ---- local operations
 * ----------------------------------------------------------------------------
 */

struct arrays {
	uint8_t *a, *b, *nic, *loop;
};

/* Bits that are whole numbers from 1 to 8 as integers of all widths, and ordinary floats. */
static void fill(const struct kind *k, uint8_t *x, size_t bytes, unsigned seed)
{
	size_t i, n = bytes * 8 / (size_t)k->width;

	for (i = 0; i < n; i++) {
		unsigned v = (unsigned)(i * 5 + seed) % 8 + 1;
		uint64_t whole = v; /* little-endian: its first bytes are it in every width */
		double d = v + 0.5;
		float f = (float)d;

		if (k->type != GOAL_FLOAT)
			memcpy(x + i * (size_t)k->width / 8, &whole, (size_t)k->width / 8);
		else if (k->width == 32)
			memcpy(x + i * 4, &f, 4);
		else
			memcpy(x + i * 8, &d, 8);
	}
}

static int one_kind(struct bench *b, const struct kind *k, const struct arrays *m, size_t bytes)
{
	size_t count = bytes * 8 / (size_t)k->width;
	double *nic, *loop, start = 0;
	GOAL_Schedule s;
	int i, runs = 0, rc = 0;

	fill(k, m->a, bytes, 3);
	fill(k, m->b, bytes, 1);
	s = one_op(k, m->a, m->b, m->nic, bytes);
	if (!s)
		return bench_goal_fail(k->name);
	nic = calloc(2 * MAX_RUNS, sizeof(*nic));
	loop = nic ? nic + MAX_RUNS : NULL;
	if (!nic)
		rc = bench_fail("out of memory");
	/* Both in turn; the first ones are the warm-up. */
	for (i = 0; rc == 0 &&
		    (i < MIN_RUNS || (i < MAX_RUNS && clock_now_us() - start < b->seconds * 1e6));
	     i++) {
		double t0, t1, t2;

		if (i == MIN_RUNS / 2)
			start = clock_now_us();
		t0 = clock_now_us();
		if (GOAL_Wait(GOAL_Run(s)) != GOAL_SUCCESS)
			rc = bench_goal_fail(k->name);
		t1 = clock_now_us();
		k->loop(m->a, m->b, m->loop, count);
		__asm__ volatile("" : : "r"(m->loop) : "memory");
		t2 = clock_now_us();
		if (i >= MIN_RUNS / 2) {
			nic[runs] = t1 - t0;
			loop[runs++] = t2 - t1;
		}
	}
	if (rc == 0 && memcmp(m->nic, m->loop, bytes))
		rc = bench_fail("%s of %zu bytes: the NIC's result is another than the loop's",
				k->name, bytes);
	if (rc == 0 && b->rank == 0)
		json_array_append_new(b->rows,
				      json_pack("{s:s, s:I, s:i, s:f, s:f}", "name", k->name,
						"bytes", (json_int_t)bytes, "runs", runs, "us",
						stats_median_mean(nic, (size_t)runs), "loop_us",
						stats_median_mean(loop, (size_t)runs)));
	GOAL_FreeSchedule(s);
	free(nic);
	return rc;
}

/*
 * Allocated for each measurement: memory that is registered in parts of several sizes is not
 * mapped.
 */
static int with_arrays(struct bench *b, const struct kind *k, size_t bytes)
{
	struct arrays m = {spec_alloc(bytes), spec_alloc(bytes), spec_alloc(bytes),
			   spec_alloc(bytes)};
	int rc =
	    m.a && m.b && m.nic && m.loop ? one_kind(b, k, &m, bytes) : bench_fail("out of memory");

	spec_free(m.a, bytes);
	spec_free(m.b, bytes);
	spec_free(m.nic, bytes);
	spec_free(m.loop, bytes);
	return rc;
}

int localop_run(struct bench *b)
{
	size_t i;
	int j, rc = 0;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (j = 0; rc == 0 && j < b->num_sizes; j++)
			rc = with_arrays(b, &kinds[i], b->size[j]);
	}
	return rc;
}
