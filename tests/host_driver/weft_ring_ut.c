/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_ring.c: rings that queues have while they have requests.
 */
#include "host_driver/weft_ring.c"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

enum {
	QPS = 50, /* more than rings that stay with their queues */
	AWAKE = 32,
};

static const struct weft_qp_cap cap = {
    .max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};

/* Queue pairs on one CQ of a NIC that knows lent rings. */
struct rig {
	struct fake_nic *nic;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_qp *qp[QPS];
	uint32_t num;
};

static struct weft_qp *make_qp(struct rig *r, const struct weft_qp_cap *of)
{
	struct weft_qp_init_attr attr = {
	    .type = WEFT_QPT_RC, .send_cq = r->cq, .recv_cq = r->cq, .cap = *of};
	struct weft_qp_attr rts = {.state = WEFT_QPS_RTS};
	struct weft_qp *qp = weft_create_qp(r->pd, &attr);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(weft_modify_qp(qp, &rts, WEFT_QP_STATE), 0);
	return qp;
}

static void begin(struct rig *r, uint32_t num, bool lends)
{
	r->context = fake_open(&r->nic, 0);
	r->nic->lends = lends;
	r->pd = weft_alloc_pd(r->context);
	r->cq = weft_create_cq(r->context, 1024, NULL, NULL);
	for (r->num = 0; r->num < num; r->num++)
		r->qp[r->num] = make_qp(r, &cap);
}

static void end(struct rig *r)
{
	for (uint32_t i = 0; i < r->num; i++)
		CU_ASSERT_EQUAL(weft_destroy_qp(r->qp[i]), 0);
	fake_close(r->context, r->nic);
}

static struct weft_qp_obj *obj(struct weft_qp *qp)
{
	return weft_container_of(qp, struct weft_qp_obj, pub);
}

static struct weft_rings *rings_of(struct rig *r, uint32_t size)
{
	return &weft_ctx_of(r->context)->rings.size[size];
}

static int send(struct weft_qp *qp, uint64_t wr_id, bool signaled)
{
	struct weft_sge sge = {0x1000, 8, 1};
	struct weft_send_wr wr = {.wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = signaled ? WEFT_SEND_SIGNALED : 0};

	return weft_post_send(qp, &wr, NULL);
}

static int receive(struct weft_qp *qp, uint64_t wr_id)
{
	struct weft_recv_wr wr = {.wr_id = wr_id};

	return weft_post_recv(qp, &wr, NULL);
}

/* The NIC has read the request that ends here, and completes it if it is signaled. */
static void done(struct rig *r, struct weft_qp *qp, uint64_t wr_id, bool signaled)
{
	struct fake_qp *hw = fake_qp(r->nic, qp);
	struct hw_cqe cqe = {.wr_id = wr_id, .qpn = qp->qpn, .sq_index = hw->record->sq_prod};
	struct weft_wc wc;

	__atomic_store_n(&hw->record->sq_cons, hw->record->sq_prod, __ATOMIC_RELEASE);
	if (!signaled)
		return;
	fake_cqe(r->nic, r->cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(r->cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, wr_id);
}

/* A NIC of before: rings of its own, and no second question. */
static void a_nic_that_lends_none(void)
{
	struct rig r;

	begin(&r, 3, false);
	CU_ASSERT_EQUAL(r.nic->commands[HW_CMD_ALLOC_RINGS], 1);
	CU_ASSERT_FALSE(fake_qp(r.nic, r.qp[0])->lent);
	CU_ASSERT_EQUAL(send(r.qp[1], 7, true), 0);
	CU_ASSERT_EQUAL(fake_slot(fake_qp(r.nic, r.qp[1]), 0)->wr_id, 7);
	end(&r);
}

static void a_ring_comes_with_the_first_request(void)
{
	const struct hw_rq_wqe *recv;
	struct fake_qp *hw;
	struct rig r;

	begin(&r, 2, true);
	hw = fake_qp(r.nic, r.qp[1]);
	CU_ASSERT_TRUE(hw->lent);
	CU_ASSERT_PTR_NULL(obj(r.qp[1])->sq.ring);
	CU_ASSERT_EQUAL(send(r.qp[1], 11, true), 0);
	CU_ASSERT_EQUAL(receive(r.qp[1], 12), 0);
	fake_rings(r.nic, hw);
	CU_ASSERT_EQUAL(fake_slot(hw, 0)->wr_id, 11);
	recv = (const void *)hw->rq;
	CU_ASSERT_EQUAL(recv->wr_id, 12);
	CU_ASSERT_PTR_NOT_EQUAL(hw->sq, hw->rq);
	/* 16 slots of 64 bytes; 16 receives of 32. */
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, 1);
	CU_ASSERT_EQUAL(rings_of(&r, 0)->used, 1);
	CU_ASSERT_PTR_NULL(obj(r.qp[0])->sq.ring);
	end(&r);
}

