/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the segments that go to the kernel as one frame, and builds that frame; see gso_run.h.
 *
 * The frame has the first segment's headers, with the total length and the pseudo header's sum of
 * that length, followed by all payloads. From these headers the kernel or the device recreates the
 * segments. All segments of a run therefore have equal headers, except for the fields that depend
 * on their position: sequence number, IP length and identification, and PSH of the last. Headers
 * above UDP are payload here; they may differ.
 *
 * RFC 1071, RFC 9293 3.1, RFC 791 3.1, RFC 768.
 */
#include "dpdk_app/wire/gso_run.h"

#include <rte_mbuf.h>
#include <string.h>
#include <sys/uio.h>

#include "dpdk_app/csum.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

enum {
	GSO_MAX_BYTES = 65535 - 15, /* of an IP packet, within the limit of devices */
	GSO_ALONE = 64,             /* initial number of single frames, */
	GSO_ALONE_MAX = 1 << 18,    /* and its maximum after many retransmissions */
	GSO_FORGIVE = 1 << 16,      /* frames in runs after which a retransmission is forgiven */
	/* So many datagrams repeated, one of so many in runs: runs are being lost. */
	GSO_LOST_LEAST = 32,
	GSO_LOST_PART = 2,
	GSO_ALONE_PART = 64, /* one of so many single ones, or more: so are others */
	GSO_RECENT = 4096,   /* frames in runs after which earlier ones count half */
};
static_assert((int)GSO_HDR_MAX == (int)GSO_L4_AT + 60, "Ethernet, IPv4, TCP with all options");

/* Positions of a segment's parts. */
struct gso_seg {
	const struct wire_eth *eth;
	const struct wire_ip *ip;
	const struct wire_tcp *tcp;     /* NULL: a datagram, */
	const struct wire_udp *udp;     /* with these headers */
	const struct wire_dgram *dgram; /* part of the payload */
	uint32_t hdr_bytes;             /* up to the payload */
	uint32_t bytes;                 /* length of the payload */
};

/* Returns false if the headers of TCP are not those of a plain data segment. */
static bool gso_parse_tcp(struct gso_seg *seg)
{
	seg->tcp = (const struct wire_tcp *)(seg->ip + 1);
	seg->hdr_bytes = GSO_L4_AT + (uint32_t)(seg->tcp->data_offset >> 4) * 4;
	return (seg->tcp->flags & ~(WIRE_TCP_PSH | WIRE_TCP_ECE)) == WIRE_TCP_ACK;
}

/* Returns false if the headers are not those of a datagram of RD to one station. */
static bool gso_parse_udp(struct gso_seg *seg)
{
	seg->udp = (const struct wire_udp *)(seg->ip + 1);
	seg->dgram = (const struct wire_dgram *)(seg->udp + 1);
	seg->hdr_bytes = GSO_L4_AT + sizeof(*seg->udp);
	return be16_get(seg->eth->type) == WIRE_ETHERTYPE_IPV4 && !(seg->eth->dst[0] & 1) &&
	       seg->ip->version_ihl == WIRE_IP_VERSION_IHL && seg->ip->proto == WIRE_IPPROTO_UDP &&
	       !be16_get(seg->udp->checksum) &&
	       seg->dgram->ver_type == (WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD);
}

/*
 * Returns false for a frame that goes singly: all but segments of TCP with an omitted checksum, and
 * long datagrams of RD.
 */
static bool gso_parse(const struct rte_mbuf *m, struct gso_seg *seg)
{
	bool tcp = csum_is_left(m);
	uint32_t total;

	if (m->data_len < (tcp ? (uint32_t)GSO_HDR_MAX : GSO_L4_AT + GSO_UDP_LEAST) ||
	    (tcp && (m->l2_len != sizeof(struct wire_eth) || m->l3_len != sizeof(struct wire_ip))))
		return false;
	*seg = (struct gso_seg){.eth = rte_pktmbuf_mtod(m, const struct wire_eth *)};
	seg->ip = (const struct wire_ip *)(seg->eth + 1);
	if (tcp ? !gso_parse_tcp(seg) : !gso_parse_udp(seg))
		return false;
	total = sizeof(struct wire_eth) + be16_get(seg->ip->total_bytes);
	if (total != m->data_len || seg->hdr_bytes >= total)
		return false;
	seg->bytes = total - seg->hdr_bytes;
	return true;
}

