/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HW_CMD_CHANGE: who may change weftd while it runs. Control thread. Calls change.c.
 * docs/host-interface.md, "Commands".
 */
#include <errno.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/control/change.h"

void client_change(struct client *c, const struct hw_cmd *cmd)
{
	bool owner = c->uid == 0 || c->uid == geteuid();
	struct hw_cmd_resp resp = {0};

	/* A process has no part in its NIC's settings. */
	if (c->tool)
		resp.status = change_run(c->nic, &c->change, owner, cmd, &resp.u.change);
	else
		resp.status = EPERM;
	client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
}
