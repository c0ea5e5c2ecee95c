/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_rx.c: segments of an established connection: when they are acknowledged, what a
 * reset and a SYN in each place of the window do, marks of congestion, timestamps that go back.
 */
#include "tests/nic_fw/tcp/tcp_handshake_fix.h"

static uint32_t iss; /* the NIC's */

static void establish(uint16_t options, uint8_t ecn)
{
	struct seg s = syn_of(options, ecn);

	begin();
	s.mss = MSS;
	arrives(&s);
	iss = out.seq;
	s = ack_of(options & TCP_F_TS);
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	tcp_accept_done(ut.nic, flow);
	fw_ut_poll(&ut, 1000);
	out.count = 0;
}

/* A segment that begins so many bytes into the peer's stream. */
static struct seg from_peer(uint8_t flags, uint32_t at, const char *data)
{
	return (struct seg){.flags = (uint8_t)(flags | WIRE_TCP_ACK),
			    .seq = IRS + 1 + at,
			    .ack = iss + 1,
			    .options = flow->flags & TCP_F_TS,
			    .ts_val = TS_VAL + 10,
			    .window = WINDOW,
			    .data = data};
}

static void peer(uint8_t flags, uint32_t at, const char *data)
{
	const struct seg s = from_peer(flags, at, data);

	arrives(&s);
}

/* With PSH at once, since the peer waits; without it after a delay. */
static void the_peer_waits(void)
{
	establish(0, 0);
	peer(0, 0, "abc");
	CU_ASSERT_EQUAL(out.count, 0);
	CU_ASSERT_FALSE(flow->flags & TCP_F_ACK_NOW);
	CU_ASSERT_EQUAL(flow->ack_ns, ut.nic->now_ns + TCP_ACK_DELAY_NS);
	fw_ut_poll(&ut, TCP_ACK_DELAY_NS - 1);
	CU_ASSERT_EQUAL(out.count, 0);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 4);
	peer(WIRE_TCP_PSH, 3, "def");
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 7);
	CU_ASSERT_EQUAL(flow->ack_ns, 0);
	/* Where responses carry ACKs, that for PSH waits briefly for one. */
	flow->flags |= TCP_F_RIDE;
	peer(WIRE_TCP_PSH, 6, "ghi");
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(flow->ack_ns, ut.nic->now_ns + TCP_ACK_RIDE_NS);
	/* A later one does not put it off. */
	fw_ut_poll(&ut, TCP_ACK_RIDE_NS / 2);
	peer(WIRE_TCP_PSH, 9, "jkl");
	CU_ASSERT_EQUAL(out.count, 2);
	fw_ut_poll(&ut, TCP_ACK_RIDE_NS / 2);
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 13);
	end();
}

/* Two full segments, or nearly, are acknowledged at once. */
static void two_segments(void)
{
	uint32_t mss;

	establish(0, 0);
	mss = flow->mss;
	CU_ASSERT_EQUAL(mss, MSS);
	flow->rcv_nxt += 2 * mss - mss / 8 - 3;
	flow->rcv_up = flow->rcv_nxt;
	flow->rcv_adv = flow->rcv_nxt + 10000;
	peer(0, 2 * mss - mss / 8 - 3, "ab");
	CU_ASSERT_EQUAL(out.count, 0);
	peer(0, 2 * mss - mss / 8 - 1, "c");
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1 + 2 * mss - mss / 8);
	end();
}

/* Segments out of order, and repeated ones, are answered at once, with what they show. */
static void out_of_order(void)
{
	establish(TCP_F_SACK, 0);
	peer(0, 3, "def");
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
	CU_ASSERT_EQUAL(out.opt.num_sack, 1);
	CU_ASSERT_EQUAL(out.opt.sack[0].from, (uint32_t)IRS + 4);
	CU_ASSERT_EQUAL(out.opt.sack[0].to, (uint32_t)IRS + 7);
	peer(0, 0, "abc");
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 7);
	CU_ASSERT_EQUAL(out.opt.num_sack, 0);
	CU_ASSERT_EQUAL(came_bytes, 6);
	CU_ASSERT_EQUAL(memcmp(came, "abcdef", 6), 0);
	peer(0, 1, "bc");
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(out.opt.num_sack, 1);
	CU_ASSERT_EQUAL(out.opt.sack[0].from, (uint32_t)IRS + 2);
	CU_ASSERT_EQUAL(out.opt.sack[0].to, (uint32_t)IRS + 4);
	CU_ASSERT_EQUAL(came_bytes, 6);
	/* A part of it is new. */
	peer(0, 4, "efgh");
	CU_ASSERT_EQUAL(came_bytes, 8);
	CU_ASSERT_EQUAL(memcmp(came, "abcdefgh", 8), 0);
	CU_ASSERT_EQUAL(out.opt.sack[0].from, (uint32_t)IRS + 5);
	CU_ASSERT_EQUAL(out.opt.sack[0].to, (uint32_t)IRS + 7);
	end();
}

