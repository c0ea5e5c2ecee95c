/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time that the processors alone take for a barrier: the ranks count in shared memory, and yield
 * their CPU until all have counted. Each has to be scheduled once, on CPUs that are fewer than the
 * ranks; no NIC takes part. A barrier of the same ranks on the same CPUs can only take longer.
 * Calls sched_yield(2).
 */
#include <sched.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"

enum {
	WARM_ROUNDS = 100,
	MIN_ROUNDS = 100,
	MAX_ROUNDS = 100000,
};

static double turn(struct bench *b, uint32_t round)
{
	uint32_t *count = &b->shared->turns, all = round * (uint32_t)b->size_of_group;
	double start = clock_now_us();

	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
	while ((int32_t)(__atomic_load_n(count, __ATOMIC_ACQUIRE) - all) < 0)
		sched_yield();
	return clock_now_us() - start;
}

int turns_run(struct bench *b)
{
	double *times, warm = clock_now_us();
	int i, rounds;

	if (!b->shared)
		return bench_fail("turns: the ranks have to be goal-bench's own");
	for (i = 1; i <= WARM_ROUNDS; i++)
		(void)turn(b, (uint32_t)i);
	rounds = ranks_iters(b, (clock_now_us() - warm) / WARM_ROUNDS, MIN_ROUNDS, MAX_ROUNDS);
	times = rounds > 0 ? calloc((size_t)rounds, sizeof(*times)) : NULL;
	if (ranks_agree(b, times ? 0 : bench_fail("out of memory")) < 0) {
		free(times);
		return -1;
	}
	for (i = 0; i < rounds; i++)
		times[i] = turn(b, (uint32_t)(WARM_ROUNDS + 1 + i));
	if (b->rank == 0) {
		double us = stats_median_mean(times, (size_t)rounds);

		json_array_append_new(b->rows, json_pack("{s:s, s:i, s:i, s:f, s:f}", "name",
							 "turns", "ranks", b->size_of_group, "runs",
							 rounds, "us", us, "min_us", times[0]));
	}
	free(times);
	return ranks_sync(b);
}
