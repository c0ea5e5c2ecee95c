/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that several cores touch: lanes keep the order of each sender and let none starve another;
 * two threads move frames through one; no line of any structure that two cores touch is written by
 * one and used by another in the fast path; shards get their part of a core's time.
 *
 * Runs dpdk_app/lanes.c, load.h and port_steer(), and looks at the offsets of dpdk_app/app.h,
 * wire/wire.h and DPDK's rings.
 */
#include <pthread.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/app.h"
#include "dpdk_app/port.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "tests/ut.h"

enum {
	FRAMES = 2048,
	MOVED = 40000, /* frames that two threads move */
	CORES = 3,
	SHARDS = 4,
};

static struct rte_mempool *pool;

static void begin(void)
{
	static char *args[] = {"lanes_ut",       "--no-huge",   "-m", "32", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};

	if (pool)
		return;
	CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
	pool = rte_pktmbuf_pool_create("lanes", FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + 128,
				       SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
}

static struct rte_mbuf *frame(uint32_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->hash.usr = number;
	return m;
}

static void put(const struct lanes *lanes, uint32_t core, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = frame(core << 16 | (first + i));

		CU_ASSERT_EQUAL_FATAL(lanes_put(lanes, core, &m, 1), 1);
	}
}

/* ---- order and fairness */

static void slots_shrink_with_senders(void)
{
	CU_ASSERT_EQUAL(lanes_slots(1), LANES_FRAMES);
	CU_ASSERT_EQUAL(lanes_slots(2), LANES_FRAMES / 2);
	CU_ASSERT_EQUAL(lanes_slots(3), LANES_FRAMES / 4);
	CU_ASSERT_EQUAL(lanes_slots(8), LANES_FRAMES / 8);
	CU_ASSERT_EQUAL(lanes_slots(64), LANES_LEAST_FRAMES);
}

