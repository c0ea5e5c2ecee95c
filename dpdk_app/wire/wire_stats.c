/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of a port: those common to all wires, those of each AF_XDP socket (like ethtool -S per
 * queue), of frames sent as runs (gso.h, tso.h) and received so (large.h), of the XDP program, of a
 * memif, and of a card's driver.
 *
 * Runs on the owner's core; calls xsk.c, gso.c, tso.c, large.c, xdp.c and rte_ethdev.
 */
#include <rte_ethdev.h>
#include <stdio.h>

#include "dpdk_app/wire/card.h"
#include "dpdk_app/wire/gso.h"
#include "dpdk_app/wire/large.h"
#include "dpdk_app/wire/memif.h"
#include "dpdk_app/control/stats.h"
#include "dpdk_app/wire/tso.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/wire/xdp.h"
#include "dpdk_app/wire/xsk.h"

enum {
	WIRE_STATS = 8,
	QUEUE_STATS = 12,
	GSO_STATS = 3,
	LARGE_STATS = 4,
	TSO_STATS = 3,
};

static uint32_t put_port(const struct wire *wire, const struct rte_eth_stats *s,
			 struct hw_stat *stat)
{
	uint32_t n = 0;

	stats_put(&stat[n++], "wire_", "ipackets", s->ipackets);
	stats_put(&stat[n++], "wire_", "opackets", s->opackets);
	stats_put(&stat[n++], "wire_", "imissed", s->imissed);
	stats_put(&stat[n++], "wire_", "ierrors", s->ierrors);
	stats_put(&stat[n++], "wire_", "oerrors", s->oerrors);
	stats_put(&stat[n++], "wire_", "rx_nombuf", s->rx_nombuf);
	stats_put(&stat[n++], "wire_", "drop_down", wire->drop_down);
	stats_put(&stat[n++], "wire_", "link_up",
		  atomic_load_explicit(&wire->nic->link_up, memory_order_relaxed));
	return n;
}

static uint32_t put_queue(uint32_t queue, const struct xsk_stats *x, struct hw_stat *stat)
{
	char prefix[24];
	uint32_t n = 0;

	snprintf(prefix, sizeof(prefix), "xsk_queue%u_", queue);
	stats_put(&stat[n++], prefix, "rx", x->rx);
	stats_put(&stat[n++], prefix, "tx", x->tx);
	stats_put(&stat[n++], prefix, "rx_nombuf", x->no_mbuf);
	stats_put(&stat[n++], prefix, "rx_dropped", x->rx_dropped);
	stats_put(&stat[n++], prefix, "rx_ring_full", x->rx_ring_full);
	stats_put(&stat[n++], prefix, "rx_fill_ring_empty", x->rx_fill_ring_empty);
	stats_put(&stat[n++], prefix, "rx_invalid_descs", x->rx_invalid_descs);
	stats_put(&stat[n++], prefix, "tx_invalid_descs", x->tx_invalid_descs);
	stats_put(&stat[n++], prefix, "tx_ring_empty", x->tx_ring_empty);
	stats_put(&stat[n++], prefix, "rx_large", x->rx_large);
	stats_put(&stat[n++], prefix, "rx_large_bad", x->rx_large_bad);
	stats_put(&stat[n++], prefix, "zero_copy", x->zero_copy);
	return n;
}

/* Writes the counters of each socket, and adds them to the port's. */
static uint32_t put_queues(const struct wire *wire, struct rte_eth_stats *sum, struct hw_stat *stat)
{
	uint32_t n = 0;

	for (uint32_t queue = 0; queue < xsk_num_queues(wire->xsk); queue++) {
		struct xsk_stats x;

		xsk_stats(wire->xsk, queue, &x);
		sum->ipackets += x.rx;
		sum->opackets += x.tx;
		/* Frames that met an empty fill ring are included in rx_dropped. */
		sum->imissed += x.rx_dropped + x.rx_ring_full;
		sum->ierrors += x.rx_invalid_descs + x.rx_large_bad;
		sum->oerrors += x.tx_invalid_descs;
		sum->rx_nombuf += x.no_mbuf;
		n += put_queue(queue, &x, stat + n);
	}
	return n;
}

static uint32_t put_gso(const struct gso_stats *g, struct hw_stat *stat)
{
	uint32_t n = 0;

	stats_put(&stat[n++], "gso_", "runs", g->runs);
	stats_put(&stat[n++], "gso_", "frames", g->frames);
	stats_put(&stat[n++], "gso_", "refused", g->refused);
	return n;
}

static uint32_t put_tso(struct tso_stats t, struct hw_stat *stat)
{
	uint32_t n = 0;

	stats_put(&stat[n++], "tso_", "runs", t.runs);
	stats_put(&stat[n++], "tso_", "frames", t.frames);
	stats_put(&stat[n++], "tso_", "refused", t.refused);
	return n;
}

static uint32_t put_large(const struct large_stats *l, struct hw_stat *stat)
{
	uint32_t n = 0;

	stats_put(&stat[n++], "packet_", "rx_large", l->frames);
	stats_put(&stat[n++], "packet_", "rx_large_bad", l->bad);
	stats_put(&stat[n++], "packet_", "rx_large_nombuf", l->no_mbuf);
	stats_put(&stat[n++], "packet_", "rx_large_missing", l->missing);
	return n;
}

/* Maps counters of a memif to those of a port. */
static void sum_memif(const struct memif_counts *c, struct rte_eth_stats *sum)
{
	sum->ipackets = c->rx;
	sum->opackets = c->tx;
	sum->ierrors = c->rx_bad_buffer + c->rx_bad_chain + c->rx_bad_length;
	sum->oerrors = c->tx_no_room + c->tx_full;
	sum->rx_nombuf = c->rx_nombuf;
}

uint32_t wire_ethdev_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max)
{
	struct rte_eth_stats s = {0};
	uint32_t n = WIRE_STATS;

	if (max < WIRE_STATS + (wire->xsk ? QUEUE_STATS * xsk_num_queues(wire->xsk) : 0) ||
	    (!wire->xsk && !wire->memif && !wire->card && rte_eth_stats_get(wire->port, &s)))
		return 0;
	if (wire->card) {
		card_port_stats(wire, &s);
		n += card_stats(wire, stat + n, max - n);
	}
	if (wire->memif) {
		sum_memif(&wire->memif->counts, &s);
		n += memif_stats(wire->memif, stat + n, max - n);
	}
	if (wire->xsk)
		n += put_queues(wire, &s, stat + n);
	(void)put_port(wire, &s, stat);
	if (wire->gso && max - n >= GSO_STATS)
		n += put_gso(gso_stats(wire->gso), stat + n);
	if (wire->large && max - n >= LARGE_STATS)
		n += put_large(large_stats(wire->large), stat + n);
	if (wire->tso && max - n >= TSO_STATS)
		n += put_tso(tso_stats(wire->tso), stat + n);
	if (wire->xdp)
		n += xdp_stats(wire->xdp, stat + n, max - n);
	return n;
}
