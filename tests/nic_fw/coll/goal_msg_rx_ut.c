/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_msg_rx.c: packets of messages for receives that wait, field by field. Messages
 * without a receive are in goal_msg_rx_early_ut.c.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

static bool has(const uint8_t *at, uint32_t offset, uint32_t n)
{
	return memcmp(at, bytes_of + offset, n) == 0;
}

static bool is_empty(const uint8_t *at, uint32_t n)
{
	while (n && !*at) {
		at++;
		n--;
	}
	return !n;
}

/* One message of one packet: it is placed, counted, and the operation behind it begins. */
static void one_packet(void)
{
	struct goal_run *run;
	struct packet p;

	begin();
	run = start();
	CU_ASSERT_EQUAL(run->remaining, OPS);
	p = piece_of(WIRE_GOAL_EAGER, 0, 11, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_FALSE(fw_list_empty(&comm->unexps));
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	turns(4);
	CU_ASSERT(has(memory.brief + SHORT_BYTES, 0, SHORT_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 2);
	CU_ASSERT(fw_list_empty(&comm->unexps));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 0);
	/* The receive is over: a second message of this key has none. */
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_FALSE(fw_list_empty(&comm->unexps));
	end();
}

/* Pieces follow each other, without gaps or repetitions, to the length of the message. */
static void pieces_in_order(void)
{
	struct packet p, bad;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1500, 1000, 500);
	bad = p;
	bad.offset = 1001;
	bad.piece_bytes = 499;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.offset = 0;
	CU_ASSERT(is_malformed(&bad));
	bad.offset = 999;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.bytes = 1501;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.piece_bytes = 501;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.carry = 499;
	CU_ASSERT(is_malformed(&bad));
	CU_ASSERT(is_empty(memory.slot + 1000, 1000));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	CU_ASSERT(has(memory.slot, 0, 1500));
	CU_ASSERT(is_empty(memory.slot + 1500, 500));
	end();
}

/* A frame in several segments; a message into a list of pieces. */
static void segments_and_pieces(void)
{
	const uint32_t units = PIECES / FW_DEAR_STRETCHES;
	uint32_t dear;
	struct packet p;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1401, 0, 1401);
	p.segs = SEGS;
	dear = ut.nic->dear;
	memset(ut.nic->scratch, 0, 1401);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.slot, 0, 1401));
	/* Nothing is copied twice. */
	CU_ASSERT(is_empty(ut.nic->scratch, 1401));
	CU_ASSERT_EQUAL(ut.nic->dear, dear);
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, PIECES * PIECE_BYTES, 0, PIECES * PIECE_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	for (uint32_t i = 0; i < PIECES; i++) {
		CU_ASSERT(
		    has(memory.slot + 2048 + 2 * i * PIECE_BYTES, i * PIECE_BYTES, PIECE_BYTES));
		CU_ASSERT(is_empty(memory.slot + 2048 + (2 * i + 1) * PIECE_BYTES, PIECE_BYTES));
	}
	/* Each stretch counts, and sixteen of them are a unit of dear work. */
	CU_ASSERT_EQUAL(ut.nic->dear, dear + units);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 2);
	end();
}

/* A turn that has done enough takes no piece of a list, and goes on where it stopped. */
static void enough_for_a_turn(void)
{
	struct packet p;

	begin();
	(void)start();
	ut.nic->dear = ut.nic->dear_most;
	/* Memory that is mapped and together is not dear. */
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 100, 0, 100);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.slot, 0, 100));
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, 400, 0, 400);
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT(is_empty(memory.slot + 2048, PIECE_BYTES));
	/* One unit is left: sixteen pieces. */
	ut.nic->dear = ut.nic->dear_most - 1;
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT(has(memory.slot + 2048 + 30 * PIECE_BYTES, 15 * PIECE_BYTES, PIECE_BYTES));
	CU_ASSERT(is_empty(memory.slot + 2048 + 32 * PIECE_BYTES, PIECE_BYTES));
	/* The stream offers the same packet again, in pieces of other lengths. */
	p.segs = SEGS;
	ut.nic->dear = 0;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	for (uint32_t i = 0; i < 25; i++)
		CU_ASSERT(
		    has(memory.slot + 2048 + 2 * i * PIECE_BYTES, i * PIECE_BYTES, PIECE_BYTES));
	CU_ASSERT(is_empty(memory.slot + 2048 + 50 * PIECE_BYTES, PIECE_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 0);
	end();
}

