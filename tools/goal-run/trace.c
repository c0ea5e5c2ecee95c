/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of the last run, or of one that failed, a file for each rank, as GOAL_SaveTrace() writes
 * them; goal-dump draws them.
 *
 * In the simulator each NIC has a clock of its own: times are written from the common start.
 * Calls weft_goal.h's PERFTRACE and goal_trace_file.c. docs/collectives.md "Tracing".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host_driver/goal/file/goal_trace_file.h"
#include "tools/goal-run/goal_run.h"

enum {
	RUN_POINTS = 64,
	OP_POINTS = 16, /* packets that are sent again may need more; those are counted as lost */
	MAX_POINTS = 1 << 22,
};

int trace_open(struct ranks *ranks, uint32_t rank, struct goal_code *code)
{
	struct rank *r = &ranks->rank[rank];
	const struct goal_header *header = (const void *)code->bytes;
	uint64_t points = RUN_POINTS + (uint64_t)header->num_ops * OP_POINTS;

	r->trace.max = (uint32_t)(points < MAX_POINTS ? points : MAX_POINTS);
	r->trace.code = *code;
	*code = (struct goal_code){0};
	r->trace.bytes =
	    ((uint64_t)r->trace.max * sizeof(*r->trace.entries) + 4095) & ~UINT64_C(4095);
	r->trace.entries = ranks->alloc(ranks, rank, r->trace.bytes);
	if (r->trace.entries)
		r->trace.mr =
		    weft_reg_mr(r->pd, r->trace.entries, r->trace.bytes, WEFT_ACCESS_LOCAL_WRITE);
	if (r->trace.mr)
		return RUN_OK;
	return run_fail("%s: rank %" PRIu32 ": memory for its trace: %s", ranks->job->name, rank,
			strerror(errno));
}

void trace_attach(const struct rank *r, struct weft_goal_run_attr *attr)
{
	attr->trace = r->trace.entries;
	attr->trace_mr = r->trace.mr;
	attr->trace_entries = r->trace.mr ? r->trace.max : 0;
}

/* Moves the times of a simulated NIC to the common start. */
static void align(struct rank_trace *trace, struct goal_trace_header *header, uint64_t clock_ns)
{
	header->start_ns -= clock_ns;
	header->finish_ns -= clock_ns;
	for (uint32_t i = 0; i < header->entries; i++)
		trace->entries[i].ns -= clock_ns;
}

static int save(const struct ranks *ranks, uint32_t rank, const char *path)
{
	struct rank *r = &ranks->rank[rank];
	struct goal_trace_header header = {
	    .rank = rank,
	    .size = ranks->num,
	    .entries = r->result.traced < r->trace.max ? r->result.traced : r->trace.max,
	    .lost = r->result.trace_lost,
	    .status = r->result.status,
	    .instance = r->result.instance,
	    .start_ns = r->result.start_ns,
	    .finish_ns = r->result.finish_ns,
	    .schedule_bytes = r->trace.code.num_bytes,
	};
	FILE *f = fopen(path, "wbe");
	int rc;

	if (!f)
		return -1;
	align(&r->trace, &header, r->clock_ns);
	rc = goal_trace_write(f, &header, r->trace.entries, r->trace.code.bytes);
	return fclose(f) || rc ? -1 : 0;
}

int trace_save(const struct ranks *ranks)
{
	char path[4096];

	if (mkdir(ranks->trace, 0777) && errno != EEXIST)
		return run_fail("--trace %s: %s", ranks->trace, strerror(errno));
	for (uint32_t i = 0; i < ranks->num; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/rank%" PRIu32 ".trace", ranks->trace,
				     i) >= sizeof(path))
			return run_fail("--trace: the folder's name is too long");
		if (save(ranks, i, path))
			return run_fail("%s: %s", path, strerror(errno));
	}
	return RUN_OK;
}

void trace_close(struct rank *r)
{
	goal_code_free(&r->trace.code);
}
