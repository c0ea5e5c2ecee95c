/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory shared with processes: operations that a seal forbids, second mappings of sealed memory,
 * pages that must exist, and a page that vanishes under a running access.
 *
 * Runs dpdk_app/client/hostmem.c on memfds of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/client/hostmem.h"
#include "tests/ut.h"

enum {
	PAGE = HOSTMEM_PAGE_BYTES,
};

static int control_fd = -1;

static void begin(void)
{
	if (control_fd >= 0)
		return;
	control_fd = eventfd(0, EFD_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(hostmem_init(control_fd), 0);
}

static int memfd(uint64_t bytes)
{
	int fd = -1;

	begin();
	CU_ASSERT_EQUAL_FATAL(hostmem_create("test", bytes, &fd), 0);
	return fd;
}

static void its_size_is_for_good(void)
{
	int fd = memfd(2 * PAGE);
	int none;

	CU_ASSERT_EQUAL(hostmem_create("test", 0, &none), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_create("test", UINT64_MAX, &none), -EINVAL);
	CU_ASSERT_EQUAL(ftruncate(fd, PAGE), -1);
	CU_ASSERT_EQUAL(ftruncate(fd, 4 * PAGE), -1);
	close(fd);
}

/* No operation of a process on a sealed memfd removes a page from under a core. */
static void sealed_memory_cannot_be_punched(void)
{
	int fd = memfd(4 * PAGE);
	struct hostmem *map;
	uint8_t *theirs = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CU_ASSERT_FATAL(theirs != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, 4 * PAGE, &map), 0);
	theirs[PAGE] = 7;
	CU_ASSERT_EQUAL(hostmem_seal(fd), 0);
	CU_ASSERT_EQUAL(hostmem_seal(fd), 0); /* once more */
	CU_ASSERT_EQUAL(
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4 * (off_t)PAGE), -1);
	CU_ASSERT_EQUAL(errno, EPERM);
	CU_ASSERT_EQUAL(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, PAGE), -1);
	CU_ASSERT_EQUAL(madvise(theirs, 4 * PAGE, MADV_REMOVE), -1);
	CU_ASSERT_EQUAL(ftruncate(fd, 0), -1);
	CU_ASSERT_EQUAL(write(fd, "x", 1), -1);
	CU_ASSERT_PTR_EQUAL(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
			    MAP_FAILED);
	/* Existing mappings still work. */
	theirs[0] = 5;
	CU_ASSERT_EQUAL(hostmem_start(map)[0], 5);
	CU_ASSERT_EQUAL(hostmem_start(map)[PAGE], 7);
	hostmem_start(map)[3 * PAGE] = 9;
	CU_ASSERT_EQUAL(theirs[3 * PAGE], 9);
	hostmem_unmap(map);
	munmap(theirs, 4 * PAGE);
	close(fd);
}

static void a_process_that_seals_first(void)
{
	int fd = memfd(PAGE);

	CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
	CU_ASSERT_EQUAL(hostmem_seal(fd), -EPERM);
	close(fd);
}

/* Pieces of two sealed memfds, one of them beyond its mapped part, become one range. */
static void pieces_are_put_together(void)
{
	int fd[2] = {memfd(64 * PAGE), memfd(4 * PAGE)};
	struct hostmem *map[2], *whole;
	uint32_t before = hostmem_count();
	uint8_t *theirs = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
	uint8_t *p;

	CU_ASSERT_FATAL(theirs != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd[0], 2 * PAGE, &map[0]), 0);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd[1], 4 * PAGE, &map[1]), 0);
	CU_ASSERT_EQUAL(hostmem_seal(fd[0]) | hostmem_seal(fd[1]), 0);
	CU_ASSERT_EQUAL_FATAL(hostmem_reserve(6 * PAGE, 3, &whole), 0);
	CU_ASSERT_EQUAL(hostmem_count(), before + 5);
	CU_ASSERT_EQUAL(hostmem_place(whole, 0, map[0], PAGE, 2 * PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_place(whole, 2 * PAGE, map[0], 40 * PAGE, PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_place(whole, 3 * PAGE, map[1], PAGE, 3 * PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_place(whole, 3 * PAGE, map[1], 0, 4 * PAGE), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_place(whole, 100, map[1], 0, PAGE), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_place(whole, 0, map[1], 100, PAGE), -EINVAL);
	p = hostmem_start(whole);
	p[0] = 1;
	p[2 * PAGE - 1] = 2;
	p[2 * PAGE] = 3;
	p[3 * PAGE] = 4;
	CU_ASSERT_EQUAL(theirs[PAGE], 1);
	CU_ASSERT_EQUAL(theirs[3 * PAGE - 1], 2);
	CU_ASSERT_EQUAL(theirs[40 * PAGE], 3);
	CU_ASSERT_EQUAL(hostmem_start(map[1])[PAGE], 4);
	hostmem_unmap(map[0]);
	hostmem_unmap(map[1]);
	p[1] = 5; /* a copy does not need its original */
	CU_ASSERT_EQUAL(theirs[PAGE + 1], 5);
	hostmem_unmap(whole);
	CU_ASSERT_EQUAL(hostmem_count(), before);
	munmap(theirs, 64 * PAGE);
	close(fd[0]);
	close(fd[1]);
}

/* weftd allocates no page of a process. */
static void pages_must_be_there(void)
{
	int fd = memfd(600 * PAGE);
	struct hostmem *map;

	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, 600 * PAGE, &map), 0);
	for (uint32_t i = 0; i < 600; i++)
		CU_ASSERT_EQUAL(pwrite(fd, "x", 1, i * (off_t)PAGE), 1);
	CU_ASSERT_EQUAL(hostmem_populate(hostmem_start(map), 600 * PAGE), 0);
	CU_ASSERT_EQUAL(
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 300 * (off_t)PAGE, PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_populate(hostmem_start(map), 300 * PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_populate(hostmem_start(map) + 301 * PAGE, 299 * PAGE), 0);
	CU_ASSERT_EQUAL(hostmem_populate(hostmem_start(map), 600 * PAGE), -ENOMEM);
	/* And none was allocated. */
	CU_ASSERT_EQUAL(lseek(fd, 0, SEEK_HOLE), 300 * (off_t)PAGE);
	hostmem_unmap(map);
	close(fd);
}

static void many_mappings(void)
{
	enum {
		COUNT = 300
	};
	struct hostmem *map[COUNT];
	int fd = memfd(PAGE);

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, PAGE, &map[i]), 0);
			memcpy(hostmem_start(map[i]), &i, sizeof(i));
			CU_ASSERT_EQUAL(memcmp(hostmem_start(map[0]), &i, sizeof(i)), 0);
		}
		for (uint32_t i = 0; i < COUNT; i++)
			hostmem_unmap(map[i]);
	}
	close(fd);
}

