/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that arrive out of order, or that the layer above does not take, beside a map of each byte:
 * segments of any size that overlap, repeat and cross 2^32, and a layer above that takes a part.
 * Then limits: chunks, ranges and blocks of SACK. RFC 9293 3.10.7.4, RFC 2018 4, RFC 2883.
 */
#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/host.h"

enum {
	STREAM = 24000,
	SEEDS = 60,
	STEPS = 200,
	MAX_SEG = 1460,
	HEADER = 54,
	AHEAD = 6000, /* the furthest segment, from rcv_nxt on */
	ALL = STREAM,
};

static struct fw_ut ut;
static struct tcp_flow flow;
static struct tcp_aside aside;
static struct {
	uint32_t iss, random;
	uint32_t up;           /* bytes that receive() took */
	uint32_t room;         /* that it takes in a call */
	bool held[STREAM];     /* arrived */
	bool sound[STREAM];    /* its CRC was checked when it first arrived */
	uint32_t calls, ahead; /* of early() */
	bool close_early, close;
} w;

static uint8_t byte_at(uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13);
}

static uint32_t draw(uint32_t below)
{
	w.random = w.random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)w.random * below >> 32);
}

static uint32_t receive(struct fw_nic *nic, struct tcp_flow *f, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	uint32_t n = bytes < w.room ? bytes : w.room, i, k, at = 0, end = 0, wrong = 0;

	(void)nic;
	CU_ASSERT_FATAL(offset + bytes <= frame->bytes);
	for (k = 0; k < frame->num_seg; k++) {
		const uint8_t *data = frame->seg[k].data;

		end += frame->seg[k].bytes;
		for (i = 0; i < frame->seg[k].bytes; i++, at++) {
			uint32_t pos = w.up + at - offset;

			if (at < offset || at >= offset + bytes)
				continue;
			wrong += data[i] != byte_at(pos) || !w.held[pos];
			wrong += frame->flags & FW_RX_CRC_OK && !w.sound[pos];
		}
	}
	CU_ASSERT_EQUAL(end, frame->bytes);
	CU_ASSERT_EQUAL(wrong, 0);
	w.up += n;
	if (w.close)
		f->state = TCP_CLOSED;
	return n;
}

static void early(struct fw_nic *nic, struct tcp_flow *f, const struct fw_rx_frame *frame,
		  uint32_t offset, uint32_t bytes, uint32_t ahead)
{
	(void)nic;
	CU_ASSERT_EQUAL(offset, HEADER);
	CU_ASSERT_EQUAL(frame->bytes, HEADER + bytes);
	w.calls++;
	w.ahead = ahead;
	if (w.close_early)
		f->state = TCP_CLOSED;
}

static const struct tcp_ops ops = {.receive = receive, .early = early};

static void begin(uint32_t seed)
{
	fw_ut_begin(&ut);
	memset(&w, 0, sizeof(w));
	memset(&flow, 0, sizeof(flow));
	w.random = seed;
	w.room = ALL;
	/* Most streams pass 2^32. */
	w.iss = 0u - draw(STREAM);
	ut.nic->tcp.ops[TCP_USER_MPA] = &ops;
	flow.user = TCP_USER_MPA;
	flow.state = TCP_ESTABLISHED;
	memset(&aside, 0, sizeof(aside));
	flow.aside = &aside;
	flow.rcv_nxt = flow.rcv_up = w.iss;
	fw_list_init(&flow.early);
}

static void end(void)
{
	tcp_early_drop(ut.nic, &flow);
	CU_ASSERT_EQUAL(flow.num_ranges, 0);
	CU_ASSERT_EQUAL(flow.num_blocks, 0);
	CU_ASSERT_EQUAL(flow.early_chunks, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.chunks.used, 0);
	CU_ASSERT_EQUAL(ut.nic->station.used[STATION_EARLY], 0);
	fw_ut_end(&ut);
}

static uint64_t full(void)
{
	return ut.nic->counters.tcp_early_full;
}

