/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects cycles over several ranks. A rank whose pool is full queries the ranks that it waits for
 * whether they can proceed; each reply names the ranks that its sender waits for.
 *
 * Calls mgrp_tx.c. Questions bypass the streams, because the streams are stalled. Every rank gets
 * the question twice. Ranks that give the same answer twice stood still when the first round ended,
 * with nothing in flight between any two, and no other rank can release them. A lost frame only
 * means that the question is repeated later. The idea is the diffusing computation of Chandy, Misra
 * and Haas (1983) for the OR model. docs/collectives.md "Full pools", docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

static uint64_t bit_of(uint32_t rank)
{
	return UINT64_C(1) << rank;
}

static void goal_circle_give_up(struct goal_circle *circle)
{
	circle->round = 0;
}

/* Sends the question to these ranks. */
static void goal_circle_ask_ranks(struct fw_nic *nic, struct goal_comm *comm, uint64_t ranks)
{
	struct mgrp_note note = {
	    .type = WIRE_MGRP_ASK,
	    .question = comm->circle.question,
	    .instance = comm->circle.instance,
	};

	for (; ranks; ranks &= ranks - 1) {
		note.rank = (uint32_t)__builtin_ctzll(ranks);
		/* Without room in the port the note is lost. */
		(void)mgrp_note_send(nic, comm, &note);
	}
}

void goal_circle_ask(struct fw_nic *nic, struct goal_comm *comm)
{
	struct goal_circle *circle = &comm->circle;
	struct mgrp_note own;

	/* A rank with messages in flight is in no cycle. This rank is checked as well. */
	if (!goal_stall_is_still(nic, comm, &own))
		return;
	circle->round = 1;
	circle->question++;
	circle->instance = comm->stall.victim;
	circle->queried = own.ranks & ~bit_of(comm->rank);
	circle->answered = 0;
	circle->own_changes = comm->stall.changes;
	goal_circle_ask_ranks(nic, comm, circle->queried);
}

/*
 * True if this rank still stands still, and the messages that peers report as blocked are those
 * that wait here. Otherwise the notice that there is room again is in flight.
 */
static bool agree(struct fw_nic *nic, struct goal_comm *comm)
{
	struct goal_circle *circle = &comm->circle;
	uint64_t all = circle->queried | bit_of(comm->rank), ranks, held;
	struct mgrp_note own;

	if (!goal_stall_is_still(nic, comm, &own) || own.ranks & ~all)
		return false;
	circle->held[comm->rank] = own.held;
	circle->stops[comm->rank] = own.stops;
	for (ranks = all; ranks; ranks &= ranks - 1) {
		uint32_t rank = (uint32_t)__builtin_ctzll(ranks);

		if (circle->held[rank] & ~all)
			return false;
		for (held = circle->held[rank]; held; held &= held - 1)
			if (!(circle->stops[__builtin_ctzll(held)] & bit_of(rank)))
				return false;
	}
	return true;
}

/* All ranks of the round have answered: the second round follows, or it is a cycle. */
static void round_over(struct fw_nic *nic, struct goal_comm *comm)
{
	struct goal_circle *circle = &comm->circle;

	if (circle->own_changes != comm->stall.changes) {
		goal_circle_give_up(circle);
	} else if (circle->round == 1) {
		circle->round = 2;
		circle->question++;
		circle->answered = 0;
		goal_circle_ask_ranks(nic, comm, circle->queried);
	} else {
		goal_circle_give_up(circle);
		if (!agree(nic, comm))
			return;
		comm->stall.victim = circle->instance;
		goal_stall_break(nic, comm);
	}
}

static void goal_circle_answer_rx(struct fw_nic *nic, struct goal_comm *comm,
				  const struct mgrp_note *note)
{
	struct goal_circle *circle = &comm->circle;
	uint64_t from = bit_of(note->rank), more;

	if (!circle->round || note->question != circle->question || !(circle->queried & from) ||
	    circle->answered & from) {
		FW_COUNT(nic, mgrp_statuses_stale);
		return;
	}
	more = note->ranks & ~circle->queried & ~bit_of(comm->rank);
	if (comm->num_ranks < GOAL_CIRCLE_RANKS)
		more &= bit_of(comm->num_ranks) - 1;
	if (note->moves ||
	    (circle->round == 2 && (more || circle->changes[note->rank] != note->changes))) {
		goal_circle_give_up(circle);
		return;
	}
	circle->changes[note->rank] = note->changes;
	circle->held[note->rank] = note->held;
	circle->stops[note->rank] = note->stops;
	circle->answered |= from;
	circle->queried |= more;
	if (more)
		goal_circle_ask_ranks(nic, comm, more);
	else if (circle->answered == circle->queried)
		round_over(nic, comm);
}

/* Replies to a rank with a full pool that waits for this one, directly or not, in that run. */
static void goal_circle_reply(struct fw_nic *nic, struct goal_comm *comm,
			      const struct mgrp_note *question)
{
	struct goal_circle *circle = &comm->circle;
	struct mgrp_note note = *question;

	/* A look costs more than the question, so questions beyond a rate are dropped. */
	if (nic->now_ns - circle->replies_ns >= GOAL_CIRCLE_GAP_NS) {
		circle->replies_ns = nic->now_ns;
		circle->replies = 0;
	}
	if (++circle->replies > GOAL_CIRCLE_REPLIES)
		return;
	note.type = WIRE_MGRP_TELL;
	note.moves = (int32_t)(comm->next_instance - question->instance) <= 0 ||
		     !goal_stall_is_still(nic, comm, &note);
	(void)mgrp_note_send(nic, comm, &note);
}

void goal_circle_rx(struct fw_nic *nic, struct goal_comm *comm, const struct mgrp_note *note)
{
	if (comm->num_ranks > GOAL_CIRCLE_RANKS || comm->closing)
		return;
	if (note->type == WIRE_MGRP_ASK)
		goal_circle_reply(nic, comm, note);
	else
		goal_circle_answer_rx(nic, comm, note);
}
