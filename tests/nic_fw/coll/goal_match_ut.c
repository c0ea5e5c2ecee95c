/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages with receives: which of them are found by a key, the ranks that a receive
 * waits for, and the place of a message that came before its receive. Matching by arrival beside
 * lists: goal_wild_ut. See nic_fw/coll/goal_match.c.
 */
#include <stdlib.h>

#include "tests/bench/host.h"

enum {
	RANKS = 3,
	INSTANCE = 7,
	PEER = 1,
	OPS = 8,
	POOL_BYTES = 4 * BUDDY_MIN_BYTES,
	SMALL = sizeof(((struct goal_unexp *)NULL)->small),
	PARTS = 5, /* of a key */
};

static struct fw_ut ut;
static struct goal_comm *comm;
static struct goal_schedule schedule;
static struct goal_insn insns[OPS];
static struct goal_run *run;
static uint32_t locals[OPS];
static struct goal_link link;
static struct hw_goal_peer peers[RANKS];
static uint32_t links[RANKS];
static struct buddy_block blocks[POOL_BYTES / BUDDY_MIN_BYTES];

static void begin(void)
{
	uint32_t i;

	fw_ut_begin(&ut);
	comm = host_comm(ut.nic, RANKS, INSTANCE + 1);
	comm->peers = peers;
	comm->links = links;
	for (i = 0; i < RANKS; i++)
		links[i] = FW_NONE;
	comm->num_regions = 1;
	buddy_init(&comm->regions[0].buddy, blocks, POOL_BYTES);
	memset(&schedule, 0, sizeof(schedule));
	memset(insns, 0, sizeof(insns));
	schedule.ops = insns;
	schedule.header.num_ops = OPS;
	for (i = 0; i < OPS; i++)
		insns[i] = (struct goal_insn){.kind = GOAL_INSN_RECV, .peer = PEER, .tag = i};
	run = host_run(ut.nic, comm, &schedule, INSTANCE);
	run->locals = locals;
	memset(&link, 0, sizeof(link));
	fw_list_init(&link.recvs);
}

static void end(void)
{
	host_run_end(ut.nic, run);
	CU_ASSERT_EQUAL(link.awaiting, 0);
	CU_ASSERT_EQUAL(comm->any_recvs, 0);
	while (!fw_list_empty(&comm->unexps))
		goal_unexp_free(ut.nic,
				FW_CONTAINER(comm->unexps.next, struct goal_unexp, comm_node));
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.unexps.used, 0);
	fw_timer_cancel(&ut.nic->timers, &comm->any_timer);
	fw_ut_end(&ut);
}

static struct goal_key4 key_of(uint32_t tag)
{
	return (struct goal_key4){INSTANCE, PEER, tag, 0, false};
}

/* The key with another value in one part. */
static struct goal_key4 other(struct goal_key4 key, uint32_t part)
{
	key.instance += part == 0;
	key.rank += part == 1;
	key.tag += part == 2;
	key.count += part == 3;
	key.group = part == 4;
	return key;
}

/* One chain for all keys: what is found is decided by the comparison alone. */
static void one_chain(uint32_t *chains, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < GOAL_HASH_SIZE; i++)
		chains[i] = index + 1;
}

static struct goal_recv *receive(uint32_t op)
{
	struct goal_recv *recv = goal_recv_new(ut.nic, run, op);

	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	return recv;
}

static struct goal_unexp *message(uint32_t tag, uint64_t bytes, bool header)
{
	struct goal_key4 key = key_of(tag);
	struct goal_unexp *unexp = goal_unexp_new(ut.nic, comm, &key, bytes, header);

	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	return unexp;
}

static void each_part_of_a_key_counts(void)
{
	struct goal_key4 key = key_of(2), not ;
	struct goal_unexp *unexp;
	struct goal_recv *recv;
	uint32_t part;

	begin();
	recv = receive(2);
	unexp = message(2, 8, false);
	one_chain(ut.nic->goal.recv_hash, fw_pool_index(&ut.nic->goal.recvs, recv));
	one_chain(ut.nic->goal.unexp_hash, fw_pool_index(&ut.nic->goal.unexps, unexp));
	CU_ASSERT_PTR_EQUAL(goal_recv_find(ut.nic, comm, &key), recv);
	CU_ASSERT_PTR_EQUAL(goal_unexp_find(ut.nic, comm, &key), unexp);
	for (part = 0; part < PARTS; part++) {
		not = other(key, part);
		CU_ASSERT_PTR_NULL(goal_recv_find(ut.nic, comm, &not ));
		CU_ASSERT_PTR_NULL(goal_unexp_find(ut.nic, comm, &not ));
	}
	/* The same key in another communicator. */
	CU_ASSERT_PTR_NULL(goal_recv_find(ut.nic, comm + 1, &key));
	CU_ASSERT_PTR_NULL(goal_unexp_find(ut.nic, comm + 1, &key));
	memset(ut.nic->goal.recv_hash, 0, GOAL_HASH_SIZE * sizeof(uint32_t));
	end();
}

