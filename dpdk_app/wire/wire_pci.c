/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network card, or a virtual function, that DPDK drives itself. nic_plan.c has looked whether it
 * can be used (pci_card.c) and has claimed it, eal.c has passed it to the EAL.
 *
 * Calls card.c, and rte_ethdev through wire_ethdev.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <string.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire/card.h"

int wire_pci_open(struct nic *nic)
{
	struct wire *wire = wire_new(nic, &wire_ethdev_ops);
	int err;

	if (!wire)
		return -ENOMEM;
	err = rte_eth_dev_get_port_by_name(nic->conf->device, &wire->port);
	if (err) {
		log_error("pci %s: no driver of DPDK took the card; --verbose shows which were "
			  "tried, and why not",
			  nic->conf->device);
		return err;
	}
	err = card_open(wire);
	if (err) {
		log_error("pci %s: starting it with MTU %u failed: %s; --verbose shows the "
			  "driver's messages",
			  nic->conf->device, nic->mtu, strerror(-err));
		return err;
	}
	wire->filters = true;
	return wire_ethdev_lanes(wire);
}
