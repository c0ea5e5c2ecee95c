/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that only move data, on simulated NICs: broadcast, gather, scatter, allgather,
 * alltoall; every algorithm, all numbers of ranks, roots, in place, under faults, long blocks.
 *
 * WEFT_COLL_SWEEP=N: all numbers of ranks from 1 to 64 and N times as many drawn cases.
 */
#include "tests/sim/goal_coll_fix.h"

#define ALL_FAULTS "loss=2,dup=2,reorder=5,corrupt=0.5,jitter"

struct variant {
	GOAL_Collective coll;
	GOAL_Algorithm alg;
};

static const struct variant variants[] = {
    {GOAL_COLL_BCAST, GOAL_ALG_BINOMIAL},
    {GOAL_COLL_BCAST, GOAL_ALG_CHAIN},
    {GOAL_COLL_BCAST, GOAL_ALG_SCATTER_ALLGATHER},
    {GOAL_COLL_BCAST, GOAL_ALG_MULTICAST},
    {GOAL_COLL_GATHER, GOAL_ALG_LINEAR},
    {GOAL_COLL_GATHER, GOAL_ALG_LINEAR_SYNC_32K},
    {GOAL_COLL_GATHER, GOAL_ALG_LINEAR_SYNC_1K},
    {GOAL_COLL_GATHER, GOAL_ALG_BINOMIAL},
    {GOAL_COLL_SCATTER, GOAL_ALG_LINEAR},
    {GOAL_COLL_SCATTER, GOAL_ALG_BINOMIAL},
    {GOAL_COLL_ALLGATHER, GOAL_ALG_RING},
    {GOAL_COLL_ALLGATHER, GOAL_ALG_BRUCK},
    {GOAL_COLL_ALLGATHER, GOAL_ALG_RECURSIVE_DOUBLING},
    {GOAL_COLL_ALLTOALL, GOAL_ALG_PAIRWISE},
    {GOAL_COLL_ALLTOALL, GOAL_ALG_BRUCK},
};
enum {
	VARIANTS = sizeof(variants) / sizeof(variants[0]),
};

static bool has_root(GOAL_Collective coll)
{
	return coll == GOAL_COLL_BCAST || coll == GOAL_COLL_GATHER || coll == GOAL_COLL_SCATTER;
}

static void run(struct goal_fix *fix, const struct variant *v, uint32_t root, uint64_t bytes,
		bool in_place, uint32_t runs)
{
	const struct coll_case cc = {.coll = v->coll,
				     .alg = v->alg,
				     .count = bytes,
				     .root = root,
				     .op = GOAL_COPY,
				     .type = GOAL_UINT,
				     .in_place = in_place,
				     .runs = runs};

	coll_fix_run(fix, &cc);
}

/* Every algorithm with one number of ranks; sizes in turn. */
static void every_variant(uint32_t ranks, bool all_roots)
{
	static const uint64_t sizes[] = {0, 1, 7, 64, 300, 1024, 1500, 4096};
	uint32_t limit = ranks > 17 ? 7 : 8, i, root, turn = ranks;
	uint64_t state = ranks;
	struct goal_fix fix;

	coll_fix_begin(&fix, ranks, ranks, sizes[limit - 1], NULL);
	for (i = 0; i < VARIANTS; i++) {
		uint32_t first = coll_fix_draw(&state, ranks), last = first;

		if (has_root(variants[i].coll) && all_roots) {
			first = 0;
			last = ranks - 1;
		}
		if (!has_root(variants[i].coll))
			first = last = 0;
		for (root = first; root <= last; root++, turn++)
			run(&fix, &variants[i], root, sizes[turn % limit], turn % 3 == 0, 1);
		if (ranks <= 17 || coll_fix_sweep() > 1)
			run(&fix, &variants[i], last, sizes[1 + turn % (limit - 1)], turn % 3 == 1,
			    2);
	}
	goal_fix_end(&fix);
}

static void few_ranks(void)
{
	uint32_t ranks;

	for (ranks = 1; ranks <= 8; ranks++)
		every_variant(ranks, true);
	for (; ranks <= 17; ranks++)
		every_variant(ranks, coll_fix_sweep() > 1);
}

static void many_ranks(void)
{
	static const uint32_t some[] = {31, 32, 33, 63, 64};
	uint32_t i;

	if (coll_fix_sweep() > 1) {
		for (i = 18; i <= 64; i++)
			every_variant(i, false);
		return;
	}
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		every_variant(some[i], false);
}

static void under_faults(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed;
		uint32_t ranks = 2 + coll_fix_draw(&state, 10);
		const struct goal_fix_attr attr = {.faults = ALL_FAULTS,
						   .ranks_per_nic = 1 + coll_fix_draw(&state, 3),
						   .num_shards = 1 + coll_fix_draw(&state, 2),
						   .unmapped = seed % 2};
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, 8192, &attr);
		for (i = 0; i < VARIANTS; i++) {
			uint32_t root =
			    has_root(variants[i].coll) ? coll_fix_draw(&state, ranks) : 0;

			run(&fix, &variants[i], root, 1 + coll_fix_draw(&state, 8192),
			    coll_fix_draw(&state, 2), 2);
		}
		goal_fix_end(&fix);
	}
}

/* All ranks on one NIC: messages go through its own loop. */
static void one_nic(void)
{
	const struct goal_fix_attr attr = {.ranks_per_nic = 8};
	struct goal_fix fix;
	uint32_t i;

	coll_fix_begin(&fix, 1, 7, 4096, &attr);
	for (i = 0; i < VARIANTS; i++)
		run(&fix, &variants[i], has_root(variants[i].coll) ? 3 : 0, 2000, false, 2);
	goal_fix_end(&fix);
}

/* Beyond the eager limit, where a send ends only when its receive has begun. */
static void long_blocks(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed * 77;
		uint32_t ranks = 2 + coll_fix_draw(&state, 6), largest = 1048576 / ranks;
		const struct goal_fix_attr attr = {.eager_bytes = seed % 2 ? 4096 : 0};
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, 1048576, &attr);
		for (i = 0; i < VARIANTS; i++) {
			uint32_t limit = has_root(variants[i].coll) ? 1048576 : largest;
			uint32_t root =
			    has_root(variants[i].coll) ? coll_fix_draw(&state, ranks) : 0;

			run(&fix, &variants[i], root, 1 + coll_fix_draw(&state, limit),
			    coll_fix_draw(&state, 2), 1);
		}
		goal_fix_end(&fix);
	}
}

/* Blocks to 16 MiB, drawn. */
static void longest_blocks(void)
{
	uint64_t seed;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed * 1009;
		const struct variant *v = &variants[coll_fix_draw(&state, VARIANTS)];
		uint32_t ranks = 2 + coll_fix_draw(&state, 2);
		uint32_t bytes = 16777216 - coll_fix_draw(&state, seed == 1 ? 1 : 12000000);
		uint32_t root = has_root(v->coll) ? coll_fix_draw(&state, ranks) : 0;
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, bytes, NULL);
		run(&fix, v, root, bytes, seed % 2, 1);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_coll_move", UT(few_ranks), UT(many_ranks), UT(under_faults), UT(one_nic),
	UT(long_blocks), UT(longest_blocks))
