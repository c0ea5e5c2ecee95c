/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in RD, to the nanosecond: tail probe, RTO and its back-off, the retry limits of one QP among
 * others, peers that die while a response is awaited, the table of RNR timers.
 */
#include "tests/pair/rd_pair.h"

enum {
	MAX_SEEN = 64,
};

struct seen {
	uint64_t at_ns;
	uint32_t psn;
	bool retransmit;
};

static struct rp rp;
static struct seen seen[MAX_SEEN];
static uint32_t num_seen;

#define A (&rp.end[0])
#define B (&rp.end[1])

static enum bench_verdict note_and_drop(struct rp *r, const struct rp_info *info)
{
	if (info->from != 0 || info->type != WIRE_DGRAM_RD)
		return info->from == 0 ? BENCH_PASS : BENCH_DROP;
	if (num_seen < MAX_SEEN)
		seen[num_seen++] = (struct seen){r->wire.now_ns, info->psn,
						 info->dgram->flags & WIRE_DGRAM_F_RETRANSMIT};
	return BENCH_DROP;
}

static void write_one(uint32_t q, uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = 8};

	req.dst = B->qp[q];
	rp_req(&rp, 0, A->qp[q], &req);
}

static void set_limit(uint32_t q, uint8_t timeout, uint8_t retry_cnt)
{
	struct hw_qp_attr attr = {.timeout = timeout, .retry_cnt = retry_cnt};

	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[q], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
}

/* An open session without limits or congestion control, with a given round trip time. */
static struct rd_session *begin(uint32_t srtt_ns, uint32_t rttvar_ns)
{
	struct rd_session *s;

	rp_begin(&rp);
	rp_open(&rp);
	A->nic->config.cc_off = true;
	s = rp_session(&rp, 0);
	rd_cong_init(A->nic, s);
	s->rtt.srtt_ns = srtt_ns;
	s->rtt.var_ns = rttvar_ns;
	set_limit(0, 0, 0);
	set_limit(1, 0, 0);
	num_seen = 0;
	rp.filter = note_and_drop;
	return s;
}

