/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements that arrive: every pattern of a small window against a model, forged and stale
 * ones, refusals that outlive lost ACKs, holes.
 */
#include "tests/pair/rd_ack_fix.h"

enum fate {
	NOT_THERE,
	TAKEN,
	REFUSED,
};

/*
 * The model: the fate of a packet is accepted when that of all before it in the flow is accepted.
 * Requests complete in order as long as none was refused.
 */
static void check_model(uint32_t psn, const enum fate fate[W])
{
	const struct rd_session *s = sender();
	const struct rd_flow *flow = NULL;
	uint32_t known = 0, done = 0, i;
	struct hw_cqe cqe;

	while (known < W && fate[known] != NOT_THERE)
		known++;
	while (done < known && fate[done] == TAKEN)
		done++;
	for (i = 0; i < done; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(s->tx_una, psn + known);
	if (!fw_list_empty(&s->all_flows))
		flow = FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
	CU_ASSERT_EQUAL(!flow, done == W);
	if (!flow)
		return;
	CU_ASSERT_EQUAL(flow->outstanding, W - known);
	CU_ASSERT_EQUAL(flow->refused, done < known && known < W);
	CU_ASSERT_EQUAL(flow->backing_off, known == W);
	for (i = known; i < W; i++) {
		const struct rd_slot *slot = &s->tx->slot[(psn + i) % WIRE_RD_WINDOW];

		CU_ASSERT_EQUAL(slot->state, fate[i] == NOT_THERE ? RD_SLOT_SENT : RD_SLOT_HELD);
	}
}

/* Passes an ACK from base on with a pattern of received and refused packets. */
static void hear_pattern(uint32_t psn, uint32_t base, const enum fate fate[W])
{
	uint64_t received = 0, refused[4] = {0};
	uint32_t i;

	for (i = 0; i < W; i++) {
		if (i >= base && fate[i] != NOT_THERE)
			received |= UINT64_C(1) << (i - base);
		if (fate[i] == REFUSED) {
			uint32_t bit = WIRE_RD_WINDOW + i - base;

			refused[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
	}
	hear(psn + base, received, refused, 640000);
}

static void decode(uint32_t pattern, enum fate fate[W])
{
	uint32_t i;

	for (i = 0; i < W; i++, pattern /= 3)
		fate[i] = (enum fate)(pattern % 3);
}

/* All 243 patterns, each with every base that it allows, twice. */
static void every_pattern(void)
{
	uint32_t pattern, base, cases = 0;

	rp_begin(&rp);
	rp_open(&rp);
	for (pattern = 0; pattern < PATTERNS; pattern++) {
		enum fate fate[W];

		decode(pattern, fate);
		for (base = 0; base <= W && (!base || fate[base - 1] != NOT_THERE); base++) {
			uint32_t psn = post_lost(W);

			hear_pattern(psn, base, fate);
			check_model(psn, fate);
			/* A repetition brings nothing new. The completions were taken above. */
			if (sender()->tx) {
				uint32_t una = sender()->tx_una;

				hear_pattern(psn, base, fate);
				CU_ASSERT_EQUAL(sender()->tx_una, una);
			}
			start_over();
			cases++;
		}
	}
	CU_ASSERT_TRUE(cases > PATTERNS);
	rp_end(&rp);
}

/* All chains of two ACKs, the second of which reports more than the first. */
static void every_pair(void)
{
	uint32_t first, second;

	rp_begin(&rp);
	rp_open(&rp);
	for (first = 0; first < PATTERNS; first += 2)
		for (second = first; second < PATTERNS; second += 5) {
			enum fate a[W], b[W];
			uint32_t psn, i;
			bool grows = true;

			decode(first, a);
			decode(second, b);
			/*
			 * A held packet may turn out refused; no other fate changes. Before a hole,
			 * each fate is final.
			 */
			for (i = 0; i < W; i++) {
				bool final = true;
				uint32_t j;

				for (j = 0; j < i; j++)
					final = final && a[j] != NOT_THERE;
				if (a[i] != NOT_THERE && b[i] != a[i] &&
				    (final || b[i] == NOT_THERE || a[i] == REFUSED))
					grows = false;
			}
			if (!grows)
				continue;
			psn = post_lost(W);
			hear_pattern(psn, 0, a);
			if (sender()->tx)
				hear_pattern(psn, sender()->tx_una - psn, b);
			check_model(psn, b);
			start_over();
		}
	rp_end(&rp);
}

/* ACKs outside the range in flight are ignored. */
static void forged(void)
{
	uint64_t refused[4] = {0}, stale;
	uint32_t psn, i;
	int32_t base;

	rp_begin(&rp);
	rp_open(&rp);
	psn = post_lost(W);
	stale = RP_CNT(&rp, 0, rd_acks_stale);
	for (base = -300; base <= 300; base++) {
		if (base >= 0 && base <= W)
			continue;
		hear(psn + (uint32_t)base, 0, NULL, 0);
		hear(psn + (uint32_t)base, UINT64_MAX, NULL, 0);
		rd_ack_cumulative(rp.end[0].nic, sender(), psn + (uint32_t)base, 0, false);
		stale += 3;
	}
	hear(psn + 0x80000000u, 0, NULL, 0);
	stale++;
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_acks_stale), stale);
	/* Bits for PSNs that were never sent. */
	for (i = W; i < 64; i++) {
		hear(psn, UINT64_C(1) << i, NULL, 0);
		stale++;
	}
	for (i = WIRE_RD_WINDOW + W; i < 2 * WIRE_RD_WINDOW; i++) {
		memset(refused, 0, sizeof(refused));
		refused[i / 64] = UINT64_C(1) << (i % 64);
		hear(psn, 0, refused, 0);
		stale++;
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_acks_stale), stale);
	CU_ASSERT_EQUAL(sender()->tx_una, psn);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_quiet(&rp);
	for (i = 0; i < W; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Frames of old ACKs, and ACKs with another epoch. */
static enum bench_verdict copy_acks(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && info->type == WIRE_DGRAM_RD_ACK ? BENCH_COPY : BENCH_PASS;
}

static void stale(void)
{
	uint64_t executed;
	uint32_t i, psn;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = copy_acks;
	for (i = 0; i < 20; i++) {
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], i, 0, 8);
		if (i % 3)
			rp_recv(&rp, 1, rp.end[1].qp[0], i, 0, 8);
		rp_run(&rp, 100000);
	}
	for (i = 0; i < 7; i++)
		rp_recv(&rp, 1, rp.end[1].qp[0], 20 + i, 0, 8);
	rp_quiet(&rp);
	executed = RP_CNT(&rp, 1, cqes);
	for (i = 0; i < 20; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp.wire.num_kept >= 4);
	psn = post_lost(W);
	for (i = 0; i < rp.wire.num_kept; i++) {
		struct rp_info info = rp_info_of(&rp.wire.kept[i], 1);
		uint64_t dropped = RP_CNT(&rp, 0, drop_rd_epoch);

		bench_wire_deliver(&rp.wire, i);
		rp_poll(&rp, 0);
		info.rd->epoch = be32_put(be32_get(info.rd->epoch) + 1);
		info.rd->ack = be32_put(psn + W);
		rp_reseal(info.frame);
		bench_wire_deliver(&rp.wire, i);
		rp_poll(&rp, 0);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_rd_epoch), dropped + 1);
	}
	CU_ASSERT_EQUAL(sender()->tx_una, psn);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_quiet(&rp);
	for (i = 0; i < W; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, cqes), executed);
	for (i = 0; i < 20; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_TRUE(rp_rcqe(&rp, 1, &cqe));
	}
	rp_end(&rp);
}

