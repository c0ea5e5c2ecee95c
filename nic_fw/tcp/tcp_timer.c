/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP timers: retransmission, tail loss probe, reordering window, closed windows, delayed ACKs,
 * keep-alive, TIME-WAIT. One fw_timer per flow, set to the nearest deadline or before it.
 *
 * Calls tcp_sack.c, tcp_cong.c, tcp_tx.c. RFC 6298, RFC 8985 7, RFC 9293 3.8.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	BACKOFF_MAX = 20,
	DOUBT_BACKOFF = 2,
};

void tcp_rtt_sample(struct tcp_flow *flow, uint64_t rtt_ns)
{
	fw_rtt_sample(&flow->rtt, rtt_ns);
	flow->rto_ns = fw_rtt_timeout_ns(&flow->rtt, 0, TCP_MIN_RTO_NS);
	if (flow->rto_ns > TCP_MAX_RTO_NS)
		flow->rto_ns = TCP_MAX_RTO_NS;
}

static uint64_t rto(const struct tcp_flow *flow)
{
	uint32_t shift = flow->backoff < BACKOFF_MAX ? flow->backoff : BACKOFF_MAX;
	uint64_t ns = flow->rto_ns << shift;

	return ns < TCP_MAX_RTO_NS ? ns : TCP_MAX_RTO_NS;
}

/* RFC 8985 7.2; 0: no probe is due, but the RTO. */
static uint64_t pto(const struct tcp_flow *flow)
{
	uint64_t ns = 2 * flow->rtt.srtt_ns;

	if (!(flow->flags & TCP_F_SACK) || !flow->rtt.srtt_ns || flow->tlp_out || flow->sacked ||
	    flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS) || !tcp_synchronized(flow))
		return 0;
	if (ns < TCP_PTO_MIN_NS)
		ns = TCP_PTO_MIN_NS;
	/* One segment: its ACK may be delayed. */
	if (flow->snd_nxt - flow->snd_una <= flow->mss)
		ns += TCP_PTO_ACK_NS;
	return ns < flow->rto_ns ? ns : 0;
}

static bool unsent_waits(const struct tcp_flow *flow)
{
	const struct tcp_seg *last;

	if (fw_list_empty(&flow->segs))
		return false;
	last = FW_CONTAINER(flow->segs.prev, struct tcp_seg, node);
	return seq_lt(flow->snd_nxt, tcp_seg_end(last));
}

void tcp_loss_rearm(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint64_t ns;

	if (flow->loss_timer == TCP_LOSS_REORDER) {
		tcp_timer_update(nic, flow);
		return;
	}
	if (flow->snd_una == flow->snd_nxt) {
		bool closed = unsent_waits(flow) && flow->user != TCP_USER_NONE;

		if (closed && flow->loss_timer == TCP_LOSS_PERSIST)
			return;
		flow->loss_timer = closed ? TCP_LOSS_PERSIST : TCP_LOSS_NONE;
		flow->backoff = 0;
		ns = rto(flow);
	} else if ((ns = pto(flow)) != 0) {
		flow->loss_timer = TCP_LOSS_TLP;
	} else {
		flow->loss_timer = TCP_LOSS_RTO;
		ns = rto(flow);
	}
	flow->loss_ns = nic->now_ns + ns;
	if (flow->loss_timer != TCP_LOSS_NONE)
		tcp_timer_update(nic, flow);
}

static uint64_t keep_due_ns(const struct tcp_flow *flow)
{
	uint64_t step_ns = flow->keep_ns / 4;

	if (step_ns > 75 * TCP_SECOND_NS)
		step_ns = 75 * TCP_SECOND_NS;
	return flow->heard_ns + flow->keep_ns + flow->keep_tries * step_ns;
}

void tcp_timer_update(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint64_t next_ns = UINT64_MAX;

	if (flow->loss_timer != TCP_LOSS_NONE)
		next_ns = flow->loss_ns;
	if (flow->ack_ns && flow->ack_ns < next_ns)
		next_ns = flow->ack_ns;
	if (flow->wait_ns && flow->wait_ns < next_ns)
		next_ns = flow->wait_ns;
	if (flow->keep_ns && tcp_synchronized(flow) && keep_due_ns(flow) < next_ns)
		next_ns = keep_due_ns(flow);
	/* A timer that is no longer needed fires once, which costs less than cancelling it. */
	if (next_ns != UINT64_MAX &&
	    (!fw_timer_is_set(&flow->timer) || next_ns < flow->timer.deadline_ns))
		fw_timer_set(&nic->timers, &flow->timer, next_ns);
}

static void tcp_timer_give_up(struct fw_nic *nic, struct tcp_flow *flow)
{
	FW_COUNT(nic, tcp_given_up);
	tcp_end(nic, flow, flow->unreachable ? TCP_END_UNREACHABLE : TCP_END_TIMEOUT);
}

/* The peer answers, but has no room for data in flight: RFC 9293 3.8.6.1 lets it take its time. */
static bool closed_by_peer(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	return !flow->snd_wnd && nic->now_ns - flow->heard_ns <= TCP_GIVE_UP_NS;
}

