/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/weft-tune/search.c and method_*.c on a formula whose optima are known, with noise.
 */
#include "tests/tools/tune_fix.h"
#include "tests/ut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A search to its end; returns the best setting's true cost (latency) or value (bandwidth). */
static double search_best(struct tune_plan *plan, struct tune_record *record,
			  struct tune_setting *best)
{
	struct tune_search s;
	struct tune_run run;
	int rc;

	CU_ASSERT_EQUAL(tune_record_create(record, NULL, plan, run.error), 0);
	fix_run(&run, plan, record);
	search_init(&s, &run, plan, plan->method, plan->objective, plan->budget);
	rc = search_run(&s);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	CU_ASSERT_FATAL(s.num_finals > 0);
	search_order(&s, s.finals, s.num_finals);
	*best = s.finals[0]->setting;
	search_free(&s);
	return plan->objective == TUNE_BANDWIDTH ? fix_bandwidth(best) : fix_latency(best);
}

static double try_method(enum tune_method method, enum tune_objective objective, uint64_t budget,
			 uint64_t seed)
{
	struct tune_setting best;
	struct tune_record record;
	struct tune_plan plan;
	double value;

	fix_plan(&plan, method, objective, budget);
	plan.seed = seed;
	value = search_best(&plan, &record, &best);
	CU_ASSERT(record.num <= budget);
	CU_ASSERT_EQUAL(record.num, fix.measured);
	tune_record_close(&record);
	return value;
}

/* A tenth of the genetic algorithm's measurements, and over the seeds no worse a result. */
static void halving_beats_genetic(void)
{
	double few[2] = {0}, many[2] = {0}, us, mb;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		us = try_method(TUNE_HALVING, TUNE_LATENCY, 261, seed);
		few[0] += us;
		many[0] += try_method(TUNE_GENETIC, TUNE_LATENCY, 2640, seed);
		CU_ASSERT(us <= FIX_BEST_LATENCY * 1.01);
		mb = try_method(TUNE_HALVING, TUNE_BANDWIDTH, 261, seed);
		few[1] += mb;
		many[1] += try_method(TUNE_GENETIC, TUNE_BANDWIDTH, 2640, seed);
		CU_ASSERT(mb >= FIX_BEST_BANDWIDTH * 0.96);
	}
	CU_ASSERT(few[0] <= many[0]);
	CU_ASSERT(few[1] >= many[1]);
}

/* Small budgets are kept, and used. */
static void small_budgets(void)
{
	static const uint64_t budgets[] = {1, 2, 5, 10, 20, 40, 60, 100};

	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
		for (int method = 0; method < TUNE_METHODS; method++)
			if (method != TUNE_GRID)
				try_method((enum tune_method)method, TUNE_LATENCY, budgets[i], 3);
	CU_ASSERT(try_method(TUNE_HALVING, TUNE_LATENCY, 40, 3) < 24);
}

static void linear_finds_the_corner(void)
{
	/* rx-usecs at 1, tx-usecs-irq high: all that the model can see. */
	CU_ASSERT(try_method(TUNE_LINEAR, TUNE_LATENCY, 250, 1) < FIX_BEST_LATENCY + 3.1);
}

/* The climbs of a hilly formula get somewhere; those of a flat one know that it is flat. */
static void hill(void)
{
	struct tune_setting best;
	struct tune_record record;
	struct tune_plan plan;

	CU_ASSERT(try_method(TUNE_HILL, TUNE_LATENCY, 600, 1) < 200);
	fix_plan(&plan, TUNE_HILL, TUNE_LATENCY, 600);
	fix.flat = true;
	search_best(&plan, &record, &best);
	tune_record_close(&record);
}

/* A search on a target without noise; the record is the caller's to close. */
static void exact_hill(struct tune_plan *plan, struct tune_record *record)
{
	struct tune_target_ops exact = tune_target_fix;
	struct tune_search s;
	struct tune_run run;

	exact.noise_free = true;
	fix.noise = 0;
	CU_ASSERT_EQUAL(tune_record_create(record, NULL, plan, run.error), 0);
	fix_run(&run, plan, record);
	run.ops = &exact;
	search_init(&s, &run, plan, plan->method, plan->objective, plan->budget);
	CU_ASSERT_EQUAL_FATAL(search_run(&s), 0);
	search_free(&s);
}

/* The entry of the first candidate, at which the first climb begins. */
static const struct tune_entry *beginning(const struct tune_record *record)
{
	for (size_t i = 0; i < record->num; i++)
		if (!record->entries[i].candidate)
			return &record->entries[i];
	return NULL;
}

