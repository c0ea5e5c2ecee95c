/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits of a core that polls: see power.h.
 *
 * A core whose only queue is a card's monitors the descriptor that the next frame will fill, so
 * that a frame ends the wait at once. A core with several queues, or on the built-in switch, only
 * pauses: a processor monitors several lines by transactional memory alone, and lines of processes
 * would have to be among them.
 *
 * Calls card.c and rte_power of DPDK (its intrinsics).
 */
#define ALLOW_EXPERIMENTAL_API /* rte_power_pause() */

#include "dpdk_app/power.h"

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>

#include "dpdk_app/wire/card.h"
#include "dpdk_app/wire/wire.h"

void power_init(struct core *core)
{
	struct rte_cpu_intrinsics can = {0};

	rte_cpu_get_intrinsics_support(&can);
	core->power_pauses = can.power_pause;
	core->power_monitors = can.power_monitor;
	core->power_ticks = rte_get_tsc_hz() * POWER_WAIT_NS / UINT64_C(1000000000);
}

/* Returns the wire of the core's only queue; NULL: it has another number of them. */
static struct wire *only_queue(const struct core *core)
{
	struct wire *wire = core->num_shards == 1 ? core->shard[0]->nic->wire : NULL;

	if (!wire || !wire->card || (core->shard[0]->number && !wire->queue_each))
		return NULL;
	return wire->queue_each || wire->num_rx_queues == 1 ? wire : NULL;
}

void power_wait(struct core *core)
{
	struct wire *wire;
	uint64_t until;

	/* A pause takes some 50 ns on processors of today, which a message would wait. */
	if (core->now_ns - core->idle_since_ns < POWER_AFTER_NS)
		return;
	if (!core->power_pauses) {
		rte_pause();
		return;
	}
	until = rte_get_tsc_cycles() + core->power_ticks;
	wire = core->power_monitors ? only_queue(core) : NULL;
	if (wire && card_monitor(wire, (uint16_t)core->shard[0]->number, until)) {
		core->stats.power_monitors++;
		return;
	}
	if (rte_power_pause(until))
		rte_pause();
	else
		core->stats.power_pauses++;
}
