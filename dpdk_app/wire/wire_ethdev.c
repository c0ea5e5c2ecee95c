/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DPDK port, AF_XDP sockets (xsk.c) or a memif as the wire of one NIC. The core of shard 0 owns
 * the port: it polls its queues, distributes frames to the other shards through their lanes, and
 * sends frames that they put into lanes of the port. A port that has a queue for each shard is
 * polled by all of them; the core that receives a frame of another shard passes it on.
 *
 * wire_netdev.c, wire_memif.c, wire_tap.c or wire_pci.c sets it up; calls wire_queues.c and
 * rte_ethdev.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/wire/card.h"
#include "dpdk_app/wire/gso.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/large.h"
#include "dpdk_app/wire/memif.h"
#include "dpdk_app/port.h"
#include "dpdk_app/wire/tso.h"
#include "dpdk_app/wire/vlan.h"
#include "dpdk_app/wire/wire_runs.h"
#include "dpdk_app/wire/xdp.h"
#include "dpdk_app/wire/xsk.h"

/* Receives from a ring in which large frames have left stubs. */
static uint32_t ethdev_rx_large(struct wire *wire, uint16_t queue, struct rte_mbuf **frames,
				uint32_t n)
{
	struct rte_mbuf *ring[FW_BURST];

	n = n < FW_BURST ? n : FW_BURST;
	if (!large_has(wire->large))
		large_put(wire->large, ring,
			  rte_eth_rx_burst(wire->port, queue, ring, (uint16_t)n));
	return large_get(wire->large, frames, n);
}

static uint32_t ethdev_rx_burst(struct wire *wire, uint16_t queue, struct rte_mbuf **frames,
				uint32_t n)
{
	if (wire->xsk)
		return xsk_rx(wire->xsk, queue, frames, n);
	if (wire->memif)
		return wire_memif_rx(wire, frames, n);
	if (wire->card)
		return card_rx(wire, queue, frames, n);
	if (wire->large)
		return ethdev_rx_large(wire, queue, frames, n);
	return rte_eth_rx_burst(wire->port, queue, frames, (uint16_t)n);
}

static uint32_t ethdev_tx_burst(struct wire *wire, uint16_t queue, struct rte_mbuf **frames,
				uint32_t n)
{
	if (wire->gso)
		return wire_runs_tx(wire, frames, n);
	if (wire->xsk)
		return xsk_tx(wire->xsk, frames, n);
	if (wire->memif)
		return wire_memif_tx(wire, frames, n);
	if (wire->tso_frames)
		return tso_tx(wire, queue, frames, n);
	if (wire->vlan)
		n = vlan_out(wire, queue, frames, n);
	return rte_eth_tx_burst(wire->port, queue, frames, (uint16_t)n);
}

static uint32_t ethdev_poll(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t got = 0;

	if (wire->group_rx)
		got = wire_netdev_copies(wire, frames, n);

	for (uint32_t i = 0; i < wire->num_rx_queues && got < n; i++) {
		uint16_t queue = wire->next_rx_queue;

		wire->next_rx_queue = (uint16_t)((queue + 1) % wire->num_rx_queues);
		got += ethdev_rx_burst(wire, queue, frames + got, n - got);
	}
	return got;
}

/* Keeps this shard's frames, in order, and passes on the others. */
static uint32_t ethdev_keep_own(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	struct nic *nic = shard->nic;
	uint32_t own = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		bool all = false;
		uint32_t to = fw_steer(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
				       nic->num_shards, nic->cm_ports, &all);

		if (to == shard->number && !all) {
			frames[own++] = m;
			continue;
		}
		shard->stats.rx_passed++;
		if (!port_steer(nic, shard, false, &m, 1)) {
			shard->stats.drop_rx_ring_full++;
			rte_pktmbuf_free(m);
		}
	}
	return own;
}

static uint32_t ethdev_rx(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	struct wire *wire = shard->nic->wire;
	uint32_t got;

	if (shard->nic->num_shards == 1)
		return wire->settled ? ethdev_poll(wire, frames, n) : 0;
	got = lanes_take(&shard->in, &shard->in_next, frames, n);
	shard->stats.rx_ring += got;
	if (got == n || !wire->settled || (shard->number && !wire->queue_each))
		return got;
	if (wire->queue_each)
		n = ethdev_rx_burst(wire, (uint16_t)shard->number, frames + got, n - got);
	else
		n = ethdev_poll(wire, frames + got, n - got);
	return got + ethdev_keep_own(shard, frames + got, n);
}

