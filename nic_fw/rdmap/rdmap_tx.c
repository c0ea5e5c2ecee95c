/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMAP and DDP headers of outgoing segments, and Terminates.
 *
 * Headers of every packet are made where they stay: a copy of fields that were just stored one by
 * one waits until the processor has written them all back.
 *
 * Calls wqe.h. RFC 5041 4.2, 4.3; RFC 5040 4.3-4.8; RFC 7306 5.2.
 */
#include "nic_fw/fw_nic.h"

static uint32_t rdmap_tx_put_untagged(const struct fw_wqe *msg, uint32_t qn, uint32_t msn,
				      uint32_t mo, bool last, uint8_t *dst)
{
	bool invalidate = msg->rdmap_opcode == WIRE_RDMAP_SEND_INVALIDATE ||
			  msg->rdmap_opcode == WIRE_RDMAP_SEND_SE_INVALIDATE;
	struct wire_ddp_untagged *h = (void *)dst;

	*h = (struct wire_ddp_untagged){
	    .ddp_ctrl = (uint8_t)(WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0)),
	    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | msg->rdmap_opcode),
	    .inv_stag = be32_put(invalidate ? msg->imm_inv : 0),
	    .qn = be32_put(qn),
	    .msn = be32_put(msn),
	    .mo = be32_put(mo),
	};
	return sizeof(*h);
}

static uint32_t put_tagged(const struct fw_wqe *msg, uint32_t offset, bool last, uint8_t *dst)
{
	struct wire_ddp_tagged *h = (void *)dst;

	*h = (struct wire_ddp_tagged){
	    .ddp_ctrl = (uint8_t)(WIRE_DDP_TAGGED | WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0)),
	    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | msg->rdmap_opcode),
	    .stag = be32_put(msg->rkey),
	    .to = be64_put(msg->remote_addr + offset),
	};
	return sizeof(*h);
}

static uint32_t put_read_request(const struct fw_nic *nic, const struct fw_wqe *msg, uint8_t *dst)
{
	struct wire_read_request r = {
	    .sink_stag = be32_put(wqe_sink_stag(nic, msg)),
	    .bytes = be32_put(msg->bytes),
	    .src_stag = be32_put(msg->rkey),
	    .src_to = be64_put(msg->remote_addr),
	};

	memcpy(dst, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t put_atomic_request(const struct fw_nic *nic, const struct fw_wqe *msg, uint8_t *dst)
{
	struct wire_atomic_request r = {
	    .request_id = be32_put(wqe_sink_stag(nic, msg)),
	    .stag = be32_put(msg->rkey),
	    .to = be64_put(msg->remote_addr),
	};

	if (msg->opcode == HW_WQE_FETCH_ADD) {
		/* The mask marks no field boundary. */
		r.opcode = be32_put(WIRE_ATOMIC_FETCH_ADD);
		r.add_swap = be64_put(msg->compare_add);
	} else {
		/* All bits take part in a swap. */
		bool typed = msg->opcode == HW_WQE_ATOMIC;

		r.opcode = be32_put(typed ? WIRE_ATOMIC_TYPED : WIRE_ATOMIC_CMP_SWAP);
		r.add_swap = be64_put(msg->swap);
		r.add_swap_mask = be64_put(typed ? msg->atomic : UINT64_MAX);
		r.compare = be64_put(msg->compare_add);
		r.compare_mask = be64_put(typed ? 0 : UINT64_MAX);
	}
	memcpy(dst, &r, sizeof(r));
	return sizeof(r);
}

/* RFC 5040 has no envelope: to DDP it is the first part of the payload. */
static uint32_t put_envelope(const struct fw_wqe *msg, uint8_t *dst)
{
	struct wire_tag *tag = (void *)dst;

	*tag = (struct wire_tag){
	    .kind = msg->tag_kind,
	    .flags = msg->tag_flags,
	    .status = msg->tag_status,
	    .bytes = be32_put(msg->tag_bytes),
	    .tag = be64_put(msg->tag_value),
	    .data = be64_put(msg->tag_data),
	    .stag = be32_put(msg->tag_stag),
	    .handle = be32_put(msg->tag_handle),
	};
	return sizeof(*tag);
}

FW_APART uint32_t put_header(const struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			     bool last, uint8_t *dst)
{
	struct wire_atomic_response response;
	struct wire_terminate terminate;
	uint32_t n;

	fw_trace(nic, TRACE_DDP_TX, msg->src_qpn, msg->wr_id, offset);
	switch ((enum wire_rdmap_opcode)msg->rdmap_opcode) {
	case WIRE_RDMAP_WRITE:
	case WIRE_RDMAP_READ_RESPONSE:
		return put_tagged(msg, offset, last, dst);
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_INVALIDATE:
	case WIRE_RDMAP_SEND_SE:
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
		n = rdmap_tx_put_untagged(msg, WIRE_QN_SEND, msg->msn, offset, last, dst);
		return wqe_envelope_bytes(msg, offset) ? n + put_envelope(msg, dst + n) : n;
	case WIRE_RDMAP_READ_REQUEST:
		n = rdmap_tx_put_untagged(msg, WIRE_QN_READ_REQUEST, msg->msn, 0, true, dst);
		return n + put_read_request(nic, msg, dst + n);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		n = rdmap_tx_put_untagged(msg, WIRE_QN_READ_REQUEST, msg->msn, 0, true, dst);
		return n + put_atomic_request(nic, msg, dst + n);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		n = rdmap_tx_put_untagged(msg, WIRE_QN_ATOMIC_RESPONSE, msg->msn, 0, true, dst);
		response.request_id = be32_put(msg->request_id);
		response.original = be64_put(msg->original);
		memcpy(dst + n, &response, sizeof(response));
		return n + (uint32_t)sizeof(response);
	case WIRE_RDMAP_TERMINATE:
		n = rdmap_tx_put_untagged(msg, WIRE_QN_TERMINATE, msg->msn, 0, true, dst);
		terminate = (struct wire_terminate){
		    .layer_etype = msg->term_layer_etype,
		    .code = msg->term_code,
		};
		memcpy(dst + n, &terminate, sizeof(terminate));
		return n + (uint32_t)sizeof(terminate);
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
		break;
	}
	assert(!"an opcode that weft does not send");
	return 0;
}

uint32_t rdmap_tx_header(const struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			 uint32_t bytes, uint8_t *dst)
{
	bool last = offset + bytes == msg->bytes;

	/* Most messages are plain Sends. */
	if (msg->rdmap_opcode != WIRE_RDMAP_SEND || msg->tag_kind || nic->trace)
		return put_header(nic, msg, offset, last, dst);
	return rdmap_tx_put_untagged(msg, WIRE_QN_SEND, msg->msn, offset, last, dst);
}

void rdmap_tx_make_terminate(struct fw_wqe *msg, uint32_t ssn, const struct rdmap_error *error)
{
	struct be32 wire_ssn = be32_put(ssn);

	msg->kind = FW_WQE_TERMINATE;
	msg->rdmap_opcode = WIRE_RDMAP_TERMINATE;
	msg->bytes = sizeof(struct wire_terminate);
	msg->term_outlasts = 0;
	msg->term_layer_etype = error->layer_etype;
	msg->term_code = error->code;
	msg->sent_bytes = 0;
	msg->num_sge = 0;
	msg->flags = 0;
	msg->msn = ssn;
	msg->ssn = ssn;
	memcpy(&msg->imm_inv, &wire_ssn, sizeof(msg->imm_inv));
}
