/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws programs and computes their results; see sim_goal_plan.h. Calls the graphs of
 * host_driver/goal.
 */
#include "sim_harness/sim_goal_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define GP_HOST UINT32_MAX

/* ---- drawing --------------------------------------------------------------------------------- */

static uint32_t draw_bytes(struct sim_prng *prng)
{
	switch (sim_prng_below(prng, 8)) {
	case 0:
	case 1:
		return (uint32_t)sim_prng_range(prng, 1, 8);
	case 2:
	case 3:
	case 4:
		return (uint32_t)sim_prng_range(prng, 1, 300);
	case 5:
	case 6:
		return (uint32_t)sim_prng_range(prng, 1000, 5000);
	default:
		return (uint32_t)sim_prng_range(prng, 8000, GP_INPUT_BYTES);
	}
}

static uint32_t add_cell(struct gp_rank *r, uint32_t bytes, uint32_t valid, uint32_t writer)
{
	struct gp_cell *cell = &r->cell[r->num_cells];

	*cell = (struct gp_cell){.at = r->bytes, .bytes = bytes, .valid = valid, .writer = writer};
	/* A guard between cells, and odd addresses. */
	r->bytes += bytes + 3;
	return r->num_cells++;
}

static void add_dep(struct gp_op *op, uint32_t on, bool start)
{
	uint32_t i;

	for (i = 0; i < op->num_deps; i++)
		if (op->dep[i] == on)
			return;
	op->dep[op->num_deps] = on;
	op->dep_start[op->num_deps++] = start;
}

static struct gp_op *add_op(struct gp *gp, uint32_t rank, enum gp_kind kind)
{
	struct gp_rank *r = &gp->rank[rank];
	struct gp_op *op = &r->op[r->num_ops];

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	gp->event[gp->num_events++] = (struct gp_event){rank, r->num_ops++};
	return op;
}

static bool has_room(const struct gp *gp, uint32_t rank)
{
	return gp->rank[rank].num_ops < GP_OPS - 1 && gp->num_events < GP_EVENTS - 2;
}

/* Draws a cell with at least this many defined bytes. */
static uint32_t draw_cell(const struct gp_rank *r, uint32_t bytes, struct sim_prng *prng)
{
	uint32_t tries, cell;

	for (tries = 0; tries < 8; tries++) {
		cell = (uint32_t)sim_prng_below(prng, r->num_cells);
		if (r->cell[cell].valid >= bytes)
			return cell;
	}
	return (uint32_t)sim_prng_below(prng, GP_INPUTS);
}

/*
 * Draws dependencies: the writer of each cell that the operation reads, and sometimes another
 * operation.
 */
static void draw_deps(const struct gp_rank *r, struct gp_op *op, struct sim_prng *prng)
{
	uint32_t self = (uint32_t)(op - r->op), other;

	if (!self || sim_prng_below(prng, 3))
		return;
	other = (uint32_t)sim_prng_below(prng, self);
	if (r->op[other].kind != GP_RECV_ANY)
		add_dep(op, other, sim_prng_below(prng, 4) == 0);
}

static void read_cell(const struct gp_rank *r, struct gp_op *op, uint32_t cell)
{
	if (r->cell[cell].writer != GP_HOST)
		add_dep(op, r->cell[cell].writer, false);
}

/*
 * With wildcards, messages with equal keys would match in order of arrival, so each gets its own
 * tag.
 */
static void draw_message(struct gp *gp, bool own_tag, struct sim_prng *prng)
{
	uint32_t src = (uint32_t)sim_prng_below(prng, gp->num_ranks);
	uint32_t dst = (uint32_t)sim_prng_below(prng, gp->num_ranks);
	uint32_t bytes = draw_bytes(prng), room, tag = (uint32_t)sim_prng_below(prng, 3), cell;
	struct gp_op *send, *recv;

	if (!has_room(gp, src) || !has_room(gp, dst))
		return;
	if (own_tag)
		tag = 1000 + gp->num_events;
	cell = draw_cell(&gp->rank[src], bytes, prng);
	send = add_op(gp, src, GP_SEND);
	send->peer = dst;
	send->tag = tag;
	send->bytes = bytes;
	send->cell = cell;
	read_cell(&gp->rank[src], send, cell);
	draw_deps(&gp->rank[src], send, prng);
	recv = add_op(gp, dst, GP_RECV);
	recv->peer = src;
	recv->tag = tag;
	recv->bytes = bytes;
	recv->from = cell;
	/* Occasionally provides more room than the message needs. */
	room = bytes + (sim_prng_below(prng, 4) ? 0 : (uint32_t)sim_prng_below(prng, 3000));
	recv->cell = add_cell(&gp->rank[dst], room, bytes, gp->rank[dst].num_ops - 1);
	/*
	 * A large message to the own rank completes only when it is received: its receive must not
	 * depend on it.
	 */
	if (src != dst)
		draw_deps(&gp->rank[dst], recv, prng);
}

