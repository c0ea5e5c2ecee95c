/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See goal_fix.h.
 */
#include "tests/sim/goal_fix.h"

static void open_rank(struct goal_fix *fix, uint32_t i, struct sim_nic *nic,
		      const struct goal_fix_attr *attr)
{
	struct goal_fix_rank *r = &fix->rank[i];

	r->proc = sim_proc_new(nic, "rank");
	sim_proc_any_memory(r->proc);
	r->context = sim_open(r->proc);
	FIX_REQUIRE(fix, r->context != NULL);
	r->pd = weft_alloc_pd(r->context);
	r->buf = sim_mem_alloc(r->proc, fix->bytes, !attr->unmapped);
	r->mr = weft_reg_mr(r->pd, r->buf, fix->bytes, WEFT_ACCESS_LOCAL_WRITE);
	r->goal = weft_goal_open(r->context, 64);
	FIX_REQUIRE(fix, r->mr && r->goal);
}

static void join_rank(struct goal_fix *fix, uint32_t i, const struct weft_goal_peer *peers,
		      const struct goal_fix_attr *attr)
{
	struct goal_fix_rank *r = &fix->rank[i];
	size_t pool_bytes = attr->pool_bytes ? attr->pool_bytes : 256 * 1024;
	struct weft_goal_comm_attr comm = {
	    .key = {0x1122334455667788, sim_seed(fix->sim)},
	    .rank = i,
	    .num_ranks = fix->num,
	    .peers = peers,
	    .pd = r->pd,
	    .eager_bytes = fix->eager_bytes,
	};
	void *mem;

	FIX_REQUIRE(fix, weft_goal_comm_create(r->goal, &comm, &r->comm) == 0);
	mem = sim_mem_alloc(r->proc, pool_bytes, !attr->unmapped);
	r->pool = weft_reg_mr(r->pd, mem, pool_bytes, WEFT_ACCESS_LOCAL_WRITE);
	FIX_REQUIRE(fix, r->pool && weft_goal_pool(r->goal, r->comm, r->pool) == 0);
}

void goal_fix_begin(struct goal_fix *fix, uint64_t seed, uint32_t ranks,
		    const struct goal_fix_attr *attr)
{
	static const struct goal_fix_attr defaults;
	struct weft_goal_peer peers[GOAL_FIX_RANKS];
	struct sim_config config;
	struct sim_nic *nic = NULL;
	char message[128];
	uint32_t i;

	if (!attr)
		attr = &defaults;
	memset(fix, 0, sizeof(*fix));
	sim_config_default(&config);
	config.num_shards = attr->num_shards ? attr->num_shards : 1;
	config.wrap_soon = attr->wrap_soon;
	config.borrow = attr->borrow;
	if (attr->in_pieces)
		config.rx_split_ppm = 1000000;
	fix->sim = sim_new(&config, seed);
	fix->num = ranks;
	fix->bytes = attr->bytes ? attr->bytes : 65536;
	fix->eager_bytes = attr->eager_bytes;
	for (i = 0; i < ranks; i++) {
		if (!nic || i % (attr->ranks_per_nic ? attr->ranks_per_nic : 1) == 0)
			nic = sim_nic_new(fix->sim);
		open_rank(fix, i, nic, attr);
		weft_goal_self(fix->rank[i].goal, &peers[i]);
	}
	for (i = 0; i < ranks; i++)
		join_rank(fix, i, peers, attr);
	if (attr->faults)
		FIX_REQUIRE(
		    fix, sim_faults_parse(fix->sim, attr->faults, message, sizeof(message)) == 0);
}

void goal_fix_end(struct goal_fix *fix)
{
	uint32_t i;

	sim_faults_off(fix->sim);
	for (i = 0; i < fix->num; i++) {
		weft_goal_close(fix->rank[i].goal);
		if (fix->rank[i].context)
			weft_close_device(fix->rank[i].context);
	}
	sim_run_for(fix->sim, 50 * FIX_MS);
	for (i = 0; i < sim_nic_count(fix->sim); i++)
		FIX_CHECK(fix, sim_nic_counts(sim_nic_at(fix->sim, i))->frames_held == 0);
	sim_free(fix->sim);
}

struct goal_mem goal_fix_mem(const struct goal_fix *fix, uint32_t rank, size_t offset,
			     uint64_t bytes)
{
	return (struct goal_mem){(uintptr_t)fix->rank[rank].buf + offset, bytes, false};
}

