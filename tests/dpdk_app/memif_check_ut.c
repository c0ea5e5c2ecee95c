/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of input from a memif's peer: indices, buffers, rings, memory and eventfds, at their
 * limits and one beyond.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/wire/memif_check.h"
#include "tests/ut.h"

enum {
	REGION_BYTES = 1 << 20,
};

static uint8_t *memory;
static struct memif_region region[2];

static void begin(void)
{
	if (!memory)
		memory = aligned_alloc(4096, REGION_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
	memset(memory, 0, REGION_BYTES);
	region[0] = (struct memif_region){.base = memory, .bytes = REGION_BYTES};
	region[1] = (struct memif_region){.base = memory, .bytes = 100};
}

static void indices(void)
{
	CU_ASSERT_EQUAL(memif_check_ahead(5, 5, 0), 0);
	CU_ASSERT_EQUAL(memif_check_ahead(6, 5, 0), -1);
	CU_ASSERT_EQUAL(memif_check_ahead(4, 5, 16384), -1);
	CU_ASSERT_EQUAL(memif_check_ahead(1024, 0, 1024), 1024);
	CU_ASSERT_EQUAL(memif_check_ahead(1025, 0, 1024), -1);
	/* They wrap at 16 bits. */
	CU_ASSERT_EQUAL(memif_check_ahead(3, 0xfffe, 1024), 5);
	CU_ASSERT_EQUAL(memif_check_ahead(1022, 0xfffe, 1024), 1024);
	CU_ASSERT_EQUAL(memif_check_ahead(1023, 0xfffe, 1024), -1);
	CU_ASSERT_EQUAL(memif_check_ahead(0xfffd, 0xfffe, 16384), -1);
}

static uint8_t *buffer(uint16_t r, uint32_t offset, uint32_t bytes)
{
	const struct memif_desc copy = {.region = r, .bytes = bytes, .offset = offset};

	return memif_check_buffer(region, 2, &copy);
}

static void buffers(void)
{
	begin();
	CU_ASSERT_PTR_EQUAL(buffer(0, 0, 1), memory);
	CU_ASSERT_PTR_EQUAL(buffer(0, 0, REGION_BYTES), memory);
	CU_ASSERT_PTR_NULL(buffer(0, 0, REGION_BYTES + 1));
	CU_ASSERT_PTR_EQUAL(buffer(0, REGION_BYTES - 64, 64), memory + REGION_BYTES - 64);
	CU_ASSERT_PTR_NULL(buffer(0, REGION_BYTES - 63, 64));
	CU_ASSERT_PTR_NULL(buffer(0, 0xffffffff, 1));
	/* Their sum does not fit 32 bits. */
	CU_ASSERT_PTR_NULL(buffer(0, 0xfffffff0, 0x20));
	CU_ASSERT_PTR_NULL(buffer(0, 16, 0xffffffff));
	CU_ASSERT_PTR_EQUAL(buffer(1, 36, 64), memory + 36);
	CU_ASSERT_PTR_NULL(buffer(1, 37, 64));
	CU_ASSERT_PTR_NULL(buffer(2, 0, 1));
	CU_ASSERT_PTR_NULL(buffer(0xffff, 0, 1));
}

static bool ring(uint16_t index, uint16_t r, uint64_t offset, uint8_t log2_slots)
{
	const struct memif_add_ring add = {
	    .index = index, .region = r, .offset = (uint32_t)offset, .log2_slots = log2_slots};

	memset(memory, 0, REGION_BYTES);
	if (offset + 4 <= REGION_BYTES)
		*(uint32_t *)(void *)(memory + offset / 4 * 4) = MEMIF_COOKIE;
	return !memif_check_ring(region, 2, &add);
}

static void rings(void)
{
	const uint32_t small = (uint32_t)memif_ring_bytes(4);
	struct memif_add_ring add = {.log2_slots = 4};

	begin();
	CU_ASSERT_EQUAL(memif_ring_bytes(10), 128 + 1024 * 16);
	CU_ASSERT_TRUE(ring(0, 0, 0, 10));
	CU_ASSERT_TRUE(ring(0, 0, 0, 1));
	CU_ASSERT_TRUE(ring(0, 0, 0, 14));
	CU_ASSERT_FALSE(ring(0, 0, 0, 0));
	CU_ASSERT_FALSE(ring(0, 0, 0, 15));
	CU_ASSERT_FALSE(ring(0, 0, 0, 64));
	CU_ASSERT_FALSE(ring(0, 0, 0, 255));
	CU_ASSERT_FALSE(ring(1, 0, 0, 10));
	CU_ASSERT_TRUE(ring(0, 0, 16, 10));
	CU_ASSERT_FALSE(ring(0, 0, 8, 10));
	CU_ASSERT_TRUE(ring(0, 0, REGION_BYTES - small, 4));
	CU_ASSERT_FALSE(ring(0, 0, REGION_BYTES - small + 16, 4));
	CU_ASSERT_FALSE(ring(0, 0, 0xfffffff0, 4));
	CU_ASSERT_FALSE(ring(0, 0, (0x100000000 - small), 4));
	CU_ASSERT_FALSE(ring(0, 1, 0, 4)); /* too small for it */
	CU_ASSERT_FALSE(ring(0, 2, 0, 4));
	memset(memory, 0, REGION_BYTES);
	CU_ASSERT_PTR_NOT_NULL(memif_check_ring(region, 2, &add)); /* no cookie */
	CU_ASSERT_PTR_NOT_NULL(memif_check_ring(region, 0, &add));
}

static int memory_fd(uint64_t bytes, unsigned flags, int seals)
{
	int fd = memfd_create("ut", MFD_CLOEXEC | flags);

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	CU_ASSERT_FATAL(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static bool offered(int fd, uint16_t index, uint64_t bytes, uint32_t num, uint64_t used)
{
	const struct memif_add_region add = {.index = index, .bytes = bytes};
	bool ok = !memif_check_region(fd, &add, num, used);

	if (fd >= 0)
		close(fd);
	return ok;
}

static int sealed(uint64_t bytes)
{
	return memory_fd(bytes, MFD_ALLOW_SEALING, F_SEAL_SHRINK);
}

static void regions(void)
{
	int pipe_fd[2], fd;

	CU_ASSERT_TRUE(offered(sealed(8192), 0, 8192, 0, 0));
	CU_ASSERT_TRUE(offered(sealed(8192), 0, 100, 0, 0));
	CU_ASSERT_TRUE(offered(memory_fd(8192, MFD_ALLOW_SEALING, F_SEAL_SHRINK | F_SEAL_GROW), 0,
			       8192, 0, 0));
	CU_ASSERT_TRUE(offered(sealed(8192), 15, 8192, 15, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 16, 8192, 16, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 1, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 0, 8192, 1, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 0, 8193, 0, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 0, 0, 0, 0));
	CU_ASSERT_FALSE(offered(sealed(0), 0, 1, 0, 0));
	CU_ASSERT_FALSE(offered(sealed(8192), 0, UINT64_MAX, 0, 0));
	CU_ASSERT_TRUE(offered(sealed(MEMIF_MAX_BYTES), 0, MEMIF_MAX_BYTES, 0, 0));
	CU_ASSERT_FALSE(offered(sealed(MEMIF_MAX_BYTES + 1), 0, MEMIF_MAX_BYTES + 1, 0, 0));
	CU_ASSERT_TRUE(offered(sealed(8192), 1, 8192, 1, MEMIF_MAX_BYTES - 8192));
	CU_ASSERT_FALSE(offered(sealed(8192), 1, 8192, 1, MEMIF_MAX_BYTES - 8191));
	/* Not sealed, or without the required seals. */
	CU_ASSERT_FALSE(offered(memory_fd(8192, 0, 0), 0, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(memory_fd(8192, MFD_ALLOW_SEALING, F_SEAL_GROW), 0, 8192, 0, 0));
	/* No memory at all. */
	CU_ASSERT_FATAL(!pipe(pipe_fd));
	CU_ASSERT_FALSE(offered(pipe_fd[0], 0, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(pipe_fd[1], 0, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(open("/dev/zero", O_RDWR), 0, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(open("/tmp", O_PATH), 0, 8192, 0, 0));
	CU_ASSERT_FALSE(offered(-1, 0, 8192, 0, 0));
	/* Huge pages, where the kernel has them to seal. */
	fd = memfd_create("ut", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd >= 0 && !ftruncate(fd, 2 << 20) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		CU_ASSERT_FALSE(offered(dup(fd), 0, 8192, 0, 0));
	if (fd >= 0)
		close(fd);
}

static bool signals(int fd)
{
	bool ok = memif_check_eventfd(fd);

	if (fd >= 0)
		close(fd);
	return ok;
}

static void eventfds(void)
{
	char path[32];
	int pipe_fd[2], event = eventfd(0, 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", event);
	CU_ASSERT_FATAL(!pipe(pipe_fd));
	CU_ASSERT_FALSE(signals(open(path, O_PATH)));
	CU_ASSERT_TRUE(signals(event));
	CU_ASSERT_TRUE(signals(eventfd(7, EFD_NONBLOCK | EFD_SEMAPHORE)));
	CU_ASSERT_FALSE(signals(-1));
	CU_ASSERT_FALSE(signals(pipe_fd[0]));
	CU_ASSERT_FALSE(signals(pipe_fd[1]));
	CU_ASSERT_FALSE(signals(epoll_create1(0)));
	CU_ASSERT_FALSE(signals(open("/dev/null", O_RDWR)));
	CU_ASSERT_FALSE(signals(sealed(8192)));
}

UT_MAIN("dpdk_app/memif_check", UT(indices), UT(buffers), UT(rings), UT(regions), UT(eventfds))
