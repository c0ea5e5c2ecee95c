/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_post.c: receives of a queue pair and of a shared queue.
 */
#include <errno.h>
#include <string.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

static const struct weft_qp_cap small = {.max_send_wr = 1, .max_recv_wr = 4, .max_recv_sge = 3};

static void receives(void)
{
	struct fake_setup s;
	struct weft_sge sge[4] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {0, 0, 0}};
	struct weft_recv_wr wr[2] = {{.next = &wr[1], .wr_id = 70, .sg_list = sge, .num_sge = 3},
				     {.wr_id = 71}};
	const struct weft_recv_wr *bad = NULL;
	const struct hw_rq_wqe *w;
	struct weft_wc wc;
	struct hw_cqe cqe = {.wr_id = 71, .opcode = HW_CQE_RECV};

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, wr, NULL), 0);
	CU_ASSERT_EQUAL(s.hw->record->rq_prod, 2);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), 0);
	w = (const void *)s.hw->rq;
	CU_ASSERT_EQUAL(w->wr_id, 70);
	CU_ASSERT_EQUAL(w->num_sge, 3);
	CU_ASSERT_EQUAL(memcmp(w + 1, sge, 3 * sizeof(*sge)), 0);
	w = (const void *)(s.hw->rq + s.hw->rq_stride_bytes);
	CU_ASSERT_EQUAL(w->wr_id, 71);
	wr[0].num_sge = 4;
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, wr, &bad), -EINVAL);
	CU_ASSERT_PTR_EQUAL(bad, &wr[0]);
	wr[0].num_sge = 0;
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, wr, &bad), -ENOMEM);
	/* The second completes first: its place is free, the first is still in use. */
	cqe.qpn = s.qp->qpn;
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 71);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &wr[1], NULL), 0);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &wr[1], NULL), -ENOMEM);
	fake_teardown(&s);
}

static void shared_receives(void)
{
	struct fake_nic *nic;
	struct weft_context *context = fake_open(&nic, 0);
	struct weft_pd *pd = weft_alloc_pd(context);
	struct weft_srq_attr attr = {.max_wr = 3, .max_sge = 2};
	struct weft_srq *srq = weft_create_srq(pd, &attr);
	struct weft_recv_wr wr = {.wr_id = 5};

	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), -ENOMEM);
	CU_ASSERT_EQUAL(nic->srq_record[0]->prod, 3);
	nic->srq_record[0]->cons = 2;
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), -ENOMEM);
	wr.num_sge = 3;
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &wr, NULL), -EINVAL);
	attr.limit = 1;
	CU_ASSERT_EQUAL(weft_modify_srq(srq, &attr, WEFT_SRQ_LIMIT), 0);
	CU_ASSERT_EQUAL(weft_modify_srq(srq, &attr, WEFT_SRQ_MAX_WR), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(weft_destroy_srq(srq), 0);
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), 0);
	fake_close(context, nic);
}

/* Receives posted to a dead QP are flushed only if the NIC is notified. */
static void receives_of_a_dead_qp_ring(void)
{
	struct fake_setup s;
	struct weft_recv_wr wr = {.wr_id = 5};
	struct hw_cqe cqe = {.wr_id = 5, .opcode = HW_CQE_RECV, .status = HW_STATUS_WR_FLUSH_ERR};
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	cqe.qpn = s.qp->qpn;
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), 0);
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), HW_DB_ENTRY(HW_DB_SQ, s.qp->qpn));
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), HW_DB_ENTRY(HW_DB_SQ, s.qp->qpn));
	fake_teardown(&s);
}

UT_MAIN("host_driver/weft_post_recv", UT(receives), UT(shared_receives),
	UT(receives_of_a_dead_qp_ring))
