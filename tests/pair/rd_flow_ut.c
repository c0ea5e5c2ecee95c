/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows: RNR limits and the requests that fail by them, Terminates for messages in every state,
 * unexplained errors, responses that pass refused requests, lack of memory.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void write_to(uint32_t q, const struct fw_qp *dst, uint64_t wr_id, uint32_t bytes)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = bytes, .dst = dst};

	rp_req(&rp, 0, A->qp[q], &req);
}

static void set_rnr_retry(uint8_t retry)
{
	struct hw_qp_attr attr = {.rnr_retry = retry};

	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
}

/* Sent rnr_retry + 1 times, then given up; the flow to another QP is not affected. */
static void rnr_limit(void)
{
	uint8_t retry;

	rp_begin(&rp);
	rp_open(&rp);
	for (retry = 0; retry < 7; retry++) {
		uint64_t refused = RP_CNT(&rp, 1, rd_rx_refused);

		set_rnr_retry(retry);
		rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 8);
		write_to(0, B->qp[1], 2, 8);
		rp_quiet(&rp);
		if (retry) /* else one ACK reports both */
			rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_RNR_RETRY_EXC_ERR);
		if (!retry)
			rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_refused), refused + retry + 1);
		CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	}
	/* Each message counts separately: two refusals for each of five are not five. */
	set_rnr_retry(3);
	for (retry = 0; retry < 5; retry++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], retry, 0, 8);
	for (retry = 0; retry < 5; retry++) {
		rp_run(&rp, 1000000);
		rp_recv(&rp, 1, B->qp[0], retry, 0, 8);
		rp_run(&rp, 700000);
		rp_expect_send(&rp, 0, retry, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, retry, HW_STATUS_SUCCESS);
	}
	/* Retries without a limit. */
	set_rnr_retry(7);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 9, 0, 8);
	rp_run(&rp, 100000000);
	rp_expect_none(&rp);
	rp_recv(&rp, 1, B->qp[0], 9, 0, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 9, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 9, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A refused request waits; the response that its peer waits for passes it. */
static void response_passes(void)
{
	struct rp_req read = {.opcode = HW_WQE_READ, .wr_id = 5, .bytes = 8};

	rp_begin(&rp);
	rp_open(&rp);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 8);
	rp_run(&rp, 3000000);
	read.dst = A->qp[0];
	rp_req(&rp, 1, B->qp[0], &read);
	rp_settle(&rp);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	rp_recv(&rp, 1, B->qp[0], 1, 0, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * The Terminate is lost for a while: the request is repeated now and then, and fails when the
 * Terminate arrives; later requests are carried out once.
 */
static void late_terminate(void)
{
	struct rp_req bad = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8, .rkey = 0x7777777};
	struct rp_req add = {.opcode = HW_WQE_FETCH_ADD, .wr_id = 2, .bytes = 8, .compare_add = 1};

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_terminates;
	bad.dst = B->qp[0];
	add.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &bad);
	rp_req(&rp, 0, A->qp[0], &add);
	rp_run(&rp, 20000000);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_run(&rp, 100000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	rp_run(&rp, 3000000000);
	rp_expect_none(&rp);
	rp_end(&rp);
}

/* RC whose peer's QP is gone, or belongs to another connection: the request fails. */
static void rc_without_peer(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};
	struct fw_qp *a, *b;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		rp_begin(&rp);
		rp_open(&rp);
		rp_rc(&rp, &a, &b, NULL);
		/* The QP is gone; or it, or both PSNs, belong to another connection. */
		b->incarnation_rx = (uint16_t)(b->incarnation_rx + (i & 1));
		b->incarnation_tx = (uint16_t)(b->incarnation_tx + (i >> 1 & 1));
		if (!(i & 1))
			rp_destroy_qp(&rp, 1, b);
		rp_req(&rp, 0, a, &req);
		rp_run(&rp, i & 1 ? 1000000 : 2 * QP_GRACE_NS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
		CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
		rp_end(&rp);
	}
}

