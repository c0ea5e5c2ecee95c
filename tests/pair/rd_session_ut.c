/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: opening with losses, absent peers, epochs (restart, old and forged HELLOs, resets),
 * idle sessions. rd_hello_ut.c has trust in HELLOs, and full tables.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

enum {
	MAX_TIMES = 32,
};

static struct rp rp;
static uint64_t times[MAX_TIMES];
static uint32_t num_times;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void write_one(uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = 8};

	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
}

static void add_one(uint64_t wr_id)
{
	struct rp_req req = {
	    .opcode = HW_WQE_FETCH_ADD, .wr_id = wr_id, .bytes = 8, .compare_add = 1};

	req.dst = B->qp[0];
	req.remote_offset = 64;
	rp_req(&rp, 0, A->qp[0], &req);
}

/* B writes to A. */
static void write_back(uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .dst = A->qp[0]};

	rp_req(&rp, 1, B->qp[0], &req);
}

static enum bench_verdict note_hellos(struct rp *r, const struct rp_info *info)
{
	if (info->type != WIRE_DGRAM_RD_HELLO)
		return BENCH_PASS;
	if (info->from == 0 && num_times < MAX_TIMES)
		times[num_times++] = r->wire.now_ns;
	return BENCH_DROP;
}

static void no_limit(void)
{
	struct hw_qp_attr attr = {0};

	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT, &attr), 0);
}

/* No answer: HELLO is sent at 0, 2, 6, 14 ... ms, later once a second; then all requests fail. */
static void hello_times(void)
{
	static const uint32_t gaps_ms[] = {2, 4, 8, 16, 32, 64, 128, 256, 512};
	const uint32_t num_gaps = sizeof(gaps_ms) / sizeof(gaps_ms[0]);
	struct hw_cqe cqe;
	uint32_t i;

	rp_begin(&rp);
	no_limit();
	rp_settle(&rp);
	num_times = 0;
	rp.filter = note_hellos;
	write_one(1);
	write_one(2);
	rp_run(&rp, 15000000000);
	CU_ASSERT_EQUAL(num_times, RD_HELLO_TRIES);
	for (i = 0; i + 1 < num_times; i++)
		CU_ASSERT_EQUAL(times[i + 1] - times[i],
				(i < num_gaps ? gaps_ms[i] : 1000) * UINT64_C(1000000));
	/* A link may be down for its default time without a failed request. */
	CU_ASSERT_TRUE(times[num_times - 1] - times[0] >= 10000000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	rp.filter = NULL;
	write_one(3);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The QP's own limit applies before the session is open, and to that QP only. */
static void limit_while_opening(void)
{
	struct hw_qp_attr attr = {.timeout = 10, .retry_cnt = 3}; /* 16.8 ms */
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 2};

	rp_begin(&rp);
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	num_times = MAX_TIMES;
	rp.filter = note_hellos;
	write_one(1);
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[1], &req);
	rp_run(&rp, 16000000);
	rp_expect_none(&rp);
	rp_run(&rp, 30000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Any one of the frames that open a session is lost or doubled: the session opens nevertheless. */
static uint32_t lose;

static enum bench_verdict lose_one(struct rp *r, const struct rp_info *info)
{
	(void)info;
	return r->wire.frames == lose ? BENCH_DROP : BENCH_PASS;
}

static enum bench_verdict double_one(struct rp *r, const struct rp_info *info)
{
	(void)info;
	return r->wire.frames == lose ? BENCH_TWICE : BENCH_PASS;
}

static void any_frame_lost(void)
{
	uint32_t twice;

	for (twice = 0; twice < 2; twice++)
		for (lose = 0; lose < 12; lose++) {
			rp_begin(&rp);
			rp.filter = twice ? double_one : lose_one;
			add_one(1);
			rp_run(&rp, 1500000000);
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
			rp_end(&rp);
		}
}

/* Both ends begin at once. */
static void both_at_once(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 2};

	rp_begin(&rp);
	write_one(1);
	req.dst = A->qp[0];
	rp_req(&rp, 1, B->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->epoch, rp_session(&rp, 1)->peer_epoch);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->epoch, rp_session(&rp, 0)->peer_epoch);
	rp_end(&rp);
}

