/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the NIC for schedules, runs and scratchpads, charged to clients.
 *
 * Calls buddy.c. Freed large blocks return their pages to the port, 64 KiB in a turn, because the
 * kernel needs tens of milliseconds to take back hundreds of MiB. Frames that point into a block
 * are sent first.
 */
#include "nic_fw/fw_nic.h"

enum {
	RELEASE_BYTES = GOAL_HEAP_RELEASE_BYTES,
};

void goal_heap_init(struct goal_heap *heap, uint8_t *base, struct buddy_block *blocks,
		    struct goal_heap_gone *gone)
{
	heap->base = base;
	heap->gone = gone;
	heap->gone_head = 0;
	heap->gone_count = 0;
	buddy_init(&heap->buddy, blocks, GOAL_HEAP_BYTES);
}

void *goal_heap_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes)
{
	struct fw_client *owner = &nic->host.clients[client];
	uint64_t offset;

	if (bytes > GOAL_HEAP_BYTES || !share_may(nic, client, HW_SHARE_GOAL, buddy_round(bytes)))
		return NULL;
	offset = buddy_alloc(&nic->goal.heap.buddy, bytes);
	if (offset == BUDDY_NONE)
		return NULL;
	owner->goal_bytes += buddy_round(bytes);
	share_take(nic, client, HW_SHARE_GOAL, buddy_round(bytes));
	return nic->goal.heap.base + offset;
}

/* Returns the pages of freed blocks to the port, in slices. */
static void goal_heap_run(struct fw_nic *nic)
{
	struct goal_heap *heap = &nic->goal.heap;

	while (heap->gone_count && slice_take(nic, FW_SLICE_UNITS)) {
		struct goal_heap_gone *gone = &heap->gone[heap->gone_head];

		gone->left_bytes -= GOAL_HEAP_STEP_BYTES;
		nic->port.arena_release(nic->port.ctx, heap->base + gone->offset + gone->left_bytes,
					GOAL_HEAP_STEP_BYTES);
		if (gone->left_bytes)
			continue;
		(void)buddy_free(&heap->buddy, gone->offset);
		heap->gone_head = (heap->gone_head + 1) % GOAL_HEAP_GONE;
		heap->gone_count--;
	}
}

static void goal_heap_give_back(struct fw_nic *nic, uint64_t offset)
{
	struct goal_heap *heap = &nic->goal.heap;
	struct goal_heap_gone *gone =
	    &heap->gone[(heap->gone_head + heap->gone_count) % GOAL_HEAP_GONE];

	assert(heap->gone_count < GOAL_HEAP_GONE);
	gone->offset = offset;
	gone->left_bytes = buddy_block_bytes(&heap->buddy, offset);
	heap->gone_count++;
	slice_wait(&nic->slices, SLICE_HEAP);
	goal_heap_run(nic);
}

void goal_heap_slice(struct fw_nic *nic)
{
	if (goal_heap_pending(nic))
		nic->turn_did |= FW_DID_LEAVE;
	goal_heap_run(nic);
}

bool goal_heap_pending(const struct fw_nic *nic)
{
	return nic->goal.heap.gone_count;
}

void goal_heap_free(struct fw_nic *nic, uint32_t client, void *block)
{
	uint64_t bytes, offset;

	if (!block)
		return;
	offset = (uint64_t)((uint8_t *)block - nic->goal.heap.base);
	bytes = buddy_block_bytes(&nic->goal.heap.buddy, offset);
	eth_tx_forget_mem(nic, block, bytes);
	assert(nic->host.clients[client].goal_bytes >= bytes);
	nic->host.clients[client].goal_bytes -= bytes;
	share_give(nic, client, HW_SHARE_GOAL, bytes);
	if (bytes >= RELEASE_BYTES)
		goal_heap_give_back(nic, offset);
	else
		(void)buddy_free(&nic->goal.heap.buddy, offset);
}

void goal_heap_settle(struct fw_nic *nic, const void *block)
{
	uint64_t offset = (uint64_t)((const uint8_t *)block - nic->goal.heap.base);

	eth_tx_settle_mem(nic, block, buddy_block_bytes(&nic->goal.heap.buddy, offset));
}

void goal_heap_move(struct fw_nic *nic, uint32_t from, uint32_t to, const void *block)
{
	uint64_t bytes;

	if (!block)
		return;
	bytes = buddy_block_bytes(&nic->goal.heap.buddy,
				  (uint64_t)((const uint8_t *)block - nic->goal.heap.base));
	assert(nic->host.clients[from].goal_bytes >= bytes);
	nic->host.clients[from].goal_bytes -= bytes;
	nic->host.clients[to].goal_bytes += bytes;
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
