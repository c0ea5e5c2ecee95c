/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: byte code of users' operations. What the verifier accepts runs in the interpreter on
 * blocks that end where they must (sanitizers see an access beyond), twice, with the same result;
 * operands and arguments stay as they were.
 *
 * The first bytes of an input are the shape and a flag (opgen.h), then come instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/opgen.h"

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* A call on new blocks; *result is the block of that name, which the caller frees. */
static uint64_t run(const struct goal_op_prog *prog, uint8_t **result)
{
	uint32_t bytes = prog->elem_bytes * prog->block, i, k;
	struct goal_op_call *call = calloc(1, sizeof(*call));
	uint64_t value;

	call->view.count = prog->block;
	call->view.elem_bytes = prog->elem_bytes;
	call->view.block = prog->block;
	for (k = 0; k < sizeof(call->view.args); k++)
		call->view.args[k] = (uint8_t)(k * 3);
	for (i = 0; i < 4; i++) {
		call->buf[i] = calloc(1, bytes);
		for (k = 0; i < 3 && k < bytes; k++)
			call->buf[i][k] = (uint8_t)(k * 11 + i);
	}
	value = goal_op_exec(prog->insns, call);
	for (k = 0; k < bytes; k++)
		must(call->buf[0][k] == (uint8_t)(k * 11) &&
		     call->buf[1][k] == (uint8_t)(k * 11 + 1));
	for (k = 0; k < sizeof(call->view.args); k++)
		must(call->view.args[k] == (uint8_t)(k * 3));
	must(call->view.count == prog->block);
	*result = call->buf[2];
	free(call->buf[0]);
	free(call->buf[1]);
	free(call->buf[3]);
	free(call);
	return value;
}

void fuzz_ops_begin(void)
{
}

void fuzz_ops(const uint8_t *data, size_t bytes)
{
	static struct goal_op_check check;
	static struct opgen gen;
	struct goal_op_verdict verdict;
	uint8_t *first, *second;
	uint64_t value;

	if (!opgen_make(&gen, data, bytes))
		return;
	if (!goal_op_verify(&check, &gen.prog, &verdict)) {
		must(verdict.why && verdict.why[0]);
		return;
	}
	must(verdict.cost && verdict.cost <= GOAL_OP_MAX_COST);
	value = run(&gen.prog, &first);
	must(run(&gen.prog, &second) == value);
	must(!memcmp(first, second, gen.prog.elem_bytes * gen.prog.block));
	free(first);
	free(second);
}
