/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: messages that the NIC matches with receives. docs/tagged.md.
 *
 *	tag_ep.c	endpoints: open, query, close, flush; their turn
 *	tag_context.c	contexts: endpoints whose receives others take
 *	tag_rq.c	operations of the receive queue: receive, peek, claimed, cancel
 *	tag_posted.c	posted receives: made, withdrawn
 *	tag_rx.c	arriving Sends: matching, placement
 *	tag_whole.c	the usual case of that: a message of one packet meets its receive
 *	tag_late.c	requests to an endpoint that is not set up, for an earlier one
 *	tag_arrival.c	messages at the receiver: their states, pool, completion
 *	tag_share.c	shares of peers in the pool, the tables, the reads of an endpoint
 *	tag_rdv.c	rendezvous at the receiver: reads, replies
 *	tag_send.c	sends; open sends, which wait for the peer
 *	tag_peer.c	peers: what both ends agree on
 *	tag_rtr.c	announced receives: RTR, PUT, NACK, adaptation
 *	tag_source.c	open sends as sources of reads; kept inline data
 *	tag_match.c, tag_class.c	matching: tag_match.h
 *
 * Lower floors reach them by rdmap_up.h and host_up.h.
 */
#ifndef WEFT_FW_TAG_H
#define WEFT_FW_TAG_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/buddy.h"
#include "nic_fw/host/rq.h"
#include "nic_fw/host/wqe.h"
#include "nic_fw/rdmap/rdmap.h"
#include "nic_fw/tag/tag_match.h"
#include "nic_fw/tag/tag_nic.h"
#include "shared_defs/hw_tag.h"
#include "shared_defs/wire_tag.h"

enum {
	TAG_MAX_POSTEDS = 1 << 18,
	TAG_MAX_ARRIVALS = 1 << 18,
	TAG_SEND_BITS = 17, /* place of an open send in its handle, below its generation */
	TAG_MAX_SENDS = 1 << TAG_SEND_BITS,
	TAG_MAX_KEPT = 1 << 16,
	TAG_MAX_PEERS = 1 << 16,
	TAG_MAX_RTRS = 1 << 17,
	/* A message and a peer have one each, and one of their station. */
	TAG_MAX_SHARES = 2 * (TAG_MAX_ARRIVALS + TAG_MAX_PEERS),
	TAG_SHARE_HASH = 1 << 16,
	TAG_RTRS = 16,        /* announcements of one peer that are kept */
	TAG_POSTED_BITS = 18, /* place of a posted receive in its handle, below its generation */
	TAG_SINKS = 1 << (31 - TAG_POSTED_BITS),
	TAG_KEPT_BYTES = HW_MAX_INLINE_BYTES,
	TAG_BUCKETS = 1 << 17,
	TAG_CLAIM_BITS = 18, /* place of an arrival in the number of a claim, below its serial */
	/* Limits of an endpoint's part of a turn. */
	TAG_OPS_QUANTUM = 32,      /* operations of its receive queue */
	TAG_LOOK_QUANTUM = 256,    /* messages that a search looks at */
	TAG_READS = 32,            /* reads of its own under way */
	TAG_READERS_QUANTUM = 32,  /* peers that wait for a read are looked at */
	TAG_PEERS_LOOK = 4,        /* peers of a station, for one whose place another gets */
	TAG_REFUSED_BATCH = 16,    /* sends of a refused flow that become RTSs at a time */
	TAG_CLOSE_BYTES = 1 << 16, /* of records cleared for FW_SLICE_QP_UNITS */
	/* Limits of all endpoints in a turn. */
	TAG_EPS_QUANTUM = 8,        /* endpoints whose work goes on */
	TAG_TURN_OPS = 256,         /* operations of receive queues */
	TAG_TURN_LOOKS = 1024,      /* messages, or receives, that these look at */
	TAG_COPY_QUANTUM = 1 << 17, /* bytes copied out of pools */
	TAG_COPY_LEAST = 512,       /* that a copy counts as */
};
#define TAG_RECORDS_BYTES (UINT64_C(1) << 30)
/* Until replies that were held back are tried again. */
#define TAG_OWING_NS UINT64_C(100000)
/* How long an endpoint that ends waits for peers that take no reply. */
#define TAG_OWING_MAX_NS UINT64_C(1000000000)

