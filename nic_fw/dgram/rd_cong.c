/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of RD: a window that keeps the delay near a target, as Swift does.
 *
 * While the delay is below the target the window grows: it doubles each RTT until the first sign of
 * congestion, then by a packet per RTT, or an eighth of itself where that is less, so that many
 * small windows together do not overrun a short queue. Above the target it shrinks in proportion to
 * the excess, at most once per RTT. An ECN echo is a further sign. A loss is one as far as the
 * delay agrees: with a queue it halves the window, as Swift's does; without one it costs half a
 * packet, so that the response to a bad cable is proportional to its losses. Small windows have a
 * larger target, which equalizes windows that share a port.
 *
 * Below one packet the window is a pace: one packet every target / cwnd, later by half of the
 * excess of the delay over the target, or sooner by half of what is missing. Swift's rtt / cwnd
 * reacts to an RTT that is rtt / cwnd old, and many such senders fill and empty the queue in turns.
 *
 * A window that is not used carries no information about the network: it neither grows nor shrinks.
 * Nor does the window of a session that waits for grants (rd_grant.c), whose delay the receiver
 * controls. After an idle time the session starts afresh. A refusal (no receive posted) is no sign
 * of congestion and is not reported here. Source: Kumar et al., "Swift" (SIGCOMM 2020), sections
 * 3.1-3.5; RFC 7661 4.3.
 */
#include "nic_fw/fw_nic.h"

enum {
	CWND_ONE = 256, /* cwnd_fp is in 1/256 of a packet */
	CWND_MIN_FP = CWND_ONE / 64,
	CWND_MAX_FP = WIRE_RD_WINDOW * CWND_ONE,
	CWND_START_FP = 8 * CWND_ONE,
	CWND_TIMEOUT_FP = CWND_ONE / 16, /* only the delay makes a window smaller than this */
	STEP_MIN = 2,
	PATH_SAMPLES = 8,
	GROWTH_SHARE = 8, /* of the window, at most, per RTT */
};
/*
 * Target delay of a window of 100 packets and more. A window of one packet has CONG_SCALE_NS more;
 * windows between them are interpolated.
 */
#define CONG_TARGET_NS     UINT64_C(40000)
#define CONG_SCALE_NS      UINT64_C(16000)
#define CONG_TARGET_MAX_NS UINT64_C(90000)
#define CONG_IDLE_NS       UINT64_C(1000000)

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

/*
 * Returns the target with Swift's flow scaling (3.5): it falls with the root of the window. A path
 * that is known to be long has its own length, and a quarter of that for its queues.
 */
static uint64_t target_ns(const struct rd_session *s)
{
	uint32_t root = isqrt(s->cwnd_fp << 8); /* 256 for one packet, 2560 for a hundred */
	uint64_t queue_ns = s->path_ns / 4 > CONG_TARGET_NS ? s->path_ns / 4 : CONG_TARGET_NS;
	uint64_t ns = 0;

	if (root < 2560)
		ns += CONG_SCALE_NS * 256 / root - CONG_SCALE_NS / 10;
	if (ns > CONG_TARGET_MAX_NS - CONG_TARGET_NS)
		ns = CONG_TARGET_MAX_NS - CONG_TARGET_NS;
	return s->path_ns + queue_ns + ns;
}

static void set_cwnd(struct fw_nic *nic, struct rd_session *s, uint32_t fp)
{
	if (fp < CWND_MIN_FP)
		fp = CWND_MIN_FP;
	if (fp > CWND_MAX_FP)
		fp = CWND_MAX_FP;
	s->cwnd_fp = fp;
	s->cwnd = fp < CWND_ONE ? 1 : fp / CWND_ONE;
	fw_trace(nic, TRACE_RD_WINDOW, 0, fp, s->rtt_ns);
}

static void forget_path(struct rd_session *s)
{
	s->path_from_fp = s->cwnd_fp;
	s->path_above = 0;
	s->path_below = 0;
}

/*
 * True if a delay that stays above the target is the path's own. Windows that share a queue and all
 * shrink empty it before this one has shrunk to an eighth and below a quarter of a packet. If this
 * window shrank that far, lost nothing and had hardly a sample below the target, the delay is the
 * path's.
 */
static bool is_long_path(struct rd_session *s, bool above)
{
	if (!above) {
		if (s->path_below < UINT16_MAX)
			s->path_below++;
		if (s->path_below > PATH_SAMPLES && s->path_below * 8 > s->path_above)
			forget_path(s);
		return false;
	}
	if (s->path_above < UINT16_MAX)
		s->path_above++;
	return s->path_above >= PATH_SAMPLES && s->path_below * 8 <= s->path_above &&
	       s->cwnd_fp <= s->path_from_fp / 8 && s->cwnd_fp <= CWND_ONE / 4;
}

void rd_cong_init(struct fw_nic *nic, struct rd_session *s)
{
	set_cwnd(nic, s, nic->config.cc_off ? CWND_MAX_FP : CWND_START_FP);
	s->cut_ns = nic->now_ns;
	s->pace_ns = 0;
	s->rtt_ns = 0;
	s->slow_start = true;
	forget_path(s);
}

/* One decrease per RTT: packets sent before a decrease carry no new information. */
static bool may_cut(struct fw_nic *nic, struct rd_session *s)
{
	if (nic->now_ns - s->cut_ns < s->rtt_ns)
		return false;
	s->cut_ns = nic->now_ns;
	s->slow_start = false;
	return true;
}

