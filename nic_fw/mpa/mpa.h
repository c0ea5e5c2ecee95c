/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA: RDMAP messages on a TCP connection.
 *
 * mpa_conn.c	the connection from SYN to FPDUs: request, reply, reject, the first frame
 * mpa_setup.c	what is asked and answered, and what both ends agree on
 * mpa_frame.c	the set-up frames, read and written
 * mpa_fpdu.h	how many bytes FPDUs and markers take
 * mpa_tx.c	FPDUs out: cut, markers, CRC
 * mpa_rx.c	FPDUs in: found again in segments, checked
 * mpa_ddp.c	DDP segments in, given to RDMAP
 * mpa_rdmap.c	a queue pair's messages on its connection: llp.h, completions, the end
 * mpa_term.c	Terminates, out and in
 *
 * Above it cm_tcp.c (set-up) and llp.h (messages), beneath it tcp.h. A connection belongs to an
 * endpoint of the connection manager from its beginning, and to a queue pair from mpa_attach()
 * until either is gone. RFC 5044, 6581, 5040, 5041, 7306.
 */
#ifndef WEFT_FW_MPA_H
#define WEFT_FW_MPA_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/share.h"
#include "nic_fw/tcp/tcp.h"
#include "nic_fw/tcp/tcp_flow.h"
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
	MPA_REP_RCVD,   /* active: the process: its queue pair */
	MPA_REQ_WAIT,   /* passive: the request */
	MPA_REQ_RCVD,   /* passive: the process: accept or reject */
	MPA_RTR_WAIT,   /* passive: accepted; the first FPDU: nothing is sent before it */
	MPA_FPDU,       /* messages */
	MPA_TERM_SENT,  /* a Terminate is on its way, FIN behind it: what comes is thrown away */
	MPA_CLOSING,    /* FIN is on its way, or the peer's has come */
	MPA_STATES
};

enum {
	MPA_MAX_CONNS = 4096, /* of a shard */
	MPA_MAX_SEGS = 1 << 16,
	MPA_MAX_PARTIALS = 128, /* FPDUs that have begun, of all connections */
	MPA_PARTIAL_BYTES = 65548,
	MPA_TERM_MAX = 80, /* control word, and what is quoted of the segment at fault */
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
	struct fw_wqe *msg;  /* DATA, IMM; NULL: it has failed, and its memory is not ours */
	uint32_t at;         /* position in the stream, modulo 2^32 */
	uint32_t offset;     /* in the message's payload */
	uint32_t bytes;      /* likewise */
	uint16_t ulpdu_bytes;
	uint8_t kind; /* mpa_seg_kind */
};

/* An FPDU that has begun, its markers taken out. */
struct mpa_partial {
	struct fw_list node; /* nic->mpa.held, while it waits for more */
	struct mpa_conn *conn;
	uint64_t began_ns;
	uint32_t at;     /* its position in the stream, modulo 2^32 */
	uint32_t taken;  /* bytes of the stream */
	uint32_t filled; /* bytes in buf */
	uint32_t plain;  /* that it will have; 0: its length has not come */
	uint32_t crc;    /* running */
	bool trusted;    /* all of it came in frames with FW_RX_CRC_OK */
	bool bad_marker;
	uint8_t buf[MPA_PARTIAL_BYTES];
};

/* State that a connection needs until its set-up frame is acknowledged and the peer's has come. */
enum {
	MPA_SETUP_BYTES = sizeof(struct wire_mpa_setup) + WIRE_MPA_MAX_PRIVATE,
	MPA_SETUP_SEGS = 16, /* of a frame, in flight */
};
struct mpa_setup_seg {
	struct tcp_seg tcp;
	uint16_t at; /* its place in the frame */
	bool used;
};
struct mpa_setup {
	struct mpa_setup_seg seg[MPA_SETUP_SEGS];
	uint16_t tx_bytes; /* of the frame to send */
	uint16_t tx_next;  /* of it, given to TCP */
	uint16_t tx_acked;
	uint16_t rx_bytes; /* of the peer's, so far */
	uint8_t tx[MPA_SETUP_BYTES];
	uint8_t rx[MPA_SETUP_BYTES];
};

