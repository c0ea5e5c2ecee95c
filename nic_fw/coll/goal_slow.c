/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations and packets that wait for pages of the process.
 *
 * Memory that is not mapped may answer "not now" (fw_port.h, -EBUSY): a page of it has to come
 * first. An operation is then repeated after a while, from where it stood; a packet is left to its
 * stream, or its group, and offered again. A write that was given up may still be carried out, so
 * each repetition writes the same bytes to the same place. What a run can do without that memory
 * goes on meanwhile, as do other runs. Calls esp.h, mgrp.h. docs/collectives.md "Buffers".
 */
#include "nic_fw/fw_nic.h"

enum {
	RESUMED_AT_ONCE = 16, /* streams of a communicator */
};

enum hw_goal_status goal_slow_status(const struct fw_nic *nic)
{
	return nic->host.mem_busy ? GOAL_NOT_NOW : HW_GOAL_MEMORY;
}

/* ---- operations */

void goal_slow_run_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_run *run = FW_CONTAINER(timer, struct goal_run, slow_timer);

	run->slow = false;
	goal_run_wake(nic, run);
}

void goal_slow_run_init(struct goal_run *run)
{
	fw_timer_init(&run->slow_timer, FW_TIMER_GOAL_RUN_SLOW);
}

void goal_slow_run(struct fw_nic *nic, struct goal_run *run)
{
	FW_COUNT(nic, goal_slow);
	run->slow = true;
	fw_timer_set(&nic->timers, &run->slow_timer, nic->now_ns + GOAL_SLOW_NS);
}

/* ---- packets, and packets of multicasts that cannot be made */

void goal_slow_comm_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_comm *comm = FW_CONTAINER(timer, struct goal_comm, slow_timer);
	struct mgrp_space *own;
	uint32_t left = RESUMED_AT_ONCE;
	struct fw_list *pos;

	while (left-- && (pos = fw_list_pop(&comm->slow))) {
		struct goal_link *link = FW_CONTAINER(pos, struct goal_link, slow_node);

		if (link->stream)
			esp_resume(nic, link->stream);
	}
	if (!fw_list_empty(&comm->slow))
		fw_timer_set(&nic->timers, &comm->slow_timer, nic->now_ns + FW_SOON_NS);
	/* Its group may have ended meanwhile. */
	if (comm->ungrouped)
		return;
	goal_stall_unblock_group(nic, comm);
	own = mgrp_space_find(nic, comm, comm->rank);
	if (own) {
		own->slow = false;
		mgrp_ready(nic, own);
	}
}

void goal_slow_comm_init(struct goal_comm *comm)
{
	fw_list_init(&comm->slow);
	fw_timer_init(&comm->slow_timer, FW_TIMER_GOAL_COMM_SLOW);
}

void goal_slow_comm(struct fw_nic *nic, struct goal_comm *comm, struct goal_link *link)
{
	FW_COUNT(nic, goal_slow);
	goal_stall_moved(comm);
	if (link && !fw_list_linked(&link->slow_node))
		fw_list_add_tail(&comm->slow, &link->slow_node);
	if (!fw_timer_is_set(&comm->slow_timer))
		fw_timer_set(&nic->timers, &comm->slow_timer, nic->now_ns + GOAL_SLOW_NS);
}

void goal_slow_group(struct fw_nic *nic, struct goal_comm *comm)
{
	goal_stall_moved(comm);
	fw_timer_set(&nic->timers, &comm->slow_timer, nic->now_ns + FW_SOON_NS);
}

bool goal_slow_waits(const struct goal_comm *comm)
{
	return fw_timer_is_set(&comm->slow_timer);
}
