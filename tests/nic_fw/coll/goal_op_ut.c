/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Users' operations: a program for each rule of the verifier, which refuses it for that rule and
 * accepts it with the fault mended; the interpreter against C; vectors of floats; random programs,
 * of which accepted ones stay inside their buffers (under sanitizers).
 */
#include <stdlib.h>
#include <string.h>

#include "nic_fw/coll/goal_op.h"
#include "shared_defs/goal_format.h"
#include "tests/ut.h"

#define INSN(c, d, s, o, i)                                                                        \
	{                                                                                          \
		.code = (c), .regs = (uint8_t)((d) | (s) << 4), .off = (o), .imm = (i)             \
	}
#define MOV(d, s)        INSN(0xbf, d, s, 0, 0)
#define MOVI(d, i)       INSN(0xb7, d, 0, 0, i)
#define ALUI(op, d, i)   INSN(GOAL_BPF_ALU64 | (op), d, 0, 0, i)
#define ALU(op, d, s)    INSN(GOAL_BPF_ALU64 | GOAL_BPF_X | (op), d, s, 0, 0)
#define ALU32I(op, d, i) INSN(GOAL_BPF_ALU32 | (op), d, 0, 0, i)
#define ALU32(op, d, s)  INSN(GOAL_BPF_ALU32 | GOAL_BPF_X | (op), d, s, 0, 0)
#define LDX(d, s, o)     INSN(0x79, d, s, o, 0)
#define LDXW(d, s, o)    INSN(0x61, d, s, o, 0)
#define LDXH(d, s, o)    INSN(0x69, d, s, o, 0)
#define LDXB(d, s, o)    INSN(0x71, d, s, o, 0)
#define STX(d, o, s)     INSN(0x7b, d, s, o, 0)
#define STXB(d, o, s)    INSN(0x73, d, s, o, 0)
#define ST(d, o, i)      INSN(0x7a, d, 0, o, i)
#define JA(o)            INSN(0x05, 0, 0, o, 0)
#define JI(op, d, i, o)  INSN(GOAL_BPF_JMP | (op), d, 0, o, i)
#define J(op, d, s, o)   INSN(GOAL_BPF_JMP | GOAL_BPF_X | (op), d, s, o, 0)
#define CALL(n)          INSN(0x85, 0, 0, 0, n)
#define EXIT             INSN(0x95, 0, 0, 0, 0)
#define IMM64(d, v)                                                                                \
	INSN(0x18, d, 0, 0, (int32_t)(uint32_t)(v)),                                               \
	    INSN(0, 0, 0, 0, (int32_t)(uint32_t)((v) >> 32))

enum {
	BLOCK = 8,
	ELEM = 8,
	BYTES = BLOCK * ELEM,
};

static struct goal_op_check check;
static struct goal_op_verdict verdict;

static bool verify(const struct goal_op_insn *insns, uint32_t num)
{
	const struct goal_op_prog prog = {insns, num, ELEM, BLOCK};

	return goal_op_verify(&check, &prog, &verdict);
}

#define ACCEPTED(...)                                                                              \
	do {                                                                                       \
		const struct goal_op_insn prog_[] = {__VA_ARGS__};                                 \
                                                                                                   \
		CU_ASSERT_TRUE(verify(prog_, sizeof(prog_) / sizeof(prog_[0])));                   \
	} while (0)
#define REFUSED(at, text, ...)                                                                     \
	do {                                                                                       \
		const struct goal_op_insn prog_[] = {__VA_ARGS__};                                 \
                                                                                                   \
		CU_ASSERT_FALSE_FATAL(verify(prog_, sizeof(prog_) / sizeof(prog_[0])));            \
		CU_ASSERT_EQUAL(verdict.insn, (uint32_t)(at));                                     \
		CU_ASSERT_PTR_NOT_NULL(strstr(verdict.why, text));                                 \
	} while (0)
#define NONE      UINT32_MAX
#define RETURN_OK MOVI(0, 1), EXIT

static void sizes(void)
{
	static struct goal_op_insn many[GOAL_OP_MAX_INSNS + 1];
	struct goal_op_prog prog = {many, 2, ELEM, BLOCK};
	uint32_t i;

	for (i = 0; i <= GOAL_OP_MAX_INSNS; i++)
		many[i] = (struct goal_op_insn)MOVI(0, 1);
	many[GOAL_OP_MAX_INSNS] = (struct goal_op_insn)EXIT;
	CU_ASSERT_FALSE(verify(many, GOAL_OP_MAX_INSNS + 1));
	CU_ASSERT_TRUE(verify(many + 1, GOAL_OP_MAX_INSNS));
	CU_ASSERT_FALSE(verify(many, 0));
	many[1] = (struct goal_op_insn)EXIT;
	CU_ASSERT_TRUE(goal_op_verify(&check, &prog, &verdict));
	prog.elem_bytes = GOAL_OP_MAX_ELEM_BYTES + 1;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	prog.elem_bytes = 0;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	prog.elem_bytes = 8;
	prog.block = 0;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	prog.block = GOAL_OP_MAX_BLOCK_BYTES / 8 + 1;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	prog.block--;
	CU_ASSERT_TRUE(goal_op_verify(&check, &prog, &verdict));
}

