/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine: the effect of each change on posted requests, the events that are reported,
 * and that a QPN selects no wrong QP.
 */
#include "tests/bench/host.h"

struct rig {
	struct fw_ut ut;
	uint32_t pd;
	struct fw_cq *cq;
	struct fw_qp *qp;
	uint32_t seen; /* entries of cq that were checked */
};

static void begin(struct rig *rig, enum hw_qp_type type)
{
	memset(rig, 0, sizeof(*rig));
	fw_ut_begin(&rig->ut);
	rig->pd = host_pd(rig->ut.nic, 0);
	rig->cq = host_cq(rig->ut.nic, 0, 64, HW_EQ_NONE);
	rig->qp = host_qp(rig->ut.nic, 0, type, rig->pd, rig->cq, HW_SRQ_NONE);
}

/* A send of no bytes without a destination in one slot; the NIC fetches it in its turn. */
static void post_send(struct fw_qp *qp, uint64_t wr_id)
{
	struct hw_sq_wqe wqe = {.opcode = HW_WQE_SEND, .slots = 1, .wr_id = wr_id};

	memcpy(qp->sq_ring + (size_t)(qp->record->sq_prod & qp->sq_mask) * HW_SQ_SLOT_BYTES, &wqe,
	       sizeof(wqe));
	qp->record->sq_prod++;
}

static void ring(struct rig *rig)
{
	struct fw_client *client = &rig->ut.nic->host.clients[0];

	rig->qp->record->rung = 1;
	client->db_ring[client->header->db_tail++ % HW_DB_RING_ENTRIES] =
	    HW_DB_ENTRY(HW_DB_SQ, rig->qp->qpn);
	fw_ut_poll(&rig->ut, 1000);
}

static void expect_flush(struct rig *rig, uint64_t wr_id, uint8_t opcode)
{
	struct hw_cqe cqe;

	CU_ASSERT_TRUE_FATAL(host_cqe(rig->cq, rig->seen, &cqe));
	rig->seen++;
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.opcode, opcode);
	CU_ASSERT_EQUAL(cqe.qpn, rig->qp->qpn);
}

static void expect_no_cqe(struct rig *rig)
{
	struct hw_cqe cqe;

	CU_ASSERT_FALSE(host_cqe(rig->cq, rig->seen, &cqe));
}

static void a_qpn_names_one_qp(void)
{
	struct rig rig;
	uint32_t qpn;

	begin(&rig, HW_QPT_UD);
	qpn = rig.qp->qpn;
	CU_ASSERT_EQUAL(qpn >> 19, 1); /* nic_index */
	CU_ASSERT_PTR_EQUAL(qp_find(rig.ut.nic, qpn), rig.qp);
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn + 1));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn - 1));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn & 0xffff));  /* of another NIC */
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn | 1 << 16)); /* of another shard */
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn | 1u << 24));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, rig.ut.nic->qpn_base));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, rig.ut.nic->qpn_base | 1));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, rig.ut.nic->qpn_base | 0xffff));
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, UINT32_MAX));
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_QP, qpn, NULL), 0);
	CU_ASSERT_PTR_NULL(qp_find(rig.ut.nic, qpn));
	fw_ut_end(&rig.ut);
}

static void error_flushes_both_queues_in_order(void)
{
	struct rig rig;
	uint32_t i;

	begin(&rig, HW_QPT_RD);
	host_rts(rig.ut.nic, rig.qp, 0);
	for (i = 0; i < 3; i++) {
		post_send(rig.qp, 10 + i);
		fw_ut_post_recv(rig.qp, 20 + i, 1);
	}
	qp_error(rig.ut.nic, rig.qp, HW_EVENT_QP_FATAL);
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_ERR);
	for (i = 0; i < 3; i++)
		expect_flush(&rig, 10 + i, HW_CQE_SEND);
	for (i = 0; i < 3; i++)
		expect_flush(&rig, 20 + i, HW_CQE_RECV);
	expect_no_cqe(&rig);
	CU_ASSERT_EQUAL(rig.qp->record->sq_cons, 3);
	CU_ASSERT_EQUAL(rig.qp->record->rq_cons, 3);
	fw_ut_end(&rig.ut);
}

static void error_is_told_once(void)
{
	struct hw_eqe eqe;
	struct rig rig;

	begin(&rig, HW_QPT_RC);
	qp_error(rig.ut.nic, rig.qp, HW_EVENT_QP_FATAL); /* RESET has no requests to fail */
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_RESET);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	qp_set_state(rig.ut.nic, rig.qp, HW_QPS_INIT);
	qp_error(rig.ut.nic, rig.qp, HW_EVENT_QP_ACCESS_ERR);
	qp_error(rig.ut.nic, rig.qp, HW_EVENT_QP_FATAL);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_QP_ACCESS_ERR);
	CU_ASSERT_EQUAL(eqe.id, rig.qp->qpn);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	fw_ut_end(&rig.ut);
}

