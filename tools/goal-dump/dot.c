/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule as a graph, in the text that Graphviz' dot draws.
 *
 * Vertices stand in a box for each rank, coloured by kind. An arrow leads from an operation to each
 * that waits for it: solid for its end (requires), dashed for its start (irequires). A bold blue
 * arrow is a message. The text depends on the schedule alone.
 */
#include <inttypes.h>

#include "tools/goal-dump/dump.h"

static const char *shape(const struct plan_op *op)
{
	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_CALC:
	case GOAL_INSN_LOCAL:
		return "ellipse";
	case GOAL_INSN_NOP:
		return "circle";
	case GOAL_INSN_SEND:
	case GOAL_INSN_RECV:
	case GOAL_INSN_MCAST_SEND:
	case GOAL_INSN_MCAST_RECV:
	case GOAL_INSN_KINDS:
		break;
	}
	return "box";
}

static void name(const struct plan_op *op, FILE *out)
{
	fprintf(out, "r%" PRIu32 "_%" PRIu32, op->rank, op->vertex);
}

static void vertex(const struct plan *plan, const struct plan_op *op, FILE *out)
{
	char word[PLAN_TEXT], amount[PLAN_TEXT];

	plan_short(op, word);
	plan_amount(op, amount);
	fputs("\t\t", out);
	name(op, out);
	/* As goal-dump's text numbers its lines, and as the graph's calls number vertices. */
	fprintf(out, " [label=\"%s%" PRIu32 ": %s%s%s\"", plan->lines ? "l" : "",
		op->vertex + (plan->lines ? 1 : 0), word, amount[0] ? "\\n" : "", amount);
	fprintf(out, ", shape=%s, fillcolor=\"%s\"];\n", shape(op), plan_colour(op));
}

static void edge(const struct plan *plan, uint32_t from, uint32_t to, const char *style, FILE *out)
{
	fputc('\t', out);
	name(&plan->ops[from], out);
	fputs(" -> ", out);
	name(&plan->ops[to], out);
	fprintf(out, "%s;\n", style);
}

void dot_write(const struct plan *plan, FILE *out)
{
	fputs("digraph goal {\n"
	      "\tgraph [newrank=true, fontname=\"sans-serif\", fontsize=12, style=rounded, "
	      "color=\"#999999\"];\n"
	      "\tnode [fontname=\"sans-serif\", fontsize=10, style=filled];\n",
	      out);
	for (size_t r = 0; r < plan->num; r++) {
		const struct plan_rank *rank = &plan->ranks[r];

		fprintf(out, "\tsubgraph cluster_%" PRIu32 " {\n\t\tlabel=\"rank %" PRIu32 "\";\n",
			rank->rank, rank->rank);
		for (uint32_t i = 0; i < rank->num_ops; i++)
			vertex(plan, &plan->ops[rank->first_op + i], out);
		fputs("\t}\n", out);
	}
	for (size_t i = 0; i < plan->num_deps; i++)
		edge(plan, plan->deps[i].from, plan->deps[i].to,
		     plan->deps[i].start ? " [style=dashed]" : "", out);
	for (size_t i = 0; i < plan->num_pairs; i++)
		edge(plan, plan->pairs[i].send, plan->pairs[i].recv,
		     " [color=\"#1f5fa8\", style=bold]", out);
	fputs("}\n", out);
}