static void codes(void)
{
	static const uint8_t unknown[] = {0x00, 0x20, 0x30, 0x06, 0x16, 0xc3, 0xdb, 0x8f, 0xe7,
					  0xf4, 0x0d, 0x8d, 0x9d, 0xe5, 0xdf, 0xd7, 0x81};
	uint32_t i;

	for (i = 0; i < sizeof(unknown); i++)
		REFUSED(1, "unknown", MOVI(0, 1), INSN(unknown[i], 0, 0, 0, 0), EXIT);
	ACCEPTED(MOVI(0, 1), INSN(0xd4, 0, 0, 0, 16), INSN(0xdc, 0, 0, 0, 64), EXIT);
	REFUSED(1, "unknown", MOVI(0, 1), INSN(0xdc, 0, 0, 0, 8), EXIT);
	REFUSED(0, "does not exist", INSN(0xb7, 11, 0, 0, 1), RETURN_OK);
	REFUSED(0, "does not exist", INSN(0xbf, 0, 11, 0, 0), RETURN_OK);
	REFUSED(0, "frame pointer", MOVI(10, 1), RETURN_OK);
	REFUSED(0, "frame pointer", LDX(10, 1, 0), RETURN_OK);
}

static void unused_fields(void)
{
	REFUSED(0, "unused", INSN(0xb7, 0, 1, 0, 1), EXIT);
	REFUSED(0, "unused", INSN(0xb7, 0, 0, 1, 1), EXIT);
	REFUSED(0, "unused", INSN(0xbf, 2, 1, 0, 1), RETURN_OK);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x87, 0, 0, 0, 1), EXIT);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0xd4, 0, 1, 0, 16), EXIT);
	REFUSED(0, "unused", INSN(0x79, 0, 1, 0, 1), RETURN_OK);
	REFUSED(0, "unused", INSN(0x7a, 10, 1, -8, 1), RETURN_OK);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x95, 0, 0, 0, 1));
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x05, 0, 0, 0, 1), EXIT);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x15, 0, 1, 0, 1), EXIT);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x1d, 0, 0, 0, 1), EXIT);
	REFUSED(0, "unused", INSN(0x85, 0, 1, 0, 0), RETURN_OK);
	REFUSED(0, "refers to something", INSN(0x18, 0, 1, 0, 1), INSN(0, 0, 0, 0, 0), EXIT);
	REFUSED(0, "half of", INSN(0x18, 0, 0, 0, 1), MOVI(0, 1), EXIT);
	REFUSED(0, "half of", INSN(0x18, 0, 0, 0, 1));
	REFUSED(0, "half of", INSN(0x18, 0, 0, 0, 1), INSN(0, 1, 0, 0, 0), EXIT);
	REFUSED(0, "half of", INSN(0x18, 0, 0, 0, 1), INSN(0, 0, 0, 1, 0), EXIT);
	REFUSED(0, "refers to something", INSN(0x18, 0, 0, 1, 1), INSN(0, 0, 0, 0, 0), EXIT);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0xd4, 0, 0, 1, 16), EXIT);
	REFUSED(0, "unused", INSN(0x85, 0, 0, 1, 0), RETURN_OK);
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x95, 1, 0, 0, 0));
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x95, 0, 0, 1, 0));
	REFUSED(1, "unused", MOVI(0, 1), INSN(0x05, 1, 0, 0, 0), EXIT);
	REFUSED(0, "used as a number", JI(GOAL_BPF_JEQ, 10, 0, 0), RETURN_OK);
}

static void flow(void)
{
	ACCEPTED(MOVI(0, 1), JA(0), EXIT);
	REFUSED(1, "goes back", MOVI(0, 1), JA(-1), EXIT);
	REFUSED(1, "goes back", MOVI(0, 1), JI(GOAL_BPF_JEQ, 0, 1, -2), EXIT);
	REFUSED(1, "leaves", MOVI(0, 1), JA(1), EXIT);
	REFUSED(2, "into", MOVI(0, 1), JI(GOAL_BPF_JEQ, 0, 1, 1), IMM64(2, UINT64_C(1)), EXIT);
	REFUSED(2, "no path", MOVI(0, 1), EXIT, RETURN_OK);
	REFUSED(2, "no path", MOVI(0, 1), JA(1), MOVI(0, 1), EXIT);
	REFUSED(0, "does not end", MOVI(0, 1));
	REFUSED(1, "leaves", MOVI(0, 1), JI(GOAL_BPF_JEQ, 0, 1, 0));
}