/* Bytes [from, from + bytes) of the stream arrive, from rcv_nxt on, as in tcp_rx.c. */
static void segment(uint32_t from, uint32_t bytes, bool sound)
{
	static uint8_t data[HEADER + MAX_SEG * 4];
	static bool were[MAX_SEG * 4];
	struct fw_rx_frame frame = {.num_seg = 1, .bytes = HEADER + bytes};
	struct tcp_in in = {.frame = &frame};
	uint32_t i, taken = 0;

	frame.flags = sound ? FW_RX_CRC_OK : 0;
	frame.seg[0] = (struct fw_rx_seg){data, HEADER + bytes};
	for (i = 0; i < bytes; i++) {
		data[HEADER + i] = byte_at(from + i);
		if (!w.held[from + i])
			w.sound[from + i] = sound;
		w.held[from + i] = true;
	}
	if (w.iss + from == flow.rcv_nxt && flow.rcv_up == flow.rcv_nxt) {
		/* The frame's own bytes are handed up; those behind may have come before. */
		memcpy(were, &w.sound[from], bytes * sizeof(were[0]));
		for (i = 0; i < bytes; i++)
			w.sound[from + i] = sound;
		taken = receive(ut.nic, &flow, &frame, HEADER, bytes);
		memcpy(&w.sound[from], were, bytes * sizeof(were[0]));
		flow.rcv_nxt += taken;
		flow.rcv_up += taken;
		if (taken < bytes)
			flow.flags |= TCP_F_STALLED;
	}
	if (taken < bytes)
		tcp_early_keep(ut.nic, &flow, &in, w.iss + from + taken, HEADER + taken,
			       bytes - taken);
	tcp_early_deliver(ut.nic, &flow);
}

/* ---- beside a map of bytes */

static void check_blocks(uint32_t from, uint32_t bytes)
{
	struct tcp_block block[TCP_SACK_BLOCKS];
	uint32_t n = tcp_early_blocks(&flow, block, TCP_SACK_BLOCKS), i, k, wrong = 0;
	bool found = false;

	for (i = 0; i < n; i++) {
		for (k = block[i].from - w.iss; k != block[i].to - w.iss; k++)
			wrong += !w.held[k];
		found |= seq_leq(block[i].from, w.iss + from) &&
			 seq_leq(w.iss + from + bytes, block[i].to);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	/* The latest one is among them while it has a gap before it. */
	if (seq_lt(flow.rcv_nxt, w.iss + from))
		CU_ASSERT_TRUE(found);
}

static void any_order(void)
{
	uint32_t seed, step, from, bytes, next;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(seed);
		for (step = 0; step < STEPS && w.up < STREAM; step++) {
			next = flow.rcv_nxt - w.iss;
			from = next + (draw(4) ? draw(AHEAD) : 0);
			bytes = 1 + draw(MAX_SEG);
			w.room = draw(3) ? ALL : draw(MAX_SEG);
			if (from < STREAM) {
				bytes = bytes < STREAM - from ? bytes : STREAM - from;
				flow.dsack = (struct tcp_block){0, 0};
				segment(from, bytes, draw(2));
				check_blocks(from, bytes);
			}
			if (flow.flags & TCP_F_STALLED && draw(2)) {
				w.room = ALL;
				flow.flags &= (uint16_t)~TCP_F_STALLED;
				tcp_early_deliver(ut.nic, &flow);
			}
			for (next = 0; next < STREAM && w.held[next]; next++)
				;
			CU_ASSERT_EQUAL_FATAL(flow.rcv_nxt - w.iss, next);
			CU_ASSERT_EQUAL_FATAL(flow.rcv_up - w.iss, w.up);
			CU_ASSERT_TRUE(w.up == next || flow.flags & TCP_F_STALLED);
		}
		CU_ASSERT_EQUAL(full(), 0);
		end();
	}
}

/* ---- duplicates and previews */

static void bytes_that_came_before_are_reported(void)
{
	struct tcp_block block[TCP_SACK_BLOCKS];

	begin(1);
	segment(100, 100, true);
	CU_ASSERT_EQUAL(flow.dsack.from, flow.dsack.to);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 0);
	/* A part is new. */
	segment(150, 100, true);
	CU_ASSERT_EQUAL(flow.dsack.from, flow.dsack.to);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 0);
	segment(120, 100, true);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_rx_duplicates, 1);
	/* The duplicate first, then the block that has it: RFC 2883 4.2. */
	CU_ASSERT_EQUAL_FATAL(tcp_early_blocks(&flow, block, TCP_SACK_BLOCKS), 2);
	CU_ASSERT_EQUAL(block[0].from, w.iss + 120);
	CU_ASSERT_EQUAL(block[0].to, w.iss + 220);
	CU_ASSERT_EQUAL(block[1].from, w.iss + 100);
	CU_ASSERT_EQUAL(block[1].to, w.iss + 250);
	CU_ASSERT_EQUAL(tcp_early_blocks(&flow, block, 1), 1);
	CU_ASSERT_EQUAL(block[0].from, w.iss + 120);
	end();
}