/* A packet of which a part was placed is the one that comes next, no other. */
static void only_the_packet_of_the_part(void)
{
	struct packet p, bad;

	begin();
	(void)start();
	ut.nic->dear = ut.nic->dear_most - 1;
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, 400, 0, 300);
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	ut.nic->dear = 0;
	bad = p;
	bad.piece_bytes = 16 * PIECE_BYTES; /* just what was placed */
	CU_ASSERT(is_malformed(&bad));
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(is_malformed(&p));
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, 400, 300, 100);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	for (uint32_t i = 0; i < 25; i++)
		CU_ASSERT(
		    has(memory.slot + 2048 + 2 * i * PIECE_BYTES, i * PIECE_BYTES, PIECE_BYTES));
	end();
}

/* Memory that is not mapped: pages that come late, and frames in segments, which are joined. */
static void memory_that_is_not_mapped(void)
{
	struct packet p;
	uint32_t i;

	prepare(false);
	load(true);
	CU_ASSERT_TRUE(start()->unmapped);
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1400, 0, 1400);
	p.segs = SEGS;
	ut.nic->dear = 0;
	ut.nic->dear_rests = false;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.slot, 0, 1400));
	CU_ASSERT_EQUAL(ut.nic->dear, FW_DEAR_COPY_UNITS + 1400 / FW_DEAR_UNIT_BYTES);
	/* It waits for a turn that copies such memory, and for its page. */
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	ut.nic->dear = 0;
	ut.nic->dear_rests = true;
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT_FALSE(fw_list_linked(&link_to(0)->slow_node));
	ut.nic->dear_rests = false;
	ut.port.host_busy = true;
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT_TRUE(fw_list_linked(&link_to(0)->slow_node));
	CU_ASSERT(is_empty(memory.brief, SHORT_BYTES));
	ut.port.host_busy = false;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	/* It is gone: the run fails. */
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, 100, 0, 100);
	ut.nic->dear = 0;
	ut.port.host_fault = true;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ut.port.host_fault = false;
	for (i = 0; i < 100 && record->done != serial; i++)
		turns(1);
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(record->rank, RANK);
	CU_ASSERT_EQUAL(record->op, SCATTER);
	end();
}

/* The receive's context and the message's key must be the announced ones, each part of them. */
static void announced_data(void)
{
	struct goal_recv *recv;
	struct packet p, bad;
	struct goal_key4 key;

	begin();
	(void)start();
	key = (struct goal_key4){comm->next_instance - 1, 0, 10, 0, false};
	recv = goal_recv_find(ut.nic, comm, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	p = piece_of(WIRE_GOAL_DATA, 0, 10, LARGE_BYTES, 0, 1400);
	p.sink = (uint32_t)recv->generation << 24 | fw_pool_index(&ut.nic->goal.recvs, recv);
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		bad = p;                                                                           \
		bad.field = (value);                                                               \
		CU_ASSERT(is_malformed(&bad));                                                     \
	} while (0)
	BAD(from, 2);
	BAD(tag, 11);
	BAD(count, 1);
	BAD(instance, comm->next_instance);
	BAD(sink, p.sink ^ 1u << 24);
	BAD(sink, p.sink ^ 1u << 31);
	BAD(sink, p.sink ^ 1);
	BAD(sink, p.sink | 0xffffff);
	BAD(sink, (p.sink & ~0xffffffu) | ut.nic->goal.recvs.high);
	BAD(offset, 1);
	BAD(piece_bytes, LARGE_BYTES + 1);
#undef BAD
	CU_ASSERT_FALSE(comm->num_aborts);
	CU_ASSERT(is_empty(memory.slot + 4096, LARGE_BYTES));
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p.offset = 1400;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p.offset = 2800;
	p.piece_bytes = 200;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.slot + 4096, 0, LARGE_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	/* The receive is over. */
	CU_ASSERT(is_malformed(&p));
	end();
}

static void truncated(uint8_t type, uint32_t tag, uint64_t bytes, uint32_t piece_bytes, uint32_t op,
		      uint64_t room)
{
	struct packet p;

	begin();
	(void)start();
	p = piece_of(type, 0, tag, bytes, 0, piece_bytes);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 0);
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ANNOUNCE), 1);
	ends_with(HW_GOAL_TRUNCATED, RANK, op);
	CU_ASSERT_EQUAL(record->message_bytes, bytes);
	CU_ASSERT_EQUAL(record->room_bytes, room);
	CU_ASSERT(is_empty(memory.slot, SLOT_BYTES) && is_empty(memory.brief, 2 * SHORT_BYTES));
	end();
}

