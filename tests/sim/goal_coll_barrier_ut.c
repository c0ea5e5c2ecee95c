/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers: in any order and spread of the ranks' starts, no rank's run ends before every rank's
 * run has begun. All numbers of ranks from 1 to 64, with faults and without.
 *
 * WEFT_COLL_SWEEP=N: N times as many rounds for each.
 */
#include "tests/sim/goal_coll_fix.h"

#define SOME_FAULTS "loss=1,dup=1,reorder=3,jitter"

enum {
	SPREAD_NS = 20000,
	LATE_NS = 150000, /* much longer than a barrier takes without a late rank */
};

static void load(struct goal_fix *fix, GOAL_Algorithm alg)
{
	const struct goal_coll_call call = {
	    .coll = GOAL_COLL_BARRIER, .alg = alg, .type = GOAL_UINT, .width = 8};
	uint32_t i;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *graph = goal_graph_new(i, fix->num);

		FIX_REQUIRE(fix, graph && goal_coll_build(graph, &call) == 0);
		goal_fix_load(fix, i, graph);
	}
}

/* Ranks start in a drawn order at drawn times, one of them long after all others. */
static void one_round(struct goal_fix *fix, uint32_t late, uint64_t *state)
{
	uint32_t order[GOAL_FIX_RANKS], run[GOAL_FIX_RANKS], i;
	struct weft_goal_result result;

	for (i = 0; i < fix->num; i++)
		order[i] = i;
	for (i = fix->num - 1; i > 0; i--) {
		uint32_t k = coll_fix_draw(state, i + 1), rank = order[i];

		order[i] = order[k];
		order[k] = rank;
	}
	for (i = 0; i < fix->num; i++) {
		if (order[i] == late)
			continue;
		run[order[i]] = goal_fix_start(fix, order[i], 0);
		sim_run_for(fix->sim, coll_fix_draw(state, 2 * SPREAD_NS / fix->num + 1));
	}
	sim_run_for(fix->sim, LATE_NS);
	for (i = 0; i < fix->num; i++)
		FIX_CHECK(fix, i == late || !weft_goal_test(fix->rank[i].goal, run[i]));
	run[late] = goal_fix_start(fix, late, 0);
	for (i = 0; i < fix->num; i++) {
		FIX_REQUIRE(fix, goal_fix_wait(fix, i, run[i], &result));
		FIX_CHECK(fix, result.status == HW_GOAL_OK);
	}
}

/*
 * Late ranks: both ends, the ranks at and next to the power of two and their partners, and drawn
 * ones.
 */
static void rounds(struct goal_fix *fix, uint64_t *state)
{
	uint32_t power = goal_coll_pow2(fix->num), i;
	const uint32_t late[] = {0,
				 fix->num - 1,
				 power % fix->num,
				 power - 1,
				 fix->num - power,
				 (fix->num - 1) - (fix->num > power ? power : 0),
				 coll_fix_draw(state, fix->num)};

	for (i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		one_round(fix, late[i] % fix->num, state);
	for (i = 1; i < coll_fix_sweep(); i++)
		one_round(fix, coll_fix_draw(state, fix->num), state);
}

static void all_numbers(const char *faults, uint32_t from, uint32_t to, uint32_t by)
{
	static const GOAL_Algorithm algs[] = {GOAL_ALG_RECURSIVE_DOUBLING, GOAL_ALG_BRUCK};
	uint32_t ranks, a, i;

	for (ranks = from; ranks <= to; ranks += by) {
		const struct goal_fix_attr attr = {.faults = faults,
						   .ranks_per_nic = 1 + ranks % 3,
						   .pool_bytes = 65536,
						   .bytes = 4096};
		uint64_t state = ranks;
		struct goal_fix fix;

		goal_fix_begin(&fix, ranks, ranks, &attr);
		for (a = 0; a < 2; a++) {
			load(&fix, algs[a]);
			rounds(&fix, &state);
			for (i = 0; i < fix.num; i++)
				FIX_CHECK(&fix, weft_goal_unload(fix.rank[i].goal,
								 fix.rank[i].schedule) == 0);
		}
		goal_fix_end(&fix);
	}
}

static void all_numbers_of_ranks(void)
{
	all_numbers(NULL, 1, GOAL_FIX_RANKS, 1);
}

static void under_faults(void)
{
	all_numbers(SOME_FAULTS, 2, 21, 1);
	all_numbers(SOME_FAULTS, 22, GOAL_FIX_RANKS, 21);
}

UT_MAIN("sim/goal_coll_barrier", UT(all_numbers_of_ranks), UT(under_faults))
