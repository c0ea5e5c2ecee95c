/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CLOCK_MONOTONIC in the units that programs count in; calls libc's clock_gettime(), which the
 * vDSO answers without a system call. Thread-safe.
 */
#ifndef WEFT_LIB_CLOCK_H
#define WEFT_LIB_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The time of any clock in ns. A clock that the kernel does not have reads 0. */
static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

static inline double clock_now_us(void)
{
	return (double)clock_now_ns() * 1e-3;
}

static inline double clock_now_s(void)
{
	return (double)clock_now_ns() * 1e-9;
}

#endif /* WEFT_LIB_CLOCK_H */
