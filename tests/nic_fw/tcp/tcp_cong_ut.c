/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUBIC against its formulas, for a flow without frames: growth where Reno is faster, time without
 * use, the state after a timeout. RFC 9438. And the window at the beginning, in slow start, through
 * a recovery, after a mark of ECN, and when a reduction is undone. RFC 6928, 6937, 3168.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	MSS = 1448,
};
#define RTT_NS    UINT64_C(100000)
#define SECOND_NS UINT64_C(1000000000)

struct one {
	struct fw_nic *nic;
	struct tcp_flow flow;
	struct tcp_aside aside;
};

/* A flow in congestion avoidance whose last reduction was from prior. */
static void one_open(struct one *o, uint32_t cwnd, uint32_t prior)
{
	memset(o, 0, sizeof(*o));
	o->nic = calloc(1, sizeof(*o->nic));
	CU_ASSERT_PTR_NOT_NULL_FATAL(o->nic);
	o->nic->now_ns = SECOND_NS;
	o->flow.aside = &o->aside;
	o->flow.mss = MSS;
	o->flow.state = TCP_ESTABLISHED;
	o->flow.rtt.srtt_ns = RTT_NS;
	o->flow.cwnd = cwnd;
	o->flow.ssthresh = cwnd;
	o->flow.cubic.w_max = prior;
	o->flow.cubic.prior = prior;
}

/*
 * A round trip in which all of cwnd, or another amount, is acknowledged by two segments at a time.
 */
static void round_trip(struct one *o, uint32_t bytes, bool limited)
{
	struct tcp_acked acked = {.bytes = 2 * MSS};
	uint32_t n = bytes / acked.bytes;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (limited)
			o->flow.flags |= TCP_F_LIMITED;
		else
			o->flow.flags &= (uint16_t)~TCP_F_LIMITED;
		o->nic->now_ns += RTT_NS / n;
		tcp_cong_acked(o->nic, &o->flow, &acked);
	}
}

/*
 * Short round trips follow Reno: half a segment each up to the former window, then one; large or
 * small.
 */
static void reno_friendly(void)
{
	static const uint32_t cwnds[] = {20 * MSS, 200 * MSS, 2000 * MSS};
	uint32_t i, k, before;
	struct one o;

	for (i = 0; i < sizeof(cwnds) / sizeof(cwnds[0]); i++) {
		one_open(&o, cwnds[i], cwnds[i] * 10 / 7);
		for (k = 0; k < 20; k++)
			round_trip(&o, o.flow.cwnd, true);
		CU_ASSERT(o.flow.cwnd - cwnds[i] > 19 * MSS * 529 / 1000 * 94 / 100);
		CU_ASSERT(o.flow.cwnd - cwnds[i] < 22 * MSS * 529 / 1000);
		/* Reno would be there by now: a segment for each round trip. */
		o.flow.cubic.prior = o.flow.cubic.w_est;
		before = o.flow.cwnd;
		for (k = 0; k < 20; k++)
			round_trip(&o, o.flow.cwnd, true);
		CU_ASSERT(o.flow.cwnd - before > 19 * MSS * 94 / 100);
		CU_ASSERT(o.flow.cwnd - before < 21 * MSS);
		free(o.nic);
	}
}

/*
 * Time in which cwnd was not used does not count: the window does not jump when it is used again.
 */
static void unused_time(void)
{
	uint32_t before, i;
	struct one o;

	one_open(&o, 100 * MSS, 140 * MSS);
	round_trip(&o, o.flow.cwnd, true);
	before = o.flow.cwnd;
	/* A minute of little use, for which W_cubic would be thousands of segments. */
	for (i = 0; i < 600; i++) {
		o.nic->now_ns += SECOND_NS / 10;
		round_trip(&o, 2 * MSS, false);
	}
	CU_ASSERT_EQUAL(o.flow.cwnd, before);
	round_trip(&o, o.flow.cwnd, true);
	CU_ASSERT(o.flow.cwnd < before + 2 * MSS);
	/* A minute of full use counts as one. */
	for (i = 0; i < 600; i++) {
		o.nic->now_ns += SECOND_NS / 10;
		round_trip(&o, 2 * MSS, true);
	}
	CU_ASSERT(o.flow.cwnd > before + 100 * MSS);
	/* The time since the last ACK moves the curve, no more. */
	before = (uint32_t)(o.flow.cubic.epoch_ns / 1000);
	o.nic->now_ns += 5000;
	round_trip(&o, 2 * MSS, false);
	CU_ASSERT_EQUAL(o.flow.cubic.epoch_ns / 1000, before + 5 + RTT_NS / 1000);
	free(o.nic);
}

