/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of floats of users' operations: each operation, width and distance between elements
 * against a plain loop over copies, element by element, where the result is an operand and where it
 * is apart; which calls fit into the buffers.
 */
#include <string.h>

#include "nic_fw/coll/goal.h"
#include "nic_fw/coll/goal_op.h"
#include "tests/ut.h"

enum {
	BYTES = 1024,
	BLOCK = BYTES / 8,
};

static const uint32_t ops[] = {GOAL_LOCAL_ADD, GOAL_LOCAL_SUB, GOAL_LOCAL_MUL, GOAL_LOCAL_DIV,
			       GOAL_LOCAL_MAX, GOAL_LOCAL_MIN, GOAL_LOCAL_COPY};
enum {
	OPS = sizeof(ops) / sizeof(ops[0]),
};

static uint8_t mem[4][BYTES], before[4][BYTES];
static struct goal_op_call call;

/* A value that both widths hold exactly, never 0: the same in each run. */
static double value(uint32_t buf, uint32_t i)
{
	return (double)(1 + (i * 7 + buf * 5) % 23) * (i & 1 ? -0.5 : 0.25);
}

static double get(const uint8_t *at, uint32_t bits)
{
	float f;
	double d;

	if (bits == 32)
		memcpy(&f, at, sizeof(f));
	else
		memcpy(&d, at, sizeof(d));
	return bits == 32 ? (double)f : d;
}

static void put(uint8_t *at, uint32_t bits, double d)
{
	float f = (float)d;

	memcpy(at, bits == 32 ? (const void *)&f : (const void *)&d, bits / 8);
}

static void fill(uint32_t bits)
{
	for (uint32_t buf = 0; buf < 4; buf++) {
		for (uint32_t i = 0; i < BYTES / (bits / 8); i++)
			put(mem[buf] + i * (bits / 8), bits, value(buf, i));
		call.buf[buf] = mem[buf];
	}
	memset(call.view.args, 0, sizeof(call.view.args));
	put(call.view.args + 8, bits, 1.5);
	memcpy(before, mem, sizeof(before));
}

static double plain(uint32_t op, double x, double y)
{
	switch (op) {
	case GOAL_LOCAL_ADD:
		return x + y;
	case GOAL_LOCAL_SUB:
		return x - y;
	case GOAL_LOCAL_MUL:
		return x * y;
	case GOAL_LOCAL_DIV:
		return x / y;
	case GOAL_LOCAL_MAX:
		return x > y ? x : y;
	case GOAL_LOCAL_MIN:
		return x < y ? x : y;
	default:
		return x;
	}
}

static const uint8_t *operand(uint64_t vec)
{
	uint32_t buf = GOAL_OP_VEC_BUF(vec);

	return (buf == GOAL_OP_BUF_ARGS ? call.view.args : before[buf]) + GOAL_OP_VEC_OFFSET(vec);
}

/* Carries out a call that fits, and compares every byte of all buffers. */
static void check(uint32_t op, uint32_t bits, uint32_t count, uint64_t r, uint64_t x, uint64_t y)
{
	const struct goal_op_prog prog = {.elem_bytes = 8, .block = BLOCK};
	uint64_t what = GOAL_OP_WHAT(op, bits, count);
	const uint64_t vec[3] = {r, x, y};
	uint32_t bytes = bits / 8, i;
	static uint8_t want[4][BYTES];

	CU_ASSERT_TRUE_FATAL(goal_op_floats_fit(&prog, what, vec));
	CU_ASSERT_EQUAL(goal_op_floats_cost(what), 8 + (op == GOAL_LOCAL_DIV ? 4 : 1) * count);
	fill(bits);
	memcpy(want, before, sizeof(want));
	for (i = 0; i < count; i++)
		put(want[GOAL_OP_VEC_BUF(r)] + GOAL_OP_VEC_OFFSET(r) +
			(size_t)i * GOAL_OP_VEC_STRIDE(r) * bytes,
		    bits,
		    plain(op, get(operand(x) + (size_t)i * GOAL_OP_VEC_STRIDE(x) * bytes, bits),
			  get(operand(y) + (size_t)i * GOAL_OP_VEC_STRIDE(y) * bytes, bits)));
	CU_ASSERT_EQUAL(goal_op_helpers[GOAL_OP_HELPER_FLOATS]((uintptr_t)&call, what, r, x, y), 0);
	CU_ASSERT_EQUAL(memcmp(mem, want, sizeof(mem)), 0);
}

