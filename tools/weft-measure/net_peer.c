/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The near end of --netdev; see net_peer.h.
 */
#include "tools/weft-measure/net_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/clock.h"

enum {
	LOOK_MS = 100,
	CONNECT_MS = 5000,
	SILENT_MS = 10000, /* the other end has stopped, or the path has */
	RESEND_MS = 500,
};

bool net_peer_parse(const char *where, char *address, size_t address_chars, char *port,
		    size_t port_chars)
{
	const char *end = where[0] == '[' ? strchr(where, ']') : strchr(where, ':');
	size_t skip = where[0] == '[', chars;
	unsigned long number;
	char *digits_end;

	/* Two colons and no brackets: an IPv6 address without a port. */
	if (end && !skip && strchr(end + 1, ':'))
		end = NULL;
	if (skip && !end)
		return false;
	chars = end ? (size_t)(end - where) - skip : strlen(where);
	if (!chars || chars >= address_chars)
		return false;
	memcpy(address, where + skip, chars);
	address[chars] = '\0';
	snprintf(port, port_chars, "%d", NET_PORT);
	if (end && skip)
		end = end[1] ? end + 1 : NULL;
	if (!end)
		return true;
	number = strtoul(end + 1, &digits_end, 10);
	if (*end != ':' || digits_end == end + 1 || *digits_end || !number || number > 65535)
		return false;
	snprintf(port, port_chars, "%lu", number);
	return true;
}

void net_peer_init(struct net_peer *peer, const char *where, const char *iface)
{
	memset(peer, 0, sizeof(*peer));
	snprintf(peer->where, sizeof(peer->where), "%s", where);
	snprintf(peer->iface, sizeof(peer->iface), "%s", iface);
	peer->control = peer->bulk = peer->udp = -1;
}

bool net_peer_is_open(const struct net_peer *peer)
{
	return peer->control >= 0;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void net_peer_close(struct net_peer *peer)
{
	shut(&peer->control);
	shut(&peer->bulk);
	shut(&peer->udp);
	net_line_next(&peer->line);
}

static int gone(const struct net_peer *peer, char *error)
{
	return tune_error(error, -EPIPE, "the other end, %s, has gone (weft-tune serve)",
			  peer->where);
}

/* Waits for input. -EINTR, -ETIMEDOUT after limit_ms. */
static int wait_input(int fd, short events, uint32_t limit_ms, const volatile bool *stop)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint32_t waited_ms;

	for (waited_ms = 0; waited_ms < limit_ms; waited_ms += LOOK_MS) {
		if (*stop)
			return -EINTR;
		if (poll(&p, 1, LOOK_MS) > 0)
			return 0;
	}
	return -ETIMEDOUT;
}

/* The next line of the other end. */
static int listen_line(struct net_peer *peer, const volatile bool *stop, char *error)
{
	int rc;

	net_line_next(&peer->line);
	while (!(rc = net_line_read(peer->control, &peer->line))) {
		rc = wait_input(peer->control, POLLIN, SILENT_MS, stop);
		if (rc)
			break;
	}
	if (rc == -EINTR)
		return tune_error(error, rc, "stopped");
	if (rc == -ETIMEDOUT)
		return tune_error(error, rc, "%s does not answer", peer->where);
	return rc < 0 ? gone(peer, error) : 0;
}

/* A question and its answer, which begins with a word. */
static int ask(struct net_peer *peer, const char *question, const char *word,
	       const volatile bool *stop, char *error)
{
	int rc = net_say(peer->control, "%s", question);

	if (rc)
		return gone(peer, error);
	rc = listen_line(peer, stop, error);
	if (!rc && strncmp(peer->line.text, word, strlen(word)))
		rc = tune_error(error, -EPROTO, "%s: %.160s", peer->where,
				!strncmp(peer->line.text, "error ", 6) ? peer->line.text + 6
								       : peer->line.text);
	return rc;
}

static int connect_one(const struct net_peer *peer, const struct addrinfo *at, int type,
		       const volatile bool *stop)
{
	int fd = socket(at->ai_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, rc = 0;
	socklen_t bytes = sizeof(rc);

	if (fd < 0)
		return -errno;
	/* Traffic by another interface would measure that one. */
	if (peer->iface[0] && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, peer->iface,
					 (socklen_t)strlen(peer->iface)))
		rc = -errno;
	if (type == SOCK_STREAM)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!rc && connect(fd, at->ai_addr, at->ai_addrlen)) {
		rc = -errno;
		if (rc == -EINPROGRESS)
			rc = wait_input(fd, POLLOUT, CONNECT_MS, stop);
		if (!rc && getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &bytes))
			rc = -errno;
		rc = rc > 0 ? -rc : rc;
	}
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

/* Blocks in recv(), as a program would, and looks up now and then. */
static int make_blocking(int fd, uint32_t ms)
{
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		return -errno;
	return 0;
}

/* The connection for bulk, and the socket for pings; the other end knows whose they are. */
static int open_rest(struct net_peer *peer, const struct addrinfo *at, const volatile bool *stop)
{
	int rc = 0;

	peer->bulk = connect_one(peer, at, SOCK_STREAM, stop);
	peer->udp = connect_one(peer, at, SOCK_DGRAM, stop);
	if (peer->bulk < 0 || peer->udp < 0)
		rc = peer->bulk < 0 ? peer->bulk : peer->udp;
	if (!rc)
		rc = make_blocking(peer->bulk, LOOK_MS);
	return rc ? rc : make_blocking(peer->udp, LOOK_MS);
}

