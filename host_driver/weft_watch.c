/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches of memory ranges, and the monitor thread; see weft_watch.h.
 *
 * Calls back into weft_mr_cache.c; reads the list of mappings through weft_maps.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_driver/weft_watch.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

enum {
	WEFT_WATCHES_MAX = 4096,
	WEFT_MONITOR_EVENTS = 16,
};

struct weft_watch {
	struct weft_link node; /* in watches or spare */
	int fd;                /* -1: unused */
	const struct weft_extent *extent;
	struct weft_link watched;
	uint32_t stopping; /* watched ranges that the monitor is stopping */
};

/*
 * Protected by watch_lock. Unused watches wait in spare and are never freed: a pending event of the
 * monitor may still refer to them.
 */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watch_cond = PTHREAD_COND_INITIALIZER;
static struct weft_link watches = {&watches, &watches};
static struct weft_link spare = {&spare, &spare};
static uint32_t num_watches;
static uint64_t stops;   /* number of stops that the monitor has completed */
static int cancel_state; /* of the thread that holds weft_watch_lock() */

/* Protected by weft_global.lock. */
static int epoll_fd = -1;
static bool has_monitor;

void weft_watch_lock(void)
{
	int before = weft_cancel_off();

	pthread_mutex_lock(&watch_lock);
	cancel_state = before;
}

void weft_watch_unlock(void)
{
	int before = cancel_state;

	pthread_mutex_unlock(&watch_lock);
	weft_cancel_restore(before);
}

void weft_watch_wait(void)
{
	int own = cancel_state;
	uint64_t before = stops;

	while (stops == before)
		pthread_cond_wait(&watch_cond, &watch_lock);
	cancel_state = own;
}

uint32_t weft_watch_threads(void)
{
	return has_monitor ? 1 : 0;
}

/* valgrind runs one thread at a time and does not switch while munmap() waits for the monitor. */
static bool under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

static int open_watch(void)
{
	struct uffdio_api api = {
	    .api = UFFD_API,
	    .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
			UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
			UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};
	int flags = O_CLOEXEC | O_NONBLOCK;
	int fd;

	fd = (int)syscall(SYS_userfaultfd, flags);
	/* No page is ever protected, so faults in the kernel do not occur. */
	if (fd < 0 && errno == EPERM)
		fd = (int)syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) < 0) {
		close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

/* ---- the monitor ---------------------------------------------------------------------------- */

struct weft_watch_look {
	const struct weft_watched *watched;
	uint64_t next; /* everything before it is still mapped */
};

static bool look_at(const struct weft_vma *vma, void *arg)
{
	struct weft_watch_look *look = arg;
	const struct weft_watched *w = look->watched;

	if (vma->end <= look->next)
		return true;
	if (vma->start > look->next || !vma->shared || vma->inode != w->extent->inode ||
	    vma->dev_major != w->extent->dev_major || vma->dev_minor != w->extent->dev_minor ||
	    vma->offset + (look->next - vma->start) != w->extent_offset + (look->next - w->start))
		return false;
	look->next = vma->end;
	return look->next < w->end;
}

/*
 * Returns true if some of its pages are already unmapped or moved. Memory outside extents has its
 * own watch, so the event concerns it.
 */
static bool is_lost(const struct weft_watched *w)
{
	struct weft_watch_look look = {.watched = w, .next = w->start};

	return !w->extent || weft_maps_walk_from(w->start, look_at, &look) < 0 ||
	       look.next < w->end;
}

/* Moves the ranges to stop from the watch's list to out. Under watch_lock. */
static void collect(struct weft_watch *watch, uint64_t start, uint64_t end, struct weft_link *out)
{
	struct weft_link *pos, *next;
	struct weft_watched *w;
	bool loses;

	for (pos = watch->watched.next; pos != &watch->watched; pos = next) {
		next = pos->next;
		w = weft_container_of(pos, struct weft_watched, node);
		loses = start < end ? w->start < end && start < w->end : is_lost(w);
		if (!w->stop(w, loses))
			continue;
		weft_link_del(&w->node);
		weft_link_add(out, &w->node);
		watch->stopping++;
	}
}

/* Withdraws the ranges one after the other. Under watch_lock, which is released meanwhile. */
static void withdraw_all(struct weft_watch *watch, struct weft_link *list)
{
	struct weft_watched *w;

	while (list->next != list) {
		w = weft_container_of(list->next, struct weft_watched, node);
		pthread_mutex_unlock(&watch_lock);
		w->withdraw(w);
		pthread_mutex_lock(&watch_lock);
		weft_link_del(&w->node);
		w->watch = NULL;
		watch->stopping--;
		w->stopped(w);
		stops++;
		pthread_cond_broadcast(&watch_cond);
	}
}

/* Closes a watch without ranges. Under watch_lock. */
static void retire(struct weft_watch *watch)
{
	struct uffd_msg msg;

	if (watch->fd < 0 || watch->stopping || watch->watched.next != &watch->watched)
		return;
	/*
	 * Reads the events instead of just closing: a child of fork may still hold the descriptor.
	 */
	while (read(watch->fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg))
		;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	close(watch->fd);
	watch->fd = -1;
	watch->extent = NULL;
	weft_link_del(&watch->node);
	weft_link_add(&spare, &watch->node);
	num_watches--;
}

/*
 * Handles an event, for which a thread is waiting. Before the thread continues, idle regions are
 * withdrawn wherever they lie in the extent, and regions in use if their pages are unmapped. The
 * event then reports whether pages in use were discarded (they are still mapped).
 */
static void serve(struct weft_watch *watch)
{
	struct weft_link list;
	struct uffd_msg msg;

	weft_link_init(&list);
	pthread_mutex_lock(&watch_lock);
	if (watch->fd < 0)
		goto out;
	collect(watch, 0, 0, &list);
	withdraw_all(watch, &list);
	if (watch->fd < 0 || read(watch->fd, &msg, sizeof(msg)) != (ssize_t)sizeof(msg))
		goto out;
	if (msg.event == UFFD_EVENT_REMAP)
		collect(watch, msg.arg.remap.from, msg.arg.remap.from + msg.arg.remap.len, &list);
	else if (msg.event == UFFD_EVENT_REMOVE || msg.event == UFFD_EVENT_UNMAP)
		collect(watch, msg.arg.remove.start, msg.arg.remove.end, &list);
	withdraw_all(watch, &list);
	retire(watch);
out:
	pthread_mutex_unlock(&watch_lock);
}

static void *monitor(void *arg)
{
	struct epoll_event events[WEFT_MONITOR_EVENTS];
	int fd = (int)(intptr_t)arg, n;

	for (;;) {
		n = epoll_wait(fd, events, WEFT_MONITOR_EVENTS, -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < n; i++)
			serve(events[i].data.ptr);
	}
}

/* Caller holds weft_global.lock. */
static int start_monitor(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	if (has_monitor)
		return 0;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return -errno;
	/* Signals are delivered to the program's threads only. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, monitor, (void *)(intptr_t)epoll_fd);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		close(epoll_fd);
		epoll_fd = -1;
		return -rc;
	}
	has_monitor = true;
	return 0;
}

/* ---- interface ------------------------------------------------------------------------------ */

/* Each watch uses a descriptor; most descriptors are left to the process. */
static uint32_t watches_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < WEFT_WATCHES_MAX)
		return (uint32_t)(limit.rlim_cur / 8);
	return WEFT_WATCHES_MAX;
}

