/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork(2): an rsocket stays with its process, and a socket pair connects the other processes to it.
 *
 * Before a fork, every connection and listener becomes one end of a socket pair, for parent and
 * child alike. Threads of the parent serve the other ends (sk_pump.c). From then on the kernel
 * handles all descriptor operations in both processes. The same is done for descriptors whose use
 * is not visible here: stdio streams, splice(2), descriptors passed to another process. A parent
 * that exits first waits for its pumps (sk_table.c). Calls sk_pump.c, sk_table.c and sk_nic.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"
#include "host_driver/sockets/sk_pump.h"

/* Replaces every descriptor of the socket by the end of the pair. Descriptor flags are kept. */
static int put_end(const struct sk *sk, int end)
{
	int at = 0, fd, rc = 0;

	while ((fd = sk_next_fd(sk, &at)) >= 0) {
		int fd_flags = REAL->fcntl(fd, F_GETFD), flags = REAL->fcntl(fd, F_GETFL);

		if (REAL->dup3(end, fd, fd_flags >= 0 && fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
			rc = -1;
		else if (flags >= 0 && flags & O_NONBLOCK)
			rc = REAL->fcntl(fd, F_SETFL, flags);
	}
	return rc;
}

static int names(struct sk *sk)
{
	socklen_t local = sizeof(sk->local), peer = sizeof(sk->peer);
	int at = 0, fd = sk_next_fd(sk, &at), rc;

	if (sk->mode == SK_BOTH)
		return REAL->getsockname(fd, (struct sockaddr *)&sk->local, &local);
	sk_enter();
	rc = rgetsockname(sk->rfd, (struct sockaddr *)&sk->local, &local);
	if (rc == 0 && !sk->listening)
		rc = rgetpeername(sk->rfd, (struct sockaddr *)&sk->peer, &peer);
	sk_leave();
	return rc;
}

/* Keeps the kernel's listener next to the pair. Returns -1 if there is none. */
static int keep_listener(const struct sk *sk)
{
	int at = 0, fd = sk_next_fd(sk, &at);

	return sk->mode == SK_BOTH && fd >= 0 ? REAL->fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Caller holds the lock. */
static int pump_it(struct sk *sk)
{
	int pair[2], rc, kernel_fd;

	/* A socket without a peer is not shared. */
	if (names(sk) < 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_CLOEXEC | (sk->listening ? SOCK_SEQPACKET : SOCK_STREAM), 0,
		       pair) < 0)
		return -1;
	kernel_fd = sk->listening ? keep_listener(sk) : -1;
	rc = sk->listening ? sk_pump_listener(sk->rfd, kernel_fd, pair[0])
			   : sk_pump_stream(sk->rfd, pair[0]);
	if (rc < 0) {
		int err = errno;

		if (kernel_fd >= 0)
			(void)REAL->close(kernel_fd);
		(void)REAL->close(pair[0]);
		(void)REAL->close(pair[1]);
		return sk_fail(err);
	}
	sk->rfd = -1;
	rc = put_end(sk, pair[1]);
	(void)REAL->close(pair[1]);
	sk_set_mode(sk, SK_PUMPED);
	return rc;
}

int sk_pump(struct sk *sk)
{
	int rc = 0;

	pthread_mutex_lock(&sk->lock);
	if (sk->type == SOCK_STREAM && sk->rfd >= 0 && (sk->mode == SK_NIC || sk->mode == SK_BOTH))
		rc = pump_it(sk);
	pthread_mutex_unlock(&sk->lock);
	return rc;
}

/* Drops rsockets that are not pumped, which a child cannot use, without touching them. */
static void forget(void)
{
	struct sk *sk;
	int at = 0;

	while ((sk = sk_next(&at)) != NULL) {
		pthread_mutex_init(&sk->lock, NULL);
		if (sk->rfd >= 0) {
			sk->rfd = -1;
			sk->mode = SK_KERNEL;
			sk->own = sk->any = false;
		}
		sk_put(sk);
	}
}

static void child(void)
{
	sk_table_forked();
	sk_epoll_forked();
	sk_pumps_forked();
	forget();
}

/*
 * Handles a fork made by the C library itself: nothing was pumped, so the child starts without
 * sockets. Lock owners do not exist in the child, so the locks are reset.
 */
static void unseen_fork(void)
{
	if (!sk_outside())
		return;
	sk_nic_reset();
	sk_epoll_reset();
	sk_pumps_reset();
	sk_table_reset();
	child();
}

__attribute__((constructor)) static void sk_fork_begin(void)
{
	/* Without the handler the kernel alone serves such a child. */
	if (pthread_atfork(NULL, NULL, unseen_fork) != 0)
		errno = 0;
}

SK_API pid_t fork(void)
{
	struct sk *sk;
	pid_t pid;
	int at = 0;

	if (!sk_outside())
		return REAL->fork();
	while ((sk = sk_next(&at)) != NULL) {
		int rc = sk_pump(sk);

		sk_put(sk);
		if (rc < 0)
			return -1;
	}
	/* Keeps other threads from changing state while the child gets its copy. */
	sk_nic_lock();
	sk_epoll_lock();
	sk_pumps_lock();
	sk_table_lock();
	/* Fork handlers of rsockets and the NIC's library run here and close descriptors. */
	sk_enter();
	pid = REAL->fork();
	sk_leave();
	sk_table_unlock();
	sk_pumps_unlock();
	sk_epoll_unlock();
	sk_nic_unlock();
	if (pid == 0)
		child();
	return pid;
}

/* The parent stays as long as its pumps serve others. */
SK_API int daemon(int nochdir, int noclose)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		return -1;
	if (pid > 0)
		_exit(0);
	if (setsid() < 0 || (!nochdir && chdir("/") < 0))
		return -1;
	if (noclose)
		return 0;
	fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(fd, i) < 0)
			return -1;
	if (fd > 2)
		(void)close(fd);
	return 0;
}

