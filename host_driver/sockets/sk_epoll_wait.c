/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * epoll(7): waits for sets that contain rsockets.
 *
 * A wait copies the list of the set's rsockets, and waits for them, for the kernel's set and for a
 * change of the list. An edge-triggered event is reported again only after the program has read
 * from (or written to) the socket, which it must do until nothing is left. Calls sk_epoll.c and
 * weft_rppoll().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs_private.h"
#include "host_driver/sockets/sk_epoll.h"

enum {
	OUR_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLRDNORM | EPOLLWRNORM,
	ALWAYS = EPOLLERR | EPOLLHUP,
	MARK_ALONE = -2, /* no number of events, and no error */
};

static bool has_rsocket(const struct sk *sk)
{
	return sk->rfd >= 0 && (sk->mode == SK_NIC || sk->mode == SK_BOTH);
}

/* Returns the events to wait for, without reported edges. Under the lock. */
static uint32_t wanted(struct sk_member *m)
{
	uint32_t events = (m->event.events & OUR_EVENTS) | ALWAYS;

	if (m->off || !has_rsocket(m->sk))
		return 0;
	if (!(m->event.events & EPOLLET))
		return events;
	if (m->reads != m->sk->reads)
		m->told &= ~(uint32_t)(EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLPRI | ALWAYS);
	if (m->writes != m->sk->writes)
		m->told &= ~(uint32_t)(EPOLLOUT | EPOLLWRNORM | ALWAYS);
	/* poll(2) reports these whether requested or not. */
	return m->told & ALWAYS ? 0 : events & ~m->told;
}

static int members(const struct sk_set *s, struct pollfd *fds, int n)
{
	int found = 0;

	for (struct sk_member *m = s->members; m; m = m->next) {
		uint32_t events = wanted(m);

		if (!events)
			continue;
		if (fds && found < n)
			fds[found] = (struct pollfd){.fd = m->sk->rfd, .events = (short)events};
		if (!fds || found < n)
			found++;
	}
	return found;
}

int sk_epoll_members(int epfd, struct pollfd *fds, int n)
{
	struct sk_set *s;
	int found = 0;

	if (!sk_epoll_any())
		return 0;
	sk_epoll_lock();
	s = sk_epoll_set(epfd);
	if (s)
		found = members(s, fds, n);
	sk_epoll_unlock();
	return found;
}

/* One call's copy of the list: the kernel's set and the waker precede the n rsockets. */
struct wait {
	int epfd;
	uint64_t number; /* of the set */
	struct pollfd *p;
	int n;
};

/*
 * Another thread may have removed the last socket of ours since the call began: the waker reports
 * the next one. Returns 0, EBADF (it has closed the set) or ENOMEM.
 */
static int wait_begin(struct wait *w)
{
	struct sk_set *s;

	w->p = NULL;
	sk_epoll_lock();
	s = sk_epoll_set(w->epfd);
	if (s) {
		w->n = members(s, NULL, 0);
		w->p = calloc((size_t)w->n + 2, sizeof(*w->p));
	}
	if (w->p) {
		w->n = members(s, w->p + 2, w->n);
		w->p[0] = (struct pollfd){.fd = w->epfd, .events = POLLIN};
		w->p[1] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
		w->number = s->number;
		s->waits++;
	}
	sk_epoll_unlock();
	if (!s)
		return EBADF;
	return w->p ? 0 : ENOMEM;
}

/* The set may be closed meanwhile. Also a cancelled thread's cleanup handler. */
static void wait_end(void *arg)
{
	struct wait *w = arg;
	struct sk_set *s;

	sk_epoll_lock();
	s = sk_epoll_set(w->epfd);
	if (s && s->number == w->number)
		s->waits--;
	sk_epoll_unlock();
	free(w->p);
}

/* Fills in the event of one member, as the kernel would. */
static void tell(struct sk_member *m, uint32_t now, struct epoll_event *event)
{
	*event = (struct epoll_event){.events = now, .data = m->event.data};
	if (m->event.events & EPOLLONESHOT)
		m->off = true;
	m->told |= now;
	m->reads = m->sk->reads;
	m->writes = m->sk->writes;
}

