/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: whether a rank is blocked, its reports of that to others, and what is resumed once
 * there is room. Single operations, looks and cycles: goal_stall_ut.
 */
#include "nic_fw/stream/esp_stream.h"
#include "tests/bench/host.h"

enum {
	RANKS = 3,
	INSTANCE = 7,
	PEER = 1,
	SOME = 10,    /* streams, and multicasts */
	AT_ONCE = 16, /* of both */
};

static struct fw_ut ut;
static struct goal_comm *comm;
static struct goal_run *run;
static struct goal_link link[RANKS];
static struct esp_stream stream[RANKS];
static struct mgrp_note note;

static void begin(void)
{
	uint32_t i;

	fw_ut_begin(&ut);
	comm = host_comm(ut.nic, RANKS, INSTANCE + 1);
	run = fw_pool_get(&ut.nic->goal.runs);
	memset(run, 0, sizeof(*run));
	run->comm = comm;
	run->instance = INSTANCE;
	goal_run_init_lists(run);
	fw_list_add_tail(&comm->runs, &run->comm_node);
	/* The only one, whatever its chain. */
	for (i = 0; i < GOAL_MAX_RUNS; i++)
		ut.nic->goal.run_hash[i] = fw_pool_index(&ut.nic->goal.runs, run) + 1;
	for (i = PEER; i < RANKS; i++) {
		memset(&link[i], 0, sizeof(link[i]));
		memset(&stream[i], 0, sizeof(stream[i]));
		link[i].rank = i;
		link[i].stream = &stream[i];
		fw_list_init(&link[i].blocked_node);
		fw_list_init(&stream[i].queue);
		stream[i].state = ESP_OPEN;
		stream[i].snd_window = ESP_BURST;
		fw_list_add_tail(&comm->all_links, &link[i].node);
	}
}

static void end(void)
{
	fw_pool_put(&ut.nic->goal.runs, run);
	fw_ut_end(&ut);
}

static bool is_still(void)
{
	memset(&note, 0xff, sizeof(note));
	return goal_stall_is_still(ut.nic, comm, &note);
}

static void whoever_waits_and_has_sent_all(void)
{
	begin();
	comm->stall.changes = 5;
	CU_ASSERT_TRUE(is_still());
	CU_ASSERT_EQUAL(note.changes, 5);
	CU_ASSERT_EQUAL(note.ranks, 0);
	CU_ASSERT_EQUAL(note.held, 0);
	CU_ASSERT_EQUAL(note.stops, 0);
	link[PEER].stream = NULL;
	CU_ASSERT_TRUE(is_still());
	end();
}

/* Another rank may wait for it. */
static void what_is_under_way_moves(void)
{
	struct fw_list xfer;
	uint32_t i;

	begin();
	for (i = PEER; i < RANKS; i++) {
		stream[i].snd_next++;
		CU_ASSERT_FALSE(is_still());
		/* The peer has no room for it: only the peer can report that. */
		stream[i].snd_window = 0;
		CU_ASSERT_TRUE(is_still());
		CU_ASSERT_EQUAL(note.held, UINT64_C(1) << i);
		CU_ASSERT_EQUAL(note.ranks, UINT64_C(1) << i);
		/* A window that was never reported does not count. */
		stream[i].state = ESP_SYN_SENT;
		CU_ASSERT_FALSE(is_still());
		stream[i].state = ESP_OPEN;
		stream[i].snd_window = ESP_BURST;
		/* Acknowledged. */
		stream[i].snd_una++;
		CU_ASSERT_TRUE(is_still());
		CU_ASSERT_EQUAL(note.held, 0);
		/* Not sent yet. */
		fw_list_init(&xfer);
		fw_list_add_tail(&stream[i].queue, &xfer);
		CU_ASSERT_FALSE(is_still());
		fw_list_del(&xfer);
	}
	end();
}

static void a_multicast_under_way_moves(void)
{
	static struct mgrp_space space;

	begin();
	fw_list_init(&space.queue);
	fw_list_add_tail(&comm->group.all, &space.node);
	CU_ASSERT_TRUE(is_still());
	space.next = space.low + 1;
	CU_ASSERT_FALSE(is_still());
	end();
}

static void a_run_that_has_work_moves(void)
{
	begin();
	run->num_ready = 1;
	CU_ASSERT_FALSE(is_still());
	run->num_ready = 0;
	run->num_locals = 1;
	CU_ASSERT_FALSE(is_still());
	run->num_locals = 0;
	run->num_finished = 1;
	CU_ASSERT_FALSE(is_still());
	run->num_finished = 0;
	run->fault = HW_GOAL_TIMEOUT;
	CU_ASSERT_FALSE(is_still());
	run->fault = HW_GOAL_OK;
	CU_ASSERT_TRUE(is_still());
	/* Without a run its process may start one. */
	fw_list_del(&run->comm_node);
	CU_ASSERT_FALSE(is_still());
	end();
}

static void whose_messages_find_no_room_here(void)
{
	begin();
	link[PEER].blocked_instance = INSTANCE;
	fw_list_add_tail(&comm->blocked, &link[PEER].blocked_node);
	CU_ASSERT_TRUE(is_still());
	CU_ASSERT_EQUAL(note.stops, UINT64_C(1) << PEER);
	/* The message is for a run that will be started here and will then make room for it. */
	link[PEER].blocked_instance = INSTANCE + 1;
	CU_ASSERT_FALSE(is_still());
	end();
}

/* Streams come before multicasts; some are resumed in a turn, the others soon. */
static void those_that_wait_are_resumed_in_steps(void)
{
	static struct goal_link streams[SOME];
	static struct mgrp_space casts[SOME];
	uint64_t changes;
	uint32_t i, left = 0;

	begin();
	memset(streams, 0, sizeof(streams));
	memset(casts, 0, sizeof(casts));
	for (i = 0; i < SOME; i++) {
		fw_list_add_tail(&comm->blocked, &streams[i].blocked_node);
		fw_list_add_tail(&comm->group.blocked, &casts[i].blocked_node);
	}
	goal_comm_unblock(ut.nic, comm);
	for (i = 0; i < SOME; i++) {
		CU_ASSERT_FALSE(fw_list_linked(&streams[i].blocked_node));
		left += fw_list_linked(&casts[i].blocked_node);
	}
	CU_ASSERT_EQUAL(left, 2 * SOME - AT_ONCE);
	CU_ASSERT_FATAL(fw_timer_is_set(&comm->resume_timer));
	CU_ASSERT_EQUAL(comm->resume_timer.deadline_ns, ut.nic->now_ns + FW_SOON_NS);
	fw_timer_cancel(&ut.nic->timers, &comm->resume_timer);
	changes = comm->stall.changes;
	goal_stall_resume_fire(ut.nic, &comm->resume_timer);
	CU_ASSERT(comm->stall.changes > changes);
	CU_ASSERT_TRUE(fw_list_empty(&comm->group.resuming));
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->resume_timer));
	end();
}

UT_MAIN("nic_fw/coll/goal_still", UT(whoever_waits_and_has_sent_all), UT(what_is_under_way_moves),
	UT(a_multicast_under_way_moves), UT(a_run_that_has_work_moves),
	UT(whose_messages_find_no_room_here), UT(those_that_wait_are_resumed_in_steps))