/* No host has the address: ARP fails, every request fails, later ones at once. */
static void unreachable(void)
{
	struct fw_qp nowhere = {.qpn = 2u << 19 | 5};
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8, .dst = &nowhere};
	struct hw_cqe cqe;
	uint32_t i;

	rp_begin(&rp);
	no_limit();
	for (i = 0; i < 2; i++) {
		req.wr_id = 2 * i;
		rp_req(&rp, 0, A->qp[0], &req);
		req.opcode = HW_WQE_READ;
		req.wr_id++;
		rp_req(&rp, 0, A->qp[0], &req);
		rp_run(&rp, i ? 1000 : 1100000000);
		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, 2 * i);
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
		CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_UNREACHABLE);
		rp_expect_send(&rp, 0, 2 * i + 1, HW_STATUS_RETRY_EXC_ERR);
		CU_ASSERT_EQUAL(A->qp[0]->rd_atomics, 0);
	}
	rp_end(&rp);
}

/* The peer restarts with requests open: they fail and are not repeated; new ones succeed. */
static void restart(void)
{
	uint32_t old_epoch, i;

	rp_begin(&rp);
	rp_open(&rp);
	old_epoch = rp_session(&rp, 0)->peer_epoch;
	rp.filter = rp_drop_data;
	for (i = 0; i < 5; i++)
		add_one(i);
	rp_settle(&rp);
	rp.filter = NULL;
	rp_restart(&rp, 1);
	rp_quiet(&rp);
	for (i = 0; i < 5; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_ABORT_ERR);
		CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_PEER_RESTART);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_peer_restarts), 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 0);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	add_one(9);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 9, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	CU_ASSERT_NOT_EQUAL(rp_session(&rp, 0)->peer_epoch, old_epoch);
	rp_end(&rp);
}

/* The peer restarts and sends first: its offer is accepted when it uses it. */
static void restart_that_speaks_first(void)
{
	uint32_t epoch;

	rp_begin(&rp);
	rp_open(&rp);
	rp_recv(&rp, 0, A->qp[0], 7, 0, 4000);
	/* Half a message of the old peer has taken a receive. */
	rp_send(&rp, 1, B->qp[0], A->qp[0], 1, 0, 3000);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL_FATAL(A->port.inbox_count, 3);
	bench_port_drop(&A->port, 2);
	rp_poll(&rp, 0);
	rp.filter = rp_drop_data;
	write_one(1);
	rp_settle(&rp);
	rp.filter = NULL;
	epoch = rp_session(&rp, 0)->epoch;
	rp_restart(&rp, 1);
	write_back(5);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ABORT_ERR);
	rp_expect_recv(&rp, 0, 7, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_NOT_EQUAL(rp_session(&rp, 0)->epoch, epoch);
	write_one(2);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Old HELLOs arrive again during traffic: nothing changes. */
static void stale_hellos(void)
{
	uint32_t epoch[2], i;

	rp_begin(&rp);
	rp.filter = rp_copy_hellos;
	rp_open(&rp);
	rp.filter = NULL;
	CU_ASSERT_TRUE(rp.wire.num_kept >= 2);
	epoch[0] = rp_session(&rp, 0)->epoch;
	epoch[1] = rp_session(&rp, 1)->epoch;
	for (i = 0; i < 20; i++) {
		add_one(i);
		if (i % 2)
			rp_poll(&rp, 0);
		bench_wire_deliver(&rp.wire, i % rp.wire.num_kept);
		rp_settle(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 20);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->epoch, epoch[0]);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->epoch, epoch[1]);
	/* After the restart of the peer, old HELLOs make offers that are never accepted. */
	rp_restart(&rp, 1);
	add_one(30);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 30, HW_STATUS_REM_ABORT_ERR);
	add_one(31);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 31, HW_STATUS_SUCCESS);
	epoch[0] = rp_session(&rp, 0)->epoch;
	for (i = 0; i < rp.wire.num_kept; i++)
		bench_wire_deliver(&rp.wire, i);
	rp_settle(&rp);
	add_one(32);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 32, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->epoch, epoch[0]);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 2);
	rp_end(&rp);
}

/* A forged HELLO of the other end; k: the kept frame that it is made of. */
static void forge(uint32_t k, uint32_t epoch, uint32_t peer_epoch, uint8_t flags)
{
	struct rp_info info = rp_info_of(&rp.wire.kept[k], !rp.wire.kept[k].to);

	info.hello->epoch = be32_put(epoch);
	info.hello->peer_epoch = be32_put(peer_epoch);
	info.hello->flags = flags;
	rp_reseal(info.frame);
	bench_wire_deliver(&rp.wire, k);
	rp_settle(&rp);
}

