/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages on their way out: requests fetched from a send queue, and responses.
 *
 * wqe.c copies a request out of the host's ring once, checks the copy, and makes a struct fw_wqe of
 * it; the transports (ud_tx.c, rd_flow.c) send it; wqe_complete() retires it. rdmap_rx.c makes
 * responses of the same struct, so that the RD engine has one kind of message only. Source of the
 * checks: IBA 10.8, RFC 5040 5.
 */
#ifndef WEFT_FW_WQE_H
#define WEFT_FW_WQE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/stream/esp.h"
#include "nic_fw/base/list.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_wqe.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_tag.h"

struct fw_nic;
struct fw_qp;
struct rd_flow;
struct fw_tx_frame;

enum fw_wqe_kind {
	FW_WQE_REQUEST = 0,
	FW_WQE_TAG_READ, /* the NIC's own: reads a message that a receive has matched (tag_rdv.c) */
	FW_WQE_TAG_WRITE, /* likewise: writes a message to a receive of its peer (tag_rtr.c) */
	FW_WQE_TAG_SEND,  /* likewise: an envelope alone */
	FW_WQE_TAG_NACK,  /* likewise: a refusal of what the peer has announced */
	FW_WQE_LAST_REQUEST = FW_WQE_TAG_NACK,
	FW_WQE_READ_RESPONSE,
	FW_WQE_ATOMIC_RESPONSE,
	FW_WQE_TERMINATE,
	FW_WQE_TAG_REPLY,  /* the NIC's own: an envelope alone, in the class of responses */
	FW_WQE_TAG_NOTICE, /* likewise: the peer's message is done with, or its RTR refused */
	FW_WQE_CANCEL,     /* of the null QP (rd_cancel.c) */
};

enum fw_wqe_state {
	FW_WQE_QUEUED,   /* awaiting its turn to send */
	FW_WQE_SENT,     /* all sent; awaiting acknowledgements */
	FW_WQE_RESPONSE, /* acknowledged; awaiting the read or atomic response */
	FW_WQE_DONE,     /* awaiting the completion of earlier requests */
};

enum {
	FW_WQE_SGES = 4,       /* held in the context; more go to an extension */
	FW_WQE_SINK_BITS = 18, /* context number in the STag of a read's sink, below its tag */
};

struct fw_wqe_ext {
	struct hw_sge sge[HW_MAX_SGE - FW_WQE_SGES];
};

