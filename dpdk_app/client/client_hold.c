/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that wait for a copy. A copy of unmapped memory that the core has abandoned may still be
 * in progress when the process deregisters that memory, or destroys or resets the queue pair. It
 * could then write to memory that the process uses for another purpose. The command is executed at
 * once, but its answer is held until the copy has finished. A process that ends does not wait.
 *
 * Calls hostcopy.c and client.c. Control thread only.
 */
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/hostcopy.h"
#include "dpdk_app/client/msg.h"

/* Commands after whose answer the process may reuse memory. */
static bool gives_memory_back(const struct hw_cmd *cmd)
{
	const struct hw_cmd_modify_qp *modify = &cmd->u.modify_qp;

	switch (cmd->op) {
	case HW_CMD_DEREG_MR:
	case HW_CMD_MODIFY_MR:
	case HW_CMD_DEALLOC_MW:
	case HW_CMD_DESTROY_QP:
	case HW_CMD_DESTROY_SRQ:
	case HW_CMD_GOAL_COMM_DESTROY:
	case HW_CMD_GOAL_CANCEL:
		return true;
	case HW_CMD_MODIFY_QP:
		/* Out of its working states. */
		return modify->mask & HW_QP_STATE &&
		       (modify->attr.state == HW_QPS_RESET || modify->attr.state == HW_QPS_SQE ||
			modify->attr.state == HW_QPS_ERR);
	default:
		return false;
	}
}

bool client_hold(struct client *c, struct msg *msg)
{
	if (!c->copy || c->doomed || msg->kind != MSG_CMD || !gives_memory_back(&msg->cmd))
		return false;
	if (!msg->copy_mark)
		msg->copy_mark = hostcopy_mark(c->copy);
	if (hostcopy_passed(c->copy, msg->copy_mark))
		return false;
	msg->next = c->held;
	c->held = msg;
	return true;
}

void client_hold_over(struct client *c)
{
	struct msg *msg = c->held, *next;

	/* Commands that still wait are put back on the list. */
	for (c->held = NULL; msg; msg = next) {
		next = msg->next;
		client_msg_back(msg);
	}
}

void client_hold_drop(struct client *c)
{
	struct msg *next;

	for (struct msg *msg = c->held; msg; msg = next) {
		next = msg->next;
		msg_free(msg);
	}
	c->held = NULL;
}
