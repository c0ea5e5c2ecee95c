/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that the firmware made, as borrowed frames (borrow.h): Writes of RD and of RC over TCP
 * from two pieces of memory.
 */
#ifndef WEFT_TESTS_DPDK_APP_RUN_FIX_H
#define WEFT_TESTS_DPDK_APP_RUN_FIX_H

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "dpdk_app/csum.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mpa.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/ut.h"

enum {
	RUN_SEGMENT = 1404,
	RUN_HDR_BYTES = SEG_UDP_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
			sizeof(struct wire_ddp_tagged),
	RUN_TCP_HDR_BYTES =
	    SEG_HDR_BYTES + sizeof(struct wire_mpa_fpdu) + sizeof(struct wire_ddp_tagged),
	RUN_FIRST = 4001, /* bytes of the first piece */
};

static struct app run_app;
static struct nic run_nic = {.app = &run_app};
static struct shard run_shard = {.nic = &run_nic};
static uint8_t run_memory[FW_RUN_MAX * RUN_SEGMENT];

static inline void run_headers(uint8_t *hdr, uint32_t psn)
{
	struct wire_eth *eth = (void *)hdr;
	struct wire_ip *ip = (void *)(eth + 1);
	struct wire_udp *udp = (void *)(ip + 1);
	struct wire_dgram *dgram = (void *)(udp + 1);
	struct wire_rd *rd = (void *)(dgram + 1);
	struct wire_ddp_tagged *ddp = (void *)(rd + 1);
	uint32_t ip_bytes = RUN_HDR_BYTES - sizeof(*eth) + RUN_SEGMENT + WIRE_DGRAM_CRC_BYTES;

	memset(hdr, 0, RUN_HDR_BYTES);
	memset(eth->dst, 2, sizeof(eth->dst));
	memset(eth->src, 4, sizeof(eth->src));
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put((uint16_t)ip_bytes);
	ip->id = be16_put(0xfffe);
	ip->ttl = 64;
	ip->proto = WIRE_IPPROTO_UDP;
	ip->src = (struct be32){{10, 0, 0, 1}};
	ip->dst = (struct be32){{10, 0, 0, 2}};
	udp->src_port = udp->dst_port = be16_put(WIRE_DGRAM_PORT);
	udp->bytes = be16_put((uint16_t)(ip_bytes - sizeof(*ip)));
	dgram->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD;
	dgram->flags = WIRE_DGRAM_F_SOLICITED;
	rd->psn = be32_put(psn);
	ddp->ddp_ctrl = WIRE_DDP_TAGGED | WIRE_DDP_LAST;
	ddp->to = be64_put(UINT64_C(0xfffffffffffff000));
}

/*
 * A run of n packets with these headers, the last of which has last bytes of payload; the CRC32C
 * begins at crc_from.
 */
static inline struct rte_mbuf *run_of(struct rte_mempool *pool, struct fw_tx_frame *frame,
				      uint32_t crc_from, uint32_t hdr_bytes, uint32_t n,
				      uint32_t last)
{
	uint32_t bytes = (n - 1) * RUN_SEGMENT + last;
	uint32_t first = bytes < RUN_FIRST ? bytes / 2 : RUN_FIRST;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	frame->num_seg = 4;
	frame->bytes = hdr_bytes + bytes + n * WIRE_DGRAM_CRC_BYTES;
	frame->run = (uint16_t)n;
	frame->run_bytes = RUN_SEGMENT;
	frame->seg[0] = (struct fw_tx_seg){.kind = FW_TX_HDR, .bytes = crc_from};
	frame->seg[1] = (struct fw_tx_seg){.kind = FW_TX_HDR,
					   .addr = crc_from,
					   .bytes = hdr_bytes - crc_from,
					   .flags = FW_TX_F_CRC_BEGIN};
	frame->seg[2] = (struct fw_tx_seg){.kind = FW_TX_MEM, .mem = run_memory, .bytes = first};
	frame->seg[3] = (struct fw_tx_seg){.kind = FW_TX_MEM,
					   .mem = run_memory + first,
					   .bytes = bytes - first,
					   .flags = FW_TX_F_CRC_END};
	for (uint32_t i = 0; i < bytes; i++)
		run_memory[i] = (uint8_t)(i * 13 + i / 256);
	CU_ASSERT_TRUE_FATAL(borrow_frame(&run_shard, frame, true, m));
	return m;
}

/* A run of RD, whose PSNs begin with psn. */
static inline struct rte_mbuf *run_make(struct rte_mempool *pool, uint32_t psn, uint32_t n,
					uint32_t last)
{
	struct fw_tx_frame frame = {0};

	run_headers(frame.hdr, psn);
	return run_of(pool, &frame, GSO_L4_AT, RUN_HDR_BYTES, n, last);
}

/* The headers of a run of FPDUs, whose last ends the message. */
static inline void run_tcp_headers(uint8_t *hdr, uint32_t seq)
{
	struct wire_ip *ip = (void *)(hdr + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (void *)(ip + 1);
	struct wire_mpa_fpdu *fpdu = (void *)(hdr + SEG_HDR_BYTES);
	struct wire_ddp_tagged *ddp = (void *)(fpdu + 1);
	uint32_t ip_bytes =
	    RUN_TCP_HDR_BYTES - sizeof(struct wire_eth) + RUN_SEGMENT + WIRE_DGRAM_CRC_BYTES;

	run_headers(hdr, 0);
	memset(tcp, 0, FW_TX_HDR_BYTES - GSO_L4_AT);
	ip->proto = WIRE_IPPROTO_TCP;
	ip->total_bytes = be16_put((uint16_t)ip_bytes);
	tcp->seq = be32_put(seq);
	tcp->data_offset = (sizeof(*tcp) + SEG_OPT_BYTES) / 4 << 4;
	tcp->flags = WIRE_TCP_ACK | WIRE_TCP_PSH;
	tcp->checksum = be16_put((uint16_t)wire_sum_add(
	    WIRE_IPPROTO_TCP + ip_bytes - (uint32_t)sizeof(*ip), &ip->src, 2 * sizeof(ip->src)));
	fpdu->ulpdu_bytes = be16_put((uint16_t)(sizeof(*ddp) + RUN_SEGMENT));
	ddp->ddp_ctrl = WIRE_DDP_TAGGED | WIRE_DDP_LAST;
}

/* A run of RC over TCP, whose sequence numbers begin with seq. */
static inline struct rte_mbuf *run_make_tcp(struct rte_mempool *pool, uint32_t seq, uint32_t n,
					    uint32_t last)
{
	struct fw_tx_frame frame = {.csum_start = GSO_L4_AT, .csum_at = GSO_L4_AT + CSUM_TCP_AT};

	run_tcp_headers(frame.hdr, seq);
	return run_of(pool, &frame, SEG_HDR_BYTES, RUN_TCP_HDR_BYTES, n, last);
}

#endif /* WEFT_TESTS_DPDK_APP_RUN_FIX_H */
