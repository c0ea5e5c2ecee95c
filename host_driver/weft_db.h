/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells: how the NIC learns that a queue has work.
 *
 * Called by weft_post.c (send queues) and weft_cq.c (arming), after the index is published;
 * read by nic_fw/host/db.c. An object stands in the ring at most once (its rung word), and a
 * process has fewer objects than the ring has entries, so a slot that is claimed is always free
 * and nobody waits. docs/host-interface.md "Doorbells", pairs D1 to D3.
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
	 * Whoever set rung writes the entry and looks at sleeping; it may be about to do so, in
	 * another thread, when this returns. One wake-up serves both.
	 */
	if (!weft_barrier_ring_needed(rung))
		return;
	slot = __atomic_fetch_add(&header->db_tail, 1, __ATOMIC_RELAXED);
	weft_barrier_db_entry(&ctx->db_ring[slot % HW_DB_RING_ENTRIES], entry);
	if (weft_barrier_nic_sleeping(header))
		weft_ctx_wake(ctx);
}

#endif /* WEFT_DB_H */
