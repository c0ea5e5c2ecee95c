/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers: order, moving, cancelling, budget, timers that set timers, the heap itself.
 *
 * Runs nic_fw/base/timer.c alone.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	MAX = 256,
};

static struct fw_timers timers;
static struct fw_timer *heap[MAX];
static struct fw_timer t[MAX];
static struct fw_timer *fired[4 * MAX];
static uint32_t num_fired;

static void record(struct fw_nic *nic, struct fw_timer *timer)
{
	(void)nic;
	CU_ASSERT_FALSE(fw_timer_is_set(timer));
	fired[num_fired++] = timer;
}

static void again(struct fw_nic *nic, struct fw_timer *timer)
{
	record(nic, timer);
	fw_timer_set(&timers, timer, timer->deadline_ns);
}

static void cancel_next(struct fw_nic *nic, struct fw_timer *timer)
{
	record(nic, timer);
	fw_timer_cancel(&timers, timer + 1);
}

enum {
	RECORD,
	AGAIN,
	CANCEL_NEXT,
};

/* In place of up/timer_fires.c's. */
const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS] = {
    [RECORD] = record,
    [AGAIN] = again,
    [CANCEL_NEXT] = cancel_next,
};

static void set_up(void)
{
	uint32_t i;

	num_fired = 0;
	fw_timers_init(&timers, heap, MAX);
	for (i = 0; i < MAX; i++)
		fw_timer_init(&t[i], (enum fw_timer_kind)RECORD);
}

static void check_heap(void)
{
	uint32_t i;

	for (i = 0; i < timers.count; i++) {
		CU_ASSERT_EQUAL(heap[i]->pos, i + 1);
		if (i)
			CU_ASSERT(heap[(i - 1) / 2]->deadline_ns <= heap[i]->deadline_ns);
	}
}

static void empty(void)
{
	set_up();
	CU_ASSERT_EQUAL(fw_timers_next_ns(&timers), UINT64_MAX);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, UINT64_MAX, 10), 0);
	fw_timer_cancel(&timers, &t[0]);
	CU_ASSERT_FALSE(fw_timer_is_set(&t[0]));
}

static void fires_in_order(void)
{
	uint32_t i;

	set_up();
	for (i = 0; i < MAX; i++)
		fw_timer_set(&timers, &t[i], 1000 + i * 167 % MAX);
	check_heap();
	CU_ASSERT_EQUAL(fw_timers_next_ns(&timers), 1000);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, 999, MAX), 0);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, 1000, MAX), 1);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, 5000, MAX), MAX - 1);
	for (i = 1; i < num_fired; i++)
		CU_ASSERT(fired[i - 1]->deadline_ns < fired[i]->deadline_ns);
	CU_ASSERT_EQUAL(num_fired, MAX);
}

static void moves(void)
{
	set_up();
	fw_timer_set(&timers, &t[0], 100);
	fw_timer_set(&timers, &t[1], 200);
	fw_timer_set(&timers, &t[0], 300);
	CU_ASSERT_EQUAL(fw_timers_next_ns(&timers), 200);
	fw_timer_set(&timers, &t[0], 50);
	CU_ASSERT_EQUAL(fw_timers_next_ns(&timers), 50);
	fw_timer_set(&timers, &t[0], 50);
	CU_ASSERT_EQUAL(timers.count, 2);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, UINT64_MAX, 10), 2);
	CU_ASSERT_PTR_EQUAL(fired[0], &t[0]);
}

/* The timer that replaces a cancelled one may have to move up as well as down. */
static void cancels_anywhere(void)
{
	uint32_t round, i, seed = 1;

	for (round = 0; round < 50; round++) {
		uint32_t left = 0;

		set_up();
		for (i = 0; i < MAX; i++) {
			seed = seed * 1103515245u + 12345u;
			fw_timer_set(&timers, &t[i], seed >> 20);
		}
		for (i = 0; i < MAX; i++) {
			seed = seed * 1103515245u + 12345u;
			if (seed >> 31) {
				fw_timer_cancel(&timers, &t[i]);
				CU_ASSERT_FALSE(fw_timer_is_set(&t[i]));
			} else {
				left++;
			}
		}
		check_heap();
		CU_ASSERT_EQUAL(timers.count, left);
		CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, UINT64_MAX, MAX), left);
		for (i = 1; i < num_fired; i++)
			CU_ASSERT(fired[i - 1]->deadline_ns <= fired[i]->deadline_ns);
	}
}