static uint32_t ethdev_tx(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	struct wire *wire = shard->nic->wire;
	uint32_t took;

	if (shard->number && !wire->queue_each) {
		took = lanes_put(&wire->tx, shard->core->number, frames, n);
		shard->stats.tx_ring += took;
		if (took)
			core_wake(shard->nic->shard[0].core);
		return took;
	}
	if (!wire->settled) {
		shard->stats.drop_wire_down += borrow_count(frames, n);
		rte_pktmbuf_free_bulk(frames, n);
		return n;
	}
	return ethdev_tx_burst(wire, (uint16_t)shard->number, frames, n);
}

/* A frame for another core's wire would leave after its payload may have changed. */
static uint32_t ethdev_run(const struct shard *shard, const uint8_t *mac)
{
	const struct wire *wire = shard->nic->wire;

	return wire->gso && !shard->number && gso_runs_to(gso_flows(wire->gso), mac) ? FW_RUN_MAX
										     : 1;
}

/* Any core; only the owner accesses the device itself. */
static void ethdev_group(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in)
{
	if (wire->group_fd >= 0)
		wire_netdev_group(wire, mac, ip, in);
	if (!wire->filters)
		return;
	card_filter_changed(wire);
}

static int ethdev_tcp_port(struct wire *wire, uint16_t port, bool in)
{
	return wire->xdp ? -xdp_tcp_port(wire->xdp, port, in) : 0;
}

/* Sends frames of the other cores. */
static uint32_t ethdev_pump_lanes(struct wire *wire)
{
	uint32_t sent;

	if (!wire->num_stuck)
		wire->num_stuck = lanes_take(&wire->tx, &wire->tx_next, wire->stuck, FW_BURST);
	if (!wire->num_stuck)
		return 0;
	if (!wire->settled) {
		wire->drop_down += wire->num_stuck;
		rte_pktmbuf_free_bulk(wire->stuck, wire->num_stuck);
		wire->num_stuck = 0;
		return 1;
	}
	sent = ethdev_tx_burst(wire, 0, wire->stuck, wire->num_stuck);
	wire->num_stuck -= sent;
	memmove(wire->stuck, wire->stuck + sent, wire->num_stuck * sizeof(wire->stuck[0]));
	return sent;
}

static uint32_t ethdev_pump(struct wire *wire)
{
	uint32_t sent = 0;

	if (wire->memif)
		sent = wire_memif_turn(wire);
	if (wire->card)
		card_turn(wire);
	if (wire->gso && wire->settled)
		sent += wire_runs_pump(wire);
	else if (wire->gso)
		wire->drop_down += wire_runs_drop(wire);
	if (wire->tx.num)
		sent += ethdev_pump_lanes(wire);
	return sent;
}

static bool ethdev_waiting(const struct shard *shard)
{
	const struct wire *wire = shard->nic->wire;

	if (shard->number)
		return false;
	if (wire->gso && wire_runs_held(wire))
		return true;
	if (wire->large && large_waiting(wire->large))
		return true;
	if (wire->memif && wire_memif_waiting(wire))
		return true;
	return wire->num_stuck || lanes_waiting(&wire->tx);
}

static uint64_t ethdev_next_ns(const struct shard *shard)
{
	(void)shard;
	return UINT64_MAX;
}

/*
 * Returns true if the link has changed. link.c tracks kernel interfaces, memif.c its peers, card.c
 * cards.
 */
static bool ethdev_link(struct wire *wire)
{
	struct rte_eth_link link = {0};
	struct nic *nic = wire->nic;
	bool up;

	/* Its sockets only report errors from now on. */
	if (atomic_load_explicit(&wire->gone, memory_order_acquire))
		wire->settled = false;
	if (wire->ifindex || wire->memif || wire->card ||
	    rte_eth_link_get_nowait(wire->port, &link))
		return false;
	up = link.link_status == RTE_ETH_LINK_UP;
	wire->settled = up;
	if (up == (bool)atomic_load_explicit(&nic->link_up, memory_order_relaxed))
		return false;
	atomic_store_explicit(&nic->line_mbps,
			      link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed,
			      memory_order_relaxed);
	atomic_store_explicit(&nic->link_up, up, memory_order_release);
	app_wake_control(nic->app);
	return true;
}

static bool ethdev_arm(const struct shard *shard)
{
	struct wire *wire = shard->nic->wire;

	return !wire->card || (shard->number && !wire->queue_each) ||
	       card_arm(wire, (uint16_t)shard->number);
}

static void ethdev_disarm(const struct shard *shard)
{
	struct wire *wire = shard->nic->wire;

	if (wire->card && (!shard->number || wire->queue_each))
		card_disarm(wire, (uint16_t)shard->number);
}

static void wire_ethdev_close(struct wire *wire);

