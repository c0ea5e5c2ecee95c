/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xoshiro256** and derived functions; see sim_prng.h.
 *
 * The generator is implemented here so that a seed gives the same run on every machine and with
 * every libc.
 */
#include "sim_harness/sim_prng.h"

#include <string.h>

#include "lib/prng.h"

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void sim_prng_init(struct sim_prng *prng, uint64_t seed, enum sim_stream kind, uint64_t index)
{
	uint64_t x = seed;
	unsigned int i;

	x = prng_next(&x) ^ (uint64_t)kind;
	x = prng_next(&x) ^ index;
	for (i = 0; i < 4; i++)
		prng->s[i] = prng_next(&x);
}

uint64_t sim_prng_next(struct sim_prng *prng)
{
	uint64_t *s = prng->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t sim_prng_below(struct sim_prng *prng, uint64_t bound)
{
	uint64_t limit, x;

	if (!bound)
		return 0;
	/* Rejects values beyond the last multiple of bound, which would favour low results. */
	limit = UINT64_MAX - UINT64_MAX % bound;
	do
		x = sim_prng_next(prng);
	while (x >= limit);
	return x % bound;
}

uint64_t sim_prng_range(struct sim_prng *prng, uint64_t low, uint64_t high)
{
	return low + sim_prng_below(prng, high - low + 1);
}

bool sim_prng_chance(struct sim_prng *prng, uint32_t ppm)
{
	return ppm && sim_prng_below(prng, 1000000) < ppm;
}

void sim_prng_fill(struct sim_prng *prng, void *dst, size_t bytes)
{
	uint8_t *p = dst;
	uint64_t x;

	while (bytes >= sizeof(x)) {
		x = sim_prng_next(prng);
		memcpy(p, &x, sizeof(x));
		p += sizeof(x);
		bytes -= sizeof(x);
	}
	if (bytes) {
		x = sim_prng_next(prng);
		memcpy(p, &x, bytes);
	}
}
