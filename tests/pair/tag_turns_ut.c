/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work of tagged endpoints in one turn of the core, however many endpoints a process has and
 * whatever they have to do. Work is counted; nothing is timed. docs/security.md "Work in bulk".
 */
#include "tests/pair/tag_pair.h"

static struct tp tp;

enum {
	ENDED = 3 * FW_SLICE_AT_ONCE, /* messages */
	EPS = 100,
	RING = 64, /* operations in the ring of an endpoint */
	ROUNDS = 20,
	SMALL = 600, /* unexpected messages of a byte */
};

static const struct hw_cmd_tag_open none = {.eager_bytes = TP_EAGER_BYTES};
static struct fw_qp *qps[EPS];

#define NIC (tp.rp.end[1].nic)

/* Fills the ring with cancellations of receives that do not exist; the process needs no doorbell.
 */
static void fill(struct fw_qp *qp)
{
	const struct hw_tag_rq_wqe wqe = {.op = HW_TAG_CANCEL, .number = 12345678};
	const struct hw_sge sge = {0};

	while (qp->record->rq_prod - qp->record->rq_cons < RING)
		(void)tp_write_op(qp, &wqe, &sge);
}

static uint32_t operations(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < EPS; i++)
		n += qps[i]->rq_cons;
	return n;
}

/* Takes a turn of end 1; returns the operations that it carried out. */
static uint32_t turn(void)
{
	uint32_t before = operations();

	(void)rp_poll(&tp.rp, 1);
	return operations() - before;
}

static void begin(void)
{
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < EPS; i++) {
		qps[i] = tp_qp(&tp, 1, &none);
		fill(qps[i]);
	}
	for (i = 0; i < EPS; i++)
		tp_ring(&tp, 1, qps[i]);
}

/* All endpoints of a process together have a bounded part of a turn, and each has its turn. */
static void many_endpoints(void)
{
	uint32_t most = 0, all = 0, i, k, n;

	begin();
	for (k = 0; k < ROUNDS * EPS; k++) {
		n = turn();
		all += n;
		most = n > most ? n : most;
		for (i = 0; i < EPS; i++) {
			fill(qps[i]);
			tp_ring(&tp, 1, qps[i]);
		}
	}
	/* Doorbells have what the turn before has left. */
	CU_ASSERT(most <= 2 * TAG_TURN_OPS);
	CU_ASSERT(all >= ROUNDS * EPS * TAG_OPS_QUANTUM);
	for (i = 0; i < EPS; i++)
		CU_ASSERT(qps[i]->rq_cons >= ROUNDS * TAG_OPS_QUANTUM);
	rp_settle(&tp.rp);
	for (i = 0; i < EPS; i++)
		CU_ASSERT_EQUAL(qps[i]->record->rq_cons, qps[i]->record->rq_prod);
	tp_end(&tp);
}

/* Receives that look at many others before they are posted take their part of a turn for it. */
static void many_looks(void)
{
	struct tp_op op = {.bytes = TP_EAGER_BYTES + 1};
	struct hw_qp_attr attr = {0};
	struct hw_cqe cqe;
	uint32_t i, before;

	tp_begin(&tp);
	/* There are more shapes than classes: these are looked at one by one. */
	for (i = 0; i < TAG_CLASSES + 200; i++) {
		op.ignore = i + 1;
		op.tag = UINT64_C(1) << 40;
		tp_op(&tp, 1, &op);
		if (i % 32 == 31)
			rp_settle(&tp.rp);
	}
	rp_settle(&tp.rp);
	CU_ASSERT(tp.qp[1]->tag->match.num_linear >= 200);
	for (i = 0; i < 20; i++) {
		op.ignore = 0;
		op.tag = i;
		tp_op(&tp, 1, &op);
	}
	before = tp.qp[1]->rq_cons;
	(void)rp_poll(&tp.rp, 1);
	/* In the doorbell's part of the turn, and in that of tag_run(). */
	CU_ASSERT(tp.qp[1]->rq_cons - before <= 2 * (TAG_LOOK_QUANTUM / 200 + 1));
	rp_settle(&tp.rp);
	CU_ASSERT_EQUAL(tp.qp[1]->rq_cons - before, 20);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, &attr), 0);
	rp_settle(&tp.rp);
	while (rp_rcqe(&tp.rp, 1, &cqe))
		;
	tp_end(&tp);
}

