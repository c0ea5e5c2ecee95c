/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: which operations of a rank may still end on their own, when a look for a cycle comes,
 * and what is done about one. Reports to other ranks: goal_still_ut. See nic_fw/coll/goal_stall.c.
 */
#include "nic_fw/stream/esp_stream.h"
#include "tests/bench/host.h"

enum {
	RANKS = 4,
	SELF = 1,
	PEER = 0,
	OTHER = 2,
	INSTANCE = 7,
	OPS = 2,
	RUNS = 2,
	LAST = 1, /* the operation that nothing depends on */
	MANY = 3 * GOAL_STALL_ITEMS / 2,
};

static struct fw_ut ut;
static struct goal_comm *comm;
static struct goal_schedule schedule;
static struct goal_insn insns[OPS];
static struct goal_run *run;
static struct goal_link *link[RANKS];
static struct esp_stream stream[RANKS];
static struct hw_goal_peer peers[RANKS];
static uint32_t links[RANKS], spaces[RANKS], locals[OPS], finished[2 * OPS];
static struct mgrp_space *space;
static uint64_t no_peers[1];
static struct mgrp_note note;

static void begin_link(uint32_t rank)
{
	struct goal_link *l = goal_take(ut.nic, 0, GOAL_TABLE_LINKS);

	CU_ASSERT_PTR_NOT_NULL_FATAL(l);
	memset(l, 0, sizeof(*l));
	memset(&stream[rank], 0, sizeof(stream[rank]));
	l->rank = rank;
	l->stream = &stream[rank];
	fw_list_init(&l->sends);
	fw_list_init(&l->recvs);
	fw_list_init(&l->lost_node);
	fw_list_init(&l->lost_sends);
	fw_list_init(&l->lost_recvs);
	fw_list_init(&l->blocked_node);
	fw_list_init(&l->slow_node);
	fw_list_init(&stream[rank].queue);
	stream[rank].state = ESP_OPEN;
	stream[rank].snd_window = ESP_BURST;
	fw_list_add_tail(&comm->all_links, &l->node);
	links[rank] = fw_pool_index(&ut.nic->goal.links, l);
	link[rank] = l;
}

static void begin(void)
{
	struct fw_client *owner;
	uint32_t i;

	fw_ut_begin(&ut);
	owner = &ut.nic->host.clients[0];
	comm = host_comm(ut.nic, RANKS, INSTANCE + 1);
	comm->rank = SELF;
	comm->peers = peers;
	comm->links = links;
	comm->group.spaces = spaces;
	comm->eager_bytes = 100;
	memset(&schedule, 0, sizeof(schedule));
	memset(insns, 0, sizeof(insns));
	schedule.ops = insns;
	schedule.peers = no_peers;
	schedule.header.num_ops = OPS;
	/* Dropped runs count it down. */
	schedule.refs = 100;
	insns[0] = (struct goal_insn){.kind = GOAL_INSN_RECV, .peer = PEER, .num_edges = 1};
	insns[LAST] = (struct goal_insn){.kind = GOAL_INSN_RECV, .peer = PEER};
	for (i = 0; i < RANKS; i++) {
		links[i] = spaces[i] = FW_NONE;
		link[i] = NULL;
		if (i != SELF)
			begin_link(i);
	}
	run = host_run(ut.nic, comm, &schedule, INSTANCE);
	run->locals = locals;
	run->finished = finished;
	space = NULL;
	/* Records of runs, for those that fail. */
	owner->goal_active = goal_heap_alloc_zero(ut.nic, 0, RUNS * sizeof(uint32_t));
	owner->goal_endings = goal_heap_alloc_zero(ut.nic, 0, RUNS * sizeof(struct goal_ending));
	owner->goal_eq = HW_EQ_NONE;
	owner->goal_runs_offset = FW_UT_BAR_BYTES / 2;
	CU_ASSERT_FATAL(owner->goal_active && owner->goal_endings);
}

static void end(void)
{
	uint32_t i;

	fw_timer_cancel(&ut.nic->timers, &comm->stall.timer);
	fw_timer_cancel(&ut.nic->timers, &comm->any_timer);
	fw_timer_cancel(&ut.nic->timers, &comm->slow_timer);
	fw_timer_cancel(&ut.nic->timers, &comm->resume_timer);
	while (!fw_list_empty(&comm->unexps))
		goal_unexp_free(ut.nic,
				FW_CONTAINER(comm->unexps.next, struct goal_unexp, comm_node));
	while (!fw_list_empty(&comm->runs)) {
		struct goal_run *left = FW_CONTAINER(comm->runs.next, struct goal_run, comm_node);

		while (!fw_list_empty(&left->sends))
			goal_send_free(ut.nic,
				       FW_CONTAINER(left->sends.next, struct goal_send, run_node));
		host_run_end(ut.nic, left);
	}
	for (i = 0; i < RANKS; i++)
		if (link[i])
			goal_link_free(ut.nic, link[i]);
	if (space)
		goal_give(ut.nic, 0, GOAL_TABLE_SPACES, space);
	fw_ut_end(&ut);
}

