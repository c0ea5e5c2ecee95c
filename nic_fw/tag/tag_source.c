/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open sends as sources of the peer's reads.
 *
 * The STag of a read is the handle of the open send, no right of a region: only the endpoint that
 * the message was sent to may read it, once at a time, until it reports the end. The TO is the
 * send's secret: an RTS may outlive its sender, whose successor may have a send of that handle, and
 * other data. The memory is checked anew for every packet (wqe_gather.c). Inline data of a message
 * that became an RTS lies in a buffer of the NIC, because its slots in the send queue are retired.
 * Calls llp.h.
 */
#include "nic_fw/fw_nic.h"

bool tag_source_keep(struct fw_nic *nic, struct tag_send *send, const struct fw_wqe *wqe)
{
	const struct fw_qp *qp = wqe->qp;
	uint64_t ring_bytes = ((uint64_t)qp->sq_mask + 1) * HW_SQ_SLOT_BYTES, from, first;
	uint8_t *kept;
	uint32_t i;

	send->source = true;
	if (!(wqe->flags & HW_WQE_F_INLINE)) {
		send->num_sge = wqe->num_sge;
		for (i = 0; i < wqe->num_sge; i++)
			send->sge[i] = *wqe_sge(nic, wqe, i);
		return true;
	}
	if (!send->bytes)
		return true;
	kept = fw_pool_get(&nic->tag.kept);
	if (!kept) {
		send->source = false;
		return false;
	}
	/* It may wrap at the end of the ring. */
	from = (uint64_t)((wqe->sq_slot + 1) & qp->sq_mask) * HW_SQ_SLOT_BYTES;
	first = ring_bytes - from < send->bytes ? ring_bytes - from : send->bytes;
	fw_copy_once(kept, qp->sq_ring + from, first);
	fw_copy_once(kept + first, qp->sq_ring, send->bytes - first);
	send->kept = fw_pool_index(&nic->tag.kept, kept);
	return true;
}

enum hw_vendor_err tag_source_gather(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset,
				     uint32_t bytes, struct fw_tx_frame *frame)
{
	const struct tag_send *send =
	    tag_send_find(nic, wqe->qp, wqe->dst_ip, wqe->dst_qpn, wqe->tag_handle);

	if (!send || send->kept == FW_NONE || offset > send->bytes || bytes > send->bytes - offset)
		return HW_VENDOR_ERR_LKEY;
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = (const uint8_t *)fw_pool_at(&nic->tag.kept, send->kept) + offset,
	    .client = wqe->qp->client,
	    .bytes = bytes,
	    .kind = FW_TX_MEM,
	};
	frame->bytes += bytes;
	return HW_VENDOR_ERR_NONE;
}

static enum rdmap_result refuse(struct fw_nic *nic, struct rdmap_error *error, uint8_t code)
{
	FW_COUNT(nic, tag_stale);
	error->layer_etype = RDMAP_PROTECTION;
	error->code = code;
	return RDMAP_ERROR;
}

enum rdmap_result tag_source_read(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				  const struct wire_read_request *req, struct rdmap_error *error)
{
	uint32_t bytes = be32_get(req->bytes), i;
	uint64_t to = be64_get(req->src_to);
	struct tag_send *send =
	    tag_send_find(nic, qp, pkt->src_ip, pkt->src_qpn, be32_get(req->src_stag));
	struct fw_wqe *msg;

	if (!send || send->secret != to || !send->source || send->done || send->reading)
		return refuse(nic, error, WIRE_TERM_PROT_INVALID_STAG);
	/* Whole or from its beginning: a receive may be shorter. */
	if (bytes > send->bytes)
		return refuse(nic, error, WIRE_TERM_PROT_BASE_BOUNDS);
	msg = wqe_alloc_response(nic, qp, FW_WQE_READ_RESPONSE, pkt->station);
	if (!msg)
		return RDMAP_REFUSE;
	/* No slot of the responder is taken: the open send itself bounds the responses. */
	msg->tag_handle = tag_send_handle(nic, send);
	if (!wqe_extend(nic, msg, send->num_sge)) {
		wqe_free(nic, msg);
		return RDMAP_REFUSE;
	}
	msg->rdmap_opcode = WIRE_RDMAP_READ_RESPONSE;
	msg->dst_ip = pkt->src_ip;
	msg->dst_qpn = pkt->src_qpn;
	msg->qkey = pkt->qkey;
	msg->ssn = pkt->ssn;
	msg->msn = pkt->ssn;
	msg->bytes = bytes;
	msg->num_sge = send->num_sge;
	for (i = 0; i < send->num_sge; i++)
		wqe_set_sge(nic, msg, i, &send->sge[i]);
	msg->rkey = be32_get(req->sink_stag);
	msg->remote_addr = be64_get(req->sink_to);
	send->reading = true;
	if (!llp_send(nic, msg)) {
		send->reading = false;
		wqe_free(nic, msg);
		return RDMAP_REFUSE;
	}
	FW_COUNT(nic, reads_executed);
	return RDMAP_OK;
}

void tag_msg_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
		   enum hw_vendor_err vendor_err)
{
	switch ((enum fw_wqe_kind)wqe->kind) {
	case FW_WQE_TAG_READ:
		tag_rdv_read_ended(nic, wqe, status, vendor_err);
		break;
	case FW_WQE_READ_RESPONSE:
		tag_source_ended(nic, wqe, status);
		break;
	case FW_WQE_TAG_REPLY:
	case FW_WQE_TAG_NOTICE:
		tag_rdv_reply_ended(nic, wqe, status);
		break;
	case FW_WQE_TAG_WRITE:
		tag_rtr_write_ended(nic, wqe, status);
		break;
	case FW_WQE_TAG_SEND:
	case FW_WQE_TAG_NACK:
		tag_rtr_control_ended(nic, wqe, status);
		break;
	case FW_WQE_REQUEST:
	case FW_WQE_ATOMIC_RESPONSE:
	case FW_WQE_TERMINATE:
	case FW_WQE_CANCEL:
		break;
	}
}