/* Copies of a byte that waited for one whose page was not there. */
static void small_copies(void)
{
	uint32_t i, k, slow, left, now, most = 0;
	struct tp_op op = {.flags = HW_TAG_F_ANY_SRC, .ignore = UINT64_MAX, .bytes = 1};
	struct hw_cqe cqe;

	tp_begin(&tp);
	slow = rp_reg(&tp.rp, 1, tp.rp.end[1].mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	for (i = 0; i < SMALL; i++) {
		tp_send(&tp, 0, i, i, 0, 1);
		rp_quiet(&tp.rp);
		CU_ASSERT_TRUE(rp_scqe(&tp.rp, 0, &cqe));
	}
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, SMALL);
	tp.rp.end[1].port.host_busy = true;
	op.lkey = slow;
	tp_op(&tp, 1, &op);
	op.lkey = 0;
	(void)rp_poll(&tp.rp, 1);
	for (i = 1; i < SMALL; i++) {
		tp_op(&tp, 1, &op);
		if (i % 32 == 31)
			for (k = 0; k < 4; k++)
				(void)rp_poll(&tp.rp, 1);
	}
	for (k = 0; k < 8; k++)
		(void)rp_poll(&tp.rp, 1);
	left = tp_query(&tp, 1).pool_used_bytes / 512;
	CU_ASSERT_EQUAL(left, SMALL);
	tp.rp.end[1].port.host_busy = false;
	while (left) {
		(void)rp_poll(&tp.rp, 1);
		now = tp_query(&tp, 1).pool_used_bytes / 512;
		most = left - now > most ? left - now : most;
		left = now;
	}
	CU_ASSERT(most <= 2 * TAG_COPY_QUANTUM / 512);
	for (i = 0; i < SMALL; i++)
		CU_ASSERT_TRUE(rp_rcqe(&tp.rp, 1, &cqe));
	tp_end(&tp);
}

/*
 * Copies of a byte to memory that is not mapped, which waited for a page: each takes microseconds
 * of the turn.
 */
static void unmapped_copies(void)
{
	enum {
		COPIES = 400,
		TURN = 4, /* copies of a turn */
	};
	struct tp_op op = {.flags = HW_TAG_F_ANY_SRC, .ignore = UINT64_MAX, .bytes = 1};
	uint32_t i, k, left, now, most = 0;
	struct hw_cqe cqe;

	tp_begin(&tp);
	op.lkey = rp_reg(&tp.rp, 1, tp.rp.end[1].mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	for (i = 0; i < COPIES; i++) {
		tp_send(&tp, 0, i, i, 0, 1);
		rp_quiet(&tp.rp);
		CU_ASSERT_TRUE(rp_scqe(&tp.rp, 0, &cqe));
	}
	tp.rp.end[1].port.host_busy = true;
	for (i = 0; i < COPIES; i++) {
		tp_op(&tp, 1, &op);
		for (k = 0; i % 32 == 31 && k < 4; k++)
			(void)rp_poll(&tp.rp, 1);
	}
	for (k = 0; k < 8; k++)
		(void)rp_poll(&tp.rp, 1);
	left = tp_query(&tp, 1).pool_used_bytes / 512;
	CU_ASSERT_EQUAL(left, COPIES);
	tp.rp.end[1].port.host_busy = false;
	while (left) {
		(void)rp_poll(&tp.rp, 1);
		now = tp_query(&tp, 1).pool_used_bytes / 512;
		CU_ASSERT_TRUE_FATAL(now < left);
		most = left - now > most ? left - now : most;
		left = now;
	}
	CU_ASSERT(most <= TURN);
	for (i = 0; i < COPIES; i++)
		CU_ASSERT_TRUE(rp_rcqe(&tp.rp, 1, &cqe));
	tp_end(&tp);
}

/* Very many messages that no receive has taken end with the endpoint, some in each turn. */
static void ends_many_messages(void)
{
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < ENDED; i++) {
		tp_send_flags(&tp, 0, i, 2, 0, 10, HW_TSEND_F_SYNC, 0);
		if (i % 16 == 15)
			rp_quiet(&tp.rp);
	}
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, ENDED);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_TRUE(tp_query(&tp, 1).unexpected > 0);
	NIC->slices.left = 1;
	CU_ASSERT_FALSE(tag_arrival_flush(NIC, tp.qp[1]->tag));
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 0);
	for (i = 0; i < ENDED; i++)
		tp_expect_sent(&tp, 0, i, HW_STATUS_REM_ABORT_ERR);
	tp_end(&tp);
}

/* An endpoint stays until its records are zero, for the next one. */
static void closes_when_its_records_are_zero(void)
{
	struct tag_ep *ep;

	tp_begin(&tp);
	ep = tp.qp[1]->tag;
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_RESET, 0, NULL), 0);
	rp_quiet(&tp.rp);
	NIC->slices.left = 0;
	CU_ASSERT_FALSE(tag_ep_close(NIC, tp.qp[1]));
	CU_ASSERT_PTR_EQUAL(tp.qp[1]->tag, ep);
	CU_ASSERT_EQUAL(ep->cleared, 0);
	tp_end(&tp);
}

UT_MAIN("pair/tag_turns", UT(many_endpoints), UT(many_looks), UT(small_copies), UT(unmapped_copies),
	UT(ends_many_messages), UT(closes_when_its_records_are_zero))
