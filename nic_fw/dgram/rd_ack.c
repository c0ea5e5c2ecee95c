/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements of RD: made at the end of a turn, and received.
 *
 * An ACK has the next PSN expected, a bitmap of what came beyond it, and the refused PSNs of the
 * window and one behind, so that no loss of ACKs loses a refusal. Only PSNs between the oldest in
 * flight and the next to use are accepted; any other ACK is stale or forged and ignored. A hole is
 * lost when PSNs beyond the reorder threshold were acknowledged and it was last sent over one RTT
 * ago (as Falcon's specification has it). Calls rd_outcome.c, rd_timer.c. RTT: RFC 6298 2.
 */
#include "nic_fw/fw_nic.h"

void rd_ack_due(struct fw_nic *nic, struct rd_session *s)
{
	if (s->ack_due)
		return;
	s->ack_due = true;
	s->ack_since_ns = nic->now_ns;
	fw_list_add_tail(&nic->rd.acks, &s->ack_node);
}

static void tx_ack(struct fw_nic *nic, struct rd_session *s, struct fw_tx_frame *frame)
{
	uint32_t hdr = UDP_TX_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(struct wire_rd);
	uint64_t received[WIRE_RD_WINDOW / 64] = {0};
	uint64_t refused[2 * WIRE_RD_WINDOW / 64] = {0};
	struct wire_rd_ack ack;
	uint32_t i;

	memset(&ack, 0, sizeof(ack));
	for (i = 0; i < s->rx_high - s->rx_psn; i++)
		if (rd_bit(&s->received, s->rx_psn + i))
			received[i / 64] |= UINT64_C(1) << (i % 64);
	for (i = 0; s->any_refused && i < 2 * WIRE_RD_WINDOW; i++)
		if (rd_bit(&s->refused, s->rx_psn - WIRE_RD_WINDOW + i))
			refused[i / 64] |= UINT64_C(1) << (i % 64);
	for (i = 0; i < WIRE_RD_WINDOW / 64; i++)
		ack.received[i] = be64_put(received[i]);
	for (i = 0; i < 2 * WIRE_RD_WINDOW / 64; i++)
		ack.refused[i] = be64_put(refused[i]);
	ack.rnr_timer_ns = be32_put(s->any_refused ? s->rnr_timer_ns : 0);

	rd_tx_headers(nic, s, frame, WIRE_DGRAM_RD_ACK, s->tx_psn, 0, sizeof(ack));
	memcpy(frame->hdr + hdr, &ack, sizeof(ack));
	eth_tx_headers(frame, IP_TX_HDR_BYTES, hdr - IP_TX_HDR_BYTES + (uint32_t)sizeof(ack),
		       FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	frame->flags |= FW_TX_F_CONTROL;
	fw_trace(nic, TRACE_RD_ACK_TX, 0, s->rx_psn, received[0]);
	FW_COUNT(nic, rd_acks_tx);
	eth_tx_commit(nic, frame);
}

/*
 * True if an ACK may wait to be piggybacked on data: only while this end keeps answering requests,
 * nothing is missing or refused, and few packets wait. This halves the frames of a ping-pong.
 */
static bool may_wait(const struct fw_nic *nic, const struct rd_session *s)
{
	return s->answers && nic->now_ns >= nic->rd.ack_prompt_ns && s->rx_high == s->rx_psn &&
	       !s->any_refused && !s->grant_due && s->ack_packets < RD_ACK_EVERY;
}

void rd_ack_flush(struct fw_nic *nic)
{
	struct fw_list *pos;
	struct fw_list *next;

	for (pos = nic->rd.acks.next; pos != &nic->rd.acks; pos = next) {
		struct rd_session *s = FW_CONTAINER(pos, struct rd_session, ack_node);
		struct fw_tx_frame *frame;

		next = pos->next;
		if (may_wait(nic, s)) {
			if (nic->now_ns - s->ack_since_ns < RD_ACK_DELAY_NS)
				continue;
			s->answers = false; /* no data were sent in time */
		}
		rd_session_fresh_mac(nic, s);
		frame = eth_tx_begin(nic);
		if (!frame)
			return; /* next turn */
		rd_ack_sent(s);
		tx_ack(nic, s, frame);
	}
}

bool rd_ack_hurry(struct fw_nic *nic)
{
	if (fw_list_empty(&nic->rd.acks))
		return false;
	nic->rd.ack_prompt_ns = nic->now_ns + RD_ACK_PROMPT_NS;
	return true;
}

void rd_ack_sent(struct rd_session *s)
{
	fw_list_del(&s->ack_node);
	s->ack_due = false;
	s->grant_due = false;
	s->ack_packets = 0;
}

uint64_t rd_ack_next_ns(const struct fw_nic *nic)
{
	uint64_t next_ns = UINT64_MAX;
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->rd.acks) {
		const struct rd_session *s = FW_CONTAINER(pos, struct rd_session, ack_node);
		uint64_t ns = s->ack_since_ns + (may_wait(nic, s) ? RD_ACK_DELAY_NS : 0);

		if (ns < next_ns)
			next_ns = ns;
	}
	return next_ns;
}

uint32_t rd_ack_rtt_ns(const struct fw_nic *nic, uint32_t echo)
{
	uint32_t rtt_ns = (uint32_t)nic->now_ns - echo;

	/* The echo is older than the timestamp's range allows, so it is no time of our clock. */
	if (!echo || rtt_ns > INT32_MAX)
		return 0;
	/*
	 * The time that the ACK waited for this core to come back is no delay of the network
	 * either.
	 */
	if (nic->gap_ns > RD_GAP_NS)
		rtt_ns = rtt_ns > nic->gap_ns ? rtt_ns - (uint32_t)nic->gap_ns : 1;
	return rtt_ns ? rtt_ns : 1;
}

/* Takes a sample of the round trip; returns it, or 0 if there is none. */
static uint32_t rtt_sample(const struct fw_nic *nic, struct rd_session *s, uint32_t echo)
{
	uint32_t rtt_ns = rd_ack_rtt_ns(nic, echo);

	if (rtt_ns)
		fw_rtt_sample(&s->rtt, rtt_ns);
	return rtt_ns;
}

/*
 * True if the fate of a PSN's predecessor in its flow is known. Until then the peer holds the
 * packet: it has acknowledged the arrival, and may refuse the packet in its turn.
 */
static bool is_settled(const struct rd_session *s, uint32_t psn, const struct rd_slot *slot)
{
	uint32_t before = psn - slot->flow_distance;

	return !slot->flow_distance || before - s->tx_una >= s->tx_psn - s->tx_una ||
	       rd_slot_at(s, before)->state == RD_SLOT_ACKED;
}

/*
 * True if an acknowledged packet stays in the window as held, which is neither sent again nor in
 * the way of others. As long as a Terminate stays, its request counts as failed. The Terminate must
 * outlast the copies of that request that the peer sent before it received the Terminate, but not
 * packets that a busy peer sends later.
 */
static bool must_outlast(const struct rd_session *s, struct fw_wqe *msg)
{
	if (!msg || msg->kind != FW_WQE_TERMINATE)
		return false;
	/*
	 * The PSN that it must outlast, known once it is settled: a peer that holds the Terminate
	 * for its turn still repeats the request. Any number may occur, 0 too.
	 */
	if (!msg->term_outlasts)
		msg->term_outlasts = UINT64_C(1) << 32 | s->peer_next;
	return seq_lt(s->rx_psn, (uint32_t)msg->term_outlasts);
}

/* Marks one PSN in flight acknowledged, held or refused. True: its state has changed. */
static bool take_psn(struct fw_nic *nic, struct rd_session *s, uint32_t psn, bool refused,
		     uint32_t rnr_ns)
{
	struct rd_slot *slot = rd_slot_at(s, psn);
	bool settled = is_settled(s, psn, slot) && !must_outlast(s, slot->msg);
	struct rd_flow *flow;
	struct fw_wqe *msg;

	if (slot->state == RD_SLOT_ACKED || (slot->state == RD_SLOT_HELD && !settled))
		return false;
	if (slot->state == RD_SLOT_LOST)
		s->lost--;
	else if (slot->state == RD_SLOT_SENT)
		rd_slot_landed(s, slot);
	slot->state = settled ? RD_SLOT_ACKED : RD_SLOT_HELD;
	if (slot->flow && !refused && !slot->withdrawn)
		slot->flow->heard_ns = nic->now_ns;
	if (!settled)
		return true;
	if (refused && slot->withdrawn && s->undo_cwnd_fp) {
		/* The void packet got through at once, so the time-out was no congestion. */
		rd_cong_restore(nic, s, s->undo_cwnd_fp);
		s->undo_cwnd_fp = 0;
	}
	if (refused) {
		rd_outcome_refused(nic, slot, rnr_ns);
		return true;
	}
	flow = slot->flow;
	msg = slot->msg;
	slot->flow = NULL;
	slot->msg = NULL;
	if (flow)
		rd_outcome_acked(nic, flow, msg, 1);
	return true;
}

/* True if a packet of this message is in flight for the first time. */
static bool sent_once(const struct rd_slot *slot, const struct rd_flow *flow,
		      const struct fw_wqe *msg)
{
	return slot->state == RD_SLOT_SENT && !slot->tries && !slot->withdrawn &&
	       slot->flow == flow && slot->msg == msg;
}

/*
 * Takes packets of one message out of the front of the window, as far as end, as long as each was
 * sent once and they follow each other: as take_psn() acknowledges them one by one, and progress()
 * moves the window. A packet in front is always settled. Returns their number.
 */
static uint32_t take_front(struct fw_nic *nic, struct rd_session *s, uint32_t end)
{
	const struct rd_slot *slot = rd_slot_oldest(s);
	struct rd_flow *flow = slot->flow;
	struct fw_wqe *msg = slot->msg;
	uint32_t n = 0, most;

	if (!msg || msg->kind == FW_WQE_TERMINATE || !sent_once(slot, flow, msg))
		return 0;
	do {
		most = end - s->tx_una;
		n += slot->row < most ? slot->row : most;
		if (slot->row > most)
			rd_slot_cut(s, s->tx_una, most);
		s->tx_una += slot->row < most ? slot->row : most;
		slot = rd_slot_oldest(s);
	} while (s->tx_una != end && slot->flow_distance == 1 && sent_once(slot, flow, msg));
	s->sent -= n;
	flow->heard_ns = nic->now_ns;
	rd_outcome_acked(nic, flow, msg, n);
	return n;
}

/* Progress: the window moves, timers restart, waiting flows continue. */
static void progress(struct fw_nic *nic, struct rd_session *s)
{
	s->backoff = 0;
	s->undo_cwnd_fp = 0;
	s->astray = false;
	s->tlp_sent = false;
	s->rto_base_ns = nic->now_ns;
	s->una_ns = nic->now_ns;
	while (s->tx_una != s->tx_psn && rd_slot_oldest(s)->state == RD_SLOT_ACKED)
		s->tx_una++;
	if (s->tx_una == s->tx_psn) {
		fw_pool_put(&nic->rd.tx_windows, s->tx);
		s->tx = NULL;
		s->hole_ns = 0;
	}
	if (s->lost || !fw_list_empty(&s->flows))
		rd_session_ready(nic, s);
	rd_timer_arm(nic, s);
}

/*
 * True if the session is gone: completing requests may end its flows, and a failure the session
 * itself.
 */
static bool gone(const struct rd_session *s)
{
	return s->state != RD_OPEN || !s->tx;
}

/* Marks all PSNs in flight before ack acknowledged. True: news. */
static bool take_until(struct fw_nic *nic, struct rd_session *s, uint32_t ack)
{
	uint32_t psn = s->tx_una, n;
	bool news = false;

	while (psn != ack && !gone(s)) {
		n = psn == s->tx_una ? take_front(nic, s, ack) : 0;
		news |= n || take_psn(nic, s, psn, false, 0);
		psn += n ? n : 1;
	}
	return news;
}

bool rd_ack_fits(const struct rd_session *s, uint32_t ack)
{
	return ack - s->tx_una <= s->tx_psn - s->tx_una;
}

/*
 * Handles an ACK that is not accepted. Old ACKs are stale. An ACK of PSNs never sent is forged, or
 * answers forged packets. An ACK before the window that echoes a timestamp from after the window's
 * last move is forged too, or forged ACKs moved the window. Then no true ACK will ever be accepted,
 * and the session must be renewed. An echo runs ahead of the true time by as much as the peer's
 * core was absent before it received the packet: within that span an old ACK, delayed on the path,
 * proves nothing.
 */
static void disbelieve(struct fw_nic *nic, struct rd_session *s, uint32_t ack, uint32_t echo)
{
	uint32_t since = (uint32_t)(s->una_ns + RD_ECHO_GAP_NS);
	uint32_t now = (uint32_t)nic->now_ns;

	FW_COUNT(nic, rd_acks_stale);
	/*
	 * The timestamp is in the future: the peer's clock has jumped while it held the timestamp.
	 */
	if (!seq_lt(ack, s->tx_una) || (echo && seq_lt(since, echo) && !seq_lt(now, echo)))
		s->astray = true;
}

void rd_ack_cumulative(struct fw_nic *nic, struct rd_session *s, uint32_t ack, uint32_t echo,
		       bool ece)
{
	uint32_t sent = s->sent;
	uint32_t rtt_ns;
	bool news;

	if (!rd_ack_fits(s, ack)) {
		disbelieve(nic, s, ack, echo);
		return;
	}
	rtt_ns = rtt_sample(nic, s, echo);
	if (!s->tx)
		return;
	news = take_until(nic, s, ack);
	if (gone(s))
		return;
	if (rtt_ns)
		rd_cong_sample(nic, s, rtt_ns, sent - s->sent, ece);
	if (news)
		progress(nic, s);
}

/* Declares old holes lost; notes when the next one will be. */
static void detect_loss(struct fw_nic *nic, struct rd_session *s, uint32_t high)
{
	uint64_t age_ns = s->rtt.srtt_ns + s->rtt.srtt_ns / 4;
	bool again = false;
	uint32_t psn;

	s->hole_ns = 0;
	for (psn = s->tx_una; seq_lt(psn + RD_REORDER_THRESHOLD, high); psn++) {
		struct rd_slot *slot = rd_slot_at(s, psn);
		/* Each repetition waits longer, because the peer may just be slow. */
		uint64_t due_ns = slot->sent_ns + (age_ns << (slot->tries < 8 ? slot->tries : 8));

		if (slot->state != RD_SLOT_SENT)
			continue;
		if (nic->now_ns >= due_ns) {
			slot->state = RD_SLOT_LOST;
			s->lost++;
			rd_slot_landed(s, slot);
			again |= slot->tries > 0;
			/*
			 * Repeated losses of a PSN, or of a flow that does not get through, say
			 * nothing about the path of other packets.
			 */
			if (!slot->tries && (!slot->flow || !slot->flow->withdrawals))
				rd_cong_loss(nic, s);
		} else if (!s->hole_ns || due_ns < s->hole_ns) {
			s->hole_ns = due_ns;
		}
	}
	if (s->lost)
		rd_session_ready(nic, s);
	if (s->hole_ns)
		rd_timer_arm(nic, s);
	/* Their limits have no time-out of their own while others of the session make progress. */
	if (again)
		rd_flow_check_limits(nic, s);
}

void rd_ack_holes(struct fw_nic *nic, struct rd_session *s)
{
	uint32_t high = s->tx_una;
	uint32_t psn;

	/* Mostly the peer has named none beyond the front. */
	for (psn = s->tx_una; s->sent + s->lost != s->tx_psn - s->tx_una && psn != s->tx_psn; psn++)
		if (rd_slot_at(s, psn)->state >= RD_SLOT_HELD)
			high = psn + 1;
	detect_loss(nic, s, high);
}

static bool bit_at(const struct be64 *words, uint32_t i)
{
	return be64_get(words[i / 64]) >> (i % 64) & 1;
}

static bool names_any(const struct be64 *words, uint32_t num_words)
{
	uint64_t any = 0;
	uint32_t i;

	for (i = 0; i < num_words; i++)
		any |= be64_get(words[i]);
	return any;
}

/* True if one of WIRE_RD_WINDOW bits is set beyond the first num_sent. */
static bool names_unsent(const struct be64 *words, uint32_t num_sent)
{
	uint32_t i;

	for (i = 0; i < WIRE_RD_WINDOW / 64; i++) {
		uint32_t sent = num_sent > 64 * i ? num_sent - 64 * i : 0;

		if (sent < 64 && be64_get(words[i]) >> sent)
			return true;
	}
	return false;
}

/* A bitmap with a PSN that was never sent is not the peer's. */
static bool plausible(const struct rd_session *s, uint32_t ack, const struct wire_rd_ack *map)
{
	uint32_t in_flight = s->tx_psn - ack;

	return !names_unsent(map->received, in_flight) &&
	       !names_unsent(map->refused + WIRE_RD_WINDOW / 64, in_flight);
}

void rd_ack_rx(struct fw_nic *nic, struct rd_session *s, const struct wire_rd *rd,
	       const struct wire_rd_ack *map, bool ece)
{
	uint32_t ack = be32_get(rd->ack);
	uint32_t rnr_ns = be32_get(map->rnr_timer_ns);
	uint32_t sent = s->sent;
	bool any_refused = names_any(map->refused, 2 * WIRE_RD_WINDOW / 64);
	/* Most ACKs name nothing beyond the front. */
	bool beyond = names_any(map->received, WIRE_RD_WINDOW / 64);
	bool news = false;
	uint32_t rtt_ns;
	uint32_t psn;

	FW_COUNT(nic, rd_acks_rx);
	fw_trace(nic, TRACE_RD_ACK_RX, 0, ack, be64_get(map->received[0]));
	if (!rd_ack_fits(s, ack) || !plausible(s, ack, map)) {
		disbelieve(nic, s, ack, be32_get(rd->timestamp_echo));
		return;
	}
	rtt_ns = rtt_sample(nic, s, be32_get(rd->timestamp_echo));
	if (!s->tx)
		return;
	psn = s->tx_una;
	if (!any_refused) {
		news = take_until(nic, s, ack);
		psn = ack;
	}
	for (; !gone(s) && psn != (beyond ? s->tx_psn : ack); psn++) {
		uint32_t i = psn - ack; /* wraps for PSNs before the ACK */
		bool refused = any_refused &&
			       bit_at(map->refused, (i + WIRE_RD_WINDOW) % (2 * WIRE_RD_WINDOW));

		if ((int32_t)i < 0 || (i < WIRE_RD_WINDOW && bit_at(map->received, i)))
			news |= take_psn(nic, s, psn, refused, rnr_ns);
	}
	if (gone(s))
		return;
	if (rtt_ns)
		rd_cong_sample(nic, s, rtt_ns, sent - s->sent, ece);
	if (news)
		progress(nic, s);
	if (!gone(s))
		rd_ack_holes(nic, s);
}
