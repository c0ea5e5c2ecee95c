/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in RD: the tail probe, the retransmission time-out, and the RNR timer's code.
 *
 * One timer per session. When no packet came for two RTTs the last packet is sent again (as RFC
 * 8985's tail loss probe), which makes the peer report its holes. After that all unacknowledged
 * packets are lost, with back-off. While only responses are awaited, probes check that the peer is
 * alive. Retry limits are checked here too (rd_fail.c). RTO: RFC 6298, floor RD_MIN_RTO_NS. RNR
 * codes: IBA 9.7.5.2.8, table 45.
 */
#include "nic_fw/fw_nic.h"

enum {
	CREDIT_PROBE_SHIFT_MAX =
	    5, /* probes for credits: the wait doubles each time, 32 ms at most */
};
#define CREDIT_PROBE_NS UINT64_C(1000000)

/*
 * Returns the flow that waits for the oldest packet in flight: its own; where that has ended, the
 * first of those that the packet holds up. NULL: none.
 */
static const struct rd_flow *flow_of_oldest(const struct rd_session *s)
{
	const struct rd_flow *flow = rd_slot_oldest(s)->flow;

	if (flow || fw_list_empty(&s->all_flows))
		return flow;
	return FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
}

/*
 * Limits the back-off to the time-out of the QP that waits for the oldest packet: its limit counts
 * on (retry_cnt + 1) of them. Else the tries are used up early in a congestion, and the limit runs
 * out between two of them.
 */
static uint64_t rd_timer_back_off_ns(const struct rd_session *s, uint64_t rto_ns)
{
	uint64_t ns = rto_ns << s->backoff, most_ns;
	const struct rd_flow *flow;

	/* With nothing in flight the slots are those of earlier packets. */
	if (!s->tx || s->tx_una == s->tx_psn)
		return ns;
	flow = flow_of_oldest(s);
	if (!flow || !flow->qp->attr.timeout)
		return ns;
	most_ns = UINT64_C(4096) << (flow->qp->attr.timeout & 31);
	if (most_ns < rto_ns)
		most_ns = rto_ns;
	return ns < most_ns ? ns : most_ns;
}

static uint64_t rd_timer_rto_ns(const struct fw_nic *nic, const struct rd_session *s)
{
	uint64_t ns = fw_rtt_timeout_ns(&s->rtt, RD_INITIAL_RTO_NS, RD_MIN_RTO_NS);

	ns = rd_timer_back_off_ns(s, ns);
	/* Many sessions that lost packets to one queue must not all retry at one time. */
	if (s->backoff && !nic->config.cc_off)
		ns += ns / 512 * (fw_hash(s->epoch, s->backoff, s->tx_una) & 255);
	return ns < RD_MAX_RTO_NS ? ns : RD_MAX_RTO_NS;
}

static uint64_t probe_ns(const struct rd_session *s)
{
	uint64_t ns = 2 * s->rtt.srtt_ns;

	return !s->rtt.srtt_ns || ns < RD_MIN_RTO_NS ? RD_MIN_RTO_NS : ns;
}

static uint64_t deadline_ns(const struct fw_nic *nic, const struct rd_session *s)
{
	uint64_t ns = s->tlp_sent || s->backoff ? rd_timer_rto_ns(nic, s) : probe_ns(s);

	if (s->credit_probes && ns < CREDIT_PROBE_NS << s->credit_probes)
		ns = CREDIT_PROBE_NS << s->credit_probes;
	ns += s->rto_base_ns;

	return s->hole_ns && s->hole_ns < ns ? s->hole_ns : ns;
}

void rd_timer_watch(struct fw_nic *nic, struct rd_session *s)
{
	if (!fw_timer_is_set(&s->timer))
		fw_timer_set(&nic->timers, &s->timer, nic->now_ns + RD_AWAIT_NS);
}

void rd_timer_arm(struct fw_nic *nic, struct rd_session *s)
{
	uint64_t ns;

	if (!s->tx) {
		/* Nothing is in flight; requests may still await responses of a peer that dies. */
		if (!fw_list_empty(&s->all_flows) || rd_is_amid(s))
			rd_timer_watch(nic, s);
		return;
	}
	ns = deadline_ns(nic, s);
	/* A later deadline costs nothing: the timer fires early, checks, and is set anew. */
	if (!fw_timer_is_set(&s->timer) || s->timer.deadline_ns > ns)
		fw_timer_set(&nic->timers, &s->timer, ns);
}

static void mark_lost(struct rd_session *s, bool tail_only)
{
	uint32_t psn;

	for (psn = s->tx_psn; psn != s->tx_una;) {
		struct rd_slot *slot = rd_slot_at(s, --psn);

		if (slot->state != RD_SLOT_SENT)
			continue;
		slot->state = RD_SLOT_LOST;
		s->lost++;
		rd_slot_landed(s, slot);
		if (tail_only)
			return;
	}
}

/*
 * True if a local request waits for it. A cancellation serves the peer alone, and so do messages of
 * the null QP.
 */
static bool is_waited_for(const struct fw_nic *nic, const struct fw_wqe *msg)
{
	return msg && msg->kind != FW_WQE_CANCEL && msg->qp != nic->host.null_qp;
}

/* True if no packet in flight belongs to a message any more, and no flow waits for the session. */
static bool all_void(const struct fw_nic *nic, const struct rd_session *s)
{
	const struct fw_list *pos;
	uint32_t psn;

	for (psn = s->tx_una; psn != s->tx_psn; psn++)
		if (is_waited_for(nic, rd_slot_at(s, psn)->msg))
			return false;
	fw_list_for_each (pos, &s->all_flows)
		if (FW_CONTAINER(pos, struct rd_flow, session_node)->qp != nic->host.null_qp)
			return false;
	return true;
}

/*
 * True if no local request waits for an answer, and the peer is silent and has acknowledged nothing
 * for so long that it would send a new HELLO. A live peer may wait for our Terminates, and its
 * requests end with the session: they must not fail earlier than by their own limit.
 */
static bool is_given_up(const struct fw_nic *nic, const struct rd_session *s)
{
	const struct rd_slot *oldest = rd_slot_oldest(s);

	return s->backoff >= RD_GIVE_UP_BACKOFF && nic->now_ns - s->ts_echo_ns >= RD_SILENT_NS &&
	       fw_waited(nic, &oldest->first_sent, RD_STALE_NS) && all_void(nic, s);
}

/*
 * Everything sent is acknowledged, and responses, or the rest of a message, are awaited. Probes
 * check that the peer is alive and still has the session. If it does not have it, it answers with
 * a reset. If it is gone, the session is given up, so that nothing is held for ever.
 */
static void rd_timer_await(struct fw_nic *nic, struct rd_session *s)
{
	uint64_t calm_ns = nic->now_ns - s->rx_data.ns;
	uint64_t next_ns = RD_AWAIT_NS;
	bool silent;
	bool left;

	if (s->ts_echo_ns >= s->probe.ns)
		s->probe.ns = 0;
	/* One lost probe proves nothing. */
	silent = s->probe.ns && nic->now_ns - s->probe.ns >= RD_SILENT_NS;
	left = rd_flow_check_awaiting(nic, s);
	if (s->state != RD_OPEN || s->tx)
		return;
	if (!left && rd_lacks_credit(s)) {
		/*
		 * Its turn will come, unless the peer does not know of it, or the grant was lost.
		 */
		if (nic->now_ns - s->rto_base_ns < RD_AWAIT_NS) {
			fw_timer_set(&nic->timers, &s->timer, s->rto_base_ns + RD_AWAIT_NS);
			return;
		}
		left = true;
	}
	if (!left && calm_ns >= RD_AWAIT_NS) {
		if (!rd_is_amid(s))
			return;
		if (silent && fw_waited(nic, &s->probe, RD_STALE_NS)) {
			rd_session_fail(nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
			return;
		}
		next_ns += calm_ns / 4 < RD_MAX_RTO_NS ? calm_ns / 4 : RD_MAX_RTO_NS;
	}
	if (left || calm_ns >= RD_AWAIT_NS) {
		if (!s->probe.ns)
			s->probe = fw_moment_now(nic);
		rd_tx_probe(nic, s);
	}
	fw_timer_set(&nic->timers, &s->timer, nic->now_ns + next_ns);
}

/*
 * The peer has all packets, and their predecessors are in flight: any answer shows progress. But an
 * ACK may have been forged, so in the end the oldest packet is sent again.
 */
static void await_held(struct fw_nic *nic, struct rd_session *s)
{
	struct rd_slot *oldest = rd_slot_at(s, s->tx_una);

	s->rto_base_ns = nic->now_ns;
	if (s->backoff < RD_MAX_BACKOFF)
		s->backoff++;
	if (s->backoff > RD_GIVE_UP_BACKOFF) {
		oldest->state = RD_SLOT_LOST;
		s->lost++;
		rd_session_ready(nic, s);
	} else {
		rd_tx_probe(nic, s);
	}
	rd_timer_arm(nic, s);
}

/*
 * Without credits: a probe reports that it has something to send. A peer that answers without a
 * grant is alive.
 */
static void rd_timer_probe_credit(struct fw_nic *nic, struct rd_session *s)
{
	if (s->ts_echo_ns < s->rto_base_ns && s->backoff < RD_MAX_BACKOFF)
		s->backoff++;
	if (s->backoff >= RD_DOUBT_BACKOFF && s->ts_echo_ns < s->rto_base_ns)
		rd_session_doubt_mac(nic, s);
	if (s->credit_probes < CREDIT_PROBE_SHIFT_MAX)
		s->credit_probes++;
	s->rto_base_ns = nic->now_ns;
	rd_tx_probe(nic, s);
	rd_timer_arm(nic, s);
}

/* Checks from time to time for answers that do not come although the peer is alive. */
static void rd_timer_look(struct fw_nic *nic, struct rd_session *s)
{
	bool heard = nic->now_ns - s->ts_echo_ns < LLP_LOOK_NS;

	if (nic->now_ns - s->looked_ns < LLP_LOOK_NS)
		return;
	s->looked_ns = nic->now_ns;
	if (heard)
		rd_flow_check_answers(nic, s);
}

void rd_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct rd_session *s = FW_CONTAINER(timer, struct rd_session, timer);

	rd_timer_look(nic, s);
	if (!s->tx) {
		rd_timer_await(nic, s);
		return;
	}
	if (s->tx_una == s->tx_psn)
		return;
	if (s->hole_ns && nic->now_ns >= s->hole_ns)
		rd_ack_holes(nic, s);
	if (nic->now_ns < deadline_ns(nic, s)) {
		rd_timer_arm(nic, s);
		return;
	}
	rd_flow_check_limits(nic, s);
	if (s->state != RD_OPEN || !s->tx)
		return;
	if (!s->sent && s->lost && !rd_has_credit(s)) {
		if (is_given_up(nic, s))
			rd_session_fail(nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
		else
			rd_timer_probe_credit(nic, s);
		return;
	}
	if (!s->sent && s->lost) {
		/*
		 * All packets are lost already, and wait for their pace or for room here: no new
		 * information about the peer.
		 */
		s->rto_base_ns = nic->now_ns;
		rd_timer_arm(nic, s);
		return;
	}
	if (s->backoff >= RD_GIVE_UP_BACKOFF && s->astray) {
		rd_session_renew(nic, s);
		return;
	}
	if (!s->sent && !s->lost) {
		await_held(nic, s);
		return;
	}
	FW_COUNT(nic, rd_timeouts);
	fw_trace(nic, TRACE_RD_TIMEOUT, 0, s->tx_una, s->backoff);
	if (is_given_up(nic, s)) {
		rd_session_fail(nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
		return;
	}
	s->rto_base_ns = nic->now_ns;
	if (!s->tlp_sent && !s->backoff) {
		s->tlp_sent = true;
		if (rd_has_credit(s))
			mark_lost(s, true);
		else
			rd_tx_probe(nic, s);
	} else {
		mark_lost(s, false);
		if (!s->backoff)
			s->undo_cwnd_fp = s->cwnd_fp;
		rd_cong_timeout(nic, s);
		if (s->backoff >= RD_DOUBT_BACKOFF)
			rd_session_doubt_mac(nic, s);
		if (s->backoff < RD_MAX_BACKOFF)
			s->backoff++;
		if (!rd_has_credit(s))
			rd_tx_probe(nic, s);
	}
	rd_session_ready(nic, s);
	rd_timer_arm(nic, s);
}