static void end(void)
{
	struct hw_cqe cqe;

	rp.filter = NULL;
	rp_run(&rp, 3000000000);
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The first of two packets never arrived: the test forged its ACK. */
static void end_forged(void)
{
	rd_session_fail(B->nic, rp_session(&rp, 1), HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/*
 * Three packets: the last one again after 2 RTT, all after RTO, then after 2, 4, 8 ... RTO up to 1
 * s.
 */
static void probe_and_back_off(void)
{
	struct rd_session *s = begin(150000, 25000);
	uint64_t rto_ns = 150000 + 4 * 25000, at;
	uint32_t i, round;
	uint32_t psn = s->tx_psn;

	at = rp.wire.now_ns;
	for (i = 0; i < 3; i++)
		write_one(0, i);
	rp_run(&rp, 5000000000);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(seen[i].at_ns, at);
		CU_ASSERT_EQUAL(seen[i].psn, psn + i);
		CU_ASSERT_FALSE(seen[i].retransmit);
	}
	at += 300000;
	CU_ASSERT_EQUAL(seen[3].at_ns, at);
	CU_ASSERT_EQUAL(seen[3].psn, psn + 2);
	CU_ASSERT_TRUE(seen[3].retransmit);
	for (round = 0, i = 4; i + 3 <= num_seen; round++) {
		uint64_t gap = rto_ns << (round < RD_MAX_BACKOFF ? round : RD_MAX_BACKOFF);
		uint32_t k;

		at += gap < RD_MAX_RTO_NS ? gap : RD_MAX_RTO_NS;
		for (k = 0; k < 3; k++, i++) {
			CU_ASSERT_EQUAL(seen[i].at_ns, at);
			CU_ASSERT_EQUAL(seen[i].psn, psn + k);
			CU_ASSERT_TRUE(seen[i].retransmit);
		}
	}
	CU_ASSERT_TRUE(round >= 12);
	end();
}

/* The minima: 200 us for both while the round trip is short; 2 ms while it is unknown. */
static void floors(void)
{
	struct rd_session *s = begin(1000, 100);
	uint64_t at = rp.wire.now_ns;

	write_one(0, 0);
	rp_run(&rp, 1000000);
	CU_ASSERT_FATAL(num_seen >= 3);
	CU_ASSERT_EQUAL(seen[1].at_ns, at + RD_MIN_RTO_NS);
	CU_ASSERT_EQUAL(seen[2].at_ns, at + 2 * RD_MIN_RTO_NS);
	CU_ASSERT_EQUAL(s->backoff, 2);
	end();
	begin(0, 0);
	at = rp.wire.now_ns;
	write_one(0, 0);
	rp_run(&rp, 9000000);
	CU_ASSERT_FATAL(num_seen >= 4);
	CU_ASSERT_EQUAL(seen[1].at_ns, at + RD_MIN_RTO_NS);
	CU_ASSERT_EQUAL(seen[2].at_ns, at + RD_MIN_RTO_NS + RD_INITIAL_RTO_NS);
	CU_ASSERT_EQUAL(seen[3].at_ns, at + RD_MIN_RTO_NS + 3 * RD_INITIAL_RTO_NS);
	end();
}

/* New acknowledgements restart the timer and end the back-off. */
static void progress(void)
{
	struct rd_session *s = begin(150000, 25000);
	uint64_t at;

	write_one(0, 0);
	write_one(1, 1);
	rp_run(&rp, 2000000);
	CU_ASSERT_TRUE(s->backoff > 1);
	rd_ack_cumulative(A->nic, s, s->tx_una + 1, 0, false);
	CU_ASSERT_EQUAL(s->backoff, 0);
	at = rp.wire.now_ns;
	num_seen = 0;
	rp_run(&rp, 400000);
	CU_ASSERT_FATAL(num_seen >= 1);
	CU_ASSERT_EQUAL(seen[0].at_ns, at + 300000);
	end_forged();
}

/*
 * The peer has all packets, and holds them for one that it has as well: it is asked, less and less
 * often. Since the ACKs may have been forged, the oldest packet is sent again in the end.
 */
static void all_are_held(void)
{
	struct rd_session *s = begin(150000, 25000);
	struct wire_rd rd = {.ack = be32_put(s->tx_psn)};
	struct wire_rd_ack map;
	uint64_t at = rp.wire.now_ns, rto_ns = 150000 + 4 * 25000, probes;
	uint32_t psn = s->tx_psn, i;

	write_one(0, 0);
	write_one(0, 1);
	rp_settle(&rp);
	memset(&map, 0, sizeof(map));
	map.received[0] = be64_put(2);
	rd_ack_rx(A->nic, s, &rd, &map, false);
	rd_ack_cumulative(A->nic, s, psn + 1, 0, false);
	CU_ASSERT_EQUAL(s->tx->slot[(psn + 1) % WIRE_RD_WINDOW].state, RD_SLOT_HELD);
	num_seen = 0;
	probes = RP_CNT(&rp, 0, rd_tx_probes);
	at += 300000;
	for (i = 1; i <= RD_GIVE_UP_BACKOFF; i++) {
		rp_run(&rp, at - 1 - rp.wire.now_ns);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_probes), probes + i - 1);
		rp_run(&rp, 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_probes), probes + i);
		at += rto_ns << i;
	}
	rp_run(&rp, at - 1 - rp.wire.now_ns);
	CU_ASSERT_EQUAL(num_seen, 0);
	rp_run(&rp, 1);
	CU_ASSERT_EQUAL(num_seen, 1);
	CU_ASSERT_EQUAL(seen[0].psn, psn + 1);
	end_forged();
}

/* 4.096 us << timeout, times retry_cnt + 1: then the requests of that QP fail, and no others. */
static void limit_of_one(void)
{
	uint64_t limit_ns = (UINT64_C(4096) << 8) * 3, before;

	begin(150000, 25000);
	set_limit(0, 8, 2);
	before = rp.wire.now_ns;
	write_one(0, 1);
	write_one(1, 2);
	write_one(0, 3);
	rp_run(&rp, limit_ns);
	rp_expect_none(&rp);
	/* At the latest one back-off later. */
	rp_run(&rp, 2 * limit_ns);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(rp.wire.now_ns > before);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, retry_exceeded), 1);
	rp.filter = NULL;
	rp_run(&rp, 100000000);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	write_one(0, 4);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 4, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * The round trip was long when the tries began: the back-off would pass the limit after few of
 * them. They are as far apart as the QP's time-out says, so the last one is not long ago.
 */
