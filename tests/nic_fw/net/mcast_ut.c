/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: attachments, limits and quotas, ends of queue pairs and processes, lists.
 */
#include "tests/bench/host.h"

#include <arpa/inet.h>

static uint32_t group_ip(uint32_t i)
{
	struct be32 v = be32_put(0xef010000u + i);
	uint32_t ip;

	memcpy(&ip, &v, sizeof(ip));
	return ip;
}

static int mcast(struct fw_ut *ut, uint32_t client, enum hw_cmd_op op, uint32_t qpn, uint32_t ip)
{
	struct hw_cmd cmd = {.op = op, .u.mcast.qpn = qpn};
	struct hw_cmd_resp resp;

	cmd.u.mcast.gid[10] = cmd.u.mcast.gid[11] = 0xff;
	memcpy(cmd.u.mcast.gid + 12, &ip, sizeof(ip));
	return host_cmd(ut->nic, client, &cmd, &resp);
}

static int attach(struct fw_ut *ut, const struct fw_qp *qp, uint32_t ip)
{
	return mcast(ut, qp->client, HW_CMD_ATTACH_MCAST, qp->qpn, ip);
}

static int detach(struct fw_ut *ut, const struct fw_qp *qp, uint32_t ip)
{
	return mcast(ut, qp->client, HW_CMD_DETACH_MCAST, qp->qpn, ip);
}

struct rig {
	struct fw_ut ut;
	uint32_t pd;
	struct fw_cq *cq;
};

static void begin(struct rig *r)
{
	fw_ut_begin(&r->ut);
	r->pd = host_pd(r->ut.nic, 0);
	r->cq = host_cq(r->ut.nic, 0, 16, HW_EQ_NONE);
}

static struct fw_qp *qp_of(struct rig *r, enum hw_qp_type type)
{
	return host_qp(r->ut.nic, 0, type, r->pd, r->cq, HW_SRQ_NONE);
}

static void wanted(const struct rig *r, uint32_t ip, bool yes)
{
	uint8_t mac[6];

	wire_group_mac(ip, mac);
	CU_ASSERT_EQUAL(mac_filter_has(r->ut.nic, mac), yes);
	CU_ASSERT_EQUAL(mcast_has_members(mcast_find(r->ut.nic, ip)), yes);
}

static void attaching(void)
{
	struct fw_qp *a, *b;
	struct rig r;

	begin(&r);
	a = qp_of(&r, HW_QPT_UD);
	b = qp_of(&r, HW_QPT_UD);
	CU_ASSERT_EQUAL(attach(&r.ut, a, group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, a, group_ip(1)),
			0); /* again: no error, and no second entry */
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_members.used, 1);
	CU_ASSERT_EQUAL(attach(&r.ut, b, group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, b, group_ip(2)), 0);
	CU_ASSERT_EQUAL(mcast_find(r.ut.nic, group_ip(1))->num_members, 2);
	wanted(&r, group_ip(1), true);
	CU_ASSERT_EQUAL(detach(&r.ut, a, group_ip(1)), 0);
	CU_ASSERT_EQUAL(detach(&r.ut, a, group_ip(1)), FW_EINVAL);
	CU_ASSERT_EQUAL(detach(&r.ut, a, group_ip(2)), FW_EINVAL);
	wanted(&r, group_ip(1), true);
	CU_ASSERT_EQUAL(detach(&r.ut, b, group_ip(1)), 0);
	wanted(&r, group_ip(1), false);
	wanted(&r, group_ip(2), true);
	/* It stays attached through RESET and ERR (IBA 10.5.2.2), and goes with the QP. */
	host_rts(r.ut.nic, b, 0);
	CU_ASSERT_EQUAL(host_modify(r.ut.nic, b, HW_QPS_ERR, HW_QP_STATE, NULL), 0);
	CU_ASSERT_EQUAL(host_modify(r.ut.nic, b, HW_QPS_RESET, HW_QP_STATE, NULL), 0);
	wanted(&r, group_ip(2), true);
	CU_ASSERT_EQUAL(host_obj(r.ut.nic, 0, HW_CMD_DESTROY_QP, b->qpn, NULL), 0);
	wanted(&r, group_ip(2), false);
	fw_ut_end(&r.ut);
}

