/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of users that a communicator has: goal_op.c and goal_op_local.c.
 *
 * All functions are the core's alone. docs/user-ops.md.
 */
#ifndef WEFT_FW_GOAL_USER_H
#define WEFT_FW_GOAL_USER_H

#include "nic_fw/coll/goal.h"
#include "nic_fw/coll/goal_op.h"

/* An operation that a process registered on a communicator. */
struct goal_op {
	struct goal_op_prog prog;
	uint32_t mark;
	uint32_t cost; /* of a call */
	bool uses_work;
	uint8_t args[GOAL_OP_ARGS_BYTES];
	uint64_t (*native)(void *call); /* NULL: interpreted */
	void *native_handle;
	struct goal_op_insn insns[];
};

/* Checks that a schedule may use an operation as it does; returns a reason, or NULL. */
const char *goal_op_check_use(const struct goal_comm *comm, const struct goal_insn *insn);
/* As goal_local_step(), for GOAL_LOCAL_USER. */
bool goal_op_step(struct fw_nic *nic, struct goal_run *run, uint32_t op, uint32_t *cost);
/* Frees the operations of a communicator without schedules. */
void goal_op_end(struct fw_nic *nic, struct goal_comm *comm);
/* The client's own communicator of that handle; NULL. */
struct goal_comm *goal_comm_own(struct fw_nic *nic, uint32_t client, uint32_t handle);

#endif /* WEFT_FW_GOAL_USER_H */
