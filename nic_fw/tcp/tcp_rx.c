/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments in: checks them, finds their connection and handles them by its state.
 *
 * Calls tcp_ack.c with acknowledgements, the layer above with bytes in order, tcp_ooo.c with bytes
 * out of order, tcp_listen.c with segments of no connection. RFC 9293 3.10.7, RFC 5961 (unexpected
 * resets, SYNs and ACKs), RFC 7323 5 (PAWS), RFC 3168 6.1.3.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"

/* ---- the header ------------------------------------------------------------------------------ */

static bool tcp_rx_checksum_ok(const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	uint32_t sum;

	if (frame->flags & FW_RX_CSUM_OK)
		return true;
	sum = tcp_pseudo_sum(info->ip->src, info->ip->dst, info->payload_bytes);
	return wire_sum_fold(ip_sum_frame(sum, frame, info->payload_offset, info->payload_bytes)) ==
	       0;
}

static bool tcp_rx_parse(struct fw_nic *nic, const struct fw_rx_frame *frame,
			 const struct ip_rx_info *info, struct tcp_in *in)
{
	const struct wire_tcp *tcp =
	    (const struct wire_tcp *)(frame->seg[0].data + info->payload_offset);
	uint32_t contiguous = frame->seg[0].bytes - info->payload_offset, head;

	if (info->group || info->payload_bytes < sizeof(*tcp) || contiguous < sizeof(*tcp)) {
		FW_DROP(nic, drop_tcp_malformed);
		return false;
	}
	head = (tcp->data_offset >> 4) * 4u;
	if (head < sizeof(*tcp) || head > info->payload_bytes || head > contiguous ||
	    !tcp_opt_parse((const uint8_t *)(tcp + 1), head - (uint32_t)sizeof(*tcp), &in->opt)) {
		FW_DROP(nic, drop_tcp_malformed);
		return false;
	}
	if (!tcp_rx_checksum_ok(frame, info)) {
		FW_DROP(nic, drop_tcp_checksum);
		return false;
	}
	in->frame = frame;
	in->info = info;
	in->seq = be32_get(tcp->seq);
	in->ack = be32_get(tcp->ack);
	in->window = be16_get(tcp->window);
	in->flags = tcp->flags;
	in->src_port = be16_get(tcp->src_port);
	in->dst_port = be16_get(tcp->dst_port);
	in->offset = info->payload_offset + head;
	in->bytes = info->payload_bytes - head;
	in->segs = 1;
	return true;
}

/*
 * A server may take one connection and then listen again: a SYN that comes in between is dropped,
 * and its client repeats it.
 */
static void nobodys(struct fw_nic *nic, const struct tcp_in *in)
{
	const uint8_t asked = WIRE_TCP_SYN | WIRE_TCP_ACK | WIRE_TCP_RST;

	if ((in->flags & asked) == WIRE_TCP_SYN && l4_port_early(nic, in->dst_port, false)) {
		FW_DROP(nic, drop_cm_early);
		return;
	}
	FW_DROP(nic, drop_tcp_no_flow);
	tcp_tx_reset_for(nic, in);
}

void tcp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	struct tcp_flow *flow;
	struct tcp_in in;

	if (!tcp_rx_parse(nic, frame, info, &in))
		return;
	if (__builtin_expect(frame->run > 1, 0)) {
		tcp_run_rx(nic, &in);
		return;
	}
	FW_COUNT(nic, tcp_rx_segments);
	fw_trace(nic, TRACE_TCP_RX, in.dst_port, in.seq, in.bytes);
	flow = tcp_look_up(nic, info->src_ip, in.src_port, in.dst_port);
	if (flow) {
		tcp_flow_rx(nic, flow, &in);
	} else if (!tcp_listen_rx(nic, &in)) {
		nobodys(nic, &in);
	}
}

/* ---- SYN-SENT -------------------------------------------------------------------------------- */

static void learn_syn(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	flow->irs = in->seq;
	flow->rcv_nxt = in->seq + 1;
	flow->rcv_up = flow->rcv_nxt;
	flow->rcv_adv = flow->rcv_nxt;
	tcp_grant_begin(flow, flow->rcv_limit);
	flow->last_ack = flow->rcv_nxt;
	tcp_negotiated(nic, flow, in->opt.mss, in->opt.has_ts, in->opt.sack_ok, in->opt.has_wscale,
		       in->opt.wscale);
	if (in->opt.has_ts) {
		flow->ts_recent = in->opt.ts_val;
		flow->ts_recent_ns = nic->now_ns;
	}
	flow->snd_wnd = in->window; /* of a SYN: not scaled */
	flow->snd_wnd_max = in->window;
	flow->snd_wl1 = in->seq;
}

