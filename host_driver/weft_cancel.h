/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thread cancellation (pthread_cancel(3)).
 *
 * Programs cancel threads that wait for events or data. A thread must not be cancelled while it
 * holds a lock of ours or has read half an answer of the NIC. System calls that are cancellation
 * points are therefore bracketed by these two functions wherever that could happen. Calls pthreads.
 */
#ifndef WEFT_CANCEL_H
#define WEFT_CANCEL_H

#include <pthread.h>

/* Returns the argument for weft_cancel_restore(). Calls nest; errno is preserved. */
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
