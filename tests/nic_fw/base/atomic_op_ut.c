/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of atomic operations: every operation with every type at the edges of its range, against
 * the C language's own arithmetic; wrapping, NaNs, zeros with a sign, bytes above the element.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "nic_fw/fw_port.h"
#include "sim_harness/sim_atomic.h"
#include "tests/ut.h"

#define HIGH UINT64_C(0xa5a5a5a5a5a5a5a5) /* above elements */

static uint64_t raw(const void *value, size_t bytes)
{
	uint64_t r = bytes < sizeof(r) ? HIGH : 0;

	memcpy(&r, value, bytes);
	return r;
}

/* Tries every operation of a type with each three of some values. */
#define TRY(T, type, ...)                                                                          \
	do {                                                                                       \
		static const T values[] = {__VA_ARGS__};                                           \
                                                                                                   \
		CU_ASSERT_EQUAL(hw_atomic_bytes(type), sizeof(T));                                 \
		try_all(type, values, sizeof(T), sizeof(values) / sizeof(T));                      \
	} while (0)

static uint64_t tried, right;

static void try_all(uint8_t type, const void *values, size_t bytes, size_t n)
{
	const uint8_t *at = values;

	for (size_t i = 0; i < n * n * n * HW_ATOMIC_OPS; i++) {
		uint64_t t = raw(at + i % n * bytes, bytes), v = raw(at + i / n % n * bytes, bytes);
		uint64_t c = raw(at + i / n / n % n * bytes, bytes), got = HIGH, want = 0;
		struct fw_atomic op = {(uint8_t)(i / n / n / n), type, c, v};
		bool stored;

		if (!hw_atomic_is_valid(HW_ATOMIC_CODE(op.op, type)))
			continue;
		memcpy(&want, &t, bytes);
		stored = fw_atomic_result(&op, t, &got);
		tried++;
		right += stored == sim_atomic_expect(op.op, type, &want, v, c) &&
			 (!stored || got == want);
	}
}

static void every_operation(void)
{
	TRY(int8_t, HW_ATOMIC_INT8, 0, 1, -1, 2, 7, -3, 100, INT8_MIN, INT8_MAX);
	TRY(uint8_t, HW_ATOMIC_UINT8, 0, 1, 2, 7, 127, 128, 200, UINT8_MAX);
	TRY(int16_t, HW_ATOMIC_INT16, 0, 1, -1, 2, 300, -300, INT16_MIN, INT16_MAX);
	TRY(uint16_t, HW_ATOMIC_UINT16, 0, 1, 2, 255, 256, 32768, UINT16_MAX);
	TRY(int32_t, HW_ATOMIC_INT32, 0, 1, -1, 77777, -77777, INT32_MIN, INT32_MAX);
	TRY(uint32_t, HW_ATOMIC_UINT32, 0, 1, 2, 65536, 0x80000000, UINT32_MAX);
	TRY(int64_t, HW_ATOMIC_INT64, 0, 1, -1, INT64_C(1) << 40, INT64_MIN, INT64_MAX);
	TRY(uint64_t, HW_ATOMIC_UINT64, 0, 1, 2, UINT64_C(1) << 63, UINT64_MAX);
	TRY(float, HW_ATOMIC_FLOAT, 0.0f, -0.0f, 1.0f, -1.5f, 0.1f, FLT_MAX, -FLT_MAX, FLT_MIN,
	    FLT_TRUE_MIN, INFINITY, -INFINITY, NAN, -NAN);
	TRY(double, HW_ATOMIC_DOUBLE, 0.0, -0.0, 1.0, -1.5, 0.1, DBL_MAX, -DBL_MAX, DBL_MIN,
	    DBL_TRUE_MIN, (double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN);
	CU_ASSERT(tried > 30000);
	CU_ASSERT_EQUAL(right, tried);
}

struct row {
	uint8_t op, type;
	uint64_t t, v, c;
	bool stored;
	uint64_t result;
};

static void check_rows(const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct fw_atomic op = {row[i].op, row[i].type, row[i].c, row[i].v};
		uint64_t got = 0;

		CU_ASSERT_EQUAL(fw_atomic_result(&op, row[i].t, &got), row[i].stored);
		CU_ASSERT(!row[i].stored || got == row[i].result);
	}
}

