/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives with a root, executed by an interpreter: every algorithm, all numbers of ranks from 1
 * to 64, all roots of up to 16 ranks and some of more, sizes from 0 bytes to 4 KiB in turn. The
 * interpreter below runs the graphs of all ranks, one operation after another in an order that
 * their edges and messages allow, on the real buffers. tests/sim/goal_coll_*_ut.c run them on NICs.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "tests/ut.h"

enum {
	RANKS = 64,
	MAX_BYTES = 4096,
	GUARD = 0xa5,
};

/* A rank's part in execution. */
struct part {
	struct goal_graph *graph;
	uint8_t *in, *out, *scratch;
	uint32_t *waits; /* of each vertex */
	bool *done, *root;
	uint32_t left;
};

static struct part part[RANKS];
static const uint64_t sizes[] = {0, 1, 7, 64, 300, 1024, 1500, 4096};

/* ---- execution ---- */

static uint8_t *address(const struct part *p, const struct goal_mem *mem)
{
	return mem->scratch ? p->scratch + mem->at : (uint8_t *)mem->at;
}

/* Copies all pieces of buffer k of a vertex, into or out of bytes; returns their number. */
static uint64_t move(const struct part *p, const struct goal_vertex *v, uint32_t k, uint8_t *bytes,
		     bool into)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < v->num_mems[k]; i++) {
		const struct goal_mem *mem = &p->graph->mems[v->first_mem[k] + i];

		if (into)
			memcpy(address(p, mem), bytes + sum, mem->bytes);
		else
			memcpy(bytes + sum, address(p, mem), mem->bytes);
		sum += mem->bytes;
	}
	return sum;
}

/* The vertex has started, or ended: vertices that waited for that alone start. */
static void release(struct part *p, uint32_t vertex, bool start)
{
	uint32_t i;

	for (i = 0; i < p->graph->num_deps; i++) {
		const struct goal_dep *dep = &p->graph->deps[i];

		if (dep->from == vertex && dep->start == start && !--p->waits[dep->to])
			release(p, dep->to, true);
	}
}

static void finish(struct part *p, uint32_t vertex)
{
	p->done[vertex] = true;
	p->left--;
	release(p, vertex, false);
}

/* Adds bytes, as all reductions here do. */
static void local(struct part *p, const struct goal_vertex *v)
{
	static uint8_t a[RANKS * MAX_BYTES], b[RANKS * MAX_BYTES];
	uint64_t n = move(p, v, 0, a, false), i;

	if (v->sub == GOAL_LOCAL_ADD) {
		CU_ASSERT(move(p, v, 1, b, false) == n);
		for (i = 0; i < n; i++)
			a[i] = (uint8_t)(a[i] + b[i]);
	} else {
		CU_ASSERT(v->sub == GOAL_LOCAL_COPY);
	}
	move(p, v, 2, a, true);
}

/* The first message of equal source, destination and tag that is not done, on either side. */
static uint32_t first_of(const struct part *p, uint8_t kind, uint32_t peer, uint32_t tag)
{
	uint32_t i;

	for (i = 0; i < p->graph->num_vertices; i++) {
		const struct goal_vertex *v = &p->graph->vertices[i];

		if (v->kind == kind && v->peer == peer && v->tag == tag && !p->done[i])
			return i;
	}
	return GOAL_NO_VERTEX;
}

/*
 * Executes a receive that may start, with its send: numbered alike (docs/collectives.md
 * "Matching").
 */
static bool receive(uint32_t rank, uint32_t vertex)
{
	static uint8_t bytes[RANKS * MAX_BYTES];
	struct part *p = &part[rank];
	const struct goal_vertex *v = &p->graph->vertices[vertex];
	struct part *from = &part[v->peer];
	uint32_t send = first_of(from, GOAL_INSN_SEND, rank, v->tag);

	if (first_of(p, GOAL_INSN_RECV, v->peer, v->tag) != vertex || send == GOAL_NO_VERTEX ||
	    from->waits[send])
		return false;
	CU_ASSERT(from->graph->vertices[send].amount == v->amount);
	if (from->graph->vertices[send].amount == v->amount) {
		move(from, &from->graph->vertices[send], 0, bytes, false);
		move(p, v, 0, bytes, true);
	}
	finish(from, send);
	finish(p, vertex);
	return true;
}

/* One round over a rank's vertices; true if any was executed. */
static bool step(uint32_t rank)
{
	struct part *p = &part[rank];
	bool any = false;
	uint32_t i;

	for (i = 0; p->left && i < p->graph->num_vertices; i++) {
		const struct goal_vertex *v = &p->graph->vertices[i];

		if (p->done[i] || p->waits[i] || v->kind == GOAL_INSN_SEND)
			continue;
		if (v->kind == GOAL_INSN_RECV) {
			any = receive(rank, i) || any;
			continue;
		}
		if (v->kind == GOAL_INSN_LOCAL)
			local(p, v);
		finish(p, i);
		any = true;
	}
	return any;
}

