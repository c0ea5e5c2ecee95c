/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to goal-bench and its MPI counterpart (tools/bench/mpi/mpi_base.c), so that both measure
 * the same: specifications (NAME[:BYTES[:ALGORITHM]]), the clock, data and its check, work of a
 * given time, and medians. The method is that of ESPGOAL 6.5.
 */
#ifndef WEFT_GOAL_BENCH_SPEC_H
#define WEFT_GOAL_BENCH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum spec_coll {
	SPEC_BARRIER,
	SPEC_BCAST,
	SPEC_ALLREDUCE,
	SPEC_GATHER,
	SPEC_COLLS
};

enum {
	SPEC_MAX = 16, /* in one run of the program */
	SPEC_MAX_BYTES = 1 << 26,
};

struct spec {
	enum spec_coll coll;
	size_t bytes; /* of bcast and allreduce the vector, of gather a rank's block; 8 each if not
			 said */
	char alg[32]; /* "auto" if not said */
	char name[64];
};

/* 0, or -1 when the text names no collective or amount. */
int spec_parse(const char *text, struct spec *spec);
/* True if the collective waits for all ranks by itself; otherwise a barrier precedes it. */
bool spec_synchronizes(const struct spec *spec);
/* Bytes that rank 0 needs for the result of ranks. */
size_t spec_room(const struct spec *spec, int ranks);

/* Zeroed pages of their own; NULL. Freed with the process or spec_free(). */
void *spec_alloc(size_t bytes);
void spec_free(void *mem, size_t bytes);

/* Rank's 64-bit words in a round; the sums of an allreduce are of these. */
void spec_fill(uint64_t *data, size_t bytes, int rank, int round);
/* The number of wrong words after the collective. */
uint64_t spec_check(const struct spec *spec, const uint64_t *data, int rank, int ranks, int round);

/*
 * Times of all ranks, times[rank * runs + run], into the mean over the ranks of each run, and of
 * these the median (ESPGOAL 6.5), the least and the largest; largest_us is the median over runs of
 * the slowest rank.
 */
struct spec_times {
	double median_us, min_us, max_us, p95_us, slowest_us;
};
int spec_times(const double *times, int ranks, int runs, struct spec_times *out);

/* Arithmetic that takes about us, by no clock: calibrated once. Never optimized away. */
void spec_compute(double us);

#endif /* WEFT_GOAL_BENCH_SPEC_H */
