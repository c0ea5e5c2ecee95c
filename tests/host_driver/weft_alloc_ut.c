/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_alloc.c: plain, pooled and separate allocations; alignment; freed memory;
 * behaviour where the NIC gives no memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	PAGE = 4096,
	OWN = 256 << 10,
	MANY = 400,
};

static struct fake_nic *nic;
static struct weft_context *context;
static struct weft_pd *pd;

static void setup(uint32_t flags)
{
	context = fake_open(&nic, flags);
	pd = weft_alloc_pd(context);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), 0);
	fake_close(context, nic);
}

static uint32_t count_extents(void)
{
	const struct weft_link *pos;
	uint32_t n = 0;

	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		n++;
	return n;
}

/* True if the NIC has it mapped and sees a write to its last byte. */
static bool is_mapped(uint8_t *p, size_t bytes)
{
	struct weft_mr *mr = weft_reg_mr(pd, p, bytes, WEFT_ACCESS_LOCAL_WRITE);
	bool mapped;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	mapped = nic->mr[mr->lkey >> 8].mapping != NULL;
	CU_ASSERT_EQUAL(mapped, mr->mapped);
	if (mapped) {
		p[bytes - 1] = 0x77;
		CU_ASSERT_EQUAL(nic->mr[mr->lkey >> 8].mapping[bytes - 1], 0x77);
	}
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	return mapped;
}

static void two_thresholds(void)
{
	uint32_t before = count_extents(), memfds;
	uint8_t *small, *a, *b, *c;

	setup(0);
	/* Below the first threshold: no memory of the NIC. */
	small = weft_alloc_attr(context, PAGE - 1, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(small);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 0);
	/* Between them: one extent for all. */
	a = weft_alloc_attr(context, PAGE, NULL);
	b = weft_alloc_attr(context, OWN - 1, NULL);
	CU_ASSERT_TRUE_FATAL(a && b);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 1);
	CU_ASSERT_EQUAL(count_extents(), before + 1);
	CU_ASSERT_TRUE(is_mapped(a, PAGE));
	CU_ASSERT_TRUE(is_mapped(b, OWN - 1));
	/* From the second on: one extent of its own. */
	c = weft_alloc_attr(context, OWN, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 2);
	CU_ASSERT_TRUE(is_mapped(c, OWN));
	weft_free(c, OWN);
	CU_ASSERT_EQUAL(count_extents(), before + 1);
	weft_free(a, PAGE);
	memfds = count_extents();
	weft_free(b, OWN - 1);
	CU_ASSERT_EQUAL(memfds, before + 1);
	CU_ASSERT_EQUAL(count_extents(), before);
	weft_free(small, PAGE - 1);
	weft_free(NULL, 5);
	teardown();
}

static void thresholds_of_a_request(void)
{
	struct weft_alloc_attr attr = {.shared_min_bytes = 100, .own_min_bytes = 2 * PAGE};
	uint8_t *a, *b, *c;

	setup(0);
	a = weft_alloc_attr(context, 99, &attr);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 0);
	b = weft_alloc_attr(context, 100, &attr);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 1);
	c = weft_alloc_attr(context, 2 * PAGE, &attr);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 2);
	CU_ASSERT_TRUE_FATAL(a && b && c);
	CU_ASSERT_TRUE(is_mapped(b, 100));
	weft_free(a, 99);
	weft_free(b, 100);
	weft_free(c, 2 * PAGE);
	teardown();
}

static void alignment_is_honoured(void)
{
	static const size_t sizes[] = {1, 100, PAGE, 3 * PAGE + 5, OWN, OWN + 1};
	struct weft_alloc_attr attr = {0};
	uint8_t *p;

	setup(0);
	for (attr.alignment = 1; attr.alignment <= 4 << 20; attr.alignment *= 4) {
		for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t bytes = sizes[i / 2];

			attr.must_be_shared = i % 2;
			p = weft_alloc_attr(context, bytes, &attr);
			CU_ASSERT_PTR_NOT_NULL_FATAL(p);
			CU_ASSERT_EQUAL((uintptr_t)p % attr.alignment, 0);
			CU_ASSERT_TRUE(is_mapped(p, bytes) || !attr.must_be_shared);
			memset(p, 0xff, bytes);
			weft_free(p, bytes);
		}
	}
	teardown();
}

