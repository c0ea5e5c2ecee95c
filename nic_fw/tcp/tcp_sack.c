/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scoreboard: segments in flight, SACKed, lost, sent again.
 *
 * tcp_ack.c, tcp_timer.c and tcp_tx.c use it. Loss is detected by time (RACK):
 * a segment is lost when one that was sent later has arrived and a reordering window has passed.
 * Peers without SACK: tcp_ack.c. RFC 2018, 2883 (DSACK), 6675 (pipe), 8985.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	REO_MULT_MAX = 16,
	REO_PERSIST = 16, /* recoveries that a grown reordering window outlasts: RFC 8985 6.2 */
};

uint32_t tcp_seg_out(const struct tcp_flow *flow, const struct tcp_seg *seg)
{
	uint32_t from = seq_lt(seg->seq, flow->snd_una) ? flow->snd_una : seg->seq;
	uint32_t to = seq_lt(flow->snd_nxt, tcp_seg_end(seg)) ? flow->snd_nxt : tcp_seg_end(seg);

	return seq_lt(from, to) ? to - from : 0;
}

uint32_t tcp_seg_pipe(const struct tcp_flow *flow, const struct tcp_seg *seg)
{
	if (seg->flags & TCP_SEG_SACKED)
		return 0;
	if (seg->flags & TCP_SEG_LOST && !(seg->flags & TCP_SEG_RETRANS))
		return 0;
	return tcp_seg_out(flow, seg);
}

static bool tcp_sack_waits(const struct tcp_seg *seg)
{
	return (seg->flags & (TCP_SEG_LOST | TCP_SEG_RETRANS | TCP_SEG_SACKED)) == TCP_SEG_LOST;
}

void tcp_seg_mark(struct tcp_flow *flow, struct tcp_seg *seg, uint8_t set, uint8_t clear)
{
	uint8_t flags = (uint8_t)((seg->flags & ~clear) | set);

	if (seg->flags == flags)
		return;
	flow->pipe -= tcp_seg_pipe(flow, seg);
	flow->lost -= tcp_sack_waits(seg);
	flow->sacked -= !!(seg->flags & TCP_SEG_SACKED);
	seg->flags = flags;
	flow->sacked += !!(seg->flags & TCP_SEG_SACKED);
	flow->lost += tcp_sack_waits(seg);
	flow->pipe += tcp_seg_pipe(flow, seg);
}

struct tcp_seg *tcp_first_lost(const struct tcp_flow *flow)
{
	struct fw_list *pos;

	if (!flow->lost)
		return NULL;
	fw_list_for_each (pos, &flow->segs) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (tcp_sack_waits(seg))
			return seg;
	}
	assert(false);
	return NULL;
}

void tcp_mark_all_lost(struct tcp_flow *flow)
{
	struct fw_list *pos;
	bool reneged = false;

	if (!fw_list_empty(&flow->segs)) {
		/* The peer SACKs the byte that it still expects: it has dropped SACKed data. */
		struct tcp_seg *first = FW_CONTAINER(flow->segs.next, struct tcp_seg, node);

		reneged = first->flags & TCP_SEG_SACKED;
	}
	fw_list_for_each (pos, &flow->segs) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (!tcp_seg_out(flow, seg))
			break;
		if (reneged)
			tcp_seg_mark(flow, seg, 0, TCP_SEG_SACKED);
		if (!(seg->flags & TCP_SEG_SACKED))
			tcp_seg_mark(flow, seg, TCP_SEG_LOST, TCP_SEG_RETRANS);
	}
}

void tcp_mark_none_lost(struct tcp_flow *flow)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &flow->segs)
		tcp_seg_mark(flow, FW_CONTAINER(pos, struct tcp_seg, node), 0,
			     TCP_SEG_LOST | TCP_SEG_RETRANS);
}

/* RFC 8985 5.2: sent later, or at the same time with a higher sequence number. */
static bool sent_after(uint64_t a_ns, uint32_t a_end, uint64_t b_ns, uint32_t b_end)
{
	return a_ns > b_ns || (a_ns == b_ns && seq_lt(b_end, a_end));
}

/* After a timeout, for a segment sent before it: the first copy has arrived. */
static void note_orig(const struct tcp_flow *flow, const struct tcp_seg *seg,
		      struct tcp_acked *acked)
{
	if (seq_lt(flow->recover, tcp_seg_end(seg)) ||
	    (acked->orig &&
	     !sent_after(seg->sent_ns, tcp_seg_end(seg), acked->orig_sent_ns, acked->orig_end)))
		return;
	acked->orig = true;
	acked->orig_sent_ns = seg->sent_ns;
	acked->orig_end = tcp_seg_end(seg);
}

