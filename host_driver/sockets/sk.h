/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft-sockets.so: what the files sk_*.c share. README.md has the picture.
 *
 * The library stands before the C library (LD_PRELOAD, weft-run --sockets) and gives a program's
 * TCP and UDP sockets the NIC: rsockets carry what goes to and comes from the NICs' networks, the
 * kernel everything else. A descriptor of the program stays the kernel's socket that socket(2)
 * made, so that numbers, dup, select's limits and options are the kernel's; a table leads from it
 * to a struct sk, which has the rsocket.
 */
#ifndef WEFT_SOCKETS_SK_H
#define WEFT_SOCKETS_SK_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SK_API __attribute__((visibility("default")))

enum {
	SK_FDS_MAX = 1 << 16,
};

/* Who serves a socket. */
enum sk_mode {
	SK_KERNEL, /* the kernel alone, as far as we know yet */
	SK_NIC,    /* the rsocket alone; the kernel's socket only keeps the number and options */
	SK_BOTH,   /* bound to every address: both listen, or receive datagrams */
	SK_PUMPED, /* the descriptor is one end of a socket pair; a thread serves the other one */
};

/* What dup(2) and fork(2) share: the kernel's open file description, and the rsocket. */
struct sk {
	atomic_int refs; /* descriptors, and calls that use it */
	int fds;         /* descriptors; under the table's lock */
	bool over;       /* its last one is gone; likewise */
	int family, type;
	pthread_mutex_t lock; /* changes of what follows */
	_Atomic(enum sk_mode) mode;
	atomic_int rfd; /* the rsocket's number; -1: none */
	bool listening;
	bool any; /* bound to every address */
	bool own; /* bound to a NIC's address */
	bool v6only;
	int sndbuf, rcvbuf; /* that the program asked for; 0: it did not */
	/* Of calls so far: an edge-triggered wait looks for new ones (sk_epoll.c). */
	atomic_uint reads, writes;
	struct sockaddr_storage local, peer; /* SK_PUMPED: its names */
};

/* The functions of the C library that ours stand before. */
struct sk_real {
	int (*socket)(int, int, int);
	int (*bind)(int, const struct sockaddr *, socklen_t);
	int (*listen)(int, int);
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	int (*shutdown)(int, int);
	int (*getsockname)(int, struct sockaddr *, socklen_t *);
	int (*getpeername)(int, struct sockaddr *, socklen_t *);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	int (*getsockopt)(int, int, int, void *, socklen_t *);
	int (*close)(int);
	int (*close_range)(unsigned int, unsigned int, int);
	int (*dup)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*fcntl)(int, int, ...);
	int (*ioctl)(int, unsigned long, ...);
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*readv)(int, const struct iovec *, int);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
	ssize_t (*recvmsg)(int, struct msghdr *, int);
	int (*recvmmsg)(int, struct mmsghdr *, unsigned int, int, struct timespec *);
	ssize_t (*write)(int, const void *, size_t);
	ssize_t (*writev)(int, const struct iovec *, int);
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
	ssize_t (*sendmsg)(int, const struct msghdr *, int);
	int (*sendmmsg)(int, struct mmsghdr *, unsigned int, int);
	ssize_t (*sendfile)(int, int, off_t *, size_t);
	ssize_t (*splice)(int, off64_t *, int, off64_t *, size_t, unsigned int);
	ssize_t (*pread)(int, void *, size_t, off_t);
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
		       const sigset_t *);
	int (*epoll_ctl)(int, int, int, struct epoll_event *);
	int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
	int (*epoll_create1)(int);
	int (*eventfd)(unsigned int, int);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	pid_t (*fork)(void);
	FILE *(*fdopen)(int, const char *);
	int (*fclose)(FILE *);
	int (*vdprintf)(int, const char *, va_list);
	void (*_exit)(int);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawn_file_actions_adddup2)(posix_spawn_file_actions_t *, int, int);
};

/* ---- sk_table.c ------------------------------------------------------------------------------ */

/* Ready for use in constructors of other libraries too. */
const struct sk_real *sk_real(void);
#define REAL (sk_real())

/* errno = err; -1 */
int sk_fail(int err);

/*
 * The calls that rsockets and rdma_cm make themselves must not come back here: between the two,
 * this thread's calls go to the C library. They nest.
 */
void sk_enter(void);
void sk_leave(void);
bool sk_outside(void);

/* A new one without a descriptor, one reference; NULL with ENOMEM. */
struct sk *sk_new(int family, int type);
/* The socket of a descriptor, held for the caller; NULL: none of ours, or we are inside. */
struct sk *sk_get(int fd);
void sk_put(struct sk *sk);
/*
 * fd leads to it from now on; what it led to before is dropped. False: too many descriptors, or its
 * last one was closed meanwhile by another thread.
 */
