/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP and unusual segments that are no attack: overtaken ACKs, ACKs at the window's edge, a peer
 * without room, probes of listeners. RFC 7323 5.3, RFC 9293 3.8.6.1 and 3.10.7, RFC 5961 7.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
};

/* Overtaken bare ACKs: no answer, no drop; older than possible: both. */
static void late_acks(void)
{
	struct forged f = {.flags = WIRE_TCP_ACK};
	struct tcp_flow *flow;
	struct bad t;
	uint64_t acks;
	uint32_t oldest, i;

	bad_open(&t);
	flow = t.a->flow;
	acks = tcp_stat(&t.w, 0, "tcp_tx_acks");
	oldest = (uint32_t)(flow->rto_ns / TCP_TS_TICK_NS);
	f.seq = flow->rcv_nxt;
	f.ack = flow->snd_una;
	f.ts_val = flow->ts_recent - 1;
	forge(&t, f);
	f.ts_val = flow->ts_recent - oldest;
	f.ack = flow->snd_una - 10 * TCP_RCV_WINDOW;
	f.seq = flow->rcv_nxt - 10 * TCP_RCV_WINDOW;
	forge(&t, f);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_rx_late_acks") == 2);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_paws") == 0);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_acks") == acks);
	/* Too old, with news of each kind, or not bare: PAWS drops them, and sometimes answers. */
	for (i = 0; i < 5; i++) {
		f = (struct forged){.flags = i == 3 ? WIRE_TCP_ACK | WIRE_TCP_FIN : WIRE_TCP_ACK,
				    .seq = flow->rcv_nxt,
				    .ack = flow->snd_una,
				    .ts_val = flow->ts_recent - 1,
				    .bytes = i == 4};
		f.ts_val -= i == 0 ? oldest : 0;
		f.seq += i == 1;
		f.ack += i == 2;
		forge(&t, f);
		sim_run_for(t.w.sim, TCP_ANSWER_NS);
	}
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_paws") == i);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_rx_late_acks") == 2);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_acks") == acks + i);
	bad_close(&t);
}

/* Neither SYN, ACK nor RST: a listener sends nothing. RFC 9293 3.10.7.2 */
static void listener_probed(void)
{
	struct forged f = {.flags = WIRE_TCP_FIN | WIRE_TCP_PSH, .src_port = 9};
	struct tcp_world w;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
	f.src_ip = sim_nic_ip(w.nic[0]);
	forge_inject(w.nic[1], NULL, TCP_FIX_PORT, &f);
	f.flags = 0;
	forge_inject(w.nic[1], NULL, TCP_FIX_PORT, &f);
	sim_run_for(w.sim, FIX_MS);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_tx_resets") == 0);
	FIX_CHECK(&w, tcp_stat(&w, 1, "drop_tcp_malformed") == 2);
	/* Without a listener it is answered. */
	forge_inject(w.nic[1], NULL, TCP_FIX_PORT + 1, &f);
	sim_run_for(w.sim, FIX_MS);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_tx_resets") == 1);
	tcp_world_close(&w);
}

/* Data that the window does not allow to be sent: in flight, with NIC 1 out of reach. */
static void in_flight(struct bad *t)
{
	bad_open(t);
	sim_block(t->w.nic[0], t->w.nic[1], true);
	sim_block(t->w.nic[1], t->w.nic[0], true);
	tcp_side_send(t->a, KIB, false);
	sim_run_for(t->w.sim, FIX_MS);
	FIX_REQUIRE(&t->w, t->a->flow->snd_una != t->a->flow->snd_nxt);
}

/* The peer has filled the window and lost its first segment: its ACKs are still accepted. */
static void ack_at_edge(void)
{
	struct tcp_flow *flow;
	struct forged f;
	struct bad t;

	in_flight(&t);
	flow = t.a->flow;
	f = (struct forged){.flags = WIRE_TCP_ACK,
			    .seq = flow->rcv_nxt + tcp_rcv_window(flow) + 1,
			    .ack = flow->snd_nxt,
			    .window = 1000};
	forge(&t, f);
	FIX_CHECK(&t.w, flow->snd_una != flow->snd_nxt);
	f.seq--;
	forge(&t, f);
	FIX_CHECK(&t.w, flow->snd_una == flow->snd_nxt);
	tcp_world_close(&t.w);
}

/* A peer that answers with a closed window is kept; a silent one is not. */
static void no_room(void)
{
	struct tcp_flow *flow;
	struct bad t;
	uint32_t i;

	in_flight(&t);
	flow = t.a->flow;
	for (i = 0; i < 30; i++) {
		sim_run_for(t.w.sim, 10 * SECOND);
		if (!t.a->ended)
			forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
						  .seq = flow->rcv_nxt,
						  .ack = flow->snd_una});
	}
	FIX_CHECK(&t.w, !t.a->ended);
	sim_run_for(t.w.sim, 90 * SECOND);
	FIX_CHECK(&t.w, !t.a->ended);
	sim_run_for(t.w.sim, 160 * SECOND);
	FIX_CHECK(&t.w, t.a->ended == 1 && t.a->why == TCP_END_TIMEOUT);
	tcp_world_close(&t.w);
}

/* The number of challenge ACKs per second cannot be inferred: CVE-2016-5696. */
static void challenges_vary(void)
{
	uint64_t n, total = 0, first = 0;
	bool differ = false;
	struct bad t;
	uint32_t i, k;

	bad_open(&t);
	for (k = 0; k < 6; k++) {
		for (i = 0; i < 160; i++) {
			struct forged f = {.flags = WIRE_TCP_RST, .seq = t.a->flow->rcv_nxt + 1};

			forge_inject(t.w.nic[0], t.a->flow, 0, &f);
			sim_run_for(t.w.sim, FIX_MS / 100);
		}
		n = tcp_stat(&t.w, 0, "tcp_challenge_acks") - total;
		total += n;
		FIX_CHECK(&t.w, n >= TCP_CHALLENGES / 2 && n <= TCP_CHALLENGES * 3 / 2);
		first = k ? first : n;
		differ |= n != first;
		sim_run_for(t.w.sim, SECOND);
	}
	FIX_CHECK(&t.w, differ);
	bad_close(&t);
}

UT_MAIN("sim/tcp_strange", UT(late_acks), UT(listener_probed), UT(ack_at_edge), UT(no_room),
	UT(challenges_vary))
