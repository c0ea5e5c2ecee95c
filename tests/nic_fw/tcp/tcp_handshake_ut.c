/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_listen.c: what a listener answers to which SYN, and what a connection has of its
 * handshake. Cookies are in tcp_cookie_ut.c, connections that this end begins in tcp_active_ut.c.
 */
#include "tests/nic_fw/tcp/tcp_handshake_fix.h"

/* The SYN-ACK has the options that the SYN offered, each for itself. */
static void options(void)
{
	for (uint16_t set = 0; set <= ALL_OPTIONS; set++) {
		struct seg s = syn_of(set, 0);

		begin();
		arrives(&s);
		CU_ASSERT_EQUAL(out.count, 1);
		CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN | WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out.ack, IRS + 1);
		CU_ASSERT_EQUAL(out.window, tcp_grant_first(ut.nic));
		CU_ASSERT_EQUAL(out.opt.mss, 1460);
		CU_ASSERT_EQUAL(out.opt.has_ts, (set & TCP_F_TS) != 0);
		CU_ASSERT_EQUAL(out.opt.sack_ok, (set & TCP_F_SACK) != 0);
		CU_ASSERT_EQUAL(out.opt.has_wscale, (set & TCP_F_WSCALE) != 0);
		if (set & TCP_F_WSCALE)
			CU_ASSERT_EQUAL(out.opt.wscale, TCP_RCV_WSCALE);
		if (set & TCP_F_TS) {
			CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL);
			CU_ASSERT_EQUAL(out.opt.ts_val,
					tcp_ts_now(ut.nic->now_ns) +
					    tcp_ts_offset(ut.nic, PEER_IP, PEER_PORT, PORT));
		}
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_syns_rx, 1);
		end();
	}
}

/* Both bits request ECN, on a SYN that was not marked itself, where congestion control is on. */
static void ecn(void)
{
	static const struct {
		uint8_t bits;
		bool ce, off, want;
	} row[] = {{ECN_SETUP, false, false, true},     {WIRE_TCP_ECE, false, false, false},
		   {WIRE_TCP_CWR, false, false, false}, {0, false, false, false},
		   {ECN_SETUP, true, false, false},     {ECN_SETUP, false, true, false}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct seg s = syn_of(ALL_OPTIONS, row[i].bits);

		begin();
		ut.nic->config.cc_off = row[i].off;
		s.ce = row[i].ce;
		arrives(&s);
		CU_ASSERT_EQUAL(out.flags & (WIRE_TCP_ECE | WIRE_TCP_CWR),
				row[i].want ? WIRE_TCP_ECE : 0);
		s = ack_of(TCP_F_TS);
		arrives(&s);
		CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
		CU_ASSERT_EQUAL((flow->flags & TCP_F_ECN) != 0, row[i].want);
		end();
	}
}

/* A connection begins with the numbers, windows and options of its handshake. */
static void connection(void)
{
	uint32_t iss, window;
	struct seg s = syn_of(ALL_OPTIONS, ECN_SETUP);

	begin();
	arrives(&s);
	iss = out.seq;
	window = out.window;
	s = ack_of(TCP_F_TS);
	s.data = "hello";
	arrives_at(&s, PORT, 3000000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
	CU_ASSERT_EQUAL(flow->peer_ip, PEER_IP);
	CU_ASSERT_EQUAL(flow->peer_port, PEER_PORT);
	CU_ASSERT_EQUAL(flow->local_port, PORT);
	CU_ASSERT_EQUAL(flow->iss, iss);
	CU_ASSERT_EQUAL(flow->snd_una, iss + 1);
	CU_ASSERT_EQUAL(flow->snd_nxt, iss + 1);
	CU_ASSERT_EQUAL(flow->irs, (uint32_t)IRS);
	CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS + 1 + 5);
	CU_ASSERT_EQUAL(flow->rcv_up, flow->rcv_nxt);
	CU_ASSERT(flow->rcv_adv - (uint32_t)(IRS + 1) >= window);
	CU_ASSERT_EQUAL(flow->snd_wscale, WSCALE);
	CU_ASSERT_EQUAL(flow->snd_wnd, (uint32_t)WINDOW << WSCALE);
	CU_ASSERT_EQUAL(flow->snd_wnd_max, (uint32_t)WINDOW << WSCALE);
	CU_ASSERT_EQUAL(flow->snd_wl1, (uint32_t)IRS + 1);
	CU_ASSERT_EQUAL(flow->peer_mss, MSS);
	CU_ASSERT_EQUAL(flow->mss, MSS - WIRE_TCP_TS_PADDED_BYTES);
	CU_ASSERT_EQUAL(flow->flags & (ALL_OPTIONS | TCP_F_ECN), ALL_OPTIONS | TCP_F_ECN);
	CU_ASSERT_EQUAL(flow->ts_recent, TS_VAL + 3);
	CU_ASSERT_EQUAL(flow->ts_recent_ns, ut.nic->now_ns);
	CU_ASSERT(memcmp(flow->mac, peer_mac, 6) == 0);
	CU_ASSERT_EQUAL(flow->rtt.srtt_ns, 3000000);
	CU_ASSERT_EQUAL(came_bytes, 5);
	CU_ASSERT(memcmp(came, "hello", 5) == 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_passive_opens, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	CU_ASSERT_EQUAL(listener()->syns, 0);
	CU_ASSERT_EQUAL(listener()->pending, 1);
	CU_ASSERT_PTR_EQUAL(flow->listener, listener());
	tcp_accept_done(ut.nic, flow);
	CU_ASSERT_EQUAL(listener()->pending, 0);
	CU_ASSERT_PTR_NULL(flow->listener);
	tcp_accept_done(ut.nic, flow);
	CU_ASSERT_EQUAL(listener()->pending, 0);
	end();
}

/* A SYN without options: the least that both ends have. */
static void connection_without_options(void)
{
	struct seg s = syn_of(0, 0);

	begin();
	s.mss = 0;
	arrives(&s);
	s = ack_of(0);
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->flags & (ALL_OPTIONS | TCP_F_ECN), 0);
	CU_ASSERT_EQUAL(flow->snd_wscale, 0);
	CU_ASSERT_EQUAL(flow->snd_wnd, WINDOW);
	CU_ASSERT_EQUAL(flow->peer_mss, WIRE_TCP_DEFAULT_MSS);
	CU_ASSERT_EQUAL(flow->mss, WIRE_TCP_DEFAULT_MSS);
	end();
}

