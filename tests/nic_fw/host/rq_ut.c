/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives from a QP's own queue and from an SRQ: order, wrap-around, malformed entries, invalid
 * indices, the limit event.
 */
#include "tests/bench/host.h"

struct rig {
	struct fw_ut ut;
	uint32_t pd;
	struct fw_cq *cq;
	struct fw_qp *qp;
	struct fw_srq *srq;
};

static void begin(struct rig *rig, bool with_srq)
{
	fw_ut_begin(&rig->ut);
	rig->pd = host_pd(rig->ut.nic, 0);
	rig->cq = host_cq(rig->ut.nic, 0, 64, HW_EQ_NONE);
	rig->srq = with_srq ? host_srq(rig->ut.nic, 0, rig->pd, 8, 4) : NULL;
	rig->qp = host_qp(rig->ut.nic, 0, HW_QPT_RD, rig->pd, rig->cq,
			  with_srq ? rig->srq->index : HW_SRQ_NONE);
}

static void srq_post(struct fw_srq *srq, uint64_t wr_id, uint32_t num_sge)
{
	struct hw_rq_wqe wqe = {.wr_id = wr_id, .num_sge = num_sge};

	memcpy(srq->ring + (size_t)(srq->record->prod & srq->mask) * srq->stride_bytes, &wqe,
	       sizeof(wqe));
	srq->record->prod++;
}

static void taken_in_order_over_the_wrap(void)
{
	struct fw_recv recv;
	struct rig rig;
	uint32_t i;

	begin(&rig, false);
	rig.qp->rq_cons = rig.qp->rq_prod = rig.qp->record->rq_prod = UINT32_MAX - 20;
	for (i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
		fw_ut_post_recv(rig.qp, i, i % 5);
		CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 1);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
		CU_ASSERT_EQUAL(recv.wr_id, i);
		CU_ASSERT_EQUAL(recv.num_sge, i % 5);
		CU_ASSERT_EQUAL(recv.bytes, 100 * (i % 5));
		CU_ASSERT_EQUAL(recv.pd, rig.pd);
		CU_ASSERT_EQUAL(rig.qp->record->rq_cons, UINT32_MAX - 20 + i + 1);
	}
	fw_ut_end(&rig.ut);
}

static void lengths_are_summed_in_64_bits(void)
{
	struct hw_sge sge[2] = {{.bytes = UINT32_MAX}, {.bytes = UINT32_MAX}};
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, false);
	fw_ut_post_recv(rig.qp, 1, 2);
	memcpy(rig.qp->rq_ring + sizeof(struct hw_rq_wqe), sge, sizeof(sge));
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.bytes, 2 * (uint64_t)UINT32_MAX);
	fw_ut_end(&rig.ut);
}

static void too_many_sges_are_taken_as_bad(void)
{
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, false);
	fw_ut_post_recv(rig.qp, 1, 5);
	fw_ut_post_recv(rig.qp, 2, UINT32_MAX);
	fw_ut_post_recv(rig.qp, 3, 4);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_BAD);
	CU_ASSERT_EQUAL(recv.wr_id, 1);
	CU_ASSERT_EQUAL(recv.num_sge, 0);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_BAD);
	CU_ASSERT_EQUAL(recv.wr_id, 2);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 3);
	CU_ASSERT_EQUAL(rig.ut.nic->counters.wqes_bad, 2);
	fw_ut_end(&rig.ut);
}

static void a_wild_producer_index_is_no_receive(void)
{
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, false);
	rig.qp->record->rq_prod = 17; /* of a ring of 16 */
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 0);
	rig.qp->record->rq_prod = UINT32_MAX; /* backwards */
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	CU_ASSERT_EQUAL(rig.ut.nic->counters.wqes_bad, 3);
	/* A full queue is legal. */
	rig.qp->record->rq_prod = 16;
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 16);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	fw_ut_end(&rig.ut);
}

