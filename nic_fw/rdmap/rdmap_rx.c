/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMAP, receiving: carries out an arriving segment.
 *
 * rdmap_rx_place() checks and places payload, possibly before the segment's turn; rdmap_rx_finish()
 * delivers it in its turn. Requests that must be carried out once and in order (reads, atomics,
 * invalidation) act in finish only. rdmap_resp.c handles responses. Calls ddp_rx.c, recv.c, mem.c,
 * cq.c. RFC 5040 5, 7; RFC 5041 7; RFC 7306 5, 8.
 */
#include "nic_fw/fw_nic.h"

/* A busy page counts as a lost packet; any other fault is the process's error. */
static enum rdmap_result fault_of(const struct fw_nic *nic, struct rdmap_error *error)
{
	return nic->host.mem_busy
		   ? RDMAP_DROP
		   : rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
}

/* Maps a failed check of ours to the protection error for the peer (RFC 5040 7.2). */
uint8_t rdmap_protection_code(enum hw_vendor_err err)
{
	if (err == HW_VENDOR_ERR_LKEY)
		return WIRE_TERM_PROT_INVALID_STAG;
	if (err == HW_VENDOR_ERR_BOUNDS)
		return WIRE_TERM_PROT_BASE_BOUNDS;
	if (err == HW_VENDOR_ERR_ACCESS)
		return WIRE_TERM_PROT_ACCESS;
	return WIRE_TERM_PROT_UNSPECIFIED;
}

struct fw_qp *rdmap_rx_qp(struct fw_nic *nic, const struct rdmap_seg *pkt)
{
	return qp_find_live(nic, pkt->dst_qpn);
}

/*
 * True if an RC packet belongs to this QP's connection. Requests carry the sender's tag, responses
 * the tag of the request that they answer. A QP thus answers reads before it has its own tag (in
 * RTR). A NIC refuses the packet if the connected QP does not exist, or belongs to another
 * connection.
 */
static bool is_connected(const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	uint16_t tag = pkt->flags & WIRE_DGRAM_F_RESPONSE ? qp->incarnation_tx : qp->incarnation_rx;

	return pkt->src_ip == qp->dst_ip && pkt->src_qpn == qp->dst_qpn && pkt->incarnation == tag;
}

bool rdmap_rx_is_expected(const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	bool response = pkt->flags & WIRE_DGRAM_F_RESPONSE;

	if (pkt->stream != llp_is_stream(qp) || !qp_can_receive(qp))
		return false;
	if (qp->type == HW_QPT_RD)
		return response || pkt->qkey == qp->qkey;
	return (qp->type == HW_QPT_RC || (response && qp_is_rc(qp))) && is_connected(qp, pkt);
}

bool rdmap_rx_is_due(const struct fw_qp *qp, uint32_t msn)
{
	return qp->type != HW_QPT_RC || msn == qp->rx_msn_delivered + 1;
}

bool rdmap_rx_has_place(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct fw_mem mem;

	return pkt->opcode != WIRE_RDMAP_WRITE || (qp->tag && pkt->stag & STAG_SINK_FLAG) ||
	       mem_check(nic, xrc_pd(nic, qp, pkt->qkey), qp->qpn, pkt->stag, pkt->to,
			 pkt->data_bytes, HW_ACCESS_REMOTE_WRITE, &mem) == HW_VENDOR_ERR_NONE;
}

/*
 * Checks a request of the connected peer: the sending end of an extended connection accepts none,
 * the receiving end those that name an SRQ of its domain (IBA A14.3.2).
 */
static enum rdmap_result check_xrc(struct fw_nic *nic, const struct fw_qp *qp,
				   const struct rdmap_seg *pkt, struct rdmap_error *error)
{
	if (qp->type == HW_QPT_RC)
		return RDMAP_OK;
	if (qp->type == HW_QPT_XRC_RECV && xrc_srq(nic, qp, pkt->qkey))
		return RDMAP_OK;
	FW_COUNT(nic, drop_xrc_srq);
	return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_INVALID_QN);
}