/* Parameters that the two ends agreed on. RFC 5044 7.1, RFC 6581 9. */
struct mpa_params {
	uint8_t revision;
	bool crc;
	bool tx_markers; /* the peer wants them in what we send */
	bool rx_markers; /* we want them */
	bool enhanced;   /* IRD and ORD were exchanged */
	bool peer_to_peer;
	uint8_t rtr;  /* WIRE_MPA_RTR_* that the first frame may be, or is */
	uint16_t ird; /* reads of the peer that we answer at a time */
	uint16_t ord; /* reads that we may have under way */
};

struct mpa_conn {
	struct tcp_flow *flow; /* NULL: over */
	struct fw_qp *qp;      /* NULL: not attached, or gone */
	uint32_t ep;           /* of cm_ep; FW_NONE: gone */
	uint8_t state;         /* mpa_state; changed by mpa_set_state() only */
	struct mpa_params param;
	struct fw_list node;     /* passive, its request not whole: in tcp_listener.asking */
	struct mpa_setup *setup; /* NULL: over */
	uint16_t options;        /* HW_MPA_* of this end */
	uint16_t port;           /* ours: held in the table of ports */
	struct share_owner share;
	bool asked;    /* passive, without a request: ep is the listener's */
	bool fallback; /* active: asked with revision 2 before, without an answer */
	bool faulty; /* memory under an FPDU was gone: nothing goes out any more but a Terminate */

	/* out, by mpa_tx.c */
	struct fw_list out;  /* fw_wqe.flow_node: messages to cut, in order */
	struct fw_list segs; /* mpa_seg.node: not acknowledged, in order */
	uint64_t tx_bytes;   /* of the stream in FPDU mode, markers counted */
	uint32_t tx_unacked; /* segments of it */
	bool rtr_due;        /* the first frame is to be sent */
	bool term_due;       /* a Terminate is */
	uint8_t term_bytes;
	uint8_t term[MPA_TERM_MAX];

	/* in, by mpa_rx.c */
	uint64_t rx_bytes;           /* likewise, taken */
	struct mpa_partial *partial; /* an FPDU that has begun, NULL */
	uint32_t rx_msn_read;        /* last MSN on QN 1, 2, 3 */
	uint32_t rx_msn_term, rx_msn_atomic;
	uint32_t tx_msn_read, tx_msn_atomic;
	uint32_t rx_write_bytes; /* of the Write that came last */
	bool rx_write_done;      /* it is whole */
	bool rtr_answer;         /* the answer to our first frame, a Read, is awaited */

	/* errors that are dealt with at the end of the turn, by mpa_run() */
	bool broken;                 /* a segment cannot be written: the stream ends here */
	bool local_error;            /* our memory, our request: the peer hears that it was us */
	uint8_t fault_err;           /* hw_vendor_err */
	struct fw_wqe *fault_msg;    /* whose memory is gone, NULL */
	struct fw_list fault_node;   /* in nic->mpa.faults */
	struct fw_timer retry_timer; /* until what found no memory is tried again */

	struct fw_timer timer; /* set-up; the end */
};

/* A set-up frame as it is read, or to be written. */
struct mpa_frame {
	bool reply;
	bool reject;
	bool markers;
	bool crc;
	uint8_t revision;
	bool enhanced; /* what follows means something */
	bool peer_to_peer;
	uint8_t rtr;         /* WIRE_MPA_RTR_*; 0 without peer_to_peer */
	uint16_t ird, ord;   /* or WIRE_MPA_DEPTH_NONE */
	const uint8_t *data; /* the process's; within the frame that was read */
	uint32_t data_bytes;
};

/* ---- mpa_frame.c */

/* dst: MPA_SETUP_BYTES. Returns the frame's length. */
uint32_t mpa_frame_write(uint8_t *dst, const struct mpa_frame *frame);
/* How long the frame is whose first bytes are here: 0: not known yet; negative: it is none. */
int mpa_frame_bytes(const uint8_t *src, uint32_t bytes, bool reply);
/* A whole one. 0, EPROTO: it cannot be answered but by no; EOPNOTSUPP: nor by that. */
int mpa_frame_read(const uint8_t *src, bool reply, struct mpa_frame *frame);

/* ---- mpa_conn.c: commands of the endpoint */

