/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that a process causes in bulk, in slices: no process makes a long turn.
 *
 * The end of a process, the flush of a queue pair and commands that wait for one are done in
 * units, FW_SLICE_UNITS of them in a turn for all processes together. Whoever works takes units
 * with slice_take() and goes on in a later turn where there are none left. A small piece of work
 * is over within the call that began it. Each fw_poll() gives the units anew and runs what waits,
 * in turn (slice_run()).
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
	 * A completion, a region: some 50 ns each. A request and its answer meet some five turns,
	 * so what all of them do in slices is no more than what the two take themselves.
	 */
	FW_SLICE_UNITS = 16,
	/*
	 * Units of a command before it has to wait, so that most are answered at once. A turn takes
	 * one such command, not each that there is.
	 */
	FW_SLICE_AT_ONCE = 64,
	FW_SLICE_QUANTUM = 16,    /* more than any work takes before its parts; for one process or
				     queue pair, then the next one has its turn */
	FW_SLICE_COMMANDS = 1024, /* commands that wait for the end of such work */
	/* Work that costs more than a unit. */
	FW_SLICE_FLOW_UNITS = 4,
	FW_SLICE_QP_UNITS = 8,
	FW_SLICE_CM_UNITS = 16,
	FW_SLICE_MCAST_UNITS = 16,
	FW_SLICE_GOAL_UNITS = 8,
};

struct fw_slices {
	uint32_t left;           /* units of this turn that nobody has taken */
	uint32_t taken;          /* in this turn */
	uint32_t next_kind;      /* whose turn it is: slice_kind */
	uint32_t most;           /* that a turn has taken: a gauge */
	uint32_t bulk;           /* FW_BULK_*: of what kinds */
	struct fw_list flushes;  /* fw_qp.flush_node */
	struct fw_list leaving;  /* fw_client.leave_node */
	struct fw_list commands; /* slice_command.node */
	struct fw_list aborted;  /* recv_msg.peer_node: their session is over */
	struct fw_list endings;  /* goal_comm.ending_node: ranks of failed runs are being told */
	struct fw_list sweeps;   /* goal_comm.sweep_node */
	struct fw_pool command_pool;
	uint32_t resume; /* how far the command has come that is carried out; 0: begun now */
};

/* A command that could not be finished in its call: it is carried out anew until it is. */
struct slice_command {
	struct fw_list node;
	uint32_t client;
	uint32_t resume; /* its own measure of how far it has come */
	struct hw_cmd cmd;
};

enum slice_kind {
	SLICE_FLUSH,
	SLICE_LEAVE,
	SLICE_COMMAND,
	SLICE_ABORT, /* receives of sessions that are over */
	SLICE_NEIGH, /* waiters for a next hop */
	SLICE_RUNS,  /* of GOAL that failed */
	SLICE_SWEEP, /* messages that came for those that are over */
	SLICE_HEAP,  /* pages of blocks that are free */
	SLICE_KINDS
};

/* A kind of work: up/slice_jobs.c. */
struct slice_job {
	/* Does a part of it, within slice_take(). Called whether something waits or not. */
	void (*run)(struct fw_nic *nic);
	bool (*pending)(const struct fw_nic *nic); /* NULL: a list of struct fw_slices tells */
};

extern const struct slice_job slice_jobs[SLICE_KINDS];

void slice_init(struct fw_nic *nic);

/* Between turns: a command, or a detach, may do a little at least. */
void slice_allow(struct fw_nic *nic);

/*
 * Takes units for a piece of work. False: none is left in this turn. What costs more than is left
 * is done all the same, so that it is done at last.
 */
bool slice_take(struct fw_nic *nic, uint32_t units);

/* A stage of fw_poll(): gives the units of the turn and goes on with what waits. */
uint32_t slice_run(struct fw_nic *nic);
bool slice_pending(const struct fw_nic *nic);

/* Keeps a command that returned CMD_LATER. False: no room for it. */
bool slice_keep(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd);
/* The client leaves: its commands are not answered any more. */
void slice_forget_client(struct fw_nic *nic, uint32_t client);

#endif /* WEFT_FW_SLICE_H */
