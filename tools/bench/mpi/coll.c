/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_coll: collectives of MPI, their times, and how much of a non-blocking one overlaps with
 * computation, by OSU's formula. Every rank does the same, and calls nothing while it computes.
 *
 *	mpi_coll SECONDS NAME[:BYTES]...	(ibarrier, iallreduce:65536, allreduce:8 ...)
 *
 * Pure is the time of the call and MPI_Wait(). Then the rank computes for as long as its own pure
 * between the two: overlap = 1 - (overall - compute) / pure, not below 0. Host is the processor
 * time of the call and MPI_Wait() then, which does not count the time in which ranks that share a
 * processor wait for their turn. Bytes are of a rank's block. A name without i is of a blocking
 * collective: its time alone. Rank 0 prints a JSON array: medians of the iterations, means of the
 * ranks. Results are checked word by word, in the first iterations and in the last. SECONDS is the
 * length of a measurement. Calls lib.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/stats.h"

enum {
	WARM_UP = 5,
	LEAST = 10,
	MOST = 2000,
	LOOK = 10, /* iterations between looks whether the time is over */
	COMPUTE_UNIT =
	    64, /* steps of the computation between looks at the clock of the calibration */
};

enum which {
	BARRIER,
	BCAST,
	ALLREDUCE,
	ALLGATHER,
	ALLTOALL,
	REDUCE,
	GATHER,
	SCATTER,
	COLLS
};

static const char *const names[COLLS] = {"barrier",  "bcast",  "allreduce", "allgather",
					 "alltoall", "reduce", "gather",    "scatter"};

/* A measurement, and its buffers: words of 4 bytes. */
struct coll {
	enum which which;
	bool blocking;
	int bytes, words; /* of a block */
	float *in, *out;
	uint32_t turn; /* makes the words of each call others */
};

/* Figures of one call, in us. */
struct figures {
	double total, compute, call, host;
};

static int rank, ranks;
static volatile uint64_t sink;
static double steps_per_us;

