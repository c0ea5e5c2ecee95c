/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI side of the goal_* rows: the same as tools/goal-bench with an MPI library, by the method
 * of ESPGOAL 6.3, 6.5 and 6.6; and both sides of the mpi_* rows. Started with mpirun by
 * tools/bench/goal.py and mpi.py, built with mpicc where there is one; calls spec.c and matmul.c of
 * goal-bench.
 *
 *	mpi_base coll SECONDS NAME[:BYTES[:ALGORITHM]]...	(the algorithm is mpirun's)
 *	mpi_base pingpong SECONDS BYTES...
 *	mpi_base stream SECONDS BYTES...			(one way, a window at a time)
 *	mpi_base overlap SECONDS barrier|allreduce:BYTES...
 *	mpi_base matmul SECONDS N...				(with MPI_Ibarrier)
 *
 * Rank 0 prints a JSON array as goal-bench does. In overlap and matmul rank 0 computes, alone on
 * the first CPU that it may use; the others wait in MPI_Wait() on the remaining CPUs, which makes
 * progress on their part of the collective.
 */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/goal-bench/matmul.h"
#include "tools/goal-bench/spec.h"

enum {
	WARM_RUNS = 50,
	MIN_RUNS = 20,
	MAX_RUNS = 20000,
	ROUNDS = 100,
	WINDOW = 8,
	WARM_OVERLAPS = 10,
	MIN_OVERLAPS = 5,
	MAX_OVERLAPS = 1000,
};

enum phase {
	PURE,
	BUSY,
	TESTED,
	PURE_ALL, /* of all ranks at once, as the OSU benchmarks do */
	BUSY_ALL,
};

static int rank, ranks, rows;
static double seconds;

static void die(const char *what)
{
	fprintf(stderr, "mpi_base: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static void *room(size_t count, size_t bytes)
{
	void *p = calloc(count ? count : 1, bytes);

	if (!p)
		die("out of memory");
	return p;
}

/* One for all. */
static int runs_for(double us, int least, int most)
{
	double count = us > 0 ? seconds * 1e6 / us : most;
	int runs = count < least ? least : count > most ? most : (int)count;

	MPI_Bcast(&runs, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return runs;
}

static const char *comma(void)
{
	return rows++ ? ",\n " : "";
}

/* ---- collectives
 * ---------------------------------------------------------------------------------
 */

static void collective(const struct spec *s, uint64_t *send, uint64_t *recv)
{
	int n = (int)s->bytes;

	switch (s->coll) {
	case SPEC_BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case SPEC_BCAST:
		MPI_Bcast(recv, n, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case SPEC_ALLREDUCE:
		MPI_Allreduce(send, recv, n / 8, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		break;
	case SPEC_GATHER:
		MPI_Gather(send, n, MPI_BYTE, recv, n, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case SPEC_COLLS:
		break;
	}
}

static double one(const struct spec *s, uint64_t *send, uint64_t *recv, int round)
{
	double start, us;

	if (s->coll == SPEC_BCAST && rank == 0)
		spec_fill(recv, s->bytes, 0, round);
	else if (s->coll != SPEC_BCAST)
		spec_fill(send, s->bytes, rank, round);
	if (!spec_synchronizes(s))
		MPI_Barrier(MPI_COMM_WORLD);
	start = clock_now_us();
	collective(s, send, recv);
	us = clock_now_us() - start;
	if (spec_check(s, recv, rank, ranks, round))
		die("wrong words");
	return us;
}

static void coll(const struct spec *s)
{
	uint64_t *send = spec_alloc(spec_room(s, ranks)), *recv = spec_alloc(spec_room(s, ranks));
	double *times, *all, warm = clock_now_us();
	struct spec_times t;
	int i, runs;

	if (!send || !recv)
		die("out of memory");
	for (i = 1; i <= WARM_RUNS; i++)
		one(s, send, recv, i);
	runs = runs_for((clock_now_us() - warm) / WARM_RUNS, MIN_RUNS, MAX_RUNS);
	times = room((size_t)runs, sizeof(*times));
	all = room((size_t)runs * (size_t)ranks, sizeof(*all));
	for (i = 0; i < runs; i++)
		times[i] = one(s, send, recv, WARM_RUNS + 1 + i);
	MPI_Gather(times, runs, MPI_DOUBLE, all, runs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0 && spec_times(all, ranks, runs, &t) == 0)
		printf("%s{\"name\": \"%s\", \"ranks\": %d, \"runs\": %d, \"us\": %.3f, "
		       "\"min_us\": %.3f, "
		       "\"max_us\": %.3f, \"p95_us\": %.3f, \"slowest_us\": %.3f}",
		       comma(), s->name, ranks, runs, t.median_us, t.min_us, t.max_us, t.p95_us,
		       t.slowest_us);
	free(times);
	free(all);
	spec_free(send, spec_room(s, ranks));
	spec_free(recv, spec_room(s, ranks));
	MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- ping-pong
 * -----------------------------------------------------------------------------------
 */

static double rounds(uint8_t *out, uint8_t *in, int bytes)
{
	double start = clock_now_us();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			MPI_Send(out, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
			MPI_Recv(in, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(in, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
		}
	}
	return (clock_now_us() - start) / (2 * ROUNDS);
}

static void pingpong(int bytes)
{
	uint8_t *out = spec_alloc((size_t)bytes), *in = spec_alloc((size_t)bytes);
	double *half, us = 0;
	int i, runs;

	if (!out || !in)
		die("out of memory");
	spec_fill((uint64_t *)(void *)out, (size_t)bytes, rank, 1);
	for (i = 0; i < 3; i++)
		us = rounds(out, in, bytes);
	runs = runs_for(us * 2 * ROUNDS, 5, 2000);
	half = room((size_t)runs, sizeof(*half));
	for (i = 0; i < runs; i++)
		half[i] = rounds(out, in, bytes);
	if (rank == 0 && memcmp(out, in, (size_t)bytes))
		die("wrong bytes came back");
	us = stats_median_mean(half, (size_t)runs);
	if (rank == 0)
		printf("%s{\"name\": \"pingpong\", \"bytes\": %d, \"runs\": %d, \"us\": %.3f}",
		       comma(), bytes, runs, us);
	free(half);
	spec_free(out, (size_t)bytes);
	spec_free(in, (size_t)bytes);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- stream
 * --------------------------------------------------------------------------------------
 */

/*
 * Microseconds of a message: WINDOW of them from rank 0, each with a buffer of its own, and a word
 * back.
 */
static double window(uint8_t *buffers, int bytes)
{
	MPI_Request request[WINDOW];
	double start = clock_now_us();
	int i;

	for (i = 0; i < WINDOW; i++) {
		uint8_t *at = buffers + (size_t)i * (size_t)bytes;

		if (rank == 0)
			MPI_Isend(at, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request[i]);
		else
			MPI_Irecv(at, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request[i]);
	}
	MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
	if (rank == 0)
		MPI_Recv(NULL, 0, MPI_BYTE, 1, WINDOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(NULL, 0, MPI_BYTE, 0, WINDOW, MPI_COMM_WORLD);
	return (clock_now_us() - start) / WINDOW;
}

static void stream(int bytes)
{
	size_t all = (size_t)bytes * WINDOW;
	uint8_t *buffers = spec_alloc(all), *want = spec_alloc(all);
	double *each, us = 0;
	int i, runs;

	if (!buffers || !want)
		die("out of memory");
	spec_fill((uint64_t *)(void *)want, all, 0, 1);
	if (rank == 0)
		memcpy(buffers, want, all);
	for (i = 0; i < 3; i++)
		us = window(buffers, bytes);
	runs = runs_for(us * WINDOW, 5, 2000);
	each = room((size_t)runs, sizeof(*each));
	for (i = 0; i < runs; i++)
		each[i] = window(buffers, bytes);
	if (rank == 1 && memcmp(buffers, want, all))
		die("wrong bytes came");
	us = stats_median_mean(each, (size_t)runs);
	if (rank == 0)
		printf("%s{\"name\": \"stream\", \"bytes\": %d, \"runs\": %d, \"us\": %.3f}",
		       comma(), bytes, runs, us);
	free(each);
	spec_free(buffers, all);
	spec_free(want, all);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- overlap
 * -------------------------------------------------------------------------------------
 */

struct overlap {
	const struct spec *spec;
	uint64_t *send, *recv;
	double compute_us;
	struct matmul *m;
	int round;
};

struct sample {
	double start, compute, wait;
};

/* Rank 0 has the first CPU for itself. */
static void place(void)
{
	cpu_set_t all, mine;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++)
		;
	mine = all;
	CPU_CLR(cpu, &mine);
	if (rank == 0) {
		CPU_ZERO(&mine);
		CPU_SET(cpu, &mine);
	}
	if (sched_setaffinity(0, sizeof(mine), &mine))
		die("no CPU of its own");
}

static void test(void *arg)
{
	int done;

	MPI_Test(arg, &done, MPI_STATUS_IGNORE);
}

static void begin(const struct overlap *o, MPI_Request *request)
{
	if (o->spec->coll == SPEC_BARRIER)
		MPI_Ibarrier(MPI_COMM_WORLD, request);
	else
		MPI_Iallreduce(o->send, o->recv, (int)o->spec->bytes / 8, MPI_UINT64_T, MPI_SUM,
			       MPI_COMM_WORLD, request);
}

static void one_overlap(struct overlap *o, enum phase phase, struct sample *s)
{
	bool all = phase == PURE_ALL || phase == BUSY_ALL;
	MPI_Request request;
	double t[4];

	o->round++;
	spec_fill(o->send, o->spec->bytes, rank, o->round);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank && !all) {
		begin(o, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		/* The others have started theirs by then. */
		if (!all)
			spec_compute(300);
		t[0] = clock_now_us();
		begin(o, &request);
		t[1] = clock_now_us();
		if (phase != PURE && phase != PURE_ALL && o->m)
			matmul_run(o->m, phase == TESTED ? test : NULL, &request);
		else if (phase != PURE && phase != PURE_ALL)
			spec_compute(o->compute_us);
		t[2] = clock_now_us();
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		t[3] = clock_now_us();
		*s = (struct sample){t[1] - t[0], t[2] - t[1], t[3] - t[2]};
	}
	if (spec_check(o->spec, o->recv, rank, ranks, o->round))
		die("wrong words");
}

/* Medians: start, compute, wait, all three. */
static void series(struct overlap *o, enum phase phase, int runs, double f[4])
{
	double *v = room((size_t)runs * 4, sizeof(*v));
	int i;

	for (i = 0; i < runs; i++) {
		struct sample s = {0};

		one_overlap(o, phase, &s);
		v[i] = s.start;
		v[runs + i] = s.compute;
		v[2 * runs + i] = s.wait;
		v[3 * runs + i] = s.start + s.compute + s.wait;
	}
	for (i = 0; i < 4; i++)
		f[i] = stats_median_mean(v + (size_t)i * (size_t)runs, (size_t)runs);
	free(v);
}

static void prepare(struct overlap *o, const struct spec *spec)
{
	struct sample s;
	int i;

	*o = (struct overlap){.spec = spec,
			      .send = spec_alloc(spec_room(spec, ranks)),
			      .recv = spec_alloc(spec_room(spec, ranks))};
	if (!o->send || !o->recv)
		die("out of memory");
	for (i = 0; i < WARM_OVERLAPS; i++)
		one_overlap(o, PURE, &s);
}

static void finish(const struct overlap *o)
{
	spec_free(o->send, spec_room(o->spec, ranks));
	spec_free(o->recv, spec_room(o->spec, ranks));
}

static void overlap(const struct spec *spec)
{
	double pure[4], busy[4], pure_all[4], busy_all[4];
	struct overlap o;
	int runs;

	prepare(&o, spec);
	runs = runs_for(1500, MIN_OVERLAPS, MAX_OVERLAPS);
	series(&o, PURE, runs, pure);
	o.compute_us = pure[3];
	series(&o, BUSY, runs, busy);
	series(&o, PURE_ALL, runs, pure_all);
	/* All compute for as long as rank 0 did without. */
	o.compute_us = pure_all[3];
	MPI_Bcast(&o.compute_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	series(&o, BUSY_ALL, runs, busy_all);
	if (rank == 0)
		printf("%s{\"name\": \"%s\", \"ranks\": %d, \"runs\": %d, \"pure_us\": %.3f, "
		       "\"overall_us\": %.3f, \"compute_us\": %.3f, \"start_us\": %.3f, "
		       "\"wait_us\": %.3f, "
		       "\"overlap\": %.4f, \"osu_pure_us\": %.3f, \"osu_overall_us\": %.3f, "
		       "\"osu_compute_us\": %.3f, \"overlap_osu\": %.4f}",
		       comma(), spec->name, ranks, runs, pure[3], busy[3], busy[1], busy[0],
		       busy[2], 1 - (busy[3] - busy[1]) / pure[3], pure_all[3], busy_all[3],
		       busy_all[1], 1 - (busy_all[3] - busy_all[1]) / pure_all[3]);
	finish(&o);
}

/* ---- the multiplication
 * ---------------------------------------------------------------------------
 */

static double multiply_alone(struct matmul *m)
{
	double t = clock_now_us();

	matmul_run(m, NULL, NULL);
	return clock_now_us() - t;
}

static void matmul(int n)
{
	struct spec barrier;
	struct overlap o;
	double *v, once = 0;
	int i, runs;

	spec_parse("barrier", &barrier);
	prepare(&o, &barrier);
	if (rank == 0) {
		o.m = matmul_create(n, 1);
		if (!o.m)
			die("no memory for the matrices");
		multiply_alone(o.m);
		once = multiply_alone(o.m);
	}
	runs = runs_for(3 * once + 1000, 3, MAX_OVERLAPS);
	v = room((size_t)runs * 5, sizeof(*v));
	for (i = 0; i < runs; i++) {
		struct sample s[2] = {{0}};

		if (rank == 0)
			v[i] = multiply_alone(o.m);
		one_overlap(&o, BUSY, &s[0]);
		one_overlap(&o, TESTED, &s[1]);
		v[runs + i] = s[0].start + s[0].compute;
		v[2 * runs + i] = s[0].wait;
		v[3 * runs + i] = s[1].start + s[1].compute;
		v[4 * runs + i] = s[1].wait;
	}
	if (rank == 0 && matmul_check(o.m) < 0)
		die("the product is wrong");
	if (rank == 0)
		printf("%s{\"name\": \"barrier\", \"n\": %d, \"runs\": %d, \"alone_us\": %.3f, "
		       "\"with_us\": %.3f, "
		       "\"wait_us\": %.3f, \"tested_us\": %.3f, \"tested_wait_us\": %.3f}",
		       comma(), n, runs, stats_median_mean(v, (size_t)runs),
		       stats_median_mean(v + runs, (size_t)runs),
		       stats_median_mean(v + 2 * runs, (size_t)runs),
		       stats_median_mean(v + 3 * runs, (size_t)runs),
		       stats_median_mean(v + 4 * runs, (size_t)runs));
	matmul_free(o.m);
	free(v);
	finish(&o);
}

int main(int argc, char **argv)
{
	bool sizes, placed;
	struct spec spec;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	seconds = argc > 2 ? atof(argv[2]) : 0;
	if (argc < 4 || seconds <= 0)
		die("usage: mpi_base coll|pingpong|stream|overlap|matmul SECONDS WHAT...");
	sizes = strcmp(argv[1], "pingpong") == 0 || strcmp(argv[1], "stream") == 0 ||
		strcmp(argv[1], "matmul") == 0;
	placed = strcmp(argv[1], "overlap") == 0 || strcmp(argv[1], "matmul") == 0;
	if (placed)
		place();
	if (rank == 0)
		printf("[");
	for (i = 3; i < argc; i++) {
		int n = sizes ? atoi(argv[i]) : 0;

		if (sizes ? n <= 0 || n % 8 : spec_parse(argv[i], &spec) < 0)
			die("no such measurement");
		if (strcmp(argv[1], "pingpong") == 0)
			pingpong(n);
		else if (strcmp(argv[1], "stream") == 0)
			stream(n);
		else if (strcmp(argv[1], "matmul") == 0)
			matmul(n);
		else if (strcmp(argv[1], "overlap") == 0)
			overlap(&spec);
		else
			coll(&spec);
	}
	if (rank == 0)
		printf("]\n");
	MPI_Finalize();
	return 0;
}
