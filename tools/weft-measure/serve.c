/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `weft-measure serve`, the other end of target netdev. Sends datagrams back, sends bulk on
 * request, and sets its own interface on request: ESPGOAL set both nodes.
 *
 * One client at a time, in one thread. When the client has gone, in whatever way, and when this
 * program is stopped, the interface gets its initial settings back. Calls net_wire.c, net_host.c.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/weft-measure/net_host.h"
#include "tools/weft-measure/net_wire.h"
#include "tools/weft-measure/target.h"

enum {
	FD_SIGNAL,
	FD_LISTEN,
	FD_UDP,
	FD_CONTROL,
	FD_BULK,
	FDS,
	DATAGRAM_BYTES = 2048,
};

struct serve {
	struct pollfd fd[FDS]; /* -1: none */
	struct net_if nif;
	struct net_line line;
	struct sockaddr_storage client; /* whose datagrams are answered */
	uint64_t owed;                  /* bytes of bulk */
	uint8_t chunk[NET_CHUNK_BYTES];
};

/* True if both addresses are of one host. */
static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

static void hang_up(struct serve *s, int which)
{
	if (s->fd[which].fd >= 0)
		close(s->fd[which].fd);
	s->fd[which].fd = -1;
}

/* The client has gone: as if it had never been there. */
static void drop_client(struct serve *s)
{
	char error[TUNE_ERROR_CHARS];

	hang_up(s, FD_CONTROL);
	hang_up(s, FD_BULK);
	s->owed = 0;
	net_line_next(&s->line);
	if (net_if_restore(&s->nif, error))
		fprintf(stderr, "weft-measure: %s\n", error);
}

static void accept_one(struct serve *s)
{
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	int fd = accept4(s->fd[FD_LISTEN].fd, (struct sockaddr *)&from, &bytes,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	int on = 1;

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (s->fd[FD_CONTROL].fd < 0) {
		s->client = from;
		s->fd[FD_CONTROL].fd = fd;
	} else if (s->fd[FD_BULK].fd < 0 && same_host(&from, &s->client)) {
		s->fd[FD_BULK].fd = fd;
	} else {
		close(fd);
	}
}

static void echo(struct serve *s)
{
	uint8_t data[DATAGRAM_BYTES];
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	ssize_t n = recvfrom(s->fd[FD_UDP].fd, data, sizeof(data), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &bytes);

	/* A datagram that cannot be sent is lost, as any datagram may be. */
	if (n >= 0 && s->fd[FD_CONTROL].fd >= 0 && same_host(&from, &s->client))
		(void)sendto(s->fd[FD_UDP].fd, data, (size_t)n, MSG_DONTWAIT,
			     (struct sockaddr *)&from, bytes);
}

static int set_interface(struct serve *s, const char *values)
{
	struct tune_setting setting;
	char error[TUNE_ERROR_CHARS], *end;
	uint32_t i;

	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		unsigned long n = strtoul(values, &end, 10);

		if (end == values || n > UINT32_MAX)
			return net_say(s->fd[FD_CONTROL].fd, "error eight values, please");
		setting.param[i] = (uint32_t)n;
		values = end;
	}
	setting.mode = strcmp(values, " adaptive") ? TUNE_FIXED : TUNE_ADAPTIVE;
	if (net_if_apply(&s->nif, &setting, error))
		return net_say(s->fd[FD_CONTROL].fd, "error %s", error);
	return net_say(s->fd[FD_CONTROL].fd, "ok");
}

static int restore_interface(struct serve *s)
{
	char error[TUNE_ERROR_CHARS];

	if (net_if_restore(&s->nif, error))
		return net_say(s->fd[FD_CONTROL].fd, "error %s", error);
	return net_say(s->fd[FD_CONTROL].fd, "ok");
}

static int tell_host(struct serve *s)
{
	struct net_host host;
	int rc = net_host_read(s->nif.name[0] ? s->nif.name : NULL, &host);

	if (rc)
		return net_say(s->fd[FD_CONTROL].fd, "error /proc: %s", strerror(-rc));
	return net_say(s->fd[FD_CONTROL].fd, "host %lld %.6f %.6f",
		       host.has_irqs ? (long long)host.irqs : -1LL, host.busy_s, host.idle_s);
}

static int answer(struct serve *s)
{
	const char *line = s->line.text;

	if (!strcmp(line, NET_HELLO))
		return net_say(s->fd[FD_CONTROL].fd, "%s %s", NET_HELLO,
			       s->nif.name[0] ? s->nif.name : "-");
	if (!strncmp(line, "set ", 4))
		return set_interface(s, line + 4);
	if (!strcmp(line, "restore"))
		return restore_interface(s);
	if (!strcmp(line, "host"))
		return tell_host(s);
	if (strncmp(line, "send ", 5))
		return net_say(s->fd[FD_CONTROL].fd, "error unknown: %.40s", line);
	if (s->fd[FD_BULK].fd < 0)
		return net_say(s->fd[FD_CONTROL].fd, "error no second connection");
	s->owed += strtoull(line + 5, NULL, 10);
	return 0;
}

