/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD, sending: the send window, round robin over sessions and flows, retransmission.
 *
 * rd_tx_run() is a stage of fw_poll(): sessions that may send take turns, and so do the flows of a
 * session, so that neither a peer nor a QP starves another. Lost packets go before new data.
 * Payload is gathered anew for each transmission; only headers are made here. Calls rdmap_tx.c,
 * wqe_gather.c, udp.c, eth_tx.c. ARCHITECTURE.md "RD in one page".
 */
#include "nic_fw/dgram/rd_tx.h"
#include "nic_fw/fw_nic.h"

void rd_session_ready(struct fw_nic *nic, struct rd_session *s)
{
	if (s->state == RD_OPEN && s->confirmed && !fw_list_linked(&s->ready_node))
		fw_list_add_tail(&nic->rd.ready, &s->ready_node);
}

static uint32_t echo_of(const struct fw_nic *nic, const struct rd_session *s)
{
	uint32_t echo;

	if (!s->ts_echo_ns)
		return 0;
	/* The time that this end held it is no part of the round trip. */
	echo = s->ts_echo + (uint32_t)(nic->now_ns - s->ts_echo_ns);
	return echo ? echo : 1;
}

/*
 * Writes Ethernet, IPv4, UDP, wire_dgram and wire_rd. The caller fills the message's part of
 * wire_dgram. An ACK is piggybacked unless packets were refused, which only a full ACK can report.
 */
void rd_tx_headers(struct fw_nic *nic, struct rd_session *s, struct fw_tx_frame *frame,
		   uint8_t type, uint32_t psn, uint16_t flow_distance, uint32_t payload_bytes)
{
	struct wire_dgram *dgram = (void *)(frame->hdr + UDP_TX_HDR_BYTES);
	struct wire_rd *rd = (void *)(dgram + 1);
	bool ack = type == WIRE_DGRAM_RD_ACK || !s->any_refused;
	bool data = type == WIRE_DGRAM_RD || type == WIRE_DGRAM_RD_BUNDLE;
	bool more = s->more;

	if (data)
		s->credit_used++;
	else
		more = s->lost || !fw_list_empty(&s->flows);
	udp_tx_header(nic, frame, s->peer_ip, s->peer_mac, s->peer_shard,
		      (uint32_t)(sizeof(*dgram) + sizeof(*rd)) + payload_bytes +
			  WIRE_DGRAM_CRC_BYTES);
	memset(dgram, 0, sizeof(*dgram));
	dgram->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | type);
	dgram->flags = (uint8_t)((ack ? WIRE_DGRAM_F_ACK : 0) | (more ? WIRE_DGRAM_F_MORE : 0));
	if (__builtin_expect(s->ece, 0)) {
		dgram->flags |= WIRE_DGRAM_F_ECE;
		s->ece = false;
	}
	*rd = (struct wire_rd){
	    .epoch = be32_put(s->peer_epoch),
	    .psn = be32_put(psn),
	    .ack = be32_put(ack ? s->rx_psn : 0),
	    .timestamp = be32_put((uint32_t)nic->now_ns),
	    .timestamp_echo = be32_put(echo_of(nic, s)),
	    .flow_distance = be16_put(flow_distance),
	    .used = s->credit_used,
	    .limit = (uint8_t)s->rx_limit,
	};
	s->rx_announced = s->rx_limit;
	if (ack && data && s->rx_high == s->rx_psn && s->ack_due) {
		/* This packet has all that an ACK would report. */
		rd_ack_sent(s);
	}
	if (data && nic->now_ns - s->rx_data.ns < RD_ACK_DELAY_NS)
		s->answers = true;
	s->used_ns = nic->now_ns;
}

static void fill_dgram(struct fw_tx_frame *frame, const struct fw_wqe *msg, bool last,
		       bool retransmit)
{
	struct wire_dgram *dgram = (void *)(frame->hdr + UDP_TX_HDR_BYTES);

	rd_tx_common(dgram, msg);
	dgram->msg_bytes = be32_put(msg->bytes);
	dgram->ssn = be32_put(msg->ssn);
	if (retransmit)
		dgram->flags |= WIRE_DGRAM_F_RETRANSMIT;
	dgram->flags |= rd_tx_imm(msg, last, &dgram->imm);
}

/*
 * Frames are delivered in order, so a peer that acknowledges a packet has consumed its first frame.
 * This does not hold for repeated packets, nor for the slots of inline data.
 */
