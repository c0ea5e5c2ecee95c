/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seam between RDMAP and the layers that carry it (RFC 5041's LLP): reliable datagrams, and
 * ESP streams.
 *
 * Called by wqe.c, rdmap_*.c and qp.c; calls rd_flow.c, rd_fail.c or esp_rdmap.c. A queue pair
 * keeps its transport from RTR to RESET. Whatever carries it: messages of a QP pair are delivered
 * once and, within each direction of requests, in order; a message that is handed over comes back
 * by wqe_complete() (requests) or wqe_free() (responses).
 */
#ifndef WEFT_FW_LLP_H
#define WEFT_FW_LLP_H

#include "nic_fw/esp_rdmap.h"
#include "nic_fw/qp.h"
#include "nic_fw/rd.h"
#include "nic_fw/rdmap.h"
#include "nic_fw/wqe.h"

static inline bool llp_is_stream(const struct fw_qp *qp)
{
	return qp->attr.transport == HW_QP_TRANSPORT_ESP;
}

/* Queues a message whose dst_ip, dst_qpn and kind are set. False: no memory; try again later. */
static inline bool llp_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	return llp_is_stream(msg->qp) ? esp_rdmap_send(nic, msg) : rd_flow_send(nic, msg);
}

/* The answer to a read or an atomic has arrived in full. */
static inline void llp_answered(struct fw_nic *nic, struct fw_wqe *msg)
{
	if (llp_is_stream(msg->qp))
		esp_rdmap_answered(nic, msg);
	else
		rd_flow_response(nic, msg);
}

/* The peer named the message, by its number, that it could not carry out. */
static inline void llp_terminated(struct fw_nic *nic, struct fw_qp *qp, const struct dgram_pkt *pkt,
				  uint32_t ssn, enum hw_status status)
{
	if (llp_is_stream(qp))
		esp_rdmap_terminated(nic, qp, ssn, status);
	else
		rd_flow_terminated(nic, qp, pkt->src_ip, pkt->src_qpn, ssn, status);
}

/* Ends one message with a status. */
static inline void llp_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
				enum hw_vendor_err vendor_err)
{
	if (llp_is_stream(msg->qp))
		esp_rdmap_msg_fail(nic, msg, status, vendor_err);
	else
		rd_msg_fail(nic, msg, status, vendor_err);
}

/* The QP leaves the states in which it works: everything of it is given up. */
static inline void llp_flush_qp(struct fw_nic *nic, struct fw_qp *qp)
{
	if (llp_is_stream(qp))
		esp_rdmap_flush_qp(nic, qp);
	else
		rd_flush_qp(nic, qp);
}

#endif /* WEFT_FW_LLP_H */
