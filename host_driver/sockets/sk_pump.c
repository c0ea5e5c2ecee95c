/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pumps: threads that connect a socket pair to an rsocket.
 *
 * One thread per connection carries bytes and half-closes both ways. One thread per listener
 * accepts connections and passes the end of a new pair to the process that calls accept(2). A pump
 * ends when no process holds the other end of its pair. Calls rsockets and the C library.
 */
#include "host_driver/sockets/sk_pump.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"

enum {
	WAY_BYTES = 1 << 16,
	FULL_US = 10000,
};

struct pump {
	struct pump *next, **pprev;
	int rfd, end, kernel_fd;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct pump *first;
} pumps = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void pump_end(struct pump *p)
{
	(void)rclose(p->rfd);
	pthread_mutex_lock(&pumps.lock);
	*p->pprev = p->next;
	if (p->next)
		p->next->pprev = p->pprev;
	(void)REAL->close(p->end);
	if (p->kernel_fd >= 0)
		(void)REAL->close(p->kernel_fd);
	pthread_cond_broadcast(&pumps.ended);
	pthread_mutex_unlock(&pumps.lock);
	free(p);
}

static int pump_start(void *(*run)(void *), int rfd, int kernel_fd, int end)
{
	struct pump *p = calloc(1, sizeof(*p));
	sigset_t all, old;
	pthread_t thread;
	int err;

	if (!p)
		return sk_fail(ENOMEM);
	*p = (struct pump){.rfd = rfd, .end = end, .kernel_fd = kernel_fd};
	pthread_mutex_lock(&pumps.lock);
	p->next = pumps.first;
	p->pprev = &pumps.first;
	if (p->next)
		p->next->pprev = &p->next;
	pumps.first = p;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		pumps.first = p->next;
		if (p->next)
			p->next->pprev = &pumps.first;
		free(p);
	} else {
		(void)pthread_setname_np(thread, "weft-pump");
		pthread_detach(thread);
	}
	pthread_mutex_unlock(&pumps.lock);
	return err ? sk_fail(err) : 0;
}

void sk_pumps_wait(void)
{
	pthread_mutex_lock(&pumps.lock);
	while (pumps.first)
		pthread_cond_wait(&pumps.ended, &pumps.lock);
	pthread_mutex_unlock(&pumps.lock);
}

bool sk_pumps_any(void)
{
	bool any;

	pthread_mutex_lock(&pumps.lock);
	any = pumps.first != NULL;
	pthread_mutex_unlock(&pumps.lock);
	return any;
}

void sk_pumps_lock(void)
{
	pthread_mutex_lock(&pumps.lock);
}

void sk_pumps_unlock(void)
{
	pthread_mutex_unlock(&pumps.lock);
}

void sk_pumps_reset(void)
{
	pthread_mutex_init(&pumps.lock, NULL);
}

