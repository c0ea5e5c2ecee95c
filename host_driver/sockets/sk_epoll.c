/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * epoll(7) for sets that contain rsockets.
 *
 * The kernel's set holds the kernel's descriptors. In addition, a list holds every socket of ours
 * that the program added; the waits for those with an rsocket are made here. An edge-triggered
 * event is reported again only after the program has read from (or written to) the socket, which it
 * must do until nothing is left. A waiting thread is woken when the list changes. Calls sk_table.c
 * and weft_rppoll().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs_private.h"
#include "host_driver/sockets/sk.h"

enum {
	OUR_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLRDNORM | EPOLLWRNORM,
	ALWAYS = EPOLLERR | EPOLLHUP,
	MARK_ALONE = -2, /* no number of events, and no error */
};

struct member {
	struct member *next;
	struct sk *sk; /* no reference: sk_epoll_gone() removes it */
	int fd;
	struct epoll_event event;
	bool off;      /* EPOLLONESHOT, already reported */
	uint32_t told; /* EPOLLET: reported events, at the call counts below: */
	unsigned int reads, writes;
	bool in_kernel; /* the kernel's set contains the descriptor */
};

struct set {
	struct set *next;
	uint64_t number; /* no other set has it */
	int epfd, wake_fd;
	int mark_fd; /* -1: nobody waited, or a wait has seen it */
	struct member *members;
	int waits;         /* calls that wait for the list as it was */
	bool kernels_turn; /* of a wait with one place */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *sets;
static atomic_bool any_sets;
static atomic_int kernel_waits; /* calls that wait in the kernel, or are about to */

/* ---- the list, under the lock ---------------------------------------------------------------- */

static struct set *set_of(int epfd)
{
	struct set *s = sets;

	while (s && s->epfd != epfd)
		s = s->next;
	return s;
}

/* Its address is the data of the mark's event, which no program has. */
static const char mark;

/*
 * A thread may wait in the kernel for a set that had no socket of ours: a descriptor that is ready
 * ends its wait. Without one the program's poll() of the set sees no such descriptor.
 */
static void mark_set(struct set *s)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)(uintptr_t)&mark};

	/* Sequentially consistent: it sees the wait, or the wait sees the set. */
	if (s->mark_fd >= 0 || !atomic_load(&kernel_waits))
		return;
	s->mark_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->mark_fd >= 0)
		(void)REAL->epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->mark_fd, &event);
}

/* A child of fork() may have the descriptor, too: closing it is not enough. */
static void mark_end(struct set *s)
{
	if (s->mark_fd < 0)
		return;
	(void)REAL->epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->mark_fd, NULL);
	(void)REAL->close(s->mark_fd);
	s->mark_fd = -1;
}

/* Returns NULL with errno. */
static struct set *set_make(int epfd)
{
	static uint64_t made;
	struct set *s = set_of(epfd);
	int err;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->number = ++made;
	s->epfd = epfd;
	s->mark_fd = -1;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* The kernel says whether it is a set. */
	if (s->wake_fd < 0 ||
	    (REAL->epoll_ctl(epfd, EPOLL_CTL_DEL, s->wake_fd, NULL) < 0 && errno != ENOENT)) {
		err = errno;
		if (s->wake_fd >= 0)
			(void)REAL->close(s->wake_fd);
		free(s);
		errno = err;
		return NULL;
	}
	s->next = sets;
	sets = s;
	atomic_store(&any_sets, true);
	return s;
}

/* A thread that does not wait sees the list in its next call. */
static void wake(const struct set *s)
{
	uint64_t one = 1;

	if (!s->waits)
		return;
	/* The counter overflows only if no thread has read it since. */
	if (REAL->write(s->wake_fd, &one, sizeof(one)) < 0)
		errno = 0;
}

static struct member **place_of(struct set *s, int fd, const struct sk *sk)
{
	struct member **at = &s->members;

	while (*at && ((*at)->fd != fd || (*at)->sk != sk))
		at = &(*at)->next;
	return at;
}

