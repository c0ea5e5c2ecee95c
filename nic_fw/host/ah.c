/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: commands, waiting for ARP, and the destination of a request.
 *
 * CREATE_AH is answered when the next hop's address is known, so that the first datagram does not
 * wait for ARP: neigh_resolved() calls ah_neigh_done(). ah_dst_ip() serves each request. Calls
 * neigh.c. IBA 11.2.2.
 */
#include "nic_fw/fw_nic.h"

/* Longer than all tries of ARP: a command is answered even if neigh.c had no room for a request. */
#define AH_WAIT_NS (2 * NEIGH_TRIES * NEIGH_RETRY_NS)

enum {
	SGID_LINK_LOCAL = 0,
	SGID_IPV4 = 1,
};

static uint8_t first_octet(uint32_t ip)
{
	uint8_t octets[sizeof(ip)];

	memcpy(octets, &ip, sizeof(ip));
	return octets[0];
}

int ah_check_av(const struct fw_nic *nic, const struct hw_av *av)
{
	uint8_t octet = first_octet(av->dst_ip);

	if (av->flags & ~HW_AV_F_GRH || av->sgid_index > SGID_IPV4 || av->reserved)
		return FW_EINVAL;
	if (!(av->flags & HW_AV_F_GRH) || av->dst_ip == nic->config.ip)
		return 0;
	if (wire_is_group(av->dst_ip))
		return 0;
	if (octet == 0 || octet == 127 || octet >= 240)
		return FW_EINVAL;
	return neigh_next_hop(nic, av->dst_ip) ? 0 : FW_ENETUNREACH;
}

uint32_t ah_av_ip(const struct fw_nic *nic, const struct hw_av *av, uint32_t dst_qpn)
{
	if (av->flags & HW_AV_F_GRH)
		return av->dst_ip;
	return nic->config.nic_ip[(dst_qpn & FW_QPN_MASK) >> FW_QPN_NIC_SHIFT];
}

uint32_t ah_dst_ip(const struct fw_nic *nic, uint32_t client, uint32_t pd, uint32_t ah,
		   uint32_t dst_qpn, bool *found)
{
	const struct fw_ah *handle;

	*found = false;
	if (ah >= nic->host.ah_ids.high)
		return 0;
	handle = &nic->host.ahs[ah];
	if (!handle->used || handle->client != client || handle->pd != pd)
		return 0;
	*found = true;
	return ah_av_ip(nic, &handle->av, dst_qpn);
}

uint8_t ah_hop_limit(const struct fw_nic *nic, uint32_t ah)
{
	uint8_t hop_limit = nic->host.ahs[ah].av.hop_limit;

	return hop_limit ? hop_limit : 1;
}

static void forget_waiter(struct fw_nic *nic, struct fw_ah_waiter *waiter)
{
	fw_timer_cancel(&nic->timers, &waiter->timer);
	waiter->used = false;
	nic->host.clients[waiter->client].share->user->ah_waits--;
	nic->host.ah_waiting--;
}

static void ah_answer(struct fw_nic *nic, struct fw_ah_waiter *waiter, int status)
{
	struct hw_cmd_resp resp;

	memset(&resp, 0, sizeof(resp));
	resp.op = HW_CMD_CREATE_AH;
	resp.tag = waiter->tag;
	resp.status = status;
	forget_waiter(nic, waiter);
	if (status) {
		ah_destroy(nic, waiter->ah);
	} else {
		nic->host.ahs[waiter->ah].used = true;
		resp.u.handle = waiter->ah;
	}
	nic->port.cmd_done(nic->port.ctx, waiter->client, &resp);
}

void ah_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	uint32_t i;

	for (i = 0; i < FW_AH_WAITERS && nic->host.ah_waiting; i++)
		if (nic->host.ah_waiters[i].used && nic->host.ah_waiters[i].ip == ip)
			ah_answer(nic, &nic->host.ah_waiters[i], ok ? 0 : FW_ETIMEDOUT);
}

