/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the tools; see usage.h.
 */
#include "tools/usage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	FAILURE_STATUS = 1,
	USAGE_STATUS = 2,
};

int usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", tool_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (%s --help tells more)\n", tool_name);
	return USAGE_STATUS;
}

int output_end(int status)
{
	if (status)
		return status;
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	/* An earlier write may have failed; its errno is lost. */
	fprintf(stderr, "%s: standard output: %s\n", tool_name,
		errno ? strerror(errno) : "not all of it could be written");
	return FAILURE_STATUS;
}
