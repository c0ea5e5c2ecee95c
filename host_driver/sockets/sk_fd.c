/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors: calls that copy, close and modify them.
 *
 * Calls sk_table.c, sk_epoll.c, rsockets and the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"

/* Removes the table's entry first: the number may be reused as soon as it is closed. */
SK_API int close(int fd)
{
	sk_remove(fd);
	sk_epoll_closed(fd);
	return REAL->close(fd);
}

SK_API int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		for (unsigned int fd = first; fd <= last && fd < SK_FDS_MAX; fd++) {
			sk_remove((int)fd);
			sk_epoll_closed((int)fd);
		}
	return REAL->close_range(first, last, flags);
}

SK_API void closefrom(int first)
{
	(void)close_range(first < 0 ? 0 : (unsigned int)first, UINT_MAX, 0);
}

/* Makes to an alias of from; the previous meaning of to is gone. */
static void copied(int from, int to)
{
	struct sk *sk = sk_get(from);

	if (from == to) {
		if (sk)
			sk_put(sk);
		return;
	}
	sk_remove(to);
	sk_epoll_closed(to);
	if (sk) {
		(void)sk_install(to, sk);
		sk_put(sk);
	}
}

SK_API int dup(int fd)
{
	int to = REAL->dup(fd);

	if (to >= 0)
		copied(fd, to);
	return to;
}

SK_API int dup2(int fd, int to)
{
	int rc = REAL->dup2(fd, to);

	if (rc >= 0)
		copied(fd, to);
	return rc;
}

SK_API int dup3(int fd, int to, int flags)
{
	int rc = REAL->dup3(fd, to, flags);

	if (rc >= 0)
		copied(fd, to);
	return rc;
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void follow_nonblock(int fd)
{
	struct sk *sk = sk_get(fd);
	int flags;

	if (!sk)
		return;
	pthread_mutex_lock(&sk->lock);
	flags = REAL->fcntl(fd, F_GETFL);
	/* A listener's rsocket stays non-blocking: sk_conn.c. */
	if (sk->rfd >= 0 && flags >= 0 && !sk->listening) {
		sk_enter();
		(void)rfcntl(sk->rfd, F_SETFL, flags & O_NONBLOCK);
		sk_leave();
	}
	pthread_mutex_unlock(&sk->lock);
	sk_put(sk);
}

static int do_fcntl(int fd, int cmd, void *arg)
{
	int rc = REAL->fcntl(fd, cmd, arg);

	if (rc >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		copied(fd, rc);
	if (rc >= 0 && cmd == F_SETFL)
		follow_nonblock(fd);
	return rc;
}

/* The argument after cmd is an int, a pointer or absent; a pointer's width covers all three. */
SK_API int fcntl(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return do_fcntl(fd, cmd, arg);
}

SK_API int fcntl64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return do_fcntl(fd, cmd, arg);
}

/* Returns the readable bytes; for a datagram socket, those of the next datagram. */
static int unread(struct sk *sk, int *bytes)
{
	char byte;
	ssize_t n;

	sk_enter();
	n = rrecv(sk->rfd, &byte, sk->type == SOCK_DGRAM ? 1 : INT_MAX,
		  MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	sk_leave();
	if (n < 0 && errno != EAGAIN)
		return -1;
	*bytes = n < 0 ? 0 : (int)n;
	return 0;
}

SK_API int ioctl(int fd, unsigned long request, ...)
{
	struct sk *sk;
	va_list args;
	void *arg;
	int rc;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	sk = request == FIONREAD && arg ? sk_get(fd) : NULL;
	if (sk && sk->mode == SK_NIC)
		rc = unread(sk, arg);
	else
		rc = REAL->ioctl(fd, request, arg);
	/* A datagram socket of both stacks: report the one that has a datagram. */
	if (rc == 0 && sk && sk->mode == SK_BOTH && *(int *)arg == 0)
		rc = unread(sk, arg);
	if (sk)
		sk_put(sk);
	if (rc == 0 && request == FIONBIO)
		follow_nonblock(fd);
	return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Buffer sizes and IPV6_V6ONLY are kept for an rsocket created later. */
static void remember(struct sk *sk, int level, int name, const void *value, socklen_t bytes)
{
	int v;

	if (bytes < sizeof(v))
		return;
	v = *(const int *)value;
	if (level == SOL_SOCKET && name == SO_SNDBUF)
		sk->sndbuf = v;
	if (level == SOL_SOCKET && name == SO_RCVBUF)
		sk->rcvbuf = v;
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)
		sk->v6only = v != 0;
}

SK_API int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (sk && sk->mode == SK_PUMPED && level != SOL_SOCKET)
		rc = level == IPPROTO_TCP || level == IPPROTO_IP || level == IPPROTO_IPV6
			 ? 0 /* hints to a transport that no longer serves the socket */
			 : sk_fail(ENOPROTOOPT);
	else
		rc = REAL->setsockopt(fd, level, name, value, bytes);
	if (!sk)
		return rc;
	pthread_mutex_lock(&sk->lock);
	if (rc == 0 && sk->mode != SK_PUMPED) {
		remember(sk, level, name, value, bytes);
		sk_enter();
		/* An rsocket supports fewer options; the others concern IP packets. */
		if (sk->rfd >= 0 && rsetsockopt(sk->rfd, level, name, value, bytes) < 0)
			errno = 0;
		sk_leave();
	}
	pthread_mutex_unlock(&sk->lock);
	sk_put(sk);
	return rc;
}

/* Options whose value is the connection's state, not a setting. */
static bool is_state(int level, int name)
{
	return (level == SOL_SOCKET && (name == SO_ERROR || name == SO_ACCEPTCONN)) ||
	       (level == IPPROTO_TCP && name == TCP_MAXSEG);
}

static int get_pumped(struct sk *sk, int fd, int level, int name, void *value, socklen_t *bytes)
{
	int v;

	if (level != SOL_SOCKET)
		return sk_fail(ENOPROTOOPT);
	switch (name) {
	case SO_DOMAIN:
		v = sk->family;
		break;
	case SO_TYPE:
		v = sk->type;
		break;
	case SO_PROTOCOL:
		v = sk->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
		break;
	case SO_ACCEPTCONN:
		v = sk->listening;
		break;
	default:
		return REAL->getsockopt(fd, level, name, value, bytes);
	}
	if (*bytes > sizeof(v))
		*bytes = sizeof(v);
	memcpy(value, &v, *bytes);
	return 0;
}

SK_API int getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (sk && sk->mode == SK_NIC && is_state(level, name)) {
		sk_enter();
		rc = rgetsockopt(sk->rfd, level, name, value, bytes);
		sk_leave();
	} else if (sk && sk->mode == SK_PUMPED) {
		rc = get_pumped(sk, fd, level, name, value, bytes);
	} else {
		rc = REAL->getsockopt(fd, level, name, value, bytes);
	}
	if (sk)
		sk_put(sk);
	return rc;
}

int sk_timeout_ms(int fd, int name)
{
	struct timeval tv;
	socklen_t bytes = sizeof(tv);

	if (REAL->getsockopt(fd, SOL_SOCKET, name, &tv, &bytes) < 0 || (!tv.tv_sec && !tv.tv_usec))
		return -1;
	return tv.tv_sec > INT_MAX / 1000 - 1 ? -1
					      : (int)(tv.tv_sec * 1000 + (tv.tv_usec + 999) / 1000);
}
