/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_post.c: lists of requests, longer than a batch, and with a wrong one.
 */
#include "tests/verbs/vb_fix.h"

enum {
	LONG = 3 * VB_POST_BATCH,
};

struct end {
	struct vbf f;
	struct ibv_qp *a, *b;
};

static struct ibv_qp *qp_new(struct vbf_end *e)
{
	struct ibv_qp_init_attr init = {.send_cq = e->cq,
					.recv_cq = e->cq,
					.cap = {LONG, LONG, 2, 2, 32},
					.qp_type = IBV_QPT_RC};

	return ibv_create_qp(e->pd, &init);
}

static void setup(struct end *t)
{
	vbf_open(&t->f);
	VBF_OK(ibv_resize_cq(t->f.a.cq, 4 * LONG));
	VBF_OK(ibv_resize_cq(t->f.b.cq, 4 * LONG));
	VBF_NEED(t->a = qp_new(&t->f.a));
	VBF_NEED(t->b = qp_new(&t->f.b));
	vbf_connect(t->a, &t->f.b, t->b->qp_num);
	vbf_connect(t->b, &t->f.a, t->a->qp_num);
}

static void teardown(struct end *t)
{
	VBF_OK(ibv_destroy_qp(t->a));
	VBF_OK(ibv_destroy_qp(t->b));
	vbf_close(&t->f);
}

/* Empty Sends, numbered and chained. */
static void chain(struct ibv_send_wr wr[LONG])
{
	for (int i = 0; i < LONG; i++)
		wr[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i,
					     .next = i < LONG - 1 ? &wr[i + 1] : NULL,
					     .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED};
}

static void chain_recv(struct ibv_recv_wr wr[LONG])
{
	for (int i = 0; i < LONG; i++)
		wr[i] = (struct ibv_recv_wr){.wr_id = (uint64_t)i,
					     .next = i < LONG - 1 ? &wr[i + 1] : NULL};
}

/* Posts all of a long list, in order. */
static void long_lists(void)
{
	struct ibv_send_wr wr[LONG], *bad = NULL;
	struct ibv_recv_wr rwr[LONG], *bad_recv = NULL;
	struct end t;

	setup(&t);
	chain(wr);
	chain_recv(rwr);
	VBF_OK(ibv_post_recv(t.b, rwr, &bad_recv));
	VBF_OK(ibv_post_send(t.a, wr, &bad));
	for (uint64_t i = 0; i < LONG; i++) {
		CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.b.cq).wr_id, i);
		CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).wr_id, i);
	}
	CU_ASSERT(!bad && !bad_recv);
	VBF_OK(ibv_post_send(t.a, NULL, &bad));
	teardown(&t);
}

/*
 * A wrong request in any place: earlier ones are posted, it is returned in bad_wr, none behind it
 * is posted.
 */
static void bad_one(void)
{
	for (int place = 0; place < LONG; place += 5) {
		struct ibv_send_wr wr[LONG], *bad = NULL;
		struct ibv_recv_wr rwr[LONG], *bad_recv = NULL;
		struct end t;

		setup(&t);
		chain(wr);
		chain_recv(rwr);
		VBF_OK(ibv_post_recv(t.b, rwr, &bad_recv));
		if (place % 2)
			wr[place].opcode = (enum ibv_wr_opcode)99;
		else
			wr[place].num_sge = 100;
		CU_ASSERT_EQUAL(ibv_post_send(t.a, wr, &bad), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad, &wr[place]);
		for (int i = 0; i < place; i++)
			CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).wr_id, (uint64_t)i);
		CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
		/* likewise with receives: those that were accepted use up the room */
		rwr[place].num_sge = place % 2 ? -1 : 100;
		rwr[place].next = NULL;
		CU_ASSERT_EQUAL(ibv_post_recv(t.b, place ? &rwr[LONG - 1] : &rwr[0], &bad_recv),
				place ? 0 : EINVAL);
		CU_ASSERT_EQUAL(ibv_post_recv(t.b, &rwr[place], &bad_recv), EINVAL);
		CU_ASSERT_PTR_EQUAL(bad_recv, &rwr[place]);
		teardown(&t);
	}
}

/* Too little room: requests that fit are posted, and the first that does not fit is returned. */
static void no_room(void)
{
	struct ibv_send_wr wr[LONG], *bad = NULL;
	struct end t;
	uint32_t room;

	setup(&t);
	room = vb_qp_of(t.a)->weft->cap.max_send_wr;
	CU_ASSERT_FATAL(room >= LONG);
	chain(wr);
	for (int i = 0; i < LONG; i++)
		wr[i].opcode = IBV_WR_RDMA_WRITE;
	VBF_OK(ibv_post_send(t.a, wr, &bad));
	CU_ASSERT_EQUAL(ibv_post_send(t.a, wr, &bad), ENOMEM);
	CU_ASSERT(bad >= wr && bad < wr + LONG);
	for (int i = 0; i < LONG + (int)(bad - wr); i++)
		CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	CU_ASSERT(vbf_silent(&t.f, t.f.a.cq));
	teardown(&t);
}

