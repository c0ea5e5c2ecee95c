/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peer of tcp_peer.h.
 */
#include "tests/pair/tcp_peer.h"

#include "shared_defs/wire_tcp.h"

enum {
	TCP_AT = IP_TX_HDR_BYTES,
	DATA_AT = TCP_AT + (int)sizeof(struct wire_tcp),
	WINDOW = 0xffff,
	FIRST_SEQ = (int)0xfffffff0, /* it wraps */
};

static struct be16 checksum(const struct tp *tp, const struct wire_tcp *tcp, uint32_t bytes)
{
	struct wire_tcp_pseudo pseudo = {.proto = WIRE_IPPROTO_TCP,
					 .bytes = be16_put((uint16_t)bytes)};

	memcpy(&pseudo.src, &tp->cp.rp.end[0].nic->config.ip, sizeof(pseudo.src));
	memcpy(&pseudo.dst, &tp->cp.rp.end[1].nic->config.ip, sizeof(pseudo.dst));
	return be16_put(
	    wire_sum_fold(wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)), tcp, bytes)));
}

static void segment(struct tp *tp, uint8_t flags, const void *data, uint32_t bytes)
{
	const struct fw_nic *from = tp->cp.rp.end[0].nic, *to = tp->cp.rp.end[1].nic;
	uint8_t frame[2048] = {0};
	struct wire_eth *eth = (void *)frame;
	struct wire_ip *ip = (void *)(eth + 1);
	struct wire_tcp *tcp = (void *)(ip + 1);
	uint32_t head = sizeof(*tcp) + (flags & WIRE_TCP_SYN ? WIRE_TCP_MSS_BYTES : 0);
	uint8_t *behind = (uint8_t *)tcp + head;

	CU_ASSERT_FATAL(bytes <= TP_MSS);
	memcpy(eth->dst, to->config.mac, WIRE_MAC_BYTES);
	memcpy(eth->src, from->config.mac, WIRE_MAC_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put((uint16_t)(sizeof(*ip) + head + bytes));
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = WIRE_IP_TTL;
	ip->proto = WIRE_IPPROTO_TCP;
	memcpy(&ip->src, &from->config.ip, sizeof(ip->src));
	memcpy(&ip->dst, &to->config.ip, sizeof(ip->dst));
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	tcp->src_port = be16_put(tp->peer_port);
	tcp->dst_port = be16_put(tp->nic_port);
	tcp->seq = be32_put(tp->snd);
	tcp->ack = be32_put(flags & WIRE_TCP_ACK ? tp->rcv : 0);
	tcp->data_offset = (uint8_t)(head / 4 << 4);
	tcp->flags = flags;
	tcp->window = be16_put(tp->full ? 0 : WINDOW);
	if (flags & WIRE_TCP_SYN) {
		uint8_t *opt = (uint8_t *)(tcp + 1);

		opt[0] = WIRE_TCP_OPT_MSS;
		opt[1] = WIRE_TCP_MSS_BYTES;
		opt[2] = (uint8_t)(tp->mss >> 8);
		opt[3] = (uint8_t)tp->mss;
	}
	if (bytes)
		memcpy(behind, data, bytes);
	tcp->checksum = checksum(tp, tcp, head + bytes);
	bench_wire_inject(&tp->cp.rp.wire, 1, frame,
			  (uint32_t)sizeof(*eth) + (uint32_t)sizeof(*ip) + head + bytes);
	tp->snd += bytes + ((flags & (WIRE_TCP_SYN | WIRE_TCP_FIN)) != 0);
}

static void got_syn(struct tp *tp, const struct wire_tcp *tcp)
{
	tp->rcv = be32_get(tcp->seq) + 1;
	tp->open = true;
	if (tcp->flags & WIRE_TCP_ACK) {
		segment(tp, WIRE_TCP_ACK, NULL, 0);
		return;
	}
	tp->syns++;
	tp->nic_port = be16_get(tcp->src_port);
	tp->peer_port = be16_get(tcp->dst_port);
	segment(tp, WIRE_TCP_SYN | WIRE_TCP_ACK, NULL, 0);
}

static void got_segment(struct tp *tp, const struct bench_frame *frame)
{
	const struct wire_ip *ip = (const void *)(frame->b + sizeof(struct wire_eth));
	const struct wire_tcp *tcp = (const void *)(frame->b + TCP_AT);
	uint32_t head = (uint32_t)(tcp->data_offset >> 4) * 4;
	uint32_t bytes = be16_get(ip->total_bytes) - (uint32_t)sizeof(*ip) - head;
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
	/* What the window has no room for is answered, and not taken; probes are too. */
	if (tp->full && (bytes || be32_get(tcp->seq) == tp->rcv - 1)) {
		segment(tp, WIRE_TCP_ACK, NULL, 0);
		return;
	}
	if (!tp->open || (!bytes && !fin) || be32_get(tcp->seq) != tp->rcv)
		return;
	CU_ASSERT_FATAL(tp->rx_bytes + bytes <= TP_BYTES);
	CU_ASSERT(bytes <= tp->mss);
	memcpy(tp->rx + tp->rx_bytes, (const uint8_t *)tcp + head, bytes);
	tp->rx_bytes += bytes;
	tp->rcv += bytes + fin;
	tp->closed |= fin;
	segment(tp, WIRE_TCP_ACK, NULL, 0);
}

static enum bench_verdict filter(struct rp *rp, const struct rp_info *info)
{
	struct tp *tp = rp->ctx;
	const struct bench_frame *frame = info->frame;
	const struct wire_eth *eth = (const void *)frame->b;
	const struct wire_ip *ip = (const void *)(eth + 1);

	if (info->from != 1 || frame->n < DATA_AT || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 ||
	    ip->proto != WIRE_IPPROTO_TCP)
		return BENCH_PASS;
	got_segment(tp, frame);
	return BENCH_DROP;
}

void tp_begin(struct tp *tp)
{
	memset(tp, 0, sizeof(*tp));
	cp_begin(&tp->cp);
	tp->cp.rp.ctx = tp;
	tp->cp.rp.filter = filter;
	tp->mss = TP_MSS;
	tp_new(tp);
	/* Both know each other's MAC. */
	rp_open(&tp->cp.rp);
}

void tp_end(struct tp *tp)
{
	cp_end(&tp->cp);
}

void tp_new(struct tp *tp)
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

void tp_connect(struct tp *tp, uint16_t port)
{
	tp->nic_port = port;
	segment(tp, WIRE_TCP_SYN, NULL, 0);
	rp_settle(&tp->cp.rp);
}

struct fw_qp *tp_ask(struct tp *tp, struct hw_cmd_cm *cm)
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

void tp_send(struct tp *tp, const void *data, uint32_t bytes, uint32_t size)
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

void tp_fin(struct tp *tp)
{
	segment(tp, WIRE_TCP_ACK | WIRE_TCP_FIN, NULL, 0);
	rp_run(&tp->cp.rp, CP_MS);
}

void tp_rst(struct tp *tp)
{
	segment(tp, WIRE_TCP_ACK | WIRE_TCP_RST, NULL, 0);
	rp_run(&tp->cp.rp, CP_MS);
}
