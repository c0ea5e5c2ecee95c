/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closing a descriptor that another process sent, and the connection that it came by. close() may
 * take as long as that process likes: a file system asked to flush that a process serves (FUSE), a
 * socket of TCP that lingers, one of either in a packet of a connection that was not read. So it is
 * done by threads of its own, a few for each user.
 */
#ifndef WEFT_APP_FD_DROP_H
#define WEFT_APP_FD_DROP_H

#include <stdbool.h>
#include <sys/types.h>

enum {
	FD_DROP_THREADS = 16, /* that close at a time */
	FD_DROP_OF_USER = 2,  /* of them, for descriptors of one user */
	FD_DROP_OWED = 64,    /* so many of a user wait: no more is taken from that user */
};

/* Closes fd, now or later; never blocks. Of no user in particular. Any thread. */
void fd_drop(int fd);

/* The same for a descriptor that a process of this user sent. */
void fd_drop_of(int fd, uid_t uid);

/* Whether too many descriptors of the user wait to be closed, behind one that hangs. */
bool fd_drop_owed(uid_t uid);

#endif /* WEFT_APP_FD_DROP_H */
