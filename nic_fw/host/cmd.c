/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control commands: checked here, carried out by the file of the object.
 *
 * fw_cmd() is called by dpdk_app and sim_harness on the shard's core, between turns. The
 * command was copied from the socket; who sent it is known by its client number. What no
 * field of a command uses must be zero, so that it can get a meaning later. Queries about
 * the whole NIC are in cmd_query.c.
 */
#include "nic_fw/fw_nic.h"

struct cmd_entry {
	cmd_fn fn;
	uint32_t arg_bytes; /* of hw_cmd.u that the command may use */
	bool tool;          /* a tool may send it */
};

#define ARG(member) sizeof(((struct hw_cmd *)0)->u.member)

static const struct cmd_entry commands[HW_CMD_OPS] = {
    [HW_CMD_QUERY_DEVICE] = {cmd_query_device, 0, true},
    [HW_CMD_ALLOC_PD] = {cmd_alloc_pd, 0, false},
    [HW_CMD_DEALLOC_PD] = {cmd_dealloc_pd, ARG(obj), false},
    [HW_CMD_REG_MR] = {cmd_reg_mr, ARG(reg_mr), false},
    [HW_CMD_DEREG_MR] = {cmd_dereg_mr, ARG(obj), false},
    [HW_CMD_MODIFY_MR] = {cmd_modify_mr, ARG(modify_mr), false},
    [HW_CMD_CREATE_EQ] = {cmd_create_eq, ARG(create_eq), false},
    [HW_CMD_DESTROY_EQ] = {cmd_destroy_eq, ARG(obj), false},
    [HW_CMD_CREATE_CQ] = {cmd_create_cq, ARG(create_cq), false},
    [HW_CMD_DESTROY_CQ] = {cmd_destroy_cq, ARG(obj), false},
    [HW_CMD_RESIZE_CQ] = {cmd_resize_cq, ARG(cq), false},
    [HW_CMD_MODIFY_CQ] = {cmd_modify_cq, ARG(cq), false},
    [HW_CMD_CREATE_SRQ] = {cmd_create_srq, ARG(srq), false},
    [HW_CMD_DESTROY_SRQ] = {cmd_destroy_srq, ARG(obj), false},
    [HW_CMD_MODIFY_SRQ] = {cmd_modify_srq, ARG(srq), false},
    [HW_CMD_QUERY_SRQ] = {cmd_query_srq, ARG(obj), false},
    [HW_CMD_CREATE_QP] = {cmd_create_qp, ARG(create_qp), false},
    [HW_CMD_DESTROY_QP] = {cmd_destroy_qp, ARG(obj), false},
    [HW_CMD_MODIFY_QP] = {cmd_modify_qp, ARG(modify_qp), false},
    [HW_CMD_QUERY_QP] = {cmd_query_qp, ARG(obj), false},
    [HW_CMD_OPEN_XRCD] = {cmd_open_xrcd, ARG(open_xrcd), false},
    [HW_CMD_CLOSE_XRCD] = {cmd_close_xrcd, ARG(obj), false},
    [HW_CMD_OPEN_QP] = {cmd_open_qp, ARG(open_qp), false},
    [HW_CMD_CREATE_AH] = {cmd_create_ah, ARG(create_ah), false},
    [HW_CMD_DESTROY_AH] = {cmd_destroy_ah, ARG(obj), false},
    [HW_CMD_ATTACH_MCAST] = {cmd_attach_mcast, ARG(mcast), false},
    [HW_CMD_DETACH_MCAST] = {cmd_detach_mcast, ARG(mcast), false},
    [HW_CMD_STATS] = {cmd_stats, ARG(obj), true},
    [HW_CMD_LIST] = {cmd_list, ARG(list), true},
    [HW_CMD_ALLOC_MW] = {cmd_alloc_mw, ARG(alloc_mw), false},
    [HW_CMD_DEALLOC_MW] = {cmd_dealloc_mw, ARG(obj), false},
    [HW_CMD_CM_CREATE] = {cmd_cm_create, ARG(cm), false},
    [HW_CMD_CM_DESTROY] = {cmd_cm_destroy, ARG(cm), false},
    [HW_CMD_CM_BIND] = {cmd_cm_bind, ARG(cm), false},
    [HW_CMD_CM_LISTEN] = {cmd_cm_listen, ARG(cm), false},
    [HW_CMD_CM_RESOLVE] = {cmd_cm_resolve, ARG(cm), false},
    [HW_CMD_CM_DATA] = {cmd_cm_data, ARG(cm_data), false},
    [HW_CMD_CM_CONNECT] = {cmd_cm_connect, ARG(cm), false},
    [HW_CMD_CM_ACCEPT] = {cmd_cm_accept, ARG(cm), false},
    [HW_CMD_CM_REJECT] = {cmd_cm_reject, ARG(cm), false},
    [HW_CMD_CM_DISCONNECT] = {cmd_cm_disconnect, ARG(cm), false},
    [HW_CMD_CM_MOVE] = {cmd_cm_move, ARG(cm), false},
    [HW_CMD_CM_EVENT] = {cmd_cm_event, ARG(cm), false},
    [HW_CMD_CM_REST] = {cmd_cm_rest, ARG(cm), false},
    [HW_CMD_GOAL_OPEN] = {cmd_goal_open, ARG(goal_open), false},
    [HW_CMD_GOAL_COMM_CREATE] = {cmd_goal_comm_create, ARG(goal_comm), false},
    [HW_CMD_GOAL_COMM_DESTROY] = {cmd_goal_comm_destroy, ARG(goal_comm), false},
    [HW_CMD_GOAL_POOL] = {cmd_goal_pool, ARG(goal_comm), false},
    [HW_CMD_GOAL_LOAD] = {cmd_goal_load, ARG(goal_load), false},
    [HW_CMD_GOAL_UNLOAD] = {cmd_goal_unload, ARG(goal_load), false},
    [HW_CMD_COALESCE] = {cmd_coalesce, ARG(coalesce), true},
    [HW_CMD_VECTOR] = {cmd_vector, ARG(obj), true},
    [HW_CMD_GOAL_CANCEL] = {cmd_goal_cancel, ARG(goal_load), false},
};

static bool is_zero(const uint8_t *bytes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

static int run(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	       const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct cmd_entry *entry;

	if (nic->stopped)
		return FW_EIO;
	if (cmd->op >= HW_CMD_OPS || !commands[cmd->op].fn)
		return FW_EOPNOTSUPP;
	entry = &commands[cmd->op];
	if (nic->host.clients[client].tool && !entry->tool)
		return FW_EPERM;
	if (cmd->reserved ||
	    !is_zero(cmd->u.bytes + entry->arg_bytes, sizeof(cmd->u.bytes) - entry->arg_bytes))
		return FW_EINVAL;
	return entry->fn(nic, client, cmd, aux, resp);
}

/* False: the answer comes later. */
static bool answer(struct fw_nic *nic, int status, struct hw_cmd_resp *resp)
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
	status = run(nic, client, cmd, aux, resp);
	/* The part that was done stays done; the process asks again. */
	if (status == CMD_LATER && !slice_keep(nic, client, cmd))
		status = FW_EAGAIN;
	return answer(nic, status, resp) ? FW_CMD_DONE : FW_CMD_PENDING;
}

bool cmd_again(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	       struct hw_cmd_resp *resp)
{
	init_resp(resp, cmd);
	nic->share.quota_met = false;
	return answer(nic, run(nic, client, cmd, NULL, resp), resp);
}
