/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP and strangers: forged resets, SYNs, data and ACKs, floods, hostile options. A segment that is
 * not the peer's changes nothing, and costs a bounded number of answers and a bounded amount of
 * memory. RFC 5961, 4987, 7323 5.
 */
#include "tests/sim/tcp_forge.h"

#include <arpa/inet.h>

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	LOCAL = FORGE_LOCAL_PORT,
	TCP_AT = FRAME_L4_AT,
};

static void blind_resets(void)
{
	struct tcp_flow *flow;
	struct bad t;
	uint32_t i;

	bad_open(&t);
	flow = t.a->flow;
	/* Within the window, but not the next byte: answered by a challenge ACK. */
	forge(&t, (struct forged){.flags = WIRE_TCP_RST, .seq = flow->rcv_nxt + 1});
	forge(&t, (struct forged){.flags = WIRE_TCP_RST | WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt + tcp_rcv_window(flow) / 2,
				  .ack = flow->snd_nxt});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_challenge_acks") == 2);
	/* Outside: no answer. */
	forge(&t, (struct forged){.flags = WIRE_TCP_RST, .seq = flow->rcv_nxt - 1});
	forge(&t,
	      (struct forged){.flags = WIRE_TCP_RST, .seq = flow->rcv_nxt + 2 * TCP_RCV_WINDOW});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_challenge_acks") == 2);
	FIX_CHECK(&t.w, !t.a->ended);
	/* A thousand a second get far fewer answers. */
	for (i = 0; i < 500; i++)
		forge(&t, (struct forged){.flags = WIRE_TCP_RST, .seq = flow->rcv_nxt + 1 + i});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_challenge_acks") <= 3 * TCP_CHALLENGES);
	sim_run_for(t.w.sim, SECOND);
	bad_close(&t);

	bad_open(&t);
	forge(&t, (struct forged){.flags = WIRE_TCP_RST, .seq = t.a->flow->rcv_nxt});
	FIX_CHECK(&t.w, t.a->ended == 1 && t.a->why == TCP_END_RESET);
	tcp_world_close(&t.w);
}

static void blind_syns(void)
{
	struct bad t;

	bad_open(&t);
	forge(&t, (struct forged){.flags = WIRE_TCP_SYN, .seq = t.a->flow->rcv_nxt});
	forge(&t, (struct forged){.flags = WIRE_TCP_SYN | WIRE_TCP_ACK,
				  .seq = t.a->flow->rcv_nxt + 10,
				  .ack = t.a->flow->snd_nxt});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_challenge_acks") == 2);
	forge(&t, (struct forged){.flags = WIRE_TCP_SYN, .seq = t.a->flow->rcv_nxt - 100});
	FIX_CHECK(&t.w, !t.a->ended);
	bad_close(&t);
}

/* ACKs of data that was never sent, or of long ago; SACKs likewise; data with them is dropped. */
static void blind_acks(void)
{
	static const uint32_t off[] = {1, 2, 1000, 0x7fffffff, 0x80000000};
	struct tcp_flow *flow;
	struct bad t;
	uint32_t i;

	bad_open(&t);
	flow = t.a->flow;
	for (i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
					  .seq = flow->rcv_nxt,
					  .ack = flow->snd_nxt + off[i],
					  .window = 1,
					  .bytes = 50});
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt,
				  .ack = flow->snd_una - flow->snd_wnd_max - 1,
				  .bytes = 50});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_ack") == i + 1);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_challenge_acks") == i + 1);
	FIX_CHECK(&t.w, t.a->received == 10 * KIB);
	bad_close(&t);
}

