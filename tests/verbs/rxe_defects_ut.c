/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known defects of Linux's RoCE software device (rxe), by name, and their absence here.
 *
 * The list consists of the deviations that Google's rdma-unit-test keeps for rxe and of defects
 * reported for its source: no check of protection domains, lengths and counts that wrap, rights
 * that are not checked. One function each; its comment has rxe's behaviour.
 */
#include "tests/verbs/vb_fix.h"

/* Makes a second domain at an end, with a region of the same buffer. */
struct foreign {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static struct foreign foreign_open(struct vbf_end *e)
{
	struct foreign x = {.pd = ibv_alloc_pd(e->ctx)};

	VBF_NEED(x.pd);
	VBF_NEED(x.mr = ibv_reg_mr(x.pd, e->buf, VBF_BYTES, VBF_ALL));
	return x;
}

static void foreign_close(struct foreign *x)
{
	VBF_OK(ibv_dereg_mr(x->mr));
	VBF_OK(ibv_dealloc_pd(x->pd));
}

static const enum ibv_wr_opcode touching[] = {
    IBV_WR_RDMA_READ,
    IBV_WR_RDMA_WRITE,
    IBV_WR_ATOMIC_FETCH_AND_ADD,
    IBV_WR_ATOMIC_CMP_AND_SWP,
};

/*
 * Posts a request with a local and a remote region of the caller's choice, on its own QPs, since a
 * failure ends them.
 */
static enum ibv_wc_status try_one(struct vbf *f, enum ibv_wr_opcode opcode, uint32_t lkey,
				  uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = vbf_sge(&f->a, 0, 8);
	enum ibv_wc_status status;
	struct ibv_qp *a, *b;

	vbf_pair(f, &a, &b);
	sge.lkey = lkey;
	status = vbf_status(f, a, opcode, sge, remote, rkey);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	return status;
}

/* rxe lets a QP use regions of other domains at its own end ... */
static void pd_of_local_region(void)
{
	struct foreign x;
	struct vbf f;

	vbf_open(&f);
	x = foreign_open(&f.a);
	for (size_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(
		    try_one(&f, touching[i], x.mr->lkey, (uintptr_t)f.b.buf, f.b.mr->rkey),
		    IBV_WC_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(
		    try_one(&f, touching[i], f.a.mr->lkey, (uintptr_t)f.b.buf, f.b.mr->rkey),
		    IBV_WC_SUCCESS);
	}
	foreign_close(&x);
	vbf_close(&f);
}

/* ... and at its peer's. */
static void pd_of_remote_region(void)
{
	struct foreign x;
	struct vbf f;

	vbf_open(&f);
	x = foreign_open(&f.b);
	memset(f.b.buf, 0x5a, 64);
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(
		    try_one(&f, touching[i], f.a.mr->lkey, (uintptr_t)f.b.buf, x.mr->rkey),
		    IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(f.b.buf[i], 0x5a);
	foreign_close(&x);
	vbf_close(&f);
}

/* rxe sends to address handles of other domains. */
static void pd_of_address_handle(void)
{
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_ah_attr way;
	struct foreign x;
	struct ibv_ah *ah;
	struct ibv_qp *qp;
	struct vbf f;
	int rc;

	vbf_open(&f);
	x = foreign_open(&f.a);
	way = vbf_way(&f.b);
	init.send_cq = init.recv_cq = f.a.cq;
	VBF_NEED(qp = ibv_create_qp(f.a.pd, &init));
	VBF_NEED(ah = ibv_create_ah(x.pd, &way));
	vbf_connect(qp, &f.b, 0);
	sge = vbf_sge(&f.a, 0, 8);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 1;
	rc = ibv_post_send(qp, &wr, &bad);
	if (rc == 0)
		CU_ASSERT_NOT_EQUAL(vbf_wait(&f, f.a.cq).status, IBV_WC_SUCCESS);
	VBF_OK(ibv_destroy_ah(ah));
	VBF_OK(ibv_destroy_qp(qp));
	foreign_close(&x);
	vbf_close(&f);
}

/*
 * Receives of an SRQ belong to the SRQ's domain, whatever QP they are for. In rxe they belong to
 * the QP's.
 */
static void pd_of_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};

	for (int of_srq = 0; of_srq < 2; of_srq++) {
		struct ibv_recv_wr wr = {.num_sge = 1}, *bad;
		struct ibv_qp *a, *b;
		struct ibv_srq *srq;
		struct ibv_sge sge;
		struct foreign x;
		struct vbf f;

		vbf_open(&f);
		x = foreign_open(&f.b);
		VBF_NEED(srq = ibv_create_srq(x.pd, &init));
		VBF_NEED(a = vbf_qp(&f.a, IBV_QPT_RC, NULL));
		VBF_NEED(b = vbf_qp(&f.b, IBV_QPT_RC, srq));
		vbf_connect(a, &f.b, b->qp_num);
		vbf_connect(b, &f.a, a->qp_num);
		sge = vbf_sge(&f.b, 0, 64);
		if (of_srq)
			sge.lkey = x.mr->lkey;
		wr.sg_list = &sge;
		VBF_OK(ibv_post_srq_recv(srq, &wr, &bad));
		VBF_OK(vbf_post(a, IBV_WR_SEND, vbf_sge(&f.a, 0, 8), 0, 0));
		CU_ASSERT_EQUAL(vbf_wait(&f, f.b.cq).status,
				of_srq ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(vbf_wait(&f, f.a.cq).status == IBV_WC_SUCCESS, of_srq);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
		VBF_OK(ibv_destroy_srq(srq));
		foreign_close(&x);
		vbf_close(&f);
	}
}

/* rxe's notification of a CQ without a channel succeeds without an event. */
static void notify_without_channel(void)
{
	struct ibv_cq *cq;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 4, NULL, NULL, 0));
	CU_ASSERT_NOT_EQUAL(ibv_req_notify_cq(cq, 0), 0);
	VBF_OK(ibv_destroy_cq(cq));
	vbf_close(&f);
}

