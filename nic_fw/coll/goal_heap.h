/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the NIC for GOAL's schedules, runs and messages, charged to clients.
 *
 * No function blocks; all are the core's alone. Calls buddy.h and the port's arena_release().
 */
#ifndef WEFT_FW_GOAL_HEAP_H
#define WEFT_FW_GOAL_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/buddy.h"
#include "nic_fw/coll/coll_nic.h"

struct fw_nic;

#define GOAL_HEAP_BYTES         (UINT64_C(1) << 30)
#define GOAL_CLIENT_QUOTA_BYTES (UINT64_C(256) << 20)

enum {
	GOAL_HEAP_RELEASE_BYTES = 1 << 20, /* smaller blocks keep their pages */
	GOAL_HEAP_STEP_BYTES = 64 * 1024,  /* bytes whose pages go back in one turn */
	GOAL_HEAP_GONE = GOAL_HEAP_BYTES / GOAL_HEAP_RELEASE_BYTES,
};

/*
 * Allocates a block of at least bytes, its content undefined, charged to the client; NULL: no
 * memory.
 */
void *goal_heap_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes);
/* The same, zeroed, so that no client reads data of another. */
void *goal_heap_alloc_zero(struct fw_nic *nic, uint32_t client, uint64_t bytes);
/* Charges a block to another client. NULL is ignored. */
void goal_heap_move(struct fw_nic *nic, uint32_t from, uint32_t to, const void *block);
/* Ends references of sent frames to a block (eth_tx_settle_mem()). */
void goal_heap_settle(struct fw_nic *nic, const void *block);
/*
 * Frees a block; NULL is ignored. A large block becomes free after its pages went back, in slices.
 */
void goal_heap_free(struct fw_nic *nic, uint32_t client, void *block);
void goal_heap_init(struct goal_heap *heap, uint8_t *base, struct buddy_block *blocks,
		    struct goal_heap_gone *gone);
void goal_heap_slice(struct fw_nic *nic); /* slice_job.run */
bool goal_heap_pending(const struct fw_nic *nic);

#endif /* WEFT_FW_GOAL_HEAP_H */
