/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buddy allocator: blocks of powers of two. A block's address gives the address of its buddy.
 *
 * Calls nothing. Both operations take at most BUDDY_ORDERS steps. See D. Knuth, The Art of Computer
 * Programming, volume 1, 2.5.
 */
#include "nic_fw/base/buddy.h"

#include <assert.h>

enum {
	BUDDY_FREE = 0x80,
};

static uint64_t order_bytes(uint32_t order)
{
	return (uint64_t)BUDDY_MIN_BYTES << order;
}

static uint32_t order_for(uint64_t bytes)
{
	uint32_t order = 0;

	while (order < BUDDY_ORDERS && order_bytes(order) < bytes)
		order++;
	return order;
}

static struct buddy_block *block_at(const struct buddy *buddy, uint64_t offset)
{
	return &buddy->blocks[offset / BUDDY_MIN_BYTES];
}

static void put_free(struct buddy *buddy, uint64_t offset, uint32_t order)
{
	uint32_t number = (uint32_t)(offset / BUDDY_MIN_BYTES) + 1;
	struct buddy_block *block = &buddy->blocks[number - 1];

	block->mark = (uint8_t)((order + 1) | BUDDY_FREE);
	block->prev = 0;
	block->next = buddy->free[order];
	if (block->next)
		buddy->blocks[block->next - 1].prev = number;
	buddy->free[order] = number;
}

static void take_out(struct buddy *buddy, uint64_t offset, uint32_t order)
{
	struct buddy_block *block = block_at(buddy, offset);

	if (block->prev)
		buddy->blocks[block->prev - 1].next = block->next;
	else
		buddy->free[order] = block->next;
	if (block->next)
		buddy->blocks[block->next - 1].prev = block->prev;
	block->mark = 0;
}

void buddy_init(struct buddy *buddy, struct buddy_block *blocks, uint64_t bytes)
{
	uint32_t i;

	assert(bytes / BUDDY_MIN_BYTES < UINT32_MAX);
	buddy->blocks = blocks;
	buddy->bytes = bytes / BUDDY_MIN_BYTES * BUDDY_MIN_BYTES;
	buddy->high = 0;
	buddy->used = 0;
	for (i = 0; i < BUDDY_ORDERS; i++)
		buddy->free[i] = 0;
}

/* Cuts a block off the untouched rest. The gap before its aligned start becomes free blocks. */
static uint64_t buddy_cut(struct buddy *buddy, uint32_t order)
{
	uint64_t start = (buddy->high + order_bytes(order) - 1) & ~(order_bytes(order) - 1);

	if (start > buddy->bytes || order_bytes(order) > buddy->bytes - start)
		return BUDDY_NONE;
	while (buddy->high < start) {
		uint32_t gap = (uint32_t)__builtin_ctzll(buddy->high / BUDDY_MIN_BYTES);

		put_free(buddy, buddy->high, gap);
		buddy->high += order_bytes(gap);
	}
	buddy->high = start + order_bytes(order);
	return start;
}

uint64_t buddy_alloc(struct buddy *buddy, uint64_t bytes)
{
	uint32_t order = order_for(bytes), from = order;
	uint64_t offset;

	while (from < BUDDY_ORDERS && !buddy->free[from])
		from++;
	if (order >= BUDDY_ORDERS)
		return BUDDY_NONE;
	if (from < BUDDY_ORDERS) {
		offset = (uint64_t)(buddy->free[from] - 1) * BUDDY_MIN_BYTES;
		take_out(buddy, offset, from);
		while (from > order) {
			from--;
			put_free(buddy, offset + order_bytes(from), from);
		}
	} else {
		offset = buddy_cut(buddy, order);
		if (offset == BUDDY_NONE)
			return offset;
	}
	block_at(buddy, offset)->mark = (uint8_t)(order + 1);
	buddy->used += order_bytes(order);
	return offset;
}

uint64_t buddy_block_bytes(const struct buddy *buddy, uint64_t offset)
{
	return order_bytes(block_at(buddy, offset)->mark - 1u);
}

uint64_t buddy_round(uint64_t bytes)
{
	return order_bytes(order_for(bytes));
}

uint64_t buddy_free(struct buddy *buddy, uint64_t offset)
{
	uint32_t mark = block_at(buddy, offset)->mark;
	uint32_t order = mark - 1;
	uint64_t bytes;

	assert(mark && mark <= BUDDY_ORDERS && offset < buddy->high);
	bytes = order_bytes(order);
	buddy->used -= bytes;
	block_at(buddy, offset)->mark = 0;
	while (order + 1 < BUDDY_ORDERS) {
		uint64_t other = offset ^ order_bytes(order);

		if (other >= buddy->high ||
		    block_at(buddy, other)->mark != ((order + 1) | BUDDY_FREE))
			break;
		take_out(buddy, other, order);
		offset &= ~order_bytes(order);
		order++;
	}
	put_free(buddy, offset, order);
	return bytes;
}
