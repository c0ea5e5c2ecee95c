/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poll(2), select(2) and related calls for rsockets and all other descriptors.
 *
 * Each descriptor is replaced by the objects behind it: the rsocket, the kernel's socket, both, or
 * the members of an epoll set. rpoll() waits for all of them. A call without rsockets goes to the C
 * library. Calls sk_table.c, sk_epoll.c and weft_rppoll().
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_driver/rdmacm/rs_private.h"
#include "host_driver/sockets/sk.h"

extern void __chk_fail(void) __attribute__((noreturn));

/*
 * The expanded set. owner: index of the program's entry, or -1 - index for a member of its epoll
 * set.
 */
struct wait_set {
	struct pollfd *p;
	int *owner;
	int n, room;
	bool has_rsocket;
};

static bool add(struct wait_set *s, struct pollfd p, int owner)
{
	if (s->n == s->room) {
		int room = s->room * 2 + 16;
		struct pollfd *more = realloc(s->p, (size_t)room * sizeof(*more));
		int *owners = realloc(s->owner, (size_t)room * sizeof(*owners));

		if (more)
			s->p = more;
		if (owners)
			s->owner = owners;
		if (!more || !owners)
			return false;
		s->room = room;
	}
	s->p[s->n] = p;
	s->owner[s->n++] = owner;
	return true;
}

static bool add_members(struct wait_set *s, int epfd, int owner)
{
	int n = sk_epoll_members(epfd, NULL, 0);
	struct pollfd *p = n > 0 ? calloc((size_t)n, sizeof(*p)) : NULL;
	bool ok = p || n == 0;

	if (p)
		n = sk_epoll_members(epfd, p, n);
	for (int i = 0; ok && i < n; i++)
		ok = add(s, p[i], -1 - owner);
	s->has_rsocket |= n > 0;
	free(p);
	return ok;
}

static bool add_entry(struct wait_set *s, const struct pollfd *fd, int owner)
{
	struct sk *sk = fd->fd >= 0 ? sk_get(fd->fd) : NULL;
	enum sk_mode mode = sk ? sk->mode : SK_KERNEL;
	int rfd = sk ? sk->rfd : -1;
	bool ok = true;

	if (sk)
		sk_put(sk);
	if (rfd >= 0 && (mode == SK_NIC || mode == SK_BOTH)) {
		s->has_rsocket = true;
		ok = add(s, (struct pollfd){.fd = rfd, .events = fd->events}, owner);
	}
	if (ok && mode != SK_NIC)
		ok = add(s, *fd, owner);
	return ok && (sk || fd->fd < 0 || add_members(s, fd->fd, owner));
}

/* Copies the results to the program's entries; returns the number of entries with events. */
static int collect(const struct wait_set *s, struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = 0;
	for (int i = 0; i < s->n; i++) {
		int owner = s->owner[i];

		if (owner >= 0)
			fds[owner].revents |= s->p[i].revents;
		else if (s->p[i].revents)
			fds[-1 - owner].revents |= fds[-1 - owner].events & (POLLIN | POLLRDNORM);
	}
	for (nfds_t i = 0; i < n; i++)
		ready += fds[i].revents != 0;
	return ready;
}

/* ppoll(2) on descriptors of the program. */
static int sk_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		    const sigset_t *mask)
{
	struct wait_set s = {0};
	bool ok = n <= INT_MAX / 4;
	int rc;

	for (nfds_t i = 0; i < n && ok; i++)
		ok = add_entry(&s, &fds[i], (int)i);
	if (!ok) {
		rc = sk_fail(ENOMEM);
	} else if (!s.has_rsocket) {
		rc = REAL->ppoll(fds, n, timeout, mask);
	} else {
		sk_enter();
		rc = weft_rppoll(s.p, (nfds_t)s.n, timeout, mask);
		sk_leave();
		if (rc >= 0)
			rc = collect(&s, fds, n);
	}
	free(s.p);
	free(s.owner);
	return rc;
}

static const struct timespec *from_ms(int ms, struct timespec *ts)
{
	if (ms < 0)
		return NULL;
	*ts = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	return ts;
}

int sk_wait(struct sk *sk, int fd, short events, int timeout_ms)
{
	struct pollfd p[2] = {{.fd = sk->rfd, .events = events}, {.fd = fd, .events = events}};
	struct timespec ts;
	int rc;

	sk_enter();
	rc = weft_rppoll(p, sk->mode == SK_BOTH ? 2 : 1, from_ms(timeout_ms, &ts), NULL);
	sk_leave();
	return rc;
}

/* ---- poll ------------------------------------------------------------------------------------ */

