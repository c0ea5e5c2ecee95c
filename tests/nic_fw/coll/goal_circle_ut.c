/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries about full pools: answers that make a circle, and answers that do not.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	RANKS = 3,
	INSTANCE = 7,
	PEER = 1,
	THIRD = 2,
	OUTSIDE = 5, /* no rank of the communicator */
	SENT = 64,
};

static struct {
	struct fw_nic *nic;
	struct goal_comm *comm;
	struct mgrp_note own; /* of rank 0 */
	struct mgrp_note said[GOAL_CIRCLE_RANKS];
	uint32_t num_sent, num_breaks, victim;
	struct mgrp_note sent[SENT];
} w;

bool goal_stall_is_still(struct fw_nic *nic, struct goal_comm *comm, struct mgrp_note *note)
{
	(void)nic;
	note->changes = (uint32_t)comm->stall.changes;
	note->ranks = w.own.ranks;
	note->held = w.own.held;
	note->stops = w.own.stops;
	return !w.own.moves;
}

void goal_stall_break(struct fw_nic *nic, struct goal_comm *comm)
{
	(void)nic;
	w.num_breaks++;
	w.victim = comm->stall.victim;
}

bool mgrp_note_send(struct fw_nic *nic, const struct goal_comm *comm, const struct mgrp_note *note)
{
	(void)nic;
	(void)comm;
	CU_ASSERT_FATAL(w.num_sent < SENT);
	w.sent[w.num_sent++] = *note;
	return true;
}

static uint64_t bit(uint32_t rank)
{
	return UINT64_C(1) << rank;
}

/* 1 finds no room at 0 and waits for 2, which waits for 1; 0 waits for 1. */
static void begin(void)
{
	memset(&w, 0, sizeof(w));
	w.nic = calloc(1, sizeof(*w.nic));
	w.comm = calloc(1, sizeof(*w.comm));
	CU_ASSERT_FATAL(w.nic && w.comm);
	w.nic->now_ns = 1000000;
	w.comm->num_ranks = RANKS;
	w.comm->next_instance = INSTANCE + 1;
	w.comm->stall.victim = INSTANCE;
	w.own.ranks = bit(PEER);
	w.own.stops = bit(PEER);
	w.said[PEER].ranks = bit(THIRD);
	w.said[PEER].held = bit(0);
	w.said[PEER].changes = 100;
	w.said[THIRD].ranks = bit(PEER);
	w.said[THIRD].changes = 200;
}

static void end(void)
{
	free(w.nic);
	free(w.comm);
}

/* Counts the ASKs to the rank up to now; question: that of the last one. */
static uint32_t asks(uint32_t rank, uint32_t *question)
{
	uint32_t i, n = 0;

	for (i = 0; i < w.num_sent; i++) {
		if (w.sent[i].type != WIRE_MGRP_ASK || w.sent[i].rank != rank)
			continue;
		CU_ASSERT_EQUAL(w.sent[i].instance, INSTANCE);
		n++;
		if (question)
			*question = w.sent[i].question;
	}
	return n;
}

static void tell_of(uint32_t rank, uint32_t question)
{
	struct mgrp_note note = w.said[rank];

	note.type = WIRE_MGRP_TELL;
	note.rank = rank;
	note.question = question;
	goal_circle_rx(w.nic, w.comm, &note);
}

/* The rank answers the last query that it received. */
static void tell(uint32_t rank)
{
	uint32_t question = 0;

	CU_ASSERT_FATAL(asks(rank, &question) > 0);
	tell_of(rank, question);
}

static void ask(void)
{
	goal_circle_ask(w.nic, w.comm);
}

/* Both answer. */
static void round_of_two(void)
{
	tell(PEER);
	tell(THIRD);
}

/* A query from the beginning with the present answers of all: returns whether it is a circle. */
static bool is_circle(void)
{
	uint32_t before = w.num_breaks;

	w.num_sent = 0;
	ask();
	round_of_two();
	if (asks(PEER, NULL) == 2)
		round_of_two();
	return w.num_breaks > before;
}

