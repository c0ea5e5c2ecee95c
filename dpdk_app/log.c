/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the operator. Each is written with one write(), so lines of several threads do not
 * mix. They go to standard error, which a file may replace (--log), or with fields to the journal.
 *
 * Calls log_journal.c, own_file.c and libc.
 */
#include "dpdk_app/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/log_journal.h"
#include "dpdk_app/own_file.h"

enum {
	LOG_CHARS = 1000,
	LOG_NIC_CHARS = 32,
	LOG_MODE = 0640,
	LOG_LIMIT_LINES = 10, /* burst limit */
};
#define LOG_LIMIT_NS UINT64_C(6000000000) /* afterwards one line per interval */

static atomic_int log_level_now = LOG_LEVEL_INFO;
static const char *log_path;           /* NULL: the inherited standard error */
static _Thread_local char *log_caught; /* the first error of this thread; NULL: not wanted */
static _Thread_local size_t log_caught_chars;
static bool log_prefixed;    /* standard error is the journal's, which reads a line's priority */
static bool log_fields;      /* messages go to the journal's socket, with fields */
static atomic_uint log_lost; /* lines that could not be written */

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&log_level_now, (int)level, memory_order_relaxed);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load_explicit(&log_level_now, memory_order_relaxed);
}

/* The service manager adds times itself; in a file they are written here. */
static size_t log_time(char *line, size_t bytes)
{
	time_t now = time(NULL);
	struct tm tm;

	return log_path && gmtime_r(&now, &tm) ? strftime(line, bytes, "%Y-%m-%dT%H:%M:%SZ ", &tm)
					       : 0;
}

/* Priorities of syslog(3), which journalctl -p selects by. */
static const char log_priorities[][4] = {
    [LOG_LEVEL_ERROR] = "<3>",
    [LOG_LEVEL_INFO] = "<6>",
    [LOG_LEVEL_DEBUG] = "<7>",
};

/* Returns false if the line, or its end, could not be written: the disk is full. */
static bool log_write(enum log_level level, const char *text)
{
	char line[LOG_CHARS + 64];
	size_t used = log_time(line, sizeof(line));
	int n;

	n = snprintf(line + used, sizeof(line) - used, "%sweftd: %s\n",
		     log_prefixed && !log_path ? log_priorities[level] : "", text);
	used += (size_t)n;
	return write(STDERR_FILENO, line, used) == (ssize_t)used;
}

/* Reports lines that were lost. False: they and the next one cannot be written either. */
static bool log_lost_lines(void)
{
	unsigned int lost = atomic_exchange(&log_lost, 0);
	char text[80];

	if (!lost)
		return true;
	snprintf(text, sizeof(text), "%u lines before this one could not be written", lost);
	if (log_write(LOG_LEVEL_ERROR, text))
		return true;
	atomic_fetch_add(&log_lost, lost);
	return false;
}

/*
 * Lines that cannot be written are counted; the first one that can is preceded by their number. A
 * message that the journal's socket does not take, since the journal restarts or is full, is a line
 * of standard error.
 */
static void log_line(enum log_level level, struct log_place place,
		     const struct log_subject *subject, const char *format, va_list args)
{
	char text[LOG_CHARS];
	size_t used = 0;

	if (subject && subject->nic)
		used = (size_t)snprintf(text, sizeof(text), "%.*s: ", LOG_NIC_CHARS, subject->nic);
	if (vsnprintf(text + used, sizeof(text) - used, format, args) < 0)
		text[used] = '\0';
	if (log_fields && !log_path &&
	    log_journal_send(log_priorities[level][1], place, subject, text))
		return;
	if (!log_lost_lines() || !log_write(level, text))
		atomic_fetch_add(&log_lost, 1);
}

static bool log_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

int log_set_format(enum log_format format)
{
	int err;

	log_prefixed = log_is_journal();
	log_fields = false;
	if (format == LOG_FORMAT_PLAIN || (format == LOG_FORMAT_AUTO && !log_prefixed))
		return 0;
	err = log_journal_open();
	if (err && format == LOG_FORMAT_JOURNAL) {
		log_error("--log-format journal: " LOG_JOURNAL_SOCKET ": %s; is there a "
			  "systemd-journald?",
			  strerror(-err));
		return err;
	}
	log_fields = !err;
	return 0;
}

void log_catch(char *text, size_t chars)
{
	log_caught = text;
	log_caught_chars = chars;
}

void log_at(enum log_level level, struct log_place place, const struct log_subject *subject,
	    const char *format, ...)
{
	va_list args;

	if (level == LOG_LEVEL_ERROR && log_caught && !*log_caught) {
		int used = subject && subject->nic
			       ? snprintf(log_caught, log_caught_chars, "%s: ", subject->nic)
			       : 0;

		va_start(args, format);
		if ((size_t)used < log_caught_chars)
			(void)vsnprintf(log_caught + used, log_caught_chars - (size_t)used, format,
					args);
		va_end(args);
	}
	if (log_get_level() < level)
		return;
	va_start(args, format);
	log_line(level, place, subject, format, args);
	va_end(args);
}

void log_limit_at(struct log_limit *limit, uint64_t now_ns, struct log_place place,
		  const struct log_subject *subject, const char *format, ...)
{
	uint64_t earned = (now_ns - limit->since_ns) / LOG_LIMIT_NS;
	va_list args;

	if (log_get_level() < LOG_LEVEL_INFO)
		return;

	if (limit->lines <= earned) {
		limit->lines = 0;
		limit->since_ns = now_ns;
	} else {
		limit->lines -= (uint32_t)earned;
		limit->since_ns += earned * LOG_LIMIT_NS;
	}
	if (limit->lines == LOG_LIMIT_LINES && log_get_level() < LOG_LEVEL_DEBUG) {
		limit->left_out++;
		return;
	}
	if (limit->lines < LOG_LIMIT_LINES)
		limit->lines++;
	if (limit->left_out)
		log_at(LOG_LEVEL_INFO, place, NULL, "%u lines like the next one were omitted",
		       limit->left_out);
	limit->left_out = 0;
	va_start(args, format);
	log_line(LOG_LEVEL_INFO, place, subject, format, args);
	va_end(args);
}

/* Opens the file and makes it standard error. */
static int log_take(const char *path)
{
	int fd = own_file_open(path, O_APPEND, LOG_MODE);
	int err = 0;

	if (fd < 0)
		return fd;
	if (dup2(fd, STDERR_FILENO) < 0)
		err = -errno;
	close(fd);
	return err;
}

int log_open(const char *path)
{
	int err = log_take(path);

	if (err) {
		log_error("--log %s: %s; name a file in a directory that weftd may write to", path,
			  own_file_reason(err));
		return err;
	}
	log_path = path;
	/* The first call loads the time zone, which must not happen on a core. */
	(void)log_time((char[64]){0}, 64);
	return 0;
}

bool log_reopen(void)
{
	int err;

	if (!log_path)
		return false;
	err = log_take(log_path);
	if (err)
		log_error("%s cannot be reopened: %s; weftd continues with the open file", log_path,
			  own_file_reason(err));
	return true;
}