static bool has_rsocket(const struct sk *sk)
{
	return sk->rfd >= 0 && (sk->mode == SK_NIC || sk->mode == SK_BOTH);
}

/* The kernel's set contains the sockets that the kernel serves, alone or jointly. */
static int kernel_follow(const struct set *s, struct member *m)
{
	bool want = m->sk->mode != SK_NIC;
	int rc = 0;

	if (want)
		rc = REAL->epoll_ctl(s->epfd, m->in_kernel ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, m->fd,
				     &m->event);
	else if (m->in_kernel)
		rc = REAL->epoll_ctl(s->epfd, EPOLL_CTL_DEL, m->fd, NULL);
	if (rc == 0)
		m->in_kernel = want;
	return rc;
}

static int ctl(struct set *s, struct sk *sk, int op, int fd, const struct epoll_event *event)
{
	struct member **at = place_of(s, fd, sk), *m = *at;
	int rc = 0;

	if (op == EPOLL_CTL_ADD ? m != NULL : m == NULL)
		return sk_fail(op == EPOLL_CTL_ADD ? EEXIST : ENOENT);
	if (op == EPOLL_CTL_DEL) {
		if (m->in_kernel)
			rc = REAL->epoll_ctl(s->epfd, EPOLL_CTL_DEL, fd, NULL);
		*at = m->next;
		free(m);
		return rc;
	}
	if (!event)
		return sk_fail(EFAULT);
	if (op == EPOLL_CTL_ADD) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return sk_fail(ENOMEM);
		m->sk = sk;
		m->fd = fd;
		*at = m;
	}
	m->event = *event;
	m->off = false;
	m->told = 0;
	rc = kernel_follow(s, m);
	if (rc < 0 && op == EPOLL_CTL_ADD) {
		*at = m->next;
		free(m);
	}
	return rc;
}

SK_API int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct sk *sk = sk_get(fd);
	struct set *s;
	int rc;

	if (!sk)
		return REAL->epoll_ctl(epfd, op, fd, event);
	pthread_mutex_lock(&sk->lock);
	pthread_mutex_lock(&lock);
	s = op == EPOLL_CTL_ADD ? set_make(epfd) : set_of(epfd);
	if (!s) {
		rc = op == EPOLL_CTL_ADD ? -1 : sk_fail(ENOENT);
	} else {
		bool first = !s->members;

		rc = ctl(s, sk, op, fd, event);
		if (first && s->members)
			mark_set(s);
		wake(s);
	}
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&sk->lock);
	sk_put(sk);
	return rc;
}

void sk_epoll_moved(struct sk *sk)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	for (struct set *s = sets; s; s = s->next)
		for (struct member *m = s->members; m; m = m->next) {
			if (m->sk != sk)
				continue;
			m->told = 0;
			/* The kernel removed a descriptor that dup2() closed. */
			if (sk->mode == SK_PUMPED)
				m->in_kernel = false;
			if (!m->off && kernel_follow(s, m) < 0)
				m->in_kernel = false;
			wake(s);
		}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void sk_epoll_gone(const struct sk *sk)
{
	if (!atomic_load(&any_sets))
		return;
	pthread_mutex_lock(&lock);
	for (struct set *s = sets; s; s = s->next)
		for (struct member **at = &s->members; *at;) {
			struct member *m = *at;

			if (m->sk != sk) {
				at = &m->next;
				continue;
			}
			*at = m->next;
			free(m);
		}
	pthread_mutex_unlock(&lock);
}

void sk_epoll_closed(int epfd)
{
	struct set **at, *s;

	if (!atomic_load(&any_sets) || !sk_outside())
		return;
	pthread_mutex_lock(&lock);
	for (at = &sets; *at && (*at)->epfd != epfd; at = &(*at)->next)
		;
	s = *at;
	if (s) {
		*at = s->next;
		mark_end(s);
		(void)REAL->close(s->wake_fd);
		while (s->members) {
			struct member *m = s->members;

			s->members = m->next;
			free(m);
		}
		free(s);
	}
	pthread_mutex_unlock(&lock);
}

void sk_epoll_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sk_epoll_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void sk_epoll_reset(void)
{
	pthread_mutex_init(&lock, NULL);
}

