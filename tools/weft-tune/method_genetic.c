/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The genetic algorithm as espgoal 6.2 has it: uniform first population, roulette wheel on
 * fitness, uniform crossover, mutation of each parameter with probability 0.15 by a uniform step
 * of up to 50, 50 generations. Called by search.c.
 */
#include "tools/weft-tune/search.h"

#include <math.h>
#include <stdlib.h>

enum {
	POPULATION = 500,
	LEAST_POPULATION = 8,
	GENERATIONS = 50, /* after the first population */
	MUTATION_PPM = 150000,
	MUTATION_STEP = 50,
};

void genetic_size(uint64_t budget, uint32_t *population, uint32_t *generations)
{
	uint64_t size = budget / (GENERATIONS + 1);

	if (size > POPULATION)
		size = POPULATION;
	if (size < LEAST_POPULATION)
		size = LEAST_POPULATION;
	*population = (uint32_t)size;
	size = budget / size;
	*generations = size > GENERATIONS + 1 ? GENERATIONS + 1 : size ? (uint32_t)size : 1;
}

/* The paper's: the bandwidth, or the inverse of the latency. Several costs: few that are better. */
static double fitness(const struct tune_search *s, const struct tune_cand *cand)
{
	unsigned int metric = tune_objective_metric(s->objective);
	double value = search_value(cand, metric);

	if (s->objective == TUNE_PARETO)
		return 1.0 / (1 + cand->dominated_by);
	if (isnan(value) || value < 0)
		return 0;
	return tune_metric_rises(metric) ? value : 1 / fmax(value, 1e-9);
}

/* wheel[i]: sum of the fitness up to i. */
static uint32_t spin(struct tune_search *s, const double *wheel, uint32_t num)
{
	double at = (double)(sim_prng_next(&s->prng) >> 11) * 0x1p-53 * wheel[num - 1];
	uint32_t low = 0, high = num - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (wheel[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct tune_cand *breed(struct tune_search *s, const struct tune_cand *a,
			       const struct tune_cand *b)
{
	struct tune_setting child = s->space->base;

	for (unsigned int i = 0; i < TUNE_P; i++) {
		int64_t value;

		if (!(s->space->params & (UINT32_C(1) << i)))
			continue;
		value = sim_prng_below(&s->prng, 2) ? a->setting.param[i] : b->setting.param[i];
		if (sim_prng_chance(&s->prng, MUTATION_PPM))
			value += (int64_t)sim_prng_below(&s->prng, 2 * MUTATION_STEP + 1) -
				 MUTATION_STEP;
		child.param[i] = tune_clamp(s->space, i, value, 1);
	}
	return search_add(s, &child);
}

/* The next population into next; search_order() has ranked the old one for several costs. */
static void next_generation(struct tune_search *s, struct tune_cand **old, struct tune_cand **next,
			    double *wheel, uint32_t num)
{
	double sum = 0;

	search_order(s, old, num);
	for (uint32_t i = 0; i < num; i++) {
		sum += fitness(s, old[i]);
		wheel[i] = sum;
	}
	for (uint32_t i = 0; i < num; i++) {
		const struct tune_cand *a = old[spin(s, wheel, num)];

		next[i] = breed(s, a, old[spin(s, wheel, num)]);
	}
}

int method_genetic(struct tune_search *s)
{
	uint32_t population, generations;
	struct tune_cand **now, **next;
	double *wheel;
	int rc = 0;

	genetic_size(s->budget / s->repeats, &population, &generations);
	now = calloc(population, sizeof(struct tune_cand *));
	next = calloc(population, sizeof(struct tune_cand *));
	wheel = calloc(population, sizeof(*wheel));
	if (!now || !next || !wheel)
		abort();
	for (uint32_t i = 0; i < population; i++) {
		struct tune_setting setting;

		tune_draw_uniform(s->space, &s->prng, &setting);
		now[i] = search_add(s, &setting);
	}
	for (uint32_t g = 0; g < generations && !rc; g++) {
		if (g) {
			struct tune_cand **swap = now;

			next_generation(s, now, next, wheel, population);
			now = next;
			next = swap;
		}
		rc = search_measure(s, now, population, 1, s->repeats, g);
	}
	if (rc >= 0)
		search_choose(s, now, population);
	free(now);
	free(next);
	free(wheel);
	return rc;
}
