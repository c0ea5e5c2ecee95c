/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: back-pressure lasts as long as a rank is late, and a run fails only when its messages
 * wait for each other in a circle. docs/collectives.md "Full pools".
 */
#include "tests/sim/goal_fix.h"

enum {
	LATE_NS = 3000 * FIX_MS,
	BLOCK = 4000,
	AHEAD = 32, /* runs that a rank is ahead: more than its pool holds */
	POOL = 16384,
};

static const struct goal_fix_attr small_pool = {.bytes = 1 << 20, .pool_bytes = POOL};

/* Every rank's block to rank 0. */
static void gather(struct goal_fix *fix)
{
	uint32_t i, k;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		for (k = 1; !i && k < fix->num; k++)
			goal_fix_recv(g, goal_fix_mem(fix, 0, k * BLOCK, BLOCK), k, 0);
		if (i)
			goal_fix_send(g, goal_fix_mem(fix, i, 0, BLOCK), 0, 0);
		goal_fix_load(fix, i, g);
	}
}

static void ends_well(struct goal_fix *fix, uint32_t rank, uint32_t run)
{
	struct weft_goal_result result = {.status = HW_GOAL_STATUSES};

	FIX_CHECK(fix, goal_fix_wait(fix, rank, run, &result));
	if (result.status != HW_GOAL_OK)
		printf("\n    rank %u: status %u of rank %u", rank, result.status, result.rank);
	FIX_CHECK(fix, result.status == HW_GOAL_OK);
}

/* Rank 1 runs ahead of rank 0, which waits for rank 2 in its first run. */
static void a_late_rank_of_a_gather(void)
{
	uint32_t ahead[AHEAD], run, late, i;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 3, &small_pool);
	gather(&fix);
	run = goal_fix_start(&fix, 0, 0);
	for (i = 0; i < AHEAD; i++)
		ahead[i] = goal_fix_start(&fix, 1, 0);
	sim_run_for(fix.sim, LATE_NS);
	for (i = 0; i < AHEAD; i++) {
		late = goal_fix_start(&fix, 2, 0);
		ends_well(&fix, 2, late);
		ends_well(&fix, 0, run);
		ends_well(&fix, 1, ahead[i]);
		if (i + 1 < AHEAD)
			run = goal_fix_start(&fix, 0, 0);
	}
	goal_fix_end(&fix);
}

/* The root computes for 3 s before it receives the messages that fill its pool. */
static void a_long_calc(void)
{
	struct goal_graph *root = goal_graph_new(0, 2), *leaf = goal_graph_new(1, 2);
	uint32_t run[2], calc, i;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &small_pool);
	calc = (uint32_t)goal_graph_calc(root, LATE_NS, 0);
	for (i = 0; i < AHEAD; i++) {
		goal_fix_after(root, calc,
			       goal_fix_recv(root, goal_fix_mem(&fix, 0, i * BLOCK, BLOCK), 1, i));
		goal_fix_send(leaf, goal_fix_mem(&fix, 1, i * BLOCK, BLOCK), 0, i);
	}
	goal_fix_load(&fix, 0, root);
	goal_fix_load(&fix, 1, leaf);
	for (i = 0; i < 2; i++)
		run[i] = goal_fix_start(&fix, i, 0);
	for (i = 0; i < 2; i++)
		ends_well(&fix, i, run[i]);
	goal_fix_end(&fix);
}

/* Rank 1 receives in the order opposite to that of sending, each after the one before. */
static struct goal_graph *opposite(const struct goal_fix *fix, uint32_t ranks)
{
	struct goal_graph *g = goal_graph_new(1, ranks);
	uint32_t i, last = 0;

	for (i = AHEAD; i-- > 0;) {
		uint32_t v = goal_fix_recv(g, goal_fix_mem(fix, 1, i * BLOCK, BLOCK), 0, i);

		if (i + 1 < AHEAD)
			goal_fix_after(g, last, v);
		last = v;
	}
	return g;
}

