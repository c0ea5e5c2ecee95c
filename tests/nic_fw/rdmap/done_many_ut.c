/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request of a queue ends, and with it hundreds that waited for it: a turn completes some, in
 * their order, whatever happens meanwhile. Completions and contexts are counted; nothing is timed.
 * See nic_fw/host/wqe_done.c, nic_fw/rdmap/requester.c.
 */
#include "tests/bench/host.h"

enum {
	REQUESTS = 600,
	RING = 1024,
	READ = 1, /* the request that all wait for */
	FIRST_SSN = 10,
	PER_TURN = FW_SLICE_DONE + FW_SLICE_UNITS + 2,
	FREED_PER_TURN = (FW_SLICE_DONE + FW_SLICE_UNITS + 1) * FW_SLICE_LOOKS,
};

static struct fw_ut ut;
static struct fw_qp *qp;
static struct fw_cq *cq;
static struct fw_wqe *request[REQUESTS];
static uint32_t cons;

static const struct llp_ops stream = {
    .stream = true,
    .complete = requester_complete,
};

/* In place of up/llp_table.c's. */
const struct llp_ops *const llp_table[LLP_KINDS] = {&stream, &stream, &stream, &stream, &stream};

static void begin(enum hw_qp_type type)
{
	uint32_t i, pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, RING, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, type, pd, cq, HW_SRQ_NONE);
	qp->state = HW_QPS_RTS;
	qp->llp = LLP_ESP;
	cons = 0;
	/* As in a turn: commands between turns have more. */
	ut.nic->slices.left = FW_SLICE_UNITS;
	ut.nic->slices.done_left = FW_SLICE_DONE;
	for (i = 0; i < REQUESTS; i++) {
		struct fw_wqe *msg = request[i] = wqe_alloc(ut.nic, qp, FW_WQE_REQUEST);

		CU_ASSERT_PTR_NOT_NULL_FATAL(msg);
		msg->wr_id = i;
		msg->ssn = FIRST_SSN + i;
		msg->flags = HW_WQE_F_SIGNALED;
		msg->streamed = true;
		msg->state = FW_WQE_SENT;
		msg->opcode = i == READ ? HW_WQE_READ : HW_WQE_WRITE;
		msg->rdmap_opcode = i == READ ? WIRE_RDMAP_READ_REQUEST : WIRE_RDMAP_WRITE;
		qp->rd_atomics += i == READ;
		if (i == READ)
			fw_list_add_tail(&qp->reads, &msg->read_node);
		qp->outstanding++;
		fw_list_add_tail(&qp->wqes, &msg->qp_node);
	}
}

/* Completions that came since. */
static uint32_t expect(uint64_t *next, enum hw_status status)
{
	struct hw_cqe cqe;
	uint32_t n = 0;

	for (; host_next_cqe(cq, &cons, &cqe); n++) {
		CU_ASSERT_EQUAL(cqe.wr_id, *next);
		CU_ASSERT_EQUAL(cqe.status, status);
		++*next;
	}
	return n;
}

static void acked_but_the_read(void)
{
	uint32_t i;

	begin(HW_QPT_RC);
	for (i = 0; i < REQUESTS; i++)
		requester_acked(ut.nic, request[i]);
}

/* Turns until all have come: PER_TURN of them in each at most. */
static void in_turns(uint64_t *next)
{
	uint32_t turns = 0;

	CU_ASSERT(expect(next, HW_STATUS_SUCCESS) <= PER_TURN);
	while (*next < REQUESTS && turns++ < REQUESTS) {
		fw_ut_poll(&ut, 1000);
		CU_ASSERT(expect(next, HW_STATUS_SUCCESS) <= PER_TURN);
	}
	CU_ASSERT_EQUAL(*next, REQUESTS);
	CU_ASSERT_EQUAL(ut.nic->host.wqes.used, 0);
}

static void behind_a_read(void)
{
	uint64_t next = 0;

	acked_but_the_read();
	CU_ASSERT_EQUAL(expect(&next, HW_STATUS_SUCCESS), READ);
	requester_answered(ut.nic, request[READ]);
	in_turns(&next);
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	fw_ut_end(&ut);
}

/* The queue pair fails before all were reported: they were carried out. */
static void an_error_meanwhile(void)
{
	uint64_t next = 0;

	acked_but_the_read();
	requester_answered(ut.nic, request[READ]);
	qp_error(ut.nic, qp, HW_EVENT_QP_FATAL);
	in_turns(&next);
	fw_ut_end(&ut);
}