/* rxe's library crashes, or never destroys the CQ: its count of acknowledgements wraps. */
static void acknowledge_without_event(void)
{
	struct ibv_cq *cq;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 4, NULL, f.a.channel, 0));
	ibv_ack_cq_events(cq, 0);
	ibv_ack_cq_events(cq, 1);
	VBF_OK(ibv_destroy_cq(cq));
	vbf_close(&f);
}

/* rxe writes over requests that wait in a full send queue. */
static void send_queue_full(void)
{
	struct ibv_qp *a, *b;
	struct vbf f;
	int room = 0;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	while (room < 1000 && vbf_post(a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8),
				       (uintptr_t)f.b.buf, f.b.mr->rkey) == 0)
		room++;
	CU_ASSERT(room >= VBF_WR && room < 1000);
	CU_ASSERT_EQUAL(
	    vbf_post(a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8), (uintptr_t)f.b.buf, f.b.mr->rkey),
	    ENOMEM);
	for (int i = 0; i < room; i++)
		CU_ASSERT_EQUAL(vbf_wait(&f, f.a.cq).status, IBV_WC_SUCCESS);
	CU_ASSERT(vbf_silent(&f, f.a.cq));
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 8),
				   (uintptr_t)f.b.buf, f.b.mr->rkey),
			IBV_WC_SUCCESS);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* rxe writes over receives that wait in a full SRQ, and in a full receive queue. */
static void receive_queues_full(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_recv_wr wr = {.num_sge = 1}, *bad = NULL;
	struct ibv_srq *srq;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	struct vbf f;
	uint32_t room = 0;

	vbf_open(&f);
	sge = vbf_sge(&f.a, 0, 8);
	wr.sg_list = &sge;
	VBF_NEED(srq = ibv_create_srq(f.a.pd, &init));
	while (room < 100 && ibv_post_srq_recv(srq, &wr, &bad) == 0)
		room++;
	CU_ASSERT_EQUAL(room, init.attr.max_wr);
	CU_ASSERT_EQUAL(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr);
	VBF_NEED(qp = vbf_qp(&f.a, IBV_QPT_UD, NULL));
	VBF_OK(vbf_to_init(qp, 0));
	for (room = 0; room < 100 && vbf_recv(qp, sge) == 0;)
		room++;
	CU_ASSERT(room >= VBF_WR && room < 100);
	CU_ASSERT_EQUAL(vbf_recv(qp, sge), ENOMEM);
	VBF_OK(ibv_destroy_qp(qp));
	VBF_OK(ibv_destroy_srq(srq));
	vbf_close(&f);
}

