/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter of users' operations.
 *
 * Runs verified programs alone (goal_op_verify.c), so that it checks nothing but divisors. Calls
 * the helpers. Shifts use the low bits of their distance; 32-bit operations clear the upper half; a
 * division by zero ends the program with GOAL_OP_ZERO_DIVISION, as in DPDK's compiler. RFC 9669, 4.
 */
#include "nic_fw/coll/goal_op.h"

#include <string.h>

static uint64_t load(uint8_t code, const uint8_t *at)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t d;
	} v;

	switch (code & 0x18) {
	case 0x00:
		memcpy(&v.w, at, 4);
		return v.w;
	case 0x08:
		memcpy(&v.h, at, 2);
		return v.h;
	case 0x10:
		return *at;
	default:
		memcpy(&v.d, at, 8);
		return v.d;
	}
}

static void store(uint8_t code, uint8_t *at, uint64_t value)
{
	static const uint8_t bytes[4] = {4, 2, 1, 8};

	/* The low bytes of the value come first: weft's machines are little-endian. */
	memcpy(at, &value, bytes[code >> 3 & 3]);
}

static uint64_t swap(uint8_t code, int32_t bits, uint64_t value)
{
	bool big = code & GOAL_BPF_X;

	switch (bits) {
	case 16:
		return big ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;
	case 32:
		return big ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
	default:
		return big ? __builtin_bswap64(value) : value;
	}
}

/* Operations that are alike on both widths but for the width itself; d was checked for division. */
static uint64_t arith(uint8_t op, uint64_t n, uint64_t d, uint32_t mask)
{
	switch (op) {
	case GOAL_BPF_ADD:
		return n + d;
	case GOAL_BPF_SUB:
		return n - d;
	case GOAL_BPF_MUL:
		return n * d;
	case GOAL_BPF_DIV:
		return n / d;
	case GOAL_BPF_MOD:
		return n % d;
	case GOAL_BPF_OR:
		return n | d;
	case GOAL_BPF_AND:
		return n & d;
	case GOAL_BPF_XOR:
		return n ^ d;
	case GOAL_BPF_LSH:
		return n << (d & mask);
	case GOAL_BPF_RSH:
		return n >> (d & mask);
	case GOAL_BPF_NEG:
		return 0 - n;
	default:
		return d; /* MOV */
	}
}

/* False: a division by zero. */
static bool alu(const struct goal_op_insn *in, uint64_t *dst, uint64_t operand)
{
	uint8_t op = in->code & GOAL_BPF_OP;
	bool wide = (in->code & GOAL_BPF_CLASS) == GOAL_BPF_ALU64;
	uint64_t n = *dst;

	if (op == GOAL_BPF_END) {
		*dst = swap(in->code, in->imm, n);
		return true;
	}
	if (!wide) {
		n = (uint32_t)n;
		operand = (uint32_t)operand;
	}
	if ((op == GOAL_BPF_DIV || op == GOAL_BPF_MOD) && !operand)
		return false;
	if (op == GOAL_BPF_ARSH && wide)
		n = (uint64_t)((int64_t)n >> (operand & 63));
	else if (op == GOAL_BPF_ARSH)
		n = (uint64_t)((int32_t)n >> (operand & 31));
	else
		n = arith(op, n, operand, wide ? 63 : 31);
	*dst = wide ? n : (uint32_t)n;
	return true;
}

static bool jumps(uint8_t op, uint64_t x, uint64_t y)
{
	switch (op) {
	case GOAL_BPF_JEQ:
		return x == y;
	case GOAL_BPF_JGT:
		return x > y;
	case GOAL_BPF_JGE:
		return x >= y;
	case GOAL_BPF_JSET:
		return x & y;
	case GOAL_BPF_JNE:
		return x != y;
	case GOAL_BPF_JSGT:
		return (int64_t)x > (int64_t)y;
	case GOAL_BPF_JSGE:
		return (int64_t)x >= (int64_t)y;
	case GOAL_BPF_JLT:
		return x < y;
	case GOAL_BPF_JLE:
		return x <= y;
	case GOAL_BPF_JSLT:
		return (int64_t)x < (int64_t)y;
	case GOAL_BPF_JSLE:
		return (int64_t)x <= (int64_t)y;
	default:
		return true; /* JA */
	}
}

static uint8_t *address(uint64_t reg, int16_t off)
{
	return (uint8_t *)(uintptr_t)(reg + (uint64_t)(int64_t)off);
}

uint64_t goal_op_exec(const struct goal_op_insn *insns, struct goal_op_call *call)
{
	_Alignas(8) uint8_t stack[GOAL_OP_STACK_BYTES];
	uint64_t r[16] = {0};
	const struct goal_op_insn *in;

	r[1] = (uintptr_t)&call->view;
	r[GOAL_BPF_FP] = (uintptr_t)(stack + sizeof(stack));
	for (in = insns;; in++) {
		uint64_t *dst = &r[in->regs & 15];
		uint64_t src = r[in->regs >> 4];
		uint64_t operand = in->code & GOAL_BPF_X ? src : (uint64_t)(int64_t)in->imm;

		switch (in->code & GOAL_BPF_CLASS) {
		case GOAL_BPF_LD:
			*dst = (uint32_t)in->imm | (uint64_t)(uint32_t)in[1].imm << 32;
			in++;
			break;
		case GOAL_BPF_LDX:
			*dst = load(in->code, address(src, in->off));
			break;
		case GOAL_BPF_ST:
			store(in->code, address(*dst, in->off), (uint64_t)(int64_t)in->imm);
			break;
		case GOAL_BPF_STX:
			store(in->code, address(*dst, in->off), src);
			break;
		case GOAL_BPF_JMP:
			if ((in->code & GOAL_BPF_OP) == GOAL_BPF_EXIT)
				return r[0];
			if ((in->code & GOAL_BPF_OP) == GOAL_BPF_CALL)
				r[0] = goal_op_helpers[in->imm](r[1], r[2], r[3], r[4], r[5]);
			else if (jumps(in->code & GOAL_BPF_OP, *dst, operand))
				in += in->off;
			break;
		default:
			if (!alu(in, dst, operand))
				return GOAL_OP_ZERO_DIVISION;
			break;
		}
	}
}
