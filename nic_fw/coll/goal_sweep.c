/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removes messages without a receive and announcements without a send, of runs that have ended or
 * never began here.
 *
 * Other ranks may send very much for future runs, so the end of a run must not scan all of it. When
 * a run has ended, goal_sweep() begins a walk of its communicator's lists, four items to a unit, in
 * turns (slice.h), and frees items that are for no future or active run. Until then no key finds
 * them. Calls goal_match.c and goal_msg.c.
 */
#include "nic_fw/fw_nic.h"

/* Each free costs a unit; when units run out the walk stops after it. */
static bool look_at_unexps(struct fw_nic *nic, struct goal_comm *comm, uint32_t *looks)
{
	while (comm->sweep_unexp != &comm->unexps) {
		struct goal_unexp *unexp =
		    FW_CONTAINER(comm->sweep_unexp, struct goal_unexp, comm_node);

		if (!slice_look(nic, looks))
			return false;
		comm->sweep_unexp = unexp->comm_node.next;
		if (goal_run_is_current(nic, comm, unexp->key.instance))
			continue;
		goal_unexp_free(nic, unexp);
		*looks = 0;
	}
	return true;
}

static bool look_at_announced(struct fw_nic *nic, struct goal_comm *comm, uint32_t *looks)
{
	while (comm->sweep_announced != &comm->announced) {
		struct goal_send *send =
		    FW_CONTAINER(comm->sweep_announced, struct goal_send, run_node);

		if (!slice_look(nic, looks))
			return false;
		comm->sweep_announced = send->run_node.next;
		if (goal_run_is_current(nic, comm, send->key.instance))
			continue;
		goal_send_free(nic, send);
		*looks = 0;
	}
	return true;
}

static void goal_sweep_begin(struct goal_comm *comm)
{
	comm->sweep_unexp = comm->unexps.next;
	comm->sweep_announced = comm->announced.next;
	comm->sweep_again = false;
}

/* False: units ran out. */
static bool goal_sweep_step(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t looks = 0;

	for (;;) {
		if (!look_at_unexps(nic, comm, &looks) || !look_at_announced(nic, comm, &looks))
			return false;
		if (!comm->sweep_again)
			return true;
		goal_sweep_begin(comm);
	}
}

void goal_sweep(struct fw_nic *nic, struct goal_comm *comm)
{
	if (fw_list_empty(&comm->unexps) && fw_list_empty(&comm->announced))
		return;
	if (fw_list_linked(&comm->sweep_node)) {
		comm->sweep_again = true;
		return;
	}
	goal_sweep_begin(comm);
	if (goal_sweep_step(nic, comm))
		return;
	fw_list_add_tail(&nic->slices.sweeps, &comm->sweep_node);
	slice_wait(&nic->slices, SLICE_SWEEP);
}

void goal_sweep_run(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.sweeps);
	struct goal_comm *comm;

	if (!node)
		return;
	comm = FW_CONTAINER(node, struct goal_comm, sweep_node);
	nic->turn_did |= FW_DID_LEAVE;
	if (!goal_sweep_step(nic, comm))
		fw_list_add_tail(&nic->slices.sweeps, &comm->sweep_node);
}

void goal_sweep_forget(struct goal_comm *comm, const struct fw_list *node)
{
	if (comm->sweep_unexp == node)
		comm->sweep_unexp = node->next;
	if (comm->sweep_announced == node)
		comm->sweep_announced = node->next;
}

void goal_send_unannounce(struct fw_nic *nic, struct goal_send *send)
{
	send->link->announced--;
	/* A communicator that is gone has given up all of them. */
	if (send->link->comm != FW_NONE)
		goal_sweep_forget(&nic->goal.comms[send->link->comm], &send->run_node);
	fw_list_del(&send->run_node);
}
