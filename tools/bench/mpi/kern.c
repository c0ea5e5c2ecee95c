/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the kernels of kern.h: time in MPI calls and total time, and a check of the result.
 *
 *	kern SECONDS NAME...		(cg, mg, lu, radix, smg)
 *	kern SECONDS pingpong:BYTES|both:BYTES...	(two ranks)
 *
 * tools/plot/iwarp.py starts it with mpirun on a power of two of ranks; it is built with mpicc
 * where there is one. Rank 0 prints a JSON array with the median of RUNS runs of each, and the
 * extremes: for kernels us of one step, in MPI calls (comm) and in all (run). Exit status 1 when a
 * result is wrong.
 */
#include "tools/bench/mpi/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stats.h"

enum {
	RUNS = 5,
	MIN_STEPS = 2,
	MAX_STEPS = 2000,
	CHECK_STEPS = 3,
	MAX_RANKS = 64,
	MAX_BYTES = 64 << 20,
};

static const struct kern *const kernels[] = {&kern_cg, &kern_mg, &kern_lu, &kern_radix, &kern_smg};
enum {
	KERNELS = sizeof(kernels) / sizeof(kernels[0]),
};

static void die(const char *what)
{
	fprintf(stderr, "kern: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

void *kern_room(size_t count, size_t bytes)
{
	void *p = calloc(count ? count : 1, bytes);

	if (!p)
		die("out of memory");
	return p;
}

void kern_mix(uint64_t *sum, uint64_t place, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits ^= place * UINT64_C(0x9e3779b97f4a7c15);
	bits *= UINT64_C(0xbf58476d1ce4e5b9);
	*sum += bits ^ bits >> 31;
}

double kern_total(struct kern_team *team, uint64_t sum)
{
	uint64_t total = sum;

	if (team->ranks > 1)
		MPI_Allreduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, team->comm);
	return (double)(total >> 11);
}

/* All ranks wait for each other before and after; the slowest rank's time counts. */
static void measure(const struct kern *k, struct kern_team *team, int steps, double *comm_us,
		    double *run_us)
{
	double mine[2], most[2], begun;

	team->comm_s = 0;
	MPI_Barrier(team->comm);
	begun = MPI_Wtime();
	(void)k->run(team, steps);
	mine[0] = MPI_Wtime() - begun;
	mine[1] = team->comm_s;
	MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, team->comm);
	*run_us = most[0] * 1e6 / steps;
	*comm_us = most[1] * 1e6 / steps;
}

static void check(const struct kern *k, struct kern_team *team)
{
	struct kern_team alone = {.comm = MPI_COMM_SELF, .ranks = 1};
	double have = k->run(team, CHECK_STEPS), want = have;

	if (!team->rank)
		want = k->run(&alone, CHECK_STEPS);
	if (k->exact ? have != want : !(fabs(have - want) <= 1e-9 * fabs(want))) {
		fprintf(stderr, "kern: %s on %d ranks gave %.17g, one rank %.17g\n", k->name,
			team->ranks, have, want);
		die("a wrong result");
	}
}

/* The median of RUNS values and the extremes. */
static void figure(const char *name, double *values)
{
	stats_sort(values, RUNS);
	printf(", \"%s\": %.3f, \"%s_min\": %.3f, \"%s_max\": %.3f", name, values[RUNS / 2], name,
	       values[0], name, values[RUNS - 1]);
}

static void begin_row(const char *name, const struct kern_team *team)
{
	static bool begun;

	printf("%s{\"kernel\": \"%s\", \"ranks\": %d", begun ? ",\n " : "[", name, team->ranks);
	begun = true;
}

static void one(const struct kern *k, struct kern_team *team, double seconds)
{
	double comm[RUNS], run[RUNS];
	int steps = MIN_STEPS;

	check(k, team);
	measure(k, team, steps, &comm[0], &run[0]);
	if (run[0] > 0 && seconds * 1e6 / RUNS / run[0] > steps)
		steps = (int)fmin(seconds * 1e6 / RUNS / run[0], MAX_STEPS);
	MPI_Bcast(&steps, 1, MPI_INT, 0, team->comm);
	for (int i = 0; i < RUNS; i++)
		measure(k, team, steps, &comm[i], &run[i]);
	if (team->rank)
		return;
	begin_row(k->name, team);
	figure("comm_us", comm);
	figure("run_us", run);
	printf("}");
}

static void messages(struct kern_team *team, bool both, int bytes, double seconds)
{
	double values[RUNS];

	if (!kern_p2p(team, both, bytes, seconds, values, RUNS))
		die("wrong bytes came");
	if (team->rank)
		return;
	begin_row(both ? "both" : "pingpong", team);
	printf(", \"bytes\": %d", bytes);
	figure(both ? "mib_s" : "us", values);
	printf("}");
}

/* False: unknown name. */
static bool measure_one(struct kern_team *team, const char *what, double seconds)
{
	int bytes;

	if (sscanf(what, "pingpong:%d", &bytes) == 1 || sscanf(what, "both:%d", &bytes) == 1) {
		if (team->ranks != 2 || bytes < 1 || bytes > MAX_BYTES)
			return false;
		messages(team, what[0] == 'b', bytes, seconds);
		return true;
	}
	for (int i = 0; i < KERNELS; i++)
		if (!strcmp(kernels[i]->name, what)) {
			one(kernels[i], team, seconds);
			return true;
		}
	return false;
}

static int usage(const struct kern_team *team)
{
	if (!team->rank)
		fprintf(stderr,
			"usage: mpirun -n 2|4|...|%d kern SECONDS cg|mg|lu|radix|smg...\n"
			"       mpirun -n 2 kern SECONDS pingpong:BYTES|both:BYTES...\n",
			MAX_RANKS);
	MPI_Finalize();
	return 2;
}

int main(int argc, char **argv)
{
	struct kern_team team = {.comm = MPI_COMM_WORLD};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(team.comm, &team.rank);
	MPI_Comm_size(team.comm, &team.ranks);
	if (argc < 3 || atof(argv[1]) <= 0 || team.ranks > MAX_RANKS ||
	    team.ranks & (team.ranks - 1))
		return usage(&team);
	for (int i = 2; i < argc; i++)
		if (!measure_one(&team, argv[i], atof(argv[1])))
			return usage(&team);
	if (!team.rank)
		puts("]");
	MPI_Finalize();
	return 0;
}
