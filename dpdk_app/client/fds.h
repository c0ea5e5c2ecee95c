/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of weftd by purpose: who asks for many leaves some to the others.
 *
 * The kernel gives the lowest free number, so that a new descriptor's number says how many are
 * open at least. Each purpose has a number up to which it goes: ports of TCP end first, then
 * processes that attach, then event queues of those that are; the last ones are the control
 * thread's, which accepts, answers and closes with them. Calls the kernel.
 */
#ifndef WEFT_APP_FDS_H
#define WEFT_APP_FDS_H

#include <stdint.h>

enum fds_use {
	FDS_EVENTS = 1,  /* eventfds of event queues, memfds that are not sealed yet */
	FDS_CLIENTS = 2, /* connections of processes */
	FDS_PORTS = 3,   /* ports of TCP that are kept from the kernel's programs */
};

/* How many numbers are open to a purpose under this limit of the process. Pure. */
uint64_t fds_limit(uint64_t limit, enum fds_use use);

/*
 * Takes a new descriptor, or the -1 and errno of a call that made none. Returns the descriptor;
 * or a negative errno, where EMFILE: it was beyond what is open to the purpose, and is closed. Any
 * thread.
 */
int fds_take(int fd, enum fds_use use) __attribute__((warn_unused_result));

#endif /* WEFT_APP_FDS_H */
