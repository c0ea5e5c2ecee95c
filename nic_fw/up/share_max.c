/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of the tables that processes have shares of, of all floors: see share.h.
 */
#include "nic_fw/fw_nic.h"

static_assert((int)SHARE_GOAL_TABLES == (int)GOAL_TABLES, "a count of each");
static_assert((int)CLIENT_GOAL_TABLES == (int)GOAL_TABLES, "a count of each");

const uint64_t share_max[HW_SHARES] = {
    [HW_SHARE_QP] = HW_MAX_QP,
    [HW_SHARE_CQ] = HW_MAX_CQ,
    [HW_SHARE_SRQ] = HW_MAX_SRQ,
    [HW_SHARE_MR] = HW_MAX_MR,
    [HW_SHARE_MW] = HW_MAX_MR,
    [HW_SHARE_PD] = HW_MAX_PD,
    [HW_SHARE_AH] = HW_MAX_AH,
    [HW_SHARE_MCAST] = HW_MAX_TOTAL_MCAST,
    [HW_SHARE_GROUP] = HW_MAX_MCAST_GRP,
    [HW_SHARE_CM] = HW_MAX_CM,
    [HW_SHARE_EQ] = FW_MAX_EQS,
    [HW_SHARE_XRCD] = HW_MAX_XRCD,
    [HW_SHARE_SESSION] = HW_MAX_PEERS,
    [HW_SHARE_TCP] = MPA_MAX_CONNS,
    [HW_SHARE_LISTENER] = TCP_MAX_LISTENERS,
    [HW_SHARE_STREAM] = ESP_MAX_STREAMS,
    [HW_SHARE_COMM] = HW_MAX_GOAL_COMMS,
    [HW_SHARE_SCHEDULE] = HW_MAX_GOAL_SCHEDULES,
    [HW_SHARE_GOAL] = GOAL_HEAP_BYTES,
    [HW_SHARE_CLIENT] = HW_MAX_CLIENTS,
};

const uint64_t share_process_default[HW_SHARES] = {
    [HW_SHARE_GOAL] = GOAL_CLIENT_QUOTA_BYTES,
};
