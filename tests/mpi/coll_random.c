/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random collectives, blocking and not, over random counts, types, operations, roots and
 * communicators. Rank 0 prints a digest of all results of each round, to be compared with those of
 * another library, or of the same one with and without libweft-mpich.so.
 *
 *	coll_random SEED ROUNDS [MAX_ELEMENTS [threads]]
 *
 * A rank may describe the same data by another type than the others. Floats are small whole
 * numbers, so that every order of combination gives the same sum.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH = 6,
	COMMS = 4,
	EDGE = 64, /* bytes around buffers, which nothing may change */
	MAX_RANKS = 16,
};

/* In the order of CALL(). */
enum which {
	BARRIER,
	BCAST,
	GATHER,
	SCATTER,
	ALLGATHER,
	ALLTOALL,
	REDUCE,
	ALLREDUCE,
	REDUCE_SCATTER_BLOCK,
	SCAN,
	GATHERV,
	SCATTERV,
	ALLGATHERV,
	ALLTOALLV,
	ALLTOALLW,
	REDUCE_SCATTER,
	EXSCAN,
	COLLS
};

/* Blocks of a direction: elements, and where they are. */
struct blocks {
	int counts[MAX_RANKS], displs[MAX_RANKS], bytes[MAX_RANKS];
	MPI_Datatype types[MAX_RANKS];
	size_t room; /* elements, gaps included */
};

static uint64_t common, own; /* random numbers: the same at all ranks, and this rank's */
static MPI_Comm comms[COMMS];
static int world_rank, world_size;

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

struct kind {
	MPI_Datatype type;
	int bytes;
	int floats; /* of how many an element consists */
	int top;    /* mask of the last byte */
};

/*
 * MPICH 4.0.2 compares unsigned numbers as if they were signed, Open MPI 4.1.4 those of 8 bytes: no
 * such number begins with a 1.
 */
static struct kind any_kind(void)
{
	const struct kind kinds[] = {
	    {MPI_INT8_T, 1, 0, 0xff},
	    {MPI_UINT8_T, 1, 0, 0x7f},
	    {MPI_SHORT, 2, 0, 0xff},
	    {MPI_UNSIGNED_SHORT, 2, 0, 0x7f},
	    {MPI_INT, 4, 0, 0xff},
	    {MPI_UNSIGNED, 4, 0, 0x7f},
	    {MPI_LONG, 8, 0, 0xff},
	    {MPI_UNSIGNED_LONG, 8, 0, 0x7f},
	    {MPI_INT64_T, 8, 0, 0xff},
	    {MPI_FLOAT, 4, 1, 0},
	    {MPI_C_DOUBLE_COMPLEX, 16, 2, 0},
	    {MPI_DOUBLE, 8, 1, 0},
	    {MPI_DOUBLE, 8, 1, 0},
	};

	return kinds[next(&common) % (sizeof(kinds) / sizeof(kinds[0]))];
}

static MPI_Op any_op(struct kind kind)
{
	static const struct {
		MPI_Op op;
		int floats; /* most that an element may have */
	} ops[] = {{MPI_SUM, 2}, {MPI_PROD, 1}, {MPI_MAX, 1},  {MPI_MIN, 1}, {MPI_BAND, 0},
		   {MPI_BOR, 0}, {MPI_BXOR, 0}, {MPI_LAND, 0}, {MPI_LOR, 0}};
	uint32_t i;

	do
		i = next(&common) % (sizeof(ops) / sizeof(ops[0]));
	while (ops[i].floats < kind.floats);
	return ops[i].op;
}

struct coll {
	int which, count, root, rank, size, in_place;
	struct kind kind;
	MPI_Op op;
	MPI_Comm comm;
	size_t send_bytes, recv_bytes;
	uint8_t *memory, *send, *recv;
	MPI_Datatype type;     /* of the call, of the same signature as kind.type */
	struct blocks out, in; /* of calls whose blocks differ */
	int scale;             /* elements in one of it */
	size_t stride;         /* bytes from element to element */
};