void sk_epoll_forked(void)
{
	atomic_store(&kernel_waits, 0);
	for (struct set *s = sets; s; s = s->next)
		s->waits = 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Returns the events to wait for, without reported edges. Under the lock. */
static uint32_t wanted(struct member *m)
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

static int members(const struct set *s, struct pollfd *fds, int n)
{
	int found = 0;

	for (struct member *m = s->members; m; m = m->next) {
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
	struct set *s;
	int found = 0;

	if (!atomic_load(&any_sets))
		return 0;
	pthread_mutex_lock(&lock);
	s = set_of(epfd);
	if (s)
		found = members(s, fds, n);
	pthread_mutex_unlock(&lock);
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
 * Another thread may have removed the last socket of ours since the call began: the waker tells of
 * the next one. Returns 0, EBADF (it has closed the set) or ENOMEM.
 */
static int wait_begin(struct wait *w)
{
	struct set *s;

	w->p = NULL;
	pthread_mutex_lock(&lock);
	s = set_of(w->epfd);
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
	pthread_mutex_unlock(&lock);
	if (!s)
		return EBADF;
	return w->p ? 0 : ENOMEM;
}

/* The set may be closed meanwhile. Also a cancelled thread's cleanup handler. */
static void wait_end(void *arg)
{
	struct wait *w = arg;
	struct set *s;

	pthread_mutex_lock(&lock);
	s = set_of(w->epfd);
	if (s && s->number == w->number)
		s->waits--;
	pthread_mutex_unlock(&lock);
	free(w->p);
}

/* Fills in the event of one member, as the kernel would. */
static void tell(struct member *m, uint32_t now, struct epoll_event *event)
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
	struct set *s;
	int found = 0;

	pthread_mutex_lock(&lock);
	s = set_of(w->epfd);
	for (struct member *m = s ? s->members : NULL; m && found < max; m = m->next) {
		uint32_t now = 0, want = wanted(m);

		for (int i = 0; i < w->n && want; i++)
			if (p[i].fd == m->sk->rfd)
				now |= (uint32_t)(unsigned short)p[i].revents & want;
		if (now)
			tell(m, now, &events[found++]);
	}
	/* Rotates the list, so that another member comes first next time. */
	if (s && s->members && s->members->next && found == max) {
		struct member *first = s->members, *last = first;

		while (last->next)
			last = last->next;
		s->members = first->next;
		first->next = NULL;
		last->next = first;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* A wait with one place gives it to the kernel's events and ours in turn. */
static bool is_kernels_turn(int epfd)
{
	struct set *s;
	bool yes;

	pthread_mutex_lock(&lock);
	s = set_of(epfd);
	yes = s && (s->kernels_turn = !s->kernels_turn);
	pthread_mutex_unlock(&lock);
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
	struct set *s;
	int i = 0;

	while (i < n && events[i].data.ptr != &mark)
		i++;
	if (i >= n)
		return n;
	memmove(&events[i], &events[i + 1], (size_t)(n - i - 1) * sizeof(*events));
	pthread_mutex_lock(&lock);
	s = set_of(epfd);
	if (s)
		mark_end(s);
	pthread_mutex_unlock(&lock);
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
	return left.tv_sec < 0 ? (struct timespec){0} : left;
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
	struct set *s;
	bool yes;

	if (!atomic_load(&any_sets) || !sk_outside())
		return false;
	pthread_mutex_lock(&lock);
	s = set_of(epfd);
	yes = s && s->members;
	pthread_mutex_unlock(&lock);
	return yes;
}

static void kernel_wait_end(void *arg)
{
	(void)arg;
	atomic_fetch_sub(&kernel_waits, 1);
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

	atomic_fetch_add(&kernel_waits, 1);
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
	struct timespec end = timeout ? end_after(timeout) : (struct timespec){0};
	int rc = wait_counted(epfd, events, max, -1, timeout, mask);

	return rc == MARK_ALONE ? do_wait(epfd, events, max, timeout ? &end : NULL, mask) : rc;
}
