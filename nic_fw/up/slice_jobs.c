/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of work that is done in slices, of all floors: see slice.h.
 */
#include "nic_fw/fw_nic.h"

const struct slice_job slice_jobs[SLICE_KINDS] = {
    [SLICE_FLUSH] = {qp_flush_slice, NULL},
    [SLICE_LEAVE] = {client_leave_slice, NULL},
    [SLICE_COMMAND] = {cmd_slice, NULL},
    [SLICE_SLOTS] = {cmd_slot_slice, NULL},
    [SLICE_ABORT] = {recv_abort_slice, NULL},
    [SLICE_NEIGH] = {neigh_wait_run, neigh_wait_pending},
    [SLICE_RUNS] = {goal_ending_run, NULL},
    [SLICE_SWEEP] = {goal_sweep_run, NULL},
    [SLICE_TAG] = {tag_peer_slice, tag_peer_slice_pending},
    [SLICE_HEAP] = {goal_heap_slice, goal_heap_pending},
    [SLICE_FLOWS] = {rd_ending_slice, rd_ending_pending},
    [SLICE_LOST] = {goal_lost_slice, goal_lost_pending},
    [SLICE_DONE] = {wqe_done_slice, NULL},
    [SLICE_SYNS] = {tcp_syn_slice, tcp_syn_pending},
};