enum tag_reply {
	TAG_REPLIED,
	TAG_REPLY_NO_MEMORY,
	TAG_REPLY_HELD_BACK, /* the peer has not taken earlier ones: rd_notice.c */
};

static_assert(TAG_MAX_POSTEDS == 1 << TAG_POSTED_BITS, "");
static_assert(TAG_MAX_ARRIVALS <= 1 << TAG_CLAIM_BITS, "");

struct tag_ep;

/* A peer's part of an endpoint, or a station's: of all endpoints of one IP address. */
enum tag_held {
	TAG_HELD_BYTES, /* of the pool */
	TAG_HELD_MSGS,  /* arrivals without a receive on arrival, and RTSs */
	TAG_HELD_READS, /* under way */
	TAG_HELD_RTRS,  /* of this peer, kept */
	TAG_HELD_PEERS, /* tag_peer */
	TAG_HELD_KINDS
};

struct tag_share {
	uint32_t hash_next;
	uint32_t refs;
	struct tag_share *station; /* NULL: it is a station's */
	struct tag_ep *ep;
	uint32_t ip, qpn;
	uint64_t held[TAG_HELD_KINDS];
	struct fw_list waiting; /* tag_arrival.node, WAITING */
	struct fw_list reader;  /* tag_ep.readers while some are waiting */
	struct fw_list peers;   /* a station's: tag_peer.station_node */
};

/* A posted receive. */
struct tag_posted {
	uint32_t pool_link;  /* the pool's, while it is free */
	uint16_t generation; /* of its handle; differs from that of the last announcement */
	bool announced;      /* to peer; false: or it is free, and only these three are valid */
	bool watched;        /* it would have been announced to peer, at since_ns */
	struct tag_recv match;
	struct fw_recv recv;
	uint64_t used;           /* MULTI: bytes given to messages */
	uint32_t min_free_bytes; /* MULTI */
	uint32_t refs;           /* messages that have it */
	uint32_t reported;       /* MULTI: completions of its messages */
	uint8_t flags;           /* HW_TAG_F_* */
	bool open;               /* it takes messages */
	bool posted;             /* it is in the matcher */
	struct tag_ep *ep;
	struct tag_peer *peer;
	struct fw_list peer_node; /* tag_peer.announced, tag_ep.given_back */
	/* In rd_session.tag_written or lost: its peer began to write, only a PUT completes it. */
	struct fw_list written;
	uint64_t since_ns;
	struct tag_send *canceling; /* the peer was requested to give it back; NULL */
	bool canceled;              /* MULTI: its cancellation is reported with its last message */
};

/* A message at its receiver. */
enum tag_arrival_state {
	TAG_EARLY,      /* before its turn: it has only memory in the pool */
	TAG_UNEXPECTED, /* in the matcher; it may still be arriving */
	TAG_CLAIMED,
	TAG_ARRIVING, /* it has a receive, and the rest of it is arriving */
	TAG_COPYING,  /* complete in the pool; to be copied to its receive */
	TAG_WAITING,  /* RTS with a receive: to be read */
	TAG_READING,
	TAG_OWING, /* its receive is complete; its sender must be notified */
	TAG_ARRIVAL_STATES
};

