/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the graph of one rank's part of a collective. Needs no NIC.
 *
 * goal_coll_build() calls the family's function in goal_coll_*.c, which states its algorithm as a
 * sequence of operations. goal_coll_flow.c derives the dependencies between the operations. Rule
 * for algorithms: a receive must not overwrite data that a send of the same round reads. Otherwise
 * ranks that exchange long messages wait for each other.
 */
#ifndef WEFT_GOAL_COLL_BUILD_H
#define WEFT_GOAL_COLL_BUILD_H

#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/compile/goal_graph.h"

/* Arguments common to all collectives. */
struct goal_coll_call {
	GOAL_Collective coll;
	GOAL_Algorithm alg;
	const void *send; /* BCAST: unused */
	void *recv;
	uint64_t count; /* elements, per block where there are several blocks */
	GOAL_Op op;
	GOAL_DataType type; /* collectives that only move data use 8-bit UINT */
	uint32_t width;
	uint32_t root;
	const int64_t *counts; /* REDUCE_SCATTER: of each rank's block; NULL: count of each */
	/* EXCHANGE: messages; offsets are in send and recv. */
	const GOAL_Block *sends, *recvs;
	uint32_t num_sends, num_recvs;
};

/*
 * Fills an empty graph. Returns 0 or a negative errno: -EINVAL for an invalid argument, -ENOMEM, or
 * -EOVERFLOW when the scratchpad or the graph would exceed the NIC's limits.
 */
int goal_coll_build(struct goal_graph *graph, const struct goal_coll_call *call);

/* ---- for the families ----------------------------------------------------------------------- */

/* A range of memory with its last writer and its readers since then. */
struct goal_coll_stretch {
	uint64_t low, high;
	uint32_t writer;  /* vertex, or GOAL_NO_VERTEX */
	uint32_t readers; /* readers since that write: index into reads, or GOAL_NO_VERTEX */
};

struct goal_coll_map {
	struct goal_coll_stretch *stretches; /* sorted, disjoint */
	uint32_t num, max;
};

struct goal_coll {
	struct goal_graph *graph;
	const struct goal_coll_call *call;
	GOAL_Algorithm alg; /* never AUTO */
	uint32_t rank, size, root;
	uint64_t elem_bytes;
	uint64_t bytes;              /* count elements; with starts of the largest block */
	uint64_t *starts;            /* of each rank's block in bytes, and the end; NULL: equal */
	struct goal_mem in;          /* this rank's contribution, with GOAL_IN_PLACE resolved */
	struct goal_mem out;         /* destination of this rank's result */
	int error;                   /* the first error; no operation is added after it */
	struct goal_coll_map map[2]; /* user's memory, scratchpad */
	struct goal_coll_read {
		uint32_t vertex, next;
	} * reads;
	uint32_t num_reads, max_reads;
	uint32_t *waits; /* per vertex: 1 + the last vertex that waits for it */
	uint32_t max_waits;
};

/*
 * Each adds one operation. It waits for earlier operations that write the memory it reads or
 * writes, or that read the memory it writes. Returns the vertex, or GOAL_NO_VERTEX for 0 bytes:
 * both ends then omit the message.
 */
uint32_t goal_coll_send(struct goal_coll *c, struct goal_mem mem, uint32_t to, uint32_t tag);
uint32_t goal_coll_recv(struct goal_coll *c, struct goal_mem mem, uint32_t from, uint32_t tag);
uint32_t goal_coll_sendv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t to, uint32_t tag);
uint32_t goal_coll_recvv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t from, uint32_t tag);
/* Sends the root's bytes to all other ranks over the communicator's reliable multicast group. */
uint32_t goal_coll_multicast(struct goal_coll *c, struct goal_mem mem, uint32_t root, uint32_t tag);
/* Copies a range; adds no operation when both are the same place. */
uint32_t goal_coll_copy(struct goal_coll *c, struct goal_mem from, struct goal_mem to);
/* Applies the call's operation: result = a op b. The result may be one of the operands. */
uint32_t goal_coll_combine(struct goal_coll *c, struct goal_mem a, struct goal_mem b,
			   struct goal_mem result);
