/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of blocks of different sizes (goal_coll.h), on four ranks that check each result:
 * every call, in place, ranks without a block, gaps between blocks, invalid lists.
 *
 * tests/int/goal_every.sh runs it. It stops at the first failed check with a message and status 1.
 */
#include "host_driver/goal/goal_coll.h"
#include "tests/int/goal_check.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	RANKS = 4,
	COUNT = 64,
};

static int next, before;

/* Element i of rank r's send. */
static int element(int r, int i)
{
	return 10000 * (r + 1) + i;
}

/* Element i of all ranks combined. */
static int combined(int i)
{
	return 10000 * (RANKS * (RANKS + 1) / 2) + RANKS * i;
}

/* Three ints of rank 1, six of rank 2 ..., with an int between the blocks of the receive buffer. */
static int64_t sizes[RANKS], from_at[RANKS], to_at[RANKS];

/* The blocks that arrived are those of the ranks from a sender's element on; the gaps are intact.
 */
static void check_blocks(const int *recv, bool all, const int first[RANKS])
{
	int rank, k, end = 0;

	for (rank = 0; rank < RANKS; rank++) {
		for (k = 0; k < (int)sizes[rank] / 4; k++)
			check(recv[to_at[rank] / 4 + k] ==
			      (all ? element(rank, first[rank] + k) : -1));
		end = (int)(to_at[rank] + sizes[rank]) / 4;
		check(recv[end] == -1);
	}
}

static void gathers_of_sizes(const int *send)
{
	static const int from_start[RANKS] = {0, 0, 0, 0};
	GOAL_Comm w = GOAL_CommWorld();
	int recv[RANKS * COUNT], root = 2;

	memset(recv, 0xff, sizeof(recv));
	run_free(
	    GOAL_GathervSchedule(w, send, sizes[me], me == root ? recv : NULL, sizes, to_at, root));
	check_blocks(recv, me == root, from_start);
	memset(recv, 0xff, sizeof(recv));
	run_free(GOAL_AllgathervSchedule(w, send, recv, sizes, to_at));
	check_blocks(recv, true, from_start);
	memset(recv, 0xff, sizeof(recv));
	memcpy((char *)recv + to_at[me], send, (size_t)sizes[me]);
	run_free(GOAL_AllgathervSchedule(w, GOAL_IN_PLACE, recv, sizes, to_at));
	check_blocks(recv, true, from_start);
}

static void alltoalls_of_sizes(const int *send)
{
	GOAL_Comm w = GOAL_CommWorld();
	int64_t mine[RANKS], theirs[RANKS], mine_at[RANKS];
	int recv[RANKS * COUNT], first[RANKS], i, k;

	/* Rank i sends me 3 * i ints, and I send 3 * me to each; then as many both ways. */
	for (i = 0; i < RANKS; i++) {
		mine[i] = sizes[me];
		mine_at[i] = i * COUNT * 4;
		theirs[i] = sizes[i];
		first[i] = me * COUNT;
	}
	memset(recv, 0xff, sizeof(recv));
	run_free(GOAL_AlltoallvSchedule(w, send, mine, mine_at, recv, theirs, to_at));
	check_blocks(recv, true, first);
	for (i = 0; i < RANKS; i++)
		mine[i] = 8;
	memcpy(recv, send, sizeof(recv));
	run_free(GOAL_AlltoallvSchedule(w, GOAL_IN_PLACE, NULL, NULL, recv, mine, mine_at));
	for (i = 0; i < RANKS; i++)
		for (k = 0; k < COUNT; k++)
			check(recv[i * COUNT + k] ==
			      (k < 2 ? element(i, me * COUNT + k) : element(me, i * COUNT + k)));
	check(!GOAL_AlltoallvSchedule(w, send, NULL, mine_at, recv, theirs, to_at));
	theirs[0] = -1;
	check(!GOAL_AlltoallvSchedule(w, send, mine, mine_at, recv, theirs, to_at));
	check(GOAL_LastError() == GOAL_ERR_ARG);
}

/* A run on a copy of a small buffer leaves the gaps to the program. */
static void gaps_are_the_programs(const int *send)
{
	const GOAL_Block out = {next, 0, 0, 8}, in = {before, 0, 8, 8};
	GOAL_CollectiveCall call;
	int recv[4] = {0, 0, 0, 0};
	GOAL_Schedule s;
	GOAL_Handle h;

	memset(&call, 0, sizeof(call));
	call.coll = GOAL_COLL_EXCHANGE;
	call.op = GOAL_COPY;
	call.type = GOAL_UINT;
	call.width = 8;
	call.sends = &out;
	call.recvs = &in;
	call.num_sends = call.num_recvs = 1;
	s = GOAL_UnboundSchedule(GOAL_CommWorld(), &call);
	h = GOAL_RunWith(s, send, recv);
	recv[0] = 77;
	check(GOAL_Wait(h) == GOAL_SUCCESS && recv[0] == 77 && recv[1] == 0);
	check(recv[2] == element(before, 0) && recv[3] == element(before, 1));
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

static void blocks_of_sizes(const int *send)
{
	GOAL_Comm w = GOAL_CommWorld();
	int64_t counts[RANKS];
	int recv[RANKS * COUNT], a, i, start = 0;

	for (i = 0; i < RANKS; i++) {
		counts[i] = 3 * i;
		sizes[i] = 4 * counts[i];
		from_at[i] = i ? from_at[i - 1] + sizes[i - 1] : 0;
		to_at[i] = i ? to_at[i - 1] + sizes[i - 1] + 4 : 0;
	}
	gathers_of_sizes(send);
	memset(recv, 0xff, sizeof(recv));
	run_free(
	    GOAL_ScattervSchedule(w, me == 1 ? send : NULL, sizes, from_at, recv, sizes[me], 1));
	for (i = 0; i < 3 * me; i++)
		check(recv[i] == element(1, (int)from_at[me] / 4 + i));
	check(recv[i] == -1);
	alltoalls_of_sizes(send);
	for (i = 0; i < me; i++)
		start += (int)counts[i];
	for (a = 0; a < GOAL_ALGORITHMS; a++) {
		if (a != GOAL_ALG_AUTO &&
		    !GOAL_HasAlgorithm(GOAL_COLL_REDUCE_SCATTER, (GOAL_Algorithm)a))
			continue;
		memset(recv, 0xff, sizeof(recv));
		run_free(GOAL_ReduceScattervSchedule(w, send, recv, counts, GOAL_ADD, GOAL_SINT, 32,
						     (GOAL_Algorithm)a));
		for (i = 0; i < 3 * me; i++)
			check(recv[i] == combined(start + i));
		check(recv[i] == -1);
	}
	gaps_are_the_programs(send);
}

int main(void)
{
	static int send[RANKS * COUNT];
	int i;

	check(GOAL_Init() == GOAL_SUCCESS);
	me = GOAL_MyRank();
	check(GOAL_GroupSize() == RANKS);
	next = (me + 1) % RANKS;
	before = (me + RANKS - 1) % RANKS;
	for (i = 0; i < RANKS * COUNT; i++)
		send[i] = element(me, i);
	blocks_of_sizes(send);
	run_free(GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO));
	check(GOAL_Finalize() == GOAL_SUCCESS);
	printf("rank %d: all right\n", me);
	return 0;
}
