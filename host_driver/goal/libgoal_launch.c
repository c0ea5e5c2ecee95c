/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL_Init() and GOAL_Finalize(): connects the program to the other ranks.
 *
 * Ranks find each other through PMIx (libgoal_pmix.c; mpirun, srun) or through WEFT_PEERS, a static
 * list with a key (libgoal_key.c). A program started alone is its only rank. docs/collectives.md,
 * "Starting programs"; the ESPGOAL paper, 2.2.1. Calls libgoal_instance.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host_driver/goal/libgoal_launch.h"

enum {
	STATE_NEW = 0,
	STATE_READY = 1,
	STATE_OVER = 2,
	STATE_BUSY = 3, /* in GOAL_Init() */
};

static int state; /* of GOAL_Init() */

/* ---- a static list -------------------------------------------------------------------------- */

/*
 * Parses "02:57:46:00:00:00/1": a MAC address and a shard (0 if absent). *said is -1 when no shard
 * is named. Returns false for any other text.
 */
static bool parse_peer(const char *text, size_t length, struct weft_goal_peer *peer, int *said)
{
	char copy[40];
	unsigned int m[6], shard = 0;
	int end = 0, i;

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (sscanf(copy, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5],
		   &end) != 6)
		return false;
	if (copy[end] && (sscanf(copy + end, "/%u", &shard) != 1 || shard > 7))
		return false;
	memset(peer, 0, sizeof(*peer));
	*said = copy[end] ? (int)shard : -1;
	for (i = 0; i < 6; i++)
		peer->mac[i] = (uint8_t)m[i];
	peer->shard = (uint8_t)shard;
	return true;
}

