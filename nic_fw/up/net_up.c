/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floors that net/ hands frames and resolved addresses to: see net_up.h.
 */
#include "nic_fw/fw_nic.h"

const struct net_up net_up = {
    .run_udp = &rd_run_kind,
    .run_esp = &goal_msg_run_kind,
    .run_tcp = &mpa_run_kind,
    .run_tcp_ts = &mpa_run_ts_kind,
    .run_group = &mgrp_data_run_kind,
    .edp = edp_rx,
    .tcp = tcp_rx,
    .tcp_icmp = tcp_rx_icmp,
    .dgram = dgram_rx,
};

const neigh_done_fn neigh_users[] = {
    ah_neigh_done, rd_session_neigh_done, cm_neigh_done, tcp_neigh_done, NULL,
};

const neigh_look_fn neigh_lookers[NEIGH_WAIT_KINDS] = {
    [NEIGH_WAIT_CM] = cm_neigh_look,
    [NEIGH_WAIT_RD] = rd_session_neigh_look,
    [NEIGH_WAIT_TCP] = tcp_neigh_look,
};