static void a_receive_is_found_until_it_is_freed(void)
{
	struct goal_key4 key = key_of(1);
	struct goal_recv *recv, *group;

	begin();
	insns[1].buf[0] = 5;
	recv = receive(1);
	CU_ASSERT_EQUAL(recv->op, 1);
	CU_ASSERT_EQUAL(recv->cursor.ref, 5);
	CU_ASSERT_PTR_NULL(goal_recv_find(ut.nic, comm, &key));
	goal_recv_hash(ut.nic, recv);
	CU_ASSERT_PTR_EQUAL(goal_recv_find(ut.nic, comm, &key), recv);
	/* A multicast of the same rank, tag and number. */
	insns[1].kind = GOAL_INSN_MCAST_RECV;
	group = receive(1);
	goal_recv_hash(ut.nic, group);
	CU_ASSERT_PTR_EQUAL(goal_recv_find(ut.nic, comm, &key), recv);
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_PTR_NULL(goal_recv_find(ut.nic, comm, &key));
	key.group = true;
	CU_ASSERT_PTR_EQUAL(goal_recv_find(ut.nic, comm, &key), group);
	end();
}

/* A sink of the one before must not reach the one after. */
static void a_used_place_has_another_generation(void)
{
	struct goal_recv *recv, *again;
	uint32_t was, i;

	begin();
	recv = receive(0);
	CU_ASSERT_EQUAL(recv->generation, 0);
	for (i = 0; i < 300; i++) {
		was = recv->generation;
		goal_recv_matched(ut.nic, recv, NULL, 8);
		recv->received = 8;
		goal_recv_free(ut.nic, recv);
		CU_ASSERT_PTR_NULL(recv->run);
		again = receive(0);
		CU_ASSERT_PTR_EQUAL_FATAL(again, recv);
		CU_ASSERT_EQUAL(again->generation, (uint8_t)(was + 1));
		CU_ASSERT_FALSE(again->matched);
		CU_ASSERT_EQUAL(again->received, 0);
	}
	end();
}

static void no_receive_without_a_place(void)
{
	uint32_t max;

	begin();
	max = ut.nic->goal.recvs.max;
	ut.nic->goal.recvs.max = 1;
	(void)receive(0);
	CU_ASSERT_PTR_NULL(goal_recv_new(ut.nic, run, 1));
	ut.nic->goal.recvs.max = max;
	(void)receive(1);
	end();
}

static void a_place_counts_for_its_process(void)
{
	uint32_t client;
	const uint32_t *held;
	struct goal_recv *recv;

	begin();
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	held = &ut.nic->host.clients[client].goal_held[GOAL_TABLE_RECVS];
	run->client = (uint16_t)client;
	recv = receive(0);
	CU_ASSERT_EQUAL(*held, 1);
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_EQUAL(*held, 0);
	run->client = 0;
	end();
}

static void a_receive_from_any_rank_waits_until_its_message_comes(void)
{
	struct goal_recv *recv[3];
	uint32_t i;

	begin();
	for (i = 0; i < 3; i++) {
		recv[i] = receive(i);
		goal_recv_await_any(ut.nic, recv[i]);
		CU_ASSERT_EQUAL(comm->any_recvs, i + 1);
		CU_ASSERT_EQUAL(run->any_recvs, i + 1);
		CU_ASSERT_TRUE(recv[i]->any);
	}
	CU_ASSERT_TRUE(fw_timer_is_set(&comm->any_timer));
	goal_recv_matched(ut.nic, recv[1], NULL, 8);
	CU_ASSERT_TRUE(recv[1]->matched);
	CU_ASSERT_EQUAL(recv[1]->bytes, 8);
	CU_ASSERT_EQUAL(comm->any_recvs, 2);
	CU_ASSERT_EQUAL(run->any_recvs, 2);
	CU_ASSERT_FALSE(recv[1]->any);
	/* It is counted once: when it ends, too. */
	goal_recv_free(ut.nic, recv[1]);
	CU_ASSERT_EQUAL(comm->any_recvs, 2);
	goal_recv_free(ut.nic, recv[0]);
	CU_ASSERT_EQUAL(comm->any_recvs, 1);
	CU_ASSERT_EQUAL(run->any_recvs, 1);
	end();
}

