/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides large frames into segments; see gso_cut.h.
 *
 * TCP segments are as long as the MTU permits, which matches the sender's segmentation: data that
 * it packed into one segment (an FPDU) is again in one segment. If the large frame's checksum was
 * omitted, theirs were never computed; otherwise it was verified. The segments are therefore marked
 * and hold the pseudo header's sum, like the kernel's own (csum.h). Datagrams get checksum 0, as
 * their sender made them: their CRC32C is checked by the firmware.
 *
 * Calls csum.c. RFC 9293 3.1, RFC 791 3.1, RFC 768, RFC 3168 6.1.2 (CWR once).
 */
#include "dpdk_app/wire/gso_cut.h"

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/csum.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

enum {
	CUT_IP_AT = sizeof(struct wire_eth),
	CUT_LAST_FLAGS = WIRE_TCP_FIN | WIRE_TCP_PSH, /* set on the last segment only */
};

/* Returns the pseudo header's sum of a segment with tcp_bytes of TCP. */
static uint16_t pseudo_sum(const struct wire_ip *ip, uint32_t tcp_bytes)
{
	return (uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + tcp_bytes, &ip->src, 2 * sizeof(ip->src));
}

static bool layout_tcp(struct gso_layout *layout, const uint8_t *l4, uint32_t bytes, uint32_t mtu)
{
	const struct wire_tcp *tcp = (const struct wire_tcp *)l4;
	uint32_t tcp_bytes;

	if (bytes < sizeof(*tcp))
		return false;
	tcp_bytes = (uint32_t)(tcp->data_offset >> 4) * 4;
	if (tcp_bytes < sizeof(*tcp) || mtu <= layout->ip_bytes + tcp_bytes ||
	    tcp->flags & (WIRE_TCP_SYN | WIRE_TCP_RST | WIRE_TCP_URG))
		return false;
	layout->hdr_bytes = CUT_IP_AT + layout->ip_bytes + tcp_bytes;
	layout->each = mtu - layout->ip_bytes - tcp_bytes;
	return true;
}

static bool layout_udp(struct gso_layout *layout, const uint8_t *l4, uint32_t bytes, uint32_t mtu)
{
	const struct wire_udp *udp = (const struct wire_udp *)l4;
	uint32_t one;

	if (bytes < sizeof(*udp))
		return false;
	one = be16_get(udp->bytes);
	if (one <= sizeof(*udp) + sizeof(struct wire_dgram) || one > mtu - layout->ip_bytes)
		return false;
	layout->udp = true;
	layout->hdr_bytes = CUT_IP_AT + layout->ip_bytes + (uint32_t)sizeof(*udp);
	layout->each = one - (uint32_t)sizeof(*udp);
	return true;
}

bool gso_layout(struct gso_layout *layout, const uint8_t *frame, uint32_t bytes,
		uint32_t frame_bytes, uint32_t mtu)
{
	const struct wire_eth *eth = (const struct wire_eth *)frame;
	const struct wire_ip *ip = (const struct wire_ip *)(eth + 1);
	const uint8_t *l4;
	uint32_t left;

	*layout = (struct gso_layout){0};
	if (bytes < CUT_IP_AT + sizeof(*ip) || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 ||
	    ip->version_ihl >> 4 != 4 || be16_get(ip->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK) ||
	    (uint32_t)CUT_IP_AT + be16_get(ip->total_bytes) != frame_bytes)
		return false;
	layout->ip_bytes = (ip->version_ihl & 0x0fu) * 4u;
	if (layout->ip_bytes < sizeof(*ip) || CUT_IP_AT + layout->ip_bytes > bytes ||
	    mtu <= layout->ip_bytes)
		return false;
	l4 = frame + CUT_IP_AT + layout->ip_bytes;
	left = bytes - CUT_IP_AT - layout->ip_bytes;
	if (ip->proto == WIRE_IPPROTO_TCP
		? !layout_tcp(layout, l4, left, mtu)
		: ip->proto != WIRE_IPPROTO_UDP || !layout_udp(layout, l4, left, mtu))
		return false;
	if (layout->hdr_bytes > bytes || layout->hdr_bytes >= frame_bytes)
		return false;
	layout->payload = frame_bytes - layout->hdr_bytes;
	return !layout->udp || layout->payload <= GSO_CUT_MAX * layout->each;
}

/* Verifies a checksum that the kernel computed. */
static bool checksum_is_right(const struct gso_cut *cut, const struct rte_mbuf *big)
{
	const struct wire_ip *ip = rte_pktmbuf_mtod_offset(big, const struct wire_ip *, CUT_IP_AT);
	uint32_t skip = CUT_IP_AT + cut->layout.ip_bytes;
	uint32_t sum = pseudo_sum(ip, big->pkt_len - skip);

	for (const struct rte_mbuf *m = big; m; m = m->next) {
		uint32_t bytes = m->data_len - skip;

		if (m->next && bytes & 1)
			/* Unusable for the sum; the kernel's pieces have even lengths. */
			return false;
		sum = wire_sum_add(sum, rte_pktmbuf_mtod_offset(m, const uint8_t *, skip), bytes);
		skip = 0;
	}
	return !wire_sum_fold(sum);
}

