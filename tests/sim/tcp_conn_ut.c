/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections in simulated time: opening and closing in every order, abnormal ends, windows
 * that close, tables that fill, numbers that wrap.
 */
#include "tests/sim/tcp_fix.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
	LOCAL = 1000,
	OTHERS = 20,
};

/* Simultaneous open: both send a SYN before either arrives, and one connection results. */
static void simultaneous_open(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 1, NULL, NULL);
	/* Both know the other's MAC, so that the SYNs leave at the same time. */
	tcp_world_listen(&w, 0, TCP_FIX_PORT, 1);
	tcp_world_connect(&w, 1, 0, 9, 0, true);
	sim_run_for(w.sim, FIX_MS);
	a = tcp_world_connect_to(&w, 0, 1, 2000, LOCAL);
	b = tcp_world_connect_to(&w, 1, 0, LOCAL, 2000);
	FIX_REQUIRE(&w, a && b);
	tcp_side_send(a, 100 * KIB, true);
	tcp_side_send(b, 50 * KIB, true);
	FIX_CHECK(&w, tcp_side_received(b, 100 * KIB, SECOND));
	FIX_CHECK(&w, tcp_side_received(a, 50 * KIB, SECOND));
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->opened == 1 && b->opened == 1);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED);
	FIX_CHECK(&w, b->ended == 1 && b->why == TCP_END_CLOSED);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_resets") == 0);
	tcp_world_close(&w);
}

/* Both close at once: CLOSING on both sides, TIME-WAIT on both. */
static void simultaneous_close(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 0, false);
	sim_run_for(w.sim, FIX_MS);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b && a->opened);
	tcp_side_close(a);
	tcp_side_close(b);
	sim_run_for(w.sim, FIX_MS);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED);
	FIX_CHECK(&w, b->ended == 1 && b->why == TCP_END_CLOSED);
	FIX_CHECK(&w, !fw_list_empty(&tcp_fw(&w, 0)->tcp.time_wait));
	FIX_CHECK(&w, !fw_list_empty(&tcp_fw(&w, 1)->tcp.time_wait));
	sim_run_for(w.sim, TCP_TIME_WAIT_NS / 2);
	FIX_CHECK(&w, tcp_fw(&w, 0)->tcp.flows.used == 1);
	sim_run_for(w.sim, TCP_TIME_WAIT_NS / 2 + SECOND);
	FIX_CHECK(&w, tcp_fw(&w, 0)->tcp.flows.used == 0);
	tcp_world_close(&w);
}

/* One end has closed; the other goes on sending. */
static void half_closed(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 1, NULL, "loss=1");
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10 * KIB, true);
	sim_run_for(w.sim, 20 * SECOND);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b && b->received == 10 * KIB && b->peer_closed == 1);
	FIX_CHECK(&w, !a->ended && !b->ended);
	tcp_side_send(b, MIB, true);
	FIX_CHECK(&w, tcp_world_ended(&w, 60 * SECOND));
	FIX_CHECK(&w, a->received == MIB && a->peer_closed == 1);
	tcp_world_close(&w);
}

/* A peer that does not close leaves us in FIN-WAIT-2 for a bounded time. */
static void never_closes(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 1, true);
	sim_run_for(w.sim, TCP_FIN_WAIT_2_NS + SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_TIMEOUT);
	tcp_world_close(&w);
}

static void resets(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;
	uint32_t who;

	for (who = 0; who < 2; who++) {
		tcp_world_open(&w, 1, NULL, NULL);
		tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
		w.accept.want_tx = MIB;
		a = tcp_world_connect(&w, 0, 1, LOCAL, MIB, false);
		FIX_CHECK(&w, tcp_side_received(a, 100 * KIB, SECOND));
		b = tcp_world_accepted(&w, 0);
		FIX_REQUIRE(&w, b != NULL);
		tcp_side_abort(who ? b : a);
		sim_run_for(w.sim, SECOND);
		FIX_CHECK(&w, (who ? a : b)->ended == 1 && (who ? a : b)->why == TCP_END_RESET);
		FIX_CHECK(&w, !(who ? b : a)->ended);
		tcp_world_close(&w);
	}
}

/* The layer above resets in the middle of receive(). */
static void abort_within_receive(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, "loss=1,reorder");
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	w.accept.abort_at = 200 * KIB;
	a = tcp_world_connect(&w, 0, 1, LOCAL, MIB, true);
	FIX_CHECK(&w, tcp_world_ended(&w, 60 * SECOND));
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_RESET);
	tcp_world_close(&w);
}