static void tries_within_a_limit(void)
{
	uint64_t timeout_ns = UINT64_C(4096) << 14, limit_ns = timeout_ns * 8, last_ns;
	struct hw_cqe cqe = {0};
	uint32_t i;

	begin(20000000, 2000000);
	set_limit(0, 14, 7);
	write_one(0, 1);
	last_ns = rp.wire.now_ns;
	while (!rp_scqe(&rp, 0, &cqe) && rp.wire.now_ns < last_ns + 2 * limit_ns)
		rp_run(&rp, 1000000);
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_TRUE(rp.wire.now_ns - last_ns >= limit_ns);
	CU_ASSERT_TRUE(rp.wire.now_ns - last_ns <= limit_ns + timeout_ns + 1000000);
	for (i = 0; i < num_seen; i++) {
		CU_ASSERT_TRUE(seen[i].at_ns - last_ns <= timeout_ns);
		last_ns = seen[i].at_ns;
	}
	CU_ASSERT_TRUE(num_seen >= 8);
	end();
}

/* Likewise where the oldest packet is void, as its QP was destroyed: another QP waits behind it. */
static void tries_of_a_void(void)
{
	uint64_t timeout_ns = UINT64_C(4096) << 14, last_ns;
	uint32_t i;

	begin(20000000, 2000000);
	write_one(1, 1);
	rp_run(&rp, 1000000);
	set_limit(0, 14, 7);
	write_one(0, 2);
	rp_destroy_qp(&rp, 0, A->qp[1]);
	last_ns = rp.wire.now_ns;
	rp_run(&rp, 6 * timeout_ns);
	CU_ASSERT_TRUE(num_seen >= 6);
	for (i = 0; i < num_seen; i++) {
		CU_ASSERT_TRUE(seen[i].at_ns <= last_ns + timeout_ns);
		last_ns = seen[i].at_ns;
	}
	end();
}

/* The core gets no processor for long: this does not count as silence of its peers. */
static void limit_of_an_absent_core(void)
{
	const uint64_t away_ns = 100000000;
	uint32_t i;
	struct hw_cqe cqe;

	begin(150000, 25000);
	set_limit(0, 8, 2);
	rp.filter = NULL;
	for (i = 0; i < 20; i++) {
		write_one(0, i);
		rp_poll(&rp, 0);
		rp.wire.now_ns += away_ns;
		/* Its time-out has passed, and the answer is not there yet. */
		rp_poll(&rp, 0);
		rp_expect_none(&rp);
		rp_poll(&rp, 1);
		rp_settle(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_timeouts), 20);
	/* A dead peer is detected in the end. */
	rp.filter = note_and_drop;
	write_one(0, 50);
	rp_poll(&rp, 0);
	for (i = 0; i < FW_WAIT_TURNS; i++) {
		rp.wire.now_ns += away_ns;
		rp_poll(&rp, 0);
		CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	}
	for (i = 0; i < 20; i++) {
		rp.wire.now_ns += away_ns;
		rp_poll(&rp, 0);
	}
	rp_expect_send(&rp, 0, 50, HW_STATUS_RETRY_EXC_ERR);
	end();
}

/* The same while an answer is awaited. */
static void answer_to_an_absent_core(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .bytes = 8};
	struct rd_session *s = begin(150000, 25000);

	set_limit(0, 8, 2);
	rp.filter = rp_drop_answers;
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	/* The ACK went with the answer: the copy of the request has an ACK of its own. */
	rp_run(&rp, 1000000);
	rp.filter = rp_drop_all_of_1;
	rp_run(&rp, RD_AWAIT_NS + 1000);
	CU_ASSERT_NOT_EQUAL(s->probe.ns, 0);
	rp.wire.now_ns += 1000000000;
	rp_poll(&rp, 0);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_run(&rp, 1000000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	/* Silence that the core has observed ends it. */
	rp.filter = rp_drop_answers;
	req.wr_id = 2;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_run(&rp, 1000000);
	rp.filter = rp_drop_all_of_1;
	rp_run(&rp, 200000000);
	rp_expect_send(&rp, 0, 2, HW_STATUS_RETRY_EXC_ERR);
	end();
}

