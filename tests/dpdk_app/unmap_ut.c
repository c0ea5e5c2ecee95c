/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of its own unmaps large mappings, in pieces, oldest first. The caller unmaps small ones,
 * and large ones when too many wait. munmap() is the test's, and can be held.
 */
#include <sys/mman.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "dpdk_app/client/unmap.h"
#include "tests/ut.h"

int __wrap_munmap(void *base, size_t bytes);

enum {
	MIB = 1 << 20,
	MAX_CALLS = 64,
};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_t caller;
static _Atomic(uint32_t) by_caller, by_thread;
static uintptr_t piece[MAX_CALLS];
static _Atomic(size_t) largest;

int __wrap_munmap(void *base, size_t bytes)
{
	if (bytes > largest)
		largest = bytes;
	if (pthread_equal(pthread_self(), caller)) {
		by_caller++;
		return 0;
	}
	pthread_mutex_lock(&gate);
	if (by_thread < MAX_CALLS)
		piece[by_thread] = (uintptr_t)base;
	by_thread++;
	pthread_mutex_unlock(&gate);
	return 0;
}

static void begin(void)
{
	caller = pthread_self();
	by_caller = by_thread = 0;
	largest = 0;
}

static void wait_for(uint32_t calls)
{
	while (by_thread < calls)
		usleep(1000);
}

/* The addresses are never accessed. */
static void *address(uint32_t mib)
{
	return (void *)(uintptr_t)((uint64_t)(mib + 1) * MIB);
}

static void small_ones_at_once(void)
{
	begin();
	unmap(address(0), MIB);
	CU_ASSERT_EQUAL(by_caller, 1);
	CU_ASSERT_EQUAL(by_thread, 0);
}

static void large_ones_elsewhere(void)
{
	uint32_t i;

	begin();
	pthread_mutex_lock(&gate);
	unmap(address(0), 10 * MIB);
	unmap(address(20), 10 * MIB + 4096);
	/* The thread is held at the first piece, and the caller goes on. */
	CU_ASSERT_EQUAL(by_caller, 0);
	pthread_mutex_unlock(&gate);
	wait_for(21);
	CU_ASSERT_EQUAL(by_thread, 21);
	CU_ASSERT_EQUAL(largest, UNMAP_STEP_BYTES);
	for (i = 0; i < 21; i++)
		CU_ASSERT_EQUAL(piece[i], (uintptr_t)address(i < 10 ? i : i + 10));
}

static void no_more_than_so_much_waits(void)
{
	begin();
	pthread_mutex_lock(&gate);
	unmap(address(0), UNMAP_OWED_BYTES);
	CU_ASSERT_EQUAL(by_caller, 0);
	unmap(address(0), 2 * MIB);
	CU_ASSERT_EQUAL(by_caller, 2);
	pthread_mutex_unlock(&gate);
	wait_for(UNMAP_OWED_BYTES / MIB);
}

/* A TiB without pages takes few calls, and does not make the caller unmap those behind it. */
static void sparse_ones_in_long_steps(void)
{
	const size_t tib = (size_t)1 << 40;

	begin();
	pthread_mutex_lock(&gate);
	unmap(address(0), tib);
	unmap(address(0), tib);
	CU_ASSERT_EQUAL(by_caller, 0);
	pthread_mutex_unlock(&gate);
	wait_for(2 * 1024);
	CU_ASSERT_EQUAL(by_thread, 2 * 1024);
	CU_ASSERT_EQUAL(largest, UNMAP_SPARSE_STEP_BYTES);
}

UT_MAIN("dpdk_app/unmap", UT(small_ones_at_once), UT(large_ones_elsewhere),
	UT(no_more_than_so_much_waits), UT(sparse_ones_in_long_steps))
