/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry of the firmware as an image: its version, the layout of its state, and its calls.
 *
 * FW_LAYOUT comes from tools/fw_layout.sh. weftd has one firmware built in and takes another by
 * `weftctl upgrade`. docs/upgrade.md.
 */
#include "nic_fw/fw_nic.h"

const struct fw_image weft_firmware = {
    .magic = FW_IMAGE_MAGIC,
    .state_version = FW_STATE_VERSION,
    .layout = FW_LAYOUT,
    .version = WEFT_VERSION,
    .ops =
	{
	    .adopt = fw_adopt,
	    .poll = fw_poll,
	    .did = fw_did,
	    .now = fw_now,
	    .next_timer_ns = fw_next_timer_ns,
	    .sleep = fw_sleep,
	    .hurry = fw_hurry,
	    .client_attach = fw_client_attach,
	    .quota = fw_quota,
	    .client_detach = fw_client_detach,
	    .cmd = fw_cmd,
	    .coalesce = fw_coalesce,
	    .vector = fw_vector,
	    .set_limits = fw_set_limits,
	    .link = fw_link,
	    .shutdown = fw_shutdown,
	    .stat = fw_stat,
	    .stage = fw_stage,
	    .renew = fw_renew,
	    .set_nic_ip = fw_set_nic_ip,
	},
};
