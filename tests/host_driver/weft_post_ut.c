/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_post.c, weft_db.h: the content of send queues after posts, and doorbells.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared_defs/hw_atomic.h"
#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

static const struct weft_qp_cap small = {
    .max_send_wr = 4,
    .max_recv_wr = 4,
    .max_send_sge = 6,
    .max_recv_sge = 3,
    .max_inline_bytes = 100,
};

static struct weft_qp_obj *obj(const struct fake_setup *s)
{
	return weft_container_of(s->qp, struct weft_qp_obj, pub);
}

/* Completes a signalled request as the firmware does. */
static void complete(struct fake_setup *s, uint64_t wr_id, uint32_t sq_end)
{
	struct hw_cqe cqe = {.wr_id = wr_id, .qpn = s->qp->qpn, .sq_index = sq_end};

	fake_cqe(s->nic, s->cq, cqe);
}

static void post_fields(void)
{
	struct fake_setup s;
	struct weft_sge sge[2] = {{0x1000, 10, 7}, {0x2000, 20, 8}};
	struct weft_send_wr wr = {
	    .wr_id = 0x1122334455667788,
	    .sg_list = sge,
	    .num_sge = 2,
	    .opcode = WEFT_WR_CMP_SWAP,
	    .flags = WEFT_SEND_SIGNALED | WEFT_SEND_FENCE,
	    .rkey = 0xabcd,
	    .remote_addr = 0xdeadbeef00,
	    .compare_add = 5,
	    .swap = 6,
	    .dst_qpn = 99,
	    .qkey = 0x80000000,
	};
	const struct hw_sq_wqe *w;

	fake_setup(&s, WEFT_QPT_RD, &small, 16);
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), HW_DB_ENTRY(HW_DB_SQ, s.qp->qpn));
	CU_ASSERT_EQUAL(s.hw->record->sq_prod, 2);
	w = fake_slot(s.hw, 0);
	CU_ASSERT_EQUAL(w->opcode, HW_WQE_CMP_SWAP);
	CU_ASSERT_EQUAL(w->flags, HW_WQE_F_SIGNALED | HW_WQE_F_FENCE);
	CU_ASSERT_EQUAL(w->slots, 2);
	CU_ASSERT_EQUAL(w->num_sge, 2);
	CU_ASSERT_EQUAL(w->wr_id, wr.wr_id);
	CU_ASSERT_EQUAL(w->ah, s.ah->handle);
	CU_ASSERT_EQUAL(w->dst_qpn, 99);
	CU_ASSERT_EQUAL(w->qkey, 0x80000000);
	CU_ASSERT_EQUAL(w->rkey, 0xabcd);
	CU_ASSERT_EQUAL(w->remote_addr, 0xdeadbeef00);
	CU_ASSERT_EQUAL(w->compare_add, 5);
	CU_ASSERT_EQUAL(w->swap, 6);
	CU_ASSERT_EQUAL(memcmp(fake_slot(s.hw, 1), sge, sizeof(sge)), 0);
	fake_teardown(&s);
}

/* Operations and types of an atomic; other queue pairs do not have it. */
static void post_atomic(void)
{
	struct weft_sge sge = {0x1000, 2, 7};
	struct weft_send_wr wr = {
	    .sg_list = &sge,
	    .num_sge = 1,
	    .opcode = WEFT_WR_ATOMIC,
	    .remote_addr = 0xdeadbeef02,
	    .mw_access = 0xffffffff,
	    .compare_add = 5,
	    .swap = 6,
	    .atomic_op = WEFT_ATOMIC_MSWAP,
	    .atomic_type = WEFT_ATOMIC_INT16,
	};
	const struct hw_sq_wqe *w;
	struct fake_setup s;

	fake_setup(&s, WEFT_QPT_RD, &small, 16);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	w = fake_slot(s.hw, 0);
	CU_ASSERT_EQUAL(w->opcode, HW_WQE_ATOMIC);
	CU_ASSERT_EQUAL(w->mw_access, HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_INT16));
	CU_ASSERT_EQUAL(w->compare_add, 5);
	CU_ASSERT_EQUAL(w->swap, 6);
	wr.atomic_type = WEFT_ATOMIC_FLOAT;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	wr.atomic_op = (enum weft_atomic_op)HW_ATOMIC_OPS;
	wr.atomic_type = WEFT_ATOMIC_INT16;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	wr.atomic_op = WEFT_ATOMIC_SUM;
	wr.flags = WEFT_SEND_INLINE;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	fake_teardown(&s);
	fake_setup(&s, WEFT_QPT_RC, &small, 16);
	wr.flags = 0;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	fake_teardown(&s);
}