/*
 * Returns the positions in headers that the firmware made. Neither tcp nor udp, and hdr_bytes 0: of
 * another protocol.
 */
static struct gso_seg seg_of(const uint8_t *hdr)
{
	struct gso_seg seg = {.eth = (const struct wire_eth *)hdr};

	seg.ip = (const struct wire_ip *)(seg.eth + 1);
	if (be16_get(seg.eth->type) != WIRE_ETHERTYPE_IPV4)
		return seg;
	if (seg.ip->proto == WIRE_IPPROTO_TCP)
		(void)gso_parse_tcp(&seg);
	else if (!gso_parse_udp(&seg))
		seg = (struct gso_seg){0};
	return seg;
}

uint32_t gso_hdr_bytes(const uint8_t *hdr)
{
	return seg_of(hdr).hdr_bytes;
}

static bool gso_alike_tcp(const struct gso_seg *a, const struct gso_seg *b)
{
	return !memcmp(&a->tcp->ack, &b->tcp->ack, sizeof(a->tcp->ack)) &&
	       !memcmp(&a->tcp->window, &b->tcp->window, sizeof(a->tcp->window)) &&
	       !((a->tcp->flags ^ b->tcp->flags) & ~WIRE_TCP_PSH) &&
	       !memcmp(a->tcp + 1, b->tcp + 1, a->hdr_bytes - GSO_L4_AT - sizeof(*a->tcp));
}

/* Returns true if b's headers are those that the kernel would derive from a's. */
static bool gso_alike(const struct gso_seg *a, const struct gso_seg *b)
{
	/* Ports are the first fields of both protocols. */
	return !a->tcp == !b->tcp && a->hdr_bytes == b->hdr_bytes &&
	       !memcmp(a->eth, b->eth, sizeof(*a->eth)) && a->ip->tos == b->ip->tos &&
	       a->ip->ttl == b->ip->ttl &&
	       !memcmp(&a->ip->frag, &b->ip->frag, sizeof(a->ip->frag)) &&
	       !memcmp(&a->ip->src, &b->ip->src, 2 * sizeof(a->ip->src)) &&
	       !memcmp(a->ip + 1, b->ip + 1, 2 * sizeof(struct be16)) &&
	       (!a->tcp || gso_alike_tcp(a, b));
}

/* Returns true if no frame of a run may follow this one, by its own headers. */
static bool gso_ends_run(const struct gso_seg *seg, uint32_t each)
{
	/* The kernel sets PSH only on the last segment, and only the last may be shorter. */
	return seg->bytes != each || (seg->tcp && seg->tcp->flags & WIRE_TCP_PSH);
}

static bool gso_follows(const struct gso_seg *last, const struct gso_seg *seg)
{
	if (!seg->tcp)
		return !(seg->dgram->flags & WIRE_DGRAM_F_RETRANSMIT);
	return be32_get(seg->tcp->seq) == be32_get(last->tcp->seq) + last->bytes;
}

/* Returns how many of the first frames, after the parsed one, form a run with it. */
static uint32_t find_run(const struct gso_seg *first, struct rte_mbuf *const *frames, uint32_t n,
			 uint32_t *bytes)
{
	struct gso_seg seg, last = *first;
	uint32_t count = 1;

	*bytes = first->bytes;
	for (; count < n && count < GSO_RUN_MAX; count++) {
		if (gso_ends_run(&last, first->bytes) || !gso_parse(frames[count], &seg) ||
		    seg.bytes > first->bytes || !gso_alike(first, &seg) ||
		    !gso_follows(&last, &seg) ||
		    first->hdr_bytes + *bytes + seg.bytes > GSO_MAX_BYTES)
			break;
		*bytes += seg.bytes;
		last = seg;
	}
	return count;
}

/* Returns the flow of a segment; it is created if not in the table. */
static struct gso_flow *flow_of(struct gso_flows *flows, const struct gso_seg *seg)
{
	struct gso_flow *flow;
	uint32_t ip, ports, hash;
	bool udp = !seg->tcp;

	memcpy(&ip, &seg->ip->dst, sizeof(ip));
	memcpy(&ports, seg->ip + 1, sizeof(ports));
	hash = (ip ^ ports) * 0x9e3779b1u;
	flow = &flows->flow[hash >> 24];
	if (!flow->penalty || flow->dst_ip != ip || flow->ports != ports || flow->udp != udp)
		*flow = (struct gso_flow){.dst_ip = ip,
					  .ports = ports,
					  .next_seq = udp ? 0 : be32_get(seg->tcp->seq),
					  .udp = udp,
					  .alone = GSO_ALONE,
					  .penalty = GSO_ALONE};
	return flow;
}

