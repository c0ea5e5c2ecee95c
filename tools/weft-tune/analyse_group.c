/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries of a record by candidate; see analyse.h. Called by analyse.c and the pictures; calls
 * stat_order.c.
 */
#include "tools/weft-tune/analyse.h"
#include "tools/weft-tune/method_hill.h"

#include <math.h>
#include <stdlib.h>

static void *get(size_t num, size_t bytes)
{
	void *p = calloc(num ? num : 1, bytes);

	if (!p)
		abort();
	return p;
}

bool tune_wanted(const struct tune_filter *f, const struct tune_entry *e)
{
	return e->method == f->method && e->objective == f->objective && e->phase == f->phase &&
	       (f->step < 0 || e->step == (uint32_t)f->step) &&
	       (f->candidate < 0 || e->candidate == (uint32_t)f->candidate) &&
	       e->effort.effort >= f->effort;
}

double *tune_values(const struct tune_analysis *a, const struct tune_filter *filter,
		    unsigned int metric, size_t *num)
{
	double *values = get(a->num, sizeof(*values));

	*num = 0;
	for (size_t i = 0; i < a->num; i++)
		if (tune_wanted(filter, &a->entries[i]) &&
		    !isnan(a->entries[i].result.value[metric]))
			values[(*num)++] = a->entries[i].result.value[metric];
	return values;
}

static int by_candidate(const void *x, const void *y)
{
	const struct tune_entry *a = *(const struct tune_entry *const *)x;
	const struct tune_entry *b = *(const struct tune_entry *const *)y;

	if (a->candidate != b->candidate)
		return a->candidate < b->candidate ? -1 : 1;
	return (a > b) - (a < b);
}

/* Wanted entries, those of one candidate after one another. */
static const struct tune_entry **sorted(const struct tune_analysis *a,
					const struct tune_filter *filter, size_t *num)
{
	const struct tune_entry **list = get(a->num, sizeof(*list));

	*num = 0;
	for (size_t i = 0; i < a->num; i++)
		if (tune_wanted(filter, &a->entries[i]))
			list[(*num)++] = &a->entries[i];
	qsort(list, *num, sizeof(*list), by_candidate);
	return list;
}

/* Median weighted by effort, as the search itself judged; spread and interval of the values. */
static void fill_figure(const struct tune_entry *const *entries, size_t num, unsigned int metric,
			struct tune_figure *figure)
{
	double *values = get(num * 2, sizeof(*values)), *weights = values + num;

	*figure = (struct tune_figure){0, NAN, NAN, NAN, NAN};
	for (size_t i = 0; i < num; i++) {
		if (isnan(entries[i]->result.value[metric]))
			continue;
		values[figure->num] = entries[i]->result.value[metric];
		weights[figure->num++] = entries[i]->effort.effort;
	}
	if (figure->num) {
		figure->median = stat_weighted_median(values, weights, figure->num);
		figure->mad = stat_mad(values, figure->num);
		stat_median_interval(values, figure->num, 0.95, &figure->low, &figure->high);
	}
	free(values);
}

struct tune_choice *tune_choices(const struct tune_analysis *a, const struct tune_filter *filter,
				 size_t *num)
{
	size_t all, end;
	const struct tune_entry **list = sorted(a, filter, &all);
	struct tune_choice *choices = get(all, sizeof(*choices));

	*num = 0;
	for (size_t i = 0; i < all; i = end) {
		struct tune_choice *c = &choices[(*num)++];

		for (end = i + 1; end < all && list[end]->candidate == list[i]->candidate;)
			end++;
		c->setting = list[i]->setting;
		c->phase = filter->phase;
		c->initial = tune_same(&c->setting, &a->plan->space.base);
		for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++)
			fill_figure(list + i, end - i, m, &c->figure[m]);
	}
	free(list);
	return choices;
}

/* Standard deviation of num values. */
static double deviation(const double *values, size_t num)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < num; i++)
		mean += values[i] / (double)num;
	for (size_t i = 0; i < num; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return num > 1 ? sqrt(squares / (double)(num - 1)) : 0;
}

/* The entries of one step: a point, which is the oldest candidate, and its neighbours. */
static bool is_flat(const struct tune_entry *const *list, size_t num, unsigned int metric)
{
	double *values = get(num, sizeof(*values)), *medians = get(num, sizeof(*medians));
	double *spreads = get(num, sizeof(*spreads)), noise;
	size_t cands = 0, end, least = num;
	bool flat = true;

	for (size_t i = 0; i < num; i = end) {
		size_t n = 0;

		for (end = i; end < num && list[end]->candidate == list[i]->candidate; end++)
			values[n++] = list[end]->result.value[metric];
		medians[cands] = stat_median(values, n);
		spreads[cands++] = deviation(values, n);
		least = n < least ? n : least;
	}
	noise = hill_noise(spreads, cands, (uint32_t)least);
	for (size_t i = 1; i < cands; i++)
		flat = flat && fabs(medians[i] - medians[0]) <= noise;
	free(values);
	free(medians);
	free(spreads);
	return flat && cands > 1;
}

static int by_step(const void *x, const void *y)
{
	const struct tune_entry *a = *(const struct tune_entry *const *)x;
	const struct tune_entry *b = *(const struct tune_entry *const *)y;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return by_candidate(x, y);
}

/*
 * A climb without noise: each setting is in the record once, so a step has the new neighbours of
 * a point that an earlier step measured; in the first of a climb the point is the oldest one.
 */
static void count_exact(struct tune_verdict *o, const struct tune_entry *const *list, size_t num)
{
	unsigned int metric = tune_objective_metric(o->objective);
	double at = NAN;
	size_t end;

	for (size_t i = 0; i < num; i = end) {
		bool begins = i == 0 || list[i]->step > list[i - 1]->step + 1, flat = true;
		double best;

		if (begins)
			at = list[i]->result.value[metric];
		best = at;
		for (end = i; end < num && list[end]->step == list[i]->step; end++) {
			double value = list[end]->result.value[metric];

			flat = flat && fabs(value - at) <= hill_margin(at);
			if (tune_metric_cost(metric, value) < tune_metric_cost(metric, best))
				best = value;
		}
		o->climbs += begins;
		o->places++;
		o->flat += flat;
		/* The climb went there only when it was worth it. */
		if (fabs(best - at) > hill_margin(at))
			at = best;
	}
}

void tune_count_flat(const struct tune_analysis *a, struct tune_verdict *o)
{
	const struct tune_filter all = {o->method, o->objective, TUNE_SEARCH, -1, -1, 0};
	size_t num, end;
	const struct tune_entry **list = sorted(a, &all, &num);
	uint32_t newest = 0;

	o->climbs = o->places = o->flat = 0;
	qsort(list, num, sizeof(*list), by_step);
	if (num > 1 && list[0]->effort.seed == list[1]->effort.seed) {
		count_exact(o, list, num);
		free(list);
		return;
	}
	for (size_t i = 0; i < num; i = end) {
		for (end = i + 1; end < num && list[end]->step == list[i]->step;)
			end++;
		o->places++;
		/* A point that none of the earlier steps had measured begins a climb. */
		o->climbs += i == 0 || list[i]->candidate > newest;
		o->flat += is_flat(list + i, end - i, tune_objective_metric(o->objective));
		if (list[end - 1]->candidate > newest)
			newest = list[end - 1]->candidate;
	}
	free(list);
}
