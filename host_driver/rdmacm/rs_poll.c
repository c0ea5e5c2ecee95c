/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpoll() and rselect(): wait for rsockets and other descriptors together.
 *
 * A call first checks all descriptors, repeats that for a few microseconds, arms the completion
 * queues, checks once more, and then sleeps in poll(2) on their channels, the thread's eventfd and
 * the other descriptors. Calls rs_stream.c, rs_dgram.c and rs_wait.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"
#include "host_driver/rdmacm/rs_private.h"
#include "lib/clock.h"

/* ---- both kinds of sockets ------------------------------------------------------------------- */

void rs_progress(struct rs *rs)
{
	if (rs->type == SOCK_DGRAM)
		(void)rs_dgram_progress(rs);
	else
		(void)rs_stream_progress(rs);
}

/*
 * A listener is readable once a queued connection is established; the connection may have ended
 * since.
 */
static short listener_revents(const struct rs *rs)
{
	return (short)((rs->ready ? POLLIN | POLLRDNORM : 0) | (rs->error ? POLLIN | POLLERR : 0));
}

/* Returns the current poll events (POLLIN etc.). */
static short rs_revents(struct rs *rs)
{
	if (rs->state == RS_CLOSED)
		return POLLNVAL;
	if (rs->state == RS_LISTENING)
		return listener_revents(rs);
	return rs->type == SOCK_DGRAM ? rs_dgram_revents(rs) : rs_stream_revents(rs);
}

bool rs_arm(struct rs *rs)
{
	return rs->type == SOCK_DGRAM ? rs_dgram_arm(rs) : rs_stream_arm(rs);
}

void rs_events(struct rs *rs)
{
	if (rs->type == SOCK_DGRAM)
		rs_dgram_event(rs);
	else
		rs_stream_event(rs);
}

int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE])
{
	if (rs->type == SOCK_DGRAM)
		return rs_dgram_fds(rs, fds, RS_FDS_OF_ONE);
	if (!rs->stream || rs->state != RS_CONNECTED)
		return 0;
	fds[0] = rs->stream->gear.channel->fd;
	return 1;
}

/* ---- rpoll ----------------------------------------------------------------------------------- */

/* Between two looks at descriptors that are not rsockets, which take a system call. */
#define KERNEL_LOOK_NS UINT64_C(20000)

/* One entry of the caller's array. */
struct entry {
	struct rs *rs; /* NULL: not an rsocket */
	struct rs_link link;
	bool linked;
	int first_fd, num_fds; /* in the array for poll(2) */
};

struct poll_set {
	struct pollfd *fds;
	nfds_t n;
	struct entry *entries;
	struct pollfd
	    *kernel; /* n descriptors of the caller, then those of rsockets, then the waiter's */
	nfds_t num_plain;     /* descriptors that are not rsockets */
	const sigset_t *mask; /* signal mask during the wait; NULL: unchanged */
	sigset_t before;      /* that of the program, while others are blocked */
	bool blocked;
};

static int set_open(struct poll_set *s, struct pollfd *fds, nfds_t n)
{
	*s = (struct poll_set){.fds = fds, .n = n};
	s->entries = calloc(n + 1, sizeof(*s->entries));
	s->kernel = calloc(n * (1 + RS_FDS_OF_ONE) + 1, sizeof(*s->kernel));
	if (!s->entries || !s->kernel) {
		free(s->entries);
		free(s->kernel);
		return -ENOMEM;
	}
	for (nfds_t i = 0; i < n; i++) {
		s->entries[i].rs = fds[i].fd >= 0 ? rs_get(fds[i].fd) : NULL;
		/* poll(2) ignores negative descriptors */
		s->kernel[i] = (struct pollfd){.fd = s->entries[i].rs ? -1 : fds[i].fd,
					       .events = fds[i].events};
		if (!s->entries[i].rs && fds[i].fd >= 0)
			s->num_plain++;
	}
	return 0;
}

static void set_close(struct poll_set *s)
{
	for (nfds_t i = 0; i < s->n; i++)
		if (s->entries[i].rs)
			rs_put(s->entries[i].rs);
	free(s->entries);
	free(s->kernel);
}

static short wanted(struct rs *rs, short events)
{
	return (short)(rs_revents(rs) & (events | POLLERR | POLLHUP | POLLNVAL));
}

