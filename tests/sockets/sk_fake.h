/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces rsockets in the tests of host_driver/sockets by the kernel's Unix sockets, so that a
 * test has the other end. Included once, after the files under test.
 */
#ifndef WEFT_TESTS_SK_FAKE_H
#define WEFT_TESTS_SK_FAKE_H

#include <rdma/rsocket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"

static atomic_int fake_polls; /* number of waits */

int rclose(int fd)
{
	return REAL->close(fd);
}

ssize_t rrecv(int fd, void *buf, size_t bytes, int flags)
{
	return REAL->recv(fd, buf, bytes, flags);
}

ssize_t rsend(int fd, const void *buf, size_t bytes, int flags)
{
	return REAL->send(fd, buf, bytes, flags | MSG_NOSIGNAL);
}

int rshutdown(int fd, int how)
{
	return REAL->shutdown(fd, how);
}

int rpoll(struct pollfd *fds, nfds_t n, int ms)
{
	atomic_fetch_add(&fake_polls, 1);
	return REAL->poll(fds, n, ms);
}

int raccept(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	return REAL->accept4(fd, addr, bytes, SOCK_CLOEXEC);
}

int rgetsockname(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	return REAL->getsockname(fd, addr, bytes);
}

int rgetpeername(int fd, struct sockaddr *addr, socklen_t *bytes)
{
	return REAL->getpeername(fd, addr, bytes);
}

#endif /* WEFT_TESTS_SK_FAKE_H */
