/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager: endpoints, and the interface to its transports.
 *
 *	cm.c		endpoints, states; the end of processes and of queue pairs
 *	cm_event.c	events that wait for the process
 *	cm_cmd.c	commands
 *	cm_rd.c		struct cm_ops over datagrams: sending and repeating messages
 *	cm_rd_rx.c	its incoming messages
 *	cm_tcp.c	struct cm_ops over MPA and TCP
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
	CM_IDLE,        /* a command of the process; also after a request failed */
	CM_RESOLVING,   /* the next hop's address */
	CM_LISTEN,      /* requests */
	CM_REQ_SENT,    /* the peer's answer */
	CM_REQ_RCVD,    /* the process's accept or reject */
	CM_REP_SENT,    /* the peer's ready to use */
	CM_REP_RCVD,    /* the process's queue pair */
	CM_ESTABLISHED, /* the end of the connection */
	CM_DREQ_SENT,   /* the peer's acknowledgement of the end */
	CM_FOUND,       /* nothing: a UD QP was requested and reported */
	CM_LINGER,      /* late messages */
	CM_STATES
};

/* One transport. All functions get a checked endpoint; they return 0 or a positive errno. */
struct cm_ops {
	/* Starts to accept requests for the port. */
	int (*listen)(struct fw_nic *nic, struct cm_ep *ep);
	/* Sends a request to ep->peer_ip:peer_port; param, tx_data are filled. */
	int (*connect)(struct fw_nic *nic, struct cm_ep *ep);
	/* Passive: accepts. Active: reports that the queue pair is ready. */
	int (*accept)(struct fw_nic *nic, struct cm_ep *ep);
	int (*reject)(struct fw_nic *nic, struct cm_ep *ep, uint16_t reason);
	/* Returns the bytes of private data that its next message may carry. */
	uint32_t (*max_data)(const struct fw_nic *nic, const struct cm_ep *ep);
	/* Ends the connection; the queue pair is in ERR. cm_closed() reports the end. */
	void (*disconnect)(struct fw_nic *nic, struct cm_ep *ep);
	/*
	 * Ends a listener's connections that have sent no request yet. False: units ran out. NULL:
	 * none
	 */
	bool (*end_asking)(struct fw_nic *nic, struct cm_ep *ep);
	/*
	 * The process has given up the endpoint, in whatever state: ends with cm_free(), now or
	 * later.
	 */
	void (*abandon)(struct fw_nic *nic, struct cm_ep *ep);
};

extern const struct cm_ops cm_rd_ops;
extern const struct cm_ops cm_tcp_ops;

enum {
	CM_MAX_EVENTS = 5, /* waiting events of one endpoint; it has four in its life */
	CM_HASH_SIZE = 4096,
	CM_NO_CLIENT = 0xffff,
	CM_PLACES_PER_UNIT = 4, /* endpoints that a search visits for one unit */
};

#define CM_RETRY_NS     UINT64_C(50000000) /* first repetition; doubles */
#define CM_RETRY_MAX_NS UINT64_C(1000000000)
enum {
	CM_TRIES = 13,      /* some 9 s */
	CM_DREQ_TRIES = 7,  /* some 3 s */
	CM_ALIVE_TRIES = 8, /* one per CM_ALIVE_RETRY_NS */
};
/* Limit for a process that has a request, or an answer, and does not react. */
#define CM_PATIENCE_NS UINT64_C(120000000000)
#define CM_LINGER_NS   UINT64_C(250000000)
/*
 * A rejected peer repeats its request, at intervals of CM_RETRY_MAX_NS at most, until the REJ
 * arrives.
 */
#define CM_REJ_LINGER_NS  UINT64_C(3500000000)
#define CM_ALIVE_NS       UINT64_C(15000000000)
#define CM_ALIVE_RETRY_NS UINT64_C(2000000000)

/*
 * An event that the process has not fetched. It is a node of its own, because a process fetches the
 * events of all endpoints of a queue in the order in which they happened.
 */
struct cm_waiting_event {
	struct fw_list node; /* in fw_eq.cm_events */
	uint16_t status;
	uint8_t type; /* hw_cm_event_type */
	uint8_t at;   /* its place in cm_waiting.events */
};

/* The events of an endpoint that has any: of nic->cm.waiting, one for each. */
struct cm_waiting {
	struct cm_waiting_event events[CM_MAX_EVENTS]; /* a ring */
	uint32_t ep;                                   /* its index */
};

