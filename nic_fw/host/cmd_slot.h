/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that processes put into slots of their BAR (shared_defs/hw_cmd_slot.h). cmd_slot.c.
 */
#ifndef WEFT_FW_CMD_SLOT_H
#define WEFT_FW_CMD_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "shared_defs/hw_cmd.h"

struct fw_nic;

/* The NIC's copy of a slot. */
struct fw_cmd_slot {
	struct fw_list node; /* in fw_client.slots until the command is answered */
	uint32_t serial;
	uint32_t resume; /* progress of a command that was not finished in its turn */
	struct hw_cmd cmd;
};

void cmd_slot_init_client(struct fw_nic *nic, uint32_t client);
/* Handles a doorbell of kind HW_DB_CMD: index, as the process wrote it. */
void cmd_slot_doorbell(struct fw_nic *nic, uint32_t client, uint32_t index);
/* slice_job.run: carries out commands of slots, within the units of the turn. */
void cmd_slot_slice(struct fw_nic *nic);
/* The client leaves: its commands are neither carried out nor answered. */
void cmd_slot_forget_client(struct fw_nic *nic, uint32_t client);

#endif /* WEFT_FW_CMD_SLOT_H */
