/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of failures: describes operations by their arguments and runs by the messages they still
 * waited for.
 *
 * libgoal_run.c requests the text when it reaps a failed run, libgoal_sched.c when it cannot create
 * a schedule. GOAL_LastErrorDetail() returns it. Vertex numbers are those that the graph's calls
 * returned. docs/collectives.md, "Errors in words".
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"
#include "shared_defs/hw_goal.h"

/* A growing text; parts that do not fit are omitted. */
struct text {
	char *at;
	size_t room;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text->at, text->room, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= text->room)
		n = (int)text->room - 1;
	text->at += n;
	text->room -= (size_t)n;
}

/* Appends a number, or "any". */
static void add_number(struct text *text, const char *what, uint32_t number)
{
	if (number == UINT32_MAX)
		add(text, "any %s", what);
	else
		add(text, "%s %" PRIu32, what, number);
}

static void add_op(struct text *text, uint32_t vertex, const struct goal_insn *op)
{
	add(text, "vertex %" PRIu32 ", ", vertex);
	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_SEND:
	case GOAL_INSN_RECV:
		add(text, "a %s of %" PRIu64 " bytes with ",
		    op->kind == GOAL_INSN_SEND ? "send" : "receive", op->amount);
		add_number(text, "tag", op->tag);
		add(text, op->kind == GOAL_INSN_SEND ? " to " : " from ");
		add_number(text, "rank", op->peer);
		return;
	case GOAL_INSN_MCAST_SEND:
		add(text, "a multicast of %" PRIu64 " bytes with tag %" PRIu32, op->amount,
		    op->tag);
		return;
	case GOAL_INSN_MCAST_RECV:
		add(text,
		    "a receive of %" PRIu64 " bytes with tag %" PRIu32
		    " multicast by rank %" PRIu32,
		    op->amount, op->tag, op->peer);
		return;
	case GOAL_INSN_LOCAL:
		add(text, "a local operation on %" PRIu64 " elements", op->amount);
		return;
	case GOAL_INSN_CALC:
		add(text, "a calc of %" PRIu64 " ns on cpu %u", op->amount, op->sub);
		return;
	case GOAL_INSN_NOP:
	case GOAL_INSN_KINDS:
		break;
	}
	add(text, "an operation");
}

/* Returns the operations of compiled code; NULL: there is no such vertex. */
static const struct goal_insn *op_of(const struct goal_code *code, uint32_t vertex)
{
	const struct goal_header *header = (const void *)code->bytes;
	const struct goal_insn *ops = (const void *)(code->bytes + header->ops_offset);

	/* Only the slots of a file's header were checked before. */
	if (vertex >= header->num_ops || header->ops_offset % 8 ||
	    header->ops_offset > code->num_bytes ||
	    (code->num_bytes - header->ops_offset) / sizeof(*ops) <= vertex)
		return NULL;
	return &ops[vertex];
}

void libgoal_describe(const struct goal_code *code, uint32_t vertex, char *what, size_t room)
{
	const struct goal_insn *op = op_of(code, vertex);
	struct text text = {what, room};

	what[0] = '\0';
	if (op)
		add_op(&text, vertex, op);
}

void libgoal_describe_vertex(const struct goal_graph *graph, uint32_t vertex, char *what,
			     size_t room)
{
	const struct goal_vertex *v = &graph->vertices[vertex];
	const struct goal_insn op = {
	    .kind = v->kind, .sub = v->sub, .peer = v->peer, .tag = v->tag, .amount = v->amount};
	struct text text = {what, room};

	add_op(&text, vertex, &op);
}

static void add_waits(struct text *text, const struct GOAL_Schedule_s *sched,
		      const struct weft_goal_result *result)
{
	uint32_t named = result->num_waits < HW_GOAL_WAITS ? result->num_waits : HW_GOAL_WAITS, i;

	add(text, "rank %" PRIu32 " waits for ", sched->comm->rank);
	if (!named)
		add(text, "nothing");
	for (i = 0; i < named; i++) {
		const struct goal_insn *op = op_of(&sched->code, result->waits[i]);

		if (op) {
			add(text, i ? "; " : "");
			add_op(text, result->waits[i], op);
		}
	}
	if (result->num_waits > HW_GOAL_WAITS_COUNTED)
		add(text, "; and more than %" PRIu32 " more", HW_GOAL_WAITS_COUNTED - named);
	else if (result->num_waits > named)
		add(text, "; and %" PRIu32 " more", result->num_waits - named);
}

char *libgoal_why(const struct GOAL_Schedule_s *sched, const struct weft_goal_result *result)
{
	const struct goal_insn *op = op_of(&sched->code, result->op);
	char why[LIBGOAL_DETAIL];
	struct text text = {why, sizeof(why)};

	why[0] = '\0';
	if (op)
		add_op(&text, result->op, op);
	else if (result->rank != sched->comm->rank)
		add(&text, "at rank %" PRIu32, result->rank);
	if (result->status == HW_GOAL_TRUNCATED && result->message_bytes)
		add(&text, "%sthe message has %" PRIu64 " bytes, its receive room for %" PRIu64,
		    why[0] ? ": " : "", result->message_bytes, result->room_bytes);
	if (result->status == HW_GOAL_TIMEOUT || result->status == HW_GOAL_UNEXPECTED ||
	    result->status == HW_GOAL_PEER_LOST || result->status == HW_GOAL_UNREACHABLE) {
		add(&text, "%s", why[0] ? "; " : "");
		add_waits(&text, sched, result);
	}
	return strdup(why);
}
