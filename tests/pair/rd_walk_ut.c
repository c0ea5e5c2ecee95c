/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A refusal, and the end of a queue pair, beside many messages of one flow: neither walks them all.
 * Steps along lists are counted (nic_fw/base/walk.h), with few messages and with many; nothing is
 * timed. See docs/security.md "Stalls".
 */
#include "tests/pair/rd_pair.h"

enum {
	MANY = 60,
	FEW = 10,
	ROUNDS = 5,
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* Sends without a receive for them. */
static void begin(uint32_t sends)
{
	struct hw_qp_attr attr = {.rnr_retry = 7};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
	for (i = 0; i < sends; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i, 1);
}

/* Returns the steps of the refusals of a flow of so many Sends, until all have arrived in order. */
static uint64_t refusals(uint32_t sends)
{
	uint64_t before, steps;
	uint32_t i;

	begin(sends);
	before = RP_CNT(&rp, 0, rd_rnr_backoffs);
	fw_walk_steps = 0;
	while (RP_CNT(&rp, 0, rd_rnr_backoffs) < before + ROUNDS)
		rp_run(&rp, 1000000);
	steps = fw_walk_steps;
	for (i = 0; i < sends; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 1000 + i, 1);
		if (i % 8 == 7)
			rp_run(&rp, 2000000);
	}
	rp_quiet(&rp);
	for (i = 0; i < sends; i++) {
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
	return steps;
}

static void refusals_walk_no_messages(void)
{
	uint64_t few = refusals(FEW), many = refusals(MANY);

	CU_ASSERT(many < few + MANY - FEW);
}

/* The first Send is refused; it ends by a limit, and the others go on from the next one. */
static void the_first_ends_meanwhile(void)
{
	uint32_t i;

	begin(MANY);
	for (i = 0; i < 3; i++) {
		struct hw_qp_attr attr = {.rnr_retry = i % 2};

		rp_run(&rp, 1500000);
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
		rp_run(&rp, 1500000);
	}
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_RNR_RETRY_EXC_ERR);
	rp_end(&rp);
}

/* Each message takes a step when it is flushed, and none when its flow is looked for. */
static void a_flush_walks_no_messages(void)
{
	uint32_t i;

	begin(MANY);
	rp_run(&rp, 100000);
	fw_walk_steps = 0;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT(fw_walk_steps >= MANY && fw_walk_steps <= MANY + 2);
	rp_quiet(&rp);
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	rp_end(&rp);
}

/*
 * A read whose answer does not come keeps MANY Sends behind it, which the peer has. Terminates for
 * them, and for numbers that never were, walk none of them.
 */
static void a_terminate_walks_no_messages(void)
{
	const struct rp_req read = {
	    .opcode = HW_WQE_READ, .wr_id = 1000, .dst = B->qp[0], .bytes = 64, .offset = 4096};
	uint32_t i, ssn;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_read_responses;
	ssn = A->qp[0]->ssn;
	rp_req(&rp, 0, A->qp[0], &read);
	for (i = 0; i < MANY; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 8192, 64);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 1);
	}
	rp_run(&rp, 1000000);
	for (i = 0; i < MANY; i++)
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	fw_walk_steps = 0;
	for (i = 0; i < 2 * MANY; i++)
		rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[0]->qpn,
				      ssn + MANY / 2 + i, HW_STATUS_REM_OP_ERR);
	CU_ASSERT(fw_walk_steps <= 4 * MANY);
	rp_expect_none(&rp);
	/* The read is found. */
	rd_outcome_terminated(A->nic, A->qp[0], B->nic->config.ip, B->qp[0]->qpn,
			      A->qp[0]->ssn - MANY, HW_STATUS_REM_OP_ERR);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1000, HW_STATUS_REM_OP_ERR);
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The answer comes at last: the Sends behind the read complete some in a turn, in their order. */
static void an_answer_completes_some_in_a_turn(void)
{
	const struct rp_req read = {
	    .opcode = HW_WQE_READ, .wr_id = 1000, .dst = B->qp[0], .bytes = 64, .offset = 4096};
	uint32_t i, n = 0, turns, since;
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_read_responses;
	rp_req(&rp, 0, A->qp[0], &read);
	for (i = 0; i < MANY; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 8192, 64);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 1);
	}
	rp_run(&rp, 1000000);
	for (i = 0; i < MANY; i++)
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	rp.filter = NULL;
	for (turns = 0; n <= MANY && turns < 10000; turns++) {
		rp.wire.now_ns += 20000;
		(void)rp_poll(&rp, 1);
		(void)rp_poll(&rp, 0);
		for (since = 0; rp_scqe(&rp, 0, &cqe); since++, n++)
			CU_ASSERT_EQUAL(cqe.wr_id, n ? n - 1 : 1000);
		CU_ASSERT(since <= FW_SLICE_DONE + FW_SLICE_UNITS + 1);
	}
	CU_ASSERT_EQUAL(n, MANY + 1);
	rp_end(&rp);
}

/*
 * The second request of a connection cannot be read: the later ones go aside together. Returns the
 * steps: a request takes one when it is fetched and one when it is flushed.
 */
static uint64_t failure(uint32_t requests)
{
	const struct hw_qp_attr attr = {.rnr_retry = 7, .timeout = 14, .retry_cnt = 7};
	struct fw_qp *a, *b;
	uint32_t i, unmapped;
	uint64_t steps;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &a, &b, &attr);
	unmapped = rp_reg(&rp, 0, A->mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	/* All are in their flow before the first is sent. */
	rp_tx_room(&rp, 0);
	for (i = 0; i < requests; i++) {
		const struct rp_req put = {
		    .opcode = HW_WQE_WRITE, .wr_id = i, .bytes = 8, .lkey = i == 1 ? unmapped : 0};

		rp_req(&rp, 0, a, &put);
	}
	rp_run(&rp, 50000);
	A->port.host_fault = true;
	rp_tx_room(&rp, UINT32_MAX);
	fw_walk_steps = 0;
	rp_run(&rp, 2000000);
	steps = fw_walk_steps;
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	for (i = 2; i < requests; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	A->port.host_fault = false;
	rp_end(&rp);
	return steps;
}

static void a_failure_walks_no_messages(void)
{
	uint64_t few = failure(FEW), many = failure(MANY);

	CU_ASSERT(many > few && many <= few + 2 * (MANY - FEW));
}

/* A peer that has errors reported without end, and takes no report. */
static void many_terminates(void)
{
	const struct rdmap_error error = {RDMAP_PROTECTION, WIRE_TERM_PROT_ACCESS};
	struct rdmap_seg pkt;
	uint64_t most = 0;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_terminates;
	pkt = (struct rdmap_seg){
	    .src_ip = A->nic->config.ip, .src_qpn = A->qp[0]->qpn, .dst_qpn = B->qp[0]->qpn};
	for (i = 0; i < 2000; i++) {
		pkt.ssn = 1000 + i;
		fw_walk_steps = 0;
		llp_refuse(B->nic, B->qp[0], &pkt, &error);
		most = fw_walk_steps > most ? fw_walk_steps : most;
	}
	CU_ASSERT(most <= 2 * HW_MAX_RD_ATOMIC);
	CU_ASSERT(RP_CNT(&rp, 1, terminates_tx) >= 100);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_end(&rp);
}

UT_MAIN("pair/rd_walk", UT(refusals_walk_no_messages), UT(the_first_ends_meanwhile),
	UT(a_flush_walks_no_messages), UT(an_answer_completes_some_in_a_turn),
	UT(a_terminate_walks_no_messages), UT(a_failure_walks_no_messages), UT(many_terminates))
