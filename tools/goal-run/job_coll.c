/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective as a job: barrier, broadcast or allreduce of goal_coll.h, every byte checked. Calls
 * goal_coll_build().
 *
 * Allreduce adds 64-bit numbers: each rank's are words by the rule of ranks.c. A broadcast's bytes
 * follow the rule for its run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "tools/goal-run/goal_run.h"

struct coll_job {
	struct job job;
	const struct opts *o;
	char name[64];
};

static const struct coll_job *own(const struct job *job)
{
	return (const struct coll_job *)(const void *)job;
}

/* Allreduce has its input before its result. */
static uint64_t result_at(const struct coll_job *j)
{
	return j->o->coll == GOAL_COLL_ALLREDUCE ? j->o->bytes : 0;
}

static uint64_t bytes(const struct job *job, uint32_t rank)
{
	(void)rank;
	return own(job)->o->bytes + result_at(own(job)) + 1;
}

static struct goal_graph *graph(const struct job *job, uint32_t rank, uint8_t *buf)
{
	const struct coll_job *j = own(job);
	bool adds = j->o->coll == GOAL_COLL_ALLREDUCE;
	struct goal_coll_call call = {
	    .coll = j->o->coll,
	    .alg = j->o->alg,
	    .send = buf,
	    .recv = buf + result_at(j),
	    .count = adds ? j->o->bytes / 8 : j->o->bytes,
	    .op = GOAL_ADD,
	    .type = GOAL_UINT,
	    .width = adds ? 64 : 8,
	    .root = j->o->root,
	};
	struct goal_graph *g = goal_graph_new(rank, job->num_ranks);
	int rc = g ? goal_coll_build(g, &call) : -ENOMEM;

	if (!rc)
		return g;
	run_fail("%s: rank %" PRIu32 ": %s", job->name, rank, strerror(-rc));
	goal_graph_free(g);
	return NULL;
}

static void fill(const struct job *job, uint32_t rank, uint32_t run, uint8_t *buf)
{
	const struct coll_job *j = own(job);

	memset(buf, 0xa5, bytes(job, rank));
	if (j->o->coll == GOAL_COLL_ALLREDUCE)
		job_fill(job_word(run, rank), buf, j->o->bytes);
	else if (rank == j->o->root)
		job_fill(run, buf, j->o->bytes);
}

static bool check(const struct job *job, uint32_t rank, uint32_t run, const uint8_t *buf)
{
	const struct coll_job *j = own(job);
	uint64_t at, sum, got;
	uint32_t i;

	if (j->o->coll != GOAL_COLL_ALLREDUCE) {
		at = job_differs(run, buf, j->o->bytes);
	} else {
		for (at = 0; at < j->o->bytes; at += 8) {
			for (sum = 0, i = 0; i < job->num_ranks; i++)
				sum += job_word(job_word(run, i), at / 8);
			memcpy(&got, buf + result_at(j) + at, 8);
			if (got != sum)
				break;
		}
	}
	if (at >= j->o->bytes)
		return true;
	run_fail("%s: rank %" PRIu32 ": byte %" PRIu64 " is wrong", job->name, rank, at);
	return false;
}

static void describe(const struct job *job, uint32_t rank, uint32_t op, char *text, size_t room)
{
	(void)job, (void)rank;
	snprintf(text, room, "operation %" PRIu32, op);
}

static void free_job(struct job *job)
{
	free(job);
}

static const struct job_ops ops = {
    .bytes = bytes,
    .graph = graph,
    .fill = fill,
    .check = check,
    .describe = describe,
    .free = free_job,
};

struct job *job_coll(const struct opts *o)
{
	struct coll_job *j = calloc(1, sizeof(*j));

	if (!j) {
		run_fail("not enough memory");
		return NULL;
	}
	j->o = o;
	snprintf(j->name, sizeof(j->name), "%s, %s", GOAL_CollectiveName(o->coll),
		 GOAL_AlgorithmName(o->alg));
	j->job = (struct job){&ops, j->name, o->ranks, 0};
	return &j->job;
}
