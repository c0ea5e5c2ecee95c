/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP and forgers: unsolicited ICMP about a connection (RFC 5927), and segments of any content from
 * one who sees every number.
 */
#include "tests/sim/tcp_forge.h"

#include <arpa/inet.h>

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	LOCAL = FORGE_LOCAL_PORT,
};

/* ---- ICMP ------------------------------------------------------------------------------------ */

struct narrow {
	struct bad *t;
	uint32_t limit, told;
};

/* A router on the path whose next link takes packets of 1000 bytes. */
static enum sim_verdict narrow(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct narrow *n = ctx;
	struct wire_ip *ip = (void *)(frame + sizeof(struct wire_eth));

	if (from != n->t->w.nic[0] || ip->proto != WIRE_IPPROTO_TCP ||
	    be16_get(ip->total_bytes) <= n->limit)
		return SIM_PASS;
	(void)bytes;
	n->told++;
	return SIM_DROP;
}

static void path_mtu(void)
{
	struct narrow n = {.limit = 1000};
	struct tcp_flow *flow;
	struct bad t;
	uint16_t mtu;

	bad_open(&t);
	flow = t.a->flow;
	mtu = flow->path_mtu;
	/* Nothing is in flight, so the message cannot be about a packet of ours. */
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 1000, flow->snd_una);
	FIX_CHECK(&t.w, flow->path_mtu == mtu);
	n.t = &t;
	sim_set_filter(t.w.sim, narrow, &n);
	tcp_side_send(t.a, 100 * KIB, false);
	sim_run_for(t.w.sim, FIX_MS);
	FIX_CHECK(&t.w, n.told > 0);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 1000, flow->snd_nxt);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 1000, flow->snd_una - 1);
	FIX_CHECK(&t.w, flow->path_mtu == mtu);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_icmp_ignored") == 3);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 1000, flow->snd_una);
	FIX_CHECK(&t.w, flow->path_mtu == 1000 && flow->mss == 1000 - 40 - 12);
	FIX_CHECK(&t.w, tcp_side_received(t.b, 120 * KIB, 10 * SECOND));
	/* The MTU never grows and never becomes tiny; unreachable does not end a connection. */
	tcp_side_send(t.a, KIB, false);
	sim_block(t.w.nic[0], t.w.nic[1], true);
	sim_run_for(t.w.sim, FIX_MS / 100);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 1400, flow->snd_una);
	FIX_CHECK(&t.w, flow->path_mtu == 1000);
	forge_icmp(&t, WIRE_ICMP_FRAG_NEEDED, 0, flow->snd_una);
	FIX_CHECK(&t.w, flow->path_mtu == TCP_MIN_PATH_MTU);
	forge_icmp(&t, WIRE_ICMP_PORT_UNREACH, 0, flow->snd_una);
	forge_icmp(&t, WIRE_ICMP_HOST_UNREACH, 0, flow->snd_una);
	FIX_CHECK(&t.w, !t.a->ended);
	sim_heal(t.w.sim);
	sim_set_filter(t.w.sim, NULL, NULL);
	FIX_CHECK(&t.w, tcp_side_received(t.b, 121 * KIB, 10 * SECOND));
	tcp_world_close(&t.w);
}

/* ---- anything -------------------------------------------------------------------------------- */

static uint32_t near(struct sim_prng *prng, uint32_t x)
{
	static const uint32_t far[] = {0, 1, 2, 100, 1460, 65535, 1 << 20, 1u << 31};
	uint32_t d = far[sim_prng_below(prng, 8)] + (uint32_t)sim_prng_below(prng, 3) - 1;

	return sim_prng_chance(prng, 500000) ? x + d : x - d;
}

static void forge_any(struct tcp_world *w, struct sim_prng *prng, const struct tcp_side *side)
{
	const struct tcp_flow *flow = side->flow;
	uint8_t opts[40];
	uint32_t i;
	struct forged f = {
	    .seq = near(prng, flow->rcv_nxt),
	    .ack = near(prng, sim_prng_chance(prng, 500000) ? flow->snd_nxt : flow->snd_una),
	    .flags = (uint8_t)sim_prng_next(prng),
	    .window = (uint16_t)sim_prng_next(prng),
	    .bytes = (uint32_t)sim_prng_below(prng, 3) * (uint32_t)sim_prng_below(prng, 700),
	    .ts_val = near(prng, flow->ts_recent),
	};

	/* Mostly valid flags of a stream's segments; resets would end every run. */
	if (sim_prng_chance(prng, 900000))
		f.flags = WIRE_TCP_ACK | (f.flags & (WIRE_TCP_PSH | WIRE_TCP_ECE | WIRE_TCP_CWR));
	if (sim_prng_chance(prng, 300000)) {
		(void)tcp_opt_ts(opts, f.ts_val, near(prng, 0));
		opts[12] = opts[13] = WIRE_TCP_OPT_NOP;
		opts[14] = WIRE_TCP_OPT_SACK;
		opts[15] = 26;
		for (i = 16; i < sizeof(opts); i += 4)
			put32(opts + i, near(prng, flow->snd_una));
		f.opts = opts;
		f.opt_bytes = sizeof(opts);
	}
	forge_inject(side->nic, flow, 0, &f);
	(void)w;
}

/* A forger who sees every number may break streams, and nothing else. */
static void anything(void)
{
	struct sim_prng prng;
	struct tcp_world w;
	uint64_t seed;
	uint32_t i, k;

	for (seed = 1; seed <= 30; seed++) {
		tcp_world_open(&w, seed, NULL, "loss=0.5,reorder");
		w.forged = true;
		sim_prng_for(w.sim, &prng, SIM_STREAM_TEST, 1);
		tcp_world_listen(&w, 1, TCP_FIX_PORT, 4);
		w.accept = (struct tcp_side){.want_tx = 200 * KIB, .close_on_fin = true};
		for (i = 0; i < 3; i++)
			tcp_world_connect(&w, 0, 1, (uint16_t)(LOCAL + i), 400 * KIB, i & 1);
		for (i = 0; i < 600; i++) {
			for (k = 0; k < w.num_sides; k++)
				if (w.side[k].flow && sim_prng_chance(&prng, 300000))
					forge_any(&w, &prng, &w.side[k]);
			sim_run_for(w.sim, sim_prng_below(&prng, 20000));
		}
		/* Aborts the remaining connections, and expects every table to be empty. */
		tcp_world_close(&w);
	}
}

UT_MAIN("sim/tcp_forged", UT(path_mtu), UT(anything))
