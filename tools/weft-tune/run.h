/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out measurements: applies settings to the target, measures, and puts every result into
 * the record, or takes it from there when a stopped run is taken up again. Called by the methods
 * (through search.c) and main.c; calls the target, the record and progress.c.
 */
#ifndef WEFT_TUNE_RUN_H
#define WEFT_TUNE_RUN_H

#include "tools/weft-tune/progress.h"
#include "tools/weft-tune/record.h"

struct tune_run {
	const struct tune_target_ops *ops;
	struct tune_target *target;
	struct tune_record *record;
	struct tune_progress *progress; /* NULL: none */
	const volatile bool *stop;
	uint64_t seed;
	bool is_applied; /* applied is what the target has now */
	struct tune_setting applied;
	char error[TUNE_ERROR_CHARS]; /* one line, after a negative return value */
};

/* The seed for measurements of a run that are to differ in their settings alone. Never 0. */
uint64_t tune_run_seed(const struct tune_run *run);

/*
 * Makes the measurement that entry describes (its result, its times and, where it is 0, its seed
 * are filled in). Returns 0,
 * -EINTR when *stop was set (error empty), -ESTALE when the record that is taken up again holds
 * another measurement at this place, or what the target or the record returned.
 */
int tune_run_measure(struct tune_run *run, struct tune_entry *entry);

#endif /* WEFT_TUNE_RUN_H */