static void the_layer_above_sees_early_bytes(void)
{
	begin(1);
	segment(100, 50, true);
	CU_ASSERT_EQUAL(w.calls, 1);
	CU_ASSERT_EQUAL(w.ahead, 100);
	/* Bytes that are next are no preview, though they are kept. */
	w.room = 0;
	segment(0, 10, true);
	CU_ASSERT_EQUAL(w.calls, 1);
	segment(10, 10, true);
	CU_ASSERT_EQUAL(w.calls, 2);
	CU_ASSERT_EQUAL(w.ahead, 10);
	/* It ends the connection. */
	w.close_early = true;
	segment(300, 50, true);
	CU_ASSERT_EQUAL(flow.num_ranges, 2);
	end();
}

static void the_layer_above_ends_the_connection(void)
{
	begin(1);
	segment(10, 10, true);
	segment(30, 10, true);
	w.close = true;
	segment(0, 10, true);
	CU_ASSERT_EQUAL(flow.state, TCP_CLOSED);
	CU_ASSERT_EQUAL(w.up, 20);
	CU_ASSERT_FALSE(flow.flags & TCP_F_STALLED);
	end();
}

static void it_gets_no_more_than_it_takes(void)
{
	begin(1);
	w.room = 4;
	segment(0, 10, true);
	CU_ASSERT_EQUAL(w.up, 4);
	CU_ASSERT_TRUE(flow.flags & TCP_F_STALLED);
	/* All that arrived counts as received. */
	CU_ASSERT_EQUAL(flow.rcv_nxt, w.iss + 10);
	segment(10, 10, true);
	CU_ASSERT_EQUAL(w.up, 4);
	CU_ASSERT_EQUAL(flow.rcv_nxt, w.iss + 20);
	flow.flags = 0;
	tcp_early_deliver(ut.nic, &flow);
	CU_ASSERT_EQUAL(w.up, 8);
	CU_ASSERT_TRUE(flow.flags & TCP_F_STALLED);
	w.room = ALL;
	flow.flags = 0;
	tcp_early_deliver(ut.nic, &flow);
	CU_ASSERT_EQUAL(w.up, 20);
	CU_ASSERT_FALSE(flow.flags & TCP_F_STALLED);
	CU_ASSERT_EQUAL(ut.nic->tcp.chunks.used, 0);
	end();
}

/* ---- limits */

/* Every second byte: as many ranges as there are. */
static void as_many_ranges_as_there_are(void)
{
	uint32_t i;

	begin(1);
	for (i = 0; i < TCP_RANGES; i++)
		segment(1 + 2 * i, 1, true);
	CU_ASSERT_EQUAL(flow.num_ranges, TCP_RANGES);
	CU_ASSERT_EQUAL(full(), 0);
	segment(1 + 2 * TCP_RANGES, 1, true);
	CU_ASSERT_EQUAL(full(), 1);
	w.held[1 + 2 * TCP_RANGES] = false;
	/* Bytes behind the last range extend it. */
	segment(2 * TCP_RANGES, 1, true);
	CU_ASSERT_EQUAL(full(), 1);
	/* A gap that is filled leaves room for another range. */
	segment(2, 1, true);
	CU_ASSERT_EQUAL(flow.num_ranges, TCP_RANGES - 1);
	segment(500, 10, true);
	CU_ASSERT_EQUAL(flow.num_ranges, TCP_RANGES);
	CU_ASSERT_EQUAL(full(), 1);
	/* A segment covers several: the bytes that they have are skipped. */
	segment(0, 2 * TCP_RANGES + 1, true);
	CU_ASSERT_EQUAL(w.up, 2 * TCP_RANGES + 1);
	CU_ASSERT_EQUAL(flow.num_ranges, 1);
	CU_ASSERT_EQUAL(flow.early_chunks, 1);
	end();
}

