/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_msg_rx.c: messages, receives and streams that wait for each other, or for
 * memory; receives of any rank and tag.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

static bool has(const uint8_t *at, uint32_t offset, uint32_t n)
{
	return memcmp(at, bytes_of + offset, n) == 0;
}

static struct packet early(uint8_t type, uint32_t from, uint32_t tag, uint64_t bytes,
			   uint64_t offset, uint32_t piece_bytes)
{
	struct packet p = piece_of(type, from, tag, bytes, offset, piece_bytes);

	p.instance = comm->next_instance;
	return p;
}

/* A pool that is not mapped: turns that copy none, pages that come late, or never. */
static void pool_that_is_not_mapped(void)
{
	struct packet p;

	prepare(true);
	load(false);
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	ut.nic->dear_rests = true;
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT_FALSE(fw_list_linked(&link_to(0)->slow_node));
	ut.nic->dear_rests = false;
	ut.port.host_busy = true;
	CU_ASSERT_EQUAL(arrives(&p), ESP_FULL);
	CU_ASSERT_TRUE(fw_list_linked(&link_to(0)->slow_node));
	ut.port.host_busy = false;
	ut.nic->dear = 0;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.pool, 0, 1000));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_unexpected, 1);
	/* A piece without bytes needs no memory, nor does a short message. */
	ut.nic->dear_rests = true;
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 1000, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, 40);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 40, SHORT_BYTES - 40);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ut.nic->dear_rests = false;
	ut.nic->dear = 0;
	ut.port.host_fault = true;
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 1000, 500);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_faults, 1);
	ut.port.host_fault = false;
	CU_ASSERT_EQUAL(comm->num_aborts, 1);
	end();
}

/* A pool that is mapped takes messages in each turn. */
static void pool_that_is_mapped(void)
{
	struct packet p;

	begin();
	ut.nic->dear_rests = true;
	ut.nic->dear = ut.nic->dear_most;
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.pool, 0, 1000));
	ut.nic->dear_rests = false;
	/* A short message in two pieces has both in their places. */
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, 40);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 40, SHORT_BYTES - 40);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	(void)start();
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	end();
}

/* A copy from such a pool into pieces is local work of the run, and takes turns. */
static void copies_in_steps(void)
{
	struct goal_run *run;
	struct packet p;

	prepare(true);
	load(false);
	p = early(WIRE_GOAL_EAGER, 2, 9, PIECES * PIECE_BYTES, 0, PIECES * PIECE_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	(void)start_in(0, false);
	run = goal_run_find(ut.nic, comm, comm->next_instance - 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	turns(400);
	CU_ASSERT(fw_list_empty(&run->copies));
	CU_ASSERT(fw_list_empty(&comm->unexps));
	for (uint32_t i = 0; i < PIECES; i++)
		CU_ASSERT(
		    has(memory.slot + 2048 + 2 * i * PIECE_BYTES, i * PIECE_BYTES, PIECE_BYTES));
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	end();
}

/* The rank of a message that waits for its copy is awaited until the message is whole. */
static void rest_behind_a_copy(void)
{
	struct goal_recv *recv;
	struct packet p;
	struct goal_key4 key;

	prepare(true);
	load(false);
	p = early(WIRE_GOAL_EAGER, 2, 9, PIECES * PIECE_BYTES, 0, 300);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ut.port.host_busy = true;
	(void)start();
	ut.port.host_busy = false;
	key = (struct goal_key4){comm->next_instance - 1, 2, 9, 0, false};
	recv = goal_recv_find(ut.nic, comm, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv->source);
	ut.nic->dear = 0;
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, PIECES * PIECE_BYTES, 300, 300);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_PTR_EQUAL(recv->link, link_to(2));
	ut.nic->dear = 0;
	p = piece_of(WIRE_GOAL_EAGER, 2, 9, PIECES * PIECE_BYTES, 600, 40);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_PTR_NULL(recv->link);
	turns(2000);
	for (uint32_t i = 0; i < PIECES; i++)
		CU_ASSERT(
		    has(memory.slot + 2048 + 2 * i * PIECE_BYTES, i * PIECE_BYTES, PIECE_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	end();
}

/* A receive whose memory comes late begins again, and has one context. */
static void receive_begins_again(void)
{
	struct goal_run *run;
	struct packet p;
	uint32_t used;

	prepare(false);
	load(true);
	(void)start();
	used = ut.nic->goal.recvs.used;
	end();
	prepare(false);
	load(true);
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	ut.port.host_busy = true;
	run = start();
	turns(500);
	CU_ASSERT(ut.nic->goal.recvs.used < used);
	CU_ASSERT_EQUAL(run->remaining, OPS);
	ut.port.host_busy = false;
	turns(2000);
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	/* One receive less waits, and THEN waits. */
	CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, used);
	end();
}

/* A message that its rank did not end before its stream ended never will be whole. */
static void rank_is_lost(void)
{
	struct packet p;

	begin();
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	esp_end(ut.nic, link_to(0)->stream, ESP_END_LOST);
	turns(4);
	CU_ASSERT_PTR_NULL(goal_link_get(ut.nic, comm, 0));
	(void)start_in(0, false);
	turns(50);
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_PEER_LOST);
	CU_ASSERT_EQUAL(record->rank, 0);
	/* The whole one was taken. */
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	end();
}

/* Each packet may end a cycle of full pools: a look that is under way must begin again. */
static void each_packet_is_a_change(void)
{
	struct fw_rx_frame frame;
	struct packet p;
	uint64_t changes;

	begin();
	(void)start();
	p = piece_of(0, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	(void)link_to(0);
	changes = comm->stall.changes;
	CU_ASSERT(is_malformed(&p));
	CU_ASSERT_EQUAL(comm->stall.changes, changes + 1);
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, frame_of(&p, &frame)),
			ESP_TAKEN);
	CU_ASSERT_EQUAL(comm->stall.changes, changes + 2);
	end();
}