/* RC: the QP fails with the request. */
static void limit_of_rc(void)
{
	static const struct hw_qp_attr attr = {.timeout = 8, .retry_cnt = 1, .rnr_retry = 7};
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8, .wr_id = 1};
	struct fw_qp *a, *b;

	begin(150000, 25000);
	rp_rc(&rp, &a, &b, &attr);
	rp_req(&rp, 0, a, &req);
	req.wr_id = 2;
	rp_req(&rp, 0, a, &req);
	rp_run(&rp, 20000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	end();
}

/* No request waits and the peer is dead: the void packets end, and so does the session. */
static void voids_end(void)
{
	begin(150000, 25000);
	write_one(0, 1);
	rp_settle(&rp);
	rp_destroy_qp(&rp, 0, A->qp[0]);
	/* A peer that is away for so long keeps its own requests. */
	rp_run(&rp, 29000000000);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->state, RD_OPEN);
	rp_run(&rp, 3000000000);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->state, RD_CLOSED);
	rp_check_pools(&rp, 0, 0);
	rp.filter = NULL;
	write_one(1, 2);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * Packets to a dead peer close the window. A message of another QP that could never be sent fails
 * nevertheless.
 */
static void limit_of_one_never_sent(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_restart(&rp, 1);
	B->port.dead = true;
	set_limit(0, 14, 7);
	set_limit(1, 15, 3);
	rp_recv(&rp, 0, A->qp[0], 1, 0, 8);
	write_one(0, 1);
	rp_run(&rp, 400000000);
	rp_expect_none(&rp);
	write_one(1, 2);
	/* Time-outs are a second apart by then. */
	rp_run(&rp, 3000000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_RETRY_EXC_ERR);
	/* When no request waits, the session is given up: the next request sends a HELLO. */
	rp_run(&rp, 32000000000);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->state, RD_CLOSED);
	B->port.dead = false;
	end();
}

static void read_one(uint32_t q, uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = wr_id, .bytes = 8};

	req.dst = B->qp[q];
	rp_req(&rp, 0, A->qp[q], &req);
}

/* A read is acknowledged and the responder dies: its end is detected without new requests. */
static void death_of_a_responder(void)
{
	begin(150000, 25000);
	set_limit(0, 14, 1); /* 134 ms */
	rp.filter = rp_drop_answers;
	read_one(0, 1);
	read_one(1, 2); /* no limit */
	rp_run(&rp, 1000000);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 0)->tx);
	B->port.dead = true;
	rp_run(&rp, 130000000);
	rp_expect_none(&rp);
	rp_run(&rp, 100000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_probes) >= 3);
	/* It restarts without the session: it reports that at the next probe. */
	rp.filter = NULL;
	rp_restart(&rp, 1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), UINT64_MAX);
	rp_end(&rp);
}

/* A slow responder, and responses that are lost for long, are waited for. */
static void slow_responder(void)
{
	begin(150000, 25000);
	set_limit(0, 8, 0); /* 1 ms */
	rp.filter = rp_drop_answers;
	B->mem[0] = 0x77;
	read_one(0, 1);
	rp_run(&rp, 5000000000);
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_probes) > 100);
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(A->mem[0], 0x77);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), UINT64_MAX);
	rp_end(&rp);
}

/*
 * The peer answered all messages of a flow before it acknowledged a packet that was sent again: the
 * flow awaits no answer, and the look for answers leaves it alone.
 */
static void flow_without_messages(void)
{
	struct rd_session *s = begin(150000, 25000);
	struct fw_list msgs;
	struct rd_flow *flow;

	fw_list_init(&msgs);
	write_one(0, 0);
	rp_settle(&rp);
	flow = FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
	fw_list_splice_tail(&msgs, &flow->msgs);
	flow->looks = 3;
	flow->look_ssn = 0x12345678;
	flow->look_bytes = 77;
	rd_flow_check_answers(A->nic, s);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(s->look_for, 0);
	CU_ASSERT_EQUAL(flow->looks, 3);
	CU_ASSERT_EQUAL(flow->look_ssn, 0x12345678);
	CU_ASSERT_EQUAL(flow->look_bytes, 77);
	fw_list_splice_tail(&flow->msgs, &msgs);
	end();
}

