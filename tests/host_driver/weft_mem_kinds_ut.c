/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_mem.c, weft_mr.c, weft_alloc.c: the heap, static memory, stacks and files;
 * memory that is refused, or that libweft has allocated itself.
 *
 * Where the kernel refuses userfaultfd, the tests that depend on it are reported and left out.
 */
#include "tests/host_driver/weft_mem_fix.h"

/* Whole pages at the end of the brk heap. AddressSanitizer has malloc() elsewhere. */
static uint8_t *grow_heap(size_t pages)
{
	uint8_t *at = sbrk(0);

	if ((uintptr_t)at % PAGE)
		sbrk((intptr_t)(PAGE - (uintptr_t)at % PAGE));
	at = sbrk((intptr_t)(pages * PAGE));
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(at, (void *)-1);
	return at;
}

static void shrink_heap(const uint8_t *p)
{
	sbrk(p - (const uint8_t *)sbrk(0));
}

/* Buffers of the heap, registered in any order, while it grows: one piece. */
static void heap(void)
{
	struct weft_mr *mr[3];
	uint32_t extents;
	uint8_t *p;

	setup();
	if (can_move()) {
		nic->seals = true;
		p = grow_heap(32);
		for (size_t i = 0; i < 32 * PAGE; i++)
			p[i] = (uint8_t)(i * 7 >> 3);
		mr[0] = weft_reg_mr(pd, p + 20 * PAGE, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr[0], p + 20 * PAGE, 4);
		extents = count_extents();
		mr[1] = weft_reg_mr(pd, p + 2 * PAGE, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr[1], p + 2 * PAGE, 4);
		CU_ASSERT_PTR_EQUAL(grow_heap(32), p + 32 * PAGE);
		CU_ASSERT_EQUAL(p[40 * PAGE], 0);
		mr[2] = weft_reg_mr(pd, p, 64 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr[2], p, 64);
		CU_ASSERT_EQUAL(hw(mr[2])->cmd.num_pieces, 1);
		CU_ASSERT_EQUAL(count_extents(), extents);
		CU_ASSERT_EQUAL(p[31 * PAGE], (uint8_t)(31 * PAGE * 7 >> 3));
		p[20 * PAGE] = 99;
		CU_ASSERT_EQUAL(hw(mr[0])->mapping[0], 99);
		/* It can still grow. */
		CU_ASSERT_PTR_EQUAL(grow_heap(1), p + 64 * PAGE);
		p[64 * PAGE] = 1;
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(weft_dereg_mr(mr[i]), 0);
		shrink_heap(p);
	}
	teardown();
}

/*
 * The heap shrinks under a region, which keeps its pages; new ones are zero and the process's.
 */
static void heap_shrinks(void)
{
	struct weft_mr *old, *mr;
	uint8_t *p;

	setup();
	if (can_move()) {
		nic->seals = true;
		p = grow_heap(16);
		memset(p, 0x33, 16 * PAGE);
		old = weft_reg_mr(pd, p, 16 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(old, p, 16);
		shrink_heap(p + 4 * PAGE);
		CU_ASSERT_EQUAL(hw(old)->mapping[8 * PAGE], 0x33);
		CU_ASSERT_PTR_EQUAL(grow_heap(28), p + 4 * PAGE);
		for (size_t i = 4; i < 32; i++)
			CU_ASSERT_EQUAL(p[i * PAGE], 0);
		p[8 * PAGE] = 1;
		mr = weft_reg_mr(pd, p, 32 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr, p, 32);
		/* The NIC writes to the old page, and the write stays there. */
		memset(hw(old)->mapping + 4 * PAGE, 0x44, 12 * PAGE);
		CU_ASSERT_EQUAL(p[8 * PAGE], 1);
		CU_ASSERT_EQUAL(p[9 * PAGE], 0);
		hw(old)->mapping[0] = 0x55;
		CU_ASSERT_EQUAL(p[0], 0x55);
		CU_ASSERT_EQUAL(weft_dereg_mr(old), 0);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		/* Without a region new pages replace the old ones, with none of their content. */
		shrink_heap(p);
		CU_ASSERT_PTR_EQUAL(grow_heap(32), p);
		mr = weft_reg_mr(pd, p, 32 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
		for (size_t i = 0; i < 32 * PAGE; i += 512)
			CU_ASSERT_TRUE(p[i] == 0 && hw(mr)->mapping[i] == 0);
		CU_ASSERT_EQUAL(hw(mr)->cmd.num_pieces, 1);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		shrink_heap(p);
	}
	teardown();
}

static uint8_t static_memory[3 * PAGE];

/* AddressSanitizer would put their arrays elsewhere than on the stack. */
#define ON_STACK __attribute__((no_sanitize_address))

/* Kinds of memory that are not moved, and work all the same. */
ON_STACK static void reached_through_process_vm(void)
{
	uint8_t on_stack[64];
	struct weft_mr *mr[4];
	int fd = memfd_create("file", MFD_CLOEXEC);
	uint8_t *file, *ro;

	setup();
	CU_ASSERT_EQUAL(ftruncate(fd, PAGE), 0);
	file = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr[0] = weft_reg_mr(pd, on_stack, sizeof(on_stack), WEFT_ACCESS_LOCAL_WRITE);
	mr[1] = weft_reg_mr(pd, file, PAGE, WEFT_ACCESS_LOCAL_WRITE);
	mr[2] = weft_reg_mr(pd, ro, PAGE, 0);
	mr[3] = weft_reg_mr(pd, (void *)(uintptr_t) "a constant", 11, WEFT_ACCESS_REMOTE_READ);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(mr[i]);
		CU_ASSERT_FALSE(mr[i]->mapped);
		CU_ASSERT_EQUAL(hw(mr[i])->cmd.flags, 0);
		CU_ASSERT_EQUAL(hw(mr[i])->cmd.addr, (uintptr_t)mr[i]->addr);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr[i]), 0);
	}
	mr[0] = weft_reg_mr(pd, static_memory + 1, sizeof(static_memory) - 1, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr[0]);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr[0]), 0);
	munmap(file, PAGE);
	munmap(ro, PAGE);
	close(fd);
	teardown();
}