static void nobody_there(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 1, true);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_REFUSED && !a->opened);
	/* The listener's layer refuses. */
	w.refuse = true;
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	a = tcp_world_connect(&w, 0, 1, LOCAL + 1, 1, true);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_RESET);
	FIX_CHECK(&w, !tcp_world_accepted(&w, 0));
	tcp_world_close(&w);
}

/* No answer to ARP; no answer to SYNs; no further answer. */
static void peer_gone(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	sim_nic_kill(w.nic[1]);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 1, true);
	sim_run_for(w.sim, 10 * SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_UNREACHABLE);
	tcp_world_close(&w);

	tcp_world_open(&w, 2, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	tcp_world_connect(&w, 0, 1, LOCAL, 1, true);
	sim_run_for(w.sim, SECOND);
	sim_block(w.nic[1], w.nic[0], true);
	a = tcp_world_connect(&w, 0, 1, LOCAL + 1, 1, true);
	sim_run_for(w.sim, 200 * SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_TIMEOUT && !a->opened);
	sim_heal(w.sim);
	tcp_world_close(&w);

	tcp_world_open(&w, 3, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
	sim_run_for(w.sim, SECOND);
	sim_nic_kill(w.nic[1]);
	tcp_side_send(a, 100, true);
	sim_run_for(w.sim, 50 * SECOND);
	FIX_CHECK(&w, !a->ended);
	sim_run_for(w.sim, 200 * SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_TIMEOUT);
	tcp_world_close(&w);
}

/* The peer restarts without state: it answers our data or probes by a reset. */
static void restart(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
	b = tcp_world_connect(&w, 0, 1, LOCAL + 1, 10, false);
	sim_run_for(w.sim, SECOND);
	tcp_keepalive(tcp_fw(&w, 0), b->flow, 20 * SECOND);
	sim_nic_wake(w.nic[0]);
	tcp_world_accepted(&w, 0)->flow = NULL;
	tcp_world_accepted(&w, 1)->flow = NULL;
	sim_nic_restart(w.nic[1]);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, !a->ended && !b->ended);
	tcp_side_send(a, 10, true);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_RESET);
	FIX_CHECK(&w, !b->ended);
	sim_run_for(w.sim, 20 * SECOND);
	FIX_CHECK(&w, b->ended == 1 && b->why == TCP_END_RESET);
	tcp_world_close(&w);
}

/* An idle connection with keep-alive lives as long as the peer does. */
static void keep_alive(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
	sim_run_for(w.sim, SECOND);
	tcp_keepalive(tcp_fw(&w, 0), a->flow, 10 * SECOND);
	sim_nic_wake(w.nic[0]);
	sim_run_for(w.sim, 105 * SECOND);
	FIX_CHECK(&w, !a->ended);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_keepalives") == 10);
	sim_nic_kill(w.nic[1]);
	sim_run_for(w.sim, 60 * SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_TIMEOUT);
	tcp_world_close(&w);
}

/* The layer above receives nothing for a long time: the window closes, is probed, opens again. */
static void stalled(const char *faults)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 5, NULL, faults);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	w.accept.stall_at = 100 * KIB + 3;
	w.accept.close_on_fin = true;
	a = tcp_world_connect(&w, 0, 1, LOCAL, 4 * MIB, true);
	sim_run_for(w.sim, 120 * SECOND);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b && !a->ended && !b->ended);
	FIX_CHECK(&w, b->received == 100 * KIB + 3);
	/* The peer has exactly the window's bytes. */
	FIX_CHECK(&w, a->acked > 100 * KIB && a->acked <= b->received + TCP_RCV_WINDOW);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_window_probes") > 0);
	tcp_side_resume(b, 2 * MIB + 1);
	sim_run_for(w.sim, 5 * SECOND);
	FIX_CHECK(&w, b->received == 2 * MIB + 1);
	tcp_side_resume(b, 0);
	FIX_CHECK(&w, tcp_world_ended(&w, 200 * SECOND));
	FIX_CHECK(&w, b->received == 4 * MIB && a->why == TCP_END_CLOSED);
	tcp_world_close(&w);
}

static void window_closes(void)
{
	stalled(NULL);
	stalled("loss=1,reorder,dup");
}