void ah_forget_client(struct fw_nic *nic, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < FW_AH_WAITERS && nic->host.ah_waiting; i++)
		if (nic->host.ah_waiters[i].used && nic->host.ah_waiters[i].client == client)
			forget_waiter(nic, &nic->host.ah_waiters[i]);
}

void ah_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	ah_answer(nic, FW_CONTAINER(timer, struct fw_ah_waiter, timer), FW_ETIMEDOUT);
}

/* The handle is in the client's list, so that detach finds it, and unused until the answer. */
static int wait_for_arp(struct fw_nic *nic, uint32_t client, uint32_t index, uint32_t tag)
{
	struct fw_account *user = nic->host.clients[client].share->user;
	uint32_t i = FW_AH_WAITERS;

	/*
	 * Addresses of absent stations wait the longest: one user cannot hold all waiting places.
	 */
	if (user->ah_waits < FW_AH_WAITERS - FW_AH_WAITERS / SHARE_POOL_PARTS)
		for (i = 0; i < FW_AH_WAITERS; i++)
			if (!nic->host.ah_waiters[i].used)
				break;
	if (i == FW_AH_WAITERS) {
		ah_destroy(nic, index);
		return FW_EAGAIN;
	}
	nic->host.ah_waiters[i].used = true;
	nic->host.ah_waiters[i].client = client;
	nic->host.ah_waiters[i].ip = neigh_next_hop(nic, nic->host.ahs[index].av.dst_ip);
	nic->host.ah_waiters[i].ah = index;
	nic->host.ah_waiters[i].tag = tag;
	nic->host.ah_waiting++;
	user->ah_waits++;
	fw_timer_init(&nic->host.ah_waiters[i].timer, FW_TIMER_AH);
	fw_timer_set(&nic->timers, &nic->host.ah_waiters[i].timer, nic->now_ns + AH_WAIT_NS);
	return CMD_PENDING;
}

int cmd_create_ah(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_create_ah *create = &cmd->u.create_ah;
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_pd *pd = pd_own(nic, client, create->pd);
	uint8_t mac[WIRE_MAC_BYTES];
	enum neigh_result result = NEIGH_OK;
	struct fw_ah *ah;
	uint32_t index;
	int err;

	(void)aux;
	if (!pd)
		return FW_EINVAL;
	err = ah_check_av(nic, &create->av);
	if (err)
		return err;
	if (!share_may(nic, client, HW_SHARE_AH, 1))
		return FW_EDQUOT;
	if (create->av.flags & HW_AV_F_GRH && create->av.dst_ip != nic->config.ip)
		result = neigh_lookup(nic, create->av.dst_ip, mac);
	if (result == NEIGH_UNREACHABLE)
		return FW_EHOSTUNREACH;
	index = fw_ids_get(&nic->host.ah_ids);
	if (index == FW_NONE)
		return FW_ENOMEM;
	ah = &nic->host.ahs[index];
	ah->used = result == NEIGH_OK;
	ah->client = (uint16_t)client;
	ah->pd = create->pd;
	ah->av = create->av;
	pd->refs++;
	fw_list_add_tail(&owner->ahs, &ah->node);
	share_take(nic, client, HW_SHARE_AH, 1);
	if (result == NEIGH_WAIT)
		return wait_for_arp(nic, client, index, cmd->tag);
	resp->u.handle = index;
	return 0;
}

void ah_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_ah *ah = &nic->host.ahs[index];

	ah->used = false;
	nic->host.pds[ah->pd].refs--;
	fw_list_del(&ah->node);
	share_give(nic, ah->client, HW_SHARE_AH, 1);
	fw_ids_put(&nic->host.ah_ids, index);
}

/* Requests that were fetched hold the address, not the handle. */
int cmd_destroy_ah(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	uint32_t index = cmd->u.obj.handle;

	(void)aux;
	(void)resp;
	if (index >= nic->host.ah_ids.high || !nic->host.ahs[index].used ||
	    nic->host.ahs[index].client != client)
		return FW_EINVAL;
	ah_destroy(nic, index);
	return 0;
}
