/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes descriptors of unknown kind; fd_drop.h explains the method. Pending descriptors are in one
 * list. A thread takes the first one of a user who occupies less than its share of threads. Calls
 * the kernel: fcntl(2), pthread_create(3).
 */
#include "dpdk_app/client/fd_drop.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "dpdk_app/app.h"
#include "dpdk_app/log.h"

enum {
	DROP_STACK_BYTES = 128 << 10,
	DROP_HANGS_NS = 1000000000, /* shorter delays are attributed to load */
};

struct drop {
	struct drop *next;
	int fd;
	uid_t uid;
	bool closing;     /* a thread is closing it */
	uint64_t from_ns; /* start of the close */
};

static pthread_mutex_t drop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t drop_more = PTHREAD_COND_INITIALIZER;
static struct drop *drop_list; /* oldest first */
static struct drop **drop_tail = &drop_list;
static uint32_t drop_threads, drop_idle;
static uint32_t drop_starting; /* threads created but not yet running; counted in drop_threads */

/* Memory files have no server that could delay. Involves no file system. */
static bool drop_is_quick(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

static uint32_t count_of(uid_t uid, bool closing)
{
	uint32_t n = 0;

	for (const struct drop *d = drop_list; d; d = d->next)
		n += d->uid == uid && (d->closing || !closing);
	return n;
}

/* Under the lock: returns the next descriptor to close, or NULL. */
static struct drop *next_drop(void)
{
	for (struct drop *d = drop_list; d; d = d->next) {
		if (!d->closing && count_of(d->uid, true) < FD_DROP_OF_USER)
			return d;
	}
	return NULL;
}

static void forget(struct drop *drop)
{
	struct drop **link = &drop_list;

	while (*link != drop)
		link = &(*link)->next;
	*link = drop->next;
	if (drop_tail == &drop->next)
		drop_tail = link;
	free(drop);
}

static void *drop_main(void *arg);

/* Under the lock: starts another thread for pending descriptors unless there are enough. */
static void more_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (drop_idle) {
		pthread_cond_signal(&drop_more);
		return;
	}
	/* A starting thread starts further ones itself, after it has taken the first descriptor. */
	if (drop_starting || drop_threads == FD_DROP_THREADS || pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, DROP_STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!pthread_create(&thread, &attr, drop_main, NULL)) {
		drop_threads++;
		drop_starting++;
	} else if (!drop_threads) {
		log_error("descriptors of processes cannot be closed: no thread can be created");
	}
	pthread_attr_destroy(&attr);
}

static void *drop_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&drop_lock);
	drop_starting--;
	for (;;) {
		struct drop *drop = next_drop();

		if (!drop) {
			drop_idle++;
			pthread_cond_wait(&drop_more, &drop_lock);
			drop_idle--;
			continue;
		}
		drop->closing = true;
		drop->from_ns = app_clock_ns();
		/* This one may take long: another thread takes the next. */
		if (next_drop())
			more_threads();
		pthread_mutex_unlock(&drop_lock);
		close(drop->fd);
		pthread_mutex_lock(&drop_lock);
		forget(drop);
	}
	return NULL;
}

void fd_drop_of(int fd, uid_t uid)
{
	struct drop *drop;

	if (fd < 0)
		return;
	if (drop_is_quick(fd)) {
		close(fd);
		return;
	}
	drop = malloc(sizeof(*drop));
	if (!drop) {
		log_verbose("a descriptor that a process sent stays open: out of memory");
		return;
	}
	*drop = (struct drop){.fd = fd, .uid = uid};
	pthread_mutex_lock(&drop_lock);
	*drop_tail = drop;
	drop_tail = &drop->next;
	more_threads();
	pthread_mutex_unlock(&drop_lock);
}

void fd_drop(int fd)
{
	fd_drop_of(fd, (uid_t)-1);
}

bool fd_drop_owed(uid_t uid)
{
	uint64_t now_ns = app_clock_ns();
	bool hangs = false, owed;

	pthread_mutex_lock(&drop_lock);
	owed = count_of(uid, false) >= FD_DROP_OWED;
	for (const struct drop *d = drop_list; owed && d; d = d->next)
		hangs |= d->uid == uid && d->closing && now_ns - d->from_ns > DROP_HANGS_NS;
	pthread_mutex_unlock(&drop_lock);
	return owed && hangs;
}

uint32_t fd_drop_pending(void)
{
	uint32_t n = 0;

	pthread_mutex_lock(&drop_lock);
	for (const struct drop *d = drop_list; d; d = d->next)
		n++;
	pthread_mutex_unlock(&drop_lock);
	return n;
}
