/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of users (docs/examples/user-ops) beside built-in operations of like kind, in turn.
 *
 * Calls goal.h. docs/user-ops.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/bench.h"

enum {
	WARM_RUNS = 50,
	MOST_RUNS = 100000,
};

/* A program, its argument, and the built-in operation to which it is compared. */
static const struct pair {
	const char *name;
	float arg;
	GOAL_Op builtin;
	GOAL_DataType type;
	int width;      /* of the built-in operation's elements, in bits */
	int elem_bytes; /* of the program's */
} pairs[] = {
    {"sum", 0, GOAL_ADD, GOAL_UINT, 64, 8},
    {"mersenne", 0, GOAL_ADD, GOAL_UINT, 64, 8},
    {"argmin", 0, GOAL_MIN, GOAL_SINT_PAIR, 128, 16},
    {"complex_add", 0, GOAL_ADD, GOAL_FLOAT, 32, 8},
    {"saxpy", 2.5F, GOAL_ADD, GOAL_FLOAT, 32, 4},
};

/* The folder of the objects; --user-ops. */
static char folder[300];

bool userop_folder(const char *path)
{
	return (size_t)snprintf(folder, sizeof(folder), "%s", path) < sizeof(folder);
}

static GOAL_Schedule local(const uint8_t *m, size_t bytes, GOAL_Op op, GOAL_DataType type,
			   int width, int64_t count)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;

	if (!g)
		return NULL;
	GOAL_LocalOp(g, m, m + bytes, (void *)(uintptr_t)(m + 2 * bytes), op, type, width, count);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return s;
}

static int time_one(GOAL_Schedule s, double *us)
{
	double start = clock_now_us();

	if (GOAL_Wait(GOAL_Run(s)) != GOAL_SUCCESS)
		return bench_goal_fail("a local operation");
	*us = clock_now_us() - start;
	return 0;
}

static int time_pair(struct bench *b, const struct pair *p, size_t bytes, GOAL_Schedule user,
		     GOAL_Schedule builtin)
{
	double *us = calloc(2 * MOST_RUNS, sizeof(*us)), start = clock_now_us();
	int i, rc = us ? 0 : bench_fail("out of memory");

	for (i = -WARM_RUNS; rc == 0 && i < MOST_RUNS &&
			     (i < WARM_RUNS || clock_now_us() - start < b->seconds * 1e6);
	     i++) {
		int at = i < 0 ? 0 : i;

		rc = time_one(user, &us[at]);
		if (rc == 0)
			rc = time_one(builtin, &us[MOST_RUNS + at]);
	}
	if (rc == 0 && b->rank == 0)
		json_array_append_new(b->rows,
				      json_pack("{s:s, s:I, s:i, s:f, s:f}", "name", p->name,
						"bytes", (json_int_t)bytes, "runs", i, "us",
						stats_median_mean(us, (size_t)i), "builtin_us",
						stats_median_mean(us + MOST_RUNS, (size_t)i)));
	free(us);
	return rc;
}

static int one_pair(struct bench *b, const struct pair *p, size_t bytes)
{
	uint8_t *m = spec_alloc(3 * bytes);
	GOAL_Schedule user = NULL, builtin = NULL;
	char path[400];
	int op, rc = -1;

	snprintf(path, sizeof(path), "%s/%s.o", folder, p->name);
	op = GOAL_RegisterOpOn(GOAL_CommWorld(), path, p->name, &p->arg, sizeof(p->arg));
	if (m && op >= 0) {
		memset(m, 1, 3 * bytes);
		user = local(m, bytes, (GOAL_Op)op, GOAL_UINT, 0, (int64_t)bytes / p->elem_bytes);
		builtin =
		    local(m, bytes, p->builtin, p->type, p->width, (int64_t)bytes * 8 / p->width);
	}
	rc = user && builtin ? time_pair(b, p, bytes, user, builtin) : bench_goal_fail(p->name);
	if (user)
		GOAL_FreeSchedule(user);
	if (builtin)
		GOAL_FreeSchedule(builtin);
	spec_free(m, 3 * bytes);
	return rc;
}

int userop_run(struct bench *b)
{
	size_t i;
	int j, rc = 0;

	if (!folder[0])
		return bench_fail("--user-ops names the folder of the programs' objects");
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (j = 0; rc == 0 && j < b->num_sizes; j++)
			rc = one_pair(b, &pairs[i], b->size[j]);
	return rc;
}