/* The same messages in order, one after another. */
static struct goal_graph *in_order(const struct goal_fix *fix, uint32_t ranks)
{
	struct goal_graph *g = goal_graph_new(0, ranks);
	uint32_t i, last = 0;

	for (i = 0; i < AHEAD; i++) {
		uint32_t v = goal_fix_send(g, goal_fix_mem(fix, 0, i * BLOCK, BLOCK), 1, i);

		if (i)
			goal_fix_after(g, last, v);
		last = v;
	}
	return g;
}

static void a_circle_is_found(void)
{
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t run[2], i;

	goal_fix_begin(&fix, 1, 2, &small_pool);
	goal_fix_load(&fix, 0, in_order(&fix, 2));
	goal_fix_load(&fix, 1, opposite(&fix, 2));
	for (i = 0; i < 2; i++)
		run[i] = goal_fix_start(&fix, i, 0);
	for (i = 0; i < 2; i++) {
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_UNEXPECTED && result.rank == 1);
		/* The circle is found by probes, not by a second without progress. */
		FIX_CHECK(&fix, result.finish_ns - result.start_ns < 500 * FIX_MS);
	}
	goal_fix_end(&fix);
}

/* Both ranks fill each other's pool, and receive first what was sent last. */
static void a_circle_of_two(void)
{
	struct weft_goal_result result;
	struct goal_graph *g;
	struct goal_fix fix;
	uint32_t run[2], i, k;

	goal_fix_begin(&fix, 1, 2, &small_pool);
	for (k = 0; k < 2; k++) {
		uint32_t last = 0;

		g = goal_graph_new(k, 2);
		for (i = 0; i < AHEAD; i++)
			goal_fix_send(g, goal_fix_mem(&fix, k, i * BLOCK, BLOCK), 1 - k, i);
		for (i = AHEAD; i-- > 0;) {
			uint32_t v =
			    goal_fix_recv(g, goal_fix_mem(&fix, k, i * BLOCK, BLOCK), 1 - k, i);

			if (i + 1 < AHEAD)
				goal_fix_after(g, last, v);
			last = v;
		}
		goal_fix_load(&fix, k, g);
	}
	for (i = 0; i < 2; i++)
		run[i] = goal_fix_start(&fix, i, 0);
	for (i = 0; i < 2; i++) {
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_UNEXPECTED);
	}
	goal_fix_end(&fix);
}

/*
 * The same order, but another rank's message can still make room: only the run's own time-out ends
 * it.
 */
static void no_circle_while_another_may_help(void)
{
	struct weft_goal_result result;
	struct goal_graph *g;
	struct goal_fix fix;
	uint32_t run[3], i;

	goal_fix_begin(&fix, 1, 3, &small_pool);
	goal_fix_load(&fix, 0, in_order(&fix, 3));
	g = opposite(&fix, 3);
	goal_fix_after(g, goal_fix_recv(g, goal_fix_mem(&fix, 1, 200000, 4), 2, 0),
		       goal_fix_recv(g, goal_fix_mem(&fix, 1, 0, BLOCK), 0, AHEAD));
	goal_fix_load(&fix, 1, g);
	g = goal_graph_new(2, 3);
	goal_fix_send(g, goal_fix_mem(&fix, 2, 0, 4), 1, 0);
	goal_fix_load(&fix, 2, g);
	run[0] = goal_fix_start(&fix, 0, 0);
	run[1] = goal_fix_start(&fix, 1, LATE_NS);
	for (i = 0; i < 2; i++) {
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_TIMEOUT && result.rank == 1);
	}
	goal_fix_end(&fix);
}