static void a_receive_waits_for_the_rank_of_its_message(void)
{
	struct goal_link another;
	struct goal_recv *recv;

	begin();
	memset(&another, 0, sizeof(another));
	fw_list_init(&another.recvs);
	/* From any rank; the rest of its message comes from that of the link. */
	recv = receive(0);
	goal_recv_await_any(ut.nic, recv);
	goal_recv_matched(ut.nic, recv, &link, 8);
	CU_ASSERT_PTR_EQUAL(recv->link, &link);
	CU_ASSERT_EQUAL(link.awaiting, 1);
	CU_ASSERT_PTR_EQUAL(link.recvs.next, &recv->link_node);
	CU_ASSERT_EQUAL(comm->any_recvs, 0);
	goal_recv_await_over(ut.nic, recv);
	CU_ASSERT_EQUAL(link.awaiting, 0);
	CU_ASSERT_PTR_NULL(recv->link);
	CU_ASSERT_TRUE(fw_list_empty(&link.recvs));
	goal_recv_await_over(ut.nic, recv);
	/* A receive that waits already is counted once, and not after its end. */
	recv = receive(1);
	goal_recv_await(ut.nic, recv, &link);
	goal_recv_matched(ut.nic, recv, &another, 8);
	CU_ASSERT_EQUAL(link.awaiting, 1);
	CU_ASSERT_EQUAL(another.awaiting, 0);
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_EQUAL(link.awaiting, 0);
	CU_ASSERT_TRUE(fw_list_empty(&link.recvs));
	/* The whole message is there. */
	recv = receive(2);
	goal_recv_matched(ut.nic, recv, NULL, 8);
	CU_ASSERT_PTR_NULL(recv->link);
	end();
}

static void an_arrival_finds_its_receive_by_its_key(void)
{
	struct goal_key4 key = key_of(3);
	struct goal_recv *recv;

	begin();
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	recv = receive(3);
	goal_recv_hash(ut.nic, recv);
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
	/* A run that is not active has no receives. */
	key.instance++;
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	end();
}

static void an_arrival_takes_a_receive_with_wildcards_once(void)
{
	struct goal_key4 key = key_of(3), later = other(key, 3), group = other(key, 4);
	struct goal_recv *recv, *behind;

	begin();
	insns[0].peer = GOAL_RANK_ANY;
	insns[0].tag = GOAL_TAG_ANY;
	recv = receive(0);
	goal_wild_await(ut.nic, recv);
	/* The schedule has none: nobody looks for them. */
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	schedule.wildcards = true;
	/* Nor for a multicast. */
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &group));
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
	CU_ASSERT_EQUAL(recv->key.rank, PEER);
	CU_ASSERT_EQUAL(recv->key.tag, 3);
	/* Its other pieces find it; the next message does not. */
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &later));
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	/* A receive of a single rank and tag is found as before. */
	recv = receive(3);
	goal_wild_await(ut.nic, recv);
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
	goal_recv_free(ut.nic, recv);
	/* Nor does a message find one that another, of this rank, was joined with. */
	recv = receive(0);
	goal_wild_await(ut.nic, recv);
	goal_recv_matched(ut.nic, recv, NULL, 8);
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	/* Nor one that has ended, but the one behind it. */
	recv = receive(0);
	goal_wild_await(ut.nic, recv);
	behind = receive(0);
	goal_wild_await(ut.nic, behind);
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), behind);
	end();
}

static void a_receive_finds_messages_by_key_or_by_arrival(void)
{
	struct goal_key4 key = key_of(2), any = {INSTANCE, GOAL_RANK_ANY, GOAL_TAG_ANY, 9, false};
	struct goal_key4 group = other(key, 4);
	struct goal_unexp *unexp, *second, *cast;

	begin();
	while (!goal_wild_index(ut.nic, comm))
		;
	unexp = message(2, 8, false);
	cast = goal_unexp_new(ut.nic, comm, &group, 8, false);
	CU_ASSERT_PTR_NULL(goal_match_recv(ut.nic, comm, &schedule, &any));
	CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &key), unexp);
	CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &group), cast);
	schedule.wildcards = true;
	CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &any), unexp);
	CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &group), cast);
	second = message(2, 8, false);
	goal_unexp_free(ut.nic, unexp);
	CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &any), second);
	goal_unexp_free(ut.nic, second);
	CU_ASSERT_PTR_NULL(goal_match_recv(ut.nic, comm, &schedule, &any));
	end();
}

