/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local operations: every legal pair against arithmetic in a wider type, element by element, at odd
 * addresses and lengths; refusals; the traps of division.
 */
#include <stdlib.h>
#include <string.h>

#include "nic_fw/coll/goal.h"
#include "nic_fw/coll/goal_localop.h"
#include "tests/ut.h"

enum {
	COUNT = 67, /* no multiple of a vector */
};

static uint64_t rng_state;

static uint64_t rng(void)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return rng_state ^ rng_state >> 29;
}

static void what_is_legal(void)
{
	uint32_t op, type, width, legal = 0;

	for (op = 0; op < 256; op++)
		for (type = 0; type < 256; type++)
			for (width = 0; width < 256; width++)
				if (op != GOAL_LOCAL_WTIME)
					legal += goal_format_has_op((uint8_t)op, (uint8_t)type,
								    (uint8_t)width);
	/*
	 * Two integer types of four widths with 13 operations, two floats with seven, two complex
	 * numbers with four, two pairs of two widths with three.
	 */
	CU_ASSERT_EQUAL(legal, 2 * 4 * 13 + 2 * 7 + 2 * 4 + 2 * 2 * 3);
	CU_ASSERT_TRUE(goal_format_has_op(GOAL_LOCAL_WTIME, GOAL_TYPE_FLOAT, 64));
	CU_ASSERT_FALSE(goal_format_has_op(GOAL_LOCAL_AND, GOAL_TYPE_FLOAT, 32));
	CU_ASSERT_FALSE(goal_format_has_op(GOAL_LOCAL_ADD, GOAL_TYPE_FLOAT, 16));
	CU_ASSERT_FALSE(goal_format_has_op(GOAL_LOCAL_ADD, GOAL_TYPE_SINT, 24));
}

/* The value of an element as 128 bits. */
static __int128 load(uint8_t type, uint8_t width, const uint8_t *at)
{
	uint64_t bits = 0;

	memcpy(&bits, at, width / 8u);
	if (type == GOAL_TYPE_SINT && width < 64 && bits >> (width - 1))
		bits |= ~UINT64_C(0) << width;
	return type == GOAL_TYPE_SINT ? (__int128)(int64_t)bits : (__int128)bits;
}

static __int128 integer(uint8_t op, __int128 x, __int128 y)
{
	switch ((enum goal_local)op) {
	case GOAL_LOCAL_MAX:
		return x > y ? x : y;
	case GOAL_LOCAL_MIN:
		return x < y ? x : y;
	case GOAL_LOCAL_ADD:
		return x + y;
	case GOAL_LOCAL_SUB:
		return x - y;
	case GOAL_LOCAL_DIV:
		return x / y;
	case GOAL_LOCAL_MUL:
		return (__int128)((unsigned __int128)x * (unsigned __int128)y);
	case GOAL_LOCAL_COPY:
		return x;
	case GOAL_LOCAL_AND:
		return x & y;
	case GOAL_LOCAL_OR:
		return x | y;
	case GOAL_LOCAL_XOR:
		return x ^ y;
	case GOAL_LOCAL_LAND:
		return x && y;
	case GOAL_LOCAL_LOR:
		return x || y;
	case GOAL_LOCAL_LXOR:
		return !x != !y;
	case GOAL_LOCAL_WTIME:
	case GOAL_LOCAL_USER:
	case GOAL_LOCALS:
		break;
	}
	return 0;
}

/* Random bits with the extremes among them; never a divisor that traps. */
static void fill(uint8_t *bytes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		bytes[i] = rng() % 4 ? (uint8_t)rng() : (uint8_t)(rng() % 2 ? 0xff : 0x80);
}

