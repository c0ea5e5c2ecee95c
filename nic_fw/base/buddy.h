/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buddy allocator of offsets: blocks of BUDDY_MIN_BYTES << order in a range of bytes.
 *
 * What it knows of the blocks lies in arrays of its own, never in the range, which may be a
 * client's memory. Used by goal_heap.c for the NIC's memory and goal_pool.c for unexpected
 * messages. Not touched entries are zero and stay untouched.
 */
#ifndef WEFT_FW_BUDDY_H
#define WEFT_FW_BUDDY_H

#include <stdint.h>

enum {
	BUDDY_MIN_BYTES = 512,
	BUDDY_ORDERS = 22, /* the largest block is 512 B << 21 = 1 GiB */
};
#define BUDDY_NONE UINT64_MAX

/* For each BUDDY_MIN_BYTES of the range; 12 bytes. */
struct buddy_block {
	uint32_t next, prev; /* of the free list of its order: block number + 1; 0: none */
	uint8_t mark;        /* of the block that begins here: order + 1, BUDDY_FREE if free */
	uint8_t reserved[3];
};

struct buddy {
	struct buddy_block *blocks;
	uint64_t bytes;              /* of the range, a multiple of BUDDY_MIN_BYTES */
	uint64_t high;               /* everything from here on was never given out */
	uint64_t used;               /* bytes in blocks given out */
	uint32_t free[BUDDY_ORDERS]; /* block number + 1 */
};

/* blocks: zero, one for each BUDDY_MIN_BYTES of bytes (rounded down). */
void buddy_init(struct buddy *buddy, struct buddy_block *blocks, uint64_t bytes);
/* The offset of a block of at least bytes (at least 1); BUDDY_NONE. */
uint64_t buddy_alloc(struct buddy *buddy, uint64_t bytes);
/* Returns the bytes of the block. */
uint64_t buddy_free(struct buddy *buddy, uint64_t offset);
uint64_t buddy_block_bytes(const struct buddy *buddy, uint64_t offset);
/* What buddy_alloc() would take for so many bytes. */
uint64_t buddy_round(uint64_t bytes);

#endif /* WEFT_FW_BUDDY_H */