static void what_is_refused(void)
{
	struct fw_qp *ud, *rc, *rd;
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH_MCAST};
	struct hw_cmd_resp resp;
	uint32_t client2, i;
	struct rig r;

	begin(&r);
	ud = qp_of(&r, HW_QPT_UD);
	rc = qp_of(&r, HW_QPT_RC);
	rd = qp_of(&r, HW_QPT_RD);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&r.ut, NULL, &client2), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, rc, group_ip(1)), FW_EINVAL);
	CU_ASSERT_EQUAL(attach(&r.ut, rd, group_ip(1)), FW_EINVAL);
	CU_ASSERT_EQUAL(detach(&r.ut, rc, group_ip(1)), FW_EINVAL);
	CU_ASSERT_EQUAL(mcast(&r.ut, client2, HW_CMD_ATTACH_MCAST, ud->qpn, group_ip(1)),
			FW_EINVAL);
	CU_ASSERT_EQUAL(mcast(&r.ut, 0, HW_CMD_ATTACH_MCAST, 0xffffff, group_ip(1)), FW_EINVAL);
	CU_ASSERT_EQUAL(attach(&r.ut, ud, htonl(0x0a4d0002)), FW_EINVAL); /* a station */
	CU_ASSERT_EQUAL(attach(&r.ut, ud, htonl(0xdfffffff)), FW_EINVAL);
	CU_ASSERT_EQUAL(attach(&r.ut, ud, htonl(0xf0000000)), FW_EINVAL);
	/* GIDs that are no IPv4-mapped address, though they may be groups of IPv6. */
	cmd.u.mcast.qpn = ud->qpn;
	for (i = 0; i < 12; i++) {
		memset(cmd.u.mcast.gid, 0, sizeof(cmd.u.mcast.gid));
		cmd.u.mcast.gid[10] = cmd.u.mcast.gid[11] = 0xff;
		cmd.u.mcast.gid[12] = 239;
		cmd.u.mcast.gid[i] ^= 0xff;
		CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	}
	cmd.u.mcast.gid[11] = 0xff;
	cmd.u.mcast.flags = 1;
	CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_group_pool.used, 0);
	CU_ASSERT_EQUAL(r.ut.nic->net.mac_filters.used, 1); /* 224.0.0.1 */
	fw_ut_end(&r.ut);
}

static void limits(void)
{
	struct fw_qp *qp, *other;
	struct rig r;
	uint32_t i;

	begin(&r);
	qp = qp_of(&r, HW_QPT_UD);
	for (i = 0; i < HW_MAX_MCAST_GRP; i++)
		CU_ASSERT_EQUAL_FATAL(attach(&r.ut, qp, group_ip(i)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(i)), FW_ENOSPC);
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_members.used, HW_MAX_MCAST_GRP);
	/* Leaving a group makes room at once. */
	CU_ASSERT_EQUAL(detach(&r.ut, qp, group_ip(7)), 0);
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_group_pool.used, HW_MAX_MCAST_GRP);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(i)), 0);
	CU_ASSERT_PTR_NULL(mcast_find(r.ut.nic, group_ip(7)));
	for (i = 1; i < HW_MAX_MCAST_QP_ATTACH; i++)
		CU_ASSERT_EQUAL_FATAL(attach(&r.ut, qp_of(&r, HW_QPT_UD), group_ip(3)), 0);
	other = qp_of(&r, HW_QPT_UD);
	CU_ASSERT_EQUAL(attach(&r.ut, other, group_ip(3)), FW_ENOSPC);
	CU_ASSERT_EQUAL(attach(&r.ut, other, group_ip(4)), 0);
	/* The process ends: only leaves that are not reported yet remain. */
	fw_ut_detach(&r.ut, 0);
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_members.used, 0);
	CU_ASSERT_EQUAL(r.ut.nic->net.mac_filters.used, 1);
	for (i = 0; i < 300; i++)
		fw_ut_poll(&r.ut, 20000000);
	CU_ASSERT_EQUAL(r.ut.nic->net.mcast_group_pool.used, 0);
	CU_ASSERT_NOT_EQUAL(r.ut.nic->counters.igmp_reports_tx, 0);
	fw_ut_end(&r.ut);
}

static void quota(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES,
					  .limits.process[HW_SHARE_MCAST] = 2};
	uint32_t client, pd;
	struct fw_qp *qp;
	struct fw_cq *cq;
	struct rig r;

	begin(&r);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&r.ut, &params, &client), 0);
	pd = host_pd(r.ut.nic, client);
	cq = host_cq(r.ut.nic, client, 16, HW_EQ_NONE);
	qp = host_qp(r.ut.nic, client, HW_QPT_UD, pd, cq, HW_SRQ_NONE);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(2)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(3)), FW_EDQUOT);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(2)), 0);
	CU_ASSERT_PTR_NULL(mcast_find(r.ut.nic, group_ip(3)));
	CU_ASSERT_EQUAL(detach(&r.ut, qp, group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp, group_ip(3)), 0);
	fw_ut_end(&r.ut);
}