/* Returns the pages that have memory, of the rooms of all sizes. */
static uint32_t pages_of_rooms(struct rig *r)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char has[64];
	uint32_t num = 0;

	for (uint32_t size = 0; size < WEFT_RING_SIZES; size++) {
		const struct weft_ring_room *room = rings_of(r, size)->rooms;

		for (; room; room = room->next) {
			size_t bytes = room_bytes(size, room->num);

			CU_ASSERT_FATAL(bytes <= sizeof(has) * page_bytes);
			CU_ASSERT_EQUAL(mincore(room->rings, bytes, has), 0);
			for (size_t i = 0; i < (bytes + page_bytes - 1) / page_bytes; i++)
				num += has[i] & 1;
		}
	}
	return num;
}

/* Room has no memory until one of its rings is taken. */
static void room_without_rings(void)
{
	struct rig r;

	begin(&r, QPS, true);
	CU_ASSERT_TRUE(rings_of(&r, 1)->num >= QPS);
	CU_ASSERT_EQUAL(pages_of_rooms(&r), 0);
	CU_ASSERT_EQUAL(send(r.qp[0], 1, true), 0);
	CU_ASSERT_EQUAL(pages_of_rooms(&r), 1);
	end(&r);
}

/* A message of each queue pair; soon: those that gave their rings did so just now. */
static void use_all(struct rig *r, uint32_t turn, bool soon)
{
	for (uint32_t i = 0; i < QPS; i++) {
		struct fake_qp *hw = fake_qp(r->nic, r->qp[i]);
		struct weft_sq *sq = &obj(r->qp[i])->sq;
		uint32_t now_us = (uint32_t)(clock_now_ns() / 1000);
		bool signaled = (i + turn) % 2;

		if (sq->gave_us)
			sq->gave_us = (soon ? now_us + 1000000 : now_us - 1000000) | 1;
		CU_ASSERT_EQUAL(send(r->qp[i], i, signaled), 0);
		fake_rings(r->nic, hw);
		CU_ASSERT_EQUAL(fake_slot(hw, turn * 2)->wr_id, i);
		done(r, r->qp[i], i, signaled);
	}
}

/* Many queue pairs, used one after the other: no more rings than stay awake. */
static void idle_queues_give_theirs(void)
{
	struct weft_qp_obj *first;
	struct rig r;

	begin(&r, QPS, true);
	for (uint32_t turn = 0; turn < 3; turn++)
		use_all(&r, turn, false);
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, AWAKE);
	first = obj(r.qp[0]);
	CU_ASSERT_PTR_NULL(first->sq.ring);
	CU_ASSERT_EQUAL(first->sq.head - first->sq.tail, 0);
	end(&r);
}

/* Queues that need one again at once get others, and give none any more. */
static void queues_that_come_back_soon(void)
{
	struct rig r;

	begin(&r, QPS, true);
	use_all(&r, 0, false);
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, AWAKE);
	for (uint32_t turn = 1; turn < 4; turn++)
		use_all(&r, turn, true);
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, QPS);
	for (uint32_t i = 0; i < QPS; i++)
		CU_ASSERT_PTR_NOT_NULL(obj(r.qp[i])->sq.ring);
	end(&r);
}

