/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP errors about TCP packets of ours (too big for a link, unreachable), and probing for a larger
 * path MTU.
 *
 * tcp_tx.c and tcp_ack.c report the probe: a segment of the stream as long as the link allows,
 * every ten minutes. Calls tcp_sack.c. ICMP messages are easily forged: one counts only if it
 * quotes a sequence number that is in flight, and never ends a connection that was established. RFC
 * 1191 (6.3: larger ones), RFC 4821 7 (by data; the loss of a probe alone is no congestion), RFC
 * 5927 4 and 7, RFC 1122 4.2.3.9.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

/* ---- longer packets -------------------------------------------------------------------------- */

static void ask_later(struct fw_nic *nic, struct tcp_flow *flow)
{
	flow->probing = TCP_PROBE_WANTED;
	flow->probe_ns = nic->now_ns + TCP_MTU_AGE_NS;
}

uint32_t tcp_probe_room(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint32_t more;

	if (flow->probing != TCP_PROBE_WANTED || nic->now_ns < flow->probe_ns || flow->lost ||
	    flow->flags & (TCP_F_RECOVERY | TCP_F_LOSS | TCP_F_PROBE))
		return flow->mss;
	more = tcp_mss_for(flow, nic->config.mtu);
	if (more > flow->mss)
		return more;
	/* The peer takes no longer ones. */
	flow->probing = TCP_PROBE_NONE;
	return flow->mss;
}

void tcp_probe_done(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg)
{
	if (seg->flags & (TCP_SEG_EVER | TCP_SEG_LOST)) {
		ask_later(nic, flow);
		return;
	}
	FW_COUNT(nic, tcp_mtu_grown);
	flow->probing = TCP_PROBE_NONE;
	flow->path_mtu = nic->config.mtu;
	tcp_set_mss(nic, flow);
}

bool tcp_probe_lost(const struct tcp_flow *flow)
{
	return flow->lost == 1 && tcp_is_probe(flow, tcp_first_lost(flow));
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Segments that were too long are sent again, in parts. Their loss was no congestion. */
static void shrink(struct fw_nic *nic, struct tcp_flow *flow, uint16_t mtu)
{
	struct fw_list *pos;

	if (mtu < TCP_MIN_PATH_MTU)
		mtu = TCP_MIN_PATH_MTU;
	if (mtu < flow->path_mtu) {
		FW_COUNT(nic, tcp_mtu_shrunk);
		flow->path_mtu = mtu;
		tcp_set_mss(nic, flow);
	} else if (flow->probing != TCP_PROBE_OUT) {
		return;
	}
	ask_later(nic, flow);
	fw_list_for_each (pos, &flow->segs) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (!tcp_seg_out(flow, seg))
			break;
		if (seg->bytes > flow->mss && !(seg->flags & TCP_SEG_SACKED))
			tcp_seg_mark(flow, seg, TCP_SEG_LOST, TCP_SEG_RETRANS);
	}
	tcp_ready(nic, flow);
}

void tcp_rx_icmp(struct fw_nic *nic, const struct ip_rx_info *info, uint8_t type, uint8_t code,
		 uint16_t mtu, const uint8_t *original, uint32_t original_bytes)
{
	const struct wire_ip *ip = (const struct wire_ip *)original;
	const struct wire_tcp *tcp;
	struct tcp_flow *flow;
	uint32_t head, peer_ip, seq;

	(void)info;
	if (type != WIRE_ICMP_UNREACHABLE || original_bytes < sizeof(*ip))
		return;
	head = (ip->version_ihl & 0x0fu) * 4u;
	/* Ports and sequence number: the first 8 bytes. */
	if (ip->proto != WIRE_IPPROTO_TCP || head < sizeof(*ip) || original_bytes < head + 8 ||
	    memcmp(&ip->src, &nic->config.ip, sizeof(ip->src)) != 0)
		return;
	tcp = (const struct wire_tcp *)(original + head);
	memcpy(&peer_ip, &ip->dst, sizeof(peer_ip));
	seq = be32_get(tcp->seq);
	/* A connection that rests has nothing in flight. */
	flow = tcp_find(nic, peer_ip, be16_get(tcp->dst_port), be16_get(tcp->src_port));
	if (!flow || flow->snd_nxt == flow->snd_una ||
	    seq - flow->snd_una >= flow->snd_nxt - flow->snd_una) {
		FW_COUNT(nic, tcp_icmp_ignored);
		return;
	}
	if (code == WIRE_ICMP_FRAG_NEEDED) {
		shrink(nic, flow, mtu);
		return;
	}
	if (flow->state == TCP_SYN_SENT &&
	    (code == WIRE_ICMP_PORT_UNREACH || code == WIRE_ICMP_PROTO_UNREACH))
		tcp_end(nic, flow, TCP_END_REFUSED);
	else
		flow->unreachable = 1;
}
