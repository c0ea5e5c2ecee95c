/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --model: the prediction of the LogGOPS rules, and the operations without a partner. Calls
 * model.c. The unmatched operations also explain runs that time out on NICs.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/goal-run/goal_run.h"

enum {
	SHOWN_UNMATCHED = 10, /* lines of them, in errors */
};

static void print_text(const struct goal_set *set, const struct model_result *result)
{
	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		printf("rank %" PRIu32 " %" PRIu64 "\n", rank, result->rank_ns[rank]);
	if (result->num_unmatched)
		printf("deadlock\n");
	else
		printf("finish_ns %" PRIu64 "\n", result->finish_ns);
}

const char *goal_number_or_any(char text[12], uint32_t value)
{
	if (value == GOAL_ANY)
		return "any";
	snprintf(text, 12, "%" PRIu32, value);
	return text;
}

/* Prints the places of the first operations without a partner. */
static void print_unmatched(const char *name, const struct goal_set *set,
			    const struct model_result *result)
{
	char peer[12], tag[12];

	fprintf(stderr,
		"goal-run: %s: the schedules stop before their end: %" PRIu32
		" operations find no partner\n",
		name, result->num_unmatched);
	for (uint32_t i = 0; i < result->num_unmatched && i < SHOWN_UNMATCHED; i++) {
		const struct goal_op *op = &set->ops[result->unmatched[i]];
		uint32_t rank = goal_set_rank(set, result->unmatched[i]);

		fprintf(stderr, "  rank %" PRIu32 ", ", rank);
		if (op->line)
			fprintf(stderr, "line %" PRIu32 ": ", op->line);
		else
			fprintf(stderr, "operation %" PRIu32 ": ",
				result->unmatched[i] - set->rank_first[rank]);
		fprintf(stderr, "%s of %" PRIu64 " bytes %s %s, tag %s\n", goal_kind_str(op->kind),
			op->size, op->kind == GOAL_OP_SEND ? "to" : "from",
			goal_number_or_any(peer, op->peer), goal_number_or_any(tag, op->tag));
	}
}

static int print_json(const struct opts *o, const struct goal_set *set,
		      const struct model_result *result)
{
	const struct model_params *p = &o->model;
	json_t *ranks = json_array(), *root;
	int rc;

	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		json_array_append_new(ranks, json_integer((json_int_t)result->rank_ns[rank]));
	root = json_pack("{s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:b, s:I, s:o}", "file",
			 o->file, "model", "L", (json_int_t)p->L, "o", (json_int_t)p->o, "g",
			 (json_int_t)p->g, "G", (json_int_t)p->G, "O", (json_int_t)p->O, "S",
			 (json_int_t)p->S, "ranks", (json_int_t)set->num_ranks, "operations",
			 (json_int_t)set->num_ops, "deadlock", result->num_unmatched != 0,
			 "unmatched", (json_int_t)result->num_unmatched, "rank_finish_ns", ranks);
	if (root && !result->num_unmatched) {
		json_object_set_new(root, "last_rank", json_integer(result->last_rank));
		json_object_set_new(root, "finish_ns", json_integer((json_int_t)result->finish_ns));
	}
	rc = root ? json_dumpf(root, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(root);
	return rc ? run_fail("%s cannot be put into JSON", o->file) : RUN_OK;
}

static int model_error(const char *name, int rc)
{
	return run_fail("%s: %s", name,
			rc == -ERANGE ? "a time lies beyond 2^62 ns: are sizes and times right?"
				      : "not enough memory");
}

int predict(const struct opts *o, const struct goal_set *set)
{
	struct model_result result;
	int rc = model_run(set, &o->model, &result);

	if (rc)
		return model_error(o->file, rc);
	if (o->json)
		rc = print_json(o, set, &result);
	else
		print_text(set, &result);
	if (result.num_unmatched) {
		print_unmatched(o->file, set, &result);
		rc = RUN_FAILED;
	}
	model_result_free(&result);
	return rc;
}

uint32_t predict_unmatched(const char *name, const struct goal_set *set,
			   const struct goal_set *said)
{
	/* Every message is eager and takes no time, since only partners matter. */
	static const struct model_params at_once = {.S = UINT64_MAX};
	struct model_result result;
	uint32_t num;

	if (model_run(set, &at_once, &result))
		return 0;
	num = result.num_unmatched;
	if (num)
		print_unmatched(name, said, &result);
	model_result_free(&result);
	return num;
}
