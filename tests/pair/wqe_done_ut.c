/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of requests: order of completions when this end fails a request after others under way,
 * flushing in every state, signalling, completion queues that overrun.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
}

static void write_to(struct fw_qp *qp, const struct fw_qp *dst, uint64_t wr_id, uint32_t lkey)
{
	struct rp_req req = {
	    .opcode = HW_WQE_WRITE, .wr_id = wr_id, .dst = dst, .bytes = 8, .lkey = lkey};

	rp_req(&rp, 0, qp, &req);
}

/* A failure waits for earlier requests; later ones are flushed. */
static void failure_in_order(void)
{
	struct fw_qp *qp;

	begin();
	qp = A->qp[0];
	write_to(qp, B->qp[0], 1, 0);
	write_to(qp, B->qp[1], 2, 0);
	write_to(qp, B->qp[0], 3, A->stag ^ 2);
	write_to(qp, B->qp[0], 4, 0);
	rp_settle(&rp);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(rp.wire.num_kept, 2);
	CU_ASSERT_EQUAL(A->port.settles, 0);
	rp_release(&rp);
	/* An acknowledgement shows that the memory was read; a failure does not. */
	CU_ASSERT_TRUE(A->port.settles > 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 4, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_SQE);
	CU_ASSERT_FALSE(qp->sq_failing);
	/* Requests posted in SQE are flushed when their doorbell rings. */
	write_to(qp, B->qp[0], 5, 0);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 5, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, HW_QPS_RTS, 0, NULL), 0);
	write_to(qp, B->qp[0], 6, 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* On RC the failure ends the QP with both of its queues. */
static void failure_on_rc(void)
{
	struct fw_qp *a, *b;

	begin();
	rp_rc(&rp, &a, &b, NULL);
	rp_recv(&rp, 0, a, 9, 0, 8);
	write_to(a, NULL, 1, 0);
	write_to(a, NULL, 2, A->stag ^ 2);
	write_to(a, NULL, 3, 0);
	rp_settle(&rp);
	rp_expect_none(&rp);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
	rp_expect_recv(&rp, 0, 9, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(b->state, HW_QPS_RTS);
	rp_end(&rp);
}

/* An address of no NIC fails the request, not the queue. */
static void unreachable_goes_on(void)
{
	struct fw_qp nowhere = {.qpn = 7u << 19 | 5};
	struct fw_qp *qp;
	struct hw_cqe cqe;

	begin();
	qp = A->qp[0];
	write_to(qp, B->qp[0], 1, 0);
	write_to(qp, &nowhere, 2, 0);
	write_to(qp, B->qp[0], 3, 0);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 2);
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_UNREACHABLE);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	rp_end(&rp);
}

/* Flows to two peers complete each in its own order; slots are freed in the order of the queue. */
static void slots_in_order(void)
{
	struct fw_qp *qp;
	uint32_t first;

	begin();
	qp = A->qp[0];
	first = qp->record->sq_cons;
	write_to(qp, B->qp[0], 1, 0);
	write_to(qp, B->qp[1], 2, 0);
	write_to(qp, B->qp[1], 3, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 3);
	/* The packets of the second flow arrive. */
	bench_wire_deliver(&rp.wire, 1);
	bench_wire_deliver(&rp.wire, 2);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qp->record->sq_cons, first);
	bench_wire_deliver(&rp.wire, 0);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qp->record->sq_cons, first + 6);
	rp_release(&rp);
	rp_end(&rp);
}

/* Local operations are carried out in the queue's order of completion. */
static void local_operations(void)
{
	struct rp_req req = {.opcode = HW_WQE_LOCAL_INV, .wr_id = 2};
	uint32_t stag;

	begin();
	stag = rp_reg(&rp, 0, A->mem, 4096, RP_ALL_ACCESS, true);
	write_to(A->qp[0], B->qp[0], 1, 0);
	req.imm = stag;
	rp_req(&rp, 0, A->qp[0], &req);
	write_to(A->qp[0], B->qp[0], 3, 0);
	rp_settle(&rp);
	rp_expect_none(&rp);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	/* The second time there is nothing to invalidate. */
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_MW_BIND_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
	rp_end(&rp);
}

/*
 * Requests of UC that a turn has sent complete together; one that is carried out here, and was
 * posted between them, keeps its place.
 */
