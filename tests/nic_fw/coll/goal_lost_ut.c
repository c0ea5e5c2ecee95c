/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a stream, or of a rank's process, beside very many operations and runs: some are
 * looked at in a turn, and in the end each run that needs the rank fails. Runs and messages are
 * counted; nothing is timed. See nic_fw/coll/goal_lost.c, goal_orphan.c.
 */
#include <sys/mman.h>

#include "tests/bench/host.h"

enum {
	RUNS = 1500,
	MESSAGES = 1500,
	NEXT_INSTANCE = 5000,
	LOOKS_PER_TURN = 4 * FW_SLICE_UNITS,
	AT_ONCE = 4 * FW_SLICE_AT_ONCE,
};

static struct fw_ut ut;
static struct goal_comm *comm;
static struct goal_schedule schedule;
static struct goal_insn insn;
static struct hw_goal_peer peers[2];
static uint32_t links[2];
static uint32_t ring[2];
static struct goal_run *runs[RUNS];
static struct goal_link *link;

static void begin(void)
{
	fw_ut_begin(&ut);
	comm = host_comm(ut.nic, 2, NEXT_INSTANCE);
	comm->peers = peers;
	comm->links = links;
	links[0] = links[1] = FW_NONE;
	memcpy(peers[1].mac, (const uint8_t[]){2, 0, 0, 0, 0, 9}, sizeof(peers[1].mac));
	memset(&schedule, 0, sizeof(schedule));
	memset(&insn, 0, sizeof(insn));
	insn.kind = GOAL_INSN_RECV;
	insn.peer = 1;
	schedule.ops = &insn;
	schedule.header.num_ops = 1;
	link = goal_link_get(ut.nic, comm, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	fw_ut_poll(&ut, 1000);
}

static void turn(void)
{
	bool pending = goal_lost_pending(ut.nic);

	ut.nic->now_ns += 1000;
	ut.nic->turn_did = 0;
	(void)slice_run(ut.nic);
	CU_ASSERT_EQUAL(ut.nic->turn_did & FW_DID_LEAVE, pending ? FW_DID_LEAVE : 0);
}

/* Each run waits for a message of the rank (exact), or of any. */
static void start_runs(bool exact)
{
	struct goal_recv *recv;
	uint32_t i;

	for (i = 0; i < RUNS; i++) {
		struct goal_run *run = runs[i] = goal_take(ut.nic, 0, GOAL_TABLE_RUNS);

		CU_ASSERT_PTR_NOT_NULL_FATAL(run);
		memset(run, 0, sizeof(*run));
		goal_run_init_lists(run);
		run->comm = comm;
		run->schedule = &schedule;
		run->instance = i;
		run->locals = run->finished = ring;
		fw_list_add_tail(&comm->runs, &run->comm_node);
		if (exact) {
			recv = goal_recv_new(ut.nic, run, 0);
			CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
			goal_recv_await(ut.nic, recv, link);
		} else {
			run->any_recvs = 1;
		}
	}
}

static uint32_t faults(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < RUNS; i++)
		n += runs[i]->fault == HW_GOAL_PEER_LOST;
	return n;
}

static void end_runs(void)
{
	uint32_t i;

	for (i = 0; i < RUNS; i++) {
		runs[i]->any_recvs = 0;
		goal_msg_drop_run(ut.nic, runs[i]);
		fw_list_del(&runs[i]->client_node);
		fw_list_del(&runs[i]->comm_node);
		goal_give(ut.nic, 0, GOAL_TABLE_RUNS, runs[i]);
	}
	fw_list_del(&ut.nic->host.clients[0].goal_node);
	if (link->stream)
		esp_abort(ut.nic, link->stream);
	goal_link_free(ut.nic, link);
	fw_timer_cancel(&ut.nic->timers, &comm->any_timer);
	fw_ut_end(&ut);
}

static void until(uint32_t want)
{
	uint32_t was = faults(), now, turns;

	CU_ASSERT(was <= AT_ONCE);
	for (turns = 0; was < want && turns < RUNS; turns++) {
		turn();
		now = faults();
		CU_ASSERT(now - was <= LOOKS_PER_TURN);
		was = now;
	}
	CU_ASSERT_EQUAL(was, want);
}

static void runs_that_wait_for_a_lost_rank(void)
{
	begin();
	start_runs(true);
	turn();
	esp_end(ut.nic, link->stream, ESP_END_LOST);
	/* The first ones at once. */
	CU_ASSERT_NOT_EQUAL(faults(), 0);
	until(RUNS);
	end_runs();
}

static void runs_that_may_need_it(void)
{
	begin();
	start_runs(false);
	turn();
	esp_end(ut.nic, link->stream, ESP_END_LOST);
	/* The first ones at once. */
	CU_ASSERT_NOT_EQUAL(faults(), 0);
	until(RUNS);
	end_runs();
}

