/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buddy allocator: sizes, alignment, splitting and merging, exhaustion, and a long random run
 * against a map of bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nic_fw/base/buddy.h"
#include "tests/ut.h"

enum {
	RANGE = 1 << 20,
	BLOCKS = RANGE / BUDDY_MIN_BYTES,
};

static struct buddy_block blocks[BLOCKS];

static void begin(struct buddy *buddy, uint64_t bytes)
{
	memset(blocks, 0, sizeof(blocks));
	buddy_init(buddy, blocks, bytes);
}

static void sizes_are_rounded(void)
{
	struct buddy buddy;
	uint64_t a, b;

	CU_ASSERT_EQUAL(buddy_round(1), 512);
	CU_ASSERT_EQUAL(buddy_round(512), 512);
	CU_ASSERT_EQUAL(buddy_round(513), 1024);
	begin(&buddy, RANGE);
	a = buddy_alloc(&buddy, 1);
	b = buddy_alloc(&buddy, 3000);
	CU_ASSERT_EQUAL(a, 0);
	CU_ASSERT_EQUAL(b, 4096);
	CU_ASSERT_EQUAL(buddy_block_bytes(&buddy, b), 4096);
	CU_ASSERT_EQUAL(buddy.used, 512 + 4096);
	/* The gap before b was kept. */
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, 2048), 2048);
	CU_ASSERT_EQUAL(buddy_free(&buddy, b), 4096);
	CU_ASSERT_EQUAL(buddy.used, 512 + 2048);
}

static void all_comes_together_again(void)
{
	struct buddy buddy;
	uint64_t at[BLOCKS];
	uint32_t i;

	begin(&buddy, RANGE);
	for (i = 0; i < BLOCKS; i++) {
		at[i] = buddy_alloc(&buddy, 512);
		CU_ASSERT_EQUAL(at[i], i * 512u);
	}
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, 1), BUDDY_NONE);
	for (i = 0; i < BLOCKS; i += 2)
		buddy_free(&buddy, at[i]);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, 1024), BUDDY_NONE);
	for (i = 1; i < BLOCKS; i += 2)
		buddy_free(&buddy, at[i]);
	CU_ASSERT_EQUAL(buddy.used, 0);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, RANGE), 0);
}

static void odd_ranges_are_used_whole(void)
{
	struct buddy buddy;
	uint64_t sum = 0;

	begin(&buddy, 512 * 7 + 100);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, 4096), BUDDY_NONE);
	while (buddy_alloc(&buddy, 512) != BUDDY_NONE)
		sum += 512;
	CU_ASSERT_EQUAL(sum, 512 * 7);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, UINT64_MAX), BUDDY_NONE);
}

static void random_against_a_map(void)
{
	static uint8_t map[BLOCKS];
	uint64_t held[256], seed = 1;
	struct buddy buddy;
	uint32_t count = 0, i, k;

	begin(&buddy, RANGE);
	memset(map, 0, sizeof(map));
	for (i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (count < 256 && seed >> 63) {
			uint64_t bytes = 1 + (seed >> 33) % ((seed >> 32 & 7) ? 2000 : 60000);
			uint64_t at = buddy_alloc(&buddy, bytes);

			if (at == BUDDY_NONE)
				continue;
			CU_ASSERT_EQUAL(at % buddy_round(bytes), 0);
			for (k = 0; k < buddy_round(bytes) / 512; k++)
				CU_ASSERT_EQUAL(map[at / 512 + k]++, 0);
			held[count++] = at;
		} else if (count) {
			uint32_t victim = (uint32_t)(seed >> 33) % count;
			uint64_t at = held[victim], bytes = buddy_free(&buddy, at);

			for (k = 0; k < bytes / 512; k++)
				CU_ASSERT_EQUAL(map[at / 512 + k]--, 1);
			held[victim] = held[--count];
		}
	}
	while (count)
		buddy_free(&buddy, held[--count]);
	CU_ASSERT_EQUAL(buddy.used, 0);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, RANGE), 0);
}

/* The largest block is 1 GiB, however long the range is. */
static void the_largest_block(void)
{
	const uint64_t most = UINT64_C(1) << 30, bytes = 4 * most;
	size_t records = bytes / BUDDY_MIN_BYTES * sizeof(struct buddy_block);
	struct buddy_block *many = mmap(NULL, records, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct buddy buddy;
	uint64_t at;

	CU_ASSERT_FATAL(many != MAP_FAILED);
	buddy_init(&buddy, many, bytes);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, most + 1), BUDDY_NONE);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, UINT64_MAX), BUDDY_NONE);
	CU_ASSERT_EQUAL(buddy.used, 0);
	at = buddy_alloc(&buddy, most);
	CU_ASSERT_EQUAL_FATAL(at, 0);
	CU_ASSERT_EQUAL(buddy_block_bytes(&buddy, at), most);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, most), most);
	CU_ASSERT_EQUAL(buddy_free(&buddy, at), most);
	CU_ASSERT_EQUAL(buddy_alloc(&buddy, most + 1), BUDDY_NONE);
	CU_ASSERT_EQUAL(munmap(many, records), 0);
}

UT_MAIN("nic_fw/base/buddy", UT(the_largest_block), UT(sizes_are_rounded),
	UT(all_comes_together_again), UT(odd_ranges_are_used_whole), UT(random_against_a_map))
