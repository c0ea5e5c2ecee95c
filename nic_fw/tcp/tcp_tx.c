/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments out: retransmissions, new data, and ACKs.
 *
 * tcp_tx_run() and tcp_ack_flush() are stages of fw_poll(). Calls the layer above for segments
 * (next, fill) and eth_tx. All data is staged in tcp_tx_run(), after input and timers: no staged
 * frame holds data that was acknowledged in its turn. RFC 9293 3.8.6, RFC 1122 4.2.3.2 (delayed
 * ACKs).
 *
 * An ACK is sent at the end of the turn after two full segments, after a segment out of order, and
 * after one with PSH: the peer waits for it, since no buffer keeps its data. If responses carry
 * ACKs (TCP_F_RIDE), those for PSH wait briefly for the next response. Otherwise an ACK waits 40
 * ms.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"

enum {
	KNOCK_BYTES = 512,
};

void tcp_ready(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->state == TCP_CLOSED || flow->state == TCP_TIME_WAIT)
		return;
	if (!fw_list_linked(&flow->ready_node))
		fw_list_add_tail(&nic->tcp.ready, &flow->ready_node);
}

void tcp_push(struct fw_nic *nic, struct tcp_flow *flow)
{
	flow->flags |= TCP_F_MORE;
	tcp_ready(nic, flow);
}

void tcp_ack_soon(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!fw_list_linked(&flow->ack_node) && flow->state != TCP_CLOSED)
		fw_list_add_tail(&nic->tcp.acks, &flow->ack_node);
}

/* A segment with an ACK was sent. sack: with all SACK blocks. */
static void said(struct tcp_flow *flow, bool sack)
{
	flow->last_ack = flow->rcv_nxt;
	if (sack)
		flow->dsack = (struct tcp_block){0, 0};
	else if (!fw_list_empty(&flow->early) || flow->dsack.from != flow->dsack.to)
		return;
	flow->ack_ns = 0;
	flow->flags &= (uint16_t)~TCP_F_ACK_NOW;
	fw_list_del(&flow->ack_node);
}

void tcp_tx_data_said(const struct fw_nic *nic, struct tcp_flow *flow, bool sack)
{
	if (nic->now_ns - flow->heard_ns < TCP_ACK_RIDE_NS)
		flow->flags |= TCP_F_RIDE;
	said(flow, sack);
}

bool tcp_tx_bare(struct fw_nic *nic, struct tcp_flow *flow, uint32_t seq, uint8_t flags)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	uint32_t end;

	if (!frame)
		return false;
	end = tcp_tx_header(nic, flow, frame, seq, flags, 0, true, 0);
	tcp_tx_checksum(nic, frame, flow->peer_ip, end, 0);
	/* A segment that ends the stream must not overtake its data. */
	if (!(flags & (WIRE_TCP_FIN | WIRE_TCP_RST)))
		frame->flags |= FW_TX_F_CONTROL;
	eth_tx_hdr(frame, 0, end, 0);
	eth_tx_commit(nic, frame);
	if (flags & WIRE_TCP_ACK)
		said(flow, true);
	return true;
}

bool tcp_may_answer(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->answered_ns && nic->now_ns - flow->answered_ns < TCP_ANSWER_NS)
		return false;
	flow->answered_ns = nic->now_ns;
	return true;
}

void tcp_challenge(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!tcp_allowed(nic, &nic->tcp.challenges, TCP_CHALLENGES, TCP_CHALLENGES / 2))
		return;
	FW_COUNT(nic, tcp_challenge_acks);
	flow->flags |= TCP_F_ACK_NOW;
	tcp_ack_soon(nic, flow);
}

void tcp_ack_flush(struct fw_nic *nic)
{
	struct fw_list again, *pos;

	if (fw_list_empty(&nic->tcp.acks))
		return;
	fw_list_init(&again);
	while ((pos = fw_list_pop(&nic->tcp.acks)) != NULL) {
		struct tcp_flow *flow = FW_CONTAINER(pos, struct tcp_flow, ack_node);

		if (!(flow->flags & TCP_F_ACK_NOW) || !tcp_have_neigh(nic, flow))
			continue;
		if (tcp_tx_bare(nic, flow, flow->snd_nxt, WIRE_TCP_ACK))
			FW_COUNT(nic, tcp_tx_acks);
		else
			fw_list_add_tail(&again, pos);
	}
	fw_list_splice_tail(&nic->tcp.acks, &again);
}