/* Freed memory is zeroed and unowned. */
static void pool_is_reused(void)
{
	uint8_t *p[MANY];
	uint32_t before = count_extents(), wrong = 0;
	struct weft_alloc_attr attr = {.must_be_shared = true, .alignment = 64};

	setup(0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			size_t bytes = 1 + (size_t)(i * 7919 % 30000);

			p[i] = weft_alloc_attr(context, bytes, &attr);
			CU_ASSERT_PTR_NOT_NULL_FATAL(p[i]);
			for (size_t k = 0; k < bytes; k++)
				wrong += p[i][k] != 0;
			memset(p[i], i & 0x7f, bytes);
			/* Every third one is freed at once: holes for the next ones. */
			if (i % 3 == 0) {
				weft_free(p[i], bytes);
				p[i] = NULL;
			}
		}
		for (int i = 0; i < MANY; i++) {
			size_t bytes = 1 + (size_t)(i * 7919 % 30000);

			for (size_t k = 0; p[i] && k < bytes; k++)
				wrong += p[i][k] != (i & 0x7f);
			weft_free(p[i], bytes);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(count_extents(), before);
	/* 400 requests, 4 MB together: a handful of extents, not one each. */
	CU_ASSERT_TRUE(nic->commands[HW_CMD_ALLOC_MEM] <= 3 * 6);
	teardown();
}

/* Without memory of the NIC: plain memory, or none when it must be shared. */
static void falls_back(void)
{
	static const size_t sizes[] = {1, PAGE - 1, PAGE, OWN};
	struct weft_alloc_attr must = {.must_be_shared = true};
	uint8_t *p;

	for (int without = 0; without < 2; without++) {
		setup(without ? WEFT_CHAN_F_NO_MEMFD : 0);
		nic->fail_op = HW_CMD_ALLOC_MEM;
		nic->fail_status = ENOSPC;
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			errno = 0;
			CU_ASSERT_PTR_NULL(weft_alloc_attr(context, sizes[i], &must));
			CU_ASSERT_EQUAL(errno, ENOMEM);
			p = weft_alloc(context, sizes[i]);
			CU_ASSERT_PTR_NOT_NULL_FATAL(p);
			CU_ASSERT_EQUAL((uintptr_t)p % PAGE, 0);
			CU_ASSERT_TRUE(p[0] == 0 && p[sizes[i] - 1] == 0);
			p[sizes[i] - 1] = 1;
			weft_free(p, sizes[i]);
		}
		nic->fail_op = 0;
		teardown();
	}
}

static void refused(void)
{
	struct weft_alloc_attr attr = {.alignment = 3};

	setup(0);
	CU_ASSERT_PTR_NULL(weft_alloc_attr(context, 10, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr.alignment = 8 << 20;
	CU_ASSERT_PTR_NULL(weft_alloc_attr(context, 10, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_alloc_attr(context, 0, NULL));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_alloc_attr(context, SIZE_MAX, NULL));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	nic->fail_op = HW_CMD_ALLOC_MEM;
	nic->fail_status = ENOSPC;
	CU_ASSERT_PTR_NULL(weft_alloc_attr(context, SIZE_MAX - 2 * PAGE, NULL));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	teardown();
}

/*
 * A child has copies: its frees and writes do not reach the parent, and new memory is not shared.
 */
static void child_of_fork(void)
{
	struct weft_alloc_attr attr = {.must_be_shared = true};
	uint8_t *p, *q;
	int status;
	pid_t pid;

	setup(0);
	p = weft_alloc_attr(context, 1000, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p[0] = 5;
	pid = fork();
	if (pid == 0) {
		struct fake_nic *own;
		struct weft_context *mine = fake_open(&own, 0);

		status = p[0] != 5;
		p[0] = 6;
		q = weft_alloc_attr(mine, 1000, &attr);
		status |= !q || own->commands[HW_CMD_ALLOC_MEM] != 1;
		weft_free(p, 1000);
		weft_free(q, 1000);
		status |= weft_alloc_attr(context, 1000, NULL) || errno != EIO;
		_exit(status);
	}
	CU_ASSERT_TRUE_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(p[0], 5);
	CU_ASSERT_TRUE(is_mapped(p, 1000));
	weft_free(p, 1000);
	teardown();
}

UT_MAIN("host_driver/weft_alloc", UT(two_thresholds), UT(thresholds_of_a_request),
	UT(alignment_is_honoured), UT(pool_is_reused), UT(falls_back), UT(refused),
	UT(child_of_fork))