/* A reset counts at the next expected byte alone; in the window it is challenged. RFC 5961 3.2 */
static void resets(void)
{
	struct seg s;

	establish(0, 0);
	peer(WIRE_TCP_RST, 1, NULL);
	CU_ASSERT_EQUAL(ended, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_challenge_acks, 1);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
	peer(WIRE_TCP_RST, 1 << 30, NULL);
	CU_ASSERT_EQUAL(ended, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 0);
	s = from_peer(WIRE_TCP_RST, 0, NULL);
	s.flags = WIRE_TCP_RST;
	arrives(&s);
	CU_ASSERT_EQUAL(ended, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_RESET);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_resets, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_resets, 0);
	end();
}

/* A SYN on an established connection is challenged wherever it is. RFC 5961 4.2 */
static void syns(void)
{
	static const uint32_t at[] = {0, 5, 1 << 30, UINT32_MAX};
	uint32_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		establish(0, 0);
		peer(WIRE_TCP_SYN, at[i], NULL);
		CU_ASSERT_EQUAL(ended, 0);
		CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
		CU_ASSERT_EQUAL(out.count, 1);
		CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
		CU_ASSERT_EQUAL(came_bytes, 0);
		end();
	}
}

/* A segment without ACK is nothing to an established connection. */
static void without_an_ack(void)
{
	struct seg s;

	establish(0, 0);
	s = from_peer(0, 0, "abc");
	s.flags = 0;
	arrives(&s);
	fw_ut_poll(&ut, TCP_ACK_DELAY_NS);
	CU_ASSERT_EQUAL(came_bytes, 0);
	CU_ASSERT_EQUAL(out.count, 0);
	end();
}

/* Marked data are answered with ECE at once, until the peer has reduced. RFC 3168 6.1.3 */
static void congestion_is_reported(void)
{
	struct seg s;

	establish(0, ECN_SETUP);
	CU_ASSERT_TRUE(flow->flags & TCP_F_ECN);
	s = from_peer(0, 0, "abc");
	s.ce = true;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK | WIRE_TCP_ECE);
	peer(WIRE_TCP_PSH, 3, "def");
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK | WIRE_TCP_ECE);
	peer(WIRE_TCP_PSH | WIRE_TCP_CWR, 6, "ghi");
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
	/* A segment without data says nothing of the path of data. */
	s = from_peer(0, 9, NULL);
	s.ce = true;
	arrives(&s);
	CU_ASSERT_FALSE(flow->flags & TCP_F_ECE);
	end();
	/* Without ECN a mark means nothing. */
	establish(0, 0);
	s = from_peer(WIRE_TCP_PSH, 0, "abc");
	s.ce = true;
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
	end();
}

/* A timestamp before the last is of an old segment; one that is right is echoed. RFC 7323 5.3 */
static void timestamps(void)
{
	struct seg s;

	establish(TCP_F_TS, 0);
	peer(WIRE_TCP_PSH, 0, "abc");
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL + 10);
	s = from_peer(WIRE_TCP_PSH, 3, "def");
	s.ts_val = TS_VAL + 9;
	arrives(&s);
	CU_ASSERT_EQUAL(came_bytes, 3);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 4);
	s.ts_val = TS_VAL + 10;
	arrives(&s);
	CU_ASSERT_EQUAL(came_bytes, 6);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 7);
	/* That of a segment beyond a gap is not the one to echo: it was not expected. */
	s = from_peer(0, 9, "jkl");
	s.ts_val = TS_VAL + 20;
	arrives(&s);
	CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL + 10);
	s = from_peer(0, 6, "ghi");
	s.ts_val = TS_VAL + 15;
	arrives(&s);
	CU_ASSERT_EQUAL(came_bytes, 12);
	CU_ASSERT_EQUAL(out.opt.ts_ecr, TS_VAL + 15);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_rx", UT(the_peer_waits), UT(two_segments), UT(out_of_order), UT(resets),
	UT(syns), UT(without_an_ack), UT(congestion_is_reported), UT(timestamps))