/*
 * An old ACK reveals that forged ones moved the window if it echoes a timestamp sent since then. It
 * does not if it echoes a future one: the peer's clock has jumped while it held the timestamp. Nor
 * within the time by which an absence of the peer's core may put an echo ahead.
 */
static void echo_of_the_future(void)
{
	struct fw_nic *nic;
	uint32_t psn, now;

	rp_begin(&rp);
	rp_open(&rp);
	nic = rp.end[0].nic;
	psn = post_lost(2);
	hear(psn + 1, 0, NULL, 0);
	rp_run(&rp, 2 * RD_ECHO_GAP_NS);
	now = (uint32_t)nic->now_ns;
	rd_ack_cumulative(nic, sender(), psn, now + 20000000, false);
	CU_ASSERT_FALSE(sender()->astray);
	rd_ack_cumulative(nic, sender(), psn, (uint32_t)sender()->una_ns - 1, false);
	CU_ASSERT_FALSE(sender()->astray);
	rd_ack_cumulative(nic, sender(), psn, (uint32_t)(sender()->una_ns + RD_ECHO_GAP_NS), false);
	CU_ASSERT_FALSE(sender()->astray);
	rd_ack_cumulative(nic, sender(), psn, now - 10, false);
	CU_ASSERT_TRUE(sender()->astray);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_free(&rp);
}