static void hostile_sacks(void)
{
	struct tcp_flow *flow;
	uint8_t opts[40] = {1, 1, 8, 10};
	struct bad t;
	uint32_t i;

	bad_open(&t);
	flow = t.a->flow;
	sim_block(t.w.nic[0], t.w.nic[1], true);
	tcp_side_send(t.a, 100 * KIB, false);
	sim_run_for(t.w.sim, FIX_MS);
	for (i = 0; i < 200; i++) {
		uint32_t from = flow->snd_una + i * 777 - 40000, to = from + (i * i * 331) % 90000;

		put32(opts + 4, flow->ts_recent);
		opts[12] = opts[13] = 1;
		opts[14] = WIRE_TCP_OPT_SACK;
		opts[15] = 18;
		put32(opts + 16, i % 7 ? from : to);
		put32(opts + 20, i % 7 ? to : from);
		put32(opts + 24, flow->snd_nxt - 1);
		put32(opts + 28, flow->snd_nxt + i);
		forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
					  .seq = flow->rcv_nxt,
					  .ack = flow->snd_una,
					  .window = 1000,
					  .opts = opts,
					  .opt_bytes = 32});
	}
	FIX_CHECK(&t.w, !t.a->ended && t.a->acked == 20 * KIB);
	/* The peer received nothing, whatever the ACKs claim: all data arrives in the end. */
	sim_heal(t.w.sim);
	FIX_CHECK(&t.w, tcp_side_received(t.b, 120 * KIB, 100 * SECOND));
	tcp_world_close(&t.w);
}

static void old_timestamps(void)
{
	struct tcp_flow *flow;
	struct bad t;
	uint8_t none[4] = {1, 1, 1, 1};

	bad_open(&t);
	flow = t.a->flow;
	FIX_REQUIRE(&t.w, flow->flags & TCP_F_TS);
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt,
				  .ack = flow->snd_nxt,
				  .ts_val = flow->ts_recent - 1,
				  .bytes = 50});
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt,
				  .ack = flow->snd_nxt,
				  .opts = none,
				  .opt_bytes = 4,
				  .bytes = 50});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_paws") == 2);
	FIX_CHECK(&t.w, t.a->received == 10 * KIB);
	/* A reset needs no timestamp: RFC 7323 5.3 R1. */
	forge(&t, (struct forged){
		      .flags = WIRE_TCP_RST, .seq = flow->rcv_nxt, .ts_val = flow->ts_recent - 9});
	FIX_CHECK(&t.w, t.a->ended == 1 && t.a->why == TCP_END_RESET);
	tcp_world_close(&t.w);
}

/* The window's edges: data outside is answered by an ACK and not kept. */
static void outside_window(void)
{
	struct tcp_flow *flow;
	struct bad t;

	bad_open(&t);
	flow = t.a->flow;
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt + tcp_rcv_window(flow),
				  .ack = flow->snd_nxt,
				  .bytes = 10});
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt - 10,
				  .ack = flow->snd_nxt,
				  .bytes = 10});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_window") == 2);
	FIX_CHECK(&t.w, flow->early_chunks == 0);
	/* Data without the ACK flag is dropped. */
	forge(&t, (struct forged){.seq = flow->rcv_nxt, .bytes = 10});
	FIX_CHECK(&t.w, t.a->received == 10 * KIB && !t.a->ended);
	bad_close(&t);
}

/*
 * Numbers of long ago, which half of all guesses have: their timestamps would make the peer's own
 * look old, and their ACKs are not the peer's.
 */
static void old_numbers(void)
{
	static const uint32_t back[] = {10, 10 * KIB, TCP_RCV_WINDOW + 1, 0x40000000, 0x7fffffff};
	struct tcp_flow *flow;
	struct bad t;
	uint32_t ts, i;

	bad_open(&t);
	flow = t.a->flow;
	FIX_REQUIRE(&t.w, flow->flags & TCP_F_TS);
	ts = flow->ts_recent;
	for (i = 0; i < sizeof(back) / sizeof(back[0]); i++)
		forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
					  .seq = flow->rcv_nxt - back[i],
					  .ack = flow->snd_nxt,
					  .ts_val = ts + 0x3fffffff,
					  .bytes = 5});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_window") == i);
	FIX_CHECK(&t.w, flow->ts_recent == ts);
	/* The peer has none of this data, whatever others claim. */
	sim_block(t.w.nic[0], t.w.nic[1], true);
	tcp_side_send(t.a, 5 * KIB, false);
	sim_run_for(t.w.sim, FIX_MS);
	FIX_REQUIRE(&t.w, flow->snd_nxt != flow->snd_una);
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt - TCP_RCV_WINDOW - 1,
				  .ack = flow->snd_nxt,
				  .ts_val = ts});
	FIX_CHECK(&t.w, flow->snd_nxt != flow->snd_una);
	sim_heal(t.w.sim);
	FIX_CHECK(&t.w, tcp_side_received(t.b, 25 * KIB, 100 * SECOND));
	tcp_side_send(t.b, 10 * KIB, false);
	FIX_CHECK(&t.w, tcp_side_received(t.a, 20 * KIB, 100 * SECOND));
	tcp_world_close(&t.w);
}