static bool carry_out(uint32_t ranks)
{
	bool any = true, over = true;
	uint32_t i;

	while (any)
		for (any = false, i = 0; i < ranks; i++)
			any = step(i) || any;
	for (i = 0; i < ranks; i++)
		over = over && !part[i].left;
	return over;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static uint8_t value(uint32_t rank, uint64_t i)
{
	return (uint8_t)((rank * 131 + i * 7 + (i >> 8) * 13 + 5) % 251);
}

static void begin(uint32_t rank, uint32_t ranks, const struct goal_coll_call *shape)
{
	struct part *p = &part[rank];
	struct goal_coll_call call = *shape;
	uint64_t whole = shape->count * ranks, i;

	p->in = malloc(whole + 1);
	p->out = malloc(whole + 1);
	for (i = 0; i < whole; i++)
		p->in[i] = value(rank, i);
	memset(p->out, GUARD, whole + 1);
	if (shape->coll == GOAL_COLL_BCAST && rank == shape->root)
		memcpy(p->out, p->in, shape->count);
	call.send = p->in;
	call.recv = p->out;
	p->graph = goal_graph_new(rank, ranks);
	CU_ASSERT_EQUAL_FATAL(goal_coll_build(p->graph, &call), 0);
	p->scratch = malloc(p->graph->scratch_bytes + 1);
	p->waits = calloc(p->graph->num_vertices, sizeof(*p->waits));
	p->done = calloc(p->graph->num_vertices, sizeof(*p->done));
	p->root = calloc(p->graph->num_vertices, sizeof(*p->root));
	p->left = p->graph->num_vertices;
	for (i = 0; i < p->graph->num_deps; i++)
		p->waits[p->graph->deps[i].to]++;
	for (i = 0; i < p->graph->num_vertices; i++)
		p->root[i] = !p->waits[i];
	for (i = 0; i < p->graph->num_vertices; i++)
		if (p->root[i])
			release(p, (uint32_t)i, true);
}

static void end(struct part *p)
{
	goal_graph_free(p->graph);
	free(p->in);
	free(p->out);
	free(p->scratch);
	free(p->waits);
	free(p->done);
	free(p->root);
}

/* Expected byte i of the rank's result. */
static uint8_t expected(const struct goal_coll_call *c, uint32_t rank, uint32_t ranks, uint64_t i)
{
	bool root = rank == c->root;
	uint8_t sum = 0;
	uint32_t k;

	if (c->coll == GOAL_COLL_BCAST && i < c->count)
		return value(c->root, i);
	if (c->coll == GOAL_COLL_SCATTER && i < c->count)
		return value(c->root, rank * c->count + i);
	if (c->coll == GOAL_COLL_GATHER && root && i < ranks * c->count)
		return value((uint32_t)(i / c->count), i % c->count);
	if (c->coll == GOAL_COLL_REDUCE && root && i < c->count) {
		for (k = 0; k < ranks; k++)
			sum = (uint8_t)(sum + value(k, i));
		return sum;
	}
	return GUARD;
}

static bool right(const struct goal_coll_call *c, uint32_t rank, uint32_t ranks)
{
	uint64_t i;

	for (i = 0; i <= ranks * c->count; i++)
		if (part[rank].out[i] != expected(c, rank, ranks, i))
			return false;
	for (i = 0; i < ranks * c->count; i++)
		if (part[rank].in[i] != value(rank, i))
			return false;
	return true;
}

static void one(const struct goal_coll_call *c, uint32_t ranks)
{
	bool ok;
	uint32_t i;

	for (i = 0; i < ranks; i++)
		begin(i, ranks, c);
	ok = carry_out(ranks);
	for (i = 0; ok && i < ranks; i++)
		ok = right(c, i, ranks);
	if (!ok)
		printf("\n    %s, %s: %u ranks, root %u, %llu bytes", GOAL_CollectiveName(c->coll),
		       GOAL_AlgorithmName(c->alg), ranks, c->root, (unsigned long long)c->count);
	CU_ASSERT(ok);
	for (i = 0; i < ranks; i++)
		end(&part[i]);
}

/* Every root of a few ranks; of many the first, the last, and each fifth, others at each number. */
static bool is_tried(uint32_t ranks, uint32_t root)
{
	return ranks <= 16 || !root || root == ranks - 1 || root % 5 == ranks % 5;
}

/* Sizes in turn, so that each algorithm meets all of them at many numbers of ranks and roots. */
static void every_root(GOAL_Collective coll)
{
	uint32_t turn = 0;
	int alg;

	for (alg = 1; alg < GOAL_ALGORITHMS; alg++) {
		if (!GOAL_HasAlgorithm(coll, (GOAL_Algorithm)alg) || alg == GOAL_ALG_MULTICAST)
			continue;
		for (uint32_t ranks = 1; ranks <= RANKS; ranks++)
			for (uint32_t root = 0; root < ranks; root++, turn++) {
				/* Large ones where they are cheap, and sometimes where not. */
				uint32_t limit = ranks <= 12 || turn % 397 == 0 ? 8 : 4;
				const struct goal_coll_call call = {
				    .coll = coll,
				    .alg = (GOAL_Algorithm)alg,
				    .count = sizes[turn % limit],
				    .op = GOAL_ADD,
				    .type = GOAL_UINT,
				    .width = 8,
				    .root = root,
				};

				if (is_tried(ranks, root))
					one(&call, ranks);
			}
	}
}

static void bcast(void)
{
	every_root(GOAL_COLL_BCAST);
}

static void gather(void)
{
	every_root(GOAL_COLL_GATHER);
}

static void scatter(void)
{
	every_root(GOAL_COLL_SCATTER);
}

static void reduce(void)
{
	every_root(GOAL_COLL_REDUCE);
}

UT_MAIN("host_driver/goal_coll_roots", UT(bcast), UT(gather), UT(scatter), UT(reduce))
