/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Format of a trace file: this header, then entries (hw_goal_trace), then the compiled schedule
 * (goal_format.h) whose run was traced; all in host byte order.
 *
 * GOAL_SaveTrace() and goal-run --trace write it, goal-dump reads it. The schedule shows what each
 * vertex does and which message belongs to which receive of another rank.
 */
#ifndef WEFT_GOAL_TRACE_FILE_H
#define WEFT_GOAL_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shared_defs/hw_goal.h"

#define GOAL_TRACE_MAGIC UINT64_C(0x31435254534f4721) /* "!GOSTRC1" as bytes */
enum {
	GOAL_TRACE_VERSION = 2,
};

struct goal_trace_header {
	uint64_t magic;
	uint32_t version;
	uint32_t rank, size; /* of the communicator */
	uint32_t entries;
	uint32_t lost;     /* trace points dropped for lack of space */
	uint32_t status;   /* hw_goal_status */
	uint32_t instance; /* number of the run on its communicator */
	uint32_t reserved;
	uint64_t start_ns, finish_ns; /* of the NIC's clock */
	uint64_t schedule_bytes;
};
_Static_assert(sizeof(struct goal_trace_header) == 64, "");

/*
 * Writes a trace file. The function sets magic and version in *header. Returns 0, or -1 with errno
 * set.
 */
int goal_trace_write(FILE *f, struct goal_trace_header *header, const struct hw_goal_trace *entries,
		     const uint8_t *schedule);

#endif /* WEFT_GOAL_TRACE_FILE_H */
