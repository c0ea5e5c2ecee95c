/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments for tests; see gso_seg.h.
 */
#include "tests/dpdk_app/gso_seg.h"

#include <rte_eal.h>

#include "shared_defs/wire_ip.h"
#include "tests/ut.h"

struct rte_mempool *seg_pool(const char *name)
{
	static char program[32];
	static char *args[] = {program,          "--no-huge",   "-m", "32", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};
	static struct rte_mempool *pool;

	if (pool)
		return pool;
	snprintf(program, sizeof(program), "%s", name);
	CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
	pool = rte_pktmbuf_pool_create(name, SEG_POOL, 0, 0, RTE_PKTMBUF_HEADROOM + SEG_ROOM,
				       SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	return pool;
}

struct wire_tcp *seg_tcp(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct wire_tcp *, GSO_L4_AT);
}

struct wire_udp *seg_udp(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct wire_udp *, GSO_L4_AT);
}

struct wire_dgram *seg_dgram_hdr(struct rte_mbuf *m)
{
	return (struct wire_dgram *)(seg_udp(m) + 1);
}

static struct wire_ip *put_ip(uint8_t *frame, uint32_t bytes, uint8_t proto)
{
	struct wire_eth *eth = (struct wire_eth *)frame;
	struct wire_ip *ip = (struct wire_ip *)(eth + 1);

	memset(frame, 0, GSO_L4_AT);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put((uint16_t)(bytes - sizeof(*eth)));
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = WIRE_IP_TTL;
	ip->proto = proto;
	ip->src = be32_put(0x0a070001);
	ip->dst = be32_put(0x0a070002);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	return ip;
}

/* Headers as the firmware makes them, without the checksum of TCP. */
static void put_headers(uint8_t *frame, uint32_t bytes, uint32_t seq, uint8_t flags)
{
	struct wire_ip *ip = put_ip(frame, bytes, WIRE_IPPROTO_TCP);
	struct wire_tcp *tcp = (struct wire_tcp *)(ip + 1);
	uint32_t tcp_bytes = bytes - GSO_L4_AT;

	memset(tcp, 0, sizeof(*tcp));
	tcp->src_port = be16_put(40000);
	tcp->dst_port = be16_put(7001);
	tcp->seq = be32_put(seq);
	tcp->ack = be32_put(77);
	tcp->data_offset = (sizeof(*tcp) + SEG_OPT_BYTES) / 4 << 4;
	tcp->flags = flags;
	tcp->window = be16_put(500);
	tcp->checksum = be16_put(
	    (uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + tcp_bytes, &ip->src, 2 * sizeof(ip->src)));
	memset(tcp + 1, 0x55, SEG_OPT_BYTES);
}

struct rte_mbuf *seg_dgram(struct rte_mempool *pool, uint32_t psn, uint32_t bytes, uint8_t flags)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *frame;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	m->data_len = (uint16_t)(SEG_UDP_HDR_BYTES + bytes);
	m->pkt_len = m->data_len;
	(void)put_ip(frame, m->pkt_len, WIRE_IPPROTO_UDP);
	*seg_udp(m) =
	    (struct wire_udp){.src_port = be16_put(WIRE_DGRAM_PORT),
			      .dst_port = be16_put(WIRE_DGRAM_PORT),
			      .bytes = be16_put((uint16_t)(sizeof(struct wire_udp) + bytes))};
	for (uint32_t i = 0; i < bytes; i++)
		frame[SEG_UDP_HDR_BYTES + i] = (uint8_t)(psn * 31 + i * 7 + i / 256);
	seg_dgram_hdr(m)->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD;
	seg_dgram_hdr(m)->flags = flags;
	return m;
}

struct rte_mbuf *seg_make(struct rte_mempool *pool, uint32_t seq, uint32_t payload, uint8_t flags)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint32_t bytes = SEG_HDR_BYTES + payload;
	uint8_t *frame;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	put_headers(frame, bytes, seq, flags);
	for (uint32_t i = 0; i < payload; i++)
		frame[SEG_HDR_BYTES + i] = (uint8_t)((seq + i) * 7 + (seq + i) / 256);
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	m->l2_len = sizeof(struct wire_eth);
	m->l3_len = sizeof(struct wire_ip);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	return m;
}
