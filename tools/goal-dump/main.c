/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-dump: writes GOAL schedules and traces of their runs, as text or as pictures. Calls libgoal
 * to read schedules; dump.h lists its own files.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
	bool trace, dot, timeline, json, align;
};

static const struct cli_option rows[] = {
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .kind = CLI_TEXT,
     CLI_FIELD(struct dump_opts, output),
     .shown = "standard output",
     .help = "output file"},
    {.name = "dot",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, dot),
     .help = "write the schedules as a graph for Graphviz' dot; FILE may also be compiled "
	     "schedules (GOAL_SaveSchedule()) or traces, one for each rank"},
    {.name = "trace",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, trace),
     .help = "FILE is the trace of a run, as GOAL_SaveTrace() and goal-run --trace write it: a "
	     "line for each point with the time since the run's start and since the point before"},
    {.name = "timeline",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, timeline),
     .help = "draw the traces of all ranks of a run side by side, as SVG"},
    {.name = "json",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, json),
     .help = "the same as one JSON object of trace events, which ui.perfetto.dev and "
	     "chrome://tracing open"},
    {.name = "align",
     .kind = CLI_FLAG,
     CLI_FIELD(struct dump_opts, align),
     .help = "with --timeline and --json: each rank begins at 0, for NICs of several machines, "
	     "whose clocks differ"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "writes GOAL schedules and traces of their runs as text or pictures",
    .usage = "goal-dump [-o OUT] FILE\n"
	     "goal-dump [-o OUT] --dot FILE...\n"
	     "goal-dump [-o OUT] --trace FILE\n"
	     "goal-dump [-o OUT] {--timeline|--json} [--align] FILE...",
    .about =
	"Writes the GOAL schedules in FILE as text, in the strict form that LogGOPSim reads. FILE\n"
	"is in LogGOPSim's textual or binary format (docs/goal-format.md); - is standard input.",
    .after = "Exit status: 0 done, 1 failure (bad schedule or trace, no room), 2 usage.\n"
	     "\n"
	     "Examples:\n"
	     "  goal-dump --dot schedule.goal | dot -Tsvg >schedule.svg\n"
	     "  goal-run --sim --coll bcast --ranks 8 --bytes 65536 --trace run\n"
	     "  goal-dump --timeline run/*.trace >run.svg",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
};

int dump_fail(const char *name, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "goal-dump: %s: ", name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

/* ---- files ---------------------------------------------------------------------------------- */

static uint8_t *read_all(FILE *in, const char *name, size_t *bytes)
{
	size_t room = 65536;
	uint8_t *data = malloc(room), *bigger;

	*bytes = 0;
	while (data) {
		*bytes += fread(data + *bytes, 1, room - *bytes, in);
		if (*bytes < room)
			break;
		room *= 2;
		bigger = realloc(data, room);
		if (!bigger)
			free(data);
		data = bigger;
	}
	if (!data) {
		dump_fail(name, "%s", strerror(ENOMEM));
	} else if (ferror(in)) {
		dump_fail(name, "%s", strerror(errno));
		free(data);
		data = NULL;
	}
	return data;
}

uint8_t *dump_read(const char *path, size_t *bytes)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	uint8_t *data;

	if (!in) {
		dump_fail(path, "%s", strerror(errno));
		return NULL;
	}
	data = read_all(in, path, bytes);
	if (in != stdin)
		fclose(in);
	return data;
}

/* Opened only when the output is ready: a file that cannot be read destroys nothing. */
static FILE *open_out(const char *name)
{
	FILE *out = name ? fopen(name, "we") : stdout;

	if (!out)
		dump_fail(name, "%s", strerror(errno));
	return out;
}

/* main() closes standard output. */
static int close_out(FILE *out, const char *name, int rc)
{
	bool bad = ferror(out);

	if (out == stdout || !(fclose(out) || bad) || rc != DUMP_OK)
		return rc;
	dump_fail(name, "%s", strerror(errno ? errno : EIO));
	return DUMP_FAILED;
}

/* ---- schedules ------------------------------------------------------------------------------ */

static int load(const char *file, struct goal_set *set)
{
	struct goal_error err;

	if (goal_file_load(file, set, &err) == 0)
		return 0;
	fprintf(stderr, "goal-dump: %s\n", err.text);
	return -1;
}

static int dump(const char *file, const char *out_name)
{
	struct goal_set set;
	int rc = DUMP_FAILED, error;
	FILE *out;

	if (load(file, &set))
		return DUMP_FAILED;
	out = open_out(out_name);
	if (out) {
		error = goal_text_write(&set, out);
		if (error)
			dump_fail(out_name ? out_name : "standard output", "%s", strerror(-error));
		rc = close_out(out, out_name, error ? DUMP_FAILED : DUMP_OK);
	}
	goal_set_free(&set);
	return rc;
}

static bool is_compiled(const uint8_t *bytes, size_t num)
{
	uint32_t magic = GOAL_FORMAT_MAGIC;

	return num >= sizeof(magic) && !memcmp(bytes, &magic, sizeof(magic));
}

