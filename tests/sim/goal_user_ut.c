/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local operations by users' programs, on a NIC: whole blocks in place, the last one and memory in
 * pieces or without a mapping through copies, work space, runs of several steps; programs that
 * fail, programs that are refused, and the number of them that a communicator takes.
 */
#include <errno.h>
#include <string.h>

#include "shared_defs/goal_op.h"
#include "tests/sim/goal_fix.h"

#define INSN(c, d, s, o, i)                                                                        \
	{                                                                                          \
		.code = (c), .regs = (uint8_t)((d) | (s) << 4), .off = (o), .imm = (i)             \
	}
#define MOV(d, s)     INSN(0xbf, d, s, 0, 0)
#define MOVI(d, i)    INSN(0xb7, d, 0, 0, i)
#define LDX(d, s, o)  INSN(0x79, d, s, o, 0)
#define STX(d, o, s)  INSN(0x7b, d, s, o, 0)
#define ALU(op, d, s) INSN(GOAL_BPF_ALU64 | GOAL_BPF_X | (op), d, s, 0, 0)
#define CALL(n)       INSN(0x85, 0, 0, 0, n)
#define EXIT          INSN(0x95, 0, 0, 0, 0)
/* An element: the sum, by way of the work space. */
#define ELEMENT(i)                                                                                 \
	LDX(1, 7, 8 * (i)), LDX(2, 8, 8 * (i)), ALU(GOAL_BPF_ADD, 1, 2), STX(9, 8 * (i), 1),       \
	    LDX(1, 9, 8 * (i)), STX(0, 8 * (i), 1)

enum {
	BLOCK = 4,
	ELEM = 8,
	MARK = 77,
	BYTES = 1 << 18,
	A_AT = 0,
	B_AT = BYTES / 4,
	RESULT_AT = BYTES / 2,
	BEHIND = 64, /* bytes behind the result that stay */
};

static const struct goal_op_insn sums[] = {
    MOV(6, 1),
    CALL(GOAL_OP_HELPER_A),
    MOV(7, 0),
    MOV(1, 6),
    CALL(GOAL_OP_HELPER_B),
    MOV(8, 0),
    MOV(1, 6),
    CALL(GOAL_OP_HELPER_WORK),
    MOV(9, 0),
    MOV(1, 6),
    CALL(GOAL_OP_HELPER_RESULT),
    ELEMENT(0),
    ELEMENT(1),
    ELEMENT(2),
    ELEMENT(3),
    MOVI(0, GOAL_OP_OK),
    EXIT,
};
static const struct goal_op_insn fails[] = {MOVI(0, 5), EXIT};
static const struct goal_op_insn divides[] = {MOVI(0, GOAL_OP_ZERO_DIVISION), EXIT};

static int add_op(struct goal_fix *fix, const struct goal_op_insn *insns, uint32_t num,
		  uint32_t *number, char *why)
{
	const struct weft_goal_op_attr attr = {
	    .insns = insns, .num_insns = num, .elem_bytes = ELEM, .block = BLOCK, .mark = MARK};
	uint32_t insn;

	return weft_goal_op(fix->rank[0].goal, fix->rank[0].comm, &attr, number, why, &insn);
}

/* Loads a local operation of rank 0 on count elements; the result lies in pieces from result_at. */
static void load_at(struct goal_fix *fix, uint32_t number, uint32_t count, uint32_t pieces,
		    uint64_t result_at)
{
	struct goal_user_ops ops = {.num = 1};
	struct goal_graph *g = goal_graph_new(0, 2), *other = goal_graph_new(1, 2);
	const struct goal_mem a = goal_fix_mem(fix, 0, A_AT, (uint64_t)count * ELEM);
	const struct goal_mem b = goal_fix_mem(fix, 0, B_AT, (uint64_t)count * ELEM);
	struct goal_mem result[3];
	const struct goal_mem *const mems[3] = {&a, &b, result};
	const uint32_t num[3] = {1, 1, pieces};
	uint64_t each = (uint64_t)count * ELEM / pieces, at = 0;

	for (uint32_t i = 0; i < pieces; i++) {
		uint64_t bytes = i + 1 < pieces ? each : (uint64_t)count * ELEM - at;

		result[i] = goal_fix_mem(fix, 0, result_at + at, bytes);
		at += bytes;
	}
	ops.op[0].number = number;
	ops.op[0].mark = MARK;
	ops.op[0].elem_bytes = ELEM;
	g->user_ops = &ops;
	FIX_REQUIRE(fix,
		    goal_graph_local(g, GOAL_USER_FIRST, GOAL_TYPE_UINT, 0, count, mems, num) >= 0);
	FIX_REQUIRE(fix, goal_graph_nop(other) >= 0);
	goal_fix_load(fix, 0, g);
	goal_fix_load(fix, 1, other);
}

static void load(struct goal_fix *fix, uint32_t number, uint32_t count, uint32_t pieces)
{
	load_at(fix, number, count, pieces, RESULT_AT);
}

static void fill_operands(struct goal_fix *fix, uint32_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t a = i * 3 + 1, b = i << 33;

		memcpy(fix->rank[0].buf + A_AT + i * ELEM, &a, ELEM);
		memcpy(fix->rank[0].buf + B_AT + i * ELEM, &b, ELEM);
	}
	memset(fix->rank[0].buf + RESULT_AT, 0xee, (size_t)count * ELEM + BEHIND);
}

