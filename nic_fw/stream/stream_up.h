/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that stream/ makes to floors above it: packets of reliable groups.
 * up/stream_up.c fills it in.
 */
#ifndef WEFT_FW_STREAM_UP_H
#define WEFT_FW_STREAM_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"

struct stream_up {
	/* True if this shard takes part in the frame's group. */
	bool (*group_wants)(struct fw_nic *nic, const struct fw_rx_frame *frame);
	/* Handles a packet of a group, its CRC32C checked; bytes: after the EDP header. */
	void (*group_rx)(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t bytes);
};

extern const struct stream_up stream_up;

#endif /* WEFT_FW_STREAM_UP_H */