static void fill(uint8_t *at, size_t elements, struct kind kind)
{
	size_t i, k, bytes = (size_t)kind.bytes;

	for (i = 0; i < elements; i++)
		for (k = 0; k < bytes; k++)
			at[i * bytes + k] =
			    (uint8_t)next(&own) & (k + 1 == bytes ? kind.top : 0xff);
	for (i = 0; kind.type == MPI_FLOAT && i < elements; i++)
		((float *)(void *)at)[i] = (float)(next(&own) % 4);
	for (i = 0; kind.type != MPI_FLOAT && i < elements * (size_t)kind.floats; i++)
		((double *)(void *)at)[i] = next(&own) % 4;
}

/* Elements that a rank sends to another one. */
static int between(const struct coll *c, uint32_t salt, int from, int to)
{
	uint64_t x = salt + (uint64_t)(from * MAX_RANKS + to) * UINT64_C(0x9e3779b97f4a7c15);

	(void)next(&x);
	return (int)(next(&x) % (uint32_t)(c->count + 1));
}

/* Blocks one behind the other, or with gaps. */
static void place(const struct coll *c, struct blocks *b, uint32_t gap)
{
	int i;

	for (i = 0; i < c->size; i++) {
		b->displs[i] = (int)b->room;
		b->bytes[i] = b->displs[i] * c->kind.bytes;
		b->types[i] = c->kind.type;
		b->room += (size_t)b->counts[i] + gap;
	}
}

/* Draws the blocks. What all ranks receive alike, or one for all, goes by the root. */
static void make_blocks(struct coll *c)
{
	uint32_t salt = next(&common), gap = next(&common) % 3;
	int i, all = c->which == ALLGATHERV || c->which == REDUCE_SCATTER;

	for (i = 0; i < c->size; i++) {
		c->out.counts[i] = between(c, salt, c->rank, i);
		c->in.counts[i] = between(c, salt, i, all ? c->root : c->rank);
	}
	place(c, &c->out, gap);
	place(c, &c->in, c->which == REDUCE_SCATTER ? 0 : gap);
}

/* Lengths in elements of this rank's buffers, of calls whose blocks differ. */
static void block_lengths(const struct coll *c, size_t *send, size_t *recv)
{
	int is_root = c->rank == c->root;

	*send = c->out.room;
	*recv = c->in.room;
	if (c->which == GATHERV) {
		*send = (size_t)c->out.counts[c->root];
		*recv = is_root ? c->in.room : 0;
	} else if (c->which == SCATTERV) {
		*send = is_root ? c->out.room : 0;
		*recv = (size_t)c->in.counts[c->root];
	} else if (c->which == ALLGATHERV) {
		*send = (size_t)c->in.counts[c->rank];
	} else if (c->which == REDUCE_SCATTER) {
		*send = c->in.room;
		*recv = c->in_place ? c->in.room : (size_t)c->in.counts[c->rank];
	} else if (c->which == EXSCAN) {
		*send = *recv = (size_t)c->count;
	}
}

/* Lengths in elements of this rank's buffers. */
static void lengths(const struct coll *c, size_t *send, size_t *recv)
{
	size_t one = (size_t)c->count, all = one * (size_t)c->size;
	int is_root = c->rank == c->root;
	const size_t sends[] = {0, 0, one, is_root ? all : 0, one, all, one, one, all, one};
	const size_t recvs[] = {0,
				one,
				is_root ? all : 0,
				one,
				all,
				all,
				is_root ? one : 0,
				one,
				c->in_place ? all : one,
				one};

	if (c->which >= GATHERV) {
		block_lengths(c, send, recv);
		return;
	}
	*send = sends[c->which];
	*recv = recvs[c->which];
}

static void make_type(struct coll *c)
{
	MPI_Datatype gap;

	c->type = c->kind.type;
	c->scale = 1;
	c->stride = (size_t)c->kind.bytes;
	/* A rank's own choice: the others need not know it. */
	if (c->which >= REDUCE || next(&own) % 4 || c->count % 2)
		return;
	c->scale = 2;
	if (next(&own) % 2) {
		MPI_Type_contiguous(2, c->kind.type, &c->type);
	} else {
		MPI_Type_vector(2, 1, 2, c->kind.type, &gap);
		MPI_Type_create_resized(gap, 0, 4 * c->kind.bytes, &c->type);
		MPI_Type_free(&gap);
		c->stride = 2 * (size_t)c->kind.bytes;
	}
	MPI_Type_commit(&c->type);
}