/* The QP cannot receive: it is retried while it is in set-up; a QP in error is dead. */
static enum rdmap_result check_state(struct fw_nic *nic, const struct fw_qp *qp,
				     const struct rdmap_seg *pkt, struct rdmap_error *error)
{
	FW_COUNT(nic, drop_qp_state);
	if (pkt->flags & WIRE_DGRAM_F_RESPONSE)
		return RDMAP_VOID;
	if (qp->state != HW_QPS_ERR && !rdmap_up.tag_is_late(qp, pkt))
		return RDMAP_REFUSE;
	return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_STREAM_CATASTROPHIC);
}

/* Checks that the QP accepts this packet at all. */
static enum rdmap_result check_qp(struct fw_nic *nic, const struct fw_qp *qp,
				  const struct rdmap_seg *pkt, struct rdmap_error *error)
{
	bool response = pkt->flags & WIRE_DGRAM_F_RESPONSE;

	if (!qp || !qp_is_reliable(qp) || pkt->stream != llp_is_stream(qp)) {
		FW_COUNT(nic, drop_no_qp);
		return response ? RDMAP_VOID
				: rdmap_error_of(error, RDMAP_OPERATION,
						 WIRE_TERM_OP_STREAM_CATASTROPHIC);
	}
	if (!qp_can_receive(qp))
		return check_state(nic, qp, pkt, error);
	if (qp_is_rc(qp)) {
		if (is_connected(qp, pkt))
			return response ? RDMAP_OK : check_xrc(nic, qp, pkt, error);
		FW_COUNT(nic, drop_incarnation);
		return response ? RDMAP_VOID
				: rdmap_error_of(error, RDMAP_OPERATION,
						 WIRE_TERM_OP_STREAM_CATASTROPHIC);
	}
	if (!response && pkt->qkey != qp->qkey) {
		FW_COUNT(nic, drop_qkey);
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_INVALID_QN);
	}
	return RDMAP_OK;
}

static enum rdmap_result place_send(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				    bool in_order, struct rdmap_error *error)
{
	struct recv_msg *msg;
	struct eth_cursor cursor;
	enum rdmap_result result;
	enum hw_vendor_err err;

	if (__builtin_expect(qp->tag != NULL, 0))
		return rdmap_up.tag_place(nic, qp, pkt, in_order, error);
	if (__builtin_expect(pkt->flags & WIRE_DGRAM_F_RESPONSE, 0))
		return RDMAP_VOID; /* only a tagged endpoint takes a Send of that class */
	if (qp->type != HW_QPT_RC)
		pkt->msn = pkt->ssn;
	msg = recv_find(nic, qp, pkt);
	if (!msg) {
		/*
		 * The message failed already, with the receive that it had, and gets no second one.
		 */
		if (llp_is_refused(nic, qp, pkt))
			return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
		result = recv_begin(nic, qp, pkt, in_order, &msg);
		if (result == RDMAP_ERROR)
			return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_MSN_RANGE);
		if (result != RDMAP_OK)
			return result;
	}
	/* All segments of a message are for one SRQ. */
	if (msg->srq && msg->srq != xrc_srq(nic, qp, pkt->qkey))
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_INVALID_QN);
	pkt->recv_serial = msg->serial;
	if (pkt->msg_bytes > msg->recv.bytes)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_TOO_LONG);
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	err = ddp_place_sges(nic, msg->recv.pd, msg->recv.sge, msg->recv.num_sge, pkt->mo, &cursor);
	if (err == HW_VENDOR_ERR_HOST_FAULT)
		return fault_of(nic, error);
	if (err != HW_VENDOR_ERR_NONE)
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
	return RDMAP_OK;
}

static enum rdmap_result place_write(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				     bool in_order, struct rdmap_error *error)
{
	enum hw_vendor_err err;
	struct fw_mem mem;