/* ---- segments -------------------------------------------------------------------------------- */

static uint8_t data_flags(struct tcp_flow *flow, const struct tcp_seg *seg, bool last, bool fresh,
			  uint8_t *ect)
{
	uint8_t flags = WIRE_TCP_ACK;

	*ect = 0;
	if (last && seg->flags & TCP_SEG_PSH)
		flags |= WIRE_TCP_PSH;
	if (!fresh || !(flow->flags & TCP_F_ECN))
		return flags;
	/* RFC 3168 6.1.5: only new data can be marked. */
	*ect = WIRE_IP_ECT0;
	if (flow->flags & TCP_F_CWR) {
		flow->flags &= (uint16_t)~TCP_F_CWR;
		flags |= WIRE_TCP_CWR;
	}
	return flags;
}

static bool has_host_piece(const struct fw_tx_frame *frame)
{
	uint32_t i;

	for (i = 0; i < frame->num_seg; i++)
		if (frame->seg[i].kind == FW_TX_HOST)
			return true;
	return false;
}

/* Memory of a segment is gone: no segment after it can be sent either. */
static void unreadable(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg)
{
	const struct tcp_ops *ops = nic->tcp.ops[flow->user];

	if (ops->unreadable) {
		ops->unreadable(nic, flow, seg);
		return;
	}
	tcp_enter(flow);
	tcp_abort(nic, flow);
	ops->ended(nic, flow, TCP_END_RESET);
	(void)tcp_leave(nic, flow);
}

/* Commits a frame according to fill()'s result; false: it was not sent. */
static bool commit(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		   struct fw_tx_frame *frame, int filled)
{
	bool host = has_host_piece(frame);
	int rc = 0;

	/* A page is not available now: the segment counts as lost, but not in the network. */
	if (filled == -FW_EBUSY) {
		flow->kept_back = true;
		return true;
	}
	if (filled < 0)
		return false;
	if (filled == TCP_FILL_NOW)
		rc = eth_tx_try_now(nic, frame);
	else if (host)
		rc = eth_tx_commit_now(nic, frame);
	else
		eth_tx_commit(nic, frame);
	if (rc == -FW_EBUSY) {
		flow->kept_back = true;
		return true;
	}
	if (rc == -FW_EAGAIN)
		nic->net.tx_allow = 0; /* the port is full: no flow has room in this turn */
	else if (rc < 0 && host)
		unreadable(nic, flow, seg);
	return rc >= 0;
}

/* The copy of a segment that is sent. */
enum copy {
	COPY_FIRST,
	COPY_AGAIN,
};

/* Sends [from, from + bytes) of a segment, in one frame. */
static bool send_part(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		      uint32_t from, uint32_t bytes, enum copy copy)
{
	bool sack = bytes + WIRE_TCP_OPT_MAX_BYTES - WIRE_TCP_TS_PADDED_BYTES <= flow->mss;
	bool last = from + bytes == seg->bytes;
	struct fw_tx_frame *frame;
	uint32_t end;
	uint8_t flags, ect;

	if (!eth_tx_room(nic) || !(frame = eth_tx_begin(nic)))
		return false;
	flags = data_flags(flow, seg, last, copy == COPY_FIRST, &ect);
	end = tcp_tx_header(nic, flow, frame, seg->seq + from, flags, bytes, sack, ect);
	tcp_tx_checksum(nic, frame, flow->peer_ip, end, bytes);
	eth_tx_hdr(frame, 0, end, 0);
	if (!commit(nic, flow, seg, frame,
		    nic->tcp.ops[flow->user]->fill(nic, flow, seg, from, bytes, frame, end)))
		return false;
	fw_trace(nic, TRACE_TCP_TX, flow->local_port, seg->seq + from, bytes);
	FW_COUNT(nic, tcp_tx_segments);
	tcp_tx_data_said(nic, flow, sack);
	return true;
}