/* The first climb begins where the plan says, at the initial setting where it says nothing. */
static void hill_begins_where_told(void)
{
	static const char *const texts[] = {"initial", "off", "rx-usecs=300,tx-frames=7", "random"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tune_setting wanted;
		struct tune_record record;
		struct tune_plan plan;
		bool same;

		fix_plan(&plan, TUNE_HILL, TUNE_LATENCY, 120);
		if (i)
			CU_ASSERT(tune_start_parse(texts[i], &plan.start));
		wanted = plan.space.base;
		if (i == 1)
			memset(&wanted, 0, sizeof(wanted));
		if (i == 2) {
			wanted.param[HW_COALESCE_rx_usecs] = 300;
			wanted.param[HW_COALESCE_tx_frames] = 7;
		}
		exact_hill(&plan, &record);
		same = tune_same(&beginning(&record)->setting, &wanted);
		CU_ASSERT_EQUAL(same, i < 3);
		tune_record_close(&record);
	}
}

/* Without noise a climb comes to the top: from quarters of a range down to single steps. */
static void hill_shrinks_its_steps(void)
{
	const struct tune_entry *best = NULL;
	struct tune_record record;
	struct tune_plan plan;
	bool far = false, near = false;

	fix_plan(&plan, TUNE_HILL, TUNE_LATENCY, 250);
	plan.space.params = 1 << HW_COALESCE_rx_usecs;
	exact_hill(&plan, &record);
	for (size_t i = 0; i < record.num; i++) {
		const struct tune_entry *e = &record.entries[i];
		uint32_t usecs = e->setting.param[HW_COALESCE_rx_usecs];

		if (e->phase != TUNE_SEARCH)
			continue;
		far = far || usecs == 20 + 1023 / 4;
		near = near || usecs == 2;
		if (!best || e->result.value[TUNE_lat_us] < best->result.value[TUNE_lat_us])
			best = e;
	}
	CU_ASSERT(far && near);
	CU_ASSERT_FATAL(best != NULL);
	/* 0 would be a count without a time here: 1 ms. */
	CU_ASSERT_EQUAL(best->setting.param[HW_COALESCE_rx_usecs], 1);
	tune_record_close(&record);
}

/* Without noise no setting is measured twice by the climbs, and all with one seed. */
static void hill_repeats_nothing(void)
{
	struct tune_record record;
	struct tune_plan plan;
	size_t searched = 0;

	fix_plan(&plan, TUNE_HILL, TUNE_BANDWIDTH, 400);
	exact_hill(&plan, &record);
	for (size_t i = 0; i < record.num; i++) {
		const struct tune_entry *e = &record.entries[i];

		if (e->phase != TUNE_SEARCH)
			continue;
		searched++;
		CU_ASSERT_EQUAL(e->effort.seed, record.entries[0].effort.seed);
		for (size_t j = 0; j < i; j++)
			CU_ASSERT(!tune_same(&record.entries[j].setting, &e->setting));
	}
	CU_ASSERT(searched > 200);
	/* The end is measured with seeds of its own: there repeats tell how far seeds matter. */
	CU_ASSERT(record.entries[record.num - 1].effort.seed != record.entries[0].effort.seed);
	tune_record_close(&record);
}

/* How often a record has measured a phase, and that each was the setting of its reference. */
static size_t count_phase(const struct tune_record *record, const struct tune_plan *plan,
			  enum tune_phase phase)
{
	struct tune_setting wanted;
	size_t num = 0;

	tune_reference(phase, &plan->space.base, &wanted);
	for (size_t i = 0; i < record->num; i++) {
		if (record->entries[i].phase != phase)
			continue;
		CU_ASSERT(tune_same(&record->entries[i].setting, &wanted));
		/* All metrics, as of the finals. */
		CU_ASSERT_EQUAL(record->entries[i].effort.metrics, tune_target_fix.metrics);
		num++;
	}
	return num;
}

/* Every search measures off, adaptive and target as often as its best settings, in their rounds. */
static void references(void)
{
	for (int method = 0; method < TUNE_GRID; method++) {
		struct tune_record record;
		struct tune_setting best;
		struct tune_plan plan;

		fix_plan(&plan, (enum tune_method)method, TUNE_LATENCY, 300);
		search_best(&plan, &record, &best);
		for (enum tune_phase ref = TUNE_REF_OFF; ref < TUNE_PHASES; ref++)
			CU_ASSERT_EQUAL(count_phase(&record, &plan, ref), 7);
		/* In the first round of the end each comes before any comes again. */
		for (size_t i = 1; i < record.num; i++)
			if (record.entries[i].phase >= TUNE_REF_OFF &&
			    record.entries[i - 1].phase >= TUNE_REF_OFF)
				CU_ASSERT(record.entries[i].repeat >= record.entries[i - 1].repeat);
		tune_record_close(&record);
	}
}

