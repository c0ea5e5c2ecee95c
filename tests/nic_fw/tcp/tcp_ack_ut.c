/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements of a connection without frames: what is acknowledged, the window, losses that a
 * peer without SACK shows, and tail probes. nic_fw/tcp/tcp_ack.c; RFC 9293 3.10.7.4, RFC 5961 5.2,
 * RFC 5681 3.2, RFC 6582, RFC 8985 7.4. Timeouts that were needless: tcp_frto_ut.
 */
#include "tests/nic_fw/tcp/tcp_ack_fix.h"

/* ---- what is acknowledged */

static void segments_go_back_when_they_are_whole(void)
{
	begin(TCP_F_SACK);
	flow->backoff = 3;
	flow->trouble_ns = 5;
	flow->unreachable = 1;
	ack(0);
	CU_ASSERT_EQUAL(flow->backoff, 3);
	CU_ASSERT_EQUAL(flow->trouble_ns, 5);
	CU_ASSERT_EQUAL(flow->unreachable, 1);
	ack(MSS - 1);
	CU_ASSERT_EQUAL(una(), MSS - 1);
	CU_ASSERT_EQUAL(num_acked, 0);
	CU_ASSERT_EQUAL(flow->pipe, SEGS * MSS - MSS + 1);
	CU_ASSERT_EQUAL(flow->backoff, 0);
	CU_ASSERT_EQUAL(flow->trouble_ns, 0);
	CU_ASSERT_EQUAL(flow->unreachable, 0);
	ack(MSS);
	CU_ASSERT_EQUAL(num_acked, 1);
	CU_ASSERT_EQUAL(flow->pipe, SEGS * MSS - MSS);
	ack(4 * MSS + 10);
	CU_ASSERT_EQUAL(una(), 4 * MSS + 10);
	CU_ASSERT_EQUAL(num_acked, 4);
	CU_ASSERT_EQUAL(flow->pipe, 6 * MSS - 10);
	CU_ASSERT_EQUAL(flow->fack, flow->snd_una);
	CU_ASSERT_EQUAL(flow->min_rtt_ns, 5 * MS);
	CU_ASSERT_NOT_EQUAL(flow->rtt.srtt_ns, 10 * MS);
	ack(SEGS * MSS);
	CU_ASSERT_EQUAL(num_acked, SEGS);
	CU_ASSERT_EQUAL(flow->pipe, 0);
	CU_ASSERT_TRUE(fw_list_empty(&flow->segs));
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_NONE);
	end();
}

/* Segments that are marked count once. */
static void marked_segments(void)
{
	begin(TCP_F_SACK);
	tcp_seg_mark(flow, &seg[0], TCP_SEG_LOST, 0);
	tcp_seg_mark(flow, &seg[1], TCP_SEG_SACKED, 0);
	tcp_seg_mark(flow, &seg[2], TCP_SEG_LOST | TCP_SEG_RETRANS, 0);
	CU_ASSERT_EQUAL(flow->pipe, 8 * MSS);
	ack(MSS / 2);
	CU_ASSERT_EQUAL(flow->pipe, 8 * MSS);
	ack(3 * MSS);
	CU_ASSERT_EQUAL(flow->pipe, 7 * MSS);
	CU_ASSERT_EQUAL(flow->lost, 0);
	CU_ASSERT_EQUAL(flow->sacked, 0);
	end();
}

/* Our FIN is no segment of the layer above. */
static void a_fin_is_acknowledged(void)
{
	begin(TCP_F_SACK);
	seg[SEGS - 1].flags = TCP_SEG_FIN;
	ack(SEGS * MSS);
	CU_ASSERT_EQUAL(num_acked, SEGS - 1);
	CU_ASSERT_TRUE(fw_list_empty(&flow->segs));
	end();
}

