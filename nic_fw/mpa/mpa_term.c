/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminates: sends the error that ends a stream, and reads the peer's.
 *
 * Calls tcp.h, qp.c, mpa_rdmap.c. A Terminate is sent as RFC 5040 4.8 draws it. Linux's siw makes
 * the same fields of bit-fields whose order is that of the machine, so layer and type, and the
 * three bits after the code, are at other places: both forms are accepted. RFC 5040 4.8, 7; RFC
 * 5041 8; RFC 5044 8; RFC 7306 8; docs/terminate.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	SIW_HDRCT = 0x07, /* the place of M, D and R in siw: bits that RFC 5040 reserves */
};
static_assert((int)MPA_TERM_MAX >= (int)sizeof(struct wire_terminate) + (int)sizeof(struct be16) +
				       (int)sizeof(struct wire_ddp_untagged) +
				       (int)sizeof(struct wire_atomic_request),
	      "control, length, both headers");

/* ---- out ------------------------------------------------------------------------------------- */

/* Returns the bytes of the request's own header, behind that of DDP. RFC 5040 4.8, RFC 7306 8.2. */
static uint32_t rdmap_header_bytes(uint8_t opcode)
{
	if (opcode == WIRE_RDMAP_READ_REQUEST)
		return sizeof(struct wire_read_request);
	if (opcode == WIRE_RDMAP_ATOMIC_REQUEST)
		return sizeof(struct wire_atomic_request);
	return 0;
}

uint8_t *mpa_term(const struct fw_nic *nic, const struct mpa_conn *conn)
{
	return nic->mpa.terms + (size_t)fw_pool_index(&nic->mpa.conns, conn) * MPA_TERM_MAX;
}

/*
 * Quotes the faulty segment: its length and headers. Errors of MPA and our own errors quote none.
 */
static void quote(const struct fw_nic *nic, struct mpa_conn *conn, struct wire_terminate *term,
		  const struct rdmap_seg *pkt)
{
	struct be16 length = be16_put(pkt->ulpdu_bytes);
	uint8_t *dst = mpa_term(nic, conn) + sizeof(*term);
	struct eth_cursor cursor;
	uint32_t hdr, more;

	if (pkt->ulpdu_bytes < 2)
		return;
	hdr = pkt->frame->seg[0].data[pkt->ddp_offset] & WIRE_DDP_TAGGED
		  ? (uint32_t)sizeof(struct wire_ddp_tagged)
		  : (uint32_t)sizeof(struct wire_ddp_untagged);
	if (pkt->ulpdu_bytes < hdr)
		return;
	term->hdrct |= WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D;
	memcpy(dst, &length, sizeof(length));
	dst += sizeof(length);
	eth_cursor_init(&cursor, pkt->frame, pkt->ddp_offset, pkt->ulpdu_bytes);
	eth_cursor_copy(&cursor, dst, hdr);
	dst += hdr;
	more = rdmap_header_bytes(pkt->opcode);
	if (more && term->layer_etype >> 4 == WIRE_TERM_LAYER_RDMAP && cursor.left >= more) {
		term->hdrct |= WIRE_TERM_HDRCT_R;
		eth_cursor_copy(&cursor, dst, more);
		dst += more;
	}
	conn->term_bytes = (uint8_t)(dst - mpa_term(nic, conn));
}

static enum hw_event_type event_of(const struct rdmap_error *error)
{
	switch (error->layer_etype) {
	case RDMAP_PROTECTION:
	case DDP_TAGGED:
		return HW_EVENT_QP_ACCESS_ERR;
	case WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_CATASTROPHIC:
		return HW_EVENT_NONE; /* a completion reports it to the process */
	default:
		return HW_EVENT_QP_REQ_ERR;
	}
}

void mpa_terminate(struct fw_nic *nic, struct mpa_conn *conn, const struct rdmap_seg *pkt,
		   const struct rdmap_error *error)
{
	struct wire_terminate term = {.layer_etype = error->layer_etype, .code = error->code};
	struct fw_qp *qp = conn->qp;

	if (!mpa_flow(nic, conn) || (conn->state != MPA_FPDU && conn->state != MPA_RTR_WAIT))
		return;
	conn->term_bytes = sizeof(term);
	if (pkt)
		quote(nic, conn, &term, pkt);
	memcpy(mpa_term(nic, conn), &term, sizeof(term));
	conn->term_due = true;
	FW_COUNT(nic, mpa_terminates_tx);
	mpa_set_state(nic, conn, MPA_TERM_SENT);
	tcp_push(nic, conn->flow);
	tcp_close(nic, conn->flow);
	if (qp)
		qp_error(nic, qp, event_of(error));
}

/* ---- in -------------------------------------------------------------------------------------- */

static uint8_t swap_nibbles(uint8_t v)
{
	return (uint8_t)(v << 4 | v >> 4);
}

/* Maps siw's bits: M, D, R from the lowest on. */
static uint8_t hdrct_of_siw(uint8_t v)
{
	return (uint8_t)((v & 1 ? WIRE_TERM_HDRCT_M : 0) | (v & 2 ? WIRE_TERM_HDRCT_D : 0) |
			 (v & 4 ? WIRE_TERM_HDRCT_R : 0));
}