SK_API int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts;

	return sk_outside() ? sk_ppoll(fds, n, from_ms(ms, &ts), NULL) : REAL->poll(fds, n, ms);
}

SK_API int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	return sk_outside() ? sk_ppoll(fds, n, timeout, mask) : REAL->ppoll(fds, n, timeout, mask);
}

int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

SK_API int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return poll(fds, n, ms);
}

SK_API int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return ppoll(fds, n, timeout, mask);
}

/* ---- select ---------------------------------------------------------------------------------- */

/* A program's sets may be longer than the C library's fd_set, which the kernel permits. */
static bool in_set(int fd, const fd_set *set)
{
	const unsigned char *bytes = (const unsigned char *)set;

	return set && bytes[fd / CHAR_BIT] >> (fd % CHAR_BIT) & 1;
}

static void put_in_set(int fd, fd_set *set, bool on)
{
	unsigned char *bytes = (unsigned char *)set;
	unsigned char bit = (unsigned char)(1u << (fd % CHAR_BIT));

	bytes[fd / CHAR_BIT] =
	    (unsigned char)(on ? bytes[fd / CHAR_BIT] | bit : bytes[fd / CHAR_BIT] & ~bit);
}

static short asked(int fd, const fd_set *r, const fd_set *w, const fd_set *e)
{
	return (short)((in_set(fd, r) ? POLLIN : 0) | (in_set(fd, w) ? POLLOUT : 0) |
		       (in_set(fd, e) ? POLLPRI : 0));
}

static int answer(const struct pollfd *p, fd_set *set, short want, short means)
{
	bool on = p->events & want && p->revents & means;

	if (p->events & want)
		put_in_set(p->fd, set, on);
	return on;
}

static int select_by_poll(int nfds, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
			  const sigset_t *mask)
{
	struct pollfd *p = calloc((size_t)nfds + 1, sizeof(*p));
	nfds_t n = 0;
	int rc, bits = 0;

	if (!p)
		return sk_fail(ENOMEM);
	for (int fd = 0; fd < nfds; fd++) {
		short events = asked(fd, r, w, e);

		if (events)
			p[n++] = (struct pollfd){.fd = fd, .events = events};
	}
	rc = sk_ppoll(p, n, timeout, mask);
	for (nfds_t i = 0; rc >= 0 && i < n; i++)
		if (p[i].revents & POLLNVAL)
			rc = sk_fail(EBADF);
	for (nfds_t i = 0; rc >= 0 && i < n; i++)
		bits += answer(&p[i], r, POLLIN, POLLIN | POLLHUP | POLLERR) +
			answer(&p[i], w, POLLOUT, POLLOUT | POLLERR) +
			answer(&p[i], e, POLLPRI, POLLPRI);
	free(p);
	return rc < 0 ? rc : bits;
}

/* Returns true if the sets contain one of our sockets. */
static bool concerns(int nfds, const fd_set *r, const fd_set *w, const fd_set *e)
{
	bool yes = false;

	if (nfds < 0 || !sk_outside())
		return false;
	for (int fd = 0; fd < nfds && !yes; fd++) {
		struct sk *sk;

		if (!asked(fd, r, w, e))
			continue;
		sk = sk_get(fd);
		yes = sk ? sk->rfd >= 0 : sk_epoll_members(fd, NULL, 0) > 0;
		if (sk)
			sk_put(sk);
	}
	return yes;
}

SK_API int select(int nfds, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
	struct timespec ts, begin, now;
	int64_t left;
	int rc;

	if (!concerns(nfds, r, w, e))
		return REAL->select(nfds, r, w, e, timeout);
	if (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0))
		return sk_fail(EINVAL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (timeout)
		ts = (struct timespec){timeout->tv_sec + timeout->tv_usec / 1000000,
				       timeout->tv_usec % 1000000 * 1000};
	rc = select_by_poll(nfds, r, w, e, timeout ? &ts : NULL, NULL);
	if (!timeout)
		return rc;
	/* Stores the remaining time, as Linux does. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (ts.tv_sec + begin.tv_sec - now.tv_sec) * 1000000 +
	       (ts.tv_nsec + begin.tv_nsec - now.tv_nsec) / 1000;
	if (left < 0)
		left = 0;
	*timeout = (struct timeval){left / 1000000, left % 1000000};
	return rc;
}

SK_API int pselect(int nfds, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
		   const sigset_t *mask)
{
	return concerns(nfds, r, w, e) ? select_by_poll(nfds, r, w, e, timeout, mask)
				       : REAL->pselect(nfds, r, w, e, timeout, mask);
}
