/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are lost, or take no part any more: the runs that need them fail, in slices.
 *
 * Very many operations may wait for one rank, and a communicator may have very many runs. When a
 * stream ends, or a rank leaves, its link is queued at its communicator. A turn looks at some of
 * the link's operations and of the communicator's runs (slice.h), one link of each communicator at
 * a time. No operation joins a link without a stream. Messages that were queued on a stream that
 * has ended are freed on the way. Links of communicators that are gone only free theirs. Calls
 * goal_msg.c, goal_run.c. docs/collectives.md "Failure".
 */
#include "nic_fw/fw_nic.h"

bool goal_lost_left_before(const struct goal_link *link, uint32_t instance)
{
	return link->left && (int32_t)(instance - link->left_at) >= 0;
}

/*
 * True if a run may need the rank for messages that it does not wait for yet. A rank that closed
 * the communicator has completed its own runs, so that all its messages are known.
 */
static bool may_need(const struct goal_run *run, const struct goal_link *link)
{
	bool closed = link->lost_closed;

	if (link->left)
		closed = !goal_lost_left_before(link, run->instance);
	if (closed)
		return false;
	/* A receive from any rank may have waited for this rank. */
	if (run->any_recvs)
		return true;
	/* A multicast may need every rank that is the parent or a child in its tree. */
	return run->schedule->groups &&
	       run->schedule->neighbours[link->rank / 64] >> link->rank % 64 & 1;
}

static void fail_run(struct fw_nic *nic, struct goal_run *run, const struct goal_link *link)
{
	/* An announcement before its send has no run. */
	if (run && !run->ending && (!link->lost_left || goal_lost_left_before(link, run->instance)))
		goal_run_fault(nic, run, (enum hw_goal_status)link->lost_status, link->rank,
			       FW_NONE);
}

static void look_at_send(struct fw_nic *nic, struct goal_link *link)
{
	struct goal_send *send =
	    FW_CONTAINER(fw_list_take(&link->lost_sends), struct goal_send, link_node);

	fw_list_add_tail(&link->sends, &send->link_node);
	fail_run(nic, send->run, link);
	if (!link->stream)
		goal_send_lost(nic, send);
}

static void look_at_recv(struct fw_nic *nic, struct goal_link *link)
{
	struct goal_recv *recv =
	    FW_CONTAINER(fw_list_take(&link->lost_recvs), struct goal_recv, link_node);

	fw_list_add_tail(&link->recvs, &recv->link_node);
	fail_run(nic, recv->run, link);
}

/* False: units ran out. */
static bool look_at_runs(struct fw_nic *nic, struct goal_comm *comm, const struct goal_link *link,
			 uint32_t *looks)
{
	if (!comm->lost_run)
		comm->lost_run = comm->runs.next;
	while (comm->lost_run != &comm->runs) {
		struct goal_run *run = FW_CONTAINER(comm->lost_run, struct goal_run, comm_node);

		if (!slice_look(nic, looks))
			return false;
		comm->lost_run = comm->lost_run->next;
		if (may_need(run, link))
			fail_run(nic, run, link);
	}
	return true;
}

/* Continues with the communicator's links, until units run out. */
static void goal_lost_step(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t looks = 0;

	while (!fw_list_empty(&comm->lost)) {
		struct goal_link *link = FW_CONTAINER(comm->lost.next, struct goal_link, lost_node);

		for (; !fw_list_empty(&link->lost_sends); look_at_send(nic, link))
			if (!slice_look(nic, &looks))
				return;
		for (; !fw_list_empty(&link->lost_recvs); look_at_recv(nic, link))
			if (!slice_look(nic, &looks))
				return;
		if (!look_at_runs(nic, comm, link, &looks))
			return;
		goal_lost_cancel(comm, link);
	}
	fw_list_del(&comm->lost_node);
}

void goal_lost_cancel(struct goal_comm *comm, struct goal_link *link)
{
	if (comm->lost.next == &link->lost_node)
		comm->lost_run = NULL;
	fw_list_del(&link->lost_node);
	fw_list_splice_tail(&link->sends, &link->lost_sends);
	fw_list_splice_tail(&link->recvs, &link->lost_recvs);
}

void goal_lost_begin(struct fw_nic *nic, struct goal_comm *comm, struct goal_link *link,
		     bool closed, bool left, enum hw_goal_status status)
{
	/* A look that is under way suffices, unless it is for later runs alone. */
	if (fw_list_linked(&link->lost_node) && (left || !link->lost_left))
		return;
	goal_lost_cancel(comm, link);
	fw_list_splice_tail(&link->lost_sends, &link->sends);
	fw_list_splice_tail(&link->lost_recvs, &link->recvs);
	link->lost_closed = closed;
	link->lost_left = left;
	link->lost_status = (uint8_t)status;
	fw_list_add_tail(&comm->lost, &link->lost_node);
	if (!fw_list_linked(&comm->lost_node))
		fw_list_add_tail(&nic->goal.lost, &comm->lost_node);
	slice_wait(&nic->slices, SLICE_LOST);
	goal_lost_step(nic, comm);
}

void goal_lost_forget_run(struct goal_comm *comm, const struct goal_run *run)
{
	if (comm->lost_run == &run->comm_node)
		comm->lost_run = run->comm_node.next;
}

/* ---- links of communicators that are gone */

bool goal_lost_drain(struct fw_nic *nic, struct goal_link *link)
{
	assert(!link->stream && fw_list_empty(&link->recvs) && fw_list_empty(&link->lost_recvs));
	fw_list_splice_tail(&link->sends, &link->lost_sends);
	while (!fw_list_empty(&link->sends)) {
		if (!slice_take(nic, 1))
			return false;
		goal_send_free(nic, FW_CONTAINER(link->sends.next, struct goal_send, link_node));
	}
	return true;
}

void goal_lost_free(struct fw_nic *nic, struct goal_link *link)
{
	if (goal_lost_drain(nic, link))
		goal_link_free(nic, link);
	else if (!fw_list_linked(&link->lost_node))
		fw_list_add_tail(&nic->goal.drains, &link->lost_node);
	slice_wait(&nic->slices, SLICE_LOST);
}

bool goal_lost_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->goal.lost) || !fw_list_empty(&nic->goal.drains);
}

void goal_lost_slice(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->goal.drains);

	if (!goal_lost_pending(nic) && !node)
		return;
	nic->turn_did |= FW_DID_LEAVE;
	if (node)
		goal_lost_free(nic, FW_CONTAINER(node, struct goal_link, lost_node));
	node = fw_list_pop(&nic->goal.lost);
	if (!node)
		return;
	/* The communicator goes to the end of the list, and leaves it when all is done. */
	fw_list_add_tail(&nic->goal.lost, node);
	goal_lost_step(nic, FW_CONTAINER(node, struct goal_comm, lost_node));
}

void goal_lost_init(struct fw_nic *nic)
{
	fw_list_init(&nic->goal.lost);
	fw_list_init(&nic->goal.drains);
}