/*
 * A peer ends while requests are under way to it: they fail late, so that a program that needs no
 * answer to them notices nothing. A new connection may use the QP's number by then.
 */
static void rc_peer_ends(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};
	struct fw_qp *a, *b;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		rp_begin(&rp);
		rp_open(&rp);
		rp_rc(&rp, &a, &b, NULL);
		if (i) {
			b->ended_ns = rp.end[1].nic->now_ns;
			b->incarnation_rx++;
		} else {
			rp_destroy_qp(&rp, 1, b);
		}
		rp_req(&rp, 0, a, &req);
		rp_run(&rp, QP_GRACE_NS * 3 / 4);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(a->state, HW_QPS_RTS);
		rp_run(&rp, QP_GRACE_NS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
		CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
		rp_end(&rp);
	}
}

/* A Terminate that never arrives: the repetitions end. */
static void nobody_explains(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};
	struct fw_qp *a, *b;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &a, &b, NULL);
	rp_destroy_qp(&rp, 1, b);
	rp.filter = rp_drop_terminates;
	rp_req(&rp, 0, a, &req);
	rp_run(&rp, 5000000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	rp.filter = NULL;
	rp_run(&rp, 5000000000);
	rp_end(&rp);
}

/* The RNR retries are used up: only that request fails, the next one has retries of its own. */
static void rnr_fails_alone(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	set_rnr_retry(2);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 8);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 5000);
	write_to(0, B->qp[0], 3, 8);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 4, 0, 8);
	rp_run(&rp, 1500000);
	/* Refused at 0, 0.64 and 1.28 ms. */
	rp_expect_send(&rp, 0, 1, HW_STATUS_RNR_RETRY_EXC_ERR);
	rp_expect_none(&rp);
	rp_recv(&rp, 1, B->qp[0], 2, 0, 5000);
	rp_run(&rp, 1500000);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 4, HW_STATUS_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	rp_end(&rp);
}

/* RC: the first request gives the reason, the others are flushed. */
static void rnr_of_rc(void)
{
	static const struct hw_qp_attr attr = {
	    .timeout = 14, .retry_cnt = 7, .rnr_retry = 1, .min_rnr_timer = 1};
	struct fw_qp *a, *b;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &a, &b, &attr);
	rp_send(&rp, 0, a, NULL, 1, 0, 8);
	rp_send(&rp, 0, a, NULL, 2, 0, 8);
	rp_run(&rp, 1000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RNR_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	rp_end(&rp);
}

/*
 * A message that is too long, and whose Terminate is lost repeatedly: one receive fails, no more.
 */
static void one_receive_fails(void)
{
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < 5; i++)
		rp_recv(&rp, 1, B->qp[0], i, 0, 8);
	rp.filter = rp_drop_terminates;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 9);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 5000); /* two messages in a row */
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 8);
	rp_run(&rp, 200000000);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_rnr_backoffs) > 5);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_LOC_LEN_ERR);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_LOC_LEN_ERR);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 2);
	CU_ASSERT_EQUAL(B->nic->rdmap.terminates, 0);
	CU_ASSERT_EQUAL(B->qp[0]->rq_cons, 3);
	rp_end(&rp);
}

/* The retransmission arrives after the Terminate was received: still only one receive fails. */
static enum bench_verdict delay_second_try(struct rp *r, const struct rp_info *info)
{
	bool terminate = info->ddp && info->opcode == WIRE_RDMAP_TERMINATE;

	/* The first Terminates are lost until the second copy is on its way, and delayed. */
	if (terminate && !r->wire.num_kept)
		return BENCH_DROP;
	if (info->from == 0 && info->ddp && info->opcode == WIRE_RDMAP_SEND && r->ctx)
		return BENCH_KEEP;
	return BENCH_PASS;
}