struct tag_arrival {
	uint32_t pool_link; /* the pool's, while it is free */
	uint32_t claim;     /* number while it is claimed; 0: it is not, or it is free */
	struct tag_msg match;
	/* tag_ep.in_state[state], except WAITING: share->waiting */
	struct fw_list node;
	struct tag_ep *ep;
	struct tag_share *share;   /* in which it is booked; NULL: it has met its receive at once */
	struct recv_msg *arriving; /* NULL: it is complete, or an RTS */
	struct tag_posted *recv;   /* its receive, NULL */
	uint64_t block;            /* place in the pool, BUDDY_NONE */
	uint64_t offset;           /* its place in the receive */
	uint64_t data;             /* as in the envelope, likewise the next four */
	uint32_t bytes;
	uint32_t stag;
	uint32_t handle; /* 0: the sender waits for nothing */
	uint8_t kind;
	uint8_t flags;
	uint8_t state;  /* tag_arrival_set_state() */
	uint8_t status; /* OWING: of the DONE */
	bool enveloped; /* the envelope has come: kind to handle are valid */
	bool solicited;
	bool discarded; /* it is dropped when all of it has come */
	uint32_t room;  /* bytes of it that its receive takes */
};

/* An operation of the receive queue, copied and checked. */
struct tag_op {
	struct fw_recv recv;
	struct tag_want want;
	uint32_t place;  /* in the queue */
	uint32_t number; /* hw_tag_rq_wqe.number */
	uint32_t min_free_bytes;
	uint8_t op; /* hw_tag_op */
	uint8_t flags;
	struct tag_posted *posted; /* RECV: made of it; NULL: not yet */
};

/* A send that the peer must end: RTS, SYNC. */
struct tag_send {
	uint32_t pool_link;       /* the pool's, while it is free */
	uint16_t generation;      /* differs from that of the context's last life */
	bool used;                /* false: it is free, and only these three are valid */
	uint32_t secret;          /* of this life: reads and DONEs must know it beside the handle */
	struct fw_list ep_node;   /* tag_ep.sends */
	struct fw_list peer_node; /* rd_session.tag_sends from its acknowledgement on */
	struct tag_ep *ep;
	uint64_t wr_id;
	uint32_t bytes;
	uint32_t dst_ip;
	uint32_t dst_qpn;
	uint32_t sq_end;
	uint32_t kept; /* in nic->tag.kept, FW_NONE */
	bool signaled;
	bool acked;   /* the peer has its envelope, and the send queue has retired it */
	bool done;    /* the peer has reported its end; status is valid */
	bool reading; /* a response to the peer's read is under way */
	bool source;  /* it may be read: sge or kept is valid */
	uint32_t
	    cancels; /* no send: handle of an announced receive that the peer shall give back */
	uint8_t status;
	uint8_t num_sge;
	struct hw_sge sge[HW_MAX_SGE];
};

/* An announced receive of a peer. */
struct tag_rtr {
	struct fw_list node; /* tag_peer.rtrs, in the order of their arrival */
	uint64_t tag;
	uint64_t ignore;
	uint32_t bytes;
	uint32_t stag;
	bool msg;
};

/* An endpoint that this one has exchanged messages with. */
struct tag_peer {
	struct fw_list ep_node; /* tag_ep.peers */
	struct tag_ep *ep;
	struct tag_share *share;
	struct fw_list station_node; /* tag_share.peers */
	uint32_t ip, qpn;
	uint32_t hash_next;     /* in its chain of nic->tag.peer_hash, index + 1 */
	uint32_t session, life; /* all below is of this life of this session */
	bool sent, taken;       /* the next two are valid */
	uint32_t sent_ssn;      /* of the last message to it that it may match */
	uint32_t taken_ssn;     /* of the last one of it that came */
	struct fw_list rtrs;
	struct fw_list announced; /* tag_posted.peer_node */
	uint32_t num_rtrs, num_announced, num_watched;
	/* Announcements whose outcome is known, and those of them that were used. */
	uint32_t outcomes, used;
	bool quiet; /* too few were used: outcomes are counted without announcing */
};