static void registers(void)
{
	REFUSED(0, "not set", EXIT);
	REFUSED(0, "not set", MOV(0, 2), EXIT);
	REFUSED(0, "not set", ALUI(GOAL_BPF_ADD, 0, 1), EXIT);
	REFUSED(0, "not set", JI(GOAL_BPF_JEQ, 3, 0, 0), RETURN_OK);
	REFUSED(0, "not set", STX(10, -8, 4), RETURN_OK);
	REFUSED(0, "not set", LDX(0, 4, 0), RETURN_OK);
	/* Set on one of two paths. */
	REFUSED(3, "not set", LDX(3, 1, 0), JI(GOAL_BPF_JEQ, 3, 0, 1), MOVI(0, 1), EXIT);
	/* The path that jumps over the other joins it. */
	REFUSED(4, "not set", LDX(3, 1, 0), JI(GOAL_BPF_JNE, 3, 0, 1), MOVI(4, 1), MOVI(0, 1),
		ALU(GOAL_BPF_ADD, 0, 4), EXIT);
	ACCEPTED(LDX(3, 1, 0), MOVI(0, 0), JI(GOAL_BPF_JEQ, 3, 0, 1), MOVI(0, 1), EXIT);
	/* A helper leaves r1 to r5 unset. */
	REFUSED(2, "not set", MOVI(3, 1), CALL(1), MOV(0, 3), EXIT);
	REFUSED(2, "not set", MOV(6, 1), CALL(1), LDX(0, 1, 0), EXIT);
	ACCEPTED(MOV(6, 1), CALL(1), LDX(0, 6, 0), EXIT);
}

#define BUFFERS                                                                                    \
	MOV(6, 1), CALL(1), MOV(7, 0), MOV(1, 6), CALL(2), MOV(8, 0), MOV(1, 6), CALL(3), MOV(9, 0)

/* Pointers move by numbers that are known and that a pointer's offset has room for. */
static void moved_pointers(void)
{
	const uint64_t far = UINT64_C(1) << 40;

	REFUSED(3, "not constant", IMM64(3, far), MOV(2, 10), ALU(GOAL_BPF_ADD, 2, 3), RETURN_OK);
	REFUSED(3, "not constant", IMM64(3, -far), MOV(2, 10), ALU(GOAL_BPF_ADD, 2, 3), RETURN_OK);
	REFUSED(4, "too far", MOVI(3, INT32_MIN), MOV(2, 10), ALU(GOAL_BPF_ADD, 2, 3),
		ALU(GOAL_BPF_SUB, 2, 3), ALU(GOAL_BPF_SUB, 2, 3), RETURN_OK);
	REFUSED(3, "too far", MOVI(3, INT32_MIN), MOV(2, 10), ALU(GOAL_BPF_ADD, 2, 3),
		ALU(GOAL_BPF_ADD, 2, 3), RETURN_OK);
	ACCEPTED(MOVI(3, -8), MOV(2, 10), ALU(GOAL_BPF_ADD, 2, 3), STX(2, 0, 3), RETURN_OK);
}

static void memory(void)
{
	ACCEPTED(BUFFERS, LDX(1, 7, BYTES - 8), STX(9, BYTES - 8, 1), RETURN_OK);
	ACCEPTED(BUFFERS, LDXB(1, 8, BYTES - 1), STXB(9, 0, 1), RETURN_OK);
	REFUSED(9, "outside", BUFFERS, LDX(1, 7, BYTES), RETURN_OK);
	REFUSED(9, "outside", BUFFERS, LDXB(1, 7, BYTES), RETURN_OK);
	REFUSED(9, "outside", BUFFERS, LDX(1, 8, -8), RETURN_OK);
	REFUSED(9, "outside", BUFFERS, ST(9, BYTES, 1), RETURN_OK);
	REFUSED(0, "outside", LDX(0, 1, 80), EXIT);
	ACCEPTED(LDX(0, 1, 72), EXIT);
	REFUSED(0, "outside", ST(10, 0, 1), RETURN_OK);
	REFUSED(0, "outside", ST(10, -520, 1), RETURN_OK);
	ACCEPTED(ST(10, -512, 1), ST(10, -8, 1), RETURN_OK);
	REFUSED(9, "aligned", BUFFERS, LDX(1, 7, 4), RETURN_OK);
	REFUSED(9, "aligned", BUFFERS, LDXW(1, 7, 2), RETURN_OK);
	REFUSED(0, "aligned", ST(10, -12, 1), RETURN_OK);
	REFUSED(9, "may only be read", BUFFERS, ST(7, 0, 1), RETURN_OK);
	REFUSED(9, "may only be read", BUFFERS, ST(8, 0, 1), RETURN_OK);
	REFUSED(0, "may only be read", ST(1, 0, 1), RETURN_OK);
	REFUSED(1, "no pointer", MOVI(2, 0), LDX(0, 2, 0), EXIT);
	REFUSED(1, "no pointer", LDX(2, 1, 16), ST(2, 0, 1), RETURN_OK);
	ACCEPTED(CALL(4), ST(0, 0, 1), LDX(0, 0, 0), EXIT);
	CU_ASSERT_TRUE(verdict.uses_work);
}

