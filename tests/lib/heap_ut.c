/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heaps of random items against a search of the least. Runs lib/heap.h.
 */
#include "lib/heap.h"
#include "lib/prng.h"
#include "tests/ut.h"

enum {
	ROOM = 200,
};

struct item {
	uint64_t key, seq;
	uint32_t value;
	char more[5];
};

static void one(void)
{
	struct item heap[1], in = {7, 1, 9, "abc"}, out;

	heap_push(heap, 0, &in, sizeof(in));
	heap_pop(heap, 1, &out, sizeof(out));
	CU_ASSERT(out.key == 7 && out.seq == 1 && out.value == 9 && !strcmp(out.more, "abc"));
}

/* The least item of a list, taken out. */
static struct item least(struct item *list, size_t num)
{
	struct item found;
	size_t at = 0;

	for (size_t i = 1; i < num; i++)
		if (list[i].key < list[at].key ||
		    (list[i].key == list[at].key && list[i].seq < list[at].seq))
			at = i;
	found = list[at];
	list[at] = list[num - 1];
	return found;
}

/* Few keys, so that many are equal; the sequence number orders them. */
static void random_order(void)
{
	struct item heap[ROOM], list[ROOM], out, want;
	uint64_t state = 3, seq = 0;
	size_t num = 0;

	for (int step = 0; step < 20000; step++) {
		bool push = !num || (num < ROOM && prng_below(&state, 100) < 52);

		if (push) {
			struct item in = {prng_below(&state, 20), seq++, (uint32_t)step, ""};

			heap_push(heap, num, &in, sizeof(in));
			list[num++] = in;
			continue;
		}
		heap_pop(heap, num, &out, sizeof(out));
		want = least(list, num--);
		CU_ASSERT_FATAL(out.seq == want.seq && out.value == want.value);
	}
}

UT_MAIN("lib/heap", UT(one), UT(random_order))
