/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as schedules. Each call describes one collective operation of a communicator and
 * returns a schedule, which GOAL_Run() may start any number of times.
 *
 * 	GOAL_Schedule s = GOAL_AllreduceSchedule(comm, GOAL_IN_PLACE, sum, 1, GOAL_ADD, GOAL_FLOAT,
 * 						 64, GOAL_ALG_AUTO);
 * 	GOAL_Handle h = GOAL_Run(s);
 * 	... compute ...
 * 	GOAL_Wait(h);
 * 	GOAL_FreeSchedule(s);
 *
 * Programs include it in addition to goal.h; extension GOAL_EXT_COLLECTIVES. All ranks of the
 * communicator call with equal arguments except for the buffers, and run their schedules in the
 * same order relative to other runs. Nothing is communicated before GOAL_Run(). Blocks of several
 * ranks are contiguous in rank order. Buffers that a rank does not use (recv of a gather outside
 * the root) may be NULL; counts may be 0. Temporary data is kept in the scratchpad.
 *
 * Errors: NULL, and GOAL_LastError(): GOAL_ERR_ARG for an invalid rank, count, type or algorithm,
 * GOAL_ERR_LIMIT when the scratchpad would be too large.
 *
 * Reductions: GOAL_ADD, MUL, MAX, MIN, AND, OR, XOR, LAND, LOR, LXOR; complex numbers: ADD, MUL;
 * pairs: MAX, MIN; type and width as in GOAL_LocalOp(). The order
 * of combination depends only on algorithm, ranks, root and count. A sum of floats is therefore
 * identical bit for bit in every run, and at all ranks of a GOAL_AllreduceSchedule().
 *
 * Costs are stated in message rounds on the longest path (p ranks, log to base 2, rounded up; n
 * bytes in total at one rank). Sources: the ESPGOAL paper, 5.1 to 5.5; Thakur, Rabenseifner and
 * Gropp, "Optimization of collective communication operations in MPICH" (2005), here "TRG".
 */
#ifndef WEFT_GOAL_COLL_H
#define WEFT_GOAL_COLL_H

#include "host_driver/goal/goal.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Passed as send buffer (as receive buffer of scatters): the input lies at the place of the result.
 */
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
	GOAL_COLL_EXSCAN = 10,
	GOAL_COLL_EXCHANGE = 11, /* blocks of any size with any ranks; the v-variants are such */
	GOAL_COLLECTIVES
} GOAL_Collective;

/*
 * Every algorithm works for every number of ranks. The functions below list the algorithms of each
 * collective.
 */
typedef enum {
	GOAL_ALG_AUTO = 0, /* selected by the rules of GOAL_SetCollectiveRules() */
	GOAL_ALG_LINEAR = 1,
	GOAL_ALG_LINEAR_SYNC_32K = 2, /* first segment of 32,768 bytes */
	GOAL_ALG_LINEAR_SYNC_1K = 3,  /* first segment of 1,024 bytes */
	GOAL_ALG_BINOMIAL = 4,
	GOAL_ALG_CHAIN = 5, /* pipelined */
	GOAL_ALG_SCATTER_ALLGATHER = 6,
	GOAL_ALG_RECURSIVE_DOUBLING = 7,
	GOAL_ALG_RECURSIVE_HALVING = 8,
	GOAL_ALG_RING = 9,
	GOAL_ALG_RABENSEIFNER = 10,
	GOAL_ALG_BRUCK = 11,
	GOAL_ALG_PAIRWISE = 12,
	GOAL_ALG_MULTICAST = 13, /* over the communicator's reliable multicast group */
	GOAL_ALGORITHMS
} GOAL_Algorithm;

/* Returns the name ("bcast", "ring") used in rules and messages; NULL for an invalid value. */
GOAL_API const char *GOAL_CollectiveName(GOAL_Collective coll);
GOAL_API const char *GOAL_AlgorithmName(GOAL_Algorithm alg);
/* Returns the algorithm of that name, GOAL_ALG_AUTO for "auto"; GOAL_ERR_ARG: no such name. */
GOAL_API int GOAL_AlgorithmByName(const char *name);
/* Returns 1 if the collective supports the algorithm. */
GOAL_API int GOAL_HasAlgorithm(GOAL_Collective coll, GOAL_Algorithm alg);