struct tag_ep {
	struct fw_qp *qp;
	bool open;
	bool low_reported;   /* POOL_LOW was raised, and there was not more free since */
	bool busy;           /* op is being carried out, or waits for the end of its search */
	uint32_t open_flags; /* HW_TAG_OPEN_F_* */
	uint32_t eager_bytes;
	/* The endpoint whose receives it takes: itself, or a context as long as it has messages. */
	struct tag_ep *rx;
	struct fw_list members;     /* a context's: tag_ep.member_node, those that live */
	struct fw_list member_node; /* in the order in which they were opened */
	uint32_t num_members;       /* endpoints that have it as rx, besides itself */
	struct tag_match match;     /* a member's is not used */
	struct tag_op op;
	struct fw_list in_state[TAG_ARRIVAL_STATES];
	uint32_t num_arrivals;
	uint32_t num_reading;
	struct fw_list readers; /* tag_share.reader, served in turn */
	uint32_t num_readers;   /* in that list */
	uint32_t readers_left;  /* to be looked at before nothing more can be read */
	uint32_t num_claimed;
	uint32_t claims; /* serial of the last claim */
	struct fw_list sends;
	uint32_t num_sends;
	struct fw_list work_node;    /* fw_client.tag_work */
	struct fw_timer owing_timer; /* replies were held back */
	uint64_t held_back_ns;       /* ending: since when all are; 0: they are not */
	/* pool */
	struct buddy pool;
	uint64_t records; /* place of its records in nic->tag.records, BUDDY_NONE */
	uint64_t cleared; /* closing: bytes of them that are cleared */
	uint32_t pool_stag;
	uint64_t pool_addr;
	uint64_t pool_low_bytes;
	/* for HW_CMD_TAG_QUERY */
	uint64_t matched_posted, matched_unexpected, rendezvous, pool_refused;
	uint64_t announced, announced_used;
	struct fw_list peers;
	struct tag_peer *last_peer; /* looked up; NULL */
	struct fw_list given_back;  /* receives to be ended, whose peer is gone */
	/* The request in this slot has had its part in announcements, and is fetched again. */
	bool settled;
	uint32_t settled_slot;
};

/* ---- tag_ep.c */
void tag_init(struct fw_nic *nic);
/* A stage of fw_poll(): goes on with work that a turn had no room for. Returns the work done. */
uint32_t tag_run(struct fw_nic *nic);
bool tag_pending(const struct fw_nic *nic);
/* The endpoint has work for a later turn. */
void tag_ep_work(struct fw_nic *nic, struct tag_ep *ep);
bool tag_ep_flush(struct fw_nic *nic, struct fw_qp *qp);
bool tag_ep_close(struct fw_nic *nic, struct fw_qp *qp);
/* True while its operations and messages go on. */
bool tag_ep_is_live(const struct tag_ep *ep);

/* ---- tag_context.c */
static inline bool tag_ep_is_context(const struct tag_ep *ep)
{
	return ep->open_flags & HW_TAG_OPEN_F_CONTEXT;
}
/* The context that a command names for a new endpoint; NULL: it may not take part. */
struct tag_ep *tag_context_find(struct fw_nic *nic, const struct fw_qp *qp, uint32_t context_qpn);
void tag_context_join(struct tag_ep *context, struct tag_ep *ep);
/* The endpoint has ended, and has no message any more: it takes its own receives from now on. */
void tag_context_leave(struct tag_ep *ep);
/* Where operations without a message complete: the endpoint itself, or a member of the context. */
struct tag_ep *tag_context_home(struct tag_ep *ep);
/* The context ends: all members end. False: units ran out, or they have messages. */
bool tag_context_flush(struct fw_nic *nic, struct tag_ep *context);

/* ---- tag_rq.c */
void tag_rq_doorbell(struct fw_nic *nic, struct fw_qp *qp);
/* Carries out operations within the limits of a turn. Returns how many; work is left if need be. */
uint32_t tag_rq_run(struct fw_nic *nic, struct tag_ep *ep);
/* Flushes operations that were not carried out. False: units ran out. */
bool tag_rq_flush(struct fw_nic *nic, struct tag_ep *ep);

