/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Integer sort as in NPB's IS: keys around a middle value are put into buckets, the buckets are
 * dealt out so that all ranks get about as many keys, and MPI_Alltoallv() moves them; each rank
 * counts its own. Classes W and A of SCI-MPICH, section IV.D.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/mpi/kern.h"

enum {
	BUCKET_BITS = 10,
	BUCKETS = 1 << BUCKET_BITS,
	MAX_RANKS = 64,
};

struct is {
	struct kern_team *team;
	int key_bits;
	int n;          /* keys of a rank before the exchange */
	uint32_t *keys; /* in any order */
	uint32_t *out;  /* the same, by bucket */
	uint32_t *in;   /* keys of this rank's buckets */
	int in_room;
	uint32_t *count; /* of each key value */
	int own[BUCKETS], all[BUCKETS];
	int last[MAX_RANKS]; /* one past the last bucket of each rank */
};

/* Four uniform numbers make a key, so that the middle is frequent. */
static uint32_t is_key(uint64_t place, int key_bits)
{
	uint64_t x = (place + 1) * UINT64_C(0x9e3779b97f4a7c15), sum = 0;

	for (int i = 0; i < 4; i++) {
		x ^= x >> 31;
		x *= UINT64_C(0xbf58476d1ce4e5b9);
		sum += x >> (64 - key_bits);
	}
	return (uint32_t)(sum / 4);
}

static void is_open(struct is *s, struct kern_team *team, int keys, int key_bits)
{
	*s = (struct is){.team = team, .key_bits = key_bits, .n = keys / team->ranks};
	/* Buckets are whole, so a rank may get more than its part. */
	s->in_room = team->ranks > 1 ? 2 * s->n + keys / 16 : s->n;
	s->keys = kern_room((size_t)s->n, sizeof(*s->keys));
	s->out = kern_room((size_t)s->n, sizeof(*s->out));
	s->in = kern_room((size_t)s->in_room, sizeof(*s->in));
	s->count = kern_room((size_t)1 << key_bits, sizeof(*s->count));
	for (int i = 0; i < s->n; i++)
		s->keys[i] = is_key((uint64_t)team->rank * (uint64_t)s->n + (uint64_t)i, key_bits);
}

static void is_close(struct is *s)
{
	free(s->keys);
	free(s->out);
	free(s->in);
	free(s->count);
}

/* Sorts the keys by bucket, and deals the buckets out. */
static void deal(struct is *s)
{
	int shift = s->key_bits - BUCKET_BITS, next[BUCKETS], at = 0, rank = 0,
	    ranks = s->team->ranks;

	memset(s->own, 0, sizeof(s->own));
	for (int i = 0; i < s->n; i++)
		s->own[s->keys[i] >> shift]++;
	memcpy(s->all, s->own, sizeof(s->all));
	if (ranks > 1)
		COMM(s->team,
		     MPI_Allreduce(s->own, s->all, BUCKETS, MPI_INT, MPI_SUM, s->team->comm));
	for (int b = 0; b < BUCKETS; b++) {
		next[b] = at;
		at += s->own[b];
	}
	for (int i = 0; i < s->n; i++)
		s->out[next[s->keys[i] >> shift]++] = s->keys[i];
	at = 0;
	for (int b = 0; b < BUCKETS; b++) {
		at += s->all[b];
		while (rank < ranks - 1 && at >= (rank + 1) * s->n)
			s->last[rank++] = b + 1;
	}
	while (rank < ranks)
		s->last[rank++] = BUCKETS;
}

/* Returns the keys that this rank has now. */
static int exchange(struct is *s)
{
	int to[MAX_RANKS], from[MAX_RANKS], to_at[MAX_RANKS], from_at[MAX_RANKS], out = 0, in = 0;
	double before;

	for (int k = 0, b = 0; k < s->team->ranks; k++) {
		to_at[k] = out;
		for (; b < s->last[k]; b++)
			out += s->own[b];
		to[k] = out - to_at[k];
	}
	if (s->team->ranks == 1) {
		memcpy(s->in, s->out, (size_t)s->n * sizeof(*s->in));
		return s->n;
	}
	COMM(s->team, MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, s->team->comm));
	for (int k = 0; k < s->team->ranks; k++) {
		from_at[k] = in;
		in += from[k];
	}
	if (in > s->in_room)
		MPI_Abort(s->team->comm, 1);
	before = s->team->comm_s;
	COMM(s->team, MPI_Alltoallv(s->out, to, to_at, MPI_UINT32_T, s->in, from, from_at,
				    MPI_UINT32_T, s->team->comm));
	s->team->part_s += s->team->comm_s - before;
	return in;
}

/* The sum of each key value and the number of its keys, over all. */
static uint64_t is_sum(struct is *s, int keys)
{
	uint64_t sum = 0;

	memset(s->count, 0, sizeof(*s->count) << s->key_bits);
	for (int i = 0; i < keys; i++)
		s->count[s->in[i]]++;
	for (uint32_t v = 0; v < UINT32_C(1) << s->key_bits; v++)
		if (s->count[v])
			kern_mix(&sum, v, s->count[v]);
	return sum;
}

static double is_run(struct kern_team *team, int steps, int keys, int key_bits)
{
	struct is s;
	uint64_t sum = 0;

	is_open(&s, team, keys, key_bits);
	for (int i = 0; i < steps; i++) {
		deal(&s);
		sum = is_sum(&s, exchange(&s));
	}
	is_close(&s);
	return kern_total(team, sum);
}

static double run_w(struct kern_team *team, int steps)
{
	return is_run(team, steps, 1 << 20, 16);
}

static double run_a(struct kern_team *team, int steps)
{
	return is_run(team, steps, 1 << 23, 19);
}

const struct kern kern_is_w = {.name = "is_w", .exact = true, .run = run_w, .part = "alltoallv_us"};
const struct kern kern_is_a = {.name = "is_a", .exact = true, .run = run_a, .part = "alltoallv_us"};