/*
 * Sets the rules by which GOAL_ALG_AUTO selects an algorithm. The rules of a collective are tried
 * in order:
 *
 * 	"bcast:8192=binomial,8/65536=chain,scatter_allgather;allreduce:ring"
 *
 * [RANKS/]BYTES=ALGORITHM applies up to that many ranks and bytes. An algorithm alone always
 * applies; the last rule of a list must be of this form. BYTES may be `any`. RANKS may be followed
 * by pow2, or be pow2 alone: the rule then applies only to powers of two
 * ("allreduce:pow2/any=rabenseifner,ring"). Bytes are those of one rank's block; for bcast, reduce,
 * allreduce and scan, those of the vector.
 *
 * A list replaces the collective's rules; NULL restores all default rules. The variable
 * WEFT_GOAL_COLL is read once, before the first use. While it is invalid and no rules are set here,
 * GOAL_ALG_AUTO is rejected. Rules apply to the process; all ranks must use the same. Returns
 * GOAL_SUCCESS, or GOAL_ERR_ARG without a change.
 */
GOAL_API int GOAL_SetCollectiveRules(const char *rules);
/*
 * Returns the algorithm that GOAL_ALG_AUTO selects for this number of ranks and bytes, or
 * GOAL_ERR_ARG.
 */
GOAL_API int GOAL_AutoAlgorithm(GOAL_Collective coll, int ranks, int64_t bytes);

/* A message of an exchange: to or from a rank, at an offset in the send or receive buffer. */
typedef struct {
	int rank;
	int tag; /* sets messages between the same two ranks apart; equal ones match in order */
	int64_t offset, bytes;
} GOAL_Block;

/*
 * A collective without its buffers. GOAL_RunWith() names them for each run: nothing is compiled
 * or loaded again, and runs of one schedule with different buffers may be in flight together.
 */
typedef struct {
	GOAL_Collective coll;
	GOAL_Algorithm alg;
	int64_t count; /* elements; where data is only moved, bytes (width 8) */
	GOAL_Op op;
	GOAL_DataType type;
	int width;
	int root;
	int in_place; /* this rank passes GOAL_IN_PLACE */
	/*
	 * REDUCE_SCATTER: elements of each rank's block, or NULL: count of each. EXCHANGE: the
	 * messages. They are read during the call.
	 */
	const int64_t *counts;
	const GOAL_Block *sends, *recvs;
	int num_sends, num_recvs;
} GOAL_CollectiveCall;
GOAL_API GOAL_Schedule GOAL_UnboundSchedule(GOAL_Comm comm, const GOAL_CollectiveCall *call);
/*
 * Starts a run. A buffer that this rank does not use, or that is in place, may be NULL; BCAST has
 * recv alone. The buffers must stay mapped until the run was found over: small ones, and those that
 * the NIC cannot map, are copied then, as after GOAL_Test() and GOAL_Wait(). A buffer that cannot
 * be registered fails the run with GOAL_ERR_MEMORY at every rank.
 */
GOAL_API GOAL_Handle GOAL_RunWith(GOAL_Schedule sched, const void *send, void *recv);
/*
 * Returns 1 when the program may use the buffers of a run again: GOAL_Test() or GOAL_Wait() found
 * it over, or it is of GOAL_RunWith(), writes none of them, and has copied those that it reads.
 * Otherwise 0. The rest of such a run needs nothing of the program; GOAL_Wait() still tells whether
 * it succeeded. A handle that is of no run of this process gives 1. Any thread may call it.
 */
GOAL_API int GOAL_TestLocal(GOAL_Handle handle);

/*
 * A cache of such schedules of one communicator, for one thread at a time. Unused bytes of calls
 * are 0: they are compared whole, and lists by what is in them. GOAL_CacheTake() returns the
 * schedule of the call, which lasts until GOAL_CacheRelease(), by any thread, and its last run;
 * NULL: it cannot be loaded (GOAL_LastError()). The cache is freed before its communicator.
 */
typedef struct GOAL_Cache_s *GOAL_Cache;
GOAL_API GOAL_Cache GOAL_CacheCreate(GOAL_Comm comm);
GOAL_API void GOAL_CacheFree(GOAL_Cache cache);
GOAL_API GOAL_Schedule GOAL_CacheTake(GOAL_Cache cache, const GOAL_CollectiveCall *call);
GOAL_API void GOAL_CacheRelease(GOAL_Schedule sched);

/*
 * Barrier: no rank's run ends before every rank's run has begun. Messages of one byte.
 * RECURSIVE_DOUBLING (ESPGOAL 5.1, 5.4): log p rounds, 2 more when p is not a power of two; the
 * ranks beyond it report to a partner first and are released by it last. BRUCK (ESPGOAL 5.2,
 * dissemination): log p rounds, any p. Auto: recursive doubling for powers of two, otherwise Bruck.
 */
