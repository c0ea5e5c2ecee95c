/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peer of tcp_peer.h.
 */
#include "tests/pair/tcp_peer.h"

#include "shared_defs/wire_tcp.h"

enum {
	WINDOW = 0xffff,
	FIRST_SEQ = (int)0xfffffff0, /* it wraps */
};

static void segment(struct tcp_peer *tp, uint8_t flags, const void *data, uint32_t bytes)
{
	const struct fw_config *from = &tp->cp.rp.end[0].nic->config;
	const struct fw_config *to = &tp->cp.rp.end[1].nic->config;
	const uint8_t mss[] = {WIRE_TCP_OPT_MSS, WIRE_TCP_MSS_BYTES, (uint8_t)(tp->mss >> 8),
			       (uint8_t)tp->mss};
	struct wire_tcp *tcp;
	static struct frame f;

	CU_ASSERT_FATAL(bytes <= TP_MSS);
	frame_eth(&f, to->mac, from->mac, WIRE_ETHERTYPE_IPV4);
	frame_ip(&f, WIRE_IPPROTO_TCP, from->ip, to->ip);
	tcp = frame_tcp(&f, tp->peer_port, tp->nic_port, flags, mss,
			flags & WIRE_TCP_SYN ? sizeof(mss) : 0);
	tcp->seq = be32_put(tp->snd);
	tcp->ack = be32_put(flags & WIRE_TCP_ACK ? tp->rcv : 0);
	tcp->window = be16_put(tp->full ? 0 : WINDOW);
	frame_add(&f, data, bytes);
	frame_seal(f.b, f.n, 0);
	bench_wire_inject(&tp->cp.rp.wire, 1, f.b, f.n);
	tp->snd += bytes + ((flags & (WIRE_TCP_SYN | WIRE_TCP_FIN)) != 0);
}

static void got_syn(struct tcp_peer *tp, const struct wire_tcp *tcp)
{
	if (!(tcp->flags & WIRE_TCP_ACK) && tp->syns)
		CU_ASSERT_FALSE(seq_lt(be32_get(tcp->seq), tp->rcv));
	tp->rcv = be32_get(tcp->seq) + 1;
	tp->open = true;
	if (tcp->flags & WIRE_TCP_ACK) {
		segment(tp, WIRE_TCP_ACK, NULL, 0);
		return;
	}
	tp->syns++;
	tp->syn_ns = tp->cp.rp.end[1].nic->now_ns;
	tp->nic_port = be16_get(tcp->src_port);
	tp->peer_port = be16_get(tcp->dst_port);
	segment(tp, WIRE_TCP_SYN | WIRE_TCP_ACK, NULL, 0);
}

static void got_segment(struct tcp_peer *tp, const struct frame_view *v)
{
	const struct wire_tcp *tcp = v->tcp;
	uint32_t bytes = v->tcp_bytes;
	bool fin = (tcp->flags & WIRE_TCP_FIN) != 0;

	if (tcp->flags & WIRE_TCP_RST) {
		tp->refused |= !tp->open;
		tp->reset = true;
		return;
	}
	if (tp->deaf)
		return;
	if (tcp->flags & WIRE_TCP_SYN) {
		got_syn(tp, tcp);
		return;
	}
	/* Data beyond the window is acknowledged and dropped; so are probes. */
	if (tp->full && (bytes || be32_get(tcp->seq) == tp->rcv - 1)) {
		segment(tp, WIRE_TCP_ACK, NULL, 0);
		return;
	}
	if (!tp->open || (!bytes && !fin) || be32_get(tcp->seq) != tp->rcv)
		return;
	CU_ASSERT_FATAL(tp->rx_bytes + bytes <= TP_BYTES);
	CU_ASSERT(bytes <= tp->mss);
	memcpy(tp->rx + tp->rx_bytes, v->tcp_data, bytes);
	tp->rx_bytes += bytes;
	tp->rcv += bytes + fin;
	tp->closed |= fin;
	segment(tp, WIRE_TCP_ACK, NULL, 0);
}

static enum bench_verdict filter(struct rp *rp, const struct rp_info *info)
{
	const struct frame_view v = frame_read(info->frame->b, info->frame->n);

	if (info->from != 1 || !v.tcp)
		return BENCH_PASS;
	got_segment(rp->ctx, &v);
	return BENCH_DROP;
}

void tcp_peer_begin(struct tcp_peer *tp)
{
	memset(tp, 0, sizeof(*tp));
	cp_begin(&tp->cp);
	tp->cp.rp.ctx = tp;
	tp->cp.rp.filter = filter;
	tp->mss = TP_MSS;
	tcp_peer_new(tp);
	/* Both ends know each other's MAC. */
	rp_open(&tp->cp.rp);
}

void tcp_peer_end(struct tcp_peer *tp)
{
	cp_end(&tp->cp);
}

void tcp_peer_new(struct tcp_peer *tp)
{
	tp->peer_port++;
	if (tp->peer_port < TP_PORT)
		tp->peer_port = TP_PORT;
	tp->snd = (uint32_t)FIRST_SEQ;
	tp->rcv = 0;
	tp->open = tp->refused = tp->reset = tp->closed = false;
	tp->syns = 0;
	tp->deaf = tp->full = false;
	tp->rx_bytes = 0;
}

void tcp_peer_connect(struct tcp_peer *tp, uint16_t port)
{
	tp->nic_port = port;
	segment(tp, WIRE_TCP_SYN, NULL, 0);
	rp_settle(&tp->cp.rp);
}

struct fw_qp *tcp_peer_ask(struct tcp_peer *tp, struct hw_cmd_cm *cm)
{
	struct fw_qp *qp = cp_tcp_qp(&tp->cp, 1);

	cm->port = TP_PORT;
	cm->transport = HW_CM_TRANSPORT_TCP;
	cm->param.qpn = qp->qpn;
	cm->ip = tp->cp.rp.end[0].nic->config.ip;
	cm->ep = cp_bound(&tp->cp, 1, HW_CM_TCP, 0);
	CU_ASSERT_EQUAL_FATAL(cp_cmd(&tp->cp, 1, HW_CMD_CM_CONNECT, cm, NULL), 0);
	rp_run(&tp->cp.rp, 10 * CP_MS);
	return qp;
}

void tcp_peer_send(struct tcp_peer *tp, const void *data, uint32_t bytes, uint32_t size)
{
	const uint8_t *at = data;

	if (!size || size > TP_MSS)
		size = TP_MSS;
	while (bytes) {
		uint32_t n = bytes < size ? bytes : size;

		segment(tp, WIRE_TCP_ACK | WIRE_TCP_PSH, at, n);
		rp_settle(&tp->cp.rp);
		at += n;
		bytes -= n;
	}
	rp_run(&tp->cp.rp, CP_MS);
}

void tcp_peer_fin(struct tcp_peer *tp)
{
	segment(tp, WIRE_TCP_ACK | WIRE_TCP_FIN, NULL, 0);
	rp_run(&tp->cp.rp, CP_MS);
}

void tcp_peer_rst(struct tcp_peer *tp)
{
	segment(tp, WIRE_TCP_ACK | WIRE_TCP_RST, NULL, 0);
	rp_run(&tp->cp.rp, CP_MS);
}
