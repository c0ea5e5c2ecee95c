/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of users: eBPF programs that the NIC runs on blocks of elements.
 *
 * A program is a function of one argument, a pointer to struct goal_op_view. Each call handles one
 * block: as many elements as the operation was registered with, of which the first `count` are
 * wanted. It fetches pointers to its buffers from helpers, and returns GOAL_OP_OK. There are no
 * loops: the program is the body of a loop that the NIC runs. nic_fw/coll/goal_op_verify.c has the
 * rules. Instructions are those of eBPF (RFC 9669), without atomics, JMP32, maps and subprograms.
 *
 * Also compiled for BPF itself (host_driver/goal/goal_bpf.h). docs/user-ops.md.
 */
#ifndef WEFT_GOAL_OP_H
#define WEFT_GOAL_OP_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GOAL_OP_MAX_INSNS = 1024,       /* slots of 8 bytes */
	GOAL_OP_ARGS_BYTES = 64,        /* of the user, the same in every call */
	GOAL_OP_STACK_BYTES = 512,      /* below r10 */
	GOAL_OP_MAX_ELEM_BYTES = 64,    /* 1 to 64 */
	GOAL_OP_MAX_BLOCK_BYTES = 4096, /* elements of a call times their bytes */
	GOAL_OP_MAX_COST = 8192,        /* of a call: see goal_op_verify.c */
	GOAL_OP_MAX_ELEM_COST = 1024,   /* of a call, for each element of the block */
	/* Instructions of all paths together, as a verifier that follows each path visits them. */
	GOAL_OP_MAX_VISITS = 16384,
	GOAL_OPS_PER_COMM = 16,
};

/* Results of a program. All others end the run with HW_GOAL_USER_OP. */
enum {
	GOAL_OP_ZERO_DIVISION = 0, /* also: a division by zero ends the program with it */
	GOAL_OP_OK = 1,
};

/* The argument of a program; read only. */
struct goal_op_view {
	uint64_t count; /* wanted elements of the block; all but the last block: all */
	uint32_t elem_bytes;
	uint32_t block; /* elements of a whole block */
	uint8_t args[GOAL_OP_ARGS_BYTES];
};
static_assert(sizeof(struct goal_op_view) == 80, "docs/user-ops.md");

/*
 * Helpers, by the number in the call instruction. The first argument of each is the program's
 * argument. Pointers are to a whole block.
 */
enum goal_op_helper {
	GOAL_OP_HELPER_A = 1,      /* first operand; read only */
	GOAL_OP_HELPER_B = 2,      /* second operand; read only */
	GOAL_OP_HELPER_RESULT = 3, /* result */
	GOAL_OP_HELPER_WORK = 4,   /* work space, zero when the program starts */
	/* (view, what, result, x, y): arithmetic on vectors of floats; constant arguments. */
	GOAL_OP_HELPER_FLOATS = 5,
	GOAL_OP_HELPERS
};

/* Memory that GOAL_OP_HELPER_FLOATS names. */
enum goal_op_buf {
	GOAL_OP_BUF_A = 0,
	GOAL_OP_BUF_B = 1,
	GOAL_OP_BUF_RESULT = 2,
	GOAL_OP_BUF_WORK = 3,
	GOAL_OP_BUF_ARGS = 4,
	GOAL_OP_BUFS
};

/*
 * A vector: byte offset in the buffer, buffer, distance of its elements in elements. Distance 0:
 * the same element each time; not for results.
 */
#define GOAL_OP_VEC(buf, offset, stride)                                                           \
	((uint64_t)(offset) | (uint64_t)(buf) << 16 | (uint64_t)(stride) << 24)
#define GOAL_OP_VEC_OFFSET(vec) ((uint32_t)((vec)&0xffff))
#define GOAL_OP_VEC_BUF(vec)    ((uint32_t)((vec) >> 16) & 0xff)
#define GOAL_OP_VEC_STRIDE(vec) ((uint32_t)((vec) >> 24) & 0xff)
/* op: GOAL_LOCAL_ADD, SUB, MUL, DIV, MAX, MIN, COPY; bits: 32 or 64. */
#define GOAL_OP_WHAT(op, bits, count)                                                              \
	((uint64_t)(op) | (uint64_t)(bits) << 8 | (uint64_t)(count) << 16)
#define GOAL_OP_WHAT_OP(what)    ((uint32_t)((what)&0xff))
#define GOAL_OP_WHAT_BITS(what)  ((uint32_t)((what) >> 8) & 0xff)
#define GOAL_OP_WHAT_COUNT(what) ((uint32_t)((what) >> 16) & 0xffff)

/* Section `NAME.op` of an object file; the program is the section `NAME`. */
struct goal_op_shape {
	uint32_t magic; /* GOAL_OP_MAGIC */
	uint32_t elem_bytes;
	uint32_t block; /* elements of a call */
	uint32_t reserved;
};
#define GOAL_OP_MAGIC 0x31504f57u /* "WOP1" */

/* An instruction, as in an object file for BPF. */
struct goal_op_insn {
	uint8_t code;
	uint8_t regs; /* destination in the low half, source in the high half */
	int16_t off;
	int32_t imm;
};
static_assert(sizeof(struct goal_op_insn) == 8, "RFC 9669, 3");

/* The low three bits of a code are its class. */
enum {
	GOAL_BPF_LD = 0x00,
	GOAL_BPF_LDX = 0x01,
	GOAL_BPF_ST = 0x02,
	GOAL_BPF_STX = 0x03,
	GOAL_BPF_ALU32 = 0x04,
	GOAL_BPF_JMP = 0x05,
	GOAL_BPF_ALU64 = 0x07,
	GOAL_BPF_CLASS = 0x07,
	GOAL_BPF_LD_IMM64 = 0x18, /* two slots */
	GOAL_BPF_MEM = 0x60,
	GOAL_BPF_X = 0x08, /* the operand is a register; END: to big endian */
	GOAL_BPF_OP = 0xf0,
	GOAL_BPF_REGS = 11,
	GOAL_BPF_FP = 10,
};

/* Upper half of a code of ALU32 and ALU64. */
enum {
	GOAL_BPF_ADD = 0x00,
	GOAL_BPF_SUB = 0x10,
	GOAL_BPF_MUL = 0x20,
	GOAL_BPF_DIV = 0x30,
	GOAL_BPF_OR = 0x40,
	GOAL_BPF_AND = 0x50,
	GOAL_BPF_LSH = 0x60,
	GOAL_BPF_RSH = 0x70,
	GOAL_BPF_NEG = 0x80,
	GOAL_BPF_MOD = 0x90,
	GOAL_BPF_XOR = 0xa0,
	GOAL_BPF_MOV = 0xb0,
	GOAL_BPF_ARSH = 0xc0,
	GOAL_BPF_END = 0xd0,
};

/* Upper half of a code of JMP. */
enum {
	GOAL_BPF_JA = 0x00,
	GOAL_BPF_JEQ = 0x10,
	GOAL_BPF_JGT = 0x20,
	GOAL_BPF_JGE = 0x30,
	GOAL_BPF_JSET = 0x40,
	GOAL_BPF_JNE = 0x50,
	GOAL_BPF_JSGT = 0x60,
	GOAL_BPF_JSGE = 0x70,
	GOAL_BPF_CALL = 0x80,
	GOAL_BPF_EXIT = 0x90,
	GOAL_BPF_JLT = 0xa0,
	GOAL_BPF_JLE = 0xb0,
	GOAL_BPF_JSLT = 0xc0,
	GOAL_BPF_JSLE = 0xd0,
};

#endif /* WEFT_GOAL_OP_H */
