/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PERFTRACE: the points of interpreter and transport that a run records, their order, its behaviour
 * without room or without memory for them, and that an untraced run writes nothing.
 */
#include "tests/sim/goal_fix.h"

enum {
	TRACE_AT = 900000, /* in the rank's buffer */
	TRACE_MAX = 1000,
	FILLER = 0xa5,
};

struct traced {
	const struct hw_goal_trace *entry;
	struct weft_goal_result result;
};

/* Rank 0 sends bytes to rank 1, which answers with one byte. Operation 0 is the long one. */
static void load(struct goal_fix *fix, uint64_t bytes)
{
	struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
	uint32_t recv, send;

	goal_fix_send(a, goal_fix_mem(fix, 0, 0, bytes), 1, 5);
	goal_fix_recv(a, goal_fix_mem(fix, 0, bytes, 1), 1, 6);
	recv = goal_fix_recv(b, goal_fix_mem(fix, 1, 0, bytes), 0, 5);
	send = goal_fix_send(b, goal_fix_mem(fix, 1, 0, 1), 0, 6);
	goal_fix_after(b, recv, send);
	goal_fix_load(fix, 0, a);
	goal_fix_load(fix, 1, b);
}

/* One run at both ranks, traced with room for max points (0: not at all). */
static void run(struct goal_fix *fix, uint32_t max, const struct weft_mr *mr, struct traced t[2])
{
	uint32_t number[2], i;

	for (i = 0; i < 2; i++) {
		struct goal_fix_rank *rank = &fix->rank[i];
		struct weft_goal_run_attr attr = {.schedule = rank->schedule,
						  .trace_entries = max,
						  .trace = max ? rank->buf + TRACE_AT : NULL,
						  .trace_mr = mr ? mr : rank->mr};

		memset(rank->buf + TRACE_AT, FILLER, TRACE_MAX * sizeof(*t[i].entry));
		t[i].entry = (const void *)(rank->buf + TRACE_AT);
		FIX_REQUIRE(fix, weft_goal_start(rank->goal, &attr, &number[i]) == 0);
	}
	for (i = 0; i < 2; i++) {
		FIX_CHECK(fix, goal_fix_wait(fix, i, number[i], &t[i].result));
		FIX_CHECK(fix, t[i].result.status == HW_GOAL_OK);
	}
}

/* The first entry of that point and operation, -1: there is none. */
static int find(const struct traced *t, enum hw_goal_point point, uint32_t op)
{
	for (uint32_t i = 0; i < t->result.traced; i++)
		if (t->entry[i].point == (uint32_t)point && t->entry[i].op == op)
			return (int)i;
	return -1;
}

static void check_order(struct goal_fix *fix, const struct traced *t, uint32_t op,
			const enum hw_goal_point *points, uint32_t count)
{
	int before = -1;

	for (uint32_t i = 0; i < count; i++) {
		int at = find(t, points[i], op);

		FIX_CHECK(fix, at > before);
		before = at;
	}
}

#define ORDER(fix, t, op, ...)                                                                     \
	do {                                                                                       \
		const enum hw_goal_point order[] = {__VA_ARGS__};                                  \
		check_order(fix, t, op, order, sizeof(order) / sizeof(order[0]));                  \
	} while (0)

static void check_frame(struct goal_fix *fix, const struct traced *t)
{
	const struct hw_goal_trace *last = &t->entry[t->result.traced - 1];

	FIX_CHECK(fix, t->result.traced > 6 && t->result.traced < TRACE_MAX);
	FIX_CHECK(fix, t->result.trace_lost == 0);
	FIX_CHECK(fix, t->entry[0].point == HW_GOAL_POINT_RUN_START && t->entry[0].op == 2);
	FIX_CHECK(fix, t->entry[0].ns == t->result.start_ns);
	FIX_CHECK(fix, last->point == HW_GOAL_POINT_RUN_FINISH && last->op == 2);
	FIX_CHECK(fix, last->ns == t->result.finish_ns);
	for (uint32_t i = 1; i < t->result.traced; i++)
		FIX_CHECK(fix, t->entry[i].ns >= t->entry[i - 1].ns);
	/* Nothing is written behind the last entry. */
	FIX_CHECK(fix, ((const uint8_t *)(last + 1))[0] == FILLER);
}

