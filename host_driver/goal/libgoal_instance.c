/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance of the process: a NIC that GOAL_Init() and libraries that call GOAL_Join() share.
 *
 * The first user opens the NIC and the last closes it. Calls libgoal_comm.c and weft.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal_launch.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of users, and changes of instance */
static struct libgoal *instance;
static uint32_t users;
static bool forked; /* child of a process that had an instance: the NIC belongs to the parent */

struct libgoal *libgoal_default(void)
{
	if (__atomic_load_n(&forked, __ATOMIC_ACQUIRE))
		return NULL;
	return __atomic_load_n(&instance, __ATOMIC_ACQUIRE);
}

bool libgoal_is_forked(void)
{
	return __atomic_load_n(&forked, __ATOMIC_ACQUIRE);
}

static void in_child(void)
{
	if (libgoal_default())
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
 * Opens WEFT_DEVICE, or the NICs of this host in turn; on the shard that a static list names,
 * otherwise on the shard for collectives.
 */
static struct weft_context *open_nic(const struct libgoal_launch *launch)
{
	const struct weft_open_attr attr = {
	    .collectives = true, .shard = launch->shard, .use = WEFT_USE_GOAL};
	struct weft_context *context;
	struct weft_device *list;
	int count;

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

static int create(const struct libgoal_launch *launch)
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
	__atomic_store_n(&instance, lib, __ATOMIC_RELEASE);
	return GOAL_SUCCESS;
}

int libgoal_instance_get(const struct libgoal_launch *launch, struct libgoal **lib)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int rc = GOAL_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!instance)
		rc = create(launch);
	users += rc == GOAL_SUCCESS;
	*lib = instance;
	pthread_mutex_unlock(&lock);
	if (rc == GOAL_SUCCESS)
		pthread_once(&once, install);
	return rc;
}

void libgoal_instance_put(void)
{
	struct libgoal *lib = NULL;
	struct weft_context *context;

	pthread_mutex_lock(&lock);
	if (--users == 0) {
		lib = instance;
		__atomic_store_n(&instance, NULL, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (!lib)
		return;
	context = lib->context;
	libgoal_detach(lib);
	weft_close_device(context);
}
