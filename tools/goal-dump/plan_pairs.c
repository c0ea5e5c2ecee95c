/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which message belongs to which receive, and the words for operations in pictures.
 *
 * The n-th send to a rank with a tag belongs to the n-th receive there from that source with that
 * tag, as NICs match them (docs/collectives.md "Matching"). A multicast belongs to the receives of
 * all ranks. Where a rank has wildcards its messages are matched in the order of arrival, which no
 * schedule tells.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "tools/goal-dump/dump.h"

/* One end of a message. Sorted, the sends of equal source, target and tag precede the receives. */
struct end {
	uint32_t source, target, tag; /* target GOAL_RANK_ANY: a multicast */
	bool is_recv;
	uint32_t rank; /* of the operation */
	uint32_t op;
};

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static bool is_same(const struct end *a, const struct end *b)
{
	return a->source == b->source && a->target == b->target && a->tag == b->tag;
}

static int by_message(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	int order[] = {
	    compare(x->source, y->source),   compare(x->target, y->target), compare(x->tag, y->tag),
	    compare(x->is_recv, y->is_recv), compare(x->rank, y->rank),     compare(x->op, y->op),
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i])
			return order[i];
	return 0;
}

/* The end of a message at this operation; false: it has none. */
static bool end_of(const struct plan_op *op, struct end *end)
{
	*end = (struct end){.tag = op->tag, .rank = op->rank};
	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_SEND:
		end->source = op->rank;
		end->target = op->peer;
		return true;
	case GOAL_INSN_RECV:
		end->source = op->peer;
		end->target = op->rank;
		end->is_recv = true;
		return true;
	case GOAL_INSN_MCAST_SEND:
	case GOAL_INSN_MCAST_RECV:
		end->source = op->peer;
		end->target = GOAL_RANK_ANY;
		end->is_recv = op->kind == GOAL_INSN_MCAST_RECV;
		return true;
	case GOAL_INSN_LOCAL:
	case GOAL_INSN_CALC:
	case GOAL_INSN_NOP:
	case GOAL_INSN_KINDS:
		break;
	}
	return false;
}