void tcp_rack_update(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		     struct tcp_acked *acked)
{
	uint64_t rtt_ns = nic->now_ns - seg->sent_ns;

	/*
	 * An ACK right after a retransmission is more likely for the first copy. RFC 8985 6.2; half
	 * of the minimum, since bare segments are faster than those it was measured by. The same
	 * holds for an ACK that echoes an earlier timestamp.
	 */
	if (seg->flags & TCP_SEG_EVER) {
		if (rtt_ns < flow->min_rtt_ns / 2 ||
		    (acked->has_ecr &&
		     seq_lt(acked->ts_ecr, tcp_ts_now(seg->sent_ns) + flow->ts_offset)))
			return;
	} else {
		acked->rtt_ns = rtt_ns ? rtt_ns : 1;
		if (!flow->min_rtt_ns || rtt_ns < flow->min_rtt_ns)
			flow->min_rtt_ns = rtt_ns;
		/* A segment that was sent once arrived after a later one: reordering. */
		if (seq_lt(tcp_seg_end(seg), flow->fack))
			flow->reordering = true;
		if (flow->flags & TCP_F_LOSS)
			note_orig(flow, seg, acked);
	}
	if (sent_after(seg->sent_ns, tcp_seg_end(seg), flow->rack_sent_ns, flow->rack_end)) {
		flow->rack_sent_ns = seg->sent_ns;
		flow->rack_end = tcp_seg_end(seg);
		flow->rack_rtt_ns = rtt_ns;
	}
}

/* RFC 2883 4: the first block reports a duplicate when it lies below ack, or within the second. */
static bool is_dsack(const struct tcp_in *in)
{
	const struct tcp_block *b = in->opt.sack;

	if (!seq_lt(b[0].from, b[0].to))
		return false;
	if (seq_lt(b[0].from, in->ack))
		return true;
	return in->opt.num_sack > 1 && seq_leq(b[1].from, b[0].from) && seq_leq(b[0].to, b[1].to);
}

static void rx_block(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_block *block,
		     struct tcp_acked *acked)
{
	struct fw_list *pos;

	/* An empty block, an old one, or one for data that was never sent. */
	if (!seq_lt(block->from, block->to) || seq_lt(block->from, flow->snd_una) ||
	    seq_lt(flow->snd_nxt, block->to))
		return;
	fw_list_for_each (pos, &flow->segs) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (seq_leq(block->to, seg->seq))
			break;
		if (seg->flags & TCP_SEG_SACKED || seq_lt(seg->seq, block->from) ||
		    seq_lt(block->to, tcp_seg_end(seg)))
			continue;
		acked->delivered += tcp_seg_out(flow, seg);
		acked->sacked_new = true;
		tcp_rack_update(nic, flow, seg, acked);
		tcp_seg_mark(flow, seg, TCP_SEG_SACKED, TCP_SEG_LOST | TCP_SEG_RETRANS);
	}
	if (seq_lt(flow->fack, block->to))
		flow->fack = block->to;
}

void tcp_sack_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
		 struct tcp_acked *acked)
{
	uint32_t i;

	acked->dsack = is_dsack(in);
	if (acked->dsack) {
		FW_COUNT(nic, tcp_rx_dsacks);
		acked->undo = flow->undo_retrans && !--flow->undo_retrans;
		/* RFC 8985 6.2: the window was too short; grows once for each round trip. */
		if (seq_leq(flow->dsack_end, in->ack)) {
			flow->dsack_end = flow->snd_nxt;
			flow->reordering = true;
			flow->reo_persist = REO_PERSIST;
			if (flow->reo_mult < REO_MULT_MAX)
				flow->reo_mult++;
		}
	}
	/*
	 * The latest block comes first and moves RACK furthest. The order does not matter
	 * otherwise: a block that covers others marks no segment twice.
	 */
	for (i = 0; i < in->opt.num_sack; i++)
		rx_block(nic, flow, &in->opt.sack[i], acked);
}

/* RFC 8985 6.2 step 4 */
static uint64_t reorder_window_ns(const struct tcp_flow *flow)
{
	uint64_t ns;

	if (!flow->reordering &&
	    (flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS) || flow->sacked >= TCP_DUP_THRESH))
		return 0;
	ns = flow->reo_mult * flow->min_rtt_ns / 4;
	return ns < flow->rtt.srtt_ns ? ns : flow->rtt.srtt_ns;
}

bool tcp_detect_loss(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint64_t limit_ns, timeout_ns = 0;
	struct fw_list *pos;
	bool lost = false;

	if (flow->loss_timer == TCP_LOSS_REORDER)
		flow->loss_timer = TCP_LOSS_NONE;
	/* No segment was overtaken, and none is being repaired. */
	if (!flow->sacked && !(flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS)))
		return false;
	limit_ns = flow->rack_rtt_ns + reorder_window_ns(flow);
	fw_list_for_each (pos, &flow->segs) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);
		uint64_t due_ns = seg->sent_ns + limit_ns;

		if (!tcp_seg_out(flow, seg))
			break;
		if (seg->flags & TCP_SEG_SACKED || tcp_sack_waits(seg))
			continue;
		if (!sent_after(flow->rack_sent_ns, flow->rack_end, seg->sent_ns,
				tcp_seg_end(seg))) {
			/*
			 * Sent once and later than the newest arrival: so are all segments after
			 * it.
			 */
			if (!(seg->flags & TCP_SEG_EVER))
				break;
			continue;
		}
		if (due_ns <= nic->now_ns) {
			tcp_seg_mark(flow, seg, TCP_SEG_LOST, TCP_SEG_RETRANS);
			lost = true;
		} else if (due_ns > timeout_ns) {
			timeout_ns = due_ns;
		}
	}
	if (timeout_ns) {
		flow->loss_timer = TCP_LOSS_REORDER;
		flow->loss_ns = timeout_ns;
	}
	return lost;
}