/*
 * Sends one rank's bytes to all others. Long multicasts, which no pool holds, may be received at
 * any time: several from one root would block each other.
 */
static void draw_multicast(struct gp *gp, bool own_tag, struct sim_prng *prng)
{
	uint32_t root = (uint32_t)sim_prng_below(prng, gp->num_ranks);
	uint32_t bytes = draw_bytes(prng), tag = (uint32_t)sim_prng_below(prng, 3), cell, i;
	struct gp_op *op;

	for (i = 0; i < gp->num_ranks; i++)
		if (gp->rank[i].num_ops >= GP_OPS - 1)
			return;
	if (gp->num_events + gp->num_ranks > GP_EVENTS - 2)
		return;
	if (own_tag)
		tag = 1000 + gp->num_events;
	cell = draw_cell(&gp->rank[root], bytes, prng);
	op = add_op(gp, root, GP_MCAST_SEND);
	op->peer = root;
	op->tag = tag;
	op->bytes = bytes;
	op->cell = cell;
	read_cell(&gp->rank[root], op, cell);
	draw_deps(&gp->rank[root], op, prng);
	for (i = 0; i < gp->num_ranks; i++) {
		uint32_t more = sim_prng_below(prng, 4) ? 0 : (uint32_t)sim_prng_below(prng, 3000);

		if (i == root)
			continue;
		op = add_op(gp, i, GP_MCAST_RECV);
		op->peer = root;
		op->tag = tag;
		op->bytes = bytes;
		op->from = cell;
		op->cell = add_cell(&gp->rank[i], bytes + more, bytes, gp->rank[i].num_ops - 1);
		if (bytes <= GP_POOL_BYTES)
			draw_deps(&gp->rank[i], op, prng);
	}
}

/* Sends messages of equal size from random ranks to one rank, with their own tag. */
static void draw_group(struct gp *gp, uint32_t tag, struct sim_prng *prng)
{
	uint32_t dst = (uint32_t)sim_prng_below(prng, gp->num_ranks), bytes = draw_bytes(prng);
	uint32_t left = (uint32_t)sim_prng_range(prng, 1, 5), src;

	for (; left; left--) {
		struct gp_op *send, *recv;

		src = (uint32_t)sim_prng_below(prng, gp->num_ranks);
		if (src == dst || !has_room(gp, src) || !has_room(gp, dst))
			continue;
		send = add_op(gp, src, GP_SEND);
		send->peer = dst;
		send->tag = tag;
		send->bytes = bytes;
		send->cell = (uint32_t)sim_prng_below(prng, GP_INPUTS);
		recv = add_op(gp, dst, GP_RECV_ANY);
		recv->peer = src;
		recv->tag = tag;
		recv->bytes = bytes;
		recv->from = send->cell;
		/* Not read by other operations: the content is one of several messages. */
		recv->cell = add_cell(&gp->rank[dst], bytes, 0, gp->rank[dst].num_ops - 1);
	}
}

static void draw_local(struct gp *gp, struct sim_prng *prng)
{
	static const enum goal_local kinds[] = {GOAL_LOCAL_XOR, GOAL_LOCAL_ADD, GOAL_LOCAL_COPY};
	uint32_t rank = (uint32_t)sim_prng_below(prng, gp->num_ranks);
	struct gp_rank *r = &gp->rank[rank];
	uint32_t a, b, bytes;
	struct gp_op *op;

	if (!has_room(gp, rank))
		return;
	a = draw_cell(r, 4, prng);
	b = draw_cell(r, 4, prng);
	bytes = r->cell[a].valid < r->cell[b].valid ? r->cell[a].valid : r->cell[b].valid;
	op = add_op(gp, rank, GP_LOCAL);
	op->local = kinds[sim_prng_below(prng, 3)];
	op->a = a;
	op->b = b;
	op->bytes = bytes / 4 * 4;
	op->cell = add_cell(r, op->bytes, op->bytes, r->num_ops - 1);
	read_cell(r, op, a);
	if (op->local != GOAL_LOCAL_COPY)
		read_cell(r, op, b);
	draw_deps(r, op, prng);
}

