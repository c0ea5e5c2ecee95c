/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Withdrawal of PSNs: a QP whose packets are all lost, beside one whose packets are not. The window
 * moves on, nothing is carried out twice, a long message continues where it stopped, and the limits
 * of the one QP are kept while the session is busy.
 */
#include "tests/pair/rd_pair.h"

enum {
	OTHER = 7777, /* wr_id of the QP that is not concerned */
	MAX_FIRST = 16,
};

static struct rp rp;
static uint32_t payloads;  /* data packets of the first QPs that passed */
static uint32_t cut_after; /* so many of them, when not 0 */
static bool cut, cut_acks, keep_one;
static struct hw_cqe first_cqes[MAX_FIRST];
static uint32_t num_first;

#define A (&rp.end[0])
#define B (&rp.end[1])

static bool names(const struct rp_info *info, uint32_t qpn)
{
	return be32_get(info->dgram->src_qpn) == qpn || be32_get(info->dgram->dst_qpn) == qpn;
}

/* Frames that name a first QP are dropped while cut; ACKs while cut_acks. */
static enum bench_verdict cutter(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->type == WIRE_DGRAM_RD_ACK)
		return cut_acks ? BENCH_DROP : BENCH_PASS;
	if (info->type != WIRE_DGRAM_RD || info->is_void)
		return BENCH_PASS;
	if (!names(info, A->qp[0]->qpn) && !names(info, B->qp[0]->qpn))
		return BENCH_PASS;
	if (keep_one) {
		keep_one = false;
		return BENCH_KEEP;
	}
	if (cut)
		return BENCH_DROP;
	cut = ++payloads == cut_after;
	return BENCH_PASS;
}

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = cutter;
	payloads = cut_after = num_first = 0;
	cut = cut_acks = keep_one = false;
}

/* Takes completions of the other QP's Writes; keeps those of the first one in order. */
static uint32_t reap(void)
{
	uint32_t done = 0;
	struct hw_cqe cqe;

	while (rp_scqe(&rp, 0, &cqe)) {
		if (cqe.wr_id == OTHER) {
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
			done++;
		} else {
			CU_ASSERT_FATAL(num_first < MAX_FIRST);
			first_cqes[num_first++] = cqe;
		}
	}
	return done;
}

/* Asserts that the first QP completed exactly n requests, 0 to n - 1. */
static void expect_first(uint32_t n, enum hw_status status)
{
	uint32_t i;

	reap();
	CU_ASSERT_EQUAL_FATAL(num_first, n);
	for (i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(first_cqes[i].wr_id, i);
		CU_ASSERT_EQUAL(first_cqes[i].status, status);
	}
}

/* Posts Writes of the other QP for a time; each completes within the delay of an ACK. */
static void others_for(uint64_t ns)
{
	uint64_t end_ns = rp.wire.now_ns + ns;
	struct rp_req req = {.opcode = HW_WQE_WRITE,
			     .wr_id = OTHER,
			     .bytes = 8,
			     .dst = B->qp[1],
			     .remote_offset = 4096};

	while (rp.wire.now_ns < end_ns) {
		rp_req(&rp, 0, A->qp[1], &req);
		rp_run(&rp, RD_ACK_DELAY_NS);
		CU_ASSERT_EQUAL(reap(), 1);
	}
}

/* 20 segments of a Send, cut off after some: only the rest is sent again, once. */
static void long_message(void)
{
	enum {
		SEGMENTS = 20
	};
	uint32_t bytes = SEGMENTS * 1392, round;

	for (round = 0; round < 4; round++) {
		begin();
		rp_fill(A->mem, bytes, round);
		rp_recv(&rp, 1, B->qp[0], 1, 500000, bytes);
		cut_after = round * 4;
		cut = !round;
		rp_send(&rp, 0, A->qp[0], B->qp[0], 0, 0, bytes);
		others_for(5000000);
		CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_voids) > 0);
		CU_ASSERT_TRUE(rp_session(&rp, 0)->tx_psn - rp_session(&rp, 0)->tx_una < 100);
		cut = false;
		others_for(20000000);
		expect_first(1, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(B->mem + 500000, bytes, round));
		/* Segments that were delivered before the cut were not sent again. */
		CU_ASSERT_EQUAL(payloads, SEGMENTS);
		rp_end(&rp);
	}
}

/* Carried out, but the ACKs are lost until the requests are withdrawn: still only once. */
static void executed_once(void)
{
	struct rp_req add = {.opcode = HW_WQE_FETCH_ADD, .bytes = 8, .compare_add = 1};
	struct rp_req read = {.opcode = HW_WQE_READ, .bytes = 8, .offset = 64};
	uint64_t value;
	uint32_t i;

	begin();
	add.dst = read.dst = B->qp[0];
	cut_acks = true;
	/* The last two are never carried out before, so that the window has a hole. */
	for (i = 0; i < 5; i++) {
		if (i == 4) {
			rp_poll(&rp, 0);
			cut = true; /* also the responses and all further copies */
		}
		add.wr_id = 2 * i;
		rp_req(&rp, 0, A->qp[0], &add);
		read.wr_id = 2 * i + 1;
		rp_req(&rp, 0, A->qp[0], &read);
	}
	rp_run(&rp, 10000000);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_voids) > 0);
	cut_acks = false;
	rp_run(&rp, 50000000);
	others_for(3000000);
	cut = false;
	rp_run(&rp, 1000000000);
	expect_first(10, HW_STATUS_SUCCESS);
	memcpy(&value, B->mem, 8);
	CU_ASSERT_EQUAL(value, 5);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 5);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, reads_executed), 5);
	rp_end(&rp);
}