static void order_of_each_sender(void)
{
	struct lanes lanes = {0};
	uint32_t next = 0, seen[CORES] = {0}, got;
	struct rte_mbuf *m[FW_BURST];

	begin();
	CU_ASSERT_EQUAL_FATAL(lanes_init(&lanes, 1 << 0 | 1 << 1 | 1 << 2), 0);
	CU_ASSERT_FALSE(lanes_waiting(&lanes));
	/* A flood of core 0, a few frames of the others. */
	put(&lanes, 0, 0, 200);
	put(&lanes, 1, 0, 3);
	put(&lanes, 2, 0, 3);
	CU_ASSERT_TRUE(lanes_waiting(&lanes));
	for (uint32_t burst = 0; (got = lanes_take(&lanes, &next, m, FW_BURST)) > 0; burst++) {
		for (uint32_t i = 0; i < got; i++) {
			uint32_t core = m[i]->hash.usr >> 16;

			CU_ASSERT_EQUAL(m[i]->hash.usr & 0xffff, seen[core]);
			seen[core]++;
			rte_pktmbuf_free(m[i]);
		}
		/* The burst that the flood filled is followed by the others. */
		if (burst == 1) {
			CU_ASSERT_EQUAL(seen[1], 3);
			CU_ASSERT_EQUAL(seen[2], 3);
		}
	}
	CU_ASSERT_EQUAL(seen[0], 200);
	CU_ASSERT_FALSE(lanes_waiting(&lanes));
	/* The lanes free the frames that are left in them. */
	put(&lanes, 1, 0, 5);
	lanes_free(&lanes);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

static void full_lane_refuses(void)
{
	struct lanes lanes = {0};
	struct rte_mbuf *m;

	begin();
	CU_ASSERT_EQUAL_FATAL(lanes_init(&lanes, 0xff), 0);
	put(&lanes, 3, 0, LANES_FRAMES / 8 - 1);
	m = frame(0);
	CU_ASSERT_EQUAL(lanes_put(&lanes, 3, &m, 1), 0);
	/* Another sender has room of its own. */
	CU_ASSERT_EQUAL(lanes_put(&lanes, 4, &m, 1), 1);
	lanes_free(&lanes);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

/* ---- two threads */

static struct lanes between;

static void *sends(void *arg)
{
	uint32_t at = 0;

	(void)arg;
	while (at < MOVED) {
		/* No frame is behind the pointer: its value is what moves. */
		struct rte_mbuf *m = (struct rte_mbuf *)(uintptr_t)(at + 1);

		if (lanes_put(&between, 0, &m, 1))
			at++;
		else
			sched_yield();
	}
	return NULL;
}

static void two_threads(void)
{
	struct rte_mbuf *m[FW_BURST];
	uint32_t next = 0, seen = 0;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(lanes_init(&between, 1), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, sends, NULL), 0);
	while (seen < MOVED) {
		uint32_t got = lanes_take(&between, &next, m, FW_BURST);

		for (uint32_t i = 0; i < got; i++)
			CU_ASSERT_EQUAL_FATAL((uintptr_t)m[i], ++seen);
		if (!got)
			sched_yield();
	}
	pthread_join(thread, NULL);
	CU_ASSERT_FALSE(lanes_waiting(&between));
	lanes_free(&between);
}

/* ---- steering through lanes */

static struct app app;
static struct core cores[SHARDS];

static struct nic *one_nic(void)
{
	struct nic *nic = &app.nic[0];

	memset(&app, 0, sizeof(app));
	memset(cores, 0, sizeof(cores));
	nic->app = &app;
	nic->num_shards = SHARDS;
	for (uint32_t i = 0; i < SHARDS; i++) {
		cores[i].number = i;
		nic->shard[i].nic = nic;
		nic->shard[i].number = i;
		nic->shard[i].core = &cores[i];
		CU_ASSERT_EQUAL_FATAL(lanes_init(&nic->shard[i].in, (1 << SHARDS) - 1), 0);
	}
	return nic;
}

static struct rte_mbuf *datagram(uint32_t shard)
{
	struct rte_mbuf *m = frame(shard);
	uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_eth *eth = (void *)at;
	struct wire_ip *ip = (void *)(at + sizeof(*eth));
	struct wire_udp *udp = (void *)(at + sizeof(*eth) + sizeof(*ip));

	memset(at, 0, 64);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->proto = WIRE_IPPROTO_UDP;
	udp->dst_port = be16_put((uint16_t)(WIRE_DGRAM_PORT + shard));
	m->data_len = 64;
	m->pkt_len = 64;
	return m;
}

static void arp(struct rte_mbuf *m)
{
	rte_pktmbuf_mtod(m, struct wire_eth *)->type = be16_put(WIRE_ETHERTYPE_ARP);
}

/* Frames come into the lane of the sending core and no other; those for all come to each shard. */
static void steered_into_own_lanes(void)
{
	struct nic *nic;
	struct rte_mbuf *m[6];

	begin();
	nic = one_nic();
	for (uint32_t i = 0; i < 5; i++)
		m[i] = datagram(i == 4 ? 1 : i);
	m[5] = datagram(0);
	arp(m[5]);
	CU_ASSERT_EQUAL(port_steer(nic, &nic->shard[2], false, m, 6), 6);
	for (uint32_t s = 0; s < SHARDS; s++) {
		uint32_t want = s == 1 ? 3 : 2;

		for (uint32_t c = 0; c < SHARDS; c++)
			CU_ASSERT_EQUAL(rte_ring_count(nic->shard[s].in.from[c]),
					c == 2 ? want : 0);
	}
	for (uint32_t s = 0; s < SHARDS; s++)
		lanes_free(&nic->shard[s].in);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

/* A full lane is counted where the frame comes from: no shard writes another's counters. */
static void losses_are_the_senders(void)
{
	struct nic *nic;
	struct rte_mbuf *m;

	begin();
	nic = one_nic();
	for (uint32_t i = 0; i < LANES_FRAMES / SHARDS - 1; i++) {
		m = datagram(0);
		CU_ASSERT_EQUAL_FATAL(port_steer(nic, &nic->shard[1], false, &m, 1), 1);
	}
	m = datagram(0);
	arp(m);
	CU_ASSERT_EQUAL(port_steer(nic, &nic->shard[1], false, &m, 1), 1);
	CU_ASSERT_EQUAL(nic->shard[1].stats.drop_rx_ring_full, 1);
	CU_ASSERT_EQUAL(nic->shard[0].stats.drop_rx_ring_full, 0);
	for (uint32_t s = 0; s < SHARDS; s++)
		lanes_free(&nic->shard[s].in);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

/* ---- layout */

/* The begin of a part, which has a line of its own, and the next one. */
struct part {
	const char *name;
	size_t from, to;
};

#define PART(type, name, next)                                                                     \
	{                                                                                          \
#type "." #name, offsetof(type, name), offsetof(type, next)                        \
	}
#define PART_LAST(type, name)                                                                      \
	{                                                                                          \
#type "." #name, offsetof(type, name), sizeof(type)                                \
	}

static const struct part parts[] = {
    PART(struct shard, fixed, of_core),
    PART(struct shard, of_core, seldom),
    PART(struct shard, seldom, of_control),
    PART_LAST(struct shard, of_control),
    PART(struct core, fixed, of_core),
    PART(struct core, of_core, of_wakers),
    PART(struct core, of_wakers, of_quiesce),
    PART_LAST(struct core, of_quiesce),
    PART(struct nic, fixed, seldom),
    PART(struct nic, seldom, of_line),
    PART(struct nic, of_line, of_control),
    PART(struct nic, of_control, shard),
    PART_LAST(struct nic, shard),
    PART(struct app, fixed, of_messages),
    PART(struct app, of_messages, nic),
    PART_LAST(struct app, nic),
    PART(struct wire, fixed, seldom),
    PART(struct wire, seldom, of_owner),
    PART_LAST(struct wire, of_owner),
};

static void parts_have_lines_of_their_own(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].from % APP_APART_BYTES || parts[i].to % APP_APART_BYTES ||
		    parts[i].to <= parts[i].from)
			fprintf(stderr, "%s: bytes %zu to %zu\n", parts[i].name, parts[i].from,
				parts[i].to);
		CU_ASSERT_EQUAL(parts[i].from % APP_APART_BYTES, 0);
		CU_ASSERT_EQUAL(parts[i].to % APP_APART_BYTES, 0);
		CU_ASSERT_TRUE(parts[i].to > parts[i].from);
	}
}

