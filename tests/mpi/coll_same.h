/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One drawn collective of coll_same.c: its arguments, and buffers of the call and of the one that
 * it is compared with. coll_same_draw.c draws it.
 */
#ifndef WEFT_TESTS_COLL_SAME_H
#define WEFT_TESTS_COLL_SAME_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum which {
	BARRIER,
	BCAST,
	GATHER,
	SCATTER,
	ALLGATHER,
	ALLTOALL,
	GATHERV,
	SCATTERV,
	ALLGATHERV,
	ALLTOALLV,
	ALLTOALLW,
	NEIGHBOR_ALLGATHER,
	NEIGHBOR_ALLGATHERV,
	NEIGHBOR_ALLTOALL,
	NEIGHBOR_ALLTOALLV,
	NEIGHBOR_ALLTOALLW,
	REDUCE, /* this one and those behind it combine */
	ALLREDUCE,
	REDUCE_SCATTER_BLOCK,
	REDUCE_SCATTER,
	SCAN,
	EXSCAN,
	COLLS
};

enum {
	CANARY = 64,
	COMMS = 4,
	TOPOS = 3,
	MAX_RANKS = 16,
	MAX_BLOCKS = 2 * MAX_RANKS, /* ranks, or neighbours */
};

/* Classes of types; operations have a mask of them. */
enum {
	INTEGER = 1,
	FLOAT = 2,
	COMPLEX = 4,
	PAIR = 8,
	TRUTH = 16,
};

struct kind {
	MPI_Datatype type;
	int bytes; /* its extent */
	int class;
	int value_bytes; /* of a pair; its index is the last int */
	int index_at;
};

/* Blocks of one direction: elements, and where they are. */
struct blocks {
	int num;
	int peer[MAX_BLOCKS];
	int count[MAX_BLOCKS], at[MAX_BLOCKS]; /* elements of the kind */
	/* As the call gets them: */
	int counts[MAX_BLOCKS], displs[MAX_BLOCKS], bytes[MAX_BLOCKS];
	MPI_Aint aints[MAX_BLOCKS];
	MPI_Datatype types[MAX_BLOCKS];
	size_t room; /* elements */
};

struct coll {
	int which, count, root, rank, size, in_place, persistent;
	struct kind kind;
	MPI_Op op;
	int op_index;
	MPI_Comm comm;
	size_t send_bytes, recv_bytes;
	uint8_t *memory, *send, *recv, *send2, *recv2;
	MPI_Datatype type; /* of the call, of the same signature as kind.type */
	int scale;         /* elements in one of them */
	size_t stride;     /* bytes of an element of them */
	struct blocks out, in;
	MPI_Request request;
};

extern uint64_t common, own; /* random numbers: the same at all ranks, and this rank's */
extern MPI_Comm comms[COMMS], topos[TOPOS];
extern int world_rank, world_size;
extern int without_persistent; /* none are drawn; all else stays */

uint32_t next(uint64_t *state);
/*
 * Makes the communicators. libnbc: calls are drawn that Open MPI 4.1.4's libnbc carries out
 * rightly: no periodic dimensions of one or two ranks, no alltoallw in place.
 */
void make_comms(int libnbc);
void free_comms(void);
/* Draws a collective of up to max elements, and fills its buffers. */
/* New values in the buffer that is read and written; recv2 is its copy. */
void choose_again(struct coll *c);
void choose(struct coll *c, int max);
void drop(struct coll *c);

#endif /* WEFT_TESTS_COLL_SAME_H */
