/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers: a binary heap of pointers, the earliest deadline at its root.
 *
 * A timer stores its position, so that setting it again and cancelling it cost O(log n). fw_poll()
 * runs the expired timers after it has drained the input, so that an answer already in the queue
 * comes before its timeout. This file also measures waits for peers: time in which this core had no
 * turn does not count as the peer's silence. Calls fw_timer_fires[].
 */
#include "nic_fw/fw_nic.h"

void fw_timers_init(struct fw_timers *timers, struct fw_timer **heap, uint32_t max)
{
	timers->heap = heap;
	timers->count = 0;
	timers->max = max;
}

void fw_timer_init(struct fw_timer *timer, enum fw_timer_kind kind)
{
	timer->deadline_ns = 0;
	timer->kind = kind;
	timer->pos = 0;
}

static void timer_place(struct fw_timers *timers, uint32_t i, struct fw_timer *timer)
{
	timers->heap[i] = timer;
	timer->pos = i + 1;
}

static void sift_up(struct fw_timers *timers, uint32_t i, struct fw_timer *timer)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / 2;

		if (timers->heap[parent]->deadline_ns <= timer->deadline_ns)
			break;
		timer_place(timers, i, timers->heap[parent]);
		i = parent;
	}
	timer_place(timers, i, timer);
}

static void sift_down(struct fw_timers *timers, uint32_t i, struct fw_timer *timer)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= timers->count)
			break;
		if (child + 1 < timers->count &&
		    timers->heap[child + 1]->deadline_ns < timers->heap[child]->deadline_ns)
			child++;
		if (timer->deadline_ns <= timers->heap[child]->deadline_ns)
			break;
		timer_place(timers, i, timers->heap[child]);
		i = child;
	}
	timer_place(timers, i, timer);
}

void fw_timer_set(struct fw_timers *timers, struct fw_timer *timer, uint64_t deadline_ns)
{
	uint64_t old_ns = timer->deadline_ns;

	timer->deadline_ns = deadline_ns;
	if (!timer->pos) {
		assert(timers->count < timers->max);
		sift_up(timers, timers->count++, timer);
	} else if (deadline_ns < old_ns) {
		sift_up(timers, timer->pos - 1, timer);
	} else {
		sift_down(timers, timer->pos - 1, timer);
	}
}

void fw_timer_cancel(struct fw_timers *timers, struct fw_timer *timer)
{
	struct fw_timer *last;
	uint32_t i;

	if (!timer->pos)
		return;
	i = timer->pos - 1;
	assert(i < timers->count && timers->heap[i] == timer);
	timer->pos = 0;
	last = timers->heap[--timers->count];
	if (last == timer)
		return;
	/* The last timer takes the free position: it may have to move up or down. */
	if (last->deadline_ns < timer->deadline_ns)
		sift_up(timers, i, last);
	else
		sift_down(timers, i, last);
}

uint64_t fw_count_absence(struct fw_nic *nic, uint64_t now_ns)
{
	uint64_t late_ns = nic->there_ns && now_ns > nic->there_ns ? now_ns - nic->there_ns : 0;

	nic->there_ns = now_ns;
	if (late_ns > FW_AWAY_NS) {
		nic->away_ns += late_ns;
		nic->absences++;
	}
	return late_ns;
}

bool fw_waited(const struct fw_nic *nic, const struct fw_moment *since, uint64_t limit_ns)
{
	uint64_t waited_ns = nic->now_ns - since->ns;
	uint32_t away;

	if (waited_ns <= limit_ns)
		return false;
	if (nic->absences - since->absences > FW_WAIT_TURNS)
		return true;
	away = (uint32_t)(nic->away_ns / FW_AWAY_UNIT_NS) - since->away;
	return waited_ns > away * (uint64_t)FW_AWAY_UNIT_NS &&
	       waited_ns - away * (uint64_t)FW_AWAY_UNIT_NS > limit_ns;
}

uint32_t fw_timers_run(struct fw_nic *nic, struct fw_timers *timers, uint64_t now_ns,
		       uint32_t budget)
{
	uint32_t fired = 0;

	while (fired < budget && timers->count && timers->heap[0]->deadline_ns <= now_ns) {
		struct fw_timer *timer = timers->heap[0];

		fw_timer_cancel(timers, timer);
		fw_timer_fires[timer->kind](nic, timer);
		fired++;
	}
	return fired;
}
