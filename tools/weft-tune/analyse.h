/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a record says: the best setting of each search and how sure that is, linear models, two
 * optima side by side, the Pareto front. A function of the plan and the entries alone, so that
 * `weft-tune report` makes the same of them at any time, of an unfinished run too.
 *
 * Called by main.c; used by result.c, report.c and the pictures; calls the statistics.
 */
#ifndef WEFT_TUNE_ANALYSE_H
#define WEFT_TUNE_ANALYSE_H

#include "tools/weft-tune/record.h"
#include "tools/weft-tune/stat.h"

enum {
	TUNE_MAX_VERDICTS = TUNE_METHODS * TUNE_OBJECTIVES,
};

/* What was measured of one metric with one setting. */
struct tune_figure {
	size_t num; /* 0: nothing, the others NAN */
	double median, mad;
	double low, high; /* of 95 % for the median, or the whole sample where that is too small */
};

/* A setting with all that was measured with it in one phase of a search. */
struct tune_choice {
	struct tune_setting setting;
	struct tune_figure figure[TUNE_NUM_METRICS];
	bool initial; /* it is the setting that the target had when the run began */
	enum tune_phase phase;
};

/* How two samples of a metric differ; p NAN: nothing to compare. */
struct tune_versus {
	struct stat_differ differ;
	double share;  /* shift by the second's median */
	bool distinct; /* p below TUNE_ALPHA */
};
#define TUNE_ALPHA 0.001 /* the paper's level */

/* One search. */
struct tune_verdict {
	enum tune_method method;
	enum tune_objective objective;
	size_t searched, finals; /* measurements */
	double effort;           /* of the search, in full measurements */
	double took_s;
	double worst; /* of the objective's metric, in the search at full effort */
	/* Measured in the end, the best first; of the search itself where there was no end. */
	struct tune_choice *choices;
	size_t num_choices;
	/*
	 * The one to take: of those that cannot be told from the first, which are alike, the one
	 * that changes the fewest parameters of the initial setting.
	 */
	size_t chosen, alike;
	/* The first that the search came upon itself: the initial one is measured beside it anyway.
	 */
	size_t own;
	bool verified; /* choices are from the end */
	/* The best one beside the initial one; p NAN: it was not measured, or is the best. */
	struct tune_versus versus_initial;
	/* The reference settings that the end measured, in the order of their phases. */
	struct tune_choice references[TUNE_REFERENCES];
	size_t num_references;
	/* TUNE_PARETO: settings that none is better than by more than the noise, by latency; the
	 * knee among them. */
	struct tune_choice *front;
	size_t num_front, knee;
	/* TUNE_HILL: climbs begun, places looked around, and those without any visible slope. */
	size_t climbs, places, flat;
};

/* Least squares over the random settings; params: of its columns. */
struct tune_model {
	unsigned int metric;
	unsigned int param[TUNE_P];
	struct stat_fit fit;
};

struct tune_analysis {
	const struct tune_plan *plan;
	const struct tune_entry *entries;
	size_t num;
	struct tune_verdict verdicts[TUNE_MAX_VERDICTS];
	size_t num_verdicts;
	struct tune_model models[TUNE_NUM_METRICS];
	size_t num_models;
	/* Both optima side by side; compared: there are such measurements. */
	bool compared;
	struct tune_choice optima[2]; /* of latency, of bandwidth */
	struct tune_versus versus[TUNE_NUM_METRICS];
};

/* Aborts when there is no memory. entries must outlive the analysis. */
void tune_analyse(struct tune_analysis *a, const struct tune_plan *plan,
		  const struct tune_entry *entries, size_t num);
void tune_analysis_free(struct tune_analysis *a);

/* The best setting for an objective, of all searches for it; NULL: none. *verdict: which (may be
 * NULL). */
const struct tune_choice *tune_best(const struct tune_analysis *a, enum tune_objective objective,
				    const struct tune_verdict **verdict);

/* A search's best: the chosen one, of TUNE_PARETO the knee; NULL: nothing was measured. */
const struct tune_choice *tune_verdict_best(const struct tune_verdict *o);

/* ---- parts (analyse_group.c) ---- */

/* The values of a metric among entries for which want() is true; to be freed. */
struct tune_filter {
	enum tune_method method;
	enum tune_objective objective;
	enum tune_phase phase;
	int64_t step;      /* -1: any */
	int64_t candidate; /* -1: any */
	double effort;     /* at least */
};
bool tune_wanted(const struct tune_filter *filter, const struct tune_entry *entry);
double *tune_values(const struct tune_analysis *a, const struct tune_filter *filter,
		    unsigned int metric, size_t *num);

/* A choice for each candidate among the entries that are wanted; to be freed. */
struct tune_choice *tune_choices(const struct tune_analysis *a, const struct tune_filter *filter,
				 size_t *num);

/* Hill climbing's places, told apart by the noise that the climb itself allowed for. */
void tune_count_flat(const struct tune_analysis *a, struct tune_verdict *o);

#endif /* WEFT_TUNE_ANALYSE_H */
