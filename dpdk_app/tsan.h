/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Annotations for ThreadSanitizer, with which make tsan builds weftd: it cannot see hand-overs
 * between threads in libraries that are not built with it.
 *
 * A release before such a hand-over and an acquire after it state the order that the library
 * guarantees; in other builds they are nothing. tsan_pool.c says why the
 * hand-over of frames through their pool is sound. Lanes (lanes.h) need none: their code is inline.
 */
#ifndef WEFT_APP_TSAN_H
#define WEFT_APP_TSAN_H

#include <stddef.h>

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
/* Acquires what all earlier holders of frames from a pool released. */
void tsan_pool_acquire(void **frames, unsigned n);

#define TSAN_ACQUIRE(address)          __tsan_acquire(address)
#define TSAN_RELEASE(address)          __tsan_release(address)
#define TSAN_ACQUIRE_FRAMES(frames, n) tsan_pool_acquire(frames, n)
#define TSAN_POOL_CACHE(frames)        0 /* each frame passes the pool */
#else
#define TSAN_ACQUIRE(address)          ((void)(address))
#define TSAN_RELEASE(address)          ((void)(address))
#define TSAN_ACQUIRE_FRAMES(frames, n) ((void)(frames), (void)(n))
#define TSAN_POOL_CACHE(frames)        (frames)
#endif

#endif /* WEFT_APP_TSAN_H */