/* Fills the pool with messages of rank 2 until its stream is blocked. */
static void block(void)
{
	struct packet p = piece_of(WIRE_GOAL_EAGER, 2, 40, EAGER_BYTES, 0, 100);

	while (arrives(&p) == ESP_TAKEN) {
		p.count++;
		CU_ASSERT_FATAL(p.count < 100);
	}
	CU_ASSERT_EQUAL(comm->blocked.next, &link_to(2)->blocked_node);
}

/* A stream without room may hold the message of a receive that begins: it goes on. */
static void receives_let_streams_go_on(uint32_t peer)
{
	struct packet p;

	prepare(false);
	memory.code.ops[THEN].peer = peer;
	load(false);
	(void)start();
	block();
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_FALSE(fw_list_empty(&comm->blocked));
	turns(2);
	CU_ASSERT(fw_list_empty(&comm->blocked));
	end();
}

static void streams_go_on(void)
{
	receives_let_streams_go_on(0);
	receives_let_streams_go_on(GOAL_RANK_ANY);
}

/* A receive of any rank and tag: all ranks are watched until a message has come. */
static void any_rank_and_tag(void)
{
	struct goal_run *run;
	struct packet p;

	prepare(false);
	memory.code.ops[SHORT].peer = GOAL_RANK_ANY;
	memory.code.ops[SHORT].tag = GOAL_TAG_ANY;
	load(false);
	run = start();
	CU_ASSERT_TRUE(run->schedule->wildcards);
	CU_ASSERT_EQUAL(run->any_recvs, 1);
	CU_ASSERT_EQUAL(comm->any_recvs, 1);
	CU_ASSERT_TRUE(fw_timer_is_set(&comm->any_timer));
	/* Which message it takes is open, so the large one is not announced. */
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ANNOUNCE), 0);
	p = piece_of(WIRE_GOAL_EAGER, 3, 77, 60, 0, 20);
	p.count = 5;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(run->any_recvs, 0);
	CU_ASSERT_EQUAL(comm->any_recvs, 0);
	p.offset = 20;
	p.piece_bytes = 40;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.brief, 0, 60));
	turns(2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	end();
}

/* Likewise a message that is here in part: its further pieces find the receive by its own key. */
static void any_takes_what_is_here(void)
{
	struct goal_run *run;
	struct packet p;

	prepare(false);
	memory.code.ops[SHORT].peer = GOAL_RANK_ANY;
	memory.code.ops[SHORT].tag = GOAL_TAG_ANY;
	load(false);
	p = early(WIRE_GOAL_EAGER, 3, 77, 60, 0, 20);
	p.count = 5;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	run = start();
	CU_ASSERT(has(memory.brief, 0, 20));
	CU_ASSERT_EQUAL(run->any_recvs, 0);
	p.offset = 20;
	p.piece_bytes = 40;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.brief, 0, 60));
	turns(2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	CU_ASSERT(fw_list_empty(&comm->unexps));
	end();
}

UT_MAIN("nic_fw/coll/goal_msg_rx_waits", UT(pool_that_is_not_mapped), UT(pool_that_is_mapped),
	UT(copies_in_steps), UT(rest_behind_a_copy), UT(receive_begins_again), UT(rank_is_lost),
	UT(each_packet_is_a_change), UT(streams_go_on), UT(any_rank_and_tag),
	UT(any_takes_what_is_here))
