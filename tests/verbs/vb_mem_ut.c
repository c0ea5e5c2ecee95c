/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_mem.c: protection domains, regions, windows of both types.
 */
#include "tests/verbs/vb_fix.h"

static void domains(void)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(pd = ibv_alloc_pd(f.a.ctx));
	CU_ASSERT_PTR_EQUAL(pd->context, f.a.ctx);
	VBF_NEED(mr = ibv_reg_mr(pd, f.a.buf, 8, 0));
	CU_ASSERT_EQUAL(ibv_dealloc_pd(pd), EBUSY);
	VBF_OK(ibv_dereg_mr(mr));
	VBF_OK(ibv_dealloc_pd(pd));
	vbf_close(&f);
}

static void regions(void)
{
	const int optional = IBV_ACCESS_RELAXED_ORDERING;
	volatile int access = VBF_ALL | optional; /* so that the header calls ibv_reg_mr_iova2() */
	struct ibv_mr *mr;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(mr = ibv_reg_mr(f.a.pd, f.a.buf, 100, access));
	CU_ASSERT(mr->addr == f.a.buf && mr->length == 100 && mr->pd == f.a.pd);
	CU_ASSERT(mr->lkey && mr->rkey && mr->context == f.a.ctx);
	VBF_OK(ibv_dereg_mr(mr));
	VBF_NEED(mr = ibv_reg_mr(f.a.pd, f.a.buf, 100, VBF_ALL | IBV_ACCESS_RELAXED_ORDERING));
	VBF_OK(ibv_dereg_mr(mr));
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 0, 0), EINVAL);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, SIZE_MAX, 0), EINVAL);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 8, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 8, IBV_ACCESS_HUGETLB), EOPNOTSUPP);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 8, 1 << 18), EINVAL);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 8, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	vbf_close(&f);
}

/* Addresses from zero, and of the program's choice. */
static void addresses(void)
{
	struct ibv_qp *a, *b;
	struct ibv_mr *mr;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	memcpy(f.a.buf, "to where", 9);
	VBF_NEED(mr = ibv_reg_mr(f.b.pd, f.b.buf, 100, VBF_ALL | IBV_ACCESS_ZERO_BASED));
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 9), 5, mr->rkey),
			IBV_WC_SUCCESS);
	CU_ASSERT_STRING_EQUAL(f.b.buf + 5, "to where");
	VBF_OK(ibv_dereg_mr(mr));
	VBF_NEED(mr = ibv_reg_mr_iova(f.b.pd, f.b.buf + 200, 100, 0x123450000, VBF_ALL));
	CU_ASSERT_EQUAL(
	    vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 9), 0x123450001, mr->rkey),
	    IBV_WC_SUCCESS);
	CU_ASSERT_STRING_EQUAL(f.b.buf + 201, "to where");
	CU_ASSERT_EQUAL(
	    vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 9), 0x12344ffff, mr->rkey),
	    IBV_WC_REM_ACCESS_ERR);
	VBF_OK(ibv_dereg_mr(mr));
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

static void rereg(void)
{
	const int all =
	    IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vbf f;
	uint32_t key;

	vbf_open(&f);
	VBF_NEED(pd = ibv_alloc_pd(f.a.ctx));
	VBF_NEED(mr = ibv_reg_mr(f.a.pd, f.a.buf, 100, 0));
	key = mr->rkey;
	VBF_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, VBF_ALL));
	CU_ASSERT_EQUAL(mr->rkey, key);
	VBF_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0));
	CU_ASSERT(mr->rkey == key && mr->pd == pd);
	VBF_OK(ibv_rereg_mr(mr, all, f.a.pd, f.a.buf + 8, 50, IBV_ACCESS_LOCAL_WRITE));
	CU_ASSERT(mr->pd == f.a.pd && mr->addr == f.a.buf + 8 && mr->length == 50);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0),
			IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, f.b.pd, NULL, 0, 0),
			IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 8, 0),
			IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 1 << 18),
			IBV_REREG_MR_ERR_INPUT);
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT(mr->addr == f.a.buf + 8 && mr->length == 50);
	VBF_OK(ibv_dereg_mr(mr));
	VBF_OK(ibv_dealloc_pd(pd));
	vbf_close(&f);
}

/*
 * Type 1: by ibv_bind_mw(), which returns the key; another bind changes it; an empty one removes
 * it.
 */