static void who_says_the_same_twice_is_in_a_circle(void)
{
	uint32_t first, second;

	begin();
	ask();
	CU_ASSERT_EQUAL(asks(PEER, &first), 1);
	CU_ASSERT_EQUAL(w.num_sent, 1);
	tell(PEER);
	CU_ASSERT_EQUAL(asks(THIRD, NULL), 1);
	tell(THIRD);
	/* One round is not enough: ranks may have moved each other meanwhile. */
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	CU_ASSERT_EQUAL_FATAL(asks(PEER, &second), 2);
	CU_ASSERT_EQUAL_FATAL(asks(THIRD, NULL), 2);
	CU_ASSERT_NOT_EQUAL(first, second);
	tell(THIRD);
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	w.comm->stall.victim = INSTANCE + 1;
	tell(PEER);
	CU_ASSERT_EQUAL(w.num_breaks, 1);
	CU_ASSERT_EQUAL(w.victim, INSTANCE);
	/* The query is over. */
	tell(PEER);
	tell(THIRD);
	CU_ASSERT_EQUAL(w.num_breaks, 1);
	CU_ASSERT_EQUAL(w.nic->counters.mgrp_statuses_stale, 2);
	CU_ASSERT_TRUE(is_circle());
	end();
}

static void who_changes_between_the_rounds_is_not(void)
{
	uint32_t rank;

	begin();
	for (rank = PEER; rank <= THIRD; rank++) {
		w.num_sent = 0;
		ask();
		round_of_two();
		CU_ASSERT_EQUAL_FATAL(asks(rank, NULL), 2);
		w.said[rank].changes++;
		round_of_two();
		CU_ASSERT_EQUAL(w.num_breaks, 0);
	}
	CU_ASSERT_TRUE(is_circle());
	end();
}

static void who_asks_and_changes_is_not(void)
{
	uint32_t when;

	begin();
	for (when = 1; when <= 2; when++) {
		w.num_sent = 0;
		ask();
		if (when == 2) {
			round_of_two();
			CU_ASSERT_EQUAL_FATAL(asks(PEER, NULL), 2);
		}
		w.comm->stall.changes++;
		round_of_two();
		/* Already decided in the first round: the second is not worth its frames. */
		CU_ASSERT_EQUAL(asks(PEER, NULL), when);
		CU_ASSERT_EQUAL(w.num_breaks, 0);
	}
	CU_ASSERT_TRUE(is_circle());
	end();
}

static void who_can_move_is_not(void)
{
	uint32_t rank, when;

	begin();
	for (rank = PEER; rank <= THIRD; rank++) {
		for (when = 1; when <= 2; when++) {
			w.num_sent = 0;
			ask();
			if (when == 2)
				round_of_two();
			else if (rank == THIRD)
				tell(PEER);
			CU_ASSERT_EQUAL_FATAL(asks(rank, NULL), when);
			w.said[rank].moves = true;
			tell(rank);
			w.said[rank].moves = false;
			/* That ends the query, whatever the same rank or others answer later. */
			tell(rank);
			tell(PEER);
			if (asks(THIRD, NULL))
				tell(THIRD);
			CU_ASSERT_EQUAL(asks(PEER, NULL), when);
			CU_ASSERT_EQUAL(w.num_breaks, 0);
		}
	}
	CU_ASSERT_TRUE(is_circle());
	end();
}

static void who_asks_and_can_move_is_not(void)
{
	begin();
	w.own.moves = true;
	ask();
	CU_ASSERT_EQUAL(w.num_sent, 0);
	w.own.moves = false;
	ask();
	round_of_two();
	tell(PEER);
	w.own.moves = true;
	tell(THIRD);
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	w.own.moves = false;
	CU_ASSERT_TRUE(is_circle());
	end();
}

/* Rank 2 was not asked, and may help. */
static void who_waits_for_another_one_meanwhile_is_not(void)
{
	begin();
	w.said[PEER].ranks = bit(0);
	ask();
	tell(PEER);
	CU_ASSERT_EQUAL_FATAL(asks(PEER, NULL), 2);
	w.own.ranks = bit(PEER) | bit(THIRD);
	tell(PEER);
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	w.own.ranks = bit(PEER);
	ask();
	tell(PEER);
	CU_ASSERT_EQUAL_FATAL(asks(PEER, NULL), 4);
	w.said[PEER].ranks = bit(0) | bit(THIRD);
	tell(PEER);
	CU_ASSERT_EQUAL(asks(THIRD, NULL), 0);
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	/* A rank that waits only for the asking one is in a circle with it. */
	w.said[PEER].ranks = bit(0);
	ask();
	tell(PEER);
	tell(PEER);
	CU_ASSERT_EQUAL(w.num_breaks, 1);
	end();
}

