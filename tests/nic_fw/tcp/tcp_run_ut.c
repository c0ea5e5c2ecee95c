/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of segments: when new segments leave as one, and when segments are taken as one; every other
 * case is left to the way of single segments, with nothing done. Sequence numbers wrap.
 * nic_fw/tcp/tcp_run.c.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"
#include "tests/nic_fw/tcp/tcp_ack_fix.h"

enum {
	RUN = 5,
	MORE = 40, /* segments that the layer above has */
	OPTIONS = 12,
	HDR_BYTES = 54,
	ABOVE_BYTES = 16, /* headers of the layer above, in a segment */
	CRC_BYTES = 4,
	LAST_BYTES = 300, /* of a short last segment */
	IRS = -2000,
};

/* The layer above. */
static struct tcp_seg more[MORE];
static uint32_t calls, asked;
static bool nothing, shorter, pushes;
static uint32_t port_limit;
static uint8_t payload[FW_RUN_BYTES];

static uint32_t next_run(struct fw_nic *nic, struct tcp_flow *f, uint32_t max, uint32_t most,
			 struct fw_tx_frame *frame, uint32_t hdr_offset, struct fw_list *segs)
{
	(void)nic, (void)f;
	calls++;
	asked = most;
	CU_ASSERT_EQUAL(max, MSS);
	if (nothing)
		return 0;
	eth_tx_hdr(frame, hdr_offset, ABOVE_BYTES, FW_TX_F_CRC_BEGIN);
	for (uint32_t i = 0; i < most; i++) {
		more[i] = (struct tcp_seg){.bytes = MSS};
		if (i + 1 == most) {
			more[i].bytes -= shorter ? LAST_BYTES : 0;
			more[i].flags = pushes ? TCP_SEG_PSH : 0;
		}
		fw_list_add_tail(segs, &more[i].node);
	}
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = payload,
	    .bytes = most * (MSS - ABOVE_BYTES - CRC_BYTES) - (shorter ? LAST_BYTES : 0),
	    .kind = FW_TX_MEM,
	    .flags = FW_TX_F_CRC_END,
	};
	frame->run_bytes = MSS - ABOVE_BYTES - CRC_BYTES;
	return most;
}

static bool takes;

static bool receive_run(struct fw_nic *nic, struct tcp_flow *f, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	(void)nic, (void)f, (void)frame;
	calls++;
	CU_ASSERT_EQUAL(offset, HDR_BYTES);
	CU_ASSERT_EQUAL(bytes, MSS);
	return takes;
}

static void forgets(struct fw_nic *nic, struct tcp_flow *f, struct tcp_seg *s, bool ok)
{
	(void)nic, (void)f, (void)s, (void)ok;
}

static const struct tcp_ops run_ops = {
    .acked = forgets, .ended = ended, .next_run = next_run, .receive_run = receive_run};

static uint32_t limit_of(void *ctx, const uint8_t mac[6])
{
	(void)ctx, (void)mac;
	return port_limit;
}

static void begin_run(void)
{
	begin(TCP_F_MORE);
	ut.nic->tcp.ops[TCP_USER_MPA] = &run_ops;
	ut.nic->port.tx_run = limit_of;
	ut.nic->net.tx_allow = UINT32_MAX;
	flow->rcv_nxt = flow->rcv_up = flow->rcv_adv = flow->last_ack = (uint32_t)IRS;
	flow->rcv_limit = flow->rcv_high = (uint32_t)IRS;
	flow->rcv_limit += RUN * MSS;
	flow->snd_wl1 = (uint32_t)IRS;
	port_limit = FW_RUN_MAX;
	calls = asked = 0;
	nothing = shorter = pushes = false;
	takes = true;
}

static void end_run(void)
{
	ut.nic->net.tx_count = 0;
	ut.nic->net.tx_more = 0;
	end();
}

/* Sends, and returns the number of segments that left as one. */
static uint32_t sends(void)
{
	uint32_t before = ut.nic->net.tx_count;

	if (!tcp_run_send(ut.nic, flow)) {
		CU_ASSERT_EQUAL(ut.nic->net.tx_count, before);
		return 0;
	}
	CU_ASSERT_EQUAL_FATAL(ut.nic->net.tx_count, before + 1);
	CU_ASSERT_EQUAL(ut.nic->net.tx[before].run, asked);
	return asked;
}