/* A recovery sends as much as has left the network: each byte counts once. */
static void bytes_that_left_the_network(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	flow->flags |= TCP_F_RECOVERY;
	flow->recover = flow->snd_nxt;
	flow->prr_flight = SEGS * MSS;
	ack(MSS / 2);
	CU_ASSERT_EQUAL(flow->prr_delivered, MSS / 2);
	ack(2 * MSS);
	CU_ASSERT_EQUAL(flow->prr_delivered, 2 * MSS);
	in = ack_of(2 * MSS);
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){(uint32_t)FIRST + 3 * MSS, (uint32_t)FIRST + 5 * MSS};
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->prr_delivered, 4 * MSS);
	ack(6 * MSS);
	CU_ASSERT_EQUAL(flow->prr_delivered, 6 * MSS);
	end();
}

/* Nor does an ACK that says nothing new move the timer. */
static void losses_are_repaired_with_each_ack(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	flow->loss_timer = TCP_LOSS_RTO;
	flow->loss_ns = ut.nic->now_ns + 5;
	in = ack_of(0);
	in.window++;
	flow->cwnd = 1;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->loss_ns, ut.nic->now_ns + 5);
	CU_ASSERT_EQUAL(flow->cwnd, 1);
	/* While segments are lost it counts for the window of the recovery. */
	tcp_seg_mark(flow, &seg[0], TCP_SEG_LOST, 0);
	flow->flags |= TCP_F_RECOVERY;
	flow->recover = flow->snd_nxt;
	flow->prr_flight = SEGS * MSS;
	in.window++;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT(flow->cwnd >= flow->pipe);
	CU_ASSERT_EQUAL(flow->loss_ns, ut.nic->now_ns + 5);
	end();
}

static void the_layer_above_ends_the_connection(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	tcp_enter(flow);
	close_at_once = true;
	in = ack_of(3 * MSS);
	CU_ASSERT_FALSE(comes(&in));
	CU_ASSERT_EQUAL(num_acked, 1);
	CU_ASSERT_FALSE(tcp_leave(ut.nic, flow));
	CU_ASSERT_TRUE(is_over());
	end();
}

/* RFC 5961 5.2: the largest window before what is acknowledged, up to what was sent. */
static void numbers_that_cannot_be(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	ack(2 * MSS);
	in = ack_of(2 * MSS - WINDOW - 1);
	CU_ASSERT_FALSE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_ack, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_challenge_acks, 1);
	/* A further one without data is not answered at once. */
	in = ack_of(SEGS * MSS + 1);
	CU_ASSERT_FALSE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_ack, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_challenge_acks, 1);
	in.bytes = 1;
	CU_ASSERT_FALSE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_challenge_acks, 2);
	/* An old one has no effect, not even its window. */
	in = ack_of(2 * MSS - WINDOW);
	in.seq++;
	in.window = 5;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, WINDOW);
	CU_ASSERT_EQUAL(una(), 2 * MSS);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_ack, 3);
	end();
}

/* ---- the window */

static void only_newer_segments_set_the_window(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	flow->snd_wscale = 3;
	in = ack_of(0);
	in.window = 100;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 800);
	CU_ASSERT_EQUAL(flow->snd_wnd_max, WINDOW);
	in.seq--;
	in.window = 200;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 800);
	in.seq += 2;
	in.window = WINDOW;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 8 * WINDOW);
	CU_ASSERT_EQUAL(flow->snd_wnd_max, 8 * WINDOW);
	CU_ASSERT_EQUAL(flow->snd_wl1, PEER_SEQ + 1);
	/* That of a SYN is not scaled. */
	in.flags |= WIRE_TCP_SYN;
	in.window = 300;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 300);
	end();
}

static bool is_ready(void)
{
	bool ready = fw_list_linked(&flow->ready_node);

	fw_list_del(&flow->ready_node);
	return ready;
}