/* Reports the ready sockets that are still members. */
static int take_ready(const struct wait *w, struct epoll_event *events, int max)
{
	const struct pollfd *p = w->p + 2;
	struct sk_set *s;
	int found = 0;

	sk_epoll_lock();
	s = sk_epoll_set(w->epfd);
	for (struct sk_member *m = s ? s->members : NULL; m && found < max; m = m->next) {
		uint32_t now = 0, want = wanted(m);

		for (int i = 0; i < w->n && want; i++)
			if (p[i].fd == m->sk->rfd)
				now |= (uint32_t)(unsigned short)p[i].revents & want;
		if (now)
			tell(m, now, &events[found++]);
	}
	/* Rotates the list, so that another member comes first next time. */
	if (s && s->members && s->members->next && found == max) {
		struct sk_member *first = s->members, *last = first;

		while (last->next)
			last = last->next;
		s->members = first->next;
		first->next = NULL;
		last->next = first;
	}
	sk_epoll_unlock();
	return found;
}

/* A wait with one place gives it to the kernel's events and ours in turn. */
static bool is_kernels_turn(int epfd)
{
	struct sk_set *s;
	bool yes;

	sk_epoll_lock();
	s = sk_epoll_set(epfd);
	yes = s && (s->kernels_turn = !s->kernels_turn);
	sk_epoll_unlock();
	return yes;
}

static void clear(int fd)
{
	uint64_t count;

	if (REAL->read(fd, &count, sizeof(count)) < 0)
		errno = 0;
}

/* Takes the mark out of the kernel's events. Returns how many are left. */
static int drop_mark(int epfd, struct epoll_event *events, int n)
{
	struct sk_set *s;
	int i = 0;

	while (i < n && events[i].data.ptr != &sk_epoll_mark)
		i++;
	if (i >= n)
		return n;
	memmove(&events[i], &events[i + 1], (size_t)(n - i - 1) * sizeof(*events));
	sk_epoll_lock();
	s = sk_epoll_set(epfd);
	if (s)
		sk_epoll_unmark(s);
	sk_epoll_unlock();
	return n - 1;
}

/* The mark takes no place of another event. */
static int kernels_events(int epfd, struct epoll_event *events, int max)
{
	int n = REAL->epoll_pwait(epfd, events, max, 0, NULL), left = drop_mark(epfd, events, n);

	return left == n || left > 0 ? left : REAL->epoll_pwait(epfd, events, max, 0, NULL);
}

/*
 * Waits once. Returns the number of events, 0 if there is none for the program, or -1 with errno.
 */
static int wait_once(struct wait *w, struct epoll_event *events, int max,
		     const struct timespec *left, const sigset_t *mask)
{
	int rc, found, kernel = 0, room = max;

	sk_enter();
	rc = weft_rppoll(w->p, (nfds_t)w->n + 2, left, mask);
	sk_leave();
	if (rc <= 0)
		return rc;
	if (w->p[1].revents)
		clear(w->p[1].fd);
	/* Reserves at least one place for the kernel's events. */
	if (w->p[0].revents)
		room = max > 1 ? max - 1 : !is_kernels_turn(w->epfd);
	found = room ? take_ready(w, events, room) : 0;
	if (w->p[0].revents && found < max)
		kernel = kernels_events(w->epfd, events + found, max - found);
	if (!room && kernel == 0)
		found = take_ready(w, events, max);
	if (kernel < 0 && !found)
		return -1;
	return found + (kernel > 0 ? kernel : 0);
}

/* A thread that is cancelled in it leaves nothing behind. */
static int wait_whole(struct wait *w, struct epoll_event *events, int max,
		      const struct timespec *left, const sigset_t *mask)
{
	int rc;

	pthread_cleanup_push(wait_end, w);
	rc = wait_once(w, events, max, left, mask);
	pthread_cleanup_pop(1);
	return rc;
}

