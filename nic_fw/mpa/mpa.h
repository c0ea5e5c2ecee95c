/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA: RDMAP messages on a TCP connection.
 *
 *	mpa_conn.c	the connection from SYN to FPDUs: request, reply, reject, the first frame
 *	mpa_setup.c	contents of request and reply, and the parameters both ends agree on
 *	mpa_frame.c	the set-up frames, read and written
 *	mpa_fpdu.h	sizes of FPDUs and markers
 *	mpa_cut.h	cutting messages into segments
 *	mpa_tx.c	outgoing FPDUs: cutting, markers, CRC
 *	mpa_run.c	runs of FPDUs: cutting, headers
 *	mpa_rx.c	incoming FPDUs: found in segments, checked
 *	mpa_ddp.c	incoming DDP segments, passed to RDMAP
 *	mpa_rdmap.c	a queue pair's messages on its connection: llp.h, completions, the end
 *	mpa_term.c	Terminates, out and in
 *
 * Above it are cm_tcp.c (set-up) and llp.h (messages), beneath it tcp.h. A connection belongs to an
 * endpoint of the connection manager from its beginning, and to a queue pair from mpa_attach()
 * until either is gone. RFC 5044, 6581, 5040, 5041, 7306.
 */
#ifndef WEFT_FW_MPA_H
#define WEFT_FW_MPA_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/share.h"
#include "nic_fw/tcp/tcp.h"
#include "nic_fw/tcp/tcp_flow.h"
#include "nic_fw/tcp/tcp_rest.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/hw_cm.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/wire_mpa.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;
struct cm_ep;
struct rdmap_seg;
struct fw_rx_frame;
struct rdmap_error;

enum mpa_state {
	MPA_FREE = 0,
	MPA_CONNECTING, /* active: TCP's handshake */
	MPA_REQ_SENT,   /* active: the reply */
	MPA_REP_RCVD,   /* active: the process's queue pair */
	MPA_REQ_WAIT,   /* passive: the request */
	MPA_REQ_RCVD,   /* passive: the process's accept or reject */
	MPA_RTR_WAIT,   /* passive, accepted: the first FPDU, before which nothing is sent */
	MPA_FPDU,       /* messages flow */
	MPA_TERM_SENT,  /* a Terminate and FIN were sent: incoming data are discarded */
	MPA_CLOSING,    /* FIN was sent or received */
	MPA_STATES
};

enum {
	MPA_MAX_CONNS = 4096, /* of a shard */
	MPA_MAX_SEGS = 1 << 16,
	MPA_MAX_PARTIALS = 128, /* incomplete FPDUs, of all connections */
	MPA_PARTIAL_BYTES = 65548,
	MPA_TERM_MAX = 80, /* control word, and the quoted headers of the faulty segment */
};

/* Content of a TCP segment in FPDU mode: one FPDU. */
enum mpa_seg_kind {
	MPA_SEG_DATA, /* of a message */
	MPA_SEG_IMM,  /* immediate data behind a Write */
	MPA_SEG_RTR,  /* the first frame of a peer-to-peer connection */
	MPA_SEG_TERM, /* our Terminate */
};

struct mpa_seg {
	struct tcp_seg seg;
	struct fw_list node; /* mpa_conn.segs */
	struct fw_wqe *msg;  /* DATA, IMM; NULL: it has failed, and its memory is the process's */
	uint32_t at;         /* position in the stream, modulo 2^32 */
	uint32_t offset;     /* in the message's payload */
	uint32_t bytes;      /* likewise */
	uint16_t ulpdu_bytes;
	uint8_t kind; /* mpa_seg_kind */
};

/* An incomplete FPDU, its markers removed. */
struct mpa_partial {
	struct fw_list node; /* nic->mpa.held, while it waits for more */
	struct mpa_conn *conn;
	uint64_t began_ns;
	uint32_t at;     /* its position in the stream, modulo 2^32 */
	uint32_t taken;  /* bytes of the stream in it */
	uint32_t filled; /* bytes in buf */
	uint32_t plain;  /* expected; 0: its length has not come */
	uint32_t crc;    /* running */
	bool trusted;    /* all of it came in frames with FW_RX_CRC_OK */
	bool bad_marker;
	uint8_t station; /* charged for it: the peer's */
	uint8_t buf[MPA_PARTIAL_BYTES];
};