static void longer_than_the_receive(void)
{
	truncated(WIRE_GOAL_EAGER, 7, SHORT_BYTES + 1, SHORT_BYTES + 1, SHORT, SHORT_BYTES);
	truncated(WIRE_GOAL_EAGER, 8, EAGER_BYTES + 1, 100, EAGER, EAGER_BYTES);
	truncated(WIRE_GOAL_HEADER, 10, LARGE_BYTES + 1, 0, LARGE, LARGE_BYTES);
}

/* A rank's run has failed: the status and the rank are the sender's word, within bounds. */
static void aborts(void)
{
	struct packet p;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_ABORT, 2, HW_GOAL_DIVIDE, 0, 0, 0);
	p.count = 3;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(link_to(2)->abort_mark, comm->next_instance);
	ends_with(HW_GOAL_DIVIDE, 3, FW_NONE);
	/* The other ranks of its messages are told, and not the one that said it. */
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ABORT), 1);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_ABORT), 0);
	/* The next ones name no status, or none that exists. */
	(void)start();
	p = piece_of(WIRE_GOAL_ABORT, 2, HW_GOAL_STATUSES, 0, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ends_with(HW_GOAL_PEER_LOST, 0, FW_NONE);
	(void)start();
	p = piece_of(WIRE_GOAL_ABORT, 2, HW_GOAL_OK, 0, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ends_with(HW_GOAL_PEER_LOST, 0, FW_NONE);
	(void)start();
	p = piece_of(WIRE_GOAL_ABORT, 2, HW_GOAL_TRUNCATED, 90, 80, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ends_with(HW_GOAL_TRUNCATED, 0, FW_NONE);
	CU_ASSERT_EQUAL(record->message_bytes, 90);
	CU_ASSERT_EQUAL(record->room_bytes, 80);
	/* An abort that comes before its run lets it fail when it begins. */
	p.instance++;
	p.tag = HW_GOAL_STATUSES - 1;
	p.count = 2;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(comm->num_aborts, 1);
	CU_ASSERT_PTR_NULL(start_in(0, false));
	ends_with(HW_GOAL_STATUSES - 1, 2, FW_NONE);
	CU_ASSERT_EQUAL(comm->num_aborts, 0);
	end();
}

/* Each of a packet's bounds. */
static void packets_that_are_none(void)
{
	struct fw_rx_frame frame;
	struct packet p, bad;
	uint32_t bytes;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	bad = p;
	bad.type = 0;
	CU_ASSERT(is_malformed(&bad));
	bad.type = WIRE_GOAL_TYPES;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.bytes = GOAL_MAX_MSG_BYTES + 1;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.carry = 63;
	CU_ASSERT(is_malformed(&bad));
	bad.piece_bytes = 0;
	bad.carry = 1;
	CU_ASSERT(is_malformed(&bad));
	bytes = frame_of(&p, &frame);
	CU_ASSERT_EQUAL(
	    goal_msg_receive(ut.nic, link_to(0), &frame, 0, sizeof(struct wire_goal) - 1),
	    ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 6);
	/* An empty one says that the sender's run has failed. */
	CU_ASSERT_EQUAL(goal_msg_receive(ut.nic, link_to(0), &frame, bytes, 0), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 6);
	/* The run is over. */
	bad = p;
	bad.instance = comm->next_instance - 2;
	CU_ASSERT_EQUAL(arrives(&bad), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_late, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 6);
	/* A closing communicator takes nothing. */
	comm->closing = true;
	CU_ASSERT_EQUAL(goal_msg_receive(ut.nic, goal_link_at(ut.nic, comm, 0), &frame, 0, bytes),
			ESP_TAKEN);
	comm->closing = false;
	CU_ASSERT(is_empty(memory.brief, SHORT_BYTES));
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_late, 1);
	end();
}

/* A run of packets is one long piece where all have the same length but the last. */
static void runs_of_packets(void)
{
	struct fw_rx_frame frame;
	struct packet p;
	uint32_t bytes;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1100, 0, 600);
	p.carry = 1100;
	bytes = frame_of(&p, &frame);
	frame.run = 1;
	frame.run_bytes = 600;
	CU_ASSERT_EQUAL(goal_msg_receive(ut.nic, link_to(0), &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 1);
	frame.run = 2;
	frame.run_bytes = 601;
	CU_ASSERT_EQUAL(goal_msg_receive(ut.nic, link_to(0), &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 2);
	frame.run_bytes = 600;
	CU_ASSERT_EQUAL(goal_msg_receive(ut.nic, link_to(0), &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, 2);
	CU_ASSERT(has(memory.slot, 0, 1100));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	end();
}

static uint32_t points(enum hw_goal_point point, uint32_t op)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < TRACE_ENTRIES; i++)
		found += memory.trace[i].ns && memory.trace[i].point == point &&
			 memory.trace[i].op == op;
	return found;
}

/* A message arrives once, with its first piece, and is matched once. */
static void traces(void)
{
	struct goal_recv *recv;
	struct packet p;
	struct goal_key4 key;

	begin();
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, 40);
	p.instance++;
	(void)arrives(&p);
	CU_ASSERT_PTR_NOT_NULL_FATAL(start_in(0, true));
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, SHORT), 0);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_MATCHED, SHORT), 1);
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	(void)arrives(&p);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, EAGER), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_MATCHED, EAGER), 1);
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1500, 1000, 500);
	(void)arrives(&p);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, EAGER), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_MATCHED, EAGER), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_OP_FINISH, EAGER), 1);
	p = piece_of(WIRE_GOAL_HEADER, 0, 10, LARGE_BYTES, 0, 0);
	(void)arrives(&p);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, LARGE), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_MATCHED, LARGE), 1);
	key = (struct goal_key4){comm->next_instance - 1, 0, 10, 0, false};
	recv = goal_recv_find(ut.nic, comm, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	p = piece_of(WIRE_GOAL_DATA, 0, 10, LARGE_BYTES, 0, 1500);
	p.sink = (uint32_t)recv->generation << 24 | fw_pool_index(&ut.nic->goal.recvs, recv);
	(void)arrives(&p);
	p.offset = 1500;
	(void)arrives(&p);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, LARGE), 2);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_MATCHED, LARGE), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_OP_FINISH, LARGE), 1);
	/* Without a receive it arrives for no operation. */
	p = piece_of(WIRE_GOAL_EAGER, 0, 11, 10, 0, 5);
	(void)arrives(&p);
	p = piece_of(WIRE_GOAL_EAGER, 0, 11, 10, 5, 5);
	(void)arrives(&p);
	p = piece_of(WIRE_GOAL_HEADER, 2, 11, 10, 0, 0);
	(void)arrives(&p);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_ARRIVED, FW_NONE), 2);
	end();
}

