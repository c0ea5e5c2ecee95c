/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over TCP, receiving: one DDP segment, in its turn.
 *
 * mpa_rx.c passes the ULPDU of each FPDU whose CRC was right. Calls rdmap_rx.c, mpa_rdmap.c,
 * mpa_term.c. The wire does not carry the length of a message: the offset of a segment and its last
 * flag determine it. Each error ends the stream with the Terminate that the RFCs name for it
 * (docs/terminate.md). RFC 5041 4, 5, 7, 8; RFC 5040 4, 5, 7; RFC 7306 5, 6.
 */
#include "nic_fw/fw_nic.h"

enum {
	QN_NONE = 0xfe, /* in place of a queue number */
	TERM_LEAST = sizeof(struct wire_terminate),
};

/* ---- place ----------------------------------------------------------------------------------- */

/* Checks the segment's place in its queue and in its message; TCP keeps the order. */
static enum rdmap_result check_place(struct fw_nic *nic, const struct mpa_conn *conn,
				     const struct rdmap_seg *pkt, struct rdmap_error *error)
{
	const uint32_t last_msn[DDP_QUEUES] = {
	    [WIRE_QN_SEND] = conn->qp->rx_msn_delivered,
	    [WIRE_QN_READ_REQUEST] = conn->rx_msn_read,
	    [WIRE_QN_TERMINATE] = conn->rx_msn_term,
	    [WIRE_QN_ATOMIC_RESPONSE] = conn->rx_msn_atomic,
	};
	uint32_t fixed = ddp_fixed_bytes(pkt->opcode);
	const struct recv_msg *msg;

	if (pkt->tagged)
		return RDMAP_OK;
	if (pkt->msn != last_msn[pkt->qn] + 1)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_MSN_RANGE);
	msg = pkt->qn == WIRE_QN_SEND ? recv_find(nic, conn->qp, pkt) : NULL;
	if (pkt->mo != (msg ? msg->done : 0))
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_INVALID_MO);
	if (!fixed && pkt->qn == WIRE_QN_SEND)
		return (uint64_t)pkt->mo + pkt->data_bytes <= HW_MAX_MSG_BYTES
			   ? RDMAP_OK
			   : rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_TOO_LONG);
	/* The message is one segment of a known length. */
	if (!pkt->last || (fixed && pkt->data_bytes > fixed))
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_TOO_LONG);
	if (pkt->data_bytes < (fixed ? fixed : (uint32_t)TERM_LEAST))
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
	return RDMAP_OK;
}

/* ---- opcodes --------------------------------------------------------------------------------- */

static enum rdmap_result place_and_finish(struct fw_nic *nic, struct fw_qp *qp,
					  struct rdmap_seg *pkt, struct rdmap_error *error)
{
	enum rdmap_result result;

	if (rdmap_rx_whole(nic, qp, pkt))
		return RDMAP_OK;
	result = rdmap_rx_place(nic, qp, pkt, true, error);
	return result == RDMAP_OK ? rdmap_rx_finish(nic, qp, pkt, NULL, error) : result;
}

static enum rdmap_result mpa_ddp_rx_send(struct fw_nic *nic, struct fw_qp *qp,
					 struct rdmap_seg *pkt, struct rdmap_error *error)
{
	enum rdmap_result result;

	pkt->msg_bytes = pkt->mo + pkt->data_bytes;
	result = place_and_finish(nic, qp, pkt, error);
	/* TCP has no retry: a Send without a receive is an error (RFC 5040 7.2, RFC 5041 7.1). */
	if (result == RDMAP_REFUSE)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_NO_BUFFER);
	return result;
}

/*
 * DDP's checks of a tagged segment are reported as DDP errors, access rights as RDMAP errors. RFC
 * 5041 8.2.
 */
static void tagged_error(struct rdmap_error *error)
{
	static const uint8_t codes[] = {
	    [WIRE_TERM_PROT_INVALID_STAG] = WIRE_TERM_T_INVALID_STAG,
	    [WIRE_TERM_PROT_BASE_BOUNDS] = WIRE_TERM_T_BASE_BOUNDS,
	    [WIRE_TERM_PROT_STAG_STREAM] = WIRE_TERM_T_STAG_STREAM,
	    [WIRE_TERM_PROT_TO_WRAP] = WIRE_TERM_T_TO_WRAP,
	};

	if (error->layer_etype != RDMAP_PROTECTION || error->code == WIRE_TERM_PROT_ACCESS ||
	    error->code >= sizeof(codes))
		return;
	(void)rdmap_error_of(error, DDP_TAGGED, codes[error->code]);
}

static enum rdmap_result mpa_ddp_rx_write(struct fw_nic *nic, struct mpa_conn *conn,
					  struct rdmap_seg *pkt, struct rdmap_error *error)
{
	enum rdmap_result result;

