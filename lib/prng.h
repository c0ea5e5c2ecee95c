/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
 * 2014): seeded random numbers that are the same on every machine. They are not for secrets. One
 * state belongs to one thread.
 */
#ifndef WEFT_LIB_PRNG_H
#define WEFT_LIB_PRNG_H

#include <stdint.h>

/* The next 64 random bits. The first state is the seed; every value is a good one, 0 too. */
static inline uint64_t prng_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number below bound, which is not 0. Small bounds make the bias of the remainder negligible. */
static inline uint64_t prng_below(uint64_t *state, uint64_t bound)
{
	return prng_next(state) % bound;
}

/* Scatters x: equal inputs give equal outputs, close ones unrelated ones. */
static inline uint64_t prng_mix(uint64_t x)
{
	return prng_next(&x);
}

#endif /* WEFT_LIB_PRNG_H */
