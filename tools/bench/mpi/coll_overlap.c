/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a non-blocking collective overlaps with computation, by OSU's formula.
 *
 *	coll_overlap [BYTES,...] [COLLECTIVE,...] [ITERATIONS]
 *
 * Every rank does the same: pure is the time of the call and MPI_Wait(); then the rank computes for
 * as long as pure between the two, without calls of MPI. overlap = 1 - (total - compute) / pure,
 *not below 0. Bytes are of a rank's block. Prints COLLECTIVE BYTES PURE_US TOTAL_US CALL_US
 *OVERLAP, medians of the iterations, the greatest of the ranks.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WARM_UP = 5,
	MAX_ITERATIONS = 1000,
};

static const char *const names[] = {"ibarrier",  "ibcast",  "iallreduce", "iallgather",
				    "ialltoall", "ireduce", "igather",    "iscatter"};

static int rank, ranks, iterations = 40;
static char *in, *out;
static volatile uint64_t sink;
static double loops_per_s;

static void compute(double seconds)
{
	uint64_t n = (uint64_t)(seconds * loops_per_s), x = sink, i;

	for (i = 0; i < n; i++)
		x = x * UINT64_C(6364136223846793005) + i;
	sink = x;
}

static void calibrate(void)
{
	double start, best = 1e9;
	int i;

	loops_per_s = 1e8;
	for (i = 0; i < 10; i++) {
		start = MPI_Wtime();
		compute(0.002);
		if (MPI_Wtime() - start < best)
			best = MPI_Wtime() - start;
	}
	loops_per_s *= 0.002 / best;
}

static void start(int coll, int bytes, MPI_Request *r)
{
	MPI_Comm c = MPI_COMM_WORLD;
	int words = bytes / 4;

	switch (coll) {
	case 0:
		MPI_Ibarrier(c, r);
		break;
	case 1:
		MPI_Ibcast(in, bytes, MPI_CHAR, 0, c, r);
		break;
	case 2:
		MPI_Iallreduce(in, out, words, MPI_FLOAT, MPI_SUM, c, r);
		break;
	case 3:
		MPI_Iallgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, c, r);
		break;
	case 4:
		MPI_Ialltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, c, r);
		break;
	case 5:
		MPI_Ireduce(in, out, words, MPI_FLOAT, MPI_SUM, 0, c, r);
		break;
	case 6:
		MPI_Igather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, c, r);
		break;
	default:
		MPI_Iscatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, c, r);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the median time with that much computation; *call_s: of the call that starts it. */
static double measure(int coll, int bytes, double compute_s, double *call_s)
{
	double times[MAX_ITERATIONS] = {0}, calls[MAX_ITERATIONS] = {0}, begin;
	MPI_Request r;
	int i;

	for (i = -WARM_UP; i < iterations; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		start(coll, bytes, &r);
		if (i >= 0)
			calls[i] = MPI_Wtime() - begin;
		if (compute_s > 0)
			compute(compute_s);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		if (i >= 0)
			times[i] = MPI_Wtime() - begin;
	}
	qsort(times, (size_t)iterations, sizeof(*times), by_value);
	qsort(calls, (size_t)iterations, sizeof(*calls), by_value);
	*call_s = calls[iterations / 2];
	return times[iterations / 2];
}

static void one(int coll, int bytes)
{
	double call, mine[3], all[3], overlap;

	mine[0] = measure(coll, bytes, 0, &call);
	MPI_Allreduce(mine, all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	mine[1] = measure(coll, bytes, all[0], &mine[2]);
	MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	overlap = 1 - (all[1] - all[0]) / all[0];
	if (rank == 0)
		printf("%-10s %8d %10.2f %10.2f %8.2f %6.3f\n", names[coll], bytes, all[0] * 1e6,
		       all[1] * 1e6, all[2] * 1e6, overlap > 0 ? overlap : 0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *sizes = argc > 1 ? argv[1] : "8,4096,65536,1048576";
	const char *which = argc > 2 ? argv[2] : "all", *at;
	size_t room = 1 << 20;
	char *end;
	int coll;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc > 3)
		iterations = atoi(argv[3]);
	if (iterations < 1 || iterations > MAX_ITERATIONS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (at = sizes; at; at = *end ? end + 1 : NULL)
		if ((size_t)strtol(at, &end, 10) > room)
			room = (size_t)strtol(at, &end, 10);
	in = calloc((size_t)ranks, room);
	out = calloc((size_t)ranks, room);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	calibrate();
	for (coll = 0; coll < (int)(sizeof(names) / sizeof(names[0])); coll++) {
		if (strcmp(which, "all") != 0 && !strstr(which, names[coll]))
			continue;
		for (at = sizes; at; at = *end ? end + 1 : NULL) {
			long bytes = strtol(at, &end, 10);

			one(coll, (int)bytes);
			if (coll == 0)
				break;
		}
	}
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
