/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of all ranks and their dependencies, from schedules as text or from compiled ones.
 *
 * A compiled schedule comes from a file: every offset, count and index of it is checked before use.
 * Calls plan_pairs.c. Formats: shared_defs/goal_format.h, docs/goal-format.md.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_graph.h"
#include "tools/goal-dump/dump.h"

/* Makes room for more items behind the num there are. */
static int room(void **items, size_t *have, size_t num, size_t more, size_t item_bytes)
{
	void *bigger;
	size_t want = *have ? *have : 64;

	if (more <= *have - num)
		return 0;
	while (want < num + more)
		want *= 2;
	bigger = realloc(*items, want * item_bytes);
	if (!bigger)
		return -1;
	*items = bigger;
	*have = want;
	return 0;
}

#define ROOM(items, have, num, more) room((void **)&(items), &(have), num, more, sizeof(*(items)))

/* Adds a rank with room for its operations and dependencies. */
static int add_rank(struct plan *plan, uint32_t rank, uint32_t num_ops, size_t num_deps)
{
	if (ROOM(plan->ranks, plan->ranks_room, plan->num, 1) ||
	    ROOM(plan->ops, plan->ops_room, plan->num_ops, num_ops) ||
	    ROOM(plan->deps, plan->deps_room, plan->num_deps, num_deps))
		return -1;
	plan->ranks[plan->num++] =
	    (struct plan_rank){rank, (uint32_t)plan->num_ops, num_ops, false};
	return 0;
}

static void add_op(struct plan *plan, const struct plan_op *op)
{
	struct plan_rank *rank = &plan->ranks[plan->num - 1];

	if (op->kind == GOAL_INSN_RECV && (op->peer == GOAL_RANK_ANY || op->tag == GOAL_TAG_ANY))
		rank->wild = true;
	plan->ops[plan->num_ops++] = *op;
}

/* ---- schedules as text ---------------------------------------------------------------------- */

static uint8_t insn_kind(uint8_t kind)
{
	switch ((enum goal_kind)kind) {
	case GOAL_OP_SEND:
		return GOAL_INSN_SEND;
	case GOAL_OP_RECV:
		return GOAL_INSN_RECV;
	case GOAL_OP_CALC:
		break;
	}
	return GOAL_INSN_CALC;
}

static void add_set_op(struct plan *plan, uint32_t rank, uint32_t vertex, const struct goal_op *op)
{
	add_op(plan, &(struct plan_op){
			 .kind = insn_kind(op->kind),
			 .sub = op->kind == GOAL_OP_CALC ? op->cpu : 0,
			 .rank = rank,
			 .vertex = vertex,
			 .peer = op->peer,
			 .tag = op->tag,
			 .amount = op->size,
		     });
}

int plan_add_set(struct plan *plan, const char *name, const struct goal_set *set)
{
	plan->num_ranks = set->num_ranks;
	plan->lines = true;
	for (uint32_t rank = 0; rank < set->num_ranks; rank++) {
		uint32_t first = set->rank_first[rank], end = set->rank_first[rank + 1];

		if (add_rank(plan, rank, end - first, 0))
			return dump_fail(name, "not enough memory");
		for (uint32_t op = first; op < end; op++)
			add_set_op(plan, rank, op - first, &set->ops[op]);
	}
	for (int w = 0; w < GOAL_NUM_WAITS; w++) {
		const struct goal_edges *edges = &set->edges[w];

		if (ROOM(plan->deps, plan->deps_room, plan->num_deps, edges->first[set->num_ops]))
			return dump_fail(name, "not enough memory");
		for (uint32_t op = 0; op < set->num_ops; op++)
			for (uint32_t i = edges->first[op]; i < edges->first[op + 1]; i++)
				plan->deps[plan->num_deps++] =
				    (struct plan_dep){op, edges->target[i], w == GOAL_WAIT_START};
	}
	return 0;
}

/* ---- compiled schedules --------------------------------------------------------------------- */

struct code {
	struct goal_header header;
	const uint8_t *ops, *edges;
};

static bool is_within(uint64_t offset, uint64_t count, uint64_t item_bytes, size_t num)
{
	return offset <= num && count <= (num - offset) / item_bytes;
}

