/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command slots: commands that the NIC takes from the BAR, without weftd's control thread.
 *
 * A slot holds one command and its answer, as on the control channel (hw_cmd.h). The host fills in
 * serial and cmd and rings HW_DB_CMD | index; the NIC copies the command when it takes the
 * doorbell, and the slot is the NIC's until done equals serial. Slots are independent of each other
 * and of the channel. Only commands that need nothing of weftd are served: those that take or give
 * neither memory nor descriptors. All others are answered EOPNOTSUPP. EAGAIN: this command, now,
 * has to go by the channel; nothing was done. docs/host-interface.md, "Command slots".
 */
#ifndef WEFT_HW_CMD_SLOT_H
#define WEFT_HW_CMD_SLOT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"

struct hw_cmd_slot {
	/* line 0: written by the host; rung by both */
	uint32_t serial; /* any number but that of the slot's last command */
	uint32_t rung;   /* 1 while the doorbell ring holds an HW_DB_CMD entry of this slot */
	uint32_t reserved0[14];
	/* line 1: written by the NIC, last: the serial of the command that is answered */
	uint32_t done;
	uint32_t reserved1[15];
	struct hw_cmd cmd;
	struct hw_cmd_resp resp;
};
static_assert(sizeof(struct hw_cmd_slot) == 768, "");
static_assert(offsetof(struct hw_cmd_slot, done) == 64, "");
static_assert(offsetof(struct hw_cmd_slot, cmd) == 128, "");
static_assert(HW_BAR_CMD_SLOTS + HW_CMD_SLOTS * sizeof(struct hw_cmd_slot) <= HW_BAR_DYNAMIC, "");

/* True if a slot may carry this command. */
static inline bool hw_cmd_by_slot(uint32_t op)
{
	switch (op) {
	case HW_CMD_CREATE_CQ:
	case HW_CMD_DESTROY_CQ:
	case HW_CMD_CREATE_SRQ:
	case HW_CMD_DESTROY_SRQ:
	case HW_CMD_CREATE_QP:
	case HW_CMD_DESTROY_QP:
	case HW_CMD_MODIFY_QP:
	case HW_CMD_QUERY_QP:
	case HW_CMD_ALLOC_RINGS:
	case HW_CMD_CM_CREATE:
	case HW_CMD_CM_DESTROY:
	case HW_CMD_CM_BIND:
	case HW_CMD_CM_LISTEN:
	case HW_CMD_CM_RESOLVE:
	case HW_CMD_CM_DATA:
	case HW_CMD_CM_CONNECT:
	case HW_CMD_CM_ACCEPT:
	case HW_CMD_CM_REJECT:
	case HW_CMD_CM_DISCONNECT:
	case HW_CMD_CM_MOVE:
	case HW_CMD_CM_EVENT:
	case HW_CMD_CM_REST:
		return true;
	default:
		return false;
	}
}

#endif /* WEFT_HW_CMD_SLOT_H */
