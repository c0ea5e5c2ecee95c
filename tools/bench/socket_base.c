/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in which the kernel makes N end points of its own, and closes them: N UDP sockets, each
 * bound, connected and watched by one epoll. The baseline of create_1000_qps_ms.
 *
 *	socket_base N
 *
 * Prints two numbers: milliseconds to make them, milliseconds to close them. The second of two
 * rounds counts. tools/bench/bench.py runs it.
 */
#include "lib/clock.h"
#include "tools/bench/base.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
	MAX_SOCKETS = 100000,
	PEER_PORT = 9, /* connect() of a datagram socket sends nothing */
};

static int open_one(int epoll_fd)
{
	struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in peer = self;
	struct epoll_event event = {.events = EPOLLIN};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	peer.sin_port = htons(PEER_PORT);
	if (fd < 0 || bind(fd, (struct sockaddr *)&self, sizeof(self)) ||
	    connect(fd, (struct sockaddr *)&peer, sizeof(peer)))
		die("a socket");
	event.data.fd = fd;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
	return fd;
}

int main(int argc, char **argv)
{
	long num = argc == 2 ? atol(argv[1]) : 0;
	uint64_t start, made, closed;
	struct rlimit limit;
	int *fd, epoll_fd;

	if (num <= 0 || num > MAX_SOCKETS) {
		fprintf(stderr, "usage: socket_base N (1 to %d)\n", MAX_SOCKETS);
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit))
		die("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("setrlimit");
	fd = calloc((size_t)num, sizeof(*fd));
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!fd || epoll_fd < 0)
		die("epoll");
	for (int round = 0; round < 2; round++) {
		start = clock_now_ns();
		for (long i = 0; i < num; i++)
			fd[i] = open_one(epoll_fd);
		made = clock_now_ns();
		for (long i = 0; i < num; i++)
			close(fd[i]);
		closed = clock_now_ns();
	}
	printf("%.3f %.3f\n", (double)(made - start) / 1e6, (double)(closed - made) / 1e6);
	free(fd);
	return 0;
}