/* Fields by who writes them while frames move, each within the part of that writer. */
#define FIELD(type, part, next, field)                                                             \
	{                                                                                          \
		.name = #type " " #field, .at = offsetof(type, field),                             \
		.from = offsetof(type, part), .to = offsetof(type, next)                           \
	}
#define FIELD_LAST(type, part, field)                                                              \
	{                                                                                          \
		.name = #type " " #field, .at = offsetof(type, field),                             \
		.from = offsetof(type, part), .to = sizeof(type)                                   \
	}

static const struct {
	const char *name;
	size_t at, from, to; /* of the field; of its part, in bytes */
} fields[] = {
    /* Read by every core that sends to a shard, beside what its own core writes. */
    FIELD(struct shard, fixed, of_core, in),
    FIELD(struct shard, fixed, of_core, loop),
    FIELD(struct shard, fixed, of_core, core),
    FIELD(struct shard, of_core, seldom, stats),
    FIELD(struct shard, of_core, seldom, line),
    FIELD(struct shard, of_core, seldom, num_borrowed),
    FIELD(struct shard, of_core, seldom, num_rest),
    /* Read by core_wake() for each burst; the turns of the core do not write beside it. */
    FIELD(struct core, of_wakers, of_quiesce, sleeping),
    FIELD_LAST(struct core, of_quiesce, rounds),
    FIELD(struct core, of_core, of_wakers, now_ns),
    FIELD(struct core, of_core, of_wakers, stats),
    /* Read by every shard in each turn. */
    FIELD(struct nic, seldom, of_line, link_up),
    FIELD(struct nic, seldom, of_line, capture),
    FIELD(struct nic, of_line, of_control, line_busy_ns),
    FIELD(struct nic, of_control, shard, memory_refused),
    FIELD(struct app, of_messages, nic, awaited),
    FIELD(struct wire, fixed, seldom, queue_each),
    FIELD(struct wire, seldom, of_owner, settled),
    FIELD_LAST(struct wire, of_owner, next_rx_queue),
    FIELD_LAST(struct wire, of_owner, num_stuck),
};