static void malformed(void)
{
	static const uint8_t opts[][4] = {
	    {WIRE_TCP_OPT_TS, 0, 0, 0},  {WIRE_TCP_OPT_TS, 1, 0, 0},  {WIRE_TCP_OPT_TS, 10, 0, 0},
	    {WIRE_TCP_OPT_SACK, 255, 0}, {1, 1, 1, WIRE_TCP_OPT_MSS}, {99, 5, 0, 0},
	};
	struct tcp_flow *flow;
	struct bad t;
	uint32_t i;

	bad_open(&t);
	flow = t.a->flow;
	for (i = 0; i < sizeof(opts) / sizeof(opts[0]); i++)
		forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
					  .seq = flow->rcv_nxt,
					  .ack = flow->snd_nxt,
					  .opts = opts[i],
					  .opt_bytes = 4,
					  .bytes = 4});
	for (i = 1; i < 16; i++)
		if (i < 5 || i > 8 + 4 / 4)
			forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
						  .seq = flow->rcv_nxt,
						  .ack = flow->snd_nxt,
						  .offset_words = (uint8_t)i,
						  .bytes = 4});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_malformed") ==
			    sizeof(opts) / sizeof(opts[0]) + 4 + 6);
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt,
				  .ack = flow->snd_nxt,
				  .bad_sum = true,
				  .bytes = 4});
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "drop_tcp_checksum") == 1);
	FIX_CHECK(&t.w, t.a->received == 10 * KIB && !t.a->ended);
	bad_close(&t);
}

/* ---- between SYN and ACK --------------------------------------------------------------------- */

/* NIC 1 has the SYN of a connection, and not yet the next segment of NIC 0. */
struct half {
	struct bad t;
	uint32_t irs, synacks;
	bool hold;
	struct wire_tcp synack; /* the last segment that NIC 1 sent */
};