/* State that a connection needs until its set-up frame is acknowledged and the peer's has come. */
enum {
	MPA_SETUP_BYTES = sizeof(struct wire_mpa_setup) + WIRE_MPA_MAX_PRIVATE,
	MPA_SETUP_SEGS = 16, /* segments of a frame in flight */
};
struct mpa_setup_seg {
	struct tcp_seg tcp;
	uint16_t at; /* its place in the frame */
	bool used;
};
struct mpa_setup {
	struct mpa_setup_seg seg[MPA_SETUP_SEGS];
	uint16_t tx_bytes; /* of the frame to send */
	uint16_t tx_next;  /* bytes of it passed to TCP */
	uint16_t tx_acked;
	uint16_t rx_bytes; /* bytes of the peer's frame so far */
	uint8_t tx[MPA_SETUP_BYTES];
	uint8_t rx[MPA_SETUP_BYTES];
};

/* Parameters that the two ends agreed on. RFC 5044 7.1, RFC 6581 9. */
struct mpa_params {
	uint8_t revision : 2;
	bool crc : 1;
	bool tx_markers : 1; /* the peer requires markers */
	bool rx_markers : 1; /* this end requires markers */
	bool enhanced : 1;   /* IRD and ORD were exchanged */
	bool peer_to_peer : 1;
	uint8_t rtr;  /* WIRE_MPA_RTR_* that the first frame may be, or is */
	uint16_t ird; /* reads of the peer that this end answers at a time */
	uint16_t ord; /* reads that this end may have under way */
};

struct mpa_conn {
	struct tcp_flow *flow; /* NULL: ended, or at rest: mpa_flow() */
	struct fw_qp *qp;      /* NULL: not attached, or gone */
	uint32_t rest;         /* its name while it rests, else 0 */
	uint32_t ep;           /* number of the endpoint; FW_NONE: gone */
	struct mpa_params param;
	uint8_t state;     /* mpa_state; changed by mpa_set_state() only */
	uint8_t fault_err; /* hw_vendor_err */

	/* Sending, by mpa_tx.c. */
	bool rtr_due : 1;     /* the first frame is due */
	bool term_due : 1;    /* a Terminate is due */
	bool faulty : 1;      /* memory under an FPDU was gone: only a Terminate is sent any more */
	bool broken : 1;      /* a segment cannot be written: the stream ends here */
	bool local_error : 1; /* of our own request: the peer is notified of that */
	bool retry_due : 1;   /* its timer in nic->mpa.retries is set */
	/* Receiving, by mpa_rx.c. */
	bool rtr_answer : 1; /* the answer to our first frame, a Read, is awaited */
	/* Set-up. */
	bool asked : 1;    /* passive, without a request: ep is the listener's */
	bool fallback : 1; /* active: a request of revision 2 stayed without an answer */

	uint16_t options;   /* HW_MPA_* of this end */
	uint16_t port;      /* local port, held in the table of ports */
	uint8_t term_bytes; /* of mpa_term() */
	bool rx_write_done; /* the latest Write is complete; no bit, each segment sets it */

