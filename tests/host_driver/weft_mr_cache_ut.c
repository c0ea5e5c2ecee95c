/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_mr_cache.c, weft_watch.c: hits, evictions, and the end of each entry with its
 * memory, in every way that memory can be lost.
 *
 * Where the kernel refuses userfaultfd the cache keeps nothing, which is all that is tested then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"
#include "host_driver/weft_watch.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	PAGE = 4096,
	THREADS = 4,
	ROUNDS = 150,
	ACCESS = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ,
};

static struct fake_nic *nic;
static struct weft_context *context;
static struct weft_pd *pd;
static struct weft_mr_cache *cache;

static void setup(const struct weft_mr_cache_attr *attr)
{
	context = fake_open(&nic, 0);
	pd = weft_alloc_pd(context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	cache = weft_create_mr_cache(pd, attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), -EBUSY);
	CU_ASSERT_EQUAL(weft_destroy_mr_cache(cache), 0);
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), 0);
	fake_close(context, nic);
}

static uint8_t *map_private(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
	return p;
}

static struct weft_mr_cache_stats stats(void)
{
	struct weft_mr_cache_stats s;

	CU_ASSERT_EQUAL(weft_query_mr_cache(cache, &s), 0);
	return s;
}

/* True if the NIC still knows a region. */
static bool is_registered(uint32_t lkey)
{
	return nic->mr[lkey >> 8].used;
}

/* Registers and releases; returns the key. */
static uint32_t touch(void *p, size_t bytes)
{
	struct weft_mr *mr = weft_reg_mr_cached(cache, p, bytes, ACCESS);
	uint32_t lkey;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	lkey = mr->lkey;
	CU_ASSERT_TRUE(is_registered(lkey));
	weft_release_mr(mr);
	return lkey;
}

static bool can_watch(void)
{
	uint8_t *p = map_private(PAGE);
	bool yes = is_registered(touch(p, PAGE));

	if (!yes)
		printf("(userfaultfd is refused here: not tested) ");
	munmap(p, PAGE);
	return yes;
}

static void found_again(void)
{
	struct weft_mr *a, *b, *c;
	uint8_t *p;

	setup(NULL);
	if (can_watch()) {
		struct weft_mr_cache_stats before = stats();

		p = map_private(8 * PAGE);
		a = weft_reg_mr_cached(cache, p + PAGE + 7, 5 * PAGE, ACCESS);
		CU_ASSERT_TRUE_FATAL(a && a->addr == p + PAGE && a->bytes == 6 * PAGE);
		/* In use and idle; inside; with fewer rights. */
		b = weft_reg_mr_cached(cache, p + PAGE + 7, 5 * PAGE, ACCESS);
		CU_ASSERT_PTR_EQUAL(a, b);
		weft_release_mr(a);
		weft_release_mr(b);
		b = weft_reg_mr_cached(cache, p + 3 * PAGE, 1, 0);
		CU_ASSERT_PTR_EQUAL(a, b);
		CU_ASSERT_EQUAL(weft_dereg_mr(b), -EINVAL);
		CU_ASSERT_EQUAL(weft_modify_mr(b, NULL, 0), -EINVAL);
		/* Beyond it; with more rights. */
		c = weft_reg_mr_cached(cache, p + 6 * PAGE, PAGE + 1, ACCESS);
		CU_ASSERT_TRUE(c && c != a);
		weft_release_mr(c);
		c = weft_reg_mr_cached(cache, p + PAGE, 1, ACCESS | WEFT_ACCESS_REMOTE_WRITE);
		CU_ASSERT_TRUE(c && c != a);
		weft_release_mr(c);
		CU_ASSERT_EQUAL(stats().hits - before.hits, 2);
		CU_ASSERT_EQUAL(stats().misses - before.misses, 3);
		CU_ASSERT_EQUAL(stats().in_use, 1);
		CU_ASSERT_EQUAL(weft_destroy_mr_cache(cache), -EBUSY);
		weft_release_mr(b);
		munmap(p, 8 * PAGE);
		CU_ASSERT_EQUAL(stats().entries, 0);
		CU_ASSERT_EQUAL(stats().bytes, 0);
	}
	teardown();
}

