/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD, receiving: window, duplicates, and the order of delivery within each flow.
 *
 * A packet is accepted once. Its payload is placed when it arrives; it is delivered after its
 * predecessor in the flow (flow_distance names it). An early packet is held (rd_held.c). A packet
 * that cannot be carried out now is refused, and so are all behind it in the flow. Calls
 * rdmap_rx.c, rd_held.c, rd_ack.c, rd_session.c. ARCHITECTURE.md "RD in one page".
 */
#include "nic_fw/fw_nic.h"

/* Has two callers, packets and those of runs, and stays a part of the first one's path. */
#define RD_RX_INLINE static inline __attribute__((always_inline))

enum order {
	ORDER_READY,   /* no predecessor, or it was delivered */
	ORDER_EARLY,   /* predecessor not delivered yet */
	ORDER_REFUSED, /* predecessor was refused */
};

static enum order order_of(const struct rd_session *s, uint32_t psn, uint16_t distance)
{
	uint32_t before = psn - distance;

	if (!distance)
		return ORDER_READY;
	if (s->any_refused && rd_bit(&s->refused, before))
		return ORDER_REFUSED;
	if (seq_lt(before, s->rx_psn) || rd_bit(&s->delivered, before))
		return ORDER_READY;
	return ORDER_EARLY;
}

static bool any_bit(const struct rd_bits *bits)
{
	return bits->word[0] | bits->word[1] | bits->word[2] | bits->word[3];
}

/* Notes an accepted PSN and moves the window over the complete ones. */
RD_RX_INLINE void accept(struct rd_session *s, uint32_t psn)
{
	rd_grant_taken(s, 1);
	rd_bit_set(&s->received, psn);
	if (seq_lt(s->rx_high, psn + 1))
		s->rx_high = psn + 1;
	while (s->rx_psn != s->rx_high && rd_bit(&s->received, s->rx_psn)) {
		/* The PSN that enters the window uses the place of one far behind it. */
		uint32_t enters = s->rx_psn + WIRE_RD_WINDOW, word = enters / 64 % 4;
		uint64_t keep = ~(UINT64_C(1) << enters % 64);

		s->received.word[word] &= keep;
		s->delivered.word[word] &= keep;
		s->refused.word[word] &= keep;
		s->rx_psn++;
	}
	if (s->any_refused && !any_bit(&s->refused)) {
		s->any_refused = false;
		s->rnr_timer_ns = 0;
	}
}

/* Does the same for a run at the front of a window in which nothing is beyond it. */
static void accept_run(struct rd_session *s, uint32_t psn, uint32_t run)
{
	assert(s->rx_psn == psn && s->rx_high == psn);
	rd_grant_taken(s, run);
	rd_bits_put(&s->received, psn, run, true);
	rd_bits_put(&s->received, psn + WIRE_RD_WINDOW, run, false);
	rd_bits_put(&s->delivered, psn + WIRE_RD_WINDOW, run, false);
	rd_bits_put(&s->refused, psn + WIRE_RD_WINDOW, run, false);
	s->rx_psn = s->rx_high = psn + run;
}

void rd_rx_mark_refused(struct fw_nic *nic, struct rd_session *s, uint32_t psn)
{
	rd_bit_set(&s->refused, psn);
	s->any_refused = true;
	FW_COUNT(nic, rd_rx_refused);
	fw_trace(nic, TRACE_RD_REFUSE, 0, psn, 0);
}

/* The ACK carries the receiver's RNR timer; an error has none. */
static void rd_rx_refuse(struct fw_nic *nic, struct rd_session *s, uint32_t psn,
			 const struct fw_qp *qp)
{
	uint64_t ns = qp_rnr_timer_ns(qp ? qp->attr.min_rnr_timer : QP_DEFAULT_MIN_RNR_TIMER);

	rd_rx_mark_refused(nic, s, psn);
	if (ns > s->rnr_timer_ns)
		s->rnr_timer_ns = (uint32_t)ns;
}

