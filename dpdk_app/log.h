/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of weftd to its operator: one line each, on standard error or in a file (--log).
 */
#ifndef WEFT_APP_LOG_H
#define WEFT_APP_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Something the operator should know. Any thread. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something is wrong; the message also says how to mend it. Any thread. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Detail, printed only with --verbose. Any thread. */
void log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * For what a stranger can cause: ten lines in a row, then one each 6 s; the next line that is
 * written is preceded by how many were left out. All with --verbose. One thread for each limit,
 * which begins as zeros.
 */
struct log_limit {
	uint64_t since_ns;
	uint32_t lines, left_out;
};
void log_limited(struct log_limit *limit, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Lines go to this file from now on, after what is there, each with the time (UTC); so does what
 * else is written to standard error. path stays valid. 0, or -errno after a message. Before
 * threads exist.
 */
int log_open(const char *path) __attribute__((warn_unused_result));

/*
 * Opens the file by its name again, after it was renamed (logrotate). False: there is none. A file
 * that cannot be opened is told, in the old one. Control thread.
 */
bool log_reopen(void);

/* Turns log_verbose() on or off. Called once, before threads exist. */
void log_set_verbose(bool verbose);

#endif /* WEFT_APP_LOG_H */