static bool may_borrow(const struct fw_wqe *msg)
{
	return !(msg->flags & HW_WQE_F_INLINE) && (msg->num_sge || !msg->tag_handle);
}

/*
 * Makes and sends the packet of a slot, or a run of packets from it on, with bytes of payload in
 * all. HW_VENDOR_ERR_NONE; otherwise the reason why the payload cannot be read, and nothing was
 * sent; a run may still go packet by packet.
 */
static enum hw_vendor_err tx_slot(struct fw_nic *nic, struct rd_session *s,
				  const struct rd_slot *slot, uint32_t psn, uint32_t bytes,
				  uint32_t run)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	const struct fw_wqe *msg = slot->msg;
	bool self_contained = rdmap_tx_is_self_contained(msg->rdmap_opcode);
	bool last = self_contained || slot->offset + bytes == msg->bytes;
	uint32_t envelope = wqe_envelope_bytes(msg, slot->offset);
	uint32_t data = self_contained ? 0 : bytes - envelope;
	enum hw_vendor_err err;
	uint32_t ddp, num_seg = 0;
	bool host = false;

	assert(frame);
	if (run > 1) {
		err = rd_run_gather(nic, msg, slot->offset, data, frame, &num_seg);
		if (err != HW_VENDOR_ERR_NONE)
			return err;
	}
	if (msg->kind == FW_WQE_CANCEL) {
		ddp = sizeof(struct wire_rd_cancel);
		rd_cancel_put(msg, (void *)(frame->hdr + RD_HDR_BYTES));
	} else {
		ddp = rdmap_tx_header(nic, msg, slot->offset, data + envelope,
				      frame->hdr + RD_HDR_BYTES);
	}
	rd_tx_headers(nic, s, frame, WIRE_DGRAM_RD, psn, slot->flow_distance,
		      ddp + (run > 1 ? slot->bytes : data));
	if (msg->kind != FW_WQE_CANCEL)
		fill_dgram(frame, msg, last, slot->tries > 0);
	eth_tx_headers(frame, IP_TX_HDR_BYTES, RD_HDR_BYTES - IP_TX_HDR_BYTES + ddp, 0);
	if (run > 1) {
		rd_run_seal(frame, num_seg, run, slot->bytes);
		s->credit_used += (uint8_t)(run - 1);
	} else if (data) {
		err = wqe_gather(nic, msg, slot->offset + envelope, data, frame, &host);
		if (err != HW_VENDOR_ERR_NONE) {
			/* The piggybacked ACK did not leave. */
			rd_ack_due(nic, s);
			return err;
		}
	}
	rd_tx_seal(frame);
	if (!slot->tries && may_borrow(msg))
		frame->flags |= FW_TX_F_BORROW;
	fw_trace(nic, TRACE_RD_TX, msg->src_qpn, msg->wr_id, psn);
	FW_ADD(nic, rd_tx_packets, run);
	if (!host) {
		eth_tx_commit(nic, frame);
		return HW_VENDOR_ERR_NONE;
	}
	if (eth_tx_commit_now(nic, frame) != -FW_EFAULT)
		return HW_VENDOR_ERR_NONE;
	rd_ack_due(nic, s);
	return HW_VENDOR_ERR_HOST_FAULT;
}

/* A PSN whose message is gone must still arrive, or the peer's window would not move. */
static void tx_void(struct fw_nic *nic, struct rd_session *s, uint32_t psn)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	struct wire_dgram *dgram;

	assert(frame);
	rd_tx_headers(nic, s, frame, WIRE_DGRAM_RD, psn, 0, 0);
	dgram = (void *)(frame->hdr + UDP_TX_HDR_BYTES);
	dgram->flags |= WIRE_DGRAM_F_RETRANSMIT;
	eth_tx_headers(frame, IP_TX_HDR_BYTES, RD_HDR_BYTES - IP_TX_HDR_BYTES, 0);
	rd_tx_seal(frame);
	FW_COUNT(nic, rd_tx_voids);
	eth_tx_commit(nic, frame);
}

/* The payload of a message cannot be read any more: our fault, not the peer's. */
static void msg_unreadable(struct fw_nic *nic, struct fw_wqe *msg, enum hw_vendor_err err)
{
	if (msg->kind == FW_WQE_READ_RESPONSE) {
		/* The region went away while it was read: the reader must be notified. */
		rd_term_response_failed(nic, msg);
		return;
	}
	rd_msg_fail(nic, msg, wqe_status_of(err), err);
}

