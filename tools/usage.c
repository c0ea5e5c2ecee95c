/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the tools; see usage.h.
 */
#include "tools/usage.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

const char *option_name(int opt, const struct option *longopts)
{
	while (longopts->name && longopts->val != opt)
		longopts++;
	return longopts->name;
}

int usage_option(int opt, char *const *argv, const struct option *longopts)
{
	const char *word = argv[optind - 1], *name;

	if (opt == ':')
		return usage("%s needs a value", word);
	if (!optopt)
		return usage("there is no option '%s'", word);
	name = option_name(optopt, longopts);
	if (name)
		return usage("--%s takes no value", name);
	/* Not word: getopt leaves a word of short options only after its last one. */
	return usage("there is no option '-%c'", optopt);
}

int take_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	uint64_t v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end && !end[1] && (suffix = strchr(suffixes, *end))) {
		unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);

		if (v > UINT64_MAX >> shift)
			errno = ERANGE;
		v <<= shift;
		end++;
	}
	if (*text < '0' || *text > '9' || *end || errno || v < low || v > high)
		return usage("%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'",
			     name, low, high, text);
	*value = v;
	return -1;
}

int take_number32(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
	uint64_t wide = *value;
	int rc = take_number(name, text, low, high, &wide);

	*value = (uint32_t)wide;
	return rc;
}

int take_seconds(const char *name, const char *text, double low, double high, double *value)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= low && v <= high))
		return usage("%s takes seconds from %g to %.0f, not '%s'", name, low, high, text);
	*value = v;
	return -1;
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