static void what_is_posted_in_error_is_flushed_at_the_doorbell(void)
{
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	host_rts(rig.ut.nic, rig.qp, 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_ERR, 0, NULL), 0);
	fw_ut_post_recv(rig.qp, 1, 1);
	fw_ut_post_recv(rig.qp, 2, 99); /* a malformed one too */
	post_send(rig.qp, 3);
	fw_ut_poll(&rig.ut, 1000);
	expect_no_cqe(&rig);
	ring(&rig);
	expect_flush(&rig, 3, HW_CQE_SEND);
	expect_flush(&rig, 1, HW_CQE_RECV);
	expect_flush(&rig, 2, HW_CQE_RECV);
	expect_no_cqe(&rig);
	CU_ASSERT_EQUAL(rig.qp->record->rung, 0);
	fw_ut_end(&rig.ut);
}

static void an_srq_keeps_its_receives_and_the_last_wqe_is_told(void)
{
	struct hw_rq_wqe wqe = {.wr_id = 5};
	struct fw_recv recv;
	struct fw_srq *srq;
	struct hw_eqe eqe;
	struct rig rig;
	struct fw_qp *qp, *other;

	begin(&rig, HW_QPT_UD);
	srq = host_srq(rig.ut.nic, 0, rig.pd, 4, 1);
	qp = host_qp(rig.ut.nic, 0, HW_QPT_RD, rig.pd, rig.cq, srq->index);
	other = host_qp(rig.ut.nic, 0, HW_QPT_RD, rig.pd, rig.cq, srq->index);
	memcpy(srq->ring, &wqe, sizeof(wqe));
	srq->record->prod = 1;
	host_rts(rig.ut.nic, qp, 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	expect_no_cqe(&rig);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_QP_LAST_WQE);
	CU_ASSERT_EQUAL(eqe.id, qp->qpn);
	/* A change from ERR to ERR has no effect. */
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, other, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 5);
	fw_ut_end(&rig.ut);
}

static void a_send_error_stops_datagram_sends_alone(void)
{
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, HW_QPT_RD);
	host_rts(rig.ut.nic, rig.qp, 0);
	post_send(rig.qp, 1);
	fw_ut_post_recv(rig.qp, 2, 1);
	qp_sq_error(rig.ut.nic, rig.qp);
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_SQE);
	expect_flush(&rig, 1, HW_CQE_SEND);
	expect_no_cqe(&rig);
	CU_ASSERT_TRUE(qp_can_receive(rig.qp));
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 2);
	/* Until the process recovers it, sends are flushed; receives are not. */
	post_send(rig.qp, 3);
	fw_ut_post_recv(rig.qp, 4, 1);
	ring(&rig);
	expect_flush(&rig, 3, HW_CQE_SEND);
	expect_no_cqe(&rig);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_RTS, 0, NULL), 0);
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_RTS);
	fw_ut_end(&rig.ut);
}

static void a_send_error_ends_a_connection(void)
{
	struct rig rig;

	begin(&rig, HW_QPT_RC);
	qp_set_state(rig.ut.nic, rig.qp, HW_QPS_INIT);
	qp_set_state(rig.ut.nic, rig.qp, HW_QPS_RTR);
	qp_set_state(rig.ut.nic, rig.qp, HW_QPS_RTS);
	qp_sq_error(rig.ut.nic, rig.qp);
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_ERR);
	fw_ut_end(&rig.ut);
}

static void reset_forgets_and_indices_go_on(void)
{
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	host_rts(rig.ut.nic, rig.qp, 0);
	post_send(rig.qp, 1);
	fw_ut_post_recv(rig.qp, 2, 1);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_RESET, 0, NULL), 0);
	expect_no_cqe(&rig);
	CU_ASSERT_EQUAL(rig.qp->record->sq_cons, 1);
	CU_ASSERT_EQUAL(rig.qp->record->rq_cons, 1);
	CU_ASSERT_EQUAL(rig.qp->qkey, 0);
	/* The QP can be set up again. */
	host_rts(rig.ut.nic, rig.qp, 0);
	CU_ASSERT_EQUAL(rig.qp->qkey, 0x1111);
	fw_ut_post_recv(rig.qp, 3, 1);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 1);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 3);
	/* Invalid indices are cleared like the rest. */
	rig.qp->record->rq_prod = 0x80000000u;
	rig.qp->record->sq_prod = 0x80000000u;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_RESET, 0, NULL), 0);
	expect_no_cqe(&rig);
	host_rts(rig.ut.nic, rig.qp, 0);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 0);
	fw_ut_post_recv(rig.qp, 4, 1);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 4);
	fw_ut_end(&rig.ut);
}