void gp_draw(struct gp *gp, uint32_t num_ranks, struct sim_prng *prng)
{
	uint32_t left = (uint32_t)sim_prng_range(prng, 2, 10 * num_ranks), i, k;
	uint32_t any_share = sim_prng_below(prng, 3) ? 0 : 5;

	assert(num_ranks <= GP_RANKS);
	memset(gp, 0, sizeof(*gp));
	gp->num_ranks = num_ranks;
	for (i = 0; i < num_ranks; i++)
		for (k = 0; k < GP_INPUTS; k++)
			add_cell(&gp->rank[i], GP_INPUT_BYTES, GP_INPUT_BYTES, GP_HOST);
	for (i = 0; i < left; i++) {
		if (any_share && !sim_prng_below(prng, any_share))
			draw_group(gp, 100 + i, prng);
		else if (!sim_prng_below(prng, 4))
			draw_local(gp, prng);
		else if (!sim_prng_below(prng, 8))
			draw_multicast(gp, any_share != 0, prng);
		else
			draw_message(gp, any_share != 0, prng);
	}
}

/* ---- the graph ------------------------------------------------------------------------------- */

static struct goal_mem mem_at(const struct gp_rank *r, const uint8_t *buf, uint32_t cell,
			      uint32_t bytes)
{
	return (struct goal_mem){(uintptr_t)buf + r->cell[cell].at, bytes, false};
}

static int64_t add_vertex(struct goal_graph *g, const struct gp_rank *r, const struct gp_op *op,
			  const uint8_t *buf)
{
	bool room = op->kind == GP_RECV || op->kind == GP_MCAST_RECV;
	struct goal_mem mem = mem_at(r, buf, op->cell, room ? r->cell[op->cell].bytes : op->bytes);
	struct goal_mem a = mem_at(r, buf, op->a, op->bytes);
	struct goal_mem b = mem_at(r, buf, op->b, op->bytes);
	const struct goal_mem *mems[3] = {&a, &b, &mem};
	uint32_t nums[3] = {1, op->local == GOAL_LOCAL_COPY ? 0 : 1, 1};

	switch (op->kind) {
	case GP_SEND:
		return goal_graph_msg(g, GOAL_INSN_SEND, &mem, 1, op->peer, op->tag);
	case GP_RECV:
		return goal_graph_msg(g, GOAL_INSN_RECV, &mem, 1, op->peer, op->tag);
	case GP_RECV_ANY:
		return goal_graph_msg(g, GOAL_INSN_RECV, &mem, 1, GOAL_RANK_ANY, op->tag);
	case GP_MCAST_SEND:
		return goal_graph_msg(g, GOAL_INSN_MCAST_SEND, &mem, 1, op->peer, op->tag);
	case GP_MCAST_RECV:
		return goal_graph_msg(g, GOAL_INSN_MCAST_RECV, &mem, 1, op->peer, op->tag);
	case GP_LOCAL:
		break;
	}
	return goal_graph_local(g, op->local, GOAL_TYPE_UINT, 32, op->bytes / 4, mems, nums);
}

struct goal_graph *gp_graph(const struct gp *gp, uint32_t rank, const uint8_t *buf)
{
	struct goal_graph *g = goal_graph_new(rank, gp->num_ranks);
	const struct gp_rank *r = &gp->rank[rank];
	uint32_t i, k;

	assert(g);
	/* A rank without operations still takes part. */
	if (!r->num_ops)
		(void)goal_graph_nop(g);
	for (i = 0; i < r->num_ops; i++) {
		const struct gp_op *op = &r->op[i];
		int64_t vertex = add_vertex(g, r, op, buf);

		assert(vertex == i);
		for (k = 0; k < op->num_deps; k++) {
			int rc = goal_graph_requires(g, op->dep[k], i, op->dep_start[k]);

			assert(!rc);
			(void)rc;
		}
		(void)vertex;
	}
	return g;
}