/* ---- tag_posted.c */
/* Makes a receive of an operation; NULL: no context, or the share is used up. */
struct tag_posted *tag_posted_new(struct fw_nic *nic, struct tag_ep *ep, const struct tag_op *op);
/*
 * Gives a message of so many bytes the next part of the receive, from used on, and withdraws it
 * from the matcher if it takes no more. Returns the bytes that it has for the message.
 */
uint32_t tag_posted_reserve(struct tag_posted *posted, uint32_t bytes);
/* Completions that are due when a message has left its receive. */
struct tag_report {
	bool due;          /* its completion */
	bool apart;        /* another one behind it, which releases the buffer */
	bool canceled;     /* that one says that the receive was cancelled */
	uint32_t reported; /* and how many there were before, of a context */
};
/*
 * Takes a message off its receive, which ends with the last one. A buffer of many messages goes
 * back with the last of them.
 */
struct tag_report tag_posted_release(struct fw_nic *nic, struct tag_posted *posted,
				     struct hw_cqe *cqe);
/* Writes it, for a message of this endpoint. Comes last. */
void tag_posted_report(struct fw_nic *nic, struct tag_ep *ep, struct hw_cqe *cqe,
		       const struct tag_report *report);
/* Withdraws a receive: it completes now, or behind its messages. */
void tag_posted_withdraw(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted,
			 enum hw_status status, enum hw_vendor_err vendor_err);
/* Withdraws all. False: units ran out. */
bool tag_posted_flush(struct fw_nic *nic, struct tag_ep *ep);
/* Completes an operation without a message. */
void tag_op_fail(struct fw_nic *nic, struct tag_ep *ep, const struct tag_op *op,
		 enum hw_status status, enum hw_vendor_err vendor_err);
/* Writes a completion of the endpoint, unless its queue pair is in RESET. Comes last. */
void tag_ep_complete(struct fw_nic *nic, struct tag_ep *ep, const struct hw_cqe *cqe);

/* ---- tag_rx.c */
enum rdmap_result tag_rx_place(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
			       bool in_order, struct rdmap_error *error);
enum rdmap_result tag_rx_finish(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				const uint8_t *held, struct rdmap_error *error);

/* ---- tag_late.c */
/* rdmap_up.tag_is_late */
bool tag_late_is(const struct fw_qp *qp, const struct rdmap_seg *pkt);

/* rdmap_up.tag_whole */
bool tag_whole_rx(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt);

void tag_arrival_set_envelope(struct tag_arrival *a, const struct rdmap_seg *pkt,
			      const struct wire_tag *env);

/* ---- tag_peer.c */
/* Returns a peer in the present life of its session; NULL: not known. */
struct tag_peer *tag_peer_find(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn);
/* The same; makes one. NULL: no session yet, or no memory. */
struct tag_peer *tag_peer_get(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn);
/* A message of a peer has come in its turn. */
void tag_peer_took(struct fw_nic *nic, struct tag_ep *ep, const struct rdmap_seg *pkt);
bool tag_peer_flush(struct fw_nic *nic, struct tag_ep *ep);
/* host_up.tag_peer_down */
void tag_peer_gone(struct fw_nic *nic, struct fw_list *sends, struct fw_list *written);
bool tag_peer_slice_pending(const struct fw_nic *nic);
void tag_peer_slice(struct fw_nic *nic);

/* ---- tag_rtr.c */
/* Announces a receive that was just posted, if it is worth it; may: no earlier one forbids it. */
void tag_rtr_post(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted, bool may);
/* A message takes the receive, which is still posted. */
void tag_rtr_matched(struct fw_nic *nic, const struct tag_arrival *a, struct tag_posted *posted);
/* The receive ends without a message. */
void tag_rtr_unpost(struct fw_nic *nic, struct tag_posted *posted);
enum tag_rtr_cancel {
	TAG_RTR_FREE,  /* it is not announced: cancel it now */
	TAG_RTR_ASKED, /* its peer decides */
	TAG_RTR_RETRY, /* no memory now */
};
enum tag_rtr_cancel tag_rtr_cancel(struct fw_nic *nic, struct tag_ep *ep,
				   struct tag_posted *posted);
