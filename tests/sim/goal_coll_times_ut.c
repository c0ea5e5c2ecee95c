/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long each algorithm takes on the simulator's default network, and that the automatic choice
 * is never far from the best. Virtual time: the same in every run.
 *
 * WEFT_COLL_TIMES=1 prints the table, of more sizes and ranks, that the rules were made from.
 */
#include "tests/sim/goal_coll_fix.h"

/* Auto may take so many times as long as the best algorithm would have. */
#define SLACK 1.4

static bool prints(void)
{
	return getenv("WEFT_COLL_TIMES") != NULL;
}

static uint64_t time_ns(struct goal_fix *fix, GOAL_Collective coll, GOAL_Algorithm alg,
			uint64_t bytes)
{
	bool moves = coll == GOAL_COLL_BARRIER || coll == GOAL_COLL_BCAST ||
		     coll == GOAL_COLL_GATHER || coll == GOAL_COLL_SCATTER ||
		     coll == GOAL_COLL_ALLGATHER || coll == GOAL_COLL_ALLTOALL;
	const struct coll_case cc = {.coll = coll,
				     .alg = alg,
				     .count = moves ? bytes : bytes / 8,
				     .op = moves ? GOAL_COPY : GOAL_ADD,
				     .type = GOAL_UINT,
				     .width = moves ? 0 : 64,
				     .runs = 2};

	return coll_fix_run(fix, &cc);
}

static void compare(struct goal_fix *fix, GOAL_Collective coll, uint64_t bytes)
{
	GOAL_Algorithm chosen = goal_coll_choose(coll, fix->num, bytes, false);
	uint64_t best = UINT64_MAX, ours = 0, ns;
	int alg;

	if (prints())
		printf("\n%-14s %2u ranks %7llu bytes:", GOAL_CollectiveName(coll), fix->num,
		       (unsigned long long)bytes);
	for (alg = 0; alg < GOAL_ALGORITHMS; alg++) {
		if (!GOAL_HasAlgorithm(coll, (GOAL_Algorithm)alg))
			continue;
		ns = time_ns(fix, coll, (GOAL_Algorithm)alg, bytes);
		best = ns < best ? ns : best;
		ours = alg == (int)chosen ? ns : ours;
		if (prints())
			printf("  %s%s %.1f", alg == (int)chosen ? "*" : "",
			       GOAL_AlgorithmName((GOAL_Algorithm)alg), (double)ns / 1000);
	}
	if (!prints() && (double)ours > SLACK * (double)best)
		printf("\n    %s, %u ranks, %llu bytes: %s takes %.2f times as long as the best",
		       GOAL_CollectiveName(coll), fix->num, (unsigned long long)bytes,
		       GOAL_AlgorithmName(chosen), (double)ours / (double)best);
	FIX_CHECK(fix, ours && (prints() || (double)ours <= SLACK * (double)best));
}

/* The rules of ESPGOAL for barrier and gather are kept unchanged. */
static void choice_is_near_the_best(void)
{
	static const GOAL_Collective colls[] = {
	    GOAL_COLL_BCAST,     GOAL_COLL_SCATTER,        GOAL_COLL_REDUCE,   GOAL_COLL_ALLREDUCE,
	    GOAL_COLL_ALLGATHER, GOAL_COLL_REDUCE_SCATTER, GOAL_COLL_ALLTOALL, GOAL_COLL_SCAN,
	    GOAL_COLL_GATHER,    GOAL_COLL_BARRIER,
	};
	static const uint32_t ranks[] = {4, 8, 6, 16, 64};
	static const uint64_t sizes[] = {8, 256, 1024, 4096, 8192, 16384, 65536, 262144};
	uint32_t r, i, k;
	struct goal_fix fix;

	/* Powers of two, and a count that is none. */
	for (r = 0; r < (prints() ? 5 : 3); r++) {
		uint64_t largest = !prints() ? 65536 : ranks[r] > 16 ? 1024 : 262144;

		coll_fix_begin(&fix, 1, ranks[r], largest, NULL);
		for (k = 0; k < (prints() ? 10 : 8); k++)
			for (i = 0; i < 8 && sizes[i] <= largest; i += prints() ? 1 : 3)
				if ((colls[k] != GOAL_COLL_BARRIER || !i) &&
				    (ranks[r] != 6 || prints() || colls[k] == GOAL_COLL_ALLREDUCE))
					compare(&fix, colls[k], sizes[i]);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_coll_times", UT(choice_is_near_the_best))