/* RFC 9293 3.10.7.3 */
static void rx_syn_sent(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_in *in)
{
	bool ack = in->flags & WIRE_TCP_ACK;

	if (ack && in->ack != flow->iss + 1) {
		tcp_tx_reset_for(nic, in);
		return;
	}
	/* The timestamp echo is of a SYN of ours, or the segment is a stranger's: RFC 7323 3.2. */
	if (ack && in->opt.has_ts && in->opt.ts_ecr &&
	    seq_lt(tcp_ts_now(nic->now_ns) + flow->ts_offset, in->opt.ts_ecr)) {
		FW_DROP(nic, drop_tcp_window);
		return;
	}
	if (in->flags & WIRE_TCP_RST) {
		if (!ack)
			return;
		FW_COUNT(nic, tcp_rx_resets);
		tcp_end(nic, flow, TCP_END_REFUSED);
		return;
	}
	if (!(in->flags & WIRE_TCP_SYN))
		return;
	learn_syn(nic, flow, in);
	if (!ack) {
		/* Both ends began at the same time. */
		if ((in->flags & (WIRE_TCP_ECE | WIRE_TCP_CWR)) != (WIRE_TCP_ECE | WIRE_TCP_CWR))
			flow->flags &= (uint16_t)~TCP_F_ECN;
		tcp_set_state(nic, flow, TCP_SYN_RCVD);
		tcp_seg_mark(flow, &flow->ctl, TCP_SEG_LOST, TCP_SEG_RETRANS);
		flow->flags |= TCP_F_PROBE;
		tcp_ready(nic, flow);
		return;
	}
	if ((in->flags & (WIRE_TCP_ECE | WIRE_TCP_CWR)) != WIRE_TCP_ECE)
		flow->flags &= (uint16_t)~TCP_F_ECN;
	if (!tcp_ack_rx(nic, flow, in))
		return;
	tcp_set_state(nic, flow, TCP_ESTABLISHED);
	flow->flags |= TCP_F_ACK_NOW | TCP_F_MORE;
	tcp_ack_soon(nic, flow);
	tcp_ready(nic, flow);
	nic->tcp.ops[flow->user]->opened(nic, flow);
}

/* ---- synchronized states --------------------------------------------------------------------- */

/* RFC 7323 5.3: true when the segment is older than one that was received. */
bool tcp_rx_is_old(const struct fw_nic *nic, const struct tcp_flow *flow, const struct tcp_in *in)
{
	if (!(flow->flags & TCP_F_TS) || in->flags & WIRE_TCP_RST)
		return false;
	/* 3.2: after negotiation every segment has timestamps. */
	if (!in->opt.has_ts)
		return true;
	return seq_lt(in->opt.ts_val, flow->ts_recent) &&
	       nic->now_ns - flow->ts_recent_ns < TCP_PAWS_AGE_NS;
}

/*
 * A bare ACK that was overtaken on its way, for example between two processors of a host: slightly
 * older than the newest segment, and with no new information. It may also be an old duplicate. In
 * neither case does R1's answer (RFC 7323 5.3), meant for ends that lost synchronization, inform
 * the peer: a peer that did has a new clock, which is not within an RTO of the old.
 */
static bool is_late_ack(const struct tcp_flow *flow, const struct tcp_in *in)
{
	const uint8_t kind = WIRE_TCP_ACK | WIRE_TCP_SYN | WIRE_TCP_FIN | WIRE_TCP_RST;

	return in->opt.has_ts && !in->bytes && (in->flags & kind) == WIRE_TCP_ACK &&
	       seq_leq(in->seq, flow->rcv_nxt) && seq_leq(in->ack, flow->snd_una) &&
	       flow->ts_recent - in->opt.ts_val <= flow->rto_ns / TCP_TS_TICK_NS;
}

/*
 * RFC 9293 3.10.7.4, the four cases of acceptability. Without text the right edge itself is
 * acceptable: a peer that has filled the window and lost the first segment sends its ACKs from
 * there.
 */
static bool acceptable(const struct tcp_flow *flow, const struct tcp_in *in)
{
	uint32_t len = tcp_in_len(in), window = tcp_rcv_window(flow);
	uint32_t first = in->seq - flow->rcv_nxt, last = in->seq + len - 1 - flow->rcv_nxt;

	if (!len)
		return first <= window;
	return window && (first < window || last < window);
}

/*
 * A reset counts only at the next expected byte; elsewhere in the window it is challenged. RFC 5961
 * 3.2
 */
