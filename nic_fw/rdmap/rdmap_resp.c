/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and atomics, at both ends; Terminates received.
 *
 * The responder carries a request out once, in its turn, and queues the response as a message of
 * the reverse session; max_dest_rd_atomic bounds how many a QP answers at a time. The requester
 * names its sink by an STag that only this request has (wqe_gather.c), so a response can write
 * nothing but the buffers of the read it answers. Calls llp.h, mem.c. RFC 5040 5.2, 4.4, 4.8; RFC
 * 7306 5.
 */
#include "nic_fw/fw_nic.h"

static enum rdmap_result refuse_access(struct rdmap_error *error, uint8_t code)
{
	error->layer_etype = RDMAP_PROTECTION;
	error->code = code;
	return RDMAP_ERROR;
}

/* Makes a response to pkt that is not queued yet; NULL: no slot or no context now. */
static struct fw_wqe *new_response(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, enum fw_wqe_kind kind)
{
	struct fw_wqe *msg;

	if (qp->responder_slots >= qp->attr.max_dest_rd_atomic)
		return NULL;
	msg = wqe_alloc_response(nic, qp, kind, pkt->station);
	if (!msg)
		return NULL;
	qp->responder_slots++;
	msg->dst_ip = pkt->src_ip;
	msg->dst_qpn = pkt->src_qpn;
	msg->qkey = pkt->qkey;
	msg->ssn = pkt->ssn;
	msg->msn = pkt->ssn;
	return msg;
}

enum rdmap_result rdmap_read_request(struct fw_nic *nic, struct fw_qp *qp,
				     const struct rdmap_seg *pkt,
				     const struct wire_read_request *req, struct rdmap_error *error)
{
	uint32_t bytes = be32_get(req->bytes);
	uint32_t stag = be32_get(req->src_stag);
	uint64_t to = be64_get(req->src_to);
	enum hw_vendor_err err;
	struct fw_wqe *msg;
	struct fw_mem mem;

	if (qp->tag && stag & STAG_SINK_FLAG)
		return rdmap_up.tag_read(nic, qp, pkt, req, error);
	if (!(qp->access & HW_ACCESS_REMOTE_READ) || bytes > HW_MAX_MSG_BYTES)
		return refuse_access(error, WIRE_TERM_PROT_ACCESS);
	if (mem_wraps(to, bytes))
		return refuse_access(error, WIRE_TERM_PROT_TO_WRAP);
	err = guess_mem_check(nic, qp, pkt, stag, to, bytes, HW_ACCESS_REMOTE_READ, &mem);
	if (err != HW_VENDOR_ERR_NONE)
		return refuse_access(error, rdmap_protection_code(err));
	msg = new_response(nic, qp, pkt, FW_WQE_READ_RESPONSE);
	if (!msg)
		return RDMAP_REFUSE;
	msg->rdmap_opcode = WIRE_RDMAP_READ_RESPONSE;
	msg->bytes = bytes;
	msg->num_sge = bytes ? 1 : 0;
	msg->sge[0] = (struct hw_sge){.addr = to, .bytes = bytes, .lkey = stag};
	msg->rkey = be32_get(req->sink_stag);
	msg->remote_addr = be64_get(req->sink_to);
	if (!llp_send(nic, msg)) {
		wqe_free(nic, msg);
		return RDMAP_REFUSE;
	}
	FW_COUNT(nic, reads_executed);
	qp->rx_msgs++;
	return RDMAP_OK;
}

/*
 * Takes the operation out of a request. False: it is not supported. RFC 7306 lets masks choose
 * fields; an add of one field and a swap of all bits are supported.
 */
static bool take_operation(const struct fw_qp *qp, const struct wire_atomic_request *req,
			   struct fw_atomic *op)
{
	uint64_t mask = be64_get(req->add_swap_mask), compare_mask = be64_get(req->compare_mask);

