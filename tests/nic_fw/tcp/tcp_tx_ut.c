/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments that leave: how long they are, their flags and marks of ECN, when a flow may send and
 * when it waits, probes of the tail and of the window, challenges. The test makes acknowledgements
 * by hand.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/frame.h"
#include "tests/bench/host.h"

enum {
	PEER_PORT = 5000,
	OUR_PORT = 6000,
	MSS = 1000,
	SEGS = 32,
	FIRST = -1500, /* sequence numbers wrap */
	MOST = 64,
};
#define MS UINT64_C(1000000)

static struct fw_ut ut;
static struct tcp_flow *flow;
static struct tcp_seg seg[SEGS];
static uint32_t num_segs, waiting; /* segments made; segments that the layer above has yet */
static uint32_t seg_bytes;
static uint8_t seg_flags;
static const uint8_t payload[2 * MSS];

/* Segments that were sent since the last look. */
static struct {
	uint32_t seq, bytes; /* from FIRST on */
	uint8_t flags, ecn;
} out[MOST];
static uint32_t num_out;

static uint32_t peer(void)
{
	return htonl(0x0a4d0009);
}

static void ended(struct fw_nic *nic, struct tcp_flow *f, enum tcp_end why)
{
	(void)nic;
	(void)f;
	(void)why;
}

static struct tcp_seg *next(struct fw_nic *nic, struct tcp_flow *f, uint32_t max)
{
	(void)nic;
	(void)f;
	if (!waiting)
		return NULL;
	waiting--;
	CU_ASSERT_FATAL(num_segs < SEGS);
	seg[num_segs] =
	    (struct tcp_seg){.bytes = seg_bytes < max ? seg_bytes : max, .flags = seg_flags};
	fw_list_init(&seg[num_segs].node);
	return &seg[num_segs++];
}

static int fill(struct fw_nic *nic, struct tcp_flow *f, const struct tcp_seg *s, uint32_t from,
		uint32_t bytes, struct fw_tx_frame *frame, uint32_t at)
{
	(void)nic;
	(void)f;
	(void)at;
	CU_ASSERT_TRUE(from + bytes <= s->bytes);
	frame->seg[frame->num_seg++] =
	    (struct fw_tx_seg){.mem = payload + from, .bytes = bytes, .kind = FW_TX_MEM};
	frame->bytes += bytes;
	return 0;
}

static const struct tcp_ops ops = {.ended = ended, .next = next, .fill = fill};

/* Every segment has the right length and checksum. */
static void sent(struct bench_port *port, struct bench_frame *frame)
{
	struct frame_view view = frame_read(frame->b, frame->n);

	(void)port;
	if (view.tcp) {
		struct frame again;

		memcpy(again.b, frame->b, frame->n);
		again.n = frame->n;
		frame_seal(again.b, again.n, 0);
		CU_ASSERT_EQUAL(memcmp(again.b, frame->b, frame->n), 0);
		CU_ASSERT_FATAL(num_out < MOST);
		out[num_out].seq = be32_get(view.tcp->seq) - (uint32_t)FIRST;
		out[num_out].bytes = view.tcp_bytes;
		out[num_out].flags = view.tcp->flags;
		out[num_out++].ecn = view.ip->tos & 3;
	}
	free(frame->b);
}

static void begin(uint16_t flags)
{
	fw_ut_begin(&ut);
	ut.nic->tcp.ops[TCP_USER_MPA] = &ops;
	ut.nic->now_ns = ut.now_ns += 1000 * MS;
	flow = tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_MPA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->state = TCP_ESTABLISHED;
	flow->flags = flags;
	flow->mss = MSS;
	flow->snd_wnd = flow->snd_wnd_max = 100 * MSS;
	flow->cwnd = 50 * MSS;
	flow->ssthresh = 50 * MSS;
	flow->rtt.srtt_ns = 10 * MS;
	flow->rto_ns = 300 * MS;
	flow->heard_ns = flow->sent_ns = ut.nic->now_ns;
	memcpy(flow->mac, (const uint8_t[]){2, 0, 0, 0, 0, 9}, sizeof(flow->mac));
	flow->neigh_ns = ut.nic->now_ns;
	flow->neigh_change = ut.nic->tcp.neigh_changes;
	tcp_number_from(flow, (uint32_t)FIRST, 0);
	num_segs = waiting = num_out = 0;
	seg_bytes = MSS;
	seg_flags = 0;
	ut.port.sent = sent;
}