struct cm_ep {
	uint64_t local_id; /* its name for peers; 16 bits are its place in nic->cm.eps */
	uint64_t peer_id;  /* 0: not known yet */
	struct fw_timer timer;
	struct fw_list node; /* of the client; of nic->cm.orphans */
	union {
		/* RESOLVING, LISTEN: in nic->cm.resolving, nic->cm.listeners; cm_waits() */
		struct fw_list wait_node;
		struct hw_cm_param param; /* all other states: ours */
	};
	union {
		struct share_owner share; /* LISTEN, over TCP */
		struct hw_cm_param peer;  /* all other states: the peer's */
	};
	struct mpa_conn *mpa;     /* its connection over TCP, NULL */
	struct cm_waiting *queue; /* its events, NULL without any */
	uint64_t patience_ns;     /* end of the peer's patience */
	/* Private data, of nic->cm.data; NULL: none. */
	uint8_t *tx_data; /* until no message needs to be repeated */
	uint8_t *rx_data; /* until the process has fetched it, with its event or after it */
	uint32_t index;
	uint32_t eq;       /* number of the client's event queue */
	uint32_t listener; /* place of the listener that received the request, FW_NONE */
	uint32_t peer_ip;  /* network byte order */
	uint32_t qpn;      /* the client's QP that is tied to it; 0: none */
	uint32_t hash_next;
	uint16_t mpa_options; /* HW_MPA_*; 0: the NIC's setting */
	uint16_t client;      /* CM_NO_CLIENT: the process is gone or has given it up */
	uint16_t space;       /* 0: not bound */
	uint16_t local_port;
	uint16_t peer_port;
	uint16_t backlog; /* LISTEN */
	uint16_t waiting; /* requests that the process has not fetched */
	uint16_t reason;
	uint16_t tx_bytes, rx_bytes;
	uint8_t peer_shard;
	uint8_t transport; /* hw_cm_transport: cm_ops_of() */
	uint8_t state;
	uint8_t tries;
	uint8_t ev_first, ev_count;
	bool passive : 1;
	bool datagram : 1;
	bool reuse : 1;
	bool hashed : 1;
	bool patient : 1;  /* the peer has reported that its process needs more time */
	bool rejected : 1; /* LINGER: answers repeated requests with its REJ */
	bool over : 1;     /* it was connected, and the end was reported to the process */
	bool opened : 1;   /* it was established, or may have been: TIMEWAIT_EXIT is due */
	bool ending : 1;   /* a listener that is being destroyed: accepts no more requests */
	bool rest : 1;     /* rx_data is the unfetched rest of an event's data */
};
static_assert(sizeof(struct cm_ep) <= 192, "one for each connection: docs/connection-manager.md");

/* By hw_cm_transport: cm_cmd.c. */
extern const struct cm_ops *const cm_transports[HW_CM_TRANSPORTS];

/* True in the states in which wait_node is valid. */
static inline bool cm_waits(const struct cm_ep *ep)
{
	return ep->state == CM_RESOLVING || ep->state == CM_LISTEN;
}

static inline const struct cm_ops *cm_ops_of(const struct cm_ep *ep)
{
	return cm_transports[ep->transport];
}

/* Each endpoint has room for the data that it sends and receives, so the pool never runs dry. */
enum {
	CM_DATA_BYTES = HW_CM_MAX_DATA,
	CM_DATA_MAX = 2 * HW_MAX_CM,
};

/* ---- cm.c */

/* Returns the client's own endpoint, or NULL. */
struct cm_ep *cm_own(struct fw_nic *nic, uint32_t client, uint32_t ep);
/* Gives it a new name for peers, so that late messages of an earlier request do not match. */
void cm_rename(struct fw_nic *nic, struct cm_ep *ep);
/* Takes a free endpoint for a client, IDLE. NULL: quota or table are used up. */
struct cm_ep *cm_new(struct fw_nic *nic, uint32_t client, uint32_t eq);
/* Finds an endpoint by its name for peers. */
struct cm_ep *cm_find(struct fw_nic *nic, uint64_t local_id);
/* Finds a passive endpoint by its peer. */
struct cm_ep *cm_find_peer(struct fw_nic *nic, uint32_t peer_ip, uint64_t peer_id);
void cm_hash(struct fw_nic *nic, struct cm_ep *ep);
void cm_set_state(struct fw_nic *nic, struct cm_ep *ep, enum cm_state state);
/* Returns the buffer for the process's private data, zeroed when it is new: CM_DATA_BYTES. */
uint8_t *cm_tx_room(struct fw_nic *nic, struct cm_ep *ep);
void cm_tx_drop(struct fw_nic *nic, struct cm_ep *ep);
/*
 * Returns the buffer for the peer's private data of the next event, and sets rx_bytes. NULL: there
 * are no data, or no process, or the buffer holds data of an unfetched event.
 */