static void exact_and_rights(void)
{
	struct weft_mr_cache_attr attr = {.exact = true, .access = WEFT_ACCESS_LOCAL_WRITE};
	struct weft_mr *a, *b;
	uint8_t *p;

	setup(&attr);
	p = map_private(2 * PAGE);
	a = weft_reg_mr_cached(cache, p + 100, 200, WEFT_ACCESS_REMOTE_WRITE);
	CU_ASSERT_TRUE_FATAL(a && a->addr == p + 100 && a->bytes == 200);
	CU_ASSERT_EQUAL(nic->mr[a->lkey >> 8].cmd.access,
			WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE);
	CU_ASSERT_EQUAL(nic->mr[a->lkey >> 8].cmd.iova, (uintptr_t)p + 100);
	/* The same page, but other bytes. */
	b = weft_reg_mr_cached(cache, p + 99, 2, 0);
	CU_ASSERT_TRUE(b && b != a);
	weft_release_mr(a);
	weft_release_mr(b);
	munmap(p, 2 * PAGE);
	teardown();
}

static void policies(void)
{
	struct weft_mr_cache_attr attr = {.policy = WEFT_MR_CACHE_IMMEDIATE};
	struct weft_mr *a, *b;
	uint8_t *p = map_private(8 * PAGE);
	uint32_t key[8];

	setup(&attr);
	a = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
	b = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
	CU_ASSERT_TRUE_FATAL(a && b);
	weft_release_mr(a);
	CU_ASSERT_TRUE(is_registered(b->lkey));
	key[0] = b->lkey;
	weft_release_mr(b);
	CU_ASSERT_FALSE(is_registered(key[0]));
	teardown();

	attr.policy = WEFT_MR_CACHE_OFF;
	setup(&attr);
	a = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
	b = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
	CU_ASSERT_TRUE(a && b && a != b);
	weft_release_mr(a);
	weft_release_mr(b);
	CU_ASSERT_EQUAL(stats().hits, 0);
	CU_ASSERT_EQUAL(stats().entries, 0);
	teardown();

	/* Three pages fit; the most recently used one stays longest. */
	attr = (struct weft_mr_cache_attr){.policy = WEFT_MR_CACHE_LRU, .max_bytes = 3 * PAGE};
	setup(&attr);
	if (can_watch()) {
		for (int i = 0; i < 3; i++)
			key[i] = touch(p + i * PAGE, PAGE);
		touch(p, PAGE);
		key[3] = touch(p + 3 * PAGE, PAGE);
		CU_ASSERT_TRUE(is_registered(key[0]) && is_registered(key[2]) &&
			       is_registered(key[3]));
		CU_ASSERT_EQUAL(stats().evictions, 1);
		CU_ASSERT_EQUAL(stats().bytes, 3 * PAGE);
		CU_ASSERT_EQUAL(stats().hits, 1);
		/* Too large to be kept at all. */
		touch(p, 8 * PAGE);
		CU_ASSERT_EQUAL(stats().entries, 0);
	}
	teardown();
	munmap(p, 8 * PAGE);
}

static void bounded(void)
{
	struct weft_mr_cache_attr attr = {.max_entries = 2};
	uint8_t *p = map_private(8 * PAGE);
	struct weft_mr *a, *b, *c;
	uint32_t key;

	setup(&attr);
	if (can_watch()) {
		a = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
		b = weft_reg_mr_cached(cache, p + PAGE, PAGE, ACCESS);
		/* Full of regions in use: registered, not kept. */
		c = weft_reg_mr_cached(cache, p + 2 * PAGE, PAGE, ACCESS);
		CU_ASSERT_TRUE_FATAL(a && b && c);
		key = c->lkey;
		CU_ASSERT_EQUAL(stats().entries, 3);
		weft_release_mr(c);
		CU_ASSERT_FALSE(is_registered(key));
		key = a->lkey;
		weft_release_mr(a);
		weft_release_mr(b);
		touch(p + 2 * PAGE, PAGE);
		CU_ASSERT_EQUAL(stats().evictions, 1);
		CU_ASSERT_EQUAL(stats().entries, 2);
		CU_ASSERT_EQUAL(weft_flush_mr_cache(cache), 0);
		CU_ASSERT_EQUAL(stats().entries, 0);
		CU_ASSERT_EQUAL(stats().evictions, 1);
		(void)key;
	}
	munmap(p, 8 * PAGE);
	teardown();
}

