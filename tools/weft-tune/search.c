/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates, interleaved measurement, budgets, the end of a search; see search.h.
 */
#include "tools/weft-tune/method_hill.h"
#include "tools/weft-tune/stat.h"
#include "tools/weft-tune/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIMPLIFY_REPEATS = 3,
	FINALS_PERCENT = 27, /* of a budget, at most, for the finals and what is measured beside */
};

static void *more(void *old, uint32_t num, uint32_t *room, size_t bytes)
{
	if (num < *room)
		return old;
	*room = *room ? *room * 2 : 4;
	old = realloc(old, *room * bytes);
	if (!old)
		abort();
	return old;
}

void search_init(struct tune_search *s, struct tune_run *run, const struct tune_plan *plan,
		 enum tune_method method, enum tune_objective objective, uint64_t budget)
{
	*s = (struct tune_search){
	    .run = run,
	    .space = &plan->space,
	    .plan = plan,
	    .method = method,
	    .objective = objective,
	    .metrics = tune_objective_metrics(objective) | plan->also |
		       (objective == TUNE_CPU ? run->ops->metrics & TUNE_HOST_METRICS : 0),
	    .repeats = plan->repeats,
	    .budget = budget,
	};
	sim_prng_init(&s->prng, plan->seed, SIM_STREAM_DRAW,
		      (uint64_t)method * TUNE_OBJECTIVES + (uint64_t)objective);
}

void search_free(struct tune_search *s)
{
	for (uint32_t i = 0; i < s->num; i++) {
		free(s->cands[i]->samples);
		free(s->cands[i]);
	}
	free(s->cands);
	s->cands = NULL;
	s->num = s->room = 0;
}

struct tune_cand *search_add(struct tune_search *s, const struct tune_setting *setting)
{
	struct tune_cand *cand = calloc(1, sizeof(*cand));

	if (!cand)
		abort();
	cand->id = s->num;
	cand->setting = *setting;
	s->cands = more(s->cands, s->num, &s->room, sizeof(struct tune_cand *));
	s->cands[s->num++] = cand;
	return cand;
}

struct tune_cand *search_find(const struct tune_search *s, const struct tune_setting *setting)
{
	for (uint32_t i = 0; i < s->num; i++)
		if (tune_same(&s->cands[i]->setting, setting))
			return s->cands[i];
	return NULL;
}

/* One measurement of cand, remembered with it. */
static int measure_once(struct tune_search *s, struct tune_cand *cand, struct tune_entry *entry)
{
	int rc;

	entry->method = s->method;
	entry->objective = s->objective;
	entry->phase = cand->reference ? cand->reference : entry->phase;
	entry->candidate = cand->id;
	entry->repeat = cand->num;
	entry->setting = cand->setting;
	rc = tune_run_measure(s->run, entry);
	if (rc)
		return rc;
	cand->samples = more(cand->samples, cand->num, &cand->room, sizeof(struct tune_sample));
	cand->samples[cand->num++] = (struct tune_sample){entry->effort.effort, entry->result};
	return 0;
}

static void shuffle(struct sim_prng *prng, struct tune_cand **cands, uint32_t num)
{
	for (uint32_t i = num; i > 1; i--) {
		uint32_t j = (uint32_t)sim_prng_below(prng, i);
		struct tune_cand *c = cands[i - 1];

		cands[i - 1] = cands[j];
		cands[j] = c;
	}
}

/* Rounds of all cands; limited: the budget counts. */
static int rounds(struct tune_search *s, struct tune_cand *const *cands, uint32_t num,
		  const struct tune_entry *model, uint32_t repeats, bool limited)
{
	struct tune_cand **order = malloc((num ? num : 1) * sizeof(struct tune_cand *));
	int rc = 0;

	if (!order)
		abort();
	memcpy(order, cands, num * sizeof(struct tune_cand *));
	for (uint32_t r = 0; r < repeats && !rc; r++) {
		shuffle(&s->prng, order, num);
		for (uint32_t i = 0; i < num && !rc; i++) {
			struct tune_entry entry = *model;

			if (limited && s->used >= s->budget) {
				rc = SEARCH_OVER;
				break;
			}
			rc = measure_once(s, order[i], &entry);
			s->used++;
		}
	}
	free(order);
	return rc;
}

int search_measure(struct tune_search *s, struct tune_cand *const *cands, uint32_t num,
		   double effort, uint32_t repeats, uint32_t step)
{
	const struct tune_entry model = {
	    .phase = TUNE_SEARCH,
	    .step = step,
	    .effort = {.metrics = s->metrics, .effort = effort, .seed = s->seed}};

	return rounds(s, cands, num, &model, repeats, true);
}