/* A tuple in TIME-WAIT is reused by timestamps, from either side. */
static void port_reused(void)
{
	struct tcp_world w;
	struct tcp_side *a;
	uint32_t i;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	/* The connecting side closes last, so TIME-WAIT is the listener's. */
	w.accept.want_tx = 5;
	w.accept.close_after = true;
	for (i = 0; i < 5; i++) {
		a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
		a->close_on_fin = true;
		sim_run_for(w.sim, 100 * FIX_MS);
		FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED && a->received == 5);
		FIX_CHECK(&w,
			  tcp_world_accepted(&w, i) && tcp_world_accepted(&w, i)->received == 10);
	}
	FIX_CHECK(&w, tcp_fw(&w, 1)->tcp.flows.used == 1);
	/* The other way round: within a second the tuple is refused, later it is reused. */
	w.accept = (struct tcp_side){.close_on_fin = true};
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, true);
	sim_run_for(w.sim, 100 * FIX_MS);
	FIX_CHECK(&w, a->ended == 1);
	FIX_CHECK(&w, !tcp_world_connect_to(&w, 0, 1, TCP_FIX_PORT, LOCAL));
	sim_run_for(w.sim, 2 * SECOND);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, true);
	sim_run_for(w.sim, 100 * FIX_MS);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED);
	tcp_world_close(&w);
}

/* To the NIC's own address. */
static void loop(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 0, TCP_FIX_PORT, 2);
	w.accept = (struct tcp_side){.close_on_fin = true, .want_tx = 100 * KIB};
	a = tcp_world_connect(&w, 0, 0, LOCAL, MIB, true);
	FIX_CHECK(&w, tcp_world_ended(&w, 10 * SECOND));
	FIX_CHECK(&w, a->acked == MIB && a->received == 100 * KIB);
	FIX_CHECK(&w, !tcp_world_connect_to(&w, 0, 0, 5000, 5000));
	tcp_world_close(&w);
}

/* The backlog counts connections that the process has not accepted yet. */
static void backlog(void)
{
	struct tcp_world w;
	struct tcp_side *side[5];
	uint32_t i, up = 0;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 3);
	w.keep_pending = true;
	for (i = 0; i < 5; i++) {
		side[i] = tcp_world_connect(&w, 0, 1, (uint16_t)(LOCAL + i), 1, false);
		sim_run_for(w.sim, 10 * FIX_MS);
	}
	for (i = 0; i < 5; i++)
		up += side[i]->opened;
	FIX_CHECK(&w, up == 3);
	FIX_CHECK(&w, tcp_stat(&w, 1, "drop_tcp_backlog") > 0);
	for (i = 0; i < 3; i++)
		tcp_accept_done(tcp_fw(&w, 1), tcp_world_accepted(&w, i)->flow);
	/* SYNs are sent again. */
	sim_run_for(w.sim, 10 * SECOND);
	for (i = 0; i < 5; i++)
		FIX_CHECK(&w, side[i]->opened == 1);
	/* Connections that were accepted outlive the listener. */
	tcp_unlisten(tcp_fw(&w, 1), TCP_FIX_PORT);
	tcp_side_send(side[4], 10, false);
	FIX_CHECK(&w, tcp_side_received(tcp_world_accepted(&w, 4), 11, SECOND));
	tcp_world_close(&w);
}

/* The table of connections is full: those in TIME-WAIT are replaced, others are not. */
static void table_full(void)
{
	struct tcp_world w;
	struct tcp_side *a;
	uint32_t i;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_fw(&w, 0)->tcp.flows.max = 4;
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 8);
	w.accept.close_on_fin = true;
	for (i = 0; i < 10; i++) {
		a = tcp_world_connect(&w, 0, 1, (uint16_t)(LOCAL + i), 10, true);
		sim_run_for(w.sim, 10 * FIX_MS);
		FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED);
	}
	FIX_CHECK(&w, tcp_fw(&w, 0)->tcp.flows.used == 4);
	for (i = 0; i < 4; i++)
		tcp_world_connect(&w, 0, 1, (uint16_t)(2000 + i), 10, false);
	FIX_CHECK(&w, !tcp_world_connect_to(&w, 0, 1, TCP_FIX_PORT, 3000));
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_table_full") == 1);
	sim_run_for(w.sim, 10 * FIX_MS);
	tcp_world_close(&w);
}

