/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor that stream/ hands packets of groups to: see stream_up.h.
 */
#include "nic_fw/fw_nic.h"

const struct stream_up stream_up = {
    .group_wants = mgrp_wants,
    .group_rx = mgrp_rx,
};