static uint32_t kept_to(uint32_t to)
{
	uint32_t k;

	for (k = 0; k < rp.wire.num_kept; k++)
		if (rp.wire.kept[k].to == to)
			return k;
	CU_FAIL_FATAL("no HELLO to that end");
	return 0;
}

static void forged_hellos(void)
{
	struct rd_session *s;
	uint32_t epoch, psn, i;

	rp_begin(&rp);
	rp.filter = rp_copy_hellos;
	rp_open(&rp);
	rp.filter = NULL;
	s = rp_session(&rp, 0);
	epoch = s->epoch;
	psn = s->rx_psn;
	for (i = 1; i < 20; i++) {
		forge(kept_to(0), 1000 + i, 0, 0);
		forge(kept_to(0), 1000 + i, s->epoch, WIRE_RD_HELLO_REPLY);
		/* Resets with epochs that are not the peer's. */
		forge(kept_to(0), 0, s->peer_epoch + i, 0);
		forge(kept_to(1), 2000 + i, 0, 0);
		add_one(i);
		rp_settle(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(s->epoch, epoch);
	CU_ASSERT_EQUAL(s->rx_psn, psn + 19);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_peer_restarts), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_peer_restarts), 0);
	/* Invalid MTUs and flags. */
	{
		uint64_t dropped = RP_CNT(&rp, 0, drop_rd_malformed);
		struct rp_info info = rp_info_of(&rp.wire.kept[kept_to(0)], 1);

		info.hello->mtu = be16_put(HW_MIN_MTU - 1);
		forge(kept_to(0), 5000, 0, 0);
		info.hello->mtu = be16_put(1500);
		forge(kept_to(0), 5000, 0, 2);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_rd_malformed), dropped + 2);
	}
	rp_end(&rp);
}

/* After half a minute of silence data follows a new greeting, unless an answer is awaited. */
static void stale_session(void)
{
	struct rd_session *s;
	uint32_t epoch;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	epoch = s->epoch;
	rp_run(&rp, RD_STALE_NS - 100000000);
	add_one(1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(s->epoch, epoch);
	rp_run(&rp, RD_STALE_NS + 1);
	add_one(2);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_NOT_EQUAL(s->epoch, epoch);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 2);
	rp_end(&rp);
}

/*
 * The peer dropped the session, this end thinks it recent: a reset, and an error for open requests.
 */
static void peer_forgot(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_restart(&rp, 1);
	add_one(1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, drop_rd_no_session) >= 1); /* until its MAC is known */
	add_one(2);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static enum bench_verdict drop_replies(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->type == WIRE_DGRAM_RD_HELLO && info->hello->flags & WIRE_RD_HELLO_REPLY
		   ? BENCH_DROP
		   : BENCH_PASS;
}

static enum bench_verdict only_hellos_of_0(struct rp *r, const struct rp_info *info)
{
	bool rd = info->type == WIRE_DGRAM_RD || info->type == WIRE_DGRAM_RD_ACK ||
		  info->type == WIRE_DGRAM_RD_PROBE;

	(void)r;
	return !info->from && rd ? BENCH_DROP : BENCH_PASS;
}

/*
 * The reply to the peer's HELLO was lost, and the peer begins anew with another epoch. Its first
 * data are lost, so it resets the first session before it uses the second: the second one stays.
 */
static void reset_of_the_first(void)
{
	rp_begin(&rp);
	rp.filter = drop_replies;
	write_one(1);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp_session(&rp, 1)->state, RD_OPEN);
	CU_ASSERT_FALSE(rp_session(&rp, 1)->confirmed);
	rp_restart(&rp, 0);
	rp.filter = only_hellos_of_0;
	/* The first session asks whether it is still there. */
	write_back(5);
	add_one(2);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp_session(&rp, 0)->state, RD_OPEN);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->pend);
	rp_run(&rp, 3000000);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, rd_peer_restarts) >= 1);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_peer_restarts), 0);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* B's session is old, and A, which began anew, was offered another; its data were lost. */
