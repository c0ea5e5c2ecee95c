/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP ports at an address that the NIC shares with the kernel.
 *
 * Each port of the NIC is bound by a socket that neither listens nor connects. The kernel then
 * assigns the port to no program, and frames to it do not reach the kernel. If a process has bound
 * the port first, or binding fails for another reason, the NIC cannot have it. While the address
 * belongs to the NIC alone, no socket is needed. A port is released when its last connection enters
 * TIME-WAIT. If the peer then retransmits its FIN, the kernel answers with a reset, which ends the
 * peer's LAST-ACK like an ACK.
 *
 * Runs on cores and on the control thread, when a port gets its first listener or connection and
 * when it loses the last. Calls bind(2) and fds.c.
 */
#include "dpdk_app/wire/tcp_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/client/fds.h"
#include "dpdk_app/log.h"

enum {
	PORTS = 65536,
	PORTS_SHARE = 2, /* at most half of all descriptors */
};

struct tcp_ports {
	pthread_mutex_t lock;
	volatile uint8_t *map; /* nonzero: the NIC has the port and receives its frames */
	uint32_t ip;           /* 0: not shared */
	bool reported;         /* a failed reservation was reported */
	struct tcp_ports_counts counts;
	uint8_t held[PORTS]; /* the NIC has listeners or connections there */
	int fd[PORTS];       /* socket that binds it, plus 1; 0: none */
};

struct tcp_ports *tcp_ports_new(volatile uint8_t *map)
{
	/* Unused pages of the tables are never populated. */
	struct tcp_ports *ports = calloc(1, sizeof(*ports));

	if (!ports)
		return NULL;
	pthread_mutex_init(&ports->lock, NULL);
	ports->map = map;
	return ports;
}

static void release(struct tcp_ports *ports, uint32_t port)
{
	if (!ports->fd[port])
		return;
	close(ports->fd[port] - 1);
	ports->fd[port] = 0;
	ports->counts.reserved--;
}

void tcp_ports_free(struct tcp_ports *ports)
{
	for (uint32_t port = 0; ports->counts.reserved; port++)
		release(ports, port);
	pthread_mutex_destroy(&ports->lock);
	free(ports);
}

/* Returns a socket bound to the port, or -errno. */
static int bind_port(const struct tcp_ports *ports, uint16_t port)
{
	const struct sockaddr_in addr = {
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ports->ip};
	int fd = fds_take(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), FDS_PORTS), err;

	if (fd < 0 || !bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static bool has_room(const struct tcp_ports *ports)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) &&
	       ports->counts.reserved < limit.rlim_cur / PORTS_SHARE;
}

/*
 * Returns 0, or a negative errno: the kernel has assigned the port, or could do so. The NIC must
 * not have it then, because it would receive frames for the program that uses the port.
 */
static int reserve(struct tcp_ports *ports, uint16_t port)
{
	int fd;

	if (!ports->ip || ports->fd[port])
		return 0;
	fd = has_room(ports) ? bind_port(ports, port) : -EMFILE;
	if (fd >= 0) {
		ports->fd[port] = fd + 1;
		ports->counts.reserved++;
		return 0;
	}
	if (fd != -EADDRINUSE) {
		ports->counts.refused++;
		if (!ports->reported)
			log_error("TCP port %u cannot be reserved in the kernel: %s; the NIC does "
				  "not use it%s",
				  port, strerror(-fd),
				  fd == -EACCES ? ": weftd needs CAP_NET_BIND_SERVICE"
						: ": raise the limit of weftd (ulimit -n, "
						  "LimitNOFILE=)");
		ports->reported = true;
	}
	return fd;
}

uint32_t tcp_ports_share(struct tcp_ports *ports, uint32_t ip)
{
	uint64_t lost = 0;

	pthread_mutex_lock(&ports->lock);
	for (uint32_t port = 0; ip != ports->ip && ports->counts.reserved; port++)
		release(ports, port);
	ports->ip = ip;
	for (uint32_t port = 0; port < PORTS; port++) {
		if (!ports->held[port])
			continue;
		/* At the kernel's address the kernel's program has priority. */
		ports->map[port] = !reserve(ports, (uint16_t)port);
		lost += !ports->map[port];
	}
	ports->counts.lost = lost;
	pthread_mutex_unlock(&ports->lock);
	return (uint32_t)lost;
}

int tcp_ports_take(struct tcp_ports *ports, uint16_t port)
{
	int err;

	pthread_mutex_lock(&ports->lock);
	err = reserve(ports, port);
	if (!err) {
		ports->counts.taken += !ports->held[port];
		ports->held[port] = 1;
		ports->map[port] = 1;
	}
	pthread_mutex_unlock(&ports->lock);
	return err;
}

void tcp_ports_give(struct tcp_ports *ports, uint16_t port)
{
	pthread_mutex_lock(&ports->lock);
	ports->counts.taken -= ports->held[port];
	ports->counts.lost -= ports->held[port] && !ports->map[port];
	ports->held[port] = 0;
	ports->map[port] = 0;
	release(ports, port);
	pthread_mutex_unlock(&ports->lock);
}

void tcp_ports_count(struct tcp_ports *ports, struct tcp_ports_counts *counts)
{
	pthread_mutex_lock(&ports->lock);
	*counts = ports->counts;
	pthread_mutex_unlock(&ports->lock);
}
