/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk_app/runner.h: a core has one owner at a time, and no work stays undone between the last look
 * of an owner and the first of the next.
 */
#include "dpdk_app/runner.h"

#include <pthread.h>
#include <sched.h>

#include "tests/ut.h"

enum {
	THREADS = 4,
	ROUNDS = 20000,
};

static _Atomic(uint32_t) owner;
static _Atomic(uint32_t) asked, done; /* work of all threads */
static _Atomic(uint32_t) inside;      /* owners at this moment */
static _Atomic(uint32_t) twice;       /* times that there were two */

static void one_owner(void)
{
	atomic_store(&owner, RUNNER_NONE);
	CU_ASSERT_TRUE(runner_take(&owner, 1));
	CU_ASSERT_EQUAL(atomic_load(&owner), 2);
	CU_ASSERT_TRUE(runner_give(&owner, 1));
	CU_ASSERT_EQUAL(atomic_load(&owner), RUNNER_NONE);
	CU_ASSERT_TRUE(runner_take(&owner, RUNNER_POLLER));
	CU_ASSERT_TRUE(runner_give(&owner, RUNNER_POLLER));
}

/* The owner keeps the core once for all that came while it had it. */
static void looks_again(void)
{
	atomic_store(&owner, RUNNER_NONE);
	CU_ASSERT_TRUE(runner_take(&owner, 3));
	CU_ASSERT_FALSE(runner_take(&owner, RUNNER_POLLER));
	CU_ASSERT_FALSE(runner_take(&owner, 7));
	CU_ASSERT_FALSE(runner_give(&owner, 3));
	CU_ASSERT_TRUE(runner_give(&owner, 3));
	CU_ASSERT_TRUE(runner_take(&owner, RUNNER_POLLER));
	CU_ASSERT_FALSE(runner_take(&owner, 1));
	CU_ASSERT_FALSE(runner_give(&owner, RUNNER_POLLER));
	CU_ASSERT_TRUE(runner_give(&owner, RUNNER_POLLER));
}

static void run(uint32_t number)
{
	do {
		twice += atomic_fetch_add(&inside, 1) != 0;
		atomic_store(&done, atomic_load(&asked));
		atomic_fetch_sub(&inside, 1);
	} while (!runner_give(&owner, number));
}

/* Asks for work and takes the core, as a runner does whom a process wakes. */
static void *asks(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t mine = atomic_fetch_add(&asked, 1) + 1;

		if (runner_take(&owner, number))
			run(number);
		/* No later request wakes an owner for it. */
		while ((int32_t)(atomic_load(&done) - mine) < 0)
			sched_yield();
	}
	return NULL;
}

static void nothing_is_lost(void)
{
	pthread_t thread[THREADS];

	atomic_store(&owner, RUNNER_NONE);
	for (uintptr_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, asks, (void *)i), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CU_ASSERT_EQUAL(atomic_load(&done), THREADS * ROUNDS);
	CU_ASSERT_EQUAL(atomic_load(&twice), 0);
	CU_ASSERT_EQUAL(atomic_load(&owner), RUNNER_NONE);
}

UT_MAIN("dpdk_app/runner", UT(one_owner), UT(looks_again), UT(nothing_is_lost))
