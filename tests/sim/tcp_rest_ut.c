/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle connections between two NICs: what wakes one, and that its stream goes on as if it had not
 * rested. In simulation connections rest in the turn in which nothing is under way any more.
 * nic_fw/tcp/tcp_rest.c.
 */
#include "tests/sim/tcp_forge.h"

enum {
	LOCAL = 1000,
	KIB = 1024,
};
#define SECOND (1000 * FIX_MS)

static struct tcp_world w;

static bool rests(const struct tcp_side *side)
{
	return side->rest && !side->flow;
}

/* A turn of each, to look at connections: silence alone makes none. */
static void turn(void)
{
	sim_nic_wake(w.nic[0]);
	sim_nic_wake(w.nic[1]);
	sim_run_for(w.sim, FIX_MS);
}

/* Two ends of a connection that rest; a is NIC 0's. */
static struct tcp_side *idle(uint64_t seed, const char *faults, struct tcp_side **b)
{
	struct tcp_side *a;

	tcp_world_open(&w, seed, NULL, faults);
	w.accept.may_rest = true;
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 10, false);
	a->may_rest = true;
	sim_run_for(w.sim, 2 * SECOND);
	turn();
	*b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, *b != NULL && (*b)->received == 10);
	return a;
}

/* Moves the numbers of the stream from one end to the other so that the next one is at. */
static void renumber(struct tcp_side *from, struct tcp_side *to, uint32_t at)
{
	struct tcp_flow *f = tcp_side_flow(from), *t = tcp_side_flow(to);
	uint32_t by = at - f->snd_nxt;

	FIX_REQUIRE(&w, f->snd_una == f->snd_nxt && t->rcv_nxt == f->snd_nxt);
	tcp_number_from(f, at, 0);
	t->rcv_nxt += by;
	t->rcv_up += by;
	t->last_ack += by;
	t->rcv_adv += by;
	t->rcv_limit += by;
	t->rcv_high += by;
	t->rcv_begun += by;
	t->snd_wl1 += by;
}

/* Data in both directions between rests, over a wire that loses and exchanges segments. */
static void goes_on(void)
{
	static const char *const faults[] = {NULL, FIX_FAULTS};
	struct tcp_side *a, *b;
	uint32_t i, k;

	for (i = 0; i < 2 * FIX_SEEDS; i++) {
		uint64_t sent[2] = {10, 0};

		a = idle(1 + i / 2, faults[i % 2], &b);
		FIX_CHECK(&w, rests(a) && rests(b));
		for (k = 0; k < 40; k++) {
			struct tcp_side *from = k % 3 ? a : b, *to = k % 3 ? b : a;
			uint32_t bytes = 1 + k * k * 997;

			tcp_side_send(from, bytes, false);
			FIX_CHECK(&w, !rests(from));
			sent[from == b] += bytes;
			FIX_REQUIRE(&w, tcp_side_received(to, sent[from == b], 60 * SECOND));
			/* Repeated segments and late ACKs, too, are over. */
			sim_run_for(w.sim, 4 * SECOND);
			turn();
			FIX_CHECK(&w, rests(a) && rests(b));
		}
		FIX_CHECK(&w, a->rested >= 40 && a->woken >= 40);
		FIX_CHECK(&w, tcp_fw(&w, 0)->tcp.num_flows == 1);
		FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_rests_used") == 1);
		tcp_world_close(&w);
	}
}

/* The numbers wrap around, at rest and in the middle of data. */
static void wraps_around(void)
{
	static const uint32_t at[] = {0, UINT32_MAX, UINT32_MAX - 9, UINT32_MAX - 70000, 1u << 31};
	struct tcp_side *a, *b;
	uint64_t sent = 10;
	uint32_t i, k;

	a = idle(1, NULL, &b);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		renumber(a, b, at[i]);
		renumber(b, a, at[i] + 5);
		for (k = 0; k < 6; k++) {
			tcp_side_send(a, 10, false);
			sent += 10;
			FIX_CHECK(&w, tcp_side_received(b, sent, SECOND));
			sim_run_for(w.sim, SECOND);
			FIX_CHECK(&w, rests(a) && rests(b));
		}
		tcp_side_send(a, 100 * KIB, false);
		tcp_side_send(b, 100 * KIB, false);
		sent += 100 * KIB;
		sim_run_for(w.sim, SECOND);
		FIX_CHECK(&w, b->received == sent && rests(a) && rests(b));
	}
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 0);
	tcp_world_close(&w);
}

/* Work under way keeps it awake: data in flight, data that the layer above has no room for. */
static void busy(void)
{
	struct tcp_side *a, *b;

	a = idle(1, NULL, &b);
	sim_nic_pause(w.nic[1], 5 * SECOND);
	tcp_side_send(a, 1000, false);
	sim_run_for(w.sim, 4 * SECOND);
	FIX_CHECK(&w, !rests(a) && rests(b));
	FIX_CHECK(&w, tcp_side_received(b, 1010, 60 * SECOND));
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, rests(a) && rests(b));
	b->stall_at = 1510;
	tcp_side_send(a, 1000, false);
	sim_run_for(w.sim, 4 * SECOND);
	FIX_CHECK(&w, b->received == 1510 && !rests(b));
	tcp_side_resume(b, 0);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, b->received == 2010 && rests(a) && rests(b));
	tcp_world_close(&w);
}

