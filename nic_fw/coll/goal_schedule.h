/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled schedules in the NIC: loading and verifying (goal_load.c), and their lives (goal_cmd.c).
 */
#ifndef WEFT_FW_GOAL_SCHEDULE_H
#define WEFT_FW_GOAL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/host/mem.h"
#include "shared_defs/goal_format.h"
#include "shared_defs/hw_goal.h"

struct fw_nic;
struct goal_comm;

/* A schedule that passed verification; it is read-only while it exists. */
struct goal_schedule {
	bool used;
	bool wildcards; /* some receive takes any source or any tag */
	bool unmapped;  /* some slot was not mapped when it was loaded */
	bool unloading; /* to be freed with its last run */
	bool groups;    /* some operation is a multicast */
	bool unbound;   /* each run names its buffers */
	uint16_t client;
	uint32_t comm;
	uint32_t pd;
	uint32_t refs; /* runs */
	/*
	 * The run that has computed and not yet written a part of a result (goal_local.c); NULL.
	 * The others may read the same memory, and wait.
	 */
	const struct goal_run *keeper;
	struct goal_header header;
	uint8_t *code; /* heap: the whole schedule */
	const struct goal_insn *ops;
	const struct goal_edge *edges;
	const struct goal_piece *pieces;
	const struct goal_slot *slots;
	const struct goal_comm *user_ops; /* whose operations of users it may name; NULL: none */
	uint32_t *roots;                  /* heap: header.num_roots */
	uint32_t *deps;             /* heap: in-degrees, the initial values of a run's counters */
	uint64_t *peers;            /* heap: bit for each rank that it exchanges messages with */
	uint64_t *neighbours;       /* heap: the same for neighbours in trees of multicasts */
	struct hw_goal_bind *binds; /* heap: header.num_slots */
	void *idle_run;             /* memory of a finished run, kept for the next; heap */
	struct fw_list node;        /* of the communicator */
};

/* The fault of a rejected schedule, for hw_resp_goal_load. */
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
 * offsets, references inside slots and scratchpad, peers, legal local operations, acyclic, counters
 * equal in-degrees, numbers of equal keys. It proceeds in steps, so that a large schedule delays no
 * other client.
 */
struct goal_load {
	enum goal_load_phase phase;
	struct goal_schedule *schedule;
	uint32_t rank, num_ranks; /* of the communicator */
	uint64_t bytes;
	uint64_t at;           /* item of the phase */
	uint32_t next_edge;    /* first edge of the next operation */
	uint32_t *degree;      /* heap: in-degrees as the edges give them */
	uint32_t *order;       /* heap: operations in an order that respects all edges */
	uint32_t head, tail;   /* of order */
	struct goal_key *keys; /* heap: hash of (kind, peer, tag) */
	uint32_t key_mask;
	/* Lists of pieces of the operation at `at`; they may be longer than a step. */
	uint32_t walk_buf;    /* of its buffers */
	uint32_t walk_at;     /* piece of that list */
	uint64_t walk_sum[3]; /* bytes of each list */
	bool walk_bad[3];     /* a piece of it is wrong */
	int status;           /* FAILED: a positive errno */
	struct goal_fault fault;
};

enum {
	GOAL_LOAD_QUANTUM = 1024, /* items of one step; one load has a step in a turn */
	GOAL_LOAD_COPY_BYTES = 64 * 1024,
};

/* Begins: checks the header (a copy). False: load->status and fault hold the reason. */
bool goal_load_begin(struct fw_nic *nic, struct goal_load *load, struct goal_schedule *schedule,
		     const struct goal_header *header, uint32_t rank, uint32_t num_ranks);
/*
 * Continues; source is the schedule in the client's memory as checked just now. Returns true at the
 * end: phase DONE, or FAILED with nothing held any more.
 */
bool goal_load_step(struct fw_nic *nic, struct goal_load *load, const struct fw_mem *source);
/* Cancels a load under way. */
void goal_load_cancel(struct fw_nic *nic, struct goal_load *load);
/* Frees all that a schedule holds in the heap. */
void goal_schedule_free(struct fw_nic *nic, struct goal_schedule *schedule);

/* A GOAL_LOAD command under way (goal_cmd.c). */
struct goal_loading {
	bool used;
	uint16_t client;
	uint32_t tag;
	uint32_t stag;
	uint64_t addr;
	struct goal_load load;
};

/* The client's own schedule of that handle; NULL. */
struct goal_schedule *goal_schedule_own(struct fw_nic *nic, uint32_t client, uint32_t handle);
/* A run has ended: frees an unloaded schedule with its last run. */
void goal_schedule_put(struct fw_nic *nic, struct goal_schedule *schedule);
void goal_schedule_destroy(struct fw_nic *nic, struct goal_schedule *schedule);
/* Makes one step of a load under way; returns the number of loads that made one. */
uint32_t goal_load_poll(struct fw_nic *nic);
/* Cancels the loads of a client that is gone. */
void goal_load_forget_client(struct fw_nic *nic, uint32_t client);

#endif /* WEFT_FW_GOAL_SCHEDULE_H */