static void control(struct serve *s)
{
	int rc;

	while ((rc = net_line_read(s->fd[FD_CONTROL].fd, &s->line)) == 1) {
		rc = answer(s);
		net_line_next(&s->line);
		if (rc)
			break;
	}
	if (rc < 0)
		drop_client(s);
}

static void bulk(struct serve *s)
{
	size_t bytes = s->owed < sizeof(s->chunk) ? (size_t)s->owed : sizeof(s->chunk);
	ssize_t n = 0;

	if (bytes && s->fd[FD_BULK].revents & POLLOUT)
		n = send(s->fd[FD_BULK].fd, s->chunk, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (s->fd[FD_BULK].revents & (POLLHUP | POLLERR) || (n < 0 && errno != EAGAIN)) {
		hang_up(s, FD_BULK);
		s->owed = 0;
	} else if (n > 0) {
		s->owed -= (uint64_t)n;
	}
}

static int system_failed(const char *what, int rc)
{
	fprintf(stderr, "weft-measure: %s: %s\n", what, strerror(-rc));
	return rc;
}

static int loop(struct serve *s)
{
	for (;;) {
		s->fd[FD_BULK].events = s->owed ? POLLOUT : 0;
		if (poll(s->fd, FDS, -1) < 0 && errno != EINTR)
			return system_failed("poll", -errno);
		if (s->fd[FD_SIGNAL].revents)
			return 0;
		if (s->fd[FD_UDP].revents)
			echo(s);
		if (s->fd[FD_CONTROL].fd >= 0 && s->fd[FD_CONTROL].revents)
			control(s);
		if (s->fd[FD_BULK].fd >= 0 && s->fd[FD_BULK].revents)
			bulk(s);
		if (s->fd[FD_LISTEN].revents)
			accept_one(s);
	}
}

/* ---- start ----------------------------------------------------------------------------------- */

static int open_socket(const struct addrinfo *at, int type)
{
	int fd = socket(at->ai_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, at->ai_addr, at->ai_addrlen) || (type == SOCK_STREAM && listen(fd, 4))) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int open_port(struct serve *s, const char *address, const char *port)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *at, *first;
	int rc = getaddrinfo(address, port, &hints, &first);

	if (rc) {
		fprintf(stderr, "weft-measure: %s port %s: %s\n", address ? address : "any address",
			port, gai_strerror(rc));
		return -EINVAL;
	}
	/* Without an address: the socket of IPv6, which takes both families. */
	for (at = first; at && !address && at->ai_family != AF_INET6; at = at->ai_next)
		;
	rc = -EAFNOSUPPORT;
	if (at) {
		s->fd[FD_LISTEN].fd = rc = open_socket(at, SOCK_STREAM);
	}
	if (rc == -EAFNOSUPPORT)
		s->fd[FD_LISTEN].fd = rc = open_socket(at = first, SOCK_STREAM);
	if (rc >= 0)
		s->fd[FD_UDP].fd = rc = open_socket(at, SOCK_DGRAM);
	freeaddrinfo(first);
	if (rc < 0)
		fprintf(stderr, "weft-measure: port %s: %s\n", port, strerror(-rc));
	return rc < 0 ? rc : 0;
}

static int open_signals(struct serve *s)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	fd = sigprocmask(SIG_BLOCK, &set, NULL) ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
	s->fd[FD_SIGNAL].fd = fd;
	return fd < 0 ? system_failed("signals", -errno) : 0;
}

static int serve(struct serve *s, const char *address, const char *port, const char *iface)
{
	char error[TUNE_ERROR_CHARS];
	int rc = open_signals(s), i;

	if (!rc && iface) {
		rc = net_if_open(&s->nif, iface, error);
		if (rc)
			fprintf(stderr, "weft-measure: %s\n", error);
	}
	if (!rc)
		rc = open_port(s, address, port);
	if (!rc) {
		printf("weft-measure: serving on port %s%s%s\n", port, iface ? ", tuning " : "",
		       iface ? iface : "");
		fflush(stdout);
		rc = loop(s);
	}
	drop_client(s);
	for (i = 0; i < FDS; i++)
		hang_up(s, i);
	return rc;
}

int tune_serve(const char *address, const char *port, const char *iface)
{
	struct serve *s = calloc(1, sizeof(*s));
	int i, rc;

	if (!s) {
		fputs("weft-measure: out of memory\n", stderr);
		return EXIT_FAILURE;
	}
	for (i = 0; i < FDS; i++)
		s->fd[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	rc = serve(s, address, port, iface);
	free(s);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
