/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager: endpoints, and the seam where transports plug in.
 *
 * cm.c		endpoints, states, events; the end of processes and of queue pairs
 * cm_cmd.c	commands
 * cm_rd.c	struct cm_ops over datagrams: what is sent, and when again
 * cm_rd_rx.c	its messages in
 * cm_tcp.c	struct cm_ops over MPA and TCP
 *
 * A transport does the handshake. It reports to cm.c (cm_event(), cm_request(), cm_closed()) and
 * never to the process. shared_defs/hw_cm.h, wire_cm.h; docs/connection-manager.md.
 */
#ifndef WEFT_FW_CM_H
#define WEFT_FW_CM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/cm/cm_nic.h"
#include "shared_defs/hw_cm.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/wire_cm.h"

struct fw_nic;
struct fw_qp;
struct fw_eq;
struct cm_ep;
struct rdmap_seg;
struct mpa_conn;

/* State of an endpoint: the event that it waits for. */
enum cm_state {
	CM_FREE = 0,
	CM_IDLE,        /* the process's command; also when a request has come to nothing */
	CM_RESOLVING,   /* the next hop's address */
	CM_LISTEN,      /* requests */
	CM_REQ_SENT,    /* the peer's answer */
	CM_REQ_RCVD,    /* the process: accept or reject */
	CM_REP_SENT,    /* the peer: ready to use */
	CM_REP_RCVD,    /* the process: its queue pair is ready */
	CM_ESTABLISHED, /* its end */
	CM_DREQ_SENT,   /* the peer's word that it has heard of the end */
	CM_FOUND,       /* nothing: a UD QP was asked for and told */
	CM_LINGER,      /* messages that may still be under way */
	CM_STATES
};

/* One transport. All are called with a checked endpoint; 0 or a positive errno. */
struct cm_ops {
	/* From now on requests for the port are wanted. */
	int (*listen)(struct fw_nic *nic, struct cm_ep *ep);
	/* Asks ep->peer_ip:peer_port; param, tx_data are filled. */
	int (*connect)(struct fw_nic *nic, struct cm_ep *ep);
	/* Passive: accepts. Active: the queue pair is ready. */
	int (*accept)(struct fw_nic *nic, struct cm_ep *ep);
	int (*reject)(struct fw_nic *nic, struct cm_ep *ep, uint16_t reason);
	/* Bytes of private data that its next message may carry. */
	uint32_t (*max_data)(const struct fw_nic *nic, const struct cm_ep *ep);
	/* Ends it; the queue pair is in ERR. The end is told by cm_closed(). */
	void (*disconnect)(struct fw_nic *nic, struct cm_ep *ep);
	/* A listener's connections that have not asked yet end. False: units ran out. NULL: none */
	bool (*end_asking)(struct fw_nic *nic, struct cm_ep *ep);
	/* The process has given it up, in whatever state: ends with cm_free(), now or later. */
	void (*abandon)(struct fw_nic *nic, struct cm_ep *ep);
};

extern const struct cm_ops cm_rd_ops;
extern const struct cm_ops cm_tcp_ops;

enum {
	CM_MAX_EVENTS = 8, /* that wait of one endpoint */
	CM_HASH_SIZE = 4096,
	CM_NO_CLIENT = 0xffff,
};

#define CM_RETRY_NS     UINT64_C(50000000) /* first repetition; doubles */
#define CM_RETRY_MAX_NS UINT64_C(1000000000)
enum {
	CM_TRIES = 13,      /* some 9 s */
	CM_DREQ_TRIES = 7,  /* some 3 s */
	CM_ALIVE_TRIES = 8, /* one a CM_ALIVE_RETRY_NS */
};
/* A process that has a request, or an answer, and does not say a word: so long in all. */
#define CM_PATIENCE_NS UINT64_C(120000000000)
#define CM_LINGER_NS   UINT64_C(250000000)
/*
 * A rejected peer repeats its request, at intervals of CM_RETRY_MAX_NS at most, until the REJ
 * arrives.
 */