/* The frame has the first segment's headers, and each segment its record. */
static void one_frame(void)
{
	for (uint32_t kind = 0; kind < 4; kind++) {
		const struct fw_tx_frame *frame;
		const struct wire_tcp *tcp;
		uint32_t seq, left, total;

		begin_run();
		shorter = kind & 1;
		pushes = kind & 2;
		flow->flags |= TCP_F_ECN;
		port_limit = RUN;
		seq = flow->snd_nxt;
		left = shorter ? LAST_BYTES : 0;
		CU_ASSERT_EQUAL_FATAL(sends(), RUN);
		frame = &ut.nic->net.tx[0];
		tcp = (const void *)(frame->hdr + 34);
		total = frame->hdr[16] << 8 | frame->hdr[17];
		CU_ASSERT_EQUAL(total, 20 + 20 + MSS);
		CU_ASSERT_EQUAL(frame->hdr[15] & WIRE_IP_ECN_MASK, WIRE_IP_ECT0);
		CU_ASSERT_EQUAL(be32_get(tcp->seq), seq);
		CU_ASSERT_EQUAL(tcp->flags, WIRE_TCP_ACK | (pushes ? WIRE_TCP_PSH : 0));
		CU_ASSERT_EQUAL(frame->csum_start, 34);
		CU_ASSERT_EQUAL(frame->csum_at, 50);
		CU_ASSERT_EQUAL(frame->bytes,
				HDR_BYTES + ABOVE_BYTES + RUN * (MSS - ABOVE_BYTES) - left);
		for (uint32_t i = 0; i < RUN; i++) {
			CU_ASSERT_EQUAL(more[i].seq, seq + i * MSS);
			CU_ASSERT_EQUAL(more[i].sent_ns, ut.nic->now_ns);
			CU_ASSERT_EQUAL(more[i].tries, 1);
			CU_ASSERT_EQUAL(more[i].flags,
					TCP_SEG_ULP | (pushes && i + 1 == RUN ? TCP_SEG_PSH : 0));
		}
		CU_ASSERT_PTR_EQUAL(flow->segs.prev, &more[RUN - 1].node);
		CU_ASSERT_EQUAL(flow->snd_nxt, seq + RUN * MSS - left);
		CU_ASSERT_EQUAL(flow->pipe, (SEGS + RUN) * MSS - left);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_segments, RUN);
		end_run();
	}
}

/* A run has as many segments as both windows, the port and the turn let leave, and two at least. */
static void limits(void)
{
	const uint32_t none = SEGS * MSS;

	for (uint32_t n = 0; n <= RUN; n++) {
		begin_run();
		flow->snd_wnd = none + n * MSS;
		CU_ASSERT_EQUAL(sends(), n < 2 ? 0 : n);
		end_run();
		begin_run();
		flow->snd_wnd = none + n * MSS + MSS - 1;
		CU_ASSERT_EQUAL(sends(), n < 2 ? 0 : n);
		end_run();
		begin_run();
		flow->cwnd = none + n * MSS + MSS - 1;
		flow->snd_wnd = 10 * none;
		CU_ASSERT_EQUAL(sends(), n < 2 ? 0 : n);
		end_run();
		begin_run();
		ut.nic->net.tx_allow = n;
		CU_ASSERT_EQUAL(sends(), n < 2 ? 0 : n);
		end_run();
	}
	begin_run();
	flow->cwnd = flow->snd_wnd = 100 * none;
	CU_ASSERT_EQUAL(sends(), FW_RUN_MAX);
	end_run();
	begin_run();
	flow->snd_wnd = none / 2;
	flow->cwnd = 100 * none;
	CU_ASSERT_EQUAL(sends(), 0);
	end_run();
	begin_run();
	flow->cwnd = none / 2;
	CU_ASSERT_EQUAL(sends(), 0);
	CU_ASSERT_EQUAL(calls, 0);
	end_run();
	begin_run();
	nothing = true;
	CU_ASSERT_EQUAL(sends(), 0);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT_EQUAL(flow->snd_nxt, (uint32_t)FIRST + SEGS * MSS);
	end_run();
}

