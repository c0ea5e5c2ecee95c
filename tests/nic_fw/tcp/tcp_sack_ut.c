/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scoreboard against one that keeps a state for each byte: segments of any size, SACK blocks
 * that overlap, repeat, lie and cross 2^32, losses that are detected and sent again. The amounts in
 * flight, lost and SACKed must agree after each step. RFC 6675 2 to 4, RFC 2018 8, RFC 2883.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	SEGS = 64,
	MAX_SEG = 300,
	STREAM = SEGS * MAX_SEG,
	STEPS = 400,
	SEEDS = 150,
};

/* The fate of a byte that was sent. */
struct byte {
	bool sent, sacked, lost, again, acked;
};

struct board {
	struct fw_nic *nic;
	struct tcp_flow flow;
	struct tcp_aside aside;
	struct tcp_seg seg[SEGS];
	struct byte byte[STREAM];
	uint32_t iss, num, random;
};

static uint32_t draw(struct board *b, uint32_t below)
{
	b->random = b->random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)b->random * below >> 32);
}

static void open_board(struct board *b, uint32_t seed)
{
	memset(b, 0, sizeof(*b));
	b->nic = calloc(1, sizeof(*b->nic));
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->nic);
	b->nic->now_ns = 1000000000;
	b->random = seed;
	/* Most streams pass 2^32. */
	b->iss = 0u - draw(b, STREAM);
	b->flow.aside = &b->aside;
	fw_list_init(&b->flow.segs);
	tcp_number_from(&b->flow, b->iss, 0);
	b->flow.flags = TCP_F_SACK;
	b->flow.reo_mult = 1;
	b->flow.rtt.srtt_ns = 100;
	b->flow.mss = MAX_SEG;
}

/* Each segment is wholly in one state, and the sums are those of the bytes. */
static void compare(struct board *b)
{
	uint32_t pipe = 0, sacked = 0, lost = 0, unsent = 0, i, k;

	for (i = 0; i < b->num; i++) {
		const struct tcp_seg *seg = &b->seg[i];
		uint32_t first = seg->seq - b->iss;
		const struct byte *x = &b->byte[first + seg->bytes - 1];

		if (x->acked)
			continue;
		CU_ASSERT_EQUAL(!!(seg->flags & TCP_SEG_SACKED), x->sacked);
		CU_ASSERT_EQUAL(!!(seg->flags & TCP_SEG_LOST), x->lost);
		CU_ASSERT_EQUAL(!!(seg->flags & TCP_SEG_RETRANS), x->again);
		sacked += x->sacked;
		lost += x->lost && !x->again;
		for (k = first; k < first + seg->bytes; k++) {
			const struct byte *y = &b->byte[k];

			unsent += !y->sent;
			pipe += !y->acked && !y->sacked && (!y->lost || y->again);
		}
	}
	CU_ASSERT_EQUAL_FATAL(unsent, 0);
	CU_ASSERT_EQUAL(b->flow.pipe, pipe);
	CU_ASSERT_EQUAL(b->flow.sacked, sacked);
	CU_ASSERT_EQUAL(b->flow.lost, lost);
}

static void send_new(struct board *b)
{
	struct tcp_seg *seg = &b->seg[b->num];
	uint32_t i;

	if (b->num == SEGS)
		return;
	b->num++;
	*seg = (struct tcp_seg){
	    .seq = b->flow.snd_nxt,
	    .bytes = 1 + draw(b, MAX_SEG),
	    .sent_ns = b->nic->now_ns,
	    .flags = TCP_SEG_ULP,
	};
	fw_list_add_tail(&b->flow.segs, &seg->node);
	b->flow.snd_nxt += seg->bytes;
	b->flow.pipe += seg->bytes;
	for (i = 0; i < seg->bytes; i++)
		b->byte[seg->seq - b->iss + i].sent = true;
}

static void set(struct board *b, const struct tcp_seg *seg, bool sacked, bool lost, bool again)
{
	uint32_t i;

	for (i = 0; i < seg->bytes; i++) {
		struct byte *x = &b->byte[seg->seq - b->iss + i];

		x->sacked = sacked;
		x->lost = lost;
		x->again = again;
	}
}

