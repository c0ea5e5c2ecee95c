/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules on buffers that the NIC cannot map: on the stack, in the brk heap, in initialized data,
 * read-only, on a page with memory registered before; and on shared memory, which must not be
 * copied. One rank, local operations and messages to itself. Run by tests/int/goal_mem.sh, which
 * inspects the regions while the program has stopped itself; exits with 0 when every byte was
 * right.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/goal/goal.h"

enum {
	WORDS = 512,
	LARGE_BYTES = 3 << 20, /* too large for a copy */
};

static uint32_t initialised[WORDS] = {1, 2, 3};
static const uint32_t constant[WORDS] = {7, 8, 9};

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #cond,                      \
				GOAL_LastErrorDetail());                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static GOAL_Schedule add(const void *a, const void *b, void *r, int words)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;

	GOAL_LocalOp(g, a, b, r, GOAL_ADD, GOAL_UINT, 32, words);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	CHECK(s);
	return s;
}

/* Sends a message of n bytes to this rank itself. */
static GOAL_Schedule to_self(const void *from, int64_t bytes, void *to, int64_t room)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;

	GOAL_Send(g, from, bytes, 0, 1);
	GOAL_Recv(g, to, room, 0, 1);
	s = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	CHECK(s);
	return s;
}

static void run(GOAL_Schedule s)
{
	CHECK(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
}

static void fill(uint32_t *words, uint32_t first)
{
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = first + i;
}

static void expect_sum(const uint32_t *r, const uint32_t *a, const uint32_t *b)
{
	for (int i = 0; i < WORDS; i++)
		CHECK(r[i] == a[i] + b[i]);
}

/* Uses all kinds of memory at once; each run reads the buffers' content of that time. */
static void kinds(void)
{
	uint32_t stack[WORDS], sum[WORDS], *heap = malloc(sizeof(stack));
	GOAL_Schedule one, two, three;

	CHECK(heap);
	fill(stack, 100);
	fill(heap, 5000);
	one = add(stack, heap, sum, WORDS);
	two = add(sum, initialised, initialised, WORDS);
	three = add(constant, stack, heap, WORDS);
	printf("loaded\n");
	fflush(stdout);
	raise(SIGSTOP);
	run(one);
	expect_sum(sum, stack, heap);
	stack[17] = 4;
	heap[18] = 5;
	run(one);
	expect_sum(sum, stack, heap);
	run(two);
	CHECK(initialised[0] == sum[0] + 1 && initialised[2] == sum[2] + 3);
	run(two);
	CHECK(initialised[0] == 2 * sum[0] + 1 && initialised[WORDS - 1] == 2 * sum[WORDS - 1]);
	run(three);
	expect_sum(heap, constant, stack);
	GOAL_FreeSchedule(one);
	GOAL_FreeSchedule(two);
	GOAL_FreeSchedule(three);
	free(heap);
}

/* Bytes that a message does not fill stay unchanged, and so do the neighbours of the buffers. */
static void neighbours(void)
{
	uint8_t bytes[3000];
	GOAL_Schedule s;
	GOAL_Handle h;

	memset(bytes, 0xaa, sizeof(bytes));
	memset(bytes + 100, 1, 50);
	s = to_self(bytes + 100, 50, bytes + 1001, 99);
	h = GOAL_Run(s);
	/* The program goes on to write next to the buffers. */
	bytes[1000] = 2;
	bytes[1100] = 3;
	CHECK(GOAL_Wait(h) == GOAL_SUCCESS);
	CHECK(bytes[1000] == 2 && bytes[1100] == 3 && bytes[1001] == 1 && bytes[1050] == 1);
	CHECK(bytes[1051] == 0xaa && bytes[1099] == 0xaa && bytes[99] == 0xaa);
	GOAL_FreeSchedule(s);
}

/* Runs of one schedule in flight together add up in place: no run loses another one's result. */
static void in_flight(void)
{
	enum {
		RUNS = 300
	};
	GOAL_Handle h[RUNS];
	uint32_t sum[2] = {0, 0}, one[2] = {1, 2};
	GOAL_Schedule s = add(sum, one, sum, 2);
	int i, k;

	for (k = 0; k < 5; k++) {
		for (i = 0; i < RUNS; i++) {
			h[i] = GOAL_Run(s);
			CHECK(h[i] >= 0);
		}
		for (i = 0; i < RUNS; i++)
			CHECK(GOAL_Wait(h[i]) == GOAL_SUCCESS);
		CHECK(sum[0] == (uint32_t)(k + 1) * RUNS && sum[1] == 2 * sum[0]);
	}
	GOAL_FreeSchedule(s);
}

/* Pages with a region registered before, shared memory, and more bytes than are copied. */
static void pages(void)
{
	uint8_t *area =
	    mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *shared =
	    mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint8_t *large = malloc(2 * (size_t)LARGE_BYTES);
	GOAL_Schedule first, across, other, big;
	uint32_t *words;

	CHECK(area != MAP_FAILED && shared != MAP_FAILED && large);
	words = (uint32_t *)(void *)(area + 2048);
	fill(words, 1);
	first = add(words, words, words, WORDS);
	across = add(area + 4000, area + 6048, area + 8096, WORDS);
	run(first);
	CHECK(words[0] == 2 && words[WORDS - 1] == 2 * WORDS);
	run(across);
	expect_sum((uint32_t *)(void *)(area + 8096), (uint32_t *)(void *)(area + 4000),
		   (uint32_t *)(void *)(area + 6048));
	CHECK(*(uint32_t *)(void *)(area + 8096) != 0);
	words = (uint32_t *)(void *)(area + 4096);
	fill(words, 3);
	other = add(words, initialised, shared, WORDS);
	run(other);
	expect_sum(shared, words, initialised);
	memset(large, 5, LARGE_BYTES);
	big = to_self(large, LARGE_BYTES, large + LARGE_BYTES, LARGE_BYTES);
	run(big);
	CHECK(memcmp(large, large + LARGE_BYTES, LARGE_BYTES) == 0);
	GOAL_FreeSchedule(first);
	GOAL_FreeSchedule(across);
	GOAL_FreeSchedule(other);
	GOAL_FreeSchedule(big);
	munmap(area, 16384);
	munmap(shared, 8192);
	free(large);
}

int main(void)
{
	CHECK(GOAL_Init() == GOAL_SUCCESS);
	kinds();
	neighbours();
	in_flight();
	pages();
	CHECK(GOAL_Finalize() == GOAL_SUCCESS);
	printf("all right\n");
	return 0;
}
