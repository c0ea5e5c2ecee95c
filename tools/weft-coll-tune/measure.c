/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of MPI's collectives on the NIC and in the component before coll/weft.
 *
 * Both are measured in one run of one program: the parameter coll_weft_force, which all ranks set
 * alike (MPI_T), sends calls to the one or the other. They take turns, so that what else the
 * machine does hits both.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stats.h"
#include "tools/weft-coll-tune/tune.h"

enum {
	WARM_UP = 3,
	TURN = 10, /* iterations of one choice before the other */
	CALIBRATIONS = 10,
};

/* In the order of start(). */
const struct tune_coll tune_colls[] = {
    {"barrier", false, false},
    {"bcast", true, false},
    {"gather", true, false},
    {"scatter", true, false},
    {"allgather", true, false},
    {"alltoall", true, false},
    {"reduce", true, false},
    {"allreduce", true, false},
    {"scan", true, false},
    {"exscan", true, false},
    {"reduce_scatter_block", true, false},
    {"reduce_scatter", true, false},
    {"allgatherv", true, false},
    {"gatherv", true, true},
    {"scatterv", true, true},
    {"alltoallv", true, true},
};
const uint32_t tune_num_colls = sizeof(tune_colls) / sizeof(tune_colls[0]);

static int rank, ranks;
static char *in, *out;
static int *counts, *displs;
static MPI_T_cvar_handle force;
static double loops_per_s = 1e8;
static volatile uint64_t sink;

static void compute(double seconds)
{
	uint64_t n = (uint64_t)(seconds * loops_per_s), x = sink, i;

	for (i = 0; i < n; i++)
		x = x * UINT64_C(6364136223846793005) + i;
	sink = x;
}

static void calibrate(void)
{
	double best = 1e9;
	int i;

	for (i = 0; i < CALIBRATIONS; i++) {
		double start = MPI_Wtime();

		compute(0.002);
		if (MPI_Wtime() - start < best)
			best = MPI_Wtime() - start;
	}
	loops_per_s *= 0.002 / best;
}

bool tune_begin(size_t room)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	in = calloc((size_t)ranks, room);
	out = calloc((size_t)ranks, room);
	counts = calloc((size_t)ranks, sizeof(*counts));
	displs = calloc((size_t)ranks, sizeof(*displs));
	calibrate();
	return in && out && counts && displs;
}

void tune_end(void)
{
	free(in);
	free(out);
	free(counts);
	free(displs);
	MPI_T_cvar_handle_free(&force);
}

static bool find_var(const char *name, MPI_T_cvar_handle *handle)
{
	int index, count;

	return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
	       MPI_T_cvar_handle_alloc(index, NULL, handle, &count) == MPI_SUCCESS && count == 1;
}

bool tune_find(const char **why)
{
	MPI_T_cvar_handle joined;
	int value = 0;

	*why = "coll/weft is not loaded: start it by weft-run mpirun";
	if (!find_var("coll_weft_force", &force) || !find_var("coll_weft_joined", &joined))
		return false;
	*why = "coll/weft has no NIC (is weftd running?), or there is one rank alone";
	MPI_T_cvar_read(joined, &value);
	MPI_T_cvar_handle_free(&joined);
	return value;
}