ON_STACK static void *register_own_stack(void *arg)
{
	uint8_t buffer[3 * PAGE];
	struct weft_mr *mr = weft_reg_mr(pd, buffer, sizeof(buffer), WEFT_ACCESS_LOCAL_WRITE);

	(void)arg;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_FALSE(mr->mapped);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	return NULL;
}

static void thread_stack_stays(void)
{
	pthread_t thread;

	setup();
	pthread_create(&thread, NULL, register_own_stack, NULL);
	pthread_join(thread, NULL);
	teardown();
}

/* Pages under a region that the NIC reaches through process_vm are not removed. */
static void not_moved_under_process_vm(void)
{
	struct weft_mr *first, *second;
	uint8_t *p;

	setup();
	p = map_private(4 * PAGE);
	setenv("WEFT_MEM", "process_vm", 1);
	first = weft_reg_mr(pd, p + PAGE + 10, 10, WEFT_ACCESS_LOCAL_WRITE);
	unsetenv("WEFT_MEM");
	CU_ASSERT_TRUE_FATAL(first && !first->mapped);
	second = weft_reg_mr(pd, p, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_TRUE_FATAL(second && !second->mapped);
	CU_ASSERT_EQUAL(weft_dereg_mr(second), 0);
	CU_ASSERT_EQUAL(weft_dereg_mr(first), 0);
	if (can_move()) {
		second = weft_reg_mr(pd, p, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(second && second->mapped);
		CU_ASSERT_EQUAL(weft_dereg_mr(second), 0);
	}
	munmap(p, 4 * PAGE);
	teardown();
}

/* A NIC that refuses the memfd gets the region without it. */
static void memfd_refused(void)
{
	struct weft_mr *mr;
	uint8_t *p;

	setup();
	p = weft_alloc(context, PAGE);
	nic->refuse_memfd = true;
	mr = weft_reg_mr(pd, p, PAGE, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_TRUE_FATAL(mr && !mr->mapped);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	weft_free(p, PAGE);
	teardown();
}

static void refused(void)
{
	uint8_t *p, *ro;

	setup();
	p = map_private(3 * PAGE);
	ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + PAGE, PAGE);
	errno = 0;
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p, 3 * PAGE, WEFT_ACCESS_LOCAL_WRITE));
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p + PAGE, 1, 0));
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, ro, PAGE, WEFT_ACCESS_LOCAL_WRITE));
	CU_ASSERT_EQUAL(errno, EFAULT);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p, 0, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p, SIZE_MAX, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p, 1, WEFT_ACCESS_REMOTE_WRITE));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, p, 1, 1 << 20));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_REG_MR], 0);
	/* The last page of the address space: its end does not fit a 64-bit word. */
	CU_ASSERT_PTR_NULL(weft_reg_mr(pd, (void *)(UINTPTR_MAX - 10), 10, 0));
	CU_ASSERT_EQUAL(errno, EFAULT);
	munmap(p, PAGE);
	munmap(p + 2 * PAGE, PAGE);
	munmap(ro, PAGE);
	teardown();
}

static void alloc_is_mapped(void)
{
	struct weft_mr *mr;
	uint32_t extents = count_extents();
	uint8_t *p;

	setup();
	p = weft_alloc(context, 5 * PAGE + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL((uintptr_t)p % PAGE, 0);
	CU_ASSERT_EQUAL(p[6 * PAGE - 1], 0);
	mr = weft_reg_mr(pd, p + 7, 5 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
	hw(mr)->mapping[5 * PAGE - 1] = 1;
	CU_ASSERT_EQUAL(p[5 * PAGE + 6], 1);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	CU_ASSERT_EQUAL(count_extents(), extents + 1);
	weft_free(p, 5 * PAGE + 1);
	CU_ASSERT_EQUAL(count_extents(), extents);
	CU_ASSERT_PTR_NULL(weft_alloc(context, 0));
	CU_ASSERT_PTR_NULL(weft_alloc(context, SIZE_MAX));
	teardown();
}

/* A channel without memfds: plain memory, no descriptor ever. */
static void channel_without_memfd(void)
{
	struct weft_mr *mr;
	uint8_t *p;

	context = fake_open(&nic, WEFT_CHAN_F_NO_MEMFD);
	pd = weft_alloc_pd(context);
	p = weft_alloc(context, PAGE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	mr = weft_reg_mr(pd, p, PAGE, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_TRUE_FATAL(mr && !mr->mapped);
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], 0);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
	weft_free(p, PAGE);
	teardown();
}

UT_MAIN("host_driver/weft_mem_kinds", UT(heap), UT(heap_shrinks), UT(reached_through_process_vm),
	UT(thread_stack_stays), UT(not_moved_under_process_vm), UT(memfd_refused), UT(refused),
	UT(alloc_is_mapped), UT(channel_without_memfd))