/* Invalid opcodes, and opcodes not of the type. */
static void opcodes(void)
{
	const int none[] = {-1, 7 + 4, 12, 14, 100, INT32_MAX};
	struct ibv_send_wr wr = {0}, *bad;
	struct ibv_ah_attr way;
	struct ibv_qp *ud, *uc;
	struct end t;

	setup(&t);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		wr.opcode = (enum ibv_wr_opcode)none[i];
		CU_ASSERT_EQUAL(ibv_post_send(t.a, &wr, &bad), EINVAL);
	}
	VBF_NEED(ud = vbf_qp(&t.f.a, IBV_QPT_UD, NULL));
	VBF_NEED(uc = vbf_qp(&t.f.a, IBV_QPT_UC, NULL));
	vbf_connect(ud, &t.f.b, 0);
	vbf_connect(uc, &t.f.b, t.b->qp_num);
	way = vbf_way(&t.f.b);
	wr.opcode = IBV_WR_SEND; /* no address handle */
	CU_ASSERT_EQUAL(ibv_post_send(ud, &wr, &bad), EINVAL);
	VBF_NEED(wr.wr.ud.ah = ibv_create_ah(t.f.a.pd, &way));
	wr.opcode = IBV_WR_RDMA_WRITE;
	CU_ASSERT_EQUAL(ibv_post_send(ud, &wr, &bad), EINVAL);
	VBF_OK(ibv_destroy_ah(wr.wr.ud.ah));
	wr = (struct ibv_send_wr){.opcode = IBV_WR_RDMA_READ};
	CU_ASSERT_EQUAL(ibv_post_send(uc, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	CU_ASSERT_EQUAL(ibv_post_send(uc, &wr, &bad), EINVAL);
	VBF_OK(ibv_destroy_qp(ud));
	VBF_OK(ibv_destroy_qp(uc));
	teardown(&t);
}

/* Inline: the limit is on the sum; keys are not checked, and the memory is free on return. */
static void inline_data(void)
{
	static uint8_t data[4096];
	struct ibv_sge sge[2] = {{(uintptr_t)data, 5, 0xbad}, {(uintptr_t)data + 5, 3, 0}};
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = 2,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE},
			   *bad;
	struct end t;
	uint32_t most;

	setup(&t);
	most = vb_qp_of(t.a)->weft->cap.max_inline_bytes;
	CU_ASSERT_FATAL(most >= 32 && most < sizeof(data));
	memcpy(data, "in line", 8);
	wr.wr.rdma.remote_addr = (uintptr_t)t.f.b.buf;
	wr.wr.rdma.rkey = t.f.b.mr->rkey;
	VBF_OK(ibv_post_send(t.a, &wr, &bad));
	memset(data, 0, 8);
	CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	CU_ASSERT_STRING_EQUAL(t.f.b.buf, "in line");
	sge[0].length = most;
	sge[1].length = 1;
	CU_ASSERT_EQUAL(ibv_post_send(t.a, &wr, &bad), EINVAL);
	sge[1].length = 0;
	VBF_OK(ibv_post_send(t.a, &wr, &bad));
	CU_ASSERT_EQUAL(vbf_wait(&t.f, t.f.a.cq).status, IBV_WC_SUCCESS);
	teardown(&t);
}

/* Posting depends on the state: receives from INIT on, Sends from RTS on. */
static void states(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {0}, *bad_recv;
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(qp = vbf_qp(&f.a, IBV_QPT_RC, NULL));
	CU_ASSERT_EQUAL(ibv_post_recv(qp, &rwr, &bad_recv), EINVAL);
	CU_ASSERT_EQUAL(ibv_post_send(qp, &wr, &bad), EINVAL);
	VBF_OK(vbf_to_init(qp, 0));
	VBF_OK(ibv_post_recv(qp, &rwr, &bad_recv));
	CU_ASSERT_EQUAL(ibv_post_send(qp, &wr, &bad), EINVAL);
	VBF_OK(vbf_to_rtr(qp, &f.b, 1));
	CU_ASSERT_EQUAL(ibv_post_send(qp, &wr, &bad), EINVAL);
	VBF_OK(vbf_to_rts(qp));
	VBF_OK(ibv_post_send(qp, &wr, &bad));
	VBF_OK(ibv_destroy_qp(qp));
	vbf_close(&f);
}

UT_MAIN("verbs/vb_post", UT(long_lists), UT(bad_one), UT(no_room), UT(opcodes), UT(inline_data),
	UT(states))
