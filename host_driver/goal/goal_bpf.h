/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For programs of users' operations, which clang compiles for BPF:
 *
 *	clang -target bpf -O2 -mcpu=v2 -c sum.bpf.c -o sum.bpf.o
 *
 *	#include <goal_bpf.h>
 *	GOAL_BPF_OP(sum, 8, 64)
 *	{
 *		const goal_u64 *a = goal_bpf_a(view), *b = goal_bpf_b(view);
 *		goal_u64 *result = goal_bpf_result(view);
 *
 *	#pragma unroll
 *		for (int i = 0; i < 64; i++)
 *			result[i] = a[i] + b[i];
 *		return GOAL_BPF_OK;
 *	}
 *
 * The function handles a block of elements: here 64 of 8 bytes. Loops must be unrolled. The process
 * registers it by GOAL_RegisterOp("sum.bpf.o", "sum"). docs/user-ops.md has the rules.
 */
#ifndef WEFT_GOAL_BPF_H
#define WEFT_GOAL_BPF_H

typedef __UINT8_TYPE__ goal_u8;
typedef __UINT32_TYPE__ goal_u32;
typedef __UINT64_TYPE__ goal_u64;
typedef __INT64_TYPE__ goal_s64;

/* The argument of a program; read only. */
struct goal_bpf_view {
	goal_u64 count; /* wanted elements of the block; the others are ignored */
	goal_u32 elem_bytes;
	goal_u32 block;                               /* elements of a whole block */
	goal_u8 args[64] __attribute__((aligned(8))); /* of GOAL_RegisterOpOn() */
};

enum {
	GOAL_BPF_ZERO_DIVISION = 0, /* the run ends with GOAL_ERR_DIVIDE */
	GOAL_BPF_OK = 1,            /* other values: it ends with GOAL_ERR_USER_OP */
};

/* Declares a program: bytes of an element (up to 64), elements of a call (up to 4,096 bytes). */
#define GOAL_BPF_OP(name, elem_bytes, block)                                                       \
	__attribute__((section(#name ".op"), used)) static const goal_u32 name##_shape[4] = {      \
	    0x31504f57u, (elem_bytes), (block), 0};                                                \
	__attribute__((section(#name), used))                                                      \
	goal_u64 name##_program(const struct goal_bpf_view *view)

/*
 * Hides a value from the compiler, so that it makes no branches of arithmetic on it: each branch
 * doubles the paths that the NIC has to check.
 */
static inline __attribute__((always_inline)) goal_u64 goal_bpf_opaque(goal_u64 value)
{
	__asm__("" : "+r"(value));
	return value;
}

/* Pointers to the block. */
static const void *(*const goal_bpf_a)(const struct goal_bpf_view *view) = (const void *)1;
static const void *(*const goal_bpf_b)(const struct goal_bpf_view *view) = (const void *)2;
static void *(*const goal_bpf_result)(const struct goal_bpf_view *view) = (void *)3;
/* Work space of the same length, zero when the program starts. */
static void *(*const goal_bpf_work)(const struct goal_bpf_view *view) = (void *)4;
/*
 * Arithmetic on vectors of floats, which BPF has not: result = x what y. All arguments are
 * constants: what by GOAL_BPF_WHAT(), vectors by GOAL_BPF_VEC(). COPY does not look at y's values.
 * A vector that is written is an operand as a whole, or overlaps none.
 */
static goal_u64 (*const goal_bpf_floats)(const struct goal_bpf_view *view, goal_u64 what,
					 goal_u64 result, goal_u64 x, goal_u64 y) = (void *)5;

enum {
	GOAL_BPF_MAX = 0,
	GOAL_BPF_MIN = 1,
	GOAL_BPF_ADD = 2,
	GOAL_BPF_SUB = 3,
	GOAL_BPF_DIV = 4,
	GOAL_BPF_MUL = 5,
	GOAL_BPF_COPY = 6,
};
/* bits: 32 or 64 */
#define GOAL_BPF_WHAT(op, bits, count)                                                             \
	((goal_u64)(op) | (goal_u64)(bits) << 8 | (goal_u64)(count) << 16)

enum {
	GOAL_BPF_IN_A = 0,
	GOAL_BPF_IN_B = 1,
	GOAL_BPF_IN_RESULT = 2,
	GOAL_BPF_IN_WORK = 3,
	GOAL_BPF_IN_ARGS = 4,
};
/* Byte offset in a buffer, distance of the elements in elements; 0: the same one each time. */
#define GOAL_BPF_VEC(in, offset, stride)                                                           \
	((goal_u64)(offset) | (goal_u64)(in) << 16 | (goal_u64)(stride) << 24)

#endif /* WEFT_GOAL_BPF_H */
