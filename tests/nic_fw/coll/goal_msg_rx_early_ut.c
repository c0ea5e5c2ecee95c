/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_msg_rx.c: messages, headers and announcements that come before their operations,
 * and multicasts.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

static bool has(const uint8_t *at, uint32_t offset, uint32_t n)
{
	return memcmp(at, bytes_of + offset, n) == 0;
}

/* A packet of the run that comes next. */
static struct packet early(uint8_t type, uint32_t from, uint32_t tag, uint64_t bytes,
			   uint64_t offset, uint32_t piece_bytes)
{
	struct packet p = piece_of(type, from, tag, bytes, offset, piece_bytes);

	p.instance = comm->next_instance;
	return p;
}

static struct goal_unexp *kept(uint32_t from, uint32_t tag)
{
	const struct goal_key4 key = {comm->next_instance, from, tag, 0, false};

	return goal_unexp_find(ut.nic, comm, &key);
}

static struct goal_recv *waiting(uint32_t from, uint32_t tag)
{
	const struct goal_key4 key = {comm->next_instance - 1, from, tag, 0, false};

	return goal_recv_find(ut.nic, comm, &key);
}

/* A short one is kept with its description, a longer one in the pool; the run takes both. */
static void whole_messages(void)
{
	struct packet p;

	begin();
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kept(0, 7));
	CU_ASSERT_EQUAL(kept(0, 7)->region, FW_NONE);
	CU_ASSERT_EQUAL(kept(0, 7)->received, SHORT_BYTES);
	CU_ASSERT_PTR_EQUAL(kept(0, 7)->link, link_to(0));
	CU_ASSERT_FALSE(kept(0, 7)->header);
	p = early(WIRE_GOAL_EAGER, 0, 8, EAGER_BYTES, 0, EAGER_BYTES);
	p.segs = SEGS;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(kept(0, 8)->region, 0);
	CU_ASSERT(has(memory.pool + kept(0, 8)->offset, 0, EAGER_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_unexpected, 2);
	(void)start();
	turns(4);
	CU_ASSERT(has(memory.brief, 0, SHORT_BYTES));
	CU_ASSERT(has(memory.slot, 0, EAGER_BYTES));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 2);
	CU_ASSERT(fw_list_empty(&comm->unexps));
	end();
}

/* The pieces of a message that has no receive follow each other. */
static void pieces_of_a_message(void)
{
	struct packet p, bad;

	begin();
	/* The first piece begins the message, and is not longer than it. */
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	bad = p;
	bad.offset = 1;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.bytes = 999;
	CU_ASSERT(is_malformed(&bad));
	CU_ASSERT_PTR_NULL(kept(0, 8));
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p.offset = 1000;
	p.piece_bytes = 500;
	bad = p;
	bad.bytes = 1499;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.offset = 999;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.offset = 1001;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.piece_bytes = 501;
	CU_ASSERT(is_malformed(&bad));
	bad = p;
	bad.type = WIRE_GOAL_HEADER;
	bad.piece_bytes = 0;
	CU_ASSERT(is_malformed(&bad));
	CU_ASSERT_EQUAL(kept(0, 8)->received, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(kept(0, 8)->received, 1500);
	CU_ASSERT(has(memory.pool + kept(0, 8)->offset, 0, 1500));
	CU_ASSERT(is_malformed(&p));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_unexpected, 1);
	(void)start();
	turns(4);
	CU_ASSERT(has(memory.slot, 0, 1500));
	end();
}

/* The receive begins in the middle of the message: its rank is awaited until all is here. */
static void rest_behind_the_receive(void)
{
	struct goal_recv *recv;
	struct packet p;
	uint32_t awaiting;

	begin();
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	(void)start();
	turns(4);
	recv = waiting(0, 8);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	CU_ASSERT_PTR_EQUAL(recv->link, link_to(0));
	awaiting = link_to(0)->awaiting;
	CU_ASSERT(has(memory.slot, 0, 1000));
	p = piece_of(WIRE_GOAL_EAGER, 0, 8, 1500, 1000, 500);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	turns(4);
	CU_ASSERT(has(memory.slot, 0, 1500));
	CU_ASSERT_EQUAL(link_to(0)->awaiting, awaiting - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_rx, 1);
	end();
}

