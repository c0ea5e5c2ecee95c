/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of processes. ALLOC_MEM, FREE_MEM and CAPTURE are executed here, ATTACH and START in
 * client_attach.c, CHANGE in client_change.c; all others go to the core of the client's shard.
 * Packets were copied once. This file checks the values on which weftd itself depends; the firmware
 * checks the rest.
 *
 * Control thread. Calls extent.c, hostmem.c, populate.c, capture.c, client_change.c,
 * client_coalesce.c, client_upgrade.c and msg.c.
 * docs/host-interface.md, "Commands".
 */
#include "dpdk_app/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dpdk_app/control/capture.h"
#include "dpdk_app/client/extent.h"
#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/client/fds.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/log.h"
#include "dpdk_app/native.h"
#include "dpdk_app/client/msg.h"

static int check_reg_mr(const struct hw_cmd_reg_mr *reg, uint32_t num_fds)
{
	bool mapped = reg->flags & HW_REG_F_MAPPED;

	if (reg->flags & ~(uint32_t)HW_REG_F_MAPPED || num_fds || mapped != (reg->num_pieces != 0))
		return EINVAL;
	if (!reg->bytes || reg->bytes > HW_MAX_MR_BYTES)
		return EINVAL;
	if (reg->addr > UINT64_MAX - reg->bytes || reg->iova > UINT64_MAX - reg->bytes)
		return EINVAL;
	return 0;
}

static int check_open_xrcd(const struct hw_cmd_open_xrcd *open, uint32_t num_fds)
{
	return num_fds == (open->flags & HW_XRCD_F_FILE ? 1 : 0) ? 0 : EINVAL;
}

/* A tool has no memory for the NIC to access. */
static int check_attach_fds(uint32_t flags, uint32_t num_fds)
{
	bool memory = flags & HW_ATTACH_F_MEMORY;

	return num_fds != memory || (memory && flags & HW_ATTACH_F_TOOL) ? EINVAL : 0;
}

static bool tool_may(uint32_t op)
{
	return op == HW_CMD_QUERY_DEVICE || op == HW_CMD_STATS || op == HW_CMD_LIST ||
	       op == HW_CMD_CAPTURE || op == HW_CMD_COALESCE || op == HW_CMD_VECTOR ||
	       op == HW_CMD_CHANGE || op == HW_CMD_UPGRADE;
}

int client_check(const struct hw_cmd *cmd, size_t bytes, uint32_t num_fds, enum client_state state,
		 bool tool)
{
	if (bytes < sizeof(*cmd) || bytes != hw_cmd_bytes(cmd))
		return EMSGSIZE;
	if (cmd->op == 0 || cmd->op >= HW_CMD_OPS)
		return EOPNOTSUPP;
	if (cmd->op == HW_CMD_ATTACH) {
		if (state != CLIENT_CONNECTED)
			return EISCONN;
		if (cmd->u.attach.version != HW_CMD_VERSION)
			return EPROTO;
		if (cmd->u.attach.flags & ~(uint32_t)HW_ATTACH_F_ALL)
			return EINVAL;
		return check_attach_fds(cmd->u.attach.flags, num_fds);
	}
	if (cmd->op == HW_CMD_START && state == CLIENT_OFFERED)
		return num_fds ? EINVAL : 0;
	if (state != CLIENT_LIVE)
		return ENOTCONN;
	if (tool && !tool_may(cmd->op))
		return EPERM;
	if (cmd->op == HW_CMD_UPGRADE)
		return !tool ? EPERM : num_fds != 1 ? EINVAL : 0;
	if (cmd->op == HW_CMD_START)
		return EISCONN;
	if (cmd->op == HW_CMD_REG_MR)
		return check_reg_mr(&cmd->u.reg_mr, num_fds);
	if (cmd->op == HW_CMD_OPEN_XRCD)
		return check_open_xrcd(&cmd->u.open_xrcd, num_fds);
	return num_fds ? EINVAL : 0;
}

