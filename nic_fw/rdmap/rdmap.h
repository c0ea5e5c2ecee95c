/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMAP and DDP: execution of messages, independent of their transport.
 *
 *	ddp_parse.c	both headers of an arriving segment
 *	rdmap_tx.c	DDP/RDMAP headers of an outgoing segment
 *	ddp_rx.c	placement of a segment's payload
 *	rdmap_rx.c	delivery: executing a segment once its predecessors were delivered
 *	rdmap_whole.c	the usual case of that: a Send of one segment
 *	rdmap_resp.c	reads, atomics and Terminates
 *	recv.c		receives of messages that span several packets
 *
 * For reliable QPs rd_rx.c calls rdmap_rx_place() when a packet arrives, in any order, and
 * rdmap_rx_finish() in the order of the flow. RFC 5040, RFC 5041, RFC 7306.
 */
#ifndef WEFT_FW_RDMAP_H
#define WEFT_FW_RDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/net/eth.h"
#include "nic_fw/host/mem.h"
#include "nic_fw/host/rq.h"
#include "nic_fw/rdmap/rdmap_seg.h"
#include "shared_defs/wire_iwarp.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;
struct tag_arrival;

enum {
	RDMAP_HDR_MAX = sizeof(struct wire_ddp_untagged) + sizeof(struct wire_atomic_request),
};

/*
 * Writes the DDP/RDMAP header of the segment [offset, offset + bytes) of msg at dst, and for
 * read and atomic requests, atomic responses and terminates the payload too. Returns the
 * length written.
 */
uint32_t rdmap_tx_header(const struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			 uint32_t bytes, uint8_t *dst);

/*
 * True if segments of the message carry their payload in the header, and none from SGEs or inline
 * data.
 */
static inline uint32_t rdmap_tx_is_self_contained(uint8_t rdmap_opcode)
{
	return rdmap_opcode == WIRE_RDMAP_READ_REQUEST ||
	       rdmap_opcode == WIRE_RDMAP_ATOMIC_REQUEST ||
	       rdmap_opcode == WIRE_RDMAP_ATOMIC_RESPONSE || rdmap_opcode == WIRE_RDMAP_TERMINATE;
}

enum rdmap_result {
	RDMAP_OK = 0,
	RDMAP_REFUSE, /* receiver or responder not ready: try again after the RNR timer */
	RDMAP_DROP,   /* no memory for it now: treat it as lost */
	RDMAP_ERROR,  /* rdmap_error has the layer_etype and code for the Terminate */
	RDMAP_VOID,   /* the QP has failed: accept the packet and discard it */
};

/* Layer and type of errors, as a Terminate has them. */
enum {
	RDMAP_PROTECTION = WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
	RDMAP_OPERATION = WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_OPERATION,
	DDP_TAGGED = WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_TAGGED,
	DDP_UNTAGGED = WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_UNTAGGED,
};

struct rdmap_error {
	uint8_t layer_etype;
	uint8_t code;
};

static inline enum rdmap_result rdmap_error_of(struct rdmap_error *error, uint8_t layer_etype,
					       uint8_t code)
{
	error->layer_etype = layer_etype;
	error->code = code;
	return RDMAP_ERROR;
}

enum {
	DDP_QUEUES = WIRE_QN_ATOMIC_RESPONSE + 1,
};

enum ddp_form {
	/* Follows a header of weft: reserved bits are 0, msg_bytes is the message's length. */
	DDP_WEFT,
	DDP_ANY, /* any peer: reserved bits are ignored (RFC 5041 4.1, RFC 5040 4.1) */
};

/*
 * ddp_parse.c: parses the DDP segment at data_offset: versions, opcode against tagged and queue
 * number; for weft's own peers also the place in the message. Moves data_offset and data_bytes to
 * the payload. RDMAP_OK, or RDMAP_ERROR and the error that the RFCs name.
 */
enum rdmap_result ddp_parse(struct rdmap_seg *pkt, enum ddp_form form, struct rdmap_error *error);
/* Returns the payload of a message that is one segment of a fixed length; 0: no such message. */
uint32_t ddp_fixed_bytes(uint8_t opcode);