#define CM_REJ_LINGER_NS  UINT64_C(3500000000)
#define CM_ALIVE_NS       UINT64_C(15000000000)
#define CM_ALIVE_RETRY_NS UINT64_C(2000000000)

struct cm_ep {
	uint64_t local_id; /* what peers call it; 16 bits are its place in nic->cm.eps */
	uint64_t peer_id;  /* 0: not known yet */
	const struct cm_ops *ops;
	struct fw_timer timer;
	struct fw_list node;       /* of the client; of nic->cm.orphans */
	struct fw_list event_node; /* in fw_eq.cm_events while events wait */
	struct fw_list wait_node;  /* in nic->cm.listeners, nic->cm.resolving */
	uint32_t index;
	uint32_t eq;       /* of the client: its number */
	uint32_t listener; /* place of the one that was asked, FW_NONE */
	uint32_t peer_ip;  /* network byte order */
	uint32_t qpn;      /* of the client's QP that is tied to it, 0 */
	uint32_t hash_next;
	uint16_t mpa_options;     /* HW_MPA_*; 0: as the NIC has it */
	struct share_owner share; /* of a listener for TCP */
	struct mpa_conn *mpa;     /* its connection over TCP, NULL */
	uint16_t client;          /* CM_NO_CLIENT: the process is gone or has given it up */
	uint16_t space;           /* 0: not bound */
	uint16_t local_port;
	uint16_t peer_port;
	uint8_t peer_shard;
	uint8_t state;
	uint8_t tries;
	uint8_t ev_first, ev_count;
	uint8_t ev_type[CM_MAX_EVENTS];
	uint16_t ev_status[CM_MAX_EVENTS];
	uint16_t backlog; /* LISTEN */
	uint16_t waiting; /* requests that the process has not fetched */
	bool passive;
	bool datagram;
	bool reuse;
	bool hashed;
	bool patient;  /* the peer has said that its process takes its time */
	bool rejected; /* LINGER: answers repeated requests with its REJ */
	bool over;     /* it was connected, and the process was told of the end */
	bool opened;   /* it was established, or might have been: TIMEWAIT_EXIT is due */
	bool ending;   /* a listener that is being destroyed: takes no more requests */
	bool rest;     /* rx_data is of an event that was fetched, but for its end */
	uint16_t reason;
	uint64_t patience_ns;     /* when that ends */
	struct hw_cm_param param; /* ours */
	struct hw_cm_param peer;
	uint16_t tx_bytes, rx_bytes;
	/* Private data, of nic->cm.data; NULL: none. */
	uint8_t *tx_data; /* until nothing of it can be said again */
	uint8_t *rx_data; /* until the process has fetched it with its event, or behind that */
};
static_assert(sizeof(struct cm_ep) <= 288, "one for each connection: docs/connection-manager.md");

/* Each endpoint has room for the data that it sends and receives, so the pool never runs dry. */
enum {
	CM_DATA_BYTES = HW_CM_MAX_DATA,
	CM_DATA_MAX = 2 * HW_MAX_CM,
};

/* ---- cm.c */

/* The client's own endpoint, or NULL. */
struct cm_ep *cm_own(struct fw_nic *nic, uint32_t client, uint32_t ep);
/* Another name for peers to call it: what is under way of an earlier request means nothing. */
void cm_rename(struct fw_nic *nic, struct cm_ep *ep);
/* Its events go to another event queue of the client from now on, those that wait too. */
bool cm_move(struct fw_nic *nic, struct cm_ep *ep, uint32_t eq);
/* A free endpoint of a client, IDLE; NULL: quota or table are used up. */
struct cm_ep *cm_new(struct fw_nic *nic, uint32_t client, uint32_t eq);
/* By what peers call it. */
struct cm_ep *cm_find(struct fw_nic *nic, uint64_t local_id);
/* A passive one, by its peer. */
struct cm_ep *cm_find_peer(struct fw_nic *nic, uint32_t peer_ip, uint64_t peer_id);
void cm_hash(struct fw_nic *nic, struct cm_ep *ep);
void cm_set_state(struct fw_nic *nic, struct cm_ep *ep, enum cm_state state);
/* Where the process's private data go, zeroed when it is new: CM_DATA_BYTES. */
uint8_t *cm_tx_room(struct fw_nic *nic, struct cm_ep *ep);
void cm_tx_drop(struct fw_nic *nic, struct cm_ep *ep);
/*
 * Room for the peer's private data, for the next event that carries some, with rx_bytes set; NULL:
 * there are none, or nobody to tell, or an event that was not fetched has its own.
 */
