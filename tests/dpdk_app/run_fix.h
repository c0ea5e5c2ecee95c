/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that the firmware made, as borrowed frames (borrow.h): RD Writes from two pieces of memory.
 */
#ifndef WEFT_TESTS_DPDK_APP_RUN_FIX_H
#define WEFT_TESTS_DPDK_APP_RUN_FIX_H

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/ut.h"

enum {
	RUN_SEGMENT = 1404,
	RUN_HDR_BYTES = SEG_UDP_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
			sizeof(struct wire_ddp_tagged),
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

/* A run of n packets from psn on, the last of which has last bytes of payload. */
static inline struct rte_mbuf *run_make(struct rte_mempool *pool, uint32_t psn, uint32_t n,
					uint32_t last)
{
	uint32_t bytes = (n - 1) * RUN_SEGMENT + last;
	uint32_t first = bytes < RUN_FIRST ? bytes / 2 : RUN_FIRST;
	struct fw_tx_frame frame = {
	    .num_seg = 4,
	    .bytes = RUN_HDR_BYTES + bytes + n * WIRE_DGRAM_CRC_BYTES,
	    .run = (uint16_t)n,
	    .run_bytes = RUN_SEGMENT,
	    .seg = {{.kind = FW_TX_HDR, .bytes = GSO_L4_AT},
		    {.kind = FW_TX_HDR,
		     .addr = GSO_L4_AT,
		     .bytes = RUN_HDR_BYTES - GSO_L4_AT,
		     .flags = FW_TX_F_CRC_BEGIN},
		    {.kind = FW_TX_MEM, .mem = run_memory, .bytes = first},
		    {.kind = FW_TX_MEM,
		     .mem = run_memory + first,
		     .bytes = bytes - first,
		     .flags = FW_TX_F_CRC_END}},
	};
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	for (uint32_t i = 0; i < bytes; i++)
		run_memory[i] = (uint8_t)(i * 13 + i / 256);
	run_headers(frame.hdr, psn);
	CU_ASSERT_TRUE_FATAL(borrow_frame(&run_shard, &frame, true, m));
	return m;
}

#endif /* WEFT_TESTS_DPDK_APP_RUN_FIX_H */
