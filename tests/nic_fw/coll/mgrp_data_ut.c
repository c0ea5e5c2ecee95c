/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/mgrp_data.c, and runs in mgrp_rx.c: packets of a run beside those that are sent one
 * by one, its length at the edges of the window, a member that takes it whole or in parts.
 */
#include "nic_fw/base/crc32c.h"
#include "tests/nic_fw/coll/mgrp_fix.h"
#include "tests/nic_fw/run_crc.h"

enum {
	EDP_AT = sizeof(struct wire_eth),
	HDR_BYTES = HEAD_BYTES + sizeof(struct wire_goal),
	OVERHEAD = HDR_BYTES - EDP_AT + WIRE_EDP_CRC_BYTES,
	ROOM = HW_MIN_MTU - OVERHEAD, /* of a packet before all MTUs are known */
	PACKETS_MAX = 128,
	PIECE = 1000, /* of runs that arrive */
};

/* ---- headers -------------------------------------------------------------------------------- */

static void make_hdr(uint8_t *hdr)
{
	struct wire_eth *eth = (void *)hdr;
	struct wire_edp *edp = (void *)(hdr + EDP_AT);
	struct wire_mgrp *mgrp = (void *)(edp + 1);
	struct wire_goal *goal = (void *)(mgrp + 1);

	for (uint32_t i = 0; i < HDR_BYTES; i++)
		hdr[i] = (uint8_t)(i * 11 + 3);
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	edp->ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_GROUP;
	edp->bytes = be16_put((uint16_t)(HDR_BYTES - EDP_AT + PIECE));
	mgrp->psn = be32_put(UINT32_MAX - 1);
	goal->offset = be64_put(UINT64_C(0xffffffff) - 2 * PIECE);
	goal->piece_bytes = be32_put(PIECE);
}

static void same_crcs(void)
{
	for (uint32_t packets = 2; packets <= FW_RUN_MAX; packets++) {
		const struct fw_run run = {
		    .packets = packets, .segment_bytes = PIECE, .bytes = packets * PIECE - 77};
		uint8_t hdr[FW_TX_HDR_BYTES];

		make_hdr(hdr);
		run_crc_check(&run, hdr, HDR_BYTES, EDP_AT);
	}
}

/* ---- the root -------------------------------------------------------------------------------- */

/* Packets that left, as a wire has them; and the length of the run in which each one left. */
static struct {
	uint32_t n, run;
	uint8_t b[2048];
} left[PACKETS_MAX];
static uint32_t num_left, run_limit, frames;
static uint8_t run_mac[6];

static void add_left(const struct fw_tx_frame *frame, const struct fw_run *run, uint32_t i)
{
	uint32_t at = i * run->segment_bytes, k;
	uint32_t n = i + 1 < run->packets ? run->segment_bytes : run->bytes - at;
	struct be32 crc;
	uint8_t *b;

	CU_ASSERT_FATAL(num_left < PACKETS_MAX && frame->num_seg == 3);
	b = left[num_left].b;
	memcpy(b, frame->hdr, HDR_BYTES);
	if (run->packets > 1)
		fw_run_hdr(b, i, run);
	for (k = 0; k < n; k++)
		b[HDR_BYTES + k] = frame->seg[2].mem[at + k];
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, b + EDP_AT, HDR_BYTES - EDP_AT + n));
	memcpy(b + HDR_BYTES + n, &crc, sizeof(crc));
	left[num_left].n = HDR_BYTES + n + (uint32_t)sizeof(crc);
	left[num_left++].run = run->packets;
}

static uint32_t grab(void *ctx, struct fw_tx_frame *tx, uint32_t n)
{
	(void)ctx;
	for (uint32_t i = 0; i < n; i++) {
		const struct wire_mgrp *wire =
		    (const void *)(tx[i].hdr + EDP_AT + sizeof(struct wire_edp));
		struct fw_run run = {.packets = tx[i].run,
				     .segment_bytes = tx[i].run_bytes,
				     .bytes = tx[i].seg[2].bytes};

		tx[i].status = 0;
		if (!(tx[i].hdr[0] & 1) && wire->type != WIRE_MGRP_REPAIR)
			continue;
		frames++;
		CU_ASSERT_EQUAL(tx[i].run > 1, (tx[i].flags & FW_TX_F_BORROW) != 0);
		if (run.packets <= 1)
			run = (struct fw_run){1, run.bytes, run.bytes};
		for (uint32_t k = 0; k < run.packets; k++)
			add_left(&tx[i], &run, k);
	}
	return n;
}