static const char *check_header(struct code *code, const uint8_t *bytes, size_t num)
{
	const struct goal_header *h = &code->header;

	if (num < sizeof(*h))
		return "too short for a compiled schedule";
	memcpy(&code->header, bytes, sizeof(*h));
	if (h->magic != GOAL_FORMAT_MAGIC || h->version != GOAL_FORMAT_VERSION)
		return "no compiled schedule of this version";
	if (h->total_bytes != num)
		return "a compiled schedule of another length than its header says";
	if (h->crc32c && h->crc32c != goal_code_crc(bytes, num))
		return "a compiled schedule whose CRC is wrong";
	if (h->num_ops > GOAL_FORMAT_MAX_OPS || h->num_edges > GOAL_MAX_EDGES ||
	    h->num_ranks > GOAL_FORMAT_MAX_RANKS || h->rank >= h->num_ranks)
		return "a compiled schedule beyond the format's limits";
	if (!is_within(h->ops_offset, h->num_ops, sizeof(struct goal_insn), num) ||
	    !is_within(h->edges_offset, h->num_edges, sizeof(struct goal_edge), num))
		return "a compiled schedule whose tables are out of place";
	code->ops = bytes + h->ops_offset;
	code->edges = bytes + h->edges_offset;
	return NULL;
}

static const char *check_op(const struct code *code, const struct goal_insn *op)
{
	bool message = op->kind == GOAL_INSN_SEND || op->kind == GOAL_INSN_RECV ||
		       op->kind == GOAL_INSN_MCAST_SEND || op->kind == GOAL_INSN_MCAST_RECV;
	bool any = op->kind == GOAL_INSN_RECV && op->peer == GOAL_RANK_ANY;

	if (!op->kind || op->kind >= GOAL_INSN_KINDS)
		return "an operation of unknown kind";
	if (message && !any && op->peer >= code->header.num_ranks)
		return "an operation with a rank that is not there";
	if ((uint64_t)op->first_edge + op->num_start_edges + op->num_edges > code->header.num_edges)
		return "an operation whose dependents are not there";
	return NULL;
}

/* Adds an operation and its dependents. */
static const char *add_insn(struct plan *plan, const struct code *code, uint32_t vertex)
{
	uint32_t first = plan->ranks[plan->num - 1].first_op;
	struct goal_insn op;
	const char *wrong;

	memcpy(&op, code->ops + (size_t)vertex * sizeof(op), sizeof(op));
	wrong = check_op(code, &op);
	if (wrong)
		return wrong;
	add_op(plan, &(struct plan_op){op.kind, op.sub, op.type, op.width, code->header.rank,
				       vertex, op.peer, op.tag, op.amount});
	/* Tables whose rows overlap would add more than the header counts. */
	if (ROOM(plan->deps, plan->deps_room, plan->num_deps,
		 (size_t)op.num_start_edges + op.num_edges))
		return "not enough memory";
	for (uint32_t i = 0; i < op.num_start_edges + op.num_edges; i++) {
		struct goal_edge edge;

		memcpy(&edge, code->edges + ((size_t)op.first_edge + i) * sizeof(edge),
		       sizeof(edge));
		if (edge.target >= code->header.num_ops)
			return "a dependency on an operation that is not there";
		plan->deps[plan->num_deps++] =
		    (struct plan_dep){first + vertex, first + edge.target, i < op.num_start_edges};
	}
	return NULL;
}

int plan_add_code(struct plan *plan, const char *name, const uint8_t *bytes, size_t num)
{
	struct code code;
	const char *wrong = check_header(&code, bytes, num);
	uint64_t edges = 0;

	if (!wrong && plan->num_ranks && plan->num_ranks != code.header.num_ranks)
		wrong = "a schedule for another number of ranks than the file before it";
	if (!wrong && plan->num_ops + code.header.num_ops > GOAL_MAX_OPS)
		wrong = "too many operations for one picture";
	if (wrong)
		return dump_fail(name, "%s", wrong);
	plan->num_ranks = code.header.num_ranks;
	if (add_rank(plan, code.header.rank, code.header.num_ops, code.header.num_edges))
		return dump_fail(name, "not enough memory");
	for (uint32_t i = 0; !wrong && i < code.header.num_ops; i++) {
		size_t before = plan->num_deps;

		wrong = add_insn(plan, &code, i);
		edges += plan->num_deps - before;
		if (!wrong && edges > code.header.num_edges)
			wrong = "operations that share their lists of dependents";
	}
	return wrong ? dump_fail(name, "a damaged schedule: %s", wrong) : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct plan_rank *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int plan_finish(struct plan *plan)
{
	char text[32];

	if (plan->num)
		qsort(plan->ranks, plan->num, sizeof(*plan->ranks), by_rank);
	for (size_t i = 1; i < plan->num; i++)
		if (plan->ranks[i].rank == plan->ranks[i - 1].rank) {
			snprintf(text, sizeof(text), "rank %" PRIu32, plan->ranks[i].rank);
			return dump_fail(text, "there are two files of it");
		}
	return plan_find_pairs(plan);
}

void plan_free(struct plan *plan)
{
	free(plan->ranks);
	free(plan->ops);
	free(plan->deps);
	free(plan->pairs);
	*plan = (struct plan){0};
}