/* Its process ends: later runs fail. Then its stream ends, in the middle of that: all fail. */
static void a_rank_that_leaves(void)
{
	uint32_t i;

	begin();
	start_runs(true);
	turn();
	goal_link_left(ut.nic, link, RUNS / 2);
	turn();
	for (i = 0; i < RUNS / 2; i++)
		CU_ASSERT_EQUAL(runs[i]->fault, HW_GOAL_OK);
	esp_end(ut.nic, link->stream, ESP_END_LOST);
	for (i = 0; i < RUNS && faults() < RUNS; i++)
		turn();
	CU_ASSERT_EQUAL(faults(), RUNS);
	end_runs();
}

static void only_later_runs(void)
{
	uint32_t i;

	begin();
	start_runs(true);
	turn();
	goal_link_left(ut.nic, link, RUNS / 2);
	until(RUNS - RUNS / 2);
	for (i = 0; i < RUNS; i++)
		turn();
	CU_ASSERT_EQUAL(faults(), RUNS - RUNS / 2);
	for (i = 0; i < RUNS; i++)
		CU_ASSERT_EQUAL(runs[i]->fault, i < RUNS / 2 ? HW_GOAL_OK : HW_GOAL_PEER_LOST);
	end_runs();
}

/* A run ends while it is the next to be looked at. */
static void runs_that_end_meanwhile(void)
{
	uint32_t i;

	begin();
	start_runs(false);
	turn();
	esp_end(ut.nic, link->stream, ESP_END_LOST);
	turn();
	for (i = 0; i < RUNS; i += 2) {
		goal_lost_forget_run(comm, runs[i]);
		fw_list_del(&runs[i]->comm_node);
		if (!(i % 100))
			turn();
	}
	for (i = 0; i < RUNS && slice_pending(ut.nic); i++)
		turn();
	for (i = 1; i < RUNS; i += 2)
		CU_ASSERT_EQUAL(runs[i]->fault, HW_GOAL_PEER_LOST);
	end_runs();
}

enum {
	WAITS,     /* for a message of the rank */
	ANY,       /* of any rank */
	NEIGHBOUR, /* multicasts may need the rank */
	BESIDE,    /* multicasts, but not in its part of the tree */
	PLAIN,     /* neither */
	NEEDS
};

/* Runs of each kind beside a stream that ends so: which of them fail, with which status. */
static void check_needs(enum esp_end why, bool left, const enum hw_goal_status *want)
{
	static uint64_t with[1] = {UINT64_C(1) << 1}, without[1] = {~(UINT64_C(1) << 1)};
	static struct goal_schedule schedules[NEEDS];
	struct goal_run *run[NEEDS];
	uint32_t i;

	begin();
	for (i = 0; i < NEEDS; i++) {
		schedules[i] = schedule;
		schedules[i].groups = i == NEIGHBOUR || i == BESIDE;
		schedules[i].neighbours = i == NEIGHBOUR ? with : without;
		run[i] = host_run(ut.nic, comm, &schedules[i], i);
	}
	goal_recv_await(ut.nic, goal_recv_new(ut.nic, run[WAITS], 0), link);
	run[ANY]->any_recvs = 1;
	if (left)
		goal_link_left(ut.nic, link, NEIGHBOUR);
	esp_end(ut.nic, link->stream, why);
	for (i = 0; i < 100 && goal_lost_pending(ut.nic); i++)
		turn();
	CU_ASSERT_FALSE(goal_lost_pending(ut.nic));
	for (i = 0; i < NEEDS; i++) {
		CU_ASSERT_EQUAL(run[i]->fault, want[i]);
		if (want[i] != HW_GOAL_OK)
			CU_ASSERT_EQUAL(run[i]->fault_rank, 1);
		run[i]->any_recvs = 0;
		host_run_end(ut.nic, run[i]);
	}
	CU_ASSERT_TRUE(fw_list_empty(&link->recvs));
	fw_list_del(&ut.nic->host.clients[0].goal_node);
	goal_link_free(ut.nic, link);
	fw_timer_cancel(&ut.nic->timers, &comm->any_timer);
	fw_ut_end(&ut);
}

