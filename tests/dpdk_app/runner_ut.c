/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk_app/runner.h: a core has one owner at a time, and no work stays undone between the last look
 * of an owner and the first of the next. Runners raise their priority while weftd still may.
 */
#include "dpdk_app/runner.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "dpdk_app/app.h"
#include "tests/ut.h"

enum {
	THREADS = 4,
	ROUNDS = 20000,
	CORES = 2,
	LATE_US = 50000,
};

static _Atomic(uint32_t) raised; /* threads that asked for their priority */

/* In the place of libc's: it comes late, as on a machine whose CPUs are busy. */
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	(void)thread, (void)param;
	CU_ASSERT_EQUAL(policy, SCHED_FIFO);
	usleep(LATE_US);
	atomic_fetch_add(&raised, 1);
	return EPERM;
}

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

/* After runner_create() weftd drops its rights. */
static void raised_before_the_return(void)
{
	static struct app app;
	static struct core core[CORES];
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(set), &set), 0);
	app.all_cpus = true;
	app.conf.num_nics = 1;
	app.conf.nic[0].wire = CONF_WIRE_SWITCH;
	app.num_cores = CORES;
	for (uint32_t i = 0; i < CORES; i++) {
		app.core[i] = &core[i];
		core[i].num_runners = 1;
		for (uint32_t k = 0; k < RUNNER_MAX; k++)
			core[i].runner[k].core = &core[i];
	}
	CU_ASSERT_EQUAL(runner_create(&app), 0);
	CU_ASSERT_EQUAL(atomic_load(&raised), CORES);
	for (uint32_t i = 0; i < CORES; i++) {
		CU_ASSERT_EQUAL(core[i].num_runners, 2);
		CU_ASSERT_EQUAL(core[i].runner[1].cpu, cpu);
	}
}

UT_MAIN("dpdk_app/runner", UT(one_owner), UT(looks_again), UT(nothing_is_lost),
	UT(raised_before_the_return))
