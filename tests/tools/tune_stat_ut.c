/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/weft-tune/stat_*.c: least squares against NIST's certified values (Statistical Reference
 * Datasets: Longley, Norris, Wampler1), distributions against closed forms, tests and intervals
 * against textbooks.
 */
#include "tools/weft-tune/stat.h"

#include "tests/ut.h"

#include <math.h>
#include <stdlib.h>

/* Digits that agree, at most 15. */
static double digits(double value, double certified)
{
	if (value == certified)
		return 15;
	return fmin(15, -log10(fabs(value - certified) / fabs(certified)));
}

static void longley(void)
{
	static const double data[16][7] = {
	    {60323, 83.0, 234289, 2356, 1590, 107608, 1947},
	    {61122, 88.5, 259426, 2325, 1456, 108632, 1948},
	    {60171, 88.2, 258054, 3682, 1616, 109773, 1949},
	    {61187, 89.5, 284599, 3351, 1650, 110929, 1950},
	    {63221, 96.2, 328975, 2099, 3099, 112075, 1951},
	    {63639, 98.1, 346999, 1932, 3594, 113270, 1952},
	    {64989, 99.0, 365385, 1870, 3547, 115094, 1953},
	    {63761, 100.0, 363112, 3578, 3350, 116219, 1954},
	    {66019, 101.2, 397469, 2904, 3048, 117388, 1955},
	    {67857, 104.6, 419180, 2822, 2857, 118734, 1956},
	    {68169, 108.4, 442769, 2936, 2798, 120445, 1957},
	    {66513, 110.8, 444546, 4681, 2637, 121950, 1958},
	    {68655, 112.6, 482704, 3813, 2552, 123366, 1959},
	    {69564, 114.2, 502601, 3931, 2514, 125368, 1960},
	    {69331, 115.7, 518173, 4806, 2572, 127852, 1961},
	    {70551, 116.9, 554894, 4007, 2827, 130081, 1962},
	};
	static const double b[7] = {-3482258.63459582, 15.0618722713733,  -0.0358191792925910,
				    -2.02022980381683, -1.03322686717359, -0.0511041056535807,
				    1829.15146461355};
	static const double error[7] = {890420.383607373,  84.9149257747669,  0.0334910077722432,
					0.488399681651699, 0.214274163161675, 0.226073200069370,
					455.478499142212};
	double x[16 * 6], y[16];
	struct stat_fit fit;

	for (int i = 0; i < 16; i++) {
		y[i] = data[i][0];
		memcpy(&x[i * 6], &data[i][1], 6 * sizeof(double));
	}
	CU_ASSERT_EQUAL_FATAL(stat_fit(x, y, 16, 6, &fit), 0);
	for (int i = 0; i < 7; i++) {
		CU_ASSERT(digits(fit.b[i], b[i]) > 11);
		CU_ASSERT(digits(fit.error[i], error[i]) > 11);
	}
	CU_ASSERT_EQUAL(fit.df, 9);
	CU_ASSERT(digits(fit.residual, 304.854073561965) > 11);
	CU_ASSERT(digits(fit.r2, 0.995479004577296) > 11);
	CU_ASSERT(digits(fit.f, 330.285339234588) > 11);
	/* 1 - (1 - R^2) * 15 / 9 */
	CU_ASSERT(digits(fit.adjusted_r2, 0.992465007628827) > 11);
	/* What R's summary(lm()) prints for the year: t 4.016, p 0.003037. */
	CU_ASSERT_DOUBLE_EQUAL(fit.t[6], 4.016, 0.0005);
	CU_ASSERT_DOUBLE_EQUAL(fit.p[6], 0.003037, 0.0000005);
	CU_ASSERT_DOUBLE_EQUAL(fit.f_p / 4.984e-10, 1, 0.001);
}

static void norris(void)
{
	static const double data[36][2] = {
	    {0.1, 0.2},     {338.8, 337.4}, {118.1, 118.2}, {888.0, 884.6}, {9.2, 10.1},
	    {228.1, 226.5}, {668.5, 666.3}, {998.5, 996.3}, {449.1, 448.6}, {778.9, 777.0},
	    {559.2, 558.2}, {0.3, 0.4},     {0.1, 0.6},     {778.1, 775.5}, {668.8, 666.9},
	    {339.3, 338.0}, {448.9, 447.5}, {10.8, 11.6},   {557.7, 556.0}, {228.3, 228.1},
	    {998.0, 995.8}, {888.8, 887.6}, {119.6, 120.2}, {0.3, 0.3},     {0.6, 0.3},
	    {557.6, 556.8}, {339.3, 339.1}, {888.0, 887.2}, {998.5, 999.0}, {778.9, 779.0},
	    {10.2, 11.1},   {117.6, 118.3}, {228.9, 229.2}, {668.4, 669.1}, {449.2, 448.9},
	    {0.2, 0.5},
	};
	double x[36], y[36];
	struct stat_fit fit;

	for (int i = 0; i < 36; i++) {
		y[i] = data[i][0];
		x[i] = data[i][1];
	}
	CU_ASSERT_EQUAL_FATAL(stat_fit(x, y, 36, 1, &fit), 0);
	CU_ASSERT(digits(fit.b[0], -0.262323073774029) > 11);
	CU_ASSERT(digits(fit.b[1], 1.00211681802045) > 13);
	CU_ASSERT(digits(fit.error[0], 0.232818234301152) > 12);
	CU_ASSERT(digits(fit.error[1], 0.429796848199937e-03) > 12);
	CU_ASSERT(digits(fit.residual, 0.884796396144373) > 12);
	CU_ASSERT(digits(fit.r2, 0.999993745883712) > 13);
}

