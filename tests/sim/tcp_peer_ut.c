/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP with peers of fewer features, and networks with one fault at one moment: no SACK, no
 * timestamps, no window scale, no options at all; ECN marks; loss of the segment that hurts most.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
	LOCAL = 1000,
	TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
};

/* A filter: its effect on SYNs, and on the frames that it counts. */
struct meddler {
	struct tcp_world *w;
	uint8_t hide[4];                   /* kinds of options to remove from SYNs */
	uint32_t hide_all;                 /* removes all options */
	uint32_t mark_each;                /* one data segment of NIC 0 in this many is marked CE */
	uint32_t data, drop_from, drop_to; /* data segments of NIC 0, by number */
	bool drop_odd;                     /* every second one of these */
	uint8_t drop_flags;                /* the first frame with these flags is lost */
	uint32_t dropped, marked, lost_retrans;
};

static struct wire_tcp *tcp_of(uint8_t *frame)
{
	return (void *)(frame + TCP_AT);
}

/* Options become NOPs. */
static void hide(const struct meddler *m, uint8_t *frame)
{
	struct wire_tcp *tcp = tcp_of(frame);
	uint8_t *opt = (uint8_t *)(tcp + 1);
	uint32_t n = (tcp->data_offset >> 4) * 4u - (uint32_t)sizeof(*tcp), at = 0, i;

	while (at < n && opt[at] != WIRE_TCP_OPT_END) {
		uint32_t bytes = opt[at] == WIRE_TCP_OPT_NOP ? 1 : opt[at + 1];
		bool gone = m->hide_all;

		for (i = 0; i < sizeof(m->hide); i++)
			gone |= m->hide[i] && m->hide[i] == opt[at];
		if (gone)
			memset(opt + at, WIRE_TCP_OPT_NOP, bytes);
		at += bytes;
	}
	forge_reseal(frame);
}

static enum sim_verdict meddle(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct wire_eth *eth = (void *)frame;
	struct wire_ip *ip = (void *)(eth + 1);
	struct meddler *m = ctx;
	uint32_t payload;

	(void)bytes;
	if (be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || ip->proto != WIRE_IPPROTO_TCP)
		return SIM_PASS;
	if (tcp_of(frame)->flags & WIRE_TCP_SYN)
		hide(m, frame);
	if (m->drop_flags && (tcp_of(frame)->flags & m->drop_flags) == m->drop_flags) {
		m->drop_flags = 0;
		m->dropped++;
		return SIM_DROP;
	}
	payload = be16_get(ip->total_bytes) - (uint32_t)sizeof(*ip) -
		  (tcp_of(frame)->data_offset >> 4) * 4u;
	if (from != m->w->nic[0] || !payload)
		return SIM_PASS;
	m->data++;
	if (m->data > m->drop_from && m->data <= m->drop_to && (!m->drop_odd || m->data & 1)) {
		m->dropped++;
		return SIM_DROP;
	}
	if (m->mark_each && m->data % m->mark_each == 0 &&
	    (ip->tos & WIRE_IP_ECN_MASK) == WIRE_IP_ECT0) {
		ip->tos |= WIRE_IP_CE;
		m->marked++;
		forge_reseal(frame);
	}
	return SIM_PASS;
}

static void run(struct tcp_world *w, struct meddler *m, uint64_t seed, const char *faults,
		uint64_t bytes)
{
	struct tcp_side *a, *b;

	tcp_world_open(w, seed, NULL, faults);
	m->w = w;
	sim_set_filter(w->sim, meddle, m);
	tcp_world_listen(w, 1, TCP_FIX_PORT, 2);
	w->accept = (struct tcp_side){.want_tx = bytes / 4, .close_on_fin = true};
	a = tcp_world_connect(w, 0, 1, LOCAL, bytes, true);
	FIX_CHECK(w, tcp_world_ended(w, 300 * SECOND));
	b = tcp_world_accepted(w, 0);
	FIX_REQUIRE(w, b != NULL);
	FIX_CHECK(w, a->received == bytes / 4 && b->received == bytes);
	FIX_CHECK(w, a->why == TCP_END_CLOSED && b->why == TCP_END_CLOSED);
}

/* Every set of options that a peer may lack, with losses. */
static void options_missing(void)
{
	static const uint8_t kinds[] = {WIRE_TCP_OPT_SACK_OK, WIRE_TCP_OPT_TS, WIRE_TCP_OPT_WSCALE,
					WIRE_TCP_OPT_MSS};
	struct tcp_world w;
	uint32_t set, i;

	for (set = 0; set < 16; set++) {
		struct meddler m = {.hide_all = 0};

		for (i = 0; i < 4; i++)
			m.hide[i] = set >> i & 1 ? kinds[i] : 0;
		run(&w, &m, 1 + set, "loss=1,dup,reorder", 400 * KIB);
		tcp_world_close(&w);
	}
}