/* No room at the NIC: idle regions are evicted, and then it is an error. */
static void displaced(void)
{
	uint8_t *p = map_private(4 * PAGE);

	setup(NULL);
	if (can_watch()) {
		uint64_t before = stats().evictions;

		touch(p, PAGE);
		touch(p + PAGE, PAGE);
		nic->fail_op = HW_CMD_REG_MR;
		nic->fail_status = ENOSPC;
		CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p + 2 * PAGE, PAGE, ACCESS));
		CU_ASSERT_EQUAL(errno, ENOSPC);
		CU_ASSERT_EQUAL(stats().evictions - before, 2);
		CU_ASSERT_EQUAL(stats().entries, 0);
		nic->fail_op = 0;
	}
	munmap(p, 4 * PAGE);
	teardown();
}

/* ---- memory that is lost ---- */

static void by_munmap(uint8_t *p, size_t bytes)
{
	munmap(p, bytes);
}

static void by_part_of_it(uint8_t *p, size_t bytes)
{
	CU_ASSERT_TRUE(bytes > 10 * PAGE);
	CU_ASSERT_EQUAL(munmap(p + 9 * PAGE, PAGE), 0);
}

static void by_mremap(uint8_t *p, size_t bytes)
{
	void *q = mremap(p, bytes, 4 * bytes, MREMAP_MAYMOVE);

	CU_ASSERT_TRUE(q != p && q != MAP_FAILED);
}

static void by_mapping_over(uint8_t *p, size_t bytes)
{
	uint8_t *q =
	    mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	CU_ASSERT_PTR_EQUAL(p, q);
}

static void by_moving_over(uint8_t *p, size_t bytes)
{
	uint8_t *q = map_private(bytes);

	CU_ASSERT_PTR_EQUAL(mremap(q, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p), p);
}

static void by_discarding(uint8_t *p, size_t bytes)
{
	CU_ASSERT_EQUAL(madvise(p, bytes, MADV_DONTNEED), 0);
}

static void (*const ways[])(uint8_t *p, size_t bytes) = {
    by_munmap, by_part_of_it, by_mremap, by_mapping_over, by_moving_over, by_discarding,
};