/* States in which segments must be looked at one by one. */
static void single_ones(void)
{
	static const uint16_t flags[] = {TCP_F_ECE,  TCP_F_CWR,   TCP_F_RECOVERY,
					 TCP_F_LOSS, TCP_F_PROBE, TCP_F_CLOSE};

	for (uint32_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		begin_run();
		flow->flags |= flags[i];
		CU_ASSERT_EQUAL(sends(), 0);
		end_run();
	}
	for (uint32_t i = 0; i < 7; i++) {
		begin_run();
		switch (i) {
		case 0:
			flow->flags &= (uint16_t)~TCP_F_MORE;
			break;
		case 1:
			flow->state = TCP_FIN_WAIT_1;
			break;
		case 2:
			tcp_seg_mark(flow, &seg[3], TCP_SEG_LOST, 0);
			break;
		case 3:
			tcp_early_note(flow, 5, 10);
			break;
		case 4:
			flow->dsack = (struct tcp_block){1, 5};
			break;
		case 5:
			flow->probing = TCP_PROBE_WANTED;
			break;
		default:
			/* A part of the last segment was sent. */
			flow->snd_nxt -= 10;
			flow->pipe -= 10;
			break;
		}
		CU_ASSERT_EQUAL(sends(), 0);
		CU_ASSERT_EQUAL(calls, 0);
		flow->state = TCP_ESTABLISHED;
		end_run();
	}
}

/* ---- in -------------------------------------------------------------------------------------- */

static uint8_t headers[HDR_BYTES + ABOVE_BYTES];
static struct wire_eth eth;
static struct ip_rx_info info;
static struct fw_rx_frame frame;

/* A run that is next, of RUN segments; the last is shorter. */
static struct tcp_in run_in(void)
{
	const uint32_t data = MSS - ABOVE_BYTES - CRC_BYTES;

	info = (struct ip_rx_info){.eth = &eth, .src_ip = peer()};
	frame = (struct fw_rx_frame){
	    .seg = {{headers, sizeof(headers)}, {payload, RUN * data - LAST_BYTES}},
	    .num_seg = 3,
	    .bytes = sizeof(headers) + RUN * data - LAST_BYTES + RUN * CRC_BYTES,
	    .run = RUN,
	    .run_bytes = data,
	};
	ut.nic->net.run_taken = 1;
	return (struct tcp_in){
	    .frame = &frame,
	    .info = &info,
	    .seq = (uint32_t)IRS,
	    .ack = flow->snd_una,
	    .window = WINDOW >> flow->snd_wscale,
	    .offset = HDR_BYTES,
	    .bytes = MSS,
	    .segs = 1,
	    .src_port = PEER_PORT,
	    .dst_port = OUR_PORT,
	    .flags = WIRE_TCP_ACK,
	};
}

enum {
	ALL_BYTES = RUN * MSS - LAST_BYTES,
};

static void taken_whole(void)
{
	struct tcp_in in;

	begin_run();
	flow->heard_ns = 0;
	in = run_in();
	in.flags |= WIRE_TCP_PSH;
	in.ack += 3 * MSS;
	tcp_run_rx(ut.nic, &in);
	CU_ASSERT_EQUAL(ut.nic->net.run_taken, RUN);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS + ALL_BYTES);
	CU_ASSERT_EQUAL(flow->rcv_up, flow->rcv_nxt);
	CU_ASSERT_EQUAL(flow->rcv_high, flow->rcv_nxt);
	CU_ASSERT_EQUAL(flow->snd_una, (uint32_t)FIRST + 3 * MSS);
	CU_ASSERT_EQUAL(flow->snd_wl1, (uint32_t)IRS + (RUN - 1) * MSS);
	CU_ASSERT_EQUAL(flow->heard_ns, ut.nic->now_ns);
	CU_ASSERT(flow->flags & TCP_F_ACK_NOW);
	CU_ASSERT(fw_list_linked(&flow->ack_node));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_segments, RUN);
	CU_ASSERT_FALSE(flow->busy);
	end_run();
}

