/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that unmaps large mappings in steps, oldest first; unmap.h explains why. It is created
 * on first use. Calls the kernel: munmap(2), pthread_create(3).
 */
#include "dpdk_app/client/unmap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	UNMAP_STACK_BYTES = 128 << 10,
};

struct unmap {
	struct unmap *next;
	uint8_t *base;
	size_t bytes;
};

static pthread_mutex_t unmap_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unmap_more = PTHREAD_COND_INITIALIZER;
static struct unmap *unmap_list; /* oldest first */
static struct unmap **unmap_tail = &unmap_list;
static size_t unmap_owed; /* bytes in the list and in the thread's current mapping */
static bool unmap_runs;

static size_t step_bytes(size_t bytes)
{
	return bytes > UNMAP_SPARSE_BYTES ? UNMAP_SPARSE_STEP_BYTES : UNMAP_STEP_BYTES;
}

/* Returns the weight of a waiting mapping. */
static size_t weight(size_t bytes)
{
	return bytes / (step_bytes(bytes) / UNMAP_STEP_BYTES);
}

static void in_pieces(uint8_t *base, size_t bytes)
{
	const size_t most = step_bytes(bytes);

	while (bytes) {
		size_t step = bytes < most ? bytes : most;

		munmap(base, step);
		base += step;
		bytes -= step;
	}
}

static void *unmap_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&unmap_lock);
	for (;;) {
		struct unmap *first = unmap_list;

		if (!first) {
			pthread_cond_wait(&unmap_more, &unmap_lock);
			continue;
		}
		unmap_list = first->next;
		if (!unmap_list)
			unmap_tail = &unmap_list;
		pthread_mutex_unlock(&unmap_lock);
		in_pieces(first->base, first->bytes);
		pthread_mutex_lock(&unmap_lock);
		unmap_owed -= weight(first->bytes);
		free(first);
	}
	return NULL;
}

/* Under the lock. Returns false if no thread can be created. */
static bool have_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (unmap_runs)
		return true;
	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, UNMAP_STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	unmap_runs = !pthread_create(&thread, &attr, unmap_main, NULL);
	pthread_attr_destroy(&attr);
	return unmap_runs;
}

/* Returns false if the caller must unmap it. */
static bool unmap_leave(struct unmap *what)
{
	bool left = false;

	pthread_mutex_lock(&unmap_lock);
	if (unmap_owed < UNMAP_OWED_BYTES && have_thread()) {
		*unmap_tail = what;
		unmap_tail = &what->next;
		unmap_owed += weight(what->bytes);
		pthread_cond_signal(&unmap_more);
		left = true;
	}
	pthread_mutex_unlock(&unmap_lock);
	return left;
}

void unmap(void *base, size_t bytes)
{
	struct unmap *what = bytes > UNMAP_NOW_BYTES ? malloc(sizeof(*what)) : NULL;

	if (what) {
		*what = (struct unmap){.base = base, .bytes = bytes};
		if (unmap_leave(what))
			return;
		free(what);
	}
	in_pieces(base, bytes);
}
