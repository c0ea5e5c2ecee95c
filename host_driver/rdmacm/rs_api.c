/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rsocket calls that create, connect and close sockets and move data, as listed in rsocket(7).
 *
 * Return values and errno are those of the socket calls of the same names. Calls rs_cm.c,
 * rs_conn.c, rs_stream.c and rs_dgram.c.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/uio.h>

#include "host_driver/rdmacm/rs.h"

RS_API int rsocket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), fd;
	struct rs *rs;

	if (domain != PF_INET && domain != PF_INET6)
		return rs_fail(EAFNOSUPPORT);
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
		return rs_fail(ESOCKTNOSUPPORT);
	if (protocol && protocol != (kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
		return rs_fail(EPROTONOSUPPORT);
	rs = rs_new(domain, kind);
	if (!rs)
		return -1;
	rs->nonblock = type & SOCK_NONBLOCK;
	fd = rs_install(rs);
	rs_put(rs);
	return fd;
}

static int bind_stream(struct rs *rs, struct sockaddr *addr)
{
	int rc;

	pthread_mutex_lock(&rs->lock);
	rc = rs->state == RS_OPEN ? 0 : -EINVAL;
	if (rc == 0 && !rs->id)
		rc = rs_cm_id(rs, RDMA_PS_TCP, &rs->id);
	if (rc == 0 && rdma_bind_addr(rs->id, addr) < 0) {
		rc = -errno;
		(void)rdma_destroy_id(rs->id);
		rs->id = NULL;
	}
	if (rc == 0) {
		rs_addr_as(rs->family, rdma_get_local_addr(rs->id), &rs->local);
		rs_set_state(rs, RS_BOUND);
	}
	pthread_mutex_unlock(&rs->lock);
	return rc;
}

RS_API int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct sockaddr_storage to;
	struct rs *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	if (!rs_addr_in(addr, addrlen, &to))
		rc = -EINVAL;
	else if (rs->type == SOCK_DGRAM)
		rc = rs_dgram_bind(rs, (struct sockaddr *)&to);
	else
		rc = bind_stream(rs, (struct sockaddr *)&to);
	rs_put(rs);
	return rc < 0 ? rs_fail(-rc) : 0;
}

static int listen_on(struct rs *rs, int backlog)
{
	rs->backlog = backlog < 1 ? 1 : backlog > RS_BACKLOG_MAX ? RS_BACKLOG_MAX : backlog;
	if (rs->state == RS_LISTENING)
		return 0;
	if (rs->type != SOCK_STREAM)
		return EOPNOTSUPP;
	if (rs->state != RS_BOUND)
		return EINVAL;
	rs_set_state(rs, RS_LISTENING);
	return rdma_listen(rs->id, rs->backlog) < 0 ? errno : 0;
}

/* Unlike listen(2), it requires a bound address. */
RS_API int rlisten(int socket, int backlog)
{
	struct rs *rs = rs_get(socket);
	int err;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	err = listen_on(rs, backlog);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return err ? rs_fail(err) : 0;
}

/* ---- accepting ------------------------------------------------------------------------------- */

/* Dequeues the first established connection; NULL: none. Under the lock. */
static struct rs *take_ready(struct rs *listener)
{
	struct rs **at = &listener->queue, *rs;

	while (*at && !(*at)->accept_ready)
		at = &(*at)->next;
	rs = *at;
	if (!rs)
		return NULL;
	*at = rs->next;
	if (!rs->next)
		listener->queue_end = at;
	rs->next = NULL;
	listener->queued--;
	listener->ready--;
	return rs;
}

/* Stores a connection in *rs and returns 0, or returns a negative errno. */
static int next_connection(struct rs *listener, struct rs **rs)
{
	struct rs_deadline deadline = rs_deadline_in(&listener->opts.rcvtimeo);
	int rc = 0;

	*rs = NULL;
	pthread_mutex_lock(&listener->lock);
	while (rc == 0 && !*rs) {
		if (listener->state != RS_LISTENING)
			rc = listener->state == RS_CLOSED ? -EBADF : -EINVAL;
		else if ((*rs = take_ready(listener)) != NULL)
			break;
		else if (listener->error) /* its NIC is gone */
			rc = -listener->error;
		else
			rc = listener->nonblock ? -EAGAIN : rs_sleep(listener, deadline);
	}
	pthread_mutex_unlock(&listener->lock);
	return rc;
}

/* Ends a connection that has no descriptor. */
static void drop(struct rs *rs);