/* After a timeout the plateau of the new epoch is where slow start ended: 4.8. */
static void after_timeout(void)
{
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_rto(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, MSS);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 70 * MSS);
	o.flow.flags = 0;
	o.flow.cwnd = o.flow.ssthresh;
	round_trip(&o, o.flow.cwnd, true);
	CU_ASSERT_EQUAL(o.flow.cubic.origin, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.k_ms1024, 0);
	/* A loss instead: back to the former 100, after K = cbrt(30 / 0.4) = 4.2 s. */
	free(o.nic);
	one_open(&o, 100 * MSS, 0);
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_lost(o.nic, &o.flow);
	o.flow.flags = 0;
	o.flow.cwnd = o.flow.ssthresh;
	round_trip(&o, o.flow.cwnd, true);
	CU_ASSERT_EQUAL(o.flow.cubic.origin, 100 * MSS);
	CU_ASSERT(o.flow.cubic.k_ms1024 > 4180 && o.flow.cubic.k_ms1024 < 4330);
	free(o.nic);
}

/*
 * Long round trips follow the cubic curve: C (t - K)^3 + W_max, concave up to the former window,
 * then convex: 4.2.
 */
static void the_cubic_curve(void)
{
	const uint64_t rtt_ns = SECOND_NS / 10;
	struct tcp_acked acked = {.bytes = 2 * MSS};
	double t = 0, k = 9.0856, want, got;
	struct one o;
	uint32_t n, i;

	one_open(&o, 700 * MSS, 1000 * MSS);
	o.flow.rtt.srtt_ns = rtt_ns;
	o.flow.flags = TCP_F_LIMITED;
	/* Earlier acknowledgements count for nothing. */
	o.flow.cubic.est_acked = 1 << 30;
	while (t < 16) {
		n = o.flow.cwnd / acked.bytes;
		for (i = 0; i < n; i++) {
			tcp_cong_acked(o.nic, &o.flow, &acked);
			o.nic->now_ns += rtt_ns / n;
		}
		t += 0.1;
		want = 0.4 * (t - k) * (t - k) * (t - k) + 1000;
		got = (double)o.flow.cwnd / MSS;
		/* It follows the curve with a delay of less than a round trip. */
		CU_ASSERT(got < want * 1.004 && got > want * 0.985);
	}
	CU_ASSERT_EQUAL(o.flow.cubic.origin, 1000 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.k_ms1024, (uint64_t)(k * 1024));
	free(o.nic);
}

/* In a round trip a window grows by half at most, and does not shrink: 4.2. */
static void bounds_of_the_curve(void)
{
	struct tcp_acked acked = {.bytes = 2 * MSS};
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.flags = TCP_F_LIMITED;
	o.flow.cubic.epoch_ns = 1;
	o.nic->now_ns = 60 * SECOND_NS;
	o.flow.cubic.origin = 1000 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 101 * MSS);
	/* Far before the plateau, and with a curve that begins below 0. */
	o.flow.cubic.k_ms1024 = 200 * 1024;
	o.flow.cubic.w_est = 0;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 101 * MSS);
	o.flow.cubic.origin = 10 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 101 * MSS);
	free(o.nic);
	/* The largest windows: K stays in its bounds. */
	one_open(&o, MSS, UINT32_MAX);
	o.flow.mss = 64;
	o.flow.flags = TCP_F_LIMITED;
	acked.bytes = 1;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	/* cbrt(2^22 / 0.4) = 218.9 s */
	CU_ASSERT(o.flow.cubic.k_ms1024 > 218 * 1024 && o.flow.cubic.k_ms1024 < 220 * 1024);
	free(o.nic);
	one_open(&o, MSS, MSS + (3 << 27));
	o.flow.mss = 64;
	o.flow.flags = TCP_F_LIMITED;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT(o.flow.cubic.k_ms1024 > 218 * 1024 && o.flow.cubic.k_ms1024 < 220 * 1024);
	free(o.nic);
}