int sk_pump_fd(int fd)
{
	struct sk *sk = sk_get(fd);
	int rc = 0;

	if (sk) {
		rc = sk_pump(sk);
		sk_put(sk);
	}
	return rc;
}

/* ---- stdio streams --------------------------------------------------------------------------- */

SK_API FILE *fdopen(int fd, const char *mode)
{
	return sk_pump_fd(fd) < 0 ? NULL : sk_real()->fdopen(fd, mode);
}

SK_API int vdprintf(int fd, const char *format, va_list args)
{
	return sk_pump_fd(fd) < 0 ? -1 : sk_real()->vdprintf(fd, format, args);
}

SK_API int dprintf(int fd, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vdprintf(fd, format, args);
	va_end(args);
	return n;
}

/* Variants that -D_FORTIFY_SOURCE calls; the check of the format is omitted. */
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
int __dprintf_chk(int fd, int flag, const char *format, ...);

SK_API int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
	(void)flag;
	return vdprintf(fd, format, args);
}

SK_API int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list args;
	int n;

	(void)flag;
	va_start(args, format);
	n = vdprintf(fd, format, args);
	va_end(args);
	return n;
}

/* fclose() closes the descriptor without calling our close(). */
SK_API int fclose(FILE *f)
{
	int fd = fileno(f);

	if (fd >= 0)
		sk_remove(fd);
	return sk_real()->fclose(f);
}

/* ---- accept ---------------------------------------------------------------------------------- */

static int received_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int set_flags(int fd, int flags)
{
	if (flags & SOCK_NONBLOCK && REAL->fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return -1;
	return flags & SOCK_CLOEXEC ? 0 : REAL->fcntl(fd, F_SETFD, 0);
}

int sk_pumped_accept(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	struct sk_passed what;
	struct iovec iov = {&what, sizeof(what)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	ssize_t n = REAL->recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct sk *new;
	int got;

	if (n < 0)
		return -1;
	got = n == sizeof(what) ? received_fd(&msg) : -1;
	/* The process with the listener has ended. */
	if (got < 0)
		return sk_fail(n == 0 ? ENETDOWN : ECONNABORTED);
	sk_addr_out(&what.peer, addr, bytes);
	new = what.is_kernel ? NULL : sk_new(sk->family, SOCK_STREAM);
	if (new) {
		new->mode = SK_PUMPED;
		new->local = what.local;
		new->peer = what.peer;
		(void)sk_install(got, new);
		sk_put(new);
	}
	if (set_flags(got, flags) == 0)
		return got;
	(void)close(got);
	return -1;
}
