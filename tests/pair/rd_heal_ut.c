/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions whose ends disagree: a sender that gave up, died or is forged leaves nothing held at its
 * peer, and a session whose PSNs a forger has used up is renewed. rd_timer.c (watch), rd_ack.c
 * (disbelieve), rd_rx.c (is_astray), rd_session.c (renew).
 */
#include "tests/pair/rd_pair.h"

enum {
	SECONDS = 1000000000,
	DST = 512 * 1024,
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void write_to_b(uint64_t wr_id, uint32_t bytes)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE,
			     .dst = B->qp[0],
			     .wr_id = wr_id,
			     .bytes = bytes,
			     .remote_offset = DST};

	rp_req(&rp, 0, A->qp[0], &req);
}

/* The first data packet of A is lost, the others pass. */
static enum bench_verdict drop_first(struct rp *r, const struct rp_info *info)
{
	if (info->from || info->type != WIRE_DGRAM_RD || r->ctx)
		return BENCH_PASS;
	r->ctx = r;
	return BENCH_DROP;
}

static enum bench_verdict drop_requests(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return !info->from && info->type == WIRE_DGRAM_RD ? BENCH_DROP : BENCH_PASS;
}

/* B holds two packets of a message whose first one is lost. */
static void begin_with_held(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.ctx = NULL;
	rp.filter = drop_first;
	write_to_b(1, 3000);
	rp_settle(&rp);
	CU_ASSERT_TRUE_FATAL(rp_session(&rp, 1)->held_count > 0);
	rp.filter = drop_requests;
}

/*
 * The sender gave up its session without a packet: B asks, receives that answer, and gives back
 * what it holds.
 */
static void sender_gave_up(void)
{
	begin_with_held();
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_run(&rp, SECONDS / 10);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, rd_tx_probes) > 0);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(B->nic->rd.rx_windows.used, 0);
	rp.filter = NULL;
	write_to_b(2, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The sender died: B waits for long, then gives back what it holds. */
static void sender_died(void)
{
	begin_with_held();
	A->port.dead = true;
	rp_run(&rp, UINT64_C(20) * SECONDS);
	CU_ASSERT_TRUE(B->nic->rd.held.used > 0);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, rd_tx_probes) < 100);
	rp_run(&rp, UINT64_C(15) * SECONDS);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(B->nic->rd.rx_windows.used, 0);
	A->port.dead = false;
	rp.filter = NULL;
	rp_run(&rp, UINT64_C(2) * SECONDS);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_end(&rp);
}

/* All but the first data packet of A is lost. */
static enum bench_verdict drop_rest(struct rp *r, const struct rp_info *info)
{
	if (info->from || info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	if (r->ctx)
		return BENCH_DROP;
	r->ctx = r;
	return BENCH_PASS;
}

/* Half a Send, nothing held: its receive comes back as well. */
static void half_a_send(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_recv(&rp, 1, B->qp[0], 7, 0, 4000);
	rp.ctx = NULL;
	rp.filter = drop_rest;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 4000);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 1);
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	rp_run(&rp, SECONDS / 10);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_recv(&rp, 1, 7, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 0);
	rp.filter = NULL;
	rp_end(&rp);
}

static enum bench_verdict keep_one(struct rp *r, const struct rp_info *info)
{
	return !info->from && info->type == WIRE_DGRAM_RD && !r->wire.num_kept ? BENCH_COPY
									       : BENCH_PASS;
}

/*
 * Copies of a packet of A with n PSNs from a given distance beyond its next one, otherwise correct.
 */
