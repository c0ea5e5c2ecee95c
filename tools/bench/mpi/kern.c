/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the kernels of kern.h: time in MPI calls and total time, and a check of the result.
 *
 *	kern SECONDS NAME...		(cg, mg, lu, radix, smg, is_w, is_a)
 *	kern SECONDS pingpong|both|persistent|fresh:BYTES...	(two ranks)
 *
 * tools/plot/iwarp.py starts it with mpirun on a power of two of ranks; it is built with mpicc
 * where there is one. Rank 0 prints a JSON array with the median of RUNS runs of each, and the
 * extremes: for kernels us of one step, in MPI calls (comm) and in all (run), and the memory of the
 * largest rank. Exit status 1 when a result is wrong.
 */
#include "tools/bench/mpi/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/stats.h"

enum {
	RUNS = 5,
	MIN_STEPS = 2,
	MAX_STEPS = 2000,
	CHECK_STEPS = 3,
	MAX_RANKS = 64,
	MAX_BYTES = 64 << 20,
};

static const struct kern *const kernels[] = {&kern_cg,  &kern_mg,   &kern_lu,  &kern_radix,
					     &kern_smg, &kern_is_w, &kern_is_a};
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
		    double *part_us, double *run_us)
{
	double mine[3], most[3], begun;

	team->comm_s = team->part_s = 0;
	MPI_Barrier(team->comm);
	begun = MPI_Wtime();
	(void)k->run(team, steps);
	mine[0] = MPI_Wtime() - begun;
	mine[1] = team->comm_s;
	mine[2] = team->part_s;
	MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, team->comm);
	*run_us = most[0] * 1e6 / steps;
	*comm_us = most[1] * 1e6 / steps;
	*part_us = most[2] * 1e6 / steps;
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

/* The most memory that a rank has had, of all ranks. */
static long most_rss_kib(const struct kern_team *team)
{
	struct rusage usage;
	long most;

	getrusage(RUSAGE_SELF, &usage);
	MPI_Allreduce(&usage.ru_maxrss, &most, 1, MPI_LONG, MPI_MAX, team->comm);
	return most;
}

static void one(const struct kern *k, struct kern_team *team, double seconds)
{
	double comm[RUNS], part[RUNS], run[RUNS];
	int steps = MIN_STEPS;
	long rss_kib;

	check(k, team);
	measure(k, team, steps, &comm[0], &part[0], &run[0]);
	if (run[0] > 0 && seconds * 1e6 / RUNS / run[0] > steps)
		steps = (int)fmin(seconds * 1e6 / RUNS / run[0], MAX_STEPS);
	MPI_Bcast(&steps, 1, MPI_INT, 0, team->comm);
	for (int i = 0; i < RUNS; i++)
		measure(k, team, steps, &comm[i], &part[i], &run[i]);
	rss_kib = most_rss_kib(team);
	if (team->rank)
		return;
	begin_row(k->name, team);
	figure("comm_us", comm);
	figure("run_us", run);
	if (k->part)
		figure(k->part, part);
	printf(", \"rss_kib\": %ld", rss_kib);
	printf("}");
}

static const char *const kinds[] = {
    [KERN_PING] = "pingpong",
    [KERN_BOTH] = "both",
    [KERN_PERSISTENT] = "persistent",
    [KERN_FRESH] = "fresh",
};

static void messages(struct kern_team *team, enum kern_messages kind, int bytes, double seconds)
{
	double values[RUNS];

	if (!kern_p2p(team, kind, bytes, seconds, values, RUNS))
		die("wrong bytes came");
	if (team->rank)
		return;
	begin_row(kinds[kind], team);
	printf(", \"bytes\": %d", bytes);
	figure(kind == KERN_PING ? "us" : "mib_s", values);
	printf("}");
}

/* False: unknown name. */
static bool measure_one(struct kern_team *team, const char *what, double seconds)
{
	const char *colon = strchr(what, ':');

	for (unsigned int i = 0; colon && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int bytes = atoi(colon + 1);

		if (strlen(kinds[i]) != (size_t)(colon - what) ||
		    strncmp(kinds[i], what, (size_t)(colon - what)) != 0)
			continue;
		if (team->ranks != 2 || bytes < 1 || bytes > MAX_BYTES)
			return false;
		messages(team, (enum kern_messages)i, bytes, seconds);
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
			"usage: mpirun -n 2|4|...|%d kern SECONDS cg|mg|lu|radix|smg|is_w|is_a...\n"
			"       mpirun -n 2 kern SECONDS pingpong|both|persistent|fresh:BYTES...\n",
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