/* A stranger's segment beyond a gap would have all windows of the peer ignored. */
static void a_segment_beyond_a_gap_sets_the_window_until_the_next_ack(void)
{
	struct tcp_in in;

	begin(0);
	flow->rcv_nxt = PEER_SEQ;
	in = ack_of(0);
	in.seq = PEER_SEQ + 1;
	in.window = 0;
	in.bytes = 40;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 0);
	/* Text fills the gap, or a part of it: older than what is beyond. */
	in = ack_of(0);
	in.bytes = 1;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 0);
	/* So is an ACK from before what is expected. */
	in = ack_of(0);
	in.seq--;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 0);
	/* An ACK from where the gap begins: the peer has sent nothing in it, nor beyond. */
	ack(0);
	CU_ASSERT_EQUAL(flow->snd_wnd, WINDOW);
	CU_ASSERT_EQUAL(flow->snd_wl1, PEER_SEQ);
	/* A window that is too large is corrected, too. */
	in.seq = PEER_SEQ + 1;
	in.window = 2 * WINDOW;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->snd_wnd, 2 * WINDOW);
	ack(0);
	CU_ASSERT_EQUAL(flow->snd_wnd, WINDOW);
	end();
}

static void a_window_that_opens_lets_data_go(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	ack(SEGS * MSS);
	fw_list_del(&flow->ready_node);
	ack(SEGS * MSS);
	CU_ASSERT_FALSE(is_ready());
	/* The layer above has more. */
	flow->flags |= TCP_F_MORE;
	ack(SEGS * MSS);
	CU_ASSERT_TRUE(is_ready());
	/* A segment waits, for which the window is too small: the timer stays, data are tried. */
	flow->flags &= (uint16_t)~TCP_F_MORE;
	fw_list_add_tail(&flow->segs, &seg[0].node);
	seg[0].seq = flow->snd_nxt;
	flow->loss_timer = TCP_LOSS_NONE;
	in = ack_of(SEGS * MSS);
	in.window = 10;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_TRUE(is_ready());
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_PERSIST);
	end();
}

/* ---- a peer without SACK */

static void three_duplicates_show_a_loss(void)
{
	begin(0);
	flow->snd_wscale = 3;
	duplicate();
	duplicate();
	CU_ASSERT_EQUAL(flow->lost, 0);
	duplicate();
	CU_ASSERT_TRUE(seg[0].flags & TCP_SEG_LOST);
	CU_ASSERT_EQUAL(flow->lost, 1);
	CU_ASSERT_TRUE(flow->flags & TCP_F_RECOVERY);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 1);
	/* Further ones do not. */
	tcp_seg_mark(flow, &seg[0], TCP_SEG_RETRANS, 0);
	duplicate();
	duplicate();
	duplicate();
	CU_ASSERT_EQUAL(flow->lost, 0);
	/* A part is acknowledged: the next one is lost, too. RFC 6582 3.2 */
	ack(3 * MSS);
	CU_ASSERT_TRUE(seg[3].flags & TCP_SEG_LOST);
	CU_ASSERT_EQUAL(flow->lost, 1);
	CU_ASSERT_EQUAL(flow->dup_acks, 0);
	/* All of that window: the recovery is over. */
	ack(SEGS * MSS);
	CU_ASSERT_FALSE(flow->flags & TCP_F_RECOVERY);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 1);
	end();
}

static void new_data_begin_the_count_anew(void)
{
	begin(0);
	duplicate();
	duplicate();
	ack(MSS);
	duplicate();
	duplicate();
	CU_ASSERT_EQUAL(flow->lost, 0);
	/* No recovery: a part of what is acknowledged shows nothing. */
	flow->recover = flow->snd_nxt;
	ack(2 * MSS);
	CU_ASSERT_EQUAL(flow->lost, 0);
	end();
}

static void repeats_that_are_no_duplicates(void)
{
	struct tcp_in in;
	uint32_t i;

	begin(0);
	for (i = 0; i < 4; i++) {
		in = ack_of(0);
		in.bytes = 1;
		CU_ASSERT_TRUE(comes(&in));
		in = ack_of(0);
		in.flags |= WIRE_TCP_FIN;
		CU_ASSERT_TRUE(comes(&in));
		in = ack_of(0);
		in.window = WINDOW + i + 1;
		CU_ASSERT_TRUE(comes(&in));
	}
	CU_ASSERT_EQUAL(flow->dup_acks, 0);
	CU_ASSERT_EQUAL(flow->lost, 0);
	/* After a timeout losses are known. */
	flow->snd_wnd = WINDOW;
	flow->flags = TCP_F_LOSS;
	flow->recover = flow->snd_nxt;
	for (i = 0; i < 4; i++)
		duplicate();
	CU_ASSERT_EQUAL(flow->lost, 0);
	end();
}

