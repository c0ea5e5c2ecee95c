/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of messages on an ESP stream (goal_msg_tx.c): what the stream requests of GOAL, singly
 * and as runs.
 */
#ifndef WEFT_FW_GOAL_MSG_TX_H
#define WEFT_FW_GOAL_MSG_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/coll/goal.h"
#include "nic_fw/net/eth_run.h"

extern const struct eth_run_kind goal_msg_run_kind;
/* esp_ops.fill and fill_run. */
int goal_msg_fill(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		  struct fw_tx_frame *frame, uint32_t hdr_offset);
bool goal_msg_fill_run(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i,
		       uint32_t packets, struct fw_tx_frame *frame, uint32_t hdr_offset);
/* True if the payload is read where the process, or the run's scratchpad, has it. */
bool goal_msg_lends(const struct goal_send *send);

#endif /* WEFT_FW_GOAL_MSG_TX_H */