void client_answer_status(struct client *c, const struct hw_cmd *cmd, int status)
{
	struct hw_cmd_resp resp = {.status = status};

	client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
}

void client_refuse(struct client *c, const struct hw_cmd *cmd, int status,
		   const struct hw_resp_quota *quota)
{
	struct hw_cmd_resp resp = {.status = status};

	if (status == EDQUOT) {
		resp.u.quota = *quota;
		user_report(c->account, c->nic->name, c->name, quota);
	}
	client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
}

/* ---- ALLOC_MEM, FREE_MEM, CAPTURE, COALESCE */

static void run_alloc_mem(struct client *c, const struct hw_cmd *cmd)
{
	struct hw_cmd_resp resp = {0};
	struct hw_resp_quota quota;
	int fd = -1;
	int err = client_take_fds(c, 1, &quota);

	if (!err) {
		err = extent_new(c, &cmd->u.alloc_mem, &resp.u.alloc_mem.key, &fd, &quota);
		if (err)
			client_give_fds(c, 1);
	}
	if (err)
		client_refuse(c, cmd, err, &quota);
	else
		client_answer(c, cmd->op, cmd->tag, &resp, &fd, 1);
}

static void run_capture(struct client *c, const struct hw_cmd *cmd)
{
	struct hw_cmd_resp resp = {0};
	struct hw_resp_quota quota;
	int fd = -1, err;

	/* Frames contain data of all processes. */
	if (c->uid != 0 && c->uid != geteuid()) {
		client_answer_status(c, cmd, EPERM);
		return;
	}
	err = client_take_fds(c, 1, &quota);
	if (err) {
		client_refuse(c, cmd, err, &quota);
		return;
	}
	resp.status = -capture_start(c->nic, &fd);
	if (resp.status)
		client_give_fds(c, 1);
	client_answer(c, cmd->op, cmd->tag, &resp, &fd, resp.status ? 0 : 1);
	if (fd >= 0)
		close(fd);
}

static void run_coalesce(struct client *c, const struct hw_cmd *cmd)
{
	int status = client_coalesce(c, cmd);

	if (status)
		client_answer_status(c, cmd, status);
}

static void run_users(struct client *c, const struct hw_cmd *cmd)
{
	struct hw_cmd_resp resp = {0};

	user_list(cmd->u.list.cursor, &resp.u.list);
	client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
}

/* ---- commands for the core */

/*
 * Prepares registration of unmapped memory; the first one starts the process's worker. Returns 0;
 * EOPNOTSUPP: disabled; EPERM: the process sent no memory descriptor; or another errno.
 */
static int take_unmapped(struct client *c, struct hw_resp_quota *quota)
{
	if (c->nic->app->conf.no_unmapped)
		return EOPNOTSUPP;
	return c->mem_fd < 0 ? EPERM : client_copy_start(c, quota);
}

/* Maps the memory that REG_MR names. Returns 0 or a positive errno; EDQUOT fills in *quota. */
static int map_mr(struct client *c, struct msg *msg, const struct hw_mem_piece *piece,
		  struct hw_resp_quota *quota)
{
	const struct hw_cmd_reg_mr *reg = &msg->cmd.u.reg_mr;
	int err;

	client_drain_unmap(c->shard);
	/* The firmware releases mappings through a ring that must never be full. */
	if (c->shard->num_mappings >= HW_MAX_MR)
		return ENOMEM;
	err = extent_region_new(c, reg, piece, &msg->region, &msg->job, quota);
	if (err)
		return err;
	msg->aux.mapping = extent_region_start(msg->region);
	msg->aux.handle = msg->region;
	msg->aux.map_bytes = reg->bytes;
	c->shard->num_mappings++;
	return 0;
}

