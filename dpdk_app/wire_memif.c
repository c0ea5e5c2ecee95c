/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memif: shared memory between two processes of this machine, of which one is the
 * server. Frames are copied once by each side.
 *
 * Called by nic.c; calls net_memif through wire_ethdev.c. Buffers hold a whole frame: chained
 * ones arrived short now and then.
 */
#include "dpdk_app/wire.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/guard.h"
#include "dpdk_app/log.h"
#include "shared_defs/wire_eth.h"

enum {
	MEMIF_RING_LOG2 = 10,
	MEMIF_BUFFER_SMALL = 2048,
	MEMIF_BUFFER_LARGE = 10240,
	/* Its rings are mapped and freed on another thread: leave that time after a change. */
	MEMIF_SETTLE_NS = 20000000,
};

/* A socket that a killed server left behind would refuse the next one. */
static void memif_remove_stale(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.107s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}

/* The driver calls a directory that is not there an invalid argument. */
static int memif_look(const char *path, bool server)
{
	char dir[CONF_DEVICE_CHARS];
	char *slash;
	int err;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	else
		strcpy(dir, ".");
	if (!access(dir, server ? W_OK | X_OK : X_OK))
		return 0;
	err = -errno;
	log_error("memif at %s: its directory %s: %s", path, dir, strerror(-err));
	return err;
}

void wire_memif_restart(struct wire *wire)
{
	if (!atomic_load_explicit(&wire->restart, memory_order_acquire))
		return;
	/* The owner keeps off the port while the request stands. */
	(void)rte_eth_dev_stop(wire->port);
	if (!rte_eth_dev_start(wire->port))
		log_verbose("%s: connecting to its memif server", wire->nic->name);
	atomic_store_explicit(&wire->restart, false, memory_order_release);
}

int wire_memif_open(struct nic *nic)
{
	struct wire_ethdev_conf conf = {.rx_queues = 1, .rx_descs = 0, .tx_descs = 0};
	const char *path = nic->conf->device;
	bool server = nic->conf->memif_server;
	struct wire *wire;
	uint32_t frame = nic->mtu + (uint32_t)sizeof(struct wire_eth);
	char vdev[32];
	char args[320];
	int err = memif_look(path, server);

	if (err)
		return err;
	wire = wire_new(nic, &wire_ethdev_ops);
	if (!wire)
		return -ENOMEM;
	if (server)
		memif_remove_stale(path);
	snprintf(vdev, sizeof(vdev), "net_memif%u", nic->index);
	snprintf(args, sizeof(args),
		 "role=%s,socket=%s,socket-abstract=no,bsize=%d,rsize=%d,"
		 "mac=%02x:%02x:%02x:%02x:%02x:%02x",
		 server ? "server" : "client", path,
		 frame <= MEMIF_BUFFER_SMALL ? MEMIF_BUFFER_SMALL : MEMIF_BUFFER_LARGE,
		 MEMIF_RING_LOG2, nic->mac[0], nic->mac[1], nic->mac[2], nic->mac[3], nic->mac[4],
		 nic->mac[5]);
	wire->guarded = true;
	if (server)
		snprintf(wire->unlink_path, sizeof(wire->unlink_path), "%.107s", path);
	wire->reconnects = !server;
	/* A server that is not there is no error to be told every second. */
	rte_log_set_level_pattern("pmd.net.memif", RTE_LOG_CRIT);
	err = guard_init();
	if (!err)
		err = wire_vdev_make(wire, vdev, args);
	if (!err) {
		conf.rx_descs = conf.tx_descs = 1 << MEMIF_RING_LOG2;
		err = wire_ethdev_start(wire, &conf);
	}
	if (err) {
		log_error("memif at %s: %s; is another weftd its server already?", path,
			  strerror(-err));
		return err;
	}
	/* Its interrupt is raised by the peer only where both ends arm it: look instead. */
	wire->naps = true;
	wire->settle_ns = MEMIF_SETTLE_NS;
	nic->link_mbps = 100000;
	snprintf(wire->how, sizeof(wire->how), "memif %s at %.60s", server ? "server" : "client",
		 path);
	return 0;
}