GOAL_API GOAL_Schedule GOAL_BarrierSchedule(GOAL_Comm comm, GOAL_Algorithm alg);

/*
 * Broadcast: copies bytes of the root's buf into every rank's buf. BINOMIAL (ESPGOAL 5.3): log p
 * rounds of n. CHAIN: p - 2 + k rounds of n/k, pipelined in k segments. SCATTER_ALLGATHER (van de
 * Geijn; TRG 4.2): log p + p - 1 rounds, about 2n bytes in total. MULTICAST: one round of n;
 * switches replicate the packets.
 */
GOAL_API GOAL_Schedule GOAL_BcastSchedule(GOAL_Comm comm, void *buf, int64_t bytes, int root,
					  GOAL_Algorithm alg);

/*
 * Gather: collects bytes of every rank's send in the root's recv (bytes times ranks). LINEAR
 * (ESPGOAL 5.5): one round, p - 1 messages to the root. LINEAR_SYNC (ESPGOAL 5.5): the root
 * requests data from each rank, which sends a segment, then the rest. BINOMIAL (ESPGOAL 5.3, 5.5):
 * log p rounds, n/2 in the last.
 */
GOAL_API GOAL_Schedule GOAL_GatherSchedule(GOAL_Comm comm, const void *send, void *recv,
					   int64_t bytes, int root, GOAL_Algorithm alg);

/*
 * Scatter: distributes the blocks of the root's send (bytes times ranks) to every rank's recv.
 * LINEAR and BINOMIAL as for gather.
 */
GOAL_API GOAL_Schedule GOAL_ScatterSchedule(GOAL_Comm comm, const void *send, void *recv,
					    int64_t bytes, int root, GOAL_Algorithm alg);

/*
 * Reduce: combines count elements of every rank's send in the root's recv. LINEAR: p - 1 messages
 * to the root, combined in rank order. BINOMIAL (TRG 4.4): log p rounds of n.
 */
GOAL_API GOAL_Schedule GOAL_ReduceSchedule(GOAL_Comm comm, const void *send, void *recv,
					   int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					   int root, GOAL_Algorithm alg);

/*
 * Allreduce: combines count elements of every rank's send in every rank's recv. RECURSIVE_DOUBLING
 * (TRG 4.5): log p rounds of n. RING (Patarasuk and Yuan 2009): 2(p - 1) rounds of n/p.
 * RABENSEIFNER (TRG 4.5): recursive halving, then doubling, 2 log p rounds, 2n bytes in total.
 * Recursive doubling and Rabenseifner need 2 more rounds of n when p is not a power of two.
 * MULTICAST: reduce to rank 0 in log p rounds of n, then one round of n.
 */
GOAL_API GOAL_Schedule GOAL_AllreduceSchedule(GOAL_Comm comm, const void *send, void *recv,
					      int64_t count, GOAL_Op op, GOAL_DataType type,
					      int width, GOAL_Algorithm alg);

/*
 * Allgather: collects bytes of every rank's send in every rank's recv (bytes times ranks). RING
 * (TRG 4.1): p - 1 rounds of n/p. BRUCK (ESPGOAL 5.2; TRG 4.1): log p rounds. RECURSIVE_DOUBLING
 * (TRG 4.1): log p rounds, 2 more when p is not a power of two.
 */
GOAL_API GOAL_Schedule GOAL_AllgatherSchedule(GOAL_Comm comm, const void *send, void *recv,
					      int64_t bytes, GOAL_Algorithm alg);

/*
 * Reduce-scatter: combines vectors of count elements per rank (count times ranks in send); each
 * rank gets its own count elements. With GOAL_IN_PLACE the vector is in recv and the result at its
 * beginning. RING: p - 1 rounds to the neighbour. PAIRWISE (TRG 4.3): p - 1 rounds, with each rank
 * in turn. RECURSIVE_HALVING (TRG 4.3): log p rounds, 2 more when p is not a power of two.
 */
GOAL_API GOAL_Schedule GOAL_ReduceScatterSchedule(GOAL_Comm comm, const void *send, void *recv,
						  int64_t count, GOAL_Op op, GOAL_DataType type,
						  int width, GOAL_Algorithm alg);