	*op = (struct fw_atomic){.type = HW_ATOMIC_UINT64,
				 .compare = be64_get(req->compare),
				 .value = be64_get(req->add_swap)};
	switch (be32_get(req->opcode) & WIRE_ATOMIC_OPCODE_MASK) {
	case WIRE_ATOMIC_FETCH_ADD:
		op->op = HW_ATOMIC_SUM;
		return !(mask << 1); /* the top bit is a field's boundary anyway */
	case WIRE_ATOMIC_CMP_SWAP:
		op->op = HW_ATOMIC_CSWAP;
		return mask == UINT64_MAX && compare_mask == UINT64_MAX;
	case WIRE_ATOMIC_TYPED:
		if (qp->type != HW_QPT_RD || compare_mask || !hw_atomic_is_valid(mask))
			return false;
		op->op = HW_ATOMIC_OP_OF(mask);
		op->type = HW_ATOMIC_TYPE_OF(mask);
		return true;
	default:
		return false;
	}
}

/* Queues the answer, which lacks the original value. RDMAP_REFUSE: no slot or context now. */
static enum rdmap_result queue_answer(struct fw_nic *nic, struct fw_qp *qp,
				      const struct rdmap_seg *pkt,
				      const struct wire_atomic_request *req, struct fw_wqe **answer)
{
	struct fw_wqe *msg = new_response(nic, qp, pkt, FW_WQE_ATOMIC_RESPONSE);

	if (!msg)
		return RDMAP_REFUSE;
	msg->rdmap_opcode = WIRE_RDMAP_ATOMIC_RESPONSE;
	msg->bytes = sizeof(struct wire_atomic_response);
	msg->request_id = be32_get(req->request_id);
	if (!llp_send(nic, msg)) {
		wqe_free(nic, msg);
		return RDMAP_REFUSE;
	}
	*answer = msg;
	return RDMAP_OK;
}

/* The operation was carried out, and the answer is queued. */
static enum rdmap_result answer_with(struct fw_nic *nic, struct fw_qp *qp, struct fw_wqe *answer,
				     uint64_t original)
{
	answer->original = original;
	FW_COUNT(nic, atomics_executed);
	qp->rx_msgs++;
	return RDMAP_OK;
}

/*
 * The memory is not mapped. Until the operation is over, and if it cannot be begun, the request
 * counts as lost. Its result waits for its repetition.
 */
static enum rdmap_result take_result(struct fw_nic *nic, struct fw_qp *qp,
				     const struct rdmap_seg *pkt,
				     const struct wire_atomic_request *req,
				     struct slow_atomic *atomic, struct rdmap_error *error)
{
	enum rdmap_result result;
	struct fw_wqe *msg;

	if (!atomic || !slow_atomic_is_over(nic, atomic))
		return RDMAP_DROP;
	if (atomic->err) {
		slow_atomic_free(nic, atomic);
		return refuse_access(error, WIRE_TERM_PROT_UNSPECIFIED);
	}
	result = queue_answer(nic, qp, pkt, req, &msg);
	if (result != RDMAP_OK)
		return result;
	result = answer_with(nic, qp, msg, atomic->original);
	slow_atomic_free(nic, atomic);
	return result;
}

/*
 * Queues the answer before the operation is carried out, so that nothing can fail after it. An
 * operation that processes keep from succeeding counts as lost: its answer is taken back before any
 * of it is sent, and the peer repeats the request.
 */
static enum rdmap_result rdmap_resp_carry_out(struct fw_nic *nic, struct fw_qp *qp,
					      const struct rdmap_seg *pkt,
					      const struct wire_atomic_request *req,
					      const struct fw_mem *mem, const struct fw_atomic *op)
{
	struct fw_wqe *msg;
	enum rdmap_result result = queue_answer(nic, qp, pkt, req, &msg);
	uint64_t original;

	if (result != RDMAP_OK)
		return result;
	if (!mem_atomic(mem, op, &original)) {
		FW_COUNT(nic, atomics_contended);
		llp_unsend(nic, msg);
		return RDMAP_DROP;
	}
	return answer_with(nic, qp, msg, original);
}

enum rdmap_result rdmap_atomic_request(struct fw_nic *nic, struct fw_qp *qp,
				       const struct rdmap_seg *pkt,
				       const struct wire_atomic_request *req,
				       struct rdmap_error *error)
{
	const struct slow_atomic_key key = {qp, pkt->src_ip, pkt->src_qpn, pkt->ssn,
					    pkt->peer ? pkt->peer->life : 0};
	uint64_t to = be64_get(req->to);
	struct slow_atomic *atomic;
	enum hw_vendor_err err;
	struct fw_atomic op;
	struct fw_mem mem;

