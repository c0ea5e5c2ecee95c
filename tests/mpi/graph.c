/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives in a directed graph and in a ring, blocking and non-blocking, and
 * collectives between two groups (intercommunicators). Options: mt.h. Calls mt.c and MPI.
 */
#include <stdlib.h>

#include "tests/mpi/mt.h"

enum {
	MAX_NEIGHBOURS = 2,
};

/* The communicator, and the ranks that send to this one and that it sends to, in its order. */
static struct {
	MPI_Comm comm;
	int from[MAX_NEIGHBOURS], to[MAX_NEIGHBOURS];
	int in, out;
	bool nonblocking;
} at;

#define CALL(...) MT_CALL(at.nonblocking, MT_WAIT, __VA_ARGS__)

static int rank_after(int steps)
{
	return (mt.rank + steps + 2 * mt.ranks) % mt.ranks;
}

/* Bytes from one rank to another, by their numbers: odd, some none; to < 0: to all. */
static int part_of(int from, int to, size_t bytes)
{
	return (from + to) % 3 == 1 ? 0 : (int)(bytes / (size_t)(from + 1)) | 1;
}

static void allgather(size_t bytes)
{
	uint8_t *one = mt_alloc(bytes), *all = mt_alloc(bytes * MAX_NEIGHBOURS);

	mt_fill(one, bytes, mt_seed(mt.rank, -1, 1, bytes));
	CALL(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, one, (int)bytes, MPI_BYTE, all,
	     (int)bytes, MPI_BYTE, at.comm);
	for (int i = 0; i < at.in; i++)
		mt_same(all + bytes * (size_t)i, bytes, mt_seed(at.from[i], -1, 1, bytes),
			"Neighbor_allgather");
	free(one);
	free(all);
}

static void allgatherv(size_t bytes)
{
	int mine = part_of(mt.rank, -1, bytes), counts[MAX_NEIGHBOURS], displs[MAX_NEIGHBOURS];
	uint8_t *one = mt_alloc((size_t)mine), *all = mt_alloc(2 * MAX_NEIGHBOURS * (bytes + 1));

	mt_fill(one, (size_t)mine, mt_seed(mt.rank, -1, 2, bytes));
	for (int i = 0; i < at.in; i++) {
		counts[i] = part_of(at.from[i], -1, bytes);
		displs[i] = (int)(bytes + 1) * (at.in - 1 - i); /* the first comes last */
	}
	CALL(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, one, mine, MPI_BYTE, all, counts,
	     displs, MPI_BYTE, at.comm);
	for (int i = 0; i < at.in; i++)
		mt_same(all + displs[i], (size_t)counts[i], mt_seed(at.from[i], -1, 2, bytes),
			"Neighbor_allgatherv");
	free(one);
	free(all);
}

static void alltoall(size_t bytes)
{
	uint8_t *out = mt_alloc(bytes * MAX_NEIGHBOURS), *in = mt_alloc(bytes * MAX_NEIGHBOURS);

	for (int i = 0; i < at.out; i++)
		mt_fill(out + bytes * (size_t)i, bytes, mt_seed(mt.rank, at.to[i], 3, bytes));
	CALL(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, out, (int)bytes, MPI_BYTE, in,
	     (int)bytes, MPI_BYTE, at.comm);
	for (int i = 0; i < at.in; i++)
		mt_same(in + bytes * (size_t)i, bytes, mt_seed(at.from[i], mt.rank, 3, bytes),
			"Neighbor_alltoall");
	free(out);
	free(in);
}

static void alltoallv(size_t bytes, bool with_types)
{
	uint8_t *out = mt_alloc(MAX_NEIGHBOURS * (bytes + 1)),
		*in = mt_alloc(MAX_NEIGHBOURS * (bytes + 1));
	int out_n[MAX_NEIGHBOURS], in_n[MAX_NEIGHBOURS], where[MAX_NEIGHBOURS];
	MPI_Datatype types[MAX_NEIGHBOURS];
	MPI_Aint places[MAX_NEIGHBOURS];

	for (int i = 0; i < MAX_NEIGHBOURS; i++) {
		types[i] = MPI_BYTE;
		places[i] = where[i] = (int)(bytes + 1) * i;
	}
	for (int i = 0; i < at.out; i++) {
		out_n[i] = part_of(mt.rank, at.to[i], bytes);
		mt_fill(out + where[i], (size_t)out_n[i], mt_seed(mt.rank, at.to[i], 4, bytes));
	}
	for (int i = 0; i < at.in; i++)
		in_n[i] = part_of(at.from[i], mt.rank, bytes);
	if (with_types)
		CALL(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, out, out_n, places, types, in,
		     in_n, places, types, at.comm);
	else
		CALL(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, out, out_n, where, MPI_BYTE,
		     in, in_n, where, MPI_BYTE, at.comm);
	for (int i = 0; i < at.in; i++)
		mt_same(in + where[i], (size_t)in_n[i], mt_seed(at.from[i], mt.rank, 4, bytes),
			with_types ? "Neighbor_alltoallw" : "Neighbor_alltoallv");
	free(out);
	free(in);
}

