/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged segments; see tcp_forge.h.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
};

/* Ethernet and IPv4 headers of a packet to a NIC, from a station that is no NIC. */
static void put_ip(struct frame *f, const struct sim_nic *to, uint32_t src_ip, uint8_t proto)
{
	uint8_t src[WIRE_MAC_BYTES];

	memcpy(src, sim_nic_mac(to), sizeof(src));
	src[5] ^= 0x40;
	frame_eth(f, sim_nic_mac(to), src, WIRE_ETHERTYPE_IPV4);
	frame_ip(f, proto, src_ip, sim_nic_ip(to))->frag = be16_put(0);
}

void forge_reseal(uint8_t *b)
{
	const struct wire_ip *ip = (const void *)(b + FRAME_IP_AT);

	frame_seal(b, FRAME_IP_AT + be16_get(ip->total_bytes), FRAME_KEEP_LENGTHS);
}

void forge_inject(struct sim_nic *nic, const struct tcp_flow *flow, uint16_t port,
		  const struct forged *f)
{
	uint8_t ts[WIRE_TCP_TS_PADDED_BYTES];
	const uint8_t *opts = f->opts;
	uint32_t opt = f->opt_bytes;
	struct wire_tcp *tcp;
	struct frame out;

	if (!opts && flow && flow->flags & TCP_F_TS) {
		opt = tcp_opt_ts(ts, f->ts_val ? f->ts_val : flow->ts_recent, 0);
		opts = ts;
	}
	put_ip(&out, nic, flow ? flow->peer_ip : f->src_ip, WIRE_IPPROTO_TCP);
	tcp = frame_tcp(&out, flow ? flow->peer_port : f->src_port, flow ? flow->local_port : port,
			f->flags, opts, opt);
	tcp->seq = be32_put(f->seq);
	tcp->ack = be32_put(f->ack);
	tcp->window = be16_put(f->window);
	if (f->offset_words)
		tcp->data_offset = (uint8_t)(f->offset_words << 4);
	frame_fill(&out, 0xee, f->bytes);
	frame_seal(out.b, out.n, 0);
	tcp->checksum = be16_put((uint16_t)(be16_get(tcp->checksum) ^ f->bad_sum));
	sim_inject(nic, out.b, out.n);
}

void bad_open(struct bad *t)
{
	tcp_world_open(&t->w, 1, NULL, NULL);
	tcp_world_listen(&t->w, 1, TCP_FIX_PORT, 2);
	t->w.accept.want_tx = 10 * KIB;
	t->a = tcp_world_connect(&t->w, 0, 1, FORGE_LOCAL_PORT, 20 * KIB, false);
	sim_run_for(t->w.sim, SECOND);
	t->b = tcp_world_accepted(&t->w, 0);
	FIX_REQUIRE(&t->w, t->b && t->a->received == 10 * KIB && t->b->received == 20 * KIB);
}

void bad_close(struct bad *t)
{
	t->b->close_on_fin = true;
	tcp_side_send(t->b, 10 * KIB, false);
	tcp_side_send(t->a, 10 * KIB, true);
	FIX_CHECK(&t->w, tcp_world_ended(&t->w, 10 * SECOND));
	FIX_CHECK(&t->w, t->a->received == 20 * KIB && t->b->received == 30 * KIB);
	FIX_CHECK(&t->w, t->a->why == TCP_END_CLOSED && t->b->why == TCP_END_CLOSED);
	tcp_world_close(&t->w);
}

void forge(struct bad *t, struct forged f)
{
	forge_inject(t->w.nic[0], t->a->flow, 0, &f);
	sim_run_for(t->w.sim, FIX_MS);
}

void forge_icmp(struct bad *t, uint8_t code, uint16_t mtu, uint32_t seq)
{
	const struct wire_icmp_unreach unreach = {
	    .type = WIRE_ICMP_UNREACHABLE, .code = code, .mtu = be16_put(mtu)};
	const struct tcp_flow *flow = t->a->flow;
	struct frame out;

	put_ip(&out, t->w.nic[0], flow->peer_ip, WIRE_IPPROTO_ICMP);
	frame_add(&out, &unreach, sizeof(unreach));
	/* The IPv4 header and the first eight bytes of the segment. */
	frame_ip(&out, WIRE_IPPROTO_TCP, sim_nic_ip(t->w.nic[0]), flow->peer_ip);
	frame_tcp(&out, flow->local_port, flow->peer_port, 0, NULL, 0)->seq = be32_put(seq);
	out.n -= (uint32_t)sizeof(struct wire_tcp) - 8;
	frame_seal(out.b, out.n, 0);
	sim_inject(t->w.nic[0], out.b, out.n);
	sim_run_for(t->w.sim, FIX_MS);
}
