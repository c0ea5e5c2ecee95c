/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A multigrid V-cycle with NPB MG's communication: a periodic cube shared in three dimensions,
 * faces exchanged dimension by dimension on every level, so large messages on the fine grids and
 * tiny ones on the coarse.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/mpi/kern.h"

enum {
	SIDE = 32,
	LEVELS = 3, /* down to a cube of 8: two points of a dimension shared by four ranks */
};

struct grid {
	int n[3];
	double *v, *next; /* (n + 2) in each dimension */
};

struct mg {
	struct kern_team *team;
	int below[3], above[3]; /* neighbours in each dimension; oneself where it is not shared */
	int first[3];
	struct grid level[LEVELS];
	double *out, *in;
};

static size_t place(const struct grid *g, int x, int y, int z)
{
	return ((size_t)x * (size_t)(g->n[1] + 2) + (size_t)y) * (size_t)(g->n[2] + 2) + (size_t)z;
}

/* Dimensions are halved in turn, as NPB does. */
static void share(struct mg *mg)
{
	int parts[3] = {1, 1, 1}, mine[3], stride[3], d = 2;

	for (int p = mg->team->ranks; p > 1; p /= 2, d = (d + 2) % 3)
		parts[d] *= 2;
	stride[0] = 1;
	stride[1] = parts[0];
	stride[2] = parts[0] * parts[1];
	for (d = 0; d < 3; d++) {
		mine[d] = mg->team->rank / stride[d] % parts[d];
		mg->first[d] = mine[d] * (SIDE / parts[d]);
		mg->above[d] = mg->team->rank + ((mine[d] + 1) % parts[d] - mine[d]) * stride[d];
		mg->below[d] =
		    mg->team->rank + ((mine[d] + parts[d] - 1) % parts[d] - mine[d]) * stride[d];
		for (int l = 0; l < LEVELS; l++)
			mg->level[l].n[d] = SIDE / parts[d] >> l;
	}
}

static void mg_open(struct mg *mg, struct kern_team *team)
{
	memset(mg, 0, sizeof(*mg));
	mg->team = team;
	share(mg);
	for (int l = 0; l < LEVELS; l++) {
		struct grid *g = &mg->level[l];
		size_t points =
		    (size_t)(g->n[0] + 2) * (size_t)(g->n[1] + 2) * (size_t)(g->n[2] + 2);

		g->v = kern_room(points * 2, sizeof(double));
		g->next = g->v + points;
	}
	mg->out = kern_room((size_t)(SIDE + 2) * (SIDE + 2) * 2, sizeof(double));
	mg->in = mg->out + (size_t)(SIDE + 2) * (SIDE + 2);
	for (int x = 1; x <= mg->level[0].n[0]; x++)
		for (int y = 1; y <= mg->level[0].n[1]; y++)
			for (int z = 1; z <= mg->level[0].n[2]; z++)
				mg->level[0].v[place(&mg->level[0], x, y, z)] =
				    1.0 / (1 + (mg->first[0] + x) * 7 % 11 +
					   (mg->first[1] + y) * 5 % 13 + (mg->first[2] + z) % 5);
}

/* The face of dimension d at index i, to or from a piece; edges of earlier dimensions included. */
static int copy_face(const struct grid *g, int d, int i, double *piece, bool out)
{
	int a = (d + 1) % 3, b = (d + 2) % 3, at[3], n = 0;

	at[d] = i;
	for (at[a] = 0; at[a] < g->n[a] + 2; at[a]++)
		for (at[b] = 0; at[b] < g->n[b] + 2; at[b]++, n++) {
			double *v = &g->v[place(g, at[0], at[1], at[2])];

			*(out ? &piece[n] : v) = *(out ? v : &piece[n]);
		}
	return n;
}

