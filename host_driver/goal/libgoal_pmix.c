/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovers ranks started by mpirun or srun through PMIx.
 *
 * libpmix is loaded at run time, so programs started otherwise do not depend on it. Each rank
 * publishes its address; rank 0 also publishes the key of the job. After a fence with data, each
 * rank gets the values of the others. PMIx standard 4.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host_driver/goal/libgoal_launch.h"
#include "shared_defs/hw_goal.h"

/* %u: which exchange of this job it is, since a key that was read once keeps its value. */
#define KEY_PEER "weft.goal.peer.%u"
#define KEY_JOB  "weft.goal.key.%u"

enum {
	KEY_CHARS = 32,
};

static struct {
	void *handle;
	pmix_status_t (*init)(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);
	pmix_status_t (*finalize)(const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*put)(pmix_scope_t scope, const pmix_key_t key, pmix_value_t *val);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
			       size_t ninfo);
	pmix_status_t (*get)(const pmix_proc_t *proc, const pmix_key_t key,
			     const pmix_info_t info[], size_t ninfo, pmix_value_t **val);
	const char *(*error)(pmix_status_t status);
	pmix_proc_t self;
	bool held; /* PMIx_Init() succeeded, and PMIx_Finalize() is due */
} pmix;

bool libgoal_pmix_there(void)
{
	return secure_getenv("PMIX_RANK") && secure_getenv("PMIX_NAMESPACE");
}

static void *symbol(const char *name)
{
	return dlsym(pmix.handle, name);
}

static bool load(void)
{
	pmix.handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!pmix.handle)
		return false;
	*(void **)&pmix.init = symbol("PMIx_Init");
	*(void **)&pmix.finalize = symbol("PMIx_Finalize");
	*(void **)&pmix.put = symbol("PMIx_Put");
	*(void **)&pmix.commit = symbol("PMIx_Commit");
	*(void **)&pmix.fence = symbol("PMIx_Fence");
	*(void **)&pmix.get = symbol("PMIx_Get");
	*(void **)&pmix.error = symbol("PMIx_Error_string");
	return pmix.init && pmix.finalize && pmix.put && pmix.commit && pmix.fence && pmix.get &&
	       pmix.error;
}

static int failed(pmix_status_t status)
{
	return libgoal_error(GOAL_ERR_LAUNCH, pmix.error(status));
}

/* Gets a number from the job's server. */
static pmix_status_t get_uint(pmix_rank_t rank, const char *key, uint32_t *out)
{
	pmix_proc_t proc = pmix.self;
	pmix_value_t *value;
	pmix_status_t rc;

	proc.rank = rank;
	rc = pmix.get(&proc, key, NULL, 0, &value);
	if (rc != PMIX_SUCCESS)
		return rc;
	if (value->type == PMIX_UINT16)
		*out = value->data.uint16;
	else if (value->type == PMIX_UINT32)
		*out = value->data.uint32;
	else
		rc = PMIX_ERR_TYPE_MISMATCH;
	free(value);
	return rc;
}

/* The PMIx variables are set, but the server does not respond. */
static int unreached(pmix_status_t status)
{
	char detail[300];

	snprintf(
	    detail, sizeof(detail),
	    "PMIX_RANK is set, but no PMIx server answers (%s): start the program with mpirun, or "
	    "srun --mpi=pmix, or without PMIX_RANK and PMIX_NAMESPACE in its environment",
	    pmix.error(status));
	return libgoal_error(GOAL_ERR_LAUNCH, detail);
}

/* The server's numbers cannot be those of a job. */
static int no_such_job(const struct libgoal_launch *launch)
{
	char detail[160];

	snprintf(detail, sizeof(detail),
		 "the PMIx server says that this is rank %u of %u: ranks begin with 0, and a job "
		 "has at most %u",
		 launch->rank, launch->size, (unsigned int)HW_MAX_GOAL_RANKS);
	return libgoal_error(GOAL_ERR_LAUNCH, detail);
}

/* A launcher treats a program that exits without PMIx_Finalize() as failed. */
static void at_exit(void)
{
	(void)atexit(libgoal_pmix_end);
}

