/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outcomes, models and comparisons from a record; see analyse.h.
 */
#include "tools/weft-tune/analyse.h"
#include "tools/weft-tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Differences below this share are taken for noise when the front is made. */
#define FRONT_NOISE 0.02

/*
 * Two settings are alike when the test sees nothing at this level, which is strict since the first
 * of several is a lucky one, and they lie within this share or twice the spread.
 */
#define ALIKE_P     0.01
#define ALIKE_SHARE 0.01

static void *get(size_t num, size_t bytes)
{
	void *p = calloc(num ? num : 1, bytes);

	if (!p)
		abort();
	return p;
}

static double cost_of(const struct tune_choice *c, unsigned int metric)
{
	return tune_metric_cost(metric, c->figure[metric].median);
}

static _Thread_local unsigned int sort_metric; /* qsort() hands nothing through */

static int by_cost(const void *x, const void *y)
{
	double a = cost_of(x, sort_metric), b = cost_of(y, sort_metric);

	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

static const unsigned int front_metrics[TUNE_COSTS] = {TUNE_lat_us, TUNE_irqs_per_s, TUNE_bw_10m};

/* a is better than b in something by more than the noise, and in nothing worse by more. */
static bool clearly_better(const struct tune_cand *a, const struct tune_cand *b)
{
	bool better = false;

	for (int c = 0; c < TUNE_COSTS; c++) {
		double noise = FRONT_NOISE * fabs(b->cost[c]);

		if (a->cost[c] > b->cost[c] + noise)
			return false;
		better = better || a->cost[c] < b->cost[c] - noise;
	}
	return better;
}

/* Nothing between them but the noise: to the user they are one. */
static bool like(const struct tune_choice *a, const struct tune_choice *b)
{
	for (int c = 0; c < TUNE_COSTS; c++) {
		double x = a->figure[front_metrics[c]].median,
		       y = b->figure[front_metrics[c]].median;

		if (fabs(x - y) > FRONT_NOISE * fabs(y))
			return false;
	}
	return true;
}

/*
 * Those of the front that none of it is clearly better than: luck alone brought the others. Of
 * some that are alike the one that was measured first.
 */
static void keep_front(struct tune_verdict *o, struct tune_cand *const *list, uint32_t num,
		       const struct tune_choice *choices)
{
	o->front = get(num, sizeof(*o->front));
	o->num_front = 0;
	for (uint32_t i = 0; i < num; i++) {
		bool keep = !list[i]->dominated_by;

		for (uint32_t j = 0; j < num && keep; j++)
			keep = list[j]->dominated_by || !clearly_better(list[j], list[i]);
		for (size_t k = 0; k < o->num_front && keep; k++)
			keep = !like(&o->front[k], &choices[list[i]->id]);
		if (keep)
			o->front[o->num_front++] = choices[list[i]->id];
	}
}

/* Latencies and interrupts span decades: twice as much is as bad anywhere. */
static double knee_axis(const struct tune_choice *c, unsigned int metric)
{
	double value = log(fmax(c->figure[metric].median, 1e-9));

	return tune_metric_cost(metric, value);
}

/* The knee: nearest to the best of everything, each metric by its range on the front. */
static void find_knee(struct tune_verdict *o)
{
	double low[TUNE_COSTS], high[TUNE_COSTS], nearest = INFINITY;

	for (int c = 0; c < TUNE_COSTS; c++) {
		low[c] = INFINITY;
		high[c] = -INFINITY;
		for (size_t i = 0; i < o->num_front; i++) {
			low[c] = fmin(low[c], knee_axis(&o->front[i], front_metrics[c]));
			high[c] = fmax(high[c], knee_axis(&o->front[i], front_metrics[c]));
		}
	}
	for (size_t i = 0; i < o->num_front; i++) {
		double away = 0;

		for (int c = 0; c < TUNE_COSTS; c++)
			if (high[c] > low[c])
				away += pow((knee_axis(&o->front[i], front_metrics[c]) - low[c]) /
						(high[c] - low[c]),
					    2);
		if (away < nearest) {
			nearest = away;
			o->knee = i;
		}
	}
}

/* Settings that no other is better than in all three; sorted by latency, the knee marked. */
static void find_front(struct tune_verdict *o, const struct tune_choice *choices, size_t num)
{
	struct tune_cand *cands = get(num, sizeof(*cands));
	struct tune_cand **list = get(num, sizeof(struct tune_cand *));
	uint32_t full = 0;

	for (size_t i = 0; i < num; i++) {
		list[full] = &cands[i];
		cands[i].id = (uint32_t)i;
		for (int c = 0; c < TUNE_COSTS; c++)
			cands[i].cost[c] = cost_of(&choices[i], front_metrics[c]);
		full += !isnan(cands[i].cost[0] + cands[i].cost[1] + cands[i].cost[2]);
	}
	pareto_rank(list, full, TUNE_COSTS);
	keep_front(o, list, full, choices);
	sort_metric = TUNE_lat_us;
	qsort(o->front, o->num_front, sizeof(*o->front), by_cost);
	find_knee(o);
	free(cands);
	free(list);
}

static void compare(const double *a, size_t num_a, const double *b, size_t num_b,
		    struct tune_versus *v)
{
	double base = stat_median(b, num_b);

	stat_mann_whitney(a, num_a, b, num_b, &v->differ);
	v->share = v->differ.shift / fabs(base);
	v->distinct = v->differ.p < TUNE_ALPHA;
}

/* Values of a metric that a setting had in the end of a search. */
static double *final_values(const struct tune_analysis *a, const struct tune_verdict *o,
			    const struct tune_setting *setting, unsigned int metric, size_t *num)
{
	const struct tune_filter f = {o->method, o->objective, TUNE_FINAL, -1, -1, 0};
	double *values = get(a->num, sizeof(*values));

	*num = 0;
	for (size_t i = 0; i < a->num; i++)
		if (tune_wanted(&f, &a->entries[i]) && tune_same(&a->entries[i].setting, setting) &&
		    !isnan(a->entries[i].result.value[metric]))
			values[(*num)++] = a->entries[i].result.value[metric];
	return values;
}

static unsigned int changes(const struct tune_analysis *a, const struct tune_choice *c)
{
	unsigned int num = 0;

	for (unsigned int p = 0; p < TUNE_P; p++)
		num += c->setting.param[p] != a->plan->space.base.param[p];
	return num;
}

/* True: the search itself measured the initial setting. */
static bool was_searched(const struct tune_analysis *a, const struct tune_verdict *o)
{
	const struct tune_filter f = {o->method, o->objective, TUNE_SEARCH, -1, -1, 0};

	for (size_t i = 0; i < a->num; i++)
		if (tune_wanted(&f, &a->entries[i]) &&
		    tune_same(&a->entries[i].setting, &a->plan->space.base))
			return true;
	return false;
}

/* Looks for a simpler one among those of the end that cannot be told from the first. */
static void choose(const struct tune_analysis *a, struct tune_verdict *o)
{
	unsigned int metric = tune_objective_metric(o->objective);
	size_t num_first, num;
	double *first, reach;

	o->chosen = o->own = 0;
	o->alike = 1;
	if (!o->verified)
		return;
	if (o->choices[0].initial && !was_searched(a, o) && o->num_choices > 1)
		o->own = 1;
	first = final_values(a, o, &o->choices[0].setting, metric, &num_first);
	for (size_t i = 1; i < o->num_choices; i++) {
		double *values = final_values(a, o, &o->choices[i].setting, metric, &num);
		struct tune_versus v;

		compare(values, num, first, num_first, &v);
		free(values);
		reach =
		    2 * fmax(o->choices[0].figure[metric].mad, o->choices[i].figure[metric].mad);
		reach = fmax(ALIKE_SHARE, reach / fabs(o->choices[0].figure[metric].median));
		if (!(v.differ.p >= ALIKE_P) || !(fabs(v.share) <= reach))
			continue;
		o->alike++;
		if (changes(a, &o->choices[i]) < changes(a, &o->choices[o->chosen]))
			o->chosen = i;
	}
	free(first);
}

static void beside_initial(const struct tune_analysis *a, struct tune_verdict *o)
{
	unsigned int metric = tune_objective_metric(o->objective);
	const struct tune_choice *best = tune_verdict_best(o);
	size_t num_best, num_initial;
	double *x, *y;

	o->versus_initial = (struct tune_versus){.differ = {.p = NAN}, .share = NAN};
	if (!o->verified || !best || best->initial)
		return;
	x = final_values(a, o, &best->setting, metric, &num_best);
	y = final_values(a, o, &a->plan->space.base, metric, &num_initial);
	if (num_best && num_initial)
		compare(x, num_best, y, num_initial, &o->versus_initial);
	free(x);
	free(y);
}

/* Adds one reference to the verdict, if the search measured it. */
static void take_reference(const struct tune_analysis *a, struct tune_verdict *o,
			   const struct tune_filter *filter)
{
	size_t num;
	struct tune_choice *choices = tune_choices(a, filter, &num);

	if (num)
		o->references[o->num_references++] = choices[0];
	free(choices);
}

static void fill_verdict(const struct tune_analysis *a, struct tune_verdict *o)
{
	struct tune_filter f = {o->method, o->objective, TUNE_SEARCH, -1, -1, 0};
	unsigned int metric = tune_objective_metric(o->objective);
	struct tune_choice *all;
	size_t num;

	for (size_t i = 0; i < a->num; i++) {
		const struct tune_entry *e = &a->entries[i];

		if (tune_wanted(&f, e)) {
			o->searched++;
			o->effort += e->effort.effort;
		}
		if (e->method == o->method && e->objective == o->objective &&
		    e->phase != TUNE_COMPARE) {
			o->finals += e->phase != TUNE_SEARCH;
			o->took_s += e->took_s;
		}
	}
	f.effort = 1;
	all = tune_choices(a, &f, &num);
	o->worst = NAN;
	for (size_t i = 0; i < num; i++) {
		double value = all[i].figure[metric].median;

		if (isnan(o->worst) ||
		    tune_metric_cost(metric, value) > tune_metric_cost(metric, o->worst))
			o->worst = value;
	}
	f.phase = TUNE_FINAL;
	o->choices = tune_choices(a, &f, &o->num_choices);
	o->verified = o->num_choices > 0;
	o->num_references = 0;
	for (f.phase = TUNE_REF_OFF; f.phase < TUNE_PHASES; f.phase++)
		take_reference(a, o, &f);
	if (o->objective == TUNE_PARETO)
		find_front(o, all, num);
	if (o->verified) {
		free(all);
	} else {
		free(o->choices);
		o->choices = all;
		o->num_choices = num;
	}
	sort_metric = metric;
	qsort(o->choices, o->num_choices, sizeof(*o->choices), by_cost);
	choose(a, o);
	beside_initial(a, o);
	if (o->method == TUNE_HILL)
		tune_count_flat(a, o);
}

static void find_verdicts(struct tune_analysis *a)
{
	for (size_t i = 0; i < a->num; i++) {
		const struct tune_entry *e = &a->entries[i];
		size_t j = 0;

		if (e->phase == TUNE_COMPARE)
			continue;
		while (j < a->num_verdicts && (a->verdicts[j].method != e->method ||
					       a->verdicts[j].objective != e->objective))
			j++;
		if (j == a->num_verdicts)
			a->verdicts[a->num_verdicts++] =
			    (struct tune_verdict){.method = e->method, .objective = e->objective};
	}
	for (size_t j = 0; j < a->num_verdicts; j++)
		fill_verdict(a, &a->verdicts[j]);
}

/* A linear model of each metric that the random settings measured. */
static void fit_models(struct tune_analysis *a, const struct tune_verdict *o)
{
	/* Of the linear method, step 0 is the sample. */
	const struct tune_filter f = {o->method, o->objective, TUNE_SEARCH, 0, -1, 1};
	unsigned int param[TUNE_P];
	size_t columns = 0, num;
	struct tune_choice *choices = tune_choices(a, &f, &num);
	double *x = get(num * TUNE_P, sizeof(*x)), *y = get(num, sizeof(*y));

	for (unsigned int i = 0; i < TUNE_P; i++)
		if (a->plan->space.params & (UINT32_C(1) << i))
			param[columns++] = i;
	a->num_models = 0;
	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++) {
		struct tune_model *model = &a->models[a->num_models];
		size_t rows = 0;

		for (size_t i = 0; i < num; i++) {
			if (isnan(choices[i].figure[m].median))
				continue;
			for (size_t c = 0; c < columns; c++)
				x[rows * columns + c] = choices[i].setting.param[param[c]];
			y[rows++] = choices[i].figure[m].median;
		}
		if (stat_fit(x, y, rows, columns, &model->fit))
			continue;
		model->metric = m;
		memcpy(model->param, param, sizeof(param));
		a->num_models++;
	}
	free(choices);
	free(x);
	free(y);
}

