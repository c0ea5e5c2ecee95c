/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A search: one method for one objective within a budget of measurements. The methods
 * (method_*.c) decide which settings are measured with what effort; search.c interleaves and
 * counts, and remembers every candidate with all that was measured with it.
 *
 * Called by study.c and tests; calls run.c. espgoal 6.2.
 */
#ifndef WEFT_TUNE_SEARCH_H
#define WEFT_TUNE_SEARCH_H

#include "tools/weft-tune/run.h"

enum {
	TUNE_COSTS = 3,      /* at most, of TUNE_PARETO */
	TUNE_MAX_FINALS = 6, /* candidates that are measured again in the end */
};

struct tune_sample {
	double effort;
	struct tune_result result;
};

/* A setting, and what was measured with it. */
struct tune_cand {
	uint32_t id;
	enum tune_phase reference; /* TUNE_REF_*: it is that reference; 0: it is none */
	struct tune_setting setting;
	uint32_t num, room;
	struct tune_sample *samples;
	/* set by search_order() */
	double cost[TUNE_COSTS]; /* to be made small; NAN: not measured */
	uint32_t dominated_by;   /* candidates that are better in all */
	double crowding;         /* distance of its neighbours on its front */
};

struct tune_search {
	struct tune_run *run;
	const struct tune_space *space;
	const struct tune_plan *plan; /* grid */
	enum tune_method method;
	enum tune_objective objective;
	uint32_t metrics; /* that every measurement of the search makes */
	uint32_t repeats;
	uint64_t budget; /* of the search, without what is measured in the end */
	uint64_t used;
	uint64_t seed; /* of all measurements of the method; 0: each has its own */
	struct sim_prng prng;
	struct tune_cand **cands;
	uint32_t num, room;
	/* The method's best, best first, that are worth measuring again. */
	struct tune_cand *finals[TUNE_MAX_FINALS];
	uint32_t num_finals, wanted_finals;
};

/* What is set aside of a budget for the end: candidates, measurements of each, and whether the
 * initial setting and the references are measured beside them. */
struct tune_finals {
	uint32_t cands, repeats;
	bool initial;
	uint32_t references;
	/* Measurements for finding out which parameters the best one need not change; 0: none. */
	uint32_t simplify;
};

/* Draws from the plan's seed; search_free() gives all back. */
void search_init(struct tune_search *search, struct tune_run *run, const struct tune_plan *plan,
		 enum tune_method method, enum tune_objective objective, uint64_t budget);
void search_free(struct tune_search *search);

/* A new candidate. Aborts when there is no memory, as all of search.c does. */
struct tune_cand *search_add(struct tune_search *search, const struct tune_setting *setting);

/* The candidate with this setting, NULL: none yet. */
struct tune_cand *search_find(const struct tune_search *search, const struct tune_setting *setting);

/* What a method gets when the budget is used up: no error, but the end. */
enum {
	SEARCH_OVER = 1,
};

/*
 * Measures each of the candidates repeats times, in rounds of random order, so that what drifts
 * in the machine meets all alike. Returns 0, SEARCH_OVER when the budget ended it early, or
 * what tune_run_measure() returned.
 */
int search_measure(struct tune_search *search, struct tune_cand *const *cands, uint32_t num,
		   double effort, uint32_t repeats, uint32_t step);

/* Median of a metric, weighted by effort; NAN: not measured. */
double search_value(const struct tune_cand *cand, unsigned int metric);

/* Sum of the efforts with which it was measured. */
double search_effort(const struct tune_cand *cand);

/* Puts the best first: by cost, or by how many dominate it and then where the front is thin. */
void search_order(const struct tune_search *search, struct tune_cand **cands, uint32_t num);

/* Makes finals of the best ones of cands that differ. */
void search_choose(struct tune_search *search, struct tune_cand *const *cands, uint32_t num);

/* How the end is planned for a budget, with so many parameters, and references to measure. */
struct tune_finals search_plan_finals(uint64_t budget, unsigned int params, uint32_t references);

/* The references that the run's target can be set to: so many. */
uint32_t search_num_references(const struct tune_run *run);
uint64_t search_finals_cost(const struct tune_finals *finals);

/*
 * Sets single parameters of the best final back to their initial values. Those that make no
 * difference beyond the noise are set back together, and the setting that comes of it takes the
 * last place of the finals.
 */
int search_simplify(struct tune_search *search);

/* Measures the finals of a search beside the references, all metrics, in rounds. */
int search_finals(struct tune_search *search, const struct tune_finals *finals);

/* Two settings side by side, num times each, in random order within each pair. */
int search_compare(struct tune_search *search, const struct tune_setting settings[2], uint32_t num);

/* The whole: the method, then its finals. budget: all measurements together. */
int search_run(struct tune_search *search);

/* Fills cost, dominated_by and crowding of all (pareto.c). */
void pareto_rank(struct tune_cand *const *cands, uint32_t num, unsigned int costs);

/* The methods. They return as search_measure() does, SEARCH_OVER being the usual end. */
int method_random(struct tune_search *search);
int method_linear(struct tune_search *search);
int method_hill(struct tune_search *search);
int method_genetic(struct tune_search *search);
int method_halving(struct tune_search *search);
int method_grid(struct tune_search *search);

/* Size of the genetic algorithm's population, and its generations, for a budget. */
void genetic_size(uint64_t budget, uint32_t *population, uint32_t *generations);

/* Combinations that the grid has, UINT64_MAX: too many to count. */
uint64_t grid_size(const struct tune_plan *plan);

#endif /* WEFT_TUNE_SEARCH_H */