/*
 * Alltoall: block i of this rank's send becomes block (this rank) of rank i's recv; bytes is the
 * size of one block. PAIRWISE (TRG 4.2): p - 1 rounds of one block. BRUCK (Bruck et al. 1997; TRG
 * 4.2): log p rounds of n/2.
 */
GOAL_API GOAL_Schedule GOAL_AlltoallSchedule(GOAL_Comm comm, const void *send, void *recv,
					     int64_t bytes, GOAL_Algorithm alg);

/*
 * Inclusive scan: combines the vectors of ranks 0 to this one, in that order. LINEAR: p - 1 rounds
 * of n. RECURSIVE_DOUBLING (Kogge and Stone 1973; Hillis and Steele 1986): log p rounds of n.
 */
GOAL_API GOAL_Schedule GOAL_ScanSchedule(GOAL_Comm comm, const void *send, void *recv,
					 int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					 GOAL_Algorithm alg);

/*
 * Exclusive scan: combines the vectors of the ranks before this one, in that order. Rank 0 gets
 * nothing: its recv is unused, and with GOAL_IN_PLACE unchanged. Algorithms as for the scan.
 */
GOAL_API GOAL_Schedule GOAL_ExscanSchedule(GOAL_Comm comm, const void *send, void *recv,
					   int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					   GOAL_Algorithm alg);

/* ---- blocks of different sizes --------------------------------------------------------------- */

/*
 * Here ranks may pass different arguments, as long as sender and receiver of a block agree on its
 * bytes. Arrays have an element for each rank. Offsets are in bytes, not negative; blocks to be
 * received must not overlap. Bytes between blocks are left alone.
 */

/* Reduce-scatter with counts[i] elements for rank i; otherwise as GOAL_ReduceScatterSchedule(). */
GOAL_API GOAL_Schedule GOAL_ReduceScattervSchedule(GOAL_Comm comm, const void *send, void *recv,
						   const int64_t *counts, GOAL_Op op,
						   GOAL_DataType type, int width,
						   GOAL_Algorithm alg);

/* Gather: the root's recv gets recv_bytes[i] of rank i at recv_offsets[i]. One round. */
GOAL_API GOAL_Schedule GOAL_GathervSchedule(GOAL_Comm comm, const void *send, int64_t send_bytes,
					    void *recv, const int64_t *recv_bytes,
					    const int64_t *recv_offsets, int root);

/* Scatter: rank i gets send_bytes[i] at send_offsets[i] of the root's send. One round. */
GOAL_API GOAL_Schedule GOAL_ScattervSchedule(GOAL_Comm comm, const void *send,
					     const int64_t *send_bytes, const int64_t *send_offsets,
					     void *recv, int64_t recv_bytes, int root);

/*
 * Allgather: every rank gets bytes[i] of rank i at offsets[i] of recv. p - 1 rounds, with each rank
 * in turn.
 */
GOAL_API GOAL_Schedule GOAL_AllgathervSchedule(GOAL_Comm comm, const void *send, void *recv,
					       const int64_t *bytes, const int64_t *offsets);

/*
 * Alltoall: send_bytes[i] at send_offsets[i] go to rank i; likewise recv_bytes and recv_offsets.
 * With GOAL_IN_PLACE as send the data to be sent are at the places of those received. p - 1 rounds.
 */
GOAL_API GOAL_Schedule GOAL_AlltoallvSchedule(GOAL_Comm comm, const void *send,
					      const int64_t *send_bytes,
					      const int64_t *send_offsets, void *recv,
					      const int64_t *recv_bytes,
					      const int64_t *recv_offsets);

/*
 * Any pattern, such as that of MPI's neighbourhood collectives: sends the one list of blocks and
 * receives the other, this rank's own included. LINEAR: all at once. PAIRWISE: send i waits for
 * send and receive i - 1; only where the lists of all ranks form rounds. Auto: LINEAR.
 */
GOAL_API GOAL_Schedule GOAL_ExchangeSchedule(GOAL_Comm comm, const void *send,
					     const GOAL_Block *sends, int num_sends, void *recv,
					     const GOAL_Block *recvs, int num_recvs,
					     GOAL_Algorithm alg);

/* ---- counts --------------------------------------------------------------------------------- */

/*
 * Counts a collective of a library above libgoal, such as MPI, for `weftctl colls`: it ran on the
 * NIC (on_nic not 0), or the library carried it out itself. Costs two additions in memory. Any
 * communicator of the process's NIC; any thread.
 */
GOAL_API void GOAL_CountCollective(GOAL_Comm comm, int on_nic, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_GOAL_COLL_H */