/* A block of any range; the oracle processes it byte by byte. */
static void sack(struct board *b)
{
	uint32_t sent = b->flow.snd_nxt - b->iss, una = b->flow.snd_una - b->iss, i, k, n;
	struct tcp_in in = {.ack = b->flow.snd_una};
	struct tcp_acked acked = {.bytes = 0};
	uint64_t newly = 0;

	in.opt.num_sack = (uint8_t)(1 + draw(b, TCP_SACK_BLOCKS));
	for (n = 0; n < in.opt.num_sack; n++) {
		uint32_t from = draw(b, sent + 40), to = from + draw(b, 4 * MAX_SEG);

		in.opt.sack[n].from = b->iss + from - 20;
		in.opt.sack[n].to = b->iss + to - 20;
		if (from < una + 20 || to > sent + 20 || from >= to)
			continue; /* old, never sent, or empty */
		for (i = 0; i < b->num; i++) {
			uint32_t at = b->seg[i].seq - b->iss, end = at + b->seg[i].bytes;

			if (b->byte[end - 1].acked || b->byte[end - 1].sacked || at < from - 20 ||
			    end > to - 20)
				continue;
			/*
			 * A segment counts when it lies wholly within the block and no byte of it
			 * was acknowledged.
			 */
			for (k = at; k < end; k++)
				newly += !b->byte[k].acked;
			set(b, &b->seg[i], true, false, false);
		}
	}
	tcp_sack_rx(b->nic, &b->flow, &in, &acked);
	CU_ASSERT_EQUAL(acked.delivered, newly);
	CU_ASSERT_EQUAL(acked.sacked_new, newly != 0);
}

/* By definition, over all segments: RFC 8985 6.2, step 5. */
static void detect(struct board *b)
{
	struct tcp_flow *f = &b->flow;
	bool repairing = f->flags & (TCP_F_RECOVERY | TCP_F_LOSS), want = false, got;
	uint64_t window = !f->reordering && (repairing || f->sacked >= TCP_DUP_THRESH)
			      ? 0
			      : f->reo_mult * f->min_rtt_ns / 4;
	uint32_t i;

	if (window > f->rtt.srtt_ns)
		window = f->rtt.srtt_ns;
	for (i = 0; i < b->num && (f->sacked || repairing); i++) {
		struct tcp_seg *seg = &b->seg[i];
		const struct byte *x = &b->byte[tcp_seg_end(seg) - 1 - b->iss];
		bool before = seg->sent_ns < f->rack_sent_ns ||
			      (seg->sent_ns == f->rack_sent_ns &&
			       (int32_t)(tcp_seg_end(seg) - f->rack_end) < 0);

		if (x->acked || x->sacked || (x->lost && !x->again) || !before ||
		    seg->sent_ns + f->rack_rtt_ns + window > b->nic->now_ns)
			continue;
		set(b, seg, false, true, false);
		want = true;
	}
	got = tcp_detect_loss(b->nic, f);
	CU_ASSERT_EQUAL(got, want);
	if (got)
		f->flags |= TCP_F_RECOVERY;
}

static void resend(struct board *b)
{
	struct tcp_seg *seg = tcp_first_lost(&b->flow);
	uint32_t i;

	/* The first lost segment in order that is not under way. */
	for (i = 0; i < b->num; i++) {
		const struct byte *x = &b->byte[tcp_seg_end(&b->seg[i]) - 1 - b->iss];

		if (!x->acked && x->lost && !x->again)
			break;
	}
	CU_ASSERT_PTR_EQUAL(seg, i == b->num ? NULL : &b->seg[i]);
	if (!seg)
		return;
	tcp_seg_mark(&b->flow, seg, TCP_SEG_RETRANS | TCP_SEG_EVER, 0);
	seg->sent_ns = b->nic->now_ns;
	set(b, seg, false, true, true);
}

