/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic without a pause for --rounds seconds, for tests that disturb it: messages of --max-bytes
 * back and forth between two ranks, and after each a sum over all ranks by MPI_Iallreduce, which
 * coll/weft lets the NIC carry out; --quick: sums alone. Every byte and every sum is checked.
 * tests/ops/upgrade_programs.sh runs it. Calls mt.c and MPI.
 */
#include <stdlib.h>

#include "tests/mpi/mt.h"

enum {
	SUMS = 64,
};

/* A message there and back; the pattern differs in each round. */
static void message(uint8_t *out, uint8_t *in, int round)
{
	int peer = mt.rank ^ 1, bytes = (int)mt.max_bytes;

	if (peer >= mt.ranks)
		return;
	mt_fill(out, mt.max_bytes, mt_seed(mt.rank, peer, round, mt.max_bytes));
	if (mt.rank < peer)
		MPI_Send(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
	MPI_Recv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	mt_same(in, mt.max_bytes, mt_seed(peer, mt.rank, round, mt.max_bytes), "received");
	if (mt.rank > peer)
		MPI_Send(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}

/* Returns whether rank 0 goes on. */
static bool sum(int round, bool more)
{
	long mine[SUMS], all[SUMS];
	MPI_Request request;

	for (int i = 0; i < SUMS; i++)
		mine[i] = i == 0 ? more && mt.rank == 0 : (long)round * i + mt.rank;
	MPI_Iallreduce(mine, all, SUMS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 1; i < SUMS; i++) {
		long right = (long)mt.ranks * round * i + (long)mt.ranks * (mt.ranks - 1) / 2;

		MT_CHECK(all[i] == right, "sum %d of round %d: %ld, not %ld", i, round, all[i],
			 right);
	}
	mt.checks++;
	return all[0];
}

int main(int argc, char **argv)
{
	uint8_t *out, *in;
	double end;
	int round = 0;

	mt_start(argc, argv, MPI_THREAD_SINGLE);
	out = mt_alloc(mt.max_bytes);
	in = mt_alloc(mt.max_bytes);
	end = MPI_Wtime() + mt.rounds;
	do {
		mt_part("messages and sums");
		if (!mt.quick)
			message(out, in, round);
	} while (sum(round++, MPI_Wtime() < end));
	free(out);
	free(in);
	return mt_end();
}
