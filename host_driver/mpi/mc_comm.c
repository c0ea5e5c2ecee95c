/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC's side of communicators, and their caches of schedules.
 *
 * Schedules of libgoal without buffers: a call with new buffers finds the one that was loaded for
 * the last call of its kind. The cache is bounded; the least recently used one makes room. A
 * communicator is used by one thread at a time (MPI 3.1, 5.12), and so is its cache.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/mpi/mc.h"

void mc_sched_put(struct mc_sched *sched)
{
	if (!sched || __atomic_sub_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL))
		return;
	(void)GOAL_FreeSchedule(sched->sched);
	free(sched);
}

static void clear(struct mc_comm *comm)
{
	for (uint32_t i = 0; i < MC_CACHE_ENTRIES; i++) {
		mc_sched_put(comm->cache[i]);
		comm->cache[i] = NULL;
	}
}

/* Returns the place of the call's schedule, or the one that it takes. */
static struct mc_sched **find(struct mc_comm *comm, const GOAL_CollectiveCall *call)
{
	struct mc_sched **place = &comm->cache[0];

	for (uint32_t i = 0; i < MC_CACHE_ENTRIES; i++) {
		struct mc_sched **at = &comm->cache[i];

		if (*at && !memcmp(&(*at)->key, call, sizeof(*call)))
			return at;
		if (*place && (!*at || (*at)->used < (*place)->used))
			place = at;
	}
	return place;
}

static struct mc_sched *load(struct mc_comm *comm, const GOAL_CollectiveCall *call)
{
	struct mc_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return NULL;
	sched->refs = 1;
	memcpy(&sched->key, call, sizeof(*call));
	sched->sched = GOAL_UnboundSchedule(comm->goal, call);
	if (!sched->sched) {
		/* The NIC's memory may be full of schedules that wait for their next use. */
		clear(comm);
		sched->sched = GOAL_UnboundSchedule(comm->goal, call);
	}
	if (sched->sched)
		return sched;
	free(sched);
	return NULL;
}

struct mc_sched *mc_sched_get(struct mc_comm *comm, const GOAL_CollectiveCall *call)
{
	struct mc_sched **place = find(comm, call);
	struct mc_sched *sched = *place;

	if (!sched || memcmp(&sched->key, call, sizeof(*call)) != 0) {
		sched = load(comm, call);
		if (!sched)
			return NULL;
		mc_sched_put(*place);
		*place = sched;
	}
	sched->used = ++comm->calls;
	__atomic_add_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL);
	return sched;
}

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
	if (job)
		mc_comm_get(job);
	comm->ranks = (uint32_t)GOAL_CommSize(goal);
	comm->rank = (uint32_t)GOAL_CommRank(goal);
	comm->barrier = GOAL_UnboundSchedule(goal, &barrier);
	if (comm->barrier)
		return comm;
	mc_comm_put(comm);
	return NULL;
}

void mc_comm_get(struct mc_comm *comm)
{
	__atomic_add_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL);
}

void mc_comm_put(struct mc_comm *comm)
{
	if (__atomic_sub_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL))
		return;
	clear(comm);
	if (comm->barrier)
		(void)GOAL_FreeSchedule(comm->barrier);
	free_goal(comm->goal, comm->job);
	if (comm->job)
		mc_comm_put(comm->job);
	free(comm);
}
