/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of memory: a device that is faked, private mappings, extents.
 */
#ifndef WEFT_TESTS_HOST_DRIVER_WEFT_MEM_FIX_H
#define WEFT_TESTS_HOST_DRIVER_WEFT_MEM_FIX_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	PAGE = 4096,
	MOVE_BYTES = 12 << 20, /* several chunks */
};

static struct fake_nic *nic;
static struct weft_context *context;
static struct weft_pd *pd;

static inline void setup(void)
{
	/* Memfds of another test's NIC are useless to this one. */
	weft_global_lock();
	weft_mem_collect();
	weft_global_unlock();
	context = fake_open(&nic, 0);
	pd = weft_alloc_pd(context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
}

static inline void teardown(void)
{
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), 0);
	fake_close(context, nic);
}

static inline uint8_t *map_private(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
	return p;
}

static inline const struct fake_mr *hw(const struct weft_mr *mr)
{
	return &nic->mr[mr->lkey >> 8];
}

/* True if this kernel allows us to move pages. */
static inline bool can_move(void)
{
	uint8_t *p = map_private(PAGE);
	struct weft_mr *mr = weft_reg_mr(pd, p, PAGE, WEFT_ACCESS_LOCAL_WRITE);
	bool yes;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	yes = mr->mapped;
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	munmap(p, PAGE);
	if (!yes)
		printf("(userfaultfd is refused here: not tested) ");
	return yes;
}

/* The whole region is mapped and has the memory's content. */
static inline void is_mapped(const struct weft_mr *mr, uint8_t *p, size_t pages)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_TRUE_FATAL(mr->mapped);
	CU_ASSERT_EQUAL(memcmp(hw(mr)->mapping, p, pages * PAGE), 0);
	p[pages * PAGE - 1]++;
	CU_ASSERT_EQUAL(hw(mr)->mapping[pages * PAGE - 1], p[pages * PAGE - 1]);
}

static inline uint32_t count_extents(void)
{
	const struct weft_link *pos;
	uint32_t n = 0;

	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		n++;
	return n;
}

#endif /* WEFT_TESTS_HOST_DRIVER_WEFT_MEM_FIX_H */
