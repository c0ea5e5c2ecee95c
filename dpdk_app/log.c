/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the operator. Each is written with one write(), so that lines of several
 * threads never mix. Called by all of dpdk_app; calls libc only.
 */
#include "dpdk_app/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool log_is_verbose;

void log_set_verbose(bool verbose)
{
	log_is_verbose = verbose;
}

static void log_line(const char *format, va_list args)
{
	char line[1024] = "weftd: ";
	size_t used = strlen(line);
	int n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);

	if (n < 0)
		return;
	used += (size_t)n;
	if (used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* nowhere left to complain */
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(format, args);
	va_end(args);
}

void log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(format, args);
	va_end(args);
}

void log_verbose(const char *format, ...)
{
	va_list args;

	if (!log_is_verbose)
		return;
	va_start(args, format);
	log_line(format, args);
	va_end(args);
}