static void integers(void)
{
	uint8_t a[COUNT * 8 + 1], b[COUNT * 8 + 1], r[COUNT * 8 + 2];
	uint8_t op, type, width;
	uint32_t i;

	for (op = 0; op < GOAL_LOCAL_USER; op++)
		for (type = 0; type <= GOAL_TYPE_UINT && op != GOAL_LOCAL_WTIME; type++)
			for (width = 8; width; width = width == 64 ? 0 : (uint8_t)(width * 2)) {
				uint32_t bytes = width / 8u;

				fill(a, sizeof(a));
				fill(b, sizeof(b));
				for (i = 0; i < COUNT; i++)
					b[1 + i * bytes] = (uint8_t)((b[1 + i * bytes] | 1) & 0x7f);
				memset(r, 0x55, sizeof(r));
				CU_ASSERT_TRUE(
				    goal_local_run(op, type, width, r + 1, a + 1, b + 1, COUNT));
				for (i = 0; i < COUNT; i++) {
					__int128 want =
					    integer(op, load(type, width, a + 1 + i * bytes),
						    load(type, width, b + 1 + i * bytes));

					CU_ASSERT_EQUAL(memcmp(&want, r + 1 + i * bytes, bytes), 0);
				}
				CU_ASSERT_EQUAL(r[0], 0x55);
				CU_ASSERT_EQUAL(r[1 + COUNT * bytes], 0x55);
				/* The result may be an operand. */
				CU_ASSERT_TRUE(
				    goal_local_run(op, type, width, b + 1, a + 1, b + 1, COUNT));
				CU_ASSERT_EQUAL(memcmp(b + 1, r + 1, COUNT * bytes), 0);
			}
}

/* Products by the definition; the result may be an operand, at any address. */
static void complex_numbers(void)
{
	double a[2 * COUNT], b[2 * COUNT], r[2 * COUNT];
	float af[2 * COUNT], bf[2 * COUNT];
	uint32_t i;

	for (i = 0; i < 2 * COUNT; i++) {
		af[i] = (float)(a[i] = (double)(int64_t)(rng() % 2001) - 1000);
		bf[i] = (float)(b[i] = (double)(int64_t)(rng() % 2001) - 1000);
	}
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_MUL, GOAL_TYPE_COMPLEX, 128, r, a, b, COUNT));
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_MUL, GOAL_TYPE_COMPLEX, 64, bf, af, bf, COUNT));
	for (i = 0; i < 2 * COUNT; i += 2) {
		double re = a[i] * b[i] - a[i + 1] * b[i + 1];
		double im = a[i] * b[i + 1] + a[i + 1] * b[i];

		CU_ASSERT_TRUE(r[i] == re && r[i + 1] == im);
		CU_ASSERT_TRUE(bf[i] == (float)re && bf[i + 1] == (float)im);
	}
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_ADD, GOAL_TYPE_COMPLEX, 128, r, a, b, COUNT));
	for (i = 0; i < 2 * COUNT; i++)
		CU_ASSERT_TRUE(r[i] == a[i] + b[i]);
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_SUB, GOAL_TYPE_COMPLEX, 128, r, a, b, COUNT));
	for (i = 0; i < 2 * COUNT; i++)
		CU_ASSERT_TRUE(r[i] == a[i] - b[i]);
}

/* Few different values, so that many are equal: then the index decides. */
static void pairs(void)
{
	struct {
		double value;
		int64_t index;
	} a[COUNT], b[COUNT], r[COUNT];
	struct {
		int32_t value, index;
	} ai[COUNT], bi[COUNT], ri[COUNT];
	uint8_t op;
	uint32_t i;

	for (op = GOAL_LOCAL_MAX; op <= GOAL_LOCAL_MIN; op++) {
		for (i = 0; i < COUNT; i++) {
			a[i].value = ai[i].value = (int32_t)(rng() % 5) - 2;
			b[i].value = bi[i].value = (int32_t)(rng() % 5) - 2;
			a[i].index = ai[i].index = (int32_t)rng();
			b[i].index = bi[i].index = (int32_t)rng();
		}
		CU_ASSERT_TRUE(goal_local_run(op, GOAL_TYPE_FLOAT_PAIR, 128, r, a, b, COUNT));
		CU_ASSERT_TRUE(goal_local_run(op, GOAL_TYPE_SINT_PAIR, 64, ri, ai, bi, COUNT));
		for (i = 0; i < COUNT; i++) {
			bool more = op == GOAL_LOCAL_MAX ? ai[i].value > bi[i].value
							 : ai[i].value < bi[i].value;
			bool first =
			    more || (ai[i].value == bi[i].value && ai[i].index < bi[i].index);

			CU_ASSERT_EQUAL(ri[i].value, first ? ai[i].value : bi[i].value);
			CU_ASSERT_EQUAL(ri[i].index, first ? ai[i].index : bi[i].index);
			CU_ASSERT_EQUAL(r[i].index, ri[i].index);
			CU_ASSERT_TRUE(r[i].value == ri[i].value);
		}
	}
}

