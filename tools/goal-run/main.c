/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-run: predicts how long GOAL schedules take. Started by users and scripts; calls libgoal to
 * read them, model.c to predict.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal_text.h"
#include "tools/goal-run/model.h"

enum {
	RUN_OK = 0,
	RUN_FAILED = 1,
	RUN_USAGE = 2,
};

enum {
	SHOWN_UNMATCHED = 10, /* lines of them, in errors */
};

static const char help[] =
    "Usage: goal-run --model L,o,g,G,O,S [--json] FILE\n"
    "\n"
    "Predicts how long the GOAL schedules in FILE take, by the rules of the LogGOPS model alone:\n"
    "no network is used. FILE is in LogGOPSim's textual or binary format (docs/goal-format.md);\n"
    "- is standard input.\n"
    "\n"
    "Options\n"
    "  --model L,o,g,G,O,S\n"
    "                     whole numbers: latency, overhead and gap per message in ns, gap and\n"
    "                     overhead per byte in ns, and the largest eager message in bytes\n"
    "  --json             one JSON object\n"
    "  --help, --version\n"
    "\n"
    "Prints a line \"rank N T\" for each rank: the time in ns at which its last cpu is free; last\n"
    "a line \"finish_ns N\", the time of the rank that finishes last. If the schedules come to a\n"
    "stop before their end, the last line is \"deadlock\", and the exit status 1.\n"
    "\n"
    "Exit status: 0 done, 1 failure (bad schedule, deadlock), 2 usage.\n";

enum {
	OPT_MODEL = 256,
	OPT_JSON,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"model", required_argument, NULL, OPT_MODEL},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

struct run {
	const char *file;
	bool model, json;
	struct model_params params;
};

static int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line: what is wrong and how to mend it. */
static int usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "goal-run: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (goal-run --help tells more)\n");
	return RUN_USAGE;
}

static int parse_params(const char *text, struct model_params *p)
{
	uint64_t *value[] = {&p->L, &p->o, &p->g, &p->G, &p->O, &p->S};
	const char *at = text;
	char *end;

	for (int i = 0; i < 6; i++) {
		errno = 0;
		*value[i] = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || *value[i] > MODEL_MAX_PARAM ||
		    *end != (i < 5 ? ',' : '\0'))
			return usage("--model takes six whole numbers L,o,g,G,O,S of at most %llu, "
				     "not '%s'",
				     MODEL_MAX_PARAM, text);
		at = end + 1;
	}
	return -1;
}

/* -1: taken; else an exit code. */
static int take_option(struct run *run, int opt, char **argv)
{
	switch (opt) {
	case OPT_MODEL:
		run->model = true;
		return parse_params(optarg, &run->params);
	case OPT_JSON:
		run->json = true;
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return RUN_OK;
	case OPT_VERSION:
		printf("goal-run %s\n", WEFT_VERSION);
		return RUN_OK;
	case ':':
		return usage("%s needs a value", argv[optind - 1]);
	default:
		return usage("there is no option '%s'", argv[optind - 1]);
	}
}

static void print_text(const struct goal_set *set, const struct model_result *result)
{
	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		printf("rank %" PRIu32 " %" PRIu64 "\n", rank, result->rank_ns[rank]);
	if (result->num_unmatched)
		printf("deadlock\n");
	else
		printf("finish_ns %" PRIu64 "\n", result->finish_ns);
}

/* "3" or "any" */
static const char *number_or_any(char text[12], uint32_t value)
{
	if (value == GOAL_ANY)
		return "any";
	snprintf(text, 12, "%" PRIu32, value);
	return text;
}

/* Where the first of those that found no partner are. */
static void print_unmatched(const struct run *run, const struct goal_set *set,
			    const struct model_result *result)
{
	char peer[12], tag[12];

	fprintf(stderr,
		"goal-run: %s: the schedules stop before their end: %" PRIu32
		" operations find no partner\n",
		run->file, result->num_unmatched);
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
			number_or_any(peer, op->peer), number_or_any(tag, op->tag));
	}
}

static int print_json(const struct run *run, const struct goal_set *set,
		      const struct model_result *result)
{
	const struct model_params *p = &run->params;
	json_t *ranks = json_array(), *root;
	int rc;

	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		json_array_append_new(ranks, json_integer((json_int_t)result->rank_ns[rank]));
	root = json_pack("{s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:b, s:I, s:o}", "file",
			 run->file, "model", "L", (json_int_t)p->L, "o", (json_int_t)p->o, "g",
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
	if (rc)
		fprintf(stderr, "goal-run: %s cannot be put into JSON\n", run->file);
	return rc ? RUN_FAILED : RUN_OK;
}

static int predict(const struct run *run)
{
	struct model_result result;
	struct goal_error err;
	struct goal_set set;
	int rc;

	if (goal_file_load(run->file, &set, &err)) {
		fprintf(stderr, "goal-run: %s\n", err.text);
		return RUN_FAILED;
	}
	rc = model_run(&set, &run->params, &result);
	if (rc) {
		fprintf(stderr, "goal-run: %s: %s\n", run->file,
			rc == -ERANGE ? "a time lies beyond 2^62 ns: are sizes and times right?"
				      : "not enough memory");
		goal_set_free(&set);
		return RUN_FAILED;
	}
	if (run->json)
		rc = print_json(run, &set, &result);
	else
		print_text(&set, &result);
	if (result.num_unmatched) {
		print_unmatched(run, &set, &result);
		rc = RUN_FAILED;
	}
	model_result_free(&result);
	goal_set_free(&set);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "goal-run: standard output: %s\n", strerror(errno));
		return RUN_FAILED;
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct run run = {0};
	int opt, rc;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longopts, NULL)) != -1) {
		rc = take_option(&run, opt, argv);
		if (rc >= 0)
			return rc;
	}
	if (optind == argc)
		return usage("which FILE of schedules?");
	if (argc - optind > 1)
		return usage("one FILE at a time, not '%s' too", argv[optind + 1]);
	if (!run.model)
		return usage("say how: --model L,o,g,G,O,S predicts by the LogGOPS rules");
	run.file = argv[optind];
	return predict(&run);
}
