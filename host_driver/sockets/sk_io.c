/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move data.
 *
 * Every call is reduced to a message of sendmsg(2) or recvmsg(2). A write to a closed connection
 * raises SIGPIPE. A call interrupted by a signal restarts if its handler has SA_RESTART. Calls
 * rsockets, the C library and sk_conn.c.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"

enum {
	/* Datagrams of a NIC in a row, before the kernel is asked for one by a system call. */
	NIC_IN_A_ROW = 16,
};

/* Ends the program on behalf of -D_FORTIFY_SOURCE; not declared in a portable header. */
extern void __chk_fail(void) __attribute__((noreturn));

/* ---- one message ----------------------------------------------------------------------------- */

static ssize_t nic_send(struct sk *sk, const struct msghdr *msg, int flags)
{
	ssize_t n;

	do {
		sk_enter();
		n = rsendmsg(sk->rfd, msg, flags & ~MSG_NOSIGNAL);
		sk_leave();
	} while (n < 0 && errno == EINTR && sk_restart());
	atomic_fetch_add_explicit(&sk->writes, 1, memory_order_relaxed);
	if (n < 0 && errno == EPIPE && !(flags & MSG_NOSIGNAL) && sk->type == SOCK_STREAM) {
		(void)raise(SIGPIPE);
		errno = EPIPE;
	}
	return n;
}

static ssize_t nic_recv(struct sk *sk, struct msghdr *msg, int flags)
{
	ssize_t n;

	do {
		sk_enter();
		n = rrecvmsg(sk->rfd, msg, flags & ~MSG_CMSG_CLOEXEC);
		sk_leave();
	} while (n < 0 && errno == EINTR && sk_restart());
	atomic_fetch_add_explicit(&sk->reads, 1, memory_order_relaxed);
	return n;
}

/* Handles the first datagram that a socket sends to a NIC's network. */
static int serve_both(struct sk *sk, int fd)
{
	int rc = 0;

	pthread_mutex_lock(&sk->lock);
	if (sk->mode == SK_KERNEL) {
		rc = sk_bind_any(sk, fd);
		if (rc == 0)
			rc = sk_make(sk, fd);
		if (rc == 0)
			sk_set_mode(sk, SK_BOTH);
	}
	pthread_mutex_unlock(&sk->lock);
	return rc;
}

static ssize_t do_send(struct sk *sk, int fd, const struct msghdr *msg, int flags)
{
	if (sk->type == SOCK_DGRAM && msg->msg_name && sk->mode != SK_PUMPED) {
		if (!sk_nic_reaches(msg->msg_name, msg->msg_namelen))
			return REAL->sendmsg(fd, msg, flags);
		return serve_both(sk, fd) < 0 ? -1 : nic_send(sk, msg, flags);
	}
	return sk->mode == SK_NIC ? nic_send(sk, msg, flags) : REAL->sendmsg(fd, msg, flags);
}

/*
 * A datagram was taken, or looked at: then the next call takes the same one. A flood on the NIC
 * leaves the kernel's datagrams their part.
 */
static void took(struct sk *sk, bool kernel, int flags)
{
	bool next = kernel;

	if (!(flags & MSG_PEEK)) {
		next = !kernel && atomic_fetch_add(&sk->nic_in_a_row, 1) + 1 >= NIC_IN_A_ROW;
		if (kernel || next)
			atomic_store(&sk->nic_in_a_row, 0);
	}
	atomic_store(&sk->kernel_first, next);
}

/* Receives from the stack that has a datagram. */
static ssize_t recv_both(struct sk *sk, int fd, struct msghdr *msg, int flags)
{
	bool block = !(flags & MSG_DONTWAIT) && !(REAL->fcntl(fd, F_GETFL) & O_NONBLOCK);
	int ms = sk_timeout_ms(fd, SO_RCVTIMEO), rc;
	struct msghdr again = *msg;
	ssize_t n;

	for (;;) {
		bool kernel = atomic_load(&sk->kernel_first);

		for (int i = 0; i < 2; i++, kernel = !kernel) {
			*msg = again;
			n = kernel ? REAL->recvmsg(fd, msg, flags | MSG_DONTWAIT)
				   : nic_recv(sk, msg, flags | MSG_DONTWAIT);
			if (n >= 0)
				took(sk, kernel, flags);
			if (n >= 0 || errno != EAGAIN)
				return n;
		}
		if (!block)
			return n;
		*msg = again;
		rc = sk_wait(sk, fd, POLLIN, ms);
		if (rc == 0)
			return sk_fail(EAGAIN);
		if (rc < 0 && !(errno == EINTR && sk_restart()))
			return -1;
	}
}