static void budget_bounds_a_timer_that_sets_itself(void)
{
	set_up();
	fw_timer_init(&t[0], (enum fw_timer_kind)AGAIN);
	fw_timer_set(&timers, &t[0], 10);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, 10, 5), 5);
	CU_ASSERT_TRUE(fw_timer_is_set(&t[0]));
}

static void fire_may_cancel_the_next(void)
{
	set_up();
	fw_timer_init(&t[0], (enum fw_timer_kind)CANCEL_NEXT);
	fw_timer_set(&timers, &t[0], 10);
	fw_timer_set(&timers, &t[1], 11);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, 20, 5), 1);
	CU_ASSERT_EQUAL(timers.count, 0);
}

static void deadlines_at_the_end_of_time(void)
{
	set_up();
	fw_timer_set(&timers, &t[0], UINT64_MAX);
	fw_timer_set(&timers, &t[1], 0);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, UINT64_MAX - 1, 5), 1);
	CU_ASSERT_PTR_EQUAL(fired[0], &t[1]);
	CU_ASSERT_EQUAL(fw_timers_run(NULL, &timers, UINT64_MAX, 5), 1);
}

/* ---- waiting for others */

static struct fw_nic nic;

static void turn(uint64_t now_ns)
{
	nic.now_ns = now_ns;
	fw_count_absence(&nic, now_ns);
}

/* A core without absences counts every nanosecond. */
static void every_nanosecond_counts(void)
{
	struct fw_moment since;
	uint64_t now_ns = 5;
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	turn(now_ns);
	since = fw_moment_now(&nic);
	CU_ASSERT_EQUAL(since.ns, 5);
	for (i = 0; i < 100; i++)
		turn(now_ns += FW_AWAY_NS);
	CU_ASSERT_EQUAL(nic.absences, 0);
	CU_ASSERT_FALSE(fw_waited(&nic, &since, 100 * FW_AWAY_NS));
	CU_ASSERT_TRUE(fw_waited(&nic, &since, 100 * FW_AWAY_NS - 1));
	CU_ASSERT_FALSE(fw_waited(&nic, &since, UINT64_MAX));
	/* Asleep until a timer, and woken then or before. */
	nic.there_ns = now_ns + 1000 * FW_AWAY_NS;
	turn(now_ns += 10 * FW_AWAY_NS);
	nic.there_ns = now_ns + 1000 * FW_AWAY_NS;
	turn(now_ns += 1001 * FW_AWAY_NS);
	nic.there_ns = UINT64_MAX;
	turn(now_ns += 100000 * FW_AWAY_NS);
	CU_ASSERT_EQUAL(nic.absences, 0);
	CU_ASSERT_TRUE(fw_waited(&nic, &since, 101111 * FW_AWAY_NS - 1));
}

/* An absence of the core does not count as silence of the peer; each absence is counted. */
static void absence_is_no_silence(void)
{
	const uint64_t limit_ns = 50 * FW_AWAY_NS;
	struct fw_moment since;
	uint64_t now_ns = 1;
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	/* The counters of absences and of time away wrap. */
	nic.away_ns = UINT32_MAX * (uint64_t)FW_AWAY_UNIT_NS - 5;
	nic.absences = UINT32_MAX;
	turn(now_ns);
	since = fw_moment_now(&nic);
	turn(now_ns += 3600 * UINT64_C(1000000000));
	CU_ASSERT_EQUAL(nic.absences, 0);
	CU_ASSERT_FALSE(fw_waited(&nic, &since, limit_ns));
	for (i = 0; i < 50; i++)
		turn(now_ns += FW_AWAY_NS);
	CU_ASSERT_FALSE(fw_waited(&nic, &since, limit_ns));
	turn(now_ns += FW_AWAY_NS);
	CU_ASSERT_TRUE(fw_waited(&nic, &since, limit_ns));
	/* Away nearly always, but polled often enough. */
	since = fw_moment_now(&nic);
	for (i = 0; i < FW_WAIT_TURNS; i++) {
		turn(now_ns += 100 * FW_AWAY_NS);
		CU_ASSERT_FALSE(fw_waited(&nic, &since, limit_ns));
	}
	turn(now_ns += 100 * FW_AWAY_NS);
	CU_ASSERT_TRUE(fw_waited(&nic, &since, limit_ns));
	CU_ASSERT_FALSE(fw_waited(&nic, &since, UINT64_MAX));
}

UT_MAIN("nic_fw/base/timer", UT(empty), UT(fires_in_order), UT(moves), UT(cancels_anywhere),
	UT(budget_bounds_a_timer_that_sets_itself), UT(fire_may_cancel_the_next),
	UT(deadlines_at_the_end_of_time), UT(every_nanosecond_counts), UT(absence_is_no_silence))
