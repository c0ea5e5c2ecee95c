/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements from the peer, and the window that they open.
 *
 * Handles every acceptable segment. Calls tcp_sack.c (losses), tcp_cong.c (congestion window) and
 * returns segments to the layer above. RFC 9293 3.10.7.4 (ACK), RFC 5961 5.2, RFC 5681 2 and 3.2
 * (duplicate ACKs of a peer without SACK), RFC 6582.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

/*
 * True if the peer, as far as this ACK says, has sent nothing after what was received: it sends
 * ACKs without text from its next byte.
 */
static bool has_sent_no_more(const struct tcp_flow *flow, const struct tcp_in *in)
{
	return in->seq == flow->rcv_nxt && !in->bytes;
}

/*
 * RFC 9293 3.10.7.4: only newer segments set the window. A forged one beyond a gap that the peer
 * never fills would stay the newest, and a window of 0 in it would be probed for ever: the next ACK
 * from before the gap counts as newer.
 */
static void update_window(struct tcp_flow *flow, const struct tcp_in *in)
{
	uint32_t window = in->window << (in->flags & WIRE_TCP_SYN ? 0 : flow->snd_wscale);

	if ((seq_lt(in->seq, flow->snd_wl1) && !has_sent_no_more(flow, in)) ||
	    (in->seq == flow->snd_wl1 && seq_lt(in->ack, flow->snd_una)))
		return;
	flow->snd_wl1 = in->seq;
	flow->snd_wnd = window;
	if (window > flow->snd_wnd_max)
		flow->snd_wnd_max = window;
}

/* The peer has all bytes before ack. Returns false when the layer above ended the connection. */
static bool tcp_ack_advance(struct fw_nic *nic, struct tcp_flow *flow, uint32_t ack,
			    struct tcp_acked *acked)
{
	struct tcp_seg *seg;

	while (!fw_list_empty(&flow->segs)) {
		uint32_t before, end;

		seg = FW_CONTAINER(flow->segs.next, struct tcp_seg, node);
		end = tcp_seg_end(seg);
		/* A segment that was not sent whole ends beyond snd_nxt, hence beyond ack. */
		if (seq_lt(ack, end))
			break;
		if (tcp_is_probe(flow, seg))
			tcp_probe_done(nic, flow, seg);
		before = tcp_seg_out(flow, seg);
		if (!(seg->flags & TCP_SEG_SACKED)) {
			acked->delivered += before;
			tcp_rack_update(nic, flow, seg, acked);
		}
		tcp_seg_mark(flow, seg, 0, TCP_SEG_SACKED | TCP_SEG_LOST | TCP_SEG_RETRANS);
		flow->pipe -= before;
		acked->bytes += before;
		flow->snd_una = end;
		fw_list_del(&seg->node);
		if (!(seg->flags & TCP_SEG_ULP))
			continue;
		nic->tcp.ops[flow->user]->acked(nic, flow, seg, true);
		if (flow->state == TCP_CLOSED)
			return false;
	}
	if (flow->snd_una == ack)
		return true;
	/* The ACK covers a part of the segment. */
	seg = FW_CONTAINER(flow->segs.next, struct tcp_seg, node);
	flow->pipe -= tcp_seg_pipe(flow, seg);
	acked->delivered += ack - flow->snd_una;
	acked->bytes += ack - flow->snd_una;
	flow->snd_una = ack;
	flow->pipe += tcp_seg_pipe(flow, seg);
	return true;
}

/* RFC 5681 2: a pure ACK that repeats the one before. */
static bool is_dup_ack(const struct tcp_flow *flow, const struct tcp_in *in, uint32_t window)
{
	return in->ack == flow->snd_una && !in->bytes && flow->snd_wnd == window &&
	       !(in->flags & (WIRE_TCP_SYN | WIRE_TCP_FIN)) && flow->snd_una != flow->snd_nxt;
}

