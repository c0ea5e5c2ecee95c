/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends of runs, in slices: goal_ending.c ends failed and refused runs, goal_sweep.c removes
 * messages of ended runs.
 *
 * No function blocks; all are the core's alone. Calls goal.h.
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
 * A run that failed, or was refused, and has not ended: its ranks are being notified. There is one
 * for each run record; the record is the NIC's until then.
 */
struct goal_ending {
	struct fw_list node;            /* comm->endings */
	struct goal_run *run;           /* NULL: it never began */
	struct goal_schedule *schedule; /* NULL: none was given */
	bool on;
	uint16_t client, record;
	uint32_t serial;
	uint32_t notified_ranks; /* ranks below this one were notified */
	uint64_t start_ns;
	bool stopped;       /* its operations have ended, and late_copy is set */
	uint64_t late_copy; /* of fw_port.host_late(): may still change its buffers; 0: none */
	enum hw_goal_status status; /* status in the record; the ranks may receive another */
	struct goal_abort abort;    /* the notice for the ranks */
};

/* Refuses a run: its record and its peers receive the reason. schedule: NULL: none. */
void goal_ending_refuse(struct fw_nic *nic, uint32_t client, uint32_t record, uint32_t serial,
			struct goal_schedule *schedule, struct goal_abort abort);
/* Writes the record of a run that was carried out. */
void goal_ending_report(struct fw_nic *nic, struct goal_run *run);
/* Continues with failed runs of the communicator. False: units ran out, or a copy is late. */
bool goal_ending_step(struct fw_nic *nic, struct goal_comm *comm);
/* Returns the record's ending; NULL: there is none. */
struct goal_ending *goal_ending_of(struct fw_client *owner, uint32_t record);
/* Continues with the endings of one communicator (slice.c). */
void goal_ending_run(struct fw_nic *nic);

/* ---- goal_sweep.c */

/* A run has ended, or was never started: removes its messages (goal_sweep.c). */
void goal_sweep(struct fw_nic *nic, struct goal_comm *comm);
/* Continues with one communicator. */
void goal_sweep_run(struct fw_nic *nic);
/* Takes a message, or an announcement (its run_node), off its list. */
void goal_sweep_forget(struct goal_comm *comm, const struct fw_list *node);

#endif /* WEFT_FW_GOAL_ENDING_H */
