/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte order types and serial number arithmetic of shared_defs/be.h (RFC 1982).
 */
#include "shared_defs/be.h"

#include "tests/ut.h"

static void big_endian_bytes(void)
{
	struct be16 a = be16_put(0x0102);
	struct be32 b = be32_put(0x01020304);
	struct be64 c = be64_put(0x0102030405060708);

	CU_ASSERT_EQUAL(memcmp(a.b, "\x01\x02", 2), 0);
	CU_ASSERT_EQUAL(memcmp(b.b, "\x01\x02\x03\x04", 4), 0);
	CU_ASSERT_EQUAL(memcmp(c.b, "\x01\x02\x03\x04\x05\x06\x07\x08", 8), 0);
	CU_ASSERT_EQUAL(be16_get(a), 0x0102);
	CU_ASSERT_EQUAL(be32_get(b), 0x01020304);
	CU_ASSERT_EQUAL(be64_get(c), 0x0102030405060708);
}

static void extremes(void)
{
	CU_ASSERT_EQUAL(be16_get(be16_put(0xffff)), 0xffff);
	CU_ASSERT_EQUAL(be16_get(be16_put(0x8000)), 0x8000);
	CU_ASSERT_EQUAL(be32_get(be32_put(UINT32_MAX)), UINT32_MAX);
	CU_ASSERT_EQUAL(be32_get(be32_put(0x80000000)), 0x80000000);
	CU_ASSERT_EQUAL(be64_get(be64_put(UINT64_MAX)), UINT64_MAX);
	CU_ASSERT_EQUAL(be64_get(be64_put(0)), 0);
	CU_ASSERT_EQUAL(be64_get(be64_put(UINT64_C(1) << 63)), UINT64_C(1) << 63);
}

static void no_alignment(void)
{
	struct odd {
		uint8_t pad;
		struct be16 a;
		struct be32 b;
		struct be64 c;
	};

	CU_ASSERT_EQUAL(sizeof(struct odd), 15);
	CU_ASSERT_EQUAL(offsetof(struct odd, a), 1);
	CU_ASSERT_EQUAL(offsetof(struct odd, b), 3);
	CU_ASSERT_EQUAL(offsetof(struct odd, c), 7);
}

static void order_near(void)
{
	CU_ASSERT_TRUE(seq_lt(1, 2));
	CU_ASSERT_FALSE(seq_lt(2, 1));
	CU_ASSERT_FALSE(seq_lt(7, 7));
	CU_ASSERT_TRUE(seq_leq(7, 7));
	CU_ASSERT_TRUE(seq_leq(6, 7));
	CU_ASSERT_FALSE(seq_leq(8, 7));
}

static void order_across_the_wrap(void)
{
	for (uint32_t back = 1; back < 300; back++) {
		uint32_t a = 0u - back;

		for (uint32_t ahead = 0; ahead < 300; ahead += 7) {
			CU_ASSERT_TRUE_FATAL(seq_lt(a, ahead));
			CU_ASSERT_FALSE_FATAL(seq_lt(ahead, a));
			CU_ASSERT_TRUE_FATAL(seq_leq(a, ahead));
			CU_ASSERT_FALSE_FATAL(seq_leq(ahead, a));
		}
	}
}

/* RFC 1982 3.2 leaves a distance of exactly 2^31 undefined; up to one less it must hold. */
static void order_far(void)
{
	static const uint32_t starts[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		CU_ASSERT_TRUE(seq_lt(starts[i], starts[i] + 0x7fffffff));
		CU_ASSERT_FALSE(seq_lt(starts[i] + 0x7fffffff, starts[i]));
		CU_ASSERT_TRUE(seq_lt(starts[i] + 0x80000001, starts[i]));
	}
}

UT_MAIN("shared_defs/be", UT(big_endian_bytes), UT(extremes), UT(no_alignment), UT(order_near),
	UT(order_across_the_wrap), UT(order_far))