static void which_runs_need_a_rank(void)
{
	static const enum hw_goal_status
	    lost[NEEDS] = {[WAITS] = HW_GOAL_PEER_LOST,
			   [ANY] = HW_GOAL_PEER_LOST,
			   [NEIGHBOUR] = HW_GOAL_PEER_LOST},
	    unreachable[NEEDS] = {[WAITS] = HW_GOAL_UNREACHABLE,
				  [ANY] = HW_GOAL_UNREACHABLE,
				  [NEIGHBOUR] = HW_GOAL_UNREACHABLE},
	    closed[NEEDS] = {[WAITS] = HW_GOAL_PEER_LOST},
	    later[NEEDS] = {[WAITS] = HW_GOAL_PEER_LOST, [NEIGHBOUR] = HW_GOAL_PEER_LOST};

	check_needs(ESP_END_LOST, false, lost);
	check_needs(ESP_END_UNREACHABLE, false, unreachable);
	/* It closed the communicator: it has sent all that runs may still need. */
	check_needs(ESP_END_CLOSED, false, closed);
	/* Its process had ended before: it takes no part in runs from then on. */
	check_needs(ESP_END_CLOSED, true, later);
	check_needs(ESP_END_LOST, true, later);
}

static void queue_messages(void)
{
	uint32_t i;

	for (i = 0; i < MESSAGES; i++)
		CU_ASSERT_TRUE_FATAL(goal_msg_left(ut.nic, link, i));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, MESSAGES);
}

static void messages_on_a_stream_that_ends(void)
{
	uint32_t was, left, turns;

	begin();
	queue_messages();
	turn();
	esp_end(ut.nic, link->stream, ESP_END_LOST);
	left = ut.nic->goal.sends.used;
	CU_ASSERT(left >= MESSAGES - AT_ONCE);
	for (turns = 0; left && turns < MESSAGES; turns++) {
		was = left;
		turn();
		left = ut.nic->goal.sends.used;
		CU_ASSERT(was - left <= LOOKS_PER_TURN);
	}
	CU_ASSERT_EQUAL(left, 0);
	goal_link_free(ut.nic, link);
	fw_ut_end(&ut);
}

/* The process ends: what its peers may still need is charged to no process, in turns. */
static void messages_of_a_process_that_ends(void)
{
	const uint32_t *moved;
	uint32_t was, now, turns;

	begin();
	queue_messages();
	moved = &ut.nic->host.clients[FW_CLIENT_ORPHANS].goal_held[GOAL_TABLE_SENDS];
	link->comm = FW_NONE;
	fw_list_del(&link->node);
	fw_list_add_tail(&ut.nic->host.clients[0].goal_links, &link->node);
	turn();
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, 0), FW_DETACH_PENDING);
	for (turns = 0; !ut.port.num_detached && turns < MESSAGES; turns++) {
		was = *moved;
		fw_ut_poll(&ut, 1000);
		now = *moved;
		CU_ASSERT(now - was <= FW_SLICE_UNITS);
	}
	CU_ASSERT_EQUAL(ut.port.num_detached, 1);
	CU_ASSERT_EQUAL(*moved, MESSAGES);
	/* The peer never answers: they are freed in turns, too. */
	for (turns = 0; *moved && turns < 4 * MESSAGES; turns++) {
		was = *moved;
		fw_ut_poll(&ut, was == MESSAGES ? 100000000 : 1000);
		CU_ASSERT(was - *moved <= AT_ONCE);
	}
	CU_ASSERT_EQUAL(*moved, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 0);
	munmap(ut.client[0].bar, ut.client[0].bar_bytes);
	ut.client[0].bar = NULL;
	fw_ut_end(&ut);
}

static uint32_t linked(const struct goal_link *all, uint32_t count)
{
	uint32_t i, n = 0;

	for (i = 0; i < count; i++)
		n += fw_list_linked(&all[i].blocked_node);
	return n;
}

/* Thousands of streams that wait for room: each receive that starts lets them try again. */
static void streams_that_may_find_room(void)
{
	enum {
		STREAMS = 500,
		RESUMED = 16,
	};
	static struct goal_link waiting[STREAMS];
	uint32_t i, left;

	begin();
	memset(waiting, 0, sizeof(waiting));
	for (i = 0; i < STREAMS; i++)
		fw_list_add_tail(&comm->blocked, &waiting[i].blocked_node);
	goal_comm_unblock(ut.nic, comm);
	left = linked(waiting, STREAMS);
	CU_ASSERT_EQUAL(left, STREAMS - RESUMED);
	while (left) {
		uint32_t was = left;

		fw_ut_poll(&ut, FW_SOON_NS);
		left = linked(waiting, STREAMS);
		CU_ASSERT_FATAL(left < was && was - left <= RESUMED);
	}
	start_runs(true);
	end_runs();
}

UT_MAIN("nic_fw/coll/goal_lost", UT(streams_that_may_find_room), UT(runs_that_wait_for_a_lost_rank),
	UT(runs_that_may_need_it), UT(a_rank_that_leaves), UT(only_later_runs),
	UT(which_runs_need_a_rank), UT(runs_that_end_meanwhile), UT(messages_on_a_stream_that_ends),
	UT(messages_of_a_process_that_ends))