static void compare_optima(struct tune_analysis *a)
{
	struct tune_filter f = {TUNE_GENETIC, TUNE_LATENCY, TUNE_COMPARE, -1, -1, 0};
	size_t num;
	struct tune_choice *choices = tune_choices(a, &f, &num);

	a->compared = num == 2;
	for (int i = 0; a->compared && i < 2; i++)
		a->optima[i] = choices[i];
	free(choices);
	for (unsigned int m = 0; a->compared && m < TUNE_NUM_METRICS; m++) {
		double *values[2];
		size_t nums[2];

		for (int i = 0; i < 2; i++) {
			f.candidate = i;
			values[i] = tune_values(a, &f, m, &nums[i]);
		}
		compare(values[0], nums[0], values[1], nums[1], &a->versus[m]);
		free(values[0]);
		free(values[1]);
	}
}

void tune_analyse(struct tune_analysis *a, const struct tune_plan *plan,
		  const struct tune_entry *entries, size_t num)
{
	*a = (struct tune_analysis){.plan = plan, .entries = entries, .num = num};
	find_verdicts(a);
	for (size_t i = 0; i < a->num_verdicts; i++)
		if ((a->verdicts[i].method == TUNE_RANDOM ||
		     a->verdicts[i].method == TUNE_LINEAR) &&
		    !a->num_models)
			fit_models(a, &a->verdicts[i]);
	compare_optima(a);
}

