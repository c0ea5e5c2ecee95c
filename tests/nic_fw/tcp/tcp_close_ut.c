/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_rx.c, tcp_conn.c, tcp_tx.c: the end of a connection, from either side or both: its
 * states, their times, FINs and their ACKs.
 */
#include "tests/nic_fw/tcp/tcp_handshake_fix.h"

static uint32_t iss; /* the NIC's */

/* An established connection with timestamps; out is the last segment that the NIC sent. */
static void establish(void)
{
	struct seg s = syn_of(TCP_F_TS, 0);

	begin();
	arrives(&s);
	iss = out.seq;
	s = ack_of(TCP_F_TS);
	arrives(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	tcp_accept_done(ut.nic, flow);
	fw_ut_poll(&ut, 1000);
	out.count = 0;
}

/* A segment of the peer with so many bytes before it; acked: of the NIC's, its FIN is one. */
static struct seg from_peer(uint8_t flags, uint32_t sent, uint32_t acked)
{
	return (struct seg){.flags = (uint8_t)(flags | WIRE_TCP_ACK),
			    .seq = IRS + 1 + sent,
			    .ack = iss + 1 + acked,
			    .options = TCP_F_TS,
			    .ts_val = TS_VAL + 10,
			    .window = WINDOW};
}

static void peer(uint8_t flags, uint32_t sent, uint32_t acked)
{
	const struct seg s = from_peer(flags, sent, acked);

	arrives(&s);
}

/* The layer above has no more to send. */
static void close_here(void)
{
	tcp_close(ut.nic, flow);
	fw_ut_poll(&ut, 1000);
}

static void waits(enum tcp_state state, uint64_t ns)
{
	CU_ASSERT_EQUAL(flow->state, state);
	CU_ASSERT_EQUAL(flow->wait_ns, ut.nic->now_ns + ns);
	/* In TIME-WAIT the layer above has nothing of it any more. */
	CU_ASSERT_EQUAL(ended, state == TCP_TIME_WAIT);
	fw_ut_poll(&ut, ns - 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 1);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
	CU_ASSERT_TRUE_FATAL(fw_list_empty(&ut.nic->tcp.time_wait));
	CU_ASSERT_EQUAL(ended, 1);
	CU_ASSERT_EQUAL(end_why, state == TCP_TIME_WAIT ? TCP_END_CLOSED : TCP_END_TIMEOUT);
}

/* FIN, its ACK, the peer's FIN: TIME-WAIT for a minute. */
static void from_here(void)
{
	establish();
	close_here();
	CU_ASSERT_EQUAL(flow->state, TCP_FIN_WAIT_1);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_FIN | WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out.seq, iss + 1);
	peer(0, 0, 1);
	CU_ASSERT_EQUAL(flow->state, TCP_FIN_WAIT_2);
	CU_ASSERT_EQUAL(flow->wait_ns, ut.nic->now_ns + TCP_FIN_WAIT_2_NS);
	CU_ASSERT_EQUAL(closed, 0);
	CU_ASSERT_EQUAL(out.count, 1);
	peer(WIRE_TCP_FIN, 0, 1);
	CU_ASSERT_EQUAL(closed, 1);
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 2);
	CU_ASSERT_EQUAL(out.seq, iss + 2);
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_NONE);
	CU_ASSERT_PTR_EQUAL(ut.nic->tcp.time_wait.next, &flow->wait_node);
	/* The FIN again: its ACK was lost, and the wait begins anew. */
	fw_ut_poll(&ut, TCP_SECOND_NS);
	peer(WIRE_TCP_FIN, 0, 1);
	CU_ASSERT_EQUAL(out.count, 3);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 2);
	waits(TCP_TIME_WAIT, TCP_TIME_WAIT_NS);
	end();
}

/* The peer keeps its half open, and says nothing: the connection ends after a minute. */
static void half_closed(void)
{
	establish();
	close_here();
	peer(0, 0, 1);
	waits(TCP_FIN_WAIT_2, TCP_FIN_WAIT_2_NS);
	end();
	/* Its data are taken until then. */
	establish();
	close_here();
	peer(0, 0, 1);
	{
		struct seg s = from_peer(WIRE_TCP_FIN, 0, 1);

		s.data = "rest";
		arrives(&s);
	}
	CU_ASSERT_EQUAL(came_bytes, 4);
	CU_ASSERT_EQUAL(closed, 1);
	CU_ASSERT_EQUAL(flow->state, TCP_TIME_WAIT);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 6);
	end();
}

