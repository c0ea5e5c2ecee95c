/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: COALESCE sets all shards of a NIC or queries one; VECTOR queries the shard
 * that it names. A process is attached to only one shard, so neither command uses the firmware's
 * table of clients.
 *
 * A setting visits the shards in ascending order, whoever sends it, so concurrent settings take
 * effect in the same order everywhere. All shards judge it alike and change nothing if it is
 * invalid, so the first shard's rejection applies to the whole NIC.
 *
 * Calls msg.c. Control thread. docs/host-interface.md, "Interrupt moderation".
 */
#include <errno.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/msg.h"

static bool sets(const struct hw_cmd *cmd)
{
	return cmd->op == HW_CMD_COALESCE && cmd->u.coalesce.set;
}

/* As in fw_cmd(): fields that a command does not use must be zero. */
static bool rest_is_zero(const struct hw_cmd *cmd)
{
	size_t used = cmd->op == HW_CMD_COALESCE ? sizeof(cmd->u.coalesce) : sizeof(cmd->u.obj);

	if (cmd->reserved)
		return false;
	for (size_t i = used; i < sizeof(cmd->u.bytes); i++) {
		if (cmd->u.bytes[i])
			return false;
	}
	return true;
}

static struct shard *first_shard(struct client *c, const struct hw_cmd *cmd)
{
	uint32_t number = cmd->u.obj.shard;

	if (sets(cmd))
		return &c->nic->shard[0];
	if (cmd->op == HW_CMD_COALESCE)
		return c->shard;
	return number < c->nic->num_shards ? &c->nic->shard[number] : NULL;
}

int client_coalesce(struct client *c, const struct hw_cmd *cmd)
{
	struct shard *shard = first_shard(c, cmd);
	struct msg *msg;

	/* Interrupts are shared by all users of the NIC, as with ethtool -C. */
	if (sets(cmd) && c->uid != 0 && c->uid != geteuid())
		return EPERM;
	if (!shard || !rest_is_zero(cmd))
		return EINVAL;
	msg = msg_new(cmd->op == HW_CMD_COALESCE ? MSG_COALESCE : MSG_VECTOR, shard, c);
	if (!msg)
		return ENOMEM;
	msg->cmd = *cmd;
	msg->tag = cmd->tag;
	if (msg_send(msg)) {
		msg_free(msg);
		return ENOBUFS;
	}
	c->num_outstanding++;
	return 0;
}

bool client_coalesce_next(struct client *c, struct msg *msg)
{
	uint32_t next = msg->shard->number + 1;

	if (msg->kind != MSG_COALESCE || !sets(&msg->cmd) || msg->resp.status ||
	    next == c->nic->num_shards)
		return false;
	msg->shard = &c->nic->shard[next];
	msg->core = msg->shard->core;
	if (!msg_send(msg))
		return true; /* owned by the core from here on */
	msg->resp.status = ENOBUFS;
	return false;
}