static enum sim_verdict hold(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct half *h = ctx;
	struct wire_ip *ip = (void *)(frame + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (void *)(frame + TCP_AT);

	if (bytes < TCP_AT + sizeof(*tcp) || ip->proto != WIRE_IPPROTO_TCP)
		return SIM_PASS;
	if (from == h->t.w.nic[0])
		return h->hold && !(tcp->flags & WIRE_TCP_SYN) ? SIM_DROP : SIM_PASS;
	if (tcp->flags & WIRE_TCP_SYN) {
		h->synacks++;
		h->synack = *tcp;
	}
	return SIM_PASS;
}

static void half_open(struct half *h, bool cookie)
{
	struct tcp_world *w = &h->t.w;
	struct tcp_listener *listener;

	memset(h, 0, sizeof(*h));
	tcp_world_open(w, 1, NULL, NULL);
	tcp_world_listen(w, 1, TCP_FIX_PORT, 2);
	listener = tcp_find_listener(tcp_fw(w, 1), TCP_FIX_PORT);
	w->accept.want_tx = 10 * KIB;
	sim_set_filter(w->sim, hold, h);
	h->hold = true;
	listener->syns = cookie ? TCP_MAX_SYNS : 0; /* behaves as if it were full */
	h->t.a = tcp_world_connect(w, 0, 1, LOCAL, 20 * KIB, false);
	sim_run_for(w->sim, FIX_MS);
	if (cookie)
		listener->syns = 0;
	FIX_REQUIRE(w, h->t.a->opened && tcp_fw(w, 1)->tcp.syns.used == !cookie);
	h->irs = h->t.a->flow->iss;
}

/* Sends to NIC 1's listener in the name of NIC 0's end. */
static void forge_half(struct half *h, uint8_t flags, uint32_t seq)
{
	struct forged f = {
	    .flags = flags,
	    .seq = seq,
	    .window = 1000,
	    .src_port = LOCAL,
	    .src_ip = sim_nic_ip(h->t.w.nic[0]),
	};

	forge_inject(h->t.w.nic[1], NULL, TCP_FIX_PORT, &f);
	sim_run_for(h->t.w.sim, FIX_MS / 10);
}

/* The kept data is lost; the connection is established nevertheless, and works. */
static void half_close(struct half *h, bool strangers)
{
	struct bad *t = &h->t;
	uint32_t i;

	h->hold = false;
	for (i = 0; i < 200; i++) {
		if (strangers)
			forge_half(h, WIRE_TCP_SYN, h->irs + 77777777 * (i + 1));
		sim_run_for(t->w.sim, 10 * FIX_MS);
	}
	t->b = tcp_world_accepted(&t->w, 0);
	FIX_REQUIRE(&t->w, t->b != NULL);
	FIX_CHECK(&t->w, t->a->received == 10 * KIB && t->b->received == 20 * KIB);
	FIX_CHECK(&t->w, tcp_fw(&t->w, 1)->tcp.syns.used == 0);
	FIX_CHECK(&t->w, tcp_stat(&t->w, 1, "tcp_passive_opens") == 1);
	bad_close(t);
}

/* SYNs and resets that do not fit exactly leave the entry unchanged. */
static void blind_half_open(void)
{
	static const uint32_t off[] = {0, 1, 2, 100, 70000, 0x80000000, UINT32_MAX};
	struct tcp_world *w;
	struct half h;
	uint32_t i;

	half_open(&h, false);
	w = &h.t.w;
	FIX_CHECK(w, h.synacks == 1);
	for (i = 1; i < sizeof(off) / sizeof(off[0]); i++)
		forge_half(&h, WIRE_TCP_SYN, h.irs + off[i]);
	/* Each SYN gets a cookie, and no state is kept for it. */
	FIX_CHECK(w, h.synacks == i && tcp_stat(w, 1, "tcp_cookies_tx") == i - 1);
	FIX_CHECK(w, be32_get(h.synack.ack) == h.irs + off[i - 1] + 1);
	for (i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		if (off[i] != 1)
			forge_half(&h, WIRE_TCP_RST, h.irs + off[i]);
	FIX_CHECK(w, tcp_fw(w, 1)->tcp.syns.used == 1);
	/* The same SYN is answered each time. */
	for (i = 0; i < 3; i++)
		forge_half(&h, WIRE_TCP_SYN, h.irs);
	FIX_CHECK(w, h.synacks == i + sizeof(off) / sizeof(off[0]));
	half_close(&h, true);

	half_open(&h, false);
	forge_half(&h, WIRE_TCP_RST, h.irs + 1);
	FIX_CHECK(&h.t.w, tcp_fw(&h.t.w, 1)->tcp.syns.used == 0);
	tcp_world_close(&h.t.w);
}

/*
 * A peer that has forgotten its SYN and sends a new one, also when a stranger's got the last
 * answer.
 */
static void forgotten_half_open(void)
{
	struct half h;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		half_open(&h, false);
		if (i)
			forge_half(&h, WIRE_TCP_SYN, h.irs + 99999);
		tcp_side_abort(h.t.a);
		sim_run_for(h.t.w.sim, FIX_MS);
		h.hold = false;
		FIX_REQUIRE(&h.t.w, tcp_fw(&h.t.w, 1)->tcp.syns.used == 1);
		h.t.a = tcp_world_connect(&h.t.w, 0, 1, LOCAL, 20 * KIB, false);
		FIX_REQUIRE(&h.t.w, h.t.a->flow->iss != h.irs);
		half_close(&h, false);
	}
}

/* A cookie stays valid when a stranger's SYN has come since and found room in the queue. */
static void blind_beside_cookie(void)
{
	struct half h;

	half_open(&h, true);
	forge_half(&h, WIRE_TCP_SYN, h.irs + 77777);
	FIX_CHECK(&h.t.w, tcp_fw(&h.t.w, 1)->tcp.syns.used == 1);
	half_close(&h, false);
}

/*
 * A stranger on the link sends SYNs in the name of a peer before that peer does, with its own MAC
 * and repeatedly: the peer's own handshake takes no longer than without.
 */
static void stranger_first(void)
{
	struct bad *t;
	struct half h;
	uint32_t i;

	memset(&h, 0, sizeof(h));
	t = &h.t;
	tcp_world_open(&t->w, 1, NULL, NULL);
	tcp_world_listen(&t->w, 1, TCP_FIX_PORT, 2);
	t->w.accept.want_tx = 10 * KIB;
	for (i = 0; i < 5; i++)
		forge_half(&h, WIRE_TCP_SYN, 12345 + i * 1000);
	FIX_REQUIRE(&t->w, tcp_fw(&t->w, 1)->tcp.syns.used == 1);
	t->a = tcp_world_connect(&t->w, 0, 1, LOCAL, 20 * KIB, false);
	sim_run_for(t->w.sim, 10 * FIX_MS);
	t->b = tcp_world_accepted(&t->w, 0);
	FIX_REQUIRE(&t->w, t->a->opened && t->b != NULL);
	FIX_CHECK(&t->w, tcp_fw(&t->w, 1)->tcp.syns.used == 0);
	sim_run_for(t->w.sim, SECOND);
	FIX_CHECK(&t->w, t->a->received == 10 * KIB && t->b->received == 20 * KIB);
	bad_close(t);
}

/* ---- floods ---------------------------------------------------------------------------------- */

static void syn_flood(void)
{
	static const uint8_t opts[] = {2, 4, 5, 180, 4, 2, 8, 10, 0, 0,
				       0, 1, 0, 0,   0, 0, 1, 3,  3, 7};
	struct tcp_world w;
	struct tcp_side *a, *b;
	uint32_t i, used = 0;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	w.accept = (struct tcp_side){.want_tx = 100 * KIB, .close_on_fin = true};
	for (i = 0; i < 3000; i++) {
		struct forged f = {.flags = WIRE_TCP_SYN,
				   .seq = i * 77777,
				   .window = 1000,
				   .opts = opts,
				   .opt_bytes = sizeof(opts),
				   .src_port = (uint16_t)(1 + i),
				   .src_ip = htonl(0x0a4d0080 + i % 100)};

		forge_inject(w.nic[1], NULL, TCP_FIX_PORT, &f);
		if (i % 30 == 29)
			sim_run_for(w.sim, FIX_MS / 10);
		used = tcp_max(used, tcp_fw(&w, 1)->tcp.syns.used);
	}
	FIX_CHECK(&w, used == TCP_MAX_SYNS / 2);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_cookies_tx") == 3000 - used);
	FIX_CHECK(&w, tcp_fw(&w, 1)->tcp.flows.used == 0);
	/* A real peer connects by a cookie, with all its options. */
	a = tcp_world_connect(&w, 0, 1, LOCAL, 300 * KIB, true);
	sim_run_for(w.sim, FIX_MS);
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, a->opened && b);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_cookies_rx") == 1);
	FIX_CHECK(&w, tcp_world_ended(&w, 10 * SECOND));
	FIX_CHECK(&w, b->received == 300 * KIB && a->received == 100 * KIB);
	/* The rest expires. */
	sim_run_for(w.sim, 100 * SECOND);
	FIX_CHECK(&w, tcp_fw(&w, 1)->tcp.syns.used == 0);
	tcp_world_close(&w);
}

