/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif: one connection at a time to one other process, as its server or its client. The control
 * thread creates and ends the connection; the core that owns the port moves the frames
 * (memif_ring.h). They share one pointer: the control thread offers a connection, or NULL, and
 * frees the previous memory only when the core has confirmed the new offer.
 *
 * Everything that the peer sends is checked by memif_check.h before use, and only peers that
 * memif_socket_allowed() accepts get an answer. docs/security.md.
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
	uid_t user;            /* permitted peer, besides root and weftd's own user; -1: none */
	const char *secret;    /* "": none */
	uint32_t frame_bytes;  /* size of the largest frame */
	uint32_t buffer_bytes; /* size of a client's buffers */
	uint8_t log2_slots;    /* size of a client's rings */
};

/* Events of the control channel, counted by the control thread and read by the core. */
struct memif_events {
	_Atomic(uint64_t) connected;
	_Atomic(uint64_t) disconnected;
	_Atomic(uint64_t) refused_user; /* the peer runs as another user */
	_Atomic(uint64_t) refused_busy; /* there already is a connection */
	_Atomic(uint64_t) refused_secret;
	_Atomic(uint64_t) bad_message; /* wrong size, kind, version or order */
	_Atomic(uint64_t) bad_region;
	_Atomic(uint64_t) bad_ring;
	_Atomic(uint64_t) timeouts; /* set-ups that did not complete */
};

struct memif {
	struct nic *nic;
	struct memif_conf conf;
	struct memif_events events;

	/* control: */
	int epoll_fd; /* set of the following descriptors */
	int timer_fd;
	int socket_fd;  /* -1: no peer */
	int waiting_fd; /* accepted before the previous connection was released; -1: none */
	struct memif_listener listener;
	enum memif_state state;
	uint32_t step;           /* client: acknowledged messages of the set-up */
	struct memif_link *link; /* NULL: no connection */
	int region_fd;           /* client: its memory, until it was sent; -1 */
	uint64_t said_ns;        /* time of the last log line on a rejection */
	struct log_limit link_said;

	_Atomic(struct memif_link *) offered; /* control to core: connection to use from now on */
	_Atomic(uint32_t) offers;             /* control to core: number of offers */
	_Atomic(uint32_t) taken;              /* core to control: number of offers confirmed */
	_Atomic(bool) broken;                 /* core to control: the peer violates the protocol */

	/* core: */
	struct memif_link *now;
	uint32_t seen; /* last value stored in taken */
	struct memif_counts counts;
};

/* Creates the server's socket, or prepares to connect. NULL with errno after a log message. */
struct memif *memif_open(struct nic *nic, const struct memif_conf *conf);
/* Ends the connection and frees everything. No core may run any more. */
void memif_close(struct memif *memif);

/* Returns a descriptor that is readable when memif_serve() is due. */
int memif_fd(const struct memif *memif);
/* Handles connections, messages, time-outs and the core's reports. Control thread. */
void memif_serve(struct memif *memif);

/* Writes up to max counters. On the owner's core. */
uint32_t memif_stats(const struct memif *memif, struct hw_stat *stat, uint32_t max);

/* ---- memif_link.c; the memory of a connection, control thread */

/* Allocates an empty connection; NULL: out of memory. */
struct memif_link *memif_link_new(const struct memif_conf *conf);
/* Unmaps and closes everything; NULL is permitted. */
void memif_link_free(struct memif_link *link);
/* Client: creates the region and eventfds. *fd: descriptor of the region. Returns 0 or -errno. */
int memif_link_make(struct memif_link *link, uint32_t log2_slots, int *fd)
    __attribute__((warn_unused_result));
/* Server: adopts the announced object and its descriptor. Returns NULL, or an error message. */
const char *memif_link_region(struct memif_link *link, const struct memif_add_region *add, int fd);
const char *memif_link_ring(struct memif_link *link, const struct memif_add_ring *ring, int fd);

#endif /* WEFT_APP_MEMIF_H */