/* A target without a mode has no row for it, and spends nothing on it. */
static void references_of_few_modes(void)
{
	struct tune_record record;
	struct tune_setting best;
	struct tune_plan plan;

	fix_plan(&plan, TUNE_RANDOM, TUNE_LATENCY, 300);
	fix.modes = 1u << TUNE_FIXED | 1u << TUNE_ADAPTIVE;
	search_best(&plan, &record, &best);
	CU_ASSERT_EQUAL(count_phase(&record, &plan, TUNE_REF_OFF), 7);
	CU_ASSERT_EQUAL(count_phase(&record, &plan, TUNE_REF_ADAPTIVE), 7);
	CU_ASSERT_EQUAL(count_phase(&record, &plan, TUNE_REF_TARGET), 0);
	tune_record_close(&record);
	/* From 15 measurements on there is room for them. */
	fix_plan(&plan, TUNE_RANDOM, TUNE_LATENCY, 15);
	search_best(&plan, &record, &best);
	CU_ASSERT_EQUAL(count_phase(&record, &plan, TUNE_REF_TARGET), 1);
	CU_ASSERT(record.num <= 15);
	tune_record_close(&record);
}

static void grid(void)
{
	static const uint32_t values[] = {0, 1, 4, 24, 100, 1000, 2000};
	struct tune_setting best;
	struct tune_record record;
	struct tune_plan plan;
	size_t num;

	fix_plan(&plan, TUNE_GRID, TUNE_BANDWIDTH, 1000);
	plan.space.params = 1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_rx_frames;
	plan.num_grid = 7;
	memcpy(plan.grid, values, sizeof(values));
	CU_ASSERT_EQUAL(grid_size(&plan), 49);
	search_best(&plan, &record, &best);
	CU_ASSERT_EQUAL(best.param[HW_COALESCE_rx_frames], 24);
	CU_ASSERT(best.param[HW_COALESCE_rx_usecs] <= 4);
	/* 1000 and 2000 are one value for frames (255), two for usecs (1000, 1023). */
	num = 0;
	for (size_t i = 0; i < record.num; i++)
		num += record.entries[i].phase == TUNE_SEARCH;
	CU_ASSERT_EQUAL(num, 7 * 6);
	for (size_t i = 0; i < record.num; i++)
		if (record.entries[i].phase != TUNE_REF_OFF)
			CU_ASSERT_EQUAL(record.entries[i].setting.param[HW_COALESCE_tx_usecs], 72);
	tune_record_close(&record);
	plan.space.params = HW_COALESCE_SET_PARAMS;
	plan.num_grid = TUNE_MAX_GRID;
	CU_ASSERT_EQUAL(grid_size(&plan), UINT64_C(1) << 48);
}

/* Parameters that are not searched keep their initial values. */
static void subset(void)
{
	for (int method = 0; method < TUNE_GRID; method++) {
		struct tune_setting best;
		struct tune_record record;
		struct tune_plan plan;

		fix_plan(&plan, (enum tune_method)method, TUNE_LATENCY, 120);
		plan.space.params = 1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_tx_usecs_irq;
		search_best(&plan, &record, &best);
		for (size_t i = 0; i < record.num; i++)
			for (int p = 0; p < TUNE_P; p++) {
				uint32_t value = record.entries[i].setting.param[p];

				CU_ASSERT(value <= plan.space.highest[p]);
				/* The reference "off" is off in all. */
				if (!(plan.space.params & (1u << p)) &&
				    record.entries[i].phase != TUNE_REF_OFF)
					CU_ASSERT_EQUAL(value, plan.space.base.param[p]);
			}
		tune_record_close(&record);
	}
}

/* Settings of a round are measured in turn, each once before any comes again. */
static void interleaved(void)
{
	struct tune_record record;
	struct tune_setting best;
	struct tune_plan plan;

	fix_plan(&plan, TUNE_RANDOM, TUNE_LATENCY, 300);
	plan.repeats = 5;
	search_best(&plan, &record, &best);
	for (size_t i = 1; i < record.num; i++) {
		const struct tune_entry *a = &record.entries[i - 1], *b = &record.entries[i];

		if (a->phase == b->phase && b->phase == TUNE_SEARCH)
			CU_ASSERT(b->repeat >= a->repeat);
	}
	CU_ASSERT_EQUAL(record.entries[record.num - 1].phase, TUNE_FINAL);
	tune_record_close(&record);
}

