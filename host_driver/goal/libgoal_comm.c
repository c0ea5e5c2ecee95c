/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instances, communicators, and their memory for unexpected messages.
 *
 * Calls weft_goal.h. docs/collectives.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"

bool libgoal_parse(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !*end && !errno && *number >= least && *number <= most;
}

/* WEFT_GOAL_POOL fixes the size of the pool; otherwise it grows with the needs of schedules. */
static int size_pool(struct libgoal *lib)
{
	const char *said = secure_getenv("WEFT_GOAL_POOL");

	lib->pool_bytes = LIBGOAL_POOL_BYTES;
	lib->pool_max_bytes = LIBGOAL_POOL_MAX_BYTES;
	if (!said)
		return GOAL_SUCCESS;
	if (!libgoal_parse(said, LIBGOAL_POOL_SAID_MIN, LIBGOAL_POOL_SAID_MAX, &lib->pool_bytes))
		return libgoal_error(GOAL_ERR_ARG, "WEFT_GOAL_POOL: a number of bytes from 4096 to "
						   "1073741824 is expected");
	lib->pool_max_bytes = lib->pool_bytes;
	return GOAL_SUCCESS;
}

int libgoal_attach(struct weft_context *context, struct libgoal **out)
{
	const struct weft_mr_cache_attr watched = {.policy = WEFT_MR_CACHE_IMMEDIATE,
						   .exact = true};
	const struct weft_mr_cache_attr kept = {.policy = WEFT_MR_CACHE_LAZY, .mapped_only = true};
	struct libgoal *lib = calloc(1, sizeof(*lib));

	if (!lib)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	if (size_pool(lib) != GOAL_SUCCESS) {
		free(lib);
		return GOAL_LastError();
	}
	libgoal_shadow_begin(lib);
	lib->context = context;
	pthread_mutex_init(&lib->lock, NULL);
	lib->pd = weft_alloc_pd(context);
	lib->cache = lib->pd ? weft_create_mr_cache(lib->pd, &watched) : NULL;
	lib->kept = lib->cache ? weft_create_mr_cache(lib->pd, &kept) : NULL;
	lib->goal = lib->kept ? weft_goal_open(context, LIBGOAL_RUNS) : NULL;
	if (!lib->goal) {
		int err = errno;

		libgoal_detach(lib);
		return libgoal_error(libgoal_errno(-err), strerror(err));
	}
	*out = lib;
	return GOAL_SUCCESS;
}

void libgoal_detach(struct libgoal *lib)
{
	uint32_t i;

	if (lib->world)
		(void)libgoal_comm_end(lib->world);
	libgoal_shadow_end(lib);
	weft_goal_close(lib->goal);
	/* While schedules exist the cache stays allocated, until the context goes. */
	if (lib->kept && weft_destroy_mr_cache(lib->kept) < 0)
		libgoal_error(GOAL_ERR_STATE, "runs are still in flight");
	if (lib->cache && weft_destroy_mr_cache(lib->cache) < 0)
		libgoal_error(GOAL_ERR_STATE, "schedules still exist");
	for (i = 0; i < LIBGOAL_RUNS; i++)
		free(lib->slots[i].why);
	for (i = 0; i < LIBGOAL_KEPT; i++)
		free(lib->kept_outcomes[i].why);
	pthread_mutex_destroy(&lib->lock);
	free(lib);
}

/* ---- pools ---------------------------------------------------------------------------------- */

static int add_pool(GOAL_Comm comm, uint64_t bytes)
{
	struct weft_mr *mr;
	void *mem;
	int rc;

	mem = weft_alloc(comm->lib->context, bytes);
	if (!mem)
		return -errno;
	mr = weft_reg_mr(comm->lib->pd, mem, bytes, WEFT_ACCESS_LOCAL_WRITE);
	rc = mr ? weft_goal_pool(comm->lib->goal, comm->handle, mr) : -errno;
	if (rc < 0) {
		if (mr && weft_dereg_mr(mr) < 0)
			rc = -EIO;
		weft_free(mem, bytes);
		return rc;
	}
	comm->pool[comm->num_pools].mem = mem;
	comm->pool[comm->num_pools].bytes = bytes;
	comm->pool[comm->num_pools].mr = mr;
	comm->num_pools++;
	comm->pool_bytes += bytes;
	return 0;
}