static void local_operation_among_sent(void)
{
	struct rp_req req = {.opcode = HW_WQE_LOCAL_INV, .wr_id = 3};
	struct fw_qp *a, *b, *other_a, *other_b;
	uint64_t i, frames;

	begin();
	rp_uc(&rp, &a, &b);
	rp_uc(&rp, &other_a, &other_b);
	/* The next hop is known from here on. */
	write_to(a, NULL, 9, 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 9, HW_STATUS_SUCCESS);
	req.imm = rp_reg(&rp, 0, A->mem, 4096, RP_ALL_ACCESS, true);
	write_to(a, NULL, 1, 0);
	write_to(a, NULL, 2, 0);
	rp_req(&rp, 0, a, &req);
	write_to(a, NULL, 4, 0);
	write_to(other_a, NULL, 5, 0);
	write_to(other_a, NULL, 6, 0);
	frames = RP_CNT(&rp, 0, tx_frames);
	rp_poll(&rp, 0);
	/* It is no message: nothing is sent for it, nor is a next hop looked for. */
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, tx_frames), frames + 5);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_neigh_unresolved), 0);
	for (i = 1; i <= 6; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(a->record->sq_cons, a->record->sq_prod);
	CU_ASSERT_EQUAL(other_a->record->sq_cons, other_a->record->sq_prod);
	rp_end(&rp);
}

struct order {
	const struct fw_qp *qp;
	uint32_t completions, late; /* those that would be seen before the index that covers them */
};

static void completion_written(void *ctx, uint64_t now_ns, uint32_t event, uint32_t qpn,
			       uint64_t arg0, uint64_t arg1)
{
	struct order *order = ctx;

	(void)now_ns, (void)arg1;
	if (event != TRACE_CQE || qpn != order->qp->qpn)
		return;
	order->completions++;
	/* Requests have two slots each, and are numbered from 1 on. */
	order->late += order->qp->record->sq_cons < 2 * (uint32_t)arg0;
}

/*
 * A completion says that the unsignalled requests before it are over, too: their slots are free for
 * whoever polls it, although several requests that were sent end at once.
 */