/* No queue loses a ring with a request, or a receive, in it. */
static void busy_queues_keep_theirs(void)
{
	struct rig r;

	begin(&r, QPS, true);
	for (uint32_t i = 0; i < QPS; i++) {
		CU_ASSERT_EQUAL(send(r.qp[i], i, true), 0);
		CU_ASSERT_EQUAL(receive(r.qp[i], 1000 + i), 0);
	}
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, QPS);
	CU_ASSERT_EQUAL(rings_of(&r, 0)->used, QPS);
	for (uint32_t i = 0; i < QPS; i++) {
		struct fake_qp *hw = fake_qp(r.nic, r.qp[i]);
		struct hw_cqe cqe = {.opcode = HW_CQE_RECV, .qpn = r.qp[i]->qpn, .wr_id = 1000 + i};
		struct weft_wc wc;

		fake_rings(r.nic, hw);
		CU_ASSERT_EQUAL(fake_slot(hw, 0)->wr_id, i);
		CU_ASSERT_EQUAL(((const struct hw_rq_wqe *)(const void *)hw->rq)->wr_id, 1000 + i);
		done(&r, r.qp[i], i, true);
		fake_cqe(r.nic, r.cq, cqe);
		CU_ASSERT_EQUAL(weft_poll_cq(r.cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(obj(r.qp[i])->rq.tail, obj(r.qp[i])->rq.head);
	}
	end(&r);
}

/* The notes of a queue's requests say nothing of those of the next queue in the ring. */
static void notes_of_another_queue(void)
{
	struct weft_cq_obj *cq;
	struct rig r;

	begin(&r, AWAKE + 1, true);
	cq = weft_container_of(r.cq, struct weft_cq_obj, pub);
	for (uint32_t i = 0; i < AWAKE; i++) {
		CU_ASSERT_EQUAL(send(r.qp[i], i, true), 0);
		done(&r, r.qp[i], i, true);
	}
	/* The same index, as it was done there: it is not done here. */
	CU_ASSERT_EQUAL(send(r.qp[AWAKE], 99, true), 0);
	CU_ASSERT_PTR_NULL(obj(r.qp[0])->sq.ring);
	weft_sq_retire(obj(r.qp[AWAKE]));
	CU_ASSERT_EQUAL(obj(r.qp[AWAKE])->sq.tail, 0);
	/* A CQ in use: its queues keep their rings for now. */
	pthread_mutex_lock(&cq->lock);
	CU_ASSERT_EQUAL(send(r.qp[0], 100, true), 0);
	pthread_mutex_unlock(&cq->lock);
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, AWAKE + 1);
	end(&r);
}