static void post_imm_and_inv(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.opcode = WEFT_WR_SEND_IMM, .imm = 17, .inv_stag = 18};

	fake_setup(&s, WEFT_QPT_RD, &small, 16);
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 0)->imm_inv, 17);
	wr.opcode = WEFT_WR_SEND_INV;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 1)->imm_inv, 18);
	wr.opcode = WEFT_WR_SEND;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 2)->imm_inv, 0);
	fake_teardown(&s);
}

/* A list is one doorbell; while it is in the ring there is no second one. */
static void one_doorbell_per_batch(void)
{
	struct fake_setup s;
	struct weft_send_wr wr[3] = {
	    {.next = &wr[1], .wr_id = 1}, {.next = &wr[2], .wr_id = 2}, {.wr_id = 3}};

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr[0].ah = wr[1].ah = wr[2].ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr[0], NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr[2], NULL), 0);
	CU_ASSERT_EQUAL(s.hw->record->sq_prod, 4);
	CU_ASSERT_NOT_EQUAL(fake_doorbell(s.nic), 0);
	CU_ASSERT_EQUAL(fake_doorbell(s.nic), 0);
	fake_teardown(&s);
}

/* The eventfd is written only when the NIC says that it sleeps. */
static void wakes_a_sleeper(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.wr_id = 1};
	struct hw_bar_header *header;
	uint64_t count = 0;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	header = (void *)s.nic->bar;
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_TRUE(read(s.nic->doorbell_fd, &count, 8) < 0 && errno == EAGAIN);
	CU_ASSERT_NOT_EQUAL(fake_doorbell(s.nic), 0);
	header->sleeping = 1;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(read(s.nic->doorbell_fd, &count, 8), 8);
	CU_ASSERT_EQUAL(count, 1);
	fake_teardown(&s);
}

/* Requests of three slots in a ring of sixteen, indices passing 2^32. */
static void ring_wraps(void)
{
	struct fake_setup s;
	struct weft_sge sge[6];
	struct weft_send_wr wr = {.num_sge = 6, .sg_list = sge, .flags = WEFT_SEND_SIGNALED};
	const uint32_t start = UINT32_MAX - 40;
	struct weft_qp_obj *qp;
	struct weft_wc wc;
	uint8_t seen[sizeof(sge)];
	uint32_t at = start;

	fake_setup(&s, WEFT_QPT_UD, &small, 64);
	qp = obj(&s);
	CU_ASSERT_EQUAL(qp->sq.slots, 16);
	qp->sq.head = qp->sq.tail = start;
	qp->sq.wr_head = qp->sq.wr_tail = UINT32_MAX - 5;
	s.hw->record->sq_cons = start;
	wr.ah = s.ah;
	for (uint64_t i = 0; i < 50; i++) {
		for (uint32_t k = 0; k < 6; k++)
			sge[k] = (struct weft_sge){i * 16 + k, (uint32_t)i, k};
		wr.wr_id = i;
		CU_ASSERT_EQUAL_FATAL(weft_post_send(s.qp, &wr, NULL), 0);
		CU_ASSERT_EQUAL(fake_slot(s.hw, at)->wr_id, i);
		CU_ASSERT_EQUAL(fake_slot(s.hw, at)->slots, 3);
		memcpy(seen, fake_slot(s.hw, at + 1), 64);
		memcpy(seen + 64, fake_slot(s.hw, at + 2), sizeof(sge) - 64);
		CU_ASSERT_EQUAL(memcmp(seen, sge, sizeof(sge)), 0);
		at += 3;
		CU_ASSERT_EQUAL(s.hw->record->sq_prod, at);
		complete(&s, i, at);
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.wr_id, i);
	}
	fake_teardown(&s);
}

