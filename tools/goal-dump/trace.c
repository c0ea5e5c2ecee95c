/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a run as text: what GOAL_SaveTrace() wrote, one line for each point. Called by
 * main.c; calls libgoal for names.
 */
#include "tools/goal-dump/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_trace_file.h"

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

/* NULL, or what is wrong. */
static const char *print(FILE *in, FILE *out)
{
	struct goal_trace_header header;
	GOAL_TraceEntry entry;
	uint64_t before_ns;
	const char *wrong;

	if (fread(&header, sizeof(header), 1, in) != 1)
		return "too short for a trace of a run";
	wrong = check(&header);
	if (wrong)
		return wrong;
	fprintf(out, "# rank %" PRIu32 " of %" PRIu32 ", run %" PRIu32 ": %.3f us, %s\n",
		header.rank, header.size, header.instance,
		(double)(header.finish_ns - header.start_ns) / 1000,
		GOAL_StrError(-(int)header.status));
	fprintf(out, "# %" PRIu32 " points, %" PRIu32 " found no room\n", header.entries,
		header.lost);
	fprintf(out, "#         us        +us  point            vertex\n");
	before_ns = header.start_ns;
	for (uint32_t i = 0; i < header.entries; i++) {
		if (fread(&entry, sizeof(entry), 1, in) != 1)
			return "truncated";
		print_point(&entry, header.start_ns, before_ns, out);
		before_ns = entry.ns;
	}
	return NULL;
}

int trace_dump(const char *file, FILE *out)
{
	FILE *in = strcmp(file, "-") ? fopen(file, "re") : stdin;
	const char *wrong;

	if (!in) {
		fprintf(stderr, "goal-dump: %s: %s\n", file, strerror(errno));
		return -1;
	}
	wrong = print(in, out);
	if (wrong)
		fprintf(stderr, "goal-dump: %s: %s\n", file, wrong);
	if (in != stdin)
		fclose(in);
	return wrong ? -1 : 0;
}
