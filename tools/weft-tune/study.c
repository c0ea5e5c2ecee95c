/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a plan; see study.h. espgoal 6.2: 250 random settings, hill climbing, the genetic
 * algorithm for latency and for bandwidth, 250 runs of both optima; and successive halving with a
 * tenth of the genetic algorithm's measurements.
 */
#include "tools/weft-tune/study.h"
#include "tools/weft-tune/analyse.h"

#include <math.h>

enum {
	SAMPLES = 250,
	/* A population of 50, or the paper's, 51 generations, and the end. */
	SMALL_GENETIC = 2550 + 90,
	PAPER_GENETIC = 25500 + 90,
};

uint64_t study_default_budget(const struct tune_plan *plan)
{
	const struct tune_finals ends = {.cands = 5,
					 .repeats = 7,
					 .initial = true,
					 .references = TUNE_REFERENCES,
					 .simplify = 27};

	if (plan->paper)
		return PAPER_GENETIC;
	if (plan->method == TUNE_GENETIC)
		return SMALL_GENETIC;
	if (plan->method == TUNE_GRID)
		return grid_size(plan) * plan->repeats * 5 / 4 + search_finals_cost(&ends);
	return SAMPLES;
}

size_t study_steps(const struct tune_plan *plan, struct study_step steps[STUDY_MAX_STEPS])
{
	static const enum tune_objective both[2] = {TUNE_LATENCY, TUNE_BANDWIDTH};
	uint64_t few = plan->budget / STUDY_TENTH;
	size_t num = 0;

	if (!plan->paper) {
		steps[0] = (struct study_step){
		    plan->method, plan->objective, plan->budget, 0, false, false};
		return 1;
	}
	steps[num++] = (struct study_step){
	    TUNE_RANDOM,   TUNE_LATENCY,
	    plan->samples, plan->metrics & (1 << TUNE_lat_us | 1 << TUNE_bw_1m | 1 << TUNE_bw_10m),
	    true,          false};
	few = few > plan->samples ? few : plan->samples;
	for (int i = 0; i < 2; i++)
		steps[num++] = (struct study_step){TUNE_HILL, both[i], few, 0, false, false};
	for (int i = 0; i < 2; i++)
		steps[num++] =
		    (struct study_step){TUNE_GENETIC, both[i], plan->budget, 0, false, false};
	for (int i = 0; i < 2; i++)
		steps[num++] = (struct study_step){
		    TUNE_HALVING, both[i], plan->budget / STUDY_TENTH, 0, false, false};
	steps[num++] = (struct study_step){
	    TUNE_GENETIC, TUNE_LATENCY, 2 * (uint64_t)plan->samples, 0, false, true};
	return num;
}

uint64_t study_expected(const struct tune_plan *plan)
{
	struct study_step steps[STUDY_MAX_STEPS];
	size_t num = study_steps(plan, steps);
	uint64_t sum = 0;

	for (size_t i = 0; i < num; i++)
		sum += steps[i].budget;
	return sum;
}

/* The optima of the genetic searches; false: they are not both there. */
static bool optima(struct tune_run *run, const struct tune_plan *plan,
		   struct tune_setting settings[2])
{
	struct tune_analysis a;
	unsigned int known = 0;

	tune_analyse(&a, plan, run->record->entries, run->record->replayed);
	for (size_t i = 0; i < a.num_verdicts; i++) {
		const struct tune_choice *best = tune_verdict_best(&a.verdicts[i]);

		if (a.verdicts[i].method != TUNE_GENETIC || !best ||
		    a.verdicts[i].objective > TUNE_BANDWIDTH)
			continue;
		/* The paper's: the best of the search, not the simplest of those like it. */
		settings[a.verdicts[i].objective == TUNE_BANDWIDTH] =
		    a.verdicts[i].choices[a.verdicts[i].own].setting;
		known |= 1u << (a.verdicts[i].objective == TUNE_BANDWIDTH);
	}
	tune_analysis_free(&a);
	return known == 3;
}

static int carry_out(struct tune_run *run, const struct tune_plan *plan,
		     const struct study_step *step)
{
	struct tune_setting settings[2];
	struct tune_search s;
	int rc = 0;

	search_init(&s, run, plan, step->method, step->objective, step->budget);
	s.metrics = step->metrics ? step->metrics : s.metrics;
	if (step->compare) {
		if (optima(run, plan, settings))
			rc = search_compare(&s, settings, (uint32_t)(step->budget / 2));
	} else if (step->bare) {
		rc = method_random(&s);
	} else {
		rc = search_run(&s);
	}
	search_free(&s);
	return rc > 0 ? 0 : rc;
}

int study_run(struct tune_run *run, const struct tune_plan *plan)
{
	struct study_step steps[STUDY_MAX_STEPS];
	size_t num = study_steps(plan, steps);
	int rc = 0;

	for (size_t i = 0; i < num && !rc; i++)
		rc = carry_out(run, plan, &steps[i]);
	return rc;
}