/* Sends SYN and FIN, which are segments of their own. */
static bool send_ctl(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg)
{
	uint8_t flags = WIRE_TCP_FIN | WIRE_TCP_ACK;

	if (seg->flags & TCP_SEG_SYN) {
		flags = WIRE_TCP_SYN;
		if (flow->state == TCP_SYN_RCVD)
			flags |=
			    flow->flags & TCP_F_ECN ? WIRE_TCP_ACK | WIRE_TCP_ECE : WIRE_TCP_ACK;
		else if (flow->flags & TCP_F_ECN)
			flags |= WIRE_TCP_ECE | WIRE_TCP_CWR;
	}
	if (!eth_tx_room(nic) || !tcp_tx_bare(nic, flow, seg->seq, flags))
		return false;
	FW_COUNT(nic, tcp_tx_segments);
	return true;
}

/*
 * Sends [from, to) of a segment, in as many frames as the path's MTU needs. Returns the end
 * reached.
 */
static uint32_t send_range(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg,
			   uint32_t from, uint32_t to, enum copy copy)
{
	uint32_t room = flow->mss;

	if (!(seg->flags & TCP_SEG_ULP))
		return send_ctl(nic, flow, seg) ? to : from;
	/* An MTU probe goes whole once, and never again. */
	if (copy == COPY_FIRST && tcp_is_probe(flow, seg) && to - from == seg->bytes)
		room = seg->bytes;
	while (from < to) {
		uint32_t n = tcp_min(to - from, room);

		if (!send_part(nic, flow, seg, from, n, copy) || flow->state == TCP_CLOSED)
			break;
		from += n;
	}
	return from;
}

void tcp_tx_sent(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, uint32_t bytes)
{
	seg->sent_ns = nic->now_ns;
	if (seg->tries < UINT8_MAX)
		seg->tries++;
	flow->sent_ns = nic->now_ns;
	if (flow->flags & TCP_F_RECOVERY)
		flow->prr_out += bytes;
}

/* Sends a copy of a segment again. False: no room, or the flow has ended. */
static bool resend(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg)
{
	uint32_t from = seq_lt(seg->seq, flow->snd_una) ? flow->snd_una - seg->seq : 0;
	uint32_t out = tcp_seg_out(flow, seg);

	if (send_range(nic, flow, seg, from, from + out, COPY_AGAIN) != from + out)
		return false;
	FW_COUNT(nic, tcp_tx_retransmits);
	tcp_seg_mark(flow, seg, TCP_SEG_EVER | TCP_SEG_RETRANS, 0);
	if (tcp_is_probe(flow, seg))
		tcp_probe_done(nic, flow, seg);
	tcp_tx_sent(nic, flow, seg, out);
	flow->undo_retrans++;
	flow->flags &= (uint16_t)~TCP_F_PROBE;
	if (flow->loss_timer == TCP_LOSS_NONE)
		tcp_loss_rearm(nic, flow);
	return true;
}

/*
 * Returns the segment that a tail probe repeats: the last that the peer does not have. RFC 8985 7.3
 */
static struct tcp_seg *last_in_flight(const struct tcp_flow *flow)
{
	struct fw_list *pos;

	for (pos = flow->segs.prev; pos != &flow->segs; pos = pos->prev) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (tcp_seg_out(flow, seg) && !(seg->flags & TCP_SEG_SACKED))
			return seg;
	}
	return NULL;
}

/* ---- new data -------------------------------------------------------------------------------- */

static void queue_fin(struct fw_nic *nic, struct tcp_flow *flow)
{
	flow->ctl = (struct tcp_seg){
	    .seq = flow->snd_nxt,
	    .bytes = 1,
	    .flags = TCP_SEG_FIN,
	};
	fw_list_add_tail(&flow->segs, &flow->ctl.node);
	tcp_set_state(nic, flow, flow->state == TCP_CLOSE_WAIT ? TCP_LAST_ACK : TCP_FIN_WAIT_1);
}

void tcp_tx_append(struct tcp_flow *flow, struct tcp_seg *seg, uint32_t seq)
{
	seg->seq = seq;
	seg->sent_ns = 0;
	seg->flags = (uint8_t)(TCP_SEG_ULP | (seg->flags & TCP_SEG_PSH));
	seg->tries = 0;
	fw_list_add_tail(&flow->segs, &seg->node);
}