/* rxe makes QPs of types that do not exist. */
static void unknown_qp_type(void)
{
	const int types[] = {0, 1, 5, 7, 8, 11, 16, 100, 0xff, INT32_MAX};
	struct vbf f;

	vbf_open(&f);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		VBF_NULL(vbf_qp(&f.a, (enum ibv_qp_type)types[i], NULL), EOPNOTSUPP);
	vbf_close(&f);
}

/* rxe gives out a QP number that is in use when its counter comes round. */
static void qp_numbers_come_round(void)
{
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	for (int i = 0; i < 3000; i++) {
		struct ibv_qp *qp = vbf_qp(&f.a, IBV_QPT_RC, NULL);

		VBF_NEED(qp);
		if (qp->qp_num == a->qp_num)
			CU_FAIL("a number twice");
		VBF_OK(ibv_destroy_qp(qp));
	}
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_READ, vbf_sge(&f.a, 0, 8), (uintptr_t)f.b.buf,
				   f.b.mr->rkey),
			IBV_WC_SUCCESS);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/*
 * No byte is read or written, so no key is checked: IBA C9-88 and RFC 5041 5.3 require that. The
 * list counts it as a deviation of rxe; the request must not change memory.
 */
static void no_bytes_no_key(void)
{
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	memset(f.b.buf, 0x77, 64);
	memset(f.a.buf, 0x11, 64);
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, 0), 0, 0xdead),
			IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_READ, vbf_sge(&f.a, 0, 0), UINT64_MAX, 0),
			IBV_WC_SUCCESS);
	for (int i = 0; i < 64; i++)
		CU_ASSERT(f.b.buf[i] == 0x77 && f.a.buf[i] == 0x11);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* Address and length that wrap, at either end, and lengths that only just do not fit. */
static void lengths_wrap(void)
{
	struct vbf f;
	uint64_t end;
	const uint64_t outside[] = {UINT64_MAX, UINT64_MAX - 6, UINT64_MAX - 7, UINT64_MAX - 15, 0};
	struct ibv_qp *a, *b;
	struct ibv_mr *last;

	vbf_open(&f);
	end = (uintptr_t)f.b.buf + VBF_BYTES;
	/* whether a range wraps or not, only its owner may know whether it exists */
	for (size_t i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(
		    try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, outside[i], f.b.mr->rkey),
		    IBV_WC_REM_ACCESS_ERR);
		CU_ASSERT_EQUAL(
		    try_one(&f, IBV_WR_RDMA_READ, f.a.mr->lkey, outside[i], f.b.mr->rkey),
		    IBV_WC_REM_ACCESS_ERR);
	}
	CU_ASSERT_EQUAL(
	    try_one(&f, IBV_WR_ATOMIC_FETCH_AND_ADD, f.a.mr->lkey, UINT64_MAX - 7, f.b.mr->rkey),
	    IBV_WC_REM_ACCESS_ERR);
	/* a region with the last bytes: up to its end, and no further, in one packet or more */
	VBF_NEED(last = ibv_reg_mr_iova(f.b.pd, f.b.buf, 8192, UINT64_MAX - 8191, VBF_ALL));
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, UINT64_MAX - 7, last->rkey),
			IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_READ, f.a.mr->lkey, UINT64_MAX - 7, last->rkey),
			IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, UINT64_MAX - 6, last->rkey),
			IBV_WC_REM_ACCESS_ERR);
	for (uint32_t bytes = 8192; bytes < 8195; bytes++) {
		vbf_pair(&f, &a, &b);
		CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, vbf_sge(&f.a, 0, bytes),
					   UINT64_MAX - 8191, last->rkey),
				bytes == 8192 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
	}
	VBF_OK(ibv_dereg_mr(last));
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, end - 7, f.b.mr->rkey),
			IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, end - 8, f.b.mr->rkey),
			IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(
	    try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, (uintptr_t)f.b.buf - 1, f.b.mr->rkey),
	    IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 3; i++) {
		const struct ibv_sge wrong[] = {
		    {UINT64_MAX - 3, 8, f.a.mr->lkey},
		    {(uintptr_t)f.a.buf, UINT32_MAX, f.a.mr->lkey},
		    {(uintptr_t)f.a.buf + VBF_BYTES - 7, 8, f.a.mr->lkey}};

		vbf_pair(&f, &a, &b);
		CU_ASSERT_NOT_EQUAL(vbf_status(&f, a, IBV_WR_RDMA_WRITE, wrong[i],
					       (uintptr_t)f.b.buf, f.b.mr->rkey),
				    IBV_WC_SUCCESS);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
	}
	VBF_NULL(ibv_reg_mr(f.a.pd, (void *)(UINTPTR_MAX - 4095), 8192, IBV_ACCESS_LOCAL_WRITE),
		 EINVAL);
	vbf_close(&f);
}

