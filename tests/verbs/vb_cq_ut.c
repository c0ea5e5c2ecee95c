/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_cq.c: channels, queues, their size, moderation and events.
 */
#include "tests/verbs/vb_fix.h"

static void create(void)
{
	struct ibv_device_attr d;
	struct ibv_cq *cq;
	struct vbf f;

	vbf_open(&f);
	VBF_OK(ibv_query_device(f.a.ctx, &d));
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 5, &f, f.a.channel, 0));
	CU_ASSERT(cq->cqe >= 5 && cq->cq_context == &f && cq->channel == f.a.channel);
	CU_ASSERT_EQUAL(ibv_destroy_comp_channel(f.a.channel), EBUSY);
	VBF_OK(ibv_destroy_cq(cq));
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 1, NULL, NULL, f.a.ctx->num_comp_vectors - 1));
	VBF_OK(ibv_destroy_cq(cq));
	VBF_NULL(ibv_create_cq(f.a.ctx, 0, NULL, NULL, 0), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, -5, NULL, NULL, 0), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, d.max_cqe + 1, NULL, NULL, 0), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, 1, NULL, NULL, -1), EINVAL);
	VBF_NULL(ibv_create_cq(f.a.ctx, 1, NULL, NULL, f.a.ctx->num_comp_vectors), EINVAL);
	vbf_close(&f);
}

static void create_extended(void)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 4, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
	struct ibv_cq_ex *cq;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq_ex(f.a.ctx, &attr));
	/* every pointer, whatever was requested: programs test some of them */
	CU_ASSERT(cq->start_poll && cq->next_poll && cq->end_poll && cq->read_opcode);
	CU_ASSERT(cq->read_vendor_err && cq->read_byte_len && cq->read_imm_data);
	CU_ASSERT(cq->read_qp_num && cq->read_src_qp && cq->read_wc_flags && cq->read_slid);
	CU_ASSERT(cq->read_sl && cq->read_dlid_path_bits && cq->read_completion_ts);
	CU_ASSERT(cq->read_cvlan && cq->read_flow_tag && cq->read_tm_info);
	CU_ASSERT_PTR_NOT_NULL(cq->read_completion_wallclock_ns);
	VBF_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EOPNOTSUPP);
	attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EOPNOTSUPP);
	attr.wc_flags = 0;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EOPNOTSUPP);
	attr.comp_mask = 1 << 10;
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EINVAL);
	attr = (struct ibv_cq_init_attr_ex){.cqe = 0};
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EINVAL);
	attr.cqe = UINT32_MAX;
	VBF_NULL(ibv_create_cq_ex(f.a.ctx, &attr), EINVAL);
	vbf_close(&f);
}

/* Makes flushed receives in a CQ, numbered. */
static struct ibv_qp *flushed(struct vbf *f, struct ibv_cq *cq, int n)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = {1, 64, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_recv_wr wr = {0}, *bad;
	struct ibv_qp *qp = ibv_create_qp(f->a.pd, &init);

	VBF_NEED(qp);
	VBF_OK(vbf_to_init(qp, 0));
	for (int i = 0; i < n; i++, wr.wr_id++)
		VBF_OK(ibv_post_recv(qp, &wr, &bad));
	VBF_OK(ibv_modify_qp(qp, &err, IBV_QP_STATE));
	sim_run_for(f->sim, 1000000);
	return qp;
}

/* Waiting completions stay, in order; a size that is too small for them is refused. */
static void resize(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 40, NULL, NULL, 0));
	qp = flushed(&f, cq, 20);
	CU_ASSERT_EQUAL(ibv_resize_cq(cq, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(cq, -1), EINVAL);
	CU_ASSERT_EQUAL(ibv_resize_cq(cq, 4), EINVAL);
	CU_ASSERT(cq->cqe >= 40);
	for (uint64_t i = 0; i < 5; i++)
		CU_ASSERT(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == i);
	VBF_OK(ibv_resize_cq(cq, 500));
	CU_ASSERT(cq->cqe >= 500);
	for (uint64_t i = 5; i < 10; i++)
		CU_ASSERT(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == i);
	VBF_OK(ibv_resize_cq(cq, 10));
	CU_ASSERT(cq->cqe >= 10 && cq->cqe < 500);
	for (uint64_t i = 10; i < 20; i++)
		CU_ASSERT(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == i);
	CU_ASSERT_EQUAL(ibv_poll_cq(cq, 1, &wc), 0);
	VBF_OK(ibv_destroy_qp(qp));
	VBF_OK(ibv_destroy_cq(cq));
	vbf_close(&f);
}