static void forge(uint32_t beyond, uint32_t n, uint16_t distance)
{
	uint32_t psn;

	rp.filter = keep_one;
	write_to_b(0, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp.filter = NULL;
	for (psn = rp_session(&rp, 0)->tx_psn + beyond; n--; psn++) {
		struct rp_info info = rp_info_of(&rp.wire.kept[0], 0);

		info.rd->psn = be32_put(psn);
		info.rd->flow_distance = be16_put(distance);
		rp_reseal(info.frame);
		bench_wire_deliver(&rp.wire, 0);
		rp_poll(&rp, 1);
	}
	bench_wire_forget(&rp.wire);
	rp_settle(&rp);
}

/*
 * PSNs that A has not used yet are used up: A's own packets are duplicates, and no ACK is for them.
 */
static void psns_used_up(void)
{
	struct hw_cqe cqe;
	uint32_t i, ok = 0;

	rp_begin(&rp);
	rp_open(&rp);
	forge(0, 100, 0);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, rp_session(&rp, 0)->tx_psn + 100);
	/* Requests are posted all the time: at each moment one waits. */
	for (i = 0; i < 200; i++) {
		write_to_b(i, 8);
		rp_run(&rp, SECONDS / 1000);
		while (rp_scqe(&rp, 0, &cqe)) {
			if (cqe.status == HW_STATUS_SUCCESS)
				ok++;
			else
				CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_ABORT_ERR);
		}
	}
	CU_ASSERT_TRUE(ok > 100);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_sessions_failed) > 0);
	rp_end(&rp);
}

/* Forged PSNs after a hole that is never filled: B detects them when A sends its own position. */
static void forged_behind_a_hole(void)
{
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	forge(20, 1, 10);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 1);
	rp_run(&rp, UINT64_C(4) * SECONDS);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(B->nic->rd.rx_windows.used, 0);
	/* The first request in the old session may complete with the end of the session. */
	write_to_b(3, 8);
	rp_run(&rp, SECONDS);
	CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
	write_to_b(4, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 4, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Times that B echoes prove nothing: A cannot tell its ACKs from old ones. */
static enum bench_verdict without_echo(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from && info->rd) {
		info->rd->timestamp_echo = be32_put(0);
		rp_reseal(info->frame);
	}
	return BENCH_PASS;
}

/* A forged ACK acknowledged a packet that B misses: A answers B's probes, and never sends it. */
static void acked_by_a_forger(void)
{
	struct wire_rd rd = {.ack = be32_put(0)};
	struct wire_rd_ack map;

	begin_with_held();
	memset(&map, 0, sizeof(map));
	rd.ack = be32_put(rp_session(&rp, 0)->tx_psn);
	fw_now(A->nic, rp.wire.now_ns);
	rd_ack_rx(A->nic, rp_session(&rp, 0), &rd, &map, false);
	rp.filter = without_echo;
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_run(&rp, UINT64_C(20) * SECONDS);
	CU_ASSERT_TRUE(B->nic->rd.held.used > 0);
	rp_run(&rp, UINT64_C(15) * SECONDS);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	CU_ASSERT_EQUAL(B->nic->rd.rx_windows.used, 0);
	rp.filter = NULL;
	write_to_b(2, 8);
	rp_run(&rp, SECONDS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static enum bench_verdict keep_first_ack_of_a(struct rp *r, const struct rp_info *info)
{
	return !info->from && info->type == WIRE_DGRAM_RD_ACK && !r->wire.num_kept ? BENCH_KEEP
										   : BENCH_PASS;
}

/*
 * An ACK of A that the path delays waits at B while B's core is stopped for 2 s. Its position is
 * old, and that proves nothing.
 */
static void late_behind_a_stop(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = keep_first_ack_of_a;
	req.dst = A->qp[0];
	rp_req(&rp, 1, B->qp[0], &req);
	rp_run(&rp, 100000);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	write_to_b(2, 8);
	rp_run(&rp, 1000000);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_poll(&rp, 1);
	rp.wire.now_ns += UINT64_C(2) * SECONDS;
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_sessions_failed), 0);
	bench_wire_forget(&rp.wire);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The first data packets of B, its Terminates, are lost; ACKs pass. */
static enum bench_verdict drop_terminates(struct rp *r, const struct rp_info *info)
{
	uint32_t *left = r->ctx;

	if (!info->from || info->type != WIRE_DGRAM_RD || !*left)
		return BENCH_PASS;
	(*left)--;
	return BENCH_DROP;
}

/* A writes to a QP that B does not have; B's answers to it are lost, *left of them. */
static void ask_nobody(uint32_t *left)
{
	struct fw_qp nobody = *B->qp[0];
	struct rp_req req = {
	    .opcode = HW_WQE_WRITE, .dst = &nobody, .wr_id = 1, .bytes = 8, .remote_offset = DST};

	nobody.qpn |= 0xfff0;
	rp.ctx = left;
	rp.filter = drop_terminates;
	rp_req(&rp, 0, A->qp[0], &req);
}

/*
 * A sends to a QP that B does not have, and B's answer is lost repeatedly. Nothing at B waits for
 * it, but A does, and is received: the session stays, and the request ends with B's answer.
 */
static void answer_lost_often(void)
{
	uint32_t left = RD_GIVE_UP_BACKOFF + 4;

	rp_begin(&rp);
	rp_open(&rp);
	ask_nobody(&left);
	rp_run(&rp, UINT64_C(2) * SECONDS);
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_sessions_failed), 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	rp_end(&rp);
}

