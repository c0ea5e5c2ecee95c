/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Semicoarsening multigrid with SMG2000's communication: the ranks share the planes of a box. Each
 * level takes every second plane of the previous one, so that neighbours are ever farther away and
 * a rank exchanges with ever more others, by non-blocking calls.
 */
#include <stdlib.h>

#include "tools/bench/mpi/kern.h"

enum {
	PLANES = 128,
	SIDE = 16,
	POINTS = SIDE * SIDE,
	LEVELS = 6, /* strides of 1 to 32 planes */
	MAX_LOCAL = PLANES,
};

struct smg {
	struct kern_team *team;
	int n, first; /* planes of this rank */
	double *v, *next;
	double *below, *above; /* [n][POINTS]: planes that are a stride away, of others */
};

static void smg_open(struct smg *s, struct kern_team *team)
{
	s->team = team;
	s->n = PLANES / team->ranks;
	s->first = team->rank * s->n;
	s->v = kern_room((size_t)s->n * POINTS * 4, sizeof(double));
	s->next = s->v + (size_t)s->n * POINTS;
	s->below = s->next + (size_t)s->n * POINTS;
	s->above = s->below + (size_t)s->n * POINTS;
	for (int k = 0; k < s->n; k++)
		for (int i = 0; i < POINTS; i++)
			s->v[k * POINTS + i] = 1.0 / (1 + (s->first + k) * 3 % 29 + i % 31);
}

/* The plane at index k of this rank plus d planes; NULL: another rank's. */
static const double *plane(const struct smg *s, const double *others, int k, int d)
{
	int at = k + d;

	if (s->first + at < 0 || s->first + at >= PLANES)
		return NULL;
	return at >= 0 && at < s->n ? s->v + at * POINTS : others + k * POINTS;
}

/*
 * Sends this rank's planes of the level to the ranks that need them, and posts receives for those
 * that it needs: the plane's number is the tag.
 */
static void exchange(struct smg *s, int stride)
{
	MPI_Request req[4 * MAX_LOCAL];
	int n = 0;

	for (int k = 0; k < s->n; k++) {
		int global = s->first + k;

		if (global % stride)
			continue;
		for (int d = -stride; d <= stride; d += 2 * stride) {
			int other = global + d, rank = other / s->n;

			if (other < 0 || other >= PLANES || rank == s->team->rank)
				continue;
			COMM(s->team, MPI_Irecv((d < 0 ? s->below : s->above) + k * POINTS, POINTS,
						MPI_DOUBLE, rank, other, s->team->comm, &req[n++]));
			COMM(s->team, MPI_Isend(s->v + k * POINTS, POINTS, MPI_DOUBLE, rank, global,
						s->team->comm, &req[n++]));
		}
	}
	if (n)
		COMM(s->team, MPI_Waitall(n, req, MPI_STATUSES_IGNORE));
}

/* Lines along a plane's first dimension, from their left end on, and the planes beside. */
static void relax(struct smg *s, int k, int stride)
{
	const double *down = plane(s, s->below, k, -stride), *up = plane(s, s->above, k, stride);
	const double *v = s->v + k * POINTS;
	double *to = s->next + k * POINTS;

	for (int i = 0; i < POINTS; i++) {
		double left = i % SIDE ? to[i - 1] : 0.5;

		to[i] = 0.5 * v[i] + 0.2 * left + (down ? 0.15 * down[i] : 0.02) +
			(up ? 0.15 * up[i] : 0.03);
	}
}

static void level(struct smg *s, int stride)
{
	exchange(s, stride);
	for (int k = 0; k < s->n; k++)
		if (!((s->first + k) % stride))
			relax(s, k, stride);
	for (int k = 0; k < s->n; k++)
		for (int i = 0; !((s->first + k) % stride) && i < POINTS; i++)
			s->v[k * POINTS + i] = s->next[k * POINTS + i];
}

static double run(struct kern_team *team, int steps)
{
	struct smg s;
	uint64_t sum = 0;

	smg_open(&s, team);
	for (int i = 0; i < steps; i++) {
		for (int l = 0; l < LEVELS; l++)
			level(&s, 1 << l);
		for (int l = LEVELS - 2; l >= 0; l--)
			level(&s, 1 << l);
	}
	for (int k = 0; k < s.n * POINTS; k++)
		kern_mix(&sum, (uint64_t)(s.first * POINTS + k), s.v[k]);
	free(s.v);
	return kern_total(team, sum);
}

const struct kern kern_smg = {.name = "smg", .exact = true, .run = run};