static uint64_t bit(uint32_t rank)
{
	return UINT64_C(1) << rank;
}

static bool is_still(void)
{
	memset(&note, 0xff, sizeof(note));
	return goal_stall_is_still(ut.nic, comm, &note);
}

static void check_still(uint64_t ranks)
{
	CU_ASSERT_TRUE(is_still());
	CU_ASSERT_EQUAL(note.ranks, ranks);
}

static void stop(uint32_t rank, uint32_t instance)
{
	link[rank]->blocked_instance = instance;
	fw_list_add_tail(&comm->blocked, &link[rank]->blocked_node);
}

static struct goal_send *send_of(enum goal_send_kind kind, uint32_t op, struct goal_link *to)
{
	struct goal_key4 key = {.instance = INSTANCE, .rank = to ? to->rank : SELF};
	struct goal_send *send = goal_send_new(ut.nic, 0, to, kind, WIRE_GOAL_DATA, &key);

	CU_ASSERT_PTR_NOT_NULL_FATAL(send);
	goal_send_tie(run, op, send);
	return send;
}

static struct goal_recv *recv_of(uint32_t op)
{
	struct goal_recv *recv = goal_recv_new(ut.nic, run, op);

	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	return recv;
}

/* ---- operations that are under way */

static void a_send_that_nothing_waits_for_is_still(void)
{
	begin();
	(void)send_of(GOAL_SEND_WAITING, LAST, link[PEER]);
	(void)send_of(GOAL_SEND_EAGER, LAST, link[OTHER]);
	check_still(0);
	end();
}

static void a_send_ends_with_the_help_of_its_rank(void)
{
	struct goal_send *send;

	begin();
	send = send_of(GOAL_SEND_WAITING, 0, link[PEER]);
	check_still(bit(PEER));
	/* Its announcement stands behind the message that finds no room. */
	stop(PEER, INSTANCE);
	check_still(0);
	/* An acknowledgement does not. */
	send->kind = GOAL_SEND_EAGER;
	check_still(bit(PEER));
	/* A multicast proceeds on its own. */
	send->kind = GOAL_SEND_GROUP;
	fw_list_del(&send->link_node);
	send->link = NULL;
	CU_ASSERT_FALSE(is_still());
	end();
}

static void ranks_of_a_large_communicator_cannot_be_asked(void)
{
	begin();
	(void)send_of(GOAL_SEND_WAITING, 0, link[PEER]);
	comm->num_ranks = GOAL_CIRCLE_RANKS;
	check_still(bit(PEER));
	comm->num_ranks = GOAL_CIRCLE_RANKS + 1;
	CU_ASSERT_FALSE(is_still());
	end();
}

/* No pool: no room. */
static void a_message_to_oneself_waits_for_its_receive_or_for_room(void)
{
	struct goal_key4 key = {.instance = INSTANCE, .rank = SELF};
	struct goal_send *send;
	struct goal_unexp unexp;

	begin();
	insns[0].amount = comm->eager_bytes;
	CU_ASSERT_EQUAL(goal_msg_self(ut.nic, run, 0, &key), HW_GOAL_OK);
	CU_ASSERT_FATAL(!fw_list_empty(&run->self_sends));
	send = FW_CONTAINER(run->self_sends.next, struct goal_send, self_node);
	send->bytes = comm->eager_bytes + 1;
	comm->stall.self = true;
	CU_ASSERT_TRUE(is_still());
	/* One beyond the limit never looks for room. */
	CU_ASSERT_FALSE(comm->stall.self);
	send->bytes = comm->eager_bytes;
	send->awaited = true;
	CU_ASSERT_TRUE(is_still());
	CU_ASSERT_TRUE(comm->stall.self);
	CU_ASSERT_EQUAL(comm->stall.victim, INSTANCE);
	/* It is on its way into the pool. */
	send->unexp = &unexp;
	CU_ASSERT_FALSE(is_still());
	send->unexp = NULL;
	send->awaited = false;
	CU_ASSERT_TRUE(is_still());
	/* There is room for a short one: it ends. */
	send->bytes = 8;
	insns[0].amount = 0;
	CU_ASSERT_FALSE(is_still());
	CU_ASSERT_FALSE(fw_list_empty(&comm->unexps));
	CU_ASSERT_TRUE(fw_list_empty(&run->sends));
	end();
}

