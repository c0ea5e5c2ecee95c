/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled operations of users: random programs give the same results compiled as interpreted; what
 * the verifier refuses is not compiled; a user has a share of the places; without the compiler
 * nothing is compiled.
 */
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/native.h"
#include "tests/fuzz/opgen.h"
#include "tests/ut.h"

enum {
	PROGRAMS = 3000,
};

static uint64_t state = 5;

static uint8_t random_byte(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint8_t)(state >> 56);
}

static void fill(struct goal_op_call *call, uint8_t *blocks, uint32_t bytes)
{
	uint32_t i, k;

	memset(call, 0, sizeof(*call));
	for (i = 0; i < 4; i++) {
		call->buf[i] = blocks + (size_t)i * bytes;
		for (k = 0; k < bytes; k++)
			call->buf[i][k] = i == 3 ? 0 : (uint8_t)(k * 37 + i * 91);
	}
	call->view.count = 3;
}

/* Divisions, shifts by a register and JSET are left to the interpreter (native.c). */
static bool is_left(const struct goal_op_insn *in)
{
	uint8_t class = in->code & GOAL_BPF_CLASS, op = in->code & GOAL_BPF_OP;

	if (class == GOAL_BPF_JMP)
		return op == GOAL_BPF_JSET;
	return (class == GOAL_BPF_ALU32 || class == GOAL_BPF_ALU64) &&
	       (op == GOAL_BPF_DIV || op == GOAL_BPF_MOD ||
		(in->code & GOAL_BPF_X &&
		 (op == GOAL_BPF_LSH || op == GOAL_BPF_RSH || op == GOAL_BPF_ARSH)));
}

static void compiled_as_interpreted(void)
{
	static struct opgen gen;
	uint8_t data[OPGEN_HEAD + 8 * 60], *blocks = malloc(8 * 4096);
	uint32_t i, k, bytes, compared = 0;

	for (i = 0; i < PROGRAMS; i++) {
		struct fw_cmd_aux aux = {0};
		struct goal_op_call call;
		uint64_t value;

		for (k = 0; k < sizeof(data); k++)
			data[k] = random_byte();
		data[3] = 1;
		CU_ASSERT_TRUE_FATAL(opgen_make(&gen, data, OPGEN_HEAD + 8 * (1 + i % 60)));
		for (k = 19; k < gen.prog.num_insns && i % 8; k++)
			if (is_left(&gen.insns[k]))
				gen.insns[k] = opgen_insn(0xb7, 1, 0, 0, 0);
		native_new(&gen.prog, 0, &aux);
		if (!aux.native)
			continue;
		compared++;
		bytes = gen.prog.block * gen.prog.elem_bytes;
		fill(&call, blocks, bytes);
		value = goal_op_exec(gen.insns, &call);
		fill(&call, blocks + 4 * 4096, bytes);
		CU_ASSERT_EQUAL(aux.native(&call), value);
		CU_ASSERT_FALSE(memcmp(blocks, blocks + 4 * 4096, 4 * (size_t)bytes));
		native_free(aux.native_handle);
	}
	CU_ASSERT_TRUE(compared > PROGRAMS / 4);
	CU_ASSERT_EQUAL(native_count(), 0);
	free(blocks);
}

static const struct goal_op_insn nothing[] = {{0xb7, 0, 0, 1}, {0x95, 0, 0, 0}};
static const struct goal_op_prog small = {nothing, 2, 8, 1};

static void what_is_refused_is_not_compiled(void)
{
	const struct goal_op_insn wild[] = {{0x79, 0 | 2 << 4, 0, 0}, {0x95, 0, 0, 0}};
	const struct goal_op_prog prog = {wild, 2, 8, 1};
	struct fw_cmd_aux aux = {0};

	native_new(&prog, 0, &aux);
	CU_ASSERT_PTR_NULL(aux.native);
	native_new(&small, 0, &aux);
	CU_ASSERT_PTR_NOT_NULL_FATAL(aux.native);
	CU_ASSERT_EQUAL(aux.native(&aux), 1);
	native_free(aux.native_handle);
}

static void shares(void)
{
	static struct fw_cmd_aux aux[NATIVE_SLOTS];
	uint32_t i, first = 0, second = 0;

	for (i = 0; i < NATIVE_SLOTS; i++) {
		native_new(&small, 7, &aux[i]);
		first += aux[i].native != NULL;
	}
	CU_ASSERT_EQUAL(first, NATIVE_SLOTS / 4 * 3);
	for (i = first; i < NATIVE_SLOTS; i++) {
		native_new(&small, 8, &aux[i]);
		second += aux[i].native != NULL;
	}
	CU_ASSERT_EQUAL(second, NATIVE_SLOTS - first);
	for (i = 0; i < NATIVE_SLOTS; i++)
		native_free(aux[i].native_handle);
	CU_ASSERT_EQUAL(native_count(), 0);
}

static void without_the_compiler(void)
{
	struct fw_cmd_aux aux = {0};

	native_init(-1, NULL);
	native_new(&small, 0, &aux);
	CU_ASSERT_PTR_NULL(aux.native);
	CU_ASSERT_PTR_NULL(aux.native_handle);
}

static void begin(void)
{
	native_start(true);
}

UT_MAIN("dpdk_app/native", UT(begin), UT(compiled_as_interpreted),
	UT(what_is_refused_is_not_compiled), UT(shares), UT(without_the_compiler))
