/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear least squares with standard errors; see stat.h. Called by the linear method and the
 * analysis; calls stat_test.c for the distributions.
 *
 * Householder's QR of the matrix whose columns were brought to unit length, in long double:
 * NIST's ill-conditioned Longley data comes out with 12 certified digits.
 */
#include "tools/weft-tune/stat.h"

#include <math.h>
#include <stdlib.h>

/* A problem while it is solved. Column j of row i is a[j * rows + i]; column 0 is the constant. */
struct problem {
	size_t rows, all; /* all: coefficients with the constant */
	long double *a, *y;
	long double scale[STAT_MAX_COLUMNS + 1];
	long double diagonal[STAT_MAX_COLUMNS + 1]; /* of R; 0: determined by those before */
	long double inverse[(STAT_MAX_COLUMNS + 1) * (STAT_MAX_COLUMNS + 1)];
};

static long double *column(const struct problem *p, size_t j)
{
	return p->a + j * p->rows;
}

static int problem_init(struct problem *p, const double *x, const double *y, size_t rows,
			size_t columns)
{
	p->rows = rows;
	p->all = columns + 1;
	p->a = malloc(p->all * rows * sizeof(*p->a));
	p->y = malloc(rows * sizeof(*p->y));
	if (!p->a || !p->y)
		return -1;
	for (size_t j = 0; j < p->all; j++) {
		long double sum = 0;

		for (size_t i = 0; i < rows; i++) {
			column(p, j)[i] = j ? x[i * columns + j - 1] : 1;
			sum += column(p, j)[i] * column(p, j)[i];
		}
		p->scale[j] = sum > 0 ? sqrtl(sum) : 1;
		for (size_t i = 0; i < rows; i++)
			column(p, j)[i] /= p->scale[j];
	}
	for (size_t i = 0; i < rows; i++)
		p->y[i] = y[i];
	return 0;
}

/* v -= 2 h (h v) / (h h), with h in rows from first on. */
static void reflect(const long double *h, long double hh, long double *v, size_t first, size_t rows)
{
	long double dot = 0;

	for (size_t i = first; i < rows; i++)
		dot += h[i] * v[i];
	dot *= 2 / hh;
	for (size_t i = first; i < rows; i++)
		v[i] -= dot * h[i];
}

/*
 * Brings the matrix to R and y to Q'y, row r for the r-th column that counts; returns their
 * number. A column of which nothing is left below the rows before it is dropped.
 */
static size_t triangle(struct problem *p)
{
	size_t r = 0;

	for (size_t j = 0; j < p->all; j++) {
		long double *h = column(p, j), norm = 0, hh, top;

		for (size_t i = r; i < p->rows; i++)
			norm += h[i] * h[i];
		norm = sqrtl(norm);
		p->diagonal[j] = 0;
		if (norm < 1e-13L || r >= p->rows)
			continue;
		top = h[r] > 0 ? -norm : norm;
		hh = 2 * (norm * norm - h[r] * top);
		h[r] -= top;
		for (size_t k = j + 1; k < p->all; k++)
			reflect(h, hh, column(p, k), r, p->rows);
		reflect(h, hh, p->y, r, p->rows);
		p->diagonal[j] = top;
		r++;
	}
	return r;
}

/* Columns that count, in their order: kept[r] stands in row r of R. */
static void invert(struct problem *p, const size_t *kept, size_t rank)
{
	for (size_t c = 0; c < rank; c++)
		for (size_t r = rank; r-- > 0;) {
			long double sum = r == c ? 1 : 0;

			for (size_t k = r + 1; k <= c; k++)
				sum -= column(p, kept[k])[r] * p->inverse[k * rank + c];
			p->inverse[r * rank + c] = r > c ? 0 : sum / p->diagonal[kept[r]];
		}
}

static void judge(struct stat_fit *fit, const double *y, double squares)
{
	double mean = 0, total = 0, model = (double)fit->rows - 1 - fit->df;

	for (size_t i = 0; i < fit->rows; i++)
		mean += y[i] / (double)fit->rows;
	for (size_t i = 0; i < fit->rows; i++)
		total += (y[i] - mean) * (y[i] - mean);
	fit->r2 = total > 0 ? 1 - squares / total : NAN;
	fit->adjusted_r2 = 1 - (1 - fit->r2) * ((double)fit->rows - 1) / fit->df;
	fit->f = model > 0 ? (total - squares) / model / (squares / fit->df) : NAN;
	fit->f_p = stat_f_upper(fit->f, model, fit->df);
}

static void coefficients(const struct problem *p, const size_t *kept, size_t rank,
			 struct stat_fit *fit)
{
	for (size_t j = 0; j < p->all; j++)
		fit->b[j] = fit->error[j] = fit->t[j] = fit->p[j] = NAN;
	for (size_t r = 0; r < rank; r++) {
		long double value = 0, squares = 0;
		size_t j = kept[r];

		for (size_t c = r; c < rank; c++) {
			value += p->inverse[r * rank + c] * p->y[c];
			squares += p->inverse[r * rank + c] * p->inverse[r * rank + c];
		}
		fit->b[j] = (double)(value / p->scale[j]);
		fit->error[j] = fit->residual * (double)(sqrtl(squares) / p->scale[j]);
		fit->t[j] = fit->b[j] / fit->error[j];
		fit->p[j] = stat_t_two_sided(fit->t[j], fit->df);
	}
}

int stat_fit(const double *x, const double *y, size_t rows, size_t columns, struct stat_fit *fit)
{
	struct problem p = {0};
	size_t kept[STAT_MAX_COLUMNS + 1], rank = 0;
	long double squares = 0;
	int rc = -1;

	*fit = (struct stat_fit){.rows = rows, .columns = columns};
	if (columns > STAT_MAX_COLUMNS || rows <= columns + 1)
		return -1;
	if (!problem_init(&p, x, y, rows, columns)) {
		triangle(&p);
		for (size_t j = 0; j < p.all; j++)
			if (p.diagonal[j] != 0)
				kept[rank++] = j;
		invert(&p, kept, rank);
		for (size_t i = rank; i < rows; i++)
			squares += p.y[i] * p.y[i];
		fit->df = (double)(rows - rank);
		fit->residual = (double)sqrtl(squares / (long double)(rows - rank));
		coefficients(&p, kept, rank, fit);
		judge(fit, y, (double)squares);
		rc = 0;
	}
	free(p.a);
	free(p.y);
	return rc;
}
