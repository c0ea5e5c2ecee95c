/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `ops`: programs of users' operations, and random ones.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_ops_begin();
	CU_ASSERT_TRUE(fuzz_replay("ops", fuzz_ops) > 0);
}

static void random_programs(void)
{
	uint64_t state = 1;
	uint8_t data[4 + 8 * 40];
	uint32_t i, k;

	for (i = 0; i < 5000; i++) {
		for (k = 0; k < sizeof(data); k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			data[k] = (uint8_t)(state >> 56);
		}
		data[3] = i % 8 != 0;
		fuzz_ops(data, 4 + 8 * (1 + i % 40));
	}
}

UT_MAIN("fuzz/ops", UT(corpus), UT(random_programs))
