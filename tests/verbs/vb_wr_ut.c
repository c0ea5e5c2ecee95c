/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_wr.c: requests built call by call, aborted, and wrong ones.
 */
#include "tests/verbs/vb_fix.h"

struct built {
	struct vbf f;
	struct ibv_qp *a, *b;
	struct ibv_qp_ex *ex;
};

static struct ibv_qp *qp_new(struct vbf_end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = e->cq,
					   .recv_cq = e->cq,
					   .cap = {VBF_WR, VBF_WR, VBF_SGE, VBF_SGE, VBF_INLINE},
					   .qp_type = type,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = e->pd,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND};

	return ibv_create_qp_ex(e->ctx, &init);
}

static void setup(struct built *t)
{
	vbf_open(&t->f);
	VBF_NEED(t->a = qp_new(&t->f.a, IBV_QPT_RC));
	VBF_NEED(t->b = qp_new(&t->f.b, IBV_QPT_RC));
	vbf_connect(t->a, &t->f.b, t->b->qp_num);
	vbf_connect(t->b, &t->f.a, t->a->qp_num);
	VBF_NEED(t->ex = ibv_qp_to_qp_ex(t->a));
	t->ex->wr_flags = IBV_SEND_SIGNALED;
	for (int i = 0; i < 1024; i++)
		t->f.a.buf[i] = (uint8_t)(i * 7);
}

static void teardown(struct built *t)
{
	VBF_OK(ibv_destroy_qp(t->a));
	VBF_OK(ibv_destroy_qp(t->b));
	vbf_close(&t->f);
}

static uint64_t remote(const struct built *t, size_t offset)
{
	return (uintptr_t)t->f.b.buf + offset;
}

/* Every operation, with data by one piece, by several, inline, inline of several. */
static void every_operation(void)
{
	static uint8_t words[] = "inline";
	struct ibv_data_buf two[] = {{words, 3}, {NULL, 0}, {words + 3, 4}};
	uint64_t old;
	struct built t;
	struct ibv_sge list[3];
	struct ibv_wc wc;

	setup(&t);
	list[0] = vbf_sge(&t.f.a, 0, 10);
	list[1] = vbf_sge(&t.f.a, 500, 0);
	list[2] = vbf_sge(&t.f.a, 100, 20);
	ibv_wr_start(t.ex);
	t.ex->wr_id = 10;
	ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 64);
	t.ex->wr_id = 11;
	ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 1000));
	ibv_wr_set_sge_list(t.ex, 3, list);
	t.ex->wr_id = 12;
	ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 2000));
	ibv_wr_set_inline_data(t.ex, words, sizeof(words));
	t.ex->wr_id = 13;
	ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 3000));
	ibv_wr_set_inline_data_list(t.ex, 3, two);
	t.ex->wr_id = 14;
	ibv_wr_rdma_read(t.ex, t.f.b.mr->rkey, remote(&t, 0));
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf + 5000, 64);
	t.ex->wr_id = 15;
	ibv_wr_atomic_fetch_add(t.ex, t.f.b.mr->rkey, remote(&t, 4000), 5);
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf + 6000, 8);
	t.ex->wr_id = 16;
	ibv_wr_atomic_cmp_swp(t.ex, t.f.b.mr->rkey, remote(&t, 4000), 5, 99);
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf + 6008, 8);
	VBF_OK(ibv_wr_complete(t.ex));
	memset(words, 0, sizeof(words)); /* our buffer again */
	for (uint64_t id = 10; id <= 16; id++) {
		wc = vbf_wait(&t.f, t.f.a.cq);
		CU_ASSERT(wc.status == IBV_WC_SUCCESS && wc.wr_id == id);
	}
	CU_ASSERT(memcmp(t.f.b.buf, t.f.a.buf, 64) == 0);
	CU_ASSERT(memcmp(t.f.b.buf + 1000, t.f.a.buf, 10) == 0);
	CU_ASSERT(memcmp(t.f.b.buf + 1010, t.f.a.buf + 100, 20) == 0);
	CU_ASSERT(memcmp(t.f.b.buf + 2000, "inline", 7) == 0);
	CU_ASSERT(memcmp(t.f.b.buf + 3000, "inline", 7) == 0);
	CU_ASSERT(memcmp(t.f.a.buf + 5000, t.f.a.buf, 64) == 0);
	memcpy(&old, t.f.a.buf + 6008, 8);
	CU_ASSERT_EQUAL(old, 5);
	memcpy(&old, t.f.b.buf + 4000, 8);
	CU_ASSERT_EQUAL(old, 99);
	teardown(&t);
}