	if (qp->tag && pkt->stag & STAG_SINK_FLAG)
		return rdmap_up.tag_write(nic, qp, pkt, in_order, error);
	if (!(qp->access & HW_ACCESS_REMOTE_WRITE))
		return rdmap_error_of(error, RDMAP_PROTECTION, WIRE_TERM_PROT_ACCESS);
	if (mem_wraps(pkt->to, pkt->data_bytes))
		return rdmap_error_of(error, RDMAP_PROTECTION, WIRE_TERM_PROT_TO_WRAP);
	err = guess_mem_check(nic, qp, pkt, pkt->stag, pkt->to, pkt->data_bytes,
			      HW_ACCESS_REMOTE_WRITE, &mem);
	if (err != HW_VENDOR_ERR_NONE)
		return rdmap_error_of(error, RDMAP_PROTECTION, rdmap_protection_code(err));
	if (!pkt->data_bytes)
		return RDMAP_OK;
	if (!ddp_place_segment(nic, &mem, 0, pkt))
		return fault_of(nic, error);
	return RDMAP_OK;
}

enum rdmap_result rdmap_rx_place(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				 bool in_order, struct rdmap_error *error)
{
	enum rdmap_result result = check_qp(nic, qp, pkt, error);

	if (result != RDMAP_OK)
		return result;
	pkt->checked = in_order && !qp->tag;
	if (qp_is_rc(qp))
		qp_heard(nic, qp);
	fw_trace(nic, TRACE_DDP_RX, qp->qpn, pkt->tagged ? pkt->stag : pkt->msn,
		 pkt->tagged ? pkt->to : pkt->mo);
	switch ((enum wire_rdmap_opcode)pkt->opcode) {
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_INVALIDATE:
	case WIRE_RDMAP_SEND_SE:
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
		return place_send(nic, qp, pkt, in_order, error);
	case WIRE_RDMAP_WRITE:
		return place_write(nic, qp, pkt, in_order, error);
	case WIRE_RDMAP_READ_RESPONSE:
		return rdmap_place_read_response(nic, qp, pkt);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return rdmap_place_atomic_response(nic, qp, pkt);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return in_order ? RDMAP_OK : rdmap_place_atomic_request(nic, qp, pkt);
	case WIRE_RDMAP_READ_REQUEST:
	case WIRE_RDMAP_TERMINATE:
		return RDMAP_OK;
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
		break;
	}
	return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_OPCODE);
}

