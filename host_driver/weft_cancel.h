/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancellation of threads (pthread_cancel(3)).
 *
 * Programs cancel threads that wait for events or data. Nobody is cancelled with a lock of ours, or
 * with an answer of the NIC half read: system calls that are cancellation points stand between
 * these two wherever that could be. Used by libweft and host_driver/rdmacm; calls pthreads.
 */
#ifndef WEFT_CANCEL_H
#define WEFT_CANCEL_H

#include <pthread.h>

/* Returns what weft_cancel_restore() takes. They nest; errno stays. */
static inline int weft_cancel_off(void)
{
	int before;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void weft_cancel_restore(int before)
{
	int ignored;

	(void)pthread_setcancelstate(before, &ignored);
}

#endif /* WEFT_CANCEL_H */
