/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL_Join() and its steps: ranks that a library knows find each other through that library.
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

_Static_assert(sizeof(struct hello) <= sizeof(GOAL_Hello), "a hello fits");

struct GOAL_Joining_s {
	struct libgoal *lib; /* NULL: there is no NIC */
	GOAL_Comm comm;      /* NULL: not made */
	uint32_t size;
	struct hello hello;
};

/* Returns the first rank's error, with a sentence; hellos of another version are errors. */
static int worst(const GOAL_Hello *all, uint32_t size)
{
	struct hello hello;
	char detail[200];
	uint32_t i;

	for (i = 0; i < size; i++) {
		memcpy(&hello, &all[i], sizeof(hello));
		if (hello.version == JOIN_VERSION && hello.status == GOAL_SUCCESS)
			continue;
		snprintf(detail, sizeof(detail), "rank %u: %s", i,
			 hello.version == JOIN_VERSION ? GOAL_StrError(hello.status)
						       : "another version of libgoal");
		return libgoal_error(GOAL_ERR_LAUNCH, detail);
	}
	return GOAL_SUCCESS;
}

static void say(const struct GOAL_Joining_s *join, GOAL_Hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	memcpy(hello, &join->hello, sizeof(join->hello));
}

static GOAL_Joining begin(const struct libgoal_launch *launch, GOAL_Hello *hello)
{
	struct GOAL_Joining_s *join = calloc(1, sizeof(*join));

	if (!join) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	join->hello.version = JOIN_VERSION;
	join->hello.status = libgoal_instance_get(launch, &join->lib);
	if (join->hello.status == GOAL_SUCCESS)
		weft_goal_self(join->lib->goal, &join->hello.peer);
	if (getrandom(join->hello.key, sizeof(join->hello.key), 0) != sizeof(join->hello.key))
		join->hello.status = GOAL_ERR_LAUNCH;
	say(join, hello);
	return join;
}

GOAL_Joining GOAL_JoinBegin(const char *device, GOAL_Hello *hello)
{
	const struct libgoal_launch launch = {.device = device, .shard = -1};

	if (!device || !hello) {
		libgoal_error(GOAL_ERR_ARG, "GOAL_JoinBegin: no NIC, or no place for the hello");
		return NULL;
	}
	if (libgoal_is_forked()) {
		libgoal_error(GOAL_ERR_STATE, "a child of fork cannot join");
		return NULL;
	}
	return begin(&launch, hello);
}

static int make_comm(struct GOAL_Joining_s *join, uint32_t rank, const GOAL_Hello *all)
{
	struct weft_goal_peer *peers = calloc(join->size, sizeof(*peers));
	struct hello hello;
	uint64_t key[2];
	uint32_t i;
	int rc;

	if (!peers)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	for (i = join->size; i--;) {
		memcpy(&hello, &all[i], sizeof(hello));
		peers[i] = hello.peer;
	}
	/* The last to be read is the first rank's. */
	memcpy(key, hello.key, sizeof(key));
	rc = libgoal_comm_new(join->lib, rank, join->size, peers, key, &join->comm);
	free(peers);
	return rc;
}

int GOAL_JoinMake(GOAL_Joining join, int rank, int size, const GOAL_Hello *all, GOAL_Hello *hello)
{
	int rc;

	if (!join || size < 1 || rank < 0 || rank >= size || !all || !hello || join->comm)
		return libgoal_error(GOAL_ERR_ARG,
				     "GOAL_JoinMake: no group, or a rank that is not in it");
	join->size = (uint32_t)size;
	rc = worst(all, join->size);
	/* All ranks have seen the same: none makes a communicator. */
	if (rc == GOAL_SUCCESS)
		rc = make_comm(join, (uint32_t)rank, all);
	join->hello.status = rc;
	say(join, hello);
	return rc;
}

GOAL_Comm GOAL_JoinEnd(GOAL_Joining join, const GOAL_Hello *all)
{
	GOAL_Comm comm;
	int rc;

	if (!join)
		return NULL;
	comm = join->comm;
	rc = all && join->size ? worst(all, join->size)
			       : libgoal_error(GOAL_ERR_LAUNCH, "the ranks did not gather");
	if (comm && rc != GOAL_SUCCESS) {
		(void)libgoal_comm_end(comm);
		comm = NULL;
	}
	if (comm)
		comm->joined = true;
	else if (join->lib)
		libgoal_instance_put(join->lib);
	free(join);
	return comm;
}

/* ---- in one call ---------------------------------------------------------------------------- */

static int gather(const GOAL_Group *group, const GOAL_Hello *mine, GOAL_Hello *all)
{
	return group->allgather(mine, all, sizeof(*mine), group->arg) == 0
		   ? GOAL_SUCCESS
		   : libgoal_error(GOAL_ERR_LAUNCH, "the allgather of GOAL_Join() failed");
}

static GOAL_Comm join_all(const GOAL_Group *group, GOAL_Hello *all)
{
	const struct libgoal_launch launch = {.local_rank = (uint32_t)group->local_rank,
					      .shard = -1};
	GOAL_Hello mine;
	GOAL_Joining join = begin(&launch, &mine);
	int rc;

	if (!join)
		return NULL;
	rc = gather(group, &mine, all);
	if (rc == GOAL_SUCCESS && worst(all, (uint32_t)group->size) == GOAL_SUCCESS) {
		(void)GOAL_JoinMake(join, group->rank, group->size, all, &mine);
		rc = gather(group, &mine, all);
	}
	join->size = (uint32_t)group->size;
	return GOAL_JoinEnd(join, rc == GOAL_SUCCESS ? all : NULL);
}

GOAL_Comm GOAL_Join(const GOAL_Group *group)
{
	GOAL_Comm comm;
	GOAL_Hello *all;

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
	comm = join_all(group, all);
	free(all);
	return comm;
}

int GOAL_Leave(GOAL_Comm comm)
{
	struct libgoal *lib;
	int rc;

	if (!comm || !comm->joined)
		return libgoal_error(GOAL_ERR_ARG, "no communicator of GOAL_Join()");
	if (libgoal_is_forked())
		return libgoal_error(GOAL_ERR_STATE, "a child of fork has no communicators");
	lib = comm->lib;
	(void)libgoal_reap_gone(lib);
	rc = libgoal_comm_end(comm);
	if (rc == GOAL_SUCCESS)
		libgoal_instance_put(lib);
	return rc;
}
