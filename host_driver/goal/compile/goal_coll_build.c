/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds one rank's graph from the arguments of a collective: checks the arguments, runs the
 * family's algorithm, and holds the helpers that the families share.
 *
 * Calls goal_coll_*.c.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SCRATCH_ALIGN = 64,
};

struct goal_mem goal_coll_scratch(struct goal_coll *c, uint64_t bytes)
{
	struct goal_mem mem = {c->graph->scratch_bytes, bytes, true};
	uint64_t room = GOAL_MAX_SCRATCH_BYTES - c->graph->scratch_bytes;

	if (bytes > room) {
		goal_coll_fail(c, -EOVERFLOW);
		return mem;
	}
	bytes = (bytes + SCRATCH_ALIGN - 1) & ~(uint64_t)(SCRATCH_ALIGN - 1);
	c->graph->scratch_bytes += bytes < room ? bytes : room;
	return mem;
}

struct goal_mem goal_coll_part(struct goal_mem whole, uint64_t offset, uint64_t bytes)
{
	return (struct goal_mem){whole.at + offset, bytes, whole.scratch};
}

struct goal_mem goal_coll_block(const struct goal_coll *c, struct goal_mem whole, uint32_t i)
{
	return goal_coll_part(whole, i * c->bytes, c->bytes);
}

uint32_t goal_coll_blocks(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
			  uint32_t num, struct goal_mem pieces[2])
{
	uint32_t upper = c->size - first;

	pieces[0] = goal_coll_part(whole, first * c->bytes, (num < upper ? num : upper) * c->bytes);
	if (num <= upper)
		return 1;
	pieces[1] = goal_coll_part(whole, 0, (num - upper) * c->bytes);
	return 2;
}

struct goal_mem goal_coll_split(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
				uint32_t num, uint32_t parts)
{
	uint64_t even = c->call->count / parts, rest = c->call->count % parts;
	uint64_t low = first * even + (first < rest ? first : rest);
	uint64_t end = first + num;
	uint64_t high = end * even + (end < rest ? end : rest);

	return goal_coll_part(whole, low * c->elem_bytes, (high - low) * c->elem_bytes);
}

uint32_t goal_coll_pow2(uint32_t ranks)
{
	uint32_t power = 1;

	while (power <= ranks / 2)
		power *= 2;
	return power;
}

uint32_t goal_coll_lowest(const struct goal_coll *c, uint32_t v)
{
	uint32_t mask = 1;

	while (mask < c->size && !(v & mask))
		mask *= 2;
	return mask;
}