	if (conn->rx_write_done)
		conn->rx_write_bytes = 0;
	pkt->msg_bytes = conn->rx_write_bytes + pkt->data_bytes;
	result = place_and_finish(nic, conn->qp, pkt, error);
	if (result == RDMAP_ERROR)
		tagged_error(error);
	if (result != RDMAP_OK)
		return result;
	conn->rx_write_bytes = pkt->msg_bytes;
	conn->rx_write_done = pkt->last;
	return RDMAP_OK;
}

/* For verbs it is the end of the Write before it. */
static enum rdmap_result rx_immediate(struct fw_nic *nic, struct mpa_conn *conn,
				      const struct rdmap_seg *pkt, struct rdmap_error *error)
{
	struct rdmap_seg write = *pkt;
	struct eth_cursor cursor;
	enum rdmap_result result;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, sizeof(write.imm));
	eth_cursor_copy(&cursor, &write.imm, sizeof(write.imm));
	write.opcode = WIRE_RDMAP_WRITE;
	write.data_bytes = 0;
	write.msg_bytes = conn->rx_write_done ? conn->rx_write_bytes : 0;
	write.flags |= WIRE_DGRAM_F_IMM;
	if (pkt->opcode == WIRE_RDMAP_IMMEDIATE_SE)
		write.flags |= WIRE_DGRAM_F_SOLICITED;
	result = rdmap_rx_finish(nic, conn->qp, &write, NULL, error);
	if (result == RDMAP_REFUSE)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_NO_BUFFER);
	if (result == RDMAP_OK)
		conn->rx_write_bytes = 0;
	return result;
}

/*
 * Carries out a read or an atomic; the negotiated IRD bounds how many at a time. RFC 5040 5.2, RFC
 * 7306 5.
 */
static enum rdmap_result mpa_ddp_rx_request(struct fw_nic *nic, struct mpa_conn *conn,
					    struct rdmap_seg *pkt, struct rdmap_error *error)
{
	enum rdmap_result result;

	if (conn->qp->responder_slots >= conn->qp->attr.max_dest_rd_atomic)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_NO_BUFFER);
	result = rdmap_rx_finish(nic, conn->qp, pkt, NULL, error);
	if (result == RDMAP_REFUSE)
		return RDMAP_DROP; /* no context for the answer now */
	if (result == RDMAP_OK)
		conn->rx_msn_read++;
	return result;
}

static enum rdmap_result rx_read_response(struct fw_nic *nic, struct mpa_conn *conn,
					  struct rdmap_seg *pkt, struct rdmap_error *error)
{
	struct fw_wqe *wqe = requester_oldest_read(conn->qp);
	enum rdmap_result result;

	if (conn->rtr_answer && !pkt->data_bytes && pkt->last) {
		conn->rtr_answer = false;
		if (conn->qp->rd_atomics)
			conn->qp->rd_atomics--;
		qp_unblock(nic, conn->qp);
		return RDMAP_OK;
	}
	if (!wqe || wqe->rdmap_opcode != WIRE_RDMAP_READ_REQUEST || wqe->state == FW_WQE_QUEUED ||
	    pkt->stag != wqe_sink_stag(nic, wqe))
		return rdmap_error_of(error, DDP_TAGGED, WIRE_TERM_T_INVALID_STAG);
	if (pkt->to != wqe->read_bytes || pkt->data_bytes > wqe->bytes - pkt->to)
		return rdmap_error_of(error, DDP_TAGGED, WIRE_TERM_T_BASE_BOUNDS);
	pkt->ssn = wqe->ssn;
	result = place_and_finish(nic, conn->qp, pkt, error);
	return result;
}

static enum rdmap_result rx_atomic_response(struct fw_nic *nic, struct mpa_conn *conn,
					    struct rdmap_seg *pkt, struct rdmap_error *error)
{
	const struct fw_wqe *wqe = requester_oldest_read(conn->qp);
	struct wire_atomic_response answer;
	struct eth_cursor cursor;
	enum rdmap_result result;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, sizeof(answer));
	eth_cursor_copy(&cursor, &answer, sizeof(answer));
	if (!wqe || wqe->rdmap_opcode != WIRE_RDMAP_ATOMIC_REQUEST || wqe->state == FW_WQE_QUEUED ||
	    be32_get(answer.request_id) != wqe_sink_stag(nic, wqe))
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
	conn->rx_msn_atomic++;
	pkt->ssn = wqe->ssn;
	result = place_and_finish(nic, conn->qp, pkt, error);
	/* The buffer is not available now: the segment is offered again. */
	if (result == RDMAP_DROP)
		conn->rx_msn_atomic--;
	return result;
}