static void end(void)
{
	struct tcp_seg *s;

	while (!fw_list_empty(&flow->segs)) {
		s = FW_CONTAINER(fw_list_take(&flow->segs), struct tcp_seg, node);
		fw_list_init(&s->node);
	}
	tcp_end(ut.nic, flow, TCP_END_CLOSED);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* One turn of this flow. Returns the number of segments that left. */
static uint32_t runs(void)
{
	num_out = 0;
	tcp_tx_run(ut.nic, 1000);
	tcp_ack_flush(ut.nic);
	eth_tx_flush(ut.nic);
	return num_out;
}

/* The layer above has so many segments more. */
static uint32_t pushes(uint32_t n)
{
	waiting += n;
	tcp_push(ut.nic, flow);
	return runs();
}

/* The peer has all that was sent. */
static void all_arrived(void)
{
	while (!fw_list_empty(&flow->segs))
		(void)fw_list_take(&flow->segs);
	flow->snd_una = flow->snd_nxt;
	flow->pipe = 0;
	flow->flags &= (uint16_t)~TCP_F_PROBE;
}

static void segments_as_they_are_made(void)
{
	uint32_t i;

	begin(0);
	CU_ASSERT_EQUAL_FATAL(pushes(3), 3);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(out[i].seq, i * MSS);
		CU_ASSERT_EQUAL(out[i].bytes, MSS);
		CU_ASSERT_EQUAL(out[i].flags, WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out[i].ecn, 0);
		CU_ASSERT_EQUAL(seg[i].tries, 1);
		CU_ASSERT_EQUAL(seg[i].sent_ns, ut.nic->now_ns);
	}
	CU_ASSERT_EQUAL(flow->snd_nxt - flow->snd_una, 3 * MSS);
	CU_ASSERT_EQUAL(flow->pipe, 3 * MSS);
	CU_ASSERT_EQUAL(flow->loss_timer != TCP_LOSS_NONE, true);
	CU_ASSERT_FALSE(flow->flags & TCP_F_MORE);
	CU_ASSERT_EQUAL(runs(), 0);
	seg_flags = TCP_SEG_PSH;
	CU_ASSERT_EQUAL_FATAL(pushes(1), 1);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK | WIRE_TCP_PSH);
	end();
}

/* No more than a quantum in a turn, then others have theirs; the flow goes on by itself. */
static void a_quantum_of_a_turn(void)
{
	uint32_t first, cost;

	begin(0);
	waiting = 30;
	tcp_push(ut.nic, flow);
	num_out = 0;
	cost = tcp_tx_run(ut.nic, 1);
	eth_tx_flush(ut.nic);
	first = num_out;
	CU_ASSERT_TRUE(cost >= TCP_TX_QUANTUM);
	CU_ASSERT_TRUE(cost < TCP_TX_QUANTUM + 4);
	CU_ASSERT_TRUE(first > 0 && first < 30);
	CU_ASSERT_TRUE(fw_list_linked(&flow->ready_node));
	CU_ASSERT_EQUAL(runs(), 30 - first);
	CU_ASSERT_FALSE(fw_list_linked(&flow->ready_node));
	end();
}

static void states_that_send(void)
{
	uint32_t state;

	for (state = TCP_CLOSED; state <= TCP_TIME_WAIT; state++) {
		bool silent = state == TCP_CLOSED || state == TCP_TIME_WAIT;

		begin(0);
		flow->state = (uint8_t)state;
		tcp_ready(ut.nic, flow);
		CU_ASSERT_EQUAL(fw_list_linked(&flow->ready_node), !silent);
		fw_list_del(&flow->ready_node);
		tcp_ack_soon(ut.nic, flow);
		CU_ASSERT_EQUAL(fw_list_linked(&flow->ack_node), state != TCP_CLOSED);
		fw_list_del(&flow->ack_node);
		flow->state = TCP_ESTABLISHED;
		end();
	}
}

/* The congestion window, and the window of the peer, hold segments back; ACKs let them go. */
static void windows(void)
{
	begin(0);
	flow->cwnd = 4 * MSS;
	CU_ASSERT_EQUAL(pushes(6), 4);
	CU_ASSERT_TRUE(flow->flags & TCP_F_LIMITED);
	all_arrived();
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 2);
	CU_ASSERT_FALSE(flow->flags & TCP_F_LIMITED);
	end();
	begin(0);
	flow->snd_wnd = 3 * MSS;
	CU_ASSERT_EQUAL(pushes(6), 3);
	/* The next one waits whole, as long as others are in flight. */
	flow->snd_wnd = 4 * MSS - 1;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 0);
	flow->snd_wnd = 4 * MSS;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 1);
	/* With none in flight a part goes that is half of the largest window. */
	all_arrived();
	flow->snd_wnd_max = 1600;
	flow->snd_wnd = 799;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 0);
	/* A timer asks for more. */
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_PERSIST);
	flow->snd_wnd = 800;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].bytes, 800);
	/* The rest of the segment follows. */
	flow->snd_wnd = 1000;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].bytes, 200);
	CU_ASSERT_EQUAL(out[0].seq, 4 * MSS + 800);
	end();
}

