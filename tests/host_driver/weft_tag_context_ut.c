/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of tagged endpoints: commands, completions of one receive table in several CQs, the end
 * of endpoints and contexts in either order. The test plays the NIC.
 */
#include "tests/host_driver/weft_tag_fix.h"

static struct fix f;
static struct weft_cq *cq[2];
static struct weft_tag_ep *member[2];

static void begin(void)
{
	struct weft_tag_attr attr;
	int i;

	open_nic(&f);
	attr = attr_of(&f);
	attr.context = true;
	f.ep = weft_open_tag_ep(f.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f.ep);
	f.hw = fake_qp(f.nic, f.ep->qp);
	attr.context = false;
	attr.receives_of = f.ep;
	for (i = 0; i < 2; i++) {
		cq[i] = weft_create_cq(f.context, 64, NULL, NULL);
		attr.recv_cq = cq[i];
		member[i] = weft_open_tag_ep(f.pd, &attr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(member[i]);
	}
}

static void end(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (member[i])
			weft_close_tag_ep(member[i]);
		CU_ASSERT_EQUAL(weft_destroy_cq(cq[i]), 0);
	}
	teardown(&f);
}

/* The NIC completes the receive at a place of the context's queue, at a member. */
static void complete_at(int i, uint32_t place, struct hw_cqe cqe)
{
	cqe.wr_id = op_at(&f, place)->wr_id;
	cqe.qpn = member[i]->qp->qpn;
	cqe.opcode = HW_CQE_TRECV;
	fake_cqe(f.nic, cq[i], cqe);
}

static struct weft_wc poll_at(int i)
{
	struct weft_wc wc[2] = {{.wr_id = 0}, {.wr_id = 0}};

	CU_ASSERT_EQUAL(weft_poll_cq(cq[i], 2, wc), 1);
	return wc[0];
}

static void single(void)
{
	struct weft_wc wc;

	begin();
	CU_ASSERT_EQUAL(receive(&f, 7, 0, NULL), 0);
	CU_ASSERT_EQUAL(receive(&f, 8, 0, NULL), 0);
	take_all(&f);
	complete_at(1, 0, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	complete_at(0, 1, (struct hw_cqe){.bytes = 6, .src_qpn = 9});
	wc = poll_at(0);
	CU_ASSERT_EQUAL(wc.wr_id, 8);
	CU_ASSERT_EQUAL(wc.qpn, member[0]->qp->qpn);
	CU_ASSERT_EQUAL(poll_at(1).wr_id, 7);
	/* A member has no receives of its own. */
	CU_ASSERT_EQUAL(weft_tag_recv(member[0], &(struct weft_tag_recv_wr){.wr_id = 1}, NULL),
			-EINVAL);
	CU_ASSERT_EQUAL(weft_tag_cancel(member[0], 0), -EINVAL);
	end();
}

/* The completion that is polled last releases a buffer, whichever the NIC wrote last. */
static void release(void)
{
	const struct hw_cqe last = {.flags = HW_CQE_F_RELEASED, .imm_inv = 2};
	struct weft_wc wc, none[1];

	begin();
	CU_ASSERT_EQUAL(receive(&f, 7, WEFT_TAG_MULTI, NULL), 0);
	take_all(&f);
	complete_at(0, 0, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	complete_at(1, 0, (struct hw_cqe){.bytes = 6, .src_qpn = 9, .sq_index = 5});
	complete_at(1, 0, last);
	wc = poll_at(1);
	CU_ASSERT_EQUAL(wc.flags & WEFT_WC_RELEASED, 0);
	CU_ASSERT_EQUAL(wc.offset, 5);
	/* The NIC's release says nothing while a message waits elsewhere. */
	CU_ASSERT_EQUAL(weft_poll_cq(cq[1], 1, none), 0);
	wc = poll_at(0);
	CU_ASSERT_EQUAL(wc.flags & WEFT_WC_RELEASED, WEFT_WC_RELEASED);
	CU_ASSERT_EQUAL(wc.bytes, 5);
	/* In order: an entry of its own. */
	CU_ASSERT_EQUAL(receive(&f, 8, WEFT_TAG_MULTI, NULL), 0);
	take_all(&f);
	complete_at(0, 1, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	CU_ASSERT_EQUAL(poll_at(0).flags & WEFT_WC_RELEASED, 0);
	complete_at(1, 1, (struct hw_cqe){.flags = HW_CQE_F_RELEASED, .imm_inv = 1});
	wc = poll_at(1);
	CU_ASSERT_EQUAL(wc.wr_id, 8);
	CU_ASSERT_EQUAL(wc.flags & WEFT_WC_RELEASED, WEFT_WC_RELEASED);
	CU_ASSERT_EQUAL(wc.src_qpn, 0);
	CU_ASSERT_EQUAL(wc.msg_bytes, 0);
	end();
}

/* Completions that were not polled are the context's; members outlive it. */
static void ends(void)
{
	struct weft_wc wc[2];

	begin();
	CU_ASSERT_EQUAL(receive(&f, 7, 0, NULL), 0);
	CU_ASSERT_EQUAL(receive(&f, 8, 0, NULL), 0);
	CU_ASSERT_EQUAL(receive(&f, 9, 0, NULL), 0);
	take_all(&f);
	complete_at(0, 0, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	complete_at(0, 1, (struct hw_cqe){.bytes = 6, .src_qpn = 9});
	weft_close_tag_ep(member[0]);
	member[0] = NULL;
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, 1, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 7);
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 8);
	CU_ASSERT_EQUAL(wc[0].bytes, 6);
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, 2, wc), 0);
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, -1, wc), -EINVAL);
	complete_at(1, 2, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	weft_close_tag_ep(f.ep);
	CU_ASSERT_EQUAL(poll_at(1).wr_id, 9);
	weft_close_tag_ep(member[1]);
	member[1] = NULL;
	setup(&f);
	end();
}

static bool no_memory;
void *__real_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

void *__wrap_realloc(void *p, size_t bytes)
{
	return no_memory ? NULL : __real_realloc(p, bytes);
}

/* A completion for which there was no memory is reported, once. */
static void lost(void)
{
	struct weft_wc wc[2];

	begin();
	CU_ASSERT_EQUAL(receive(&f, 7, 0, NULL), 0);
	take_all(&f);
	complete_at(0, 0, (struct hw_cqe){.bytes = 5, .src_qpn = 9});
	no_memory = true;
	weft_close_tag_ep(member[0]);
	no_memory = false;
	member[0] = NULL;
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, 2, wc), -ENOMEM);
	CU_ASSERT_EQUAL(weft_take_tag_orphans(f.ep, 2, wc), 0);
	end();
}

static void refused(void)
{
	struct weft_tag_attr attr;

	setup(&f);
	attr = attr_of(&f);
	attr.receives_of = f.ep;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	attr.context = true;
	CU_ASSERT_PTR_NULL(weft_open_tag_ep(f.pd, &attr));
	CU_ASSERT_EQUAL(errno, EINVAL);
	teardown(&f);
}

UT_MAIN("host_driver/weft_tag_context", UT(single), UT(release), UT(ends), UT(lost), UT(refused))
