/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conjugate gradients with NPB CG's communication: ranks in rows and columns; a product's parts are
 * added along a row of ranks by exchanges of halving distance, and the result goes to the partner
 * across the diagonal; dot products are exchanges of one number.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/mpi/kern.h"

enum {
	N = 8192,
	INNER = 5, /* iterations of a step */
	OFFSETS = 4,
};
static const int offsets[OFFSETS] = {1, 7, 61, 509};
#define DIAGONAL 9.5

/* Rank (row, col) has block row, col of the matrix; its vectors are block col of theirs. */
struct cg {
	struct kern_team *team;
	int rows, cols, row, col;
	int nr, nc;            /* elements of a block of rows, of columns */
	int across;            /* the partner over the diagonal */
	double *x, *r, *p, *q; /* nc */
	double *sum, *in;      /* nr */
};

static void cg_open(struct cg *cg, struct kern_team *team)
{
	memset(cg, 0, sizeof(*cg));
	cg->team = team;
	for (cg->rows = 1; cg->rows * cg->rows * 4 <= team->ranks; cg->rows *= 2)
		;
	cg->cols = team->ranks / cg->rows;
	cg->row = team->rank / cg->cols;
	cg->col = team->rank % cg->cols;
	cg->nr = N / cg->rows;
	cg->nc = N / cg->cols;
	/* Rows have one or two blocks of columns: the map is its own inverse in both cases. */
	if (cg->rows == cg->cols)
		cg->across = cg->col * cg->cols + cg->row;
	else
		cg->across = cg->col / 2 * cg->cols + 2 * cg->row + cg->col % 2;
	cg->x = kern_room((size_t)cg->nc * 4, sizeof(double));
	cg->r = cg->x + cg->nc;
	cg->p = cg->r + cg->nc;
	cg->q = cg->p + cg->nc;
	cg->sum = kern_room((size_t)cg->nr * 2, sizeof(double));
	cg->in = cg->sum + cg->nr;
}

/* Adds v over the ranks of this row. */
static void add_along_row(struct cg *cg, double *v, double *in, int n)
{
	for (int d = 1; d < cg->cols; d *= 2) {
		int partner = cg->row * cg->cols + (cg->col ^ d);

		COMM(cg->team, MPI_Sendrecv(v, n, MPI_DOUBLE, partner, 1, in, n, MPI_DOUBLE,
					    partner, 1, cg->team->comm, MPI_STATUS_IGNORE));
		for (int i = 0; i < n; i++)
			v[i] += in[i];
	}
}

static double dot(struct cg *cg, const double *a, const double *b)
{
	double sum = 0, in;

	for (int i = 0; i < cg->nc; i++)
		sum += a[i] * b[i];
	add_along_row(cg, &sum, &in, 1);
	return sum;
}

/* This block's part of A p, into cg->sum. */
static void multiply_block(struct cg *cg)
{
	int first_row = cg->row * cg->nr, first_col = cg->col * cg->nc;

	for (int i = 0; i < cg->nr; i++) {
		int at = first_row + i, j = at - first_col;
		double v = j >= 0 && j < cg->nc ? DIAGONAL * cg->p[j] : 0;

		for (int o = 0; o < OFFSETS; o++) {
			j = (at + offsets[o]) % N - first_col;
			if (j >= 0 && j < cg->nc)
				v -= cg->p[j];
			j = (at + N - offsets[o]) % N - first_col;
			if (j >= 0 && j < cg->nc)
				v -= cg->p[j];
		}
		cg->sum[i] = v;
	}
}

/* q = A p. */
static void multiply(struct cg *cg)
{
	/* Place of the partner's block of columns in this block of rows. */
	int part = cg->rows == cg->cols ? 0 : cg->col % 2 * cg->nc;

	multiply_block(cg);
	add_along_row(cg, cg->sum, cg->in, cg->nr);
	if (cg->across == cg->team->rank)
		memcpy(cg->q, cg->sum + part, (size_t)cg->nc * sizeof(double));
	else
		COMM(cg->team,
		     MPI_Sendrecv(cg->sum + part, cg->nc, MPI_DOUBLE, cg->across, 2, cg->q, cg->nc,
				  MPI_DOUBLE, cg->across, 2, cg->team->comm, MPI_STATUS_IGNORE));
}

static double solve(struct cg *cg)
{
	double rho, before, alpha, beta;

	for (int i = 0; i < cg->nc; i++) {
		cg->x[i] = 0;
		cg->r[i] = cg->p[i] = 1 + (cg->col * cg->nc + i) % 17;
	}
	rho = dot(cg, cg->r, cg->r);
	for (int k = 0; k < INNER; k++) {
		multiply(cg);
		alpha = rho / dot(cg, cg->p, cg->q);
		for (int i = 0; i < cg->nc; i++) {
			cg->x[i] += alpha * cg->p[i];
			cg->r[i] -= alpha * cg->q[i];
		}
		before = rho;
		rho = dot(cg, cg->r, cg->r);
		beta = rho / before;
		for (int i = 0; i < cg->nc; i++)
			cg->p[i] = cg->r[i] + beta * cg->p[i];
	}
	return dot(cg, cg->x, cg->x);
}

static double run(struct kern_team *team, int steps)
{
	struct cg cg;
	double result = 0;

	cg_open(&cg, team);
	for (int i = 0; i < steps; i++)
		result = solve(&cg);
	free(cg.x);
	free(cg.sum);
	return result;
}

const struct kern kern_cg = {.name = "cg", .run = run};