/* Bits by hand: what a processor's own arithmetic leaves open, or other processors do otherwise. */
static void nans_and_zeros(void)
{
	enum {
		F = HW_ATOMIC_FLOAT,
		D = HW_ATOMIC_DOUBLE
	};
	const uint64_t nan = 0x7fc00000, odd = 0xffc12345, signalling = 0x7f800001;
	const uint64_t one = 0x3f800000, minus_zero = 0x80000000, inf = 0x7f800000;
	const uint64_t d_nan = UINT64_C(0x7ff8000000000000), d_odd = UINT64_C(0xfff8000000000123);
	const uint64_t d_one = UINT64_C(0x3ff0000000000000), d_minus_zero = UINT64_C(1) << 63;
	const struct row rows[] = {
	    {HW_ATOMIC_SUM, F, odd, one, 0, true, nan},
	    {HW_ATOMIC_SUM, F, one, odd, 0, true, nan},
	    {HW_ATOMIC_SUM, F, signalling, one, 0, true, nan},
	    {HW_ATOMIC_SUM, F, inf, inf | minus_zero, 0, true, nan},
	    {HW_ATOMIC_PROD, F, inf, 0, 0, true, nan},
	    {HW_ATOMIC_PROD, F, odd, odd, 0, true, nan},
	    {HW_ATOMIC_PROD, F, minus_zero, one, 0, true, minus_zero},
	    {HW_ATOMIC_SUM, F, minus_zero, 0, 0, true, 0},
	    {HW_ATOMIC_SUM, F, 1, 1, 0, true, 2}, /* subnormal */
	    {HW_ATOMIC_MIN, F, odd, one, 0, false, 0},
	    {HW_ATOMIC_MAX, F, one, odd, 0, false, 0},
	    {HW_ATOMIC_MIN, F, 0, minus_zero, 0, false, 0},
	    {HW_ATOMIC_MAX, F, minus_zero, 0, 0, false, 0},
	    {HW_ATOMIC_LOR, F, odd, 0, 0, true, one},
	    {HW_ATOMIC_LAND, F, odd, minus_zero, 0, true, 0},
	    {HW_ATOMIC_LXOR, F, odd, one, 0, true, 0},
	    {HW_ATOMIC_LXOR, F, minus_zero, one, 0, true, one},
	    {HW_ATOMIC_WRITE, F, one, signalling, 0, true, signalling},
	    {HW_ATOMIC_READ, F, signalling, one, 0, false, 0},
	    {HW_ATOMIC_CSWAP, F, minus_zero, signalling, 0, true, signalling},
	    {HW_ATOMIC_CSWAP, F, odd, one, odd, false, 0},
	    {HW_ATOMIC_CSWAP_NE, F, odd, one, odd, true, one},
	    {HW_ATOMIC_CSWAP_LE, F, one, 0, odd, false, 0},
	    {HW_ATOMIC_CSWAP_LT, F, odd, 0, one, false, 0},
	    {HW_ATOMIC_CSWAP_GE, F, odd, 0, one, false, 0},
	    {HW_ATOMIC_CSWAP_GT, F, one, 0, odd, false, 0},
	    {HW_ATOMIC_SUM, D, d_odd, d_one, 0, true, d_nan},
	    {HW_ATOMIC_PROD, D, d_one, d_odd, 0, true, d_nan},
	    {HW_ATOMIC_MIN, D, d_odd, d_one, 0, false, 0},
	    {HW_ATOMIC_LAND, D, d_one, d_odd, 0, true, d_one},
	    {HW_ATOMIC_CSWAP_NE, D, d_odd, d_one, d_odd, true, d_one},
	    {HW_ATOMIC_CSWAP, D, 0, d_one, d_minus_zero, true, d_one},
	    {HW_ATOMIC_SUM, D, 1, 1, 0, true, 2},
	    /* Bytes above the element are nothing to it. */
	    {HW_ATOMIC_CSWAP, HW_ATOMIC_INT8, 0x1205, 0x3407, 0x5605, true, 7},
	    {HW_ATOMIC_SUM, HW_ATOMIC_UINT16, 0x1ffff, 0x20001, 0, true, 0},
	    {HW_ATOMIC_MAX, HW_ATOMIC_INT8, 0x7f, 0xff80, 0, false, 0},
	    {HW_ATOMIC_MIN, HW_ATOMIC_INT32, 1, 0xffffffff, 0, true, 0xffffffff},
	    {HW_ATOMIC_MIN, HW_ATOMIC_UINT32, 1, 0xffffffff, 0, false, 0},
	};

	check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Codes of requests and of peers, which may be anything. */
static void codes(void)
{
	uint32_t valid = 0;

	for (uint32_t code = 0; code < 1 << 20; code++)
		valid += hw_atomic_is_valid(code);
	CU_ASSERT_EQUAL(valid, HW_ATOMIC_OPS * HW_ATOMIC_TYPES - 2 * 4);
	CU_ASSERT_TRUE(hw_atomic_is_valid(HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_UINT8)));
	CU_ASSERT_FALSE(hw_atomic_is_valid(HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_DOUBLE)));
	CU_ASSERT_FALSE(hw_atomic_is_valid(HW_ATOMIC_CODE(HW_ATOMIC_OPS, HW_ATOMIC_UINT8)));
	CU_ASSERT_FALSE(hw_atomic_is_valid(HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_TYPES)));
	for (uint32_t bit = 13; bit < 64; bit++)
		CU_ASSERT_FALSE(hw_atomic_is_valid(UINT64_C(1) << bit));
	CU_ASSERT_FALSE(hw_atomic_is_valid(UINT64_MAX));
}

UT_MAIN("nic_fw/base/atomic_op", UT(every_operation), UT(nans_and_zeros), UT(codes))