/* Handles an error of the peer's in its turn: notifies the peer, and refuses the flow behind it. */
static void rd_rx_fail(struct fw_nic *nic, struct rd_session *s, uint32_t psn, struct fw_qp *qp,
		       struct rdmap_seg *pkt, const struct rdmap_error *error)
{
	rd_rx_mark_refused(nic, s, psn);
	rdmap_rx_error(nic, qp, pkt, error);
}

bool rd_rx_deliver(struct fw_nic *nic, struct rd_session *s, uint32_t psn, struct fw_qp *qp,
		   struct rdmap_seg *pkt, const uint8_t *held)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_RDMAP_RX);
	struct rdmap_error error = {0};
	enum rdmap_result result = rdmap_rx_finish(nic, qp, pkt, held, &error);

	(void)fw_stage_enter(nic, stage);
	switch (result) {
	case RDMAP_OK:
	case RDMAP_VOID:
		rd_bit_set(&s->delivered, psn);
		return true;
	case RDMAP_DROP:
		if (!held && pkt->opcode == WIRE_RDMAP_ATOMIC_REQUEST)
			return false;
		break;
	case RDMAP_REFUSE:
		break;
	case RDMAP_ERROR:
		rd_rx_fail(nic, s, psn, qp, pkt, &error);
		return true;
	}
	rd_rx_refuse(nic, s, psn, qp);
	return true;
}

/* True if the PSN was accepted (delivered, held or refused). */
RD_RX_INLINE bool rd_rx_data(struct fw_nic *nic, struct rd_session *s, struct rdmap_seg *pkt,
			     uint32_t psn, uint16_t distance)
{
	enum order order = order_of(s, psn, distance);
	struct rdmap_error error = {0};
	enum rdmap_result result;
	struct fw_qp *qp;

	if (order == ORDER_REFUSED) {
		rd_rx_mark_refused(nic, s, psn);
		return true;
	}
	qp = rdmap_rx_qp(nic, pkt);
	if (order == ORDER_READY && rdmap_rx_whole(nic, qp, pkt)) {
		rd_bit_set(&s->delivered, psn);
		return true;
	}
	result = rdmap_rx_place(nic, qp, pkt, order == ORDER_READY, &error);
	switch (result) {
	case RDMAP_OK:
		if (order == ORDER_EARLY)
			return rd_held_add(nic, s, psn, distance, pkt);
		if (rd_rx_deliver(nic, s, psn, qp, pkt, NULL))
			return true;
		break;
	case RDMAP_VOID:
		if (order == ORDER_EARLY)
			return false;
		rd_bit_set(&s->delivered, psn);
		return true;
	case RDMAP_ERROR:
		/* Packets before it may change that: it is judged in its turn. */
		if (order == ORDER_EARLY)
			return false;
		rd_rx_fail(nic, s, psn, qp, pkt, &error);
		return true;
	case RDMAP_REFUSE:
		if (order == ORDER_EARLY)
			return false;
		rd_rx_refuse(nic, s, psn, qp);
		return true;
	case RDMAP_DROP:
		break;
	}
	FW_DROP(nic, drop_rd_no_memory);
	return false;
}

/*
 * Requests and responses are separate flows, and only requests show a Q_Key. A tagged endpoint
 * takes Sends of both classes.
 */
static bool class_fits(const struct rdmap_seg *pkt)
{
	bool response = pkt->opcode == WIRE_RDMAP_READ_RESPONSE ||
			pkt->opcode == WIRE_RDMAP_ATOMIC_RESPONSE ||
			pkt->opcode == WIRE_RDMAP_TERMINATE;

	return pkt->opcode == WIRE_RDMAP_SEND || response == !!(pkt->flags & WIRE_DGRAM_F_RESPONSE);
}

/* Notes that packets of data have come, from psn on: their ACK is due. */
static inline void note_data(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
			     uint32_t psn, uint32_t packets)
{
	FW_ADD(nic, rd_rx_packets, packets);
	for (uint32_t i = 0; __builtin_expect(nic->trace != NULL, 0) && i < packets; i++)
		fw_trace(nic, TRACE_RD_RX, pkt->dst_qpn, pkt->src_qpn, psn + i);
	rd_ack_due(nic, s);
	s->rx_data = fw_moment_now(nic);
	s->ack_packets =
	    (uint8_t)(s->ack_packets + packets < UINT8_MAX ? s->ack_packets + packets : UINT8_MAX);
}

