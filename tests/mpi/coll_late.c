/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking collectives while a rank does not run.
 *
 *	coll_late stop|kill FILE
 *
 * stop: the last rank starts its part of some collectives, writes its process number to FILE and
 * stops itself while it computes; the others end theirs meanwhile: bcast, allreduce, barrier, and
 * reduce to another rank and to the one that is stopped. kill: it kills itself before it starts its
 *part; the others' collective ends with an error, or the launcher ends them.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WORDS = 5000,
	ROUNDS = 3,
	CALLS = 5, /* in a round */
};

static int rank, ranks;

static void stop(const char *file)
{
	FILE *f = fopen(file, "w");

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	raise(SIGSTOP);
}

static void stopped(const char *file)
{
	static int in[ROUNDS][WORDS], sums[ROUNDS][WORDS], roots[ROUNDS][WORDS];
	static int first[ROUNDS][WORDS], last[ROUNDS][WORDS];
	MPI_Request requests[CALLS * ROUNDS];
	int i, k;

	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < WORDS; i++)
			in[k][i] = roots[k][i] = i * (rank + 1) + k;
		MPI_Iallreduce(in[k], sums[k], WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[CALLS * k]);
		MPI_Ibcast(roots[k], WORDS, MPI_INT, 0, MPI_COMM_WORLD, &requests[CALLS * k + 1]);
		MPI_Ibarrier(MPI_COMM_WORLD, &requests[CALLS * k + 2]);
		MPI_Ireduce(in[k], first[k], WORDS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD,
			    &requests[CALLS * k + 3]);
		MPI_Ireduce(in[k], last[k], WORDS, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD,
			    &requests[CALLS * k + 4]);
	}
	if (rank == ranks - 1)
		stop(file);
	MPI_Waitall(CALLS * ROUNDS, requests, MPI_STATUSES_IGNORE);
	for (k = 0; k < ROUNDS; k++)
		for (i = 0; i < WORDS; i++)
			if (sums[k][i] != i * ranks * (ranks + 1) / 2 + k * ranks ||
			    roots[k][i] != i + k || (rank == 0 && first[k][i] != sums[k][i]) ||
			    (rank == ranks - 1 && last[k][i] != sums[k][i]))
				MPI_Abort(MPI_COMM_WORLD, 2);
	if (rank == 0) {
		printf("through\n");
		fflush(stdout);
	}
}

static void killed(void)
{
	int one = 1, sum = 0, rc;
	MPI_Request request;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == ranks - 1)
		raise(SIGKILL);
	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	fprintf(stderr, "rank %d: the collective ended with %s\n", rank,
		rc == MPI_SUCCESS ? "success" : "an error");
	_exit(rc == MPI_SUCCESS ? 0 : 3);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 3 && !strcmp(argv[1], "stop"))
		stopped(argv[2]);
	else
		killed();
	MPI_Finalize();
	return 0;
}
