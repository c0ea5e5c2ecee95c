/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking, persistent and blocking collectives give the same results, over random counts,
 * types, operations, roots and communicators. Of a component that takes only some of the forms
 * (coll/weft), each call is thus compared with the component before it.
 *
 *	coll_same SEED ROUNDS [MAX_ELEMENTS [threads|free|turned|plain]]
 *
 * Each round starts a few collectives at once, with messages among them, and ends them by one of
 * the calls that end requests. A rank may describe the same data by another type than the others.
 * Floats are small whole numbers, so that every order of combination gives the same sum. turned:
 * the blocking forms run on the NIC, and are compared with Open MPI's non-blocking ones. plain:
 * without persistent ones, which MPICH 4.0.2 itself does not end.
 */
#include "tests/mpi/coll_same.h"

#ifdef OPEN_MPI
/* It needs the header above. */
#include <mpi-ext.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 6,
	ROUNDS_FREED = 4,
	SUMMANDS = 3000,
};

static const char *const coll_names[COLLS] = {"barrier",
					      "bcast",
					      "gather",
					      "scatter",
					      "allgather",
					      "alltoall",
					      "gatherv",
					      "scatterv",
					      "allgatherv",
					      "alltoallv",
					      "alltoallw",
					      "neighbor_allgather",
					      "neighbor_allgatherv",
					      "neighbor_alltoall",
					      "neighbor_alltoallv",
					      "neighbor_alltoallw",
					      "reduce",
					      "allreduce",
					      "reduce_scatter_block",
					      "reduce_scatter",
					      "scan",
					      "exscan"};

static unsigned long checked;

/* name(blocking or not, ...) tail: end of the argument list */
#define CALL(name, tail, s, r)                                                                     \
	void *from = in ? MPI_IN_PLACE : (s), *to = (r);                                           \
	struct blocks *o = &c->out, *i = &c->in;                                                   \
	MPI_Datatype t = c->type;                                                                  \
	MPI_Comm m = c->comm;                                                                      \
                                                                                                   \
	switch ((enum which)c->which) {                                                            \
	case BARRIER:                                                                              \
		return name(barrier, Barrier)(m tail);                                             \
	case BCAST:                                                                                \
		return name(bcast, Bcast)(to, n, t, c->root, m tail);                              \
	case GATHER:                                                                               \
		return name(gather, Gather)(from, n, t, to, n, t, c->root, m tail);                \
	case SCATTER:                                                                              \
		return name(scatter, Scatter)(s, n, t, in ? MPI_IN_PLACE : to, n, t, c->root,      \
					      m tail);                                             \
	case ALLGATHER:                                                                            \
		return name(allgather, Allgather)(from, n, t, to, n, t, m tail);                   \
	case ALLTOALL:                                                                             \
		return name(alltoall, Alltoall)(from, n, t, to, n, t, m tail);                     \
	case GATHERV:                                                                              \
		return name(gatherv, Gatherv)(from, n, t, to, i->counts, i->displs, t, c->root,    \
					      m tail);                                             \
	case SCATTERV:                                                                             \
		return name(scatterv, Scatterv)(s, o->counts, o->displs, t,                        \
						in ? MPI_IN_PLACE : to, n, t, c->root, m tail);    \
	case ALLGATHERV:                                                                           \
		return name(allgatherv, Allgatherv)(from, n, t, to, i->counts, i->displs, t,       \
						    m tail);                                       \
	case ALLTOALLV:                                                                            \
		return name(alltoallv, Alltoallv)(from, o->counts, o->displs, t, to, i->counts,    \
						  i->displs, t, m tail);                           \
	case ALLTOALLW:                                                                            \
		return name(alltoallw, Alltoallw)(from, o->counts, o->bytes, o->types, to,         \
						  i->counts, i->bytes, i->types, m tail);          \
	case NEIGHBOR_ALLGATHER:                                                                   \
		return name(neighbor_allgather, Neighbor_allgather)(from, n, t, to, n, t, m tail); \
	case NEIGHBOR_ALLGATHERV:                                                                  \
		return name(neighbor_allgatherv, Neighbor_allgatherv)(from, n, t, to, i->counts,   \
								      i->displs, t, m tail);       \
	case NEIGHBOR_ALLTOALL:                                                                    \
		return name(neighbor_alltoall, Neighbor_alltoall)(from, n, t, to, n, t, m tail);   \
	case NEIGHBOR_ALLTOALLV:                                                                   \
		return name(neighbor_alltoallv, Neighbor_alltoallv)(                               \
		    from, o->counts, o->displs, t, to, i->counts, i->displs, t, m tail);           \
	case NEIGHBOR_ALLTOALLW:                                                                   \
		return name(neighbor_alltoallw, Neighbor_alltoallw)(from, o->counts, o->aints,     \
								    o->types, to, i->counts,       \
								    i->aints, i->types, m tail);   \
	case REDUCE:                                                                               \
		return name(reduce, Reduce)(from, to, n, t, c->op, c->root, m tail);               \
	case ALLREDUCE:                                                                            \
		return name(allreduce, Allreduce)(from, to, n, t, c->op, m tail);                  \
	case REDUCE_SCATTER_BLOCK:                                                                 \
		return name(reduce_scatter_block, Reduce_scatter_block)(from, to, n, t, c->op,     \
									m tail);                   \
	case REDUCE_SCATTER:                                                                       \
		return name(reduce_scatter, Reduce_scatter)(from, to, i->counts, t, c->op,         \
							    m tail);                               \
	case SCAN:                                                                                 \
		return name(scan, Scan)(from, to, n, t, c->op, m tail);                            \
	case EXSCAN:                                                                               \
		return name(exscan, Exscan)(from, to, n, t, c->op, m tail);                        \
	case COLLS:                                                                                \
		break;                                                                             \
	}                                                                                          \
	return MPI_ERR_ARG;

