/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion window: slow start, CUBIC, proportional rate reduction in recovery, ECN.
 *
 * tcp_ack.c, tcp_timer.c and tcp_tx.c use it; it calls no other stage. All in integers: windows in
 * bytes, CUBIC's time in 1/1024 s. RFC 5681, 6928 (initial window), 9438 (CUBIC), 6937 (PRR), 3168,
 * 3708 (a reduction that DSACK shows to be needless is undone; timeouts: tcp_frto.c).
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	CWND_MAX = 1 << 28,
	BETA_PERCENT = 70,          /* RFC 9438 4.6 */
	CONVERGENCE_PERCENT = 85,   /* (1 + beta) / 2, 4.7 */
	ALPHA_PERMILLE = 529,       /* 3 (1 - beta) / (1 + beta), 4.3 */
	IW_BYTES = 14600,           /* RFC 6928 2 */
	EST_STEP_BYTES = 16,        /* least growth of W_est: fractions add up */
	DELTA_MAX_MS1024 = 1 << 15, /* 32 s: the cubes stay within 64 bits */
};

void tcp_cong_open(struct tcp_flow *flow)
{
	uint32_t iw = tcp_max(2u * flow->mss, IW_BYTES);

	flow->cwnd = tcp_min(TCP_IW_SEGMENTS * (uint32_t)flow->mss, iw);
	/* RFC 6928 2: a single timeout may come from a timer that was too short. */
	if (flow->syn_tries > 1)
		flow->cwnd = flow->mss;
}

bool tcp_cong_may_send(const struct tcp_flow *flow, uint32_t bytes)
{
	return !flow->pipe || flow->pipe + bytes <= flow->cwnd;
}

void tcp_cong_restart(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint32_t cwnd = flow->cwnd;

	if (!flow->sent_ns || nic->now_ns - flow->sent_ns < flow->rto_ns ||
	    flow->snd_una != flow->snd_nxt)
		return;
	tcp_cong_open(flow);
	flow->cwnd = tcp_min(flow->cwnd, cwnd);
	flow->cubic.epoch_ns = 0;
	flow->fresh = true;
}

/* ---- CUBIC ----------------------------------------------------------------------------------- */

