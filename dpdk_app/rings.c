/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronisation of a ring's producers.
 *
 * In DPDK's default mode (MP), each producer spins until earlier ones have moved the tail. If
 * threads share a CPU, the awaited one may be preempted, and the waiting one spins until its time
 * slice ends, milliseconds later. HTS serializes producers likewise. With RTS no producer waits:
 * the last one to finish moves the tail for all, and a preempted producer delays only later entries
 * of this ring. It costs a second atomic operation per enqueue. ThreadSanitizer does not follow
 * RTS: in its build a mutex keeps producers apart.
 */
#include "dpdk_app/rings.h"

#include <pthread.h>
#include <rte_memory.h>

#ifdef __SANITIZE_THREAD__
static pthread_mutex_t rings_lock = PTHREAD_MUTEX_INITIALIZER;

struct rte_ring *rings_new(const char *name, uint32_t entries)
{
	return rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

bool rings_put(struct rte_ring *ring, void *message)
{
	bool put;

	pthread_mutex_lock(&rings_lock);
	put = !rte_ring_enqueue(ring, message);
	pthread_mutex_unlock(&rings_lock);
	return put;
}
#else
struct rte_ring *rings_new(const char *name, uint32_t entries)
{
	struct rte_ring *ring =
	    rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ);

	/* Distance by which the head may lead the tail; the default waits after an eighth. */
	if (ring)
		(void)rte_ring_set_prod_htd_max(ring, rte_ring_get_capacity(ring));
	return ring;
}

bool rings_put(struct rte_ring *ring, void *message)
{
	return !rte_ring_enqueue(ring, message);
}
#endif
