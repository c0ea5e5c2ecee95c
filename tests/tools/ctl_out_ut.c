/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftctl's tables: columns as wide as their longest cell, the same rows as JSON, and failure for
 * values that JSON cannot hold.
 */
#include "tools/weftctl/out.c"

#include <stdarg.h>
#include <unistd.h>

#include "tests/ut.h"

static char error[200];

int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, sizeof(error), fmt, ap);
	va_end(ap);
	return CTL_FAILED;
}

static const struct out_column columns[] = {{"nic", "NIC"}, {"bytes", "BYTES"}, {"up", "UP"}};

static json_t *two_rows(void)
{
	return json_pack("[{s:s, s:I, s:b}, {s:s, s:f}]", "nic", "weft0", "bytes",
			 (json_int_t)12345678901, "up", 1, "nic", "w", "bytes", 1.25);
}

/* Returns fn's standard output. */
static const char *printed(int (*fn)(bool json), bool json)
{
	static char text[1024];
	FILE *file = tmpfile();
	size_t bytes;
	int saved;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	CU_ASSERT_EQUAL(fn(json), CTL_OK);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	bytes = fread(text, 1, sizeof(text) - 1, file);
	text[bytes] = '\0';
	fclose(file);
	return text;
}

static int print_two(bool json)
{
	const struct ctl ctl = {.json = json};

	return out_table(&ctl, columns, 3, two_rows());
}

static void table(void)
{
	CU_ASSERT_STRING_EQUAL(printed(print_two, false), "NIC    BYTES        UP\n"
							  "weft0  12345678901  yes\n"
							  "w      1.2          -\n");
}

static void json(void)
{
	json_t *got = json_loads(printed(print_two, true), 0, NULL), *want = two_rows();

	CU_ASSERT(got && json_equal(got, want));
	json_decref(got);
	json_decref(want);
}

/* A name that is not UTF-8 gives no value at all. */
static void no_json(void)
{
	CU_ASSERT_EQUAL(out_json(json_pack("{s:s}", "file", "\xff.pcapng")), CTL_FAILED);
	CU_ASSERT(strstr(error, "JSON") != NULL);
}

UT_MAIN("tools/ctl_out", UT(table), UT(json), UT(no_json))