static void rx_reset(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	if (in->seq != flow->rcv_nxt) {
		tcp_challenge(nic, flow);
		return;
	}
	FW_COUNT(nic, tcp_rx_resets);
	/* RFC 1337: a reset does not end TIME-WAIT early. */
	if (flow->state != TCP_TIME_WAIT)
		tcp_end(nic, flow, flow->state == TCP_SYN_RCVD ? TCP_END_REFUSED : TCP_END_RESET);
}

/* Checks window, PAWS, RST and SYN. False: the rest of the segment is ignored. */
static bool tcp_rx_check(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	if (tcp_rx_is_old(nic, flow, in)) {
		if (is_late_ack(flow, in)) {
			FW_COUNT(nic, tcp_rx_late_acks);
			return false;
		}
		FW_DROP(nic, drop_tcp_paws);
		if (in->bytes || tcp_may_answer(nic, flow)) {
			flow->flags |= TCP_F_ACK_NOW;
			tcp_ack_soon(nic, flow);
		}
		return false;
	}
	if (!acceptable(flow, in)) {
		/* The repeated SYN of a simultaneous open is answered too: SYN at irs. */
		FW_DROP(nic, drop_tcp_window);
		if (in->flags & WIRE_TCP_RST)
			return false;
		if (in->bytes && seq_lt(in->seq, flow->rcv_nxt)) {
			FW_COUNT(nic, tcp_rx_duplicates);
			flow->dsack = (struct tcp_block){in->seq, in->seq + in->bytes};
		}
		/* A retransmission of the peer's timers is answered each time. */
		if (in->bytes || in->flags & WIRE_TCP_FIN || tcp_may_answer(nic, flow)) {
			flow->flags |= TCP_F_ACK_NOW;
			tcp_ack_soon(nic, flow);
		}
		/*
		 * An old segment with an ACK is still an ACK: see tcp_ack.c. No segment of the peer
		 * is older than a window; half of a stranger's guesses are.
		 */
		return in->flags & WIRE_TCP_ACK && !(in->flags & WIRE_TCP_SYN) &&
		       flow->rcv_nxt - in->seq <= TCP_RCV_WINDOW;
	}
	if (in->flags & WIRE_TCP_RST) {
		rx_reset(nic, flow, in);
		return false;
	}
	if (in->flags & WIRE_TCP_SYN) {
		/* RFC 5961 4.2; a restarted peer answers with a reset. */
		tcp_challenge(nic, flow);
		return false;
	}
	if (!(in->flags & WIRE_TCP_ACK)) {
		FW_DROP(nic, drop_tcp_malformed);
		return false;
	}
	return true;
}

void tcp_rx_note_timestamp(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	/*
	 * RFC 7323 4.3 (2): from the segment that the next ACK is for. A segment that
	 * tcp_rx_check() passes for its ACK alone does not count: a stranger's timestamp would make
	 * all of the peer's segments old.
	 */
	if (flow->flags & TCP_F_TS && in->opt.has_ts && seq_leq(flow->ts_recent, in->opt.ts_val) &&
	    seq_leq(in->seq, flow->last_ack) && acceptable(flow, in)) {
		flow->ts_recent = in->opt.ts_val;
		flow->ts_recent_ns = nic->now_ns;
	}
}

static void note_ecn(struct tcp_flow *flow, const struct tcp_in *in)
{
	if (!(flow->flags & TCP_F_ECN))
		return;
	if (in->flags & WIRE_TCP_CWR)
		flow->flags &= (uint16_t)~TCP_F_ECE;
	if (in->info->ce && in->bytes)
		flow->flags |= TCP_F_ECE | TCP_F_ACK_NOW;
}

/* Decides when data in order is acknowledged: see tcp_tx.c. */
void tcp_rx_owe_ack(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	/* About two full segments: the peer's may be shorter by its framing or its path. */
	if (flow->rcv_nxt - flow->last_ack >= 2u * flow->mss - flow->mss / 8)
		flow->flags |= TCP_F_ACK_NOW;
	if (in->flags & WIRE_TCP_PSH) {
		if (!(flow->flags & TCP_F_RIDE))
			flow->flags |= TCP_F_ACK_NOW;
		else if (!flow->ack_ns || flow->ack_ns > nic->now_ns + TCP_ACK_RIDE_NS)
			flow->ack_ns = nic->now_ns + TCP_ACK_RIDE_NS;
	}
	if (flow->flags & TCP_F_ACK_NOW)
		tcp_ack_soon(nic, flow);
	else if (!flow->ack_ns)
		flow->ack_ns = nic->now_ns + TCP_ACK_DELAY_NS;
}

