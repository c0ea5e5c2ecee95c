/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of blocks of different sizes, on simulated NICs: exchanges of drawn blocks between
 * all ranks, reduce-scatters with drawn counts; few and large bytes, under faults.
 *
 * WEFT_COLL_SWEEP=N: N times as many.
 */
#include "tests/sim/goal_coll_fix.h"

enum {
	MAX_RANKS = 12,
	HALF = 1 << 19, /* of a rank's buffer: what it sends, then what it receives */
};

/* Blocks that one rank sends another; each has the tag of its number. */
enum {
	BLOCKS = 2,
};

static uint32_t bytes_of(uint64_t seed, uint32_t from, uint32_t to, uint32_t block)
{
	uint64_t state = seed * 1000003 + from * 1009 + to * 31 + block;
	static const uint32_t limits[] = {1, 40, 3000, 20000};

	(void)coll_fix_draw(&state, 2);
	return coll_fix_draw(&state, limits[coll_fix_draw(&state, 4)]);
}

static uint8_t value(uint32_t from, uint32_t to, uint32_t block, uint32_t i)
{
	return (uint8_t)(from * 97 + to * 13 + block * 5 + i * 7 + i / 251);
}

/* Lists a rank's blocks in one direction; returns their number. Every second begins after a gap. */
static uint32_t list(uint64_t seed, uint32_t ranks, uint32_t rank, bool sends, GOAL_Block *blocks)
{
	uint32_t num = 0, i, k;
	int64_t at = 0;

	for (i = 0; i < ranks; i++)
		for (k = 0; k < BLOCKS; k++) {
			uint32_t bytes =
			    sends ? bytes_of(seed, rank, i, k) : bytes_of(seed, i, rank, k);

			blocks[num++] = (GOAL_Block){(int)i, (int)k, at, bytes};
			at += bytes + 3 * k;
		}
	return num;
}

static void fill_sends(struct goal_fix *fix, uint32_t rank, const GOAL_Block *sends, uint32_t num)
{
	uint8_t *buf = fix->rank[rank].buf;
	uint32_t i;
	int64_t k;

	memset(buf, 0xa5, fix->bytes);
	for (i = 0; i < num; i++)
		for (k = 0; k < sends[i].bytes; k++)
			buf[sends[i].offset + k] = value(rank, (uint32_t)sends[i].rank,
							 (uint32_t)sends[i].tag, (uint32_t)k);
}

static bool arrived(const struct goal_fix *fix, uint32_t rank, const GOAL_Block *recvs,
		    uint32_t num)
{
	const uint8_t *buf = fix->rank[rank].buf + HALF;
	uint8_t *want = malloc(HALF);
	bool right;
	uint32_t i;
	int64_t k;

	FIX_REQUIRE(fix, want != NULL);
	memset(want, 0xa5, HALF);
	for (i = 0; i < num; i++)
		for (k = 0; k < recvs[i].bytes; k++)
			want[recvs[i].offset + k] = value((uint32_t)recvs[i].rank, rank,
							  (uint32_t)recvs[i].tag, (uint32_t)k);
	right = memcmp(want, buf, HALF) == 0;
	free(want);
	return right;
}

static void exchange(struct goal_fix *fix, uint64_t seed, GOAL_Algorithm alg)
{
	GOAL_Block sends[MAX_RANKS * BLOCKS], recvs[MAX_RANKS * BLOCKS];
	uint32_t i;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *graph = goal_graph_new(i, fix->num);
		struct goal_coll_call call = {.coll = GOAL_COLL_EXCHANGE,
					      .alg = alg,
					      .send = fix->rank[i].buf,
					      .recv = fix->rank[i].buf + HALF,
					      .op = GOAL_COPY,
					      .type = GOAL_UINT,
					      .width = 8,
					      .sends = sends,
					      .recvs = recvs};

		call.num_sends = list(seed, fix->num, i, true, sends);
		call.num_recvs = list(seed, fix->num, i, false, recvs);
		fill_sends(fix, i, sends, call.num_sends);
		FIX_REQUIRE(fix, graph && goal_coll_build(graph, &call) == 0);
		goal_fix_load(fix, i, graph);
	}
	FIX_REQUIRE(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
	for (i = 0; i < fix->num; i++) {
		uint32_t num = list(seed, fix->num, i, false, recvs);

		FIX_REQUIRE(fix, arrived(fix, i, recvs, num));
		FIX_CHECK(fix, weft_goal_unload(fix->rank[i].goal, fix->rank[i].schedule) == 0);
	}
}