/* A stream is taken from the rank's own station, once, while the communicator lives. */
static void streams(void)
{
	struct esp_key key = {WIRE_ESP_GOAL, RANK, 3, 1, 2}, bad;

	begin();
	CU_ASSERT_TRUE(goal_msg_expects(ut.nic, &key, memory.peers[3].mac));
	CU_ASSERT_FALSE(goal_msg_expects(ut.nic, &key, memory.peers[2].mac));
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		bad = key;                                                                         \
		bad.field = (value);                                                               \
		CU_ASSERT_FALSE(                                                                   \
		    goal_msg_expects(ut.nic, &bad, memory.peers[(value) % RANKS].mac));            \
	} while (0)
	BAD(key, 3);
	BAD(key2, 3);
	BAD(local, 3);
	BAD(remote, RANK);
	BAD(remote, RANKS);
#undef BAD
	comm->closing = true;
	CU_ASSERT_FALSE(goal_msg_expects(ut.nic, &key, memory.peers[3].mac));
	CU_ASSERT_PTR_NULL(goal_msg_accept(ut.nic, &key, NULL));
	comm->closing = false;
	(void)link_to(3);
	CU_ASSERT_FALSE(goal_msg_expects(ut.nic, &key, memory.peers[3].mac));
	CU_ASSERT_PTR_NULL(goal_msg_accept(ut.nic, &key, NULL));
	end();
}

UT_MAIN("nic_fw/coll/goal_msg_rx", UT(one_packet), UT(pieces_in_order), UT(segments_and_pieces),
	UT(enough_for_a_turn), UT(only_the_packet_of_the_part), UT(memory_that_is_not_mapped),
	UT(announced_data), UT(longer_than_the_receive), UT(aborts), UT(packets_that_are_none),
	UT(runs_of_packets), UT(traces), UT(streams))