static void pass(struct mg *mg, const struct grid *g, int d, int from_index, int to, int into_index,
		 int from)
{
	int n = copy_face(g, d, from_index, mg->out, true);

	if (to == mg->team->rank) {
		copy_face(g, d, into_index, mg->out, false);
		return;
	}
	COMM(mg->team, MPI_Sendrecv(mg->out, n, MPI_DOUBLE, to, d, mg->in, n, MPI_DOUBLE, from, d,
				    mg->team->comm, MPI_STATUS_IGNORE));
	copy_face(g, d, into_index, mg->in, false);
}

static void exchange(struct mg *mg, const struct grid *g)
{
	for (int d = 0; d < 3; d++) {
		pass(mg, g, d, g->n[d], mg->above[d], 0, mg->below[d]);
		pass(mg, g, d, 1, mg->below[d], g->n[d] + 1, mg->above[d]);
	}
}

static void smooth(struct mg *mg, struct grid *g)
{
	double *v;

	exchange(mg, g);
	for (int x = 1; x <= g->n[0]; x++)
		for (int y = 1; y <= g->n[1]; y++)
			for (int z = 1; z <= g->n[2]; z++)
				g->next[place(g, x, y, z)] = 0.4 * g->v[place(g, x, y, z)] +
							     0.1 * (g->v[place(g, x - 1, y, z)] +
								    g->v[place(g, x + 1, y, z)]) +
							     0.1 * (g->v[place(g, x, y - 1, z)] +
								    g->v[place(g, x, y + 1, z)]) +
							     0.1 * (g->v[place(g, x, y, z - 1)] +
								    g->v[place(g, x, y, z + 1)]);
	v = g->v;
	g->v = g->next;
	g->next = v;
}

/* Each point of the coarse grid stands for eight of the fine one. */
static void coarsen(const struct grid *fine, const struct grid *coarse)
{
	for (int x = 1; x <= coarse->n[0]; x++)
		for (int y = 1; y <= coarse->n[1]; y++)
			for (int z = 1; z <= coarse->n[2]; z++) {
				double sum = 0;

				for (int i = 0; i < 8; i++)
					sum +=
					    fine->v[place(fine, 2 * x - (i & 1),
							  2 * y - (i >> 1 & 1), 2 * z - (i >> 2))];
				coarse->v[place(coarse, x, y, z)] = sum / 8;
			}
}

static void refine(const struct grid *coarse, const struct grid *fine)
{
	for (int x = 1; x <= fine->n[0]; x++)
		for (int y = 1; y <= fine->n[1]; y++)
			for (int z = 1; z <= fine->n[2]; z++) {
				double *v = &fine->v[place(fine, x, y, z)];

				*v = 0.75 * *v + 0.25 * coarse->v[place(coarse, (x + 1) / 2,
									(y + 1) / 2, (z + 1) / 2)];
			}
}

static void cycle(struct mg *mg)
{
	int l;

	for (l = 0; l < LEVELS - 1; l++) {
		smooth(mg, &mg->level[l]);
		coarsen(&mg->level[l], &mg->level[l + 1]);
	}
	smooth(mg, &mg->level[l]);
	smooth(mg, &mg->level[l]);
	while (l-- > 0) {
		refine(&mg->level[l + 1], &mg->level[l]);
		smooth(mg, &mg->level[l]);
	}
}

static double run(struct kern_team *team, int steps)
{
	const struct grid *g;
	uint64_t sum = 0;
	struct mg mg;

	mg_open(&mg, team);
	for (int i = 0; i < steps; i++)
		cycle(&mg);
	g = &mg.level[0];
	for (int x = 1; x <= g->n[0]; x++)
		for (int y = 1; y <= g->n[1]; y++)
			for (int z = 1; z <= g->n[2]; z++)
				kern_mix(
				    &sum,
				    (uint64_t)(((mg.first[0] + x) * SIDE + mg.first[1] + y) * SIDE +
					       mg.first[2] + z),
				    g->v[place(g, x, y, z)]);
	for (int l = 0; l < LEVELS; l++)
		free(mg.level[l].v < mg.level[l].next ? mg.level[l].v : mg.level[l].next);
	free(mg.out);
	return kern_total(team, sum);
}

const struct kern kern_mg = {.name = "mg", .exact = true, .run = run};