/* Sequence numbers of both ends pass 2^32 within the streams. */
static void wrap(void)
{
	uint32_t isn, best[2] = {0, 0};
	uint16_t port[2] = {0, 0}, p;
	struct tcp_world w;
	struct tcp_side *a, *b;
	uint32_t i, ip[2];

	tcp_world_open(&w, 1, NULL, "loss=1,reorder,dup");
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	ip[0] = sim_nic_ip(w.nic[0]);
	ip[1] = sim_nic_ip(w.nic[1]);
	for (p = 1000; p < 30000; p++) {
		isn = tcp_isn(tcp_fw(&w, 0), ip[1], TCP_FIX_PORT, p);
		if (isn > best[0]) {
			best[0] = isn;
			port[0] = p;
		}
		isn = tcp_isn(tcp_fw(&w, 1), ip[0], p, TCP_FIX_PORT);
		if (isn > best[1]) {
			best[1] = isn;
			port[1] = p;
		}
	}
	CU_ASSERT_FATAL(best[0] > 0xfff00000u && best[1] > 0xfff00000u);
	for (i = 0; i < 2; i++) {
		w.accept = (struct tcp_side){.want_tx = 3 * MIB, .close_on_fin = true};
		a = tcp_world_connect(&w, 0, 1, port[i], 3 * MIB, true);
		FIX_CHECK(&w, tcp_world_ended(&w, 100 * SECOND));
		b = tcp_world_accepted(&w, i);
		FIX_CHECK(&w, a->received == 3 * MIB && b && b->received == 3 * MIB);
	}
	tcp_world_close(&w);
}

/*
 * A receiver with many connections lets each begin with a segment. Its sender sends a part of that
 * first, and the rest without a timeout when its turn comes.
 */
static void one_of_many(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;
	uint32_t i, first = 0;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	tcp_fw(&w, 1)->tcp.grants.open += OTHERS;
	a = tcp_world_connect(&w, 0, 1, LOCAL, 300 * KIB, false);
	for (i = 0; i < 1000 && !first; i++) {
		sim_run_for(w.sim, 100);
		first = a->opened ? a->flow->snd_nxt - a->flow->iss - 1 : 0;
	}
	FIX_CHECK(&w, first > 0 && first <= 512);
	FIX_CHECK(&w, a->flow->snd_wnd < 2u * a->flow->mss && a->flow->snd_wnd >= a->flow->mss);
	sim_run_for(w.sim, FIX_MS / 100);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b != NULL);
	FIX_CHECK(&w, tcp_side_received(b, 300 * KIB, 5 * FIX_MS));
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") + tcp_stat(&w, 0, "tcp_window_probes") == 0);
	tcp_side_close(a);
	tcp_side_close(b);
	sim_run_for(w.sim, FIX_MS);
	tcp_fw(&w, 1)->tcp.grants.open -= OTHERS;
	tcp_world_close(&w);
}

/* Sends 2 KiB more and returns the number of segments that carried them. */
static uint64_t segments_of_2k(struct tcp_world *w, struct tcp_side *a, struct tcp_side *b)
{
	uint64_t before = tcp_stat(w, 0, "tcp_tx_segments"), bytes = b->received + 2 * KIB;

	tcp_side_send(a, 2 * KIB, false);
	FIX_CHECK(w, tcp_side_received(b, bytes, FIX_MS));
	return tcp_stat(w, 0, "tcp_tx_segments") - before;
}

/* Short messages to such a receiver: only the first one, and one after an RTO, go in two parts. */
static void messages_of_one_of_many(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;
	uint32_t i;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	tcp_fw(&w, 1)->tcp.grants.open += OTHERS;
	a = tcp_world_connect(&w, 0, 1, LOCAL, 0, false);
	sim_run_for(w.sim, FIX_MS);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b != NULL);
	FIX_CHECK(&w, segments_of_2k(&w, a, b) == 2);
	/* The window that its turn has left is used up after some of them. */
	for (i = 0; i < 10; i++) {
		sim_run_for(w.sim, 5 * FIX_MS);
		FIX_CHECK(&w, segments_of_2k(&w, a, b) == 1);
	}
	FIX_CHECK(&w, a->flow->snd_wnd < 2u * a->flow->mss);
	sim_run_for(w.sim, 2 * a->flow->rto_ns);
	FIX_CHECK(&w, segments_of_2k(&w, a, b) == 2);
	tcp_side_close(a);
	tcp_side_close(b);
	sim_run_for(w.sim, FIX_MS);
	tcp_fw(&w, 1)->tcp.grants.open -= OTHERS;
	tcp_world_close(&w);
}

UT_MAIN("sim/tcp_conn", UT(simultaneous_open), UT(simultaneous_close), UT(half_closed),
	UT(never_closes), UT(resets), UT(abort_within_receive), UT(nobody_there), UT(peer_gone),
	UT(restart), UT(keep_alive), UT(window_closes), UT(port_reused), UT(loop), UT(backlog),
	UT(table_full), UT(wrap), UT(one_of_many), UT(messages_of_one_of_many))
