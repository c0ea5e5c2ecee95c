/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a trace of a run to a file: the points and the schedule. docs/collectives.md "Tracing".
 */
#include "host_driver/goal/file/goal_trace_file.h"

int goal_trace_write(FILE *f, struct goal_trace_header *header, const struct hw_goal_trace *entries,
		     const uint8_t *schedule)
{
	header->magic = GOAL_TRACE_MAGIC;
	header->version = GOAL_TRACE_VERSION;
	if (fwrite(header, sizeof(*header), 1, f) != 1 ||
	    fwrite(entries, sizeof(*entries), header->entries, f) != header->entries ||
	    fwrite(schedule, 1, header->schedule_bytes, f) != header->schedule_bytes)
		return -1;
	return 0;
}
