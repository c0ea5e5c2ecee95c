/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on groups: ATTACH_MCAST, DETACH_MCAST.
 *
 * Calls mcast.c. A group is named by its GID, which is the IPv4-mapped address ::ffff:a.b.c.d of
 * the group, as RoCEv2 has it (IBA A17.4.5). Legality: IBA 10.5.2, 11.3.1, and rdma-core's rules:
 * only UD; attaching twice is no error; detaching without an attachment is one.
 */
#include "nic_fw/fw_nic.h"

/* Returns the IPv4 group that a GID names, in network byte order; 0: none. */
static uint32_t group_of(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint32_t ip;

	memcpy(&ip, gid + sizeof(mapped), sizeof(ip));
	return memcmp(gid, mapped, sizeof(mapped)) == 0 && wire_is_group(ip) ? ip : 0;
}

/*
 * Finds the QP and the group of a command. EINVAL: the QP is not the client's, or one does not
 * exist.
 */
static int mcast_cmd_check(struct fw_nic *nic, uint32_t client, const struct hw_cmd_mcast *mcast,
			   struct fw_qp **qp, uint32_t *ip)
{
	*qp = qp_own(nic, client, mcast->qpn);
	*ip = group_of(mcast->gid);
	return *qp && *ip && (*qp)->type == HW_QPT_UD && !mcast->flags ? 0 : FW_EINVAL;
}

int cmd_attach_mcast(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		     const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_qp *qp;
	uint32_t ip;
	int err = mcast_cmd_check(nic, client, &cmd->u.mcast, &qp, &ip);

	(void)aux;
	(void)resp;
	if (err)
		return err;
	if (mcast_member_of(qp, ip))
		return 0;
	if (!share_may(nic, client, HW_SHARE_MCAST, 1))
		return FW_EDQUOT;
	if (!mcast_has_members(mcast_find(nic, ip)) && !share_may(nic, client, HW_SHARE_GROUP, 1))
		return FW_EDQUOT;
	return mcast_attach(nic, qp, ip);
}

int cmd_detach_mcast(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		     const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct mcast_member *member;
	struct fw_qp *qp;
	uint32_t ip;
	int err = mcast_cmd_check(nic, client, &cmd->u.mcast, &qp, &ip);

	(void)aux;
	(void)resp;
	if (err)
		return err;
	member = mcast_member_of(qp, ip);
	if (!member)
		return FW_EINVAL;
	mcast_detach(nic, member);
	return 0;
}
