/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target of weft-tune that is a formula with noise, for its unit tests: optima are known, and
 * it can be told to fail or to stop the run. Called by tests/tools/tune_*_ut.c.
 */
#ifndef WEFT_TESTS_TUNE_FIX_H
#define WEFT_TESTS_TUNE_FIX_H

#include "tools/weft-tune/search.h"

struct tune_fix {
	double noise;        /* standard deviation of a full measurement, as a share of the value */
	bool flat;           /* everything measures the same, but for noise */
	uint32_t modes;      /* that it takes; 0: all */
	uint64_t fail_after; /* measurements until -EPIPE; 0: never */
	uint64_t stop_after; /* until *stop is set; 0: never */
	uint64_t measured, applied, restored;
	struct tune_setting now;
	volatile bool stop;
};
extern struct tune_fix fix;

/* The least latency there is: any rx limit that is met by the first frame. */
#define FIX_BEST_LATENCY   20.0
#define FIX_BEST_BANDWIDTH 120.0

extern const struct tune_target_ops tune_target_fix;

/* Without noise: what the target would measure. */
double fix_latency(const struct tune_setting *setting);
double fix_bandwidth(const struct tune_setting *setting);

/* A plan over all parameters, seed 1, and the target new. */
void fix_plan(struct tune_plan *plan, enum tune_method method, enum tune_objective objective,
	      uint64_t budget);

/* A run of the plan with record; record is in memory unless it was made otherwise. */
void fix_run(struct tune_run *run, const struct tune_plan *plan, struct tune_record *record);

/* A folder below the test's own, which is made; ended by fix_remove(). */
void fix_folder(char path[TUNE_PATH_CHARS]);
void fix_remove(const char *path);

#endif /* WEFT_TESTS_TUNE_FIX_H */
