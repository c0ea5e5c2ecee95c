/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of weftd to its operator: one line each on standard error or in a file (--log), or a
 * record with fields in systemd's journal.
 */
#ifndef WEFT_APP_LOG_H
#define WEFT_APP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum log_level {
	LOG_LEVEL_ERROR, /* errors alone */
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG, /* details, too */
};

/*
 * Subject of a message. The journal keeps it in fields of their own; a plain line begins with the
 * NIC's name. Zero and NULL: not known.
 */
struct log_subject {
	const char *nic;     /* WEFT_NIC */
	const char *program; /* WEFT_PROGRAM */
	pid_t pid;           /* WEFT_PID */
	uid_t uid;           /* WEFT_UID; valid with pid */
};

/* Place in the source: CODE_FILE, CODE_FUNC, CODE_LINE of the journal. */
struct log_place {
	const char *file, *func;
	int line;
};
#define LOG_HERE ((struct log_place){__FILE__, __func__, __LINE__})

/*
 * Reports to the operator, if the level is printed. An error also names the remedy. subject may be
 * NULL. Any thread.
 */
void log_at(enum log_level level, struct log_place place, const struct log_subject *subject,
	    const char *format, ...) __attribute__((format(printf, 4, 5)));
#define log_error(...)   log_at(LOG_LEVEL_ERROR, LOG_HERE, NULL, __VA_ARGS__)
#define log_info(...)    log_at(LOG_LEVEL_INFO, LOG_HERE, NULL, __VA_ARGS__)
#define log_verbose(...) log_at(LOG_LEVEL_DEBUG, LOG_HERE, NULL, __VA_ARGS__)

/* The same about a NIC, by its name. */
#define LOG_NIC(name)              (&(struct log_subject){.nic = (name)})
#define log_nic_error(name, ...)   log_at(LOG_LEVEL_ERROR, LOG_HERE, LOG_NIC(name), __VA_ARGS__)
#define log_nic_info(name, ...)    log_at(LOG_LEVEL_INFO, LOG_HERE, LOG_NIC(name), __VA_ARGS__)
#define log_nic_verbose(name, ...) log_at(LOG_LEVEL_DEBUG, LOG_HERE, LOG_NIC(name), __VA_ARGS__)

/*
 * Keeps this thread's next error in text, too, whose first character is 0 until then; NULL: no
 * more.
 */
void log_catch(char *text, size_t chars);

/*
 * Rate limit for messages that strangers can cause: ten lines in a row, then one per 6 s. The next
 * line is preceded by the number of omitted ones. The level debug has no limit. One thread per
 * limit; initially zero.
 */
struct log_limit {
	uint64_t since_ns;
	uint32_t lines, left_out;
};
void log_limit_at(struct log_limit *limit, uint64_t now_ns, struct log_place place,
		  const struct log_subject *subject, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define log_nic_limited(limit, now_ns, name, ...)                                                  \
	log_limit_at(limit, now_ns, LOG_HERE, LOG_NIC(name), __VA_ARGS__)

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

enum log_format {
	LOG_FORMAT_AUTO,    /* the journal if standard error goes there, else plain */
	LOG_FORMAT_PLAIN,   /* lines of text on standard error or in the file */
	LOG_FORMAT_JOURNAL, /* records with fields, to systemd's journal (log_journal.h) */
};

/*
 * Sets the form of messages; a file (log_open()) has plain lines. Where standard error goes to the
 * journal, plain lines begin with their priority (sd-daemon(3)), so that journalctl -p err shows
 * errors alone. Returns 0, or -errno after a message if the format is the journal and none answers.
 * Call it before threads exist.
 */
int log_set_format(enum log_format format) __attribute__((warn_unused_result));

/* Sets which messages are printed, at first LOG_LEVEL_INFO. Any thread. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

#endif /* WEFT_APP_LOG_H */