/* vm.max_map_count is not used up, or weftd itself could not go on. */
static void mappings_have_a_limit(void)
{
	struct hostmem **map, *more;
	uint32_t max, n = 0;

	begin();
	max = hostmem_max();
	map = calloc(max + 1, sizeof(struct hostmem *));
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_EQUAL(hostmem_reserve(PAGE, max + 1, &more), -ENOSPC);
	while (n <= max && hostmem_reserve(PAGE, 16, &map[n]) == 0)
		n++;
	CU_ASSERT_EQUAL(n, max / 16);
	while (n)
		hostmem_unmap(map[--n]);
	CU_ASSERT_EQUAL(hostmem_count(), 0);
	free(map);
}

/* Only unsealed memory can do this; a full cgroup does the same to sealed memory. */
static void a_page_vanishes(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct hostmem *map, *other;
	uint64_t count = 0;
	volatile uint8_t *p;

	begin();
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, 4 * PAGE, &map), 0);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, 4 * PAGE, &other), 0);
	p = hostmem_start(map);
	p[0] = 1;
	p[9000] = 2;
	CU_ASSERT_EQUAL(ftruncate(fd, PAGE), 0);
	CU_ASSERT_FALSE(hostmem_any_failed());
	CU_ASSERT_EQUAL(p[9000], 0);
	p[9000] = 3;
	CU_ASSERT_EQUAL(p[9000], 3);
	CU_ASSERT_EQUAL(p[0], 1);
	CU_ASSERT_TRUE(hostmem_any_failed());
	CU_ASSERT_FALSE(hostmem_any_failed());
	CU_ASSERT_TRUE(hostmem_failed(map));
	CU_ASSERT_FALSE(hostmem_failed(other));
	CU_ASSERT_EQUAL(read(control_fd, &count, sizeof(count)), sizeof(count));
	hostmem_unmap(map);
	hostmem_unmap(other);
	close(fd);
}

/* Also where the kernel has no replacement page: strict accounting, here RLIMIT_DATA. */
static void and_there_is_no_other(void)
{
	enum {
		PAGES = 300 /* more than there are spare pages */
	};
	int fd = memfd_create("test", MFD_CLOEXEC), status = -1;
	struct hostmem *map;
	volatile uint8_t *p;
	pid_t child;

	begin();
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, PAGES * PAGE));
	CU_ASSERT_EQUAL_FATAL(hostmem_map(fd, PAGES * PAGE, &map), 0);
	p = hostmem_start(map);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		const struct rlimit none = {0};
		uint32_t wrong = setrlimit(RLIMIT_DATA, &none) || ftruncate(fd, 0);

		const void *other =
		    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		wrong += other != MAP_FAILED;
		for (uint32_t i = 0; i < PAGES; i++) {
			wrong += p[i * PAGE] != 0;
			p[i * PAGE] = 1;
			wrong += p[i * PAGE] != 1;
		}
		_exit(wrong ? 1 : 0);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	hostmem_unmap(map);
	close(fd);
}

UT_MAIN("dpdk_app/hostmem", UT(its_size_is_for_good), UT(sealed_memory_cannot_be_punched),
	UT(a_process_that_seals_first), UT(pieces_are_put_together), UT(pages_must_be_there),
	UT(many_mappings), UT(mappings_have_a_limit), UT(a_page_vanishes),
	UT(and_there_is_no_other))