static void choose(struct coll *c, int max)
{
	size_t send, recv, bytes;

	memset(c, 0, sizeof(*c));
	c->which = (int)(next(&common) % COLLS);
	c->comm = comms[next(&common) % COMMS];
	c->kind = any_kind();
	c->op = any_op(c->kind);
	c->count = (int)(next(&common) % (1u << next(&common) % 20)) % (max + 1);
	c->in_place = next(&common) % 4 == 0 && c->which >= 2;
	MPI_Comm_rank(c->comm, &c->rank);
	MPI_Comm_size(c->comm, &c->size);
	c->root = (int)(next(&common) % (uint32_t)world_size) % c->size;
	if ((c->which == GATHER || c->which == SCATTER || c->which == REDUCE ||
	     c->which == GATHERV || c->which == SCATTERV) &&
	    c->rank != c->root)
		c->in_place = 0;
	/* MPICH 4.0.2's blocking one reads MPI_IN_PLACE as an address there. */
	if (c->which == REDUCE && c->root != 0)
		c->in_place = 0;
	/* Blocks between two ranks differ in size. */
	if (c->which == ALLTOALLV || c->which == ALLTOALLW)
		c->in_place = 0;
	make_type(c);
	make_blocks(c);
	lengths(c, &send, &recv);
	c->send_bytes = send * c->stride;
	c->recv_bytes = recv * c->stride;
	bytes = c->send_bytes + c->recv_bytes + 3 * EDGE;
	c->memory = malloc(bytes);
	memset(c->memory, 0xa5, bytes);
	c->send = c->memory + EDGE;
	c->recv = c->send + c->send_bytes + EDGE;
	fill(c->send, c->send_bytes / (size_t)c->kind.bytes, c->kind);
	fill(c->recv, c->recv_bytes / (size_t)c->kind.bytes, c->kind);
}

/* name(large, small): the function; tail: the end of its arguments. */
#define CALL(name, tail)                                                                           \
	switch (c->which) {                                                                        \
	case BARRIER:                                                                              \
		return name(Barrier, barrier)(c->comm tail);                                       \
	case BCAST:                                                                                \
		return name(Bcast, bcast)(c->recv, n, c->type, c->root, c->comm tail);             \
	case GATHER:                                                                               \
		return name(Gather, gather)(in ? MPI_IN_PLACE : c->send, n, c->type, c->recv, n,   \
					    c->type, c->root, c->comm tail);                       \
	case SCATTER:                                                                              \
		return name(Scatter, scatter)(c->send, n, c->type, in ? MPI_IN_PLACE : c->recv, n, \
					      c->type, c->root, c->comm tail);                     \
	case ALLGATHER:                                                                            \
		return name(Allgather, allgather)(in ? MPI_IN_PLACE : c->send, n, c->type,         \
						  c->recv, n, c->type, c->comm tail);              \
	case ALLTOALL:                                                                             \
		return name(Alltoall, alltoall)(in ? MPI_IN_PLACE : c->send, n, c->type, c->recv,  \
						n, c->type, c->comm tail);                         \
	case REDUCE:                                                                               \
		return name(Reduce, reduce)(in ? MPI_IN_PLACE : c->send, c->recv, n, c->type,      \
					    c->op, c->root, c->comm tail);                         \
	case ALLREDUCE:                                                                            \
		return name(Allreduce, allreduce)(in ? MPI_IN_PLACE : c->send, c->recv, n,         \
						  c->type, c->op, c->comm tail);                   \
	case REDUCE_SCATTER_BLOCK:                                                                 \
		return name(Reduce_scatter_block, reduce_scatter_block)(                           \
		    in ? MPI_IN_PLACE : c->send, c->recv, n, c->type, c->op, c->comm tail);        \
	case SCAN:                                                                                 \
		return name(Scan, scan)(in ? MPI_IN_PLACE : c->send, c->recv, n, c->type, c->op,   \
					c->comm tail);                                             \
	case GATHERV:                                                                              \
		return name(Gatherv, gatherv)(in ? MPI_IN_PLACE : c->send, c->out.counts[c->root], \
					      c->type, c->recv, c->in.counts, c->in.displs,        \
					      c->type, c->root, c->comm tail);                     \
	case SCATTERV:                                                                             \
		return name(Scatterv, scatterv)(                                                   \
		    c->send, c->out.counts, c->out.displs, c->type, in ? MPI_IN_PLACE : c->recv,   \
		    c->in.counts[c->root], c->type, c->root, c->comm tail);                        \
	case ALLGATHERV:                                                                           \
		return name(Allgatherv, allgatherv)(                                               \
		    in ? MPI_IN_PLACE : c->send, c->in.counts[c->rank], c->type, c->recv,          \
		    c->in.counts, c->in.displs, c->type, c->comm tail);                            \
	case ALLTOALLV:                                                                            \
		return name(Alltoallv, alltoallv)(c->send, c->out.counts, c->out.displs, c->type,  \
						  c->recv, c->in.counts, c->in.displs, c->type,    \
						  c->comm tail);                                   \
	case ALLTOALLW:                                                                            \
		return name(Alltoallw, alltoallw)(c->send, c->out.counts, c->out.bytes,            \
						  c->out.types, c->recv, c->in.counts,             \
						  c->in.bytes, c->in.types, c->comm tail);         \
	case REDUCE_SCATTER:                                                                       \
		return name(Reduce_scatter, reduce_scatter)(in ? MPI_IN_PLACE : c->send, c->recv,  \
							    c->in.counts, c->type, c->op,          \
							    c->comm tail);                         \
	default:                                                                                   \
		return name(Exscan, exscan)(in ? MPI_IN_PLACE : c->send, c->recv, n, c->type,      \
					    c->op, c->comm tail);                                  \
	}