RS_API int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs *listener = rs_get(socket), *rs;
	int rc, fd;

	if (!listener)
		return -1;
	rc = next_connection(listener, &rs);
	if (rc < 0) {
		rs_put(listener);
		return rs_fail(-rc);
	}
	pthread_mutex_lock(&rs->lock);
	rs->listener = NULL;
	rs_addr_out(&rs->peer, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	rs_put(listener); /* the reference that the connection held */
	rs_put(listener);
	fd = rs_install(rs);
	if (fd < 0) {
		int err = errno;

		drop(rs);
		errno = err;
	}
	rs_put(rs);
	return fd;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Under the lock. Returns 0 or a positive errno. */
static int connect_stream(struct rs *rs, const struct sockaddr *to)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.sndtimeo);
	int rc, err;

	if (rs->state == RS_CONNECTED || rs->state == RS_BROKEN)
		return EISCONN;
	if (rs->state == RS_CONNECTING)
		return EALREADY;
	if (rs->state != RS_OPEN && rs->state != RS_BOUND)
		return EINVAL;
	rc = rs_cm_connect(rs, to);
	if (rc < 0)
		return -rc;
	if (rs->nonblock)
		return EINPROGRESS;
	while (rs->state == RS_CONNECTING) {
		rc = rs_sleep(rs, deadline);
		/* As with a TCP socket, the connection attempt continues in the background. */
		if (rc < 0 && rs->state == RS_CONNECTING)
			return rc == -EAGAIN ? EINPROGRESS : -rc;
	}
	err = rs->error;
	rs->error = 0;
	return err;
}

RS_API int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct sockaddr_storage to;
	struct rs *rs = rs_get(socket);
	int err;

	if (!rs)
		return -1;
	if (!rs_addr_in(addr, addrlen, &to)) {
		err = EAFNOSUPPORT;
	} else if (rs->type == SOCK_DGRAM) {
		err = -rs_dgram_connect(rs, (struct sockaddr *)&to);
	} else {
		pthread_mutex_lock(&rs->lock);
		err = connect_stream(rs, (struct sockaddr *)&to);
		pthread_mutex_unlock(&rs->lock);
	}
	rs_put(rs);
	return err ? rs_fail(err) : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Under the lock. */
static int shut(struct rs *rs, int how)
{
	int rc = 0;

	if (rs->state != RS_CONNECTED && rs->state != RS_BROKEN)
		return ENOTCONN;
	if (how != SHUT_WR)
		rs->read_shut = true;
	if (how != SHUT_RD && !rs->write_shut) {
		rs->write_shut = true;
		rs_progress(rs);
		if (rs->state == RS_CONNECTED)
			rc = rs_stream_fin(rs);
	}
	rs_wake(rs);
	return -rc;
}

/* Takes the sender's lock so that data sent before is ordered before the end of the stream. */
RS_API int rshutdown(int socket, int how)
{
	struct rs *rs;
	int err;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return rs_fail(EINVAL);
	rs = rs_get(socket);
	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	err = rs->type == SOCK_STREAM ? shut(rs, how) : 0;
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	rs_put(rs);
	return err ? rs_fail(err) : 0;
}

/* Waits until all sent data is in the peer's memory. Under the lock. */
static void drain(struct rs *rs)
{
	struct timeval limit = {.tv_sec = RS_LINGER_S};
	struct rs_deadline deadline = rs_deadline_in(&limit);
	int rc = 0;

	rs_progress(rs);
	if (rs->opts.linger.l_onoff && rs->opts.linger.l_linger == 0)
		return;
	if (rs->state == RS_CONNECTED && !rs->stream->fin_sent && rs_stream_fin(rs) < 0)
		return;
	while (rs->state == RS_CONNECTED && !rs_stream_idle(rs->stream) && rc != -EAGAIN &&
	       rc != -ENFILE)
		rc = rs_sleep(rs, deadline);
}

/* Closes connections that the program did not accept. */
static void drop_queue(struct rs *listener, struct rs *queue)
{
	struct rs *next;

	for (struct rs *rs = queue; rs; rs = next) {
		next = rs->next;
		drop(rs);
		rs_put(listener);
		rs_put(rs);
	}
}

