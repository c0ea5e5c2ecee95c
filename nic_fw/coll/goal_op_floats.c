/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of users' operations: the buffers of a block, and arithmetic on vectors of floats, which
 * eBPF lacks.
 *
 * Programs call them, interpreted or compiled, with arguments that goal_op_verify.c has checked.
 * Calls goal_localop.c where both operands are contiguous.
 */
#include "nic_fw/coll/goal_op.h"

#include <string.h>

#include "nic_fw/coll/goal.h"

static struct goal_op_call *call_of(uint64_t view)
{
	return (struct goal_op_call *)(uintptr_t)view;
}

#define HELPER_BUFFER(name, number)                                                                \
	static uint64_t name(uint64_t view, uint64_t b, uint64_t c, uint64_t d, uint64_t e)        \
	{                                                                                          \
		(void)b;                                                                           \
		(void)c;                                                                           \
		(void)d;                                                                           \
		(void)e;                                                                           \
		return (uintptr_t)call_of(view)->buf[number];                                      \
	}

HELPER_BUFFER(helper_a, GOAL_OP_BUF_A)
HELPER_BUFFER(helper_b, GOAL_OP_BUF_B)
HELPER_BUFFER(helper_result, GOAL_OP_BUF_RESULT)
HELPER_BUFFER(helper_work, GOAL_OP_BUF_WORK)

static bool is_float_op(uint32_t op)
{
	return op == GOAL_LOCAL_ADD || op == GOAL_LOCAL_SUB || op == GOAL_LOCAL_MUL ||
	       op == GOAL_LOCAL_DIV || op == GOAL_LOCAL_MAX || op == GOAL_LOCAL_MIN ||
	       op == GOAL_LOCAL_COPY;
}

/* Checks one vector, and computes its first byte and the end of its last element. */
static bool vec_fits(const struct goal_op_prog *prog, uint64_t what, uint64_t vec, bool written,
		     uint64_t range[2])
{
	uint64_t bytes = GOAL_OP_WHAT_BITS(what) / 8;
	uint64_t last = (uint64_t)(GOAL_OP_WHAT_COUNT(what) - 1) * GOAL_OP_VEC_STRIDE(vec);
	uint32_t buf = GOAL_OP_VEC_BUF(vec);
	uint64_t room = buf == GOAL_OP_BUF_ARGS ? (uint64_t)GOAL_OP_ARGS_BYTES
						: (uint64_t)prog->block * prog->elem_bytes;

	if (vec >> 32 || buf >= GOAL_OP_BUFS)
		return false;
	if (written &&
	    ((buf != GOAL_OP_BUF_RESULT && buf != GOAL_OP_BUF_WORK) || !GOAL_OP_VEC_STRIDE(vec)))
		return false;
	range[0] = GOAL_OP_VEC_OFFSET(vec);
	range[1] = range[0] + (last + 1) * bytes;
	return range[1] <= room;
}

/* An operand is the result itself or apart from it, so the order of elements has no effect. */
static bool apart(uint64_t result, uint64_t operand, const uint64_t a[2], const uint64_t b[2])
{
	return result == operand || GOAL_OP_VEC_BUF(result) != GOAL_OP_VEC_BUF(operand) ||
	       a[1] <= b[0] || b[1] <= a[0];
}

bool goal_op_floats_fit(const struct goal_op_prog *prog, uint64_t what, const uint64_t vec[3])
{
	uint32_t bits = GOAL_OP_WHAT_BITS(what);
	uint64_t range[3][2];
	uint32_t i;

	if (what >> 32 || !GOAL_OP_WHAT_COUNT(what) || !is_float_op(GOAL_OP_WHAT_OP(what)) ||
	    (bits != 32 && bits != 64))
		return false;
	for (i = 0; i < 3; i++)
		if (!vec_fits(prog, what, vec[i], !i, range[i]))
			return false;
	return apart(vec[0], vec[1], range[0], range[1]) &&
	       apart(vec[0], vec[2], range[0], range[2]);
}

uint32_t goal_op_floats_cost(uint64_t what)
{
	uint32_t count = GOAL_OP_WHAT_COUNT(what);

	return 8 + (GOAL_OP_WHAT_OP(what) == GOAL_LOCAL_DIV ? 4 * count : count);
}

typedef float f32_any __attribute__((aligned(1), may_alias));
typedef double f64_any __attribute__((aligned(1), may_alias));

/* Results are operands or overlap none (apart()), as in goal_localop.c. */
#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC optimize("O3")
#endif

