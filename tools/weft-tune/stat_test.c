/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether two samples differ, and the distributions that say how surely; see stat.h. Called by
 * the comparison of optima and by stat_fit.c; calls libm.
 */
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>

enum {
	EXACT_PAIRS = 400, /* up to here the exact distribution of U is worth its sums */
	BETA_STEPS = 10000,
};

struct ranked {
	double value;
	bool first;
};

static int by_value(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;

	return (x > y) - (x < y);
}

/* Sum of the ranks of the first sample, ties sharing theirs; *ties: sum of t^3 - t. */
static double rank_sum(struct ranked *all, size_t num, double *ties)
{
	double sum = 0;
	size_t end;

	*ties = 0;
	qsort(all, num, sizeof(*all), by_value);
	for (size_t i = 0; i < num; i = end) {
		double t;

		for (end = i + 1; end < num && all[end].value == all[i].value; end++)
			;
		t = (double)(end - i);
		*ties += t * t * t - t;
		for (size_t j = i; j < end; j++)
			if (all[j].first)
				sum += (double)(i + end + 1) / 2;
	}
	return sum;
}

/*
 * P(U <= u) of samples of a and b values: coefficients of the Gaussian binomial, which is the
 * product of (1 - q^(b+i)) / (1 - q^i).
 */
static double u_at_most(size_t a, size_t b, double u)
{
	size_t top = a * b;
	double *c = calloc(top + 1, sizeof(*c));
	double sum = 0, all = 0;

	if (!c)
		abort();
	c[0] = 1;
	for (size_t i = 1; i <= a; i++) {
		for (size_t j = top + 1; j-- > b + i;)
			c[j] -= c[j - b - i];
		for (size_t j = i; j <= top; j++)
			c[j] += c[j - i];
	}
	for (size_t j = 0; j <= top; j++) {
		all += c[j];
		if ((double)j <= u)
			sum += c[j];
	}
	free(c);
	return sum / all;
}

static double u_p(double u, size_t num_a, size_t num_b, double ties, bool exact)
{
	double a = (double)num_a, b = (double)num_b, n = a + b;
	double least = fmin(u, a * b - u), p, spread, z;

	if (exact) {
		p = 2 * u_at_most(num_a, num_b, least);
	} else {
		spread = sqrt(a * b / 12 * (n + 1 - ties / (n * (n - 1))));
		if (!(spread > 0))
			return 1;
		z = (a * b / 2 - least - 0.5) / spread;
		p = erfc(fmax(z, 0) / M_SQRT2);
	}
	return fmin(p, 1);
}

void stat_mann_whitney(const double *a, size_t num_a, const double *b, size_t num_b,
		       struct stat_differ *differ)
{
	struct ranked *all;
	double *away, ties;

	*differ = (struct stat_differ){NAN, NAN, false, NAN, NAN};
	if (!num_a || !num_b)
		return;
	all = malloc((num_a + num_b) * sizeof(*all));
	away = malloc(num_a * num_b * sizeof(*away));
	if (!all || !away)
		abort();
	for (size_t i = 0; i < num_a; i++) {
		all[i] = (struct ranked){a[i], true};
		for (size_t j = 0; j < num_b; j++)
			away[i * num_b + j] = a[i] - b[j];
	}
	for (size_t j = 0; j < num_b; j++)
		all[num_a + j] = (struct ranked){b[j], false};
	differ->u = rank_sum(all, num_a + num_b, &ties) - (double)num_a * (double)(num_a + 1) / 2;
	differ->exact = ties == 0 && num_a * num_b <= EXACT_PAIRS;
	differ->p = u_p(differ->u, num_a, num_b, ties, differ->exact);
	differ->shift = stat_median(away, num_a * num_b);
	differ->share = differ->u / ((double)num_a * (double)num_b);
	free(all);
	free(away);
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= BETA_STEPS; m++) {
		double num, delta;

		num = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 + num * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + num / c;
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		num = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + num * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + num / c;
		c = fabs(c) < tiny ? tiny : c;
		delta = d * c;
		h *= delta;
		if (fabs(delta - 1) < 1e-16)
			break;
	}
	return h;
}

double stat_beta(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return x == 0 ? 0 : NAN;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* The fraction converges fast below the mean; above it the other tail does. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stat_t_two_sided(double t, double df)
{
	return isnan(t) ? NAN : isinf(t) ? 0 : stat_beta(df / 2, 0.5, df / (df + t * t));
}

double stat_f_upper(double f, double df1, double df2)
{
	return isnan(f) ? NAN : isinf(f) ? 0 : stat_beta(df2 / 2, df1 / 2, df2 / (df2 + df1 * f));
}