static void drop(struct rs *rs)
{
	struct rs *queue;
	struct rdma_cm_id *id;
	int cancel;

	/* A cancelled thread would leave the socket half closed. */
	cancel = weft_cancel_off();
	pthread_mutex_lock(&rs->lock);
	if (rs->state == RS_CONNECTED)
		drain(rs);
	else if (rs->state == RS_DATAGRAM)
		rs_dgram_drain(rs);
	rs_set_state(rs, RS_CLOSED);
	rs_wake(rs);
	pthread_mutex_unlock(&rs->lock);
	if (rs->type == SOCK_DGRAM)
		rs_dgram_close(rs);
	/*
	 * A thread that copies data holds one of these locks. A sleeping thread does not, and will
	 * notice the state.
	 */
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	id = rs->id;
	/* The connection ends with its QP: the NIC notifies the peer. */
	rs_conn_free(rs);
	rs->id = NULL;
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	pthread_mutex_unlock(&rs->send_lock);
	if (id)
		(void)rdma_destroy_id(id);
	pthread_mutex_lock(&rs->lock);
	queue = rs->queue;
	rs->queue = NULL;
	rs->queue_end = &rs->queue;
	pthread_mutex_unlock(&rs->lock);
	drop_queue(rs, queue);
	weft_cancel_restore(cancel);
}

/* Waits until the peer's NIC has received the sent data, at most RS_LINGER_S. */
RS_API int rclose(int socket)
{
	struct rs *rs = rs_get(socket);

	if (!rs)
		return -1;
	if (!rs_remove(rs)) {
		rs_put(rs);
		return rs_fail(EBADF);
	}
	drop(rs);
	rs_put(rs);
	return 0;
}

/* ---- data ------------------------------------------------------------------------------------ */

RS_API ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	struct rs *rs = rs_get(socket);
	ssize_t n;

	if (!rs)
		return -1;
	if (flags & MSG_OOB || msg->msg_iovlen > IOV_MAX)
		n = rs_fail(flags & MSG_OOB ? EOPNOTSUPP : EMSGSIZE);
	else if (rs->type == SOCK_DGRAM)
		n = rs_dgram_send(rs, msg, flags);
	else
		n = rs_stream_send(rs, msg->msg_iov, (int)msg->msg_iovlen, flags);
	rs_put(rs);
	return n;
}

RS_API ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	struct rs *rs = rs_get(socket);
	ssize_t n;

	if (!rs)
		return -1;
	if (flags & MSG_OOB || msg->msg_iovlen > IOV_MAX) {
		n = rs_fail(flags & MSG_OOB ? EOPNOTSUPP : EMSGSIZE);
	} else if (rs->type == SOCK_DGRAM) {
		n = rs_dgram_recv(rs, msg, flags);
	} else {
		n = rs_stream_recv(rs, msg->msg_iov, (int)msg->msg_iovlen, flags);
		msg->msg_namelen = 0;
		msg->msg_controllen = 0;
		msg->msg_flags = 0;
	}
	rs_put(rs);
	return n;
}

RS_API ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		       const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct msghdr msg = {.msg_name = (void *)(uintptr_t)dest_addr,
			     .msg_namelen = dest_addr ? addrlen : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};

	return rsendmsg(socket, &msg, flags);
}

RS_API ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

RS_API ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsendto(socket, buf, count, 0, NULL, 0);
}

RS_API ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov,
			     .msg_iovlen = (size_t)iovcnt};

	return iovcnt < 0 || iovcnt > IOV_MAX ? rs_fail(EINVAL) : rsendmsg(socket, &msg, 0);
}

RS_API ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
			 socklen_t *addrlen)
{
	struct iovec iov = {buf, len};
	struct msghdr msg = {.msg_name = src_addr,
			     .msg_namelen = src_addr && addrlen ? *addrlen : 0,
			     .msg_iov = &iov,
			     .msg_iovlen = 1};
	ssize_t n = rrecvmsg(socket, &msg, flags);

	if (n >= 0 && src_addr && addrlen)
		*addrlen = msg.msg_namelen;
	return n;
}

RS_API ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return rrecvfrom(socket, buf, len, flags, NULL, NULL);
}

RS_API ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecvfrom(socket, buf, count, 0, NULL, NULL);
}

RS_API ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov,
			     .msg_iovlen = (size_t)iovcnt};

	return iovcnt < 0 || iovcnt > IOV_MAX ? rs_fail(EINVAL) : rrecvmsg(socket, &msg, 0);
}

/* ---- names ----------------------------------------------------------------------------------- */

RS_API int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs *rs = rs_get(socket);
	int rc = 0;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->state == RS_CONNECTED || rs->state == RS_BROKEN ||
	    (rs->state == RS_DATAGRAM && rs->peer.ss_family))
		rs_addr_out(&rs->peer, addr, addrlen);
	else
		rc = ENOTCONN;
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc ? rs_fail(rc) : 0;
}

RS_API int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs *rs = rs_get(socket);

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	rs_addr_out(&rs->local, addr, addrlen);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return 0;
}
