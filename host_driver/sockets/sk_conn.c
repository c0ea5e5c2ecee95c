/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a connection's life. The first address of a socket decides which stack serves it.
 *
 * A socket bound to the wildcard address has the same port on the NICs and the kernel. Calls
 * sk_table.c, sk_nic.c, sk_fork.c, rsockets and the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "host_driver/sockets/sk.h"

enum {
	PORT_TRIES = 32,
	/*
	 * A full queue refuses connections here, while with the kernel the peer retries. The
	 * minimum is large enough for a burst.
	 */
	BACKLOG_LEAST = 256,
};

SK_API int socket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	int fd = sk_high(REAL->socket(domain, type, protocol));
	struct sk *sk;

	if (fd < 0 || (domain != AF_INET && domain != AF_INET6) ||
	    !((kind == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP)) ||
	      (kind == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP))))
		return fd;
	sk = sk_outside() ? sk_new(domain, kind) : NULL;
	/* On failure the socket stays an ordinary kernel socket. */
	if (sk) {
		(void)sk_install(fd, sk);
		sk_put(sk);
	}
	return fd;
}

void sk_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes)
{
	socklen_t whole =
	    from->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!to || !bytes)
		return;
	memcpy(to, from, *bytes < whole ? *bytes : whole);
	*bytes = whole;
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* The port has the same offset in both families. */
static in_port_t *port_of(struct sockaddr_storage *addr)
{
	return &((struct sockaddr_in *)(void *)addr)->sin_port;
}

/* Binds the NICs first, because the kernel's socket can be bound only once. */
static int bind_both_once(struct sk *sk, int fd, struct sockaddr_storage *to, socklen_t bytes)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int rc;

	if (sk_make(sk, fd) < 0)
		return -1;
	sk_enter();
	rc = rbind(sk->rfd, (struct sockaddr *)to, bytes);
	if (rc == 0)
		rc = rgetsockname(sk->rfd, (struct sockaddr *)&name, &len);
	sk_leave();
	if (rc == 0) {
		*port_of(to) = *port_of(&name);
		rc = REAL->bind(fd, (struct sockaddr *)to, bytes);
	} else if (errno == ENODEV) {
		sk_unmake(sk);
		return REAL->bind(fd, (struct sockaddr *)to, bytes);
	}
	if (rc < 0)
		sk_unmake(sk);
	return rc;
}

static int bind_both(struct sk *sk, int fd, const struct sockaddr *addr, socklen_t bytes)
{
	struct sockaddr_storage to = {0};
	in_port_t wanted;
	int rc, tries = 0;

	memcpy(&to, addr, bytes < sizeof(to) ? bytes : sizeof(to));
	wanted = *port_of(&to);
	do {
		*port_of(&to) = wanted;
		rc = bind_both_once(sk, fd, &to, bytes);
	} while (rc < 0 && errno == EADDRINUSE && !wanted && ++tries < PORT_TRIES);
	if (rc == 0 && sk->rfd >= 0) {
		sk->any = true;
		if (sk->type == SOCK_DGRAM)
			sk_set_mode(sk, SK_BOTH);
	}
	return rc;
}

static int bind_own(struct sk *sk, int fd, const struct sockaddr *addr, socklen_t bytes)
{
	int rc;

	if (sk_make(sk, fd) < 0)
		return -1;
	sk_enter();
	rc = rbind(sk->rfd, addr, bytes);
	sk_leave();
	if (rc < 0) {
		sk_unmake(sk);
		/* The NIC of that address is gone, and may come back. */
		return errno == ENODEV ? sk_fail(EADDRNOTAVAIL) : rc;
	}
	sk->own = true;
	sk_set_mode(sk, SK_NIC);
	return 0;
}

SK_API int bind(int fd, const struct sockaddr *addr, socklen_t bytes)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (!sk)
		return REAL->bind(fd, addr, bytes);
	pthread_mutex_lock(&sk->lock);
	if (sk->rfd >= 0 || sk->mode == SK_PUMPED)
		rc = sk_fail(EINVAL);
	else if (sk_nic_own(addr, bytes))
		rc = bind_own(sk, fd, addr, bytes);
	else if (sk_addr_any(sk, addr, bytes))
		rc = bind_both(sk, fd, addr, bytes);
	else
		rc = REAL->bind(fd, addr, bytes);
	pthread_mutex_unlock(&sk->lock);
	sk_put(sk);
	return rc;
}

int sk_bind_any(struct sk *sk, int fd)
{
	struct sockaddr_storage name = {0}, any = {.ss_family = (sa_family_t)sk->family};
	socklen_t bytes = sizeof(name);

	if (sk->rfd >= 0)
		return 0;
	if (REAL->getsockname(fd, (struct sockaddr *)&name, &bytes) < 0)
		return -1;
	if (*port_of(&name) || sk->v6only)
		return 0;
	return bind_both(sk, fd, (struct sockaddr *)&any, bytes);
}