	if (!(qp->access & HW_ACCESS_REMOTE_ATOMIC) || !take_operation(qp, req, &op))
		return refuse_access(error, WIRE_TERM_PROT_ACCESS);
	/* It was begun under rights that may have been taken back meanwhile. */
	atomic = slow_atomic_find(nic, xrc_pd(nic, qp, pkt->qkey), &key);
	if (atomic)
		return take_result(nic, qp, pkt, req, atomic, error);
	err = guess_mem_check(nic, qp, pkt, be32_get(req->stag), to, hw_atomic_bytes(op.type),
			      HW_ACCESS_REMOTE_ATOMIC, &mem);
	if (err != HW_VENDOR_ERR_NONE)
		return refuse_access(error, rdmap_protection_code(err));
	if (mem.addr % hw_atomic_bytes(op.type))
		return refuse_access(error, WIRE_TERM_PROT_UNSPECIFIED);
	if (mem.ptr)
		return rdmap_resp_carry_out(nic, qp, pkt, req, &mem, &op);
	/* It failed, and its sender does not know yet. */
	if (llp_is_refused(nic, qp, pkt))
		return refuse_access(error, WIRE_TERM_PROT_UNSPECIFIED);
	return take_result(nic, qp, pkt, req, slow_atomic_begin(nic, &key, &mem, &op), error);
}

enum rdmap_result rdmap_place_atomic_request(struct fw_nic *nic, const struct fw_qp *qp,
					     const struct rdmap_seg *pkt)
{
	struct wire_atomic_request req;
	struct eth_cursor cursor;
	struct fw_atomic op;
	struct fw_mem mem;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, sizeof(req));
	eth_cursor_copy(&cursor, &req, sizeof(req));
	if (take_operation(qp, &req, &op) &&
	    mem_check(nic, xrc_pd(nic, qp, pkt->qkey), qp->qpn, be32_get(req.stag),
		      be64_get(req.to), hw_atomic_bytes(op.type), HW_ACCESS_REMOTE_ATOMIC,
		      &mem) == HW_VENDOR_ERR_NONE &&
	    !mem.ptr)
		return RDMAP_DROP;
	return RDMAP_OK;
}

/*
 * Handles the result err of placing a response. A busy page makes the peer repeat it; any other
 * error is one of the requester's own memory, and ends its request.
 */
static enum rdmap_result placed(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_vendor_err err)
{
	if (err == HW_VENDOR_ERR_NONE)
		return RDMAP_OK;
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy)
		return RDMAP_DROP;
	llp_msg_fail(nic, wqe, wqe_status_of(err), err);
	return RDMAP_VOID;
}

enum rdmap_result rdmap_place_read_response(struct fw_nic *nic, struct fw_qp *qp,
					    const struct rdmap_seg *pkt)
{
	struct fw_wqe *wqe = wqe_from_sink(nic, qp, pkt, pkt->stag);
	struct eth_cursor cursor;
	struct hw_sge sge[HW_MAX_SGE];
	enum hw_vendor_err err;
	uint32_t i;

	if (!wqe || wqe->opcode != HW_WQE_READ || pkt->to > wqe->bytes ||
	    pkt->data_bytes > wqe->bytes - pkt->to || wqe->dst_qpn != pkt->src_qpn ||
	    wqe->dst_ip != pkt->src_ip)
		return RDMAP_VOID;
	for (i = 0; i < wqe->num_sge; i++)
		sge[i] = *wqe_sge(nic, wqe, i);
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	err = ddp_place_sges(nic, qp->pd, sge, wqe->num_sge, pkt->to, &cursor);
	return placed(nic, wqe, err);
}