static uint32_t allow(void *ctx, const uint8_t mac[6])
{
	(void)ctx;
	memcpy(run_mac, mac, 6);
	return run_limit;
}

/* A multicast of so many bytes; limit: of its runs, 0: the port has none. room: of a packet. */
static struct goal_run *multicast(uint32_t bytes, uint32_t limit)
{
	prepare(false);
	memory.code.ops[SHORT] = receive(RANK, 6, bytes, GOAL_REF(0, 0));
	memory.code.ops[SHORT].kind = GOAL_INSN_MCAST_SEND;
	memory.code.ops[SHORT].first_edge = 0;
	memory.code.ops[SHORT].num_edges = 1;
	load(false);
	memcpy(memory.slot, bytes_of, SLOT_BYTES);
	num_left = frames = 0;
	run_limit = limit;
	ut.nic->port.tx_burst = grab;
	ut.nic->port.tx_run = limit ? allow : NULL;
	return start();
}

static void report(uint32_t psn)
{
	struct mgrp_space *s = space(RANK);

	for (uint32_t i = 0; i < s->num_children; i++) {
		struct note g = {.type = WIRE_MGRP_STATUS,
				 .src = s->child[i].rank,
				 .dst = RANK,
				 .root = RANK,
				 .epoch = s->epoch,
				 .base = s->base,
				 .psn = psn,
				 .own = psn};

		group_arrives(&g);
	}
}

/* The same bytes are on the wire, however the packets left. */
static void the_same_packets(void)
{
	static const uint32_t sizes[] = {ROOM + 1, 2 * ROOM, 5 * ROOM + 3, SLOT_BYTES};
	static uint8_t want[PACKETS_MAX][2048];

	for (uint32_t s = 0; s < 4; s++) {
		uint32_t n, i, ring;
		struct goal_run *run;

		(void)multicast(sizes[s], 0);
		ring = space(RANK)->ring_bytes;
		n = num_left;
		CU_ASSERT_EQUAL(n, (sizes[s] + ROOM - 1) / ROOM);
		CU_ASSERT_EQUAL(frames, n);
		for (i = 0; i < n; i++)
			memcpy(want[i], left[i].b, left[i].n);
		end();
		run = multicast(sizes[s], FW_RUN_MAX);
		CU_ASSERT_EQUAL(frames, 1);
		CU_ASSERT(memcmp(run_mac, comm->group.mac, 6) == 0);
		CU_ASSERT_EQUAL_FATAL(num_left, n);
		for (i = 0; i < n; i++) {
			CU_ASSERT_EQUAL(left[i].run, n);
			CU_ASSERT(memcmp(left[i].b, want[i], left[i].n) == 0);
		}
		CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_data, n);
		CU_ASSERT_EQUAL(space(RANK)->next, space(RANK)->base + n);
		CU_ASSERT_EQUAL(space(RANK)->ring_bytes, ring);
		CU_ASSERT_EQUAL(run->remaining, OPS - 1);
		/* One of them is asked for again: it goes alone, with the same content. */
		for (i = 0; i < n; i += n - 1) {
			struct note g = {.type = WIRE_MGRP_STATUS,
					 .src = space(RANK)->child[0].rank,
					 .dst = RANK,
					 .root = RANK,
					 .epoch = space(RANK)->epoch,
					 .base = space(RANK)->base,
					 .psn = space(RANK)->base,
					 .own = space(RANK)->base,
					 .from = space(RANK)->base + i,
					 .missing = 1};

			num_left = 0;
			group_arrives(&g);
			turns(1);
			CU_ASSERT_EQUAL_FATAL(num_left, 1);
			CU_ASSERT_EQUAL(left[0].run, 1);
			CU_ASSERT(memcmp(left[0].b + HEAD_BYTES, want[i] + HEAD_BYTES,
					 left[0].n - HEAD_BYTES - WIRE_EDP_CRC_BYTES) == 0);
		}
		end();
	}
}

/* Sends 82 packets of 100 bytes, and of the next 82 what the window lets through. */
static void short_packets(void)
{
	struct mgrp_space *s;

	(void)multicast(SLOT_BYTES, FW_RUN_MAX);
	s = space(RANK);
	report(s->next);
	s->frame_bytes = OVERHEAD + 100;
	num_left = frames = 0;
}