/* ---- listen, accept -------------------------------------------------------------------------- */

static int listen_nic(struct sk *sk, int backlog)
{
	int rc;

	sk_enter();
	rc = rlisten(sk->rfd, backlog > BACKLOG_LEAST ? backlog : BACKLOG_LEAST);
	/* accept() waits in poll for connections of either stack. */
	if (rc == 0)
		(void)rfcntl(sk->rfd, F_SETFL, O_NONBLOCK);
	sk_leave();
	if (rc == 0)
		sk->listening = true;
	return rc;
}

static int listen_on(struct sk *sk, int fd, int backlog)
{
	int rc = 0;

	if (sk->mode == SK_NIC)
		return listen_nic(sk, backlog);
	if (sk->mode == SK_KERNEL && sk->type == SOCK_STREAM)
		rc = sk_bind_any(sk, fd);
	if (rc == 0)
		rc = REAL->listen(fd, backlog);
	if (rc == 0 && sk->rfd >= 0 && sk->mode != SK_PUMPED && sk->type == SOCK_STREAM) {
		rc = listen_nic(sk, backlog);
		if (rc == 0)
			sk_set_mode(sk, SK_BOTH);
	}
	return rc;
}

SK_API int listen(int fd, int backlog)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (!sk)
		return REAL->listen(fd, backlog);
	pthread_mutex_lock(&sk->lock);
	rc = listen_on(sk, fd, backlog);
	pthread_mutex_unlock(&sk->lock);
	sk_put(sk);
	return rc;
}

/*
 * Accepts a connection of a listening rsocket without blocking. Returns the connection's rsocket,
 * or -1. The caller creates the kernel descriptor that represents it.
 */
static int sk_accept_nic(struct sk *sk, struct sockaddr *addr, socklen_t *bytes)
{
	int rfd;

	sk_enter();
	rfd = raccept(sk->rfd, addr, bytes);
	sk_leave();
	return rfd;
}

/* Creates a descriptor for a connection's rsocket; closes the rsocket on failure. */
static int adopt(int family, int rfd, int flags)
{
	int fd = REAL->socket(family, SOCK_STREAM | (flags & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);
	struct sk *sk = fd < 0 ? NULL : sk_new(family, SOCK_STREAM);
	int err = fd < 0 ? errno : ENOMEM;

	if (sk) {
		sk->rfd = rfd;
		sk->mode = SK_NIC;
		sk_enter();
		(void)rfcntl(rfd, F_SETFL, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
		sk_leave();
		if (sk_install(fd, sk)) {
			sk_put(sk);
			return fd;
		}
		err = EMFILE;
		sk_put(sk);
	}
	sk_enter();
	(void)rclose(rfd);
	sk_leave();
	if (fd >= 0)
		(void)REAL->close(fd);
	return sk_fail(err);
}

static int accept_nic(struct sk *sk, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	int rfd = sk_accept_nic(sk, addr, bytes);

	return rfd < 0 ? -1 : adopt(sk->family, rfd, flags);
}

static int accept_kernel(int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (REAL->poll(&p, 1, 0) <= 0)
		return sk_fail(EAGAIN);
	return REAL->accept4(fd, addr, bytes, flags);
}

/* Accepts without blocking; the stacks take turns, so that a flood on one leaves the other half. */
static int accept_now(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	bool kernel = sk->mode == SK_BOTH && atomic_load(&sk->kernel_first);
	int rc =
	    kernel ? accept_kernel(fd, addr, bytes, flags) : accept_nic(sk, addr, bytes, flags);

	if (rc < 0 && errno == EAGAIN && sk->mode == SK_BOTH) {
		kernel = !kernel;
		rc = kernel ? accept_kernel(fd, addr, bytes, flags)
			    : accept_nic(sk, addr, bytes, flags);
	}
	/* A failure, as for want of descriptors, is no turn of the other one. */
	if (rc >= 0)
		atomic_store(&sk->kernel_first, !kernel);
	return rc;
}

static int accept_waiting(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	bool block = !(REAL->fcntl(fd, F_GETFL) & O_NONBLOCK);
	int ms = sk_timeout_ms(fd, SO_RCVTIMEO), rc, n;

	for (;;) {
		rc = accept_now(sk, fd, addr, bytes, flags);
		if (rc >= 0 || errno != EAGAIN || !block)
			return rc;
		n = sk_wait(sk, fd, POLLIN, ms);
		if (n == 0)
			return sk_fail(EAGAIN);
		if (n < 0 && !(errno == EINTR && sk_restart()))
			return -1;
	}
}

SK_API int accept4(int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (!sk || !sk->listening) {
		rc = REAL->accept4(fd, addr, bytes, flags);
	} else if (sk->mode == SK_PUMPED) {
		rc = sk_pumped_accept(sk, fd, addr, bytes, flags);
	} else {
		rc = accept_waiting(sk, fd, addr, bytes, flags);
	}
	if (sk)
		sk_put(sk);
	return rc;
}

SK_API int accept(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	return accept4(fd, addr, bytes, 0);
}

/* ---- connect --------------------------------------------------------------------------------- */

/* Completes a connection attempt that a signal interrupted. */
static int connect_rest(struct sk *sk, int fd)
{
	socklen_t len = sizeof(int);
	int err = 0, rc;

	do {
		rc = sk_wait(sk, fd, POLLOUT, -1);
	} while (rc < 0 && errno == EINTR && sk_restart());
	if (rc < 0)
		return -1;
	sk_enter();
	rc = rgetsockopt(sk->rfd, SOL_SOCKET, SO_ERROR, &err, &len);
	sk_leave();
	return rc < 0 || err ? sk_fail(rc < 0 ? errno : err) : 0;
}

/* Waits without the lock. */
static int connect_nic(struct sk *sk, int fd, const struct sockaddr *addr, socklen_t bytes)
{
	int rc;

	pthread_mutex_lock(&sk->lock);
	rc = sk->type == SOCK_DGRAM ? sk_bind_any(sk, fd) : 0;
	if (rc == 0)
		rc = sk_make(sk, fd);
	if (rc == 0)
		sk_set_mode(sk, SK_NIC);
	pthread_mutex_unlock(&sk->lock);
	if (rc < 0)
		return rc;
	sk_enter();
	rc = rconnect(sk->rfd, addr, bytes);
	sk_leave();
	if (rc < 0 && errno == EINTR && sk_restart())
		rc = connect_rest(sk, fd);
	return rc < 0 && errno == ENODEV ? sk_fail(ENETUNREACH) : rc;
}

static bool is_connected(struct sk *sk)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	bool yes;

	sk_enter();
	yes = sk->rfd >= 0 && rgetpeername(sk->rfd, (struct sockaddr *)&name, &len) == 0;
	sk_leave();
	return yes;
}

/* A previous rsocket is closed. A datagram socket gets a new one, without a peer. */
static int connect_kernel(struct sk *sk, int fd, const struct sockaddr *addr, socklen_t bytes)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	bool any = sk->any;
	int rc;

	if (sk->listening || (sk->type == SOCK_STREAM && is_connected(sk)))
		return sk_fail(EISCONN);
	if (sk->own)
		return sk_fail(ENETUNREACH);
	pthread_mutex_lock(&sk->lock);
	sk_set_mode(sk, SK_KERNEL);
	sk_unmake(sk);
	rc = REAL->connect(fd, addr, bytes);
	if (rc == 0 && addr->sa_family == AF_UNSPEC && any &&
	    REAL->getsockname(fd, (struct sockaddr *)&name, &len) == 0 && sk_make(sk, fd) == 0) {
		sk_enter();
		rc = rbind(sk->rfd, (struct sockaddr *)&name, len);
		sk_leave();
		if (rc == 0)
			sk_set_mode(sk, SK_BOTH);
	}
	pthread_mutex_unlock(&sk->lock);
	return rc;
}

