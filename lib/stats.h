/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order statistics: samples in ascending order, and their medians. Calls libc's qsort();
 * thread-safe.
 */
#ifndef WEFT_LIB_STATS_H
#define WEFT_LIB_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. The samples may be NULL where num is 0. */
void stats_sort(double *samples, size_t num);
void stats_sort_u32(uint32_t *samples, size_t num);
void stats_sort_u64(uint64_t *samples, size_t num);

/* Sorts; the sample in the middle, of two the upper one. num is at least 1. */
double stats_median(double *samples, size_t num);

/* Sorts; where num is even the mean of the two in the middle. 0 of no samples. */
double stats_median_mean(double *samples, size_t num);

#endif /* WEFT_LIB_STATS_H */
