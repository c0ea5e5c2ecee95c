/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands by slots of the BAR. weft_slot.c.
 */
#ifndef WEFT_SLOT_H
#define WEFT_SLOT_H

#include "host_driver/weft_priv.h"

/*
 * Sends a command by a slot and waits for its answer. Returns 0 with resp; -EIO: the NIC is gone;
 * -EAGAIN: nothing was done, the command has to go by the channel. Cancellation is off.
 */
int weft_slot_command(struct weft_ctx *ctx, const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
    __attribute__((warn_unused_result));

#endif /* WEFT_SLOT_H */
