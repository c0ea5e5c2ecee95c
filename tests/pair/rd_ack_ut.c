/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements in and out: every pattern of a small window against a model, forged and
 * stale ones, refusals that outlive lost ACKs, holes, round trip times.
 */
#include "tests/pair/rd_pair.h"

enum {
	W = 5, /* packets in flight */
	PATTERNS = 3 * 3 * 3 * 3 * 3,
};

static struct rp rp;

static struct rd_session *sender(void)
{
	return rp_session(&rp, 0);
}

/* Passes an ACK to the sender directly, without the wire. */
static void hear(uint32_t ack, uint64_t received, const uint64_t refused[4], uint32_t rnr_ns)
{
	struct wire_rd rd = {.ack = be32_put(ack)};
	struct wire_rd_ack map;
	uint32_t i;

	memset(&map, 0, sizeof(map));
	map.received[0] = be64_put(received);
	for (i = 0; refused && i < 4; i++)
		map.refused[i] = be64_put(refused[i]);
	map.rnr_timer_ns = be32_put(rnr_ns);
	fw_now(rp.end[0].nic, rp.wire.now_ns);
	rd_ack_rx(rp.end[0].nic, sender(), &rd, &map, false);
}

/* Posts n Writes of 8 bytes in one flow, which are lost; returns their first PSN. */
static uint32_t post_lost(uint32_t n)
{
	uint32_t psn, i;

	rp.filter = rp_drop_data;
	psn = sender()->tx_psn;
	for (i = 0; i < n; i++) {
		struct rp_req req = {
		    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .bytes = 8, .wr_id = i};

		rp_req(&rp, 0, rp.end[0].qp[0], &req);
		rp_settle(&rp);
	}
	CU_ASSERT_EQUAL_FATAL(sender()->tx_psn, psn + n);
	return psn;
}

/* Both ends discard the session; open requests of the sender fail. */
static void start_over(void)
{
	struct hw_cqe cqe;
	uint32_t e;

	rp.filter = NULL;
	for (e = 0; e < 2; e++)
		rd_session_fail(rp.end[e].nic, rp_session(&rp, e), HW_STATUS_REM_ABORT_ERR,
				HW_VENDOR_ERR_NONE);
	/* Requests that a lying peer accepted after one that it refused keep their status. */
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_TRUE(cqe.status == HW_STATUS_REM_ABORT_ERR ||
			       cqe.status == HW_STATUS_SUCCESS);
	rp_check_pools(&rp, 0, 0);
	rp_check_pools(&rp, 1, 0);
	rp_open(&rp);
}

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

static uint64_t delay_ns;

/* RFC 6298 2.2 and 2.3, from timestamps that the peer echoes with its own delay added. */
static void round_trip_times(void)
{
	struct rd_session *s;
	struct wire_rd_ack map;
	struct wire_rd rd;
	uint32_t psn;

	rp_begin(&rp);
	rp_open(&rp);
	psn = post_lost(4);
	s = sender();
	s->rtt.srtt_ns = 0;
	delay_ns = 80000;
	memset(&map, 0, sizeof(map));
	memset(&rd, 0, sizeof(rd));
	rd.ack = be32_put(psn + 1);
	rd.timestamp_echo = be32_put((uint32_t)rp.wire.now_ns);
	rp.wire.now_ns += delay_ns;
	fw_now(rp.end[0].nic, rp.wire.now_ns);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, 80000);
	CU_ASSERT_EQUAL(s->rtt.var_ns, 40000);
	rd.ack = be32_put(psn + 2);
	rd.timestamp_echo = be32_put((uint32_t)(rp.wire.now_ns - 160000));
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.var_ns, (3 * 40000 + 80000) / 4);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, (7 * 80000 + 160000) / 8);
	/* No echo, and an echo from the future: no sample. */
	rd.ack = be32_put(psn + 3);
	rd.timestamp_echo = be32_put(0);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	rd.timestamp_echo = be32_put((uint32_t)rp.wire.now_ns + 5);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, 90000);
	CU_ASSERT_EQUAL(s->tx_una, psn + 3);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp.filter = NULL;
	start_over();
	rp_end(&rp);
}