/* Sums of small whole numbers: element i of rank r is r + i. */
static void reduce_scatter(struct goal_fix *fix, uint64_t seed, GOAL_Algorithm alg, bool in_place)
{
	int64_t counts[MAX_RANKS] = {0}, start = 0;
	uint64_t sum = 0, i, total = 0;
	uint32_t r, k;

	for (r = 0; r < fix->num; r++) {
		counts[r] = bytes_of(seed, r, 0, 0) / 4;
		total += (uint64_t)counts[r];
		sum += r;
	}
	for (r = 0; r < fix->num; r++) {
		struct goal_graph *graph = goal_graph_new(r, fix->num);
		double *send = (double *)(void *)fix->rank[r].buf;
		struct goal_coll_call call = {.coll = GOAL_COLL_REDUCE_SCATTER,
					      .alg = alg,
					      .send = in_place ? GOAL_IN_PLACE : send,
					      .recv = in_place ? send : send + HALF / 8,
					      .op = GOAL_ADD,
					      .type = GOAL_FLOAT,
					      .width = 64,
					      .counts = counts};

		for (i = 0; i < total; i++)
			send[i] = (double)(r + i);
		FIX_REQUIRE(fix, graph && goal_coll_build(graph, &call) == 0);
		goal_fix_load(fix, r, graph);
	}
	FIX_REQUIRE(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
	for (r = 0; r < fix->num; start += counts[r++]) {
		const double *got = (double *)(void *)fix->rank[r].buf + (in_place ? 0 : HALF / 8);

		for (k = 0; k < counts[r]; k++)
			FIX_REQUIRE(fix,
				    got[k] == (double)(sum + fix->num * ((uint64_t)start + k)));
		FIX_CHECK(fix, weft_goal_unload(fix->rank[r].goal, fix->rank[r].schedule) == 0);
	}
}

static void one(uint64_t seed, const struct goal_fix_attr *attr)
{
	static const GOAL_Algorithm algs[] = {GOAL_ALG_RING, GOAL_ALG_PAIRWISE,
					      GOAL_ALG_RECURSIVE_HALVING};
	uint32_t ranks = 1 + (uint32_t)(seed % MAX_RANKS), i;
	struct goal_fix_attr mine = attr ? *attr : (struct goal_fix_attr){0};
	struct goal_fix fix;

	mine.bytes = 2 * HALF;
	mine.pool_bytes = 4 << 20;
	goal_fix_begin(&fix, seed, ranks, &mine);
	exchange(&fix, seed, GOAL_ALG_LINEAR);
	exchange(&fix, seed + 1, GOAL_ALG_PAIRWISE);
	for (i = 0; i < 3; i++)
		reduce_scatter(&fix, seed + i, algs[i], (seed + i) % 2);
	goal_fix_end(&fix);
}

static void drawn_sizes(void)
{
	uint64_t seed;

	for (seed = 0; seed < MAX_RANKS * (uint64_t)coll_fix_sweep(); seed++)
		one(seed, NULL);
}

static void under_faults(void)
{
	const struct goal_fix_attr attr = {.faults = "loss=2,dup=2,reorder=5,corrupt=0.5,jitter",
					   .ranks_per_nic = 2};
	uint64_t seed;

	for (seed = 1; seed <= 2 * (uint64_t)coll_fix_sweep(); seed++)
		one(seed * 5, &attr);
}

UT_MAIN("sim/goal_coll_vary", UT(drawn_sizes), UT(under_faults))
