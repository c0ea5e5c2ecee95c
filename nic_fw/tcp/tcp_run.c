/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of segments (net/eth_run.c): new segments of one message that leave in one turn, as one
 * frame of the port, and are taken as one.
 *
 * Each segment keeps its record (tcp_seg), so losses, SACK and timers work as without runs. Both
 * ends handle the plain case alone here: data in order, in an established connection, without any
 * sign of loss, congestion or an end. In every other case the segments go, and are taken, one by
 * one. Calls the layer above (next_run, receive_run), tcp_ack.c, tcp_grant.c and eth_tx.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"

/* ---- out ------------------------------------------------------------------------------------- */

/* True if the next segments need nothing that differs from one to the other. */
static bool sends_plainly(const struct tcp_flow *flow)
{
	const uint16_t odd =
	    TCP_F_ECE | TCP_F_CWR | TCP_F_RECOVERY | TCP_F_LOSS | TCP_F_PROBE | TCP_F_CLOSE;
	const struct tcp_seg *last = FW_CONTAINER(flow->segs.prev, const struct tcp_seg, node);

	/* A shorter last segment would have room for SACK blocks. */
	return (flow->flags & (odd | TCP_F_MORE)) == TCP_F_MORE && tcp_may_send_data(flow) &&
	       !flow->lost && !flow->num_blocks && flow->dsack.from == flow->dsack.to &&
	       fw_list_empty(&flow->early) && flow->probing != TCP_PROBE_WANTED &&
	       (fw_list_empty(&flow->segs) || tcp_seg_end(last) == flow->snd_nxt);
}

/* Returns how many full segments may leave now. */
static uint32_t most(struct fw_nic *nic, const struct tcp_flow *flow)
{
	uint32_t in_flight = flow->snd_nxt - flow->snd_una, n, room;

	if (in_flight >= flow->snd_wnd || flow->pipe >= flow->cwnd || !eth_tx_room(nic))
		return 0;
	n = tcp_min(flow->snd_wnd - in_flight, flow->cwnd - flow->pipe) / flow->mss;
	n = tcp_min(n, nic->net.tx_allow);
	if (n < 2)
		return 0;
	room = nic->port.tx_run(nic->port.ctx, flow->mac);
	return tcp_min(tcp_min(n, room), FW_RUN_MAX);
}

/* Numbers the segments of a run, which is sent. Returns the end of the last. */
static uint32_t number_segs(struct fw_nic *nic, struct tcp_flow *flow, struct fw_list *segs)
{
	uint32_t seq = flow->snd_nxt;
	struct fw_list *pos;

	while ((pos = fw_list_pop(segs)) != NULL) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		tcp_tx_append(flow, seg, seq);
		tcp_tx_sent(nic, flow, seg, seg->bytes);
		fw_trace(nic, TRACE_TCP_TX, flow->local_port, seq, seg->bytes);
		seq += seg->bytes;
	}
	return seq;
}