/*
 * A queue pair that is being flushed sends nothing of a flow again; in SQE only its requests have
 * failed, and its answers go on.
 */
static void flows_of_a_flush(void)
{
	struct rd_session *s = begin(150000, 25000);
	struct rd_flow *flow;

	write_one(0, 0);
	rp_settle(&rp);
	flow = FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
	CU_ASSERT_TRUE(rd_flow_may_resend(A->nic, flow));
	for (uint32_t i = 0; i < 4; i++) {
		flow->response = i & 1;
		A->qp[0]->state = i & 2 ? HW_QPS_SQE : HW_QPS_ERR;
		A->qp[0]->flushing = true;
		CU_ASSERT_EQUAL(rd_flow_may_resend(A->nic, flow), i == 3);
		A->qp[0]->flushing = false;
		CU_ASSERT_TRUE(rd_flow_may_resend(A->nic, flow));
	}
	flow->response = false;
	A->qp[0]->state = HW_QPS_RTS;
	end();
}

/* A peer has got another MAC: its session sends there from then on. */
static void fresh_mac(void)
{
	static const uint8_t other[WIRE_MAC_BYTES] = {0x02, 0, 0, 0, 0, 0x55};
	struct rd_session *s = begin(150000, 25000);
	struct neigh *neigh = A->nic->net.neigh_found;
	uint8_t was[WIRE_MAC_BYTES];

	CU_ASSERT_FATAL(neigh && neigh->ip == s->peer_ip);
	memcpy(was, neigh->mac, sizeof(was));
	memcpy(neigh->mac, other, sizeof(other));
	rd_session_fresh_mac(A->nic, s);
	CU_ASSERT(memcmp(s->peer_mac, was, sizeof(was)) == 0);
	A->nic->net.neigh_changes++;
	rd_session_fresh_mac(A->nic, s);
	CU_ASSERT(memcmp(s->peer_mac, other, sizeof(other)) == 0);
	memcpy(neigh->mac, was, sizeof(was));
	A->nic->net.neigh_changes++;
	end();
}

/* IBA table 45, in units of 10 us. */
static void rnr_codes(void)
{
	uint8_t code;

	/* From 40 us and 60 us on each doubles the one two before it. */
	for (code = 6; code < 32; code++)
		CU_ASSERT_EQUAL(qp_rnr_timer_ns(code),
				(code % 2 ? UINT64_C(60000) : UINT64_C(40000)) << (code / 2 - 2));
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(0), 655360000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(1), 10000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(12), 640000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(13), 960000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(31), 491520000);
	CU_ASSERT_EQUAL(qp_rnr_timer_ns(32 + 12), 640000);
}

/* Answers that do not come are looked for after a time, and again after as much. */
static void looks(void)
{
	struct rd_session *s = begin(1000000, 100000);

	s->ts_echo_ns = A->nic->now_ns;
	s->looked_ns = A->nic->now_ns - LLP_LOOK_NS + 1;
	rd_timer_fire(A->nic, &s->timer);
	CU_ASSERT_EQUAL(s->looked_ns, A->nic->now_ns - LLP_LOOK_NS + 1);
	s->looked_ns--;
	rd_timer_fire(A->nic, &s->timer);
	CU_ASSERT_EQUAL(s->looked_ns, A->nic->now_ns);
	end();
}

UT_MAIN("pair/rd_timer", UT(looks), UT(probe_and_back_off), UT(floors), UT(progress),
	UT(all_are_held), UT(limit_of_one), UT(tries_within_a_limit), UT(tries_of_a_void),
	UT(limit_of_an_absent_core), UT(answer_to_an_absent_core), UT(limit_of_one_never_sent),
	UT(limit_of_rc), UT(voids_end), UT(death_of_a_responder), UT(slow_responder),
	UT(flow_without_messages), UT(fresh_mac), UT(flows_of_a_flush), UT(rnr_codes))
