/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_srq.c and vb_event.c: shared receive queues, their limit, and the
 * asynchronous events of SRQs and queue pairs.
 */
#include "tests/verbs/vb_fix.h"

static struct ibv_srq *srq_new(struct ibv_pd *pd, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = max_wr, .max_sge = 2}};

	return ibv_create_srq(pd, &init);
}

static void create(void)
{
	struct ibv_srq_init_attr init = {.srq_context = &init, .attr = {.max_wr = 5, .max_sge = 2}};
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;
	struct vbf f;
	uint32_t number;

	vbf_open(&f);
	VBF_NEED(srq = ibv_create_srq(f.a.pd, &init));
	CU_ASSERT(srq->srq_context == &init && srq->pd == f.a.pd && init.attr.max_wr >= 5);
	VBF_OK(ibv_query_srq(srq, &attr));
	CU_ASSERT(attr.max_wr >= 5 && attr.max_sge >= 2 && attr.srq_limit == 0);
	attr.max_wr = 100;
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	attr.srq_limit = 1000;
	CU_ASSERT_EQUAL(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.srq_limit = 3;
	VBF_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	CU_ASSERT_EQUAL(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
	VBF_OK(ibv_destroy_srq(srq));
	VBF_NULL(srq_new(f.a.pd, UINT32_MAX), EINVAL);
	vbf_close(&f);
}

static void create_extended(void)
{
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = 5, .max_sge = 1},
					  .comp_mask = IBV_SRQ_INIT_ATTR_PD};
	struct ibv_srq *srq;
	struct vbf f;

	vbf_open(&f);
	ex.pd = f.a.pd;
	VBF_NEED(srq = ibv_create_srq_ex(f.a.ctx, &ex));
	VBF_OK(ibv_destroy_srq(srq));
	ex.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	ex.srq_type = IBV_SRQT_TM;
	VBF_NULL(ibv_create_srq_ex(f.a.ctx, &ex), EOPNOTSUPP);
	ex.srq_type = IBV_SRQT_XRC;
	VBF_NULL(ibv_create_srq_ex(f.a.ctx, &ex), EINVAL);
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	ex.srq_type = IBV_SRQT_BASIC;
	VBF_NULL(ibv_create_srq_ex(f.a.ctx, &ex), EINVAL);
	vbf_close(&f);
}

static bool async(struct ibv_context *ctx, struct ibv_async_event *event)
{
	errno = 0;
	if (ibv_get_async_event(ctx, event) == 0)
		return true;
	CU_ASSERT_EQUAL(errno, EAGAIN);
	return false;
}

/* Receives for any QP; below the limit the program gets one event. */
static void limit(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_recv_wr wr = {0}, *bad;
	struct ibv_async_event event;
	struct ibv_qp *a, *b;
	struct ibv_srq *srq;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(srq = srq_new(f.b.pd, 8));
	VBF_NEED(a = vbf_qp(&f.a, IBV_QPT_RC, NULL));
	VBF_NEED(b = vbf_qp(&f.b, IBV_QPT_RC, srq));
	vbf_connect(a, &f.b, b->qp_num);
	vbf_connect(b, &f.a, a->qp_num);
	CU_ASSERT_EQUAL(ibv_destroy_srq(srq), EBUSY);
	CU_ASSERT_EQUAL(ibv_post_recv(b, &wr, &bad), EINVAL);
	for (wr.wr_id = 0; wr.wr_id < 4; wr.wr_id++)
		VBF_OK(ibv_post_srq_recv(srq, &wr, &bad));
	VBF_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	for (int i = 0; i < 4; i++) {
		VBF_OK(vbf_post(a, IBV_WR_SEND, vbf_sge(&f.a, 0, 0), 0, 0));
		CU_ASSERT_EQUAL(vbf_wait(&f, f.b.cq).wr_id, (uint64_t)i);
		sim_run_for(f.sim, 1000000);
		if (async(f.b.ctx, &event)) {
			CU_ASSERT_EQUAL(i, 2);
			CU_ASSERT(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
				  event.element.srq == srq);
			ibv_ack_async_event(&event);
		} else {
			CU_ASSERT_NOT_EQUAL(i, 2);
		}
	}
	VBF_OK(ibv_query_srq(srq, &attr));
	CU_ASSERT_EQUAL(attr.srq_limit, 0);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	VBF_OK(ibv_destroy_srq(srq));
	vbf_close(&f);
}

/* With an SRQ, the end of a QP's receives is an event: LAST_WQE_REACHED. */
static void last_wqe(void)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event event;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(srq = srq_new(f.a.pd, 8));
	VBF_NEED(qp = vbf_qp(&f.a, IBV_QPT_RC, srq));
	VBF_OK(vbf_to_init(qp, 0));
	CU_ASSERT_FALSE(async(f.a.ctx, &event));
	VBF_OK(ibv_modify_qp(qp, &err, IBV_QP_STATE));
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_TRUE_FATAL(async(f.a.ctx, &event));
	CU_ASSERT(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == qp);
	ibv_ack_async_event(&event);
	CU_ASSERT_FALSE(async(f.a.ctx, &event));
	VBF_OK(ibv_destroy_qp(qp));
	VBF_OK(ibv_destroy_srq(srq));
	vbf_close(&f);
}

/* The peer's access is refused: the responder's QP gets an event. */
static void access_error(void)
{
	struct ibv_async_event event;
	struct ibv_qp *a, *b;
	struct vbf f;
	bool told = false;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8), 0, 0xbad),
			IBV_WC_REM_ACCESS_ERR);
	sim_run_for(f.sim, 1000000);
	while (async(f.b.ctx, &event)) {
		told = told || ((event.event_type == IBV_EVENT_QP_ACCESS_ERR ||
				 event.event_type == IBV_EVENT_QP_FATAL) &&
				event.element.qp == b);
		ibv_ack_async_event(&event);
	}
	CU_ASSERT_TRUE(told);
	while (async(f.a.ctx, &event))
		ibv_ack_async_event(&event);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_srq", UT(create), UT(create_extended), UT(limit), UT(last_wqe), UT(access_error))