static void a_receive_ends_with_the_help_of_its_rank(void)
{
	struct goal_recv *recv;

	begin();
	recv = recv_of(LAST);
	goal_recv_await(ut.nic, recv, link[PEER]);
	check_still(0);
	recv = recv_of(0);
	goal_recv_await(ut.nic, recv, link[OTHER]);
	check_still(bit(OTHER));
	/* Its message stands behind the one that finds no room. */
	stop(OTHER, INSTANCE);
	check_still(0);
	end();
}

static void a_receive_from_any_rank_ends_with_the_help_of_each(void)
{
	struct goal_recv *recv;

	begin();
	recv = recv_of(0);
	goal_recv_await_any(ut.nic, recv);
	check_still(bit(0) | bit(2) | bit(3));
	stop(OTHER, INSTANCE);
	check_still(bit(0) | bit(3));
	comm->num_ranks = GOAL_CIRCLE_RANKS + 1;
	CU_ASSERT_FALSE(is_still());
	comm->num_ranks = RANKS;
	end();
}

static void a_receive_of_a_multicast_ends_unless_the_root_is_stopped(void)
{
	begin();
	insns[0].kind = GOAL_INSN_MCAST_RECV;
	(void)recv_of(0);
	/* Nothing of that root has come. */
	CU_ASSERT_FALSE(is_still());
	space = goal_take(ut.nic, 0, GOAL_TABLE_SPACES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(space);
	memset(space, 0, sizeof(*space));
	fw_list_init(&space->queue);
	fw_list_init(&space->blocked_node);
	spaces[PEER] = fw_pool_index(&ut.nic->mgrp.spaces, space);
	CU_ASSERT_FALSE(is_still());
	space->blocked_instance = INSTANCE;
	fw_list_add_tail(&comm->group.blocked, &space->blocked_node);
	check_still(0);
	/* It is for a run that will start here. */
	space->blocked_instance = INSTANCE + 1;
	CU_ASSERT_FALSE(is_still());
	fw_list_del(&space->blocked_node);
	end();
}

/* True if the rank is still beside a message of that run. */
static bool is_still_beside(uint32_t instance)
{
	struct goal_key4 key = {.instance = instance, .rank = PEER};
	struct goal_unexp *unexp = goal_unexp_new(ut.nic, comm, &key, 8, false);
	bool self = comm->stall.self, still;

	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	still = is_still();
	fw_list_del(&link[PEER]->blocked_node);
	goal_unexp_free(ut.nic, unexp);
	comm->stall.self = self;
	return still;
}

static void messages_that_a_run_to_come_will_take(void)
{
	begin();
	/* They matter where something waits for room. */
	CU_ASSERT_TRUE(is_still_beside(INSTANCE + 1));
	stop(PEER, INSTANCE);
	CU_ASSERT_FALSE(is_still_beside(INSTANCE + 1));
	stop(PEER, INSTANCE);
	CU_ASSERT_FALSE(is_still_beside(INSTANCE + 9));
	stop(PEER, INSTANCE);
	CU_ASSERT_TRUE(is_still_beside(INSTANCE));
	comm->stall.self = true;
	CU_ASSERT_FALSE(is_still_beside(INSTANCE + 1));
	end();
}

static void whatever_is_about_to_be_tried_again_moves(void)
{
	struct fw_list node, *lists[] = {&run->staging, &run->bulk, &run->calcs};
	uint32_t i;

	begin();
	lists[0] = &run->staging;
	lists[1] = &run->bulk;
	lists[2] = &run->calcs;
	fw_list_init(&node);
	for (i = 0; i < 3; i++) {
		fw_list_add_tail(lists[i], &node);
		CU_ASSERT_FALSE(is_still());
		fw_list_del(&node);
		check_still(0);
	}
	fw_list_add_tail(&comm->resuming, &node);
	CU_ASSERT_FALSE(is_still());
	fw_list_del(&node);
	fw_list_add_tail(&comm->group.resuming, &node);
	CU_ASSERT_FALSE(is_still());
	fw_list_del(&node);
	/* Its page comes, or its access fails. */
	fw_timer_set(&ut.nic->timers, &comm->slow_timer, ut.nic->now_ns + 1000);
	CU_ASSERT_FALSE(is_still());
	fw_timer_cancel(&ut.nic->timers, &comm->slow_timer);
	check_still(0);
	end();
}

/* ---- when a look comes */

static uint64_t look_in_ns(void)
{
	return fw_timer_is_set(&comm->stall.timer) ? comm->stall.timer.deadline_ns - ut.nic->now_ns
						   : 0;
}

static void fire(void)
{
	fw_timer_cancel(&ut.nic->timers, &comm->stall.timer);
	goal_stall_fire(ut.nic, &comm->stall.timer);
}

static void a_message_without_room_has_a_look_later(void)
{
	uint64_t changes;
	uint32_t i;

	begin();
	CU_ASSERT_EQUAL(look_in_ns(), 0);
	for (i = 0; i < 2; i++) {
		changes = comm->stall.changes;
		goal_stall_link(ut.nic, link[PEER], INSTANCE + i);
		CU_ASSERT(comm->stall.changes > changes);
		CU_ASSERT_EQUAL(link[PEER]->blocked_instance, INSTANCE + i);
		CU_ASSERT_PTR_EQUAL(comm->blocked.next, &link[PEER]->blocked_node);
		CU_ASSERT_PTR_EQUAL(comm->blocked.prev, &link[PEER]->blocked_node);
		/* The second does not delay it. */
		CU_ASSERT_EQUAL(look_in_ns(), GOAL_STALL_NS - i);
		ut.nic->now_ns++;
	}
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_full, 2);
	changes = comm->stall.changes;
	goal_comm_unblock(ut.nic, comm);
	CU_ASSERT(comm->stall.changes > changes);
	CU_ASSERT_EQUAL(look_in_ns(), 0);
	CU_ASSERT_TRUE(fw_list_empty(&comm->blocked));
	CU_ASSERT_FALSE(fw_list_linked(&link[PEER]->blocked_node));
	/* A message to the rank itself: nobody repeats it. */
	changes = comm->stall.changes;
	goal_stall_self(ut.nic, comm);
	CU_ASSERT(comm->stall.changes > changes);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_full, 3);
	CU_ASSERT_EQUAL(look_in_ns(), GOAL_STALL_NS);
	goal_comm_unblock(ut.nic, comm);
	CU_ASSERT_EQUAL(look_in_ns(), FW_SOON_NS);
	end();
}