static void the_first_window(void)
{
	struct one o;

	one_open(&o, 0, 0);
	/* RFC 6928: ten segments, at most 14600 bytes, at least two segments. */
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 10 * MSS);
	o.flow.mss = 500;
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 5000);
	o.flow.mss = 4000;
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 14600);
	o.flow.mss = 8948;
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 2 * 8948);
	/* A single lost SYN may come from a short timer. */
	o.flow.syn_tries = 1;
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 2 * 8948);
	o.flow.syn_tries = 2;
	tcp_cong_open(&o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 8948);
	free(o.nic);
}

static void room_in_the_window(void)
{
	struct one o;

	one_open(&o, 10 * MSS, 0);
	o.flow.pipe = 9 * MSS;
	CU_ASSERT_TRUE(tcp_cong_may_send(&o.flow, MSS));
	CU_ASSERT_FALSE(tcp_cong_may_send(&o.flow, MSS + 1));
	/* With nothing in flight a segment always goes. */
	o.flow.pipe = 0;
	CU_ASSERT_TRUE(tcp_cong_may_send(&o.flow, 11 * MSS));
	free(o.nic);
}

static void silence_takes_the_window_back(void)
{
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.rto_ns = 1000;
	o.flow.cubic.epoch_ns = 5;
	/* Nothing was sent yet. */
	tcp_cong_restart(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 100 * MSS);
	o.flow.sent_ns = o.nic->now_ns - 999;
	tcp_cong_restart(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 100 * MSS);
	/* Data in flight is no silence. */
	o.flow.sent_ns--;
	o.flow.snd_nxt++;
	tcp_cong_restart(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 100 * MSS);
	CU_ASSERT_FALSE(o.flow.fresh);
	o.flow.snd_nxt--;
	tcp_cong_restart(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 10 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.epoch_ns, 0);
	CU_ASSERT_TRUE(o.flow.fresh);
	/* A smaller window stays. */
	o.flow.cwnd = 3 * MSS;
	tcp_cong_restart(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 3 * MSS);
	free(o.nic);
}

static void slow_start(void)
{
	struct tcp_acked acked = {.bytes = 3 * MSS};
	struct one o;

	one_open(&o, 10 * MSS, 0);
	o.flow.ssthresh = 20 * MSS;
	o.flow.flags = TCP_F_LIMITED;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 13 * MSS);
	/* After a timeout by a segment at most. */
	o.flow.flags |= TCP_F_LOSS;
	o.flow.recover = o.flow.snd_una + 1;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 14 * MSS);
	acked.bytes = 5;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 14 * MSS + 5);
	/* The window of the peer held data back: up to twice the flight, but not after a timeout.
	 */
	o.flow.flags = TCP_F_LOSS;
	acked.bytes = 3 * MSS;
	o.flow.snd_nxt = o.flow.snd_una + 8 * MSS;
	acked.una_before = o.flow.snd_una;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 14 * MSS + 5);
	o.flow.flags = 0;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 17 * MSS + 5);
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 17 * MSS + 5);
	/* Nothing new is acknowledged. */
	acked.bytes = 0;
	o.flow.flags = TCP_F_LIMITED;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 17 * MSS + 5);
	/* There is a largest window. */
	acked.bytes = 3 * MSS;
	o.flow.ssthresh = UINT32_MAX;
	o.flow.cwnd = 1 << 28;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 1 << 28);
	o.flow.cwnd--;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, (1 << 28) - 1 + 3 * MSS);
	free(o.nic);
}

