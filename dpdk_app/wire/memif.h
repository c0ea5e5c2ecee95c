/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif: one connection at a time to one other process, as its server or its client. The control
 * thread makes and ends the connection; the core that owns the port moves the frames
 * (memif_ring.h). Between them stands one pointer: the control thread offers a connection, or NULL,
 * and frees its memory only when the core has said that it took what came after.
 *
 * Nothing that the peer says is believed before memif_check.h has seen it, and nobody is answered
 * before memif_socket_allowed(). docs/security.md.
 */
#ifndef WEFT_APP_MEMIF_H
#define WEFT_APP_MEMIF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire/memif_ring.h"
#include "dpdk_app/wire/memif_socket.h"

struct hw_stat;
struct nic;

enum memif_state {
	MEMIF_IDLE,
	MEMIF_AWAIT_HELLO, /* client */
	MEMIF_AWAIT_INIT,  /* server */
	MEMIF_SETUP,
	MEMIF_AWAIT_CONNECTED, /* client */
	MEMIF_UP,
	MEMIF_LEAVING, /* the core may still use the memory */
};

struct memif_conf {
	const char *path;
	bool server;
	uid_t user;            /* may be the peer, beside root and our own user; -1: nobody */
	const char *secret;    /* "": none */
	uint32_t frame_bytes;  /* the largest frame */
	uint32_t buffer_bytes; /* of each of a client's buffers */
	uint8_t log2_slots;    /* of a client's rings */
};

/* Events of the control channel; the control thread counts, the core reads. */
struct memif_events {
	_Atomic(uint64_t) connected;
	_Atomic(uint64_t) disconnected;
	_Atomic(uint64_t) refused_user; /* the other end runs as somebody else */
	_Atomic(uint64_t) refused_busy; /* there is a connection */
	_Atomic(uint64_t) refused_secret;
	_Atomic(uint64_t) bad_message; /* its size, kind, version, or out of order */
	_Atomic(uint64_t) bad_region;
	_Atomic(uint64_t) bad_ring;
	_Atomic(uint64_t) timeouts; /* began, and did not go on */
};

struct memif {
	struct nic *nic;
	struct memif_conf conf;
	struct memif_events events;

	/* control: */
	int epoll_fd; /* of all the next */
	int timer_fd;
	int socket_fd;  /* -1: no peer */
	int waiting_fd; /* accepted while the last connection was left; -1: none */
	struct memif_listener listener;
	enum memif_state state;
	uint32_t step;           /* client: messages of the set-up that were acknowledged */
	struct memif_link *link; /* NULL: none */
	int region_fd;           /* client: of its memory, until it was sent; -1 */
	uint64_t said_ns;        /* when a refusal was last told to the operator */
	struct log_limit link_said;

	_Atomic(struct memif_link *) offered; /* control to core: to be used from now on */
	_Atomic(uint32_t) asked;              /* control to core: how many offers there were */
	_Atomic(uint32_t) taken;              /* core to control: how many of them it has seen */
	_Atomic(bool) broken;                 /* core to control: the peer cannot be understood */

	/* core: */
	struct memif_link *now;
	uint32_t seen; /* as taken */
	struct memif_counts counts;
};

/* Makes the server's socket, or prepares to connect. NULL: errno says why, and so does the log. */
struct memif *memif_open(struct nic *nic, const struct memif_conf *conf);
/* Ends the connection and frees all. No core runs any more. */
void memif_close(struct memif *memif);

/* A descriptor that is readable when memif_serve() has something to do. */
int memif_fd(const struct memif *memif);
/* Connections, messages, time-outs, what the core said. Control thread. */
void memif_serve(struct memif *memif);

/* Counters, up to max. On the owner's core. */
uint32_t memif_stats(const struct memif *memif, struct hw_stat *stat, uint32_t max);

/* ---- memif_link.c; the memory of a connection, control thread */

/* An empty connection, or NULL: no memory. */
struct memif_link *memif_link_new(const struct memif_conf *conf);
/* Unmaps and closes all of it; NULL is allowed. */
void memif_link_free(struct memif_link *link);
/* A client's: makes region and eventfds. *fd: of the region. 0 or -errno. */
int memif_link_make(struct memif_link *link, uint32_t log2_slots, int *fd)
    __attribute__((warn_unused_result));
/* A server's: what the client announces, and its descriptor, which is taken. NULL, or what is
 * wrong. */
const char *memif_link_region(struct memif_link *link, const struct memif_add_region *add, int fd);
const char *memif_link_ring(struct memif_link *link, const struct memif_add_ring *ring, int fd);

#endif /* WEFT_APP_MEMIF_H */
