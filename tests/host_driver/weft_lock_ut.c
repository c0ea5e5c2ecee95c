/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_lock.h: one thread at a time has a lock, and none that waits is forgotten.
 */
#include "host_driver/weft_lock.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/ut.h"

enum {
	THREADS = 6,
	TURNS = 20000,
	NAPS = 200, /* of these turns the holder sleeps, so that the others do, too */
	NAP_US = 100,
};

static struct weft_lock lock;
static uint32_t turns; /* under the lock */
static uint32_t inside;

static void alone(void)
{
	struct weft_lock l = {0};

	weft_lock_take(&l);
	CU_ASSERT_EQUAL(l.state, WEFT_LOCK_HELD);
	CU_ASSERT_FALSE(weft_lock_try(&l));
	weft_lock_give(&l);
	CU_ASSERT_EQUAL(l.state, WEFT_LOCK_FREE);
	CU_ASSERT_TRUE(weft_lock_try(&l));
	weft_lock_give(&l);
	/* The state says that others may sleep: the wake finds none. */
	weft_lock_wait(&l);
	weft_lock_give(&l);
	CU_ASSERT_EQUAL(l.state, WEFT_LOCK_FREE);
}

static void *take_turns(void *arg)
{
	uintptr_t me = (uintptr_t)arg, wrong = 0;

	for (uint32_t i = 0; i < TURNS; i++) {
		if (i % 3 || !weft_lock_try(&lock))
			weft_lock_take(&lock);
		wrong += inside != 0;
		inside++;
		turns++;
		if (i % (TURNS / NAPS) == me)
			usleep(NAP_US);
		inside--;
		weft_lock_give(&lock);
	}
	return (void *)wrong;
}

static void many_threads(void)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(pthread_create(&thread[i], NULL, take_turns, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(thread[i], &wrong);
		CU_ASSERT_PTR_NULL(wrong);
	}
	CU_ASSERT_EQUAL(turns, THREADS * TURNS);
	CU_ASSERT_EQUAL(lock.state, WEFT_LOCK_FREE);
}

UT_MAIN("host_driver/weft_lock", UT(alone), UT(many_threads))