/* Handles bytes of the stream. False: the flow has ended. */
static bool tcp_rx_data(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_in *in)
{
	uint32_t skip = 0, n = in->bytes, window = tcp_rcv_window(flow), taken;

	if (seq_lt(in->seq, flow->rcv_nxt)) {
		skip = flow->rcv_nxt - in->seq;
		/* tcp_rx_check() has counted the others. */
		if (acceptable(flow, in))
			FW_COUNT(nic, tcp_rx_duplicates);
		flow->dsack = (struct tcp_block){in->seq, in->seq + tcp_min(skip, in->bytes)};
		flow->flags |= TCP_F_ACK_NOW;
		if (skip >= n) {
			tcp_ack_soon(nic, flow);
			return true;
		}
		n -= skip;
	}
	/* Bytes beyond the window are cut off. */
	if (in->seq + skip + n - flow->rcv_nxt > window)
		n = window - (in->seq + skip - flow->rcv_nxt);
	if (!n)
		return true;
	if (in->seq + skip != flow->rcv_nxt || flow->rcv_up != flow->rcv_nxt) {
		if (in->seq + skip != flow->rcv_nxt)
			FW_COUNT(nic, tcp_rx_out_of_order);
		tcp_early_keep(nic, flow, in, in->seq + skip, in->offset + skip, n);
		if (flow->state == TCP_CLOSED)
			return false;
		tcp_early_deliver(nic, flow);
		flow->flags |= TCP_F_ACK_NOW;
		tcp_ack_soon(nic, flow);
		return flow->state != TCP_CLOSED;
	}
	taken = nic->tcp.ops[flow->user]->receive(nic, flow, in->frame, in->offset + skip, n);
	if (flow->state == TCP_CLOSED)
		return false;
	assert(taken <= n);
	flow->rcv_nxt += taken;
	flow->rcv_up += taken;
	if (taken < n) {
		flow->flags |= TCP_F_STALLED;
		tcp_early_keep(nic, flow, in, in->seq + skip + taken, in->offset + skip + taken,
			       n - taken);
		tcp_early_deliver(nic, flow);
	} else if (flow->num_blocks || !fw_list_empty(&flow->early)) {
		/* It fills a gap, or part of one: the peer waits for that. RFC 5681 4.2 */
		flow->flags |= TCP_F_ACK_NOW;
		tcp_early_deliver(nic, flow);
	}
	if (flow->state == TCP_CLOSED)
		return false;
	tcp_rx_owe_ack(nic, flow, in);
	return true;
}

void tcp_take_fin(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (flow->state == TCP_CLOSED || !flow->fin_seen || flow->flags & TCP_F_FIN_RCVD ||
	    flow->peer_fin != flow->rcv_nxt || flow->rcv_up != flow->rcv_nxt)
		return;
	flow->flags |= TCP_F_FIN_RCVD | TCP_F_ACK_NOW;
	flow->rcv_nxt++;
	flow->rcv_up++;
	tcp_ack_soon(nic, flow);
	switch ((enum tcp_state)flow->state) {
	case TCP_ESTABLISHED:
		tcp_set_state(nic, flow, TCP_CLOSE_WAIT);
		nic->tcp.ops[flow->user]->peer_closed(nic, flow);
		break;
	case TCP_FIN_WAIT_1:
		tcp_set_state(nic, flow, TCP_CLOSING);
		nic->tcp.ops[flow->user]->peer_closed(nic, flow);
		break;
	case TCP_FIN_WAIT_2:
		nic->tcp.ops[flow->user]->peer_closed(nic, flow);
		if (flow->state == TCP_FIN_WAIT_2)
			tcp_enter_time_wait(nic, flow);
		break;
	case TCP_CLOSED:
	case TCP_SYN_SENT:
	case TCP_SYN_RCVD:
	case TCP_CLOSE_WAIT:
	case TCP_CLOSING:
	case TCP_LAST_ACK:
	case TCP_TIME_WAIT:
	case TCP_STATES:
		break;
	}
}

/* Our FIN is acknowledged. False: the flow has ended. */
static bool rx_fin_acked(struct fw_nic *nic, struct tcp_flow *flow)
{
	switch ((enum tcp_state)flow->state) {
	case TCP_FIN_WAIT_1:
		tcp_set_state(nic, flow, TCP_FIN_WAIT_2);
		flow->wait_ns = nic->now_ns + TCP_FIN_WAIT_2_NS;
		tcp_timer_update(nic, flow);
		break;
	case TCP_CLOSING:
		tcp_enter_time_wait(nic, flow);
		break;
	case TCP_LAST_ACK:
		tcp_end(nic, flow, TCP_END_CLOSED);
		return false;
	case TCP_CLOSED:
	case TCP_SYN_SENT:
	case TCP_SYN_RCVD:
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT_2:
	case TCP_CLOSE_WAIT:
	case TCP_TIME_WAIT:
	case TCP_STATES:
		break;
	}
	return true;
}

