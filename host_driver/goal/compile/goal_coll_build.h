/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Building the graph of one rank's part of a collective.
 *
 * goal_coll_build() is called by libgoal_coll.c (goal_coll.h) and by the tests, which need no NIC
 * for it. It calls the family's function (goal_coll_*.c), which writes its algorithm down as if
 * operations were carried out one after another; goal_coll_flow.c finds what must really wait for
 * what. Rule for the algorithms: a receive must not overwrite what a send of the same round reads,
 * or ranks that exchange long messages wait for each other.
 */
#ifndef WEFT_GOAL_COLL_BUILD_H
#define WEFT_GOAL_COLL_BUILD_H

#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/compile/goal_graph.h"

/* The arguments of all collectives. */
struct goal_coll_call {
	GOAL_Collective coll;
	GOAL_Algorithm alg;
	const void *send; /* BCAST: unused */
	void *recv;
	uint64_t count; /* elements, of a block where there are several */
	GOAL_Op op;
	GOAL_DataType type; /* of what is only moved: UINT of 8 bits */
	uint32_t width;
	uint32_t root;
};

/*
 * Fills an empty graph. 0, or a negative errno: -EINVAL for an argument that cannot be, -ENOMEM,
 * -EOVERFLOW when the scratchpad, or the graph, would be larger than the NIC allows.
 */
int goal_coll_build(struct goal_graph *graph, const struct goal_coll_call *call);

/* ---- for the families -------------------------------------------------------------------------
 */

/* A stretch of memory and who used it last. */
struct goal_coll_stretch {
	uint64_t low, high;
	uint32_t writer;  /* vertex, GOAL_NO_VERTEX */
	uint32_t readers; /* since then: number in reads, GOAL_NO_VERTEX */
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
	uint64_t bytes;              /* count elements */
	struct goal_mem in;          /* what this rank contributes; IN_PLACE is resolved */
	struct goal_mem out;         /* where its result goes */
	int error;                   /* the first one; nothing is added after it */
	struct goal_coll_map map[2]; /* user's memory, scratchpad */
	struct goal_coll_read {
		uint32_t vertex, next;
	} * reads;
	uint32_t num_reads, max_reads;
	uint32_t *waits; /* for each vertex, 1 + the last one that waits for it */
	uint32_t max_waits;
};

/*
 * Each adds an operation, which waits for earlier ones that write what it reads or writes, or read
 * what it writes. The vertex, or GOAL_NO_VERTEX when there are no bytes: both ends of a message
 * leave it out then.
 */
uint32_t goal_coll_send(struct goal_coll *c, struct goal_mem mem, uint32_t to, uint32_t tag);
uint32_t goal_coll_recv(struct goal_coll *c, struct goal_mem mem, uint32_t from, uint32_t tag);
uint32_t goal_coll_sendv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t to, uint32_t tag);
uint32_t goal_coll_recvv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t from, uint32_t tag);
/* root's bytes to all others, by the communicator's reliable group. */
uint32_t goal_coll_multicast(struct goal_coll *c, struct goal_mem mem, uint32_t root, uint32_t tag);
/* Nothing when both are the same place. */
uint32_t goal_coll_copy(struct goal_coll *c, struct goal_mem from, struct goal_mem to);
/* The call's operation: result = a op b; the result may be one of them. */
uint32_t goal_coll_combine(struct goal_coll *c, struct goal_mem a, struct goal_mem b,
			   struct goal_mem result);
/* then waits for first's end, or start; either may be GOAL_NO_VERTEX. */
void goal_coll_after(struct goal_coll *c, uint32_t first, uint32_t then);
void goal_coll_after_start(struct goal_coll *c, uint32_t first, uint32_t then);
/* New room in the scratchpad. */
struct goal_mem goal_coll_scratch(struct goal_coll *c, uint64_t bytes);
/* Notes an error. */
void goal_coll_fail(struct goal_coll *c, int error);

/* A part of a buffer. */
struct goal_mem goal_coll_part(struct goal_mem whole, uint64_t offset, uint64_t bytes);
/* Block i of equal ones of c->bytes. */
struct goal_mem goal_coll_block(const struct goal_coll *c, struct goal_mem whole, uint32_t i);
/* Blocks first to first + num - 1, modulo the number of ranks, as one or two pieces: how many. */
uint32_t goal_coll_blocks(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
			  uint32_t num, struct goal_mem pieces[2]);
/* Elements split as evenly as it goes: parts first to first + num - 1 of parts, in bytes. */
struct goal_mem goal_coll_split(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
				uint32_t num, uint32_t parts);
/* The largest power of two that is at most ranks. */
uint32_t goal_coll_pow2(uint32_t ranks);

/*
 * Binomial tree in order of ranks relative to the root (paper 5.3): v is parent of v + mask for
 * each power of two below v's lowest bit.
 */
static inline uint32_t goal_coll_relative(const struct goal_coll *c)
{
	return (c->rank + c->size - c->root) % c->size;
}
static inline uint32_t goal_coll_absolute(const struct goal_coll *c, uint32_t v)
{
	return (uint32_t)(((uint64_t)v + c->root) % c->size);
}
/* v's lowest bit; of the root, the first power of two that is not below the number of ranks. */
uint32_t goal_coll_lowest(const struct goal_coll *c, uint32_t v);
/* Ranks in the subtree of v + mask, mask below v's lowest bit: 0 when there is no such child. */
uint32_t goal_coll_subtree(const struct goal_coll *c, uint32_t v, uint32_t mask);

/* What GOAL_ALG_AUTO stands for: goal_coll_choose.c. AUTO itself: WEFT_GOAL_COLL is wrong. */
GOAL_Algorithm goal_coll_choose(GOAL_Collective coll, uint32_t ranks, uint64_t bytes);

void goal_coll_barrier(struct goal_coll *c);
void goal_coll_bcast(struct goal_coll *c);
void goal_coll_gather(struct goal_coll *c);
void goal_coll_scatter(struct goal_coll *c);
void goal_coll_reduce(struct goal_coll *c);
/* The sum to c->root, along the binomial tree. */
void goal_coll_reduce_binomial(struct goal_coll *c);
void goal_coll_scan(struct goal_coll *c);
void goal_coll_allreduce(struct goal_coll *c);
void goal_coll_allgather(struct goal_coll *c);
void goal_coll_reduce_scatter(struct goal_coll *c);
void goal_coll_alltoall(struct goal_coll *c);

#endif /* WEFT_GOAL_COLL_BUILD_H */