/* parsed: the headers of DDP and RDMAP were. */
RD_RX_INLINE void rd_rx_packet(struct fw_nic *nic, struct rd_session *s, struct rdmap_seg *pkt,
			       uint32_t psn, uint16_t distance, bool parsed)
{
	uint32_t epoch = s->epoch;
	uint32_t old_psn = s->rx_psn;

	note_data(nic, s, pkt, psn, 1);
	/* The next one in order is new, and in the window. */
	if (psn != s->rx_psn && (seq_lt(psn, s->rx_psn) ||
				 (psn - s->rx_psn < WIRE_RD_WINDOW && rd_bit(&s->received, psn)))) {
		/* The peer did not receive the ACK: it is sent at once. */
		s->answers = false;
		FW_COUNT(nic, rd_rx_duplicates);
		return;
	}
	if (psn - s->rx_psn >= WIRE_RD_WINDOW) {
		FW_DROP(nic, drop_rd_window);
		return;
	}
	/* A peer gains nothing by sending more than it was granted. */
	if (!seq_lt(s->rx_taken, s->rx_limit)) {
		FW_DROP(nic, drop_rd_ungranted);
		return;
	}
	if (distance >= WIRE_RD_WINDOW) {
		FW_DROP(nic, drop_rd_malformed);
		return;
	}
	if (!pkt->dst_qpn && pkt->data_bytes) {
		if (!rd_held_cancel(nic, s, pkt, psn))
			return;
	} else if (!pkt->dst_qpn) {
		/* Void: its message is gone, and no packet of its flow may overtake it. */
		rd_bit_set(&s->refused, psn);
		s->any_refused = true;
	} else {
		if (!parsed && (!dgram_parse_ddp(pkt) || !class_fits(pkt))) {
			FW_DROP(nic, drop_ddp_malformed);
			return;
		}
		if (!rd_rx_data(nic, s, pkt, psn, distance)) {
			/* The packet counts as lost, but its message may have taken a receive. */
			if (rd_is_amid(s))
				rd_timer_watch(nic, s);
			return;
		}
		if (s->epoch != epoch)
			return;
	}
	accept(s, psn);
	if (rd_is_amid(s) || (pkt->dst_qpn && !pkt->last))
		rd_timer_watch(nic, s);
	/* A held packet settles no other: its followers wait with it. */
	if (s->rx && (rd_bit(&s->delivered, psn) || rd_bit(&s->refused, psn)))
		rd_held_follow(nic, s, psn);
	if (s->cancels && s->epoch == epoch)
		rd_held_run_cancels(nic, s, old_psn);
}

/* The first of n packets of a flow was refused: so are those behind it. */
static void refuse_run(struct fw_nic *nic, struct rd_session *s, uint32_t psn, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		rd_rx_mark_refused(nic, s, psn + i);
}

/*
 * Delivers a run that was placed: all but its last packet, which may end the message, as one.
 * False: the session has ended.
 */
static bool deliver_run(struct fw_nic *nic, struct rd_session *s, uint32_t psn, struct fw_qp *qp,
			struct rdmap_seg *pkt, uint32_t run)
{
	uint32_t head = (run - 1) * pkt->frame->run_bytes;
	uint32_t epoch = s->epoch;
	struct rdmap_seg part;

	rd_run_part(pkt, 0, head, &part);
	(void)rd_rx_deliver(nic, s, psn, qp, &part, NULL);
	if (s->epoch != epoch)
		return false;
	if (!rd_bit(&s->delivered, psn)) {
		refuse_run(nic, s, psn, run);
		return true;
	}
	rd_bits_put(&s->delivered, psn, run - 1, true);
	rd_run_part(pkt, head, pkt->data_bytes - head, &part);
	(void)rd_rx_deliver(nic, s, psn + run - 1, qp, &part, NULL);
	return s->epoch == epoch;
}

/*
 * True if packets of one flow need no look at each: all are new and granted, and nothing waits for
 * them or they for anything.
 */
