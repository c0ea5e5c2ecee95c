/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of users: eBPF programs in local operations.
 *
 *	goal_op_verify.c	checks a program before its first use
 *	goal_op_exec.c		the interpreter, for ports without a compiler of their own
 *	goal_op_floats.c	helpers of programs
 *	goal_op.c		the operations of a communicator: the command, their end
 *	goal_op_local.c		local operations that use them
 *
 * The verifier, the interpreter and the helpers keep no state: a port may call them on any thread,
 * as weftd does before it compiles a program. docs/user-ops.md.
 */
#ifndef WEFT_FW_GOAL_OP_H
#define WEFT_FW_GOAL_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/goal_op.h"

enum {
	/* Targets of jumps that lie ahead at one place of a program. */
	GOAL_OP_MAX_AHEAD = 64,
	GOAL_OP_STACK_WORDS = GOAL_OP_STACK_BYTES / 64,
	GOAL_OP_SPILLS = 16, /* words below r10 that may keep pointers */
	/* Work of a step, in units of goal_op_verify.c: compiled, and interpreted. */
	GOAL_OP_NATIVE_COST = 65536,
	GOAL_OP_INTERPRETED_COST = 8192,
};

/* A program and its shape. */
struct goal_op_prog {
	const struct goal_op_insn *insns;
	uint32_t num_insns;
	uint32_t elem_bytes;
	uint32_t block; /* elements of a call */
};

/* State of a call. Programs see the view alone. */
struct goal_op_call {
	struct goal_op_view view;
	uint8_t *buf[4]; /* enum goal_op_buf */
};

/* Content of a register. Pointers have constant offsets. */
enum goal_op_kind {
	GOAL_OP_UNSET,
	GOAL_OP_SCALAR,
	GOAL_OP_VIEW,
	GOAL_OP_STACK,
	GOAL_OP_PTR_A,
	GOAL_OP_PTR_B,
	GOAL_OP_PTR_RESULT,
	GOAL_OP_PTR_WORK,
};

struct goal_op_reg {
	enum goal_op_kind kind;
	bool known; /* SCALAR: value is its value. Pointers: always, value is the offset */
	int64_t value;
};

/* Facts that hold at one place of a program, on all paths to it. */
struct goal_op_state {
	struct goal_op_reg reg[GOAL_BPF_REGS];
	uint64_t stack[GOAL_OP_STACK_WORDS]; /* bit for each byte that has a number's part */
	struct goal_op_spill {
		uint8_t kind; /* goal_op_kind of a pointer; GOAL_OP_UNSET: the word has none */
		int32_t offset;
	} spill[GOAL_OP_SPILLS]; /* of the words below r10, upwards from the last */
	uint32_t cost;           /* of the dearest path */
	uint32_t paths;
};

/* Work space of the verifier, some 30 KiB. */
struct goal_op_check {
	const struct goal_op_prog *prog;
	struct goal_op_state now;
	bool live; /* now is the state before the next instruction */
	uint32_t at;
	uint32_t visits;
	uint32_t max_cost;
	bool uses_work;
	uint8_t ahead[GOAL_OP_MAX_INSNS]; /* place + 1 of the state of a jump's target; 0: none */
	uint64_t used[GOAL_OP_MAX_AHEAD / 64];
	struct goal_op_state states[GOAL_OP_MAX_AHEAD];
};

/* The verdict on a program. */
struct goal_op_verdict {
	const char *why; /* NULL: it is accepted */
	uint32_t insn;   /* at fault; UINT32_MAX: none in particular */
	uint32_t cost;   /* of the dearest path */
	bool uses_work;
};

/* Checks a program: true if it can do no harm. verdict->why has the reason otherwise. */
bool goal_op_verify(struct goal_op_check *check, const struct goal_op_prog *prog,
		    struct goal_op_verdict *verdict);
/* Runs a verified program on one block, and returns its result. */
uint64_t goal_op_exec(const struct goal_op_insn *insns, struct goal_op_call *call);

/*
 * Helpers, by enum goal_op_helper. view: the program's argument, a struct goal_op_call. Five
 * arguments, as the calling convention of BPF has it.
 */
typedef uint64_t (*goal_op_helper_fn)(uint64_t view, uint64_t b, uint64_t c, uint64_t d,
				      uint64_t e);
extern const goal_op_helper_fn goal_op_helpers[GOAL_OP_HELPERS];
/* True if a call of GOAL_OP_HELPER_FLOATS with these arguments stays inside the buffers. */
bool goal_op_floats_fit(const struct goal_op_prog *prog, uint64_t what, const uint64_t vec[3]);
/* Returns the cost of such a call. */
uint32_t goal_op_floats_cost(uint64_t what);

#endif /* WEFT_FW_GOAL_OP_H */