uint8_t *cm_rx_room(struct fw_nic *nic, struct cm_ep *ep, uint32_t bytes);
/* Tells the process; nothing where there is none. */
void cm_event(struct fw_nic *nic, struct cm_ep *ep, enum hw_cm_event_type type, uint32_t status);
/* Takes the event that has waited longest in a queue. */
void cm_event_take(struct fw_nic *nic, struct fw_eq *eq, struct hw_resp_cm_event *event);
/* The rest of its private data; 0, or ENOENT. */
int cm_rest_take(struct fw_nic *nic, struct cm_ep *ep, struct hw_resp_cm_rest *rest);
/* It listens from now on; its port is its own (l4_port_listen()). */
void cm_listen(struct fw_nic *nic, struct cm_ep *ep);
/*
 * The listener for a port of this shard; *shard: where there is one, of this NIC; FW_NONE.
 */
struct cm_ep *cm_listener(struct fw_nic *nic, uint16_t space, uint16_t port, uint32_t *shard);
/* Ties a QP of the client to the endpoint, so that each hears of the other's end. */
void cm_tie(struct fw_nic *nic, struct cm_ep *ep, uint32_t qpn);
/* Neither hears of the other any more. */
void cm_untie(struct fw_nic *nic, struct cm_ep *ep);
/* The connection is over: its QP goes to ERR, the process is told. */
void cm_closed(struct fw_nic *nic, struct cm_ep *ep);
/* The process ends the connection. */
void cm_disconnect(struct fw_nic *nic, struct cm_ep *ep);
/* The QP that is tied to an endpoint has left the states in which it works. */
void cm_qp_down(struct fw_nic *nic, struct fw_qp *qp);
/*
 * The process gives it up. False: it is a listener with more requests than there are units for; go
 * on in a later turn, with nic->slices.resume as it is now (0 at first).
 */
bool cm_destroy(struct fw_nic *nic, struct cm_ep *ep);
/* The place is free again; of an endpoint without a process. */
void cm_free(struct fw_nic *nic, struct cm_ep *ep);
bool cm_client_leave(struct fw_nic *nic, uint32_t client);
/* The address that it waits for is known, or (an errno) will not be. */
void cm_resolved(struct fw_nic *nic, struct cm_ep *ep, int err);
/* neigh.c: a next hop became known, or failed. */
void cm_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* An endpoint that is off the list of those that wait looks for its next hop (neigh_wait.c). */
void cm_neigh_look(struct fw_nic *nic, struct fw_list *node);

/* ---- cm_rd_rx.c: a datagram of type CM, its CRC32C checked */
void cm_rd_rx(struct fw_nic *nic, const struct rdmap_seg *pkt);

/* ---- cm_rd.c, for cm_rd_rx.c */
void cm_rd_fire(struct fw_nic *nic, struct fw_timer *timer);
void cm_rd_send(struct fw_nic *nic, struct cm_ep *ep, enum wire_cm_type type);
/* To whom no endpoint of ours belongs. */
void cm_rd_refuse(struct fw_nic *nic, const struct rdmap_seg *pkt, const struct wire_cm *msg,
		  enum wire_cm_type type, uint16_t reason, uint32_t shard);
void cm_rd_established(struct fw_nic *nic, struct cm_ep *ep);
/* Keeps the place until nothing of it can be under way any more. */
void cm_rd_linger(struct fw_nic *nic, struct cm_ep *ep);

#endif /* WEFT_FW_CM_H */