/* A run is no longer than the port allows, and an even part of the rest. */
static void lengths(void)
{
	struct mgrp_space *s;

	(void)multicast(5 * ROOM, 1);
	CU_ASSERT_EQUAL(frames, 5);
	end();
	(void)multicast(7 * ROOM, 3);
	CU_ASSERT_EQUAL(frames, 3);
	CU_ASSERT_EQUAL(left[0].run, 3);
	CU_ASSERT_EQUAL(left[6].run, 1);
	end();
	/* Three runs of a burst at most. */
	short_packets();
	s = space(RANK);
	(void)start_in(1, false);
	CU_ASSERT_EQUAL(num_left, 82);
	CU_ASSERT_EQUAL(frames, 3);
	CU_ASSERT_EQUAL(left[0].run, 28);
	CU_ASSERT_EQUAL(left[28].run, 27);
	CU_ASSERT_EQUAL(left[81].run, 27);
	report(s->next);
	CU_ASSERT_EQUAL(s->ring_bytes, 0);
	end();
}

/* At the window's edge, of numbers and of bytes, as many leave in a run as would one by one. */
static void window(void)
{
	uint32_t whole = 100 + (uint32_t)sizeof(struct wire_goal), n;

	for (n = 1; n < 4; n++) {
		uint32_t fake = MGRP_WINDOW_BYTES - 1 - (n - 1) * whole, base;
		struct mgrp_space *s;

		short_packets();
		s = space(RANK);
		s->low -= MGRP_WINDOW - n;
		(void)start_in(1, false);
		CU_ASSERT_EQUAL(left[0].run, n);
		CU_ASSERT_EQUAL(num_left, 82);
		end();
		short_packets();
		s = space(RANK);
		base = s->next;
		s->ring_bytes += fake;
		(void)start_in(1, false);
		CU_ASSERT_EQUAL(s->next, base + n);
		CU_ASSERT_EQUAL(frames, 1);
		CU_ASSERT_EQUAL(left[0].run, n);
		s->ring_bytes -= fake;
		mgrp_ready(ut.nic, s);
		turns(2);
		CU_ASSERT_EQUAL(s->next, base + 82);
		end();
	}
}

/* A block is given back with its last packet, and no frame reads it then. */
static void blocks(void)
{
	struct mgrp_space *s;
	const uint8_t *block;
	uint64_t held;

	(void)multicast(5 * ROOM, FW_RUN_MAX);
	s = space(RANK);
	block = mgrp_slot(s, s->base)->block;
	CU_ASSERT_PTR_EQUAL(mgrp_slot(s, s->base + 4)->block, block);
	held = ut.nic->host.clients[client].goal_bytes;
	report(s->base + 4);
	CU_ASSERT_EQUAL(s->low, s->base + 4);
	CU_ASSERT_PTR_NULL(mgrp_slot(s, s->base + 3)->block);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_bytes, held);
	CU_ASSERT_EQUAL(ut.port.settles_mem, 0);
	report(s->base + 5);
	CU_ASSERT_EQUAL(s->low, s->base + 5);
	CU_ASSERT(ut.nic->host.clients[client].goal_bytes < held);
	CU_ASSERT_EQUAL(ut.port.settles_mem, 1);
	CU_ASSERT_PTR_EQUAL(ut.port.settled_mem, block);
	CU_ASSERT(ut.port.settled_bytes >= 5 * ROOM);
	/* Frames of single packets have copies. */
	num_left = 0;
	run_limit = 1;
	(void)start_in(1, false);
	report(s->next);
	CU_ASSERT_EQUAL(num_left, 5);
	CU_ASSERT_EQUAL(s->ring_bytes, 0);
	CU_ASSERT_EQUAL(ut.port.settles_mem, 1);
	end();
}