/*
 * The first data of a connection knock at a small window: a part of a segment goes, the rest after
 * its ACK. Once is enough.
 */
static void knocks_at_a_small_window(void)
{
	begin(0);
	flow->fresh = true;
	flow->snd_wnd = 2 * MSS - 1;
	CU_ASSERT_EQUAL_FATAL(pushes(3), 1);
	CU_ASSERT_EQUAL(out[0].bytes, 512);
	CU_ASSERT_FALSE(flow->fresh);
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 0);
	flow->snd_una += 512;
	flow->pipe = 0;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 2);
	CU_ASSERT_EQUAL(out[0].seq, 512);
	CU_ASSERT_EQUAL(out[0].bytes, MSS - 512);
	CU_ASSERT_EQUAL(out[1].bytes, MSS);
	end();
	/* A window of two segments has no need of it, nor have short data. */
	begin(0);
	flow->fresh = true;
	flow->snd_wnd = 2 * MSS;
	CU_ASSERT_EQUAL(pushes(3), 2);
	end();
	begin(0);
	flow->fresh = true;
	flow->snd_wnd = 2 * MSS - 1;
	seg_bytes = 512;
	CU_ASSERT_EQUAL(pushes(3), 3);
	end();
}

/* A connection that ends is in no list any more. */
static void ends_out_of_all_lists(void)
{
	begin(0);
	tcp_push(ut.nic, flow);
	tcp_ack_soon(ut.nic, flow);
	CU_ASSERT_FALSE(fw_list_empty(&ut.nic->tcp.ready));
	CU_ASSERT_FALSE(fw_list_empty(&ut.nic->tcp.acks));
	tcp_end(ut.nic, flow, TCP_END_CLOSED);
	CU_ASSERT_TRUE(fw_list_empty(&ut.nic->tcp.ready));
	CU_ASSERT_TRUE(fw_list_empty(&ut.nic->tcp.acks));
	CU_ASSERT_TRUE(fw_list_empty(&ut.nic->tcp.time_wait));
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* Only new data are marked; CWR comes with the first of them, once. RFC 3168 6.1.2, 6.1.5 */
static void marks_of_ecn(void)
{
	begin(TCP_F_ECN | TCP_F_CWR);
	CU_ASSERT_EQUAL_FATAL(pushes(2), 2);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK | WIRE_TCP_CWR);
	CU_ASSERT_EQUAL(out[1].flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out[0].ecn, WIRE_IP_ECT0);
	CU_ASSERT_EQUAL(out[1].ecn, WIRE_IP_ECT0);
	CU_ASSERT_FALSE(flow->flags & TCP_F_CWR);
	/* A repeated segment has neither, and leaves CWR to new data. */
	flow->flags |= TCP_F_CWR;
	tcp_seg_mark(flow, &seg[0], TCP_SEG_LOST, 0);
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].seq, 0);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out[0].ecn, 0);
	CU_ASSERT_TRUE(flow->flags & TCP_F_CWR);
	/* ECE is in all segments until the peer has answered it. */
	flow->flags |= TCP_F_ECE;
	CU_ASSERT_EQUAL_FATAL(pushes(2), 2);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK | WIRE_TCP_CWR | WIRE_TCP_ECE);
	CU_ASSERT_EQUAL(out[1].flags, WIRE_TCP_ACK | WIRE_TCP_ECE);
	end();
	/* Without ECN there is no mark. */
	begin(TCP_F_CWR);
	CU_ASSERT_EQUAL_FATAL(pushes(1), 1);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out[0].ecn, 0);
	end();
}

/* A lost segment goes before new data, and counts as sent again. */
static void losses_first(void)
{
	begin(TCP_F_SACK);
	CU_ASSERT_EQUAL(pushes(3), 3);
	ut.nic->now_ns += MS;
	tcp_seg_mark(flow, &seg[1], TCP_SEG_LOST, 0);
	CU_ASSERT_EQUAL(flow->pipe, 2 * MSS);
	CU_ASSERT_EQUAL_FATAL(pushes(1), 2);
	CU_ASSERT_EQUAL(out[0].seq, MSS);
	CU_ASSERT_EQUAL(out[1].seq, 3 * MSS);
	CU_ASSERT_EQUAL(flow->pipe, 4 * MSS);
	CU_ASSERT_EQUAL(seg[1].tries, 2);
	CU_ASSERT_EQUAL(seg[1].sent_ns, ut.nic->now_ns);
	CU_ASSERT_EQUAL(flow->undo_retrans, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_retransmits, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_segments, 5);
	/* A part of it may have arrived: the rest goes. */
	tcp_seg_mark(flow, &seg[0], TCP_SEG_LOST, 0);
	flow->snd_una += 400;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].seq, 400);
	CU_ASSERT_EQUAL(out[0].bytes, 600);
	end();
}

