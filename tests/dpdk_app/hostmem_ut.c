/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of processes: which memfds are accepted, what is mapped where, and a page that
 * vanishes under a running access.
 *
 * Runs dpdk_app/hostmem.c on memfds of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/client.h"
#include "dpdk_app/hostmem.h"
#include "tests/ut.h"

static struct client owner;
static int control_fd = -1;

static void begin(void)
{
	if (control_fd >= 0)
		return;
	control_fd = eventfd(0, EFD_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(hostmem_init(control_fd), 0);
}

static int plain_memfd(off_t bytes)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, bytes));
	return fd;
}

static void what_weftd_makes_is_sealed(void)
{
	int fd;

	CU_ASSERT_EQUAL(hostmem_create("test", 0, &fd), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(hostmem_create("test", 8192, &fd), 0);
	CU_ASSERT_EQUAL(hostmem_check(fd, 0, 8192), 0);
	CU_ASSERT_EQUAL(ftruncate(fd, 4096), -1);
	CU_ASSERT_EQUAL(ftruncate(fd, 16384), -1);
	close(fd);
}

static void what_is_refused(void)
{
	int fd = plain_memfd(8192);
	int null = open("/dev/null", O_RDWR);

	CU_ASSERT_EQUAL(hostmem_check(fd, 0, 4096), -EPERM);
	CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	CU_ASSERT_EQUAL(hostmem_check(fd, 0, 4096), 0);
	CU_ASSERT_EQUAL(hostmem_check(fd, 4096, 4096), 0);
	CU_ASSERT_EQUAL(hostmem_check(fd, 4097, 4096), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(fd, 0, 8193), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(fd, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(fd, UINT64_MAX, 4096), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(fd, 1, UINT64_MAX), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(null, 0, 4096), -EINVAL);
	CU_ASSERT_EQUAL(hostmem_check(-1, 0, 4096), -EINVAL);
	close(null);
	close(fd);
}

static void maps_where_asked(void)
{
	int fd = plain_memfd(65536);
	void *a, *b;

	begin();
	CU_ASSERT_EQUAL(pwrite(fd, "weft", 4, 5003), 4);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(&owner, fd, 5003, 100, false, &a), 0);
	CU_ASSERT_EQUAL(memcmp(a, "weft", 4), 0);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(&owner, fd, 4096, 8192, true, &b), 0);
	memcpy((char *)b + 907, "WEFT", 4);
	CU_ASSERT_EQUAL(memcmp(a, "WEFT", 4), 0);
	hostmem_unmap(a);
	hostmem_unmap(a); /* not there any more: nothing happens */
	((char *)b)[8191] = 1;
	hostmem_unmap(b);
	close(fd);
}

static void many_mappings(void)
{
	enum {
		COUNT = 300
	};
	int fd = plain_memfd(4096 * COUNT);
	void *at[COUNT];

	begin();
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			CU_ASSERT_EQUAL_FATAL(hostmem_map(&owner, fd, i * 4096, 4096, true, &at[i]),
					      0);
			memcpy(at[i], &i, sizeof(i));
		}
		for (uint32_t i = 0; i < COUNT; i++) {
			CU_ASSERT_EQUAL(memcmp(at[i], &i, sizeof(i)), 0);
			hostmem_unmap(at[i]);
		}
	}
	close(fd);
}

/* Only memory that was not checked can do this; a full cgroup does the same to sealed memory. */
static void a_page_vanishes(void)
{
	int fd = plain_memfd(16384);
	uint64_t count = 0;
	volatile char *p;
	void *at;

	begin();
	atomic_store(&owner.dead, false);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(&owner, fd, 0, 16384, true, &at), 0);
	p = at;
	p[0] = 1;
	p[9000] = 2;
	CU_ASSERT_EQUAL(ftruncate(fd, 4096), 0);
	CU_ASSERT_EQUAL(p[9000], 0);
	p[9000] = 3;
	CU_ASSERT_EQUAL(p[9000], 3);
	CU_ASSERT_EQUAL(p[0], 1);
	CU_ASSERT_TRUE(atomic_load(&owner.dead));
	CU_ASSERT_EQUAL(read(control_fd, &count, sizeof(count)), sizeof(count));
	hostmem_unmap(at);
	close(fd);
}

/* By another file description of the same memory: what it was not opened for it does not give. */
static void opened_for_less(void)
{
	int fd = plain_memfd(8192), other;
	char path[40];
	void *start;

	begin();
	CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_PATH);
	CU_ASSERT_EQUAL(hostmem_check(other, 0, 8192), -EINVAL);
	close(other);
	other = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(hostmem_check(other, 0, 8192), 0);
	CU_ASSERT_EQUAL(hostmem_map(&owner, other, 0, 8192, true, &start), -EACCES);
	CU_ASSERT_EQUAL_FATAL(hostmem_map(&owner, other, 0, 8192, false, &start), 0);
	hostmem_unmap(start);
	close(other);
	close(fd);
}

UT_MAIN("dpdk_app/hostmem", UT(what_weftd_makes_is_sealed), UT(what_is_refused),
	UT(opened_for_less), UT(maps_where_asked), UT(many_mappings), UT(a_page_vanishes))