static void a_qp_without_receives(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_resp resp;
	struct fw_recv recv;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig, false);
	cmd.u.create_qp.pd = rig.pd;
	cmd.u.create_qp.type = HW_QPT_UD;
	cmd.u.create_qp.send_cq = rig.cq->index;
	cmd.u.create_qp.recv_cq = rig.cq->index;
	cmd.u.create_qp.srq = HW_SRQ_NONE;
	cmd.u.create_qp.sq_slots = 1;
	CU_ASSERT_EQUAL_FATAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.create_qp.rq_entries, 0);
	qp = qp_find(rig.ut.nic, resp.u.create_qp.qpn);
	qp->record->rq_prod = 1;
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, qp, &recv), RQ_EMPTY);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, qp), 0);
	fw_ut_end(&rig.ut);
}

static void an_srq_serves_several_qps(void)
{
	struct fw_qp *second;
	struct fw_recv recv;
	struct rig rig;
	uint32_t i;

	begin(&rig, true);
	second = host_qp(rig.ut.nic, 0, HW_QPT_UD, rig.pd, rig.cq, rig.srq->index);
	CU_ASSERT_EQUAL(rig.srq->refs, 2);
	for (i = 0; i < 30; i++) {
		srq_post(rig.srq, 2 * i, 1);
		srq_post(rig.srq, 2 * i + 1, 9);
		CU_ASSERT_EQUAL(rq_available(rig.ut.nic, second), 2);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
		CU_ASSERT_EQUAL(recv.wr_id, 2 * i);
		CU_ASSERT_EQUAL(recv.pd, rig.pd);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, second, &recv), RQ_BAD);
		CU_ASSERT_EQUAL(recv.wr_id, 2 * i + 1);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, second, &recv), RQ_EMPTY);
	}
	CU_ASSERT_EQUAL(rig.srq->record->cons, 60);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_SRQ, rig.srq->index, NULL),
			FW_EBUSY);
	fw_ut_end(&rig.ut);
}

static void a_broken_srq_is_told_once(void)
{
	struct fw_recv recv;
	struct hw_eqe eqe;
	struct rig rig;

	begin(&rig, true);
	rig.srq->record->prod = 9;
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	rig.srq->record->prod = 1;
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 0);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_SRQ_ERR);
	CU_ASSERT_EQUAL(eqe.id, rig.srq->index);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	fw_ut_end(&rig.ut);
}

static int set_limit(struct rig *rig, uint32_t limit, uint32_t mask)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_SRQ};
	struct hw_cmd_resp resp;

	cmd.u.srq.srq = rig->srq->index;
	cmd.u.srq.limit = limit;
	cmd.u.srq.mask = mask;
	return host_cmd(rig->ut.nic, 0, &cmd, &resp);
}

static void the_limit_event_comes_once_below_the_limit(void)
{
	struct fw_recv recv;
	struct hw_eqe eqe;
	struct rig rig;
	uint32_t i;

	begin(&rig, true);
	for (i = 0; i < 6; i++)
		srq_post(rig.srq, i, 1);
	CU_ASSERT_EQUAL(set_limit(&rig, 4, 2), 0);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe)); /* four are left */
	srq_post(rig.srq, 6, 1);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe)); /* with the one just posted */
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_SRQ_LIMIT);
	CU_ASSERT_EQUAL(eqe.id, rig.srq->index);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe)); /* disarmed */
	/* Armed above the present number: the event is reported at once. */
	CU_ASSERT_EQUAL(set_limit(&rig, 8, 2), 0);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(set_limit(&rig, 9, 2), FW_EINVAL);
	CU_ASSERT_EQUAL(set_limit(&rig, 1, 1), FW_EOPNOTSUPP);
	CU_ASSERT_EQUAL(set_limit(&rig, 1, 4), FW_EINVAL);
	fw_ut_end(&rig.ut);
}

UT_MAIN("nic_fw/host/rq", UT(taken_in_order_over_the_wrap), UT(lengths_are_summed_in_64_bits),
	UT(too_many_sges_are_taken_as_bad), UT(a_wild_producer_index_is_no_receive),
	UT(a_qp_without_receives), UT(an_srq_serves_several_qps), UT(a_broken_srq_is_told_once),
	UT(the_limit_event_comes_once_below_the_limit))
