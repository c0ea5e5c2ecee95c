/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_conn.c, tcp_rx.c, tcp_txhdr.c: connections that this end begins: the SYN, what
 * each answer to it makes of the connection, and a peer that begins at the same time.
 */
#include "tests/nic_fw/tcp/tcp_handshake_fix.h"

enum {
	LOCAL = 5000,
};

static void answer_arp(void)
{
	struct frame f;

	frame_eth(&f, ut.nic->config.mac, peer_mac, WIRE_ETHERTYPE_ARP);
	frame_arp(&f, WIRE_ARP_REPLY, peer_mac, PEER_IP, ut.nic->config.ip);
	bench_port_put(&ut.port, f.b, f.n, 0);
	fw_ut_poll(&ut, 1);
}

/* A connection whose SYN was sent. */
static void ask(bool cc_off)
{
	begin();
	ut.nic->config.cc_off = cc_off;
	flow = tcp_connect(ut.nic, PEER_IP, PEER_PORT, LOCAL, TCP_USER_MPA, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(out.count, 0);
	answer_arp();
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL_FATAL(out.count, 1);
}

static struct seg synack_of(uint16_t options, uint8_t ecn)
{
	struct seg s = syn_of(options, ecn);

	s.flags |= WIRE_TCP_ACK;
	s.ack = out.seq + 1;
	s.ts_ecr = out.opt.ts_val;
	return s;
}

static void to_flow(const struct seg *s)
{
	arrives_at(s, LOCAL, 1000000);
}

static void syn(void)
{
	ask(false);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN | ECN_SETUP);
	CU_ASSERT_EQUAL(out.seq, flow->iss);
	CU_ASSERT_EQUAL(out.ack, 0);
	CU_ASSERT_EQUAL(out.opt.mss, 1460);
	CU_ASSERT_TRUE(out.opt.has_ts && out.opt.sack_ok && out.opt.has_wscale);
	CU_ASSERT_EQUAL(out.opt.wscale, TCP_RCV_WSCALE);
	CU_ASSERT_EQUAL(out.opt.ts_ecr, 0);
	CU_ASSERT_EQUAL(out.opt.ts_val, tcp_ts_now(ut.nic->now_ns) + flow->ts_offset);
	CU_ASSERT_EQUAL(flow->state, TCP_SYN_SENT);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_active_opens, 1);
	/* The pair of ends is taken, also by a listener's connection. */
	CU_ASSERT_PTR_NULL(tcp_connect(ut.nic, PEER_IP, PEER_PORT, LOCAL, TCP_USER_MPA, NULL));
	CU_ASSERT_PTR_NULL(
	    tcp_connect(ut.nic, ut.nic->config.ip, LOCAL, LOCAL, TCP_USER_MPA, NULL));
	end();
	ask(true);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN);
	end();
}

/* The options that both ends have, each for itself; the window of a SYN-ACK is not scaled. */
static void answers(void)
{
	for (uint16_t set = 0; set <= ALL_OPTIONS; set++) {
		struct seg s;

		ask(false);
		s = synack_of(set, 0);
		s.mss = set & 1 ? MSS : 0;
		if (!s.mss)
			s.options = 0;
		to_flow(&s);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		CU_ASSERT_EQUAL(opened, 1);
		CU_ASSERT_EQUAL(flow->flags & ALL_OPTIONS, s.options);
		CU_ASSERT_EQUAL(flow->snd_wscale, s.options & TCP_F_WSCALE ? WSCALE : 0);
		CU_ASSERT_EQUAL(flow->snd_wnd, WINDOW);
		CU_ASSERT_EQUAL(flow->snd_wnd_max, WINDOW);
		CU_ASSERT_EQUAL(flow->snd_wl1, (uint32_t)IRS);
		CU_ASSERT_EQUAL(flow->peer_mss, s.mss ? MSS : WIRE_TCP_DEFAULT_MSS);
		CU_ASSERT_EQUAL(flow->irs, (uint32_t)IRS);
		CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS + 1);
		CU_ASSERT_EQUAL(flow->rcv_up, flow->rcv_nxt);
		CU_ASSERT_EQUAL(flow->snd_una, flow->iss + 1);
		if (s.options & TCP_F_TS) {
			CU_ASSERT_EQUAL(flow->ts_recent, TS_VAL);
			CU_ASSERT_EQUAL(flow->ts_recent_ns, ut.nic->now_ns);
		}
		/* The ACK that ends the handshake. */
		CU_ASSERT_EQUAL(out.count, 2);
		CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out.seq, flow->iss + 1);
		CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
		CU_ASSERT_EQUAL(out.opt.has_ts, (s.options & TCP_F_TS) != 0);
		CU_ASSERT_FALSE(out.opt.sack_ok || out.opt.has_wscale || out.opt.mss);
		if (s.options & TCP_F_TS)
			CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL);
		end();
	}
}

