/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that gives its NIC hostile byte code as an operation of users, without what libgoal
 * would check.
 *
 *	byte_code PROGRAMS [SEED]
 *
 * First programs that break a rule each, which must be refused with a reason; then random ones, raw
 * and nearly right (tests/fuzz/opgen.h). What is accepted runs on blocks between bytes that no
 * program may change. Prints "all PROGRAMS: N refused, M ran". docs/user-ops.md, docs/security.md.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/libgoal.h"
#include "tests/fuzz/opgen.h"
#include "tests/int/goal_check.h"

enum {
	ELEMS = 50, /* no multiple of most blocks */
	ROOM = 64 * ELEMS,
	EDGE = 256,
	INPUT = OPGEN_HEAD + 8 * 60,
};

static uint64_t state;

static uint8_t random_byte(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint8_t)(state >> 56);
}

/* Returns the errno of the NIC. */
static int submit(GOAL_Comm comm, const struct goal_op_prog *prog, uint32_t *number)
{
	const struct weft_goal_op_attr attr = {.insns = prog->insns,
					       .num_insns = prog->num_insns,
					       .elem_bytes = prog->elem_bytes,
					       .block = prog->block};
	char why[WEFT_GOAL_WHY_BYTES];
	uint32_t insn;
	int rc = weft_goal_op(comm->lib->goal, comm->handle, &attr, number, why, &insn);

	check(rc != -EINVAL || why[0]);
	return rc;
}

/* ---- one rule each -------------------------------------------------------------------------- */

static void must_refuse(GOAL_Comm comm, const struct goal_op_insn *insns, uint32_t num,
			uint32_t elem_bytes, uint32_t block)
{
	const struct goal_op_prog prog = {insns, num, elem_bytes, block};
	uint32_t number;

	check(submit(comm, &prog, &number) == -EINVAL);
}

/* Conditional jumps over one instruction each: 2^n paths. */
static void many_paths(GOAL_Comm comm)
{
	static struct goal_op_insn insns[GOAL_OP_MAX_INSNS];
	uint32_t n = 0;

	insns[n++] = opgen_insn(0xb7, 0, 0, 0, 1);
	while (n + 4 <= GOAL_OP_MAX_INSNS) {
		insns[n++] = opgen_insn(0x15, 0, 0, 1, 5);
		insns[n++] = opgen_insn(0x07, 0, 0, 0, 1);
	}
	insns[n++] = opgen_insn(0xb7, 0, 0, 0, 1);
	insns[n++] = opgen_insn(0x95, 0, 0, 0, 0);
	must_refuse(comm, insns, n, 8, 16);
}

static void rules(GOAL_Comm comm)
{
	const struct goal_op_insn end = {0x95, 0, 0, 0}, one = {0xb7, 0, 0, 1},
				  to_a = {0x85, 0, 0, GOAL_OP_HELPER_A},
				  to_result = {0x85, 0, 0, GOAL_OP_HELPER_RESULT};
	const struct goal_op_insn fine[] = {one, end};
	/* Memory: a number as an address, behind a block, before one, an operand, the view. */
	const struct goal_op_insn wild[] = {one, {0x79, 0, 0, 0}, end};
	const struct goal_op_insn behind[] = {to_a, {0x79, 0x01, 8 * 16, 0}, one, end};
	const struct goal_op_insn before[] = {to_result, {0x7a, 0, -8, 5}, one, end};
	const struct goal_op_insn operand[] = {to_a, {0x7a, 0, 0, 5}, one, end};
	const struct goal_op_insn view[] = {{0x7a, 1, 0, 5}, one, end};
	const struct goal_op_insn stack[] = {{0x7a, 10, -520, 5}, one, end};
	/* Flow: backwards, out of the program, without an end, not reached, into a constant. */
	const struct goal_op_insn loop[] = {one, {0x05, 0, -1, 0}, end};
	const struct goal_op_insn out[] = {one, {0x15, 0, 100, 0}, end};
	const struct goal_op_insn open[] = {one, one};
	const struct goal_op_insn dead[] = {one, end, one, end};
	const struct goal_op_insn half[] = {
	    one, {0x15, 0, 1, 0}, {0x18, 0, 0, 0}, {0, 0, 0, 0}, end};
	/* Values: not set, a pointer returned, helpers and maps that do not exist. */
	const struct goal_op_insn unset[] = {{0xbf, 0x20, 0, 0}, end};
	const struct goal_op_insn leak[] = {{0xbf, 0x10, 0, 0}, end};
	const struct goal_op_insn helper[] = {{0x85, 0, 0, 77}, one, end};
	const struct goal_op_insn map[] = {{0x18, 0x10, 0, 3}, {0, 0, 0, 0}, one, end};
	const struct goal_op_insn atomic[] = {to_result, {0xdb, 0, 0, 0}, one, end};

#define REFUSE(name) must_refuse(comm, name, sizeof(name) / sizeof((name)[0]), 8, 16)
	REFUSE(wild);
	REFUSE(behind);
	REFUSE(before);
	REFUSE(operand);
	REFUSE(view);
	REFUSE(stack);
	REFUSE(loop);
	REFUSE(out);
	REFUSE(open);
	REFUSE(dead);
	REFUSE(half);
	REFUSE(unset);
	REFUSE(leak);
	REFUSE(helper);
	REFUSE(map);
	REFUSE(atomic);
	/* Shapes: nothing, no elements, more than a block, products that wrap. */
	must_refuse(comm, fine, 0, 8, 16);
	must_refuse(comm, fine, 2, 0, 16);
	must_refuse(comm, fine, 2, 8, 0);
	must_refuse(comm, fine, 2, 8, 513);
	must_refuse(comm, fine, 2, 65, 1);
	must_refuse(comm, fine, 2, 64, UINT32_C(1) << 26);
	must_refuse(comm, fine, 2, UINT32_MAX, 1);
	many_paths(comm);
}