bool sk_install(int fd, struct sk *sk);
/* fd leads nowhere any more. With the last descriptor the rsocket is closed. */
void sk_remove(int fd);
/* Descriptors of this socket from *at on, -1 when there are no more. */
int sk_next_fd(const struct sk *sk, int *at);
/* The next socket that has a descriptor, from *at on, once each; held; NULL: the end. */
struct sk *sk_next(int *at);
/* Taken and given back around a fork, last of all; reset in a child of a fork without. */
void sk_table_lock(void);
void sk_table_unlock(void);
void sk_table_reset(void);
/* It is this process's: not that of a parent by vfork(2). */
bool sk_table_mine(void);
/* In a child of fork: the table is its own. */
void sk_table_forked(void);
/* What a call that was interrupted does: true if all handlers of signals want it restarted. */
bool sk_restart(void);

/* ---- sk_nic.c -------------------------------------------------------------------------------- */

/* One of the NICs' own addresses. Port and family do not matter. */
bool sk_nic_own(const struct sockaddr *addr, socklen_t bytes);
/* A NIC's network, its own addresses among them. */
bool sk_nic_reaches(const struct sockaddr *addr, socklen_t bytes);
/* 0.0.0.0 or ::, which takes IPv4 too. */
bool sk_addr_any(const struct sk *sk, const struct sockaddr *addr, socklen_t bytes);
/* Likewise. */
void sk_nic_lock(void);
void sk_nic_unlock(void);
void sk_nic_reset(void);
/*
 * The socket gets an rsocket with the options and the flags of descriptor fd, unless it has one.
 * 0 or -1 with errno. Under the lock.
 */
int sk_make(struct sk *sk, int fd);
/* The rsocket goes, if there is one; the kernel serves alone. Under the lock. */
void sk_unmake(struct sk *sk);
/* Changes who serves it; epoll sets follow. Under the lock. */
void sk_set_mode(struct sk *sk, enum sk_mode mode);

/* ---- sk_below.c ------------------------------------------------------------------------------ */

/* Inside: a new descriptor, moved out of the program's way; else, and where it cannot be, itself.
 */
int sk_high(int fd);
/* The same for those that came with a message. */
void sk_high_received(struct msghdr *msg);

/* ---- sk_conn.c ------------------------------------------------------------------------------- */

/* Copies as getsockname(2) does: cut, with the whole length in *bytes. */
void sk_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes);
/*
 * accept(2) on a listener of an rsocket, without waiting: the connection's rsocket, or -1.
 * A number of the kernel that keeps its place is made by the caller.
 */
int sk_accept_nic(struct sk *sk, struct sockaddr *addr, socklen_t *bytes);
/*
 * A socket without a port gets one, the same at the NICs and the kernel. 0, also when the kernel
 * alone has it, or -1 with errno. Under the lock.
 */
int sk_bind_any(struct sk *sk, int fd);

/* ---- sk_fd.c --------------------------------------------------------------------------------- */

/* SO_RCVTIMEO or SO_SNDTIMEO for poll(2): -1 none. */
int sk_timeout_ms(int fd, int name);

/* ---- sk_poll.c ------------------------------------------------------------------------------- */

/* ppoll(2) on descriptors of the program. */
int sk_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
/* Of one socket: waits until one of these events, in ms; as poll(2). */
int sk_wait(struct sk *sk, int fd, short events, int timeout_ms);

/* ---- sk_epoll.c ------------------------------------------------------------------------------ */

/* It is served by others now, or its descriptor has changed. */
void sk_epoll_moved(struct sk *sk);
/* It has no descriptor any more. */
void sk_epoll_gone(const struct sk *sk);
void sk_epoll_closed(int epfd);
/* Likewise. */
void sk_epoll_lock(void);
void sk_epoll_unlock(void);
void sk_epoll_reset(void);
/* How many rsockets are in the set of this descriptor, and them, at most n. */
int sk_epoll_members(int epfd, struct pollfd *fds, int n);

/* ---- sk_fork.c ------------------------------------------------------------------------------- */

/*
 * From now on a socket pair stands between the program's descriptors and the rsocket, so that all
 * that the kernel does with descriptors is right for them. Sockets without a connection that do
 * not listen stay as they are. -1 with errno.
 */
int sk_pump(struct sk *sk);
/* The socket of a descriptor, if it is one of ours. */
int sk_pump_fd(int fd);

/* Takes a connection, or a listener's, from the pair: as accept4(2). */
int sk_pumped_accept(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags);
/* Until nobody holds an end of a pair any more that this process serves. */
void sk_pumps_wait(void);

#endif /* WEFT_SOCKETS_SK_H */