/* kind 0: moved onto shared pages; 1: left where it is; 2: of weft_alloc(). */
static uint8_t *memory(int kind, size_t bytes)
{
	uint8_t *p = kind == 2 ? weft_alloc(context, bytes) : map_private(bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	memset(p, 0x11, bytes);
	return p;
}

/* A guard page follows, so that mremap() cannot grow it in place. */
static void guard(uint8_t *p, size_t bytes)
{
	void *at = mmap(p + bytes, PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CU_ASSERT_TRUE(at == p + bytes || errno == EEXIST);
}

/* Must end, or the test is ended. */
static void wait_for_invalidations(uint64_t count)
{
	while (stats().invalidations < count)
		usleep(1000);
}

/*
 * Idle regions are withdrawn when the call returns; so are those in use when their pages are
 * unmapped.
 */
static void gone_when_it_returns(void)
{
	for (int kind = 0; kind < 3; kind++) {
		for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
			struct weft_mr_cache_stats before;
			const size_t bytes = 300 << 10;
			struct weft_mr *in_use;
			uint32_t idle, used;
			uint8_t *p, *q;

			setup(NULL);
			if (!can_watch()) {
				teardown();
				return;
			}
			before = stats();
			if (kind == 1)
				setenv("WEFT_MEM", "process_vm", 1);
			p = memory(kind, bytes);
			q = memory(kind, bytes);
			guard(p, bytes);
			guard(q, bytes);
			idle = touch(p, bytes);
			in_use = weft_reg_mr_cached(cache, q, bytes, ACCESS);
			CU_ASSERT_PTR_NOT_NULL_FATAL(in_use);
			CU_ASSERT_EQUAL(in_use->mapped, kind != 1);
			used = in_use->lkey;
			CU_ASSERT_TRUE(is_registered(idle));

			ways[way](p, bytes);
			CU_ASSERT_FALSE(is_registered(idle));
			CU_ASSERT_TRUE(is_registered(used));
			CU_ASSERT_EQUAL(stats().invalidations - before.invalidations, 1);
			/*
			 * In use: a region with discarded pages ends as soon as the loss is known.
			 */
			ways[way](q, bytes);
			if (ways[way] == by_discarding)
				wait_for_invalidations(before.invalidations + 2);
			CU_ASSERT_FALSE(is_registered(used));
			weft_release_mr(in_use);
			unsetenv("WEFT_MEM");
			CU_ASSERT_EQUAL(stats().entries, 0);
			teardown();
		}
	}
}

static void heap_shrinks(void)
{
	uint8_t *p;
	uint32_t key;

	setup(NULL);
	if (can_watch()) {
		p = sbrk(16 * PAGE);
		CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, (void *)-1);
		p = (uint8_t *)(((uintptr_t)p + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
		memset(p, 1, 8 * PAGE);
		key = touch(p, 8 * PAGE);
		CU_ASSERT_TRUE(is_registered(key));
		CU_ASSERT_PTR_NOT_EQUAL(sbrk(-16 * PAGE), (void *)-1);
		CU_ASSERT_FALSE(is_registered(key));
	}
	teardown();
}

/* Large blocks of malloc() are mapped one by one: free() is munmap(). */
static void freed(void)
{
	uint8_t *p;
	uint32_t key;

	setup(NULL);
	if (can_watch()) {
		p = aligned_alloc(PAGE, 64 << 20);
		CU_ASSERT_PTR_NOT_NULL_FATAL(p);
		key = touch(p, 64 << 20);
		CU_ASSERT_TRUE(is_registered(key));
		free(p);
		p = malloc(64 << 20);
		/* AddressSanitizer keeps freed memory for a while: then it is still mapped. */
		CU_ASSERT_TRUE(!is_registered(key) || stats().entries == 1);
		free(p);
	}
	teardown();
}

static void child_of_fork(void)
{
	struct weft_mr_cache_stats s;
	uint8_t *p = map_private(4 * PAGE);
	uint32_t key;
	int status;
	pid_t pid;

	setup(NULL);
	if (can_watch()) {
		p[0] = 1;
		key = touch(p, 4 * PAGE);
		pid = fork();
		if (pid == 0) {
			status = weft_reg_mr_cached(cache, p, PAGE, ACCESS) != NULL || errno != EIO;
			status |= weft_flush_mr_cache(cache) != -EIO;
			status |= weft_query_mr_cache(cache, &s) != -EIO;
			status |= weft_destroy_mr_cache(cache) != -EIO;
			/*
			 * The parent's losses do not concern the child; then it has a cache of its
			 * own.
			 */
			p[0] = 2;
			by_munmap(p, 2 * PAGE);
			setup(NULL);
			key = touch(p + 2 * PAGE, PAGE);
			status |= !is_registered(key);
			by_munmap(p + 2 * PAGE, PAGE);
			status |= is_registered(key);
			teardown();
			_exit(status);
		}
		CU_ASSERT_TRUE_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
		CU_ASSERT_EQUAL(status, 0);
		CU_ASSERT_TRUE(is_registered(key));
		CU_ASSERT_EQUAL(nic->mr[key >> 8].mapping[0], 1);
		munmap(p, 4 * PAGE);
		CU_ASSERT_FALSE(is_registered(key));
	}
	teardown();
}

/* Each thread maps where another has just unmapped: it must never get that thread's region. */
static void *map_and_unmap(void *arg)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		size_t bytes = (1 + i % 3) * PAGE;
		uint8_t *p =
		    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		const struct fake_mr *hw;
		struct weft_mr *mr;

		for (int again = 0; again < 2; again++) {
			uint32_t stamp = i << 8 | (uint32_t)(uintptr_t)arg << 1 | (uint32_t)again;

			memcpy(p, &stamp, sizeof(stamp));
			mr = weft_reg_mr_cached(cache, p, bytes, ACCESS);
			if (!mr)
				return (void *)1;
			hw = &nic->mr[mr->lkey >> 8];
			wrong += !hw->used || (uintptr_t)p < hw->cmd.addr ||
				 (uintptr_t)p + bytes > hw->cmd.addr + hw->cmd.bytes;
			wrong += mr->mapped && memcmp(hw->mapping + ((uintptr_t)p - hw->cmd.addr),
						      &stamp, sizeof(stamp)) != 0;
			weft_release_mr(mr);
		}
		munmap(p, bytes);
	}
	return (void *)(uintptr_t)wrong;
}

