/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * epoll(7): sets that contain rsockets.
 *
 * The kernel's set holds the kernel's descriptors. In addition, a list holds every socket of ours
 * that the program added; sk_epoll_wait.c waits for those with an rsocket. A waiting thread is
 * woken when the list changes. Calls sk_table.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "host_driver/sockets/sk_epoll.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sk_set *sets;
static atomic_bool any_sets;
atomic_int sk_epoll_kernel_waits;
const char sk_epoll_mark;

bool sk_epoll_any(void)
{
	return atomic_load(&any_sets);
}

/* ---- the list, under the lock ---------------------------------------------------------------- */

struct sk_set *sk_epoll_set(int epfd)
{
	struct sk_set *s = sets;

	while (s && s->epfd != epfd)
		s = s->next;
	return s;
}

/*
 * A thread may wait in the kernel for a set that had no socket of ours: a descriptor that is ready
 * ends its wait. Without one the program's poll() of the set sees no such descriptor.
 */
static void mark_set(struct sk_set *s)
{
	struct epoll_event event = {.events = EPOLLIN,
				    .data.ptr = (void *)(uintptr_t)&sk_epoll_mark};

	/* Sequentially consistent: it sees the wait, or the wait sees the set. */
	if (s->mark_fd >= 0 || !atomic_load(&sk_epoll_kernel_waits))
		return;
	s->mark_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->mark_fd >= 0)
		(void)REAL->epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->mark_fd, &event);
}

/* A child of fork() may have the descriptor, too: closing it is not enough. */
void sk_epoll_unmark(struct sk_set *s)
{
	if (s->mark_fd < 0)
		return;
	(void)REAL->epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->mark_fd, NULL);
	(void)REAL->close(s->mark_fd);
	s->mark_fd = -1;
}

/* Returns NULL with errno. */
static struct sk_set *set_make(int epfd)
{
	static uint64_t made;
	struct sk_set *s = sk_epoll_set(epfd);
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
static void wake(const struct sk_set *s)
{
	uint64_t one = 1;

	if (!s->waits)
		return;
	/* The counter overflows only if no thread has read it since. */
	if (REAL->write(s->wake_fd, &one, sizeof(one)) < 0)
		errno = 0;
}

static struct sk_member **place_of(struct sk_set *s, int fd, const struct sk *sk)
{
	struct sk_member **at = &s->members;

	while (*at && ((*at)->fd != fd || (*at)->sk != sk))
		at = &(*at)->next;
	return at;
}

/* The kernel's set contains the sockets that the kernel serves, alone or jointly. */
static int kernel_follow(const struct sk_set *s, struct sk_member *m)
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

static int ctl(struct sk_set *s, struct sk *sk, int op, int fd, const struct epoll_event *event)
{
	struct sk_member **at = place_of(s, fd, sk), *m = *at;
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
	struct sk_set *s;
	int rc;

	if (!sk)
		return REAL->epoll_ctl(epfd, op, fd, event);
	pthread_mutex_lock(&sk->lock);
	pthread_mutex_lock(&lock);
	s = op == EPOLL_CTL_ADD ? set_make(epfd) : sk_epoll_set(epfd);
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
	for (struct sk_set *s = sets; s; s = s->next)
		for (struct sk_member *m = s->members; m; m = m->next) {
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
	if (!sk_epoll_any())
		return;
	pthread_mutex_lock(&lock);
	for (struct sk_set *s = sets; s; s = s->next)
		for (struct sk_member **at = &s->members; *at;) {
			struct sk_member *m = *at;

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
	struct sk_set **at, *s;

	if (!sk_epoll_any() || !sk_outside())
		return;
	pthread_mutex_lock(&lock);
	for (at = &sets; *at && (*at)->epfd != epfd; at = &(*at)->next)
		;
	s = *at;
	if (s) {
		*at = s->next;
		sk_epoll_unmark(s);
		(void)REAL->close(s->wake_fd);
		while (s->members) {
			struct sk_member *m = s->members;

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
	atomic_store(&sk_epoll_kernel_waits, 0);
	for (struct sk_set *s = sets; s; s = s->next)
		s->waits = 0;
}
