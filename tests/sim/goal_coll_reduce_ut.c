/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that combine, on simulated NICs: reduce, allreduce, reduce-scatter, scans; every
 * algorithm, all numbers of ranks, roots, operations, types, in place, under faults, long vectors,
 * and the same bits at all ranks and in all runs.
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
    {GOAL_COLL_REDUCE, GOAL_ALG_LINEAR},
    {GOAL_COLL_REDUCE, GOAL_ALG_BINOMIAL},
    {GOAL_COLL_ALLREDUCE, GOAL_ALG_RECURSIVE_DOUBLING},
    {GOAL_COLL_ALLREDUCE, GOAL_ALG_RING},
    {GOAL_COLL_ALLREDUCE, GOAL_ALG_RABENSEIFNER},
    {GOAL_COLL_ALLREDUCE, GOAL_ALG_MULTICAST},
    {GOAL_COLL_REDUCE_SCATTER, GOAL_ALG_RING},
    {GOAL_COLL_REDUCE_SCATTER, GOAL_ALG_PAIRWISE},
    {GOAL_COLL_REDUCE_SCATTER, GOAL_ALG_RECURSIVE_HALVING},
    {GOAL_COLL_SCAN, GOAL_ALG_LINEAR},
    {GOAL_COLL_SCAN, GOAL_ALG_RECURSIVE_DOUBLING},
    {GOAL_COLL_EXSCAN, GOAL_ALG_LINEAR},
    {GOAL_COLL_EXSCAN, GOAL_ALG_RECURSIVE_DOUBLING},
};
enum {
	VARIANTS = sizeof(variants) / sizeof(variants[0]),
};

/* Every legal triple of operation, type and width, in turn. */
enum {
	KINDS = 10 * 8 + 4 * 2,
};
static void next_kind(struct coll_case *cc, uint32_t *turn)
{
	static const GOAL_Op ops[] = {GOAL_ADD, GOAL_MUL, GOAL_MAX,  GOAL_MIN, GOAL_AND,
				      GOAL_OR,  GOAL_XOR, GOAL_LAND, GOAL_LOR, GOAL_LXOR};
	uint32_t k = (*turn)++ % KINDS;

	if (k >= 10 * 8) {
		cc->type = GOAL_FLOAT;
		cc->op = ops[(k - 10 * 8) % 4];
		cc->width = k % 2 ? 32 : 64;
		return;
	}
	cc->op = ops[k % 10];
	cc->type = k / 10 % 2 ? GOAL_SINT : GOAL_UINT;
	cc->width = 8u << k / 20;
}

static void run(struct goal_fix *fix, const struct variant *v, uint32_t root, uint64_t max_bytes,
		bool in_place, uint32_t *turn)
{
	struct coll_case cc = {
	    .coll = v->coll, .alg = v->alg, .root = root, .in_place = in_place, .runs = 1};

	next_kind(&cc, turn);
	cc.count = max_bytes / (cc.width / 8);
	coll_fix_run(fix, &cc);
}

static void every_variant(uint32_t ranks, bool all_roots, uint32_t *turn)
{
	static const uint64_t sizes[] = {0, 8, 24, 64, 304, 1000, 4096};
	uint32_t limit = ranks > 17 ? 6 : 7, i, root, first, last;
	uint64_t state = ranks;
	struct goal_fix fix;

	coll_fix_begin(&fix, ranks, ranks, sizes[limit - 1], NULL);
	for (i = 0; i < VARIANTS; i++) {
		first = last = 0;
		if (variants[i].coll == GOAL_COLL_REDUCE) {
			first = all_roots ? 0 : coll_fix_draw(&state, ranks);
			last = all_roots ? ranks - 1 : first;
		}
		for (root = first; root <= last; root++)
			run(&fix, &variants[i], root, sizes[coll_fix_draw(&state, limit)],
			    coll_fix_draw(&state, 2), turn);
		if (ranks <= 17 || coll_fix_sweep() > 1)
			run(&fix, &variants[i], last, sizes[1 + coll_fix_draw(&state, limit - 1)],
			    ranks % 2, turn);
	}
	goal_fix_end(&fix);
}

static void few_ranks(void)
{
	uint32_t ranks, turn = 0;

	for (ranks = 1; ranks <= 17; ranks++)
		every_variant(ranks, ranks <= 6 || coll_fix_sweep() > 1, &turn);
}

static void many_ranks(void)
{
	static const uint32_t some[] = {31, 33, 64};
	uint32_t i, turn = 0;

	if (coll_fix_sweep() > 1) {
		for (i = 18; i <= 64; i++)
			every_variant(i, false, &turn);
		return;
	}
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		every_variant(some[i], false, &turn);
}

/* Each operation with each type, at 6 ranks. */
static void operations(void)
{
	struct goal_fix fix;
	uint32_t turn, i;

	coll_fix_begin(&fix, 1, 6, 1024, NULL);
	for (i = 0; i < VARIANTS; i += 5)
		for (turn = 0; turn < KINDS;)
			run(&fix, &variants[i], variants[i].coll == GOAL_COLL_REDUCE ? 4 : 0, 200,
			    false, &turn);
	goal_fix_end(&fix);
}

