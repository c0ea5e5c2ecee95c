/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memif protocol, version 2.0, in Ethernet mode: messages over a UNIX socket of type
 * SOCK_SEQPACKET, rings and buffers in shared memory. Both ends run on one machine and use its byte
 * order. Sources: libmemif's memif.h, DPDK's net_memif, VPP.
 *
 * The client (slave) creates the memory, the server (master) creates the socket. The server answers
 * each message from INIT to ADD_RING with ACK, and CONNECT with CONNECTED:
 *
 * 	server  HELLO                                      ACK ...          CONNECTED
 * 	client         INIT, ADD_REGION ..., ADD_RING ...        CONNECT
 *
 * The client produces descriptors in both rings (head): filled buffers for the server, empty ones
 * to be filled by it. The server advances tail. Indices are free-running; their low bits are the
 * slot.
 */
#ifndef WEFT_APP_MEMIF_PROTO_H
#define WEFT_APP_MEMIF_PROTO_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MEMIF_COOKIE = 0x3E31F20,
	MEMIF_VERSION = 0x0200,
	MEMIF_NAME_BYTES = 32,
	MEMIF_SECRET_BYTES = 24,
	MEMIF_REASON_BYTES = 96,
	MEMIF_MODE_ETHERNET = 0,
	MEMIF_RING_S2M = 1,  /* memif_add_ring.flags: direction from client to server */
	MEMIF_DESC_NEXT = 1, /* memif_desc.flags: the frame continues in the next slot */
	MEMIF_MASK_INT = 1,  /* memif_ring_shared.flags: the receiver polls and needs no signal */
};

enum memif_kind {
	MEMIF_MSG_NONE,
	MEMIF_MSG_ACK,
	MEMIF_MSG_HELLO,
	MEMIF_MSG_INIT,
	MEMIF_MSG_ADD_REGION,
	MEMIF_MSG_ADD_RING,
	MEMIF_MSG_CONNECT,
	MEMIF_MSG_CONNECTED,
	MEMIF_MSG_DISCONNECT,
};

struct memif_hello {
	char name[MEMIF_NAME_BYTES];
	uint16_t min_version;
	uint16_t max_version;
	uint16_t max_region;   /* largest index, that is, the number minus 1; also the next two */
	uint16_t max_m2s_ring; /* direction from server to client */
	uint16_t max_s2m_ring;
	uint8_t max_log2_ring_size;
} __attribute__((packed));

struct memif_init {
	uint16_t version;
	uint32_t id; /* number of the interface on this socket */
	uint8_t mode;
	char secret[MEMIF_SECRET_BYTES];
	char name[MEMIF_NAME_BYTES];
} __attribute__((packed));

/* Sent with the descriptor of the memory. */
struct memif_add_region {
	uint16_t index;
	uint64_t bytes;
} __attribute__((packed));

/* Sent with an eventfd, which the producer signals. */
struct memif_add_ring {
	uint16_t flags;
	uint16_t index; /* within its direction */
	uint16_t region;
	uint32_t offset;
	uint8_t log2_slots;
	uint16_t private_hdr_bytes;
} __attribute__((packed));

struct memif_disconnect {
	uint32_t code;
	char reason[MEMIF_REASON_BYTES];
} __attribute__((packed));

struct memif_msg {
	uint16_t kind; /* enum memif_kind */
	union {
		struct memif_hello hello;
		struct memif_init init;
		struct memif_add_region add_region;
		struct memif_add_ring add_ring;
		char if_name[MEMIF_NAME_BYTES]; /* CONNECT, CONNECTED */
		struct memif_disconnect disconnect;
		uint8_t all[126];
	} u;
} __attribute__((packed));

struct memif_desc {
	uint16_t flags;
	uint16_t region;
	uint32_t bytes; /* length of the data; in an empty buffer, its size */
	uint32_t offset;
	uint32_t metadata;
};

struct memif_ring_shared {
	uint32_t cookie;
	uint16_t flags;
	uint16_t head;
	uint8_t pad0[56];
	uint16_t tail;
	uint8_t pad1[62];
	struct memif_desc desc[];
};

static_assert(sizeof(struct memif_msg) == 128, "size of a message");
static_assert(sizeof(struct memif_hello) == 43, "HELLO");
static_assert(sizeof(struct memif_init) == 63, "INIT");
static_assert(sizeof(struct memif_add_region) == 10, "ADD_REGION");
static_assert(sizeof(struct memif_add_ring) == 13, "ADD_RING");
static_assert(sizeof(struct memif_disconnect) == 100, "DISCONNECT");
static_assert(offsetof(struct memif_hello, max_region) == 36, "HELLO's limits");
static_assert(offsetof(struct memif_init, secret) == 7, "INIT's secret");
static_assert(offsetof(struct memif_add_ring, offset) == 6, "ADD_RING's offset");
static_assert(sizeof(struct memif_desc) == 16, "size of a descriptor");
static_assert(offsetof(struct memif_desc, offset) == 8, "a descriptor's offset");
static_assert(sizeof(struct memif_ring_shared) == 128, "size of a ring's head");
static_assert(offsetof(struct memif_ring_shared, head) == 6, "the ring's head");
static_assert(offsetof(struct memif_ring_shared, tail) == 64, "the ring's tail");

#endif /* WEFT_APP_MEMIF_PROTO_H */
