/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel of a memif: the server's socket in the file system, the peer's identity,
 * messages with at most one descriptor. Control thread; nothing blocks.
 */
#ifndef WEFT_APP_MEMIF_SOCKET_H
#define WEFT_APP_MEMIF_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpdk_app/wire/memif_proto.h"

/* A server's socket with its identity: it is removed only if it is still ours. */
struct memif_listener {
	int fd;     /* -1: none */
	int dir_fd; /* -1: none */
	char name[108];
	dev_t dev;
	ino_t ino;
};

/*
 * Creates the socket with mode 0600, owned by user ((uid_t)-1: weftd's own). Other users must not
 * be able to replace entries of its directory. Returns 0, or -errno after a message.
 */
int memif_socket_listen(struct memif_listener *listener, const char *path, uid_t user)
    __attribute__((warn_unused_result));
/* Closes and removes the socket. */
void memif_socket_unlisten(struct memif_listener *listener);

/* Returns the next connection, or -1: none is pending. */
int memif_socket_accept(const struct memif_listener *listener);
/* Returns a connection to a server, or -errno. */
int memif_socket_connect(const char *path);

/* Returns true if the peer runs as weftd's user, as root, or as user ((uid_t)-1: no other). */
bool memif_socket_allowed(int fd, uid_t user);

/*
 * Sends a message, with a descriptor unless it is -1; the caller keeps its copy. Returns 0 or
 * -errno.
 */
int memif_socket_send(int fd, const struct memif_msg *msg, int with_fd)
    __attribute__((warn_unused_result));
/*
 * Receives a message and its descriptor (-1: none). Returns 1; 0: the peer has disconnected;
 * -EAGAIN: none is pending; -EPROTO: not a valid message, and its descriptors were closed.
 */
int memif_socket_recv(int fd, struct memif_msg *msg, int *with_fd)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_MEMIF_SOCKET_H */