static struct gso_peer *peer_of(const struct gso_flows *flows, const uint8_t *mac)
{
	uint32_t low;

	memcpy(&low, mac + 2, sizeof(low));
	return (struct gso_peer *)&flows->peer[low * 0x9e3779b1u >> 24 & (GSO_PEERS - 1)];
}

bool gso_runs_to(const struct gso_flows *flows, const uint8_t *mac)
{
	const struct gso_peer *peer = peer_of(flows, mac);

	return peer->runs && !flows->no_udp && !memcmp(peer->mac, mac, sizeof(peer->mac));
}

static void note_peer(struct gso_flows *flows, const struct gso_seg *seg, bool runs)
{
	struct gso_peer *peer = peer_of(flows, seg->eth->dst);

	memcpy(peer->mac, seg->eth->dst, sizeof(peer->mac));
	peer->runs = runs;
}

/* The receiver may be losing runs. */
static void distrust(struct gso_flow *flow)
{
	if (!flow->alone && flow->penalty < GSO_ALONE_MAX)
		flow->penalty *= 4;
	/* Single frames were repeated, too: runs are not the reason. */
	if (flow->repeated_alone * GSO_ALONE_PART > flow->penalty)
		flow->penalty = GSO_ALONE;
	flow->alone = flow->penalty;
	flow->good = flow->in_runs = flow->repeated = flow->repeated_alone = 0;
}

/* Returns true if a datagram is repeated, which goes singly. */
static bool is_repeated(struct gso_flow *flow, const struct gso_seg *seg)
{
	if (!(seg->dgram->flags & WIRE_DGRAM_F_RETRANSMIT))
		return false;
	if (flow->alone) {
		flow->repeated_alone++;
		return true;
	}
	flow->repeated++;
	if (flow->repeated >= GSO_LOST_LEAST && flow->repeated * GSO_LOST_PART > flow->in_runs)
		distrust(flow);
	return true;
}

/* Returns true if a flow's next frames may be sent in runs. */
static bool may_run(struct gso_flow *flow, const struct gso_seg *seg)
{
	if (!seg->tcp && is_repeated(flow, seg))
		return false;
	if (seg->tcp && (int32_t)(be32_get(seg->tcp->seq) - flow->next_seq) < 0) {
		/* Each retransmission counts once: the frames after it belong to it. */
		distrust(flow);
		return false;
	}
	if (!flow->alone)
		return true;
	flow->alone--;
	return false;
}

/* A run of a flow is sent. */
static void count_run(struct gso_flow *flow, uint32_t frames)
{
	flow->good += frames;
	if (flow->good >= GSO_FORGIVE && flow->penalty > GSO_ALONE) {
		flow->penalty /= 4;
		flow->good = 0;
	}
	flow->in_runs += frames;
	if (flow->in_runs >= GSO_RECENT) {
		flow->in_runs /= 2;
		flow->repeated /= 2;
	}
}

uint32_t gso_run(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n)
{
	struct gso_seg first;
	struct gso_flow *flow;
	uint32_t seq, bytes, count = 1;

	if (!gso_parse(frames[0], &first) || (!first.tcp && flows->no_udp))
		return 1;
	flow = flow_of(flows, &first);
	bytes = first.bytes;
	if (may_run(flow, &first))
		count = find_run(&first, frames, n, &bytes);
	note_peer(flows, &first, !flow->alone);
	if (first.tcp) {
		seq = be32_get(first.tcp->seq) + bytes;
		if ((int32_t)(seq - flow->next_seq) > 0)
			flow->next_seq = seq;
	}
	if (count < GSO_LEAST)
		return 1;
	count_run(flow, count);
	return count;
}

bool gso_run_whole(struct gso_flows *flows, const uint8_t *hdr, uint32_t packets, uint32_t bytes)
{
	struct gso_seg seg = seg_of(hdr);
	struct gso_flow *flow;
	uint32_t seq;

	if ((!seg.tcp && !seg.udp) || (!seg.tcp && flows->no_udp))
		return false;
	flow = flow_of(flows, &seg);
	note_peer(flows, &seg, !flow->alone);
	if (flow->alone)
		return false;
	if (seg.tcp) {
		seq = be32_get(seg.tcp->seq);
		if ((int32_t)(seq - flow->next_seq) < 0)
			return false;
		flow->next_seq = seq + bytes;
	}
	count_run(flow, packets);
	return true;
}