static void run_reg_mapped(struct client *c, const struct hw_cmd_pieces *packet)
{
	struct msg *msg = msg_new(MSG_CMD, c->shard, c);
	struct hw_resp_quota quota;
	int status = ENOMEM;

	if (msg) {
		msg->cmd = packet->cmd;
		msg->tag = packet->cmd.tag;
		status = map_mr(c, msg, packet->piece, &quota);
	}
	if (!status) {
		client_prepare(c, msg);
		return;
	}
	msg_free(msg);
	client_refuse(c, &packet->cmd, status, &quota);
}

/*
 * Identifies the file. The process must have it open for reading or writing: its own description is
 * not trusted, and an O_PATH descriptor needs no rights to the file. AT_STATX_DONT_SYNC avoids a
 * request to the file's server, which may be slow.
 */
static int name_file(const struct client *c, struct hw_cmd_open_xrcd *open, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statx st;

	if (!(open->flags & HW_XRCD_F_FILE))
		return 0;
	if (flags < 0 || flags & O_PATH)
		return EBADF;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return errno;
	open->file_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	open->file_ino = st.stx_ino;
	return client_xrcd_open(c, open);
}

static int prepare(struct client *c, struct msg *msg, int fd)
{
	/* run_reg_mapped() has already prepared mapped memory. */
	if (msg->cmd.op == HW_CMD_REG_MR)
		return take_unmapped(c, &msg->resp.u.quota);
	if (msg->cmd.op == HW_CMD_OPEN_XRCD) {
		int err = name_file(c, &msg->cmd.u.open_xrcd, fd);

		msg->noted = !err && msg->cmd.u.open_xrcd.flags & HW_XRCD_F_FILE;
		return err;
	}
	if (msg->cmd.op == HW_CMD_CREATE_EQ) {
		/* One for the queue and one for the answer. */
		int err = client_take_fds(c, 2, &msg->resp.u.quota);
		int event_fd;

		if (err)
			return err;
		event_fd = fds_take(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), FDS_EVENTS);
		if (event_fd < 0) {
			client_give_fds(c, 2);
			return -event_fd;
		}
		msg->event_fd = event_fd;
	}
	return 0;
}

/* Undoes prepare() for a command that failed. */
static void unprepare(struct client *c, struct msg *msg)
{
	const struct hw_cmd_resp failed = {.status = ECANCELED};

	if (msg->noted)
		client_xrcd_opened(c, &msg->cmd.u.open_xrcd, &failed);
	native_free(msg->aux.native_handle);
	if (msg->region) {
		extent_region_free(msg->region);
		msg->shard->num_mappings--;
	}
	if (msg->event_fd >= 0) {
		close(msg->event_fd);
		client_give_fds(c, 2);
	}
}

/* A tool may query any shard; it has objects in none. */
static struct shard *shard_of(struct client *c, const struct hw_cmd *cmd)
{
	uint32_t number = 0;

	if (!c->tool)
		return c->shard;
	if (cmd->op == HW_CMD_STATS)
		number = cmd->u.obj.shard;
	else if (cmd->op == HW_CMD_LIST)
		number = cmd->u.list.shard;
	return number < c->nic->num_shards ? &c->nic->shard[number] : NULL;
}

/*
 * A user's operation. The packet is a copy that the process cannot change any more. The port
 * compiles only what the firmware's verifier accepts, because DPDK's compiler is not made for
 * hostile programs; the firmware verifies the same code again before it takes it.
 */
static int take_code(struct client *c, struct msg *msg, const struct hw_cmd_pieces *packet)
{
	const struct hw_cmd_goal_op *arg = &packet->cmd.u.goal_op;
	size_t bytes = (size_t)arg->num_insns * sizeof(packet->insn[0]);
	struct goal_op_prog prog = {NULL, arg->num_insns, arg->elem_bytes, arg->block};

	msg->code = malloc(bytes + sizeof(packet->insn[0]));
	if (!msg->code)
		return ENOMEM;
	memcpy(msg->code, packet->insn, bytes);
	msg->aux.code = prog.insns = msg->code;
	native_new(&prog, user_uid(c->account), &msg->aux);
	return 0;
}

