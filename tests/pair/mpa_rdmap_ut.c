/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over MPA, end to end over a stream without TCP: every operation with markers and CRC on and
 * off, cut anywhere; order of completions, the first frame, the end of connections.
 * nic_fw/mpa/mpa_*.c.
 */
#include "tests/pair/mpa_pair.h"

static const struct mpa_params modes[] = {
    {.crc = false},
    {.crc = true},
    {.crc = false, .tx_markers = true, .rx_markers = true},
    {.crc = true, .tx_markers = true, .rx_markers = true},
};
enum {
	MODES = sizeof(modes) / sizeof(modes[0])
};

/* One request of each kind, of so many bytes, and its effect. */
static void all_operations(uint32_t bytes)
{
	static uint64_t old;
	struct hw_cqe cqe;
	uint64_t value;

	rp_fill(MP_MEM(0), bytes, bytes + 1);
	memset(MP_MEM(1) + MP_DST, 0, bytes + 64);
	memset(MP_MEM(1), 0, bytes + 64);
	memset(MP_MEM(0) + MP_SINK, 0, bytes + 64);
	rp_recv(&rp, 1, mp.side[1].qp, 100, 0, bytes);
	rp_recv(&rp, 1, mp.side[1].qp, 101, 0, 0);
	mp_req(0, HW_WQE_SEND, 1, bytes, 0);
	mp_req(0, HW_WQE_WRITE, 2, bytes, 0);
	mp_req(0, HW_WQE_READ, 3, bytes, 0);
	mp_req(0, HW_WQE_WRITE_IMM, 4, bytes, 0x01020304);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 4, HW_STATUS_SUCCESS);
	cqe = rp_expect_recv(&rp, 1, 100, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, bytes);
	cqe = rp_expect_recv(&rp, 1, 101, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_RECV_WRITE_IMM);
	CU_ASSERT_EQUAL(cqe.bytes, bytes);
	CU_ASSERT_EQUAL(cqe.imm_inv, 0x01020304);
	CU_ASSERT_TRUE(rp_filled(MP_MEM(1), bytes, bytes + 1));
	CU_ASSERT_TRUE(rp_filled(MP_MEM(1) + MP_DST, bytes, bytes + 1));
	CU_ASSERT_TRUE(rp_filled(MP_MEM(0) + MP_SINK, bytes, bytes + 1));
	CU_ASSERT_EQUAL(MP_MEM(1)[bytes], 0);
	CU_ASSERT_EQUAL(MP_MEM(1)[MP_DST + bytes], 0);
	old = 1000;
	memcpy(MP_MEM(1) + MP_DST, &old, sizeof(old));
	mp_req(0, HW_WQE_FETCH_ADD, 5, 8, 0);
	mp_run();
	rp_expect_send(&rp, 0, 5, HW_STATUS_SUCCESS);
	memcpy(&value, MP_MEM(0) + MP_SINK, sizeof(value));
	CU_ASSERT_EQUAL(value, 1000);
	old = 5;
	memcpy(MP_MEM(1) + MP_DST, &old, sizeof(old));
	mp_req(0, HW_WQE_CMP_SWAP, 6, 8, 0);
	mp_run();
	rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
	memcpy(&value, MP_MEM(1) + MP_DST, sizeof(value));
	CU_ASSERT_EQUAL(value, 77);
	rp_expect_none(&rp);
}

static void operations(void)
{
	static const uint32_t sizes[] = {0, 1, 2, 3, 4, 494, 1426, 1428, 1430, 1431, 4096, 30001};
	uint32_t m, i;

	for (m = 0; m < MODES; m++) {
		mp_begin(&modes[m]);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			all_operations(sizes[i]);
		mp_end();
	}
}

/* The receiver finds FPDUs however TCP cuts them, and however frames lie in memory. */
static void cut_anywhere(void)
{
	uint32_t m, cut;

	for (m = 0; m < MODES; m++) {
		mp_begin(&modes[m]);
		for (cut = 1; cut < 120; cut++) {
			mp.cut = cut;
			mp.frame = cut % 3 ? 0 : 20 + cut;
			all_operations(100 + cut);
		}
		for (cut = 500; cut < 540; cut += 3) {
			mp.cut = cut;
			mp.frame = 200;
			all_operations(3000);
		}
		mp_end();
	}
}

