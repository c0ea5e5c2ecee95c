/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PERFTRACE: records when a run passed which point, in memory that its client gave with the run.
 *
 * A run without a trace costs one branch. Times are the port's clock where it has one, so points of
 * one turn differ. Points without room are counted. Calls mem.h. ESPGOAL 2.3;
 * docs/collectives.md "Tracing".
 */
#include "nic_fw/fw_nic.h"

void goal_trace_begin(struct goal_run *run, const struct hw_goal_run *line)
{
	run->tracing = line->trace_addr && line->trace_entries;
	run->trace_addr = line->trace_addr;
	run->trace_stag = line->trace_stag;
	run->trace_entries = line->trace_entries;
}

void goal_trace_put(struct fw_nic *nic, struct goal_run *run, enum hw_goal_point point, uint32_t op)
{
	struct hw_goal_trace entry = {fw_clock_ns(nic), point, op};
	struct fw_mem mem;

	if (run->traced < run->trace_entries &&
	    mem_check(nic, run->schedule->pd, 0, run->trace_stag,
		      run->trace_addr + (uint64_t)run->traced * sizeof(entry), sizeof(entry),
		      HW_ACCESS_LOCAL_WRITE, &mem) == HW_VENDOR_ERR_NONE &&
	    mem_write(nic, &mem, 0, &entry, sizeof(entry))) {
		run->traced++;
		return;
	}
	/* The buffer is full, or the memory is gone; in both cases it is not tried again. */
	run->trace_entries = run->traced;
	if (run->trace_lost < UINT32_MAX)
		run->trace_lost++;
}

void goal_trace_send(struct goal_run *run, struct goal_send *send, uint32_t op)
{
	if (!run->tracing)
		return;
	send->trace_run = run;
	send->trace_op = op;
	send->xfer.traced = true;
	fw_list_add_tail(&run->traced_sends, &send->trace_node);
}

void goal_trace_passed(struct fw_nic *nic, struct goal_send *send, enum esp_point point)
{
	static const enum hw_goal_point points[] = {
	    [ESP_POINT_FIRST] = HW_GOAL_POINT_PACKET_FIRST,
	    [ESP_POINT_LAST] = HW_GOAL_POINT_PACKET_LAST,
	    [ESP_POINT_AGAIN] = HW_GOAL_POINT_PACKET_AGAIN,
	    [ESP_POINT_ACKED] = HW_GOAL_POINT_MSG_ACKED,
	};

	if (send->trace_run)
		goal_trace_put(nic, send->trace_run, points[point], send->trace_op);
}

void goal_trace_arrived(struct fw_nic *nic, struct goal_comm *comm, uint32_t instance)
{
	struct goal_run *run = goal_run_find(nic, comm, instance);

	if (run)
		goal_run_trace(nic, run, HW_GOAL_POINT_MSG_ARRIVED, FW_NONE);
}

void goal_trace_end(struct goal_run *run)
{
	struct fw_list *pos;

	/* Messages that are not acknowledged yet continue without the trace. */
	while ((pos = fw_list_pop(&run->traced_sends))) {
		struct goal_send *send = FW_CONTAINER(pos, struct goal_send, trace_node);

		send->trace_run = NULL;
		send->xfer.traced = false;
	}
}
