/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as schedules: each call describes one collective operation of a communicator, and
 * returns a schedule that GOAL_Run() starts as often as it is wanted.
 *
 *	GOAL_Schedule s = GOAL_AllreduceSchedule(comm, GOAL_IN_PLACE, sum, 1, GOAL_ADD, GOAL_FLOAT,
 *						 64, GOAL_ALG_AUTO);
 *	GOAL_Handle h = GOAL_Run(s);
 *	... compute ...
 *	GOAL_Wait(h);
 *	GOAL_FreeSchedule(s);
 *
 * Included beside goal.h by programs; extension GOAL_EXT_COLLECTIVES. All ranks of the
 * communicator call with the same arguments but for the buffers, and run their schedules in the
 * same order with respect to other runs on it. Nothing is communicated before GOAL_Run(). Blocks
 * of several ranks lie behind each other in the order of ranks. Buffers that a rank does not use
 * (recv of a gather that is not at the root) may be NULL; an amount may be 0. What is needed
 * between is in the scratchpad. Errors: NULL, and GOAL_LastError(): GOAL_ERR_ARG for a rank,
 * amount, type or algorithm that cannot be, GOAL_ERR_LIMIT when the scratchpad would be too large.
 *
 * Reductions: GOAL_ADD, MUL, MAX, MIN, AND, OR, XOR; type and width as in GOAL_LocalOp(). Operands
 * are combined in an order that depends on algorithm, ranks, root and count alone, so a sum of
 * floats is the same bit for bit in every run, and at all ranks of a GOAL_AllreduceSchedule().
 *
 * Costs are in rounds of messages on the longest path (p ranks, log to the base 2, rounded up; n
 * bytes in all at one rank). Sources: the paper (espgoal) 5.1 to 5.5; Thakur, Rabenseifner and
 * Gropp, "Optimization of collective communication operations in MPICH" (2005), "TRG" here.
 */
#ifndef WEFT_GOAL_COLL_H
#define WEFT_GOAL_COLL_H

#include "host_driver/goal/goal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As send buffer, of scatters as receive buffer: what is sent lies where the result belongs. */
#define GOAL_IN_PLACE ((void *)-1)

typedef enum {
	GOAL_COLL_BARRIER = 0,
	GOAL_COLL_BCAST = 1,
	GOAL_COLL_GATHER = 2,
	GOAL_COLL_SCATTER = 3,
	GOAL_COLL_REDUCE = 4,
	GOAL_COLL_ALLREDUCE = 5,
	GOAL_COLL_ALLGATHER = 6,
	GOAL_COLL_REDUCE_SCATTER = 7,
	GOAL_COLL_ALLTOALL = 8,
	GOAL_COLL_SCAN = 9,
	GOAL_COLLECTIVES
} GOAL_Collective;

/* Every algorithm is right for every number of ranks; which collective has which is below. */
typedef enum {
	GOAL_ALG_AUTO = 0, /* by the rules of GOAL_SetCollectiveRules() */
	GOAL_ALG_LINEAR = 1,
	GOAL_ALG_LINEAR_SYNC_32K = 2, /* first segment of 32,768 bytes */
	GOAL_ALG_LINEAR_SYNC_1K = 3,  /* of 1,024 bytes */
	GOAL_ALG_BINOMIAL = 4,
	GOAL_ALG_CHAIN = 5, /* pipelined */
	GOAL_ALG_SCATTER_ALLGATHER = 6,
	GOAL_ALG_RECURSIVE_DOUBLING = 7,
	GOAL_ALG_RECURSIVE_HALVING = 8,
	GOAL_ALG_RING = 9,
	GOAL_ALG_RABENSEIFNER = 10,
	GOAL_ALG_BRUCK = 11,
	GOAL_ALG_PAIRWISE = 12,
	GOAL_ALG_MULTICAST = 13, /* over the communicator's reliable group */
	GOAL_ALGORITHMS
} GOAL_Algorithm;

/* "bcast", "ring": what rules and messages call them. NULL: no such value. */
GOAL_API const char *GOAL_CollectiveName(GOAL_Collective coll);
GOAL_API const char *GOAL_AlgorithmName(GOAL_Algorithm alg);
/* GOAL_ERR_ARG: no such name. "auto" is GOAL_ALG_AUTO. */
GOAL_API int GOAL_AlgorithmByName(const char *name);
/* 1: the collective has the algorithm. */
GOAL_API int GOAL_HasAlgorithm(GOAL_Collective coll, GOAL_Algorithm alg);

/*
 * What GOAL_ALG_AUTO stands for. Rules of a collective are tried in their order:
 *
 *	"bcast:8192=binomial,8/65536=chain,scatter_allgather;allreduce:ring"
 *
 * [RANKS/]BYTES=ALGORITHM holds up to so many ranks and bytes, an algorithm alone always; the
 * last of a list must be such. BYTES may be `any`. RANKS may be followed by pow2, or be pow2 alone:
 * then the rule holds for powers of two only ("allreduce:pow2/any=rabenseifner,ring"). Bytes are
 * those of one rank's block, of bcast, reduce, allreduce and scan of the vector. A list replaces
 * the collective's rules; NULL brings all the first ones back. The variable WEFT_GOAL_COLL is read
 * once, before the first use; while what it holds are no rules, and none are set here,
 * GOAL_ALG_AUTO is refused. Of the process; all ranks must use the same. GOAL_SUCCESS, or
 * GOAL_ERR_ARG and nothing is changed.
 */
