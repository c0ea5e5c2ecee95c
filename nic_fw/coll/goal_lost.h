/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are lost, in slices: goal_lost.c.
 *
 * No function blocks; all are the core's alone. Calls goal.h.
 */
#ifndef WEFT_FW_GOAL_LOST_H
#define WEFT_FW_GOAL_LOST_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/coll/goal.h"

struct fw_nic;

void goal_lost_init(struct fw_nic *nic);
/* True if the rank's process ended before it could start this run. */
bool goal_lost_left_before(const struct goal_link *link, uint32_t instance);
/*
 * Fails the runs that need the rank of a link: with this status, in this turn and later ones. left:
 * only those in which it takes no part. closed: it has closed the communicator.
 */
void goal_lost_begin(struct fw_nic *nic, struct goal_comm *comm, struct goal_link *link,
		     bool closed, bool left, enum hw_goal_status status);
/* Ends that early: the communicator has no runs any more. */
void goal_lost_cancel(struct goal_comm *comm, struct goal_link *link);
/* A run leaves the communicator's list. */
void goal_lost_forget_run(struct goal_comm *comm, const struct goal_run *run);
/* Frees all messages of a link without stream, receives and runs. False: units ran out. */
bool goal_lost_drain(struct fw_nic *nic, struct goal_link *link);
/* Frees such a link of a communicator that is gone, now or in later turns. */
void goal_lost_free(struct fw_nic *nic, struct goal_link *link);
/* Continues; see slice.h. */
void goal_lost_slice(struct fw_nic *nic);
bool goal_lost_pending(const struct fw_nic *nic);

#endif /* WEFT_FW_GOAL_LOST_H */
