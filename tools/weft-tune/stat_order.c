/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order statistics; see stat.h. Called by all that judge samples; calls libc and libm.
 */
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy for the caller to free; ends the program when there is no memory. */
static double *sorted(const double *values, size_t num)
{
	double *copy = malloc((num ? num : 1) * sizeof(*copy));

	if (!copy)
		abort();
	if (num)
		memcpy(copy, values, num * sizeof(*copy));
	qsort(copy, num, sizeof(*copy), by_value);
	return copy;
}

static double quantile_of_sorted(const double *s, size_t num, double q)
{
	double at = q * (double)(num - 1);
	size_t i = (size_t)at;

	if (i + 1 >= num)
		return s[num - 1];
	return s[i] + (at - (double)i) * (s[i + 1] - s[i]);
}

double stat_quantile(const double *values, size_t num, double q)
{
	double *s, result;

	if (!num)
		return NAN;
	s = sorted(values, num);
	result = quantile_of_sorted(s, num, q);
	free(s);
	return result;
}

double stat_median(const double *values, size_t num)
{
	return stat_quantile(values, num, 0.5);
}

struct weighted {
	double value, weight;
};

static int by_weighted_value(const void *a, const void *b)
{
	return by_value(&((const struct weighted *)a)->value, &((const struct weighted *)b)->value);
}

double stat_weighted_median(const double *values, const double *weights, size_t num)
{
	struct weighted *w;
	double all = 0, below = 0, result = NAN;

	if (!num)
		return NAN;
	w = malloc(num * sizeof(*w));
	if (!w)
		abort();
	for (size_t i = 0; i < num; i++) {
		w[i] = (struct weighted){values[i], weights[i]};
		all += weights[i];
	}
	qsort(w, num, sizeof(*w), by_weighted_value);
	for (size_t i = 0; i < num; i++) {
		below += w[i].weight;
		result = w[i].value;
		if (below * 2 > all * (1 + 1e-12))
			break;
		/* Exactly half: between this one and the next, as the plain median is. */
		if (below * 2 >= all * (1 - 1e-12) && i + 1 < num) {
			result = (w[i].value + w[i + 1].value) / 2;
			break;
		}
	}
	free(w);
	return result;
}

double stat_mad(const double *values, size_t num)
{
	double median = stat_median(values, num), result;
	double *away;

	if (!num)
		return NAN;
	away = malloc(num * sizeof(*away));
	if (!away)
		abort();
	for (size_t i = 0; i < num; i++)
		away[i] = fabs(values[i] - median);
	result = 1.4826 * stat_median(away, num);
	free(away);
	return result;
}

void stat_box(const double *values, size_t num, struct stat_box *box)
{
	double *s, reach, sum = 0;

	*box = (struct stat_box){num, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	if (!num)
		return;
	s = sorted(values, num);
	box->quarter = quantile_of_sorted(s, num, 0.25);
	box->median = quantile_of_sorted(s, num, 0.5);
	box->three_quarters = quantile_of_sorted(s, num, 0.75);
	reach = 1.5 * (box->three_quarters - box->quarter);
	for (size_t i = 0; i < num; i++)
		sum += s[i];
	for (size_t i = 0; i < num; i++)
		if (s[i] >= box->quarter - reach) {
			box->low = s[i];
			break;
		}
	for (size_t i = num; i-- > 0;)
		if (s[i] <= box->three_quarters + reach) {
			box->high = s[i];
			break;
		}
	box->mean = sum / (double)num;
	box->least = s[0];
	box->most = s[num - 1];
	free(s);
}

/* P(X <= k) of num fair coins. */
static double coins_at_most(size_t num, size_t k)
{
	double sum = 0;

	for (size_t i = 0; i <= k; i++)
		sum += exp(lgamma((double)num + 1) - lgamma((double)i + 1) -
			   lgamma((double)(num - i) + 1) - (double)num * M_LN2);
	return sum;
}

void stat_median_interval(const double *values, size_t num, double level, double *low, double *high)
{
	size_t k = 0;
	double *s;

	*low = *high = NAN;
	if (!num)
		return;
	/* Between the k-th from below and from above, k as large as the level allows. */
	while ((k + 1) * 2 < num && coins_at_most(num, k + 1) <= (1 - level) / 2)
		k++;
	s = sorted(values, num);
	*low = s[k];
	*high = s[num - 1 - k];
	free(s);
}
