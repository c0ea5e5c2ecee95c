/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's side of tag_pair.h.
 */
#include "tests/pair/tag_pair.h"

#include <stdlib.h>

struct fw_qp *tp_qp(struct tp *tp, uint32_t e, const struct hw_cmd_tag_open *open)
{
	struct rp_end *end = &tp->rp.end[e];
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_qp_attr attr = {.port = 1, .qkey = RP_QKEY, .access = RP_ALL_ACCESS};
	struct hw_cmd_resp resp;
	struct fw_qp *qp;

	create->pd = end->pd;
	create->type = HW_QPT_RD;
	create->send_cq = end->scq->index;
	create->recv_cq = end->rcq->index;
	create->srq = HW_SRQ_NONE;
	create->sq_slots = 256;
	create->max_send_wr = 128;
	create->max_recv_wr = 64;
	create->max_send_sge = 16;
	create->max_recv_sge = 16;
	create->max_inline_bytes = 256;
	create->flags = HW_QP_F_TAGGED;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp->rp, e, &cmd, &resp), 0);
	qp = qp_find(end->nic, resp.u.create_qp.qpn);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp->rp, e, qp, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
			      0);
	cmd = (struct hw_cmd){.op = HW_CMD_TAG_OPEN, .u.tag_open = *open};
	cmd.u.tag_open.qpn = qp->qpn;
	cmd.u.tag_open.pool_stag = tp->pool_stag[e];
	cmd.u.tag_open.pool_addr = (uintptr_t)tp->pool[e];
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp->rp, e, &cmd, &resp), 0);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp->rp, e, qp, HW_QPS_RTR, 0, &attr), 0);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp->rp, e, qp, HW_QPS_RTS, HW_QP_SQ_PSN, &attr), 0);
	return qp;
}

void tp_begin_with(struct tp *tp, const struct hw_cmd_tag_open *open)
{
	uint32_t e;

	rp_begin(&tp->rp);
	rp_open(&tp->rp);
	for (e = 0; e < 2; e++) {
		tp->pool[e] = aligned_alloc(4096, TP_POOL_BYTES);
		CU_ASSERT_PTR_NOT_NULL_FATAL(tp->pool[e]);
		tp->pool_stag[e] =
		    rp_reg(&tp->rp, e, tp->pool[e], TP_POOL_BYTES, HW_ACCESS_LOCAL_WRITE, true);
		tp->qp[e] = tp_qp(tp, e, open);
	}
}

void tp_begin(struct tp *tp)
{
	struct hw_cmd_tag_open open = {
	    .pool_bytes = TP_POOL_BYTES,
	    .eager_bytes = TP_EAGER_BYTES,
	};

	tp_begin_with(tp, &open);
}

void tp_check(struct tp *tp, uint32_t e, uint32_t posted, uint32_t arrivals, uint32_t sends)
{
	const struct tag_nic *tag = &tp->rp.end[e].nic->tag;

	CU_ASSERT_EQUAL(tag->posteds.used, posted);
	CU_ASSERT_EQUAL(tag->arrivals.used, arrivals);
	CU_ASSERT_EQUAL(tag->sends.used, sends);
	if (!sends)
		CU_ASSERT_EQUAL(tag->kept.used, 0);
}

void tp_end(struct tp *tp)
{
	uint32_t e;

	rp_quiet(&tp->rp);
	for (e = 0; e < 2; e++)
		tp_check(tp, e, 0, 0, 0);
	rp_end(&tp->rp);
	for (e = 0; e < 2; e++)
		free(tp->pool[e]);
}

/* ---- operations -------------------------------------------------------------------------- */

void tp_ring(struct tp *tp, uint32_t e, struct fw_qp *qp)
{
	if (!__atomic_exchange_n(&qp->record->rq_rung, 1, __ATOMIC_ACQ_REL))
		rp_ring_raw(&tp->rp, e, HW_DB_ENTRY(HW_DB_RQ, qp->qpn));
}

uint32_t tp_write_op(struct fw_qp *qp, const struct hw_tag_rq_wqe *wqe, const struct hw_sge *sge)
{
	uint32_t place = qp->record->rq_prod;
	uint8_t *entry = qp->rq_ring + (size_t)(place & qp->rq_mask) * qp->rq_stride_bytes;

	memcpy(entry, wqe, sizeof(*wqe));
	if (wqe->num_sge <= HW_MAX_SGE)
		memcpy(entry + sizeof(*wqe), sge, wqe->num_sge * sizeof(*sge));
	__atomic_store_n(&qp->record->rq_prod, place + 1, __ATOMIC_RELEASE);
	return place;
}

