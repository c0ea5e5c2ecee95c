/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency of collectives by the method of ESPGOAL 6.5: GOAL_Run() and GOAL_Wait() timed at each
 * rank, mean over the ranks, median over the runs. Every result is checked; barriers by a counter
 * in shared memory. The NICs' own time is measured, too. Calls goal.h, goal_coll.h.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"

enum {
	WARM_RUNS = 50,
	MIN_RUNS = 20,
	MAX_RUNS = 20000,
};

struct coll {
	struct bench *b;
	const struct spec *spec;
	GOAL_Schedule sched;
	uint64_t *send, *recv;
	double *times; /* runs of the host, then twice as many of the NIC: start, finish */
	int runs;
	uint64_t wrong;
};

GOAL_Schedule coll_schedule(const struct spec *spec, const void *send, void *recv)
{
	int64_t bytes = (int64_t)spec->bytes;
	int alg = GOAL_AlgorithmByName(spec->alg);
	GOAL_Comm world = GOAL_CommWorld();

	if (alg < 0)
		return NULL;
	switch (spec->coll) {
	case SPEC_BARRIER:
		return GOAL_BarrierSchedule(world, (GOAL_Algorithm)alg);
	case SPEC_BCAST:
		return GOAL_BcastSchedule(world, recv, bytes, 0, (GOAL_Algorithm)alg);
	case SPEC_ALLREDUCE:
		return GOAL_AllreduceSchedule(world, send, recv, bytes / 8, GOAL_ADD, GOAL_UINT, 64,
					      (GOAL_Algorithm)alg);
	case SPEC_GATHER:
		return GOAL_GatherSchedule(world, send, recv, bytes, 0, (GOAL_Algorithm)alg);
	case SPEC_COLLS:
		break;
	}
	return NULL;
}

/* Barriers: a rank that leaves before the last has entered is an error. */
static uint64_t early(const struct coll *c, uint32_t round)
{
	const struct shared *shared = c->b->shared;
	uint64_t wrong = 0;
	int r;

	for (r = 0; shared && r < c->b->size_of_group; r++)
		wrong += __atomic_load_n(&shared->entered[r].round, __ATOMIC_ACQUIRE) < round;
	return wrong;
}

/* One run; its times, unless out is NULL. */
static int one(struct coll *c, int round, double *host, double *nic)
{
	struct bench *b = c->b;
	GOAL_Result result;
	double start, end;

	if (c->spec->coll == SPEC_BARRIER && b->shared)
		__atomic_store_n(&b->shared->entered[b->rank].round, (uint32_t)round,
				 __ATOMIC_RELEASE);
	if (c->spec->coll == SPEC_BCAST && b->rank == 0)
		spec_fill(c->recv, c->spec->bytes, 0, round);
	else if (c->spec->coll != SPEC_BCAST)
		spec_fill(c->send, c->spec->bytes, b->rank, round);
	if (!spec_synchronizes(c->spec) && ranks_sync(b) < 0)
		return -1;
	start = clock_now_us();
	if (GOAL_WaitResult(GOAL_Run(c->sched), &result) != GOAL_SUCCESS)
		return bench_goal_fail(c->spec->name);
	end = clock_now_us();
	if (host) {
		*host = end - start;
		nic[0] = (double)result.start_ns * 1e-3;
		nic[1] = (double)result.finish_ns * 1e-3;
	}
	if (c->spec->coll == SPEC_BARRIER)
		c->wrong += early(c, (uint32_t)round);
	else
		c->wrong += spec_check(c->spec, c->recv, b->rank, b->size_of_group, round);
	return 0;
}

/*
 * The NICs' times: mean over ranks of start to finish, and from the last rank's start to the last
 * rank's finish, which needs one clock: ranks of one host. Medians over the runs.
 */
static int nic_times(const struct coll *c, const double *all, double *mean_us, double *last_us)
{
	double *mean = calloc((size_t)c->runs, sizeof(*mean)),
	       *last = calloc((size_t)c->runs, sizeof(*last));
	int run, r, rc = mean && last ? 0 : bench_fail("out of memory");

	for (run = 0; rc == 0 && run < c->runs; run++) {
		double start = 0, finish = 0;

		for (r = 0; r < c->b->size_of_group; r++) {
			const double *t = all + (size_t)r * 3 * (size_t)c->runs + c->runs + 2 * run;

			mean[run] += (t[1] - t[0]) / c->b->size_of_group;
			start = t[0] > start ? t[0] : start;
			finish = t[1] > finish ? t[1] : finish;
		}
		last[run] = finish - start;
	}
	if (rc == 0) {
		*mean_us = stats_median_mean(mean, (size_t)c->runs);
		*last_us = stats_median_mean(last, (size_t)c->runs);
	}
	free(mean);
	free(last);
	return rc;
}