/* The window's edge: at the last byte, and one byte before. */
static void window_edge(void)
{
	for (uint32_t less = 0; less < 2; less++) {
		struct tcp_in in;

		begin_run();
		flow->rcv_limit = (uint32_t)IRS + ALL_BYTES - less;
		in = run_in();
		tcp_run_rx(ut.nic, &in);
		CU_ASSERT_EQUAL(ut.nic->net.run_taken, less ? 0 : RUN);
		CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS + (less ? 0 : ALL_BYTES));
		end_run();
	}
}

/* The layer above does not take it: its ACK counts, nothing else. */
static void declined_above(void)
{
	struct tcp_in in;

	begin_run();
	takes = false;
	in = run_in();
	in.ack += MSS;
	tcp_run_rx(ut.nic, &in);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT_EQUAL(ut.nic->net.run_taken, 0);
	CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS);
	CU_ASSERT_EQUAL(flow->snd_una, (uint32_t)FIRST + MSS);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_segments, 0);
	CU_ASSERT_FALSE(flow->flags & TCP_F_ACK_NOW);
	end_run();
}

/* A segment of the run, or the connection, is not in the plain state. */
static void change(struct tcp_in *in, uint32_t i)
{
	static const uint8_t flags[] = {WIRE_TCP_ECE, WIRE_TCP_CWR, WIRE_TCP_URG,
					WIRE_TCP_FIN, WIRE_TCP_SYN, WIRE_TCP_RST};

	if (i < sizeof(flags)) {
		in->flags |= flags[i];
		return;
	}
	switch (i - sizeof(flags)) {
	case 0:
		in->flags = 0;
		break;
	case 1:
		in->seq++;
		break;
	case 2:
		in->seq--;
		break;
	case 3:
		in->ack = flow->snd_una - 1;
		break;
	case 4:
		in->ack = flow->snd_nxt + 1;
		break;
	case 5:
		info.ce = true;
		break;
	case 6:
		in->opt.num_sack = 1;
		break;
	case 7:
		flow->flags |= TCP_F_TS;
		break;
	case 8:
		flow->rcv_up += 1;
		break;
	case 9:
		tcp_early_note(flow, flow->rcv_nxt + 5, flow->rcv_nxt + 10);
		break;
	case 10:
		flow->fin_seen = true;
		break;
	case 11:
		flow->flags |= TCP_F_STALLED;
		break;
	case 12:
		flow->flags |= TCP_F_RECOVERY;
		break;
	case 13:
		flow->flags |= TCP_F_LOSS;
		break;
	case 14:
		tcp_seg_mark(flow, &seg[3], TCP_SEG_LOST, 0);
		break;
	case 15:
		flow->state = TCP_FIN_WAIT_1;
		break;
	default:
		in->dst_port++;
		break;
	}
}

static void declined(void)
{
	for (uint32_t i = 0; i < 6 + 17; i++) {
		uint32_t una, nxt;
		struct tcp_in in;

		begin_run();
		in = run_in();
		change(&in, i);
		una = flow->snd_una;
		nxt = flow->rcv_nxt;
		tcp_run_rx(ut.nic, &in);
		CU_ASSERT_EQUAL(calls, 0);
		CU_ASSERT_EQUAL(ut.nic->net.run_taken, 0);
		CU_ASSERT_EQUAL(flow->snd_una, una);
		CU_ASSERT_EQUAL(flow->rcv_nxt, nxt);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_segments, 0);
		flow->state = TCP_ESTABLISHED;
		end_run();
	}
}

/* Its ACK ends the connection: the first segment was all that came to it. */
static void ended_by_its_ack(void)
{
	static const struct tcp_ops closing = {
	    .acked = acked, .ended = ended, .receive_run = receive_run};
	struct tcp_in in;

	begin_run();
	ut.nic->tcp.ops[TCP_USER_MPA] = &closing;
	close_at_once = true;
	in = run_in();
	in.ack += MSS;
	tcp_run_rx(ut.nic, &in);
	CU_ASSERT(is_over());
	CU_ASSERT_EQUAL(calls, 0);
	CU_ASSERT_EQUAL(ut.nic->net.run_taken, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_segments, 1);
	end_run();
}

UT_MAIN("nic_fw/tcp/tcp_run", UT(one_frame), UT(limits), UT(single_ones), UT(taken_whole),
	UT(window_edge), UT(declined_above), UT(declined), UT(ended_by_its_ack))
