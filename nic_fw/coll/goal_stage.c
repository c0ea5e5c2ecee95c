/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are copied before they are sent, in slices: their buffers are not mapped, or have
 * too many pieces for the gather lists of frames.
 *
 * A message may have 256 MiB; a step copies STEP_BYTES of one. Eager messages keep
 * their order: while one is being copied, the next messages of its run wait behind it, whatever
 * their length (run->staging). Announced messages have a receive of their own and need no order
 * (run->bulk). goal_msg.c adds messages, goal_step.c makes the steps. Calls goal_buf.c and
 * goal_msg_staged(). docs/collectives.md "Messages".
 */
#include "nic_fw/fw_nic.h"

enum {
	STEP_BYTES = 16 * 1024,
	BYTES_PER_COST = 4096, /* counted as one operation's work */
};

void goal_stage_add(struct fw_nic *nic, struct goal_run *run, struct goal_send *send)
{
	bool announced = send->kind == GOAL_SEND_DATA;

	send->staging = true;
	send->staged_bytes = 0;
	goal_cursor_init(&send->cursor, run->schedule->ops[send->op].buf[0]);
	fw_list_add_tail(announced ? &run->bulk : &run->staging, &send->stage_node);
	goal_run_wake(nic, run);
}

bool goal_stage_line(const struct goal_run *run)
{
	return !fw_list_empty(&run->staging);
}

/* Bytes whose copy takes as long: that of a short piece has a cost of its own. */
static uint64_t span_bytes(const struct goal_span *span)
{
	return span->bytes < GOAL_STRETCH_LEAST_BYTES ? GOAL_STRETCH_LEAST_BYTES : span->bytes;
}

/* Copies a part of the rest. False: the process's memory is not there, or not now. */
static bool copy_some(struct fw_nic *nic, struct goal_send *send, uint32_t *cost)
{
	uint64_t quantum = STEP_BYTES, used;
	struct goal_span span;

	for (; send->staged_bytes < send->bytes && quantum &&
	       !fw_dear_waits(nic, send->run->unmapped);
	     quantum -= used) {
		uint64_t left = send->bytes - send->staged_bytes;
		uint64_t max = send->run->unmapped ? FW_DEAR_COPY_BYTES : STEP_BYTES;

		max = max < quantum ? max : quantum;
		if (!goal_cursor_next(nic, send->run, &send->cursor, left < max ? left : max, 0,
				      &span))
			return false;
		if (!mem_read(nic, &span.mem, 0, send->staged + send->staged_bytes,
			      (uint32_t)span.bytes)) {
			goal_cursor_seek(send->run->schedule, &send->cursor, send->staged_bytes);
			return false;
		}
		send->staged_bytes += span.bytes;
		used = span_bytes(&span);
		*cost += (uint32_t)(used / BYTES_PER_COST);
		if (used > quantum)
			used = quantum;
	}
	return true;
}

uint32_t goal_stage_step(struct fw_nic *nic, struct goal_run *run)
{
	struct fw_list *line = fw_list_empty(&run->staging) ? &run->bulk : &run->staging;
	struct goal_send *send;
	uint32_t cost = 1;

	if (fw_list_empty(line))
		return 0;
	send = FW_CONTAINER(line->next, struct goal_send, stage_node);
	if (send->staged && !copy_some(nic, send, &cost)) {
		if (nic->host.mem_busy)
			goal_slow_run(nic, run);
		else
			goal_run_fault(nic, run, HW_GOAL_MEMORY, run->comm->rank, send->op);
		return cost;
	}
	if (send->staged && send->staged_bytes < send->bytes)
		return cost;
	fw_list_del(&send->stage_node);
	send->staging = false;
	goal_msg_staged(nic, run, send);
	return cost;
}
