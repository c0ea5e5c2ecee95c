/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_tag_mem.c, weft_tag_cost.c: which memory messages use, and when that changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/weft_tag_mem.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	USES = 5,
	MANY = 8192, /* more buffers than the table has room for */
	BIG_BYTES = 200000,
};

struct fix {
	struct fake_nic *nic;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_tag_mem *mem;
	char *user; /* private memory of MANY * 256 bytes */
};

static void setup(struct fix *f, const struct weft_tag_mem_attr *attr)
{
	memset(f, 0, sizeof(*f));
	f->context = fake_open(&f->nic, 0);
	f->pd = weft_alloc_pd(f->context);
	f->mem = weft_create_tag_mem(f->pd, attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->mem);
	f->user =
	    mmap(NULL, MANY * 256, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(f->user, MAP_FAILED);
}

static void teardown(struct fix *f)
{
	CU_ASSERT_EQUAL(weft_destroy_tag_mem(f->mem), 0);
	munmap(f->user, MANY * 256);
	CU_ASSERT_EQUAL(weft_dealloc_pd(f->pd), 0);
	fake_close(f->context, f->nic);
}

static const struct weft_tag_mem_attr fixed = {.uses = USES};

static struct weft_tag_mem_stats stats_of(const struct fix *f)
{
	struct weft_tag_mem_stats stats;

	weft_query_tag_mem(f->mem, &stats);
	return stats;
}

/* Sends once. Returns true if from the user's memory itself. */
static bool send_once(struct fix *f, size_t at, size_t bytes)
{
	struct weft_tag_buf buf;
	bool direct;

	CU_ASSERT_EQUAL_FATAL(weft_tag_get_buf(f->mem, f->user + at, bytes, false, &buf), 0);
	CU_ASSERT_EQUAL(buf.sge.bytes, bytes);
	CU_ASSERT_EQUAL(memcmp((void *)(uintptr_t)buf.sge.addr, f->user + at, bytes), 0);
	direct = buf.sge.addr == (uintptr_t)f->user + at;
	weft_tag_put_buf(f->mem, &buf, 0);
	return direct;
}

/* A buffer is copied so many times, then registered, once. */
static void registers_what_is_used_often(void)
{
	struct fix f;
	uint32_t regs;

	setup(&f, &fixed);
	strcpy(f.user, "content");
	for (int i = 0; i < USES; i++)
		CU_ASSERT_FALSE(send_once(&f, 0, 2000));
	regs = f.nic->commands[HW_CMD_REG_MR];
	for (int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(send_once(&f, 0, 2000));
	CU_ASSERT_EQUAL(f.nic->commands[HW_CMD_REG_MR], regs + 1);
	CU_ASSERT_FALSE(send_once(&f, 4096, 2000));
	CU_ASSERT_EQUAL(stats_of(&f).copied, USES + 1);
	CU_ASSERT_EQUAL(stats_of(&f).direct, 10);
	CU_ASSERT_EQUAL(stats_of(&f).entries, 2);
	CU_ASSERT_EQUAL(stats_of(&f).frequent, 1);
	CU_ASSERT_EQUAL(stats_of(&f).uses[2], USES);
	teardown(&f);
}

/* The copy of a receive returns to the user, as much as came; nothing behind it changes. */
static void receives(void)
{
	struct weft_tag_buf buf;
	struct fix f;

	setup(&f, &fixed);
	for (int i = 0; i < USES + 2; i++) {
		memset(f.user, 0x11, 1000);
		CU_ASSERT_EQUAL_FATAL(weft_tag_get_buf(f.mem, f.user, 1000, true, &buf), 0);
		CU_ASSERT_EQUAL(buf.sge.addr == (uintptr_t)f.user, i >= USES);
		memset((void *)(uintptr_t)buf.sge.addr, 0x22, 600);
		weft_tag_put_buf(f.mem, &buf, 600);
		CU_ASSERT_EQUAL(f.user[599], 0x22);
		CU_ASSERT_EQUAL(f.user[600], 0x11);
	}
	/* A peer cannot make the library copy more than there is room. */
	CU_ASSERT_EQUAL_FATAL(weft_tag_get_buf(f.mem, f.user + 4096, 128, true, &buf), 0);
	memset(f.user + 4096, 0x11, 256);
	memset((void *)(uintptr_t)buf.sge.addr, 0x22, 256);
	weft_tag_put_buf(f.mem, &buf, 256);
	CU_ASSERT_EQUAL(f.user[4096 + 127], 0x22);
	CU_ASSERT_EQUAL(f.user[4096 + 128], 0x11);
	teardown(&f);
}

/* Below 128 bytes nothing is counted; above the limit nothing is copied. */
static void limits(void)
{
	struct weft_tag_mem_attr attr = {.uses = 1, .max_copy_bytes = 65537};
	struct weft_tag_buf buf;
	struct fix f;

	setup(&f, &fixed);
	for (int i = 0; i < 3 * USES; i++)
		CU_ASSERT_FALSE(send_once(&f, 0, 127));
	CU_ASSERT_EQUAL(stats_of(&f).entries, 0);
	CU_ASSERT_TRUE(send_once(&f, 8192, 16385));
	CU_ASSERT_TRUE(send_once(&f, 8192, BIG_BYTES));
	CU_ASSERT_EQUAL(stats_of(&f).registered, 2);
	CU_ASSERT_EQUAL(weft_tag_get_buf(f.mem, f.user, 0, false, &buf), -EINVAL);
	CU_ASSERT_PTR_NULL(weft_create_tag_mem(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	teardown(&f);
}

/* Without memory for copies, messages use the user's memory. */
static void copies_run_out(void)
{
	const struct weft_tag_mem_attr attr = {.never = true, .max_bytes = 600 << 10};
	struct weft_tag_buf buf[40];
	struct fix f;
	int copies = 0;

	setup(&f, &attr);
	for (int i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL_FATAL(
		    weft_tag_get_buf(f.mem, f.user + i * 16384, 16000, false, &buf[i]), 0);
		copies += buf[i].sge.addr != (uintptr_t)f.user + (uintptr_t)i * 16384;
	}
	/* Two chunks of 256 KiB. */
	CU_ASSERT_EQUAL(copies, 32);
	CU_ASSERT_EQUAL(stats_of(&f).bytes, 512 << 10);
	CU_ASSERT_EQUAL(weft_destroy_tag_mem(f.mem), -EBUSY);
	for (int i = 0; i < 40; i++)
		weft_tag_put_buf(f.mem, &buf[i], 0);
	teardown(&f);
}

/* Copies of all lengths at the same time do not overlap. */
static void copies_are_apart(void)
{
	static const size_t bytes[] = {1, 255, 256, 257, 511, 512, 513, 4096, 4097, 16383, 16384};
	enum {
		N = sizeof(bytes) / sizeof(bytes[0])
	};
	struct weft_tag_buf buf[3 * N];
	struct fix f;

	setup(&f, &fixed);
	for (int i = 0; i < 3 * N; i++) {
		memset(f.user, i + 1, bytes[i % N]);
		CU_ASSERT_EQUAL_FATAL(weft_tag_get_buf(f.mem, f.user, bytes[i % N], false, &buf[i]),
				      0);
		if (buf[i].sge.addr == (uintptr_t)f.user)
			buf[i].sge.bytes = 0;
	}
	for (int i = 0; i < 3 * N; i++) {
		const char *p = (const char *)(uintptr_t)buf[i].sge.addr;

		for (size_t k = 0; k < buf[i].sge.bytes; k++)
			CU_ASSERT_EQUAL_FATAL(p[k], i + 1);
		buf[i].sge.bytes = (uint32_t)bytes[i % N];
		weft_tag_put_buf(f.mem, &buf[i], 0);
	}
	teardown(&f);
}

/*
 * Buffers that are used once fill the table: it stops, and goes on after a while. Those that were
 * frequent before stay so.
 */
static void stops_and_goes_on(void)
{
	struct weft_tag_mem_stats stats;
	struct fix f;
	uint32_t stop = 0;

	setup(&f, &fixed);
	for (int i = 0; i <= USES; i++)
		(void)send_once(&f, 0, 256);
	for (size_t i = 1; i < MANY; i++) {
		(void)send_once(&f, i * 256, 256);
		if (!stop && stats_of(&f).unwatched)
			stop = (uint32_t)i;
	}
	stats = stats_of(&f);
	CU_ASSERT_TRUE(stop > 100);
	CU_ASSERT_EQUAL(stats.entries, stop);
	CU_ASSERT_EQUAL(stats.unwatched, MANY - stop);
	CU_ASSERT_TRUE(send_once(&f, 0, 256));
	for (int i = 0; i <= USES; i++)
		CU_ASSERT_FALSE(send_once(&f, (size_t)stop * 256, 256));
	for (uint32_t i = 0; i < 1 << 16; i++)
		(void)send_once(&f, 256, 256);
	for (int i = 0; i < USES; i++)
		CU_ASSERT_FALSE(send_once(&f, (size_t)stop * 256, 256));
	CU_ASSERT_TRUE(send_once(&f, (size_t)stop * 256, 256));
	teardown(&f);
}

/* Most buffers are frequent: the table takes new ones in place of the rarest. */
static void grows_if_it_pays(void)
{
	const struct weft_tag_mem_attr once = {.uses = 1};
	struct fix f;

	setup(&f, &once);
	/* One region covers all of them: the fake has few. */
	CU_ASSERT_TRUE(send_once(&f, 0, MANY * 256));
	/* One in two is used twice. */
	for (size_t i = 0; i < MANY; i++) {
		(void)send_once(&f, i * 256, 256);
		if (i % 2)
			CU_ASSERT_TRUE(send_once(&f, i * 256, 256));
	}
	CU_ASSERT_EQUAL(stats_of(&f).unwatched, 0);
	CU_ASSERT_TRUE(stats_of(&f).entries <= 4096);
	CU_ASSERT_TRUE(stats_of(&f).frequent <= stats_of(&f).entries);
	teardown(&f);
}

/* Equation 5.3, and where it has no solution. */
static void threshold(void)
{
	struct weft_tag_cost cost = {
	    .reg_ns = 30000, .look_ns = 100, .copy_ns = {100, 200, 400, 800, 1600, 3200, 6400}};

	CU_ASSERT_EQUAL(weft_tag_cost_uses(&cost, 127), UINT32_MAX);
	CU_ASSERT_EQUAL(weft_tag_cost_uses(&cost, 1024), UINT32_MAX);
	CU_ASSERT_EQUAL(weft_tag_cost_uses(&cost, 2048), 301);
	CU_ASSERT_EQUAL(weft_tag_cost_uses(&cost, 3072), 151);
	CU_ASSERT_EQUAL(weft_tag_cost_uses(&cost, 65536), 5);
	CU_ASSERT_DOUBLE_EQUAL(weft_tag_cost_copy_ns(&cost, 8192), 800, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(weft_tag_cost_copy_ns(&cost, 512), 50, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(weft_tag_cost_copy_ns(&cost, 49152), 4800, 1e-6);
}

/* Measured once: the values are those of a machine. */
static void measures(void)
{
	const struct weft_tag_cost *cost;
	uint32_t regs;
	struct fix f;

	setup(&f, NULL);
	cost = weft_tag_cost(f.pd);
	regs = f.nic->commands[HW_CMD_REG_MR];
	CU_ASSERT_TRUE(cost->reg_ns > 0 && cost->look_ns > 0);
	for (int i = 0; i < WEFT_TAG_COST_SIZES; i++)
		CU_ASSERT_TRUE(cost->copy_ns[i] > 0);
	CU_ASSERT_EQUAL(weft_tag_cost(f.pd), cost);
	CU_ASSERT_EQUAL(f.nic->commands[HW_CMD_REG_MR], regs);
	CU_ASSERT_EQUAL(stats_of(&f).reg_ns, cost->reg_ns);
	teardown(&f);
}

static void never(void)
{
	const struct weft_tag_mem_attr attr = {.never = true};
	struct fix f;

	setup(&f, &attr);
	for (int i = 0; i < 1000; i++)
		CU_ASSERT_FALSE(send_once(&f, 0, 8192));
	CU_ASSERT_EQUAL(stats_of(&f).uses[1], UINT32_MAX);
	teardown(&f);
}

UT_MAIN("host_driver/weft_tag_mem", UT(registers_what_is_used_often), UT(receives), UT(limits),
	UT(copies_run_out), UT(copies_are_apart), UT(stops_and_goes_on), UT(grows_if_it_pays),
	UT(threshold), UT(measures), UT(never))
