/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces goal_heap.c of the firmware's archive with wrapped functions: the sanitizer detects
 * accesses beyond a block's bytes, or after it was freed.
 *
 * Included by world.c alone. Blocks larger than HEAP_POISON_BYTES have only that many bytes at
 * either end guarded: they come and go in every run.
 */
#ifndef WEFT_TESTS_FUZZ_HEAP_H
#define WEFT_TESTS_FUZZ_HEAP_H

#include <sanitizer/asan_interface.h>

#include "nic_fw/fw_nic.h"

void *heap_alloc_unwrapped(struct fw_nic *nic, uint32_t client, uint64_t bytes);
void *heap_alloc_zero_unwrapped(struct fw_nic *nic, uint32_t client, uint64_t bytes);
void heap_free_unwrapped(struct fw_nic *nic, uint32_t client, void *block);

#define goal_heap_alloc      heap_alloc_unwrapped
#define goal_heap_alloc_zero heap_alloc_zero_unwrapped
#define goal_heap_free       heap_free_unwrapped
#include "nic_fw/coll/goal_heap.c"
#undef goal_heap_alloc
#undef goal_heap_alloc_zero
#undef goal_heap_free

enum {
	HEAP_POISON_BYTES = 64 << 10,
	HEAP_KEPT = 256,
};

/* Blocks in use at the start of every run. */
static struct heap_block {
	uint8_t *at;
	uint64_t bytes;
} heap_block[HEAP_KEPT];
static uint32_t heap_blocks;
static bool heap_is_kept;

/* Removes the guards, for the firmware's own writes and before another run. */
static void heap_open(void *at, uint64_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(at, bytes);
}

static void heap_guard(uint8_t *at, uint64_t bytes)
{
	uint64_t n = bytes < HEAP_POISON_BYTES ? bytes : HEAP_POISON_BYTES;

	ASAN_POISON_MEMORY_REGION(at, n);
	ASAN_POISON_MEMORY_REGION(at + bytes - n, n);
}

static void *heap_given(void *block, uint64_t bytes)
{
	uint64_t whole = buddy_round(bytes), end = (bytes + 7) & ~UINT64_C(7);

	if (!block)
		return NULL;
	heap_open(block, whole);
	heap_guard((uint8_t *)block + end, whole - end);
	if (!heap_is_kept) {
		assert(heap_blocks < HEAP_KEPT);
		heap_block[heap_blocks++] = (struct heap_block){block, bytes};
	}
	return block;
}

void *goal_heap_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes)
{
	return heap_given(heap_alloc_unwrapped(nic, client, bytes), bytes);
}

void *goal_heap_alloc_zero(struct fw_nic *nic, uint32_t client, uint64_t bytes)
{
	void *block = heap_given(heap_alloc_unwrapped(nic, client, bytes), bytes);

	if (!block)
		return NULL;
	/* As the original, plus the guard. */
	if (buddy_round(bytes) >= RELEASE_BYTES)
		nic->port.arena_release(nic->port.ctx, block, bytes);
	else
		memset(block, 0, bytes);
	return block;
}

void goal_heap_free(struct fw_nic *nic, uint32_t client, void *block)
{
	uint64_t bytes;
	uint32_t i;

	if (!block)
		return;
	bytes = buddy_block_bytes(&nic->goal.heap.buddy,
				  (uint64_t)((uint8_t *)block - nic->goal.heap.base));
	for (i = 0; i < heap_blocks && !heap_is_kept; i++)
		if (heap_block[i].at == block)
			heap_block[i--] = heap_block[--heap_blocks];
	heap_free_unwrapped(nic, client, block);
	heap_guard(block, bytes);
}

static void heap_keep(void)
{
	heap_is_kept = true;
}

/* Guards the free part of the kept world again. */
static void heap_restore(struct fw_nic *nic)
{
	const struct goal_heap *heap = &nic->goal.heap;
	uint32_t i;

	ASAN_POISON_MEMORY_REGION(heap->base, heap->buddy.high);
	for (i = 0; i < heap_blocks; i++)
		if (heap_block[i].at >= heap->base &&
		    heap_block[i].at < heap->base + GOAL_HEAP_BYTES)
			ASAN_UNPOISON_MEMORY_REGION(heap_block[i].at, heap_block[i].bytes);
}

#endif /* WEFT_TESTS_FUZZ_HEAP_H */
