/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of RD: a window that keeps the delay near a target, as Swift does.
 *
 * Each RTT sample below the target lets the window grow by one packet per RTT; above it
 * the window shrinks in proportion to the excess, at most once per RTT. An ECN echo and a
 * loss are further signs. Below one packet the window becomes a pace: one packet every
 * srtt / cwnd. A refusal (no receive posted) is no sign of congestion and never comes here.
 * While a session is uncongested (full window, delay below target) a sample costs two compares.
 * Called by rd_ack.c (samples, loss), rd_timer.c (time-out), rd_tx.c (window, pace).
 * Source: Kumar et al., "Swift" (SIGCOMM 2020), sections 3.1-3.5.
 */
#include "nic_fw/fw_nic.h"

enum {
	CWND_ONE = 256, /* cwnd_fp is in 1/256 of a packet */
	CWND_MIN_FP = CWND_ONE / 64,
	CWND_MAX_FP = WIRE_RD_WINDOW * CWND_ONE,
	CWND_START_FP = 32 * CWND_ONE,
	CWND_AFTER_TIMEOUT_FP = CWND_ONE,
	MD_MAX_SHIFT = 1, /* at most halved in one RTT */
};
#define CONG_TARGET_NS     UINT64_C(40000)
#define CONG_FLOW_SCALE_NS UINT64_C(40000) /* added to the target of a window of one packet */

static uint32_t isqrt(uint32_t x)
{
	uint32_t r = 0;
	uint32_t bit = 1u << 30;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= r + bit) {
			x -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	return r;
}

/* Small windows get a larger target, so that many flows share a port fairly (Swift 3.4). */
static uint64_t target_ns(const struct rd_session *s)
{
	uint32_t root = isqrt(s->cwnd_fp); /* 16 for one packet */

	if (root <= 16)
		return CONG_TARGET_NS + CONG_FLOW_SCALE_NS;
	return CONG_TARGET_NS + CONG_FLOW_SCALE_NS * 16 / root;
}

static void set_cwnd(struct rd_session *s, uint32_t fp)
{
	if (fp < CWND_MIN_FP)
		fp = CWND_MIN_FP;
	if (fp > CWND_MAX_FP)
		fp = CWND_MAX_FP;
	s->cwnd_fp = fp;
	s->cwnd = fp < CWND_ONE ? 1 : fp / CWND_ONE;
}

void rd_cong_init(const struct fw_nic *nic, struct rd_session *s)
{
	set_cwnd(s, nic->config.cc_off ? CWND_MAX_FP : CWND_START_FP);
	s->cut_ns = nic->now_ns;
	s->pace_ns = 0;
}

/* One decrease per RTT: what was in flight before it says nothing new. */
static bool may_cut(struct fw_nic *nic, struct rd_session *s)
{
	if (nic->now_ns - s->cut_ns < s->srtt_ns)
		return false;
	s->cut_ns = nic->now_ns;
	return true;
}

void rd_cong_sample(struct fw_nic *nic, struct rd_session *s, uint32_t rtt_ns, bool ece)
{
	uint64_t target;
	uint64_t cut;

	/* Bypass: the usual case of an uncongested network. */
	if (nic->config.cc_off || (s->cwnd_fp == CWND_MAX_FP && rtt_ns < CONG_TARGET_NS && !ece))
		return;
	target = target_ns(s);
	if (rtt_ns < target && !ece) {
		/* One packet per RTT; a window's worth of samples comes in an RTT. */
		uint32_t step = s->cwnd_fp >= CWND_ONE ? CWND_ONE / s->cwnd : CWND_ONE / 8;

		set_cwnd(s, s->cwnd_fp + (step ? step : 1));
		return;
	}
	if (!may_cut(nic, s))
		return;
	cut = s->cwnd_fp / 8;
	if (rtt_ns > target)
		cut = s->cwnd_fp * (rtt_ns - target) / rtt_ns * 4 / 5;
	if (cut > s->cwnd_fp >> MD_MAX_SHIFT)
		cut = s->cwnd_fp >> MD_MAX_SHIFT;
	FW_COUNT(nic, rd_cwnd_cuts);
	set_cwnd(s, s->cwnd_fp - (uint32_t)cut);
}

void rd_cong_loss(struct fw_nic *nic, struct rd_session *s)
{
	if (nic->config.cc_off || !may_cut(nic, s))
		return;
	FW_COUNT(nic, rd_cwnd_cuts);
	set_cwnd(s, s->cwnd_fp - s->cwnd_fp / 4);
}

void rd_cong_timeout(struct fw_nic *nic, struct rd_session *s)
{
	if (nic->config.cc_off)
		return;
	FW_COUNT(nic, rd_cwnd_cuts);
	s->cut_ns = nic->now_ns;
	set_cwnd(s,
		 s->cwnd_fp / 2 < CWND_AFTER_TIMEOUT_FP ? s->cwnd_fp / 2 : CWND_AFTER_TIMEOUT_FP);
}

void rd_cong_restore(struct rd_session *s, uint32_t cwnd_fp)
{
	if (cwnd_fp > s->cwnd_fp)
		set_cwnd(s, cwnd_fp);
}

uint64_t rd_cong_pace_ns(const struct rd_session *s)
{
	if (s->cwnd_fp >= CWND_ONE)
		return 0;
	return (uint64_t)s->srtt_ns * CWND_ONE / s->cwnd_fp;
}
