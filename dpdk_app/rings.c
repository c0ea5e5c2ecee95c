/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Synchronisation of a ring's producers.
 *
 * In DPDK's default mode (MP), each producer spins until earlier ones have moved the tail. If
 * threads share a CPU, the awaited one may be preempted, and the waiting one spins until its time
 * slice ends, milliseconds later. HTS serializes producers likewise. With RTS no producer waits:
 * the last one to finish moves the tail for all, and a preempted producer delays only later entries
 * of this ring. It costs a second atomic operation per enqueue, some nanoseconds per burst. Frames
 * use it only if two roles share a CPU.
 */
#include "dpdk_app/rings.h"

#include <rte_memory.h>
#include <rte_ring.h>

#include "dpdk_app/app.h"

static struct rte_ring *rings_rts(const char *name, uint32_t entries)
{
	struct rte_ring *ring =
	    rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ);

	/* Distance by which the head may lead the tail; the default waits after an eighth. */
	if (ring)
		(void)rte_ring_set_prod_htd_max(ring, rte_ring_get_capacity(ring));
	return ring;
}

static bool rings_any_crowded(const struct app *app)
{
	for (uint32_t i = 0; i < app->num_cores; i++) {
		if (app->core[i]->crowded)
			return true;
	}
	return false;
}

struct rte_ring *rings_of_frames(const struct app *app, const char *name, uint32_t entries)
{
	/* Only one core enqueues, from one thread. */
	if (!app->several_cores)
		return rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (rings_any_crowded(app))
		return rings_rts(name, entries);
	return rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_SC_DEQ);
}

struct rte_ring *rings_of_messages(const char *name, uint32_t entries)
{
	return rings_rts(name, entries);
}