/* The first ACK of B is kept, the others pass. */
static enum bench_verdict keep_first_ack(struct rp *r, const struct rp_info *info)
{
	return info->from == 1 && info->type == WIRE_DGRAM_RD_ACK && !r->wire.num_kept ? BENCH_KEEP
										       : BENCH_PASS;
}

/*
 * The core of B was away for 5 ms before it received a packet, so its ACK echoes a time that is 5
 * ms ahead. The path delays that ACK beyond the next one and beyond that time. The session is
 * sound, and stays.
 */
static void delayed_after_an_absence(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8, .remote_offset = 4096};
	uint64_t stale;

	rp_begin(&rp);
	rp_open(&rp);
	req.dst = rp.end[1].qp[0];
	rp_run(&rp, 1000000);
	rp.filter = keep_first_ack;
	rp.wire.now_ns += 4999000;
	rp_poll(&rp, 0);
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_poll(&rp, 0);
	rp.wire.now_ns += 1000;
	rp_poll(&rp, 1);
	CU_ASSERT_TRUE_FATAL(rp.end[1].nic->gap_ns >= 5000000);
	rp_run(&rp, 100000);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	req.wr_id = 1;
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_run(&rp, 6000000);
	stale = RP_CNT(&rp, 0, rd_acks_stale);
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_acks_stale), stale + 1);
	CU_ASSERT_FALSE(sender()->astray);
	bench_wire_forget(&rp.wire);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * A Send is refused, then the rest of a window is accepted, while all ACKs are lost. The first one
 * that arrives reports the refusal.
 */
static void refusal_outlives_lost_acks(void)
{
	struct rd_session *s;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	s = sender();
	s->cwnd_fp = WIRE_RD_WINDOW * 256;
	s->cwnd = WIRE_RD_WINDOW;
	rp.filter = rp_drop_all_of_1;
	rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 8);
	rp_settle(&rp);
	for (i = 1; i < WIRE_RD_WINDOW; i++) {
		struct rp_req req = {
		    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[1], .wr_id = 100 + i};

		rp_req(&rp, 0, rp.end[0].qp[1], &req);
		rp_settle(&rp);
	}
	CU_ASSERT_EQUAL(s->tx_psn - s->tx_una, WIRE_RD_WINDOW);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, s->tx_psn);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_run(&rp, 1000000);
	for (i = 1; i < WIRE_RD_WINDOW; i++)
		rp_expect_send(&rp, 0, 100 + i, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_rnr_backoffs) >= 1);
	rp_recv(&rp, 1, rp.end[1].qp[0], 2, 0, 8);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* An ACK may name packets of its second word alone: more than 64 before them are missing. */