void rdmap_complete(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    uint64_t wr_id, const struct fw_srq *srq, uint8_t opcode, enum hw_status status)
{
	struct hw_cqe cqe = {
	    .wr_id = wr_id,
	    .bytes = pkt->msg_bytes,
	    .qpn = qp->qpn,
	    .src_qpn = pkt->src_qpn,
	    .src_ip = pkt->src_ip,
	    .status = (uint8_t)status,
	    .opcode = opcode,
	};
	bool se = pkt->opcode == WIRE_RDMAP_SEND_SE ||
		  pkt->opcode == WIRE_RDMAP_SEND_SE_INVALIDATE ||
		  (pkt->flags & WIRE_DGRAM_F_SOLICITED);

	recv_cqe_of_srq(&cqe, srq);
	if (pkt->flags & WIRE_DGRAM_F_IMM) {
		cqe.flags |= HW_CQE_F_IMM;
		cqe.imm_inv = pkt->imm;
	} else if (pkt->opcode == WIRE_RDMAP_SEND_INVALIDATE ||
		   pkt->opcode == WIRE_RDMAP_SEND_SE_INVALIDATE) {
		cqe.flags |= HW_CQE_F_INV;
		cqe.imm_inv = pkt->stag;
	}
	if (se)
		cqe.flags |= HW_CQE_F_SOLICITED;
	if (status == HW_STATUS_SUCCESS) {
		qp->rx_msgs++;
		qp->rx_bytes += pkt->msg_bytes;
	}
	fw_trace(nic, TRACE_CQE, qp->qpn, cqe.wr_id, status);
	if (!cq_post(nic, srq ? srq->cq : qp->recv_cq, &cqe))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

void rdmap_complete_recv(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			 struct recv_msg *msg, uint8_t opcode, enum hw_status status)
{
	const struct fw_srq *srq = msg->srq;
	uint64_t wr_id = msg->recv.wr_id;

	recv_end(nic, qp, msg);
	rdmap_complete(nic, qp, pkt, wr_id, srq, opcode, status);
}

static enum rdmap_result rdmap_rx_finish_send(struct fw_nic *nic, struct fw_qp *qp,
					      struct rdmap_seg *pkt, const uint8_t *held,
					      struct rdmap_error *error)
{
	struct recv_msg *msg;

	if (__builtin_expect(qp->tag != NULL, 0))
		return rdmap_up.tag_finish(nic, qp, pkt, held, error);
	msg = recv_find(nic, qp, pkt);
	if (msg && !pkt->mo)
		msg->done = 0;
	/*
	 * The receive was flushed, or given to an earlier message: the peer repeats the whole
	 * message.
	 */
	if (!msg || msg->serial != pkt->recv_serial || msg->done != pkt->mo)
		return RDMAP_REFUSE;
	if (!rdmap_rx_is_due(qp, pkt->msn))
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_MSN_RANGE);
	msg->done += pkt->data_bytes;
	if (!pkt->last)
		return RDMAP_OK;
	if ((pkt->opcode == WIRE_RDMAP_SEND_INVALIDATE ||
	     pkt->opcode == WIRE_RDMAP_SEND_SE_INVALIDATE) &&
	    !guess_mem_invalidate(nic, qp, pkt, msg->recv.pd))
		return rdmap_error_of(error, RDMAP_PROTECTION, WIRE_TERM_PROT_CANT_INVALIDATE);
	qp->rx_msn_delivered = pkt->msn;
	rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV, HW_STATUS_SUCCESS);
	return RDMAP_OK;
}

/* A Write with immediate takes a receive when its last segment's turn has come. */
static enum rdmap_result finish_write(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				      struct rdmap_error *error)
{
	enum rdmap_result result;
	struct recv_msg *msg;

	if (!pkt->last || !(pkt->flags & WIRE_DGRAM_F_IMM)) {
		if (pkt->last) {
			qp->rx_msgs++;
			qp->rx_bytes += pkt->msg_bytes;
		}
		return RDMAP_OK;
	}
	/* The receives of a tagged endpoint wait for messages with tags. */
	if (qp->tag) {
		rdmap_complete(nic, qp, pkt, 0, NULL, HW_CQE_RECV_WRITE_IMM, HW_STATUS_SUCCESS);
		return RDMAP_OK;
	}
	pkt->msn = qp->type == HW_QPT_RC ? qp->rx_msn_delivered + 1 : pkt->ssn;
	msg = recv_find(nic, qp, pkt);
	/* A connected peer that began a Send of this number and left it unfinished. */
	if (msg && msg->begun && qp->type == HW_QPT_RC)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_MSN_RANGE);
	if (!msg) {
		result = recv_begin(nic, qp, pkt, true, &msg);
		if (result == RDMAP_ERROR)
			return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_MSN_RANGE);
		if (result != RDMAP_OK)
			return result;
	}
	qp->rx_msn_delivered = pkt->msn;
	rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV_WRITE_IMM, HW_STATUS_SUCCESS);
	return RDMAP_OK;
}

enum rdmap_result rdmap_rx_finish(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				  const uint8_t *held, struct rdmap_error *error)
{
	uint8_t payload[RDMAP_HELD_BYTES];
	struct eth_cursor cursor;
	enum rdmap_result result = RDMAP_OK;

