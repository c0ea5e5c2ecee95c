/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_tag*.c: an endpoint's queues, its tables of outstanding requests, its attributes
 * and events, before a NIC that the test plays.
 */
#include "tests/host_driver/weft_tag_fix.h"

static void opens_in_order(void)
{
	const struct hw_cmd_tag_open *open;
	struct fix f;

	setup(&f);
	open = &f.nic->tag_open;
	CU_ASSERT_EQUAL(f.hw->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(open->qpn, f.ep->qp->qpn);
	CU_ASSERT_EQUAL(open->pool_addr % 512, 0);
	CU_ASSERT_EQUAL(open->pool_bytes, 102400);
	CU_ASSERT_EQUAL(open->pool_low_bytes, 5000);
	CU_ASSERT_EQUAL(open->eager_bytes, HW_TAG_DEFAULT_EAGER_BYTES);
	CU_ASSERT_EQUAL(f.ep->eager_bytes, HW_TAG_DEFAULT_EAGER_BYTES);
	CU_ASSERT_EQUAL(f.nic->mr[open->pool_stag >> 8].cmd.addr, open->pool_addr);
	CU_ASSERT_EQUAL(f.nic->mr[open->pool_stag >> 8].cmd.bytes, open->pool_bytes);
	CU_ASSERT_EQUAL(f.nic->mr[open->pool_stag >> 8].cmd.access, HW_ACCESS_LOCAL_WRITE);
	teardown(&f);
}

static void refuses_wrong_attributes(void)
{
	struct weft_tag_attr attr;
	struct fix f;

	setup(&f);
	attr = attr_of(&f);
	attr.eager_bytes = HW_TAG_MAX_EAGER_BYTES + 1;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr = attr_of(&f);
	attr.announce = (enum weft_tag_announce)(WEFT_TAG_ANNOUNCE_ALWAYS + 1);
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr = attr_of(&f);
	attr.send_cq = NULL;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	teardown(&f);
}

/* Each step of the opening fails once: everything is given back. */
static void gives_back_after_failure(void)
{
	static const int steps[] = {HW_CMD_REG_MR, HW_CMD_CREATE_QP, HW_CMD_MODIFY_QP,
				    HW_CMD_TAG_OPEN};
	struct weft_tag_attr attr;
	struct fix f;

	open_nic(&f);
	f.nic->fail_status = EDQUOT;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint32_t regs = f.nic->commands[HW_CMD_DEREG_MR];

		attr = attr_of(&f);
		f.nic->fail_op = steps[i];
		CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
		CU_ASSERT_EQUAL(errno, EDQUOT);
		CU_ASSERT_EQUAL(f.nic->commands[HW_CMD_DEREG_MR] - regs,
				steps[i] == HW_CMD_REG_MR ? 0 : 1);
	}
	CU_ASSERT_EQUAL(f.nic->commands[HW_CMD_DESTROY_QP], 2);
	f.nic->fail_op = 0;
	attr = attr_of(&f);
	f.ep = weft_open_tag_ep(f.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.ep);
	teardown(&f);
}

/* The context ends with an endpoint in it. */
static void ends_with_context(void)
{
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(receive(&f, 1, 0, NULL), 0);
	fake_close(f.context, f.nic);
}

