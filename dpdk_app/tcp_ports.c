/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of TCP at an address that the NIC shares with the kernel.
 *
 * A port that the NIC has is bound by a socket that neither listens nor connects: the kernel then
 * gives it to nobody, and frames to it never reach it. Where a process has bound it first, the NIC
 * cannot have it. While the address is the NIC's alone no socket is needed. A port is given back as
 * its last connection enters TIME-WAIT: a FIN that the peer sends once more meets the kernel then,
 * whose reset ends the peer's LAST-ACK as an ACK would.
 *
 * Called by xdp.c, on cores and on the control thread, when a port gets its first listener or
 * connection, and when it has lost the last; calls bind(2).
 */
#include "dpdk_app/tcp_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"

enum {
	PORTS = 65536,
};

struct tcp_ports {
	pthread_mutex_t lock;
	volatile uint8_t *map;
	uint32_t ip; /* 0: not shared */
	bool told;   /* that a reservation failed */
	uint64_t taken, reserved;
	uint64_t max_reserved; /* processes and events need descriptors, too */
	int fd[PORTS];         /* that bind it, and 1; 0: none */
};

struct tcp_ports *tcp_ports_new(volatile uint8_t *map)
{
	/* Pages of fd that are never used are never touched. */
	struct tcp_ports *ports = calloc(1, sizeof(*ports));
	struct rlimit limit;

	if (!ports)
		return NULL;
	pthread_mutex_init(&ports->lock, NULL);
	ports->map = map;
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		ports->max_reserved = limit.rlim_cur / 2;
	return ports;
}

static void release(struct tcp_ports *ports, uint32_t port)
{
	if (!ports->fd[port])
		return;
	close(ports->fd[port] - 1);
	ports->fd[port] = 0;
	ports->reserved--;
}

void tcp_ports_free(struct tcp_ports *ports)
{
	for (uint32_t port = 0; ports->reserved; port++)
		release(ports, port);
	pthread_mutex_destroy(&ports->lock);
	free(ports);
}

/* A socket that has the port, or -errno. */
static int bind_port(const struct tcp_ports *ports, uint16_t port)
{
	const struct sockaddr_in addr = {
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ports->ip};
	int fd, err;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Fails only where the kernel has given the port to somebody. */
static int reserve(struct tcp_ports *ports, uint16_t port)
{
	int fd, err;

	if (!ports->ip || ports->fd[port])
		return 0;
	fd = bind_port(ports, port);
	if (fd == -EADDRINUSE)
		return fd;
	if (fd >= 0 && ports->reserved < ports->max_reserved) {
		ports->fd[port] = fd + 1;
		ports->reserved++;
		return 0;
	}
	err = fd < 0 ? -fd : EMFILE;
	if (fd >= 0)
		close(fd);
	/* No descriptor left, or no right to a low port: the NIC works, unprotected. */
	if (!ports->told)
		log_error("port %u of TCP cannot be kept from the kernel's processes: %s; programs "
			  "there must not use the NIC's ports",
			  port, strerror(err));
	ports->told = true;
	return 0;
}

uint32_t tcp_ports_share(struct tcp_ports *ports, uint32_t ip)
{
	uint32_t in_use = 0;

	pthread_mutex_lock(&ports->lock);
	for (uint32_t port = 0; ip != ports->ip && ports->reserved; port++)
		release(ports, port);
	ports->ip = ip;
	for (uint32_t port = 0; port < PORTS; port++)
		in_use += ports->map[port] && reserve(ports, (uint16_t)port);
	pthread_mutex_unlock(&ports->lock);
	return in_use;
}

int tcp_ports_take(struct tcp_ports *ports, uint16_t port)
{
	int err;

	pthread_mutex_lock(&ports->lock);
	err = reserve(ports, port);
	if (!err) {
		ports->taken += !ports->map[port];
		ports->map[port] = 1;
	}
	pthread_mutex_unlock(&ports->lock);
	return err;
}

void tcp_ports_give(struct tcp_ports *ports, uint16_t port)
{
	pthread_mutex_lock(&ports->lock);
	ports->taken -= ports->map[port];
	ports->map[port] = 0;
	release(ports, port);
	pthread_mutex_unlock(&ports->lock);
}

void tcp_ports_count(struct tcp_ports *ports, uint64_t *taken, uint64_t *reserved)
{
	pthread_mutex_lock(&ports->lock);
	*taken = ports->taken;
	*reserved = ports->reserved;
	pthread_mutex_unlock(&ports->lock);
}