static void the_stack(void)
{
	REFUSED(0, "not written", LDX(0, 10, -8), EXIT);
	REFUSED(1, "not written", ST(10, -16, 1), LDX(0, 10, -8), EXIT);
	REFUSED(2, "not written", MOVI(2, 1), STXB(10, -8, 2), LDXH(0, 10, -8), EXIT);
	ACCEPTED(MOVI(2, 1), STXB(10, -8, 2), STXB(10, -7, 2), LDXH(0, 10, -8), EXIT);
	/* Written on one of two paths. */
	REFUSED(3, "not written", LDX(3, 1, 0), JI(GOAL_BPF_JEQ, 3, 0, 1), ST(10, -8, 1),
		LDX(0, 10, -8), EXIT);
}

static void pointers(void)
{
	REFUSED(1, "used as a number", MOV(0, 1), EXIT);
	REFUSED(9, "a pointer is stored", BUFFERS, STX(9, 0, 6), RETURN_OK);
	REFUSED(1, "a pointer is stored", CALL(4), STX(0, 0, 10), RETURN_OK);
	REFUSED(0, "a pointer is stored", INSN(0x63, 10, 1, -8, 0), RETURN_OK);
	REFUSED(0, "a pointer is stored", STX(10, -136, 1), RETURN_OK);
	REFUSED(0, "a pointer is stored", STX(10, 0, 1), RETURN_OK);
	REFUSED(0, "a pointer is stored", STX(10, -12, 1), RETURN_OK);
	REFUSED(0, "used as a number", ALUI(GOAL_BPF_MUL, 1, 2), RETURN_OK);
	REFUSED(0, "used as a number", ALU32I(GOAL_BPF_ADD, 1, 2), RETURN_OK);
	REFUSED(0, "used as a number", INSN(0xbc, 2, 1, 0, 0), RETURN_OK);
	REFUSED(0, "used as a number", INSN(0xdc, 1, 0, 0, 16), RETURN_OK);
	REFUSED(1, "used as a number", MOVI(2, 0), ALU(GOAL_BPF_ADD, 2, 1), RETURN_OK);
	REFUSED(0, "used as a number", JI(GOAL_BPF_JEQ, 1, 0, 0), RETURN_OK);
	REFUSED(1, "used as a number", MOVI(2, 0), J(GOAL_BPF_JEQ, 2, 1, 0), RETURN_OK);
	REFUSED(1, "not constant", LDX(2, 1, 0), ALU(GOAL_BPF_ADD, 1, 2), RETURN_OK);
	REFUSED(1, "not constant", MOV(2, 1), ALU(GOAL_BPF_SUB, 1, 2), RETURN_OK);
	REFUSED(1, "too far", ALUI(GOAL_BPF_ADD, 1, INT32_MAX), ALUI(GOAL_BPF_ADD, 1, INT32_MAX),
		RETURN_OK);
	ACCEPTED(ALUI(GOAL_BPF_ADD, 1, 80), LDX(0, 1, -8), EXIT);
	ACCEPTED(MOVI(2, 72), ALU(GOAL_BPF_ADD, 1, 2), LDX(0, 1, 0), EXIT);
	REFUSED(1, "outside", ALUI(GOAL_BPF_ADD, 1, 80), LDX(0, 1, 0), EXIT);
	REFUSED(1, "outside", ALUI(GOAL_BPF_SUB, 1, 8), LDX(0, 1, 0), EXIT);
	/* Different pointers, or offsets, on two paths. */
	REFUSED(4, "not set", LDX(3, 1, 0), MOV(2, 1), JI(GOAL_BPF_JEQ, 3, 0, 1),
		ALUI(GOAL_BPF_ADD, 2, 8), LDX(0, 2, 0), EXIT);
	REFUSED(4, "not set", LDX(3, 1, 0), MOV(2, 1), JI(GOAL_BPF_JEQ, 3, 0, 1), MOV(2, 10),
		LDX(0, 2, 0), EXIT);
	/* A number on one path is no constant after both. */
	REFUSED(4, "not constant", LDX(3, 1, 0), MOVI(2, 0), JI(GOAL_BPF_JEQ, 3, 0, 1), MOVI(2, 8),
		ALU(GOAL_BPF_ADD, 1, 2), LDX(0, 1, 0), EXIT);
	/* Changed constants are not constants any more. */
	REFUSED(2, "not constant", MOVI(2, 8), ALUI(GOAL_BPF_MUL, 2, 8), ALU(GOAL_BPF_ADD, 1, 2),
		RETURN_OK);
	REFUSED(2, "not constant", MOVI(2, 8), INSN(0xdc, 2, 0, 0, 16), ALU(GOAL_BPF_ADD, 1, 2),
		RETURN_OK);
	REFUSED(2, "not constant", MOVI(2, 8), LDX(2, 1, 0), ALU(GOAL_BPF_ADD, 1, 2), RETURN_OK);
}