/* Loss detection for a peer with cumulative ACKs only: RFC 5681 3.2, RFC 6582 3.2. */
static bool detect_without_sack(struct tcp_flow *flow, const struct tcp_acked *acked, bool dup)
{
	struct tcp_seg *seg;

	if (fw_list_empty(&flow->segs))
		return false;
	seg = FW_CONTAINER(flow->segs.next, struct tcp_seg, node);
	if (acked->bytes) {
		flow->dup_acks = 0;
		/* A partial ACK in recovery: the next segment is lost as well. */
		if (!(flow->flags & TCP_F_RECOVERY) || seq_leq(flow->recover, flow->snd_una) ||
		    seg->flags & TCP_SEG_LOST)
			return false;
	} else if (!dup || ++flow->dup_acks != TCP_DUP_THRESH ||
		   flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS)) {
		return false;
	}
	tcp_seg_mark(flow, seg, TCP_SEG_LOST, TCP_SEG_RETRANS);
	return true;
}

/*
 * RFC 8985 7.4.2: decides if the tail probe repaired a loss or was a needless copy. The peer
 * reports the latter by DSACK, or by an ACK without any other effect.
 */
static void tlp_answered(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
			 const struct tcp_acked *acked, bool dup)
{
	if (!flow->tlp_out || seq_lt(in->ack, flow->tlp_end))
		return;
	if (!flow->tlp_retrans || acked->dsack || (dup && !in->opt.num_sack)) {
		flow->tlp_out = false;
	} else if (seq_lt(flow->tlp_end, in->ack)) {
		flow->tlp_out = false;
		tcp_cong_lost(nic, flow);
	}
}

static void after(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
		  struct tcp_acked *acked, bool dup)
{
	bool lost;

	if (acked->rtt_ns)
		tcp_rtt_sample(flow, acked->rtt_ns);
	if (acked->bytes) {
		flow->backoff = 0;
		flow->trouble_ns = 0;
		flow->unreachable = 0;
	}
	tcp_frto_acked(nic, flow, acked, dup);
	tlp_answered(nic, flow, in, acked, dup);
	if (flow->flags & TCP_F_SACK)
		lost = tcp_detect_loss(nic, flow);
	else
		lost = detect_without_sack(flow, acked, dup);
	if (lost && !tcp_probe_lost(flow))
		tcp_cong_lost(nic, flow);
	if (flow->flags & TCP_F_ECN && in->flags & WIRE_TCP_ECE && !(in->flags & WIRE_TCP_SYN))
		tcp_cong_ecn(nic, flow);
	tcp_cong_acked(nic, flow, acked);
}

bool tcp_ack_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	struct tcp_acked acked = {.una_before = flow->snd_una};
	uint32_t scaled = in->window << flow->snd_wscale;
	bool dup;

	/* RFC 5961 5.2: too old for a delayed ACK, or for data that was never sent. */
	if (seq_lt(in->ack, flow->snd_una - flow->snd_wnd_max) || seq_lt(flow->snd_nxt, in->ack)) {
		FW_DROP(nic, drop_tcp_ack);
		if (in->bytes || tcp_may_answer(nic, flow))
			tcp_challenge(nic, flow);
		return false;
	}
	if (seq_lt(in->ack, flow->snd_una))
		return true;
	dup = is_dup_ack(flow, in, scaled);
	update_window(flow, in);
	acked.has_ecr = flow->flags & TCP_F_TS && in->opt.has_ts;
	acked.ts_ecr = in->opt.ts_ecr;
	if (in->ack != flow->snd_una && !tcp_ack_advance(nic, flow, in->ack, &acked))
		return false;
	acked.older = acked.has_ecr && acked.bytes && seq_lt(acked.ts_ecr, flow->rto_ts);
	/* Data out of order does not echo its timestamp: RFC 7323 4.3. */
	acked.has_ecr = false;
	if (seq_lt(flow->fack, flow->snd_una))
		flow->fack = flow->snd_una;
	if (in->opt.num_sack && flow->flags & TCP_F_SACK)
		tcp_sack_rx(nic, flow, in, &acked);
	if (acked.bytes || acked.sacked_new || dup || flow->lost || acked.dsack)
		after(nic, flow, in, &acked, dup);
	if (acked.bytes || acked.sacked_new)
		tcp_loss_rearm(nic, flow);
	else if (flow->loss_timer == TCP_LOSS_PERSIST ||
		 (flow->loss_timer == TCP_LOSS_NONE && !fw_list_empty(&flow->segs)))
		tcp_loss_rearm(nic, flow);
	/* The window may allow more. */
	if (!fw_list_empty(&flow->segs) || flow->flags & TCP_F_MORE)
		tcp_ready(nic, flow);
	return true;
}