/* There is memory for a packet, and none for a run. */
static void memory_for_one(void)
{
	struct mgrp_space *s;
	void *rest[64];
	uint32_t n = 0;

	(void)multicast(5 * ROOM, FW_RUN_MAX);
	s = space(RANK);
	report(s->next);
	while (n < 64 && (rest[n] = goal_heap_alloc(ut.nic, client, 65536)))
		n++;
	while (n < 64 && (rest[n] = goal_heap_alloc(ut.nic, client, 4096)))
		n++;
	goal_heap_free(ut.nic, client, rest[--n]);
	num_left = frames = 0;
	(void)start_in(1, false);
	CU_ASSERT(frames > 0);
	CU_ASSERT_EQUAL(left[0].run, 1);
	while (n)
		goal_heap_free(ut.nic, client, rest[--n]);
	turns(20);
	end();
}

/* ---- a member -------------------------------------------------------------------------------- */

/* A run of the root arrives, of a message of that count; wrong: the packet whose CRC32C is, or -1.
 */
static void run_arrives(uint32_t psn, uint32_t count, uint32_t n, uint32_t bytes, uint32_t at,
			int wrong)
{
	static uint8_t hdr[FW_RX_HDR_BYTES], payload[SLOT_BYTES];
	struct wire_eth *eth = (void *)hdr;
	struct wire_edp *edp = (void *)(hdr + EDP_AT);
	struct wire_mgrp *wire = (void *)(edp + 1);
	struct wire_goal *goal = (void *)(wire + 1);
	struct fw_run run = {.packets = n, .segment_bytes = PIECE};
	struct fw_rx_seg piece = {payload, 0};
	struct be32 crcs[FW_RUN_MAX];
	struct fw_rx_frame frame;

	run.bytes = bytes - at < n * PIECE ? bytes - at : n * PIECE;
	piece.bytes = run.bytes;
	memset(hdr, 0, sizeof(hdr));
	memcpy(eth->dst, comm->group.mac, 6);
	memcpy(eth->src, memory.peers[ROOT].mac, 6);
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	*edp = (struct wire_edp){.ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_GROUP,
				 .bytes = be16_put((uint16_t)(HDR_BYTES - EDP_AT + PIECE)),
				 .dst_port = be16_put(WIRE_EDP_PORT_BASE),
				 .src_port = be16_put(WIRE_EDP_PORT_BASE)};
	*wire = (struct wire_mgrp){.type = WIRE_MGRP_DATA,
				   .root = be32_put(ROOT),
				   .src_rank = be32_put(ROOT),
				   .dst_rank = be32_put(WIRE_MGRP_ALL),
				   .key = be64_put(1),
				   .key2 = be64_put(2),
				   .epoch = be32_put(EPOCH),
				   .base = be32_put(BASE),
				   .psn = be32_put(psn)};
	*goal = (struct wire_goal){.type = WIRE_GOAL_EAGER,
				   .instance = be32_put(comm->next_instance),
				   .tag = be32_put(6),
				   .count = be32_put(count),
				   .bytes = be64_put(bytes),
				   .offset = be64_put(at),
				   .piece_bytes = be32_put(PIECE)};
	memcpy(payload, bytes_of + at, run.bytes);
	fw_run_crcs(&run, hdr, HDR_BYTES, &piece, fw_crc32c, crcs);
	if (wrong >= 0)
		crcs[wrong].b[0] ^= 1;
	frame = (struct fw_rx_frame){
	    .seg = {{hdr, HDR_BYTES}, piece, {(const uint8_t *)crcs, n * WIRE_EDP_CRC_BYTES}},
	    .num_seg = 3,
	    .bytes = HDR_BYTES + run.bytes + n * WIRE_EDP_CRC_BYTES,
	    .run = (uint16_t)n,
	    .run_bytes = PIECE};
	eth_run_rx(ut.nic, &frame);
}

static const struct goal_unexp *unexp_of(uint32_t count)
{
	const struct goal_key4 key = {comm->next_instance, ROOT, 6, count, true};

	return goal_unexp_find(ut.nic, comm, &key);
}

static bool is_whole(uint32_t count, uint32_t bytes)
{
	const struct goal_unexp *unexp = unexp_of(count);
	struct fw_mem mem;

	return unexp && unexp->received == bytes && goal_unexp_mem(ut.nic, unexp, 0, bytes, &mem) &&
	       !memcmp(mem.ptr, bytes_of, bytes);
}