struct fw_wqe {
	struct fw_list qp_node; /* request: in qp->wqes, in order of the send queue */
	union {
		struct fw_list
		    flow_node;        /* in flow->msgs; before a stream is open, its QP's list */
		struct esp_xfer xfer; /* on an ESP stream; its node is the same memory */
	};
	struct fw_qp *qp;
	struct rd_flow *flow;     /* RD, RC over it; NULL for UD, streams, and local requests */
	struct fw_list read_node; /* read, atomic: in qp->reads until it completes */
	uint64_t wr_id;
	uint8_t kind;   /* fw_wqe_kind */
	uint8_t state;  /* fw_wqe_state */
	uint8_t opcode; /* hw_wqe_opcode of a request */
	uint8_t flags;  /* HW_WQE_F_* */
	uint8_t num_sge;
	uint8_t status; /* hw_status once done */
	uint8_t rdmap_opcode;
	union {
		uint32_t imm_inv;
		uint32_t atomic; /* ATOMIC: HW_ATOMIC_CODE() */
	};
	uint32_t ssn;
	union {
		uint32_t msn;              /* untagged messages */
		uint32_t cancel_first_ssn; /* CANCEL: of the range that ends with ssn */
	};
	uint32_t bytes;      /* payload on the wire */
	uint32_t sent_bytes; /* of it */
	uint32_t unacked;    /* packets in flight */
	uint32_t vendor_err;
	uint32_t sq_slot; /* its first slot (inline data follows) */
	uint32_t sq_end;  /* slot after it */
	uint32_t dst_ip;
	uint32_t dst_qpn;
	uint32_t qkey;
	union {
		uint32_t rkey;       /* request: remote STag; READ_RESPONSE: the sink's STag */
		uint32_t request_id; /* ATOMIC_RESPONSE: the request that it answers */
	};
	uint64_t remote_addr; /* request: remote TO; READ_RESPONSE: the sink's TO */
	/* Operands, by kind. */
	union {
		struct { /* request: an atomic */
			uint64_t compare_add;
			uint64_t swap;
		};
		struct {                    /* message with an envelope (tag_kind) */
			uint64_t tag_value; /* TAG_REPLY that announces a receive: likewise */
			uint64_t tag_data;  /* there: the bits of the tag that are ignored */
		};
		struct {                        /* TERMINATE */
			uint64_t term_outlasts; /* 2^32 plus a PSN (rd_ack.c); 0: not known yet */
			uint8_t term_layer_etype;
			uint8_t term_code;
		};
		uint64_t original;  /* ATOMIC_RESPONSE: the value before the operation */
		uint32_t mw_access; /* request: a bind of a window */
	};
	uint64_t begun_ns;   /* when its first packet was sent; 0: none was */
	uint32_t read_bytes; /* read: bytes of data that have been delivered */
	uint32_t src_qpn;    /* of its packets: the QP's, or the one that a lost peer named */
	uint8_t hop_limit;   /* UD to a group: the IPv4 time to live; else 0 */
	bool refused;        /* some packet of it was refused: to be sent again */
	bool answered; /* read, atomic: the response has come; on a stream: or it has failed */
	bool streamed; /* RC over ESP, TCP: the stream has it, or it waits for the stream */
	bool wrote;    /* Write with immediate over TCP: segmented except for the immediate data */
	uint8_t station;        /* charged for it: the peer's; of responses and notices */
	uint16_t notice_to;     /* place of its session in rdmap_nic.notices_to + 1; 0: no notice */
	uint32_t segment_bytes; /* of a streamed message: payload of each packet */
	uint16_t incarnation;   /* RC: the tag of its packets */
	uint16_t sink_tag; /* read, atomic: drawn; differs from that of the context's last life */
	uint32_t ext;      /* index in nic->host.wqe_exts, FW_NONE */
	/* Tagged endpoints; tag_value and tag_data above. */
	uint8_t tag_kind;    /* wire_tag_kind: an envelope precedes the data; 0: none */
	uint8_t tag_flags;   /* WIRE_TAG_F_*; before it has an envelope: HW_TSEND_F_* */
	uint8_t tag_status;  /* of the envelope */
	uint32_t tag_bytes;  /* of the message */
	uint32_t tag_stag;   /* of the envelope */
	uint32_t tag_handle; /* of the envelope, or of the object that waits for its end; 0: none */
	struct hw_sge sge[FW_WQE_SGES];
};
static_assert(offsetof(struct fw_wqe, tag_kind) <= 224, "what all requests use lies together");
static_assert(sizeof(struct fw_wqe) <= 320, "five cache lines");

/* True if a transport has it. */
static inline bool wqe_is_under_way(const struct fw_wqe *wqe)
{
	return wqe->flow || wqe->streamed;
}

/* True if it is of the class of requests, of the process or of the NIC. */
static inline bool wqe_is_request(const struct fw_wqe *wqe)
{
	return wqe->kind <= FW_WQE_LAST_REQUEST;
}

/* Bytes of an envelope that the segment at offset begins with; they are part of its payload. */
static inline uint32_t wqe_envelope_bytes(const struct fw_wqe *wqe, uint32_t offset)
{
	return __builtin_expect(wqe->tag_kind && !offset, 0) ? (uint32_t)sizeof(struct wire_tag)
							     : 0;
}

/* True for a read or an atomic: it ends with the peer's answer, others with the acknowledgement. */
static inline bool wqe_has_answer(const struct fw_wqe *wqe)
{
	return wqe->rdmap_opcode == WIRE_RDMAP_READ_REQUEST ||
	       wqe->rdmap_opcode == WIRE_RDMAP_ATOMIC_REQUEST;
}

/* Returns the i-th SGE of those in an extension. */
const struct hw_sge *wqe_sge_ext(const struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t i);

/* Returns the i-th SGE, in the context or its extension. */
static inline const struct hw_sge *wqe_sge(const struct fw_nic *nic, const struct fw_wqe *wqe,
					   uint32_t i)
{
	return __builtin_expect(i < FW_WQE_SGES, 1) ? &wqe->sge[i] : wqe_sge_ext(nic, wqe, i);
}

static inline bool wqe_is_atomic(uint8_t opcode)
{
	return opcode == HW_WQE_FETCH_ADD || opcode == HW_WQE_CMP_SWAP || opcode == HW_WQE_ATOMIC;
}