/* Returns the number of entries with events; poll(2) has already filled in its own. */
static int count(struct poll_set *s)
{
	int ready = 0;

	for (nfds_t i = 0; i < s->n; i++) {
		struct rs *rs = s->entries[i].rs;

		if (rs) {
			pthread_mutex_lock(&rs->lock);
			rs_progress(rs);
			s->fds[i].revents = wanted(rs, s->fds[i].events);
			pthread_mutex_unlock(&rs->lock);
		} else {
			s->fds[i].revents = s->kernel[i].revents;
		}
		ready += s->fds[i].revents != 0;
	}
	return ready;
}

static int look(struct poll_set *s)
{
	const struct timespec now = {0};

	if ((s->num_plain || s->mask) && ppoll(s->kernel, s->n, &now, s->mask) < 0)
		return -errno;
	return count(s);
}

/*
 * Arms all sockets and enters the waiter into their lists. Returns false if an event is already
 * present.
 */
static bool prepare(struct poll_set *s, struct rs_waiter *w, nfds_t *num_kernel)
{
	nfds_t at = s->n;
	bool nothing = true;

	for (nfds_t i = 0; i < s->n && nothing; i++) {
		struct entry *e = &s->entries[i];
		int fds[RS_FDS_OF_ONE];

		if (!e->rs)
			continue;
		pthread_mutex_lock(&e->rs->lock);
		nothing = !rs_arm(e->rs) && !wanted(e->rs, s->fds[i].events);
		if (nothing) {
			rs_link(e->rs, &e->link, w);
			e->linked = true;
			e->first_fd = (int)at;
			e->num_fds = rs_fds(e->rs, fds);
			for (int f = 0; f < e->num_fds; f++)
				s->kernel[at++] = (struct pollfd){.fd = fds[f], .events = POLLIN};
		}
		pthread_mutex_unlock(&e->rs->lock);
	}
	s->kernel[at] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	*num_kernel = at + 1;
	return nothing;
}

/* Leaves all lists and takes the events of channels. */
static void leave(struct poll_set *s)
{
	for (nfds_t i = 0; i < s->n; i++) {
		struct entry *e = &s->entries[i];
		bool event = false;

		if (!e->linked)
			continue;
		for (int f = 0; f < e->num_fds; f++)
			event |= s->kernel[e->first_fd + f].revents != 0;
		pthread_mutex_lock(&e->rs->lock);
		rs_unlink(&e->link);
		e->linked = false;
		if (event)
			rs_events(e->rs);
		pthread_mutex_unlock(&e->rs->lock);
	}
}

/* Sleeps once. Returns 0 or a negative errno. */
static int sleep_on(struct poll_set *s, struct rs_deadline deadline)
{
	struct rs_waiter *w = rs_waiter();
	struct timespec left;
	nfds_t num = 0;
	int rc = 0;

	if (!w)
		return -ENFILE;
	if (prepare(s, w, &num)) {
		rc = ppoll(s->kernel, num, rs_deadline_left(deadline, &left), s->mask) < 0 ? -errno
											   : 0;
		if (rc == 0 && s->kernel[num - 1].revents)
			rs_waiter_clear(w);
	}
	leave(s);
	return rc;
}

/* True if a completion waits for one of the sockets, or another thread is at it. */
static bool waiting(const struct poll_set *s)
{
	for (nfds_t i = 0; i < s->n; i++) {
		struct rs *rs = s->entries[i].rs;
		bool yes;

		if (!rs)
			continue;
		if (pthread_mutex_trylock(&rs->lock) != 0)
			return true;
		yes = rs->type == SOCK_DGRAM ? rs_dgram_waiting(rs) : rs_stream_waiting(rs);
		pthread_mutex_unlock(&rs->lock);
		if (yes)
			return true;
	}
	return false;
}

/* Returns true as soon as a look may find something; false: the time is over. */
static bool spin(const struct poll_set *s, uint64_t end_ns)
{
	uint64_t kernel_ns = clock_now_ns();

	while (rs_spin_again(end_ns)) {
		uint64_t now_ns;

		if (waiting(s))
			return true;
		now_ns = clock_now_ns();
		if (s->num_plain && now_ns - kernel_ns >= KERNEL_LOOK_NS) {
			if (poll(s->kernel, s->n, 0) > 0)
				return true;
			kernel_ns = now_ns;
		}
	}
	return false;
}

/*
 * Looks for a while, then sleeps. Signals are blocked from the first look to the sleep, which ends
 * with -EINTR when one has come: a handler that ran between would go unnoticed. Those that faults
 * raise are not.
 */
