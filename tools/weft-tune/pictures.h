/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pictures of a report, by gnuplot: for each dir/pictures/NAME.tsv with its figures, NAME.gp
 * that draws it, NAME.svg and NAME.png. Called by report.c; calls picture_*.c.
 */
#ifndef WEFT_TUNE_PICTURES_H
#define WEFT_TUNE_PICTURES_H

#include <stdio.h>

#include "tools/weft-tune/analyse.h"

/* The paper's coefficients of 0 B latency and 1 MB bandwidth, the constant first; by parameter. */
extern const double paper_latency[TUNE_P + 1];
extern const double paper_bandwidth[TUNE_P + 1];
#define PAPER_LATENCY_R2   0.9109
#define PAPER_BANDWIDTH_R2 0.7019

enum picture {
	PICTURE_SCATTER,             /* figure 6.2: each parameter against latency and bandwidth */
	PICTURE_COEFFICIENTS,        /* the linear models */
	PICTURE_GENERATIONS_LATENCY, /* figure 6.4: box plots */
	PICTURE_GENERATIONS_BANDWIDTH, /* figure 6.5 */
	PICTURE_GENERATIONS_OTHER,
	PICTURE_OPTIMA,   /* figure 6.6: both optima side by side */
	PICTURE_FINALS,   /* the best beside each other the initial setting, references */
	PICTURE_PARETO,   /* latency, interrupts, bandwidth */
	PICTURE_PROGRESS, /* best so far by measurements */
	PICTURES
};

const char *picture_name(enum picture picture);

/* A picture while its files are written. */
struct pic {
	FILE *tsv, *gp;
	const char *name;
	unsigned int width, height; /* pixels of the SVG */
};

/*
 * Draws what the record has something for; drawn: by bit. note: a line when gnuplot is missing or
 * fails, "" otherwise. Returns 0, or a negative errno with a line in error.
 */
int pictures_draw(const struct tune_analysis *a, const char *dir, uint32_t *drawn,
		  char note[TUNE_ERROR_CHARS], char *error);

/* Each writes tsv and gp, and sets the size; false: there is nothing to show. */
bool picture_scatter(const struct tune_analysis *a, struct pic *pic);
bool picture_coefficients(const struct tune_analysis *a, struct pic *pic);
bool picture_generations(const struct tune_analysis *a, struct pic *pic, int objective);
bool picture_optima(const struct tune_analysis *a, struct pic *pic);
bool picture_finals(const struct tune_analysis *a, struct pic *pic);
bool picture_pareto(const struct tune_analysis *a, struct pic *pic);
bool picture_progress(const struct tune_analysis *a, struct pic *pic);

/* "latency, us", "bandwidth, MB/s" and so on, for an axis. */
const char *picture_axis(unsigned int metric);

/* The search that the random panels are of: random, else linear; NULL: none. */
const struct tune_verdict *picture_sample(const struct tune_analysis *a);

/* A range that holds all of low to high with some room, for gnuplot: "[a:b]". */
void picture_range(double low, double high, char text[64]);

#endif /* WEFT_TUNE_PICTURES_H */
