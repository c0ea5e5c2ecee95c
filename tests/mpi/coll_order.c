/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives that each rank starts in an order of its own (MPI 4.0, 6.13), among
 * non-blocking ones, and frees when it likes. coll_order COUNT: so many requests at a time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Barrier_init   MPIX_Barrier_init
#define MPI_Bcast_init     MPIX_Bcast_init
#endif

enum {
	ROUNDS = 6, /* of starts */
	SETS = 3,   /* of requests */
	WORDS = 600,
};

static int rank, size;

struct coll {
	MPI_Request request;
	int kind, root;
	long in[WORDS], out[WORDS];
};

static void make(struct coll *c, int i)
{
	c->kind = i % 3;
	c->root = i % size;
	if (c->kind == 0)
		MPI_Bcast_init(c->out, WORDS - i, MPI_LONG, c->root, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &c->request);
	else if (c->kind == 1)
		MPI_Allreduce_init(c->in, c->out, 1 + i, MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
				   MPI_INFO_NULL, &c->request);
	else
		MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}

/* The i-th of n at this rank: the others begin elsewhere, and every second one goes back. */
static int nth(int i, int n)
{
	return ((rank % 2 ? n - i : i) + rank * 7) % n;
}

static void fill(struct coll *c, int i, int round)
{
	for (int k = 0; k < WORDS; k++) {
		c->in[k] = rank + i * 1000L + round;
		c->out[k] = c->kind == 0 && rank == c->root ? c->root + i * 100L + round : -1;
	}
}

static void check(const struct coll *c, int i, int round)
{
	int n = c->kind == 0 ? WORDS - i : c->kind == 1 ? 1 + i : 0;
	long right = c->kind == 0 ? c->root + i * 100L + round
				  : size * (i * 1000L + round) + size * (size - 1L) / 2;

	for (int k = 0; k < n; k++)
		if (c->out[k] != right) {
			fprintf(stderr, "rank %d: request %d, round %d: word %d is %ld, not %ld\n",
				rank, i, round, k, c->out[k], right);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

static void run(struct coll *c, int n, int round)
{
	MPI_Request *requests = calloc((size_t)n + 1, sizeof(*requests));
	long one = 1, sum = 0;

	for (int i = 0; i < n; i++) {
		int at = nth(i, n);

		fill(&c[at], at, round);
		MPI_Start(&c[at].request);
		if (i == n / 2)
			MPI_Iallreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
				       &requests[n]);
	}
	for (int i = 0; i < n; i++)
		requests[i] = c[i].request;
	MPI_Waitall(n + 1, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < n; i++) {
		c[i].request = requests[i];
		check(&c[i], i, round);
	}
	if (sum != size)
		MPI_Abort(MPI_COMM_WORLD, 1);
	free(requests);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	struct coll *c = calloc((size_t)n, sizeof(*c));

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int set = 0; set < SETS; set++) {
		for (int i = 0; i < n; i++) {
			/* Some ranks still have the one of the last set. */
			MPI_Request old = c[i].request;

			if (set && rank % 2)
				MPI_Request_free(&old);
			make(&c[i], i);
			if (set && rank % 2 == 0)
				MPI_Request_free(&old);
		}
		for (int round = 0; round < ROUNDS; round++)
			run(c, n, round);
	}
	for (int i = 0; i < n; i++)
		MPI_Request_free(&c[i].request);
	if (!rank)
		puts("all right");
	MPI_Finalize();
	free(c);
	return 0;
}
