/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif as the wire of a NIC: shared memory between two processes of this machine, one of them
 * the server. Each side copies frames once. This is the core's part: it adopts and leaves
 * connections as memif.c offers them, and signals a sleeping peer.
 *
 * Calls memif_ring.c, memif.c and irq.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/client/irq.h"
#include "dpdk_app/wire/memif.h"
#include "shared_defs/wire_eth.h"

enum {
	MEMIF_RING_LOG2 = 10,
	MEMIF_BUFFER_SMALL = 2048,
	MEMIF_BUFFER_LARGE = 10240,
	MEMIF_VLAN_BYTES = 4,
};

/* Requests that the control thread end a connection whose peer violates the protocol. */
static void memif_look(struct wire *wire, const struct memif_link *link)
{
	if (!link->broken || atomic_load_explicit(&wire->memif->broken, memory_order_relaxed))
		return;
	atomic_store_explicit(&wire->memif->broken, true, memory_order_release);
	app_wake_control(wire->nic->app);
}

uint32_t wire_memif_rx(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	struct memif *m = wire->memif;
	uint32_t got;

	if (!m->now)
		return 0;
	got = memif_ring_rx(m->now, wire->nic->pool, &m->counts, frames, n);
	memif_look(wire, m->now);
	return got;
}

uint32_t wire_memif_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	struct core *core = wire->nic->shard[0].core;
	struct memif *m = wire->memif;
	bool signal = false;
	uint32_t took;

	if (!m->now)
		return 0;
	took = memif_ring_tx(m->now, &m->counts, frames, n, core->now_ns, &signal);
	if (signal)
		core->shard[0]->stats.irq_submits += irq_add(&core->irqs, m->now->tx.fd);
	memif_look(wire, m->now);
	return took;
}

bool wire_memif_waiting(const struct wire *wire)
{
	struct memif *m = wire->memif;

	if (atomic_load_explicit(&m->offers, memory_order_acquire) != m->seen)
		return true;
	return m->now && memif_ring_waiting(m->now);
}

bool wire_memif_turn(struct wire *wire)
{
	struct nic *nic = wire->nic;
	struct memif *m = wire->memif;
	uint32_t offers = atomic_load_explicit(&m->offers, memory_order_acquire);
	struct memif_link *link;

	if (offers == m->seen)
		return false;
	link = atomic_load_explicit(&m->offered, memory_order_relaxed);
	m->seen = offers;
	m->now = link;
	wire->settled = link;
	wire->naps = link && link->deaf;
	atomic_store_explicit(&nic->link_up, link != NULL, memory_order_relaxed);
	for (uint32_t s = 0; s < nic->num_shards; s++)
		core_wake(nic->shard[s].core);
	/* From here on the control thread may free the previous connection. */
	atomic_store_explicit(&m->taken, offers, memory_order_release);
	app_wake_control(nic->app);
	return true;
}

int wire_memif_open(struct nic *nic)
{
	uint32_t frame = nic->mtu + (uint32_t)sizeof(struct wire_eth);
	const struct memif_conf conf = {
	    .path = nic->conf->device,
	    .server = nic->conf->memif_server,
	    .user = nic->conf->memif_user_given ? nic->conf->memif_user : (uid_t)-1,
	    .secret = nic->conf->memif_secret,
	    .frame_bytes = frame + MEMIF_VLAN_BYTES,
	    .buffer_bytes = frame <= MEMIF_BUFFER_SMALL ? MEMIF_BUFFER_SMALL : MEMIF_BUFFER_LARGE,
	    .log2_slots = MEMIF_RING_LOG2,
	};
	struct wire *wire = wire_new(nic, &wire_ethdev_ops);

	if (!wire)
		return -ENOMEM;
	wire->memif = memif_open(nic, &conf);
	if (!wire->memif)
		return -errno;
	wire->num_rx_queues = wire->num_tx_queues = 1;
	nic->link_mbps = 100000;
	snprintf(wire->how, sizeof(wire->how), "memif %s at %.60s",
		 conf.server ? "server" : "client", conf.path);
	return wire_ethdev_lanes(wire);
}
