/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching by arrival: the same receive and the same message as two lists that are searched in
 * order, and steps that do not grow with them. Steps along chains and lists are counted
 * (nic_fw/base/walk.h); nothing is timed. See nic_fw/coll/goal_wild.c, docs/security.md "Stalls".
 */
#include "tests/bench/host.h"

enum {
	MANY = 20000,
	SELVES = 4000,
	FEW_STEPS = 24, /* a lookup of each shape in chains of chance */
	RANDOM_OPS = 60000,
	RANDOM_MAX = 200,
	RANKS = 4,
	INSTANCE = 7,
	CHOSEN = 500,
};

static struct fw_ut ut;
static struct goal_comm *comm;
static struct goal_schedule schedule;
static struct goal_insn insns[MANY + 1];
static uint32_t locals[MANY + 1], finished[2 * (MANY + 1)];
static struct goal_run *run;

static void begin(bool wildcards)
{
	fw_ut_begin(&ut);
	comm = host_comm(ut.nic, RANKS, INSTANCE + 1);
	memset(&schedule, 0, sizeof(schedule));
	memset(insns, 0, sizeof(insns));
	schedule.ops = insns;
	schedule.wildcards = wildcards;
	schedule.header.num_ops = MANY + 1;
	run = host_run(ut.nic, comm, &schedule, INSTANCE);
	run->locals = locals;
	run->finished = finished;
	if (wildcards)
		while (!goal_wild_index(ut.nic, comm))
			;
}

static void end(void)
{
	uint32_t shape;

	while (!fw_list_empty(&comm->unexps))
		goal_unexp_free(ut.nic,
				FW_CONTAINER(comm->unexps.next, struct goal_unexp, comm_node));
	while (!fw_list_empty(&run->recvs))
		goal_recv_free(ut.nic, FW_CONTAINER(run->recvs.next, struct goal_recv, run_node));
	for (shape = 0; shape < GOAL_WILD_SHAPES; shape++)
		CU_ASSERT_EQUAL(run->wild_recvs[shape], 0);
	host_run_end(ut.nic, run);
	fw_ut_end(&ut);
}

static struct goal_key4 key_of(uint32_t rank, uint32_t tag, uint32_t count)
{
	return (struct goal_key4){INSTANCE, rank, tag, count, false};
}

/* Starts the receive of operation op, for which no message waits. */
static struct goal_recv *receive(uint32_t op, uint32_t rank, uint32_t tag)
{
	struct goal_recv *recv;

	insns[op].kind = GOAL_INSN_RECV;
	insns[op].peer = rank;
	insns[op].tag = tag;
	recv = goal_recv_new(ut.nic, run, op);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	if (schedule.wildcards)
		goal_wild_await(ut.nic, recv);
	else
		goal_recv_hash(ut.nic, recv);
	return recv;
}

static struct goal_unexp *message(uint32_t rank, uint32_t tag, uint32_t count)
{
	struct goal_key4 key = key_of(rank, tag, count);
	struct goal_unexp *unexp = goal_unexp_new(ut.nic, comm, &key, 8, false);

	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	return unexp;
}

/* Very many receives of one tag each, and messages that only the last of them take. */
static void an_arrival_walks_no_receives(void)
{
	struct goal_key4 key;
	struct goal_recv *recv;
	uint32_t i;

	begin(true);
	for (i = 0; i < MANY; i++)
		receive(i, i % 2 ? GOAL_RANK_ANY : 1, 1000 + i);
	for (i = MANY; i-- > MANY - 100;) {
		key = key_of(1, 1000 + i, i);
		fw_walk_steps = 0;
		recv = goal_match_arrival(ut.nic, comm, &key);
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
		CU_ASSERT_EQUAL(recv->op, i);
		goal_recv_matched(ut.nic, recv, NULL, 8);
	}
	key = key_of(1, 1, 0);
	fw_walk_steps = 0;
	CU_ASSERT_PTR_NULL(goal_match_arrival(ut.nic, comm, &key));
	CU_ASSERT(fw_walk_steps <= FEW_STEPS);
	end();
}

/* Very many receives of one key: the first takes the message. */
static void equal_receives_stand_in_one_place(void)
{
	struct goal_key4 key = key_of(1, 5, 0);
	struct goal_recv *recv;
	uint32_t i;

	begin(true);
	for (i = 0; i < MANY; i++)
		receive(i, GOAL_RANK_ANY, 4 + i % 2);
	for (i = 1; i < 200; i += 2, key.count++) {
		fw_walk_steps = 0;
		recv = goal_match_arrival(ut.nic, comm, &key);
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_EQUAL(recv->op, i);
		goal_recv_matched(ut.nic, recv, NULL, 8);
		goal_recv_free(ut.nic, recv);
	}
	end();
}

