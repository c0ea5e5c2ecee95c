/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of groups, and the QPs attached to them.
 *
 * Calls mac_filter.c for the frames and igmp.c for the reports. IBA 10.5.2.
 */
#include "nic_fw/fw_nic.h"

static uint32_t *mcast_chain_head(struct fw_nic *nic, uint32_t ip)
{
	return &nic->net.mcast_hash[fw_hash_keyed(&nic->hash_key, ip, 0, 0) % MCAST_HASH_SIZE];
}

struct mcast_group *mcast_find(const struct fw_nic *nic, uint32_t ip)
{
	struct mcast_group *group;

	fw_chain_for_each (
	    group, nic->net.mcast_hash[fw_hash_keyed(&nic->hash_key, ip, 0, 0) % MCAST_HASH_SIZE],
	    fw_pool_table(&nic->net.mcast_group_pool), hash_next)
		if (group->ip == ip)
			return group;
	return NULL;
}

void mcast_forget(struct fw_nic *nic, struct mcast_group *group)
{
	assert(!group->num_members);
	fw_chain_del(mcast_chain_head(nic, group->ip), group,
		     fw_pool_table(&nic->net.mcast_group_pool), hash_next);
	fw_list_del(&group->node);
	fw_pool_put(&nic->net.mcast_group_pool, group);
}

/* A group that only waits to report its leaving again makes room for another. */
static void give_up_leaving(struct fw_nic *nic)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->net.mcast_groups) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		if (group->num_members)
			continue;
		mcast_forget(nic, group);
		return;
	}
}

static struct mcast_group *make_group(struct fw_nic *nic, uint32_t ip)
{
	uint32_t *head = mcast_chain_head(nic, ip);
	struct mcast_group *group;

	if (nic->net.mcast_group_pool.used == HW_MAX_MCAST_GRP)
		give_up_leaving(nic);
	group = fw_pool_get(&nic->net.mcast_group_pool);
	if (!group)
		return NULL;
	memset(group, 0, sizeof(*group));
	group->ip = ip;
	group->client = FW_NONE;
	fw_chain_add(head, &group->hash_next, fw_pool_index(&nic->net.mcast_group_pool, group));
	fw_list_init(&group->members);
	fw_list_add_tail(&nic->net.mcast_groups, &group->node);
	return group;
}

struct mcast_member *mcast_member_of(const struct fw_qp *qp, uint32_t ip)
{
	struct fw_list *pos;

	if (qp->type != HW_QPT_UD)
		return NULL;
	fw_list_for_each (pos, &qp->mcasts) {
		struct mcast_member *member = FW_CONTAINER(pos, struct mcast_member, qp_node);

		if (member->group->ip == ip)
			return member;
	}
	return NULL;
}

/* A group is in the share of its oldest member's client. */
static void charge_group(struct fw_nic *nic, struct mcast_group *group)
{
	uint32_t client = FW_NONE;

	if (group->num_members)
		client =
		    FW_CONTAINER(group->members.next, struct mcast_member, group_node)->qp->client;
	if (client == group->client)
		return;
	if (group->client != FW_NONE)
		share_give(nic, group->client, HW_SHARE_GROUP, 1);
	if (client != FW_NONE)
		share_take(nic, client, HW_SHARE_GROUP, 1);
	group->client = client;
}

/* A group without members exists for its last reports only. */
static int add_member(struct fw_nic *nic, struct fw_qp *qp, struct mcast_group *group)
{
	struct mcast_member *member = fw_pool_get(&nic->net.mcast_members);
	uint8_t mac[WIRE_MAC_BYTES];

	if (!member)
		return FW_ENOSPC;
	wire_group_mac(group->ip, mac);
	if (!group->num_members && mac_filter_add(nic, mac, group->ip)) {
		fw_pool_put(&nic->net.mcast_members, member);
		return FW_ENOSPC;
	}
	member->group = group;
	member->qp = qp;
	fw_list_add_tail(&group->members, &member->group_node);
	fw_list_add_tail(&qp->mcasts, &member->qp_node);
	group->num_members++;
	share_take(nic, qp->client, HW_SHARE_MCAST, 1);
	charge_group(nic, group);
	fw_trace(nic, TRACE_MCAST, qp->qpn, group->ip, group->num_members);
	if (group->num_members == 1)
		igmp_changed(nic, group);
	return 0;
}

int mcast_attach(struct fw_nic *nic, struct fw_qp *qp, uint32_t ip)
{
	struct mcast_group *group = mcast_find(nic, ip);
	int err;

	if (group && group->num_members >= HW_MAX_MCAST_QP_ATTACH)
		return FW_ENOSPC;
	if (!group)
		group = make_group(nic, ip);
	if (!group)
		return FW_ENOSPC;
	err = add_member(nic, qp, group);
	if (err && !group->num_members && !group->changes_left)
		mcast_forget(nic, group);
	return err;
}

void mcast_detach(struct fw_nic *nic, struct mcast_member *member)
{
	struct mcast_group *group = member->group;
	struct fw_qp *qp = member->qp;
	uint8_t mac[WIRE_MAC_BYTES];

	fw_list_del(&member->group_node);
	fw_list_del(&member->qp_node);
	fw_pool_put(&nic->net.mcast_members, member);
	group->num_members--;
	share_give(nic, qp->client, HW_SHARE_MCAST, 1);
	charge_group(nic, group);
	fw_trace(nic, TRACE_MCAST, qp->qpn, group->ip, group->num_members);
	if (group->num_members)
		return;
	wire_group_mac(group->ip, mac);
	(void)mac_filter_del(nic, mac, group->ip);
	igmp_changed(nic, group);
}