/* Makes a connection for the endpoint, whose param, tx_data and peer are filled. 0 or an errno. */
int mpa_connect(struct fw_nic *nic, struct cm_ep *ep);
int mpa_listen(struct fw_nic *nic, struct cm_ep *ep);
/* Resets connections that have not asked yet, of a listener that is ending. False: units ran out.
 */
bool mpa_end_asking(struct fw_nic *nic, struct cm_ep *ep);
/* There are none any more. */
void mpa_unlisten(struct fw_nic *nic, struct cm_ep *ep);
/*
 * The queue pair (state RTS, transport TCP) has the connection: passive: the reply goes; active:
 * FPDUs may. 0 or an errno.
 */
int mpa_attach(struct fw_nic *nic, struct mpa_conn *conn, struct fw_qp *qp);
/*
 * Takes what came behind the peer's set-up frame, when the endpoint is in its new state; conn may
 * be NULL. The last thing to do: a wrong FPDU ends the connection.
 */
void mpa_take_held(struct fw_nic *nic, struct mpa_conn *conn);
/* Passive: says no, with the endpoint's tx_data; closes. The endpoint is on its own from now on. */
void mpa_reject(struct fw_nic *nic, struct mpa_conn *conn);
/* Closes behind what was queued. */
void mpa_disconnect(struct fw_nic *nic, struct mpa_conn *conn);
/* At once, by a reset; the endpoint and the queue pair are told. conn is invalid on return. */
void mpa_abort(struct fw_nic *nic, struct mpa_conn *conn);
/* The same; the endpoint, which goes its own way, is not. */
void mpa_drop(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_set_state(struct fw_nic *nic, struct mpa_conn *conn, enum mpa_state state);
/* Passive, in MPA_RTR_WAIT: the peer's first FPDU was accepted; from now on we may send. */
void mpa_rx_first(struct fw_nic *nic, struct mpa_conn *conn);
extern const struct tcp_ops mpa_tcp_ops;

/* ---- mpa_conn.c: results of the peer's set-up frame */

/* Passive; false: nobody takes it, the connection is gone. */
bool mpa_conn_requested(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
			uint32_t bytes);
void mpa_conn_replied(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		      uint32_t bytes);
void mpa_conn_rejected(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		       uint32_t bytes);
/* Ends it: by a reset, or, told, behind the Terminate that was written. */
void mpa_conn_garbled(struct fw_nic *nic, struct mpa_conn *conn, bool told);
/* Our frame, a reply, is acknowledged. */
void mpa_conn_heard(struct fw_nic *nic, struct mpa_conn *conn);
/* Asks anew, with revision 1. */
void mpa_conn_fall_back(struct fw_nic *nic, struct mpa_conn *conn);

/* ---- mpa_setup.c */

/* Writes the request; the answer. */
void mpa_setup_ask(struct mpa_conn *conn, const struct cm_ep *ep);
void mpa_setup_answer(struct mpa_conn *conn, const struct cm_ep *ep, bool reject);
/* Frees what the set-up needed, if it is over. */
void mpa_setup_done(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_setup_free(struct fw_nic *nic, struct mpa_conn *conn);
/* tcp_ops while it lasts. */
bool mpa_setup_owns(const struct mpa_conn *conn, const struct tcp_seg *seg);
bool mpa_setup_pending(const struct mpa_conn *conn);
struct tcp_seg *mpa_setup_next(struct mpa_conn *conn, uint32_t max);
int mpa_setup_fill(struct mpa_conn *conn, const struct tcp_seg *seg, uint32_t from, uint32_t bytes,
		   struct fw_tx_frame *frame);
void mpa_setup_acked(struct fw_nic *nic, struct mpa_conn *conn, struct tcp_seg *seg, bool ok);
uint32_t mpa_setup_receive(struct fw_nic *nic, struct mpa_conn *conn,
			   const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);

/* ---- cm_tcp.c: reports on an endpoint's connection */

/* A request came in on a listener: an endpoint for it, or NULL (reset). */
struct cm_ep *cm_tcp_request(struct fw_nic *nic, struct cm_ep *listener, struct mpa_conn *conn,
			     const uint8_t *data, uint32_t bytes);
/* Active: the peer accepted (its private data). */
void cm_tcp_accepted(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes);
void cm_tcp_rejected(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes);
/* Active: the peer's answer is none that MPA knows. ep->mpa is invalid on return. */
void cm_tcp_garbled(struct fw_nic *nic, struct cm_ep *ep);
/* Passive: messages may be sent. */
void cm_tcp_established(struct fw_nic *nic, struct cm_ep *ep);
/* Over, or never was. ep->mpa is invalid on return. */
void cm_tcp_ended(struct fw_nic *nic, struct cm_ep *ep, enum tcp_end why);

/* ---- mpa_tx.c, mpa_rx.c: tcp_ops of a connection in MPA_RTR_WAIT and MPA_FPDU */

struct tcp_seg *mpa_tx_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max);
int mpa_tx_fill(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg, uint32_t from,
		uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset);
void mpa_tx_acked(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok);
void mpa_tx_unreadable(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg);
uint32_t mpa_rx_receive(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes);
/* Active, peer-to-peer: the first FPDU is one of the kind that param.rtr names. */
void mpa_tx_rtr(struct fw_nic *nic, struct mpa_conn *conn);
void mpa_rx_early(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		  uint32_t offset, uint32_t bytes, uint32_t ahead);

static inline struct mpa_conn *mpa_of(const struct tcp_flow *flow)
{
	return flow->ctx;
}

static inline struct mpa_seg *mpa_seg_of(struct tcp_seg *seg)
{
	return FW_CONTAINER(seg, struct mpa_seg, seg);
}

/* ---- mpa_ddp.c */

/*
 * The ULPDU [offset, offset + bytes) of an FPDU in its turn; its DDP header lies contiguous in
 * seg[0]. False: there is no memory now for what it asks, or its process leaves; nothing was
 * changed.
 */
bool mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		uint32_t offset, uint32_t bytes);
/* Likewise before its turn: changes nothing but memory that its message owns. */
void mpa_ddp_early(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		   uint32_t offset, uint32_t bytes);

