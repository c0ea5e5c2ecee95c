/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations and packets of GOAL that wait for pages of the process: goal_slow.c.
 *
 * No function blocks; all are the core's alone. Calls goal.h.
 */
#ifndef WEFT_FW_GOAL_SLOW_H
#define WEFT_FW_GOAL_SLOW_H

#include <stdbool.h>

#include "nic_fw/coll/goal.h"

struct fw_nic;

/* Until an access is repeated. */
#define GOAL_SLOW_NS UINT64_C(100000)

/*
 * An operation, or a step of it, is to be repeated: no status of a record. Functions that access
 * memory return it, or HW_GOAL_MEMORY.
 */
#define GOAL_NOT_NOW ((enum hw_goal_status)HW_GOAL_STATUSES)

/* The status of an access that failed. */
enum hw_goal_status goal_slow_status(const struct fw_nic *nic);
void goal_slow_run_init(struct goal_run *run);
/* Repeats the run's operation, or step, later. */
void goal_slow_run(struct fw_nic *nic, struct goal_run *run);
void goal_slow_comm_init(struct goal_comm *comm);
/*
 * Offers packets of a link again later, or (NULL) of the communicator's group, and makes packets of
 * multicasts again.
 */
void goal_slow_comm(struct fw_nic *nic, struct goal_comm *comm, struct goal_link *link);
/* Goes on with the communicator's group in a later turn, as this one has done enough. */
void goal_slow_group(struct fw_nic *nic, struct goal_comm *comm);
/* True while packets of the communicator wait for memory. */
bool goal_slow_waits(const struct goal_comm *comm);

/* Timers: up/timer_fires.c. */
void goal_slow_run_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_slow_comm_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_GOAL_SLOW_H */
