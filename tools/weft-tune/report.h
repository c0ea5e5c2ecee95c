/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of a run for people: report.md, report.html (self-contained) and the summary on the
 * terminal. Called by main.c; calls doc.c, pictures.c.
 */
#ifndef WEFT_TUNE_REPORT_H
#define WEFT_TUNE_REPORT_H

#include <stdio.h>

#include "tools/weft-tune/analyse.h"

/*
 * Writes pictures and both reports into dir. note: gets a line for the user when something is
 * missing that is no failure (gnuplot), else "". Returns 0, or a negative errno with a line in
 * error.
 */
int report_write(const struct tune_analysis *a, bool complete, const char *dir,
		 char note[TUNE_ERROR_CHARS], char *error);

/* The outcome in a few lines. */
void report_summary(const struct tune_analysis *a, const char *dir, FILE *out);

#endif /* WEFT_TUNE_REPORT_H */
