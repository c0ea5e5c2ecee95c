/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vertices and edges of a graph, in growing arrays.
 *
 * Errors of a single operation are reported when it is added. Errors of the whole graph (cycles,
 * the scratchpad's size) are reported by goal_compile.c. The ESPGOAL paper, 2.2.2 to 2.2.5.
 */
#include "host_driver/goal/compile/goal_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element. Returns false when memory or the limit is exhausted. */
static bool grow(void **array, uint32_t *max, uint32_t need, size_t elem_bytes, uint32_t limit)
{
	uint64_t want = *max ? (uint64_t)*max * 2 : 64;
	void *bigger;

	if (need <= *max)
		return true;
	if (need > limit)
		return false;
	while (want < need)
		want *= 2;
	if (want > limit)
		want = limit;
	bigger = realloc(*array, (size_t)want * elem_bytes);
	if (!bigger)
		return false;
	*array = bigger;
	*max = (uint32_t)want;
	return true;
}

struct goal_graph *goal_graph_new(uint32_t rank, uint32_t num_ranks)
{
	struct goal_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->rank = rank;
	graph->num_ranks = num_ranks;
	graph->num_cpus = 1;
	return graph;
}

void goal_graph_free(struct goal_graph *graph)
{
	if (!graph)
		return;
	free(graph->vertices);
	free(graph->mems);
	free(graph->deps);
	free(graph);
}

static int64_t add_vertex(struct goal_graph *graph, const struct goal_vertex *vertex)
{
	if (graph->failed || !grow((void **)&graph->vertices, &graph->max_vertices,
				   graph->num_vertices + 1, sizeof(*vertex), GOAL_FORMAT_MAX_OPS)) {
		graph->failed = true;
		return graph->num_vertices >= GOAL_FORMAT_MAX_OPS ? -EOVERFLOW : -ENOMEM;
	}
	graph->vertices[graph->num_vertices] = *vertex;
	return graph->num_vertices++;
}

/*
 * Copies the pieces of a buffer and omits empty ones. Returns their total length, or a negative
 * errno.
 */
static int64_t add_mems(struct goal_graph *graph, const struct goal_mem *mems, uint32_t count,
			uint32_t *first, uint32_t *num)
{
	uint64_t sum = 0;
	uint32_t i;

	*first = graph->num_mems;
	*num = 0;
	for (i = 0; i < count; i++) {
		if (!mems[i].bytes)
			continue;
		if (mems[i].bytes > GOAL_MAX_MSG_BYTES - sum ||
		    (!mems[i].scratch && mems[i].at + mems[i].bytes < mems[i].at) ||
		    *num == GOAL_MAX_OP_PIECES)
			return -EINVAL;
		if (!grow((void **)&graph->mems, &graph->max_mems, graph->num_mems + 1,
			  sizeof(*mems), GOAL_MAX_PIECES)) {
			graph->failed = true;
			return -ENOMEM;
		}
		graph->mems[graph->num_mems++] = mems[i];
		(*num)++;
		sum += mems[i].bytes;
	}
	return (int64_t)sum;
}

int64_t goal_graph_msg(struct goal_graph *graph, enum goal_insn_kind kind,
		       const struct goal_mem *mems, uint32_t num_mems, uint32_t peer, uint32_t tag)
{
	struct goal_vertex vertex = {.kind = (uint8_t)kind, .peer = peer, .tag = tag};
	bool recv = kind == GOAL_INSN_RECV;
	int64_t bytes;

	if (peer >= graph->num_ranks && !(recv && peer == GOAL_RANK_ANY))
		return -EINVAL;
	if (tag == GOAL_TAG_ANY && !recv)
		return -EINVAL;
	/* Only the root sends; only the other ranks receive. */
	if ((kind == GOAL_INSN_MCAST_SEND && peer != graph->rank) ||
	    (kind == GOAL_INSN_MCAST_RECV && peer == graph->rank))
		return -EINVAL;
	bytes = add_mems(graph, mems, num_mems, &vertex.first_mem[0], &vertex.num_mems[0]);
	if (bytes < 0)
		return bytes;
	vertex.amount = (uint64_t)bytes;
	return add_vertex(graph, &vertex);
}

uint32_t goal_user_elem_bytes(const struct goal_user_ops *ops, uint32_t op, uint32_t width)
{
	uint32_t bytes;

	if (!ops || op < GOAL_USER_FIRST || op - GOAL_USER_FIRST >= ops->num)
		return 0;
	bytes = ops->op[op - GOAL_USER_FIRST].elem_bytes;
	return !width || width == 8 * bytes ? bytes : 0;
}

/* Makes the vertex a user's operation. False: there is no such one. */
static bool set_user(const struct goal_graph *graph, struct goal_vertex *vertex, uint32_t op,
		     uint32_t width)
{
	uint32_t bytes = goal_user_elem_bytes(graph->user_ops, op, width);

	if (!bytes)
		return false;
	vertex->sub = GOAL_LOCAL_USER;
	vertex->type = GOAL_TYPE_UINT;
	vertex->width = (uint8_t)bytes;
	vertex->peer = graph->user_ops->op[op - GOAL_USER_FIRST].number;
	vertex->tag = graph->user_ops->op[op - GOAL_USER_FIRST].mark;
	return true;
}

int64_t goal_graph_local(struct goal_graph *graph, uint32_t op, enum goal_type type, uint32_t width,
			 uint64_t count, const struct goal_mem *const mems[3],
			 const uint32_t num_mems[3])
{
	bool wtime = op == GOAL_LOCAL_WTIME, copy = op == GOAL_LOCAL_COPY;
	struct goal_vertex vertex = {
	    .kind = GOAL_INSN_LOCAL,
	    .sub = (uint8_t)op,
	    .type = (uint8_t)(wtime ? GOAL_TYPE_FLOAT : type),
	    .width = (uint8_t)(wtime ? 64 : width),
	    .amount = wtime ? 1 : count,
	};
	uint32_t i, k, elem_bytes;

	if (!(op >= GOAL_USER_FIRST
		  ? set_user(graph, &vertex, op, width)
		  : goal_format_has_op(op, wtime ? GOAL_TYPE_FLOAT : (uint32_t)type, width)) ||
	    count > GOAL_MAX_MSG_BYTES / 8)
		return -EINVAL;
	elem_bytes = op >= GOAL_USER_FIRST ? vertex.width : vertex.width / 8u;
	for (i = 0; i < 3; i++) {
		uint64_t want = vertex.amount * elem_bytes;
		int64_t bytes;

		if ((wtime && i < 2) || (copy && i == 1))
			continue;
		bytes = add_mems(graph, mems[i], num_mems[i], &vertex.first_mem[i],
				 &vertex.num_mems[i]);
		if (bytes < 0)
			return bytes;
		if ((uint64_t)bytes != want)
			return -EINVAL;
		/* No element may span two pieces. */
		for (k = 0; k < vertex.num_mems[i]; k++)
			if (graph->mems[vertex.first_mem[i] + k].bytes % elem_bytes)
				return -EINVAL;
	}
	return add_vertex(graph, &vertex);
}

int64_t goal_graph_calc(struct goal_graph *graph, uint64_t ns, uint32_t cpu)
{
	struct goal_vertex vertex = {.kind = GOAL_INSN_CALC, .sub = (uint8_t)cpu, .amount = ns};

	if (cpu >= GOAL_MAX_CPUS)
		return -EINVAL;
	if (cpu >= graph->num_cpus)
		graph->num_cpus = cpu + 1;
	return add_vertex(graph, &vertex);
}

int64_t goal_graph_nop(struct goal_graph *graph)
{
	struct goal_vertex vertex = {.kind = GOAL_INSN_NOP};

	return add_vertex(graph, &vertex);
}

int goal_graph_requires(struct goal_graph *graph, uint32_t from, uint32_t to, bool start)
{
	if (from >= graph->num_vertices || to >= graph->num_vertices || from == to)
		return -EINVAL;
	if (graph->failed || !grow((void **)&graph->deps, &graph->max_deps, graph->num_deps + 1,
				   sizeof(*graph->deps), GOAL_MAX_EDGES)) {
		graph->failed = true;
		return -ENOMEM;
	}
	graph->deps[graph->num_deps++] = (struct goal_dep){from, to, start};
	return 0;
}