static void spilled_pointers(void)
{
	ACCEPTED(STX(10, -8, 1), STX(10, -128, 10), LDX(2, 10, -8), LDX(3, 10, -128), LDX(0, 2, 0),
		 ST(3, -16, 1), EXIT);
	/* It is not read as a number, nor in parts. */
	REFUSED(2, "used as a number", STX(10, -8, 1), LDX(0, 10, -8), EXIT);
	REFUSED(1, "not written", STX(10, -8, 1), LDXB(0, 10, -8), EXIT);
	REFUSED(2, "not written", ST(10, -8, 1), STX(10, -8, 1), LDXB(0, 10, -8), EXIT);
	/* A number takes its place, also a part of it. */
	REFUSED(3, "no pointer", STX(10, -8, 1), ST(10, -8, 1), LDX(2, 10, -8), LDX(0, 2, 0), EXIT);
	REFUSED(2, "not written", STX(10, -8, 1), INSN(0x72, 10, 0, -3, 1), LDX(2, 10, -8),
		RETURN_OK);
	/* It must be the same on all paths. */
	REFUSED(6, "not written", LDX(3, 1, 0), MOV(2, 1), ALUI(GOAL_BPF_ADD, 2, 8), STX(10, -8, 1),
		JI(GOAL_BPF_JEQ, 3, 0, 1), STX(10, -8, 2), LDX(4, 10, -8), RETURN_OK);
	REFUSED(4, "not written", LDX(3, 1, 0), STX(10, -8, 1), JI(GOAL_BPF_JEQ, 3, 0, 1),
		STX(10, -8, 10), LDX(4, 10, -8), RETURN_OK);
	ACCEPTED(LDX(3, 1, 0), STX(10, -8, 1), JI(GOAL_BPF_JEQ, 3, 0, 1), STX(10, -8, 1),
		 LDX(4, 10, -8), RETURN_OK);
}

static void helpers(void)
{
	REFUSED(0, "does not exist", CALL(GOAL_OP_HELPERS), RETURN_OK);
	REFUSED(0, "does not exist", CALL(0), RETURN_OK);
	REFUSED(1, "first argument", MOVI(1, 0), CALL(1), RETURN_OK);
	REFUSED(1, "first argument", ALUI(GOAL_BPF_ADD, 1, 8), CALL(1), RETURN_OK);
	REFUSED(1, "first argument", MOV(1, 10), CALL(1), RETURN_OK);
	REFUSED(1, "used as a number", CALL(1), EXIT);
}

static void divisions(void)
{
	REFUSED(1, "constant zero", MOVI(0, 1), ALUI(GOAL_BPF_DIV, 0, 0), EXIT);
	REFUSED(1, "constant zero", MOVI(0, 1), ALU32I(GOAL_BPF_MOD, 0, 0), EXIT);
	ACCEPTED(MOVI(0, 1), ALUI(GOAL_BPF_DIV, 0, 3), EXIT);
	REFUSED(1, "more bits", MOVI(0, 1), ALUI(GOAL_BPF_LSH, 0, 64), EXIT);
	REFUSED(1, "more bits", MOVI(0, 1), ALU32I(GOAL_BPF_ARSH, 0, 32), EXIT);
	REFUSED(1, "more bits", MOVI(0, 1), ALUI(GOAL_BPF_RSH, 0, -1), EXIT);
	ACCEPTED(MOVI(0, 1), ALUI(GOAL_BPF_LSH, 0, 63), ALU32I(GOAL_BPF_LSH, 0, 31), EXIT);
}

/* Branches that double the paths each time: 13 of them have too many instructions. */
static uint32_t diamonds(struct goal_op_insn *insns, uint32_t count)
{
	const struct goal_op_insn one[] = {JI(GOAL_BPF_JEQ, 3, 0, 1), ALUI(GOAL_BPF_ADD, 0, 1)};
	uint32_t n = 0, i;

	insns[n++] = (struct goal_op_insn)LDX(3, 1, 0);
	insns[n++] = (struct goal_op_insn)MOVI(0, 1);
	for (i = 0; i < count; i++, n += 2)
		memcpy(insns + n, one, sizeof(one));
	insns[n++] = (struct goal_op_insn)EXIT;
	return n;
}