/* Likewise, and the last of them are not: they are flushed, none succeeds after that. */
static void an_error_with_some_open(void)
{
	uint64_t next = 0;
	uint32_t i;

	begin(HW_QPT_RC);
	for (i = 0; i < REQUESTS; i++)
		if (i != REQUESTS - 2)
			requester_acked(ut.nic, request[i]);
	requester_answered(ut.nic, request[READ]);
	qp_error(ut.nic, qp, HW_EVENT_QP_FATAL);
	for (i = 0; i < REQUESTS && ut.nic->host.wqes.used > 2; i++) {
		(void)expect(&next, HW_STATUS_SUCCESS);
		ut.nic->slices.left = 0;
		(void)slice_run(ut.nic);
		if (ut.nic->host.wqes.used < FW_SLICE_UNITS + 2)
			break;
	}
	while (next < REQUESTS - 2) {
		struct hw_cqe cqe;

		CU_ASSERT_TRUE_FATAL(host_next_cqe(cq, &cons, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		next++;
		fw_ut_poll(&ut, 1000);
	}
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(expect(&next, HW_STATUS_WR_FLUSH_ERR), 2);
	fw_ut_end(&ut);
}

/* The stream ends: what was answered succeeds, the first open one fails, the rest is flushed. */
static void a_lost_stream(void)
{
	uint64_t next = 0;
	struct hw_cqe cqe;
	uint32_t i;

	begin(HW_QPT_RC);
	for (i = 0; i < REQUESTS - 2; i++)
		requester_acked(ut.nic, request[i]);
	requester_answered(ut.nic, request[READ]);
	requester_lost(ut.nic, qp, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(qp->sq_lost, HW_STATUS_RETRY_EXC_ERR);
	for (i = 0; next < REQUESTS - 2 && i < REQUESTS; i++) {
		while (next < REQUESTS - 2 && host_next_cqe(cq, &cons, &cqe)) {
			CU_ASSERT_EQUAL(cqe.wr_id, next++);
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		}
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_TRUE(host_next_cqe(cq, &cons, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, next++);
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(expect(&next, HW_STATUS_WR_FLUSH_ERR), 1);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	fw_ut_end(&ut);
}

/* The peer refuses the last request: it took those before, and will not answer the read. */
static void a_refusal(void)
{
	enum hw_status want[] = {HW_STATUS_SUCCESS, HW_STATUS_WR_FLUSH_ERR, HW_STATUS_SUCCESS};
	struct hw_cqe cqe;
	uint32_t i, n = 0;

	begin(HW_QPT_RC);
	requester_refused(ut.nic, request[REQUESTS - 1], HW_STATUS_REM_ACCESS_ERR);
	/* The end of the connection follows at once. */
	qp_error(ut.nic, qp, HW_EVENT_QP_FATAL);
	for (i = 0; n < REQUESTS && i < REQUESTS; i++) {
		for (; host_next_cqe(cq, &cons, &cqe); n++) {
			CU_ASSERT_EQUAL(cqe.wr_id, n);
			CU_ASSERT_EQUAL(cqe.status, n == REQUESTS - 1 ? HW_STATUS_REM_ACCESS_ERR
								      : want[n < 2 ? n : 2]);
		}
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_EQUAL(n, REQUESTS);
	CU_ASSERT_PTR_NULL(qp->sq_refused);
	fw_ut_end(&ut);
}

/* Requests to many peers end in any order: their contexts wait for the first of the queue. */
static void behind_the_first_of_the_queue(void)
{
	uint32_t i, used, now, turns = 0;

	begin(HW_QPT_RD);
	for (i = 1; i < REQUESTS; i++) {
		request[i]->streamed = false;
		wqe_complete(ut.nic, request[i], HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	}
	CU_ASSERT_EQUAL(ut.nic->host.wqes.used, REQUESTS);
	used = REQUESTS;
	wqe_complete(ut.nic, request[0], HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	for (; used && turns < REQUESTS; turns++) {
		now = ut.nic->host.wqes.used;
		CU_ASSERT(used - now <= FREED_PER_TURN);
		used = now;
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_EQUAL(used, 0);
	CU_ASSERT(turns >= REQUESTS / FREED_PER_TURN);
	fw_ut_end(&ut);
}

/* Requests that were carried out here wait for one of a peer. */
static void carried_out_here(void)
{
	uint64_t next = 0;
	uint32_t i;

	begin(HW_QPT_RC);
	for (i = 1; i < REQUESTS; i++) {
		request[i]->ssn = 0;
		wqe_complete_in_order(ut.nic, request[i], HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	}
	CU_ASSERT_EQUAL(expect(&next, HW_STATUS_SUCCESS), 0);
	requester_acked(ut.nic, request[0]);
	in_turns(&next);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/rdmap/done_many", UT(behind_a_read), UT(an_error_meanwhile),
	UT(an_error_with_some_open), UT(a_lost_stream), UT(a_refusal),
	UT(behind_the_first_of_the_queue), UT(carried_out_here))
