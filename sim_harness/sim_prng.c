/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of random numbers by seed, kind and index; see sim_prng.h. Calls lib/xoshiro.h.
 */
#include "sim_harness/sim_prng.h"

#include <string.h>

#include "lib/prng.h"

void sim_prng_init(struct sim_prng *prng, uint64_t seed, enum sim_stream kind, uint64_t index)
{
	uint64_t x = seed;

	x = prng_next(&x) ^ (uint64_t)kind;
	x = prng_next(&x) ^ index;
	xoshiro_init(&prng->x, x);
}

uint64_t sim_prng_next(struct sim_prng *prng)
{
	return xoshiro_next(&prng->x);
}

uint64_t sim_prng_below(struct sim_prng *prng, uint64_t bound)
{
	return xoshiro_below(&prng->x, bound);
}

uint64_t sim_prng_range(struct sim_prng *prng, uint64_t low, uint64_t high)
{
	return xoshiro_range(&prng->x, low, high);
}

bool sim_prng_chance(struct sim_prng *prng, uint32_t ppm)
{
	return xoshiro_chance(&prng->x, ppm);
}

void sim_prng_fill(struct sim_prng *prng, void *dst, size_t bytes)
{
	/* A copy, since dst may be anywhere: the compiler would store the state for each word. */
	struct xoshiro state = prng->x;
	uint8_t *p = dst;
	uint64_t x;

	while (bytes >= sizeof(x)) {
		x = xoshiro_next(&state);
		memcpy(p, &x, sizeof(x));
		p += sizeof(x);
		bytes -= sizeof(x);
	}
	if (bytes) {
		x = xoshiro_next(&state);
		memcpy(p, &x, bytes);
	}
	prng->x = state;
}
