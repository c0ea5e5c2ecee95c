/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hill climbing with restarts. Called by search.c. espgoal 6.2.
 *
 * A neighbour differs in one parameter by a step. Neighbours are measured a few at a time, in
 * turn with the point itself, and the climb goes to the first few's best one that is better by
 * more than the noise. Where none is, the step is halved, and in the end another climb begins
 * at random. The paper's climbs wandered in flat regions, where neighbours differ by the noise
 * alone; here they stay, and hill_flat() tells from the record how many places were flat.
 */
#include "tools/weft-tune/method_hill.h"
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>

enum {
	AT_A_TIME = 4,
	LEAST_REPEATS = 3,
	FIRST_SHARE = 4,  /* of the range: the first step */
	LAST_SHARE = 128, /* the last one */
	MAX_MOVES = 2 * TUNE_P,
	MAX_CLIMBS = 4096, /* ends of climbs that are kept */
};

struct move {
	unsigned int param;
	int sign;
};

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
static struct tune_cand *neighbour(struct tune_search *s, const struct tune_cand *at,
				   const struct move *move, uint32_t share)
{
	struct tune_setting setting = at->setting;
	uint32_t step = s->space->highest[move->param] / share;

	setting.param[move->param] = tune_clamp(
	    s->space, move->param,
	    (int64_t)setting.param[move->param] + move->sign * (int64_t)(step ? step : 1), 0);
	return tune_same(&setting, &at->setting) ? NULL : search_add(s, &setting);
}

/* Measures at and its neighbours in turn. *to: the one that is better beyond the noise, or at. */
static int look(struct tune_search *s, struct tune_cand *at, struct tune_cand **near, uint32_t num,
		uint32_t step, uint32_t repeats, struct tune_cand **to)
{
	unsigned int metric = tune_objective_metric(s->objective);
	struct tune_cand *all[AT_A_TIME + 1];
	double spreads[AT_A_TIME + 1], noise, best;
	int rc;

	all[0] = at;
	for (uint32_t i = 0; i < num; i++)
		all[i + 1] = near[i];
	*to = at;
	rc = search_measure(s, all, num + 1, 1, repeats, step);
	if (rc)
		return rc;
	for (uint32_t i = 0; i <= num; i++)
		spreads[i] = spread(all[i], metric, repeats);
	noise = hill_noise(spreads, num + 1, repeats);
	best = recent_cost(at, metric, repeats) - noise;
	for (uint32_t i = 1; i <= num; i++)
		if (recent_cost(all[i], metric, repeats) < best) {
			best = recent_cost(all[i], metric, repeats);
			*to = all[i];
		}
	return 0;
}

/* Looks around *at, with one step; leaves the best found in *at, or *at as it is. */
static int try_moves(struct tune_search *s, struct tune_cand **at, uint32_t share, uint32_t step,
		     uint32_t repeats)
{
	struct move moves[MAX_MOVES];
	uint32_t num = draw_moves(s, moves), next = 0;
	int rc = 0;

	while (next < num && !rc) {
		struct tune_cand *near[AT_A_TIME], *to;
		uint32_t n = 0;

		while (next < num && n < AT_A_TIME) {
			near[n] = neighbour(s, *at, &moves[next++], share);
			n += near[n] != NULL;
		}
		if (!n)
			break;
		rc = look(s, *at, near, n, step, repeats, &to);
		if (to != *at) {
			*at = to;
			break;
		}
	}
	return rc;
}

static int climb(struct tune_search *s, uint32_t *step, uint32_t repeats, struct tune_cand **end)
{
	struct tune_setting setting;
	uint32_t share = FIRST_SHARE;
	int rc = 0;

	tune_draw_uniform(s->space, &s->prng, &setting);
	*end = search_add(s, &setting);
	while (share <= LAST_SHARE && !rc) {
		struct tune_cand *before = *end;

		rc = try_moves(s, end, share, (*step)++, repeats);
		if (*end == before)
			share *= 2;
	}
	return rc;
}

int method_hill(struct tune_search *s)
{
	uint32_t repeats = s->repeats > LEAST_REPEATS ? s->repeats : LEAST_REPEATS;
	static struct tune_cand *ends[MAX_CLIMBS];
	uint32_t num = 0, step = 0;
	int rc = 0;

	while (!rc && num < MAX_CLIMBS)
		rc = climb(s, &step, repeats, &ends[num++]);
	if (rc < 0)
		return rc;
	search_choose(s, ends, num);
	return rc;
}
