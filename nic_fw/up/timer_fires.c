/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the timers of all floors: see timer.h.
 */
#include "nic_fw/fw_nic.h"

const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS] = {
    [FW_TIMER_TCP] = tcp_timer_fire,
    [FW_TIMER_TCP_REST] = tcp_rest_fire,
    [FW_TIMER_TCP_SYN] = tcp_syn_fire,
    [FW_TIMER_TCP_GRANT] = tcp_grant_fire,
    [FW_TIMER_NEIGH] = neigh_fire,
    [FW_TIMER_IGMP] = igmp_timer_fire,
    [FW_TIMER_ESP_RDMAP_OPEN] = esp_rdmap_open_fire,
    [FW_TIMER_ESP_RDMAP_LOOK] = esp_rdmap_look_fire,
    [FW_TIMER_ESP_RDMAP_READY] = esp_rdmap_ready_fire,
    [FW_TIMER_CM] = cm_rd_fire,
    [FW_TIMER_GOAL_TRACE] = goal_trace_fire,
    [FW_TIMER_GOAL_RUN_SLOW] = goal_slow_run_fire,
    [FW_TIMER_GOAL_COMM_SLOW] = goal_slow_comm_fire,
    [FW_TIMER_GOAL_ORPHAN] = goal_orphan_fire,
    [FW_TIMER_GOAL_RUN] = goal_run_fire,
    [FW_TIMER_GOAL_CALC] = goal_step_calc_fire,
    [FW_TIMER_MGRP] = mgrp_timer_fire,
    [FW_TIMER_MGRP_ACK] = mgrp_ack_fire,
    [FW_TIMER_GOAL_COMM_ANY] = goal_comm_any_fire,
    [FW_TIMER_GOAL_COMM_END] = goal_comm_end_fire,
    [FW_TIMER_GOAL_RESUME] = goal_stall_resume_fire,
    [FW_TIMER_GOAL_STALL] = goal_stall_fire,
    [FW_TIMER_AH] = ah_fire,
    [FW_TIMER_MODER] = moder_fire,
    [FW_TIMER_RD_RNR] = rd_flow_rnr_fire,
    [FW_TIMER_RD_SESSION] = rd_session_fire,
    [FW_TIMER_RD_PACE] = rd_tx_paced,
    [FW_TIMER_UD_REASM] = ud_reasm_timer_fire,
    [FW_TIMER_RD_GRANT] = rd_grant_fire,
    [FW_TIMER_ESP] = esp_timer_fire,
    [FW_TIMER_MPA_RETRY] = mpa_rdmap_retry_fire,
    [FW_TIMER_MPA] = mpa_conn_fire,
    [FW_TIMER_CQ_LATE] = cq_late_fire,
    [FW_TIMER_TAG_OWING] = tag_rdv_owing_fire,
};