static void index_before_completions(void)
{
	static void (*const make[])(struct rp *, struct fw_qp **, struct fw_qp **) = {rp_uc, rp_ud};

	for (uint32_t i = 0; i < 2; i++) {
		struct order order = {0};
		struct fw_qp *a, *b;

		begin();
		make[i](&rp, &a, &b);
		rp_quiet(&rp);
		order.qp = a;
		fw_set_trace(A->nic, completion_written, &order);
		for (uint32_t id = 1; id <= 7; id++) {
			struct rp_req req = {.opcode = HW_WQE_SEND,
					     .wr_id = id,
					     .dst = b,
					     .bytes = 2 * LLP_NOW_BYTES,
					     .unsignaled = id != 3 && id != 6};

			rp_req(&rp, 0, a, &req);
		}
		rp_poll(&rp, 0);
		fw_set_trace(A->nic, NULL, NULL);
		CU_ASSERT_EQUAL(order.completions, 2);
		CU_ASSERT_EQUAL(order.late, 0);
		CU_ASSERT_EQUAL(a->record->sq_cons, 14);
		rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* The same for a Send of UD whose address names no NIC: it is not sent, and not reported as sent.
 */
static void unreachable_among_sent(void)
{
	struct fw_qp nowhere = {.qpn = 7u << 19 | 5};
	struct fw_qp *a, *b;

	begin();
	rp_ud(&rp, &a, &b);
	rp_send(&rp, 0, a, b, 1, 0, 8);
	rp_send(&rp, 0, a, &nowhere, 2, 0, 8);
	rp_send(&rp, 0, a, b, 3, 0, 8);
	rp_poll(&rp, 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_neigh_unresolved), 0);
	CU_ASSERT_EQUAL(a->state, HW_QPS_RTS);
	rp_end(&rp);
}

/* A CQ that has no room for one of the requests that a turn has sent: those behind it are flushed.
 */
static void overrun_among_sent(void)
{
	struct fw_qp *a, *b;
	struct fw_cq *cq;
	uint64_t i;

	begin();
	rp_uc(&rp, &a, &b);
	write_to(a, NULL, 9, 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 9, HW_STATUS_SUCCESS);
	/* All entries but two are full. */
	cq = A->scq;
	cq->record->cons = cq->prod - cq->mask + 1;
	cq->cons = cq->record->cons;
	for (i = 1; i <= 4; i++)
		write_to(a, NULL, i, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	CU_ASSERT_TRUE(cq->overrun);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	rp_end(&rp);
}

/*
 * ERR flushes both queues with completions, RESET without, both also while packets are in flight.
 */
static void flush(void)
{
	uint32_t round;

	begin();
	for (round = 0; round < 4; round++) {
		struct fw_qp *qp = A->qp[0];
		enum hw_qp_state to = round % 2 ? HW_QPS_RESET : HW_QPS_ERR;
		uint64_t i;

		rp.filter = rp_keep_data;
		rp_recv(&rp, 0, qp, 50, 0, 8);
		write_to(qp, B->qp[0], 1, 0);
		write_to(qp, B->qp[1], 2, 0);
		rp_send(&rp, 0, qp, B->qp[0], 3, 0, 4000);
		rp_settle(&rp);
		CU_ASSERT_TRUE(rp.wire.num_kept >= 4);
		/* One more, which was never fetched. */
		write_to(qp, B->qp[0], 4, 0);
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, to, 0, NULL), 0);
		for (i = 1; to == HW_QPS_ERR && i <= 4; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
		if (to == HW_QPS_ERR) {
			rp_expect_recv(&rp, 0, 50, HW_STATUS_WR_FLUSH_ERR);
			/* Late requests are flushed when their doorbell rings. */
			qp->record->rung = 0;
			rp_recv(&rp, 0, qp, 51, 0, 8);
			write_to(qp, B->qp[0], 5, 0);
			rp_poll(&rp, 0);
			rp_expect_send(&rp, 0, 5, HW_STATUS_WR_FLUSH_ERR);
			rp_expect_recv(&rp, 0, 51, HW_STATUS_WR_FLUSH_ERR);
			CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, HW_QPS_RESET, 0, NULL), 0);
		}
		rp_expect_none(&rp);
		CU_ASSERT_TRUE(fw_list_empty(&qp->wqes) && fw_list_empty(&qp->flows));
		/* Packets that were under way arrive without effect; a cancellation follows. */
		rp_release(&rp);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
		qp->record->sq_prod = qp->sq_prod;
		qp->record->rq_prod = qp->rq_prod;
		rp_rts(&rp, 0, qp);
		write_to(qp, B->qp[0], 6, 0);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

/* Without a signal nothing is written unless the request fails; SQ_SIG_ALL writes always. */
static void signals(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .unsignaled = true, .bytes = 8};

	rp_begin(&rp);
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(A->qp[0]->record->sq_cons, A->qp[0]->record->sq_prod);
	A->qp[0]->flags |= HW_QP_F_SQ_SIG_ALL;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	A->qp[0]->flags = 0;
	req.lkey = 0x77777;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_LOC_PROT_ERR);
	rp_end(&rp);
}

/* A process that does not poll: its QPs fail, its peer and the NIC are not affected. */
static void overrun(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	struct fw_cq *cq;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	req.dst = B->qp[0];
	cq = A->scq;
	/* All entries but one are full. */
	cq->record->cons = cq->prod - cq->mask;
	cq->cons = cq->record->cons;
	for (i = 0; i < 3; i++) {
		req.dst = B->qp[i % 2];
		rp_req(&rp, 0, A->qp[0], &req);
	}
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(A->qp[1]->state, HW_QPS_RTS);
	CU_ASSERT_TRUE(cq->overrun);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The status for each reason. */
static void statuses(void)
{
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_NONE), HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_LKEY), HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_BOUNDS), HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_ACCESS), HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_HOST_FAULT), HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_TOO_LONG), HW_STATUS_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_PEER_RESTART), HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_UNREACHABLE), HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_OPCODE), HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_SLOTS), HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(wqe_status_of(HW_VENDOR_ERR_AH), HW_STATUS_LOC_QP_OP_ERR);
}

UT_MAIN("pair/wqe_done", UT(failure_in_order), UT(failure_on_rc), UT(unreachable_goes_on),
	UT(slots_in_order), UT(local_operations), UT(local_operation_among_sent),
	UT(index_before_completions), UT(unreachable_among_sent), UT(overrun_among_sent), UT(flush),
	UT(signals), UT(overrun), UT(statuses))