static void late_second_try(void)
{
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < 3; i++)
		rp_recv(&rp, 1, B->qp[0], i, 0, 8);
	rp.filter = delay_second_try;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 9);
	rp_settle(&rp);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_LOC_LEN_ERR);
	rp.ctx = &rp;
	for (i = 0; !rp.wire.num_kept; i++) {
		CU_ASSERT_FATAL(i < 100000);
		rp_run(&rp, 10000);
	}
	/* The Terminate arrives and is acknowledged, and then the copy arrives. */
	rp_run(&rp, 1500000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 1);
	rp_expect_none(&rp);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(B->qp[0]->rq_cons, 1);
	rp.ctx = NULL;
	rp_end(&rp);
}

/*
 * A received Terminate waits for an earlier request that is lost. It is not sent again meanwhile
 * and leaves the window to other packets.
 */
static enum bench_verdict drop_writes(struct rp *r, const struct rp_info *info)
{
	bool request = info->from == 0 && info->type == WIRE_DGRAM_RD;

	(void)r;
	return request && (info->is_void || info->opcode == WIRE_RDMAP_WRITE) ? BENCH_DROP
									      : BENCH_PASS;
}

static void heard_terminate(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_recv(&rp, 1, B->qp[0], 0, 0, 8);
	rp.filter = drop_writes;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 9);
	write_to(0, B->qp[1], 2, 8);
	rp_run(&rp, 3000000);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_LOC_LEN_ERR);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(B->nic->rdmap.terminates, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_tx_retransmits), 0);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->sent, 0);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->lost, 0);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, rd_tx_probes) > 0);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(B->nic->rdmap.terminates, 0);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 1)->tx);
	rp_end(&rp);
}

/* The memory of an end is deregistered under a message whose packets are partly sent and lost. */
static void source_gone(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 8000};
	uint32_t stag;

	rp_begin(&rp);
	rp_open(&rp);
	stag = rp_reg(&rp, 0, A->mem, 8000, 0, true);
	rp.filter = rp_drop_data;
	write_to(0, B->qp[1], 1, 3000);
	req.dst = B->qp[0];
	req.lkey = stag;
	rp_req(&rp, 0, A->qp[0], &req);
	write_to(0, B->qp[0], 3, 8);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, rp_session(&rp, 0)->tx_psn);
	rp_end(&rp);
}

/*
 * Many flows of one session, some refused, some to QPs that do not exist: each gets its own result.
 */
static void many_flows(void)
{
	struct fw_qp gone = {.qpn = (1u << 19) | 999};
	uint32_t i, ok = 0, failed = 0;
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < 20; i++) {
		write_to(0, B->qp[0], 0, 2000);
		write_to(0, &gone, 1, 20);
		write_to(1, B->qp[1], 2, 200);
		write_to(1, B->qp[0], 3, 1);
	}
	rp_run(&rp, 3000000000);
	while (rp_scqe(&rp, 0, &cqe)) {
		if (cqe.wr_id == 1) {
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_OP_ERR);
			failed++;
		} else {
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
			ok++;
		}
	}
	CU_ASSERT_EQUAL(ok, 60);
	CU_ASSERT_EQUAL(failed, 20);
	rp_end(&rp);
}

/* Terminates of hostile peers: for messages that do not exist or belong to other flows. */
static void forged_terminates(void)
{
	uint32_t ssn;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_data;
	write_to(0, B->qp[0], 1, 8);
	write_to(0, B->qp[0], 2, 8);
	rp_settle(&rp);
	ssn = A->qp[0]->ssn;
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[0]->qpn, ssn + 1,
			      HW_STATUS_REM_OP_ERR);
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[1]->qpn, ssn,
			      HW_STATUS_REM_OP_ERR);
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip + 1, B->qp[0]->qpn, ssn,
			      HW_STATUS_REM_OP_ERR);
	rd_outcome_terminated(A->nic, A->qp[1], B->nic->config.ip, B->qp[0]->qpn, ssn,
			      HW_STATUS_REM_OP_ERR);
	rp_expect_none(&rp);
	/* The second one, out of order and twice: it waits for the first. */
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[0]->qpn, ssn,
			      HW_STATUS_REM_OP_ERR);
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[0]->qpn, ssn,
			      HW_STATUS_REM_ACCESS_ERR);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_OP_ERR);
	rp_end(&rp);
}

