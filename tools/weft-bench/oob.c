/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange between client and server over TCP; see oob.h.
 */
#include "tools/weft-bench/oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"

enum {
	OOB_LINE_BYTES = 4096,
	OOB_RETRY_US = 20000, /* between attempts while no server listens */
};

/* The socket's port; sin_port has the same place in both families. */
static uint16_t port_of(int fd)
{
	struct sockaddr_in6 addr = {0};
	socklen_t bytes = sizeof(addr);

	return getsockname(fd, (struct sockaddr *)&addr, &bytes) ? 0 : ntohs(addr.sin6_port);
}

int oob_listen(const struct opts *o, int *listen_fd)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(o->port)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(o->port)};
	int on = 1, off = 0, rc, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = bind(fd, (struct sockaddr *)&any, sizeof(any));
	} else {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return fail("no TCP socket: %s", strerror(errno));
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	}
	if (rc || listen(fd, 64)) {
		fail("cannot listen on TCP port %u: %s; give another --port", o->port,
		     strerror(errno));
		close(fd);
		return -1;
	}
	fprintf(stderr, "weft-bench: listening on port %u\n", port_of(fd));
	*listen_fd = fd;
	return 0;
}

static void oob_init(const struct opts *o, struct oob *oob, int fd)
{
	int on = 1;

	oob->fd = fd;
	oob->timeout_ms = (int)(o->timeout_s * 1000) + 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int oob_accept(const struct opts *o, int listen_fd, struct oob *oob)
{
	struct pollfd p = {.fd = listen_fd, .events = POLLIN};
	int fd;

	if (poll(&p, 1, (int)(o->timeout_s * 1000) + 1) <= 0)
		return fail("no client came within %g s", o->timeout_s);
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return fail("accept: %s", strerror(errno));
	oob_init(o, oob, fd);
	return 0;
}

static int try_connect(const struct addrinfo *list)
{
	const struct addrinfo *a;
	int fd, err = ECONNREFUSED;

	for (a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0) {
			err = errno;
			continue;
		}
		if (!connect(fd, a->ai_addr, a->ai_addrlen))
			return fd;
		err = errno;
		close(fd);
	}
	return -err;
}

int oob_connect(const struct opts *o, struct oob *oob)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	uint64_t until = clock_now_ns() + (uint64_t)(o->timeout_s * 1e9);
	char port[8];
	int rc, fd;

	snprintf(port, sizeof(port), "%u", o->port);
	rc = getaddrinfo(o->connect, port, &hints, &list);
	if (rc)
		return fail("--connect %s: %s", o->connect, gai_strerror(rc));
	while ((fd = try_connect(list)) < 0 && clock_now_ns() < until)
		usleep(OOB_RETRY_US);
	freeaddrinfo(list);
	if (fd < 0)
		return fail("no server at %s port %s: %s; start weft-bench --server there",
			    o->connect, port, strerror(-fd));
	oob_init(o, oob, fd);
	return 0;
}

int oob_open(const struct opts *o, struct oob *oob)
{
	int rc, listen_fd;

	if (o->connect)
		return oob_connect(o, oob);
	if (oob_listen(o, &listen_fd))
		return -1;
	rc = oob_accept(o, listen_fd, oob);
	close(listen_fd);
	return rc;
}

void oob_close(struct oob *oob)
{
	if (oob->fd >= 0)
		close(oob->fd);
	oob->fd = -1;
}

int oob_send_bytes(struct oob *oob, const void *data, size_t bytes)
{
	const char *p = data;
	ssize_t n;

	while (bytes) {
		n = send(oob->fd, p, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail("the other end has gone: %s", strerror(errno));
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int oob_recv_bytes(struct oob *oob, void *data, size_t bytes)
{
	struct pollfd p = {.fd = oob->fd, .events = POLLIN};
	char *to = data;
	ssize_t n;

	while (bytes) {
		if (poll(&p, 1, oob->timeout_ms) == 0)
			return fail("the other end says nothing for %d s", oob->timeout_ms / 1000);
		n = recv(oob->fd, to, bytes, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail("the other end has gone");
		to += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int oob_send(struct oob *oob, json_t *msg)
{
	char *text = json_dumps(msg, JSON_COMPACT);
	int rc;

	json_decref(msg);
	if (!text)
		return fail("out of memory");
	rc = oob_send_bytes(oob, text, strlen(text));
	free(text);
	return rc ? rc : oob_send_bytes(oob, "\n", 1);
}

int oob_recv(struct oob *oob, json_t **msg)
{
	char line[OOB_LINE_BYTES];
	json_error_t error;
	size_t n = 0;

	/* Byte by byte: the line may be followed by a block of bytes. */
	do {
		if (n == sizeof(line))
			return fail("the other end is no weft-bench");
		if (oob_recv_bytes(oob, line + n, 1))
			return -1;
	} while (line[n++] != '\n');
	*msg = json_loadb(line, n, 0, &error);
	if (!json_is_object(*msg)) {
		json_decref(*msg);
		return fail("the other end is no weft-bench: %s", error.text);
	}
	return 0;
}

bool oob_ready(const struct oob *oob)
{
	struct pollfd p = {.fd = oob->fd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

int oob_number(const json_t *msg, const char *key, uint64_t max, uint64_t *out)
{
	const json_t *v = json_object_get(msg, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) > max)
		return fail("the other end's '%s' is missing or wrong", key);
	*out = (uint64_t)json_integer_value(v);
	return 0;
}
