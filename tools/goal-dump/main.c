/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-dump: writes GOAL schedules as text, and traces of their runs. Calls libgoal, trace.c.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host_driver/goal/file/goal_text.h"
#include "tools/goal-dump/dump.h"
#include "tools/usage.h"

enum {
	DUMP_OK = 0,
	DUMP_FAILED = 1,
	DUMP_USAGE = 2,
};

const char tool_name[] = "goal-dump";

static const char help[] =
    "Usage: goal-dump [-o OUT] FILE\n"
    "       goal-dump [-o OUT] --trace FILE\n"
    "\n"
    "Writes the GOAL schedules in FILE as text, in the strict form that LogGOPSim reads. FILE is\n"
    "in LogGOPSim's textual or binary format (docs/goal-format.md); - is standard input.\n"
    "\n"
    "With --trace FILE is the trace of a run, as GOAL_SaveTrace() writes it: a line for each "
    "point\n"
    "with the time since the run's start and since the point before.\n"
    "\n"
    "Options\n"
    "  -o OUT             where to (standard output)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 done, 1 failure (bad schedule, no room), 2 usage.\n";

enum {
	OPT_TRACE = 255,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"trace", no_argument, NULL, OPT_TRACE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int fail(const char *name, int error)
{
	fprintf(stderr, "goal-dump: %s: %s\n", name, strerror(error));
	return DUMP_FAILED;
}

/* Opened only when the output is ready: a file that cannot be read destroys nothing. */
static FILE *open_out(const char *name)
{
	FILE *out = name ? fopen(name, "we") : stdout;

	if (!out)
		fail(name, errno);
	return out;
}

/* main() closes standard output. */
static int close_out(FILE *out, const char *name, int rc)
{
	bool bad = ferror(out);

	if (out != stdout && (fclose(out) || bad) && rc == DUMP_OK)
		return fail(name, errno ? errno : EIO);
	return rc;
}

static int dump(const char *file, const char *out_name)
{
	struct goal_error err;
	struct goal_set set;
	int rc = DUMP_FAILED, error;
	FILE *out;

	if (goal_file_load(file, &set, &err)) {
		fprintf(stderr, "goal-dump: %s\n", err.text);
		return DUMP_FAILED;
	}
	out = open_out(out_name);
	if (out) {
		error = goal_text_write(&set, out);
		rc = error ? fail(out_name ? out_name : "standard output", -error) : DUMP_OK;
		rc = close_out(out, out_name, rc);
	}
	goal_set_free(&set);
	return rc;
}
static int dump_trace(const char *file, const char *out_name)
{
	struct goal_trace_header header;
	FILE *in = trace_open(file, &header), *out;
	int rc = DUMP_FAILED;

	if (!in)
		return DUMP_FAILED;
	out = open_out(out_name);
	if (out)
		rc = close_out(out, out_name,
			       trace_print(file, in, &header, out) ? DUMP_FAILED : DUMP_OK);
	if (in != stdin)
		fclose(in);
	return rc;
}

static int goal_dump(int argc, char **argv)
{
	const char *out = NULL;
	bool trace = false;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":ho:", longopts, NULL)) != -1) {
		switch (opt) {
		case 'o':
			out = optarg;
			break;
		case OPT_TRACE:
			trace = true;
			break;
		case 'h':
		case OPT_HELP:
			fputs(help, stdout);
			return DUMP_OK;
		case OPT_VERSION:
			printf("goal-dump %s\n", WEFT_VERSION);
			return DUMP_OK;
		default:
			return usage_option(opt, argv, longopts);
		}
	}
	if (optind == argc)
		return usage("which FILE of schedules?");
	if (argc - optind > 1)
		return usage("one FILE at a time, not '%s' too", argv[optind + 1]);
	return trace ? dump_trace(argv[optind], out) : dump(argv[optind], out);
}

int main(int argc, char **argv)
{
	return output_end(goal_dump(argc, argv));
}