uint32_t goal_coll_subtree(const struct goal_coll *c, uint32_t v, uint32_t mask)
{
	uint32_t child = v + mask;

	if (child >= c->size)
		return 0;
	return mask < c->size - child ? mask : c->size - child;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool reduces(GOAL_Collective coll)
{
	return coll == GOAL_COLL_REDUCE || coll == GOAL_COLL_ALLREDUCE ||
	       coll == GOAL_COLL_REDUCE_SCATTER || coll == GOAL_COLL_SCAN ||
	       coll == GOAL_COLL_EXSCAN;
}

static bool legal_op(const struct goal_coll_call *call)
{
	bool sums = call->op == GOAL_ADD || call->op == GOAL_MUL;
	bool compares = call->op == GOAL_MAX || call->op == GOAL_MIN;
	bool bits = call->op == GOAL_AND || call->op == GOAL_OR || call->op == GOAL_XOR ||
		    call->op == GOAL_LAND || call->op == GOAL_LOR || call->op == GOAL_LXOR;

	switch (call->type) {
	case GOAL_SINT:
	case GOAL_UINT:
		return (sums || compares || bits) && (call->width == 8 || call->width == 16 ||
						      call->width == 32 || call->width == 64);
	case GOAL_FLOAT:
		return (sums || compares) && (call->width == 32 || call->width == 64);
	case GOAL_COMPLEX:
		return sums && (call->width == 64 || call->width == 128);
	case GOAL_SINT_PAIR:
	case GOAL_FLOAT_PAIR:
		return compares && (call->width == 64 || call->width == 128);
	default:
		return false;
	}
}

/* Number of blocks of count elements in this rank's send and receive buffers; 0: unused. */
static void extents(const struct goal_coll *c, uint64_t *in, uint64_t *out)
{
	bool is_root = c->rank == c->root;

	*in = *out = 1;
	switch (c->call->coll) {
	case GOAL_COLL_BARRIER:
		*in = *out = 0;
		break;
	case GOAL_COLL_BCAST:
		*in = 0;
		break;
	case GOAL_COLL_GATHER:
		*out = is_root ? c->size : 0;
		break;
	case GOAL_COLL_SCATTER:
		*in = is_root ? c->size : 0;
		break;
	case GOAL_COLL_REDUCE:
		*out = is_root;
		break;
	case GOAL_COLL_ALLGATHER:
		*out = c->size;
		break;
	case GOAL_COLL_REDUCE_SCATTER:
		*in = c->size;
		break;
	case GOAL_COLL_ALLTOALL:
		*in = *out = c->size;
		break;
	case GOAL_COLL_EXSCAN:
		*out = c->rank || c->call->send == GOAL_IN_PLACE;
		break;
	case GOAL_COLL_EXCHANGE:
	case GOAL_COLL_ALLREDUCE:
	case GOAL_COLL_SCAN:
	case GOAL_COLLECTIVES:
		break;
	}
}

/* Resolves GOAL_IN_PLACE. */
static int set_buffers(struct goal_coll *c)
{
	const struct goal_coll_call *call = c->call;
	bool scatters = call->coll == GOAL_COLL_SCATTER;
	uint64_t in, out, offset = 0;

	if (call->coll == GOAL_COLL_EXCHANGE) {
		c->in = (struct goal_mem){(uintptr_t)call->send, 0, false};
		c->out = (struct goal_mem){(uintptr_t)call->recv, 0, false};
		return goal_coll_exchange_check(call, c->size);
	}
	extents(c, &in, &out);
	if ((in > out ? in : out) > GOAL_MAX_MSG_BYTES / (c->bytes ? c->bytes : 1))
		return -EINVAL;
	c->in = (struct goal_mem){(uintptr_t)call->send, in * c->bytes, false};
	c->out = (struct goal_mem){(uintptr_t)call->recv, out * c->bytes, false};
	if (c->starts) {
		c->in.bytes = c->starts[c->size];
		c->out.bytes = c->starts[c->rank + 1] - c->starts[c->rank];
	}
	if (call->coll == GOAL_COLL_GATHER || call->coll == GOAL_COLL_ALLGATHER)
		offset = c->rank * c->bytes;
	if (in && out && !scatters && call->send == GOAL_IN_PLACE)
		c->in.at = c->out.at + offset;
	else if (in && out && scatters && call->recv == GOAL_IN_PLACE)
		c->out.at = c->in.at + c->rank * c->bytes;
	if ((c->in.bytes && (!c->in.at || c->in.at == (uintptr_t)GOAL_IN_PLACE)) ||
	    (c->out.bytes && (!c->out.at || c->out.at == (uintptr_t)GOAL_IN_PLACE)))
		return -EINVAL;
	return 0;
}

/* Blocks of different sizes. */
static int set_starts(struct goal_coll *c)
{
	const int64_t *counts = c->call->counts;
	uint32_t i;

	if (!counts)
		return 0;
	if (c->call->coll != GOAL_COLL_REDUCE_SCATTER)
		return -EINVAL;
	c->starts = calloc((size_t)c->size + 1, sizeof(*c->starts));
	if (!c->starts)
		return -ENOMEM;
	c->bytes = 0;
	for (i = 0; i < c->size; i++) {
		uint64_t bytes = (uint64_t)counts[i] * c->elem_bytes;

		if (counts[i] < 0 ||
		    (uint64_t)counts[i] > GOAL_MAX_MSG_BYTES / c->size / c->elem_bytes)
			return -EINVAL;
		c->starts[i + 1] = c->starts[i] + bytes;
		c->bytes = bytes > c->bytes ? bytes : c->bytes;
	}
	return 0;
}

static int set_up(struct goal_coll *c)
{
	const struct goal_coll_call *call = c->call;
	int rc;

	if ((unsigned int)call->coll >= GOAL_COLLECTIVES || !c->size || c->rank >= c->size ||
	    call->root >= c->size || c->graph->num_vertices)
		return -EINVAL;
	c->elem_bytes = call->width / 8;
	if (reduces(call->coll) && (uint32_t)call->op >= GOAL_USER_FIRST)
		c->elem_bytes =
		    goal_user_elem_bytes(c->graph->user_ops, (uint32_t)call->op, call->width);
	else if (reduces(call->coll) ? !legal_op(call) : call->width != 8)
		return -EINVAL;
	if (!c->elem_bytes)
		return -EINVAL;
	if (call->count > GOAL_MAX_MSG_BYTES / 8 / c->elem_bytes)
		return -EINVAL;
	c->bytes = call->count * c->elem_bytes;
	rc = set_starts(c);
	if (rc < 0)
		return rc;
	c->alg = call->alg;
	if (c->alg == GOAL_ALG_AUTO)
		c->alg = goal_coll_choose(call->coll, c->size, c->bytes, c->graph->near);
	if (!GOAL_HasAlgorithm(call->coll, c->alg))
		return -EINVAL;
	return set_buffers(c);
}

static void run_family(struct goal_coll *c)
{
	static void (*const families[GOAL_COLLECTIVES])(struct goal_coll *) = {
	    [GOAL_COLL_BARRIER] = goal_coll_barrier,
	    [GOAL_COLL_BCAST] = goal_coll_bcast,
	    [GOAL_COLL_GATHER] = goal_coll_gather,
	    [GOAL_COLL_SCATTER] = goal_coll_scatter,
	    [GOAL_COLL_REDUCE] = goal_coll_reduce,
	    [GOAL_COLL_ALLREDUCE] = goal_coll_allreduce,
	    [GOAL_COLL_ALLGATHER] = goal_coll_allgather,
	    [GOAL_COLL_REDUCE_SCATTER] = goal_coll_reduce_scatter,
	    [GOAL_COLL_ALLTOALL] = goal_coll_alltoall,
	    [GOAL_COLL_SCAN] = goal_coll_scan,
	    [GOAL_COLL_EXSCAN] = goal_coll_exscan,
	    [GOAL_COLL_EXCHANGE] = goal_coll_exchange,
	};

	families[c->call->coll](c);
}

int goal_coll_build(struct goal_graph *graph, const struct goal_coll_call *call)
{
	struct goal_coll c = {
	    .graph = graph,
	    .call = call,
	    .rank = graph->rank,
	    .size = graph->num_ranks,
	    .root = call->root,
	};
	int64_t nop;

	c.error = set_up(&c);
	if (!c.error)
		run_family(&c);
	/* A schedule must not be empty, so a rank without work gets one no-op. */
	if (!c.error && !graph->num_vertices) {
		nop = goal_graph_nop(graph);
		c.error = nop < 0 ? (int)nop : 0;
	}
	free(c.map[0].stretches);
	free(c.map[1].stretches);
	free(c.reads);
	free(c.waits);
	free(c.starts);
	return c.error;
}
