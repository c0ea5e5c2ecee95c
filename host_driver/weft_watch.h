/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notifies when memory of this process is unmapped, moved or discarded, by any call.
 * weft_mr_cache.c must end registrations before other memory appears at the same addresses.
 *
 * A watch is a userfaultfd with the events UNMAP, REMAP and REMOVE (userfaultfd(2),
 * "non-cooperative mode"): the kernel blocks the unmapping thread until the event is read. Each
 * extent has one watch; other memory has one per range. A readable descriptor therefore identifies
 * the affected memory before the event is read. The monitor, a thread of libweft, first withdraws
 * the registrations there and then reads the event, so the withdrawal is complete when munmap()
 * returns.
 *
 * The blocked thread may hold any lock of the program or of malloc, and weft_global.lock. The
 * monitor therefore takes only weft_watch_lock() and the channel's locks, and allocates and frees
 * nothing. The same applies to every holder of weft_watch_lock().
 */
#ifndef WEFT_WATCH_H
#define WEFT_WATCH_H

#include "host_driver/weft_mem.h"

/* A watched range. All fields after the first five belong to weft_watch.c. */
struct weft_watched {
	uint64_t start;
	uint64_t end;
	const struct weft_extent *extent; /* extent of the range, or NULL */
	uint64_t extent_offset;           /* of start in the extent */
	/*
	 * Under weft_watch_lock(): memory is being unmapped. loses: these pages are certainly
	 * affected; otherwise they may be. Returns true if the range must be withdrawn now.
	 */
	bool (*stop)(struct weft_watched *watched, bool loses);
	/* Without the lock: withdraws the range. */
	void (*withdraw)(struct weft_watched *watched);
	/* Under the lock again, after withdraw(). */
	void (*stopped)(struct weft_watched *watched);
	struct weft_watch *watch;
	struct weft_link node;
};

void weft_watch_lock(void);
void weft_watch_unlock(void);
/*
 * Waits until the monitor has stopped a range. Under weft_watch_lock(), which is released
 * meanwhile.
 */
void weft_watch_wait(void);

/*
 * Starts to watch a range. Under weft_global.lock. Returns 0, or a negative errno if it cannot be
 * watched (kernel, kind of memory, descriptors, another watcher).
 */
int weft_watch_add(struct weft_watched *watched);
/* Stops watching. Under weft_watch_lock(). */
void weft_watch_del(struct weft_watched *watched);
/*
 * Returns true if memory of its watch is being unmapped by another thread, possibly past the point
 * where the addresses can be reused. Under weft_watch_lock(). One system call.
 */
bool weft_watch_is_changing(const struct weft_watched *watched);

/* Returns the number of libweft's threads for this purpose: 0 or 1. */
uint32_t weft_watch_threads(void);

/* In a child of fork: drops all watches. */
void weft_watch_forked(void);

#endif /* WEFT_WATCH_H */