const struct wire_ops wire_ethdev_ops = {
    .rx = ethdev_rx,
    .tx = ethdev_tx,
    .run = ethdev_run,
    .pump = ethdev_pump,
    .waiting = ethdev_waiting,
    .next_ns = ethdev_next_ns,
    .arm = ethdev_arm,
    .disarm = ethdev_disarm,
    .link = ethdev_link,
    .stats = wire_ethdev_stats,
    .group = ethdev_group,
    .tcp_port = ethdev_tcp_port,
    .close = wire_ethdev_close,
};

int wire_vdev_make(struct wire *wire, const char *vdev, const char *args)
{
	int level = rte_log_get_level(RTE_LOGTYPE_EAL);
	int err;

	log_nic_verbose(wire->nic->name, "device %s %s", vdev, args);
	/* The caller reports a failure once, in terms of weftd's options. */
	if (!wire->nic->app->conf.verbose) {
		rte_log_set_level(RTE_LOGTYPE_EAL, RTE_LOG_CRIT);
		rte_log_set_level_pattern("pmd.net.af_packet", RTE_LOG_CRIT);
	}
	err = rte_eal_hotplug_add("vdev", vdev, args);
	rte_log_set_level(RTE_LOGTYPE_EAL, (uint32_t)level);
	if (err)
		return err < 0 ? err : -ENODEV;
	snprintf(wire->vdev, sizeof(wire->vdev), "%s", vdev);
	err = rte_eth_dev_get_port_by_name(vdev, &wire->port);
	if (!err)
		return 0;
	rte_eal_hotplug_remove("vdev", vdev);
	wire->vdev[0] = '\0';
	return err;
}

static int ethdev_queues(struct wire *wire, const struct wire_ethdev_conf *conf)
{
	uint16_t rx_descs = conf->rx_descs, tx_descs = conf->tx_descs;
	int socket = rte_eth_dev_socket_id(wire->port);
	int err;

	err = rte_eth_dev_adjust_nb_rx_tx_desc(wire->port, &rx_descs, &tx_descs);
	for (uint16_t q = 0; !err && q < wire->num_rx_queues; q++)
		err = rte_eth_rx_queue_setup(wire->port, q, rx_descs,
					     (unsigned)(socket < 0 ? 0 : socket), NULL,
					     wire->nic->pool);
	for (uint16_t q = 0; !err && q < wire->num_tx_queues; q++)
		err = rte_eth_tx_queue_setup(wire->port, q, tx_descs,
					     (unsigned)(socket < 0 ? 0 : socket), NULL);
	return err;
}

int wire_ethdev_lanes(struct wire *wire)
{
	const struct nic *nic = wire->nic;
	uint64_t cores = 0;

	for (uint32_t i = 1; i < nic->num_shards && !wire->queue_each; i++)
		cores |= UINT64_C(1) << nic->shard[i].core->number;
	return lanes_init(&wire->tx, cores);
}

int wire_ethdev_start(struct wire *wire, const struct wire_ethdev_conf *conf)
{
	struct nic *nic = wire->nic;
	struct rte_eth_conf eth = {0};
	struct rte_eth_dev_info info;
	int err;

	err = rte_eth_dev_info_get(wire->port, &info);
	if (err)
		return err;
	if (conf->set_mtu)
		eth.rxmode.mtu = nic->mtu;
	wire->tx_csum = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	eth.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	eth.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
	eth.intr_conf.rxq = conf->rx_intr;
	wire->num_rx_queues = conf->rx_queues;
	wire->num_tx_queues = 1;
	if (conf->queue_each)
		wire_queues_plan(wire, &info, &eth);
	err = rte_eth_dev_configure(wire->port, wire->num_rx_queues, wire->num_tx_queues, &eth);
	if (!err)
		err = ethdev_queues(wire, conf);
	if (!err)
		err = rte_eth_dev_start(wire->port);
	if (!err && wire->queue_each)
		wire_queues_steer(wire);
	return err ? err : wire_ethdev_lanes(wire);
}

static void wire_ethdev_close(struct wire *wire)
{
	if (wire->gso)
		gso_close(wire->gso);
	if (wire->large)
		large_close(wire->large);
	if (wire->memif) {
		memif_close(wire->memif);
	} else if (wire->xsk) {
		xsk_close(wire->xsk);
	} else if (wire->card) {
		card_close(wire);
	} else if (wire->num_rx_queues) {
		rte_eth_dev_stop(wire->port);
		rte_eth_dev_close(wire->port);
	}
	if (wire->xdp)
		xdp_close(wire->xdp);
	if (wire->vdev[0])
		rte_eal_hotplug_remove("vdev", wire->vdev);
	rte_pktmbuf_free_bulk(wire->stuck, wire->num_stuck);
	lanes_free(&wire->tx);
	if (wire->claim_fd >= 0)
		close(wire->claim_fd);
	if (wire->group_fd >= 0)
		close(wire->group_fd);
	free(wire);
}