static void points_in_order(void)
{
	static const uint64_t sizes[] = {1, 128, 129, 1000, 20000, 300000};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20};
		struct goal_fix fix;
		struct traced t[2];

		goal_fix_begin(&fix, i + 1, 2, &attr);
		load(&fix, sizes[i]);
		for (uint32_t again = 0; again < 2; again++) {
			run(&fix, TRACE_MAX, NULL, t);
			check_frame(&fix, &t[0]);
			check_frame(&fix, &t[1]);
			ORDER(&fix, &t[0], 0, HW_GOAL_POINT_OP_START, HW_GOAL_POINT_MSG_SENT,
			      HW_GOAL_POINT_PACKET_FIRST, HW_GOAL_POINT_MSG_ACKED);
			/* A small message is copied, and its operation over, when it is sent. */
			if (sizes[i] > 128)
				ORDER(&fix, &t[0], 0, HW_GOAL_POINT_MSG_ACKED,
				      HW_GOAL_POINT_OP_FINISH);
			else
				ORDER(&fix, &t[0], 0, HW_GOAL_POINT_OP_FINISH,
				      HW_GOAL_POINT_PACKET_FIRST);
			if (sizes[i] > 1500)
				ORDER(&fix, &t[0], 0, HW_GOAL_POINT_PACKET_FIRST,
				      HW_GOAL_POINT_PACKET_LAST, HW_GOAL_POINT_MSG_ACKED);
			else
				FIX_CHECK(&fix, find(&t[0], HW_GOAL_POINT_PACKET_LAST, 0) < 0);
			FIX_CHECK(&fix, find(&t[0], HW_GOAL_POINT_PACKET_AGAIN, 0) < 0);
			ORDER(&fix, &t[1], 0, HW_GOAL_POINT_MSG_ARRIVED, HW_GOAL_POINT_MSG_MATCHED,
			      HW_GOAL_POINT_OP_FINISH);
			ORDER(&fix, &t[1], 1, HW_GOAL_POINT_OP_READY, HW_GOAL_POINT_OP_START,
			      HW_GOAL_POINT_MSG_SENT);
			if (sizes[i] > 131072)
				ORDER(&fix, &t[1], 0, HW_GOAL_POINT_OP_START,
				      HW_GOAL_POINT_ANNOUNCED, HW_GOAL_POINT_MSG_ARRIVED);
		}
		goal_fix_end(&fix);
	}
}

/* A message arrives before its receive is started. */
static void arrives_unexpected(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20};
	struct goal_graph *a, *b;
	struct goal_fix fix;
	struct traced t[2];
	int64_t calc;

	goal_fix_begin(&fix, 3, 2, &attr);
	a = goal_graph_new(0, 2);
	b = goal_graph_new(1, 2);
	goal_fix_send(a, goal_fix_mem(&fix, 0, 0, 700), 1, 5);
	goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, 700), 0, 5);
	calc = goal_graph_calc(b, 1000000, 0);
	goal_fix_after(b, (uint32_t)calc, 0);
	goal_fix_load(&fix, 0, a);
	goal_fix_load(&fix, 1, b);
	run(&fix, TRACE_MAX, NULL, t);
	FIX_CHECK(&fix, find(&t[1], HW_GOAL_POINT_MSG_ARRIVED, UINT32_MAX) > 0);
	FIX_CHECK(&fix, find(&t[1], HW_GOAL_POINT_MSG_ARRIVED, UINT32_MAX) <
			    find(&t[1], HW_GOAL_POINT_OP_START, 0));
	ORDER(&fix, &t[1], 0, HW_GOAL_POINT_OP_READY, HW_GOAL_POINT_OP_START,
	      HW_GOAL_POINT_MSG_MATCHED, HW_GOAL_POINT_OP_FINISH);
	goal_fix_end(&fix);
}

