/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft-sockets.so: declarations shared by sk_*.c. README.md describes the structure.
 *
 * The library is loaded in front of the C library (LD_PRELOAD, weft-run --sockets) and moves a
 * program's TCP and UDP sockets to the NIC. Rsockets carry traffic of the NICs' networks; the
 * kernel carries all other traffic. A program's descriptor remains the kernel socket that socket(2)
 * created, so numbers, dup, limits of select and options are the kernel's. A table maps it to a
 * struct sk, which holds the rsocket.
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

/* Which stack serves a socket. */
enum sk_mode {
	SK_KERNEL, /* only the kernel, as far as known yet */
	SK_NIC,    /* only the rsocket; the kernel's socket just holds the number and options */
	SK_BOTH,   /* bound to the wildcard address: both listen or receive datagrams */
	SK_PUMPED, /* the descriptor is one end of a socket pair; a thread serves the other end */
};

/* State shared across dup(2) and fork(2): the kernel's open file description and the rsocket. */
struct sk {
	atomic_int refs; /* descriptors, and calls in progress */
	int fds;         /* descriptors; under the table's lock */
	bool over;       /* the last descriptor is gone; likewise */
	int family, type;
	pthread_mutex_t lock; /* protects changes of the fields below */
	_Atomic(enum sk_mode) mode;
	atomic_int rfd; /* the rsocket's descriptor; -1: none */
	bool listening;
	bool any; /* bound to the wildcard address */
	bool own; /* bound to a NIC's address */
	bool v6only;
	int sndbuf, rcvbuf; /* set by the program; 0: not set */
	/* SK_BOTH: the stack that is asked first; what the NIC's gave since the kernel's was. */
	atomic_bool kernel_first;
	atomic_uint nic_in_a_row;
	/* Calls so far: an edge-triggered wait looks for new ones (sk_epoll_wait.c). */
	atomic_uint reads, writes;
	struct sockaddr_storage local, peer; /* SK_PUMPED: addresses of both ends */
};

/* The functions of the C library that ours replace. */
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

/* Also usable in constructors of other libraries. */
const struct sk_real *sk_real(void);
#define REAL (sk_real())

/* Sets errno and returns -1. */
int sk_fail(int err);

/*
 * Bracket calls into rsockets and rdma_cm: this thread's socket calls then go directly to the C
 * library. They nest.
 */
void sk_enter(void);
void sk_leave(void);
bool sk_outside(void);

/* Creates a socket with one reference and no descriptor; NULL with ENOMEM. */
struct sk *sk_new(int family, int type);
/* Returns the socket of a descriptor with a reference; NULL: not one of ours, or called inside. */
struct sk *sk_get(int fd);
void sk_put(struct sk *sk);
/*
 * Maps fd to the socket; a previous mapping is dropped. Returns false if there are too many
 * descriptors, or another thread has closed the last one.
 */
bool sk_install(int fd, struct sk *sk);
/* Removes the mapping of fd. The rsocket is closed with the last descriptor. */
void sk_remove(int fd);
/* Returns the next descriptor of this socket from *at on; -1: no more. */
int sk_next_fd(const struct sk *sk, int *at);
/*
 * Iterates over the sockets with descriptors from *at on, once each, with a reference; NULL at the
 * end.
 */
struct sk *sk_next(int *at);
/* Taken around a fork, after all other locks; reset in a child of a fork that did not take it. */
void sk_table_lock(void);
void sk_table_unlock(void);
void sk_table_reset(void);
/* Returns false in a child of vfork(2), which runs in its parent's memory. */
bool sk_table_mine(void);
/* Marks the table as owned by this process, in a child of fork. */
void sk_table_forked(void);
/* Returns true if an interrupted call restarts: all installed signal handlers have SA_RESTART. */
bool sk_restart(void);

/* ---- sk_nic.c -------------------------------------------------------------------------------- */

/* Returns true for an address of a local NIC. Port and family are ignored. */
bool sk_nic_own(const struct sockaddr *addr, socklen_t bytes);
/* Returns true for an address in a NIC's network, including the NIC's own. */
bool sk_nic_reaches(const struct sockaddr *addr, socklen_t bytes);
/* Returns true for 0.0.0.0, or for :: on a socket that also accepts IPv4. */
bool sk_addr_any(const struct sk *sk, const struct sockaddr *addr, socklen_t bytes);
/* As sk_table_lock() etc. */
void sk_nic_lock(void);
void sk_nic_unlock(void);
void sk_nic_reset(void);
/*
 * Creates an rsocket with the options and flags of descriptor fd, unless there is one. Returns 0,
 * or -1 with errno. Under the lock.
 */
int sk_make(struct sk *sk, int fd);
/* Closes the rsocket, if there is one; the kernel alone serves the socket. Under the lock. */
void sk_unmake(struct sk *sk);
/* Changes the mode; epoll sets follow. Under the lock. */
void sk_set_mode(struct sk *sk, enum sk_mode mode);

/* ---- sk_below.c ------------------------------------------------------------------------------ */

/*
 * Moves a new descriptor of the libraries above the program's range; returns it unchanged outside,
 * or if it cannot be moved.
 */
int sk_high(int fd);
/* Moves the descriptors that arrived in a message likewise. */
void sk_high_received(struct msghdr *msg);

/* ---- sk_conn.c ------------------------------------------------------------------------------- */

/* Copies an address as getsockname(2) does: truncated, with the full length in *bytes. */
void sk_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes);
/*
 * Binds an unbound socket to the same port on the NICs and the kernel. Returns 0, also when only
 * the kernel has it, or -1 with errno. Under the lock.
 */
int sk_bind_any(struct sk *sk, int fd);

/* ---- sk_fd.c --------------------------------------------------------------------------------- */

/* SO_RCVTIMEO or SO_SNDTIMEO as a timeout for poll(2); -1: none. */
int sk_timeout_ms(int fd, int name);

/* ---- sk_poll.c ------------------------------------------------------------------------------- */

/* Waits up to timeout_ms for one of these events on one socket; returns as poll(2). */
int sk_wait(struct sk *sk, int fd, short events, int timeout_ms);

/* ---- sk_epoll.c, sk_epoll_wait.c ------------------------------------------------------------- */

/* The socket's mode or descriptor has changed. */
void sk_epoll_moved(struct sk *sk);
/* The socket has no descriptor any more. */
void sk_epoll_gone(const struct sk *sk);
void sk_epoll_closed(int epfd);
/* As sk_table_lock() etc. */
void sk_epoll_lock(void);
void sk_epoll_unlock(void);
void sk_epoll_reset(void);
/* In a child of fork(): the threads that wait are the parent's. */
void sk_epoll_forked(void);
/* Returns the number of rsockets in the epoll set epfd; stores at most n of them. */
int sk_epoll_members(int epfd, struct pollfd *fds, int n);

/* ---- sk_fork.c ------------------------------------------------------------------------------- */

/*
 * Places a socket pair between the program's descriptors and the rsocket, so that all kernel
 * operations on descriptors work. Unconnected sockets that do not listen stay unchanged. Returns 0,
 * or -1 with errno.
 */
int sk_pump(struct sk *sk);
/* Pumps the socket of a descriptor, if it is one of ours. */
int sk_pump_fd(int fd);

/* Takes a connection of a pumped listener from the pair; as accept4(2). */
int sk_pumped_accept(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags);
/* Waits until no process holds an end of a pair that this process serves. */
void sk_pumps_wait(void);

#endif /* WEFT_SOCKETS_SK_H */
