/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tap interface: the kernel of this machine is the other end of the wire.
 *
 * The kernel's end has a MAC of its own. The NIC's MAC differs, so that the kernel treats it as a
 * neighbour. Calls net_tap through wire_ethdev.c.
 */
#include "dpdk_app/wire/wire.h"

#include <errno.h>
#include <rte_log.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/log.h"

enum {
	TAP_DESCS = 512,
};

int wire_tap_open(struct nic *nic)
{
	const struct wire_ethdev_conf conf = {
	    .rx_queues = 1, .rx_descs = TAP_DESCS, .tx_descs = TAP_DESCS};
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
	wire->num_fds = wire_find_fds(0, "/dev/net/tun", wire->fd, APP_PORT_FDS);
	wire->naps = !wire->num_fds;
	nic->link_mbps = 10000;
	snprintf(wire->how, sizeof(wire->how), "tap %.15s", nic->conf->device);
	return 0;
}
