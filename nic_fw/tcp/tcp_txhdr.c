/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP headers and checksums of segments out, and segments of no connection: a listener's SYN-ACKs,
 * and resets.
 *
 * Calls ip_tx_header() and eth_tx. RFC 9293 3.1, 3.10.7.1 (resets), RFC 7323 3.2, RFC 3168 6.1.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"

enum {
	TCP_AT = IP_TX_HDR_BYTES,
	OPT_AT = TCP_AT + sizeof(struct wire_tcp),
	CSUM_AT = TCP_AT + offsetof(struct wire_tcp, checksum),
};
static_assert(OPT_AT + WIRE_TCP_OPT_MAX_BYTES < FW_TX_HDR_BYTES, "room for the layer above");

static uint32_t pseudo_sum(const struct fw_nic *nic, uint32_t peer_ip, uint32_t bytes)
{
	struct be32 src, dst;

	memcpy(&src, &nic->config.ip, sizeof(src));
	memcpy(&dst, &peer_ip, sizeof(dst));
	return tcp_pseudo_sum(src, dst, bytes);
}

void tcp_tx_checksum(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t peer_ip,
		     uint32_t hdr_end, uint32_t payload)
{
	struct wire_tcp *tcp = (struct wire_tcp *)(frame->hdr + TCP_AT);
	uint32_t sum = pseudo_sum(nic, peer_ip, hdr_end - TCP_AT + payload);

	if (payload) {
		tcp->checksum = be16_put((uint16_t)sum);
		frame->csum_start = TCP_AT;
		frame->csum_at = CSUM_AT;
		return;
	}
	tcp->checksum = be16_put(0);
	tcp->checksum = be16_put(wire_sum_fold(wire_sum_add(sum, tcp, hdr_end - TCP_AT)));
}

static void put_tcp(struct fw_tx_frame *frame, uint16_t local_port, uint16_t peer_port,
		    uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window, uint32_t opt_bytes)
{
	struct wire_tcp *tcp = (struct wire_tcp *)(frame->hdr + TCP_AT);

	tcp->src_port = be16_put(local_port);
	tcp->dst_port = be16_put(peer_port);
	tcp->seq = be32_put(seq);
	tcp->ack = be32_put(flags & WIRE_TCP_ACK ? ack : 0);
	tcp->data_offset = (uint8_t)((sizeof(*tcp) + opt_bytes) / 4 << 4);
	tcp->flags = flags;
	tcp->window = be16_put(window);
	tcp->urgent = be16_put(0);
}

/* Writes the options of a segment: a SYN offers ours, a SYN-ACK those that both ends support. */
static uint32_t put_options(struct fw_nic *nic, const struct tcp_flow *flow, uint8_t *dst,
			    uint8_t flags, bool sack)
{
	uint32_t ts_val = tcp_ts_now(nic->now_ns) + flow->ts_offset, at = 0, count;
	uint32_t ts_ecr = flags & WIRE_TCP_ACK ? flow->ts_recent : 0;
	struct tcp_block blocks[TCP_SACK_BLOCKS];

	if (flags & WIRE_TCP_SYN)
		return tcp_opt_syn(
		    dst,
		    (uint16_t)(nic->config.mtu - sizeof(struct wire_ip) - sizeof(struct wire_tcp)),
		    flow->flags, TCP_RCV_WSCALE, ts_val, ts_ecr);
	if (flow->flags & TCP_F_TS)
		at = tcp_opt_ts(dst, ts_val, ts_ecr);
	if (!sack || !(flow->flags & TCP_F_SACK))
		return at;
	count = tcp_early_blocks(flow, blocks, at ? TCP_SACK_BLOCKS - 1 : TCP_SACK_BLOCKS);
	if (count)
		at += tcp_opt_sack(dst + at, blocks, count);
	return at;
}

uint32_t tcp_tx_hdr_bytes(const struct tcp_flow *flow)
{
	return OPT_AT + (flow->flags & TCP_F_TS ? (uint32_t)WIRE_TCP_TS_PADDED_BYTES : 0);
}

uint32_t tcp_tx_header(struct fw_nic *nic, struct tcp_flow *flow, struct fw_tx_frame *frame,
		       uint32_t seq, uint8_t flags, uint32_t payload, bool sack, uint8_t ect)
{
	uint32_t opt_bytes = put_options(nic, flow, frame->hdr + OPT_AT, flags, sack);
	uint32_t window = tcp_rcv_window(flow);

	/* RFC 7323 2.2: the window of a SYN is never scaled. */
	if (flow->flags & TCP_F_WSCALE && !(flags & WIRE_TCP_SYN))
		window >>= TCP_RCV_WSCALE;
	if (window > 0xffff)
		window = 0xffff;
	if (flow->state != TCP_SYN_SENT)
		tcp_grant_announce(nic, flow,
				   flow->rcv_nxt + (window << (flow->flags & TCP_F_WSCALE &&
								       !(flags & WIRE_TCP_SYN)
								   ? (uint32_t)TCP_RCV_WSCALE
								   : 0)));
	if (flow->flags & TCP_F_ECE && !(flags & WIRE_TCP_SYN))
		flags |= WIRE_TCP_ECE;
	put_tcp(frame, flow->local_port, flow->peer_port, seq, flow->rcv_nxt, flags,
		(uint16_t)window, opt_bytes);
	ip_tx_header(nic, frame, flow->peer_ip, flow->mac, WIRE_IPPROTO_TCP, ect,
		     (uint32_t)sizeof(struct wire_tcp) + opt_bytes + payload);
	return OPT_AT + opt_bytes;
}

void tcp_tx_stray(struct fw_nic *nic, uint32_t peer_ip, const uint8_t *mac, uint16_t peer_port,
		  uint16_t local_port, uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window,
		  const uint8_t *opts, uint32_t opt_bytes)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);

	if (!frame) /* the peer tries again */
		return;
	if (opt_bytes)
		memcpy(frame->hdr + OPT_AT, opts, opt_bytes);
	put_tcp(frame, local_port, peer_port, seq, ack, flags, window, opt_bytes);
	ip_tx_header(nic, frame, peer_ip, mac, WIRE_IPPROTO_TCP, 0,
		     (uint32_t)sizeof(struct wire_tcp) + opt_bytes);
	tcp_tx_checksum(nic, frame, peer_ip, OPT_AT + opt_bytes, 0);
	frame->flags |= FW_TX_F_CONTROL;
	eth_tx_hdr(frame, 0, OPT_AT + opt_bytes, 0);
	eth_tx_commit(nic, frame);
}

void tcp_tx_reset_for(struct fw_nic *nic, const struct tcp_in *in)
{
	const struct ip_rx_info *info = in->info;
	bool ack = in->flags & WIRE_TCP_ACK;

	if (in->flags & WIRE_TCP_RST || !tcp_allowed(nic, &nic->tcp.resets, TCP_RESETS, 0))
		return;
	FW_COUNT(nic, tcp_tx_resets);
	/* The answer goes back to the frame's source. */
	tcp_tx_stray(nic, info->src_ip, info->eth->src, in->src_port, in->dst_port,
		     ack ? in->ack : 0, in->seq + tcp_in_len(in),
		     ack ? WIRE_TCP_RST : WIRE_TCP_RST | WIRE_TCP_ACK, 0, NULL, 0);
}
