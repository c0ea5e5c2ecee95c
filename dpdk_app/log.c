/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the operator. Each is written with one write(), so lines of several threads do not
 * mix. They go to standard error, which a file may replace (--log).
 *
 * Calls own_file.c and libc.
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

#include "dpdk_app/own_file.h"

enum {
	LOG_MODE = 0640,
	LOG_LIMIT_LINES = 10, /* burst limit */
};
#define LOG_LIMIT_NS UINT64_C(6000000000) /* afterwards one line per interval */

static atomic_int log_level_now = LOG_LEVEL_INFO;
static const char *log_path;           /* NULL: the inherited standard error */
static _Thread_local char *log_caught; /* the first error of this thread; NULL: not wanted */
static _Thread_local size_t log_caught_chars;
static bool log_journal;     /* standard error is the journal's, which reads a line's priority */
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
static const char *const log_priorities[] = {
    [LOG_LEVEL_ERROR] = "<3>",
    [LOG_LEVEL_INFO] = "<6>",
    [LOG_LEVEL_DEBUG] = "<7>",
};

/* Returns false if the line, or its end, could not be written: the disk is full. */
static bool log_write(enum log_level level, const char *format, va_list args)
{
	char line[1024];
	size_t used = log_time(line, sizeof(line));
	int n;

	if (log_journal && !log_path) {
		memcpy(line, log_priorities[level], 3);
		used = 3;
	}
	memcpy(line + used, "weftd: ", 7);
	used += 7;
	n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	if (n < 0)
		return true;
	used += (size_t)n;
	if (used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	return write(STDERR_FILENO, line, used) == (ssize_t)used;
}

__attribute__((format(printf, 1, 2))) static bool log_note(const char *format, ...)
{
	va_list args;
	bool ok;

	va_start(args, format);
	ok = log_write(LOG_LEVEL_ERROR, format, args);
	va_end(args);
	return ok;
}

/* Lines that cannot be written are counted; the first one that can is preceded by their number. */
static void log_line(enum log_level level, const char *format, va_list args)
{
	unsigned int lost = atomic_exchange(&log_lost, 0);

	if (lost && !log_note("%u lines before this one could not be written", lost))
		atomic_fetch_add(&log_lost, lost + 1);
	else if (!log_write(level, format, args))
		atomic_fetch_add(&log_lost, 1);
}

void log_find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	log_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		      !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void log_info(const char *format, ...)
{
	va_list args;

	if (log_get_level() < LOG_LEVEL_INFO)
		return;
	va_start(args, format);
	log_line(LOG_LEVEL_INFO, format, args);
	va_end(args);
}

void log_catch(char *text, size_t chars)
{
	log_caught = text;
	log_caught_chars = chars;
}

void log_error(const char *format, ...)
{
	va_list args;

	if (log_caught && !*log_caught) {
		va_start(args, format);
		(void)vsnprintf(log_caught, log_caught_chars, format, args);
		va_end(args);
	}
	va_start(args, format);
	log_line(LOG_LEVEL_ERROR, format, args);
	va_end(args);
}

void log_verbose(const char *format, ...)
{
	va_list args;

	if (log_get_level() < LOG_LEVEL_DEBUG)
		return;
	va_start(args, format);
	log_line(LOG_LEVEL_DEBUG, format, args);
	va_end(args);
}

void log_limited(struct log_limit *limit, uint64_t now_ns, const char *format, ...)
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
		log_info("%u lines like the next one were omitted", limit->left_out);
	limit->left_out = 0;
	va_start(args, format);
	log_line(LOG_LEVEL_INFO, format, args);
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
