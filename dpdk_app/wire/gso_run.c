/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the segments that go to the kernel as one frame, and builds that frame; see gso_run.h.
 *
 * The frame has the first segment's headers, with the total length and the pseudo header's sum of
 * that length, followed by all payloads. From these headers the kernel or the device recreates the
 * segments. All segments of a run therefore have equal headers, except for the fields that depend
 * on their position: sequence number, IP length and identification, and PSH of the last.
 *
 * RFC 1071, RFC 9293 3.1, RFC 791 3.1.
 */
#include "dpdk_app/wire/gso_run.h"

#include <rte_mbuf.h>
#include <string.h>
#include <sys/uio.h>

#include "dpdk_app/csum.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

enum {
	GSO_MAX_BYTES = 65535 - 15, /* of an IP packet, within the limit of devices */
	GSO_ALONE = 64,             /* initial number of single frames, */
	GSO_ALONE_MAX = 1 << 18,    /* and its maximum after many retransmissions */
	GSO_FORGIVE = 1 << 16,      /* frames in runs after which a retransmission is forgiven */
};
static_assert((int)GSO_HDR_MAX == (int)GSO_TCP_AT + 60, "Ethernet, IPv4, TCP with all options");

/* Positions of a segment's parts. */
struct gso_seg {
	const struct wire_eth *eth;
	const struct wire_ip *ip;
	const struct wire_tcp *tcp;
	uint32_t hdr_bytes; /* of all three headers */
	uint32_t bytes;     /* length of the payload */
};

/* Returns false for a frame that is not a plain data segment with an omitted checksum. */
static bool gso_parse(const struct rte_mbuf *m, struct gso_seg *seg)
{
	uint32_t total;

	if (!csum_is_left(m) || m->l3_len != sizeof(struct wire_ip) || m->data_len < GSO_HDR_MAX)
		return false;
	seg->eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	seg->ip = (const struct wire_ip *)(seg->eth + 1);
	seg->tcp = (const struct wire_tcp *)(seg->ip + 1);
	seg->hdr_bytes = GSO_TCP_AT + (uint32_t)(seg->tcp->data_offset >> 4) * 4;
	total = sizeof(struct wire_eth) + be16_get(seg->ip->total_bytes);
	if (total != m->data_len || seg->hdr_bytes >= total ||
	    (seg->tcp->flags & ~(WIRE_TCP_PSH | WIRE_TCP_ECE)) != WIRE_TCP_ACK)
		return false;
	seg->bytes = total - seg->hdr_bytes;
	return true;
}

/* Returns true if b's headers are those that the kernel would derive from a's. */
static bool gso_alike(const struct gso_seg *a, const struct gso_seg *b)
{
	return a->hdr_bytes == b->hdr_bytes && !memcmp(a->eth, b->eth, sizeof(*a->eth)) &&
	       a->ip->tos == b->ip->tos && a->ip->ttl == b->ip->ttl &&
	       !memcmp(&a->ip->frag, &b->ip->frag, sizeof(a->ip->frag)) &&
	       !memcmp(&a->ip->src, &b->ip->src, 2 * sizeof(a->ip->src)) &&
	       !memcmp(&a->tcp->src_port, &b->tcp->src_port, 2 * sizeof(a->tcp->src_port)) &&
	       !memcmp(&a->tcp->ack, &b->tcp->ack, sizeof(a->tcp->ack)) &&
	       !memcmp(&a->tcp->window, &b->tcp->window, sizeof(a->tcp->window)) &&
	       !((a->tcp->flags ^ b->tcp->flags) & ~WIRE_TCP_PSH) &&
	       !memcmp(a->tcp + 1, b->tcp + 1, a->hdr_bytes - GSO_TCP_AT - sizeof(*a->tcp));
}