static void every_operation(void)
{
	/* Distances of result and operands: all the same, a scalar beside a vector, and others. */
	static const uint32_t strides[][3] = {{1, 1, 1}, {1, 1, 0}, {2, 1, 0}, {1, 2, 0},
					      {1, 0, 1}, {2, 3, 1}, {1, 0, 0}, {3, 2, 2}};
	uint32_t o, bits, s, count;

	for (o = 0; o < OPS; o++)
		for (bits = 32; bits <= 64; bits += 32)
			for (s = 0; s < sizeof(strides) / sizeof(strides[0]); s++)
				for (count = 1; count <= 31; count += 10) {
					const uint32_t *d = strides[s];

					check(ops[o], bits, count,
					      GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 8, d[0]),
					      GOAL_OP_VEC(GOAL_OP_BUF_A, 16, d[1]),
					      GOAL_OP_VEC(GOAL_OP_BUF_B, 24, d[2]));
				}
}

/* The result takes the place of an operand, or lies beside one; a constant comes from the call. */
static void in_place(void)
{
	const uint64_t work = GOAL_OP_VEC(GOAL_OP_BUF_WORK, 0, 1);
	const uint64_t behind = GOAL_OP_VEC(GOAL_OP_BUF_WORK, 512, 1);
	uint32_t o;

	for (o = 0; o < OPS; o++) {
		check(ops[o], 64, 20, work, work, GOAL_OP_VEC(GOAL_OP_BUF_ARGS, 8, 0));
		check(ops[o], 32, 20, work, GOAL_OP_VEC(GOAL_OP_BUF_B, 4, 2), work);
		check(ops[o], 64, 20, work, behind, GOAL_OP_VEC(GOAL_OP_BUF_A, 0, 1));
		check(ops[o], 64, 20, behind, GOAL_OP_VEC(GOAL_OP_BUF_A, 0, 1), work);
	}
}

static void what_does_not_fit(void)
{
	const struct goal_op_prog prog = {.elem_bytes = 8, .block = BLOCK};
	const uint64_t result = GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 0, 1);
	const uint64_t a = GOAL_OP_VEC(GOAL_OP_BUF_A, 0, 1);
	const uint64_t add = GOAL_OP_WHAT(GOAL_LOCAL_ADD, 64, 8);
	const struct {
		uint64_t what, vec[3];
	} bad[] = {
	    {GOAL_OP_WHAT(GOAL_LOCAL_ADD, 64, 0), {result, a, a}},
	    {GOAL_OP_WHAT(GOAL_LOCAL_ADD, 16, 8), {result, a, a}},
	    {GOAL_OP_WHAT(GOAL_LOCAL_AND, 64, 8), {result, a, a}},
	    {GOAL_OP_WHAT(GOAL_LOCAL_WTIME, 64, 8), {result, a, a}},
	    {add | UINT64_C(1) << 32, {result, a, a}},
	    {add, {result | UINT64_C(1) << 40, a, a}},
	    {add, {a, a, a}},
	    {add, {GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 0, 0), a, a}},
	    {add, {GOAL_OP_VEC(GOAL_OP_BUF_ARGS, 0, 1), a, a}},
	    {add, {result, GOAL_OP_VEC(GOAL_OP_BUF_ARGS + 1, 0, 1), a}},
	    {add, {result, GOAL_OP_VEC(GOAL_OP_BUF_A, BYTES - 56, 1), a}},
	    {add, {result, a, GOAL_OP_VEC(GOAL_OP_BUF_ARGS, 8, 1)}},
	    /* A part of the result is an operand. */
	    {add, {result, GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 8, 1), a}},
	    {add, {result, a, GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 0, 0)}},
	    {add, {GOAL_OP_VEC(GOAL_OP_BUF_RESULT, 32, 1), result, a}},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_FALSE(goal_op_floats_fit(&prog, bad[i].what, bad[i].vec));
}

UT_MAIN("nic_fw/coll/goal_op_floats", UT(every_operation), UT(in_place), UT(what_does_not_fit))
