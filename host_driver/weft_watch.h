/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells when memory of this process goes away: unmapped, moved or discarded, by whatever call. Used
 * by weft_mr_cache.c, which must end registrations before anybody finds other memory there.
 *
 * A watch is a userfaultfd with the events UNMAP, REMAP and REMOVE (userfaultfd(2),
 * "non-cooperative mode"): the kernel holds the thread that unmaps until the event is read. One
 * extent has one watch, other memory one for each range, so a descriptor that becomes readable
 * names the memory at stake before the event is read; the monitor, a thread of libweft's, first
 * withdraws what is registered there and reads then. When munmap() returns, it is done.
 *
 * The thread that waits may hold any lock of the program or of malloc, and weft_global.lock. So the
 * monitor takes no lock but weft_watch_lock() and the channel's, allocates and frees nothing; and
 * who holds weft_watch_lock() does not either.
 */
#ifndef WEFT_WATCH_H
#define WEFT_WATCH_H

#include "host_driver/weft_mem.h"

/* Pages that are watched. All but the first five fields belongs to weft_watch.c. */
struct weft_watched {
	uint64_t start;
	uint64_t end;
	const struct weft_extent *extent; /* that they are of, or NULL */
	uint64_t extent_offset;           /* of start in it */
	/*
	 * Under weft_watch_lock(): the memory goes away. loses is set when it is certain that these
	 * pages are affected; else they may be. True: it is to be withdrawn now.
	 */
	bool (*stop)(struct weft_watched *watched, bool loses);
	/* Without the lock: does it. */
	void (*withdraw)(struct weft_watched *watched);
	/* Under the lock again. */
	void (*stopped)(struct weft_watched *watched);
	struct weft_watch *watch;
	struct weft_link node;
};

void weft_watch_lock(void);
void weft_watch_unlock(void);
/* Under weft_watch_lock(), which it drops meanwhile: until the monitor has stopped something. */
void weft_watch_wait(void);

/*
 * Starts. Under weft_global.lock. 0, or a negative errno: it cannot be watched (kernel, kind of
 * memory, descriptors, another watcher).
 */
int weft_watch_add(struct weft_watched *watched);
/* Ends. Under weft_watch_lock(). */
void weft_watch_del(struct weft_watched *watched);
/*
 * Memory of its watch is going away now: another thread is in the middle of it, and may be beyond
 * where the addresses can be given to other memory. Under weft_watch_lock(). One system call.
 */
bool weft_watch_is_changing(const struct weft_watched *watched);

/* How many threads libweft has for this: 0 or 1. */
uint32_t weft_watch_threads(void);

/* In a child of fork: nothing is watched. */
void weft_watch_forked(void);

#endif /* WEFT_WATCH_H */
