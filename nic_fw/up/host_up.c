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
    .tag_doorbell = tag_rq_doorbell,
    .tag_send = tag_send_fetched,
    .tag_unsend = tag_send_unfetch,
    .tag_sent = tag_send_sent,
    .tag_gather = tag_source_gather,
    .tag_refused = tag_send_refused,
    .tag_ended = tag_msg_ended,
    .tag_peer_down = tag_peer_gone,
    .tag_flush = tag_ep_flush,
    .tag_close = tag_ep_close,
};