#define BLOCKING(small, large)    MPI_##large
#define NONBLOCKING(small, large) MPI_I##small
#ifdef OPEN_MPI
#define PERSISTENT(small, large) MPIX_##large##_init
#else
#define PERSISTENT(small, large) MPI_##large##_init
#endif
#define COMMA ,

static int run_blocking(struct coll *c)
{
	int n = c->count / c->scale, in = c->in_place;

	CALL(BLOCKING, , c->send2, c->recv2)
}

static int run_nonblocking(struct coll *c)
{
	int n = c->count / c->scale, in = c->in_place;

	CALL(NONBLOCKING, COMMA & c->request, c->send, c->recv)
}

static int run_persistent(struct coll *c)
{
	int n = c->count / c->scale, in = c->in_place;

	CALL(PERSISTENT, COMMA MPI_INFO_NULL COMMA & c->request, c->send, c->recv)
}

static void fail(const struct coll *c, const char *what, size_t at)
{
	char type[MPI_MAX_OBJECT_NAME];
	int length;

	MPI_Type_get_name(c->kind.type, type, &length);
	fprintf(stderr,
		"rank %d: %s: %s of %d elements of %s by operation %d, root %d of %d ranks%s%s, "
		"type of %d: "
		"byte %zu\n",
		world_rank, what, coll_names[c->which], c->count, type, c->op_index, c->root,
		c->size, c->in_place ? ", in place" : "", c->persistent ? ", persistent" : "",
		c->scale, at);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Bytes of the result that are defined. */
static size_t result_bytes(const struct coll *c)
{
	/* The memory that a reduction in place leaves behind its result. */
	if (c->which == REDUCE_SCATTER_BLOCK && c->in_place)
		return (size_t)c->count * c->stride;
	if (c->which == REDUCE_SCATTER)
		return (size_t)c->in.count[c->rank] * c->stride;
	return c->which == EXSCAN && c->rank == 0 ? 0 : c->recv_bytes;
}

/* Operations of Open MPI copy what lies between value and index, or do not. */
static int is_padding(const struct kind *kind, size_t at)
{
	int i = (int)(at % (size_t)kind->bytes);

	return kind->class == PAIR && i >= kind->value_bytes &&
	       (i < kind->index_at || i >= kind->index_at + 4);
}

/* The sign of a zero depends on the order in which complex numbers are multiplied. */
static int is_zero(const struct coll *c, size_t at)
{
	const double *x = (const double *)(const void *)(c->recv + at / 8 * 8);
	const double *y = (const double *)(const void *)(c->recv2 + at / 8 * 8);
	const float *xf = (const float *)(const void *)(c->recv + at / 4 * 4);
	const float *yf = (const float *)(const void *)(c->recv2 + at / 4 * 4);

	if (c->kind.class != COMPLEX)
		return 0;
	return c->kind.bytes == 16 ? *x == 0 && *y == 0 : *xf == 0 && *yf == 0;
}

static void check(struct coll *c)
{
	const uint8_t *edges[] = {c->memory, c->recv - CANARY, c->send2 - CANARY, c->recv2 - CANARY,
				  c->recv2 + c->recv_bytes};
	size_t result = result_bytes(c), i, k;

	for (i = 0; i < result; i++)
		if (c->recv[i] != c->recv2[i] && !is_padding(&c->kind, i) && !is_zero(c, i))
			fail(c, "another result", i);
	for (i = 0; i < c->send_bytes; i++)
		if (c->send[i] != c->send2[i])
			fail(c, "the send buffer has changed", i);
	for (k = 0; k < 5; k++)
		for (i = 0; i < CANARY; i++)
			if (edges[k][i] != 0xa5)
				fail(c, "written outside of the buffers", i);
	checked++;
}

static void end_all(MPI_Request *requests, int count)
{
	int index, flag = 0, i, done = 0, indices[2 * BATCH + 2];

	switch (next(&own) % 5) {
	case 0:
		MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
		break;
	case 1:
		for (i = 0; i < count; i++)
			MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
		break;
	case 2:
		while (!flag)
			MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
		break;
	case 3:
		while (done != MPI_UNDEFINED)
			MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
		break;
	default:
		for (i = count - 1; i >= 0; i--) {
			for (flag = 0; !flag;)
				MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		}
	}
}

static void one_round(int max)
{
	int batch = 1 + (int)(next(&common) % BATCH), i, again, in[1], out[1] = {world_rank};
	MPI_Request requests[BATCH + 2];
	struct coll colls[BATCH];
	int left = (world_rank + world_size - 1) % world_size;

	for (i = 0; i < batch; i++) {
		struct coll *c = &colls[i];

		choose(c, max);
		if (c->persistent) {
			run_persistent(c);
			MPI_Start(&c->request);
		} else {
			run_nonblocking(c);
		}
		requests[i] = c->request;
	}
	MPI_Irecv(in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[batch]);
	MPI_Isend(out, 1, MPI_INT, (world_rank + 1) % world_size, 7, MPI_COMM_WORLD,
		  &requests[batch + 1]);
	end_all(requests, batch + 2);
	for (i = 0; i < batch; i++) {
		struct coll *c = &colls[i];

		run_blocking(c);
		check(c);
		for (again = 0; c->persistent && again < 2; again++) {
			/* Products of products would be too large to be exact in any order. */
			choose_again(c);
			if (again)
				MPI_Startall(1, &c->request);
			else
				MPI_Start(&c->request);
			MPI_Wait(&c->request, MPI_STATUS_IGNORE);
			run_blocking(c);
			check(c);
		}
		if (c->persistent)
			MPI_Request_free(&c->request);
		drop(c);
	}
}

/*
 * Communicators that are freed while their collectives are under way. Open MPI 4.1.4's libnbc does
 * not survive that.
 */
static void free_early(void)
{
	static int in[ROUNDS_FREED], sums[ROUNDS_FREED];
	MPI_Request requests[2 * ROUNDS_FREED];
	int i;

	for (i = 0; i < ROUNDS_FREED; i++) {
		MPI_Comm comm;

		in[i] = world_rank + i;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Iallreduce(&in[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[2 * i]);
		MPI_Ibarrier(comm, &requests[2 * i + 1]);
		MPI_Comm_free(&comm);
	}
	MPI_Waitall(2 * ROUNDS_FREED, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < ROUNDS_FREED; i++)
		if (sums[i] != world_size * (world_size - 1) / 2 + i * world_size)
			MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A sum of floats that no two orders give alike: the same bits at all ranks and in all runs. */
static void same_bits(void)
{
	static double in[SUMMANDS], sums[2][SUMMANDS], first[SUMMANDS];
	MPI_Request requests[2];
	int i;

	for (i = 0; i < SUMMANDS; i++)
		in[i] = (double)(int32_t)next(&own) / (double)(1 + next(&own) % 1000);
	for (i = 0; i < 2; i++)
		MPI_Iallreduce(in, sums[i], SUMMANDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
			       &requests[i]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	memcpy(first, sums[0], sizeof(first));
	MPI_Bcast(first, SUMMANDS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (memcmp(first, sums[0], sizeof(first)) != 0 ||
	    memcmp(first, sums[1], sizeof(first)) != 0) {
		fprintf(stderr, "rank %d: a sum of floats has other bits\n", world_rank);
		MPI_Abort(MPI_COMM_WORLD, 4);
	}
}

static void larger(void *in, void *inout, int *count, MPI_Datatype *type)
{
	int i;

	(void)type;
	for (i = 0; i < *count; i++)
		if (((int *)in)[i] > ((int *)inout)[i])
			((int *)inout)[i] = ((int *)in)[i];
}

/* An operation of the program's own, and a type that the NIC does not know. */
static void handed_on(void)
{
	long double in = world_rank, sum;
	MPI_Request requests[2];
	int largest;
	MPI_Op op;

	MPI_Op_create(larger, 1, &op);
	MPI_Iallreduce(&world_rank, &largest, 1, MPI_INT, op, MPI_COMM_WORLD, &requests[0]);
	MPI_Iallreduce(&in, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Op_free(&op);
	if (largest != world_size - 1 || sum != world_size * (world_size - 1) / 2)
		MPI_Abort(MPI_COMM_WORLD, 5);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 20, max = argc > 3 ? atoi(argv[3]) : 20000, i,
	    level;

	if (argc > 4 && !strcmp(argv[4], "threads"))
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world_size);
	common = seed;
	own = seed ^ (uint64_t)(world_rank + 1) << 40;
	if (world_size > MAX_RANKS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	without_persistent = argc > 4 && !strcmp(argv[4], "plain");
	make_comms(argc > 4 && !strcmp(argv[4], "turned"));
	for (i = 0; i < rounds; i++)
		one_round(max);
	if (argc > 4 && !strcmp(argv[4], "free"))
		free_early();
	same_bits();
	handed_on();
	free_comms();
	if (world_rank == 0)
		printf("%lu collectives have the same results, seed %llu\n", checked,
		       (unsigned long long)seed);
	MPI_Finalize();
	return 0;
}