static void draining_ends_with_the_last_request(void)
{
	struct hw_qp_attr attr = {.en_sqd_async_notify = 1};
	struct hw_cmd_resp resp;
	struct hw_eqe eqe;
	struct rig rig;

	begin(&rig, HW_QPT_RD);
	host_rts(rig.ut.nic, rig.qp, 0);
	rig.qp->outstanding = 2;
	CU_ASSERT_EQUAL(
	    host_modify(rig.ut.nic, rig.qp, HW_QPS_SQD, HW_QP_EN_SQD_ASYNC_NOTIFY, &attr), 0);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_QUERY_QP, rig.qp->qpn, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.query_qp.attr.sq_draining, 1);
	rig.qp->outstanding = 1;
	qp_unblock(rig.ut.nic, rig.qp);
	CU_ASSERT_FALSE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	rig.qp->outstanding = 0;
	qp_unblock(rig.ut.nic, rig.qp);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_SQ_DRAINED);
	CU_ASSERT_EQUAL(eqe.id, rig.qp->qpn);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_QUERY_QP, rig.qp->qpn, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.query_qp.attr.sq_draining, 0);
	/* Requests posted meanwhile wait. The engine reads them when the queue resumes. */
	post_send(rig.qp, 1);
	ring(&rig);
	CU_ASSERT_EQUAL(rig.qp->sq_next, 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_RTS, 0, NULL), 0);
	CU_ASSERT_TRUE(fw_list_linked(&rig.qp->sched_node));
	fw_ut_end(&rig.ut);
}

static void flushing_into_a_full_cq_ends(void)
{
	struct hw_eqe eqe;
	struct fw_cq *small;
	struct fw_qp *qp;
	struct rig rig;
	uint32_t i;

	begin(&rig, HW_QPT_UD);
	small = host_cq(rig.ut.nic, 0, 4, HW_EQ_NONE);
	qp = host_qp(rig.ut.nic, 0, HW_QPT_RD, rig.pd, small, HW_SRQ_NONE);
	host_rts(rig.ut.nic, qp, 0);
	for (i = 0; i < 16; i++) {
		post_send(qp, i);
		fw_ut_post_recv(qp, i, 1);
	}
	qp_error(rig.ut.nic, qp, HW_EVENT_NONE);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	CU_ASSERT_TRUE(small->overrun);
	CU_ASSERT_EQUAL(qp->record->rq_cons, 16);
	CU_ASSERT_TRUE(fw_ut_event(&rig.ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_CQ_ERR);
	fw_ut_end(&rig.ut);
}

/* Codes of times as the InfiniBand specification has them (9.7.5.2.8, 11.6.2). */
static void codes_of_times(void)
{
	struct fw_qp qp = {.qpn = 1};
	uint32_t code, tries;

	for (tries = 0; tries < 8; tries++) {
		qp.attr.retry_cnt = (uint8_t)tries;
		qp.attr.timeout = 0;
		CU_ASSERT_EQUAL(qp_limit_ns(&qp), UINT64_MAX);
		for (code = 1; code < 32; code++) {
			qp.attr.timeout = (uint8_t)code;
			CU_ASSERT_EQUAL(qp_limit_ns(&qp), (UINT64_C(4096) << code) * (tries + 1));
		}
	}
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(0), 655360000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(1), 10000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(2), 20000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(3), 30000);
	/* From here on each is twice as long as the one before the last. */
	for (code = 4; code < 32; code++)
		CU_ASSERT_EQUAL(qp_rnr_timer_ns((uint8_t)code),
				2 * qp_rnr_timer_ns((uint8_t)(code - 2)));
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(31), 491520000);
}

UT_MAIN("nic_fw/host/qp", UT(codes_of_times), UT(a_qpn_names_one_qp),
	UT(error_flushes_both_queues_in_order), UT(error_is_told_once),
	UT(what_is_posted_in_error_is_flushed_at_the_doorbell),
	UT(an_srq_keeps_its_receives_and_the_last_wqe_is_told),
	UT(a_send_error_stops_datagram_sends_alone), UT(a_send_error_ends_a_connection),
	UT(reset_forgets_and_indices_go_on), UT(draining_ends_with_the_last_request),
	UT(flushing_into_a_full_cq_ends))