static struct timespec end_after(const struct timespec *timeout)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout->tv_sec + (end.tv_nsec + timeout->tv_nsec) / 1000000000;
	end.tv_nsec = (end.tv_nsec + timeout->tv_nsec) % 1000000000;
	return end;
}

static struct timespec left_until(const struct timespec *end)
{
	struct timespec now, left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left.tv_sec = end->tv_sec - now.tv_sec - (end->tv_nsec < now.tv_nsec);
	left.tv_nsec = end->tv_nsec - now.tv_nsec + (end->tv_nsec < now.tv_nsec ? 1000000000 : 0);
	if (left.tv_sec < 0)
		left = (struct timespec){0};
	return left;
}

/* end: of CLOCK_MONOTONIC; NULL: none. */
static int do_wait(int epfd, struct epoll_event *events, int max, const struct timespec *end,
		   const sigset_t *mask)
{
	struct timespec left = {0};
	struct wait w = {.epfd = epfd};
	int rc = 0, err;

	if (max <= 0)
		return sk_fail(EINVAL);
	for (;;) {
		err = wait_begin(&w);
		if (err)
			return sk_fail(err);
		if (end)
			left = left_until(end);
		rc = wait_whole(&w, events, max, end ? &left : NULL, mask);
		if (rc != 0 || (end && !left.tv_sec && !left.tv_nsec))
			return rc;
	}
}

static bool is_ours(int epfd)
{
	struct sk_set *s;
	bool yes;

	if (!sk_epoll_any() || !sk_outside())
		return false;
	sk_epoll_lock();
	s = sk_epoll_set(epfd);
	yes = s && s->members;
	sk_epoll_unlock();
	return yes;
}

static void kernel_wait_end(void *arg)
{
	(void)arg;
	atomic_fetch_sub(&sk_epoll_kernel_waits, 1);
}

/* timeout: exact, for epoll_pwait2(); NULL: ms. MARK_ALONE: the set is one of ours. */
static int wait_in_kernel(int epfd, struct epoll_event *events, int max, int ms,
			  const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd p = {.fd = epfd, .events = POLLIN};

	if (is_ours(epfd))
		return MARK_ALONE;
	if (!timeout)
		return REAL->epoll_pwait(epfd, events, max, ms, mask);
	if (REAL->ppoll(&p, 1, timeout, mask) < 0)
		return -1;
	return REAL->epoll_pwait(epfd, events, max, 0, NULL);
}

/*
 * Waits in the kernel if no socket of ours is in the set. Returns the number of events, -1 with
 * errno, or MARK_ALONE: such a socket is in it, or came.
 */
static int wait_counted(int epfd, struct epoll_event *events, int max, int ms,
			const struct timespec *timeout, const sigset_t *mask)
{
	int rc, left;

	atomic_fetch_add(&sk_epoll_kernel_waits, 1);
	pthread_cleanup_push(kernel_wait_end, NULL);
	rc = wait_in_kernel(epfd, events, max, ms, timeout, mask);
	pthread_cleanup_pop(1);
	left = drop_mark(epfd, events, rc);
	return left == rc || left > 0 || !is_ours(epfd) ? left : MARK_ALONE;
}

SK_API int epoll_pwait(int epfd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	int rc;

	if (ms >= 0)
		ts = end_after(&ts);
	rc = wait_counted(epfd, events, max, ms, NULL, mask);
	return rc == MARK_ALONE ? do_wait(epfd, events, max, ms < 0 ? NULL : &ts, mask) : rc;
}

SK_API int epoll_wait(int epfd, struct epoll_event *events, int max, int ms)
{
	return epoll_pwait(epfd, events, max, ms, NULL);
}

SK_API int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec end = {0};
	int rc;

	if (timeout)
		end = end_after(timeout);
	rc = wait_counted(epfd, events, max, -1, timeout, mask);
	return rc == MARK_ALONE ? do_wait(epfd, events, max, timeout ? &end : NULL, mask) : rc;
}
