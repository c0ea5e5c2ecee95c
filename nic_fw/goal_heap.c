/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the NIC for schedules, runs and scratchpads, charged to clients.
 *
 * Called by goal_cmd.c, goal_load.c, goal_run.c, goal_msg.c; calls buddy.c. Pages of large
 * blocks go back to the port when they are freed; frames that point into a block go first.
 */
#include "nic_fw/fw_nic.h"

enum {
	RELEASE_BYTES = 1 << 20, /* smaller blocks keep their pages */
};

void goal_heap_init(struct goal_heap *heap, uint8_t *base, struct buddy_block *blocks)
{
	heap->base = base;
	buddy_init(&heap->buddy, blocks, GOAL_HEAP_BYTES);
}

void *goal_heap_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes)
{
	struct fw_client *owner = &nic->clients[client];
	uint64_t offset;

	if (bytes > GOAL_HEAP_BYTES || !share_may(nic, client, HW_SHARE_GOAL, buddy_round(bytes)))
		return NULL;
	offset = buddy_alloc(&nic->goal_heap.buddy, bytes);
	if (offset == BUDDY_NONE)
		return NULL;
	owner->goal_bytes += buddy_round(bytes);
	share_take(nic, client, HW_SHARE_GOAL, buddy_round(bytes));
	return nic->goal_heap.base + offset;
}

void goal_heap_free(struct fw_nic *nic, uint32_t client, void *block)
{
	uint64_t bytes;

	if (!block)
		return;
	eth_tx_forget_mem(nic, block,
			  buddy_block_bytes(&nic->goal_heap.buddy,
					    (uint64_t)((uint8_t *)block - nic->goal_heap.base)));
	bytes =
	    buddy_free(&nic->goal_heap.buddy, (uint64_t)((uint8_t *)block - nic->goal_heap.base));
	assert(nic->clients[client].goal_bytes >= bytes);
	nic->clients[client].goal_bytes -= bytes;
	share_give(nic, client, HW_SHARE_GOAL, bytes);
	if (bytes >= RELEASE_BYTES)
		nic->port.arena_release(nic->port.ctx, block, bytes);
}

void goal_heap_move(struct fw_nic *nic, uint32_t from, uint32_t to, const void *block)
{
	uint64_t bytes;

	if (!block)
		return;
	bytes = buddy_block_bytes(&nic->goal_heap.buddy,
				  (uint64_t)((const uint8_t *)block - nic->goal_heap.base));
	assert(nic->clients[from].goal_bytes >= bytes);
	nic->clients[from].goal_bytes -= bytes;
	nic->clients[to].goal_bytes += bytes;
	share_give(nic, from, HW_SHARE_GOAL, bytes);
	share_take(nic, to, HW_SHARE_GOAL, bytes);
}

void *goal_heap_alloc_zero(struct fw_nic *nic, uint32_t client, uint64_t bytes)
{
	void *block = goal_heap_alloc(nic, client, bytes);

	if (!block)
		return NULL;
	/* Fresh pages are zero, and cost nothing until they are used. */
	if (buddy_round(bytes) >= RELEASE_BYTES)
		nic->port.arena_release(nic->port.ctx, block, buddy_round(bytes));
	else
		memset(block, 0, bytes);
	return block;
}
