/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides large TCP frames into segments; see gso_cut.h.
 *
 * Segments are as long as the MTU permits, which matches the sender's segmentation: data that it
 * packed into one segment (an FPDU) is again in one segment. If the large frame's checksum was
 * omitted, theirs were never computed; otherwise it was verified. The segments are therefore marked
 * and hold the pseudo header's sum, like the kernel's own (csum.h).
 *
 * Calls csum.c. RFC 9293 3.1, RFC 791 3.1, RFC 3168 6.1.2 (CWR once).
 */
#include "dpdk_app/wire/gso_cut.h"

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/csum.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_tcp.h"

enum {
	CUT_IP_AT = sizeof(struct wire_eth),
	CUT_LAST_FLAGS = WIRE_TCP_FIN | WIRE_TCP_PSH, /* set on the last segment only */
};

static struct wire_ip *ip_of(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct wire_ip *, CUT_IP_AT);
}

static struct wire_tcp *tcp_of(const struct gso_cut *cut, struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct wire_tcp *, CUT_IP_AT + cut->ip_bytes);
}

/* Returns the pseudo header's sum of a segment with tcp_bytes of TCP. */
static uint16_t pseudo_sum(const struct wire_ip *ip, uint32_t tcp_bytes)
{
	return (uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + tcp_bytes, &ip->src, 2 * sizeof(ip->src));
}

/* Verifies a checksum that the kernel computed. */
static bool checksum_is_right(const struct gso_cut *cut, const struct rte_mbuf *big)
{
	const struct wire_ip *ip = rte_pktmbuf_mtod_offset(big, const struct wire_ip *, CUT_IP_AT);
	uint32_t skip = CUT_IP_AT + cut->ip_bytes;
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
	const struct wire_eth *eth = rte_pktmbuf_mtod(big, const struct wire_eth *);
	const struct wire_ip *ip = ip_of(big);
	const struct wire_tcp *tcp;
	uint32_t tcp_bytes;

	*cut = (struct gso_cut){0};
	if (big->data_len < CUT_IP_AT + sizeof(*ip) + sizeof(*tcp) ||
	    be16_get(eth->type) != WIRE_ETHERTYPE_IPV4 || ip->version_ihl >> 4 != 4 ||
	    ip->proto != WIRE_IPPROTO_TCP ||
	    be16_get(ip->frag) & (WIRE_IP_MF | WIRE_IP_FRAG_MASK) ||
	    (uint32_t)CUT_IP_AT + be16_get(ip->total_bytes) != big->pkt_len)
		return false;
	cut->ip_bytes = (ip->version_ihl & 0x0fu) * 4u;
	if (cut->ip_bytes < sizeof(*ip) || CUT_IP_AT + cut->ip_bytes + sizeof(*tcp) > big->data_len)
		return false;
	tcp = tcp_of(cut, big);
	tcp_bytes = (uint32_t)(tcp->data_offset >> 4) * 4;
	cut->hdr_bytes = CUT_IP_AT + cut->ip_bytes + tcp_bytes;
	if (tcp_bytes < sizeof(*tcp) || cut->hdr_bytes > big->data_len ||
	    cut->hdr_bytes >= big->pkt_len || mtu <= cut->ip_bytes + tcp_bytes ||
	    tcp->flags & (WIRE_TCP_SYN | WIRE_TCP_RST | WIRE_TCP_URG))
		return false;
	if (!csum_is_partial((const uint8_t *)eth, big->data_len) && !checksum_is_right(cut, big))
		return false;
	cut->big = big;
	cut->piece = big;
	cut->at = cut->hdr_bytes;
	cut->left = big->pkt_len - cut->hdr_bytes;
	cut->each = mtu - cut->ip_bytes - tcp_bytes;
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

/* Converts the headers of the large frame to those of one segment. */
static void mend_headers(const struct gso_cut *cut, struct rte_mbuf *m, uint32_t bytes)
{
	uint32_t tcp_bytes = cut->hdr_bytes - CUT_IP_AT - cut->ip_bytes + bytes;
	struct wire_ip *ip = ip_of(m);
	struct wire_tcp *tcp = tcp_of(cut, m);

	ip->total_bytes = be16_put((uint16_t)(cut->ip_bytes + tcp_bytes));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, cut->ip_bytes)));
	tcp->seq = be32_put(be32_get(tcp->seq) + cut->done);
	if (cut->done)
		tcp->flags &= (uint8_t)~WIRE_TCP_CWR;
	if (cut->left > bytes)
		tcp->flags &= (uint8_t)~CUT_LAST_FLAGS;
	tcp->checksum = be16_put(pseudo_sum(ip, tcp_bytes));
}

struct rte_mbuf *gso_cut_next(struct gso_cut *cut, struct rte_mempool *pool)
{
	uint32_t bytes = cut->left < cut->each ? cut->left : cut->each;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	if (!m)
		return NULL;
	if (rte_pktmbuf_tailroom(m) < cut->hdr_bytes + bytes) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	m->data_len = (uint16_t)(cut->hdr_bytes + bytes);
	m->pkt_len = m->data_len;
	memcpy(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(cut->big, void *), cut->hdr_bytes);
	copy_payload(cut, rte_pktmbuf_mtod_offset(m, uint8_t *, cut->hdr_bytes), bytes);
	mend_headers(cut, m, bytes);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	cut->done += bytes;
	cut->left -= bytes;
	if (!cut->left)
		gso_cut_end(cut);
	return m;
}

void gso_cut_end(struct gso_cut *cut)
{
	if (cut->big)
		rte_pktmbuf_free(cut->big);
	*cut = (struct gso_cut){0};
}