static void looks_that_find_nothing_become_rare(void)
{
	uint64_t want = GOAL_STALL_NS;
	uint32_t i;

	begin();
	run->num_ready = 1;
	/* Nothing waits: no further look. */
	fire();
	CU_ASSERT_EQUAL(look_in_ns(), 0);
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	for (i = 0; i < 8; i++) {
		fire();
		want = 2 * want < GOAL_STALL_MAX_NS ? 2 * want : GOAL_STALL_MAX_NS;
		/* Each rank has its own delay. */
		CU_ASSERT_EQUAL(look_in_ns(), want + SELF * GOAL_CIRCLE_GAP_NS);
	}
	/* After something has moved they are frequent again. */
	goal_comm_unblock(ut.nic, comm);
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	CU_ASSERT_EQUAL(look_in_ns(), GOAL_STALL_NS);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 0);
	end();
}

/* Then messages found no room, of which one is for a run to come; now nothing waits. */
static void a_look_forgets_the_one_before(void)
{
	begin();
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	goal_stall_link(ut.nic, link[OTHER], INSTANCE + 1);
	fire();
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 0);
	goal_comm_unblock(ut.nic, comm);
	goal_stall_self(ut.nic, comm);
	fire();
	CU_ASSERT_FALSE(comm->stall.self);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 0);
	end();
}

static void a_multicast_without_room_has_a_look_later(void)
{
	uint64_t changes;

	begin();
	space = goal_take(ut.nic, 0, GOAL_TABLE_SPACES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(space);
	memset(space, 0, sizeof(*space));
	spaces[OTHER] = fw_pool_index(&ut.nic->mgrp.spaces, space);
	changes = comm->stall.changes;
	goal_stall_group(ut.nic, comm, OTHER, INSTANCE + 3);
	CU_ASSERT_EQUAL(space->blocked_instance, INSTANCE + 3);
	CU_ASSERT(comm->stall.changes > changes);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_full, 1);
	CU_ASSERT_EQUAL(look_in_ns(), GOAL_STALL_NS);
	end();
}

