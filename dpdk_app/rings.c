/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the producers of a ring keep out of each other's way.
 *
 * DPDK's default (MP) has each producer wait, spinning, until those that came before it have moved
 * the tail. Where threads share a CPU the one that is waited for may be the one that does not run:
 * the waiting one spins until the kernel takes the CPU from it, milliseconds later. HTS serializes
 * producers in the same way. With RTS nobody waits: whoever is last to finish moves the tail for
 * all, and what a preempted producer leaves open delays what is behind it in this ring alone. Its
 * price is a second atomic operation for each enqueue, some nanoseconds for a burst; frames take
 * it only where two roles are on one CPU. Called by main.c, nic.c, wire_ethdev.c.
 */
#include "dpdk_app/rings.h"

#include <rte_memory.h>
#include <rte_ring.h>

#include "dpdk_app/app.h"

static struct rte_ring *rings_rts(const char *name, uint32_t entries)
{
	struct rte_ring *ring =
	    rte_ring_create(name, entries, SOCKET_ID_ANY, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ);

	/* So far may the head run ahead of the tail: by default it waits after an eighth. */
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
	/* One core alone enqueues from one thread. */
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