static uint64_t cube_root(uint64_t x)
{
	uint64_t low = 0, high = 1 << 21;

	while (low + 1 < high) {
		uint64_t mid = (low + high) / 2;

		if (mid * mid * mid <= x)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void begin_epoch(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_cubic *c = &flow->cubic;

	c->epoch_ns = nic->now_ns;
	c->seen_ns = nic->now_ns;
	c->w_est = flow->cwnd;
	c->est_acked = 0;
	c->k_ms1024 = 0;
	c->origin = flow->cwnd;
	if (flow->cwnd < c->w_max) {
		/* K = cbrt((w_max - cwnd) / C), C = 0.4, segments and seconds */
		uint64_t segs_1024 = (uint64_t)(c->w_max - flow->cwnd) * 1024 / flow->mss;

		c->origin = c->w_max;
		if (segs_1024 > UINT64_C(1) << 32)
			segs_1024 = UINT64_C(1) << 32;
		c->k_ms1024 = cube_root((segs_1024 << 20) / 2 * 5);
	}
}

/* W_cubic a round trip from now, 4.2. */
static uint32_t cubic_target(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	const struct tcp_cubic *c = &flow->cubic;
	uint64_t t = (nic->now_ns - c->epoch_ns + flow->rtt.srtt_ns) / 1000 * 1024 / 1000000;
	bool before = t < c->k_ms1024;
	uint64_t d = before ? c->k_ms1024 - t : t - c->k_ms1024, delta, target;

	if (d > DELTA_MAX_MS1024)
		d = DELTA_MAX_MS1024;
	delta = (d * d * d * 2 / 5 >> 10) * flow->mss >> 20;
	if (before)
		target = delta < c->origin ? c->origin - delta : 0;
	else
		target = c->origin + delta;
	if (target < flow->cwnd)
		return flow->cwnd;
	if (target > flow->cwnd + flow->cwnd / 2)
		return flow->cwnd + flow->cwnd / 2;
	return (uint32_t)target;
}

/* W_est, 4.3. */
static void grow_reno(struct tcp_flow *flow, uint32_t bytes)
{
	struct tcp_cubic *c = &flow->cubic;
	uint64_t alpha = c->w_est < c->prior ? ALPHA_PERMILLE : 1000, more;

	c->est_acked += bytes;
	more = alpha * c->est_acked * flow->mss / flow->cwnd / 1000;
	if (more < EST_STEP_BYTES)
		return;
	c->w_est += (uint32_t)more;
	c->est_acked = 0;
}

static void avoid(struct fw_nic *nic, struct tcp_flow *flow, uint32_t bytes)
{
	struct tcp_cubic *c = &flow->cubic;
	uint32_t target;

	if (!c->epoch_ns)
		begin_epoch(nic, flow);
	target = cubic_target(nic, flow);
	grow_reno(flow, bytes);
	flow->cwnd += (uint32_t)((uint64_t)(target - flow->cwnd) * bytes / flow->cwnd);
	/* In the Reno-friendly region, at least Reno's window: 4.3. */
	if (flow->cwnd < c->w_est)
		flow->cwnd = c->w_est;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void tcp_cong_cut(struct tcp_flow *flow)
{
	struct tcp_cubic *c = &flow->cubic;
	uint32_t flight = tcp_min(flow->snd_nxt - flow->snd_una, flow->cwnd);

	flow->cut_cwnd = flow->cwnd;
	flow->aside->cut_ssthresh = flow->ssthresh;
	flow->aside->cut_cubic = *c;
	flow->undo_retrans = 0;
	c->prior = flow->cwnd;
	c->w_max = flow->cwnd < c->w_max
		       ? (uint32_t)((uint64_t)flow->cwnd * CONVERGENCE_PERCENT / 100)
		       : flow->cwnd;
	c->epoch_ns = 0;
	flow->ssthresh = tcp_max((uint32_t)((uint64_t)flight * BETA_PERCENT / 100), 2u * flow->mss);
}

void tcp_cong_lost(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS))
		return;
	FW_COUNT(nic, tcp_recoveries);
	tcp_cong_cut(flow);
	flow->flags |= TCP_F_RECOVERY;
	/* The first lost segment is sent again whatever is in flight. */
	if (flow->lost)
		flow->flags |= TCP_F_PROBE;
	flow->recover = flow->snd_nxt;
	flow->prr_flight = tcp_max(flow->snd_nxt - flow->snd_una, flow->mss);
	flow->prr_delivered = 0;
	flow->prr_out = 0;
	flow->cwnd = tcp_max(flow->pipe, flow->mss);
	if (flow->reo_persist && !--flow->reo_persist)
		flow->reo_mult = 1;
}

void tcp_cong_rto(struct fw_nic *nic, struct tcp_flow *flow)
{
	FW_COUNT(nic, tcp_timeouts);
	/* tcp_cong_open() accounts for a lost SYN. */
	if (!tcp_synchronized(flow))
		return;
	/* One reduction for the losses of one window: RFC 5681 3.1 (4). */
	if (!(flow->flags & TCP_F_LOSS) || seq_leq(flow->recover, flow->snd_una))
		tcp_cong_cut(flow);
	flow->flags &= (uint16_t)~TCP_F_RECOVERY;
	flow->flags |= TCP_F_LOSS;
	flow->recover = flow->snd_nxt;
	flow->cwnd = flow->mss;
	flow->cubic.w_max = 0; /* RFC 9438 4.8: the next epoch begins where slow start ends */
	flow->dup_acks = 0;
	flow->reo_mult = 1;
}

void tcp_cong_ecn(struct fw_nic *nic, struct tcp_flow *flow)
{
	/* At most once a round trip: the ACK of data that was in flight may still echo the mark. */
	if (seq_leq(flow->snd_una, flow->cwr_end) || flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS))
		return;
	FW_COUNT(nic, tcp_ecn_cuts);
	tcp_cong_cut(flow);
	flow->cwnd = tcp_min(flow->cwnd, flow->ssthresh);
	flow->cwr_end = flow->snd_nxt;
	flow->flags |= TCP_F_CWR;
	flow->cut_cwnd = 0; /* no loss: nothing to undo */
}