static ssize_t do_recv(struct sk *sk, int fd, struct msghdr *msg, int flags)
{
	/* Only the kernel has an error queue. */
	if (flags & MSG_ERRQUEUE)
		return REAL->recvmsg(fd, msg, flags);
	if (sk->mode == SK_NIC)
		return nic_recv(sk, msg, flags);
	if (sk->mode == SK_BOTH && sk->type == SOCK_DGRAM)
		return recv_both(sk, fd, msg, flags);
	return REAL->recvmsg(fd, msg, flags);
}

/* Pumps our descriptors that are passed to another process, which has no rsocket. */
static int pump_passed(const struct msghdr *msg)
{
	struct msghdr at = *msg;
	int rc = 0, fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&at); c && rc == 0; c = CMSG_NXTHDR(&at, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(fd)) <= c->cmsg_len && rc == 0; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			rc = sk_pump_fd(fd);
		}
	}
	return rc;
}

/* ---- sending --------------------------------------------------------------------------------- */

SK_API ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sk *sk = sk_get(fd);
	ssize_t n;

	if (!sk)
		return msg->msg_controllen && sk_outside() && pump_passed(msg) < 0
			   ? -1
			   : REAL->sendmsg(fd, msg, flags);
	n = do_send(sk, fd, msg, flags);
	sk_put(sk);
	return n;
}

static ssize_t send_one(struct sk *sk, int fd, const void *buf, size_t bytes, int flags,
			const struct sockaddr *addr, socklen_t addr_bytes)
{
	struct iovec iov = {(void *)(uintptr_t)buf, bytes};
	struct msghdr msg = {.msg_name = (void *)(uintptr_t)addr,
			     .msg_namelen = addr ? addr_bytes : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};
	ssize_t n = do_send(sk, fd, &msg, flags);

	sk_put(sk);
	return n;
}

SK_API ssize_t sendto(int fd, const void *buf, size_t bytes, int flags, const struct sockaddr *addr,
		      socklen_t addr_bytes)
{
	struct sk *sk = sk_get(fd);

	return sk ? send_one(sk, fd, buf, bytes, flags, addr, addr_bytes)
		  : REAL->sendto(fd, buf, bytes, flags, addr, addr_bytes);
}

SK_API ssize_t send(int fd, const void *buf, size_t bytes, int flags)
{
	struct sk *sk = sk_get(fd);

	return sk ? send_one(sk, fd, buf, bytes, flags, NULL, 0)
		  : REAL->send(fd, buf, bytes, flags);
}

SK_API ssize_t write(int fd, const void *buf, size_t bytes)
{
	struct sk *sk = sk_get(fd);

	return sk ? send_one(sk, fd, buf, bytes, 0, NULL, 0) : REAL->write(fd, buf, bytes);
}

SK_API ssize_t writev(int fd, const struct iovec *iov, int n)
{
	struct sk *sk = sk_get(fd);
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
	ssize_t rc;

	if (!sk)
		return REAL->writev(fd, iov, n);
	rc = n < 0 || n > IOV_MAX ? sk_fail(EINVAL) : do_send(sk, fd, &msg, 0);
	sk_put(sk);
	return rc;
}

SK_API int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	struct sk *sk = sk_get(fd);
	unsigned int done = 0;
	ssize_t bytes = 0;

	if (!sk)
		return REAL->sendmmsg(fd, msgs, n, flags);
	while (done < n && done < IOV_MAX && bytes >= 0) {
		bytes = do_send(sk, fd, &msgs[done].msg_hdr, flags);
		if (bytes >= 0)
			msgs[done++].msg_len = (unsigned int)bytes;
	}
	sk_put(sk);
	return done || bytes >= 0 ? (int)done : -1;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Advances the file's own offset, or the caller's, by the bytes sent. */
static ssize_t send_file(struct sk *sk, int in, off_t *offset, size_t bytes)
{
	off_t at = offset ? *offset : lseek(in, 0, SEEK_CUR);
	char buf[1 << 16];
	size_t done = 0;
	ssize_t n = 0;

	if (at < 0)
		return -1;
	while (done < bytes) {
		struct iovec iov = {buf, bytes - done < sizeof(buf) ? bytes - done : sizeof(buf)};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

		n = REAL->pread(in, buf, iov.iov_len, at);
		if (n <= 0)
			break;
		iov.iov_len = (size_t)n;
		n = nic_send(sk, &msg, 0);
		if (n < 0)
			break;
		at += n;
		done += (size_t)n;
		if ((size_t)n < iov.iov_len)
			break;
	}
	if (offset)
		*offset = at;
	else if (done && lseek(in, at, SEEK_SET) < 0)
		return -1;
	return done || n == 0 ? (ssize_t)done : -1;
}

SK_API ssize_t sendfile(int out, int in, off_t *offset, size_t bytes)
{
	struct sk *sk = sk_get(out);
	ssize_t n;

	if (sk && sk->mode == SK_NIC)
		n = send_file(sk, in, offset, bytes);
	else
		n = REAL->sendfile(out, in, offset, bytes);
	if (sk)
		sk_put(sk);
	return n;
}