/* ---- mpa_rdmap.c: mpa_llp_ops, and the queue pair's end of a connection */

/* A connection is made, of zeros: its lists. */
void mpa_rdmap_init_conn(struct mpa_conn *conn);
/* The queue pair has its connection: what it holds goes on. */
void mpa_rdmap_attached(struct fw_nic *nic, struct mpa_conn *conn);
bool mpa_rdmap_send(struct fw_nic *nic, struct fw_wqe *msg);
/*
 * The stream is at its end, or the connection is given up: the queue pair, if it is there still,
 * goes to ERR, with an event where the end was an error. Before a connection is freed.
 */
void mpa_rdmap_ended(struct fw_nic *nic, struct mpa_conn *conn, enum tcp_end why);

/* All segments of the message are acknowledged, or (not ok) never will be. */
void mpa_rdmap_acked(struct fw_nic *nic, struct fw_wqe *msg, bool ok);
/* The peer could not carry out this request; those before it were. */
void mpa_rdmap_terminated(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status);
/* The first request that is neither answered nor failed; answer: of those that ask for one. */
struct fw_wqe *mpa_rdmap_oldest(struct fw_qp *qp, bool answer);
/* Memory under what is to be sent next is gone. */
void mpa_rdmap_fault(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg,
		     enum hw_vendor_err err);
/* A segment cannot be written, or not again: memory of msg (NULL: it has failed) is gone. */
void mpa_rdmap_broken(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg);
/* Bytes were not taken, or no segment made, for want of memory: again in a while. */
void mpa_rdmap_starved(struct fw_nic *nic, struct mpa_conn *conn);
/* Handles faults found while segments were made; runs in each turn after tcp_tx_run(). */
void mpa_run(struct fw_nic *nic);

/* ---- mpa_term.c */

/*
 * An error of the peer, or ours while answering: Terminate, FIN; the QP goes to ERR. pkt: the
 * segment at fault (ddp_offset, ulpdu_bytes, opcode), NULL: none. Once: a stream that ends ends.
 */
void mpa_terminate(struct fw_nic *nic, struct mpa_conn *conn, const struct rdmap_seg *pkt,
		   const struct rdmap_error *error);
/* The peer's. */
void mpa_term_rx(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *payload, uint32_t bytes);

#endif /* WEFT_FW_MPA_H */
