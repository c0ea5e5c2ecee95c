/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that weft does not support, called through the inline functions of
 * <infiniband/verbs.h>: the errno is that of a provider of rdma-core without the operation
 * (libibverbs/dummy_ops.c). tests/int/abi.sh tests the exported functions that refuse.
 */
#include "tests/verbs/vb_fix.h"

static void memory(void)
{
	struct ibv_alloc_dm_attr dm = {.length = 64};
	struct ibv_sge sge;
	struct vbf f;

	vbf_open(&f);
	sge = vbf_sge(&f.a, 0, 8);
	VBF_NULL(ibv_alloc_dm(f.a.ctx, &dm), EOPNOTSUPP);
	VBF_NULL(ibv_alloc_null_mr(f.a.pd), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_advise_mr(f.a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1),
			EOPNOTSUPP);
	vbf_close(&f);
}

static void domains(void)
{
	struct ibv_parent_domain_init_attr parent = {0};
	struct ibv_td_init_attr td = {0};
	struct ibv_counters_init_attr counters = {0};
	struct vbf f;

	vbf_open(&f);
	parent.pd = f.a.pd;
	VBF_NULL(ibv_alloc_td(f.a.ctx, &td), EOPNOTSUPP);
	VBF_NULL(ibv_alloc_parent_domain(f.a.ctx, &parent), EOPNOTSUPP);
	VBF_NULL(ibv_create_counters(f.a.ctx, &counters), EOPNOTSUPP);
	vbf_close(&f);
}

static void queues(void)
{
	struct ibv_rwq_ind_table_init_attr table = {0};
	struct ibv_wq_init_attr wq = {0};
	struct ibv_qp_rate_limit_attr rate = {0};
	struct ibv_flow_attr flow = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1};
	struct ibv_ece ece = {0};
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(qp = vbf_qp(&f.a, IBV_QPT_RC, NULL));
	wq.pd = f.a.pd;
	wq.cq = f.a.cq;
	VBF_NULL(ibv_create_wq(f.a.ctx, &wq), EOPNOTSUPP);
	VBF_NULL(ibv_create_rwq_ind_table(f.a.ctx, &table), EOPNOTSUPP);
	VBF_NULL(ibv_create_flow(qp, &flow), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_qp_rate_limit(qp, &rate), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_ece(qp, &ece), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	ece.vendor_id = 1;
	CU_ASSERT_EQUAL(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0);
	VBF_OK(ibv_destroy_qp(qp));
	vbf_close(&f);
}

UT_MAIN("verbs/refused", UT(memory), UT(domains), UT(queues))