static void run_goal_op(struct client *c, const struct hw_cmd_pieces *packet)
{
	const struct hw_cmd *cmd = &packet->cmd;
	struct msg *msg = c->tool ? NULL : msg_new(MSG_CMD, c->shard, c);
	int status = ENOMEM;

	if (msg) {
		msg->cmd = *cmd;
		msg->tag = cmd->tag;
		status = take_code(c, msg, packet);
	}
	if (!status)
		status = -msg_send(msg);
	if (!status) {
		c->num_outstanding++;
		return;
	}
	if (msg)
		native_free(msg->aux.native_handle);
	msg_free(msg);
	client_answer_status(c, cmd, status);
}

static void run_forward(struct client *c, const struct hw_cmd *cmd, int fd)
{
	struct shard *shard = shard_of(c, cmd);
	struct msg *msg = shard ? msg_new(MSG_CMD, shard, c) : NULL;
	int status;

	if (!msg) {
		client_answer_status(c, cmd, shard ? ENOMEM : EINVAL);
		return;
	}
	msg->cmd = *cmd;
	msg->tag = cmd->tag;
	status = prepare(c, msg, fd);
	if (!status)
		status = -msg_send(msg);
	if (!status) {
		c->num_outstanding++;
		return;
	}
	unprepare(c, msg);
	client_refuse(c, cmd, status, &msg->resp.u.quota);
	msg_free(msg);
}

void client_run(struct client *c, const struct hw_cmd_pieces *packet, int fd)
{
	const struct hw_cmd *cmd = &packet->cmd;

	if (cmd->op == HW_CMD_ATTACH)
		client_attach(c, cmd, fd);
	else if (cmd->op == HW_CMD_START)
		client_start(c, cmd);
	else if (cmd->op == HW_CMD_ALLOC_MEM)
		run_alloc_mem(c, cmd);
	else if (cmd->op == HW_CMD_FREE_MEM)
		client_answer_status(c, cmd, extent_free(c, cmd->u.free_mem.key));
	else if (cmd->op == HW_CMD_REG_MR && cmd->u.reg_mr.flags & HW_REG_F_MAPPED)
		run_reg_mapped(c, packet);
	else if (cmd->op == HW_CMD_GOAL_OP)
		run_goal_op(c, packet);
	else if (cmd->op == HW_CMD_CAPTURE)
		run_capture(c, cmd);
	else if (cmd->op == HW_CMD_CHANGE)
		client_change(c, cmd);
	else if (cmd->op == HW_CMD_UPGRADE)
		client_upgrade(c, cmd, fd);
	else if (cmd->op == HW_CMD_COALESCE || cmd->op == HW_CMD_VECTOR)
		run_coalesce(c, cmd);
	else if (cmd->op == HW_CMD_LIST && cmd->u.list.kind == HW_LIST_USERS)
		run_users(c, cmd);
	else
		run_forward(c, cmd, fd);
	fd_drop_of(fd, c->uid);
}

void client_cmd_back(struct client *c, struct msg *msg)
{
	bool made_eq = msg->cmd.op == HW_CMD_CREATE_EQ && !msg->resp.status;

	if (msg->resp.status == EDQUOT)
		user_report(c->account, c->nic->name, c->name, &msg->resp.u.quota);
	if (msg->resp.status)
		unprepare(c, msg);
	else if (msg->noted)
		client_xrcd_opened(c, &msg->cmd.u.open_xrcd, &msg->resp);
	else if (msg->cmd.op == HW_CMD_CLOSE_XRCD)
		client_xrcd_closed(c, msg->cmd.u.obj.handle);
	if (c->state == CLIENT_LIVE && !c->doomed)
		client_answer(c, msg->cmd.op, msg->tag, &msg->resp, &msg->event_fd, made_eq);
	if (msg->old_fd >= 0) {
		close(msg->old_fd);
		client_give_fds(c, 1);
	}
}