/* Adds what the file holds: a compiled schedule, the one of a trace, or schedules of all ranks. */
static int add_bytes(struct plan *plan, const char *name, uint8_t *bytes, size_t num)
{
	struct goal_error err;
	struct goal_set set;
	struct trace trace;
	int rc;

	if (is_compiled(bytes, num))
		return plan_add_code(plan, name, bytes, num);
	if (trace_is(bytes, num)) {
		/* The caller frees the bytes. */
		rc = trace_take(&trace, name, bytes, num);
		return rc ? rc
			  : plan_add_code(plan, name, trace.schedule, trace.header.schedule_bytes);
	}
	if (plan->num)
		return dump_fail(name, "a file of all ranks stands alone");
	rc = goal_bin_is(bytes, num) ? goal_bin_read((const char *)bytes, num, name, &set, &err)
				     : goal_text_read((const char *)bytes, num, name, &set, &err);
	if (rc) {
		fprintf(stderr, "goal-dump: %s\n", err.text);
		return -1;
	}
	rc = plan_add_set(plan, name, &set);
	goal_set_free(&set);
	return rc;
}

static int dot(char **files, int num, const char *out_name)
{
	struct plan plan = {0};
	int rc = 0;
	FILE *out;

	for (int i = 0; rc == 0 && i < num; i++) {
		size_t bytes;
		uint8_t *data = dump_read(files[i], &bytes);

		if (data && plan.lines)
			rc = dump_fail(files[i], "a file of all ranks stands alone");
		else
			rc = data ? add_bytes(&plan, files[i], data, bytes) : -1;
		free(data);
	}
	if (rc == 0)
		rc = plan_finish(&plan);
	out = rc == 0 ? open_out(out_name) : NULL;
	if (out)
		dot_write(&plan, out);
	plan_free(&plan);
	return out ? close_out(out, out_name, DUMP_OK) : DUMP_FAILED;
}

/* ---- traces --------------------------------------------------------------------------------- */

/* Returns the traces, or NULL. */
static struct trace *open_traces(char **files, int num)
{
	struct trace *traces = calloc((size_t)num, sizeof(*traces));
	int i;

	if (!traces)
		dump_fail(files[0], "%s", strerror(ENOMEM));
	for (i = 0; traces && i < num; i++) {
		size_t bytes;
		uint8_t *data = dump_read(files[i], &bytes);

		if (!data || trace_take(&traces[i], files[i], data, bytes))
			break;
	}
	if (!traces || i == num)
		return traces;
	for (i = 0; i < num; i++)
		trace_free(&traces[i]);
	free(traces);
	return NULL;
}

static int write_timeline(const struct trace *traces, int num, const struct dump_opts *o)
{
	struct timeline t;
	FILE *out = NULL;
	int rc = DUMP_OK;

	if (timeline_make(&t, traces, (size_t)num, o->align) == 0)
		out = open_out(o->output);
	if (out && o->json)
		events_write(&t, out);
	else if (out && svg_write(&t, out))
		rc = DUMP_FAILED;
	timeline_free(&t);
	return out ? close_out(out, o->output, rc) : DUMP_FAILED;
}

static int dump_traces(char **files, int num, const struct dump_opts *o)
{
	struct trace *traces = open_traces(files, num);
	int rc = DUMP_FAILED;
	FILE *out;

	if (!traces)
		return DUMP_FAILED;
	if (!o->trace) {
		rc = write_timeline(traces, num, o);
	} else if ((out = open_out(o->output))) {
		trace_print(&traces[0], out);
		rc = close_out(out, o->output, DUMP_OK);
	}
	for (int i = 0; i < num; i++)
		trace_free(&traces[i]);
	free(traces);
	return rc;
}

/* -1: the options go together. */
static int check(const struct dump_opts *o, const struct cli *cli)
{
	int forms = o->trace + o->dot + o->timeline + o->json;

	if (!cli->num_words)
		return usage("no FILE of schedules is given");
	if (forms > 1)
		return usage("one of --dot, --trace, --timeline and --json at a time");
	if (o->align && !o->timeline && !o->json)
		return usage("--align goes with --timeline or --json");
	if (cli->num_words > 1 && (!forms || o->trace))
		return usage("one FILE at a time, not '%s' too", cli->words[1]);
	return -1;
}

static int goal_dump(int argc, char **argv)
{
	struct dump_opts o = {0};
	struct cli cli;
	int rc = cli_take(&cli, &program, &o, NULL, argc, argv);

	if (rc == CLI_RUN)
		rc = check(&o, &cli);
	if (rc != CLI_RUN)
		return rc;
	if (o.dot)
		return dot(cli.words, cli.num_words, o.output);
	if (o.trace || o.timeline || o.json)
		return dump_traces(cli.words, cli.num_words, &o);
	return dump(cli.words[0], o.output);
}

int main(int argc, char **argv)
{
	return output_end(goal_dump(argc, argv));
}