/* Returns the segment that is not fully sent; makes one if there is data. NULL: none. */
static struct tcp_seg *unsent(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_seg *seg;
	uint32_t max;

	if (!fw_list_empty(&flow->segs)) {
		seg = FW_CONTAINER(flow->segs.prev, struct tcp_seg, node);
		if (seq_lt(flow->snd_nxt, tcp_seg_end(seg)))
			return seg;
	}
	if (!(flow->flags & TCP_F_MORE) || !tcp_may_send_data(flow))
		return NULL;
	max = tcp_probe_room(nic, flow);
	seg = nic->tcp.ops[flow->user]->next(nic, flow, max);
	if (flow->state == TCP_CLOSED)
		return NULL;
	if (!seg) {
		flow->flags &= (uint16_t)~TCP_F_MORE;
		if (!(flow->flags & TCP_F_CLOSE))
			return NULL;
		queue_fin(nic, flow);
		return &flow->ctl;
	}
	assert(seg->bytes && seg->bytes <= max);
	tcp_tx_append(flow, seg, flow->snd_nxt);
	if (seg->bytes > flow->mss) {
		flow->probing = TCP_PROBE_OUT;
		flow->probe_end = tcp_seg_end(seg);
	}
	return seg;
}

/*
 * True if only a part of the first segment is sent. A receiver with many connections leaves each a
 * window of little more than a segment (tcp_grant.c); whole segments of all of them at one moment
 * may be more than a switch can hold. It costs a round trip, so messages that follow each other
 * within an RTO go at once, as cwnd lets them.
 */
static bool knocks(const struct tcp_flow *flow, uint32_t room, uint32_t want)
{
	return flow->fresh && flow->snd_una == flow->snd_nxt && room < 2u * flow->mss &&
	       want > KNOCK_BYTES && room > KNOCK_BYTES && !(flow->flags & TCP_F_PROBE);
}

/*
 * Returns how much of an unsent segment the peer's window allows now: all, or none, or a part, if
 * nothing is in flight and the part is half of the largest window so far, or has waited. RFC 9293
 * 3.8.6.2.1
 */
static uint32_t window_lets(const struct tcp_flow *flow, uint32_t want)
{
	uint32_t in_flight = flow->snd_nxt - flow->snd_una;
	uint32_t room = in_flight < flow->snd_wnd ? flow->snd_wnd - in_flight : 0;

	if (knocks(flow, room, want))
		return KNOCK_BYTES;
	if (room >= want)
		return want;
	if (in_flight)
		return 0;
	if (room >= flow->snd_wnd_max / 2 || flow->flags & TCP_F_PROBE)
		return room;
	return 0;
}

/* One new segment, or a run of them. False: there is none, or it may not go. */
static bool send_new(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint32_t before, from, n, done;
	struct tcp_seg *seg;

	/* Only a tail probe may exceed cwnd. RFC 8985 7.3 */
	if (!(flow->flags & TCP_F_PROBE) && !tcp_cong_may_send(flow, flow->mss)) {
		flow->flags |= TCP_F_LIMITED;
		return false;
	}
	if (flow->snd_una == flow->snd_nxt)
		flow->knocking = false;
	if (flow->knocking && !(flow->flags & TCP_F_PROBE))
		return false;
	if (nic->port.tx_run && tcp_run_send(nic, flow))
		return true;
	seg = unsent(nic, flow);
	if (!seg)
		return false;
	from = flow->snd_nxt - seg->seq;
	n = seg->flags & TCP_SEG_ULP ? window_lets(flow, seg->bytes - from) : 1;
	/* A probe in parts would test nothing; the next segment will. */
	if (n < seg->bytes && tcp_is_probe(flow, seg) && n)
		flow->probing = TCP_PROBE_WANTED;
	if (!n) {
		if (flow->snd_una == flow->snd_nxt)
			tcp_loss_rearm(nic, flow);
		return false;
	}
	flow->knocking = flow->fresh && n == KNOCK_BYTES && from + n < seg->bytes;
	done = send_range(nic, flow, seg, from, from + n, COPY_FIRST);
	if (flow->state == TCP_CLOSED || done == from)
		return false;
	before = tcp_seg_pipe(flow, seg);
	flow->snd_nxt = seg->seq + done;
	flow->pipe += tcp_seg_pipe(flow, seg) - before;
	if (seg->flags & TCP_SEG_ULP)
		flow->fresh = false;
	tcp_tx_sent(nic, flow, seg, done - from);
	flow->flags &= (uint16_t)~TCP_F_PROBE;
	return done == from + n;
}