#define BLOCKING(small, large)    MPI_##large(
#define NONBLOCKING(small, large) MPI_I##small(
#define COMMA ,
/* name(small, large) opens the argument list, tail ends it. */
#define CALL(name, tail)                                                                           \
	switch (coll) {                                                                            \
	case 0:                                                                                    \
		name(barrier, Barrier) w tail);                                                    \
		break;                                                                             \
	case 1:                                                                                    \
		name(bcast, Bcast) in, n, MPI_BYTE, 0, w tail);                                    \
		break;                                                                             \
	case 2:                                                                                    \
		name(gather, Gather) in, n, MPI_BYTE, out, n, MPI_BYTE, 0, w tail);                \
		break;                                                                             \
	case 3:                                                                                    \
		name(scatter, Scatter) in, n, MPI_BYTE, out, n, MPI_BYTE, 0, w tail);              \
		break;                                                                             \
	case 4:                                                                                    \
		name(allgather, Allgather) in, n, MPI_BYTE, out, n, MPI_BYTE, w tail);             \
		break;                                                                             \
	case 5:                                                                                    \
		name(alltoall, Alltoall) in, n, MPI_BYTE, out, n, MPI_BYTE, w tail);               \
		break;                                                                             \
	case 6:                                                                                    \
		name(reduce, Reduce) in, out, d, MPI_DOUBLE, MPI_SUM, 0, w tail);                  \
		break;                                                                             \
	case 7:                                                                                    \
		name(allreduce, Allreduce) in, out, d, MPI_DOUBLE, MPI_SUM, w tail);               \
		break;                                                                             \
	case 8:                                                                                    \
		name(scan, Scan) in, out, d, MPI_DOUBLE, MPI_SUM, w tail);                         \
		break;                                                                             \
	case 9:                                                                                    \
		name(exscan, Exscan) in, out, d, MPI_DOUBLE, MPI_SUM, w tail);                     \
		break;                                                                             \
	case 10:                                                                                   \
		name(reduce_scatter_block, Reduce_scatter_block)                                   \
		in, out, d, MPI_DOUBLE, MPI_SUM, w tail);                                          \
		break;                                                                             \
	case 11:                                                                                   \
		name(reduce_scatter, Reduce_scatter)                                               \
		in, out, counts, MPI_DOUBLE, MPI_SUM, w tail);                                     \
		break;                                                                             \
	case 12:                                                                                   \
		name(allgatherv, Allgatherv)                                                       \
		in, n, MPI_BYTE, out, counts, displs, MPI_BYTE, w tail);                           \
		break;                                                                             \
	case 13:                                                                                   \
		name(gatherv, Gatherv)                                                             \
		in, n, MPI_BYTE, out, counts, displs, MPI_BYTE, 0, w tail);                        \
		break;                                                                             \
	case 14:                                                                                   \
		name(scatterv, Scatterv)                                                           \
		in, counts, displs, MPI_BYTE, out, n, MPI_BYTE, 0, w tail);                        \
		break;                                                                             \
	default:                                                                                   \
		name(alltoallv, Alltoallv)                                                         \
		in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, w tail);              \
	}

static void run(uint32_t coll, int n)
{
	MPI_Comm w = MPI_COMM_WORLD;
	int d = n / (int)sizeof(double);

	CALL(BLOCKING, )
}

static void start(uint32_t coll, int n, MPI_Request *request)
{
	MPI_Comm w = MPI_COMM_WORLD;
	int d = n / (int)sizeof(double);

	CALL(NONBLOCKING, COMMA request)
}

static double once(uint32_t coll, bool nonblocking, int bytes, double compute_s)
{
	MPI_Request request;
	double begin;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	if (nonblocking) {
		start(coll, bytes, &request);
		if (compute_s > 0)
			compute(compute_s);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		run(coll, bytes);
	}
	return MPI_Wtime() - begin;
}

static double median(double *times, uint32_t num)
{
	static double all[TUNE_ITERATIONS];

	MPI_Allreduce(times, all, (int)num, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return stats_median(all, num);
}

static void choose(int value)
{
	if (MPI_T_cvar_write(force, &value) != MPI_SUCCESS) {
		fprintf(stderr, "weft-coll-tune: coll_weft_force cannot be set\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static struct tune_times both(uint32_t coll, bool nonblocking, int bytes, uint32_t iterations,
			      double compute_s)
{
	static double times[2][TUNE_ITERATIONS];
	struct tune_times result;
	uint32_t done, turn, i;

	for (done = 0; done < iterations; done += TURN)
		for (turn = 0; turn < 2; turn++) {
			choose(turn ? TUNE_PREVIOUS : TUNE_WEFT);
			for (i = 0; i < WARM_UP; i++)
				(void)once(coll, nonblocking, bytes, 0);
			for (i = done; i < done + TURN && i < iterations; i++)
				times[turn][i] = once(coll, nonblocking, bytes, compute_s);
		}
	choose(TUNE_PREVIOUS);
	result.weft = median(times[0], iterations);
	result.previous = median(times[1], iterations);
	return result;
}

struct tune_times tune_measure(uint32_t coll, bool nonblocking, size_t bytes, uint32_t iterations)
{
	bool doubles = !strcmp(tune_colls[coll].name, "reduce_scatter");
	struct tune_times t;
	int i;

	for (i = 0; i < ranks; i++) {
		counts[i] = (int)(doubles ? bytes / sizeof(double) : bytes);
		displs[i] = i * (int)bytes;
	}
	t = both(coll, nonblocking, (int)bytes, iterations, 0);
	if (!nonblocking)
		return t;
	return both(coll, true, (int)bytes, iterations, t.weft < t.previous ? t.weft : t.previous);
}
