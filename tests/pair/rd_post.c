/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's side of rd_pair.h: objects by command, requests, receives, doorbells, completions.
 */
#include "tests/pair/rd_pair.h"

uint32_t rp_reg(struct rp *rp, uint32_t e, void *mem, uint64_t bytes, uint32_t access, bool mapped)
{
	const struct rp_end *end = &rp->end[e];

	return host_reg(end->nic, end->client, end->pd, mem, bytes, access, mapped);
}

static int on_handle(struct rp *rp, uint32_t e, enum hw_cmd_op op, uint32_t handle)
{
	fw_now(rp->end[e].nic, rp->wire.now_ns);
	return host_obj(rp->end[e].nic, rp->end[e].client, op, handle, NULL);
}

int rp_dereg(struct rp *rp, uint32_t e, uint32_t stag)
{
	return on_handle(rp, e, HW_CMD_DEREG_MR, stag);
}

void rp_destroy_qp(struct rp *rp, uint32_t e, const struct fw_qp *qp)
{
	CU_ASSERT_EQUAL_FATAL(on_handle(rp, e, HW_CMD_DESTROY_QP, qp->qpn), 0);
}

struct fw_qp *rp_qp(struct rp *rp, uint32_t e, enum hw_qp_type type, uint32_t max_recv_sge)
{
	struct rp_end *end = &rp->end[e];
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_cmd_resp resp;
	struct fw_qp *qp;

	create->pd = end->pd;
	create->type = type;
	create->send_cq = end->scq->index;
	create->recv_cq = end->rcq->index;
	create->srq = HW_SRQ_NONE;
	create->sq_slots = 256;
	create->max_send_wr = 128;
	create->max_recv_wr = 128;
	create->max_send_sge = 16;
	create->max_recv_sge = max_recv_sge;
	create->max_inline_bytes = 256;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(rp, e, &cmd, &resp), 0);
	qp = qp_find(end->nic, resp.u.create_qp.qpn);
	CU_ASSERT_FATAL(end->num_qp < RP_QPS);
	end->qp[end->num_qp++] = qp;
	return qp;
}

int rp_modify(struct rp *rp, uint32_t e, const struct fw_qp *qp, enum hw_qp_state state,
	      uint32_t mask, const struct hw_qp_attr *attr)
{
	fw_now(rp->end[e].nic, rp->wire.now_ns);
	return host_modify(rp->end[e].nic, qp, state, mask, attr);
}

void rp_rts(struct rp *rp, uint32_t e, const struct fw_qp *qp)
{
	fw_now(rp->end[e].nic, rp->wire.now_ns);
	host_rts(rp->end[e].nic, qp, RP_ALL_ACCESS);
}

static void connect(struct rp *rp, uint32_t e, const struct fw_qp *qp, const struct fw_qp *dst,
		    const struct hw_qp_attr *given, enum hw_qp_state state)
{
	struct hw_qp_attr attr = *given;
	bool reliable = qp->type == HW_QPT_RC;

	attr.port = 1;
	attr.access = RP_ALL_ACCESS;
	attr.path_mtu = 1024;
	attr.dst_qpn = dst->qpn;
	attr.sq_psn = 100 + e;
	attr.rq_psn = 100 + !e;
	CU_ASSERT_EQUAL_FATAL(rp_modify(rp, e, qp, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS |
					    (attr.transport ? HW_QP_TRANSPORT : 0),
					&attr),
			      0);
	CU_ASSERT_EQUAL_FATAL(
	    rp_modify(rp, e, qp, HW_QPS_RTR,
		      HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN |
			  (reliable ? HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER : 0),
		      &attr),
	    0);
	if (state == HW_QPS_RTR)
		return;
	CU_ASSERT_EQUAL_FATAL(
	    rp_modify(rp, e, qp, HW_QPS_RTS,
		      HW_QP_SQ_PSN | (reliable ? HW_QP_TIMEOUT | HW_QP_RETRY_CNT | HW_QP_RNR_RETRY |
						     HW_QP_MAX_QP_RD_ATOMIC
					       : 0),
		      &attr),
	    0);
}