static void sends(void)
{
	struct built t;
	struct ibv_wc wc;

	setup(&t);
	for (int i = 0; i < 3; i++)
		VBF_OK(vbf_recv(t.b, vbf_sge(&t.f.b, (size_t)i * 100, 100)));
	ibv_wr_start(t.ex);
	ibv_wr_send(t.ex);
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 50);
	ibv_wr_send_imm(t.ex, 0x11223344);
	ibv_wr_rdma_write_imm(t.ex, t.f.b.mr->rkey, remote(&t, 900), 0x55667788);
	ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 9);
	VBF_OK(ibv_wr_complete(t.ex));
	wc = vbf_wait(&t.f, t.f.b.cq);
	CU_ASSERT(wc.opcode == IBV_WC_RECV && wc.byte_len == 50 && !wc.wc_flags);
	wc = vbf_wait(&t.f, t.f.b.cq);
	CU_ASSERT(wc.byte_len == 0 && wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == 0x11223344);
	wc = vbf_wait(&t.f, t.f.b.cq);
	CU_ASSERT(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == 0x55667788);
	CU_ASSERT_EQUAL(wc.byte_len, 9);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	teardown(&t);
}

/* A window bound, used and invalidated by the peer's Send. */
static void windows(void)
{
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw, *one;
	struct built t;
	struct ibv_wc wc;
	uint32_t rkey;

	setup(&t);
	VBF_NEED(mw = ibv_alloc_mw(t.f.a.pd, IBV_MW_TYPE_2));
	VBF_NEED(one = ibv_alloc_mw(t.f.a.pd, IBV_MW_TYPE_1));
	info = (struct ibv_mw_bind_info){t.f.a.mr, (uintptr_t)t.f.a.buf + 64, 64,
					 IBV_ACCESS_REMOTE_WRITE};
	ibv_wr_start(t.ex);
	ibv_wr_bind_mw(t.ex, one, ibv_inc_rkey(one->rkey), &info);
	CU_ASSERT_EQUAL(ibv_wr_complete(t.ex), EINVAL);
	rkey = ibv_inc_rkey(mw->rkey);
	ibv_wr_start(t.ex);
	ibv_wr_bind_mw(t.ex, mw, rkey, &info);
	VBF_OK(ibv_wr_complete(t.ex));
	wc = vbf_wait(&t.f, t.f.a.cq);
	CU_ASSERT(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW);
	CU_ASSERT_EQUAL(vbf_status(&t.f, t.b, IBV_WR_RDMA_WRITE, vbf_sge(&t.f.b, 0, 8),
				   (uintptr_t)t.f.a.buf + 64, rkey),
			IBV_WC_SUCCESS);
	ibv_wr_start(t.ex);
	ibv_wr_local_inv(t.ex, rkey);
	VBF_OK(ibv_wr_complete(t.ex));
	wc = vbf_wait(&t.f, t.f.a.cq);
	CU_ASSERT(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_LOCAL_INV);
	CU_ASSERT_EQUAL(vbf_status(&t.f, t.b, IBV_WR_RDMA_WRITE, vbf_sge(&t.f.b, 0, 8),
				   (uintptr_t)t.f.a.buf + 64, rkey),
			IBV_WC_REM_ACCESS_ERR);
	VBF_OK(ibv_dealloc_mw(mw));
	VBF_OK(ibv_dealloc_mw(one));
	teardown(&t);
}

/* An aborted request is never posted, and leaves nothing to the next. */
static void abort_posts_nothing(void)
{
	struct built t;

	setup(&t);
	memset(t.f.b.buf, 0x66, 16);
	for (int i = 0; i < 3 * VBF_WR; i++) {
		ibv_wr_start(t.ex);
		ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
		ibv_wr_set_inline_data(t.ex, t.f.a.buf, 8);
		ibv_wr_abort(t.ex);
	}
	ibv_wr_start(t.ex);
	ibv_wr_abort(t.ex);
	ibv_wr_start(t.ex);
	VBF_OK(ibv_wr_complete(t.ex)); /* nothing */
	CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
	CU_ASSERT_EQUAL(t.f.b.buf[0], 0x66);
	teardown(&t);
}

/* The first error of a list is returned, and none of it is posted; the next list starts clean. */
static void errors(void)
{
	static uint8_t much[VBF_INLINE + 600];
	struct built t;
	struct ibv_sge list[VBF_SGE + 20];
	uint32_t max_inline, max_sge;

	setup(&t);
	max_inline = vb_qp_of(t.a)->weft->cap.max_inline_bytes;
	max_sge = vb_qp_of(t.a)->weft->cap.max_send_sge;
	CU_ASSERT_FATAL(max_inline < sizeof(much) && max_sge < VBF_SGE + 20);
	for (int what = 0; what < 8; what++) {
		int expected = EINVAL;

		ibv_wr_start(t.ex);
		if (what > 1) {
			ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
			ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 8);
			ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
		}
		switch (what) {
		case 0: /* belongs to no request */
			ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 8);
			break;
		case 1:
			ibv_wr_set_inline_data(t.ex, much, 1);
			break;
		case 2:
			for (uint32_t i = 0; i <= max_sge; i++)
				list[i] = vbf_sge(&t.f.a, i * 8, 8);
			ibv_wr_set_sge_list(t.ex, max_sge + 1, list);
			break;
		case 3:
			ibv_wr_set_inline_data(t.ex, much, max_inline + 1);
			expected = ENOMEM;
			break;
		case 4:
			ibv_wr_set_inline_data(t.ex, much, SIZE_MAX);
			expected = ENOMEM;
			break;
		case 5:
			ibv_wr_send_tso(t.ex, much, 14, 1000);
			break;
		case 6:
			ibv_wr_set_sge_list(t.ex, SIZE_MAX, list);
			break;
		default:
			for (uint32_t i = 0; i < vb_qp_of(t.a)->weft->cap.max_send_wr; i++)
				ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
			expected = ENOMEM;
			break;
		}
		/* a later error changes nothing */
		ibv_wr_set_sge_list(t.ex, SIZE_MAX, list);
		CU_ASSERT_EQUAL(ibv_wr_complete(t.ex), expected);
	}
	CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
	ibv_wr_start(t.ex);
	ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
	ibv_wr_set_inline_data(t.ex, much, max_inline);
	VBF_OK(ibv_wr_complete(t.ex));
	CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	teardown(&t);
}

