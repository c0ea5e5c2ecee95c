/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws collectives (coll_same.h): which, of which communicator, types, operation, counts, places.
 *
 * Numbers that the ranks share decide all that every rank must pass alike; types, displacements and
 * the bytes themselves are each rank's own.
 */
#include "tests/mpi/coll_same.h"

#include <stdlib.h>
#include <string.h>

uint64_t common, own;
MPI_Comm comms[COMMS], topos[TOPOS];
int world_rank, world_size;

uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* ---- communicators --------------------------------------------------------------------------- */

static void make_graph(MPI_Comm *graph)
{
	int index[MAX_RANKS], edges[2 * MAX_RANKS], i, num = 0;

	/* A ring; two ranks have each other once, and one rank itself. */
	for (i = 0; i < world_size; i++) {
		edges[num++] = (i + 1) % world_size;
		if (world_size > 2)
			edges[num++] = (i + world_size - 1) % world_size;
		index[i] = num;
	}
	MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, graph);
}

/* Each rank to all ranks below it, to itself, and twice to the next; rank 1 has no other edges. */
static int goes_to(int from, int to)
{
	return (to <= from && from != 1) + 2 * (to == (from + 1) % world_size);
}

static void make_dist_graph(MPI_Comm *graph)
{
	int in[MAX_BLOCKS * 2], out[MAX_BLOCKS * 2], num_in = 0, num_out = 0, i, k;

	for (i = 0; i < world_size; i++) {
		for (k = 0; k < goes_to(i, world_rank); k++)
			in[num_in++] = i;
		for (k = 0; k < goes_to(world_rank, i); k++)
			out[num_out++] = i;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, num_in, in, MPI_UNWEIGHTED, num_out, out,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, graph);
}

static int for_libnbc;
int without_persistent;

void make_comms(int libnbc)
{
	int dims[2] = {0, 0}, periods[2];

	for_libnbc = libnbc;
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[2]);
	MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3 == 0, world_rank, &comms[3]);
	MPI_Dims_create(world_size, 2, dims);
	periods[0] = !libnbc || dims[0] > 2;
	periods[1] = 0;
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &topos[0]);
	make_graph(&topos[1]);
	make_dist_graph(&topos[2]);
}

