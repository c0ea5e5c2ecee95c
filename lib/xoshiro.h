/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", 2018):
 * seeded random numbers that are the same on every machine and with every libc. They are not for
 * secrets. One state belongs to one thread.
 */
#ifndef WEFT_LIB_XOSHIRO_H
#define WEFT_LIB_XOSHIRO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/prng.h"

struct xoshiro {
	uint64_t s[4];
};

/* Starts the sequence of a seed; every value is a good one, 0 too. */
static inline void xoshiro_init(struct xoshiro *x, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		x->s[i] = prng_next(&seed);
}

static inline uint64_t xoshiro_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* Returns 64 random bits. */
static inline uint64_t xoshiro_next(struct xoshiro *x)
{
	uint64_t *s = x->s;
	uint64_t result = xoshiro_rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = xoshiro_rotl(s[3], 45);
	return result;
}

/* Returns an unbiased number in [0, bound); bound 0 gives 0. */
static inline uint64_t xoshiro_below(struct xoshiro *x, uint64_t bound)
{
	uint64_t limit, n;

	if (!bound)
		return 0;
	/* Rejects values beyond the last multiple of bound, which would favour low results. */
	limit = UINT64_MAX - UINT64_MAX % bound;
	do
		n = xoshiro_next(x);
	while (n >= limit);
	return n % bound;
}

/* Returns a number in [low, high]. */
static inline uint64_t xoshiro_range(struct xoshiro *x, uint64_t low, uint64_t high)
{
	return low + xoshiro_below(x, high - low + 1);
}

/* Returns true with probability ppm / 1,000,000. Draws nothing when ppm is 0. */
static inline bool xoshiro_chance(struct xoshiro *x, uint32_t ppm)
{
	return ppm && xoshiro_below(x, 1000000) < ppm;
}

#endif /* WEFT_LIB_XOSHIRO_H */
