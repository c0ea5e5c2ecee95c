/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common start and end of the tools: parsers of numbers, the line that says what is wrong with a
 * command line, and the check that all of standard output was written. Each tool's main() and the
 * file with its getopt_long() use it. Not thread-safe, as getopt is not.
 *
 * A parser of a value returns -1 when it has accepted it, else the exit status.
 */
#ifndef WEFT_TOOLS_USAGE_H
#define WEFT_TOOLS_USAGE_H

#include <stdint.h>

struct option;

/* The program's name in messages; each tool defines it. */
extern const char tool_name[];

/*
 * Prints "TOOL: what is wrong and how to mend it (TOOL --help tells more)" on standard error.
 * Returns 2, the exit status of every tool for a wrong command line.
 */
int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The name of the option for which getopt_long() returned opt; NULL: there is none. */
const char *option_name(int opt, const struct option *longopts);

/*
 * Prints such a line for the option for which getopt_long() returned ':' or '?'; opterr is 0 and
 * the short options begin with a colon. Returns 2.
 */
int usage_option(int opt, char *const *argv, const struct option *longopts);

/*
 * Parses text, the value of the option name ("--size"): a whole number from low to high; the
 * suffixes K, M and G are 1024 and its powers.
 */
int take_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int take_number32(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *value);

/* The same for seconds. */
int take_seconds(const char *name, const char *text, double low, double high, double *value);

/*
 * Flushes standard output. Returns status; if status is 0 and not all could be written, returns 1
 * after an error message. main() calls it last, since buffered output may fail only now.
 */
int output_end(int status);

#endif /* WEFT_TOOLS_USAGE_H */