static bool event(struct ibv_comp_channel *channel, struct ibv_cq *expected)
{
	struct ibv_cq *cq = NULL;
	void *user = NULL;

	errno = 0;
	if (ibv_get_cq_event(channel, &cq, &user) < 0) {
		CU_ASSERT_EQUAL(errno, EAGAIN);
		return false;
	}
	CU_ASSERT(cq == expected && user == expected->cq_context);
	return true;
}

/*
 * One event for the arrived completions, and no second one for the same; later ones raise another.
 */
static void events(void)
{
	struct ibv_qp *first, *second;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(cq = ibv_create_cq(f.a.ctx, 64, &f, f.a.channel, 0));
	CU_ASSERT_FALSE(event(f.a.channel, cq));
	VBF_OK(ibv_req_notify_cq(cq, 0));
	first = flushed(&f, cq, 3);
	CU_ASSERT_TRUE(event(f.a.channel, cq));
	CU_ASSERT_FALSE(event(f.a.channel, cq));
	VBF_OK(ibv_req_notify_cq(cq, 0));
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_FALSE(event(f.a.channel, cq));
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(ibv_poll_cq(cq, 1, &wc), 1);
	second = flushed(&f, cq, 1);
	CU_ASSERT_TRUE(event(f.a.channel, cq));
	/* arrived after the last event and before the arming: an event at once */
	VBF_OK(ibv_destroy_qp(first));
	first = flushed(&f, cq, 1);
	CU_ASSERT_FALSE(event(f.a.channel, cq));
	VBF_OK(ibv_req_notify_cq(cq, 0));
	sim_run_for(f.sim, 1000000);
	CU_ASSERT_TRUE(event(f.a.channel, cq));
	ibv_ack_cq_events(cq, 3);
	VBF_OK(ibv_destroy_qp(first));
	VBF_OK(ibv_destroy_qp(second));
	VBF_OK(ibv_destroy_cq(cq));
	vbf_close(&f);
}

/* Solicited only: a Send without the flag raises no event. */
static void solicited(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {0}, *bad_recv;
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	VBF_OK(ibv_post_recv(b, &rwr, &bad_recv));
	VBF_OK(ibv_post_recv(b, &rwr, &bad_recv));
	VBF_OK(ibv_req_notify_cq(f.b.cq, 1));
	VBF_OK(ibv_post_send(a, &wr, &bad));
	vbf_wait(&f, f.b.cq);
	CU_ASSERT_FALSE(event(f.b.channel, f.b.cq));
	wr.send_flags = IBV_SEND_SOLICITED;
	VBF_OK(ibv_post_send(a, &wr, &bad));
	vbf_wait(&f, f.b.cq);
	CU_ASSERT_TRUE(event(f.b.channel, f.b.cq));
	ibv_ack_cq_events(f.b.cq, 1);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

static void irq(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	(void)proc;
	(void)eq;
	++*(int *)ctx;
}

/* The program is woken by the second completion, or 100 us after the first. */
static void moderation(void)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = {.cq_count = 2, .cq_period = 100}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {0}, *bad_recv;
	struct ibv_qp *a, *b;
	struct vbf f;
	int irqs = 0;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	for (int i = 0; i < 3; i++)
		VBF_OK(ibv_post_recv(b, &rwr, &bad_recv));
	VBF_OK(ibv_modify_cq(f.b.cq, &attr));
	sim_proc_on_irq(f.b.proc, irq, &irqs);
	VBF_OK(ibv_req_notify_cq(f.b.cq, 0));
	VBF_OK(ibv_post_send(a, &wr, &bad));
	vbf_wait(&f, f.b.cq);
	CU_ASSERT_EQUAL(irqs, 0);
	sim_run_for(f.sim, 200000);
	CU_ASSERT_EQUAL(irqs, 1);
	CU_ASSERT_TRUE(event(f.b.channel, f.b.cq));
	VBF_OK(ibv_req_notify_cq(f.b.cq, 0));
	VBF_OK(ibv_post_send(a, &wr, &bad));
	VBF_OK(ibv_post_send(a, &wr, &bad));
	vbf_wait(&f, f.b.cq);
	vbf_wait(&f, f.b.cq);
	sim_run_for(f.sim, 20000);
	CU_ASSERT_EQUAL(irqs, 2);
	CU_ASSERT_TRUE(event(f.b.channel, f.b.cq));
	ibv_ack_cq_events(f.b.cq, 2);
	attr.attr_mask = 0;
	CU_ASSERT_EQUAL(ibv_modify_cq(f.b.cq, &attr), EINVAL);
	attr.attr_mask = IBV_CQ_ATTR_MODERATE | 2;
	CU_ASSERT_EQUAL(ibv_modify_cq(f.b.cq, &attr), EINVAL);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* Time from one message's completion to its interrupt, in microseconds; -1: none in 1 ms. */
static int irq_after_us(struct vbf *f, struct ibv_qp *a, struct ibv_qp *b, int *irqs)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {0}, *bad_recv;
	int before = *irqs, us = -1;

	VBF_OK(ibv_post_recv(b, &rwr, &bad_recv));
	VBF_OK(ibv_req_notify_cq(f->b.cq, 0));
	VBF_OK(ibv_post_send(a, &wr, &bad));
	vbf_wait(f, f->b.cq);
	for (int i = 0; i < 1000 && us < 0; i++) {
		if (*irqs > before)
			us = i;
		sim_run_for(f->sim, 1000);
	}
	if (us >= 0 && event(f->b.channel, f->b.cq))
		ibv_ack_cq_events(f->b.cq, 1);
	return us;
}