/* Very many messages without a receive, of this run and of one to come. */
static void a_receive_walks_no_messages(void)
{
	struct goal_unexp *unexp;
	struct goal_key4 key;
	uint32_t i;

	begin(true);
	for (i = 0; i < MANY; i++)
		(void)message(1, 1000 + i, 0);
	for (i = MANY; i-- > MANY - 100;) {
		key = key_of(i % 2 ? GOAL_RANK_ANY : 1, 1000 + i, 0);
		fw_walk_steps = 0;
		unexp = goal_match_recv(ut.nic, comm, &schedule, &key);
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
		CU_ASSERT_EQUAL(unexp->key.tag, 1000 + i);
	}
	key = key_of(GOAL_RANK_ANY, GOAL_TAG_ANY, 0);
	unexp = goal_match_recv(ut.nic, comm, &schedule, &key);
	CU_ASSERT_EQUAL(unexp->key.tag, 1000);
	key.rank = 2;
	fw_walk_steps = 0;
	CU_ASSERT_PTR_NULL(goal_match_recv(ut.nic, comm, &schedule, &key));
	CU_ASSERT(fw_walk_steps <= FEW_STEPS);
	end();
}

/* Receives of one tag of very many ranks, and messages of one rank and tag of many instances. */
static void ranks_and_instances_make_no_long_chain(void)
{
	struct goal_unexp *unexp;
	struct goal_recv *recv;
	struct goal_key4 key;
	uint32_t i;

	begin(true);
	for (i = 0; i < MANY; i++)
		receive(i, i, 5);
	for (i = 0; i < 100; i++) {
		key = key_of(i, 5, 0);
		fw_walk_steps = 0;
		recv = goal_match_arrival(ut.nic, comm, &key);
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
		CU_ASSERT_EQUAL(recv->op, i);
	}
	for (i = 0; i < MANY; i++) {
		key = (struct goal_key4){INSTANCE + 1 + i, 1, 6, 0, false};
		CU_ASSERT_PTR_NOT_NULL_FATAL(goal_unexp_new(ut.nic, comm, &key, 8, false));
	}
	for (i = 0; i < 100; i++) {
		key = (struct goal_key4){INSTANCE + 1 + i, 1, 6, 0, false};
		fw_walk_steps = 0;
		unexp = goal_match_recv(ut.nic, comm, &schedule, &key);
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
		CU_ASSERT_EQUAL(unexp->key.instance, INSTANCE + 1 + i);
	}
	end();
}

/* A receive that has its message is counted no more, however often it is forgotten. */
static void a_matched_receive_is_forgotten_once(void)
{
	struct goal_recv *recv, *other;
	struct goal_key4 key;

	begin(true);
	recv = receive(0, GOAL_RANK_ANY, 5);
	other = receive(1, GOAL_RANK_ANY, 6);
	CU_ASSERT_EQUAL(run->wild_recvs[1], 2);
	key = key_of(3, 5, 0);
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
	goal_recv_matched(ut.nic, recv, NULL, 8);
	goal_wild_forget(recv);
	CU_ASSERT_EQUAL(run->wild_recvs[1], 1);
	goal_recv_free(ut.nic, recv);
	CU_ASSERT_EQUAL(run->wild_recvs[1], 1);
	key = key_of(3, 6, 0);
	CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), other);
	end();
}

static bool is_filled(const struct goal_unexp *unexp)
{
	uint32_t i;

	for (i = 0; i < sizeof(unexp->small) && unexp->small[i] == 0xa5; i++)
		;
	return i == sizeof(unexp->small);
}

/* A message enters the index once: when it comes, or when the index is made. Its data stay. */
static void a_message_is_indexed_once(void)
{
	struct goal_key4 any = key_of(GOAL_RANK_ANY, GOAL_TAG_ANY, 0), multicast = key_of(1, 5, 0);
	struct goal_unexp *unexp[2];
	uint32_t i, round;

	begin(false);
	for (round = 0; round < 3; round++) {
		unexp[0] = message(1, 5, round);
		unexp[1] = message(1, 5, 10 + round);
		CU_ASSERT_EQUAL(unexp[0]->indexed, round > 0);
		for (i = 0; i < 2; i++)
			memset(unexp[i]->small, 0xa5, sizeof(unexp[i]->small));
		schedule.wildcards = true;
		while (!goal_wild_index(ut.nic, comm))
			;
		for (i = 0; i < 2; i++) {
			CU_ASSERT_TRUE(unexp[i]->indexed && is_filled(unexp[i]));
			CU_ASSERT_PTR_EQUAL(goal_match_recv(ut.nic, comm, &schedule, &any),
					    unexp[i]);
			goal_unexp_free(ut.nic, unexp[i]);
		}
		CU_ASSERT_PTR_NULL(goal_match_recv(ut.nic, comm, &schedule, &any));
	}
	multicast.group = true;
	CU_ASSERT_FALSE(goal_unexp_new(ut.nic, comm, &multicast, 8, false)->indexed);
	CU_ASSERT_PTR_NULL(goal_match_recv(ut.nic, comm, &schedule, &any));
	CU_ASSERT_PTR_NOT_NULL(goal_match_recv(ut.nic, comm, &schedule, &multicast));
	end();
}