/* The first segment, or a part of it, is acknowledged as in tcp_ack.c. */
static void ack(struct board *b)
{
	struct tcp_flow *f = &b->flow;
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_seg *seg;
	uint32_t n, i, before = f->snd_una - b->iss;

	if (fw_list_empty(&f->segs))
		return;
	seg = FW_CONTAINER(f->segs.next, struct tcp_seg, node);
	n = tcp_seg_end(seg) - f->snd_una;
	if (n > 1 && !draw(b, 4) && !(seg->flags & TCP_SEG_SACKED)) {
		n = 1 + draw(b, n - 1);
		f->pipe -= tcp_seg_pipe(f, seg);
		f->snd_una += n;
		f->pipe += tcp_seg_pipe(f, seg);
	} else {
		if (!(seg->flags & TCP_SEG_SACKED))
			tcp_rack_update(b->nic, f, seg, &acked);
		tcp_seg_mark(f, seg, 0, TCP_SEG_SACKED | TCP_SEG_LOST | TCP_SEG_RETRANS);
		f->pipe -= tcp_seg_out(f, seg);
		fw_list_del(&seg->node);
		f->snd_una = tcp_seg_end(seg);
	}
	for (i = 0; i < n; i++)
		b->byte[before + i].acked = true;
	if (seq_lt(f->fack, f->snd_una))
		f->fack = f->snd_una;
}

static void timeout(struct board *b)
{
	const struct tcp_seg *first;
	bool reneged;
	uint32_t i;

	if (fw_list_empty(&b->flow.segs))
		return;
	first = FW_CONTAINER(b->flow.segs.next, struct tcp_seg, node);
	/*
	 * The peer dropped data that it had SACKed, when the next segment is SACKed but not
	 * acknowledged. Then no SACK of it is reliable.
	 */
	reneged = first->flags & TCP_SEG_SACKED;
	for (i = 0; i < b->num; i++) {
		const struct byte *x = &b->byte[tcp_seg_end(&b->seg[i]) - 1 - b->iss];

		if (!x->acked && (reneged || !x->sacked))
			set(b, &b->seg[i], false, true, false);
	}
	tcp_mark_all_lost(&b->flow);
	b->flow.flags |= TCP_F_LOSS;
}

static void oracle(void)
{
	static struct board b;
	uint32_t seed, step;

	for (seed = 1; seed <= SEEDS; seed++) {
		open_board(&b, seed);
		for (step = 0; step < STEPS && !CU_get_number_of_failures(); step++) {
			uint32_t what = draw(&b, 100);

			b.nic->now_ns += draw(&b, 60);
			if (what < 30)
				send_new(&b);
			else if (what < 55 && b.num)
				sack(&b);
			else if (what < 70)
				detect(&b);
			else if (what < 85)
				resend(&b);
			else if (what < 98)
				ack(&b);
			else
				timeout(&b);
			compare(&b);
		}
		free(b.nic);
		/* Further seeds would fail thousands of times. */
		CU_ASSERT_EQUAL_FATAL(CU_get_number_of_failures(), 0);
	}
}

/* A duplicate that the peer reports widens the reordering window, once a round trip. */
static void dsack(void)
{
	static struct board b;
	struct tcp_in in;
	struct tcp_acked acked;
	uint32_t i;

	open_board(&b, 7);
	for (i = 0; i < 10; i++)
		send_new(&b);
	b.flow.undo_retrans = 2;
	in = (struct tcp_in){.ack = b.flow.snd_una};
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){in.ack - 20, in.ack - 10};
	acked = (struct tcp_acked){.bytes = 0};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(acked.dsack && !acked.undo && !acked.sacked_new);
	CU_ASSERT_EQUAL(b.flow.reo_mult, 2);
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(acked.undo);
	CU_ASSERT_EQUAL(b.flow.reo_mult, 2);
	CU_ASSERT(b.flow.reordering);
	/* Within the second block: RFC 2883 4.2. */
	in.opt.num_sack = 2;
	in.opt.sack[0] = (struct tcp_block){in.ack + 10, in.ack + 20};
	in.opt.sack[1] = (struct tcp_block){in.ack + 10, in.ack + 30};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(acked.dsack);
	/* A new block in first place is no duplicate, nor one that the second has in part. */
	in.opt.sack[1] = (struct tcp_block){in.ack + 100, in.ack + 130};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(!acked.dsack);
	in.opt.sack[1] = (struct tcp_block){in.ack + 10, in.ack + 19};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(!acked.dsack);
	in.opt.sack[1] = (struct tcp_block){in.ack + 11, in.ack + 30};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(!acked.dsack);
	in.opt.sack[1] = (struct tcp_block){in.ack + 10, in.ack + 20};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(acked.dsack);
	/* Empty. */
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){in.ack - 20, in.ack - 20};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(!acked.dsack);
	CU_ASSERT_EQUAL(b.nic->counters.tcp_rx_dsacks, 4);
	free(b.nic);
}

