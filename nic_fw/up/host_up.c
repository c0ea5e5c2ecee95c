/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floors that host/ notifies of ends and doorbells: see host_up.h.
 */
#include "nic_fw/fw_nic.h"

const struct host_up host_up = {
    .leave = {goal_client_leave, cm_client_leave, NULL},
    .forget_srq = recv_forget_srq,
    .qp_down = cm_qp_down,
    .goal_doorbell = goal_run_doorbell,
};