static void costs(void)
{
	static struct goal_op_insn insns[GOAL_OP_MAX_INSNS];
	struct goal_op_prog prog = {insns, 0, ELEM, 1};
	uint32_t n = 0, i;

	prog.num_insns = diamonds(insns, 11);
	CU_ASSERT_TRUE(goal_op_verify(&check, &prog, &verdict));
	prog.num_insns = diamonds(insns, 13);
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.why, "paths"));
	/* 65 jumps over one place, each to another. */
	insns[n++] = (struct goal_op_insn)LDX(3, 1, 0);
	insns[n++] = (struct goal_op_insn)MOVI(0, 1);
	for (i = 0; i <= GOAL_OP_MAX_AHEAD; i++)
		insns[n++] = (struct goal_op_insn)JI(GOAL_BPF_JEQ, 3, (int32_t)i, 80);
	for (i = 0; i < 100; i++)
		insns[n++] = (struct goal_op_insn)MOVI(0, 1);
	insns[n++] = (struct goal_op_insn)EXIT;
	CU_ASSERT_FALSE(verify(insns, n));
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.why, "too many jumps"));
	/* 63 divisions cost 1,008; with the rest of a program of one element 1,024 is the limit. */
	for (i = 0, n = 0; i < 64; i++)
		insns[n++] = (struct goal_op_insn)ALUI(GOAL_BPF_DIV, 0, 3);
	insns[0] = (struct goal_op_insn)MOVI(0, 1);
	insns[n++] = (struct goal_op_insn)EXIT;
	prog.num_insns = n;
	CU_ASSERT_TRUE(goal_op_verify(&check, &prog, &verdict));
	CU_ASSERT_EQUAL(verdict.cost, 1 + 63 * 16 + 1);
	insns[n - 1] = (struct goal_op_insn)ALUI(GOAL_BPF_DIV, 0, 3);
	insns[n++] = (struct goal_op_insn)EXIT;
	prog.num_insns = n;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.why, "too long"));
	prog.block = 2;
	CU_ASSERT_TRUE(goal_op_verify(&check, &prog, &verdict));
	/* 600 divisions are too many for any block. */
	for (i = 1, n = 1; i < 600; i++)
		insns[n++] = (struct goal_op_insn)ALUI(GOAL_BPF_DIV, 0, 3);
	insns[n++] = (struct goal_op_insn)EXIT;
	prog.num_insns = n;
	prog.block = 512;
	CU_ASSERT_FALSE(goal_op_verify(&check, &prog, &verdict));
	/* The dearest path counts, on whichever side of a branch it lies. */
	ACCEPTED(LDX(0, 1, 0), JI(GOAL_BPF_JEQ, 0, 0, 1), ALUI(GOAL_BPF_DIV, 0, 3), EXIT);
	CU_ASSERT_EQUAL(verdict.cost, 1 + 1 + 16 + 1);
}

#define FLOATS(what, r, x, y) IMM64(2, what), IMM64(3, r), IMM64(4, x), IMM64(5, y), CALL(5)
#define A(o, s)               GOAL_OP_VEC(GOAL_OP_BUF_A, o, s)
#define B(o, s)               GOAL_OP_VEC(GOAL_OP_BUF_B, o, s)
#define R(o, s)               GOAL_OP_VEC(GOAL_OP_BUF_RESULT, o, s)
#define ARGS(o, s)            GOAL_OP_VEC(GOAL_OP_BUF_ARGS, o, s)
#define ADD64(n)              GOAL_OP_WHAT(GOAL_LOCAL_ADD, 64, n)