/* Proportional rate reduction: RFC 6937 3, with SSRB. */
static void a_recovery(void)
{
	struct tcp_acked acked = {.bytes = 0};
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.ssthresh = UINT32_MAX / 2;
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	o.flow.pipe = 97 * MSS;
	o.flow.lost = 3;
	o.flow.prr_out = o.flow.prr_delivered = 5000;
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_recoveries, 1);
	CU_ASSERT_TRUE(o.flow.flags & TCP_F_RECOVERY);
	CU_ASSERT_TRUE(o.flow.flags & TCP_F_PROBE);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.cwnd, 97 * MSS);
	CU_ASSERT_EQUAL(o.flow.recover, o.flow.snd_nxt);
	CU_ASSERT_EQUAL(o.flow.prr_out, 0);
	CU_ASSERT_EQUAL(o.flow.prr_delivered, 0);
	/* One reduction for all of them. */
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_recoveries, 1);
	/* 10 of 100 segments have left: 7 may be sent, of which 2 were. */
	acked.delivered = 10 * MSS;
	o.flow.pipe = 87 * MSS;
	o.flow.prr_out = 2 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 92 * MSS);
	/* More were sent than that. */
	o.flow.prr_out = 40 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 87 * MSS);
	/* Below the new window it grows: by those that left and a segment, up to the window. */
	o.flow.pipe = 50 * MSS;
	acked.delivered = 2 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 53 * MSS);
	o.flow.prr_out = 16 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 59 * MSS);
	o.flow.pipe = 69 * MSS;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 70 * MSS);
	/* It ends when all of that window is acknowledged. */
	o.flow.dup_acks = 5;
	o.flow.snd_una = o.flow.recover - 1;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_TRUE(o.flow.flags & TCP_F_RECOVERY);
	o.flow.snd_una++;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_FALSE(o.flow.flags & TCP_F_RECOVERY);
	CU_ASSERT_EQUAL(o.flow.cwnd, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.dup_acks, 0);
	free(o.nic);
}

static void a_window_of_two_segments_stays(void)
{
	struct one o;

	one_open(&o, 2 * MSS, 0);
	o.flow.snd_nxt = o.flow.snd_una + MSS;
	o.flow.pipe = 10;
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 2 * MSS);
	CU_ASSERT_EQUAL(o.flow.cwnd, MSS);
	CU_ASSERT_FALSE(o.flow.flags & TCP_F_PROBE);
	free(o.nic);
}

/* RFC 9438 4.7: a flow that loses below its former window leaves room to others. */
static void a_second_loss_gives_way(void)
{
	struct one o;

	one_open(&o, 100 * MSS, 200 * MSS);
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cubic.w_max, 85 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.prior, 100 * MSS);
	free(o.nic);
	one_open(&o, 100 * MSS, 100 * MSS);
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cubic.w_max, 100 * MSS);
	free(o.nic);
}

static void timeouts(void)
{
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.state = TCP_SYN_SENT;
	tcp_cong_rto(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_timeouts, 1);
	CU_ASSERT_EQUAL(o.flow.cwnd, 100 * MSS);
	o.flow.state = TCP_ESTABLISHED;
	o.flow.flags = TCP_F_RECOVERY;
	o.flow.reo_mult = 9;
	o.flow.dup_acks = 2;
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_rto(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.flags, TCP_F_LOSS);
	CU_ASSERT_EQUAL(o.flow.recover, o.flow.snd_nxt);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.cwnd, MSS);
	CU_ASSERT_EQUAL(o.flow.reo_mult, 1);
	CU_ASSERT_EQUAL(o.flow.dup_acks, 0);
	/* One reduction for the losses of one window, however many timeouts. */
	o.flow.cwnd = 50 * MSS;
	tcp_cong_rto(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.cwnd, MSS);
	/* The next window. */
	o.flow.snd_una = o.flow.recover;
	o.flow.snd_nxt = o.flow.snd_una + 20 * MSS;
	o.flow.cwnd = 20 * MSS;
	tcp_cong_rto(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 14 * MSS);
	free(o.nic);
}