void rd_tx_paced(struct fw_nic *nic, struct fw_timer *timer)
{
	rd_session_ready(nic, FW_CONTAINER(timer, struct rd_session, pace_timer));
}

/* A window below one packet: the next packet waits for its time. */
static void pace(struct fw_nic *nic, struct rd_session *s)
{
	uint64_t at_ns = s->cwnd > 1 ? 0 : rd_cong_pace_ns(nic, s);

	if (at_ns)
		fw_timer_set(&nic->timers, &s->pace_timer, at_ns);
}

/*
 * Withdrawal. A flow whose packets are lost again and again must not block the others of its
 * session: the window spans a limited number of PSNs, and the oldest missing one holds it. Such a
 * PSN is sent as a void packet from now on. The first of the two that arrives decides, and the ACK
 * reports it. Accepted: the payload has arrived. Refused: the flow continues from there under new
 * PSNs, one packet at a time until one gets through (rd_outcome.c).
 */
static bool withdraws(const struct rd_session *s, const struct rd_slot *slot)
{
	/* Packets behind a refusal will be refused too, so their payload is useless. */
	if (slot->withdrawn || slot->flow->refused || slot->flow->withdrawals)
		return true;
	/* Others of the flow get through meanwhile, so this packet will get through as well. */
	if (slot->flow->heard_ns > slot->first_sent.ns && slot->tries < 2 * RD_WITHDRAW_TRIES)
		return false;
	return slot->tries >= RD_WITHDRAW_TRIES &&
	       (s->backoff >= RD_WITHDRAW_TIMEOUTS || s->tx_psn - s->tx_una >= RD_WITHDRAW_SPAN);
}

static uint32_t retransmit(struct fw_nic *nic, struct rd_session *s, uint32_t budget)
{
	uint32_t done = 0;
	uint32_t psn;

	for (psn = s->tx_una; s->lost && psn != s->tx_psn && done < budget; psn++) {
		if (s->sent >= s->cwnd || fw_timer_is_set(&s->pace_timer) || !rd_has_credit(s))
			break;
		/* Repeatedly lost packets must leave room for other packets. */
		if (s->resent && (s->resent >= s->cwnd - s->cwnd / 4 ||
				  (uint8_t)(s->credit_limit - s->credit_used) == 1))
			break;
		struct rd_slot *slot = rd_slot_at(s, psn);
		enum hw_vendor_err err;

		if (slot->state != RD_SLOT_LOST)
			continue;
		/* It becomes void when its QP, which is ending, ends the flow. */
		if (slot->flow && !rd_flow_may_resend(nic, slot->flow))
			continue;
		if (eth_tx_room(nic) < 2)
			break;
		if (slot->tries < UINT8_MAX)
			slot->tries++;
		s->more = s->lost > 1 || !fw_list_empty(&s->flows);
		if (slot->msg && withdraws(s, slot)) {
			slot->withdrawn = true;
			tx_void(nic, s, psn);
		} else if (slot->msg) {
			struct fw_wqe *msg = slot->msg;

			err = tx_slot(nic, s, slot, psn, slot->bytes, 1);
			if (err != HW_VENDOR_ERR_NONE) {
				msg_unreadable(nic, msg, err); /* makes the slot void */
				if (!s->tx || s->state != RD_OPEN)
					return done;
				tx_void(nic, s, psn);
			}
		} else {
			tx_void(nic, s, psn);
		}
		slot->state = RD_SLOT_SENT;
		slot->sent_ns = nic->now_ns;
		s->lost--;
		s->sent++;
		s->resent++;
		pace(nic, s);
		done += 1 + fw_dear_take(nic);
		FW_COUNT(nic, rd_tx_retransmits);
		fw_trace(nic, TRACE_RD_RETRANSMIT, 0, psn, slot->tries);
	}
	return done;
}

static bool window_open(const struct rd_session *s)
{
	uint32_t in_flight = s->tx_psn - s->tx_una;

	return in_flight < WIRE_RD_WINDOW && s->sent < s->cwnd && rd_has_credit(s) &&
	       !fw_timer_is_set(&s->pace_timer);
}

