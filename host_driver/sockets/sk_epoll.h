/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of epoll(7) that contain sockets of ours: shared by sk_epoll.c, which keeps them, and
 * sk_epoll_wait.c, which waits for them.
 */
#ifndef WEFT_SOCKETS_SK_EPOLL_H
#define WEFT_SOCKETS_SK_EPOLL_H

#include "host_driver/sockets/sk.h"

struct sk_member {
	struct sk_member *next;
	struct sk *sk; /* no reference: sk_epoll_gone() removes it */
	int fd;
	struct epoll_event event;
	bool off;      /* EPOLLONESHOT, already reported */
	uint32_t told; /* EPOLLET: reported events, at the call counts below: */
	unsigned int reads, writes;
	bool in_kernel; /* the kernel's set contains the descriptor */
};

struct sk_set {
	struct sk_set *next;
	uint64_t number; /* no other set has it */
	int epfd, wake_fd;
	int mark_fd; /* -1: no thread waited, or a wait has seen it */
	struct sk_member *members;
	int waits;         /* calls that wait for the list as it was */
	bool kernels_turn; /* of a wait with one place */
};

/* Calls that wait in the kernel, or are about to. */
extern atomic_int sk_epoll_kernel_waits;

/* Its address is the data of a mark's event, which no program has. */
extern const char sk_epoll_mark;

/* False: no set has had a socket of ours. */
bool sk_epoll_any(void);

/* Returns the set of a descriptor; NULL: it has had no socket of ours. Under the lock. */
struct sk_set *sk_epoll_set(int epfd);

/* Removes the mark from the kernel's set, if it is there. Under the lock. */
void sk_epoll_unmark(struct sk_set *s);

#endif /* WEFT_SOCKETS_SK_EPOLL_H */