	uint32_t tx_bytes;   /* of the stream in FPDU mode, markers counted; modulo 2^32 */
	uint32_t tx_unacked; /* segments of it */
	uint32_t rx_bytes;   /* likewise, taken */
	uint32_t rx_msn_read, rx_msn_term, rx_msn_atomic; /* last MSN on QN 1, 2, 3 */
	uint32_t tx_msn_read, tx_msn_atomic;
	uint32_t rx_write_bytes; /* bytes of the latest Write */
	struct share_owner share;
	union {
		/* While it is awake: mpa_rdmap_init_conn(). */
		struct {
			struct fw_list out;          /* fw_wqe.flow_node: messages to cut */
			struct fw_list segs;         /* mpa_seg.node: not acknowledged, in order */
			struct mpa_partial *partial; /* an incomplete FPDU, NULL */
			struct mpa_setup *setup;     /* NULL: finished */
			struct fw_wqe *fault_msg;    /* message whose memory is gone, NULL */
			/*
			 * Passive, its request incomplete: in tcp_listener.asking. Later, with an
			 * error that mpa_run() handles at the end of the turn: in nic->mpa.faults.
			 */
			struct fw_list node;
			struct fw_timer timer; /* set-up; the end */
		};
		struct tcp_rest_lent lent; /* while it rests */
	};
};
static_assert(sizeof(struct mpa_conn) <= 176, "one for each connection: docs/scaling.md");

/* A set-up frame as it is read, or to be written. */
struct mpa_frame {
	bool reply;
	bool reject;
	bool markers;
	bool crc;
	uint8_t revision;
	bool enhanced; /* the fields below are valid */
	bool peer_to_peer;
	uint8_t rtr;         /* WIRE_MPA_RTR_*; 0 without peer_to_peer */
	uint16_t ird, ord;   /* or WIRE_MPA_DEPTH_NONE */
	const uint8_t *data; /* the process's private data; within the frame that was read */
	uint32_t data_bytes;
};

/* ---- mpa_frame.c */

/* dst: MPA_SETUP_BYTES. Returns the frame's length. */
uint32_t mpa_frame_write(uint8_t *dst, const struct mpa_frame *frame);
/*
 * Returns the length of the frame that begins here. 0: not known yet; negative: it is no such
 * frame.
 */
int mpa_frame_bytes(const uint8_t *src, uint32_t bytes, bool reply);
/*
 * Reads a complete frame. 0; EPROTO: it can only be rejected; EOPNOTSUPP: it cannot be answered at
 * all.
 */
int mpa_frame_read(const uint8_t *src, bool reply, struct mpa_frame *frame);

/* ---- mpa_conn.c: commands of the endpoint */

/* Makes a connection for the endpoint, whose param, tx_data and peer are filled. 0 or an errno. */
int mpa_connect(struct fw_nic *nic, struct cm_ep *ep);
int mpa_listen(struct fw_nic *nic, struct cm_ep *ep);
/* Resets connections without a request, of a listener that is ending. False: units ran out. */
bool mpa_end_asking(struct fw_nic *nic, struct cm_ep *ep);
/* Ends the listener, which has no such connections any more. */
void mpa_unlisten(struct fw_nic *nic, struct cm_ep *ep);
/*
 * Gives the connection to the queue pair (state RTS, transport TCP). Passive: sends the reply;
 * active: FPDUs may be sent. 0 or an errno.
 */
int mpa_attach(struct fw_nic *nic, struct mpa_conn *conn, struct fw_qp *qp);
/*
 * Takes data that came behind the peer's set-up frame, when the endpoint is in its new state; conn
 * may be NULL. Must be the caller's last step: a wrong FPDU ends the connection.
 */
void mpa_take_held(struct fw_nic *nic, struct mpa_conn *conn);
/* Passive: rejects with the endpoint's tx_data, and closes. The endpoint is detached. */
void mpa_reject(struct fw_nic *nic, struct mpa_conn *conn);
/* Closes after all queued data. */
void mpa_disconnect(struct fw_nic *nic, struct mpa_conn *conn);
/*
 * Resets the connection, and notifies the endpoint and the queue pair. conn is invalid on return.
 */
