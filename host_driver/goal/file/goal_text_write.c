/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes GOAL schedules as text, in the strict form that LogGOPSim's txt2bin reads.
 *
 * A dependency may name only operations above it, so its line follows the later of its two
 * operations. docs/goal-format.md defines the grammar.
 */
#include "host_driver/goal/file/goal_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct wait_line {
	uint32_t op, prereq;
	uint32_t wait; /* enum goal_wait */
};

/* Dependency lines, grouped by the operation that they follow, in the manner of goal_edges. */
struct wait_lines {
	uint64_t *first;
	struct wait_line *line;
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int group_waits(const struct goal_set *set, struct wait_lines *lines)
{
	uint64_t total = 0;

	for (int w = 0; w < GOAL_NUM_WAITS; w++)
		total += set->edges[w].first[set->num_ops];
	/*
	 * Filled as in goal_set.c: entry op + 1 is the start of op until the lines of op are
	 * stored.
	 */
	lines->first = calloc((size_t)set->num_ops + 2, sizeof(*lines->first));
	lines->line = calloc(total ? total : 1, sizeof(*lines->line));
	if (!lines->first || !lines->line)
		return -ENOMEM;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t w = 0; w < GOAL_NUM_WAITS; w++) {
			const struct goal_edges *e = &set->edges[w];

			for (uint32_t prereq = 0; prereq < set->num_ops; prereq++)
				for (uint32_t i = e->first[prereq]; i < e->first[prereq + 1]; i++) {
					uint32_t op = e->target[i], behind = later(op, prereq);

					if (fill)
						lines->line[lines->first[behind + 1]++] =
						    (struct wait_line){op, prereq, w};
					else
						lines->first[behind + 2]++;
				}
		}
		for (uint32_t op = 0; !fill && op < set->num_ops; op++)
			lines->first[op + 2] += lines->first[op + 1];
	}
	return 0;
}

static void write_number_or_any(FILE *out, uint32_t value)
{
	if (value == GOAL_ANY)
		fputs("-1", out);
	else
		fprintf(out, "%" PRIu32, value);
}

static void write_op(const struct goal_op *op, FILE *out)
{
	if (op->kind == GOAL_OP_CALC) {
		fprintf(out, "calc %" PRIu64, op->size);
	} else {
		fprintf(out, "%s %" PRIu64 "b %s ", goal_kind_str(op->kind), op->size,
			op->kind == GOAL_OP_SEND ? "to" : "from");
		write_number_or_any(out, op->peer);
		fputs(" tag ", out);
		write_number_or_any(out, op->tag);
	}
	if (op->cpu)
		fprintf(out, " cpu %u", op->cpu);
	if (op->nic)
		fprintf(out, " nic %u", op->nic);
	putc('\n', out);
}

static void write_rank(const struct goal_set *set, const struct wait_lines *lines, uint32_t rank,
		       FILE *out)
{
	uint32_t base = set->rank_first[rank];

	fprintf(out, "\nrank %" PRIu32 " {\n", rank);
	for (uint32_t op = base; op < set->rank_first[rank + 1]; op++) {
		fprintf(out, "l%" PRIu32 ": ", op - base + 1);
		write_op(&set->ops[op], out);
		for (uint64_t i = lines->first[op]; i < lines->first[op + 1]; i++) {
			const struct wait_line *l = &lines->line[i];

			fprintf(out, "l%" PRIu32 " %s l%" PRIu32 "\n", l->op - base + 1,
				l->wait == GOAL_WAIT_END ? "requires" : "irequires",
				l->prereq - base + 1);
		}
	}
	fputs("}\n", out);
}

int goal_text_write(const struct goal_set *set, FILE *out)
{
	struct wait_lines lines = {0};
	int rc = group_waits(set, &lines);

	if (!rc) {
		fprintf(out, "num_ranks %" PRIu32 "\n", set->num_ranks);
		for (uint32_t rank = 0; rank < set->num_ranks && !ferror(out); rank++)
			write_rank(set, &lines, rank, out);
		errno = 0;
		if (fflush(out) || ferror(out))
			rc = errno ? -errno : -EIO;
	}
	free(lines.first);
	free(lines.line);
	return rc;
}
