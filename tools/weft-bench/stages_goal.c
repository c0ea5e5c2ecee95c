/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules for weft-bench stages: a chain of small additions at one rank, and messages of 8 bytes
 * back and forth between two ranks on two NICs. Calls libgoal's compiler and weft_goal.h.
 */
#include "tools/weft-bench/stages_goal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/goal/compile/goal_graph.h"
#include "lib/clock.h"

enum {
	GOAL_OPS = 1000, /* operations of a schedule */
	GOAL_AHEAD = 4,  /* runs in flight */
	GOAL_RUNS = 16,
	GOAL_ELEM = 8, /* bytes */
};

static const char *const what = "collectives";

/* Adds the next operation, which depends on the one before. */
static int chain(struct goal_graph *graph, int64_t vertex)
{
	if (vertex < 0)
		return (int)vertex;
	return vertex ? goal_graph_requires(graph, (uint32_t)vertex - 1, (uint32_t)vertex, false)
		      : 0;
}

static int add_local(struct goal_graph *graph)
{
	const struct goal_mem a = {0, GOAL_ELEM, true}, b = {GOAL_ELEM, GOAL_ELEM, true};
	const struct goal_mem *const mems[3] = {&a, &b, &a};
	const uint32_t nums[3] = {1, 1, 1};

	return chain(graph,
		     goal_graph_local(graph, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 64, 1, mems, nums));
}

/* Rank 0 begins: a send and its answer in turn. */
static int add_message(struct goal_graph *graph, uint32_t i)
{
	const struct goal_mem mem = {0, GOAL_ELEM, true};
	bool send = (i + graph->rank) % 2 == 0;

	return chain(graph, goal_graph_msg(graph, send ? GOAL_INSN_SEND : GOAL_INSN_RECV, &mem, 1,
					   1 - graph->rank, 0));
}

static int compile(const struct stages_goal *g, uint32_t rank, struct goal_code *code)
{
	struct goal_graph *graph = goal_graph_new(rank, g->ranks);
	uint32_t vertex;
	int rc = 0;

	if (!graph)
		return -ENOMEM;
	graph->scratch_bytes = 2 * GOAL_ELEM;
	for (uint32_t i = 0; !rc && i < GOAL_OPS; i++)
		rc = g->ranks == 1 ? add_local(graph) : add_message(graph, i);
	if (!rc)
		rc = goal_compile(graph, 128 * 1024, code, &vertex);
	goal_graph_free(graph);
	return rc;
}

static int join(struct stages_goal *g, uint32_t rank, const struct weft_goal_peer *peers)
{
	struct stages_rank *r = &g->rank[rank];
	struct weft_goal_comm_attr attr = {
	    .key = {0x7374616765730000 + g->ranks, (uint64_t)getpid()},
	    .rank = rank,
	    .num_ranks = g->ranks,
	    .peers = peers,
	    .pd = r->pd,
	};
	char why[WEFT_GOAL_WHY_BYTES] = "";
	struct goal_code code = {0};
	int rc = weft_goal_comm_create(r->goal, &attr, &r->comm);

	/* Where runs overlap, messages arrive before their receives. */
	if (!rc)
		rc = weft_goal_pool(r->goal, r->comm, r->mr);
	if (!rc)
		rc = compile(g, rank, &code);
	if (!rc)
		rc = weft_goal_load(r->goal, r->comm, r->pd, code.bytes, code.num_bytes, NULL, 0,
				    &r->schedule, why);
	goal_code_free(&code);
	return rc ? fail("%s: %s %s", what, strerror(-rc), why) : 0;
}

static int open_rank(struct stages_rank *r, const char *device)
{
	const struct weft_open_attr attr = {.collectives = true, .shard = -1};

	r->context = weft_open_device_attr(device, &attr);
	r->pd = r->context ? weft_alloc_pd(r->context) : NULL;
	r->goal = r->pd ? weft_goal_open(r->context, GOAL_RUNS) : NULL;
	r->pool = r->goal ? weft_alloc(r->context, STAGES_POOL_BYTES) : NULL;
	if (r->pool)
		r->mr = weft_reg_mr(r->pd, r->pool, STAGES_POOL_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	return r->mr ? 0 : fail("%s: %s", what, strerror(errno));
}

int stages_goal_open(struct stages_goal *g, const struct opts *o, uint32_t ranks)
{
	const char *device[2] = {o->device, o->device2 ? o->device2 : o->device};
	struct weft_goal_peer peers[2];

	memset(g, 0, sizeof(*g));
	g->ranks = ranks;
	for (uint32_t i = 0; i < ranks; i++) {
		if (open_rank(&g->rank[i], device[i]))
			return -1;
		weft_goal_self(g->rank[i].goal, &peers[i]);
	}
	for (uint32_t i = 0; i < ranks; i++)
		if (join(g, i, peers))
			return -1;
	return 0;
}

static int wait_all(struct stages_goal *g, uint32_t run[2][GOAL_AHEAD], uint32_t slot)
{
	struct weft_goal_result result;

	for (uint32_t i = 0; i < g->ranks; i++) {
		int rc = weft_goal_wait(g->rank[i].goal, run[i][slot], UINT64_MAX);

		if (rc)
			return fail("%s: %s", what, strerror(-rc));
		weft_goal_finish(g->rank[i].goal, run[i][slot], &result);
		if (result.status)
			return fail("%s: a run failed with status %u", what, result.status);
	}
	return 0;
}

static int start_all(struct stages_goal *g, uint32_t run[2][GOAL_AHEAD], uint32_t slot)
{
	for (uint32_t i = 0; i < g->ranks; i++) {
		struct weft_goal_run_attr attr = {.schedule = g->rank[i].schedule};
		int rc = weft_goal_start(g->rank[i].goal, &attr, &run[i][slot]);

		if (rc)
			return fail("%s: %s", what, strerror(-rc));
	}
	return 0;
}

int stages_goal_run(struct stages_goal *g, double seconds)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
	uint32_t run[2][GOAL_AHEAD], started = 0, over = 0;

	while (clock_now_ns() < until_ns || over < started) {
		if (started - over < GOAL_AHEAD && clock_now_ns() < until_ns) {
			if (start_all(g, run, started % GOAL_AHEAD))
				return -1;
			started++;
			continue;
		}
		if (wait_all(g, run, over % GOAL_AHEAD))
			return -1;
		over++;
	}
	return 0;
}

void stages_goal_close(struct stages_goal *g)
{
	for (uint32_t i = 0; i < g->ranks; i++) {
		weft_goal_close(g->rank[i].goal);
		weft_close_device(g->rank[i].context);
		if (g->rank[i].pool)
			weft_free(g->rank[i].pool, STAGES_POOL_BYTES);
	}
}