void mpa_abort(struct fw_nic *nic, struct mpa_conn *conn);
/* The same, without notifying the endpoint, which is detached. */
void mpa_drop(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_set_state(struct fw_nic *nic, struct mpa_conn *conn, enum mpa_state state);
/*
 * Passive, in MPA_RTR_WAIT: the peer's first FPDU was accepted; messages may be sent from now on.
 */
void mpa_rx_first(struct fw_nic *nic, struct mpa_conn *conn);
extern const struct tcp_ops mpa_tcp_ops;

/* ---- mpa_conn.c: results of the peer's set-up frame */

/* Passive; false: no endpoint takes the request, and the connection is gone. */
bool mpa_conn_requested(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
			uint32_t bytes);
void mpa_conn_replied(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		      uint32_t bytes);
void mpa_conn_rejected(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		       uint32_t bytes);
/* Ends it: by a reset, or (told) after the Terminate that was written. */
void mpa_conn_garbled(struct fw_nic *nic, struct mpa_conn *conn, bool told);
/* Our frame, a reply, is acknowledged. */
void mpa_conn_heard(struct fw_nic *nic, struct mpa_conn *conn);
/* Connects again, with revision 1. */
void mpa_conn_fall_back(struct fw_nic *nic, struct mpa_conn *conn);

/* ---- mpa_setup.c */

/* Writes the request; writes the reply. */
void mpa_setup_ask(struct mpa_conn *conn, const struct cm_ep *ep);
void mpa_setup_answer(struct mpa_conn *conn, const struct cm_ep *ep, bool reject);
/* Frees the memory of a finished set-up. */
void mpa_setup_done(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_setup_free(struct fw_nic *nic, struct mpa_conn *conn);
/* tcp_ops during set-up. */
bool mpa_setup_owns(const struct mpa_conn *conn, const struct tcp_seg *seg);
bool mpa_setup_pending(const struct mpa_conn *conn);
struct tcp_seg *mpa_setup_next(struct mpa_conn *conn, uint32_t max);
int mpa_setup_fill(struct mpa_conn *conn, const struct tcp_seg *seg, uint32_t from, uint32_t bytes,
		   struct fw_tx_frame *frame);
void mpa_setup_acked(struct fw_nic *nic, struct mpa_conn *conn, struct tcp_seg *seg, bool ok);
uint32_t mpa_setup_receive(struct fw_nic *nic, struct mpa_conn *conn,
			   const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);

/* ---- cm_tcp.c: reports on an endpoint's connection */

/* Returns an endpoint for a request to a listener, or NULL (reset). */
struct cm_ep *cm_tcp_request(struct fw_nic *nic, struct cm_ep *listener, struct mpa_conn *conn,
			     const uint8_t *data, uint32_t bytes);
/* Active: the peer accepted (its private data). */
void cm_tcp_accepted(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes);
void cm_tcp_rejected(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes);
/* Active: the peer's answer is malformed. ep->mpa is invalid on return. */
void cm_tcp_garbled(struct fw_nic *nic, struct cm_ep *ep);
/* Passive: messages may be sent. */
void cm_tcp_established(struct fw_nic *nic, struct cm_ep *ep);
/* Ended, or never established. ep->mpa is invalid on return. */
void cm_tcp_ended(struct fw_nic *nic, struct cm_ep *ep, enum tcp_end why);

/* ---- mpa_tx.c, mpa_rx.c: tcp_ops of a connection in MPA_RTR_WAIT and MPA_FPDU */

struct tcp_seg *mpa_tx_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max);
int mpa_tx_fill(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg, uint32_t from,
		uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset);
void mpa_tx_acked(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok);
void mpa_tx_unreadable(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg);
void mpa_rx_put(struct fw_nic *nic, struct mpa_partial *partial);
uint32_t mpa_rx_receive(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes);
bool mpa_rx_run(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		uint32_t offset, uint32_t bytes);
/* Active, peer-to-peer: sends the first FPDU, of the kind that param.rtr names. */
void mpa_tx_rtr(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_rx_early(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		  uint32_t offset, uint32_t bytes, uint32_t ahead);

/* ---- mpa_run.c: tcp_ops.next_run; headers of runs without options of TCP, and with timestamps */

uint32_t mpa_run_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max, uint32_t most,
		      struct fw_tx_frame *frame, uint32_t hdr_offset, struct fw_list *segs);
extern const struct eth_run_kind mpa_run_kind, mpa_run_ts_kind;

static inline struct mpa_conn *mpa_of(const struct tcp_flow *flow)
{
	return flow->ctx;
}

/* Returns the flow, which is awake; NULL: ended. */
static inline struct tcp_flow *mpa_flow(struct fw_nic *nic, const struct mpa_conn *conn)
{
	if (__builtin_expect(conn->rest, 0))
		return tcp_wake(nic, conn->rest);
	return conn->flow;
}

static inline struct mpa_seg *mpa_seg_of(struct tcp_seg *seg)
{
	return FW_CONTAINER(seg, struct mpa_seg, seg);
}

/* Returns our Terminate's content; memory that only connections which sent one have touched. */
uint8_t *mpa_term(const struct fw_nic *nic, const struct mpa_conn *conn);

/* ---- mpa_ddp.c */

/*
 * Receives the ULPDU [offset, offset + bytes) of an FPDU in its turn; its DDP header lies
 * contiguous in seg[0]. False: there is no memory now for what it requests, or its process is
 * ending; nothing was changed.
 */
bool mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		uint32_t offset, uint32_t bytes);
/*
 * The same of a run of FPDUs of one message, whose payload ends the frame before their CRC32Cs.
 * False: nothing was done, they are received one by one.
 */
