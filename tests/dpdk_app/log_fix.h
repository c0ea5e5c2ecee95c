/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard error in memory, for tests of the log. Used by log*_ut.c.
 */
#ifndef WEFT_TESTS_LOG_FIX_H
#define WEFT_TESTS_LOG_FIX_H

#include <sys/mman.h>
#include <unistd.h>

#include "tests/ut.h"

struct log_fix {
	int fd, old;
	char text[16384]; /* all that was written, after log_fix_end() */
};

static inline void log_fix_begin(struct log_fix *fix)
{
	fix->fd = memfd_create("log", MFD_CLOEXEC);
	fix->old = dup(STDERR_FILENO);
	CU_ASSERT_FATAL(fix->fd >= 0 && fix->old >= 0);
	dup2(fix->fd, STDERR_FILENO);
}

static inline const char *log_fix_end(struct log_fix *fix)
{
	ssize_t n;

	dup2(fix->old, STDERR_FILENO);
	n = pread(fix->fd, fix->text, sizeof(fix->text) - 1, 0);
	fix->text[n > 0 ? n : 0] = '\0';
	close(fix->fd);
	close(fix->old);
	return fix->text;
}

#endif /* WEFT_TESTS_LOG_FIX_H */