/* Options that a cookie encodes, and values that are no cookie. */
static void cookies(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;
	struct tcp_listener *listener;
	uint32_t i;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	listener = tcp_find_listener(tcp_fw(&w, 1), TCP_FIX_PORT);
	listener->syns = TCP_MAX_SYNS; /* behaves as if it were full */
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
	sim_run_for(w.sim, FIX_MS);
	listener->syns = 0;
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b && tcp_stat(&w, 1, "tcp_cookies_rx") == 1);
	FIX_CHECK(&w, b->flow->flags & TCP_F_TS && b->flow->flags & TCP_F_SACK &&
			  b->flow->flags & TCP_F_WSCALE && b->flow->flags & TCP_F_ECN);
	FIX_CHECK(&w, b->flow->snd_wscale == a->flow->snd_wscale);
	/* The next smaller MSS of eight. */
	FIX_CHECK(&w, b->flow->peer_mss == 1460);
	for (i = 0; i < 1000; i++) {
		struct forged f = {.flags = WIRE_TCP_ACK,
				   .seq = 1000 + i,
				   .ack = i * 4294967 + 7,
				   .src_port = (uint16_t)(2000 + i),
				   .src_ip = sim_nic_ip(w.nic[0])};

		forge_inject(w.nic[1], NULL, TCP_FIX_PORT, &f);
		if (i % 30 == 29)
			sim_run_for(w.sim, FIX_MS / 10);
	}
	sim_run_for(w.sim, FIX_MS);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_cookies_rx") == 1);
	/* They are answered by a bounded number of resets. */
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_tx_resets") == TCP_RESETS);
	tcp_world_close(&w);
}

