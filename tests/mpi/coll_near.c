/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives, non-blocking and persistent, against what MPI says that each block
 * holds: of Cartesian topologies with periods of one and two ranks, graphs, and distributed graphs
 * with several edges between two ranks. No other form is compared with: MPICH 4.0.2's own give
 * wrong results.
 *
 *	coll_near [ROUNDS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDGES = 32, /* of a rank, each way */
	MOST = 40,  /* elements of a block */
	ROOM = EDGES * (MOST + 3),
	STARTS = 3,
};

enum which {
	ALLGATHER,
	ALLGATHERV,
	ALLTOALL,
	ALLTOALLV,
	ALLTOALLW,
	COLLS
};

/* Blocks of one direction. */
struct side {
	int num, peer[EDGES], count[EDGES], at[EDGES], first[EDGES]; /* first: value of element 0 */
	MPI_Aint bytes[EDGES];
	MPI_Datatype type[EDGES];
	int buf[ROOM];
};

static struct side out, in;
static int rank, size, cartesian;
static unsigned long checked;

static int count_of(int round, enum which which, int from, int index)
{
	if (which == ALLGATHER || which == ALLTOALL)
		return round % MOST;
	return (round * 5 + from * 7 + (which == ALLGATHERV ? 0 : index * 3)) % MOST;
}

static int value_of(enum which which, int from, int index)
{
	return from * 100000 + (which <= ALLGATHERV ? 0 : index * 1000);
}

static void find(MPI_Comm comm)
{
	int kind, i, weighted;

	MPI_Topo_test(comm, &kind);
	cartesian = kind == MPI_CART;
	if (kind == MPI_DIST_GRAPH) {
		MPI_Dist_graph_neighbors_count(comm, &in.num, &out.num, &weighted);
		MPI_Dist_graph_neighbors(comm, in.num, in.peer, MPI_UNWEIGHTED, out.num, out.peer,
					 MPI_UNWEIGHTED);
		return;
	}
	if (kind == MPI_GRAPH) {
		MPI_Graph_neighbors_count(comm, rank, &in.num);
		MPI_Graph_neighbors(comm, rank, in.num, in.peer);
	} else {
		MPI_Cartdim_get(comm, &in.num);
		for (i = 0; i < in.num; i++)
			MPI_Cart_shift(comm, i, 1, &in.peer[2 * i], &in.peer[2 * i + 1]);
		in.num *= 2;
	}
	out.num = in.num;
	memcpy(out.peer, in.peer, sizeof(out.peer));
}

/* The sender's index of the block that arrives here as number i. */
static int index_at_sender(const int *lists, int i)
{
	const int *theirs = lists + in.peer[i] * (EDGES + 1);
	int nth = 0, k;

	if (cartesian)
		return i ^ 1;
	for (k = 0; k < i; k++)
		nth += in.peer[k] == in.peer[i];
	for (k = 0; k < theirs[0]; k++)
		if (theirs[1 + k] == rank && !nth--)
			return k;
	return 0;
}

static void place(struct side *s, int gap)
{
	int i, at = 0;

	for (i = 0; i < s->num; i++) {
		s->at[i] = at;
		s->bytes[i] = (MPI_Aint)((size_t)at * sizeof(int));
		s->type[i] = MPI_INT;
		at += s->count[i] + gap;
	}
}

/* Sets counts, places and contents for a round. */
static void prepare(MPI_Comm comm, int round, enum which which)
{
	int mine[EDGES + 1] = {0}, *lists = malloc((size_t)size * sizeof(mine)), i, k;
	int gap = which == ALLGATHER || which == ALLTOALL ? 0 : round % 3;

	find(comm);
	mine[0] = out.num;
	memcpy(mine + 1, out.peer, (size_t)out.num * sizeof(int));
	MPI_Allgather(mine, EDGES + 1, MPI_INT, lists, EDGES + 1, MPI_INT, comm);
	for (i = 0; i < out.num; i++) {
		out.count[i] = count_of(round, which, rank, i);
		out.first[i] = value_of(which, rank, i);
	}
	for (i = 0; i < in.num; i++) {
		int from = in.peer[i], index = from < 0 ? 0 : index_at_sender(lists, i);

		in.count[i] = from < 0 ? round % MOST : count_of(round, which, from, index);
		in.first[i] = value_of(which, from, index);
	}
	place(&out, gap);
	place(&in, gap);
	for (i = 0; i < out.num; i++)
		for (k = 0; k < out.count[i]; k++)
			out.buf[(which <= ALLGATHERV ? 0 : out.at[i]) + k] = out.first[i] + k;
	free(lists);
}