/* A tail probe is new data, beyond the congestion window if need be; else the last that is out. */
static void a_tail_probe(void)
{
	begin(TCP_F_SACK);
	flow->cwnd = 2 * MSS;
	CU_ASSERT_EQUAL(pushes(3), 2);
	flow->flags |= TCP_F_PROBE;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].seq, 2 * MSS);
	CU_ASSERT_FALSE(flow->flags & TCP_F_PROBE);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_retransmits, 0);
	/* The last has arrived, the one before it not. */
	tcp_seg_mark(flow, &seg[2], TCP_SEG_SACKED, 0);
	flow->flags |= TCP_F_PROBE;
	flow->tlp_out = true;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].seq, MSS);
	CU_ASSERT_FALSE(flow->flags & TCP_F_PROBE);
	CU_ASSERT_TRUE(flow->tlp_retrans);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_retransmits, 1);
	all_arrived();
	/* Nothing is out. */
	flow->flags |= TCP_F_PROBE;
	tcp_ready(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 0);
	CU_ASSERT_FALSE(flow->flags & TCP_F_PROBE);
	end();
}

/* The end of the stream comes behind all data, once, and takes a number. */
static void the_end_behind_all_data(void)
{
	begin(0);
	flow->flags |= TCP_F_CLOSE;
	CU_ASSERT_EQUAL_FATAL(pushes(2), 3);
	CU_ASSERT_EQUAL(out[1].flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out[2].flags, WIRE_TCP_ACK | WIRE_TCP_FIN);
	CU_ASSERT_EQUAL(out[2].seq, 2 * MSS);
	CU_ASSERT_EQUAL(out[2].bytes, 0);
	CU_ASSERT_EQUAL(flow->state, TCP_FIN_WAIT_1);
	CU_ASSERT_EQUAL(flow->snd_nxt, (uint32_t)FIRST + 2 * MSS + 1);
	CU_ASSERT_EQUAL(pushes(1), 0);
	end();
}

/* Challenges are few in a second, whatever a stranger sends, and leave the flow's other flags. */
static void challenges(void)
{
	uint32_t i, before;

	begin(TCP_F_SACK | TCP_F_TS);
	tcp_challenge(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->flags, TCP_F_SACK | TCP_F_TS | TCP_F_ACK_NOW);
	CU_ASSERT_EQUAL_FATAL(runs(), 1);
	CU_ASSERT_EQUAL(out[0].flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out[0].bytes, 0);
	CU_ASSERT_EQUAL(flow->flags, TCP_F_SACK | TCP_F_TS);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_acks, 1);
	for (i = 0; i < 10000; i++)
		tcp_challenge(ut.nic, flow);
	before = (uint32_t)ut.nic->counters.tcp_challenge_acks;
	CU_ASSERT_TRUE(before < 10000);
	CU_ASSERT_EQUAL(runs(), 1);
	tcp_challenge(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 0);
	ut.nic->now_ns += 2000 * MS;
	flow->neigh_ns = ut.nic->now_ns;
	tcp_challenge(ut.nic, flow);
	CU_ASSERT_EQUAL(runs(), 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_challenge_acks, before + 1);
	end();
}

/* Answers of one flow to what is outside its window are apart by a time. */
static void answers_are_apart(void)
{
	begin(0);
	CU_ASSERT_TRUE(tcp_may_answer(ut.nic, flow));
	CU_ASSERT_FALSE(tcp_may_answer(ut.nic, flow));
	ut.nic->now_ns += TCP_ANSWER_NS - 1;
	CU_ASSERT_FALSE(tcp_may_answer(ut.nic, flow));
	ut.nic->now_ns += 1;
	CU_ASSERT_TRUE(tcp_may_answer(ut.nic, flow));
	CU_ASSERT_FALSE(tcp_may_answer(ut.nic, flow));
	end();
}

UT_MAIN("nic_fw/tcp/tcp_tx", UT(segments_as_they_are_made), UT(a_quantum_of_a_turn),
	UT(states_that_send), UT(windows), UT(knocks_at_a_small_window), UT(ends_out_of_all_lists),
	UT(marks_of_ecn), UT(losses_first), UT(a_tail_probe), UT(the_end_behind_all_data),
	UT(challenges), UT(answers_are_apart))
