/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and sorting. Runs lib/stats.c.
 */
#include "lib/stats.h"
#include "tests/ut.h"

static void medians(void)
{
	double odd[] = {3, 1, 2}, even[] = {4, -1, 3, 2}, one[] = {5};

	CU_ASSERT_EQUAL(stats_median(odd, 3), 2);
	CU_ASSERT_EQUAL(stats_median_mean(odd, 3), 2);
	CU_ASSERT_EQUAL(stats_median(even, 4), 3);
	CU_ASSERT_EQUAL(stats_median_mean(even, 4), 2.5);
	CU_ASSERT_EQUAL(stats_median(one, 1), 5);
	CU_ASSERT_EQUAL(stats_median_mean(one, 1), 5);
	CU_ASSERT_EQUAL(stats_median_mean(NULL, 0), 0);
}

/* Differences that do not fit an int do not disturb the order. */
static void sorting(void)
{
	double d[] = {1e300, -1e300, 0.5, 0.25};
	uint32_t w[] = {UINT32_MAX, 0, 1u << 31, 7};
	uint64_t u[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 1u << 31};

	stats_sort(d, 4);
	stats_sort_u32(w, 4);
	stats_sort_u64(u, 4);
	CU_ASSERT(d[0] == -1e300 && d[1] == 0.25 && d[2] == 0.5 && d[3] == 1e300);
	CU_ASSERT(w[0] == 0 && w[1] == 7 && w[2] == 1u << 31 && w[3] == UINT32_MAX);
	CU_ASSERT(u[0] == 0 && u[1] == 1u << 31 && u[2] == UINT64_C(1) << 63 && u[3] == UINT64_MAX);
	stats_sort(NULL, 0);
	stats_sort_u32(NULL, 0);
	stats_sort_u64(NULL, 0);
}

UT_MAIN("lib/stats", UT(medians), UT(sorting))