static bool fin_is_acked(const struct tcp_flow *flow)
{
	return flow->ctl.flags & TCP_SEG_FIN && flow->snd_una == tcp_seg_end(&flow->ctl);
}

/* A simultaneous open is complete. */
static bool complete_open(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	if (in->ack != flow->iss + 1) {
		tcp_tx_reset_for(nic, in);
		return false;
	}
	tcp_set_state(nic, flow, TCP_ESTABLISHED);
	return true;
}

/* A FIN out of order is noted and acknowledged, so that it need not be sent again. */
static void see_fin(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	uint32_t fin = in->seq + in->bytes;

	if (fin - flow->rcv_nxt > tcp_rcv_window(flow) || (flow->fin_seen && fin != flow->peer_fin))
		return;
	flow->fin_seen = true;
	flow->peer_fin = fin;
	if (in->seq == flow->rcv_nxt)
		return;
	tcp_early_note(flow, fin, fin + 1);
	flow->flags |= TCP_F_ACK_NOW;
	tcp_ack_soon(nic, flow);
}

static void rx_synchronized(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_in *in)
{
	bool opened = false;

	if (!tcp_rx_check(nic, flow, in))
		return;
	if (flow->state == TCP_SYN_RCVD) {
		if (!complete_open(nic, flow, in))
			return;
		opened = true;
	}
	/*
	 * A segment that counts for its ACK alone is no sign of life: the ACKs of a peer that has
	 * lost synchronization, as by forged data, would have a closed window probed for ever.
	 */
	if (acceptable(flow, in)) {
		flow->heard_ns = nic->now_ns;
		flow->keep_tries = 0;
	}
	tcp_rx_note_timestamp(nic, flow, in);
	note_ecn(flow, in);
	if (!tcp_ack_rx(nic, flow, in))
		return;
	if (opened) {
		flow->flags |= TCP_F_MORE;
		tcp_ready(nic, flow);
		nic->tcp.ops[flow->user]->opened(nic, flow);
		if (flow->state == TCP_CLOSED)
			return;
	}
	if (fin_is_acked(flow) && !rx_fin_acked(nic, flow))
		return;
	if (flow->state == TCP_TIME_WAIT) {
		/* The peer repeats its FIN: our ACK was lost. RFC 9293 3.10.7.4 */
		if (in->flags & WIRE_TCP_FIN) {
			flow->flags |= TCP_F_ACK_NOW;
			flow->wait_ns = nic->now_ns + TCP_TIME_WAIT_NS;
			tcp_ack_soon(nic, flow);
		}
		return;
	}
	if (flow->flags & TCP_F_FIN_RCVD)
		return;
	if (in->flags & WIRE_TCP_FIN)
		see_fin(nic, flow, in);
	if (in->bytes) {
		if (!tcp_rx_data(nic, flow, in))
			return;
		tcp_grant_rx(nic, flow, in);
	}
	tcp_take_fin(nic, flow);
}

/* RFC 6191: a SYN that is newer than all of the connection in TIME-WAIT starts another. */
static bool takes_over(const struct tcp_flow *flow, const struct tcp_in *in)
{
	if (flow->state != TCP_TIME_WAIT || in->flags & (WIRE_TCP_RST | WIRE_TCP_ACK) ||
	    !(in->flags & WIRE_TCP_SYN))
		return false;
	if (flow->flags & TCP_F_TS && in->opt.has_ts)
		return seq_lt(flow->ts_recent, in->opt.ts_val) ||
		       (flow->ts_recent == in->opt.ts_val && seq_lt(flow->rcv_nxt, in->seq));
	return seq_lt(flow->rcv_nxt, in->seq);
}

void tcp_flow_rx(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_in *in)
{
	if (takes_over(flow, in) && tcp_find_listener(nic, in->dst_port)) {
		tcp_end(nic, flow, TCP_END_CLOSED);
		(void)tcp_listen_rx(nic, in);
		return;
	}
	tcp_enter(flow);
	if (flow->state == TCP_SYN_SENT)
		rx_syn_sent(nic, flow, in);
	else
		rx_synchronized(nic, flow, in);
	if (flow->state != TCP_CLOSED)
		tcp_timer_update(nic, flow);
	(void)tcp_leave(nic, flow);
}