static int begin(struct libgoal_launch *launch)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pmix_status_t rc;

	if (!pmix.held && !load())
		return libgoal_error(GOAL_ERR_LAUNCH, "libpmix.so.2 cannot be loaded");
	rc = pmix.held ? PMIX_SUCCESS : pmix.init(&pmix.self, NULL, 0);
	if (rc != PMIX_SUCCESS)
		return unreached(rc);
	pmix.held = true;
	pthread_once(&once, at_exit);
	launch->rank = pmix.self.rank;
	rc = get_uint(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &launch->size);
	if (rc != PMIX_SUCCESS)
		return failed(rc);
	if (launch->rank >= launch->size || launch->size > HW_MAX_GOAL_RANKS)
		return no_such_job(launch);
	/* Without it the NICs are distributed by rank. */
	if (get_uint(pmix.self.rank, PMIX_LOCAL_RANK, &launch->local_rank) != PMIX_SUCCESS)
		launch->local_rank = launch->rank;
	return GOAL_SUCCESS;
}

static pmix_status_t put(const char *key, const void *bytes, size_t count)
{
	pmix_value_t value;

	memset(&value, 0, sizeof(value));
	value.type = PMIX_BYTE_OBJECT;
	value.data.bo.bytes = (char *)(uintptr_t)bytes;
	value.data.bo.size = count;
	return pmix.put(PMIX_GLOBAL, key, &value);
}

static pmix_status_t get(uint32_t rank, const char *key, void *bytes, size_t count)
{
	pmix_proc_t proc = pmix.self;
	pmix_value_t *value;
	pmix_status_t rc;

	proc.rank = rank;
	rc = pmix.get(&proc, key, NULL, 0, &value);
	if (rc != PMIX_SUCCESS)
		return rc;
	if (value->type == PMIX_BYTE_OBJECT && value->data.bo.bytes && value->data.bo.size == count)
		memcpy(bytes, value->data.bo.bytes, count);
	else
		rc = PMIX_ERR_TYPE_MISMATCH;
	if (value->type == PMIX_BYTE_OBJECT)
		free(value->data.bo.bytes);
	free(value);
	return rc;
}

static int exchange(struct libgoal_launch *launch, const struct weft_goal_peer *self)
{
	static uint32_t exchanges;
	char key_peer[KEY_CHARS], key_job[KEY_CHARS];
	pmix_proc_t all = pmix.self;
	pmix_info_t collect;
	pmix_status_t rc;
	uint32_t i;

	snprintf(key_peer, sizeof(key_peer), KEY_PEER, exchanges);
	snprintf(key_job, sizeof(key_job), KEY_JOB, exchanges++);
	launch->peers = calloc(launch->size, sizeof(*launch->peers));
	if (!launch->peers)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	if (launch->rank == 0 &&
	    getrandom(launch->key, sizeof(launch->key), 0) != sizeof(launch->key))
		return libgoal_error(GOAL_ERR_LAUNCH, "no random numbers");
	rc = put(key_peer, self, sizeof(*self));
	if (rc == PMIX_SUCCESS && launch->rank == 0)
		rc = put(key_job, launch->key, sizeof(launch->key));
	if (rc == PMIX_SUCCESS)
		rc = pmix.commit();
	all.rank = PMIX_RANK_WILDCARD;
	memset(&collect, 0, sizeof(collect));
	strncpy(collect.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
	collect.value.type = PMIX_BOOL;
	collect.value.data.flag = true;
	if (rc == PMIX_SUCCESS)
		rc = pmix.fence(&all, 1, &collect, 1);
	for (i = 0; i < launch->size && rc == PMIX_SUCCESS; i++)
		rc = get(i, key_peer, &launch->peers[i], sizeof(launch->peers[i]));
	if (rc == PMIX_SUCCESS)
		rc = get(0, key_job, launch->key, sizeof(launch->key));
	return rc == PMIX_SUCCESS ? GOAL_SUCCESS : failed(rc);
}

void libgoal_pmix_end(void)
{
	if (pmix.held)
		(void)pmix.finalize(NULL, 0);
	pmix.held = false;
}

void libgoal_pmix_forked(void)
{
	pmix.held = false;
}

const struct libgoal_launcher libgoal_pmix = {begin, exchange};