/* Runs that the process has not started yet may receive the messages that fill the pool. */
static void no_circle_while_the_process_may_help(void)
{
	uint32_t ahead[AHEAD], run[AHEAD], i, k;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &small_pool);
	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);

		if (i)
			goal_fix_recv(g, goal_fix_mem(&fix, 1, 0, BLOCK), 0, 0);
		else
			goal_fix_send(g, goal_fix_mem(&fix, 0, 0, BLOCK), 1, 0);
		goal_fix_load(&fix, i, g);
	}
	for (i = 0; i < AHEAD; i++)
		ahead[i] = goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, LATE_NS);
	for (k = 0; k < AHEAD; k++)
		run[k] = goal_fix_start(&fix, 1, 0);
	for (i = 0; i < AHEAD; i++) {
		ends_well(&fix, 0, ahead[i]);
		ends_well(&fix, 1, run[i]);
	}
	goal_fix_end(&fix);
}

/*
 * Rank 0 receives rank 1's messages after one of rank 2. Rank 2 sends it when it has one of rank 1,
 * sent after all of those: each waits for another one. delay: rank 2 need not wait, but computes.
 */
static void over_three(struct goal_fix *fix, bool delay)
{
	struct goal_graph *g = goal_graph_new(0, 3);
	uint32_t gate = goal_fix_recv(g, goal_fix_mem(fix, 0, 500000, 4), 2, 0), i, last = 0, v;

	for (i = 0; i < AHEAD; i++)
		goal_fix_after(g, gate,
			       goal_fix_recv(g, goal_fix_mem(fix, 0, i * BLOCK, BLOCK), 1, i));
	goal_fix_load(fix, 0, g);
	g = goal_graph_new(1, 3);
	for (i = 0; i <= AHEAD; i++) {
		bool behind = i == AHEAD;

		v = goal_fix_send(g, goal_fix_mem(fix, 1, i * BLOCK, behind ? 4 : BLOCK),
				  behind ? 2 : 0, i);
		if (i)
			goal_fix_after(g, last, v);
		last = v;
	}
	goal_fix_load(fix, 1, g);
	g = goal_graph_new(2, 3);
	v = goal_fix_recv(g, goal_fix_mem(fix, 2, 0, 4), 1, AHEAD);
	last = goal_fix_send(g, goal_fix_mem(fix, 2, 100, 4), 0, 0);
	goal_fix_after(g, delay ? (uint32_t)goal_graph_calc(g, LATE_NS, 0) : v, last);
	goal_fix_load(fix, 2, g);
}

static void a_circle_over_three(void)
{
	struct goal_fix_attr attr = small_pool;
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t run[3], i;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		attr.faults = seed % 2 ? "loss=3,dup,reorder" : NULL;
		goal_fix_begin(&fix, seed, 3, &attr);
		over_three(&fix, false);
		for (i = 0; i < 2; i++)
			run[i] = goal_fix_start(&fix, i, 0);
		/* As long as rank 2's process may start its part, no run fails. */
		sim_run_for(fix.sim, 1000 * FIX_MS);
		run[2] = goal_fix_start(&fix, 2, 0);
		for (i = 0; i < 3; i++) {
			FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
			FIX_CHECK(&fix, result.status == HW_GOAL_UNEXPECTED && result.rank == 0);
			FIX_CHECK(&fix,
				  i < 2 || result.finish_ns - result.start_ns < 1000 * FIX_MS);
		}
		goal_fix_end(&fix);
	}
}

static void no_circle_while_a_third_computes(void)
{
	struct goal_fix_attr attr = small_pool;
	struct goal_fix fix;
	uint32_t run[3], i;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		attr.faults = seed % 2 ? "loss=3,dup,reorder" : NULL;
		goal_fix_begin(&fix, seed, 3, &attr);
		over_three(&fix, true);
		for (i = 0; i < 3; i++)
			run[i] = goal_fix_start(&fix, i, 0);
		for (i = 0; i < 3; i++)
			ends_well(&fix, i, run[i]);
		goal_fix_end(&fix);
	}
}

/*
 * Gathers with roots in turn, ranks ahead of each other at random, and tiny pools: some rank always
 * waits for others, and none for ever.
 */