static void retransmissions(void)
{
	uint32_t seen = 0;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20, .faults = "loss=20"};
		struct goal_fix fix;
		struct traced t[2];
		int first, again;

		goal_fix_begin(&fix, seed, 2, &attr);
		load(&fix, 60000);
		run(&fix, TRACE_MAX, NULL, t);
		first = find(&t[0], HW_GOAL_POINT_PACKET_FIRST, 0);
		again = find(&t[0], HW_GOAL_POINT_PACKET_AGAIN, 0);
		FIX_CHECK(&fix, first > 0);
		if (again >= 0) {
			FIX_CHECK(&fix, again > first);
			seen++;
		}
		goal_fix_end(&fix);
	}
	/*
	 * About 43 packets, one in five lost: a run without a loss is less likely than 1 in 10,000.
	 */
	CU_ASSERT_TRUE(seen >= 8);
}

static void no_room(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20};
	struct weft_mr bad = {.lkey = 0x7fffff01};
	struct traced whole[2], t[2];
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &attr);
	load(&fix, 20000);
	run(&fix, TRACE_MAX, NULL, whole);
	for (uint32_t max = 1; max < 5; max++) {
		run(&fix, max, NULL, t);
		FIX_CHECK(&fix, t[0].result.traced == max && t[1].result.traced == max);
		FIX_CHECK(&fix, t[0].result.trace_lost >= 5);
		FIX_CHECK(&fix, ((const uint8_t *)&t[0].entry[max])[0] == FILLER);
	}
	/* Two runs on a network without faults pass the same points. */
	run(&fix, 4, NULL, t);
	FIX_CHECK(&fix, t[0].result.traced + t[0].result.trace_lost == whole[0].result.traced);
	/* The greatest size, but no memory behind it: the run itself succeeds. */
	run(&fix, UINT32_MAX, &bad, t);
	FIX_CHECK(&fix, t[0].result.traced == 0 && t[0].result.trace_lost >= 5);
	FIX_CHECK(&fix, ((const uint8_t *)t[0].entry)[0] == FILLER);
	goal_fix_end(&fix);
}

/* Pages of the trace that come late: the trace is whole, and in order, all the same. */
static void slow_pages(void)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20, .unmapped = true};
		struct goal_fix fix;
		struct traced t[2];

		goal_fix_begin(&fix, seed, 2, &attr);
		load(&fix, 60000);
		sim_host_busy(fix.sim, 300000);
		for (uint32_t again = 0; again < 5; again++) {
			run(&fix, TRACE_MAX, NULL, t);
			check_frame(&fix, &t[0]);
			check_frame(&fix, &t[1]);
			ORDER(&fix, &t[0], 0, HW_GOAL_POINT_OP_START, HW_GOAL_POINT_MSG_SENT,
			      HW_GOAL_POINT_PACKET_FIRST, HW_GOAL_POINT_MSG_ACKED,
			      HW_GOAL_POINT_OP_FINISH);
		}
		FIX_CHECK(&fix, sim_nic_stat(sim_nic_at(fix.sim, 0), "host_busy") > 0);
		/* There is room for some points only: the others are counted. */
		run(&fix, 3, NULL, t);
		FIX_CHECK(&fix, t[0].result.traced == 3 && t[0].result.trace_lost >= 5);
		FIX_CHECK(&fix, ((const uint8_t *)&t[0].entry[3])[0] == FILLER);
		goal_fix_end(&fix);
	}
}

static void not_asked_for(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20};
	struct goal_fix fix;
	struct traced t[2];

	goal_fix_begin(&fix, 1, 2, &attr);
	load(&fix, 20000);
	run(&fix, 0, NULL, t);
	for (uint32_t i = 0; i < 2; i++) {
		FIX_CHECK(&fix, t[i].result.traced == 0 && t[i].result.trace_lost == 0);
		FIX_CHECK(&fix, ((const uint8_t *)t[i].entry)[0] == FILLER);
	}
	goal_fix_end(&fix);
}

UT_MAIN("sim/goal_trace", UT(points_in_order), UT(arrives_unexpected), UT(retransmissions),
	UT(no_room), UT(slow_pages), UT(not_asked_for))