void free_comms(void)
{
	int i;

	for (i = 1; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
	for (i = 0; i < TOPOS; i++)
		MPI_Comm_free(&topos[i]);
}

/* The neighbours in the order of the buffers. */
static void neighbors(MPI_Comm comm, struct blocks *out, struct blocks *in)
{
	int kind, rank, i, weighted;

	MPI_Comm_rank(comm, &rank);
	MPI_Topo_test(comm, &kind);
	if (kind == MPI_DIST_GRAPH) {
		MPI_Dist_graph_neighbors_count(comm, &in->num, &out->num, &weighted);
		MPI_Dist_graph_neighbors(comm, in->num, in->peer, MPI_UNWEIGHTED, out->num,
					 out->peer, MPI_UNWEIGHTED);
		return;
	}
	if (kind == MPI_GRAPH) {
		MPI_Graph_neighbors_count(comm, rank, &in->num);
		MPI_Graph_neighbors(comm, rank, in->num, in->peer);
	} else {
		MPI_Cartdim_get(comm, &in->num);
		for (i = 0; i < in->num; i++)
			MPI_Cart_shift(comm, i, 1, &in->peer[2 * i], &in->peer[2 * i + 1]);
		in->num *= 2;
	}
	out->num = in->num;
	memcpy(out->peer, in->peer, sizeof(out->peer));
}

/* ---- types and operations -------------------------------------------------------------------- */

static struct kind any_kind(void)
{
	const struct kind kinds[] = {
	    {MPI_INT8_T, 1, INTEGER, 0, 0},
	    {MPI_UINT8_T, 1, INTEGER, 0, 0},
	    {MPI_SHORT, 2, INTEGER, 0, 0},
	    {MPI_UNSIGNED_SHORT, 2, INTEGER, 0, 0},
	    {MPI_INT, 4, INTEGER, 0, 0},
	    {MPI_UNSIGNED, 4, INTEGER, 0, 0},
	    {MPI_LONG, 8, INTEGER, 0, 0},
	    {MPI_UNSIGNED_LONG, 8, INTEGER, 0, 0},
	    {MPI_INT64_T, 8, INTEGER, 0, 0},
	    {MPI_FLOAT, 4, FLOAT, 0, 0},
	    {MPI_DOUBLE, 8, FLOAT, 0, 0},
	    {MPI_DOUBLE, 8, FLOAT, 0, 0},
	    {MPI_C_FLOAT_COMPLEX, 8, COMPLEX, 0, 0},
	    {MPI_C_DOUBLE_COMPLEX, 16, COMPLEX, 0, 0},
	    {MPI_C_BOOL, 1, TRUTH, 0, 0},
	    {MPI_2INT, 8, PAIR, 4, 4},
	    {MPI_FLOAT_INT, 8, PAIR, 4, 4},
	    {MPI_DOUBLE_INT, 16, PAIR, 8, 8},
	    {MPI_LONG_INT, 16, PAIR, 8, 8},
	    {MPI_SHORT_INT, 8, PAIR, 2, 4},
	};

	return kinds[next(&common) % (sizeof(kinds) / sizeof(kinds[0]))];
}

enum {
	OP_BXOR = 6, /* its place in the list below */
};

static MPI_Op any_op(struct kind kind, int *index)
{
	static const struct {
		MPI_Op op;
		int classes;
	} ops[] = {{MPI_SUM, INTEGER | FLOAT | COMPLEX},
		   {MPI_PROD, INTEGER | FLOAT | COMPLEX},
		   {MPI_MAX, INTEGER | FLOAT},
		   {MPI_MIN, INTEGER | FLOAT},
		   {MPI_BAND, INTEGER},
		   {MPI_BOR, INTEGER},
		   {MPI_BXOR, INTEGER},
		   {MPI_LAND, INTEGER | TRUTH},
		   {MPI_LOR, INTEGER | TRUTH},
		   {MPI_LXOR, INTEGER | TRUTH},
		   {MPI_MAXLOC, PAIR},
		   {MPI_MINLOC, PAIR}};
	uint32_t i;

	do
		i = next(&common) % (sizeof(ops) / sizeof(ops[0]));
	while (!(ops[i].classes & kind.class));
	*index = (int)i;
	return ops[i].op;
}

/* Pairs with few values, so that the index decides; padding is 0. */
static void fill_pair(uint8_t *at, struct kind kind)
{
	int value = (int)(next(&own) % 3), index = (int)(next(&own) % 1000);

	memset(at, 0, (size_t)kind.bytes);
	if (kind.type == MPI_FLOAT_INT)
		*(float *)(void *)at = (float)value;
	else if (kind.type == MPI_DOUBLE_INT)
		*(double *)(void *)at = value;
	else
		memcpy(at, &value, (size_t)(kind.value_bytes < 4 ? kind.value_bytes : 4));
	memcpy(at + kind.index_at, &index, sizeof(index));
}

/*
 * Open MPI 4.1.4 compares unsigned long as if it were signed, MPICH 4.0.2 all unsigned numbers: no
 * such number begins with a 1.
 */
static int top_byte(struct kind kind)
{
#ifndef OPEN_MPI
	if (kind.type == MPI_UINT8_T || kind.type == MPI_UNSIGNED_SHORT ||
	    kind.type == MPI_UNSIGNED)
		return kind.bytes - 1;
#endif
	return 7;
}

static void fill(uint8_t *at, size_t elements, struct kind kind)
{
	int bytes = kind.type == MPI_C_FLOAT_COMPLEX ? 4
		    : kind.class == COMPLEX          ? 8
						     : kind.bytes,
	    k;
	size_t i;

	for (i = 0; i < elements * (size_t)(kind.bytes / bytes); i++, at += bytes) {
		if (kind.class == PAIR)
			fill_pair(at, kind);
		else if (kind.class == TRUTH)
			*at = next(&own) % 2;
		else if (kind.class != INTEGER && bytes == 4)
			*(float *)(void *)at = (float)(next(&own) % 4);
		else if (kind.class != INTEGER)
			*(double *)(void *)at = next(&own) % 4;
		else
			for (k = 0; k < bytes; k++)
				at[k] = (uint8_t)next(&own) & (k == top_byte(kind) ? 0x7f : 0xff);
	}
}

static void make_type(struct coll *c)
{
	MPI_Datatype gap;

	c->type = c->kind.type;
	c->scale = 1;
	c->stride = (size_t)c->kind.bytes;
	/* A rank's own choice: the others need not know it. */
	if (c->which >= REDUCE || next(&own) % 4 || c->count % 2 || c->kind.class == PAIR)
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

/* ---- blocks and buffers ---------------------------------------------------------------------- */

static int has_counts(int which)
{
	return (which >= GATHERV && which <= ALLTOALLW) || which == NEIGHBOR_ALLGATHERV ||
	       which == NEIGHBOR_ALLTOALLV || which == NEIGHBOR_ALLTOALLW ||
	       which == REDUCE_SCATTER;
}

static int is_neighbor(int which)
{
	return which >= NEIGHBOR_ALLGATHER && which <= NEIGHBOR_ALLTOALLW;
}

/* Elements that a rank sends another in this call; both ends draw the same. Even, as the count. */
static int drawn(const struct coll *c, uint64_t seed, int from, int to)
{
	uint64_t state = seed + (uint64_t)from * 1000003 + (uint64_t)to * 7919;
	int least = c->count % 2 ? 1 : 2;

	if (c->count < least)
		return 0;
	(void)next(&state);
	return next(&state) % 4 ? (int)(next(&state) % (uint32_t)c->count) / least * least : 0;
}

/* Gives each block its place; a rank's own choice are gaps between them. */
static void place(struct coll *c, struct blocks *b, int gaps)
{
	int i, at = 0;

	for (i = 0; i < b->num; i++) {
		b->at[i] = at;
		at += b->count[i] + (gaps ? 2 * (int)(next(&own) % 3) : 0);
		b->counts[i] = b->count[i] / c->scale;
		b->displs[i] = b->at[i] / c->scale;
		b->aints[i] = b->bytes[i] = b->at[i] * (int)c->stride;
		b->types[i] = c->type;
	}
	b->room = (size_t)at;
}

static void all_ranks(struct coll *c, struct blocks *b, int there)
{
	int i;

	b->num = there ? c->size : 0;
	for (i = 0; i < c->size; i++)
		b->peer[i] = i;
}

/* The counts of all collectives that have several blocks. */
static void make_blocks(struct coll *c)
{
	uint64_t seed = (uint64_t)next(&common) << 20;
	int i, is_root = c->rank == c->root, v = has_counts(c->which), from_all, to_one;

	if (is_neighbor(c->which)) {
		neighbors(c->comm, &c->out, &c->in);
	} else {
		all_ranks(c, &c->out, c->which >= ALLTOALLV || (c->which == SCATTERV && is_root));
		all_ranks(c, &c->in, c->which != SCATTERV && (c->which != GATHERV || is_root));
	}
	from_all = c->which == ALLGATHERV || c->which == GATHERV ||
		   c->which == NEIGHBOR_ALLGATHERV || c->which == REDUCE_SCATTER;
	to_one = c->which == SCATTERV;
	for (i = 0; i < c->out.num; i++)
		c->out.count[i] =
		    !v ? c->count : drawn(c, seed, to_one ? 0 : c->rank, c->out.peer[i]);
	for (i = 0; i < c->in.num; i++)
		c->in.count[i] =
		    !v ? c->count : drawn(c, seed, c->in.peer[i], from_all ? 0 : c->rank);
	if (c->which == GATHERV || c->which == ALLGATHERV || c->which == NEIGHBOR_ALLGATHERV)
		c->count = drawn(c, seed, c->rank, 0);
	else if (to_one)
		c->count = drawn(c, seed, 0, c->rank);
	/* In place data are sent from where others are received: as many both ways. */
	for (i = 0;
	     c->in_place && i < c->in.num && (c->which == ALLTOALLV || c->which == ALLTOALLW);
	     i++) {
		int peer = c->in.peer[i];

		c->in.count[i] = drawn(c, seed, peer < c->rank ? peer : c->rank,
				       peer < c->rank ? c->rank : peer);
	}
	place(c, &c->out, v && next(&own) % 2);
	place(c, &c->in, v && c->which != REDUCE_SCATTER && next(&own) % 2);
}

/* Lengths in elements of this rank's buffers. */
static void lengths(struct coll *c, size_t *send, size_t *recv)
{
	size_t one = (size_t)c->count, all = one * (size_t)c->size;
	int is_root = c->rank == c->root;

	*send = *recv = one;
	switch ((enum which)c->which) {
	case BARRIER:
		*send = *recv = 0;
		break;
	case BCAST:
		*send = 0;
		break;
	case GATHER:
		*recv = is_root ? all : 0;
		break;
	case SCATTER:
		*send = is_root ? all : 0;
		break;
	case ALLGATHER:
		*recv = all;
		break;
	case ALLTOALL:
		*send = *recv = all;
		break;
	case GATHERV:
	case ALLGATHERV:
	case NEIGHBOR_ALLGATHER:
	case NEIGHBOR_ALLGATHERV:
		*recv = c->in.room;
		break;
	case SCATTERV:
		*send = c->out.room;
		break;
	case ALLTOALLV:
	case ALLTOALLW:
	case NEIGHBOR_ALLTOALL:
	case NEIGHBOR_ALLTOALLV:
	case NEIGHBOR_ALLTOALLW:
		*send = c->out.room;
		*recv = c->in.room;
		break;
	case REDUCE:
		*recv = is_root ? one : 0;
		break;
	case REDUCE_SCATTER_BLOCK:
		*send = all;
		*recv = c->in_place ? all : one;
		break;
	case REDUCE_SCATTER:
		*send = c->in.room;
		*recv = c->in_place ? c->in.room : (size_t)c->in.count[c->rank];
		break;
	case ALLREDUCE:
	case SCAN:
	case EXSCAN:
	case COLLS:
		break;
	}
}

/* Buffers lie between bytes that nothing may change; every second element where types have gaps. */
static void make_buffers(struct coll *c)
{
	size_t send, recv, bytes;

	lengths(c, &send, &recv);
	c->send_bytes = (send * c->stride + 15) & ~(size_t)15;
	c->recv_bytes = (recv * c->stride + 15) & ~(size_t)15;
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

void choose_again(struct coll *c)
{
	fill(c->recv, c->recv_bytes / (size_t)c->kind.bytes, c->kind);
	memcpy(c->recv2, c->recv, c->recv_bytes);
}

void choose(struct coll *c, int max)
{
	memset(c, 0, sizeof(*c));
	c->which = (int)(next(&common) % COLLS);
	c->comm = comms[next(&common) % COMMS];
#ifndef OPEN_MPI
	/* MPICH 4.0.2's own are wrong: coll_near.c has them. */
	if (is_neighbor(c->which))
		c->which = ALLTOALLV;
#endif
	if (is_neighbor(c->which))
		c->comm = topos[next(&common) % TOPOS];
	c->kind = any_kind();
	c->op = any_op(c->kind, &c->op_index);
	c->count = (int)(next(&common) % (1u << next(&common) % 20)) % (max + 1);
	if (next(&common) % 10 == 0)
		c->count = 0;
	c->in_place = next(&common) % 4 == 0;
	c->persistent = next(&common) % 4 == 0 && !without_persistent;
	MPI_Comm_rank(c->comm, &c->rank);
	MPI_Comm_size(c->comm, &c->size);
	c->root = (int)(next(&common) % (uint32_t)world_size) % c->size;
	if (c->in_place &&
	    (c->which < GATHER || is_neighbor(c->which) || (for_libnbc && c->which == ALLTOALLW) ||
	     (c->rank != c->root &&
	      (c->which == GATHER || c->which == SCATTER || c->which == GATHERV ||
	       c->which == SCATTERV || c->which == REDUCE))))
		c->in_place = 0;
#ifndef OPEN_MPI
	/* MPICH 4.0.2's blocking one reads MPI_IN_PLACE as an address there. */
	if (c->which == REDUCE && c->root != 0)
		c->in_place = 0;
	/* Its own persistent ones do not end: only those that the NIC takes are drawn. */
	if (c->size < 2 ||
	    (c->which >= REDUCE && (!(c->kind.class & (INTEGER | FLOAT)) || c->op_index > OP_BXOR)))
		c->persistent = 0;
#endif
	make_type(c);
	make_blocks(c);
	make_buffers(c);
}

void drop(struct coll *c)
{
	if (c->type != c->kind.type)
		MPI_Type_free(&c->type);
	free(c->memory);
}