/* The SYN-ACK is repeated after 1, 2, 4 and 8 s, without ECN, and then given up. */
static void repetitions(void)
{
	uint32_t iss, i;
	struct seg s = syn_of(ALL_OPTIONS, ECN_SETUP);

	begin();
	arrives(&s);
	iss = out.seq;
	for (i = 0; i + 1 < TCP_SYNACK_TRIES; i++) {
		fw_ut_poll(&ut, (TCP_SECOND_NS << i) - 1);
		CU_ASSERT_EQUAL(out.count, 1 + i);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL(out.count, 2 + i);
		CU_ASSERT_EQUAL(out.seq, iss);
		CU_ASSERT_EQUAL(out.ack, IRS + 1);
		CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN | WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out.opt.ts_val,
				tcp_ts_now(ut.nic->now_ns) +
				    tcp_ts_offset(ut.nic, PEER_IP, PEER_PORT, PORT));
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_retransmits, 1 + i);
	}
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	fw_ut_poll(&ut, TCP_SECOND_NS << i);
	CU_ASSERT_EQUAL(out.count, 1 + i);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_half_open_lost, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	CU_ASSERT_EQUAL(listener()->syns, 0);
	end();
	/* A connection whose SYN-ACK was repeated has no round trip, a slow timer and no ECN. */
	begin();
	arrives(&s);
	fw_ut_poll(&ut, TCP_SECOND_NS);
	CU_ASSERT_EQUAL(out.count, 2);
	s = ack_of(TCP_F_TS);
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->rtt.srtt_ns, 0);
	CU_ASSERT_EQUAL(flow->rto_ns, TCP_SLOW_RTO_NS);
	CU_ASSERT_EQUAL(flow->flags & (ALL_OPTIONS | TCP_F_ECN), ALL_OPTIONS);
	end();
}

/* The peer's SYN again is answered again; another one gets a cookie, and the entry stays. */
static void syns_beside_an_entry(void)
{
	struct seg s = syn_of(ALL_OPTIONS, ECN_SETUP);
	uint32_t iss;

	begin();
	arrives(&s);
	iss = out.seq;
	s.ts_val++;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(out.seq, iss);
	CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL + 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN | WIRE_TCP_ACK | WIRE_TCP_ECE);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_tx, 0);
	/* An older one is a copy of a SYN before. */
	s.ts_val -= 2;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_paws, 1);
	s.seq += 77;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_NOT_EQUAL(out.seq, iss);
	CU_ASSERT_EQUAL(out.ack, s.seq + 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_tx, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	/* The entry's ACK opens its connection. */
	s = ack_of(TCP_F_TS);
	s.ack = iss + 1;
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->iss, iss);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 0);
	end();
}

/* Segments for a half-open connection that do not complete it. */
static void segments_of_strangers(void)
{
	struct seg s = syn_of(ALL_OPTIONS, 0), good;
	uint32_t iss;

	begin();
	arrives(&s);
	iss = out.seq;
	good = ack_of(TCP_F_TS);
	s = good;
	s.ack = iss + 2;
	arrives(&s);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_RST);
	CU_ASSERT_EQUAL(out.seq, iss + 2);
	s.ack = iss;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 2);
	s = good;
	s.seq = (uint32_t)IRS;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 1);
	s.seq = (uint32_t)IRS + 1 + UINT16_MAX + 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 2);
	s = good;
	s.ts_val = TS_VAL - 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_paws, 1);
	s = good;
	s.flags = WIRE_TCP_ACK | WIRE_TCP_SYN;
	arrives(&s);
	s.flags = WIRE_TCP_FIN;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_malformed, 2);
	s = good;
	s.flags = WIRE_TCP_RST;
	s.seq += 10;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	CU_ASSERT_PTR_NULL(flow);
	CU_ASSERT_EQUAL(out.count, 3);
	/* The number that is expected, with a timestamp that is older: a reset needs none. */
	s.seq -= 10;
	s.ts_val = TS_VAL - 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 2);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	/* Now nobody has it. */
	arrives(&good);
	CU_ASSERT_EQUAL(out.count, 4);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_RST);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_no_flow, 1);
	end();
}

