/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tools have in common at their begin and end: how numbers of a command line are taken,
 * the one line that says what is wrong with it, and that nothing of standard output is lost. Called
 * by the file of each tool that has its getopt_long(), and by main(). Not thread-safe, as getopt is
 * not.
 *
 * A parser of a value returns -1 when it has taken it, else the exit status.
 */
#ifndef WEFT_TOOLS_USAGE_H
#define WEFT_TOOLS_USAGE_H

#include <stdint.h>

struct option;

/* The program's name in messages; each tool has it. */
extern const char tool_name[];

/*
 * "TOOL: what is wrong and how to mend it (TOOL --help tells more)" on standard error. Returns 2,
 * the exit status of every tool for a wrong command line.
 */
int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The name of the option that getopt_long() returned opt for; NULL: there is none. */
const char *option_name(int opt, const struct option *longopts);

/*
 * What getopt_long() returned ':' or '?' for, in such a line: opterr is 0 and the short options
 * begin with a colon. Returns 2.
 */
int usage_option(int opt, char *const *argv, const struct option *longopts);

/*
 * text, the value of what the user knows as name ("--size"): a whole number from low to high; K, M
 * or G behind it are 1024 and its powers.
 */
int take_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int take_number32(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *value);

/* The same, seconds. */
int take_seconds(const char *name, const char *text, double low, double high, double *value);

/*
 * Writes out what is left of standard output. Returns status; for 0, when not all could be written,
 * 1 after saying so. It is main()'s last word, since what was printed into a buffer may fail only
 * now.
 */
int output_end(int status);

#endif /* WEFT_TOOLS_USAGE_H */