#define BLOCKING(large, small)    MPI_##large
#define NONBLOCKING(large, small) MPI_I##small
#define COMMA                     ,

static int run(struct coll *c)
{
	int n = c->count / c->scale, in = c->in_place;

	CALL(BLOCKING, )
}

static int start(struct coll *c, MPI_Request *request)
{
	int n = c->count / c->scale, in = c->in_place;

	CALL(NONBLOCKING, COMMA request)
}

/* A digest of what the call has left in memory, also around its buffers. */
static uint64_t digest(const struct coll *c)
{
	size_t bytes = c->send_bytes + c->recv_bytes + 3 * EDGE, from = (size_t)-1, i;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	/* Memory behind the result of a reduction in place is not defined, nor rank 0's of exscan.
	 */
	if (c->which == REDUCE_SCATTER_BLOCK && c->in_place)
		from = EDGE + c->send_bytes + EDGE + (size_t)c->count * c->stride;
	else if (c->which == REDUCE_SCATTER && c->in_place)
		from = EDGE + c->send_bytes + EDGE + (size_t)c->in.counts[c->rank] * c->stride;
	else if (c->which == EXSCAN && c->rank == 0)
		from = EDGE + c->send_bytes + EDGE;
	for (i = 0; i < bytes; i++)
		if (i < from || i >= bytes - EDGE)
			h = (h ^ c->memory[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void one_round(int number, int max)
{
	int batch = 1 + (int)(next(&common) % BATCH), blocking = next(&common) % 4 == 0, i;
	uint64_t h = 0, *all = calloc((size_t)world_size, sizeof(*all));
	MPI_Request requests[BATCH];
	struct coll colls[BATCH];

	for (i = 0; i < batch; i++) {
		choose(&colls[i], max);
		requests[i] = MPI_REQUEST_NULL;
		if (blocking)
			run(&colls[i]);
		else
			start(&colls[i], &requests[i]);
	}
	MPI_Waitall(batch, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < batch; i++) {
		h = h * 31 + digest(&colls[i]);
		if (colls[i].type != colls[i].kind.type)
			MPI_Type_free(&colls[i].type);
		free(colls[i].memory);
	}
	MPI_Gather(&h, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	for (i = 0; world_rank == 0 && i < world_size; i++)
		printf("round %d, rank %d, %d calls: %016llx\n", number, i, batch,
		       (unsigned long long)all[i]);
	free(all);
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
		one_round(i, max);
	for (i = 1; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
	MPI_Finalize();
	return 0;
}
