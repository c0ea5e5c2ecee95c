/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_poll.c: ibv_poll_cq() and the states of polling an ibv_cq_ex.
 */
#include "tests/verbs/vb_fix.h"

struct ex {
	struct vbf f;
	struct ibv_cq_ex *cq;
	struct ibv_qp *a, *b;
};

static void setup(struct ex *t, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16,
					   .wc_flags = IBV_WC_STANDARD_FLAGS |
						       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = flags};
	struct ibv_qp_init_attr init = {.cap = {VBF_WR, VBF_WR, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	vbf_open(&t->f);
	VBF_NEED(t->cq = ibv_create_cq_ex(t->f.b.ctx, &attr));
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(t->cq);
	VBF_NEED(t->b = ibv_create_qp(t->f.b.pd, &init));
	VBF_NEED(t->a = vbf_qp(&t->f.a, IBV_QPT_RC, NULL));
	vbf_connect(t->a, &t->f.b, t->b->qp_num);
	vbf_connect(t->b, &t->f.a, t->a->qp_num);
}

static void teardown(struct ex *t)
{
	VBF_OK(ibv_destroy_qp(t->a));
	VBF_OK(ibv_destroy_qp(t->b));
	VBF_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq)));
	vbf_close(&t->f);
}

/* Completes Sends with immediate data at both ends. */
static void exchange(struct ex *t, int n)
{
	struct ibv_sge sge = vbf_sge(&t->f.a, 0, 24);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	for (int i = 0; i < n; i++) {
		struct ibv_sge to = vbf_sge(&t->f.b, 0, 100);
		struct ibv_recv_wr rwr = {.wr_id = 100 + (uint64_t)i, .sg_list = &to, .num_sge = 1},
				   *bad_recv;

		VBF_OK(ibv_post_recv(t->b, &rwr, &bad_recv));
		wr.imm_data = (uint32_t)(1000 + i);
		VBF_OK(ibv_post_send(t->a, &wr, &bad));
	}
	for (int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(vbf_wait(&t->f, t->f.a.cq).status, IBV_WC_SUCCESS);
}

static void states(void)
{
	struct ibv_poll_cq_attr attr = {0}, wrong = {.comp_mask = 1};
	uint64_t last = 0;
	struct ex t;

	for (uint32_t flags = 0; flags <= IBV_CREATE_CQ_ATTR_SINGLE_THREADED; flags++) {
		last = 1;
		setup(&t, flags);
		/* empty: no end_poll, again and again */
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(ibv_start_poll(t.cq, &attr), ENOENT);
		exchange(&t, 3);
		CU_ASSERT_EQUAL(ibv_start_poll(t.cq, &wrong), EINVAL);
		VBF_OK(ibv_start_poll(t.cq, &attr));
		for (uint64_t i = 0; i < 2; i++) {
			CU_ASSERT(t.cq->wr_id == 100 + i && t.cq->status == IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(ibv_wc_read_opcode(t.cq), IBV_WC_RECV);
			CU_ASSERT_EQUAL(ibv_wc_read_byte_len(t.cq), 24);
			CU_ASSERT_EQUAL(ibv_wc_read_wc_flags(t.cq), IBV_WC_WITH_IMM);
			CU_ASSERT_EQUAL(ibv_wc_read_imm_data(t.cq), 1000 + i);
			CU_ASSERT_EQUAL(ibv_wc_read_qp_num(t.cq), t.b->qp_num);
			CU_ASSERT_EQUAL(ibv_wc_read_vendor_err(t.cq), 0);
			CU_ASSERT(ibv_wc_read_slid(t.cq) == 0 && ibv_wc_read_sl(t.cq) == 0 &&
				  ibv_wc_read_dlid_path_bits(t.cq) == 0);
			CU_ASSERT(ibv_wc_read_completion_ts(t.cq) >= last);
			last = ibv_wc_read_completion_ts(t.cq);
			if (i == 0)
				VBF_OK(ibv_next_poll(t.cq));
		}
		ibv_end_poll(t.cq);
		/* the third is still there; then the list ends, and end_poll ends the round */
		VBF_OK(ibv_start_poll(t.cq, &attr));
		CU_ASSERT_EQUAL(t.cq->wr_id, 102);
		CU_ASSERT_EQUAL(ibv_next_poll(t.cq), ENOENT);
		ibv_end_poll(t.cq);
		CU_ASSERT_EQUAL(ibv_start_poll(t.cq, &attr), ENOENT);
		teardown(&t);
	}
}

/* Both ways to poll one queue take turns. */
static void plain_poll_of_extended(void)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_wc wc[4];
	struct ex t;

	setup(&t, 0);
	exchange(&t, 3);
	CU_ASSERT_EQUAL(ibv_poll_cq(ibv_cq_ex_to_cq(t.cq), 0, wc), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(ibv_cq_ex_to_cq(t.cq), 1, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 100);
	VBF_OK(ibv_start_poll(t.cq, &attr));
	CU_ASSERT_EQUAL(t.cq->wr_id, 101);
	ibv_end_poll(t.cq);
	CU_ASSERT_EQUAL(ibv_poll_cq(ibv_cq_ex_to_cq(t.cq), 4, wc), 1);
	CU_ASSERT(wc[0].wr_id == 102 && wc[0].imm_data == 1002);
	teardown(&t);
}

/* A failed one has wr_id, status, QP and vendor's reason. */
static void failures(void)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ex t;

	setup(&t, 0);
	VBF_OK(vbf_recv(t.b, vbf_sge(&t.f.b, 0, 10)));
	VBF_OK(ibv_modify_qp(t.b, &err, IBV_QP_STATE));
	sim_run_for(t.f.sim, 1000000);
	VBF_OK(ibv_start_poll(t.cq, &attr));
	CU_ASSERT(t.cq->wr_id == 2 && t.cq->status == IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ibv_wc_read_qp_num(t.cq), t.b->qp_num);
	ibv_end_poll(t.cq);
	teardown(&t);
}

/* A poll for more than a batch holds returns all, in order. */
static void many(void)
{
	struct ibv_wc wc[3 * VB_POLL_BATCH];
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr init = {.cap = {1, 40, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_recv_wr wr = {0}, *bad;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 64, NULL, NULL, 0));
	init.send_cq = init.recv_cq = cq;
	VBF_NEED(qp = ibv_create_qp(f.a.pd, &init));
	VBF_OK(vbf_to_init(qp, 0));
	for (wr.wr_id = 0; wr.wr_id < 40; wr.wr_id++)
		VBF_OK(ibv_post_recv(qp, &wr, &bad));
	VBF_OK(ibv_modify_qp(qp, &err, IBV_QP_STATE));
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_EQUAL(ibv_poll_cq(cq, 3 * VB_POLL_BATCH, wc), 40);
	for (uint64_t i = 0; i < 40; i++)
		CU_ASSERT(wc[i].wr_id == i && wc[i].status == IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ibv_poll_cq(cq, 3 * VB_POLL_BATCH, wc), 0);
	VBF_OK(ibv_destroy_qp(qp));
	VBF_OK(ibv_destroy_cq(cq));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_poll", UT(states), UT(plain_poll_of_extended), UT(failures), UT(many))