/* The window grows up to a limit, and is as before after a number of losses: RFC 8985 6.2. */
static void the_reordering_window_grows_and_shrinks(void)
{
	static struct board b;
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_in in;
	uint32_t i;

	open_board(&b, 7);
	in = (struct tcp_in){.ack = b.flow.snd_una};
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){in.ack - 20, in.ack - 10};
	for (i = 0; i < 40; i++) {
		send_new(&b);
		tcp_sack_rx(b.nic, &b.flow, &in, &acked);
		CU_ASSERT_EQUAL(b.flow.reo_mult, i + 2 < 16 ? i + 2 : 16);
		in.ack = b.flow.snd_nxt;
		in.opt.sack[0] = (struct tcp_block){in.ack - 20, in.ack - 10};
	}
	for (i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(b.flow.reo_mult, 16);
		tcp_cong_lost(b.nic, &b.flow);
		b.flow.flags &= (uint16_t)~TCP_F_RECOVERY;
	}
	CU_ASSERT_EQUAL(b.flow.reo_mult, 1);
	free(b.nic);
}

/* Our FIN belongs to no layer above. */
static void marks_leave_other_flags(void)
{
	static struct board b;

	open_board(&b, 7);
	send_new(&b);
	send_new(&b);
	b.seg[1].flags = 0;
	tcp_mark_all_lost(&b.flow);
	CU_ASSERT_EQUAL(b.seg[0].flags, TCP_SEG_ULP | TCP_SEG_LOST);
	CU_ASSERT_EQUAL(b.seg[1].flags, TCP_SEG_LOST);
	tcp_mark_none_lost(&b.flow);
	CU_ASSERT_EQUAL(b.seg[0].flags, TCP_SEG_ULP);
	CU_ASSERT_EQUAL(b.seg[1].flags, 0);
	free(b.nic);
}

/* Sends so many segments, gap_ns apart. */
static void send_apart(struct board *b, uint32_t num, uint64_t gap_ns)
{
	while (num--) {
		send_new(b);
		b->nic->now_ns += gap_ns;
	}
}