static void genetic_as_in_the_paper(void)
{
	uint32_t population, generations;
	struct tune_record record;
	struct tune_setting best;
	struct tune_plan plan;
	uint32_t mutated = 0, all = 0;

	genetic_size(25500, &population, &generations);
	CU_ASSERT_EQUAL(population, 500);
	CU_ASSERT_EQUAL(generations, 51);
	genetic_size(100000, &population, &generations);
	CU_ASSERT_EQUAL(population, 500);
	genetic_size(100, &population, &generations);
	CU_ASSERT_EQUAL(population, 8);
	CU_ASSERT_EQUAL(generations, 12);
	fix_plan(&plan, TUNE_GENETIC, TUNE_LATENCY, 5190);
	search_best(&plan, &record, &best);
	CU_ASSERT_EQUAL(record.num, 100 * 51 + 90);
	/* Of the second generation, each value is a parent's, or 50 from one at the most. */
	for (size_t i = 100; i < 200; i++) {
		CU_ASSERT_EQUAL(record.entries[i].step, 1);
		for (int p = 0; p < TUNE_P; p++) {
			int64_t least = INT64_MAX;

			for (size_t j = 0; j < 100; j++) {
				int64_t away = llabs((int64_t)record.entries[i].setting.param[p] -
						     (int64_t)record.entries[j].setting.param[p]);

				least = away < least ? away : least;
			}
			CU_ASSERT(least <= 50);
			mutated += least != 0;
			all++;
		}
	}
	CU_ASSERT(mutated > 0 && mutated < all / 5);
	tune_record_close(&record);
}

/* Latency, interrupts and bandwidth pull apart: the front has several settings, none dominated. */
static void pareto(void)
{
	static const enum tune_method methods[] = {TUNE_RANDOM, TUNE_GENETIC, TUNE_HALVING};

	for (int i = 0; i < 3; i++) {
		struct tune_search s;
		struct tune_record record;
		struct tune_plan plan;
		struct tune_run run;

		fix_plan(&plan, methods[i], TUNE_PARETO, 400);
		fix.noise = 0;
		CU_ASSERT_EQUAL(tune_record_create(&record, NULL, &plan, run.error), 0);
		fix_run(&run, &plan, &record);
		search_init(&s, &run, &plan, plan.method, plan.objective, plan.budget);
		CU_ASSERT_EQUAL_FATAL(search_run(&s), 0);
		CU_ASSERT(s.num_finals > 1);
		search_order(&s, s.finals, s.num_finals);
		CU_ASSERT_EQUAL(s.finals[0]->dominated_by, 0);
		CU_ASSERT_EQUAL(s.finals[1]->dominated_by, 0);
		search_free(&s);
		tune_record_close(&record);
	}
}

static void ranks(void)
{
	struct tune_cand c[5] = {{.id = 0, .cost = {1, 5}},
				 {.id = 1, .cost = {2, 2}},
				 {.id = 2, .cost = {5, 1}},
				 {.id = 3, .cost = {3, 3}},
				 {.id = 4, .cost = {6, 6}}};
	struct tune_cand *list[5] = {&c[4], &c[3], &c[2], &c[1], &c[0]};

	pareto_rank(list, 5, 2);
	CU_ASSERT_EQUAL(c[0].dominated_by, 0);
	CU_ASSERT_EQUAL(c[1].dominated_by, 0);
	CU_ASSERT_EQUAL(c[2].dominated_by, 0);
	CU_ASSERT_EQUAL(c[3].dominated_by, 1);
	CU_ASSERT_EQUAL(c[4].dominated_by, 4);
	CU_ASSERT(isinf(c[0].crowding));
	CU_ASSERT_DOUBLE_EQUAL(c[1].crowding, 2, 1e-12);
}

/* A peer that dies: the error is the target's own. */
static void peer_dies(void)
{
	struct tune_record record;
	struct tune_search s;
	struct tune_plan plan;
	struct tune_run run;

	fix_plan(&plan, TUNE_HALVING, TUNE_LATENCY, 100);
	fix.fail_after = 30;
	CU_ASSERT_EQUAL(tune_record_create(&record, NULL, &plan, run.error), 0);
	fix_run(&run, &plan, &record);
	search_init(&s, &run, &plan, plan.method, plan.objective, plan.budget);
	CU_ASSERT_EQUAL(search_run(&s), -EPIPE);
	CU_ASSERT_STRING_EQUAL(run.error, "the peer of the formula has died");
	CU_ASSERT_EQUAL(record.num, 30);
	search_free(&s);
	tune_record_close(&record);
}

UT_MAIN("tools/tune_search", UT(halving_beats_genetic), UT(small_budgets),
	UT(linear_finds_the_corner), UT(hill), UT(hill_begins_where_told),
	UT(hill_shrinks_its_steps), UT(hill_repeats_nothing), UT(references),
	UT(references_of_few_modes), UT(grid), UT(subset), UT(interleaved),
	UT(genetic_as_in_the_paper), UT(pareto), UT(ranks), UT(peer_dies))
