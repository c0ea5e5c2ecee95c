/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel of a memif: the server's socket in the file system, who is at the other end,
 * messages with at most one descriptor. On the control thread; nothing blocks.
 */
#ifndef WEFT_APP_MEMIF_SOCKET_H
#define WEFT_APP_MEMIF_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpdk_app/wire/memif_proto.h"

/* A server's socket, and how to find it again: it is removed only while it is ours. */
struct memif_listener {
	int fd;     /* -1: none */
	int dir_fd; /* -1: none */
	char name[108];
	dev_t dev;
	ino_t ino;
};

/*
 * Makes the socket with mode 0600, for user (uid_t)-1: our own, else that one. Its directory must
 * be one where nobody else can replace it. 0 or -errno, and said why.
 */
int memif_socket_listen(struct memif_listener *listener, const char *path, uid_t user)
    __attribute__((warn_unused_result));
/* Closes and removes it. */
void memif_socket_unlisten(struct memif_listener *listener);

/* The next connection, or -1: none waits. */
int memif_socket_accept(const struct memif_listener *listener);
/* A connection to a server, or -errno. */
int memif_socket_connect(const char *path);

/* Whether the process at the other end runs as us, as root, or as user ((uid_t)-1: nobody else). */
bool memif_socket_allowed(int fd, uid_t user);

/* Sends a message, with a descriptor unless that is -1; our copy of it stays open. 0 or -errno. */
int memif_socket_send(int fd, const struct memif_msg *msg, int with_fd)
    __attribute__((warn_unused_result));
/*
 * Receives a message and the descriptor that came with it (-1: none): 1; 0: the peer has gone;
 * -EAGAIN: none waits; -EPROTO: it is no message, and what came with it was closed.
 */
int memif_socket_recv(int fd, struct memif_msg *msg, int *with_fd)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_MEMIF_SOCKET_H */
