/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock of four bytes, for objects that a process has thousands of: a mutex of the C library takes
 * 40. A thread that does not get it soon sleeps in the kernel; weft_lock.c.
 */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum weft_lock_state {
	WEFT_LOCK_FREE = 0, /* also of zeroed memory */
	WEFT_LOCK_HELD = 1,
	WEFT_LOCK_WANTED = 2, /* held, and threads may sleep */
};

struct weft_lock {
	uint32_t state; /* weft_lock_state; atomic */
};

/* Waits until the lock is free, and takes it. */
void weft_lock_wait(struct weft_lock *lock);
/* Wakes one of the threads that sleep. */
void weft_lock_wake(struct weft_lock *lock);

/* Takes the lock if it is free. Returns false if another thread has it. */
static inline bool weft_lock_try(struct weft_lock *lock)
{
	uint32_t state = WEFT_LOCK_FREE;

	return __atomic_compare_exchange_n(&lock->state, &state, WEFT_LOCK_HELD, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void weft_lock_take(struct weft_lock *lock)
{
	if (__builtin_expect(!weft_lock_try(lock), 0))
		weft_lock_wait(lock);
}

static inline void weft_lock_give(struct weft_lock *lock)
{
	if (__builtin_expect(__atomic_exchange_n(&lock->state, WEFT_LOCK_FREE, __ATOMIC_RELEASE) ==
				 WEFT_LOCK_WANTED,
			     0))
		weft_lock_wake(lock);
}

#endif /* WEFT_LOCK_H */
