/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hill climbing with restarts; calls search.c. espgoal 6.2.
 *
 * The first climb begins where the plan says (start.h), further ones at random. A neighbour
 * differs in one parameter by a step. Neighbours are measured a few at a time, and the climb goes
 * to the best of these few that is better by more than the noise. The step shrinks where none is;
 * the climb ends when no neighbour is better at the least step, which is 1. The paper's climbs
 * wandered in flat regions, where neighbours differ by the noise alone; here they stay, and
 * tune_count_flat() tells from the record how many places were flat.
 *
 * With noise a point is measured again beside each group of neighbours, and each several times,
 * since the machine drifts. A target without noise measures everything once, with one seed: a
 * repeat would be a copy, and a setting that is met again is looked up.
 */
#include "tools/weft-tune/method_hill.h"
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>

enum {
	AT_A_TIME = 4,
	LEAST_REPEATS = 3,
	FIRST_SHARE = 4,   /* of the range: the first step */
	LAST_SHARE = 1024, /* the last one: a step of 1 in every range */
	SHRINK = 4,        /* by which a step without a better neighbour is divided */
	MAX_MOVES = 2 * TUNE_P,
	MAX_CLIMBS = 4096, /* ends of climbs that are kept */
};

struct move {
	unsigned int param;
	int sign;
};

struct climber {
	struct tune_search *search;
	unsigned int metric;
	bool exact; /* no noise: one measurement of each setting */
	uint32_t repeats;
	uint32_t step; /* of the record; one is left out between two climbs */
};

double hill_margin(double value)
{
	return HILL_SAME_SHARE * fabs(value);
}

double hill_noise(const double *spreads, size_t num, uint32_t repeats)
{
	double sigma = stat_median(spreads, num);

	return num ? 2 * sigma * sqrt(2.0 / repeats) : 0;
}

/* Standard deviation of the last num samples of cand. */
static double spread(const struct tune_cand *cand, unsigned int metric, uint32_t num)
{
	double mean = 0, squares = 0;

	for (uint32_t i = cand->num - num; i < cand->num; i++)
		mean += cand->samples[i].result.value[metric] / num;
	for (uint32_t i = cand->num - num; i < cand->num; i++)
		squares += pow(cand->samples[i].result.value[metric] - mean, 2);
	return sqrt(squares / (num - 1));
}

/* Median cost of the last num samples. */
static double recent_cost(const struct tune_cand *cand, unsigned int metric, uint32_t num)
{
	double values[64];

	num = num > 64 ? 64 : num;
	for (uint32_t i = 0; i < num; i++)
		values[i] = tune_metric_cost(
		    metric, cand->samples[cand->num - num + i].result.value[metric]);
	return stat_median(values, num);
}

/* All moves of a step in random order. */
static uint32_t draw_moves(struct tune_search *s, struct move moves[MAX_MOVES])
{
	uint32_t num = 0;

	for (unsigned int i = 0; i < TUNE_P; i++)
		for (int sign = -1; sign <= 1; sign += 2)
			if (s->space->params & (UINT32_C(1) << i))
				moves[num++] = (struct move){i, sign};
	for (uint32_t i = num; i > 1; i--) {
		uint32_t j = (uint32_t)sim_prng_below(&s->prng, i);
		struct move m = moves[i - 1];

		moves[i - 1] = moves[j];
		moves[j] = m;
	}
	return num;
}

/* The neighbour that a move leads to; NULL at the end of the range. */
static struct tune_cand *neighbour(const struct climber *c, const struct tune_cand *at,
				   const struct move *move, uint32_t share)
{
	struct tune_search *s = c->search;
	struct tune_setting setting = at->setting;
	uint32_t step = s->space->highest[move->param] / share;
	struct tune_cand *known;

	setting.param[move->param] = tune_clamp(
	    s->space, move->param,
	    (int64_t)setting.param[move->param] + move->sign * (int64_t)(step ? step : 1), 0);
	if (tune_same(&setting, &at->setting))
		return NULL;
	known = c->exact ? search_find(s, &setting) : NULL;
	return known ? known : search_add(s, &setting);
}