struct goal_mem goal_fix_scratch(uint64_t offset, uint64_t bytes)
{
	return (struct goal_mem){offset, bytes, true};
}

uint32_t goal_fix_send(struct goal_graph *g, struct goal_mem mem, uint32_t to, uint32_t tag)
{
	int64_t v = goal_graph_msg(g, GOAL_INSN_SEND, &mem, 1, to, tag);

	CU_ASSERT_FATAL(v >= 0);
	return (uint32_t)v;
}

uint32_t goal_fix_recv(struct goal_graph *g, struct goal_mem mem, uint32_t from, uint32_t tag)
{
	int64_t v = goal_graph_msg(g, GOAL_INSN_RECV, &mem, 1, from, tag);

	CU_ASSERT_FATAL(v >= 0);
	return (uint32_t)v;
}

void goal_fix_after(struct goal_graph *g, uint32_t first, uint32_t then)
{
	CU_ASSERT_FATAL(goal_graph_requires(g, first, then, false) == 0);
}

void goal_fix_load(struct goal_fix *fix, uint32_t rank, struct goal_graph *graph)
{
	struct goal_fix_rank *r = &fix->rank[rank];
	struct weft_goal_bind binds[GOAL_FIX_SCHEDULES];
	char why[WEFT_GOAL_WHY_BYTES];
	struct goal_code code;
	uint32_t vertex, i;
	int rc;

	rc = goal_compile(graph, fix->eager_bytes ? fix->eager_bytes : 131072, &code, &vertex);
	FIX_REQUIRE(fix, rc == 0 && code.num_ranges <= GOAL_FIX_SCHEDULES);
	for (i = 0; i < code.num_ranges; i++)
		binds[i] = (struct weft_goal_bind){(void *)code.ranges[i].addr,
						   code.ranges[i].bytes, r->mr};
	rc = weft_goal_load(r->goal, r->comm, r->pd, code.bytes, code.num_bytes, binds,
			    code.num_ranges, &r->schedule, why);
	if (rc)
		printf("\n    rank %u: load: %s (%s)", rank, strerror(-rc), why);
	FIX_REQUIRE(fix, rc == 0);
	goal_code_free(&code);
	goal_graph_free(graph);
}

uint32_t goal_fix_start(struct goal_fix *fix, uint32_t rank, uint64_t timeout_ns)
{
	struct weft_goal_run_attr attr = {.schedule = fix->rank[rank].schedule,
					  .timeout_ns = timeout_ns};
	uint32_t run;

	FIX_REQUIRE(fix, weft_goal_start(fix->rank[rank].goal, &attr, &run) == 0);
	return run;
}

struct over {
	struct weft_goal *goal;
	uint32_t run;
};

static bool is_over(void *ctx)
{
	struct over *over = ctx;

	return weft_goal_test(over->goal, over->run);
}

bool goal_fix_wait(struct goal_fix *fix, uint32_t rank, uint32_t run,
		   struct weft_goal_result *result)
{
	struct over over = {fix->rank[rank].goal, run};

	if (!sim_run_until(fix->sim, is_over, &over, FIX_LIMIT_NS))
		return false;
	weft_goal_finish(fix->rank[rank].goal, run, result);
	return true;
}

enum hw_goal_status goal_fix_run(struct goal_fix *fix, struct weft_goal_result *results)
{
	struct weft_goal_result own[GOAL_FIX_RANKS];
	enum hw_goal_status status = HW_GOAL_OK;
	uint32_t run[GOAL_FIX_RANKS], i;

	if (!results)
		results = own;
	for (i = 0; i < fix->num; i++)
		run[i] = goal_fix_start(fix, i, 0);
	for (i = 0; i < fix->num; i++) {
		bool over = goal_fix_wait(fix, i, run[i], &results[i]);

		FIX_CHECK(fix, over);
		if (!over)
			return HW_GOAL_STATUSES;
		if (results[i].status && !status)
			status = (enum hw_goal_status)results[i].status;
	}
	return status;
}

void goal_fix_all_have(struct goal_fix *fix, const uint32_t *run, uint32_t but,
		       enum hw_goal_status status)
{
	uint32_t i;

	for (i = 0; i < fix->num; i++) {
		struct weft_goal_result result = {.status = HW_GOAL_STATUSES};

		if (i == but)
			continue;
		FIX_CHECK(fix, goal_fix_wait(fix, i, run[i], &result));
		FIX_CHECK(fix, result.status == status);
	}
}
