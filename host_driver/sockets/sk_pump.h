/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between sk_fork.c, which decides what is served by a socket pair, and sk_pump.c, whose threads
 * serve it.
 */
#ifndef WEFT_SOCKETS_SK_PUMP_H
#define WEFT_SOCKETS_SK_PUMP_H

#include <stdbool.h>
#include <sys/socket.h>

/* What goes with a descriptor from a listener's pump to accept(2). */
struct sk_passed {
	int is_kernel; /* the descriptor is a connection of the kernel's, not an end of a pair */
	struct sockaddr_storage local, peer;
};

/*
 * Threads that live until the last other end of the pair is closed; they own rfd and end (and
 * kernel_fd, a listener of the kernel's or -1). 0 or -1 with errno: the caller owns them still.
 */
int sk_pump_stream(int rfd, int end);
int sk_pump_listener(int rfd, int kernel_fd, int end);
/* This process serves some. */
bool sk_pumps_any(void);
/* Around a fork. */
void sk_pumps_lock(void);
void sk_pumps_unlock(void);
void sk_pumps_reset(void);
/* In a child of fork: the ends that its parent serves are closed here. */
void sk_pumps_forked(void);

#endif /* WEFT_SOCKETS_SK_PUMP_H */