int libgoal_pool_grow(GOAL_Comm comm, uint64_t bytes)
{
	uint64_t max = comm->lib->pool_max_bytes, more;
	int rc = 0;

	if (bytes > max)
		bytes = max;
	pthread_mutex_lock(&comm->lib->lock);
	if (bytes > comm->pool_bytes && comm->num_pools < LIBGOAL_POOLS) {
		/* Each step at least doubles the pool, so eight steps reach the limit. */
		more = bytes - comm->pool_bytes;
		if (more < comm->pool_bytes)
			more = comm->pool_bytes;
		if (more > max - comm->pool_bytes)
			more = max - comm->pool_bytes;
		rc = add_pool(comm, (more + 4095) & ~UINT64_C(4095));
	}
	pthread_mutex_unlock(&comm->lib->lock);
	return rc;
}

/* ---- communicators -------------------------------------------------------------------------- */

static void comm_free(GOAL_Comm comm)
{
	uint32_t i;

	for (i = 0; i < comm->num_pools; i++) {
		/* A NIC that is gone holds no memory any more. */
		int rc = weft_dereg_mr(comm->pool[i].mr);

		if (rc == 0 || rc == -EIO)
			weft_free(comm->pool[i].mem, comm->pool[i].bytes);
	}
	while (comm->lists) {
		struct libgoal_list *list = comm->lists;

		comm->lists = list->next;
		free(list);
	}
	free(comm->peers);
	free(comm);
}

bool libgoal_are_near(const struct weft_goal_peer *peers, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (!peers[i].switch_id || peers[i].switch_id != peers[0].switch_id)
			return false;
	return true;
}

int libgoal_comm_new(struct libgoal *lib, uint32_t rank, uint32_t size,
		     const struct weft_goal_peer *peers, const uint64_t key[2], GOAL_Comm *out)
{
	struct weft_goal_comm_attr attr = {.key = {key[0], key[1]},
					   .rank = rank,
					   .num_ranks = size,
					   .peers = peers,
					   .pd = lib->pd};
	GOAL_Comm comm = calloc(1, sizeof(*comm));
	int rc;

	if (!comm)
		return libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
	comm->lib = lib;
	comm->rank = rank;
	comm->size = size;
	comm->key[0] = key[0];
	comm->key[1] = key[1];
	comm->eager_bytes = LIBGOAL_EAGER_BYTES;
	comm->peers = malloc(size * sizeof(*peers));
	rc = comm->peers ? weft_goal_comm_create(lib->goal, &attr, &comm->handle) : -ENOMEM;
	if (rc < 0) {
		comm_free(comm);
		return libgoal_error(libgoal_errno(rc), "the NIC made no communicator");
	}
	memcpy(comm->peers, peers, size * sizeof(*peers));
	comm->near = libgoal_are_near(peers, size);
	rc = libgoal_pool_grow(comm, lib->pool_bytes);
	if (rc < 0) {
		rc = weft_goal_comm_destroy(lib->goal, comm->handle) < 0 ? -EIO : rc;
		comm_free(comm);
		return libgoal_error(libgoal_errno(rc), "no memory for unexpected messages");
	}
	*out = comm;
	return GOAL_SUCCESS;
}

int libgoal_world(struct libgoal *lib, uint32_t rank, uint32_t size,
		  const struct weft_goal_peer *peers, const uint64_t key[2])
{
	return libgoal_comm_new(lib, rank, size, peers, key, &lib->world);
}

GOAL_Comm GOAL_CommWorld(void)
{
	struct libgoal *lib = libgoal_default();

	/* An instance of GOAL_Join() alone has no world. */
	if (lib && lib->world && !GOAL_IsFinalized())
		return lib->world;
	libgoal_error(GOAL_ERR_STATE, "GOAL_Init() comes first");
	return NULL;
}

/* All members compute the same key without communication. */
static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* Returns the list with that hash; NULL: out of memory. Under the lock. */
static struct libgoal_list *list_of(GOAL_Comm parent, const uint64_t id[2])
{
	struct libgoal_list *list;

	for (list = parent->lists; list; list = list->next)
		if (list->id[0] == id[0] && list->id[1] == id[1])
			return list;
	list = calloc(1, sizeof(*list));
	if (!list)
		return NULL;
	list->id[0] = id[0];
	list->id[1] = id[1];
	list->next = parent->lists;
	parent->lists = list;
	return list;
}

