/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the measured times, as text or JSON.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "tools/goal-run/goal_run.h"

static json_t *numbers(const uint64_t *values, uint32_t num)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < num; i++)
		json_array_append_new(array, json_integer((json_int_t)values[i]));
	return array;
}

static int print_json(const struct opts *o, const struct job *job, const struct finish *f)
{
	json_t *root = json_pack(
	    "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", o->file ? "file" : "collective",
	    job->name, "mode", o->mode == RUN_IN_SIM ? "sim" : "nics", "ranks",
	    (json_int_t)job->num_ranks, "nics", (json_int_t)f->nics, "operations",
	    (json_int_t)job->num_ops, "runs", (json_int_t)f->runs, "last_rank",
	    (json_int_t)f->last_rank, "finish_ns", (json_int_t)f->finish_ns, "run_finish_ns",
	    numbers(f->run_ns, f->runs), "rank_finish_ns", numbers(f->rank_ns, f->num_ranks));
	int rc;

	if (root && !o->file)
		json_object_del(root, "operations");
	if (root && o->mode == RUN_IN_SIM) {
		json_object_set_new(root, "seed", json_integer((json_int_t)o->seed));
		json_object_set_new(root, "frames", json_integer((json_int_t)f->frames));
		json_object_set_new(root, "events", json_integer((json_int_t)f->events));
	}
	rc = root ? json_dumpf(root, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(root);
	return rc ? run_fail("%s cannot be put into JSON", job->name) : RUN_OK;
}

int output(const struct opts *o, const struct job *job, const struct finish *f)
{
	if (o->json)
		return print_json(o, job, f);
	for (uint32_t rank = 0; rank < f->num_ranks; rank++)
		printf("rank %" PRIu32 " %" PRIu64 "\n", rank, f->rank_ns[rank]);
	printf("finish_ns %" PRIu64 "\n", f->finish_ns);
	return RUN_OK;
}