static int report(struct coll *c)
{
	struct bench *b = c->b;
	size_t each = 3 * (size_t)c->runs, n = (size_t)b->size_of_group;
	double *all = calloc(each * n, sizeof(*all)),
	       *host = calloc((size_t)c->runs * n, sizeof(*host));
	struct spec_times t;
	double mean_us = 0, last_us = 0;
	size_t r;
	int rc = all && host ? 0 : bench_fail("out of memory");

	if (ranks_agree(b, rc) < 0 || ranks_gather(c->times, (int)each, all) < 0)
		rc = -1;
	for (r = 0; rc == 0 && b->rank == 0 && r < n; r++)
		memcpy(host + r * (size_t)c->runs, all + r * each, (size_t)c->runs * sizeof(*host));
	if (rc == 0 && b->rank == 0 &&
	    (spec_times(host, b->size_of_group, c->runs, &t) < 0 ||
	     nic_times(c, all, &mean_us, &last_us) < 0))
		rc = -1;
	if (rc == 0 && b->rank == 0)
		json_array_append_new(
		    b->rows, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
				       c->spec->name, "ranks", b->size_of_group, "runs", c->runs,
				       "us", t.median_us, "min_us", t.min_us, "max_us", t.max_us,
				       "p95_us", t.p95_us, "slowest_us", t.slowest_us, "nic_us",
				       mean_us, "nic_last_us", last_us));
	free(all);
	free(host);
	return rc;
}

static int measure(struct coll *c)
{
	double warm = clock_now_us();
	int i;

	for (i = 1; i <= WARM_RUNS; i++) {
		if (one(c, i, NULL, NULL) < 0)
			return -1;
	}
	c->runs = ranks_iters(c->b, (clock_now_us() - warm) / WARM_RUNS, MIN_RUNS, MAX_RUNS);
	if (c->runs < 0)
		return -1;
	c->times = calloc((size_t)c->runs * 3, sizeof(*c->times));
	if (ranks_agree(c->b, c->times ? 0 : bench_fail("out of memory")) < 0)
		return -1;
	for (i = 0; i < c->runs; i++) {
		if (one(c, WARM_RUNS + 1 + i, &c->times[i], &c->times[c->runs + 2 * i]) < 0)
			return -1;
	}
	if (c->wrong)
		return bench_fail("%s: rank %d: %llu wrong words or early ranks", c->spec->name,
				  c->b->rank, (unsigned long long)c->wrong);
	return report(c);
}

/* Pages of their own, or a piece of the brk heap, of any size. */
static void *get_buffer(const struct bench *b, size_t bytes)
{
	if (!b->heap)
		return spec_alloc(bytes);
	mallopt(M_MMAP_MAX, 0);
	return calloc(1, bytes);
}

static void put_buffer(const struct bench *b, void *mem, size_t bytes)
{
	if (b->heap)
		free(mem);
	else
		spec_free(mem, bytes);
}

static int one_spec(struct bench *b, const struct spec *spec)
{
	size_t room = spec_room(spec, b->size_of_group);
	struct coll c = {.b = b, .spec = spec};
	int rc = -1;

	c.send = get_buffer(b, room);
	c.recv = get_buffer(b, room);
	if (c.send && c.recv) {
		c.sched = coll_schedule(spec, c.send, c.recv);
		if (!c.sched)
			bench_goal_fail(spec->name);
	} else {
		bench_fail("out of memory");
	}
	if (ranks_agree(b, c.sched ? 0 : -1) == 0)
		rc = measure(&c);
	if (c.sched)
		GOAL_FreeSchedule(c.sched);
	/* The check of the next barrier begins anew. */
	if (rc == 0 && b->shared)
		b->shared->entered[b->rank].round = 0;
	if (rc == 0)
		rc = ranks_sync(b);
	put_buffer(b, c.send, room);
	put_buffer(b, c.recv, room);
	free(c.times);
	return rc;
}

int coll_run(struct bench *b)
{
	int i, rc = 0;

	for (i = 0; i < b->num_specs && rc == 0; i++)
		rc = one_spec(b, &b->spec[i]);
	return rc;
}
