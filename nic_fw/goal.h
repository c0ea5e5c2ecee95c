/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL: communicators, schedules, runs, and the messages between their ranks.
 *
 * goal_heap.c	memory of the NIC for all of them, charged to clients
 * goal_cmd.c	commands; attach and detach
 * goal_load.c	copies a compiled schedule in and verifies it, once
 * goal_run.c	the interpreter: ready queues, dependencies, the end of a run
 * goal_localop.c	arithmetic
 * goal_msg.c	packets of messages out and in; announcements, aborts
 * goal_match.c	receives that wait, messages that nobody waits for yet
 *
 * Called by cmd.c, db.c, fw.c (goal_run_poll()), esp_*.c; calls esp.h and mem.h. Source: the
 * paper (espgoal) chapters 2 and 4; docs/collectives.md walks a run and a message through it.
 */
#ifndef WEFT_FW_GOAL_H
#define WEFT_FW_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/buddy.h"
#include "nic_fw/list.h"
#include "nic_fw/mem.h"
#include "nic_fw/timer.h"
#include "shared_defs/goal_format.h"
#include "shared_defs/hw_goal.h"

struct fw_nic;

enum {
	GOAL_EAGER_BYTES = 128 * 1024,
	GOAL_LOCAL_QUANTUM_BYTES = 64 * 1024, /* of one local operation in a turn */
};
#define GOAL_HEAP_BYTES         (UINT64_C(1) << 30)
#define GOAL_CLIENT_QUOTA_BYTES (UINT64_C(256) << 20)

struct goal_heap {
	uint8_t *base;
	struct buddy buddy;
};

/* A block of at least bytes, its content undefined, charged to the client; NULL. */
void *goal_heap_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes);
/* NULL is nothing. */
void goal_heap_free(struct fw_nic *nic, uint32_t client, void *block);
void goal_heap_init(struct goal_heap *heap, uint8_t *base, struct buddy_block *blocks);

/* A schedule that passed verification; nothing of it is written to while it lives. */
struct goal_schedule {
	bool used;
	bool wildcards; /* some receive takes any source or any tag */
	bool mcast;     /* uses the communicator's reliable group */
	bool unloading; /* freed with its last run */
	uint16_t client;
	uint32_t comm;
	uint32_t pd;
	uint32_t refs; /* runs */
	struct goal_header header;
	uint8_t *code; /* heap: the whole schedule */
	const struct goal_op *ops;
	const struct goal_edge *edges;
	const struct goal_piece *pieces;
	const struct goal_slot *slots;
	uint32_t *roots;            /* heap: header.num_roots */
	struct hw_goal_bind *binds; /* heap: header.num_slots */
	void *idle_run;             /* memory of a finished run, kept for the next; heap */
	struct fw_list node;        /* of the communicator */
};

/* What is wrong with a schedule, for hw_resp_goal_load. */
struct goal_fault {
	uint32_t op; /* 0xffffffff: none in particular */
	const char *why;
};

enum goal_load_phase {
	GOAL_LOAD_COPY,
	GOAL_LOAD_OPS,
	GOAL_LOAD_EDGES,
	GOAL_LOAD_ROOTS,
	GOAL_LOAD_ORDER,
	GOAL_LOAD_COUNTS,
	GOAL_LOAD_DONE,
	GOAL_LOAD_FAILED,
};

/*
 * A load under way. It copies a compiled schedule out of a client's memory and verifies it: sizes,
 * offsets, references inside slots and scratchpad, peers, legal local operations, acyclic,
 * counters equal in-degrees, numbers of equal keys. In steps, so that a large schedule holds up
 * nobody.
 */
struct goal_load {
	enum goal_load_phase phase;
	struct goal_schedule *schedule;
	uint32_t rank, num_ranks; /* of the communicator */
	uint64_t bytes;
	uint64_t at;           /* item of the phase */
	uint32_t next_edge;    /* where the next operation's edges begin */
	uint32_t *degree;      /* heap: in-degrees as the edges give them */
	uint32_t *order;       /* heap: operations in an order that respects all edges */
	uint32_t head, tail;   /* of order */
	struct goal_key *keys; /* heap: hash of (kind, peer, tag) */
	uint32_t key_mask;
	int status; /* FAILED: a positive errno */
	struct goal_fault fault;
};

enum {
	GOAL_LOAD_QUANTUM = 8192, /* items of one step */
	GOAL_LOAD_COPY_BYTES = 256 * 1024,
};

/* Begins: checks the header (a copy). False: load->status and fault say why; nothing is held. */
bool goal_load_begin(struct fw_nic *nic, struct goal_load *load, struct goal_schedule *schedule,
		     const struct goal_header *header, uint32_t rank, uint32_t num_ranks);
/*
 * Carries on, source being the schedule in the client's memory as checked just now. Returns true
 * when it is over: phase DONE, or FAILED with nothing held any more.
 */
bool goal_load_step(struct fw_nic *nic, struct goal_load *load, const struct fw_mem *source);
/* Gives up a load under way. */
void goal_load_cancel(struct fw_nic *nic, struct goal_load *load);
/* Frees all that a schedule holds in the heap. */
void goal_schedule_free(struct fw_nic *nic, struct goal_schedule *schedule);

/* ---- local operations (goal_localop.c) ---------------------------------------------------- */

/* Whether weft carries out this operation on such elements. */
bool goal_local_legal(uint8_t op, uint8_t type, uint8_t width);
/*
 * result[i] = a[i] op b[i] for count elements; no alignment is needed, result may be a or b (the
 * same address), else nothing overlaps. b is not read for COPY. False: a division by zero or of the
 * least value by -1; result is undefined then.
 */
bool goal_local_run(uint8_t op, uint8_t type, uint8_t width, void *result, const void *a,
		    const void *b, uint64_t count);

#endif /* WEFT_FW_GOAL_H */
