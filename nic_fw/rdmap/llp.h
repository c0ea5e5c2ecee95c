/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam between RDMAP and the layers that carry it (RFC 5041's LLP): reliable datagrams, ESP
 * streams, and MPA over TCP.
 *
 * Called by wqe.c, rdmap_*.c and qp.c; calls rd_*.c, esp_rdmap.c or mpa_rdmap.c. A queue pair
 * keeps its transport from RTR to RESET. Whatever carries it: messages of a QP pair are delivered
 * once and, within each direction of requests, in order; a message that is handed over comes back
 * by wqe_complete() (requests) or wqe_free() (responses).
 */
#ifndef WEFT_FW_LLP_H
#define WEFT_FW_LLP_H

#include <assert.h>

#include "nic_fw/rdmap/esp_rdmap.h"
#include "nic_fw/mpa/mpa.h"
#include "nic_fw/host/qp.h"
#include "nic_fw/dgram/rd.h"
#include "nic_fw/rdmap/rdmap.h"
#include "nic_fw/host/wqe.h"

/* Its messages come in their order, by something that belongs to it alone. */
static inline bool llp_is_stream(const struct fw_qp *qp)
{
	return qp->attr.transport != HW_QP_TRANSPORT_RD;
}

static inline bool llp_is_tcp(const struct fw_qp *qp)
{
	return qp->attr.transport == HW_QP_TRANSPORT_TCP;
}

/* Queues a message whose dst_ip, dst_qpn and kind are set. False: no memory; try again later. */
static inline bool llp_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	if (!llp_is_stream(msg->qp))
		return rd_flow_send(nic, msg);
	return llp_is_tcp(msg->qp) ? mpa_rdmap_send(nic, msg) : esp_rdmap_send(nic, msg);
}

/* The answer to a read or an atomic has arrived in full. */
static inline void llp_answered(struct fw_nic *nic, struct fw_wqe *msg)
{
	if (!llp_is_stream(msg->qp))
		rd_flow_response(nic, msg);
	else if (llp_is_tcp(msg->qp))
		mpa_rdmap_answered(nic, msg);
	else
		esp_rdmap_answered(nic, msg);
}

/*
 * The peer named the message, by its number, that it could not carry out. (MPA's Terminates quote
 * what was at fault: mpa_term.c.)
 */
static inline void llp_terminated(struct fw_nic *nic, struct fw_qp *qp, const struct dgram_pkt *pkt,
				  uint32_t ssn, enum hw_status status)
{
	assert(!llp_is_tcp(qp));
	if (llp_is_stream(qp))
		esp_rdmap_terminated(nic, qp, ssn, status);
	else
		rd_flow_terminated(nic, qp, pkt->src_ip, pkt->src_qpn, ssn, status);
}

/* What came by the QP's stream is at fault: the peer is told while there is a stream for it. */
static inline void llp_stream_error(struct fw_nic *nic, struct fw_qp *qp,
				    const struct dgram_pkt *pkt, const struct rdmap_error *error)
{
	if (!llp_is_tcp(qp))
		esp_rdmap_terminate(nic, qp, pkt->ssn, error);
	else if (qp->mpa)
		mpa_terminate(nic, qp->mpa, pkt, error);
}

/* Ends one message with a status. */
static inline void llp_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
				enum hw_vendor_err vendor_err)
{
	if (!llp_is_stream(msg->qp))
		rd_msg_fail(nic, msg, status, vendor_err);
	else if (llp_is_tcp(msg->qp))
		mpa_rdmap_msg_fail(nic, msg, status, vendor_err);
	else
		esp_rdmap_msg_fail(nic, msg, status, vendor_err);
}

/*
 * The QP leaves the states in which it works: its stream ends, and its messages go to
 * qp->flush_msgs. Flows of RD, of which there may be very many, are rd_flush_flow()'s.
 */
static inline void llp_stop_qp(struct fw_nic *nic, struct fw_qp *qp)
{
	if (!llp_is_stream(qp))
		return;
	if (llp_is_tcp(qp))
		mpa_rdmap_stop_qp(nic, qp);
	else
		esp_rdmap_stop_qp(nic, qp);
}

#endif /* WEFT_FW_LLP_H */