	/* The QP may have changed since a packet was placed before its turn. */
	if (!pkt->checked)
		result = check_qp(nic, qp, pkt, error);
	if (result != RDMAP_OK)
		return result;
	fw_trace(nic, TRACE_RDMAP_RX, qp->qpn, pkt->opcode, pkt->data_bytes);
	if (rdmap_tx_is_self_contained(pkt->opcode) && !held) {
		uint32_t n = pkt->data_bytes < sizeof(payload) ? pkt->data_bytes : sizeof(payload);

		eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, n);
		eth_cursor_copy(&cursor, payload, n);
		held = payload;
	}
	switch ((enum wire_rdmap_opcode)pkt->opcode) {
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_INVALIDATE:
	case WIRE_RDMAP_SEND_SE:
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
		return rdmap_rx_finish_send(nic, qp, pkt, held, error);
	case WIRE_RDMAP_WRITE:
		return finish_write(nic, qp, pkt, error);
	case WIRE_RDMAP_READ_REQUEST:
		return rdmap_read_request(nic, qp, pkt, (const void *)held, error);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return rdmap_atomic_request(nic, qp, pkt, (const void *)held, error);
	case WIRE_RDMAP_READ_RESPONSE:
		return rdmap_read_response(nic, qp, pkt);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return rdmap_atomic_response(nic, qp, pkt, (const void *)held);
	case WIRE_RDMAP_TERMINATE:
		return rdmap_terminate(nic, qp, pkt, (const void *)held);
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
		break;
	}
	return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_OPCODE);
}

/* Completes the receive of a failed message with the reason. */
static void fail_recv(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		      const struct rdmap_error *error)
{
	struct recv_msg *msg = recv_find(nic, qp, pkt);
	enum hw_status status = HW_STATUS_LOC_PROT_ERR;

	/* The QP's error ends earlier receives before this one. */
	if (!msg || !rdmap_rx_is_due(qp, pkt->msn))
		return;
	if (msg->tag) {
		recv_abort(nic, msg, status);
		return;
	}
	if (error->layer_etype == DDP_UNTAGGED && error->code == WIRE_TERM_UT_TOO_LONG)
		status = HW_STATUS_LOC_LEN_ERR;
	else if (error->layer_etype == RDMAP_PROTECTION)
		status = HW_STATUS_REM_INV_REQ_ERR; /* an STag that may not be invalidated */
	qp->rx_msn_delivered = pkt->msn;
	rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV, status);
}

void rdmap_rx_error(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    const struct rdmap_error *error)
{
	struct rdmap_error no_qp = {RDMAP_OPERATION, WIRE_TERM_OP_STREAM_CATASTROPHIC};
	bool connected = qp && qp_is_rc(qp) && is_connected(qp, pkt);

	/* The peer repeats its datagram, and receives the Terminate then. */
	if (!pkt->stream && (!qp || (qp_is_rc(qp) && !connected)) &&
	    qp_has_just_ended(nic, pkt->dst_qpn))
		return;
	if (!qp || !qp_is_reliable(qp)) {
		llp_refuse(nic, nic->host.null_qp, pkt, &no_qp);
		return;
	}
	if (pkt->stream != llp_is_stream(qp)) {
		/* A datagram for a QP whose messages come by streams is refused. */
		llp_refuse(nic, nic->host.null_qp, pkt, &no_qp);
		return;
	}
	/* A datagram of an earlier connection may have the number of a message of this one. */
	if (!pkt->tagged && pkt->qn == WIRE_QN_SEND && qp_can_receive(qp) &&
	    (!qp_is_rc(qp) || connected))
		fail_recv(nic, qp, pkt, error);
	/* Sent before the QP's error ends the stream. */
	if (pkt->stream)
		llp_refuse(nic, qp, pkt, error);
	if (connected && qp_can_receive(qp))
		qp_error(nic, qp,
			 error->layer_etype == RDMAP_PROTECTION ? HW_EVENT_QP_ACCESS_ERR
								: HW_EVENT_QP_REQ_ERR);
	if (!pkt->stream)
		llp_refuse(nic, qp, pkt, error);
}
