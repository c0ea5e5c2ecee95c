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
	free(sched->list);
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

static bool is_for(const struct cw_sched *sched, const struct cw_call *call)
{
	return !memcmp(&sched->key, &call->mc.goal, sizeof(call->mc.goal)) &&
	       sched->list_bytes == call->list_bytes &&
	       (!call->list_bytes || !memcmp(sched->list, call->list, call->list_bytes));
}

/* Returns the place of the call's schedule, or the one that it takes. */
static struct cw_sched **find(struct cw_comm *cw, const struct cw_call *call)
{
	struct cw_sched **place = &cw->cache[0];
	uint32_t i;

	for (i = 0; i < CW_CACHE_ENTRIES; i++) {
		struct cw_sched **at = &cw->cache[i];

		if (*at && is_for(*at, call))
			return at;
		if (*place && (!*at || (*at)->used < (*place)->used))
			place = at;
	}
	return place;
}

/* Asks libgoal for the schedule, with the lists that the key does not hold. */
static GOAL_Schedule compile(const struct cw_comm *cw, const struct cw_sched *sched)
{
	GOAL_CollectiveCall call = sched->key;

	if (call.coll == GOAL_COLL_EXCHANGE) {
		call.sends = sched->list;
		call.recvs = sched->list ? call.sends + call.num_sends : NULL;
	} else {
		call.counts = sched->list;
	}
	return GOAL_UnboundSchedule(cw->goal, &call);
}

static struct cw_sched *load(struct cw_comm *cw, const struct cw_call *call)
{
	struct cw_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return NULL;
	sched->refs = 1;
	memcpy(&sched->key, &call->mc.goal, sizeof(call->mc.goal));
	if (call->list_bytes) {
		sched->list = malloc(call->list_bytes);
		if (!sched->list) {
			free(sched);
			return NULL;
		}
		memcpy(sched->list, call->list, call->list_bytes);
		sched->list_bytes = call->list_bytes;
	}
	sched->sched = compile(cw, sched);
	if (!sched->sched) {
		/* The NIC's memory may be full of schedules that wait for their next use. */
		cw_sched_clear(cw);
		sched->sched = compile(cw, sched);
	}
	if (sched->sched)
		return sched;
	free(sched->list);
	free(sched);
	return NULL;
}

struct cw_sched *cw_sched_get(struct cw_comm *cw, const struct cw_call *call)
{
	struct cw_sched **place = find(cw, call);
	struct cw_sched *sched = *place;

	if (!sched || !is_for(sched, call)) {
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
