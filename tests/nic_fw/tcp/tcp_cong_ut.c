/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUBIC against its formulas, for a flow without frames: growth where Reno is faster, time without
 * use, the state after a timeout. RFC 9438.
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
};

/* A flow in congestion avoidance whose last reduction was from prior. */
static void one_open(struct one *o, uint32_t cwnd, uint32_t prior)
{
	memset(o, 0, sizeof(*o));
	o->nic = calloc(1, sizeof(*o->nic));
	CU_ASSERT_PTR_NOT_NULL_FATAL(o->nic);
	o->nic->now_ns = SECOND_NS;
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

UT_MAIN("nic_fw/tcp/tcp_cong", UT(reno_friendly), UT(unused_time), UT(after_timeout))