static void far_beyond_the_front(void)
{
	struct wire_rd_ack map;
	struct wire_rd rd;
	uint32_t psn, i;

	rp_begin(&rp);
	rp_open(&rp);
	sender()->cwnd_fp = WIRE_RD_WINDOW * 256;
	sender()->cwnd = WIRE_RD_WINDOW;
	psn = post_lost(80);
	rd = (struct wire_rd){.ack = be32_put(psn)};
	memset(&map, 0, sizeof(map));
	map.received[1] = be64_put(0xf0);
	rd_ack_rx(rp.end[0].nic, sender(), &rd, &map, false);
	CU_ASSERT_EQUAL(sender()->tx_una, psn);
	CU_ASSERT_EQUAL(sender()->sent + sender()->lost, 76);
	for (i = 0; i < 80; i++)
		CU_ASSERT_EQUAL(sender()->tx->slot[(psn + i) % WIRE_RD_WINDOW].state ==
				    RD_SLOT_HELD,
				i >= 68 && i < 72);
	/* The test forged that ACK: both ends begin anew. */
	rp.filter = NULL;
	for (i = 0; i < 2; i++)
		rd_session_fail(rp.end[i].nic, rp_session(&rp, i), HW_STATUS_REM_ABORT_ERR,
				HW_VENDOR_ERR_NONE);
	rp_quiet(&rp);
	for (i = 0; i < 80; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/* A hole is lost when three later PSNs were received and it is older than 1.25 RTT. */
static void holes(void)
{
	struct rd_session *s;
	uint64_t t0;
	uint32_t psn;

	rp_begin(&rp);
	rp_open(&rp);
	psn = post_lost(8);
	s = sender();
	t0 = rp.wire.now_ns;
	s->rtt.srtt_ns = 100000;
	s->rtt.var_ns = 1000000;
	rp.wire.now_ns = t0 + 50000;
	hear(psn, 0x06, NULL, 0);
	CU_ASSERT_EQUAL(s->hole_ns, 0);
	/* 1, 2 and 3 were received: three beyond 0. */
	hear(psn, 0x0e, NULL, 0);
	CU_ASSERT_EQUAL(s->hole_ns, t0 + 125000);
	CU_ASSERT_EQUAL(s->lost, 0);
	rp.wire.now_ns = t0 + 124999;
	hear(psn, 0x0e, NULL, 0);
	CU_ASSERT_EQUAL(s->lost, 0);
	rp.wire.now_ns = t0 + 125000;
	hear(psn, 0x0e, NULL, 0);
	CU_ASSERT_EQUAL(s->lost, 1);
	CU_ASSERT_EQUAL(s->tx->slot[psn % WIRE_RD_WINDOW].state, RD_SLOT_LOST);
	/* Sent again: it now has twice the time. */
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(s->lost, 0);
	CU_ASSERT_EQUAL(s->tx->slot[psn % WIRE_RD_WINDOW].tries, 1);
	rp.wire.now_ns = t0 + 125000 + 249999;
	hear(psn, 0x0e, NULL, 0);
	CU_ASSERT_EQUAL(s->lost, 0);
	rp.wire.now_ns++;
	hear(psn, 0x0e, NULL, 0);
	CU_ASSERT_EQUAL(s->lost, 1);
	CU_ASSERT_EQUAL(s->lost + s->sent, 5); /* 0, and 4 to 7; 1 to 3 are held */
	rp.filter = NULL;
	start_over();
	rp_end(&rp);
}

/* Posts a Write of six packets, which are lost; returns its first PSN. */
static uint32_t post_long(uint64_t wr_id)
{
	struct rp_req req = {
	    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .bytes = 8000, .wr_id = wr_id};
	uint32_t psn = sender()->tx_psn;

	rp.filter = rp_drop_data;
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(sender()->tx_psn, psn + 6);
	return psn;
}

static struct rd_flow *the_flow(void)
{
	return FW_CONTAINER(sender()->all_flows.next, struct rd_flow, session_node);
}

/* Packets of messages that an ACK takes together: up to each place, and over both messages. */
static void rows(void)
{
	uint32_t psn, i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 1; i < 12; i++) {
		psn = post_long(1);
		CU_ASSERT_EQUAL(post_long(2), psn + 6);
		rp.wire.now_ns += 1000;
		hear(psn + i, 0, NULL, 0);
		CU_ASSERT_EQUAL(sender()->tx_una, psn + i);
		CU_ASSERT_EQUAL(sender()->sent, 12 - i);
		CU_ASSERT_EQUAL(the_flow()->outstanding, 12 - i);
		CU_ASSERT_EQUAL(the_flow()->heard_ns, rp.wire.now_ns);
		if (i >= 6)
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_none(&rp);
		hear(psn + 12, 0, NULL, 0);
		if (i < 6)
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(sender()->sent, 0);
		CU_ASSERT_PTR_NULL(sender()->tx);
		start_over();
	}
	rp_end(&rp);
}

/* A packet that was sent again, and one that waits for that, in the midst of a message. */
static void rows_with_repetitions(void)
{
	struct rd_session *s;
	uint32_t psn, turn;

	for (turn = 0; turn < 2; turn++) {
		rp_begin(&rp);
		rp_open(&rp);
		psn = post_long(1);
		s = sender();
		s->rtt.srtt_ns = 100000;
		hear(psn + 1, 0x1c, NULL, 0); /* PSN 1 and 2 are missing, 3 to 5 are there */
		rp.wire.now_ns += 125000;
		hear(psn + 1, 0x1c, NULL, 0);
		CU_ASSERT_EQUAL(s->lost, 2);
		if (turn) {
			rp_poll(&rp, 0);
			CU_ASSERT_EQUAL(s->lost, 0);
			CU_ASSERT_EQUAL(s->resent, 2);
		}
		rp_expect_none(&rp);
		hear(psn + 6, 0, NULL, 0);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(s->lost + s->sent + s->resent, 0);
		CU_ASSERT_PTR_NULL(s->tx);
		rp.filter = NULL;
		start_over();
		rp_end(&rp);
	}
}

/* The RNR timer of the receiver's QP is sent and waited for, to the nanosecond. */
static void rnr_timer(void)
{
	static const uint8_t codes[] = {1, 12, 0, 31};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < sizeof(codes); i++) {
		struct hw_qp_attr attr = {.min_rnr_timer = codes[i]};
		uint64_t ns = qp_rnr_timer_ns(codes[i]), backoffs;

		CU_ASSERT_EQUAL(
		    rp_modify(&rp, 1, rp.end[1].qp[0], HW_QPS_RTS, HW_QP_MIN_RNR_TIMER, &attr), 0);
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], i, 0, 8);
		rp_settle(&rp);
		backoffs = RP_CNT(&rp, 0, rd_rnr_backoffs);
		CU_ASSERT_TRUE(backoffs > 0);
		rp_recv(&rp, 1, rp.end[1].qp[0], i, 0, 8);
		rp_run(&rp, ns - 1);
		rp_expect_none(&rp);
		rp_run(&rp, 1);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_rnr_backoffs), backoffs);
		/* After more than a window of other packets the refusal is forgotten. */
		while (rp_session(&rp, 1)->any_refused) {
			struct rp_req req = {
			    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[1], .unsignaled = true};

			rp_req(&rp, 0, rp.end[0].qp[1], &req);
			rp_settle(&rp);
		}
		rp_quiet(&rp);
	}
	rp_end(&rp);
}

UT_MAIN("pair/rd_ack", UT(every_pattern), UT(every_pair), UT(forged), UT(stale),
	UT(echo_of_the_future), UT(refusal_outlives_lost_acks), UT(far_beyond_the_front), UT(holes),
	UT(rows), UT(rows_with_repetitions), UT(delayed_after_an_absence), UT(rnr_timer))
