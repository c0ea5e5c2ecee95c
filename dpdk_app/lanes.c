/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: their memory. Calls rte_ring.
 *
 * The rings lie in memory of the C library: the EAL limits the number of its memory zones to less
 * than the lanes of many cores.
 */
#include "dpdk_app/lanes.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <stdlib.h>

#include "dpdk_app/app.h"

uint32_t lanes_slots(uint32_t senders)
{
	uint32_t slots = LANES_FRAMES;

	while (slots > LANES_LEAST_FRAMES && slots * senders > LANES_FRAMES)
		slots /= 2;
	return slots;
}

static struct rte_ring *lane_new(uint32_t slots)
{
	struct rte_ring *ring = app_alloc_apart((size_t)rte_ring_get_memsize(slots));

	if (ring && rte_ring_init(ring, "lane", slots, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		free(ring);
		return NULL;
	}
	return ring;
}

int lanes_init(struct lanes *lanes, uint64_t cores)
{
	uint32_t slots = lanes_slots((uint32_t)__builtin_popcountll(cores));

	for (; cores; cores &= cores - 1) {
		uint32_t core = (uint32_t)__builtin_ctzll(cores);

		lanes->from[core] = lane_new(slots);
		if (!lanes->from[core])
			return -ENOMEM;
		lanes->ring[lanes->num++] = lanes->from[core];
	}
	return 0;
}

void lanes_free(struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->num; i++) {
		void *frame;

		while (!rte_ring_sc_dequeue(lanes->ring[i], &frame))
			rte_pktmbuf_free(frame);
		free(lanes->ring[i]);
	}
	*lanes = (struct lanes){0};
}