/* The peer that got a request is gone. */
void tag_rtr_cancel_over(struct fw_nic *nic, struct tag_ep *ep, uint32_t handle);
enum rdmap_result tag_rtr_put(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			      const struct wire_tag *env);
void tag_rtr_nack(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		  const struct wire_tag *env);
/* rdmap_up.tag_write */
enum rdmap_result tag_rtr_write(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				bool in_order, struct rdmap_error *error);
void tag_rtr_control_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status);
/* A peer announces a receive, or withdraws it. */
enum rdmap_result tag_rtr_rx(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     const struct wire_tag *env);
enum tag_rtr_use {
	TAG_RTR_NONE,  /* send it as usual */
	TAG_RTR_PUT,   /* it is written to an announced receive; the request is the PUT */
	TAG_RTR_LATER, /* no memory now */
};
/* A message is about to be sent: it takes the announced receive that it will match. */
enum tag_rtr_use tag_rtr_send(struct fw_nic *nic, struct fw_wqe *wqe, bool is_long);
void tag_rtr_write_ended(struct fw_nic *nic, const struct fw_wqe *write, enum hw_status status);
/*
 * The session has ended: nothing is announced any more, either way. Receives that were to be
 * cancelled end in a later turn, unless a message takes them before.
 */
void tag_rtr_forget(struct fw_nic *nic, struct tag_peer *peer);
/* Ends them. */
void tag_rtr_run(struct fw_nic *nic, struct tag_ep *ep);
/* True if a peer has begun to write to the receive. */
bool tag_rtr_is_written(const struct tag_posted *posted);
/*
 * A message meets a receive that tag_rtr_is_written(): its writer is gone. The receive takes no
 * message any more, and ends in a later turn (REM_ABORT_ERR).
 */
void tag_rtr_lose(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted);
/* The session of these receives has ended: each ends, in units. */
void tag_rtr_peer_down(struct fw_nic *nic, struct fw_list *written);
void tag_rtr_slice(struct fw_nic *nic);

/* ---- tag_share.c */
/* Returns the peer's share, with a reference that tag_share_put() ends. NULL: no memory. */
struct tag_share *tag_share_get(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn);
void tag_share_put(struct fw_nic *nic, struct tag_share *share);
/* True if a peer may take n more of a kind of which so many are free. */
bool tag_share_may(const struct tag_share *share, enum tag_held kind, uint64_t n, uint64_t free);
void tag_share_take(struct tag_share *share, enum tag_held kind, uint64_t n);
void tag_share_give(struct tag_share *share, enum tag_held kind, uint64_t n);
/* How many more elements of a pool a process may take that holds so many, and its user. */
uint64_t tag_share_free(const struct fw_pool *pool, uint32_t process_held, uint32_t user_held);

/* ---- tag_arrival.c */
struct tag_arrival *tag_arrival_new(struct fw_nic *nic, struct tag_ep *ep);
void tag_arrival_set_state(struct tag_arrival *a, enum tag_arrival_state state);
/* Frees it with its memory in the pool; it has no receive. */
void tag_arrival_free(struct fw_nic *nic, struct tag_arrival *a);
/* Books it in the share of its peer. False: the peer is held back. */
bool tag_arrival_book(struct fw_nic *nic, struct tag_arrival *a, const struct rdmap_seg *pkt);
/* Takes memory of the pool for it, which is booked. False: there is none for its peer. */
bool tag_arrival_store(struct fw_nic *nic, struct tag_arrival *a, uint32_t bytes);
/*
 * Gives it a receive, and goes on as its kind demands, which may complete the receive. True: the
 * receive takes further messages.
 */