/* Sends a tail probe: new data, or the last segment once more. */
static bool tcp_tx_send_probe(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_seg *seg;
	bool too_long;

	if (send_new(nic, flow))
		return true;
	if (flow->state == TCP_CLOSED)
		return false;
	seg = last_in_flight(flow);
	if (!seg) {
		flow->flags &= (uint16_t)~TCP_F_PROBE;
		return false;
	}
	too_long = tcp_is_probe(flow, seg);
	if (!resend(nic, flow, seg))
		return false;
	/* A loss due to the path's MTU is no congestion. */
	flow->tlp_retrans = flow->tlp_out && !too_long;
	return true;
}

/* After a timeout, before it is known if data was lost: tcp_frto.c. */
static bool new_goes_first(const struct tcp_flow *flow)
{
	return flow->flags & TCP_F_LOSS && flow->frto == TCP_FRTO_NEW;
}

static bool send_one(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_seg *lost;

	if (new_goes_first(flow)) {
		if (send_new(nic, flow))
			return true;
		if (flow->state == TCP_CLOSED || flow->flags & TCP_F_LIMITED || !eth_tx_room(nic))
			return false;
		/* There is no new data, or no window for it: RFC 5682 2, step 2b. */
		flow->frto = TCP_FRTO_OFF;
	}
	lost = tcp_first_lost(flow);
	if (lost) {
		if (flow->flags & TCP_F_PROBE || tcp_cong_may_send(flow, tcp_seg_out(flow, lost)))
			return resend(nic, flow, lost);
		flow->flags |= TCP_F_LIMITED;
		return false;
	}
	if (flow->flags & TCP_F_PROBE)
		return tcp_tx_send_probe(nic, flow);
	return send_new(nic, flow);
}

/* Sends a flow's burst; returns its cost. New segments of one burst set the loss timer once. */
static uint32_t output(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint32_t count = 0, before = flow->snd_nxt;

	(void)eth_tx_cost(nic);
	if (!tcp_have_neigh(nic, flow))
		return 0;
	flow->flags &= (uint16_t)~TCP_F_LIMITED;
	tcp_cong_restart(nic, flow);
	while (count < TCP_TX_QUANTUM && send_one(nic, flow))
		count += eth_tx_cost(nic);
	if (flow->state == TCP_CLOSED)
		return count;
	if (flow->snd_nxt != before &&
	    (flow->loss_timer == TCP_LOSS_NONE || flow->loss_timer == TCP_LOSS_PERSIST ||
	     flow->loss_timer == TCP_LOSS_TLP))
		tcp_loss_rearm(nic, flow);
	/*
	 * Its quantum, or the port's room, is used up; else it waits for an ACK, a timer or a push.
	 */
	if (count >= TCP_TX_QUANTUM || !eth_tx_room(nic))
		tcp_ready(nic, flow);
	tcp_timer_update(nic, flow);
	return count;
}

uint32_t tcp_tx_run(struct fw_nic *nic, uint32_t budget)
{
	uint32_t done = 0, flows = 0;

	while (done < budget && flows++ < budget && !fw_list_empty(&nic->tcp.ready) &&
	       eth_tx_room(nic)) {
		struct tcp_flow *flow =
		    FW_CONTAINER(nic->tcp.ready.next, struct tcp_flow, ready_node);

		fw_list_del(&flow->ready_node);
		tcp_enter(flow);
		done += output(nic, flow);
		(void)tcp_leave(nic, flow);
	}
	return done;
}

void tcp_resume(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->state == TCP_CLOSED || !(flow->flags & TCP_F_STALLED))
		return;
	flow->flags &= (uint16_t)~TCP_F_STALLED;
	tcp_enter(flow);
	tcp_early_deliver(nic, flow);
	if (flow->state != TCP_CLOSED) {
		flow->flags |= TCP_F_ACK_NOW;
		tcp_ack_soon(nic, flow);
		tcp_take_fin(nic, flow);
	}
	(void)tcp_leave(nic, flow);
}