uint32_t tp_op(struct tp *tp, uint32_t e, const struct tp_op *op)
{
	const struct rp_end *end = &tp->rp.end[e];
	uint32_t parts = op->num_sge ? op->num_sge : 1, i, place;
	struct hw_sge sge[HW_MAX_SGE];
	struct hw_tag_rq_wqe wqe = {
	    .op = op->op ? op->op : HW_TAG_RECV,
	    .flags = op->flags,
	    .num_sge = op->bytes ? (uint8_t)parts : 0,
	    .src_ip = tp->rp.end[!e].nic->config.ip,
	    .src_qpn = tp->qp[!e] ? tp->qp[!e]->qpn : 0,
	    .number = op->number,
	    .wr_id = op->wr_id,
	    .tag = op->tag,
	    .ignore = op->ignore,
	    .min_free_bytes = op->min_free_bytes,
	};

	for (i = 0; i < parts; i++)
		sge[i] = (struct hw_sge){
		    .addr = (uintptr_t)end->mem + op->offset + op->bytes / parts * i,
		    .bytes = i + 1 < parts ? op->bytes / parts
					   : op->bytes - op->bytes / parts * (parts - 1),
		    .lkey = op->lkey ? op->lkey : end->stag,
		};
	place = tp_write_op(tp->qp[e], &wqe, sge);
	tp_ring(tp, e, tp->qp[e]);
	return place;
}

uint32_t tp_recv(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
		 uint32_t bytes)
{
	struct tp_op op = {.wr_id = wr_id, .tag = tag, .offset = offset, .bytes = bytes};

	return tp_op(tp, e, &op);
}

void tp_send_flags(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
		   uint32_t bytes, uint32_t tsend_flags, uint8_t wqe_flags)
{
	const struct rp_end *end = &tp->rp.end[e];
	struct hw_sge sge = {
	    .addr = (uintptr_t)end->mem + offset, .bytes = bytes, .lkey = end->stag};
	bool inlined = wqe_flags & HW_WQE_F_INLINE;
	uint32_t data_bytes = inlined ? bytes : bytes ? (uint32_t)sizeof(sge) : 0;
	struct hw_sq_wqe wqe = {
	    .opcode = HW_WQE_TSEND,
	    .flags = (uint8_t)(wqe_flags ^ HW_WQE_F_SIGNALED), /* given: not signaled */
	    .num_sge = !inlined && bytes ? 1 : 0,
	    .slots = (uint8_t)hw_sq_slots(data_bytes),
	    .wr_id = wr_id,
	    .ah = end->ah,
	    .dst_qpn = tp->qp[!e]->qpn,
	    .qkey = RP_QKEY,
	    .inline_bytes = inlined ? bytes : 0,
	    .mw_access = tsend_flags,
	    .compare_add = tag,
	    .swap = ~wr_id,
	};

	rp_write_sq(tp->qp[e], &wqe, inlined ? (const void *)(end->mem + offset) : &sge,
		    data_bytes);
	rp_ring(&tp->rp, e, tp->qp[e]);
}

void tp_send(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
	     uint32_t bytes)
{
	tp_send_flags(tp, e, wr_id, tag, offset, bytes, 0, 0);
}

/* ---- completions ------------------------------------------------------------------------- */

struct hw_cqe tp_expect(struct tp *tp, uint32_t e, uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe = rp_expect_recv(&tp->rp, e, wr_id, status);

	CU_ASSERT(cqe.opcode == HW_CQE_TRECV || cqe.opcode == HW_CQE_TPEEK);
	CU_ASSERT_EQUAL(cqe.qpn, tp->qp[e]->qpn);
	return cqe;
}

struct hw_cqe tp_expect_sent(struct tp *tp, uint32_t e, uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe = {0};

	CU_ASSERT_FATAL(rp_scqe(&tp->rp, e, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.status, status);
	CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_TSEND);
	return cqe;
}

struct hw_resp_tag_query tp_query(struct tp *tp, uint32_t e)
{
	struct hw_cmd cmd = {.op = HW_CMD_TAG_QUERY, .u.obj.handle = tp->qp[e]->qpn};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp->rp, e, &cmd, &resp), 0);
	return resp.u.tag_query;
}
