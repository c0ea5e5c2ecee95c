/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets: declarations shared by rs_dgram.c, rs_end.c and rs_dest.c. Everything runs
 * under the lock of the socket.
 *
 * A socket has an end on each NIC to which it is bound: a UD QP, and an id that answers requests
 * for its QPN (SIDR). Each address to which the socket sends is a destination. It is resolved once
 * and kept until there are too many. Datagrams sent during resolution are queued at the
 * destination.
 */
#ifndef WEFT_RDMACM_RS_DGRAM_H
#define WEFT_RDMACM_RS_DGRAM_H

#include <netinet/in.h>

#include "host_driver/rdmacm/rs.h"

enum {
	RS_ENDS_MAX = RS_FDS_OF_ONE,
	RS_DESTS_MAX = 1024,
	RS_DEST_PENDING_MAX = 32, /* datagrams queued while a destination is resolved */
	RS_DEST_FORGET_MS = 500,  /* after a failed resolution: time until the next one */
	/* After a successful one: another socket may have taken over the port. */
	RS_DEST_REFRESH_MS = 1000,
	RS_DGRAM_BYTES_MAX = 65507, /* UDP's limit */
	RS_GRH_BYTES = 40,
	RS_IP_SRC = 12,    /* offset of the source address in an IPv4 header */
	RS_GRH_IP = 20,    /* offset of the IPv4 header in the GRH, as the NIC delivers it */
	RS_PARTS_MAX = 16, /* incomplete datagrams */
};

/* A received datagram. */
struct rs_packet {
	struct rs_packet *next;
	struct rs_end *end; /* owner of the receive buffer; NULL: memory of its own */
	struct sockaddr_in src;
	uint32_t id, bytes, have; /* have: bytes received so far */
	uint8_t *data;
};

struct rs_end {
	struct rdma_cm_id *id;
	struct rdma_cm_id
	    *listen_id;          /* id itself or another; NULL: another end answers (rs_share.c) */
	struct sockaddr_in peer; /* this and the following: protected by rs_share.c's lock */
	struct rs *owner;
	struct rs_end *next, **pprev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct sockaddr_in addr;
	uint8_t *mem;
	size_t mem_bytes;
	struct ibv_mr *mr;
	uint32_t slot_bytes; /* of a receive buffer; send buffers are shorter but equally spaced */
	uint32_t num_recv, num_send, num_free;
	uint32_t *free_sends;
	struct rs_packet *packets; /* one per receive buffer */
	bool armed;
};

enum rs_dest_state {
	RS_DEST_ASKED,
	RS_DEST_KNOWN,
	RS_DEST_SILENT, /* the peer refused or did not answer */
};

struct rs_dest {
	struct rs_dest *next; /* least recently used last */
	enum rs_dest_state state;
	struct sockaddr_in addr;
	struct rdma_cm_id *id; /* during resolution */
	struct rs_end *end;
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
	uint64_t since_ns;
	struct rs_packet *pending, **pending_end;
	int num_pending;
};

struct rs_dgram {
	struct rs_end *ends[RS_ENDS_MAX];
	int num_ends;
	struct rs_dest *dests;
	int num_dests;
	struct rs_packet *queue, **queue_end; /* received datagrams */
	size_t queue_bytes;                   /* bytes of datagrams in memory of their own */
	struct rs_packet *parts;              /* incomplete datagrams, newest first */
	uint32_t next_id;
	uint32_t part_bytes; /* payload bytes that fit one message */
	uint64_t num_forged; /* dropped: the source address in the header was not the packet's */
};

/*
 * rs_end.c: opens an end. bind_to: address and port (0: any); returns those in use. 0 or a negative
 * errno.
 */
int rs_end_open(struct rs *rs, struct sockaddr_in *bind_to);
enum {
	RS_IDS_OF_END = 2
};
/*
 * Closes an end. Stores its ids for the caller to destroy without the lock; returns their number.
 */
int rs_end_close(struct rs_end *end, struct rdma_cm_id *ids[RS_IDS_OF_END]);
/* Returns the end on this device, or NULL. */
struct rs_end *rs_end_of(const struct rs_dgram *dg, const struct ibv_context *verbs);
/* Sends a datagram. Returns 1, 0 when too few buffers are free, or a negative errno. */
int rs_end_send(struct rs *rs, const struct rs_dest *dest, const struct iovec *iov, int iovcnt,
		uint32_t bytes);
/* Takes completions; returns their number. */
int rs_end_progress(struct rs *rs, struct rs_end *end);
/* Releases a packet that was read. */
void rs_packet_done(struct rs *rs, struct rs_packet *p);

/* rs_dest.c */

/* Returns the destination; starts resolution if it is new. NULL with a negative errno in *rc. */
struct rs_dest *rs_dest_get(struct rs *rs, const struct sockaddr_in *addr, int *rc);
/* Queues a datagram until the destination is resolved. Returns 0 or a negative errno. */
int rs_dest_later(struct rs_dest *d, const struct iovec *iov, int iovcnt, uint32_t bytes);
/* Frees a destination. Returns its id if it is still being resolved. */
struct rdma_cm_id *rs_dest_free(struct rs_dest *d);

/* rs_share.c */

void rs_share_add(struct rs *rs, struct rs_end *end);
void rs_share_remove(struct rs_end *end);
/* Returns true if a socket of this process that shares the port has this address. */
bool rs_share_has(const struct sockaddr_in *addr);
void rs_share_connected(struct rs_end *end, const struct sockaddr_in *peer);
/* Returns the QPN of the socket that receives datagrams from this peer; 0: none. */
uint32_t rs_share_qpn(const struct sockaddr_in *addr, const struct sockaddr_in *asker);
/* The listener of this port was closed: makes another socket listen, if there is one. */
void rs_share_inherit(const struct sockaddr_in *addr);

/* rs_parts.c: contents of a message */

/* Returns true if the header is valid for a message of this length (without the GRH). */
bool rs_parts_valid(const struct rs_wire_dgram *h, uint32_t message_bytes);
/*
 * Adds a part. Returns the datagram that it completes, in memory of its own; NULL: incomplete or
 * dropped.
 */
struct rs_packet *rs_parts_add(struct rs_packet **list, const struct rs_wire_dgram *h,
			       const struct sockaddr_in *src, const uint8_t *data);
void rs_parts_free(struct rs_packet **list);

#endif /* WEFT_RDMACM_RS_DGRAM_H */