/* A copy of the payload that arrives after the void, and after the message under its new PSN. */
static void late_copy(void)
{
	struct rp_req add = {.opcode = HW_WQE_FETCH_ADD, .bytes = 8, .compare_add = 1};
	uint64_t value;

	begin();
	add.dst = B->qp[0];
	keep_one = true;
	rp_req(&rp, 0, A->qp[0], &add);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(rp.wire.num_kept, 1);
	cut = true;
	others_for(2000000);
	bench_wire_deliver(&rp.wire, 0);
	others_for(1000000);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 0);
	cut = false;
	others_for(20000000);
	bench_wire_deliver(&rp.wire, 0);
	rp_quiet(&rp);
	expect_first(1, HW_STATUS_SUCCESS);
	memcpy(&value, B->mem, 8);
	CU_ASSERT_EQUAL(value, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	rp_end(&rp);
}

/* No time-out expires on a busy session: the limit of the QP is kept nevertheless. */
static void limit_on_a_busy_session(void)
{
	struct hw_qp_attr attr = {.timeout = 9, .retry_cnt = 4}; /* 2.1 ms, five times */
	uint64_t limit_ns = (UINT64_C(4096) << 9) * 5, began;
	uint32_t i;

	begin();
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	cut = true;
	began = rp.wire.now_ns;
	for (i = 0; i < 3; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 3000);
	while (num_first < 3) {
		others_for(RD_ACK_DELAY_NS);
		CU_ASSERT_TRUE(!num_first || rp.wire.now_ns - began > limit_ns);
		CU_ASSERT_FATAL(rp.wire.now_ns - began < 3 * limit_ns);
	}
	expect_first(3, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_sessions_failed), 0);
	cut = false;
	others_for(1000000);
	rp_end(&rp);
}

/* Three packets of a flow are lost and the window fills: the PSNs are withdrawn at once. */
static void window_moves_on(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = OTHER, .bytes = 8};
	uint32_t i, first, done = 0;
	struct rd_session *s;

	begin();
	req.dst = B->qp[1];
	s = rp_session(&rp, 0);
	first = s->tx_psn;
	cut = true;
	for (i = 0; i < 3; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 8);
	for (i = 1; i <= 3000; i++) {
		rp_req(&rp, 0, A->qp[1], &req);
		rp_run(&rp, 1000);
		done += reap();
		/* Never behind by more than one delayed ACK. */
		CU_ASSERT_TRUE(i - done < 25);
	}
	CU_ASSERT_TRUE(s->tx_una - first > 2900);
	rp_run(&rp, RD_ACK_DELAY_NS);
	CU_ASSERT_EQUAL(done + reap(), 3000);
	cut = false;
	for (i = 0; i < 3; i++)
		rp_recv(&rp, 1, B->qp[0], i, 0, 8);
	others_for(30000000);
	expect_first(3, HW_STATUS_SUCCESS);
	for (i = 0; i < 3; i++)
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static bool cut_first_cancel;

/* Cancellations of request 1 are lost; the void that replaces one is not. */
static enum bench_verdict cancel_cutter(struct rp *r, const struct rp_info *info)
{
	uint32_t at = UDP_TX_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(struct wire_rd);
	struct wire_rd_cancel cancel;

	(void)r;
	if (!cut_first_cancel || info->type != WIRE_DGRAM_RD || !info->is_void ||
	    info->frame->n != at + sizeof(cancel) + WIRE_DGRAM_CRC_BYTES)
		return BENCH_PASS;
	memcpy(&cancel, info->frame->b + at, sizeof(cancel));
	return be32_get(cancel.first_ssn) == 1 ? BENCH_DROP : BENCH_PASS;
}

static void cancel(uint32_t ssn)
{
	const struct fw_wqe msg = {.kind = FW_WQE_REQUEST,
				   .opcode = HW_WQE_SEND,
				   .begun_ns = 1,
				   .dst_ip = rp_session(&rp, 0)->peer_ip,
				   .dst_qpn = B->qp[0]->qpn,
				   .src_qpn = A->qp[0]->qpn,
				   .ssn = ssn};

	rd_cancel_msg(A->nic, &msg);
}

/*
 * A cancellation is accepted in any order of arrival. One after a withdrawn one is no sign that the
 * flow gets through, and a third one, queued meanwhile, follows when it does.
 */
static void cancels_out_of_order(void)
{
	begin();
	rp.filter = cancel_cutter;
	cut_first_cancel = true;
	cancel(1);
	cancel(2);
	while (!RP_CNT(&rp, 0, rd_tx_voids))
		others_for(RD_ACK_DELAY_NS);
	cancel(3);
	cut_first_cancel = false;
	others_for(20000000);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_cancels_rx), 3);
	rp_end(&rp);
}

UT_MAIN("pair/rd_withdraw", UT(cancels_out_of_order), UT(long_message), UT(executed_once),
	UT(late_copy), UT(limit_on_a_busy_session), UT(window_moves_on))