/* Makes then wait for the end, or the start, of first. Either may be GOAL_NO_VERTEX. */
void goal_coll_after(struct goal_coll *c, uint32_t first, uint32_t then);
void goal_coll_after_start(struct goal_coll *c, uint32_t first, uint32_t then);
/* Reserves memory in the scratchpad. */
struct goal_mem goal_coll_scratch(struct goal_coll *c, uint64_t bytes);
/* Records the first error. */
void goal_coll_fail(struct goal_coll *c, int error);

/* Returns a part of a buffer. */
struct goal_mem goal_coll_part(struct goal_mem whole, uint64_t offset, uint64_t bytes);
/* Returns block i of a buffer of equal blocks of c->bytes. */
struct goal_mem goal_coll_block(const struct goal_coll *c, struct goal_mem whole, uint32_t i);
/*
 * Blocks first to first + num - 1, modulo the number of ranks, as one or two pieces. Returns their
 * number.
 */
uint32_t goal_coll_blocks(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
			  uint32_t num, struct goal_mem pieces[2]);
/*
 * Splits the elements as evenly as possible into parts. Returns parts first to first + num - 1, in
 * bytes.
 */
struct goal_mem goal_coll_split(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
				uint32_t num, uint32_t parts);
/* Returns the largest power of two that is not greater than ranks. */
uint32_t goal_coll_pow2(uint32_t ranks);

/*
 * Binomial tree over ranks relative to the root (ESPGOAL paper, 5.3): v is the parent of v + mask
 * for each power of two below the lowest set bit of v.
 */
static inline uint32_t goal_coll_relative(const struct goal_coll *c)
{
	return (c->rank + c->size - c->root) % c->size;
}
static inline uint32_t goal_coll_absolute(const struct goal_coll *c, uint32_t v)
{
	return (uint32_t)(((uint64_t)v + c->root) % c->size);
}
/*
 * Lowest set bit of v. For the root: the first power of two that is not below the number of ranks.
 */
uint32_t goal_coll_lowest(const struct goal_coll *c, uint32_t v);
/*
 * Number of ranks in the subtree of v + mask, for mask below the lowest set bit of v; 0 when there
 * is no such child.
 */
uint32_t goal_coll_subtree(const struct goal_coll *c, uint32_t v, uint32_t mask);

/*
 * Resolves GOAL_ALG_AUTO (goal_coll_choose.c); near: all ranks share a built-in switch. Returns
 * AUTO itself when WEFT_GOAL_COLL is invalid. Any thread.
 */
GOAL_Algorithm goal_coll_choose(GOAL_Collective coll, uint32_t ranks, uint64_t bytes, bool near);

void goal_coll_barrier(struct goal_coll *c);
void goal_coll_bcast(struct goal_coll *c);
void goal_coll_gather(struct goal_coll *c);
void goal_coll_scatter(struct goal_coll *c);
void goal_coll_reduce(struct goal_coll *c);
/* Reduces to c->root along the binomial tree. */
void goal_coll_reduce_binomial(struct goal_coll *c);
void goal_coll_scan(struct goal_coll *c);
void goal_coll_allreduce(struct goal_coll *c);
void goal_coll_allgather(struct goal_coll *c);
void goal_coll_reduce_scatter(struct goal_coll *c);
void goal_coll_alltoall(struct goal_coll *c);
void goal_coll_exscan(struct goal_coll *c);
void goal_coll_exchange(struct goal_coll *c);
/* Checks the blocks; returns 0 or -EINVAL. */
int goal_coll_exchange_check(const struct goal_coll_call *call, uint32_t ranks);

#endif /* WEFT_GOAL_COLL_BUILD_H */