static uint64_t hash(const char *text, uint64_t h)
{
	for (; text && *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static int static_begin(struct libgoal_launch *launch)
{
	const char *list = secure_getenv("WEFT_PEERS"), *rank = secure_getenv("WEFT_RANK");
	const char *job = secure_getenv("WEFT_JOB"), *at, *end;
	int rc = libgoal_key_given(launch->key);
	char detail[200];
	uint64_t number;

	if (rc < 0)
		return rc;
	for (at = list, launch->size = 1; (at = strchr(at, ',')); at++)
		launch->size++;
	launch->peers = calloc(launch->size, sizeof(*launch->peers));
	if (!launch->peers)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	if (!rank || !libgoal_parse(rank, 0, launch->size - 1, &number)) {
		snprintf(detail, sizeof(detail),
			 "WEFT_RANK, \"%.40s\", is not an index in the list of WEFT_PEERS: a "
			 "number from 0 to %u is expected",
			 rank ? rank : "", launch->size - 1);
		return libgoal_error(GOAL_ERR_LAUNCH, detail);
	}
	launch->rank = (uint32_t)number;
	launch->size = 0;
	for (at = list; at; at = *end ? end + 1 : NULL) {
		int shard;

		end = strchrnul(at, ',');
		if (!parse_peer(at, (size_t)(end - at), &launch->peers[launch->size], &shard))
			return libgoal_error(GOAL_ERR_LAUNCH, "WEFT_PEERS: a list of MAC[/SHARD], "
							      "separated by commas, is expected");
		if (launch->size++ == launch->rank)
			launch->shard = shard;
	}
	/* All ranks have the same list. The list and WEFT_JOB distinguish jobs that share a key. */
	launch->key[0] ^= hash(job, hash(list, UINT64_C(0xcbf29ce484222325)));
	launch->key[1] ^= hash(list, hash(job, UINT64_C(0x84222325cbf29ce4)));
	launch->local_rank = launch->rank;
	return GOAL_SUCCESS;
}

static int static_exchange(struct libgoal_launch *launch, const struct weft_goal_peer *self)
{
	const struct weft_goal_peer *said = &launch->peers[launch->rank];
	char detail[160];

	if (memcmp(said->mac, self->mac, sizeof(self->mac)))
		return libgoal_error(
		    GOAL_ERR_LAUNCH,
		    "WEFT_PEERS names another NIC for this rank than the one it was "
		    "given (WEFT_DEVICE chooses the NIC)");
	if (said->shard == self->shard)
		return GOAL_SUCCESS;
	snprintf(detail, sizeof(detail),
		 "WEFT_PEERS names no shard for this rank, which means 0, but its NIC put it into "
		 "shard %u: write MAC/%u",
		 self->shard, self->shard);
	return libgoal_error(GOAL_ERR_LAUNCH, detail);
}

/*
 * Variables in which launchers state the number of tasks they started. If one says that there are
 * several, the program is not alone, although it received no addresses of the others.
 */
static const char *const launchers[] = {
    "PMI_SIZE",    "SLURM_NTASKS",        "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE",
    "PALS_NRANKS", "MV2_COMM_WORLD_SIZE",
};

static int alone_begin(struct libgoal_launch *launch)
{
	const char *said = secure_getenv("WEFT_LAUNCH");
	char detail[400];
	uint64_t tasks;
	size_t i;

	if (said && strcmp(said, "alone") != 0)
		return libgoal_error(GOAL_ERR_LAUNCH, "WEFT_LAUNCH: only \"alone\" is known");
	for (i = 0; !said && i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const char *value = secure_getenv(launchers[i]);

		if (!value || !libgoal_parse(value, 2, UINT32_MAX, &tasks))
			continue;
		snprintf(
		    detail, sizeof(detail),
		    "%s says that this is one of %s tasks, but no PMIx tells where the others "
		    "are: start it with mpirun, or srun --mpi=pmix (srun --mpi=list names what "
		    "there is), or set WEFT_PEERS, WEFT_RANK and WEFT_KEY; WEFT_LAUNCH=alone "
		    "if each task is to be a job of one rank",
		    launchers[i], value);
		return libgoal_error(GOAL_ERR_LAUNCH, detail);
	}
	launch->rank = 0;
	launch->size = 1;
	launch->peers = calloc(1, sizeof(*launch->peers));
	return launch->peers ? GOAL_SUCCESS : libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
}

static int alone_exchange(struct libgoal_launch *launch, const struct weft_goal_peer *self)
{
	launch->peers[0] = *self;
	if (getrandom(launch->key, sizeof(launch->key), 0) != sizeof(launch->key))
		return libgoal_error(GOAL_ERR_LAUNCH, "no random numbers");
	return GOAL_SUCCESS;
}

static const struct libgoal_launcher launch_static = {static_begin, static_exchange};
static const struct libgoal_launcher launch_alone = {alone_begin, alone_exchange};

/* ---- the program ---------------------------------------------------------------------------- */

static int start(const struct libgoal_launcher *launcher, struct libgoal_launch *launch)
{
	struct weft_goal_peer self;
	struct libgoal *lib;
	int rc;

	rc = launcher->begin(launch);
	if (rc < 0)
		return rc;
	rc = libgoal_instance_get(launch, &lib);
	if (rc < 0)
		return rc;
	weft_goal_self(lib->goal, &self);
	rc = launcher->exchange(launch, &self);
	if (rc == GOAL_SUCCESS)
		rc = libgoal_world(lib, launch->rank, launch->size, launch->peers, launch->key);
	if (rc != GOAL_SUCCESS)
		libgoal_instance_put(lib);
	return rc;
}

int GOAL_Init(void)
{
	struct libgoal_launch launch = {.shard = -1};
	const struct libgoal_launcher *launcher = &launch_alone;
	int before = __atomic_load_n(&state, __ATOMIC_ACQUIRE), rc;

	if (before == STATE_READY || before == STATE_BUSY || libgoal_is_forked() ||
	    !__atomic_compare_exchange_n(&state, &before, STATE_BUSY, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return libgoal_error(GOAL_ERR_STATE, "GOAL_Init() was already called");
	if (secure_getenv("WEFT_PEERS"))
		launcher = &launch_static;
	else if (libgoal_pmix_there())
		launcher = &libgoal_pmix;
	rc = start(launcher, &launch);
	/* A program that waits for weftd tries again, with the connection to its launcher. */
	if (rc != GOAL_SUCCESS && rc != GOAL_ERR_NO_DEVICE && rc != GOAL_ERR_NIC_GONE)
		libgoal_pmix_end();
	free(launch.peers);
	__atomic_store_n(&state, rc == GOAL_SUCCESS ? STATE_READY : before, __ATOMIC_RELEASE);
	return rc;
}

int GOAL_IsInitialized(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_NEW;
}

int GOAL_IsFinalized(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_READY || libgoal_is_forked();
}

int GOAL_GroupSize(void)
{
	GOAL_Comm world = GOAL_CommWorld();

	return world ? GOAL_CommSize(world) : GOAL_LastError();
}

int GOAL_MyRank(void)
{
	GOAL_Comm world = GOAL_CommWorld();

	return world ? GOAL_CommRank(world) : GOAL_LastError();
}

/* Runs of communicators that do not come from GOAL_Join(). */
static uint32_t count_runs(struct libgoal *lib)
{
	uint32_t count = 0, i;

	pthread_mutex_lock(&lib->lock);
	for (i = 0; i < LIBGOAL_RUNS && lib->running; i++)
		count += lib->slots[i].running && !lib->slots[i].sched->comm->joined;
	pthread_mutex_unlock(&lib->lock);
	return count;
}

int GOAL_Finalize(void)
{
	struct libgoal *lib = GOAL_IsFinalized() ? NULL : libgoal_default();
	uint32_t gone;

	if (!lib)
		return libgoal_error(GOAL_ERR_STATE,
				     libgoal_is_forked()
					 ? "a child of fork has no instance to finalize"
					 : "GOAL_Init() comes first");
	gone = libgoal_reap_gone(lib);
	if (count_runs(lib))
		return libgoal_error(GOAL_ERR_STATE, "runs are in flight: GOAL_Wait() for them");
	__atomic_store_n(&state, STATE_OVER, __ATOMIC_RELEASE);
	/* While schedules of it exist the world ends with the instance. */
	(void)libgoal_comm_end(lib->world);
	libgoal_instance_put(lib);
	libgoal_pmix_end();
	return gone ? libgoal_error(GOAL_ERR_NIC_GONE, "weftd ended while runs were in flight")
		    : GOAL_SUCCESS;
}
