/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between our librdmacm.so.1 (rs_poll.c) and our libweft-sockets.so.
 */
#ifndef WEFT_RDMACM_RS_PRIVATE_H
#define WEFT_RDMACM_RS_PRIVATE_H

#include <poll.h>
#include <signal.h>
#include <time.h>

/* As ppoll(2) is to poll(2): rpoll() with a time in nanoseconds and a mask of signals. */
int weft_rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		const sigset_t *mask);

#endif /* WEFT_RDMACM_RS_PRIVATE_H */
