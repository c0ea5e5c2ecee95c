/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: back-pressure lasts as long as somebody is late, and a run fails for it only when its
 * messages wait for each other in a circle. docs/collectives.md "Full pools".
 */
#include "tests/sim/goal_fix.h"

enum {
	LATE_NS = 3000 * FIX_MS,
	BLOCK = 4000,
	AHEAD = 32, /* runs that a rank is ahead: more than its pool holds */
	POOL = 16384,
};

static const struct goal_fix_attr small_pool = {.bytes = 1 << 20, .pool_bytes = POOL};

/* Everybody's block to rank 0. */
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

/* The root computes for 3 s before it receives what fills its pool. */
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

/* In that order, one after another. */
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
		/* Found by looking, not by waiting for a second without progress. */
		FIX_CHECK(&fix, result.finish_ns - result.start_ns < 500 * FIX_MS);
	}
	goal_fix_end(&fix);
}

/* Both send what fills the other's pool, and receive first what was sent last. */
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

/* The same order, but another rank's message can still make room: its own time-out alone ends it.
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

/* Runs that the process has not started yet may take what fills the pool. */
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

			/* After all that was sent, or after a while. */
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
	UT(no_circle_while_the_process_may_help), UT(messages_to_oneself))
