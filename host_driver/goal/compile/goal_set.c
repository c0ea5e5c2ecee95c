/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of GOAL schedules: grows while a file is read, then is checked and compressed.
 *
 * Files are untrusted: counts are bounded, memory grows only with bytes that were read, and no
 * function recurses.
 */
#include "host_driver/goal/compile/goal_set.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int goal_error_at(struct goal_error *err, const char *name, uint64_t line, const char *fmt, ...)
{
	va_list ap;
	int at;

	if (line)
		at = snprintf(err->text, sizeof(err->text), "%.200s:%llu: ", name,
			      (unsigned long long)line);
	else
		at = snprintf(err->text, sizeof(err->text), "%.200s: ", name);
	va_start(ap, fmt);
	vsnprintf(err->text + at, sizeof(err->text) - (size_t)at, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int goal_error_memory(struct goal_error *err, const char *name)
{
	goal_error_at(err, name, 0, "not enough memory for this schedule");
	return -ENOMEM;
}

const char *goal_kind_str(enum goal_kind kind)
{
	switch (kind) {
	case GOAL_OP_SEND:
		return "send";
	case GOAL_OP_RECV:
		return "recv";
	case GOAL_OP_CALC:
		return "calc";
	}
	return "?";
}

/*
 * Makes room for one more element after num elements. Returns NULL when memory is exhausted; array
 * is then unchanged.
 */
static void *grow(void *array, size_t num, size_t *room, size_t bytes)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *bigger;

	if (num < *room)
		return array;
	bigger = reallocarray(array, wanted, bytes);
	if (bigger)
		*room = wanted;
	return bigger;
}

void goal_build_init(struct goal_build *build, const char *name, struct goal_error *err)
{
	*build = (struct goal_build){.name = name, .err = err};
	err->text[0] = '\0';
}

void goal_build_drop(struct goal_build *build)
{
	free(build->rank_first);
	free(build->ops);
	for (int w = 0; w < GOAL_NUM_WAITS; w++)
		free(build->pairs[w].pair);
	*build = (struct goal_build){.name = build->name, .err = build->err};
}

int goal_build_rank(struct goal_build *build)
{
	uint32_t *grown;

	if (build->num_ranks == GOAL_MAX_RANKS)
		return goal_error_at(build->err, build->name, 0, "more than %u ranks",
				     GOAL_MAX_RANKS);
	/* One entry more than there are ranks: the end of the last rank. */
	grown = grow(build->rank_first, build->num_ranks + 1, &build->ranks_room, sizeof(*grown));
	if (!grown)
		return goal_error_memory(build->err, build->name);
	build->rank_first = grown;
	build->rank_first[build->num_ranks++] = (uint32_t)build->num_ops;
	return 0;
}

int goal_build_op(struct goal_build *build, const struct goal_op *op)
{
	struct goal_op *grown;

	if (build->num_ops == GOAL_MAX_OPS)
		return goal_error_at(build->err, build->name, op->line, "more than %u operations",
				     GOAL_MAX_OPS);
	grown = grow(build->ops, build->num_ops, &build->ops_room, sizeof(*grown));
	if (!grown)
		return goal_error_memory(build->err, build->name);
	build->ops = grown;
	build->ops[build->num_ops++] = *op;
	return 0;
}

int goal_build_wait(struct goal_build *build, enum goal_wait wait, uint32_t op, uint32_t prereq)
{
	struct goal_pairs *pairs = &build->pairs[wait];
	struct goal_pair *grown;

	if (build->pairs[0].num + build->pairs[1].num == GOAL_MAX_OPS)
		return goal_error_at(build->err, build->name, build->ops[op].line,
				     "more than %u dependencies", GOAL_MAX_OPS);
	grown = grow(pairs->pair, pairs->num, &pairs->room, sizeof(*grown));
	if (!grown)
		return goal_error_memory(build->err, build->name);
	pairs->pair = grown;
	pairs->pair[pairs->num++] = (struct goal_pair){op, prereq};
	return 0;
}

uint32_t goal_set_rank(const struct goal_set *set, uint32_t op)
{
	uint32_t low = 0, high = set->num_ranks - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (set->rank_first[middle] <= op)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Reports an error about one operation, located by its line if known, otherwise by its index. */
static int fail_op(const struct goal_build *build, const struct goal_set *set, uint32_t op,
		   const char *what)
{
	uint32_t rank;

	if (set->ops[op].line)
		return goal_error_at(build->err, build->name, set->ops[op].line, "%s", what);
	rank = goal_set_rank(set, op);
	return goal_error_at(build->err, build->name, 0, "rank %u, operation %u: %s", rank,
			     op - set->rank_first[rank], what);
}

static int check_peers(const struct goal_build *build, const struct goal_set *set)
{
	char what[96];

	for (uint32_t i = 0; i < set->num_ops; i++) {
		const struct goal_op *op = &set->ops[i];

		if (op->kind == GOAL_OP_CALC || op->peer < set->num_ranks ||
		    (op->kind == GOAL_OP_RECV && op->peer == GOAL_ANY))
			continue;
		snprintf(what, sizeof(what), "%s %s rank %u: the ranks are 0 to %u",
			 goal_kind_str(op->kind), op->kind == GOAL_OP_SEND ? "to" : "from",
			 op->peer, set->num_ranks - 1);
		return fail_op(build, set, i, what);
	}
	return 0;
}

/* Successors must be ascending, so pairs come in the order of the waiting operation. */
static int sort_pairs(struct goal_pairs *pairs, uint32_t num_ops)
{
	struct goal_pair *sorted;
	uint32_t *first;
	size_t i;

	for (i = 1; i < pairs->num && pairs->pair[i - 1].op <= pairs->pair[i].op; i++)
		;
	if (i >= pairs->num)
		return 0;
	first = calloc((size_t)num_ops + 1, sizeof(*first));
	sorted = reallocarray(NULL, pairs->num, sizeof(*sorted));
	if (!first || !sorted) {
		free(first);
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < pairs->num; i++)
		first[pairs->pair[i].op + 1]++;
	for (i = 0; i < num_ops; i++)
		first[i + 1] += first[i];
	for (i = 0; i < pairs->num; i++)
		sorted[first[pairs->pair[i].op]++] = pairs->pair[i];
	free(first);
	free(pairs->pair);
	pairs->pair = sorted;
	pairs->room = pairs->num;
	return 0;
}

static int compress(struct goal_pairs *pairs, struct goal_edges *edges, uint32_t num_ops)
{
	if (sort_pairs(pairs, num_ops))
		return -ENOMEM;
	edges->first = calloc((size_t)num_ops + 2, sizeof(*edges->first));
	edges->target = calloc(pairs->num ? pairs->num : 1, sizeof(*edges->target));
	if (!edges->first || !edges->target)
		return -ENOMEM;
	/*
	 * first[op + 2] counts. Summing makes first[op + 1] the start of op; filling moves it to
	 * the end of op.
	 */
	for (size_t i = 0; i < pairs->num; i++)
		edges->first[pairs->pair[i].prereq + 2]++;
	for (uint32_t op = 0; op < num_ops; op++)
		edges->first[op + 2] += edges->first[op + 1];
	for (size_t i = 0; i < pairs->num; i++)
		edges->target[edges->first[pairs->pair[i].prereq + 1]++] = pairs->pair[i].op;
	return 0;
}

/*
 * Finds and reports a cycle. prereq[] names, for each operation with waits left, one prerequisite.
 */
static int fail_circle(const struct goal_build *build, const struct goal_set *set, uint32_t *waits,
		       const uint32_t *prereq)
{
	char what[200] = "this operation waits for itself", *end = what + strlen(what);
	uint32_t op = 0, start;
	int shown = 0;

	while (!waits[op])
		op++;
	/*
	 * Following prerequisites leads into a cycle. Visited operations are marked with waits 0.
	 */
	for (; waits[op]; op = prereq[op])
		waits[op] = 0;
	start = op;
	for (op = prereq[start]; op != start && shown < 4; op = prereq[op], shown++) {
		uint32_t rank = goal_set_rank(set, op);

		end +=
		    snprintf(end, sizeof(what) - (size_t)(end - what), "%s %s %u",
			     shown ? "," : ", by way of", set->ops[op].line ? "line" : "operation",
			     set->ops[op].line ? set->ops[op].line : op - set->rank_first[rank]);
	}
	if (op != start)
		snprintf(end, sizeof(what) - (size_t)(end - what), " and others");
	return fail_op(build, set, start, what);
}

/* Kahn's algorithm: removes operations without unmet dependencies until none is left. */
static int check_circles(const struct goal_build *build, const struct goal_set *set)
{
	size_t bytes = ((size_t)set->num_ops + 1) * sizeof(uint32_t);
	uint32_t *waits = malloc(bytes), *queue = malloc(bytes);
	uint32_t head = 0, tail = 0;
	int rc = 0;

	if (!waits || !queue) {
		free(waits);
		free(queue);
		return goal_error_memory(build->err, build->name);
	}
	memcpy(waits, set->num_waits, bytes - sizeof(*waits));
	for (uint32_t op = 0; op < set->num_ops; op++)
		if (!waits[op])
			queue[tail++] = op;
	while (head < tail) {
		uint32_t op = queue[head++];

		for (int w = 0; w < GOAL_NUM_WAITS; w++) {
			const struct goal_edges *e = &set->edges[w];

			for (uint32_t i = e->first[op]; i < e->first[op + 1]; i++)
				if (!--waits[e->target[i]])
					queue[tail++] = e->target[i];
		}
	}
	if (tail < set->num_ops) {
		for (uint32_t op = 0; op < set->num_ops; op++)
			for (int w = 0; waits[op] && w < GOAL_NUM_WAITS; w++) {
				const struct goal_edges *e = &set->edges[w];

				for (uint32_t i = e->first[op]; i < e->first[op + 1]; i++)
					queue[e->target[i]] = op;
			}
		rc = fail_circle(build, set, waits, queue);
	}
	free(waits);
	free(queue);
	return rc;
}

int goal_build_finish(struct goal_build *build, struct goal_set *set)
{
	int rc;

	*set = (struct goal_set){
	    .num_ranks = (uint32_t)build->num_ranks,
	    .num_ops = (uint32_t)build->num_ops,
	    .rank_first = build->rank_first,
	    .ops = build->ops,
	};
	build->rank_first = NULL;
	build->ops = NULL;
	if (!set->num_ranks) {
		rc = goal_error_at(build->err, build->name, 0, "no ranks");
		goto out;
	}
	set->rank_first[set->num_ranks] = set->num_ops;
	rc = check_peers(build, set);
	if (rc)
		goto out;
	set->num_waits = calloc((size_t)set->num_ops + 1, sizeof(*set->num_waits));
	for (int w = 0; w < GOAL_NUM_WAITS; w++) {
		struct goal_pairs *pairs = &build->pairs[w];

		if (!set->num_waits || compress(pairs, &set->edges[w], set->num_ops)) {
			rc = goal_error_memory(build->err, build->name);
			goto out;
		}
		for (size_t i = 0; i < pairs->num; i++)
			set->num_waits[pairs->pair[i].op]++;
		free(pairs->pair);
		*pairs = (struct goal_pairs){0};
	}
	rc = check_circles(build, set);
out:
	goal_build_drop(build);
	if (rc)
		goal_set_free(set);
	return rc;
}

void goal_set_free(struct goal_set *set)
{
	free(set->rank_first);
	free(set->ops);
	free(set->num_waits);
	for (int w = 0; w < GOAL_NUM_WAITS; w++) {
		free(set->edges[w].first);
		free(set->edges[w].target);
	}
	*set = (struct goal_set){0};
}
