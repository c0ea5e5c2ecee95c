/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of weftd to its operator: one line each, on standard error or in a file (--log).
 */
#ifndef WEFT_APP_LOG_H
#define WEFT_APP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports information for the operator. Any thread. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports an error; the message also names the remedy. Any thread. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Keeps this thread's next error in text, too, whose first character is 0 until then; NULL: no
 * more.
 */
void log_catch(char *text, size_t chars);

/* Reports details, printed only at the level debug. Any thread. */
void log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Rate limit for messages that strangers can cause: ten lines in a row, then one per 6 s. The next
 * line is preceded by the number of omitted ones. The level debug has no limit. One thread per
 * limit; initially zero.
 */
struct log_limit {
	uint64_t since_ns;
	uint32_t lines, left_out;
};
void log_limited(struct log_limit *limit, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Appends all further lines to this file, each with the time (UTC), along with any other output on
 * standard error. path must stay valid; a link, another user's file and one with a second name are
 * refused. Returns 0, or -errno after a message. Call it before threads exist.
 */
int log_open(const char *path) __attribute__((warn_unused_result));

/*
 * Reopens the file by name after it was renamed (logrotate). Returns false if there is none. A
 * failure is reported in the old file. Control thread.
 */
bool log_reopen(void);

/*
 * Looks whether standard error goes to systemd's journal: lines then begin with their priority
 * (sd-daemon(3)), so that journalctl -p err shows errors alone. Call it before threads exist.
 */
void log_find_journal(void);

enum log_level {
	LOG_LEVEL_ERROR, /* errors alone */
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG, /* log_verbose(), too */
};

/* Sets which messages are printed, at first LOG_LEVEL_INFO. Any thread. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

#endif /* WEFT_APP_LOG_H */
