/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/dgram/rd_cong.c: the window as a function of the samples of a session, step by step.
 */
#include "nic_fw/dgram/rd_cong.c"
#include "tests/pair/rd_pair.h"

static struct fw_nic nic;
static struct rd_session s;

/* A session with a given window, after its first sign of congestion. */
static void begin(uint32_t cwnd_fp)
{
	memset(&nic, 0, sizeof(nic));
	memset(&s, 0, sizeof(s));
	nic.now_ns = 1000000000;
	rd_cong_init(&nic, &s);
	s.slow_start = false;
	s.rtt_ns = 10000;
	set_cwnd(&nic, &s, cwnd_fp);
	forget_path(&s);
	s.credit_limit = 100;
	nic.now_ns += 1000000;
}

/* One sample with the window in use. */
static void sample(uint32_t rtt_ns, uint32_t acked)
{
	s.sent = s.cwnd - (acked < s.cwnd ? acked : s.cwnd);
	s.rtt.srtt_ns = rtt_ns;
	rd_cong_sample(&nic, &s, rtt_ns, acked, false);
}

static void start_and_doubling(void)
{
	uint32_t want = CWND_START_FP;

	begin(256);
	rd_cong_init(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_START_FP);
	CU_ASSERT_EQUAL(s.cwnd, CWND_START_FP / 256);
	while (want < CWND_MAX_FP) {
		sample(10000, s.cwnd);
		want *= 2;
		CU_ASSERT_EQUAL(s.cwnd_fp, want);
	}
	sample(10000, s.cwnd);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_MAX_FP);
	/* The first sign of congestion ends slow start. */
	nic.now_ns += 1000000;
	sample(50000, 1);
	CU_ASSERT_FALSE(s.slow_start);
	CU_ASSERT_TRUE(s.cwnd_fp < CWND_MAX_FP);
}

/* The delay of packets that left before the first answer is no reason to shrink. */
static void first_flight(void)
{
	uint32_t i;

	begin(256);
	rd_cong_init(&nic, &s);
	nic.now_ns += 200000;
	for (i = 0; i < 8; i++) {
		sample(200000 + 3000 * i, 1);
		CU_ASSERT_EQUAL(s.cwnd_fp, CWND_START_FP);
		nic.now_ns += 3000;
	}
	/* Losses of that time neither, while the delay shows a queue. */
	rd_cong_loss(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_START_FP);
	CU_ASSERT_TRUE(s.slow_start);
	nic.now_ns += 200000;
	sample(200000, 1);
	CU_ASSERT_TRUE(s.cwnd_fp < CWND_START_FP);
	CU_ASSERT_FALSE(s.slow_start);
}

/* Growth of one packet per RTT in large windows, of an eighth in small ones. */
static void growth(void)
{
	uint32_t i;

	begin(32 * 256);
	for (i = 0; i < 32; i++)
		sample(10000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 33 * 256);
	begin(32 * 256);
	sample(10000, 32); /* one ACK for all: the same */
	CU_ASSERT_EQUAL(s.cwnd_fp, 33 * 256);
	begin(4 * 256);
	sample(10000, 4);
	CU_ASSERT_EQUAL(s.cwnd_fp, 4 * 256 + 128);
	/* Windows below one packet grow by their square: samples are rare there. */
	begin(128);
	sample(10000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 128 + 128 * 64 / (8 * 256));
	begin(4);
	sample(10000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 4 + STEP_MIN);
	/* A window that is not used does not grow. */
	begin(32 * 256);
	s.sent = 3;
	rd_cong_sample(&nic, &s, 10000, 1, false);
	CU_ASSERT_EQUAL(s.cwnd_fp, 32 * 256);
	/* An ACK without news does not grow it either. */
	sample(10000, 0);
	CU_ASSERT_EQUAL(s.cwnd_fp, 32 * 256);
}

