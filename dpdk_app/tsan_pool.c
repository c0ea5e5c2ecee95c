/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-overs of frames between cores through their pool (frame_pool.c), for ThreadSanitizer. In
 * other builds this file is empty.
 *
 * A frame may have several holders (group frames, copies of the loop, duplicates), each of which
 * drops a reference and reads the frame no more. A drop is an atomic decrement with release and
 * acquire of the frame's count, except that a holder that reads 1 knows that it is the last: DPDK
 * reads relaxed there, since all that it does next is a store that depends on the value and is
 * itself released. ThreadSanitizer knows of no such dependency. So a frame's next user acquires,
 * when it gets the frame, what the earlier holders released with their decrements.
 *
 * That hides no race. The last holder puts the frame only after it has read the value that the
 * others' decrements left, and the next user gets it only after that put: everything that a holder
 * did before its drop is done before the get, in every run. What it does after its drop is not
 * released by it, so an access too late is reported still; so are accesses of two holders at once,
 * of which neither gets the frame. An increment releases as well: it comes before the drop of the
 * reference that it makes. Code that relies on reading 1 and uses the frame again without the pool
 * (echo.c), and the decrements in DPDK's drivers, are not covered: they may be reported wrongly.
 */
#include "dpdk_app/tsan.h"

#ifdef __SANITIZE_THREAD__

#include <rte_mbuf.h>

void tsan_pool_acquire(void **frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		TSAN_ACQUIRE(&((struct rte_mbuf *)frames[i])->refcnt);
}

/*
 * DPDK's, in the place of the one in its library, where ThreadSanitizer does not see the decrement.
 * Its drivers call this one, too.
 */
void rte_pktmbuf_free_bulk(struct rte_mbuf **frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(frames[i]);
}

#endif