/* The peer may begin with any number: its window reaches as far beyond it as it was announced. */
static void numbers_of_any_peer(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct seg s;

		ask(false);
		s = synack_of(ALL_OPTIONS, 0);
		s.seq = (i << 29) - 2;
		to_flow(&s);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		CU_ASSERT_EQUAL(out.ack, s.seq + 1);
		CU_ASSERT_EQUAL(flow->rcv_adv, out.ack + ((uint32_t)out.window << TCP_RCV_WSCALE));
		CU_ASSERT_EQUAL(flow->last_ack, out.ack);
		s = (struct seg){.flags = WIRE_TCP_ACK,
				 .seq = out.ack,
				 .ack = out.seq,
				 .options = TCP_F_TS,
				 .ts_val = TS_VAL + 1,
				 .window = WINDOW,
				 .data = "abc"};
		to_flow(&s);
		CU_ASSERT_EQUAL(came_bytes, 3);
		end();
	}
}

/* ECE alone agrees to ECN: RFC 3168 6.1.1. */
static void ecn(void)
{
	static const struct {
		uint8_t bits;
		bool off, want;
	} row[] = {{WIRE_TCP_ECE, false, true},
		   {ECN_SETUP, false, false},
		   {WIRE_TCP_CWR, false, false},
		   {0, false, false},
		   {WIRE_TCP_ECE, true, false}};
	struct seg s;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		ask(row[i].off);
		s = synack_of(ALL_OPTIONS, row[i].bits);
		to_flow(&s);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		CU_ASSERT_EQUAL((flow->flags & TCP_F_ECN) != 0, row[i].want);
		CU_ASSERT_FALSE(out.flags & WIRE_TCP_ECE);
		end();
	}
}

/* Segments that answer no SYN of ours. */
static void wrong_answers(void)
{
	struct seg s, good;
	uint32_t iss;

	ask(false);
	iss = out.seq;
	good = synack_of(ALL_OPTIONS, 0);
	s = good;
	s.ack = iss;
	to_flow(&s);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_RST);
	CU_ASSERT_EQUAL(out.seq, iss);
	s.ack = iss + 2;
	to_flow(&s);
	CU_ASSERT_EQUAL(out.seq, iss + 2);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 2);
	/* It echoes a timestamp that comes later. */
	s = good;
	s.ts_ecr = tcp_ts_now(ut.nic->now_ns) + flow->ts_offset + 1000;
	to_flow(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 1);
	/* Resets without our number, and segments that are neither. */
	s = good;
	s.flags = WIRE_TCP_RST;
	s.mss = 0;
	s.options = 0;
	to_flow(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 0);
	s.flags = WIRE_TCP_ACK;
	to_flow(&s);
	CU_ASSERT_EQUAL(flow->state, TCP_SYN_SENT);
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(opened + ended, 0);
	s.flags = WIRE_TCP_RST | WIRE_TCP_ACK;
	to_flow(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 1);
	CU_ASSERT_EQUAL(ended, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_REFUSED);
	end();
	/* An echo of this moment, or of none, is right. */
	ask(false);
	s = synack_of(ALL_OPTIONS, 0);
	s.ts_ecr = tcp_ts_now(ut.now_ns + 1000000) + flow->ts_offset;
	to_flow(&s);
	CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
	end();
	ask(false);
	s = synack_of(ALL_OPTIONS, 0);
	s.ts_ecr = 0;
	to_flow(&s);
	CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
	end();
}

/* Both ends begin at the same time: the SYN is answered with a SYN-ACK. */
static void simultaneous(void)
{
	static const struct {
		uint8_t bits;
		bool want;
	} row[] = {{ECN_SETUP, true}, {WIRE_TCP_ECE, false}, {WIRE_TCP_CWR, false}, {0, false}};
	struct seg s;
	uint32_t iss;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		ask(false);
		iss = out.seq;
		s = syn_of(ALL_OPTIONS, row[i].bits);
		to_flow(&s);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL(flow->state, TCP_SYN_RCVD);
		CU_ASSERT_EQUAL((flow->flags & TCP_F_ECN) != 0, row[i].want);
		CU_ASSERT_EQUAL_FATAL(out.count, 2);
		CU_ASSERT_EQUAL(out.flags & ~WIRE_TCP_ECE, WIRE_TCP_SYN | WIRE_TCP_ACK);
		CU_ASSERT_EQUAL((out.flags & WIRE_TCP_ECE) != 0, row[i].want);
		CU_ASSERT_EQUAL(out.seq, iss);
		CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
		CU_ASSERT_TRUE(out.opt.has_ts && out.opt.sack_ok && out.opt.has_wscale);
		CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL);
		CU_ASSERT_EQUAL(opened, 0);
		s = ack_of(TCP_F_TS);
		to_flow(&s);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		CU_ASSERT_EQUAL(opened, 1);
		CU_ASSERT_EQUAL(flow->snd_wnd, (uint32_t)WINDOW << WSCALE);
		end();
	}
}

UT_MAIN("nic_fw/tcp/tcp_active", UT(syn), UT(answers), UT(numbers_of_any_peer), UT(ecn),
	UT(wrong_answers), UT(simultaneous))
