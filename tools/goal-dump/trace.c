/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the trace of a run, a file of GOAL_SaveTrace(), as text: one line for each point. Calls
 * libgoal for names.
 */
#include "tools/goal-dump/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "host_driver/goal/goal.h"

static const char *check(const struct goal_trace_header *header)
{
	if (header->magic != GOAL_TRACE_MAGIC)
		return "no trace of a run; GOAL_SaveTrace() writes one";
	if (header->version != GOAL_TRACE_VERSION)
		return "a trace of another version of weft";
	return NULL;
}

static void print_point(const GOAL_TraceEntry *entry, uint64_t start_ns, uint64_t before_ns,
			FILE *out)
{
	fprintf(out, "%12.3f %10.3f  %-12s", (double)(int64_t)(entry->ns - start_ns) / 1000,
		(double)(int64_t)(entry->ns - before_ns) / 1000, GOAL_TracePointName(entry->point));
	if (entry->vertex != UINT32_MAX)
		fprintf(out, " %10" PRIu32, entry->vertex);
	fprintf(out, "\n");
}

static void complain(const char *file, const char *wrong)
{
	fprintf(stderr, "goal-dump: %s: %s\n", file, wrong);
}

FILE *trace_open(const char *file, struct goal_trace_header *header)
{
	FILE *in = strcmp(file, "-") ? fopen(file, "re") : stdin;
	const char *wrong;

	if (!in) {
		complain(file, strerror(errno));
		return NULL;
	}
	if (fread(header, sizeof(*header), 1, in) == 1)
		wrong = check(header);
	else
		wrong = ferror(in) ? strerror(errno) : "too short for a trace of a run";
	if (!wrong)
		return in;
	complain(file, wrong);
	if (in != stdin)
		fclose(in);
	return NULL;
}

int trace_print(const char *file, FILE *in, const struct goal_trace_header *header, FILE *out)
{
	uint64_t before_ns = header->start_ns;
	GOAL_TraceEntry entry;

	fprintf(out, "# rank %" PRIu32 " of %" PRIu32 ", run %" PRIu32 ": %.3f us, %s\n",
		header->rank, header->size, header->instance,
		(double)(header->finish_ns - header->start_ns) / 1000,
		GOAL_StrError(-(int)header->status));
	fprintf(out, "# %" PRIu32 " points, %" PRIu32 " found no room\n", header->entries,
		header->lost);
	fprintf(out, "#         us        +us  point            vertex\n");
	for (uint32_t i = 0; i < header->entries; i++) {
		if (fread(&entry, sizeof(entry), 1, in) != 1) {
			complain(file, ferror(in) ? strerror(errno) : "truncated");
			return -1;
		}
		print_point(&entry, header->start_ns, before_ns, out);
		before_ns = entry.ns;
	}
	return 0;
}
