/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verifier of users' operations: one pass over the program before its first use.
 *
 * Jumps go forward only. So the order of the instructions is an order of all paths, the state at a
 * jump's target is known when the pass arrives there, and a program ends after as many steps as it
 * has instructions. Pointers are known exactly: a buffer and a constant offset. Where paths join, a
 * register on which they disagree becomes unset, or a scalar of unknown value.
 *
 * Cost is counted in units of a simple instruction, for the dearest path. DPDK's own verifier
 * follows each path separately; hence the limit on their instructions together.
 *
 * Calls goal_op_floats.c for the arguments of that helper. docs/user-ops.md lists the rules.
 */
#include "nic_fw/coll/goal_op.h"

#include <string.h>

enum {
	COST_DIVIDE = 16,
	COST_HELPER = 4,
};

static bool goal_op_refuse(struct goal_op_verdict *verdict, const char *why)
{
	verdict->why = why;
	return false;
}

/* ---- states at places ahead ------------------------------------------------------------------ */

/* The stronger of two facts that hold on different paths. */
static void join_reg(struct goal_op_reg *reg, const struct goal_op_reg *other)
{
	if (reg->kind != other->kind)
		reg->kind = GOAL_OP_UNSET;
	else if (reg->kind == GOAL_OP_SCALAR)
		reg->known = reg->known && other->known && reg->value == other->value;
	else if (reg->value != other->value)
		reg->kind = GOAL_OP_UNSET;
}

static void goal_op_join(struct goal_op_state *state, const struct goal_op_state *other)
{
	uint32_t i;

	for (i = 0; i < GOAL_BPF_REGS; i++)
		join_reg(&state->reg[i], &other->reg[i]);
	for (i = 0; i < GOAL_OP_STACK_WORDS; i++)
		state->stack[i] &= other->stack[i];
	for (i = 0; i < GOAL_OP_SPILLS; i++)
		if (state->spill[i].kind != other->spill[i].kind ||
		    state->spill[i].offset != other->spill[i].offset)
			state->spill[i].kind = GOAL_OP_UNSET;
	if (other->cost > state->cost)
		state->cost = other->cost;
	state->paths += other->paths;
	if (state->paths > GOAL_OP_MAX_VISITS)
		state->paths = GOAL_OP_MAX_VISITS;
}

static uint32_t free_state(const struct goal_op_check *check)
{
	uint32_t i;

	for (i = 0; i < GOAL_OP_MAX_AHEAD; i++)
		if (!(check->used[i / 64] >> i % 64 & 1))
			return i;
	return GOAL_OP_MAX_AHEAD;
}

/* The state of now also holds before the instruction at target, which lies ahead. */
static bool reach(struct goal_op_check *check, uint32_t target, struct goal_op_verdict *verdict)
{
	uint32_t place;

	if (check->ahead[target]) {
		goal_op_join(&check->states[check->ahead[target] - 1], &check->now);
		return true;
	}
	place = free_state(check);
	if (place == GOAL_OP_MAX_AHEAD)
		return goal_op_refuse(verdict, "too many jumps lie over this place");
	check->used[place / 64] |= UINT64_C(1) << place % 64;
	check->states[place] = check->now;
	check->ahead[target] = (uint8_t)(place + 1);
	return true;
}

/* Enters an instruction: joins the states of all jumps to it. */
static void arrive(struct goal_op_check *check)
{
	uint32_t place = check->ahead[check->at];

	if (!place)
		return;
	place--;
	check->used[place / 64] &= ~(UINT64_C(1) << place % 64);
	if (check->live)
		goal_op_join(&check->now, &check->states[place]);
	else
		check->now = check->states[place];
	check->live = true;
}

/* ---- registers ------------------------------------------------------------------------------- */

static bool is_pointer(const struct goal_op_reg *reg)
{
	return reg->kind > GOAL_OP_SCALAR;
}

static bool check_set(const struct goal_op_reg *reg, struct goal_op_verdict *verdict)
{
	return reg->kind != GOAL_OP_UNSET ||
	       goal_op_refuse(verdict, "a register is used that is not set on every path");
}