/* RFC 6937 3: one segment for each that left the network, scaled to the new window. */
static void reduce(struct tcp_flow *flow, const struct tcp_acked *acked)
{
	uint32_t count = 0, limit;

	flow->prr_delivered += acked->delivered;
	if (flow->pipe > flow->ssthresh) {
		uint64_t want =
		    ((uint64_t)flow->prr_delivered * flow->ssthresh + flow->prr_flight - 1) /
		    flow->prr_flight;

		if (want > flow->prr_out)
			count = (uint32_t)(want - flow->prr_out);
	} else {
		limit =
		    flow->prr_delivered > flow->prr_out ? flow->prr_delivered - flow->prr_out : 0;
		limit = tcp_max(limit, acked->delivered) + flow->mss;
		count = tcp_min(flow->ssthresh - flow->pipe, limit);
	}
	flow->cwnd = flow->pipe + count;
}

void tcp_cong_undo(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!flow->cut_cwnd)
		return;
	FW_COUNT(nic, tcp_undone);
	flow->cwnd = tcp_max(flow->cwnd, flow->cut_cwnd);
	flow->ssthresh = tcp_max(flow->ssthresh, flow->aside->cut_ssthresh);
	/* RFC 9438 4.9 */
	flow->cubic = flow->aside->cut_cubic;
	flow->cut_cwnd = 0;
	flow->undo_retrans = 0;
	if (flow->flags & TCP_F_LOSS)
		tcp_mark_none_lost(flow);
	if (!flow->lost)
		flow->flags &= (uint16_t) ~(TCP_F_RECOVERY | TCP_F_LOSS);
}

void tcp_cong_acked(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked)
{
	if (acked->undo)
		tcp_cong_undo(nic, flow);
	if (flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS) && seq_leq(flow->recover, flow->snd_una)) {
		if (flow->flags & TCP_F_RECOVERY)
			flow->cwnd = tcp_max(flow->ssthresh, flow->mss);
		flow->flags &= (uint16_t) ~(TCP_F_RECOVERY | TCP_F_LOSS);
		flow->dup_acks = 0;
		return;
	}
	if (flow->flags & TCP_F_RECOVERY) {
		reduce(flow, acked);
		return;
	}
	if (!acked->bytes)
		return;
	/*
	 * Unused window is not validated and does not count as CUBIC's time: RFC 7661 4.3, RFC 9438
	 * 5.8.
	 */
	if (!(flow->flags & TCP_F_LIMITED)) {
		/*
		 * Slow start may double the flight of a round trip: a peer that opens its window
		 * step by step waits for no congestion window.
		 */
		if (flow->cwnd < flow->ssthresh && !(flow->flags & TCP_F_LOSS) &&
		    flow->cwnd < 2 * (flow->snd_nxt - acked->una_before))
			flow->cwnd += acked->bytes;
		if (flow->cubic.epoch_ns)
			flow->cubic.epoch_ns += nic->now_ns - flow->cubic.seen_ns;
		flow->cubic.seen_ns = nic->now_ns;
		return;
	}
	flow->cubic.seen_ns = nic->now_ns;
	if (flow->cwnd >= CWND_MAX)
		return;
	if (flow->cwnd < flow->ssthresh)
		flow->cwnd +=
		    flow->flags & TCP_F_LOSS ? tcp_min(acked->bytes, flow->mss) : acked->bytes;
	else
		avoid(nic, flow, acked->bytes);
}
