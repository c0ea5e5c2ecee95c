/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of schedules of a communicator.
 *
 * Schedules of libgoal without buffers: a call with new buffers finds the one that was loaded for
 * the last call of its kind. The cache is bounded; the least recently used one makes room. A
 * communicator is used by one thread at a time (MPI 3.1, 5.12), and so is its cache.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/ompi/cw.h"

void cw_sched_put(struct cw_sched *sched)
{
	if (!sched || __atomic_sub_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL))
		return;
	(void)GOAL_FreeSchedule(sched->sched);
	free(sched);
}

void cw_sched_clear(struct cw_comm *cw)
{
	uint32_t i;

	for (i = 0; i < CW_CACHE_ENTRIES; i++) {
		cw_sched_put(cw->cache[i]);
		cw->cache[i] = NULL;
	}
}

/* Returns the place of the call's schedule, or the one that it takes. */
static struct cw_sched **find(struct cw_comm *cw, const GOAL_CollectiveCall *call)
{
	struct cw_sched **place = &cw->cache[0];
	uint32_t i;

	for (i = 0; i < CW_CACHE_ENTRIES; i++) {
		struct cw_sched **at = &cw->cache[i];

		if (*at && !memcmp(&(*at)->key, call, sizeof(*call)))
			return at;
		if (*place && (!*at || (*at)->used < (*place)->used))
			place = at;
	}
	return place;
}

static struct cw_sched *load(struct cw_comm *cw, const GOAL_CollectiveCall *call)
{
	struct cw_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return NULL;
	sched->refs = 1;
	memcpy(&sched->key, call, sizeof(*call));
	sched->sched = GOAL_UnboundSchedule(cw->goal, call);
	if (!sched->sched) {
		/* The NIC's memory may be full of schedules that wait for their next use. */
		cw_sched_clear(cw);
		sched->sched = GOAL_UnboundSchedule(cw->goal, call);
	}
	if (sched->sched)
		return sched;
	free(sched);
	return NULL;
}

struct cw_sched *cw_sched_get(struct cw_comm *cw, const GOAL_CollectiveCall *call)
{
	struct cw_sched **place = find(cw, call);
	struct cw_sched *sched = *place;

	if (!sched || memcmp(&sched->key, call, sizeof(*call)) != 0) {
		sched = load(cw, call);
		if (!sched)
			return NULL;
		cw_sched_put(*place);
		*place = sched;
	}
	sched->used = ++cw->calls;
	__atomic_add_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL);
	return sched;
}