static void send_fields(void)
{
	const struct hw_sq_wqe *w;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(send(&f, 17, WEFT_TAG_SYNC | WEFT_TAG_DATA), 0);
	CU_ASSERT_EQUAL(fake_doorbell(f.nic), HW_DB_ENTRY(HW_DB_SQ, f.ep->qp->qpn));
	CU_ASSERT_EQUAL(f.hw->record->sq_prod, 2);
	w = fake_slot(f.hw, 0);
	CU_ASSERT_EQUAL(w->opcode, HW_WQE_TSEND);
	CU_ASSERT_EQUAL(w->flags, HW_WQE_F_SIGNALED);
	CU_ASSERT_EQUAL(w->slots, 2);
	CU_ASSERT_EQUAL(w->num_sge, 1);
	CU_ASSERT_EQUAL(w->ah, f.ah->handle);
	CU_ASSERT_EQUAL(w->dst_qpn, 99);
	CU_ASSERT_EQUAL(w->qkey, 0x80000000);
	CU_ASSERT_EQUAL(w->compare_add, 0xa1a2a3a4a5a6a7a8);
	CU_ASSERT_EQUAL(w->swap, 0xd1d2);
	CU_ASSERT_EQUAL(w->mw_access, HW_TSEND_F_SYNC | HW_TSEND_F_DATA);
	CU_ASSERT_EQUAL(send(&f, 18, WEFT_TAG_MSG | WEFT_TAG_UNSIGNALED | WEFT_TAG_INLINE), 0);
	w = fake_slot(f.hw, 2);
	CU_ASSERT_EQUAL(w->flags, HW_WQE_F_INLINE);
	CU_ASSERT_EQUAL(w->slots, 1);
	CU_ASSERT_EQUAL(w->wr_id, 18);
	CU_ASSERT_EQUAL(w->swap, 0);
	CU_ASSERT_EQUAL(w->mw_access, HW_TSEND_F_MSG);
	teardown(&f);
}

static void operation_fields(void)
{
	struct weft_sge sge[3] = {{0x1000, 10, 7}, {0x2000, 20, 8}, {0x3000, 30, 9}};
	struct weft_tag_recv_wr wr = {.wr_id = 5,
				      .sg_list = sge,
				      .num_sge = 3,
				      .src_ip = 0x0a000001,
				      .src_qpn = 3,
				      .tag = 6,
				      .ignore = 7,
				      .min_free_bytes = 8};
	const struct hw_tag_rq_wqe *op;
	uint32_t number = 99;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(weft_tag_recv(f.ep, &wr, &number), 0);
	CU_ASSERT_EQUAL(number, 0);
	CU_ASSERT_EQUAL(fake_doorbell(f.nic), HW_DB_ENTRY(HW_DB_RQ, f.ep->qp->qpn));
	op = op_at(&f, 0);
	CU_ASSERT_EQUAL(op->op, HW_TAG_RECV);
	CU_ASSERT_EQUAL(op->flags, 0);
	CU_ASSERT_EQUAL(op->num_sge, 3);
	CU_ASSERT_EQUAL(op->src_ip, 0x0a000001);
	CU_ASSERT_EQUAL(op->src_qpn, 3);
	CU_ASSERT_EQUAL(op->tag, 6);
	CU_ASSERT_EQUAL(op->ignore, 7);
	CU_ASSERT_EQUAL(op->min_free_bytes, 0);
	CU_ASSERT_EQUAL(memcmp(op + 1, sge, sizeof(sge)), 0);
	wr.flags = WEFT_TAG_MULTI | WEFT_TAG_MSG;
	wr.src_qpn = WEFT_TAG_ANY_QPN;
	CU_ASSERT_EQUAL(weft_tag_recv(f.ep, &wr, &number), 0);
	CU_ASSERT_EQUAL(number, 1);
	CU_ASSERT_EQUAL(op_at(&f, 1)->flags, HW_TAG_F_MULTI | HW_TAG_F_MSG | HW_TAG_F_ANY_SRC);
	CU_ASSERT_EQUAL(op_at(&f, 1)->src_ip, 0);
	CU_ASSERT_EQUAL(op_at(&f, 1)->min_free_bytes, 8);
	wr.flags = WEFT_TAG_CLAIM;
	CU_ASSERT_EQUAL(weft_tag_peek(f.ep, &wr), 0);
	CU_ASSERT_EQUAL(op_at(&f, 2)->op, HW_TAG_PEEK);
	CU_ASSERT_EQUAL(op_at(&f, 2)->flags, HW_TAG_F_CLAIM | HW_TAG_F_ANY_SRC);
	CU_ASSERT_EQUAL(op_at(&f, 2)->num_sge, 0);
	wr.flags = WEFT_TAG_DISCARD;
	CU_ASSERT_EQUAL(weft_tag_recv_claimed(f.ep, 44, &wr), 0);
	CU_ASSERT_EQUAL(op_at(&f, 3)->op, HW_TAG_CLAIMED);
	CU_ASSERT_EQUAL(op_at(&f, 3)->number, 44);
	CU_ASSERT_EQUAL(op_at(&f, 3)->num_sge, 0);
	take_all(&f);
	CU_ASSERT_EQUAL(weft_tag_cancel(f.ep, 1), 0);
	CU_ASSERT_EQUAL(op_at(&f, 4)->op, HW_TAG_CANCEL);
	CU_ASSERT_EQUAL(op_at(&f, 4)->number, 1);
	CU_ASSERT_EQUAL(fake_doorbell(f.nic), HW_DB_ENTRY(HW_DB_RQ, f.ep->qp->qpn));
	teardown(&f);
}

