/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Format of a trace file: this header, then entries (hw_goal_trace), all in host byte order.
 *
 * GOAL_SaveTrace() in libgoal_trace.c writes it; goal-dump --trace reads it.
 */
#ifndef WEFT_GOAL_TRACE_FILE_H
#define WEFT_GOAL_TRACE_FILE_H

#include <stdint.h>

#define GOAL_TRACE_MAGIC UINT64_C(0x31435254534f4721) /* "!GOSTRC1" as bytes */
enum {
	GOAL_TRACE_VERSION = 1,
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
};
_Static_assert(sizeof(struct goal_trace_header) == 56, "");

#endif /* WEFT_GOAL_TRACE_FILE_H */
