/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of four bytes: the wait for one that another thread has. See weft_lock.h.
 *
 * Calls futex(2). Its wake may reach a word that is no lock any more, when the next holder has
 * freed the object: whoever sleeps on a futex looks at its word again.
 */
#include "host_driver/weft_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_driver/weft_priv.h"

enum {
	LOCK_SPINS = 100, /* critical sections are short: a brief spin is cheaper than sleeping */
};

void weft_lock_wait(struct weft_lock *lock)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == WEFT_LOCK_FREE &&
		    weft_lock_try(lock))
			return;
		weft_pause_cpu();
	}
	/* Taken as WANTED: other threads may sleep, too. */
	while (__atomic_exchange_n(&lock->state, WEFT_LOCK_WANTED, __ATOMIC_ACQUIRE) !=
	       WEFT_LOCK_FREE)
		(void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, WEFT_LOCK_WANTED, NULL,
			      NULL, 0);
}

void weft_lock_wake(struct weft_lock *lock)
{
	(void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
