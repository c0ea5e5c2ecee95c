/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: schedules of GOAL. A message is a Send at one rank and its Recv at the other; an
 * operation adds two vectors of its rank. Those of a round are one run, and wait for nothing but
 * its start, so that the run's own cost is shared by them. See sim_wl_cost.c.
 */
#include "sim_harness/wl/sim_wl_cost.h"

#include <errno.h>

#include "host_driver/goal/compile/goal_graph.h"
#include "host_driver/weft_goal.h"
#include "shared_defs/goal_format.h"

enum {
	CG_RUNS = 64,
	CG_POOL_BYTES = 1 << 18,
	CG_EAGER_BYTES = 131072,
	CG_ELEMENT_BYTES = 8, /* of an operation */
};

static struct sim_end *end_of(struct cost *c, uint32_t rank)
{
	return rank ? &c->to : &c->from;
}

static struct goal_mem piece(const struct cost *c, uint32_t rank, uint32_t i)
{
	struct weft_sge sge = rank ? cost_to(c, i) : cost_from(c, i);

	return (struct goal_mem){(uintptr_t)sge.addr, c->bytes, false};
}

static int add_local(struct goal_graph *graph, const struct goal_mem *mem)
{
	const struct goal_mem *const mems[3] = {mem, mem, mem};
	const uint32_t num[3] = {1, 1, 1};
	int64_t v = goal_graph_local(graph, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 8 * CG_ELEMENT_BYTES,
				     mem->bytes / CG_ELEMENT_BYTES, mems, num);

	return v < 0 ? (int)v : 0;
}

static int load(struct cost *c, uint32_t rank)
{
	struct goal_graph *graph = goal_graph_new(rank, c->ranks);
	struct sim_end *end = end_of(c, rank);
	struct weft_goal_bind bind[COST_TURN_MAX];
	char why[WEFT_GOAL_WHY_BYTES];
	struct goal_code code = {0};
	uint32_t vertex, i;
	int rc = graph ? 0 : -ENOMEM;

	for (i = 0; i < c->turn && !rc; i++) {
		struct goal_mem mem = piece(c, rank, i);
		int64_t v;

		if (c->ranks == 1) {
			rc = add_local(graph, &mem);
			continue;
		}
		v = goal_graph_msg(graph, rank ? GOAL_INSN_RECV : GOAL_INSN_SEND, &mem, 1, !rank,
				   i);
		rc = v < 0 ? (int)v : 0;
	}
	if (!rc)
		rc = goal_compile(graph, CG_EAGER_BYTES, &code, &vertex);
	if (!rc && code.num_ranges > COST_TURN_MAX)
		rc = -E2BIG;
	for (i = 0; i < code.num_ranges && !rc; i++)
		bind[i] = (struct weft_goal_bind){(void *)code.ranges[i].addr, code.ranges[i].bytes,
						  end->mr};
	if (!rc)
		rc = weft_goal_load(c->goal[rank], c->comm[rank], end->pd, code.bytes,
				    code.num_bytes, bind, code.num_ranges, &c->schedule[rank], why);
	goal_code_free(&code);
	if (graph)
		goal_graph_free(graph);
	return rc;
}

static int join(struct cost *c, uint32_t rank, const struct weft_goal_peer *peers)
{
	struct sim_end *end = end_of(c, rank);
	const struct weft_goal_comm_attr attr = {
	    .key = {1, 2}, .rank = rank, .num_ranks = c->ranks, .peers = peers, .pd = end->pd};
	void *mem = sim_mem_alloc(end->proc, CG_POOL_BYTES, true);
	struct weft_mr *pool =
	    mem ? weft_reg_mr(end->pd, mem, CG_POOL_BYTES, WEFT_ACCESS_LOCAL_WRITE) : NULL;
	int rc = pool ? weft_goal_comm_create(c->goal[rank], &attr, &c->comm[rank]) : -ENOMEM;

	return rc ? rc : weft_goal_pool(c->goal[rank], c->comm[rank], pool);
}

static int open_ranks(struct cost *c, uint32_t ranks)
{
	struct weft_goal_peer peers[2];
	uint32_t rank;
	int rc = 0;

	c->ranks = ranks;
	for (rank = 0; rank < ranks; rank++) {
		/* The records of runs are in libweft's own memory. */
		sim_proc_any_memory(end_of(c, rank)->proc);
		c->goal[rank] = weft_goal_open(end_of(c, rank)->context, CG_RUNS);
		if (!c->goal[rank])
			return -errno;
		weft_goal_self(c->goal[rank], &peers[rank]);
	}
	for (rank = 0; rank < ranks && !rc; rank++)
		rc = join(c, rank, peers);
	for (rank = 0; rank < ranks && !rc; rank++)
		rc = load(c, rank);
	return rc;
}

static int open_msg(struct cost *c)
{
	return open_ranks(c, 2);
}

static int open_local(struct cost *c)
{
	return c->bytes % CG_ELEMENT_BYTES ? -EINVAL : open_ranks(c, 1);
}

/* The receiver is first, so that every message finds its receive. */
static int post(struct cost *c)
{
	uint32_t rank = c->ranks;
	int rc = 0;

	while (rank-- && !rc) {
		const struct weft_goal_run_attr attr = {.schedule = c->schedule[rank]};

		rc = weft_goal_start(c->goal[rank], &attr, &c->goal_run[rank]);
	}
	return rc;
}

static bool over(struct cost *c)
{
	struct weft_goal_result result;
	uint32_t rank;

	for (rank = 0; rank < c->ranks; rank++) {
		if (!weft_goal_test(c->goal[rank], c->goal_run[rank]))
			return false;
	}
	for (rank = 0; rank < c->ranks; rank++) {
		weft_goal_finish(c->goal[rank], c->goal_run[rank], &result);
		if (result.status)
			sim_run_fail(c->run, "run: rank %u: status %u", rank, result.status);
	}
	return true;
}

static void close_ranks(struct cost *c)
{
	uint32_t rank;

	for (rank = 0; rank < c->ranks; rank++)
		if (c->goal[rank])
			weft_goal_close(c->goal[rank]);
	c->goal[0] = c->goal[1] = NULL;
}

const struct cost_path cost_goal_msg = {
    .type = WEFT_QPT_RD,
    .inactive = true,
    .open = open_msg,
    .post = post,
    .over = over,
    .close = close_ranks,
};

const struct cost_path cost_goal_local = {
    .type = WEFT_QPT_RD,
    .inactive = true,
    .open = open_local,
    .post = post,
    .over = over,
    .close = close_ranks,
};
