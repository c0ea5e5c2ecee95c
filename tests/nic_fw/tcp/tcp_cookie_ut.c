/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_listen.c: SYN cookies: what they carry, how long they count, and what else does
 * not.
 */
#include "tests/nic_fw/tcp/tcp_handshake_fix.h"

#define PERIOD_NS UINT64_C(64000000000) /* of a cookie, which counts in the next one, too */

/* The listener has no entry left for the next SYN. */
static void begin_full(void)
{
	begin();
	listener()->syns = TCP_MAX_SYNS / 2;
}

static void end_full(void)
{
	listener()->syns = 0;
	end();
}

/* The largest MSS of the table that is not above the peer's comes back. */
static void segment_lengths(void)
{
	static const uint16_t row[][2] = {{1, 64},      {64, 64},     {535, 64},    {536, 536},
					  {1219, 536},  {1220, 1220}, {1300, 1300}, {1439, 1300},
					  {1440, 1440}, {1460, 1460}, {4311, 1460}, {4312, 4312},
					  {8959, 4312}, {8960, 8960}, {65535, 8960}};
	struct seg s;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_full();
		s = syn_of(0, 0);
		s.mss = row[i][0];
		arrives(&s);
		CU_ASSERT_EQUAL(out.flags, WIRE_TCP_SYN | WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out.ack, IRS + 1);
		CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_tx, 1);
		s = ack_of(0);
		arrives(&s);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
		CU_ASSERT_EQUAL(flow->peer_mss, row[i][1]);
		CU_ASSERT_EQUAL(flow->irs, (uint32_t)IRS);
		CU_ASSERT_EQUAL(flow->iss, s.ack - 1);
		CU_ASSERT(flow->rcv_adv - flow->rcv_nxt >= UINT16_MAX);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		end_full();
	}
}

/* Options come back with the timestamp, each for itself; without one there are none. */
static void options(void)
{
	for (uint32_t set = 0; set < 32; set++) {
		uint16_t wanted = (uint16_t)(set & ALL_OPTIONS);
		bool ecn = set & 8;
		uint8_t shift = set & 16 ? 14 : 0;
		uint32_t clock;
		struct seg s = syn_of(wanted, ecn ? ECN_SETUP : 0);

		CU_ASSERT_EQUAL_FATAL(ALL_OPTIONS, 7);
		begin_full();
		ut.now_ns += set * 5 * TCP_TS_TICK_NS;
		s.wscale = shift;
		arrives(&s);
		clock =
		    tcp_ts_now(ut.nic->now_ns) + tcp_ts_offset(ut.nic, PEER_IP, PEER_PORT, PORT);
		if (!(wanted & TCP_F_TS)) {
			wanted = 0;
			ecn = false;
		} else {
			/* It is never ahead of the clock, nor far behind it. */
			CU_ASSERT(clock - out.opt.ts_val < 64);
			CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL);
		}
		CU_ASSERT_EQUAL(out.opt.has_ts, (wanted & TCP_F_TS) != 0);
		CU_ASSERT_EQUAL(out.opt.sack_ok, (wanted & TCP_F_SACK) != 0);
		CU_ASSERT_EQUAL(out.opt.has_wscale, (wanted & TCP_F_WSCALE) != 0);
		CU_ASSERT_EQUAL((out.flags & WIRE_TCP_ECE) != 0, ecn);
		s = ack_of(wanted & TCP_F_TS);
		arrives(&s);
		CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
		CU_ASSERT_EQUAL(flow->flags & (ALL_OPTIONS | TCP_F_ECN),
				wanted | (ecn ? TCP_F_ECN : 0));
		CU_ASSERT_EQUAL(flow->snd_wscale, wanted & TCP_F_WSCALE ? shift : 0);
		CU_ASSERT_EQUAL(flow->snd_wnd, (uint32_t)WINDOW << flow->snd_wscale);
		if (wanted & TCP_F_TS)
			CU_ASSERT_EQUAL(flow->ts_recent, TS_VAL + 3);
		end_full();
	}
}

