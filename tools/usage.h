/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common end of the tools: the line that says what is wrong with a command line beyond its table of
 * options (lib/cli.h), and the check that all of standard output was written.
 */
#ifndef WEFT_TOOLS_USAGE_H
#define WEFT_TOOLS_USAGE_H

/* The program's name in messages; each tool defines it. */
extern const char tool_name[];

/*
 * Prints "TOOL: what is wrong and how to mend it (TOOL --help tells more)" on standard error.
 * Returns 2, the exit status of every tool for a wrong command line.
 */
int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Flushes standard output. Returns status; if status is 0 and not all could be written, returns 1
 * after an error message. main() calls it last, since buffered output may fail only now.
 */
int output_end(int status);

#endif /* WEFT_TOOLS_USAGE_H */