/* ---- queue pairs on their way out -------------------------------------------------------- */

/* Closes the window of an end; returns its former size. */
static uint32_t shut_window(uint32_t e)
{
	struct rd_session *s = rp_session(&rp, e);
	uint32_t sent = s->sent;

	s->sent = s->cwnd;
	return sent;
}

static void open_window(uint32_t e, uint32_t sent)
{
	rp_session(&rp, e)->sent = sent;
	rd_session_ready(rp.end[e].nic, rp_session(&rp, e));
}

static void read_of_b(void)
{
	struct rp_req read = {
	    .opcode = HW_WQE_READ, .wr_id = 5, .bytes = 8, .dst = B->qp[0], .offset = 4096};

	rp_req(&rp, 0, A->qp[0], &read);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, reads_executed), 1);
}

/* The memory of a process that ends is gone before its QPs: no error of a missing right is sent. */
static void reader_hears_of_the_end(void)
{
	struct fw_client *leaving = &B->nic->host.clients[B->client];

	leaving->closing = true;
	rp_run(&rp, 300000000);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 0);
	leaving->closing = false;
	rp_detach(&rp, 1);
	rp_run(&rp, 300000000);
	rp_expect_send(&rp, 0, 5, HW_STATUS_REM_OP_ERR);
	rp_detach(&rp, 0);
	rp_free(&rp);
}

static void answer_of_a_process_that_leaves(void)
{
	uint32_t sent;

	rp_begin(&rp);
	rp_open(&rp);
	sent = shut_window(1);
	read_of_b();
	open_window(1, sent);
	reader_hears_of_the_end();
}

/* The same for a response that was lost and is sent again. */
static void lost_answer_of_a_process_that_leaves(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_read_responses;
	read_of_b();
	rp.filter = NULL;
	reader_hears_of_the_end();
}

static enum bench_verdict count_writes(struct rp *r, const struct rp_info *info)
{
	if (info->from == 0 && info->ddp && info->opcode == WIRE_RDMAP_WRITE)
		++*(uint32_t *)r->ctx;
	return BENCH_PASS;
}

/* More flows than one turn can give up: none of them sends in between. */
static void flows_of_a_queue_in_error(void)
{
	enum {
		FLOWS = 100
	};
	uint32_t i, sent, writes = 0;

	rp_begin(&rp);
	rp_open(&rp);
	rp.ctx = &writes;
	rp.filter = count_writes;
	sent = shut_window(0);
	for (i = 0; i < FLOWS; i++) {
		struct fw_qp dst = {.qpn = B->qp[0]->qpn + 100 + i};

		write_to(0, &dst, i, 8);
		rp_poll(&rp, 0);
	}
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_TRUE(A->qp[0]->flushing);
	open_window(0, sent);
	rp_settle(&rp);
	CU_ASSERT_FALSE(A->qp[0]->flushing);
	CU_ASSERT_EQUAL(writes, 0);
	for (i = 0; i < FLOWS; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	rp_end(&rp);
}

UT_MAIN("pair/rd_flow", UT(rnr_limit), UT(response_passes), UT(late_terminate), UT(rc_without_peer),
	UT(rc_peer_ends), UT(nobody_explains), UT(rnr_fails_alone), UT(rnr_of_rc),
	UT(one_receive_fails), UT(late_second_try), UT(source_gone), UT(many_flows),
	UT(forged_terminates), UT(heard_terminate), UT(answer_of_a_process_that_leaves),
	UT(lost_answer_of_a_process_that_leaves), UT(flows_of_a_queue_in_error))