/* Returns how many of the first frames, after the parsed one, form a run with it. */
static uint32_t find_run(const struct gso_seg *first, struct rte_mbuf *const *frames, uint32_t n,
			 uint32_t *bytes)
{
	struct gso_seg seg, last = *first;
	uint32_t count = 1;

	*bytes = first->bytes;
	for (; count < n && count < GSO_RUN_MAX; count++) {
		/*
		 * The kernel sets PSH only on the last segment, and only the last may be shorter.
		 */
		if (last.tcp->flags & WIRE_TCP_PSH || last.bytes != first->bytes ||
		    !gso_parse(frames[count], &seg) || seg.bytes > first->bytes ||
		    be32_get(seg.tcp->seq) != be32_get(last.tcp->seq) + last.bytes ||
		    first->hdr_bytes + *bytes + seg.bytes > GSO_MAX_BYTES ||
		    !gso_alike(first, &seg))
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

	memcpy(&ip, &seg->ip->dst, sizeof(ip));
	memcpy(&ports, &seg->tcp->src_port, sizeof(ports));
	hash = (ip ^ ports) * 0x9e3779b1u;
	flow = &flows->flow[hash >> 24];
	if (!flow->penalty || flow->dst_ip != ip || flow->ports != ports)
		*flow = (struct gso_flow){.dst_ip = ip,
					  .ports = ports,
					  .next_seq = be32_get(seg->tcp->seq),
					  .alone = GSO_ALONE,
					  .penalty = GSO_ALONE};
	return flow;
}

/* Returns true if a flow's next frames may be sent in runs. */
static bool may_run(struct gso_flow *flow, uint32_t seq)
{
	if ((int32_t)(seq - flow->next_seq) < 0) {
		/* Each retransmission counts once: the frames after it belong to it. */
		if (!flow->alone && flow->penalty < GSO_ALONE_MAX)
			flow->penalty *= 4;
		flow->alone = flow->penalty;
		flow->good = 0;
		return false;
	}
	if (!flow->alone)
		return true;
	flow->alone--;
	return false;
}

uint32_t gso_run(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n)
{
	struct gso_seg first;
	struct gso_flow *flow;
	uint32_t seq, bytes, count = 1;

	if (!gso_parse(frames[0], &first))
		return 1;
	flow = flow_of(flows, &first);
	seq = be32_get(first.tcp->seq);
	bytes = first.bytes;
	if (may_run(flow, seq))
		count = find_run(&first, frames, n, &bytes);
	if ((int32_t)(seq + bytes - flow->next_seq) > 0)
		flow->next_seq = seq + bytes;
	if (count < GSO_LEAST)
		return 1;
	flow->good += count;
	if (flow->good >= GSO_FORGIVE && flow->penalty > GSO_ALONE) {
		flow->penalty /= 4;
		flow->good = 0;
	}
	return count;
}

void gso_unsent(struct gso_flows *flows, struct rte_mbuf *const *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gso_flow *flow;
		struct gso_seg seg;

		if (!gso_parse(frames[i], &seg))
			continue;
		flow = flow_of(flows, &seg);
		if ((int32_t)(be32_get(seg.tcp->seq) - flow->next_seq) < 0)
			flow->next_seq = be32_get(seg.tcp->seq);
	}
}

bool gso_may_go_on(struct rte_mbuf *const *frames, uint32_t n)
{
	struct gso_seg first, last;

	if (n == GSO_RUN_MAX || !gso_parse(frames[0], &first) || !gso_parse(frames[n - 1], &last))
		return false;
	return last.bytes == first.bytes && !(last.tcp->flags & WIRE_TCP_PSH) &&
	       first.hdr_bytes + (n + 1) * first.bytes <= GSO_MAX_BYTES;
}

/* Builds the common headers: the first segment's, with the total length, and PSH of the last. */
static void gso_headers(const struct gso_seg *first, const struct gso_seg *last, uint32_t bytes,
			uint8_t *hdr)
{
	struct wire_ip *ip = (struct wire_ip *)(hdr + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (struct wire_tcp *)(ip + 1);
	uint32_t total = first->hdr_bytes - (uint32_t)sizeof(struct wire_eth) + bytes;
	uint32_t sum = be16_get(first->tcp->checksum) + bytes - first->bytes;

	memcpy(hdr, first->eth, first->hdr_bytes);
	ip->total_bytes = be16_put((uint16_t)total);
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	tcp->flags |= last->tcp->flags & WIRE_TCP_PSH;
	tcp->checksum = be16_put((uint16_t)~wire_sum_fold(sum));
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
