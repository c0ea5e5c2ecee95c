/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helper threads that seal and populate process memory. Calls hostmem.c.
 *
 * Jobs are in one queue. A thread takes the first job of a user other than the last one served (or
 * the first job at all), executes one slice and puts the job at the end of the queue. A user with
 * many jobs thus gets half of the time beside a user with one, whatever their sizes.
 */
#include "dpdk_app/client/populate.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "dpdk_app/app.h"
#include "dpdk_app/client/hostmem.h"

struct populate_list {
	struct populate_job *first, **last;
};

static struct {
	struct app *app;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread[POPULATE_THREADS];
	uint32_t num_threads;
	struct populate_list waiting, done;
	uid_t last_uid;
	bool ending;
} populate = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void put(struct populate_list *list, struct populate_job *job)
{
	if (!list->first)
		list->last = &list->first;
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static struct populate_job *take(struct populate_list *list, struct populate_job **at)
{
	struct populate_job *job = *at;

	*at = job->next;
	if (!*at)
		list->last = at;
	return job;
}

/* Under the lock; the queue must not be empty. */
static struct populate_job *next_job(void)
{
	struct populate_job **at = &populate.waiting.first, *job;

	while (*at && (*at)->uid == populate.last_uid)
		at = &(*at)->next;
	if (!*at)
		at = &populate.waiting.first;
	job = take(&populate.waiting, at);
	populate.last_uid = job->uid;
	return job;
}

/* Executes one slice. Returns true if the job has finished. Without the lock. */
static bool work(struct populate_job *job)
{
	uint64_t bytes = job->bytes < POPULATE_SLICE_BYTES ? job->bytes : POPULATE_SLICE_BYTES;

	if (job->over && atomic_load_explicit(job->over, memory_order_relaxed))
		job->status = -ECANCELED;
	else if (job->num_fds)
		job->status = hostmem_seal(job->fd[--job->num_fds]);
	else if (bytes) {
		if (job->make)
			hostmem_make(job->start, bytes);
		else
			job->status = hostmem_populate(job->start, bytes);
		job->start += bytes;
		job->bytes -= bytes;
	}
	return job->status || (!job->num_fds && !job->bytes);
}

static void *populate_main(void *arg)
{
	struct populate_job *job;
	bool done;

	(void)arg;
	pthread_mutex_lock(&populate.lock);
	while (!populate.ending) {
		if (!populate.waiting.first) {
			pthread_cond_wait(&populate.cond, &populate.lock);
			continue;
		}
		job = next_job();
		pthread_mutex_unlock(&populate.lock);
		done = work(job);
		pthread_mutex_lock(&populate.lock);
		put(done ? &populate.done : &populate.waiting, job);
		if (done)
			app_wake_control(populate.app);
	}
	pthread_mutex_unlock(&populate.lock);
	return NULL;
}

int populate_init(struct app *app)
{
	int err = 0;

	populate.app = app;
	while (!err && populate.num_threads < POPULATE_THREADS) {
		err = pthread_create(&populate.thread[populate.num_threads], NULL, populate_main,
				     NULL);
		if (!err)
			populate.num_threads++;
	}
	return -err;
}

void populate_start(struct populate_job *job)
{
	job->status = 0;
	if (!populate.num_threads || (!job->num_fds && job->bytes <= POPULATE_NOW_BYTES)) {
		while (!work(job))
			;
		job->done(job, job->arg);
		return;
	}
	pthread_mutex_lock(&populate.lock);
	put(&populate.waiting, job);
	pthread_cond_signal(&populate.cond);
	pthread_mutex_unlock(&populate.lock);
}

void populate_drain(void)
{
	struct populate_job *job, *next;

	pthread_mutex_lock(&populate.lock);
	job = populate.done.first;
	populate.done.first = NULL;
	pthread_mutex_unlock(&populate.lock);
	for (; job; job = next) {
		next = job->next;
		job->done(job, job->arg);
	}
}

void populate_end(void)
{
	struct populate_job *job;

	pthread_mutex_lock(&populate.lock);
	populate.ending = true;
	pthread_cond_broadcast(&populate.cond);
	pthread_mutex_unlock(&populate.lock);
	while (populate.num_threads)
		pthread_join(populate.thread[--populate.num_threads], NULL);
	while (populate.waiting.first) {
		job = take(&populate.waiting, &populate.waiting.first);
		job->status = -ECANCELED;
		put(&populate.done, job);
	}
	populate_drain();
	populate.ending = false;
}