static void addresses_are_reused(void)
{
	pthread_t thread[THREADS];
	void *wrong;

	setup(NULL);
	if (can_watch()) {
		for (uintptr_t i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, map_and_unmap, (void *)i);
		for (int i = 0; i < THREADS; i++) {
			pthread_join(thread[i], &wrong);
			CU_ASSERT_PTR_NULL(wrong);
		}
		CU_ASSERT_EQUAL(stats().entries, 0);
		CU_ASSERT_TRUE(stats().hits > 0 && stats().invalidations > 0);
	}
	teardown();
}

/* Without memfds, as in the simulator: works, keeps nothing, has no thread. */
static void channel_without_memfd(void)
{
	struct weft_mr *mr;
	uint8_t *p = map_private(PAGE);

	context = fake_open(&nic, WEFT_CHAN_F_NO_MEMFD);
	pd = weft_alloc_pd(context);
	cache = weft_create_mr_cache(pd, NULL);
	CU_ASSERT_TRUE_FATAL(pd && cache);
	mr = weft_reg_mr_cached(cache, p, PAGE, ACCESS);
	CU_ASSERT_TRUE_FATAL(mr && is_registered(mr->lkey));
	weft_release_mr(mr);
	CU_ASSERT_EQUAL(stats().unwatched, 1);
	CU_ASSERT_EQUAL(stats().entries, 0);
	munmap(p, PAGE);
	teardown();
}

static void refused(void)
{
	struct weft_mr_cache_attr attr = {.policy = (enum weft_mr_cache_policy)4};
	uint8_t *p = map_private(PAGE);

	setup(NULL);
	CU_ASSERT_PTR_NULL(weft_create_mr_cache(pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr = (struct weft_mr_cache_attr){.max_entries = (1 << 20) + 1};
	CU_ASSERT_PTR_NULL(weft_create_mr_cache(pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p, 0, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p, SIZE_MAX, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, (void *)(UINTPTR_MAX - 10), 5, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p, 1, WEFT_ACCESS_MW_BIND));
	CU_ASSERT_EQUAL(errno, EINVAL);
	munmap(p, PAGE);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p, 1, 0));
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_EQUAL(stats().entries, 0);
	teardown();
}

/* The NIC disappears; the context is closed with everything in use. */
static void left_behind(void)
{
	uint8_t *p = map_private(4 * PAGE);
	struct weft_mr *mr;

	setup(NULL);
	touch(p, PAGE);
	mr = weft_reg_mr_cached(cache, p + PAGE, PAGE, ACCESS);
	CU_ASSERT_PTR_NOT_NULL(mr);
	fake_close(context, nic);
	munmap(p, 4 * PAGE);

	p = map_private(4 * PAGE);
	setup(NULL);
	touch(p, PAGE);
	fake_die(nic);
	munmap(p, 4 * PAGE);
	p = map_private(PAGE);
	CU_ASSERT_PTR_NULL(weft_reg_mr_cached(cache, p, PAGE, ACCESS));
	CU_ASSERT_EQUAL(errno, EIO);
	munmap(p, PAGE);
	CU_ASSERT_EQUAL(weft_destroy_mr_cache(cache), 0);
	fake_close(context, nic);
}

UT_MAIN("host_driver/weft_mr_cache", UT(found_again), UT(exact_and_rights), UT(policies),
	UT(bounded), UT(displaced), UT(gone_when_it_returns), UT(heap_shrinks), UT(freed),
	UT(child_of_fork), UT(addresses_are_reused), UT(channel_without_memfd), UT(refused),
	UT(left_behind))
