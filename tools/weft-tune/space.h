/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The space that weft-tune searches: words and ranges of the parameters, objectives, and how
 * settings are drawn and varied. Called by the methods, the command line, the record and the
 * report; calls sim_harness/sim_prng.c. espgoal figure 6.1, section 6.2.
 */
#ifndef WEFT_TUNE_SPACE_H
#define WEFT_TUNE_SPACE_H

#include "sim_harness/sim_prng.h"
#include "tools/weft-tune/tune.h"

enum {
	TUNE_P = HW_COALESCE_NUM_PARAMS,
	TUNE_SETTING_CHARS = 160, /* all parameters as text */
};

enum tune_objective {
	TUNE_LATENCY,
	TUNE_BANDWIDTH,
	TUNE_OVERLAP,
	TUNE_CPU,
	TUNE_PARETO,
	TUNE_OBJECTIVES
};

/* What is searched; parameters that are not in params stay as they are in base. */
struct tune_space {
	uint32_t params; /* by bit */
	uint32_t highest[TUNE_P];
	struct tune_setting base;
};

/* ethtool's word of a parameter, and its index, -1: there is none of that name. */
const char *tune_param_word(unsigned int param);
int tune_param_by_word(const char *word, size_t chars);

/* Name, unit and meaning of a metric; tune_metric_by_name() gives -1 for none. */
const char *tune_metric_name(unsigned int metric);
const char *tune_metric_unit(unsigned int metric);
const char *tune_metric_help(unsigned int metric);
int tune_metric_by_name(const char *name);

/* Name of an objective, its index (-1: none). */
const char *tune_objective_name(unsigned int objective);
int tune_objective_by_name(const char *name);

/* The metric that an objective stands for; of TUNE_PARETO the first of its three. */
unsigned int tune_objective_metric(unsigned int objective);

/* The metrics that a search for it measures, by bit. */
uint32_t tune_objective_metrics(unsigned int objective);

/* True where more is better. */
bool tune_metric_rises(unsigned int metric);

/* What is to be made small: the metric, or its negative. NAN stays NAN. */
double tune_metric_cost(unsigned int metric, double value);

bool tune_same(const struct tune_setting *a, const struct tune_setting *b);

/* "rx-usecs 5 rx-frames 16 ...", only those of params; returns text. */
char *tune_setting_text(const struct tune_setting *setting, uint32_t params,
			char text[TUNE_SETTING_CHARS]);

/* Uniform over the whole range of figure 6.1, which has no 0. */
void tune_draw_uniform(const struct tune_space *space, struct sim_prng *prng,
		       struct tune_setting *setting);

/* Uniform in the logarithm, uniform, or one of the ends and 0, each parameter by itself. */
void tune_draw_mixed(const struct tune_space *space, struct sim_prng *prng,
		     struct tune_setting *setting);

/* One value of that kind for one parameter. */
uint32_t tune_draw_value(const struct tune_space *space, struct sim_prng *prng, unsigned int param);

/* value + by, kept between lowest and the parameter's highest. */
uint32_t tune_clamp(const struct tune_space *space, unsigned int param, int64_t value,
		    uint32_t lowest);

#endif /* WEFT_TUNE_SPACE_H */
