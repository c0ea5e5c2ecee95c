/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged segments; see tcp_forge.h.
 */
#include "tests/sim/tcp_forge.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	MAX_FRAME = 2048,
};

void forge_ip(uint8_t *frame, const struct sim_nic *to, uint32_t src_ip, uint8_t proto,
	      uint32_t bytes)
{
	struct wire_eth *eth = (void *)frame;
	struct wire_ip *ip = (void *)(eth + 1);
	uint32_t dst_ip = sim_nic_ip(to);

	memcpy(eth->dst, sim_nic_mac(to), WIRE_MAC_BYTES);
	memcpy(eth->src, sim_nic_mac(to), WIRE_MAC_BYTES);
	eth->src[5] ^= 0x40;
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	*ip = (struct wire_ip){
	    .version_ihl = WIRE_IP_VERSION_IHL,
	    .total_bytes = be16_put((uint16_t)(sizeof(*ip) + bytes)),
	    .ttl = 64,
	    .proto = proto,
	};
	memcpy(&ip->src, &src_ip, 4);
	memcpy(&ip->dst, &dst_ip, 4);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
}

void forge_reseal(uint8_t *frame)
{
	struct wire_ip *ip = (void *)(frame + sizeof(struct wire_eth));
	uint32_t n = be16_get(ip->total_bytes) - (uint32_t)sizeof(*ip);
	struct wire_tcp_pseudo pseudo = {.src = ip->src,
					 .dst = ip->dst,
					 .proto = WIRE_IPPROTO_TCP,
					 .bytes = be16_put((uint16_t)n)};
	struct wire_tcp *tcp = (void *)(frame + FORGE_TCP_AT);

	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	tcp->checksum = be16_put(0);
	tcp->checksum =
	    be16_put(wire_sum_fold(wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)), tcp, n)));
}

void forge_inject(struct sim_nic *nic, const struct tcp_flow *flow, uint16_t port,
		  const struct forged *f)
{
	uint8_t frame[MAX_FRAME] = {0}, ts[WIRE_TCP_TS_PADDED_BYTES];
	struct wire_tcp *tcp = (void *)(frame + FORGE_TCP_AT);
	uint32_t src_ip = flow ? flow->peer_ip : f->src_ip, n, opt = f->opt_bytes;
	const uint8_t *opts = f->opts;

	if (!opts && flow && flow->flags & TCP_F_TS) {
		opt = tcp_opt_ts(ts, f->ts_val ? f->ts_val : flow->ts_recent, 0);
		opts = ts;
	}
	if (opt)
		memcpy(tcp + 1, opts, opt);
	memset((uint8_t *)(tcp + 1) + opt, 0xee, f->bytes);
	n = (uint32_t)sizeof(*tcp) + opt + f->bytes;
	forge_ip(frame, nic, src_ip, WIRE_IPPROTO_TCP, n);
	tcp->src_port = be16_put(flow ? flow->peer_port : f->src_port);
	tcp->dst_port = be16_put(flow ? flow->local_port : port);
	tcp->seq = be32_put(f->seq);
	tcp->ack = be32_put(f->ack);
	tcp->flags = f->flags;
	tcp->window = be16_put(f->window);
	tcp->data_offset =
	    (uint8_t)((f->offset_words ? f->offset_words : (sizeof(*tcp) + opt) / 4) << 4);
	forge_reseal(frame);
	tcp->checksum = be16_put((uint16_t)(be16_get(tcp->checksum) ^ f->bad_sum));
	sim_inject(nic, frame, FORGE_TCP_AT + n);
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
	uint8_t frame[FORGE_TCP_AT + sizeof(struct wire_icmp_unreach) + 28] = {0};
	struct wire_icmp_unreach *u = (void *)(frame + FORGE_TCP_AT);
	struct wire_ip *ip = (void *)(u + 1);
	struct wire_tcp *tcp = (void *)(ip + 1);
	struct tcp_flow *flow = t->a->flow;
	uint32_t src = sim_nic_ip(t->w.nic[0]), n = sizeof(*u) + 28;

	forge_ip(frame, t->w.nic[0], flow->peer_ip, WIRE_IPPROTO_ICMP, n);
	u->type = WIRE_ICMP_UNREACHABLE;
	u->code = code;
	u->mtu = be16_put(mtu);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->proto = WIRE_IPPROTO_TCP;
	memcpy(&ip->src, &src, 4);
	memcpy(&ip->dst, &flow->peer_ip, 4);
	tcp->src_port = be16_put(flow->local_port);
	tcp->dst_port = be16_put(flow->peer_port);
	tcp->seq = be32_put(seq);
	u->checksum = be16_put(wire_sum_fold(wire_sum_add(0, u, n)));
	sim_inject(t->w.nic[0], frame, sizeof(frame));
	sim_run_for(t->w.sim, FIX_MS);
}