static void targets(void)
{
	begin(256);
	CU_ASSERT_EQUAL(target_ns(&s), 40000 + 16000 - 1600);
	set_cwnd(&nic, &s, 16 * 256);
	CU_ASSERT_EQUAL(target_ns(&s), 40000 + 4000 - 1600);
	set_cwnd(&nic, &s, 100 * 256);
	CU_ASSERT_EQUAL(target_ns(&s), 40000);
	set_cwnd(&nic, &s, 128 * 256);
	CU_ASSERT_EQUAL(target_ns(&s), 40000);
	set_cwnd(&nic, &s, CWND_MIN_FP);
	CU_ASSERT_EQUAL(target_ns(&s), 90000);
	/* The target of a long path is its own delay and a quarter of it. */
	s.path_ns = 200000;
	CU_ASSERT_EQUAL(target_ns(&s), 90000 + 250000 - 40000);
}

/* A reduction takes four fifths of the excess, at most half, once per RTT. */
static void decrease(void)
{
	begin(100 * 256);
	sample(50000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 100 * 256 - 100 * 256 * 10 / 50 * 4 / 5);
	nic.now_ns += 49999;
	sample(50000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 84 * 256);
	nic.now_ns++;
	sample(50000, 1);
	CU_ASSERT_TRUE(s.cwnd_fp < 84 * 256);
	begin(100 * 256);
	sample(500000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 50 * 256);
	/* Below one packet it is in proportion to the window, as the growth is. */
	begin(128);
	sample(500000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, 128 - 64 * 64 / 256);
	begin(CWND_MIN_FP);
	sample(500000, 1);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_MIN_FP);
}

static void marks(void)
{
	begin(64 * 256);
	s.sent = 64;
	rd_cong_sample(&nic, &s, 10000, 1, true);
	CU_ASSERT_EQUAL(s.cwnd_fp, 56 * 256);
	nic.now_ns += 9999;
	rd_cong_sample(&nic, &s, 10000, 1, true);
	CU_ASSERT_EQUAL(s.cwnd_fp, 56 * 256);
	/* With both signals, the stronger one counts. */
	begin(100 * 256);
	s.sent = 100;
	rd_cong_sample(&nic, &s, 400000, 1, true);
	CU_ASSERT_EQUAL(s.cwnd_fp, 50 * 256);
}

/*
 * Without a queue a loss costs half a packet; with one it costs half of the window, once per RTT.
 */
static void losses(void)
{
	uint32_t i;

	begin(64 * 256);
	sample(10000, 0);
	for (i = 0; i < 8; i++)
		rd_cong_loss(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 60 * 256);
	begin(256);
	sample(10000, 0);
	rd_cong_loss(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 192);
	begin(64 * 256);
	s.rtt_ns = 100000;
	for (i = 0; i < 8; i++)
		rd_cong_loss(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 32 * 256);
	nic.now_ns += 100000;
	rd_cong_loss(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 16 * 256);
}

static void timeouts(void)
{
	begin(64 * 256);
	rd_cong_timeout(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 32 * 256);
	s.backoff = 1;
	rd_cong_timeout(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 256);
	CU_ASSERT_EQUAL(s.cwnd, 1);
	for (s.backoff = 2; s.backoff < 10; s.backoff++)
		rd_cong_timeout(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_TIMEOUT_FP);
	set_cwnd(&nic, &s, CWND_MIN_FP);
	rd_cong_timeout(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_MIN_FP);
	rd_cong_restore(&nic, &s, 8 * 256);
	CU_ASSERT_EQUAL(s.cwnd_fp, 8 * 256);
	rd_cong_restore(&nic, &s, 256);
	CU_ASSERT_EQUAL(s.cwnd_fp, 8 * 256);
}

static void off(void)
{
	begin(256);
	nic.config.cc_off = true;
	rd_cong_init(&nic, &s);
	sample(500000, 1);
	rd_cong_loss(&nic, &s);
	rd_cong_timeout(&nic, &s);
	nic.now_ns += 1000000000;
	rd_cong_start(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd, WIRE_RD_WINDOW);
	CU_ASSERT_EQUAL(rd_cong_pace_ns(&nic, &s), 0);
}