/* ---- the result ------------------------------------------------------------------------------ */

void gp_fill(const struct gp *gp, uint32_t rank, uint64_t seed, uint8_t *buf)
{
	struct sim_prng prng;

	memset(buf, GP_GUARD, gp->rank[rank].bytes);
	sim_prng_init(&prng, seed, SIM_STREAM_WORKLOAD, rank);
	sim_prng_fill(&prng, buf, GP_INPUT_BYTES);
	sim_prng_fill(&prng, buf + gp->rank[rank].cell[1].at, GP_INPUT_BYTES);
}

static void local(const struct gp_op *op, const uint8_t *a, const uint8_t *b, uint8_t *result)
{
	uint32_t i, x, y;

	for (i = 0; i < op->bytes; i += 4) {
		memcpy(&x, a + i, 4);
		memcpy(&y, b + i, 4);
		x = op->local == GOAL_LOCAL_XOR ? x ^ y : op->local == GOAL_LOCAL_ADD ? x + y : x;
		memcpy(result + i, &x, 4);
	}
}

/* Executes the program in its order. */
static void carry_out(const struct gp *gp, uint64_t seed, uint8_t *const *buf)
{
	uint32_t i;

	for (i = 0; i < gp->num_ranks; i++)
		gp_fill(gp, i, seed, buf[i]);
	for (i = 0; i < gp->num_events; i++) {
		const struct gp_event *e = &gp->event[i];
		const struct gp_rank *r = &gp->rank[e->rank];
		const struct gp_op *op = &r->op[e->op];
		uint8_t *cell = buf[e->rank] + r->cell[op->cell].at;

		if (op->kind == GP_LOCAL)
			local(op, buf[e->rank] + r->cell[op->a].at,
			      buf[e->rank] + r->cell[op->b].at, cell);
		else if (op->kind != GP_SEND && op->kind != GP_MCAST_SEND)
			memcpy(cell, buf[op->peer] + gp->rank[op->peer].cell[op->from].at,
			       op->bytes);
	}
}

/* Compares the cells of a group, which hold the same messages in any order. */
static bool same_group(const struct gp_rank *r, uint32_t tag, const uint8_t *is,
		       const uint8_t *want)
{
	bool taken[GP_OPS] = {false};
	uint32_t i, k;

	for (i = 0; i < r->num_ops; i++) {
		if (r->op[i].kind != GP_RECV_ANY || r->op[i].tag != tag)
			continue;
		for (k = 0; k < r->num_ops; k++) {
			if (r->op[k].kind != GP_RECV_ANY || r->op[k].tag != tag || taken[k])
				continue;
			if (!memcmp(is + r->cell[r->op[i].cell].at,
				    want + r->cell[r->op[k].cell].at, r->op[i].bytes))
				break;
		}
		if (k == r->num_ops)
			return false;
		taken[k] = true;
	}
	return true;
}

const char *gp_check(const struct gp *gp, uint32_t rank, uint64_t seed, const uint8_t *buf)
{
	const struct gp_rank *r = &gp->rank[rank];
	const char *wrong = NULL;
	uint8_t *want[GP_RANKS];
	uint8_t *is = malloc(r->bytes);
	uint32_t i;

	assert(is);
	memcpy(is, buf, r->bytes);
	for (i = 0; i < gp->num_ranks; i++) {
		want[i] = malloc(gp->rank[i].bytes);
		assert(want[i]);
	}
	carry_out(gp, seed, want);
	for (i = 0; i < r->num_ops && !wrong; i++) {
		uint32_t at = r->cell[r->op[i].cell].at;

		if (r->op[i].kind == GP_RECV_ANY && !same_group(r, r->op[i].tag, buf, want[rank]))
			wrong = "messages to any receive differ from those sent";
		if (r->op[i].kind == GP_RECV_ANY)
			memcpy(is + at, want[rank] + at, r->op[i].bytes);
	}
	/* The copy was adjusted where any message is valid: the rest must match byte for byte. */
	if (!wrong && memcmp(is, want[rank], r->bytes))
		wrong = "bytes differ from what the schedule makes of its inputs";
	for (i = 0; i < gp->num_ranks; i++)
		free(want[i]);
	free(is);
	return wrong;
}
