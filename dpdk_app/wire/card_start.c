/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configures and starts a card: see card_start.h.
 *
 * Drivers differ in what they refuse, so a card is tried with receive interrupts and a queue for
 * each shard first, then without. Calls rte_ethdev, wire_queues.c, tso.c, vlan.c and card_info.c.
 */
#include "dpdk_app/wire/card_start.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <stdio.h>

#include "dpdk_app/app.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/card_info.h"
#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/tso.h"
#include "dpdk_app/wire/vlan.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_eth.h"

enum {
	CARD_DESCS = 1024,
	CARD_VLAN_BYTES = 8, /* two tags, which drivers leave room for */
};

/* Drivers may use of a buffer the largest power of two alone. */
static uint32_t buffer_used(const struct rte_mempool *pool)
{
	uint32_t room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool) -
			RTE_PKTMBUF_HEADROOM;

	return 1u << (31 - __builtin_clz(room));
}

static bool card_needs_scatter(const struct nic *nic)
{
	return nic->mtu + sizeof(struct wire_eth) + CARD_VLAN_BYTES > buffer_used(nic->pool);
}

static int card_fit_mtu(struct nic *nic, const struct rte_eth_dev_info *info)
{
	uint32_t most = info->max_mtu;

	if (nic->mtu <= most)
		return 0;
	if (!nic->app->conf.mtu && most >= HW_MIN_MTU) {
		nic->mtu = most;
		return 0;
	}
	log_error("pci %s: the card takes packets of %u bytes at most: --mtu %u", nic->conf->device,
		  most, most < HW_MIN_MTU ? HW_MIN_MTU : most);
	return -EINVAL;
}

static int card_queues(struct wire *wire)
{
	uint16_t rx_descs = CARD_DESCS, tx_descs = CARD_DESCS;
	int node = rte_eth_dev_socket_id(wire->port);
	unsigned socket = node < 0 ? 0 : (unsigned)node;
	int err;

	err = rte_eth_dev_adjust_nb_rx_tx_desc(wire->port, &rx_descs, &tx_descs);
	for (uint16_t q = 0; !err && q < wire->num_rx_queues; q++)
		err =
		    rte_eth_rx_queue_setup(wire->port, q, rx_descs, socket, NULL, wire->nic->pool);
	for (uint16_t q = 0; !err && q < wire->num_tx_queues; q++)
		err = rte_eth_tx_queue_setup(wire->port, q, tx_descs, socket, NULL);
	return err;
}

/* Configures and starts it. interrupts: of its receive queues; each: a queue for each shard. */
static int card_try(struct wire *wire, const struct rte_eth_dev_info *info, bool interrupts,
		    bool each)
{
	uint64_t rx = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
	struct rte_eth_conf eth = {.intr_conf.rxq = interrupts};
	int err;

	if (card_needs_scatter(wire->nic))
		rx |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	eth.rxmode.mtu = wire->nic->mtu;
	eth.rxmode.offloads = rx;
	eth.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	wire->tx_csum = eth.txmode.offloads;
	tso_request(wire, info, &eth);
	vlan_request(wire, info, &eth);
	wire->num_rx_queues = wire->num_tx_queues = 1;
	wire->queue_each = false;
	if (each)
		wire_queues_plan(wire, info, &eth);
	err = rte_eth_dev_configure(wire->port, wire->num_rx_queues, wire->num_tx_queues, &eth);
	if (!err)
		err = card_queues(wire);
	if (!err)
		err = rte_eth_dev_start(wire->port);
	return err ? err : vlan_let_in(wire);
}

/* Interrupts by INTx are shared with the link's, and wait for a thread of DPDK's. */
static bool card_can_wake(struct wire *wire)
{
	if (!pci_card_has_msi(PCI_CARD_SYS, wire->nic->conf->device))
		return false;
	for (uint16_t q = 0; q < wire->num_rx_queues; q++) {
		int fd;

		if (rte_eth_dev_rx_intr_enable(wire->port, q) ||
		    rte_eth_dev_rx_intr_disable(wire->port, q))
			return false;
		fd = rte_eth_dev_rx_intr_ctl_q_get_fd(wire->port, q);
		if (fd < 0)
			return false;
		wire->fd[q] = fd;
		wire->fd_shard[q] = (uint8_t)q;
	}
	return true;
}

/* Messages of drivers are of use with --verbose only: the caller reports a failure once. */
int card_start(struct wire *wire, bool may_wake, bool *wakes)
{
	bool quiet = may_wake && !wire->nic->app->conf.verbose;
	struct rte_eth_dev_info info;
	int err = rte_eth_dev_info_get(wire->port, &info);

	if (!err)
		err = card_fit_mtu(wire->nic, &info);
	if (err)
		return err;
	*wakes = false;
	if (quiet)
		(void)rte_log_set_level_pattern("pmd.net.*", RTE_LOG_CRIT);
	if (may_wake && !card_try(wire, &info, true, true)) {
		*wakes = card_can_wake(wire);
		if (!*wakes)
			err = rte_eth_dev_stop(wire->port);
	}
	if (quiet)
		(void)rte_log_set_level_pattern("pmd.net.*", RTE_LOG_ERR);
	if (!err && !*wakes)
		err = card_try(wire, &info, false, true);
	/* Some drivers offer more queues than their device has. */
	if (err && wire->queue_each)
		err = card_try(wire, &info, false, false);
	wire->num_fds = *wakes ? wire->num_rx_queues : 0;
	wire->naps = true;
	if (err)
		return err;
	wire->num_flows = 0;
	if (wire->queue_each)
		wire_queues_steer(wire);
	snprintf(wire->how, sizeof(wire->how), "PCI card %.12s by %.32s", wire->nic->conf->device,
		 info.driver_name);
	wire->nic->link_mbps = card_info_mbps(&info);
	card_info_say(wire, &info, *wakes);
	return 0;
}