static void full_until_polled(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.flags = WEFT_SEND_SIGNALED};
	const struct weft_send_wr *bad = NULL;
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr.ah = s.ah;
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, &bad), -ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr);
	/* The NIC has completed them, but the completion was not polled: the CQ could overflow. */
	s.hw->record->sq_cons = 1;
	complete(&s, 0, 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	fake_teardown(&s);
}

/* Unsignalled requests are free once sq_cons has passed them. */
static void unsignalled_by_sq_cons(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.flags = 0};

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr.ah = s.ah;
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	s.hw->record->sq_cons = 2;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	fake_teardown(&s);
}

/* RD: a completion that overtakes an earlier one does not free the earlier one's slots. */
static void completions_out_of_order(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.flags = WEFT_SEND_SIGNALED};
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_RD, &small, 16);
	wr.ah = s.ah;
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	complete(&s, 2, 3);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	complete(&s, 0, 1);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	complete(&s, 1, 2);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	fake_teardown(&s);
}

/*
 * A failed unsignalled request has a completion although it may be retired already; that must not
 * retire the request that has its slot now.
 */
static void stale_completion(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.flags = 0};
	struct hw_cqe cqe = {.status = HW_STATUS_LOC_PROT_ERR, .sq_index = 1};
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr.ah = s.ah;
	cqe.qpn = s.qp->qpn;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	s.hw->record->sq_cons = 1;
	wr.flags = WEFT_SEND_SIGNALED;
	obj(&s)->sq.head = obj(&s)->sq.tail = 16; /* the next one uses slot 0 again */
	weft_sq_retire(obj(&s));
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_LOC_PROT_ERR);
	weft_lock_take(&obj(&s)->sq.lock);
	weft_sq_retire(obj(&s));
	weft_lock_give(&obj(&s)->sq.lock);
	CU_ASSERT_EQUAL(obj(&s)->sq.wr_head - obj(&s)->sq.wr_tail, 1);
	fake_teardown(&s);
}

static void inline_data(void)
{
	struct fake_setup s;
	uint8_t data[101];
	struct weft_sge sge[3] = {
	    {(uintptr_t)data, 60, 0}, {0, 0, 0}, {(uintptr_t)data + 60, 40, 0}};
	struct weft_send_wr wr = {.sg_list = sge, .num_sge = 3, .flags = WEFT_SEND_INLINE};
	const uint8_t zeroes[28] = {0};

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	fake_setup(&s, WEFT_QPT_RD, &small, 16);
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 0)->num_sge, 0);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 0)->inline_bytes, 100);
	CU_ASSERT_EQUAL(fake_slot(s.hw, 0)->slots, 3);
	CU_ASSERT_EQUAL(memcmp(s.hw->sq + 64, data, 100), 0);
	/* No bytes of the stack are copied. */
	CU_ASSERT_EQUAL(memcmp(s.hw->sq + 164, zeroes, sizeof(zeroes)), 0);
	sge[2].bytes = 41;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	/* A sum that wraps in 32 bits. */
	sge[0].bytes = UINT32_MAX;
	sge[2].bytes = 2;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	CU_ASSERT_EQUAL(s.hw->record->sq_prod, 3);
	fake_teardown(&s);
}

static void bad_requests(void)
{
	struct fake_setup s;
	struct weft_sge sge[7] = {{0, 0, 0}};
	struct weft_send_wr good = {.wr_id = 1}, bad = {.sg_list = sge, .num_sge = 7};
	const struct weft_send_wr *at = NULL;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	good.ah = bad.ah = s.ah;
	good.next = &bad;
	/* The requests before the bad one are posted. */
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &good, &at), -EINVAL);
	CU_ASSERT_PTR_EQUAL(at, &bad);
	CU_ASSERT_EQUAL(s.hw->record->sq_prod, 1);
	bad.num_sge = 0;
	bad.opcode = WEFT_WR_READ; /* not on UD */
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &bad, &at), -EINVAL);
	bad.opcode = (enum weft_wr_opcode)40;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &bad, &at), -EINVAL);
	bad.opcode = WEFT_WR_SEND;
	bad.flags = 0x10;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &bad, &at), -EINVAL);
	bad.flags = 0;
	bad.ah = NULL;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &bad, &at), -EINVAL);
	CU_ASSERT_EQUAL(s.hw->record->sq_prod, 1);
	fake_teardown(&s);
}

