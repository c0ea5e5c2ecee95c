/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One clock in four units. libc's clock_gettime() is stood in for. Runs lib/clock.h.
 */
#include "lib/clock.h"
#include "tests/ut.h"

static struct timespec fake;
static clockid_t asked;

int clock_gettime(clockid_t id, struct timespec *t)
{
	asked = id;
	if (id == CLOCK_TAI)
		return -1;
	*t = fake;
	return 0;
}

static void units(void)
{
	fake = (struct timespec){3, 999999999};
	CU_ASSERT_EQUAL(clock_now_ns(), 3999999999u);
	CU_ASSERT_EQUAL(asked, CLOCK_MONOTONIC);
	CU_ASSERT_EQUAL(clock_now_ms(), 3999);
	CU_ASSERT_DOUBLE_EQUAL(clock_now_us(), 3999999.999, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(clock_now_s(), 3.999999999, 1e-12);
	/* A date of today does not fit 32 bits of ns. */
	fake = (struct timespec){1800000000, 1};
	CU_ASSERT_EQUAL(clock_read_ns(CLOCK_REALTIME), UINT64_C(1800000000000000001));
	CU_ASSERT_EQUAL(asked, CLOCK_REALTIME);
}

static void no_such_clock(void)
{
	CU_ASSERT_EQUAL(clock_read_ns(CLOCK_TAI), 0);
}

UT_MAIN("lib/clock", UT(units), UT(no_such_clock))