bool tcp_run_send(struct fw_nic *nic, struct tcp_flow *flow)
{
	const struct tcp_ops *ops = nic->tcp.ops[flow->user];
	const struct tcp_seg *first, *last;
	uint32_t at = tcp_tx_hdr_bytes(flow), n, end;
	uint8_t flags = WIRE_TCP_ACK;
	struct fw_tx_frame *frame;
	struct fw_list segs;

	if (!ops->next_run || !sends_plainly(flow))
		return false;
	n = most(nic, flow);
	if (n < 2 || !(frame = eth_tx_begin(nic)))
		return false;
	fw_list_init(&segs);
	eth_tx_hdr(frame, 0, at, 0);
	n = ops->next_run(nic, flow, flow->mss, n, frame, at, &segs);
	if (!n)
		return false;
	first = FW_CONTAINER(segs.next, const struct tcp_seg, node);
	last = FW_CONTAINER(segs.prev, const struct tcp_seg, node);
	if (last->flags & TCP_SEG_PSH)
		flags |= WIRE_TCP_PSH;
	end = tcp_tx_header(nic, flow, frame, flow->snd_nxt, flags, first->bytes, false,
			    flow->flags & TCP_F_ECN ? WIRE_IP_ECT0 : 0);
	assert(end == at);
	tcp_tx_checksum(nic, frame, flow->peer_ip, end, first->bytes);
	frame->run = (uint16_t)n;
	eth_tx_commit(nic, frame);
	end = number_segs(nic, flow, &segs);
	flow->pipe += end - flow->snd_nxt;
	flow->snd_nxt = end;
	flow->fresh = false;
	FW_ADD(nic, tcp_tx_segments, n);
	tcp_tx_data_said(nic, flow, false);
	return true;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Makes the segment of a run's first one that stands for all of them. */
static void sum_up(const struct tcp_in *first, struct tcp_in *all)
{
	const struct fw_rx_frame *frame = first->frame;
	uint32_t full = frame->run * (uint32_t)frame->run_bytes;

	*all = *first;
	all->segs = frame->run;
	all->bytes = frame->run * first->bytes - (full - eth_run_payload_bytes(frame));
}

/*
 * True if each of the segments would be taken at once, for its data and an ACK that repeats
 * nothing. The ACK may then be handled, and once more with the first segment if the run is
 * declined.
 */
static bool comes_plainly(const struct fw_nic *nic, const struct tcp_flow *flow,
			  const struct tcp_in *in)
{
	return flow->state == TCP_ESTABLISHED && nic->tcp.ops[flow->user]->receive_run &&
	       (in->flags & (uint8_t)~WIRE_TCP_PSH) == WIRE_TCP_ACK && !in->info->ce &&
	       !in->opt.num_sack && in->seq == flow->rcv_nxt && flow->rcv_up == flow->rcv_nxt &&
	       in->bytes <= tcp_rcv_window(flow) && fw_list_empty(&flow->early) &&
	       !flow->num_blocks && !flow->fin_seen && !flow->lost &&
	       !(flow->flags & (TCP_F_STALLED | TCP_F_RECOVERY | TCP_F_LOSS)) &&
	       seq_leq(flow->snd_una, in->ack) && seq_leq(in->ack, flow->snd_nxt) &&
	       !tcp_rx_is_old(nic, flow, in);
}

/* Takes a run whole, which all stands for. False: nothing was done but with its ACK. */
static bool take(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *first,
		 const struct tcp_in *all)
{
	uint32_t last_at = (all->segs - 1) * first->bytes, i;

	flow->heard_ns = nic->now_ns;
	flow->keep_tries = 0;
	tcp_rx_note_timestamp(nic, flow, first);
	/* Its ACK may end the flow: the segments behind the first come to none. */
	if (!tcp_ack_rx(nic, flow, first)) {
		FW_COUNT(nic, tcp_rx_segments);
		return true;
	}
	if (!nic->tcp.ops[flow->user]->receive_run(nic, flow, first->frame, first->offset,
						   first->bytes))
		return false;
	nic->net.run_taken = all->segs;
	FW_ADD(nic, tcp_rx_segments, all->segs);
	for (i = 0; __builtin_expect(nic->trace != NULL, 0) && i < all->segs; i++)
		fw_trace(nic, TRACE_TCP_RX, first->dst_port, first->seq + i * first->bytes,
			 first->bytes);
	if (flow->state == TCP_CLOSED)
		return true;
	/* Each segment has set the window. */
	if (flow->snd_wl1 == first->seq)
		flow->snd_wl1 += last_at;
	flow->rcv_nxt += all->bytes;
	flow->rcv_up += all->bytes;
	tcp_rx_owe_ack(nic, flow, all);
	tcp_grant_rx(nic, flow, all);
	tcp_timer_update(nic, flow);
	return true;
}

void tcp_run_rx(struct fw_nic *nic, struct tcp_in *in)
{
	struct tcp_flow *flow = tcp_look_up(nic, in->info->src_ip, in->src_port, in->dst_port);
	struct tcp_in all;
	bool taken = false;

	if (flow) {
		sum_up(in, &all);
		tcp_enter(flow);
		taken = comes_plainly(nic, flow, &all) && take(nic, flow, in, &all);
		(void)tcp_leave(nic, flow);
	}
	if (!taken)
		eth_run_decline(nic);
}
