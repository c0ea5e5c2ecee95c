/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeps until a socket changes.
 *
 * A sleeping thread polls the completion channel and its own eventfd. Only one thread takes a
 * channel's event. The other threads that wait for the same socket are in its list, and rs_wake()
 * writes to their eventfds. Calls rs_poll.c for what differs between streams and datagrams.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs.h"
#include "lib/clock.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static void waiter_free(void *arg)
{
	struct rs_waiter *w = arg;

	close(w->fd);
	free(w);
}

/* After fork the thread shares its eventfd with the parent: a new one is created on demand. */
static void forked(void)
{
	struct rs_waiter *w = pthread_getspecific(key);

	if (w && pthread_setspecific(key, NULL) == 0)
		waiter_free(w);
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, waiter_free);
	if (!key_error)
		key_error = pthread_atfork(NULL, NULL, forked);
}

struct rs_waiter *rs_waiter(void)
{
	struct rs_waiter *w;
	int err = 0;

	pthread_once(&once, make_key);
	if (key_error) {
		errno = key_error;
		return NULL;
	}
	w = pthread_getspecific(key);
	if (w)
		return w;
	w = malloc(sizeof(*w));
	if (!w)
		return NULL;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		err = errno;
	else
		err = pthread_setspecific(key, w);
	if (err) {
		if (w->fd >= 0)
			close(w->fd);
		free(w);
		errno = err;
		return NULL;
	}
	return w;
}

void rs_link(struct rs *rs, struct rs_link *link, struct rs_waiter *waiter)
{
	*link = (struct rs_link){.next = rs->waiters, .pprev = &rs->waiters, .waiter = waiter};
	if (rs->waiters)
		rs->waiters->pprev = &link->next;
	rs->waiters = link;
}

void rs_unlink(struct rs_link *link)
{
	*link->pprev = link->next;
	if (link->next)
		link->next->pprev = link->pprev;
}

void rs_wake(struct rs *rs)
{
	int cancel = weft_cancel_off();

	for (struct rs_link *l = rs->waiters; l; l = l->next) {
		if (!l->woken)
			(void)eventfd_write(l->waiter->fd, 1);
		l->woken = true;
	}
	weft_cancel_restore(cancel);
}

void rs_waiter_clear(struct rs_waiter *waiter)
{
	int cancel = weft_cancel_off();
	eventfd_t count;

	(void)eventfd_read(waiter->fd, &count);
	weft_cancel_restore(cancel);
}

struct rs_deadline rs_deadline_in(const struct timeval *tv)
{
	/* No timeout, or one beyond 68 years. */
	if ((!tv->tv_sec && !tv->tv_usec) || tv->tv_sec >= INT32_MAX)
		return (struct rs_deadline){UINT64_MAX};
	return (struct rs_deadline){clock_now_ns() + (uint64_t)tv->tv_sec * 1000000000 +
				    (uint64_t)tv->tv_usec * 1000};
}

int rs_deadline_ms(struct rs_deadline d)
{
	uint64_t now = clock_now_ns(), ms;

	if (d.ns == UINT64_MAX)
		return -1;
	if (d.ns <= now)
		return 0;
	ms = (d.ns - now + 999999) / 1000000;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

const struct timespec *rs_deadline_left(struct rs_deadline d, struct timespec *left)
{
	uint64_t now = clock_now_ns(), ns = d.ns > now ? d.ns - now : 0;

	if (d.ns == UINT64_MAX)
		return NULL;
	left->tv_sec = (time_t)(ns / 1000000000);
	left->tv_nsec = (long)(ns % 1000000000);
	return left;
}

struct sleeper {
	struct rs *rs;
	struct rs_link link;
	const sigset_t
	    *mask; /* signal mask during the sleep and after a cancellation; NULL: unchanged */
};

/* Cleanup handler: removes the entry, which lies on the cancelled thread's stack. */
static void cancelled(void *arg)
{
	struct sleeper *s = arg;

	pthread_mutex_lock(&s->rs->lock);
	rs_unlink(&s->link);
	pthread_mutex_unlock(&s->rs->lock);
	if (s->mask)
		pthread_sigmask(SIG_SETMASK, s->mask, NULL);
}

/* Called without the lock. Returns 0 or a negative errno. */
static int sleep_in(struct sleeper *s, struct pollfd *p, nfds_t n, struct rs_deadline deadline)
{
	struct timespec left;
	int rc;

	pthread_cleanup_push(cancelled, s);
	rc = ppoll(p, n, rs_deadline_left(deadline, &left), s->mask) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);
	return rc;
}

static int sleep_masked(struct rs *rs, struct rs_deadline deadline, const sigset_t *mask)
{
	struct rs_waiter *w = rs_waiter();
	struct pollfd p[RS_FDS_OF_ONE + 1];
	int fds[RS_FDS_OF_ONE], n, rc;
	struct sleeper self = {.rs = rs, .mask = mask};

	if (!w)
		return -ENFILE;
	if (rs_arm(rs))
		return 0;
	if (rs_deadline_ms(deadline) == 0)
		return -EAGAIN;
	rs_link(rs, &self.link, w);
	n = rs_fds(rs, fds);
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	p[n] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	pthread_mutex_unlock(&rs->lock);
	rc = sleep_in(&self, p, (nfds_t)n + 1, deadline);
	pthread_mutex_lock(&rs->lock);
	rs_unlink(&self.link);
	rs_waiter_clear(w);
	rs_events(rs);
	return rc;
}

int rs_sleep(struct rs *rs, struct rs_deadline deadline)
{
	return sleep_masked(rs, deadline, NULL);
}

static void looks_begin(struct rs_looks *looks)
{
	sigset_t all;

	if (looks->end_ns == 0)
		looks->end_ns = rs_spin_begin();
	if (looks->masked)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &looks->before);
	looks->masked = true;
}

void rs_wait_end(struct rs_looks *looks)
{
	if (looks->masked)
		pthread_sigmask(SIG_SETMASK, &looks->before, NULL);
	looks->masked = false;
}

int rs_wait(struct rs *rs, pthread_mutex_t *side, struct rs_deadline deadline,
	    struct rs_looks *looks)
{
	int rc = 0;

	looks_begin(looks);
	pthread_mutex_unlock(side);
	/* The lock is held from the caller's look to the sleep: others wake only those in the list.
	 */
	if (rs_spin_over(looks->end_ns)) {
		uint64_t since_ns = clock_now_ns();

		rc = sleep_masked(rs, deadline, &looks->before);
		pthread_mutex_unlock(&rs->lock);
		rs_spin_slept(since_ns);
	} else {
		pthread_mutex_unlock(&rs->lock);
		(void)rs_spin_again(looks->end_ns);
	}
	pthread_mutex_lock(side);
	pthread_mutex_lock(&rs->lock);
	rs_progress(rs);
	return rc;
}
