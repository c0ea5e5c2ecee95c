/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune's search beside a sweep of everything: all combinations of a small grid are measured
 * in the simulator, and successive halving, which may make a tenth of these measurements, has to
 * come within 5 % of the best of them. Short measurements, so that it takes seconds;
 * tools/bench/tune.py has the full ones, of each objective.
 */
#include "tools/weft-tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/tune_fix.h"
#include "tests/ut.h"

enum {
	GRID = 4,
	SETTINGS = GRID * GRID * GRID * GRID,
	SHARE = 10, /* of the sweep's measurements the search may make one in so many */
};

static struct tune_target_ops brief; /* target sim, a twentieth of its effort */
static uint64_t measured;

static int brief_measure(struct tune_target *target, const struct tune_effort *effort,
			 struct tune_result *result, const volatile bool *stop, char *error)
{
	struct tune_effort less = *effort;

	less.effort *= 0.05;
	measured++;
	return tune_target_sim.measure(target, &less, result, stop, error);
}

/* A search to its end: its best setting. */
static struct tune_setting search(struct tune_target *target, enum tune_method method,
				  enum tune_objective objective, uint64_t budget)
{
	static const uint32_t values[GRID] = {0, 2, 20, 200};
	struct tune_setting best;
	struct tune_record record;
	struct tune_search s;
	struct tune_plan plan;
	struct tune_run run;

	fix_plan(&plan, method, objective, budget);
	plan.num_grid = GRID;
	memcpy(plan.grid, values, sizeof(values));
	plan.space.params = 1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_rx_frames |
			    1 << HW_COALESCE_tx_usecs | 1 << HW_COALESCE_tx_frames;
	brief.initial(target, &plan.space.base);
	CU_ASSERT_EQUAL_FATAL(tune_record_create(&record, NULL, &plan, run.error), 0);
	fix_run(&run, &plan, &record);
	run.ops = &brief;
	run.target = target;
	measured = 0;
	search_init(&s, &run, &plan, method, objective, budget);
	CU_ASSERT_EQUAL_FATAL(search_run(&s), 0);
	CU_ASSERT_FATAL(s.num_finals > 0);
	search_order(&s, s.finals, s.num_finals);
	best = s.finals[0]->setting;
	search_free(&s);
	tune_record_close(&record);
	return best;
}

/* Both measured again, alike. */
static double value(struct tune_target *target, const struct tune_setting *setting,
		    unsigned int metric)
{
	const struct tune_effort e = {UINT32_C(1) << metric, 0.2, 4711};
	char error[TUNE_ERROR_CHARS];
	volatile bool stop = false;
	struct tune_result result;

	CU_ASSERT_FATAL(!tune_target_sim.apply(target, setting, error));
	CU_ASSERT_FATAL(!tune_target_sim.measure(target, &e, &result, &stop, error));
	return result.value[metric];
}

static void latency(void)
{
	const enum tune_objective objective = TUNE_LATENCY;
	unsigned int metric = tune_objective_metric(objective);
	char error[TUNE_ERROR_CHARS];
	struct tune_target *target = tune_target_sim.open("espgoal", error);
	struct tune_setting all, few, initial;
	double sweep, best, first;

	CU_ASSERT_FATAL(target != NULL);
	brief = tune_target_sim;
	brief.measure = brief_measure;
	all = search(target, TUNE_GRID, objective, 2 * SETTINGS);
	CU_ASSERT(measured >= SETTINGS);
	few = search(target, TUNE_HALVING, objective, SETTINGS / SHARE);
	CU_ASSERT(measured > 0 && measured <= SETTINGS / SHARE);
	tune_target_sim.initial(target, &initial);
	sweep = tune_metric_cost(metric, value(target, &all, metric));
	best = tune_metric_cost(metric, value(target, &few, metric));
	first = tune_metric_cost(metric, value(target, &initial, metric));
	CU_ASSERT(best <= sweep + 0.05 * fabs(sweep));
	/* There was something to find. */
	CU_ASSERT(sweep < first - 0.05 * fabs(first));
	tune_target_sim.close(target);
}

UT_MAIN("tools/tune_gap", UT(latency))