/* Messages that a pool does not take: too large, or without room; the stream waits. */
static void no_room(void)
{
	struct packet p;

	begin();
	p = early(WIRE_GOAL_EAGER, 0, 8, EAGER_BYTES + 1, 0, 100);
	CU_ASSERT(is_malformed(&p));
	for (p = early(WIRE_GOAL_EAGER, 0, 8, EAGER_BYTES, 0, 100); arrives(&p) == ESP_TAKEN;
	     p.count++)
		CU_ASSERT_FATAL(p.count < 100);
	/* A message of 2000 bytes has a block of 2048. */
	CU_ASSERT_EQUAL(p.count, POOL_BYTES / 2048);
	CU_ASSERT_TRUE(fw_list_linked(&link_to(0)->blocked_node));
	CU_ASSERT_EQUAL(link_to(0)->blocked_instance, comm->next_instance);
	/* Short ones and headers need none of it. */
	p = early(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = early(WIRE_GOAL_HEADER, 0, 10, LARGE_BYTES, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_TRUE(kept(0, 10)->header);
	CU_ASSERT_EQUAL(kept(0, 10)->region, FW_NONE);
	end();
}

/* The pool is memory of the process: it may be gone. */
static void pool_is_gone(void)
{
	struct goal_pool_region *region;
	struct packet p;

	begin();
	region = &comm->regions[0];
	region->stag ^= 1;
	p = early(WIRE_GOAL_EAGER, 0, 8, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_faults, 1);
	CU_ASSERT_EQUAL(comm->num_aborts, 1);
	/* The run that it was for fails when it begins. */
	CU_ASSERT_PTR_NULL(start_in(0, false));
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(record->rank, RANK);
	CU_ASSERT(!record->message_bytes && !record->room_bytes);
	/* The run that is active fails at once. */
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 20, 1500, 0, 1000);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_faults, 2);
	turns(50);
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(record->op, FW_NONE);
	CU_ASSERT_EQUAL(comm->num_aborts, 0);
	region->stag ^= 1;
	end();
}

/* A header waits for its receive, which it announces itself to. */
static void headers(void)
{
	struct goal_recv *recv;
	struct packet p, bad;

	begin();
	p = early(WIRE_GOAL_HEADER, 0, 8, EAGER_BYTES, 0, 0);
	bad = p;
	bad.piece_bytes = 1;
	CU_ASSERT(is_malformed(&bad));
	CU_ASSERT_PTR_NULL(kept(0, 8));
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_PTR_EQUAL(kept(0, 8)->link, link_to(0));
	CU_ASSERT(is_malformed(&p));
	/* It has no data, so none follow. */
	bad = p;
	bad.type = WIRE_GOAL_EAGER;
	bad.piece_bytes = 100;
	CU_ASSERT(is_malformed(&bad));
	/* The largest message that there may be. */
	p = early(WIRE_GOAL_HEADER, 0, 30, GOAL_MAX_MSG_BYTES, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ANNOUNCE), 0);
	(void)start();
	turns(2);
	/* The receive takes its header; that of no receive stays. LARGE is announced in any case.
	 */
	CU_ASSERT_PTR_EQUAL(comm->unexps.next, comm->unexps.prev);
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ANNOUNCE), 2);
	recv = waiting(0, 8);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	CU_ASSERT_TRUE(recv->matched);
	CU_ASSERT_EQUAL(recv->bytes, EAGER_BYTES);
	p = piece_of(WIRE_GOAL_DATA, 0, 8, EAGER_BYTES, 0, EAGER_BYTES);
	p.sink = (uint32_t)recv->generation << 24 | fw_pool_index(&ut.nic->goal.recvs, recv);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(has(memory.slot, 0, EAGER_BYTES));
	/* A header for a receive that waits is answered at once. */
	p = piece_of(WIRE_GOAL_HEADER, 0, 7, SHORT_BYTES, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ANNOUNCE), 3);
	CU_ASSERT_TRUE(waiting(0, 7)->matched);
	CU_ASSERT_EQUAL(waiting(0, 7)->bytes, SHORT_BYTES);
	end();
}

/* An announcement before its send is kept, so many of a link; another of the same key is not. */
static void announcements_come_first(void)
{
	struct packet p;
	uint32_t i;

	begin();
	p = early(WIRE_GOAL_ANNOUNCE, 2, 5, LARGE_BYTES, 0, 0);
	p.sink = 0x12345678;
	for (i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
		CU_ASSERT_EQUAL(link_to(2)->announced, 1);
	}
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_DATA), 1);
	link_to(2)->announced = GOAL_MAX_ANNOUNCED;
	p.count = 1;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_DATA), 1);
	link_to(2)->announced = GOAL_MAX_ANNOUNCED - 1;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_DATA), 2);
	CU_ASSERT_EQUAL(link_to(2)->announced, GOAL_MAX_ANNOUNCED);
	link_to(2)->announced = 2;
	/* The send finds it, and needs no header. */
	(void)start();
	CU_ASSERT_EQUAL(link_to(2)->announced, 1);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_HEADER), 0);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_DATA), 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sent_by(SEND));
	CU_ASSERT_EQUAL(sent_by(SEND)->kind, GOAL_SEND_DATA);
	CU_ASSERT_EQUAL(sent_by(SEND)->sink, 0x12345678);
	CU_ASSERT_EQUAL(sent_by(SEND)->bytes, LARGE_BYTES);
	end();
}