static void state_is_minded(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.wr_id = 1};
	struct weft_recv_wr recv = {.wr_id = 1};
	struct weft_qp_attr attr = {.state = WEFT_QPS_RESET};

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	CU_ASSERT_EQUAL(weft_modify_qp(s.qp, &attr, WEFT_QP_STATE), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), -EINVAL);
	attr.state = WEFT_QPS_INIT;
	CU_ASSERT_EQUAL(weft_modify_qp(s.qp, &attr, WEFT_QP_STATE), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -EINVAL);
	/* RESET dropped the first receive: there is room for four again. */
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), -ENOMEM);
	CU_ASSERT_EQUAL(s.hw->record->rq_prod, 5);
	fake_teardown(&s);
}

/*
 * Both sides go on behind the dropped requests, and an old completion frees none of the new ones.
 */
static void reset_goes_on(void)
{
	struct fake_setup s;
	struct weft_send_wr wr = {.flags = WEFT_SEND_SIGNALED};
	struct weft_qp_attr attr = {.state = WEFT_QPS_RESET};
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	wr.ah = s.ah;
	for (uint32_t i = 1; i <= 3; i++) {
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
		complete(&s, i, i);
	}
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_modify_qp(s.qp, &attr, WEFT_QP_STATE), 0);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 0);
	attr.state = WEFT_QPS_RTS;
	CU_ASSERT_EQUAL(weft_modify_qp(s.qp, &attr, WEFT_QP_STATE), 0);
	for (uint32_t i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
		CU_ASSERT_EQUAL(fake_slot(s.hw, 3 + i)->wr_id, 100 + i);
		CU_ASSERT_EQUAL(s.hw->record->sq_prod, 3 + i + 1);
	}
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	complete(&s, 100, 4);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &wr, NULL), -ENOMEM);
	fake_teardown(&s);
}