/* A receive that a message has taken and that is not yet completed. */
struct recv_msg {
	struct fw_list qp_node;   /* qp->recv_msgs */
	struct fw_list peer_node; /* RD: recv_peer.recvs, slices.aborted; XRC: srq->open_recvs */
	struct fw_qp *qp;
	uint32_t life;      /* RD: life of the session that brought it */
	uint32_t hash_next; /* RD, XRC: in its chain of nic->host.recv_hash, index + 1 */
	uint32_t src_ip;
	uint32_t src_qpn;
	uint32_t msn; /* RC: MSN; RD: ssn */
	uint8_t src_shard;
	bool begun; /* a segment of it arrived (RC: otherwise it waits for its turn) */
	/* Identifies this use: a packet is delivered only to the receive that it was placed in. */
	uint32_t serial;
	uint32_t done;      /* bytes delivered, in order */
	struct fw_srq *srq; /* XRC: SRQ of the receive; otherwise NULL */
	struct tag_arrival
	    *tag; /* tagged endpoint: the message, and recv is not valid; else NULL */
	struct fw_recv recv;
};

/*
 * Places a packet's payload. It may run before the predecessors were delivered (in_order false);
 * then it changes nothing but memory that the message owns.
 */
enum rdmap_result rdmap_rx_place(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				 bool in_order, struct rdmap_error *error);
/*
 * Delivers a packet. held is the payload of a request that has one (at least its size; NULL: in the
 * frame). RDMAP_DROP is not returned for packets that were placed out of order.
 */
enum rdmap_result rdmap_rx_finish(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				  const uint8_t *held, struct rdmap_error *error);

/*
 * rdmap_whole.c: places and delivers a Send of one segment whose turn it is. False: it was not the
 * usual case, and nothing was done.
 */
bool rdmap_rx_whole(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt);
/*
 * True if the QP accepts the packet of its source; counts nothing. Of requests those to RC and RD
 * only.
 */
bool rdmap_rx_is_expected(const struct fw_qp *qp, const struct rdmap_seg *pkt);
/* True if a Write of the peer may go there: a run that may not counts once as a wrong STag. */
bool rdmap_rx_has_place(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt);

/*
 * Returns true if this message follows the one that the QP delivered last. A connected peer that
 * leaves a message out, or unfinished, would have receives complete out of their queue's order.
 */
bool rdmap_rx_is_due(const struct fw_qp *qp, uint32_t msn);

/* Returns the QP that a packet is for, NULL if there is none. */
struct fw_qp *rdmap_rx_qp(struct fw_nic *nic, const struct rdmap_seg *pkt);
/*
 * Carries out a packet's error in its turn: fails the receive that it had taken, sends the peer a
 * Terminate, and moves an RC QP to error. A qp of NULL is itself the error.
 */
void rdmap_rx_error(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    const struct rdmap_error *error);

/* ddp_rx.c: scatters the payload. False: memory of the process was not there. */
bool ddp_place_mem(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		   struct eth_cursor *cursor);
/* The same with all payload of a segment. */
bool ddp_place_segment(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		       const struct rdmap_seg *pkt);
/*
 * Scatters over an SGE list at offset; checks each SGE that is touched. HW_VENDOR_ERR_NONE,
 * or LKEY, BOUNDS, ACCESS, HOST_FAULT.
 */
enum hw_vendor_err ddp_place_sges(struct fw_nic *nic, uint32_t pd, const struct hw_sge *sge,
				  uint32_t num_sge, uint64_t offset, struct eth_cursor *cursor);

/* rdmap_resp.c: reads, atomics and Terminates, in their turn. */
enum rdmap_result rdmap_read_request(struct fw_nic *nic, struct fw_qp *qp,
				     const struct rdmap_seg *pkt,
				     const struct wire_read_request *req,
				     struct rdmap_error *error);
enum rdmap_result rdmap_atomic_request(struct fw_nic *nic, struct fw_qp *qp,
				       const struct rdmap_seg *pkt,
				       const struct wire_atomic_request *req,
				       struct rdmap_error *error);