static void windows_of_type_1(void)
{
	struct ibv_mw_bind bind = {.wr_id = 9, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_qp *a, *b;
	struct ibv_mw *mw;
	struct vbf f;
	struct ibv_wc wc;
	uint32_t old;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	VBF_NULL(ibv_alloc_mw(f.b.pd, (enum ibv_mw_type)3), EINVAL);
	VBF_NULL(ibv_alloc_mw(f.b.pd, (enum ibv_mw_type)0), EINVAL);
	VBF_NEED(mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_1));
	CU_ASSERT(mw->pd == f.b.pd && mw->type == IBV_MW_TYPE_1);
	bind.bind_info =
	    (struct ibv_mw_bind_info){f.b.mr, (uintptr_t)f.b.buf, 64, IBV_ACCESS_REMOTE_WRITE};
	old = mw->rkey;
	VBF_OK(ibv_bind_mw(b, mw, &bind));
	CU_ASSERT_NOT_EQUAL(mw->rkey, old);
	wc = vbf_wait(&f, f.b.cq);
	CU_ASSERT(wc.wr_id == 9 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW);
	CU_ASSERT_EQUAL(ibv_dereg_mr(f.b.mr), EBUSY);
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8),
				   (uintptr_t)f.b.buf + 56, mw->rkey),
			IBV_WC_SUCCESS);
	old = mw->rkey;
	VBF_OK(ibv_bind_mw(b, mw, &bind));
	CU_ASSERT_EQUAL(vbf_wait(&f, f.b.cq).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(
	    vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8), (uintptr_t)f.b.buf, old),
	    IBV_WC_REM_ACCESS_ERR);
	VBF_OK(ibv_dealloc_mw(mw));
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

static enum ibv_wc_status bind(struct vbf *f, struct ibv_qp *qp, struct ibv_mw *mw, uint32_t rkey,
			       struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {mw, rkey, info}},
			   *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);

	CU_ASSERT_EQUAL(rc, 0);
	return rc ? IBV_WC_GENERAL_ERR : vbf_wait(f, qp->send_cq).status;
}

/* Type 2: bounds and rights are the window's, the program chooses the key; each case on new QPs. */
static void windows_of_type_2(void)
{
	static const struct {
		size_t offset;
		enum ibv_wr_opcode opcode;
		enum ibv_wc_status status;
	} tries[] = {
	    {64, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS},
	    {120, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS},
	    {121, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR},
	    {63, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR},
	    {64, IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR},
	};
	struct vbf f;

	vbf_open(&f);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_2);
		struct ibv_mw_bind_info info = {f.b.mr, (uintptr_t)f.b.buf + 64, 64,
						IBV_ACCESS_REMOTE_WRITE};
		struct ibv_qp *a, *b;
		uint32_t rkey;

		VBF_NEED(mw);
		vbf_pair(&f, &a, &b);
		rkey = ibv_inc_rkey(mw->rkey);
		CU_ASSERT_EQUAL(bind(&f, b, mw, rkey, info), IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(vbf_status(&f, a, tries[i].opcode, vbf_sge(&f.a, 0, 8),
					   (uintptr_t)f.b.buf + tries[i].offset, rkey),
				tries[i].status);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
		VBF_OK(ibv_dealloc_mw(mw));
	}
	vbf_close(&f);
}

/* A region that does not allow windows, and one of another domain. */
static void windows_refused(void)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(pd = ibv_alloc_pd(f.b.ctx));
	for (int i = 0; i < 2; i++) {
		struct ibv_mw *mw = ibv_alloc_mw(f.b.pd, IBV_MW_TYPE_2);
		struct ibv_qp *a, *b;

		VBF_NEED(mw);
		vbf_pair(&f, &a, &b);
		VBF_NEED(mr = ibv_reg_mr(i ? pd : f.b.pd, f.b.buf, 64,
					 i ? VBF_ALL : VBF_ALL & ~IBV_ACCESS_MW_BIND));
		CU_ASSERT_NOT_EQUAL(bind(&f, b, mw, ibv_inc_rkey(mw->rkey),
					 (struct ibv_mw_bind_info){mr, (uintptr_t)f.b.buf, 64,
								   IBV_ACCESS_REMOTE_READ}),
				    IBV_WC_SUCCESS);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
		VBF_OK(ibv_dealloc_mw(mw));
		VBF_OK(ibv_dereg_mr(mr));
	}
	VBF_OK(ibv_dealloc_pd(pd));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_mem", UT(domains), UT(regions), UT(addresses), UT(rereg), UT(windows_of_type_1),
	UT(windows_of_type_2), UT(windows_refused))