/* The edge of the window, and an ACK with the timestamp of the SYN itself, complete it. */
static void edges_that_complete_it(void)
{
	struct seg s = syn_of(ALL_OPTIONS, 0);

	begin();
	arrives(&s);
	s = ack_of(TCP_F_TS);
	s.seq = (uint32_t)IRS + 1 + UINT16_MAX;
	s.ts_val = TS_VAL;
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->rcv_nxt, (uint32_t)IRS + 1);
	CU_ASSERT_EQUAL(flow->ts_recent, TS_VAL);
	end();
}

/* Segments to a listener's port that are of no connection. */
static void segments_of_no_connection(void)
{
	struct seg s = syn_of(0, 0);

	begin();
	s.flags = WIRE_TCP_FIN;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_malformed, 1);
	CU_ASSERT_EQUAL(out.count, 0);
	s.flags = WIRE_TCP_RST;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_no_flow, 1);
	s.flags = WIRE_TCP_SYN | WIRE_TCP_ACK;
	s.ack = 1234;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_RST);
	CU_ASSERT_EQUAL(out.seq, 1234);
	CU_ASSERT_EQUAL(out.window, 0);
	/* A port without a listener: the reset acknowledges what it has, with data, SYN and FIN. */
	s = syn_of(0, 0);
	s.flags |= WIRE_TCP_FIN;
	s.data = "abc";
	arrives_at(&s, PORT + 1, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_RST | WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out.seq, 0);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 5);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	end();
}

/* Beyond the backlog neither SYNs nor ACKs count, until the layer above has taken one. */
static void backlog(void)
{
	struct seg s = syn_of(0, 0), ack;
	struct tcp_flow *first;

	begin();
	arrives(&s);
	ack = ack_of(0);
	listener()->pending = 2;
	arrives(&ack);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_backlog, 1);
	CU_ASSERT_PTR_NULL(flow);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	s.from = PEER_PORT + 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_backlog, 2);
	CU_ASSERT_EQUAL(out.count, 1);
	listener()->pending = 1;
	arrives(&ack);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	first = flow;
	CU_ASSERT_EQUAL(listener()->pending, 2);
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_backlog, 3);
	tcp_accept_done(ut.nic, first);
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_backlog, 3);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	listener()->pending = 0;
	end();
}

/* The layer above does not want it: the peer gets a reset. */
static void refused(void)
{
	struct seg s = syn_of(0, 0);

	begin();
	refuses = true;
	arrives(&s);
	s = ack_of(0);
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
	CU_ASSERT_EQUAL(listener()->pending, 0);
	CU_ASSERT_TRUE(out.flags & WIRE_TCP_RST);
	flow = NULL;
	end();
}

/* One listener of a port, so many of a NIC; a new one has a number of its own. */
static void listeners(void)
{
	uint32_t serial, i, made = 0;

	begin();
	serial = listener()->serial;
	CU_ASSERT_EQUAL(listener()->backlog, 2);
	CU_ASSERT_EQUAL(tcp_listen(ut.nic, PORT, 8, TCP_USER_MPA, NULL), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(tcp_listen(ut.nic, PORT + 1, 0, TCP_USER_MPA, NULL), 0);
	CU_ASSERT_EQUAL(tcp_find_listener(ut.nic, PORT + 1)->backlog, 1);
	CU_ASSERT_EQUAL(tcp_find_listener(ut.nic, PORT + 1)->serial, serial + 1);
	tcp_unlisten(ut.nic, PORT + 1);
	CU_ASSERT_PTR_NULL(tcp_find_listener(ut.nic, PORT + 1));
	tcp_unlisten(ut.nic, PORT + 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.num_listeners, 1);
	for (i = 1; i <= TCP_MAX_LISTENERS; i++)
		made += tcp_listen(ut.nic, (uint16_t)(PORT + i), 1, TCP_USER_MPA, NULL) == 0;
	CU_ASSERT_EQUAL(made, TCP_MAX_LISTENERS - 1);
	CU_ASSERT_EQUAL(tcp_listen(ut.nic, PORT - 1, 1, TCP_USER_MPA, NULL), FW_ENOSPC);
	for (i = 1; i <= TCP_MAX_LISTENERS; i++)
		tcp_unlisten(ut.nic, (uint16_t)(PORT + i));
	CU_ASSERT_EQUAL(ut.nic->tcp.num_listeners, 1);
	CU_ASSERT_EQUAL(listener()->serial, serial);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_handshake", UT(options), UT(ecn), UT(connection),
	UT(connection_without_options), UT(repetitions), UT(syns_beside_an_entry),
	UT(segments_of_strangers), UT(edges_that_complete_it), UT(segments_of_no_connection),
	UT(backlog), UT(refused), UT(listeners))