/* Markers at every place of an FPDU that is possible. */
static void markers_at_every_phase(void)
{
	uint32_t phase, bytes;

	for (bytes = 0; bytes < 40; bytes += 13) {
		mp_begin(&modes[3]);
		for (phase = 0; phase < 128; phase++) {
			rp_fill(MP_MEM(0), 500 + bytes, phase);
			mp_req(0, HW_WQE_WRITE, phase, bytes + phase % 5, 0);
			mp_req(0, HW_WQE_WRITE, phase, 490 + bytes, 0);
			mp_run();
			rp_expect_send(&rp, 0, phase, HW_STATUS_SUCCESS);
			rp_expect_send(&rp, 0, phase, HW_STATUS_SUCCESS);
			CU_ASSERT_TRUE(rp_filled(MP_MEM(1) + MP_DST, 490 + bytes, phase));
		}
		mp_end();
	}
}

/* An FPDU fills a segment of any size, and never exceeds it. */
static void every_mss(void)
{
	uint32_t m, mss;

	for (m = 0; m < MODES; m++) {
		mp_begin(&modes[m]);
		for (mss = 96; mss < 1200; mss += 7) {
			mp.mss = mss;
			all_operations(1500);
		}
		mp.mss = 8948;
		all_operations(60000);
		mp_end();
	}
}

static void both_ways(void)
{
	struct hw_cqe cqe;
	uint32_t i, e, done[2] = {0, 0}, got[2] = {0, 0};

	mp_begin(&modes[1]);
	for (i = 0; i < 20; i++)
		for (e = 0; e < 2; e++) {
			rp_recv(&rp, !e, mp.side[!e].qp, i, 8192, 4000);
			mp_req(e, HW_WQE_READ, i, 3000, 0);
			mp_req(e, HW_WQE_SEND, i, 4000, 0);
		}
	mp_run();
	for (e = 0; e < 2; e++) {
		while (rp_scqe(&rp, e, &cqe)) {
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(cqe.wr_id, done[e]++ / 2);
		}
		while (rp_rcqe(&rp, e, &cqe))
			CU_ASSERT_EQUAL(cqe.wr_id, got[e]++);
		CU_ASSERT_EQUAL(done[e], 40);
		CU_ASSERT_EQUAL(got[e], 20);
	}
	mp_end();
}

/* A request completes when its bytes are acknowledged, and not before. */
static void completion_waits_for_ack(void)
{
	mp_begin(&modes[1]);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	CU_ASSERT_EQUAL(mp.side[0].read, mp.side[0].wrote);
	rp_expect_none(&rp);
	/*
	 * An answer that precedes the acknowledgement of its request does not complete the request
	 * either.
	 */
	mp_req(0, HW_WQE_READ, 2, 100, 0);
	mp_run();
	rp_expect_none(&rp);
	mp.side[0].hold_acks = false;
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	mp_end();
}

