/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of the ranks of a run, side by side: when each operation began, passed its points and
 * ended, and in which row of its rank it is drawn. Calls plan.c. The points: docs/collectives.md
 * "Tracing".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap.h"
#include "tools/goal-dump/dump.h"

/* ---- reading ---------------------------------------------------------------------------------*/

static int check_run(const struct trace *first, const struct trace *trace)
{
	if (trace->header.instance != first->header.instance)
		return dump_fail(trace->name, "run %" PRIu32 "; %s is run %" PRIu32,
				 trace->header.instance, first->name, first->header.instance);
	if (trace->header.size != first->header.size)
		return dump_fail(trace->name, "a run of %" PRIu32 " ranks; %s is one of %" PRIu32,
				 trace->header.size, first->name, first->header.size);
	return 0;
}

static const struct trace *trace_of(const struct trace *traces, size_t num, uint32_t rank)
{
	for (size_t i = 0; i < num; i++)
		if (traces[i].header.rank == rank)
			return &traces[i];
	return NULL;
}

static int make_plan(struct timeline *t, const struct trace *traces, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		const struct plan_rank *added;

		if (check_run(&traces[0], &traces[i]) ||
		    plan_add_code(&t->plan, traces[i].name, traces[i].schedule,
				  traces[i].header.schedule_bytes))
			return -1;
		added = &t->plan.ranks[t->plan.num - 1];
		if (added->rank != traces[i].header.rank)
			return dump_fail(traces[i].name,
					 "a trace of rank %" PRIu32
					 " with the schedule of rank %" PRIu32,
					 traces[i].header.rank, added->rank);
	}
	return plan_finish(&t->plan);
}

static int make_room(struct timeline *t, const struct trace *traces, size_t num)
{
	size_t points = 0;

	for (size_t i = 0; i < num; i++)
		points += traces[i].header.entries;
	t->lanes = calloc(t->plan.num + 1, sizeof(*t->lanes));
	t->bars = malloc((t->plan.num_ops + 1) * sizeof(*t->bars));
	t->agains = calloc(points + 1, sizeof(*t->agains));
	if (!t->lanes || !t->bars || !t->agains)
		return dump_fail("the traces", "not enough memory");
	memset(t->bars, 0xff, (t->plan.num_ops + 1) * sizeof(*t->bars));
	return 0;
}

static uint64_t since(uint64_t ns, uint64_t begin_ns)
{
	return ns > begin_ns ? ns - begin_ns : 0;
}

static int take_points(struct timeline *t, const struct plan_rank *rank, const struct lane *lane,
		       uint64_t begin_ns)
{
	const struct trace *trace = lane->trace;

	for (uint32_t i = 0; i < trace->header.entries; i++) {
		const struct hw_goal_trace *point = &trace->entries[i];
		uint64_t ns = since(point->ns, begin_ns);
		struct bar *bar;

		if (point->point >= HW_GOAL_POINT_COUNT || point->op == UINT32_MAX ||
		    point->point == HW_GOAL_POINT_RUN_START ||
		    point->point == HW_GOAL_POINT_RUN_FINISH)
			continue;
		if (point->op >= rank->num_ops)
			return dump_fail(trace->name,
					 "a point of vertex %" PRIu32 "; its schedule has %" PRIu32,
					 point->op, rank->num_ops);
		bar = &t->bars[rank->first_op + point->op];
		if (bar->at[point->point] == TIME_NONE)
			bar->at[point->point] = ns;
		if (point->point == HW_GOAL_POINT_PACKET_AGAIN)
			t->agains[t->num_agains++] = (struct again){rank->first_op + point->op, ns};
		if (ns > t->end_ns)
			t->end_ns = ns;
	}
	return 0;
}