/* The gap since the last turn is subtracted if the core was away, not if it slept. */
static void gaps(void)
{
	uint32_t slept;

	for (slept = 0; slept < 2; slept++) {
		struct rd_session *s;
		uint32_t e;

		rp_begin(&rp);
		rp_open(&rp);
		s = sender();
		s->rtt.srtt_ns = 0;
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 8);
		rp_recv(&rp, 1, rp.end[1].qp[0], 1, 0, 8);
		rp_poll(&rp, 0);
		for (e = 0; e < 2; e++) {
			if (slept)
				CU_ASSERT_TRUE(fw_sleep(rp.end[!e].nic, true));
			rp.wire.now_ns += 50000;
			rp_poll(&rp, !e);
		}
		/* Half of it was caused by the other end, which reports that or not. */
		CU_ASSERT_EQUAL(s->rtt.srtt_ns, slept ? 100000 : 1);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* Sends one message to end 1, which answers messages as a rule; returns the ACKs that it sends. */
static uint64_t acks_of_a_message(void)
{
	uint64_t before = RP_CNT(&rp, 1, rd_acks_tx);

	rp_session(&rp, 1)->answers = true;
	rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 8);
	rp_recv(&rp, 1, rp.end[1].qp[0], 1, 0, 8);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	return RP_CNT(&rp, 1, rd_acks_tx) - before;
}

static void message_is_over(void)
{
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
}

/* An ACK that waits for an answer leaves before the core sleeps, and later ones at once. */
static void leaves_before_a_sleep(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	CU_ASSERT_EQUAL(acks_of_a_message(), 0);
	CU_ASSERT_TRUE(fw_hurry(rp.end[1].nic));
	rp_poll(&rp, 1);
	CU_ASSERT_FALSE(fw_hurry(rp.end[1].nic));
	message_is_over();
	CU_ASSERT_EQUAL(acks_of_a_message(), 1);
	message_is_over();
	rp.wire.now_ns += RD_ACK_PROMPT_NS; /* the core has not slept for long */
	CU_ASSERT_EQUAL(acks_of_a_message(), 0);
	rp_quiet(&rp);
	message_is_over();
	rp_end(&rp);
}

/* Checks each bit of the ACK for packets that arrive in a chosen pattern. */
static enum bench_verdict keep_both(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from == 0 && info->type == WIRE_DGRAM_RD)
		return BENCH_KEEP;
	return info->type == WIRE_DGRAM_RD_ACK ? BENCH_KEEP : BENCH_PASS;
}

static void what_an_ack_says(void)
{
	uint32_t pattern, i;

	rp_begin(&rp);
	rp_open(&rp);
	for (pattern = 1; pattern < 1 << W; pattern++) {
		uint32_t psn = sender()->tx_psn, k, una = 0;
		struct rp_info info;

		/* The state of the window does not matter: earlier losses were on purpose. */
		rd_cong_init(rp.end[0].nic, sender());
		rp.filter = keep_both;
		for (i = 0; i < W; i++) {
			struct rp_req req = {
			    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .wr_id = i};

			rp_req(&rp, 0, rp.end[0].qp[0], &req);
			rp_settle(&rp);
		}
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, W);
		for (i = 0; i < W; i++)
			if (pattern >> i & 1)
				bench_wire_deliver(&rp.wire, i);
		rp_session(&rp, 1)->answers = false;
		rp_poll(&rp, 1);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, W + 1);
		k = W;
		info = rp_info_of(&rp.wire.kept[k], 1);
		while (una < W && pattern >> una & 1)
			una++;
		CU_ASSERT_EQUAL(info.dgram->flags & WIRE_DGRAM_F_ACK, WIRE_DGRAM_F_ACK);
		CU_ASSERT_EQUAL(be32_get(info.dgram->dst_qpn), 0);
		CU_ASSERT_EQUAL(be32_get(info.rd->ack), psn + una);
		CU_ASSERT_EQUAL(be32_get(info.rd->epoch), sender()->epoch);
		CU_ASSERT_EQUAL(be64_get(info.ack->received[0]),
				una < W ? (uint64_t)pattern >> una : 0);
		CU_ASSERT_EQUAL(be64_get(info.ack->received[1]), 0);
		for (i = 0; i < 4; i++)
			CU_ASSERT_EQUAL(be64_get(info.ack->refused[i]), 0);
		CU_ASSERT_EQUAL(be32_get(info.ack->rnr_timer_ns), 0);
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		for (i = 0; i < W; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
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
	UT(echo_of_the_future), UT(refusal_outlives_lost_acks), UT(holes), UT(round_trip_times),
	UT(delayed_after_an_absence), UT(gaps), UT(leaves_before_a_sleep), UT(what_an_ack_says),
	UT(rnr_timer))
