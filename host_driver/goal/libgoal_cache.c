/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of schedules of a communicator, for libraries that get collectives as calls.
 *
 * Schedules without buffers: a call with new buffers finds the one that was loaded for the last
 * call of its kind. The key is the call, without its pointers, and what they point to. The cache is
 * bounded; the least recently used one makes room. Calls libgoal_bound.c.
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
		GOAL_CollectiveCall key; /* the pointers: whether there is a list */
		void *lists;             /* counts, sends, recvs; NULL: none */
		GOAL_Schedule sched;     /* NULL: free */
		uint64_t used;           /* the call that used it last */
	} entry[ENTRIES];
};

/* Stands for any list in the key. */
static const struct {
	int64_t count;
	GOAL_Block block;
} in_lists;

/* A call as the cache compares it. */
struct key {
	GOAL_CollectiveCall call;
	struct {
		const void *at;
		size_t bytes;
	} list[3];
	size_t bytes; /* of all lists */
};

void GOAL_CountCollective(GOAL_Comm comm, int on_nic, uint64_t bytes)
{
	weft_goal_count(comm->lib->goal, on_nic, bytes);
}

GOAL_Cache GOAL_CacheCreate(GOAL_Comm comm)
{
	GOAL_Cache cache = comm ? calloc(1, sizeof(*cache)) : NULL;

	if (cache)
		cache->comm = comm;
	else
		libgoal_error(comm ? GOAL_ERR_NO_MEMORY : GOAL_ERR_ARG, NULL);
	return cache;
}

static void drop(struct entry *entry)
{
	if (entry->sched)
		libgoal_sched_put(entry->sched);
	free(entry->lists);
	entry->sched = NULL;
	entry->lists = NULL;
}

static void clear(GOAL_Cache cache)
{
	uint32_t i;

	for (i = 0; i < ENTRIES; i++)
		drop(&cache->entry[i]);
}

void GOAL_CacheFree(GOAL_Cache cache)
{
	if (!cache)
		return;
	clear(cache);
	free(cache);
}

/* False: a list has no valid length. */
static bool set_key(struct key *key, const GOAL_CollectiveCall *call, int ranks)
{
	uint32_t i;

	memset(key, 0, sizeof(*key));
	if (call->num_sends < 0 || call->num_recvs < 0)
		return false;
	/* As bytes: unused ones within the call are compared, too. */
	memcpy(&key->call, call, sizeof(*call));
	key->list[0].at = call->counts;
	key->list[0].bytes = (size_t)ranks * sizeof(*call->counts);
	key->list[1].at = call->sends;
	key->list[1].bytes = (size_t)call->num_sends * sizeof(*call->sends);
	key->list[2].at = call->recvs;
	key->list[2].bytes = (size_t)call->num_recvs * sizeof(*call->recvs);
	for (i = 0; i < 3; i++) {
		if (!key->list[i].at)
			key->list[i].bytes = 0;
		key->bytes += key->list[i].bytes;
	}
	/* Equal lists lie at other addresses in each call. */
	key->call.counts = call->counts ? &in_lists.count : NULL;
	key->call.sends = call->sends ? &in_lists.block : NULL;
	key->call.recvs = call->recvs ? &in_lists.block : NULL;
	return true;
}

/* The calls are equal, so their lists are as long. */
static bool is_for(const struct entry *entry, const struct key *key)
{
	const uint8_t *at = entry->lists;
	uint32_t i;

	if (!entry->sched || memcmp(&entry->key, &key->call, sizeof(key->call)) != 0)
		return false;
	for (i = 0; i < 3; i++) {
		if (key->list[i].bytes && memcmp(at, key->list[i].at, key->list[i].bytes) != 0)
			return false;
		at += key->list[i].bytes;
	}
	return true;
}

/* Returns the place of the call's schedule, or the one that it takes. */
static struct entry *find(GOAL_Cache cache, const struct key *key)
{
	struct entry *place = &cache->entry[0];
	uint32_t i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *at = &cache->entry[i];

		if (is_for(at, key))
			return at;
		if (place->sched && (!at->sched || at->used < place->used))
			place = at;
	}
	return place;
}

/* Loads the call's schedule into a place. False: the cause is GOAL_LastError(). */
static bool load(GOAL_Cache cache, struct entry *at, const struct key *key,
		 const GOAL_CollectiveCall *call)
{
	uint8_t *lists = key->bytes ? malloc(key->bytes) : NULL, *to = lists;
	GOAL_Schedule sched;
	uint32_t i;

	if (key->bytes && !lists) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return false;
	}
	sched = GOAL_UnboundSchedule(cache->comm, call);
	if (!sched) {
		/* The NIC's memory may be full of schedules that wait for their next use. */
		clear(cache);
		sched = GOAL_UnboundSchedule(cache->comm, call);
	}
	if (!sched) {
		free(lists);
		return false;
	}
	drop(at);
	for (i = 0; i < 3; i++) {
		if (key->list[i].bytes)
			memcpy(to, key->list[i].at, key->list[i].bytes);
		to += key->list[i].bytes;
	}
	memcpy(&at->key, &key->call, sizeof(at->key));
	at->lists = lists;
	at->sched = sched;
	return true;
}

GOAL_Schedule GOAL_CacheTake(GOAL_Cache cache, const GOAL_CollectiveCall *call)
{
	struct entry *at;
	struct key key;

	if (!cache || !call || !set_key(&key, call, GOAL_CommSize(cache->comm))) {
		libgoal_error(GOAL_ERR_ARG, "no cache, no call, or a list of less than no blocks");
		return NULL;
	}
	at = find(cache, &key);
	if (!is_for(at, &key) && !load(cache, at, &key, call))
		return NULL;
	at->used = ++cache->calls;
	libgoal_sched_get(at->sched);
	return at->sched;
}

void GOAL_CacheRelease(GOAL_Schedule sched)
{
	if (sched)
		libgoal_sched_put(sched);
}