bool gso_cut_begin(struct gso_cut *cut, struct rte_mbuf *big, uint32_t mtu)
{
	const uint8_t *frame = rte_pktmbuf_mtod(big, const uint8_t *);

	*cut = (struct gso_cut){0};
	if (!gso_layout(&cut->layout, frame, big->data_len, big->pkt_len, mtu))
		return false;
	if (!cut->layout.udp && !csum_is_partial(frame, big->data_len) &&
	    !checksum_is_right(cut, big))
		return false;
	cut->big = big;
	cut->piece = big;
	cut->at = cut->layout.hdr_bytes;
	if (cut->layout.udp) {
		memcpy(cut->hdr, frame, cut->layout.hdr_bytes);
		gso_mend(&cut->layout, cut->hdr, 0, cut->layout.each);
	}
	return true;
}

/* Copies the next bytes of the payload. */
static void copy_payload(struct gso_cut *cut, uint8_t *to, uint32_t bytes)
{
	while (bytes) {
		uint32_t n = cut->piece->data_len - cut->at;

		if (!n) {
			cut->piece = cut->piece->next;
			cut->at = 0;
			continue;
		}
		n = n < bytes ? n : bytes;
		memcpy(to, rte_pktmbuf_mtod_offset(cut->piece, const uint8_t *, cut->at), n);
		to += n;
		bytes -= n;
		cut->at += n;
	}
}

static void mend_tcp(const struct wire_ip *ip, struct wire_tcp *tcp, uint32_t tcp_bytes,
		     uint32_t done, bool last)
{
	tcp->seq = be32_put(be32_get(tcp->seq) + done);
	if (done)
		tcp->flags &= (uint8_t)~WIRE_TCP_CWR;
	if (!last)
		tcp->flags &= (uint8_t)~CUT_LAST_FLAGS;
	tcp->checksum = be16_put(pseudo_sum(ip, tcp_bytes));
}

void gso_mend(const struct gso_layout *layout, uint8_t *hdr, uint32_t done, uint32_t bytes)
{
	struct wire_ip *ip = (struct wire_ip *)(hdr + CUT_IP_AT);
	uint8_t *l4 = hdr + CUT_IP_AT + layout->ip_bytes;
	uint32_t l4_bytes = layout->hdr_bytes - CUT_IP_AT - layout->ip_bytes + bytes;

	ip->total_bytes = be16_put((uint16_t)(layout->ip_bytes + l4_bytes));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, layout->ip_bytes)));
	if (layout->udp) {
		struct wire_udp *udp = (struct wire_udp *)l4;

		udp->bytes = be16_put((uint16_t)l4_bytes);
		udp->checksum = be16_put(0);
	} else {
		mend_tcp(ip, (struct wire_tcp *)l4, l4_bytes, done,
			 done + bytes == layout->payload);
	}
}

/* Writes the headers of the next segment, of so many bytes. */
static void put_headers(const struct gso_cut *cut, uint8_t *hdr, uint32_t bytes)
{
	const struct gso_layout *layout = &cut->layout;

	if (layout->udp && bytes == layout->each) {
		memcpy(hdr, cut->hdr, layout->hdr_bytes);
		return;
	}
	memcpy(hdr, rte_pktmbuf_mtod(cut->big, const void *), layout->hdr_bytes);
	gso_mend(layout, hdr, cut->done, bytes);
}

struct rte_mbuf *gso_cut_next(struct gso_cut *cut, struct rte_mempool *pool)
{
	const struct gso_layout *layout = &cut->layout;
	uint32_t left = layout->payload - cut->done;
	uint32_t bytes = left < layout->each ? left : layout->each;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	if (!m)
		return NULL;
	if (rte_pktmbuf_tailroom(m) < layout->hdr_bytes + bytes) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->data_len = (uint16_t)(layout->hdr_bytes + bytes);
	m->pkt_len = m->data_len;
	put_headers(cut, rte_pktmbuf_mtod(m, uint8_t *), bytes);
	copy_payload(cut, rte_pktmbuf_mtod_offset(m, uint8_t *, layout->hdr_bytes), bytes);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	cut->done += bytes;
	if (cut->done == layout->payload)
		gso_cut_end(cut);
	return m;
}

void gso_cut_end(struct gso_cut *cut)
{
	if (cut->big)
		rte_pktmbuf_free(cut->big);
	*cut = (struct gso_cut){0};
}
