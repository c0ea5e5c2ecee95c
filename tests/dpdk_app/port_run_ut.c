/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of packets through the port and the built-in switch: whole from NIC to NIC and to a group,
 * in turns that are no longer than without them, behind a full lane, with faults that begin on the
 * way.
 *
 * Runs dpdk_app/port_tx.c, port_rx.c, wire/wire_switch.c and wire/faults.c of NICs of one core: of
 * two, and for groups of a third one with two shards.
 */
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/borrow.h"
#include "dpdk_app/port.h"
#include "dpdk_app/wire/faults.h"
#include "dpdk_app/wire/mac_filter.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/hw_fault.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "tests/ut.h"

enum {
	FRAMES = 4096,
	ROOM = 2048,
	SEGMENT = 1408,
	PAYLOAD = FW_RUN_MAX * SEGMENT,
	IP_BYTES = 34,
	HDR_BYTES = IP_BYTES + 8 + sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
		    sizeof(struct wire_ddp_tagged),
	RUN_BYTES = HDR_BYTES + PAYLOAD + FW_RUN_MAX * WIRE_DGRAM_CRC_BYTES,
	NICS = 3,
	GROUP = NICS, /* in place of a NIC's number */
	PACKET_BYTES = HDR_BYTES + SEGMENT + WIRE_DGRAM_CRC_BYTES,
};

static struct rte_mempool *pool;
static struct app app;
static struct core core, other;
static struct conf_nic conf[NICS];
static const uint8_t group[WIRE_MAC_BYTES] = {0x03, 0x57, 1, 2, 3, 4};
static uint8_t payload[PAYLOAD];

