/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of goal-dump share. main.c parses the command line; trace.c prints traces.
 */
#ifndef WEFT_GOAL_DUMP_H
#define WEFT_GOAL_DUMP_H

#include <stdio.h>

/* Prints a file of GOAL_SaveTrace(), "-": standard input. 0, or -1 after saying what is wrong. */
int trace_dump(const char *file, FILE *out);

#endif /* WEFT_GOAL_DUMP_H */