void tune_analysis_free(struct tune_analysis *a)
{
	for (size_t i = 0; i < a->num_verdicts; i++) {
		free(a->verdicts[i].choices);
		free(a->verdicts[i].front);
	}
	a->num_verdicts = 0;
}

const struct tune_choice *tune_verdict_best(const struct tune_verdict *o)
{
	if (o->objective == TUNE_PARETO)
		return o->num_front ? &o->front[o->knee] : NULL;
	return o->num_choices ? &o->choices[o->chosen] : NULL;
}

const struct tune_choice *tune_best(const struct tune_analysis *a, enum tune_objective objective,
				    const struct tune_verdict **verdict)
{
	unsigned int metric = tune_objective_metric(objective);
	const struct tune_choice *best = NULL;
	bool verified = false;

	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *o = &a->verdicts[i];
		const struct tune_choice *c = tune_verdict_best(o);

		if (o->objective != objective || !c || isnan(c->figure[metric].median))
			continue;
		/* A single lucky measurement does not beat what was measured again. */
		if (best &&
		    (o->verified < verified ||
		     (o->verified == verified && cost_of(c, metric) >= cost_of(best, metric))))
			continue;
		best = c;
		verified = o->verified;
		if (verdict)
			*verdict = o;
	}
	return best;
}
