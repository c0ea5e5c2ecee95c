/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as a picture, SVG 1.1: a lane for each rank, a bar for each operation from its start
 * to its end, an arrow for each message from its first packet to the end of its receive. The same
 * traces give the same bytes.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "host_driver/goal/goal.h"
#include "tools/goal-dump/dump.h"

enum {
	WIDTH = 960,
	LEFT = 70,
	RIGHT = 20,
	TOP = 62,
	ROW = 14, /* pitch of the bars */
	BAR = 11,
	GAP = 10, /* between lanes */
	CHAR = 6, /* width of a character of a bar's text */
	MOST_TICKS = 10,
};

struct picture {
	const struct timeline *t;
	FILE *out;
	double ns_per_px;
	uint64_t bottom; /* of the lanes */
};

static double x_of(const struct picture *p, uint64_t ns)
{
	return LEFT + (double)ns / p->ns_per_px;
}

static uint64_t lane_height(const struct lane *lane)
{
	return (uint64_t)(lane->rows ? lane->rows : 1) * ROW + 4;
}

/* ---- axis and legend ------------------------------------------------------------------------ */

/* A step of 1, 2 or 5 by a power of ten that gives at most MOST_TICKS. */
static uint64_t tick_ns(uint64_t end_ns)
{
	static const uint64_t factors[] = {2, 5, 10};
	uint64_t decade = 1, step = 1;

	for (uint32_t i = 0; end_ns / step > MOST_TICKS && decade < UINT64_MAX / 100; i++) {
		step = decade * factors[i % 3];
		if (i % 3 == 2)
			decade *= 10;
	}
	return step;
}

static void axis(const struct picture *p)
{
	uint64_t end = p->t->end_ns, step = tick_ns(end);
	bool ms = end >= 10000000;

	for (uint64_t ns = 0;; ns += step) {
		fprintf(p->out,
			"<line x1='%.2f' y1='%d' x2='%.2f' y2='%" PRIu64 "' stroke='#dddddd'/>"
			"<text x='%.2f' y='%" PRIu64 "' text-anchor='middle'>%g%s</text>\n",
			x_of(p, ns), TOP - 6, x_of(p, ns), p->bottom + 4, x_of(p, ns),
			p->bottom + 18, (double)ns / (ms ? 1e6 : 1e3),
			ns   ? ""
			: ms ? " ms"
			     : " us");
		if (end - ns < step)
			return;
	}
}

static void title(const struct picture *p)
{
	const struct goal_trace_header *first = &p->t->lanes[0].trace->header;
	uint64_t lost = 0;

	for (size_t r = 0; r < p->t->plan.num; r++)
		lost += p->t->lanes[r].trace->header.lost;
	fprintf(p->out, "<text x='%d' y='20' font-size='14'>run %" PRIu32 ", ", LEFT,
		first->instance);
	if (p->t->plan.num < p->t->plan.num_ranks)
		fprintf(p->out, "%zu of ", p->t->plan.num);
	fprintf(p->out, "%" PRIu32 " ranks: %g us", p->t->plan.num_ranks,
		(double)p->t->end_ns / 1000);
	if (lost)
		fprintf(p->out, "; %" PRIu64 " points found no room", lost);
	fputs("</text>\n", p->out);
}

static uint32_t legend_entry(const struct picture *p, uint32_t x, const char *word,
			     const char *colour)
{
	fprintf(p->out,
		"<rect x='%" PRIu32 "' y='32' width='14' height='%d' fill='%s' stroke='#777777' "
		"stroke-width='0.5'/><text x='%" PRIu32 "' y='41'>%s</text>\n",
		x, BAR, colour, x + 19, word);
	return x + 19 + 7 * 6 + 10;
}

