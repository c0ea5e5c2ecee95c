/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line on the terminal that says how far a run is, and how long it will take still. Called by
 * run.c and main.c. Nothing is shown where standard error is no terminal.
 */
#ifndef WEFT_TUNE_PROGRESS_H
#define WEFT_TUNE_PROGRESS_H

#include <stdio.h>

#include "tools/weft-tune/record.h"

struct tune_progress {
	FILE *out;         /* NULL: show nothing */
	uint64_t expected; /* measurements in all, at most */
	uint64_t first;    /* those that the record held already */
	unsigned int columns;
	double begin_s, shown_s;
	unsigned int chars; /* of the line that stands there */
	/* of the search that runs */
	enum tune_method method;
	enum tune_objective objective;
	enum tune_phase phase;
	double best; /* NAN: none yet */
};

/* out: the terminal, or NULL. */
void tune_progress_init(struct tune_progress *progress, FILE *out, uint64_t expected,
			uint64_t first);

/* A measurement was made, the num-th of all. Draws at most ten times a second. */
void tune_progress_step(struct tune_progress *progress, uint64_t num,
			const struct tune_entry *entry);

/* Takes the line away. */
void tune_progress_end(struct tune_progress *progress);

/* The line's text, without colours and end of line; for tests. */
void tune_progress_text(const struct tune_progress *progress, uint64_t num, double elapsed_s,
			char *text, size_t chars);

#endif /* WEFT_TUNE_PROGRESS_H */
