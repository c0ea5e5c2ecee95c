/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of goal-dump share. main.c parses the command line; trace.c prints traces.
 */
#ifndef WEFT_GOAL_DUMP_H
#define WEFT_GOAL_DUMP_H

#include <stdio.h>

#include "host_driver/goal/file/goal_trace_file.h"

/* A file of GOAL_SaveTrace() and its header, "-": standard input. NULL after saying what is wrong.
 */
FILE *trace_open(const char *file, struct goal_trace_header *header);
/* Prints what trace_open() opened. 0, or -1 after saying what is wrong with it. */
int trace_print(const char *file, FILE *in, const struct goal_trace_header *header, FILE *out);

#endif /* WEFT_GOAL_DUMP_H */
