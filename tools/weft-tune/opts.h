/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune's command line. Called by main.c and tests.
 */
#ifndef WEFT_TUNE_OPTS_H
#define WEFT_TUNE_OPTS_H

#include "tools/weft-tune/record.h"

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

enum tune_command {
	TUNE_RUN,
	TUNE_RESUME,
	TUNE_APPLY,
	TUNE_REPORT,
};

struct tune_opts {
	enum tune_command command;
	/* method, objective, paper, budget (0: the default), seed, repeats, samples, grid,
	 * start, target, name, and space.params (0: all that the target has) */
	struct tune_plan plan;
	char out[TUNE_PATH_CHARS]; /* folder of a new run */
	const char *path;          /* of TUNE_RESUME, TUNE_APPLY, TUNE_REPORT */
	int objective;             /* as it was given; -1: not */
	bool json, quiet, dry_run;
};

/* -1: go on; else the exit code, with one line on standard error for EXIT_USAGE. */
int opts_parse(struct tune_opts *o, int argc, char **argv);

/* The command line that makes the plan's run again, without --out. */
void opts_command(const struct tune_plan *plan, char *text, size_t chars);

#endif /* WEFT_TUNE_OPTS_H */