uint8_t *cm_rx_room(struct fw_nic *nic, struct cm_ep *ep, uint32_t bytes);
/* Frees the received private data. */
void cm_rx_free(struct fw_nic *nic, struct cm_ep *ep);
/* Makes it a listener; its port is its own (l4_port_listen()). */
void cm_listen(struct fw_nic *nic, struct cm_ep *ep);
/*
 * Finds the listener for a port of this shard. *shard: the shard of this NIC that has one; FW_NONE.
 */
struct cm_ep *cm_listener(struct fw_nic *nic, uint16_t space, uint16_t port, uint32_t *shard);
/* Ties a QP of the client to the endpoint: each is notified of the other's end. */
void cm_tie(struct fw_nic *nic, struct cm_ep *ep, uint32_t qpn);
/* Unties them. */
void cm_untie(struct fw_nic *nic, struct cm_ep *ep);
/* The connection has ended: moves its QP to ERR and notifies the process. */
void cm_closed(struct fw_nic *nic, struct cm_ep *ep);
/* Ends the connection for the process. */
void cm_disconnect(struct fw_nic *nic, struct cm_ep *ep);
/* The QP of an endpoint has left the states in which it works. */
void cm_qp_down(struct fw_nic *nic, struct fw_qp *qp);
/*
 * Destroys the endpoint for its process. False: it is a listener with more requests than units;
 * continue in a later turn, with nic->slices.resume as it is now (0 at first).
 */
bool cm_destroy(struct fw_nic *nic, struct cm_ep *ep);
/* Frees an endpoint without a process. */
void cm_free(struct fw_nic *nic, struct cm_ep *ep);
/* Lists an endpoint without a process by its state: it may be given up for another one. */
void cm_orphan(struct fw_nic *nic, struct cm_ep *ep);
bool cm_client_leave(struct fw_nic *nic, uint32_t client);
/* The address that it waits for is known, or (err, an errno) cannot be resolved. */
void cm_resolved(struct fw_nic *nic, struct cm_ep *ep, int err);
/* A next hop became known, or failed (neigh.c). */
void cm_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* A waiting endpoint looks up its next hop (neigh_wait.c). */
void cm_neigh_look(struct fw_nic *nic, struct fw_list *node);

/* ---- cm_event.c */
/* Reports an event to the process, if there is one. */
void cm_event(struct fw_nic *nic, struct cm_ep *ep, enum hw_cm_event_type type, uint32_t status);
/* Takes the oldest event of a queue. */
void cm_event_take(struct fw_nic *nic, struct fw_eq *eq, struct hw_resp_cm_event *event);
/* Takes the rest of its private data; 0, or ENOENT. */
int cm_event_rest(struct fw_nic *nic, struct cm_ep *ep, struct hw_resp_cm_rest *rest);
/* True if the process has not fetched the endpoint's request. */
bool cm_event_is_request(const struct cm_ep *ep);
/* The process will fetch none of its events. */
void cm_event_drop(struct fw_nic *nic, struct cm_ep *ep);
/* The endpoint's request waits at its listener no more. */
void cm_event_fetched(struct fw_nic *nic, struct cm_ep *ep);
/*
 * Moves its events, waiting ones included, to another event queue of the client. False: the units
 * ran out.
 */
bool cm_event_move(struct fw_nic *nic, struct cm_ep *ep, uint32_t eq);

/* ---- cm_rd_rx.c: a datagram of type CM, its CRC32C checked */
void cm_rd_rx(struct fw_nic *nic, const struct rdmap_seg *pkt);

/* ---- cm_rd.c, for cm_rd_rx.c */
void cm_rd_fire(struct fw_nic *nic, struct fw_timer *timer);
void cm_rd_send(struct fw_nic *nic, struct cm_ep *ep, enum wire_cm_type type);
/* Refuses a message that belongs to no endpoint. */
void cm_rd_refuse(struct fw_nic *nic, const struct rdmap_seg *pkt, const struct wire_cm *msg,
		  enum wire_cm_type type, uint16_t reason, uint32_t shard);
void cm_rd_established(struct fw_nic *nic, struct cm_ep *ep);
/* Keeps the place until no message for it can be in flight any more. */
void cm_rd_linger(struct fw_nic *nic, struct cm_ep *ep);

#endif /* WEFT_FW_CM_H */