static void fire_rto(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!tcp_synchronized(flow)) {
		if (++flow->syn_tries >= TCP_SYN_TRIES) {
			tcp_timer_give_up(nic, flow);
			return;
		}
		/* RFC 3168 6.1.1.1: a host that drops ECN SYNs gets one without. */
		flow->flags &= (uint16_t)~TCP_F_ECN;
	} else if (!flow->trouble_ns || closed_by_peer(nic, flow)) {
		flow->trouble_ns = nic->now_ns;
	} else if (nic->now_ns - flow->trouble_ns > TCP_GIVE_UP_NS) {
		tcp_timer_give_up(nic, flow);
		return;
	}
	/* No SYN to this MAC was ever answered: a process may give up after a few of them. */
	if (flow->backoff >= DOUBT_BACKOFF || flow->state == TCP_SYN_SENT)
		neigh_doubt(nic, flow->peer_ip);
	tcp_frto_begin(nic, flow);
	tcp_cong_rto(nic, flow);
	tcp_mark_all_lost(flow);
	flow->tlp_out = false;
	/* The path did not lose a segment that was never sent: backing off does not help. */
	if (!flow->kept_back && flow->backoff < BACKOFF_MAX)
		flow->backoff++;
	flow->kept_back = false;
	flow->flags |= TCP_F_PROBE;
	flow->loss_timer = TCP_LOSS_RTO;
	flow->loss_ns = nic->now_ns + rto(flow);
	tcp_ready(nic, flow);
}

static void fire_tlp(struct fw_nic *nic, struct tcp_flow *flow)
{
	FW_COUNT(nic, tcp_tail_probes);
	flow->tlp_out = true;
	flow->tlp_retrans = false;
	flow->tlp_end = flow->snd_nxt;
	flow->flags |= TCP_F_PROBE;
	flow->loss_timer = TCP_LOSS_RTO;
	flow->loss_ns = nic->now_ns + rto(flow);
	tcp_ready(nic, flow);
}

static void fire_persist(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (nic->now_ns - flow->heard_ns > TCP_GIVE_UP_NS) {
		tcp_timer_give_up(nic, flow);
		return;
	}
	FW_COUNT(nic, tcp_window_probes);
	if (flow->backoff < BACKOFF_MAX)
		flow->backoff++;
	flow->loss_timer = TCP_LOSS_PERSIST;
	flow->loss_ns = nic->now_ns + rto(flow);
	if (flow->snd_wnd) {
		/* The window stayed below a segment for long enough: sends as much as fits. */
		flow->flags |= TCP_F_PROBE;
		tcp_ready(nic, flow);
	} else if (tcp_have_neigh(nic, flow)) {
		(void)tcp_tx_bare(nic, flow, flow->snd_una - 1, WIRE_TCP_ACK);
	}
}

static void fire_loss(struct fw_nic *nic, struct tcp_flow *flow)
{
	switch ((enum tcp_loss_timer)flow->loss_timer) {
	case TCP_LOSS_RTO:
		fire_rto(nic, flow);
		break;
	case TCP_LOSS_TLP:
		fire_tlp(nic, flow);
		break;
	case TCP_LOSS_REORDER:
		if (tcp_detect_loss(nic, flow) && !tcp_probe_lost(flow))
			tcp_cong_lost(nic, flow);
		if (flow->loss_timer == TCP_LOSS_NONE)
			tcp_loss_rearm(nic, flow);
		tcp_ready(nic, flow);
		break;
	case TCP_LOSS_PERSIST:
		fire_persist(nic, flow);
		break;
	case TCP_LOSS_NONE:
		break;
	}
}

static void fire_keep(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->keep_tries >= TCP_KEEP_TRIES) {
		tcp_timer_give_up(nic, flow);
		return;
	}
	flow->keep_tries++;
	FW_COUNT(nic, tcp_keepalives);
	tcp_rest_ask(nic);
	if (tcp_have_neigh(nic, flow))
		(void)tcp_tx_bare(nic, flow, flow->snd_una - 1, WIRE_TCP_ACK);
}

static void fire_wait(struct fw_nic *nic, struct tcp_flow *flow)
{
	flow->wait_ns = 0;
	if (flow->state == TCP_TIME_WAIT)
		tcp_end(nic, flow, TCP_END_CLOSED);
	else if (flow->state == TCP_FIN_WAIT_2)
		tcp_timer_give_up(nic, flow);
}

void tcp_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct tcp_flow *flow = FW_CONTAINER(timer, struct tcp_flow, timer);
	uint8_t before = fw_stage_enter(nic, FW_STAGE_TCP);

	tcp_enter(flow);
	if (flow->ack_ns && flow->ack_ns <= nic->now_ns) {
		/* No response carried it. */
		flow->ack_ns = 0;
		flow->flags &= (uint16_t)~TCP_F_RIDE;
		flow->flags |= TCP_F_ACK_NOW;
		tcp_ack_soon(nic, flow);
	}
	if (flow->wait_ns && flow->wait_ns <= nic->now_ns)
		fire_wait(nic, flow);
	if (flow->state != TCP_CLOSED && flow->loss_timer != TCP_LOSS_NONE &&
	    flow->loss_ns <= nic->now_ns)
		fire_loss(nic, flow);
	if (flow->state != TCP_CLOSED && flow->keep_ns && tcp_synchronized(flow) &&
	    keep_due_ns(flow) <= nic->now_ns)
		fire_keep(nic, flow);
	if (flow->state != TCP_CLOSED)
		tcp_timer_update(nic, flow);
	(void)tcp_leave(nic, flow);
	(void)fw_stage_enter(nic, before);
}
