/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface between sk_fork.c, which decides which sockets a socket pair serves, and sk_pump.c,
 * whose threads serve them.
 */
#ifndef WEFT_SOCKETS_SK_PUMP_H
#define WEFT_SOCKETS_SK_PUMP_H

#include <stdbool.h>
#include <sys/socket.h>

/* Data passed with a descriptor from a listener's pump to accept(2). */
struct sk_passed {
	int is_kernel; /* the descriptor is a kernel connection, not an end of a pair */
	struct sockaddr_storage local, peer;
};

/*
 * Start a thread that lives until the last other end of the pair is closed. It owns rfd and end
 * (and kernel_fd, a listener of the kernel or -1). Return 0, or -1 with errno; the caller then
 * keeps ownership.
 */
int sk_pump_stream(int rfd, int end);
int sk_pump_listener(int rfd, int kernel_fd, int end);
/* Returns true if this process serves any. */
bool sk_pumps_any(void);
/* Taken around a fork. */
void sk_pumps_lock(void);
void sk_pumps_unlock(void);
void sk_pumps_reset(void);
/* In a child of fork: closes the ends that its parent serves. */
void sk_pumps_forked(void);

#endif /* WEFT_SOCKETS_SK_PUMP_H */
