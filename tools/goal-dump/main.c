/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-dump: writes GOAL schedules as text, and traces of their runs. Calls libgoal, trace.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host_driver/goal/file/goal_text.h"
#include "lib/cli.h"
#include "tools/goal-dump/dump.h"
#include "tools/usage.h"

enum {
	DUMP_OK = 0,
	DUMP_FAILED = 1,
};

const char tool_name[] = "goal-dump";

struct dump_opts {
	const char *output;
	bool trace;
};

static const struct cli_option rows[] = {
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .kind = CLI_TEXT,
     CLI_FIELD(struct dump_opts, output),
     .shown = "standard output",
     .help = "output file"},
    {.name = "trace",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, trace),
     .help = "FILE is the trace of a run, as GOAL_SaveTrace() writes it: a line for each point "
	     "with the time since the run's start and since the point before"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "writes GOAL schedules and traces of their runs as text",
    .usage = "goal-dump [-o OUT] FILE\n"
	     "goal-dump [-o OUT] --trace FILE",
    .about =
	"Writes the GOAL schedules in FILE as text, in the strict form that LogGOPSim reads. FILE\n"
	"is in LogGOPSim's textual or binary format (docs/goal-format.md); - is standard input.",
    .after = "Exit status: 0 done, 1 failure (bad schedule, no room), 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
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
	struct dump_opts o = {0};
	struct cli cli;
	int rc = cli_take(&cli, &program, &o, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (!cli.num_words)
		return usage("no FILE of schedules is given");
	if (cli.num_words > 1)
		return usage("one FILE at a time, not '%s' too", cli.words[1]);
	return o.trace ? dump_trace(cli.words[0], o.output) : dump(cli.words[0], o.output);
}

int main(int argc, char **argv)
{
	return output_end(goal_dump(argc, argv));
}
