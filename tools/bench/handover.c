/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handover BURST TIMES [LANES]: passes frames from one core's shard to another's, for cost.py.
 *
 * One thread plays both cores. Between the parts it walks through more memory than the first cache
 * holds, so that each part meets every line as if another core had it: the misses that callgrind
 * counts are the lines which the part touches. Calls port_steer() and lanes.h, as weftd does.
 */
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/app.h"
#include "dpdk_app/port.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	FRAMES = 1023,
	FRAME_BYTES = 128,
	SWEEP_BYTES = 256 << 10, /* eight times the cache that cost.py gives callgrind */
	LINE_BYTES = 64,
};

static struct app app;
static struct core cores[CONF_MAX_CORES];
static volatile uint8_t sweep[SWEEP_BYTES];
static volatile uint64_t sink;

static __attribute__((noinline)) void cold(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(sweep); i += LINE_BYTES)
		sum += sweep[i];
	sink += sum;
}

/* A datagram for shard 1. */
static void make_frame(struct rte_mbuf *m)
{
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_eth *eth = (void *)at;
	struct wire_ip *ip = (void *)(at + sizeof(*eth));
	struct wire_udp *udp = (void *)(at + sizeof(*eth) + sizeof(*ip));

	memset(at, 0, FRAME_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->proto = WIRE_IPPROTO_UDP;
	udp->dst_port = be16_put(WIRE_DGRAM_PORT + 1);
	m->data_len = FRAME_BYTES;
	m->pkt_len = FRAME_BYTES;
}

/* The sending core: the frame's shard, its lane, the receiver's sleep. */
__attribute__((noinline)) void handover_put(struct nic *nic, struct rte_mbuf **m, uint32_t n);
void handover_put(struct nic *nic, struct rte_mbuf **m, uint32_t n)
{
	if (port_steer(nic, &nic->shard[0], false, m, n) != n)
		abort();
}

/* The receiving core. */
__attribute__((noinline)) uint32_t handover_take(struct shard *shard, struct rte_mbuf **m,
						 uint32_t n);
uint32_t handover_take(struct shard *shard, struct rte_mbuf **m, uint32_t n)
{
	return lanes_take(&shard->in, &shard->in_next, m, n);
}

/* The receiving core looks into lanes that have nothing. */
__attribute__((noinline)) uint32_t handover_look(struct shard *shard, struct rte_mbuf **m);
uint32_t handover_look(struct shard *shard, struct rte_mbuf **m)
{
	return lanes_take(&shard->in, &shard->in_next, m, FW_BURST);
}

static struct nic *prepare(uint32_t lanes)
{
	struct nic *nic = &app.nic[0];

	nic->app = &app;
	nic->num_shards = 2;
	for (uint32_t i = 0; i < CONF_MAX_CORES; i++)
		cores[i].number = i;
	for (uint32_t s = 0; s < nic->num_shards; s++) {
		nic->shard[s].nic = nic;
		nic->shard[s].number = s;
		nic->shard[s].core = &cores[s];
	}
	if (lanes_init(&nic->shard[1].in, lanes == 64 ? UINT64_MAX : (UINT64_C(1) << lanes) - 1))
		exit(EXIT_FAILURE);
	return nic;
}

int main(int argc, char **argv)
{
	static char *args[] = {"handover",       "--no-huge",   "-m", "32", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};
	uint32_t burst = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t times = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	uint32_t lanes = argc > 3 ? (uint32_t)atoi(argv[3]) : 2;
	struct rte_mbuf *m[FW_BURST];
	struct rte_mempool *pool;
	struct nic *nic;

	if (!burst || burst > FW_BURST || !times || !lanes || lanes > CONF_MAX_CORES) {
		fprintf(stderr,
			"usage: handover BURST TIMES [LANES]   BURST 1 to %d, LANES 1 to %d\n",
			FW_BURST, CONF_MAX_CORES);
		return 2;
	}
	if (rte_eal_init(sizeof(args) / sizeof(args[0]), args) < 0)
		return EXIT_FAILURE;
	pool = rte_pktmbuf_pool_create("handover", FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + FRAME_BYTES,
				       SOCKET_ID_ANY);
	nic = prepare(lanes);
	if (!pool || rte_pktmbuf_alloc_bulk(pool, m, burst))
		return EXIT_FAILURE;
	for (uint32_t i = 0; i < burst; i++)
		make_frame(m[i]);
	for (uint32_t i = 0; i < times; i++) {
		cold();
		handover_put(nic, m, burst);
		cold();
		if (handover_take(&nic->shard[1], m, burst) != burst)
			return EXIT_FAILURE;
		/* Lanes without frames stay in the receiver's cache. */
		(void)handover_look(&nic->shard[1], m);
	}
	printf("%u frames, %u at a time, %u lanes\n", burst * times, burst, lanes);
	return EXIT_SUCCESS;
}
