/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of frames, which cores exchange in batches: no core waits for another that the kernel has
 * preempted within the pool.
 *
 * The pool is one of DPDK: rte_pktmbuf_alloc(), rte_pktmbuf_free() and drivers use it as any other.
 */
#ifndef WEFT_APP_FRAME_POOL_H
#define WEFT_APP_FRAME_POOL_H

#include <stdint.h>

struct rte_mempool;

/*
 * Creates a pool; each EAL thread keeps some cache_frames for itself. NULL: out of memory, or the
 * name is taken. Control thread. rte_mempool_free() ends it.
 */
struct rte_mempool *frame_pool_new(const char *name, uint32_t frames, uint32_t cache_frames,
				   uint16_t buffer_bytes);

#endif /* WEFT_APP_FRAME_POOL_H */
