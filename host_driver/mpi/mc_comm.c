/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC's side of communicators. A communicator is used by one thread at a time (MPI 3.1, 5.12),
 * and so is its cache of schedules.
 */
#include <stdlib.h>

#include "host_driver/mpi/mc.h"

enum {
	/* Persistent requests of a communicator: each has a pool on the NIC (libgoal.h). */
	ALONE_MAX = 32,
};

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
	if (comm->is_alone)
		__atomic_sub_fetch(&comm->job->num_alone, 1, __ATOMIC_RELAXED);
	if (comm->job)
		mc_comm_put(comm->job);
	free(comm);
}

/* Returns one of libgoal with the same ranks; NULL: none. */
static GOAL_Comm same_ranks(const struct mc_comm *comm)
{
	int *ranks = calloc(comm->ranks, sizeof(*ranks));
	GOAL_Comm goal;
	uint32_t i;

	if (!ranks)
		return NULL;
	for (i = 0; i < comm->ranks; i++)
		ranks[i] = (int)i;
	goal = GOAL_CommCreate(comm->goal, ranks, (int)comm->ranks);
	free(ranks);
	return goal;
}

struct mc_comm *mc_comm_alone(struct mc_comm *comm, struct mc_call *call, enum mc_form form,
			      bool (*agree)(void *arg, bool mine, bool *any), void *arg)
{
	/* A program of the user's operations is registered on one communicator. */
	bool is_users = comm->user.state == MC_USER_READY && call->goal.op == comm->user.op;
	struct mc_comm *alone = NULL;
	bool failed, has_room;

	if (!is_users && !comm->alone_off) {
		/* The ranks free requests at different times. The n-th one has the n-th key, so one
		 * without room makes it, too. */
		alone = mc_comm_new(same_ranks(comm), comm);
		failed = !alone;
		has_room = alone && __atomic_load_n(&comm->num_alone, __ATOMIC_RELAXED) < ALONE_MAX;
		if (agree(arg, has_room, &failed)) {
			alone->is_alone = true;
			__atomic_add_fetch(&comm->num_alone, 1, __ATOMIC_RELAXED);
			mc_count(call->coll, form, MC_TAKEN, call->large_bytes);
			return alone;
		}
		comm->alone_off = failed;
		if (alone)
			mc_comm_put(alone);
	}
	call->reason = is_users ? MC_REASON_OP : MC_REASON_ROOM;
	mc_count(call->coll, form, call->reason, call->large_bytes);
	return NULL;
}