static bool is_front(const struct rd_session *s, uint32_t psn, uint16_t distance, uint32_t packets)
{
	return psn == s->rx_psn && s->rx_high == psn && !s->rx && !s->any_refused && !s->cancels &&
	       seq_lt(s->rx_taken + packets - 1, s->rx_limit) && distance < WIRE_RD_WINDOW &&
	       order_of(s, psn, distance) == ORDER_READY;
}

/* True if a run needs no look at each packet, and its QP takes them. */
static bool is_smooth(const struct rd_session *s, const struct fw_qp *qp,
		      const struct rdmap_seg *pkt, uint32_t psn, uint16_t distance, uint32_t run)
{
	return is_front(s, psn, distance, run) && qp && (pkt->tagged || !qp->tag) &&
	       rdmap_rx_is_expected(qp, pkt);
}

/*
 * Takes a run as one packet: one look-up, one copy. False: nothing was done, each packet has to be
 * looked at; so has a run that is at fault, of which the first packets may be right.
 */
static bool rx_run_whole(struct fw_nic *nic, struct rd_session *s, struct rdmap_seg *pkt,
			 uint32_t psn, uint16_t distance)
{
	uint32_t run = pkt->frame->run;
	struct fw_qp *qp = rdmap_rx_qp(nic, pkt);
	struct rdmap_error error = {0};
	enum rdmap_result result;

	if (!is_smooth(s, qp, pkt, psn, distance, run) || !rdmap_rx_has_place(nic, qp, pkt))
		return false;
	result = rdmap_rx_place(nic, qp, pkt, true, &error);
	if (result != RDMAP_OK && result != RDMAP_REFUSE)
		return false;
	note_data(nic, s, pkt, psn, run);
	if (result == RDMAP_REFUSE) {
		rd_rx_refuse(nic, s, psn, qp);
		refuse_run(nic, s, psn, run);
	} else if (!deliver_run(nic, s, psn, qp, pkt, run)) {
		return true;
	}
	accept_run(s, psn, run);
	if (!pkt->last || rd_is_amid(s))
		rd_timer_watch(nic, s);
	return true;
}

/*
 * Parses the headers of a run, whose payload is all of its packets'. False: one of its packets
 * would be dropped for them.
 */
static bool parse_run(const struct rd_session *s, struct rdmap_seg *pkt, const struct wire_rd *rd)
{
	const struct fw_rx_frame *frame = pkt->frame;

	pkt->data_bytes = frame->bytes - pkt->data_offset - frame->run * WIRE_DGRAM_CRC_BYTES;
	return pkt->dst_qpn && dgram_parse_ddp(pkt) && class_fits(pkt) &&
	       pkt->data_offset == frame->seg[0].bytes &&
	       (!(pkt->flags & WIRE_DGRAM_F_ACK) || rd_ack_fits(s, be32_get(rd->ack)));
}

/* Takes the packets of one frame. */
static void rd_rx_run(struct fw_nic *nic, struct rd_session *s, struct rdmap_seg *pkt, uint32_t psn,
		      uint16_t distance)
{
	const struct fw_rx_frame *frame = pkt->frame;
	uint32_t segment = frame->run_bytes, epoch = s->epoch, i;

	nic->net.run_taken = frame->run;
	if (rx_run_whole(nic, s, pkt, psn, distance))
		return;
	for (i = 0; i < frame->run && s->epoch == epoch && s->state == RD_OPEN; i++) {
		uint32_t at = i * segment;
		struct rdmap_seg part;

		rd_run_part(pkt, at, i + 1u < frame->run ? segment : pkt->data_bytes - at, &part);
		rd_rx_packet(nic, s, &part, psn + i, i ? 1 : distance, true);
	}
	nic->net.run_taken = i;
}

/*
 * Delivers messages of a bundle as long as each is the usual case of a Send: those need no look at
 * order and window. Returns their number; *at: the offset of the part behind them.
 */