static void no_options(void)
{
	struct meddler m = {.hide_all = 1};
	struct tcp_world w;

	run(&w, &m, 1, NULL, MIB);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 0);
	/* RFC 9293 3.7.1: 536 bytes. */
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_segments") >= MIB / 536);
	tcp_world_close(&w);
}

/* Without SACK the third duplicate ACK, and each later partial one, shows the loss. */
static void newreno(void)
{
	struct meddler m = {.hide = {WIRE_TCP_OPT_SACK_OK}, .drop_from = 40, .drop_to = 41};
	struct tcp_world w;

	run(&w, &m, 1, NULL, MIB);
	FIX_CHECK(&w, m.dropped == 1 && tcp_stat(&w, 0, "tcp_tx_retransmits") == 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_recoveries") == 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") == 0);
	tcp_world_close(&w);
}

/* With SACK a burst of losses costs one recovery and each lost segment once. */
static void burst(void)
{
	struct meddler m = {.drop_from = 60, .drop_to = 80};
	struct tcp_world w;

	run(&w, &m, 1, NULL, 2 * MIB);
	FIX_CHECK(&w, m.dropped == 20 && tcp_stat(&w, 0, "tcp_tx_retransmits") == 20);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_recoveries") == 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") == 0);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_rx_duplicates") == 0);
	tcp_world_close(&w);
}

/* More gaps than blocks in an ACK: all received data is reported in the end. */
static void many_gaps(void)
{
	struct meddler m = {.drop_from = 60, .drop_to = 100, .drop_odd = true};
	struct tcp_world w;

	run(&w, &m, 1, NULL, 2 * MIB);
	FIX_CHECK(&w, m.dropped == 20 && tcp_stat(&w, 0, "tcp_tx_retransmits") == 20);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_recoveries") == 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") == 0);
	tcp_world_close(&w);
}

/* The last segments are lost: a tail probe finds it before the timeout. */
static void tail(void)
{
	struct meddler m = {.drop_to = 0};
	struct tcp_world w;
	uint32_t total;

	run(&w, &m, 1, NULL, 100 * KIB);
	total = m.data;
	tcp_world_close(&w);
	m = (struct meddler){.drop_from = total - 3, .drop_to = total, .drop_flags = WIRE_TCP_FIN};
	run(&w, &m, 1, NULL, 100 * KIB);
	FIX_CHECK(&w, m.dropped == 4 && tcp_stat(&w, 0, "tcp_tail_probes") > 0);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") == 0);
	tcp_world_close(&w);
}

/* FIN arrives without the data before it: it shows the loss, and no timer is needed. */
static void before_fin(void)
{
	struct meddler m = {.drop_from = 23, .drop_to = 26};
	struct tcp_world w;
	uint64_t start_ns;

	run(&w, &m, 1, NULL, 100 * KIB);
	start_ns = sim_now_ns(w.sim);
	FIX_CHECK(&w, m.dropped == 3 && start_ns < 10 * FIX_MS);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 3);
	tcp_world_close(&w);
}

/* SYN, SYN-ACK, FIN, each lost once. */
static void control_lost(void)
{
	static const uint8_t flags[] = {WIRE_TCP_SYN, WIRE_TCP_SYN | WIRE_TCP_ACK, WIRE_TCP_FIN};
	struct tcp_world w;
	uint32_t i;

	for (i = 0; i < sizeof(flags); i++) {
		struct meddler m = {.drop_flags = flags[i]};

		run(&w, &m, 1, NULL, 50 * KIB);
		FIX_CHECK(&w, m.dropped == 1);
		tcp_world_close(&w);
	}
}

/* Loss of the SYN, or the SYN-ACK, several times: the effect on the window and on the RTO. */
static void syn_lost(void)
{
	uint32_t lost, passive;
	struct tcp_side *side;
	struct tcp_world w;

	for (lost = 0; lost < 6; lost++) {
		passive = lost & 1;
		tcp_world_open(&w, 1, NULL, NULL);
		tcp_world_listen(&w, 1, TCP_FIX_PORT, 1);
		/* Keeps ARP out of the test. */
		tcp_world_connect(&w, 0, 1, LOCAL, 0, true);
		sim_run_for(w.sim, FIX_MS);
		if (lost / 2)
			sim_block(w.nic[passive], w.nic[!passive], true);
		side = tcp_world_connect(&w, 0, 1, LOCAL + 1, 0, false);
		/* Timeouts of 1 s and 3 s. */
		sim_run_for(w.sim, lost / 2 == 1 ? SECOND / 2 : 2 * SECOND);
		sim_heal(w.sim);
		sim_run_for(w.sim, 4 * SECOND);
		FIX_REQUIRE(&w, side->opened && tcp_world_accepted(&w, 1));
		side = passive ? tcp_world_accepted(&w, 1) : side;
		FIX_CHECK(&w, side->flow->ssthresh == UINT32_MAX);
		FIX_CHECK(&w, !(side->flow->flags & TCP_F_LOSS));
		FIX_CHECK(&w, side->flow->rto_ns == (lost / 2 ? TCP_SLOW_RTO_NS : TCP_MIN_RTO_NS));
		FIX_CHECK(&w, side->flow->syn_tries == lost / 2);
		FIX_CHECK(&w, (side->flow->cwnd == side->flow->mss) == (lost / 2 == 2));
		tcp_world_close(&w);
	}
}