static enum rdmap_result mpa_ddp_rx_terminate(struct fw_nic *nic, struct mpa_conn *conn,
					      const struct rdmap_seg *pkt)
{
	uint8_t payload[MPA_TERM_MAX];
	uint32_t n = pkt->data_bytes < sizeof(payload) ? pkt->data_bytes : sizeof(payload);
	struct eth_cursor cursor;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, n);
	eth_cursor_copy(&cursor, payload, n);
	conn->rx_msn_term++;
	mpa_term_rx(nic, conn, payload, n);
	return RDMAP_VOID;
}

static enum rdmap_result rx_opcode(struct fw_nic *nic, struct mpa_conn *conn, struct rdmap_seg *pkt,
				   struct rdmap_error *error)
{
	switch ((enum wire_rdmap_opcode)pkt->opcode) {
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_INVALIDATE:
	case WIRE_RDMAP_SEND_SE:
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
		return mpa_ddp_rx_send(nic, conn->qp, pkt, error);
	case WIRE_RDMAP_WRITE:
		return mpa_ddp_rx_write(nic, conn, pkt, error);
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
		return rx_immediate(nic, conn, pkt, error);
	case WIRE_RDMAP_READ_REQUEST:
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return mpa_ddp_rx_request(nic, conn, pkt, error);
	case WIRE_RDMAP_READ_RESPONSE:
		return rx_read_response(nic, conn, pkt, error);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return rx_atomic_response(nic, conn, pkt, error);
	case WIRE_RDMAP_TERMINATE:
		return mpa_ddp_rx_terminate(nic, conn, pkt);
	}
	return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_OPCODE);
}

/* ---- the first frame of a peer-to-peer connection -------------------------------------------- */

static bool is_rtr(const struct mpa_conn *conn, const struct rdmap_seg *pkt)
{
	if (!conn->param.peer_to_peer || !pkt->last)
		return false;
	if (pkt->opcode == WIRE_RDMAP_READ_REQUEST)
		return conn->param.rtr & WIRE_MPA_RTR_READ;
	if (pkt->data_bytes)
		return false;
	return pkt->opcode == WIRE_RDMAP_SEND    ? conn->param.rtr & WIRE_MPA_RTR_SEND
	       : pkt->opcode == WIRE_RDMAP_WRITE ? conn->param.rtr & WIRE_MPA_RTR_WRITE
						 : false;
}

/* It takes no receive and no slot, and is not reported to the process. RFC 6581 9.2. */
static enum rdmap_result rx_rtr(struct fw_nic *nic, struct mpa_conn *conn,
				const struct rdmap_seg *pkt)
{
	struct fw_qp *qp = conn->qp;
	struct wire_read_request req;
	struct eth_cursor cursor;
	struct fw_wqe *msg;

	if (pkt->opcode == WIRE_RDMAP_SEND) {
		qp->rx_msn_taken++;
		qp->rx_msn_delivered++;
	}
	if (pkt->opcode != WIRE_RDMAP_READ_REQUEST)
		return RDMAP_OK;
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, sizeof(req));
	eth_cursor_copy(&cursor, &req, sizeof(req));
	if (be32_get(req.bytes))
		return RDMAP_VOID; /* a Read like others */
	msg = wqe_alloc_response(nic, qp, FW_WQE_READ_RESPONSE, pkt->station);
	if (!msg)
		return RDMAP_DROP;
	qp->responder_slots++;
	msg->rdmap_opcode = WIRE_RDMAP_READ_RESPONSE;
	msg->rkey = be32_get(req.sink_stag);
	msg->remote_addr = be64_get(req.sink_to);
	msg->ssn = pkt->msn;
	conn->rx_msn_read++;
	return mpa_rdmap_send(nic, msg) ? RDMAP_OK : RDMAP_VOID;
}

static enum rdmap_result rx_first(struct fw_nic *nic, struct mpa_conn *conn, struct rdmap_seg *pkt,
				  struct rdmap_error *error)
{
	enum rdmap_result result = RDMAP_VOID;

	if (is_rtr(conn, pkt))
		result = rx_rtr(nic, conn, pkt);
	if (result == RDMAP_DROP)
		return result;
	mpa_rx_first(nic, conn);
	/* The process may have closed the connection in response to the event. */
	if (result == RDMAP_OK || !conn->qp)
		return RDMAP_OK;
	return rx_opcode(nic, conn, pkt, error);
}

/*
 * Describes a segment before any of its contents was read. It is made where it stays: a copy of
 * fields that were just stored one by one waits until the processor has written them all back.
 */