static void begin_with(uint32_t nics)
{
	static char *args[] = {"port_run_ut",    "--no-huge",   "-m", "64", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};

	if (!pool) {
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
		pool = rte_pktmbuf_pool_create("port_run", FRAMES, 0, 0,
					       RTE_PKTMBUF_HEADROOM + ROOM, SOCKET_ID_ANY);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
		CU_ASSERT_EQUAL_FATAL(borrow_init(), 0);
		accel_init();
	}
	memset(&app, 0, sizeof(app));
	core.now_ns = 1000000000;
	app.num_nics = nics;
	for (uint32_t i = 0; i < nics; i++) {
		struct nic *nic = &app.nic[i];

		conf[i].wire = CONF_WIRE_SWITCH;
		nic->app = &app;
		nic->conf = &conf[i];
		nic->index = i;
		nic->mac[5] = (uint8_t)(2 + i);
		nic->mtu = 1500;
		nic->pool = pool;
		nic->num_shards = i < 2 ? 1 : 2;
		nic->on_switch = true;
		for (uint32_t k = 0; k < nic->num_shards; k++) {
			nic->shard[k].nic = nic;
			nic->shard[k].number = k;
			nic->shard[k].core = &core;
			CU_ASSERT_EQUAL_FATAL(lanes_init(&nic->shard[k].in, 1), 0);
			CU_ASSERT_EQUAL_FATAL(lanes_init(&nic->shard[k].loop, 1), 0);
		}
		CU_ASSERT_EQUAL_FATAL(wire_switch_open(nic), 0);
		CU_ASSERT_EQUAL_FATAL(mac_filter_init(nic), 0);
	}
	for (uint32_t i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
}

static void begin(void)
{
	begin_with(2);
}

static void end(void)
{
	for (uint32_t i = 0; i < app.num_nics; i++) {
		struct nic *nic = &app.nic[i];

		nic->wire->ops->close(nic->wire);
		for (uint32_t k = 0; k < nic->num_shards; k++) {
			struct shard *shard = &nic->shard[k];

			borrow_settle(shard);
			lanes_free(&shard->in);
			lanes_free(&shard->loop);
			faults_free(shard);
		}
		mac_filter_free(nic);
	}
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

/* Makes a frame of n packets from NIC 0 to a NIC; psn: of the first. */
static void make(struct fw_tx_frame *frame, uint32_t to, uint32_t n, uint32_t psn)
{
	struct wire_eth *eth = (void *)frame->hdr;
	struct wire_ip *ip = (void *)(eth + 1);
	struct wire_rd *rd = (void *)(frame->hdr + IP_BYTES + 8 + sizeof(struct wire_dgram));

	memset(frame, 0, sizeof(*frame));
	memcpy(eth->dst, to == GROUP ? group : app.nic[to].mac, WIRE_MAC_BYTES);
	if (to == GROUP)
		eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put((uint16_t)(PACKET_BYTES - sizeof(*eth)));
	rd->psn = be32_put(psn);
	frame->hdr[HDR_BYTES - sizeof(struct wire_ddp_tagged)] = WIRE_DDP_TAGGED;
	frame->seg[0] = (struct fw_tx_seg){.bytes = IP_BYTES};
	frame->seg[1] = (struct fw_tx_seg){
	    .addr = IP_BYTES, .bytes = HDR_BYTES - IP_BYTES, .flags = FW_TX_F_CRC_BEGIN};
	frame->seg[2] = (struct fw_tx_seg){
	    .mem = payload, .bytes = n * SEGMENT, .kind = FW_TX_MEM, .flags = FW_TX_F_CRC_END};
	frame->num_seg = 3;
	frame->bytes = HDR_BYTES + n * (SEGMENT + WIRE_DGRAM_CRC_BYTES);
	frame->flags = FW_TX_F_BORROW | (to ? 0 : FW_TX_LOOP);
	frame->run = (uint16_t)n;
	frame->run_bytes = SEGMENT;
}

static void send(uint32_t to, uint32_t n, uint32_t psn)
{
	static struct fw_tx_frame frame;

	make(&frame, to, n, psn);
	CU_ASSERT_EQUAL_FATAL(port_tx_burst(&app.nic[0].shard[0], &frame, 1), 1);
	CU_ASSERT_EQUAL(frame.status, 0);
}

static struct fw_rx_frame got[FW_BURST];

/* Returns the packets that a turn of a NIC takes, and the frames in *frames. */
static uint32_t turn_of(struct shard *shard, uint32_t *frames)
{
	uint32_t packets = 0;

	*frames = port_rx_burst(shard, got, FW_BURST);
	for (uint32_t i = 0; i < *frames; i++)
		packets += got[i].run;
	port_rx_free(shard, got, *frames);
	return packets;
}

static uint32_t turn(uint32_t nic, uint32_t *frames)
{
	return turn_of(&app.nic[nic].shard[0], frames);
}

/* A run is one frame at the receiver, to another NIC and to the NIC itself; counters see packets.
 */
static void whole(void)
{
	for (uint32_t to = 0; to < 2; to++) {
		struct port_stats *out = &app.nic[0].shard[0].stats;
		struct port_stats *in = &app.nic[to].shard[0].stats;
		uint32_t frames;

		begin();
		CU_ASSERT_EQUAL(port_tx_run(&app.nic[0].shard[0], app.nic[to].mac), FW_RUN_MAX);
		send(to, FW_RUN_MAX, 100);
		CU_ASSERT_EQUAL(turn(to, &frames), FW_RUN_MAX);
		CU_ASSERT_EQUAL(frames, 1);
		CU_ASSERT_EQUAL(got[0].run_bytes, SEGMENT);
		CU_ASSERT_EQUAL(got[0].bytes, RUN_BYTES);
		CU_ASSERT_PTR_EQUAL(got[0].seg[1].data, payload);
		CU_ASSERT_EQUAL(out->tx_frames, FW_RUN_MAX);
		CU_ASSERT_EQUAL(out->tx_borrowed, FW_RUN_MAX);
		CU_ASSERT_EQUAL(out->tx_bytes, FW_RUN_MAX * PACKET_BYTES);
		CU_ASSERT_EQUAL(out->tx_loop_frames, to ? 0 : FW_RUN_MAX);
		CU_ASSERT_EQUAL(in->rx_frames, FW_RUN_MAX);
		CU_ASSERT_EQUAL(in->rx_bytes, FW_RUN_MAX * PACKET_BYTES);
		CU_ASSERT_EQUAL(in->rx_ring, to ? FW_RUN_MAX : 0);
		end();
	}
}

/* A turn takes a burst of packets, not of runs; what is left comes first in the next, in order. */
static void bounded_turns(void)
{
	enum {
		RUNS = 7,
	};
	uint32_t frames, seen = 0, turns = 0, packets;

	begin();
	for (uint32_t i = 0; i < RUNS; i++)
		send(1, FW_RUN_MAX, i * FW_RUN_MAX);
	send(1, 1, RUNS * FW_RUN_MAX);
	while ((packets = turn(1, &frames)) > 0) {
		for (uint32_t i = 0; i < frames; i++) {
			const struct wire_rd *rd = (const void *)(got[i].seg[0].data + IP_BYTES +
								  8 + sizeof(struct wire_dgram));

			CU_ASSERT_EQUAL(be32_get(rd->psn), seen);
			seen += got[i].run;
		}
		CU_ASSERT(packets < FW_BURST + FW_RUN_MAX);
		turns++;
	}
	CU_ASSERT_EQUAL(seen, RUNS * FW_RUN_MAX + 1);
	CU_ASSERT_EQUAL(turns, (RUNS * FW_RUN_MAX + FW_BURST) / FW_BURST);
	/* Frames that are left when the NIC is closed are freed. */
	end();
}

/* The receiver's lane is full: runs wait whole, and come in their order when there is room. */
static void full_lane(void)
{
	uint32_t frames, seen = 0, packets, sent = 0, limit;

	begin();
	/* A shard lends so many frames; what it sends beyond is no run. */
	limit = APP_MAX_BORROWED - FW_BURST;
	while (rte_ring_free_count(app.nic[1].shard[0].in.from[0]) > limit / 2) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		memset(rte_pktmbuf_mtod(m, void *), 0, 64);
		m->data_len = 64;
		m->pkt_len = 64;
		CU_ASSERT_EQUAL_FATAL(lanes_put(&app.nic[1].shard[0].in, 0, &m, 1), 1);
	}
	for (; sent < limit; sent++) {
		CU_ASSERT_EQUAL(port_tx_run(&app.nic[0].shard[0], app.nic[1].mac), FW_RUN_MAX);
		send(1, FW_RUN_MAX, sent * FW_RUN_MAX);
	}
	CU_ASSERT_EQUAL(app.nic[0].shard[0].stats.drop_wire_full, 0);
	CU_ASSERT(app.nic[0].shard[0].stats.wire_pauses > 0);
	while ((packets = turn(1, &frames)) > 0) {
		for (uint32_t i = 0; i < frames; i++)
			seen += got[i].run > 1 ? 1 : 0;
		port_tx_flush(&app.nic[0].shard[0]);
	}
	CU_ASSERT_EQUAL(seen, sent);
	end();
}

/* Lent frames are bounded: with many under way there are no runs, and again when they have come. */
static void bounded_loans(void)
{
	uint32_t frames, n;

	begin();
	for (n = 0; n < APP_MAX_BORROWED && port_tx_run(&app.nic[0].shard[0], app.nic[1].mac) > 1;
	     n++)
		send(1, FW_RUN_MAX, 0);
	CU_ASSERT_EQUAL(n, APP_MAX_BORROWED - FW_BURST + 1);
	while (turn(1, &frames))
		;
	CU_ASSERT_EQUAL(port_tx_run(&app.nic[0].shard[0], app.nic[1].mac), FW_RUN_MAX);
	end();
}

/* Faults that begin while a run is under way lose packets of it; afterwards there are no runs. */
static void faults_on_the_way(void)
{
	const struct hw_fault half = {.chance = {.loss_ppm = 500000}, .seed = 1};
	uint32_t frames, packets = 0, n;

	begin();
	for (n = 0; n < 8; n++)
		send(1, FW_RUN_MAX, n * FW_RUN_MAX);
	CU_ASSERT_EQUAL_FATAL(faults_set(&app.nic[1], &half, false), 0);
	CU_ASSERT_EQUAL(port_tx_run(&app.nic[0].shard[0], app.nic[1].mac), 1);
	for (n = 0; n < 20; n++) {
		packets += turn(1, &frames);
		for (uint32_t i = 0; i < frames; i++) {
			CU_ASSERT_EQUAL(got[i].run, 1);
			CU_ASSERT_EQUAL(got[i].bytes, PACKET_BYTES);
		}
		core.now_ns += 1000;
	}
	CU_ASSERT(packets > 8 && packets < 8 * FW_RUN_MAX - 8);
	end();
}

/* The memory is given back while runs are left for the next turn: these have copies. */
static void settled_at_rest(void)
{
	const uint32_t left = 6 - FW_BURST / FW_RUN_MAX;
	uint32_t frames, packets = 0;

	begin();
	for (uint32_t i = 0; i < 6; i++)
		send(1, FW_RUN_MAX, i * FW_RUN_MAX);
	CU_ASSERT_EQUAL(turn(1, &frames), FW_BURST);
	CU_ASSERT_EQUAL(app.nic[1].shard[0].num_rest, left);
	borrow_settle(&app.nic[0].shard[0]);
	CU_ASSERT_EQUAL(app.nic[0].shard[0].stats.tx_settled, left * FW_RUN_MAX);
	memset(payload, 0xee, sizeof(payload));
	while ((frames = port_rx_burst(&app.nic[1].shard[0], got, FW_BURST)) > 0) {
		for (uint32_t i = 0; i < frames; i++) {
			CU_ASSERT_EQUAL(got[i].run, FW_RUN_MAX);
			CU_ASSERT_EQUAL(got[i].seg[1].data[SEGMENT], (uint8_t)(SEGMENT * 7 + 5));
			packets += got[i].run;
		}
		port_rx_free(&app.nic[1].shard[0], got, frames);
	}
	CU_ASSERT_EQUAL(packets, left * FW_RUN_MAX);
	end();
}

/* Without buffers for a copy the run is lost, whether it waits on the way or has faults ahead. */
static void lost_without_buffers(void)
{
	static struct rte_mbuf *all[FRAMES];
	const struct hw_fault some = {.chance = {.loss_ppm = 1}, .seed = 1};
	uint32_t frames, n;

	for (int faulty = 0; faulty < 2; faulty++) {
		begin();
		send(1, FW_RUN_MAX, 0);
		send(1, FW_RUN_MAX, FW_RUN_MAX);
		n = rte_mempool_avail_count(pool);
		CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(pool, all, n), 0);
		borrow_settle(&app.nic[0].shard[0]);
		rte_pktmbuf_free_bulk(all, n);
		if (faulty)
			CU_ASSERT_EQUAL_FATAL(faults_set(&app.nic[1], &some, false), 0);
		CU_ASSERT_EQUAL(turn(1, &frames), 0);
		CU_ASSERT_EQUAL(frames, 0);
		CU_ASSERT_EQUAL(app.nic[1].shard[0].stats.rx_frames, 0);
		end();
	}
}