/* The sum of the pieces wraps 32 bits to something small. */
static void pieces_wrap(void)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = 2,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad = NULL;
	struct ibv_qp *a, *b;
	struct vbf f;
	int rc;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	memset(f.b.buf, 0x33, 64);
	sge[0] = vbf_sge(&f.a, 0, UINT32_MAX - 7);
	sge[1] = vbf_sge(&f.a, 0, 16);
	wr.wr.rdma.remote_addr = (uintptr_t)f.b.buf;
	wr.wr.rdma.rkey = f.b.mr->rkey;
	rc = ibv_post_send(a, &wr, &bad);
	if (rc == 0)
		CU_ASSERT_NOT_EQUAL(vbf_wait(&f, f.a.cq).status, IBV_WC_SUCCESS);
	for (int i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(f.b.buf[i], 0x33);
	/* inline: the same sum must not count as 8 bytes */
	wr.send_flags |= IBV_SEND_INLINE;
	CU_ASSERT_NOT_EQUAL(ibv_post_send(a, &wr, &bad), 0);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* Counts of pieces that are negative, or more than the queue was made for. */
static void counts_of_pieces(void)
{
	const int wrong[] = {-1, INT32_MIN, VBF_SGE + 100, INT32_MAX};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {.sg_list = &sge}, *bad_recv;
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	sge = vbf_sge(&f.a, 0, 8);
	for (int i = 0; i < 4; i++) {
		wr.num_sge = rwr.num_sge = wrong[i];
		bad = NULL;
		CU_ASSERT_EQUAL(ibv_post_send(a, &wr, &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &wr);
		bad_recv = NULL;
		CU_ASSERT_EQUAL(ibv_post_recv(a, &rwr, &bad_recv), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad_recv, &rwr);
	}
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* Queues whose size in bytes wraps, or that the device does not have. */
static void sizes_of_queues(void)
{
	struct ibv_device_attr d;
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_device(f.a.ctx, &d));
	for (int i = 0; i < 6; i++) {
		struct ibv_qp_init_attr init = {.send_cq = f.a.cq,
						.recv_cq = f.a.cq,
						.cap = {4, 4, 1, 1, 0},
						.qp_type = IBV_QPT_RC};
		uint32_t *const cap[] = {&init.cap.max_send_wr, &init.cap.max_recv_wr,
					 &init.cap.max_send_sge, &init.cap.max_recv_sge,
					 &init.cap.max_inline_data};

		for (int j = 0; j < 5; j++)
			if (i == j || i == 5)
				*cap[j] = i % 2 ? UINT32_MAX : 0x80000000;
		VBF_NULL(ibv_create_qp(f.a.pd, &init), EINVAL);
	}
	VBF_NULL(ibv_create_cq(f.a.ctx, d.max_cqe + 1, NULL, NULL, 0), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, INT32_MAX, NULL, NULL, 0), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, -1, NULL, NULL, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(f.a.cq, d.max_cqe + 1), EINVAL);
	vbf_close(&f);
}

/* The NIC refuses what a region does not allow, whatever the QP allows. */
static void rights_of_regions(void)
{
	static const int needed[] = {IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
				     IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC};
	struct ibv_mr *mr;
	struct vbf f;

	vbf_open(&f);
	memset(f.b.buf, 0x44, 64);
	for (size_t i = 0; i < 4; i++) {
		VBF_NEED(mr = ibv_reg_mr(f.b.pd, f.b.buf, 64, VBF_ALL & ~needed[i]));
		CU_ASSERT_EQUAL(
		    try_one(&f, touching[i], f.a.mr->lkey, (uintptr_t)f.b.buf, mr->rkey),
		    IBV_WC_REM_ACCESS_ERR);
		VBF_OK(ibv_dereg_mr(mr));
		VBF_NEED(mr = ibv_reg_mr(f.b.pd, f.b.buf, 64, IBV_ACCESS_LOCAL_WRITE | needed[i]));
		if (i == 0)
			CU_ASSERT_EQUAL(
			    try_one(&f, touching[i], f.a.mr->lkey, (uintptr_t)f.b.buf, mr->rkey),
			    IBV_WC_SUCCESS);
		VBF_OK(ibv_dereg_mr(mr));
	}
	/* the peer's key of a deregistered region */
	VBF_NEED(mr = ibv_reg_mr(f.b.pd, f.b.buf, 64, VBF_ALL));
	VBF_OK(ibv_dereg_mr(mr));
	CU_ASSERT_EQUAL(
	    try_one(&f, IBV_WR_RDMA_WRITE, f.a.mr->lkey, (uintptr_t)f.b.buf, f.b.mr->rkey + 1),
	    IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(f.b.buf[i], 0x44);
	/* a read into memory without local write permission */
	VBF_NEED(mr = ibv_reg_mr(f.a.pd, f.a.buf, 64, 0));
	CU_ASSERT_EQUAL(try_one(&f, IBV_WR_RDMA_READ, mr->lkey, (uintptr_t)f.b.buf, f.b.mr->rkey),
			IBV_WC_LOC_PROT_ERR);
	VBF_OK(ibv_dereg_mr(mr));
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	VBF_NULL(ibv_reg_mr(f.a.pd, f.a.buf, 64, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	vbf_close(&f);
}

/* The NIC refuses what a QP does not allow, whatever the region allows. */
static void rights_of_queue_pairs(void)
{
	static const unsigned int needed[] = {IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
					      IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC};
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	for (size_t i = 0; i < 8; i++) {
		unsigned int right = needed[i % 4];
		enum ibv_wc_status status;

		VBF_NEED(a = vbf_qp(&f.a, IBV_QPT_RC, NULL));
		VBF_NEED(b = vbf_qp(&f.b, IBV_QPT_RC, NULL));
		vbf_connect(a, &f.b, b->qp_num);
		VBF_OK(vbf_to_init(b, i < 4 ? VBF_REMOTE & ~right : right));
		VBF_OK(vbf_to_rtr(b, &f.a, a->qp_num));
		status = vbf_status(&f, a, touching[i % 4], vbf_sge(&f.a, 0, 8), (uintptr_t)f.b.buf,
				    f.b.mr->rkey);
		if (i < 4)
			CU_ASSERT(status == IBV_WC_REM_ACCESS_ERR ||
				  status == IBV_WC_REM_INV_REQ_ERR);
		if (i >= 4)
			CU_ASSERT_EQUAL(status, IBV_WC_SUCCESS);
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
	}
	vbf_close(&f);
}

UT_MAIN("verbs/rxe_defects", UT(pd_of_local_region), UT(pd_of_remote_region),
	UT(pd_of_address_handle), UT(pd_of_srq), UT(notify_without_channel),
	UT(acknowledge_without_event), UT(send_queue_full), UT(receive_queues_full),
	UT(unknown_qp_type), UT(qp_numbers_come_round), UT(no_bytes_no_key), UT(lengths_wrap),
	UT(pieces_wrap), UT(counts_of_pieces), UT(sizes_of_queues), UT(rights_of_regions),
	UT(rights_of_queue_pairs))
