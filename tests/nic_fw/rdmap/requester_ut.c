/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests on a stream that was made for the test: which is the oldest, and in which order they
 * complete, whatever order acknowledgements, answers and failures come in. See
 * nic_fw/rdmap/requester.c.
 */
#include "tests/bench/host.h"

enum {
	REQUESTS = 4,
	RING = 16,
};

static struct fw_ut ut;
static struct fw_qp *qp;
static struct fw_cq *cq;
static struct fw_wqe *request[REQUESTS];
static uint32_t cons, let_go, advanced;

static void stream_let_go(struct fw_wqe *msg)
{
	CU_ASSERT_EQUAL(msg->wr_id, let_go);
	let_go++;
}

static void stream_advanced(struct fw_nic *nic, struct fw_qp *of)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(of, qp);
	advanced++;
}

static const struct llp_ops stream = {
    .stream = true,
    .let_go = stream_let_go,
    .advanced = stream_advanced,
};

/* In place of up/llp_table.c's. */
const struct llp_ops *const llp_table[LLP_KINDS] = {&stream, &stream, &stream, &stream, &stream};

/* Requests 0 to 3 are at the stream; the second is a read. */
static void begin(void)
{
	uint32_t i, pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, RING, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, HW_QPT_RC, pd, cq, HW_SRQ_NONE);
	qp->state = HW_QPS_RTS;
	qp->llp = LLP_ESP;
	cons = let_go = advanced = 0;
	for (i = 0; i < REQUESTS; i++) {
		struct fw_wqe *msg = request[i] = wqe_alloc(ut.nic, qp, FW_WQE_REQUEST);

		CU_ASSERT_PTR_NOT_NULL_FATAL(msg);
		msg->wr_id = i;
		msg->ssn = 10 + i;
		msg->flags = HW_WQE_F_SIGNALED;
		msg->streamed = true;
		msg->state = FW_WQE_SENT;
		msg->opcode = i == 1 ? HW_WQE_READ : HW_WQE_WRITE;
		msg->rdmap_opcode = i == 1 ? WIRE_RDMAP_READ_REQUEST : WIRE_RDMAP_WRITE;
		qp->rd_atomics += i == 1;
		if (i == 1)
			fw_list_add_tail(&qp->reads, &msg->read_node);
		qp->outstanding++;
		fw_list_add_tail(&qp->wqes, &msg->qp_node);
	}
}

/* The queue pair ends as every other does: the stream of the test holds nothing. */
static void end(void)
{
	struct hw_cqe cqe;

	CU_ASSERT_FALSE(host_next_cqe(cq, &cons, &cqe));
	fw_ut_end(&ut);
}

static void expect(uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe = {0};

	CU_ASSERT_TRUE(host_next_cqe(cq, &cons, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, wr_id);
	CU_ASSERT_EQUAL(cqe.status, status);
}

static void oldest(void)
{
	uint32_t i;

	begin();
	CU_ASSERT_PTR_EQUAL(requester_oldest(qp), request[0]);
	CU_ASSERT_PTR_EQUAL(requester_oldest_read(qp), request[1]);
	CU_ASSERT_PTR_EQUAL(requester_find_read(qp, 11), request[1]);
	CU_ASSERT_PTR_NULL(requester_find_read(qp, 12));
	request[1]->answered = true;
	CU_ASSERT_PTR_NULL(requester_find_read(qp, 11));
	request[1]->answered = false;
	request[1]->streamed = false;
	CU_ASSERT_PTR_NULL(requester_oldest_read(qp));
	request[1]->streamed = true;
	requester_acked(ut.nic, request[0]);
	expect(0, HW_STATUS_SUCCESS);
	CU_ASSERT_PTR_EQUAL(requester_oldest(qp), request[1]);
	requester_answered(ut.nic, request[1]);
	CU_ASSERT_PTR_EQUAL(requester_oldest(qp), request[2]);
	for (i = 1; i < REQUESTS; i++)
		requester_acked(ut.nic, request[i]);
	for (i = 1; i < REQUESTS; i++)
		expect(i, HW_STATUS_SUCCESS);
	CU_ASSERT_PTR_NULL(requester_oldest(qp));
	end();
}

/* A read is complete when it is acknowledged and answered; later requests wait for it. */
static void in_order(void)
{
	begin();
	requester_acked(ut.nic, request[2]);
	requester_answered(ut.nic, request[1]);
	CU_ASSERT_EQUAL(let_go, 0);
	requester_acked(ut.nic, request[0]);
	expect(0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(let_go, 1);
	request[1]->answered = false;
	requester_acked(ut.nic, request[1]);
	CU_ASSERT_EQUAL(let_go, 1);
	requester_answered(ut.nic, request[1]);
	expect(1, HW_STATUS_SUCCESS);
	expect(2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(let_go, 3);
	CU_ASSERT_EQUAL(advanced, 5);
	CU_ASSERT_EQUAL(qp->rd_atomics, 0);
	requester_acked(ut.nic, request[3]);
	expect(3, HW_STATUS_SUCCESS);
	end();
}

/* A failure waits for its turn, needs no acknowledgement, and flushes the requests behind it. */
static void failure(void)
{
	begin();
	requester_fail(ut.nic, request[2], HW_STATUS_REM_OP_ERR, HW_VENDOR_ERR_NONE);
	CU_ASSERT_TRUE(qp->sq_failing);
	CU_ASSERT_EQUAL(let_go, 0);
	CU_ASSERT_PTR_EQUAL(requester_oldest(qp), request[0]);
	requester_acked(ut.nic, request[0]);
	requester_acked(ut.nic, request[1]);
	requester_answered(ut.nic, request[1]);
	fw_ut_poll(&ut, 1000);
	expect(0, HW_STATUS_SUCCESS);
	expect(1, HW_STATUS_SUCCESS);
	expect(2, HW_STATUS_REM_OP_ERR);
	expect(3, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	end();
}

/* An answered read was carried out although its acknowledgement is lost with the stream. */
static void lost(void)
{
	begin();
	requester_acked(ut.nic, request[0]);
	requester_answered(ut.nic, request[1]);
	requester_lost(ut.nic, qp, HW_STATUS_RETRY_EXC_ERR);
	fw_ut_poll(&ut, 1000);
	expect(0, HW_STATUS_SUCCESS);
	expect(1, HW_STATUS_SUCCESS);
	expect(2, HW_STATUS_RETRY_EXC_ERR);
	expect(3, HW_STATUS_WR_FLUSH_ERR);
	end();
}

UT_MAIN("nic_fw/rdmap/requester", UT(oldest), UT(in_order), UT(failure), UT(lost))
