/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor that RDMAP hands Sends of tagged endpoints to: see rdmap_up.h.
 */
#include "nic_fw/fw_nic.h"

const struct rdmap_up rdmap_up = {
    .tag_is_late = tag_late_is,
    .tag_whole = tag_whole_rx,
    .tag_place = tag_rx_place,
    .tag_finish = tag_rx_finish,
    .tag_abort = tag_arrival_abort,
    .tag_write = tag_rtr_write,
    .tag_read = tag_source_read,
};