static int open_at(struct net_peer *peer, const struct addrinfo *at, const volatile bool *stop,
		   char *error)
{
	int rc;

	peer->control = connect_one(peer, at, SOCK_STREAM, stop);
	if (peer->control < 0)
		return tune_error(error, peer->control, "%s cannot be reached%s%s: %s", peer->where,
				  peer->iface[0] ? " through " : "", peer->iface,
				  strerror(-peer->control));
	rc = ask(peer, NET_HELLO, NET_HELLO, stop, error);
	if (rc)
		return rc;
	rc = open_rest(peer, at, stop);
	return rc ? tune_error(error, rc, "%s: the connection for bulk: %s", peer->where,
			       strerror(-rc))
		  : 0;
}

int net_peer_open(struct net_peer *peer, const volatile bool *stop, char *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *at;
	char address[128], port[8];
	int rc;

	if (!peer->where[0])
		return tune_error(error, -EINVAL,
				  "%s: say --peer ADDRESS[:PORT], where `weft-tune "
				  "serve` runs",
				  peer->iface);
	if (!net_peer_parse(peer->where, address, sizeof(address), port, sizeof(port)))
		return tune_error(error, -EINVAL, "--peer: '%s' is not ADDRESS[:PORT]",
				  peer->where);
	rc = getaddrinfo(address, port, &hints, &at);
	if (rc)
		return tune_error(error, -EINVAL, "--peer: %s: %s", address, gai_strerror(rc));
	rc = open_at(peer, at, stop, error);
	freeaddrinfo(at);
	if (rc)
		net_peer_close(peer);
	return rc;
}

int net_peer_set(struct net_peer *peer, const struct tune_setting *setting,
		 const volatile bool *stop, char *error)
{
	char question[NET_LINE_CHARS] = "restore";
	size_t at = 4;
	uint32_t i;

	if (!setting)
		return ask(peer, question, "ok", stop, error);
	snprintf(question, sizeof(question), "set ");
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		at += (size_t)snprintf(question + at, sizeof(question) - at, "%s%u", i ? " " : "",
				       setting->param[i]);
	if (setting->mode == TUNE_ADAPTIVE)
		snprintf(question + at, sizeof(question) - at, " adaptive");
	return ask(peer, question, "ok", stop, error);
}

int net_peer_host(struct net_peer *peer, struct net_host *host, const volatile bool *stop,
		  char *error)
{
	long long irqs;
	int rc = ask(peer, "host", "host ", stop, error);

	if (rc)
		return rc;
	if (sscanf(peer->line.text, "host %lld %lf %lf", &irqs, &host->busy_s, &host->idle_s) != 3)
		return tune_error(error, -EPROTO, "%s: %.160s", peer->where, peer->line.text);
	host->has_irqs = irqs >= 0;
	host->irqs = irqs < 0 ? 0 : (uint64_t)irqs;
	return 0;
}

/* -EPIPE when the other end has hung up, -EINTR, else 0. */
static int still_there(const struct net_peer *peer, const volatile bool *stop, char *error)
{
	char c;
	ssize_t n = recv(peer->control, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	if (*stop)
		return tune_error(error, -EINTR, "stopped");
	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		return gone(peer, error);
	return 0;
}

int net_peer_ping(struct net_peer *peer, double *ns, const volatile bool *stop, char *error)
{
	uint64_t begin_ns = clock_now_ns(), sent_ns, got;
	ssize_t n;
	int rc = 0;

	while (clock_now_ns() - begin_ns < (uint64_t)SILENT_MS * 1000000) {
		peer->ping++;
		sent_ns = clock_now_ns();
		/* The error may be an earlier datagram's: the answer decides. */
		(void)send(peer->udp, &peer->ping, sizeof(peer->ping), MSG_NOSIGNAL);
		do {
			n = recv(peer->udp, &got, sizeof(got), 0);
			if (n == sizeof(got) && got == peer->ping) {
				*ns = (double)(clock_now_ns() - sent_ns) / 2;
				return 0;
			}
			rc = n < 0 ? still_there(peer, stop, error) : 0;
		} while (!rc && clock_now_ns() - sent_ns < (uint64_t)RESEND_MS * 1000000);
		if (rc)
			return rc;
	}
	return tune_error(error, -ETIMEDOUT,
			  "%s answers no ping: does a firewall stop UDP of its port?", peer->where);
}

int net_peer_bulk(struct net_peer *peer, uint64_t bytes, double *ns, const volatile bool *stop,
		  char *error)
{
	static uint8_t chunk[NET_CHUNK_BYTES];
	uint64_t begin_ns = clock_now_ns(), heard_ns = begin_ns;
	ssize_t n;
	int rc = net_say(peer->control, "send %llu", (unsigned long long)bytes);

	if (rc)
		return gone(peer, error);
	while (bytes) {
		n = recv(peer->bulk, chunk, bytes < sizeof(chunk) ? bytes : sizeof(chunk), 0);
		if (n > 0) {
			bytes -= (uint64_t)n;
			heard_ns = 0;
			continue;
		}
		if (!n || (errno != EAGAIN && errno != EINTR))
			return gone(peer, error);
		rc = still_there(peer, stop, error);
		if (rc)
			return rc;
		if (!heard_ns)
			heard_ns = clock_now_ns();
		if (clock_now_ns() - heard_ns > (uint64_t)SILENT_MS * 1000000)
			return tune_error(error, -ETIMEDOUT, "%s sends no more", peer->where);
	}
	*ns = (double)(clock_now_ns() - begin_ns);
	return 0;
}
