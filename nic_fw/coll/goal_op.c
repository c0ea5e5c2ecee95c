/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations that processes registered on their communicators.
 *
 * The port hands the byte code over in fw_cmd_aux.code, as it came with the command, and perhaps a
 * compiled form of it. The code is copied to the heap first and verified there, so that what was
 * checked is what runs. An operation lasts as long as its communicator: schedules name it by number
 * and mark (goal_load.c).
 *
 * Calls goal_op_verify.c and the port's native_free(). docs/user-ops.md.
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

static_assert(sizeof(struct goal_op_check) <= FW_SCRATCH_BYTES, "the verifier works in it");

static int answer(struct hw_cmd_resp *resp, const struct goal_op_verdict *verdict)
{
	size_t i;

	resp->status = FW_EINVAL;
	resp->u.goal_op.op = FW_NONE;
	resp->u.goal_op.insn = verdict->insn;
	for (i = 0; i < sizeof(resp->u.goal_op.why) - 1 && verdict->why[i]; i++)
		resp->u.goal_op.why[i] = verdict->why[i];
	resp->u.goal_op.why[i] = '\0';
	return CMD_REFUSED;
}

static struct goal_op *goal_op_copy(struct fw_nic *nic, uint32_t client,
				    const struct hw_cmd_goal_op *arg, const struct fw_cmd_aux *aux)
{
	uint64_t bytes = (uint64_t)arg->num_insns * sizeof(struct goal_op_insn);
	struct goal_op *op = goal_heap_alloc(nic, client, sizeof(*op) + bytes);

	if (!op)
		return NULL;
	memset(op, 0, sizeof(*op));
	memcpy(op->insns, aux->code, bytes);
	memcpy(op->args, arg->args, sizeof(op->args));
	op->mark = arg->mark;
	op->prog = (struct goal_op_prog){op->insns, arg->num_insns, arg->elem_bytes, arg->block};
	return op;
}

int cmd_goal_op(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_goal_op *arg = &cmd->u.goal_op;
	struct goal_comm *comm = goal_comm_own(nic, client, arg->comm);
	struct goal_op_check *check = (void *)nic->scratch;
	struct goal_op_verdict verdict;
	struct goal_op *op;

	if (!comm || !aux || !aux->code || arg->num_insns > GOAL_OP_MAX_INSNS || arg->reserved)
		return FW_EINVAL;
	if (comm->num_ops == GOAL_OPS_PER_COMM)
		return FW_ENOSPC;
	op = goal_op_copy(nic, client, arg, aux);
	if (!op)
		return FW_ENOSPC;
	if (!goal_op_verify(check, &op->prog, &verdict)) {
		goal_heap_free(nic, client, op);
		return answer(resp, &verdict);
	}
	op->cost = verdict.cost;
	op->uses_work = verdict.uses_work;
	op->native = aux->native;
	op->native_handle = aux->native_handle;
	resp->u.goal_op.op = comm->num_ops;
	resp->u.goal_op.insn = FW_NONE;
	resp->u.goal_op.native = op->native != NULL;
	comm->ops[comm->num_ops++] = op;
	FW_COUNT(nic, goal_user_ops);
	return 0;
}

void goal_op_end(struct fw_nic *nic, struct goal_comm *comm)
{
	while (comm->num_ops) {
		struct goal_op *op = comm->ops[--comm->num_ops];

		if (op->native_handle)
			nic->port.native_free(nic->port.ctx, op->native_handle);
		goal_heap_free(nic, comm->client, op);
	}
}

const char *goal_op_check_use(const struct goal_comm *comm, const struct goal_insn *insn)
{
	const struct goal_op *op;

	if (!comm || insn->peer >= comm->num_ops)
		return "an operation that is not registered on the communicator";
	op = comm->ops[insn->peer];
	if (insn->tag != op->mark)
		return "another operation is registered under this number";
	if (insn->width != op->prog.elem_bytes)
		return "elements are not of the bytes that the operation was registered with";
	return NULL;
}