/*
 * Forged data with a closed window were taken: all ACKs of the peer lie before what was received,
 * so they open no window. The connection ends by its time-out instead of probing for ever.
 */
static void lost_synchronization(void)
{
	struct tcp_flow *flow;
	struct bad t;

	bad_open(&t);
	flow = t.a->flow;
	flow->rcv_nxt += 78;
	flow->snd_wl1 = flow->rcv_nxt;
	flow->snd_wnd = 0;
	tcp_side_send(t.a, 1000, false);
	sim_run_for(t.w.sim, 90 * SECOND);
	FIX_CHECK(&t.w, !t.a->ended && tcp_stat(&t.w, 0, "tcp_window_probes") > 0);
	sim_run_for(t.w.sim, 200 * SECOND);
	FIX_CHECK(&t.w, t.a->ended == 1 && t.a->why == TCP_END_TIMEOUT);
	tcp_world_close(&t.w);
}

/*
 * A forged segment beyond a gap closed the window, and the peer has nothing to send: its answer to
 * the first probe opens the window again.
 */
static void closed_beyond_a_gap(void)
{
	struct tcp_flow *flow;
	struct bad t;

	bad_open(&t);
	flow = t.a->flow;
	flow->snd_wl1 = flow->rcv_nxt + 1;
	flow->snd_wnd = 0;
	tcp_side_send(t.a, 1000, false);
	sim_run_for(t.w.sim, 2 * SECOND);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_window_probes") == 1 && !t.a->ended);
	FIX_CHECK(&t.w, flow->snd_wnd && flow->snd_una == flow->snd_nxt);
	FIX_CHECK(&t.w, fw_list_empty(&flow->segs));
	tcp_world_close(&t.w);
}

UT_MAIN("sim/tcp_bad", UT(blind_resets), UT(blind_syns), UT(blind_acks), UT(hostile_sacks),
	UT(old_timestamps), UT(outside_window), UT(old_numbers), UT(malformed), UT(blind_half_open),
	UT(forgotten_half_open), UT(blind_beside_cookie), UT(stranger_first), UT(syn_flood),
	UT(cookies), UT(lost_synchronization), UT(closed_beyond_a_gap))
