/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Radix sort as in SPLASH-2: for each digit a histogram that all share, then an exchange of keys:
 * every rank sends to every other, in pieces of all sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/mpi/kern.h"

enum {
	KEYS = 1 << 15, /* of all ranks */
	BITS = 8,
	DIGITS = 1 << BITS,
	PASSES = 4,
	MAX_RANKS = 64,
};

struct radix {
	struct kern_team *team;
	int n; /* keys of a rank */
	uint32_t *keys, *sorted, *in;
	int *count; /* [ranks][DIGITS] */
	int *start; /* likewise: the place among all keys of the first */
};

static void radix_open(struct radix *r, struct kern_team *team)
{
	uint64_t x;

	r->team = team;
	r->n = KEYS / team->ranks;
	r->keys = kern_room((size_t)r->n * 3, sizeof(*r->keys));
	r->sorted = r->keys + r->n;
	r->in = r->sorted + r->n;
	r->count = kern_room((size_t)team->ranks * DIGITS * 2, sizeof(*r->count));
	r->start = r->count + (size_t)team->ranks * DIGITS;
	for (int i = 0; i < r->n; i++) {
		x = (uint64_t)(team->rank * r->n + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		r->keys[i] = (uint32_t)((x ^ x >> 32) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
	}
}

/* Histograms of all ranks, and the destination of each one's keys of each digit. */
static void histogram(struct radix *r, int shift)
{
	int *mine = r->count + (size_t)r->team->rank * DIGITS, at = 0;

	memset(mine, 0, DIGITS * sizeof(*mine));
	for (int i = 0; i < r->n; i++)
		mine[r->keys[i] >> shift & (DIGITS - 1)]++;
	if (r->team->ranks > 1)
		COMM(r->team, MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r->count, DIGITS,
					    MPI_INT, r->team->comm));
	for (int d = 0; d < DIGITS; d++)
		for (int k = 0; k < r->team->ranks; k++) {
			r->start[k * DIGITS + d] = at;
			at += r->count[k * DIGITS + d];
		}
}

/* Within the rank, in the order of this digit. */
static void sort_own(struct radix *r, int shift)
{
	int next[DIGITS], at = 0;

	for (int d = 0; d < DIGITS; d++) {
		next[d] = at;
		at += r->count[r->team->rank * DIGITS + d];
	}
	for (int i = 0; i < r->n; i++)
		r->sorted[next[r->keys[i] >> shift & (DIGITS - 1)]++] = r->keys[i];
}

/* Number of rank from's keys with digit d that go to rank to, and their place there. */
static int share_of(const struct radix *r, int from, int d, int to, int *place)
{
	int first = r->start[from * DIGITS + d], last = first + r->count[from * DIGITS + d];
	int low = to * r->n, high = low + r->n;

	first = first < low ? low : first;
	last = last > high ? high : last;
	*place = first - low;
	return last > first ? last - first : 0;
}

static int total_of(const struct radix *r, int from, int to)
{
	int sum = 0, place;

	for (int d = 0; d < DIGITS; d++)
		sum += share_of(r, from, d, to, &place);
	return sum;
}

/* Puts the keys from one rank, digit by digit, to their places. */
static void spread(struct radix *r, int from, const uint32_t *piece)
{
	int place, n;

	for (int d = 0; d < DIGITS; d++) {
		n = share_of(r, from, d, r->team->rank, &place);
		memcpy(r->keys + place, piece, (size_t)n * sizeof(*piece));
		piece += n;
	}
}

/* Keys of a rank are in order, so those for one other rank are contiguous. */
static void exchange(struct radix *r)
{
	MPI_Request req[2 * MAX_RANKS];
	int me = r->team->rank, ranks = r->team->ranks, from[MAX_RANKS], to_at = 0, at = 0, n = 0;

	for (int k = 0; k < ranks; k++) {
		int bytes = total_of(r, k, me) * (int)sizeof(uint32_t);

		from[k] = at;
		if (k != me && bytes)
			COMM(r->team, MPI_Irecv(r->in + at, bytes, MPI_BYTE, k, 3, r->team->comm,
						&req[n++]));
		at += bytes / (int)sizeof(uint32_t);
	}
	for (int k = 0; k < ranks; k++) {
		int keys = total_of(r, me, k);

		if (k == me)
			memcpy(r->in + from[k], r->sorted + to_at, (size_t)keys * sizeof(uint32_t));
		else if (keys)
			COMM(r->team, MPI_Isend(r->sorted + to_at, keys * (int)sizeof(uint32_t),
						MPI_BYTE, k, 3, r->team->comm, &req[n++]));
		to_at += keys;
	}
	if (n)
		COMM(r->team, MPI_Waitall(n, req, MPI_STATUSES_IGNORE));
	for (int k = 0; k < ranks; k++)
		spread(r, k, r->in + from[k]);
}

static double run(struct kern_team *team, int steps)
{
	struct radix r;
	uint64_t sum = 0;

	radix_open(&r, team);
	for (int i = 0; i < steps; i++) {
		/* Each step sorts other keys: the previous ones, mixed. */
		for (int k = 0; i && k < r.n; k++)
			r.keys[k] = r.keys[k] * 2654435761u + (uint32_t)(team->rank * r.n + k);
		for (int pass = 0; pass < PASSES; pass++) {
			histogram(&r, pass * BITS);
			sort_own(&r, pass * BITS);
			exchange(&r);
		}
	}
	for (int k = 0; k < r.n; k++)
		kern_mix(&sum, (uint64_t)(team->rank * r.n + k), (double)r.keys[k]);
	free(r.keys);
	free(r.count);
	return kern_total(team, sum);
}

const struct kern kern_radix = {.name = "radix", .exact = true, .run = run};