static uint32_t deliver_parts(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
			      uint32_t psn, uint32_t n, uint32_t *at)
{
	struct fw_qp *qp = rdmap_rx_qp(nic, pkt);
	uint32_t epoch = s->epoch, next, i;
	struct rdmap_seg part;

	for (i = 0; i < n; i++) {
		next = rd_bundle_part(pkt, *at, &part);
		if (!dgram_parse_ddp(&part) || !rdmap_rx_whole(nic, qp, &part))
			break;
		/* A completion that its queue had no room for may have ended all sessions. */
		if (s->epoch != epoch)
			return n;
		*at = next;
	}
	if (!i)
		return 0;
	note_data(nic, s, pkt, psn, i);
	rd_bits_put(&s->delivered, psn, i, true);
	accept_run(s, psn, i);
	if (rd_is_amid(s))
		rd_timer_watch(nic, s);
	return i;
}

/* Takes the n messages of a bundle. */
static void rd_rx_bundle(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
			 const struct wire_rd *rd, uint32_t n)
{
	uint32_t psn = be32_get(rd->psn), at = pkt->data_offset, epoch = s->epoch, i = 0;
	uint16_t distance = be16_get(rd->flow_distance);
	struct rdmap_seg part;

	FW_COUNT(nic, rd_rx_bundles);
	if (is_front(s, psn, distance, n))
		i = deliver_parts(nic, s, pkt, psn, n, &at);
	for (; i < n && s->epoch == epoch && s->state == RD_OPEN; i++) {
		at = rd_bundle_part(pkt, at, &part);
		rd_rx_packet(nic, s, &part, psn + i, i ? 1 : distance, false);
	}
}

/* True if the packet belongs to the session, or to the session that was offered. */
static bool check_epoch(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
			uint32_t epoch)
{
	if (s->state == RD_OPEN && epoch == s->epoch)
		return true;
	if (s->pend && epoch == s->pend_epoch) {
		rd_session_commit(nic, s, s->pend_ns);
		return true;
	}
	FW_DROP(nic, drop_rd_epoch);
	/*
	 * While our HELLO is in flight its answer settles this; otherwise the peer must be
	 * notified.
	 */
	if (s->state != RD_HELLO_SENT && s->state != RD_RESOLVING &&
	    nic->now_ns - s->reset_sent_ns > RD_MIN_RTO_NS) {
		s->reset_sent_ns = nic->now_ns;
		rd_hello_tx_reset(nic, pkt, epoch);
	}
	return false;
}

/*
 * A packet without data names the PSN that its peer will use next. If later PSNs have come, and so
 * long ago that they cannot have overtaken this packet, they were not the peer's. If a PSN is
 * missing, and the peer has not repeated it for far longer than any time-out, then a forged ACK has
 * told the peer that it came: it never will.
 */
static bool is_astray(const struct fw_nic *nic, const struct rd_session *s,
		      const struct rdmap_seg *pkt, const struct wire_rd *rd)
{
	if (pkt->hdr->type == WIRE_DGRAM_RD || pkt->hdr->type == WIRE_DGRAM_RD_BUNDLE ||
	    !fw_waited(nic, &s->rx_data, RD_ASTRAY_NS))
		return false;
	return seq_lt(be32_get(rd->psn), s->rx_high) ||
	       (s->rx_psn != s->rx_high && fw_waited(nic, &s->rx_data, RD_STALE_NS));
}

/*
 * A probe requests its ACK at once. A probing peer that disagrees about sent PSNs has waited long
 * enough.
 */
static void probed(struct fw_nic *nic, struct rd_session *s)
{
	if (s->astray && !s->tx) {
		rd_session_renew(nic, s);
		return;
	}
	s->answers = false;
	rd_ack_due(nic, s);
}

/* Returns how long this core was away before the turn; 0: it polled. */
static uint64_t absence_ns(const struct fw_nic *nic)
{
	if (nic->gap_ns <= RD_GAP_NS)
		return 0;
	return nic->gap_ns < RD_ECHO_GAP_NS ? nic->gap_ns : RD_ECHO_GAP_NS;
}

/*
 * Counts the packets of data that the frame of a session has, and makes *run of a run, *flat of a
 * bundle. UINT32_MAX: nothing is done with it any more.
 */