/* Returns how many of the next packets of a flow, up to budget, may leave as a run; 1: none. */
static uint32_t run_length(struct fw_nic *nic, const struct rd_session *s, const struct fw_wqe *msg,
			   uint32_t left, uint32_t budget)
{
	uint32_t segment = s->segment_bytes, n, room;

	if (rdmap_tx_is_self_contained(msg->rdmap_opcode) ||
	    wqe_envelope_bytes(msg, msg->sent_bytes) || !may_borrow(msg) || msg->flow->withdrawals)
		return 1;
	n = rd_tx_most(s, budget);
	room = FW_RUN_BYTES / segment;
	n = n < room ? n : room;
	n = n < nic->net.tx_allow ? n : nic->net.tx_allow;
	if (n < 2)
		return 1;
	room = nic->port.tx_run(nic->port.ctx, s->peer_mac);
	n = n < room ? n : room;
	room = (left - 1) / segment + 1;
	n = n < room ? n : room;
	return n ? n : 1;
}

/* A run has left, with so many bytes: the slot of its first packet stands for all of them. */
static void begin_row(struct fw_nic *nic, struct rd_session *s, uint32_t psn, uint32_t run,
		      uint32_t bytes)
{
	struct rd_slot *slot = &s->tx->slot[psn % WIRE_RD_WINDOW];
	const struct fw_wqe *msg = slot->msg;

	slot->row = (uint8_t)run;
	slot->row_end_bytes = (uint16_t)(bytes - (run - 1) * slot->bytes);
	s->tx->rows = true;
	for (uint32_t i = 1; __builtin_expect(nic->trace != NULL, 0) && i < run; i++)
		fw_trace(nic, TRACE_RD_TX, msg->src_qpn, msg->wr_id, psn + i);
}

/*
 * Sends the next packet of a flow, or up to budget of them as a run, under new PSNs. Returns their
 * number; 0: nothing was sent.
 */
static uint32_t tx_new(struct fw_nic *nic, struct rd_session *s, struct rd_flow *flow,
		       uint32_t budget)
{
	struct fw_wqe *msg = flow->next;
	uint32_t psn = s->tx_psn;
	struct rd_slot *slot = &s->tx->slot[psn % WIRE_RD_WINDOW];
	uint32_t left = msg->bytes - msg->sent_bytes;
	uint32_t run = 1;
	bool more_msgs = msg->flow_node.next != &flow->msgs;
	bool more = more_msgs || !fw_list_empty(&s->flows);
	enum hw_vendor_err err = HW_VENDOR_ERR_HOST_FAULT;
	uint32_t bytes;

	if (nic->port.tx_run && left > s->segment_bytes)
		run = run_length(nic, s, msg, left, budget);
	rd_tx_fill_slot(nic, s, msg, psn, msg->sent_bytes,
			(uint16_t)(flow->outstanding ? psn - flow->last_psn : 0));
	bytes = slot->bytes;
	if (run > 1) {
		bytes = run * bytes < left ? run * bytes : left;
		s->more = left > bytes || more;
		err = tx_slot(nic, s, slot, psn, bytes, run);
		bytes = err == HW_VENDOR_ERR_NONE ? bytes : slot->bytes;
	}
	if (err != HW_VENDOR_ERR_NONE) {
		run = 1;
		s->more = left > bytes || more;
		err = tx_slot(nic, s, slot, psn, bytes, 1);
	}
	if (err != HW_VENDOR_ERR_NONE) {
		slot->msg = NULL;
		slot->flow = NULL;
		msg_unreadable(nic, msg, err);
		return 0;
	}
	if (run > 1)
		begin_row(nic, s, psn, run, bytes);
	rd_tx_advance(nic, s, flow, run);
	pace(nic, s);
	rd_tx_note(nic, flow, msg, run, bytes);
	if (msg->state == FW_WQE_SENT)
		flow->next = more_msgs ? rd_flow_next(flow, msg) : NULL;
	return run;
}

/* Sends packets of one flow that may send; it goes to the end of the queue if it has more. */
static uint32_t tx_flow(struct fw_nic *nic, struct rd_session *s, struct rd_flow *flow,
			uint32_t budget)
{
	uint32_t done = 0, sent;

	/* A flow that may send is not stopped while its packets leave. */
	while (done < budget && rd_flow_has_next(flow) && window_open(s) && eth_tx_room(nic) >= 2) {
		/* An idle session begins a new window, with fewer credits. */
		if (s->tx_psn == s->tx_una)
			rd_cong_start(nic, s);
		sent = s->bundle ? rd_bundle_tx(nic, s, flow, budget - done) : 0;
		if (!sent)
			sent = tx_new(nic, s, flow, budget - done);
		if (!sent)
			return done; /* the flow may be gone */
		done += sent + fw_dear_take(nic);
	}
	if (rd_flow_has_next(flow) && !fw_list_linked(&flow->ready_node))
		fw_list_add_tail(&s->flows, &flow->ready_node);
	return done;
}