/* Measures those of all that no climb has measured yet. */
static int measure_fresh(struct climber *c, struct tune_cand *const *all, uint32_t num)
{
	struct tune_cand *fresh[AT_A_TIME + 1];
	uint32_t n = 0;

	for (uint32_t i = 0; i < num; i++)
		if (!all[i]->num)
			fresh[n++] = all[i];
	return n ? search_measure(c->search, fresh, n, 1, 1, c->step) : 0;
}

/* How much better than all[0] another has to be. */
static double margin(const struct climber *c, struct tune_cand *const *all, uint32_t num)
{
	double spreads[AT_A_TIME + 1];

	if (c->exact)
		return hill_margin(recent_cost(all[0], c->metric, c->repeats));
	for (uint32_t i = 0; i < num; i++)
		spreads[i] = spread(all[i], c->metric, c->repeats);
	return hill_noise(spreads, num, c->repeats);
}

/* Measures at and neighbours. *to: the best that is better by more than the margin, or at. */
static int look(struct climber *c, struct tune_cand *at, struct tune_cand *const *near,
		uint32_t num, struct tune_cand **to)
{
	struct tune_cand *all[AT_A_TIME + 1];
	double best;
	int rc;

	all[0] = at;
	for (uint32_t i = 0; i < num; i++)
		all[i + 1] = near[i];
	*to = at;
	rc = c->exact ? measure_fresh(c, all, num + 1)
		      : search_measure(c->search, all, num + 1, 1, c->repeats, c->step);
	if (rc)
		return rc;
	best = recent_cost(at, c->metric, c->repeats) - margin(c, all, num + 1);
	for (uint32_t i = 1; i <= num; i++)
		if (recent_cost(all[i], c->metric, c->repeats) < best) {
			best = recent_cost(all[i], c->metric, c->repeats);
			*to = all[i];
		}
	return 0;
}

/* Looks around *at with one step. *at becomes a better neighbour, or stays. */
static int try_moves(struct climber *c, struct tune_cand **at, uint32_t share)
{
	struct move moves[MAX_MOVES];
	uint32_t num = draw_moves(c->search, moves), next = 0;
	uint64_t used = c->search->used;
	int rc = 0;

	while (next < num && !rc) {
		struct tune_cand *near[AT_A_TIME], *to;
		uint32_t n = 0;

		while (next < num && n < AT_A_TIME) {
			near[n] = neighbour(c, *at, &moves[next++], share);
			n += near[n] != NULL;
		}
		if (!n)
			break;
		rc = look(c, *at, near, n, &to);
		if (to != *at) {
			*at = to;
			break;
		}
	}
	/* A step that only looked up is none in the record: numbers are left out between climbs. */
	c->step += c->search->used > used;
	return rc;
}

static int climb(struct climber *c, const struct tune_start *start, struct tune_cand **end)
{
	struct tune_search *s = c->search;
	struct tune_setting setting;
	uint32_t share = FIRST_SHARE;
	int rc = 0;

	tune_start_setting(start, s->space, &s->prng, &setting);
	*end = c->exact ? search_find(s, &setting) : NULL;
	if (!*end)
		*end = search_add(s, &setting);
	while (share <= LAST_SHARE && !rc) {
		struct tune_cand *before = *end;

		rc = try_moves(c, end, share);
		if (*end == before)
			share *= SHRINK;
	}
	c->step++;
	return rc;
}

int method_hill(struct tune_search *s)
{
	static const struct tune_start at_random = {.kind = TUNE_START_RANDOM};
	static struct tune_cand *ends[MAX_CLIMBS];
	struct climber c = {.search = s,
			    .metric = tune_objective_metric(s->objective),
			    .exact = s->run->ops->noise_free,
			    .repeats = s->repeats > LEAST_REPEATS ? s->repeats : LEAST_REPEATS};
	uint32_t num = 0;
	int rc = 0;

	if (c.exact) {
		c.repeats = 1;
		s->seed = tune_run_seed(s->run);
	}
	while (!rc && num < MAX_CLIMBS) {
		rc = climb(&c, num ? &at_random : &s->plan->start, &ends[num]);
		num++;
	}
	s->seed = 0;
	if (rc < 0)
		return rc;
	search_choose(s, ends, num);
	return rc;
}
