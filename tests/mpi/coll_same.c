/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking, persistent and blocking collectives give the same results, over random counts,
 * types, operations, roots and communicators. Of a component that takes only some of the forms
 * (coll/weft), each call is thus compared with the component before it.
 *
 *	coll_same SEED ROUNDS [MAX_ELEMENTS [threads|free]]
 *
 * Each round starts a few collectives at once, with messages among them, and ends them by one of
 * the calls that end requests. A rank may describe the same data by another type than the others.
 * Floats are small whole numbers, so that every order of combination gives the same sum.
 */
#include <mpi.h>

/* It needs the header above. */
#include <mpi-ext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 6,
	COMMS = 4,
	COLLS = 10,
	CANARY = 64,
	ROUNDS_FREED = 4,
};

static const char *const coll_names[COLLS] = {"barrier", "bcast",     "gather",
					      "scatter", "allgather", "alltoall",
					      "reduce",  "allreduce", "reduce_scatter_block",
					      "scan"};

static uint64_t common, own; /* random numbers: the same at all ranks, and this rank's */
static MPI_Comm comms[COMMS];
static int world_rank, world_size;
static unsigned long checked;

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

struct kind {
	MPI_Datatype type;
	int bytes;
	int floats;
};

static struct kind any_kind(void)
{
	switch (next(&common) % 12) {
	case 0:
		return (struct kind){MPI_INT8_T, 1, 0};
	case 1:
		return (struct kind){MPI_UINT8_T, 1, 0};
	case 2:
		return (struct kind){MPI_SHORT, 2, 0};
	case 3:
		return (struct kind){MPI_UNSIGNED_SHORT, 2, 0};
	case 4:
		return (struct kind){MPI_INT, 4, 0};
	case 5:
		return (struct kind){MPI_UNSIGNED, 4, 0};
	case 6:
		return (struct kind){MPI_LONG, 8, 0};
	case 7:
		return (struct kind){MPI_UNSIGNED_LONG, 8, 0};
	case 8:
		return (struct kind){MPI_INT64_T, 8, 0};
	case 9:
		return (struct kind){MPI_FLOAT, 4, 1};
	case 10:
		return (struct kind){MPI_C_DOUBLE_COMPLEX, 16, 2};
	default:
		return (struct kind){MPI_DOUBLE, 8, 1};
	}
}

static MPI_Op any_op(struct kind kind, int *index)
{
	static const struct {
		MPI_Op op;
		int floats;
	} ops[] = {{MPI_SUM, 2}, {MPI_PROD, 1}, {MPI_MAX, 1},  {MPI_MIN, 1}, {MPI_BAND, 0},
		   {MPI_BOR, 0}, {MPI_BXOR, 0}, {MPI_LAND, 0}, {MPI_LOR, 0}};
	uint32_t i;

	do
		i = next(&common) % (sizeof(ops) / sizeof(ops[0]));
	while (ops[i].floats < kind.floats);
	*index = (int)i;
	return ops[i].op;
}

/* One collective: arguments, and buffers of the call and of the one that it is compared with. */
struct coll {
	int which, count, root, rank, size, in_place, persistent;
	struct kind kind;
	MPI_Op op;
	int op_index;
	MPI_Comm comm;
	size_t send_bytes, recv_bytes;
	uint8_t *memory, *send, *recv, *send2, *recv2;
	MPI_Datatype stype, rtype; /* of the call, of the same signature as kind.type */
	int scale;                 /* elements in one of them */
	size_t stride;             /* bytes of an element of them */
	MPI_Request request;
};

/* Lengths in elements of this rank's buffers. */
static void lengths(struct coll *c, size_t *send, size_t *recv)
{
	size_t one = (size_t)c->count, all = one * (size_t)c->size;

	*send = *recv = one;
	if (c->which == 0)
		*send = *recv = 0;
	if (c->which == 1)
		*send = 0;
	if (c->which == 2)
		*recv = c->rank == c->root ? all : 0;
	if (c->which == 3)
		*send = c->rank == c->root ? all : 0;
	if (c->which == 4)
		*recv = all;
	if (c->which == 5)
		*send = *recv = all;
	if (c->which == 6)
		*recv = c->rank == c->root ? one : 0;
	if (c->which == 8) {
		*send = all;
		*recv = c->in_place ? all : one;
	}
}

/* Open MPI 4.1.4 compares unsigned long as if it were signed: no such number begins with a 1. */
static void fill(uint8_t *at, size_t elements, struct kind kind)
{
	size_t i, k;

	for (i = 0; i < elements; i++) {
		if (kind.type == MPI_FLOAT)
			((float *)(void *)at)[i] = (float)(next(&own) % 4);
		else if (kind.floats)
			for (k = 0; k < (size_t)kind.bytes / 8; k++)
				((double *)(void *)at)[i * (size_t)kind.bytes / 8 + k] =
				    next(&own) % 4;
		else
			for (k = 0; k < (size_t)kind.bytes; k++)
				at[i * (size_t)kind.bytes + k] =
				    (uint8_t)next(&own) & (k == 7 ? 0x7f : 0xff);
	}
}

/* Buffers lie between bytes that nothing may change; every second element where types have gaps. */
static void make_buffers(struct coll *c)
{
	size_t send, recv, bytes;

	lengths(c, &send, &recv);
	c->send_bytes = send * c->stride;
	c->recv_bytes = recv * c->stride;
	bytes = 2 * (c->send_bytes + c->recv_bytes) + 5 * CANARY;
	c->memory = malloc(bytes);
	memset(c->memory, 0xa5, bytes);
	c->send = c->memory + CANARY;
	c->recv = c->send + c->send_bytes + CANARY;
	c->send2 = c->recv + c->recv_bytes + CANARY;
	c->recv2 = c->send2 + c->send_bytes + CANARY;
	fill(c->send, c->send_bytes / (size_t)c->kind.bytes, c->kind);
	fill(c->recv, c->recv_bytes / (size_t)c->kind.bytes, c->kind);
	memcpy(c->send2, c->send, c->send_bytes);
	memcpy(c->recv2, c->recv, c->recv_bytes);
}