static void float_arguments(void)
{
	ACCEPTED(FLOATS(ADD64(8), R(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	CU_ASSERT_FALSE(verdict.uses_work);
	ACCEPTED(FLOATS(ADD64(8), GOAL_OP_VEC(GOAL_OP_BUF_WORK, 0, 1), A(0, 1), B(0, 1)),
		 RETURN_OK);
	CU_ASSERT_TRUE(verdict.uses_work);
	ACCEPTED(FLOATS(ADD64(4), R(8, 2), A(8, 2), ARGS(56, 0)), RETURN_OK);
	ACCEPTED(FLOATS(GOAL_OP_WHAT(GOAL_LOCAL_MUL, 32, 16), R(0, 1), R(0, 1), A(60, 0)),
		 RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(9), R(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(8, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 1), A(1, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 1), A(0, 1), B(0, 2)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 1), A(0, 1), ARGS(57, 0)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(0), R(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), A(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), ARGS(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 0), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 1), GOAL_OP_VEC(5, 0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8) | UINT64_C(1) << 32, R(0, 1), A(0, 1), B(0, 1)),
		RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(8), R(0, 1), A(0, 1), B(0, 1) | UINT64_C(1) << 32),
		RETURN_OK);
	REFUSED(8, "vectors",
		FLOATS(GOAL_OP_WHAT(GOAL_LOCAL_XOR, 64, 8), R(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors",
		FLOATS(GOAL_OP_WHAT(GOAL_LOCAL_ADD, 16, 8), R(0, 1), A(0, 1), B(0, 1)), RETURN_OK);
	/* The result overlaps an operand that is not the same vector. */
	REFUSED(8, "vectors", FLOATS(ADD64(4), R(8, 1), R(0, 1), B(0, 1)), RETURN_OK);
	REFUSED(8, "vectors", FLOATS(ADD64(4), R(0, 1), A(0, 1), R(24, 0)), RETURN_OK);
	ACCEPTED(FLOATS(ADD64(4), R(32, 1), R(0, 1), R(24, 0)), RETURN_OK);
	REFUSED(7, "not constant", LDX(2, 1, 0), IMM64(3, R(0, 1)), IMM64(4, A(0, 1)),
		IMM64(5, B(0, 1)), CALL(5), RETURN_OK);
}

/* ---- programs that run ----------------------------------------------------------------------- */

struct buffers {
	uint8_t *buf[4];
	struct goal_op_call call;
};

/* Exact blocks of the heap, so that an access outside is seen. */
static void fill(struct buffers *b, uint32_t bytes, uint32_t block, uint32_t elem)
{
	uint32_t i, k;

	memset(&b->call, 0, sizeof(b->call));
	b->call.view.count = block;
	b->call.view.elem_bytes = elem;
	b->call.view.block = block;
	for (i = 0; i < sizeof(b->call.view.args); i++)
		b->call.view.args[i] = (uint8_t)(i * 5 + 1);
	for (i = 0; i < 4; i++) {
		b->buf[i] = malloc(bytes);
		for (k = 0; k < bytes; k++)
			b->buf[i][k] = i == 3 ? 0 : (uint8_t)(k * 7 + i * 13 + 1);
		b->call.buf[i] = b->buf[i];
	}
}

static void drop(struct buffers *b)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		free(b->buf[i]);
}

#define RESULT_OF(...)                                                                             \
	({                                                                                         \
		const struct goal_op_insn prog_[] = {__VA_ARGS__};                                 \
		struct buffers b_;                                                                 \
		uint64_t r_;                                                                       \
                                                                                                   \
		CU_ASSERT_TRUE_FATAL(verify(prog_, sizeof(prog_) / sizeof(prog_[0])));             \
		fill(&b_, BYTES, BLOCK, ELEM);                                                     \
		r_ = goal_op_exec(prog_, &b_.call);                                                \
		drop(&b_);                                                                         \
		r_;                                                                                \
	})

static void arithmetic(void)
{
	const uint64_t x = UINT64_C(0x8123456789abcdef), y = UINT64_C(0x00fedcba98765432);

#define BOTH(op, wide, narrow)                                                                     \
	do {                                                                                       \
		CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), IMM64(2, y), ALU(op, 0, 2), EXIT), wide);   \
		CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), IMM64(2, y), ALU32(op, 0, 2), EXIT),        \
				(uint32_t)(narrow));                                               \
	} while (0)
	BOTH(GOAL_BPF_ADD, x + y, x + y);
	BOTH(GOAL_BPF_SUB, x - y, x - y);
	BOTH(GOAL_BPF_MUL, x * y, x * y);
	BOTH(GOAL_BPF_DIV, x / y, (uint32_t)x / (uint32_t)y);
	BOTH(GOAL_BPF_MOD, x % y, (uint32_t)x % (uint32_t)y);
	BOTH(GOAL_BPF_OR, x | y, x | y);
	BOTH(GOAL_BPF_AND, x & y, x & y);
	BOTH(GOAL_BPF_XOR, x ^ y, x ^ y);
	BOTH(GOAL_BPF_LSH, x << (y & 63), x << (y & 31));
	BOTH(GOAL_BPF_RSH, x >> (y & 63), (uint32_t)x >> (y & 31));
	BOTH(GOAL_BPF_ARSH, (uint64_t)((int64_t)x >> (y & 63)), (int32_t)x >> (y & 31));
	BOTH(GOAL_BPF_MOV, y, y);
	CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), INSN(0x87, 0, 0, 0, 0), EXIT), 0 - x);
	CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), INSN(0x84, 0, 0, 0, 0), EXIT), (uint32_t)(0 - x));
	CU_ASSERT_EQUAL(RESULT_OF(MOVI(0, -1), EXIT), UINT64_MAX);
	CU_ASSERT_EQUAL(RESULT_OF(INSN(0xb4, 0, 0, 0, -1), EXIT), UINT32_MAX);
	CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), INSN(0xdc, 0, 0, 0, 64), EXIT),
			__builtin_bswap64(x));
	CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), INSN(0xdc, 0, 0, 0, 16), EXIT), 0xefcd);
	CU_ASSERT_EQUAL(RESULT_OF(IMM64(0, x), INSN(0xd4, 0, 0, 0, 32), EXIT), (uint32_t)x);
	/* A zero that is not known before ends the program. */
	CU_ASSERT_EQUAL(RESULT_OF(MOVI(0, 7), LDX(2, 1, 0), ALUI(GOAL_BPF_SUB, 2, BLOCK),
				  ALU(GOAL_BPF_DIV, 0, 2), MOVI(0, 1), EXIT),
			GOAL_OP_ZERO_DIVISION);
	CU_ASSERT_EQUAL(RESULT_OF(MOVI(0, 7), LDX(2, 1, 0), ALUI(GOAL_BPF_SUB, 2, BLOCK),
				  ALU32(GOAL_BPF_MOD, 0, 2), MOVI(0, 1), EXIT),
			GOAL_OP_ZERO_DIVISION);
}