/* The completion of an unsignaled request that failed comes after the ring was given. */
static void a_late_failure(void)
{
	struct weft_wc wc;
	struct rig r;

	begin(&r, AWAKE + 1, true);
	for (uint32_t i = 0; i < AWAKE; i++) {
		CU_ASSERT_EQUAL(send(r.qp[i], i, false), 0);
		done(&r, r.qp[i], i, false);
	}
	CU_ASSERT_EQUAL(send(r.qp[AWAKE], 99, true), 0);
	CU_ASSERT_PTR_NULL(obj(r.qp[0])->sq.ring);
	fake_cqe(
	    r.nic, r.cq,
	    (struct hw_cqe){.qpn = r.qp[0]->qpn, .sq_index = 2, .status = HW_STATUS_LOC_PROT_ERR});
	CU_ASSERT_EQUAL(weft_poll_cq(r.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_LOC_PROT_ERR);
	CU_ASSERT_TRUE(obj(r.qp[0])->in_error);
	weft_sq_retire(obj(r.qp[AWAKE]));
	CU_ASSERT_EQUAL(obj(r.qp[AWAKE])->sq.tail, 0);
	end(&r);
}

static void rings_of_queue_pairs_that_are_gone(void)
{
	struct weft_ctx *ctx;
	uint32_t room;
	struct rig r;

	begin(&r, QPS, true);
	ctx = weft_ctx_of(r.context);
	for (uint32_t i = 0; i < QPS; i++)
		CU_ASSERT_EQUAL(send(r.qp[i], i, true), 0);
	room = rings_of(&r, 1)->num;
	for (uint32_t i = 0; i < QPS; i++)
		CU_ASSERT_EQUAL(weft_destroy_qp(r.qp[i]), 0);
	CU_ASSERT_EQUAL(ctx->rings.size[1].promised, 0);
	CU_ASSERT_EQUAL(ctx->rings.size[0].promised, 0);
	r.nic->num_qp = 0;
	for (r.num = 0; r.num < QPS; r.num++) {
		r.qp[r.num] = make_qp(&r, &cap);
		CU_ASSERT_EQUAL(send(r.qp[r.num], r.num, true), 0);
	}
	CU_ASSERT_EQUAL(rings_of(&r, 1)->num, room);
	CU_ASSERT_EQUAL(rings_of(&r, 1)->used, QPS);
	end(&r);
}

/* Sizes: the smallest and the largest that are lent, and one that is not. */
static void sizes(void)
{
	struct weft_qp_cap of = {.max_send_wr = 1, .max_send_sge = 1};
	struct rig r;

	begin(&r, 0, true);
	r.qp[r.num++] = make_qp(&r, &of);
	CU_ASSERT_EQUAL(rings_of(&r, 0)->promised, 1);
	of.max_send_wr = 128;
	of.max_recv_wr = 512;
	of.max_recv_sge = 1;
	r.qp[r.num++] = make_qp(&r, &of);
	CU_ASSERT_EQUAL(rings_of(&r, 5)->promised, 2);
	CU_ASSERT_TRUE(fake_qp(r.nic, r.qp[1])->lent);
	of.max_recv_wr = 513;
	r.qp[r.num++] = make_qp(&r, &of);
	CU_ASSERT_FALSE(fake_qp(r.nic, r.qp[2])->lent);
	CU_ASSERT_EQUAL(rings_of(&r, 5)->promised, 2);
	/* Lack of room: rings of its own. */
	r.nic->fail_op = HW_CMD_ALLOC_RINGS;
	r.nic->fail_status = 12;
	of.max_send_wr = 64;
	of.max_recv_wr = 0;
	r.qp[r.num++] = make_qp(&r, &of);
	CU_ASSERT_FALSE(fake_qp(r.nic, r.qp[3])->lent);
	CU_ASSERT_EQUAL(rings_of(&r, 4)->promised, 0);
	end(&r);
}

/* The NIC is gone: requests in lent rings are flushed, and empty queues have none. */
static void flushed_when_the_nic_is_gone(void)
{
	struct weft_wc wc[8];
	struct rig r;

	begin(&r, 3, true);
	CU_ASSERT_EQUAL(send(r.qp[1], 5, true), 0);
	CU_ASSERT_EQUAL(receive(r.qp[2], 6), 0);
	fake_die(r.nic);
	weft_ctx_set_gone(weft_ctx_of(r.context));
	CU_ASSERT_EQUAL(weft_poll_cq(r.cq, 8, wc), 2);
	CU_ASSERT_EQUAL(wc[0].wr_id, 5);
	CU_ASSERT_EQUAL(wc[1].wr_id, 6);
	CU_ASSERT_EQUAL(wc[1].status, WEFT_WC_WR_FLUSH_ERR);
	end(&r);
}

/* Threads that use queue pairs of their own, with more of them than rings stay awake. */
struct poster {
	struct rig *r;
	struct weft_cq *cq;
	struct weft_qp *qp[8];
	pthread_t thread;
	uint32_t wrong;
};

static void *post_and_poll(void *arg)
{
	struct poster *p = arg;

	for (uint32_t i = 0; i < 4000; i++) {
		struct weft_qp *qp = p->qp[i % 8];
		struct fake_qp *hw = fake_qp(p->r->nic, qp);
		struct hw_cqe cqe = {.wr_id = i, .qpn = qp->qpn};
		struct weft_wc wc;
		uint32_t at = hw->record->sq_prod;

		p->wrong += send(qp, i, true) != 0;
		fake_rings(p->r->nic, hw);
		p->wrong += fake_slot(hw, at)->wr_id != i;
		cqe.sq_index = hw->record->sq_prod;
		__atomic_store_n(&hw->record->sq_cons, cqe.sq_index, __ATOMIC_RELEASE);
		fake_cqe(p->r->nic, p->cq, cqe);
		p->wrong += weft_poll_cq(p->cq, 1, &wc) != 1 || wc.wr_id != i;
	}
	return NULL;
}

static void many_threads(void)
{
	struct poster p[6];
	struct rig r;

	begin(&r, 0, true);
	for (int i = 0; i < 6; i++) {
		p[i] = (struct poster){.r = &r};
		p[i].cq = weft_create_cq(r.context, 64, NULL, NULL);
		r.cq = p[i].cq;
		for (int q = 0; q < 8; q++)
			p[i].qp[q] = r.qp[r.num++] = make_qp(&r, &cap);
	}
	for (int i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(pthread_create(&p[i].thread, NULL, post_and_poll, &p[i]), 0);
	for (int i = 0; i < 6; i++) {
		pthread_join(p[i].thread, NULL);
		CU_ASSERT_EQUAL(p[i].wrong, 0);
	}
	CU_ASSERT_TRUE(rings_of(&r, 1)->used <= 48);
	end(&r);
}

UT_MAIN("host_driver/weft_ring", UT(a_nic_that_lends_none), UT(a_ring_comes_with_the_first_request),
	UT(room_without_rings), UT(idle_queues_give_theirs), UT(queues_that_come_back_soon),
	UT(busy_queues_keep_theirs), UT(notes_of_another_queue), UT(a_late_failure),
	UT(rings_of_queue_pairs_that_are_gone), UT(sizes), UT(flushed_when_the_nic_is_gone),
	UT(many_threads))