static bool check_scalar(const struct goal_op_reg *reg, struct goal_op_verdict *verdict)
{
	return check_set(reg, verdict) &&
	       (!is_pointer(reg) || goal_op_refuse(verdict, "a pointer is used as a number"));
}

static void set_scalar(struct goal_op_reg *reg, bool known, int64_t value)
{
	*reg = (struct goal_op_reg){.kind = GOAL_OP_SCALAR, .known = known, .value = value};
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint32_t access_bytes(uint8_t code)
{
	static const uint8_t bytes[4] = {4, 2, 1, 8};

	return bytes[code >> 3 & 3];
}

/* The place of a pointer in the word at that offset of the stack; NULL: it cannot hold one. */
static struct goal_op_spill *spill_at(struct goal_op_check *check, int64_t at)
{
	int64_t word = (-at + 7) / 8 - 1;

	return word >= 0 && word < GOAL_OP_SPILLS ? &check->now.spill[word] : NULL;
}

/* Keeps a pointer in a whole word of the stack, where numbers are not read then. */
static bool spill(struct goal_op_check *check, const struct goal_op_insn *in,
		  struct goal_op_verdict *verdict)
{
	const struct goal_op_reg *base = &check->now.reg[in->regs & 15];
	const struct goal_op_reg *reg = &check->now.reg[in->regs >> 4];
	int64_t at = base->value + in->off;
	struct goal_op_spill *place = spill_at(check, at);
	uint32_t bit = (uint32_t)(at + GOAL_OP_STACK_BYTES);

	if (base->kind != GOAL_OP_STACK || access_bytes(in->code) != 8 || at % 8 || !place ||
	    at > -8)
		return goal_op_refuse(verdict,
				      "a pointer is stored elsewhere than in the stack's last "
				      "128 bytes");
	*place = (struct goal_op_spill){(uint8_t)reg->kind, (int32_t)reg->value};
	check->now.stack[bit / 64] &= ~(UINT64_C(0xff) << bit % 64);
	return true;
}

/* Gets a pointer back. False: there is none. */
static bool unspill(struct goal_op_check *check, const struct goal_op_insn *in)
{
	const struct goal_op_reg *base = &check->now.reg[in->regs >> 4];
	int64_t at = base->value + in->off;
	const struct goal_op_spill *place = spill_at(check, at);

	if (base->kind != GOAL_OP_STACK || access_bytes(in->code) != 8 || at % 8 || !place ||
	    at > -8 || place->kind == GOAL_OP_UNSET)
		return false;
	check->now.reg[in->regs & 15] =
	    (struct goal_op_reg){.kind = (enum goal_op_kind)place->kind, .value = place->offset};
	return true;
}

static bool access_stack(struct goal_op_check *check, int64_t at, uint32_t bytes, bool write,
			 struct goal_op_verdict *verdict)
{
	struct goal_op_spill *place = spill_at(check, at);
	uint32_t i, bit;

	if (write && place)
		place->kind = GOAL_OP_UNSET;
	for (i = 0; i < bytes; i++) {
		bit = (uint32_t)(at + GOAL_OP_STACK_BYTES) + i;
		if (write)
			check->now.stack[bit / 64] |= UINT64_C(1) << bit % 64;
		else if (!(check->now.stack[bit / 64] >> bit % 64 & 1))
			return goal_op_refuse(verdict,
					      "the stack is read where it was not written");
	}
	return true;
}

/* First and last byte + 1 that a pointer of that kind may reach. */
static void bounds_of(const struct goal_op_prog *prog, enum goal_op_kind kind, int64_t bounds[2])
{
	bounds[0] = kind == GOAL_OP_STACK ? -GOAL_OP_STACK_BYTES : 0;
	bounds[1] = kind == GOAL_OP_STACK  ? 0
		    : kind == GOAL_OP_VIEW ? (int64_t)sizeof(struct goal_op_view)
					   : (int64_t)prog->block * prog->elem_bytes;
}

static bool access(struct goal_op_check *check, const struct goal_op_insn *in, uint32_t number,
		   bool write, struct goal_op_verdict *verdict)
{
	const struct goal_op_reg *base = &check->now.reg[number];
	uint32_t bytes = access_bytes(in->code);
	int64_t bounds[2], at;

	if (!check_set(base, verdict))
		return false;
	if (!is_pointer(base))
		return goal_op_refuse(verdict, "memory is accessed by a number that is no pointer");
	if (write && base->kind != GOAL_OP_STACK && base->kind != GOAL_OP_PTR_RESULT &&
	    base->kind != GOAL_OP_PTR_WORK)
		return goal_op_refuse(verdict, "memory is written that may only be read");
	bounds_of(check->prog, base->kind, bounds);
	at = base->value + in->off;
	if (at < bounds[0] || at + bytes > bounds[1])
		return goal_op_refuse(verdict, "an access outside of its buffer");
	if (at % bytes)
		return goal_op_refuse(verdict, "an access that is not aligned");
	return base->kind != GOAL_OP_STACK || access_stack(check, at, bytes, write, verdict);
}

static bool goal_op_check_memory(struct goal_op_check *check, const struct goal_op_insn *in,
				 struct goal_op_verdict *verdict)
{
	uint8_t class = in->code & GOAL_BPF_CLASS;
	uint32_t dst = in->regs & 15u, src = in->regs >> 4;

	if ((in->code & 0xe0) != GOAL_BPF_MEM)
		return goal_op_refuse(verdict, "an unknown instruction");
	if ((class == GOAL_BPF_ST ? src != 0 : in->imm != 0))
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	if (class == GOAL_BPF_STX && is_pointer(&check->now.reg[src]))
		return spill(check, in, verdict);
	if (class == GOAL_BPF_LDX && unspill(check, in))
		return true;
	if (class == GOAL_BPF_STX && !check_set(&check->now.reg[src], verdict))
		return false;
	if (!access(check, in, class == GOAL_BPF_LDX ? src : dst, class != GOAL_BPF_LDX, verdict))
		return false;
	if (class == GOAL_BPF_LDX)
		set_scalar(&check->now.reg[dst], false, 0);
	return true;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Adds a known number to a pointer, or subtracts it. */
static bool move_pointer(struct goal_op_reg *reg, uint8_t op, const struct goal_op_reg *by,
			 struct goal_op_verdict *verdict)
{
	if (by->kind != GOAL_OP_SCALAR || !by->known || by->value < INT32_MIN ||
	    by->value > INT32_MAX)
		return goal_op_refuse(verdict,
				      "a pointer is moved by a number that is not constant");
	reg->value += op == GOAL_BPF_ADD ? by->value : -by->value;
	if (reg->value < INT32_MIN || reg->value > INT32_MAX)
		return goal_op_refuse(verdict, "a pointer is moved too far");
	return true;
}

static bool check_end(const struct goal_op_insn *in, struct goal_op_reg *reg,
		      struct goal_op_verdict *verdict)
{
	if ((in->code & GOAL_BPF_CLASS) != GOAL_BPF_ALU32 ||
	    (in->imm != 16 && in->imm != 32 && in->imm != 64))
		return goal_op_refuse(verdict, "an unknown instruction");
	if (in->regs >> 4 || in->off)
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	if (!check_scalar(reg, verdict))
		return false;
	set_scalar(reg, false, 0);
	return true;
}

/* Constants that no operation can take. */
static bool check_constant(const struct goal_op_insn *in, bool wide,
			   struct goal_op_verdict *verdict)
{
	uint8_t op = in->code & GOAL_BPF_OP;

	if ((op == GOAL_BPF_DIV || op == GOAL_BPF_MOD) && !in->imm)
		return goal_op_refuse(verdict, "a division by the constant zero");
	if ((op == GOAL_BPF_LSH || op == GOAL_BPF_RSH || op == GOAL_BPF_ARSH) &&
	    (in->imm < 0 || in->imm >= (wide ? 64 : 32)))
		return goal_op_refuse(verdict, "a shift by more bits than there are");
	return true;
}

static bool check_alu_fields(const struct goal_op_insn *in, struct goal_op_verdict *verdict)
{
	bool by_reg = in->code & GOAL_BPF_X;
	uint8_t op = in->code & GOAL_BPF_OP;

	if (op > GOAL_BPF_END || (op == GOAL_BPF_NEG && by_reg))
		return goal_op_refuse(verdict, "an unknown instruction");
	if (in->off || (by_reg ? in->imm != 0 : in->regs >> 4 != 0) ||
	    (op == GOAL_BPF_NEG && in->imm))
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	return true;
}

static bool check_alu(struct goal_op_check *check, const struct goal_op_insn *in,
		      struct goal_op_verdict *verdict)
{
	struct goal_op_reg *dst = &check->now.reg[in->regs & 15], by;
	bool wide = (in->code & GOAL_BPF_CLASS) == GOAL_BPF_ALU64;
	uint8_t op = in->code & GOAL_BPF_OP;

	if (op == GOAL_BPF_END)
		return check_end(in, dst, verdict);
	if (!check_alu_fields(in, verdict))
		return false;
	set_scalar(&by, true, in->imm);
	if (in->code & GOAL_BPF_X)
		by = check->now.reg[in->regs >> 4];
	else if (!check_constant(in, wide, verdict))
		return false;
	if (!check_set(&by, verdict) || (op != GOAL_BPF_MOV && !check_set(dst, verdict)))
		return false;
	if (op == GOAL_BPF_MOV && wide) {
		*dst = by;
		return true;
	}
	if (wide && (op == GOAL_BPF_ADD || op == GOAL_BPF_SUB) && is_pointer(dst))
		return move_pointer(dst, op, &by, verdict);
	if (is_pointer(&by) || (op != GOAL_BPF_MOV && is_pointer(dst)))
		return goal_op_refuse(verdict, "a pointer is used as a number");
	if (op == GOAL_BPF_MOV)
		set_scalar(dst, by.known, (int64_t)(uint32_t)by.value);
	else
		set_scalar(dst, false, 0);
	return true;
}

/* ---- jumps, calls, the end ------------------------------------------------------------------- */

static bool check_floats(struct goal_op_check *check, struct goal_op_verdict *verdict)
{
	const struct goal_op_reg *reg = check->now.reg;
	uint64_t vec[3];
	uint32_t i;

	for (i = 2; i <= 5; i++)
		if (reg[i].kind != GOAL_OP_SCALAR || !reg[i].known)
			return goal_op_refuse(verdict,
					      "an argument of this helper is not constant");
	for (i = 0; i < 3; i++) {
		vec[i] = (uint64_t)reg[3 + i].value;
		check->uses_work |= GOAL_OP_VEC_BUF(vec[i]) == GOAL_OP_BUF_WORK;
	}
	if (!goal_op_floats_fit(check->prog, (uint64_t)reg[2].value, vec))
		return goal_op_refuse(verdict, "vectors of floats that this helper does not take");
	check->now.cost += goal_op_floats_cost((uint64_t)reg[2].value);
	return true;
}

static bool check_call(struct goal_op_check *check, const struct goal_op_insn *in,
		       struct goal_op_verdict *verdict)
{
	static const enum goal_op_kind results[GOAL_OP_HELPERS] = {
	    [GOAL_OP_HELPER_A] = GOAL_OP_PTR_A,           [GOAL_OP_HELPER_B] = GOAL_OP_PTR_B,
	    [GOAL_OP_HELPER_RESULT] = GOAL_OP_PTR_RESULT, [GOAL_OP_HELPER_WORK] = GOAL_OP_PTR_WORK,
	    [GOAL_OP_HELPER_FLOATS] = GOAL_OP_SCALAR,
	};
	struct goal_op_reg *reg = check->now.reg;
	uint32_t i;

	if (in->regs || in->off)
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	if (in->imm < GOAL_OP_HELPER_A || in->imm >= GOAL_OP_HELPERS)
		return goal_op_refuse(verdict, "a helper that does not exist");
	if (reg[1].kind != GOAL_OP_VIEW || reg[1].value)
		return goal_op_refuse(verdict,
				      "the first argument of a helper is not the program's own");
	if (in->imm == GOAL_OP_HELPER_FLOATS && !check_floats(check, verdict))
		return false;
	check->uses_work |= in->imm == GOAL_OP_HELPER_WORK;
	check->now.cost += COST_HELPER;
	for (i = 1; i <= 5; i++)
		reg[i].kind = GOAL_OP_UNSET;
	reg[0] = (struct goal_op_reg){.kind = results[in->imm]};
	return true;
}

static bool check_exit(struct goal_op_check *check, const struct goal_op_insn *in,
		       struct goal_op_verdict *verdict)
{
	if (in->regs || in->off || in->imm)
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	if (!check_scalar(&check->now.reg[0], verdict))
		return false;
	if (check->now.cost > check->max_cost)
		check->max_cost = check->now.cost;
	check->live = false;
	return true;
}

static bool check_jump(struct goal_op_check *check, const struct goal_op_insn *in,
		       struct goal_op_verdict *verdict)
{
	const struct goal_op_reg *reg = check->now.reg;
	uint8_t op = in->code & GOAL_BPF_OP;
	bool by_reg = in->code & GOAL_BPF_X, always = op == GOAL_BPF_JA;

	if (op > GOAL_BPF_JSLE || (always && by_reg))
		return goal_op_refuse(verdict, "an unknown instruction");
	if ((by_reg ? in->imm != 0 : in->regs >> 4 != 0) || (always && (in->regs || in->imm)))
		return goal_op_refuse(verdict, "an unused field of an instruction is set");
	if (!always && !check_scalar(&reg[in->regs & 15], verdict))
		return false;
	if (!always && by_reg && !check_scalar(&reg[in->regs >> 4], verdict))
		return false;
	if (in->off < 0)
		return goal_op_refuse(verdict, "a jump goes back: programs have no loops");
	if (check->at + 1 + (uint32_t)in->off >= check->prog->num_insns)
		return goal_op_refuse(verdict, "a jump leaves the program");
	if (!reach(check, check->at + 1 + (uint32_t)in->off, verdict))
		return false;
	if (always)
		check->live = false;
	return true;
}

static bool check_flow(struct goal_op_check *check, const struct goal_op_insn *in,
		       struct goal_op_verdict *verdict)
{
	if (in->code == (GOAL_BPF_JMP | GOAL_BPF_CALL))
		return check_call(check, in, verdict);
	if (in->code == (GOAL_BPF_JMP | GOAL_BPF_EXIT))
		return check_exit(check, in, verdict);
	if ((in->code & GOAL_BPF_OP) == GOAL_BPF_CALL || (in->code & GOAL_BPF_OP) == GOAL_BPF_EXIT)
		return goal_op_refuse(verdict, "an unknown instruction");
	return check_jump(check, in, verdict);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool check_imm64(struct goal_op_check *check, const struct goal_op_insn *in,
			struct goal_op_verdict *verdict)
{
	if (in->code != GOAL_BPF_LD_IMM64)
		return goal_op_refuse(verdict, "an unknown instruction");
	if (in->regs >> 4 || in->off)
		return goal_op_refuse(verdict, "a constant that refers to something outside");
	if (check->at + 1 == check->prog->num_insns || in[1].code || in[1].regs || in[1].off)
		return goal_op_refuse(verdict, "half of a 64-bit constant");
	if (check->ahead[check->at + 1])
		return goal_op_refuse(verdict, "a jump into a 64-bit constant");
	set_scalar(&check->now.reg[in->regs & 15], true,
		   (int64_t)((uint32_t)in->imm | (uint64_t)(uint32_t)in[1].imm << 32));
	check->at++;
	return true;
}

static bool check_regs(const struct goal_op_insn *in, struct goal_op_verdict *verdict)
{
	uint8_t class = in->code & GOAL_BPF_CLASS;
	uint32_t dst = in->regs & 15u, src = in->regs >> 4;

	if (dst >= GOAL_BPF_REGS || src >= GOAL_BPF_REGS)
		return goal_op_refuse(verdict, "a register that does not exist");
	if (dst == GOAL_BPF_FP && class != GOAL_BPF_ST && class != GOAL_BPF_STX &&
	    class != GOAL_BPF_JMP)
		return goal_op_refuse(verdict, "the frame pointer is changed");
	return true;
}

static bool is_division(uint8_t code)
{
	uint8_t class = code & GOAL_BPF_CLASS, op = code & GOAL_BPF_OP;

	return (class == GOAL_BPF_ALU32 || class == GOAL_BPF_ALU64) &&
	       (op == GOAL_BPF_DIV || op == GOAL_BPF_MOD);
}

static bool check_insn(struct goal_op_check *check, struct goal_op_verdict *verdict)
{
	const struct goal_op_insn *in = &check->prog->insns[check->at];

	arrive(check);
	if (!check->live)
		return goal_op_refuse(verdict, "an instruction that no path reaches");
	check->visits += check->now.paths;
	if (check->visits > GOAL_OP_MAX_VISITS)
		return goal_op_refuse(verdict,
				      "too many paths: fewer branches, or fewer elements a call");
	check->now.cost += is_division(in->code) ? COST_DIVIDE : 1;
	if (!check_regs(in, verdict))
		return false;
	switch (in->code & GOAL_BPF_CLASS) {
	case GOAL_BPF_LD:
		return check_imm64(check, in, verdict);
	case GOAL_BPF_LDX:
	case GOAL_BPF_ST:
	case GOAL_BPF_STX:
		return goal_op_check_memory(check, in, verdict);
	case GOAL_BPF_ALU32:
	case GOAL_BPF_ALU64:
		return check_alu(check, in, verdict);
	case GOAL_BPF_JMP:
		return check_flow(check, in, verdict);
	default:
		return goal_op_refuse(verdict, "an unknown instruction");
	}
}

static bool check_shape(const struct goal_op_prog *prog, struct goal_op_verdict *verdict)
{
	if (!prog->num_insns || prog->num_insns > GOAL_OP_MAX_INSNS)
		return goal_op_refuse(verdict,
				      "an empty program, or one of more than 1,024 instructions");
	if (!prog->elem_bytes || prog->elem_bytes > GOAL_OP_MAX_ELEM_BYTES || !prog->block ||
	    prog->block > GOAL_OP_MAX_BLOCK_BYTES / prog->elem_bytes)
		return goal_op_refuse(verdict, "elements or blocks of a size that cannot be");
	return true;
}

static bool check_cost(const struct goal_op_check *check, struct goal_op_verdict *verdict)
{
	uint64_t most = (uint64_t)check->prog->block * GOAL_OP_MAX_ELEM_COST;

	if (check->max_cost > GOAL_OP_MAX_COST || check->max_cost > most)
		return goal_op_refuse(verdict,
				      "a call takes too long for the elements that it handles");
	return true;
}

bool goal_op_verify(struct goal_op_check *check, const struct goal_op_prog *prog,
		    struct goal_op_verdict *verdict)
{
	*verdict = (struct goal_op_verdict){.insn = UINT32_MAX};
	if (!check_shape(prog, verdict))
		return false;
	memset(check, 0, offsetof(struct goal_op_check, states));
	check->prog = prog;
	check->live = true;
	check->now.paths = 1;
	check->now.reg[1].kind = GOAL_OP_VIEW;
	check->now.reg[GOAL_BPF_FP].kind = GOAL_OP_STACK;
	for (check->at = 0; check->at < prog->num_insns; check->at++) {
		verdict->insn = check->at;
		if (!check_insn(check, verdict))
			return false;
	}
	if (check->live)
		return goal_op_refuse(verdict, "the program does not end with an exit");
	verdict->insn = UINT32_MAX;
	if (!check_cost(check, verdict))
		return false;
	verdict->cost = check->max_cost;
	verdict->uses_work = check->uses_work;
	return true;
}