/* A cookie counts in its period and the next one. */
static void periods(void)
{
	static const struct {
		uint64_t at_ns, later_ns; /* in a period; until the ACK */
		bool good;
	} row[] = {{0, 1, true},
		   {0, PERIOD_NS - 2, true},
		   {0, 2 * PERIOD_NS - 2, true},
		   {0, 2 * PERIOD_NS + 2, false},
		   {PERIOD_NS - 10, PERIOD_NS, true},
		   {PERIOD_NS - 10, PERIOD_NS + 20, false}};
	struct seg s;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_full();
		ut.now_ns = (ut.now_ns / PERIOD_NS + 1) * PERIOD_NS + row[i].at_ns;
		s = syn_of(0, 0);
		arrives(&s);
		s = ack_of(0);
		arrives_at(&s, PORT, row[i].later_ns);
		CU_ASSERT_EQUAL(flow != NULL, row[i].good);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, row[i].good);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, !row[i].good);
		end_full();
	}
}

/* A NIC that gave out no cookie takes none, however right its number is. */
static void none_was_given_out(void)
{
	struct seg s;

	begin_full();
	s = syn_of(0, 0);
	arrives(&s);
	CU_ASSERT_NOT_EQUAL(ut.nic->tcp.cookie_ns, 0);
	ut.nic->tcp.cookie_ns = 0;
	s = ack_of(0);
	arrives(&s);
	CU_ASSERT_PTR_NULL(flow);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 1);
	end_full();
}

/* Each part of the two ends and of the number is in the cookie. */
static void wrong_cookies(void)
{
	struct seg s, good;

	begin_full();
	/* Without a cookie before there is none to check. */
	good = (struct seg){.flags = WIRE_TCP_ACK, .seq = IRS + 1, .ack = 12345, .window = WINDOW};
	arrives(&good);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 1);
	s = syn_of(0, 0);
	arrives(&s);
	good = ack_of(0);
	for (uint32_t bit = 0; bit < 32; bit++) {
		s = good;
		s.ack ^= 1u << bit;
		arrives(&s);
		s = good;
		s.seq ^= 1u << bit;
		arrives(&s);
	}
	s = good;
	s.from = PEER_PORT + 1;
	arrives(&s);
	CU_ASSERT_PTR_NULL(flow);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 1 + 65);
	/* Other segments with its number. */
	s = good;
	s.flags = WIRE_TCP_ACK | WIRE_TCP_RST;
	arrives(&s);
	s.flags = WIRE_TCP_ACK | WIRE_TCP_SYN;
	arrives(&s);
	CU_ASSERT_PTR_NULL(flow);
	/* No room for a connection: the peer asks again. */
	listener()->pending = listener()->backlog;
	arrives(&good);
	CU_ASSERT_PTR_NULL(flow);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_backlog, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 1);
	listener()->pending = 0;
	arrives(&good);
	CU_ASSERT_PTR_NOT_NULL(flow);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_rx, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_passive_opens, 1);
	end_full();
}

/* A shift of more than 14 was never in a cookie; 15 says that there is none. */
static void wrong_shift(void)
{
	struct seg s;

	begin_full();
	s = syn_of(TCP_F_TS, 0);
	arrives(&s);
	s = ack_of(TCP_F_TS);
	CU_ASSERT_EQUAL(s.ts_ecr & 0x3f, 15);
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->flags & ALL_OPTIONS, TCP_F_TS);
	CU_ASSERT_EQUAL(flow->snd_wscale, 0);
	end_full();
}

/* A cookie's ACK counts beside an entry, which is gone then. */
static void beside_an_entry(void)
{
	struct seg s, ack;

	begin_full();
	s = syn_of(0, 0);
	arrives(&s);
	ack = ack_of(0);
	listener()->syns = 0;
	s.seq += 99;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	CU_ASSERT_EQUAL(listener()->syns, 1);
	arrives(&ack);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	CU_ASSERT_EQUAL(flow->irs, (uint32_t)IRS);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	CU_ASSERT_EQUAL(listener()->syns, 0);
	end();
}

/* One listener has half of the entries at most. */
static void half_of_the_entries(void)
{
	struct seg s = syn_of(0, 0);

	begin();
	listener()->syns = TCP_MAX_SYNS / 2 - 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_tx, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	s.from = PEER_PORT + 1;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_cookies_tx, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 1);
	listener()->syns = 1;
	end();
}

UT_MAIN("nic_fw/tcp/tcp_cookie", UT(segment_lengths), UT(options), UT(periods),
	UT(none_was_given_out), UT(wrong_cookies), UT(wrong_shift), UT(beside_an_entry),
	UT(half_of_the_entries))