static int spin_then_sleep(struct poll_set *s, struct rs_deadline deadline, uint64_t spin_end)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	const sigset_t *mask = s->mask;
	sigset_t all;
	int rc = 0;

	sigfillset(&all);
	for (uint32_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &s->before);
	s->blocked = true;
	if (!spin(s, spin_end)) {
		uint64_t since_ns = clock_now_ns();

		s->mask = mask ? mask : &s->before;
		rc = sleep_on(s, deadline);
		s->mask = mask;
		rs_spin_slept(since_ns);
	}
	pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	s->blocked = false;
	return rc;
}

static int poll_set(struct poll_set *s, struct rs_deadline deadline)
{
	uint64_t spin_end = rs_spin_begin();
	int rc;

	if (spin_end > deadline.ns)
		spin_end = deadline.ns;

	for (;;) {
		rc = look(s);
		if (rc)
			return rc;
		if (rs_deadline_ms(deadline) == 0)
			return 0;
		rc = spin_then_sleep(s, deadline, spin_end);
		if (rc < 0)
			return rc;
	}
}

/* Cleanup handler for a thread cancelled while it waits. */
static void rs_poll_cancelled(void *arg)
{
	struct poll_set *s = arg;

	leave(s);
	if (s->blocked)
		pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	set_close(s);
}

static int poll_until(struct pollfd *fds, nfds_t nfds, struct rs_deadline deadline,
		      const sigset_t *mask)
{
	struct poll_set s;
	int rc = set_open(&s, fds, nfds);

	if (rc < 0)
		return rs_fail(-rc);
	s.mask = mask;
	pthread_cleanup_push(rs_poll_cancelled, &s);
	rc = poll_set(&s, deadline);
	pthread_cleanup_pop(0);
	set_close(&s);
	return rc < 0 ? rs_fail(-rc) : rc;
}

RS_API int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct rs_deadline deadline = {UINT64_MAX};

	if (timeout >= 0)
		deadline.ns = clock_now_ns() + (uint64_t)timeout * 1000000;
	return poll_until(fds, nfds, deadline, NULL);
}

RS_API int weft_rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		       const sigset_t *mask)
{
	struct rs_deadline deadline = {UINT64_MAX};

	if (timeout &&
	    (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000))
		return rs_fail(EINVAL);
	if (timeout && timeout->tv_sec < INT32_MAX)
		deadline.ns = clock_now_ns() + (uint64_t)timeout->tv_sec * 1000000000 +
			      (uint64_t)timeout->tv_nsec;
	return poll_until(fds, nfds, deadline, mask);
}

/* ---- rselect --------------------------------------------------------------------------------- */

static bool in_set(int fd, const fd_set *set)
{
	return set && FD_ISSET(fd, set);
}

static nfds_t from_sets(int nfds, const fd_set *r, const fd_set *w, const fd_set *e,
			struct pollfd *p)
{
	nfds_t n = 0;

	for (int fd = 0; fd < nfds; fd++) {
		short events =
		    (short)((in_set(fd, r) ? POLLIN : 0) | (in_set(fd, w) ? POLLOUT : 0) |
			    (in_set(fd, e) ? POLLPRI : 0));

		if (events)
			p[n++] = (struct pollfd){.fd = fd, .events = events};
	}
	return n;
}

/*
 * Clears the bits whose descriptors have no event of the set's kind; returns the number that
 * remain.
 */
static int to_set(const struct pollfd *p, nfds_t n, fd_set *set, short asked, short means)
{
	int bits = 0;

	for (nfds_t i = 0; set && i < n; i++) {
		if (!(p[i].events & asked))
			continue;
		if (p[i].revents & means)
			bits++;
		else
			FD_CLR(p[i].fd, set);
	}
	return bits;
}

RS_API int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		   struct timeval *timeout)
{
	struct pollfd p[FD_SETSIZE];
	int64_t ms = -1;
	nfds_t n;
	int rc;

	if (nfds < 0 || nfds > FD_SETSIZE)
		return rs_fail(EINVAL);
	if (timeout) {
		if (timeout->tv_sec < 0 || timeout->tv_usec < 0)
			return rs_fail(EINVAL);
		ms = (int64_t)timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000;
		if (ms > INT32_MAX)
			ms = INT32_MAX;
	}
	n = from_sets(nfds, readfds, writefds, exceptfds, p);
	rc = rpoll(p, n, (int)ms);
	if (rc < 0)
		return rc;
	for (nfds_t i = 0; i < n; i++)
		if (p[i].revents & POLLNVAL)
			return rs_fail(EBADF);
	return to_set(p, n, readfds, POLLIN, POLLIN | POLLHUP | POLLERR) +
	       to_set(p, n, writefds, POLLOUT, POLLOUT | POLLERR) +
	       to_set(p, n, exceptfds, POLLPRI, POLLPRI);
}