static void floats(void)
{
	static const uint8_t ops[] = {GOAL_LOCAL_MAX, GOAL_LOCAL_MIN, GOAL_LOCAL_ADD,
				      GOAL_LOCAL_SUB, GOAL_LOCAL_DIV, GOAL_LOCAL_MUL};
	double a[COUNT], b[COUNT], r[COUNT];
	float af[COUNT], bf[COUNT], rf[COUNT];
	uint32_t i, k;

	for (k = 0; k < sizeof(ops); k++) {
		for (i = 0; i < COUNT; i++) {
			a[i] = (double)(int64_t)rng() / 1024;
			b[i] = i % 7 ? (double)(int64_t)rng() / 4096 : 0;
			af[i] = (float)a[i];
			bf[i] = (float)b[i];
		}
		CU_ASSERT_TRUE(goal_local_run(ops[k], GOAL_TYPE_FLOAT, 64, r, a, b, COUNT));
		CU_ASSERT_TRUE(goal_local_run(ops[k], GOAL_TYPE_FLOAT, 32, rf, af, bf, COUNT));
		for (i = 0; i < COUNT; i++) {
			double want[] = {
			    [GOAL_LOCAL_MAX] = a[i] > b[i] ? a[i] : b[i],
			    [GOAL_LOCAL_MIN] = a[i] < b[i] ? a[i] : b[i],
			    [GOAL_LOCAL_ADD] = a[i] + b[i],
			    [GOAL_LOCAL_SUB] = a[i] - b[i],
			    [GOAL_LOCAL_MUL] = a[i] * b[i],
			};
			float wantf[] = {
			    [GOAL_LOCAL_MAX] = af[i] > bf[i] ? af[i] : bf[i],
			    [GOAL_LOCAL_MIN] = af[i] < bf[i] ? af[i] : bf[i],
			    [GOAL_LOCAL_ADD] = af[i] + bf[i],
			    [GOAL_LOCAL_SUB] = af[i] - bf[i],
			    [GOAL_LOCAL_MUL] = af[i] * bf[i],
			};

			if (ops[k] == GOAL_LOCAL_DIV) {
				/* By zero: infinity, no status (IEEE 754). */
				CU_ASSERT_TRUE(r[i] == a[i] / (b[i] != 0 ? b[i] : 0.0));
				CU_ASSERT_TRUE(rf[i] == af[i] / (bf[i] != 0 ? bf[i] : 0.0f));
			} else {
				CU_ASSERT_TRUE(r[i] == want[ops[k]]);
				CU_ASSERT_TRUE(rf[i] == wantf[ops[k]]);
			}
		}
	}
}