static void pace(void)
{
	begin(256);
	CU_ASSERT_EQUAL(rd_cong_pace_ns(&nic, &s), 0);
	set_cwnd(&nic, &s, 64);
	CU_ASSERT_EQUAL(target_ns(&s), 70400);
	s.rtt_ns = 70400; /* at the target: target over window */
	CU_ASSERT_EQUAL(rd_cong_pace_ns(&nic, &s), nic.now_ns + 4 * 70400);
	s.rtt_ns = 90400; /* above it: half of the excess is added */
	CU_ASSERT_EQUAL(rd_cong_pace_ns(&nic, &s), nic.now_ns + 4 * 70400 + 10000);
	s.rtt_ns = 20400;
	CU_ASSERT_EQUAL(rd_cong_pace_ns(&nic, &s), nic.now_ns + 4 * 70400 - 25000);
}

/* An idle session starts again; one that waits for its pace is not idle. */
static void idle(void)
{
	begin(100 * 256);
	s.rtt.srtt_ns = 10000;
	s.rto_base_ns = nic.now_ns;
	nic.now_ns += CONG_IDLE_NS + 40000;
	rd_cong_start(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd, 100);
	nic.now_ns++;
	rd_cong_start(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_START_FP);
	CU_ASSERT_TRUE(s.slow_start);
	begin(CWND_MIN_FP);
	s.rto_base_ns = nic.now_ns;
	nic.now_ns = rd_cong_pace_ns(&nic, &s);
	CU_ASSERT_TRUE(nic.now_ns > s.rto_base_ns + CONG_IDLE_NS);
	rd_cong_start(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_MIN_FP);
	/* A session that has begun anew does not wait for the pace of the one before. */
	(void)rd_cong_pace_ns(&nic, &s);
	rd_cong_init(&nic, &s);
	set_cwnd(&nic, &s, 100 * 256);
	s.rto_base_ns = nic.now_ns;
	nic.now_ns += CONG_IDLE_NS + 1;
	rd_cong_start(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, CWND_START_FP);
}

/* Delay that a smaller window does not shorten belongs to the path; a loss disproves that. */
static void long_path(void)
{
	uint32_t i, lost;

	for (lost = 0; lost < 2; lost++) {
		begin(8 * 256);
		for (i = 0; i < 200 && !s.path_ns; i++) {
			nic.now_ns += 1000000;
			sample(200000, 1);
			if (lost && i % 4 == 3)
				rd_cong_loss(&nic, &s);
		}
		CU_ASSERT_EQUAL(s.path_ns, lost ? 0 : 200000);
		CU_ASSERT_TRUE(lost || s.cwnd_fp == CWND_START_FP);
	}
	begin(8 * 256);
	s.path_ns = 200000;
	sample(200000, 8); /* is below the target now */
	CU_ASSERT_EQUAL(s.cwnd_fp, 9 * 256);
	for (i = 0; i < 100; i++)
		sample(10000, 1); /* it was a queue nevertheless */
	CU_ASSERT_TRUE(s.path_ns < 11000);
}

/* If the peer's grants are the limit, delay and loss are left to the peer. */
static void limited_by_grants(void)
{
	begin(8 * 256);
	s.credit_used = s.credit_limit;
	sample(500000, 1);
	rd_cong_loss(&nic, &s);
	rd_cong_timeout(&nic, &s);
	CU_ASSERT_EQUAL(s.cwnd_fp, 8 * 256);
	sample(1000, 8);
	CU_ASSERT_EQUAL(s.cwnd_fp, 8 * 256);
}

UT_MAIN("pair/rd_cong", UT(start_and_doubling), UT(first_flight), UT(growth), UT(targets),
	UT(decrease), UT(marks), UT(losses), UT(timeouts), UT(off), UT(pace), UT(idle),
	UT(long_path), UT(limited_by_grants))