static void refuses_wrong_requests(void)
{
	struct weft_send_wr plain = {.opcode = WEFT_WR_SEND};
	struct weft_qp_attr reset = {.state = WEFT_QPS_RESET};
	struct weft_tag_send_wr wr = {.flags = WEFT_TAG_MULTI};
	struct weft_tag_recv_wr recv = {.flags = WEFT_TAG_DISCARD};
	const struct weft_recv_wr plain_recv = {.wr_id = 1};
	struct fix f;

	setup(&f);
	wr.ah = plain.ah = f.ah;
	CU_ASSERT_EQUAL(weft_tag_send(f.ep, &wr), -EINVAL);
	wr.flags = 0;
	wr.num_sge = 3;
	CU_ASSERT_EQUAL(weft_tag_send(f.ep, &wr), -EINVAL);
	wr.num_sge = 0;
	wr.ah = NULL;
	CU_ASSERT_EQUAL(weft_tag_send(f.ep, &wr), -EINVAL);
	CU_ASSERT_EQUAL(send(&f, UINT64_C(1) << 63, WEFT_TAG_UNSIGNALED), -EINVAL);
	CU_ASSERT_EQUAL(weft_tag_recv(f.ep, &recv, NULL), -EINVAL);
	CU_ASSERT_EQUAL(receive(&f, 1, WEFT_TAG_MULTI | WEFT_TAG_UNSIGNALED, NULL), -EINVAL);
	recv.flags = 0;
	recv.num_sge = 4;
	CU_ASSERT_EQUAL(weft_tag_recv(f.ep, &recv, NULL), -EINVAL);
	recv.num_sge = 0;
	recv.flags = WEFT_TAG_CLAIM | WEFT_TAG_DISCARD;
	CU_ASSERT_EQUAL(weft_tag_peek(f.ep, &recv), -EINVAL);
	recv.flags = WEFT_TAG_CLAIM;
	CU_ASSERT_EQUAL(weft_tag_recv_claimed(f.ep, 0, &recv), -EINVAL);
	/* A Send of another kind would be taken for an envelope; a plain receive for an operation.
	 */
	CU_ASSERT_EQUAL(weft_post_send(f.ep->qp, &plain, NULL), -EINVAL);
	CU_ASSERT_EQUAL(weft_post_recv(f.ep->qp, &plain_recv, NULL), -EINVAL);
	CU_ASSERT_EQUAL(weft_modify_qp(f.ep->qp, &reset, WEFT_QP_STATE), -EINVAL);
	CU_ASSERT_EQUAL(f.hw->record->sq_prod, 0);
	CU_ASSERT_EQUAL(f.hw->record->rq_prod, 0);
	teardown(&f);
}

/* An RDMA Write of the same queue is retired by its completion, tagged sends by sq_cons. */
static void rings_free_by_index(void)
{
	const struct weft_sge sge = {0x1000, 8, 7};
	struct weft_send_wr write = {.wr_id = 3,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .opcode = WEFT_WR_WRITE,
				     .flags = WEFT_SEND_SIGNALED};
	struct weft_wc wc;
	struct fix f;
	uint32_t i;

	setup(&f);
	write.ah = f.ah;
	for (i = 0; i < SEND_WR; i++)
		CU_ASSERT_EQUAL(send(&f, i, 0), 0);
	for (i = 0; i < RECV_WR; i++)
		CU_ASSERT_EQUAL(receive(&f, i, 0, NULL), 0);
	CU_ASSERT_EQUAL(send(&f, 9, 0), -ENOMEM);
	CU_ASSERT_EQUAL(receive(&f, 9, 0, NULL), -ENOMEM);
	take_all(&f);
	/* None has completed, but there is room. */
	CU_ASSERT_EQUAL(weft_post_send(f.ep->qp, &write, NULL), 0);
	for (i = 1; i < SEND_WR; i++)
		CU_ASSERT_EQUAL(send(&f, i, 0), 0);
	take_all(&f);
	CU_ASSERT_EQUAL(send(&f, 9, 0), -ENOMEM);
	complete(&f,
		 (struct hw_cqe){.wr_id = 3, .opcode = HW_CQE_WRITE, .sq_index = 2 * SEND_WR + 2});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.wr_id, 3);
	CU_ASSERT_EQUAL(send(&f, 9, 0), 0);
	teardown(&f);
}