/*
 * A request out of its turn. One on memory that is not mapped counts as lost: held for its turn,
 * it could not wait for a page, since its sender would not repeat it.
 */
enum rdmap_result rdmap_place_atomic_request(struct fw_nic *nic, const struct fw_qp *qp,
					     const struct rdmap_seg *pkt);
enum rdmap_result rdmap_place_read_response(struct fw_nic *nic, struct fw_qp *qp,
					    const struct rdmap_seg *pkt);
enum rdmap_result rdmap_read_response(struct fw_nic *nic, struct fw_qp *qp,
				      const struct rdmap_seg *pkt);
enum rdmap_result rdmap_place_atomic_response(struct fw_nic *nic, struct fw_qp *qp,
					      const struct rdmap_seg *pkt);
enum rdmap_result rdmap_atomic_response(struct fw_nic *nic, struct fw_qp *qp,
					const struct rdmap_seg *pkt,
					const struct wire_atomic_response *rsp);
enum rdmap_result rdmap_terminate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				  const struct wire_terminate *term);

/* recv.c */
enum {
	RECV_MSN_AHEAD = 64, /* RC: receives that may be taken for messages not yet begun */
};
/* Notes the receive's XRC SRQ in the completion (NULL: none). */
void recv_cqe_of_srq(struct hw_cqe *cqe, const struct fw_srq *srq);
/*
 * Writes the completion of pkt's message. srq: the XRC SRQ that its receive was taken from, or
 * NULL. A full CQ ends the QP.
 */
void rdmap_complete(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    uint64_t wr_id, const struct fw_srq *srq, uint8_t opcode,
		    enum hw_status status);
/* Completes the receive of msg with pkt's message, and frees msg; a full CQ ends the QP. */
void rdmap_complete_recv(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			 struct recv_msg *msg, uint8_t opcode, enum hw_status status);
struct recv_msg *recv_find(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt);
/*
 * Takes a receive for the message of pkt; in its turn (in_order) if need be from a later message of
 * its flow. RDMAP_OK and *msg, REFUSE (none posted), DROP.
 */
enum rdmap_result recv_begin(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     bool in_order, struct recv_msg **msg);
void recv_end(struct fw_nic *nic, struct fw_qp *qp, struct recv_msg *msg);
/* Begins a message of a tagged endpoint, without a receive. RDMAP_OK and *msg, DROP. */
enum rdmap_result recv_open(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			    struct tag_arrival *tag, struct recv_msg **msg);
/* Ends the message: its receive completes with the status. */
void recv_abort(struct fw_nic *nic, struct recv_msg *msg, enum hw_status status);
/* The peer has cancelled messages of one QP: completes the receives that they took as cancelled. */
void recv_cancel(struct fw_nic *nic, struct fw_qp *qp, const struct recv_peer *peer,
		 uint32_t src_qpn, uint32_t first_ssn, uint32_t last_ssn);
/*
 * A session has ended: packets no longer find the receives of its unfinished messages, which
 * complete with REM_ABORT_ERR, in slices.
 */
void recv_abort_peer(struct fw_nic *nic, struct recv_peer *peer);
/* Continues with these completions. */
void recv_abort_slice(struct fw_nic *nic);
/*
 * Ends an XRC SRQ: messages that took its receives are refused and sent again, or fail. It gives no
 * receives from now on. False: units ran out.
 */
bool recv_forget_srq(struct fw_nic *nic, struct fw_srq *srq);

/* Maps a Terminate's error (RFC 5040 4.8) to the HW status, and our own errors to the code. */
enum hw_status rdmap_status_of(uint8_t layer_etype, uint8_t code);
uint8_t rdmap_protection_code(enum hw_vendor_err err);
/* Makes msg the Terminate that reports the failure of message ssn of the peer. */
void rdmap_tx_make_terminate(struct fw_wqe *msg, uint32_t ssn, const struct rdmap_error *error);

#endif /* WEFT_FW_RDMAP_H */