void rp_rc_state(struct rp *rp, struct fw_qp **a, struct fw_qp **b, const struct hw_qp_attr *attr,
		 enum hw_qp_state b_state)
{
	static const struct hw_qp_attr usual = {
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 12,
	    .max_rd_atomic = 16,
	    .max_dest_rd_atomic = 16,
	};

	*a = rp_qp(rp, 0, HW_QPT_RC, 4);
	*b = rp_qp(rp, 1, HW_QPT_RC, 4);
	connect(rp, 0, *a, *b, attr ? attr : &usual, HW_QPS_RTS);
	connect(rp, 1, *b, *a, attr ? attr : &usual, b_state);
}

void rp_rc(struct rp *rp, struct fw_qp **a, struct fw_qp **b, const struct hw_qp_attr *attr)
{
	rp_rc_state(rp, a, b, attr, HW_QPS_RTS);
}

void rp_ud(struct rp *rp, struct fw_qp **a, struct fw_qp **b)
{
	*a = rp_qp(rp, 0, HW_QPT_UD, 1);
	*b = rp_qp(rp, 1, HW_QPT_UD, 1);
	rp_rts(rp, 0, *a);
	rp_rts(rp, 1, *b);
}

void rp_uc(struct rp *rp, struct fw_qp **a, struct fw_qp **b)
{
	static const struct hw_qp_attr none;

	*a = rp_qp(rp, 0, HW_QPT_UC, 4);
	*b = rp_qp(rp, 1, HW_QPT_UC, 4);
	connect(rp, 0, *a, *b, &none, HW_QPS_RTS);
	connect(rp, 1, *b, *a, &none, HW_QPS_RTS);
}

/* ---- requests ---------------------------------------------------------------------------- */

uint32_t rp_write_sq(struct fw_qp *qp, const struct hw_sq_wqe *wqe, const void *data,
		     uint32_t data_bytes)
{
	uint32_t slot = qp->record->sq_prod, at;
	uint32_t slots = hw_sq_slots(data_bytes);

	memcpy(qp->sq_ring + (size_t)(slot & qp->sq_mask) * HW_SQ_SLOT_BYTES, wqe, sizeof(*wqe));
	for (at = 0; at < data_bytes; at += HW_SQ_SLOT_BYTES) {
		uint32_t n = data_bytes - at;

		slot++;
		if (n > HW_SQ_SLOT_BYTES)
			n = HW_SQ_SLOT_BYTES;
		memcpy(qp->sq_ring + (size_t)(slot & qp->sq_mask) * HW_SQ_SLOT_BYTES,
		       (const uint8_t *)data + at, n);
	}
	__atomic_store_n(&qp->record->sq_prod, qp->record->sq_prod + slots, __ATOMIC_RELEASE);
	return slots;
}

void rp_ring_raw(struct rp *rp, uint32_t e, uint32_t word)
{
	struct hw_bar_header *header = (void *)rp->end[e].bar;
	uint32_t *ring = (void *)(rp->end[e].bar + HW_BAR_DB_RING);

	__atomic_store_n(&ring[header->db_tail++ % HW_DB_RING_ENTRIES], word, __ATOMIC_RELEASE);
}

void rp_ring(struct rp *rp, uint32_t e, struct fw_qp *qp)
{
	if (!__atomic_exchange_n(&qp->record->rung, 1, __ATOMIC_ACQ_REL))
		rp_ring_raw(rp, e, HW_DB_ENTRY(HW_DB_SQ, qp->qpn));
}

