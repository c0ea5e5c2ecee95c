/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells: notify the NIC that a queue has work.
 *
 * Rung after the index is published, for send queues (weft_post.c) and for arming (weft_cq.c).
 * nic_fw/host/db.c reads them. An object has at most one entry in the ring (its rung word), and a
 * process has fewer objects than the ring has entries. A claimed slot is therefore always free, and
 * no thread waits. docs/host-interface.md, "Doorbells", pairs D1 to D3.
 */
#ifndef WEFT_DB_H
#define WEFT_DB_H

#include "host_driver/weft_barrier.h"
#include "host_driver/weft_priv.h"

static inline void weft_db_ring(struct weft_ctx *ctx, uint32_t *rung, uint32_t entry)
{
	struct hw_bar_header *header = ctx->bar;
	uint32_t slot;

	/*
	 * The thread that set rung writes the entry and checks sleeping, perhaps after this call
	 * returns. One wake-up serves both threads.
	 */
	if (!weft_barrier_ring_needed(rung))
		return;
	slot = __atomic_fetch_add(&header->db_tail, 1, __ATOMIC_RELAXED);
	weft_barrier_db_entry(&ctx->db_ring[slot % HW_DB_RING_ENTRIES], entry);
	if (weft_barrier_nic_sleeping(header))
		weft_ctx_wake(ctx);
}

#endif /* WEFT_DB_H */
