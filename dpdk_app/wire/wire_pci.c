/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network card, or a virtual function, that DPDK drives itself. It was bound to vfio-pci
 * (usertools/dpdk-devbind.py) and passed to the EAL at the start (eal.c).
 *
 * Calls rte_ethdev through wire_ethdev.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/log.h"

enum {
	PCI_DESCS = 1024,
};

/* The EAL writes addresses in full; operators omit the domain. */
static int pci_find(const char *address, uint16_t *port)
{
	char full[32];

	if (!rte_eth_dev_get_port_by_name(address, port))
		return 0;
	snprintf(full, sizeof(full), "0000:%.20s", address);
	return rte_eth_dev_get_port_by_name(full, port);
}

int wire_pci_open(struct nic *nic)
{
	const struct wire_ethdev_conf conf = {.rx_queues = 1,
					      .queue_each = true,
					      .rx_descs = PCI_DESCS,
					      .tx_descs = PCI_DESCS,
					      .set_mtu = true};
	struct wire *wire = wire_new(nic, &wire_ethdev_ops);
	struct rte_ether_addr mac;
	struct rte_eth_link link = {0};
	int err;

	if (!wire)
		return -ENOMEM;
	err = pci_find(nic->conf->device, &wire->port);
	if (err) {
		log_error(
		    "pci %s: DPDK has no port there; bind it with dpdk-devbind.py -b vfio-pci "
		    "%s",
		    nic->conf->device, nic->conf->device);
		return err;
	}
	err = wire_ethdev_start(wire, &conf);
	if (!err)
		err = rte_eth_macaddr_get(wire->port, &mac);
	if (err) {
		log_error("pci %s: starting it with MTU %u failed: %s", nic->conf->device, nic->mtu,
			  strerror(-err));
		return err;
	}
	memcpy(nic->mac, mac.addr_bytes, sizeof(nic->mac));
	wire->filters = true;
	wire->naps = true;
	nic->link_mbps = 10000;
	if (!rte_eth_link_get_nowait(wire->port, &link) && link.link_speed &&
	    link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		nic->link_mbps = link.link_speed;
	snprintf(wire->how, sizeof(wire->how), "PCI device %.40s", nic->conf->device);
	return 0;
}