/* A run is taken whole, over the wrap of numbers, and kept in one block for the children. */
static void taken_whole(void)
{
	const struct mgrp_slot *slot;
	struct mgrp_space *s;
	struct note g;

	begin_group();
	comm->eager_bytes = SLOT_BYTES;
	data(BASE);
	s = space(ROOT);
	run_arrives(BASE + 1, 1, 5, 4 * PIECE + 10, 0, -1);
	CU_ASSERT_TRUE(is_whole(1, 4 * PIECE + 10));
	CU_ASSERT_EQUAL(s->next, BASE + 6);
	CU_ASSERT_EQUAL(s->high, BASE + 6);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_data, 6);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_packets, 6);
	CU_ASSERT_EQUAL(ut.nic->counters.rx_crc_checked, 5);
	CU_ASSERT_EQUAL(ut.nic->net.run_taken, 5);
	slot = mgrp_slot(s, BASE + 1);
	CU_ASSERT_PTR_NOT_NULL(slot->block);
	CU_ASSERT_PTR_EQUAL(mgrp_slot(s, BASE + 5)->block, slot->block);
	CU_ASSERT_EQUAL(mgrp_slot(s, BASE + 5)->bytes, sizeof(struct wire_goal) + 10);
	CU_ASSERT_FALSE(mgrp_slot(s, BASE + 5)->lent);
	CU_ASSERT_EQUAL(s->ring_bytes, 6 * sizeof(struct wire_goal) + 16 + 4 * PIECE + 10);
	CU_ASSERT_TRUE(s->child[0].awaiting);
	/* A child lacks one of it. */
	num_sent = 0;
	g = status_of(RIGHT_CHILD, BASE, BASE);
	g.from = BASE + 3;
	g.missing = 1;
	group_arrives(&g);
	turns(1);
	for (uint32_t i = 0; i < num_sent; i++) {
		const struct wire_goal *goal = (const void *)sent[i].data;

		if (sent[i].wire.type != WIRE_MGRP_REPAIR)
			continue;
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.psn), BASE + 3);
		CU_ASSERT_EQUAL(be64_get(goal->offset), 2 * PIECE);
		CU_ASSERT_EQUAL(be32_get(goal->piece_bytes), PIECE);
		CU_ASSERT_EQUAL(be32_get(goal->count), 1);
		CU_ASSERT(memcmp(goal + 1, bytes_of + 2 * PIECE, 10) == 0);
		num_sent = 0;
		break;
	}
	CU_ASSERT_EQUAL(num_sent, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_repairs, 1);
	status(LEFT_CHILD, BASE + 6, BASE + 6);
	status(RIGHT_CHILD, BASE + 6, BASE + 6);
	CU_ASSERT_EQUAL(s->low, BASE + 6);
	CU_ASSERT_EQUAL(s->ring_bytes, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 0);
	end();
}

/* A run behind a gap, in part known or beyond the window is taken packet by packet. */
static void taken_singly(void)
{
	struct mgrp_space *s;

	begin_group();
	comm->eager_bytes = SLOT_BYTES;
	data(BASE);
	s = space(ROOT);
	run_arrives(BASE + 3, 40, 3, 3 * PIECE, 0, -1);
	CU_ASSERT_EQUAL(s->next, BASE + 1);
	CU_ASSERT_EQUAL(s->high, BASE + 6);
	CU_ASSERT_PTR_NULL(unexp_of(40));
	CU_ASSERT(mgrp_slot(s, BASE + 3)->block != mgrp_slot(s, BASE + 4)->block);
	data(BASE + 1);
	/* The one that was missing, and two that are here. */
	run_arrives(BASE + 3, 40, 3, 3 * PIECE, 0, -1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_duplicates, 3);
	data(BASE + 2);
	CU_ASSERT_EQUAL(s->next, BASE + 6);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_duplicates, 3);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 0);
	/* Two places are left of the window. */
	s->low = s->child[0].ack = s->child[1].ack = s->next + 2 - MGRP_WINDOW;
	run_arrives(BASE + 6, 60, 4, 4 * PIECE, 0, -1);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_window, 2);
	CU_ASSERT_EQUAL(s->next, BASE + 8);
	CU_ASSERT_EQUAL(unexp_of(60)->received, 2 * PIECE);
	CU_ASSERT_TRUE(is_whole(40, 3 * PIECE));
	s->low = BASE;
	end();
}