static void check_sums(struct goal_fix *fix, uint32_t count)
{
	const uint8_t *at = fix->rank[0].buf + RESULT_AT;
	uint32_t wrong = 0;
	uint64_t word;

	for (uint64_t i = 0; i < count; i++) {
		memcpy(&word, at + i * ELEM, ELEM);
		wrong += word != i * 3 + 1 + (i << 33);
	}
	FIX_CHECK(fix, wrong == 0);
	for (uint32_t i = 0; i < BEHIND; i++)
		FIX_CHECK(fix, at[(size_t)count * ELEM + i] == 0xee);
}

static void sum(bool unmapped, uint32_t count, uint32_t pieces)
{
	const struct goal_fix_attr attr = {.bytes = BYTES, .unmapped = unmapped};
	struct weft_goal_result results[2];
	char why[WEFT_GOAL_WHY_BYTES];
	struct goal_fix fix;
	uint32_t number;

	goal_fix_begin(&fix, count, 2, &attr);
	FIX_REQUIRE(&fix, add_op(&fix, sums, sizeof(sums) / sizeof(sums[0]), &number, why) == 0);
	load(&fix, number, count, pieces);
	for (uint32_t again = 0; again < 2; again++) {
		fill_operands(&fix, count);
		FIX_CHECK(&fix, goal_fix_run(&fix, results) == HW_GOAL_OK);
		check_sums(&fix, count);
	}
	goal_fix_end(&fix);
}

static void in_place_and_by_copies(void)
{
	for (uint32_t unmapped = 0; unmapped < 2; unmapped++) {
		sum(unmapped, 100, 1);
		sum(unmapped, 101, 1); /* the last block is not whole */
		sum(unmapped, 3, 1);
		sum(unmapped, 102, 3);  /* pieces that end within blocks */
		sum(unmapped, 6000, 1); /* several steps */
	}
}

static void failure(const struct goal_op_insn *insns, bool unmapped, enum hw_goal_status status)
{
	const struct goal_fix_attr attr = {.bytes = BYTES, .unmapped = unmapped};
	struct weft_goal_result results[2];
	char why[WEFT_GOAL_WHY_BYTES];
	struct goal_fix fix;
	uint32_t number;

	goal_fix_begin(&fix, 1, 2, &attr);
	FIX_REQUIRE(&fix, add_op(&fix, insns, 2, &number, why) == 0);
	load(&fix, number, 9, 1);
	fill_operands(&fix, 9);
	FIX_CHECK(&fix, goal_fix_run(&fix, results) == status);
	goal_fix_end(&fix);
}

static void programs_that_fail(void)
{
	for (uint32_t unmapped = 0; unmapped < 2; unmapped++) {
		failure(fails, unmapped, HW_GOAL_USER_OP);
		failure(divides, unmapped, HW_GOAL_DIVIDE);
	}
}

static void refusals(void)
{
	static const struct goal_op_insn endless[] = {INSN(0x05, 0, 0, -1, 0), EXIT};
	const struct goal_fix_attr attr = {.bytes = BYTES};
	char why[WEFT_GOAL_WHY_BYTES] = "";
	struct goal_fix fix;
	uint32_t number, i;

	goal_fix_begin(&fix, 1, 2, &attr);
	FIX_CHECK(&fix, add_op(&fix, endless, 2, &number, why) == -EINVAL);
	FIX_CHECK(&fix, why[0] && strlen(why) < sizeof(why));
	for (i = 0; i < GOAL_OPS_PER_COMM; i++)
		FIX_CHECK(&fix, add_op(&fix, fails, 2, &number, why) == 0 && number == i);
	FIX_CHECK(&fix, add_op(&fix, fails, 2, &number, why) == -ENOSPC);
	goal_fix_end(&fix);
}

/*
 * Runs in flight together that add in place, in memory whose pages come late: they wait for them,
 * and each element is added once by each run.
 */
static void late_pages(void)
{
	enum {
		COUNT = 5 * BLOCK + 1,
		RUNS = 8,
	};
	const struct goal_fix_attr attr = {.bytes = BYTES, .unmapped = true};
	struct weft_goal_result result;
	char why[WEFT_GOAL_WHY_BYTES];
	uint32_t run[RUNS], number, seed, k;
	struct goal_fix fix;
	uint64_t word;

	for (seed = 1; seed <= 5; seed++) {
		goal_fix_begin(&fix, seed, 2, &attr);
		sim_host_busy(fix.sim, 150000);
		FIX_REQUIRE(&fix,
			    add_op(&fix, sums, sizeof(sums) / sizeof(sums[0]), &number, why) == 0);
		load_at(&fix, number, COUNT, 1, A_AT);
		fill_operands(&fix, COUNT);
		for (k = 0; k < RUNS; k++)
			run[k] = goal_fix_start(&fix, 0, 0);
		for (k = 0; k < RUNS; k++)
			FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[k], &result) &&
					    result.status == HW_GOAL_OK);
		for (uint64_t i = 0; i < COUNT; i++) {
			memcpy(&word, fix.rank[0].buf + A_AT + i * ELEM, ELEM);
			FIX_CHECK(&fix, word == i * 3 + 1 + RUNS * (i << 33));
		}
		FIX_CHECK(&fix, sim_nic_stat(sim_nic_at(fix.sim, 0), "goal_slow") > 0);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_user", UT(in_place_and_by_copies), UT(late_pages), UT(programs_that_fail),
	UT(refusals))