/* Receives stay posted, so the table fills up, not the ring. */
static void bounds_posted_receives(void)
{
	uint32_t n = 0;
	struct fix f;
	int rc;

	setup(&f);
	while ((rc = receive(&f, n, 0, NULL)) == 0) {
		n++;
		take_all(&f);
	}
	CU_ASSERT_EQUAL(rc, -ENOMEM);
	CU_ASSERT_EQUAL(n, HW_TAG_MAX_POSTED + RECV_WR);
	complete(&f, (struct hw_cqe){.wr_id = op_at(&f, n - 1)->wr_id, .opcode = HW_CQE_TRECV});
	CU_ASSERT_EQUAL(poll_one(&f).wr_id, n - 1);
	CU_ASSERT_EQUAL(receive(&f, n, 0, NULL), 0);
	CU_ASSERT_EQUAL(weft_tag_cancel(f.ep, n), 0);
	teardown(&f);
}

static void queries(void)
{
	struct weft_tag_stats stats;
	struct fix f;

	setup(&f);
	f.nic->tag_stats = (struct hw_resp_tag_query){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	CU_ASSERT_EQUAL(weft_query_tag_ep(f.ep, &stats), 0);
	CU_ASSERT_EQUAL(stats.posted, 1);
	CU_ASSERT_EQUAL(stats.claimed, 4);
	CU_ASSERT_EQUAL(stats.pool_bytes, 5);
	CU_ASSERT_EQUAL(stats.matched_unexpected, 8);
	CU_ASSERT_EQUAL(stats.pool_refused, 12);
	f.nic->fail_op = HW_CMD_TAG_QUERY;
	f.nic->fail_status = EINVAL;
	CU_ASSERT_EQUAL(weft_query_tag_ep(f.ep, &stats), -EINVAL);
	teardown(&f);
}

static void tells_low_pool(void)
{
	struct weft_async_event event;
	struct fix f;

	setup(&f);
	fake_eqe(f.nic, 0, (struct hw_eqe){.type = HW_EVENT_TAG_POOL_LOW, .id = f.ep->qp->qpn},
		 true);
	CU_ASSERT_EQUAL(weft_get_async_event(f.context, &event), 0);
	CU_ASSERT_EQUAL(event.type, WEFT_EVENT_TAG_POOL_LOW);
	CU_ASSERT_PTR_EQUAL(event.qp, f.ep->qp);
	CU_ASSERT_STRING_EQUAL(weft_event_type_str(event.type), "TAG_POOL_LOW");
	weft_ack_async_event(&event);
	teardown(&f);
}

/* An old weftd refuses the flag of the QP, and does not know the command. */
static void old_weftd(void)
{
	struct weft_tag_attr attr;
	struct fix f;

	open_nic(&f);
	attr = attr_of(&f);
	f.nic->fail_op = HW_CMD_CREATE_QP;
	f.nic->fail_status = EINVAL;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	f.nic->no_tags = true;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EOPNOTSUPP);
	fake_close(f.context, f.nic);
}

UT_MAIN("host_driver/weft_tag", UT(opens_in_order), UT(refuses_wrong_attributes),
	UT(gives_back_after_failure), UT(ends_with_context), UT(send_fields), UT(operation_fields),
	UT(refuses_wrong_requests), UT(rings_free_by_index), UT(bounds_posted_receives),
	UT(queries), UT(tells_low_pool), UT(old_weftd))