/* A single operand is read once, because the result may lie in its place. */
#define STEP(T, expression)                                                                        \
	INDEPENDENT for (i = 0; i < count; i++)                                                    \
	{                                                                                          \
		const T n = x[(size_t)i * sx], d = sy ? y[(size_t)i * sy] : single;                \
                                                                                                   \
		r[(size_t)i * sr] = (expression);                                                  \
	}                                                                                          \
	break

/* Inlined with constant distances where they are the usual ones, so that the loop is vectorized. */
#define DEFINE_STRIDED(name, T)                                                                    \
	static inline __attribute__((always_inline)) void name(                                    \
	    uint32_t op, T *r, const T *x, const T *y, uint32_t sr, uint32_t sx, uint32_t sy,      \
	    uint32_t count)                                                                        \
	{                                                                                          \
		const T single = y[0];                                                             \
		uint32_t i;                                                                        \
                                                                                                   \
		switch (op) {                                                                      \
		case GOAL_LOCAL_ADD:                                                               \
			STEP(T, n + d);                                                            \
		case GOAL_LOCAL_SUB:                                                               \
			STEP(T, n - d);                                                            \
		case GOAL_LOCAL_MUL:                                                               \
			STEP(T, n *d);                                                             \
		case GOAL_LOCAL_DIV:                                                               \
			STEP(T, n / d);                                                            \
		case GOAL_LOCAL_MAX:                                                               \
			STEP(T, n > d ? n : d);                                                    \
		case GOAL_LOCAL_MIN:                                                               \
			STEP(T, n < d ? n : d);                                                    \
		default:                                                                           \
			for (i = 0; i < count; i++)                                                \
				r[(size_t)i * sr] = x[(size_t)i * sx];                             \
			break;                                                                     \
		}                                                                                  \
	}

DEFINE_STRIDED(strided_f32, f32_any)
DEFINE_STRIDED(strided_f64, f64_any)

static void strided(uint32_t op, uint32_t bits, uint8_t *r, const uint8_t *x, const uint8_t *y,
		    const uint32_t s[3], uint32_t count)
{
	bool scaled = s[0] == 1 && s[1] == 1 && !s[2];

	if (bits == 32 && scaled)
		strided_f32(op, (f32_any *)r, (const f32_any *)x, (const f32_any *)y, 1, 1, 0,
			    count);
	else if (bits == 32)
		strided_f32(op, (f32_any *)r, (const f32_any *)x, (const f32_any *)y, s[0], s[1],
			    s[2], count);
	else if (scaled)
		strided_f64(op, (f64_any *)r, (const f64_any *)x, (const f64_any *)y, 1, 1, 0,
			    count);
	else
		strided_f64(op, (f64_any *)r, (const f64_any *)x, (const f64_any *)y, s[0], s[1],
			    s[2], count);
}

static uint8_t *vec_at(struct goal_op_call *call, uint64_t vec)
{
	uint32_t buf = GOAL_OP_VEC_BUF(vec);

	return (buf == GOAL_OP_BUF_ARGS ? call->view.args : call->buf[buf]) +
	       GOAL_OP_VEC_OFFSET(vec);
}

static uint64_t helper_floats(uint64_t view, uint64_t what, uint64_t result, uint64_t x, uint64_t y)
{
	struct goal_op_call *call = call_of(view);
	const uint32_t stride[3] = {GOAL_OP_VEC_STRIDE(result), GOAL_OP_VEC_STRIDE(x),
				    GOAL_OP_VEC_STRIDE(y)};
	uint32_t bits = GOAL_OP_WHAT_BITS(what), count = GOAL_OP_WHAT_COUNT(what);
	uint32_t op = GOAL_OP_WHAT_OP(what);

	if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1)
		(void)goal_local_run((uint8_t)op, GOAL_TYPE_FLOAT, (uint8_t)bits,
				     vec_at(call, result), vec_at(call, x), vec_at(call, y), count);
	else
		strided(op, bits, vec_at(call, result), vec_at(call, x), vec_at(call, y), stride,
			count);
	return 0;
}

const goal_op_helper_fn goal_op_helpers[GOAL_OP_HELPERS] = {
    [GOAL_OP_HELPER_A] = helper_a,           [GOAL_OP_HELPER_B] = helper_b,
    [GOAL_OP_HELPER_RESULT] = helper_result, [GOAL_OP_HELPER_WORK] = helper_work,
    [GOAL_OP_HELPER_FLOATS] = helper_floats,
};