/* A message finds no room, and the other end does not know: the report of new room is under way. */
static void a_message_that_nobody_stops_may_go(void)
{
	begin();
	w.own.stops = 0;
	CU_ASSERT_FALSE(is_circle());
	w.own.stops = bit(THIRD);
	CU_ASSERT_FALSE(is_circle());
	w.own.stops = bit(PEER);
	CU_ASSERT_TRUE(is_circle());
	w.said[PEER].held = bit(0) | bit(THIRD);
	CU_ASSERT_FALSE(is_circle());
	w.said[THIRD].stops = bit(0);
	CU_ASSERT_FALSE(is_circle());
	w.said[THIRD].stops = bit(PEER);
	CU_ASSERT_TRUE(is_circle());
	w.own.held = bit(THIRD);
	CU_ASSERT_FALSE(is_circle());
	w.said[THIRD].stops |= bit(0);
	CU_ASSERT_TRUE(is_circle());
	/* No rank was asked. */
	w.said[PEER].held = bit(OUTSIDE);
	CU_ASSERT_FALSE(is_circle());
	end();
}

/* The answers of the second round count, not those of the first. */
static void room_that_came_between_the_rounds(void)
{
	begin();
	w.said[PEER].held = bit(THIRD);
	w.said[THIRD].stops = bit(PEER);
	ask();
	round_of_two();
	w.said[THIRD].stops = 0;
	round_of_two();
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	end();
}

static void answers_that_nobody_asked_for(void)
{
	uint32_t question, stale = 0;

	begin();
	/* No query at all. */
	tell_of(PEER, w.comm->circle.question);
	CU_ASSERT_EQUAL(w.nic->counters.mgrp_statuses_stale, ++stale);
	ask();
	CU_ASSERT_EQUAL(asks(PEER, &question), 1);
	/* Stale answers: to another query, from a rank that was not asked, from the asking rank. */
	tell_of(PEER, question - 1);
	tell_of(PEER, question + 1);
	tell_of(THIRD, question);
	tell_of(0, question);
	stale += 4;
	CU_ASSERT_EQUAL(w.nic->counters.mgrp_statuses_stale, stale);
	CU_ASSERT_EQUAL(w.num_sent, 1);
	/* Twice, with a different answer the second time. */
	tell(PEER);
	w.said[PEER].changes++;
	w.said[PEER].moves = true;
	tell(PEER);
	CU_ASSERT_EQUAL(w.nic->counters.mgrp_statuses_stale, ++stale);
	CU_ASSERT_EQUAL(asks(PEER, NULL), 1);
	w.said[PEER].changes--;
	w.said[PEER].moves = false;
	tell(THIRD);
	CU_ASSERT_EQUAL_FATAL(asks(PEER, NULL), 2);
	/* Answers of the first round arrive again. */
	tell_of(PEER, question);
	tell_of(THIRD, question);
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	/* One rank answers twice, in place of two. */
	tell(PEER);
	tell(PEER);
	stale += 3;
	CU_ASSERT_EQUAL(w.num_breaks, 0);
	CU_ASSERT_EQUAL(w.nic->counters.mgrp_statuses_stale, stale);
	tell(THIRD);
	CU_ASSERT_EQUAL(w.num_breaks, 1);
	end();
}

static void ranks_that_there_are_not(void)
{
	begin();
	w.said[PEER].ranks |= bit(OUTSIDE) | bit(GOAL_CIRCLE_RANKS - 1);
	w.said[THIRD].ranks |= bit(RANKS);
	w.said[THIRD].stops = UINT64_MAX;
	CU_ASSERT_TRUE(is_circle());
	CU_ASSERT_EQUAL(asks(PEER, NULL) + asks(THIRD, NULL), w.num_sent);
	/* All ranks of the largest communicator. */
	w.comm->num_ranks = GOAL_CIRCLE_RANKS;
	w.said[PEER].ranks = bit(0) | bit(GOAL_CIRCLE_RANKS - 1);
	w.num_sent = 0;
	ask();
	tell(PEER);
	CU_ASSERT_EQUAL(asks(GOAL_CIRCLE_RANKS - 1, NULL), 1);
	end();
}

/* Rank 0 is asked like others. */
static void a_rank_in_the_middle_asks(void)
{
	begin();
	w.comm->rank = PEER;
	w.own.ranks = bit(0) | bit(THIRD);
	ask();
	CU_ASSERT_EQUAL(asks(0, NULL), 1);
	CU_ASSERT_EQUAL(asks(THIRD, NULL), 1);
	CU_ASSERT_EQUAL(w.num_sent, 2);
	w.num_sent = 0;
	w.own.ranks = bit(THIRD);
	w.said[THIRD].ranks = bit(0);
	ask();
	CU_ASSERT_EQUAL(asks(0, NULL), 0);
	tell(THIRD);
	CU_ASSERT_EQUAL(asks(0, NULL), 1);
	end();
}

