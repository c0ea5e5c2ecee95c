/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam between RDMAP and the layers that carry it (RFC 5041's LLP): datagrams of UD and UC,
 * flows of RD, ESP streams, and MPA over TCP.
 *
 * Each transport is one constant struct llp_ops; qp->llp is the number of the one of the QP's type
 * and of its attribute hw_qp_attr.transport. A QP keeps its transport from RTR to RESET. Every
 * transport delivers the messages of a QP pair once and, within each direction of requests, in
 * order. A message that is handed over comes back by wqe_complete() (requests) or wqe_free()
 * (responses). Functions that a transport does not need are NULL; the llp_*() below allow for that.
 */
#ifndef WEFT_FW_LLP_H
#define WEFT_FW_LLP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/host/qp.h"
#include "nic_fw/host/wqe.h"

struct rdmap_seg;
struct rdmap_error;

/* A request fails when its answer makes no progress in so many looks at a live peer. */
#define LLP_LOOK_NS UINT64_C(1000000000)
enum {
	LLP_ANSWER_LOOKS = 30,
	LLP_NOW_BYTES = 96, /* of data that send_now() takes: they fit behind the headers */
};

struct llp_ops {
	bool stream;   /* messages arrive in order, on a connection that belongs to the QP alone */
	bool send_imm; /* a Send may carry immediate data (RFC 5040 has none) */

	/* The QP, which is idle, gets this transport: prepares its state. NULL: none. */
	void (*init_qp)(struct fw_qp *qp);
	/* True if requests may be fetched now; NULL: always. */
	bool (*is_ready)(const struct fw_qp *qp);
	/* See llp_send(). */
	bool (*send)(struct fw_nic *nic, struct fw_wqe *msg);
	/*
	 * Sends a short request, and is done with it: its data are copied. False: nothing was sent;
	 * send() may. NULL: the transport needs all its requests for longer.
	 */
	bool (*send_now)(struct fw_nic *nic, const struct fw_wqe *msg, const uint8_t *data);
	/* See llp_unsend(). NULL: the transport never needs it. */
	void (*unsend)(struct fw_nic *nic, struct fw_wqe *msg);
	/* Continues a request that send() left unfinished. False: not finished yet. NULL: none. */
	bool (*resume)(struct fw_nic *nic, struct fw_wqe *msg);

	/* Reliable transports; see the functions below. */
	void (*answered)(struct fw_nic *nic, struct fw_wqe *msg);
	void (*terminated)(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			   uint32_t ssn, enum hw_status status);
	void (*refuse)(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		       const struct rdmap_error *error);
	bool (*is_refused)(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt);
	void (*msg_fail)(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
			 enum hw_vendor_err vendor_err);

	/*
	 * Goes on with requests that are over, within slice_take(): wqe_done_later() was called.
	 * NULL: none wait in the transport.
	 */
	void (*complete)(struct fw_nic *nic, struct fw_qp *qp);

	/* Requests of a stream (requester.c). */
	void (*let_go)(struct fw_wqe *msg); /* one ends: nothing of it is sent again */
	void (*advanced)(struct fw_nic *nic, struct fw_qp *qp); /* some ended, the QP lives on */

	/* The end of a QP. */
	void (*stop_qp)(struct fw_nic *nic, struct fw_qp *qp);
	/* Moves some messages to qp->flush_msgs. False: none is left, or units ran out. */
	bool (*flush_qp)(struct fw_nic *nic, struct fw_qp *qp);
	bool (*flush_due)(const struct fw_qp *qp); /* messages are left for flush_qp() */
	/* A response of a QP that ends was not delivered; NULL: the end of the stream shows it. */
	void (*response_lost)(struct fw_nic *nic, const struct fw_wqe *response);
	/*
	 * Drops partly received messages, as recv_flush_step() does; NULL: recv_flush_step() is
	 * used.
	 */
	bool (*flush_receives)(struct fw_nic *nic, struct fw_qp *qp);
};

extern const struct llp_ops ud_llp_ops;  /* dgram/ud_tx.c */
extern const struct llp_ops uc_llp_ops;  /* dgram/ud_tx.c */
extern const struct llp_ops rd_llp_ops;  /* dgram/rd_llp.c: RD, and RC over it */
extern const struct llp_ops esp_llp_ops; /* rdmap/esp_rdmap.c */
extern const struct llp_ops mpa_llp_ops; /* mpa/mpa_rdmap.c */

/* The first ones are those of hw_qp_attr.transport. */
enum llp_kind {
	LLP_RD = HW_QP_TRANSPORT_RD,
	LLP_ESP = HW_QP_TRANSPORT_ESP,
	LLP_TCP = HW_QP_TRANSPORT_TCP,
	LLP_UD,
	LLP_UC,
	LLP_KINDS
};

/* By llp_kind: up/llp_table.c. */
extern const struct llp_ops *const llp_table[LLP_KINDS];

static inline const struct llp_ops *llp_of(const struct fw_qp *qp)
{
	return llp_table[qp->llp];
}

/* Sets qp->llp by the QP's type and attributes. */
void llp_choose(struct fw_qp *qp);

static inline bool llp_is_stream(const struct fw_qp *qp)
{
	return llp_of(qp)->stream;
}

static inline bool llp_is_ready(const struct fw_qp *qp)
{
	return !llp_of(qp)->is_ready || llp_of(qp)->is_ready(qp);
}

/* Queues a message whose dst_ip, dst_qpn and kind are set. False: no memory; try again later. */
static inline bool llp_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	return llp_of(msg->qp)->send(nic, msg);
}

/*
 * Takes back a response of RD that llp_send() has queued in this turn, before anything of it was
 * sent, and frees it.
 */
static inline void llp_unsend(struct fw_nic *nic, struct fw_wqe *msg)
{
	llp_of(msg->qp)->unsend(nic, msg);
}

/* The response to a read or an atomic has arrived in full. */
static inline void llp_answered(struct fw_nic *nic, struct fw_wqe *msg)
{
	llp_of(msg->qp)->answered(nic, msg);
}

/*
 * The peer reported, by its number, a message that it could not carry out. (MPA's Terminates quote
 * the segment at fault instead: mpa_term.c.)
 */
static inline void llp_terminated(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				  uint32_t ssn, enum hw_status status)
{
	llp_of(qp)->terminated(nic, qp, pkt, ssn, status);
}

/* Reports to the source of pkt, by a Terminate, why its message fails. */
static inline void llp_refuse(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			      const struct rdmap_error *error)
{
	llp_of(qp)->refuse(nic, qp, pkt, error);
}

/* True if the message of pkt failed before, and its Terminate is under way. */
static inline bool llp_is_refused(struct fw_nic *nic, const struct fw_qp *qp,
				  const struct rdmap_seg *pkt)
{
	return llp_of(qp)->is_refused && llp_of(qp)->is_refused(nic, qp, pkt);
}

/* Ends one message with a status. */
static inline void llp_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
				enum hw_vendor_err vendor_err)
{
	llp_of(msg->qp)->msg_fail(nic, msg, status, vendor_err);
}

/*
 * The QP leaves its working states: its stream ends, and its messages go to qp->flush_msgs. Flows
 * of RD, of which there may be very many, follow in flush_qp().
 */
static inline void llp_stop_qp(struct fw_nic *nic, struct fw_qp *qp)
{
	if (llp_of(qp)->stop_qp)
		llp_of(qp)->stop_qp(nic, qp);
}

#endif /* WEFT_FW_LLP_H */