static void modify(struct ibv_cq *cq, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = {.cq_count = count, .cq_period = period}};

	VBF_OK(ibv_modify_cq(cq, &attr));
}

/* A queue's own moderation overrides its vector's, and 0, 0 returns to the vector's. */
static void moderation_of_vector(void)
{
	struct weft_coalesce c = {.param = {[WEFT_COALESCE_RX_USECS] = 300}};
	struct ibv_device_attr_ex ex;
	struct ibv_qp *a, *b;
	struct vbf f;
	int irqs = 0, us;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	sim_proc_on_irq(f.b.proc, irq, &irqs);
	CU_ASSERT(irq_after_us(&f, a, b, &irqs) < 5);
	VBF_OK(-weft_set_coalesce(vb_context_of(f.b.ctx)->weft, 0, WEFT_COALESCE_SET_PARAMS, &c));
	us = irq_after_us(&f, a, b, &irqs);
	CU_ASSERT(us > 290 && us < 310);
	modify(f.b.cq, 1, 0);
	CU_ASSERT(irq_after_us(&f, a, b, &irqs) < 5);
	modify(f.b.cq, 16, 100);
	us = irq_after_us(&f, a, b, &irqs);
	CU_ASSERT(us > 90 && us < 110);
	modify(f.b.cq, 0, 0);
	us = irq_after_us(&f, a, b, &irqs);
	CU_ASSERT(us > 290 && us < 310);
	/* Values up to the device's limits are accepted, and none beyond. */
	VBF_OK(ibv_query_device_ex(f.b.ctx, NULL, &ex));
	CU_ASSERT_EQUAL(ex.cq_mod_caps.max_cq_count, UINT16_MAX);
	CU_ASSERT_EQUAL(ex.cq_mod_caps.max_cq_period, UINT16_MAX);
	modify(f.b.cq, ex.cq_mod_caps.max_cq_count, ex.cq_mod_caps.max_cq_period);
	CU_ASSERT_EQUAL(irq_after_us(&f, a, b, &irqs), -1);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* comp_vector of the first queue of a channel selects the vector of the channel's interrupts. */
static void vectors(void)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *first, *second;
	struct weft_vector v;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(channel = ibv_create_comp_channel(f.a.ctx));
	VBF_OK(-weft_query_vector(vb_context_of(f.a.ctx)->weft, 5, 0, &v));
	CU_ASSERT_EQUAL(v.event_queues, 0);
	VBF_NEED(first = ibv_create_cq(f.a.ctx, 5, NULL, channel, 5));
	VBF_NEED(second = ibv_create_cq(f.a.ctx, 5, NULL, channel, 6));
	VBF_OK(-weft_query_vector(vb_context_of(f.a.ctx)->weft, 5, 0, &v));
	CU_ASSERT_EQUAL(v.event_queues, 1);
	VBF_OK(-weft_query_vector(vb_context_of(f.a.ctx)->weft, 6, 0, &v));
	CU_ASSERT_EQUAL(v.event_queues, 0);
	VBF_OK(ibv_destroy_cq(first));
	VBF_OK(ibv_destroy_cq(second));
	VBF_OK(ibv_destroy_comp_channel(channel));
	VBF_OK(-weft_query_vector(vb_context_of(f.a.ctx)->weft, 5, 0, &v));
	CU_ASSERT_EQUAL(v.event_queues, 0);
	vbf_close(&f);
}

UT_MAIN("verbs/vb_cq", UT(create), UT(create_extended), UT(resize), UT(events), UT(solicited),
	UT(moderation), UT(moderation_of_vector), UT(vectors))
