/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long turns of a core are, by the work that they had in them.
 *
 * The one clock of the turn is all that it takes. Turns in which the kernel gave the CPU to others
 * are told apart and count in none of the kinds, so the numbers are weftd's own on a crowded
 * machine, too.
 */
#ifndef WEFT_APP_TURNS_H
#define WEFT_APP_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_cmd.h"

/* A turn that did several kinds of work counts as the last of them in this order. */
enum turn_kind {
	TURN_PLAIN,   /* frames, requests, timers, collectives */
	TURN_FLUSH,   /* flushes of queue pairs, in slices */
	TURN_LEAVE,   /* processes that left, in slices */
	TURN_LATER,   /* commands that go on, in slices */
	TURN_COMMAND, /* commands of processes */
	TURN_ATTACH,
	TURN_DETACH,
	TURN_QUERY, /* counters, and what weftd itself asks */
	TURN_KINDS,
};

enum {
	TURNS_STATS = 3 + 3 * TURN_KINDS, /* counters that turns_stats() writes */
	TURNS_LONG_NS = 10000,            /* some ten times what a request and its answer take */
};

struct turns {
	enum turn_kind kind; /* of the turn that goes on */
	uint32_t op;         /* TURN_COMMAND: the last one's HW_CMD_* */
	bool whole;          /* it neither slept nor yielded since it began */
	bool lost;           /* the kernel ran somebody else in the one that ends */
	uint64_t lost_turns; /* whole ones */
	uint64_t ns_max;     /* of these, too */
	uint64_t op_max;     /* the command in the longest turn with one */
	struct {
		uint64_t turns;
		uint64_t ns_max;
		uint64_t long_turns; /* longer than TURNS_LONG_NS */
	} of[TURN_KINDS];
};

/* The turn has work of this kind in it. */
static inline void turns_note(struct turns *turns, enum turn_kind kind)
{
	if (kind > turns->kind)
		turns->kind = kind;
}

/* The same for a command. */
static inline void turns_note_command(struct turns *turns, uint32_t op)
{
	turns_note(turns, TURN_COMMAND);
	turns->op = op;
}

/* The turn ends without another right behind it: how long it was is not known. */
static inline void turns_break(struct turns *turns)
{
	turns->whole = false;
}

/* Right before the clock is read that ends a turn. On the core's own thread, as the next. */
void turns_ends(struct turns *turns);

/* Ends the turn that began ns ago, and begins the next one. */
void turns_next(struct turns *turns, uint64_t ns);

void turns_stats(const struct turns *turns, struct hw_stat stat[TURNS_STATS]);

#endif /* WEFT_APP_TURNS_H */