static void fields_are_in_their_part(void)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		bool in = fields[i].at >= fields[i].from && fields[i].at < fields[i].to;

		if (!in)
			fprintf(stderr, "%s: byte %zu\n", fields[i].name, fields[i].at);
		CU_ASSERT_TRUE(in);
	}
}

/* DPDK's ring: what the producer and the consumer write lies on different lines. */
static void ring_ends_are_apart(void)
{
	struct lanes lanes = {0};
	const size_t line = APP_CACHE_LINE_BYTES;
	size_t prod = offsetof(struct rte_ring, prod), cons = offsetof(struct rte_ring, cons);

	CU_ASSERT_EQUAL(prod % line, 0);
	CU_ASSERT_EQUAL(cons % line, 0);
	CU_ASSERT_TRUE(cons >= prod + line);
	CU_ASSERT_TRUE(sizeof(struct rte_ring) >= cons + line);
	CU_ASSERT_TRUE(offsetof(struct rte_ring, capacity) < prod);
	CU_ASSERT_EQUAL(sizeof(struct rte_ring) % line, 0);
	/* Neither a lane nor its end shares a line with other memory. */
	CU_ASSERT_EQUAL_FATAL(lanes_init(&lanes, 3), 0);
	for (uint32_t i = 0; i < lanes.num; i++) {
		CU_ASSERT_EQUAL((uintptr_t)lanes.ring[i] % APP_APART_BYTES, 0);
		CU_ASSERT_EQUAL(lanes.ring[i]->prod.sync_type, RTE_RING_SYNC_ST);
		CU_ASSERT_EQUAL(lanes.ring[i]->cons.sync_type, RTE_RING_SYNC_ST);
	}
	lanes_free(&lanes);
}

/* ---- load */

static void load_of_shards(void)
{
	struct load a = {0}, b = {0};

	/* Alone in a turn, then a third and two thirds of one. */
	load_add(&a, 1000, 7, 7);
	load_add(&a, 3000, 10, 30);
	load_add(&b, 3000, 20, 30);
	CU_ASSERT_EQUAL(a.busy_ns, 2000);
	CU_ASSERT_EQUAL(b.busy_ns, 2000);
	CU_ASSERT_EQUAL(load_period(&a, 10000), 200);
	CU_ASSERT_EQUAL(load_period(&a, 10000), 0);
	load_add(&a, 5000, 1, 1);
	CU_ASSERT_EQUAL(load_period(&a, 4000), 1000);
	CU_ASSERT_EQUAL(a.busy_ns, 7000);
	CU_ASSERT_EQUAL(load_period(&b, UINT64_C(1) << 40), 0);
}

UT_MAIN("dpdk_app/lanes", UT(slots_shrink_with_senders), UT(order_of_each_sender),
	UT(full_lane_refuses), UT(two_threads), UT(steered_into_own_lanes),
	UT(losses_are_the_senders), UT(parts_have_lines_of_their_own), UT(fields_are_in_their_part),
	UT(ring_ends_are_apart), UT(load_of_shards))