static bool is_wild(const struct plan *plan, uint32_t rank)
{
	struct plan_rank *found = NULL;
	size_t low = 0, high = plan->num;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plan->ranks[middle].rank == rank)
			found = &plan->ranks[middle];
		if (plan->ranks[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return found && found->wild;
}

static size_t collect(const struct plan *plan, struct end *ends)
{
	size_t num = 0;

	for (size_t r = 0; r < plan->num; r++)
		for (uint32_t i = 0; i < plan->ranks[r].num_ops; i++) {
			struct end *end = &ends[num];
			uint32_t op = plan->ranks[r].first_op + i;

			if (!end_of(&plan->ops[op], end))
				continue;
			end->op = op;
			num += end->target == GOAL_RANK_ANY || !is_wild(plan, end->target);
		}
	return num;
}

/* Pairs the sends of one key with the receives of each rank in turn. */
static void pair_up(struct plan *plan, const struct end *ends, size_t num)
{
	size_t sends = 0, n = 0;

	while (sends < num && !ends[sends].is_recv)
		sends++;
	for (size_t i = sends; i < num; i++) {
		n = i > sends && ends[i].rank == ends[i - 1].rank ? n + 1 : 0;
		if (n < sends)
			plan->pairs[plan->num_pairs++] = (struct plan_pair){ends[n].op, ends[i].op};
	}
}

static int by_send(const void *a, const void *b)
{
	const struct plan_pair *x = a, *y = b;
	int order = compare(x->send, y->send);

	return order ? order : compare(x->recv, y->recv);
}

int plan_find_pairs(struct plan *plan)
{
	struct end *ends = calloc(plan->num_ops + 1, sizeof(*ends));
	size_t num, first, next;

	plan->pairs = calloc(plan->num_ops + 1, sizeof(*plan->pairs));
	if (!ends || !plan->pairs) {
		free(ends);
		return dump_fail("the schedule", "not enough memory");
	}
	num = collect(plan, ends);
	qsort(ends, num, sizeof(*ends), by_message);
	for (first = 0; first < num; first = next) {
		for (next = first + 1; next < num && is_same(&ends[first], &ends[next]);)
			next++;
		pair_up(plan, &ends[first], next - first);
	}
	free(ends);
	qsort(plan->pairs, plan->num_pairs, sizeof(*plan->pairs), by_send);
	return 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

static const struct {
	const char *word, *colour;
} kinds[GOAL_INSN_KINDS] = {
    [GOAL_INSN_SEND] = {"send", "#9cc3e6"},        [GOAL_INSN_RECV] = {"recv", "#a9d8a0"},
    [GOAL_INSN_LOCAL] = {"local", "#f4bf75"},      [GOAL_INSN_CALC] = {"calc", "#c8c8c8"},
    [GOAL_INSN_MCAST_SEND] = {"mcast", "#c3a5dd"}, [GOAL_INSN_MCAST_RECV] = {"mrecv", "#e0c8f0"},
    [GOAL_INSN_NOP] = {"join", "#ffffff"},
};

const char *plan_kind(const struct plan_op *op)
{
	return kinds[op->kind].word;
}

const char *plan_colour(const struct plan_op *op)
{
	return kinds[op->kind].colour;
}

static const char *local_word(uint8_t sub)
{
	static const char *const words[GOAL_LOCALS] = {
	    [GOAL_LOCAL_MAX] = "max",   [GOAL_LOCAL_MIN] = "min",     [GOAL_LOCAL_ADD] = "add",
	    [GOAL_LOCAL_SUB] = "sub",   [GOAL_LOCAL_DIV] = "div",     [GOAL_LOCAL_MUL] = "mul",
	    [GOAL_LOCAL_COPY] = "copy", [GOAL_LOCAL_AND] = "and",     [GOAL_LOCAL_OR] = "or",
	    [GOAL_LOCAL_XOR] = "xor",   [GOAL_LOCAL_WTIME] = "wtime",
	};

	return sub < GOAL_LOCALS && words[sub] ? words[sub] : "local";
}

void plan_short(const struct plan_op *op, char text[PLAN_TEXT])
{
	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_SEND:
		snprintf(text, PLAN_TEXT, "send to %" PRIu32, op->peer);
		return;
	case GOAL_INSN_RECV:
		if (op->peer == GOAL_RANK_ANY)
			snprintf(text, PLAN_TEXT, "recv from any");
		else
			snprintf(text, PLAN_TEXT, "recv from %" PRIu32, op->peer);
		return;
	case GOAL_INSN_MCAST_SEND:
		snprintf(text, PLAN_TEXT, "multicast");
		return;
	case GOAL_INSN_MCAST_RECV:
		snprintf(text, PLAN_TEXT, "multicast from %" PRIu32, op->peer);
		return;
	case GOAL_INSN_LOCAL:
		snprintf(text, PLAN_TEXT, "%s", local_word(op->sub));
		return;
	case GOAL_INSN_CALC:
	case GOAL_INSN_NOP:
	case GOAL_INSN_KINDS:
		break;
	}
	snprintf(text, PLAN_TEXT, "%s", plan_kind(op));
}

static void amount_of_message(const struct plan_op *op, char text[PLAN_TEXT])
{
	const char *bytes = op->amount == 1 ? "byte" : "bytes";

	if (op->tag == GOAL_TAG_ANY)
		snprintf(text, PLAN_TEXT, "%" PRIu64 " %s, any tag", op->amount, bytes);
	else
		snprintf(text, PLAN_TEXT, "%" PRIu64 " %s, tag %" PRIu32, op->amount, bytes,
			 op->tag);
}

void plan_amount(const struct plan_op *op, char text[PLAN_TEXT])
{
	static const char *const types[GOAL_TYPES] = {"int", "uint", "float"};

	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_SEND:
	case GOAL_INSN_RECV:
	case GOAL_INSN_MCAST_SEND:
	case GOAL_INSN_MCAST_RECV:
		amount_of_message(op, text);
		return;
	case GOAL_INSN_LOCAL:
		snprintf(text, PLAN_TEXT, "%" PRIu64 " %s%u", op->amount,
			 op->type < GOAL_TYPES ? types[op->type] : "type ", op->width);
		return;
	case GOAL_INSN_CALC:
		if (op->sub)
			snprintf(text, PLAN_TEXT, "%" PRIu64 " ns, cpu %u", op->amount, op->sub);
		else
			snprintf(text, PLAN_TEXT, "%" PRIu64 " ns", op->amount);
		return;
	case GOAL_INSN_NOP:
	case GOAL_INSN_KINDS:
		break;
	}
	text[0] = '\0';
}
