/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of users: GOAL_RegisterOp().
 *
 * All ranks of a communicator compare the SHA-256 of program, shape and arguments before they give
 * the program to their NICs, and the outcome afterwards: both by an allreduce that the NICs run.
 * Calls goal_elf.c, weft_goal_op() and libmd. ESPGOAL 2.3; docs/user-ops.md.
 */
#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/file/goal_elf.h"
#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/libgoal.h"

enum {
	WORDS = 4, /* of a digest */
};

/* A registration under way. */
struct attempt {
	GOAL_Comm comm;
	struct goal_elf elf;
	uint8_t args[GOAL_OP_ARGS_BYTES];
	uint32_t args_bytes;
	union {
		uint8_t bytes[SHA256_DIGEST_LENGTH];
		uint64_t words[WORDS];
	} digest;
	char detail[LIBGOAL_DETAIL];
};
_Static_assert(sizeof(((struct goal_user_op *)0)->digest) == SHA256_DIGEST_LENGTH, "");

static void make_digest(struct attempt *a)
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)&a->elf.shape, sizeof(a->elf.shape));
	SHA256Update(&sha, a->args, sizeof(a->args));
	SHA256Update(&sha, (const uint8_t *)a->elf.insns,
		     (size_t)a->elf.num_insns * sizeof(a->elf.insns[0]));
	SHA256Final(a->digest.bytes, &sha);
}

/*
 * Compares words over all ranks: *same is true at every rank if they are equal at all. The least of
 * a word and the least of its complement are its own at every rank, or at none.
 */
static int compare(GOAL_Comm comm, const uint64_t words[WORDS], int *same)
{
	uint64_t least[2 * WORDS];
	GOAL_Schedule sched;
	GOAL_Handle run;
	int i, rc;

	for (i = 0; i < WORDS; i++) {
		least[i] = words[i];
		least[WORDS + i] = ~words[i];
	}
	sched = GOAL_AllreduceSchedule(comm, GOAL_IN_PLACE, least, 2 * WORDS, GOAL_MIN, GOAL_UINT,
				       64, GOAL_ALG_RECURSIVE_DOUBLING);
	if (!sched)
		return GOAL_LastError();
	run = GOAL_Run(sched);
	rc = run < 0 ? (int)run : GOAL_Wait(run);
	(void)GOAL_FreeSchedule(sched);
	for (i = 0, *same = 1; i < WORDS; i++)
		*same &= least[i] == ~least[WORDS + i];
	return rc;
}

/* Agrees on the outcome of this rank: GOAL_SUCCESS only if it is that at every rank. */
static int agree(struct attempt *a, int mine)
{
	const uint64_t words[WORDS] = {mine != GOAL_SUCCESS};
	int same, rc = compare(a->comm, words, &same);

	if (rc != GOAL_SUCCESS || mine != GOAL_SUCCESS || same)
		return mine != GOAL_SUCCESS ? mine : rc;
	snprintf(a->detail, sizeof(a->detail), "another rank could not register the operation");
	return GOAL_ERR_USER_OP;
}

static int find_registered(const struct attempt *a)
{
	const struct goal_user_ops *ops = &a->comm->user_ops;
	uint32_t i;

	for (i = 0; i < ops->num; i++)
		if (!memcmp(ops->op[i].digest, a->digest.bytes, sizeof(ops->op[i].digest)))
			return (int)(GOAL_USER_FIRST + i);
	return 0;
}

static int load(struct attempt *a, struct goal_user_op *op)
{
	const struct weft_goal_op_attr attr = {.insns = a->elf.insns,
					       .num_insns = a->elf.num_insns,
					       .elem_bytes = a->elf.shape.elem_bytes,
					       .block = a->elf.shape.block,
					       .mark = (uint32_t)a->digest.words[0],
					       .args = a->args,
					       .args_bytes = a->args_bytes};
	char why[WEFT_GOAL_WHY_BYTES];
	uint32_t insn;
	int rc = weft_goal_op(a->comm->lib->goal, a->comm->handle, &attr, &op->number, why, &insn);

	if (rc == -EINVAL && why[0]) {
		if (insn != UINT32_MAX)
			snprintf(a->detail, sizeof(a->detail), "instruction %u: %s", insn, why);
		else
			snprintf(a->detail, sizeof(a->detail), "%s", why);
		return GOAL_ERR_USER_OP;
	}
	if (rc == -ENOSPC)
		snprintf(a->detail, sizeof(a->detail),
			 "the communicator has %d operations, or the NIC no memory left",
			 GOAL_OPS_PER_COMM);
	op->mark = attr.mark;
	op->elem_bytes = attr.elem_bytes;
	memcpy(op->digest, a->digest.bytes, sizeof(op->digest));
	return libgoal_errno(rc);
}

static int attempt(struct attempt *a, const char *object, const char *section)
{
	const char *why = goal_elf_read(object, section, &a->elf);
	struct goal_user_ops *ops = &a->comm->user_ops;
	struct goal_user_op op = {0};
	int same, found, rc;

	if (why)
		snprintf(a->detail, sizeof(a->detail), "%s: %s", object, why);
	else
		make_digest(a);
	rc = compare(a->comm, a->digest.words, &same);
	if (rc != GOAL_SUCCESS || why)
		return why ? GOAL_ERR_FILE : rc;
	if (!same) {
		snprintf(a->detail, sizeof(a->detail), "program or arguments differ between ranks");
		return GOAL_ERR_USER_OP;
	}
	found = find_registered(a);
	if (found)
		return found;
	rc = ops->num < GOAL_OPS_PER_COMM ? load(a, &op) : GOAL_ERR_LIMIT;
	rc = agree(a, rc);
	if (rc != GOAL_SUCCESS)
		return rc;
	ops->op[ops->num] = op;
	return (int)(GOAL_USER_FIRST + ops->num++);
}

int GOAL_RegisterOpOn(GOAL_Comm comm, const char *object, const char *section, const void *args,
		      size_t args_bytes)
{
	struct attempt *a;
	int rc;

	if (!comm || !object || !section || args_bytes > GOAL_OP_ARGS_BYTES ||
	    (args_bytes && !args))
		return libgoal_error(GOAL_ERR_ARG,
				     "GOAL_RegisterOp: no communicator, object file or section, or "
				     "more than 64 bytes of arguments");
	a = calloc(1, sizeof(*a));
	if (!a)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	a->comm = comm;
	a->args_bytes = (uint32_t)args_bytes;
	if (args_bytes)
		memcpy(a->args, args, args_bytes);
	rc = attempt(a, object, section);
	if (rc < 0)
		libgoal_error(rc, a->detail);
	free(a);
	return rc;
}

int GOAL_OpElemBytes(GOAL_Comm comm, GOAL_Op op)
{
	return comm ? (int)goal_user_elem_bytes(&comm->user_ops, (uint32_t)op, 0) : 0;
}

int GOAL_RegisterOp(const char *object, const char *section)
{
	GOAL_Comm world = GOAL_CommWorld();

	return world ? GOAL_RegisterOpOn(world, object, section, NULL, 0) : GOAL_LastError();
}