static void check(const char *what, enum which which)
{
	int at = 0, i, k;

	for (i = 0; i < in.num; i++) {
		for (; at < in.at[i]; at++)
			if (in.buf[at] != -1)
				break;
		for (k = 0; k < in.count[i]; k++, at++)
			if (in.buf[at] != (in.peer[i] < 0 ? -1 : in.first[i] + k))
				break;
		if (at == in.at[i] + in.count[i])
			continue;
		fprintf(stderr, "rank %d: %s of kind %d: element %d of block %d from %d is wrong\n",
			rank, what, which, at - in.at[i], i, in.peer[i]);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	checked++;
}

#define CALL(name, tail)                                                                           \
	switch (which) {                                                                           \
	case ALLGATHER:                                                                            \
		name(allgather)(out.buf, n, MPI_INT, in.buf, n, MPI_INT, comm tail);               \
		break;                                                                             \
	case ALLGATHERV:                                                                           \
		name(allgatherv)(out.buf, n, MPI_INT, in.buf, in.count, in.at, MPI_INT,            \
				 comm tail);                                                       \
		break;                                                                             \
	case ALLTOALL:                                                                             \
		name(alltoall)(out.buf, n, MPI_INT, in.buf, n, MPI_INT, comm tail);                \
		break;                                                                             \
	case ALLTOALLV:                                                                            \
		name(alltoallv)(out.buf, out.count, out.at, MPI_INT, in.buf, in.count, in.at,      \
				MPI_INT, comm tail);                                               \
		break;                                                                             \
	default:                                                                                   \
		name(alltoallw)(out.buf, out.count, out.bytes, out.type, in.buf, in.count,         \
				in.bytes, in.type, comm tail);                                     \
	}
#define NONBLOCKING(name) MPI_Ineighbor_##name
#define PERSISTENT(name)  MPI_Neighbor_##name##_init
#define COMMA             ,

static void try(MPI_Comm comm, int round, enum which which)
{
	MPI_Request request;
	int n, i;

	prepare(comm, round, which);
	n = count_of(round, which, rank, 0);
	memset(in.buf, 0xff, sizeof(in.buf));
	CALL(NONBLOCKING, COMMA & request)
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check("a non-blocking one", which);
	CALL(PERSISTENT, COMMA MPI_INFO_NULL COMMA & request)
	for (i = 0; i < STARTS; i++) {
		memset(in.buf, 0xff, sizeof(in.buf));
		if (i)
			MPI_Start(&request);
		else
			MPI_Startall(1, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check("a persistent one", which);
	}
	MPI_Request_free(&request);
}

static MPI_Comm dist_graph(void)
{
	int from[EDGES], to[EDGES], num_from = 0, num_to = 0, i;
	MPI_Comm comm;

	/* A ring of double edges, and each rank to itself. */
	for (i = 0; i < 2; i++) {
		from[num_from++] = (rank + size - 1) % size;
		to[num_to++] = (rank + 1) % size;
	}
	from[num_from++] = to[num_to++] = rank;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, num_from, from, MPI_UNWEIGHTED, num_to, to,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
	return comm;
}

static MPI_Comm graph(void)
{
	int *index = malloc((size_t)size * sizeof(int)),
	    *edges = malloc((size_t)size * 2 * sizeof(int)), i;
	MPI_Comm comm;

	for (i = 0; i < size; i++) {
		edges[2 * i] = (i + 1) % size;
		edges[2 * i + 1] = (i + size - 1) % size;
		index[i] = 2 * (i + 1);
	}
	MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
	free(index);
	free(edges);
	return comm;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, wide[2], periods[2] = {1, 0}, flat[2],
	    both[2] = {1, 1}, i, k;
	MPI_Comm comms[4];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	wide[0] = wide[1] = 0;
	MPI_Dims_create(size, 2, wide);
	flat[0] = size;
	flat[1] = 1;
	MPI_Cart_create(MPI_COMM_WORLD, 2, wide, periods, 0, &comms[0]);
	MPI_Cart_create(MPI_COMM_WORLD, 2, flat, both, 0, &comms[1]);
	comms[2] = dist_graph();
	comms[3] = graph();
	for (i = 0; i < rounds; i++)
		for (k = 0; k < 4 * COLLS; k++)
			try(comms[k % 4], i * 7, (enum which)(k / 4));
	for (i = 0; i < 4; i++)
		MPI_Comm_free(&comms[i]);
	if (rank == 0)
		printf("%lu neighbourhood collectives have the right results\n", checked);
	MPI_Finalize();
	return 0;
}