SK_API int connect(int fd, const struct sockaddr *addr, socklen_t bytes)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (!sk)
		return REAL->connect(fd, addr, bytes);
	if (sk->mode == SK_PUMPED)
		rc = sk_fail(EISCONN);
	else if (sk_nic_reaches(addr, bytes))
		rc = connect_nic(sk, fd, addr, bytes);
	else
		rc = connect_kernel(sk, fd, addr, bytes);
	sk_put(sk);
	return rc;
}

/* ---- names, the end -------------------------------------------------------------------------- */

SK_API int getsockname(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	struct sk *sk = sk_get(fd);
	int rc = 0;

	if (sk && sk->mode == SK_NIC) {
		sk_enter();
		rc = rgetsockname(sk->rfd, addr, bytes);
		sk_leave();
	} else if (sk && sk->mode == SK_PUMPED) {
		sk_addr_out(&sk->local, addr, bytes);
	} else {
		rc = REAL->getsockname(fd, addr, bytes);
	}
	if (sk)
		sk_put(sk);
	return rc;
}

SK_API int getpeername(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	struct sk *sk = sk_get(fd);
	int rc = 0;

	if (sk && sk->mode == SK_NIC) {
		sk_enter();
		rc = rgetpeername(sk->rfd, addr, bytes);
		sk_leave();
	} else if (sk && sk->mode == SK_PUMPED) {
		if (sk->listening)
			rc = sk_fail(ENOTCONN);
		else
			sk_addr_out(&sk->peer, addr, bytes);
	} else {
		rc = REAL->getpeername(fd, addr, bytes);
	}
	if (sk)
		sk_put(sk);
	return rc;
}

SK_API int shutdown(int fd, int how)
{
	struct sk *sk = sk_get(fd);
	int rc;

	if (sk && sk->mode == SK_NIC) {
		sk_enter();
		rc = rshutdown(sk->rfd, how);
		sk_leave();
	} else {
		rc = REAL->shutdown(fd, how);
	}
	if (sk)
		sk_put(sk);
	return rc;
}