/* y = 1 + x + ... + x^5 for x = 0 to 20: all coefficients are 1, no residual. */
static void wampler(void)
{
	double x[21 * 5], y[21];
	struct stat_fit fit;

	for (int i = 0; i < 21; i++) {
		y[i] = 1;
		for (int k = 0; k < 5; k++) {
			x[i * 5 + k] = pow(i, k + 1);
			y[i] += x[i * 5 + k];
		}
	}
	CU_ASSERT_EQUAL_FATAL(stat_fit(x, y, 21, 5, &fit), 0);
	for (int k = 0; k <= 5; k++)
		CU_ASSERT_DOUBLE_EQUAL(fit.b[k], 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(fit.r2, 1, 1e-15);
}

/* A column that others determine, or that never varies, has no coefficient; the rest is right. */
static void dependent_columns(void)
{
	double x[20 * 3], y[20];
	struct stat_fit fit;

	for (int i = 0; i < 20; i++) {
		x[i * 3] = i;
		x[i * 3 + 1] = 7;
		x[i * 3 + 2] = 2 * i + 1;
		y[i] = 3 + 2 * i + (i % 2 ? 0.25 : -0.25);
	}
	CU_ASSERT_EQUAL_FATAL(stat_fit(x, y, 20, 3, &fit), 0);
	CU_ASSERT_DOUBLE_EQUAL(fit.b[1], 2, 0.02);
	CU_ASSERT(isnan(fit.b[2]));
	CU_ASSERT(isnan(fit.p[2]));
	CU_ASSERT(isnan(fit.b[3]));
	CU_ASSERT_EQUAL(fit.df, 18);
	CU_ASSERT(fit.p[1] < 1e-9);
	CU_ASSERT_EQUAL(stat_fit(x, y, 4, 3, &fit), -1);
	CU_ASSERT_EQUAL(stat_fit(x, y, 20, STAT_MAX_COLUMNS + 1, &fit), -1);
}

/* With 1 and 2 degrees of freedom, and for normal ones, Student's distribution is elementary. */
static void distributions(void)
{
	for (double t = 0; t < 1000; t = t * 1.7 + 0.01) {
		CU_ASSERT_DOUBLE_EQUAL(stat_t_two_sided(t, 1), 1 - 2 / M_PI * atan(t), 1e-13);
		CU_ASSERT_DOUBLE_EQUAL(stat_t_two_sided(-t, 2), 1 - t / sqrt(2 + t * t), 1e-13);
		CU_ASSERT_DOUBLE_EQUAL(stat_f_upper(t * t, 1, 17), stat_t_two_sided(t, 17), 1e-13);
	}
	CU_ASSERT_DOUBLE_EQUAL(stat_t_two_sided(2.0859634472658, 20), 0.05, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(stat_t_two_sided(3.2906, 1e7), erfc(3.2906 / M_SQRT2), 1e-8);
	CU_ASSERT_EQUAL(stat_t_two_sided(INFINITY, 5), 0);
	CU_ASSERT(isnan(stat_t_two_sided(NAN, 5)));
	/* I_x(a, 1) = x^a, and symmetry. */
	CU_ASSERT_DOUBLE_EQUAL(stat_beta(3.5, 1, 0.3), pow(0.3, 3.5), 1e-14);
	CU_ASSERT_DOUBLE_EQUAL(stat_beta(2, 5, 0.9) + stat_beta(5, 2, 0.1), 1, 1e-14);
	CU_ASSERT_EQUAL(stat_beta(2, 3, 0), 0);
	CU_ASSERT_EQUAL(stat_beta(2, 3, 1), 1);
}

static void quantiles(void)
{
	static const double v[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2};
	static const double one[] = {7}, weights[] = {1, 1, 8, 1, 1}, halves[] = {1, 1, 1, 1};

	CU_ASSERT_EQUAL(stat_median(v, 5), 3);
	CU_ASSERT_EQUAL(stat_median(even, 4), 2.5);
	CU_ASSERT_EQUAL(stat_quantile(v, 5, 0.25), 2);
	CU_ASSERT_EQUAL(stat_quantile(v, 5, 0), 1);
	CU_ASSERT_EQUAL(stat_quantile(v, 5, 1), 5);
	CU_ASSERT_DOUBLE_EQUAL(stat_quantile(even, 4, 0.9), 3.7, 1e-12);
	CU_ASSERT_EQUAL(stat_median(one, 1), 7);
	CU_ASSERT(isnan(stat_median(v, 0)));
	CU_ASSERT_EQUAL(stat_weighted_median(v, weights, 5), 4);
	CU_ASSERT_EQUAL(stat_weighted_median(even, halves, 4), 2.5);
	CU_ASSERT_EQUAL(stat_weighted_median(one, weights, 1), 7);
	CU_ASSERT(isnan(stat_weighted_median(v, weights, 0)));
}

/* One value far out moves neither median nor spread. */
static void outliers(void)
{
	double v[101];
	struct stat_box box;

	for (int i = 0; i < 101; i++)
		v[i] = i;
	CU_ASSERT_DOUBLE_EQUAL(stat_mad(v, 101), 1.4826 * 25, 1e-9);
	v[100] = 1e9;
	CU_ASSERT_EQUAL(stat_median(v, 101), 50);
	CU_ASSERT_DOUBLE_EQUAL(stat_mad(v, 101), 1.4826 * 25, 1e-9);
	stat_box(v, 101, &box);
	CU_ASSERT_EQUAL(box.quarter, 25);
	CU_ASSERT_EQUAL(box.three_quarters, 75);
	CU_ASSERT_EQUAL(box.low, 0);
	CU_ASSERT_EQUAL(box.high, 99);
	CU_ASSERT_EQUAL(box.most, 1e9);
	stat_box(v, 0, &box);
	CU_ASSERT(isnan(box.median));
}

/* n = 10: from the 2nd to the 9th has 97.9 %; n = 5: the whole sample has but 93.8 %. */
static void intervals(void)
{
	double v[10], low, high;

	for (int i = 0; i < 10; i++)
		v[i] = i + 1;
	stat_median_interval(v, 10, 0.95, &low, &high);
	CU_ASSERT_EQUAL(low, 2);
	CU_ASSERT_EQUAL(high, 9);
	stat_median_interval(v, 10, 0.99, &low, &high);
	CU_ASSERT_EQUAL(low, 1);
	CU_ASSERT_EQUAL(high, 10);
	stat_median_interval(v, 5, 0.95, &low, &high);
	CU_ASSERT_EQUAL(low, 1);
	CU_ASSERT_EQUAL(high, 5);
	stat_median_interval(v, 1, 0.95, &low, &high);
	CU_ASSERT_EQUAL(low, 1);
	CU_ASSERT_EQUAL(high, 1);
}

/* Hollander and Wolfe's permeability constants: W = 35, one-sided p = 0.1272. */
static void mann_whitney(void)
{
	static const double a[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
	static const double b[] = {1.15, 0.88, 0.90, 0.74, 1.21};
	static const double same[] = {1, 1, 1, 1};
	struct stat_differ d, back;
	double many[200], more[200];

	stat_mann_whitney(a, 10, b, 5, &d);
	CU_ASSERT(d.exact);
	CU_ASSERT_EQUAL(d.u, 35);
	CU_ASSERT_DOUBLE_EQUAL(d.p, 2 * 0.1272061272, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(d.shift, 0.305, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(d.share, 0.7, 1e-12);
	stat_mann_whitney(b, 5, a, 10, &back);
	CU_ASSERT_EQUAL(back.u, 15);
	CU_ASSERT_DOUBLE_EQUAL(back.p, d.p, 1e-12);
	stat_mann_whitney(same, 4, same, 4, &d);
	CU_ASSERT_EQUAL(d.p, 1);
	CU_ASSERT_EQUAL(d.share, 0.5);
	for (int i = 0; i < 200; i++) {
		many[i] = i * 37 % 200;
		more[i] = many[i] + 0.5;
	}
	stat_mann_whitney(many, 200, more, 200, &d);
	CU_ASSERT(!d.exact);
	CU_ASSERT(d.p > 0.9);
	for (int i = 0; i < 200; i++)
		more[i] += 40;
	stat_mann_whitney(many, 200, more, 200, &d);
	CU_ASSERT(d.p < 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(d.shift, -40.5, 0.6);
	stat_mann_whitney(many, 0, more, 200, &d);
	CU_ASSERT(isnan(d.p));
}

UT_MAIN("tools/tune_stat", UT(longley), UT(norris), UT(wampler), UT(dependent_columns),
	UT(distributions), UT(quantiles), UT(outliers), UT(intervals), UT(mann_whitney))
