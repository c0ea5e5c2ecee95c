/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminates of RD, and of RC over it: messages of a response flow.
 *
 * A Terminate names the request that failed, and takes the place of its answer. Calls rd_flow.c,
 * rd_fail.c, rd_notice.c, rdmap_tx.c. RFC 5040 4.8; docs/terminate.md.
 */
#include "nic_fw/fw_nic.h"

/* Sends a Terminate that takes the place of a request, or of its answer. */
static void rd_term_send(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			 const struct rdmap_error *error)
{
	struct fw_wqe *msg = wqe_alloc(nic, qp, FW_WQE_TERMINATE);

	if (!msg)
		return;
	rdmap_tx_make_terminate(msg, pkt->ssn, error);
	msg->src_qpn = pkt->dst_qpn;
	msg->dst_ip = pkt->src_ip;
	msg->dst_qpn = pkt->src_qpn;
	msg->qkey = pkt->qkey;
	/* The tag of the request, whether it is of this connection or not. */
	if (qp == nic->host.null_qp || (qp_is_rc(qp) && !(pkt->flags & WIRE_DGRAM_F_RESPONSE)))
		msg->incarnation = pkt->incarnation;
	if (!rd_flow_send(nic, msg)) {
		wqe_free(nic, msg);
		return;
	}
	rd_notice_charge(nic, msg);
	FW_COUNT(nic, terminates_tx);
}

void rd_term_refuse(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    const struct rdmap_error *error)
{
	/* The peer repeated the request because the Terminate has not arrived yet. */
	if (rd_flow_is_terminating(nic, qp, pkt))
		return;
	/* Otherwise, and without a context, the peer repeats the request, and gets it then. */
	if (rd_notice_may(nic, pkt->src_ip, pkt->src_qpn))
		rd_term_send(nic, qp, pkt, error);
	else
		FW_COUNT(nic, terminates_held_back);
}

/* In place of an answer that is lost, which had a context: the request is not repeated. */
static void rd_term_answer(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			   const struct rdmap_error *error)
{
	if (!rd_flow_is_terminating(nic, qp, pkt))
		rd_term_send(nic, qp, pkt, error);
}

/* Returns the fields of a response's request that rd_term_send() reads. */
static struct rdmap_seg rd_term_request_of(const struct fw_wqe *response)
{
	struct rdmap_seg pkt = {
	    .src_ip = response->dst_ip,
	    .src_qpn = response->dst_qpn,
	    .dst_qpn = response->src_qpn,
	    .ssn = response->ssn,
	    .qkey = response->qkey,
	    .incarnation = response->incarnation,
	};

	return pkt;
}

void rd_term_response_lost(struct fw_nic *nic, const struct fw_wqe *response)
{
	struct rdmap_error error = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_OPERATION,
	    WIRE_TERM_OP_STREAM_CATASTROPHIC,
	};
	struct rdmap_seg to = rd_term_request_of(response);
	uint8_t shard = (uint8_t)(response->dst_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1));
	const struct rd_session *session = rd_session_find(nic, response->dst_ip, shard);

	/* It is sent anew when its owner is notified of its end. */
	if (response->kind == FW_WQE_TAG_REPLY || response->kind == FW_WQE_TAG_NOTICE)
		return;
	/* The end of the session has notified the peer already. */
	if (!session || session->state != RD_OPEN)
		return;
	/* The request of a response whose data went away is acknowledged, so it is not repeated. */
	if (response->kind == FW_WQE_TERMINATE) {
		error.layer_etype = response->term_layer_etype;
		error.code = response->term_code;
	}
	rd_term_answer(nic, nic->host.null_qp, &to, &error);
}

void rd_term_response_failed(struct fw_nic *nic, struct fw_wqe *response)
{
	struct fw_qp *qp = response->qp;
	struct rdmap_seg to = rd_term_request_of(response);
	struct rdmap_error error = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
	    WIRE_TERM_PROT_INVALID_STAG,
	};

	/* The packets sent of it become void; the Terminate takes its place in the flow. */
	rd_term_answer(nic, qp, &to, &error);
	rd_msg_fail(nic, response, HW_STATUS_LOC_PROT_ERR, HW_VENDOR_ERR_NONE);
}