/* The peer closes first: CLOSE-WAIT, and with our FIN acknowledged the end. */
static void from_the_peer(void)
{
	establish();
	peer(WIRE_TCP_FIN, 0, 0);
	CU_ASSERT_EQUAL(flow->state, TCP_CLOSE_WAIT);
	CU_ASSERT_EQUAL(closed, 1);
	/* The layer above has taken all that came, the FIN included. */
	CU_ASSERT_EQUAL(flow->rcv_up, flow->rcv_nxt);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 2);
	close_here();
	CU_ASSERT_EQUAL(flow->state, TCP_LAST_ACK);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_FIN | WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(ended, 0);
	peer(0, 1, 1);
	CU_ASSERT_EQUAL(ended, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_CLOSED);
	CU_ASSERT_EQUAL(closed, 1);
	end();
}

/* Both at the same time: CLOSING, and with the ACK TIME-WAIT. */
static void both(void)
{
	establish();
	close_here();
	peer(WIRE_TCP_FIN, 0, 0);
	CU_ASSERT_EQUAL(flow->state, TCP_CLOSING);
	CU_ASSERT_EQUAL(closed, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 2);
	peer(0, 1, 1);
	waits(TCP_TIME_WAIT, TCP_TIME_WAIT_NS);
	end();
	/* The FIN has the ACK of ours. */
	establish();
	close_here();
	peer(WIRE_TCP_FIN, 0, 1);
	CU_ASSERT_EQUAL(flow->state, TCP_TIME_WAIT);
	CU_ASSERT_EQUAL(closed, 1);
	end();
}

/* A FIN before data that are missing counts when they have come. */
static void fin_out_of_order(void)
{
	struct seg s;

	establish();
	s = from_peer(WIRE_TCP_FIN, 3, 0);
	s.data = "def";
	arrives(&s);
	CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
	CU_ASSERT_EQUAL(closed, 0);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
	s = from_peer(0, 0, 0);
	s.data = "abc";
	arrives(&s);
	CU_ASSERT_EQUAL(came_bytes, 6);
	CU_ASSERT(memcmp(came, "abcdef", 6) == 0);
	CU_ASSERT_EQUAL(flow->state, TCP_CLOSE_WAIT);
	CU_ASSERT_EQUAL(closed, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 8);
	end();
}

/* A window of the peer that is closed holds data back, and no FIN. */
static void through_a_closed_window(void)
{
	struct seg s;

	establish();
	s = from_peer(0, 0, 0);
	s.window = 0;
	arrives(&s);
	CU_ASSERT_EQUAL(flow->snd_wnd, 0);
	close_here();
	CU_ASSERT_EQUAL(flow->state, TCP_FIN_WAIT_1);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.flags, WIRE_TCP_FIN | WIRE_TCP_ACK);
	end();
}

/* Segments beyond the window are no duplicates, nor are those before it without data. */
static void outside_the_window(void)
{
	struct seg s;

	establish();
	s = from_peer(0, TCP_RCV_WINDOW, 0);
	s.data = "abc";
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 0);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 1);
	s = from_peer(0, 0, 0);
	s.seq -= 2;
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 0);
	CU_ASSERT_EQUAL(came_bytes, 0);
	s.data = "a";
	arrives(&s);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_tcp_window, 3);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 1);
	CU_ASSERT_EQUAL(came_bytes, 0);
	end();
}

/* An ACK that went with data, or was not owed, is not sent once more. */
static void acks_are_sent_once(void)
{
	struct seg s;
	uint64_t acks;

	establish();
	acks = ut.nic->counters.tcp_tx_acks;
	s = from_peer(0, 0, 0);
	s.data = "abc";
	arrives(&s);
	fw_ut_poll(&ut, TCP_ACK_DELAY_NS);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_acks, acks + 1);
	CU_ASSERT_EQUAL(out.count, 1);
	CU_ASSERT_EQUAL(out.ack, (uint32_t)IRS + 4);
	CU_ASSERT_FALSE(flow->flags & TCP_F_ACK_NOW);
	/* The same bytes again: an ACK at once, and no more. */
	arrives(&s);
	CU_ASSERT_EQUAL(out.count, 2);
	fw_ut_poll(&ut, TCP_ACK_DELAY_NS);
	CU_ASSERT_EQUAL(out.count, 2);
	/* It is in the list, and not owed any more. */
	tcp_ack_soon(ut.nic, flow);
	flow->flags &= (uint16_t)~TCP_F_ACK_NOW;
	tcp_ack_flush(ut.nic);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(out.count, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tx_acks, acks + 2);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_close", UT(from_here), UT(half_closed), UT(from_the_peer), UT(both),
	UT(fin_out_of_order), UT(through_a_closed_window), UT(outside_the_window),
	UT(acks_are_sent_once))
