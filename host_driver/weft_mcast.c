/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaches UD queue pairs to multicast groups.
 *
 * Calls the channel; nic_fw/net/mcast.c is the NIC's side. IBA 11.3.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_priv.h"

static int mcast_command(struct weft_qp *qp, uint32_t op, const uint8_t gid[16])
{
	struct hw_cmd cmd = {.op = op, .u.mcast.qpn = qp->qpn};
	struct weft_ctx *ctx = weft_ctx_of(qp->context);
	struct hw_cmd_resp resp;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	memcpy(cmd.u.mcast.gid, gid, sizeof(cmd.u.mcast.gid));
	return weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
}

int weft_attach_mcast(struct weft_qp *qp, const uint8_t gid[16])
{
	return mcast_command(qp, HW_CMD_ATTACH_MCAST, gid);
}

int weft_detach_mcast(struct weft_qp *qp, const uint8_t gid[16])
{
	return mcast_command(qp, HW_CMD_DETACH_MCAST, gid);
}
