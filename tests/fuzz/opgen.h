/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of users' operations out of bytes: raw, or with each instruction made one that exists,
 * so that many of them are accepted. For the fuzz target `ops` and for the comparison of compiled
 * programs with interpreted ones (tests/dpdk_app/native_ut.c).
 */
#ifndef WEFT_TESTS_FUZZ_OPGEN_H
#define WEFT_TESTS_FUZZ_OPGEN_H

#include <stdbool.h>
#include <string.h>

#include "nic_fw/coll/goal_op.h"

enum {
	OPGEN_HEAD = 4, /* bytes of an input before its instructions */
};

struct opgen {
	struct goal_op_insn insns[GOAL_OP_MAX_INSNS];
	struct goal_op_prog prog;
};

static inline struct goal_op_insn opgen_insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off,
					     int32_t imm)
{
	return (struct goal_op_insn){code, (uint8_t)(dst | src << 4), off, imm};
}

/* Pointers to the buffers in r6 to r9, numbers in r0 to r5. */
static inline uint32_t opgen_prologue(struct goal_op_insn *in)
{
	uint32_t i, n = 0;

	in[n++] = opgen_insn(0x7b, 10, 1, -8, 0);
	for (i = 1; i <= 4; i++) {
		in[n++] = opgen_insn(0x79, 1, 10, -8, 0);
		in[n++] = opgen_insn(0x85, 0, 0, 0, (int32_t)i);
		in[n++] = opgen_insn(0xbf, (uint8_t)(5 + i), 0, 0, 0);
	}
	for (i = 0; i <= 5; i++)
		in[n++] = opgen_insn(0x79, (uint8_t)i, (uint8_t)(6 + i % 3), 0, 0);
	return n;
}

/* An instruction that exists, on registers that hold what it needs, mostly. */
static inline struct goal_op_insn opgen_sane(const uint8_t raw[8], uint32_t block_bytes)
{
	static const uint8_t ops[] = {0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
				      0x70, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0};
	static const uint8_t jumps[] = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
					0x70, 0xa0, 0xb0, 0xc0, 0xd0};
	static const uint8_t sizes[] = {0x00, 0x08, 0x10, 0x18};
	static const uint8_t bytes[] = {4, 2, 1, 8};
	uint8_t dst = raw[1] % 6, src = raw[2] % 6, size = raw[3] % 4, op;
	uint32_t words = block_bytes / bytes[size];
	int16_t off = (int16_t)(words ? raw[4] % words * bytes[size] : 0);
	int32_t imm;

	memcpy(&imm, raw + 4, sizeof(imm));
	switch (raw[0] % 8) {
	case 0:
		return opgen_insn((uint8_t)(0x61 | sizes[size]), dst, (uint8_t)(6 + raw[5] % 4),
				  off, 0);
	case 1:
		return opgen_insn((uint8_t)(0x63 | sizes[size]), (uint8_t)(8 + raw[5] % 2), src,
				  off, 0);
	case 2:
		return opgen_insn((uint8_t)(0x62 | sizes[size]), (uint8_t)(8 + raw[5] % 2), 0, off,
				  imm);
	case 3:
		op = jumps[raw[3] % sizeof(jumps)];
		return raw[5] & 1 ? opgen_insn((uint8_t)(op | 0x0d), dst, src, raw[4] % 4, 0)
				  : opgen_insn((uint8_t)(op | 0x05), dst, 0, raw[4] % 4,
					       raw[6] & 1 ? imm : raw[7] % 4);
	default:
		op = ops[raw[3] % sizeof(ops)];
		if (op == 0xd0)
			return opgen_insn((uint8_t)(0xd4 | (raw[5] & 8)), dst, 0, 0,
					  16 << raw[4] % 3);
		if (op == 0x80)
			return opgen_insn(raw[5] & 1 ? 0x87 : 0x84, dst, 0, 0, 0);
		op |= raw[5] & 1 ? 0x07 : 0x04;
		if (raw[5] & 2)
			return opgen_insn(op | 0x08, dst, src, 0, 0);
		/* Shifts have short distances. */
		return opgen_insn(op, dst, 0, 0,
				  raw[3] % sizeof(ops) == 6 || raw[3] % sizeof(ops) == 7 ||
					  raw[3] % sizeof(ops) == 12
				      ? raw[4] % 33
				      : imm);
	}
}

/* Makes a program of an input. False: there is none in it. */
static inline bool opgen_make(struct opgen *gen, const uint8_t *data, size_t bytes)
{
	size_t i, num = bytes < OPGEN_HEAD ? 0 : (bytes - OPGEN_HEAD) / 8;
	uint32_t n = 0;

	if (!num)
		return false;
	gen->prog.insns = gen->insns;
	gen->prog.elem_bytes = data[0];
	gen->prog.block = data[1] | (uint32_t)(data[2] & 15) << 8;
	if (data[3] & 1) {
		gen->prog.elem_bytes = 8;
		gen->prog.block = 1 + data[1] % 32;
		n = opgen_prologue(gen->insns);
	}
	for (i = 0; i < num && n < GOAL_OP_MAX_INSNS - 6; i++, n++) {
		if (data[3] & 1)
			gen->insns[n] = opgen_sane(data + OPGEN_HEAD + 8 * i,
						   gen->prog.block * gen->prog.elem_bytes);
		else
			memcpy(&gen->insns[n], data + OPGEN_HEAD + 8 * i, 8);
	}
	if (data[3] & 1) {
		/* Jumps of the last instructions end here. */
		for (i = 0; i < 4; i++)
			gen->insns[n++] = opgen_insn(0xbf, 1, 0, 0, 0);
		gen->insns[n++] = opgen_insn(0x95, 0, 0, 0, 0);
	}
	gen->prog.num_insns = n;
	return true;
}

#endif /* WEFT_TESTS_FUZZ_OPGEN_H */
