/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PERFTRACE: records when a run passed which point, in memory that its client gave with the run.
 *
 * A run without a trace costs one branch. Times are the port's clock where it has one, so points of
 * one turn differ. Points without room are counted. Points whose page has not come are kept, and
 * written in their order when it has; a complete run waits for that. Calls mem.h, goal_heap.h.
 * ESPGOAL 2.3; docs/collectives.md "Tracing".
 */
#include "nic_fw/fw_nic.h"

enum {
	LATE_POINTS = 16384, /* kept at a time: 256 KiB of the process's share */
	LATE_AT_ONCE = 64,
};

void goal_trace_begin(struct goal_run *run, const struct hw_goal_run *line)
{
	run->tracing = line->trace_addr && line->trace_entries;
	run->trace_addr = line->trace_addr;
	run->trace_stag = line->trace_stag;
	run->trace_entries = line->trace_entries;
	fw_timer_init(&run->late.timer, FW_TIMER_GOAL_TRACE);
}

/* Writes points behind those that are written. False: not now, or never (nic->host.mem_busy). */
static bool write_points(struct fw_nic *nic, struct goal_run *run,
			 const struct hw_goal_trace *points, uint32_t count)
{
	uint32_t bytes = count * (uint32_t)sizeof(*points);
	struct fw_mem mem;

	nic->host.mem_busy = false;
	if (mem_check(nic, run->schedule->pd, 0, run->trace_stag,
		      run->trace_addr + (uint64_t)run->traced * sizeof(*points), bytes,
		      HW_ACCESS_LOCAL_WRITE, &mem) != HW_VENDOR_ERR_NONE ||
	    !mem_write(nic, &mem, 0, points, bytes))
		return false;
	run->traced += count;
	return true;
}

static void goal_trace_lose(struct goal_run *run, uint32_t count)
{
	run->trace_lost =
	    run->trace_lost > UINT32_MAX - count ? UINT32_MAX : run->trace_lost + count;
}

static uint32_t late_left(const struct goal_run *run)
{
	return run->late.count - run->late.written;
}

/* Keeps a point until its page comes. False: no room. */
static bool goal_trace_keep(struct fw_nic *nic, struct goal_run *run,
			    const struct hw_goal_trace *point)
{
	struct goal_trace_late *late = &run->late;
	uint32_t room = run->trace_entries - run->traced;

	if (!late->points) {
		if (room > LATE_POINTS)
			room = LATE_POINTS;
		late->points =
		    goal_heap_alloc(nic, run->client, (uint64_t)room * sizeof(*late->points));
		if (!late->points)
			return false;
		late->room = room;
		late->count = late->written = 0;
		fw_timer_set(&nic->timers, &late->timer, nic->now_ns + GOAL_SLOW_NS);
	}
	if (late->count == late->room || late_left(run) >= room)
		return false;
	late->points[late->count++] = *point;
	return true;
}

static void late_over(struct fw_nic *nic, struct goal_run *run)
{
	fw_timer_cancel(&nic->timers, &run->late.timer);
	goal_heap_free(nic, run->client, run->late.points);
	run->late.points = NULL;
	run->late.count = run->late.written = 0;
}

void goal_trace_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_run *run = FW_CONTAINER(timer, struct goal_run, late.timer);
	uint32_t count = late_left(run) < LATE_AT_ONCE ? late_left(run) : LATE_AT_ONCE;

	if (write_points(nic, run, run->late.points + run->late.written, count)) {
		run->late.written += count;
		if (late_left(run)) {
			fw_timer_set(&nic->timers, timer, nic->now_ns + FW_SOON_NS);
			return;
		}
		late_over(nic, run);
	} else if (nic->host.mem_busy) {
		fw_timer_set(&nic->timers, timer, nic->now_ns + GOAL_SLOW_NS);
		return;
	} else {
		goal_trace_give_up(nic, run);
	}
	if (run->over)
		goal_run_over(nic, run);
}

bool goal_trace_waits(const struct goal_run *run)
{
	return run->late.points;
}

void goal_trace_give_up(struct fw_nic *nic, struct goal_run *run)
{
	if (!run->late.points)
		return;
	goal_trace_lose(run, late_left(run));
	run->trace_entries = run->traced;
	late_over(nic, run);
}

void goal_trace_put(struct fw_nic *nic, struct goal_run *run, enum hw_goal_point point, uint32_t op)
{
	const struct hw_goal_trace entry = {fw_clock_ns(nic), point, op};

	if (goal_trace_waits(run)) {
		if (!goal_trace_keep(nic, run, &entry))
			goal_trace_lose(run, 1);
		return;
	}
	if (run->traced < run->trace_entries) {
		if (write_points(nic, run, &entry, 1))
			return;
		if (nic->host.mem_busy && goal_trace_keep(nic, run, &entry))
			return;
	}
	/* The buffer is full, or the memory is gone; in both cases it is not tried again. */
	run->trace_entries = run->traced;
	goal_trace_lose(run, 1);
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
