/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of runs, files of GOAL_SaveTrace() and goal-run --trace: reads them, and prints them as
 * text, one line for each point. Calls libgoal for names.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "tools/goal-dump/dump.h"

bool trace_is(const uint8_t *bytes, size_t num)
{
	uint64_t magic = GOAL_TRACE_MAGIC;

	return num >= sizeof(magic) && !memcmp(bytes, &magic, sizeof(magic));
}

static const char *check(const struct goal_trace_header *header, size_t num)
{
	uint64_t rest = num - sizeof(*header);
	uint64_t points = (uint64_t)header->entries * sizeof(struct hw_goal_trace);

	if (header->version != GOAL_TRACE_VERSION)
		return "a trace of another version of weft";
	if (points > rest || rest - points < header->schedule_bytes)
		return "truncated";
	if (rest - points > header->schedule_bytes)
		return "longer than its header says";
	return NULL;
}

int trace_take(struct trace *trace, const char *name, uint8_t *bytes, size_t num)
{
	const char *wrong;

	*trace = (struct trace){.name = name, .memory = bytes};
	if (!trace_is(bytes, num))
		return dump_fail(name, num < sizeof(trace->header)
					   ? "too short for a trace of a run"
					   : "no trace of a run; GOAL_SaveTrace() writes one");
	if (num < sizeof(trace->header))
		return dump_fail(name, "too short for a trace of a run");
	memcpy(&trace->header, bytes, sizeof(trace->header));
	wrong = check(&trace->header, num);
	if (wrong)
		return dump_fail(name, "%s", wrong);
	trace->entries = (const void *)(bytes + sizeof(trace->header));
	trace->schedule = (const uint8_t *)(trace->entries + trace->header.entries);
	return 0;
}

void trace_free(struct trace *trace)
{
	free(trace->memory);
	trace->memory = NULL;
}

static void print_point(const struct hw_goal_trace *entry, uint64_t start_ns, uint64_t before_ns,
			FILE *out)
{
	fprintf(out, "%12.3f %10.3f  %-12s", (double)(int64_t)(entry->ns - start_ns) / 1000,
		(double)(int64_t)(entry->ns - before_ns) / 1000, GOAL_TracePointName(entry->point));
	if (entry->op != UINT32_MAX)
		fprintf(out, " %10" PRIu32, entry->op);
	fprintf(out, "\n");
}

void trace_print(const struct trace *trace, FILE *out)
{
	const struct goal_trace_header *header = &trace->header;
	uint64_t before_ns = header->start_ns;

	fprintf(out, "# rank %" PRIu32 " of %" PRIu32 ", run %" PRIu32 ": %.3f us, %s\n",
		header->rank, header->size, header->instance,
		(double)(header->finish_ns - header->start_ns) / 1000,
		GOAL_StrError(-(int)header->status));
	fprintf(out, "# %" PRIu32 " points, %" PRIu32 " found no room\n", header->entries,
		header->lost);
	fprintf(out, "#         us        +us  point            vertex\n");
	for (uint32_t i = 0; i < header->entries; i++) {
		print_point(&trace->entries[i], header->start_ns, before_ns, out);
		before_ns = trace->entries[i].ns;
	}
}
