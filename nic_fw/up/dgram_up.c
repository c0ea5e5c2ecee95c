/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor that dgram/ hands datagrams of connections to: see dgram_up.h.
 */
#include "nic_fw/fw_nic.h"

const struct dgram_up dgram_up = {
    .cm = cm_rd_rx,
};