static void division_that_traps_is_reported(void)
{
	int8_t a8[] = {1, INT8_MIN, 3}, b8[] = {1, -1, 1}, r8[3];
	int32_t a[] = {7, INT32_MIN}, b[] = {2, -1}, r[2];
	int64_t a64 = INT64_MIN, b64 = -1, r64;
	uint32_t ua = 5, ub = 0, ur;

	CU_ASSERT_FALSE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_SINT, 8, r8, a8, b8, 3));
	CU_ASSERT_FALSE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_SINT, 32, r, a, b, 2));
	CU_ASSERT_FALSE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_SINT, 64, &r64, &a64, &b64, 1));
	CU_ASSERT_FALSE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_UINT, 32, &ur, &ua, &ub, 1));
	ub = UINT32_MAX;
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_UINT, 32, &ur, &ua, &ub, 1));
	CU_ASSERT_EQUAL(ur, 0);
	b[1] = 1;
	CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_DIV, GOAL_TYPE_SINT, 32, r, a, b, 2));
	CU_ASSERT_EQUAL(r[0], 3);
	CU_ASSERT_EQUAL(r[1], INT32_MIN);
}

/* Slots may be bound to the same memory, a little apart. */
static void copies_that_overlap(void)
{
	uint8_t is[COUNT + 32], want[COUNT + 32];
	uint32_t apart, i;

	for (apart = 1; apart <= 32; apart++) {
		for (i = 0; i < sizeof(is); i++)
			is[i] = want[i] = (uint8_t)rng();
		memmove(want + apart, want, COUNT);
		CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_COPY, GOAL_TYPE_UINT, 8, is + apart, is,
					      NULL, COUNT));
		CU_ASSERT_EQUAL(memcmp(is, want, sizeof(is)), 0);
		memmove(want, want + apart, COUNT);
		CU_ASSERT_TRUE(goal_local_run(GOAL_LOCAL_COPY, GOAL_TYPE_UINT, 8, is, is + apart,
					      NULL, COUNT));
		CU_ASSERT_EQUAL(memcmp(is, want, sizeof(is)), 0);
	}
}

/* Returns the bytes of an element; 0: the type has none of this width. */
static uint32_t element_bytes(uint8_t op, uint8_t type, uint8_t width)
{
	return goal_format_has_op(op, type, width) ? width / 8u : 0;
}

/* The wide instructions give the results of the others, to the bit, also of floats. */
static void sets_of_instructions(void)
{
	static uint8_t a[COUNT * 16 + 1], b[COUNT * 16 + 1], is[COUNT * 16 + 2],
	    want[COUNT * 16 + 2];
	static const uint8_t widths[] = {8, 16, 32, 64, 128};
	uint32_t op, type, w, i, compared = 0;

	if (!goal_local_has_wide())
		return;
	for (op = GOAL_LOCAL_MAX; op < GOAL_LOCAL_USER; op++)
		for (type = 0; type < GOAL_TYPES; type++)
			for (w = 0; w < sizeof(widths); w++) {
				uint32_t bytes =
				    op == GOAL_LOCAL_COPY || op == GOAL_LOCAL_WTIME
					? 0
					: element_bytes((uint8_t)op, (uint8_t)type, widths[w]);

				if (!bytes)
					continue;
				fill(a, sizeof(a));
				fill(b, sizeof(b));
				/* No NaN, no overflow, no zero: exponents near 0. */
				for (i = 1; i + 8 <= sizeof(b); i += 4) {
					a[i + 3] = 0x3f;
					b[i + 3] = 0x3f;
				}
				memset(is, 0x55, sizeof(is));
				memset(want, 0x55, sizeof(want));
				CU_ASSERT_EQUAL(
				    goal_local_run_as(true, (uint8_t)op, (uint8_t)type, widths[w],
						      is + 1, a + 1, b + 1, COUNT),
				    goal_local_run_as(false, (uint8_t)op, (uint8_t)type, widths[w],
						      want + 1, a + 1, b + 1, COUNT));
				if (op != GOAL_LOCAL_DIV)
					CU_ASSERT_EQUAL(memcmp(is, want, sizeof(is)), 0);
				compared++;
			}
	CU_ASSERT_TRUE(compared > 100);
}

UT_MAIN("nic_fw/coll/goal_localop", UT(what_is_legal), UT(integers), UT(floats),
	UT(complex_numbers), UT(pairs), UT(division_that_traps_is_reported),
	UT(copies_that_overlap), UT(sets_of_instructions))
