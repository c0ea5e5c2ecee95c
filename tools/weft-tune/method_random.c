/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random search, the optimum of a linear model, and a grid. Called by search.c; calls
 * stat_fit.c. espgoal 6.2 (250 random settings, least squares).
 */
#include "tools/weft-tune/search.h"
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>

/* What is significant for a linear model's optimum, as in the paper's table. */
#define ALPHA 0.001

enum {
	LINEAR_OPTIMA = 2, /* settings that a model proposes */
};

/* The whole sample in each round, so that what drifts is spread over all of it. */
static int sample(struct tune_search *s, uint64_t num, uint32_t repeats)
{
	struct tune_setting setting;

	for (uint64_t i = 0; i < num; i++) {
		tune_draw_uniform(s->space, &s->prng, &setting);
		search_add(s, &setting);
	}
	return search_measure(s, s->cands, s->num, 1, repeats, 0);
}

int method_random(struct tune_search *s)
{
	uint64_t num = s->budget / s->repeats;
	int rc = sample(s, num ? num : 1, s->repeats);

	if (rc >= 0)
		search_choose(s, s->cands, s->num);
	return rc;
}

/* A model of the metric over the parameters that vary; param[i]: of column i. */
static int model(const struct tune_search *s, unsigned int metric, struct stat_fit *fit,
		 unsigned int param[TUNE_P])
{
	size_t columns = 0, rows = 0;
	double *x, *y;
	int rc;

	for (unsigned int i = 0; i < TUNE_P; i++)
		if (s->space->params & (UINT32_C(1) << i))
			param[columns++] = i;
	x = malloc((s->num + 1) * TUNE_P * sizeof(*x));
	y = malloc((s->num + 1) * sizeof(*y));
	if (!x || !y)
		abort();
	for (uint32_t i = 0; i < s->num; i++) {
		y[rows] = search_value(s->cands[i], metric);
		if (isnan(y[rows]))
			continue;
		for (size_t c = 0; c < columns; c++)
			x[rows * columns + c] = s->cands[i]->setting.param[param[c]];
		rows++;
	}
	rc = stat_fit(x, y, rows, columns, fit);
	free(x);
	free(y);
	return rc;
}

/*
 * A linear model is best in a corner. Two of them: each parameter at the end that its
 * coefficient names; and only those whose coefficient is significant, the others as in the best
 * setting of the sample.
 */
static void corners(const struct tune_search *s, const struct tune_cand *best,
		    struct tune_setting optima[LINEAR_OPTIMA])
{
	unsigned int metric = tune_objective_metric(s->objective), param[TUNE_P];
	struct stat_fit fit;

	for (int i = 0; i < LINEAR_OPTIMA; i++)
		optima[i] = best->setting;
	if (model(s, metric, &fit, param))
		return;
	for (size_t c = 1; c <= fit.columns; c++) {
		double slope = tune_metric_cost(metric, fit.b[c]);
		unsigned int p = param[c - 1];

		if (isnan(slope))
			continue;
		optima[0].param[p] = slope > 0 ? 1 : s->space->highest[p];
		if (fit.p[c] < ALPHA)
			optima[1].param[p] = optima[0].param[p];
	}
}

int method_linear(struct tune_search *s)
{
	uint64_t num = s->budget / s->repeats;
	struct tune_setting optima[LINEAR_OPTIMA];
	struct tune_cand *proposed[LINEAR_OPTIMA];
	uint32_t fresh = 0;
	int rc = sample(s, num > LINEAR_OPTIMA + 1 ? num - LINEAR_OPTIMA : 1, s->repeats);

	if (rc < 0)
		return rc;
	search_choose(s, s->cands, s->num);
	if (!rc && s->num_finals) {
		corners(s, s->finals[0], optima);
		for (int i = 0; i < LINEAR_OPTIMA; i++)
			if (!search_find(s, &optima[i]))
				proposed[fresh++] = search_add(s, &optima[i]);
		rc = search_measure(s, proposed, fresh, 1, s->repeats, 1);
		if (rc >= 0)
			search_choose(s, s->cands, s->num);
	}
	return rc;
}

uint64_t grid_size(const struct tune_plan *plan)
{
	uint64_t size = 1;

	for (unsigned int i = 0; i < TUNE_P; i++) {
		if (!(plan->space.params & (UINT32_C(1) << i)))
			continue;
		if (size > UINT64_MAX / TUNE_MAX_GRID)
			return UINT64_MAX;
		size *= plan->num_grid;
	}
	return size;
}

int method_grid(struct tune_search *s)
{
	uint64_t size = grid_size(s->plan);
	int rc;

	for (uint64_t n = 0; n < size; n++) {
		struct tune_setting setting = s->space->base;
		uint64_t rest = n;

		for (unsigned int i = 0; i < TUNE_P; i++) {
			if (!(s->space->params & (UINT32_C(1) << i)))
				continue;
			setting.param[i] =
			    tune_clamp(s->space, i, s->plan->grid[rest % s->plan->num_grid], 0);
			rest /= s->plan->num_grid;
		}
		/* Values above a parameter's highest come out as the highest: once is enough. */
		if (!search_find(s, &setting))
			search_add(s, &setting);
	}
	rc = search_measure(s, s->cands, s->num, 1, s->repeats, 0);
	if (rc >= 0)
		search_choose(s, s->cands, s->num);
	return rc;
}
