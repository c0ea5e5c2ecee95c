/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_attach.c, weft_mem.c, weft_move.c, weft_mr.c: memory that becomes shared moves
 * without a lost byte, and extents are reused and collected.
 *
 * Where the kernel refuses userfaultfd, the tests that depend on it are reported and left out.
 */
#include "tests/host_driver/weft_mem_fix.h"

static void moved_in_place(void)
{
	struct weft_mr *mr;
	uint8_t *p;

	setup();
	if (can_move()) {
		p = map_private(16 * PAGE);
		memset(p, 0x5a, 3 * PAGE); /* the others were never written */
		mr = weft_reg_mr(pd, p + 100, 10 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
		CU_ASSERT_TRUE_FATAL(mr->mapped);
		CU_ASSERT_EQUAL(hw(mr)->mapping[0], 0x5a);
		CU_ASSERT_EQUAL(hw(mr)->mapping[3 * PAGE - 101], 0x5a);
		CU_ASSERT_EQUAL(hw(mr)->mapping[3 * PAGE - 100], 0);
		/* Both ways, at both ends. */
		p[100] = 1;
		p[100 + 10 * PAGE - 1] = 2;
		CU_ASSERT_EQUAL(hw(mr)->mapping[0], 1);
		CU_ASSERT_EQUAL(hw(mr)->mapping[10 * PAGE - 1], 2);
		hw(mr)->mapping[5 * PAGE] = 3;
		CU_ASSERT_EQUAL(p[100 + 5 * PAGE], 3);
		CU_ASSERT_EQUAL(p[99], 0x5a);
		p[15 * PAGE] = 4; /* not moved, still there */
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		CU_ASSERT_EQUAL(p[100 + 5 * PAGE], 3);
		munmap(p, 16 * PAGE);
	}
	teardown();
}

/*
 * A buffer that is registered longer and longer stays one piece and keeps its content, although no
 * part of its memory can be mapped again.
 */
static void grows(void)
{
	struct weft_mr *mr[3], *again;
	uint8_t *p;

	setup();
	if (can_move()) {
		nic->seals = true;
		p = map_private(64 * PAGE);
		for (size_t i = 0; i < 40 * PAGE; i++)
			p[i] = (uint8_t)(i * 7 >> 3);
		mr[0] = weft_reg_mr(pd, p + 10, 2 * PAGE - 10, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_PTR_NOT_NULL_FATAL(mr[0]);
		CU_ASSERT_TRUE_FATAL(mr[0]->mapped);
		mr[1] = weft_reg_mr(pd, p, 5 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr[1], p, 5);
		mr[2] = weft_reg_mr(pd, p, 64 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(mr[2], p, 64);
		/* the shorter ones still see the same memory */
		p[100] = 77;
		CU_ASSERT_EQUAL(hw(mr[0])->mapping[90], 77);
		CU_ASSERT_EQUAL(hw(mr[1])->mapping[100], 77);
		CU_ASSERT_EQUAL(p[39 * PAGE], (uint8_t)(39 * PAGE * 7 >> 3));
		/* new memory behind the start, while the NIC has the old one: at another place */
		CU_ASSERT_PTR_EQUAL(mmap(p + 2 * PAGE, 62 * PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				    p + 2 * PAGE);
		again = weft_reg_mr(pd, p, 64 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(again, p, 64);
		CU_ASSERT_EQUAL(p[10 * PAGE], 0);
		p[10 * PAGE] = 3;
		CU_ASSERT_NOT_EQUAL(hw(mr[2])->mapping[10 * PAGE], 3);
		CU_ASSERT_EQUAL(hw(again)->cmd.num_pieces, 2);
		CU_ASSERT_EQUAL(weft_dereg_mr(again), 0);
		CU_ASSERT_PTR_EQUAL(mmap(p + 2 * PAGE, 62 * PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				    p + 2 * PAGE);
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(weft_dereg_mr(mr[i]), 0);
		/* without the old one, in its place; with none of the old content */
		again = weft_reg_mr(pd, p, 64 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		is_mapped(again, p, 64);
		CU_ASSERT_EQUAL(p[10 * PAGE], 0);
		CU_ASSERT_EQUAL(p[100], 77);
		CU_ASSERT_EQUAL(weft_dereg_mr(again), 0);
		munmap(p, 64 * PAGE);
	}
	teardown();
}

struct writer {
	uint64_t *words;
	size_t count;
	uint64_t rounds;
	int stop;
};

/* Increments every word in turn: a lost store leaves a word behind. */
static void *keep_writing(void *arg)
{
	struct writer *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		for (size_t i = 0; i < w->count; i++)
			__atomic_fetch_add(&w->words[i * 64], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&w->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Registers memory while a thread writes to it. */
static void move_under_a_writer(uint8_t *p)
{
	struct writer w = {.words = (uint64_t *)(void *)p, .count = MOVE_BYTES / 512};
	uint64_t before, wrong = 0;
	struct weft_mr *mr;
	pthread_t thread;

	pthread_create(&thread, NULL, keep_writing, &w);
	while (__atomic_load_n(&w.rounds, __ATOMIC_RELAXED) < 1)
		sched_yield();
	mr = weft_reg_mr(pd, p, MOVE_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	/* Without the privilege for kernel faults no page is moved while other threads run. */
	CU_ASSERT_TRUE(mr->mapped || geteuid() != 0);
	before = __atomic_load_n(&w.rounds, __ATOMIC_RELAXED);
	while (__atomic_load_n(&w.rounds, __ATOMIC_RELAXED) < before + 2)
		sched_yield();
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < w.count; i++) {
		uint64_t seen = w.words[i * 64];

		if (mr->mapped)
			memcpy(&seen, hw(mr)->mapping + i * 512, sizeof(seen));
		wrong += w.words[i * 64] != w.rounds || seen != w.rounds;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
}

static void moved_under_a_writer(void)
{
	uint8_t *p;

	setup();
	if (can_move()) {
		p = map_private(MOVE_BYTES);
		move_under_a_writer(p);
		munmap(p, MOVE_BYTES);
	}
	teardown();
}

static void reused_inside_an_extent(void)
{
	struct weft_mr *whole, *part, *again;
	uint8_t *p;

	setup();
	if (can_move()) {
		uint32_t before;

		p = map_private(8 * PAGE);
		whole = weft_reg_mr(pd, p, 8 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		before = nic->commands[HW_CMD_ALLOC_MEM];
		part = weft_reg_mr(pd, p + 2 * PAGE + 5, PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(whole && part && part->mapped);
		p[2 * PAGE + 5] = 9;
		CU_ASSERT_EQUAL(hw(part)->mapping[0], 9);
		CU_ASSERT_EQUAL(hw(whole)->mapping[2 * PAGE + 5], 9);
		CU_ASSERT_EQUAL(weft_dereg_mr(whole), 0);
		CU_ASSERT_EQUAL(weft_dereg_mr(part), 0);
		/* The pages stay for the next test. */
		again = weft_reg_mr(pd, p, 8 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(again && again->mapped);
		CU_ASSERT_EQUAL(hw(again)->mapping[2 * PAGE + 5], 9);
		CU_ASSERT_EQUAL(nic->commands[HW_CMD_ALLOC_MEM], before);
		CU_ASSERT_EQUAL(weft_dereg_mr(again), 0);
		munmap(p, 8 * PAGE);
	}
	teardown();
}

/* Memory that was unmapped and mapped again at the same address is other memory. */
static void stale_extent(void)
{
	struct weft_mr *mr;
	uint8_t *p, *q;

	setup();
	if (can_move()) {
		p = map_private(4 * PAGE);
		mr = weft_reg_mr(pd, p, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		p[0] = 1;
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		munmap(p, 4 * PAGE);
		q = mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CU_ASSERT_PTR_EQUAL_FATAL(q, p);
		mr = weft_reg_mr(pd, q, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
		CU_ASSERT_EQUAL(hw(mr)->mapping[0], 0);
		q[0] = 7;
		CU_ASSERT_EQUAL(hw(mr)->mapping[0], 7);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		munmap(q, 4 * PAGE);
	}
	teardown();
}

/* realloc() may grow and move a mapping that was moved onto a memfd. */
static void grows_with_mremap(void)
{
	struct weft_mr *mr;
	uint8_t *p;

	setup();
	if (can_move()) {
		nic->seals = true;
		p = map_private(4 * PAGE);
		memset(p, 0x11, 4 * PAGE);
		mr = weft_reg_mr(pd, p, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		p = mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
		CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
		CU_ASSERT_EQUAL(p[4 * PAGE - 1], 0x11);
		p[64 * PAGE - 1] = 0x22; /* beyond the end of the memfd this would be SIGBUS */
		mr = weft_reg_mr(pd, p, 64 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
		CU_ASSERT_EQUAL(hw(mr)->mapping[0], 0x11);
		CU_ASSERT_EQUAL(hw(mr)->mapping[64 * PAGE - 1], 0x22);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		munmap(p, 64 * PAGE);
	}
	teardown();
}

/* Repeats malloc, register, deregister, free: descriptors do not accumulate. */
static void extents_are_collected(void)
{
	uint32_t most = 0;

	setup();
	if (can_move()) {
		for (int i = 0; i < 40; i++) {
			uint8_t *p = map_private(PAGE);
			struct weft_mr *mr = weft_reg_mr(pd, p, PAGE, WEFT_ACCESS_LOCAL_WRITE);

			CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
			nic->num_mr--;
			munmap(nic->mr[nic->num_mr].mapping, PAGE);
			nic->mr[nic->num_mr].mapping = NULL;
			CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
			munmap(p, PAGE);
			if (count_extents() > most)
				most = count_extents();
		}
		CU_ASSERT_TRUE(most >= 1 && most <= 9);
	}
	teardown();
}

/* Parts that were registered before, and private pages between them. */
static void mixed(void)
{
	const size_t bytes = 64 * PAGE - 200;
	struct weft_mr *part[3], *all;
	uint8_t *p;

	setup();
	if (can_move()) {
		nic->seals = true;
		p = map_private(64 * PAGE);
		for (size_t i = 0; i < 64 * PAGE; i++)
			p[i] = (uint8_t)(i * 5 >> 2);
		part[0] = weft_reg_mr(pd, p + 8 * PAGE, 4 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		part[1] = weft_reg_mr(pd, p + 40 * PAGE + 5, 100, WEFT_ACCESS_LOCAL_WRITE);
		part[2] = weft_reg_mr(pd, p + 30 * PAGE, 2 * PAGE, WEFT_ACCESS_LOCAL_WRITE);
		all = weft_reg_mr(pd, p + 77, bytes, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(part[0] && part[1] && part[2] && all && all->mapped);
		CU_ASSERT_TRUE(hw(all)->cmd.num_pieces > 1);
		CU_ASSERT_EQUAL(memcmp(hw(all)->mapping, p + 77, bytes), 0);
		for (size_t i = 0; i + 1 < bytes; i += 1000) {
			p[77 + i] = (uint8_t)(i * 3);
			hw(all)->mapping[i + 1] = (uint8_t)(i * 7);
		}
		for (size_t i = 0; i + 1 < bytes; i += 1000) {
			CU_ASSERT_EQUAL(hw(all)->mapping[i], (uint8_t)(i * 3));
			CU_ASSERT_EQUAL(p[77 + i + 1], (uint8_t)(i * 7));
		}
		CU_ASSERT_EQUAL(hw(part[0])->mapping[0], p[8 * PAGE]);
		CU_ASSERT_EQUAL(hw(part[1])->mapping[0], p[40 * PAGE + 5]);
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(weft_dereg_mr(part[i]), 0);
		CU_ASSERT_EQUAL(weft_dereg_mr(all), 0);
		munmap(p, 64 * PAGE);
	}
	teardown();
}

/* More parts than a command takes. */
static void too_many_parts(void)
{
	enum {
		PARTS = HW_MEM_PIECES_MAX / 2 + 1,
		BYTES = (2 * PARTS + 1) * PAGE
	};
	struct weft_mr *mr;
	uint8_t *p;

	setup();
	if (can_move()) {
		p = map_private(BYTES);
		for (size_t i = 0; i < PARTS; i++) {
			p[(2 * i + 1) * PAGE] = (uint8_t)i;
			mr = weft_reg_mr(pd, p + (2 * i + 1) * PAGE, 10, WEFT_ACCESS_LOCAL_WRITE);
			CU_ASSERT_TRUE_FATAL(mr && mr->mapped);
			CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		}
		mr = weft_reg_mr(pd, p, BYTES, WEFT_ACCESS_LOCAL_WRITE);
		CU_ASSERT_TRUE_FATAL(mr && !mr->mapped);
		CU_ASSERT_EQUAL(weft_dereg_mr(mr), 0);
		for (size_t i = 0; i < PARTS; i++)
			CU_ASSERT_EQUAL(p[(2 * i + 1) * PAGE], (uint8_t)i);
		munmap(p, BYTES);
	}
	teardown();
}

UT_MAIN("host_driver/weft_mem", UT(moved_in_place), UT(grows), UT(moved_under_a_writer),
	UT(reused_inside_an_extent), UT(stale_extent), UT(grows_with_mremap),
	UT(extents_are_collected), UT(mixed), UT(too_many_parts))