void rp_req(struct rp *rp, uint32_t e, struct fw_qp *qp, const struct rp_req *req)
{
	struct rp_end *end = &rp->end[e];
	struct rp_end *peer = &rp->end[!e];
	struct hw_sge sge = {
	    .addr = (uintptr_t)end->mem + req->offset,
	    .bytes = req->bytes,
	    .lkey = req->lkey ? req->lkey : end->stag,
	};
	bool inlined = req->flags & HW_WQE_F_INLINE;
	uint32_t data_bytes = inlined ? req->bytes : req->bytes ? (uint32_t)sizeof(sge) : 0;
	struct hw_sq_wqe wqe = {
	    .opcode = req->opcode,
	    .flags = (uint8_t)(req->flags | (req->unsignaled ? 0 : HW_WQE_F_SIGNALED)),
	    .num_sge = !inlined && req->bytes ? 1 : 0,
	    .slots = (uint8_t)hw_sq_slots(data_bytes),
	    .imm_inv = req->imm,
	    .wr_id = req->wr_id,
	    .ah = end->ah,
	    .dst_qpn = req->dst ? req->dst->qpn : 0,
	    .qkey = RP_QKEY,
	    .inline_bytes = inlined ? req->bytes : 0,
	    .remote_addr = (uintptr_t)peer->mem + req->remote_offset,
	    .rkey = req->rkey ? req->rkey : peer->stag,
	    .mw_access = req->atomic,
	    .compare_add = req->compare_add,
	    .swap = req->swap,
	};

	rp_write_sq(qp, &wqe, inlined ? (const void *)(end->mem + req->offset) : &sge, data_bytes);
	rp_ring(rp, e, qp);
}

void rp_send(struct rp *rp, uint32_t e, struct fw_qp *qp, const struct fw_qp *dst, uint64_t wr_id,
	     uint32_t offset, uint32_t bytes)
{
	struct rp_req req = {
	    .opcode = HW_WQE_SEND, .wr_id = wr_id, .dst = dst, .offset = offset, .bytes = bytes};

	rp_req(rp, e, qp, &req);
}

void rp_recv(struct rp *rp, uint32_t e, struct fw_qp *qp, uint64_t wr_id, uint32_t offset,
	     uint32_t bytes)
{
	struct hw_sge sge = {
	    .addr = (uintptr_t)rp->end[e].mem + offset,
	    .bytes = bytes,
	    .lkey = rp->end[e].stag,
	};

	host_recv(qp, wr_id, &sge, 1);
}

/* ---- completions ------------------------------------------------------------------------- */

bool rp_scqe(struct rp *rp, uint32_t e, struct hw_cqe *cqe)
{
	return host_next_cqe(rp->end[e].scq, &rp->end[e].scq_cons, cqe);
}

bool rp_rcqe(struct rp *rp, uint32_t e, struct hw_cqe *cqe)
{
	return host_next_cqe(rp->end[e].rcq, &rp->end[e].rcq_cons, cqe);
}

void rp_expect_send(struct rp *rp, uint32_t e, uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe;

	CU_ASSERT_FATAL(rp_scqe(rp, e, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.status, status);
}

struct hw_cqe rp_expect_recv(struct rp *rp, uint32_t e, uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe;

	CU_ASSERT_FATAL(rp_rcqe(rp, e, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.status, status);
	return cqe;
}

void rp_expect_none(struct rp *rp)
{
	struct hw_cqe cqe;
	uint32_t e;

	for (e = 0; e < 2; e++) {
		CU_ASSERT_FALSE(rp_scqe(rp, e, &cqe));
		CU_ASSERT_FALSE(rp_rcqe(rp, e, &cqe));
	}
}

void rp_fill(uint8_t *mem, uint32_t bytes, uint32_t seed)
{
	uint32_t i, x = seed * 2654435761u + 1;

	for (i = 0; i < bytes; i++) {
		x = x * 1103515245u + 12345u;
		mem[i] = (uint8_t)(x >> 16);
	}
}

bool rp_filled(const uint8_t *mem, uint32_t bytes, uint32_t seed)
{
	uint32_t i, x = seed * 2654435761u + 1;

	for (i = 0; i < bytes; i++) {
		x = x * 1103515245u + 12345u;
		if (mem[i] != (uint8_t)(x >> 16))
			return false;
	}
	return true;
}
