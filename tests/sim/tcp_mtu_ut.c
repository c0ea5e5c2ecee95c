/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Return to a larger path MTU: after ten minutes one segment probes; the path takes it, drops it in
 * silence, or reports it. RFC 1191 6.3, RFC 4821 7. tcp_forged_ut.c tests smaller ones.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)
#define MINUTE (60 * SECOND)

enum {
	KIB = 1 << 10,
	NARROW = 1000,
};

struct narrow {
	struct bad *t;
	uint32_t limit, eaten;
};

/* A router on the path that takes packets up to this size and sends no ICMP. */
static enum sim_verdict narrow(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_ip *ip = (const void *)(frame + sizeof(struct wire_eth));
	struct narrow *n = ctx;

	(void)bytes;
	if (from != n->t->w.nic[0] || ip->proto != WIRE_IPPROTO_TCP ||
	    be16_get(ip->total_bytes) <= n->limit)
		return SIM_PASS;
	n->eaten++;
	return SIM_DROP;
}

/* A connection whose path now takes NARROW bytes. */
static void narrowed(struct bad *t)
{
	bad_open(t);
	sim_block(t->w.nic[0], t->w.nic[1], true);
	tcp_side_send(t->a, KIB, false);
	sim_run_for(t->w.sim, FIX_MS / 100);
	forge_icmp(t, WIRE_ICMP_FRAG_NEEDED, NARROW, t->a->flow->snd_una);
	sim_heal(t->w.sim);
	FIX_CHECK(&t->w, tcp_side_received(t->b, 21 * KIB, SECOND));
	FIX_REQUIRE(&t->w, t->a->flow->path_mtu == NARROW);
}

static void send(struct bad *t, uint32_t bytes)
{
	uint64_t want = t->b->received + bytes;

	tcp_side_send(t->a, bytes, false);
	FIX_CHECK(&t->w, tcp_side_received(t->b, want, SECOND));
	sim_run_for(t->w.sim, FIX_MS);
}

static void grows(void)
{
	struct tcp_flow *flow;
	uint64_t again;
	uint16_t mtu;
	struct bad t;

	narrowed(&t);
	flow = t.a->flow;
	mtu = sim_get_config(t.w.sim)->mtu;
	again = tcp_stat(&t.w, 0, "tcp_tx_retransmits");
	sim_run_for(t.w.sim, 9 * MINUTE);
	send(&t, 100 * KIB);
	FIX_CHECK(&t.w, flow->path_mtu == NARROW && flow->mss == NARROW - 40 - 12);
	sim_run_for(t.w.sim, MINUTE);
	/* A segment that fits probes nothing. */
	send(&t, flow->mss);
	FIX_CHECK(&t.w, flow->path_mtu == NARROW);
	send(&t, 10 * KIB);
	FIX_CHECK(&t.w, flow->path_mtu == mtu && flow->mss == mtu - 40 - 12);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_mtu_grown") == 1);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") == again);
	send(&t, 100 * KIB);
	sim_run_for(t.w.sim, 20 * MINUTE);
	send(&t, 100 * KIB);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_mtu_grown") == 1);
	tcp_world_close(&t.w);
}

/* One segment each ten minutes is lost and sent again in parts; the window stays. */
static void black_hole(void)
{
	struct narrow n = {.limit = NARROW};
	struct tcp_flow *flow;
	uint32_t i, ssthresh;
	struct bad t;
	uint64_t cuts;

	narrowed(&t);
	flow = t.a->flow;
	send(&t, 10 * KIB);
	/* The set-up lost a segment. */
	ssthresh = flow->ssthresh;
	cuts = tcp_stat(&t.w, 0, "tcp_recoveries");
	n.t = &t;
	sim_set_filter(t.w.sim, narrow, &n);
	for (i = 1; i <= 3; i++) {
		sim_run_for(t.w.sim, 11 * MINUTE);
		send(&t, 100 * KIB);
		send(&t, 100 * KIB);
		FIX_CHECK(&t.w, n.eaten == i);
		FIX_CHECK(&t.w, flow->path_mtu == NARROW);
		FIX_CHECK(&t.w, flow->ssthresh == ssthresh);
	}
	/* All data is in one segment: a tail probe, or the timer, repeats it. */
	sim_run_for(t.w.sim, 11 * MINUTE);
	send(&t, 2 * KIB);
	send(&t, 10 * KIB);
	FIX_CHECK(&t.w, n.eaten == i && flow->path_mtu == NARROW);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_recoveries") == cuts);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_timeouts") == 0);
	tcp_world_close(&t.w);
}

/* The router reports it: sent in parts at once. */
static void told(void)
{
	struct tcp_flow *flow;
	struct bad t;

	narrowed(&t);
	flow = t.a->flow;
	sim_run_for(t.w.sim, 11 * MINUTE);
	sim_block(t.w.nic[0], t.w.nic[1], true);
	tcp_side_send(t.a, 2 * KIB, false);
	sim_run_for(t.w.sim, FIX_MS / 100);
	FIX_CHECK(&t.w, flow->probing == TCP_PROBE_OUT);
	sim_heal(t.w.sim);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, NARROW + 500, flow->snd_una);
	FIX_CHECK(&t.w, flow->probing == TCP_PROBE_WANTED && flow->path_mtu == NARROW);
	FIX_CHECK(&t.w, flow->probe_ns > sim_nic_clock_ns(t.w.nic[0]) + 9 * MINUTE);
	FIX_CHECK(&t.w, tcp_side_received(t.b, 23 * KIB, FIX_MS));
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_mtu_grown") == 0);
	tcp_world_close(&t.w);
}

UT_MAIN("sim/tcp_mtu", UT(grows), UT(black_hole), UT(told))