/* A packet of a run with a wrong CRC32C is lost, the others are not. */
static void a_wrong_crc(void)
{
	for (int k = 0; k < 4; k++) {
		struct mgrp_space *s;

		begin_group();
		comm->eager_bytes = SLOT_BYTES;
		data(BASE);
		s = space(ROOT);
		run_arrives(BASE + 1, 1, 4, 4 * PIECE, 0, k);
		CU_ASSERT_EQUAL(ut.nic->counters.drop_esp_crc, 1);
		CU_ASSERT_EQUAL(s->next, BASE + 1 + (uint32_t)k);
		CU_ASSERT_EQUAL(s->high, k < 3 ? BASE + 5 : BASE + 4);
		CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_data, 4);
		run_arrives(BASE + 1, 1, 4, 4 * PIECE, 0, -1);
		CU_ASSERT_EQUAL(s->next, BASE + 5);
		CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_duplicates, 3);
		CU_ASSERT_TRUE(is_whole(1, 4 * PIECE));
		end();
	}
}

/* There is no room above: the packets wait in the ring, and are not acknowledged. */
static void no_room_above(void)
{
	struct mgrp_space *s;

	begin_group();
	data(BASE);
	s = space(ROOT);
	run_arrives(BASE + 1, 1, 4, 4 * PIECE, 0, -1);
	CU_ASSERT_TRUE(s->blocked);
	CU_ASSERT_EQUAL(s->next, BASE + 1);
	CU_ASSERT_EQUAL(s->high, BASE + 5);
	run_arrives(BASE + 5, 2, 2, 2 * PIECE, 0, -1);
	CU_ASSERT_EQUAL(s->next, BASE + 1);
	CU_ASSERT_EQUAL(s->high, BASE + 7);
	comm->eager_bytes = SLOT_BYTES;
	mgrp_deliver(ut.nic, s);
	CU_ASSERT_FALSE(s->blocked);
	CU_ASSERT_EQUAL(s->next, BASE + 7);
	CU_ASSERT_TRUE(is_whole(1, 4 * PIECE));
	CU_ASSERT_TRUE(is_whole(2, 2 * PIECE));
	end();
}

/* ---- placing --------------------------------------------------------------------------------- */

static uint32_t placed;

static void place(void *ctx, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg)
{
	(void)ctx;
	CU_ASSERT_EQUAL(num_seg, 1);
	memcpy(dst, seg->data, seg->bytes);
	placed += seg->bytes;
}

/* The port places long payload that nothing in the schedule waits for, before it comes or after. */
static void placed_by_the_port(void)
{
	enum {
		BYTES = 5 * PIECE,
	};

	for (uint32_t shape = 0; shape < 4; shape++) {
		bool awaited = shape & 1, early = shape & 2;
		struct note g;

		prepare(false);
		memory.code.ops[SHORT] = receive(ROOT, 6, BYTES, GOAL_REF(0, 0));
		memory.code.ops[SHORT].kind = GOAL_INSN_MCAST_RECV;
		memory.code.ops[SHORT].first_edge = 0;
		memory.code.ops[SHORT].num_edges = 1;
		/* The other receive of the same kind has none behind it. */
		memory.code.ops[EAGER] = memory.code.ops[SHORT];
		memory.code.ops[awaited ? EAGER : SHORT].tag = 5;
		memory.code.ops[EAGER].first_edge = 1;
		memory.code.ops[EAGER].num_edges = 0;
		load(false);
		comm->eager_bytes = SLOT_BYTES;
		ut.nic->port.place = place;
		placed = 0;
		num_sent = 0;
		ut.port.sent = keep_sent;
		turns(2);
		g = note_of(WIRE_MGRP_PROBE, ROOT, BASE);
		group_arrives(&g);
		if (early)
			run_arrives(BASE, 0, 5, BYTES, 0, -1);
		CU_ASSERT_EQUAL(placed, 0);
		(void)start();
		comm->next_instance--;
		if (!early)
			run_arrives(BASE, 0, 5, BYTES, 0, -1);
		comm->next_instance++;
		turns(10);
		CU_ASSERT_EQUAL(placed, awaited ? 0 : BYTES);
		CU_ASSERT(memcmp(memory.slot, bytes_of, BYTES) == 0);
		end();
	}
}

UT_MAIN("nic_fw/coll/mgrp_data", UT(same_crcs), UT(the_same_packets), UT(lengths), UT(window),
	UT(blocks), UT(memory_for_one), UT(taken_whole), UT(taken_singly), UT(a_wrong_crc),
	UT(no_room_above), UT(placed_by_the_port))