/* An answer to an earlier round is none to a later one. */
static void each_round_has_a_number_of_its_own(void)
{
	uint32_t number[3][2], i, k;

	begin();
	for (i = 0; i < 3; i++) {
		ask();
		(void)asks(PEER, &number[i][0]);
		round_of_two();
		(void)asks(PEER, &number[i][1]);
		CU_ASSERT_NOT_EQUAL(number[i][0], number[i][1]);
		for (k = 0; k < i; k++) {
			CU_ASSERT_NOT_EQUAL(number[i][0], number[k][0]);
			CU_ASSERT_NOT_EQUAL(number[i][0], number[k][1]);
			CU_ASSERT_NOT_EQUAL(number[i][1], number[k][0]);
			CU_ASSERT_NOT_EQUAL(number[i][1], number[k][1]);
		}
	}
	end();
}

static void question(uint32_t instance)
{
	struct mgrp_note note = {
	    .type = WIRE_MGRP_ASK, .rank = THIRD, .question = 99, .instance = instance};

	goal_circle_rx(w.nic, w.comm, &note);
}

static void check_told(uint32_t n, bool moves)
{
	const struct mgrp_note *note = &w.sent[n - 1];

	CU_ASSERT_EQUAL_FATAL(w.num_sent, n);
	CU_ASSERT_EQUAL(note->type, WIRE_MGRP_TELL);
	CU_ASSERT_EQUAL(note->rank, THIRD);
	CU_ASSERT_EQUAL(note->question, 99);
	CU_ASSERT_EQUAL(note->moves, moves);
}

static void what_a_rank_tells(void)
{
	begin();
	w.comm->stall.changes = 5;
	question(INSTANCE);
	check_told(1, false);
	CU_ASSERT_EQUAL(w.sent[0].changes, 5);
	CU_ASSERT_EQUAL(w.sent[0].ranks, bit(PEER));
	CU_ASSERT_EQUAL(w.sent[0].stops, bit(PEER));
	CU_ASSERT_EQUAL(w.sent[0].held, 0);
	w.own.moves = true;
	question(INSTANCE);
	check_told(2, true);
	w.own.moves = false;
	/* Its process may start the run. */
	question(INSTANCE + 1);
	check_told(3, true);
	/* Numbers wrap. */
	w.comm->next_instance = 1;
	question(UINT32_MAX);
	check_told(4, false);
	question(1);
	check_told(5, true);
	end();
}

static void who_asks_all_the_time_is_not_heard(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 2 * GOAL_CIRCLE_REPLIES; i++)
		question(INSTANCE);
	CU_ASSERT_EQUAL(w.num_sent, GOAL_CIRCLE_REPLIES);
	w.nic->now_ns += GOAL_CIRCLE_GAP_NS - 1;
	question(INSTANCE);
	CU_ASSERT_EQUAL(w.num_sent, GOAL_CIRCLE_REPLIES);
	w.nic->now_ns++;
	question(INSTANCE);
	CU_ASSERT_EQUAL(w.num_sent, GOAL_CIRCLE_REPLIES + 1);
	end();
}

static void who_takes_no_part(void)
{
	begin();
	w.comm->closing = true;
	question(INSTANCE);
	w.comm->closing = false;
	w.comm->num_ranks = GOAL_CIRCLE_RANKS + 1;
	question(INSTANCE);
	CU_ASSERT_EQUAL(w.num_sent, 0);
	end();
}

UT_MAIN("nic_fw/coll/goal_circle", UT(who_says_the_same_twice_is_in_a_circle),
	UT(who_changes_between_the_rounds_is_not), UT(who_asks_and_changes_is_not),
	UT(who_can_move_is_not), UT(who_asks_and_can_move_is_not),
	UT(who_waits_for_another_one_meanwhile_is_not), UT(a_message_that_nobody_stops_may_go),
	UT(room_that_came_between_the_rounds), UT(answers_that_nobody_asked_for),
	UT(ranks_that_there_are_not), UT(a_rank_in_the_middle_asks),
	UT(each_round_has_a_number_of_its_own), UT(what_a_rank_tells),
	UT(who_asks_all_the_time_is_not_heard), UT(who_takes_no_part))
