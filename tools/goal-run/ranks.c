/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a job, on NICs or simulated: the part that libweft does alike for both. Calls
 * weft_goal.h and the job. Also has the rule of generated data, and the times.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stats.h"
#include "shared_defs/hw_goal.h"
#include "tools/goal-run/goal_run.h"

enum {
	POOL_MIN_BYTES = 65536,
	TABLE_RUNS = 4,
	RANGES = 8, /* a job's buffers are few and contiguous */
};
#define POOL_MAX_BYTES (UINT64_C(256) << 20) /* as libgoal's WEFT_GOAL_POOL */
#define EAGER_BYTES    UINT64_C(131072)

/* ---- data ----------------------------------------------------------------------------------- */

void job_fill(uint64_t seed, uint8_t *at, uint64_t bytes)
{
	uint64_t i = 0, word;

	for (; bytes - i * 8 >= 8; i++) {
		word = job_word(seed, i);
		memcpy(at + i * 8, &word, 8);
	}
	word = job_word(seed, i);
	memcpy(at + i * 8, &word, bytes - i * 8);
}

uint64_t job_differs(uint64_t seed, const uint8_t *at, uint64_t bytes)
{
	uint64_t done = 0, word;
	uint8_t want[8];

	for (; done < bytes; done += 8) {
		uint64_t n = bytes - done < 8 ? bytes - done : 8;

		word = job_word(seed, done / 8);
		memcpy(want, &word, 8);
		for (uint64_t i = 0; i < n; i++)
			if (want[i] != at[done + i])
				return done + i;
	}
	return bytes;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static int fail(const struct ranks *ranks, uint32_t rank, const char *what, int rc)
{
	return run_fail("%s: rank %" PRIu32 ": %s: %s", ranks->job->name, rank, what,
			strerror(-rc));
}

int ranks_begin(struct ranks *ranks, const struct job *job, const struct opts *o)
{
	*ranks = (struct ranks){
	    .job = job,
	    .num = job->num_ranks,
	    .eager_bytes = o->eager_bytes ? o->eager_bytes : EAGER_BYTES,
	    .timeout_ns = o->timeout_ns,
	    .trace = o->trace,
	    .last_run = o->warmup + o->repeat - 1,
	};
	if (ranks->num > HW_MAX_GOAL_RANKS)
		return run_fail("%s: %" PRIu32 " ranks; a NIC knows at most %d", job->name,
				ranks->num, HW_MAX_GOAL_RANKS);
	ranks->rank = calloc(ranks->num, sizeof(*ranks->rank));
	ranks->peers = calloc(ranks->num, sizeof(*ranks->peers));
	return ranks->rank && ranks->peers ? RUN_OK : run_fail("not enough memory");
}

int ranks_open(struct ranks *ranks, uint32_t rank)
{
	struct rank *r = &ranks->rank[rank];

	r->bytes = ranks->job->ops->bytes(ranks->job, rank);
	r->pd = weft_alloc_pd(r->context);
	r->goal = r->pd ? weft_goal_open(r->context, TABLE_RUNS) : NULL;
	if (!r->goal)
		return fail(ranks, rank, "the NIC makes no table of runs", -errno);
	r->buf = ranks->alloc(ranks, rank, r->bytes);
	r->mr = r->buf ? weft_reg_mr(r->pd, r->buf, r->bytes, WEFT_ACCESS_LOCAL_WRITE) : NULL;
	if (!r->mr)
		return fail(ranks, rank, "memory for its messages", -errno);
	weft_goal_self(r->goal, &ranks->peers[rank]);
	return RUN_OK;
}

static int add_pool(struct ranks *ranks, uint32_t rank, uint64_t unexpected)
{
	struct rank *r = &ranks->rank[rank];
	int rc;

	/* Blocks of the pool are powers of two, so twice the bytes suffice. */
	r->pool_bytes = (2 * unexpected + POOL_MIN_BYTES + 4095) & ~UINT64_C(4095);
	if (r->pool_bytes > POOL_MAX_BYTES)
		r->pool_bytes = POOL_MAX_BYTES;
	r->pool = ranks->alloc(ranks, rank, r->pool_bytes);
	r->pool_mr =
	    r->pool ? weft_reg_mr(r->pd, r->pool, r->pool_bytes, WEFT_ACCESS_LOCAL_WRITE) : NULL;
	rc = r->pool_mr ? weft_goal_pool(r->goal, r->comm, r->pool_mr) : -errno;
	return rc ? fail(ranks, rank, "memory for unexpected messages", rc) : RUN_OK;
}

static int load(struct ranks *ranks, uint32_t rank, const struct goal_code *code)
{
	const struct goal_header *header = (const void *)code->bytes;
	struct rank *r = &ranks->rank[rank];
	struct weft_goal_bind binds[RANGES];
	char why[WEFT_GOAL_WHY_BYTES] = "";
	uint32_t i;
	int rc;

	rc = add_pool(ranks, rank, header->unexpected_bytes);
	if (rc)
		return rc;
	for (i = 0; i < code->num_ranges && i < RANGES; i++)
		binds[i] = (struct weft_goal_bind){(void *)code->ranges[i].addr,
						   code->ranges[i].bytes, r->mr};
	rc = code->num_ranges > RANGES
		 ? -E2BIG
		 : weft_goal_load(r->goal, r->comm, r->pd, code->bytes, code->num_bytes, binds,
				  code->num_ranges, &r->schedule, why);
	return rc ? fail(ranks, rank, why[0] ? why : "the NIC refuses its schedule", rc) : RUN_OK;
}

static int join(struct ranks *ranks, uint32_t rank)
{
	struct rank *r = &ranks->rank[rank];
	struct weft_goal_comm_attr attr = {
	    .key = {ranks->key[0], ranks->key[1]},
	    .rank = rank,
	    .num_ranks = ranks->num,
	    .peers = ranks->peers,
	    .pd = r->pd,
	    .eager_bytes = (uint32_t)ranks->eager_bytes,
	};
	struct goal_graph *graph;
	struct goal_code code;
	uint32_t vertex;
	int rc = weft_goal_comm_create(r->goal, &attr, &r->comm);

	if (rc)
		return fail(ranks, rank, "the NIC makes no communicator", rc);
	graph = ranks->job->ops->graph(ranks->job, rank, r->buf);
	if (!graph)
		return RUN_FAILED;
	rc = goal_compile(graph, ranks->eager_bytes, &code, &vertex);
	goal_graph_free(graph);
	if (rc)
		return fail(ranks, rank, "its schedule cannot be compiled", rc);
	rc = load(ranks, rank, &code);
	if (rc == RUN_OK && ranks->trace)
		rc = trace_open(ranks, rank, &code);
	goal_code_free(&code);
	return rc;
}

int ranks_join(struct ranks *ranks)
{
	uint32_t i;
	int rc = RUN_OK;

	for (i = 0; rc == RUN_OK && i < ranks->num; i++)
		rc = join(ranks, i);
	return rc;
}

/* ---- runs ----------------------------------------------------------------------------------- */

int ranks_start(struct ranks *ranks, uint32_t run)
{
	uint32_t i;
	int rc;

	for (i = 0; i < ranks->num; i++)
		ranks->job->ops->fill(ranks->job, i, run, ranks->rank[i].buf);
	for (i = 0; i < ranks->num; i++) {
		struct rank *r = &ranks->rank[i];
		struct weft_goal_run_attr attr = {.schedule = r->schedule,
						  .timeout_ns = ranks->timeout_ns};

		trace_attach(r, &attr);
		rc = weft_goal_start(r->goal, &attr, &r->run);
		if (rc)
			return fail(ranks, i, "its run does not start", rc);
	}
	return RUN_OK;
}

enum {
	SHOWN_RANKS = 10, /* waits that a failure's message lists */
};

/* Prints for each rank, in a line, the operations that it still waited for. */
static void say_waits(const struct ranks *ranks)
{
	uint32_t waiting = 0, i, k;
	char text[120];

	for (i = 0; i < ranks->num; i++) {
		const struct weft_goal_result *result = &ranks->rank[i].result;

		if (!result->status || !result->num_waits || waiting++ >= SHOWN_RANKS)
			continue;
		fprintf(stderr, "  rank %" PRIu32 " waits for ", i);
		for (k = 0; k < result->num_waits && k < WEFT_GOAL_WAITS; k++) {
			ranks->job->ops->describe(ranks->job, i, result->waits[k], text,
						  sizeof(text));
			fprintf(stderr, "%s%s", k ? "; " : "", text);
		}
		if (k < result->num_waits)
			fprintf(stderr, "; and %s%" PRIu32 " more",
				result->num_waits > WEFT_GOAL_WAITS_COUNTED ? "more than " : "",
				(result->num_waits > WEFT_GOAL_WAITS_COUNTED
				     ? (uint32_t)WEFT_GOAL_WAITS_COUNTED
				     : result->num_waits) -
				    k);
		fputc('\n', stderr);
	}
	if (waiting > SHOWN_RANKS)
		fprintf(stderr, "  and %" PRIu32 " more ranks wait\n", waiting - SHOWN_RANKS);
}

/* The first rank whose own operation failed has more information than those that were notified. */
static int say_failure(const struct ranks *ranks, uint32_t failed, uint32_t first)
{
	const struct rank *r = &ranks->rank[first];
	char text[120] = "", lengths[80] = "";

	if (r->result.op != UINT32_MAX)
		ranks->job->ops->describe(ranks->job, first, r->result.op, text, sizeof(text));
	if (r->result.message_bytes)
		snprintf(lengths, sizeof(lengths), ": %" PRIu64 " bytes, %" PRIu64 " of room",
			 r->result.message_bytes, r->result.room_bytes);
	(void)run_fail("%s: the run failed at %" PRIu32 " of %" PRIu32 " ranks; rank %" PRIu32
		       "%s%s, after %" PRIu32 " operations: %s%s",
		       ranks->job->name, failed, ranks->num, first, text[0] ? ", " : "", text,
		       r->result.ops, GOAL_StrError(-(int)r->result.status), lengths);
	if (r->result.status != HW_GOAL_TRUNCATED)
		say_waits(ranks);
	return RUN_FAILED;
}

int ranks_check(struct ranks *ranks, uint32_t run)
{
	uint32_t failed = 0, first = 0, i;

	for (i = 0; i < ranks->num; i++) {
		struct rank *r = &ranks->rank[i];

		weft_goal_finish(r->goal, r->run, &r->result);
		if (!r->result.status)
			continue;
		if (!failed++ ||
		    (ranks->rank[first].result.op == UINT32_MAX && r->result.op != UINT32_MAX))
			first = i;
	}
	if (ranks->trace && (failed || run == ranks->last_run) && trace_save(ranks) != RUN_OK)
		return RUN_FAILED;
	if (failed)
		return say_failure(ranks, failed, first);
	for (i = 0; i < ranks->num; i++)
		if (!ranks->job->ops->check(ranks->job, i, run, ranks->rank[i].buf))
			return RUN_FAILED;
	return RUN_OK;
}

void ranks_end(struct ranks *ranks)
{
	uint32_t i;

	for (i = 0; ranks->rank && i < ranks->num; i++) {
		weft_goal_close(ranks->rank[i].goal);
		trace_close(&ranks->rank[i]);
	}
	free(ranks->rank);
	free(ranks->peers);
	ranks->rank = NULL;
	ranks->peers = NULL;
}

/* ---- times ---------------------------------------------------------------------------------- */

bool finish_begin(struct finish *f, const struct opts *o, uint32_t num_ranks)
{
	*f = (struct finish){.num_ranks = num_ranks, .runs = o->repeat};
	/* Every time of every run until finish_sum(). */
	f->rank_ns = calloc((size_t)num_ranks * o->repeat, sizeof(*f->rank_ns));
	f->run_ns = calloc(o->repeat, sizeof(*f->run_ns));
	return f->rank_ns && f->run_ns;
}

void finish_set(struct finish *f, uint32_t run, uint32_t rank, uint64_t ns)
{
	f->rank_ns[(size_t)rank * f->runs + run] = ns;
	if (ns > f->run_ns[run])
		f->run_ns[run] = ns;
}

/* The lower one of two in the middle, so that it is a measured time. */
static uint64_t median(uint64_t *values, uint32_t num)
{
	stats_sort_u64(values, num);
	return values[(num - 1) / 2];
}

int finish_sum(struct finish *f)
{
	uint64_t *runs = malloc(f->runs * sizeof(*runs));
	uint32_t i;

	if (!runs)
		return run_fail("not enough memory");
	memcpy(runs, f->run_ns, f->runs * sizeof(*runs));
	f->finish_ns = median(runs, f->runs);
	free(runs);
	for (i = 0; i < f->num_ranks; i++) {
		f->rank_ns[i] = median(&f->rank_ns[(size_t)i * f->runs], f->runs);
		if (f->rank_ns[i] > f->rank_ns[f->last_rank])
			f->last_rank = i;
	}
	return RUN_OK;
}

void finish_free(struct finish *f)
{
	free(f->rank_ns);
	free(f->run_ns);
}
