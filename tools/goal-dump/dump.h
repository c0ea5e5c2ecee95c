/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of goal-dump. main.c parses the command line; trace.c prints traces.
 */
#ifndef WEFT_GOAL_DUMP_H
#define WEFT_GOAL_DUMP_H

#include <stdio.h>

#include "host_driver/goal/file/goal_trace_file.h"

/*
 * Opens a file of GOAL_SaveTrace() and reads its header, "-": standard input. NULL after an error
 * message.
 */
FILE *trace_open(const char *file, struct goal_trace_header *header);
/* Prints an opened trace. 0, or -1 after an error message. */
int trace_print(const char *file, FILE *in, const struct goal_trace_header *header, FILE *out);

#endif /* WEFT_GOAL_DUMP_H */