double search_value(const struct tune_cand *cand, unsigned int metric)
{
	double *values = malloc((cand->num ? cand->num : 1) * 2 * sizeof(*values));
	double *weights, result;
	size_t num = 0;

	if (!values)
		abort();
	weights = values + cand->num;
	for (uint32_t i = 0; i < cand->num; i++) {
		if (isnan(cand->samples[i].result.value[metric]))
			continue;
		values[num] = cand->samples[i].result.value[metric];
		weights[num++] = cand->samples[i].effort;
	}
	result = stat_weighted_median(values, weights, num);
	free(values);
	return result;
}

double search_effort(const struct tune_cand *cand)
{
	double sum = 0;

	for (uint32_t i = 0; i < cand->num; i++)
		sum += cand->samples[i].effort;
	return sum;
}

static int by_rank(const void *a, const void *b)
{
	const struct tune_cand *x = *(struct tune_cand *const *)a;
	const struct tune_cand *y = *(struct tune_cand *const *)b;

	if (x->dominated_by != y->dominated_by)
		return x->dominated_by < y->dominated_by ? -1 : 1;
	if (x->crowding != y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_cost(const void *a, const void *b)
{
	const struct tune_cand *x = *(struct tune_cand *const *)a;
	const struct tune_cand *y = *(struct tune_cand *const *)b;

	/* What was not measured goes last. */
	if (isnan(x->cost[0]) != isnan(y->cost[0]))
		return isnan(x->cost[0]) ? 1 : -1;
	if (x->cost[0] != y->cost[0] && !isnan(x->cost[0]))
		return x->cost[0] < y->cost[0] ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

void search_order(const struct tune_search *s, struct tune_cand **cands, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		unsigned int costs = 0;

		for (unsigned int m = 0; m < TUNE_NUM_METRICS && costs < TUNE_COSTS; m++)
			if (tune_objective_metrics(s->objective) & (UINT32_C(1) << m))
				cands[i]->cost[costs++] =
				    tune_metric_cost(m, search_value(cands[i], m));
	}
	if (s->objective == TUNE_PARETO)
		pareto_rank(cands, num, TUNE_COSTS);
	qsort(cands, num, sizeof(struct tune_cand *),
	      s->objective == TUNE_PARETO ? by_rank : by_cost);
}

void search_choose(struct tune_search *s, struct tune_cand *const *cands, uint32_t num)
{
	struct tune_cand **order = malloc((num ? num : 1) * sizeof(struct tune_cand *));

	if (!order)
		abort();
	memcpy(order, cands, num * sizeof(struct tune_cand *));
	search_order(s, order, num);
	s->num_finals = 0;
	/* A budget that ended before any of these was measured: whatever was. */
	for (uint32_t i = 0; i < s->num && cands != s->cands && !order[0]->num; i++)
		if (s->cands[i]->num)
			order[0] = s->cands[i];
	for (uint32_t i = 0; i < num && s->num_finals < s->wanted_finals; i++) {
		bool known = !order[i]->num;

		for (uint32_t j = 0; j < s->num_finals; j++)
			known = known || tune_same(&s->finals[j]->setting, &order[i]->setting);
		if (!known)
			s->finals[s->num_finals++] = order[i];
	}
	free(order);
}

uint32_t search_num_references(const struct tune_run *run)
{
	/* TUNE_FIXED is one of the modes, and makes "off". */
	return (uint32_t)__builtin_popcount(run->ops->modes(run->target));
}

struct tune_finals search_plan_finals(uint64_t budget, unsigned int params, uint32_t references)
{
	static const struct tune_finals ways[] = {{.cands = 5, .repeats = 7, .initial = true},
						  {.cands = 3, .repeats = 5, .initial = true},
						  {.cands = 2, .repeats = 3, .initial = true},
						  {.cands = 2, .repeats = 2, .initial = true},
						  {.cands = 2, .repeats = 1, .initial = true},
						  {.cands = 1, .repeats = 1, .initial = true},
						  {.cands = 1, .repeats = 1}};
	uint32_t simplify = (params + 1) * SIMPLIFY_REPEATS;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct tune_finals f = ways[i];

		f.references = references;
		if (search_finals_cost(&f) > budget * FINALS_PERCENT / 100)
			continue;
		if (f.cands > 2 && simplify <= budget / 8)
			f.simplify = simplify;
		return f;
	}
	return (struct tune_finals){.cands = 1};
}

uint64_t search_finals_cost(const struct tune_finals *finals)
{
	return (uint64_t)(finals->cands + finals->initial + finals->references) * finals->repeats +
	       finals->simplify;
}

/* Standard deviation and median cost of the last num samples. */
static double recent(const struct tune_cand *cand, unsigned int metric, uint32_t num,
		     double *spread)
{
	double values[SIMPLIFY_REPEATS], mean = 0, squares = 0;

	for (uint32_t i = 0; i < num; i++) {
		values[i] = tune_metric_cost(
		    metric, cand->samples[cand->num - num + i].result.value[metric]);
		mean += values[i] / num;
	}
	for (uint32_t i = 0; i < num; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	*spread = sqrt(squares / (num - 1));
	return stat_median(values, num);
}

int search_simplify(struct tune_search *s)
{
	const struct tune_entry model = {.phase = TUNE_SIMPLIFY,
					 .effort = {.metrics = s->metrics, .effort = 1}};
	unsigned int metric = tune_objective_metric(s->objective), param[TUNE_P], num = 0;
	double costs[TUNE_P + 1], spreads[TUNE_P + 1], worst;
	struct tune_cand *cands[TUNE_P + 1];
	struct tune_setting simple;
	int rc;

	if (!s->num_finals)
		return 0;
	simple = s->finals[0]->setting;
	cands[0] = s->finals[0];
	for (unsigned int i = 0; i < TUNE_P; i++) {
		struct tune_setting one = simple;

		if (one.param[i] == s->space->base.param[i])
			continue;
		one.param[i] = s->space->base.param[i];
		param[num++] = i;
		cands[num] = search_add(s, &one);
	}
	rc = rounds(s, cands, num + 1, &model, SIMPLIFY_REPEATS, false);
	if (rc < 0)
		return rc;
	for (unsigned int i = 0; i <= num; i++)
		costs[i] = recent(cands[i], metric, SIMPLIFY_REPEATS, &spreads[i]);
	worst = costs[0] + hill_noise(spreads, num + 1, SIMPLIFY_REPEATS);
	for (unsigned int i = 0; i < num; i++)
		if (costs[i + 1] <= worst)
			simple.param[param[i]] = s->space->base.param[param[i]];
	/* Nothing to gain when it is known already, by which way ever. */
	for (uint32_t i = 0; i < s->num_finals; i++)
		if (tune_same(&s->finals[i]->setting, &simple))
			return 0;
	if (s->num_finals < s->wanted_finals)
		s->num_finals++;
	s->finals[s->num_finals - 1] = search_add(s, &simple);
	return 0;
}

/* Candidates for the references that the target can be set to; their number. */
static uint32_t add_references(struct tune_search *s, struct tune_cand **cands)
{
	uint32_t modes = s->run->ops->modes(s->run->target), num = 0;

	for (enum tune_phase ref = TUNE_REF_OFF; ref < TUNE_PHASES; ref++) {
		struct tune_setting setting;

		tune_reference(ref, &s->space->base, &setting);
		if (!(modes >> setting.mode & 1))
			continue;
		cands[num] = search_add(s, &setting);
		cands[num++]->reference = ref;
	}
	return num;
}

int search_finals(struct tune_search *s, const struct tune_finals *finals)
{
	const struct tune_entry model = {.phase = TUNE_FINAL,
					 .effort = {.metrics = s->run->ops->metrics, .effort = 1}};
	struct tune_cand *cands[TUNE_MAX_FINALS + 1 + TUNE_REFERENCES];
	uint32_t num = s->num_finals;
	bool listed = false;

	for (uint32_t i = 0; i < num; i++) {
		cands[i] = s->finals[i];
		listed = listed || tune_same(&cands[i]->setting, &s->space->base);
	}
	if (finals->initial && !listed)
		cands[num++] = search_add(s, &s->space->base);
	if (finals->references)
		num += add_references(s, cands + num);
	return rounds(s, cands, num, &model, finals->repeats, false);
}

int search_compare(struct tune_search *s, const struct tune_setting settings[2], uint32_t num)
{
	const struct tune_entry model = {
	    .phase = TUNE_COMPARE,
	    .effort = {.metrics = s->run->ops->metrics & (tune_objective_metrics(TUNE_LATENCY) |
							  tune_objective_metrics(TUNE_BANDWIDTH)),
		       .effort = 1}};
	struct tune_cand *cands[2];

	for (int i = 0; i < 2; i++)
		cands[i] = search_add(s, &settings[i]);
	return rounds(s, cands, 2, &model, num, false);
}

int search_run(struct tune_search *s)
{
	static int (*const methods[TUNE_METHODS])(struct tune_search *) = {
	    [TUNE_RANDOM] = method_random,   [TUNE_LINEAR] = method_linear,
	    [TUNE_HILL] = method_hill,       [TUNE_GENETIC] = method_genetic,
	    [TUNE_HALVING] = method_halving, [TUNE_GRID] = method_grid,
	};
	struct tune_finals finals =
	    search_plan_finals(s->budget, (unsigned int)__builtin_popcount(s->space->params),
			       search_num_references(s->run));
	int rc;

	s->budget -= search_finals_cost(&finals);
	s->wanted_finals = finals.cands;
	rc = methods[s->method](s);
	if (rc >= 0 && finals.simplify && s->objective != TUNE_PARETO)
		rc = search_simplify(s);
	return rc < 0 ? rc : search_finals(s, &finals);
}