/* A send that waits begins with the announcement, if the receive has room. */
static void announcements_of_sends_that_wait(void)
{
	struct packet p;

	begin();
	(void)start();
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_HEADER), 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(send_of(2, 5));
	CU_ASSERT_EQUAL(send_of(2, 5)->kind, GOAL_SEND_WAITING);
	p = piece_of(WIRE_GOAL_ANNOUNCE, 2, 5, LARGE_BYTES - 1, 0, 0);
	p.sink = 0x12345678;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(send_of(2, 5)->kind, GOAL_SEND_WAITING);
	CU_ASSERT_EQUAL(link_to(2)->announced, 0);
	p.bytes++;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_PTR_NULL(send_of(2, 5));
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_DATA), 1);
	CU_ASSERT_EQUAL(sent_by(SEND)->kind, GOAL_SEND_DATA);
	CU_ASSERT_EQUAL(sent_by(SEND)->sink, 0x12345678);
	CU_ASSERT_EQUAL(link_to(2)->announced, 0);
	/* It begins once. */
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(link_to(2)->announced, 1);
	end();
}

/* A multicast is an eager message of its root, of this run or one to come. */
static void multicasts(void)
{
	struct goal_key4 key = {0, 3, 6, 0, true};
	struct goal_unexp *unexp;
	struct fw_rx_frame frame;
	struct packet p;
	uint32_t bytes;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 3, 6, SHORT_BYTES, 0, SHORT_BYTES);
	p.instance++;
	for (uint32_t type = 0; type <= WIRE_GOAL_TYPES; type++) {
		p.type = (uint8_t)type;
		bytes = frame_of(&p, &frame);
		if (type != WIRE_GOAL_EAGER)
			CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes),
					ESP_TAKEN);
	}
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, WIRE_GOAL_TYPES);
	p.type = WIRE_GOAL_EAGER;
	p.bytes = GOAL_MAX_MSG_BYTES + 1;
	bytes = frame_of(&p, &frame);
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_malformed, WIRE_GOAL_TYPES + 1);
	p.bytes = SHORT_BYTES;
	p.instance -= 2;
	bytes = frame_of(&p, &frame);
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_late, 1);
	p.instance += 2;
	bytes = frame_of(&p, &frame);
	comm->closing = true;
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	comm->closing = false;
	CU_ASSERT(fw_list_empty(&comm->unexps));
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	key.instance = p.instance;
	unexp = goal_unexp_find(ut.nic, comm, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	CU_ASSERT_PTR_NULL(unexp->link);
	CU_ASSERT(has(unexp->small, 0, SHORT_BYTES));
	/* A message of the same key on the stream is another one. */
	CU_ASSERT_PTR_NULL(kept(3, 6));
	end();
}

/* A large multicast waits in its ring, but for the one that the ring is kept free for. */
static void large_multicasts(void)
{
	struct goal_key4 key = {0, 3, 6, 0, true};
	struct fw_rx_frame frame;
	struct packet p;
	uint32_t bytes;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_EAGER, 3, 6, EAGER_BYTES + 1, 0, 100);
	p.instance++;
	key.instance = p.instance;
	bytes = frame_of(&p, &frame);
	comm->stall.keep_large = true;
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_PTR_NOT_NULL(goal_unexp_find(ut.nic, comm, &key));
	CU_ASSERT_FALSE(comm->stall.keep_large);
	/* A message that is not large takes nothing of this. */
	comm->stall.keep_large = true;
	p.bytes = EAGER_BYTES;
	p.count = 1;
	bytes = frame_of(&p, &frame);
	CU_ASSERT_EQUAL(goal_group_receive(ut.nic, comm, 3, &frame, 0, bytes), ESP_TAKEN);
	CU_ASSERT_TRUE(comm->stall.keep_large);
	/* A stream's large message is not kept in either case. */
	p.bytes = EAGER_BYTES + 1;
	p.count = 2;
	CU_ASSERT(is_malformed(&p));
	end();
}

/* A rank's process has ended: it takes no part from that run on. */
static void a_rank_has_left(void)
{
	struct packet p;

	begin();
	(void)start();
	p = piece_of(WIRE_GOAL_LEFT, 0, 0, 0, 0, 0);
	p.instance++;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_TRUE(goal_link_at(ut.nic, comm, 0)->left);
	CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, 0)->left_at, p.instance);
	turns(50);
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	CU_ASSERT_FALSE(goal_link_lost(ut.nic, comm, 0, p.instance - 1));
	CU_ASSERT_TRUE(goal_link_lost(ut.nic, comm, 0, p.instance));
	end();
}

UT_MAIN("nic_fw/coll/goal_msg_rx_early", UT(whole_messages), UT(pieces_of_a_message),
	UT(rest_behind_the_receive), UT(no_room), UT(pool_is_gone), UT(headers),
	UT(announcements_come_first), UT(announcements_of_sends_that_wait), UT(multicasts),
	UT(large_multicasts), UT(a_rank_has_left))
