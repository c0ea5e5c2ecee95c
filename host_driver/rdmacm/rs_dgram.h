/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets: what rs_dgram.c, rs_end.c and rs_dest.c share. All of it under the lock of the
 * socket.
 *
 * A socket has an end on each NIC that it is bound to: a UD QP, and an id that answers who asks for
 * its number (the address of the socket to a QPN, SIDR). Whom it sends to is a destination: asked
 * for once, kept until there are too many. What is sent meanwhile waits there.
 */
#ifndef WEFT_RDMACM_RS_DGRAM_H
#define WEFT_RDMACM_RS_DGRAM_H

#include <netinet/in.h>

#include "host_driver/rdmacm/rs.h"

enum {
	RS_ENDS_MAX = RS_FDS_OF_ONE,
	RS_DESTS_MAX = 1024,
	RS_DEST_PENDING_MAX = 32,   /* datagrams that wait for a destination */
	RS_DEST_FORGET_MS = 500,    /* when one that did not answer is asked for again */
	RS_DEST_REFRESH_MS = 1000,  /* when one that did: another socket may have its port */
	RS_DGRAM_BYTES_MAX = 65507, /* as UDP has it */
	RS_GRH_BYTES = 40,
	RS_IP_SRC = 12,    /* where the source's address is in an IPv4 header */
	RS_GRH_IP = 20,    /* where the IPv4 header begins there, as the NIC received it */
	RS_PARTS_MAX = 16, /* datagrams of which some parts are there */
};

/* A datagram that was received. */
struct rs_packet {
	struct rs_packet *next;
	struct rs_end *end; /* whose receive buffer it lies in; NULL: in memory of its own */
	struct sockaddr_in src;
	uint32_t id, bytes, have; /* have: parts of it so far */
	uint8_t *data;
};

struct rs_end {
	struct rdma_cm_id *id;
	struct rdma_cm_id
	    *listen_id;          /* id itself or another; NULL: another end answers (rs_share.c) */
	struct sockaddr_in peer; /* of rs_share.c's lock, as what follows */
	struct rs *owner;
	struct rs_end *next, **pprev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct sockaddr_in addr;
	uint8_t *mem;
	size_t mem_bytes;
	struct ibv_mr *mr;
	uint32_t slot_bytes; /* of a receive buffer; one for sending is shorter, but not kept so */
	uint32_t num_recv, num_send, num_free;
	uint32_t *free_sends;
	struct rs_packet *packets; /* one for each receive buffer */
	bool armed;
};

enum rs_dest_state {
	RS_DEST_ASKED,
	RS_DEST_KNOWN,
	RS_DEST_SILENT, /* it refused, or nobody is there */
};

struct rs_dest {
	struct rs_dest *next; /* the one used before this one */
	enum rs_dest_state state;
	struct sockaddr_in addr;
	struct rdma_cm_id *id; /* while it is asked for */
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
	struct rs_packet *queue, **queue_end; /* received */
	size_t queue_bytes;                   /* of those with memory of their own */
	struct rs_packet *parts;              /* not whole yet, the newest first */
	uint32_t next_id;
	uint32_t part_bytes; /* of a datagram in one message */
	uint64_t num_forged; /* dropped: they named another address than they came from */
};

/* rs_end.c: 0 or a negative errno. bind_to: address and port (0: any), which it returns. */
int rs_end_open(struct rs *rs, struct sockaddr_in *bind_to);
enum {
	RS_IDS_OF_END = 2
};
/* Returns how many ids it had, which are destroyed without the lock. */
int rs_end_close(struct rs_end *end, struct rdma_cm_id *ids[RS_IDS_OF_END]);
/* The end on this device; NULL. */
struct rs_end *rs_end_of(const struct rs_dgram *dg, const struct ibv_context *verbs);
/* Sends; 0: too few buffers are free now; 1: done; or a negative errno. */
int rs_end_send(struct rs *rs, const struct rs_dest *dest, const struct iovec *iov, int iovcnt,
		uint32_t bytes);
/* Takes completions; how many there were. */
int rs_end_progress(struct rs *rs, struct rs_end *end);
/* The packet was read. */
void rs_packet_done(struct rs *rs, struct rs_packet *p);

/* rs_dest.c */

/* The destination, asked for if it is new; NULL with a negative errno in *rc. */
struct rs_dest *rs_dest_get(struct rs *rs, const struct sockaddr_in *addr, int *rc);
/* Sends when the answer has come. 0 or a negative errno. */
int rs_dest_later(struct rs_dest *d, const struct iovec *iov, int iovcnt, uint32_t bytes);
/* Returns its id, if it is still being asked for. */
struct rdma_cm_id *rs_dest_free(struct rs_dest *d);

/* rs_share.c */

void rs_share_add(struct rs *rs, struct rs_end *end);
void rs_share_remove(struct rs_end *end);
/* A socket of this process that shares its port has this one. */
bool rs_share_has(const struct sockaddr_in *addr);
void rs_share_connected(struct rs_end *end, const struct sockaddr_in *peer);
/* Of the socket that hears a datagram from there; 0: none does. */
uint32_t rs_share_qpn(const struct sockaddr_in *addr, const struct sockaddr_in *asker);
/* The listener of this port is closed: another socket listens, if there is one. */
void rs_share_inherit(const struct sockaddr_in *addr);

/* rs_parts.c: what a message of the NIC holds */

/* A header that is right for a message of so many bytes (without the GRH). */
bool rs_parts_valid(const struct rs_wire_dgram *h, uint32_t message_bytes);
/* The datagram that a part completes, in memory of its own; NULL: not yet, or it was dropped. */
struct rs_packet *rs_parts_add(struct rs_packet **list, const struct rs_wire_dgram *h,
			       const struct sockaddr_in *src, const uint8_t *data);
void rs_parts_free(struct rs_packet **list);

#endif /* WEFT_RDMACM_RS_DGRAM_H */
