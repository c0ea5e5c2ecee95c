/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private interface between our librdmacm.so.1 (rs_poll.c) and our libweft-sockets.so.
 */
#ifndef WEFT_RDMACM_RS_PRIVATE_H
#define WEFT_RDMACM_RS_PRIVATE_H

#include <poll.h>
#include <signal.h>
#include <time.h>

/* rpoll() with a timeout in nanoseconds and a signal mask, as ppoll(2) relates to poll(2). */
int weft_rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		const sigset_t *mask);

#endif /* WEFT_RDMACM_RS_PRIVATE_H */