/* A list of the queue's size; one more request finds no room. */
static void queue_full(void)
{
	struct built t;
	uint32_t n;

	setup(&t);
	n = vb_qp_of(t.a)->weft->cap.max_send_wr;
	for (int round = 0; round < 2; round++) {
		ibv_wr_start(t.ex);
		for (uint32_t i = 0; i < n; i++) {
			ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
			ibv_wr_set_sge(t.ex, t.f.a.mr->lkey, (uintptr_t)t.f.a.buf, 8);
		}
		VBF_OK(ibv_wr_complete(t.ex));
		ibv_wr_start(t.ex);
		ibv_wr_rdma_write(t.ex, t.f.b.mr->rkey, remote(&t, 0));
		CU_ASSERT_EQUAL(ibv_wr_complete(t.ex), ENOMEM);
		for (uint32_t i = 0; i < n; i++)
			CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	}
	CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
	teardown(&t);
}

static void write_some(struct built *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		t->ex->wr_id++;
		ibv_wr_rdma_write(t->ex, t->f.b.mr->rkey, remote(t, 0));
		ibv_wr_set_sge(t->ex, t->f.a.mr->lkey, (uintptr_t)t->f.a.buf, 8);
	}
}

/* A list longer than the rest of the queue: none of it is posted. */
static void list_has_no_room(void)
{
	struct built t;
	struct ibv_wc wc;
	uint32_t n;

	setup(&t);
	n = vb_qp_of(t.a)->weft->cap.max_send_wr;
	CU_ASSERT_FATAL(n >= 3);
	t.ex->wr_id = 0;
	ibv_wr_start(t.ex);
	write_some(&t, n - 2);
	VBF_OK(ibv_wr_complete(t.ex));
	ibv_wr_start(t.ex);
	write_some(&t, 3);
	CU_ASSERT_EQUAL(ibv_wr_complete(t.ex), ENOMEM);
	t.ex->wr_id = n - 2;
	ibv_wr_start(t.ex);
	write_some(&t, 2);
	VBF_OK(ibv_wr_complete(t.ex));
	for (uint32_t i = 1; i <= n; i++) {
		wc = vbf_wait(&t.f, t.f.a.cq);
		CU_ASSERT(wc.status == IBV_WC_SUCCESS && wc.wr_id == i);
	}
	CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
	teardown(&t);
}

static void datagrams(void)
{
	struct ibv_ah_attr way;
	struct ibv_qp *a, *b;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(a = qp_new(&f.a, IBV_QPT_UD));
	VBF_NEED(b = qp_new(&f.b, IBV_QPT_UD));
	vbf_connect(a, &f.b, 0);
	vbf_connect(b, &f.a, 0);
	way = vbf_way(&f.b);
	VBF_NEED(ah = ibv_create_ah(f.a.pd, &way));
	VBF_OK(vbf_recv(b, vbf_sge(&f.b, 0, 200)));
	memcpy(f.a.buf, "datagram", 9);
	ex = ibv_qp_to_qp_ex(a);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 77);
	ibv_wr_set_ud_addr(ex, ah, b->qp_num, VBF_QKEY);
	ibv_wr_set_sge(ex, f.a.mr->lkey, (uintptr_t)f.a.buf, 9);
	VBF_OK(ibv_wr_complete(ex));
	CU_ASSERT_EQUAL(vbf_wait(&f, f.a.cq).status, IBV_WC_SUCCESS);
	wc = vbf_wait(&f, f.b.cq);
	CU_ASSERT(wc.byte_len == 49 && wc.imm_data == 77 && wc.src_qp == a->qp_num);
	CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	CU_ASSERT_STRING_EQUAL(f.b.buf + 40, "datagram");
	/* no address */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CU_ASSERT_EQUAL(ibv_wr_complete(ex), EINVAL);
	VBF_OK(ibv_destroy_ah(ah));
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_wr", UT(every_operation), UT(sends), UT(windows), UT(abort_posts_nothing),
	UT(errors), UT(queue_full), UT(list_has_no_room), UT(datagrams))
