/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SipHash-2-4 of three words against the published vector of 24 bytes (Aumasson and Bernstein,
 * INDOCRYPT 2012; vectors_sip64[24] of the reference implementation).
 */
#include "nic_fw/base/keyed.h"
#include "tests/ut.h"

static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

static void published_vector(void)
{
	CU_ASSERT_EQUAL(fw_siphash(key, 0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110),
			0xb8ad50c6f649af94);
}

/* Each bit of key and message changes the hash. */
static void every_bit_counts(void)
{
	uint64_t was = fw_siphash(key, 1, 2, 3);
	uint32_t bit, word;

	for (bit = 0; bit < 64; bit++) {
		uint64_t flip = UINT64_C(1) << bit;

		for (word = 0; word < 2; word++) {
			const uint64_t other[2] = {word ? key[0] : key[0] ^ flip,
						   word ? key[1] ^ flip : key[1]};

			CU_ASSERT_NOT_EQUAL(fw_siphash(other, 1, 2, 3), was);
		}
		CU_ASSERT_NOT_EQUAL(fw_siphash(key, 1 ^ flip, 2, 3), was);
		CU_ASSERT_NOT_EQUAL(fw_siphash(key, 1, 2 ^ flip, 3), was);
		CU_ASSERT_NOT_EQUAL(fw_siphash(key, 1, 2, 3 ^ flip), was);
	}
}

UT_MAIN("nic_fw/base/keyed", UT(published_vector), UT(every_bit_counts))