static void short_messages_and_headers_need_no_pool(void)
{
	struct goal_key4 key = key_of(4);
	struct goal_unexp *unexp;
	uint32_t used;

	begin();
	unexp = message(0, SMALL, false);
	CU_ASSERT_EQUAL(unexp->region, FW_NONE);
	unexp = message(1, UINT32_MAX, true);
	CU_ASSERT_EQUAL(unexp->region, FW_NONE);
	CU_ASSERT_EQUAL(unexp->bytes, UINT32_MAX);
	CU_ASSERT_TRUE(unexp->header);
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, 0);
	unexp = message(2, SMALL + 1, false);
	CU_ASSERT_EQUAL(unexp->region, 0);
	CU_ASSERT_FALSE(unexp->header);
	unexp = message(3, BUDDY_MIN_BYTES, false);
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, 2 * BUDDY_MIN_BYTES);
	/* One without room leaves nothing behind. */
	used = ut.nic->goal.unexps.used;
	CU_ASSERT_PTR_NULL(goal_unexp_new(ut.nic, comm, &key, POOL_BYTES, false));
	CU_ASSERT_EQUAL(ut.nic->goal.unexps.used, used);
	CU_ASSERT_PTR_NULL(goal_unexp_find(ut.nic, comm, &key));
	goal_unexp_free(ut.nic, unexp);
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, BUDDY_MIN_BYTES);
	end();
}

static void a_message_in_a_used_place_begins_anew(void)
{
	struct goal_unexp *unexp, *again;
	struct goal_recv *recv;

	begin();
	unexp = message(0, SMALL + 1, false);
	unexp->keeping = true;
	unexp->received = 5;
	unexp->link = &link;
	recv = receive(0);
	goal_unexp_take(ut.nic, unexp, recv);
	goal_recv_free(ut.nic, recv);
	again = message(1, 8, false);
	CU_ASSERT_PTR_EQUAL_FATAL(again, unexp);
	CU_ASSERT_FALSE(again->keeping);
	CU_ASSERT_FALSE(again->taken);
	CU_ASSERT_EQUAL(again->received, 0);
	CU_ASSERT_PTR_NULL(again->link);
	end();
}

static void a_message_that_is_taken_is_its_receives_alone(void)
{
	struct goal_key4 key = key_of(0);
	struct goal_unexp *unexp;
	struct goal_recv *recv;
	uint64_t changes;

	begin();
	unexp = message(0, SMALL + 1, false);
	recv = receive(0);
	goal_take_begin(ut.nic, recv, unexp);
	CU_ASSERT_FALSE(fw_list_empty(&run->copies));
	CU_ASSERT_PTR_EQUAL(recv->source, unexp);
	CU_ASSERT_PTR_NULL(goal_unexp_find(ut.nic, comm, &key));
	CU_ASSERT_TRUE(fw_list_empty(&comm->unexps));
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, BUDDY_MIN_BYTES);
	/* It goes with the receive, and those who wait for room are told. */
	changes = comm->stall.changes;
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_TRUE(fw_list_empty(&run->copies));
	CU_ASSERT_EQUAL(comm->regions[0].buddy.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.unexps.used, 0);
	CU_ASSERT_NOT_EQUAL(comm->stall.changes, changes);
	end();
}

UT_MAIN("nic_fw/coll/goal_match", UT(each_part_of_a_key_counts),
	UT(a_receive_is_found_until_it_is_freed), UT(a_used_place_has_another_generation),
	UT(no_receive_without_a_place), UT(a_place_counts_for_its_process),
	UT(a_receive_from_any_rank_waits_until_its_message_comes),
	UT(a_receive_waits_for_the_rank_of_its_message),
	UT(an_arrival_finds_its_receive_by_its_key),
	UT(an_arrival_takes_a_receive_with_wildcards_once),
	UT(a_receive_finds_messages_by_key_or_by_arrival),
	UT(short_messages_and_headers_need_no_pool), UT(a_message_in_a_used_place_begins_anew),
	UT(a_message_that_is_taken_is_its_receives_alone))