static_assert(sizeof(off_t) == sizeof(off64_t), "one function for both");

SK_API ssize_t sendfile64(int out, int in, off64_t *offset, size_t bytes)
{
	return sendfile(out, in, (off_t *)offset, bytes);
}

/* splice(2) works inside the kernel, so the socket must be a kernel socket. */
SK_API ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t bytes,
		      unsigned int flags)
{
	return sk_pump_fd(in) < 0 || sk_pump_fd(out) < 0
		   ? -1
		   : REAL->splice(in, in_at, out, out_at, bytes, flags);
}

/* ---- receiving ------------------------------------------------------------------------------- */

SK_API ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sk *sk = sk_get(fd);
	ssize_t n;

	n = sk ? do_recv(sk, fd, msg, flags) : REAL->recvmsg(fd, msg, flags);
	if (sk)
		sk_put(sk);
	else if (n >= 0)
		sk_high_received(msg);
	return n;
}

static ssize_t recv_one(struct sk *sk, int fd, void *buf, size_t bytes, int flags,
			struct sockaddr *addr, socklen_t *addr_bytes)
{
	struct iovec iov = {buf, bytes};
	struct msghdr msg = {.msg_name = addr,
			     .msg_namelen = addr && addr_bytes ? *addr_bytes : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};
	ssize_t n = do_recv(sk, fd, &msg, flags);

	sk_put(sk);
	if (n >= 0 && addr && addr_bytes)
		*addr_bytes = msg.msg_namelen;
	return n;
}

SK_API ssize_t recvfrom(int fd, void *buf, size_t bytes, int flags, struct sockaddr *addr,
			socklen_t *addr_bytes)
{
	struct sk *sk = sk_get(fd);

	return sk ? recv_one(sk, fd, buf, bytes, flags, addr, addr_bytes)
		  : REAL->recvfrom(fd, buf, bytes, flags, addr, addr_bytes);
}

SK_API ssize_t recv(int fd, void *buf, size_t bytes, int flags)
{
	struct sk *sk = sk_get(fd);

	return sk ? recv_one(sk, fd, buf, bytes, flags, NULL, NULL)
		  : REAL->recv(fd, buf, bytes, flags);
}

SK_API ssize_t read(int fd, void *buf, size_t bytes)
{
	struct sk *sk = sk_get(fd);

	return sk ? recv_one(sk, fd, buf, bytes, 0, NULL, NULL) : REAL->read(fd, buf, bytes);
}

SK_API ssize_t readv(int fd, const struct iovec *iov, int n)
{
	struct sk *sk = sk_get(fd);
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
	ssize_t rc;

	if (!sk)
		return REAL->readv(fd, iov, n);
	rc = n < 0 || n > IOV_MAX ? sk_fail(EINVAL) : do_recv(sk, fd, &msg, 0);
	sk_put(sk);
	return rc;
}

/* Checks the timeout after each datagram, as the kernel does. */
SK_API int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	struct sk *sk = sk_get(fd);
	struct timespec now, end = {0};
	unsigned int done = 0;
	ssize_t bytes = 0;

	if (!sk)
		return REAL->recvmmsg(fd, msgs, n, flags, timeout);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (timeout) {
		end.tv_sec += timeout->tv_sec;
		end.tv_nsec += timeout->tv_nsec;
	}
	while (done < n && bytes >= 0) {
		bytes = do_recv(sk, fd, &msgs[done].msg_hdr, flags & ~MSG_WAITFORONE);
		if (bytes >= 0)
			msgs[done++].msg_len = (unsigned int)bytes;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (timeout && (now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec > end.tv_nsec)
			break;
	}
	sk_put(sk);
	return done || bytes >= 0 ? (int)done : -1;
}

/* ---- variants that -D_FORTIFY_SOURCE calls --------------------------------------------------- */

ssize_t __read_chk(int fd, void *buf, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t bytes, size_t room, int flags,
		       struct sockaddr *addr, socklen_t *addr_bytes);

SK_API ssize_t __read_chk(int fd, void *buf, size_t bytes, size_t room)
{
	if (bytes > room)
		__chk_fail();
	return read(fd, buf, bytes);
}

SK_API ssize_t __recv_chk(int fd, void *buf, size_t bytes, size_t room, int flags)
{
	if (bytes > room)
		__chk_fail();
	return recv(fd, buf, bytes, flags);
}

SK_API ssize_t __recvfrom_chk(int fd, void *buf, size_t bytes, size_t room, int flags,
			      struct sockaddr *addr, socklen_t *addr_bytes)
{
	if (bytes > room)
		__chk_fail();
	return recvfrom(fd, buf, bytes, flags, addr, addr_bytes);
}