static void under_faults(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed;
		uint32_t ranks = 2 + coll_fix_draw(&state, 10), turn = (uint32_t)seed * 5;
		const struct goal_fix_attr attr = {.faults = ALL_FAULTS,
						   .ranks_per_nic = 1 + coll_fix_draw(&state, 3),
						   .num_shards = 1 + coll_fix_draw(&state, 2),
						   .unmapped = seed % 2};
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, 8192, &attr);
		for (i = 0; i < 2 * VARIANTS; i++)
			run(&fix, &variants[i % VARIANTS],
			    variants[i % VARIANTS].coll == GOAL_COLL_REDUCE
				? coll_fix_draw(&state, ranks)
				: 0,
			    8 + coll_fix_draw(&state, 8184), coll_fix_draw(&state, 2), &turn);
		goal_fix_end(&fix);
	}
}

/* Beyond the eager limit, where a send ends only when its receive has begun. */
static void long_vectors(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed * 99;
		uint32_t ranks = 2 + coll_fix_draw(&state, 6), turn = (uint32_t)seed * 9;
		const struct goal_fix_attr attr = {.eager_bytes = seed % 2 ? 4096 : 0};
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, 1048576, &attr);
		for (i = 0; i < VARIANTS; i++) {
			bool blocks = variants[i].coll == GOAL_COLL_REDUCE_SCATTER;
			bool rooted = variants[i].coll == GOAL_COLL_REDUCE;
			uint32_t limit = blocks ? 1048576 / ranks : 1048576;

			run(&fix, &variants[i], rooted ? coll_fix_draw(&state, ranks) : 0,
			    8 + coll_fix_draw(&state, limit - 8), coll_fix_draw(&state, 2), &turn);
		}
		goal_fix_end(&fix);
	}
}

/* Vectors to 16 MiB, drawn. */
static void longest_vectors(void)
{
	uint64_t seed;

	for (seed = 1; seed <= coll_fix_sweep(); seed++) {
		uint64_t state = seed * 2003;
		const struct variant *v = &variants[coll_fix_draw(&state, VARIANTS)];
		uint32_t ranks = 2 + coll_fix_draw(&state, 2), turn = (uint32_t)seed;
		uint32_t bytes = 16777216 - coll_fix_draw(&state, seed == 1 ? 1 : 12000000);
		struct goal_fix fix;

		coll_fix_begin(&fix, seed, ranks, bytes, NULL);
		run(&fix, v, v->coll == GOAL_COLL_REDUCE ? coll_fix_draw(&state, ranks) : 0, bytes,
		    seed % 2, &turn);
		goal_fix_end(&fix);
	}
}

/* Sums of floats of very different size, which depend on the order in which they are made. */
static void floats(struct goal_fix *fix, const struct variant *v, uint32_t count)
{
	uint8_t *first = malloc((size_t)count * 4);
	uint32_t i, k, round;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *graph = goal_graph_new(i, fix->num);
		float *in = (float *)(void *)fix->rank[i].buf;
		const struct goal_coll_call call = {.coll = v->coll,
						    .alg = v->alg,
						    .send = in,
						    .recv = in + count,
						    .count = count,
						    .op = GOAL_ADD,
						    .type = GOAL_FLOAT,
						    .width = 32};

		for (k = 0; k < count; k++)
			in[k] = (float)(1 << (i * 5 + k) % 29) / 3.0f * (k % 2 ? -1.0f : 1.0f);
		FIX_REQUIRE(fix, goal_coll_build(graph, &call) == 0);
		goal_fix_load(fix, i, graph);
	}
	for (round = 0; round < 4; round++) {
		FIX_REQUIRE(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < fix->num; i++) {
			uint8_t *out = fix->rank[i].buf + (size_t)count * 4;

			if (!round && !i)
				memcpy(first, out, (size_t)count * 4);
			FIX_CHECK(fix, memcmp(first, out, (size_t)count * 4) == 0);
		}
	}
	free(first);
}

/* Each rank has the same bits, in every run, whatever the network does. */
static void same_bits_everywhere(void)
{
	const struct goal_fix_attr attr = {.faults = ALL_FAULTS};
	uint32_t ranks, i;

	for (ranks = 3; ranks <= 13; ranks += 5) {
		struct goal_fix fix;

		goal_fix_begin(&fix, ranks, ranks, &attr);
		for (i = 0; i < VARIANTS; i++)
			if (variants[i].coll == GOAL_COLL_ALLREDUCE)
				floats(&fix, &variants[i], 50);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_coll_reduce", UT(few_ranks), UT(many_ranks), UT(operations), UT(under_faults),
	UT(long_vectors), UT(longest_vectors), UT(same_bits_everywhere))