/* True if the RFCs define such a layer with such a type and code. */
static bool is_known(uint8_t layer_etype, uint8_t code)
{
	switch (layer_etype) {
	case WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_CATASTROPHIC:
	case WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_CATASTROPHIC:
		return code == 0;
	case RDMAP_PROTECTION:
		return code <= WIRE_TERM_PROT_TO_WRAP || code == WIRE_TERM_PROT_CANT_INVALIDATE ||
		       code == WIRE_TERM_PROT_UNSPECIFIED;
	case RDMAP_OPERATION:
		return (code >= WIRE_TERM_OP_VERSION && code <= WIRE_TERM_PROT_CANT_INVALIDATE) ||
		       code == WIRE_TERM_OP_UNSPECIFIED;
	case DDP_TAGGED:
		return code <= WIRE_TERM_T_VERSION;
	case DDP_UNTAGGED:
		return code >= WIRE_TERM_UT_INVALID_QN && code <= WIRE_TERM_UT_VERSION;
	case WIRE_TERM_LAYER_LLP << 4 | WIRE_TERM_LLP_MPA:
		return code >= WIRE_TERM_MPA_CLOSED && code <= WIRE_TERM_MPA_SETUP;
	default:
		return false;
	}
}

/* Returns the control word in the form of RFC 5040, whichever form the peer uses. */
static struct wire_terminate control_of(const uint8_t *payload)
{
	struct wire_terminate term;
	bool siw;

	memcpy(&term, payload, sizeof(term));
	if (term.hdrct & SIW_HDRCT)
		siw = true;
	else if (term.hdrct)
		siw = false;
	else
		/* Without headers the form is the one whose layer, type and code are defined. */
		siw = !is_known(term.layer_etype, term.code) &&
		      is_known(swap_nibbles(term.layer_etype), term.code);
	if (siw) {
		term.layer_etype = swap_nibbles(term.layer_etype);
		term.hdrct = hdrct_of_siw(term.hdrct);
	}
	return term;
}

/* True if the quoted header belongs to a segment of this request. */
static bool mpa_term_is_of(const struct fw_wqe *msg, const uint8_t *hdr)
{
	const struct wire_ddp_tagged *tagged = (const struct wire_ddp_tagged *)hdr;
	const struct wire_ddp_untagged *untagged = (const struct wire_ddp_untagged *)hdr;
	uint8_t opcode = hdr[1] & WIRE_RDMAP_OPCODE_MASK;
	bool imm = opcode == WIRE_RDMAP_IMMEDIATE || opcode == WIRE_RDMAP_IMMEDIATE_SE;

	if (hdr[0] & WIRE_DDP_TAGGED)
		return opcode == WIRE_RDMAP_WRITE && msg->rdmap_opcode == opcode &&
		       be32_get(tagged->stag) == msg->rkey &&
		       be64_get(tagged->to) - msg->remote_addr <= msg->sent_bytes;
	return (msg->rdmap_opcode == opcode || (imm && msg->opcode == HW_WQE_WRITE_IMM)) &&
	       be32_get(untagged->msn) == msg->msn;
}

static struct fw_wqe *find_request(struct fw_qp *qp, const uint8_t *hdr)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->wqes) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, qp_node);

		if (msg->streamed && !msg->answered && mpa_term_is_of(msg, hdr))
			return msg;
	}
	/*
	 * Linux's siw quotes a Read Request with its length in place of the MSN. Read Requests are
	 * answered in order, so it is the first one without an answer.
	 */
	if (!(hdr[0] & WIRE_DDP_TAGGED) &&
	    (hdr[1] & WIRE_RDMAP_OPCODE_MASK) == WIRE_RDMAP_READ_REQUEST)
		return requester_oldest_read(qp);
	return NULL;
}

static enum hw_status status_of(const struct wire_terminate *term)
{
	if (term->layer_etype == DDP_TAGGED)
		return HW_STATUS_REM_ACCESS_ERR;
	/* Other transports retry until they fail with this status. */
	if (term->layer_etype == DDP_UNTAGGED && term->code == WIRE_TERM_UT_NO_BUFFER)
		return HW_STATUS_RNR_RETRY_EXC_ERR;
	return rdmap_status_of(term->layer_etype, term->code);
}

void mpa_term_rx(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *payload, uint32_t bytes)
{
	struct wire_terminate term = control_of(payload);
	uint32_t at = sizeof(term) + (term.hdrct & WIRE_TERM_HDRCT_M ? sizeof(struct be16) : 0);
	struct fw_qp *qp = conn->qp;
	struct fw_wqe *msg = NULL;
	uint32_t hdr;

	FW_COUNT(nic, mpa_terminates_rx);
	if (!qp)
		return;
	if (term.hdrct & WIRE_TERM_HDRCT_D && bytes >= at + 2) {
		hdr = payload[at] & WIRE_DDP_TAGGED ? (uint32_t)sizeof(struct wire_ddp_tagged)
						    : (uint32_t)sizeof(struct wire_ddp_untagged);
		if (bytes >= at + hdr)
			msg = find_request(qp, payload + at);
	} else {
		msg = requester_oldest(qp);
	}
	if (msg)
		mpa_rdmap_terminated(nic, msg, status_of(&term));
	qp_error(nic, qp, HW_EVENT_QP_FATAL);
}