static void never_a_circle_by_mistake(void)
{
	/* Seeds that each found a fault of the probes that others did not. */
	static const uint64_t kept[] = {118, 143, UINT64_MAX};
	static const uint64_t last_seed = 143;
	static const uint32_t rounds = 12;
	uint32_t at = 0;
	struct goal_fix_attr attr = {.bytes = 1 << 20, .pool_bytes = 4096};
	struct goal_fix fix;
	uint64_t seed;

	for (seed = 1; seed <= last_seed; seed = seed < 2 * FIX_SEEDS ? seed + 1 : kept[at++]) {
		uint32_t schedule[5][5], run[5][12], started[5] = {0}, i, k, left = 5 * rounds;
		uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);

		/* Keeps many messages in flight for a long time. */
		attr.faults = seed % 4 ? "loss=40,dup,reorder" : NULL;
		goal_fix_begin(&fix, seed, 5, &attr);
		for (i = 0; i < 5; i++)
			for (k = 0; k < 5; k++) {
				struct goal_graph *g = goal_graph_new(i, 5);
				uint32_t from, last = 0;

				/* The root of run k receives in turn and sends nothing. */
				for (from = 1; i == k && from < 5; from++) {
					uint32_t v = goal_fix_recv(
					    g, goal_fix_mem(&fix, i, from * BLOCK, BLOCK),
					    (k + from) % 5, 0);

					if (from > 1)
						goal_fix_after(g, last, v);
					last = v;
				}
				if (i != k)
					goal_fix_send(g, goal_fix_mem(&fix, i, 0, BLOCK), k, 0);
				goal_fix_load(&fix, i, g);
				schedule[i][k] = fix.rank[i].schedule;
			}
		while (left) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			i = (uint32_t)(random >> 33) % 5;
			if (started[i] == rounds)
				continue;
			fix.rank[i].schedule = schedule[i][started[i] % 5];
			run[i][started[i]++] = goal_fix_start(&fix, i, 0);
			left--;
			sim_run_for(fix.sim, (random >> 40) % (40 * FIX_MS));
		}
		for (i = 0; i < 5; i++)
			for (k = 0; k < rounds; k++)
				ends_well(&fix, i, run[i][k]);
		goal_fix_end(&fix);
	}
}

/* Messages to itself that find no room wait for their receives, like others. */
static void messages_to_oneself(void)
{
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t circle;

	for (circle = 0; circle < 2; circle++) {
		struct goal_graph *g = goal_graph_new(0, 1);
		uint32_t calc = (uint32_t)goal_graph_calc(g, LATE_NS, 0), i, run, last = 0;

		goal_fix_begin(&fix, 1, 1, &small_pool);
		for (i = 0; i < AHEAD; i++) {
			uint32_t v =
			    goal_fix_send(g, goal_fix_mem(&fix, 0, i * BLOCK, BLOCK), 0, i);

			if (i)
				goal_fix_after(g, last, v);
			last = v;
		}
		for (i = 0; i < AHEAD; i++) {
			uint32_t v = goal_fix_recv(g, goal_fix_mem(&fix, 0, 500000, BLOCK), 0, i);

			/* After all sends, or after a delay. */
			goal_fix_after(g, circle ? last : calc, v);
		}
		goal_fix_load(&fix, 0, g);
		run = goal_fix_start(&fix, 0, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run, &result));
		FIX_CHECK(&fix, result.status == (circle ? HW_GOAL_UNEXPECTED : HW_GOAL_OK));
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_stall", UT(a_late_rank_of_a_gather), UT(a_long_calc), UT(a_circle_is_found),
	UT(a_circle_of_two), UT(no_circle_while_another_may_help),
	UT(no_circle_while_the_process_may_help), UT(a_circle_over_three),
	UT(no_circle_while_a_third_computes), UT(never_a_circle_by_mistake),
	UT(messages_to_oneself))