static void a_long_look_goes_in_steps(void)
{
	struct goal_key4 key = {.instance = INSTANCE, .rank = PEER};
	uint32_t i;

	begin();
	for (i = 0; i < MANY; i++) {
		key.tag = i;
		CU_ASSERT_PTR_NOT_NULL_FATAL(goal_unexp_new(ut.nic, comm, &key, 8, false));
	}
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	fire();
	CU_ASSERT_EQUAL(look_in_ns(), FW_SOON_NS);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 0);
	/* Another rank asks meanwhile: all is looked at for it, and then here. */
	CU_ASSERT_FALSE(is_still());
	fire();
	CU_ASSERT_EQUAL(look_in_ns(), FW_SOON_NS);
	/* It begins anew when something has moved. */
	goal_stall_moved(comm);
	fire();
	CU_ASSERT_EQUAL(look_in_ns(), FW_SOON_NS);
	fire();
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 1);
	/* A rank that is asked does not look further than a step. */
	end();
	begin();
	for (i = 0; i < MANY; i++) {
		key.tag = i;
		CU_ASSERT_PTR_NOT_NULL_FATAL(goal_unexp_new(ut.nic, comm, &key, 8, false));
	}
	CU_ASSERT_FALSE(is_still());
	end();
}

/* ---- a cycle */

static void the_oldest_run_whose_message_finds_no_room_fails(void)
{
	struct goal_run *older;

	begin();
	older = host_run(ut.nic, comm, &schedule, INSTANCE - 1);
	older->locals = locals;
	older->finished = finished;
	older->record = 1;
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	goal_stall_link(ut.nic, link[OTHER], INSTANCE - 1);
	fire();
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 1);
	CU_ASSERT_PTR_NULL(goal_run_find(ut.nic, comm, INSTANCE - 1));
	CU_ASSERT_PTR_EQUAL(goal_run_find(ut.nic, comm, INSTANCE), run);
	/* The streams are tried again. */
	CU_ASSERT_TRUE(fw_list_empty(&comm->blocked));
	end();
}

static void other_ranks_that_may_help_are_asked(void)
{
	uint32_t question;

	begin();
	question = comm->circle.question;
	goal_recv_await(ut.nic, recv_of(0), link[OTHER]);
	goal_stall_link(ut.nic, link[PEER], INSTANCE);
	fire();
	CU_ASSERT_EQUAL(comm->circle.question, question + 1);
	CU_ASSERT_EQUAL(comm->circle.queried, bit(OTHER));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 0);
	CU_ASSERT_EQUAL(look_in_ns(), 2 * GOAL_STALL_NS + SELF * GOAL_CIRCLE_GAP_NS);
	/* A run that can proceed needs no help. */
	run->num_ready = 1;
	fire();
	CU_ASSERT_EQUAL(comm->circle.question, question + 1);
	end();
}

static void room_for_a_large_multicast_comes_before_a_failure(void)
{
	static struct mgrp_space waiting;

	begin();
	memset(&waiting, 0, sizeof(waiting));
	comm->stall.victim = INSTANCE + 1;
	goal_stall_break(ut.nic, comm);
	/* That run is gone. */
	CU_ASSERT_FALSE(comm->stall.keep_large);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 0);
	comm->stall.victim = INSTANCE;
	fw_list_add_tail(&comm->group.blocked, &waiting.blocked_node);
	goal_stall_break(ut.nic, comm);
	CU_ASSERT_TRUE(comm->stall.keep_large);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 0);
	CU_ASSERT_TRUE(fw_list_empty(&comm->group.blocked));
	fw_list_del(&waiting.blocked_node);
	fw_list_add_tail(&comm->group.blocked, &waiting.blocked_node);
	goal_stall_break(ut.nic, comm);
	CU_ASSERT_FALSE(comm->stall.keep_large);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_pool_circles, 1);
	CU_ASSERT_PTR_NULL(goal_run_find(ut.nic, comm, INSTANCE));
	fw_list_del(&waiting.blocked_node);
	end();
}

UT_MAIN("nic_fw/coll/goal_stall", UT(a_send_that_nothing_waits_for_is_still),
	UT(a_send_ends_with_the_help_of_its_rank),
	UT(ranks_of_a_large_communicator_cannot_be_asked),
	UT(a_message_to_oneself_waits_for_its_receive_or_for_room),
	UT(a_receive_ends_with_the_help_of_its_rank),
	UT(a_receive_from_any_rank_ends_with_the_help_of_each),
	UT(a_receive_of_a_multicast_ends_unless_the_root_is_stopped),
	UT(messages_that_a_run_to_come_will_take), UT(whatever_is_about_to_be_tried_again_moves),
	UT(a_message_without_room_has_a_look_later), UT(looks_that_find_nothing_become_rare),
	UT(a_long_look_goes_in_steps), UT(a_look_forgets_the_one_before),
	UT(a_multicast_without_room_has_a_look_later),
	UT(the_oldest_run_whose_message_finds_no_room_fails),
	UT(other_ranks_that_may_help_are_asked),
	UT(room_for_a_large_multicast_comes_before_a_failure))