/*
 * The peer is gone: B gives up the session with the response that it held for the peer. A peer that
 * was only away receives the result of its request: for some seconds, as it is.
 */
static void answer_to_nobody(void)
{
	uint32_t left = UINT32_MAX, longer;

	for (longer = 0; longer < 2; longer++) {
		rp_begin(&rp);
		rp_open(&rp);
		ask_nobody(&left);
		rp_settle(&rp);
		A->port.dead = true;
		rp_run(&rp, (longer ? UINT64_C(33) : UINT64_C(9)) * SECONDS);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_sessions_failed), longer);
		CU_ASSERT_EQUAL(B->nic->rdmap.terminates, !longer);
		A->port.dead = false;
		rp.filter = NULL;
		rp_run(&rp, UINT64_C(2) * SECONDS);
		rp_expect_send(&rp, 0, 1, longer ? HW_STATUS_REM_ABORT_ERR : HW_STATUS_REM_OP_ERR);
		rp_end(&rp);
	}
}

/*
 * The request continues under another QP's number: B answers to that one, and A takes the request
 * for acknowledged.
 */
static enum bench_verdict steal(struct rp *r, const struct rp_info *info)
{
	if (info->from || info->type != WIRE_DGRAM_RD || info->opcode != WIRE_RDMAP_ATOMIC_REQUEST)
		return BENCH_PASS;
	info->dgram->src_qpn = be32_put(A->qp[1]->qpn);
	rp_reseal(info->frame);
	r->ctx = r;
	return BENCH_PASS;
}

static void add_to_b(uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_FETCH_ADD,
			     .dst = B->qp[0],
			     .wr_id = wr_id,
			     .bytes = 8,
			     .compare_add = 1,
			     .remote_offset = DST};

	rp_req(&rp, 0, A->qp[0], &req);
}

/* Its answer never arrives, though the peer is there: it fails in the end, with those after it. */
static void request_stolen(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.ctx = NULL;
	rp.filter = steal;
	add_to_b(1);
	rp_settle(&rp);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rp.ctx);
	rp.filter = NULL;
	add_to_b(2);
	write_to_b(3, 8);
	rp_run(&rp, UINT64_C(29) * SECONDS);
	rp_expect_none(&rp);
	rp_run(&rp, UINT64_C(4) * SECONDS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(A->qp[0]->rd_atomics, 0);
	add_to_b(4);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 4, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * No result is known while the peer is silent: a request without a limit waits. After RD_STALE_NS
 * the peer no longer keeps its answer and reports that when it is received again.
 */
static void peer_silent_for_long(void)
{
	struct hw_qp_attr attr = {0};
	uint32_t longer;

	for (longer = 0; longer < 2; longer++) {
		rp_begin(&rp);
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT, &attr), 0);
		rp_open(&rp);
		add_to_b(1);
		rp_poll(&rp, 0);
		rp.filter = rp_drop_all_of_1;
		rp_run(&rp, (longer ? UINT64_C(60) : UINT64_C(25)) * SECONDS);
		rp_expect_none(&rp);
		rp.filter = NULL;
		rp_run(&rp, UINT64_C(3) * SECONDS);
		rp_expect_send(&rp, 0, 1, longer ? HW_STATUS_REM_ABORT_ERR : HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
		rp_end(&rp);
	}
}

UT_MAIN("pair/rd_heal", UT(request_stolen), UT(peer_silent_for_long), UT(sender_gave_up),
	UT(sender_died), UT(half_a_send), UT(psns_used_up), UT(forged_behind_a_hole),
	UT(acked_by_a_forger), UT(late_behind_a_stop), UT(answer_lost_often), UT(answer_to_nobody))
