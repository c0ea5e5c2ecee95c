/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splitmix64 against the published sequence. Runs lib/prng.h.
 */
#include "lib/prng.h"
#include "tests/ut.h"

/* The sequence of the seed 1234567, as test suites of other implementations have it. */
static void sequence(void)
{
	static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u,
					9817491932198370423u, 4593380528125082431u,
					16408922859458223821u};
	uint64_t state = 1234567;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		CU_ASSERT_EQUAL(prng_next(&state), want[i]);
}

static void seed_zero(void)
{
	uint64_t state = 0;

	CU_ASSERT_EQUAL(prng_next(&state), 0xe220a8397b1dcdafu);
	CU_ASSERT_EQUAL(prng_mix(0), 0xe220a8397b1dcdafu);
	CU_ASSERT_EQUAL(prng_mix(1234567), 6457827717110365317u);
}

static void bounds(void)
{
	uint64_t state = 7;
	uint32_t seen = 0;

	CU_ASSERT_EQUAL(prng_below(&state, 1), 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t n = prng_below(&state, 10);

		CU_ASSERT_FATAL(n < 10);
		seen |= 1u << n;
	}
	CU_ASSERT_EQUAL(seen, 0x3ff);
}

UT_MAIN("lib/prng", UT(sequence), UT(seed_zero), UT(bounds))
