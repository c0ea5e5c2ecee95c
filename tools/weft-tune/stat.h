/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistics of weft-tune: order statistics that outliers do not move, a test for whether
 * two samples differ, and linear least squares with its errors. Called by the methods, the
 * analysis and the report; calls libm. espgoal 6.2.
 *
 * All functions are pure: they keep nothing and change none of their inputs.
 */
#ifndef WEFT_TUNE_STAT_H
#define WEFT_TUNE_STAT_H

#include <stdbool.h>
#include <stddef.h>

/* ---- order statistics (stat_order.c) ---- */

/* Quantile q (0 to 1) of num values, linear between neighbours (Hyndman and Fan's type 7). NAN:
 * none. */
double stat_quantile(const double *values, size_t num, double q);

double stat_median(const double *values, size_t num);

/* Median of value with the weights, all above 0: the least one with half of the weight below. */
double stat_weighted_median(const double *values, const double *weights, size_t num);

/* 1.4826 times the median distance from the median: the deviation of a normal sample. */
double stat_mad(const double *values, size_t num);

/* What a box plot shows, by Tukey: whiskers end at the last value within 1.5 boxes. */
struct stat_box {
	size_t num;
	double low, quarter, median, three_quarters, high;
	double mean, least, most;
};
void stat_box(const double *values, size_t num, struct stat_box *box);

/* A confidence interval for the median from order statistics (binomial), of at least level
 * where the sample is large enough; else from the least to the most. */
void stat_median_interval(const double *values, size_t num, double level, double *low,
			  double *high);

/* ---- two samples (stat_test.c) ---- */

/* Mann and Whitney's test of whether one of two samples tends to larger values. */
struct stat_differ {
	double u;     /* of the first sample: pairs in which it is the larger one */
	double p;     /* two-sided */
	bool exact;   /* from the exact distribution: no ties, few values */
	double shift; /* Hodges and Lehmann: median of all differences, first less second */
	double share; /* of pairs in which the first is larger; ties count half */
};
void stat_mann_whitney(const double *a, size_t num_a, const double *b, size_t num_b,
		       struct stat_differ *differ);

/* ---- distributions (stat_test.c) ---- */

/* The regularised incomplete beta function I_x(a, b). */
double stat_beta(double a, double b, double x);

/* P(|T| >= |t|) of Student's distribution; P(F' >= f) of Fisher's. */
double stat_t_two_sided(double t, double df);
double stat_f_upper(double f, double df1, double df2);

/* ---- least squares (stat_fit.c) ---- */

enum {
	STAT_MAX_COLUMNS = 16, /* without the constant */
};

/* Y = b[0] + sum of b[i] * X[i] + error. A column that the others determine has NAN. */
struct stat_fit {
	size_t rows, columns; /* columns: without the constant */
	double b[STAT_MAX_COLUMNS + 1];
	double error[STAT_MAX_COLUMNS + 1]; /* standard errors */
	double t[STAT_MAX_COLUMNS + 1];
	double p[STAT_MAX_COLUMNS + 1]; /* two-sided, of b being 0 */
	double df;                      /* of the residuals */
	double residual;                /* their standard deviation */
	double r2, adjusted_r2;
	double f, f_p; /* of the whole model */
};

/*
 * Fits by Householder's QR with scaled columns. x: rows after one another, columns each.
 * Returns 0, or -1 when there are not more rows than coefficients or memory is out.
 */
int stat_fit(const double *x, const double *y, size_t rows, size_t columns, struct stat_fit *fit);

#endif /* WEFT_TUNE_STAT_H */