/* A timeout's losses are repaired: slow start goes on from the window that it has reached. */
static void slow_start_goes_on_after_the_losses(void)
{
	struct tcp_acked acked = {.bytes = 2 * MSS};
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_rto(o.nic, &o.flow);
	o.flow.cwnd = 30 * MSS;
	o.flow.dup_acks = 4;
	o.flow.snd_una = o.flow.recover;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_FALSE(o.flow.flags & (TCP_F_LOSS | TCP_F_RECOVERY));
	CU_ASSERT_EQUAL(o.flow.dup_acks, 0);
	CU_ASSERT_EQUAL(o.flow.cwnd, 30 * MSS);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 70 * MSS);
	free(o.nic);
}

static void a_mark_cuts_once_in_a_round_trip(void)
{
	struct tcp_acked acked = {.undo = true};
	struct one o;

	one_open(&o, 100 * MSS, 0);
	o.flow.snd_una = 1000;
	o.flow.cwr_end = 1000;
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	tcp_cong_ecn(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_ecn_cuts, 0);
	o.flow.snd_una++;
	o.flow.flags = TCP_F_LOSS;
	tcp_cong_ecn(o.nic, &o.flow);
	o.flow.flags = TCP_F_RECOVERY;
	tcp_cong_ecn(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_ecn_cuts, 0);
	o.flow.flags = 0;
	o.flow.snd_nxt++;
	tcp_cong_ecn(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_ecn_cuts, 1);
	CU_ASSERT_EQUAL(o.flow.cwnd, 70 * MSS);
	CU_ASSERT_EQUAL(o.flow.cwr_end, o.flow.snd_nxt);
	CU_ASSERT_EQUAL(o.flow.flags, TCP_F_CWR);
	/* Nothing is undone: no segment was lost. */
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.flow.cwnd, 70 * MSS);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_undone, 0);
	tcp_cong_ecn(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_ecn_cuts, 1);
	free(o.nic);
}

static void a_reduction_that_was_needless_is_undone(void)
{
	struct tcp_acked acked = {.undo = true};
	struct one o;

	one_open(&o, 100 * MSS, 90 * MSS);
	fw_list_init(&o.flow.segs);
	o.flow.ssthresh = 95 * MSS;
	o.flow.cubic.epoch_ns = 77;
	o.flow.snd_nxt = o.flow.snd_una + 100 * MSS;
	o.flow.pipe = 100 * MSS;
	tcp_cong_lost(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cubic.epoch_ns, 0);
	o.flow.cwnd = 70 * MSS;
	o.flow.undo_retrans = 3;
	tcp_cong_acked(o.nic, &o.flow, &acked);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_undone, 1);
	CU_ASSERT_EQUAL(o.flow.cwnd, 100 * MSS);
	CU_ASSERT_EQUAL(o.flow.ssthresh, 95 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.w_max, 90 * MSS);
	CU_ASSERT_EQUAL(o.flow.cubic.epoch_ns, 77);
	CU_ASSERT_EQUAL(o.flow.undo_retrans, 0);
	CU_ASSERT_FALSE(o.flow.flags & TCP_F_RECOVERY);
	/* Once. */
	o.flow.cwnd = 10 * MSS;
	tcp_cong_undo(o.nic, &o.flow);
	CU_ASSERT_EQUAL(o.flow.cwnd, 10 * MSS);
	CU_ASSERT_EQUAL(o.nic->counters.tcp_undone, 1);
	/* Segments that are lost yet are repaired. */
	tcp_cong_lost(o.nic, &o.flow);
	o.flow.lost = 1;
	tcp_cong_undo(o.nic, &o.flow);
	CU_ASSERT_TRUE(o.flow.flags & TCP_F_RECOVERY);
	free(o.nic);
}

UT_MAIN("nic_fw/tcp/tcp_cong", UT(reno_friendly), UT(unused_time), UT(after_timeout),
	UT(the_cubic_curve), UT(bounds_of_the_curve), UT(the_first_window), UT(room_in_the_window),
	UT(silence_takes_the_window_back), UT(slow_start), UT(a_recovery),
	UT(a_window_of_two_segments_stays), UT(a_second_loss_gives_way), UT(timeouts),
	UT(slow_start_goes_on_after_the_losses), UT(a_mark_cuts_once_in_a_round_trip),
	UT(a_reduction_that_was_needless_is_undone))
