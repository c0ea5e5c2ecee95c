/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations of a core's turns, by the kind of work in them.
 *
 * The measurement needs only the turn's single clock reading. Turns in which the kernel ran other
 * threads are counted separately and in none of the kinds, so the numbers are weftd's own even on a
 * crowded machine.
 */
#ifndef WEFT_APP_TURNS_H
#define WEFT_APP_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_cmd.h"

/* A turn with several kinds of work counts as the last of them in this order. */
enum turn_kind {
	TURN_PLAIN,   /* frames, requests, timers, collectives */
	TURN_FLUSH,   /* flushes of queue pairs, in slices */
	TURN_LEAVE,   /* detached processes, in slices */
	TURN_LATER,   /* continued commands, in slices */
	TURN_COMMAND, /* commands of processes */
	TURN_ATTACH,
	TURN_DETACH,
	TURN_QUERY, /* counters, and weftd's own queries */
	TURN_KINDS,
};

enum {
	TURNS_STATS = 3 + 3 * TURN_KINDS, /* counters written by turns_stats() */
	TURNS_LONG_NS = 10000, /* about ten times the cost of a request and its response */
};

struct turns {
	enum turn_kind kind; /* kind of the current turn */
	uint32_t op;         /* TURN_COMMAND: HW_CMD_* of the last command */
	bool whole;          /* it has neither slept nor yielded since it began */
	bool lost;           /* the kernel ran another thread in the previous turn */
	uint64_t lost_turns; /* of uninterrupted turns */
	uint64_t ns_max;     /* including these */
	uint64_t op_max;     /* the command in the longest turn that had one */
	struct {
		uint64_t turns;
		uint64_t ns_max;
		uint64_t long_turns; /* turns longer than TURNS_LONG_NS */
	} of[TURN_KINDS];
};

/* Records that the turn contains work of this kind. */
static inline void turns_note(struct turns *turns, enum turn_kind kind)
{
	if (kind > turns->kind)
		turns->kind = kind;
}

/* Likewise for a command. */
static inline void turns_note_command(struct turns *turns, uint32_t op)
{
	turns_note(turns, TURN_COMMAND);
	turns->op = op;
}

/* The turn does not continue seamlessly: its duration is unknown. */
static inline void turns_break(struct turns *turns)
{
	turns->whole = false;
}

/*
 * Called right before the clock reading that ends a turn, on the core's own thread, like the next
 * function.
 */
void turns_ends(struct turns *turns);

/* Ends the turn that began ns ago and begins the next one. */
void turns_next(struct turns *turns, uint64_t ns);

void turns_stats(const struct turns *turns, struct hw_stat stat[TURNS_STATS]);

#endif /* WEFT_APP_TURNS_H */