/* ---- random programs ------------------------------------------------------------------------ */

/* Runs an accepted one. It may fail, and may change its result alone. */
static void run(GOAL_Comm comm, const struct goal_op_prog *prog, uint32_t number)
{
	static uint8_t memory[3][ROOM + 2 * EDGE];
	size_t bytes = (size_t)ELEMS * prog->elem_bytes, i, k;
	GOAL_Graph g = GOAL_CreateGraphOn(comm);
	GOAL_Schedule s;
	int rc;

	for (i = 0; i < 3; i++)
		for (k = 0; k < sizeof(memory[0]); k++)
			memory[i][k] = (uint8_t)(k * 7 + i);
	comm->user_ops.num = 1;
	comm->user_ops.op[0] =
	    (struct goal_user_op){.number = number, .elem_bytes = prog->elem_bytes};
	check(GOAL_LocalOp(g, memory[0] + EDGE, memory[1] + EDGE, memory[2] + EDGE,
			   (GOAL_Op)GOAL_USER_FIRST, GOAL_UINT, 0, ELEMS) >= 0);
	s = compiled(g);
	rc = GOAL_Wait(GOAL_Run(s));
	check(rc == GOAL_SUCCESS || rc == GOAL_ERR_USER_OP || rc == GOAL_ERR_DIVIDE);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	for (i = 0; i < 3; i++)
		for (k = 0; k < sizeof(memory[0]); k++)
			if (i < 2 || k < EDGE || k >= EDGE + bytes)
				check(memory[i][k] == (uint8_t)(k * 7 + i));
	comm->user_ops.num = 0;
}

static void random_programs(uint32_t num)
{
	static struct opgen gen;
	const int self = 0;
	GOAL_Comm comm = GOAL_CommCreate(GOAL_CommWorld(), &self, 1);
	uint32_t refused = 0, ran = 0, number, i, k;
	uint8_t data[INPUT];
	int rc;

	for (i = 0; i < num; i++) {
		check(comm != NULL);
		for (k = 0; k < sizeof(data); k++)
			data[k] = random_byte();
		data[3] = i % 3 != 0;
		if (!data[3] && i % 2) {
			data[0] = 8;
			data[1] = 8;
			data[2] = 0;
		}
		check(opgen_make(&gen, data, OPGEN_HEAD + 8 * (1 + (size_t)i % 60)));
		rc = submit(comm, &gen.prog, &number);
		if (rc == -ENOSPC) {
			/* Operations go with their communicator. */
			check(GOAL_CommFree(comm) == GOAL_SUCCESS);
			comm = GOAL_CommCreate(GOAL_CommWorld(), &self, 1);
			rc = submit(comm, &gen.prog, &number);
		}
		check(rc == 0 || rc == -EINVAL);
		refused += rc != 0;
		ran += rc == 0;
		if (rc == 0)
			run(comm, &gen.prog, number);
	}
	check(GOAL_CommFree(comm) == GOAL_SUCCESS);
	check(refused && ran);
	printf("all %u: %u refused, %u ran\n", num, refused, ran);
}

int main(int argc, char **argv)
{
	check(argc > 1);
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	check(GOAL_Init() == GOAL_SUCCESS);
	rules(GOAL_CommWorld());
	random_programs((uint32_t)atoi(argv[1]));
	check(GOAL_Finalize() == GOAL_SUCCESS);
	return 0;
}