static void die(const char *what)
{
	fprintf(stderr, "mpi_coll: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- computation ---------------------------------------------------------------------------- */

static void steps(uint64_t n)
{
	uint64_t x = sink, i;

	for (i = 0; i < n; i++)
		x = x * UINT64_C(6364136223846793005) + i;
	sink = x;
}

static void calibrate(void)
{
	double start, us, best = 0;
	int i;

	for (i = 0; i < 20; i++) {
		start = clock_now_us();
		steps(COMPUTE_UNIT * 10000);
		us = clock_now_us() - start;
		if (COMPUTE_UNIT * 10000 / us > best)
			best = COMPUTE_UNIT * 10000 / us;
	}
	steps_per_us = best;
}

/* ---- the collectives and their results ------------------------------------------------------ */

/* Word i of a rank's block for a peer, in a turn: small, so that sums of floats are exact. */
static float word(const struct coll *c, int from, int to, int i)
{
	return (float)((c->turn + (uint32_t)(from * 7 + to * 3 + i)) % 64);
}

static bool many_in(enum which w)
{
	return w == ALLTOALL || w == SCATTER;
}

static bool many_out(enum which w)
{
	return w == ALLTOALL || w == ALLGATHER || w == GATHER;
}

static void fill(struct coll *c)
{
	int blocks = many_in(c->which) ? ranks : 1, b, i;

	c->turn++;
	for (b = 0; b < blocks; b++)
		for (i = 0; i < c->words; i++)
			c->in[b * c->words + i] = word(c, rank, b, i);
	for (i = 0; i < c->words * ranks; i++)
		c->out[i] = -1;
}

/* The word that block b of this rank's result has there. */
static float expected(const struct coll *c, int b, int i)
{
	float sum = 0;
	int r;

	switch (c->which) {
	case BCAST:
		return word(c, 0, 0, i);
	case ALLGATHER:
	case GATHER:
		return word(c, b, 0, i);
	case ALLTOALL:
		return word(c, b, rank, i);
	case SCATTER:
		return word(c, 0, rank, i);
	case ALLREDUCE:
	case REDUCE:
		for (r = 0; r < ranks; r++)
			sum += word(c, r, 0, i);
		return sum;
	case BARRIER:
	case COLLS:
		break;
	}
	return 0;
}

static void check(const struct coll *c)
{
	const float *got = c->which == BCAST ? c->in : c->out;
	int blocks = many_out(c->which) ? ranks : 1, b, i;

	if (c->which == BARRIER || (rank && (c->which == REDUCE || c->which == GATHER)))
		return;
	for (b = 0; b < blocks; b++)
		for (i = 0; i < c->words; i++)
			if (got[b * c->words + i] != expected(c, b, i)) {
				fprintf(
				    stderr,
				    "mpi_coll: %s of %d bytes: word %d of block %d is %g, not %g\n",
				    names[c->which], c->bytes, i, b, (double)got[b * c->words + i],
				    (double)expected(c, b, i));
				die("a wrong word");
			}
}

static void start(const struct coll *c, MPI_Request *r)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Datatype t = MPI_FLOAT;
	int n = c->words;

	switch (c->which) {
	case BARRIER:
		MPI_Ibarrier(comm, r);
		break;
	case BCAST:
		MPI_Ibcast(c->in, n, t, 0, comm, r);
		break;
	case ALLREDUCE:
		MPI_Iallreduce(c->in, c->out, n, t, MPI_SUM, comm, r);
		break;
	case ALLGATHER:
		MPI_Iallgather(c->in, n, t, c->out, n, t, comm, r);
		break;
	case ALLTOALL:
		MPI_Ialltoall(c->in, n, t, c->out, n, t, comm, r);
		break;
	case REDUCE:
		MPI_Ireduce(c->in, c->out, n, t, MPI_SUM, 0, comm, r);
		break;
	case GATHER:
		MPI_Igather(c->in, n, t, c->out, n, t, 0, comm, r);
		break;
	case SCATTER:
		MPI_Iscatter(c->in, n, t, c->out, n, t, 0, comm, r);
		break;
	case COLLS:
		break;
	}
}

static void block(const struct coll *c)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Datatype t = MPI_FLOAT;
	int n = c->words;

	switch (c->which) {
	case BARRIER:
		MPI_Barrier(comm);
		break;
	case BCAST:
		MPI_Bcast(c->in, n, t, 0, comm);
		break;
	case ALLREDUCE:
		MPI_Allreduce(c->in, c->out, n, t, MPI_SUM, comm);
		break;
	case ALLGATHER:
		MPI_Allgather(c->in, n, t, c->out, n, t, comm);
		break;
	case ALLTOALL:
		MPI_Alltoall(c->in, n, t, c->out, n, t, comm);
		break;
	case REDUCE:
		MPI_Reduce(c->in, c->out, n, t, MPI_SUM, 0, comm);
		break;
	case GATHER:
		MPI_Gather(c->in, n, t, c->out, n, t, 0, comm);
		break;
	case SCATTER:
		MPI_Scatter(c->in, n, t, c->out, n, t, 0, comm);
		break;
	case COLLS:
		break;
	}
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Processor time of this thread. */
static double own_us(void)
{
	return (double)clock_read_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-3;
}

static struct figures once(struct coll *c, double compute_us, bool checked)
{
	struct figures f = {0, 0, 0, 0};
	double begin, called, computed, host;
	MPI_Request r;

	if (checked)
		fill(c);
	MPI_Barrier(MPI_COMM_WORLD);
	host = -own_us();
	begin = called = clock_now_us();
	if (c->blocking) {
		block(c);
	} else {
		start(c, &r);
		called = computed = clock_now_us();
		if (compute_us > 0) {
			host += own_us();
			steps((uint64_t)(compute_us * steps_per_us));
			host -= own_us();
			computed = clock_now_us();
		}
		f.compute = computed - called;
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	f.total = clock_now_us() - begin;
	f.call = called - begin;
	f.host = host + own_us();
	if (checked)
		check(c);
	return f;
}

/* True at all ranks once the time of a measurement is over. */
static bool is_over(int done, double begin, double seconds)
{
	int over = done >= LEAST && clock_now_us() - begin > seconds * 1e6;

	if (done % LOOK != 0)
		return false;
	MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return over;
}

/* The median of this rank's. */
static double median(double *values, int n)
{
	return stats_median_mean(values, (size_t)n);
}

static double mean(double mine)
{
	double sum = 0;

	MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sum / ranks;
}

/* Iterations until the time is over; checks the first ones, and one more behind them. */
static int repeat(struct coll *c, double seconds, double compute_us, double *total, double *call,
		  double *compute, double *host)
{
	double begin = 0;
	int i;

	for (i = -WARM_UP; i < MOST; i++) {
		struct figures f = once(c, compute_us, i < 0);

		if (i == -1)
			begin = clock_now_us();
		if (i < 0)
			continue;
		total[i] = f.total;
		call[i] = f.call;
		compute[i] = f.compute;
		host[i] = f.host;
		if (is_over(i + 1, begin, seconds))
			break;
	}
	(void)once(c, compute_us, true);
	return i < MOST ? i + 1 : MOST;
}

static void measure(struct coll *c, double seconds)
{
	static double total[MOST], call[MOST], compute[MOST], host[MOST];
	static bool again;
	int runs = repeat(c, seconds, 0, total, call, compute, host), i;
	double own = median(total, runs), pure = mean(own), left_us, overlap, host_us;

	if (rank == 0)
		printf("%s{\"name\": \"%s%s\", \"bytes\": %d, \"ranks\": %d, \"runs\": %d, "
		       "\"us\": %.3f, \"call_us\": %.3f",
		       again ? ",\n " : "", c->blocking ? "" : "i", names[c->which], c->bytes,
		       ranks, runs, pure, median(call, runs));
	again = true;
	if (!c->blocking) {
		runs = repeat(c, seconds, own, total, call, compute, host);
		for (i = 0; i < runs; i++)
			total[i] -= compute[i];
		left_us = mean(median(total, runs));
		overlap = 1 - left_us / pure;
		host_us = mean(median(host, runs));
		if (rank == 0)
			printf(", \"left_us\": %.3f, \"overlap\": %.4f, \"host_us\": %.3f", left_us,
			       overlap > 0 ? overlap : 0, host_us);
	}
	if (rank == 0)
		printf("}");
	fflush(stdout);
}

static bool parse(const char *text, struct coll *c)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	int w;

	*c = (struct coll){.blocking = text[0] != 'i', .bytes = colon ? atoi(colon + 1) : 0};
	text += !c->blocking;
	length -= !c->blocking;
	for (w = 0; w < COLLS; w++)
		if (strlen(names[w]) == length && !strncmp(names[w], text, length)) {
			c->which = (enum which)w;
			c->words = c->bytes / 4;
			return w == BARRIER ? !colon : c->bytes > 0 && c->bytes % 4 == 0;
		}
	return false;
}

int main(int argc, char **argv)
{
	double seconds;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	seconds = argc > 1 ? atof(argv[1]) : 0;
	if (argc < 3 || seconds <= 0)
		die("usage: mpi_coll SECONDS NAME[:BYTES]...");
	calibrate();
	if (rank == 0)
		printf("[");
	for (i = 2; i < argc; i++) {
		struct coll c;
		size_t room;

		if (!parse(argv[i], &c))
			die(argv[i]);
		room = (size_t)ranks * (size_t)(c.words + 1) * sizeof(float);
		c.in = calloc(1, room);
		c.out = calloc(1, room);
		if (!c.in || !c.out)
			die("out of memory");
		measure(&c, seconds);
		free(c.in);
		free(c.out);
	}
	if (rank == 0)
		printf("]\n");
	MPI_Finalize();
	return 0;
}