static void invalidate_and_solicited(void)
{
	struct hw_cqe cqe;
	struct rp_req req = {.opcode = HW_WQE_SEND_INV, .wr_id = 1, .bytes = 20};
	uint32_t stag;

	mp_begin(&modes[1]);
	stag = rp_reg(&rp, 1, MP_MEM(1), 4096, RP_ALL_ACCESS, true);
	req.imm = stag;
	rp_recv(&rp, 1, mp.side[1].qp, 9, 8192, 100);
	rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_run();
	/* A peer may not invalidate a region made this way: the stream ends. */
	CU_ASSERT_TRUE_FATAL(rp_rcqe(&rp, 1, &cqe));
	if (cqe.status != HW_STATUS_SUCCESS) {
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_INV_REQ_ERR);
		CU_ASSERT_EQUAL(mp.side[1].qp->state, HW_QPS_ERR);
	}
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	while (rp_scqe(&rp, 0, &cqe))
		;
	mp_end();

	mp_begin(&modes[1]);
	req.opcode = HW_WQE_SEND;
	req.flags = HW_WQE_F_SOLICITED;
	rp_recv(&rp, 1, mp.side[1].qp, 9, 8192, 100);
	rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_run();
	cqe = rp_expect_recv(&rp, 1, 9, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(cqe.flags & HW_CQE_F_SOLICITED);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	req.opcode = HW_WQE_WRITE_IMM;
	rp_recv(&rp, 1, mp.side[1].qp, 10, 8192, 100);
	rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_run();
	cqe = rp_expect_recv(&rp, 1, 10, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(cqe.flags & HW_CQE_F_SOLICITED);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	mp_end();
}

static void no_send_with_immediate(void)
{
	mp_begin(&modes[1]);
	rp_recv(&rp, 1, mp.side[1].qp, 9, 8192, 100);
	mp_req(0, HW_WQE_SEND_IMM, 1, 20, 3);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(mp.side[0].qp->state, HW_QPS_ERR);
	CU_ASSERT_TRUE(mp.side[0].closed);
	mp_end();
}

/* Requests posted before the connection exists wait for it. */
static void waits_for_its_connection(void)
{
	struct mp_side *side = &mp.side[0];

	mp_begin(&modes[1]);
	side->qp->mpa = NULL;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	CU_ASSERT_EQUAL(side->made, 0);
	CU_ASSERT_FALSE(fw_list_linked(&side->qp->sched_node));
	side->qp->mpa = side->conn;
	mpa_rdmap_attached(mp_nic(side), side->conn);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	mp_end();
}

/* The first frame consumes no receive and completes nothing; nothing is sent before it arrives. */
static void first_frames(void)
{
	static const uint8_t kinds[] = {WIRE_MPA_RTR_SEND, WIRE_MPA_RTR_WRITE, WIRE_MPA_RTR_READ};
	struct mpa_params param = {.crc = true, .peer_to_peer = true, .enhanced = true};
	uint32_t i, m;

	for (i = 0; i < 3; i++) {
		for (m = 0; m < 2; m++) {
			param.rtr = kinds[i];
			param.tx_markers = param.rx_markers = m;
			mp_begin(&param);
			mp.side[1].conn->state = MPA_RTR_WAIT;
			rp_recv(&rp, 1, mp.side[1].qp, 50, 0, 1000);
			rp_recv(&rp, 0, mp.side[0].qp, 51, 0, 1000);
			mp_req(1, HW_WQE_SEND, 5, 300, 0);
			mp_run();
			CU_ASSERT_EQUAL(mp.side[1].made, 0);
			mpa_tx_rtr(mp_nic(&mp.side[0]), mp.side[0].conn);
			mp_run();
			CU_ASSERT_TRUE(mp.side[1].first);
			CU_ASSERT_FALSE(mp.side[0].conn->rtr_answer);
			rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
			(void)rp_expect_recv(&rp, 0, 51, HW_STATUS_SUCCESS);
			rp_expect_none(&rp);
			mp_req(0, HW_WQE_SEND, 6, 200, 0);
			mp_req(0, HW_WQE_READ, 7, 200, 0);
			mp_run();
			rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
			rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
			(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(mp.side[1].qp->responder_slots, 0);
			mp_end();
		}
	}
}

/*
 * Memory that is deregistered under a request: the request fails, and the peer is notified that the
 * fault is ours.
 */
static void memory_gone(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 3000};
	uint32_t stag;

	mp_begin(&modes[1]);
	stag = rp_reg(&rp, 0, MP_MEM(0), 4096, RP_ALL_ACCESS, true);
	req.lkey = stag;
	req.remote_offset = MP_DST;
	mp.side[0].push = false;
	rp_req(&rp, 0, mp.side[0].qp, &req);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	mp_run();
	rp_expect_send(&rp, 0, 2, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(mp.side[0].conn->state, MPA_TERM_SENT);
	CU_ASSERT_EQUAL(mp.side[1].qp->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_terminates_rx), 1);
	mp_end();
}

/* As in esp_rdmap_ut: memory that a process which ends has not given back yet causes no refusal. */
static void to_a_process_that_leaves(void)
{
	struct fw_qp *to;

	mp_begin(&modes[1]);
	to = mp.side[1].qp;
	mp_nic(&mp.side[1])->host.clients[to->client].closing = true;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(to->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(mp.side[1].conn->state, MPA_FPDU);
	mp_nic(&mp.side[1])->host.clients[to->client].closing = false;
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	mp_end();
}

/* Segments that must be sent again cannot be written again: the connection is reset. */
static void cannot_be_sent_again(void)
{
	uint8_t out[MP_MSS];
	struct hw_cqe cqe;

	mp_begin(&modes[1]);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, mp.side[0].qp, HW_QPS_ERR, 0, NULL), 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_TRUE(mp.side[0].closed);
	CU_ASSERT_FALSE(mp.side[0].aborted);
	CU_ASSERT_TRUE(
	    mp_fill(&mp.side[0], mp.side[0].seg[0].seg, 0, mp.side[0].seg[0].seg->bytes, out) < 0);
	mpa_run(mp_nic(&mp.side[0]));
	CU_ASSERT_TRUE(mp.side[0].aborted);
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	mp_end();
}

/*
 * The port could not read the data of a request: that request fails, and no Terminate can be sent.
 */
static void unreadable(void)
{
	mp_begin(&modes[1]);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_req(0, HW_WQE_WRITE, 2, 100, 0);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(mp_make(&mp.side[0]), 2);
	mpa_tx_unreadable(mp_nic(&mp.side[0]), &mp.side[0].flow, mp.side[0].seg[0].seg);
	mpa_run(mp_nic(&mp.side[0]));
	CU_ASSERT_TRUE(mp.side[0].aborted);
	CU_ASSERT_EQUAL(mp.side[0].conn->state, MPA_FPDU);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	mp_end();
}

/* A time-out of TCP fails the oldest request; a reset flushes. */
static void ends(void)
{
	static const struct {
		enum tcp_end why;
		enum hw_status status;
	} list[] = {
	    {TCP_END_TIMEOUT, HW_STATUS_RETRY_EXC_ERR},
	    {TCP_END_UNREACHABLE, HW_STATUS_RETRY_EXC_ERR},
	    {TCP_END_RESET, HW_STATUS_WR_FLUSH_ERR},
	    {TCP_END_CLOSED, HW_STATUS_WR_FLUSH_ERR},
	};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct mp_side *side = &mp.side[0];
		struct fw_nic *nic;

		mp_begin(&modes[1]);
		nic = mp_nic(side);
		side->hold_acks = true;
		rp_recv(&rp, 0, side->qp, 9, 0, 10);
		mp_req(0, HW_WQE_WRITE, 1, 5000, 0);
		mp_req(0, HW_WQE_READ, 2, 5000, 0);
		mp_run();
		while (side->acked < side->made)
			mpa_tx_acked(nic, &side->flow, side->seg[side->acked++].seg, false);
		side->conn->flow = NULL;
		mpa_rdmap_ended(nic, side->conn, list[i].why);
		CU_ASSERT_EQUAL(side->qp->state, HW_QPS_ERR);
		rp_expect_send(&rp, 0, 1, list[i].status);
		rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
		(void)rp_expect_recv(&rp, 0, 9, HW_STATUS_WR_FLUSH_ERR);
		rp_expect_none(&rp);
		mp_end();
	}
}

UT_MAIN("pair/mpa_rdmap", UT(operations), UT(cut_anywhere), UT(markers_at_every_phase),
	UT(every_mss), UT(both_ways), UT(completion_waits_for_ack), UT(invalidate_and_solicited),
	UT(no_send_with_immediate), UT(waits_for_its_connection), UT(first_frames), UT(memory_gone),
	UT(to_a_process_that_leaves), UT(cannot_be_sent_again), UT(unreadable), UT(ends))