static void the_newest_arrival_and_its_time(void)
{
	static struct board b;
	struct tcp_in in = {.ack = 0};
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_flow *f = &b.flow;

	open_board(&b, 7);
	send_apart(&b, 4, 1000);
	tcp_rack_update(b.nic, f, &b.seg[1], &acked);
	CU_ASSERT_EQUAL(f->rack_sent_ns, b.seg[1].sent_ns);
	CU_ASSERT_EQUAL(f->rack_end, tcp_seg_end(&b.seg[1]));
	CU_ASSERT_EQUAL(f->rack_rtt_ns, 3000);
	CU_ASSERT_EQUAL(f->min_rtt_ns, 3000);
	CU_ASSERT_EQUAL(acked.rtt_ns, 3000);
	CU_ASSERT_FALSE(f->reordering);
	/* One before it comes later: the order was changed. */
	f->fack = tcp_seg_end(&b.seg[1]);
	tcp_rack_update(b.nic, f, &b.seg[0], &acked);
	CU_ASSERT_TRUE(f->reordering);
	CU_ASSERT_EQUAL(f->rack_sent_ns, b.seg[1].sent_ns);
	CU_ASSERT_EQUAL(f->rack_rtt_ns, 3000);
	CU_ASSERT_EQUAL(f->min_rtt_ns, 3000);
	CU_ASSERT_EQUAL(acked.rtt_ns, 4000);
	tcp_rack_update(b.nic, f, &b.seg[3], &acked);
	CU_ASSERT_EQUAL(f->rack_sent_ns, b.seg[3].sent_ns);
	CU_ASSERT_EQUAL(f->min_rtt_ns, 1000);
	/* Sent at the same time: the higher end counts. A sample is never 0. */
	send_apart(&b, 2, 0);
	f->reordering = false;
	tcp_rack_update(b.nic, f, &b.seg[5], &acked);
	tcp_rack_update(b.nic, f, &b.seg[4], &acked);
	CU_ASSERT_EQUAL(f->rack_end, tcp_seg_end(&b.seg[5]));
	CU_ASSERT_EQUAL(acked.rtt_ns, 1);
	CU_ASSERT_FALSE(f->reordering);
	/* No timeout is being repaired. */
	CU_ASSERT_FALSE(acked.orig);
	/* An arrival that a block reports counts as well. */
	send_apart(&b, 1, 700);
	in.opt.num_sack = 1;
	in.opt.sack[0] = (struct tcp_block){b.seg[6].seq, tcp_seg_end(&b.seg[6])};
	in.ack = f->snd_una;
	tcp_sack_rx(b.nic, f, &in, &acked);
	CU_ASSERT_EQUAL(f->rack_end, tcp_seg_end(&b.seg[6]));
	CU_ASSERT_EQUAL(f->rack_rtt_ns, 700);
	free(b.nic);
}

/* An answer that came too soon, or echoes an earlier time, is for the first copy. */
static void an_answer_to_a_copy(void)
{
	static struct board b;
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_flow *f = &b.flow;

	open_board(&b, 7);
	send_apart(&b, 2, 1000);
	f->min_rtt_ns = 4000;
	f->ts_offset = 77;
	b.seg[0].flags |= TCP_SEG_EVER;
	b.nic->now_ns = b.seg[0].sent_ns + 1999;
	tcp_rack_update(b.nic, f, &b.seg[0], &acked);
	CU_ASSERT_EQUAL(f->rack_sent_ns, 0);
	b.nic->now_ns++;
	acked.has_ecr = true;
	acked.ts_ecr = tcp_ts_now(b.seg[0].sent_ns) + 76;
	tcp_rack_update(b.nic, f, &b.seg[0], &acked);
	CU_ASSERT_EQUAL(f->rack_sent_ns, 0);
	acked.ts_ecr++;
	tcp_rack_update(b.nic, f, &b.seg[0], &acked);
	CU_ASSERT_EQUAL(f->rack_sent_ns, b.seg[0].sent_ns);
	CU_ASSERT_EQUAL(f->rack_rtt_ns, 2000);
	/* A copy gives no sample, and no order. */
	CU_ASSERT_EQUAL(acked.rtt_ns, 0);
	CU_ASSERT_EQUAL(f->min_rtt_ns, 4000);
	CU_ASSERT_FALSE(f->reordering);
	free(b.nic);
}

/* After a timeout: the latest of those that were sent once, before it. */
static void first_copies_that_arrived_after_a_timeout(void)
{
	static struct board b;
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_flow *f = &b.flow;

	open_board(&b, 7);
	send_apart(&b, 3, 1000);
	f->flags |= TCP_F_LOSS;
	f->recover = f->snd_nxt;
	send_apart(&b, 1, 1000);
	tcp_rack_update(b.nic, f, &b.seg[3], &acked);
	CU_ASSERT_FALSE(acked.orig);
	tcp_rack_update(b.nic, f, &b.seg[1], &acked);
	CU_ASSERT_TRUE(acked.orig);
	CU_ASSERT_EQUAL(acked.orig_sent_ns, b.seg[1].sent_ns);
	CU_ASSERT_EQUAL(acked.orig_end, tcp_seg_end(&b.seg[1]));
	tcp_rack_update(b.nic, f, &b.seg[0], &acked);
	CU_ASSERT_EQUAL(acked.orig_sent_ns, b.seg[1].sent_ns);
	/* The last one ends where the window did. */
	tcp_rack_update(b.nic, f, &b.seg[2], &acked);
	CU_ASSERT_EQUAL(acked.orig_sent_ns, b.seg[2].sent_ns);
	CU_ASSERT_EQUAL(acked.orig_end, tcp_seg_end(&b.seg[2]));
	free(b.nic);
}

