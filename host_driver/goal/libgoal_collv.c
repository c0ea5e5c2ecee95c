/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives whose blocks differ in size (goal_coll.h), as exchanges of blocks.
 *
 * The lists name this rank's own messages in rounds: in round i a rank sends to the rank i above it
 * and receives from the one i below. Calls libgoal_coll.c.
 */
#include <stdlib.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "host_driver/goal/libgoal.h"

static GOAL_Schedule exchange(GOAL_Comm comm, const void *send, const GOAL_Block *sends,
			      uint32_t num_sends, void *recv, const GOAL_Block *recvs,
			      uint32_t num_recvs, GOAL_Algorithm alg)
{
	struct goal_coll_call call = {.coll = GOAL_COLL_EXCHANGE,
				      .alg = alg,
				      .send = send,
				      .recv = recv,
				      .op = GOAL_COPY,
				      .type = GOAL_UINT,
				      .sends = sends,
				      .recvs = recvs,
				      .num_sends = num_sends,
				      .num_recvs = num_recvs};

	return libgoal_coll(comm, &call, 0, 8, 0);
}

GOAL_Schedule GOAL_ExchangeSchedule(GOAL_Comm comm, const void *send, const GOAL_Block *sends,
				    int num_sends, void *recv, const GOAL_Block *recvs,
				    int num_recvs, GOAL_Algorithm alg)
{
	if (num_sends < 0 || num_recvs < 0) {
		libgoal_error(GOAL_ERR_ARG, "a negative number of blocks");
		return NULL;
	}
	return exchange(comm, send, sends, (uint32_t)num_sends, recv, recvs, (uint32_t)num_recvs,
			alg);
}

/*
 * Room for a list of sends and one of receives, of a block for each rank; NULL: no communicator, or
 * an argument is missing.
 */
static GOAL_Block *lists(GOAL_Comm comm, bool complete)
{
	GOAL_Block *blocks;

	if (!comm || !complete) {
		libgoal_error(GOAL_ERR_ARG, "no communicator, or a list is missing");
		return NULL;
	}
	blocks = calloc(2 * (size_t)comm->size, sizeof(*blocks));
	if (!blocks)
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	return blocks;
}

static bool is_rank(GOAL_Comm comm, int rank)
{
	if (!comm || (rank >= 0 && (uint32_t)rank < comm->size))
		return true;
	libgoal_error(GOAL_ERR_ARG, "an invalid root");
	return false;
}

/* Fills a list; round i has the rank i above (step 1) or below (step -1) this one. */
static void fill(GOAL_Comm comm, GOAL_Block *list, int step, const int64_t *bytes,
		 const int64_t *offsets)
{
	int64_t size = (int64_t)comm->size, i;

	for (i = 0; i < size; i++) {
		int64_t rank = ((int64_t)comm->rank + step * i + size) % size;

		list[i] = (GOAL_Block){
		    .rank = (int)rank, .offset = offsets ? offsets[rank] : 0, .bytes = bytes[rank]};
	}
}

GOAL_Schedule GOAL_GathervSchedule(GOAL_Comm comm, const void *send, int64_t send_bytes, void *recv,
				   const int64_t *recv_bytes, const int64_t *recv_offsets, int root)
{
	bool is_root = comm && (uint32_t)root == comm->rank;
	GOAL_Block mine = {.rank = root, .bytes = send_bytes}, *blocks;
	uint32_t num_recvs = is_root ? comm->size : 0, first = is_root && send == GOAL_IN_PLACE;
	GOAL_Schedule sched;

	if (!is_rank(comm, root))
		return NULL;
	blocks = lists(comm, !is_root || (recv_bytes && recv_offsets));
	if (!blocks)
		return NULL;
	if (is_root)
		fill(comm, blocks, -1, recv_bytes, recv_offsets);
	/* The root's own block is the first of its list. */
	sched = exchange(comm, first ? NULL : send, &mine, 1 - first, recv, blocks + first,
			 num_recvs - first, GOAL_ALG_LINEAR);
	free(blocks);
	return sched;
}

GOAL_Schedule GOAL_ScattervSchedule(GOAL_Comm comm, const void *send, const int64_t *send_bytes,
				    const int64_t *send_offsets, void *recv, int64_t recv_bytes,
				    int root)
{
	bool is_root = comm && (uint32_t)root == comm->rank;
	GOAL_Block mine = {.rank = root, .bytes = recv_bytes}, *blocks;
	uint32_t num_sends = is_root ? comm->size : 0, first = is_root && recv == GOAL_IN_PLACE;
	GOAL_Schedule sched;

	if (!is_rank(comm, root))
		return NULL;
	blocks = lists(comm, !is_root || (send_bytes && send_offsets));
	if (!blocks)
		return NULL;
	if (is_root)
		fill(comm, blocks, 1, send_bytes, send_offsets);
	sched = exchange(comm, send, blocks + first, num_sends - first, first ? NULL : recv, &mine,
			 1 - first, GOAL_ALG_LINEAR);
	free(blocks);
	return sched;
}

GOAL_Schedule GOAL_AllgathervSchedule(GOAL_Comm comm, const void *send, void *recv,
				      const int64_t *bytes, const int64_t *offsets)
{
	GOAL_Block *blocks = lists(comm, bytes && offsets);
	bool in_place = send == GOAL_IN_PLACE;
	GOAL_Schedule sched;
	uint32_t i;

	if (!blocks)
		return NULL;
	for (i = 0; i < comm->size; i++)
		blocks[i] = (GOAL_Block){.rank = (int)((comm->rank + i) % comm->size),
					 .offset = in_place ? offsets[comm->rank] : 0,
					 .bytes = bytes[comm->rank]};
	fill(comm, blocks + comm->size, -1, bytes, offsets);
	/* In place the own block stays where it is, and is read there. */
	sched =
	    exchange(comm, in_place ? recv : send, blocks + in_place, comm->size - in_place, recv,
		     blocks + comm->size + in_place, comm->size - in_place, GOAL_ALG_PAIRWISE);
	free(blocks);
	return sched;
}

GOAL_Schedule GOAL_AlltoallvSchedule(GOAL_Comm comm, const void *send, const int64_t *send_bytes,
				     const int64_t *send_offsets, void *recv,
				     const int64_t *recv_bytes, const int64_t *recv_offsets)
{
	bool in_place = send == GOAL_IN_PLACE;
	GOAL_Block *blocks =
	    lists(comm, recv_bytes && recv_offsets && (in_place || (send_bytes && send_offsets)));
	GOAL_Schedule sched;

	if (!blocks)
		return NULL;
	fill(comm, blocks, 1, in_place ? recv_bytes : send_bytes,
	     in_place ? recv_offsets : send_offsets);
	fill(comm, blocks + comm->size, -1, recv_bytes, recv_offsets);
	sched = exchange(comm, send, blocks, comm->size, recv, blocks + comm->size, comm->size,
			 GOAL_ALG_PAIRWISE);
	free(blocks);
	return sched;
}

GOAL_Schedule GOAL_ReduceScattervSchedule(GOAL_Comm comm, const void *send, void *recv,
					  const int64_t *counts, GOAL_Op op, GOAL_DataType type,
					  int width, GOAL_Algorithm alg)
{
	struct goal_coll_call call = {.coll = GOAL_COLL_REDUCE_SCATTER,
				      .alg = alg,
				      .send = send,
				      .recv = recv,
				      .op = op,
				      .type = type,
				      .counts = counts};

	if (!counts) {
		libgoal_error(GOAL_ERR_ARG, "no counts");
		return NULL;
	}
	return libgoal_coll(comm, &call, 0, width, 0);
}