bool tag_arrival_take(struct fw_nic *nic, struct tag_arrival *a, struct tag_posted *posted);
/* It is all there: copies it to its receive now or in a later turn. */
void tag_arrival_copy(struct fw_nic *nic, struct tag_arrival *a);
/* Continues with copies that waited. */
void tag_arrival_copy_run(struct fw_nic *nic, struct tag_ep *ep);
/* Its receive is complete; notifies its sender if that waits, and frees it. */
void tag_arrival_complete(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status,
			  enum hw_vendor_err vendor_err);
/* A message without receive is dropped: its sender is notified with this status. */
void tag_arrival_drop(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status);
/* rdmap_up.tag_abort */
void tag_arrival_abort(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status);
/* Fills a completion with the message's envelope. */
void tag_arrival_cqe(const struct tag_arrival *a, struct hw_cqe *cqe);
/* Ends messages that have not to do with a packet or a request any more. False: no units. */
bool tag_arrival_flush(struct fw_nic *nic, struct tag_ep *ep);

/* ---- tag_rdv.c */
/* Reads the message of a matched RTS, now or when fewer reads are under way. */
void tag_rdv_start(struct fw_nic *nic, struct tag_arrival *a);
void tag_rdv_run(struct fw_nic *nic, struct tag_ep *ep);
/* The read has ended. */
void tag_rdv_read_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
			enum hw_vendor_err vendor_err);
/* Notifies the sender of a message, and frees the message; if need be in a later turn. */
void tag_rdv_reply(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status);
/* A reply was delivered, or its queue pair has ended. */
void tag_rdv_reply_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status);
/* Sends an envelope in the class of responses, of like's kind. */
enum tag_reply tag_rdv_send_reply(struct fw_nic *nic, struct fw_qp *from,
				  const struct fw_wqe *like);
/* Sends replies that waited. TAG_REPLIED: none is left; else why none was sent. */
enum tag_reply tag_rdv_reply_run(struct fw_nic *nic, struct tag_ep *ep);
/* The same for an endpoint that ends: those that no peer takes go in the end. False: some are left.
 */
bool tag_rdv_reply_flush(struct fw_nic *nic, struct tag_ep *ep);
/* Timer: up/timer_fires.c. */
void tag_rdv_owing_fire(struct fw_nic *nic, struct fw_timer *timer);

/* ---- tag_send.c */
bool tag_send_fetched(struct fw_nic *nic, struct fw_wqe *wqe);
struct tag_send *tag_send_new(struct fw_nic *nic, struct tag_ep *ep);
void tag_send_free(struct fw_nic *nic, struct tag_send *send);
void tag_send_unfetch(struct fw_nic *nic, struct fw_wqe *wqe);
bool tag_send_sent(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
		   enum hw_vendor_err vendor_err);
bool tag_send_refused(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *wqe);
/* The peer reports the end of a send. */
void tag_send_done(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		   const struct wire_tag *env);
/* The session of these sends has ended: each ends, in units. */
void tag_send_peer_down(struct fw_nic *nic, struct fw_list *sends);
void tag_send_slice(struct fw_nic *nic);
bool tag_send_flush(struct fw_nic *nic, struct tag_ep *ep);
/* Returns the open send that a handle names; NULL: none of this peer. */
struct tag_send *tag_send_find(struct fw_nic *nic, const struct fw_qp *qp, uint32_t src_ip,
			       uint32_t src_qpn, uint32_t handle);
uint32_t tag_send_handle(const struct fw_nic *nic, const struct tag_send *send);

/* ---- tag_source.c */
enum rdmap_result tag_source_read(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				  const struct wire_read_request *req, struct rdmap_error *error);
/* Keeps what a peer will read of an eager send that becomes an RTS. False: no memory. */
bool tag_source_keep(struct fw_nic *nic, struct tag_send *send, const struct fw_wqe *wqe);
enum hw_vendor_err tag_source_gather(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset,
				     uint32_t bytes, struct fw_tx_frame *frame);
/* A response has ended. */
void tag_source_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status);
/* host_up.tag_ended */
void tag_msg_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
		   enum hw_vendor_err vendor_err);

#endif /* WEFT_FW_TAG_H */