/* When each operation ended. One that had not ended when its run did is drawn up to there. */
static void set_ends(struct timeline *t, const struct plan_rank *rank, const struct lane *lane)
{
	for (uint32_t i = 0; i < rank->num_ops; i++) {
		struct bar *bar = &t->bars[rank->first_op + i];
		uint64_t start = bar->at[HW_GOAL_POINT_OP_START];
		uint64_t acked = bar->at[HW_GOAL_POINT_MSG_ACKED];

		bar->again = 0;
		if (start == TIME_NONE)
			continue;
		bar->end = bar->at[HW_GOAL_POINT_OP_FINISH];
		if (bar->end == TIME_NONE)
			bar->end = lane->finish;
		if (bar->end < start)
			bar->end = start;
		bar->last = acked != TIME_NONE && acked > bar->end ? acked : bar->end;
	}
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct busy {
	uint64_t ns, row; /* lib/heap.h: the row that is free again first */
};

struct start {
	uint64_t ns;
	uint32_t op;
};

static int by_start(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* The uppermost row that is free at that time, or a new one. Both heaps have room for all rows. */
struct rows {
	struct busy *busy, *free; /* free: ns is the row */
	size_t num_busy, num_free;
	uint32_t num;
};

static uint32_t take_row(struct rows *rows, uint64_t start, uint64_t until)
{
	struct busy item;

	while (rows->num_busy && rows->busy[0].ns <= start) {
		heap_pop(rows->busy, rows->num_busy--, &item, sizeof(item));
		item.ns = item.row;
		heap_push(rows->free, rows->num_free++, &item, sizeof(item));
	}
	if (rows->num_free)
		heap_pop(rows->free, rows->num_free--, &item, sizeof(item));
	else
		item.row = rows->num++;
	item.ns = until;
	heap_push(rows->busy, rows->num_busy++, &item, sizeof(item));
	return (uint32_t)item.row;
}

static void place(struct timeline *t, const struct plan_rank *rank, struct lane *lane,
		  struct start *starts, struct rows *rows)
{
	uint64_t least = t->end_ns / TIMELINE_LEAST + 1;
	size_t num = 0;

	for (uint32_t i = 0; i < rank->num_ops; i++) {
		uint64_t start = t->bars[rank->first_op + i].at[HW_GOAL_POINT_OP_START];

		if (start != TIME_NONE)
			starts[num++] = (struct start){start, rank->first_op + i};
	}
	qsort(starts, num, sizeof(*starts), by_start);
	rows->num_busy = rows->num_free = rows->num = 0;
	for (size_t i = 0; i < num; i++) {
		struct bar *bar = &t->bars[starts[i].op];
		uint64_t until =
		    bar->last - starts[i].ns < least ? starts[i].ns + least : bar->last;

		bar->row = take_row(rows, starts[i].ns, until);
	}
	lane->rows = rows->num;
}

static int place_all(struct timeline *t)
{
	struct start *starts = calloc(t->plan.num_ops + 1, sizeof(*starts));
	struct rows rows = {.busy = calloc(t->plan.num_ops + 1, sizeof(*rows.busy)),
			    .free = calloc(t->plan.num_ops + 1, sizeof(*rows.free))};
	bool ok = starts && rows.busy && rows.free;

	for (size_t r = 0; ok && r < t->plan.num; r++)
		place(t, &t->plan.ranks[r], &t->lanes[r], starts, &rows);
	free(starts);
	free(rows.busy);
	free(rows.free);
	return ok ? 0 : dump_fail("the traces", "not enough memory");
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int fill(struct timeline *t, const struct trace *traces, size_t num, bool align)
{
	uint64_t begin_ns = UINT64_MAX;

	for (size_t i = 0; i < num; i++)
		if (traces[i].header.start_ns < begin_ns)
			begin_ns = traces[i].header.start_ns;
	for (size_t r = 0; r < t->plan.num; r++) {
		const struct plan_rank *rank = &t->plan.ranks[r];
		struct lane *lane = &t->lanes[r];
		const struct goal_trace_header *header;

		lane->trace = trace_of(traces, num, rank->rank);
		header = &lane->trace->header;
		if (align)
			begin_ns = header->start_ns;
		lane->start = since(header->start_ns, begin_ns);
		lane->finish = since(header->finish_ns, begin_ns);
		if (lane->finish < lane->start)
			lane->finish = lane->start;
		if (lane->finish > t->end_ns)
			t->end_ns = lane->finish;
		if (take_points(t, rank, lane, begin_ns))
			return -1;
		set_ends(t, rank, lane);
	}
	for (size_t i = 0; i < t->num_agains; i++)
		t->bars[t->agains[i].op].again++;
	return place_all(t);
}

int timeline_make(struct timeline *t, const struct trace *traces, size_t num, bool align)
{
	*t = (struct timeline){0};
	if (make_plan(t, traces, num) || make_room(t, traces, num))
		return -1;
	return fill(t, traces, num, align);
}

void timeline_free(struct timeline *t)
{
	plan_free(&t->plan);
	free(t->lanes);
	free(t->bars);
	free(t->agains);
	*t = (struct timeline){0};
}
