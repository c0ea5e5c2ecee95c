/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words, objectives, and the drawing of settings; see space.h.
 */
#include "tools/weft-tune/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const param_words[TUNE_P] = {
#define X(field, word, highest) [HW_COALESCE_##field] = word,
    HW_COALESCE_PARAMS(X)
#undef X
};

static const struct {
	const char *name, *unit, *help;
} metrics[TUNE_NUM_METRICS] = {
#define X(name, unit, help) [TUNE_##name] = {#name, unit, help},
    TUNE_METRICS(X)
#undef X
};

#define BIT(metric) (UINT32_C(1) << (metric))

static const struct {
	const char *name;
	enum tune_metric metric;
	uint32_t metrics;
} objectives[TUNE_OBJECTIVES] = {
    [TUNE_LATENCY] = {"latency", TUNE_lat_us, BIT(TUNE_lat_us)},
    [TUNE_BANDWIDTH] = {"bandwidth", TUNE_bw_10m, BIT(TUNE_bw_10m)},
    [TUNE_OVERLAP] = {"overlap", TUNE_overlap, BIT(TUNE_overlap)},
    [TUNE_CPU] = {"cpu", TUNE_cpu_us_per_msg, BIT(TUNE_cpu_us_per_msg)},
    [TUNE_PARETO] = {"pareto", TUNE_lat_us,
		     BIT(TUNE_lat_us) | BIT(TUNE_irqs_per_s) | BIT(TUNE_bw_10m)},
};

const char *tune_param_word(unsigned int param)
{
	return param_words[param];
}

int tune_param_by_word(const char *word, size_t chars)
{
	for (int i = 0; i < TUNE_P; i++)
		if (strlen(param_words[i]) == chars && !strncmp(param_words[i], word, chars))
			return i;
	return -1;
}

const char *tune_metric_name(unsigned int metric)
{
	return metrics[metric].name;
}

const char *tune_metric_unit(unsigned int metric)
{
	return metrics[metric].unit;
}

const char *tune_metric_help(unsigned int metric)
{
	return metrics[metric].help;
}

int tune_metric_by_name(const char *name)
{
	for (int i = 0; i < TUNE_NUM_METRICS; i++)
		if (!strcmp(metrics[i].name, name))
			return i;
	return -1;
}

const char *tune_objective_name(unsigned int objective)
{
	return objectives[objective].name;
}

int tune_objective_by_name(const char *name)
{
	for (int i = 0; i < TUNE_OBJECTIVES; i++)
		if (!strcmp(objectives[i].name, name))
			return i;
	return -1;
}

unsigned int tune_objective_metric(unsigned int objective)
{
	return objectives[objective].metric;
}

uint32_t tune_objective_metrics(unsigned int objective)
{
	return objectives[objective].metrics;
}

bool tune_metric_rises(unsigned int metric)
{
	return metric == TUNE_bw_1m || metric == TUNE_bw_10m || metric == TUNE_overlap;
}

double tune_metric_cost(unsigned int metric, double value)
{
	return tune_metric_rises(metric) ? -value : value;
}

bool tune_same(const struct tune_setting *a, const struct tune_setting *b)
{
	return a->mode == b->mode && !memcmp(a->param, b->param, sizeof(a->param));
}

char *tune_setting_text(const struct tune_setting *setting, uint32_t params,
			char text[TUNE_SETTING_CHARS])
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < TUNE_P; i++)
		if (params & BIT(i))
			at += (size_t)snprintf(text + at, TUNE_SETTING_CHARS - at, "%s%s %u",
					       at ? " " : "", param_words[i], setting->param[i]);
	return text;
}

void tune_draw_uniform(const struct tune_space *space, struct sim_prng *prng,
		       struct tune_setting *setting)
{
	*setting = space->base;
	for (unsigned int i = 0; i < TUNE_P; i++)
		if (space->params & BIT(i))
			setting->param[i] = (uint32_t)sim_prng_range(prng, 1, space->highest[i]);
}

/* 0 to below 1. */
static double draw_share(struct sim_prng *prng)
{
	return (double)(sim_prng_next(prng) >> 11) * 0x1p-53;
}

uint32_t tune_draw_value(const struct tune_space *space, struct sim_prng *prng, unsigned int param)
{
	uint32_t highest = space->highest[param];
	uint64_t kind = sim_prng_below(prng, 100);

	if (kind < 15)
		return 0;
	if (kind < 25)
		return 1;
	if (kind < 35)
		return highest;
	if (kind < 75)
		return tune_clamp(space, param,
				  (int64_t)exp(draw_share(prng) * log((double)highest + 1)), 1);
	return (uint32_t)sim_prng_range(prng, 1, highest);
}

void tune_draw_mixed(const struct tune_space *space, struct sim_prng *prng,
		     struct tune_setting *setting)
{
	*setting = space->base;
	for (unsigned int i = 0; i < TUNE_P; i++)
		if (space->params & BIT(i))
			setting->param[i] = tune_draw_value(space, prng, i);
}

uint32_t tune_clamp(const struct tune_space *space, unsigned int param, int64_t value,
		    uint32_t lowest)
{
	if (value < lowest)
		return lowest;
	return value > space->highest[param] ? space->highest[param] : (uint32_t)value;
}
