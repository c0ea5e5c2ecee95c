/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Successive halving (Jamieson and Talwalkar 2016) with variation. Called by search.c.
 *
 * The first rung measures many settings briefly; each further one doubles the effort and keeps
 * the better half, beside which it tries as many children of the survivors. What is left of the
 * budget goes to the neighbourhood of the best: one parameter at a time, measured in turn with
 * the best itself, so that luck in one measurement does not last.
 *
 * It draws where interrupt moderation has its optima: at 0 (a limit off), at 1, at the ends, and
 * evenly in the logarithm. A setting is never drawn twice, and all that was measured with it
 * counts, weighted by effort.
 */
#include "tools/weft-tune/search.h"

#include <math.h>
#include <stdlib.h>

enum {
	MAX_RUNGS = 4,
	LADDER_PERCENT = 60, /* of the budget */
	TRIES = 32,          /* to draw a setting that is not known yet */
	LEADERS = 2,         /* measured again in every round of the refinement */
	PROBES = 6,          /* new ones in such a round */
	FRONT = 16,          /* of several objectives: parents of the new ones */
};

/* How large the first rung can be with this many measurements for the ladder. */
static uint32_t first_rung(uint64_t ladder, uint32_t rungs)
{
	/* n at first, then n / 2^r survivors and as many children: n (3 - 2^(2 - rungs)). */
	double all = 3 - pow(2, 2 - (int)rungs);
	double n = floor((double)ladder / all);

	return n < 2 ? 2 : n > 100000 ? 100000 : (uint32_t)n;
}

/* The settings that one would try by hand: nothing moderated, the initial one, each kind alone. */
static bool draw_known(struct tune_search *s, uint32_t i, struct tune_setting *setting)
{
	*setting = s->space->base;
	if (!i)
		return true;
	if (i > 3)
		return false;
	for (unsigned int p = 0; p < TUNE_P; p++)
		if (s->space->params & (UINT32_C(1) << p))
			setting->param[p] = i == 1 ? 0 : i == 2 ? 1 : s->space->highest[p];
	return true;
}

/* A few parameters of a parent, or of a cross of two, changed. */
static void vary(struct tune_search *s, struct tune_cand *const *parents, uint32_t num,
		 struct tune_setting *child)
{
	const struct tune_cand *a = parents[sim_prng_below(&s->prng, num)];
	const struct tune_cand *b = parents[sim_prng_below(&s->prng, num)];
	bool cross = sim_prng_below(&s->prng, 2);
	uint32_t params = (uint32_t)__builtin_popcount(s->space->params);

	*child = a->setting;
	for (unsigned int i = 0; i < TUNE_P; i++) {
		uint64_t kind = sim_prng_below(&s->prng, 100);
		int64_t value;

		if (!(s->space->params & (UINT32_C(1) << i)))
			continue;
		if (cross && sim_prng_below(&s->prng, 2))
			child->param[i] = b->setting.param[i];
		if (sim_prng_below(&s->prng, 2 * params) >= 3) /* 1.5 parameters on average */
			continue;
		value = child->param[i];
		if (kind < 40)
			value =
			    (int64_t)((double)value *
				      pow(4, (double)sim_prng_below(&s->prng, 2001) / 1000 - 1));
		else if (kind < 60)
			value += (int64_t)sim_prng_below(&s->prng, s->space->highest[i] / 8 + 2) -
				 s->space->highest[i] / 16 - 1;
		else
			value = tune_draw_value(s->space, &s->prng, i);
		child->param[i] = tune_clamp(s->space, i, value, 0);
	}
}

/* num new ones after those in list: children of the first parents ones of it, else drawn. */
static uint32_t draw_new(struct tune_search *s, struct tune_cand **list, uint32_t have,
			 uint32_t parents, uint32_t num)
{
	uint32_t known = 0;

	for (uint32_t n = 0; n < num; n++)
		for (uint32_t tries = 0; tries < TRIES; tries++) {
			struct tune_setting setting;

			if (parents)
				vary(s, list, parents, &setting);
			else if (!draw_known(s, known++, &setting))
				tune_draw_mixed(s->space, &s->prng, &setting);
			if (search_find(s, &setting))
				continue;
			list[have++] = search_add(s, &setting);
			break;
		}
	return have;
}

/* The ladder; list has room for all, *num: its length, the best first. */
static int ladder(struct tune_search *s, struct tune_cand **list, uint32_t first, uint32_t rungs,
		  uint32_t *num)
{
	int rc = 0;

	*num = draw_new(s, list, 0, 0, first);
	for (uint32_t r = 0; r < rungs && !rc; r++) {
		uint32_t survivors = first >> r ? first >> r : 1;

		if (r) {
			*num = *num > survivors ? survivors : *num;
			*num = draw_new(s, list, *num, *num, survivors);
		}
		rc =
		    search_measure(s, list, *num, pow(2, (int)r - (int)(rungs - 1)), s->repeats, r);
		search_order(s, list, *num);
	}
	return rc;
}