static inline uint32_t count_packets(struct fw_nic *nic, const struct rd_session *s,
				     struct rdmap_seg *pkt, const struct wire_rd *rd,
				     struct rdmap_seg *run, struct fw_rx_frame *flat)
{
	uint32_t packets = pkt->frame->run;

	if (__builtin_expect(packets > 1, 0)) {
		*run = *pkt;
		if (parse_run(s, run, rd))
			return packets;
		eth_run_decline(nic);
		return UINT32_MAX;
	}
	if (pkt->hdr->type != WIRE_DGRAM_RD_BUNDLE)
		return pkt->hdr->type == WIRE_DGRAM_RD;
	packets = rd_bundle_open(nic, pkt, flat);
	if (packets)
		return packets;
	FW_DROP(nic, drop_rd_malformed);
	return UINT32_MAX;
}

void rd_rx(struct fw_nic *nic, struct rdmap_seg *pkt, const struct wire_rd *rd)
{
	struct rd_session *s = rd_session_find(nic, pkt->src_ip, pkt->src_shard);
	uint32_t epoch = be32_get(rd->epoch), packets;
	struct fw_rx_frame flat;
	struct rdmap_seg run;

	if (!s) {
		FW_DROP(nic, drop_rd_no_session);
		rd_hello_tx_reset(nic, pkt, epoch);
		return;
	}
	pkt->peer = &s->recv;
	pkt->station = s->station;
	if (!check_epoch(nic, s, pkt, epoch))
		return;
	if (is_astray(nic, s, pkt, rd)) {
		rd_session_renew(nic, s);
		return;
	}
	packets = count_packets(nic, s, pkt, rd, &run, &flat);
	if (packets == UINT32_MAX)
		return;
	s->used_ns = nic->now_ns;
	if (!s->confirmed)
		rd_session_confirm(nic, s);
	if (s->half_open)
		rd_share_heard(nic, s);
	if (pkt->hdr->ce)
		s->ece = true;
	s->peer_next = be32_get(rd->psn) + (packets > 1 ? packets - 1 : 0);
	s->ts_echo = be32_get(rd->timestamp);
	/*
	 * The packet came at an unknown time between two turns. A long gap is this core's delay,
	 * not the network's, and must not look like congestion to the peer.
	 */
	s->ts_echo_ns = nic->now_ns - absence_ns(nic);
	rd_grant_rx(nic, s, pkt, rd, packets);
	switch ((enum wire_dgram_type)pkt->hdr->type) {
	case WIRE_DGRAM_RD:
	case WIRE_DGRAM_RD_BUNDLE:
	case WIRE_DGRAM_RD_PROBE:
		if (pkt->flags & WIRE_DGRAM_F_ACK)
			rd_ack_cumulative(nic, s, be32_get(rd->ack), be32_get(rd->timestamp_echo),
					  pkt->flags & WIRE_DGRAM_F_ECE);
		if (s->state != RD_OPEN)
			return;
		if (pkt->hdr->type == WIRE_DGRAM_RD_PROBE)
			probed(nic, s);
		else if (pkt->hdr->type == WIRE_DGRAM_RD_BUNDLE)
			rd_rx_bundle(nic, s, pkt, rd, packets);
		else if (packets > 1)
			rd_rx_run(nic, s, &run, be32_get(rd->psn), be16_get(rd->flow_distance));
		else
			rd_rx_packet(nic, s, pkt, be32_get(rd->psn), be16_get(rd->flow_distance),
				     false);
		return;
	case WIRE_DGRAM_RD_ACK:
		/* dgram.c checked that the whole ACK is there, contiguous behind rd. */
		rd_ack_rx(nic, s, rd, (const void *)(rd + 1), pkt->flags & WIRE_DGRAM_F_ECE);
		return;
	case WIRE_DGRAM_UD:
	case WIRE_DGRAM_UC:
	case WIRE_DGRAM_RD_HELLO:
	case WIRE_DGRAM_CM:
	case WIRE_DGRAM_TYPES:
		break;
	}
	FW_DROP(nic, drop_dgram_type);
}