static void a_segment_is_lost_when_its_time_has_passed(void)
{
	static struct board b;
	struct tcp_acked acked = {.bytes = 0};
	struct tcp_flow *f = &b.flow;
	uint64_t first_ns;

	open_board(&b, 7);
	send_apart(&b, 3, 10);
	first_ns = b.seg[0].sent_ns;
	/* The third one arrives; a window of 100 ns. */
	f->reordering = true;
	f->min_rtt_ns = 400;
	tcp_seg_mark(f, &b.seg[2], TCP_SEG_SACKED, 0);
	b.nic->now_ns = b.seg[2].sent_ns + 50;
	tcp_rack_update(b.nic, f, &b.seg[2], &acked);
	f->min_rtt_ns = 400;
	CU_ASSERT_FALSE(tcp_detect_loss(b.nic, f));
	/* The timer is for the last of those that may still come. */
	CU_ASSERT_EQUAL(f->loss_timer, TCP_LOSS_REORDER);
	CU_ASSERT_EQUAL(f->loss_ns, first_ns + 10 + 150);
	b.nic->now_ns = first_ns + 149;
	CU_ASSERT_FALSE(tcp_detect_loss(b.nic, f));
	b.nic->now_ns++;
	CU_ASSERT_TRUE(tcp_detect_loss(b.nic, f));
	CU_ASSERT_TRUE(b.seg[0].flags & TCP_SEG_LOST);
	CU_ASSERT_FALSE(b.seg[1].flags & TCP_SEG_LOST);
	CU_ASSERT_EQUAL(f->loss_timer, TCP_LOSS_REORDER);
	CU_ASSERT_EQUAL(f->loss_ns, first_ns + 10 + 150);
	b.nic->now_ns += 10;
	CU_ASSERT_TRUE(tcp_detect_loss(b.nic, f));
	CU_ASSERT_EQUAL(f->lost, 2);
	CU_ASSERT_EQUAL(f->loss_timer, TCP_LOSS_NONE);
	/* Other timers stay. */
	f->loss_timer = TCP_LOSS_RTO;
	CU_ASSERT_FALSE(tcp_detect_loss(b.nic, f));
	CU_ASSERT_EQUAL(f->loss_timer, TCP_LOSS_RTO);
	/* The window is a round trip at most. */
	CU_ASSERT_PTR_EQUAL(tcp_first_lost(f), &b.seg[0]);
	f->reo_mult = 10;
	tcp_mark_none_lost(f);
	b.nic->now_ns = first_ns + 149;
	CU_ASSERT_FALSE(tcp_detect_loss(b.nic, f));
	b.nic->now_ns++;
	CU_ASSERT_TRUE(tcp_detect_loss(b.nic, f));
	/* In a recovery there is none unless the order was ever changed. */
	f->reordering = false;
	f->flags |= TCP_F_RECOVERY;
	tcp_mark_none_lost(f);
	b.nic->now_ns = first_ns + 49;
	CU_ASSERT_FALSE(tcp_detect_loss(b.nic, f));
	b.nic->now_ns++;
	CU_ASSERT_TRUE(tcp_detect_loss(b.nic, f));
	free(b.nic);
}

UT_MAIN("nic_fw/tcp/tcp_sack", UT(oracle), UT(dsack), UT(the_reordering_window_grows_and_shrinks),
	UT(the_newest_arrival_and_its_time), UT(marks_leave_other_flags), UT(an_answer_to_a_copy),
	UT(first_copies_that_arrived_after_a_timeout),
	UT(a_segment_is_lost_when_its_time_has_passed))