static void limits_of_create_qp(void)
{
	struct fake_nic *nic;
	struct weft_context *context = fake_open(&nic, 0);
	struct weft_pd *pd = weft_alloc_pd(context);
	struct weft_cq *cq = weft_create_cq(context, 16, NULL, NULL);
	struct weft_qp_init_attr attr = {
	    .type = WEFT_QPT_UD, .send_cq = cq, .recv_cq = cq, .cap = small};

	attr.cap.max_send_wr = HW_MAX_WR + 1;
	CU_ASSERT_PTR_NULL(weft_create_qp(pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr.cap = small;
	attr.cap.max_send_sge = HW_MAX_SGE + 1;
	CU_ASSERT_PTR_NULL(weft_create_qp(pd, &attr));
	/* Each within its limits, but more slots than a queue has. */
	attr.cap = small;
	attr.cap.max_send_wr = HW_MAX_WR;
	attr.cap.max_inline_bytes = HW_MAX_INLINE_BYTES;
	CU_ASSERT_PTR_NULL(weft_create_qp(pd, &attr));
	attr.cap = small;
	attr.send_cq = NULL;
	CU_ASSERT_PTR_NULL(weft_create_qp(pd, &attr));
	CU_ASSERT_EQUAL(nic->commands[HW_CMD_CREATE_QP], 0);
	CU_ASSERT_EQUAL(weft_destroy_cq(cq), 0);
	CU_ASSERT_EQUAL(weft_dealloc_pd(pd), 0);
	fake_close(context, nic);
}

/* Four threads post on four QPs: every doorbell arrives, and each queue's once at a time. */
struct poster {
	struct fake_setup *s;
	struct weft_qp *qp;
};

static void *post_many(void *arg)
{
	struct poster *p = arg;
	struct weft_send_wr wr = {.ah = p->s->ah};
	int posted = 0, rc;

	while (posted < 2000) {
		rc = weft_post_send(p->qp, &wr, NULL);
		if (rc == 0)
			posted++;
		else
			sched_yield();
	}
	return NULL;
}

static void doorbells_of_many_threads(void)
{
	struct fake_setup s;
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_UD, .cap = small};
	struct weft_qp_attr rts = {.state = WEFT_QPS_RTS};
	struct weft_qp *qp[4];
	struct poster poster[4];
	pthread_t thread[4];
	uint32_t done = 0, entry;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	attr.send_cq = attr.recv_cq = s.cq;
	for (int i = 0; i < 4; i++) {
		qp[i] = weft_create_qp(s.pd, &attr);
		CU_ASSERT_EQUAL(weft_modify_qp(qp[i], &rts, WEFT_QP_STATE), 0);
		poster[i] = (struct poster){&s, qp[i]};
		pthread_create(&thread[i], NULL, post_many, &poster[i]);
	}
	while (done < 4 * 2000) {
		struct fake_qp *hw;
		uint32_t prod;

		entry = fake_doorbell(s.nic);
		if (!entry) {
			sched_yield();
			continue;
		}
		hw = &s.nic->qp[HW_DB_ID(entry) - FAKE_QPN_BASE];
		prod = __atomic_load_n(&hw->record->sq_prod, __ATOMIC_ACQUIRE);
		done += prod - hw->record->sq_cons;
		__atomic_store_n(&hw->record->sq_cons, prod, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		CU_ASSERT_EQUAL(fake_qp(s.nic, qp[i])->record->sq_prod, 2000);
		CU_ASSERT_EQUAL(weft_destroy_qp(qp[i]), 0);
	}
	CU_ASSERT_EQUAL(done, 4 * 2000);
	fake_teardown(&s);
}

/* Destroying an address handle waits for the earlier posts, not for ever, and not twice. */
static void datagrams_are_read_first(void)
{
	struct weft_send_wr send = {.wr_id = 1};
	struct hw_qp_record *record;
	struct fake_setup s;
	struct weft_qp_obj *qp;
	struct weft_ctx *ctx;

	fake_setup(&s, WEFT_QPT_UD, &small, 16);
	ctx = weft_ctx_of(s.context);
	qp = weft_container_of(s.qp, struct weft_qp_obj, pub);
	record = s.hw->record;
	send.ah = s.ah;
	CU_ASSERT_EQUAL(weft_ud_settle(ctx, NULL), 0);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), 0);
	weft_ud_mark(ctx, NULL);
	CU_ASSERT_TRUE(weft_ud_is_unread(ctx, NULL) && weft_ud_is_unread(ctx, qp));
	record->sq_cons = record->sq_prod - 1;
	CU_ASSERT_TRUE(weft_ud_is_unread(ctx, NULL));
	/* Posts of another thread meanwhile need not be read. */
	record->sq_cons = record->sq_prod;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), 0);
	CU_ASSERT_FALSE(weft_ud_is_unread(ctx, NULL) || weft_ud_is_unread(ctx, qp));
	/* The NIC reads nothing. */
	CU_ASSERT_TRUE(weft_ud_settle(ctx, NULL) > 0);
	CU_ASSERT_EQUAL(weft_ud_settle(ctx, NULL), 0);
	CU_ASSERT_EQUAL(weft_ud_settle(ctx, qp), 0);
	record->sq_cons = record->sq_prod;
	CU_ASSERT_EQUAL(weft_ud_settle(ctx, NULL), 0);
	CU_ASSERT_FALSE(ctx->ud_stuck);
	fake_teardown(&s);
}

UT_MAIN("host_driver/weft_post", UT(post_fields), UT(post_atomic), UT(post_imm_and_inv),
	UT(one_doorbell_per_batch), UT(wakes_a_sleeper), UT(ring_wraps), UT(full_until_polled),
	UT(unsignalled_by_sq_cons), UT(completions_out_of_order), UT(stale_completion),
	UT(inline_data), UT(bad_requests), UT(state_is_minded), UT(reset_goes_on),
	UT(limits_of_create_qp), UT(doorbells_of_many_threads), UT(datagrams_are_read_first))