/* The i-th of the values worth trying for a parameter that is at value. */
static uint32_t probe_value(const struct tune_search *s, unsigned int param, uint32_t value,
			    uint64_t i)
{
	int64_t v = value;

	switch (i) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return s->space->highest[param];
	case 3:
		return tune_clamp(s->space, param, v / 2, 0);
	case 4:
		return tune_clamp(s->space, param, v * 2 + 1, 0);
	case 5:
		return tune_clamp(s->space, param, v + 1, 0);
	case 6:
		return tune_clamp(s->space, param, v - 1, 0);
	default:
		return tune_clamp(s->space, param, (v * 5 + 16) / 4, 0);
	}
}

enum {
	PROBE_KINDS = 8,
};

/* New neighbours of one of the leaders; fewer where all are known. */
static uint32_t draw_probes(struct tune_search *s, struct tune_cand **list, uint32_t have,
			    uint32_t leaders)
{
	for (uint32_t tries = 0; tries < TRIES && have < leaders + PROBES; tries++) {
		struct tune_setting setting;

		if (sim_prng_below(&s->prng, 3)) {
			unsigned int p;

			setting = list[sim_prng_below(&s->prng, leaders)]->setting;
			do
				p = (unsigned int)sim_prng_below(&s->prng, TUNE_P);
			while (!(s->space->params & (UINT32_C(1) << p)));
			setting.param[p] = probe_value(s, p, setting.param[p],
						       sim_prng_below(&s->prng, PROBE_KINDS));
		} else {
			vary(s, list, leaders, &setting);
		}
		if (!search_find(s, &setting))
			list[have++] = search_add(s, &setting);
	}
	return have;
}

/* Rounds at full effort until the budget is used up. list: all so far, the best first. */
static int refine(struct tune_search *s, struct tune_cand **list, uint32_t num, uint32_t step)
{
	struct tune_cand *round[LEADERS + PROBES];
	uint32_t leaders = num < LEADERS ? num : LEADERS;
	int rc = 0;

	for (uint32_t i = 0; i < leaders; i++)
		round[i] = list[i];
	while (!rc && leaders) {
		uint32_t n = draw_probes(s, round, leaders, leaders);

		rc = search_measure(s, round, n, 1, s->repeats, step++);
		if (rc < 0)
			break;
		search_order(s, round, n);
		leaders = n < LEADERS ? n : LEADERS;
	}
	return rc;
}

/* Those that were measured with full effort at least once: brief ones may have been lucky. */
static uint32_t well_measured(const struct tune_search *s, struct tune_cand **list)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < s->num; i++)
		if (search_effort(s->cands[i]) >= 1)
			list[num++] = s->cands[i];
	if (num)
		return num;
	for (uint32_t i = 0; i < s->num; i++)
		list[num++] = s->cands[i];
	return num;
}

/*
 * With several objectives there is no best to stay with: rounds of new neighbours of the front,
 * where it is thin first.
 */
static int refine_front(struct tune_search *s, uint32_t step)
{
	struct tune_cand *round[FRONT + PROBES], **list;
	uint32_t num, parents, n;
	int rc = 0;

	while (!rc) {
		list = calloc(s->num, sizeof(struct tune_cand *));
		if (!list)
			abort();
		num = well_measured(s, list);
		search_order(s, list, num);
		for (parents = 0; parents < num && parents < FRONT; parents++) {
			if (parents && list[parents]->dominated_by)
				break;
			round[parents] = list[parents];
		}
		free(list);
		n = draw_probes(s, round, parents, parents);
		/* All are known: the front again. */
		rc = n > parents
			 ? search_measure(s, round + parents, n - parents, 1, s->repeats, step)
			 : search_measure(s, round, parents, 1, s->repeats, step);
		step++;
	}
	return rc;
}

int method_halving(struct tune_search *s)
{
	uint64_t budget = s->budget / s->repeats;
	/* A front needs many that are measured well, not one. */
	uint32_t rungs = s->objective == TUNE_PARETO ? 2
			 : budget >= 60              ? MAX_RUNGS
			 : budget >= 24              ? 3
						     : 2;
	uint32_t first = first_rung(budget * LADDER_PERCENT / 100, rungs), num;
	struct tune_cand **list = calloc((size_t)first * 2, sizeof(struct tune_cand *));
	int rc;

	if (!list)
		abort();
	rc = ladder(s, list, first, rungs, &num);
	if (!rc && s->objective == TUNE_PARETO)
		rc = refine_front(s, rungs);
	else if (!rc)
		rc = refine(s, list, num, rungs);
	free(list);
	if (rc < 0)
		return rc;
	list = calloc(s->num, sizeof(struct tune_cand *));
	if (!list)
		abort();
	num = well_measured(s, list);
	search_choose(s, list, num);
	free(list);
	return rc;
}