static void legend(const struct picture *p)
{
	bool there[GOAL_INSN_KINDS] = {false};
	uint32_t x = LEFT;

	for (size_t i = 0; i < p->t->plan.num_ops; i++)
		there[p->t->plan.ops[i].kind] = true;
	for (uint8_t kind = 1; kind < GOAL_INSN_KINDS; kind++) {
		struct plan_op op = {.kind = kind};

		if (there[kind])
			x = legend_entry(p, x, plan_kind(&op), plan_colour(&op));
	}
	fprintf(p->out,
		"<line x1='%" PRIu32 "' y1='37' x2='%" PRIu32 "' y2='37' class='m'/>"
		"<text x='%" PRIu32 "' y='41'>message</text>\n",
		x, x + 24, x + 32);
	if (p->t->num_agains)
		fprintf(p->out,
			"<line x1='%" PRIu32 "' y1='31' x2='%" PRIu32 "' y2='44' class='a'/>"
			"<text x='%" PRIu32 "' y='41'>packet sent again</text>\n",
			x + 98, x + 98, x + 104);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* The words of an operation, for those who point at its bar. */
static void tooltip(const struct picture *p, uint32_t op)
{
	const struct plan_op *o = &p->t->plan.ops[op];
	const struct bar *bar = &p->t->bars[op];
	char word[PLAN_TEXT], amount[PLAN_TEXT];

	plan_short(o, word);
	plan_amount(o, amount);
	fprintf(p->out, "<title>rank %" PRIu32 ", vertex %" PRIu32 ": %s%s%s; %g to %g us", o->rank,
		o->vertex, word, amount[0] ? ", " : "", amount,
		(double)bar->at[HW_GOAL_POINT_OP_START] / 1000, (double)bar->end / 1000);
	if (bar->at[HW_GOAL_POINT_OP_FINISH] == TIME_NONE)
		fputs(", not finished", p->out);
	if (bar->again)
		fprintf(p->out, "; %" PRIu32 " packets sent again", bar->again);
	fputs("</title>", p->out);
}

static void draw_bar(const struct picture *p, uint32_t op, uint64_t top)
{
	const struct plan_op *o = &p->t->plan.ops[op];
	const struct bar *bar = &p->t->bars[op];
	double x = x_of(p, bar->at[HW_GOAL_POINT_OP_START]), width = x_of(p, bar->end) - x;
	uint64_t y = top + (uint64_t)bar->row * ROW + 3;
	bool open = bar->at[HW_GOAL_POINT_OP_FINISH] == TIME_NONE;
	char word[PLAN_TEXT];
	int chars;

	if (bar->last > bar->end)
		fprintf(p->out,
			"<rect x='%.2f' y='%" PRIu64 "' width='%.2f' height='5' fill='%s' "
			"fill-opacity='0.45'/>\n",
			x + width, y + 3, x_of(p, bar->last) - x - width, plan_colour(o));
	fprintf(p->out, "<g><rect x='%.2f' y='%" PRIu64 "' width='%.2f' height='%d' fill='%s' %s>",
		x, y, width < 2 ? 2.0 : width, BAR, plan_colour(o),
		open ? "stroke='#c03020' stroke-dasharray='3 2'" : "class='b'");
	tooltip(p, op);
	fputs("</rect>", p->out);
	plan_short(o, word);
	for (chars = 0; word[chars];)
		chars++;
	if (width > chars * CHAR + 4)
		fprintf(p->out, "<text x='%.2f' y='%" PRIu64 "' font-size='10'>%s</text>", x + 3,
			y + 9, word);
	fputs("</g>\n", p->out);
}

static void draw_lane(const struct picture *p, size_t r, uint64_t top)
{
	const struct plan_rank *rank = &p->t->plan.ranks[r];
	const struct lane *lane = &p->t->lanes[r];
	uint32_t status = lane->trace->header.status;

	fprintf(p->out,
		"<text x='6' y='%" PRIu64 "'>rank %" PRIu32 "</text>"
		"<rect x='%.2f' y='%" PRIu64 "' width='%.2f' height='%" PRIu64 "' fill='%s'>",
		top + 13, rank->rank, x_of(p, lane->start), top,
		x_of(p, lane->finish) - x_of(p, lane->start), lane_height(lane),
		status ? "#fbe3e0" : "#f3f3f3");
	fprintf(p->out, "<title>rank %" PRIu32 ": %g to %g us, %s</title></rect>\n", rank->rank,
		(double)lane->start / 1000, (double)lane->finish / 1000,
		GOAL_StrError(-(int)(status & 0xffff)));
	for (uint32_t i = 0; i < rank->num_ops; i++)
		if (p->t->bars[rank->first_op + i].at[HW_GOAL_POINT_OP_START] != TIME_NONE)
			draw_bar(p, rank->first_op + i, top);
}

/* ---- arrows --------------------------------------------------------------------------------- */

/* The middle of each operation's bar. */
static double middle(const struct picture *p, const uint64_t *tops, uint32_t op)
{
	return (double)tops[op] + p->t->bars[op].row * (double)ROW + 3 + BAR / 2.0;
}

static void draw_messages(const struct picture *p, const uint64_t *tops)
{
	for (size_t i = 0; i < p->t->plan.num_pairs; i++) {
		const struct plan_pair *pair = &p->t->plan.pairs[i];
		const struct bar *send = &p->t->bars[pair->send], *recv = &p->t->bars[pair->recv];
		uint64_t from = send->at[HW_GOAL_POINT_PACKET_FIRST];

		/* Messages to the rank itself have no packets. */
		if (from == TIME_NONE)
			from = send->at[HW_GOAL_POINT_MSG_SENT];
		if (from == TIME_NONE || recv->at[HW_GOAL_POINT_OP_FINISH] == TIME_NONE ||
		    recv->at[HW_GOAL_POINT_OP_START] == TIME_NONE)
			continue;
		fprintf(p->out, "<line x1='%.2f' y1='%.1f' x2='%.2f' y2='%.1f' class='m'/>\n",
			x_of(p, from), middle(p, tops, pair->send), x_of(p, recv->end),
			middle(p, tops, pair->recv));
	}
}

static void draw_agains(const struct picture *p, const uint64_t *tops)
{
	for (size_t i = 0; i < p->t->num_agains; i++) {
		const struct again *again = &p->t->agains[i];
		double x = x_of(p, again->ns), y = middle(p, tops, again->op);

		if (p->t->bars[again->op].at[HW_GOAL_POINT_OP_START] != TIME_NONE)
			fprintf(p->out,
				"<line x1='%.2f' y1='%.1f' x2='%.2f' y2='%.1f' class='a'/>\n", x,
				y - 6.5, x, y + 6.5);
	}
}

static void head(const struct picture *p)
{
	uint64_t height = p->bottom + 28;

	fprintf(p->out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%" PRIu64
		"' viewBox='0 0 %d %" PRIu64 "' font-family='sans-serif' font-size='12'>\n",
		WIDTH, height, WIDTH, height);
	fputs("<defs><marker id='a' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='6' "
	      "markerHeight='6' orient='auto'><path d='M0,0L8,4L0,8z' fill='#333333'/></marker>\n"
	      "<style>.m{stroke:#333333;stroke-opacity:.65;marker-end:url(#a)}"
	      ".a{stroke:#d01010;stroke-width:2}"
	      ".b{stroke:#777777;stroke-width:.5}</style></defs>\n"
	      "<rect width='100%' height='100%' fill='white'/>\n",
	      p->out);
}

int svg_write(const struct timeline *t, FILE *out)
{
	uint64_t *tops = calloc(t->plan.num_ops + 1, sizeof(*tops)), top = TOP;
	struct picture p = {.t = t, .out = out, .bottom = TOP};

	if (!tops)
		return dump_fail("the picture", "not enough memory");
	p.ns_per_px = (double)(t->end_ns ? t->end_ns : 1) / (WIDTH - LEFT - RIGHT);
	for (size_t r = 0; r < t->plan.num; r++)
		p.bottom += lane_height(&t->lanes[r]) + GAP;
	p.bottom -= GAP;
	head(&p);
	title(&p);
	legend(&p);
	axis(&p);
	for (size_t r = 0; r < t->plan.num; r++) {
		for (uint32_t i = 0; i < t->plan.ranks[r].num_ops; i++)
			tops[t->plan.ranks[r].first_op + i] = top;
		draw_lane(&p, r, top);
		top += lane_height(&t->lanes[r]) + GAP;
	}
	draw_messages(&p, tops);
	draw_agains(&p, tops);
	fputs("</svg>\n", out);
	free(tops);
	return 0;
}
