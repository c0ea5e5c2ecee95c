/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dominance and crowding among candidates with several costs: by how many others each is
 * dominated (Fonseca and Fleming 1993), and how far its neighbours on the same front are
 * (Deb et al. 2002). Called by search.c and the analysis; calls libc.
 */
#include "tools/weft-tune/search.h"

#include <math.h>
#include <stdlib.h>

/* a is nowhere worse than b and somewhere better. */
static bool dominates(const struct tune_cand *a, const struct tune_cand *b, unsigned int costs)
{
	bool better = false;

	for (unsigned int c = 0; c < costs; c++) {
		if (!(a->cost[c] <= b->cost[c]))
			return false;
		better = better || a->cost[c] < b->cost[c];
	}
	return better;
}

static _Thread_local unsigned int sort_cost; /* qsort() hands nothing through */

static int by_front_and_cost(const void *a, const void *b)
{
	const struct tune_cand *x = *(struct tune_cand *const *)a;
	const struct tune_cand *y = *(struct tune_cand *const *)b;

	if (x->dominated_by != y->dominated_by)
		return x->dominated_by < y->dominated_by ? -1 : 1;
	if (x->cost[sort_cost] != y->cost[sort_cost])
		return x->cost[sort_cost] < y->cost[sort_cost] ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Adds to crowding what cost c has of it; order is sorted by front and that cost. */
static void crowd(struct tune_cand **order, uint32_t num, unsigned int c)
{
	uint32_t end;

	for (uint32_t i = 0; i < num; i = end) {
		double width;

		for (end = i + 1; end < num && order[end]->dominated_by == order[i]->dominated_by;)
			end++;
		width = order[end - 1]->cost[c] - order[i]->cost[c];
		order[i]->crowding = order[end - 1]->crowding = INFINITY;
		for (uint32_t j = i + 1; j + 1 < end; j++)
			if (width > 0)
				order[j]->crowding +=
				    (order[j + 1]->cost[c] - order[j - 1]->cost[c]) / width;
	}
}

void pareto_rank(struct tune_cand *const *cands, uint32_t num, unsigned int costs)
{
	struct tune_cand **order = malloc((num ? num : 1) * sizeof(struct tune_cand *));

	if (!order)
		abort();
	for (uint32_t i = 0; i < num; i++) {
		order[i] = cands[i];
		cands[i]->dominated_by = 0;
		cands[i]->crowding = 0;
		for (uint32_t j = 0; j < num; j++)
			cands[i]->dominated_by += dominates(cands[j], cands[i], costs);
	}
	for (unsigned int c = 0; c < costs; c++) {
		sort_cost = c;
		qsort(order, num, sizeof(struct tune_cand *), by_front_and_cost);
		crowd(order, num, c);
	}
	free(order);
}
