/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits on weftd's descriptors by purpose, so that heavy use of one purpose leaves some to the
 * others.
 *
 * The kernel assigns the lowest free number, so the number of a new descriptor shows how many are
 * open at least. Each purpose has a maximum number. TCP ports reach their limit first, then
 * attaching processes, then event queues of attached ones. The last numbers are left to the control
 * thread, which needs them to accept, answer and close. Calls the kernel.
 */
#ifndef WEFT_APP_FDS_H
#define WEFT_APP_FDS_H

#include <stdint.h>

enum fds_use {
	FDS_EVENTS = 1,  /* eventfds of event queues, memfds that are not sealed yet */
	FDS_CLIENTS = 2, /* connections of processes */
	FDS_PORTS = 3,   /* TCP ports reserved against programs of the kernel's stack */
};

/* Returns how many numbers a purpose may use under this limit of the process. Pure. */
uint64_t fds_limit(uint64_t limit, enum fds_use use);

/*
 * Takes a new descriptor, or the -1 and errno of a failed call. Returns the descriptor or a
 * negative errno. EMFILE: it exceeded the purpose's limit and was closed. Any thread.
 */
int fds_take(int fd, enum fds_use use) __attribute__((warn_unused_result));

#endif /* WEFT_APP_FDS_H */