/* Registers pages with the watch; repeated registration has no effect. */
static int cover(int fd, const struct weft_watched *w)
{
	struct uffdio_register reg = {
	    .range = {.start = w->start, .len = w->end - w->start},
	    /* This mode costs nothing: no page is protected. */
	    .mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(fd, UFFDIO_REGISTER, &reg) < 0 ? -errno : 0;
}

/* Finds the existing watch of an extent and adds the range to its list. */
static int join(struct weft_watched *w)
{
	struct weft_link *pos;
	struct weft_watch *watch;
	int rc = -ENOENT;

	pthread_mutex_lock(&watch_lock);
	for (pos = watches.next; w->extent && pos != &watches; pos = pos->next) {
		watch = weft_container_of(pos, struct weft_watch, node);
		if (watch->extent != w->extent)
			continue;
		rc = cover(watch->fd, w);
		if (rc == 0) {
			w->watch = watch;
			weft_link_add(&watch->watched, &w->node);
		}
		break;
	}
	pthread_mutex_unlock(&watch_lock);
	return rc;
}

/* Returns an unused watch. */
static struct weft_watch *take_spare(void)
{
	struct weft_watch *watch = NULL;
	bool room;

	pthread_mutex_lock(&watch_lock);
	room = num_watches < watches_max();
	if (room && spare.next != &spare) {
		watch = weft_container_of(spare.next, struct weft_watch, node);
		weft_link_del(&watch->node);
	}
	pthread_mutex_unlock(&watch_lock);
	if (watch || !room)
		return watch;
	watch = calloc(1, sizeof(*watch));
	if (watch) {
		weft_link_init(&watch->node);
		weft_link_init(&watch->watched);
	}
	return watch;
}

static int begin(struct weft_watched *w)
{
	struct weft_watch *watch = take_spare();
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};
	int fd, rc;

	if (!watch)
		return -ENOMEM;
	fd = open_watch();
	rc = fd < 0 ? fd : cover(fd, w);
	pthread_mutex_lock(&watch_lock);
	watch->fd = rc < 0 ? -1 : fd;
	if (rc == 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		rc = -errno;
	if (rc == 0) {
		watch->extent = w->extent;
		w->watch = watch;
		weft_link_add(&watch->watched, &w->node);
		weft_link_add(&watches, &watch->node);
		num_watches++;
	} else {
		watch->fd = -1;
		weft_link_add(&spare, &watch->node);
	}
	pthread_mutex_unlock(&watch_lock);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc;
}

int weft_watch_add(struct weft_watched *w)
{
	int rc;

	weft_link_init(&w->node);
	w->watch = NULL;
	if (under_valgrind())
		return -EOPNOTSUPP;
	rc = start_monitor();
	if (rc < 0)
		return rc;
	rc = join(w);
	return rc == -ENOENT ? begin(w) : rc;
}

void weft_watch_del(struct weft_watched *w)
{
	struct weft_watch *watch = w->watch;

	if (!watch)
		return;
	w->watch = NULL;
	weft_link_del(&w->node);
	retire(watch);
}

bool weft_watch_is_changing(const struct weft_watched *w)
{
	/* The empty range yields EINVAL, but a change in progress is reported first (EAGAIN). */
	static struct uffdio_writeprotect nothing;

	return w->watch && ioctl(w->watch->fd, UFFDIO_WRITEPROTECT, &nothing) < 0 &&
	       errno == EAGAIN;
}

void weft_watch_forked(void)
{
	static const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct weft_link *pos;

	/*
	 * Another thread may have been changing the list, but forward links are always consistent.
	 */
	for (pos = watches.next; pos != &watches; pos = pos->next)
		close(weft_container_of(pos, struct weft_watch, node)->fd);
	weft_link_init(&watches);
	weft_link_init(&spare);
	num_watches = 0;
	if (epoll_fd >= 0)
		close(epoll_fd);
	epoll_fd = -1;
	has_monitor = false;
	watch_lock = lock;
	watch_cond = cond;
}
