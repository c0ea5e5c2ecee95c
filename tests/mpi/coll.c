/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that move data: blocking and non-blocking, in place, from all roots, with counts that
 * differ by rank, over the world, a reversed communicator and a half of it. reduce.c tests
 * reductions. Options: mt.h. Calls mt.c and MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mt.h"

enum {
	GAP = 5,
};

/* The communicator, and the variant that the parts run with. */
static struct {
	MPI_Comm comm;
	int rank, ranks;
	bool nonblocking;
} at;

static void wait_for(MPI_Request *request)
{
	int done = 0;

	while (!done)
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

/* The blocking call or the non-blocking one with the same arguments. */
#define CALL(...) MT_CALL(at.nonblocking, wait_for, __VA_ARGS__)

/* Bytes of one rank's part of a collective of this size: odd, and some ranks have none. */
static int part_of(int rank, size_t bytes)
{
	return rank % 3 == 1 ? 0 : (int)(bytes / (size_t)(rank + 1)) | 1;
}

static uint64_t seed_of(int from, int to, size_t bytes)
{
	return mt_seed(from, to, 3, bytes);
}

static void bcast(size_t bytes, int root)
{
	uint8_t *buf = mt_alloc(bytes);

	if (at.rank == root)
		mt_fill(buf, bytes, seed_of(root, 0, bytes));
	CALL(MPI_Bcast, MPI_Ibcast, buf, (int)bytes, MPI_BYTE, root, at.comm);
	mt_same(buf, bytes, seed_of(root, 0, bytes), "Bcast");
	free(buf);
}

static void gather_and_scatter(size_t bytes, int root)
{
	uint8_t *all = mt_alloc(bytes * (size_t)at.ranks), *one = mt_alloc(bytes);
	void *mine = at.rank == root ? MPI_IN_PLACE : one;

	for (int place = 0; place < 2; place++) {
		uint8_t *own = place && at.rank == root ? all + bytes * (size_t)at.rank : one;

		mt_fill(own, bytes, seed_of(at.rank, root, bytes));
		CALL(MPI_Gather, MPI_Igather, place ? mine : one, (int)bytes, MPI_BYTE, all,
		     (int)bytes, MPI_BYTE, root, at.comm);
		for (int r = 0; at.rank == root && r < at.ranks; r++)
			mt_same(all + bytes * (size_t)r, bytes, seed_of(r, root, bytes),
				place ? "Gather in place" : "Gather");
		for (int r = 0; at.rank == root && r < at.ranks; r++)
			mt_fill(all + bytes * (size_t)r, bytes, seed_of(root, r, bytes + 1));
		CALL(MPI_Scatter, MPI_Iscatter, all, (int)bytes, MPI_BYTE, place ? mine : one,
		     (int)bytes, MPI_BYTE, root, at.comm);
		own = place && at.rank == root ? all + bytes * (size_t)at.rank : one;
		mt_same(own, bytes, seed_of(root, at.rank, bytes + 1),
			place ? "Scatter in place" : "Scatter");
	}
	free(all);
	free(one);
}

/*
 * Counts and displacements with gaps, by part_of(); no gap for one rank, which MPICH 4.0.2 would
 * ignore. Returns the whole length.
 */
static size_t spread(size_t bytes, int *counts, int *displs)
{
	size_t total = 0, gap = at.ranks > 1 ? GAP : 0;

	for (int r = 0; r < at.ranks; r++) {
		counts[r] = part_of(r, bytes);
		displs[r] = (int)(total + gap);
		total += (size_t)counts[r] + gap;
	}
	return total + gap;
}

static void gatherv_and_scatterv(size_t bytes, int root)
{
	int counts[64], displs[64];
	size_t total = spread(bytes, counts, displs), gap = at.ranks > 1 ? GAP : 0;
	int mine = counts[at.rank];
	uint8_t *all = mt_alloc(total), *one = mt_alloc((size_t)mine);

	mt_fill(one, (size_t)mine, seed_of(at.rank, root, bytes));
	CALL(MPI_Gatherv, MPI_Igatherv, one, mine, MPI_BYTE, all, counts, displs, MPI_BYTE, root,
	     at.comm);
	for (int r = 0; at.rank == root && r < at.ranks; r++) {
		mt_same(all + displs[r], (size_t)counts[r], seed_of(r, root, bytes), "Gatherv");
		mt_untouched(all + displs[r] - gap, gap, 0xee, "Gatherv's gaps");
		mt_fill(all + displs[r], (size_t)counts[r], seed_of(root, r, bytes + 1));
	}
	CALL(MPI_Scatterv, MPI_Iscatterv, all, counts, displs, MPI_BYTE, one, mine, MPI_BYTE, root,
	     at.comm);
	mt_same(one, (size_t)mine, seed_of(root, at.rank, bytes + 1), "Scatterv");
	free(all);
	free(one);
}

static void allgather(size_t bytes)
{
	uint8_t *all = mt_alloc(bytes * (size_t)at.ranks), *one = mt_alloc(bytes);

	mt_fill(one, bytes, seed_of(at.rank, 0, bytes));
	CALL(MPI_Allgather, MPI_Iallgather, one, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
	     at.comm);
	for (int r = 0; r < at.ranks; r++)
		mt_same(all + bytes * (size_t)r, bytes, seed_of(r, 0, bytes), "Allgather");
	mt_fill(all, bytes * (size_t)at.ranks, 1);
	mt_fill(all + bytes * (size_t)at.rank, bytes, seed_of(at.rank, 1, bytes));
	CALL(MPI_Allgather, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_BYTE, all, (int)bytes, MPI_BYTE,
	     at.comm);
	for (int r = 0; r < at.ranks; r++)
		mt_same(all + bytes * (size_t)r, bytes, seed_of(r, 1, bytes), "Allgather in place");
	free(all);
	free(one);
}

static void allgatherv(size_t bytes)
{
	int counts[64], displs[64];
	size_t total = spread(bytes, counts, displs), gap = at.ranks > 1 ? GAP : 0;
	uint8_t *all = mt_alloc(total), *one = mt_alloc((size_t)counts[at.rank]);

	mt_fill(one, (size_t)counts[at.rank], seed_of(at.rank, 0, bytes));
	CALL(MPI_Allgatherv, MPI_Iallgatherv, one, counts[at.rank], MPI_BYTE, all, counts, displs,
	     MPI_BYTE, at.comm);
	for (int r = 0; r < at.ranks; r++) {
		mt_same(all + displs[r], (size_t)counts[r], seed_of(r, 0, bytes), "Allgatherv");
		mt_untouched(all + displs[r] - gap, gap, 0xee, "Allgatherv's gaps");
	}
	free(all);
	free(one);
}

static void alltoall(size_t bytes)
{
	size_t total = bytes * (size_t)at.ranks;
	uint8_t *out = mt_alloc(total), *in = mt_alloc(total);

	for (int r = 0; r < at.ranks; r++)
		mt_fill(out + bytes * (size_t)r, bytes, seed_of(at.rank, r, bytes));
	CALL(MPI_Alltoall, MPI_Ialltoall, out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE,
	     at.comm);
	for (int r = 0; r < at.ranks; r++)
		mt_same(in + bytes * (size_t)r, bytes, seed_of(r, at.rank, bytes), "Alltoall");
	CALL(MPI_Alltoall, MPI_Ialltoall, MPI_IN_PLACE, 0, MPI_BYTE, out, (int)bytes, MPI_BYTE,
	     at.comm);
	for (int r = 0; r < at.ranks; r++)
		mt_same(out + bytes * (size_t)r, bytes, seed_of(r, at.rank, bytes),
			"Alltoall in place");
	free(out);
	free(in);
}

/* Rank a sends part_of(a + b) bytes to rank b. */
static void alltoallv(size_t bytes, bool with_types)
{
	int out_n[64], out_at[64], in_n[64], in_at[64];
	MPI_Datatype types[64];
	size_t total = 0;
	uint8_t *out, *in;

	for (int r = 0; r < at.ranks; r++) {
		out_n[r] = in_n[r] = part_of(at.rank + r, bytes);
		out_at[r] = in_at[r] = (int)total;
		total += (size_t)out_n[r];
		types[r] = MPI_BYTE;
	}
	out = mt_alloc(total);
	in = mt_alloc(total);
	for (int r = 0; r < at.ranks; r++)
		mt_fill(out + out_at[r], (size_t)out_n[r], seed_of(at.rank, r, bytes));
	if (with_types)
		CALL(MPI_Alltoallw, MPI_Ialltoallw, out, out_n, out_at, types, in, in_n, in_at,
		     types, at.comm);
	else
		CALL(MPI_Alltoallv, MPI_Ialltoallv, out, out_n, out_at, MPI_BYTE, in, in_n, in_at,
		     MPI_BYTE, at.comm);
	for (int r = 0; r < at.ranks; r++)
		mt_same(in + in_at[r], (size_t)in_n[r], seed_of(r, at.rank, bytes),
			with_types ? "Alltoallw" : "Alltoallv");
	free(out);
	free(in);
}

/* No rank leaves before the last has entered: rank 0 counts the entered ones. */
static void barrier(void)
{
	for (int round = 0; round < 5; round++) {
		int token = round, late = round % at.ranks;

		if (at.rank == late && at.ranks > 1)
			MPI_Send(&token, 1, MPI_INT, (late + 1) % at.ranks, 9, at.comm);
		CALL(MPI_Barrier, MPI_Ibarrier, at.comm);
		if (at.rank == (late + 1) % at.ranks && at.ranks > 1) {
			MPI_Recv(&token, 1, MPI_INT, late, 9, at.comm, MPI_STATUS_IGNORE);
			MT_CHECK(token == round, "token %d in round %d", token, round);
		}
	}
}

static void sizes(void)
{
	for (const size_t *s = mt_sizes(); *s != SIZE_MAX; s++) {
		int step = mt.quick || *s > 100000 ? at.ranks - 1 : 1;

		if (*s * (size_t)at.ranks > (size_t)256 << 20)
			break;
		for (int root = 0; root < at.ranks; root += step ? step : 1) {
			bcast(*s, root);
			gather_and_scatter(*s, root);
			gatherv_and_scatterv(*s, root);
		}
		allgather(*s);
		allgatherv(*s);
		alltoall(*s);
		alltoallv(*s, false);
		alltoallv(*s, true);
	}
}

/*
 * Several non-blocking ones in flight at once, on communicators of their own, waited for in reverse
 * order.
 */
static void overlapped(void)
{
	enum {
		N = 6,
		BYTES = 20001
	};
	MPI_Request request[N];
	MPI_Comm comm[N];
	uint8_t *buf[N];

	mt_part("several at once");
	for (int i = 0; i < N; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
		buf[i] = mt_alloc(BYTES);
		if (mt.rank == i % mt.ranks)
			mt_fill(buf[i], BYTES, (uint64_t)i);
	}
	for (int i = 0; i < N; i++)
		MPI_Ibcast(buf[i], BYTES, MPI_BYTE, i % mt.ranks, comm[i], &request[i]);
	for (int i = N - 1; i >= 0; i--)
		MPI_Wait(&request[i], MPI_STATUS_IGNORE);
	for (int i = 0; i < N; i++) {
		mt_same(buf[i], BYTES, (uint64_t)i, "Ibcast");
		free(buf[i]);
		MPI_Comm_free(&comm[i]);
	}
}

static void run(MPI_Comm comm, const char *blocking, const char *nonblocking)
{
	at.comm = comm;
	MPI_Comm_rank(comm, &at.rank);
	MPI_Comm_size(comm, &at.ranks);
	for (int pass = 0; pass < 2; pass++) {
		at.nonblocking = pass == 1;
		mt_part(pass ? nonblocking : blocking);
		barrier();
		sizes();
	}
}

int main(int argc, char **argv)
{
	MPI_Comm turned, half;

	mt_start(argc, argv, MPI_THREAD_SINGLE);
	MT_CHECK(mt.ranks <= 60, "this is for 60 ranks at most");
	MPI_Comm_split(MPI_COMM_WORLD, 0, -mt.rank, &turned);
	MPI_Comm_split(MPI_COMM_WORLD, mt.rank % 2, mt.rank, &half);
	run(MPI_COMM_WORLD, "the world, blocking", "the world, non-blocking");
	if (!mt.quick)
		run(turned, "turned, blocking", "turned, non-blocking");
	run(half, "both halves, blocking", "both halves, non-blocking");
	overlapped();
	MPI_Comm_free(&turned);
	MPI_Comm_free(&half);
	return mt_end();
}
