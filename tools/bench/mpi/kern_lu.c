/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric successive over-relaxation with NPB LU's communication: ranks in rows and columns share
 * two dimensions; a sweep goes plane by plane of the third, each rank waiting for the edges of its
 * northern and western neighbours and sending its own on: many small messages in a pipeline.
 */
#include <stdlib.h>

#include "tools/bench/mpi/kern.h"

enum {
	NX = 48,
	NY = 48,
	NZ = 24,
	WORDS = 5, /* unknowns of a point, as LU has */
};

struct lu {
	struct kern_team *team;
	int nx, ny; /* points of this rank */
	int first_x, first_y;
	int north, south, west, east;
	double *v;        /* [NZ][nx + 2][ny + 2][WORDS]: with an edge of the neighbours' */
	double *out, *in; /* one edge */
};

static double *at(const struct lu *lu, int z, int x, int y)
{
	return lu->v + ((size_t)(z * (lu->nx + 2) + x) * (size_t)(lu->ny + 2) + (size_t)y) * WORDS;
}

static void lu_open(struct lu *lu, struct kern_team *team)
{
	int rows = 1, cols, row, col;

	while (rows * rows * 4 <= team->ranks)
		rows *= 2;
	cols = team->ranks / rows;
	row = team->rank / cols;
	col = team->rank % cols;
	*lu = (struct lu){
	    .team = team,
	    .nx = NX / rows,
	    .ny = NY / cols,
	    .first_x = row * (NX / rows),
	    .first_y = col * (NY / cols),
	    .north = row ? team->rank - cols : MPI_PROC_NULL,
	    .south = row < rows - 1 ? team->rank + cols : MPI_PROC_NULL,
	    .west = col ? team->rank - 1 : MPI_PROC_NULL,
	    .east = col < cols - 1 ? team->rank + 1 : MPI_PROC_NULL,
	};
	lu->v = kern_room((size_t)NZ * (size_t)(lu->nx + 2) * (size_t)(lu->ny + 2) * WORDS,
			  sizeof(double));
	lu->out = kern_room((size_t)NX * WORDS * 2, sizeof(double));
	lu->in = lu->out + (size_t)NX * WORDS;
	for (int z = 0; z < NZ; z++)
		for (int x = 1; x <= lu->nx; x++)
			for (int y = 1; y <= lu->ny; y++)
				for (int w = 0; w < WORDS; w++)
					at(lu, z, x, y)[w] = 1.0 / (1 + (lu->first_x + x) * 3 +
								    (lu->first_y + y) * 5 + z + w);
}

/* Column y of a plane, to or from a contiguous piece. */
static void copy_column(const struct lu *lu, int z, int y, double *piece, bool out)
{
	for (int x = 1; x <= lu->nx; x++)
		for (int w = 0; w < WORDS; w++) {
			double *v = &at(lu, z, x, y)[w], *p = &piece[(x - 1) * WORDS + w];

			*(out ? p : v) = *(out ? v : p);
		}
}

static void receive(struct lu *lu, int z, int row_from, int row, int column_from, int column)
{
	if (row_from != MPI_PROC_NULL)
		COMM(lu->team, MPI_Recv(at(lu, z, row, 1), lu->ny * WORDS, MPI_DOUBLE, row_from, 1,
					lu->team->comm, MPI_STATUS_IGNORE));
	if (column_from != MPI_PROC_NULL) {
		COMM(lu->team, MPI_Recv(lu->in, lu->nx * WORDS, MPI_DOUBLE, column_from, 2,
					lu->team->comm, MPI_STATUS_IGNORE));
		copy_column(lu, z, column, lu->in, false);
	}
}

static void send_on(struct lu *lu, int z, int row_to, int row, int column_to, int column)
{
	if (row_to != MPI_PROC_NULL)
		COMM(lu->team, MPI_Send(at(lu, z, row, 1), lu->ny * WORDS, MPI_DOUBLE, row_to, 1,
					lu->team->comm));
	if (column_to != MPI_PROC_NULL) {
		copy_column(lu, z, column, lu->out, true);
		COMM(lu->team,
		     MPI_Send(lu->out, lu->nx * WORDS, MPI_DOUBLE, column_to, 2, lu->team->comm));
	}
}

/* A point from itself and from earlier ones on its path: d is -1 or 1. */
static void relax(struct lu *lu, int z, int x, int y, int d)
{
	bool plane = z + d >= 0 && z + d < NZ;
	double *v = at(lu, z, x, y);
	const double *a = at(lu, z, x + d, y), *b = at(lu, z, x, y + d);
	const double *c = plane ? at(lu, z + d, x, y) : NULL;

	for (int w = 0; w < WORDS; w++)
		v[w] = 0.4 * v[w] + 0.2 * (a[w] + b[w]) + (c ? 0.15 * c[w] : 0.01) +
		       0.05 * v[(w + 1) % WORDS];
}

static void sweep_down(struct lu *lu)
{
	for (int z = 0; z < NZ; z++) {
		receive(lu, z, lu->north, 0, lu->west, 0);
		for (int x = 1; x <= lu->nx; x++)
			for (int y = 1; y <= lu->ny; y++)
				relax(lu, z, x, y, -1);
		send_on(lu, z, lu->south, lu->nx, lu->east, lu->ny);
	}
}

static void sweep_up(struct lu *lu)
{
	for (int z = NZ - 1; z >= 0; z--) {
		receive(lu, z, lu->south, lu->nx + 1, lu->east, lu->ny + 1);
		for (int x = lu->nx; x >= 1; x--)
			for (int y = lu->ny; y >= 1; y--)
				relax(lu, z, x, y, 1);
		send_on(lu, z, lu->north, 1, lu->west, 1);
	}
}

static double run(struct kern_team *team, int steps)
{
	struct lu lu;
	uint64_t sum = 0;

	lu_open(&lu, team);
	for (int i = 0; i < steps; i++) {
		sweep_down(&lu);
		sweep_up(&lu);
	}
	for (int z = 0; z < NZ; z++)
		for (int x = 1; x <= lu.nx; x++)
			for (int y = 1; y <= lu.ny; y++)
				for (int w = 0; w < WORDS; w++)
					kern_mix(&sum,
						 (uint64_t)(((z * NX + lu.first_x + x) * NY +
							     lu.first_y + y) *
								WORDS +
							    w),
						 at(&lu, z, x, y)[w]);
	free(lu.v);
	free(lu.out);
	return kern_total(team, sum);
}

const struct kern kern_lu = {.name = "lu", .exact = true, .run = run};