/* A flow that is alone has the whole turn of its session. */
static uint32_t quantum(const struct rd_session *s, uint32_t budget)
{
	return budget < RD_FLOW_QUANTUM || fw_list_empty(&s->flows) ? budget : RD_FLOW_QUANTUM;
}

static uint32_t rd_tx_session(struct fw_nic *nic, struct rd_session *s, uint32_t budget)
{
	struct fw_list *node;
	uint32_t done, sent, looks = 0;

	rd_session_fresh_mac(nic, s);
	/* Lost packets go first, but flows that lost nothing also have their turn. */
	done = retransmit(nic, s, fw_list_empty(&s->flows) ? budget : (budget + 1) / 2);

	while (done < budget && s->state == RD_OPEN && window_open(s) && eth_tx_room(nic) >= 2) {
		struct rd_flow *flow;

		if (fw_list_empty(&s->flows))
			break;
		if (!s->tx) {
			s->tx = fw_pool_get(&nic->rd.tx_windows);
			if (!s->tx)
				break;
			s->tx->rows = false;
		}
		node = fw_list_take(&s->flows);
		flow = FW_CONTAINER(node, struct rd_flow, ready_node);
		/* Thousands may be of queue pairs that have ended, or whose memory is gone. */
		sent = rd_flow_may_send(nic, flow)
			   ? tx_flow(nic, s, flow, quantum(s, budget - done))
			   : 0;
		done += sent;
		if (!sent && ++looks == RD_FLOW_LOOKS)
			break;
	}
	if (s->tx_psn == s->tx_una && s->tx) {
		fw_pool_put(&nic->rd.tx_windows, s->tx);
		s->tx = NULL;
	}
	/* No grants come if the peer does not know of the packets that wait here. */
	if (done || (s->state == RD_OPEN && rd_lacks_credit(s)))
		rd_timer_arm(nic, s);
	return done;
}

/*
 * Packets that a session may send now. One that is alone delays no other, so its packets leave in
 * fewer and longer turns and runs, and their acknowledgements are fewer; those of a long MTU do
 * not, since what a turn moves should stay in the cache.
 */
static uint32_t session_quantum(const struct rd_session *s, bool alone, uint32_t budget)
{
	uint32_t most = alone ? RD_SESSION_ALONE_BYTES / s->segment_bytes : 0;

	most = most < RD_SESSION_QUANTUM ? RD_SESSION_QUANTUM : most;
	return budget < most ? budget : most;
}

uint32_t rd_tx_run(struct fw_nic *nic, uint32_t budget)
{
	struct fw_list turn;
	struct fw_list *node;
	uint32_t done = 0, idle = 0, sent;
	bool alone;

	if (fw_list_empty(&nic->rd.ready))
		return 0;
	(void)fw_dear_take(nic);
	fw_list_init(&turn);
	fw_list_splice_tail(&turn, &nic->rd.ready);
	while (done < budget && idle < budget && eth_tx_room(nic) >= 2 &&
	       (node = fw_list_pop(&turn))) {
		struct rd_session *s = FW_CONTAINER(node, struct rd_session, ready_node);

		if (s->state != RD_OPEN || !s->confirmed)
			continue;
		alone = fw_list_empty(&turn) && fw_list_empty(&nic->rd.ready);
		sent = rd_tx_session(nic, s, session_quantum(s, alone, budget - done));
		done += sent;
		idle += !sent;
		/* A closed window opens with an ACK, which makes the session ready again. */
		if (s->state == RD_OPEN && window_open(s) && (s->lost || !fw_list_empty(&s->flows)))
			rd_session_ready(nic, s);
	}
	fw_list_splice_tail(&turn, &nic->rd.ready);
	fw_list_splice_tail(&nic->rd.ready, &turn);
	return done;
}

void rd_tx_probe(struct fw_nic *nic, struct rd_session *s)
{
	struct fw_tx_frame *frame;

	rd_session_fresh_mac(nic, s);
	frame = eth_tx_begin(nic);
	if (!frame)
		return;
	rd_tx_headers(nic, s, frame, WIRE_DGRAM_RD_PROBE, s->tx_psn, 0, 0);
	eth_tx_headers(frame, IP_TX_HDR_BYTES, RD_HDR_BYTES - IP_TX_HDR_BYTES, 0);
	rd_tx_seal(frame);
	frame->flags |= FW_TX_F_CONTROL;
	FW_COUNT(nic, rd_tx_probes);
	eth_tx_commit(nic, frame);
}