static inline bool wqe_is_read_or_atomic(uint8_t opcode)
{
	return opcode == HW_WQE_READ || wqe_is_atomic(opcode);
}

/*
 * Fetches up to budget requests of the QP and hands each to its transport. Returns how many;
 * unlinks the QP from the ready list when it is empty or blocked.
 */
uint32_t wqe_fetch(struct fw_nic *nic, struct fw_qp *qp, uint32_t budget);

/*
 * Allocates a context for a request or a response; NULL: none is left, or the share of this process
 * is used up.
 */
struct fw_wqe *wqe_alloc(struct fw_nic *nic, struct fw_qp *qp, enum fw_wqe_kind kind);
/* The same for the response to a peer of that station (station.h), which is charged for it. */
struct fw_wqe *wqe_alloc_response(struct fw_nic *nic, struct fw_qp *qp, enum fw_wqe_kind kind,
				  uint8_t station);
void wqe_free(struct fw_nic *nic, struct fw_wqe *wqe);
/* Gives the context an extension, for so many SGEs. False: none is left. */
bool wqe_extend(struct fw_nic *nic, struct fw_wqe *wqe, uint32_t num_sge);
/* Sets the i-th SGE, for which wqe_extend() made room. */
void wqe_set_sge(const struct fw_nic *nic, struct fw_wqe *wqe, uint32_t i,
		 const struct hw_sge *sge);
/* A message that is no request of the process has ended: frees it, and notifies its owner. */
void wqe_end(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
	     enum hw_vendor_err vendor_err);

/*
 * The request has succeeded or failed. Writes its CQE (if signalled or failed), retires slots in
 * order, unblocks the QP, frees the context. A failed request of an RC or UD QP, and a local error
 * of any, moves the QP to its error state.
 */
void wqe_complete(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
		  enum hw_vendor_err vendor_err);

/*
 * As wqe_complete(), for requests that fail or are carried out at this end: waits until all earlier
 * requests of the queue are complete. After a failure no more is fetched.
 */
void wqe_complete_in_order(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
			   enum hw_vendor_err vendor_err);

/*
 * More requests of the queue pair are over than the turn has units for: the rest completes in later
 * turns (slice.h).
 */
void wqe_done_later(struct fw_nic *nic, struct fw_qp *qp);
/* slice_job.run */
void wqe_done_slice(struct fw_nic *nic);

/*
 * Applies to the first request of a queue what its stream knows of all that it has: fw_qp.sq_lost,
 * sq_refused. Returns true if the request is over, with the status in it.
 */
bool wqe_settle(struct fw_qp *qp, struct fw_wqe *wqe);

/*
 * As wqe_complete() with success, for a request in no context: one of fetch_now(), all before it
 * are complete.
 */
void wqe_done_now(struct fw_nic *nic, const struct fw_wqe *wqe);

/* After the staged frames went to the port: completes the UD requests they carried. */
void wqe_complete_sent(struct fw_nic *nic);

/* Returns the status of a request for a local error. */
enum hw_status wqe_status_of(enum hw_vendor_err err);

/*
 * Adds the pieces that hold payload [offset, offset + bytes) to a frame (which has room), checking
 * each SGE's STag again. Returns HW_VENDOR_ERR_NONE, or the reason. Sets *host when a piece must be
 * read from the process.
 */
enum hw_vendor_err wqe_gather(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset,
			      uint32_t bytes, struct fw_tx_frame *frame, bool *host);

/*
 * Returns the data of a message that are sent whole, without the envelope, if they lie in one piece
 * that the NIC has mapped and may read; NULL: wqe_gather() has them, or the reason.
 */
const uint8_t *wqe_data(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t bytes);

/* Draws the sink STag of a read or atomic. */
void wqe_sink_draw(const struct fw_nic *nic, struct fw_wqe *wqe);
/*
 * Returns the sink STag of a request, and the request of an STag; NULL: it names no read of this
 * QP, or one that was not sent to the packet's peer.
 */
uint32_t wqe_sink_stag(const struct fw_nic *nic, const struct fw_wqe *wqe);
struct fw_wqe *wqe_from_sink(struct fw_nic *nic, const struct fw_qp *qp,
			     const struct rdmap_seg *pkt, uint32_t stag);

#endif /* WEFT_FW_WQE_H */
