/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicasts: messages from one rank to all others of its communicator.
 *
 * mgrp_tx.c sends the packets; goal_msg_rx.c receives them. Matching, pool and limits are those of
 * other messages; the key of a multicast has `group` set. A send is finished when its last packet
 * was copied into the ring, a receive when its data have arrived. Repairs for other ranks come from
 * the ring. docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

/* False: a neighbour in the tree is lost, and the run fails with it. */
static bool neighbours_there(struct fw_nic *nic, struct goal_run *run, uint32_t index,
			     const struct mgrp_space *space)
{
	uint32_t lost = mgrp_lost(nic, space, run->instance);

	if (lost == FW_NONE)
		return true;
	goal_run_fault(nic, run, HW_GOAL_PEER_LOST, lost, index);
	return false;
}

enum hw_goal_status goal_group_send(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_key4 key = {run->instance, op->peer, op->tag, op->count, true};
	struct mgrp_space *space;
	struct goal_send *send;

	if (!run->again)
		FW_COUNT(nic, goal_msgs_tx);
	if (run->comm->num_ranks == 1) {
		goal_step_finish_op(nic, run, index);
		return HW_GOAL_OK;
	}
	space = mgrp_space_get(nic, run->comm, run->comm->rank);
	if (!space)
		return HW_GOAL_RESOURCES;
	if (!neighbours_there(nic, run, index, space))
		return HW_GOAL_OK;
	send = goal_send_new(nic, run->client, NULL, GOAL_SEND_GROUP, WIRE_GOAL_EAGER, &key);
	if (!send)
		return HW_GOAL_RESOURCES;
	send->bytes = op->amount;
	goal_cursor_init(&send->cursor, op->buf[0]);
	goal_send_tie(run, index, send);
	fw_list_add_tail(&space->queue, &send->link_node);
	mgrp_ready(nic, space);
	return HW_GOAL_OK;
}

/* Waits for the parent, which must deliver the rest. False: there is none any more. */
static bool await_parent(struct fw_nic *nic, const struct mgrp_space *space, struct goal_recv *recv)
{
	struct goal_link *link = goal_link_at(nic, recv->run->comm, space->parent);

	if (!link || !link->stream)
		return false;
	goal_recv_await(nic, recv, link);
	return true;
}

enum hw_goal_status goal_group_recv(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_key4 key = {run->instance, op->peer, op->tag, op->count, true};
	struct mgrp_space *space = mgrp_space_get(nic, run->comm, op->peer);
	struct goal_unexp *unexp;
	struct goal_recv *recv;
	enum hw_goal_status status;

	if (!space)
		return HW_GOAL_RESOURCES;
	if (!neighbours_there(nic, run, index, space))
		return HW_GOAL_OK;
	unexp = goal_unexp_find(nic, run->comm, &key);
	if (unexp) {
		bool whole = unexp->received == unexp->bytes;

		status = goal_recv_unexpected(nic, run, index, unexp);
		if (status != HW_GOAL_OK || whole)
			return status;
		recv = goal_recv_find(nic, run->comm, &key);
	} else {
		recv = goal_recv_new(nic, run, index);
		if (!recv)
			return HW_GOAL_RESOURCES;
		goal_recv_hash(nic, recv);
	}
	if (!await_parent(nic, space, recv)) {
		goal_run_fault(nic, run, HW_GOAL_PEER_LOST, space->parent, index);
		return HW_GOAL_OK;
	}
	/* The space may be full of just this message. */
	goal_comm_unblock(nic, run->comm);
	return HW_GOAL_OK;
}
