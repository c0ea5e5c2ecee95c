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
	uint32_t pipe = 0, sacked = 0, lost = 0, i, k;

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

			CU_ASSERT_FATAL(y->sent);
			pipe += !y->acked && !y->sacked && (!y->lost || y->again);
		}
	}
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
		for (step = 0; step < STEPS; step++) {
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
	/* A new block in first place is no duplicate. */
	in.opt.sack[1] = (struct tcp_block){in.ack + 100, in.ack + 130};
	tcp_sack_rx(b.nic, &b.flow, &in, &acked);
	CU_ASSERT(!acked.dsack);
	free(b.nic);
}

UT_MAIN("nic_fw/tcp/tcp_sack", UT(oracle), UT(dsack))