/* Messages that came before the first schedule with wildcards are indexed in turns. */
static void earlier_messages_are_indexed_in_turns(void)
{
	struct goal_key4 key = key_of(GOAL_RANK_ANY, 1000 + MANY / 2, 0);
	struct goal_unexp *unexp;
	uint32_t i, turns = 0;

	begin(false);
	for (i = 0; i < MANY; i++)
		(void)message(1, 1000 + i, 0);
	schedule.wildcards = true;
	while (!goal_wild_index(ut.nic, comm)) {
		/* Some are freed at the place where the index stands, and some arrive. */
		if (turns == 3)
			goal_unexp_free(
			    ut.nic, FW_CONTAINER(comm->wild_built, struct goal_unexp, comm_node));
		if (turns == 5)
			CU_ASSERT_FALSE(message(2, 999, 0)->indexed);
		CU_ASSERT(++turns < MANY);
	}
	CU_ASSERT(turns > 10);
	unexp = goal_match_recv(ut.nic, comm, &schedule, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	CU_ASSERT_EQUAL(unexp->key.tag, key.tag);
	key.tag = 999;
	unexp = goal_match_recv(ut.nic, comm, &schedule, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	CU_ASSERT_EQUAL(unexp->key.rank, 2);
	end();
}

/* Messages of the rank to itself that wait for their receives. */
static void messages_to_oneself(bool wildcards)
{
	struct goal_send *send;
	struct goal_recv *recv;
	struct goal_key4 key;
	uint32_t i;

	begin(wildcards);
	for (i = 0; i < SELVES; i++) {
		key = key_of(0, 1000 + i, 0);
		insns[i].amount = 1;
		CU_ASSERT_EQUAL(goal_msg_self(ut.nic, run, i, &key), HW_GOAL_OK);
		send = FW_CONTAINER(run->self_sends.prev, struct goal_send, self_node);
		CU_ASSERT_EQUAL_FATAL(send->op, i);
		/* There is no memory to copy. */
		send->bytes = 0;
	}
	for (i = SELVES; i-- > SELVES - 100;) {
		recv = receive(i, 0, 1000 + i);
		fw_walk_steps = 0;
		CU_ASSERT_TRUE(goal_self_recv(ut.nic, recv));
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
		CU_ASSERT_EQUAL(recv->self->key.tag, 1000 + i);
	}
	if (wildcards) {
		recv = receive(MANY, GOAL_RANK_ANY, GOAL_TAG_ANY);
		CU_ASSERT_TRUE(goal_self_recv(ut.nic, recv));
		CU_ASSERT_EQUAL(recv->self->key.tag, 1000);
	}
	/* Each copy ends in one step, however many receives wait; they wait in their order. */
	for (i = SELVES; i-- > SELVES - 100;) {
		fw_walk_steps = 0;
		CU_ASSERT_TRUE(goal_self_step(ut.nic, run, i));
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
	}
	end();
}

static void waiting_for_oneself(void)
{
	messages_to_oneself(false);
	messages_to_oneself(true);
}

/* Tags that fw_hash() puts into one chain without a secret. */
static void chosen_tags_make_no_long_chain(void)
{
	uint32_t tag, found = 0, chain = 0;
	struct goal_key4 key;

	begin(false);
	for (tag = 0; found < CHOSEN; tag++) {
		uint32_t at = fw_hash(INSTANCE << 10, 1, tag) % GOAL_HASH_SIZE;

		if (!tag)
			chain = at;
		if (at != chain)
			continue;
		receive(found++, 1, tag);
		key = key_of(1, tag, 0);
		fw_walk_steps = 0;
		CU_ASSERT_PTR_NOT_NULL(goal_recv_find(ut.nic, comm, &key));
		CU_ASSERT(fw_walk_steps <= FEW_STEPS);
	}
	/* The first one stands behind all others of its chain. */
	key = key_of(1, 0, 0);
	fw_walk_steps = 0;
	CU_ASSERT_PTR_NOT_NULL(goal_recv_find(ut.nic, comm, &key));
	CU_ASSERT(fw_walk_steps <= FEW_STEPS);
	end();
}

/* ---- beside lists that are searched in order */

static struct {
	uint32_t rank, tag, id;
} recvs[RANDOM_MAX], msgs[RANDOM_MAX];
static struct goal_recv *posted[RANDOM_MAX];
static uint32_t num_recvs, num_msgs;

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static bool fits(uint32_t m, uint32_t rank, uint32_t tag)
{
	return (rank == GOAL_RANK_ANY || rank == msgs[m].rank) &&
	       (tag == GOAL_TAG_ANY || tag == msgs[m].tag);
}

static void drop_recv(uint32_t i)
{
	goal_recv_free(ut.nic, posted[i]);
	num_recvs--;
	memmove(&recvs[i], &recvs[i + 1], (num_recvs - i) * sizeof(recvs[0]));
	memmove(&posted[i], &posted[i + 1], (num_recvs - i) * sizeof(posted[0]));
}

static void drop_msg(uint32_t i)
{
	num_msgs--;
	memmove(&msgs[i], &msgs[i + 1], (num_msgs - i) * sizeof(msgs[0]));
}

static void random_receive(uint64_t *state, uint32_t id)
{
	uint32_t rank = draw(state, 3) ? draw(state, RANKS) : GOAL_RANK_ANY, op = id % MANY, i;
	uint32_t tag = draw(state, 3) ? draw(state, 5) : GOAL_TAG_ANY;
	struct goal_key4 key = key_of(rank, tag, id);
	struct goal_unexp *unexp = goal_match_recv(ut.nic, comm, &schedule, &key);

	for (i = 0; i < num_msgs && !fits(i, rank, tag); i++)
		;
	CU_ASSERT_EQUAL(unexp != NULL, i < num_msgs);
	if (unexp) {
		CU_ASSERT_EQUAL(unexp->key.count, msgs[i].id);
		goal_unexp_free(ut.nic, unexp);
		drop_msg(i);
	} else if (num_recvs < RANDOM_MAX) {
		posted[num_recvs] = receive(op, rank, tag);
		recvs[num_recvs].rank = rank;
		recvs[num_recvs].tag = tag;
		recvs[num_recvs++].id = op;
	}
}

static void random_message(uint64_t *state, uint32_t id)
{
	struct goal_key4 key = key_of(draw(state, RANKS), draw(state, 5), id);
	struct goal_recv *recv = goal_match_arrival(ut.nic, comm, &key);
	uint32_t i;

	for (i = 0; i < num_recvs; i++)
		if ((recvs[i].rank == GOAL_RANK_ANY || recvs[i].rank == key.rank) &&
		    (recvs[i].tag == GOAL_TAG_ANY || recvs[i].tag == key.tag))
			break;
	CU_ASSERT_EQUAL(recv != NULL, i < num_recvs);
	if (recv) {
		CU_ASSERT_PTR_EQUAL(recv, posted[i]);
		/* Its other pieces find it by its key. */
		CU_ASSERT_PTR_EQUAL(goal_match_arrival(ut.nic, comm, &key), recv);
		goal_recv_matched(ut.nic, recv, NULL, 8);
		drop_recv(i);
	} else if (num_msgs < RANDOM_MAX) {
		(void)message(key.rank, key.tag, id);
		msgs[num_msgs].rank = key.rank;
		msgs[num_msgs].tag = key.tag;
		msgs[num_msgs++].id = id;
	}
}

static void as_lists_in_order(void)
{
	uint64_t state = 1;
	uint32_t i;

	begin(true);
	num_recvs = num_msgs = 0;
	for (i = 0; i < RANDOM_OPS; i++) {
		uint32_t lean = i / 4000 % 3; /* many receives, many messages, both few */

		if (draw(&state, 10) < 4 + lean)
			random_message(&state, i);
		else
			random_receive(&state, i);
		if (num_recvs && !draw(&state, 50))
			drop_recv(draw(&state, num_recvs));
	}
	end();
}

UT_MAIN("nic_fw/coll/goal_wild", UT(an_arrival_walks_no_receives),
	UT(equal_receives_stand_in_one_place), UT(a_receive_walks_no_messages),
	UT(ranks_and_instances_make_no_long_chain), UT(a_matched_receive_is_forgotten_once),
	UT(a_message_is_indexed_once), UT(earlier_messages_are_indexed_in_turns),
	UT(waiting_for_oneself), UT(chosen_tags_make_no_long_chain), UT(as_lists_in_order))
