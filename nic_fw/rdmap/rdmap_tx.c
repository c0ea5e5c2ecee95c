/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMAP and DDP headers of what is sent, and Terminates.
 *
 * Called by rd_tx.c, esp_rdmap.c and mpa_tx.c for each segment. RFC 5041 4.2, 4.3; RFC
 * 5040 4.3-4.8; RFC 7306 5.2.
 */
#include "nic_fw/fw_nic.h"

static uint32_t put_untagged(const struct fw_wqe *msg, uint32_t qn, uint32_t msn, uint32_t mo,
			     bool last, uint8_t *dst)
{
	bool invalidate = msg->rdmap_opcode == WIRE_RDMAP_SEND_INVALIDATE ||
			  msg->rdmap_opcode == WIRE_RDMAP_SEND_SE_INVALIDATE;
	struct wire_ddp_untagged h = {
	    .ddp_ctrl = (uint8_t)(WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0)),
	    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | msg->rdmap_opcode),
	    .inv_stag = be32_put(invalidate ? msg->imm_inv : 0),
	    .qn = be32_put(qn),
	    .msn = be32_put(msn),
	    .mo = be32_put(mo),
	};

	memcpy(dst, &h, sizeof(h));
	return sizeof(h);
}

static uint32_t put_tagged(const struct fw_wqe *msg, uint32_t offset, bool last, uint8_t *dst)
{
	struct wire_ddp_tagged h = {
	    .ddp_ctrl = (uint8_t)(WIRE_DDP_TAGGED | WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0)),
	    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | msg->rdmap_opcode),
	    .stag = be32_put(msg->rkey),
	    .to = be64_put(msg->remote_addr + offset),
	};

	memcpy(dst, &h, sizeof(h));
	return sizeof(h);
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
	bool swap = msg->opcode == HW_WQE_CMP_SWAP;
	struct wire_atomic_request r = {
	    .opcode = be32_put(swap ? WIRE_ATOMIC_CMP_SWAP : WIRE_ATOMIC_FETCH_ADD),
	    .request_id = be32_put(wqe_sink_stag(nic, msg)),
	    .stag = be32_put(msg->rkey),
	    .to = be64_put(msg->remote_addr),
	    .add_swap = be64_put(swap ? msg->swap : msg->compare_add),
	    /* All bits take part in a swap; an add's mask marks no field boundary. */
	    .add_swap_mask = be64_put(swap ? UINT64_MAX : 0),
	    .compare = be64_put(swap ? msg->compare_add : 0),
	    .compare_mask = be64_put(swap ? UINT64_MAX : 0),
	};

	memcpy(dst, &r, sizeof(r));
	return sizeof(r);
}

uint32_t rdmap_tx_header(const struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			 uint32_t bytes, uint8_t *dst)
{
	bool last = offset + bytes == msg->bytes;
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
		return put_untagged(msg, WIRE_QN_SEND, msg->msn, offset, last, dst);
	case WIRE_RDMAP_READ_REQUEST:
		n = put_untagged(msg, WIRE_QN_READ_REQUEST, msg->msn, 0, true, dst);
		return n + put_read_request(nic, msg, dst + n);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		n = put_untagged(msg, WIRE_QN_READ_REQUEST, msg->msn, 0, true, dst);
		return n + put_atomic_request(nic, msg, dst + n);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		n = put_untagged(msg, WIRE_QN_ATOMIC_RESPONSE, msg->msn, 0, true, dst);
		response.request_id = be32_put(msg->rkey);
		response.original = be64_put(msg->swap);
		memcpy(dst + n, &response, sizeof(response));
		return n + (uint32_t)sizeof(response);
	case WIRE_RDMAP_TERMINATE:
		n = put_untagged(msg, WIRE_QN_TERMINATE, msg->msn, 0, true, dst);
		terminate = (struct wire_terminate){
		    .layer_etype = (uint8_t)(msg->swap >> 8),
		    .code = (uint8_t)msg->swap,
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

static void make_terminate(struct fw_wqe *msg, uint32_t ssn, uint8_t layer_etype, uint8_t code)
{
	struct be32 wire_ssn = be32_put(ssn);

	msg->kind = FW_WQE_TERMINATE;
	msg->rdmap_opcode = WIRE_RDMAP_TERMINATE;
	msg->bytes = sizeof(struct wire_terminate);
	msg->compare_add = 0;
	msg->sent_bytes = 0;
	msg->num_sge = 0;
	msg->flags = 0;
	msg->msn = ssn;
	msg->ssn = ssn;
	memcpy(&msg->imm_inv, &wire_ssn, sizeof(msg->imm_inv));
	msg->swap = (uint64_t)layer_etype << 8 | code;
}

void rdmap_tx_terminate(struct fw_nic *nic, struct fw_qp *qp, const struct dgram_pkt *pkt,
			const struct rdmap_error *error)
{
	struct fw_wqe *msg;

	/* The request comes again because the peer has not heard of it yet. */
	if (rd_flow_is_terminating(nic, qp, pkt))
		return;
	msg = wqe_alloc(nic, qp, FW_WQE_TERMINATE);
	/* Without a context the peer tries again and hears of it then. */
	if (!msg)
		return;
	make_terminate(msg, pkt->ssn, error->layer_etype, error->code);
	msg->src_qpn = pkt->dst_qpn;
	msg->dst_ip = pkt->src_ip;
	msg->dst_qpn = pkt->src_qpn;
	msg->qkey = pkt->qkey;
	/* The tag of the request, be it of this connection or not. */
	if (qp == nic->host.null_qp || (qp_is_rc(qp) && !(pkt->flags & WIRE_DGRAM_F_RESPONSE)))
		msg->incarnation = pkt->incarnation;
	if (!rd_flow_send(nic, msg))
		wqe_free(nic, msg);
	else
		FW_COUNT(nic, rd_terminates_tx);
}

/* What rdmap_tx_terminate() asks of the request that a response answers. */
static struct dgram_pkt request_of(const struct fw_wqe *response)
{
	struct dgram_pkt pkt = {
	    .src_ip = response->dst_ip,
	    .src_qpn = response->dst_qpn,
	    .dst_qpn = response->src_qpn,
	    .ssn = response->ssn,
	    .qkey = response->qkey,
	    .incarnation = response->incarnation,
	};

	return pkt;
}

void rdmap_tx_response_lost(struct fw_nic *nic, const struct fw_wqe *response)
{
	struct rdmap_error error = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_OPERATION,
	    WIRE_TERM_OP_STREAM_CATASTROPHIC,
	};
	struct dgram_pkt to = request_of(response);
	uint8_t shard = (uint8_t)(response->dst_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1));
	const struct rd_session *session = rd_session_find(nic, response->dst_ip, shard);

	/* A session that has ended told the peer already. */
	if (!session || session->state != RD_OPEN)
		return;
	/* Of one whose data went away the request is acknowledged: it does not come again. */
	if (response->kind == FW_WQE_TERMINATE) {
		error.layer_etype = (uint8_t)(response->swap >> 8);
		error.code = (uint8_t)response->swap;
	}
	rdmap_tx_terminate(nic, nic->host.null_qp, &to, &error);
}

void rdmap_tx_response_failed(struct fw_nic *nic, struct fw_wqe *response)
{
	struct fw_qp *qp = response->qp;
	struct dgram_pkt to = request_of(response);
	struct rdmap_error error = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
	    WIRE_TERM_PROT_INVALID_STAG,
	};

	/* What was sent of it becomes void; the Terminate takes its place in the flow. */
	rdmap_tx_terminate(nic, qp, &to, &error);
	rd_msg_fail(nic, response, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
}