static void describe(const struct mpa_conn *conn, const struct fw_rx_frame *frame, uint32_t offset,
		     uint32_t bytes, struct rdmap_seg *pkt)
{
	const struct fw_qp *qp = conn->qp;

	*pkt = (struct rdmap_seg){
	    .frame = frame,
	    .stream = true,
	    .station = conn->flow ? conn->flow->station : (uint8_t)STATION_NONE,
	    .src_ip = qp->dst_ip,
	    .src_qpn = qp->dst_qpn,
	    .dst_qpn = qp->qpn,
	    .incarnation = qp->incarnation_rx,
	    .data_offset = offset,
	    .data_bytes = bytes,
	    .ddp_offset = offset,
	    .ulpdu_bytes = (uint16_t)bytes,
	};
}

/* Parses a segment's headers. */
static enum rdmap_result parse(const struct fw_qp *qp, struct rdmap_seg *pkt,
			       struct rdmap_error *error)
{
	enum rdmap_result result = ddp_parse(pkt, DDP_ANY, error);

	pkt->ssn = pkt->msn;
	if (pkt->opcode == WIRE_RDMAP_READ_RESPONSE || pkt->opcode == WIRE_RDMAP_ATOMIC_RESPONSE) {
		pkt->flags |= WIRE_DGRAM_F_RESPONSE;
		pkt->incarnation = qp->incarnation_tx;
	}
	return result;
}

bool mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		uint32_t offset, uint32_t bytes)
{
	struct fw_qp *qp = conn->qp;
	struct rdmap_error error = {0, 0};
	enum rdmap_result result;
	struct rdmap_seg pkt;

	/* Its queue pair is gone. */
	if (!qp)
		return true;
	/* As with ESP: the peer must see the end of the connection, not an access error. */
	if (!qp_is_live(nic, qp))
		return false;
	describe(conn, frame, offset, bytes, &pkt);
	result = parse(qp, &pkt, &error);
	if (result == RDMAP_OK)
		result = check_place(nic, conn, &pkt, &error);
	if (result == RDMAP_OK) {
		FW_COUNT(nic, mpa_rx_fpdus);
		result = conn->state == MPA_RTR_WAIT ? rx_first(nic, conn, &pkt, &error)
						     : rx_opcode(nic, conn, &pkt, &error);
	} else {
		/* The receive that it was meant for, if any, is unknown. */
		pkt.qn = QN_NONE;
	}
	if (result == RDMAP_ERROR && conn->qp)
		rdmap_rx_error(nic, conn->qp, &pkt, &error);
	return result != RDMAP_DROP;
}

/* True if segments of the message may be taken as one: no error can come after its payload. */
static bool takes_runs(const struct rdmap_seg *pkt)
{
	return pkt->opcode == WIRE_RDMAP_SEND || pkt->opcode == WIRE_RDMAP_SEND_SE ||
	       pkt->opcode == WIRE_RDMAP_WRITE || pkt->opcode == WIRE_RDMAP_READ_RESPONSE;
}

bool mpa_ddp_rx_run(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		    uint32_t offset, uint32_t bytes)
{
	struct fw_qp *qp = conn->qp;
	struct rdmap_error error;
	enum rdmap_result result;
	struct rdmap_seg pkt;

	if (!qp_is_live(nic, qp) || qp->tag)
		return false;
	describe(conn, frame, offset, bytes, &pkt);
	if (parse(qp, &pkt, &error) != RDMAP_OK || !takes_runs(&pkt) ||
	    pkt.data_offset != frame->seg[0].bytes)
		return false;
	pkt.data_bytes = eth_run_payload_bytes(frame);
	/* A run that has an error is looked at segment by segment: the first may be right. */
	if (check_place(nic, conn, &pkt, &error) != RDMAP_OK || !rdmap_rx_is_expected(qp, &pkt) ||
	    !rdmap_rx_has_place(nic, qp, &pkt))
		return false;
	result = rx_opcode(nic, conn, &pkt, &error);
	if (result != RDMAP_OK && result != RDMAP_VOID)
		return false;
	FW_ADD(nic, mpa_rx_fpdus, frame->run);
	return true;
}

void mpa_ddp_early(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		   uint32_t offset, uint32_t bytes)
{
	struct rdmap_error error;
	struct rdmap_seg pkt;

	describe(conn, frame, offset, bytes, &pkt);
	if (ddp_parse(&pkt, DDP_ANY, &error) != RDMAP_OK ||
	    (!pkt.tagged && pkt.qn != WIRE_QN_SEND) || ddp_fixed_bytes(pkt.opcode) ||
	    pkt.opcode == WIRE_RDMAP_READ_RESPONSE)
		return;
	pkt.ssn = pkt.msn;
	pkt.msg_bytes = pkt.mo + pkt.data_bytes;
	/* A malformed segment is reported in its turn. */
	if ((uint64_t)pkt.mo + pkt.data_bytes <= HW_MAX_MSG_BYTES &&
	    rdmap_rx_place(nic, conn->qp, &pkt, false, &error) == RDMAP_OK)
		FW_COUNT(nic, mpa_rx_early);
}