static void make_type(struct coll *c)
{
	MPI_Datatype gap;

	c->stype = c->rtype = c->kind.type;
	c->scale = 1;
	c->stride = (size_t)c->kind.bytes;
	/* A rank's own choice: the others need not know it. */
	if (c->which >= 6 || next(&own) % 4 || c->count % 2)
		return;
	c->scale = 2;
	if (next(&own) % 2) {
		MPI_Type_contiguous(2, c->kind.type, &c->stype);
	} else {
		MPI_Type_vector(2, 1, 2, c->kind.type, &gap);
		MPI_Type_create_resized(gap, 0, 4 * c->kind.bytes, &c->stype);
		MPI_Type_free(&gap);
		c->stride = 2 * (size_t)c->kind.bytes;
	}
	MPI_Type_commit(&c->stype);
	c->rtype = c->stype;
}

static void choose(struct coll *c, int max)
{
	memset(c, 0, sizeof(*c));
	c->which = (int)(next(&common) % COLLS);
	c->comm = comms[next(&common) % COMMS];
	c->kind = any_kind();
	c->op = any_op(c->kind, &c->op_index);
	c->count = (int)(next(&common) % (1u << next(&common) % 20)) % (max + 1);
	if (next(&common) % 10 == 0)
		c->count = 0;
	c->in_place = next(&common) % 4 == 0;
	c->persistent = next(&common) % 4 == 0;
	MPI_Comm_rank(c->comm, &c->rank);
	MPI_Comm_size(c->comm, &c->size);
	c->root = (int)(next(&common) % (uint32_t)world_size) % c->size;
	if (c->in_place && (c->which < 2 || (c->rank != c->root &&
					     (c->which == 2 || c->which == 3 || c->which == 6))))
		c->in_place = 0;
	make_type(c);
	make_buffers(c);
}

/* X(blocking or not, end of the argument list) */
#define CALL(name, tail, s, r)                                                                     \
	switch (c->which) {                                                                        \
	case 0:                                                                                    \
		return name(barrier, Barrier)(c->comm tail);                                       \
	case 1:                                                                                    \
		return name(bcast, Bcast)(r, n, c->rtype, c->root, c->comm tail);                  \
	case 2:                                                                                    \
		return name(gather, Gather)(in ? MPI_IN_PLACE : s, n, c->stype, r, n, c->rtype,    \
					    c->root, c->comm tail);                                \
	case 3:                                                                                    \
		return name(scatter, Scatter)(s, n, c->stype, in ? MPI_IN_PLACE : r, n, c->rtype,  \
					      c->root, c->comm tail);                              \
	case 4:                                                                                    \
		return name(allgather, Allgather)(in ? MPI_IN_PLACE : s, n, c->stype, r, n,        \
						  c->rtype, c->comm tail);                         \
	case 5:                                                                                    \
		return name(alltoall, Alltoall)(in ? MPI_IN_PLACE : s, n, c->stype, r, n,          \
						c->rtype, c->comm tail);                           \
	case 6:                                                                                    \
		return name(reduce, Reduce)(in ? MPI_IN_PLACE : s, r, n, c->kind.type, c->op,      \
					    c->root, c->comm tail);                                \
	case 7:                                                                                    \
		return name(allreduce, Allreduce)(in ? MPI_IN_PLACE : s, r, n, c->kind.type,       \
						  c->op, c->comm tail);                            \
	case 8:                                                                                    \
		return name(reduce_scatter_block, Reduce_scatter_block)(                           \
		    in ? MPI_IN_PLACE : s, r, n, c->kind.type, c->op, c->comm tail);               \
	default:                                                                                   \
		return name(scan, Scan)(in ? MPI_IN_PLACE : s, r, n, c->kind.type, c->op,          \
					c->comm tail);                                             \
	}

#define BLOCKING(small, large)    MPI_##large
#define NONBLOCKING(small, large) MPI_I##small
#define PERSISTENT(small, large)  MPIX_##large##_init
#define COMMA                     ,

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

static void check(struct coll *c)
{
	const uint8_t *edges[] = {c->memory, c->recv - CANARY, c->send2 - CANARY, c->recv2 - CANARY,
				  c->recv2 + c->recv_bytes};
	size_t result = c->recv_bytes, i, k;

	/* The memory that a reduction in place leaves behind its result is not defined. */
	if (c->which == 8 && c->in_place)
		result = (size_t)c->count * c->stride;
	for (i = 0; i < result; i++)
		if (c->recv[i] != c->recv2[i])
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
			memcpy(c->recv2, c->recv, c->recv_bytes);
			MPI_Start(&c->request);
			MPI_Wait(&c->request, MPI_STATUS_IGNORE);
			run_blocking(c);
			check(c);
		}
		if (c->persistent)
			MPI_Request_free(&c->request);
		if (c->stype != c->kind.type)
			MPI_Type_free(&c->stype);
		free(c->memory);
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
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[2]);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3 == 0, world_rank, &comms[3]);
	for (i = 0; i < rounds; i++)
		one_round(max);
	if (argc > 4 && !strcmp(argv[4], "free"))
		free_early();
	for (i = 1; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
	if (world_rank == 0)
		printf("%lu collectives have the same results, seed %llu\n", checked,
		       (unsigned long long)seed);
	MPI_Finalize();
	return 0;
}
