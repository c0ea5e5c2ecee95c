/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC's side of communicators. A communicator is used by one thread at a time (MPI 3.1, 5.12),
 * and so is its cache of schedules.
 */
#include <stdlib.h>

#include "host_driver/mpi/mc.h"

static void free_goal(GOAL_Comm goal, struct mc_comm *job)
{
	if (job)
		(void)GOAL_CommFree(goal);
	else
		(void)GOAL_Leave(goal);
}

struct mc_comm *mc_comm_new(GOAL_Comm goal, struct mc_comm *job)
{
	static const GOAL_CollectiveCall barrier = {
	    .coll = GOAL_COLL_BARRIER, .op = GOAL_COPY, .type = GOAL_UINT, .width = 8};
	struct mc_comm *comm;

	if (!goal)
		return NULL;
	comm = calloc(1, sizeof(*comm));
	if (!comm) {
		free_goal(goal, job);
		return NULL;
	}
	comm->refs = 1;
	comm->goal = goal;
	comm->job = job;
	comm->left = MC_TAKEN;
	if (job)
		mc_comm_get(job);
	comm->ranks = (uint32_t)GOAL_CommSize(goal);
	comm->rank = (uint32_t)GOAL_CommRank(goal);
	comm->cache = GOAL_CacheCreate(goal);
	comm->barrier = GOAL_UnboundSchedule(goal, &barrier);
	if (comm->cache && comm->barrier) {
		if (!job)
			mc_count_show(goal);
		return comm;
	}
	mc_comm_put(comm);
	return NULL;
}

struct mc_comm *mc_comm_new_left(enum mc_reason left, uint32_t ranks, uint32_t rank)
{
	struct mc_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->refs = 1;
	comm->left = left;
	comm->ranks = ranks;
	comm->rank = rank;
	return comm;
}

void mc_comm_get(struct mc_comm *comm)
{
	__atomic_add_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL);
}

void mc_comm_put(struct mc_comm *comm)
{
	if (__atomic_sub_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL))
		return;
	GOAL_CacheFree(comm->cache);
	if (comm->barrier)
		(void)GOAL_FreeSchedule(comm->barrier);
	if (comm->goal && !comm->job)
		mc_count_show(NULL);
	if (comm->goal)
		free_goal(comm->goal, comm->job);
	if (comm->job)
		mc_comm_put(comm->job);
	free(comm);
}
