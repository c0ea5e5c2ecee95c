/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tap interface: the kernel of this machine is the other end of the wire.
 *
 * The kernel's end has a MAC of its own. The NIC's MAC differs, so that the kernel treats it as a
 * neighbour. Calls net_tap through wire_ethdev.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/log.h"

enum {
	TAP_DESCS = 512,
};

/* Finds the descriptor of each queue, which wakes the core of its shard. */
static void tap_fds(struct wire *wire)
{
	wire->num_fds = 0;
	for (uint16_t q = 0; q < wire->num_rx_queues; q++) {
		int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(wire->port, q);

		if (fd < 0)
			break;
		wire->fd[wire->num_fds] = fd;
		wire->fd_shard[wire->num_fds++] = (uint8_t)q;
	}
	wire->naps = wire->num_fds != wire->num_rx_queues;
}

int wire_tap_open(struct nic *nic)
{
	const struct wire_ethdev_conf conf = {.rx_queues = 1,
					      .queue_each = true,
					      .rx_intr = true,
					      .rx_descs = TAP_DESCS,
					      .tx_descs = TAP_DESCS};
	struct wire *wire = wire_new(nic, &wire_ethdev_ops);
	char vdev[32];
	char args[64];
	int err;

	if (!wire)
		return -ENOMEM;
	snprintf(vdev, sizeof(vdev), "net_tap%u", nic->index);
	snprintf(args, sizeof(args), "iface=%.15s", nic->conf->device);
	/* It warns about features that are not needed here. */
	if (!nic->app->conf.verbose)
		rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
	err = wire_vdev_make(wire, vdev, args);
	if (!err)
		err = wire_ethdev_start(wire, &conf);
	if (err) {
		log_error(
		    "tap %s: %s; it needs CAP_NET_ADMIN, /dev/net/tun and an unused interface name",
		    nic->conf->device, strerror(-err));
		return err;
	}
	tap_fds(wire);
	nic->link_mbps = 10000;
	snprintf(wire->how, sizeof(wire->how), "tap %.15s", nic->conf->device);
	return 0;
}
