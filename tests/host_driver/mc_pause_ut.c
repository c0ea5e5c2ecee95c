/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/mpi/mc_pause.c: a rank that waits yields, one that computes between its looks does
 * not. Clock and yields are the test's own.
 */
#include <time.h>

#include "host_driver/mpi/mc_pause.c"
#include "tests/ut.h"

static uint64_t fake_ns = 1000000000;
static uint32_t yields;

int sched_yield(void)
{
	yields++;
	fake_ns += 3000000;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(fake_ns / 1000000000);
	ts->tv_nsec = (long)(fake_ns % 1000000000);
	return 0;
}

/* Looks n times in vain, so far apart; returns the yields. */
static uint32_t look(uint32_t n, uint64_t apart_ns)
{
	uint32_t before = yields;

	for (uint32_t i = 0; i < n; i++) {
		fake_ns += apart_ns;
		mc_pause(false);
	}
	return yields - before;
}

static void waiting(void)
{
	mc_pause(true);
	CU_ASSERT_EQUAL(look(PAUSE_LOOKS, 300), 0);
	/* The time of a yield does not count. */
	CU_ASSERT_EQUAL(look(10, 300), 10);
	mc_pause(true);
	CU_ASSERT_EQUAL(look(PAUSE_LOOKS, PAUSE_APART_NS), 0);
	CU_ASSERT_EQUAL(look(1, PAUSE_APART_NS), 1);
}

static void computing(void)
{
	mc_pause(true);
	CU_ASSERT_EQUAL(look(10000, PAUSE_APART_NS + 1), 0);
	/* A row begins anew. */
	CU_ASSERT_EQUAL(look(PAUSE_LOOKS, 300), 0);
	CU_ASSERT_EQUAL(look(1, 300), 1);
}

UT_MAIN("host_driver/mc_pause", UT(waiting), UT(computing))
