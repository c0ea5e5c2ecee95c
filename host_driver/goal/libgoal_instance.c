/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instances of the process: the NIC that GOAL_Init() and libraries that call GOAL_Join() share,
 * and NICs that a library names.
 *
 * The first user opens a NIC and the last closes it. Calls libgoal_comm.c and weft.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal_launch.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of users, and changes of lib */
/* The first is that of GOAL_Init(), on whatever NIC; the others are on the NIC that they name. */
static struct instance {
	struct libgoal *lib;
	uint32_t users;
	char device[32];
} instances[LIBGOAL_INSTANCES];
static bool forked; /* child of a process that had an instance: the NIC belongs to the parent */

static struct libgoal *instance(uint32_t number)
{
	if (__atomic_load_n(&forked, __ATOMIC_ACQUIRE))
		return NULL;
	return __atomic_load_n(&instances[number].lib, __ATOMIC_ACQUIRE);
}

struct libgoal *libgoal_default(void)
{
	return instance(0);
}

bool libgoal_find(GOAL_Handle handle, struct libgoal_run *run)
{
	if (handle < 0)
		return false;
	run->lib = instance((uint32_t)(handle >> LIBGOAL_RUN_BITS) % LIBGOAL_INSTANCES);
	run->record = (uint32_t)handle % LIBGOAL_RUNS;
	run->use = (uint32_t)((uint64_t)handle >> 16);
	return run->lib != NULL;
}

bool libgoal_is_forked(void)
{
	return __atomic_load_n(&forked, __ATOMIC_ACQUIRE);
}

static void in_child(void)
{
	uint32_t i;

	for (i = 0; i < LIBGOAL_INSTANCES; i++)
		if (instance(i))
			__atomic_store_n(&forked, true, __ATOMIC_RELEASE);
	libgoal_pmix_forked();
}

static void install(void)
{
	/*
	 * pthread_atfork() fails only when memory is exhausted; a child then reports its runs as
	 * over.
	 */
	(void)pthread_atfork(NULL, NULL, in_child);
}

/*
 * Opens the device of that name, else WEFT_DEVICE, or the NICs of this host in turn; on the shard
 * that a static list names, otherwise on the shard for collectives.
 */
static struct weft_context *open_nic(const struct libgoal_launch *launch)
{
	const struct weft_open_attr attr = {
	    .collectives = true, .shard = launch->shard, .use = WEFT_USE_GOAL};
	struct weft_context *context;
	struct weft_device *list;
	int count;

	if (launch->device)
		return weft_open_device_attr(launch->device, &attr);
	if (secure_getenv("WEFT_DEVICE"))
		return weft_open_device_attr(NULL, &attr);
	count = weft_get_device_list(&list);
	if (count <= 0) {
		errno = ENODEV;
		return NULL;
	}
	context = weft_open_device_attr(list[launch->local_rank % (uint32_t)count].name, &attr);
	weft_free_device_list(list);
	return context;
}

static int create(const struct libgoal_launch *launch, struct instance *at)
{
	struct weft_context *context = open_nic(launch);
	struct libgoal *lib;
	int rc;

	if (!context && errno == ENXIO)
		return libgoal_error(GOAL_ERR_LAUNCH,
				     "WEFT_PEERS names a shard for this rank that its NIC does not "
				     "have (weftctl list)");
	if (!context)
		return libgoal_error(GOAL_ERR_NO_DEVICE, strerror(errno));
	rc = libgoal_attach(context, &lib);
	if (rc != GOAL_SUCCESS) {
		weft_close_device(context);
		return rc;
	}
	lib->number = (uint32_t)(at - instances);
	snprintf(at->device, sizeof(at->device), "%s", launch->device ? launch->device : "");
	__atomic_store_n(&at->lib, lib, __ATOMIC_RELEASE);
	return GOAL_SUCCESS;
}

/* Returns the place of the NIC's instance, or a free one; NULL: all are in use. */
static struct instance *place(const char *device)
{
	struct instance *found = NULL;
	uint32_t i;

	if (!device)
		return &instances[0];
	for (i = 1; i < LIBGOAL_INSTANCES; i++) {
		if (instances[i].lib && !strcmp(instances[i].device, device))
			return &instances[i];
		if (!instances[i].lib && !found)
			found = &instances[i];
	}
	return found;
}

int libgoal_instance_get(const struct libgoal_launch *launch, struct libgoal **lib)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct instance *at;
	int rc = GOAL_SUCCESS;

	*lib = NULL;
	pthread_mutex_lock(&lock);
	at = place(launch->device);
	if (!at)
		rc = libgoal_error(GOAL_ERR_LIMIT, "too many NICs");
	else if (!at->lib)
		rc = create(launch, at);
	if (rc == GOAL_SUCCESS) {
		at->users++;
		*lib = at->lib;
	}
	pthread_mutex_unlock(&lock);
	if (rc == GOAL_SUCCESS)
		pthread_once(&once, install);
	return rc;
}

void libgoal_instance_put(struct libgoal *lib)
{
	struct instance *at = &instances[lib->number];
	struct weft_context *context = lib->context;
	bool last;

	pthread_mutex_lock(&lock);
	last = --at->users == 0;
	if (last)
		__atomic_store_n(&at->lib, NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	libgoal_detach(lib);
	weft_close_device(context);
}
