/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread keeps the capabilities that opening an interface takes, and does nothing else; see
 * opener.h.
 *
 * Capabilities belong to a thread. The control thread, which reads what processes send, and the
 * cores, which read frames, have none of them. Calls the kernel: pthread_create(3).
 */
#include "dpdk_app/opener.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pid_t tid; /* 0: not started */
	int (*fn)(void *arg);
	void *arg;
	int result;
} opener = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *opener_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&opener.lock);
	opener.tid = gettid();
	pthread_cond_broadcast(&opener.changed);
	for (;;) {
		while (!opener.fn)
			pthread_cond_wait(&opener.changed, &opener.lock);
		/* The control thread waits meanwhile. */
		opener.result = opener.fn(opener.arg);
		opener.fn = NULL;
		pthread_cond_broadcast(&opener.changed);
	}
	return NULL;
}

int opener_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	err = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!err)
		err = pthread_create(&thread, &attr, opener_main, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -err;
	pthread_mutex_lock(&opener.lock);
	while (!opener.tid)
		pthread_cond_wait(&opener.changed, &opener.lock);
	pthread_mutex_unlock(&opener.lock);
	return 0;
}

pid_t opener_tid(void)
{
	return opener.tid;
}

int opener_run(int (*fn)(void *arg), void *arg)
{
	int result;

	if (!opener.tid)
		return fn(arg);
	pthread_mutex_lock(&opener.lock);
	opener.arg = arg;
	opener.fn = fn;
	pthread_cond_broadcast(&opener.changed);
	while (opener.fn)
		pthread_cond_wait(&opener.changed, &opener.lock);
	result = opener.result;
	pthread_mutex_unlock(&opener.lock);
	return result;
}