void sk_pumps_forked(void)
{
	struct pump *p, *next;

	pthread_cond_init(&pumps.ended, NULL);
	for (p = pumps.first; p; p = next) {
		next = p->next;
		(void)REAL->close(p->end);
		if (p->kernel_fd >= 0)
			(void)REAL->close(p->kernel_fd);
		free(p);
	}
	pumps.first = NULL;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* One direction: data taken from one side and not yet written to the other. */
struct way {
	char buf[WAY_BYTES];
	size_t from, to;
	bool ended; /* the source has ended */
	bool lost;  /* the destination accepts no more data */
	bool shut;  /* the destination was notified of the end */
};

static ssize_t take(int fd, bool is_rsocket, struct way *w)
{
	return is_rsocket ? rrecv(fd, w->buf, WAY_BYTES, MSG_DONTWAIT)
			  : REAL->recv(fd, w->buf, WAY_BYTES, MSG_DONTWAIT);
}

static ssize_t give(int fd, bool is_rsocket, const struct way *w)
{
	return is_rsocket
		   ? rsend(fd, w->buf + w->from, w->to - w->from, MSG_DONTWAIT)
		   : REAL->send(fd, w->buf + w->from, w->to - w->from, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/*
 * Handles the loss of a destination while the other direction continues. A writing program gets
 * EPIPE; data of a peer is discarded, as in TCP after SHUT_RD.
 */
static void lose(struct way *w, int from, bool from_rsocket)
{
	w->lost = true;
	if (!from_rsocket) {
		(void)REAL->shutdown(from, SHUT_RD);
		w->ended = true;
	}
}

/* Moves as much data as possible. */
static void move(struct way *w, int from, int to, bool from_rsocket)
{
	ssize_t n = 1;

	while (n > 0 && !w->shut) {
		if (w->from == w->to && !w->ended) {
			w->from = w->to = 0;
			n = take(from, from_rsocket, w);
			if (n > 0)
				w->to = (size_t)n;
			/* A broken connection ends like a closed one. */
			w->ended = n == 0 || (n < 0 && !later());
		}
		if (w->from < w->to && !w->lost) {
			n = give(to, !from_rsocket, w);
			w->from += n > 0 ? (size_t)n : 0;
			if (n < 0 && !later()) {
				lose(w, from, from_rsocket);
				n = 1;
			}
		}
		if (w->lost)
			w->from = w->to;
		if (w->from == w->to && w->ended) {
			w->shut = true;
			(void)(from_rsocket ? REAL->shutdown(to, SHUT_WR) : rshutdown(to, SHUT_WR));
		}
	}
}

static short source_events(const struct way *w)
{
	return w->from == w->to && !w->ended ? POLLIN : 0;
}

static short target_events(const struct way *w)
{
	return w->from < w->to ? POLLOUT : 0;
}

static void *stream_thread(void *arg)
{
	struct pump *p = arg;
	struct way *ways = calloc(2, sizeof(*ways)), *in = ways, *out = ways + 1;
	bool go = ways != NULL;

	sk_enter();
	while (go && !(in->shut && out->shut)) {
		struct pollfd fds[2] = {
		    {.fd = p->rfd, .events = (short)(source_events(in) | target_events(out))},
		    {.fd = p->end, .events = (short)(source_events(out) | target_events(in))}};

		/*
		 * End of stream stays readable for good, so it is no longer polled; hangup of the
		 * pair ends the pump.
		 */
		if (!fds[0].events)
			fds[0].fd = -1;
		if (!fds[1].events && !out->shut)
			fds[1].fd = -1;
		if (rpoll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		move(in, p->rfd, p->end, true);
		move(out, p->end, p->rfd, false);
		/* No process holds the other end: received data has no reader. */
		go = !(fds[1].revents & (POLLHUP | POLLERR) && out->shut);
	}
	pump_end(p);
	free(ways);
	return NULL;
}

int sk_pump_stream(int rfd, int end)
{
	return pump_start(stream_thread, rfd, -1, end);
}

/* ---- listeners ------------------------------------------------------------------------------- */

/*
 * Passes the descriptor and its addresses to the pair; -1: no reader. If the kernel allows no more
 * descriptors in flight, the connection is dropped.
 */
static int pass(int end, int fd, const struct sk_passed *what)
{
	struct iovec iov = {(void *)(uintptr_t)what, sizeof(*what)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return REAL->sendmsg(end, &msg, MSG_NOSIGNAL) < 0 && (errno == EPIPE || errno == ECONNRESET)
		   ? -1
		   : 0;
}

/* Serves a connection of the NIC with a pair and a pump of its own. */
static int pass_nic(const struct pump *p, int rfd)
{
	struct sk_passed what = {0};
	socklen_t local = sizeof(what.local), peer = sizeof(what.peer);
	int pair[2], rc;

	if (rgetsockname(rfd, (struct sockaddr *)&what.local, &local) < 0 ||
	    rgetpeername(rfd, (struct sockaddr *)&what.peer, &peer) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)rclose(rfd);
		return 0;
	}
	if (sk_pump_stream(rfd, pair[0]) < 0) {
		(void)rclose(rfd);
		(void)REAL->close(pair[0]);
		(void)REAL->close(pair[1]);
		return 0;
	}
	rc = pass(p->end, pair[1], &what);
	(void)REAL->close(pair[1]);
	return rc;
}

static int pass_kernel(const struct pump *p)
{
	struct sk_passed what = {.is_kernel = 1};
	socklen_t peer = sizeof(what.peer);
	int fd = REAL->accept4(p->kernel_fd, (struct sockaddr *)&what.peer, &peer, SOCK_CLOEXEC),
	    rc;

	/* The connection has ended already, or waits until descriptors are available. */
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			(void)usleep(FULL_US);
		return 0;
	}
	rc = pass(p->end, fd, &what);
	(void)REAL->close(fd);
	return rc;
}

static void *listener_thread(void *arg)
{
	struct pump *p = arg;
	bool nic = true;
	int rc = 0, rfd;

	sk_enter();
	while (rc == 0 && (nic || p->kernel_fd >= 0)) {
		struct pollfd fds[3] = {{.fd = nic ? p->rfd : -1, .events = POLLIN},
					{.fd = p->end},
					{.fd = p->kernel_fd, .events = POLLIN}};

		if (rpoll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents & (POLLHUP | POLLERR))
			break;
		rfd = fds[0].revents ? raccept(p->rfd, NULL, NULL) : -1;
		if (rfd >= 0)
			rc = pass_nic(p, rfd);
		else if (fds[0].revents && errno == ENETDOWN)
			nic = false;
		if (rc == 0 && fds[2].revents & POLLIN)
			rc = pass_kernel(p);
	}
	pump_end(p);
	return NULL;
}

int sk_pump_listener(int rfd, int kernel_fd, int end)
{
	return pump_start(listener_thread, rfd, kernel_fd, end);
}