static void rd_cong_cut(struct fw_nic *nic, struct rd_session *s, uint32_t fp)
{
	FW_COUNT(nic, rd_cwnd_cuts);
	set_cwnd(nic, s, s->cwnd_fp - fp);
}

/*
 * Below one packet the next sample comes after an RTT divided by the window, and reflects the
 * change made one such time before. The smaller the window, the less each sample may change.
 */
static uint32_t paced_gain(const struct rd_session *s)
{
	if (s->cwnd_fp >= CWND_ONE)
		return CWND_ONE;
	return s->cwnd_fp < CWND_ONE / 4 ? CWND_ONE / 8 : s->cwnd_fp / 2;
}

/* The increase per acknowledged packet adds up to the increase per RTT. */
static void grow(struct fw_nic *nic, struct rd_session *s, uint32_t acked)
{
	uint32_t step = CWND_ONE / GROWTH_SHARE;

	if (s->slow_start)
		step = CWND_ONE;
	else if (s->cwnd > GROWTH_SHARE)
		step = CWND_ONE / s->cwnd;
	else if (s->cwnd_fp < CWND_ONE)
		step = s->cwnd_fp * paced_gain(s) / (GROWTH_SHARE * CWND_ONE);
	set_cwnd(nic, s, s->cwnd_fp + (step > STEP_MIN ? step : STEP_MIN) * acked);
}

void rd_cong_sample(struct fw_nic *nic, struct rd_session *s, uint32_t rtt_ns, uint32_t acked,
		    bool ece)
{
	uint32_t in_flight = s->sent + acked;
	uint64_t target;
	uint64_t by;

	/*
	 * The first flight was permitted before its receiver knew who else sends: its delay says
	 * how many began at once, which grants answer, and no cut.
	 */
	if (!s->rtt_ns)
		s->cut_ns = nic->now_ns;
	s->rtt_ns = rtt_ns;
	if (rtt_ns < s->path_ns)
		s->path_ns -= (s->path_ns - rtt_ns) / 8;
	/* A window that does not limit the session carries no information. */
	if (nic->config.cc_off || (!ece && (2 * in_flight < s->cwnd || !rd_has_credit(s))))
		return;
	target = target_ns(s);
	if (is_long_path(s, rtt_ns >= target)) {
		rd_cong_init(nic, s);
		s->path_ns = (uint32_t)s->rtt.srtt_ns;
		return;
	}
	if (rtt_ns < target && !ece) {
		grow(nic, s, acked);
		return;
	}
	if (!may_cut(nic, s))
		return;
	by = s->cwnd_fp / 8;
	if (rtt_ns > target)
		by = s->cwnd_fp * (rtt_ns - target) / rtt_ns * 4 / 5;
	if (by > s->cwnd_fp / 2)
		by = s->cwnd_fp / 2;
	rd_cong_cut(nic, s, (uint32_t)by * paced_gain(s) / CWND_ONE);
}

void rd_cong_loss(struct fw_nic *nic, struct rd_session *s)
{
	if (nic->config.cc_off || !rd_has_credit(s))
		return;
	forget_path(s);
	if (s->rtt_ns >= target_ns(s)) {
		if (may_cut(nic, s))
			rd_cong_cut(nic, s, s->cwnd_fp / 2 * paced_gain(s) / CWND_ONE);
	} else if (s->cwnd_fp / 4 > CWND_ONE / 2) {
		rd_cong_cut(nic, s, CWND_ONE / 2);
	} else {
		rd_cong_cut(nic, s, s->cwnd_fp / 4 * paced_gain(s) / CWND_ONE);
	}
}

void rd_cong_timeout(struct fw_nic *nic, struct rd_session *s)
{
	uint32_t to_fp = s->cwnd_fp / 2;

	if (nic->config.cc_off || !rd_has_credit(s))
		return;
	s->cut_ns = nic->now_ns;
	s->slow_start = false;
	forget_path(s);
	/*
	 * A further time-out without any answer: the network may be gone, and one packet suffices
	 * to test it.
	 */
	if (s->backoff && to_fp > CWND_ONE)
		to_fp = CWND_ONE;
	if (to_fp < CWND_TIMEOUT_FP)
		to_fp = s->cwnd_fp < CWND_TIMEOUT_FP ? s->cwnd_fp : CWND_TIMEOUT_FP;
	rd_cong_cut(nic, s, s->cwnd_fp - to_fp);
}

void rd_cong_restore(struct fw_nic *nic, struct rd_session *s, uint32_t cwnd_fp)
{
	if (cwnd_fp > s->cwnd_fp)
		set_cwnd(nic, s, cwnd_fp);
}

void rd_cong_start(struct fw_nic *nic, struct rd_session *s)
{
	uint64_t since_ns = s->rto_base_ns > s->pace_ns ? s->rto_base_ns : s->pace_ns;

	if (nic->now_ns <= since_ns + CONG_IDLE_NS + 4 * s->rtt.srtt_ns)
		return;
	rd_grant_idle(s);
	if (!nic->config.cc_off)
		rd_cong_init(nic, s);
}

uint64_t rd_cong_pace_ns(const struct fw_nic *nic, struct rd_session *s)
{
	uint64_t target;
	uint64_t gap;

	if (s->cwnd_fp >= CWND_ONE)
		return 0;
	target = target_ns(s);
	gap = target * CWND_ONE / s->cwnd_fp - target / 2 + s->rtt_ns / 2;
	s->pace_ns = nic->now_ns + gap;
	return s->pace_ns;
}
