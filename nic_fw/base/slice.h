/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk work that a process causes, done in slices so that no process makes a turn long.
 *
 * The end of a process, the flush of a queue pair and commands that wait for one are done in units:
 * FW_SLICE_UNITS of them in a turn, for all processes together. A job takes units with slice_take()
 * and continues in a later turn when none are left. A small job ends within the call that began it.
 * Each fw_poll() renews the units and runs the waiting jobs round robin (slice_run()).
 */
#ifndef WEFT_FW_SLICE_H
#define WEFT_FW_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "shared_defs/hw_cmd.h"

struct fw_nic;

enum {
	/*
	 * One unit is a completion or a region, some 50 ns. A request and its answer meet some five
	 * turns, so slices of all jobs cost no more than the request and its answer themselves.
	 */
	FW_SLICE_UNITS = 16,
	/*
	 * Units of a command before it has to wait, so that most are answered at once. A turn takes
	 * one such command, not each waiting one.
	 */
	FW_SLICE_AT_ONCE = 64,
	/*
	 * More than the first step of any job takes; then the next process or queue pair is served.
	 */
	FW_SLICE_QUANTUM = 16,
	FW_SLICE_COMMANDS = 1024, /* commands that wait for the end of such work */
	FW_SLICE_LOOKS = 4,       /* looks at objects that cost a unit */
	FW_SLICE_DONE = 32,       /* see slice_take_done() */
	/* Jobs that cost more than a unit. */
	FW_SLICE_FLOW_UNITS = 4,
	FW_SLICE_QP_UNITS = 8,
	FW_SLICE_CM_UNITS = 16,
	FW_SLICE_MCAST_UNITS = 16,
	FW_SLICE_GOAL_UNITS = 8,
	FW_SLICE_SLOT_UNITS = 4, /* a command in a slot */
};

struct fw_slices {
	uint32_t left;           /* units of this turn that are not taken */
	uint32_t taken;          /* in this turn */
	uint32_t done_left;      /* of FW_SLICE_DONE in this turn */
	uint32_t next_kind;      /* slice_kind to serve next */
	uint32_t most;           /* highest use in one turn: a gauge */
	uint32_t waiting;        /* bit of each slice_kind that may have work: slice_wait() */
	struct fw_list flushes;  /* fw_qp.flush_node */
	struct fw_list leaving;  /* fw_client.leave_node */
	struct fw_list commands; /* slice_command.node */
	struct fw_list slots;    /* fw_client.slots_node */
	struct fw_list aborted;  /* recv_msg.peer_node: their session has ended */
	/* goal_comm.ending_node: failed runs whose ranks are being notified. */
	struct fw_list endings;
	struct fw_list sweeps; /* goal_comm.sweep_node */
	struct fw_list done;   /* fw_qp.done_node: more requests of it are over */
	struct fw_pool command_pool;
	uint32_t resume; /* progress of the command being carried out; 0: begun now */
};

/* A command that could not be finished in its call: it is carried out again until it is done. */
struct slice_command {
	struct fw_list node;
	uint32_t client;
	uint32_t resume; /* its own measure of progress */
	struct hw_cmd cmd;
};

enum slice_kind {
	SLICE_FLUSH,
	SLICE_LEAVE,
	SLICE_COMMAND,
	SLICE_SLOTS, /* commands in slots of the BAR */
	SLICE_ABORT, /* receives of sessions that have ended */
	SLICE_NEIGH, /* waiters for a next hop */
	SLICE_RUNS,  /* GOAL runs that failed */
	SLICE_SWEEP, /* messages that arrived for ended runs */
	SLICE_HEAP,  /* pages of free blocks */
	SLICE_TAG,   /* tagged sends and receives of peers whose session has ended */
	SLICE_FLOWS, /* flows of RD that end */
	SLICE_SYNS,  /* half-open connections of listeners that ended */
	SLICE_LOST,  /* ranks of GOAL that are lost */
	SLICE_DONE,  /* requests that are over together */
	SLICE_KINDS
};

/* A kind of work: up/slice_jobs.c. */
struct slice_job {
	/* Does a part of the work, within slice_take(). Runs each turn, also when nothing waits. */
	void (*run)(struct fw_nic *nic);
	bool (*pending)(const struct fw_nic *nic); /* NULL: a list of struct fw_slices shows it */
};

/*
 * Notes that a kind has work, where it is put into its list. A turn without any looks at no list.
 */
static inline void slice_wait(struct fw_slices *slices, enum slice_kind kind)
{
	slices->waiting |= 1u << kind;
}

extern const struct slice_job slice_jobs[SLICE_KINDS];

void slice_init(struct fw_nic *nic);

/* Between turns: lets a command or a detach do a little at least. */
void slice_allow(struct fw_nic *nic);

/*
 * Takes units for a piece of work. Returns false when none is left in this turn. A piece that costs
 * more than is left is done all the same, so that it is never starved.
 */
bool slice_take(struct fw_nic *nic, uint32_t units);

/*
 * As slice_take() of a unit, for a request that ended together with an earlier one. FW_SLICE_DONE
 * of them in a turn cost no unit: usual traffic leaves the units to bulk work.
 */
bool slice_take_done(struct fw_nic *nic);

/* Takes a unit for a few looks at objects. *looks: those that are left of it; 0 at first. */
bool slice_look(struct fw_nic *nic, uint32_t *looks);

/* A stage of fw_poll(): renews the units of the turn and continues the waiting work. */
uint32_t slice_run(struct fw_nic *nic);
bool slice_pending(const struct fw_nic *nic);

/* Keeps a command that returned CMD_LATER. Returns false when there is no room for it. */
bool slice_keep(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd);
/* The client leaves: its commands are no longer answered. */
void slice_forget_client(struct fw_nic *nic, uint32_t client);

#endif /* WEFT_FW_SLICE_H */
