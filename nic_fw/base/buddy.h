/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buddy allocator of offsets: blocks of BUDDY_MIN_BYTES << order in a range of bytes.
 *
 * Its records lie in arrays of its own, never in the managed range, which may be a client's memory.
 * Untouched entries are zero and stay untouched. goal_heap.c and goal_cmd.c use it,
 * for the NIC's memory and for unexpected messages.
 */
#ifndef WEFT_FW_BUDDY_H
#define WEFT_FW_BUDDY_H

#include <stdint.h>

enum {
	BUDDY_MIN_BYTES = 512,
	BUDDY_ORDERS = 22, /* the largest block is 512 B << 21 = 1 GiB */
};
#define BUDDY_NONE UINT64_MAX

/* One entry for each BUDDY_MIN_BYTES of the range; 12 bytes. */
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

/* blocks: zeroed, one entry for each BUDDY_MIN_BYTES of bytes (rounded down). */
void buddy_init(struct buddy *buddy, struct buddy_block *blocks, uint64_t bytes);
/* Returns the offset of a block of at least bytes (at least 1), or BUDDY_NONE. */
uint64_t buddy_alloc(struct buddy *buddy, uint64_t bytes);
/* Frees the block at offset. Returns the bytes of the block. */
uint64_t buddy_free(struct buddy *buddy, uint64_t offset);
uint64_t buddy_block_bytes(const struct buddy *buddy, uint64_t offset);
/* Returns the bytes of the block that buddy_alloc() would return for a request of bytes. */
uint64_t buddy_round(uint64_t bytes);

#endif /* WEFT_FW_BUDDY_H */