enum rdmap_result rdmap_read_response(struct fw_nic *nic, struct fw_qp *qp,
				      const struct rdmap_seg *pkt)
{
	struct fw_wqe *wqe = wqe_from_sink(nic, qp, pkt, pkt->stag);

	if (!wqe || wqe->opcode != HW_WQE_READ)
		return RDMAP_VOID;
	/* In the order of the flow the segments must follow one another without a gap. */
	if (pkt->to == wqe->read_bytes)
		wqe->read_bytes += pkt->data_bytes;
	if (!pkt->last)
		return RDMAP_OK;
	if (wqe->read_bytes != wqe->bytes) {
		llp_msg_fail(nic, wqe, HW_STATUS_BAD_RESP_ERR, HW_VENDOR_ERR_NONE);
		return RDMAP_VOID;
	}
	llp_answered(nic, wqe);
	return RDMAP_OK;
}

/* Finds the atomic that a response answers; NULL: none of ours. */
static struct fw_wqe *atomic_of(struct fw_nic *nic, const struct fw_qp *qp,
				const struct rdmap_seg *pkt, const struct wire_atomic_response *rsp)
{
	struct fw_wqe *wqe = wqe_from_sink(nic, qp, pkt, be32_get(rsp->request_id));

	if (!wqe || !wqe_is_atomic(wqe->opcode) || wqe->dst_qpn != pkt->src_qpn ||
	    wqe->dst_ip != pkt->src_ip)
		return NULL;
	return wqe;
}

/* Writes the element over the SGE list, which has its size and may divide it anywhere. */
static enum hw_vendor_err place_original(struct fw_nic *nic, uint32_t pd, const struct fw_wqe *wqe,
					 const uint8_t *from)
{
	for (uint32_t i = 0; i < wqe->num_sge; i++) {
		const struct hw_sge *sge = wqe_sge(nic, wqe, i);
		struct fw_mem mem;
		enum hw_vendor_err err = mem_check(nic, pd, 0, sge->lkey, sge->addr, sge->bytes,
						   HW_ACCESS_LOCAL_WRITE, &mem);

		if (err != HW_VENDOR_ERR_NONE)
			return err;
		if (sge->bytes && !mem_write(nic, &mem, 0, from, sge->bytes))
			return HW_VENDOR_ERR_HOST_FAULT;
		from += sge->bytes;
	}
	return HW_VENDOR_ERR_NONE;
}

/*
 * Placed on arrival, because the packet is not accepted yet: a busy page makes the peer repeat it.
 */
enum rdmap_result rdmap_place_atomic_response(struct fw_nic *nic, struct fw_qp *qp,
					      const struct rdmap_seg *pkt)
{
	struct wire_atomic_response rsp;
	struct eth_cursor cursor;
	enum hw_vendor_err err;
	struct fw_wqe *wqe;
	uint64_t original;

	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, sizeof(rsp));
	eth_cursor_copy(&cursor, &rsp, sizeof(rsp));
	wqe = atomic_of(nic, qp, pkt, &rsp);
	if (!wqe)
		return RDMAP_VOID;
	original = be64_get(rsp.original);
	err = place_original(nic, qp->pd, wqe, (const uint8_t *)&original);
	return placed(nic, wqe, err);
}

enum rdmap_result rdmap_atomic_response(struct fw_nic *nic, struct fw_qp *qp,
					const struct rdmap_seg *pkt,
					const struct wire_atomic_response *rsp)
{
	struct fw_wqe *wqe = atomic_of(nic, qp, pkt, rsp);

	if (!wqe)
		return RDMAP_VOID;
	llp_answered(nic, wqe);
	return RDMAP_OK;
}

enum hw_status rdmap_status_of(uint8_t layer_etype, uint8_t code)
{
	switch (layer_etype) {
	case RDMAP_PROTECTION:
		return code == WIRE_TERM_PROT_CANT_INVALIDATE ? HW_STATUS_REM_INV_REQ_ERR
							      : HW_STATUS_REM_ACCESS_ERR;
	case WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_UNTAGGED:
	case WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_TAGGED:
		return HW_STATUS_REM_INV_REQ_ERR;
	default:
		return HW_STATUS_REM_OP_ERR;
	}
}

enum rdmap_result rdmap_terminate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				  const struct wire_terminate *term)
{
	struct be32 ssn;

	memcpy(&ssn, &pkt->imm, sizeof(ssn));
	FW_COUNT(nic, terminates_rx);
	llp_terminated(nic, qp, pkt, be32_get(ssn), rdmap_status_of(term->layer_etype, term->code));
	return RDMAP_OK;
}
