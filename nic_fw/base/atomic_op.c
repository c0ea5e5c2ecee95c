/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of atomic operations: one element, without its memory.
 *
 * Integers wrap around in sums and products. Reals are IEEE 754, rounded to nearest, with subnormal
 * numbers. Each result has the same bits on every processor:
 * - A sum or product that is a NaN is the positive quiet NaN without payload. Processors differ in
 *   the sign and in the payload that they pass on.
 * - A comparison with a NaN is false, but that of CSWAP_NE is true. MIN and MAX leave the element
 * as it is when it or the operand is a NaN.
 * - -0.0 equals 0.0: MIN and MAX leave either as it is, and CSWAP takes them for equal.
 * - LOR, LAND and LXOR take a NaN for true and -0.0 for false, and make 1.0 or 0.0.
 * - READ, WRITE and swaps move bits, those of signalling NaNs, too.
 * Calls nothing. fi_atomic(3).
 */
#include <string.h>

#include "nic_fw/fw_port.h"

/* How one value stands to another. */
enum relation {
	LESS = 0x01,
	EQUAL = 0x02,
	GREATER = 0x04,
	UNORDERED = 0x08,
};

#define FLOAT_NAN      UINT32_C(0x7fc00000)
#define DOUBLE_NAN     UINT64_C(0x7ff8000000000000)
#define FLOAT_ONE      UINT32_C(0x3f800000)
#define DOUBLE_ONE     UINT64_C(0x3ff0000000000000)

#define RELATION(a, b) ((a) < (b) ? LESS : (a) > (b) ? GREATER : (a) == (b) ? EQUAL : UNORDERED)

static float float_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return value == value ? bits : FLOAT_NAN;
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return value == value ? bits : DOUBLE_NAN;
}

/* Clears the bytes above an element. */
static uint64_t atomic_op_cut(uint8_t type, uint64_t value)
{
	return value & UINT64_MAX >> (64 - 8 * hw_atomic_bytes(type));
}

/* Extends the sign of an element. */
static int64_t extend(uint8_t type, uint64_t value)
{
	uint32_t above = 64 - 8 * hw_atomic_bytes(type);

	return (int64_t)(value << above) >> above;
}

static enum relation relation_of(uint8_t type, uint64_t a, uint64_t b)
{
	switch ((enum hw_atomic_type)type) {
	case HW_ATOMIC_INT8:
	case HW_ATOMIC_INT16:
	case HW_ATOMIC_INT32:
	case HW_ATOMIC_INT64:
		return RELATION(extend(type, a), extend(type, b));
	case HW_ATOMIC_FLOAT:
		return RELATION(float_of(a), float_of(b));
	case HW_ATOMIC_DOUBLE:
		return RELATION(double_of(a), double_of(b));
	case HW_ATOMIC_UINT8:
	case HW_ATOMIC_UINT16:
	case HW_ATOMIC_UINT32:
	case HW_ATOMIC_UINT64:
	case HW_ATOMIC_TYPES:
		break;
	}
	return RELATION(a, b);
}

static uint64_t sum_of(uint8_t type, uint64_t a, uint64_t b)
{
	if (type == HW_ATOMIC_FLOAT)
		return float_bits(float_of(a) + float_of(b));
	if (type == HW_ATOMIC_DOUBLE)
		return double_bits(double_of(a) + double_of(b));
	return atomic_op_cut(type, a + b);
}

/* The low bytes of a product are the same with and without signs. */
static uint64_t product_of(uint8_t type, uint64_t a, uint64_t b)
{
	if (type == HW_ATOMIC_FLOAT)
		return float_bits(float_of(a) * float_of(b));
	if (type == HW_ATOMIC_DOUBLE)
		return double_bits(double_of(a) * double_of(b));
	return atomic_op_cut(type, a * b);
}

static bool is_true(uint8_t type, uint64_t value)
{
	return relation_of(type, value, 0) != EQUAL;
}

static uint64_t truth(uint8_t type, bool value)
{
	uint64_t one = type == HW_ATOMIC_FLOAT    ? FLOAT_ONE
		       : type == HW_ATOMIC_DOUBLE ? DOUBLE_ONE
						  : 1;

	return value ? one : 0;
}

/* Relations under which the operand (MIN, MAX) or the comparand lets the operand be stored. */
static const uint8_t stored_if[HW_ATOMIC_OPS] = {
    [HW_ATOMIC_MIN] = LESS,
    [HW_ATOMIC_MAX] = GREATER,
    [HW_ATOMIC_CSWAP] = EQUAL,
    [HW_ATOMIC_CSWAP_NE] = LESS | GREATER | UNORDERED,
    [HW_ATOMIC_CSWAP_LE] = LESS | EQUAL,
    [HW_ATOMIC_CSWAP_LT] = LESS,
    [HW_ATOMIC_CSWAP_GE] = GREATER | EQUAL,
    [HW_ATOMIC_CSWAP_GT] = GREATER,
};

/* Operations that store their operand if it, or the comparand, stands so to the element. */
static bool is_conditional(uint8_t op)
{
	return stored_if[op] != 0;
}

/* Operations that always store; t: element, v: operand, c: mask. */
static uint64_t computed(uint8_t op, uint8_t type, uint64_t t, uint64_t v, uint64_t c)
{
	switch ((enum hw_atomic_op)op) {
	case HW_ATOMIC_SUM:
		return sum_of(type, t, v);
	case HW_ATOMIC_PROD:
		return product_of(type, t, v);
	case HW_ATOMIC_LOR:
		return truth(type, is_true(type, t) || is_true(type, v));
	case HW_ATOMIC_LAND:
		return truth(type, is_true(type, t) && is_true(type, v));
	case HW_ATOMIC_LXOR:
		return truth(type, is_true(type, t) != is_true(type, v));
	case HW_ATOMIC_BOR:
		return t | v;
	case HW_ATOMIC_BAND:
		return t & v;
	case HW_ATOMIC_BXOR:
		return t ^ v;
	case HW_ATOMIC_WRITE:
		return v;
	case HW_ATOMIC_MSWAP:
		return (v & c) | (t & ~c);
	case HW_ATOMIC_MIN:
	case HW_ATOMIC_MAX:
	case HW_ATOMIC_READ:
	case HW_ATOMIC_CSWAP:
	case HW_ATOMIC_CSWAP_NE:
	case HW_ATOMIC_CSWAP_LE:
	case HW_ATOMIC_CSWAP_LT:
	case HW_ATOMIC_CSWAP_GE:
	case HW_ATOMIC_CSWAP_GT:
	case HW_ATOMIC_OPS:
		break;
	}
	return t;
}

bool fw_atomic_result(const struct fw_atomic *op, uint64_t original, uint64_t *result)
{
	uint64_t t = atomic_op_cut(op->type, original), v = atomic_op_cut(op->type, op->value);
	uint64_t c = atomic_op_cut(op->type, op->compare);

	if (is_conditional(op->op)) {
		bool swaps = op->op >= HW_ATOMIC_CSWAP;

		*result = v;
		return stored_if[op->op] & relation_of(op->type, swaps ? c : v, t);
	}
	*result = computed(op->op, op->type, t, v, c);
	return op->op != HW_ATOMIC_READ;
}
