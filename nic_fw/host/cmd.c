/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control commands: checked here, carried out by the file of the object.
 *
 * fw_cmd() runs on the shard's core, between turns. The command was copied from the socket; its
 * sender is known by its client number. Fields that a command does not use must be zero, so that
 * they can get a meaning later. Queries about the whole NIC are in cmd_query.c. Calls cmd_table[]
 * (up/cmd_table.c).
 */
#include "nic_fw/fw_nic.h"

static bool is_zero(const uint8_t *bytes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

static int cmd_run(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct cmd_entry *entry;

	if (nic->stopped)
		return FW_EIO;
	if (cmd->op >= HW_CMD_OPS || !cmd_table[cmd->op].fn)
		return FW_EOPNOTSUPP;
	entry = &cmd_table[cmd->op];
	if (nic->host.clients[client].tool && !entry->tool)
		return FW_EPERM;
	if (cmd->reserved ||
	    !is_zero(cmd->u.bytes + entry->arg_bytes, sizeof(cmd->u.bytes) - entry->arg_bytes))
		return FW_EINVAL;
	return entry->fn(nic, client, cmd, aux, resp);
}

/* Returns false when the answer comes later. */
static bool cmd_answer(struct fw_nic *nic, int status, struct hw_cmd_resp *resp)
{
	if (status == CMD_PENDING || status == CMD_LATER)
		return false;
	if (nic->share.quota_met && (status == FW_ENOMEM || status == FW_ENOSPC))
		status = FW_EDQUOT;
	if (status)
		FW_COUNT(nic, commands_bad);
	if (status == CMD_REFUSED)
		return true;
	if (status)
		memset(&resp->u, 0, sizeof(resp->u));
	if (status == FW_EDQUOT)
		resp->u.quota = nic->share.quota;
	resp->status = status;
	return true;
}

static void init_resp(struct hw_cmd_resp *resp, const struct hw_cmd *cmd)
{
	memset(resp, 0, sizeof(*resp));
	resp->op = cmd->op;
	resp->tag = cmd->tag;
}

enum fw_cmd_result fw_cmd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
			  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	int status;

	assert(client < HW_MAX_CLIENTS && nic->host.clients[client].used);
	assert(!nic->host.clients[client].closing);
	init_resp(resp, cmd);
	FW_COUNT(nic, commands);
	slice_allow(nic);
	nic->slices.resume = 0;
	nic->share.quota_met = false;
	status = cmd_run(nic, client, cmd, aux, resp);
	/* The finished part stays done; the process repeats the command. */
	if (status == CMD_LATER && !slice_keep(nic, client, cmd))
		status = FW_EAGAIN;
	return cmd_answer(nic, status, resp) ? FW_CMD_DONE : FW_CMD_PENDING;
}

int cmd_again(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	      struct hw_cmd_resp *resp, bool *answered)
{
	int status;

	init_resp(resp, cmd);
	nic->share.quota_met = false;
	status = cmd_run(nic, client, cmd, NULL, resp);
	*answered = cmd_answer(nic, status, resp);
	return status;
}

void cmd_slice(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.commands);
	struct slice_command *kept;
	struct hw_cmd_resp resp;
	bool answered;

	if (!node)
		return;
	kept = FW_CONTAINER(node, struct slice_command, node);
	nic->turn_did |= FW_DID_COMMAND;
	/* It is checked in full again: the objects that it names may have gone meanwhile. */
	(void)slice_take(nic, 1);
	nic->slices.resume = kept->resume;
	if (cmd_again(nic, kept->client, &kept->cmd, &resp, &answered) == CMD_LATER) {
		kept->resume = nic->slices.resume;
		fw_list_add_tail(&nic->slices.commands, node);
		return;
	}
	/* Else it goes on elsewhere, and is answered there. */
	if (answered)
		nic->port.cmd_done(nic->port.ctx, kept->client, &resp);
	fw_pool_put(&nic->slices.command_pool, kept);
}