/* A group counts once, for its first member: others may come when the share is used up. */
static void quota_of_groups(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 900, .uid = 900};
	uint32_t client, pd;
	struct fw_qp *qp[2];
	struct fw_cq *cq;
	struct rig r;

	begin(&r);
	for (uint32_t kind = 0; kind < HW_SHARES_SHARD; kind++)
		params.limits.process[kind] = params.limits.user[kind] = 64;
	params.limits.process[HW_SHARE_GROUP] = params.limits.user[HW_SHARE_GROUP] = 1;
	params.limits.process[HW_SHARE_GOAL] = params.limits.user[HW_SHARE_GOAL] = 1 << 20;
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&r.ut, &params, &client), 0);
	pd = host_pd(r.ut.nic, client);
	cq = host_cq(r.ut.nic, client, 16, HW_EQ_NONE);
	for (uint32_t i = 0; i < 2; i++)
		qp[i] = host_qp(r.ut.nic, client, HW_QPT_UD, pd, cq, HW_SRQ_NONE);
	CU_ASSERT_EQUAL(attach(&r.ut, qp[0], group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp[1], group_ip(1)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, qp[1], group_ip(2)), FW_EDQUOT);
	CU_ASSERT_PTR_NULL(mcast_find(r.ut.nic, group_ip(2)));
	CU_ASSERT_EQUAL(detach(&r.ut, qp[1], group_ip(2)), FW_EINVAL);
	fw_ut_end(&r.ut);
}

static void lists_and_limits_are_told(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_LIST, .u.list.kind = HW_LIST_GROUPS};
	struct hw_cmd_resp resp;
	const struct hw_list_item *item = resp.u.list.item;
	struct fw_qp *a, *b;
	struct rig r;

	begin(&r);
	a = qp_of(&r, HW_QPT_UD);
	b = qp_of(&r, HW_QPT_UD);
	CU_ASSERT_EQUAL(attach(&r.ut, a, group_ip(0x0203)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, b, group_ip(0x0203)), 0);
	CU_ASSERT_EQUAL(attach(&r.ut, b, group_ip(0x800203)), 0); /* the same MAC */
	CU_ASSERT_EQUAL(detach(&r.ut, b, group_ip(0x800203)), 0);
	CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL_FATAL(resp.u.list.count, 2);
	CU_ASSERT_EQUAL(item[0].id, group_ip(0x0203));
	CU_ASSERT_EQUAL(item[0].a, 2);
	CU_ASSERT_EQUAL(item[0].state, 1);
	CU_ASSERT_EQUAL(memcmp(item[0].mac, ((uint8_t[]){1, 0, 0x5e, 1, 2, 3}), 6), 0);
	CU_ASSERT_EQUAL(item[1].id, group_ip(0x800203));
	CU_ASSERT_EQUAL(item[1].a, 0);
	CU_ASSERT_EQUAL(item[1].state, 0);
	CU_ASSERT_EQUAL(memcmp(item[1].mac, item[0].mac, 6), 0);
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_DEVICE};
	CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.device.max_mcast_grp, HW_MAX_MCAST_GRP);
	CU_ASSERT_EQUAL(resp.u.device.max_mcast_qp_attach, HW_MAX_MCAST_QP_ATTACH);
	CU_ASSERT_EQUAL(resp.u.device.max_total_mcast_qp_attach, HW_MAX_TOTAL_MCAST);
	fw_ut_end(&r.ut);
}

/* A connection to a group, and a flag that is defined for datagrams only. */
static void other_types(void)
{
	struct hw_qp_attr attr = {.state = HW_QPS_RTR,
				  .path_mtu = 1024,
				  .dst_qpn = 5,
				  .port = 1,
				  .av = {.flags = HW_AV_F_GRH, .sgid_index = 1}};
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_resp resp;
	struct fw_qp *rc;
	struct rig r;

	begin(&r);
	rc = qp_of(&r, HW_QPT_RC);
	CU_ASSERT_EQUAL(
	    host_modify(r.ut.nic, rc, HW_QPS_INIT,
			HW_QP_STATE | HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS, &attr),
	    0);
	attr.av.dst_ip = group_ip(1);
	CU_ASSERT_EQUAL(host_modify(r.ut.nic, rc, HW_QPS_RTR,
				    HW_QP_STATE | HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN |
					HW_QP_RQ_PSN | HW_QP_MAX_DEST_RD_ATOMIC |
					HW_QP_MIN_RNR_TIMER,
				    &attr),
			FW_EINVAL);
	CU_ASSERT_EQUAL(rc->state, HW_QPS_INIT);
	cmd.u.create_qp = (struct hw_cmd_create_qp){.pd = r.pd,
						    .type = HW_QPT_RD,
						    .send_cq = r.cq->index,
						    .recv_cq = r.cq->index,
						    .srq = HW_SRQ_NONE,
						    .sq_slots = 16,
						    .max_send_wr = 4,
						    .flags = HW_QP_F_BLOCK_SELF_MCAST_LB};
	CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_qp.type = HW_QPT_UD;
	CU_ASSERT_EQUAL(host_cmd(r.ut.nic, 0, &cmd, &resp), 0);
	fw_ut_end(&r.ut);
}

UT_MAIN("nic_fw/net/mcast", UT(attaching), UT(what_is_refused), UT(limits), UT(quota),
	UT(quota_of_groups), UT(lists_and_limits_are_told), UT(other_types))
