/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: streams and multicasts of a communicator that wait for room, and cycles among them.
 *
 * A part of goal.h, which has the structures that it names. docs/collectives.md "Full pools".
 */
#ifndef WEFT_FW_GOAL_STALL_H
#define WEFT_FW_GOAL_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"

struct fw_nic;
struct goal_comm;
struct goal_link;
struct mgrp_note;
struct mgrp_space;

enum {
	GOAL_STALL_ITEMS = 1024, /* items checked in a step of a look for a cycle */
};
/*
 * Delay between a message that finds no room and a look for a cycle; doubles with each further
 * look.
 */
#define GOAL_STALL_NS     UINT64_C(10000000)
#define GOAL_STALL_MAX_NS UINT64_C(160000000)

enum goal_stall_phase {
	GOAL_STALL_RUNS,
	GOAL_STALL_SENDS,
	GOAL_STALL_RECVS,
	GOAL_STALL_UNEXPS,
	GOAL_STALL_LINKS,
	GOAL_STALL_SPACES,
	GOAL_STALL_STREAMS,
	GOAL_STALL_PHASES
};

/* The search for a cycle in one communicator. A look is valid while changes stays the same. */
struct goal_stall {
	struct fw_timer timer;
	uint64_t wait_ns;
	/* Counts events that may end a cycle, or change a list that a look walks. */
	uint64_t changes;
	uint64_t seen; /* changes at the start of a look under way; UINT64_MAX: there is none */
	enum goal_stall_phase phase;
	struct fw_list *run, *at; /* position of the walk; at NULL: the first */
	uint64_t ranks;           /* ranks that may help: one bit each */
	uint64_t held;            /* ranks at which messages of this one find no room */
	uint32_t victim;          /* instance of the oldest run whose message finds no room */
	bool has_victim;
	bool self;       /* a message of this rank to itself found no room */
	bool self_seen;  /* the same, found in the look under way */
	bool keep_large; /* multicasts beyond the eager limit go into the pool, too */
};

enum {
	GOAL_CIRCLE_RANKS = 64,   /* ranks of the largest communicator that exchanges questions */
	GOAL_CIRCLE_REPLIES = 16, /* answers in GOAL_CIRCLE_GAP_NS */
};
#define GOAL_CIRCLE_GAP_NS UINT64_C(100000)

/* A question to other ranks, in two rounds (goal_circle.c). */
struct goal_circle {
	uint32_t round; /* 0: there is none */
	uint32_t question, instance;
	uint64_t queried, answered; /* ranks, in this round */
	uint64_t own_changes;
	uint32_t changes[GOAL_CIRCLE_RANKS]; /* of each in the first round */
	/*
	 * From the answers of the second round: ranks at which its messages find no room, and ranks
	 * whose messages find no room there.
	 */
	uint64_t held[GOAL_CIRCLE_RANKS], stops[GOAL_CIRCLE_RANKS];
	uint64_t replies_ns; /* start of the interval in which answers are counted */
	uint32_t replies;
};

void goal_circle_ask(struct fw_nic *nic, struct goal_comm *comm);
void goal_circle_rx(struct fw_nic *nic, struct goal_comm *comm, const struct mgrp_note *note);

void goal_stall_init(struct goal_stall *stall);
/* True if only messages of note->ranks let this rank proceed; fills the fields of a TELL. */
bool goal_stall_is_still(struct fw_nic *nic, struct goal_comm *comm, struct mgrp_note *note);
/* The lists of streams that wait for room. */
void goal_stall_comm_init(struct goal_comm *comm);
/* Multicasts that wait for room, or for pages, are tried again, some in a turn. */
void goal_stall_unblock_group(struct fw_nic *nic, struct goal_comm *comm);
/* It is a cycle: makes room, or fails a run. */
void goal_stall_break(struct fw_nic *nic, struct goal_comm *comm);
/* Something of the communicator has moved: results of earlier looks are void. */
void goal_stall_moved(struct goal_comm *comm);
/* The stream of this link stops: its next message, of that run, finds no room. */
void goal_stall_link(struct fw_nic *nic, struct goal_link *link, uint32_t instance);
/* A multicast of that run finds no room. */
void goal_stall_group(struct fw_nic *nic, struct goal_comm *comm, uint32_t root, uint32_t instance);
/* A message of this rank to itself finds no room. */
void goal_stall_self(struct fw_nic *nic, struct goal_comm *comm);

/* Timers: up/timer_fires.c. */
void goal_stall_resume_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_stall_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_GOAL_STALL_H */
