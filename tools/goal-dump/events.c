/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as trace-event JSON, which ui.perfetto.dev and chrome://tracing open: a process for
 * each rank, a complete event for each operation, a flow for each message, an instant for each
 * packet that was sent again. Times are us, as the format ("Trace Event Format") has them.
 */
#include <inttypes.h>

#include "host_driver/goal/goal.h"
#include "lib/json_text.h"
#include "tools/goal-dump/dump.h"

struct events {
	const struct timeline *t;
	FILE *out;
	bool any; /* an event is written: the next stands behind a comma */
};

/* Begins an event; the caller ends it with "}". */
static void begin(struct events *e, const char *phase, uint32_t rank, uint64_t row, uint64_t ns)
{
	fprintf(e->out,
		"%s\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"ts\":%" PRIu64
		".%03" PRIu64,
		e->any ? "," : "", phase, rank, row, ns / 1000, ns % 1000);
	e->any = true;
}

static void us(FILE *out, const char *name, uint64_t ns)
{
	if (ns != TIME_NONE)
		fprintf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static void describe_rank(struct events *e, size_t r)
{
	const struct lane *lane = &e->t->lanes[r];
	const struct goal_trace_header *header = &lane->trace->header;

	begin(e, "M", header->rank, 0, 0);
	fprintf(e->out, ",\"name\":\"process_name\",\"args\":{\"name\":\"rank %" PRIu32 "\"}}",
		header->rank);
	begin(e, "M", header->rank, 0, 0);
	fprintf(e->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
		header->rank);
	begin(e, "X", header->rank, 0, lane->start);
	us(e->out, "dur", lane->finish - lane->start);
	fprintf(e->out, ",\"cat\":\"run\",\"name\":\"run %" PRIu32 "\",\"args\":{\"status\":",
		header->instance);
	json_text_string(e->out, GOAL_StrError(-(int)(header->status & 0xffff)));
	fprintf(e->out, ",\"points\":%" PRIu32 ",\"points_lost\":%" PRIu32 "}}", header->entries,
		header->lost);
}

static void operation(struct events *e, uint32_t op)
{
	const struct plan_op *o = &e->t->plan.ops[op];
	const struct bar *bar = &e->t->bars[op];
	char word[PLAN_TEXT], amount[PLAN_TEXT];

	plan_short(o, word);
	plan_amount(o, amount);
	begin(e, "X", o->rank, (uint64_t)bar->row + 1, bar->at[HW_GOAL_POINT_OP_START]);
	us(e->out, "dur", bar->end - bar->at[HW_GOAL_POINT_OP_START]);
	fprintf(e->out, ",\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"vertex\":%" PRIu32,
		plan_kind(o), word, o->vertex);
	if (amount[0])
		fprintf(e->out, ",\"amount\":\"%s\"", amount);
	fprintf(e->out, ",\"finished\":%s",
		bar->at[HW_GOAL_POINT_OP_FINISH] == TIME_NONE ? "false" : "true");
	us(e->out, "ready_us", bar->at[HW_GOAL_POINT_OP_READY]);
	us(e->out, "announced_us", bar->at[HW_GOAL_POINT_ANNOUNCED]);
	us(e->out, "sent_us", bar->at[HW_GOAL_POINT_MSG_SENT]);
	us(e->out, "first_packet_us", bar->at[HW_GOAL_POINT_PACKET_FIRST]);
	us(e->out, "last_packet_us", bar->at[HW_GOAL_POINT_PACKET_LAST]);
	us(e->out, "acked_us", bar->at[HW_GOAL_POINT_MSG_ACKED]);
	us(e->out, "arrived_us", bar->at[HW_GOAL_POINT_MSG_ARRIVED]);
	us(e->out, "matched_us", bar->at[HW_GOAL_POINT_MSG_MATCHED]);
	if (bar->again)
		fprintf(e->out, ",\"sent_again\":%" PRIu32, bar->again);
	fputs("}}", e->out);
}

/* A flow leaves the send where its event begins and enters the receive where that ends. */
static void message(struct events *e, size_t number)
{
	const struct plan_pair *pair = &e->t->plan.pairs[number];
	const struct plan_op *send = &e->t->plan.ops[pair->send],
			     *recv = &e->t->plan.ops[pair->recv];
	const struct bar *from = &e->t->bars[pair->send], *to = &e->t->bars[pair->recv];

	if (from->at[HW_GOAL_POINT_OP_START] == TIME_NONE ||
	    to->at[HW_GOAL_POINT_OP_START] == TIME_NONE ||
	    to->at[HW_GOAL_POINT_OP_FINISH] == TIME_NONE)
		return;
	begin(e, "s", send->rank, (uint64_t)from->row + 1, from->at[HW_GOAL_POINT_OP_START]);
	fprintf(e->out, ",\"cat\":\"message\",\"name\":\"message\",\"id\":%zu}", number);
	begin(e, "f", recv->rank, (uint64_t)to->row + 1, to->end);
	fprintf(e->out, ",\"bp\":\"e\",\"cat\":\"message\",\"name\":\"message\",\"id\":%zu}",
		number);
}

void events_write(const struct timeline *t, FILE *out)
{
	struct events e = {.t = t, .out = out};

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	for (size_t r = 0; r < t->plan.num; r++)
		describe_rank(&e, r);
	for (uint32_t op = 0; op < t->plan.num_ops; op++)
		if (t->bars[op].at[HW_GOAL_POINT_OP_START] != TIME_NONE)
			operation(&e, op);
	for (size_t i = 0; i < t->plan.num_pairs; i++)
		message(&e, i);
	for (size_t i = 0; i < t->num_agains; i++) {
		const struct again *again = &t->agains[i];

		begin(&e, "i", t->plan.ops[again->op].rank, (uint64_t)t->bars[again->op].row + 1,
		      again->ns);
		fputs(",\"s\":\"t\",\"cat\":\"packet\",\"name\":\"sent again\"}", out);
	}
	fputs("\n]}\n", out);
}
