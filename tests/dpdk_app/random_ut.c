/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generator: RFC 8439's block, the stream made from it, and its state afterwards.
 */
#include "dpdk_app/random.h"

#include <string.h>

#include "tests/ut.h"

/* RFC 8439 2.3.2 */
static void block_of_the_standard(void)
{
	const uint32_t state[RANDOM_BLOCK_WORDS] = {
	    0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, 0x03020100, 0x07060504,
	    0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c,
	    0x00000001, 0x09000000, 0x4a000000, 0x00000000,
	};
	const uint32_t expected[RANDOM_BLOCK_WORDS] = {
	    0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
	    0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
	    0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2,
	};
	uint32_t out[RANDOM_BLOCK_WORDS];

	random_block(state, out);
	CU_ASSERT_EQUAL(memcmp(out, expected, sizeof(out)), 0);
}

/* RFC 8439 A.1, test vectors 1 and 2: key and nonce 0, blocks 0 and 1. */
static void stream_of_a_key(void)
{
	const uint32_t key[RANDOM_KEY_WORDS] = {0};
	struct random random;
	uint32_t i;

	random_init_key(&random, key);
	/* The first half of block 0 is the next key; the second half is the output. */
	CU_ASSERT_EQUAL(random_next(&random), UINT64_C(0x7c5941da8d485751));
	CU_ASSERT_EQUAL(random.key[0], 0xade0b876);
	CU_ASSERT_EQUAL(random.key[7], 0xc70d778b);
	for (i = 0; i < 2; i++)
		random_next(&random);
	CU_ASSERT_EQUAL(random_next(&random), UINT64_C(0x69b687c38665eeb2));
	CU_ASSERT_EQUAL(random_next(&random), UINT64_C(0xbee7079f7a385155));
}

/* No output is in the state any more, before and after a refill. */
static void state_forgets(void)
{
	struct random random;
	uint32_t i, k;

	CU_ASSERT_EQUAL(random_init(&random), 0);
	for (i = 0; i < 1000; i++) {
		uint64_t x = random_next(&random);
		uint32_t half[2] = {(uint32_t)(x >> 32), (uint32_t)x};

		for (k = 0; k < sizeof(random.out) / sizeof(random.out[0]); k++)
			if (random.out[k])
				CU_ASSERT_TRUE_FATAL(random.out[k] != half[0] ||
						     random.out[k] != half[1]);
		CU_ASSERT_EQUAL_FATAL(
		    random.out[RANDOM_BLOCKS * RANDOM_BLOCK_WORDS - random.left - 1], 0);
	}
}

static void two_are_not_alike(void)
{
	struct random a, b;
	uint32_t same = 0, i;

	CU_ASSERT_EQUAL(random_init(&a), 0);
	CU_ASSERT_EQUAL(random_init(&b), 0);
	for (i = 0; i < 1000; i++)
		same += random_next(&a) == random_next(&b);
	CU_ASSERT_EQUAL(same, 0);
}

UT_MAIN("dpdk_app/random", UT(block_of_the_standard), UT(stream_of_a_key), UT(state_forgets),
	UT(two_are_not_alike))