static void comparisons(void)
{
	static const int32_t values[] = {-2, 0, 3};
	uint32_t i, k;

	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++) {
			const int64_t x = values[i], y = values[k];
			const uint64_t u = (uint64_t)x, v = (uint64_t)y;

#define TAKEN(op)                                                                                  \
	RESULT_OF(MOVI(2, values[i]), MOVI(3, values[k]), MOVI(0, 1), J(op, 2, 3, 1), MOVI(0, 0),  \
		  EXIT)
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JEQ), u == v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JNE), u != v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JGT), u > v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JGE), u >= v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JLT), u < v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JLE), u <= v);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JSGT), x > y);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JSGE), x >= y);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JSLT), x < y);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JSLE), x <= y);
			CU_ASSERT_EQUAL(TAKEN(GOAL_BPF_JSET), (u & v) != 0);
		}
}

static void blocks(void)
{
	const struct goal_op_insn sum[] = {
	    BUFFERS,      LDX(1, 7, 8),   LDX(2, 8, 8),  ALU(GOAL_BPF_ADD, 1, 2),
	    STX(9, 8, 1), LDXB(3, 6, 16), STXB(9, 0, 3), RETURN_OK};
	struct buffers b;
	uint64_t x, y, r;

	CU_ASSERT_TRUE_FATAL(verify(sum, sizeof(sum) / sizeof(sum[0])));
	fill(&b, BYTES, BLOCK, ELEM);
	CU_ASSERT_EQUAL(goal_op_exec(sum, &b.call), GOAL_OP_OK);
	memcpy(&x, b.buf[0] + 8, 8);
	memcpy(&y, b.buf[1] + 8, 8);
	memcpy(&r, b.buf[2] + 8, 8);
	CU_ASSERT_EQUAL(r, x + y);
	CU_ASSERT_EQUAL(b.buf[2][0], b.call.view.args[0]);
	drop(&b);
}

static void floats(void)
{
	const struct goal_op_insn prog[] = {
	    FLOATS(GOAL_OP_WHAT(GOAL_LOCAL_MUL, 64, 8), R(0, 1), A(0, 1), ARGS(8, 0)), MOV(1, 6),
	    FLOATS(GOAL_OP_WHAT(GOAL_LOCAL_SUB, 64, 4), R(0, 2), R(0, 2), B(8, 2)), RETURN_OK};
	struct goal_op_insn insns[1 + sizeof(prog) / sizeof(prog[0])] = {MOV(6, 1)};
	const double factor = 2.5;
	struct buffers b;
	uint32_t i;

	memcpy(insns + 1, prog, sizeof(prog));
	CU_ASSERT_TRUE_FATAL(verify(insns, sizeof(insns) / sizeof(insns[0])));
	fill(&b, BYTES, BLOCK, ELEM);
	memcpy(b.call.view.args + 8, &factor, 8);
	for (i = 0; i < 2 * BLOCK; i++) {
		const double v = (double)i - 5;

		memcpy(b.buf[i / BLOCK] + i % BLOCK * 8, &v, 8);
	}
	CU_ASSERT_EQUAL(goal_op_exec(insns, &b.call), GOAL_OP_OK);
	for (i = 0; i < BLOCK; i++) {
		double v, want = ((double)i - 5) * factor;

		if (i % 2 == 0)
			want -= (double)(i + 1 + BLOCK) - 5;
		memcpy(&v, b.buf[2] + (size_t)i * 8, 8);
		CU_ASSERT_EQUAL(v, want);
	}
	drop(&b);
}

UT_MAIN("nic_fw/coll/goal_op", UT(sizes), UT(codes), UT(unused_fields), UT(flow), UT(registers),
	UT(memory), UT(the_stack), UT(pointers), UT(spilled_pointers), UT(helpers), UT(divisions),
	UT(moved_pointers), UT(costs), UT(float_arguments), UT(arithmetic), UT(comparisons),
	UT(blocks), UT(floats))