static void offer_beside_an_old_session(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_run(&rp, RD_STALE_NS + 1);
	rp_restart(&rp, 0);
	rp.filter = only_hellos_of_0;
	add_one(2);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp_session(&rp, 0)->state, RD_OPEN);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->pend);
}

/* The same where this end begins anew, because it has not heard of the peer for long. */
static void start_beside_an_offer(void)
{
	offer_beside_an_old_session();
	write_back(5);
	rp_settle(&rp);
	CU_ASSERT_FALSE(rp_session(&rp, 1)->pend);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	rp_end(&rp);
}

/* An offer that is as old as a stale session is not used: a HELLO goes first. */
static void start_beside_an_old_offer(void)
{
	struct hw_cqe cqe;

	offer_beside_an_old_session();
	rp_session(&rp, 1)->pend_ns -= RD_STALE_NS + 1;
	write_back(5);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->state, RD_HELLO_SENT);
	CU_ASSERT_FALSE(rp_session(&rp, 1)->pend);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	/* The request by the old offer has ended, in whatever way. */
	CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
	rp_end(&rp);
}

/*
 * The peer restarts while the session is idle. The next request, of a QP that was used before and
 * of a new one, opens a new session and succeeds. Only requests sent before the restart fail.
 */
static void idle_restart(void)
{
	struct rp_req req = {.opcode = HW_WQE_FETCH_ADD, .wr_id = 3, .bytes = 8, .compare_add = 1};
	uint64_t value;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < 3; i++) {
		rp_run(&rp, 1000000);
		rp_restart(&rp, 1);
		memset(B->mem, 0, 8);
		rp_run(&rp, i == 1 ? UINT64_C(20000000000) : 5000000);
		add_one(1);
		req.dst = B->qp[1];
		rp_req(&rp, 0, A->qp[1], &req);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
		memcpy(&value, B->mem, 8);
		CU_ASSERT_EQUAL(value, 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 2);
	}
	/* One QP had a request under way, the other begins after the restart. */
	rp.filter = rp_drop_data;
	add_one(7);
	rp_settle(&rp);
	rp_run(&rp, 100000);
	rp_restart(&rp, 1);
	memset(B->mem, 0, 8);
	rp_run(&rp, 100000);
	req.dst = B->qp[1];
	rp_req(&rp, 0, A->qp[1], &req);
	rp_settle(&rp);
	rp.filter = NULL;
	rp_run(&rp, 200000000);
	rp_expect_send(&rp, 0, 7, HW_STATUS_REM_ABORT_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	memcpy(&value, B->mem, 8);
	CU_ASSERT_EQUAL(value, 1);
	rp_end(&rp);
}

/* Packets without a session are answered by a reset with their own epoch, and nothing else. */
static void reset_is_bounded(void)
{
	struct rp_info info;
	uint64_t dropped;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_data;
	write_one(1);
	rp_settle(&rp);
	rp.filter = rp_copy_hellos;
	/* A wrong epoch from a known peer: one reset per 200 us. */
	{
		struct bench_frame frame;

		rp.filter = NULL;
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		write_one(2);
		rp_poll(&rp, 0);
		CU_ASSERT_EQUAL_FATAL(B->port.inbox_count, 1);
		frame = B->port.inbox[0];
		info = rp_info_of(&frame, 0);
		info.rd->epoch = be32_put(be32_get(info.rd->epoch) ^ 0x100);
		rp_reseal(&frame);
		dropped = RP_CNT(&rp, 1, drop_rd_epoch);
		for (i = 0; i < 9; i++)
			bench_wire_inject(&rp.wire, 1, frame.b, frame.n);
		rp.wire.frames = 0;
		rp_poll(&rp, 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_epoch), dropped + 10);
		CU_ASSERT_EQUAL(rp.wire.frames, 1);
	}
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_peer_restarts), 0);
	rp_end(&rp);
}

UT_MAIN("pair/rd_session", UT(hello_times), UT(limit_while_opening), UT(any_frame_lost),
	UT(both_at_once), UT(unreachable), UT(restart), UT(restart_that_speaks_first),
	UT(stale_hellos), UT(forged_hellos), UT(stale_session), UT(peer_forgot), UT(idle_restart),
	UT(reset_is_bounded), UT(reset_of_the_first), UT(start_beside_an_offer),
	UT(start_beside_an_old_offer))
