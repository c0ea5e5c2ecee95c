/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines of the tools: accepted numbers, and a line that names the fault of a wrong one.
 * Lost output is a failure.
 */
#include "tests/tools/words.h"
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

static void numbers(void)
{
	uint64_t v = 7;
	uint32_t n = 7;
	double s = 7;

	CU_ASSERT(take_number("--n", "0", 0, 9, &v) == -1 && v == 0);
	CU_ASSERT(take_number("--n", "18446744073709551615", 0, UINT64_MAX, &v) == -1);
	CU_ASSERT(v == UINT64_MAX);
	CU_ASSERT(take_number("--n", "3K", 0, 3072, &v) == -1 && v == 3072);
	CU_ASSERT(take_number("--n", "17179869183G", 0, UINT64_MAX, &v) == -1);
	CU_ASSERT(v == UINT64_MAX << 30);
	CU_ASSERT(take_number32("-c", "4294967295", 1, UINT32_MAX, &n) == -1 && n == UINT32_MAX);
	CU_ASSERT(take_seconds("--s", "0.25", 0.001, 9, &s) == -1 && s == 0.25);
	CU_ASSERT(take_seconds("--s", "9", 0.001, 9, &s) == -1 && s == 9);
}

/* A refused number leaves the value unchanged. */
static void no_numbers(void)
{
	static const char *const wrong[] = {
	    "",  "x",  "-1",  "+1", " 1", "1 ", "0x1", "1.0",          "1KK",
	    "K", "1k", "1e1", "0",  "10", "1M", "1G",  "17179869184G", "18446744073709551616"};
	static const char *const no_seconds[] = {"", "x", "0", "-1", "nan", "inf", "10", "1s"};
	uint64_t v = 7;
	uint32_t n = 7;
	double s = 7;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "--n takes a whole number from 1 to 9, not '%s'",
			 wrong[i]);
		listen_to();
		CU_ASSERT(take_number("--n", wrong[i], 1, 9, &v) == 2 && v == 7);
		said(text);
		listen_to();
		CU_ASSERT(take_number32("--n", wrong[i], 1, 9, &n) == 2 && n == 7);
		said(text);
	}
	for (size_t i = 0; i < sizeof(no_seconds) / sizeof(no_seconds[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "--s takes seconds from 0.001 to 9, not '%s'",
			 no_seconds[i]);
		listen_to();
		CU_ASSERT(take_seconds("--s", no_seconds[i], 0.001, 9, &s) == 2 && s == 7);
		said(text);
	}
}

static const struct option longopts[] = {
    {"out", required_argument, NULL, 'o'},
    {"verbose", no_argument, NULL, 'v'},
    {"json", no_argument, NULL, 256},
    {"just", no_argument, NULL, 257},
    {NULL, 0, NULL, 0},
};

static void refuse(const char *line, const char *text)
{
	struct words *w = words_of(line);
	int opt;

	opterr = 0;
	do
		opt = getopt_long(w->argc, w->argv, ":o:v", longopts, NULL);
	while (opt != -1 && opt != ':' && opt != '?');
	CU_ASSERT_NOT_EQUAL_FATAL(opt, -1);
	listen_to();
	CU_ASSERT(usage_option(opt, w->argv, longopts) == 2);
	said(text);
}

/* The wrong option is named, wherever it is: getopt's index may be before it. */
static void options(void)
{
	refuse("--bogus", "there is no option '--bogus'");
	refuse("word --bogus=3 word", "there is no option '--bogus=3'");
	refuse("--j", "there is no option '--j'");
	refuse("-x", "there is no option '-x'");
	refuse("word -xv", "there is no option '-x'");
	refuse("--json -vxv", "there is no option '-x'");
	refuse("--json=3", "--json takes no value");
	refuse("-v --verb=3", "--verbose takes no value");
	refuse("-v --out", "--out needs a value");
	refuse("-o", "-o needs a value");
	refuse("word -vo", "-vo needs a value");
	CU_ASSERT_STRING_EQUAL(option_name('o', longopts), "out");
	CU_ASSERT_STRING_EQUAL(option_name(257, longopts), "just");
	CU_ASSERT_PTR_NULL(option_name('x', longopts));
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

UT_MAIN("tools/usage", UT(numbers), UT(no_numbers), UT(options), UT(output))