void gso_run_refused(struct gso_flows *flows, const uint8_t *hdr)
{
	struct gso_seg seg = seg_of(hdr);

	if (seg.tcp)
		flow_of(flows, &seg)->next_seq = be32_get(seg.tcp->seq);
}

void gso_unsent(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gso_flow *flow;
		struct gso_seg seg;

		if (!gso_parse(frames[i], &seg) || !seg.tcp)
			continue;
		flow = flow_of(flows, &seg);
		if ((int32_t)(be32_get(seg.tcp->seq) - flow->next_seq) < 0)
			flow->next_seq = be32_get(seg.tcp->seq);
	}
}

bool gso_may_go_on(struct rte_mbuf *const *frames, uint32_t n, bool full)
{
	struct gso_seg first, last;

	if (n == GSO_RUN_MAX || !gso_parse(frames[0], &first) || !gso_parse(frames[n - 1], &last) ||
	    gso_ends_run(&last, first.bytes) ||
	    first.hdr_bytes + (n + 1) * first.bytes > GSO_MAX_BYTES)
		return false;
	return full || (!last.tcp && last.dgram->flags & WIRE_DGRAM_F_MORE);
}

/* Completes the headers of TCP: the pseudo header's sum of the whole, and PSH of the last. */
static void join_tcp(const struct gso_seg *first, const struct gso_seg *last, uint32_t bytes,
		     struct wire_tcp *tcp)
{
	uint32_t sum = WIRE_IPPROTO_TCP + first->hdr_bytes - GSO_L4_AT + bytes;

	sum = wire_sum_add(sum, &first->ip->src, 2 * sizeof(first->ip->src));
	tcp->flags |= last->tcp->flags & WIRE_TCP_PSH;
	tcp->checksum = be16_put((uint16_t)sum);
}

/* Completes the header of UDP: the pseudo header's sum with the length in the header. */
static void join_udp(const struct gso_seg *first, struct wire_udp *udp)
{
	uint32_t each = (uint32_t)sizeof(*udp) + first->bytes;
	uint32_t sum = WIRE_IPPROTO_UDP + each;

	udp->bytes = be16_put((uint16_t)each);
	sum = wire_sum_add(sum, &first->ip->src, 2 * sizeof(first->ip->src));
	udp->checksum = be16_put((uint16_t)sum);
}

/* Builds the common headers: the first segment's, with the total length. */
static void gso_headers(const struct gso_seg *first, const struct gso_seg *last, uint32_t bytes,
			uint8_t *hdr)
{
	struct wire_ip *ip = (struct wire_ip *)(hdr + sizeof(struct wire_eth));
	uint32_t total = first->hdr_bytes - (uint32_t)sizeof(struct wire_eth) + bytes;

	memcpy(hdr, first->eth, first->hdr_bytes);
	ip->total_bytes = be16_put((uint16_t)total);
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	if (first->tcp)
		join_tcp(first, last, bytes, (struct wire_tcp *)(ip + 1));
	else
		join_udp(first, (struct wire_udp *)(ip + 1));
}

uint32_t gso_join(struct rte_mbuf *const *frames, uint32_t n, uint8_t *hdr, struct iovec *payload,
		  uint16_t *each)
{
	struct gso_seg first = {0}, seg = {0};
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		(void)gso_parse(frames[i], &seg); /* a run was parsed before */
		if (!i)
			first = seg;
		payload[i].iov_base = rte_pktmbuf_mtod_offset(frames[i], void *, seg.hdr_bytes);
		payload[i].iov_len = seg.bytes;
		bytes += seg.bytes;
	}
	gso_headers(&first, &seg, bytes, hdr);
	*each = (uint16_t)first.bytes;
	return first.hdr_bytes;
}

uint32_t gso_join_hdr(const uint8_t *first, const uint8_t *run, uint32_t bytes, uint16_t each,
		      uint8_t *hdr)
{
	struct gso_seg seg = seg_of(first), last = seg_of(run);

	seg.bytes = each;
	gso_headers(&seg, &last, bytes, hdr);
	return seg.hdr_bytes;
}
