/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gaps in the receive buffer of a schedule that binds its buffers at each run.
 *
 * One slot covers the buffer from its start to the end of the last block. Where the run works on a
 * copy, only what it writes may be copied back: the program may use the bytes between the blocks
 * meanwhile. Used by libgoal_bound.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/goal/libgoal.h"

static int by_place(const void *a, const void *b)
{
	const struct libgoal_piece *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The buffer of a vertex that it writes; 3: none. */
static uint32_t written(const struct goal_vertex *v)
{
	switch ((enum goal_insn_kind)v->kind) {
	case GOAL_INSN_RECV:
	case GOAL_INSN_MCAST_RECV:
		return 0;
	case GOAL_INSN_LOCAL:
		return 2;
	case GOAL_INSN_SEND:
	case GOAL_INSN_MCAST_SEND:
	case GOAL_INSN_CALC:
	case GOAL_INSN_NOP:
	case GOAL_INSN_KINDS:
		break;
	}
	return 3;
}

static uint32_t collect(const struct goal_graph *graph, uintptr_t base, struct libgoal_piece *list)
{
	uint32_t i, k, num = 0;

	for (i = 0; i < graph->num_vertices; i++) {
		const struct goal_vertex *v = &graph->vertices[i];
		uint32_t buf = written(v);

		for (k = 0; buf < 3 && k < v->num_mems[buf]; k++) {
			const struct goal_mem *mem = &graph->mems[v->first_mem[buf] + k];

			if (!mem->scratch &&
			    mem->at >> GOAL_WINDOW_SHIFT == base >> GOAL_WINDOW_SHIFT)
				list[num++] = (struct libgoal_piece){mem->at - base, mem->bytes};
		}
	}
	return num;
}

int libgoal_gaps(const struct goal_graph *graph, uintptr_t base, struct libgoal_piece **pieces,
		 uint32_t *num)
{
	struct libgoal_piece *list = malloc((graph->num_mems + (size_t)1) * sizeof(*list));
	uint32_t count, kept = 0, i;

	*pieces = NULL;
	*num = 0;
	if (!list)
		return -ENOMEM;
	count = collect(graph, base, list);
	if (count)
		qsort(list, count, sizeof(*list), by_place);
	for (i = 0; i < count; i++) {
		struct libgoal_piece *last = kept ? &list[kept - 1] : NULL;
		uint64_t end = list[i].at + list[i].bytes;

		if (!last || list[i].at > last->at + last->bytes)
			list[kept++] = list[i];
		else if (end > last->at + last->bytes)
			last->bytes = end - last->at;
	}
	/* A single piece at the start is all that the slot covers. */
	if (!kept || (kept == 1 && !list[0].at)) {
		free(list);
		return 0;
	}
	*pieces = list;
	*num = kept;
	return 0;
}