static void neighbours(const char *blocking, const char *nonblocking)
{
	for (int pass = 0; pass < 2; pass++) {
		at.nonblocking = pass == 1;
		mt_part(pass ? nonblocking : blocking);
		for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
			allgather(*s);
			allgatherv(*s);
			alltoall(*s);
			alltoallv(*s, false);
			alltoallv(*s, true);
		}
	}
}

/* To the next two ranks, from the two before. */
static void directed(void)
{
	const int weights[MAX_NEIGHBOURS] = {1, 1};

	at.in = at.out = MAX_NEIGHBOURS;
	for (int i = 0; i < MAX_NEIGHBOURS; i++) {
		at.to[i] = rank_after(i + 1);
		at.from[i] = rank_after(-i - 1);
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, at.in, at.from, weights, at.out, at.to,
				       weights, MPI_INFO_NULL, 0, &at.comm);
	neighbours("a directed graph", "a directed graph, non-blocking");
	MPI_Comm_free(&at.comm);
}

/* With two ranks both neighbours are one, and MPI does not say which of its messages is which. */
static void ring(void)
{
	int periods = 1;

	if (mt.ranks < 3)
		return;
	MPI_Cart_create(MPI_COMM_WORLD, 1, &mt.ranks, &periods, 0, &at.comm);
	at.in = at.out = 2;
	at.from[0] = at.to[0] = rank_after(-1);
	at.from[1] = at.to[1] = rank_after(1);
	neighbours("a ring", "a ring, non-blocking");
	MPI_Comm_free(&at.comm);
}

/* Ranks of the even and of the odd group, by their numbers in the world. */
static int remote_rank(int number)
{
	return 2 * number + 1 - mt.rank % 2;
}

/* From the even group's first rank to all of the odd one, and back. */
static void between_bcast(MPI_Comm inter, size_t bytes)
{
	uint8_t *buf = mt_alloc(bytes);

	for (int odd = 0; odd < 2; odd++) {
		bool sends = mt.rank % 2 == odd;
		int root = !sends ? 0 : mt.rank == odd ? MPI_ROOT : MPI_PROC_NULL;

		mt_fill(buf, bytes, sends ? mt_seed(odd, -1, 5, bytes) : 1);
		MPI_Bcast(buf, (int)bytes, MPI_BYTE, root, inter);
		mt_same(buf, bytes, mt_seed(odd, -1, 5, bytes), "Bcast between groups");
	}
	free(buf);
}

static void between_all(MPI_Comm inter, size_t bytes)
{
	uint8_t *one, *in;
	int others, sum = 0, value = mt.rank + 1, want = 0;

	MPI_Comm_remote_size(inter, &others);
	one = mt_alloc(bytes * (size_t)others);
	in = mt_alloc(bytes * (size_t)others);
	mt_fill(one, bytes, mt_seed(mt.rank, -1, 6, bytes));
	MPI_Allgather(one, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, inter);
	for (int r = 0; r < others; r++)
		mt_same(in + bytes * (size_t)r, bytes, mt_seed(remote_rank(r), -1, 6, bytes),
			"Allgather between groups");
	for (int r = 0; r < others; r++)
		mt_fill(one + bytes * (size_t)r, bytes, mt_seed(mt.rank, remote_rank(r), 7, bytes));
	MPI_Alltoall(one, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, inter);
	for (int r = 0; r < others; r++)
		mt_same(in + bytes * (size_t)r, bytes, mt_seed(remote_rank(r), mt.rank, 7, bytes),
			"Alltoall between groups");
	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
	for (int r = 0; r < others; r++)
		want += remote_rank(r) + 1;
	MT_CHECK(sum == want, "Allreduce between groups gives %d, not %d", sum, want);
	free(one);
	free(in);
}

/* Merged, the even ranks come first. */
static void merged(MPI_Comm inter)
{
	MPI_Comm all;
	int rank, evens = (mt.ranks + 1) / 2;

	MPI_Intercomm_merge(inter, mt.rank % 2, &all);
	MPI_Comm_rank(all, &rank);
	MT_CHECK(rank == mt.rank / 2 + (mt.rank % 2 ? evens : 0), "merged, it is rank %d", rank);
	MPI_Barrier(all);
	MPI_Comm_free(&all);
}

static void groups(void)
{
	MPI_Comm half, inter;

	mt_part("between two groups");
	MPI_Comm_split(MPI_COMM_WORLD, mt.rank % 2, mt.rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mt.rank % 2, 11, &inter);
	for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
		between_bcast(inter, *s);
		between_all(inter, *s);
		MPI_Barrier(inter);
	}
	merged(inter);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	mt_start(argc, argv, MPI_THREAD_SINGLE);
	directed();
	ring();
	groups();
	return mt_end();
}
