/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of schedules of a communicator, for libraries that get collectives as calls.
 *
 * Schedules without buffers: a call with new buffers finds the one that was loaded for the last
 * call of its kind. The cache is bounded; the least recently used one makes room. Calls
 * libgoal_bound.c.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/libgoal.h"

enum {
	ENTRIES = 64,
};

struct GOAL_Cache_s {
	GOAL_Comm comm;
	uint64_t calls;
	struct entry {
		GOAL_CollectiveCall key;
		GOAL_Schedule sched; /* NULL: free */
		uint64_t used;       /* the call that used it last */
	} entry[ENTRIES];
};

GOAL_Cache GOAL_CacheCreate(GOAL_Comm comm)
{
	GOAL_Cache cache = comm ? calloc(1, sizeof(*cache)) : NULL;

	if (cache)
		cache->comm = comm;
	else
		libgoal_error(comm ? GOAL_ERR_NO_MEMORY : GOAL_ERR_ARG, NULL);
	return cache;
}

static void clear(GOAL_Cache cache)
{
	uint32_t i;

	for (i = 0; i < ENTRIES; i++) {
		if (cache->entry[i].sched)
			libgoal_sched_put(cache->entry[i].sched);
		cache->entry[i].sched = NULL;
	}
}

void GOAL_CacheFree(GOAL_Cache cache)
{
	if (!cache)
		return;
	clear(cache);
	free(cache);
}

/* Returns the place of the call's schedule, or the one that it takes. */
static struct entry *find(GOAL_Cache cache, const GOAL_CollectiveCall *call)
{
	struct entry *place = &cache->entry[0];
	uint32_t i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *at = &cache->entry[i];

		if (at->sched && !memcmp(&at->key, call, sizeof(*call)))
			return at;
		if (place->sched && (!at->sched || at->used < place->used))
			place = at;
	}
	return place;
}

GOAL_Schedule GOAL_CacheTake(GOAL_Cache cache, const GOAL_CollectiveCall *call)
{
	GOAL_Schedule sched;
	struct entry *at;

	if (call->counts || call->sends || call->recvs) {
		libgoal_error(GOAL_ERR_ARG, "the cache does not compare lists");
		return NULL;
	}
	at = find(cache, call);
	sched = at->sched;
	if (!sched || memcmp(&at->key, call, sizeof(*call)) != 0) {
		sched = GOAL_UnboundSchedule(cache->comm, call);
		if (!sched) {
			/* The NIC's memory may be full of schedules that wait for their next use.
			 */
			clear(cache);
			sched = GOAL_UnboundSchedule(cache->comm, call);
		}
		if (!sched)
			return NULL;
		if (at->sched)
			libgoal_sched_put(at->sched);
		memcpy(&at->key, call, sizeof(*call));
		at->sched = sched;
	}
	at->used = ++cache->calls;
	libgoal_sched_get(sched);
	return sched;
}

void GOAL_CacheRelease(GOAL_Schedule sched)
{
	if (sched)
		libgoal_sched_put(sched);
}