static void join(uint32_t nic, uint32_t shard)
{
	(void)mac_filter_set(&app.nic[nic].shard[shard], group, 0, true);
}

/* A run to a group is one frame at each shard of each NIC that lets it in, and at no other. */
static void to_a_group(void)
{
	uint32_t frames;

	begin_with(NICS);
	join(0, 0);
	join(2, 1);
	CU_ASSERT_EQUAL(port_tx_run(&app.nic[0].shard[0], group), FW_RUN_MAX);
	send(GROUP, FW_RUN_MAX, 0);
	CU_ASSERT_EQUAL(turn(0, &frames), 0);
	CU_ASSERT_EQUAL(turn(1, &frames), 0);
	for (uint32_t k = 0; k < 2; k++) {
		CU_ASSERT_EQUAL(turn_of(&app.nic[2].shard[k], &frames), FW_RUN_MAX);
		CU_ASSERT_EQUAL(frames, 1);
		CU_ASSERT_PTR_EQUAL(got[0].seg[1].data, payload);
	}
	join(1, 0);
	send(GROUP, 3, 0);
	CU_ASSERT_EQUAL(turn(1, &frames), 3);
	CU_ASSERT_EQUAL(turn_of(&app.nic[2].shard[1], &frames), 3);
	end();
}

/* Where a member's NIC has another core, or faults, there are no runs. */
static void to_a_group_far_away(void)
{
	const struct hw_fault some = {.chance = {.loss_ppm = 1}, .seed = 1};
	struct shard *from = &app.nic[0].shard[0];
	struct fw_tx_frame frame;
	struct rte_mbuf *m;
	uint32_t frames;

	begin_with(NICS);
	join(2, 0);
	other.number = 1;
	app.nic[1].shard[0].core = &other;
	CU_ASSERT_EQUAL(port_tx_run(from, group), FW_RUN_MAX);
	join(1, 0);
	CU_ASSERT_EQUAL(port_tx_run(from, group), 1);
	app.nic[1].shard[0].core = &core;
	app.nic[2].shard[1].core = &other;
	CU_ASSERT_EQUAL(port_tx_run(from, group), 1);
	app.nic[2].shard[1].core = &core;
	CU_ASSERT_EQUAL(port_tx_run(from, group), FW_RUN_MAX);
	/* It joins when the frame is made: it gets none, the others do. */
	m = rte_pktmbuf_alloc(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	make(&frame, GROUP, 4, 0);
	CU_ASSERT_TRUE_FATAL(borrow_frame(from, &frame, false, m));
	app.nic[1].shard[0].core = &other;
	CU_ASSERT_EQUAL(app.nic[0].wire->ops->tx(from, &m, 1), 1);
	CU_ASSERT_EQUAL(turn(1, &frames), 0);
	CU_ASSERT_EQUAL(turn(2, &frames), 4);
	app.nic[1].shard[0].core = &core;
	CU_ASSERT_EQUAL_FATAL(faults_set(&app.nic[1], &some, false), 0);
	CU_ASSERT_EQUAL(port_tx_run(from, group), 1);
	end();
}

/* Frames in other memory are not settled; a run that waits for a lane is copied for all. */
static void settled_on_the_way_to_a_group(void)
{
	struct shard *from = &app.nic[0].shard[0], *to = &app.nic[2].shard[0];
	uint32_t frames, packets = 0, n;

	begin_with(NICS);
	join(2, 0);
	while (rte_ring_free_count(to->in.from[0])) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		memset(rte_pktmbuf_mtod(m, void *), 0, 64);
		m->data_len = 64;
		m->pkt_len = 64;
		CU_ASSERT_EQUAL_FATAL(lanes_put(&to->in, 0, &m, 1), 1);
	}
	send(2, 3, 0);
	send(GROUP, FW_RUN_MAX, 0);
	borrow_settle_mem(from, payload + 1, PAYLOAD);
	CU_ASSERT_EQUAL(from->stats.tx_settled, 0);
	borrow_settle_mem(from, payload, 1);
	CU_ASSERT_EQUAL(from->stats.tx_settled, 3 + FW_RUN_MAX);
	CU_ASSERT_EQUAL(from->num_borrowed, 0);
	memset(payload, 0xee, sizeof(payload));
	for (n = 0; n < 200; n++) {
		packets += turn_of(to, &frames);
		port_tx_flush(from);
	}
	CU_ASSERT_EQUAL(packets, rte_ring_get_capacity(to->in.from[0]) + 3 + FW_RUN_MAX);
	CU_ASSERT_EQUAL(turn_of(&app.nic[2].shard[1], &frames), FW_RUN_MAX);
	end();
}

UT_MAIN("dpdk_app/port_run", UT(whole), UT(bounded_turns), UT(full_lane), UT(bounded_loans),
	UT(faults_on_the_way), UT(settled_at_rest), UT(lost_without_buffers), UT(to_a_group),
	UT(to_a_group_far_away), UT(settled_on_the_way_to_a_group))