static void a_connection_has_its_share_of_chunks(void)
{
	uint32_t max;

	begin(1);
	flow.early_chunks = TCP_MAX_FLOW_CHUNKS - 1;
	segment(10, 10, true);
	CU_ASSERT_EQUAL(flow.early_chunks, TCP_MAX_FLOW_CHUNKS);
	/* There is room in that chunk, but no other one. */
	segment(20, 10, true);
	CU_ASSERT_EQUAL(full(), 0);
	segment(40, 10, true);
	CU_ASSERT_EQUAL(full(), 1);
	CU_ASSERT_EQUAL(flow.num_ranges, 1);
	CU_ASSERT_EQUAL(flow.num_blocks, 1);
	memset(&w.held[40], 0, 10);
	flow.early_chunks -= TCP_MAX_FLOW_CHUNKS - 1;
	/* Nor has the NIC one: a part of the bytes fits. */
	max = ut.nic->tcp.chunks.max;
	ut.nic->tcp.chunks.max = ut.nic->tcp.chunks.used;
	segment(30, 3000, true);
	CU_ASSERT_EQUAL(full(), 2);
	CU_ASSERT_EQUAL(flow.aside->range[0].to, w.iss + 10 + TCP_CHUNK_DATA);
	CU_ASSERT_EQUAL(flow.aside->block[0].to, w.iss + 10 + TCP_CHUNK_DATA);
	memset(&w.held[10 + TCP_CHUNK_DATA], 0, 3000);
	ut.nic->tcp.chunks.max = max;
	segment(0, 10, true);
	CU_ASSERT_EQUAL(w.up, 10 + TCP_CHUNK_DATA);
	end();
}

/* Chunks are handed up as so many pieces of a frame as a frame may have, and then the others. */
static void many_chunks_at_once(void)
{
	enum {
		MANY = 2 * FW_RX_SEGS_MAX + 3
	};
	uint32_t i;

	begin(1);
	for (i = MANY; i; i--)
		segment(10 * i, 10, true);
	CU_ASSERT_EQUAL(flow.early_chunks, MANY);
	segment(0, 10, true);
	CU_ASSERT_EQUAL(w.up, 10 * (MANY + 1));
	CU_ASSERT_EQUAL(flow.early_chunks, 0);
	end();
}

/* ---- blocks of SACK */

static void check_block(uint32_t i, uint32_t from, uint32_t to)
{
	CU_ASSERT_EQUAL(flow.aside->block[i].from, w.iss + from);
	CU_ASSERT_EQUAL(flow.aside->block[i].to, w.iss + to);
}

static void note(uint32_t from, uint32_t to)
{
	tcp_early_note(&flow, w.iss + from, w.iss + to);
}

static void the_latest_block_comes_first(void)
{
	struct tcp_block block[TCP_SACK_BLOCKS];
	uint32_t i;

	begin(1);
	for (i = 1; i <= TCP_SACK_BLOCKS; i++) {
		note(100 * i, 100 * i + 10);
		CU_ASSERT_EQUAL(flow.num_blocks, i);
		check_block(0, 100 * i, 100 * i + 10);
	}
	/* The oldest gives way. */
	note(900, 910);
	CU_ASSERT_EQUAL(flow.num_blocks, TCP_SACK_BLOCKS);
	check_block(0, 900, 910);
	check_block(TCP_SACK_BLOCKS - 1, 200, 210);
	CU_ASSERT_EQUAL(tcp_early_blocks(&flow, block, 3), 3);
	CU_ASSERT_EQUAL(memcmp(block, flow.aside->block, 3 * sizeof(block[0])), 0);
	/* Blocks that it touches become one with it, and only these. */
	note(210, 300);
	CU_ASSERT_EQUAL(flow.num_blocks, 3);
	check_block(0, 200, 310);
	check_block(1, 900, 910);
	check_block(2, 400, 410);
	note(311, 399);
	CU_ASSERT_EQUAL(flow.num_blocks, 4);
	check_block(0, 311, 399);
	note(250, 260);
	CU_ASSERT_EQUAL(flow.num_blocks, 4);
	check_block(0, 200, 310);
	check_block(1, 311, 399);
	end();
}

static void blocks_below_what_is_received_are_forgotten(void)
{
	begin(1);
	note(100, 110);
	note(200, 210);
	note(300, 310);
	flow.rcv_nxt = flow.rcv_up = w.iss + 199;
	tcp_early_deliver(ut.nic, &flow);
	CU_ASSERT_EQUAL(flow.num_blocks, 2);
	check_block(0, 300, 310);
	check_block(1, 200, 210);
	flow.rcv_nxt = flow.rcv_up = w.iss + 210;
	tcp_early_deliver(ut.nic, &flow);
	CU_ASSERT_EQUAL(flow.num_blocks, 1);
	check_block(0, 300, 310);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_ooo", UT(any_order), UT(bytes_that_came_before_are_reported),
	UT(the_layer_above_sees_early_bytes), UT(the_layer_above_ends_the_connection),
	UT(it_gets_no_more_than_it_takes), UT(as_many_ranges_as_there_are),
	UT(a_connection_has_its_share_of_chunks), UT(many_chunks_at_once),
	UT(the_latest_block_comes_first), UT(blocks_below_what_is_received_are_forgotten))