/* Keep-alive costs the same segments as without rest, and notices a peer that is gone. */
static void keep_alive(void)
{
	struct tcp_side *a, *b;
	uint64_t was_ns;

	a = idle(1, NULL, &b);
	tcp_keepalive(tcp_fw(&w, 0), tcp_side_flow(a), 10 * SECOND);
	sim_nic_wake(w.nic[0]);
	sim_run_for(w.sim, 105 * SECOND);
	FIX_CHECK(&w, !a->ended && rests(a) && rests(b));
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_keepalives") == 10);
	FIX_CHECK(&w, b->woken >= 10);
	was_ns = sim_now_ns(w.sim);
	sim_nic_kill(w.nic[1]);
	sim_run_for(w.sim, 60 * SECOND);
	FIX_CHECK(&w, sim_now_ns(w.sim) - was_ns == 60 * SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_TIMEOUT);
	tcp_world_close(&w);
}

/* Either end closes, or resets. */
static void ends(void)
{
	struct tcp_side *a, *b;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		a = idle(1, NULL, &b);
		FIX_CHECK(&w, rests(a) && rests(b));
		b->close_on_fin = true;
		a->close_on_fin = true;
		if (i == 0)
			tcp_side_send(a, 0, true);
		else if (i == 1)
			tcp_side_send(b, 0, true);
		else
			tcp_side_abort(i == 2 ? a : b);
		sim_run_for(w.sim, SECOND);
		if (i < 2) {
			FIX_CHECK(&w, a->ended == 1 && b->ended == 1);
			FIX_CHECK(&w, a->why == TCP_END_CLOSED && b->why == TCP_END_CLOSED);
		} else {
			struct tcp_side *other = i == 2 ? b : a;

			FIX_CHECK(&w, other->ended == 1 && other->why == TCP_END_RESET);
		}
		FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_rests_used") == 0);
		FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_rests_used") == 0);
		tcp_world_close(&w);
	}
}

/* The peer restarts without state: it answers data by a reset. */
static void restarted(void)
{
	struct tcp_side *a, *b;

	a = idle(1, NULL, &b);
	b->rest = 0;
	sim_nic_restart(w.nic[1]);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, rests(a));
	tcp_side_send(a, 10, false);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_RESET);
	tcp_world_close(&w);
}

/* A copy of an end, for forging, without waking it. */
static struct tcp_flow image(struct tcp_side *side)
{
	const struct tcp_rest *rest =
	    fw_pool_at(&sim_nic_fw(side->nic, 0)->tcp.rests, side->rest - 1);

	return (struct tcp_flow){.peer_ip = rest->peer_ip,
				 .peer_port = rest->peer_port,
				 .local_port = rest->local_port,
				 .rcv_nxt = rest->rcv_nxt,
				 .snd_una = rest->snd_nxt,
				 .snd_nxt = rest->snd_nxt,
				 .ts_recent = rest->ts_recent,
				 .flags = rest->flags};
}

static void forge_at(struct tcp_side *side, struct forged f)
{
	struct tcp_flow flow = image(side);

	f.seq += flow.rcv_nxt;
	f.ack += flow.snd_nxt;
	if (!f.ts_val)
		f.ts_val = flow.ts_recent;
	forge_inject(side->nic, &flow, flow.local_port, &f);
	sim_run_for(w.sim, FIX_MS);
}

/* Strangers' segments are judged as at any time, and leave it at rest. */
static void forged(void)
{
	struct tcp_side *a, *b;
	uint32_t woken;

	a = idle(1, NULL, &b);
	woken = a->woken;
	/* RFC 5961: a reset that does not fit exactly, and a SYN, are challenged. */
	forge_at(a, (struct forged){.seq = 1, .flags = WIRE_TCP_RST});
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_challenge_acks") == 1 && rests(a));
	forge_at(a, (struct forged){.flags = WIRE_TCP_SYN});
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_challenge_acks") == 2 && rests(a));
	FIX_CHECK(&w, a->woken == woken + 2);
	/* ACKs from beside the window are answered once in a while, woken or not. */
	forge_at(a, (struct forged){.seq = 1u << 30, .flags = WIRE_TCP_ACK});
	forge_at(a, (struct forged){.seq = 1u << 30, .flags = WIRE_TCP_ACK});
	forge_at(a, (struct forged){.seq = 1u << 30, .flags = WIRE_TCP_ACK});
	FIX_CHECK(&w, a->woken == woken + 5 && rests(a));
	FIX_CHECK(&w, tcp_stat(&w, 0, "drop_tcp_window") == 3);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_acks") == 2 + 1);
	/* For other ports it does not wake. */
	forge_inject(w.nic[0], NULL, LOCAL,
		     &(struct forged){.flags = WIRE_TCP_ACK, .src_port = 9, .src_ip = 7});
	sim_run_for(w.sim, FIX_MS);
	FIX_CHECK(&w, a->woken == woken + 5);
	tcp_side_send(a, 100, false);
	tcp_side_send(b, 100, false);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->received == 100 && b->received == 110 && !a->ended);
	/* The one that fits. */
	forge_at(a, (struct forged){.flags = WIRE_TCP_RST});
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_RESET);
	tcp_world_close(&w);
}

UT_MAIN("sim/tcp_rest", UT(goes_on), UT(wraps_around), UT(busy), UT(keep_alive), UT(ends),
	UT(restarted), UT(forged))
