/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL_Join(): ranks that a library knows find each other through that library.
 *
 * Each rank's address goes through the caller's allgather, together with the outcome so far, and
 * once more the outcome of making the communicator. So all ranks get a communicator, or none does.
 * Calls libgoal_instance.c and libgoal_comm.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host_driver/goal/libgoal_launch.h"

enum {
	JOIN_VERSION = 1,
};

/* A rank says this of itself; all ranks run the same library. */
struct hello {
	uint32_t version;
	int32_t status; /* GOAL_SUCCESS, or why it cannot take part */
	uint64_t key[2];
	struct weft_goal_peer peer;
};

/* Returns the first rank's error, with a sentence; hellos of another version are errors. */
static int worst(const struct hello *all, uint32_t size)
{
	char detail[200];
	uint32_t i;

	for (i = 0; i < size; i++) {
		if (all[i].version == JOIN_VERSION && all[i].status == GOAL_SUCCESS)
			continue;
		snprintf(detail, sizeof(detail), "rank %u: %s", i,
			 all[i].version == JOIN_VERSION ? GOAL_StrError(all[i].status)
							: "another version of libgoal");
		return libgoal_error(GOAL_ERR_LAUNCH, detail);
	}
	return GOAL_SUCCESS;
}

static int exchange(const GOAL_Group *group, const struct hello *mine, struct hello *all)
{
	if (group->allgather(mine, all, sizeof(*mine), group->arg) != 0)
		return libgoal_error(GOAL_ERR_LAUNCH, "the allgather of GOAL_Join() failed");
	return worst(all, (uint32_t)group->size);
}

static int make_comm(struct libgoal *lib, const GOAL_Group *group, const struct hello *all,
		     GOAL_Comm *comm)
{
	struct weft_goal_peer *peers = calloc((size_t)group->size, sizeof(*peers));
	int rc, i;

	if (!peers)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	for (i = 0; i < group->size; i++)
		peers[i] = all[i].peer;
	rc = libgoal_comm_new(lib, (uint32_t)group->rank, (uint32_t)group->size, peers, all[0].key,
			      comm);
	free(peers);
	return rc;
}

static int join(const GOAL_Group *group, struct hello *all, GOAL_Comm *comm)
{
	const struct libgoal_launch launch = {.local_rank = (uint32_t)group->local_rank,
					      .shard = -1};
	struct hello mine = {.version = JOIN_VERSION};
	struct libgoal *lib = NULL;
	int rc, agreed;

	mine.status = libgoal_instance_get(&launch, &lib);
	if (mine.status == GOAL_SUCCESS)
		weft_goal_self(lib->goal, &mine.peer);
	if (getrandom(mine.key, sizeof(mine.key), 0) != sizeof(mine.key))
		mine.status = GOAL_ERR_LAUNCH;
	rc = exchange(group, &mine, all);
	if (rc == GOAL_SUCCESS) {
		mine.status = make_comm(lib, group, all, comm);
		rc = mine.status;
		agreed = exchange(group, &mine, all);
		if (rc == GOAL_SUCCESS && agreed != GOAL_SUCCESS) {
			(void)libgoal_comm_end(*comm);
			rc = agreed;
		}
	}
	if (rc != GOAL_SUCCESS && lib)
		libgoal_instance_put();
	return rc;
}

GOAL_Comm GOAL_Join(const GOAL_Group *group)
{
	GOAL_Comm comm = NULL;
	struct hello *all;

	if (!group || !group->allgather || group->size < 1 || group->rank < 0 ||
	    group->rank >= group->size || group->local_rank < 0) {
		libgoal_error(GOAL_ERR_ARG, "GOAL_Join: no group, or a rank that is not in it");
		return NULL;
	}
	if (libgoal_is_forked()) {
		libgoal_error(GOAL_ERR_STATE, "a child of fork cannot join");
		return NULL;
	}
	all = calloc((size_t)group->size, sizeof(*all));
	if (!all) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	if (join(group, all, &comm) == GOAL_SUCCESS)
		comm->joined = true;
	free(all);
	return comm && comm->joined ? comm : NULL;
}

int GOAL_Leave(GOAL_Comm comm)
{
	int rc;

	if (!comm || !comm->joined)
		return libgoal_error(GOAL_ERR_ARG, "no communicator of GOAL_Join()");
	if (libgoal_is_forked())
		return libgoal_error(GOAL_ERR_STATE, "a child of fork has no communicators");
	(void)libgoal_reap_gone(comm->lib);
	rc = libgoal_comm_end(comm);
	if (rc == GOAL_SUCCESS)
		libgoal_instance_put();
	return rc;
}
