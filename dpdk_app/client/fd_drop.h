/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes descriptors sent by other processes, and the connections on which they arrived. close()
 * may take as long as the other process chooses: it may flush a file system that the process serves
 * (FUSE), or wait for a lingering TCP socket, also one in an unread packet. A few threads per user
 * therefore do it.
 */
#ifndef WEFT_APP_FD_DROP_H
#define WEFT_APP_FD_DROP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	FD_DROP_THREADS = 16, /* threads in total */
	FD_DROP_OF_USER = 2,  /* threads for descriptors of one user */
	/* Limit of a user's pending descriptors; beyond it no more are accepted from that user. */
	FD_DROP_OWED = 64,
};

/* Closes fd now or later; never blocks. Not attributed to a user. Any thread. */
void fd_drop(int fd);

/* As fd_drop(), for a descriptor sent by a process of this user. */
void fd_drop_of(int fd, uid_t uid);

/* Returns true if too many descriptors of the user wait to be closed because one hangs. */
bool fd_drop_owed(uid_t uid);

/* Returns how many descriptors are not closed yet. Any thread. */
uint32_t fd_drop_pending(void);

#endif /* WEFT_APP_FD_DROP_H */
