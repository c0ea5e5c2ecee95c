/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order statistics; see stats.h.
 */
#include "lib/stats.h"

#include <stdlib.h>

#define STATS_SORT(name, type)                                                                     \
	static int name##_compare(const void *a, const void *b)                                    \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
                                                                                                   \
		return (*x > *y) - (*x < *y);                                                      \
	}                                                                                          \
                                                                                                   \
	void name(type *samples, size_t num)                                                       \
	{                                                                                          \
		if (num)                                                                           \
			qsort(samples, num, sizeof(*samples), name##_compare);                     \
	}

STATS_SORT(stats_sort, double)
STATS_SORT(stats_sort_u32, uint32_t)
STATS_SORT(stats_sort_u64, uint64_t)

double stats_median(double *samples, size_t num)
{
	stats_sort(samples, num);
	return samples[num / 2];
}

double stats_median_mean(double *samples, size_t num)
{
	if (!num)
		return 0;
	stats_sort(samples, num);
	return num % 2 ? samples[num / 2] : (samples[num / 2 - 1] + samples[num / 2]) / 2;
}
