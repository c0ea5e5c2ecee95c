/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests log.c: lines that a stranger can cause are limited, and the log says how many were left
 * out.
 */
#include "dpdk_app/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/dpdk_app/log_fix.h"

#define SECOND_NS UINT64_C(1000000000)

static struct log_fix fix;

/* Calls log_limit_at() num times, step_ns apart; its output goes into text. Returns the lines. */
static uint32_t lines_of(struct log_limit *limit, uint64_t *now_ns, uint32_t num, uint64_t step_ns)
{
	uint32_t lines = 0;

	log_fix_begin(&fix);
	for (uint32_t i = 0; i < num; i++, *now_ns += step_ns)
		log_limit_at(limit, *now_ns, LOG_HERE, NULL, "link %u", i);
	for (const char *at = log_fix_end(&fix); (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

static void a_burst(void)
{
	struct log_limit limit = {0};
	uint64_t now_ns = 5 * SECOND_NS;

	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 1000, 1), 10);
	CU_ASSERT_PTR_NOT_NULL(strstr(fix.text, "weftd: link 9\n"));
	/* The next line says how many were left out. */
	now_ns += 6 * SECOND_NS;
	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 5, 1), 2);
	CU_ASSERT_STRING_EQUAL(fix.text, "weftd: 990 lines like the next one were omitted\n"
					 "weftd: link 0\n");
	/* After a quiet minute there are ten again. */
	now_ns += 60 * SECOND_NS;
	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 20, 1), 11);
}

static void now_and_then(void)
{
	struct log_limit limit = {0};
	uint64_t now_ns = 1;

	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 50, 7 * SECOND_NS), 50);
}

static void everything(void)
{
	struct log_limit limit = {0};
	uint64_t now_ns = 1;

	log_set_level(LOG_LEVEL_DEBUG);
	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 100, 1), 100);
	log_set_level(LOG_LEVEL_INFO);
}

/* The disk is full for a while: the log names the number of lines that it lacks. */
static void a_full_disk(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), old = dup(STDERR_FILENO);
	struct log_limit limit = {0};
	uint64_t now_ns = 1;

	CU_ASSERT_FATAL(full >= 0 && old >= 0);
	dup2(full, STDERR_FILENO);
	for (uint32_t i = 0; i < 7; i++)
		log_info("line %u", i);
	dup2(old, STDERR_FILENO);
	CU_ASSERT_EQUAL(lines_of(&limit, &now_ns, 2, 1), 3);
	CU_ASSERT_STRING_EQUAL(fix.text, "weftd: 7 lines before this one could not be written\n"
					 "weftd: link 0\nweftd: link 1\n");
	close(full);
	close(old);
}

/* Writes a line of each kind; returns what came out. */
static const char *each_kind(enum log_level level, bool journal)
{
	char stream[64];
	struct stat st;

	log_fix_begin(&fix);
	CU_ASSERT_EQUAL_FATAL(fstat(fix.fd, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + !journal);
	setenv("JOURNAL_STREAM", stream, 1);
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_PLAIN), 0);
	log_set_level(level);
	log_nic_error("weft7", "e");
	log_info("i");
	log_verbose("d");
	log_set_level(LOG_LEVEL_INFO);
	(void)log_fix_end(&fix);
	unsetenv("JOURNAL_STREAM");
	CU_ASSERT_EQUAL(log_set_format(LOG_FORMAT_AUTO), 0);
	return fix.text;
}

static void levels(void)
{
	CU_ASSERT_STRING_EQUAL(each_kind(LOG_LEVEL_ERROR, false), "weftd: weft7: e\n");
	CU_ASSERT_STRING_EQUAL(each_kind(LOG_LEVEL_INFO, false), "weftd: weft7: e\nweftd: i\n");
	CU_ASSERT_STRING_EQUAL(each_kind(LOG_LEVEL_DEBUG, false),
			       "weftd: weft7: e\nweftd: i\nweftd: d\n");
}

/* The journal takes priorities from the lines; others are not bothered with them. */
static void priorities(void)
{
	CU_ASSERT_STRING_EQUAL(each_kind(LOG_LEVEL_DEBUG, true),
			       "<3>weftd: weft7: e\n<6>weftd: i\n<7>weftd: d\n");
}

UT_MAIN("dpdk_app/log", UT(a_burst), UT(now_and_then), UT(everything), UT(a_full_disk), UT(levels),
	UT(priorities))