/* Segments a little shorter than the MSS, as FPDUs are: every second one is acknowledged. */
static void short_segments(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	w.accept.close_on_fin = true;
	a = tcp_world_connect(&w, 0, 1, LOCAL, 4 * MIB, true);
	a->record_bytes = 4040;
	FIX_CHECK(&w, tcp_world_ended(&w, 10 * FIX_MS));
	FIX_CHECK(&w, a->acked == 4 * MIB);
	tcp_world_close(&w);
}

/* Marks cut the window at most once a round trip; nothing is sent twice. */
static void ecn(void)
{
	struct meddler m = {.mark_each = 50};
	struct tcp_world w;

	run(&w, &m, 1, NULL, 4 * MIB);
	FIX_CHECK(&w, m.marked > 3);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_ecn_cuts") > 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_ecn_cuts") <= m.marked);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 0);
	tcp_world_close(&w);
}

/* A switch with a short queue: ECN keeps it from filling, or loss limits the rate. */
static void congestion(void)
{
	struct sim_config config;
	struct tcp_world w;
	struct tcp_side *a;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		sim_config_default(&config);
		config.link.gap_ps_per_byte = 8000; /* 1 Gb/s */
		config.link.queue_bytes = 60 * KIB;
		config.link.ecn_bytes = i ? 30 * KIB : 0;
		tcp_world_open(&w, 1, &config, NULL);
		/* The path to the receiver is half as fast. */
		sim_nic_link(w.nic[1])->gap_ps_per_byte = 16000;
		tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
		w.accept.close_on_fin = true;
		a = tcp_world_connect(&w, 0, 1, LOCAL, 4 * MIB, true);
		FIX_CHECK(&w, tcp_world_ended(&w, 2 * SECOND));
		FIX_CHECK(&w, a->acked == 4 * MIB && a->why == TCP_END_CLOSED);
		if (i)
			FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_ecn_cuts") > 0);
		tcp_world_close(&w);
	}
}

/* ACKs overtake one another by more than a tick of their clock. */
static void acks_overtake(void)
{
	struct tcp_world w;
	struct tcp_side *a;

	tcp_world_open(&w, 1, NULL, NULL);
	sim_nic_link(w.nic[0])->fault.reorder_ppm = 50000;
	sim_nic_link(w.nic[0])->reorder_ns = 5 * FIX_MS;
	sim_nic_link(w.nic[1])->gap_ps_per_byte = 16000;
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 2);
	a = tcp_world_connect(&w, 0, 1, LOCAL, 8 * MIB, false);
	sim_run_for(w.sim, SECOND);
	FIX_CHECK(&w, a->acked == 8 * MIB);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_rx_late_acks") > 10);
	FIX_CHECK(&w, tcp_stat(&w, 0, "drop_tcp_paws") == 0);
	/* The ACK of the SYN-ACK. */
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_acks") <= 1);
	tcp_world_close(&w);
}

/* Many connections share NICs, each stream whole; small records and large. */
static void many(void)
{
	struct tcp_world w;
	uint32_t i;

	tcp_world_open(&w, 1, NULL, "loss=0.5,reorder");
	tcp_world_listen(&w, 1, TCP_FIX_PORT, TCP_FIX_SIDES);
	w.accept = (struct tcp_side){.want_tx = 20 * KIB, .close_on_fin = true};
	for (i = 0; i < TCP_FIX_SIDES / 2; i++)
		tcp_world_connect(&w, 0, 1, (uint16_t)(LOCAL + i), 40 * KIB, true)->record_bytes =
		    1u << i % 14;
	FIX_CHECK(&w, tcp_world_ended(&w, 300 * SECOND));
	for (i = 0; i < w.num_sides; i++)
		FIX_CHECK(&w, w.side[i].received == (w.side[i].accepted ? 40 : 20) * KIB);
	FIX_CHECK(&w, w.num_sides == TCP_FIX_SIDES);
	tcp_world_close(&w);
}

UT_MAIN("sim/tcp_peer", UT(options_missing), UT(no_options), UT(newreno), UT(burst), UT(many_gaps),
	UT(tail), UT(before_fin), UT(control_lost), UT(syn_lost), UT(short_segments), UT(ecn),
	UT(congestion), UT(acks_overtake), UT(many))