/*
 * Computes the addresses of the listed ranks, this rank's position, and the hash that represents
 * the list in keys. On failure returns false with libgoal_error() set.
 */
static bool members(GOAL_Comm parent, const int *ranks, uint32_t num, struct weft_goal_peer *peers,
		    uint32_t *mine, uint64_t id[2])
{
	uint8_t *seen = calloc(parent->size, 1);
	uint32_t i;
	bool twice = false;

	if (!seen) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return false;
	}
	*mine = UINT32_MAX;
	id[0] = mix(parent->key[0], num);
	id[1] = mix(parent->key[1], num);
	for (i = 0; i < num && ranks[i] >= 0 && (uint32_t)ranks[i] < parent->size && !twice; i++) {
		twice = seen[ranks[i]]++;
		peers[i] = parent->peers[ranks[i]];
		id[0] = mix(id[0], (uint64_t)ranks[i]);
		id[1] = mix(id[1], (uint64_t)ranks[i] + 1);
		if ((uint32_t)ranks[i] == parent->rank)
			*mine = i;
	}
	free(seen);
	if (i == num && !twice && *mine != UINT32_MAX)
		return true;
	libgoal_error(GOAL_ERR_ARG, "GOAL_CommCreate: a rank that is not in the parent, twice the "
				    "same, or this one is missing");
	return false;
}

/*
 * The key depends on the parent's key, the list, and the number of communicators made of this list
 * before. It does not depend on other ranks' calls, nor on this rank's calls with other lists.
 */
GOAL_Comm GOAL_CommCreate(GOAL_Comm parent, const int *ranks, int num_ranks)
{
	struct libgoal_list *list;
	struct weft_goal_peer *peers;
	GOAL_Comm comm = NULL;
	uint64_t id[2], key[2];
	uint32_t mine;

	if (!parent || !ranks || num_ranks < 1 || (uint32_t)num_ranks > parent->size) {
		libgoal_error(GOAL_ERR_ARG, "GOAL_CommCreate: no parent, or too many ranks");
		return NULL;
	}
	if (libgoal_is_forked()) {
		libgoal_error(GOAL_ERR_STATE, "a child of fork has no communicators");
		return NULL;
	}
	peers = malloc((size_t)num_ranks * sizeof(*peers));
	if (!peers) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	if (members(parent, ranks, (uint32_t)num_ranks, peers, &mine, id)) {
		pthread_mutex_lock(&parent->lib->lock);
		list = list_of(parent, id);
		if (list) {
			key[0] = mix(id[0], list->made);
			key[1] = mix(id[1], list->made);
		}
		pthread_mutex_unlock(&parent->lib->lock);
		if (!list) {
			libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		} else if (libgoal_comm_new(parent->lib, mine, (uint32_t)num_ranks, peers, key,
					    &comm) == GOAL_SUCCESS) {
			comm->joined = parent->joined;
			/* A failed call made no communicator and is not counted. */
			pthread_mutex_lock(&parent->lib->lock);
			list->made++;
			pthread_mutex_unlock(&parent->lib->lock);
		}
	}
	free(peers);
	return comm;
}

int libgoal_comm_end(GOAL_Comm comm)
{
	int rc;

	if (__atomic_load_n(&comm->refs, __ATOMIC_ACQUIRE))
		return libgoal_error(GOAL_ERR_STATE, "schedules of the communicator still exist");
	rc = weft_goal_comm_destroy(comm->lib->goal, comm->handle);
	if (rc < 0 && rc != -EIO)
		return libgoal_error(libgoal_errno(rc), "runs of the communicator are in flight");
	if (comm->lib->world == comm)
		comm->lib->world = NULL;
	comm_free(comm);
	return GOAL_SUCCESS;
}

int GOAL_CommFree(GOAL_Comm comm)
{
	if (!comm)
		return libgoal_error(GOAL_ERR_ARG, "no communicator");
	if (comm->lib->world == comm)
		return libgoal_error(GOAL_ERR_ARG, "GOAL_CommWorld() ends with GOAL_Finalize()");
	return libgoal_comm_end(comm);
}

int GOAL_CommRank(GOAL_Comm comm)
{
	return comm ? (int)comm->rank : libgoal_error(GOAL_ERR_ARG, "no communicator");
}

int GOAL_CommSize(GOAL_Comm comm)
{
	return comm ? (int)comm->size : libgoal_error(GOAL_ERR_ARG, "no communicator");
}