GOAL_API int GOAL_SetCollectiveRules(const char *rules);
/* What it stands for with so many ranks and bytes; GOAL_ERR_ARG. */
GOAL_API int GOAL_AutoAlgorithm(GOAL_Collective coll, int ranks, int64_t bytes);

/*
 * No rank's run ends before every rank's run has begun. Messages of one byte.
 * RECURSIVE_DOUBLING (paper 5.1, 5.4): log p rounds, 2 more when p is no power of two: ranks beyond
 * it report to a partner first, and are released by it last. BRUCK (paper 5.2, dissemination):
 * log p rounds, any p. Auto: recursive doubling for powers of two, else Bruck.
 */
GOAL_API GOAL_Schedule GOAL_BarrierSchedule(GOAL_Comm comm, GOAL_Algorithm alg);

/*
 * bytes of root's buf into everybody's. BINOMIAL (paper 5.3): log p rounds of n. CHAIN: p - 2 + k
 * rounds of n/k, pipelined in k segments. SCATTER_ALLGATHER (van de Geijn; TRG 4.2): log p + p - 1
 * rounds, about 2n bytes in all. MULTICAST: one round of n; switches make the copies.
 */
GOAL_API GOAL_Schedule GOAL_BcastSchedule(GOAL_Comm comm, void *buf, int64_t bytes, int root,
					  GOAL_Algorithm alg);

/*
 * bytes of everybody's send into root's recv (bytes times ranks). LINEAR (paper 5.5): one round,
 * p - 1 messages to root. LINEAR_SYNC (paper 5.5): root asks each rank, which sends a segment, then
 * the rest. BINOMIAL (paper 5.3, 5.5): log p rounds, n/2 in the last.
 */
GOAL_API GOAL_Schedule GOAL_GatherSchedule(GOAL_Comm comm, const void *send, void *recv,
					   int64_t bytes, int root, GOAL_Algorithm alg);

/* Blocks of root's send (bytes times ranks) into everybody's recv. LINEAR, BINOMIAL, as gather. */
GOAL_API GOAL_Schedule GOAL_ScatterSchedule(GOAL_Comm comm, const void *send, void *recv,
					    int64_t bytes, int root, GOAL_Algorithm alg);

/*
 * count elements of everybody's send combined into root's recv. LINEAR: p - 1 messages to root,
 * combined in the order of ranks. BINOMIAL (TRG 4.4): log p rounds of n.
 */
GOAL_API GOAL_Schedule GOAL_ReduceSchedule(GOAL_Comm comm, const void *send, void *recv,
					   int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					   int root, GOAL_Algorithm alg);

/*
 * The same into everybody's recv. RECURSIVE_DOUBLING (TRG 4.5): log p rounds of n. RING (Patarasuk
 * and Yuan 2009): 2(p - 1) rounds of n/p. RABENSEIFNER (TRG 4.5): recursive halving, then doubling,
 * 2 log p rounds, 2n bytes in all. The first and the last: 2 more rounds of n for p no power of
 * two. MULTICAST: reduce to rank 0 in log p rounds of n, then one of n.
 */
GOAL_API GOAL_Schedule GOAL_AllreduceSchedule(GOAL_Comm comm, const void *send, void *recv,
					      int64_t count, GOAL_Op op, GOAL_DataType type,
					      int width, GOAL_Algorithm alg);

/*
 * bytes of everybody's send into everybody's recv (bytes times ranks). RING (TRG 4.1): p - 1 rounds
 * of n/p. BRUCK (paper 5.2; TRG 4.1): log p rounds. RECURSIVE_DOUBLING (TRG 4.1): log p rounds, 2
 * more when p is no power of two.
 */
GOAL_API GOAL_Schedule GOAL_AllgatherSchedule(GOAL_Comm comm, const void *send, void *recv,
					      int64_t bytes, GOAL_Algorithm alg);

/*
 * Vectors of count elements for each rank (count times ranks in send) combined; each rank gets its
 * count elements. GOAL_IN_PLACE: the vector is in recv, the result at its beginning. RING: p - 1
 * rounds to the neighbour. PAIRWISE (TRG 4.3): p - 1 rounds, with each rank in turn.
 * RECURSIVE_HALVING (TRG 4.3): log p rounds, 2 more when p is no power of two.
 */
GOAL_API GOAL_Schedule GOAL_ReduceScatterSchedule(GOAL_Comm comm, const void *send, void *recv,
						  int64_t count, GOAL_Op op, GOAL_DataType type,
						  int width, GOAL_Algorithm alg);

/*
 * Block i of my send becomes block (my rank) of rank i's recv; bytes of one block. PAIRWISE (TRG
 * 4.2): p - 1 rounds of one block. BRUCK (Bruck et al. 1997; TRG 4.2): log p rounds of n/2.
 */
GOAL_API GOAL_Schedule GOAL_AlltoallSchedule(GOAL_Comm comm, const void *send, void *recv,
					     int64_t bytes, GOAL_Algorithm alg);

/*
 * Ranks 0 to mine combined, in that order. LINEAR: p - 1 rounds of n. RECURSIVE_DOUBLING (Kogge and
 * Stone 1973; Hillis and Steele 1986): log p rounds of n.
 */
GOAL_API GOAL_Schedule GOAL_ScanSchedule(GOAL_Comm comm, const void *send, void *recv,
					 int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					 GOAL_Algorithm alg);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_GOAL_COLL_H */