/* ---- a peer with SACK */

static void a_block_behind_a_gap(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	in = ack_of(0);
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){(uint32_t)FIRST + 3 * MSS, (uint32_t)FIRST + 6 * MSS};
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->sacked, 3);
	/* Three were overtaken, and nothing was out of order before. */
	CU_ASSERT_EQUAL(flow->lost, 3);
	CU_ASSERT_TRUE(flow->flags & TCP_F_RECOVERY);
	end();
	/* It was not negotiated. */
	begin(0);
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->sacked, 0);
	end();
}

/* Data out of order do not echo their own time: RFC 7323 4.3. */
static void a_copy_that_a_block_reports(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK | TCP_F_TS);
	seg[3].flags |= TCP_SEG_EVER;
	in = ack_of(0);
	in.opt.has_ts = true;
	in.opt.ts_ecr = tcp_ts_now(seg[3].sent_ns) + flow->ts_offset - 100;
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){seg[3].seq, tcp_seg_end(&seg[3])};
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(flow->rack_end, tcp_seg_end(&seg[3]));
	end();
}

static void answers_to_a_tail_probe(void)
{
	struct tcp_in in;

	/* A new segment was the probe: its answer says nothing. */
	begin(TCP_F_SACK);
	flow->tlp_out = true;
	flow->tlp_end = flow->snd_nxt;
	ack(SEGS * MSS - 1);
	CU_ASSERT_TRUE(flow->tlp_out);
	ack(SEGS * MSS);
	CU_ASSERT_FALSE(flow->tlp_out);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 0);
	end();
	/* A copy, and the original came: the peer repeats its ACK, or reports the duplicate. */
	begin(TCP_F_SACK);
	flow->tlp_out = flow->tlp_retrans = true;
	flow->tlp_end = flow->snd_una + MSS;
	ack(MSS);
	CU_ASSERT_TRUE(flow->tlp_out);
	ack(MSS);
	CU_ASSERT_FALSE(flow->tlp_out);
	flow->tlp_out = true;
	in = ack_of(2 * MSS);
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){(uint32_t)FIRST, (uint32_t)FIRST + MSS};
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_FALSE(flow->tlp_out);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 0);
	/* The copy repaired a loss. */
	flow->tlp_out = true;
	ack(3 * MSS);
	CU_ASSERT_FALSE(flow->tlp_out);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 1);
	end();
}

static void marks_of_congestion(void)
{
	struct tcp_in in;

	begin(TCP_F_SACK);
	in = ack_of(MSS);
	in.flags |= WIRE_TCP_ECE;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_ecn_cuts, 0);
	flow->flags |= TCP_F_ECN;
	in = ack_of(2 * MSS);
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_ecn_cuts, 0);
	in = ack_of(3 * MSS);
	in.flags |= WIRE_TCP_ECE | WIRE_TCP_SYN;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_ecn_cuts, 0);
	in = ack_of(4 * MSS);
	in.flags |= WIRE_TCP_ECE;
	CU_ASSERT_TRUE(comes(&in));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_ecn_cuts, 1);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_ack", UT(segments_go_back_when_they_are_whole), UT(marked_segments),
	UT(a_fin_is_acknowledged), UT(bytes_that_left_the_network),
	UT(losses_are_repaired_with_each_ack), UT(a_copy_that_a_block_reports),
	UT(the_layer_above_ends_the_connection), UT(numbers_that_cannot_be),
	UT(only_newer_segments_set_the_window),
	UT(a_segment_beyond_a_gap_sets_the_window_until_the_next_ack),
	UT(a_window_that_opens_lets_data_go), UT(three_duplicates_show_a_loss),
	UT(new_data_begin_the_count_anew), UT(repeats_that_are_no_duplicates),
	UT(a_block_behind_a_gap), UT(answers_to_a_tail_probe), UT(marks_of_congestion))
