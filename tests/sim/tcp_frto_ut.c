/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spurious and genuine timeouts: a peer that does not run for a while, a path that stalls, a path
 * that loses everything. With timestamps and SACK, without either. RFC 5682, RFC 3522, RFC 9438
 * 4.9.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)

enum {
	MIB = 1 << 20,
	LOCAL = 1000,
	TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
};

/* Options that the peer lacks, and whether it acknowledges each segment. */
struct peer {
	uint8_t hide[2]; /* kinds of options missing in SYNs */
	bool each;
};

static enum sim_verdict change(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_eth *eth = (void *)frame;
	const struct wire_ip *ip = (const void *)(eth + 1);
	struct wire_tcp *tcp = (void *)(frame + TCP_AT);
	uint8_t *opt = (uint8_t *)(tcp + 1);
	const struct peer *peer = ctx;
	uint32_t at, n;

	(void)from;
	(void)bytes;
	if (be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || ip->proto != WIRE_IPPROTO_TCP)
		return SIM_PASS;
	n = (tcp->data_offset >> 4) * 4u - (uint32_t)sizeof(*tcp);
	for (at = 0; tcp->flags & WIRE_TCP_SYN && at < n;) {
		uint32_t length = opt[at] == WIRE_TCP_OPT_NOP ? 1 : opt[at + 1];

		if (opt[at] == peer->hide[0] || opt[at] == peer->hide[1])
			memset(opt + at, WIRE_TCP_OPT_NOP, length);
		at += length;
	}
	if (peer->each)
		tcp->flags |= WIRE_TCP_PSH;
	forge_reseal(frame);
	return SIM_PASS;
}

struct frto {
	struct tcp_world w;
	struct tcp_side *a;
	uint32_t cwnd, ssthresh;
	uint64_t again;
};

/* In the middle of a stream, with CUBIC in congestion avoidance. */
static void frto_open(struct frto *t, const struct peer *peer)
{
	struct sim_config config;

	sim_config_default(&config);
	config.poll_budget = peer->each ? 1 : config.poll_budget;
	config.link.gap_ps_per_byte = 8000; /* 1 Gb/s */
	config.link.latency_ns = 200000;
	config.link.queue_bytes = MIB;
	tcp_world_open(&t->w, 1, &config, NULL);
	sim_set_filter(t->w.sim, change, (void *)(uintptr_t)peer);
	tcp_world_listen(&t->w, 1, TCP_FIX_PORT, 2);
	t->w.accept.close_on_fin = true;
	t->a = tcp_world_connect(&t->w, 0, 1, LOCAL, 0, false);
	sim_run_for(t->w.sim, FIX_MS);
	FIX_REQUIRE(&t->w, t->a->opened);
	t->a->flow->cwnd = 40u * t->a->flow->mss;
	t->a->flow->ssthresh = 40u * t->a->flow->mss;
	tcp_side_send(t->a, 16 * MIB, true);
	sim_run_for(t->w.sim, 5 * FIX_MS);
	FIX_REQUIRE(&t->w, t->a->flow->pipe > 30u * t->a->flow->mss);
	FIX_REQUIRE(&t->w, tcp_stat(&t->w, 0, "tcp_tx_retransmits") == 0);
	t->cwnd = t->a->flow->cwnd;
	t->ssthresh = t->a->flow->ssthresh;
}

static void frto_close(struct frto *t)
{
	FIX_CHECK(&t->w, tcp_world_ended(&t->w, 10 * SECOND));
	FIX_CHECK(&t->w, t->a->acked == 16 * MIB && t->a->why == TCP_END_CLOSED);
	tcp_world_close(&t->w);
}

static const struct peer peers[] = {
    {.each = false},
    {.each = true},
    {.hide = {WIRE_TCP_OPT_TS}},
    {.hide = {WIRE_TCP_OPT_TS}, .each = true},
    {.hide = {WIRE_TCP_OPT_SACK_OK}},
    {.hide = {WIRE_TCP_OPT_TS, WIRE_TCP_OPT_SACK_OK}},
    {.hide = {WIRE_TCP_OPT_TS, WIRE_TCP_OPT_SACK_OK}, .each = true},
};

/* The peer does not run for 300 ms, or the frames are delayed on their way to it. */
static void standstill(void)
{
	struct frto t;
	uint32_t i;

	for (i = 0; i < 2 * sizeof(peers) / sizeof(peers[0]); i++) {
		frto_open(&t, &peers[i / 2]);
		if (i & 1)
			sim_clog(t.w.nic[1], true);
		else
			sim_nic_pause(t.w.nic[1], 300 * FIX_MS);
		sim_run_for(t.w.sim, 300 * FIX_MS);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_timeouts") == 1);
		if (i & 1)
			sim_clog(t.w.nic[1], false);
		sim_run_for(t.w.sim, 5 * FIX_MS);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_spurious_timeouts") == 1);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_undone") == 1);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_recoveries") == 0);
		/* The first segment, and a probe of the tail. */
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") <= 2);
		FIX_CHECK(&t.w, t.a->flow && t.a->flow->cwnd >= t.cwnd &&
				    t.a->flow->ssthresh == t.ssthresh);
		frto_close(&t);
	}
}

/* Everything in flight is lost: the window stays reduced, everything is sent again, once. */
static void lost(void)
{
	struct frto t;
	uint32_t i;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		frto_open(&t, &peers[i]);
		sim_block(t.w.nic[0], t.w.nic[1], true);
		sim_run_for(t.w.sim, 150 * FIX_MS);
		sim_heal(t.w.sim);
		sim_run_for(t.w.sim, 100 * FIX_MS);
		FIX_CHECK(&t.w, t.a->flow && t.a->flow->ssthresh < t.ssthresh * 8 / 10);
		FIX_CHECK(&t.w, tcp_world_ended(&t.w, 10 * SECOND));
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_timeouts") == 1);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_spurious_timeouts") == 0);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_undone") == 0);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") >= 30);
		FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") <= 60);
		frto_close(&t);
	}
}

/* All ACKs are lost for a while: later ACKs repeat them, nothing is missing. */
static void acks_lost(void)
{
	struct frto t;

	frto_open(&t, &peers[1]);
	sim_block(t.w.nic[1], t.w.nic[0], true);
	sim_run_for(t.w.sim, 150 * FIX_MS);
	sim_heal(t.w.sim);
	sim_run_for(t.w.sim, 100 * FIX_MS);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_timeouts") == 1);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_undone") == 1);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") <= 2);
	frto_close(&t);
}

/* Two timeouts, one after the other, of the same stall. */
static void twice(void)
{
	struct frto t;

	frto_open(&t, &peers[0]);
	sim_nic_pause(t.w.nic[1], 800 * FIX_MS);
	sim_run_for(t.w.sim, 810 * FIX_MS);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_timeouts") == 2);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_spurious_timeouts") == 1);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_tx_retransmits") <= 3);
	FIX_CHECK(&t.w, t.a->flow && t.a->flow->cwnd >= t.cwnd);
	frto_close(&t);
}

UT_MAIN("sim/tcp_frto", UT(standstill), UT(lost), UT(acks_lost), UT(twice))
