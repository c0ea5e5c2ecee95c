/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the timers of runs and communicators, which up/timer_fires.c names.
 */
#ifndef WEFT_FW_GOAL_TIMERS_H
#define WEFT_FW_GOAL_TIMERS_H

struct fw_nic;
struct fw_timer;

void goal_trace_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_orphan_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_run_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_step_calc_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_comm_any_fire(struct fw_nic *nic, struct fw_timer *timer);
void goal_comm_end_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_GOAL_TIMERS_H */
