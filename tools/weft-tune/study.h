/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is carried out for a plan: one search, or with --paper the whole study of espgoal 6.2.
 * Called by main.c and tests; calls search.c.
 */
#ifndef WEFT_TUNE_STUDY_H
#define WEFT_TUNE_STUDY_H

#include "tools/weft-tune/search.h"

enum {
	STUDY_MAX_STEPS = 16,
	STUDY_TENTH = 10, /* of the genetic algorithm's measurements: what halving gets */
};

struct study_step {
	enum tune_method method;
	enum tune_objective objective;
	uint64_t budget;
	uint32_t metrics; /* 0: the objective's */
	bool bare;        /* nothing is measured again in the end */
	bool compare;     /* both genetic optima side by side; budget: measurements of both */
};

/* The steps of a plan, and their number. */
size_t study_steps(const struct tune_plan *plan, struct study_step steps[STUDY_MAX_STEPS]);

/* Measurements in all. */
uint64_t study_expected(const struct tune_plan *plan);

/*
 * The budget where none is given: 250 settings as in the paper, or 50 generations of 50 for the
 * genetic algorithm (paper: of 500).
 */
uint64_t study_default_budget(const struct tune_plan *plan);

/* Carries it out. Returns 0 or what search_run() returned. */
int study_run(struct tune_run *run, const struct tune_plan *plan);

#endif /* WEFT_TUNE_STUDY_H */