bool mpa_ddp_rx_run(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		    uint32_t offset, uint32_t bytes);
/* The same before its turn: changes nothing but memory that its message owns. */
void mpa_ddp_early(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		   uint32_t offset, uint32_t bytes);

/* ---- mpa_rdmap.c: mpa_llp_ops, and the queue pair's end of a connection */

/* Initializes what a connection has while it is awake. */
void mpa_rdmap_init_conn(struct mpa_conn *conn);
/* The queue pair has its connection: sends queued messages. */
void mpa_rdmap_attached(struct fw_nic *nic, struct mpa_conn *conn);
bool mpa_rdmap_send(struct fw_nic *nic, struct fw_wqe *msg);
/*
 * The stream has ended, or the connection is given up: moves the queue pair, if it still exists, to
 * ERR, with an event if the end was an error. Must run before a connection is freed.
 */
void mpa_rdmap_ended(struct fw_nic *nic, struct mpa_conn *conn, enum tcp_end why);

/* All segments of the message are acknowledged, or (not ok) never will be. */
void mpa_rdmap_acked(struct fw_nic *nic, struct fw_wqe *msg, bool ok);
/* The peer could not carry out this request; earlier requests were carried out. */
void mpa_rdmap_terminated(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status);
/* Memory under the next data to send is gone. */
void mpa_rdmap_fault(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg,
		     enum hw_vendor_err err);
/* A segment cannot be written, or not again: memory of msg (NULL: it has failed) is gone. */
void mpa_rdmap_broken(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg);
/* Data were not taken, or no segment was made, for lack of memory: schedules a retry. */
void mpa_rdmap_starved(struct fw_nic *nic, struct mpa_conn *conn);
/* tcp_ops.rest: not NULL with nothing under way, in a state without a time limit; tcp_ops.woken. */
struct tcp_rest_lent *mpa_rdmap_rest(struct fw_nic *nic, struct tcp_flow *flow, uint32_t number);
void mpa_rdmap_woken(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_rest_lent *lent);
/* Handles faults found while segments were made; runs in each turn after tcp_tx_run(). */
void mpa_run(struct fw_nic *nic);

/* ---- mpa_term.c */

/*
 * An error of the peer, or ours while answering: sends Terminate and FIN; the QP goes to ERR. pkt:
 * the faulty segment (ddp_offset, ulpdu_bytes, opcode), NULL: none. A stream that is ending already
 * is left alone.
 */
void mpa_terminate(struct fw_nic *nic, struct mpa_conn *conn, const struct rdmap_seg *pkt,
		   const struct rdmap_error *error);
/* Receives the peer's Terminate. */
void mpa_term_rx(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *payload, uint32_t bytes);

/* Timers: up/timer_fires.c. */
void mpa_rdmap_retry_fire(struct fw_nic *nic, struct fw_timer *timer);
void mpa_conn_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_MPA_H */
