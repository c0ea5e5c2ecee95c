/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends of runs, in slices: goal_ending.c those that failed or were refused, goal_sweep.c what came
 * for runs that are over.
 *
 * Used by goal_*.c and slice.c; calls goal.h. No function blocks; all are the core's alone.
 */
#ifndef WEFT_FW_GOAL_ENDING_H
#define WEFT_FW_GOAL_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/coll/goal.h"
#include "nic_fw/base/list.h"

struct fw_client;
struct fw_nic;

/*
 * A run that has failed, or was refused, and is not over: its ranks are being told. One for each
 * run record, which is the NIC's until then.
 */
struct goal_ending {
	struct fw_list node;            /* comm->endings */
	struct goal_run *run;           /* NULL: it never began */
	struct goal_schedule *schedule; /* NULL: none was named */
	bool on;
	uint16_t client, record;
	uint32_t serial;
	uint32_t told_ranks; /* ranks below this one know */
	uint64_t start_ns;
	enum hw_goal_status status; /* what the record says; the ranks may hear otherwise */
	struct goal_abort abort;    /* what they are told */
};

/* A run that does not begin: its record says why, and so do its peers. schedule: NULL: none. */
void goal_ending_refuse(struct fw_nic *nic, uint32_t client, uint32_t record, uint32_t serial,
			struct goal_schedule *schedule, struct goal_abort abort);
/* A run that was carried out: its record says so. */
void goal_ending_report(struct fw_nic *nic, struct goal_run *run);
/* Goes on with runs of the communicator that have failed. False: units ran out. */
bool goal_ending_step(struct fw_nic *nic, struct goal_comm *comm);
/* The record's ending; NULL: there is none. */
struct goal_ending *goal_ending_of(struct fw_client *owner, uint32_t record);
/* Goes on with one communicator's (slice.c). */
void goal_ending_run(struct fw_nic *nic);

/* ---- goal_sweep.c */

/* A run is over, or was never started: what came for it is looked for (goal_sweep.c). */
void goal_sweep(struct fw_nic *nic, struct goal_comm *comm);
/* Goes on with one communicator. */
void goal_sweep_run(struct fw_nic *nic);
/* A message, or an announcement (its run_node), leaves its list. */
void goal_sweep_forget(struct goal_comm *comm, const struct fw_list *node);

#endif /* WEFT_FW_GOAL_ENDING_H */
