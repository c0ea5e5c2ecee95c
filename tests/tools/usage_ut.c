/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line that names the fault of a wrong command line.
 * Lost output is a failure.
 */
#include "tests/ut.h"
#include "tools/usage.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

const char tool_name[] = "weft-ut";

static FILE *heard;
static int saved;

/* Redirects standard error into a file from here to said(). */
static void listen_to(void)
{
	heard = tmpfile();
	CU_ASSERT_PTR_NOT_NULL_FATAL(heard);
	saved = dup(STDERR_FILENO);
	fflush(stderr);
	dup2(fileno(heard), STDERR_FILENO);
}

/* Checks it: "" or the one line "weft-ut: ..."; end: the part behind text. */
static void heard_was(const char *text, const char *end)
{
	char want[256] = "", got[256];
	size_t n;

	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(heard);
	n = fread(got, 1, sizeof(got) - 1, heard);
	got[n] = '\0';
	fclose(heard);
	if (text)
		snprintf(want, sizeof(want), "weft-ut: %s%s\n", text, end);
	CU_ASSERT_STRING_EQUAL(got, want);
	if (strcmp(got, want))
		printf("\n%s", got);
}

static void said(const char *text)
{
	heard_was(text, " (weft-ut --help tells more)");
}

/* Returns the status of output_end() when text has been printed into a file. */
static int end_into(const char *file, const char *text, int status)
{
	int out, fd = open(file, O_WRONLY);

	CU_ASSERT_FATAL(fd >= 0);
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	fputs(text, stdout);
	listen_to();
	status = output_end(status);
	__fpurge(stdout);
	clearerr(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return status;
}

/* Output that cannot be written is reported, and turns success into failure. */
static void output(void)
{
	CU_ASSERT(end_into("/dev/null", "text", 0) == 0);
	heard_was(NULL, "");
	CU_ASSERT(end_into("/dev/null", "text", 127) == 127);
	heard_was(NULL, "");
	CU_ASSERT(end_into("/dev/full", "", 0) == 0);
	heard_was(NULL, "");
	/* CUnit's stdout has no buffer. */
	CU_ASSERT(end_into("/dev/full", "text", 0) == 1);
	heard_was("standard output: not all of it could be written", "");
	CU_ASSERT(end_into("/dev/full", "text", 127) == 127);
	heard_was(NULL, "");
}

static void refusal(void)
{
	listen_to();
	CU_ASSERT(usage("no %d", 7) == 2);
	said("no 7");
}

UT_MAIN("tools/usage", UT(refusal), UT(output))
